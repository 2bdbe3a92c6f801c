// Makes signatures smaller: with fewer bits per slot, or fewer hashes.
#include "pg/arguments.h"

#include "core/compress.h"
#include "core/sketch.h"

extern "C" {
#include "utils/varbit.h"
}

namespace minhash::pg {

// minhash_compress(signature, bits) -> minhash_signature
MINHASH_FUNCTION(minhash_compress)
{
    const signature whole = arg_signature(fcinfo, 0);
    const int bits = arg_bits(fcinfo, 1);
    if (bits > whole.scheme.bits)
        ereport(ERROR,
                errcode(ERRCODE_DATA_EXCEPTION),
                errmsg("cannot compress a signature from %d to %d bits per slot", whole.scheme.bits, bits),
                errhint("Compress the signature that minhash() made."));
    if (bits == whole.scheme.bits)
        return make_signature(whole);

    scheme scheme = whole.scheme;
    scheme.bits = static_cast<std::uint8_t>(bits);
    if (whole.empty())
        return make_signature({scheme, {}});
    std::uint8_t packed[max_num_hashes * 2];
    compress(whole, bits, packed);
    return make_signature({scheme, {}, {packed, slot_bytes(bits, scheme.num_hashes)}});
}

// Casts a signature with one bit per slot to bit(length); the first slot is the leftmost bit. The arguments are the
// signature, the length (-1: any), and whether the cast is explicit.
MINHASH_FUNCTION(minhash_signature_to_bit)
{
    const signature value = arg_signature(fcinfo, 0);
    const int length = PG_GETARG_INT32(1);
    const int slots = value.scheme.num_hashes;
    if (value.scheme.bits != 1)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("cannot cast a signature of %d bits per slot to type bit", value.scheme.bits),
                errhint("Cast minhash_compress(signature, 1)."));
    if (length >= 0 && length != slots)
        ereport(ERROR,
                errcode(ERRCODE_STRING_DATA_LENGTH_MISMATCH),
                errmsg("cannot cast a signature of %d hashes to type bit(%d)", slots, length),
                errhint("Cast it to bit(%d).", slots));
    if (value.empty())
        PG_RETURN_NULL();
    VarBit* const bits = static_cast<VarBit*>(palloc0(VARBITTOTALLEN(slots)));
    SET_VARSIZE(bits, VARBITTOTALLEN(slots));
    VARBITLEN(bits) = slots;
    for (int slot = 0; slot < slots; slot++)
        if (slot_of(value, static_cast<std::size_t>(slot)) != 0) {
            auto& byte = VARBITS(bits)[slot / BITS_PER_BYTE];
            byte = static_cast<std::uint8_t>(byte | 0x80 >> slot % BITS_PER_BYTE);
        }
    PG_RETURN_VARBIT_P(bits);
}

namespace {

// FSS-4 distributes the elements over all slots, so the first slots alone are not what minhash() makes with fewer
// hashes.
bool has_slots_that_stand_alone(method method)
{
    switch (method) {
    case method::fss:
        return false;
    case method::classic:
    case method::external:
        return true;
    }
    return false;
}

} // namespace

// minhash_truncate(signature, num_hashes) -> minhash_signature: keeps the first slots. If each slot has its own hash
// function, the first slots are a signature with fewer hashes.
MINHASH_FUNCTION(minhash_truncate)
{
    const signature whole = arg_whole_signature(fcinfo, 0, "a signature of fewer hashes");
    const int num_hashes = arg_between(fcinfo, 1, "num_hashes", min_num_hashes, whole.scheme.num_hashes);
    if (!has_slots_that_stand_alone(whole.scheme.method) && num_hashes < whole.scheme.num_hashes)
        ereport(ERROR,
                errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("cannot truncate a signature of method \"%s\" from %d to %d hashes",
                       name_of(whole.scheme.method),
                       whole.scheme.num_hashes,
                       num_hashes),
                errdetail("With method \"%s\", an element's slot depends on the number of hashes.",
                          name_of(whole.scheme.method)),
                errhint("Call minhash() with num_hashes => %d, or save space with minhash_compress().", num_hashes));

    signature value = whole;
    value.scheme.num_hashes = static_cast<std::uint16_t>(num_hashes);
    if (!whole.empty())
        value.slots = whole.slots.first(static_cast<std::size_t>(num_hashes));
    if (are_empty(value.slots)) // signatures from other systems may have only later slots filled
        value.slots = {};
    return make_signature(value);
}

} // namespace minhash::pg
