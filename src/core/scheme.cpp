#include "core/scheme.h"

#include <iterator>

namespace minhash {

status validate(const shingling& shingles) noexcept
{
    const bool given = shingles.of == unit::element;
    if (shingles.of < unit::character || static_cast<std::size_t>(shingles.of) > std::size(unit_names))
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
    if (value.method < method::fss || static_cast<std::size_t>(value.method) > std::size(method_names))
        return status::bad_method;
    if (!valid_bits(value.bits))
        return status::bad_bits;
    if (value.num_hashes < min_num_hashes || value.num_hashes > max_num_hashes)
        return status::bad_num_hashes;
    return validate(value.shingles);
}

bool valid_bits(int bits) noexcept { return bits > 0 && bits <= bits_per_slot && (bits & (bits - 1)) == 0; }

} // namespace minhash
