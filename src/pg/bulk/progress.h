// Notices of how far a long call has come, at the interval that the setting
// minhash_lsh.progress_interval gives (0: none).
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

extern int progress_interval; // seconds

struct progress {
    const char* phase;
    std::uint64_t total; // 0 if not known before
    TimestampTz next;
};

progress start_phase(const char* phase, std::uint64_t total);

void report_slowly(progress& state, std::uint64_t done);

// Answers to cancel, and tells the user if it is time.
inline void report(progress& state, std::uint64_t done)
{
    CHECK_FOR_INTERRUPTS();
    if (progress_interval > 0)
        report_slowly(state, done);
}

} // namespace minhash::pg
