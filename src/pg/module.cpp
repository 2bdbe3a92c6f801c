// The library as PostgreSQL loads it.
#include "pg/glue.h"

extern "C" {
// PostgreSQL 15 leaves the export to the compiler's default, which -fvisibility=hidden changes.
[[gnu::visibility("default")]] const Pg_magic_struct* Pg_magic_func(void);

#if PG_VERSION_NUM >= 180000
PG_MODULE_MAGIC_EXT(.name = "minhash_lsh", .version = MINHASH_VERSION);
#else
PG_MODULE_MAGIC;
#endif
}
