#include "pg/errors.h"

namespace minhash::pg {

namespace {

// What to do about an argument, by its name.
const char* advice(std::string_view name)
{
    if (name == "num_hashes")
        return "128 hashes estimate a similarity of 0.8 with a standard error of 0.035.";
    if (name == "shingle_size")
        return "5 characters suit short and ordinary texts, 3 to 5 words long ones.";
    if (name == "bands" || name == "rows")
        return "Use lsh_params() to choose bands and rows for a threshold.";
    if (name == "recall")
        return "Recall is the share of the pairs at the threshold to be found, for instance 0.95.";
    if (name == "threshold" || name == "similarity")
        return "Similarities go from 0, nothing in common, to 1, the same shingles.";
    if (name == "steps")
        return "20 steps show the curve at 0.00, 0.05, 0.10 and so on.";
    return "Leave the argument out to get its default.";
}

const char* expectation(status what)
{
    switch (what) {
    case status::bad_method:
        return "the method \"fss\", \"classic\" or \"external\"";
    case status::bad_version:
        return "scheme version 1";
    case status::bad_num_hashes:
        return "a number of hashes between 16 and 4096";
    case status::bad_bits:
        return "1, 2, 4, 8, 16 or 32 bits per slot";
    case status::bad_unit:
        return "the unit \"char\", \"word\" or \"element\"";
    case status::bad_shingle_size:
        return "a shingle size between 1 and 255, or 1 of elements";
    case status::bad_flags:
        return "\"fold\" or \"raw\", then \"set\" or \"bag\"";
    case status::bad_seed:
        return "a 64-bit seed";
    case status::bad_length:
        return "as many slots as there are hashes, or none";
    case status::bad_digits:
        return "slots in hexadecimal digits";
    case status::bad_spare_bits:
        return "zeros behind the last slot";
    case status::ok:
        break;
    }
    return "nothing else";
}

// The front of what a user gave, where that is long.
const char* clip(const char* given)
{
    constexpr int shown = 60;
    const int bytes = static_cast<int>(strlen(given));
    return bytes <= shown ? given : psprintf("%.*s...", pg_mbcliplen(given, bytes, shown), given);
}

} // namespace

const char* describe(const scheme& scheme)
{
    char* const text = static_cast<char*>(palloc(max_text_prefix + 1));
    text[write_prefix(scheme, text)] = '\0';
    return text;
}

void fail_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("%s must be between %lld and %lld",
                   name,
                   static_cast<long long>(least),
                   static_cast<long long>(most)),
            errdetail("The value given is %lld.", static_cast<long long>(value)),
            errhint("%s", advice(name)));
    pg_unreachable();
}

void fail_fraction(const char* name, double value, const char* range)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("%s must be %s", name, range),
            errdetail("The value given is %s.", float8out_internal(value)),
            errhint("%s", advice(name)));
    pg_unreachable();
}

void fail_choice(const char* name, text* given, const char* choices)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("unrecognized %s: \"%s\"", name, clip(text_to_cstring(given))),
            errhint("The choices are %s.", choices));
    pg_unreachable();
}

void fail_weights()
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("weights must be finite, at least 0 and not both 0"),
            errhint("Equal weights of 0.5 are the usual choice."));
    pg_unreachable();
}

void fail_no_choice(double threshold, int num_hashes, double recall)
{
    ereport(
        ERROR,
        errcode(ERRCODE_INVALID_PARAMETER_VALUE),
        errmsg("no bands and rows of %d hashes find a share of %g of the pairs at similarity %g",
               num_hashes,
               recall,
               threshold),
        errhint("Use more hashes, a higher threshold or a lower recall."));
    pg_unreachable();
}

void fail_half_banding()
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("bands and rows must be specified together"),
            errhint("Use lsh_params() to choose them for a threshold, or leave both out."));
    pg_unreachable();
}

void fail_incomparable(const scheme& a, const scheme& b)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_EXCEPTION),
            errmsg("cannot compare signatures of different schemes"),
            errdetail("One is %s, the other %s.", describe(a), describe(b)),
            a.bits == b.bits
                ? errhint("Call minhash() with the same arguments for both.")
                : errhint("Compress both to the same number of bits, with minhash_compress()."));
    pg_unreachable();
}

void fail_no_relation(Oid relation)
{
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_TABLE),
            errmsg("relation with OID %u does not exist", relation),
            errhint("It may have been dropped just now."));
    pg_unreachable();
}

void fail_source_kind(Oid source, char kind)
{
    ereport(ERROR,
            errcode(ERRCODE_WRONG_OBJECT_TYPE),
            errmsg("\"%s\" cannot have a band table", get_rel_name(source)),
            errdetail_relkind_not_supported(kind),
            errhint("Ordinary and partitioned tables can. Copy the rows into one, or join "
                    "lsh_bands() by hand."));
    pg_unreachable();
}

