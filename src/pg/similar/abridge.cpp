// A signature in a query has about a thousand characters, so a plan with one would be hard to read. EXPLAIN shows a
// constant by the output function of its type. The type minhash_abridged has the same bytes as minhash_signature, but
// its output is short. So when a plan has been prepared to be explained, constant arguments get that type. By then,
// nothing depends on the types any more: indexes have been chosen, expressions have been compiled, and the text of
// queries for other servers has been written. (The planner's support functions could change the types, but then the
// planner of Citus, which writes text from the planned query, would send abridged signatures to its workers.)
#include "pg/extension.h"
#include "pg/similar/abridge.h"

#include <algorithm>

extern "C" {
#include "access/transam.h"
#include "executor/executor.h"
#include "nodes/plannodes.h"
#include "utils/lsyscache.h"
}

namespace minhash::pg {

namespace {

ExecutorStart_hook_type next_hook; // the hook that another module set before this one, or null

// The type minhash_abridged beside this type, if it is minhash_signature; otherwise InvalidOid.
Oid abridged_type(Oid type)
{
    constexpr const char* name = "minhash_abridged";
    const Oid schema = schema_of_own_type(type, "minhash_signature");
    const Oid abridged = OidIsValid(schema) ? type_in(schema, name) : InvalidOid;
    return OidIsValid(schema_of_own_type(abridged, name)) ? abridged : InvalidOid;
}

// Abridges the arguments of a function or operator that are declared as signatures: it does not ask for their types. A
// plan may be executed again without EXPLAIN, so anything else that a constant can be a part of keeps its type.
void abridge_arguments(Oid function, List* arguments)
{
    Oid* declared;
    int count;
    if (function < FirstNormalObjectId)
        return;
    get_func_signature(function, &declared, &count);
    for (int at = 0; at < std::min(count, list_length(arguments)); at++) {
        Node* const argument = static_cast<Node*>(list_nth(arguments, at));
        Const& value = *reinterpret_cast<Const*>(argument);
        if (!IsA(argument, Const) || value.constisnull || value.consttype != declared[at])
            continue;
        const Oid type = abridged_type(value.consttype);
        if (OidIsValid(type)) {
            value.consttype = type;
            value.consttypmod = -1;
        }
    }
    pfree(declared);
}

bool abridge(Node* expression, void* nothing)
{
    if (expression == nullptr)
        return false;
    if (IsA(expression, OpExpr))
        abridge_arguments(reinterpret_cast<OpExpr*>(expression)->opfuncid, reinterpret_cast<OpExpr*>(expression)->args);
    else if (IsA(expression, FuncExpr))
        abridge_arguments(reinterpret_cast<FuncExpr*>(expression)->funcid,
                          reinterpret_cast<FuncExpr*>(expression)->args);
    return walk_expression(expression, abridge, nothing);
}

void abridge_all(List* expressions) { abridge(reinterpret_cast<Node*>(expressions), nullptr); }

// The conditions of a scan or join, besides those that every node can have, in the form in which EXPLAIN shows them.
void abridge_conditions(Plan* plan)
{
    switch (nodeTag(plan)) {
    case T_IndexScan:
        abridge_all(reinterpret_cast<IndexScan*>(plan)->indexqualorig);
        abridge_all(reinterpret_cast<IndexScan*>(plan)->indexorderbyorig);
        break;
    case T_IndexOnlyScan:
        abridge_all(reinterpret_cast<IndexOnlyScan*>(plan)->indexqual);
        abridge_all(reinterpret_cast<IndexOnlyScan*>(plan)->indexorderby);
        break;
    case T_BitmapIndexScan:
        abridge_all(reinterpret_cast<BitmapIndexScan*>(plan)->indexqualorig);
        break;
    case T_BitmapHeapScan:
        abridge_all(reinterpret_cast<BitmapHeapScan*>(plan)->bitmapqualorig);
        break;
    case T_HashJoin:
        abridge_all(reinterpret_cast<HashJoin*>(plan)->hashclauses);
        abridge_all(reinterpret_cast<Join*>(plan)->joinqual);
        break;
    case T_MergeJoin:
        abridge_all(reinterpret_cast<MergeJoin*>(plan)->mergeclauses);
        abridge_all(reinterpret_cast<Join*>(plan)->joinqual);
        break;
    case T_NestLoop:
        abridge_all(reinterpret_cast<Join*>(plan)->joinqual);
        break;
    case T_Result:
        abridge(reinterpret_cast<Result*>(plan)->resconstantqual, nullptr);
        break;
    default:
        break;
    }
}

bool abridge_plan(PlanState* state, void* nothing)
{
    Plan* const plan = state->plan;
    abridge_all(plan->targetlist);
    abridge_all(plan->qual);
    abridge_conditions(plan);
    return walk_plan_states(state, abridge_plan, nothing);
}

void start(QueryDesc* query, int flags)
{
    if (next_hook != nullptr)
        next_hook(query, flags);
    else
        standard_ExecutorStart(query, flags);
    const bool is_explained = (flags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || query->instrument_options != 0;
    if (is_explained && query->planstate != nullptr)
        abridge_plan(query->planstate, nullptr);
}

} // namespace

void abridge_in_explain()
{
    next_hook = ExecutorStart_hook;
    ExecutorStart_hook = start;
}

} // namespace minhash::pg
