// Statement triggers read their transition tables, so that a bulk load stays a bulk load. A
// partitioned table has a row trigger, which PostgreSQL gives to each partition.
//
// PL/pgSQL keeps one plan for statements of one row and of a million. So these functions forbid
// plans that are good for one of them only: joins that read all of the band table, and hash tables
// that cannot be written to disk. Keys in order find the index's and the table's pages in order.
//
// The search path has nothing that others could put a function, type or operator into. What is not
// in pg_catalog is written with its schema, with arguments of exactly the types that it takes.
#include "pg/bands/upkeep.h"
#include "pg/extension.h"

#include <algorithm>
#include <string_view>
#include <utility>

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

// In braces stand the band table, the keys and the id of an old and of a new row, whether a row of
// the band table has the id of an old row, whether an old and a new row have the same id (as it is
// in them, or as id), and the error about keys that are missing.
constexpr const char* insert_body = R"(
BEGIN
    INSERT INTO {table} (key, id) SELECT unnest({new_keys}), {new_id} FROM new_rows n WHERE {new_id} IS NOT NULL ORDER BY 1, 2;
    RETURN NULL;
END
)";

constexpr const char* delete_body = R"(
DECLARE
    gone bigint;
    missing bigint;
BEGIN
    DELETE FROM {table} b USING (
        SELECT unnest({old_keys}) AS key, {old_id} AS id FROM old_rows o ORDER BY 1, 2) k
    WHERE b.key = k.key AND {has_old_id};
    GET DIAGNOSTICS gone = ROW_COUNT;
    missing := (SELECT sum(cardinality({old_keys})) FROM old_rows o WHERE {old_id} IS NOT NULL) - gone;
    {check}
    RETURN NULL;
END
)";

// Most updates of single rows change neither id nor keys, and leave after a glance.
constexpr const char* update_body = R"(
DECLARE
    missing bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM old_rows o FULL JOIN new_rows n ON {same_row_id}
                   WHERE {old_keys} IS DISTINCT FROM {new_keys}) THEN
        RETURN NULL;
    END IF;
    WITH changed AS MATERIALIZED (
        SELECT o.id AS old_id, o.keys AS old_keys, n.id AS new_id, n.keys AS new_keys
        FROM (SELECT {old_id} AS id, {old_keys} AS keys FROM old_rows o WHERE {old_id} IS NOT NULL) o
            FULL JOIN (SELECT {new_id} AS id, {new_keys} AS keys FROM new_rows n WHERE {new_id} IS NOT NULL) n ON {same_id}
        WHERE o.keys IS DISTINCT FROM n.keys
    ), old_keys AS MATERIALIZED (
        SELECT unnest(old_keys) AS key, old_id AS id FROM changed
        EXCEPT SELECT unnest(new_keys), new_id FROM changed ORDER BY 1, 2
    ), gone AS (
        DELETE FROM {table} b USING old_keys k WHERE b.key = k.key AND {has_old_id} RETURNING 1
    ), added AS (
        INSERT INTO {table} (key, id) SELECT unnest(new_keys), new_id FROM changed
        EXCEPT SELECT unnest(old_keys), old_id FROM changed ORDER BY 1, 2
    )
    SELECT (SELECT count(*) FROM old_keys) - (SELECT count(*) FROM gone) INTO missing;
    {check}
    RETURN NULL;
END
)";

constexpr const char* truncate_body = R"(
BEGIN
    TRUNCATE {table};
    RETURN NULL;
END
)";

constexpr const char* row_body = R"(
DECLARE
    old_keys bigint[] := CASE WHEN TG_OP <> 'INSERT' AND {old_id} IS NOT NULL THEN {old_keys} END;
    new_keys bigint[] := CASE WHEN TG_OP <> 'DELETE' AND {new_id} IS NOT NULL THEN {new_keys} END;
    gone bigint;
    missing bigint;
BEGIN
    IF old_keys = new_keys AND {same_id} THEN
        RETURN NULL;
    END IF;
    IF cardinality(old_keys) > 0 THEN
        DELETE FROM {table} b WHERE b.key = ANY (old_keys) AND {has_old_id};
        GET DIAGNOSTICS gone = ROW_COUNT;
    END IF;
    missing := cardinality(old_keys) - gone;
    {check}
    IF cardinality(new_keys) > 0 THEN
        INSERT INTO {table} (key, id) SELECT unnest(new_keys), {new_id} ORDER BY 1;
    END IF;
    RETURN NULL;
END
)";

constexpr const char* by_index =
    " SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off"
    " SET enable_hashagg TO off";

struct upkeep_kind {
    const char* suffix;
    const char* event;
    const char* rest;
    const char* privileges; // that the trigger needs on the band table
    const char* settings;
    const char* body;
};

constexpr upkeep_kind statement_kinds[] = {
    {"insert",
     "INSERT",
     "REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT",
     "INSERT",
     "",
     insert_body},
    {"delete",
     "DELETE",
     "REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT",
     "SELECT, DELETE",
     by_index,
     delete_body},
    {"update",
     "UPDATE",
     "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT",
     "SELECT, INSERT, DELETE",
     by_index,
     update_body},
    {"truncate", "TRUNCATE", "FOR EACH STATEMENT", "TRUNCATE", "", truncate_body},
};

constexpr upkeep_kind row_kinds[] = {
    {"rows",
     "INSERT OR UPDATE OR DELETE",
     "FOR EACH ROW",
     "SELECT, INSERT, DELETE",
     " SET enable_seqscan TO off",
     row_body},
    statement_kinds[3],
};

