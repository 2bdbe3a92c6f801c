// Refusing near-duplicates, or marking them, as they are written: trigger functions that look each
// new row up in the band table of its table.
//
// Two sessions that write near-copies at once cannot see each other's rows. So a row takes advisory
// locks on its band keys until its transaction ends: near-copies that the bands can find share a
// key, the second waits for the first, and then sees it. A transaction that would hold very many
// locks takes the whole table's instead; everybody else holds that in share mode.
#include "pg/band_table/lookup.h"
#include "pg/band_table/signature_rows.h"
#include "pg/band_table/statements.h"
#include "pg/errors.h"

#include "core/bands.h"

#include <algorithm>

namespace minhash::pg {

namespace {

// Of the about 6,400 that PostgreSQL has room for by its default settings, for all sessions.
constexpr int most_locks = 256;

// The fourth part of an advisory lock's tag; 1 and 2 are those of pg_advisory_lock().
constexpr std::uint16_t lock_space = 0x4c53;

// Locks taken by this session's current transaction. A rolled-back savepoint gives some back and
// leaves the count too high, which does no harm.
struct {
    TransactionId transaction;
    int count;
} held;

void lock(std::uint64_t name, LOCKMODE mode)
{
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag,
                         MyDatabaseId,
                         static_cast<std::uint32_t>(name >> 32),
                         static_cast<std::uint32_t>(name),
                         lock_space);
    LockAcquire(&tag, mode, false, false);
}

// Kept from row to row of one statement.
struct guard {
    band_table settings;
    Oid id_type;
    AttrNumber id; // columns of the relation that the trigger fired for
    AttrNumber signature;
    double threshold;
    AttrNumber mark;   // the source's column to mark rows in; 0 to refuse them
    AttrNumber marked; // the same of the relation
};

// Rows of one statement must find each other, so this trigger must come after the one that puts
// them into the band table.
void check_order(const TriggerData& event, const band_table& settings, Oid maintaining)
{
    const TriggerDesc* const triggers = event.tg_relation->trigdesc;
    const std::uint16_t same =
        TRIGGER_FIRED_BY_INSERT(event.tg_event) ? TRIGGER_TYPE_INSERT : TRIGGER_TYPE_UPDATE;
    const std::uint16_t others = TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE; // BEFORE: the settings
    for (int i = 0; i < triggers->numtriggers; i++) {
        const Trigger& other = triggers->triggers[i];
        if (other.tgfoid != maintaining || watched_table(other) != settings.table ||
            (other.tgtype & same) == 0 || (other.tgtype & others) != 0)
            continue;
        if (TRIGGER_FIRED_FOR_ROW(event.tg_event))
            fail_guard_level(event.tg_trigger->tgname);
        if (strcmp(event.tg_trigger->tgname, other.tgname) < 0)
            fail_guard_order(event.tg_trigger->tgname, other.tgname);
    }
}

// (IS DISTINCT FROM would take its operator from the user's search_path.)
const char* mark_sql(const guard& given)
{
    const Oid source = given.settings.source;
    const char* const mark = quoted_column(source, given.mark);
    const char* const equals = equality_of(given.id_type);
    return psprintf("UPDATE %s SET %s = $1 WHERE %s%s$2 AND"
                    " CASE WHEN $1 IS NULL THEN %s IS NOT NULL ELSE (%s%s$1) IS NOT TRUE END",
                    quoted_relation(source),
                    mark,
                    quoted_column(source, given.settings.id),
                    equals,
                    mark,
                    mark,
                    equals);
}

// Whether an UPDATE left id and signature as they were, and so nothing to judge.
bool stays(const guard& given, const signed_row (&rows)[2])
{
    if (!rows[before].has_id || !rows[after].has_id || rows[before].present != rows[after].present)
        return false;
    const TypeCacheEntry* const id_type = lookup_type_cache(given.id_type, 0);
    return datum_image_eq(rows[before].id, rows[after].id, id_type->typbyval, id_type->typlen) &&
           (!rows[after].present ||
            datum_image_eq(rows[before].stored, rows[after].stored, false, -1));
}

// Whether a row can be near others: no text is near nothing, and so is an empty one.
bool is_comparable(const signed_row& row)
{
    return row.present && !row.value.empty();
}

// Whether the row just read has a mark, and will lose it unless it is near another.
bool has_mark(const guard& given, const row_reader& reader, const signed_row& row)
{
    return given.mark != InvalidAttrNumber && row.has_id &&
           !slot_attisnull(reader.slots[after], given.marked);
}

// Locks the keys of all rows, in their order so that two statements do not wait for each other.
// Says whether there is anything to judge.
bool lock_rows(const guard& given, row_reader& reader)
{
    const std::uint64_t table = hash_combine64(0, given.settings.table);
    std::uint64_t names[most_locks];
    int count = 0;
    bool too_many = false;
    bool any_mark = false;
    if (held.transaction != GetTopTransactionId())
        held = {GetTopTransactionId(), 0};
    signed_row rows[2];
    while (!too_many && next_rows(reader, rows)) {
        const signed_row& row = rows[after];
        if (stays(given, rows))
            continue;
        any_mark = any_mark || has_mark(given, reader, row);
        if (!is_comparable(row))
            continue;
        const banding shape = given.settings.shape;
        check_bands(shape, row.value.scheme);
        too_many = held.count + count + shape.bands > most_locks;
        for (int band = 0; !too_many && band < shape.bands; band++)
            names[count++] =
                hash_combine64(table,
                               static_cast<std::uint64_t>(band_key(row.value, band, shape.rows)));
    }
    if (!too_many && count == 0)
        return any_mark;
    lock(table, too_many ? ExclusiveLock : ShareLock);
    if (too_many)
        return true;
    std::sort(names, names + count);
    for (int i = 0; i < count; i++)
        lock(names[i], ExclusiveLock);
    held.count += count;
    return true;
}

// Whether the session's user may see the rows that an error would name.
bool may_see(const guard& given, Oid user)
{
    const Oid source = given.settings.source;
    if (check_enable_rls(source, user, true) == RLS_ENABLED)
        return false;
    return pg_class_aclcheck(source, user, ACL_SELECT) == ACLCHECK_OK ||
           pg_attribute_aclcheck(source, given.settings.id, user, ACL_SELECT) == ACLCHECK_OK;
}

const char* id_text(const guard& given, Datum id)
{
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(given.id_type, &output, &is_varlena);
    return OidOutputFunctionCall(output, id);
}

// Another row, as it is found.
struct near_row {
    Datum id;
    double similarity;
};

struct guard_plans {
    SPIPlanPtr find;
    SPIPlanPtr set_mark;
};

// The rows of one statement in their order, found by their ids: a mark must not refer to one that
// is yet to be judged, and may be marked then.
struct queued_row {
    std::uint64_t id; // its hash
    std::uint64_t place;
};

struct row_queue {
    std::span<const queued_row> rows; // in the order of the hashes
    std::uint64_t judged;             // as many have been, or are just being
};

std::uint64_t hash_of_id(const guard& given, Datum id)
{
    const TypeCacheEntry* const type = lookup_type_cache(given.id_type, 0);
    const void* bytes = type->typbyval ? static_cast<void*>(&id) : DatumGetPointer(id);
    std::size_t size = type->typbyval ? sizeof(id) : static_cast<std::size_t>(type->typlen);
    if (type->typlen == -1) {
        const struct varlena* const whole = PG_DETOAST_DATUM_PACKED(id);
        bytes = VARDATA_ANY(whole);
        size = VARSIZE_ANY_EXHDR(whole);
    } else if (type->typlen == -2) {
        size = strlen(DatumGetCString(id));
    }
    return hash_bytes_extended(static_cast<const unsigned char*>(bytes), static_cast<int>(size), 0);
}

row_queue queue_rows(const guard& given, row_reader& reader)
{
    std::size_t room = 64;
    queued_row* queued = static_cast<queued_row*>(palloc(room * sizeof(queued_row)));
    std::size_t count = 0;
    signed_row rows[2];
    for (std::uint64_t place = 1; next_rows(reader, rows); place++) {
        if (stays(given, rows) || !is_comparable(rows[after]))
            continue;
        if (count == room) {
            room *= 2;
            queued = static_cast<queued_row*>(repalloc_huge(queued, room * sizeof(queued_row)));
        }
        const MemoryContext kept = MemoryContextSwitchTo(reader.memory);
        queued[count++] = {hash_of_id(given, rows[after].id), place};
        MemoryContextSwitchTo(kept);
    }
    std::sort(queued, queued + count, [](const queued_row& a, const queued_row& b) {
        return a.id < b.id;
    });
    return {{queued, count}, 0};
}

bool is_yet_to_be_judged(const guard& given, const row_queue& queue, Datum id)
{
    if (queue.rows.empty())
        return false;
    const std::uint64_t hash = hash_of_id(given, id);
    const auto found = std::lower_bound(
        queue.rows.begin(),
        queue.rows.end(),
        hash,
        [](const queued_row& row, std::uint64_t wanted) { return row.id < wanted; });
    return found != queue.rows.end() && found->id == hash && found->place > queue.judged;
}

guard_plans prepare(FunctionCallInfo fcinfo, const guard& given)
{
    const Oid find_types[] = {INT8ARRAYOID,
                              signature_type(fcinfo),
                              FLOAT8OID,
                              given.id_type,
                              INT8OID};
    const Oid mark_types[] = {given.id_type, given.id_type};
    const Oid source = given.settings.source;
    const bool marks = given.mark != InvalidAttrNumber;
    // Of several near-copies one stays unmarked, and marks refer to such rows only.
    const char* const others = psprintf("AND NOT (source.%s%s$4)%s%s%s ORDER BY 2 DESC, 1 LIMIT $5",
                                        quoted_column(source, given.settings.id),
                                        equality_of(given.id_type),
                                        marks ? " AND source." : "",
                                        marks ? quoted_column(source, given.mark) : "",
                                        marks ? " IS NULL" : "");
    return {
        prepare_once(near_rows(fcinfo, given.settings, 0, "", others), find_types),
        marks ? prepare_once(mark_sql(given), mark_types) : nullptr,
    };
}

void set_mark(const guard_plans& plans, Datum id, Datum other, bool none)
{
    Datum values[] = {other, id};
    run(plans.set_mark, values, none ? "n " : nullptr, false, snapshot::of_statement);
}

// Finds the nearest of the other rows; false if there is none.
bool find_nearest(const guard& given,
                  const guard_plans& plans,
                  const row_queue& queue,
                  const signed_row& row,
                  near_row& nearest)
{
    Datum values[] = {band_key_array(row.value, given.settings.shape),
                      row.stored,
                      Float8GetDatum(given.threshold),
                      row.id,
                      Int64GetDatum(1)};
    // Most often the first is no row of the same statement, or has been judged, and is enough.
    for (const char* const nulls : {"     ", "    n"}) {
        const std::uint64_t count = run(plans.find, values, nulls, true, snapshot::latest);
        for (std::uint64_t i = 0; i < count; i++) {
            bool null;
            const HeapTuple found = SPI_tuptable->vals[i];
            nearest.id = SPI_getbinval(found, SPI_tuptable->tupdesc, 1, &null);
            if (is_yet_to_be_judged(given, queue, nearest.id))
                continue;
            nearest.similarity =
                DatumGetFloat8(SPI_getbinval(found, SPI_tuptable->tupdesc, 2, &null));
            return true;
        }
        if (count == 0)
            break;
        SPI_freetuptable(SPI_tuptable);
    }
    return false;
}

// Whether a row is as it was written: a trigger that fired before may have changed or deleted it.
// What has become of it was judged as that was written.
bool is_current(const guard& given, const signed_row& row)
{
    const Oid source = given.settings.source;
    const Oid types[] = {given.id_type};
    Datum values[] = {row.id};
    const char* const sql = psprintf("SELECT source.%s FROM %s AS source WHERE source.%s%s$1",
                                     quoted_column(source, given.settings.signature),
                                     quoted_relation(source),
                                     quoted_column(source, given.settings.id),
                                     equality_of(given.id_type));
    const std::uint64_t count =
        run(prepare_once(sql, types), values, nullptr, true, snapshot::latest);
    bool found = false;
    for (std::uint64_t i = 0; i < count && !found; i++) {
        bool null;
        const Datum stored = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &null);
        found = null ? !row.present : row.present && datum_image_eq(stored, row.stored, false, -1);
    }
    SPI_freetuptable(SPI_tuptable);
    return found;
}

