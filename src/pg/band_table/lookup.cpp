// Lookups through a managed band table, each one SQL statement that a user could write, run with
// the user's own rights.
#include "pg/arguments.h"
#include "pg/band_table/lookup.h"
#include "pg/band_table/statements.h"
#include "pg/errors.h"
#include "pg/extension.h"
#include "pg/lsh/bands.h"

extern "C" {
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

namespace {

band_table arg_band_table(FunctionCallInfo fcinfo, int source, int chosen)
{
    const Relation relation = open_source(PG_GETARG_OID(source), AccessShareLock);
    const band_table found = find_band_table(
        relation,
        {arg_chosen(fcinfo, chosen), maintaining_function(fcinfo), AccessShareLock});
    relation_close(relation, NoLock);
    return found;
}

// A cast to the type that results are to have. It must lose nothing.
const char* id_cast(const band_table& from, Oid wanted)
{
    const Oid actual = get_atttype(from.source, from.id);
    if (!can_coerce_type(1, &actual, &wanted, COERCION_IMPLICIT))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("ids of table \"%s\" are of type %s, which is not %s",
                       get_rel_name(from.source),
                       format_type_be(actual),
                       format_type_be(wanted)),
                errhint("Give NULL::%s as the second argument.", format_type_be(actual)));
    return psprintf("::%s", format_type_be_qualified(wanted));
}

int arg_max_bucket(FunctionCallInfo fcinfo, int argument)
{
    return PG_ARGISNULL(argument) ? 0 : arg_between(fcinfo, argument, "max_bucket", 1, INT_MAX);
}

// The ids in the buckets of the keys $1. A bucket that is too large is not read to its end.
const char* bucket_ids(const band_table& from, int max_bucket)
{
    const char* const table = quoted_relation(from.table);
    if (max_bucket == 0)
        return psprintf("SELECT id FROM %s WHERE key OPERATOR(pg_catalog.=) ANY ($1)", table);
    return psprintf("SELECT member.id FROM pg_catalog.unnest($1) AS given (key), LATERAL"
                    " (SELECT id, pg_catalog.count(*) OVER () AS size FROM"
                    " (SELECT id FROM %s AS banded"
                    " WHERE banded.key OPERATOR(pg_catalog.=) given.key LIMIT %lld) AS bucket)"
                    " AS member WHERE member.size OPERATOR(pg_catalog.<=) %d",
                    table,
                    static_cast<long long>(max_bucket) + 1,
                    max_bucket);
}

// Returns the rows of the last query as the function's, and ends with SPI.
void return_found(FunctionCallInfo fcinfo, std::uint64_t rows)
{
    const ReturnSetInfo& result = start_rows(fcinfo);
    const SPITupleTable* const found = SPI_tuptable;
    const int columns = found->tupdesc->natts;
    if (columns != result.setDesc->natts)
        elog(ERROR, "%d columns instead of %d", columns, result.setDesc->natts);
    Datum* const row = static_cast<Datum*>(palloc(columns * sizeof(Datum)));
    bool* const nulls = static_cast<bool*>(palloc(columns * sizeof(bool)));
    for (std::uint64_t i = 0; i < rows; i++) {
        for (int column = 0; column < columns; column++)
            row[column] = SPI_getbinval(found->vals[i], found->tupdesc, column + 1, &nulls[column]);
        tuplestore_putvalues(result.setResult, result.setDesc, row, nulls);
    }
    SPI_finish();
}

void return_rows(FunctionCallInfo fcinfo,
                 const band_table& from,
                 const char* sql,
                 std::span<const Oid> types,
                 std::span<Datum> values)
{
    SPI_connect();
    kept_plan& plan = prepare_once(from.source, sql, types);
    return_found(fcinfo, run(plan, values, nullptr, true, snapshot::of_statement));
}

} // namespace

const char* near_rows(FunctionCallInfo fcinfo,
                      const band_table& from,
                      int max_bucket,
                      const char* cast,
                      const char* rest)
{
    const char* const id = quoted_column(from.source, from.id);
    const char* const similarity = psprintf("%s.minhash_similarity(source.%s, $2)",
                                            extension_schema(fcinfo),
                                            quoted_column(from.source, from.signature));
    return psprintf("SELECT source.%s%s, %s FROM %s AS source WHERE source.%s%sANY (ARRAY(%s))"
                    " AND %s OPERATOR(pg_catalog.>=) $3 %s",
                    id,
                    cast,
                    similarity,
                    quoted_relation(from.source),
                    id,
                    equality_of(get_atttype(from.source, from.id)),
                    bucket_ids(from, max_bucket),
                    similarity,
                    rest);
}

