#include "pg/bulk/progress.h"
#include "pg/errors.h"

namespace minhash::pg {

int progress_interval;

progress start_phase(const char* phase, std::uint64_t total)
{
    return {phase,
            total,
            TimestampTzPlusMilliseconds(GetCurrentTimestamp(), progress_interval * 1000L)};
}

void report_slowly(progress& state, std::uint64_t done)
{
    const TimestampTz now = GetCurrentTimestamp();
    if (now < state.next)
        return;
    state.next = TimestampTzPlusMilliseconds(now, progress_interval * 1000L);
    tell_progress(state.phase, done, state.total);
}

} // namespace minhash::pg
