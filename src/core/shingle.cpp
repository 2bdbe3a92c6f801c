#include "core/shingle.h"
#include "core/unicode.h"

#include <cassert>
#include <cstring>

namespace minhash {

namespace {

// Keeps the tail of the buffer, from `from` on, for the next step.
void hold(shingler& self, std::size_t from, std::size_t bytes) noexcept
{
    std::memmove(self.text, self.text + from, bytes - from);
    self.held_bytes = bytes - from;
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

void cut_characters(shingler& self, std::size_t bytes, bool last, shingle_batch& batch) noexcept
{
    const std::size_t size = self.folding.how.size;
    const bool ascii = kernels->is_ascii(self.text, bytes);
    std::size_t characters = ascii ? bytes : kernels->find_characters(self.text, bytes, self.begin);
    if (characters == 0)
        characters = find_any_characters(self.text, bytes, self.begin);
    if (characters < size) {
        if (last && !self.cut_any && bytes > 0) {
            const std::uint64_t whole = hash_bytes(self.text, bytes, self.seed);
            split(whole, batch.lo[0], batch.hi[0]);
            batch.count = 1;
        }
        if (!last)
            hold(self, 0, bytes);
        return;
    }

    batch.count = characters - size + 1;
    if (ascii)
        kernels->hash_windows(self.text, batch.count, size, self.seed, batch.lo, batch.hi);
    else
        kernels->hash_ranges(self.text, self.begin, self.begin + size, batch.count, self.seed, batch.lo, batch.hi);
    self.cut_any = true;
    if (!last)
        hold(self, ascii ? batch.count : self.begin[batch.count], bytes);
}

// Hashes all shingles of `words` words, from the hashes of the words. The hashes of the first held_words words were
// kept from the previous step. Then keeps the hashes of the last words, because the next shingle starts with them.
void chain_words(shingler& self, std::size_t words, shingle_batch& batch) noexcept
{
    const std::size_t size = self.folding.how.size;
    batch.count = words >= size ? words - size + 1 : 0;
    kernels->chain_words(self.word_lo, self.word_hi, batch.count, size, batch.lo, batch.hi);
    self.cut_any |= batch.count > 0;
    self.held_words = words - batch.count;
    const std::size_t held = self.held_words * sizeof(std::uint32_t);
    std::memmove(self.word_lo, self.word_lo + batch.count, held);
    std::memmove(self.word_hi, self.word_hi + batch.count, held);
}

// A word ends at a space. The bytes after the last space are held until their word ends. But if there are more than
// max_held_bytes of them, they are hashed at once, by the streaming form of XXH3.
void cut_words(shingler& self, std::size_t bytes, bool last, shingle_batch& batch) noexcept
{
    std::size_t ends = kernels->find_spaces(self.text, bytes, self.end);
    if (last && (bytes > 0 || self.inside_long_word))
        self.end[ends++] = static_cast<std::uint32_t>(bytes);

    std::size_t first = 0; // the first word to be hashed from the buffer
    if (ends > 0 && self.inside_long_word) {
        XXH3_64bits_update(&self.long_word, self.text, self.end[0]);
        split(XXH3_64bits_digest(&self.long_word), self.word_lo[self.held_words], self.word_hi[self.held_words]);
        self.held_words++;
        self.inside_long_word = false;
        first = 1;
    }
    self.begin[0] = 0;
    for (std::size_t word = 0; word < ends; word++)
        self.begin[word + 1] = self.end[word] + 1;
    kernels->hash_ranges(self.text,
                         self.begin + first,
                         self.end + first,
                         ends - first,
                         self.seed,
                         self.word_lo + self.held_words,
                         self.word_hi + self.held_words);
    const std::size_t words = self.held_words + ends - first;

    std::size_t from = last ? bytes : self.begin[ends];
    if (bytes - from > max_held_bytes) {
        if (!self.inside_long_word)
            XXH3_64bits_reset_withSeed(&self.long_word, static_cast<std::uint64_t>(self.seed));
        self.inside_long_word = true;
        XXH3_64bits_update(&self.long_word, self.text + from, bytes - from);
        from = bytes;
    }
    hold(self, from, bytes);
    if (last && !self.cut_any && words > 0 && words < self.folding.how.size)
        self.folding.how.size = static_cast<std::uint16_t>(words);
    chain_words(self, words, batch);
}

} // namespace

void start(shingler& self, const shingling& how, std::int64_t seed) noexcept
{
    assert(validate(how) == status::ok && how.of != unit::element);
    self.folding = start_folding(how);
    self.seed = seed;
    self.cut_any = false;
    self.held_bytes = 0;
    self.held_words = 0;
    self.inside_long_word = false;
    XXH3_INITSTATE(&self.long_word); // otherwise a reset might mistake old memory for this seed's secret
}

void cut(shingler& self, const std::uint8_t* text, std::size_t bytes, bool last, shingle_batch& batch) noexcept
{
    assert(bytes <= slice_bytes && self.held_bytes <= max_held_bytes);
    batch.count = 0;
    const std::size_t folded = fold(self.folding, text, bytes, self.text + self.held_bytes);
    assert(folded <= folded_room(slice_bytes));
    if (self.folding.how.of == unit::character)
        cut_characters(self, self.held_bytes + folded, last, batch);
    else
        cut_words(self, self.held_bytes + folded, last, batch);
    assert(batch.count <= max_batch);
}

} // namespace minhash
