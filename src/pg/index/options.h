// The options of an index: WITH (bands = ..., rows = ..., threshold = ...).
#pragma once

#include "pg/arguments.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// Registers the options with PostgreSQL when the library is loaded, and keeps ALTER INDEX from changing them. A change
// would have no effect on the index, and a dump would show a different constraint from the one that is enforced.
void define_options();

bytea* parse_options(Datum given, bool validate);

// The threshold of a new index, or no_threshold if the index does not belong to an exclusion constraint. An ERROR if
// the threshold is given for an index without such a constraint.
double constraint_threshold(Relation index);

// The bands and rows that an index uses for signatures of a scheme; an ERROR if they do not fit the scheme.
banding banding_for(Relation index, const scheme& scheme);

} // namespace minhash::pg::index
