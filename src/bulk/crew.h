// Jobs, done by workers (worker.h) or here, and their answers, which come back in the order of the
// jobs, whoever did them: so results do not depend on how many workers there are. A job is done
// here where no worker is free, as the way to a worker that has enough to do is no shorter. Pairs
// may wait for the worker that has their texts instead (comparisons.cpp).
#pragma once

#include "bulk/worker.h"

namespace minhash::bulk {

constexpr int done_here = -1;

struct job {
    int worker; // or done_here
    std::uint32_t count;
    growing<std::uint8_t> message;
    std::size_t size;
    std::size_t work;             // bytes of texts that it is about
    growing<std::uint8_t> answer; // of what was done here
    std::size_t answer_size;      // 0: it is to come
};

// Takes the answer of a job.
struct job_taker {
    void* self;
    void (*take)(void* self, const job& done, std::span<const std::uint8_t> answer);
};

struct crew {
    host* owner;
    std::uint64_t work;     // bytes of texts worked on so far
    int workers;            // that were started
    struct crew_worker* of; // each of them
    worker* here;           // what does jobs here, if any was
    job_header header;      // of all jobs, until another is set
    job_taker taker;

    job* jobs; // a ring of those that were begun, and whose answers have not been taken
    std::size_t room;
    std::size_t first;
    std::size_t count;
};

crew* make_crew(host& owner);

// Notes work to come. Starts workers when it was enough for that; returns whether there are any.
bool count_work(crew& crew, std::size_t bytes);

// Starts jobs of one kind. All before have been finished.
void start_jobs(crew& crew, const job_header& header, const job_taker& taker);

// Begins a job: chooses who does it, and writes the header of its message.
job& begin_job(crew& crew);

// The same for a job that is kept elsewhere, for one worker, until it is handed over.
void start_message(crew& crew, job& fresh, int worker);

// Hands out such a job: waits until its worker can take it. `made` is empty then.
void hand_over(crew& crew, job& made);

// The worker that has least to do, or done_here if each has enough.
int free_worker(const crew& crew);

// Whether a worker has nothing to do.
bool is_idle(const crew& crew, int worker);

// Whether it can take a job now.
bool can_take(const crew& crew, int worker);

// Adds a record, or a part of it, and pads it.
void add_record(crew& crew, job& to, const void* bytes, std::size_t count);

// Adds a document (worker.h): of a place that is not 0 the text is left out.
void add_document(crew& crew, job& to, std::uint64_t place, text_bytes text);

// Adds a record to be written, and returns where.
std::uint8_t* add_room(crew& crew, job& to, std::size_t count);

// Does a job here as a worker would.
void do_here(crew& crew, job& begun);

// Hands out the job begun last. One that is done here has its answer by now.
void end_job(crew& crew, job& begun);

// Sends and takes what can be sent and taken now: to be called now and then while a long job is
// done here.
void go_on(crew& crew);

// Frees the memory of jobs and answers. There are none.
void free_messages(crew& crew);

// Waits for all answers.
void finish_jobs(crew& crew);

} // namespace minhash::bulk
