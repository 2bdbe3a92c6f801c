// lsh_clusters(): the clusters of a query's rows, each with the best of them as its representative.
#include "pg/arguments.h"
#include "pg/bulk/call.h"
#include "pg/errors.h"

#include "bulk/search/clusters.h"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

struct cluster_call : bulk_call {
    planned_select query;
    bulk::cluster_options options;
    FmgrInfo compare_ids;
    FmgrInfo compare_ranks;
    Oid id_collation;
    Oid rank_collation;
    MemoryContext cluster_memory;
    std::uint32_t first_by_id; // of the current component: the row with the smallest id
};

struct member {
    std::uint32_t row;
    Datum id;
    Datum rank;
    bool no_rank;
};

int compare(FmgrInfo& function, Oid collation, Datum a, Datum b)
{
    return DatumGetInt32(FunctionCall2Coll(&function, collation, a, b));
}

int compare_ids(cluster_call& self, Datum a, Datum b)
{
    return compare(self.compare_ids, self.id_collation, a, b);
}

// By rank, NULLs last, then by id: the first member is the representative.
int compare_members(const void* left, const void* right, void* call)
{
    cluster_call& self = *static_cast<cluster_call*>(call);
    const member& a = *static_cast<const member*>(left);
    const member& b = *static_cast<const member*>(right);
    if (a.no_rank != b.no_rank)
        return a.no_rank ? 1 : -1;
    int order = a.no_rank ? 0 : compare(self.compare_ranks, self.rank_collation, a.rank, b.rank);
    if (order == 0)
        order = compare_ids(self, a.id, b.id);
    return order != 0 ? order : a.row < b.row ? -1 : 1;
}

void order_members(bulk::host& host, std::span<std::uint32_t> rows)
{
    cluster_call& self = static_cast<cluster_call&>(host);
    self.first_by_id = rows[0];
    if (rows.size() == 1)
        return;
    const MemoryContext former = MemoryContextSwitchTo(self.cluster_memory);
    member* const members =
        static_cast<member*>(MemoryContextAllocHuge(self.cluster_memory, rows.size() * sizeof(member)));
    std::size_t first = 0;
    for (std::size_t i = 0; i < rows.size(); i++) {
        bool null;
        members[i].row = rows[i];
        members[i].id = fetch_datum(self.ids, rows[i], null);
        members[i].no_rank = true;
        if (self.wanted.ranked)
            members[i].rank = fetch_datum(self.ranks, rows[i], members[i].no_rank);
        if (compare_ids(self, members[i].id, members[first].id) < 0)
            first = i;
    }
    self.first_by_id = rows[first];
    qsort_interruptible(members, rows.size(), sizeof(member), compare_members, &self);
    for (std::size_t i = 0; i < rows.size(); i++)
        rows[i] = members[i].row;
    MemoryContextSwitchTo(former);
    MemoryContextReset(self.cluster_memory);
}

void put_member(const cluster_call& self,
                Datum id,
                Datum cluster,
                Datum representative,
                std::size_t size,
                double similarity,
                Datum component)
{
    Datum values[] =
        {id, cluster, representative, Int64GetDatum(static_cast<long>(size)), Float8GetDatum(similarity), component};
    bool nulls[] = {false, false, false, false, false, false};
    tuplestore_putvalues(self.result->setResult, self.result->setDesc, values, nulls);
}

void emit_cluster(bulk::host& host, std::span<const std::uint32_t> rows, std::span<const double> similarities)
{
    cluster_call& self = static_cast<cluster_call&>(host);
    const MemoryContext former = MemoryContextSwitchTo(self.cluster_memory);
    Datum* const ids = static_cast<Datum*>(MemoryContextAllocHuge(self.cluster_memory, rows.size() * sizeof(Datum)));
    std::size_t smallest = 0;
    for (std::size_t i = 0; i < rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        bool null;
        ids[i] = fetch_datum(self.ids, rows[i], null);
        if (compare_ids(self, ids[i], ids[smallest]) < 0)
            smallest = i;
    }
    bool null;
    const Datum component = fetch_datum(self.ids, self.first_by_id, null);
    for (std::size_t i = 0; i < rows.size(); i++)
        put_member(self, ids[i], ids[smallest], ids[0], rows.size(), similarities[i], component);
    MemoryContextSwitchTo(former);
    MemoryContextReset(self.cluster_memory);
}

