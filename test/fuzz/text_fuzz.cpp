// Takes any bytes as a text, cut into any slices: every table of kernels must sign it as the reference does. The first
// bytes of the input choose the arguments.
#include "core/kernels.h"

#include <cstdlib>

#include "../unit/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    constexpr std::size_t choices = 6;
    if (size < choices)
        return 0;
    minhash::scheme scheme = support::default_scheme;
    scheme.shingles.of = data[0] & 1 ? minhash::unit::word : minhash::unit::character;
    scheme.shingles.fold = data[0] & 2;
    scheme.shingles.bag = data[0] & 4;
    scheme.method = data[0] & 8 ? minhash::method::classic : minhash::method::fss;
    scheme.shingles.size = static_cast<std::uint16_t>(1 + data[1] % (data[0] & 16 ? 255 : 10));
    scheme.num_hashes = static_cast<std::uint16_t>(16 + data[2] * (data[0] & 32 ? 16 : 1));
    scheme.seed = static_cast<std::int8_t>(data[3]);
    const std::size_t slice = 1 + (data[4] | data[5] << 8) % minhash::slice_bytes;

    const std::string text(reinterpret_cast<const char*>(data + choices), size - choices);
    const support::slot_list expected = reference::sign(text, scheme);
    for (const minhash::kernel_table* const table : minhash::runnable_kernels()) {
        minhash::kernels = table;
        if (support::sign(text, scheme, slice) != expected)
            std::abort();
    }
    return 0;
}
