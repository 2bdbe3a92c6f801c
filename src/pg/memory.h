// Memory for large arrays that are read and written at random.
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

// Like MemoryContextAllocHuge(), but asks for huge pages, which cause fewer page faults and cache misses.
void* allocate_large(MemoryContext context, std::size_t bytes);

// Maps all pages of memory that will be written by one system call, if the system can, instead of one fault per page.
void map_pages(void* memory, std::size_t bytes);

} // namespace minhash::pg
