// Planner support for minhash_similar(): estimates how many rows the function selects, and lets an index on either
// signature serve the function, as it serves the operator %. The index condition of minhash_similar(a, b, threshold) is
//
//     indexed % _minhash_query(other, threshold)
//
// where `indexed` is a or b, whichever is indexed, and `other` is the other one. Any index whose operator family has
// this operator can serve the condition. For _minhash_roughly_similar(), the query is made by _minhash_rough_query().
// (PostgreSQL's manual, Function Optimization Information.)
#include "pg/arguments.h"
#include "pg/settings.h"
#include "pg/similar/gin.h"
#include "pg/similar/selectivity.h"

#include "core/tuning.h"

extern "C" {
#include "catalog/pg_am.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace minhash::pg {

namespace {

// The number of hashes in a column or, if neither the column nor the query says it, the default.
int expected_num_hashes(Node* indexed, Node* other)
{
    if (exprTypmod(indexed) >= min_num_hashes)
        return exprTypmod(indexed);
    if (!IsA(other, Const))
        return default_num_hashes;
    return signature_of(reinterpret_cast<const Const*>(other)->constvalue).scheme.num_hashes;
}

// Whether an index finds enough of the rows at the threshold; true if the threshold is not known. A GIN index is made
// for one threshold; other access methods search with the query's threshold.
bool finds_enough(const SupportRequestIndexCondition& request, Node* threshold, int num_hashes)
{
    if (request.index->relam != GIN_AM_OID || !IsA(threshold, Const))
        return true;
    const double value = DatumGetFloat8(reinterpret_cast<const Const*>(threshold)->constvalue);
    const bytea* const options =
        request.index->opclassoptions == nullptr ? nullptr : request.index->opclassoptions[request.indexcol];
    const banding banding = gin_banding(options, num_hashes);
    return band_probability(value, banding.bands, banding.rows) >= recall_notice;
}

Oid query_function(const similar_types& types, Oid schema, Oid similar)
{
    const Oid arguments[] = {types.signature, FLOAT8OID};
    const bool is_rough = strcmp(get_func_name(similar), "_minhash_roughly_similar") == 0;
    return GetSysCacheOid3(PROCNAMEARGSNSP,
                           Anum_pg_proc_oid,
                           CStringGetDatum(is_rough ? "_minhash_rough_query" : "_minhash_query"),
                           PointerGetDatum(buildoidvector(arguments, 2)),
                           ObjectIdGetDatum(schema));
}

List* index_condition(SupportRequestIndexCondition& request, Oid schema)
{
    if (!is_funcclause(request.node) || request.indexarg > 1)
        return NIL;
    List* const arguments = reinterpret_cast<FuncExpr*>(request.node)->args;
    Expr* const indexed = static_cast<Expr*>(list_nth(arguments, request.indexarg));
    Expr* const other = static_cast<Expr*>(list_nth(arguments, 1 - request.indexarg));
    Expr* const threshold = static_cast<Expr*>(lthird(arguments));
    if (!finds_enough(request,
                      reinterpret_cast<Node*>(threshold),
                      expected_num_hashes(reinterpret_cast<Node*>(indexed), reinterpret_cast<Node*>(other))))
        return NIL;
    const similar_types types = similar_types_in(schema);
    FuncExpr* const made = makeFuncExpr(query_function(types, schema, request.funcid),
                                        types.query,
                                        list_make2(other, threshold),
                                        InvalidOid,
                                        InvalidOid,
                                        COERCE_EXPLICIT_CALL);
    // If the query is constant, evaluate it now, so that EXPLAIN shows the start of its text form.
    Expr* const right = reinterpret_cast<Expr*>(eval_const_expressions(request.root, reinterpret_cast<Node*>(made)));
    const Oid similar = GetSysCacheOid4(OPERNAMENSP,
                                        Anum_pg_operator_oid,
                                        CStringGetDatum("%"),
                                        ObjectIdGetDatum(types.signature),
                                        ObjectIdGetDatum(types.query),
                                        ObjectIdGetDatum(schema));
    if (!op_in_opfamily(similar, request.opfamily) ||
        !is_pseudo_constant_for_index(request.root, reinterpret_cast<Node*>(right), request.index))
        return NIL;
    request.lossy = false;
    return list_make1(make_opclause(similar, BOOLOID, false, indexed, right, InvalidOid, InvalidOid));
}

Node* selectivity(SupportRequestSelectivity& request, Oid schema)
{
    List* const sides = list_make2(linitial(request.args), lsecond(request.args));
    const similar_question question = {similar_types_in(schema),
                                       request.funcid,
                                       expected_threshold(request.root, static_cast<Node*>(lthird(request.args)))};
    request.selectivity = request.is_join ? similar_pairs(request.root, sides, request.sjinfo, question)
                                          : similar_rows(request.root, sides, request.varRelid, question);
    return reinterpret_cast<Node*>(&request);
}

} // namespace

// minhash_similar_support(request) -> answer, or null
MINHASH_FUNCTION(minhash_similar_support)
{
    Node* const request = arg_internal<Node>(fcinfo, 0);
    const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
    if (IsA(request, SupportRequestIndexCondition))
        PG_RETURN_POINTER(index_condition(*reinterpret_cast<SupportRequestIndexCondition*>(request), schema));
    if (IsA(request, SupportRequestSelectivity))
        PG_RETURN_POINTER(selectivity(*reinterpret_cast<SupportRequestSelectivity*>(request), schema));
    PG_RETURN_POINTER(NULL); // PostgreSQL 19 compares the result with NULL
}

} // namespace minhash::pg
