#include "bulk/crew.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace minhash::bulk {

// A worker, as it is seen from here.
struct crew_worker {
    int unanswered;    // jobs
    const job* unsent; // a job of which not all bytes have been sent, or null
};

namespace {

// Jobs that a worker has at once: it does one while others come and answers go. Those with the keys
// of a band are large.
constexpr int most_unanswered = 3;
constexpr int most_bands = 2;

std::span<const std::uint8_t> bytes_of(const job& job)
{
    return {job.message.values, job.size};
}

void send(crew& crew, int number, const job& job)
{
    host& owner = *crew.owner;
    crew.of[number].unsent = owner.send(owner, number, bytes_of(job)) ? nullptr : &job;
}

// Takes the answer of the first job, if it is there.
bool take_first(crew& crew)
{
    host& owner = *crew.owner;
    const job& first = crew.jobs[crew.first];
    std::span<const std::uint8_t> answer = {first.answer.values, first.answer_size};
    if (first.worker != done_here) {
        crew_worker& worker = crew.of[first.worker];
        if (worker.unsent == &first)
            return false;
        answer = owner.receive(owner, first.worker);
        if (answer.empty())
            return false;
        assert(worker.unanswered > 0);
        worker.unanswered--;
    }
    assert(!answer.empty());
    crew.taker.take(crew.taker.self, first, answer);
    crew.first = (crew.first + 1) % crew.room;
    crew.count--;
    return true;
}

int most_for_worker(const crew& crew)
{
    return crew.header.kind == job_kind::group ? most_bands : most_unanswered;
}

void clear(job& old)
{
    old.count = 0;
    old.size = 0;
    old.work = 0;
    old.answer_size = 0;
}

// Waits for room for one more job, and returns it.
job& next_job(crew& crew)
{
    host& owner = *crew.owner;
    for (go_on(crew); crew.count == crew.room; go_on(crew))
        owner.wait(owner);
    return crew.jobs[(crew.first + crew.count) % crew.room];
}

} // namespace

void go_on(crew& crew)
{
    for (int number = 0; number < crew.workers; number++)
        if (crew.of[number].unsent != nullptr)
            send(crew, number, *crew.of[number].unsent);
    while (crew.count > 0 && take_first(crew))
        continue;
}

crew* make_crew(host& owner)
{
    crew* const made = allocate<crew>(owner);
    *made = {};
    made->owner = &owner;
    return made;
}

bool count_work(crew& crew, std::size_t bytes)
{
    host& owner = *crew.owner;
    if (crew.room > 0 || owner.most_workers == 0)
        return crew.workers > 0;
    crew.work += bytes;
    if (crew.work < owner.least_work)
        return false;
    crew.workers = owner.start_workers(owner);
    crew.room = static_cast<std::size_t>(crew.workers) * (most_unanswered + 1) + 4;
    crew.of = allocate<crew_worker>(owner, static_cast<std::size_t>(crew.workers));
    std::fill_n(crew.of, crew.workers, crew_worker{});
    crew.jobs = allocate<job>(owner, crew.room);
    std::fill_n(crew.jobs, crew.room, job{});
    return crew.workers > 0;
}

void start_jobs(crew& crew, const job_header& header, const job_taker& taker)
{
    assert(crew.count == 0);
    crew.header = header;
    crew.taker = taker;
}

bool is_idle(const crew& crew, int worker)
{
    return worker != done_here && crew.of[worker].unanswered == 0;
}

bool can_take(const crew& crew, int worker)
{
    const crew_worker& asked = crew.of[worker];
    return asked.unsent == nullptr && asked.unanswered < most_for_worker(crew) &&
           crew.owner->is_ready(*crew.owner, worker);
}

int free_worker(const crew& crew)
{
    int best = done_here;
    for (int number = 0; number < crew.workers; number++)
        if (can_take(crew, number) &&
            (best == done_here || crew.of[number].unanswered < crew.of[best].unanswered))
            best = number;
    return best;
}

void start_message(crew& crew, job& fresh, int worker)
{
    clear(fresh);
    fresh.worker = worker;
    add_record(crew, fresh, &crew.header, sizeof(crew.header));
}

job& begin_job(crew& crew)
{
    job& begun = next_job(crew);
    start_message(crew, begun, free_worker(crew));
    return begun;
}

void hand_over(crew& crew, job& made)
{
    assert(made.worker != done_here);
    job& to = next_job(crew);
    for (; !can_take(crew, made.worker); go_on(crew))
        crew.owner->wait(*crew.owner);
    std::swap(to, made);
    clear(made);
    end_job(crew, to);
}

void add_record(crew& crew, job& to, const void* bytes, std::size_t count)
{
    std::memcpy(add_room(crew, to, count), bytes, count);
}

std::uint8_t* add_room(crew& crew, job& to, std::size_t count)
{
    const std::size_t start = to.size;
    const std::size_t padded = pad_record(start + count);
    grow(*crew.owner, to.message, start, padded);
    std::memset(to.message.values + start + count, 0, padded - start - count);
    to.size = padded;
    return to.message.values + start;
}

void add_document(crew& crew, job& to, std::uint64_t place, text_bytes text)
{
    add_record(crew, to, &place, sizeof(place));
    if (place == 0)
        add_record(crew, to, text.data(), text.size());
}

void do_here(crew& crew, job& begun)
{
    if (crew.here == nullptr)
        crew.here = make_worker(*crew.owner);
    begun.answer_size = do_job(*crew.here, bytes_of(begun)).size();
    std::swap(begun.answer, crew.here->answer);
}

void end_job(crew& crew, job& begun)
{
    assert(crew.count < crew.room && begun.size >= sizeof(job_header));
    crew.count++;
    if (begun.worker != done_here) {
        crew.of[begun.worker].unanswered++;
        send(crew, begun.worker, begun);
    }
    go_on(crew);
}

void free_messages(crew& crew)
{
    assert(crew.count == 0);
    for (std::size_t i = 0; i < crew.room; i++)
        for (growing<std::uint8_t>* const bytes : {&crew.jobs[i].message, &crew.jobs[i].answer}) {
            release(*crew.owner, bytes->values);
            *bytes = {};
        }
}

void finish_jobs(crew& crew)
{
    host& owner = *crew.owner;
    for (go_on(crew); crew.count > 0; go_on(crew))
        owner.wait(owner);
}

} // namespace minhash::bulk
