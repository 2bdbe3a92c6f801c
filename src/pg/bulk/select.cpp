#include "pg/bulk/select.h"
#include "pg/errors.h"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "nodes/plannodes.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg {

namespace {

// An ERROR unless the plan is of one statement, a SELECT that changes nothing. (What its functions do is unknown.)
void check_statement(SPIPlanPtr plan)
{
    const List* const statements = SPI_plan_get_plan_sources(plan);
    if (list_length(statements) != 1)
        ereport(ERROR,
                errcode(ERRCODE_SYNTAX_ERROR),
                errmsg("query must be a single statement"),
                errhint("Combine several queries with UNION ALL."));
    const auto* const source = static_cast<const CachedPlanSource*>(linitial(statements));
    if (list_length(source->query_list) == 1) {
        const Query* const query = linitial_node(Query, source->query_list);
        if (query->commandType == CMD_SELECT && !query->hasModifyingCTE && query->rowMarks == NIL)
            return;
    }
    ereport(ERROR,
            errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
            errmsg("query must be a SELECT without data-modifying or locking clauses"),
            errhint("Modify data in a separate statement."));
}

void refuse_name(const char* query, const wanted_query& wanted)
{
    bool is_name;
    const Oid relation = named_relation(query, is_name);
    if (OidIsValid(relation))
        ereport(ERROR,
                errcode(ERRCODE_SYNTAX_ERROR),
                errmsg("query is the name of a table, not a SELECT"),
                errhint("Use %s.", suggest_call(wanted, relation)));
    if (is_name)
        ereport(ERROR,
                errcode(ERRCODE_SYNTAX_ERROR),
                errmsg("query \"%s\" is neither a SELECT nor the name of a table", clip(query)),
                errhint("Use, for example, SELECT id, body FROM articles."));
}

// Adds hints to errors whose reason is that the query is not parsed where the user wrote it.
void advise(void*)
{
    if (geterrcode() == ERRCODE_UNDEFINED_TABLE)
        errhint("The query does not see a WITH around the call. Where search_path is empty, as in "
                "materialized views and restores, write the table with its schema.");
    if (geterrcode() == ERRCODE_UNDEFINED_PARAMETER)
        errhint("Write the value into the query, for example by format('... WHERE id < %%L', $1).");
}

SPIPlanPtr prepare(const char* query)
{
    SPIPrepareOptions preparing = {};
    preparing.cursorOptions = CURSOR_OPT_PARALLEL_OK;
    ErrorContextCallback context = {error_context_stack, advise, nullptr};
    error_context_stack = &context;
    const SPIPlanPtr plan = SPI_prepare_extended(query, &preparing);
    error_context_stack = context.previous;
    if (plan == nullptr)
        elog(ERROR, "SPI_prepare_extended failed: %s", SPI_result_code_string(SPI_result));
    return plan;
}

void tell_query(void* of)
{
    errcontext("SQL statement \"%s\"", static_cast<const QueryDesc*>(of)->sourceText);
}

} // namespace

planned_select plan_select(const char* query, const wanted_query& wanted)
{
    refuse_name(query, wanted);
    const SPIPlanPtr plan = prepare(query);
    check_statement(plan);
    // This is the plan that will run, as a query without parameters has only one.
    CachedPlan* const planned = SPI_plan_get_cached_plan(plan);
    const double rows = linitial_node(PlannedStmt, planned->stmt_list)->planTree->plan_rows;
    ReleaseCachedPlan(planned, nullptr);
    return {plan, query, rows};
}

void run_select(const planned_select& query, DestReceiver& to, const QueryDesc** running)
{
    to.mydest = DestTuplestore; // any value but DestNone would do
    CachedPlan* const plan = SPI_plan_get_cached_plan(query.plan);
    QueryDesc* const started = CreateQueryDesc(linitial_node(PlannedStmt, plan->stmt_list),
                                               query.text,
                                               GetActiveSnapshot(),
                                               InvalidSnapshot,
                                               &to,
                                               nullptr,
                                               nullptr,
                                               0);
    if (running != nullptr)
        *running = started;
    ErrorContextCallback context = {error_context_stack, tell_query, started};
    error_context_stack = &context;
    ExecutorStart(started, 0);
    run_to_end(*started);
    ExecutorFinish(started);
    ExecutorEnd(started);
    error_context_stack = context.previous;
    FreeQueryDesc(started);
    ReleaseCachedPlan(plan, nullptr);
}

Oid check_ids(Oid wanted, Oid given)
{
    const Oid base = getBaseType(given);
    if (wanted == INT8OID && (base == INT2OID || base == INT4OID))
        return base;
    if (IsBinaryCoercible(given, wanted))
        return InvalidOid;
    const char* const type = format_type_be(given);
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("ids of the query are of type %s, not %s", type, format_type_be(wanted)),
            errhint("Give NULL::%s as the second argument, or cast the ids in the query.", type));
}

} // namespace minhash::pg
