// The library as PostgreSQL loads it.
#include "pg/glue.h"

extern "C" {
// PostgreSQL 15 leaves the export to the compiler's default, which -fvisibility=hidden changes.
[[gnu::visibility("default")]] const Pg_magic_struct* Pg_magic_func(void);

MINHASH_MODULE_MAGIC;
}
