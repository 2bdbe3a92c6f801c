// Merges the entries of several chains of leaves into one stream in key order. Entries are read from the stream one
// leafful at a time. One page of each chain is in memory.
#pragma once

#include "pg/growing.h"
#include "pg/index/format/nodes.h"

#include <limits>

namespace minhash::pg::index {

// The unread rest of a chain of leaves. It begins at an entry of a leaf.
struct leaf_chain {
    std::uint64_t id;
    BlockNumber leaf; // none: the chain has no more entries
    std::uint32_t entry;
};

// The rest of the keys or the numbers on a leaf.
struct packed_values {
    const char* from;
    std::uint32_t bit; // where the next value begins
    std::uint32_t width;
    std::uint64_t base;

    std::uint64_t value() const { return base + get_bits(from, bit, width); }
};

struct entry_stream {
    struct source {
        leaf_chain rest;
        std::uint32_t count;     // the number of entries of the leaf
        std::uint64_t key;       // the key of the next entry; no_key: there is none
        std::uint64_t later_key; // the key of the entry after that, if it is on the same leaf
        packed_values later_keys;
        packed_values numbers;
        PGAlignedBlock page;
    };

    // A source, given by its position in `sources`, at its next key.
    struct player {
        std::uint64_t key;
        std::size_t source;
    };

    // Greater than any key.
    static constexpr std::uint64_t no_key = std::numeric_limits<std::uint64_t>::max();

    Relation index;
    std::span<source> sources;
    // A tournament of the sources: the one with the least key wins. Node 0 has the winner. Node n > 0 has the loser
    // of the match between the winners at nodes 2n and 2n + 1, where nodes from `leaves` on stand for the sources.
    // (Loser tree: Knuth, "The Art of Computer Programming", volume 3, section 5.4.1.)
    player* tournament;
    std::size_t leaves;            // a power of two
    growing<BlockNumber>* used_up; // collects leaves that have been read to the end; null: they are not collected
    BufferAccessStrategy strategy;
};

entry_stream make_stream(Relation index,
                         std::span<const leaf_chain> chains,
                         growing<BlockNumber>* used_up,
                         BufferAccessStrategy strategy);

inline bool has_entries(const entry_stream& stream) { return stream.tournament[0].key != entry_stream::no_key; }

// Reads entries into `leaf` until it is full or no entries are left, and moves the chains past these entries.
void read_leafful(entry_stream& stream, leaf_entries& leaf);

} // namespace minhash::pg::index
