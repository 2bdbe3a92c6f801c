#include "pg/bulk/host.h"
#include "pg/errors.h"
#include "pg/memory.h"

#include <algorithm>
#include <cerrno>
#include <type_traits>
#include <utility>

extern "C" {
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/wait_event.h"
}

namespace minhash::pg {

namespace {

// Files are written and read in steps, so that cancel is answered while the disk is slow.
constexpr std::size_t file_step = 1024 * 1024;

bulk_host& self_of(bulk::host& host)
{
    return static_cast<bulk_host&>(host);
}

void* allocate_memory(bulk::host& host, std::size_t bytes)
{
    return allocate_large(self_of(host).memory, bytes);
}

void release_memory(bulk::host&, void* memory)
{
    pfree(memory);
}

int open_file(bulk::host&)
{
    PrepareTempTablespaces();
    return OpenTemporaryFile(false);
}

[[noreturn]] void fail_temporary_file(const char* action)
{
    ereport(
        ERROR,
        errcode_for_file_access(),
        errmsg("could not %s temporary file: %m", action),
        errhint("Set maintenance_work_mem higher, or temp_tablespaces to where there is room."));
    pg_unreachable();
}

void write_file(bulk::host&, int file, const void* bytes, std::size_t count, std::uint64_t offset)
{
    char* const from = static_cast<char*>(const_cast<void*>(bytes)); // not written to
    for (std::size_t done = 0; done < count; done += file_step) {
        CHECK_FOR_INTERRUPTS();
        const std::size_t part = std::min(file_step, count - done);
        errno = ENOSPC; // a write that stops short found no room
        if (std::cmp_not_equal(FileWrite(file,
                                         from + done,
                                         static_cast<int>(part),
                                         static_cast<off_t>(offset + done),
                                         WAIT_EVENT_BUFFILE_WRITE),
                               part))
            fail_temporary_file("write to");
    }
}

void read_file(bulk::host&, int file, void* bytes, std::size_t count, std::uint64_t offset)
{
    char* const to = static_cast<char*>(bytes);
    for (std::size_t done = 0; done < count; done += file_step) {
        CHECK_FOR_INTERRUPTS();
        const std::size_t part = std::min(file_step, count - done);
        errno = EIO;
        if (std::cmp_not_equal(FileRead(file,
                                        to + done,
                                        static_cast<int>(part),
                                        static_cast<off_t>(offset + done),
                                        WAIT_EVENT_BUFFILE_READ),
                               part))
            fail_temporary_file("read from");
    }
}

void close_file(bulk::host&, int file)
{
    FileClose(file);
}

void answer_interrupts(bulk::host&)
{
    CHECK_FOR_INTERRUPTS();
}

void report_progress(bulk::host& host, const char* phase, std::uint64_t done, std::uint64_t total)
{
    bulk_host& self = self_of(host);
    show_progress(self.shown, {phase, phase != self.phase, done, total, self.estimated});
}

constexpr volatile int never = 0;

void refuse_shingles(bulk::host&, std::uint64_t most)
{
    fail_too_many_shingles(most);
}

} // namespace

void start_host(bulk_host& fresh)
{
    static_assert(std::is_same_v<sig_atomic_t, int>);
    fresh = {};
    static_cast<bulk::host&>(fresh) = {
        .allocate = allocate_memory,
        .release = release_memory,
        .open_file = open_file,
        .write_file = write_file,
        .read_file = read_file,
        .close_file = close_file,
        .pause = answer_interrupts,
        .stopping = &InterruptPending,
        .report = report_progress,
        .reporting = &never,
        .phase = nullptr,
        .read_again = nullptr, // pg/bulk/query.cpp
        .read_ahead = nullptr, // the same
        .fail_too_many_shingles = refuse_shingles,
        .most_workers = 0, // and no functions for them: pg/bulk/workers.h
        .least_work = 0,
        .job_bytes = 0,
        .start_workers = nullptr,
        .is_ready = nullptr,
        .send = nullptr,
        .receive = nullptr,
        .wait = nullptr,
    };
    fresh.memory = CurrentMemoryContext;
}

void start_reporting(bulk_host& host)
{
    start_progress(host.shown, host.memory);
    host.reporting = &host.shown.due;
}

bulk::memory_budget make_budget(bulk_host& owner)
{
    return bulk::make_budget(owner, static_cast<std::size_t>(maintenance_work_mem) * 1024);
}

void notice_spilling(const bulk::memory_budget& budget)
{
    if (!budget.exceeded)
        return;
    ereport(NOTICE,
            errmsg("rows do not fit into maintenance_work_mem, so temporary files are used"),
            errhint("This is slower. Set maintenance_work_mem to '%zuMB' or more.",
                    bulk::needed_bytes(budget) / (1024 * 1024) + 1));
}

void notice_large_buckets(std::uint64_t buckets, std::uint32_t max_bucket)
{
    if (buckets == 0)
        return;
    ereport(NOTICE,
            errmsg_plural("%llu bucket of more than %u rows was left out",
                          "%llu buckets of more than %u rows were left out",
                          static_cast<unsigned long>(buckets),
                          static_cast<unsigned long long>(buckets),
                          max_bucket),
            errdetail("Pairs that meet in no other bucket are missing."),
            errhint("Leave max_bucket out to get them."));
}

} // namespace minhash::pg
