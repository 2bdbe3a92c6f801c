// Helpers for tests of the engine: a host that can fail at any point, rows to work on, and the right results, which are
// found by comparing every row with every other.
#pragma once

#include "bulk/containment/containment.h"
#include "bulk/evaluation/evaluation.h"
#include "bulk/rows/steps.h"
#include "bulk/search/clusters.h"
#include "bulk/search/pairs.h"
#include "bulk/tuning/choose_bands.h"
#include "bulk/weighted/weighted.h"

#include "core/compress.h"

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "texts.h"

namespace bulk_support {

namespace bulk = minhash::bulk;
using bulk::row_set;
using support::random_source;

// How a run of the engine ended.
enum outcome { finished, out_of_memory, write_failed, read_failed, stopped, worker_failed, too_many_shingles };

// Each cluster lists its rows, and the similarity of each row to the cluster's first row.
using cluster_list = std::vector<std::vector<std::pair<std::uint32_t, double>>>;

// A host whose n-th call of a kind fails (counted from 1; 0: none fails). Like PostgreSQL, the host then jumps over the
// engine and frees everything that the engine had. The host's workers are threads. Each worker has its own host, whose
// calls count as calls of the first host.
struct test_host : bulk::host {
    test_host* first = this;
    std::set<void*> memory; // memory of this process alone
    std::set<void*> of_phase;
    bool in_phase = false;
    std::mutex guard; // in the first host, guards the members below
    std::set<void*> shared;
    std::map<int, std::string> files;
    int next_file = 1;
    int first_shared_file = 0; // 0: nothing is shared
    std::map<outcome, long> calls;
    outcome failing = finished;
    long fails_at = 0;
    std::atomic<long> helped = 0; // how often workers checked whether to stop

    volatile int always = 1;
    volatile int never = 0;
    std::jmp_buf back;
    int left = 0; // how a worker ended

    std::vector<bulk::found_pair> pairs;
    cluster_list clusters;
    std::vector<std::uint32_t> ranks; // the ranks of rows; empty: rows are in their order
    std::vector<std::string> phases;

    std::vector<std::unique_ptr<test_host>> workers;
    std::vector<std::thread> threads; // exist while a step is done
    bulk::shared_number rows = 0;
    random_source chance = {87};

    // The documents from which rows can be read again, numbered from 1, and the buffer of the last one read.
    std::vector<std::vector<std::uint8_t>> documents;
    std::vector<std::uint8_t> read_last;
    std::vector<std::uint64_t> expected; // places that will be read, the next one last
    std::atomic<long> reads = 0;         // how many documents were read

    test_host()
    {
        static_cast<bulk::host&>(*this) = {
            .allocate = take,
            .release = give,
            .begin_phase = begin_phase,
            .end_phase = end_phase,
            .open_file = open,
            .write_file = write,
            .read_file = read,
            .close_file = close,
            .pause = pause,
            .stopping = &never,
            .report = report,
            .reporting = &never,
            .phase = nullptr,
            .read_again = read_again,
            .far = false,
            .expect_reads = expect_reads,
            .fail_too_many_shingles = refuse,
            .most_workers = 0,
            .least_work = 300,
            .sharing = false,
            .start_sharing = start_sharing,
            .keep_sharing = keep_sharing,
            .allocate_shared = take_shared,
            .find_shared = find_shared,
            .release_shared = give_shared,
            .start_workers = start_workers,
            .meet_workers = meet_workers,
            .end_workers = end_workers,
        };
    }

    test_host(const test_host&) = delete;

    ~test_host() { free_all(); }

    void free_all()
    {
        join();
        for (std::set<void*>* const all : {&memory, &of_phase, &shared})
            free_all(*all);
        in_phase = false;
        files.clear();
        workers.clear();
        first_shared_file = 0;
        sharing = false;
    }

    // Fails the n-th call of a kind.
    void fail(outcome kind, long at)
    {
        failing = kind;
        fails_at = at;
        stopping = kind == stopped ? &always : &never;
        calls.clear();
        expected.clear();
        pairs.clear();
        clusters.clear();
        chance = {87};
    }

private:
    static void free_all(std::set<void*>& all)
    {
        for (void* const each : all)
            std::free(each);
        all.clear();
    }

    static test_host& self_of(bulk::host& host) { return static_cast<test_host&>(host); }

