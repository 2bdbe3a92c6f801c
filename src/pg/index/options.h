// The options of an index: WITH (bands = ..., rows = ..., threshold = ...).
#pragma once

#include "pg/arguments.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// Registers the options with PostgreSQL, once, when the library is loaded. From then on, ALTER INDEX may not change
// them: the index would stay as it is, and a dump would show a different constraint from the one that is enforced.
void define_options();

bytea* parse_options(Datum given, bool validate);

// The threshold of a new index of a constraint; no_threshold for any other index, and an ERROR if that has the option.
double constraint_threshold(Relation index);

// The bands and rows that an index has for signatures of a scheme; an ERROR if they do not fit.
banding shape_for(Relation index, const scheme& scheme);

} // namespace minhash::pg::index
