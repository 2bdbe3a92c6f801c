// How far a long call has come: a NOTICE at the interval of the setting
// minhash_lsh.progress_interval, and every second the title of the process. A timeout says when it
// is time, as asking the clock for every row would take longer than reading some rows does.
#pragma once

#include "pg/glue.h"

#include <csignal>

extern "C" {
#include "utils/timestamp.h"
}

namespace minhash::pg {

struct progress {
    const char* title; // of the process before
    TimestampTz phase_began;
    TimestampTz next_notice;
    MemoryContextCallback at_end;
};

// What is done of a phase.
struct progress_step {
    const char* phase;
    bool begins;
    std::uint64_t done;
    std::uint64_t total; // 0: not known
    bool estimated;      // the total
};

// Whether it is time to show something.
extern volatile std::sig_atomic_t progress_due;

// Starts showing the progress of a call, until the memory is freed. `fresh` lies there.
void start_progress(progress& fresh, MemoryContext memory);

// Shows how far the call is, if it is time.
void show_progress(progress& call, const progress_step& step);

} // namespace minhash::pg