// Empty and NULL texts are near nothing, so each is a cluster of its own.
void emit_lone(cluster_call& self)
{
    const MemoryContext former = MemoryContextSwitchTo(self.row_memory);
    for (std::uint32_t place = 0; place < self.lone_count; place++) {
        CHECK_FOR_INTERRUPTS();
        MemoryContextReset(self.row_memory);
        bool null;
        const Datum id = fetch_datum(self.lone_ids, place, null);
        put_member(self, id, id, id, 1, 1, id);
    }
    MemoryContextSwitchTo(former);
}

void prepare_order(FmgrInfo& compare, Oid& collation, Oid type, MemoryContext memory)
{
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_CMP_PROC);
    collation = entry->typcollation;
    fmgr_info_cxt(entry->cmp_proc, &compare, memory);
}

void find_clusters(cluster_call& self)
{
    prepare_order(self.compare_ids, self.id_collation, self.ids.type, self.memory);
    if (self.wanted.ranked)
        prepare_order(self.compare_ranks, self.rank_collation, self.ranks.type, self.memory);
    self.cluster_memory = AllocSetContextCreate(self.memory, "minhash_lsh cluster", ALLOCSET_DEFAULT_SIZES);
    const std::uint64_t left_out = bulk::find_clusters(*self.rows, self.options, {order_members, emit_cluster});
    notice_large_buckets(left_out, self.rows->task.max_bucket);
}

void read_and_cluster(cluster_call& call)
{
    read_query(call, call.query);
    end_reading(call);
    if (row_count(call) > 0)
        find_clusters(call);
    emit_lone(call);
    end_call(call);
}

// -> (id, cluster_id, representative, size, similarity), and in the named form the component: the
// smallest id of all rows that near pairs connect with this one
Datum return_clusters(const call_form& form)
{
    enum { arg_near_representative = arg_own, arg_singletons };

    const FunctionCallInfo fcinfo = form.fcinfo;
    const int near_representative = position_of(form, arg_near_representative);
    const int singletons = position_of(form, arg_singletons);
    bulk_request wanted = arg_bulk(form);
    wanted.ranked = true;
    for (const int option : {near_representative, singletons})
        if (PG_ARGISNULL(option))
            fail_null_argument(option, fcinfo->flinfo->fn_oid);
    const bulk::cluster_options options = {PG_GETARG_BOOL(near_representative), PG_GETARG_BOOL(singletons)};
    wanted.lone_ids = options.singletons;
    ReturnSetInfo& result = start_rows(fcinfo);
    const Oid others[] = {INT8OID, FLOAT8OID, wanted.id_type};
    check_result(result, wanted.id_type, 3, std::span(others).first(form.ids == id_form::named ? 3 : 2));

    SPI_connect();
    cluster_call& call = *allocate<cluster_call>(CurrentMemoryContext);
    call = {};
    start_call(call, fcinfo, wanted);
    call.result = &result;
    call.options = options;
    call.query = plan_select(text_to_cstring(PG_GETARG_TEXT_PP(arg_query)), {fcinfo->flinfo->fn_oid, nullptr, false});
    read_and_cluster(call);
    SPI_finish();
    return static_cast<Datum>(0);
}

} // namespace

// lsh_clusters(query, threshold, recall, bands, rows, verify, max_bucket, num_hashes, shingle_size,
//              unit, fold, bag, seed, method, near_representative, singletons)
MINHASH_FUNCTION(lsh_clusters)
{
    return return_clusters({fcinfo, id_form::bigints});
}

// lsh_clusters(query, anyelement, threshold, ...)
MINHASH_FUNCTION(lsh_clusters_typed)
{
    return return_clusters({fcinfo, id_form::typed});
}

// _lsh_kept_clusters(query, regtype, threshold, ...)
MINHASH_FUNCTION(lsh_kept_clusters)
{
    return return_clusters({fcinfo, id_form::named});
}

} // namespace minhash::pg
