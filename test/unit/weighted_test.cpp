#include "bulk/weighted/rarest.h"
#include "bulk/weighted/weighted.h"

#include <cmath>
#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using namespace bulk_support;

// The weighted similarities of a problem's rows, by definition.
class weighted_truth {
public:
    explicit weighted_truth(const problem& of) : given(of)
    {
        const minhash::scheme& scheme = given.task.scheme;
        std::map<std::uint32_t, std::uint32_t> rows_of;
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> frequencies;
        for (std::uint32_t row = 0; row < given.count(); row++) {
            const support::hash_list cut = support::cut(given.texts[row], scheme.shingles, scheme.seed);
            auto& set = sets.emplace_back();
            for (const std::uint64_t element : std::set<std::uint64_t>(cut.begin(), cut.end()))
                set.emplace_back(element, 0);
            rows_of[given.scope_of(row)]++;
            for (const auto& [element, square] : set)
                frequencies[{given.scope_of(row), element}]++;
        }
        for (std::uint32_t row = 0; row < given.count(); row++) {
            double& norm = norms.emplace_back(0);
            for (auto& [element, square] : sets[row]) {
                const std::uint32_t scope = given.scope_of(row);
                const double weight = std::log((rows_of[scope] + 1.0) / frequencies[{scope, element}]);
                square = weight * weight;
                norm += square;
            }
        }
    }

    // -1 for rows that cannot be near.
    double similarity(std::uint32_t a, std::uint32_t b) const
    {
        if (given.scope_of(a) != given.scope_of(b))
            return -1;
        if (sets[a] == sets[b])
            return 1;
        double shared = 0;
        for (auto other = sets[b].begin(); const auto& [element, square] : sets[a]) {
            while (other != sets[b].end() && other->first < element)
                ++other;
            if (other != sets[b].end() && other->first == element)
                shared += square;
        }
        return shared == 0 ? -1 : shared / std::sqrt(norms[a] * norms[b]);
    }

    bool is_pair(std::uint32_t a, std::uint32_t b) const
    {
        return a < b && (!given.crossing || (a < given.first_count && b >= given.first_count));
    }

private:
    const problem& given;
    std::vector<std::vector<std::pair<std::uint64_t, double>>> sets; // of shingles, with the squares of their weights
    std::vector<double> norms;
};

constexpr double rounding = 1e-12;

struct comparison {
    std::size_t expected = 0;
    std::size_t found = 0;
    std::string wrong; // a pair that is not near, or has another similarity, or was found twice
};

std::vector<bulk::found_pair> find_pairs(const problem& given)
{
    test_host host;
    host.reporting = &host.always;
    engine_call call = {&host, &given, job::pairs, 0, {}};
    EXPECT_EQ(run(host, call_engine, call), finished);
    EXPECT_TRUE(host.files.empty());
    return host.pairs;
}

// Compares the pairs that are found with all that are near. Pairs whose similarity is the threshold, but for rounding,
// may be found.
comparison compare_pairs(const problem& given)
{
    const weighted_truth truth(given);
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> near;
    comparison result;
    for (std::uint32_t a = 0; a < given.count(); a++)
        for (std::uint32_t b = a + 1; b < given.count(); b++)
            if (const double similarity = truth.similarity(a, b);
                truth.is_pair(a, b) && similarity >= given.task.threshold - rounding) {
                near[{a, b}] = similarity;
                result.expected += similarity >= given.task.threshold + rounding;
            }
    for (const auto& [left, right, similarity] : find_pairs(given)) {
        const auto known = near.find(std::minmax(left, right));
        if (known == near.end() || std::abs(known->second - similarity) > rounding ||
            (known->second == 1 && similarity != 1)) {
            result.wrong = std::to_string(left) + " " + std::to_string(right) + " " + std::to_string(similarity);
            return result;
        }
        result.found += known->second >= given.task.threshold + rounding;
        near.erase(known);
    }
    return result;
}

problem weighted_problem(random_source& random, std::size_t most_rows)
{
    problem made = random_problem(random, most_rows);
    if (!made.from_texts) {
        made.from_texts = true;
        made.task.scheme = support::default_scheme;
        made.texts = random_texts(random, made.slots.size());
    }
    made.task.scheme.shingles.bag = false;
    std::erase_if(made.texts, [&](const std::string& text) { return support::sign(text, made.task.scheme).empty(); });
    if (made.task.scoped)
        made.scopes.resize(made.count());
    made.ranks.resize(made.count());
    made.first_count = std::min(made.first_count, made.count());
    made.task.exact = true;
    made.task.banding = {};
    made.task.max_bucket = 0;
    made.task.sets_only = true;
    made.task.recall = 1;
    made.weighted = true;
    return made;
}

