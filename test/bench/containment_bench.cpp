// Finds rows that are contained in others, among texts with planted excerpts. Prints how many of the existing rows are
// found, whether all rows found are right, and what it costs, compared with finding near-duplicates by Jaccard
// similarity among the same texts. It also counts the candidates that bands for classes of sizes would have (LSH
// Ensemble: Zhu, Nargesian, Pu, Miller, VLDB 2016).
// containment_bench FILE COUNT THRESHOLD [EVERY]
//
// FILE has rows for COPY, as man_texts.pl and make_texts print them. Half of the COUNT texts are pieces of these, of
// 500 to 4,000 bytes. The others are excerpts of these pieces: 1/1, 1/2, 1/4, 1/8 or 1/16 of one, but at least 20
// words, with some words replaced. The true pairs are counted for every EVERYth row, from all its shingles.
#include "bulk/containment/containment.h"

#include "core/kernels.h"

#include <bit>
#include <ctime>
#include <map>
#include <unordered_map>

#include "engine.h"
#include "texts.h"

using namespace minhash;
using bench::engine_host;

namespace {

constexpr std::size_t ratios = 5; // 1, 2, 4, 8, 16

double cpu_seconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<std::string> words_of(const std::string& text)
{
    std::vector<std::string> words;
    std::size_t from = 0;
    for (std::size_t at = 0; at <= text.size(); at++)
        if (at == text.size() || text[at] == ' ') {
            if (at > from)
                words.push_back(text.substr(from, at - from));
            from = at + 1;
        }
    return words;
}

// Cuts the texts of rows for COPY into pieces, in random order.
std::vector<std::string> read_texts(const char* path, std::size_t most)
{
    std::vector<std::string> texts;
    bench::random_source random = {2};
    for (const std::string& line : bench::read_lines(path)) {
        std::string text = line.substr(line.find('\t') + 1);
        for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;)
            text.replace(at, 2, 1, ' ');
        for (std::size_t from = 0; from + 500 < text.size();) {
            const std::size_t wanted = 500 + random.next() % 3500;
            const std::size_t space = text.find(' ', std::min(from + wanted, text.size()));
            const std::size_t end = std::min(space, text.size());
            texts.push_back(text.substr(from, end - from));
            from = end;
        }
    }
    for (std::size_t left = texts.size(); left > 1; left--)
        std::swap(texts[left - 1], texts[random.next() % left]);
    texts.resize(std::min(texts.size(), most));
    return texts;
}

