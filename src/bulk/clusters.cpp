// Bands one after the other, and buckets one after the other, so that what earlier ones have
// connected spares comparisons. In a bucket the rows are kept in groups that are connected; the
// next row is compared with the members of a group only until it belongs to it. At the end the
// components are put out, split around their representatives where that is asked for.
#include "bulk/candidates.h"
#include "bulk/clusters.h"
#include "bulk/comparisons.h"
#include "bulk/components.h"
#include "bulk/union_find.h"

namespace minhash::bulk {

namespace {

// Rows of one bucket that are connected with each other: places in the bucket, chained.
struct group {
    std::uint32_t first;
    std::uint32_t last;
};

struct cluster_finder {
    row_set* rows;
    host* owner;
    cluster_options options;
    cluster_sink to;
    twins same;
    std::span<std::uint32_t> parent;
    growing<group> groups;        // of a bucket
    growing<std::uint32_t> next;  // for each place in it the next of its group
    growing<std::uint32_t> split; // rows of a component
    verifier check;
    comparisons compared; // of buckets of two rows
};

// Whether a row is connected with a group, perhaps by comparing it with all members.
bool belongs(cluster_finder& finder,
             std::span<const std::uint32_t> bucket,
             std::uint32_t row,
             const group& members)
{
    if (find_root(finder.parent, row) == find_root(finder.parent, bucket[members.first]))
        return true;
    for (std::uint32_t place = members.first; place != no_row; place = finder.next.values[place]) {
        pause(*finder.owner);
        if (verify(finder.check, bucket[place], row) >= 0) {
            join(finder.parent, bucket[place], row);
            return true;
        }
    }
    return false;
}

void join_near(void* self, std::uint32_t a, std::uint32_t b, double)
{
    join(static_cast<cluster_finder*>(self)->parent, a, b);
}

// Most buckets have two rows, which need nothing that is known of others.
void connect_two(cluster_finder& finder, std::uint32_t a, std::uint32_t b)
{
    if (find_root(finder.parent, a) != find_root(finder.parent, b))
        verify_later(finder.compared, a, b);
}

// Row by row: each joins the groups of those before it, which thereby become one. The first of a
// group is compared first, so that it is at hand for the next row, too.
void connect(cluster_finder& finder, std::span<const std::uint32_t> bucket)
{
    grow(*finder.owner, finder.groups, 0, bucket.size());
    grow(*finder.owner, finder.next, 0, bucket.size());
    group* const groups = finder.groups.values;
    std::uint32_t* const next = finder.next.values;
    std::size_t count = 0;
    for (std::uint32_t place = 0; place < bucket.size(); place++) {
        pause(*finder.owner);
        group own = {place, place};
        next[place] = no_row;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count; i++) {
            const group other = groups[i];
            if (belongs(finder, bucket, bucket[place], other)) {
                next[other.last] = own.first;
                own.first = other.first;
            } else {
                groups[kept++] = other;
            }
        }
        groups[kept] = own;
        count = kept + 1;
    }
}

void emit(cluster_finder& finder, std::span<const std::uint32_t> rows)
{
    if (rows.size() > 1 || finder.options.singletons)
        finder.to.emit(*finder.owner, rows);
}

bool is_near(cluster_finder& finder, std::uint32_t a, std::uint32_t b)
{
    const std::uint32_t leader_a = finder.same.leader[a];
    const std::uint32_t leader_b = finder.same.leader[b];
    return leader_a == leader_b || verify(finder.check, leader_a, leader_b) >= 0;
}

// Splits a component, whose rows are in order: rows near its best row, then near the best of the
// rest, and so on.
void emit_split(cluster_finder& finder, std::span<std::uint32_t> rows)
{
    grow(*finder.owner, finder.split, 0, rows.size());
    std::uint32_t* const cluster = finder.split.values;
    while (!rows.empty()) {
        std::size_t size = 0;
        std::size_t left = 0;
        for (const std::uint32_t row : rows) {
            pause(*finder.owner);
            if (size == 0 || is_near(finder, cluster[0], row))
                cluster[size++] = row;
            else
                rows[left++] = row;
        }
        emit(finder, {cluster, size});
        rows = rows.first(left);
    }
}

void emit_components(cluster_finder& finder)
{
    const std::span<std::uint32_t> parent = finder.parent;
    // Roots come before their rows, and leaders before those that are the same.
    for (std::uint32_t row = 0; row < parent.size(); row++)
        parent[row] = find_root(parent, finder.same.leader[row]);
    each_component(*finder.owner,
                   parent,
                   finder.options.singletons ? 1 : 2,
                   [&finder](std::span<std::uint32_t> component) {
                       finder.to.order(*finder.owner, component);
                       if (finder.options.near_representative)
                           emit_split(finder, component);
                       else
                           emit(finder, component);
                   });
}

void end_finder(cluster_finder& finder)
{
    host& owner = *finder.owner;
    end_comparisons(finder.compared);
    end_verifier(finder.check);
    release(owner, finder.same.leader.data());
    release(owner, finder.same.next.data());
    release(owner, finder.parent.data());
    release(owner, finder.groups.values);
    release(owner, finder.next.values);
    release(owner, finder.split.values);
}

} // namespace

std::uint64_t find_clusters(row_set& rows, const cluster_options& options, const cluster_sink& to)
{
    cluster_finder finder = {};
    finder.rows = &rows;
    finder.owner = rows.owner;
    finder.options = options;
    finder.to = to;
    finish_rows(rows);
    start_verifier(finder.check, rows, false);
    start_comparisons(finder.compared, finder.check, &finder, join_near);

    bucket_walk walk;
    start_walk(walk, rows, "banding and verifying rows");
    finder.same = find_twins(walk, finder.check);
    finder.parent = {allocate<std::uint32_t>(*rows.owner, rows.count), rows.count};
    start_components(finder.parent);
    for (int band = 0; band < rows.task.shape.bands; band++) {
        walk_band(walk, band, [&finder](std::span<const std::uint32_t> bucket) {
            if (bucket.size() == 2)
                connect_two(finder, bucket[0], bucket[1]);
            else
                connect(finder, bucket);
        });
        finish_comparisons(finder.compared); // near rows meet in most of the bands to come
        close_band(rows, band);
    }
    end_walk(walk);
    emit_components(finder);
    end_finder(finder);
    return walk.large_buckets;
}

} // namespace minhash::bulk