const char* within_scope(const band_table& from, const char* parameter)
{
    if (from.scope == InvalidAttrNumber)
        return "";
    return psprintf(" AND source.%s%s%s",
                    quoted_column(from.source, from.scope),
                    equality_of(get_atttype(from.source, from.scope)),
                    parameter);
}

namespace {

// Where the arguments of a function stand. Of a function for any type of id, that type is the
// second argument, which nothing is read of but its type.
struct lookup_arguments {
    int source;
    int signature;
    int threshold;
    int max_results;
    int max_bucket;
    int band_table;
    int scope;
};

Oid arg_id_type(FunctionCallInfo fcinfo)
{
    constexpr int id_type = 1;
    return get_fn_expr_argtype(fcinfo->flinfo, id_type);
}

// A value as a constant of SQL. A text is a literal whose type is yet to be known: so they come.
Node* make_literal(Oid type, Datum value)
{
    if (type == TEXTOID) {
        value = CStringGetDatum(TextDatumGetCString(value));
        type = UNKNOWNOID;
    }
    std::int16_t length;
    bool by_value;
    get_typlenbyval(type, &length, &by_value);
    return reinterpret_cast<Node*>(
        makeConst(type, -1, get_typcollation(type), length, value, false, by_value));
}

// A scope: its value, of the type of the column, and its hash. 0 where there is none.
struct given_scope {
    Oid type;
    Datum value;
    std::uint64_t hash;
};

// The scope in an argument. An ERROR if the band table has a scope and none is given, or the
// reverse, or if the value is not converted to the type of the column implicitly.
given_scope arg_scope(FunctionCallInfo fcinfo, int argument, const band_table& from)
{
    if (from.scope == InvalidAttrNumber && PG_ARGISNULL(argument))
        return {};
    if (from.scope == InvalidAttrNumber)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("band table \"%s\" has no scope", get_rel_name(from.table)),
                errhint("Leave the argument scope out, or create the band table with scope_column "
                        "=> '...'."));
    const char* const column = get_attname(from.source, from.scope, false);
    if (PG_ARGISNULL(argument))
        ereport(
            ERROR,
            errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
            errmsg("a lookup in band table \"%s\" needs a scope", get_rel_name(from.table)),
            errdetail("Rows are near each other only if they are equal in column \"%s\".", column),
            errhint("Give the value of that column: scope => ..."));
    Oid type;
    std::int32_t modifier;
    Oid collation;
    get_atttypetypmodcoll(from.source, from.scope, &type, &modifier, &collation);
    type = getBaseType(type);
    const Oid given = get_fn_expr_argtype(fcinfo->flinfo, argument);
    Node* const literal = make_literal(given, PG_GETARG_DATUM(argument));
    Node* const converted = coerce_to_target_type(nullptr,
                                                  literal,
                                                  exprType(literal),
                                                  type,
                                                  -1,
                                                  COERCION_IMPLICIT,
                                                  COERCE_IMPLICIT_CAST,
                                                  -1);
    if (converted == nullptr)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("scope is of type %s, but column \"%s\" of table \"%s\" is of type %s",
                       format_type_be(given),
                       column,
                       get_rel_name(from.source),
                       format_type_be(type)),
                errhint("Cast it: scope => (...)::%s.", format_type_be(type)));
    const Const* const value = reinterpret_cast<const Const*>(
        evaluate_expr(reinterpret_cast<Expr*>(converted), type, -1, collation));
    return {type, value->constvalue, hash_scope(type, collation, value->constvalue)};
}

Datum arg_band_keys(FunctionCallInfo fcinfo,
                    int argument,
                    const banding& shape,
                    const given_scope& within)
{
    return make_bigint_array(make_band_keys(arg_signature(fcinfo, argument), shape, within.hash));
}

// Of the ids in buckets, those of rows within the scope in the parameter $2.
const char* ids_within_scope(const band_table& from, const char* ids)
{
    if (from.scope == InvalidAttrNumber)
        return ids;
    const char* const id = quoted_column(from.source, from.id);
    return psprintf("SELECT source.%s AS id FROM %s AS source WHERE source.%s%sANY (ARRAY(%s))%s",
                    id,
                    quoted_relation(from.source),
                    id,
                    equality_of(get_atttype(from.source, from.id)),
                    ids,
                    within_scope(from, "$2"));
}

Datum find_candidates(FunctionCallInfo fcinfo, const lookup_arguments& at, Oid id_type)
{
    if (PG_ARGISNULL(at.source) || PG_ARGISNULL(at.signature)) {
        start_rows(fcinfo);
        return static_cast<Datum>(0);
    }
    const band_table from = arg_band_table(fcinfo, at.source, at.band_table);
    const given_scope within = arg_scope(fcinfo, at.scope, from);
    // A function that returns rows of a composite type returns their columns.
    const char* const sql = psprintf(
        "SELECT %s FROM (SELECT DISTINCT candidate.id%s AS id FROM (%s) AS candidate) AS found",
        type_is_rowtype(id_type) ? "(id).*" : "id",
        id_cast(from, id_type),
        ids_within_scope(from, bucket_ids(from, arg_max_bucket(fcinfo, at.max_bucket))));
    const Oid types[] = {INT8ARRAYOID, within.type};
    Datum values[] = {arg_band_keys(fcinfo, at.signature, from.shape, within), within.value};
    return_rows(fcinfo, from, sql, types, values);
    return static_cast<Datum>(0);
}

