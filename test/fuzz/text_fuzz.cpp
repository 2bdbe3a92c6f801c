// Any bytes as a text, cut into any slices: every table of kernels signs it as the reference does.
// The input's first bytes choose the arguments.
#include "core/kernels.h"

#include <cstdlib>

#include "../unit/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    constexpr std::size_t choices = 6;
    if (size < choices)
        return 0;
    minhash::scheme made = support::default_scheme;
    made.shingles.of = data[0] & 1 ? minhash::unit::word : minhash::unit::character;
    made.shingles.fold = data[0] & 2;
    made.shingles.bag = data[0] & 4;
    made.made_by = data[0] & 8 ? minhash::method::classic : minhash::method::fss;
    made.shingles.size = static_cast<std::uint16_t>(1 + data[1] % (data[0] & 16 ? 255 : 10));
    made.num_hashes = static_cast<std::uint16_t>(16 + data[2] * (data[0] & 32 ? 16 : 1));
    made.seed = static_cast<std::int8_t>(data[3]);
    const std::size_t slice = 1 + (data[4] | data[5] << 8) % minhash::slice_bytes;

    const std::string text(reinterpret_cast<const char*>(data + choices), size - choices);
    const support::slot_list expected = reference::sign(text, made);
    for (const minhash::kernel_table* const table : minhash::runnable_kernels()) {
        minhash::kernels = table;
        if (support::sign(text, made, slice) != expected)
            std::abort();
    }
    return 0;
}
