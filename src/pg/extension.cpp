#include "pg/extension.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

const char* extension_schema(FunctionCallInfo fcinfo)
{
    return quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
}

Oid signature_type(Oid function)
{
    return GetSysCacheOid2(TYPENAMENSP,
                           Anum_pg_type_oid,
                           CStringGetDatum("minhash_signature"),
                           ObjectIdGetDatum(get_func_namespace(function)));
}

const char* quoted_relation(Oid relation)
{
    const char* const name = get_rel_name(relation);
    if (name == nullptr)
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_TABLE),
                errmsg("relation with OID %u does not exist", relation));
    return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), name);
}

const char* quoted_column(Oid relation, AttrNumber column)
{
    return quote_identifier(get_attname(relation, column, false));
}

const char* equality_of(Oid type)
{
    const Oid equality = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
    const HeapTuple found = SearchSysCache1(OPEROID, ObjectIdGetDatum(equality));
    if (!HeapTupleIsValid(found))
        elog(ERROR, "cache lookup failed for operator %u", equality);
    const Form_pg_operator form = reinterpret_cast<Form_pg_operator>(GETSTRUCT(found));
    const char* const sql = psprintf(" OPERATOR(%s.%s) ",
                                     quote_identifier(get_namespace_name(form->oprnamespace)),
                                     NameStr(form->oprname));
    ReleaseSysCache(found);
    return sql;
}

const char* output_of(Oid type, Datum value)
{
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(type, &output, &is_varlena);
    return OidOutputFunctionCall(output, value);
}

} // namespace minhash::pg
