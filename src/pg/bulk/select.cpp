#include "pg/bulk/scans.h"
#include "pg/bulk/select.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include <algorithm>
#include <iterator>

extern "C" {
#include "access/genam.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/plannodes.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"
}

namespace minhash::pg {

namespace {

// An ERROR unless the plan has one statement, a SELECT that changes nothing. (What its functions do is unknown.)
void check_statement(SPIPlanPtr plan)
{
    const List* const statements = SPI_plan_get_plan_sources(plan);
    if (statements == NIL)
        ereport(ERROR,
                errcode(ERRCODE_SYNTAX_ERROR),
                errmsg("query is empty"),
                errhint("Use, for example, SELECT id, body FROM articles."));
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

// A column of a relation, or a row made of several columns, as an SQL expression with its type.
struct column {
    const char* expression;
    Oid type; // InvalidOid: there is no such column
};

column column_at(Relation relation, AttrNumber number)
{
    const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), number - 1);
    return {quote_identifier(NameStr(attribute->attname)), attribute->atttypid};
}

column column_named(Relation relation, const char* name)
{
    const AttrNumber number = name != nullptr ? get_attnum(RelationGetRelid(relation), name) : 0;
    return number > 0 ? column_at(relation, number) : column{name, InvalidOid};
}

const Bitmapset* primary_columns(Relation relation)
{
    return RelationGetIndexAttrBitmap(relation, INDEX_ATTR_BITMAP_PRIMARY_KEY);
}

// The columns of the primary key, as a row if there are several. Without a primary key, the column "id", and without
// this, the rows' numbers.
column primary_key(Relation relation)
{
    RelationGetIndexList(relation); // sets rd_pkindex
    if (!OidIsValid(relation->rd_pkindex)) {
        const column id = column_named(relation, "id");
        return OidIsValid(id.type) ? id : column{"row_number() OVER ()", INT8OID};
    }
    const char* const columns = pg_get_indexdef_columns(relation->rd_pkindex, false);
    int attribute;
    if (bms_get_singleton_member(primary_columns(relation), &attribute))
        return {columns, get_atttype(RelationGetRelid(relation), attribute + FirstLowInvalidHeapAttributeNumber)};
    return {psprintf("(%s)", columns), RECORDOID};
}

// The statement that makes a type for keys of several columns, whose name becomes `name`.
const char* type_of_key(Relation relation, const char*& name)
{
    const Relation index = index_open(relation->rd_pkindex, AccessShareLock);
    const char* columns = "";
    for (int i = 0; i < index->rd_index->indnkeyatts; i++) {
        const column each = column_at(relation, index->rd_index->indkey.values[i]);
        columns = psprintf("%s%s%s %s", columns, i > 0 ? ", " : "", each.expression, format_type_be(each.type));
    }
    index_close(index, AccessShareLock);
    const char* const type = psprintf("%s_key", RelationGetRelationName(relation));
    name = quote_identifier(type);
    return OidIsValid(TypenameGetTypid(type)) ? "" : psprintf("CREATE TYPE %s AS (%s); ", name, columns);
}

bool names_a_text(std::string_view name) { return name == "body" || name == "text" || name == "content"; }

// The column that the user probably wants to compare; it is not in the key. A column of texts with a usual name comes
// first, then any other column of texts, then a column of signatures.
column compared_column(Relation relation, const column& key, Oid signature_type)
{
    column texts = {"body", InvalidOid};
    column signatures = texts;
    column documents = texts;
    const Bitmapset* const primary = primary_columns(relation);
    const TupleDesc columns = RelationGetDescr(relation);
    for (AttrNumber number = 1; number <= columns->natts; number++) {
        const Form_pg_attribute attribute = TupleDescAttr(columns, number - 1);
        const column each = column_at(relation, number);
        if (attribute->attisdropped || bms_is_member(number - FirstLowInvalidHeapAttributeNumber, primary) ||
            strcmp(each.expression, key.expression) == 0)
            continue;
        const bool has_texts = is_text(each.type);
        if (has_texts && names_a_text(NameStr(attribute->attname)))
            return each;
        if (has_texts && !OidIsValid(texts.type))
            texts = each;
        if (!OidIsValid(signatures.type) && getBaseType(each.type) == signature_type)
            signatures = each;
        if (!OidIsValid(documents.type) && getBaseType(each.type) == JSONBOID)
            documents = {psprintf("%s->>'body'", each.expression), TEXTOID};
    }
    if (OidIsValid(texts.type))
        return texts;
    return OidIsValid(signatures.type) ? signatures : documents;
}

const char* name_of_relation(Oid relation)
{
    const char* const schema = RelationIsVisible(relation) ? nullptr : get_namespace_name(get_rel_namespace(relation));
    return quote_qualified_identifier(schema, get_rel_name(relation));
}

bool has_rows(Oid relation)
{
    const char kind = get_rel_relkind(relation);
    return kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE || kind == RELKIND_VIEW ||
           kind == RELKIND_MATVIEW || kind == RELKIND_FOREIGN_TABLE;
}

Oid relation_at(char* schema, char* name)
{
    if (strlen(name) >= NAMEDATALEN)
        return InvalidOid;
    const Oid relation = RangeVarGetRelid(makeRangeVar(schema, name, -1), NoLock, true);
    return OidIsValid(relation) && has_rows(relation) ? relation : InvalidOid;
}

// Whether a literal looks like a query.
bool is_query(const char* given)
{
    constexpr const char* first_words[] = {"SELECT", "WITH", "VALUES", "TABLE"};
    given += strspn(given, " \t\n\r(");
    return std::any_of(std::begin(first_words), std::end(first_words), [given](const char* word) {
        const std::size_t length = strlen(word);
        return pg_strncasecmp(given, word, length) == 0 && given[length] != '\0' &&
               isalnum(static_cast<unsigned char>(given[length])) == 0;
    });
}

// The table or view that a text names; InvalidOid if it names none. `is_name` says whether the text is only a name. A
// name that lacks its double quotes, as in 'shop.Product Items', is looked for, too.
Oid named_relation(const char* given, bool& is_name)
{
    List* parts;
    is_name = SplitIdentifierString(pstrdup(given), '.', &parts) && parts != NIL;
    Oid relation = InvalidOid;
    if (is_name && list_length(parts) <= 2) // schema and table
        relation = relation_at(list_length(parts) == 2 ? static_cast<char*>(linitial(parts)) : nullptr,
                               static_cast<char*>(llast(parts)));
    if (OidIsValid(relation) || is_query(given))
        return relation;
    relation = relation_at(nullptr, pstrdup(given));
    char* const schema = pstrdup(given);
    char* const point = strchr(schema, '.');
    if (!OidIsValid(relation) && point != nullptr) {
        *point = '\0';
        relation = relation_at(schema, point + 1);
    }
    is_name = is_name || OidIsValid(relation);
    return relation;
}

bool takes_any_ids(std::string_view function)
{
    return function == "lsh_evaluate" || function == "lsh_sample" || function == "lsh_create_clusters";
}

// Suggests a call of a function, with a query on the relation. The query returns the columns that the user has named,
// `id` and `text`. If the relation has no such `id`, the query returns the primary key instead; if it has no such
// `text`, the column found by compared_column(). For lsh_components(), the query returns left_id and right_id unless
// there are columns of the given names. `more` are further arguments. Without `with_call`, only the query is suggested.
const char*
suggest_call(Oid function, Oid relation, const char* id, const char* text, const char* more, bool with_call = true)
{
    const Relation opened = relation_open(relation, AccessShareLock);
    const char* const from = name_of_relation(relation);
    const std::string_view called = get_func_name(function);
    const char* columns = "left_id, right_id";
    const char* id_type = "";
    const char* first = ""; // a statement before the call
    if (called == "lsh_components") {
        const column left = column_named(opened, id);
        const column right = column_named(opened, text);
        if (OidIsValid(left.type) && OidIsValid(right.type))
            columns = psprintf("%s, %s", left.expression, right.expression);
    } else {
        column key = column_named(opened, id);
        if (!OidIsValid(key.type))
            key = primary_key(opened);
        column compared = column_named(opened, text);
        if (!OidIsValid(compared.type))
            compared = compared_column(opened, key, signature_type(function));
        if (key.type == RECORDOID && !takes_any_ids(called)) { // a type without a name is of little use afterwards
            const char* name;
            first = type_of_key(opened, name);
            key.expression = psprintf("%s::%s", key.expression, name);
            id_type = psprintf(", NULL::%s", name);
        }
        columns = psprintf("%s, %s", key.expression, compared.expression);
        const Oid type = getBaseType(key.type);
        if (takes_any_ids(called))
            id_type = "";
        else if (type != RECORDOID && type != INT8OID && type != INT4OID && type != INT2OID)
            id_type = psprintf(", NULL::%s", format_type_be(type));
    }
    relation_close(opened, AccessShareLock);
    const char* const query = psprintf("SELECT %s FROM %s", columns, from);
    if (!with_call || called.starts_with('_')) // a function that another one has called with the user's query
        return psprintf("%s%s", first, query);
    return psprintf("%sSELECT * FROM %s(%s%s%s)", first, called.data(), quote_literal_cstr(query), id_type, more);
}

void refuse_name(const char* query, Oid function, const char* name, const char* columns)
{
    bool is_name;
    const bool is_first = strcmp(name, "query") == 0;
    const Oid relation = named_relation(query, is_name);
    if (OidIsValid(relation)) {
        const char* wanted = suggest_call(function, relation, nullptr, nullptr, "", is_first);
        if (columns != nullptr)
            wanted = psprintf("SELECT %s FROM %s", columns, name_of_relation(relation));
        ereport(ERROR,
                errcode(ERRCODE_SYNTAX_ERROR),
                errmsg("%s is the name of a table, not a SELECT", name),
                is_first ? errhint("Use %s.", wanted) : errhint("Use %s => %s.", name, quote_literal_cstr(wanted)));
    }
    if (is_name)
        ereport(ERROR,
                errcode(ERRCODE_SYNTAX_ERROR),
                errmsg("%s \"%s\" is neither a SELECT nor the name of a table", name, clip(query)),
                errhint("Use, for example, SELECT %s.",
                        columns != nullptr ? psprintf("%s FROM not_duplicates", columns)
                        : strcmp(get_func_name(function), "lsh_components") == 0 ? "left_id, right_id FROM pairs"
                                                                                 : "id, body FROM articles"));
}

// Adds hints to errors that arise because the query is parsed on its own, and not where the user wrote it.
void advise(void* query)
{
    if (geterrcode() == ERRCODE_SYNTAX_ERROR && !is_query(static_cast<const char*>(query)))
        errhint("Use a SELECT, for example SELECT id, body FROM articles.");
    if (geterrcode() == ERRCODE_UNDEFINED_TABLE)
        errhint("The query does not see the statement around it, such as a WITH; write values into it, as by "
                "format('... id = %%L', d.id). Where search_path is empty (materialized views, restores), write the "
                "table with its schema.");
    if (geterrcode() == ERRCODE_UNDEFINED_PARAMETER)
        errhint("Write the value into the query, for example by format('... WHERE id < %%L', $1).");
}

SPIPlanPtr prepare(const char* query, int options)
{
    SPIPrepareOptions preparing = {};
    preparing.cursorOptions = options;
    ErrorContextCallback context = {error_context_stack, advise, const_cast<char*>(query)};
    error_context_stack = &context;
    const SPIPlanPtr plan = SPI_prepare_extended(query, &preparing);
    error_context_stack = context.previous;
    if (plan == nullptr)
        elog(ERROR, "SPI_prepare_extended failed: %s", SPI_result_code_string(SPI_result));
    return plan;
}

// An error context.
void tell_query(void* running)
{
    errcontext("SQL statement \"%s\"", static_cast<const QueryDesc*>(running)->sourceText);
}

} // namespace

