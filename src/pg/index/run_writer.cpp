#include "pg/growing.h"
#include "pg/index/keys.h"
#include "pg/index/nodes.h"
#include "pg/index/pages.h"
#include "pg/index/run_writer.h"
#include "pg/index/tree_writer.h"

#include <algorithm>

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/memutils.h"
}

namespace minhash::pg::index {

namespace {

// A value to be sorted: a key, and the ordinal of its record in the run.
constexpr int ordinal_bits = 24;
constexpr std::uint64_t ordinal_mask = (std::uint64_t{1} << ordinal_bits) - 1;
constexpr int digit_bits = 8;
constexpr int digits = key_bits / digit_bits;

// A page and its first key, for the level above.
struct fence {
    std::uint64_t key;
    BlockNumber block;
};

// Leaves are written from the last to the first: so the link to the next one is known at once, and no page is locked
// while others are read.
struct leaf_writer {
    Relation index;
    new_pages* supply;
    std::uint64_t id;
    BlockNumber next;
    BlockNumber last;
    leaf_entries entries; // from the greatest key to the least
};

void write_leaf(leaf_writer& out)
{
    const Buffer buffer = new_page(out.index, out.supply);
    const Page page = BufferGetPage(buffer);
    init_page(page, page_kind::leaf, 0, out.id);
    trailer_of(page).next = out.next;
    pack_leaf(page, out.entries);
    out.next = BufferGetBlockNumber(buffer);
    finish_page(out.index, buffer);
    if (out.last == InvalidBlockNumber)
        out.last = out.next;
    out.entries.count = 0;
}

void write_entry(leaf_writer& out, std::uint64_t key, std::uint64_t number)
{
    if (add_entry(out.entries, key, number))
        return;
    write_leaf(out);
    [[maybe_unused]] const bool added = add_entry(out.entries, key, number);
    Assert(added);
}

// So few values are sorted by comparing: an insertion sorts a few for each of up to 4,096 bands.
constexpr std::size_t few_values = 256;

// Sorts by keys, stably. Returns which of the two arrays has the result.
std::uint64_t* radix_sort(std::uint64_t* values, std::uint64_t* other, std::size_t count)
{
    if (count <= few_values) {
        std::sort(values, values + count); // equal keys by ordinal: stable
        return values;
    }
    std::uint32_t starts[digits][1 << digit_bits] = {};
    for (std::size_t at = 0; at < count; at++)
        for (int digit = 0; digit < digits; digit++)
            starts[digit][values[at] >> (ordinal_bits + digit_bits * digit) & 0xFF]++;
    for (int digit = 0; digit < digits; digit++) {
        CHECK_FOR_INTERRUPTS();
        std::uint32_t sum = 0;
        for (std::uint32_t& start : starts[digit]) {
            const std::uint32_t mine = start;
            start = sum;
            sum += mine;
        }
        for (std::size_t at = 0; at < count; at++)
            other[starts[digit][values[at] >> (ordinal_bits + digit_bits * digit) & 0xFF]++] = values[at];
        std::swap(values, other);
    }
    return values;
}

// Reads the keys of one band from all records that searches can find.
std::size_t
read_band(Relation index, const layout& shape, std::span<const BlockNumber> pages, int band, std::uint64_t* keys)
{
    std::size_t count = 0;
    for (std::size_t at = 0; at < pages.size(); at++) {
        vacuum_delay();
        const Buffer buffer = read_page(index, pages[at], BUFFER_LOCK_SHARE);
        const Page page = BufferGetPage(buffer);
        const int records = records_on(index, buffer, shape);
        for (int place = 0; place < records; place++) {
            const std::uint8_t* const record = record_at(page, shape, place);
            const ItemPointerData tid = tid_of(record, shape);
            if (is_dead(tid) || is_empty_set(tid))
                continue;
            const std::uint64_t key = band_entry_key(record, shape, band);
            const std::uint64_t ordinal = at * shape.records_per_page + place;
            Assert(ordinal <= ordinal_mask);
            keys[count++] = key << ordinal_bits | ordinal; // the band is shifted out
        }
        UnlockReleaseBuffer(buffer);
    }
    return count;
}

// Adds a child to an inner page; for a leaf also its filter, if the page has filters.
void append_page(Relation index, Page page, const fence& child, bool is_leaf)
{
    append_child(page, child.key, child.block);
    if (!is_leaf || head_of(page).room != filtered_room)
        return;
    const Buffer buffer = read_page(index, child.block, BUFFER_LOCK_SHARE);
    leaf_view leaf;
    if (!view_leaf(index, buffer, trailer_of(page).id, leaf))
        fail_damaged(index, child.block, "A leaf that was just written is missing.");
    for (int at = 0; at < leaf.head->count; at++)
        add_to_filter(page, leaf.key(at));
    UnlockReleaseBuffer(buffer);
}

// Writes the levels above the leaves. `fences` has the leaves in order.
void write_inner_pages(Relation index, new_pages* supply, growing<fence>& fences, run& made)
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
            // A copy, so that no new page stays locked while others are read.
            PGAlignedBlock copy;
            init_inner(copy.data, made.id, made.height, room);
            for (std::size_t at = first; at < end; at++)
                append_page(index, copy.data, fences.at[at], made.height == 1);
            const Buffer buffer = new_page(index, supply);
            memcpy(BufferGetPage(buffer), copy.data, BLCKSZ);
            above.add({fences.at[first].key, BufferGetBlockNumber(buffer)});
            finish_page(index, buffer);
        }
        std::swap(fences, above);
    }
    made.root = fences.at[0].block;
}

