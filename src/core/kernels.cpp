#include "core/kernels.h"

#include <iterator>

namespace minhash {

// Each table is in its own object file, compiled from simd/kernels.cpp.
extern const kernel_table baseline_kernels;
#if defined(__x86_64__)
extern const kernel_table sse42_kernels;
extern const kernel_table avx2_kernels;
extern const kernel_table avx512_kernels;
#elif defined(__aarch64__)
extern const kernel_table neon_kernels;
#endif

const kernel_table* kernels = &baseline_kernels;

std::span<const kernel_table* const> runnable_kernels() noexcept
{
    static constexpr const kernel_table* all[] = {
        &baseline_kernels,
#if defined(__x86_64__)
        &sse42_kernels,
        &avx2_kernels,
        &avx512_kernels,
#elif defined(__aarch64__)
        &neon_kernels,
#endif
    };
    std::size_t runnable = std::size(all);
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vbmi2"))
        runnable = 3;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
        runnable = 2;
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt"))
        runnable = 1;
#endif
    return {all, runnable};
}

const kernel_table* find_kernels(std::string_view name) noexcept
{
    const std::span<const kernel_table* const> runnable = runnable_kernels();
    if (name == "auto")
        return runnable.back();
    for (const kernel_table* const table : runnable) {
        if (name == table->name)
            return table;
    }
    return nullptr;
}

} // namespace minhash
