// Measures what signatures cost in the core, as ratios to a loop of XXH3 over every five-byte window of the same texts
// in the same run. Every figure is the median of interleaved repetitions.
#include "core/compress.h"
#include "core/hash.h"
#include "core/kernels.h"
#include "core/shingle.h"
#include "core/sketch.h"
#include "core/unicode.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "texts.h"

using namespace minhash;

namespace {

constexpr int num_hashes = 128;

struct corpus {
    std::vector<std::string> texts;
    std::size_t characters;
    std::size_t bytes = 0;

    // Enough texts that the branch predictor cannot learn them.
    corpus(bench::script script, std::size_t length) : characters(length)
    {
        bench::text_source source(script, length);
        const std::size_t count = std::clamp<std::size_t>(40000 / length, 8, 300);
        for (std::size_t index = 0; index < count; index++) {
            texts.push_back(source.text(length));
            bytes += texts.back().size();
        }
    }
};

const corpus& corpus_of(bench::script script, std::size_t length)
{
    static std::map<std::pair<bench::script, std::size_t>, corpus> made;
    return made.try_emplace({script, length}, script, length).first->second;
}

shingler cutter;
shingle_batch batch;
sketch signed_text;

void sign(const std::string& text, const shingling& how, method method)
{
    start(cutter, how, 42);
    start(signed_text, method, num_hashes);
    const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
    for (std::size_t left = text.size(); left > 0;) {
        const std::size_t taken = left > slice_bytes ? whole_characters(at, slice_bytes) : left;
        cut(cutter, at, taken, taken == left, batch);
        absorb(signed_text, batch.lo, batch.hi, batch.count);
        at += taken;
        left -= taken;
    }
}

// One iteration signs one text, the next one of the corpus each time.
template <typename Work>
void over_texts(benchmark::State& state, const corpus& texts, Work work)
{
    std::size_t next = 0;
    for (auto _ : state) {
        work(texts.texts[next]);
        next = next + 1 == texts.texts.size() ? 0 : next + 1;
    }
}

void hash_all_windows(const std::string& text, std::vector<std::uint64_t>& hashes)
{
    for (std::size_t at = 0; at + 5 <= text.size(); at++)
        hashes[at] = XXH3_64bits_withSeed(text.data() + at, 5, 42);
    benchmark::DoNotOptimize(hashes.data());
    benchmark::ClobberMemory();
}

// The textbook method: XXH3 of every window, then one multiply-add and one minimum per hash and slot.
void sign_by_the_book(const std::string& text, std::vector<std::uint64_t>& hashes)
{
    static std::vector<std::uint32_t> lo(20000 + padding);
    static std::vector<std::uint32_t> hi(20000 + padding);
    hash_all_windows(text, hashes);
    for (std::size_t at = 0; at < text.size(); at++) {
        lo[at] = low(hashes[at]);
        hi[at] = high(hashes[at]);
    }
    start(signed_text, method::classic, num_hashes);
    kernels->absorb_classic(signed_text.slots, num_hashes, lo.data(), hi.data(), text.size() - 4);
    benchmark::DoNotOptimize(signed_text.slots);
}

void sign_integers(const std::vector<std::int64_t>& values, std::size_t from, std::size_t count)
{
    start(signed_text, method::fss, num_hashes);
    for (std::size_t at = from; at < from + count; at += 1024) {
        const std::size_t taken = std::min<std::size_t>(1024, from + count - at);
        kernels->hash_integers(values.data() + at, taken, 42, batch.lo, batch.hi);
        absorb(signed_text, batch.lo, batch.hi, taken);
    }
}

// The slots of this many signatures, many of which are equal.
std::vector<std::uint32_t> random_slots(std::size_t signatures)
{
    std::vector<std::uint32_t> slots(num_hashes * signatures);
    bench::random_source random{7};
    for (std::uint32_t& slot : slots)
        slot = static_cast<std::uint32_t>(random.next() % 4);
    return slots;
}

constexpr shingling five_characters = {unit::character, 5, true, false};
constexpr shingling five_words = {unit::word, 5, true, false};
constexpr std::size_t lengths[] = {50, 200, 1000, 10000};
constexpr std::size_t set_sizes[] = {10, 100, 1000, 10000};

void register_all()
{
    using bench::script;
    const auto add = [](const std::string& name, auto work) { benchmark::RegisterBenchmark(name.c_str(), work); };
    for (const std::size_t length : lengths) {
        add("xxh3/" + std::to_string(length), [=](benchmark::State& state) {
            std::vector<std::uint64_t> hashes(20000);
            over_texts(state, corpus_of(script::english, length), [&](const std::string& text) {
                hash_all_windows(text, hashes);
            });
        });
    }
    for (const kernel_table* const table : runnable_kernels()) {
        const std::string name = table->name;
        const auto add_signing =
            [&](const std::string& what, script of, std::size_t length, const shingling& how, method method) {
                add(name + "/" + what + "/" + std::to_string(length), [=](benchmark::State& state) {
                    kernels = table;
                    over_texts(state, corpus_of(of, length), [&](const std::string& text) {
                        sign(text, how, method);
                        benchmark::DoNotOptimize(signed_text.slots);
                    });
                });
            };
        for (const std::size_t length : lengths) {
            add_signing("fss", script::english, length, five_characters, method::fss);
            add_signing("classic", script::english, length, five_characters, method::classic);
            add_signing("words", script::english, length, five_words, method::fss);
            add(name + "/textbook/" + std::to_string(length), [=](benchmark::State& state) {
                kernels = table;
                std::vector<std::uint64_t> hashes(20000);
                over_texts(state, corpus_of(script::english, length), [&](const std::string& text) {
                    sign_by_the_book(text, hashes);
                });
            });
        }
        add_signing("russian", script::russian, 1000, five_characters, method::fss);
        add_signing("chinese", script::chinese, 1000, five_characters, method::fss);
        add_signing("french", script::french, 1000, five_characters, method::fss);
        add(name + "/compare", [=](benchmark::State& state) {
            kernels = table;
            const std::vector<std::uint32_t> slots = random_slots(1000);
            std::size_t next = 0;
            for (auto _ : state) {
                benchmark::DoNotOptimize(
                    kernels->count_equal(&slots[next * num_hashes], &slots[(next + 1) * num_hashes], num_hashes));
                next = next + 2 >= 1000 ? 0 : next + 2;
            }
        });
        for (const int bits : {1, 8}) {
            add(name + "/compare/" + std::to_string(bits), [=](benchmark::State& state) {
                kernels = table;
                scheme scheme = {};
                scheme.bits = static_cast<std::uint8_t>(bits);
                scheme.num_hashes = num_hashes;
                const std::vector<std::uint32_t> slots = random_slots(1000);
                const auto* const packed = reinterpret_cast<const std::uint8_t*>(slots.data());
                const std::size_t bytes = slot_bytes(bits, num_hashes);
                std::size_t next = 0;
                for (auto _ : state) {
                    benchmark::DoNotOptimize(count_equal(scheme, packed + next * bytes, packed + (next + 1) * bytes));
                    next = next + 2 >= 1000 ? 0 : next + 2;
                }
            });
        }
        add(name + "/union", [=](benchmark::State& state) {
            kernels = table;
            const std::vector<std::uint32_t> slots = random_slots(1000);
            std::size_t next = 0;
            for (auto _ : state) {
                kernels->merge(&slots[next * num_hashes],
                               &slots[(next + 1) * num_hashes],
                               num_hashes,
                               signed_text.slots);
                benchmark::DoNotOptimize(signed_text.slots);
                benchmark::ClobberMemory();
                next = next + 2 >= 1000 ? 0 : next + 2;
            }
        });
        for (const std::size_t size : set_sizes) {
            add(name + "/integers/" + std::to_string(size), [=](benchmark::State& state) {
                kernels = table;
                std::vector<std::int64_t> values(100000 + padding);
                bench::random_source random{8};
                for (std::int64_t& value : values)
                    value = static_cast<std::int64_t>(random.next());
                std::size_t from = 0;
                for (auto _ : state) {
                    sign_integers(values, from, size);
                    benchmark::DoNotOptimize(signed_text.slots);
                    from = from + 2 * size > 100000 ? 0 : from + size;
                }
            });
        }
    }
}

// Keeps medians and their spread for the table that is printed at the end.
class ratio_reporter : public benchmark::ConsoleReporter {
public:
    ratio_reporter() : ConsoleReporter(OO_None) {}

