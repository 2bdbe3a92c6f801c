#include "core/sketch.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace minhash {

namespace {

// Drops elements that were absorbed recently, because they would change nothing. Returns how many are left. This pays
// when earlier batches have left slots unfilled: the text may be repetitive, and each batch goes through later rounds.
std::size_t drop_seen(sketch& self,
                      const std::uint32_t* lo,
                      const std::uint32_t* hi,
                      std::size_t count,
                      std::uint32_t* new_lo,
                      std::uint32_t* new_hi) noexcept
{
    std::size_t kept = 0;
    for (std::size_t index = 0; index < count; index++) {
        const std::uint64_t element = join(lo[index], hi[index]);
        std::uint64_t& last = self.seen[element % std::size(self.seen)];
        new_lo[kept] = lo[index];
        new_hi[kept] = hi[index];
        kept += last != element;
        last = element;
    }
    return kept;
}

void absorb_fss(sketch& self, const std::uint32_t* lo, const std::uint32_t* hi, std::size_t count) noexcept
{
    // Absorbing a short batch is faster than filtering it.
    constexpr std::size_t long_batch = 512;
    if (self.fresh || self.filled || count < long_batch) {
        self.filled = kernels->absorb_fss(self.slots, self.num_hashes, self.fresh, lo, hi, count);
        return;
    }
    if (!self.repeating) {
        self.repeating = true;
        std::fill_n(self.seen, std::size(self.seen), join(lo[0], hi[0]));
        kernels->absorb_fss(self.slots, self.num_hashes, false, lo, hi, 1);
    }

    constexpr std::size_t step = 512;
    for (std::size_t from = 0; from < count; from += step) {
        alignas(64) std::uint32_t new_lo[step + padding];
        alignas(64) std::uint32_t new_hi[step + padding];
        const std::size_t given = std::min(step, count - from);
        const std::size_t kept = drop_seen(self, lo + from, hi + from, given, new_lo, new_hi);
        if (kept > 0)
            self.filled = kernels->absorb_fss(self.slots, self.num_hashes, false, new_lo, new_hi, kept);
    }
}

} // namespace

void start(sketch& self, method method, std::uint32_t num_hashes) noexcept
{
    assert(method != method::external && num_hashes > 0 && num_hashes <= max_num_hashes);
    self.method = method;
    self.num_hashes = num_hashes;
    self.fresh = true;
    self.filled = false;
    self.repeating = false;
    std::fill_n(self.slots, num_hashes, empty_slot);
}

void resume(sketch& self, method method, std::uint32_t num_hashes, const std::uint32_t* slots) noexcept
{
    assert(!are_empty({slots, num_hashes}));
    start(self, method, num_hashes);
    self.fresh = false;
    std::copy_n(slots, num_hashes, self.slots);
    self.filled = method == method::fss && *std::max_element(slots, slots + num_hashes) < later_round_code;
}

void absorb(sketch& self, const std::uint32_t* lo, const std::uint32_t* hi, std::size_t count) noexcept
{
    if (count == 0)
        return;
    switch (self.method) {
    case method::fss:
        absorb_fss(self, lo, hi, count);
        break;
    case method::classic:
        kernels->absorb_classic(self.slots, self.num_hashes, lo, hi, count);
        break;
    case method::external: // start() refuses it
        break;
    }
    self.fresh = false;
}

bool is_empty(const sketch& self) noexcept { return self.fresh; }

bool are_empty(std::span<const std::uint32_t> slots) noexcept
{
    return std::all_of(slots.begin(), slots.end(), [](auto slot) { return slot == empty_slot; });
}

} // namespace minhash
