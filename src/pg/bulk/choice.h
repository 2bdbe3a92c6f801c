// Chooses the hashes, bands and rows that a call leaves open, by the cost that a sample of its rows foretells
// (bulk/tuning/choose_bands.h). The choice depends only on the rows and the arguments of the call. A bad choice costs
// time, never recall: so it need not look at scopes. With max_bucket, large buckets would lose pairs: then the choice
// follows from threshold and recall alone, with as many rows in a band as they allow.
#pragma once

#include "pg/bulk/call.h"

namespace minhash::pg {

// The engine's task for rows of a scheme; an ERROR if the call asks for what these cannot do.
bulk::task make_task(const bulk_call& call, const scheme& scheme);

// Whether bands and rows are still to be chosen.
bool is_choice_open(const bulk_call& call);

// Chooses bands and rows by the rows that were read. There must be at least one.
void choose_by_sample(bulk_call& call);

} // namespace minhash::pg
