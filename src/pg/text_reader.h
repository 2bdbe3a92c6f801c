// A text Datum as the slices of UTF-8 that the core takes, whatever the server's encoding.
#pragma once

#include "pg/glue.h"

#include "core/shingle.h"

namespace minhash::pg {

struct text_reader {
    const std::uint8_t* at;
    std::size_t left;

    Oid conversion; // to UTF-8; none if the bytes are taken as they are
    std::uint8_t converted[slice_bytes + 16];
};

// Starts to read bytes in the server's encoding, or a detoasted text, from the beginning.
void open(text_reader& reader, std::span<const std::uint8_t> bytes);
void open(text_reader& reader, const text* value);

inline bool at_end(const text_reader& reader)
{
    return reader.left == 0;
}

// The next slice of at most slice_bytes bytes that cuts no character; an empty one at the end. It
// points into the text where that is UTF-8 already, so nothing is copied. Answers to cancel.
std::span<const std::uint8_t> read(text_reader& reader);

// The next character alone, if there is one; the reader moves by its bytes in the server's
// encoding. Where that says nothing about bytes, what is a character in UTF-8 is one. Answers to
// cancel.
std::span<const std::uint8_t> read_character(text_reader& reader);

} // namespace minhash::pg
