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

std::uint16_t agreement(const search& self, const std::uint8_t* record, const std::uint8_t* with)
{
    std::uint16_t equal;
    count_agreements(record, 0, 1, with, self.layout.scheme.num_hashes, &equal);
    return equal;
}

// Adds a record that agrees with the query in `equal` slots, unless the record is dead or of another scope. An empty
// set agrees with nothing, although the zeros in its record may equal slots of the query. NULL is farther than anything
// else, and % is not true of it.
void consider(search& self, const layout& layout, const std::uint8_t* record, int equal, std::uint64_t number)
{
    const ItemPointerData tid = tid_of(record, layout);
    if (is_dead(tid) || (self.by_scope && scope_of(record, layout) != self.scope))
        return;
    const int slots = self.layout.scheme.num_hashes;
    int differing = 0;
    if (is_null(tid)) {
        if (self.filter_record != nullptr)
            return;
        differing = self.in_order ? null_rank(self.layout) : static_cast<int>(self.nulls_last);
    } else if (!has_slots(tid)) {
        if (self.filter_record != nullptr && self.least_equal > 0)
            return;
        differing = self.in_order ? slots : 0;
    } else if (self.in_order) {
        if (self.filter_record != nullptr && self.filter_record != self.ordered_by)
            equal = agreement(self, record, self.ordered_by);
        differing = slots - equal;
    }
    if (!is_possible(row_of(tid)))
        fail_damaged(self.index, meta_block, "A record cannot be of a row.");
    const rank where = rank_of(differing, row_of(tid));
    if (self.found.is_left_out(where))
        return;
    self.found.add(where, number);
    self.work.found++;
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

std::uint64_t count_live(const search& self, const layout& layout, const std::uint8_t* records, int count)
{
    std::uint64_t live = 0;
    for (int at = 0; at < count; at++) {
        const std::uint8_t* const record = records + at * layout.record_bytes;
        live += !is_dead(tid_of(record, layout)) && (!self.by_scope || scope_of(record, layout) == self.scope);
    }
    return live;
}

// Considers records without comparing them, because they have no slots, or because nothing depends on their distance.
void consider_without_slots(search& self, Page page, const layout& layout, BlockNumber block, int ordinal, int count)
{
    for (int at = ordinal; at < ordinal + count; at++) {
        if (self.skip_killed && is_killed(page, layout, at))
            continue;
        const std::uint64_t number = is_bare(page) ? 0 : number_of(layout, block, at);
        consider(self, layout, record_at(page, layout, at), 0, number);
    }
}

// Compares `count` neighbouring records of a page, beginning with the one at `ordinal`.
void consider_all(search& self, Page page, BlockNumber block, int ordinal, int count)
{
    const layout layout = layout_on(page, self.layout);
    const std::uint8_t* const records = record_at(page, layout, ordinal);
    const bool narrow = self.filter_record != nullptr;
    const std::uint8_t* const query = narrow ? self.filter_record : self.ordered_by;
    self.work.compared += static_cast<std::uint64_t>(count);
    if (self.counts)
        self.counted += count_live(self, layout, records, count);
    if (is_bare(page) || query == nullptr) {
        consider_without_slots(self, page, layout, block, ordinal, count);
        return;
    }
    const int slots = layout.scheme.num_hashes;
    const int least = narrow ? self.least_equal : std::max(0, slots - differing_of(self.found.limit));
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
        if (self.skip_killed && is_killed(page, layout, ordinal + at))
            continue;
        const std::uint8_t* const record = records + at * layout.record_bytes;
        const int equal = first < slots ? agreement(self, record, query) : agreements[at];
        if (equal >= least)
            consider(self, layout, record, equal, number_of(layout, block, ordinal + at));
    }
}

bool consider_chain(search& self, BlockNumber first, std::uint64_t pages, BufferAccessStrategy ring = nullptr)
{
    return each_page(self.index,
                     self.layout,
                     first,
                     static_cast<std::uint32_t>(pages),
                     self.meta.next_id,
                     ring,
                     [&](Buffer buffer, Page page, int records) {
                         consider_all(self, page, BufferGetBlockNumber(buffer), 0, records);
                     });
}

// Reads the current meta page. Pages with records of rows that have been found may have been replaced by now, which can
// no longer be seen by their ids once next_id is a later one. So the numbers of these records are forgotten: otherwise,
// a scan that finds such a row dead would mark the record that is now in its place.
void read_state(search& self)
{
    const std::uint64_t before = self.meta.next_id;
    read_meta(self.index, self.meta);
    self.blocks = RelationGetNumberOfBlocks(self.index);
    if (self.meta.next_id != before)
        for (ranked_row& row : self.found.rows)
            row.number = 0;
}

} // namespace

bool consider_numbers(search& self)
{
    const std::uint64_t* const numbers = self.numbers.at;
    const std::size_t count = self.numbers.count;
    const BufferAccessStrategy ring = ring_for(self.index, std::min<std::uint64_t>(count, record_pages_of(self.meta)));
    const int ordinal_bits = self.layout.ordinal_bits;
    for (std::size_t at = 0; at < count;) {
        CHECK_FOR_INTERRUPTS();
        const std::uint64_t block = numbers[at] >> ordinal_bits;
        if (block >= self.blocks)
            fail_damaged(self.index, meta_block, "An entry has no possible record.");
        const Buffer buffer = read_page(self.index, static_cast<BlockNumber>(block), BUFFER_LOCK_SHARE, ring);
        const Page page = BufferGetPage(buffer);
        if (!is_kind(page, page_kind::records) || trailer_of(page).id >= self.meta.next_id) {
            UnlockReleaseBuffer(buffer);
            return false;
        }
        const int records = records_on(self.index, buffer, self.layout);
        for (; at < count && numbers[at] >> ordinal_bits == block; at++) {
            const int ordinal = static_cast<int>(numbers[at] & ((1u << ordinal_bits) - 1));
            if (ordinal >= records)
                fail_damaged(self.index, static_cast<BlockNumber>(block), "An entry's record is not on its page.");
            consider_all(self, page, static_cast<BlockNumber>(block), ordinal, 1);
        }
        UnlockReleaseBuffer(buffer);
    }
    if (ring != nullptr)
        FreeAccessStrategy(ring);
    return true;
}

