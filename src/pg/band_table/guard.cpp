// Refusing near-duplicates, or marking them, as they are written: the trigger functions.
//
// A guard compares with the rights of the owner of the table that it was created on. So it may tell
// the writer of rows that he may not read: an error names them only to users who may read their
// ids, and a mark refers only to rows that policies do not hide from the writer.
#include "pg/band_table/guard.h"
#include "pg/band_table/guard_check.h"
#include "pg/band_table/guard_locks.h"
#include "pg/band_table/guard_marks.h"
#include "pg/band_table/guard_search.h"
#include "pg/errors.h"
#include "pg/extension.h"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

// Whether a trigger is told of the rows it needs. Marks are written by an UPDATE: that leaves
// signatures as they were, which must be seen, or it would be judged in the midst of the statement
// that it belongs to.
bool has_rows(const TriggerData& event, bool marks)
{
    return TRIGGER_FIRED_FOR_ROW(event.tg_event) ||
           (event.tg_newtable != nullptr &&
            (!marks || TRIGGER_FIRED_BY_INSERT(event.tg_event) || event.tg_oldtable != nullptr));
}

void check_use(const TriggerData& event, bool marks)
{
    if (TRIGGER_FIRED_AFTER(event.tg_event) && !TRIGGER_FIRED_BY_DELETE(event.tg_event) &&
        !TRIGGER_FIRED_BY_TRUNCATE(event.tg_event) &&
        event.tg_trigger->tgnargs == (marks ? 2 : 1) && has_rows(event, marks))
        return;
    ereport(ERROR,
            errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
            errmsg("trigger \"%s\" is not defined correctly", event.tg_trigger->tgname),
            errdetail("It must be AFTER INSERT or UPDATE, FOR EACH STATEMENT with REFERENCING NEW "
                      "TABLE%s or FOR EACH ROW, and its arguments are %s.",
                      marks ? " (for UPDATE also OLD TABLE)" : "",
                      marks ? "the threshold and the column to mark" : "the threshold"));
}

Oid owner_of(Oid relation)
{
    const HeapTuple found = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(found))
        elog(ERROR, "cache lookup failed for relation %u", relation);
    const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(found))->relowner;
    ReleaseSysCache(found);
    return owner;
}

// The trigger that a partition's trigger was handed down from, if it was, and its relation.
bool read_parent(Relation triggers, Oid& trigger, Oid& relation)
{
    ScanKeyData key;
    ScanKeyInit(&key,
                Anum_pg_trigger_oid,
                BTEqualStrategyNumber,
                F_OIDEQ,
                ObjectIdGetDatum(trigger));
    const SysScanDesc scan =
        systable_beginscan(triggers, TriggerOidIndexId, true, nullptr, 1, &key);
    const HeapTuple found = systable_getnext(scan);
    if (!HeapTupleIsValid(found))
        elog(ERROR, "could not find tuple for trigger %u", trigger);
    const Form_pg_trigger form = reinterpret_cast<Form_pg_trigger>(GETSTRUCT(found));
    relation = form->tgrelid;
    trigger = form->tgparentid;
    systable_endscan(scan);
    return OidIsValid(trigger);
}

// The owner of the table that a trigger was created on. A partition, or a partitioned table between
// the source and it, may have another owner than the source, and triggers of his own.
Oid owner_of_trigger(const TriggerData& event)
{
    Oid trigger = event.tg_trigger->tgoid;
    Oid relation = RelationGetRelid(event.tg_relation);
    if (event.tg_trigger->tgisclone) {
        const Relation triggers = table_open(TriggerRelationId, AccessShareLock);
        while (read_parent(triggers, trigger, relation)) {
        }
        table_close(triggers, AccessShareLock);
    }
    return owner_of(relation);
}

guard read_guard(FunctionCallInfo fcinfo, const TriggerData& event, bool marks)
{
    check_use(event, marks);
    const Trigger& trigger = *event.tg_trigger;
    const Relation relation = event.tg_relation;
    const Oid maintaining = maintaining_function(fcinfo);
    guard given = {};
    given.settings =
        find_band_table_above(relation, {watched_table(trigger), maintaining, AccessShareLock});
    check_kept(relation,
               given.settings,
               maintaining,
               TRIGGER_FIRED_BY_INSERT(event.tg_event) ? TRIGGER_TYPE_INSERT : TRIGGER_TYPE_UPDATE);
    check_order(event, given.settings, maintaining);
    given.owner = owner_of_trigger(event);
    given.id_type = get_atttype(given.settings.source, given.settings.id);
    given.columns = columns_in(relation, given.settings);
    given.threshold =
        DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(trigger.tgargs[0])));
    if (!(given.threshold >= 0 && given.threshold <= 1))
        fail_fraction("threshold", given.threshold, "between 0 and 1");
    if (marks) {
        given.mark = find_mark_column(given.settings, trigger.tgargs[1], trigger.tgname);
        given.marked = partition_column(relation, given.settings, given.mark);
    }
    return given;
}

const guard& guard_of(FunctionCallInfo fcinfo, const TriggerData& event, bool marks)
{
    if (fcinfo->flinfo->fn_extra == nullptr)
        fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(guard));
    guard& given = *static_cast<guard*>(fcinfo->flinfo->fn_extra);
    if (const std::uint64_t seen = definitions_seen(); given.definitions != seen) {
        given = read_guard(fcinfo, event, marks);
        given.definitions = seen;
    }
    return given;
}