planned_select plan_select(FunctionCallInfo fcinfo, int argument, const char* name, const char* columns)
{
    const char* const query = text_to_cstring(PG_GETARG_TEXT_PP(argument));
    refuse_name(query, fcinfo->flinfo->fn_oid, name, columns);
    return plan_query(query);
}

planned_select plan_query(const char* query)
{
    const SPIPlanPtr plan = prepare(query, CURSOR_OPT_PARALLEL_OK);
    check_statement(plan);
    // This is the plan that will run, because a query without parameters has only one.
    CachedPlan* const planned = SPI_plan_get_cached_plan(plan);
    const PlannedStmt* const statement = linitial_node(PlannedStmt, planned->stmt_list);
    const Plan* const top = statement->planTree;
    const planned_select result = {plan,
                                   query,
                                   top->plan_rows,
                                   static_cast<double>(top->plan_width),
                                   !can_read_again(statement)};
    ReleaseCachedPlan(planned, nullptr);
    return result;
}

SPIPlanPtr plan_without_workers(const planned_select& query) { return prepare(query.text, 0); }

void run_select(const planned_select& query, bulk_host& call, columns_taker take_columns, row_taker take_row)
{
    CachedPlan* const plan = SPI_plan_get_cached_plan(query.plan);
    run_part(linitial_node(PlannedStmt, plan->stmt_list), query, call, take_columns, take_row);
    ReleaseCachedPlan(plan, nullptr);
}

