// Memory for large arrays that are read and written at random.
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

// Like MemoryContextAllocHuge(), but asks for huge pages, which cause fewer page faults and TLB misses.
void* allocate_large(MemoryContext context, std::size_t bytes);

// Maps all pages of memory that will be written soon. If the system can, this takes one system call, instead of a page
// fault for each page.
void map_pages(void* memory, std::size_t bytes);

} // namespace minhash::pg
