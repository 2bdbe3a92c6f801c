// Both ends of an exchange of band keys between servers. The range of all keys is divided into parts. lsh_scatter()
// packs keys into blocks, each with keys of one part. lsh_gather() reads the blocks of one part, and finds the texts
// that share a key.
//
// All entries of a block come from one place (a server or a shard). The format of a block is:
//
//   base, 8 bytes | place, 4 bytes | bytes per id, 1 byte | 3 zeros | entries, each: 5 bytes of the key, then an id
//
// Numbers are little-endian. The product key * parts has 128 bits. The upper 64 bits of the product are the number of
// the part to which the key belongs. The highest 5 bytes of the lower 64 bits are stored as the 5 bytes of the key. An
// id is stored as its difference from the base, which is the block's smallest id. Every id of a block has as many bytes
// as the largest difference needs.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/growing.h"

#include "core/sort.h"

#include <algorithm>
#include <bit>

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

struct key_entry {
    std::uint64_t key; // the bits of the key that a block stores
    std::int64_t id;
};

constexpr int block_key_bytes = 5;

// The first 16 bytes of a block.
struct block_header {
    std::uint64_t base;
    std::uint32_t place;
    std::uint32_t id_bytes;
};

static_assert(sizeof(block_header) == 16);

// Returns the part to which a key belongs, and sets `kept` to the bits of the key that a block stores.
inline std::uint64_t part_of(std::uint64_t key, int parts, std::uint64_t& kept)
{
    const auto scaled = static_cast<unsigned __int128>(key) * static_cast<unsigned>(parts);
    kept = static_cast<std::uint64_t>(scaled) >> (64 - 8 * block_key_bytes);
    return static_cast<std::uint64_t>(scaled >> 64);
}

[[noreturn]] void fail_block(std::size_t bytes)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_CORRUPTED),
            errmsg("block of band keys is damaged"),
            errdetail("It has %zu bytes.", bytes),
            errhint("Read the signatures again: drop the job, and call lsh_distributed_pairs() once more."));
}

// Makes a block, as a new varlena, from one or more entries.
bytea* make_block(int place, std::span<const key_entry> entries)
{
    Assert(!entries.empty() && place >= 0);
    const auto [least, most] = std::ranges::minmax(entries, {}, &key_entry::id);
    const auto base = static_cast<std::uint64_t>(least.id);
    const int id_bits = std::bit_width(static_cast<std::uint64_t>(most.id) - base);
    const block_header header = {base, static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(id_bits + 7) / 8};
    const std::size_t entry_bytes = block_key_bytes + header.id_bytes;
    const std::size_t bytes = VARHDRSZ + sizeof(header) + entries.size() * entry_bytes;
    bytea* const block = static_cast<bytea*>(palloc(bytes));
    SET_VARSIZE(block, bytes);
    memcpy(VARDATA(block), &header, sizeof(header));
    char* to = VARDATA(block) + sizeof(header);
    for (const key_entry& entry : entries) {
        const std::uint64_t above = static_cast<std::uint64_t>(entry.id) - base;
        memcpy(to, &entry.key, block_key_bytes);
        memcpy(to + block_key_bytes, &above, header.id_bytes);
        to += entry_bytes;
    }
    return block;
}

// A stored block, after it has been detoasted.
struct stored_block {
    block_header header;
    const char* entries;
    std::size_t count;
};

// Raises an ERROR if the block is damaged.
stored_block open_block(bytea* stored, int places)
{
    const std::size_t bytes = VARSIZE_ANY_EXHDR(stored);
    if (bytes <= sizeof(block_header))
        fail_block(bytes);
    stored_block block = {{}, VARDATA_ANY(stored) + sizeof(block_header), bytes - sizeof(block_header)};
    memcpy(&block.header, VARDATA_ANY(stored), sizeof(block_header));
    const std::size_t entry_bytes = std::size_t{block_key_bytes} + block.header.id_bytes;
    if (block.header.place >= static_cast<std::uint32_t>(places) || block.header.id_bytes > 8 ||
        block.count % entry_bytes != 0)
        fail_block(bytes);
    block.count /= entry_bytes;
    return block;
}

