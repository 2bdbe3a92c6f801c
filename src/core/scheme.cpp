#include "core/scheme.h"

namespace minhash {

status validate(const shingling& shingles) noexcept
{
    if (shingles.of != unit::character && shingles.of != unit::word)
        return status::bad_unit;
    if (shingles.size < 1 || shingles.size > max_shingle_size)
        return status::bad_shingle_size;
    return status::ok;
}

status validate(const scheme& value) noexcept
{
    if (value.version != scheme_version)
        return status::bad_version;
    if (value.made_by != method::fss && value.made_by != method::classic)
        return status::bad_method;
    if (value.bits != bits_per_slot)
        return status::bad_bits;
    if (value.num_hashes < min_num_hashes || value.num_hashes > max_num_hashes)
        return status::bad_num_hashes;
    return validate(value.shingles);
}

const char* name_of(method value) noexcept
{
    return value == method::fss ? "fss" : "classic";
}

const char* name_of(unit value) noexcept
{
    return value == unit::character ? "char" : "word";
}

} // namespace minhash