// Looks a row up; refuses it, or marks it.
void judge(const TriggerData& event,
           const guard& given,
           const guard_plans& plans,
           const row_queue& queue,
           const signed_row& row,
           bool has_mark,
           identity writer)
{
    near_row nearest;
    const bool found = find_nearest(given, plans, queue, row, nearest);
    SPITupleTable* const near = SPI_tuptable;
    if ((found || has_mark) && !is_current(given, row))
        return;
    if (found && given.mark == InvalidAttrNumber) {
        // Asked as the user: policies that are forced upon the owner are not upon triggers.
        act_again_as(writer);
        const bool named = may_see(given, writer.user);
        fail_near_duplicate(given.settings.source,
                            event,
                            named ? id_text(given, row.id) : nullptr,
                            named ? id_text(given, nearest.id) : nullptr,
                            nearest.similarity,
                            given.threshold);
    }
    if (found)
        set_mark(plans, row.id, nearest.id, false);
    else if (has_mark)
        set_mark(plans, row.id, 0, true);
    SPI_freetuptable(near);
}

AttrNumber mark_column(const guard& given, const char* name)
{
    const Oid source = given.settings.source;
    const AttrNumber mark = get_attnum(source, name);
    if (mark <= 0)
        fail_no_mark(source, name);
    if (mark == given.settings.id)
        fail_mark_is_id(source, mark);
    if (getBaseType(get_atttype(source, mark)) != getBaseType(given.id_type))
        fail_mark_type(source, mark, given.settings.id);
    return mark;
}

