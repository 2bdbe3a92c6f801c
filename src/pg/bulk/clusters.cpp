// Clusters of near-duplicates: the connected components of a query's rows over verified pairs.
//
// A bucket's rows are verified only while they are not connected yet, so a large bucket of similar
// rows costs about one comparison a row; and all pairs that are not connected in the end have been
// compared, so nothing is lost.
#include "pg/bulk/candidates.h"
#include "pg/errors.h"

#include "core/union_find.h"

#include <algorithm>

namespace minhash::pg {

namespace {

struct member {
    std::uint32_t row;
    Datum id;
    Datum rank;
    bool no_rank;
};

// Rows of one bucket that are connected with each other: places in the bucket, chained.
struct group {
    std::uint32_t first;
    std::uint32_t last;
};

struct cluster_finder {
    bulk_rows* rows;
    twins same;
    std::span<std::uint32_t> parent;
    group* groups; // of a bucket, and for each place in it the next of its group
    std::uint32_t* next;
    std::size_t room; // of both
    verifier check;
    bool near_representative; // members must reach the threshold with it
    bool singletons;
    ReturnSetInfo* result;
    MemoryContext cluster_memory;
    FmgrInfo compare_ids;
    FmgrInfo compare_ranks;
    Oid id_collation;
    Oid rank_collation;
};

// Whether a row is connected with a group, perhaps by comparing it with all members.
bool belongs(cluster_finder& find,
             std::span<const std::uint32_t> bucket,
             std::uint32_t row,
             const group& members)
{
    if (find_root(find.parent, row) == find_root(find.parent, bucket[members.first]))
        return true;
    for (std::uint32_t place = members.first; place != no_row; place = find.next[place]) {
        CHECK_FOR_INTERRUPTS();
        if (verify(find.check, bucket[place], row) >= 0) {
            join(find.parent, bucket[place], row);
            return true;
        }
    }
    return false;
}

void enlarge_room(cluster_finder& find, std::size_t wanted)
{
    if (wanted <= find.room)
        return;
    if (find.room > 0) {
        pfree(find.groups);
        pfree(find.next);
    }
    find.room = std::max<std::size_t>(1024, wanted + wanted / 4);
    const MemoryContext memory = find.rows->memory;
    find.groups = static_cast<group*>(MemoryContextAllocHuge(memory, find.room * sizeof(group)));
    find.next = static_cast<std::uint32_t*>(
        MemoryContextAllocHuge(memory, find.room * sizeof(std::uint32_t)));
}

// Row by row: each joins the groups of those before it, which thereby become one. The first of a
// group is compared first, so that it is at hand for the next row, too.
void connect(cluster_finder& find, std::span<const std::uint32_t> bucket)
{
    enlarge_room(find, bucket.size());
    std::size_t count = 0;
    for (std::uint32_t place = 0; place < bucket.size(); place++) {
        CHECK_FOR_INTERRUPTS();
        group own = {place, place};
        find.next[place] = no_row;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count; i++) {
            const group other = find.groups[i];
            if (belongs(find, bucket, bucket[place], other)) {
                find.next[other.last] = own.first;
                own.first = other.first;
            } else {
                find.groups[kept++] = other;
            }
        }
        find.groups[kept] = own;
        count = kept + 1;
    }
}

int compare(FmgrInfo& function, Oid collation, Datum a, Datum b)
{
    return DatumGetInt32(FunctionCall2Coll(&function, collation, a, b));
}

// By rank, NULLs last, then by id: the first member is the representative. (For qsort_arg(), which,
// unlike std::sort(), stays inside its array whatever a type's comparison says.)
int compare_members(const void* left, const void* right, void* finder)
{
    CHECK_FOR_INTERRUPTS();
    cluster_finder& find = *static_cast<cluster_finder*>(finder);
    const member& a = *static_cast<const member*>(left);
    const member& b = *static_cast<const member*>(right);
    if (a.no_rank != b.no_rank)
        return a.no_rank ? 1 : -1;
    int order = a.no_rank ? 0 : compare(find.compare_ranks, find.rank_collation, a.rank, b.rank);
    if (order == 0)
        order = compare(find.compare_ids, find.id_collation, a.id, b.id);
    return order != 0 ? order : a.row < b.row ? -1 : 1;
}

void emit(cluster_finder& find, std::span<const member> members)
{
    if (members.size() == 1 && !find.singletons)
        return;
    Datum smallest = members[0].id;
    for (const member& each : members)
        if (compare(find.compare_ids, find.id_collation, each.id, smallest) < 0)
            smallest = each.id;
    for (const member& each : members) {
        Datum values[] = {each.id,
                          smallest,
                          members[0].id,
                          Int64GetDatum(static_cast<long>(members.size()))};
        bool nulls[] = {false, false, false, false};
        tuplestore_putvalues(find.result->setResult, find.result->setDesc, values, nulls);
    }
}

bool is_near(cluster_finder& find, const member& a, const member& b)
{
    const std::uint32_t leader_a = find.same.leader[a.row];
    const std::uint32_t leader_b = find.same.leader[b.row];
    return leader_a == leader_b || verify(find.check, leader_a, leader_b) >= 0;
}

// A component as clusters of those who are near the best of them, the best of what is left, and so
// on.
void split(cluster_finder& find, std::span<member> members)
{
    member* const cluster =
        static_cast<member*>(MemoryContextAllocHuge(find.cluster_memory, members.size_bytes()));
    while (!members.empty()) {
        std::size_t size = 0;
        std::size_t left = 0;
        for (const member& each : members) {
            CHECK_FOR_INTERRUPTS();
            if (size == 0 || is_near(find, cluster[0], each))
                cluster[size++] = each;
            else
                members[left++] = each;
        }
        emit(find, {cluster, size});
        members = members.first(left);
    }
}

void emit_component(cluster_finder& find, std::span<const std::uint32_t> rows)
{
    member* const members = static_cast<member*>(
        MemoryContextAllocHuge(find.cluster_memory, rows.size() * sizeof(member)));
    for (std::size_t i = 0; i < rows.size(); i++) {
        bool null;
        members[i].row = rows[i];
        members[i].id = fetch_datum(find.rows->ids, rows[i], null);
        members[i].no_rank = true;
        if (find.rows->wanted.ranked)
            members[i].rank = fetch_datum(find.rows->ranks, rows[i], members[i].no_rank);
    }
    const std::span<member> all = {members, rows.size()};
    qsort_arg(members, all.size(), sizeof(member), compare_members, &find);
    if (find.near_representative)
        split(find, all);
    else
        emit(find, all);
    MemoryContextReset(find.cluster_memory);
}

// Brings the rows of each component together, by the root that each has: chains through the array
// of parents, which is not needed any more.
void emit_components(cluster_finder& find)
{
    bulk_rows& rows = *find.rows;
    std::span<std::uint32_t> next = find.parent;
    std::uint32_t* const last = static_cast<std::uint32_t*>(
        MemoryContextAllocHuge(rows.memory, (std::size_t{rows.count} + 1) * sizeof(std::uint32_t)));
    std::uint32_t* members = nullptr;
    std::size_t room = 0;

    // Roots come before their rows, so a row's root is known when it is met: it is its parent's.
    for (std::uint32_t row = 0; row < rows.count; row++)
        last[row] = find_root(find.parent, find.same.leader[row]);
    for (std::uint32_t row = 0; row < rows.count; row++)
        next[row] = no_row;
    // last[root] becomes the end of its chain; rows behind are met once, so theirs is overwritten.
    for (std::uint32_t row = 0; row < rows.count; row++) {
        const std::uint32_t root = last[row];
        if (root == row)
            continue; // the chain starts here, and ends
        next[last[root]] = row;
        last[root] = row;
        last[row] = no_row; // no root
    }
    const MemoryContext former = MemoryContextSwitchTo(find.cluster_memory);
    for (std::uint32_t root = 0; root < rows.count; root++) {
        CHECK_FOR_INTERRUPTS();
        if (last[root] == no_row || (last[root] == root && !find.singletons))
            continue;
        std::size_t size = 0;
        for (std::uint32_t row = root; row != no_row; row = next[row]) {
            if (size == room) {
                const std::size_t wanted = std::max<std::size_t>(1024, room * 2);
                members = static_cast<std::uint32_t*>(
                    members == nullptr
                        ? MemoryContextAllocHuge(rows.memory, wanted * sizeof(std::uint32_t))
                        : repalloc_huge(members, wanted * sizeof(std::uint32_t)));
                room = wanted;
            }
            members[size++] = row;
        }
        emit_component(find, {members, size});
    }
    MemoryContextSwitchTo(former);
}

// Empty and NULL texts are near nothing, so each is a cluster of its own.
void emit_lone(bulk_rows& rows, ReturnSetInfo& result)
{
    const MemoryContext former = MemoryContextSwitchTo(rows.row_memory);
    for (std::uint32_t row = 0; row < rows.lone_count; row++) {
        CHECK_FOR_INTERRUPTS();
        MemoryContextReset(rows.row_memory);
        bool null;
        const Datum id = fetch_datum(rows.lone_ids, row, null);
        Datum values[] = {id, id, id, Int64GetDatum(1)};
        bool nulls[] = {false, false, false, false};
        tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
    }
    MemoryContextSwitchTo(former);
}

void prepare_order(FmgrInfo& compare, Oid& collation, Oid type, MemoryContext memory)
{
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_CMP_PROC);
    collation = entry->typcollation;
    fmgr_info_cxt(entry->cmp_proc, &compare, memory);
}

