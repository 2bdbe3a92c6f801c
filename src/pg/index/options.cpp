#include "pg/errors.h"
#include "pg/index/format/format.h"
#include "pg/index/options.h"

#include <algorithm>

extern "C" {
#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

namespace minhash::pg::index {

namespace {

// The options as PostgreSQL parses them. Each default lies outside the option's valid range and means "not given".
struct index_options {
    std::int32_t length; // the length word of a varlena
    int bands;
    int rows;
    double threshold;
};

constexpr index_options not_given = {0, 0, 0, -1};

relopt_kind option_kind;
object_access_hook_type next_hook; // the hook that another module set before this one, or null

// A search may use only the first rows of each band. With this number of bands, its recall is at least 95% both at a
// similarity of 0.5 with 3 rows, and at a similarity of 0.6 with 4 rows. No smaller number reaches both.
constexpr int default_bands = 23;
constexpr int default_rows = 5;

// Members that later versions of PostgreSQL add stay zero.
relopt_parse_elt option(const char* name, relopt_type type, int offset)
{
    relopt_parse_elt made = {};
    made.optname = name;
    made.opttype = type;
    made.offset = offset;
    return made;
}

// Reads the options in a row of pg_class. (heap_getattr() is inlined, and since November 2026 calls a function that
// earlier minor releases of the server do not have.)
index_options options_of(HeapTuple row)
{
    bool none;
    const Datum stored = SysCacheGetAttr(RELOID, row, Anum_pg_class_reloptions, &none);
    const bytea* const parsed = none ? nullptr : parse_options(stored, false);
    return parsed != nullptr ? *reinterpret_cast<const index_options*>(parsed) : not_given;
}

[[noreturn]] void fail_options_changed(const FormData_pg_class& index)
{
    ereport(ERROR,
            errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
            errmsg("cannot change options of lsh index \"%s\"", NameStr(index.relname)),
            errdetail("Its contents were made with its old options."),
            errhint("Create another index, or constraint, with the options wanted, and drop this one."));
}

// An ERROR if the row of pg_class that was just written changes the options of an lsh index. The catalogue cache still
// has the old row.
void refuse_changed_options(Oid relation)
{
    const HeapTuple before = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(before))
        return;
    const auto& old = *reinterpret_cast<const FormData_pg_class*>(GETSTRUCT(before));
    if (old.relkind == RELKIND_INDEX && GetIndexAmRoutineByAmId(old.relam, false)->amoptions == parse_options) {
        const Relation catalogue = table_open(RelationRelationId, AccessShareLock);
        ScanKeyData key;
        ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
        const SysScanDesc scan = systable_beginscan(catalogue, ClassOidIndexId, true, SnapshotSelf, 1, &key);
        const HeapTuple after = systable_getnext(scan);
        if (HeapTupleIsValid(after)) {
            const index_options was = options_of(before);
            const index_options is = options_of(after);
            if (was.bands != is.bands || was.rows != is.rows || was.threshold != is.threshold)
                fail_options_changed(old);
        }
        systable_endscan(scan);
        table_close(catalogue, AccessShareLock);
    }
    ReleaseSysCache(before);
}

// PostgreSQL calls this when an object has been changed. By then, ALTER INDEX has looked up the access method of the
// index, and has thereby loaded this library.
void see_access(ObjectAccessType access, Oid kind, Oid object, int part, void* argument)
{
    if (next_hook != nullptr)
        next_hook(access, kind, object, part, argument);
    if (access == OAT_POST_ALTER && kind == RelationRelationId && part == 0)
        refuse_changed_options(object);
}

} // namespace

void define_options()
{
    next_hook = object_access_hook;
    object_access_hook = see_access;
    option_kind = add_reloption_kind();
    add_int_reloption(option_kind,
                      "bands",
                      "number of bands",
                      not_given.bands,
                      1,
                      max_num_hashes,
                      ShareUpdateExclusiveLock);
    add_int_reloption(option_kind, "rows", "rows of a band", not_given.rows, 1, max_rows, ShareUpdateExclusiveLock);
    add_real_reloption(option_kind,
                       "threshold",
                       "least similarity of rows that an exclusion constraint refuses",
                       not_given.threshold,
                       0,
                       1,
                       ShareUpdateExclusiveLock);
}

bytea* parse_options(Datum given, bool validate)
{
    const relopt_parse_elt known[] = {
        option("bands", RELOPT_TYPE_INT, offsetof(index_options, bands)),
        option("rows", RELOPT_TYPE_INT, offsetof(index_options, rows)),
        option("threshold", RELOPT_TYPE_REAL, offsetof(index_options, threshold)),
    };
    const auto* const options = static_cast<const index_options*>(
        build_reloptions(given, validate, option_kind, sizeof(index_options), known, lengthof(known)));
    if (validate && options != nullptr && (options->bands == not_given.bands) != (options->rows == not_given.rows))
        fail_half_banding();
    return reinterpret_cast<bytea*>(const_cast<index_options*>(options));
}

double constraint_threshold(Relation index)
{
    // This value must never change: if a constraint was made without the option, its dump does not state a threshold.
    constexpr double default_threshold = 0.8;

    const auto* const options = reinterpret_cast<const index_options*>(index->rd_options);
    const bool is_given = options != nullptr && options->threshold != not_given.threshold;
    if (index->rd_index->indisexclusion)
        return is_given ? options->threshold : default_threshold;
    if (is_given)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("only an exclusion constraint has a threshold of its own"),
                errhint("Other lsh indexes serve every threshold. Leave the option out."));
    return no_threshold;
}

banding banding_for(Relation index, const scheme& scheme)
{
    const auto* const options = reinterpret_cast<const index_options*>(index->rd_options);
    if (options != nullptr && options->bands != not_given.bands) {
        const banding banding = {options->bands, options->rows};
        check_bands(banding, scheme);
        return banding;
    }
    // With few hashes, bands have fewer rows, so that there are at least 5 bands. Otherwise, texts that share half of
    // their slots would hardly ever be found.
    const int rows = std::min(default_rows, scheme.num_hashes / 5);
    return {std::min(default_bands, scheme.num_hashes / rows), rows};
}

} // namespace minhash::pg::index
