// The parts of lsh_create_band_table() and of its triggers that SQL cannot do.
#include "pg/extension.h"
#include "pg/owned_relation.h"

extern "C" {
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"
}

namespace minhash::pg {

namespace {

// Makes an object depend on a table, so that DROP TABLE leaves nothing behind. A dump does not contain the dependency.
void tie(Oid object_class, Oid object, Oid table)
{
    const ObjectAddress tied = {object_class, object, 0};
    const ObjectAddress to = {RelationRelationId, table, 0};
    recordDependencyOn(&tied, &to, DEPENDENCY_AUTO);
}

// Makes a trigger depend on a column, so that PostgreSQL refuses to change the type of the column, and drops the column
// only together with the trigger. A dump does not contain the dependency.
void tie_to_column(Oid trigger, Oid table, AttrNumber column)
{
    const ObjectAddress tied = {TriggerRelationId, trigger, 0};
    const ObjectAddress to = {RelationRelationId, table, column};
    recordDependencyOn(&tied, &to, DEPENDENCY_NORMAL);
}

AttrNumber check_column(Relation relation, AttrNumber column)
{
    if (column < 1 || column > RelationGetNumberOfAttributes(relation))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_COLUMN),
                errmsg("table \"%s\" has no column %d", RelationGetRelationName(relation), column));
    return column;
}

void require_table_owner(Oid table)
{
    (void)quoted_relation(table); // raises an ERROR if there is no such table
    if (!owns_relation(table, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(table)), get_rel_name(table));
}

void require_function_owner(Oid function)
{
    const HeapTuple found = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(found))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("function with OID %u does not exist", function));
    const Oid owner = reinterpret_cast<Form_pg_proc>(GETSTRUCT(found))->proowner;
    ReleaseSysCache(found);
    if (!has_privs_of_role(GetUserId(), owner))
        aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FUNCTION, get_func_name(function));
}

} // namespace

// lsh_tie_band_table(source, band_table, functions, id_number, signature_number) -> void
//
// From now on, dropping the source also drops the band table. Dropping the band table also drops these functions, and
// the triggers of the source that call them. The columns of the source with these numbers (attnum) keep their types
// while the triggers exist.
MINHASH_FUNCTION(lsh_tie_band_table)
{
    const Oid source = PG_GETARG_OID(0);
    const Oid table = PG_GETARG_OID(1);
    require_table_owner(source);
    require_table_owner(table);
    tie(RelationRelationId, table, source);

    const Relation opened = relation_open(source, AccessShareLock);
    const AttrNumber id = check_column(opened, PG_GETARG_INT16(3));
    const AttrNumber signature = check_column(opened, PG_GETARG_INT16(4));
    // A copy, because recording a dependency can make PostgreSQL free the relation's own list.
    const TriggerDesc* const triggers = CopyTriggerDesc(opened->trigdesc);
    const ArrayIterator functions = array_create_iterator(PG_GETARG_ARRAYTYPE_P(2), 0, nullptr);
    Datum value;
    for (bool null; array_iterate(functions, &value, &null);) {
        const Oid function = DatumGetObjectId(value);
        require_function_owner(function);
        tie(ProcedureRelationId, function, table);
        for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
            const Trigger& trigger = triggers->triggers[i];
            if (trigger.tgfoid != function)
                continue;
            tie(TriggerRelationId, trigger.tgoid, table);
            tie_to_column(trigger.tgoid, source, id);
            tie_to_column(trigger.tgoid, source, signature);
        }
    }
    relation_close(opened, AccessShareLock);
    PG_RETURN_VOID();
}

// lsh_create_band_table(source, ...) -> regclass: see src/sql/60-band_table.sql
MINHASH_FUNCTION(lsh_create_band_table) { return call_as_owner(fcinfo, ShareRowExclusiveLock); }

// lsh_drop_band_table(band_table) -> void
//
// The band table is locked after its source, as by writers, who would otherwise wait for each other.
MINHASH_FUNCTION(lsh_drop_band_table) { return call_as_owner(fcinfo, NoLock); }

namespace {

// Whether a user has a privilege on a table, or on each of its columns (for instance by GRANT INSERT (key, id)).
bool has_privilege(Oid table, Oid user, AclMode mode)
{
    return pg_class_aclcheck(table, user, mode) == ACLCHECK_OK ||
           pg_attribute_aclcheck_all(table, user, mode, ACLMASK_ALL) == ACLCHECK_OK;
}

// Whether the name in a trigger function is still the name of the table, with its schema. Names are compared without
// their quotes, because the setting quote_all_identifiers decides whether a name has any.
bool is_name_of(const char* name, Oid table)
{
    List* parts;
    return SplitIdentifierString(pstrdup(name), '.', &parts) && list_length(parts) == 2 &&
           strcmp(static_cast<char*>(linitial(parts)), get_namespace_name(get_rel_namespace(table))) == 0 &&
           strcmp(static_cast<char*>(lsecond(parts)), get_rel_name(table)) == 0;
}

void require_usage(Oid schema)
{
    const Oid user = GetUserId();
    if (may_use_schema(schema, user))
        return;
    const char* const name = get_namespace_name(schema);
    ereport(ERROR,
            errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("permission denied for schema %s", name),
            errhint("GRANT USAGE ON SCHEMA %s TO %s;",
                    quote_identifier(name),
                    quote_identifier(GetUserNameFromId(user, false))));
}

} // namespace

// lsh_require_band_table(band_table, name, privileges) -> boolean
//
// Returns true, or raises an ERROR. Triggers call this function in their WHEN clause, so that a user who writes to the
// source sees which privilege is missing. The function also checks that the band table still has the name that the
// trigger functions use: if it was renamed, another table may now have that name. The table is locked first, as it will
// be by the trigger function, so that it keeps this name.
MINHASH_FUNCTION(lsh_require_band_table)
{
    const Oid table = PG_GETARG_OID(0);
    const char* const name = text_to_cstring(PG_GETARG_TEXT_PP(1));
    const char* const privileges = text_to_cstring(PG_GETARG_TEXT_PP(2));
    LockRelationOid(table, RowExclusiveLock);
    AcceptInvalidationMessages();
    const char* const current = quoted_relation(table); // raises an ERROR if there is no such table
    if (!is_name_of(name, table))
        ereport(ERROR,
                errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("band table %s is now %s", name, current),
                errdetail("The trigger functions refer to it by its old name."),
                errhint("Rename it back, or drop it by lsh_drop_band_table() and create another."));

    require_usage(get_func_namespace(fcinfo->flinfo->fn_oid)); // lsh_band_keys() is in the same schema
    require_usage(get_rel_namespace(table));

    constexpr struct {
        const char* name;
        AclMode mode;
    } known[] = {{"SELECT", ACL_SELECT}, {"INSERT", ACL_INSERT}, {"DELETE", ACL_DELETE}, {"TRUNCATE", ACL_TRUNCATE}};

    for (const auto& privilege : known)
        if (strstr(privileges, privilege.name) != nullptr && !has_privilege(table, GetUserId(), privilege.mode))
            ereport(ERROR,
                    errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("permission denied for table %s", get_rel_name(table)),
                    errhint("GRANT %s ON %s TO %s;",
                            privileges,
                            name,
                            quote_identifier(GetUserNameFromId(GetUserId(), false))));
    PG_RETURN_BOOL(true);
}

} // namespace minhash::pg