// Whether a trigger is told of the rows it needs. Marks are written by an UPDATE: that leaves
// signatures as they were, which must be seen, or it would be judged in the midst of the statement
// that it belongs to.
bool has_rows(const TriggerData& event, bool marks)
{
    return TRIGGER_FIRED_FOR_ROW(event.tg_event) ||
           (event.tg_newtable != nullptr &&
            (!marks || TRIGGER_FIRED_BY_INSERT(event.tg_event) || event.tg_oldtable != nullptr));
}

const guard& guard_of(FunctionCallInfo fcinfo, const TriggerData& event, bool marks)
{
    if (fcinfo->flinfo->fn_extra != nullptr)
        return *static_cast<const guard*>(fcinfo->flinfo->fn_extra);
    const Trigger& trigger = *event.tg_trigger;
    if (!TRIGGER_FIRED_AFTER(event.tg_event) || TRIGGER_FIRED_BY_DELETE(event.tg_event) ||
        TRIGGER_FIRED_BY_TRUNCATE(event.tg_event) || trigger.tgnargs != (marks ? 2 : 1) ||
        !has_rows(event, marks))
        fail_guard_use(trigger.tgname, marks);

    const Relation relation = event.tg_relation;
    const Oid maintaining = maintaining_function(fcinfo);
    guard given;
    given.settings = find_band_table_above(relation, watched_table(trigger), maintaining);
    check_order(event, given.settings, maintaining);
    given.id_type = get_atttype(given.settings.source, given.settings.id);
    given.id = partition_column(relation, given.settings, given.settings.id);
    given.signature = partition_column(relation, given.settings, given.settings.signature);
    given.threshold =
        DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(trigger.tgargs[0])));
    if (!(given.threshold >= 0 && given.threshold <= 1))
        fail_fraction("threshold", given.threshold, "between 0 and 1");
    given.mark = marks ? mark_column(given, trigger.tgargs[1]) : InvalidAttrNumber;
    given.marked =
        marks ? partition_column(relation, given.settings, given.mark) : InvalidAttrNumber;
    fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(given));
    return *static_cast<const guard*>(memcpy(fcinfo->flinfo->fn_extra, &given, sizeof(given)));
}

