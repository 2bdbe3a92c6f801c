// Memory for large arrays that are read and written at random.
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

// Like MemoryContextAllocHuge(), but asks for huge pages, which cost fewer faults and misses.
void* allocate_large(MemoryContext context, std::size_t bytes);

// Maps all pages of memory that will be written, with one system call instead of one fault per page, if the system can.
void map_pages(void* memory, std::size_t bytes);

} // namespace minhash::pg