void find_clusters(cluster_finder& find)
{
    bulk_rows& rows = *find.rows;
    prepare_order(find.compare_ids, find.id_collation, rows.ids.type, rows.memory);
    if (rows.wanted.ranked)
        prepare_order(find.compare_ranks, find.rank_collation, rows.ranks.type, rows.memory);
    find.cluster_memory =
        AllocSetContextCreate(rows.memory, "minhash_lsh cluster", ALLOCSET_DEFAULT_SIZES);
    start_verifier(find.check, rows);

    bucket_walk walk;
    start_walk(walk, rows, "banding and verifying rows");
    find.same = find_twins(walk, find.check);
    find.parent = {static_cast<std::uint32_t*>(MemoryContextAllocHuge(
                       rows.memory,
                       (std::size_t{rows.count} + 1) * sizeof(std::uint32_t))),
                   rows.count};
    start_components(find.parent);
    for (int band = 0; band < rows.shape.bands; band++) {
        walk_band(walk, band, [&find](std::span<const std::uint32_t> bucket) {
            connect(find, bucket);
        });
        close_store(rows.keys[band]);
    }
    if (walk.large_buckets > 0)
        tell_large_buckets(walk.large_buckets, rows.wanted.max_bucket);
    end_walk(walk);
    emit_components(find);
}

