#include "core/difference.h"
#include "core/unicode.h"

#include <cassert>

namespace minhash {

namespace {

text_place operator+(const text_place& a, const text_place& b) noexcept
{
    return {a.bytes + b.bytes, a.characters + b.characters};
}

} // namespace

coverage start_coverage(unit of, std::uint32_t start, std::uint32_t end) noexcept { return {of, start, end, start}; }

bool cover(coverage& state, const shingle_range& shared, shingle_range& uncovered) noexcept
{
    std::uint32_t from = state.covered;
    std::uint32_t to = shared.offset;
    state.covered = shared.offset + shared.bytes;
    if (from >= to)
        return false;
    // Leave out the spaces between the uncovered words and the covered ones.
    if (state.of == unit::word) {
        from += from > state.start;
        to -= to < state.end;
    }
    uncovered = {from, to - from};
    return from < to;
}

original_walk start_original(const shingling& how, std::uint32_t start) noexcept
{
    return {start_folding(how), {0, 0}, {{0, 0}, {0, 0}}, {0, 0}, start, start, start, {0, 0}};
}

void take(original_walk& state, const std::uint8_t* utf8, std::size_t utf8_bytes, const text_place& size) noexcept
{
    const bool gap = state.folding.gap;
    const bool held_dash = state.folding.held_dash;
    const text_place from = state.next;
    state.next = from + size;
    std::uint32_t written = 0;
    bool minus = false;
    if (!state.folding.how.fold && state.folding.how.of == unit::character) {
        written = static_cast<std::uint32_t>(utf8_bytes);
    } else {
        for (std::size_t at = 0; at < utf8_bytes;) {
            std::uint8_t room[8];
            std::uint8_t* out = room;
            room[0] = room[1] = 0;
            at += fold_character(state.folding, utf8 + at, utf8_bytes - at, out);
            minus |= held_dash && room[room[0] == ' '] == '-';
            written += static_cast<std::uint32_t>(out - room);
        }
    }

    if (written == 0) { // a separator, a character that is dropped, or a dash
        if (state.folding.held_dash && !held_dash)
            state.dash = from;
        return;
    }
    state.gap = state.last.to;
    state.last = {minus ? state.dash : from, state.next};
    state.gap_from = state.written_to;
    state.last_from = state.gap_from + gap;
    state.written_to += written;
}

text_place start_in_original(const original_walk& state, std::uint32_t from) noexcept
{
    assert(from >= state.gap_from && from < state.written_to);
    return from < state.last_from ? state.gap : state.last.from;
}

text_place end_in_original(const original_walk& state, std::uint32_t to) noexcept
{
    assert(to > state.gap_from && to <= state.written_to);
    return to <= state.last_from ? state.last.from : state.last.to;
}

} // namespace minhash
