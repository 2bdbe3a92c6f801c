#include "pg/errors.h"
#include "pg/signature/exact_texts.h"

#include "core/fold.h"

#include <algorithm>

extern "C" {
#include "executor/nodeHash.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

constexpr std::size_t most_folded_bytes = 0xFFFFFFFF; // offsets are 32 bits

void reserve(exact_texts& self, std::size_t more)
{
    const std::size_t wanted = self.used + more + padding;
    if (wanted <= self.capacity)
        return;
    if (wanted > most_folded_bytes)
        ereport(ERROR,
                errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("texts are too long to be compared exactly"),
                errdetail("Folded and in UTF-8 they take more than %zu bytes.", most_folded_bytes),
                errhint("Sign the texts with minhash() and estimate with minhash_similarity()."));
    self.capacity = std::min(most_folded_bytes, std::max(wanted, self.capacity * 2));
    self.buffer = self.buffer == nullptr
                      ? static_cast<std::uint8_t*>(MemoryContextAllocHuge(self.memory, self.capacity))
                      : static_cast<std::uint8_t*>(repalloc_huge(self.buffer, self.capacity));
}

// Appends a text, folded, to the buffer.
void fold_text(exact_texts& self, int which, const text* value)
{
    text_reader* const reader = static_cast<text_reader*>(palloc(sizeof(text_reader)));
    folder folding = start_folding(self.how);

    self.begin[which] = static_cast<std::uint32_t>(self.used);
    open(*reader, value);
    reserve(self, folded_room(VARSIZE_ANY_EXHDR(value)));
    while (!at_end(*reader)) {
        const std::span<const std::uint8_t> slice = read(*reader);
        reserve(self, folded_room(slice.size()));
        self.used += fold(folding, slice.data(), slice.size(), self.buffer + self.used);
    }
    self.end[which] = static_cast<std::uint32_t>(self.used);
    pfree(reader);
}

// Calls `take(first, end)` for each part of a table in turn. Checks for cancel before each part, because a table can
// have millions of entries.
template <typename Take>
void each_slice(std::size_t count, Take take)
{
    constexpr std::size_t part = 65536;
    for (std::size_t first = 0; first < count; first += part) {
        CHECK_FOR_INTERRUPTS();
        take(first, std::min(count, first + part));
    }
}

// Makes room for this many distinct shingles.
void make_room(exact_texts& self, std::size_t entries)
{
    shingle_counts& counts = self.counts;
    const std::size_t bytes = entries * sizeof(counted_shingle);
    counted_shingle* const known = counts.entries.data();
    counts.entries = {static_cast<counted_shingle*>(known == nullptr ? MemoryContextAllocHuge(self.memory, bytes)
                                                                     : repalloc_huge(known, bytes)),
                      entries};
    if (counts.table.data() != nullptr)
        pfree(counts.table.data());
    const std::size_t table_cells = table_size(entries);
    counts.table = {
        static_cast<std::uint32_t*>(MemoryContextAllocHuge(self.memory, table_cells * sizeof(std::uint32_t))),
        table_cells};
    each_slice(table_cells, [&](std::size_t first, std::size_t end) {
        std::ranges::fill(counts.table.subspan(first, end - first), 0);
    });
    each_slice(counts.used, [&](std::size_t first, std::size_t end) { enter(counts, first, end); });
}

// Makes room for the shingles of the folded texts. Up to this length in bytes, each byte may begin another distinct
// shingle. Longer texts repeat more of their shingles.
void make_first_room(exact_texts& self)
{
    constexpr std::size_t long_text = 100000;
    make_room(self, std::min(self.used, long_text));
}

void count_text(exact_texts& self, int which)
{
    self.counts.buffer = self.buffer;
    shingle_walk walk = walk_text(self, which);
    shingle_group group;
    while (next(walk, group)) {
        CHECK_FOR_INTERRUPTS();
        // A kept text may have left little room, or none.
        if (!has_room(self.counts, group.count))
            make_room(self, std::max(self.counts.entries.size() * 2, self.counts.used + group.count));
        count(self.counts, group, which);
        if (self.counts.used > most_exact_shingles)
            fail_too_many_shingles(most_exact_shingles);
    }
}

exact_texts start_texts(const shingling& how, MemoryContext memory)
{
    exact_texts self = {how, memory, nullptr, 0, 0, {0, 0}, {0, 0}, {}};
    self.counts.bag = how.bag;
    return self;
}

} // namespace

exact_texts count_arguments(FunctionCallInfo fcinfo, int texts, const shingling& how)
{
    exact_texts self = start_texts(how, CurrentMemoryContext);
    for (int which = 0; which < texts; which++) {
        text* const value = PG_GETARG_TEXT_PP(which);
        fold_text(self, which, value);
        PG_FREE_IF_COPY(value, which);
    }
    make_first_room(self);
    for (int which = 0; which < texts; which++)
        count_text(self, which);
    return self;
}