Datum find_near_duplicates(FunctionCallInfo fcinfo, const lookup_arguments& at, Oid id_type)
{
    if (PG_ARGISNULL(at.threshold))
        fail_null_argument(at.threshold, fcinfo->flinfo->fn_oid);
    if (PG_ARGISNULL(at.source) || PG_ARGISNULL(at.signature)) {
        start_rows(fcinfo);
        return static_cast<Datum>(0);
    }
    const band_table from = arg_band_table(fcinfo, at.source, at.band_table);
    const given_scope within = arg_scope(fcinfo, at.scope, from);
    const double threshold = arg_fraction(fcinfo, at.threshold, "threshold");
    const int max_results = PG_ARGISNULL(at.max_results)
                                ? INT_MAX
                                : arg_between(fcinfo, at.max_results, "max_results", 1, INT_MAX);
    const char* const sql = near_rows(fcinfo,
                                      from,
                                      arg_max_bucket(fcinfo, at.max_bucket),
                                      id_cast(from, id_type),
                                      psprintf("%s ORDER BY 2 DESC, source.%s LIMIT $4",
                                               within_scope(from, "$5"),
                                               quoted_column(from.source, from.id)));
    const Oid types[] = {INT8ARRAYOID, signature_type(fcinfo), FLOAT8OID, INT4OID, within.type};
    Datum values[] = {arg_band_keys(fcinfo, at.signature, from.shape, within),
                      PG_GETARG_DATUM(at.signature),
                      Float8GetDatum(threshold),
                      Int32GetDatum(max_results),
                      within.value};
    return_rows(fcinfo, from, sql, types, values);
    return static_cast<Datum>(0);
}

} // namespace

// lsh_candidates(source, signature, max_bucket, band_table, scope) -> ids
MINHASH_FUNCTION(lsh_candidates)
{
    constexpr lookup_arguments at = {.source = 0,
                                     .signature = 1,
                                     .threshold = -1,
                                     .max_results = -1,
                                     .max_bucket = 2,
                                     .band_table = 3,
                                     .scope = 4};
    return find_candidates(fcinfo, at, INT8OID);
}

// lsh_candidates(source, id type, signature, max_bucket, band_table, scope) -> ids
MINHASH_FUNCTION(lsh_candidates_typed)
{
    constexpr lookup_arguments at = {.source = 0,
                                     .signature = 2,
                                     .threshold = -1,
                                     .max_results = -1,
                                     .max_bucket = 3,
                                     .band_table = 4,
                                     .scope = 5};
    return find_candidates(fcinfo, at, arg_id_type(fcinfo));
}

// lsh_near_duplicates(source, signature, threshold, max_results, max_bucket, band_table, scope)
// -> (id, similarity), the most similar first
MINHASH_FUNCTION(lsh_near_duplicates)
{
    constexpr lookup_arguments at = {.source = 0,
                                     .signature = 1,
                                     .threshold = 2,
                                     .max_results = 3,
                                     .max_bucket = 4,
                                     .band_table = 5,
                                     .scope = 6};
    return find_near_duplicates(fcinfo, at, INT8OID);
}

// The same with the id type as the second argument.
MINHASH_FUNCTION(lsh_near_duplicates_typed)
{
    constexpr lookup_arguments at = {.source = 0,
                                     .signature = 2,
                                     .threshold = 3,
                                     .max_results = 4,
                                     .max_bucket = 5,
                                     .band_table = 6,
                                     .scope = 7};
    return find_near_duplicates(fcinfo, at, arg_id_type(fcinfo));
}

// lsh_largest_buckets(source, max_results, band_table) -> (key, size), the largest first
MINHASH_FUNCTION(lsh_largest_buckets)
{
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) {
        start_rows(fcinfo);
        return static_cast<Datum>(0);
    }
    const band_table from = arg_band_table(fcinfo, 0, 2);
    const int max_results = arg_between(fcinfo, 1, "max_results", 1, INT_MAX);
    SPI_connect();
    return_found(fcinfo,
                 read_once(psprintf("SELECT key, pg_catalog.count(*) FROM %s GROUP BY key"
                                    " HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1"
                                    " ORDER BY 2 DESC, key LIMIT %d",
                                    quoted_relation(from.table),
                                    max_results)));
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
