// Measures what exact comparisons of pairs of texts cost in two ways: with sets that are kept (bulk/sets/exact_sets.h),
// and with a table of the first text, into which each second text is entered and then removed again.
// exact_sets_bench [THRESHOLD]
#include "bulk/sets/exact_sets.h"

#include "core/probe.h"
#include "core/shingle.h"
#include "core/unicode.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "texts.h"

using namespace minhash;

namespace {

shingler cutter;
shingle_batch batch;

template <typename Take>
void each_batch(const std::string& text, Take take)
{
    start(cutter, {unit::character, 5, true, false}, 42);
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    for (std::size_t left = text.size(); left > 0;) {
        const std::size_t taken = left > slice_bytes ? whole_characters(at, slice_bytes) : left;
        cut(cutter, at, taken, taken == left, batch);
        take();
        at += taken;
        left -= taken;
    }
}

using text_list = std::vector<std::string>;

struct plain_host : bulk::host {
    int stop = 0;

    plain_host() : host{}
    {
        allocate = [](host&, std::size_t bytes) { return std::malloc(bytes); };
        release = [](host&, void* memory) { std::free(memory); };
        stopping = &stop;
    }
};

struct result {
    double seconds;
    double sum; // the sum of similarities
    std::size_t pairs;
};

// Calls compare(a, b) for all pairs that are at most `reach` apart, or that are in the same family of `reach` texts.
template <typename Compare>
result time_pairs(const text_list& texts, std::size_t reach, bool families, Compare compare)
{
    const std::clock_t from = std::clock();
    result all = {};
    for (std::uint32_t a = 0; a < texts.size(); a++)
        for (std::uint32_t b = a + 1; b < texts.size() && b <= (families ? a / reach * reach + reach - 1 : a + reach);
             b++, all.pairs++)
            all.sum += compare(a, b);
    all.seconds = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
    return all;
}

result with_kept_sets(const text_list& texts, std::size_t reach, bool families, double least)
{
    plain_host host;
    bulk::exact_sets sets;
    const bulk::element_source source = {
        const_cast<text_list*>(&texts),
        [](void* from, std::uint32_t row, bulk::distinct_elements& set) {
            const std::string& text = (*static_cast<text_list*>(from))[row];
            start_elements(set, text.size());
            each_batch(text, [&] { add(set, batch.lo, batch.hi, batch.count); });
        },
    };
    start_sets(sets, host, source, static_cast<std::uint32_t>(texts.size()), 16 << 20);
    const result all = time_pairs(texts, reach, families, [&](std::uint32_t a, std::uint32_t b) {
        return compare(sets, a, b, least).value_or(0);
    });
    return all;
}

// A table of the elements of two texts.
struct one_table {
    std::vector<std::uint64_t> entries;
    std::vector<std::uint8_t> marks; // 1: the first text has it, 2: the second has it
    std::vector<std::size_t> seconds;
    overlap sizes = {};

    void take_first(const std::string& text, std::size_t most)
    {
        entries.assign(std::bit_ceil(most + most / 2), 0);
        marks.assign(entries.size(), 0);
        seconds.clear();
        sizes = {};
        each_batch(text, [&] {
            for (std::size_t i = 0; i < batch.count; i++) {
                const std::size_t at = enter(i);
                sizes.first += marks[at] == 0;
                marks[at] = 1;
            }
        });
    }

