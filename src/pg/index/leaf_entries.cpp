#include "pg/index/leaf_entries.h"
#include "pg/index/pages.h"

namespace minhash::pg::lsh {

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
    std::uint32_t bit = 0;
    for (int at = 0; at < leaf.count; at++, bit += static_cast<std::uint32_t>(leaf.key_width))
        put_bits(entries, bit, leaf.keys[place(at)] - base);
    for (int at = 0; at < leaf.count; at++, bit += static_cast<std::uint32_t>(leaf.number_width))
        put_bits(entries, bit, leaf.numbers[place(at)] - leaf.least_number);
    set_used_bytes(page, static_cast<int>(sizeof(node_head) + (bit + 7) / 8));
}

} // namespace minhash::pg::lsh
