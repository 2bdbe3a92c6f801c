// Only the process that scans an index knows its use and the threshold. So each such process gives the notice, once per
// statement: parallel workers may each scan the index, or one for all.
#include "pg/settings.h"
#include "pg/similar/recall_notice.h"

#include "core/tuning.h"

#include <algorithm>
#include <utility>

extern "C" {
#include "access/xact.h"
#include "utils/timestamp.h"
}

namespace minhash::pg {

namespace {

bool is_first_in_statement()
{
    static TimestampTz last_told;
    const TimestampTz now = GetCurrentStatementStartTimestamp();
    return std::exchange(last_told, now) != now;
}

} // namespace

void notice_recall(const banding& shape, int num_hashes, double threshold, bool by_setting, double recall)
{
    const double share = band_probability(threshold, shape.bands, shape.rows);
    if (share >= recall_notice || !is_first_in_statement())
        return;
    const double wanted = std::max(recall, recall_notice);
    const band_choice better = choose_by_recall(threshold, num_hashes, wanted);
    ereport(NOTICE,
            errmsg("index with bands = %d, rows = %d finds only %.4g%% of rows at similarity %g",
                   shape.bands,
                   shape.rows,
                   100 * share,
                   threshold),
            by_setting
                ? errdetail("minhash_lsh.similarity_threshold is %g. A sequential scan finds all rows.", threshold)
                : errdetail("A sequential scan finds all rows."),
            better.bands > 0 ? errhint("Create the index with gin_minhash_ops (bands = %d, rows = %d) to find %g%%.",
                                       better.bands,
                                       better.rows,
                                       100 * wanted)
                             : errhint("Raise the threshold: no bands and rows find %g%%.", 100 * wanted));
}

} // namespace minhash::pg
