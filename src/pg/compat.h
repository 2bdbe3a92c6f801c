// Differences between PostgreSQL versions, all of them. Included by glue.h alone.
#pragma once

#if PG_VERSION_NUM < 150000
#error "minhash_lsh needs PostgreSQL 15 or later"
#endif

extern "C" {
#include "catalog/namespace.h"
#include "storage/lwlock.h"
#include "storage/pg_shmem.h"
#include "storage/shmem.h"
#include "utils/plancache.h"
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#endif
}

// Soft errors came with 16: before, input functions have no context to save an error in, and it
// is raised.
#if PG_VERSION_NUM < 160000
#define errsave(context, ...) ereport(ERROR, __VA_ARGS__)
#endif

// 15.0 has the function under its first name only, and 15.1 and later have both.
#if PG_VERSION_NUM < 160000
#define InitMaterializedSRF SetSingleFuncCall
#ifndef MAT_SRF_USE_EXPECTED_DESC
#define MAT_SRF_USE_EXPECTED_DESC SRF_SINGLE_USE_EXPECTED
#endif
#endif

// 16 asks for the owner of any object by its catalogue.
inline bool owns_relation(Oid relation, Oid user)
{
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(RelationRelationId, relation, user);
#else
    return pg_class_ownercheck(relation, user);
#endif
}

// 17 has another name for it. Whether names in a statement would be looked up as when it was
// prepared.
inline bool has_current_search_path(const CachedPlanSource& source)
{
#if PG_VERSION_NUM >= 170000
    return SearchPathMatchesCurrentEnvironment(source.search_path);
#else
    return OverrideSearchPathMatchesCurrent(source.search_path);
#endif
}

// 18 wants to know whether ANALYZE waits.
inline void vacuum_delay()
{
#if PG_VERSION_NUM >= 180000
    vacuum_delay_point(false);
#else
    vacuum_delay_point();
#endif
}

// Statistics of an index; 18 also shows searches in EXPLAIN.
inline void count_index_scan(IndexScanDesc scan)
{
    pgstat_count_index_scan(scan->indexRelation);
#if PG_VERSION_NUM >= 180000
    if (scan->instrument != nullptr)
        scan->instrument->nsearches++;
#endif
}

// 17 runs index expressions with a search path that nobody else has put anything into.
inline void restrict_search_path()
{
#if PG_VERSION_NUM >= 170000
    RestrictSearchPath();
#endif
}

// Before 18, infinite costs are enough to keep the planner from a path.
inline void disable_path(Path& path)
{
#if PG_VERSION_NUM >= 180000
    path.disabled_nodes = 2;
#endif
}

// Memory that all sessions find by its name; who comes first makes it ready. 17 finds it anywhere.
// Before, it is of the little that the server sets aside, and null if that is used up.
inline void* shared_memory(const char* name, Size bytes, void (*make_ready)(void* fresh))
{
    bool found;
#if PG_VERSION_NUM >= 170000
    return GetNamedDSMSegment(name, bytes, make_ready, &found);
#else
    const PGShmemHeader& all = *static_cast<const PGShmemHeader*>(UsedShmemSegAddr);
    constexpr Size reserve = 4096; // for the name
    if (all.totalsize - all.freeoffset < bytes + reserve)
        return nullptr;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    void* const memory = ShmemInitStruct(name, bytes, &found);
    if (!found)
        make_ready(memory);
    LWLockRelease(AddinShmemInitLock);
    return memory;
#endif
}

#if PG_VERSION_NUM >= 180000
#define MINHASH_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "minhash_lsh", .version = MINHASH_VERSION)
#else
#define MINHASH_MODULE_MAGIC PG_MODULE_MAGIC
#endif
