#include "pg/extension.h"

extern "C" {
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

Oid type_in(Oid schema, const char* name)
{
    return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name), ObjectIdGetDatum(schema));
}

Oid schema_of_own_type(Oid type, const char* name)
{
    const HeapTuple found = type < FirstNormalObjectId ? nullptr : SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
    if (!HeapTupleIsValid(found))
        return InvalidOid;
    const auto* const form = reinterpret_cast<Form_pg_type>(GETSTRUCT(found));
    const bool is_own = form->typtype == TYPTYPE_BASE && strcmp(NameStr(form->typname), name) == 0;
    const Oid schema = is_own ? form->typnamespace : InvalidOid;
    ReleaseSysCache(found);
    return schema;
}

Oid signature_type(Oid function) { return type_in(get_func_namespace(function), "minhash_signature"); }

bool is_text(Oid type) { return IsBinaryCoercible(getBaseType(type), TEXTOID); }

void fail_no_relation(Oid relation)
{
    ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relation));
}

const char* quoted_relation(Oid relation)
{
    const char* const name = get_rel_name(relation);
    if (name == nullptr)
        fail_no_relation(relation);
    return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), name);
}

const char* output_of(Oid type, Datum value)
{
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(type, &output, &is_varlena);
    return OidOutputFunctionCall(output, value);
}

void require_order(Oid type, const char* detail, const char* hint)
{
    if (!OidIsValid(lookup_type_cache(type, TYPECACHE_LT_OPR)->lt_opr))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an ordering operator for type %s", format_type_be(type)),
                errdetail("%s", detail),
                hint != nullptr ? errhint("%s", hint) : 0);
}

SortSupportData order_of(Oid type, Oid collation)
{
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_LT_OPR);
    SortSupportData order = {};
    order.ssup_cxt = CurrentMemoryContext;
    order.ssup_collation = OidIsValid(entry->typcollation) && OidIsValid(collation) ? collation : entry->typcollation;
    PrepareSortSupportFromOrderingOp(entry->lt_opr, &order);
    return order;
}

} // namespace minhash::pg
