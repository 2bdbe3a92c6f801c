#include "pg/band_table/guard_check.h"

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_trigger.h"
#include "rewrite/prs2lock.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace minhash::pg {

namespace {

// Whether a trigger puts rows into the band table on an event.
bool keeps(const Trigger& trigger, const band_table& settings, Oid maintaining, int event)
{
    return trigger.tgfoid == maintaining && watched_table(trigger) == settings.table &&
           (trigger.tgtype & event) != 0 &&
           (trigger.tgtype & TRIGGER_TYPE_BEFORE) == 0; // BEFORE: the settings
}

// Why marks cannot be written into a column; null if they can.
const char* find_flaw(const band_table& settings, AttrNumber mark)
{
    if (mark == settings.id)
        return "It is the column of ids.";
    if (mark == settings.scope)
        return "It is the scope of the band table.";
    const Oid id_type = get_atttype(settings.source, settings.id);
    const Oid type = get_atttype(settings.source, mark);
    if (getBaseType(type) != getBaseType(id_type))
        return psprintf("It is of type %s, but ids are of type %s.",
                        format_type_be(type),
                        format_type_be(id_type));
    const HeapTuple found =
        SearchSysCache2(ATTNUM, ObjectIdGetDatum(settings.source), Int16GetDatum(mark));
    if (!HeapTupleIsValid(found))
        elog(ERROR, "cache lookup failed for attribute %d of relation %u", mark, settings.source);
    const FormData_pg_attribute column = *reinterpret_cast<Form_pg_attribute>(GETSTRUCT(found));
    ReleaseSysCache(found);
    if (column.attgenerated != '\0')
        return "It is a generated column.";
    if (column.attidentity == ATTRIBUTE_IDENTITY_ALWAYS)
        return "It is an identity column, GENERATED ALWAYS.";
    if (column.attnotnull)
        return "It is NOT NULL, but rows that are near no other have no mark.";
    return nullptr;
}

// Rules rewrite the statements that users write, also that of marks.
bool has_update_rule(Oid source)
{
    const Relation relation = table_open(source, AccessShareLock);
    const RuleLock* const rules = relation->rd_rules;
    bool found = false;
    for (int i = 0; rules != nullptr && i < rules->numLocks; i++)
        found = found || rules->rules[i]->event == CMD_UPDATE;
    table_close(relation, AccessShareLock);
    return found;
}

} // namespace

void check_kept(Relation relation, const band_table& settings, Oid maintaining, int event)
{
    bool disabled = false;
    for (int i = 0; i < count_triggers(relation); i++) {
        const Trigger& trigger = relation->trigdesc->triggers[i];
        if (!keeps(trigger, settings, maintaining, event))
            continue;
        if (trigger.tgenabled != TRIGGER_DISABLED)
            return;
        disabled = true;
    }
    ereport(ERROR,
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("band table \"%s\" is not kept in step with table \"%s\"",
                   get_rel_name(settings.table),
                   RelationGetRelationName(relation)),
            errdetail("Its trigger for %s is %s.",
                      event == TRIGGER_TYPE_INSERT ? "INSERT" : "UPDATE",
                      disabled ? "disabled" : "missing"),
            disabled ? errhint("ALTER TABLE ... ENABLE TRIGGER, then lsh_refresh_band_table().")
                     : errhint("lsh_refresh_band_table() makes missing triggers."));
}

void check_order(const TriggerData& event, const band_table& settings, Oid maintaining)
{
    const TriggerDesc* const triggers = event.tg_relation->trigdesc;
    const char* const name = event.tg_trigger->tgname;
    const int event_type =
        TRIGGER_FIRED_BY_INSERT(event.tg_event) ? TRIGGER_TYPE_INSERT : TRIGGER_TYPE_UPDATE;
    for (int i = 0; i < triggers->numtriggers; i++) {
        const Trigger& other = triggers->triggers[i];
        if (!keeps(other, settings, maintaining, event_type) || TRIGGER_FOR_ROW(other.tgtype))
            continue;
        if (TRIGGER_FIRED_FOR_ROW(event.tg_event))
            ereport(ERROR,
                    errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("trigger \"%s\" must be FOR EACH STATEMENT", name),
                    errdetail("The band table is kept by statement triggers, so a row trigger "
                              "would not compare the rows of one statement with each other."),
                    errhint("Define it FOR EACH STATEMENT, with REFERENCING NEW TABLE AS "
                            "new_rows."));
        if (strcmp(name, other.tgname) < 0)
            ereport(ERROR,
                    errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("trigger \"%s\" must fire after trigger \"%s\"", name, other.tgname),
                    errdetail("Triggers fire in the order of their names."),
                    errhint("Rename it so that it sorts after that name: ALTER TRIGGER ... RENAME "
                            "TO ..."));
    }
}

AttrNumber find_mark_column(const band_table& settings, const char* name, const char* trigger)
{
    const char* const table = get_rel_name(settings.source);
    const AttrNumber mark = get_attnum(settings.source, name);
    if (mark <= 0)
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_COLUMN),
                errmsg("column \"%s\" of table \"%s\" does not exist", name, table),
                trigger != nullptr ? errdetail("Trigger \"%s\" is to write marks into it.", trigger)
                                   : 0,
                trigger != nullptr
                    ? errhint("Make the guard anew by lsh_drop_guard() and lsh_create_guard(), or "
                              "give the column its name back.")
                    : errhint("Marks need a column of their own, of the type of the id."));
    if (const char* const flaw = find_flaw(settings, mark))
        ereport(ERROR,
                errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
                errmsg("column \"%s\" of table \"%s\" cannot hold marks", name, table),
                errdetail("%s", flaw),
                errhint("Marks need a column of their own, of the type of the id."));
    if (has_update_rule(settings.source))
        ereport(ERROR,
                errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("near-duplicates cannot be marked in table \"%s\"", table),
                errdetail("It has a rule for UPDATE, which would take the place of the marks."),
                errhint("Use a trigger instead of the rule, or a guard that refuses rows."));
    return mark;
}

} // namespace minhash::pg
