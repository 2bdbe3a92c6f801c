#include "core/sketch.h"

#include <algorithm>

namespace minhash {

namespace {

std::uint32_t highest(const sketch& state) noexcept
{
    return *std::max_element(state.slots, state.slots + state.num_hashes);
}

// A multiplication maps the 32 hashed bits to a slot (Lemire 2019).
void throw_at(sketch& state, std::uint32_t where, std::uint32_t code) noexcept
{
    std::uint32_t& slot = state.slots[static_cast<std::uint64_t>(where) * state.num_hashes >> 32];
    slot = std::min(slot, code);
}

// Later rounds matter only while a slot holds none of round 0, and the guarantee round only for
// slots that no round has hit so far: a slot that is still so after the last batch has been so
// after every batch, hence has seen all elements.
void absorb_fss(sketch& state,
                const std::uint32_t* lo,
                const std::uint32_t* hi,
                std::size_t count) noexcept
{
    for (std::size_t index = 0; index < count; index++)
        throw_at(state, hi[index], lo[index] >> 1);
    if (highest(state) < later_round_code)
        return;

    for (std::uint32_t round = 1; round <= later_rounds; round++) {
        for (std::size_t index = 0; index < count; index++) {
            const std::uint32_t where = multiplier.bin[round] * lo[index] + hi[index];
            const std::uint32_t value = multiplier.value[round] * hi[index] + lo[index];
            throw_at(state, where, later_round_code | (round - 1) << 29 | value >> 3);
        }
    }
    if (highest(state) < guarantee_code)
        return;

    for (std::uint32_t slot = 0; slot < state.num_hashes; slot++) {
        if (state.slots[slot] < guarantee_code)
            continue;
        for (std::size_t index = 0; index < count; index++) {
            const std::uint32_t value = multiplier.row[slot] * lo[index] + hi[index];
            state.slots[slot] = std::min(state.slots[slot], guarantee_code | value >> 3);
        }
    }
}

void absorb_classic(sketch& state,
                    const std::uint32_t* lo,
                    const std::uint32_t* hi,
                    std::size_t count) noexcept
{
    for (std::size_t index = 0; index < count; index++)
        for (std::uint32_t slot = 0; slot < state.num_hashes; slot++)
            state.slots[slot] =
                std::min(state.slots[slot], multiplier.row[slot] * lo[index] + hi[index]);
}

} // namespace

void start(sketch& state, method made_by, std::uint32_t num_hashes) noexcept
{
    state.made_by = made_by;
    state.num_hashes = num_hashes;
    state.fresh = true;
    std::fill_n(state.slots, num_hashes, empty_slot);
}

void absorb(sketch& state,
            const std::uint32_t* lo,
            const std::uint32_t* hi,
            std::size_t count) noexcept
{
    if (state.made_by == method::fss)
        absorb_fss(state, lo, hi, count);
    else
        absorb_classic(state, lo, hi, count);
    state.fresh &= count == 0;
}

bool is_empty(const sketch& state) noexcept
{
    return state.fresh;
}

void merge(const std::uint32_t* a,
           const std::uint32_t* b,
           std::uint32_t num_hashes,
           std::uint32_t* into) noexcept
{
    for (std::uint32_t slot = 0; slot < num_hashes; slot++)
        into[slot] = std::min(a[slot], b[slot]);
}

std::uint32_t
count_equal(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t num_hashes) noexcept
{
    std::uint32_t equal = 0;
    for (std::uint32_t slot = 0; slot < num_hashes; slot++)
        equal += a[slot] == b[slot];
    return equal;
}

} // namespace minhash
