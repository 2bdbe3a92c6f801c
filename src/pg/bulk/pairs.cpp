// All near-duplicate pairs of a query's rows, or across two queries.
//
// Candidates of all bands are written down by the row that will verify them, in ranges of rows;
// then each range is put in order, and each row compares itself once with what it met in any band,
// so that signatures are read nearly in their order. A small bucket is written down as its pairs, a
// large one once, with a reference for each of its rows: what is written grows with the rows, not
// with the pairs.
#include "pg/bulk/candidates.h"
#include "pg/errors.h"

#include <algorithm>

namespace minhash::pg {

namespace {

// Rows of the largest bucket that is written as pairs.
constexpr std::size_t small_bucket = 32;

// Marks the number of a large bucket where a row's number could be. (There are no more rows.)
constexpr std::uint32_t bucket_mark = most_rows + 1;

// Where the rows of a large bucket are.
struct large_bucket {
    std::uint64_t offset;
    std::uint64_t bytes;
};

struct pair_finder {
    bulk_rows* rows;
    twins same;
    std::uint32_t* rights; // across two queries, the first row of the second one among each
                           // leader's rows, or no_row; else null
    int range_bits;        // rows per range, as a power of two
    std::size_t range_count;
    byte_store* ranges; // of candidates: the row that verifies them in the upper half
    byte_store large_buckets;
    byte_store large_rows;
    std::uint32_t large_count;

