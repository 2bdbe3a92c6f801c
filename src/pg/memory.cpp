#include "pg/memory.h"

#include <sys/mman.h>

namespace minhash::pg {

void* allocate_large(MemoryContext context, std::size_t bytes)
{
    void* const memory = MemoryContextAllocHuge(context, bytes);
#ifdef MADV_HUGEPAGE
    constexpr std::uintptr_t huge_page = 2 * 1024 * 1024;
    const std::uintptr_t first = TYPEALIGN(huge_page, memory);
    const std::uintptr_t end = TYPEALIGN_DOWN(huge_page, reinterpret_cast<std::uintptr_t>(memory) + bytes);
    if (first < end) // advice only: a refusal does no harm
        (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
    return memory;
}

void map_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes)
{
#ifdef MADV_POPULATE_WRITE // Linux 5.14
    constexpr std::size_t worth_it = 64 * 1024;
    constexpr std::uintptr_t page = 4096; // if the system's pages are larger, the call fails, which does no harm
    if (bytes < worth_it)
        return;
    const std::uintptr_t first = TYPEALIGN(page, memory);
    const std::uintptr_t end = TYPEALIGN_DOWN(page, reinterpret_cast<std::uintptr_t>(memory) + bytes);
    (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE);
#endif
}

} // namespace minhash::pg
