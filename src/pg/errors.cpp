// Errors that several functions report, and the words in which errors describe values.
#include "pg/errors.h"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
}

namespace minhash::pg {

namespace {

// A hint for a value out of range. The hint depends on the name of the argument.
const char* advice(std::string_view name)
{
    if (name == "num_hashes")
        return "128 hashes estimate a similarity of 0.8 with a standard error of 0.035. In functions of texts, "
               "shingle_size is the size of shingles.";
    if (name == "shingle_size")
        return "5 characters suit short and ordinary texts, 3 to 5 words long ones.";
    if (name == "bands" || name == "rows")
        return "Use lsh_params() to choose bands and rows for a threshold.";
    if (name == "recall")
        return "Recall is the share of the pairs at the threshold to be found, for instance 0.95.";
    if (name == "threshold" || name == "similarity")
        return "A similarity lies between 0 (no common shingle) and 1 (the same shingles).";
    if (name == "steps")
        return "20 steps show the curve at 0.00, 0.05, 0.10 and so on.";
    return "Leave the argument out to get its default.";
}

// A hint for two signatures of different schemes. The first difference that is found here determines the hint.
int hint_for(const scheme& a, const scheme& b)
{
    const bool external = a.method == method::external;
    const bool elements = a.shingles.of == unit::element;
    if (a.bits != b.bits)
        return errhint("Compress both to the same number of bits, with minhash_compress().");
    if (external != (b.method == method::external))
        return errhint("Signatures from minhash_from_values() can only be compared with each other.");
    if (external)
        return errhint("Call minhash_from_values() with the same seed and number of values for both.");
    if (elements != (b.shingles.of == unit::element))
        return errhint(
            "One is of a text, the other of given elements: call minhash() for both, or minhash_elements().");
    return elements ? errhint("Call minhash_elements() with the same arguments for both.")
                    : errhint("Call minhash() with the same arguments for both.");
}

// What the input of a signature should have contained, for messages of the form "Expected %s."
const char* expectation(status what)
{
    switch (what) {
    case status::bad_method:
        return "the method \"fss\", \"classic\" or \"external\"";
    case status::bad_version:
        return "scheme version 1";
    case status::bad_num_hashes:
        return "a number of hashes between 8 and 4096";
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
        return "zeros after the last slot";
    case status::ok:
        break;
    }
    return "nothing else";
}

int bytes_detail(status what, std::size_t bytes)
{
    if (what == status::bad_length)
        return errdetail("Expected a header of %zu bytes and as many slots as it says, or none; there are %zu bytes.",
                         header_bytes,
                         bytes);
    return errdetail("Expected %s.", expectation(what));
}

} // namespace

const char* clip(const char* given)
{
    constexpr int shown = 60;
    const int bytes = static_cast<int>(strlen(given));
    return bytes <= shown ? given : psprintf("%.*s...", pg_mbcliplen(given, bytes, shown), given);
}

const char* describe(const scheme& scheme)
{
    char* const text = static_cast<char*>(palloc(max_text_prefix + 1));
    text[write_prefix(scheme, text)] = '\0';
    return text;
}

void fail_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most)
{
    ereport(
        ERROR,
        errcode(ERRCODE_INVALID_PARAMETER_VALUE),
        errmsg("%s must be between %lld and %lld", name, static_cast<long long>(least), static_cast<long long>(most)),
        errdetail("The value given is %lld.", static_cast<long long>(value)),
        errhint("%s", advice(name)));
}

void fail_fraction(const char* name, double value, const char* range)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("%s must be %s", name, range),
            errdetail("The value given is %s.", float8out_internal(value)),
            errhint("%s", advice(name)));
}

void fail_choice(const char* name, text* given, const char* choices)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("unrecognized %s: \"%s\"", name, clip(text_to_cstring(given))),
            errhint("The choices are %s.", choices));
}

void fail_no_choice(double threshold, int num_hashes, double recall)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("no combination of bands and rows reaches recall %.10g at similarity %g with %d hashes",
                   recall,
                   threshold,
                   num_hashes),
            threshold > 0 ? errhint("Use more hashes, a higher threshold or a lower recall.")
                          : errhint("Use a threshold above 0, or choose bands and rows yourself."));
}

void fail_half_banding()
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("bands and rows must be specified together"),
            errhint("Use lsh_params() to choose them for a threshold, or leave both out."));
}

void fail_incomparable(const scheme& a, const scheme& b)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_EXCEPTION),
            errmsg("cannot compare signatures of different schemes"),
            errdetail("One is %s, the other %s.", describe(a), describe(b)),
            hint_for(a, b));
}

void refuse_null(FunctionCallInfo fcinfo, int argument)
{
    if (PG_ARGISNULL(argument))
        ereport(ERROR,
                errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                errmsg("argument %d of %s() must not be NULL", argument + 1, get_func_name(fcinfo->flinfo->fn_oid)));
}

void refuse_text(Node* context, const char* input, const parse_result& result)
{
    const std::size_t character = pg_mbstrlen_with_len(input, static_cast<int>(result.position)) + 1;
    errsave(context,
            (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
             errmsg("invalid input syntax for type %s: \"%s\"", "minhash_signature", clip(input)),
             errdetail("Expected %s at character %zu.", expectation(result.what), character),
             errhint("Signatures are made by minhash(). Compare texts by shingle_jaccard().")));
}

void fail_received(status what, std::size_t bytes)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
            errmsg("invalid external \"minhash_signature\" value"),
            bytes_detail(what, bytes),
            errhint("Signatures are made by minhash()."));
}

void fail_stored(status what, std::size_t bytes)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_CORRUPTED),
            errmsg("damaged signature"),
            bytes_detail(what, bytes),
            errhint("Make it again from its text, with minhash()."));
}

void fail_too_many_shingles(std::size_t most)
{
    ereport(ERROR,
            errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
            errmsg("too many distinct shingles"),
            errdetail("At most %zu are allowed.", most),
            errhint("Sign the texts with minhash() and estimate with minhash_similarity()."));
}

} // namespace minhash::pg
