#include "bulk/comparisons.h"

#include <algorithm>

namespace minhash::bulk {

namespace {

// Pairs in a job: for a worker, and here, where a worker may soon be free.
constexpr std::uint32_t most_pairs = 1024;
constexpr std::uint32_t most_pairs_here = 64;

// The memory that a worker has, for its sets and for texts.
std::size_t ring_bytes(const row_set& rows)
{
    constexpr std::size_t least = 256 * 1024;
    constexpr std::size_t most = 8 * 1024 * 1024;
    return std::clamp(kept_bytes(rows) / 4, least, most);
}

// The pairs of a job, with their similarities.
void take_answer(void* to, const job& done, std::span<const std::uint8_t> answer)
{
    comparisons& state = *static_cast<comparisons*>(to);
    const std::uint8_t* at = done.message.values + pad_record(sizeof(job_header));
    const std::uint8_t* similar = answer.data();
    for (std::uint32_t taken = 0; taken < done.count;) {
        row_pair pair;
        std::memcpy(&pair, at, sizeof(pair));
        at += sizeof(pair);
        if (pair.a & new_text) {
            at += pad_record(pair.b);
            continue;
        }
        double similarity;
        std::memcpy(&similarity, similar, sizeof(similarity));
        similar += sizeof(similarity);
        taken++;
        if (similarity >= 0)
            state.take(state.taker, pair.a, pair.b, similarity);
    }
}

// Makes jobs of what is to be known of pairs now.
void start_compare_jobs(comparisons& state)
{
    const verifier& check = *state.check;
    row_set& rows = *check.rows;
    job_header header = {};
    header.kind = job_kind::compare;
    header.rows = rows.count;
    header.scheme = rows.task.scheme;
    header.threshold = check.least;
    header.ring_bytes = ring_bytes(rows);
    header.set_bytes = kept_bytes(rows) - kept_bytes(rows) / 4;
    start_jobs(*rows.crew, header, {&state, take_answer});
}

void start_sending(comparisons& state)
{
    row_set& rows = *state.check->rows;
    const std::size_t workers = static_cast<std::size_t>(rows.crew->workers);
    start_compare_jobs(state);
    state.sent = allocate<text_ring>(*rows.owner, workers);
    for (std::size_t i = 0; i < workers; i++)
        start_ring(state.sent[i], *rows.owner, ring_bytes(rows));
    rows.budget->used += workers * rows.count * sizeof(std::uint32_t); // sizes of sets
}

// The size of what a worker is sent of a row.
std::size_t sent_bytes(row_set& rows, std::uint32_t row)
{
    const bool read_there = place_for_workers(rows, row) != 0;
    return sizeof(std::uint64_t) + (read_there ? 0 : document_size(rows, row));
}

// Sends a row's text or its place, unless the worker will have it when it comes to the next pair.
void send_text(comparisons& state, job& to, std::uint32_t row)
{
    row_set& rows = *state.check->rows;
    text_ring& sent = state.sent[to.worker];
    if (lasts(sent, row))
        return;
    const std::uint64_t place = place_for_workers(rows, row);
    text_bytes text = {};
    if (place == 0)
        text = fetch_document(rows, row, state.check->text);
    const std::size_t bytes = sizeof(place) + text.size();
    place_text(sent, row, bytes);
    const row_pair header = {new_text | row, static_cast<std::uint32_t>(bytes)};
    add_record(*rows.crew, to, &header, sizeof(header));
    add_document(*rows.crew, to, place, text);
}

// Whether a worker can have the texts of both rows at once: they are not too large, and do not have
// the same place in the table of its ring.
bool fit_worker(comparisons& state, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *state.check->rows;
    const text_ring& sent = state.sent[0];
    return (a & sent.mask) != (b & sent.mask) && sent_bytes(rows, a) <= most_placed(sent) &&
           sent_bytes(rows, b) <= most_placed(sent);
}

void hand_out(comparisons& state)
{
    job* const full = state.open;
    state.open = nullptr;
    if (full != nullptr)
        end_job(*state.check->rows->crew, *full);
}

// Adds a pair to a job, and its texts or, if it is done here, the answer.
void add_pair(comparisons& state, job& to, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *state.check->rows;
    crew& crew = *rows.crew;
    if (to.worker != done_here) {
        send_text(state, to, a);
        send_text(state, to, b);
    }
    const row_pair pair = {a, b};
    add_record(crew, to, &pair, sizeof(pair));
    to.count++;
    to.work += document_size(rows, a) + document_size(rows, b);
    if (to.worker == done_here) {
        const double similarity = compare(state.check->sets, a, b, state.check->least, true);
        add_answer(crew, to, &similarity, sizeof(similarity));
    }
}

void compare_or_send(comparisons& state, std::uint32_t a, std::uint32_t b)
{
    verifier& check = *state.check;
    row_set& rows = *check.rows;
    crew& crew = *rows.crew;
    if (!count_work(crew, rows.document_bytes / rows.count)) {
        const double similarity = compare(check.sets, a, b, check.least, true);
        if (similarity >= 0)
            state.take(state.taker, a, b, similarity);
        return;
    }
    if (state.sent == nullptr)
        start_sending(state);
    const bool for_any = fit_worker(state, a, b);
    if (!for_any && state.open != nullptr && state.open->worker != done_here)
        hand_out(state);
    if (state.open == nullptr)
        state.open = for_any ? &begin_job(crew) : &begin_job_here(crew);
    job& open = *state.open;
    add_pair(state, open, a, b);
    if (open.count == (open.worker == done_here ? most_pairs_here : most_pairs) ||
        std::max(open.size, open.work) >= rows.owner->job_bytes)
        hand_out(state);
}

void compare_first(comparisons& state)
{
    const row_pair pair = state.waiting[state.first++ % waiting_room];
    compare_or_send(state, pair.a, pair.b);
}

// Fetches from memory what compare() will read of a row, in three steps.
void fetch_row(const verifier& check, std::uint32_t row, int step)
{
    if (step == 0)
        prefetch_place(check.sets, row);
    if (step == 0 || !prefetch_record(check.sets, row))
        prefetch_document(*check.rows, row, step);
}

} // namespace

void start_comparisons(comparisons& state, verifier& check, void* taker, near_pair_taker take)
{
    state = {&check, taker, take, nullptr, nullptr, {}, 0, 0};
}

void verify_later(comparisons& state, std::uint32_t a, std::uint32_t b)
{
    verifier& check = *state.check;
    if (!check.rows->task.exact) {
        const double similarity = verify(check, a, b);
        if (similarity >= 0)
            state.take(state.taker, a, b, similarity);
    } else if (may_be_near(check, a, b)) {
        compare_later(state, a, b);
    }
}

void compare_later(comparisons& state, std::uint32_t a, std::uint32_t b)
{
    state.waiting[state.next % waiting_room] = {a, b};
    // Each step reads what the one before has fetched.
    for (int step = 0; step < 3; step++) {
        const std::size_t back = static_cast<std::size_t>(step) * (most_pairs_waiting / 3);
        if (state.next - state.first < back)
            break;
        const row_pair& pair = state.waiting[(state.next - back) % waiting_room];
        if (pair.a != state.waiting[(state.next - back - 1) % waiting_room].a)
            fetch_row(*state.check, pair.a, step);
        fetch_row(*state.check, pair.b, step);
    }
    state.next++;
    if (state.next - state.first == most_pairs_waiting)
        compare_first(state);
}

void finish_comparisons(comparisons& state)
{
    while (state.first < state.next)
        compare_first(state);
    if (state.open == nullptr && state.sent == nullptr)
        return;
    hand_out(state);
    finish_jobs(*state.check->rows->crew);
}

void take_all(comparisons& state, void* taker, near_pair_taker take)
{
    finish_comparisons(state);
    accept_all(*state.check);
    state.taker = taker;
    state.take = take;
    if (state.sent != nullptr)
        start_compare_jobs(state);
}

void end_comparisons(comparisons& state)
{
    if (state.sent == nullptr)
        return;
    row_set& rows = *state.check->rows;
    host& owner = *rows.owner;
    for (int i = 0; i < rows.crew->workers; i++)
        release(owner, state.sent[i].places);
    release(owner, state.sent);
    rows.budget->used -=
        static_cast<std::size_t>(rows.crew->workers) * rows.count * sizeof(std::uint32_t);
}

} // namespace minhash::bulk
