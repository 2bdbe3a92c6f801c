#include "pg/bulk/suggest.h"
#include "pg/extension.h"

extern "C" {
#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/varlena.h"
}

namespace minhash::pg {

namespace {

// A column of a relation, or a row of several, as an SQL expression with its type.
struct column {
    const char* expression; // null: there is none
    Oid type;
};

column column_at(Relation relation, AttrNumber number)
{
    const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), number - 1);
    return {quote_identifier(NameStr(attribute->attname)), attribute->atttypid};
}

column column_named(Relation relation, const char* name)
{
    const AttrNumber number = name != nullptr ? get_attnum(RelationGetRelid(relation), name) : 0;
    return number > 0 ? column_at(relation, number) : column{nullptr, InvalidOid};
}

// The primary key; several columns make a row. Without a key, the column "id".
column primary_key(Relation relation)
{
    RelationGetIndexList(relation); // finds out what the primary key is
    if (!OidIsValid(relation->rd_pkindex))
        return column_named(relation, "id");
    const Relation index = relation_open(relation->rd_pkindex, AccessShareLock);
    const int count = index->rd_index->indnkeyatts;
    column key = column_at(relation, index->rd_index->indkey.values[0]);
    if (count > 1) {
        StringInfoData row;
        initStringInfo(&row);
        for (int i = 0; i < count; i++)
            appendStringInfo(&row,
                             "%s%s",
                             i == 0 ? "(" : ", ",
                             column_at(relation, index->rd_index->indkey.values[i]).expression);
        appendStringInfoChar(&row, ')');
        key = {row.data, RECORDOID};
    }
    relation_close(index, AccessShareLock);
    return key;
}

bool is_text(Oid type)
{
    return IsBinaryCoercible(getBaseType(type), TEXTOID);
}

// The first column of texts, or else of signatures, that is not in the key.
column compared_column(Relation relation, const column& key, Oid signature_type)
{
    column signatures = {nullptr, InvalidOid};
    const Bitmapset* const primary = RelationGetIndexAttrBitmap(relation, INDEX_ATTR_BITMAP_PRIMARY_KEY);
    const TupleDesc columns = RelationGetDescr(relation);
    for (AttrNumber number = 1; number <= columns->natts; number++) {
        const Form_pg_attribute attribute = TupleDescAttr(columns, number - 1);
        const column each = column_at(relation, number);
        if (attribute->attisdropped || bms_is_member(number - FirstLowInvalidHeapAttributeNumber, primary) ||
            (key.expression != nullptr && strcmp(each.expression, key.expression) == 0))
            continue;
        if (is_text(each.type))
            return each;
        if (signatures.expression == nullptr && getBaseType(each.type) == signature_type)
            signatures = each;
    }
    return signatures;
}

const char* name_of_relation(Relation relation)
{
    const Oid oid = RelationGetRelid(relation);
    const char* const schema = RelationIsVisible(oid) ? nullptr : get_namespace_name(RelationGetNamespace(relation));
    return quote_qualified_identifier(schema, RelationGetRelationName(relation));
}

bool has_rows(Oid relation)
{
    const char kind = get_rel_relkind(relation);
    return kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE || kind == RELKIND_VIEW ||
           kind == RELKIND_MATVIEW || kind == RELKIND_FOREIGN_TABLE;
}

} // namespace

Oid named_relation(const char* given, bool& is_name)
{
    List* parts;
    is_name = SplitIdentifierString(pstrdup(given), '.', &parts) && parts != NIL;
    if (!is_name || list_length(parts) > 2) // schema and table
        return InvalidOid;
    char* const name = static_cast<char*>(llast(parts));
    char* const schema = list_length(parts) == 2 ? static_cast<char*>(linitial(parts)) : nullptr;
    const Oid relation = RangeVarGetRelid(makeRangeVar(schema, name, -1), NoLock, true);
    return OidIsValid(relation) && has_rows(relation) ? relation : InvalidOid;
}

const char* suggest_call(const wanted_query& wanted, Oid relation)
{
    return suggest_call(wanted, relation, nullptr, nullptr);
}

const char* suggest_call(const wanted_query& wanted, Oid relation, const char* id, const char* text)
{
    const Relation opened = relation_open(relation, AccessShareLock);
    const char* const from = name_of_relation(opened);
    const char* columns = wanted.columns;
    const char* id_type = "";
    if (columns == nullptr) {
        column key = column_named(opened, id);
        if (key.expression == nullptr)
            key = primary_key(opened);
        column compared = column_named(opened, text);
        if (compared.expression == nullptr)
            compared = compared_column(opened, key, signature_type(wanted.function));
        columns = psprintf("%s, %s",
                           key.expression != nullptr ? key.expression : "id",
                           compared.expression != nullptr ? compared.expression : "body");
        const Oid type = getBaseType(key.type);
        if (key.expression != nullptr && !wanted.any_ids && type != INT8OID && type != INT4OID && type != INT2OID)
            id_type = psprintf(", NULL::%s", format_type_be(type));
    }
    relation_close(opened, AccessShareLock);
    const char* const query = psprintf("SELECT %s FROM %s", columns, from);
    return psprintf("SELECT * FROM %s(%s%s)", get_func_name(wanted.function), quote_literal_cstr(query), id_type);
}

// lsh_call_of_names(source, columns...): an ERROR that says what to write.
//
// The commonest first guesses are lsh_pairs('articles', 'id', 'body') and lsh_pairs('articles', 'body'). A literal
// after a real query is meant as the type of ids or as the threshold.
MINHASH_FUNCTION(lsh_call_of_names)
{
    const Oid function = fcinfo->flinfo->fn_oid;
    const char* const called = get_func_name(function);
    const bool any_ids = strcmp(called, "lsh_evaluate") == 0;
    const char* const source = PG_ARGISNULL(0) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(0));
    bool is_name = true;
    const Oid relation = source != nullptr ? named_relation(source, is_name) : InvalidOid;
    if (!is_name)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("argument after the query of %s() has neither a name nor a type", called),
                any_ids ? errhint("Name it: anchors => 2000.")
                        : errhint("Use threshold => 0.8 for the threshold, or NULL::uuid for ids of "
                                  "the type uuid."));

    Datum* names = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    if (!PG_ARGISNULL(1)) {
        ArrayType* const columns = PG_GETARG_ARRAYTYPE_P(1);
        deconstruct_array(columns, ARR_ELEMTYPE(columns), -1, false, TYPALIGN_INT, &names, &nulls, &count);
    }
    const auto name_at = [&](int i) {
        return i < 0 || i >= count || nulls[i] ? nullptr : TextDatumGetCString(names[i]);
    };
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("%s() takes a query, not the names of a table and its columns", called),
            errhint("Use %s.",
                    OidIsValid(relation)
                        ? suggest_call({function, nullptr, any_ids},
                                       relation,
                                       count > 1 ? name_at(0) : nullptr,
                                       name_at(count - 1))
                        : psprintf("SELECT * FROM %s('SELECT id, body FROM articles', threshold => 0.8)", called)));
}

} // namespace minhash::pg
