// All near-duplicate pairs of a query's rows, or across two queries.
//
// Candidates of all bands are written down as pairs of row numbers, in ranges of the smaller one;
// then each range is put in order, a pair that met in several bands is dropped but once, and what
// is left is verified, so that signatures are read nearly in their order.
#include "pg/candidates.h"
#include "pg/errors.h"

#include <algorithm>

namespace minhash::pg {

namespace {

enum side : std::uint8_t { left_side = 1, right_side = 2 };

struct pair_finder {
    bulk_rows* rows;
    twins same;
    std::uint8_t* sides; // of each leader's rows, if there are two queries; else null
    int range_bits;      // rows per range, as a power of two
    std::size_t range_count;
    byte_store* ranges; // of candidates: the smaller row in the upper half

    verifier check;
    ReturnSetInfo* result;
    MemoryContext row_memory;
    FmgrInfo less; // of ids
    Oid collation;
    bool plain_ids; // of type bigint
};

// Whether a pair of leaders can yield a pair of the result.
bool may_pair(const pair_finder& find, std::uint32_t a, std::uint32_t b)
{
    return find.sides == nullptr || ((find.sides[a] & left_side) && (find.sides[b] & right_side)) ||
           ((find.sides[a] & right_side) && (find.sides[b] & left_side));
}

void note_candidates(pair_finder& find, std::span<const std::uint32_t> bucket)
{
    for (std::size_t i = 0; i < bucket.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        byte_store& range = find.ranges[bucket[i] >> find.range_bits];
        for (std::size_t j = i + 1; j < bucket.size(); j++) {
            const std::uint64_t pair = std::uint64_t{bucket[i]} << 32 | bucket[j];
            if (may_pair(find, bucket[i], bucket[j]))
                append(range, &pair, sizeof(pair));
        }
    }
}

void emit(pair_finder& find, std::uint32_t a, std::uint32_t b, double similarity)
{
    const bool crossing = find.sides != nullptr;
    const std::uint32_t first_count = find.rows->first_count;
    if (crossing && (a < first_count) == (b < first_count))
        return;
    bool null;
    Datum ids[] = {fetch_datum(find.rows->ids, a, null), fetch_datum(find.rows->ids, b, null)};
    const auto is_less = [&find](Datum x, Datum y) {
        return find.plain_ids ? DatumGetInt64(x) < DatumGetInt64(y)
                              : DatumGetBool(FunctionCall2Coll(&find.less, find.collation, x, y));
    };
    // Across two queries the left one is the first's; else the smaller.
    const bool swap = crossing ? a >= first_count : is_less(ids[1], ids[0]);
    if (!swap && !crossing && !is_less(ids[0], ids[1]))
        return; // two rows of one id
    Datum values[] = {ids[swap], ids[!swap], Float8GetDatum(similarity)};
    bool nulls[] = {false, false, false};
    tuplestore_putvalues(find.result->setResult, find.result->setDesc, values, nulls);
    if (!find.plain_ids)
        MemoryContextReset(find.row_memory);
}

// The pairs among the rows that a leader stands for.
void emit_twins(pair_finder& find, std::uint32_t leader)
{
    for (std::uint32_t a = leader; a != no_row; a = find.same.next[a])
        for (std::uint32_t b = find.same.next[a]; b != no_row; b = find.same.next[b]) {
            CHECK_FOR_INTERRUPTS();
            emit(find, a, b, 1);
        }
}

void emit_product(pair_finder& find, std::uint32_t a, std::uint32_t b, double similarity)
{
    for (std::uint32_t x = a; x != no_row; x = find.same.next[x])
        for (std::uint32_t y = b; y != no_row; y = find.same.next[y]) {
            CHECK_FOR_INTERRUPTS();
            emit(find, x, y, similarity);
        }
}

// Verifies the candidates of one row, which come in any order and more than once.
void verify_row(pair_finder& find, std::uint32_t a, std::span<std::uint32_t> others)
{
    std::sort(others.begin(), others.end());
    std::uint32_t last = no_row;
    for (const std::uint32_t b : others) {
        if (b == last)
            continue;
        last = b;
        CHECK_FOR_INTERRUPTS();
        const double similarity = verify(find.check, a, b);
        if (similarity >= 0)
            emit_product(find, a, b, similarity);
    }
}

// The candidates of one range, row by row. They are read as often as memory makes necessary.
struct range_reader {
    std::uint32_t first; // row of the range
    std::uint32_t rows;
    std::uint64_t* starts;
    std::uint32_t* others;
    std::size_t room;
    void* buffer;
};

template <typename Take>
void each_pair(byte_store& range, void* buffer, Take&& take)
{
    for (std::uint64_t offset = 0; offset < range.size;) {
        CHECK_FOR_INTERRUPTS();
        const void* piece;
        const std::size_t bytes = fetch_piece(range, offset, buffer, piece);
        const std::uint64_t* const pairs = static_cast<const std::uint64_t*>(piece);
        for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); i++)
            take(static_cast<std::uint32_t>(pairs[i] >> 32), static_cast<std::uint32_t>(pairs[i]));
        offset += bytes;
    }
}

