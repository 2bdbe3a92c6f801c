#include "pg/progress.h"
#include "pg/settings.h"

#include <algorithm>
#include <cstring>

extern "C" {
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/ps_status.h"
#include "utils/timeout.h"
}

namespace minhash::pg {

namespace {

constexpr int title_interval = 1000; // ms
constexpr double us_per_s = 1e6;     // microseconds in a second

TimeoutId timeout = MAX_TIMEOUTS; // not registered yet
progress* volatile innermost;     // the latest of the calls being shown; read by the signal handler

void note_due()
{
    for (progress* call = innermost; call != nullptr; call = call->outer)
        call->due = 1;
}

bool is_wanted() { return progress_interval > 0 || update_process_title; }

// Removes a call from the list. If an error ends several calls, they may end in any order.
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

void begin_phase(progress& call, TimestampTz now)
{
    call.phase_began = now;
    call.marks[0] = call.marks[1] = {now, 0};
}

// The time left in the current phase, in microseconds, if `share` of the phase is done. Only the pace in the last
// eighth to quarter of the time since the phase began counts, because the pace changes: when candidates are verified,
// later rows have fewer candidates.
double left_of_phase(progress& call, double share, TimestampTz now)
{
    auto& [older, newer] = call.marks;
    if (now - newer.at >= (now - call.phase_began) / 8) {
        older = newer;
        newer = {now, share};
    }
    const progress_mark& since = share > older.share ? older : progress_mark{call.phase_began, 0};
    return static_cast<double>(now - since.at) / (share - since.share) * (1 - share);
}

// The number of a phase, as in "step 3 of 6, ". Calls skip phases for which they have no work.
const char* number_of(const progress_step& step)
{
    const auto at = std::ranges::find_if(step.phases, [&](const char* name) { return strcmp(name, step.phase) == 0; });
    if (at == step.phases.end())
        return "";
    return psprintf("step %d of %zu, ", static_cast<int>(at - step.phases.begin()) + 1, step.phases.size());
}

// The progress as text. Once a tenth of the phase is done, it includes the time left in the phase. (The time left in
// the call is not told: how long candidates take depends on how many of them are alike.)
const char* how_far(progress& call, const progress_step& step, TimestampTz now)
{
    const char* const number = number_of(step);
    const auto done = static_cast<unsigned long long>(step.done);
    const auto total = static_cast<unsigned long long>(step.total);
    if (total == 0)
        return done == 0 ? psprintf("%s%s", number, step.phase) : psprintf("%s%s: %llu", number, step.phase, done);
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const char* const text = psprintf("%s%s: %llu of %s%llu (%d%%)",
                                      number,
                                      step.phase,
                                      done,
                                      step.estimated ? "about " : "",
                                      total,
                                      static_cast<int>(share * 100));
    constexpr double enough = 0.1;
    if (share < enough || now - call.phase_began < us_per_s)
        return text;
    return psprintf("%s, about %.0f s left in this step", text, Max(1, left_of_phase(call, share, now) / us_per_s));
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
    fresh.began = GetCurrentTimestamp();
    begin_phase(fresh, fresh.began);
    fresh.next_notice = TimestampTzPlusMilliseconds(fresh.began, progress_interval * 1000L);
    fresh.outer = innermost;
    fresh.at_end.func = end;
    fresh.at_end.arg = &fresh;
    MemoryContextRegisterResetCallback(memory, &fresh.at_end);
    innermost = &fresh;
    if (fresh.outer == nullptr)
        enable_timeout_every(timeout, TimestampTzPlusMilliseconds(fresh.began, title_interval), title_interval);
}

void show_progress(progress& call, const progress_step& step)
{
    if ((call.due == 0 && !step.begins) || !is_wanted() || call.title == nullptr)
        return;
    const TimestampTz now = GetCurrentTimestamp();
    if (step.begins)
        begin_phase(call, now);
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