void judge_rows(FunctionCallInfo fcinfo,
                const TriggerData& event,
                const guard& given,
                row_reader& reader,
                identity writer)
{
    const guard_plans plans = prepare(fcinfo, given);
    row_queue queue = {};
    if (given.mark != InvalidAttrNumber && TRIGGER_FIRED_FOR_STATEMENT(event.tg_event)) {
        rewind_rows(reader);
        queue = queue_rows(given, reader);
    }
    rewind_rows(reader);
    signed_row rows[2];
    while (next_rows(reader, rows)) {
        queue.judged++;
        const signed_row& row = rows[after];
        if (stays(given, rows))
            continue;
        const bool marked = has_mark(given, reader, row);
        const MemoryContext kept = MemoryContextSwitchTo(reader.memory);
        if (is_comparable(row))
            judge(event, given, plans, queue, row, marked, writer);
        else if (marked && is_current(given, row))
            set_mark(plans, row.id, 0, true);
        MemoryContextSwitchTo(kept);
    }
}

Datum guard_rows(FunctionCallInfo fcinfo, const char* name, bool marks)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        fail_not_trigger(name);
    const TriggerData& event = *reinterpret_cast<const TriggerData*>(fcinfo->context);
    const guard& given = guard_of(fcinfo, event, marks);

    // A partition's owner, who may have defined this trigger, is not the source's.
    const identity former = act_as(
        event.tg_trigger->tgisclone ? given.settings.owner : event.tg_relation->rd_rel->relowner);
    SPI_connect();
    row_reader reader;
    open_rows(reader, &event, given.id, given.signature);
    if (lock_rows(given, reader))
        judge_rows(fcinfo, event, given, reader, former);
    close_rows(reader);
    SPI_finish();
    act_again_as(former);
    return PointerGetDatum(nullptr);
}

} // namespace

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
