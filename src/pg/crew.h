// A crew does steps together: the session's process and PostgreSQL's parallel workers, which have its snapshot, user
// and settings. In between, the session's process alone prepares the next step. The index build and the bulk functions
// have such crews.
//
// Each worker loads the library from its file. If the file was replaced after the session had loaded it, session and
// worker may disagree about the structs that they share. So each build has an identity, and a worker of another build
// ends before it reads anything else. The other processes do its work.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "access/parallel.h"
}

namespace minhash::pg {

struct crew_head;

struct crew {
    ParallelContext* context; // in the session's process; null: there are no workers
    crew_head* head;          // in shared memory; null: there are no workers
    std::uint32_t wait_event; // what a process shows that waits for the others
    bool in_step;             // the crew is in a step, not between two
};

// Prepares up to `most` workers, whose main function is `entry`, and enters parallel mode. Returns memory of this size
// that they will share, to be filled before launch().
void* gather(crew& self, const char* entry, int most, std::size_t bytes, std::uint32_t wait_event);

// Starts the workers, as many as PostgreSQL has to give, and returns their number.
int launch(crew& self);

// Waits until all are here: the step begins, or has ended. If a worker has failed, its error is raised here.
void meet(crew& self);

// Ends the workers between two steps, and leaves parallel mode. What gather() returned is freed.
void dismiss(crew& self);

// For a worker, at the beginning of its main function. Returns what gather() returned; null if the worker must end at
// once, because it is of another build.
void* join(crew& self, shm_toc* directory, std::uint32_t wait_event);

// Waits for the next step; false if there is none. The worker does its part of the step, then calls meet(). A worker
// that starts late joins the current step. A worker that fails never arrives; PostgreSQL sends its error to the
// session's process, which then ends the others.
bool next_step(crew& self);

} // namespace minhash::pg
