// The notice that an index finds too few of the rows at a threshold.
#pragma once

#include "pg/arguments.h"

namespace minhash::pg {

// Gives notice if an index of these bands and rows finds a smaller share of the rows at the
// threshold than the setting recall_notice, once in a statement whatever processes it runs in; the
// hint is for `recall` or that setting, whichever is more. `by_setting`: the threshold is
// similarity_threshold.
void notice_recall(
    const banding& shape, int num_hashes, double threshold, bool by_setting, double recall);

} // namespace minhash::pg
