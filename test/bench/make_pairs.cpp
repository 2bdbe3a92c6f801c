// Prints texts as rows for COPY, with near-duplicates planted among them, and writes the true pairs to a file:
// make_pairs COUNT CHARACTERS TRUTH [SEED]
//
// Every tenth fresh text starts a family of two to five. The other members are copies of it in which spans of up to 20
// letters are replaced, until the similarity is about one drawn from 0.5 to 1. They follow within the next 50,000
// texts. TRUTH gets a row (left_id, right_id, jaccard) for every two texts of a family whose similarity is 0.5 or more.
// It is exact, over the sets of all five-character windows of the texts after folding case and white space. Texts of
// different families are far from each other.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>

#include "texts.h"

namespace {

using shingle_set = std::unordered_set<std::uint64_t>;

struct member {
    long id;
    shingle_set shingles;
};

using family = std::vector<member>;

struct planted {
    std::string text;
    std::shared_ptr<family> of;
};

// The shingles of an ASCII text, computed without the code that is measured.
shingle_set shingles_of(const std::string& text)
{
    std::string folded;
    for (const char letter : text) {
        const bool space = letter == ' ' || letter == '\n';
        if (space && (folded.empty() || folded.back() == ' '))
            continue;
        folded += space ? ' ' : letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    }
    if (!folded.empty() && folded.back() == ' ')
        folded.pop_back();
    shingle_set shingles;
    std::uint64_t window = 0;
    for (std::size_t at = 0; at < folded.size(); at++) {
        window = (window << 8 | static_cast<unsigned char>(folded[at])) & 0xFFFFFFFFFF;
        if (at >= 4)
            shingles.insert(window);
    }
    return shingles;
}

double jaccard(const shingle_set& a, const shingle_set& b)
{
    std::size_t shared = 0;
    for (const std::uint64_t shingle : a)
        shared += b.count(shingle);
    return static_cast<double>(shared) / static_cast<double>(a.size() + b.size() - shared);
}

// Makes a copy of about this similarity: replacing a span of n letters removes n + 4 shingles and adds as many.
std::string edited(std::string text, double similarity, bench::random_source& random)
{
    const double size = static_cast<double>(text.size());
    for (double left = size * (1 - similarity) / (1 + similarity); left > 4;) {
        const std::size_t most = left < 24 ? static_cast<std::size_t>(left) - 3 : 20;
        const std::size_t span = 1 + random.next() % most;
        const std::size_t from = random.next() % (text.size() - span);
        for (std::size_t at = from; at < from + span; at++)
            text[at] = static_cast<char>('a' + random.next() % 26);
        left -= static_cast<double>(span + 4);
    }
    return text;
}

void print(long id, const std::string& text)
{
    std::printf("%ld\t", id);
    for (const char letter : text) {
        if (letter == '\n')
            std::fputs("\\n", stdout);
        else
            std::putchar(letter);
    }
    std::putchar('\n');
}

} // namespace

int main(int argc, char** argv)
{
    std::FILE* const truth = argc < 4 ? nullptr : std::fopen(argv[3], "w");
    if (truth == nullptr) {
        std::fprintf(stderr, "usage: make_pairs COUNT CHARACTERS TRUTH [SEED]\n");
        return 2;
    }
    const long count = std::atol(argv[1]);
    const std::size_t characters = std::strtoul(argv[2], nullptr, 10);
    const std::uint64_t seed = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1;
    bench::text_source source(bench::script::english, seed);
    bench::random_source random{seed + 1000};

    std::multimap<long, planted> due;
    for (long id = 1; id <= count; id++) {
        planted now;
        if (!due.empty() && due.begin()->first <= id) {
            now = std::move(due.begin()->second);
            due.erase(due.begin());
        } else {
            now.text = source.text(characters);
            if (random.next() % 10 == 0) {
                now.of = std::make_shared<family>();
                for (std::uint64_t copies = 1 + random.next() % 4; copies > 0; copies--) {
                    const long later = id + 1 + static_cast<long>(random.next() % 50000);
                    const double similarity = 0.5 + random.fraction() / 2;
                    due.insert({later, {edited(now.text, similarity, random), now.of}});
                }
            }
        }
        if (now.of != nullptr) {
            const member fresh = {id, shingles_of(now.text)};
            for (const member& other : *now.of) {
                const double similarity = jaccard(other.shingles, fresh.shingles);
                if (similarity >= 0.5)
                    std::fprintf(truth, "%ld\t%ld\t%.17g\n", other.id, id, similarity);
            }
            now.of->push_back(fresh);
        }
        print(id, now.text);
    }
    return std::fclose(truth) != 0;
}
