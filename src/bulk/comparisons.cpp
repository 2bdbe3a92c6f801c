#include "bulk/comparisons.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

namespace {

// Pairs in a job.
constexpr std::uint32_t most_pairs = 1024;

// Pairs that wait to be taken, for each process.
constexpr std::size_t most_waiting = 4096;

// Jobs of pairs that wait for a worker that has enough to do, because it has their texts.
constexpr std::size_t most_jobs_waiting = 4;

// A pair as a job has it.
struct pair_record {
    row_pair rows;
    std::uint64_t number;
};

// Processes as bytes; 0 is none.
std::uint8_t byte_of(int process)
{
    assert(process >= done_here && process + 2 <= 0xFF);
    return static_cast<std::uint8_t>(process + 2);
}

int process_of(std::uint8_t byte)
{
    return static_cast<int>(byte) - 2;
}

// The memory that a worker has, for its sets and for texts.
std::size_t ring_bytes(const row_set& rows)
{
    constexpr std::size_t least = 256 * 1024;
    constexpr std::size_t most = 8 * 1024 * 1024;
    return std::clamp(kept_bytes(rows) / 4, least, most);
}

numbered_pair& numbered(comparisons& state, std::uint64_t number)
{
    return state.numbered[number % state.room];
}

// Takes the pairs that are known, in the order of their numbers.
void take_known(comparisons& state)
{
    while (state.first_number < state.next_number) {
        const numbered_pair pair = numbered(state, state.first_number);
        if (!pair.answered)
            break;
        state.first_number++;
        if (pair.similarity)
            state.take(state.taker, pair.rows.a, pair.rows.b, *pair.similarity);
    }
}

// The similarities of the pairs of a job.
void take_answer(void* to, const job& done, std::span<const std::uint8_t> answer)
{
    comparisons& state = *static_cast<comparisons*>(to);
    assert(answer.size() == done.count * sizeof(numbered_pair::similarity));
    const std::uint8_t* at = done.message.values + pad_record(sizeof(job_header));
    const std::uint8_t* similar = answer.data();
    for (std::uint32_t taken = 0; taken < done.count;) {
        pair_record pair;
        std::memcpy(&pair.rows, at, sizeof(pair.rows));
        if (pair.rows.a & new_text) {
            at += sizeof(pair.rows) + pad_record(pair.rows.b);
            continue;
        }
        std::memcpy(&pair, at, sizeof(pair));
        at += sizeof(pair);
        assert(pair.number >= state.first_number && pair.number < state.next_number);
        numbered_pair& answered = numbered(state, pair.number);
        assert(!answered.answered && answered.rows.a == pair.rows.a);
        std::memcpy(&answered.similarity, similar, sizeof(answered.similarity));
        similar += sizeof(answered.similarity);
        answered.answered = true;
        taken++;
    }
    take_known(state);
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

// Takes an eighth of the memory at most.
std::size_t ring_room(const row_set& rows)
{
    const std::size_t wanted = (static_cast<std::size_t>(rows.crew->workers) + 1) * most_waiting;
    const std::size_t most = rows.budget->limit / 8 / sizeof(numbered_pair);
    return std::max<std::size_t>(std::min(wanted, most), 1);
}

// What memory this takes: in workers the sizes of sets, and here what is below.
std::size_t sending_bytes(const row_set& rows)
{
    const std::size_t workers = static_cast<std::size_t>(rows.crew->workers);
    return (workers * sizeof(std::uint32_t) + sizeof(std::uint8_t)) * rows.count +
           ring_room(rows) * sizeof(numbered_pair);
}

void start_sending(comparisons& state)
{
    row_set& rows = *state.check->rows;
    host& owner = *rows.owner;
    const std::size_t workers = static_cast<std::size_t>(rows.crew->workers);
    start_compare_jobs(state);
    state.sent = allocate<text_ring>(owner, workers);
    state.open = allocate<job>(owner, workers);
    for (std::size_t i = 0; i < workers; i++) {
        start_ring(state.sent[i], owner, ring_bytes(rows));
        state.open[i] = {};
    }
    state.home = allocate<std::uint8_t>(owner, rows.count);
    std::fill_n(state.home, rows.count, 0);
    state.room = ring_room(rows);
    state.numbered = allocate<numbered_pair>(owner, state.room);
    state.next_home = done_here;
    rows.budget->used += sending_bytes(rows);
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

void hand_out_all(comparisons& state)
{
    crew& crew = *state.check->rows->crew;
    for (int worker = 0; worker < crew.workers; worker++)
        if (state.open[worker].count > 0)
            hand_over(crew, state.open[worker]);
}

// Waits until the first of the numbered pairs is known.
void wait_for_room(comparisons& state)
{
    crew& crew = *state.check->rows->crew;
    hand_out_all(state);
    for (take_known(state); state.next_number - state.first_number == state.room;
         take_known(state)) {
        crew.owner->wait(*crew.owner);
        go_on(crew);
    }
}

bool is_full(const comparisons& state, const job& open, std::size_t jobs)
{
    const std::size_t job_bytes = state.check->rows->owner->job_bytes;
    return open.count >= most_pairs || std::max(open.size, open.work) >= jobs * job_bytes;
}

// Sends what can be sent, and chooses who compares the next rows that nobody has.
void choose_next_home(comparisons& state)
{
    crew& crew = *state.check->rows->crew;
    go_on(crew);
    take_known(state);
    for (int worker = 0; worker < crew.workers; worker++) {
        job& open = state.open[worker];
        if (open.count > 0 && can_take(crew, worker) &&
            (is_idle(crew, worker) || is_full(state, open, 1)))
            hand_over(crew, open);
    }
    state.next_home = free_worker(crew);
    state.is_starving = is_idle(crew, state.next_home);
    state.work = 0;
}

// Who compares a pair: where the texts are, unless a worker has nothing to do.
int choose_process(comparisons& state, std::uint32_t a, std::uint32_t b)
{
    if (!fit_worker(state, a, b))
        return done_here;
    const std::uint8_t home = state.home[a] != 0 ? state.home[a] : state.home[b];
    const int process = home == 0 || state.is_starving ? state.next_home : process_of(home);
    const bool too_much =
        process != done_here && is_full(state, state.open[process], most_jobs_waiting);
    return too_much ? done_here : process;
}

// Adds a pair to the job that is open for a worker.
void send_pair(comparisons& state, int worker, std::uint32_t a, std::uint32_t b, std::size_t work)
{
    crew& crew = *state.check->rows->crew;
    job& open = state.open[worker];
    if (open.count == 0)
        start_message(crew, open, worker);
    send_text(state, open, a);
    send_text(state, open, b);
    const pair_record pair = {{a, b}, state.next_number};
    add_record(crew, open, &pair, sizeof(pair));
    open.count++;
    open.work += work;
}

void compare_or_send(comparisons& state, std::uint32_t a, std::uint32_t b)
{
    verifier& check = *state.check;
    row_set& rows = *check.rows;
    crew& crew = *rows.crew;
    if (!count_work(crew, rows.document_bytes / rows.count)) {
        if (const auto similarity = compare(check.sets, a, b, check.least, true))
            state.take(state.taker, a, b, *similarity);
        return;
    }
    if (state.sent == nullptr)
        start_sending(state);
    if (state.next_number - state.first_number == state.room)
        wait_for_room(state);
    const std::size_t work = document_size(rows, a) + document_size(rows, b);
    assert(state.next_number - state.first_number < state.room);
    const int process = choose_process(state, a, b);
    state.home[a] = state.home[b] = byte_of(process);
    numbered_pair& pair = numbered(state, state.next_number);
    pair = {{a, b}, process == done_here, std::nullopt};
    if (process == done_here)
        pair.similarity = compare(check.sets, a, b, check.least, true);
    else
        send_pair(state, process, a, b, work);
    state.next_number++;
    state.work += work;
    if (state.work >= rows.owner->job_bytes)
        choose_next_home(state);
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
    state = {};
    state.check = &check;
    state.taker = taker;
    state.take = take;
}

void verify_later(comparisons& state, std::uint32_t a, std::uint32_t b)
{
    verifier& check = *state.check;
    if (!check.rows->task.exact) {
        if (const auto similarity = verify(check, a, b))
            state.take(state.taker, a, b, *similarity);
    } else if (may_be_near(check, a, b)) {
        compare_later(state, a, b);
    }
}

void compare_later(comparisons& state, std::uint32_t a, std::uint32_t b)
{
    assert(state.check->rows->task.exact && state.next - state.first < most_pairs_waiting);
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
    if (state.sent == nullptr)
        return;
    hand_out_all(state);
    finish_jobs(*state.check->rows->crew);
    take_known(state);
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
    for (int i = 0; i < rows.crew->workers; i++) {
        release(owner, state.sent[i].places);
        release(owner, state.open[i].message.values);
        release(owner, state.open[i].answer.values);
    }
    release(owner, state.sent);
    release(owner, state.open);
    release(owner, state.home);
    release(owner, state.numbered);
    rows.budget->used -= sending_bytes(rows);
}

} // namespace minhash::bulk