    double take_second(const std::string& text)
    {
        for (; !seconds.empty(); seconds.pop_back()) {
            marks[seconds.back()] &= 1;
            if (marks[seconds.back()] == 0)
                entries[seconds.back()] = 0;
        }
        sizes.second = sizes.shared = 0;
        each_batch(text, [&] {
            for (std::size_t i = 0; i < batch.count; i++) {
                const std::size_t at = enter(i);
                if ((marks[at] & 2) != 0)
                    continue;
                seconds.push_back(at);
                sizes.second++;
                sizes.shared += marks[at];
                marks[at] |= 2;
            }
        });
        return jaccard(sizes);
    }

private:
    std::size_t enter(std::size_t i)
    {
        const std::uint64_t element = join(batch.lo[i], batch.hi[i]) | 1;
        const std::size_t at = probe(entries.size() - 1, first_cell(element), [&](std::size_t entry) {
            return entries[entry] == element || entries[entry] == 0;
        });
        entries[at] = element;
        return at;
    }
};

result with_one_table(const text_list& texts, std::size_t reach, bool families, double least)
{
    std::size_t most = 0;
    for (const std::string& text : texts)
        most = std::max(most, text.size());
    one_table table = {};
    std::uint32_t first = 0xFFFFFFFF;
    return time_pairs(texts, reach, families, [&](std::uint32_t a, std::uint32_t b) {
        if (first != a)
            table.take_first(texts[a], texts[a].size() + most);
        first = a;
        const double similarity = table.take_second(texts[b]);
        return similarity >= least ? similarity : 0;
    });
}

void show(const char* what, const text_list& texts, std::size_t reach, bool families, double least)
{
    std::vector<double> ratios;
    result before, kept;
    for (int run = 0; run < 3; run++) {
        before = with_one_table(texts, reach, families, least);
        kept = with_kept_sets(texts, reach, families, least);
        ratios.push_back(kept.seconds / before.seconds);
        if (std::abs(before.sum - kept.sum) > 1e-6)
            std::printf("similarities differ: %g, %g\n", before.sum, kept.sum);
    }
    std::sort(ratios.begin(), ratios.end());
    const double ns = 1e9 / static_cast<double>(kept.pairs);
    std::printf("%-58s %9.0f %9.0f %7.3f\n", what, before.seconds * ns, kept.seconds * ns, ratios[1]);
}

// Copies a text, and overwrites as many passages of 60 bytes with other words as `changes` says.
std::string edited(const std::string& text, bench::text_source& source, std::size_t changes)
{
    std::string other = text;
    for (std::size_t i = 0; i < changes; i++) {
        const std::string piece = source.text(60);
        const std::size_t at = (i * 7919 + piece[0] * 104729) % (text.size() - 60);
        other.replace(at, 60, piece);
    }
    return other;
}

} // namespace

int main(int argc, char** argv)
{
    kernels = find_kernels("auto");
    const double least = argc > 1 ? std::atof(argv[1]) : 0.8;
    bench::text_source source(bench::script::english, 4000);
    std::printf("%-58s %9s %9s %7s\n", "ns a pair", "before", "kept", "ratio");

    text_list families;
    for (int i = 0; i < 3000; i++)
        families.push_back(i % 3 == 0 ? source.text(1000) : edited(families[families.size() - i % 3], source, 1));
    show("1 KB, families of 3, each met with the others", families, 3, true, least);

    text_list pairs;
    for (int i = 0; i < 1000; i++) {
        pairs.push_back(source.text(1000));
        pairs.push_back(edited(pairs.back(), source, 1));
    }
    show("1 KB, in pairs, each met with the next", pairs, 1, false, least);

    text_list pages;
    for (int family = 0; family < 10; family++) {
        const std::string page = source.text(4000);
        for (std::size_t i = 0; i < 20; i++)
            pages.push_back(edited(page, source, i % 5));
    }
    show("4 KB, families of 20 pages, each met with the next 20", pages, 20, false, least);

    text_list copies;
    const std::string once = source.text(1000);
    for (int i = 0; i < 1000; i++) {
        std::string number = std::to_string(i * 2654435761u);
        copies.push_back(once + " copy number " + std::to_string(i) + " of " + number + number + number);
    }
    show("1 KB, 1,000 copies with a number of their own, all pairs", copies, copies.size(), false, least);
    show("the same at 0.97, which none reaches", copies, copies.size(), false, 0.97);
}