void fail_inheritance(Oid source)
{
    ereport(ERROR,
            errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
            errmsg("\"%s\" cannot have a band table, as other tables inherit from it",
                   get_rel_name(source)),
            errhint("Use a partitioned table, or give each of the tables a band table."));
    pg_unreachable();
}

void fail_no_column(Oid source, const char* column)
{
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_COLUMN),
            errmsg("column \"%s\" of table \"%s\" does not exist", column, get_rel_name(source)),
            errhint("Give the columns' names with id_column => '...', signature_column => '...'."));
    pg_unreachable();
}

void fail_column_type(Oid source, AttrNumber column, const char* type)
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("column \"%s\" of table \"%s\" is of type %s, not %s",
                   get_attname(source, column, false),
                   get_rel_name(source),
                   format_type_be(get_atttype(source, column)),
                   type),
            errhint("Add a column: ALTER TABLE ... ADD COLUMN sig minhash_signature GENERATED "
                    "ALWAYS AS (minhash(...)) STORED."));
    pg_unreachable();
}

void fail_id_type(Oid source, AttrNumber column)
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("type %s of column \"%s\" cannot be an id",
                   format_type_be(get_atttype(source, column)),
                   get_attname(source, column, false)),
            errdetail("It has no order (default btree operator class), or no array type."),
            errhint("Choose another id_column."));
    pg_unreachable();
}

void fail_not_unique(Oid source, AttrNumber column)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_TABLE_DEFINITION),
            errmsg("column \"%s\" of table \"%s\" has no unique index",
                   get_attname(source, column, false),
                   get_rel_name(source)),
            errhint("Make it the primary key, or give it a unique constraint."));
    pg_unreachable();
}

void fail_null_argument(int argument, Oid function)
{
    ereport(ERROR,
            errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
            errmsg("argument %d of %s() must not be NULL", argument + 1, get_func_name(function)));
    pg_unreachable();
}

void fail_band_table_choice(Oid source, Oid chosen, int found, bool by_trigger)
{
    const char* const name = get_rel_name(source);
    if (found > 1)
        ereport(ERROR,
                errcode(ERRCODE_AMBIGUOUS_PARAMETER),
                errmsg("table \"%s\" has %d band tables", name, found),
                by_trigger
                    ? errhint("Choose one by the trigger's condition, WHEN ('...'::regclass IS NOT "
                              "NULL); lsh_band_tables lists them.")
                    : errhint("Choose one with band_table => '...'; lsh_band_tables lists them."));
    if (OidIsValid(chosen))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_OBJECT),
                errmsg("\"%s\" is no band table of table \"%s\"", get_rel_name(chosen), name),
                errhint("lsh_band_tables lists the band tables."));
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_OBJECT),
            errmsg("table \"%s\" has no band table", name),
            errhint("Make one with lsh_create_band_table()."));
    pg_unreachable();
}

void fail_result_type(Oid source, AttrNumber id, Oid wanted)
{
    const char* const actual = format_type_be(get_atttype(source, id));
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("ids of table \"%s\" are of type %s, which is not %s",
                   get_rel_name(source),
                   actual,
                   format_type_be(wanted)),
            errhint("Add the argument id_type => NULL::%s.", actual));
    pg_unreachable();
}

void fail_not_trigger(const char* function)
{
    ereport(ERROR,
            errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
            errmsg("%s() can only be called as a trigger", function));
    pg_unreachable();
}

void fail_maintaining_use(const char* trigger)
{
    ereport(ERROR,
            errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
            errmsg("trigger \"%s\" is not defined as its function needs it", trigger),
            errdetail("Triggers that keep a band table are defined by lsh_create_band_table()."),
            errhint("Drop the trigger."));
    pg_unreachable();
}

void fail_guard_use(const char* trigger, bool marks)
{
    ereport(ERROR,
            errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
            errmsg("trigger \"%s\" is not defined as its function needs it", trigger),
            errdetail("It must be AFTER INSERT or UPDATE, FOR EACH STATEMENT with REFERENCING NEW "
                      "TABLE%s or FOR EACH ROW, and its arguments are %s.",
                      marks ? " (for UPDATE also OLD TABLE)" : "",
                      marks ? "the threshold and the column to mark" : "the threshold"));
    pg_unreachable();
}

void fail_guard_level(const char* trigger)
{
    ereport(ERROR,
            errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
            errmsg("trigger \"%s\" must be FOR EACH STATEMENT", trigger),
            errdetail("The band table is kept by statement triggers, so a row trigger would not "
                      "compare the rows of one statement with each other."),
            errhint("Define it FOR EACH STATEMENT, with REFERENCING NEW TABLE AS new_rows."));
    pg_unreachable();
}

