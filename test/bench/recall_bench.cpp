// Checks whether the engine of the bulk functions finds what it promises, and nothing else. It chooses hashes, bands
// and rows by cost, finds the pairs among the texts of a file, one text per line, and compares them with the exact
// similarities of all pairs. It does so for each file, for thresholds from 0.3 to 0.95, and for the given number of
// seeds:
// recall_bench SEEDS FILE...
#include "bulk/search/pairs.h"

#include "core/kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "engine.h"

using namespace minhash;
using bench::engine_host;

namespace {

constexpr double promised = 0.99;
constexpr double thresholds[] = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};

// Pairs that are at most this far above the threshold are also counted by themselves.
constexpr double near_threshold = 0.02;

using pair_map = std::unordered_map<std::uint64_t, double>;

std::uint64_t key_of(std::size_t left, std::size_t right) { return std::uint64_t{left} << 32 | right; }

// The pairs that reach the least threshold, found by listing, for each shingle, the texts that have it.
pair_map all_pairs(const std::vector<std::string>& texts)
{
    engine_host host;
    bulk::host_signer& signer = *bulk::make_signer(host, bench::default_scheme());
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> having;
    std::vector<std::size_t> sizes;
    std::vector<std::uint32_t> shared(texts.size());
    pair_map found;
    for (std::uint32_t row = 0; row < texts.size(); row++) {
        std::vector<std::uint64_t> elements;
        minhash::each_batch(bulk::source_of(signer, bench::bytes_of(texts[row])), [&](const shingle_batch& batch) {
            for (std::size_t i = 0; i < batch.count; i++)
                elements.push_back(std::uint64_t{batch.hi[i]} << 32 | batch.lo[i]);
        });
        std::sort(elements.begin(), elements.end());
        elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
        sizes.push_back(elements.size());
        std::fill(shared.begin(), shared.end(), 0);
        for (const std::uint64_t element : elements) {
            std::vector<std::uint32_t>& rows = having[element];
            for (const std::uint32_t other : rows)
                shared[other]++;
            rows.push_back(row);
        }
        for (std::uint32_t other = 0; other < row; other++) {
            const double similarity =
                static_cast<double>(shared[other]) / static_cast<double>(sizes[row] + sizes[other] - shared[other]);
            if (similarity >= thresholds[0])
                found[key_of(other, row)] = similarity;
        }
    }
    return found;
}

struct outcome {
    bulk::bands_plan plan;
    std::size_t found;
    std::size_t found_near; // found among pairs just above the threshold
    std::size_t wrong;      // not in the truth, or with another similarity
};

outcome run(const std::vector<std::string>& texts, double threshold, std::int64_t seed, const pair_map& truth)
{
    engine_host host;
    scheme scheme = bench::default_scheme();
    scheme.seed = seed;
    outcome result = {};
    bulk::task task = {scheme, {}, threshold, true, 0, false};
    task.recall = promised;
    result.plan = bench::find_pairs(host, texts, task);
    for (const bulk::found_pair& pair : host.pairs) {
        const auto known = truth.find(key_of(std::min(pair.left, pair.right), std::max(pair.left, pair.right)));
        if (known == truth.end() || known->second < threshold || known->second != pair.similarity) {
            result.wrong++;
            continue;
        }
        result.found++;
        result.found_near += known->second < threshold + near_threshold;
    }
    return result;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: %s SEEDS FILE...\n", argv[0]);
        return 2;
    }
    kernels = find_kernels("auto");
    const int seeds = std::atoi(argv[1]);
    std::printf("recall promised: %.2f; seeds: %d\n", promised, seeds);
    std::printf("%-24s %9s %9s %6s %12s %8s %8s %10s %10s %6s\n",
                "texts",
                "threshold",
                "pairs",
                "hashes",
                "bands x rows",
                "recall",
                "worst",
                "kept it",
                "at it",
                "wrong");
    for (int argument = 2; argument < argc; argument++) {
        const std::vector<std::string> texts = bench::read_lines(argv[argument]);
        const pair_map truth = all_pairs(texts);
        for (const double threshold : thresholds) {
            std::size_t all = 0;
            std::size_t near = 0;
            for (const auto& [key, similarity] : truth) {
                all += similarity >= threshold;
                near += similarity >= threshold && similarity < threshold + near_threshold;
            }
            if (all == 0)
                continue;
            double sum = 0;
            double worst = 1;
            std::size_t found_near = 0;
            std::size_t wrong = 0;
            int kept = 0;
            outcome last = {};
            for (int seed = 1; seed <= seeds; seed++) {
                last = run(texts, threshold, seed, truth);
                const double recall = static_cast<double>(last.found) / static_cast<double>(all);
                sum += recall;
                worst = std::min(worst, recall);
                kept += recall >= promised;
                found_near += last.found_near;
                wrong += last.wrong;
            }
            const char* const name = argv[argument];
            std::printf("%-24.24s %9.2f %9zu %6d %6d x %3d %8.4f %8.4f %4d / %3d %10.4f %6zu\n",
                        name,
                        threshold,
                        all,
                        last.plan.num_hashes,
                        last.plan.banding.bands,
                        last.plan.banding.rows,
                        sum / seeds,
                        worst,
                        kept,
                        seeds,
                        near == 0 ? 1.0 : static_cast<double>(found_near) / (static_cast<double>(near) * seeds),
                        wrong);
        }
    }
    return 0;
}
