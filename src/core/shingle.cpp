#include "core/shingle.h"
#include "core/unicode.h"

#include <cassert>
#include <cstring>

namespace minhash {

namespace {

// Keeps the tail of the buffer, from `from` on, for the next step.
void hold(shingler& state, std::size_t from, std::size_t bytes) noexcept
{
    std::memmove(state.text, state.text + from, bytes - from);
    state.held_bytes = bytes - from;
}

// Finds where characters start in a text that is not valid UTF-8. Each invalid byte counts as a character.
std::size_t find_any_characters(const std::uint8_t* text, std::size_t bytes, std::uint32_t* begin) noexcept
{
    std::size_t characters = 0;
    for (std::size_t at = 0; at < bytes; characters++) {
        begin[characters] = static_cast<std::uint32_t>(at);
        at += decode_utf8(text + at, bytes - at).bytes;
    }
    begin[characters] = static_cast<std::uint32_t>(bytes);
    return characters;
}

void cut_characters(shingler& state, std::size_t bytes, bool last, shingle_batch& batch) noexcept
{
    const std::size_t size = state.folding.how.size;
    const bool ascii = kernels->is_ascii(state.text, bytes);
    std::size_t characters = ascii ? bytes : kernels->find_characters(state.text, bytes, state.begin);
    if (characters == 0)
        characters = find_any_characters(state.text, bytes, state.begin);
    if (characters < size) {
        if (last && !state.cut_any && bytes > 0) {
            const std::uint64_t whole = hash_bytes(state.text, bytes, state.seed);
            split(whole, batch.lo[0], batch.hi[0]);
            batch.count = 1;
        }
        if (!last)
            hold(state, 0, bytes);
        return;
    }

    batch.count = characters - size + 1;
    if (ascii)
        kernels->hash_windows(state.text, batch.count, size, state.seed, batch.lo, batch.hi);
    else
        kernels->hash_ranges(state.text, state.begin, state.begin + size, batch.count, state.seed, batch.lo, batch.hi);
    state.cut_any = true;
    if (!last)
        hold(state, ascii ? batch.count : state.begin[batch.count], bytes);
}

// Hashes all shingles of `words` words, from the hashes of the words. The hashes of the first held_words words were
// kept from the previous step. Then keeps the hashes of the last words, because the next shingle starts with them.
void chain_words(shingler& state, std::size_t words, shingle_batch& batch) noexcept
{
    const std::size_t size = state.folding.how.size;
    batch.count = words >= size ? words - size + 1 : 0;
    kernels->chain_words(state.word_lo, state.word_hi, batch.count, size, batch.lo, batch.hi);
    state.cut_any |= batch.count > 0;
    state.held_words = words - batch.count;
    const std::size_t held = state.held_words * sizeof(std::uint32_t);
    std::memmove(state.word_lo, state.word_lo + batch.count, held);
    std::memmove(state.word_hi, state.word_hi + batch.count, held);
}

// A word ends at a space. The bytes after the last space are held until their word ends. But if there are more than
// max_held_bytes of them, they are hashed at once, by the streaming form of XXH3.
void cut_words(shingler& state, std::size_t bytes, bool last, shingle_batch& batch) noexcept
{
    std::size_t ends = kernels->find_spaces(state.text, bytes, state.end);
    if (last && (bytes > 0 || state.inside_long_word))
        state.end[ends++] = static_cast<std::uint32_t>(bytes);

    std::size_t first = 0; // the first word to be hashed from the buffer
    if (ends > 0 && state.inside_long_word) {
        XXH3_64bits_update(&state.long_word, state.text, state.end[0]);
        split(XXH3_64bits_digest(&state.long_word), state.word_lo[state.held_words], state.word_hi[state.held_words]);
        state.held_words++;
        state.inside_long_word = false;
        first = 1;
    }
    state.begin[0] = 0;
    for (std::size_t word = 0; word < ends; word++)
        state.begin[word + 1] = state.end[word] + 1;
    kernels->hash_ranges(state.text,
                         state.begin + first,
                         state.end + first,
                         ends - first,
                         state.seed,
                         state.word_lo + state.held_words,
                         state.word_hi + state.held_words);
    const std::size_t words = state.held_words + ends - first;

    std::size_t from = last ? bytes : state.begin[ends];
    if (bytes - from > max_held_bytes) {
        if (!state.inside_long_word)
            XXH3_64bits_reset_withSeed(&state.long_word, static_cast<std::uint64_t>(state.seed));
        state.inside_long_word = true;
        XXH3_64bits_update(&state.long_word, state.text + from, bytes - from);
        from = bytes;
    }
    hold(state, from, bytes);
    if (last && !state.cut_any && words > 0 && words < state.folding.how.size)
        state.folding.how.size = static_cast<std::uint16_t>(words);
    chain_words(state, words, batch);
}

} // namespace

void start(shingler& state, const shingling& how, std::int64_t seed) noexcept
{
    assert(validate(how) == status::ok && how.of != unit::element);
    state.folding = start_folding(how);
    state.seed = seed;
    state.cut_any = false;
    state.held_bytes = 0;
    state.held_words = 0;
    state.inside_long_word = false;
    XXH3_INITSTATE(&state.long_word); // otherwise a reset might mistake old memory for this seed's secret
}

void cut(shingler& state, const std::uint8_t* text, std::size_t bytes, bool last, shingle_batch& batch) noexcept
{
    assert(bytes <= slice_bytes && state.held_bytes <= max_held_bytes);
    batch.count = 0;
    const std::size_t folded = fold(state.folding, text, bytes, state.text + state.held_bytes);
    assert(folded <= folded_room(slice_bytes));
    if (state.folding.how.of == unit::character)
        cut_characters(state, state.held_bytes + folded, last, batch);
    else
        cut_words(state, state.held_bytes + folded, last, batch);
    assert(batch.count <= max_batch);
}

} // namespace minhash