// Sorts the entries of bands, one after the other.
struct band_writer {
    const layout* shape;
    std::span<const BlockNumber> pages;
    growing<std::uint64_t> keys;
    growing<std::uint64_t> other;
    leaf_writer out;
};

MemoryContext make_context()
{
    return AllocSetContextCreate(CurrentMemoryContext, "lsh run", ALLOCSET_DEFAULT_SIZES);
}

band_writer* make_writer(
    Relation index, const layout& shape, std::span<const BlockNumber> pages, std::uint64_t id, new_pages* supply)
{
    band_writer* const made = static_cast<band_writer*>(palloc(sizeof(band_writer)));
    const std::size_t most = pages.size() * static_cast<std::size_t>(shape.records_per_page);
    Assert(!pages.empty() && shape.shape.bands > 0);
    made->shape = &shape;
    made->pages = pages;
    made->keys.start(most);
    made->other.start(most);
    made->out.index = index;
    made->out.supply = supply;
    made->out.id = id;
    made->out.next = made->out.last = InvalidBlockNumber;
    made->out.entries.count = 0;
    return made;
}

// Adds the entries of a band, from the greatest key to the least. Returns their number.
std::size_t write_band(band_writer& writer, int band)
{
    const layout& shape = *writer.shape;
    const auto per_page = static_cast<std::uint64_t>(shape.records_per_page);
    const std::size_t count = read_band(writer.out.index, shape, writer.pages, band, writer.keys.at);
    const std::uint64_t* const sorted = radix_sort(writer.keys.at, writer.other.at, count);
    for (std::size_t at = count; at-- > 0;) {
        if (at % 65536 == 0)
            CHECK_FOR_INTERRUPTS();
        Assert(at + 1 == count || sorted[at] < sorted[at + 1]);
        const std::uint64_t ordinal = sorted[at] & ordinal_mask;
        write_entry(writer.out,
                    static_cast<std::uint64_t>(band) << key_bits | sorted[at] >> ordinal_bits,
                    std::uint64_t{writer.pages[ordinal / per_page]} << shape.place_bits | ordinal % per_page);
    }
    return count;
}

} // namespace

