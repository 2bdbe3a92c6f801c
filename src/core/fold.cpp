#include "core/fold.h"
#include "core/unicode.h"

#include <cstring>

namespace minhash {

std::size_t
fold(folder& state, const std::uint8_t* text, std::size_t bytes, std::uint8_t* out) noexcept
{
    const bool words = state.how.of == unit::word;
    if (!state.how.fold && !words) {
        std::memcpy(out, text, bytes);
        return bytes;
    }

    const bool punctuation_separates = state.how.fold && words;
    std::uint8_t* const begin = out;
    for (std::size_t at = 0; at < bytes;) {
        const utf8_character read = decode_utf8(text + at, bytes - at);
        const bool valid = read.code_point != invalid_byte;
        const separator separates = valid ? separator_of(read.code_point) : separator::none;

        if (separates == separator::white_space ||
            (separates == separator::punctuation && punctuation_separates)) {
            state.gap = state.started;
        } else {
            if (state.gap)
                *out++ = ' ';
            state.gap = false;
            state.started = true;
            if (valid && state.how.fold) {
                out += encode_utf8(fold_case(read.code_point), out);
            } else {
                std::memcpy(out, text + at, read.bytes);
                out += read.bytes;
            }
        }
        at += read.bytes;
    }
    return static_cast<std::size_t>(out - begin);
}

} // namespace minhash
