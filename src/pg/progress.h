// Shows the progress of a long call: in a NOTICE every minhash_lsh.progress_interval, and every second in the title of
// the process. A timeout sets a flag when progress is due. Reading the clock for every row instead could take longer
// than reading the row itself.
//
// A call can run within the query of another call. Each call shows its own progress.
#pragma once

#include "pg/glue.h"

#include <csignal>
#include <span>

extern "C" {
#include "utils/timestamp.h"
}

namespace minhash::pg {

// How much of a phase is done.
struct progress_step {
    const char* phase;
    std::span<const char* const> phases; // all phases of the call; empty: it has no others
    bool begins;
    std::uint64_t done;
    std::uint64_t total; // 0: not known
    bool estimated;      // whether the total is an estimate
};

// How much of the phase was done at some moment.
struct progress_mark {
    TimestampTz at;
    double share;
};

struct progress {
    volatile std::sig_atomic_t due; // whether it is time to show something
    progress* outer;                // the call in whose query this one runs, or null
    const char* title;              // the title of the process before the call
    TimestampTz began;
    TimestampTz phase_began;
    progress_mark marks[2]; // earlier moments of the phase, to measure its pace
    TimestampTz next_notice;
    MemoryContextCallback at_end;
};

// Starts showing the progress of a call, and stops when `memory` is freed. `fresh` must be in `memory`.
void start_progress(progress& fresh, MemoryContext memory);

// Shows the progress of the call, if it is time to do so or a phase begins.
void show_progress(progress& call, const progress_step& step);

} // namespace minhash::pg