void fail_guard_order(const char* trigger, const char* other)
{
    ereport(ERROR,
            errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
            errmsg("trigger \"%s\" must fire after trigger \"%s\"", trigger, other),
            errdetail("Triggers fire in the order of their names."),
            errhint("Give it a name behind that one: ALTER TRIGGER ... RENAME TO ..."));
    pg_unreachable();
}

void fail_no_mark(Oid source, const char* column)
{
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_COLUMN),
            errmsg("column \"%s\" of table \"%s\" does not exist", column, get_rel_name(source)),
            errhint("The second argument of the trigger's function names the column to mark."));
    pg_unreachable();
}

void fail_mark_is_id(Oid source, AttrNumber id)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
            errmsg("column \"%s\" of table \"%s\" cannot be marked, as it is the id",
                   get_attname(source, id, false),
                   get_rel_name(source)),
            errhint("The column to mark holds the id of another row."));
    pg_unreachable();
}

void fail_mark_type(Oid source, AttrNumber mark, AttrNumber id)
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("column \"%s\" of table \"%s\" is of type %s, but ids are of type %s",
                   get_attname(source, mark, false),
                   get_rel_name(source),
                   format_type_be(get_atttype(source, mark)),
                   format_type_be(get_atttype(source, id))),
            errhint("The column to mark holds the id of another row."));
    pg_unreachable();
}

void fail_near_duplicate(Oid source,
                         const TriggerData& event,
                         const char* id,
                         const char* existing,
                         double similarity,
                         double threshold)
{
    ereport(ERROR,
            errcode(ERRCODE_UNIQUE_VIOLATION),
            errmsg("near-duplicate of an existing row of table \"%s\"", get_rel_name(source)),
            id != nullptr ? errdetail("Row %s has similarity %.3g to row %s; the limit is %.3g.",
                                      id,
                                      similarity,
                                      existing,
                                      threshold)
                          : errdetail("The limit is similarity %.3g.", threshold),
            errtableconstraint(event.tg_relation, event.tg_trigger->tgname));
    pg_unreachable();
}

void refuse_text(Node* context, const char* input, const parse_result& result)
{
    const std::size_t character =
        pg_mbstrlen_with_len(input, static_cast<int>(result.position)) + 1;
    errsave(context,
            (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
             errmsg("invalid input syntax for type %s: \"%s\"", "minhash_signature", clip(input)),
             errdetail("Expected %s at character %zu.", expectation(result.what), character),
             errhint("Signatures are made by minhash().")));
}

void refuse_typmod(Node* context, int expected, int actual)
{
    errsave(context,
            (errcode(ERRCODE_DATA_EXCEPTION),
             errmsg("expected a signature of %d hashes, not %d", expected, actual),
             errhint("Call minhash() with num_hashes => %d.", expected)));
}

namespace {

int bytes_detail(status what, std::size_t bytes)
{
    if (what == status::bad_length)
        return errdetail("Expected a header of %zu bytes and as many slots as it says, or none; "
                         "there are %zu bytes.",
                         header_bytes,
                         bytes);
    return errdetail("Expected %s.", expectation(what));
}

} // namespace

void fail_received(status what, std::size_t bytes)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
            errmsg("invalid binary signature"),
            bytes_detail(what, bytes),
            errhint("Signatures are made by minhash()."));
    pg_unreachable();
}

void fail_stored(status what, std::size_t bytes)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_CORRUPTED),
            errmsg("damaged signature"),
            bytes_detail(what, bytes),
            errhint("Make it again from its text, with minhash()."));
    pg_unreachable();
}

void fail_typmod_count()
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("invalid type modifier"),
            errhint("The modifier is the number of hashes, as in minhash_signature(128)."));
    pg_unreachable();
}

void fail_too_many_shingles(std::size_t most)
{
    ereport(ERROR,
            errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
            errmsg("texts have too many distinct shingles, or occurrences to return"),
            errdetail("At most %zu can be held.", most),
            errhint("Sign the texts with minhash() and estimate with minhash_similarity()."));
    pg_unreachable();
}

void fail_text_too_long(std::size_t most)
{
    ereport(ERROR,
            errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
            errmsg("texts are too long to be compared exactly"),
            errdetail("Folded and in UTF-8 they take more than %zu bytes.", most),
            errhint("Sign the texts with minhash() and estimate with minhash_similarity()."));
    pg_unreachable();
}

void fail_no_conversion(int encoding)
{
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_FUNCTION),
            errmsg("default conversion function for encoding \"%s\" to \"%s\" does not exist",
                   pg_encoding_to_char(encoding),
                   pg_encoding_to_char(PG_UTF8)),
            errhint("Use a database with the encoding UTF8."));
    pg_unreachable();
}

} // namespace minhash::pg
