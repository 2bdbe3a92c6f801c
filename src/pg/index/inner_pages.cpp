#include "pg/index/inner_pages.h"

#include "core/hash.h"

#include <type_traits>

extern "C" {
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
}

namespace minhash::pg::index {

namespace {

std::uint64_t* keys_of(Page page)
{
    return reinterpret_cast<std::uint64_t*>(contents_of(page) + sizeof(node_head));
}

BlockNumber* blocks_of(Page page)
{
    return reinterpret_cast<BlockNumber*>(keys_of(page) + head_of(page).room);
}

// One or two bits in one word of a filter.
struct filter_place {
    int word;
    std::uint64_t bits;
};

filter_place place_of(int child, std::uint64_t key)
{
    const std::uint64_t hash = fmix64(key);
    const auto word = static_cast<int>((hash >> 32) * filter_words >> 32);
    return {child * filter_words + word, std::uint64_t{1} << (hash & 63) | std::uint64_t{1} << (hash >> 6 & 63)};
}

// The filters, which follow all blocks.
template <typename Blocks>
auto* words_after(Blocks* blocks)
{
    static_assert(filtered_room * sizeof(BlockNumber) % sizeof(std::uint64_t) == 0);
    using Word = std::conditional_t<std::is_const_v<Blocks>, const std::uint64_t, std::uint64_t>;
    return reinterpret_cast<Word*>(blocks + filtered_room);
}

} // namespace

bool inner_view::may_have(int child, std::uint64_t key) const
{
    const filter_place place = place_of(child, key);
    return (words_after(blocks)[place.word] & place.bits) == place.bits;
}

inner_view inner_view_of(Page page)
{
    return {&head_of(page), keys_of(page), blocks_of(page)};
}

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
    const filter_place place = place_of(head.count - 1, key);
    words_after(blocks_of(page))[place.word] |= place.bits;
}

} // namespace minhash::pg::index
