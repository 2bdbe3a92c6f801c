#include "pg/index/keys.h"
#include "pg/index/pages.h"
#include "pg/index/search.h"

#include "core/compress.h"

#include <algorithm>
#include <functional>

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
}

namespace minhash::pg::lsh {

namespace {

// On a page.
constexpr int most_records =
    page_room / (min_num_hashes + static_cast<int>(sizeof(ItemPointerData)));

bool was_given(const search& state, const ItemPointerData& tid)
{
    return std::binary_search(state.given.at, state.given.at + state.given.count, number_of(tid));
}

// A record that agrees enough with the query.
void consider(search& state, const std::uint8_t* record, int equal)
{
    const ItemPointerData tid = tid_of(record, state.shape);
    if (is_dead(tid) || is_empty_set(tid))
        return;
    if (state.by_scope && scope_of(record, state.shape) != state.scope)
        return;
    if (state.narrowed_by != nullptr && state.ordered_by != state.narrowed_by) {
        std::uint16_t agreement;
        count_agreements(record, 0, 1, state.ordered_by, state.shape.scheme.num_hashes, &agreement);
        equal = agreement;
    }
    if (equal < state.floor || was_given(state, tid))
        return;
    if (!is_possible(tid))
        fail_damaged(state.index, meta_block, "A record cannot be of a row.");
    state.found.add({tid, static_cast<std::uint16_t>(equal)});
    state.found_with[equal]++;
    state.work.found++;
}

// How many slots show that most records agree in fewer than `least`. Half of them do where even
// with all others equal, more had to agree than do so of texts that have nothing in common.
int first_slots(int slots, int least)
{
    constexpr int vector = 64; // the widest that count_agreements() takes at once
    const int half = slots / 2 / vector * vector;
    return least - (slots - half) > half / 8 ? half : slots;
}

// Records that lie one after the other.
void consider_all(search& state, const std::uint8_t* records, int count)
{
    const bool narrow = state.narrowed_by != nullptr;
    const int least = narrow ? state.least_equal : state.floor;
    const std::uint8_t* const query = narrow ? state.narrowed_by : state.ordered_by;
    const int slots = state.shape.scheme.num_hashes;
    const int first = first_slots(slots, least);
    std::uint16_t agreements[most_records];
    count_agreements(records,
                     static_cast<std::size_t>(state.shape.record_bytes),
                     static_cast<std::size_t>(count),
                     query,
                     static_cast<std::uint32_t>(first),
                     agreements);
    state.work.compared += static_cast<std::uint64_t>(count);
    for (int at = 0; at < count; at++) {
        if (agreements[at] < least - (slots - first))
            continue;
        const std::uint8_t* const record = records + at * state.shape.record_bytes;
        std::uint16_t equal = agreements[at];
        if (first < slots)
            count_agreements(record, 0, 1, query, static_cast<std::uint32_t>(slots), &equal);
        if (equal >= least)
            consider(state, record, equal);
    }
}

// Raises the floor if much more than is wanted was found.
void prune(search& state, std::size_t wanted)
{
    if (wanted == 0 || state.found.count < 4 * wanted)
        return;
    std::size_t enough = 0;
    int floor = state.shape.scheme.num_hashes;
    while ((enough += state.found_with[floor]) < wanted)
        floor--;
    if (floor <= state.floor)
        return;
    state.floor = floor;
    candidate* const end = std::remove_if(state.found.at,
                                          state.found.at + state.found.count,
                                          [&](const candidate& one) { return one.equal < floor; });
    state.found.count = static_cast<std::size_t>(end - state.found.at);
}

void start(search& state)
{
    state.found.count = 0;
    state.numbers.count = 0;
    state.floor = 0;
    memset(state.found_with,
           0,
           sizeof(*state.found_with) * (state.shape.scheme.num_hashes + std::size_t{1}));
}

// The page below that has the first entry of a key, or those before it: pages may share a key.
BlockNumber child_of(const std::uint64_t* keys, const char* blocks, int count, std::uint64_t key)
{
    const std::ptrdiff_t after = std::lower_bound(keys, keys + count, key) - keys;
    return block_at(blocks, after == 0 ? 0 : static_cast<int>(after) - 1);
}

// Goes down from the root, for several keys at once. False if the run's pages are gone.
bool descend(const search& state,
             const run& which,
             std::span<const std::uint64_t> keys,
             BlockNumber* blocks)
{
    const Relation index = state.index;
    std::fill_n(blocks, keys.size(), which.root);
    for (std::uint32_t level = which.height; level > 0; level--) {
        Buffer buffer = InvalidBuffer;
        const std::uint64_t* page_keys = nullptr;
        const char* page_blocks = nullptr;
        int count = 0;
        for (std::size_t at = 0; at < keys.size(); at++) {
            // Keys are sorted, so one page serves several.
            if (buffer == InvalidBuffer || BufferGetBlockNumber(buffer) != blocks[at]) {
                if (buffer != InvalidBuffer)
                    UnlockReleaseBuffer(buffer);
                check_block(index, blocks[at], state.blocks);
                buffer = read_page(index, blocks[at], BUFFER_LOCK_SHARE);
                if (!view_inner(index, buffer, which.id, level, page_keys, page_blocks, count)) {
                    UnlockReleaseBuffer(buffer);
                    return false;
                }
            }
            blocks[at] = child_of(page_keys, page_blocks, count, keys[at]);
        }
        UnlockReleaseBuffer(buffer);
    }
    return true;
}

// Pins a leaf, and asks for its first bytes from memory. A large run has too many leaves for one to
// be read twice soon, so a session does not remember where they are.
Buffer fetch_leaf(const search& state, const run& which, BlockNumber block)
{
    check_block(state.index, block, state.blocks);
    const Buffer buffer =
        which.height > 1 ? ReadBuffer(state.index, block) : pin_page(state.index, block);
    __builtin_prefetch(BufferGetPage(buffer));
    __builtin_prefetch(BufferGetPage(buffer) + trailer_offset);
    return buffer;
}

// The numbers of entries from `least` to `most`, from a pinned leaf on, which is released.
bool read_range(
    search& state, const run& which, Buffer buffer, std::uint64_t least, std::uint64_t most)
{
    const Relation index = state.index;
    for (BlockNumber pages = 0;;) {
        CHECK_FOR_INTERRUPTS();
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        leaf_view leaf;
        if (!view_leaf(index, buffer, which.id, leaf)) {
            UnlockReleaseBuffer(buffer);
            return false;
        }
        BlockNumber block = trailer_of(BufferGetPage(buffer)).next;
        for (int at = leaf.lower_bound(least); at < leaf.head->count; at++) {
            if (leaf.key(at) > most) {
                block = InvalidBlockNumber;
                break;
            }
            state.numbers.add(leaf.number(at));
        }
        UnlockReleaseBuffer(buffer);
        if (block == InvalidBlockNumber)
            return true;
        if (++pages > state.blocks)
            fail_damaged(index, block, "Leaves lead back to themselves.");
        buffer = fetch_leaf(state, which, block);
    }
}

// The same for the leaves of several keys, some of them at a time: waiting for memory is most of
// the time of a lookup, and so they are waited for together.
bool read_ranges(search& state,
                 const run& which,
                 std::span<const BlockNumber> blocks,
                 std::span<const std::uint64_t> keys,
                 std::uint64_t span)
{
    constexpr std::size_t most = 6; // PostgreSQL remembers 8 pins of a session fast
    Buffer leaves[most];
    bool valid = true;
    for (std::size_t first = 0; valid && first < keys.size(); first += most) {
        const std::size_t count = std::min(most, keys.size() - first);
        for (std::size_t at = 0; at < count; at++)
            leaves[at] = fetch_leaf(state, which, blocks[first + at]);
        for (std::size_t at = 0; at < count; at++) {
            const std::uint64_t key = keys[first + at];
            if (valid)
                valid = read_range(state, which, leaves[at], key, key + span);
            else
                ReleaseBuffer(leaves[at]);
        }
    }
    return valid;
}

// Compares the records of the numbers.
bool consider_numbers(search& state)
{
    sort_answering(state.numbers, std::less<std::uint64_t>());
    std::uint64_t* const numbers = state.numbers.at;
    const auto count =
        static_cast<std::size_t>(std::unique(numbers, numbers + state.numbers.count) - numbers);
    const int place_bits = state.shape.place_bits;
    for (std::size_t at = 0; at < count;) {
        CHECK_FOR_INTERRUPTS();
        const std::uint64_t block = numbers[at] >> place_bits;
        if (block >= state.blocks)
            fail_damaged(state.index, meta_block, "An entry has no possible record.");
        const Buffer buffer =
            read_page(state.index, static_cast<BlockNumber>(block), BUFFER_LOCK_SHARE);
        const Page page = BufferGetPage(buffer);
        if (!is_kind(page, page_kind::records) || trailer_of(page).id >= state.now.next_id) {
            UnlockReleaseBuffer(buffer);
            return false;
        }
        const int records = records_on(state.index, buffer, state.shape);
        for (; at < count && numbers[at] >> place_bits == block; at++) {
            const int place = static_cast<int>(numbers[at] & ((1u << place_bits) - 1));
            if (place >= records)
                fail_damaged(state.index,
                             static_cast<BlockNumber>(block),
                             "An entry's record is not on its page.");
            consider_all(state, record_at(page, state.shape, place), 1);
        }
        UnlockReleaseBuffer(buffer);
    }
    return true;
}

bool consider_chain(search& state, BlockNumber first, std::uint32_t pages, std::size_t wanted)
{
    return each_page(state.index,
                     state.shape,
                     first,
                     pages,
                     state.now.next_id,
                     [&](Buffer, Page page, int records) {
                         consider_all(state, record_at(page, state.shape, 0), records);
                         prune(state, wanted);
                     });
}

bool try_prefix(search& state, std::span<const std::uint64_t> keys, std::uint64_t span)
{
    BlockNumber* const blocks =
        static_cast<BlockNumber*>(palloc(sizeof(BlockNumber) * keys.size()));
    bool valid = true;
    for (std::uint32_t at = 0; valid && at < state.now.run_count; at++) {
        const run& which = state.now.runs[at];
        if (which.root == InvalidBlockNumber)
            continue;
        valid = descend(state, which, keys, blocks) &&
                read_ranges(state, which, {blocks, keys.size()}, keys, span);
    }
    pfree(blocks);
    return valid && consider_numbers(state) &&
           consider_chain(state, state.now.tail_first, state.now.tail_pages, 0);
}

bool try_all(search& state, std::size_t wanted)
{
    bool valid = true;
    for (std::uint32_t at = 0; valid && at < state.now.run_count; at++)
        valid = consider_chain(state,
                               state.now.runs[at].first,
                               state.now.runs[at].record_pages,
                               wanted);
    return valid && consider_chain(state, state.now.tail_first, state.now.tail_pages, wanted);
}

// Tries until no page has been replaced meanwhile. Where pages are missing but the meta page has
// not changed, it is not for that reason.
template <typename Try>
void find(search& state, Try attempt)
{
    std::uint64_t before = 0;
    for (;;) {
        read_meta(state.index, state.now);
        state.blocks = RelationGetNumberOfBlocks(state.index);
        if (state.now.next_id == before)
            fail_damaged(state.index, meta_block, "A page of a run is missing.");
        start(state);
        if (attempt())
            return;
        before = state.now.next_id;
        CHECK_FOR_INTERRUPTS();
    }
}

} // namespace

std::uint64_t number_of(const ItemPointerData& tid)
{
    return static_cast<std::uint64_t>(ItemPointerGetBlockNumberNoCheck(&tid)) << 16 | tid.ip_posid;
}

void find_by_prefix(search& state, int depth, int bands)
{
    const int rows = state.shape.shape.rows;
    state.work.depth = depth;
    state.work.bands = bands;
    const std::uint64_t span = prefix_span(rows, depth);
    std::uint64_t* const keys = static_cast<std::uint64_t*>(
        palloc(sizeof(std::uint64_t) * static_cast<std::size_t>(bands)));
    const std::uint8_t* const query =
        state.narrowed_by != nullptr ? state.narrowed_by : state.ordered_by;
    for (int band = 0; band < bands; band++)
        keys[band] = band_entry_key(query, state.shape, band) & ~span;
    find(state, [&] { return try_prefix(state, {keys, static_cast<std::size_t>(bands)}, span); });
    pfree(keys);
}

void find_in_all(search& state, std::size_t wanted)
{
    state.work.depth = state.work.bands = 0;
    find(state, [&] { return try_all(state, wanted); });
}

} // namespace minhash::pg::lsh