void run_part(
    PlannedStmt* part, const planned_select& query, bulk_host& call, columns_taker take_columns, row_taker take_row)
{
    const auto ignore = [](DestReceiver*) {};
    // Any kind of destination except DestNone would do.
    row_receiver to = {{take_row, take_columns, ignore, ignore, DestTuplestore}, &call, nullptr};
    running_plan running;
    start_plan(running, part, query.text, call.is_internal, &to);
    to.query = running.query;
    call.estimated = true;
    run_to_end(*running.query);
    end_plan(running);
    call.estimated = false;
}

void start_plan(running_plan& fresh, PlannedStmt* plan, const char* text, bool is_internal, DestReceiver* to)
{
    fresh.query = CreateQueryDesc(plan, text, GetActiveSnapshot(), InvalidSnapshot, to, nullptr, nullptr, 0);
    fresh.context = {error_context_stack, tell_query, fresh.query};
    if (!is_internal)
        error_context_stack = &fresh.context;
    ExecutorStart(fresh.query, 0);
}

void end_plan(const running_plan& plan)
{
    ExecutorFinish(plan.query);
    ExecutorEnd(plan.query);
    error_context_stack = plan.context.previous;
    FreeQueryDesc(plan.query);
}

bool takes_ids(Oid wanted, Oid given)
{
    const Oid base = getBaseType(given);
    return (wanted == INT8OID && (base == INT2OID || base == INT4OID)) || IsBinaryCoercible(given, wanted);
}