// Whether two values of the id's type are equal, by the type's own operator.
const char* equality(const band_table& made, const char* left, const char* right)
{
    const Oid type = getBaseType(get_atttype(made.source, made.id));
    const Oid equal = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
    const HeapTuple found = SearchSysCache1(OPEROID, ObjectIdGetDatum(equal));
    if (!HeapTupleIsValid(found))
        elog(ERROR, "cache lookup failed for operator %u", equal);
    const Form_pg_operator form = reinterpret_cast<Form_pg_operator>(GETSTRUCT(found));
    const Oid schema = form->oprnamespace;
    const char* const name = pstrdup(NameStr(form->oprname));
    ReleaseSysCache(found);
    if (schema == PG_CATALOG_NAMESPACE)
        return psprintf("%s %s %s", left, name, right);
    // Without the casts, another operator could suit a domain better.
    const char* const base = format_type_extended(type, -1, FORMAT_TYPE_FORCE_QUALIFY);
    return psprintf("%s::%s OPERATOR(%s.%s) %s::%s",
                    left,
                    base,
                    quote_identifier(get_namespace_name(schema)),
                    name,
                    right,
                    base);
}

const char* keys_of(const band_table& made, const char* row)
{
    return psprintf("%s.lsh_band_keys(%s.%s, %d, %d)",
                    made.extension,
                    row,
                    quoted_column(made.source, made.signature),
                    made.shape.bands,
                    made.shape.rows);
}

const char* error_of_missing(const band_table& made)
{
    const char* const table = qualified(made);
    const char* const hint =
        psprintf("Fill it again in one transaction: TRUNCATE %s; INSERT INTO %s (key, id) %s;",
                 table,
                 table,
                 wanted_rows(made));
    return psprintf(R"(IF missing > 0 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('%%s keys of rows of %%s are missing in band table %%s', missing, TG_RELID::regclass, %s),
            DETAIL = 'The rows were written without its triggers, or twice by one statement and its triggers.',
            HINT = %s;
    END IF;)",
                    quote_literal_cstr(table),
                    quote_literal_cstr(hint));
}

const char* body_of(const band_table& made, const upkeep_kind& kind)
{
    const char* const old_row = made.by_rows ? "OLD" : "o";
    const char* const new_row = made.by_rows ? "NEW" : "n";
    const char* const column = quoted_column(made.source, made.id);
    const char* const old_id = psprintf("%s.%s", old_row, column);
    const char* const new_id = psprintf("%s.%s", new_row, column);
    const std::pair<std::string_view, const char*> values[] = {
        {"{table}", qualified(made)},
        {"{old_keys}", keys_of(made, old_row)},
        {"{old_id}", old_id},
        {"{new_keys}", keys_of(made, new_row)},
        {"{new_id}", new_id},
        {"{has_old_id}", equality(made, "b.id", made.by_rows ? old_id : "k.id")},
        {"{same_row_id}", equality(made, old_id, new_id)},
        {"{same_id}",
         made.by_rows ? equality(made, old_id, new_id) : equality(made, "o.id", "n.id")},
        {"{check}", error_of_missing(made)},
    };
    StringInfoData body;
    initStringInfo(&body);
    for (std::string_view rest = kind.body; !rest.empty();) {
        const auto* const value =
            std::find_if(std::begin(values), std::end(values), [&](const auto& one) {
                return rest.starts_with(one.first);
            });
        if (value == std::end(values))
            appendStringInfoChar(&body, rest.front());
        else
            appendStringInfoString(&body, value->second);
        rest.remove_prefix(value == std::end(values) ? 1 : value->first.size());
    }
    return body.data;
}

} // namespace

const char* qualified(const band_table& made)
{
    return quote_qualified_identifier(made.schema, made.name);
}

const char* wanted_rows(const band_table& made)
{
    const char* const id = quoted_column(made.source, made.id);
    return psprintf(
        "SELECT pg_catalog.unnest(%s), s.%s FROM %s s WHERE s.%s IS NOT NULL ORDER BY 1, 2",
        keys_of(made, "s"),
        id,
        quoted_relation(made.source),
        id);
}

std::span<const upkeep_trigger> upkeep_triggers(const band_table& made)
{
    const std::span<const upkeep_kind> kinds = made.by_rows
                                                   ? std::span<const upkeep_kind>(row_kinds)
                                                   : std::span<const upkeep_kind>(statement_kinds);
    upkeep_trigger* const triggers =
        static_cast<upkeep_trigger*>(palloc(sizeof(upkeep_trigger) * kinds.size()));
    const char* const table = quote_literal_cstr(qualified(made));
    for (std::size_t i = 0; i < kinds.size(); i++) {
        const upkeep_kind& kind = kinds[i];
        const char* const name = makeObjectName(made.name, nullptr, kind.suffix);
        const char* const function = quote_qualified_identifier(made.schema, name);
        triggers[i] = {
            .name = name,
            .create_function = psprintf("CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql"
                                        " SET search_path TO pg_catalog, pg_temp SET jit TO off%s"
                                        " AS %s",
                                        function,
                                        kind.settings,
                                        quote_literal_cstr(body_of(made, kind))),
            .create_trigger = psprintf("CREATE TRIGGER %s AFTER %s ON %s %s"
                                       " WHEN (%s._lsh_require_band_table(%s::pg_catalog.regclass,"
                                       " %s::pg_catalog.text, '%s'::pg_catalog.text))"
                                       " EXECUTE FUNCTION %s()",
                                       quote_identifier(name),
                                       kind.event,
                                       quoted_relation(made.source),
                                       kind.rest,
                                       made.extension,
                                       table,
                                       table,
                                       kind.privileges,
                                       function),
        };
    }
    return {triggers, kinds.size()};
}

} // namespace minhash::pg
