#include "pg/signature/differences.h"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace minhash::pg {

namespace {

// Reads on in the text until a place of its folded form is reached. Positions are for substr(), which counts bytes in
// single-byte encodings.
void read_to(difference_walk& walk, std::uint32_t folded)
{
    const bool counts_bytes = pg_database_encoding_max_length() == 1;
    while (!has_written(walk.original, folded)) {
        Assert(!at_end(walk.reader));
        const std::size_t before = walk.reader.left;
        const std::span<const std::uint8_t> character = read_character(walk.reader);
        const std::size_t bytes = before - walk.reader.left;
        take(walk.original, character.data(), character.size(), {bytes, counts_bytes ? bytes : 1});
    }
}

text_span find_in_original(difference_walk& walk, const shingle_range& folded)
{
    text_span found;
    read_to(walk, folded.offset + 1);
    found.from = start_in_original(walk.original, folded.offset);
    read_to(walk, folded.offset + folded.bytes);
    found.to = end_in_original(walk.original, folded.offset + folded.bytes);
    return found;
}

} // namespace

void start(difference_walk& walk, exact_texts& texts, int which, const text* value)
{
    const std::uint32_t from = start_of(texts, which);
    walk.texts = &texts;
    walk.which = which;
    walk.shingles = walk_text(texts, which);
    walk.shared = start_coverage(texts.how.of, from, texts.end[which]);
    walk.finished = false;
    open(walk.reader, value);
    walk.original = start_original(texts.how, from);
    walk.work = 0;
}

bool next(difference_walk& walk, text_span& out)
{
    shingle_range uncovered;
    while (!walk.finished) {
        shingle_range shingle;
        if (next(walk.shingles, shingle)) {
            answer_to_cancel(walk.work, shingle);
            if (!take_shared(walk.texts->counts, shingle, walk.which, walk.texts->how.bag))
                continue;
        } else {
            walk.finished = true;
            shingle = {walk.texts->end[walk.which], 0};
        }
        if (cover(walk.shared, shingle, uncovered)) {
            out = find_in_original(walk, uncovered);
            return true;
        }
    }
    return false;
}

} // namespace minhash::pg
