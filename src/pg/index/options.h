// The options of an index: WITH (bands = ..., rows = ...).
#pragma once

#include "pg/arguments.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::lsh {

// Makes the options known to PostgreSQL; once, when the library is loaded.
void define_options();

bytea* parse_options(Datum given, bool validate);

// The bands and rows that an index has for signatures of a scheme; an ERROR if they do not fit.
banding shape_for(Relation index, const scheme& scheme);

} // namespace minhash::pg::lsh