std::size_t sortable_pages(const layout& shape, int memory)
{
    const std::size_t records =
        std::min<std::size_t>(std::size_t{1} << ordinal_bits,
                              static_cast<std::size_t>(memory) * 1024 / (2 * sizeof(std::uint64_t)));
    return std::max<std::size_t>(1, records / static_cast<std::size_t>(shape.records_per_page));
}

run run_of(std::span<const BlockNumber> pages, std::uint64_t id)
{
    Assert(id != 0 && !pages.empty());
    run made = {};
    made.id = id;
    made.root = made.cursor_leaf = InvalidBlockNumber;
    made.first = pages.front();
    made.last = pages.back();
    made.record_pages = static_cast<std::uint32_t>(pages.size());
    return made;
}

sorted_leaves write_sorted(
    Relation index, const layout& shape, std::span<const BlockNumber> pages, std::uint64_t id, new_pages* supply)
{
    const MemoryContext context = make_context();
    const MemoryContext old = MemoryContextSwitchTo(context);
    band_writer& writer = *make_writer(index, shape, pages, id, supply);
    leaf_writer& out = writer.out;
    std::uint64_t records = 0;
    for (int band = shape.shape.bands - 1; band >= 0; band--)
        records = write_band(writer, band);
    if (out.entries.count > 0)
        write_leaf(out);
    const sorted_leaves made = {out.next, out.last, records};
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    return made;
}

run write_run(
    Relation index, const layout& shape, std::span<const BlockNumber> pages, std::uint64_t id, new_pages* supply)
{
    run made = run_of(pages, id);
    add_tree(index, write_sorted(index, shape, pages, id, supply), supply, made);
    return made;
}

void write_bands(Relation index,
                 const layout& shape,
                 std::span<const BlockNumber> pages,
                 std::uint64_t id,
                 new_pages& supply,
                 pg_atomic_uint32& bands_left,
                 sorted_leaves* made)
{
    const MemoryContext context = make_context();
    const MemoryContext old = MemoryContextSwitchTo(context);
    band_writer& writer = *make_writer(index, shape, pages, id, &supply);
    leaf_writer& out = writer.out;
    for (;;) {
        std::uint32_t left = pg_atomic_read_u32(&bands_left);
        while (left > 0 && !pg_atomic_compare_exchange_u32(&bands_left, &left, left - 1)) {
        }
        if (left == 0)
            break;
        const int band = static_cast<int>(left) - 1;
        Assert(band < shape.shape.bands);
        out.next = out.last = InvalidBlockNumber;
        const std::size_t records = write_band(writer, band);
        if (out.entries.count > 0)
            write_leaf(out);
        made[band] = {out.next, out.last, records};
    }
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
}

sorted_leaves join_bands(Relation index, const layout& shape, const sorted_leaves* made)
{
    // Each living record has an entry in every band.
    for (int band = 0; band + 1 < shape.shape.bands && made[0].records > 0; band++) {
        Assert(made[band].records == made[band + 1].records);
        const Buffer buffer = read_page(index, made[band].last, BUFFER_LOCK_EXCLUSIVE);
        trailer_of(BufferGetPage(buffer)).next = made[band + 1].first;
        finish_page(index, buffer);
    }
    return {made[0].first, made[shape.shape.bands - 1].last, made[0].records};
}

void add_tree(Relation index, const sorted_leaves& leaves, new_pages* supply, run& made)
{
    const MemoryContext context = make_context();
    const MemoryContext old = MemoryContextSwitchTo(context);
    made.records += leaves.records;
    growing<fence> fences;
    fences.start(1024);
    for (BlockNumber block = leaves.first; block != InvalidBlockNumber;) {
        CHECK_FOR_INTERRUPTS();
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_SHARE);
        const Page page = BufferGetPage(buffer);
        Assert(fences.count == 0 || fences.at[fences.count - 1].key <= head_of(page).key_base);
        fences.add({head_of(page).key_base, block});
        block = trailer_of(page).next;
        UnlockReleaseBuffer(buffer);
    }
    if (fences.count > 0)
        write_inner_pages(index, supply, fences, made);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
}

} // namespace minhash::pg::index