key_entry entry_of(const stored_block& block, std::size_t number)
{
    Assert(number < block.count);
    const std::uint32_t id_bytes = block.header.id_bytes;
    const char* const from = block.entries + number * (block_key_bytes + id_bytes);
    std::uint64_t key = 0;
    std::uint64_t above = 0;
    memcpy(&key, from, block_key_bytes);
    memcpy(&above, from + block_key_bytes, id_bytes);
    return {key, static_cast<std::int64_t>(block.header.base + above)};
}

constexpr int most_parts = 65536;

[[noreturn]] void fail_query(const char* wanted)
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("query must return %s, without NULLs", wanted),
            errhint("Only lsh_distributed_pairs() is meant to call this function."));
}

// Calls `take(values)` for each row of a query, except rows with a NULL. Call each_row_of_query() between SPI_connect()
// and SPI_finish(). Memory that `take` allocates in the current context is freed after every `at_once` rows.
template <int count, typename Take>
void each_row_of_query(const char* query, const Oid (&types)[count], long at_once, Take take)
{
    SPIParseOpenOptions options = {};
    options.read_only = true;
    const Portal portal = SPI_cursor_parse_open(nullptr, query, &options);
    const TupleDesc columns = portal->tupDesc;
    bool fits = columns != nullptr && columns->natts == count;
    for (int i = 0; fits && i < count; i++)
        fits = TupleDescAttr(columns, i)->atttypid == types[i];
    if (!fits)
        fail_query(count == 1 ? "blocks" : "ids and band keys");
    const MemoryContext memory =
        AllocSetContextCreate(CurrentMemoryContext, "minhash_lsh rows", ALLOCSET_DEFAULT_SIZES);
    for (;;) {
        SPI_cursor_fetch(portal, true, at_once);
        if (SPI_processed == 0)
            break;
        const MemoryContext former = MemoryContextSwitchTo(memory);
        for (std::uint64_t row = 0; row < SPI_processed; row++) {
            CHECK_FOR_INTERRUPTS();
            Datum values[count];
            bool nulls[count];
            heap_deform_tuple(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, values, nulls);
            if (std::ranges::count(nulls, true) == 0)
                take(values);
        }
        MemoryContextSwitchTo(former);
        MemoryContextReset(memory);
        SPI_freetuptable(SPI_tuptable);
    }
    SPI_cursor_close(portal);
    MemoryContextDelete(memory);
}

// The blocks that are being filled, one for each part.
struct open_blocks {
    key_entry* entries; // `room` entries for each part
    std::uint32_t* counts;
    std::size_t room;
};

void emit_block(const ReturnSetInfo& result, const open_blocks& blocks, std::size_t part, int place)
{
    const std::span<const key_entry> entries = {blocks.entries + part * blocks.room, blocks.counts[part]};
    bytea* const block = make_block(place, entries);
    put_row(result,
            {Int32GetDatum(static_cast<std::int32_t>(part)),
             Int32GetDatum(static_cast<std::int32_t>(entries.size())),
             PointerGetDatum(block)});
    pfree(block);
    blocks.counts[part] = 0;
}

// Two texts that share a key, and their places.
struct placed_pair {
    std::int64_t left;
    std::int64_t right;
    std::int32_t left_place;
    std::int32_t right_place;

    auto operator<=>(const placed_pair&) const = default;
};

bool is_before(const placed_pair& a, const placed_pair& b)
{
    return a.left_place != b.left_place ? a.left_place < b.left_place : a < b;
}

struct placed_entry {
    std::uint64_t key : 8 * block_key_bytes;
    std::uint64_t place : 64 - 8 * block_key_bytes;
    std::int64_t id;
};

struct gathering {
    const ReturnSetInfo* result;
    growing<placed_pair> pairs; // emitted, without duplicates, when there are most_pairs of them
    int star_above;             // if more texts than this share a key, they form a star; 0: no limit
    std::int32_t stars;         // how many stars have not been reported yet
};

constexpr std::size_t most_pairs = std::size_t{1} << 18;

