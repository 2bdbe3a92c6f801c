#include "pg/index/leaf_entries.h"
#include "pg/index/pages.h"

namespace minhash::pg::index {

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
    const auto place = [&](int at) { return ascending ? at : leaf.count - 1 - at; };
    // Packs bits one after the other, and writes eight bytes at a time.
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
        put(leaf.keys[place(at)] - base, leaf.key_width);
    for (int at = 0; at < leaf.count; at++)
        put(leaf.numbers[place(at)] - leaf.least_number, leaf.number_width);
    const int rest = (bits + 7) / 8;
    memcpy(to, &waiting, static_cast<std::size_t>(rest));
    set_used_bytes(page, static_cast<int>(to - contents_of(page)) + rest);
}

} // namespace minhash::pg::index