    void count(outcome kind)
    {
        bool fails;
        {
            const std::lock_guard<std::mutex> locked(first->guard);
            fails = ++first->calls[kind] == first->fails_at && first->failing == kind;
        }
        if (fails)
            leave(kind);
    }

    [[noreturn]] void leave(int how)
    {
        join();
        std::longjmp(back, how);
    }

    void join()
    {
        for (std::thread& each : threads)
            each.join();
        threads.clear();
    }

    // From now on, documents must be read in this order. In any other order, reading ahead would not help.
    static void expect_reads(bulk::host& host, std::span<const std::uint64_t> locations)
    {
        self_of(host).expected.assign(locations.rbegin(), locations.rend());
    }

    // Reads a document into new memory each time, so that any use of an earlier document is noticed.
    static std::span<const std::uint8_t> read_again(bulk::host& host, std::uint64_t location)
    {
        test_host& self = self_of(host);
        self.count(read_failed);
        if (!self.expected.empty()) {
            if (self.expected.back() != location)
                std::abort();
            self.expected.pop_back();
        }
        self.first->reads++;
        std::vector<std::uint8_t>(self.first->documents[location - 1]).swap(self.read_last);
        return self.read_last;
    }

    static void* take(bulk::host& host, std::size_t bytes)
    {
        test_host& self = self_of(host);
        self.count(out_of_memory);
        void* const fresh = make(bytes);
        (self.in_phase ? self.of_phase : self.memory).insert(fresh);
        return fresh;
    }

    static void* make(std::size_t bytes)
    {
        void* const fresh = std::malloc(bytes);
        std::memset(fresh, 0xA5, std::min<std::size_t>(bytes, 4096));
        return fresh;
    }

    static void give(bulk::host& host, void* memory)
    {
        test_host& self = self_of(host);
        if (self.of_phase.erase(memory) + self.memory.erase(memory) != 1)
            std::abort();
        std::free(memory);
    }

    static void begin_phase(bulk::host& host)
    {
        if (std::exchange(self_of(host).in_phase, true))
            std::abort();
    }

    static void end_phase(bulk::host& host)
    {
        if (!std::exchange(self_of(host).in_phase, false))
            std::abort();
        free_all(self_of(host).of_phase);
    }

    // The numbers of shared memory differ from those of private memory.
    static constexpr bulk::shared_number sharing_mask = 0x5555555500000000;

    static void start_sharing(bulk::host& host)
    {
        test_host& self = self_of(host);
        self.first_shared_file = self.next_file;
        self.sharing = true;
    }

    static void keep_sharing(bulk::host& host, std::size_t)
    {
        self_of(host).sharing = self_of(host).chance.below(8) != 0;
    }

    static bulk::shared_number take_shared(bulk::host& host, std::size_t bytes, bool needed)
    {
        test_host& self = self_of(host);
        const bool shared = self.first->sharing;
        if (!needed && shared && self.chance.below(4) == 0)
            return 0;
        self.count(out_of_memory);
        void* const memory = make(bytes);
        if (!shared) {
            self.memory.insert(memory);
            return bulk::private_number(memory);
        }
        const std::lock_guard<std::mutex> locked(self.first->guard);
        self.first->shared.insert(memory);
        return reinterpret_cast<std::uintptr_t>(memory) ^ sharing_mask;
    }

    static void* find_shared(bulk::host& host, bulk::shared_number number)
    {
        if ((number & bulk::private_mark) == 0)
            return reinterpret_cast<void*>(number ^ sharing_mask);
        void* const memory = bulk::private_memory(number);
        // Memory that this process does not know belongs to another one.
        if (self_of(host).of_phase.count(memory) + self_of(host).memory.count(memory) == 0)
            std::abort();
        return memory;
    }

    static void give_shared(bulk::host& host, bulk::shared_number number)
    {
        void* const memory = find_shared(host, number);
        if ((number & bulk::private_mark) != 0) {
            give(host, memory);
            return;
        }
        const std::lock_guard<std::mutex> locked(self_of(host).first->guard);
        if (self_of(host).first->shared.erase(memory) != 1)
            std::abort();
        std::free(memory);
    }

    static void end_workers(bulk::host& host) { self_of(host).workers.clear(); }

    static int open(bulk::host& host)
    {
        test_host& self = *self_of(host).first;
        const std::lock_guard<std::mutex> locked(self.guard);
        self.files[self.next_file] = "";
        return self.next_file++;
    }

    std::string& file_of(int file)
    {
        if (this != first && file < first->first_shared_file)
            std::abort();
        return first->files.at(file);
    }