Oid check_ids(Oid wanted, Oid given, ids_of what)
{
    const Oid base = getBaseType(given);
    if (takes_ids(wanted, given))
        return wanted == INT8OID && base != INT8OID ? base : InvalidOid;
    const char* const type = format_type_be(given);
    // A NULL of a numeric type alone would be taken for the threshold.
    const Oid threshold = FLOAT8OID;
    const bool could_be_threshold = what == ids_of::rows && can_coerce_type(1, &given, &threshold, COERCION_IMPLICIT);
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("ids of the query are of type %s, not %s", type, format_type_be(wanted)),
            what == ids_of::verdicts ? errhint("Cast them in the query of apart.")
            : what == ids_of::other_rows
                ? errhint("Cast the ids of both queries to one type, for instance id::text, and give NULL::text as the "
                          "second argument.")
            // The fields of a NULL::record could not be read.
            : given == RECORDOID
                ? errhint("Cast them to a composite type of the key's columns, for instance (site, nr)::page_key, and "
                          "give NULL::page_key as the second argument.")
            : could_be_threshold
                ? errhint("Give NULL::%s as the second argument and the threshold by name, for instance NULL::%s, "
                          "threshold => 0.8, or cast the ids in the query.",
                          type,
                          type)
                : errhint("Give NULL::%s as the second argument, or cast the ids in the query.", type));
}