// -> (id, cluster_id, representative, size)
Datum return_clusters(const bulk_call& call)
{
    enum { arg_near_representative = arg_own, arg_singletons };

    const FunctionCallInfo fcinfo = call.fcinfo;
    const int near_representative = position_of(call, arg_near_representative);
    const int singletons = position_of(call, arg_singletons);
    bulk_request wanted = arg_bulk(call);
    wanted.ranked = true;
    for (const int option : {near_representative, singletons})
        if (PG_ARGISNULL(option))
            fail_null_argument(option, fcinfo->flinfo->fn_oid);
    cluster_finder find = {};
    find.near_representative = PG_GETARG_BOOL(near_representative);
    find.singletons = PG_GETARG_BOOL(singletons);
    wanted.lone_ids = find.singletons;
    find.result = &start_rows(fcinfo);

    SPI_connect();
    bulk_rows& rows = *start_bulk(fcinfo, wanted);
    read_query(rows, text_to_cstring(PG_GETARG_TEXT_PP(arg_query)));
    end_reading(rows);
    find.rows = &rows;
    if (rows.count > 0)
        find_clusters(find);
    emit_lone(rows, *find.result);
    close_stores(rows.budget);
    SPI_finish();
    return static_cast<Datum>(0);
}

} // namespace

// lsh_clusters(query, threshold, recall, bands, rows, verify, max_bucket, num_hashes, shingle_size,
//              unit, fold, bag, seed, method, near_representative, singletons)
MINHASH_FUNCTION(lsh_clusters)
{
    return return_clusters({fcinfo, false});
}

// lsh_clusters(query, anyelement, threshold, ...)
MINHASH_FUNCTION(lsh_clusters_typed)
{
    return return_clusters({fcinfo, true});
}

} // namespace minhash::pg
