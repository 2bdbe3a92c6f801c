#include "pg/extension.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace minhash::pg {

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
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relation));
    return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), name);
}

const char* output_of(Oid type, Datum value)
{
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(type, &output, &is_varlena);
    return OidOutputFunctionCall(output, value);
}

} // namespace minhash::pg
