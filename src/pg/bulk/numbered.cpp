#include "pg/bulk/numbered.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

bool has_number(numbered_values& known, Datum value, std::uint32_t number)
{
    if (known.plain)
        return value == fetch_plain(known.values, number);
    bool null;
    const Datum other = fetch_datum(known.values, number, null);
    return DatumGetBool(FunctionCall2Coll(&known.equal, known.collation, value, other));
}

} // namespace

void open_numbered(numbered_values& fresh, bulk_host& host, bulk::memory_budget& budget, Oid type)
{
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_HASH_EXTENDED_PROC);
    if (!OidIsValid(entry->hash_extended_proc) || !OidIsValid(entry->eq_opr))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an extended hash function for type %s", format_type_be(type)),
                errhint("Cast the column to text."));
    fresh.plain = type == INT8OID;
    fresh.collation = entry->typcollation;
    fmgr_info_cxt(entry->hash_extended_proc, &fresh.hash, host.memory);
    fmgr_info_cxt(get_opcode(entry->eq_opr), &fresh.equal, host.memory);
    fresh.values = open_datums(budget, type, false);
    fresh.numbers = bulk::start_numbering(host);
}

std::uint32_t hash_of(numbered_values& known, Datum value)
{
    if (known.plain)
        return static_cast<std::uint32_t>(place_of(DatumGetUInt64(value)));
    const auto secret = UInt64GetDatum(probing.flip);
    return static_cast<std::uint32_t>(DatumGetUInt64(FunctionCall2Coll(&known.hash, known.collation, value, secret)));
}

std::uint32_t number_of(numbered_values& known, Datum value, std::uint32_t hash)
{
    const std::uint32_t count = known.numbers.count;
    const std::uint32_t number =
        bulk::number_of(known.numbers, hash, [&](std::uint32_t other) { return has_number(known, value, other); });
    if (number == bulk::most_rows)
        ereport(ERROR,
                errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("query returns too many different values"),
                errdetail("There can be at most %u.", bulk::most_rows));
    if (number == count)
        append_datum(known.values, value, false);
    return number;
}

} // namespace minhash::pg
