#include "pg/index/format/nodes.h"
#include "pg/index/format/records.h"
#include "pg/index/read/ranges.h"

#include <algorithm>
#include <limits>

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
}

namespace minhash::pg::index {

namespace {

// The maximum number of entries that are read, from all ranges together, before the records of these entries are
// compared.
std::size_t most_numbers() { return static_cast<std::size_t>(work_mem) * 1024 / 4 / sizeof(std::uint64_t); }

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
bool descend_level(const search& self,
                   const run& one,
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
            check_block(self.index, blocks[end], self.blocks);
            pages[count] = pin_page(self.index, blocks[end]);
            prefetch(pages[count++], inner_start);
        }
        for (std::size_t at = 0; at < count; at++) {
            const Buffer buffer = pages[at];
            const BlockNumber block = BufferGetBlockNumber(buffer);
            LockBuffer(buffer, BUFFER_LOCK_SHARE);
            inner_view page;
            valid = valid && view_inner(self.index, buffer, one.id, level, page) && page.count() > 0;
            for (; first < end && blocks[first] == block; first++) {
                if (!valid)
                    continue;
                int child = child_of(page, keys[first]);
                if (page.has_filters() && self.span == 0)
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
Buffer fetch_leaf(const search& self, const run& one, BlockNumber block)
{
    check_block(self.index, block, self.blocks);
    const Buffer buffer = one.record_pages > many_pages
                              ? ReadBufferExtended(self.index, MAIN_FORKNUM, block, RBM_NORMAL, self.ring)
                              : pin_page(self.index, block);
    prefetch(buffer, 64);
    return buffer;
}

// Reads the record numbers of up to `most` entries of a range. `buffer` is the leaf to start at, pinned but not locked;
// this function releases it. Returns false if the run's pages are gone.
bool read_range(search& self, entry_range& range, Buffer buffer, std::size_t most)
{
    const Relation index = self.index;
    const run& one = self.meta.runs[range.run];
    const std::uint64_t last = range.key + self.span;
    std::size_t left = most;
    for (BlockNumber pages = 0;;) {
        CHECK_FOR_INTERRUPTS();
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        leaf_view leaf;
        if (!view_leaf(index, buffer, one.id, leaf)) {
            UnlockReleaseBuffer(buffer);
            return false;
        }
        const int count = leaf.head->count;
        int at = range.at.has_value() ? *range.at : leaf.lower_bound(range.key);
        const int end = at < count && leaf.key(count - 1) > last ? leaf.lower_bound(last + 1) : count;
        const std::size_t some = std::min(left, static_cast<std::size_t>(std::max(0, end - at)));
        leaf.copy_numbers(at, static_cast<int>(some), self.numbers.extend(some));
        at += static_cast<int>(some);
        left -= some;
        const bool ends = at == end && end < count;
        range.at = at < count ? at : 0;
        if (at >= count)
            range.block = trailer_of(BufferGetPage(buffer)).next;
        if (ends)
            range.block = InvalidBlockNumber;
        UnlockReleaseBuffer(buffer);
        if (range.block == InvalidBlockNumber || left == 0)
            return true;
        if (++pages > self.blocks)
            fail_damaged(index, range.block, "Leaves lead back to themselves.");
        buffer = fetch_leaf(self, one, range.block);
    }
}

} // namespace

void set_keys(search& self, const scan_plan& plan)
{
    Assert(plan.depth > 0 && plan.depth <= self.layout.banding.rows);
    Assert(plan.bands > 0 && plan.bands <= self.layout.banding.bands);
    const int rows = self.layout.banding.rows;
    self.span = plan.depth < rows ? prefix_span(rows, plan.depth) : 0;
    const std::uint8_t* const query = self.filter_record != nullptr ? self.filter_record : self.ordered_by;
    self.keys.count = 0;
    for (int band = 0; band < plan.bands; band++)
        self.keys.add(band_entry_key(query, self.layout, band) & ~self.span);
}

bool find_ranges(search& self)
{
    self.ranges.count = 0;
    const std::span<const std::uint64_t> keys = self.keys;
    BlockNumber* const blocks = static_cast<BlockNumber*>(palloc(sizeof(BlockNumber) * keys.size()));
    auto* const next_keys = static_cast<std::uint64_t*>(palloc(sizeof(std::uint64_t) * keys.size()));
    bool valid = true;
    for (std::uint32_t at = 0; valid && at < self.meta.run_count; at++) {
        const run& one = self.meta.runs[at];
        if (one.root == InvalidBlockNumber)
            continue;
        std::fill_n(blocks, keys.size(), one.root);
        std::fill_n(next_keys, keys.size(), std::numeric_limits<std::uint64_t>::max());
        for (std::uint32_t level = one.height; valid && level > 0; level--)
            valid = descend_level(self, one, level, keys, blocks, next_keys);
        for (std::size_t key = 0; valid && key < keys.size(); key++)
            if (blocks[key] != InvalidBlockNumber)
                self.ranges.add({at, keys[key], blocks[key], std::nullopt});
    }
    pfree(next_keys);
    pfree(blocks);
    return valid;
}

bool read_ranges(search& self, std::size_t most)
{
    Buffer leaves[at_once];
    growing<entry_range>& ranges = self.ranges;
    most = std::max<std::size_t>(1, std::min(most, most_numbers() / std::max<std::size_t>(1, ranges.count)));
    std::size_t kept = 0;
    bool valid = true;
    for (std::size_t first = 0; valid && first < ranges.count; first += at_once) {
        const std::size_t count = std::min(at_once, ranges.count - first);
        for (std::size_t at = 0; at < count; at++) {
            const entry_range& range = ranges.at[first + at];
            leaves[at] = fetch_leaf(self, self.meta.runs[range.run], range.block);
        }
        for (std::size_t at = 0; at < count; at++) {
            entry_range range = ranges.at[first + at];
            if (!valid) {
                ReleaseBuffer(leaves[at]);
                continue;
            }
            valid = read_range(self, range, leaves[at], most);
            if (range.block != InvalidBlockNumber)
                ranges.at[kept++] = range;
        }
    }
    ranges.count = kept;
    return valid;
}

} // namespace minhash::pg::index
