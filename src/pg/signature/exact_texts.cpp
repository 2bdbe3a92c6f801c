#include "pg/errors.h"
#include "pg/signature/exact_texts.h"

#include "core/fold.h"

#include <algorithm>
#include <bit>

extern "C" {
#include "mb/pg_wchar.h"
#include "miscadmin.h"
}

namespace minhash::pg {

namespace {

constexpr std::size_t most_folded_bytes = 0xFFFFFFFF; // offsets are 32 bits

void reserve(exact_texts& state, std::size_t more)
{
    const std::size_t wanted = state.used + more;
    if (wanted <= state.capacity)
        return;
    if (wanted > most_folded_bytes)
        ereport(ERROR,
                errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("texts are too long to be compared exactly"),
                errdetail("Folded and in UTF-8 they take more than %zu bytes.", most_folded_bytes),
                errhint("Sign the texts with minhash() and estimate with minhash_similarity()."));
    state.capacity = std::min(most_folded_bytes, std::max(wanted, state.capacity * 2));
    state.buffer = state.buffer == nullptr
                       ? static_cast<std::uint8_t*>(MemoryContextAllocHuge(CurrentMemoryContext, state.capacity))
                       : static_cast<std::uint8_t*>(repalloc_huge(state.buffer, state.capacity));
}

void fold_text(exact_texts& state, FunctionCallInfo fcinfo, int argument)
{
    text* const value = PG_GETARG_TEXT_PP(argument);
    text_reader* const reader = static_cast<text_reader*>(palloc(sizeof(text_reader)));
    folder folding = start_folding(state.how);

    open(*reader, value);
    reserve(state, folded_room(VARSIZE_ANY_EXHDR(value)));
    while (!at_end(*reader)) {
        const std::span<const std::uint8_t> slice = read(*reader);
        reserve(state, folded_room(slice.size()));
        state.used += fold(folding, slice.data(), slice.size(), state.buffer + state.used);
    }
    state.end[argument] = static_cast<std::uint32_t>(state.used);
    pfree(reader);
    PG_FREE_IF_COPY(value, argument);
}

// Calls `take` for each part of a table, with checks for cancel in between, because a table can be several gigabytes
// large.
template <typename Entry, typename Take>
void for_each_part(std::span<Entry> table, Take take)
{
    constexpr std::size_t part = 65536;
    for (std::size_t from = 0; from < table.size(); from += part) {
        CHECK_FOR_INTERRUPTS();
        take(table.subspan(from, std::min(part, table.size() - from)));
    }
}

std::span<counted_shingle> make_table(std::size_t entries)
{
    const std::size_t bytes = entries * sizeof(counted_shingle);
    std::span<counted_shingle> table = {
        static_cast<counted_shingle*>(palloc_extended(bytes, MCXT_ALLOC_HUGE)),
        entries,
    };
    for_each_part(table, [](std::span<counted_shingle> part) { memset(part.data(), 0, part.size_bytes()); });
    return table;
}

void grow(shingle_counts& counts)
{
    shingle_counts larger = {counts.buffer, make_table(counts.table.size() * 2), 0};
    for_each_part(counts.table, [&](std::span<counted_shingle> part) { move(part, larger); });
    pfree(counts.table.data());
    counts = larger;
}

} // namespace

overlap measure_all(const exact_texts& state)
{
    overlap sizes = {0, 0, 0};
    for_each_part(state.counts.table, [&](std::span<counted_shingle> part) { measure(part, state.how.bag, sizes); });
    return sizes;
}

void answer_to_cancel(std::size_t& work, const shingle_range& shingle)
{
    constexpr std::size_t bytes_between = 1000000;
    constexpr std::size_t bytes_of_overhead = 100; // the fixed cost of a shingle, in bytes
    work += shingle.bytes + bytes_of_overhead;
    if (work > bytes_between) {
        CHECK_FOR_INTERRUPTS();
        work = 0;
    }
}

exact_texts count_arguments(FunctionCallInfo fcinfo, int texts, const shingling& how)
{
    exact_texts state = {how, nullptr, 0, 0, {0, 0}, {}};
    for (int text = 0; text < texts; text++)
        fold_text(state, fcinfo, text);

    // This determines the initial size of the table. In texts of up to 100 kB, all shingles may be distinct. Longer
    // texts repeat shingles.
    const std::size_t expected = std::min<std::size_t>(state.used, 100000);
    state.counts = {state.buffer, make_table(std::bit_ceil(64 + expected * 3 / 2)), 0};
    for (int text = 0; text < texts; text++) {
        shingle_walk walk = walk_text(state, text);
        shingle_range shingle;
        for (std::size_t work = 0; next(walk, shingle);) {
            answer_to_cancel(work, shingle);
            if (state.counts.used >= most_exact_shingles)
                fail_too_many_shingles(most_exact_shingles);
            if (full(state.counts))
                grow(state.counts);
            count(state.counts, shingle, text);
        }
    }
    return state;
}

namespace {

// Reads more of the original text, until the walk has reached the place `folded` in the folded text. Positions are
// counted as substr() counts them: in bytes in single-byte encodings, in characters otherwise.
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
