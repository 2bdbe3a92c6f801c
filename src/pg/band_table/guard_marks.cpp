#include "pg/band_table/guard_marks.h"
#include "pg/extension.h"

extern "C" {
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace minhash::pg {

namespace {

bool has_right(Oid source, AttrNumber column, Oid user, AclMode right)
{
    return pg_class_aclcheck(source, user, right) == ACLCHECK_OK ||
           pg_attribute_aclcheck(source, column, user, right) == ACLCHECK_OK;
}

// (IS DISTINCT FROM would take its operator from the user's search_path.)
kept_plan& prepare_marking(const guard& given)
{
    const Oid source = given.settings.source;
    const char* const mark = quoted_column(source, given.mark);
    const char* const equals = equality_of(given.id_type);
    const Oid types[] = {given.id_type, given.id_type};
    return prepare_once(source,
                        psprintf("UPDATE %s SET %s = $1 WHERE %s%s$2 AND"
                                 " CASE WHEN $1 IS NULL THEN %s IS NOT NULL"
                                 " ELSE (%s%s$1) IS NOT TRUE END",
                                 quoted_relation(source),
                                 mark,
                                 quoted_column(source, given.settings.id),
                                 equals,
                                 mark,
                                 mark,
                                 equals),
                        types);
}

} // namespace

void check_mark_rights(const guard& given, Oid writer)
{
    const Oid source = given.settings.source;
    if (has_right(source, given.settings.id, writer, ACL_SELECT) &&
        has_right(source, given.mark, writer, ACL_SELECT) &&
        has_right(source, given.mark, writer, ACL_UPDATE))
        return;
    const char* const id = quoted_column(source, given.settings.id);
    const char* const mark = quoted_column(source, given.mark);
    ereport(
        ERROR,
        errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
        errmsg("permission denied to mark near-duplicates in table \"%s\"", get_rel_name(source)),
        errdetail("Marks are written with the rights of the user who writes the row."),
        errhint("GRANT SELECT (%s, %s), UPDATE (%s) ON %s TO %s;",
                id,
                mark,
                mark,
                quoted_relation(source),
                quote_identifier(GetUserNameFromId(writer, false))));
}

void set_mark(const guard& given, identity writer, Datum id, const Datum* other)
{
    kept_plan& plan = prepare_marking(given);
    Datum values[] = {other == nullptr ? 0 : *other, id};
    const identity guardian = act_again_as(writer);
    run(plan, values, other == nullptr ? "n " : nullptr, false, snapshot::of_statement);
    act_again_as(guardian);
}

} // namespace minhash::pg
