// What users of the bulk functions can be told.
#include "pg/errors.h"

namespace minhash::pg {

void fail_query_columns(int columns, bool ranked)
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("query must return %s",
                   ranked ? "two or three columns: id, signature or text, and rank"
                          : "two columns: id and signature or text"),
            errdetail_plural("It returns %d column.", "It returns %d columns.", columns, columns),
            errhint("For instance: SELECT id, body FROM articles"));
    pg_unreachable();
}

void fail_query_ids(Oid actual, Oid wanted)
{
    const char* const type = format_type_be(actual);
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("ids of the query are of type %s, not %s", type, format_type_be(wanted)),
            errhint("Give NULL::%s as the second argument, or cast the ids in the query.", type));
    pg_unreachable();
}

void fail_query_values(Oid actual)
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("second column of the query is of type %s, not %s or text",
                   format_type_be(actual),
                   "minhash_signature"),
            errhint("Cast it to text, or sign it with minhash()."));
    pg_unreachable();
}

void fail_query_kinds()
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("both queries must return signatures, or both texts"));
    pg_unreachable();
}

void fail_many_statements()
{
    ereport(ERROR,
            errcode(ERRCODE_SYNTAX_ERROR),
            errmsg("query must be a single statement"),
            errhint("Combine several queries with UNION ALL."));
    pg_unreachable();
}

void fail_query_writes()
{
    ereport(ERROR,
            errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
            errmsg("query must be a SELECT that writes and locks nothing"),
            errhint("Write in a statement of its own, before or around this one."));
    pg_unreachable();
}

void fail_exact_signatures()
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("signatures cannot be verified exactly"),
            errhint("Let the query return texts, or leave out verify => 'exact'."));
    pg_unreachable();
}

void fail_rank_type(Oid type)
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("third column of the query, the rank, is of type %s, which has no order",
                   format_type_be(type)));
    pg_unreachable();
}

void fail_id_order(Oid type)
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("type %s has no order, so it cannot be an id", format_type_be(type)));
    pg_unreachable();
}

void fail_mixed_schemes(const char* id, const scheme& actual, const scheme& others)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_EXCEPTION),
            errmsg("signature of id %s is of another scheme than those before", id),
            errdetail("It is %s, the others %s.", describe(actual), describe(others)),
            errhint("Call minhash() with the same arguments for all."));
    pg_unreachable();
}

void fail_too_many_rows(std::uint64_t most)
{
    ereport(ERROR,
            errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
            errmsg("query returns too many rows"),
            errdetail("At most %llu can be taken.", static_cast<unsigned long long>(most)),
            errhint("Use a band table and its self-join."));
    pg_unreachable();
}

void fail_sweep(int most)
{
    ereport(ERROR,
            errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
            errmsg("arrays bands and rows must have the same number of values, none of them NULL"),
            errdetail("Between 1 and %d settings are allowed.", most),
            errhint("For instance: bands => '{20,16}', rows => '{5,8}'."));
    pg_unreachable();
}

void tell_skipped(std::uint64_t rows)
{
    ereport(NOTICE,
            errmsg_plural("%llu row with a NULL was left out",
                          "%llu rows with a NULL were left out",
                          static_cast<unsigned long>(rows),
                          static_cast<unsigned long long>(rows)));
}

void fail_temporary_file(const char* action)
{
    ereport(
        ERROR,
        errcode_for_file_access(),
        errmsg("could not %s temporary file: %m", action),
        errhint("Set maintenance_work_mem higher, or temp_tablespaces to where there is room."));
    pg_unreachable();
}

void tell_spilled(std::size_t bytes)
{
    ereport(NOTICE,
            errmsg("rows do not fit into maintenance_work_mem, so temporary files are used"),
            errhint("This is slower. Set maintenance_work_mem to '%zuMB' or more.",
                    bytes / (1024 * 1024) + 1));
}

void tell_large_buckets(std::uint64_t buckets, int max_bucket)
{
    ereport(NOTICE,
            errmsg_plural("%llu bucket of more than %d rows was left out",
                          "%llu buckets of more than %d rows were left out",
                          static_cast<unsigned long>(buckets),
                          static_cast<unsigned long long>(buckets),
                          max_bucket),
            errdetail("Pairs that meet in no other bucket are missing."),
            errhint("Leave max_bucket out to get them."));
}

void tell_progress(const char* phase, std::uint64_t done, std::uint64_t total)
{
    if (total == 0)
        ereport(NOTICE, errmsg("%s: %llu", phase, static_cast<unsigned long long>(done)));
    else
        ereport(NOTICE,
                errmsg("%s: %llu of %llu (%d %%)",
                       phase,
                       static_cast<unsigned long long>(done),
                       static_cast<unsigned long long>(total),
                       static_cast<int>(done * 100 / total)));
}

} // namespace minhash::pg
