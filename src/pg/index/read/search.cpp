#include "pg/index/format/records.h"
#include "pg/index/read/ranges.h"
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

} // namespace

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

bool consider_unlisted(search& state)
{
    bool valid = true;
    for (std::uint32_t at = 0; valid && state.of_scope && at < state.meta.run_count; at++) {
        const run& which = state.meta.runs[at];
        valid = consider_chain(state, which.first, std::min(which.bare_pages, which.record_pages));
    }
    return valid && consider_chain(state, state.meta.tail_first, state.meta.tail_pages);
}

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

namespace {

// Returns nothing if a run's pages are gone.
std::optional<batch_end> try_some(search& state, std::size_t entries, const index_size* size)
{
    if (!state.has_ranges && !(find_ranges(state) && consider_unlisted(state)))
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

} // namespace

void begin_bands(search& state, const scan_plan& plan)
{
    state.work.plan = plan;
    state.work.of_scope = state.of_scope = false;
    set_keys(state, plan);
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
    state.work.plan = {};
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
