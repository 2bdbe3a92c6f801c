#include "core/shingle.h"
#include "core/unicode.h"

#include <cstring>

namespace minhash {

namespace {

void put(shingle_batch& batch, std::uint64_t hash) noexcept
{
    batch.lo[batch.count] = low(hash);
    batch.hi[batch.count] = high(hash);
    batch.count++;
}

// Keeps the tail of the buffer, from `from` on, for the next step.
void hold(shingler& state, std::size_t from, std::size_t bytes) noexcept
{
    std::memmove(state.text, state.text + from, bytes - from);
    state.held_bytes = bytes - from;
}

void cut_characters(shingler& state, std::size_t bytes, shingle_batch& batch) noexcept
{
    std::size_t characters = 0;
    for (std::size_t at = 0; at < bytes; characters++) {
        state.begin[characters] = static_cast<std::uint32_t>(at);
        at += decode_utf8(state.text + at, bytes - at).bytes;
    }
    state.begin[characters] = static_cast<std::uint32_t>(bytes);

    const std::size_t size = state.folding.how.size;
    if (characters < size) {
        hold(state, 0, bytes);
        return;
    }
    const std::size_t windows = characters - size + 1;
    for (std::size_t index = 0; index < windows; index++) {
        const std::uint32_t from = state.begin[index];
        put(batch, hash_bytes(state.text + from, state.begin[index + size] - from, state.seed));
    }
    state.cut_any = true;
    hold(state, state.begin[windows], bytes);
}

// Hashes the shingles that end in the words from held_words on, `words` in all, and keeps the last
// words that the next shingle starts with.
void chain_words(shingler& state, std::size_t words, shingle_batch& batch) noexcept
{
    const std::size_t size = state.folding.how.size;
    std::size_t windows = words >= size ? words - size + 1 : 0;
    for (std::size_t index = 0; index < windows; index++) {
        std::uint32_t a = 0;
        std::uint32_t b = 0;
        for (std::size_t word = index; word < index + size; word++)
            chain_word(a, b, state.word_lo[word], state.word_hi[word]);
        mix(a, b);
        put(batch, join(a, b));
    }
    state.cut_any |= windows > 0;
    std::memmove(state.word_lo, state.word_lo + windows, (words - windows) * sizeof(std::uint32_t));
    std::memmove(state.word_hi, state.word_hi + windows, (words - windows) * sizeof(std::uint32_t));
    state.held_words = words - windows;
}

// Words end at a space; what follows the last space is held until its end is seen, or, once it is
// longer than the buffer can hold, goes through XXH3's streaming form.
void cut_words(shingler& state, std::size_t bytes, bool at_end, shingle_batch& batch) noexcept
{
    std::size_t words = state.held_words;
    std::size_t from = 0;
    const auto add_word = [&](std::size_t to) {
        std::uint64_t hash;
        if (state.inside_long_word) {
            XXH3_64bits_update(&state.long_word, state.text + from, to - from);
            hash = XXH3_64bits_digest(&state.long_word);
            state.inside_long_word = false;
        } else {
            hash = hash_bytes(state.text + from, to - from, state.seed);
        }
        state.word_lo[words] = low(hash);
        state.word_hi[words] = high(hash);
        words++;
    };

    for (std::size_t at = 0; at < bytes; at++) {
        if (state.text[at] == ' ') {
            add_word(at);
            from = at + 1;
        }
    }
    if (at_end && (bytes > from || state.inside_long_word)) {
        add_word(bytes);
        from = bytes;
    }

    if (bytes - from > max_held_bytes) {
        if (!state.inside_long_word)
            XXH3_64bits_reset_withSeed(&state.long_word, static_cast<std::uint64_t>(state.seed));
        state.inside_long_word = true;
        XXH3_64bits_update(&state.long_word, state.text + from, bytes - from);
        from = bytes;
    }
    hold(state, from, bytes);
    chain_words(state, words, batch);
}

} // namespace

void start(shingler& state, const shingling& how, std::int64_t seed) noexcept
{
    state.folding = start_folding(how);
    state.seed = seed;
    state.cut_any = false;
    state.held_bytes = 0;
    state.held_words = 0;
    state.inside_long_word = false;
}

void cut(shingler& state,
         const std::uint8_t* text,
         std::size_t bytes,
         shingle_batch& batch) noexcept
{
    batch.count = 0;
    const std::size_t folded = fold(state.folding, text, bytes, state.text + state.held_bytes);
    if (state.folding.how.of == unit::character)
        cut_characters(state, state.held_bytes + folded, batch);
    else
        cut_words(state, state.held_bytes + folded, false, batch);
}

void finish(shingler& state, shingle_batch& batch) noexcept
{
    batch.count = 0;
    if (state.folding.how.of == unit::word) {
        cut_words(state, state.held_bytes, true, batch);
        if (!state.cut_any && state.held_words > 0) {
            state.folding.how.size = static_cast<std::uint16_t>(state.held_words);
            chain_words(state, state.held_words, batch);
        }
    } else if (!state.cut_any && state.held_bytes > 0) {
        put(batch, hash_bytes(state.text, state.held_bytes, state.seed));
    }
}

} // namespace minhash
