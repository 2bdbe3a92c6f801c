// Measures how often the true recall lies within the interval that an evaluation of bands and rows gives, for texts
// whose near-duplicates come in families. The pairs of one family are found or missed together, so an interval that
// treats them as independent is too narrow.
// evaluate_interval_bench KIND SEEDS ANCHORS THRESHOLD
//
// If KIND is `unequal`, the texts of a family are edits of one text; many families have few texts, and few have many.
// If it is `chains`, each text is an edit of the one before it. The texts are the same for all seeds; anchors and hash
// functions are not. The true recall is that of an evaluation with all rows as anchors.
#include "bulk/evaluation/evaluation.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "engine.h"

using namespace minhash;
namespace bulk = minhash::bulk;

namespace {

using words = std::vector<std::string>;
using random_engine = std::mt19937_64;

constexpr std::size_t words_of_text = 60;
constexpr std::size_t memory = std::size_t{1} << 30;

words make_vocabulary(random_engine& random)
{
    words made(3000);
    for (std::string& word : made)
        for (std::uint64_t left = 3 + random() % 7; left > 0; left--)
            word += static_cast<char>('a' + random() % 26);
    return made;
}

std::vector<std::string> make_texts(bool chains)
{
    random_engine random(chains ? 78 : 77);
    const words vocabulary = make_vocabulary(random);
    const auto any_word = [&] { return vocabulary[random() % vocabulary.size()]; };
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<std::string> texts;
    for (int family = 1; texts.size() < (chains ? 4000 : 1500); family++) {
        words text(words_of_text);
        std::generate(text.begin(), text.end(), any_word);
        const words first = text;
        for (int left = std::max(1, static_cast<int>((chains ? 60 : 80) / std::pow(family, 0.6))); left > 0; left--) {
            const double rate = chains ? 0.02 : 0.001 + 0.06 * uniform(random);
            if (!chains)
                text = first;
            std::string joined;
            for (std::string& word : text) {
                if (uniform(random) < rate)
                    word = any_word();
                joined += word + ' ';
            }
            texts.push_back(joined);
            if (uniform(random) < 0.05)
                texts.push_back(joined);
        }
    }
    std::shuffle(texts.begin(), texts.end(), random);
    return texts;
}

// Evaluates the settings with this many anchors. Returns the number of true pairs.
std::uint64_t evaluate(const std::vector<std::string>& texts,
                       std::uint64_t seed,
                       std::size_t anchors,
                       double threshold,
                       std::vector<bulk::setting>& settings)
{
    std::vector<std::uint32_t> order(texts.size());
    std::iota(order.begin(), order.end(), 0);
    random_engine random(seed * 977);
    std::shuffle(order.begin(), order.end(), random);
    bench::engine_host host;
    bulk::task task = {};
    task.scheme = bench::default_scheme();
    task.scheme.seed = static_cast<std::int64_t>(seed);
    task.banding = {1, 1};
    task.threshold = threshold;
    task.recall = 0.95;
    task.exact = task.whole_slots = true;
    bulk::memory_budget budget = bulk::make_budget(host, memory);
    bulk::row_set& rows = bench::take(budget, texts, task);
    return bulk::evaluate(rows, std::span(order).first(anchors), settings, memory).true_pairs;
}

} // namespace

int main(int count, char** arguments)
{
    if (count != 5) {
        std::fprintf(stderr, "usage: %s unequal|chains SEEDS ANCHORS THRESHOLD\n", arguments[0]);
        return 2;
    }
    const std::vector<std::string> texts = make_texts(std::strcmp(arguments[1], "chains") == 0);
    const auto seeds = std::strtoull(arguments[2], nullptr, 10);
    const std::size_t anchors = std::min<std::size_t>(texts.size(), std::strtoull(arguments[3], nullptr, 10));
    const double threshold = std::strtod(arguments[4], nullptr);
    const std::vector<bulk::setting> fresh = {{{13, 7}, 0, 0, 0, {}}, {{10, 12}, 0, 0, 0, {}}, {{20, 6}, 0, 0, 0, {}}};

    struct sum {
        int holding;
        double width;
        double recall;
    };

    std::vector<sum> sums(fresh.size());
    for (std::uint64_t seed = 1; seed <= seeds; seed++) {
        std::vector<bulk::setting> some = fresh;
        std::vector<bulk::setting> all = fresh;
        evaluate(texts, seed, anchors, threshold, some);
        const auto pairs = static_cast<double>(evaluate(texts, seed, texts.size(), threshold, all));
        for (std::size_t i = 0; i < fresh.size(); i++) {
            const double recall = static_cast<double>(all[i].found) / pairs;
            const interval& told = some[i].recall;
            sums[i].holding += recall >= told.low - 1e-12 && recall <= told.high + 1e-12;
            sums[i].width += told.high - told.low;
            sums[i].recall += recall;
        }
    }
    for (std::size_t i = 0; i < fresh.size(); i++)
        std::printf("%s, %zu texts, %zu anchors, threshold %.2f, %d bands of %d rows: %d of %d intervals hold, of "
                    "width %.4f; recall %.4f\n",
                    arguments[1],
                    texts.size(),
                    anchors,
                    threshold,
                    fresh[i].banding.bands,
                    fresh[i].banding.rows,
                    sums[i].holding,
                    static_cast<int>(seeds),
                    sums[i].width / static_cast<double>(seeds),
                    sums[i].recall / static_cast<double>(seeds));
}
