#include "pg/band_table/source.h"
#include "pg/lsh/bands.h"

extern "C" {
#include "access/genam.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

bool is_partitioned(Relation source)
{
    return source->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
}

} // namespace

Relation lock_source(Oid source, LOCKMODE mode)
{
    if (!owns_relation(source, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER,
                       get_relkind_objtype(get_rel_relkind(source)),
                       get_rel_name(source));
    const Relation relation = open_source(source, mode);
    find_all_inheritors(source, mode, nullptr);
    return relation;
}

identity act_for_owner(Relation source)
{
    const bool temporary = source->rd_rel->relpersistence == RELPERSISTENCE_TEMP;
    return act_as(source->rd_rel->relowner, temporary ? 0 : SECURITY_RESTRICTED_OPERATION);
}

bool needs_row_triggers(Relation source)
{
    return is_partitioned(source) || has_superclass(RelationGetRelid(source));
}

void check_source(Relation source)
{
    const char kind = source->rd_rel->relkind;
    if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
        ereport(ERROR,
                errcode(ERRCODE_WRONG_OBJECT_TYPE),
                errmsg("relation \"%s\" cannot have a band table", RelationGetRelationName(source)),
                errdetail_relkind_not_supported(kind),
                errhint("Use an ordinary or a partitioned table, or join lsh_bands() by hand."));
    if (kind == RELKIND_RELATION && has_subclass(RelationGetRelid(source)) &&
        list_length(find_all_inheritors(RelationGetRelid(source), NoLock, nullptr)) > 1)
        ereport(ERROR,
                errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("table \"%s\" cannot have a band table because other tables inherit from it",
                       RelationGetRelationName(source)),
                errhint("Use a partitioned table, or give each of the tables a band table."));
}

namespace {

[[noreturn]] void fail_no_column(Relation source, Name column, const char* hint)
{
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_COLUMN),
            errmsg("column \"%s\" of table \"%s\" does not exist",
                   NameStr(*column),
                   RelationGetRelationName(source)),
            errhint("%s", hint));
    pg_unreachable();
}

} // namespace

AttrNumber find_column(Relation source, Name column)
{
    const AttrNumber found = get_attnum(RelationGetRelid(source), NameStr(*column));
    if (found <= 0)
        fail_no_column(source,
                       column,
                       "Name the columns with id_column => '...' and signature_column => '...'. "
                       "With text_column => '...' the column of signatures is added.");
    return found;
}

AttrNumber find_scope_column(Relation source, const band_table& scheme, Name column)
{
    const AttrNumber found = get_attnum(RelationGetRelid(source), NameStr(*column));
    if (found <= 0)
        fail_no_column(source,
                       column,
                       "Name a column in which rows must be equal to be near each other.");
    if (found == scheme.id || found == scheme.signature)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
                errmsg("column \"%s\" of table \"%s\" cannot be the scope",
                       NameStr(*column),
                       RelationGetRelationName(source)),
                errdetail("It is the column of ids, or of signatures."),
                errhint("Name a column in which rows must be equal to be near each other."));
    const Oid type = get_atttype(scheme.source, found);
    if (!can_be_scope(type))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("column \"%s\" of type %s cannot be used as a scope",
                       NameStr(*column),
                       format_type_be(type)),
                errdetail("Type %s has no hash function that goes with its equality.",
                          format_type_be(type)),
                errhint("Add a column of another type, such as text, generated from it."));
    return found;
}

void check_unique(Relation source, AttrNumber column)
{
    if (is_partitioned(source))
        return;
    bool unique = false;
    const List* const indexes = RelationGetIndexList(source);
    for (int i = 0; !unique && i < list_length(indexes); i++) {
        const Relation index = index_open(list_nth_oid(indexes, i), AccessShareLock);
        const Form_pg_index form = index->rd_index;
        unique = form->indisunique && form->indisvalid && form->indimmediate &&
                 form->indnkeyatts == 1 && form->indkey.values[0] == column &&
                 RelationGetIndexPredicate(index) == NIL;
        index_close(index, AccessShareLock);
    }
    if (!unique)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_TABLE_DEFINITION),
                errmsg("column \"%s\" of table \"%s\" has no unique index",
                       get_attname(RelationGetRelid(source), column, false),
                       RelationGetRelationName(source)),
                errhint("Make it the primary key, or give it a unique constraint."));
}

void check_column_types(const band_table& scheme, Oid id_type, Oid signature)
{
    if (get_atttype(scheme.source, scheme.signature) != signature)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("column \"%s\" of table \"%s\" is of type %s, not minhash_signature",
                       get_attname(scheme.source, scheme.signature, false),
                       get_rel_name(scheme.source),
                       format_type_be(get_atttype(scheme.source, scheme.signature))),
                errhint("Add a column: ALTER TABLE ... ADD COLUMN sig minhash_signature GENERATED "
                        "ALWAYS AS (minhash(...)) STORED."));
    if (!OidIsValid(lookup_type_cache(id_type, TYPECACHE_BTREE_OPFAMILY)->btree_opf) ||
        !OidIsValid(get_array_type(id_type)))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("column \"%s\" of type %s cannot be used as an id",
                       get_attname(scheme.source, scheme.id, false),
                       format_type_be(id_type)),
                errdetail("Type %s has no default btree operator class, or no array type.",
                          format_type_be(id_type)),
                errhint("Choose another id_column."));
}

} // namespace minhash::pg
