// The library as PostgreSQL loads it: its version, its settings, and the choice of kernels.
#include "pg/glue.h"

#include "pg/index/am.h"
#include "pg/index/options.h"
#include "pg/settings.h"
#include "pg/similar/abridge.h"
#include "pg/similar/width.h"

#include "core/kernels.h"
#include "core/probe.h"

#include <climits>

extern "C" {
#include "lib/stringinfo.h"
#include "utils/guc.h"
}

extern "C" {
// PostgreSQL 15 does not mark these functions for export, and we compile with -fvisibility=hidden.
[[gnu::visibility("default")]] const Pg_magic_struct* Pg_magic_func(void);
[[gnu::visibility("default")]] void _PG_init(void);

MINHASH_MODULE_MAGIC;
}

namespace minhash::pg {

double similarity_threshold;
double recall_notice;
int progress_interval;
int ordered_scan_limit;

namespace {

char* instruction_set; // owned by PostgreSQL

bool check_instruction_set(char** value, void** extra, GucSource source)
{
    if (find_kernels(*value) != nullptr)
        return true;
    StringInfoData names;
    initStringInfo(&names);
    for (const kernel_table* const table : runnable_kernels())
        appendStringInfo(&names, ", %s", table->name);
    GUC_check_errhint("Here the choices are auto%s.", names.data);
    return false;
}

void assign_instruction_set(const char* value, void* extra) { kernels = find_kernels(value); }

} // namespace

} // namespace minhash::pg

void _PG_init(void)
{
    using namespace minhash::pg;
    std::uint64_t secret[2];
    if (!pg_strong_random(secret, sizeof(secret)))
        elog(ERROR, "could not generate random values");
    minhash::set_probe_secret(secret[0], secret[1]);
    DefineCustomRealVariable("minhash_lsh.similarity_threshold",
                             "Sets the similarity threshold used by the % operator.",
                             nullptr,
                             &similarity_threshold,
                             0.8,
                             0,
                             1,
                             PGC_USERSET,
                             0,
                             nullptr,
                             nullptr,
                             nullptr);
    DefineCustomRealVariable("minhash_lsh.recall_notice",
                             "Sets the expected recall below which an index scan raises a notice.",
                             "0 turns the notice off.",
                             &recall_notice,
                             0.9,
                             0,
                             1,
                             PGC_USERSET,
                             0,
                             nullptr,
                             nullptr,
                             nullptr);
    DefineCustomIntVariable("minhash_lsh.ordered_scan_limit",
                            "Sets about how many rows an ordered scan of an lsh index compares.",
                            "Those that share slots of a band come first. In an index with further columns, only rows "
                            "with the values in the query count. -1 compares all rows where it must.",
                            &ordered_scan_limit,
                            -1,
                            -1,
                            INT_MAX,
                            PGC_USERSET,
                            0,
                            nullptr,
                            nullptr,
                            nullptr);
    DefineCustomIntVariable("minhash_lsh.progress_interval",
                            "Sets the interval between progress notices.",
                            "0 turns them off.",
                            &progress_interval,
                            10,
                            0,
                            86400,
                            PGC_USERSET,
                            GUC_UNIT_S,
                            nullptr,
                            nullptr,
                            nullptr);
    DefineCustomStringVariable(
        "minhash_lsh.instruction_set",
        "Selects the CPU instruction set used to compute signatures.",
        "All give the same results; \"auto\" takes the fastest of this CPU. For tests and benchmarks.",
        &instruction_set,
        "auto",
        PGC_USERSET,
        GUC_NOT_IN_SAMPLE,
        check_instruction_set,
        assign_instruction_set,
        nullptr);
    index::define_options();
    show_scans(index::show_scan);
    tell_widths();
    abridge_in_explain();
    MarkGUCPrefixReserved("minhash_lsh");
}