void emit_pairs(gathering& call)
{
    std::ranges::sort(call.pairs, is_before);
    const placed_pair* const end = std::unique(call.pairs.begin(), call.pairs.end());
    for (const placed_pair* at = call.pairs.at; at != end;) {
        CHECK_FOR_INTERRUPTS();
        const std::int32_t place = at->left_place;
        const auto next = std::find_if<const placed_pair*>(at, end, [&](const placed_pair& pair) {
            return pair.left_place != place;
        });
        const std::span group(at, next);
        at = next;
        const auto array_of = [group](auto member) {
            return make_bigint_array(group.size(), [=](std::size_t pair) { return group[pair].*member; });
        };
        const Datum arrays[] = {array_of(&placed_pair::left),
                                array_of(&placed_pair::right),
                                array_of(&placed_pair::right_place)};
        put_row(*call.result, {Int32GetDatum(place), arrays[0], arrays[1], arrays[2], Int32GetDatum(call.stars)});
        for (const Datum array : arrays)
            pfree(DatumGetPointer(array));
        call.stars = 0;
    }
    call.pairs.count = 0;
}

void add_pair(gathering& call, const placed_entry& a, const placed_entry& b)
{
    if (a.id == b.id)
        return;
    const placed_entry& left = a.id < b.id ? a : b;
    const placed_entry& right = a.id < b.id ? b : a;
    call.pairs.add({left.id, right.id, static_cast<std::int32_t>(left.place), static_cast<std::int32_t>(right.place)});
    if (call.pairs.count == most_pairs)
        emit_pairs(call);
}

// Makes pairs from the entries of one key. The entries are sorted by id. Each entry is paired with every other entry.
// But if there are too many entries, each is paired only with the first one (a star).
void take_bucket(gathering& call, std::span<const placed_entry> bucket)
{
    const bool is_star = call.star_above > 0 && bucket.size() > static_cast<std::size_t>(call.star_above);
    call.stars += is_star;
    for (std::size_t i = 0; i + 1 < (is_star ? 2 : bucket.size()); i++) {
        CHECK_FOR_INTERRUPTS();
        for (std::size_t j = i + 1; j < bucket.size(); j++)
            add_pair(call, bucket[i], bucket[j]);
    }
}

bool is_less(const placed_entry& a, const placed_entry& b) { return a.key != b.key ? a.key < b.key : a.id < b.id; }

// Makes pairs from entries. Their keys are at least `lower` and below `upper`. The entries are first scattered into
// groups by the upper bits of their keys, so that each group fits into the cache while it is sorted.
void take_entries(gathering& call, std::span<const placed_entry> entries, std::uint64_t lower, std::uint64_t upper)
{
    const int bits = static_cast<int>(std::bit_width(entries.size() / 64));
    const int shift = std::max(0, static_cast<int>(std::bit_width(upper - lower)) - bits);
    const std::size_t groups = ((upper - lower - 1) >> shift) + 1;
    auto* const ends = static_cast<std::size_t*>(MemoryContextAllocExtended(CurrentMemoryContext,
                                                                            sizeof(std::size_t) * groups,
                                                                            MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    auto* const sorted = static_cast<placed_entry*>(
        MemoryContextAllocHuge(CurrentMemoryContext, sizeof(placed_entry) * (entries.size() + 1)));
    for (const placed_entry& entry : entries)
        ends[(entry.key - lower) >> shift]++;
    sum_counts(std::span(ends, groups));
    for (const placed_entry& entry : entries)
        sorted[ends[(entry.key - lower) >> shift]++] = entry;
    // The loop above has advanced ends[group] from the start of the group to its end.
    for (std::size_t group = 0, start = 0; group < groups; start = ends[group++]) {
        CHECK_FOR_INTERRUPTS();
        const std::span<placed_entry> members = {sorted + start, ends[group] - start};
        sort_answering(members, is_less);
        for (std::size_t i = 0, next = 0; i < members.size(); i = next) {
            while (next < members.size() && members[next].key == members[i].key)
                next++;
            take_bucket(call, members.subspan(i, next - i));
        }
    }
    pfree(sorted);
    pfree(ends);
}

} // namespace

// lsh_scatter(query, place, parts) -> (part int, entries int, block bytea)
MINHASH_FUNCTION(lsh_scatter)
{
    const int place = arg_between(fcinfo, 1, "place", 0, most_parts - 1);
    const int parts = arg_between(fcinfo, 2, "parts", 1, most_parts);
    const ReturnSetInfo& result = start_rows(fcinfo);

    SPI_connect();
    open_blocks blocks;
    blocks.room = std::clamp<std::size_t>((std::size_t{1} << 20) / parts, 64, 8192);
    blocks.entries =
        static_cast<key_entry*>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(key_entry) * blocks.room * parts));
    blocks.counts = static_cast<std::uint32_t*>(palloc0(sizeof(std::uint32_t) * parts));
    const char* const query = text_to_cstring(PG_GETARG_TEXT_PP(0));
    each_row_of_query(query, {INT8OID, INT8ARRAYOID}, 1000, [&](const Datum* values) {
        const std::int64_t id = DatumGetInt64(values[0]);
        ArrayType* const keys = DatumGetArrayTypeP(values[1]);
        if (ARR_HASNULL(keys))
            fail_query("ids and band keys");
        for (const std::uint64_t key : values_of<std::uint64_t>(keys)) {
            std::uint64_t kept;
            const std::uint64_t part = part_of(key, parts, kept);
            blocks.entries[part * blocks.room + blocks.counts[part]] = {kept, id};
            if (++blocks.counts[part] == blocks.room)
                emit_block(result, blocks, part, place);
        }
    });
    for (int part = 0; part < parts; part++) {
        if (blocks.counts[part] > 0)
            emit_block(result, blocks, part, place);
    }
    SPI_finish();
    return static_cast<Datum>(0);
}

