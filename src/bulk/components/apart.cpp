// The partners of all ids are in one array, ordered by two counting sorts, because there may be as many verdicts as a
// table has rows. A row that joins a cluster marks its id's partners with the number of the cluster. So each row costs
// as many steps as its id has partners, however many clusters the rows of a component are tried for.
#include "bulk/components/apart.h"

namespace minhash::bulk {

namespace {

// Sorts verdicts by one of their ids. Verdicts with the same id keep their order. `ends` gets, for each id, where its
// verdicts end.
void sort_by(
    host& owner, std::span<const verdict> from, verdict* to, std::span<std::uint64_t> ends, std::uint32_t verdict::*id)
{
    std::fill(ends.begin(), ends.end(), 0);
    for (const verdict& each : from) {
        pause(owner);
        ends[each.*id]++;
    }
    sum_counts(ends);
    for (const verdict& each : from) {
        pause(owner);
        to[ends[each.*id]++] = each;
    }
}

} // namespace

void end_verdicts(apart_rows& apart, std::uint32_t ids, bool directed)
{
    host& owner = *apart.owner;
    if (!directed) {
        std::size_t count = 0;
        const std::size_t given = apart.count;
        grow(owner, apart.verdicts, given, given * 2);
        verdict* const all = apart.verdicts.values;
        for (std::size_t i = 0; i < given; i++) {
            pause(owner);
            if (all[i].left != all[i].right)
                all[count++] = all[i];
        }
        for (std::size_t i = 0; i < count; i++) {
            pause(owner);
            all[count + i] = {all[i].right, all[i].left};
        }
        apart.count = count * 2;
    }
    apart.ids = ids;
    apart.ends = allocate<std::uint64_t>(owner, ids);
    const std::span<std::uint64_t> ends = {apart.ends, ids};
    verdict* const verdicts = apart.verdicts.values;
    verdict* const sorted = allocate<verdict>(owner, apart.count);
    sort_by(owner, {verdicts, apart.count}, sorted, ends, &verdict::right);
    sort_by(owner, {sorted, apart.count}, verdicts, ends, &verdict::left);
    release(owner, sorted);
    apart.partners = allocate<std::uint32_t>(owner, apart.count);
    for (std::size_t i = 0; i < apart.count; i++) {
        pause(owner);
        apart.partners[i] = verdicts[i].right;
    }
    release(owner, verdicts);
    apart.verdicts = {};
    apart.kept_out = allocate<std::uint32_t>(owner, ids);
    std::fill_n(apart.kept_out, ids, 0);
}

void join_cluster(apart_rows& apart, std::uint32_t row)
{
    assert(may_join(apart, row));
    const std::uint32_t id = apart.id_of_row.values[row];
    if (id == no_row)
        return;
    for (const std::uint32_t partner : partners_of(apart, id)) {
        pause(*apart.owner);
        apart.kept_out[partner] = apart.cluster;
    }
}

} // namespace minhash::bulk
