// Look-ups through a managed band table, each one SQL statement that a user could write, run with
// the user's own rights.
#include "pg/band_table/lookup.h"
#include "pg/band_table/statements.h"
#include "pg/errors.h"

namespace minhash::pg {

namespace {

band_table arg_band_table(FunctionCallInfo fcinfo, int source, int chosen)
{
    const Relation relation = open_source(PG_GETARG_OID(source), AccessShareLock);
    const band_table found =
        find_band_table(relation,
                        PG_ARGISNULL(chosen) ? InvalidOid : PG_GETARG_OID(chosen),
                        maintaining_function(fcinfo));
    relation_close(relation, NoLock);
    return found;
}

// A cast to the type that results are to have. It must lose nothing.
const char* id_cast(const band_table& from, Oid wanted)
{
    const Oid actual = get_atttype(from.source, from.id);
    if (!can_coerce_type(1, &actual, &wanted, COERCION_IMPLICIT))
        fail_result_type(from.source, from.id, wanted);
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
                 const char* sql,
                 std::span<const Oid> types,
                 std::span<Datum> values)
{
    SPI_connect();
    return_found(fcinfo,
                 run(prepare_once(sql, types), values, nullptr, true, snapshot::of_statement));
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

// lsh_candidates(source, signature, max_bucket, band_table, id_type) -> ids
MINHASH_FUNCTION(lsh_candidates)
{
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) {
        start_rows(fcinfo);
        return static_cast<Datum>(0);
    }
    const band_table from = arg_band_table(fcinfo, 0, 3);
    const Oid id_type = get_fn_expr_argtype(fcinfo->flinfo, 4);
    // A function that returns rows of a composite type returns their columns.
    const char* const sql = psprintf(
        "SELECT %s FROM (SELECT DISTINCT candidate.id%s AS id FROM (%s) AS candidate) AS found",
        type_is_rowtype(id_type) ? "(id).*" : "id",
        id_cast(from, id_type),
        bucket_ids(from, arg_max_bucket(fcinfo, 2)));
    const Oid types[] = {INT8ARRAYOID};
    Datum values[] = {band_key_array(arg_signature(fcinfo, 1), from.shape)};
    return_rows(fcinfo, sql, types, values);
    return static_cast<Datum>(0);
}

// lsh_near_duplicates(source, signature, [id_type,] threshold, max_results, max_bucket, band_table)
// -> (id, similarity), the most similar first
MINHASH_FUNCTION(lsh_near_duplicates)
{
    // Result columns of a polymorphic type want it from an argument that is given, not a default:
    // so there is one function for ids of type bigint, and one for others.
    const bool typed = PG_NARGS() == 7;
    const int first = typed ? 3 : 2;
    // A NULL in its place, such as NULL::int, was meant for id_type.
    if (PG_ARGISNULL(first))
        fail_null_argument(first, fcinfo->flinfo->fn_oid);
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) {
        start_rows(fcinfo);
        return static_cast<Datum>(0);
    }
    const band_table from = arg_band_table(fcinfo, 0, first + 3);
    const double threshold = arg_fraction(fcinfo, first, "threshold");
    const int max_results = PG_ARGISNULL(first + 1)
                                ? INT_MAX
                                : arg_between(fcinfo, first + 1, "max_results", 1, INT_MAX);
    const Oid id_type = typed ? get_fn_expr_argtype(fcinfo->flinfo, 2) : INT8OID;
    const char* const sql = near_rows(
        fcinfo,
        from,
        arg_max_bucket(fcinfo, first + 2),
        id_cast(from, id_type),
        psprintf("ORDER BY 2 DESC, source.%s LIMIT $4", quoted_column(from.source, from.id)));
    const Oid types[] = {INT8ARRAYOID, signature_type(fcinfo), FLOAT8OID, INT4OID};
    Datum values[] = {band_key_array(arg_signature(fcinfo, 1), from.shape),
                      PG_GETARG_DATUM(1),
                      Float8GetDatum(threshold),
                      Int32GetDatum(max_results)};
    return_rows(fcinfo, sql, types, values);
    return static_cast<Datum>(0);
}

// lsh_largest_buckets(source, max_results, band_table) -> (key, documents), the largest first
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
