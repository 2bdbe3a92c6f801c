#include "pg/index/format/records.h"
#include "pg/index/write/entry_stream.h"
#include "pg/index/write/run_writer.h"

#include "core/sort.h"

#include <algorithm>

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
}

namespace minhash::pg::index {

namespace {

// A value to be sorted has a key in the upper bits. The lower bits have the ordinal of the key's record among the
// records that are sorted together.
constexpr int ordinal_bits = 24;
constexpr std::uint64_t ordinal_mask = (std::uint64_t{1} << ordinal_bits) - 1;

// A page and its first key, for the level above.
struct fence {
    std::uint64_t key;
    BlockNumber block;
};

// Sorts the entries of bands, one band after the other. Leaves are written from the last to the first. So the link to
// the next leaf is always known, and no leaf is locked while records are read.
struct band_writer {
    const new_run* to;
    std::span<const BlockNumber> pages;
    growing<std::uint64_t> keys;
    growing<std::uint64_t> other;
    BlockNumber next;
    BlockNumber last;
    leaf_entries entries; // collected from the greatest key to the least
};

// How the leaves are logged that a merge will read.
logging unmerged(const new_run& to) { return to.logs_once ? logging::later : logging::if_needed; }

// Writes a complete leaf to a locked page.
void finish_leaf(const new_run& to, Buffer buffer, const leaf_entries& entries, BlockNumber next, logging when)
{
    const Page page = BufferGetPage(buffer);
    init_page(page, page_kind::leaf, 0, to.id);
    trailer_of(page).next = next;
    pack_leaf(page, entries);
    finish_page(to.index, buffer, when);
}

void write_leaf(band_writer& writer)
{
    const Buffer buffer = new_page(writer.to->index, writer.to->supply, writer.to->strategy);
    const BlockNumber block = BufferGetBlockNumber(buffer);
    finish_leaf(*writer.to, buffer, writer.entries, writer.next, unmerged(*writer.to));
    writer.next = block;
    if (writer.last == InvalidBlockNumber)
        writer.last = block;
    writer.entries.count = 0;
}

void write_entry(band_writer& writer, std::uint64_t key, std::uint64_t number)
{
    if (add_entry(writer.entries, key, number))
        return;
    write_leaf(writer);
    [[maybe_unused]] const bool added = add_entry(writer.entries, key, number);
    Assert(added);
}

// Reads the keys of one list from all records that have an entry in it. Returns the number of keys.
std::size_t read_list(band_writer& writer, int list)
{
    const Relation index = writer.to->index;
    const layout& layout = *writer.to->layout;
    std::size_t count = 0;
    for (std::size_t at = 0; at < writer.pages.size(); at++) {
        vacuum_delay();
        const Buffer buffer = read_page(index, writer.pages[at], BUFFER_LOCK_SHARE, writer.to->strategy);
        const Page page = BufferGetPage(buffer);
        const int records = is_bare(page) ? 0 : records_on(index, buffer, layout);
        for (int position = 0; position < records; position++) {
            const std::uint8_t* const record = record_at(page, layout, position);
            const ItemPointerData tid = tid_of(record, layout);
            if (is_dead(tid) || !has_entry(tid, layout, list))
                continue;
            const std::uint64_t key = entry_key(record, layout, list);
            const std::uint64_t ordinal = at * layout.records_per_page + position;
            Assert(ordinal <= ordinal_mask);
            writer.keys.at[count++] = key << ordinal_bits | ordinal; // this shifts the list's number out
        }
        UnlockReleaseBuffer(buffer);
    }
    return count;
}

// Adds a child to an inner page and, if the child is a leaf and the page has filters, the child's filter.
void append_page(Relation index, BufferAccessStrategy strategy, Page page, const fence& child, bool is_leaf)
{
    append_child(page, child.key, child.block);
    if (!is_leaf || head_of(page).room != filtered_room)
        return;
    const Buffer buffer = read_page(index, child.block, BUFFER_LOCK_SHARE, strategy);
    leaf_view leaf;
    if (!view_leaf(index, buffer, trailer_of(page).id, leaf))
        fail_damaged(index, child.block, "A leaf that was just written is missing.");
    for (int at = 0; at < leaf.head->count; at++)
        add_to_filter(page, leaf.key(at));
    UnlockReleaseBuffer(buffer);
}

// Writes the levels above the leaves. `fences` lists the leaves in order.
void write_inner_pages(const new_run& to, growing<fence>& fences, run& made)
{
    growing<fence> above;
    above.start(256);
    while (fences.count > 1) {
        made.height++;
        Assert(made.height <= most_levels);
        const int room = children_room(made.record_pages, made.height);
        above.count = 0;
        for (std::size_t first = 0; first < fences.count; first += static_cast<std::size_t>(room)) {
            CHECK_FOR_INTERRUPTS();
            const std::size_t end = std::min(fences.count, first + static_cast<std::size_t>(room));
            // Fill a copy, so that no new page stays locked while leaves are read.
            PGAlignedBlock copy;
            init_inner(copy.data, made.id, made.height, room);
            for (std::size_t at = first; at < end; at++)
                append_page(to.index, to.strategy, copy.data, fences.at[at], made.height == 1);
            const Buffer buffer = new_page(to.index, to.supply, to.strategy);
            memcpy(BufferGetPage(buffer), copy.data, BLCKSZ);
            above.add({fences.at[first].key, BufferGetBlockNumber(buffer)});
            finish_page(to.index, buffer);
        }
        std::swap(fences, above);
    }
    made.root = fences.at[0].block;
    pfree(above.at);
}

band_writer& make_writer(const new_run& to, std::span<const BlockNumber> pages)
{
    band_writer& made = *static_cast<band_writer*>(palloc(sizeof(band_writer)));
    const std::size_t most = pages.size() * static_cast<std::size_t>(to.layout->records_per_page);
    Assert(!pages.empty() && to.layout->banding.bands > 0);
    made.to = &to;
    made.pages = pages;
    made.keys.start(most);
    made.other.start(most);
    return made;
}

// Writes the leaves of the lists from `first` to `end` - 1, beginning with the greatest key.
sorted_leaves write_lists(band_writer& writer, int first, int end)
{
    const layout& layout = *writer.to->layout;
    const auto per_page = static_cast<std::uint64_t>(layout.records_per_page);
    writer.next = writer.last = InvalidBlockNumber;
    writer.entries.count = 0;
    std::size_t count = 0;
    for (int list = end; list-- > first;) {
        count = read_list(writer, list);
        const std::uint64_t* const sorted =
            radix_sort<ordinal_bits / 8>(writer.keys.at, writer.other.at, count, [] { CHECK_FOR_INTERRUPTS(); });
        for (std::size_t at = count; at-- > 0;) {
            if (at % 65536 == 0)
                CHECK_FOR_INTERRUPTS();
            Assert(at + 1 == count || sorted[at] < sorted[at + 1]);
            const std::uint64_t ordinal = sorted[at] & ordinal_mask;
            write_entry(writer,
                        static_cast<std::uint64_t>(list) << key_bits | sorted[at] >> ordinal_bits,
                        std::uint64_t{writer.pages[ordinal / per_page]} << layout.ordinal_bits | ordinal % per_page);
        }
    }
    if (writer.entries.count > 0)
        write_leaf(writer);
    return {writer.next, writer.last, count};
}

// Returns a page to which a leaf can be written: a leaf that has been read to the end, or a new page. A new page
// becomes an empty leaf at once, so that no other process uses it as a free page.
BlockNumber take_leaf(const new_run& to, growing<BlockNumber>& used_up)
{
    if (used_up.count > 0)
        return used_up.at[--used_up.count];
    const Buffer buffer = new_page(to.index, to.supply, to.strategy);
    const BlockNumber block = BufferGetBlockNumber(buffer);
    init_page(BufferGetPage(buffer), page_kind::leaf, 0, to.id);
    finish_page(to.index, buffer, unmerged(to));
    return block;
}

// Merges chains into one. Memory must suffice for one page of each chain.
BlockNumber
merge_chains(const new_run& to, std::span<const BlockNumber> chains, growing<BlockNumber>& used_up, logging when)
{
    const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lsh merge", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    growing<leaf_chain> rests;
    rests.start(chains.size());
    for (const BlockNumber first : chains)
        rests.add({to.id, first, 0});
    entry_stream stream = make_stream(to.index, rests, &used_up, to.strategy);
    leaf_entries& leaf = *static_cast<leaf_entries*>(palloc(sizeof(leaf_entries)));
    const auto next_leaf = [&] { return has_entries(stream) ? take_leaf(to, used_up) : InvalidBlockNumber; };
    const BlockNumber first = next_leaf();
    for (BlockNumber block = first; block != InvalidBlockNumber;) {
        vacuum_delay();
        read_leafful(stream, leaf);
        const BlockNumber next = next_leaf();
        finish_leaf(to, read_page(to.index, block, BUFFER_LOCK_EXCLUSIVE, to.strategy), leaf, next, when);
        block = next;
    }
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    return first;
}

} // namespace

std::size_t sortable_pages(const layout& layout, int memory)
{
    const std::size_t records =
        std::min<std::size_t>(std::size_t{1} << ordinal_bits,
                              static_cast<std::size_t>(memory) * 1024 / (2 * sizeof(std::uint64_t)));
    return std::max<std::size_t>(1, records / static_cast<std::size_t>(layout.records_per_page));
}

sorted_leaves write_sorted(const new_run& to, std::span<const BlockNumber> pages)
{
    const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lsh run", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    const sorted_leaves made = write_lists(make_writer(to, pages), 0, lists_of(*to.layout));
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    return made;
}

void write_bands(const new_run& to,
                 std::span<const BlockNumber> pages,
                 pg_atomic_uint32& next_list,
                 sorted_leaves* made)
{
    const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lsh run", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    band_writer& writer = make_writer(to, pages);
    for (;;) {
        const int list = static_cast<int>(pg_atomic_fetch_add_u32(&next_list, 1));
        if (list >= lists_of(*to.layout))
            break;
        made[list] = write_lists(writer, list, list + 1);
    }
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
}

sorted_leaves join_bands(const new_run& to, const sorted_leaves* made)
{
    sorted_leaves all = {InvalidBlockNumber, InvalidBlockNumber, made[0].records};
    for (int list = 0; list < lists_of(*to.layout); list++) {
        if (made[list].first == InvalidBlockNumber)
            continue;
        if (all.last == InvalidBlockNumber) {
            all.first = made[list].first;
        } else {
            const Buffer buffer = read_page(to.index, all.last, BUFFER_LOCK_EXCLUSIVE);
            trailer_of(BufferGetPage(buffer)).next = made[list].first;
            finish_page(to.index, buffer, unmerged(to));
        }
        all.last = made[list].last;
    }
    return all;
}

BlockNumber merge_chains(const new_run& to, std::span<BlockNumber> chains)
{
    const std::size_t most =
        std::max<std::size_t>(2, static_cast<std::size_t>(vacuum_memory()) * 1024 / sizeof(entry_stream::source));
    growing<BlockNumber> used_up;
    used_up.start(2 * chains.size());
    do {
        const logging when = chains.size() <= most ? logging::if_needed : unmerged(to);
        std::size_t count = 0;
        for (std::size_t first = 0; first < chains.size(); first += most)
            chains[count++] =
                merge_chains(to, chains.subspan(first, std::min(most, chains.size() - first)), used_up, when);
        chains = chains.first(count);
    } while (chains.size() > 1);
    while (used_up.count > 0)
        free_page(to.index, read_page(to.index, used_up.at[--used_up.count], BUFFER_LOCK_EXCLUSIVE));
    pfree(used_up.at);
    return chains[0];
}

void add_tree(const new_run& to, BlockNumber first_leaf, run& made)
{
    growing<fence> fences;
    fences.start(1024);
    for (BlockNumber block = first_leaf; block != InvalidBlockNumber;) {
        CHECK_FOR_INTERRUPTS();
        const Buffer buffer = read_page(to.index, block, BUFFER_LOCK_SHARE, to.strategy);
        const Page page = BufferGetPage(buffer);
        Assert(fences.count == 0 || fences.at[fences.count - 1].key <= head_of(page).key_base);
        fences.add({head_of(page).key_base, block});
        block = trailer_of(page).next;
        UnlockReleaseBuffer(buffer);
    }
    if (fences.count > 0)
        write_inner_pages(to, fences, made);
    pfree(fences.at);
}

run write_run(const new_run& to, std::span<const BlockNumber> pages)
{
    return write_run(to, pages, vacuum_memory(), [&](std::span<const BlockNumber> part) {
        return write_sorted(to, part);
    });
}

} // namespace minhash::pg::index
