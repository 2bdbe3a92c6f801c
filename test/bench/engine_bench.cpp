// Measures what the engine of the bulk functions costs on the texts of a file, one per line: the CPU time of its steps,
// and what was predicted for the hashes, bands and rows, which are given or chosen by cost.
// engine_bench FILE THRESHOLD [pairs | clusters] [HASHES BANDS ROWS]
#include "bulk/search/clusters.h"
#include "bulk/search/pairs.h"

#include "core/kernels.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "engine.h"

using namespace minhash;
using bench::engine_host;

namespace {

struct counting_host : engine_host {
    std::uint64_t found = 0;
};

double cpu_seconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void count_pair(bulk::host& host, const bulk::found_pair&) { static_cast<counting_host&>(host).found++; }

void count_cluster(bulk::host& host, std::span<const std::uint32_t> rows, std::span<const double>)
{
    static_cast<counting_host&>(host).found += rows.size();
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: %s FILE THRESHOLD [pairs | clusters] [HASHES BANDS ROWS]\n", argv[0]);
        return 2;
    }
    kernels = find_kernels("auto");
    const std::vector<std::string> texts = bench::read_lines(argv[1]);
    const double threshold = std::atof(argv[2]);
    const bool clusters = argc > 3 && std::strcmp(argv[3], "clusters") == 0;
    const std::size_t memory = std::size_t{1} << 32;
    counting_host host;

    const double start = cpu_seconds();
    bulk::bands_plan given = {};
    if (argc > 6) {
        given.num_hashes = std::atoi(argv[4]);
        given.banding = {std::atoi(argv[5]), std::atoi(argv[6])};
    }
    bulk::memory_budget budget = bulk::make_budget(host, memory);
    bulk::row_set& rows = bench::take(budget, texts, {bench::default_scheme(), {}, threshold, true, 0, false});
    const double taken = cpu_seconds();
    const bulk::bands_plan plan = bench::choose(rows, given);
    const double chosen = cpu_seconds();
    bulk::start_steps(rows);
    const double signed_at = cpu_seconds();
    if (clusters)
        bulk::find_clusters(rows, {}, {[](bulk::host&, std::span<std::uint32_t>) {}, count_cluster});
    else
        bulk::find_pairs(rows, false, count_pair);
    const double found = cpu_seconds();
    std::printf("%zu texts, %d hashes, %d bands of %d rows: reading %.3f s, choosing %.3f, signing %.3f, finding %.3f, "
                "all %.3f; "
                "%llu found; expected %.1f candidates and %.1f comparisons of texts for each row, %.3f s\n",
                texts.size(),
                plan.num_hashes,
                plan.banding.bands,
                plan.banding.rows,
                taken - start,
                chosen - taken,
                signed_at - chosen,
                found - signed_at,
                found - start,
                static_cast<unsigned long long>(host.found),
                plan.candidates,
                plan.checks,
                plan.cost * 1e-9);
    return 0;
}
