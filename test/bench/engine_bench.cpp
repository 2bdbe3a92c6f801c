// What the engine of the bulk functions costs on texts of a file, one in a line: CPU time of its
// steps, with the choice by cost or a given one, and what that choice expected.
// engine_bench FILE THRESHOLD [pairs | clusters] [HASHES BANDS ROWS]
#include "bulk/clusters.h"
#include "bulk/pairs.h"
#include "bulk/sample.h"

#include "core/kernels.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

using namespace minhash;

namespace {

struct counting_host : bulk::host {
    int stop = 0;
    std::uint64_t found = 0;

    counting_host() : host{}
    {
        allocate = [](host&, std::size_t bytes) { return std::malloc(bytes); };
        release = [](host&, void* memory) { std::free(memory); };
        stopping = &stop;
    }
};

double cpu_seconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<std::string> read_lines(const char* path)
{
    std::vector<std::string> lines;
    std::FILE* const file = std::fopen(path, "r");
    char* line = nullptr;
    std::size_t room = 0;
    while (file != nullptr) {
        const auto length = getline(&line, &room, file);
        if (length < 0)
            break;
        lines.emplace_back(line, static_cast<std::size_t>(length));
    }
    std::free(line);
    if (file != nullptr)
        std::fclose(file);
    return lines;
}

bulk::text_bytes bytes_of(const std::string& text)
{
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

bulk::bands_plan
choose(bulk::host& host, const std::vector<std::string>& texts, scheme scheme, double threshold)
{
    scheme.num_hashes = bulk::most_sampled_slots;
    bulk::row_sample sample = bulk::start_sample(host, scheme);
    bulk::text_signer& signer = *bulk::make_signer(host, scheme);
    double bytes = 0;
    const std::size_t count = std::min<std::size_t>(texts.size(), bulk::most_sampled);
    for (std::size_t i = 0; i < count; i++) {
        const bulk::text_bytes text = bytes_of(texts[i * texts.size() / count]);
        bytes += static_cast<double>(text.size()) / static_cast<double>(count);
        bulk::add_to_sample(sample, {scheme, bulk::sign(signer, text)});
    }
    bulk::sampled_counts counts;
    const double rows = static_cast<double>(texts.size());
    return bulk::choose_by_cost(
        {rows, rows * (rows - 1) / 2, threshold, bulk::recall_to_expect(0.99), 64, 1024, true},
        bulk::count_agreements(sample, counts),
        bulk::costs_of(bytes));
}

void count_pairs(bulk::host& host, std::span<const bulk::found_pair> pairs)
{
    static_cast<counting_host&>(host).found += pairs.size();
}

void count_cluster(bulk::host& host, std::span<const std::uint32_t> rows)
{
    static_cast<counting_host&>(host).found += rows.size();
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::fprintf(stderr,
                     "usage: %s FILE THRESHOLD [pairs | clusters] [HASHES BANDS ROWS]\n",
                     argv[0]);
        return 2;
    }
    kernels = find_kernels("auto");
    const std::vector<std::string> texts = read_lines(argv[1]);
    const double threshold = std::atof(argv[2]);
    const bool clusters = argc > 3 && std::strcmp(argv[3], "clusters") == 0;
    const std::size_t memory = std::size_t{1} << 32;
    counting_host host;
    scheme scheme = {.version = scheme_version,
                     .method = method::fss,
                     .bits = bits_per_slot,
                     .num_hashes = default_num_hashes,
                     .shingles = {unit::character, 5, true, false},
                     .seed = 42};

    const double start = cpu_seconds();
    bulk::bands_plan plan = choose(host, texts, scheme, threshold);
    if (argc > 6)
        plan = {std::atoi(argv[4]), {std::atoi(argv[5]), std::atoi(argv[6])}, 0, 0, 0};
    scheme.num_hashes = static_cast<std::uint16_t>(plan.num_hashes);
    const double chosen = cpu_seconds();
    bulk::memory_budget budget = bulk::make_budget(host, memory);
    bulk::row_set& rows = *bulk::make_rows(budget, {scheme, plan.shape, threshold, true, 0}, true);
    for (const std::string& text : texts)
        bulk::take_text(rows, bytes_of(text));
    const double taken = cpu_seconds();
    if (clusters)
        bulk::find_clusters(rows,
                            {},
                            {[](bulk::host&, std::span<std::uint32_t>) {}, count_cluster});
    else
        bulk::find_pairs(rows, false, count_pairs);
    const double found = cpu_seconds();
    std::printf(
        "%zu texts, %d hashes, %d bands of %d rows: choosing %.3f s, signing %.3f, finding %.3f, "
        "all %.3f; "
        "%llu found; expected %.1f candidates and %.1f comparisons of texts for each row, %.3f s\n",
        texts.size(),
        plan.num_hashes,
        plan.shape.bands,
        plan.shape.rows,
        chosen - start,
        taken - chosen,
        found - taken,
        found - start,
        static_cast<unsigned long long>(host.found),
        plan.candidates,
        plan.checks,
        plan.cost * 1e-9);
    return 0;
}
