#include "bulk/components/components.h"
#include "bulk/components/union_find.h"
#include "bulk/search/cluster_emitter.h"
#include "bulk/search/found_pairs.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

namespace {

// The similarity of two rows, if it is already known. Most clusters have two rows, which were compared when they were
// connected.
std::optional<double> known_similarity(const cluster_emitter& emitter, std::uint32_t a, std::uint32_t b)
{
    const auto [first, second] = std::minmax(emitter.rows->leader[a], emitter.rows->leader[b]);
    if (first == second)
        return 1;
    return emitter.met[second] == first ? std::optional(emitter.met_similarity[second]) : std::nullopt;
}

// Whether a row may join the cluster that is being built.
bool is_welcome(const cluster_emitter& emitter, std::uint32_t row)
{
    const apart_rows* const apart = emitter.rows->apart;
    return apart == nullptr || may_join(*apart, row);
}

// The similarity of two rows of one component, if they belong in one cluster.
std::optional<double> near(cluster_emitter& emitter, std::uint32_t a, std::uint32_t b)
{
    if (const std::optional<double> known = known_similarity(emitter, a, b))
        return known;
    return emitter.compare(emitter.with, emitter.rows->leader[a], emitter.rows->leader[b]);
}

// Splits a component into clusters, and emits them. `rows` are the rows of the component, the best first. The best row
// and all rows near it form the first cluster. The best remaining row and all remaining rows near it form the next
// cluster, and so on. Better rows join a cluster first, and a row that must stay apart from one of them is left for
// later clusters. If members need not be near their representative, all rows form one cluster. A cluster of one row
// is emitted only on request.
void add_component(cluster_emitter& emitter, std::span<std::uint32_t> rows)
{
    host& owner = *emitter.rows->owner;
    grow(owner, emitter.members, 0, rows.size());
    grow(owner, emitter.similarities, 0, rows.size());
    std::uint32_t* const members = emitter.members.values;
    double* const similarities = emitter.similarities.values;
    apart_rows* const apart = emitter.rows->apart;
    while (!rows.empty()) {
        const std::uint32_t best = rows[0];
        std::size_t count = 0;
        std::size_t left = 0;
        if (apart != nullptr)
            begin_cluster(*apart);
        for (const std::uint32_t row : rows) {
            pause(owner);
            const auto similarity = is_welcome(emitter, row) ? near(emitter, best, row) : std::nullopt;
            if (similarity) {
                members[count] = row;
                similarities[count++] = *similarity;
                if (apart != nullptr)
                    join_cluster(*apart, row);
            } else {
                rows[left++] = row;
            }
        }
        assert(count > 0 && members[0] == best); // the best row is always taken, so the loop ends
        if (count > 1 || emitter.options.singletons)
            emitter.to.emit(owner, {members, count}, {similarities, count});
        rows = rows.first(left);
    }
}

} // namespace

void start_emitter(cluster_emitter& emitter)
{
    const row_set& rows = *emitter.rows;
    emitter.met = allocate<std::uint32_t>(*rows.owner, rows.count);
    std::fill_n(emitter.met, rows.count, no_row);
    emitter.met_similarity = allocate<double>(*rows.owner, rows.count);
}

void note_similarity(cluster_emitter& emitter, const found_pair& pair)
{
    assert(pair.left < pair.right);
    if (pair.left < emitter.met[pair.right]) {
        emitter.met[pair.right] = pair.left;
        emitter.met_similarity[pair.right] = pair.similarity;
    }
}

void emit_components(cluster_emitter& emitter)
{
    const row_set& rows = *emitter.rows;
    const std::span parent(find_shared<std::uint32_t>(rows, rows.search->parent), rows.count);
    // Replace each entry with the root of the row's leader. A root precedes the other rows of its component, and a
    // leader precedes its twins. So no entry refers to a row after its own, as find_root() requires.
    for (std::uint32_t row = 0; row < parent.size(); row++)
        parent[row] = find_root(parent, rows.leader[row]);
    assert(std::all_of(parent.begin(), parent.end(), [&](std::uint32_t root) {
        return parent[root] == root && rows.leader[root] == root;
    }));
    each_component(*rows.owner,
                   parent,
                   emitter.options.singletons ? 1 : 2,
                   [&emitter](std::span<std::uint32_t> component, std::size_t) {
                       emitter.to.order(*emitter.rows->owner, component);
                       add_component(emitter, component);
                   });
}

} // namespace minhash::bulk
