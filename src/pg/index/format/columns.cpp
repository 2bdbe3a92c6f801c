#include "pg/index/format/columns.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_index.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace minhash::pg::index {

namespace {

Oid type_of(Relation index, int column) { return TupleDescAttr(RelationGetDescr(index), column)->atttypid; }

bool can_be_equal(Relation index, int column)
{
    const Oid type = index->rd_opcintype[column];
    return OidIsValid(get_opfamily_member(index->rd_opfamily[column], type, type, equality));
}

// The hash function of a type; of the column's own if none is given. This need not be the type of the column, only one
// that PostgreSQL compares by the same operator. For instance, a column of type citext is by default compared as text.
FmgrInfo& hash_function(Relation index, int column, Oid type = InvalidOid)
{
    if (!OidIsValid(type))
        type = index->rd_opcintype[column];
    // If the operator takes values of several types, the value has the type of the column.
    if (IsPolymorphicType(type) || type == RECORDOID)
        type = type_of(index, column);
    TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO);
    if (!OidIsValid(entry->hash_proc))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify a hash function for type %s", format_type_be(type)));
    return entry->hash_proc_finfo;
}

std::uint32_t hash_value(Relation index, int column, Oid type, Datum value)
{
    return DatumGetUInt32(
        FunctionCall1Coll(&hash_function(index, column, type), index->rd_indcollation[column], value));
}

// Whether a unique index guarantees that all values of a column differ.
bool is_unique(Relation heap, AttrNumber column)
{
    bool is = false;
    ListCell* each;
    foreach (each, RelationGetIndexList(heap)) {
        const HeapTuple found = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(each)));
        if (!HeapTupleIsValid(found))
            continue;
        const auto* const index = reinterpret_cast<const FormData_pg_index*>(GETSTRUCT(found));
        is = is || (index->indisunique && index->indnkeyatts == 1 && index->indkey.values[0] == column &&
                    heap_attisnull(found, Anum_pg_index_indpred, nullptr));
        ReleaseSysCache(found);
    }
    return is;
}

// Whether nearly all values of a column differ, by the statistics of the last ANALYZE. False for a small table,
// because its rows say little about later rows.
bool is_nearly_unique(Relation heap, AttrNumber column)
{
    constexpr double nearly_all = 0.9;
    constexpr double enough_rows = 1000;
    if (heap->rd_rel->reltuples < enough_rows)
        return false;
    const HeapTuple found = SearchSysCache3(STATRELATTINH,
                                            ObjectIdGetDatum(RelationGetRelid(heap)),
                                            Int16GetDatum(column),
                                            BoolGetDatum(false));
    if (!HeapTupleIsValid(found))
        return false;
    // If stadistinct is negative, -stadistinct is the number of distinct values divided by the number of rows.
    const double distinct = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(found))->stadistinct;
    ReleaseSysCache(found);
    return distinct <= -nearly_all;
}

} // namespace

columns columns_of(Relation index)
{
    const int count = IndexRelationGetNumberOfKeyAttributes(index);
    columns found = {-1, 0};
    int signatures = 0;
    std::uint16_t* constraint = nullptr; // the strategies of the constraint's operators
    if (index->rd_index->indisexclusion) {
        Oid* operators;
        Oid* functions;
        RelationGetExclusionInfo(index, &operators, &functions, &constraint);
    }
    for (int column = 0; column < count; column++) {
        if (!can_be_equal(index, column)) {
            found.signature = column;
            signatures++;
        } else if (constraint == nullptr || constraint[column] == equality) {
            // If a constraint uses another operator for a column, such as <>, the column is not part of the scope.
            found.scope |= 1u << column;
        }
    }
    if (signatures != 1)
        ereport(ERROR,
                errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("index \"%s\" must have one column of type minhash_signature", RelationGetRelationName(index)),
                signatures == 0 ? errdetail("It has none. Rows must be equal in the other columns.")
                                : errdetail("It has %d. Rows must be equal in the other columns.", signatures),
                errhint("Index a text by an expression: USING lsh (minhash(body))."));
    return found;
}

void notice_unique_scope(Relation heap, Relation index, const columns& columns)
{
    const int2vector& indexed = index->rd_index->indkey;
    for (int column = 0; column < IndexRelationGetNumberOfKeyAttributes(index); column++) {
        if (!columns.in_scope(column) || indexed.values[column] <= 0) // an expression
            continue;
        const bool unique = is_unique(heap, indexed.values[column]);
        if (!unique && !is_nearly_unique(heap, indexed.values[column]))
            continue;
        const char* const name = NameStr(TupleDescAttr(RelationGetDescr(index), column)->attname);
        ereport(NOTICE,
                unique ? errmsg("index \"%s\" compares no rows with each other, because column \"%s\" is unique",
                                RelationGetRelationName(index),
                                name)
                       : errmsg("index \"%s\" compares few rows with each other, because column \"%s\" has another "
                                "value in nearly every row",
                                RelationGetRelationName(index),
                                name),
                errhint("Columns beside the signature are those in which rows must be equal. Leave the column out."));
    }
}

void require_hashes(Relation index, const columns& columns)
{
    for (int column = 0; column < IndexRelationGetNumberOfKeyAttributes(index); column++)
        if (columns.in_scope(column))
            (void)hash_function(index, column);
}

bool is_hashed_by(Relation index, int column, const ScanKeyData& key)
{
    const Oid left = index->rd_opcintype[column];
    const Oid right = OidIsValid(key.sk_subtype) ? key.sk_subtype : left;
    const Oid own = get_opfamily_member(index->rd_opfamily[column], left, right, equality);
    return OidIsValid(own) && get_opcode(own) == key.sk_func.fn_oid;
}

std::uint32_t
hash_scope(Relation index, const columns& columns, const Datum* values, const bool* nulls, const Oid* types)
{
    std::uint32_t hash = 0;
    const int count = IndexRelationGetNumberOfKeyAttributes(index);
    for (int column = 0; column < count; column++) {
        if (!columns.in_scope(column))
            continue;
        const Oid type = types != nullptr ? types[column] : InvalidOid;
        const std::uint32_t one = nulls[column] ? 0 : hash_value(index, column, type, values[column]);
        hash = hash_combine(hash, one);
    }
    return hash;
}

} // namespace minhash::pg::index
