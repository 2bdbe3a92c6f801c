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
constexpr double seconds = 1e6;      // microseconds in a second
constexpr double nanoseconds = 1e3;  // nanoseconds in a microsecond

TimeoutId timeout = MAX_TIMEOUTS; // not registered yet
progress* volatile innermost;     // one of the calls being shown; read by the signal handler

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

struct remaining_time {
    double measured; // microseconds, from the pace of the current phase
    double expected; // microseconds, from costs alone
};

// Estimates the time left in a phase that has been running for `elapsed` microseconds and is done to this share, and in
// later phases. A phase's cost depends on how similar the rows are and on whether they are in memory, so its own pace
// tells more, once it is known.
remaining_time time_left(const step_cost& cost, double share, double elapsed)
{
    constexpr double enough = 0.05;
    const double after = cost.after / nanoseconds;
    if (share >= enough || cost.phase == 0)
        return {share > 0 ? elapsed / share - elapsed : 0, after};
    return {0, after + cost.phase * (1 - share) / nanoseconds};
}

// The progress as text. If the call's cost is known, it is the progress of the call, otherwise that of the phase. Once
// a tenth is done, the text includes the time left, if candidates have been counted and two thirds of it are measured.
const char* how_far(progress& call, const progress_step& step, TimestampTz now)
{
    const auto done = static_cast<unsigned long long>(step.done);
    const auto total = static_cast<unsigned long long>(step.total);
    if (total == 0)
        return done == 0 ? step.phase : psprintf("%s: %llu", step.phase, done);
    const double of_phase = static_cast<double>(done) / static_cast<double>(total);
    const double elapsed = static_cast<double>(now - call.phase_began);
    double left = of_phase > 0 ? elapsed / of_phase - elapsed : 0;
    bool sure = elapsed >= seconds;
    const char* text;
    double share = of_phase;
    if (step.cost) {
        const double all = static_cast<double>(now - call.began);
        const auto [measured, expected] = time_left(*step.cost, of_phase, elapsed);
        left = measured + expected;
        sure = step.cost->counted && expected <= measured / 2;
        share = call.share = Max(call.share, all / (all + left));
        text = psprintf("%d%% of %s%llu rows (%s)",
                        static_cast<int>(share * 100),
                        step.estimated ? "about " : "",
                        static_cast<unsigned long long>(step.cost->rows),
                        step.phase);
    } else {
        text = psprintf("%s: %llu of %s%llu (%d%%)",
                        step.phase,
                        done,
                        step.estimated ? "about " : "",
                        total,
                        static_cast<int>(share * 100));
    }
    constexpr double enough = 0.1;
    return share >= enough && sure ? psprintf("%s, about %.0f s left", text, left / seconds) : text;
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
        enable_timeout_every(timeout, TimestampTzPlusMilliseconds(fresh.began, title_interval), title_interval);
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
