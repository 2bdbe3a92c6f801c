#include "pg/bulk/progress.h"
#include "pg/settings.h"

extern "C" {
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/ps_status.h"
#include "utils/timeout.h"
}

namespace minhash::pg {

volatile std::sig_atomic_t progress_due = 0;

namespace {

constexpr int title_interval = 1000; // ms
constexpr double seconds = 1e6;      // in microseconds

TimeoutId timeout = MAX_TIMEOUTS; // not registered yet

void note_due()
{
    progress_due = 1;
}

bool is_wanted()
{
    return progress_interval > 0 || update_process_title;
}

void end(void* call)
{
    progress& ended = *static_cast<progress*>(call);
    disable_timeout(timeout, false);
    progress_due = 0;
    if (update_process_title)
        set_ps_display(ended.title);
}

// What is done, as a share where that is known, and how long the phase will take at this pace.
const char* how_far(const progress& call, const progress_step& step, TimestampTz now)
{
    const auto done = static_cast<unsigned long long>(step.done);
    const auto total = static_cast<unsigned long long>(step.total);
    if (total == 0)
        return psprintf("%llu", done);
    const char* const text = psprintf("%llu of %s%llu (%d%%)",
                                      done,
                                      step.estimated ? "about " : "",
                                      total,
                                      static_cast<int>(done * 100 / total));
    const double elapsed = static_cast<double>(now - call.phase_began);
    if (done == 0 || elapsed < seconds)
        return text;
    const double left = elapsed / static_cast<double>(done) * static_cast<double>(total - done);
    return psprintf("%s, about %.0f s left", text, left / seconds);
}

} // namespace

void start_progress(progress& fresh, MemoryContext memory)
{
    fresh = {};
    if (!is_wanted())
        return;
    if (timeout == MAX_TIMEOUTS)
        timeout = RegisterTimeout(USER_TIMEOUT, note_due);
    int length;
    const char* const title = get_ps_display(&length);
    fresh.title = MemoryContextStrdup(memory, pnstrdup(title, static_cast<Size>(length)));
    fresh.phase_began = GetCurrentTimestamp();
    fresh.next_notice = TimestampTzPlusMilliseconds(fresh.phase_began, progress_interval * 1000L);
    fresh.at_end.func = end;
    fresh.at_end.arg = &fresh;
    MemoryContextRegisterResetCallback(memory, &fresh.at_end);
    progress_due = 0;
    enable_timeout_after(timeout, title_interval);
}

void show_progress(progress& call, const progress_step& step)
{
    if (!is_wanted() || call.title == nullptr)
        return;
    const TimestampTz now = GetCurrentTimestamp();
    if (step.begins)
        call.phase_began = now;
    if (progress_due == 0)
        return;
    progress_due = 0;
    enable_timeout_after(timeout, title_interval);
    const char* const text = how_far(call, step, now);
    if (update_process_title)
        set_ps_display(psprintf("%s: %s: %s", call.title, step.phase, text));
    if (progress_interval > 0 && now >= call.next_notice) {
        call.next_notice = TimestampTzPlusMilliseconds(now, progress_interval * 1000L);
        ereport(NOTICE, errmsg("%s: %s", step.phase, text));
    }
}

} // namespace minhash::pg
