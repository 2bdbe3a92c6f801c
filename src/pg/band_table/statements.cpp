#include "pg/band_table/statements.h"

extern "C" {
#include "access/xact.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg {

namespace {

// More plans than these are dropped at the end of a transaction: a session that writes to very many
// tables makes them anew instead of keeping about 6 kB for each.
constexpr long most_plans = 512;

struct kept_plan {
    std::uint64_t key; // hash of text and types; dynahash wants it first
    Oid relation;
    bool stale;
    char* sql;
    SPIPlanPtr plan;
};

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
        entry = {key, relation, false, nullptr, nullptr};
    return entry;
}

// Whether the plan that is kept will be run as it is, as far as RevalidateCachedQuery() and
// CheckCachedPlan() of PostgreSQL can tell before they take locks.
bool is_planned(SPIPlanPtr plan)
{
    const CachedPlanSource* const source =
        static_cast<const CachedPlanSource*>(linitial(SPI_plan_get_plan_sources(plan)));
    const CachedPlan* const kept = source->gplan;
    return source->is_valid && kept != nullptr && kept->is_valid &&
           (!source->dependsOnRLS ||
            (source->rewriteRoleId == GetUserId() && source->rewriteRowSecurity == row_security)) &&
           (!kept->dependsOnRole || kept->planRoleId == GetUserId()) &&
           !TransactionIdIsValid(kept->saved_xmin) && has_current_search_path(*source);
}

// Makes the plan that is kept, once, and again when what it was made for has changed. As a foreign
// key's, it may be made while the table is empty or small, and run when that has grown, but it
// looks up arrays of keys, for which the planner would read a small table whole. So it is made
// without that choice. The settings are for the planner alone: whatever runs by the plan has its
// user's. An error undoes them, too.
void plan_by_indexes(SPIPlanPtr plan)
{
    const int level = NewGUCNestLevel();
    for (const char* const setting :
         {"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"})
        set_config_option(setting,
                          "off",
                          PGC_USERSET,
                          PGC_S_SESSION,
                          GUC_ACTION_SAVE,
                          true,
                          0,
                          false);
    CachedPlan* const planned = SPI_plan_get_cached_plan(plan);
    if (planned == nullptr)
        elog(ERROR, "SPI_plan_get_cached_plan failed");
    ReleaseCachedPlan(planned, CurrentResourceOwner);
    AtEOXact_GUC(false, level);
}

void expect(int result, const char* what)
{
    if (result < 0)
        elog(ERROR, "%s failed: %s", what, SPI_result_code_string(result));
}

} // namespace

SPIPlanPtr prepare_once(Oid relation, const char* sql, std::span<const Oid> types)
{
    const std::uint64_t key = key_of(sql, types);
    kept_plan& entry = entry_of(key, relation);
    if (entry.plan != nullptr && strcmp(entry.sql, sql) == 0)
        return entry.plan;

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
    return plan;
}

std::uint64_t
run(SPIPlanPtr plan, std::span<Datum> values, const char* nulls, bool read_only, snapshot seen)
{
    if (!is_planned(plan))
        plan_by_indexes(plan);
    Snapshot explicitly = InvalidSnapshot;
    if (seen == snapshot::latest) {
        CommandCounterIncrement(); // our own work, too
        explicitly = GetLatestSnapshot();
    }
    expect(SPI_execute_snapshot(plan,
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
