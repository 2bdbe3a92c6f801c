#include "pg/bulk/columns.h"
#include "pg/errors.h"
#include "pg/extension.h"

extern "C" {
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

// Whether values of this type are texts; else they are signatures.
bool are_texts(const bulk_call& call, Oid type)
{
    if (getBaseType(type) == call.signature_type)
        return false;
    if (!IsBinaryCoercible(getBaseType(type), TEXTOID))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("second query column has type %s, expected %s or text",
                       format_type_be(type),
                       format_type_be(call.signature_type)),
                errhint("Cast it to text, or sign it with minhash()."));
    return true;
}

// The type of a column, counted from 1; InvalidOid for none.
Oid type_of(TupleDesc columns, int column)
{
    return column > 0 ? TupleDescAttr(columns, column - 1)->atttypid : InvalidOid;
}

[[noreturn]] void fail_columns(const bulk_call& call, TupleDesc columns)
{
    StringInfoData names;
    initStringInfo(&names);
    for (int i = 0; i < columns->natts; i++)
        appendStringInfo(&names, "%s\"%s\"", i > 0 ? ", " : "", NameStr(TupleDescAttr(columns, i)->attname));
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("query must return id and signature or text, and may return %s",
                   call.wanted.ranked ? "columns named scope and rank" : "a column named scope"),
            columns->natts > 0 ? errdetail("It returns %s.", names.data) : errdetail("It returns no columns."),
            errhint("Use, for example, SELECT id, body%s FROM articles.",
                    call.wanted.ranked ? ", language AS scope, -length(body) AS rank" : ", language AS scope"));
}

// An ERROR if the call asks for what signatures cannot do.
void check_signatures(const bulk_request& wanted)
{
    if (wanted.texts_only != nullptr)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("query must return texts, not signatures"),
                errdetail("%s", wanted.texts_only),
                errhint("Let the query return the texts, without minhash()."));
    if (wanted.verify == verification::exact)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("signatures cannot be verified exactly"),
                errhint("Let the query return texts, or leave out verify => 'exact'."));
    if (wanted.signing != nullptr)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("%s cannot be given with signatures", wanted.signing),
                errdetail("It says how texts are signed; the query returns signatures."),
                errhint("Leave it out, or let the query return texts."));
}

} // namespace

void take_columns(bulk_call& call, TupleDesc columns)
{
    if (columns->natts < 2)
        fail_columns(call, columns);
    const int former_scope = call.scope_column;
    call.rank_column = 0;
    call.scope_column = 0;
    for (int column = 3; column <= columns->natts; column++) {
        const std::string_view name = NameStr(TupleDescAttr(columns, column - 1)->attname);
        int& known = name == "rank" && call.wanted.ranked ? call.rank_column : call.scope_column;
        if ((name != "rank" && name != "scope") || (name == "rank" && !call.wanted.ranked) || known > 0)
            fail_columns(call, columns);
        known = column;
    }
    const Oid id_type = TupleDescAttr(columns, 0)->atttypid;
    if (!OidIsValid(call.wanted.id_type))
        call.wanted.id_type = id_type;
    call.short_id = check_ids(call.wanted.id_type, id_type);
    const bool texts = are_texts(call, TupleDescAttr(columns, 1)->atttypid);
    const bool first = call.ids.type == InvalidOid;
    if (!first && texts != call.from_texts)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("both queries must return signatures, or both texts"));
    if (!texts)
        check_signatures(call.wanted);
    const Oid rank = type_of(columns, call.rank_column);
    const Oid scope = type_of(columns, call.scope_column);
    if (!first &&
        ((former_scope > 0) != (call.scope_column > 0) || (call.scope_column > 0 && scope != call.scopes.values.type)))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("both queries must return a column named scope, of one type, or neither"));
    call.wanted.ranked = OidIsValid(rank);
    if (OidIsValid(rank) && !OidIsValid(lookup_type_cache(rank, TYPECACHE_LT_OPR)->lt_opr))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an ordering operator for type %s", format_type_be(rank)),
                errdetail("The query's column rank needs an order."));
    if (!first)
        return;
    call.from_texts = texts;
    call.ids = open_datums(call.budget, call.wanted.id_type);
    if (call.wanted.lone_ids)
        call.lone_ids = open_datums(call.budget, call.wanted.id_type);
    if (call.wanted.ranked)
        call.ranks = open_datums(call.budget, rank);
    if (call.scope_column > 0)
        open_numbered(call.scopes, call, call.budget, scope);
}

} // namespace minhash::pg
