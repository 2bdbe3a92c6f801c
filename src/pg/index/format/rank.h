// The rank of a row: nearer rows have lower ranks, and equally near rows are in table order. Ranks do not depend on
// where records are in the index.
#pragma once

#include "pg/index/format/format.h"

#include <limits>

namespace minhash::pg::index {

using rank = std::uint64_t;

constexpr int tid_bits = 48;
constexpr rank tid_mask = (rank{1} << tid_bits) - 1;
constexpr rank last_rank = std::numeric_limits<std::int64_t>::max();

static_assert(max_num_hashes + 1 < 1 << (63 - tid_bits)); // one more for NULL

// The rank of a row, from the number of its slots that differ from the query's.
inline rank rank_of(int differing, const ItemPointerData& tid)
{
    return static_cast<rank>(differing) << tid_bits | static_cast<rank>(ItemPointerGetBlockNumberNoCheck(&tid)) << 16 |
           tid.ip_posid;
}

inline int differing_of(rank value) { return static_cast<int>(value >> tid_bits); }

inline ItemPointerData tid_of(rank value)
{
    ItemPointerData tid;
    ItemPointerSet(&tid, static_cast<BlockNumber>((value & tid_mask) >> 16), static_cast<OffsetNumber>(value & 0xFFFF));
    return tid;
}

} // namespace minhash::pg::index
