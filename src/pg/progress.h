// How far a long call has come: a NOTICE at the interval of the setting
// minhash_lsh.progress_interval, and every second the title of the process. A timeout says when it
// is time, as asking the clock for every row would take longer than reading some rows does.
//
// A call can run within the query of another one. Each is told of the time, and shows it for
// itself.
#pragma once

#include "pg/glue.h"

#include <csignal>

extern "C" {
#include "utils/timestamp.h"
}

namespace minhash::pg {

// What is done of a phase; and what it and the phases after it will cost, if that is known
// (bulk/memory/host.h).
struct progress_step {
    const char* phase;
    bool begins;
    std::uint64_t done;
    std::uint64_t total; // 0: not known
    bool estimated;      // the total
    double cost;
    double cost_after;
    std::uint64_t rows; // 0: costs are not known
};

struct progress {
    volatile std::sig_atomic_t due; // whether it is time to show something
    progress* outer;                // the call within whose query this one runs
    const char* title;              // of the process before
    TimestampTz began;
    TimestampTz phase_began;
    double phase_cost;   // of the current phase
    double costs_before; // of phases that have ended, and the time that they took
    double time_before;
    double share; // of the call that is done: it does not fall
    TimestampTz next_notice;
    MemoryContextCallback at_end;
};

// Starts showing the progress of a call, until the memory is freed. `fresh` lies there.
void start_progress(progress& fresh, MemoryContext memory);

// Shows how far the call is, if it is time or a phase begins.
void show_progress(progress& call, const progress_step& step);

} // namespace minhash::pg