    bool ReportContext(const Context& context) override
    {
        PrintBasicContext(&GetErrorStream(), context);
        return true;
    }

    void ReportRuns(const std::vector<Run>& runs) override
    {
        for (const Run& run : runs) {
            if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median")
                median_[run.run_name.function_name] = run.GetAdjustedRealTime();
            if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "cv")
                spread_ = std::max(spread_, run.real_accumulated_time);
        }
    }

    double at(const std::string& name) const
    {
        const auto found = median_.find(name);
        return found == median_.end() ? 0 : found->second;
    }

    void print_tables() const
    {
        std::printf("\nT / X: text to signature of 128 hashes over XXH3 of every window, by characters\n");
        std::printf("%-10s %8s %8s %8s %8s\n", "", "50", "200", "1000", "10000");
        for_each_table([&](const std::string& name) {
            std::printf("%-10s", name.c_str());
            for (const std::size_t length : lengths) {
                const std::string of = "/" + std::to_string(length);
                std::printf(" %8.2f", at(name + "/fss" + of) / at("xxh3" + of));
            }
            std::printf("\n");
        });
        std::printf("\nns per text, GB/s at 1,000 characters, and ratios\n");
        std::printf("%-10s %9s %9s %9s %9s | %6s %6s | %9s %9s | %7s %7s %7s | %8s\n",
                    "",
                    "fss 50",
                    "200",
                    "1000",
                    "10000",
                    "GB/s",
                    "words",
                    "textbook",
                    "/ at 10k",
                    "russian",
                    "chinese",
                    "french",
                    "compare");
        for_each_table([&](const std::string& name) {
            std::printf("%-10s", name.c_str());
            for (const std::size_t length : lengths)
                std::printf(" %9.0f", at(name + "/fss/" + std::to_string(length)));
            const double thousand = at(name + "/fss/1000");
            std::printf(" | %6.2f %6.2f | %8.1fx %8.1fx | %6.2fx %6.2fx %6.2fx | %5.1f ns\n",
                        1000 / thousand,
                        1000 / at(name + "/words/1000"),
                        at(name + "/textbook/1000") / thousand,
                        at(name + "/textbook/10000") / at(name + "/fss/10000"),
                        at(name + "/russian/1000") / thousand,
                        at(name + "/chinese/1000") / thousand,
                        at(name + "/french/1000") / thousand,
                        at(name + "/compare"));
        });
        std::printf("\nmillion integers signed a second, by the set's size; ns for a union, and to\n"
                    "compare signatures of 8 bits and of one\n");
        std::printf("%-10s %8s %8s %8s %8s | %8s %8s %8s\n",
                    "",
                    "10",
                    "100",
                    "1000",
                    "10000",
                    "union",
                    "8 bits",
                    "1 bit");
        for_each_table([&](const std::string& name) {
            std::printf("%-10s", name.c_str());
            for (const std::size_t size : set_sizes)
                std::printf(" %8.0f",
                            static_cast<double>(size) * 1000 / at(name + "/integers/" + std::to_string(size)));
            std::printf(" | %8.1f %8.1f %8.1f\n",
                        at(name + "/union"),
                        at(name + "/compare/8"),
                        at(name + "/compare/1"));
        });
        std::printf("(X at 1,000 characters: %.2f ns per window; textbook: XXH3 and classic, over fss;\n"
                    " russian, chinese, french: time per character over english; largest spread of a\n"
                    " median's repetitions: %.0f %%)\n",
                    at("xxh3/1000") / 996,
                    spread_ * 100);
    }

private:
    template <typename Work>
    static void for_each_table(Work work)
    {
        for (const kernel_table* const table : runnable_kernels())
            work(table->name);
    }

    std::map<std::string, double> median_;
    double spread_ = 0;
};

} // namespace

int main(int argc, char** argv)
{
    std::vector<char*> arguments(argv, argv + argc);
    std::string defaults[] = {"--benchmark_repetitions=9",
                              "--benchmark_min_time=0.01",
                              "--benchmark_enable_random_interleaving=true",
                              "--benchmark_report_aggregates_only=true"};
    for (std::string& flag : defaults)
        arguments.insert(arguments.begin() + 1, flag.data());
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    register_all();
    ratio_reporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    reporter.print_tables();
}
