#include "core/fold.h"
#include "core/kernels.h"
#include "core/unicode.h"

#include <cstring>

namespace minhash {

std::size_t fold_character(folder& self, const std::uint8_t* text, std::size_t bytes, std::uint8_t*& out) noexcept
{
    const utf8_character read = decode_utf8(text, bytes);
    const bool valid = read.code_point != invalid_byte;
    const word_part part = valid ? part_of(read.code_point) : word_part::other;
    const bool folds_words = self.how.fold && self.how.of == unit::word;
    if (part == word_part::ignorable && self.how.fold)
        return read.bytes;

    const bool held_dash = self.held_dash;
    const bool dash = part == word_part::dash && folds_words;
    self.held_dash = dash && !self.after_dash && (self.gap || !self.started);
    self.after_dash = dash;
    if (dash || part == word_part::white_space || (part == word_part::punctuation && folds_words)) {
        self.gap = self.started;
        return read.bytes;
    }

    if (self.gap)
        *out++ = ' ';
    if (held_dash && part == word_part::number)
        *out++ = '-';
    self.gap = false;
    self.started = true;
    if (valid && self.how.fold) {
        out += encode_utf8(fold_case(read.code_point), out);
    } else {
        std::memcpy(out, text, read.bytes);
        out += read.bytes;
    }
    return read.bytes;
}

bool is_ascii(std::span<const std::uint8_t> bytes) noexcept { return kernels->is_ascii(bytes.data(), bytes.size()); }

std::size_t fold(folder& self, const std::uint8_t* text, std::size_t bytes, std::uint8_t* out) noexcept
{
    const bool words = self.how.of == unit::word;
    if (!self.how.fold && !words) {
        std::memcpy(out, text, bytes);
        return bytes;
    }

    // Kernels fold as far as they can; the character that stops them is folded here.
    std::uint8_t* const begin = out;
    for (std::size_t at = 0; at < bytes;) {
        if (!self.held_dash) {
            std::size_t written;
            at += kernels->fold(self, text + at, bytes - at, out, written);
            out += written;
        }
        if (at < bytes)
            at += fold_character(self, text + at, bytes - at, out);
    }
    return static_cast<std::size_t>(out - begin);
}

} // namespace minhash