namespace {

// What one call leaves to the next: two texts, of which the first in the buffer was a constant.
struct kept_texts {
    MemoryContext memory;                // has all of it; reset if something else is to be kept
    bool usable;                         // false during a call, and so after an error
    int constant;                        // which argument it is
    std::span<const std::uint8_t> value; // the argument's bytes; a constant may be a parameter, which can change
    exact_texts texts;
    std::size_t distinct; // how many entries, at the beginning, are the constant's
    overlap sizes;        // before the other text is counted
};

kept_texts& kept_texts_of(FunctionCallInfo fcinfo)
{
    if (fcinfo->flinfo->fn_extra == nullptr) {
        const MemoryContext above = fcinfo->flinfo->fn_mcxt;
        kept_texts* const fresh = allocate<kept_texts>(above);
        *fresh = {};
        fresh->memory = AllocSetContextCreate(above, "minhash_lsh constant text", ALLOCSET_SMALL_SIZES);
        fcinfo->flinfo->fn_extra = fresh;
    }
    return *static_cast<kept_texts*>(fcinfo->flinfo->fn_extra);
}

bool has_kept(const kept_texts& kept, const text* const (&values)[2], const shingling& how)
{
    return kept.usable && kept.texts.how == how && std::ranges::equal(kept.value, bytes_of(values[kept.constant]));
}

// Begins again, with another constant.
void start_keeping(kept_texts& kept, int constant, const text* value, const shingling& how)
{
    MemoryContextReset(kept.memory);
    const std::span<const std::uint8_t> bytes = bytes_of(value);
    auto* const copy = static_cast<std::uint8_t*>(MemoryContextAllocHuge(kept.memory, bytes.size()));
    std::ranges::copy(bytes, copy);
    kept.constant = constant;
    kept.value = {copy, bytes.size()};
    kept.texts = start_texts(how, kept.memory);
    fold_text(kept.texts, constant, value);
}

// Takes back the other text of the call before.
void forget_other(kept_texts& kept)
{
    shingle_counts& counts = kept.texts.counts;
    const std::size_t before = kept.distinct;
    each_slice(before, [&](std::size_t first, std::size_t end) { forget(counts, first, end, 1 - kept.constant); });
    each_slice(counts.used - before,
               [&](std::size_t first, std::size_t end) { remove(counts, before + first, before + end); });
    counts.used = before;
    counts.sizes = kept.sizes;
    kept.texts.used = kept.texts.end[kept.constant];
}

// Whether the next call should use what this one leaves: not if it takes more memory than a hash table may, and not if
// a much longer text has left so large a table that it would slow down the next calls.
bool is_worth_keeping(const kept_texts& kept)
{
    constexpr std::size_t small = 16384;
    const shingle_counts& counts = kept.texts.counts;
    return counts.entries.size() <= std::max(small, 8 * counts.used) &&
           MemoryContextMemAllocated(kept.memory, false) <= get_hash_memory_limit();
}

} // namespace

overlap measure_arguments(FunctionCallInfo fcinfo, const shingling& how)
{
    const bool constant[2] = {get_fn_expr_arg_stable(fcinfo->flinfo, 0), get_fn_expr_arg_stable(fcinfo->flinfo, 1)};
    if (!constant[0] && !constant[1])
        return count_arguments(fcinfo, 2, how).counts.sizes;

    kept_texts& kept = kept_texts_of(fcinfo);
    text* const values[2] = {PG_GETARG_TEXT_PP(0), PG_GETARG_TEXT_PP(1)};
    const bool known = has_kept(kept, values, how);
    kept.usable = false;
    if (known) {
        forget_other(kept);
    } else {
        // If both may be constants, they may also be variables of PL/pgSQL. The one that was kept has changed, so the
        // other is tried.
        const int next = constant[0] && constant[1] ? 1 - kept.constant : static_cast<int>(constant[1]);
        start_keeping(kept, next, values[next], how);
    }
    const int other = 1 - kept.constant;
    fold_text(kept.texts, other, values[other]);
    if (!known) {
        make_first_room(kept.texts);
        count_text(kept.texts, kept.constant);
        kept.distinct = kept.texts.counts.used;
        kept.sizes = kept.texts.counts.sizes;
    }
    count_text(kept.texts, other);
    const overlap sizes = kept.texts.counts.sizes;

    kept.usable = is_worth_keeping(kept);
    if (!kept.usable)
        MemoryContextReset(kept.memory);
    PG_FREE_IF_COPY(values[0], 0);
    PG_FREE_IF_COPY(values[1], 1);
    return sizes;
}

