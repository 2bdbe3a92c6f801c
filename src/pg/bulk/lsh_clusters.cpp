// lsh_clusters(): the clusters of a query's rows. The best row of each cluster is its representative.
#include "pg/bulk/blocks.h"
#include "pg/bulk/phases.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include "bulk/search/clusters.h"
#include "bulk/weighted/weighted.h"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

struct cluster_call : bulk_call {
    SortSupportData id_order;
    SortSupportData rank_order; // used only if the query has ranks
    MemoryContext cluster_memory;
    std::uint32_t first_by_id; // the row with the smallest id in the current component
};

struct member {
    std::uint32_t row;
    Datum id;
    Datum rank;
    bool no_rank;
};

int compare_ids(cluster_call& self, Datum a, Datum b)
{
    return ApplySortComparator(a, false, b, false, &self.id_order);
}

// Sorts by rank (NULLs last), then by id. The first member becomes the representative.
int compare_members(const void* left, const void* right, void* call)
{
    cluster_call& self = *static_cast<cluster_call*>(call);
    const member& a = *static_cast<const member*>(left);
    const member& b = *static_cast<const member*>(right);
    int order = ApplySortComparator(a.rank, a.no_rank, b.rank, b.no_rank, &self.rank_order);
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
        members[i] = {rows[i], fetch_datum(self.ids, rows[i]), 0, true};
        if (self.rank_column > 0)
            members[i].rank = fetch_datum(self.ranks, rows[i], &members[i].no_rank);
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

// Adds a row to the result. The component is left out if the result has no column for it.
void put_member(const cluster_call& self,
                Datum id,
                Datum cluster,
                Datum representative,
                std::size_t size,
                double similarity,
                Datum component)
{
    put_row(
        *self.result,
        {id, cluster, representative, Int64GetDatum(static_cast<long>(size)), Float8GetDatum(similarity), component});
}

void emit_cluster(bulk::host& host, std::span<const std::uint32_t> rows, std::span<const double> similarities)
{
    cluster_call& self = static_cast<cluster_call&>(host);
    const MemoryContext former = MemoryContextSwitchTo(self.cluster_memory);
    Datum* const ids = static_cast<Datum*>(MemoryContextAllocHuge(self.cluster_memory, rows.size() * sizeof(Datum)));
    std::size_t smallest = 0;
    for (std::size_t i = 0; i < rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        ids[i] = fetch_datum(self.ids, rows[i]);
        if (compare_ids(self, ids[i], ids[smallest]) < 0)
            smallest = i;
    }
    const Datum component = fetch_datum(self.ids, self.first_by_id);
    for (std::size_t i = 0; i < rows.size(); i++)
        put_member(self, ids[i], ids[smallest], ids[0], rows.size(), similarities[i], component);
    MemoryContextSwitchTo(former);
    MemoryContextReset(self.cluster_memory);
}

// Empty and NULL texts are near nothing, so each is a cluster of its own.
void emit_lone(cluster_call& self)
{
    const MemoryContext former = MemoryContextSwitchTo(self.row_memory);
    for (std::uint32_t ordinal = 0; ordinal < self.lone_count; ordinal++) {
        CHECK_FOR_INTERRUPTS();
        MemoryContextReset(self.row_memory);
        const Datum id = fetch_datum(self.lone_ids, ordinal);
        put_member(self, id, id, id, 1, 1, id);
    }
    MemoryContextSwitchTo(former);
}

// -> (id, cluster_id, representative, size, similarity), and in the named form also the component: the smallest id in
// the row's connected component
Datum return_clusters(const call_form& form)
{
    enum { arg_near_representative = arg_own, arg_singletons, arg_apart, arg_weighting };

    const FunctionCallInfo fcinfo = form.fcinfo;
    const int near_representative = position_of(form, arg_near_representative);
    const int singletons = position_of(form, arg_singletons);
    const int apart = position_of(form, arg_apart);
    bulk_request wanted = arg_bulk(form);
    arg_weight(form, arg_weighting, wanted);
    wanted.phases = wanted.weighted ? std::span<const char* const>(weighted_phases) : cluster_phases;
    wanted.ranked = true;
    for (const int option : {near_representative, singletons})
        refuse_null(fcinfo, option);
    wanted.lone_ids = PG_GETARG_BOOL(singletons);
    if (!PG_GETARG_BOOL(near_representative) && !PG_ARGISNULL(apart))
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("apart needs near_representative"),
                errdetail("Otherwise rows that others connect are one cluster, and nothing says where to cut it."),
                errhint("Use near_representative => true, or leave out apart."));
    cluster_call& self = start_call<cluster_call>(fcinfo, wanted);
    const Oid others[] = {INT8OID, FLOAT8OID, wanted.id_type};
    check_result(*self.result, wanted.id_type, 3, std::span(others).first(form.ids == id_form::named ? 3 : 2));
    const planned_select query = plan_select(fcinfo, arg_query);
    read_verdicts(self, fcinfo, apart);
    read_queries(self, {&query, 1});
    end_reading(self);
    if (row_count(self) > 0) {
        self.id_order = order_of(self.ids.type);
        if (self.rank_column > 0)
            self.rank_order = order_of(self.ranks.type);
        self.cluster_memory = AllocSetContextCreate(self.memory, "minhash_lsh cluster", ALLOCSET_DEFAULT_SIZES);
        const bulk::cluster_options options = {PG_GETARG_BOOL(near_representative), wanted.lone_ids};
        const bulk::cluster_sink sink = {order_members, emit_cluster};
        if (wanted.weighted)
            bulk::find_weighted_clusters(*self.rows, options, sink);
        else
            notice_large_buckets(bulk::find_clusters(*self.rows, options, sink), self.rows->task.max_bucket);
    }
    emit_lone(self);
    return end_call(self);
}

} // namespace

// lsh_clusters(query, threshold, recall, bands, rows, verify, max_bucket, num_hashes, shingle_size,
//              unit, fold, bag, seed, method, near_representative, singletons, apart, weight)
MINHASH_FUNCTION(lsh_clusters) { return return_clusters({fcinfo, id_form::bigints}); }

// lsh_clusters(query, anyelement, threshold, ...)
MINHASH_FUNCTION(lsh_clusters_typed) { return return_clusters({fcinfo, id_form::typed}); }

// _lsh_kept_clusters(query, regtype, threshold, ...)
MINHASH_FUNCTION(lsh_kept_clusters) { return return_clusters({fcinfo, id_form::named}); }

} // namespace minhash::pg
