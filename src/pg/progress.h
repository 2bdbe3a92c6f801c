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

// What is done of a phase.
struct progress_step {
    const char* phase;
    bool begins;
    std::uint64_t done;
    std::uint64_t total; // 0: not known
    bool estimated;      // the total
};

struct progress {
    volatile std::sig_atomic_t due; // whether it is time to show something
    progress* outer;                // the call within whose query this one runs
    const char* title;              // of the process before
    TimestampTz began;
    TimestampTz phase_began;
    TimestampTz next_notice;
    progress_step counted; // by count_row()
    MemoryContextCallback at_end;
};

// Starts showing the progress of a call, until the memory is freed. `fresh` lies there.
void start_progress(progress& fresh, MemoryContext memory);

// Shows how far the call is, if it is time or a phase begins.
void show_progress(progress& call, const progress_step& step);

// Begins a phase of the innermost call, which runs SQL, of about `rows` rows; 0: not known, or not
// counted.
void begin_phase(const char* phase, double rows);

// Counts a row of the innermost call's phase. lsh_band_keys() does so for the SQL that calls it.
void count_row();

} // namespace minhash::pg