void verify_range(pair_finder& find, byte_store& range, range_reader& reader)
{
    // starts[i + 1] counts the candidates of row i, and then says where they end.
    std::fill_n(reader.starts, reader.rows + 1, 0);
    each_pair(range, reader.buffer, [&reader](std::uint32_t a, std::uint32_t) {
        reader.starts[a - reader.first + 1]++;
    });
    for (std::uint32_t row = 0; row < reader.rows; row++)
        reader.starts[row + 1] += reader.starts[row];

    for (std::uint32_t from = 0; from < reader.rows;) {
        // As many rows as fit, and at least one.
        const std::uint64_t base = reader.starts[from];
        std::uint32_t to = from + 1;
        while (to < reader.rows && reader.starts[to + 1] - base <= reader.room)
            to++;
        const std::uint64_t wanted = reader.starts[to] - base;
        if (wanted > reader.room || reader.others == nullptr) {
            if (reader.others != nullptr)
                pfree(reader.others);
            reader.room = std::max<std::size_t>(reader.room, wanted);
            reader.others = static_cast<std::uint32_t*>(
                MemoryContextAllocHuge(find.rows->memory,
                                       (reader.room + 1) * sizeof(std::uint32_t)));
        }
        if (wanted > 0) {
            // Where the next candidate of a row goes: the start moves, and is put back below.
            each_pair(range, reader.buffer, [&](std::uint32_t a, std::uint32_t b) {
                const std::uint32_t row = a - reader.first;
                if (row >= from && row < to)
                    reader.others[reader.starts[row]++ - base] = b;
            });
            for (std::uint32_t row = to; row-- > from;)
                reader.starts[row] = row == from ? base : reader.starts[row - 1];
            for (std::uint32_t row = from; row < to; row++)
                if (reader.starts[row + 1] > reader.starts[row])
                    verify_row(find,
                               reader.first + row,
                               {reader.others + (reader.starts[row] - base),
                                reader.starts[row + 1] - reader.starts[row]});
        }
        from = to;
    }
}

void start_ranges(pair_finder& find)
{
    constexpr std::size_t most_ranges = 256;
    constexpr std::size_t chunk = 32 * 1024;
    bulk_rows& rows = *find.rows;
    find.range_bits = 12;
    while ((rows.count >> find.range_bits) >= most_ranges)
        find.range_bits++;
    find.range_count = (rows.count >> find.range_bits) + 1;
    find.ranges = static_cast<byte_store*>(
        MemoryContextAlloc(rows.memory, find.range_count * sizeof(byte_store)));
    for (std::size_t i = 0; i < find.range_count; i++)
        open_store(find.ranges[i], rows.budget, chunk);
}

