#include "pg/arguments.h"
#include "pg/extension.h"
#include "pg/internal_call.h"
#include "pg/owned_relation.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace minhash::pg {

namespace {

FormData_pg_class form_of(Oid relation)
{
    const HeapTuple found = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(found))
        fail_no_relation(relation);
    const FormData_pg_class form = *reinterpret_cast<Form_pg_class>(GETSTRUCT(found));
    ReleaseSysCache(found);
    return form;
}

void require_owner(const FormData_pg_class& form)
{
    if (!owns_relation(form.oid, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(form.relkind), NameStr(form.relname));
}

// The owner in the catalog's row of this OID. (PostgreSQL 19 has a type of its own for the catalog's number.)
template <typename Row>
Oid owner_in(auto catalog, Oid id, Oid Row::*owner)
{
    const HeapTuple found = SearchSysCache1(catalog, ObjectIdGetDatum(id));
    if (!HeapTupleIsValid(found))
        elog(ERROR, "cache lookup failed for database or schema %u", id);
    const Oid of = reinterpret_cast<const Row*>(GETSTRUCT(found))->*owner;
    ReleaseSysCache(found);
    return of;
}

// The owner of a schema may rename it and make another of its name. Superusers and the owner of the database are
// trusted by all who use the database.
void require_trusted_schema(const FormData_pg_class& form)
{
    const Oid owner = owner_in(NAMESPACEOID, form.relnamespace, &FormData_pg_namespace::nspowner);
    if (owner == form.relowner || owner == ROLE_PG_DATABASE_OWNER ||
        owner == owner_in(DATABASEOID, MyDatabaseId, &FormData_pg_database::datdba) || superuser_arg(owner) ||
        isAnyTempNamespace(form.relnamespace))
        return;
    ereport(
        ERROR,
        errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
        errmsg("schema \"%s\" of table \"%s\" belongs to another role",
               get_namespace_name(form.relnamespace),
               NameStr(form.relname)),
        errdetail("Its owner, %s, could put another table in the place of this one.", GetUserNameFromId(owner, false)),
        errhint("Move the table to a schema of %s.", GetUserNameFromId(form.relowner, false)));
}

// Whether the relation's name, with its schema, still means this relation.
bool has_its_name(const FormData_pg_class& form)
{
    char* const schema = get_namespace_name(form.relnamespace);
    RangeVar* const name = makeRangeVar(schema, pstrdup(NameStr(form.relname)), -1);
    return schema != nullptr && RangeVarGetRelid(name, NoLock, true) == form.oid;
}

} // namespace

Oid lock_owned_relation(Oid relation, LOCKMODE mode)
{
    const FormData_pg_class before = form_of(relation);
    require_owner(before); // before the lock, because nobody may lock what is not theirs
    if (mode != NoLock)
        LockRelationOid(relation, mode);
    AcceptInvalidationMessages(); // also if the lock was held already
    const HeapTuple found = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    const bool same =
        HeapTupleIsValid(found) && reinterpret_cast<Form_pg_class>(GETSTRUCT(found))->relkind == before.relkind;
    if (HeapTupleIsValid(found))
        ReleaseSysCache(found);
    if (!same || !has_its_name(form_of(relation)))
        ereport(ERROR,
                errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("table \"%s\" was dropped or changed by another session", NameStr(before.relname)),
                errhint("Try again."));
    const FormData_pg_class form = form_of(relation);
    require_owner(form);
    require_trusted_schema(form);
    return form.relowner;
}

as_owner begin_as_owner(Oid owner)
{
    as_owner work;
    GetUserIdAndSecContext(&work.former_user, &work.former_context);
    if (owner != work.former_user)
        SetUserIdAndSecContext(owner, work.former_context | SECURITY_RESTRICTED_OPERATION);
    work.settings = NewGUCNestLevel();
    return work;
}

void end_as_owner(const as_owner& work)
{
    AtEOXact_GUC(false, work.settings);
    SetUserIdAndSecContext(work.former_user, work.former_context);
}

Datum call_as_owner(FunctionCallInfo fcinfo, LOCKMODE mode)
{
    const bool has_relation = !PG_ARGISNULL(0);
    const as_owner work = begin_as_owner(has_relation ? lock_owned_relation(PG_GETARG_OID(0), mode) : GetUserId());
    const Datum result = call_internal(fcinfo);
    end_as_owner(work);
    return result;
}

// lsh_locked_name(relation, exclusive) -> text
//
// For SQL functions that call_as_owner() calls: the name of a relation of the current user, quoted, which means the
// relation until the transaction ends. Locks the relation like ALTER TABLE or, unless `exclusive`, like CREATE TRIGGER.
MINHASH_FUNCTION(lsh_locked_name)
{
    const Oid relation = PG_GETARG_OID(0);
    const Oid owner = lock_owned_relation(relation, PG_GETARG_BOOL(1) ? AccessExclusiveLock : ShareRowExclusiveLock);
    if (owner != GetUserId())
        aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)), get_rel_name(relation));
    PG_RETURN_TEXT_P(cstring_to_text(quoted_relation(relation)));
}

} // namespace minhash::pg