// Whether a user may see the rows that an error would name.
bool may_see(const guard& given, Oid user)
{
    const Oid source = given.settings.source;
    if (check_enable_rls(source, user, true) == RLS_ENABLED)
        return false;
    return pg_class_aclcheck(source, user, ACL_SELECT) == ACLCHECK_OK ||
           pg_attribute_aclcheck(source, given.settings.id, user, ACL_SELECT) == ACLCHECK_OK;
}

[[noreturn]] void refuse(const TriggerData& event,
                         const guard& given,
                         const signed_row& row,
                         const near_row& nearest,
                         Oid writer)
{
    ereport(ERROR,
            errcode(ERRCODE_UNIQUE_VIOLATION),
            errmsg("new row for table \"%s\" is a near-duplicate of an existing row",
                   get_rel_name(given.settings.source)),
            may_see(given, writer)
                ? errdetail("Row %s has similarity %.3g to row %s; the threshold is %.3g.",
                            output_of(given.id_type, row.id),
                            nearest.similarity,
                            output_of(given.id_type, nearest.id),
                            given.threshold)
                : errdetail("The threshold is similarity %.3g.", given.threshold),
            errtableconstraint(event.tg_relation, event.tg_trigger->tgname));
    pg_unreachable();
}

// Looks a row up; refuses it, or marks it.
void judge(const TriggerData& event,
           const guard_search& search,
           const signed_row& row,
           bool has_mark)
{
    const guard& given = *search.given;
    near_row nearest;
    const bool found = is_comparable(row) && find_nearest(search, row, nearest);
    if ((!found && !has_mark) || !is_current(given, row))
        return;
    if (given.marks()) {
        set_mark(given, search.writer, row.id, found ? &nearest.id : nullptr);
    } else {
        // Asked as the user: policies that are forced upon the owner are not upon triggers.
        act_again_as(search.writer);
        refuse(event, given, row, nearest, search.writer.user);
    }
}

void judge_rows(FunctionCallInfo fcinfo,
                const TriggerData& event,
                const guard& given,
                row_reader& reader,
                identity writer)
{
    if (given.marks())
        check_mark_rights(given, writer.user);
    guard_search search = open_search(fcinfo, given, writer);
    if (given.marks() && TRIGGER_FIRED_FOR_STATEMENT(event.tg_event)) {
        rewind_rows(reader);
        queue_rows(search, reader);
    }
    rewind_rows(reader);
    signed_row rows[2];
    while (next_rows(reader, rows)) {
        search.queue.judged++;
        const signed_row& row = rows[after];
        const bool marked = has_mark(given, reader, row);
        if (stays(given, rows) || (!is_comparable(row) && !marked))
            continue;
        const MemoryContext kept = MemoryContextSwitchTo(reader.memory);
        judge(event, search, row, marked);
        MemoryContextSwitchTo(kept);
    }
}

Datum guard_rows(FunctionCallInfo fcinfo, const char* name, bool marks)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        fail_not_trigger(name);
    const TriggerData& event = *reinterpret_cast<const TriggerData*>(fcinfo->context);
    // A copy: what runs in between may change definitions.
    const guard given = guard_of(fcinfo, event, marks);

    const identity writer = act_as(given.owner);
    SPI_connect();
    row_reader reader;
    open_rows(reader, &event, given.columns);
    if (lock_rows(given, reader))
        judge_rows(fcinfo, event, given, reader, writer);
    close_rows(reader);
    SPI_finish();
    act_again_as(writer);
    return PointerGetDatum(nullptr);
}

} // namespace

bool stays(const guard& given, const signed_row (&rows)[2])
{
    if (!rows[before].has_id || !rows[after].has_id || rows[before].present != rows[after].present)
        return false;
    const TypeCacheEntry* const id_type = lookup_type_cache(given.id_type, 0);
    return datum_image_eq(rows[before].id, rows[after].id, id_type->typbyval, id_type->typlen) &&
           (!rows[after].present ||
            (datum_image_eq(rows[before].stored, rows[after].stored, false, -1) &&
             same_scope(given, rows[before].scope, rows[after].scope)));
}

bool same_scope(const guard& given, Datum left, Datum right)
{
    if (given.columns.scope == InvalidAttrNumber)
        return true;
    const TypeCacheEntry* const type = lookup_type_cache(given.columns.scope_type, 0);
    return datum_image_eq(left, right, type->typbyval, type->typlen);
}

bool is_comparable(const signed_row& row)
{
    return row.present && !row.value.empty();
}

bool has_mark(const guard& given, const row_reader& reader, const signed_row& row)
{
    return given.marks() && row.has_id && !slot_attisnull(reader.slots[after], given.marked);
}

// Trigger functions: AFTER INSERT or UPDATE, for each statement REFERENCING NEW TABLE (and OLD
// TABLE, to skip rows whose signature stays; marks need it), or for each row of a partitioned
// table.

// lsh_reject_near_duplicates('<threshold>'): an ERROR if a row is near another.
MINHASH_FUNCTION(lsh_reject_near_duplicates)
{
    return guard_rows(fcinfo, "lsh_reject_near_duplicates", false);
}

// lsh_mark_near_duplicates('<threshold>', '<column>'): sets the column to the other row's id.
MINHASH_FUNCTION(lsh_mark_near_duplicates)
{
    return guard_rows(fcinfo, "lsh_mark_near_duplicates", true);
}

} // namespace minhash::pg
