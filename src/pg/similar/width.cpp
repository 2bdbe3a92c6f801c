#include "pg/extension.h"
#include "pg/similar/width.h"

#include "core/codec.h"

extern "C" {
#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_statistic.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace minhash::pg {

namespace {

get_attavgwidth_hook_type next_hook; // the hook that another module set before this one, or null

// Whether a column has signatures. Sets `num_hashes` to what its type modifier says: the number of hashes, or -1.
bool is_signature(Oid relation, AttrNumber column, int& num_hashes)
{
    const HeapTuple attribute = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(column));
    if (!HeapTupleIsValid(attribute))
        return false;
    const auto* const form = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(attribute));
    const Oid type = form->atttypid;
    num_hashes = form->atttypmod;
    ReleaseSysCache(attribute);
    return OidIsValid(schema_of_own_type(type, "minhash_signature"));
}

std::int32_t width_of(Oid relation, AttrNumber column)
{
    const std::int32_t told = next_hook != nullptr ? next_hook(relation, column) : 0;
    int num_hashes;
    if (told > 0 ||
        SearchSysCacheExists3(STATRELATTINH, ObjectIdGetDatum(relation), Int16GetDatum(column), BoolGetDatum(false)) ||
        !is_signature(relation, column, num_hashes))
        return told;
    const std::size_t width =
        VARHDRSZ + stored_bytes(static_cast<std::size_t>(num_hashes > 0 ? num_hashes : default_num_hashes));
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
