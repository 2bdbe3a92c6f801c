#include "pg/band_table/maintaining_triggers.h"
#include "pg/band_table/source.h"
#include "pg/extension.h"

extern "C" {
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace minhash::pg {

namespace {

// A kind of trigger, as CREATE TRIGGER and as pg_trigger.tgtype have it.
struct trigger_kind {
    const char* suffix;
    const char* event;
    const char* rest;
    int type;
};

constexpr trigger_kind row_trigger = {
    "rows",
    "AFTER INSERT OR UPDATE OR DELETE",
    "FOR EACH ROW",
    TRIGGER_TYPE_ROW | TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE,
};

constexpr trigger_kind statement_triggers[] = {
    {"insert",
     "AFTER INSERT",
     "REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT",
     TRIGGER_TYPE_INSERT},
    {"update",
     "AFTER UPDATE",
     "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT",
     TRIGGER_TYPE_UPDATE},
    {"delete",
     "AFTER DELETE",
     "REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT",
     TRIGGER_TYPE_DELETE},
};

constexpr trigger_kind truncate_trigger = {
    "truncate",
    "BEFORE TRUNCATE",
    "FOR EACH STATEMENT",
    TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_TRUNCATE,
};

const char* trigger_name(Relation relation, Oid trigger)
{
    for (int i = 0; i < count_triggers(relation); i++)
        if (relation->trigdesc->triggers[i].tgoid == trigger)
            return pstrdup(relation->trigdesc->triggers[i].tgname);
    elog(ERROR, "trigger %u is missing", trigger);
}

struct trigger_writer {
    Oid table;
    const char* bare;     // the band table's name, unquoted and without its schema,
    const char* literal;  // and as a literal of SQL
    const char* function; // the trigger function, by name and OID
    Oid function_oid;
};

trigger_writer writer_for(FunctionCallInfo fcinfo, Oid table)
{
    return {
        .table = table,
        .bare = get_rel_name(table),
        .literal = quote_literal_cstr(quoted_relation(table)),
        .function = psprintf("%s.lsh_maintain_band_table", extension_schema(fcinfo)),
        .function_oid = maintaining_function(fcinfo),
    };
}

void add_trigger(const trigger_writer& writer,
                 Oid relation,
                 const char* name,
                 const char* event,
                 const char* rest,
                 const char* test,
                 const char* arguments)
{
    run_once(psprintf("CREATE OR REPLACE TRIGGER %s %s ON %s %s WHEN (%s::pg_catalog.regclass %s)"
                      " EXECUTE FUNCTION %s(%s)",
                      quote_identifier(name),
                      event,
                      quoted_relation(relation),
                      rest,
                      writer.literal,
                      test,
                      writer.function,
                      arguments));
}

// The name of the trigger of a kind that a relation has for the band table, not of one that a table
// above it has handed down; null without one.
const char* find_trigger(const trigger_writer& writer, Relation relation, const trigger_kind& kind)
{
    constexpr int kinds = TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT |
                          TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE | TRIGGER_TYPE_TRUNCATE;
    for (int i = 0; i < count_triggers(relation); i++) {
        const Trigger& trigger = relation->trigdesc->triggers[i];
        if (trigger.tgfoid == writer.function_oid && !trigger.tgisclone &&
            (trigger.tgtype & kinds) == kind.type && watched_table(trigger) == writer.table)
            return pstrdup(trigger.tgname);
    }
    return nullptr;
}

void add_if_missing(const trigger_writer& writer, Relation relation, const trigger_kind& kind)
{
    if (find_trigger(writer, relation, kind) == nullptr)
        add_trigger(writer,
                    RelationGetRelid(relation),
                    free_name(writer.bare, RelationGetRelid(relation), kind.suffix),
                    kind.event,
                    kind.rest,
                    "IS NOT NULL",
                    "");
}

void drop_if_there(const trigger_writer& writer, Relation relation, const trigger_kind& kind)
{
    if (const char* const found = find_trigger(writer, relation, kind))
        run_once(psprintf("DROP TRIGGER %s ON %s",
                          quote_identifier(found),
                          quoted_relation(RelationGetRelid(relation))));
}

const char* event_of_settings(const band_table& scheme)
{
    const bool scoped = scheme.scope != InvalidAttrNumber;
    return psprintf("BEFORE UPDATE OF %s, %s%s%s",
                    quoted_column(scheme.source, scheme.id),
                    quoted_column(scheme.source, scheme.signature),
                    scoped ? ", " : "",
                    scoped ? quoted_column(scheme.source, scheme.scope) : "");
}

void advise_without_triggers(void*)
{
    // Citus gives no code of its own, which makes it an internal error.
    if (geterrcode() == ERRCODE_FEATURE_NOT_SUPPORTED || geterrcode() == ERRCODE_INTERNAL_ERROR)
        errhint("Keep the band keys of such a table by hand: see doc/more-than-one-server.md.");
}

void tie(const ObjectAddress& object, const ObjectAddress& to, DependencyType how)
{
    deleteDependencyRecordsForSpecific(object.classId,
                                       object.objectId,
                                       static_cast<char>(how),
                                       to.classId,
                                       to.objectId);
    recordDependencyOn(&object, &to, how);
}

} // namespace

const char* free_name(const char* band_table, Oid relation, const char* suffix)
{
    const char* name = makeObjectName(band_table, nullptr, suffix);
    for (int i = 1; OidIsValid(get_trigger_oid(relation, name, true)); i++)
        name = makeObjectName(band_table, nullptr, psprintf("%s%d", suffix, i));
    return name;
}

void add_settings(FunctionCallInfo fcinfo, const band_table& scheme, const char* name)
{
    ErrorContextCallback advice = {error_context_stack, advise_without_triggers, nullptr};
    error_context_stack = &advice;
    add_trigger(writer_for(fcinfo, scheme.table),
                scheme.source,
                name,
                event_of_settings(scheme),
                "FOR EACH STATEMENT",
                "IS NULL",
                psprintf("%d, %d", scheme.shape.bands, scheme.shape.rows));
    error_context_stack = advice.previous;
}

void add_maintaining_triggers(FunctionCallInfo fcinfo, Oid table, Relation source)
{
    const trigger_writer writer = writer_for(fcinfo, table);
    if (needs_row_triggers(source)) {
        // Statement triggers are from the time before the source became a partition.
        for (const trigger_kind& kind : statement_triggers)
            drop_if_there(writer, source, kind);
        add_if_missing(writer, source, row_trigger);
    } else if (find_trigger(writer, source, row_trigger) == nullptr) {
        for (const trigger_kind& kind : statement_triggers)
            add_if_missing(writer, source, kind);
    }
    add_if_missing(writer, source, truncate_trigger);
    const List* const relations = find_all_inheritors(RelationGetRelid(source), NoLock, nullptr);
    for (int i = 1; i < list_length(relations); i++) { // after the source itself
        const Relation partition = table_open(list_nth_oid(relations, i), NoLock);
        if (partition->rd_rel->relkind == RELKIND_RELATION)
            add_if_missing(writer, partition, truncate_trigger);
        table_close(partition, NoLock);
    }
}

void tie_all(const band_table& scheme, Oid function)
{
    const ObjectAddress table = {RelationRelationId, scheme.table, 0};
    const ObjectAddress settings = {TriggerRelationId, scheme.settings, 0};
    const ObjectAddress extension = {ExtensionRelationId,
                                     getExtensionOfObject(ProcedureRelationId, function),
                                     0};
    const ObjectAddress source = {RelationRelationId, scheme.source, 0};
    tie(table, source, DEPENDENCY_AUTO);
    if (OidIsValid(extension.objectId))
        tie(table, extension, DEPENDENCY_NORMAL);

    const std::uint64_t triggers = run_once(psprintf(
        "SELECT t.oid FROM pg_catalog.pg_trigger t, pg_catalog.pg_depend d"
        " WHERE d.classid OPERATOR(pg_catalog.=) %u AND d.objid OPERATOR(pg_catalog.=) t.oid"
        " AND d.refclassid OPERATOR(pg_catalog.=) %u"
        " AND d.refobjid OPERATOR(pg_catalog.=) %u"
        " AND t.tgfoid OPERATOR(pg_catalog.=) %u AND t.oid OPERATOR(pg_catalog.<>) %u"
        " AND t.tgparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid",
        TriggerRelationId,
        RelationRelationId,
        scheme.table,
        function,
        scheme.settings));
    for (std::uint64_t i = 0; i < triggers; i++) {
        bool null;
        const Datum found = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &null);
        const ObjectAddress trigger = {TriggerRelationId, DatumGetObjectId(found), 0};
        tie(trigger, settings, DEPENDENCY_AUTO);
    }
}

void drop_settings(Relation source, const band_table& dropped)
{
    run_once(psprintf("DROP TRIGGER %s ON %s",
                      quote_identifier(trigger_name(source, dropped.settings)),
                      quoted_relation(dropped.source)));
}

} // namespace minhash::pg