// lsh_call_of_names(source, column, column, threshold): an ERROR that says what to write.
//
// Users often first try lsh_pairs('articles', 'id', 'body') or lsh_pairs('articles', 'body'). If the first argument is
// a real query, the literal after it was probably meant as another query, the type of ids or the threshold.
MINHASH_FUNCTION(lsh_call_of_names)
{
    const Oid function = fcinfo->flinfo->fn_oid;
    const char* const called = get_func_name(function);
    const auto text_at = [&](int argument) {
        return argument >= PG_NARGS() || PG_ARGISNULL(argument) ? nullptr
                                                                : text_to_cstring(PG_GETARG_TEXT_PP(argument));
    };
    const char* const source = text_at(0);
    const char* const second = text_at(1);
    const char* const third = text_at(2);
    bool is_name = true;
    const Oid relation = source != nullptr ? named_relation(source, is_name) : InvalidOid;
    if (!is_name)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("argument after the query of %s() has neither a name nor a type", called),
                second != nullptr && is_query(second)
                    ? errhint("To compare the rows of two queries, use SELECT * FROM %s(%s, other_query => %s).",
                              strcmp(called, "lsh_contained") == 0 ? called : "lsh_pairs",
                              quote_literal_cstr(source),
                              quote_literal_cstr(second))
                : takes_any_ids(called) ? errhint("Name it: threshold => 0.8.")
                                        : errhint("Use threshold => 0.8 for the threshold, or NULL::uuid for ids of "
                                                  "the type uuid."));

    const bool with_threshold = PG_NARGS() > 3 && !PG_ARGISNULL(3);
    const char* const more =
        with_threshold ? psprintf(", threshold => %s", float8out_internal(PG_GETARG_FLOAT8(3))) : "";
    ereport(
        ERROR,
        errcode(ERRCODE_INVALID_PARAMETER_VALUE),
        errmsg("%s() takes a query, not the names of a table and its columns", called),
        errhint("Use %s.",
                OidIsValid(relation)
                    ? suggest_call(function,
                                   relation,
                                   third != nullptr ? second : nullptr,
                                   third != nullptr ? third : second,
                                   more)
                    : psprintf("SELECT * FROM %s('SELECT id, body FROM articles'%s)",
                               called,
                               with_threshold || strcmp(called, "lsh_components") == 0 ? more : ", threshold => 0.8")));
}

// lsh_call_with_type(query, anyelement, threshold): an ERROR, for functions that need no type of ids.
MINHASH_FUNCTION(lsh_call_with_type)
{
    const char* const called = get_func_name(fcinfo->flinfo->fn_oid);
    const int ids = PG_NARGS() - 2;
    bool is_name;
    const char* const query = PG_ARGISNULL(ids - 1) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(ids - 1));
    const Oid relation = named_relation(query, is_name);
    const char* const first =
        ids > 1 && !PG_ARGISNULL(0) ? psprintf("%s, ", quote_literal_cstr(text_to_cstring(PG_GETARG_TEXT_PP(0)))) : "";
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("%s() takes ids of any type as they are", called),
            OidIsValid(relation) && ids == 1
                ? errhint("Use %s.", suggest_call(fcinfo->flinfo->fn_oid, relation, nullptr, nullptr, ""))
                : errhint("Leave their type out: SELECT * FROM %s(%s%s%s).",
                          called,
                          first,
                          quote_literal_cstr(query),
                          PG_ARGISNULL(ids + 1)
                              ? ""
                              : psprintf(", threshold => %s", float8out_internal(PG_GETARG_FLOAT8(ids + 1)))));
}

} // namespace minhash::pg
