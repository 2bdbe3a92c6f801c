// The notice that an index may find too few of the rows at a threshold.
#pragma once

#include "pg/arguments.h"

namespace minhash::pg {

// A NOTICE, once per statement and process, if an index with these bands and rows finds a smaller share of the rows at
// the threshold than the setting recall_notice. The hint is for the larger of `recall` and that setting. `by_setting`:
// the threshold is the setting similarity_threshold.
void notice_recall(const banding& shape, int num_hashes, double threshold, bool by_setting, double recall);

} // namespace minhash::pg
