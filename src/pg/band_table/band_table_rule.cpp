// The rule by which a relation is believed to be a band table.
//
// A band table is written, emptied and dropped with the rights of its source's owner, whoever
// writes to the source. The trigger that names it proves nothing: anybody with the TRIGGER
// privilege on the source can define one. So the relation itself must show that the owner of the
// source meant it to be the band table of this source, and that nobody's code runs when it is
// written:
//
// 1. it is an ordinary table of the source's owner, no partition, and no table inherits from it;
// 2. its columns are (key bigint, id) without defaults, the id of the type of the source's id, and
//    the signature column of the source is of the type minhash_signature, its scope column, if
//    there is one, of a type that can be hashed;
// 3. its only constraint besides the primary key is the mark CHECK ('<source>'::regclass IS NOT
//    NULL). Only its owner can add a constraint, PostgreSQL keeps the source by OID, so that it can
//    be renamed, and pg_dump writes it;
// 4. it has no triggers, no rules, and no indexes of expressions or with predicates.
//
// All that acts on a band table comes by here: triggers, guards, lookups, refresh and drop.
#include "pg/band_table/band_table.h"
#include "pg/extension.h"
#include "pg/lsh/bands.h"

extern "C" {
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace minhash::pg {

namespace {

// Why a relation is not believed; no detail if it is.
struct flaw {
    const char* detail;
    const char* hint;
};

bool is_ordinary(Relation table)
{
    return !table->rd_rel->relispartition &&
           !(table->rd_rel->relhassubclass &&
             find_inheritance_children(RelationGetRelid(table), NoLock) != NIL);
}

bool is_column(Relation table, AttrNumber number, const char* name, Oid type)
{
    const Form_pg_attribute column = TupleDescAttr(RelationGetDescr(table), number - 1);
    return !column->attisdropped && !column->atthasdef && column->atttypid == type &&
           strcmp(NameStr(column->attname), name) == 0;
}

bool has_columns(Relation table, Oid id_type)
{
    return RelationGetNumberOfAttributes(table) == 2 && is_column(table, 1, "key", INT8OID) &&
           is_column(table, 2, "id", id_type);
}

bool is_marked(Relation table, Oid source)
{
    const TupleConstr* const constraints = RelationGetDescr(table)->constr;
    return constraints != nullptr && constraints->num_check == 1 &&
           tested_relation(constraints->check[0].ccbin, IS_NOT_NULL) == source;
}

// An index whose entries are computed by functions.
Oid find_computed_index(Relation table)
{
    const List* const indexes = RelationGetIndexList(table);
    for (int i = 0; i < list_length(indexes); i++) {
        const Oid index = list_nth_oid(indexes, i);
        const HeapTuple found = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
        if (!HeapTupleIsValid(found))
            continue;
        const bool computed = !heap_attisnull(found, Anum_pg_index_indexprs, nullptr) ||
                              !heap_attisnull(found, Anum_pg_index_indpred, nullptr);
        ReleaseSysCache(found);
        if (computed)
            return index;
    }
    return InvalidOid;
}

// The first trigger that counts; null without one. An internal trigger without a constraint is
// made by C code only, as Citus makes one that truncates shards.
const Trigger* find_trigger(Relation table)
{
    const TriggerDesc* const triggers = table->trigdesc;
    for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
        const Trigger& trigger = triggers->triggers[i];
        if (!trigger.tgisinternal || OidIsValid(trigger.tgconstraint))
            return &trigger;
    }
    return nullptr;
}

const char* name_of_owner(Oid owner)
{
    return GetUserNameFromId(owner, true);
}

flaw find_flaw(Relation table, const band_table& candidate, Oid function)
{
    const char* const source = get_rel_name(candidate.source);
    const char* const name = quoted_relation(candidate.table);
    if (!is_ordinary(table))
        return {"It is a partition, or another table inherits from it.", nullptr};
    const Oid id_type = get_atttype(candidate.source, candidate.id);
    if (!has_columns(table, id_type))
        return {psprintf("The columns of a band table of \"%s\" are key bigint and id %s, without "
                         "defaults.",
                         source,
                         format_type_be(id_type)),
                nullptr};
    if (get_atttype(candidate.source, candidate.signature) != signature_type(function))
        return {psprintf("Column \"%s\" of table \"%s\" is not of type minhash_signature.",
                         get_attname(candidate.source, candidate.signature, false),
                         source),
                nullptr};
    if (candidate.scope != InvalidAttrNumber &&
        !can_be_scope(get_atttype(candidate.source, candidate.scope)))
        return {psprintf("Column \"%s\" of table \"%s\" is of a type that cannot be hashed.",
                         get_attname(candidate.source, candidate.scope, false),
                         source),
                nullptr};
    if (!is_marked(table, candidate.source))
        return {psprintf("A band table of \"%s\" has one check constraint, %s.",
                         source,
                         mark_of(candidate.source)),
                nullptr};
    const Trigger* const trigger = find_trigger(table);
    if (trigger != nullptr && trigger->tgisinternal)
        return {"It takes part in a foreign key.", "Drop the foreign key."};
    if (trigger != nullptr)
        return {psprintf("It has the trigger \"%s\".", trigger->tgname),
                psprintf("DROP TRIGGER %s ON %s;", quote_identifier(trigger->tgname), name)};
    if (table->rd_rules != nullptr)
        return {"It has a rule.", psprintf("DROP RULE ... ON %s;", name)};
    if (const Oid index = find_computed_index(table))
        return {psprintf("Its index \"%s\" has expressions or a predicate.", get_rel_name(index)),
                psprintf("DROP INDEX %s;", quoted_relation(index))};
    // The last, so that only what is right in all else is recommended to be given away.
    if (table->rd_rel->relowner != candidate.owner)
        return {psprintf("Table \"%s\" belongs to role \"%s\", but \"%s\" to role \"%s\".",
                         source,
                         name_of_owner(candidate.owner),
                         RelationGetRelationName(table),
                         name_of_owner(table->rd_rel->relowner)),
                psprintf("ALTER TABLE %s OWNER TO %s;",
                         name,
                         quote_identifier(name_of_owner(candidate.owner)))};
    return {};
}

bool is_owners(const band_table& candidate)
{
    const HeapTuple found = SearchSysCache1(RELOID, ObjectIdGetDatum(candidate.table));
    const bool same =
        HeapTupleIsValid(found) &&
        reinterpret_cast<Form_pg_class>(GETSTRUCT(found))->relowner == candidate.owner;
    if (HeapTupleIsValid(found))
        ReleaseSysCache(found);
    return same;
}

// Opens what may be a band table. Only a table of the source's owner is locked as is asked for: no
// trigger may have other people's tables locked against their changes.
Relation open_candidate(const band_table& candidate, LOCKMODE lock)
{
    if (get_rel_relkind(candidate.table) != RELKIND_RELATION)
        return nullptr;
    return try_relation_open(candidate.table,
                             lock != NoLock && is_owners(candidate) ? lock : AccessShareLock);
}

const char* trigger_of(const band_table& candidate)
{
    const Relation source = table_open(candidate.source, AccessShareLock);
    const TriggerDesc* const triggers = source->trigdesc;
    const char* name = "";
    for (int i = 0; i < triggers->numtriggers; i++)
        if (triggers->triggers[i].tgoid == candidate.settings)
            name = pstrdup(triggers->triggers[i].tgname);
    table_close(source, AccessShareLock);
    return name;
}

[[noreturn]] void complain_of(const band_table& candidate, const flaw& found)
{
    const char* const trigger = trigger_of(candidate);
    ereport(ERROR,
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("relation \"%s\" cannot be the band table of table \"%s\"",
                   get_rel_name(candidate.table),
                   get_rel_name(candidate.source)),
            errdetail("%s", found.detail),
            found.hint != nullptr
                ? errhint("%s", found.hint)
                : errhint("Trigger \"%s\" names it. Drop that trigger, which only "
                          "lsh_create_band_table() creates: DROP TRIGGER %s ON %s;",
                          trigger,
                          quote_identifier(trigger),
                          quoted_relation(candidate.source)));
    pg_unreachable();
}

} // namespace

const char* mark_of(Oid source)
{
    return psprintf("CHECK (%s::pg_catalog.regclass IS NOT NULL)",
                    quote_literal_cstr(quoted_relation(source)));
}

bool is_band_table(const band_table& candidate, const band_table_search& wanted, bool complain)
{
    // Others may hold a lock on their table, for which nobody is to wait.
    if (!complain && !is_owners(candidate))
        return false;
    const Relation table = open_candidate(candidate, wanted.lock);
    const flaw found = table == nullptr ? flaw{"It is not an ordinary table.", nullptr}
                                        : find_flaw(table, candidate, wanted.function);
    if (complain && found.detail != nullptr)
        complain_of(candidate, found);
    if (table != nullptr)
        relation_close(table, wanted.lock == NoLock ? AccessShareLock : NoLock);
    return found.detail == nullptr;
}

} // namespace minhash::pg
