#include "pg/index/format/nodes.h"
#include "pg/index/format/records.h"
#include "pg/index/read/search.h"

#include "core/compress.h"

#include <algorithm>
#include <limits>

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
}

namespace minhash::pg::index {

namespace {

// The maximum number of records on a page.
constexpr int most_records = page_room / (min_num_hashes + static_cast<int>(sizeof(ItemPointerData)));

// The maximum number of entries that are read, from all ranges together, before the records of these entries are
// compared.
std::size_t most_numbers() { return static_cast<std::size_t>(work_mem) * 1024 / 4 / sizeof(std::uint64_t); }

std::uint16_t agreement(const search& state, const std::uint8_t* record, const std::uint8_t* with)
{
    std::uint16_t equal;
    count_agreements(record, 0, 1, with, state.layout.scheme.num_hashes, &equal);
    return equal;
}

// Adds a record that agrees with the query in `equal` slots, unless the record is dead or of another scope. An empty
// set agrees with nothing, although the zeros in its record may equal slots of the query. NULL is farther than anything
// else, and % is not true of it.
void consider(search& state, const layout& layout, const std::uint8_t* record, int equal, std::uint64_t number)
{
    const ItemPointerData tid = tid_of(record, layout);
    if (is_dead(tid) || (state.by_scope && scope_of(record, layout) != state.scope))
        return;
    const int slots = state.layout.scheme.num_hashes;
    int differing = 0;
    if (is_null(tid)) {
        if (state.narrowed_by != nullptr)
            return;
        differing = state.in_order ? null_rank(state.layout) : static_cast<int>(state.nulls_last);
    } else if (!has_slots(tid)) {
        if (state.narrowed_by != nullptr && state.least_equal > 0)
            return;
        differing = state.in_order ? slots : 0;
    } else if (state.in_order) {
        if (state.narrowed_by != nullptr && state.narrowed_by != state.ordered_by)
            equal = agreement(state, record, state.ordered_by);
        differing = slots - equal;
    }
    if (!is_possible(row_of(tid)))
        fail_damaged(state.index, meta_block, "A record cannot be of a row.");
    const rank where = rank_of(differing, row_of(tid));
    if (state.found.is_left_out(where))
        return;
    state.found.add(where, number);
    state.work.found++;
}

// How many slots to compare first: about half of them, or all. A record is rejected after the first half if it could
// not reach `least` even with all other slots equal. Most records are rejected like this if the first half must have
// more equal slots than unrelated texts have.
int first_slots(int slots, int least)
{
    constexpr int vector = 64; // the widest vector that count_agreements() processes at once
    const int half = slots / 2 / vector * vector;
    return least - (slots - half) > half / 8 ? half : slots;
}

std::uint64_t count_live(const search& state, const layout& layout, const std::uint8_t* records, int count)
{
    std::uint64_t live = 0;
    for (int at = 0; at < count; at++) {
        const std::uint8_t* const record = records + at * layout.record_bytes;
        live += !is_dead(tid_of(record, layout)) && (!state.by_scope || scope_of(record, layout) == state.scope);
    }
    return live;
}

// Considers records without comparing them, because they have no slots, or because nothing depends on their distance.
void consider_without_slots(search& state, Page page, const layout& layout, BlockNumber block, int place, int count)
{
    for (int at = place; at < place + count; at++) {
        if (state.skip_killed && is_killed(page, layout, at))
            continue;
        const std::uint64_t number = is_bare(page) ? 0 : number_of(layout, block, at);
        consider(state, layout, record_at(page, layout, at), 0, number);
    }
}

// Compares `count` neighbouring records of a page, beginning with the one at `place`.
void consider_all(search& state, Page page, BlockNumber block, int place, int count)
{
    const layout layout = layout_on(page, state.layout);
    const std::uint8_t* const records = record_at(page, layout, place);
    const bool narrow = state.narrowed_by != nullptr;
    const std::uint8_t* const query = narrow ? state.narrowed_by : state.ordered_by;
    state.work.compared += static_cast<std::uint64_t>(count);
    if (state.counts)
        state.counted += count_live(state, layout, records, count);
    if (is_bare(page) || query == nullptr) {
        consider_without_slots(state, page, layout, block, place, count);
        return;
    }
    const int slots = layout.scheme.num_hashes;
    const int least = narrow ? state.least_equal : std::max(0, slots - differing_of(state.found.limit));
    const int first = first_slots(slots, least);
    std::uint16_t agreements[most_records];
    count_agreements(records,
                     static_cast<std::size_t>(layout.record_bytes),
                     static_cast<std::size_t>(count),
                     query,
                     static_cast<std::uint32_t>(first),
                     agreements);
    for (int at = 0; at < count; at++) {
        if (agreements[at] < least - (slots - first))
            continue;
        if (state.skip_killed && is_killed(page, layout, place + at))
            continue;
        const std::uint8_t* const record = records + at * layout.record_bytes;
        const int equal = first < slots ? agreement(state, record, query) : agreements[at];
        if (equal >= least)
            consider(state, layout, record, equal, number_of(layout, block, place + at));
    }
}

// The child in which a key may first occur. This is the last child that begins with a smaller key, because the key may
// be both at the end of that child and at the start of the next. If no child begins with a smaller key, it is the
// first.
int child_of(const inner_view& page, std::uint64_t key)
{
    const std::ptrdiff_t after = std::lower_bound(page.keys, page.keys + page.count(), key) - page.keys;
    return after == 0 ? 0 : static_cast<int>(after) - 1;
}

// Returns the first child, from `first` on, whose filter says that the child may have entries with `key`. If no filter
// says so, the leaves below the next inner page may still have entries with `key`, but only if the first key of that
// page, `next_key`, is not greater than `key`. In this case, returns the last child, because its link leads to the
// leaves below the next page. Otherwise, returns -1.
int filtered_child(const inner_view& page, int first, std::uint64_t key, std::uint64_t next_key)
{
    for (int at = first; at < page.count() && (at == first || page.keys[at] <= key); at++)
        if (page.may_have(at, key))
            return at;
    return page.keys[page.count() - 1] <= key && next_key <= key ? page.count() - 1 : -1;
}

constexpr std::size_t at_once = 6; // PostgreSQL keeps track of up to 8 pins in a fast array

// Prefetches the first `bytes` bytes, and the trailer, of a pinned page into the CPU's cache.
void prefetch(Buffer buffer, int bytes)
{
    const Page page = BufferGetPage(buffer);
    for (int at = 0; at < bytes; at += 64)
        __builtin_prefetch(page + at);
    __builtin_prefetch(page + trailer_offset);
}

// The number of bytes before the filters, on an inner page that has filters.
constexpr int inner_start = contents_offset + static_cast<int>(sizeof(node_head)) + filtered_room * inner_width;

// Descends one level: replaces the page of each key, in `blocks`, by the child that leads to the key, or by
// InvalidBlockNumber if the filters show that the run does not have the key. `keys` must be sorted, so that each page
// is read once for all keys below it. Returns false if the run's pages are gone.
bool descend_level(const search& state,
                   const run& which,
                   std::uint32_t level,
                   std::span<const std::uint64_t> keys,
                   BlockNumber* blocks,
                   std::uint64_t* next_keys)
{
    bool valid = true;
    for (std::size_t first = 0; valid && first < keys.size();) {
        // A lookup mostly waits for memory, so several pages are prefetched at the same time.
        Buffer pages[at_once];
        std::size_t count = 0;
        std::size_t end = first;
        for (; end < keys.size(); end++) {
            if (end > first && blocks[end] == blocks[end - 1])
                continue;
            if (count == at_once)
                break;
            check_block(state.index, blocks[end], state.blocks);
            pages[count] = pin_page(state.index, blocks[end]);
            prefetch(pages[count++], inner_start);
        }
        for (std::size_t at = 0; at < count; at++) {
            const Buffer buffer = pages[at];
            const BlockNumber block = BufferGetBlockNumber(buffer);
            LockBuffer(buffer, BUFFER_LOCK_SHARE);
            inner_view page;
            valid = valid && view_inner(state.index, buffer, which.id, level, page) && page.count() > 0;
            for (; first < end && blocks[first] == block; first++) {
                if (!valid)
                    continue;
                int child = child_of(page, keys[first]);
                if (page.has_filters() && state.span == 0)
                    child = filtered_child(page, child, keys[first], next_keys[first]);
                else if (child + 1 < page.count())
                    next_keys[first] = page.keys[child + 1];
                blocks[first] = child < 0 ? InvalidBlockNumber : page.blocks[child];
            }
            UnlockReleaseBuffer(buffer);
        }
    }
    return valid;
}

// A run with more pages of records than this is large.
constexpr std::uint32_t many_pages = 1024;

// Pins a leaf. For a large run, the session does not remember in which buffer the leaf was, because it is unlikely to
// read the same leaf again soon.
Buffer fetch_leaf(const search& state, const run& which, BlockNumber block)
{
    check_block(state.index, block, state.blocks);
    const Buffer buffer =
        which.record_pages > many_pages ? ReadBuffer(state.index, block) : pin_page(state.index, block);
    prefetch(buffer, 64);
    return buffer;
}

// Reads the record numbers of up to `most` entries of a range. `buffer` is the leaf to start at, pinned but not locked;
// this function releases it. Returns false if the run's pages are gone.
bool read_range(search& state, entry_range& range, Buffer buffer, std::size_t most)
{
    const Relation index = state.index;
    const run& which = state.meta.runs[range.run];
    const std::uint64_t last = range.key + state.span;
    std::size_t left = most;
    for (BlockNumber pages = 0;;) {
        CHECK_FOR_INTERRUPTS();
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        leaf_view leaf;
        if (!view_leaf(index, buffer, which.id, leaf)) {
            UnlockReleaseBuffer(buffer);
            return false;
        }
        const int count = leaf.head->count;
        int at = range.at.has_value() ? *range.at : leaf.lower_bound(range.key);
        for (; at < count && left > 0 && leaf.key(at) <= last; at++, left--)
            state.numbers.add(leaf.number(at));
        const bool ends = at < count && leaf.key(at) > last;
        range.at = at < count ? at : 0;
        if (at >= count)
            range.block = trailer_of(BufferGetPage(buffer)).next;
        if (ends)
            range.block = InvalidBlockNumber;
        UnlockReleaseBuffer(buffer);
        if (range.block == InvalidBlockNumber || left == 0)
            return true;
        if (++pages > state.blocks)
            fail_damaged(index, range.block, "Leaves lead back to themselves.");
        buffer = fetch_leaf(state, which, range.block);
    }
}

// Reads up to `most` more entries of each range, or fewer if memory is short. A few ranges are read at a time, so that
// their leaves are prefetched together. Ranges without further entries are removed. Returns false if a run's pages are
// gone.
bool read_ranges(search& state, std::size_t most)
{
    Buffer leaves[at_once];
    growing<entry_range>& ranges = state.ranges;
    most = std::max<std::size_t>(1, std::min(most, most_numbers() / std::max<std::size_t>(1, ranges.count)));
    std::size_t kept = 0;
    bool valid = true;
    for (std::size_t first = 0; valid && first < ranges.count; first += at_once) {
        const std::size_t count = std::min(at_once, ranges.count - first);
        for (std::size_t at = 0; at < count; at++) {
            const entry_range& range = ranges.at[first + at];
            leaves[at] = fetch_leaf(state, state.meta.runs[range.run], range.block);
        }
        for (std::size_t at = 0; at < count; at++) {
            entry_range range = ranges.at[first + at];
            if (!valid) {
                ReleaseBuffer(leaves[at]);
                continue;
            }
            valid = read_range(state, range, leaves[at], most);
            if (range.block != InvalidBlockNumber)
                ranges.at[kept++] = range;
        }
    }
    ranges.count = kept;
    return valid;
}

// Compares the records whose numbers were read.
bool consider_numbers(search& state)
{
    const std::uint64_t* const numbers = state.numbers.at;
    const std::size_t count = state.numbers.count;
    const BufferAccessStrategy ring =
        ring_for(state.index, std::min<std::uint64_t>(count, record_pages_of(state.meta)));
    const int place_bits = state.layout.place_bits;
    for (std::size_t at = 0; at < count;) {
        CHECK_FOR_INTERRUPTS();
        const std::uint64_t block = numbers[at] >> place_bits;
        if (block >= state.blocks)
            fail_damaged(state.index, meta_block, "An entry has no possible record.");
        const Buffer buffer = read_page(state.index, static_cast<BlockNumber>(block), BUFFER_LOCK_SHARE, ring);
        const Page page = BufferGetPage(buffer);
        if (!is_kind(page, page_kind::records) || trailer_of(page).id >= state.meta.next_id) {
            UnlockReleaseBuffer(buffer);
            return false;
        }
        const int records = records_on(state.index, buffer, state.layout);
        for (; at < count && numbers[at] >> place_bits == block; at++) {
            const int place = static_cast<int>(numbers[at] & ((1u << place_bits) - 1));
            if (place >= records)
                fail_damaged(state.index, static_cast<BlockNumber>(block), "An entry's record is not on its page.");
            consider_all(state, page, static_cast<BlockNumber>(block), place, 1);
        }
        UnlockReleaseBuffer(buffer);
    }
    if (ring != nullptr)
        FreeAccessStrategy(ring);
    return true;
}

bool consider_chain(search& state, BlockNumber first, std::uint64_t pages, BufferAccessStrategy ring = nullptr)
{
    return each_page(state.index,
                     state.layout,
                     first,
                     static_cast<std::uint32_t>(pages),
                     state.meta.next_id,
                     ring,
                     [&](Buffer buffer, Page page, int records) {
                         consider_all(state, page, BufferGetBlockNumber(buffer), 0, records);
                     });
}

void read_state(search& state)
{
    read_meta(state.index, state.meta);
    state.blocks = RelationGetNumberOfBlocks(state.index);
}

// Finds where the ranges begin in each run, and compares the records of the tail.
bool find_ranges(search& state)
{
    state.ranges.count = 0;
    const std::span<const std::uint64_t> keys = state.keys;
    BlockNumber* const blocks = static_cast<BlockNumber*>(palloc(sizeof(BlockNumber) * keys.size()));
    auto* const next_keys = static_cast<std::uint64_t*>(palloc(sizeof(std::uint64_t) * keys.size()));
    bool valid = true;
    for (std::uint32_t at = 0; valid && at < state.meta.run_count; at++) {
        const run& which = state.meta.runs[at];
        if (which.root == InvalidBlockNumber) {
            valid = !state.of_scope || consider_chain(state, which.first, which.bare_pages);
            continue;
        }
        std::fill_n(blocks, keys.size(), which.root);
        std::fill_n(next_keys, keys.size(), std::numeric_limits<std::uint64_t>::max());
        for (std::uint32_t level = which.height; valid && level > 0; level--)
            valid = descend_level(state, which, level, keys, blocks, next_keys);
        for (std::size_t key = 0; valid && key < keys.size(); key++)
            if (blocks[key] != InvalidBlockNumber)
                state.ranges.add({at, keys[key], blocks[key], std::nullopt});
        if (valid && state.of_scope)
            valid = consider_chain(state, which.first, std::min(which.bare_pages, which.record_pages));
    }
    pfree(next_keys);
    pfree(blocks);
    return valid && consider_chain(state, state.meta.tail_first, state.meta.tail_pages);
}

// Returns nothing if a run's pages are gone.
std::optional<batch_end> try_some(search& state, std::size_t entries, const index_size* size)
{
    if (!state.has_ranges && !find_ranges(state))
        return std::nullopt;
    state.has_ranges = true;
    growing<std::uint64_t>& numbers = state.numbers;
    numbers.count = 0;
    if (!read_ranges(state, entries))
        return std::nullopt;
    sort_answering(std::span(numbers));
    numbers.count = static_cast<std::size_t>(std::unique(numbers.at, numbers.end()) - numbers.at);
    state.candidates += numbers.count;
    if (size != nullptr && should_compare_all(*size, static_cast<double>(state.candidates)))
        return batch_end::too_much;
    if (!consider_numbers(state))
        return std::nullopt;
    return state.ranges.count > 0 ? batch_end::more : batch_end::ended;
}

// Compares the records of runs, but of no more than `pages` pages, and the records of the tail.
bool try_pages(search& state, std::uint64_t pages)
{
    const BufferAccessStrategy ring = ring_for(state.index, std::min(pages, record_pages_of(state.meta)));
    bool valid = true;
    for (std::uint32_t at = 0; valid && pages > 0 && at < state.meta.run_count; at++) {
        const std::uint64_t mine = std::min<std::uint64_t>(pages, state.meta.runs[at].record_pages);
        valid = consider_chain(state, state.meta.runs[at].first, mine, ring);
        pages -= mine;
    }
    valid = valid && consider_chain(state, state.meta.tail_first, state.meta.tail_pages, ring);
    if (ring != nullptr)
        FreeAccessStrategy(ring);
    return valid;
}

// Starts a search again from the current meta page, after the search met pages that have been replaced. An ERROR if the
// meta page has not changed, because then the pages were not replaced but are missing. Rows that have been found stay
// found, because duplicates of them do no harm.
void start_again(search& state)
{
    const std::uint64_t before = state.meta.next_id;
    CHECK_FOR_INTERRUPTS();
    read_state(state);
    if (state.meta.next_id == before)
        fail_damaged(state.index, meta_block, "A page of a run is missing.");
    state.has_ranges = false;
    state.candidates = 0;
}

// Begins a search by the entries under the scope alone.
void begin_scope(search& state)
{
    Assert(state.by_scope);
    state.span = 0;
    state.keys.count = 0;
    state.keys.add(scope_entry_key(state.scope, state.layout));
    state.has_ranges = false;
    state.candidates = 0;
    state.of_scope = true;
    read_state(state);
}

// Whether the entries under the scope alone can be searched.
bool has_scope_entries(const search& state) { return state.by_scope && state.layout.shape.bands > 0; }

constexpr std::size_t all_of_range = std::size_t{1} << 40;

} // namespace

void begin_bands(search& state, const scan_plan& plan)
{
    Assert(plan.depth > 0 && plan.depth <= state.layout.shape.rows);
    Assert(plan.bands > 0 && plan.bands <= state.layout.shape.bands);
    state.work.plan = plan;
    state.work.of_scope = state.of_scope = false;
    const int rows = state.layout.shape.rows;
    state.span = plan.depth < rows ? prefix_span(rows, plan.depth) : 0;
    const std::uint8_t* const query = state.narrowed_by != nullptr ? state.narrowed_by : state.ordered_by;
    state.keys.count = 0;
    for (int band = 0; band < plan.bands; band++)
        state.keys.add(band_entry_key(query, state.layout, band) & ~state.span);
    state.has_ranges = false;
    state.candidates = state.counted = 0;
    state.found.rows.count = 0;
    read_state(state);
}

batch_end find_some(search& state, std::size_t entries, const index_size* size)
{
    for (;;) {
        if (const std::optional<batch_end> result = try_some(state, entries, size))
            return *result;
        start_again(state);
    }
}

void find_in_all(search& state, const index_size& size)
{
    state.work.plan = {0, 0};
    state.work.of_scope = false;
    state.found.rows.count = 0;
    if (has_scope_entries(state)) {
        batch_end result = batch_end::more;
        for (begin_scope(state); result == batch_end::more;)
            result = find_some(state, all_of_range, &size);
        state.work.of_scope = result == batch_end::ended;
        if (result == batch_end::ended)
            return;
        state.found.rows.count = 0;
    }
    read_state(state);
    while (!try_pages(state, std::numeric_limits<std::uint64_t>::max()))
        start_again(state);
}

void find_more(search& state, std::uint64_t most)
{
    Assert(state.counts);
    const std::uint64_t enough = state.counted + most;
    if (has_scope_entries(state)) {
        begin_scope(state);
        for (batch_end result = batch_end::more; result == batch_end::more && state.counted < enough;)
            result = find_some(state, enough - state.counted, nullptr);
        return;
    }
    read_state(state);
    std::uint64_t pages = most / static_cast<std::uint64_t>(state.layout.records_per_page) + 1;
    for (bool all = false; !all && state.counted < enough; pages *= 2) {
        state.counted = enough - most;
        while (!try_pages(state, pages))
            start_again(state);
        all = pages >= record_pages_of(state.meta);
    }
}

} // namespace minhash::pg::index
