#include "pg/progress.h"
#include "pg/settings.h"

extern "C" {
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/ps_status.h"
#include "utils/timeout.h"
}

namespace minhash::pg {

namespace {

constexpr int title_interval = 1000; // ms
constexpr double seconds = 1e6;      // in microseconds

TimeoutId timeout = MAX_TIMEOUTS; // not registered yet
progress* volatile innermost;     // of the calls that are shown; read by the signal's handler

void note_due()
{
    for (progress* call = innermost; call != nullptr; call = call->outer)
        call->due = 1;
}

bool is_wanted()
{
    return progress_interval > 0 || update_process_title;
}

// Memory is freed in any order where an error ends several calls.
void leave_out(progress& ended)
{
    if (innermost == &ended) {
        innermost = ended.outer;
        return;
    }
    for (progress* call = innermost; call != nullptr; call = call->outer)
        if (call->outer == &ended)
            call->outer = ended.outer;
}

void end(void* call)
{
    progress& ended = *static_cast<progress*>(call);
    leave_out(ended);
    if (innermost == nullptr)
        disable_timeout(timeout, false);
    if (update_process_title)
        set_ps_display(ended.title);
}

// What is done, as a share where that is known, and how long the phase will take at this pace.
const char* how_far(const progress& call, const progress_step& step, TimestampTz now)
{
    const auto done = static_cast<unsigned long long>(step.done);
    const auto total = static_cast<unsigned long long>(step.total);
    if (total == 0)
        return done == 0 ? step.phase : psprintf("%s: %llu", step.phase, done);
    const char* const text = psprintf("%s: %llu of %s%llu (%d%%)",
                                      step.phase,
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
    fresh.began = fresh.phase_began = GetCurrentTimestamp();
    fresh.next_notice = TimestampTzPlusMilliseconds(fresh.began, progress_interval * 1000L);
    fresh.outer = innermost;
    fresh.at_end.func = end;
    fresh.at_end.arg = &fresh;
    MemoryContextRegisterResetCallback(memory, &fresh.at_end);
    innermost = &fresh;
    if (fresh.outer == nullptr)
        enable_timeout_every(timeout,
                             TimestampTzPlusMilliseconds(fresh.began, title_interval),
                             title_interval);
}

void show_progress(progress& call, const progress_step& step)
{
    if ((call.due == 0 && !step.begins) || !is_wanted() || call.title == nullptr)
        return;
    const TimestampTz now = GetCurrentTimestamp();
    if (step.begins)
        call.phase_began = now;
    if (now - call.began < title_interval * 1000L)
        return;
    call.due = 0;
    const char* const text = how_far(call, step, now);
    if (update_process_title)
        set_ps_display(psprintf("%s: %s", call.title, text));
    if (progress_interval > 0 && now >= call.next_notice) {
        call.next_notice = TimestampTzPlusMilliseconds(now, progress_interval * 1000L);
        ereport(NOTICE, errmsg_internal("%s", text));
    }
}

} // namespace minhash::pg
