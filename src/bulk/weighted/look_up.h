// A unit of the step that looks up rows in the index of rare shingles.
#pragma once

#include <cstdint>

namespace minhash::bulk {

// A process takes this many rows at a time.
constexpr std::uint32_t rows_looked_up_at_once = 64;

} // namespace minhash::bulk
