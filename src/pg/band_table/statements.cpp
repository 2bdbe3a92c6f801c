#include "pg/band_table/statements.h"

namespace minhash::pg {

namespace {

struct kept_plan {
    std::uint64_t key; // hash of text and types; dynahash wants it first
    char* sql;
    SPIPlanPtr plan;
};

HTAB* plans; // this session's

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

kept_plan& entry_of(std::uint64_t key)
{
    if (plans == nullptr) {
        HASHCTL control = {};
        control.keysize = sizeof(std::uint64_t);
        control.entrysize = sizeof(kept_plan);
        plans = hash_create("minhash_lsh plans", 16, &control, HASH_ELEM | HASH_BLOBS);
    }
    bool found;
    kept_plan& entry = *static_cast<kept_plan*>(hash_search(plans, &key, HASH_ENTER, &found));
    if (!found) {
        entry.sql = nullptr;
        entry.plan = nullptr;
    }
    return entry;
}

// Makes the plan if there is none, or what it was made for has changed. The settings are for this
// alone: whatever runs by the plan, such as triggers, has its user's. An error undoes them, too.
// (What must be read without an index costs so much by them that it would be compiled each time.)
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
    CachedPlan* const scheme = SPI_plan_get_cached_plan(plan);
    if (scheme == nullptr)
        elog(ERROR, "SPI_plan_get_cached_plan failed");
    ReleaseCachedPlan(scheme, CurrentResourceOwner);
    AtEOXact_GUC(false, level);
}

void expect(int result, const char* what)
{
    if (result < 0)
        elog(ERROR, "%s failed: %s", what, SPI_result_code_string(result));
}

} // namespace

SPIPlanPtr prepare_once(const char* sql, std::span<const Oid> types)
{
    kept_plan& entry = entry_of(key_of(sql, types));
    if (entry.plan != nullptr && strcmp(entry.sql, sql) == 0)
        return entry.plan;

    const SPIPlanPtr plan = SPI_prepare_cursor(sql,
                                               static_cast<int>(types.size()),
                                               const_cast<Oid*>(types.data()),
                                               CURSOR_OPT_GENERIC_PLAN);
    if (plan == nullptr)
        expect(SPI_result, "SPI_prepare_cursor");
    expect(SPI_keepplan(plan), "SPI_keepplan");
    if (entry.plan != nullptr) {
        SPI_freeplan(entry.plan);
        pfree(entry.sql);
    }
    entry.plan = plan;
    entry.sql = MemoryContextStrdup(TopMemoryContext, sql);
    return plan;
}

std::uint64_t
run(SPIPlanPtr plan, std::span<Datum> values, const char* nulls, bool read_only, snapshot seen)
{
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

void act_again_as(identity former)
{
    SetUserIdAndSecContext(former.user, former.context);
}

} // namespace minhash::pg