    static void write(bulk::host& host, int file, const void* bytes, std::size_t count, std::uint64_t offset)
    {
        self_of(host).count(write_failed);
        const std::lock_guard<std::mutex> locked(self_of(host).first->guard);
        std::string& to = self_of(host).file_of(file);
        to.resize(std::max<std::size_t>(to.size(), offset + count));
        std::memcpy(to.data() + offset, bytes, count);
    }

    static void read(bulk::host& host, int file, void* bytes, std::size_t count, std::uint64_t offset)
    {
        self_of(host).count(read_failed);
        const std::lock_guard<std::mutex> locked(self_of(host).first->guard);
        const std::string& from = self_of(host).file_of(file);
        if (offset + count > from.size())
            std::abort();
        std::memcpy(bytes, from.data() + offset, count);
    }

    static void close(bulk::host& host, int file)
    {
        const std::lock_guard<std::mutex> locked(self_of(host).first->guard);
        if (self_of(host).first->files.erase(file) != 1)
            std::abort();
    }

    static void pause(bulk::host& host)
    {
        test_host& self = self_of(host);
        if (self.first != &self)
            self.first->helped++;
        if (*self.first->stopping != 0)
            self.count(stopped);
    }

    static void report(bulk::host& host, const char* phase, std::uint64_t done, std::uint64_t total)
    {
        if (done > total && total > 0)
            std::abort();
        std::vector<std::string>& phases = self_of(host).phases;
        if (phases.empty() || phases.back() != phase)
            phases.push_back(phase);
    }

    static std::uint32_t start_workers(bulk::host& host, bulk::shared_number rows)
    {
        test_host& self = self_of(host);
        self.count(worker_failed);
        self.rows = rows;
        for (int i = 0; i < host.most_workers; i++) {
            self.workers.push_back(std::make_unique<test_host>());
            self.workers.back()->first = &self;
            self.workers.back()->far = self.far;
            self.workers.back()->sharing = true;
            self.workers.back()->stopping = &self.always;
            self.workers.back()->chance = {static_cast<std::uint64_t>(i)};
        }
        return static_cast<std::uint32_t>(host.most_workers) + 1;
    }

    static void work(test_host* self, std::uint32_t member)
    {
        self->left = setjmp(self->back);
        if (self->left == 0)
            bulk::do_workers_part(*self, self->first->rows, member);
    }

    // In about half of the steps, the workers are done before this process begins. Worker 1 takes part in every step;
    // each of the others misses some steps, as if it came late.
    static void meet_workers(bulk::host& host)
    {
        test_host& self = self_of(host);
        self.count(worker_failed);
        if (self.threads.empty()) {
            std::uint32_t member = 1;
            for (const auto& each : self.workers) {
                if (member == 1 || self.chance.below(4) != 0)
                    self.threads.emplace_back(work, each.get(), member);
                member++;
            }
            if (self.chance.below(2) == 0)
                return;
            for (std::thread& each : self.threads)
                each.join();
            self.threads.clear();
            self.threads.emplace_back([] {});
            return;
        }
        self.join();
        for (const auto& each : self.workers)
            if (each->left != 0)
                self.leave(each->left);
    }

    static void refuse(bulk::host& host, std::uint64_t) { self_of(host).leave(too_many_shingles); }
};

// Calls work(argument), and returns how it ended. Nothing in `work` may have a destructor.
template <typename Argument>
outcome run(test_host& host, void (*work)(Argument&), Argument& argument)
{
    const int left = setjmp(host.back);
    if (left == 0)
        work(argument);
    else
        host.free_all();
    return static_cast<outcome>(left);
}

// Rows for the engine, and what it should do with them.
struct problem {
    bulk::task task = {};
    bool from_texts = true;
    bool crossing = false;
    bool weighted = false; // by weighted similarity
    std::vector<std::string> texts;
    std::vector<std::vector<std::uint8_t>> slots; // the slots of signatures, as they are stored
    std::uint32_t first_count = 0;
    std::size_t memory = 1 << 24;
    bulk::cluster_options clusters = {};
    std::vector<std::uint32_t> ranks;
    int workers = 0;
    std::vector<std::uint32_t> scopes; // the scopes of rows, in scoped tasks
    bool far = false;
    std::vector<std::uint32_t> ids;      // for each row, the number of its id, or no_row; empty: there are no verdicts
    std::vector<bulk::verdict> verdicts; // about these ids
    std::uint32_t elsewhere = 0;         // rows can be read again, except those whose number is a multiple of this

