// Hashes, bands and rows of a call that leaves them open: by what they will cost, as far as a
// sample of its rows tells (bulk/tuning/choose_bands.h). The choice depends on the rows and the
// arguments of the call, and on nothing else. One that turns out badly costs time, never recall: so
// it does not look at scopes. With max_bucket large buckets lose pairs: then threshold and recall
// alone choose, with as many rows in a band as they allow.
#pragma once

#include "pg/bulk/call.h"

namespace minhash::pg {

// What the engine is to do with rows of a scheme; an ERROR if it cannot.
bulk::task make_task(const bulk_call& call, const scheme& scheme);

// Whether bands and rows are still to be chosen.
bool is_choice_open(const bulk_call& call);

// Chooses them by the rows that were read, at least one.
void choose_by_sample(bulk_call& call);

} // namespace minhash::pg
