#include "core/fold.h"
#include "core/kernels.h"
#include "core/unicode.h"

#include <cstring>

namespace minhash {

std::size_t fold_character(folder& state, const std::uint8_t* text, std::size_t bytes, std::uint8_t*& out) noexcept
{
    const utf8_character read = decode_utf8(text, bytes);
    const bool valid = read.code_point != invalid_byte;
    const separator separates = valid ? separator_of(read.code_point) : separator::none;
    const bool punctuation_separates = state.how.fold && state.how.of == unit::word;
    if (separates == separator::white_space || (separates == separator::punctuation && punctuation_separates)) {
        state.gap = state.started;
        return read.bytes;
    }

    if (state.gap)
        *out++ = ' ';
    state.gap = false;
    state.started = true;
    if (valid && state.how.fold) {
        out += encode_utf8(fold_case(read.code_point), out);
    } else {
        std::memcpy(out, text, read.bytes);
        out += read.bytes;
    }
    return read.bytes;
}

bool is_ascii(std::span<const std::uint8_t> bytes) noexcept { return kernels->is_ascii(bytes.data(), bytes.size()); }

std::size_t fold(folder& state, const std::uint8_t* text, std::size_t bytes, std::uint8_t* out) noexcept
{
    const bool words = state.how.of == unit::word;
    if (!state.how.fold && !words) {
        std::memcpy(out, text, bytes);
        return bytes;
    }

    // Kernels fold as far as they can; the character that stops them is folded here.
    std::uint8_t* const begin = out;
    for (std::size_t at = 0; at < bytes;) {
        std::size_t written;
        at += kernels->fold(state, text + at, bytes - at, out, written);
        out += written;
        if (at < bytes)
            at += fold_character(state, text + at, bytes - at, out);
    }
    return static_cast<std::size_t>(out - begin);
}

} // namespace minhash
