// Rows that are the same are found as those with equal band keys are (grouping.h), by the key of
// the whole signature, and then compared. Bands do not depend on each other: a worker that groups
// one is sent its keys, and answers with the buckets, which are few, as most rows are alone with
// their keys. They are visited in the order of the bands.
#include "bulk/candidates.h"

#include <cassert>

namespace minhash::bulk {

namespace {

// Calls take(key, row) for the rows of a band that stand for themselves, and between() now and
// then.
template <typename Take, typename Between>
void each_key(bucket_walk& walk, int band, Take&& take, Between&& between)
{
    byte_store& keys = *walk.rows->keys[band];
    std::uint32_t row = 0;
    for (std::uint64_t offset = 0; offset < keys.size;) {
        pause(*walk.rows->owner);
        between();
        const void* piece;
        const std::size_t bytes = fetch_piece(keys, offset, walk.buffer, piece);
        const std::uint32_t* const values = static_cast<const std::uint32_t*>(piece);
        for (std::size_t i = 0; i < bytes / sizeof(std::uint32_t); i++, row++)
            if (walk.leader.empty() || walk.leader[row] == row)
                take(values[i], row);
        offset += bytes;
    }
}

// What is known while a crew groups bands.
struct shared_walk {
    bucket_walk* walk;
    void* self;
    void (*visit)(void* self, std::span<const std::uint32_t> bucket);
    growing<std::uint32_t> standing; // the rows that stand for themselves, unless all do
    std::size_t count;               // of them
    growing<std::uint32_t> bucket;
};

// Bytes of memory for each row to group bands: of messages, which stay allocated, for each worker
// and once more for jobs that are done here; and of the grouping in each worker.
constexpr std::size_t message_bytes = 16;
constexpr std::size_t group_bytes = 24;

// The most rows of a band that is sent to a worker: PostgreSQL limits the size of a message.
constexpr std::size_t most_sent = 64 * 1024 * 1024;

// The buckets of a band that the crew has grouped.
void take_buckets(void* to, const job&, std::span<const std::uint8_t> answer)
{
    shared_walk& state = *static_cast<shared_walk*>(to);
    bucket_walk& walk = *state.walk;
    row_set& rows = *walk.rows;
    const std::uint32_t max_bucket = rows.task.max_bucket;
    growing<std::uint32_t>& bucket = state.bucket;
    for (std::size_t at = answer_start; at < answer.size();) {
        std::uint32_t count;
        std::memcpy(&count, answer.data() + at, sizeof(count));
        at += sizeof(count);
        grow(*rows.owner, bucket, 0, count);
        std::memcpy(bucket.values, answer.data() + at, count * sizeof(count));
        at += count * sizeof(count);
        for (std::uint32_t i = 0; i < count && state.standing.values != nullptr; i++)
            bucket.values[i] = state.standing.values[bucket.values[i]];
        if (max_bucket > 0 && count > max_bucket)
            walk.large_buckets++;
        else
            state.visit(state.self, {bucket.values, count});
    }
    assert(answer.size() >= answer_start);
    walk.done += rows.count;
    report(*rows.owner,
           walk.phase,
           walk.done,
           std::uint64_t{rows.count} * static_cast<unsigned>(rows.task.shape.bands + 1));
}

// Finds the rows that stand for themselves.
void find_standing(shared_walk& state)
{
    const bucket_walk& walk = *state.walk;
    const std::uint32_t rows = walk.rows->count;
    for (std::uint32_t row = 0; row < rows; row++)
        state.count += walk.leader[row] == row;
    if (state.count == rows)
        return;
    grow(*walk.rows->owner, state.standing, 0, state.count);
    for (std::uint32_t row = 0, at = 0; row < rows; row++)
        if (walk.leader[row] == row)
            state.standing.values[at++] = row;
}

// Groups a band: has a worker do it, or does it here while the workers go on.
void group_band(shared_walk& state, int band)
{
    bucket_walk& walk = *state.walk;
    crew& crew = *walk.rows->crew;
    job& keys = begin_job(crew);
    if (keys.worker != done_here) {
        std::uint8_t* at = add_room(crew, keys, state.count * sizeof(std::uint32_t));
        const auto send_key = [&at](std::uint32_t key, std::uint32_t) {
            std::memcpy(at, &key, sizeof(key));
            at += sizeof(key);
        };
        each_key(walk, band, send_key, [] {});
    } else {
        const auto help_workers = [&crew] {
            pause(*crew.owner);
            go_on(crew);
        };
        scatter(walk, [&walk, band, &help_workers](auto&& take) {
            std::uint32_t place = 0;
            const auto take_place = [&](std::uint32_t key, std::uint32_t) { take(key, place++); };
            each_key(walk, band, take_place, help_workers);
        });
        keys.answer_size = write_buckets(walk, keys.answer, help_workers);
    }
    end_job(crew, keys);
}

} // namespace

void start_walk(bucket_walk& walk, row_set& rows, const char* phase)
{
    host& owner = *rows.owner;
    walk = {};
    start_grouping(walk, owner, rows.count);
    walk.rows = &rows;
    walk.phase = phase;
    walk.buffer = allocate<char>(owner, rows.keys[0]->chunk_bytes);
}

void scatter(bucket_walk& walk, int band)
{
    scatter(walk, [&walk, band](auto&& take) { each_key(walk, band, take, [] {}); });
}

void walk_bands(bucket_walk& walk,
                void* self,
                void (*visit)(void* self, std::span<const std::uint32_t> bucket))
{
    row_set& rows = *walk.rows;
    memory_budget& budget = *rows.budget;
    const std::size_t workers =
        rows.crew == nullptr ? 0 : static_cast<std::size_t>(rows.crew->workers);
    const std::size_t kept = (workers + 1) * rows.count * message_bytes;
    const std::size_t bytes = kept + workers * rows.count * group_bytes;
    if (workers == 0 || rows.count > most_sent || budget.used + bytes > budget.limit) {
        for (int band = 0; band < rows.task.shape.bands; band++) {
            walk_band(walk, band, [self, visit](std::span<const std::uint32_t> bucket) {
                visit(self, bucket);
            });
            close_band(rows, band);
        }
        return;
    }
    budget.used += bytes;
    shared_walk state = {};
    state.walk = &walk;
    state.self = self;
    state.visit = visit;
    find_standing(state);
    job_header header = {};
    header.kind = job_kind::group;
    header.rows = static_cast<std::uint32_t>(state.count);
    header.scheme = rows.task.scheme;
    start_jobs(*rows.crew, header, {&state, take_buckets});
    for (int band = 0; band < rows.task.shape.bands; band++) {
        group_band(state, band);
        close_band(rows, band);
    }
    finish_jobs(*rows.crew);
    free_messages(*rows.crew);
    release(*rows.owner, state.standing.values);
    release(*rows.owner, state.bucket.values);
    budget.used -= bytes - kept;
}

void end_walk(bucket_walk& walk)
{
    host& owner = *walk.rows->owner;
    end_grouping(walk);
    release(owner, walk.buffer);
}

twins find_twins(bucket_walk& walk, verifier& same)
{
    row_set& rows = *walk.rows;
    host& owner = *rows.owner;
    const std::size_t count = rows.count;
    const twins found = {
        {allocate<std::uint32_t>(owner, count), count},
        {allocate<std::uint32_t>(owner, count), count},
    };
    for (std::uint32_t row = 0; row < count; row++) {
        found.leader[row] = row;
        found.next[row] = no_row;
    }
    walk_band(walk, rows.task.shape.bands, [&](std::span<const std::uint32_t> bucket) {
        const std::uint32_t leader = bucket[0];
        std::uint32_t last = leader;
        for (const std::uint32_t row : bucket.subspan(1)) {
            pause(owner);
            if (!is_same(same, leader, row))
                continue;
            found.leader[row] = leader;
            found.next[last] = row;
            last = row;
        }
    });
    walk.leader = found.leader;
    return found;
}

} // namespace minhash::bulk
