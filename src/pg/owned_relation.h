// Work on a relation on behalf of its owner.
//
// Functions that act on a relation by SQL write its name into statements. Between the moment when a name is found and
// the moment when a statement uses it, others may give the name to something else, for instance to a view whose
// functions would then run with the caller's rights. Two rules keep this out. The relation is locked by its OID before
// anything is read about it, and then its name must still mean it; a locked relation cannot be renamed, moved or
// dropped. And the work is done as the owner of the relation, whoever calls. So what remains, renaming the schema, is
// possible only to roles that have the owner's rights anyway, or are trusted by all: the schema must belong to one of
// them.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "storage/lockdefs.h"
}

namespace minhash::pg {

// Locks a relation of the current user, or of a role whose privileges this user has, and returns its owner. An ERROR if
// the user has not these privileges, if the relation was changed while this waited for the lock, or if its schema
// belongs to somebody who could put something else in its place.
Oid lock_owned_relation(Oid relation, LOCKMODE mode);

// Until end_as_owner(), everything runs as this role, in a security-restricted operation if it is not the current user,
// and settings that are changed are restored, as in REFRESH MATERIALIZED VIEW. (An error restores both, too.)
struct as_owner {
    Oid former_user;
    int former_context;
    int settings;
};

as_owner begin_as_owner(Oid owner);
void end_as_owner(const as_owner& work);

// Calls the SQL function of the same name with a leading underscore, with the same arguments, as the owner of the
// relation that is the first argument. The relation is locked in this mode first, if any.
Datum call_as_owner(FunctionCallInfo fcinfo, LOCKMODE mode);

} // namespace minhash::pg
