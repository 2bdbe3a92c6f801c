// Takes any bytes as members of sets: every table of kernels must sign integers as the reference does, and a text
// hashed in pieces must have the hash of the whole. The first bytes of the input choose the arguments.
#include "core/kernels.h"

#include <cstdlib>

#include "../unit/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    constexpr std::size_t choices = 4;
    if (size < choices)
        return 0;
    minhash::scheme scheme = support::default_scheme;
    scheme.shingles = minhash::given_members(data[0] & 1);
    scheme.method = data[0] & 2 ? minhash::method::classic : minhash::method::fss;
    scheme.num_hashes = static_cast<std::uint16_t>(16 + data[1]);
    scheme.seed = static_cast<std::int8_t>(data[2]);

    // Integers have one to eight bytes, so that short inputs have many, some of them equal.
    const std::size_t width = 1 + data[3] % 8;
    std::string list;
    for (std::size_t at = choices; at + width <= size; at += width) {
        std::int64_t value = 0;
        std::memcpy(&value, data + at, width);
        list += (list.empty() ? "" : "|") + std::to_string(value);
    }
    const support::slot_list expected = reference::sign(reference::members("integer", list, scheme.seed), scheme);
    for (const minhash::kernel_table* const table : minhash::runnable_kernels()) {
        minhash::kernels = table;
        if (support::sign_members("integer", list, scheme) != expected)
            std::abort();
    }
    return 0;
}