    std::uint32_t computed = 0; // processes have left the documents of rows whose number is a multiple of this

    bool is_computed(std::uint32_t row) const { return computed > 0 && row % computed == 0; }

    std::uint64_t place_of(std::uint32_t row) const { return elsewhere == 0 || row % elsewhere == 0 ? 0 : row + 1; }

    std::uint32_t scope_of(std::uint32_t row) const { return scopes.empty() ? 0 : scopes[row]; }

    bool are_apart(std::uint32_t a, std::uint32_t b) const
    {
        return !ids.empty() && std::any_of(verdicts.begin(), verdicts.end(), [&](const bulk::verdict& each) {
            return (each.left == ids[a] && each.right == ids[b] && (crossing || each.left != each.right)) ||
                   (!crossing && each.left == ids[b] && each.right == ids[a] && each.left != each.right);
        });
    }

    std::uint32_t count() const { return static_cast<std::uint32_t>(from_texts ? texts.size() : slots.size()); }
};

inline void keep_pair(bulk::host& host, const bulk::found_pair& pair)
{
    static_cast<test_host&>(host).pairs.push_back(pair);
}

inline void order_rows(bulk::host& host, std::span<std::uint32_t> rows)
{
    const auto& ranks = static_cast<test_host&>(host).ranks;
    std::sort(rows.begin(), rows.end(), [&ranks](std::uint32_t a, std::uint32_t b) {
        return ranks.empty() || ranks[a] == ranks[b] ? a < b : ranks[a] < ranks[b];
    });
}

inline void keep_cluster(bulk::host& host, std::span<const std::uint32_t> rows, std::span<const double> similarities)
{
    auto& kept = static_cast<test_host&>(host).clusters.emplace_back();
    for (std::size_t i = 0; i < rows.size(); i++)
        kept.emplace_back(rows[i], similarities[i]);
}

enum class job { pairs, clusters };

// A call of the engine: what a bulk function does.
struct engine_call {
    test_host* host;
    const problem* given;
    job what;
    std::uint64_t large_buckets;
    bulk::memory_budget budget;
    bulk::apart_rows apart = {};
    std::vector<std::uint64_t> offsets = {}; // of documents that processes have left
};

inline bulk::text_bytes bytes_of(const std::string& text)
{
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Takes a text, or only its beginning if that is enough, as hosts do.
inline void take_some_text(row_set& rows, const std::string& text, std::uint64_t location)
{
    constexpr std::size_t enough = 64;
    const bulk::text_bytes bytes = bytes_of(text);
    if (location != 0 && bytes.size() > enough &&
        bulk::take_text(rows, bytes.first(minhash::whole_characters(bytes.data(), enough)), bytes.size(), location))
        return;
    bulk::take_text(rows, bytes, bytes.size(), location);
}

// Leaves the documents of some rows, as two processes would, and makes them the engine's.
inline void leave_computed(engine_call& call, row_set& rows)
{
    const problem& given = *call.given;
    call.offsets.clear();
    bulk::memory_budget making = bulk::make_budget(*call.host, given.memory / 4);
    bulk::byte_store* made[2];
    for (bulk::byte_store*& store : made)
        store = bulk::open_shared_store(making, 1024);
    for (std::uint32_t row = 0; row < given.count(); row++) {
        bulk::byte_store& store = *made[row / 2 % 2];
        call.offsets.push_back(store.size);
        if (!given.is_computed(row))
            continue;
        const bulk::text_bytes bytes =
            given.from_texts ? bytes_of(given.texts[row]) : bulk::text_bytes(given.slots[row]);
        constexpr char padding[8] = {}; // slots must be aligned
        bulk::append(store, bytes.data(), bytes.size());
        bulk::append(store, padding, -bytes.size() % sizeof(padding));
    }
    rows.brought_count = std::size(made);
    rows.brought = bulk::allocate<bulk::byte_store*>(*call.host, rows.brought_count);
    for (std::size_t i = 0; i < rows.brought_count; i++) {
        bulk::store_note note;
        bulk::leave_store(made[i], note);
        rows.brought[i] = bulk::adopt_store(call.budget, note);
    }
}

// Takes all rows. None of them may be empty.
inline row_set& take_rows(engine_call& call)
{
    const problem& given = *call.given;
    call.host->most_workers = given.workers;
    call.host->far = given.far;
    call.budget = bulk::make_budget(*call.host, given.memory);
    row_set& rows = *bulk::make_rows(call.budget, given.task, given.from_texts);
    call.host->documents.clear();
    for (std::uint32_t row = 0; row < given.count() && given.elsewhere > 0; row++)
        if (given.from_texts)
            call.host->documents.emplace_back(given.texts[row].begin(), given.texts[row].end());
        else
            call.host->documents.push_back(given.slots[row]);
    leave_computed(call, rows);
    for (std::uint32_t row = 0; row < given.count(); row++) {
        if (row == given.first_count)
            rows.first_count = rows.count;
        if (given.task.scoped)
            bulk::set_scope(rows, given.scope_of(row));
        if (given.is_computed(row))
            bulk::take_brought(rows,
                               given.from_texts ? given.texts[row].size() : given.slots[row].size(),
                               row / 2 % 2,
                               call.offsets[row]);
        else if (given.from_texts)
            take_some_text(rows, given.texts[row], given.place_of(row));
        else
            bulk::take_signature(rows, minhash::with_slots(given.task.scheme, given.slots[row]), given.place_of(row));
    }
    return rows;
}

// Takes the verdicts of a problem whose rows have been taken.
inline void take_verdicts(engine_call& call, row_set& rows)
{
    const problem& given = *call.given;
    std::uint32_t ids = 0;
    call.apart = {};
    call.apart.owner = call.host;
    for (const bulk::verdict& each : given.verdicts) {
        bulk::take_verdict(call.apart, each);
        ids = std::max({ids, each.left + 1, each.right + 1});
    }
    bulk::end_verdicts(call.apart, ids, given.crossing);
    for (std::uint32_t row = 0; row < rows.count; row++)
        bulk::set_id(call.apart, row, given.ids[row] < ids ? given.ids[row] : bulk::no_row);
    rows.apart = &call.apart;
}

inline void call_engine(engine_call& call)
{
    row_set& rows = take_rows(call);
    if (!call.given->ids.empty())
        take_verdicts(call, rows);
    if (call.given->weighted && call.what == job::pairs)
        bulk::find_weighted_pairs(rows, call.given->crossing, keep_pair);
    else if (call.given->weighted)
        bulk::find_weighted_clusters(rows, call.given->clusters, {order_rows, keep_cluster});
    else if (rows.task.sets_only)
        bulk::find_contained_pairs(rows, call.given->crossing, keep_pair);
    else if (call.what == job::pairs && rows.count > 1)
        call.large_buckets = bulk::find_pairs(rows, call.given->crossing, keep_pair);
    else if (call.what == job::clusters && rows.count > 0)
        call.large_buckets = bulk::find_clusters(rows, call.given->clusters, {order_rows, keep_cluster});
    bulk::end_steps(rows);
    call.host->free_all();
}

using pair_list = std::vector<std::tuple<std::uint32_t, std::uint32_t, double>>;

// The true similarities, pairs and clusters of a problem's rows.
class truth {
public:
    explicit truth(const problem& of) : given(of), size(of.count())
    {
        for (std::uint32_t row = 0; row < size; row++) {
            if (given.from_texts) {
                const minhash::scheme& scheme = given.task.scheme;
                const support::slot_list slots = support::sign(given.texts[row], scheme);
                const auto* const bytes = reinterpret_cast<const std::uint8_t*>(slots.data());
                stored.emplace_back(bytes, bytes + slots.size() * sizeof(slots[0]));
                support::hash_list cut = support::cut(given.texts[row], scheme.shingles, scheme.seed);
                if (scheme.shingles.bag)
                    cut = reference::number_occurrences(cut);
                sets.emplace_back(cut.begin(), cut.end());
            } else {
                stored.push_back(given.slots[row]);
            }
        }
        find_leaders();
        find_candidates();
    }

    // The similarity of two rows if the engine must find it when they share a bucket: their scopes are equal, their
    // signatures agree enough (in exact tasks), and the similarity reaches the threshold. Otherwise -1.
    double similarity(std::uint32_t a, std::uint32_t b) const
    {
        if (given.scope_of(a) != given.scope_of(b))
            return -1;
        if (!given.task.exact)
            return estimate(a, b) >= given.task.threshold ? estimate(a, b) : -1;
        minhash::scheme start = given.task.scheme;
        start.num_hashes = std::min(start.num_hashes, bulk::slots_at_start);
        const auto agree = [&](const minhash::scheme& part) {
            const int least =
                minhash::least_agreement(given.task.threshold, part.num_hashes, bulk::share_missed(given.task.recall));
            return static_cast<int>(minhash::count_equal(part, stored[a].data(), stored[b].data())) >= least;
        };
        if (!agree(start) || !agree(given.task.scheme))
            return -1;
        const double exact = jaccard(a, b);
        return exact >= given.task.threshold ? exact : -1;
    }

    // The similarity of two rows, whether or not it reaches the threshold.
    double any_similarity(std::uint32_t a, std::uint32_t b) const
    {
        return given.task.exact ? jaccard(a, b) : estimate(a, b);
    }

    double estimate(std::uint32_t a, std::uint32_t b) const
    {
        const minhash::scheme& scheme = given.task.scheme;
        return minhash::similarity_of(scheme, minhash::count_equal(scheme, stored[a].data(), stored[b].data()));
    }

    double jaccard(std::uint32_t a, std::uint32_t b) const
    {
        std::size_t shared = 0;
        for (const std::uint64_t element : sets[a])
            shared += sets[b].count(element);
        return static_cast<double>(shared) / static_cast<double>(sets[a].size() + sets[b].size() - shared);
    }

    // Whether two rows are compared: either they are equal, or they share a bucket that is not too large.
    bool meet(std::uint32_t a, std::uint32_t b) const
    {
        return leader[a] == leader[b] || candidates.count(std::minmax(leader[a], leader[b])) > 0;
    }

    // The near pairs that meet. Those that must stay apart are left out, unless `all` are wanted.
    pair_list pairs(bool all = false) const
    {
        pair_list found;
        for (std::uint32_t a = 0; a < size; a++)
            for (std::uint32_t b = a + 1; b < size; b++) {
                if (given.crossing && !(a < given.first_count && b >= given.first_count))
                    continue;
                if (!all && given.are_apart(a, b))
                    continue;
                if (leader[a] == leader[b])
                    found.emplace_back(a, b, 1);
                else if (const double near = similarity(a, b); near >= 0 && meet(a, b))
                    found.emplace_back(a, b, near);
            }
        return found;
    }

    // The clusters that the engine should return, each in its order.
    cluster_list clusters() const
    {
        std::vector<std::uint32_t> root(size);
        for (std::uint32_t row = 0; row < size; row++)
            root[row] = row;
        for (const auto& [a, b, near] : pairs(true)) {
            const std::uint32_t smaller = std::min(root[a], root[b]);
            const std::uint32_t larger = std::max(root[a], root[b]);
            std::replace(root.begin(), root.end(), larger, smaller);
        }
        cluster_list found;
        for (std::uint32_t first = 0; first < size; first++) {
            std::vector<std::uint32_t> rows;
            for (std::uint32_t row = first; row < size; row++)
                if (root[row] == first)
                    rows.push_back(row);
            std::sort(rows.begin(), rows.end(), [this](std::uint32_t a, std::uint32_t b) {
                return given.ranks[a] == given.ranks[b] ? a < b : given.ranks[a] < given.ranks[b];
            });
            while (!rows.empty()) {
                std::vector<std::uint32_t> cluster;
                std::vector<std::uint32_t> left;
                for (const std::uint32_t row : rows) {
                    const bool near = !given.clusters.near_representative || cluster.empty() ||
                                      leader[cluster[0]] == leader[row] || similarity(cluster[0], row) >= 0;
                    const bool apart = std::any_of(cluster.begin(), cluster.end(), [&](std::uint32_t member) {
                        return given.are_apart(member, row);
                    });
                    (near && !apart ? cluster : left).push_back(row);
                }
                if (cluster.size() > 1 || given.clusters.singletons) {
                    auto& members = found.emplace_back();
                    for (const std::uint32_t row : cluster)
                        members.emplace_back(row, any_similarity(cluster[0], row));
                }
                rows = left;
            }
        }
        return found;
    }

    std::uint64_t large_buckets = 0;

private:
    using scoped_slots = std::pair<std::uint32_t, std::vector<std::uint8_t>>;

    bool too_large(std::size_t rows) const { return given.task.max_bucket > 0 && rows > given.task.max_bucket; }

    void find_leaders()
    {
        for (std::uint32_t row = 0; row < size; row++)
            leader.push_back(row);
        std::map<scoped_slots, std::vector<std::uint32_t>> same;
        for (std::uint32_t row = 0; row < size; row++)
            same[{given.scope_of(row), stored[row]}].push_back(row);
        for (const auto& [slots, rows] : same) {
            large_buckets += rows.size() > 1 && too_large(rows.size());
            if (too_large(rows.size()))
                continue;
            for (const std::uint32_t row : rows)
                if (!given.task.exact || sets[row] == sets[rows[0]])
                    leader[row] = rows[0];
        }
    }

    void find_candidates()
    {
        const auto& banding = given.task.banding;
        const std::size_t bytes = static_cast<std::size_t>(banding.rows * given.task.scheme.bits / 8);
        for (std::size_t band = 0; band < static_cast<std::size_t>(banding.bands); band++) {
            std::map<scoped_slots, std::vector<std::uint32_t>> buckets;
            for (std::uint32_t row = 0; row < size; row++) {
                if (leader[row] != row)
                    continue;
                const auto start = stored[row].begin() + static_cast<std::ptrdiff_t>(band * bytes);
                const std::vector<std::uint8_t> slots(start, start + static_cast<std::ptrdiff_t>(bytes));
                buckets[{given.scope_of(row), slots}].push_back(row);
            }
            for (const auto& [key, rows] : buckets) {
                large_buckets += rows.size() > 1 && too_large(rows.size());
                if (too_large(rows.size()))
                    continue;
                for (const std::uint32_t a : rows)
                    for (const std::uint32_t b : rows)
                        if (a < b)
                            candidates.insert({a, b});
            }
        }
    }

    const problem& given;
    std::uint32_t size;
    std::vector<std::vector<std::uint8_t>> stored;
    std::vector<std::set<std::uint64_t>> sets;
    std::vector<std::uint32_t> leader;
    std::set<std::pair<std::uint32_t, std::uint32_t>> candidates;
};

// Makes families of texts that differ in some words, some of them repeated, in any order.
inline std::vector<std::string> random_texts(random_source& random, std::size_t count)
{
    std::vector<std::string> made;
    const std::size_t words = 3 + random.below(40);
    const std::size_t families = 1 + random.below(count / 3 + 1);
    const std::size_t changes = random.below(words + 2);
    for (std::size_t i = 0; i < count; i++) {
        const std::size_t family = random.below(families);
        std::string text;
        random_source own = {family};
        for (std::size_t word = 0; word < words; word++)
            text += texts::make(texts::kinds[0], 2 + own.below(6), own) + " ";
        for (std::size_t change = random.below(changes + 1); change > 0; change--)
            text[random.below(text.size())] = static_cast<char>('a' + random.below(26));
        made.push_back(i > 0 && random.below(5) == 0 ? made[random.below(i)] : text);
    }
    return made;
}

// Makes near-duplicates of one text, which share most buckets.
inline problem many_alike(std::size_t count)
{
    problem made;
    made.task.scheme = support::default_scheme;
    made.task.banding = {64, 2};
    made.task.threshold = 0.5;
    made.task.exact = true;
    for (std::size_t i = 0; i < count; i++)
        made.texts.push_back("all of these texts are alike but for a number: " + std::to_string(i % 90));
    for (std::uint32_t row = 0; row < count; row++)
        made.ranks.push_back(row * 37 % 101);
    made.first_count = static_cast<std::uint32_t>(count / 3);
    return made;
}

// Tells rows of a problem apart; some rows have the same id, and some verdicts are on one id or on ids of no row.
inline void tell_apart(problem& given, random_source& random)
{
    const std::size_t count = given.count();
    given.clusters.near_representative = true;
    for (std::size_t row = 0; row < count; row++)
        given.ids.push_back(static_cast<std::uint32_t>(random.below(8) == 0 ? random.below(count) : row));
    for (std::size_t i = random.below(count * (1 + random.below(12)) + 1); i > 0; i--)
        given.verdicts.push_back(
            {static_cast<std::uint32_t>(random.below(count + 3)), static_cast<std::uint32_t>(random.below(count + 3))});
}

inline problem random_problem(random_source& random, std::size_t most_rows)
{
    problem made;
    minhash::scheme& scheme = made.task.scheme;
    scheme = support::default_scheme;
    scheme.num_hashes = static_cast<std::uint16_t>(16 + random.below(8) * 21);
    scheme.seed = static_cast<std::int64_t>(random.below(5));
    made.from_texts = random.below(3) > 0;
    const std::size_t rows = random.below(most_rows + 1);
    if (made.from_texts) {
        scheme.shingles = {random.below(3) == 0 ? minhash::unit::word : minhash::unit::character,
                           static_cast<std::uint16_t>(1 + random.below(5)),
                           random.below(2) == 0,
                           random.below(4) == 0};
        made.texts = random_texts(random, rows);
        std::erase_if(made.texts, [&](const std::string& text) { return support::sign(text, scheme).empty(); });
        made.task.exact = random.below(3) > 0;
    } else {
        scheme.method = minhash::method::external;
        scheme.bits = static_cast<std::uint8_t>(8 << random.below(3));
        const std::size_t alphabet = 2 + random.below(4);
        for (std::size_t row = 0; row < rows; row++) {
            std::vector<std::uint8_t> slots(minhash::slot_bytes(scheme.bits, scheme.num_hashes));
            for (std::uint8_t& byte : slots)
                byte = static_cast<std::uint8_t>(random.below(alphabet) / (alphabet - 1));
            made.slots.push_back(row > 0 && random.below(4) == 0 ? made.slots[random.below(row)] : slots);
        }
    }
    const int band_rows = static_cast<int>(1 + random.below(scheme.num_hashes));
    made.task.banding = {static_cast<int>(1 + random.below(static_cast<std::size_t>(scheme.num_hashes / band_rows))),
                         band_rows};
    if (random.below(2) == 0)
        made.task.banding = {scheme.num_hashes / 2, 2};
    made.task.threshold = static_cast<double>(random.below(21)) / 20;
    made.task.max_bucket = random.below(3) == 0 ? static_cast<std::uint32_t>(1 + random.below(12)) : 0;
    made.memory = std::size_t{1} << (random.below(2) == 0 ? 24 : random.below(18));
    made.first_count = static_cast<std::uint32_t>(random.below(made.count() + 1));
    made.crossing = random.below(2) == 0;
    made.clusters = {random.below(2) == 0, random.below(2) == 0};
    for (std::size_t row = 0; row < made.count(); row++)
        made.ranks.push_back(static_cast<std::uint32_t>(random.below(rows)));
    made.workers = static_cast<int>(random.below(4));
    made.task.scoped = random.below(4) == 0;
    for (std::size_t row = 0; made.task.scoped && row < made.count(); row++)
        made.scopes.push_back(static_cast<std::uint32_t>(random.below(4)));
    made.elsewhere = static_cast<std::uint32_t>(random.below(4));
    return made;
}

// Describes the difference between the pairs that the engine finds and the true pairs. Returns an empty text if there
// is none.
inline std::string check_pairs(const problem& given)
{
    const truth expected(given);
    test_host host;
    host.reporting = &host.always;
    engine_call call = {&host, &given, job::pairs, 0, {}};
    if (run(host, call_engine, call) != finished)
        return "did not end";
    pair_list pairs;
    for (const bulk::found_pair& each : host.pairs) {
        const bool in_order = given.crossing || each.left < each.right;
        pairs.emplace_back(in_order ? each.left : each.right, in_order ? each.right : each.left, each.similarity);
    }
    std::sort(pairs.begin(), pairs.end());
    if (pairs != expected.pairs())
        return std::to_string(pairs.size()) + " pairs for " + std::to_string(expected.pairs().size());
    if (given.count() > 1 && call.large_buckets != expected.large_buckets)
        return std::to_string(call.large_buckets) + " large buckets for " + std::to_string(expected.large_buckets);
    return host.files.empty() ? "" : "files are left";
}

// Describes in the same way the difference between clusters, whose rows are ordered by their ranks.
inline std::string check_clusters(problem given)
{
    given.crossing = false;
    const truth expected(given);
    test_host host;
    host.reporting = &host.always;
    host.ranks = given.ranks;
    engine_call call = {&host, &given, job::clusters, 0, {}};
    if (run(host, call_engine, call) != finished)
        return "did not end";
    cluster_list clusters = expected.clusters();
    std::sort(clusters.begin(), clusters.end());
    std::sort(host.clusters.begin(), host.clusters.end());
    if (host.clusters != clusters)
        return std::to_string(host.clusters.size()) + " clusters for " + std::to_string(clusters.size());
    if (given.count() > 0 && call.large_buckets != expected.large_buckets)
        return std::to_string(call.large_buckets) + " large buckets for " + std::to_string(expected.large_buckets);
    return host.files.empty() ? "" : "files are left";
}

} // namespace bulk_support