namespace {

// Adds a character that takes this many bytes. Positions are counted as substr() counts them: in bytes in single-byte
// encodings, in characters otherwise.
text_point size_of(std::size_t bytes) { return {bytes, pg_database_encoding_max_length() == 1 ? bytes : 1}; }

// Reads more of the original text, until the walk has reached the point `folded` in the folded text.
void read_to(difference_walk& walk, std::uint32_t folded)
{
    while (!has_written(walk.original, folded)) {
        Assert(!at_end(walk.reader));
        const std::size_t before = walk.reader.left;
        const std::span<const std::uint8_t> character = read_character(walk.reader);
        const std::size_t bytes = before - walk.reader.left;
        take(walk.original, character.data(), character.size(), size_of(bytes));
    }
}

void read_grapheme_character(grapheme_walk& walk)
{
    const std::size_t before = walk.reader.left;
    if (begins_grapheme(walk.state, read_character(walk.reader)))
        walk.begin = walk.read;
    const text_point size = size_of(before - walk.reader.left);
    walk.read = {walk.read.bytes + size.bytes, walk.read.characters + size.characters};
}

// Whether it is plain to see that no grapheme cluster goes on at this point, as in ASCII, apart from line ends.
bool is_plain_boundary(std::span<const std::uint8_t> text, std::size_t at)
{
    return at == 0 || at == text.size() || (text[at - 1] < 0x80 && text[at] < 0x80 && text[at] != '\n');
}

// Moves a difference's ends apart, to ends of grapheme clusters. Points must not come before those of earlier calls.
void widen_start(difference_walk& walk, text_point& from)
{
    if (is_plain_boundary(walk.text, from.bytes))
        return;
    while (walk.graphemes.read.bytes <= from.bytes)
        read_grapheme_character(walk.graphemes);
    from = walk.graphemes.begin;
}

void widen_end(difference_walk& walk, text_point& to)
{
    if (is_plain_boundary(walk.text, to.bytes))
        return;
    while (walk.graphemes.begin.bytes < to.bytes && !at_end(walk.graphemes.reader))
        read_grapheme_character(walk.graphemes);
    to = walk.graphemes.begin.bytes < to.bytes ? walk.graphemes.read : walk.graphemes.begin;
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

// Sets `out` to the next shingle that the other text also has. If there is no such shingle, `out` is the empty range at
// the end of the text.
void next_shared(difference_walk& walk, shingle_range& out)
{
    while (true) {
        while (walk.taken < walk.group.count) {
            const std::size_t i = walk.taken++;
            if (take_shared(walk.texts->counts, walk.group, i, walk.which)) {
                out = walk.group.at(i);
                return;
            }
        }
        CHECK_FOR_INTERRUPTS();
        walk.taken = 0;
        if (!next(walk.shingles, walk.group)) {
            walk.finished = true;
            out = {walk.texts->end[walk.which], 0};
            return;
        }
    }
}

// The next difference as shingles show it.
bool find_next(difference_walk& walk, text_span& out)
{
    while (!walk.finished) {
        shingle_range shared;
        next_shared(walk, shared);
        shingle_range uncovered;
        if (cover(walk.shared, shared, uncovered)) {
            out = find_in_original(walk, uncovered);
            return true;
        }
    }
    return false;
}

} // namespace

void start(difference_walk& walk, exact_texts& texts, int which, const text* value)
{
    const std::uint32_t from = texts.begin[which];
    walk.texts = &texts;
    walk.which = which;
    walk.shingles = walk_text(texts, which);
    walk.group.count = 0;
    walk.taken = 0;
    walk.shared = start_coverage(texts.how.of, from, texts.end[which]);
    walk.finished = false;
    walk.text = bytes_of(value);
    open(walk.reader, value);
    walk.original = start_original(texts.how, from);
    open(walk.graphemes.reader, value);
    walk.graphemes.state = start_graphemes();
    walk.graphemes.begin = walk.graphemes.read = {0, 0};
    walk.more = find_next(walk, walk.found);
}

bool next(difference_walk& walk, text_span& out)
{
    if (!walk.more)
        return false;
    out = walk.found;
    widen_start(walk, out.from);
    widen_end(walk, out.to);

    // What begins in the same grapheme cluster is the same difference.
    for (walk.more = find_next(walk, walk.found); walk.more && walk.found.from.bytes < out.to.bytes;
         walk.more = find_next(walk, walk.found)) {
        if (walk.found.to.bytes > out.to.bytes) {
            out.to = walk.found.to;
            widen_end(walk, out.to);
        }
    }
    return true;
}

} // namespace minhash::pg
