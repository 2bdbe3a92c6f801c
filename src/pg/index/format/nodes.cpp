#include "pg/index/format/nodes.h"

#include "core/hash.h"

extern "C" {
#include "storage/bufmgr.h"
}

namespace minhash::pg::index {

bool view_leaf(Relation index, Buffer buffer, std::uint64_t run_id, leaf_view& view)
{
    const Page page = BufferGetPage(buffer);
    if (!is_kind(page, page_kind::leaf) || trailer_of(page).id != run_id)
        return false;
    const node_head& head = head_of(page);
    if (head.key_width < 1 || head.key_width > most_width || head.number_width < 1 || head.number_width > most_width ||
        head.count == 0 || head.count * (head.key_width + head.number_width) > node_room * 8)
        fail_damaged(index, BufferGetBlockNumber(buffer), "A leaf has more entries than room.");
    view.head = &head;
    view.entries = contents_of(page) + sizeof(node_head);
    return true;
}

void pack_leaf(Page page, const leaf_entries& leaf)
{
    Assert(leaf.count > 0 && leaf.key_width <= most_width && leaf.number_width <= most_width);
    const std::uint64_t base = leaf.least_key();
    const bool ascending = base == leaf.keys[0];
    head_of(page) = {base,
                     leaf.least_number,
                     static_cast<std::uint16_t>(leaf.count),
                     static_cast<std::uint8_t>(leaf.key_width),
                     static_cast<std::uint8_t>(leaf.number_width),
                     0};
    char* const entries = contents_of(page) + sizeof(node_head);
    const auto sorted_at = [&](int at) { return ascending ? at : leaf.count - 1 - at; };
    // Pack bits one after the other, and write eight bytes at a time.
    std::uint64_t waiting = 0;
    int bits = 0;
    char* to = entries;
    const auto put = [&](std::uint64_t value, int width) {
        waiting |= value << bits;
        bits += width;
        if (bits < 64)
            return;
        memcpy(to, &waiting, sizeof(waiting));
        to += sizeof(waiting);
        bits -= 64;
        waiting = bits > 0 ? value >> (width - bits) : 0;
    };
    for (int at = 0; at < leaf.count; at++)
        put(leaf.keys[sorted_at(at)] - base, leaf.key_width);
    for (int at = 0; at < leaf.count; at++)
        put(leaf.numbers[sorted_at(at)] - leaf.least_number, leaf.number_width);
    const int rest = (bits + 7) / 8;
    memcpy(to, &waiting, static_cast<std::size_t>(rest));
    set_used_bytes(page, static_cast<int>(to - contents_of(page)) + rest);
}

namespace {

std::uint64_t* keys_of(Page page) { return reinterpret_cast<std::uint64_t*>(contents_of(page) + sizeof(node_head)); }

BlockNumber* blocks_of(Page page) { return reinterpret_cast<BlockNumber*>(keys_of(page) + head_of(page).room); }

// One or two bits in one word of a filter.
struct filter_bits {
    int word;
    std::uint64_t bits;
};

filter_bits bits_in_filter(int child, std::uint64_t key)
{
    const std::uint64_t hash = fmix64(key);
    const auto word = static_cast<int>((hash >> 32) * filter_words >> 32);
    return {child * filter_words + word, std::uint64_t{1} << (hash & 63) | std::uint64_t{1} << (hash >> 6 & 63)};
}

// The filters follow the array of block numbers. The size of this array must keep the filters aligned.
static_assert(filtered_room * sizeof(BlockNumber) % sizeof(std::uint64_t) == 0);

} // namespace

bool inner_view::may_have(int child, std::uint64_t key) const
{
    const filter_bits bits = bits_in_filter(child, key);
    return (reinterpret_cast<const std::uint64_t*>(blocks + filtered_room)[bits.word] & bits.bits) == bits.bits;
}

inner_view inner_view_of(Page page) { return {&head_of(page), keys_of(page), blocks_of(page)}; }

bool view_inner(Relation index, Buffer buffer, std::uint64_t run_id, std::uint32_t level, inner_view& view)
{
    const Page page = BufferGetPage(buffer);
    if (!is_kind(page, page_kind::inner) || trailer_of(page).id != run_id)
        return false;
    const node_head& head = head_of(page);
    const bool fits = head.room == inner_room || (head.room == filtered_room && level == 1);
    if (!fits || head.count > head.room || trailer_of(page).level != level)
        fail_damaged(index, BufferGetBlockNumber(buffer), "An inner page is not of its level.");
    view = inner_view_of(page);
    return true;
}

void init_inner(Page page, std::uint64_t run_id, std::uint32_t level, int room)
{
    init_page(page, page_kind::inner, static_cast<int>(level), run_id);
    head_of(page) = {0, 0, 0, 8, 4, static_cast<std::uint32_t>(room)};
    set_used_bytes(page, static_cast<int>(sizeof(node_head)) + room * inner_width);
}

void append_child(Page page, std::uint64_t first_key, BlockNumber block)
{
    node_head& head = head_of(page);
    Assert(head.count < head.room);
    keys_of(page)[head.count] = first_key;
    blocks_of(page)[head.count] = block;
    head.count++;
    if (head.room == filtered_room)
        set_used_bytes(page, used_bytes(page) + filter_words * static_cast<int>(sizeof(std::uint64_t)));
}

void add_to_filter(Page page, std::uint64_t key)
{
    const node_head& head = head_of(page);
    if (head.room != filtered_room)
        return;
    Assert(head.count > 0);
    const filter_bits bits = bits_in_filter(head.count - 1, key);
    reinterpret_cast<std::uint64_t*>(blocks_of(page) + filtered_room)[bits.word] |= bits.bits;
}

} // namespace minhash::pg::index
