#include "core/scheme.h"

#include <cassert>

namespace minhash {

status validate(const shingling& shingles) noexcept
{
    const bool given = shingles.of == unit::element;
    if (shingles.of < unit::character || shingles.of > unit::element)
        return status::bad_unit;
    if (shingles.size < 1 || shingles.size > (given ? 1 : max_shingle_size))
        return status::bad_shingle_size;
    if (given && shingles.fold)
        return status::bad_flags;
    return status::ok;
}

status validate(const scheme& value) noexcept
{
    if (value.version != scheme_version)
        return status::bad_version;
    if (value.method < method::fss || value.method > method::external)
        return status::bad_method;
    if (!valid_bits(value.bits))
        return status::bad_bits;
    if (value.num_hashes < min_num_hashes || value.num_hashes > max_num_hashes)
        return status::bad_num_hashes;
    return validate(value.shingles);
}

bool valid_bits(int bits) noexcept { return bits > 0 && bits <= bits_per_slot && (bits & (bits - 1)) == 0; }

const char* name_of(method value) noexcept
{
    assert(value >= method::fss && value <= method::external);
    constexpr const char* names[] = {"", "fss", "classic", "external"};
    return names[static_cast<int>(value)];
}

const char* name_of(unit value) noexcept
{
    assert(value >= unit::character && value <= unit::element);
    constexpr const char* names[] = {"", "char", "word", "element"};
    return names[static_cast<int>(value)];
}

} // namespace minhash
