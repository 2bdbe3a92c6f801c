#include "pg/glue.h"

#include "pg/similar/width.h"

#include "core/codec.h"

extern "C" {
#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace minhash::pg {

namespace {

get_attavgwidth_hook_type next_hook; // the hook that another module set before this one, or null

// The type modifier of a column of signatures: the number of hashes, or -1. Nothing if the column has another type. A
// type of the same name that is not ours gets a wrong width, which does no harm.
bool is_signature(Oid relation, AttrNumber column, int& num_hashes)
{
    const HeapTuple attribute = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(column));
    if (!HeapTupleIsValid(attribute))
        return false;
    const auto* const form = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(attribute));
    const Oid type = form->atttypid;
    num_hashes = form->atttypmod;
    ReleaseSysCache(attribute);

    const HeapTuple found = type < FirstNormalObjectId ? nullptr : SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
    if (!HeapTupleIsValid(found))
        return false;
    const bool is_ours =
        strcmp(NameStr(reinterpret_cast<Form_pg_type>(GETSTRUCT(found))->typname), "minhash_signature") == 0;
    ReleaseSysCache(found);
    return is_ours;
}

std::int32_t width_of(Oid relation, AttrNumber column)
{
    constexpr int likely_num_hashes = 128;
    const std::int32_t told = next_hook != nullptr ? next_hook(relation, column) : 0;
    int num_hashes;
    if (told > 0 ||
        SearchSysCacheExists3(STATRELATTINH, ObjectIdGetDatum(relation), Int16GetDatum(column), BoolGetDatum(false)) ||
        !is_signature(relation, column, num_hashes))
        return told;
    const std::size_t width =
        VARHDRSZ + stored_bytes(static_cast<std::size_t>(num_hashes > 0 ? num_hashes : likely_num_hashes));
    // Wider ones are stored outside of their rows.
    return width <= TOAST_TUPLE_THRESHOLD ? static_cast<std::int32_t>(width) : TOAST_POINTER_SIZE;
}

} // namespace

void tell_widths()
{
    next_hook = get_attavgwidth_hook;
    get_attavgwidth_hook = width_of;
}

} // namespace minhash::pg