TEST(weighted, pairs_are_those_that_brute_force_finds)
{
    random_source random = {191};
    std::size_t all = 0;
    for (int round = 0; round < 400; round++) {
        const problem given = weighted_problem(random, 60);
        const comparison result = compare_pairs(given);
        ASSERT_EQ(result.wrong, "") << "round " << round;
        ASSERT_EQ(result.found, result.expected) << "round " << round;
        all += result.found;
    }
    EXPECT_GT(all, 10'000u);
}

TEST(weighted, pairs_depend_neither_on_memory_nor_on_workers)
{
    random_source random = {192};
    problem given = weighted_problem(random, 2);
    given.task.scheme = support::default_scheme;
    given.task.scoped = given.crossing = false;
    given.scopes.clear();
    given.task.threshold = 0.3;
    given.task.recall = 0.9; // so that long rows are sampled
    given.texts.clear();
    for (int family = 0; family < 15; family++) {
        const std::string common = texts::make(texts::kinds[0], 3000, random);
        for (int i = 0; i < 10; i++)
            given.texts.push_back(common.substr(random.below(1200), 1800) + texts::make(texts::kinds[0], 300, random));
    }
    given.ranks.resize(given.count());
    std::vector<std::vector<std::tuple<std::uint32_t, std::uint32_t, double>>> found;
    for (const std::size_t memory : {std::size_t{0}, std::size_t{1} << 16, std::size_t{1} << 26})
        for (const int workers : {0, 3}) {
            given.memory = memory;
            given.workers = workers;
            auto& pairs = found.emplace_back();
            for (const auto& [left, right, similarity] : find_pairs(given))
                pairs.emplace_back(std::min(left, right), std::max(left, right), similarity);
            std::sort(pairs.begin(), pairs.end());
        }
    EXPECT_GT(found[0].size(), 300u);
    for (const auto& pairs : found)
        EXPECT_EQ(pairs, found[0]);
}

TEST(weighted, finds_the_share_of_pairs_that_is_promised)
{
    random_source random = {193};
    for (const double threshold : {0.2, 0.5, 0.7, 0.9}) {
        problem given = weighted_problem(random, 2);
        given.task.scheme = support::default_scheme;
        given.task.scoped = given.crossing = false;
        given.scopes.clear();
        given.task.threshold = threshold;
        given.task.recall = 0.95;
        given.texts.clear();
        // Rows of a family share about as much as the threshold says. The rest of each row is its own.
        constexpr std::size_t length = 2000;
        const double shared = std::pow(std::log(101.0 / 4), 2);
        const double own = std::pow(std::log(101.0), 2);
        const double part = own * threshold / (shared + (own - shared) * threshold);
        for (int family = 0; family < 25; family++) {
            const std::string whole = texts::make(texts::kinds[0], length, random);
            for (int copy = 0; copy < 4; copy++) {
                const auto kept = static_cast<std::size_t>(length * part) + random.below(100);
                given.texts.push_back(whole.substr(0, kept) +
                                      texts::make(texts::kinds[0], length - std::min(kept, length), random));
            }
        }
        given.ranks.resize(given.count());
        const comparison result = compare_pairs(given);
        EXPECT_EQ(result.wrong, "");
        EXPECT_GT(result.expected, 30u) << threshold;
        EXPECT_GE(static_cast<double>(result.found), 0.95 * static_cast<double>(result.expected)) << threshold;
    }
}

// The components of the true pairs, and from them the clusters, as truth::clusters() makes them.
cluster_list expected_clusters(const problem& given)
{
    const weighted_truth truth(given);
    const auto is_near = [&](std::uint32_t a, std::uint32_t b) {
        return a == b || truth.similarity(a, b) >= given.task.threshold;
    };
    std::vector<std::uint32_t> root(given.count());
    for (std::uint32_t row = 0; row < given.count(); row++)
        root[row] = row;
    for (std::uint32_t a = 0; a < given.count(); a++)
        for (std::uint32_t b = a + 1; b < given.count(); b++)
            if (is_near(a, b) && root[a] != root[b]) {
                const auto [smaller, larger] = std::minmax(root[a], root[b]);
                std::replace(root.begin(), root.end(), std::uint32_t{larger}, std::uint32_t{smaller});
            }
    cluster_list found;
    for (std::uint32_t first = 0; first < given.count(); first++) {
        std::vector<std::uint32_t> rows;
        for (std::uint32_t row = first; row < given.count(); row++)
            if (root[row] == first)
                rows.push_back(row);
        std::sort(rows.begin(), rows.end(), [&given](std::uint32_t a, std::uint32_t b) {
            return given.ranks[a] == given.ranks[b] ? a < b : given.ranks[a] < given.ranks[b];
        });
        while (!rows.empty()) {
            std::vector<std::uint32_t> left;
            std::vector<std::pair<std::uint32_t, double>> cluster;
            for (const std::uint32_t row : rows)
                if (!given.clusters.near_representative || is_near(rows[0], row))
                    cluster.emplace_back(row, row == rows[0] ? 1 : std::max(0.0, truth.similarity(rows[0], row)));
                else
                    left.push_back(row);
            if (cluster.size() > 1 || given.clusters.singletons)
                found.push_back(cluster);
            rows = left;
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

TEST(weighted, clusters_are_those_of_brute_force)
{
    random_source random = {194};
    for (int round = 0; round < 300; round++) {
        problem given = weighted_problem(random, 50);
        given.crossing = false;
        given.task.threshold = 0.013 + 0.95 * given.task.threshold; // so that no similarity is just the threshold
        test_host host;
        host.ranks = given.ranks;
        engine_call call = {&host, &given, job::clusters, 0, {}};
        ASSERT_EQ(run(host, call_engine, call), finished);
        std::sort(host.clusters.begin(), host.clusters.end());
        const cluster_list expected = expected_clusters(given);
        ASSERT_EQ(host.clusters.size(), expected.size()) << "round " << round;
        for (std::size_t i = 0; i < expected.size(); i++) {
            ASSERT_EQ(host.clusters[i].size(), expected[i].size()) << "round " << round;
            for (std::size_t j = 0; j < expected[i].size(); j++) {
                ASSERT_EQ(host.clusters[i][j].first, expected[i][j].first) << "round " << round;
                ASSERT_NEAR(host.clusters[i][j].second, expected[i][j].second, rounding) << "round " << round;
            }
        }
    }
}

} // namespace
