#include "core/difference.h"
#include "core/unicode.h"

#include <cassert>

namespace minhash {

namespace {

text_point operator+(const text_point& a, const text_point& b) noexcept
{
    return {a.bytes + b.bytes, a.characters + b.characters};
}

} // namespace

coverage start_coverage(unit of, std::uint32_t start, std::uint32_t end) noexcept { return {of, start, end, start}; }

bool cover(coverage& self, const shingle_range& shared, shingle_range& uncovered) noexcept
{
    std::uint32_t from = self.covered;
    std::uint32_t to = shared.offset;
    self.covered = shared.offset + shared.bytes;
    if (from >= to)
        return false;
    // Leave out the spaces between the uncovered words and the covered ones.
    if (self.of == unit::word) {
        from += from > self.start;
        to -= to < self.end;
    }
    uncovered = {from, to - from};
    return from < to;
}

original_walk start_original(const shingling& how, std::uint32_t start) noexcept
{
    return {start_folding(how), {0, 0}, {{0, 0}, {0, 0}}, {0, 0}, start, start, start, {0, 0}};
}

void take(original_walk& self, const std::uint8_t* utf8, std::size_t utf8_bytes, const text_point& size) noexcept
{
    const bool gap = self.folding.gap;
    const bool held_dash = self.folding.held_dash;
    const text_point from = self.next;
    self.next = from + size;
    std::uint32_t written = 0;
    bool minus = false;
    if (!self.folding.how.fold && self.folding.how.of == unit::character) {
        written = static_cast<std::uint32_t>(utf8_bytes);
    } else {
        for (std::size_t at = 0; at < utf8_bytes;) {
            std::uint8_t room[8];
            std::uint8_t* out = room;
            room[0] = room[1] = 0;
            at += fold_character(self.folding, utf8 + at, utf8_bytes - at, out);
            minus |= held_dash && room[room[0] == ' '] == '-';
            written += static_cast<std::uint32_t>(out - room);
        }
    }

    if (written == 0) { // a separator, a character that is dropped, or a dash
        if (self.folding.held_dash && !held_dash)
            self.dash = from;
        return;
    }
    self.gap = self.last.to;
    self.last = {minus ? self.dash : from, self.next};
    self.gap_from = self.written_to;
    self.last_from = self.gap_from + gap;
    self.written_to += written;
}

text_point start_in_original(const original_walk& self, std::uint32_t from) noexcept
{
    assert(from >= self.gap_from && from < self.written_to);
    return from < self.last_from ? self.gap : self.last.from;
}

text_point end_in_original(const original_walk& self, std::uint32_t to) noexcept
{
    assert(to > self.gap_from && to <= self.written_to);
    return to <= self.last_from ? self.last.from : self.last.to;
}

} // namespace minhash