std::string excerpt_of(const std::string& text, bench::random_source& random)
{
    const std::vector<std::string> words = words_of(text);
    const std::size_t count = std::max<std::size_t>(words.size() >> random.next() % ratios, 20);
    const std::size_t from = random.next() % (words.size() - std::min(words.size(), count) + 1);
    const double replaced = 0.12 * random.fraction();
    std::string excerpt;
    for (std::size_t i = from; i < std::min(from + count, words.size()); i++) {
        excerpt += random.fraction() < replaced ? std::to_string(random.next() % 10'000) : words[i];
        excerpt.push_back(' ');
    }
    return excerpt;
}

using element_list = std::vector<std::uint64_t>;

std::vector<element_list> sets_of(const std::vector<std::string>& texts)
{
    engine_host host;
    bulk::host_signer& signer = *bulk::make_signer(host, bench::default_scheme());
    std::vector<element_list> sets;
    for (const std::string& text : texts) {
        element_list elements;
        minhash::each_batch(bulk::source_of(signer, bench::bytes_of(text)), [&](const shingle_batch& batch) {
            for (std::size_t i = 0; i < batch.count; i++)
                elements.push_back(std::uint64_t{batch.hi[i]} << 32 | batch.lo[i]);
        });
        std::sort(elements.begin(), elements.end());
        elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
        sets.push_back(elements);
    }
    return sets;
}

// Whether a row is looked for in another: it is smaller, or it has the same size and comes later.
bool is_smaller(const std::vector<element_list>& sets, std::size_t row, std::size_t within)
{
    return sets[row].size() != sets[within].size() ? sets[row].size() < sets[within].size() : row > within;
}

using pair_map = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;

// For every n-th row, finds the rows that contain it.
pair_map truth_of(const std::vector<element_list>& sets, double threshold, std::uint32_t every)
{
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> having;
    for (std::uint32_t row = 0; row < sets.size(); row++)
        for (const std::uint64_t element : sets[row])
            having[element].push_back(row);
    pair_map found;
    std::vector<std::uint32_t> shared(sets.size());
    for (std::uint32_t row = 0; row < sets.size(); row += every) {
        std::fill(shared.begin(), shared.end(), 0);
        for (const std::uint64_t element : sets[row])
            for (const std::uint32_t other : having[element])
                shared[other]++;
        for (std::uint32_t within = 0; within < sets.size(); within++) {
            const double share = static_cast<double>(shared[within]) / static_cast<double>(sets[row].size());
            if (share >= threshold && is_smaller(sets, row, within))
                found[{row, within}] = share;
        }
    }
    return found;
}

double share_of(const element_list& row, const element_list& within)
{
    std::size_t shared = 0;
    for (const std::uint64_t element : row)
        shared += std::binary_search(within.begin(), within.end(), element);
    return static_cast<double>(shared) / static_cast<double>(row.size());
}

void keep_pair(bulk::host& to, const bulk::found_pair& pair) { static_cast<engine_host&>(to).pairs.push_back(pair); }

// The candidates that bands would have if they were chosen for classes of sizes, where sizes within a class differ by a
// factor of 2 at most. For each row, the bands of a class reach the recall at the similarity of that row to the largest
// row of the class.
double ensemble_candidates(const std::vector<std::string>& texts,
                           const std::vector<element_list>& sets,
                           double threshold,
                           int hashes)
{
    engine_host host;
    scheme scheme = bench::default_scheme();
    scheme.num_hashes = static_cast<std::uint16_t>(hashes);
    bulk::host_signer& signer = *bulk::make_signer(host, scheme);
    std::vector<std::vector<std::uint32_t>> slots;
    for (const std::string& text : texts) {
        const auto made = minhash::sign(bulk::source_of(signer, bench::bytes_of(text)));
        slots.emplace_back(made.begin(), made.end());
    }
    std::uint64_t candidates = 0;
    std::uint64_t asked = 0;
    for (std::size_t row = 0; row < sets.size(); row += 100) {
        asked++;
        std::map<int, banding> chosen; // the bands and rows of each class
        const double size = static_cast<double>(sets[row].size());
        for (std::size_t within = 0; within < sets.size(); within++) {
            if (!is_smaller(sets, row, within))
                continue;
            const auto size_class = static_cast<int>(std::bit_width(sets[within].size()));
            if (!chosen.contains(size_class)) {
                const double largest = static_cast<double>((std::size_t{1} << size_class) - 1);
                const double similarity = threshold / (1 + largest / size - threshold);
                chosen[size_class] = choose_by_recall(similarity, hashes, 0.95);
            }
            const banding banding = chosen[size_class];
            bool meet = banding.bands == 0; // no bands find enough, so all are candidates
            const std::uint32_t* a = slots[row].data();
            const std::uint32_t* b = slots[within].data();
            for (int band = 0; band < banding.bands && !meet; band++, a += banding.rows, b += banding.rows)
                meet = std::equal(a, a + banding.rows, b);
            candidates += meet;
        }
    }
    return static_cast<double>(candidates) / static_cast<double>(asked);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 4) {
        std::fprintf(stderr, "usage: %s FILE COUNT THRESHOLD [EVERY]\n", argv[0]);
        return 2;
    }
    kernels = find_kernels("auto");
    const std::size_t count = std::strtoul(argv[2], nullptr, 10);
    const double threshold = std::atof(argv[3]);
    const std::uint32_t every = argc > 4 ? static_cast<std::uint32_t>(std::atoi(argv[4])) : 0;
    std::vector<std::string> texts = read_texts(argv[1], count / 2);
    bench::random_source random = {1};
    const std::size_t originals = texts.size();
    for (std::size_t i = 0; i < originals; i++)
        texts.push_back(excerpt_of(texts[random.next() % originals], random));
    std::size_t bytes = 0;
    for (const std::string& text : texts)
        bytes += text.size();
    std::printf("%zu texts of %zu bytes, threshold %g\n", texts.size(), bytes / texts.size(), threshold);

    const double start = cpu_seconds();
    engine_host host;
    bulk::memory_budget budget = bulk::make_budget(host, std::size_t{1} << 30);
    bulk::task task = {};
    task.scheme = bench::default_scheme();
    task.threshold = threshold;
    task.exact = true;
    task.sets_only = true;
    task.recall = 0.99;
    bulk::row_set& rows = bench::take(budget, texts, task);
    const double taken = cpu_seconds();
    bulk::find_contained_pairs(rows, false, keep_pair);
    const double found = cpu_seconds();
    std::printf("containment: reading %.2f s, finding %.2f, all %.2f; %zu pairs\n",
                taken - start,
                found - taken,
                found - start,
                host.pairs.size());

    engine_host other;
    bench::find_pairs(other, texts, {bench::default_scheme(), {}, threshold, true, 0, false});
    std::printf("jaccard: all %.2f s; %zu pairs\n", cpu_seconds() - found, other.pairs.size());

    if (every == 0)
        return 0;

    const std::vector<element_list> sets = sets_of(texts);
    const pair_map truth = truth_of(sets, threshold, every);
    std::size_t true_of[ratios] = {};
    std::size_t found_of[ratios] = {};
    const auto ratio_of = [&](std::uint32_t row, std::uint32_t within) {
        const std::size_t ratio = sets[within].size() / sets[row].size();
        return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(ratio)) - 1, ratios - 1);
    };
    for (const auto& [pair, share] : truth)
        true_of[ratio_of(pair.first, pair.second)]++;
    std::size_t wrong = 0;
    for (const bulk::found_pair& pair : host.pairs) {
        wrong += pair.similarity < threshold || sets[pair.left].size() > sets[pair.right].size() ||
                 share_of(sets[pair.left], sets[pair.right]) != pair.similarity;
        if (truth.contains({pair.left, pair.right}))
            found_of[ratio_of(pair.left, pair.right)]++;
    }
    std::printf("wrong: %zu; true pairs of every %u. row:\n", wrong, every);
    for (std::size_t i = 0; i < ratios; i++)
        std::printf("ratio from %2d: %zu true pairs, recall %.4f\n",
                    1 << i,
                    true_of[i],
                    static_cast<double>(found_of[i]) / static_cast<double>(std::max<std::size_t>(true_of[i], 1)));
    for (const int hashes : {256, 1024})
        std::printf("bands by classes of sizes, %d hashes: %.0f candidates for each row\n",
                    hashes,
                    ensemble_candidates(texts, sets, threshold, hashes));
    return 0;
}
