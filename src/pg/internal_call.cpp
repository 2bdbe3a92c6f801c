#include "pg/internal_call.h"

#include <algorithm>

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
}

namespace minhash::pg {

namespace {

bool is_inside = false;         // of a call: only the outermost one changes the context of errors
bool has_users_context = false; // the context of the error that is being thrown is the user's

Oid internal_of(Oid function)
{
    const HeapTuple found = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(found))
        elog(ERROR, "cache lookup failed for function %u", function);
    auto* const form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(found));
    const Oid internal = GetSysCacheOid3(PROCNAMEARGSNSP,
                                         Anum_pg_proc_oid,
                                         CStringGetDatum(psprintf("_%s", NameStr(form->proname))),
                                         PointerGetDatum(&form->proargtypes),
                                         ObjectIdGetDatum(form->pronamespace));
    ReleaseSysCache(found);
    return internal;
}

Datum invoke(Oid called, FunctionCallInfo fcinfo)
{
    FmgrInfo function;
    fmgr_info(called, &function);
    LOCAL_FCINFO(call, FUNC_MAX_ARGS);
    InitFunctionCallInfoData(*call, &function, fcinfo->nargs, InvalidOid, fcinfo->context, nullptr);
    std::copy(fcinfo->args, fcinfo->args + fcinfo->nargs, call->args);
    const Datum result = FunctionCallInvoke(call);
    fcinfo->isnull = call->isnull;
    return result;
}

} // namespace

Datum call_internal(FunctionCallInfo fcinfo)
{
    const Oid called = internal_of(fcinfo->flinfo->fn_oid);
    if (is_inside)
        return invoke(called, fcinfo);
    const MemoryContext memory = CurrentMemoryContext;
    volatile Datum result = 0;
    PG_TRY();
    {
        is_inside = true;
        has_users_context = false;
        result = invoke(called, fcinfo);
        is_inside = false;
    }
    PG_CATCH();
    {
        is_inside = false;
        MemoryContextSwitchTo(memory);
        ErrorData* const error = CopyErrorData();
        FlushErrorState();
        if (!has_users_context) {
            error->context = nullptr;
            error->internalquery = nullptr;
            error->internalpos = 0;
        }
        ThrowErrorData(error);
    }
    PG_END_TRY();
    return result;
}

void keep_context(bool wanted) { has_users_context = wanted; }

} // namespace minhash::pg
