// What users are told by functions of sets that are given, and about signatures that are
// compressed, cut, or made elsewhere.
#include "pg/errors.h"

namespace minhash::pg {

void fail_no_order(Oid type)
{
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_FUNCTION),
            errmsg("sets of type %s cannot be compared", format_type_be(type)),
            errdetail("The type has no order (default btree operator class)."),
            errhint("Cast the arrays to a type that has one, such as text[]."));
    pg_unreachable();
}

void fail_bits(int bits)
{
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("bits => %d is out of range", bits),
            errdetail("A slot has 1, 2, 4, 8, 16 or 32 bits."),
            errhint("8 bits are as accurate as 32, in a quarter of the space."));
    pg_unreachable();
}

void fail_compression(int bits, int from)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_EXCEPTION),
            errmsg("cannot compress a signature from %d to %d bits per slot", from, bits),
            errhint("Compress the signature that minhash() made."));
    pg_unreachable();
}

void fail_compressed(const scheme& scheme, const char* result, int least_bits)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_EXCEPTION),
            errmsg("cannot make %s from a signature of %d bits per slot", result, scheme.bits),
            errdetail("At least %d bits are needed; the signature is %s.",
                      least_bits,
                      describe(scheme)),
            errhint("Use the signature before minhash_compress()."));
    pg_unreachable();
}

void fail_truncated(int num_hashes, int from)
{
    ereport(ERROR,
            errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
            errmsg("cannot cut a signature of the method \"fss\" from %d to %d hashes",
                   from,
                   num_hashes),
            errdetail("Where an element goes depends on the number of hashes."),
            errhint("Call minhash() with num_hashes => %d, or save space by minhash_compress().",
                    num_hashes));
    pg_unreachable();
}

void fail_external(const scheme& scheme)
{
    ereport(
        ERROR,
        errcode(ERRCODE_DATA_EXCEPTION),
        errmsg("cannot estimate the size of a set that was signed elsewhere"),
        errdetail("The signature is %s; the range of its slots is not known.", describe(scheme)),
        errhint("Estimate it where the signature was made."));
    pg_unreachable();
}

void fail_value(std::int64_t value, std::size_t position)
{
    ereport(ERROR,
            errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
            errmsg("value %lld at position %zu is out of range",
                   static_cast<long long>(value),
                   position),
            errdetail("Slots go from 0 to 4294967295."),
            errhint("Keep 32 bits of larger ones: value & 4294967295."));
    pg_unreachable();
}

void fail_value_list(const char* what)
{
    ereport(ERROR,
            errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
            errmsg("invalid array of values"),
            errdetail("It %s.", what),
            errhint("Give one value for each hash, between %d and %d of them.",
                    min_num_hashes,
                    max_num_hashes));
    pg_unreachable();
}

} // namespace minhash::pg
