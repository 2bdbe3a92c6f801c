// Reads a text Datum, in any server encoding, as the slices of UTF-8 that the core expects.
#pragma once

#include "pg/glue.h"

#include "core/shingle.h"

namespace minhash::pg {

struct text_reader {
    const std::uint8_t* at;
    std::size_t left;

    Oid conversion; // converts to UTF-8; InvalidOid if the bytes need no conversion
    std::uint8_t converted[slice_bytes + 16];
};

// Starts to read bytes in the server's encoding, or a detoasted text, from the beginning.
void open(text_reader& reader, std::span<const std::uint8_t> bytes);
void open(text_reader& reader, const text* value);

inline bool at_end(const text_reader& reader) { return reader.left == 0; }

// The next slice: whole characters, no more than slice_bytes bytes in total, and empty at the end. If the text is
// already in UTF-8, the slice points into the text. Checks for cancel.
std::span<const std::uint8_t> read(text_reader& reader);

// The next character; the reader must not be at the end. The reader advances by the character's length in the server's
// encoding. In SQL_ASCII, the bytes are split into characters as in UTF-8. Checks for cancel.
std::span<const std::uint8_t> read_character(text_reader& reader);

// Whether a byte is ASCII white space. No server encoding has such bytes inside its other characters.
inline bool is_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

} // namespace minhash::pg
