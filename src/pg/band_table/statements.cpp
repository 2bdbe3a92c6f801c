// Plans are plain ones, made by the user's settings and kept, as those of foreign keys. Statistics
// that change, or a new definition, make PostgreSQL plan anew. But rows of the same transaction do
// neither, and the plan of a guard that was made for an empty table reads the table whole: without
// more, each of the last of 8,000 rows that one transaction inserts takes 19 ms instead of 0.3 ms.
// So a plan is also made anew after 16 runs, and then each time that the runs have doubled. Then a
// table has at most doubled since its plan was made, or one run has changed many rows; and planning
// costs next to nothing a run.
//
// (Settings like enable_seqscan, switched off as the plan is made, would save 0.2 ms for each of
// the first 200 rows of a table. An index scan without SQL would have to find its way through
// partitions, policies and conversions of types, which the planner knows.)
#include "pg/band_table/statements.h"

extern "C" {
#include "access/xact.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg {

struct kept_plan {
    std::uint64_t key; // hash of text and types; dynahash wants it first
    Oid relation;
    bool stale;
    char* sql;
    SPIPlanPtr plan;
    int generation; // of the plan that PostgreSQL has made, as it counts them
    std::uint64_t runs;
    std::uint64_t plan_at; // at which run it is to be made anew
};

namespace {

// More plans than these are dropped at the end of a transaction: a session that writes to very many
// tables makes them anew instead of keeping about 6 kB for each.
constexpr long most_plans = 512;

HTAB* plans; // this session's
bool any_stale;

std::uint64_t key_of(const char* sql, std::span<const Oid> types)
{
    const std::uint64_t hash =
        hash_bytes_extended(reinterpret_cast<const unsigned char*>(types.data()),
                            static_cast<int>(types.size_bytes()),
                            0);
    return hash_bytes_extended(reinterpret_cast<const unsigned char*>(sql),
                               static_cast<int>(strlen(sql)),
                               hash);
}

void free_plan(kept_plan& entry)
{
    if (entry.plan != nullptr)
        SPI_freeplan(entry.plan);
    if (entry.sql != nullptr)
        pfree(entry.sql);
    entry.plan = nullptr;
    entry.sql = nullptr;
}

// A plan may be running as its relation changes, so it is only marked.
void mark_stale(Datum, Oid relation)
{
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, plans);
    while (kept_plan* const entry = static_cast<kept_plan*>(hash_seq_search(&scan)))
        if (relation == entry->relation || relation == InvalidOid)
            entry->stale = any_stale = true;
}

// No plan runs any more.
void drop_stale(XactEvent event, void*)
{
    const bool too_many = hash_get_num_entries(plans) > most_plans;
    if ((!any_stale && !too_many) ||
        (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE))
        return;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, plans);
    while (kept_plan* const entry = static_cast<kept_plan*>(hash_seq_search(&scan))) {
        if (!entry->stale && !too_many)
            continue;
        free_plan(*entry);
        hash_search(plans, &entry->key, HASH_REMOVE, nullptr);
    }
    any_stale = false;
}

void open_plans()
{
    HASHCTL control = {};
    control.keysize = sizeof(std::uint64_t);
    control.entrysize = sizeof(kept_plan);
    plans = hash_create("minhash_lsh plans", 16, &control, HASH_ELEM | HASH_BLOBS);
    CacheRegisterRelcacheCallback(mark_stale, 0);
    RegisterXactCallback(drop_stale, nullptr);
}

kept_plan& entry_of(std::uint64_t key, Oid relation)
{
    if (plans == nullptr)
        open_plans();
    bool found;
    kept_plan& entry = *static_cast<kept_plan*>(hash_search(plans, &key, HASH_ENTER, &found));
    if (!found)
        entry = {key, relation, false, nullptr, nullptr, 0, 0, 0};
    return entry;
}

CachedPlanSource& source_of(const kept_plan& kept)
{
    return *static_cast<CachedPlanSource*>(linitial(SPI_plan_get_plan_sources(kept.plan)));
}

// Has the planner plan anew each time that a plan has been run twice as often since it was made.
void plan_for_grown_tables(kept_plan& kept)
{
    CachedPlanSource& source = source_of(kept);
    if (source.generation != kept.generation) { // PostgreSQL has planned since
        kept.generation = source.generation;
        kept.runs = 0;
        kept.plan_at = 16;
    }
    if (++kept.runs < kept.plan_at || source.gplan == nullptr)
        return;
    source.gplan->is_valid = false; // as when statistics change
    kept.generation = source.generation + 1;
    kept.plan_at *= 2;
}

