// Only who scans an index knows that it is used and for what threshold, and parallel workers may
// each scan it for themselves, or one of them for all. So the processes of a statement agree on who
// gives the notice, by shared memory.
#include "pg/lsh/recall_notice.h"
#include "pg/settings.h"

#include "core/tuning.h"

#include <algorithm>

extern "C" {
#include "access/xact.h"
#include "common/hashfn.h"
#include "port/atomics.h"
#include "storage/proc.h"
#include "utils/timestamp.h"
}

namespace minhash::pg {

namespace {

// Of some leaders, the statement that had its notice last. Leaders may have the same place: then
// statements that run at the same time can have one notice more each.
struct told_statements {
    pg_atomic_uint64 by_leader[512];
};

void tell_none(void* fresh)
{
    for (pg_atomic_uint64& statement : static_cast<told_statements*>(fresh)->by_leader)
        pg_atomic_init_u64(&statement, 0);
}

// Whether this is the first call in this statement, in any of its processes.
bool is_first_in_statement()
{
    static TimestampTz last_told;
    static told_statements* told;
    const TimestampTz now = GetCurrentStatementStartTimestamp(); // of workers, too
    if (last_told == now)
        return false;
    last_told = now;
    if (told == nullptr)
        told = static_cast<told_statements*>(
            shared_memory("minhash_lsh told statements", sizeof(told_statements), tell_none));
    if (told == nullptr)
        return true;
    const PGPROC* const leader =
        MyProc->lockGroupLeader == nullptr ? MyProc : MyProc->lockGroupLeader;
    const auto place =
        static_cast<std::size_t>(leader - ProcGlobal->allProcs) % std::size(told->by_leader);
    const std::uint64_t statement =
        hash_combine64(static_cast<std::uint64_t>(leader->pid), static_cast<std::uint64_t>(now));
    return pg_atomic_exchange_u64(&told->by_leader[place], statement) != statement;
}

} // namespace

void notice_recall(
    const banding& shape, int num_hashes, double threshold, bool by_setting, double recall)
{
    const double share = band_probability(threshold, shape.bands, shape.rows);
    if (share >= recall_notice || !is_first_in_statement())
        return;
    const double wanted = std::max(recall, recall_notice);
    const band_choice better = choose_by_recall(threshold, num_hashes, wanted);
    ereport(
        NOTICE,
        errmsg("index with bands = %d, rows = %d finds only %.4g%% of rows at similarity %g",
               shape.bands,
               shape.rows,
               100 * share,
               threshold),
        by_setting
            ? errdetail("minhash_lsh.similarity_threshold is %g. A sequential scan finds all rows.",
                        threshold)
            : errdetail("A sequential scan finds all rows."),
        better.bands > 0
            ? errhint("Create the index with gin_minhash_ops (bands = %d, rows = %d) to find %g%%.",
                      better.bands,
                      better.rows,
                      100 * wanted)
            : errhint("Raise the threshold: no bands and rows find %g%%.", 100 * wanted));
}

} // namespace minhash::pg