// lsh_gather(query, places, star_above) -> (place int, left_ids bigint[], right_ids bigint[], right_places bigint[],
// stars int)
MINHASH_FUNCTION(lsh_gather)
{
    refuse_null(fcinfo, 0);
    refuse_null(fcinfo, 1);
    const int places = arg_between(fcinfo, 1, "places", 1, most_parts);
    const ReturnSetInfo& result = start_rows(fcinfo);

    SPI_connect();
    const char* const query = text_to_cstring(PG_GETARG_TEXT_PP(0));
    gathering call = {};
    call.result = &result;
    call.star_above = PG_ARGISNULL(2) ? 0 : arg_between(fcinfo, 2, "star_above", 1, INT_MAX);
    call.pairs.start(1024);
    // Two copies of this many entries fit into maintenance_work_mem. If there are more entries, only those in the lower
    // half of the range of keys are kept, and the range is halved again as often as needed. Then the query is run again
    // for the remaining keys.
    const std::size_t most = static_cast<std::size_t>(maintenance_work_mem) * 1024 / (2 * sizeof(placed_entry));
    growing<placed_entry> entries;
    entries.start(1024);
    constexpr std::uint64_t end = std::uint64_t{1} << (8 * block_key_bytes);
    for (std::uint64_t lower = 0, upper = end; lower < end; lower = upper, upper = end) {
        entries.count = 0;
        each_row_of_query(query, {BYTEAOID}, 100, [&](const Datum* values) {
            bytea* const stored = DatumGetByteaPP(values[0]);
            const stored_block block = open_block(stored, places);
            for (std::size_t i = 0; i < block.count; i++) {
                const key_entry entry = entry_of(block, i);
                if (entry.key < lower || entry.key >= upper)
                    continue;
                while (entries.count >= most && upper - lower > 1) {
                    upper = lower + (upper - lower) / 2;
                    const auto is_above = [&](const placed_entry& e) { return e.key >= upper; };
                    const auto* const end = std::remove_if(entries.begin(), entries.end(), is_above);
                    entries.count = static_cast<std::size_t>(end - entries.at);
                }
                if (entry.key < upper)
                    entries.add({entry.key, block.header.place, entry.id});
            }
            if (stored != reinterpret_cast<bytea*>(DatumGetPointer(values[0])))
                pfree(stored);
        });
        take_entries(call, entries, lower, upper);
    }
    emit_pairs(call);
    SPI_finish();
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