    verifier check;
    std::uint32_t* met; // for each row, the last one that met it
    void* buffer;       // a piece of large_rows
    ReturnSetInfo* result;
    MemoryContext row_memory;
    FmgrInfo less; // of ids
    Oid collation;
    bool plain_ids; // of type bigint
};

// Whether a leader has rows of the first query, and of the second one.
bool is_left(const pair_finder& find, std::uint32_t row)
{
    return find.rights == nullptr || row < find.rows->first_count;
}

bool is_right(const pair_finder& find, std::uint32_t row)
{
    return find.rights == nullptr || find.rights[row] != no_row;
}

// Whether a left row verifies a right one that it meets: of two that are both, the first does.
bool verifies(const pair_finder& find, std::uint32_t left, std::uint32_t right)
{
    return left < right || (left > right && !(is_right(find, left) && is_left(find, right)));
}

void note(pair_finder& find, std::uint32_t row, std::uint32_t met)
{
    const std::uint64_t candidate = std::uint64_t{row} << 32 | met;
    append(find.ranges[row >> find.range_bits], &candidate, sizeof(candidate));
}

void note_candidates(pair_finder& find, std::span<const std::uint32_t> bucket)
{
    CHECK_FOR_INTERRUPTS();
    if (bucket.size() <= small_bucket) {
        for (const std::uint32_t left : bucket)
            for (const std::uint32_t right : bucket)
                if (is_left(find, left) && is_right(find, right) && verifies(find, left, right))
                    note(find, left, right);
        return;
    }
    const std::uint64_t start = find.large_rows.size;
    for (const std::uint32_t row : bucket)
        if (is_right(find, row))
            append(find.large_rows, &row, sizeof(row));
    const large_bucket at = {start, find.large_rows.size - start};
    if (at.bytes == 0)
        return;
    append(find.large_buckets, &at, sizeof(at));
    for (const std::uint32_t row : bucket)
        if (is_left(find, row))
            note(find, row, bucket_mark | find.large_count);
    find.large_count++;
}

void emit(pair_finder& find, std::uint32_t a, std::uint32_t b, double similarity)
{
    CHECK_FOR_INTERRUPTS();
    if (!find.plain_ids)
        MemoryContextReset(find.row_memory);
    bool null;
    Datum ids[] = {fetch_datum(find.rows->ids, a, null), fetch_datum(find.rows->ids, b, null)};
    const auto is_less = [&find](Datum x, Datum y) {
        return find.plain_ids ? DatumGetInt64(x) < DatumGetInt64(y)
                              : DatumGetBool(FunctionCall2Coll(&find.less, find.collation, x, y));
    };
    // Across two queries the left one is the first's; else the smaller.
    if (find.rights == nullptr) {
        if (is_less(ids[1], ids[0]))
            std::swap(ids[0], ids[1]);
        else if (!is_less(ids[0], ids[1]))
            return; // two rows of one id
    }
    Datum values[] = {ids[0], ids[1], Float8GetDatum(similarity)};
    bool nulls[] = {false, false, false};
    tuplestore_putvalues(find.result->setResult, find.result->setDesc, values, nulls);
}

// The pairs of a leader's rows of the first query with another's of the second one. (The first
// query's rows come first.)
void emit_across(pair_finder& find, std::uint32_t left, std::uint32_t right, double similarity)
{
    const std::uint32_t first = find.rights[right];
    if (first == no_row)
        return;
    for (std::uint32_t a = left; a < find.rows->first_count; a = find.same.next[a])
        for (std::uint32_t b = first; b != no_row; b = find.same.next[b])
            emit(find, a, b, similarity);
}

void emit_all(pair_finder& find, std::uint32_t left, std::uint32_t right, double similarity)
{
    for (std::uint32_t a = left; a != no_row; a = find.same.next[a])
        for (std::uint32_t b = right; b != no_row; b = find.same.next[b])
            emit(find, a, b, similarity);
}

// The pairs among the rows that a leader stands for.
void emit_twins(pair_finder& find, std::uint32_t leader)
{
    if (find.rights != nullptr) {
        emit_across(find, leader, leader, 1);
        return;
    }
    for (std::uint32_t a = leader; a != no_row; a = find.same.next[a])
        for (std::uint32_t b = find.same.next[a]; b != no_row; b = find.same.next[b])
            emit(find, a, b, 1);
}

// Verifies a candidate, once.
void meet(pair_finder& find, std::uint32_t a, std::uint32_t b)
{
    if (find.met[b] == a)
        return;
    find.met[b] = a;
    CHECK_FOR_INTERRUPTS();
    const double similarity = verify(find.check, a, b);
    if (similarity < 0)
        return;
    if (find.rights == nullptr) {
        emit_all(find, a, b, similarity);
    } else {
        emit_across(find, a, b, similarity);
        emit_across(find, b, a, similarity);
    }
}

void meet_bucket(pair_finder& find, std::uint32_t row, std::uint32_t number)
{
    large_bucket copy;
    const large_bucket at = *static_cast<const large_bucket*>(
        fetch(find.large_buckets, number * sizeof(copy), sizeof(copy), &copy));
    for (std::uint64_t offset = at.offset; offset < at.offset + at.bytes;) {
        CHECK_FOR_INTERRUPTS();
        const void* piece;
        const std::size_t bytes =
            std::min<std::uint64_t>(fetch_piece(find.large_rows, offset, find.buffer, piece),
                                    at.offset + at.bytes - offset);
        const std::uint32_t* const rows = static_cast<const std::uint32_t*>(piece);
        for (std::size_t i = 0; i < bytes / sizeof(std::uint32_t); i++)
            if (verifies(find, row, rows[i]))
                meet(find, row, rows[i]);
        offset += bytes;
    }
}

// Verifies the candidates of one row, which come in any order and more than once.
void verify_row(pair_finder& find, std::uint32_t row, std::span<std::uint32_t> candidates)
{
    std::sort(candidates.begin(), candidates.end());
    for (const std::uint32_t candidate : candidates) {
        if (candidate < bucket_mark)
            meet(find, row, candidate);
        else
            meet_bucket(find, row, candidate - bucket_mark);
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

void verify_range(pair_finder& find, byte_store& range, range_reader& reader, progress& verifying)
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
            for (std::uint32_t row = from; row < to; row++) {
                report(verifying, reader.first + row);
                verify_row(find,
                           reader.first + row,
                           {reader.others + (reader.starts[row] - base),
                            reader.starts[row + 1] - reader.starts[row]});
            }
        }
        from = to;
    }
}

void start_ranges(pair_finder& find)
{
    constexpr std::size_t most_ranges = 256;
    bulk_rows& rows = *find.rows;
    find.range_bits = 12;
    while ((rows.count >> find.range_bits) >= most_ranges)
        find.range_bits++;
    find.range_count = (rows.count >> find.range_bits) + 1;
    find.ranges = static_cast<byte_store*>(
        MemoryContextAlloc(rows.memory, find.range_count * sizeof(byte_store)));
    const std::size_t chunk = chunk_for(rows.budget, find.range_count, 32 * 1024);
    for (std::size_t i = 0; i < find.range_count; i++)
        open_store(find.ranges[i], rows.budget, chunk);
    open_store(find.large_buckets, rows.budget, chunk);
    open_store(find.large_rows, rows.budget, chunk);
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
    find.buffer = MemoryContextAlloc(rows.memory, find.large_rows.chunk_bytes);
    find.met = static_cast<std::uint32_t*>(
        MemoryContextAllocHuge(rows.memory, rows.count * sizeof(std::uint32_t)));
    std::fill_n(find.met, rows.count, no_row);
    progress verifying = start_phase("verifying candidates of rows", rows.count);
    for (std::size_t i = 0; i < find.range_count; i++) {
        reader.first = static_cast<std::uint32_t>(i << find.range_bits);
        reader.rows = static_cast<std::uint32_t>(
            std::min<std::size_t>(range_rows, rows.count - reader.first));
        verify_range(find, find.ranges[i], reader, verifying);
        close_store(find.ranges[i]);
    }
}

void find_rights(pair_finder& find)
{
    const bulk_rows& rows = *find.rows;
    find.rights = static_cast<std::uint32_t*>(
        MemoryContextAllocHuge(rows.memory, rows.count * sizeof(std::uint32_t)));
    std::fill_n(find.rights, rows.count, no_row);
    for (std::uint32_t row = rows.count; row-- > rows.first_count;)
        find.rights[find.same.leader[row]] = row;
}

void find_pairs(bulk_rows& rows, bool crossing, ReturnSetInfo& result)
{
    const TypeCacheEntry* const type = lookup_type_cache(rows.ids.type, TYPECACHE_LT_OPR);
    // Its stores are closed with all others.
    pair_finder& find = *allocate<pair_finder>(rows.memory);
    find = {};
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
        find_rights(find);
    start_ranges(find);
    for (int band = 0; band < rows.shape.bands; band++) {
        walk_band(walk, band, [&find](std::span<const std::uint32_t> bucket) {
            note_candidates(find, bucket);
        });
        close_store(rows.keys[band]);
    }
    if (walk.large_buckets > 0)
        tell_large_buckets(walk.large_buckets, rows.wanted.max_bucket);
    end_walk(walk);

    const MemoryContext former = MemoryContextSwitchTo(find.row_memory);
    for (std::uint32_t row = 0; row < rows.count; row++)
        if (find.same.leader[row] == row && find.same.next[row] != no_row)
            emit_twins(find, row);
    verify_ranges(find);
    MemoryContextSwitchTo(former);
}

// -> (left_id, right_id, similarity)
Datum return_pairs(const bulk_call& call)
{
    enum { arg_other_query = arg_own };

    const FunctionCallInfo fcinfo = call.fcinfo;
    const int other = position_of(call, arg_other_query);
    const bulk_request wanted = arg_bulk(call);
    ReturnSetInfo& result = start_rows(fcinfo);

    SPI_connect();
    bulk_rows& rows = *start_bulk(fcinfo, wanted);
    read_query(rows, text_to_cstring(PG_GETARG_TEXT_PP(arg_query)));
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

} // namespace

// lsh_pairs(query, threshold, recall, bands, rows, verify, max_bucket, num_hashes, shingle_size,
//           unit, fold, bag, seed, method, other_query)
MINHASH_FUNCTION(lsh_pairs)
{
    return return_pairs({fcinfo, false});
}

// lsh_pairs(query, anyelement, threshold, ...)
MINHASH_FUNCTION(lsh_pairs_typed)
{
    return return_pairs({fcinfo, true});
}

} // namespace minhash::pg
