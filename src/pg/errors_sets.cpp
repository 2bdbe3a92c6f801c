// What users are told by functions of sets that are given.
#include "pg/errors.h"

namespace minhash::pg {

void fail_null_aggregated(int argument)
{
    ereport(ERROR,
            errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
            errmsg("argument %d of %s() must not be NULL", argument, "minhash_agg"),
            errhint("Only the values that are aggregated may be NULL; they are left out."));
    pg_unreachable();
}

void fail_changing_scheme(const scheme& a, const scheme& b)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("arguments of %s() must be the same in all rows of a group", "minhash_agg"),
            errdetail("One row asks for %s, another for %s.", describe(a), describe(b)),
            errhint("Add to GROUP BY what they depend on."));
    pg_unreachable();
}

void fail_no_order(Oid type)
{
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_FUNCTION),
            errmsg("sets of type %s cannot be compared", format_type_be(type)),
            errdetail("The type has no order (default btree operator class)."),
            errhint("Cast the arrays to a type that has one, such as text[]."));
    pg_unreachable();
}

} // namespace minhash::pg
