// Runs the engine of the bulk functions in benchmarks: a host, texts from files, and a choice of hashes, bands and rows
// that is made as in pg/bulk/choice.cpp.
#pragma once

#include "bulk/rows/steps.h"
#include "bulk/search/pairs.h"
#include "bulk/tuning/choose_bands.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_set>
#include <vector>

namespace bench {

namespace bulk = minhash::bulk;

struct engine_host : bulk::host {
    int stop = 0;
    std::unordered_set<void*> memory;
    // Memory of the present phase.
    std::unordered_set<void*> outside;
    std::unordered_set<void*> shared;
    std::vector<bulk::found_pair> pairs;

    engine_host() : host{}
    {
        allocate = [](host& self, std::size_t bytes) {
            void* const fresh = std::malloc(bytes);
            static_cast<engine_host&>(self).memory.insert(fresh);
            return fresh;
        };
        release = [](host& self, void* given) {
            auto& mine = static_cast<engine_host&>(self);
            mine.memory.erase(given);
            mine.outside.erase(given);
            std::free(given);
        };
        begin_phase = [](host& self) {
            auto& mine = static_cast<engine_host&>(self);
            mine.outside.swap(mine.memory);
        };
        end_phase = [](host& self) {
            auto& mine = static_cast<engine_host&>(self);
            free_all(mine.memory);
            mine.outside.swap(mine.memory);
        };
        allocate_shared = [](host& self, std::size_t bytes, bool) {
            void* const fresh = std::malloc(bytes);
            static_cast<engine_host&>(self).shared.insert(fresh);
            return bulk::private_number(fresh);
        };
        find_shared = [](host&, bulk::shared_number number) { return bulk::private_memory(number); };
        release_shared = [](host& self, bulk::shared_number number) {
            static_cast<engine_host&>(self).shared.erase(bulk::private_memory(number));
            std::free(bulk::private_memory(number));
        };
        stopping = &stop;
        reporting = &stop;
        report = [](host&, const char*, std::uint64_t, std::uint64_t) {};
    }

    engine_host(const engine_host&) = delete;

    ~engine_host()
    {
        for (auto* const freed : {&memory, &outside, &shared})
            free_all(*freed);
    }

    static void free_all(std::unordered_set<void*>& all)
    {
        for (void* const each : all)
            std::free(each);
        all.clear();
    }
};

inline minhash::scheme default_scheme()
{
    return {.version = minhash::scheme_version,
            .method = minhash::method::fss,
            .bits = minhash::bits_per_slot,
            .num_hashes = minhash::default_num_hashes,
            .shingles = {minhash::unit::character, 5, true, false},
            .seed = 42};
}

inline std::vector<std::string> read_lines(const char* path)
{
    std::vector<std::string> lines;
    std::FILE* const file = std::fopen(path, "r");
    if (file == nullptr) {
        std::perror(path);
        std::exit(1);
    }
    char* line = nullptr;
    std::size_t room = 0;
    for (;;) {
        const auto length = getline(&line, &room, file);
        if (length < 0)
            break;
        if (length > 1) // the empty set is near nothing
            lines.emplace_back(line, static_cast<std::size_t>(length));
    }
    std::free(line);
    std::fclose(file);
    return lines;
}

inline bulk::text_bytes bytes_of(const std::string& text)
{
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Chooses hashes, bands and rows by cost for the rows that have been taken. If `given` has hashes and bands, it uses
// these, and returns what is predicted for them. The choice becomes the task of the rows.
inline bulk::bands_plan choose(bulk::row_set& rows, const bulk::bands_plan& given = {})
{
    bulk::task task = rows.task;
    double bytes = 0;
    bulk::sampled_counts counts;
    const bulk::agreement_counts agreements = bulk::sample_rows(rows, counts, bytes);
    const double count = rows.count;
    const bulk::bands_wanted wanted = {.rows = count,
                                       .pairs = count * (count - 1) / 2,
                                       .threshold = task.threshold,
                                       .recall = bulk::recall_to_expect(task.recall),
                                       .missed = bulk::share_missed(task.recall),
                                       .least_hashes = 64,
                                       .most_hashes = 1024,
                                       .exact = true};
    const bulk::work_costs costs = bulk::costs_of(bytes, true);
    const bulk::bands_plan plan = given.num_hashes > 0
                                      ? bulk::predict_cost(wanted, given.num_hashes, given.banding, agreements, costs)
                                      : bulk::choose_by_cost(wanted, agreements, costs);
    task.banding = plan.banding;
    task.scheme.num_hashes = static_cast<std::uint16_t>(plan.num_hashes);
    bulk::set_task(rows, task);
    return plan;
}

inline bulk::row_set& take(bulk::memory_budget& budget, const std::vector<std::string>& texts, const bulk::task& task)
{
    bulk::row_set& rows = *bulk::make_rows(budget, task, true);
    for (const std::string& text : texts)
        bulk::take_text(rows, bytes_of(text), text.size());
    return rows;
}

// Leaves the pairs in the host. Returns the hashes, bands and rows that it chose.
inline bulk::bands_plan find_pairs(engine_host& host, const std::vector<std::string>& texts, const bulk::task& task)
{
    bulk::memory_budget budget = bulk::make_budget(host, std::size_t{1} << 32);
    bulk::row_set& rows = take(budget, texts, task);
    const bulk::bands_plan plan = choose(rows);
    bulk::find_pairs(rows, false, [](bulk::host& to, const bulk::found_pair& pair) {
        static_cast<engine_host&>(to).pairs.push_back(pair);
    });
    return plan;
}

} // namespace bench