// A plan for any values may be one that only fails: Citus makes such plans, and counts on
// PostgreSQL to prefer plans for the values at hand. So where the planner has left the work to an
// extension, PostgreSQL is to choose between the two as it would without us.
void plan_for_values_if_needed(kept_plan& kept)
{
    CachedPlanSource& source = source_of(kept);
    const bool planned = source.is_valid && source.gplan != nullptr && source.gplan->is_valid;
    if (planned || (source.cursor_options & CURSOR_OPT_GENERIC_PLAN) == 0)
        return;
    CachedPlan* const made = SPI_plan_get_cached_plan(kept.plan);
    if (IsA(linitial_node(PlannedStmt, made->stmt_list)->planTree, CustomScan))
        source.cursor_options &= ~CURSOR_OPT_GENERIC_PLAN;
    ReleaseCachedPlan(made, CurrentResourceOwner);
}

void expect(int result, const char* what)
{
    if (result < 0)
        elog(ERROR, "%s failed: %s", what, SPI_result_code_string(result));
}

} // namespace

kept_plan& prepare_once(Oid relation, const char* sql, std::span<const Oid> types)
{
    const std::uint64_t key = key_of(sql, types);
    kept_plan& entry = entry_of(key, relation);
    if (entry.plan != nullptr && strcmp(entry.sql, sql) == 0)
        return entry;

    const SPIPlanPtr plan = SPI_prepare_cursor(sql,
                                               static_cast<int>(types.size()),
                                               const_cast<Oid*>(types.data()),
                                               CURSOR_OPT_GENERIC_PLAN);
    if (plan == nullptr)
        expect(SPI_result, "SPI_prepare_cursor");
    expect(SPI_keepplan(plan), "SPI_keepplan");
    free_plan(entry);
    entry.plan = plan;
    entry.sql = MemoryContextStrdup(TopMemoryContext, sql);
    entry.generation = -1;
    return entry;
}

std::uint64_t
run(kept_plan& kept, std::span<Datum> values, const char* nulls, bool read_only, snapshot seen)
{
    plan_for_grown_tables(kept);
    plan_for_values_if_needed(kept);
    Snapshot explicitly = InvalidSnapshot;
    if (seen == snapshot::latest) {
        CommandCounterIncrement(); // our own work, too
        explicitly = GetLatestSnapshot();
    }
    expect(SPI_execute_snapshot(kept.plan,
                                values.data(),
                                nulls,
                                explicitly,
                                InvalidSnapshot,
                                read_only,
                                true,
                                0),
           "SPI_execute_snapshot");
    return SPI_processed;
}

std::uint64_t run_once(const char* sql)
{
    const SPIPlanPtr plan = SPI_prepare(sql, 0, nullptr);
    if (plan == nullptr)
        expect(SPI_result, "SPI_prepare");
    expect(SPI_execute_snapshot(plan,
                                nullptr,
                                nullptr,
                                GetLatestSnapshot(),
                                InvalidSnapshot,
                                false,
                                true,
                                0),
           "SPI_execute_snapshot");
    return SPI_processed;
}

std::uint64_t read_once(const char* sql)
{
    expect(SPI_execute(sql, true, 0), "SPI_execute");
    return SPI_processed;
}

double rows_expected_of(const char* sql)
{
    const SPIPlanPtr plan = SPI_prepare(sql, 0, nullptr);
    if (plan == nullptr)
        expect(SPI_result, "SPI_prepare");
    CachedPlan* const planned = SPI_plan_get_cached_plan(plan);
    const double rows = linitial_node(PlannedStmt, planned->stmt_list)->planTree->plan_rows;
    ReleaseCachedPlan(planned, nullptr);
    return rows;
}

identity act_as(Oid user, int restriction)
{
    identity former;
    GetUserIdAndSecContext(&former.user, &former.context);
    SetUserIdAndSecContext(user,
                           former.context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS |
                               restriction);
    return former;
}

identity act_again_as(identity former)
{
    identity replaced;
    GetUserIdAndSecContext(&replaced.user, &replaced.context);
    SetUserIdAndSecContext(former.user, former.context);
    return replaced;
}

} // namespace minhash::pg
