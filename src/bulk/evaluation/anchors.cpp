#include "bulk/evaluation/anchors.h"
#include "bulk/search/verifier.h"

#include "core/compress.h"
#include "core/probe.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace minhash::bulk {

namespace {

// The minimum number of slots in a band. With fewer slots, nearly every row would share a band with every other row.
constexpr int least_rows = 3;

// However many pairs there are, halving never leaves fewer anchors than this.
constexpr std::uint32_t least_anchors = 64;

// About how many bytes the tables of bands may have together, so that they are in the CPU's cache.
constexpr std::size_t tables_bytes = 1024 * 1024;

// How many rows, and how many candidates, a process takes at a time.
constexpr std::uint32_t rows_at_once = 4096;
constexpr std::uint32_t candidates_at_once = 256;

constexpr std::size_t pairs_chunk = 64 * 1024;

// Whether two bands agree. (Bands are so short that a call of memcmp(), which std::equal() is here, takes longer.)
bool agree(const std::uint32_t* a, const std::uint32_t* b, int rows) noexcept
{
    for (int i = 0; i < rows; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

// A setting whose candidates are counted.
struct counted_setting {
    minhash::banding banding;
    std::uint64_t candidates; // atomic
};

// What all processes share.
struct shared_anchors {
    shared_number anchors; // the row numbers of all anchors, used or not
    std::uint32_t used;    // how many of them are used, the first ones; atomic
    std::size_t most_pairs;
    shared_number candidates; // each process's store of candidates
    shared_number pairs;      // each process's store of true pairs
    shared_number settings;
    std::size_t setting_count;
};

shared_anchors& shared_of_anchors(const row_set& rows)
{
    return *find_shared<shared_anchors>(rows, shared_of(rows).by_itself);
}

std::uint32_t used_now(const row_set& rows)
{
    return std::atomic_ref(shared_of_anchors(rows).used).load(std::memory_order_relaxed);
}

// Leaves out the anchors after the first `used`.
void use_first(anchor_set& self, std::size_t used)
{
    for (const std::uint32_t left_out : self.anchors.subspan(used))
        self.anchors_of[self.number[self.rows->leader[left_out]]]--;
    self.anchors = self.anchors.first(used);
    self.count = static_cast<std::uint32_t>(std::lower_bound(self.first_anchor, self.first_anchor + self.count, used) -
                                            self.first_anchor);
}

// Halves the anchors that are used, in all processes, unless they are too few. Another process may have done so.
bool halve_anchors(anchor_set& self)
{
    auto used = static_cast<std::uint32_t>(self.anchors.size());
    const std::uint32_t half = used / 2;
    if (half < least_anchors)
        return false;
    const std::atomic_ref shared(shared_of_anchors(*self.rows).used);
    use_first(self, shared.compare_exchange_strong(used, half, std::memory_order_relaxed) ? half : used);
    return true;
}

// A hash table of the anchors' leaders by their slots in one band. Leaders that hash to the same cell in `heads` are
// chained.
struct band_table {
    std::uint32_t* heads;
    std::uint32_t* next;
    std::uint32_t* keys;
};

// The tables of some bands of one setting.
struct band_tables {
    int room; // how many tables there is room for
    std::size_t mask;
    band_table* tables;
    minhash::banding banding;
    int first; // the band of the first table
    int end;
    std::uint32_t* met; // for each leader of anchors, the last row that has met it in these tables
};

band_tables make_tables(const anchor_set& self)
{
    host& owner = *self.rows->owner;
    const std::size_t cells = std::bit_ceil(4 * std::size_t{self.count} + 1);
    const std::size_t most = tables_bytes / ((cells + 2 * std::size_t{self.count}) * sizeof(std::uint32_t));
    band_tables made = {};
    made.room = static_cast<int>(std::clamp<std::size_t>(most, 1, max_num_hashes));
    made.mask = cells - 1;
    made.tables = allocate<band_table>(owner, static_cast<std::size_t>(made.room));
    for (int table = 0; table < made.room; table++)
        made.tables[table] = {allocate<std::uint32_t>(owner, cells),
                              allocate<std::uint32_t>(owner, self.count),
                              allocate<std::uint32_t>(owner, self.count)};
    made.met = allocate<std::uint32_t>(owner, self.count);
    return made;
}

std::uint64_t hash_slots_of_band(const std::uint32_t* slots, int count)
{
    std::uint64_t hash = 0;
    for (int i = 0; i < count; i++)
        hash = (hash ^ slots[i]) * 0x9E3779B97F4A7C15;
    return first_cell(hash);
}

std::size_t first_slot(banding banding, int band)
{
    return static_cast<std::size_t>(band) * static_cast<unsigned>(banding.rows);
}

// Fills the tables with the bands from `first` on, as many as there are tables.
void fill_tables(const anchor_set& self, band_tables& tables, banding banding, int first)
{
    tables.banding = banding;
    tables.first = first;
    tables.end = std::min(first + tables.room, banding.bands);
    std::fill_n(tables.met, self.count, no_row);
    for (int band = first; band < tables.end; band++) {
        const band_table& table = tables.tables[band - first];
        std::fill_n(table.heads, tables.mask + 1, no_row);
        for (std::uint32_t anchor = 0; anchor < self.count; anchor++) {
            pause(*self.rows->owner);
            const std::uint32_t* const slots = slots_of_anchor(self, anchor) + first_slot(banding, band);
            const std::uint64_t hash = hash_slots_of_band(slots, banding.rows);
            table.keys[anchor] = static_cast<std::uint32_t>(hash >> 32);
            table.next[anchor] = table.heads[hash & tables.mask];
            table.heads[hash & tables.mask] = anchor;
        }
    }
}

// Looks a row up in the tables. Calls visit(anchor) for each leader of anchors with which the row shares one of these
// bands, but no band before. If the row is an anchor's leader, too, only leaders with lower numbers are visited, since
// otherwise the pair would be met twice.
template <typename Visit>
void look_up(const anchor_set& self, const band_tables& tables, std::uint32_t row, Visit&& visit)
{
    const std::uint32_t* const slots = slots_of_row(self, row);
    const std::uint32_t below = self.number[row];
    const banding before = {tables.first, tables.banding.rows};
    for (int band = tables.first; band < tables.end; band++) {
        pause(*self.rows->owner);
        const band_table& table = tables.tables[band - tables.first];
        const std::size_t at = first_slot(tables.banding, band);
        const std::uint64_t hash = hash_slots_of_band(slots + at, tables.banding.rows);
        const auto key = static_cast<std::uint32_t>(hash >> 32);
        for (std::uint32_t anchor = table.heads[hash & tables.mask]; anchor != no_row; anchor = table.next[anchor]) {
            if (table.keys[anchor] != key || anchor >= below || tables.met[anchor] == row)
                continue;
            const std::uint32_t* const others = slots_of_anchor(self, anchor);
            if (!agree(others + at, slots + at, tables.banding.rows))
                continue;
            tables.met[anchor] = row;
            if (in_one_scope(*self.rows, self.leaders[anchor], row) &&
                first_shared(others, slots, before) == before.bands)
                visit(anchor);
        }
    }
}

// Calls visit(i, anchor, row) for each pair of leaders (see `candidate`) that shares a band of settings[i]. The
// signatures of the rows do not fit into the cache, so a unit is a range of rows in as many bands as there are tables.
template <typename Visit>
void each_meeting(const anchor_set& self, const char* phase, std::span<const counted_setting> settings, Visit&& visit)
{
    band_tables tables = make_tables(self);
    const row_set& rows = *self.rows;
    const auto fillings_of = [&tables](const banding& banding) {
        return static_cast<std::uint64_t>((banding.bands + tables.room - 1) / tables.room);
    };
    std::uint64_t total = 0;
    for (const counted_setting& each : settings)
        total += fillings_of(each.banding);
    const std::uint64_t ranges = (std::uint64_t{rows.count} + rows_at_once - 1) / rows_at_once;
    std::size_t i = 0;
    std::uint64_t before = 0; // how many fillings the settings before this one have
    std::uint64_t filled = total;
    for (std::uint64_t unit; (unit = next_unit(rows)) < total * ranges;) {
        report(*rows.owner, phase, unit, total * ranges);
        if (unit / ranges != filled) {
            filled = unit / ranges;
            while (filled - before >= fillings_of(settings[i].banding))
                before += fillings_of(settings[i++].banding);
            fill_tables(self, tables, settings[i].banding, static_cast<int>(filled - before) * tables.room);
        }
        const std::uint64_t first = unit % ranges * rows_at_once;
        const std::uint64_t end = std::min<std::uint64_t>(first + rows_at_once, rows.count);
        for (auto row = static_cast<std::uint32_t>(first); row < end; row++)
            if (rows.leader[row] == row)
                look_up(self, tables, row, [&](std::uint32_t anchor) { visit(i, anchor, row); });
    }
}

// The candidates that a process finds.
struct candidate_list {
    verifier check;
    growing<candidate> values;
    std::size_t count;
};

// Drops the candidates of anchors that are not used any more.
void drop_unused(const anchor_set& self, candidate_list& found)
{
    candidate* const all = found.values.values;
    const auto is_unused = [&self](const candidate& each) { return each.anchor >= self.count; };
    found.count = static_cast<std::size_t>(std::remove_if(all, all + found.count, is_unused) - all);
}

// How many anchors are used in the end does not depend on the order in which candidates are found: they are halved if,
// and only if, they have too many candidates in all.
void add_candidate(anchor_set& self, candidate_list& found, std::uint32_t anchor, std::uint32_t row)
{
    if (anchor >= self.count || !may_be_near(found.check, row, self.leaders[anchor]))
        return;
    add(*self.rows->owner, found.values, found.count, {anchor, row});
    while (found.count > shared_of_anchors(*self.rows).most_pairs && halve_anchors(self))
        drop_unused(self, found);
}

// Makes candidates of all pairs whose signatures agree enough in the slots that are compared first. Used if the
// threshold is so low that only very short bands, or none, would reach the recall.
void add_all_candidates(anchor_set& self, candidate_list& found)
{
    constexpr std::uint32_t at_once = 256;
    const row_set& rows = *self.rows;
    each_unit(rows, "comparing anchors with all rows", rows.count, at_once, [&](std::uint32_t row, std::uint32_t end) {
        for (; row < end; row++) {
            if (rows.leader[row] != row)
                continue;
            const std::uint32_t* const slots = slots_of_row(self, row);
            for (std::uint32_t anchor = 0; anchor < self.count && anchor < self.number[row]; anchor++) {
                pause(*rows.owner);
                if (count_equal(found.check.first_slots_scheme, slots, slots_of_anchor(self, anchor)) >=
                    found.check.least_at_start)
                    add_candidate(self, found, anchor, row);
            }
        }
    });
}

void find_candidates_of_units(row_set& rows)
{
    anchor_set self = open_anchors(rows);
    candidate_list found = {};
    start_verifier(found.check, rows);
    const counted_setting complete = {
        choose_by_recall(rows.task.threshold, rows.task.scheme.num_hashes, rows.task.recall),
        0};
    if (complete.banding.rows < least_rows)
        add_all_candidates(self, found);
    else
        each_meeting(
            self,
            "looking for rows near to anchors",
            {&complete, 1},
            [&](std::size_t, std::uint32_t anchor, std::uint32_t row) { add_candidate(self, found, anchor, row); });
    use_first(self, used_now(rows));
    drop_unused(self, found);
    byte_store* const store = open_shared_store(*rows.budget, chunk_for(*rows.budget, 1, pairs_chunk));
    for (std::size_t i = 0; i < found.count; i++)
        append(*store, &found.values.values[i], sizeof(candidate));
    leave_store(rows, store, shared_of_anchors(rows).candidates);
}

// Calls take(candidate) for each of the candidates from `first` to `end` that have used anchors. The candidates of all
// processes are numbered together.
template <typename Take>
void each_candidate(const anchor_set& self, byte_store** stores, std::uint64_t first, std::uint64_t end, Take&& take)
{
    std::uint64_t before = 0;
    for (std::uint32_t member = 0; member < self.rows->shared->processes; member++) {
        const std::uint64_t count = stores[member]->size / sizeof(candidate);
        const std::uint64_t from = std::clamp(first, before, before + count) - before;
        const std::uint64_t to = std::clamp(end, before, before + count) - before;
        each_piece<candidate>(*stores[member], from * sizeof(candidate), to * sizeof(candidate), [&](auto piece) {
            for (const candidate& each : piece)
                if (each.anchor < self.count)
                    take(each);
        });
        before += count;
    }
}

std::uint64_t count_stored(const row_set& rows, byte_store** stores)
{
    std::uint64_t count = 0;
    for (std::uint32_t member = 0; member < rows.shared->processes; member++)
        count += stores[member]->size / sizeof(candidate);
    return count;
}

void compare_candidates_of_units(row_set& rows)
{
    const shared_anchors& shared = shared_of_anchors(rows);
    const anchor_set self = open_anchors(rows);
    verifier check = {};
    start_verifier(check, rows);
    byte_store** const stores = open_left(rows, shared.candidates);
    byte_store* const pairs = open_shared_store(*rows.budget, chunk_for(*rows.budget, 1, pairs_chunk));
    const char* const phase = "comparing rows with anchors";
    each_unit(rows, phase, count_stored(rows, stores), candidates_at_once, [&](std::uint32_t first, std::uint32_t end) {
        each_candidate(self, stores, first, end, [&](const candidate& each) {
            pause(*rows.owner);
            if (const auto similarity = verify(check, each.row, self.leaders[each.anchor])) {
                const true_pair found = {each, *similarity};
                append(*pairs, &found, sizeof(found));
            }
        });
    });
    leave_store(rows, pairs, shared.pairs);
}

void count_candidates_of_units(row_set& rows)
{
    const shared_anchors& shared = shared_of_anchors(rows);
    const anchor_set self = open_anchors(rows);
    const std::span settings(find_shared<counted_setting>(rows, shared.settings), shared.setting_count);
    auto* const counts = allocate<std::uint64_t>(*rows.owner, settings.size());
    std::fill_n(counts, settings.size(), 0);
    each_meeting(self,
                 "counting candidates of anchors",
                 settings,
                 [&](std::size_t i, std::uint32_t anchor, std::uint32_t row) {
                     counts[i] += pairs_between(self, {anchor, row});
                 });
    for (std::size_t i = 0; i < settings.size(); i++)
        std::atomic_ref(settings[i].candidates).fetch_add(counts[i], std::memory_order_relaxed);
}

// Halves the anchors as long as all processes together have found too many candidates.
void check_candidates(anchor_set& self)
{
    const row_set& rows = *self.rows;
    const shared_anchors& shared = shared_of_anchors(rows);
    byte_store** const stores = open_left(rows, shared.candidates);
    use_first(self, used_now(rows));
    std::uint64_t count;
    do {
        count = 0;
        each_candidate(self, stores, 0, count_stored(rows, stores), [&count](const candidate&) { count++; });
    } while (count > shared.most_pairs && halve_anchors(self));
}

} // namespace

int first_shared(const std::uint32_t* a, const std::uint32_t* b, banding banding)
{
    int band = 0;
    while (band < banding.bands && !agree(a, b, banding.rows)) {
        band++;
        a += banding.rows;
        b += banding.rows;
    }
    return band;
}

void share_anchors(row_set& rows, std::span<const std::uint32_t> anchors, std::size_t most_pairs)
{
    auto* const shared = allocate_shared<shared_anchors>(*rows.owner, shared_of(rows).by_itself);
    std::copy(anchors.begin(),
              anchors.end(),
              allocate_shared<std::uint32_t>(*rows.owner, shared->anchors, anchors.size()));
    shared->used = static_cast<std::uint32_t>(anchors.size());
    shared->most_pairs = most_pairs;
}

anchor_set open_anchors(row_set& rows)
{
    host& owner = *rows.owner;
    const shared_anchors& shared = shared_of_anchors(rows);
    const std::size_t hashes = rows.task.scheme.num_hashes;
    anchor_set self = {};
    self.rows = &rows;
    self.anchors = {find_shared<std::uint32_t>(rows, shared.anchors), used_now(rows)};
    self.buffer = allocate<std::uint32_t>(owner, hashes);
    self.members = allocate<std::uint32_t>(owner, rows.count);
    self.number = allocate<std::uint32_t>(owner, rows.count);
    std::fill_n(self.members, rows.count, 0);
    std::fill_n(self.number, rows.count, no_row);
    for (std::uint32_t row = 0; row < rows.count; row++)
        self.members[rows.leader[row]]++;
    const std::size_t most = self.anchors.size();
    self.leaders = allocate<std::uint32_t>(owner, most);
    self.first_anchor = allocate<std::uint32_t>(owner, most);
    self.anchors_of = allocate<std::uint32_t>(owner, most);
    self.rows_of = allocate<std::uint32_t>(owner, most);
    self.slots = allocate<std::uint32_t>(owner, most * hashes);
    std::fill_n(self.anchors_of, most, 0);
    for (std::size_t i = 0; i < most; i++) {
        pause(owner);
        const std::uint32_t leader = rows.leader[self.anchors[i]];
        std::uint32_t& number = self.number[leader];
        if (number == no_row) {
            number = self.count++;
            std::copy_n(slots_of_row(self, leader), hashes, self.slots + number * hashes);
            self.leaders[number] = leader;
            self.rows_of[number] = self.members[leader];
            self.first_anchor[number] = static_cast<std::uint32_t>(i);
        }
        self.anchors_of[number]++;
    }
    return self;
}

std::span<const true_pair> find_true_pairs(anchor_set& self)
{
    row_set& rows = *self.rows;
    shared_anchors& shared = shared_of_anchors(rows);
    expect_stores(rows, shared.candidates);
    do_step(rows, find_candidates_of_units);
    check_candidates(self);
    expect_stores(rows, shared.pairs);
    do_step(rows, compare_candidates_of_units);
    free_left(rows, shared.candidates);
    growing<true_pair> pairs = {};
    std::size_t count = 0;
    byte_store** const stores = open_left(rows, shared.pairs);
    for (std::uint32_t member = 0; member < rows.shared->processes; member++)
        each_piece<true_pair>(*stores[member], 0, stores[member]->size, [&](auto piece) {
            for (const true_pair& each : piece)
                add(*rows.owner, pairs, count, each);
        });
    sort_values(*rows.owner, pairs.values, count, [](const true_pair& a, const true_pair& b) {
        return make_entry(a.rows.row, a.rows.anchor) < make_entry(b.rows.row, b.rows.anchor);
    });
    return {pairs.values, count};
}

void count_candidates(row_set& rows, std::span<setting> settings)
{
    shared_anchors& shared = shared_of_anchors(rows);
    auto* const counted = allocate_shared<counted_setting>(*rows.owner, shared.settings, settings.size());
    shared.setting_count = settings.size();
    for (std::size_t i = 0; i < settings.size(); i++)
        counted[i].banding = settings[i].banding;
    do_step(rows, count_candidates_of_units);
    for (std::size_t i = 0; i < settings.size(); i++)
        settings[i].candidates += counted[i].candidates;
}

} // namespace minhash::bulk