void verify_ranges(pair_finder& find)
{
    bulk_rows& rows = *find.rows;
    const std::size_t range_rows = std::size_t{1} << find.range_bits;
    const std::size_t least_room = 1024 * 1024;
    range_reader reader = {
        .first = 0,
        .rows = 0,
        .starts = static_cast<std::uint64_t*>(
            MemoryContextAllocHuge(rows.memory, (range_rows + 2) * sizeof(std::uint64_t))),
        .others = nullptr,
        .room = std::max(least_room, rows.budget.limit / 16),
        .buffer = MemoryContextAlloc(rows.memory, find.ranges[0].chunk_bytes),
    };
    progress verifying = start_phase("verifying candidates of rows", rows.count);
    for (std::size_t i = 0; i < find.range_count; i++) {
        reader.first = static_cast<std::uint32_t>(i << find.range_bits);
        reader.rows = static_cast<std::uint32_t>(
            std::min<std::size_t>(range_rows, rows.count - reader.first));
        report(verifying, reader.first);
        verify_range(find, find.ranges[i], reader);
        close_store(find.ranges[i]);
    }
}

// Which of two queries the rows of each leader come from.
void note_sides(pair_finder& find)
{
    bulk_rows& rows = *find.rows;
    find.sides = static_cast<std::uint8_t*>(MemoryContextAllocHuge(rows.memory, rows.count));
    memset(find.sides, 0, rows.count);
    for (std::uint32_t row = 0; row < rows.count; row++)
        find.sides[find.same.leader[row]] |= row < rows.first_count ? left_side : right_side;
}

void find_pairs(bulk_rows& rows, bool crossing, ReturnSetInfo& result)
{
    const TypeCacheEntry* const type = lookup_type_cache(rows.ids.type, TYPECACHE_LT_OPR);
    pair_finder find = {};
    find.rows = &rows;
    find.result = &result;
    find.plain_ids = rows.ids.type == INT8OID;
    find.collation = type->typcollation;
    find.row_memory =
        AllocSetContextCreate(rows.memory, "minhash_lsh pair", ALLOCSET_DEFAULT_SIZES);
    fmgr_info_cxt(get_opcode(type->lt_opr), &find.less, rows.memory);
    start_verifier(find.check, rows);

    bucket_walk walk;
    start_walk(walk, rows, "banding rows");
    find.same = find_twins(walk, find.check);
    if (crossing)
        note_sides(find);
    start_ranges(find);
    for (int band = 0; band < rows.shape.bands; band++)
        walk_band(walk, band, [&find](std::span<const std::uint32_t> bucket) {
            note_candidates(find, bucket);
        });
    if (walk.large_buckets > 0)
        tell_large_buckets(walk.large_buckets, rows.wanted.max_bucket);

    const MemoryContext former = MemoryContextSwitchTo(find.row_memory);
    for (std::uint32_t row = 0; row < rows.count; row++)
        if (find.same.leader[row] == row && find.same.next[row] != no_row)
            emit_twins(find, row);
    verify_ranges(find);
    MemoryContextSwitchTo(former);
}

} // namespace

// lsh_pairs(query, [id_type,] threshold, recall, bands, rows, verify, max_bucket, num_hashes,
//           shingle_size, unit, fold, bag, seed, method, other_query)
// -> (left_id, right_id, similarity)
MINHASH_FUNCTION(lsh_pairs)
{
    const bool typed = PG_NARGS() == 16;
    const int other = PG_NARGS() - 1;
    const bulk_request wanted = arg_bulk(fcinfo, typed, typed ? 6 : 5);
    ReturnSetInfo& result = start_rows(fcinfo);

    SPI_connect();
    bulk_rows& rows = *start_bulk(fcinfo, wanted);
    read_query(rows, text_to_cstring(PG_GETARG_TEXT_PP(0)));
    rows.first_count = rows.count;
    const bool crossing = !PG_ARGISNULL(other);
    if (crossing)
        read_query(rows, text_to_cstring(PG_GETARG_TEXT_PP(other)));
    end_reading(rows);
    if (rows.count > 1)
        find_pairs(rows, crossing, result);
    close_stores(rows.budget);
    SPI_finish();
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