bool consider_unlisted(search& self)
{
    bool valid = true;
    for (std::uint32_t at = 0; valid && self.of_scope && at < self.meta.run_count; at++) {
        const run& one = self.meta.runs[at];
        valid = consider_chain(self, one.first, std::min(one.bare_pages, one.record_pages));
    }
    return valid && consider_chain(self, self.meta.tail_first, self.meta.tail_pages);
}

void start_again(search& self)
{
    const std::uint64_t before = self.meta.next_id;
    CHECK_FOR_INTERRUPTS();
    read_state(self);
    if (self.meta.next_id == before)
        fail_damaged(self.index, meta_block, "A page of a run is missing.");
    self.has_ranges = false;
    self.candidates = 0;
}

namespace {

// Returns nothing if a run's pages are gone.
std::optional<batch_end> try_some(search& self, std::size_t entries, const index_size* size)
{
    if (!self.has_ranges && !(find_ranges(self) && consider_unlisted(self)))
        return std::nullopt;
    self.has_ranges = true;
    growing<std::uint64_t>& numbers = self.numbers;
    numbers.count = 0;
    if (!read_ranges(self, entries))
        return std::nullopt;
    sort_answering(std::span(numbers));
    numbers.count = static_cast<std::size_t>(std::unique(numbers.at, numbers.end()) - numbers.at);
    self.candidates += numbers.count;
    if (size != nullptr && should_compare_all(*size, static_cast<double>(self.candidates)))
        return batch_end::too_much;
    if (!consider_numbers(self))
        return std::nullopt;
    return self.ranges.count > 0 ? batch_end::more : batch_end::ended;
}

// Compares the records of runs, but of no more than `pages` pages, and the records of the tail.
bool try_pages(search& self, std::uint64_t pages)
{
    const BufferAccessStrategy ring = ring_for(self.index, std::min(pages, record_pages_of(self.meta)));
    bool valid = true;
    for (std::uint32_t at = 0; valid && pages > 0 && at < self.meta.run_count; at++) {
        const std::uint64_t mine = std::min<std::uint64_t>(pages, self.meta.runs[at].record_pages);
        valid = consider_chain(self, self.meta.runs[at].first, mine, ring);
        pages -= mine;
    }
    valid = valid && consider_chain(self, self.meta.tail_first, self.meta.tail_pages, ring);
    if (ring != nullptr)
        FreeAccessStrategy(ring);
    return valid;
}

// Begins a search by the entries under the scope alone.
void begin_scope(search& self)
{
    Assert(self.by_scope);
    self.span = 0;
    self.keys.count = 0;
    self.keys.add(scope_entry_key(self.scope, self.layout));
    self.has_ranges = false;
    self.candidates = 0;
    self.of_scope = true;
    read_state(self);
}

// Whether the entries under the scope alone can be searched.
bool has_scope_entries(const search& self) { return self.by_scope && self.layout.banding.bands > 0; }

} // namespace

void begin_bands(search& self, const scan_plan& plan)
{
    self.work.plan = plan;
    self.work.of_scope = self.of_scope = false;
    set_keys(self, plan);
    self.has_ranges = false;
    self.candidates = self.counted = 0;
    self.found.rows.count = 0;
    read_state(self);
}

batch_end find_some(search& self, std::size_t entries, const index_size* size)
{
    for (;;) {
        if (const std::optional<batch_end> result = try_some(self, entries, size))
            return *result;
        start_again(self);
    }
}

void find_in_all(search& self, const index_size& size)
{
    self.work.plan = {};
    self.work.of_scope = false;
    self.found.rows.count = 0;
    if (has_scope_entries(self)) {
        batch_end result = batch_end::more;
        for (begin_scope(self); result == batch_end::more;)
            result = find_some(self, all_of_range, &size);
        self.work.of_scope = result == batch_end::ended;
        if (result == batch_end::ended)
            return;
        self.found.rows.count = 0;
    }
    read_state(self);
    while (!try_pages(self, std::numeric_limits<std::uint64_t>::max()))
        start_again(self);
}

void find_more(search& self, std::uint64_t most)
{
    Assert(self.counts);
    const std::uint64_t enough = self.counted + most;
    if (has_scope_entries(self)) {
        begin_scope(self);
        for (batch_end result = batch_end::more; result == batch_end::more && self.counted < enough;)
            result = find_some(self, enough - self.counted, nullptr);
        return;
    }
    read_state(self);
    std::uint64_t pages = most / static_cast<std::uint64_t>(self.layout.records_per_page) + 1;
    for (bool all = false; !all && self.counted < enough; pages *= 2) {
        self.counted = enough - most;
        while (!try_pages(self, pages))
            start_again(self);
        all = pages >= record_pages_of(self.meta);
    }
}

} // namespace minhash::pg::index
