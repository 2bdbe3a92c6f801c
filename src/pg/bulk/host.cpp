#include "pg/bulk/host.h"
#include "pg/errors.h"
#include "pg/memory.h"

#include <algorithm>
#include <cerrno>
#include <type_traits>
#include <utility>

extern "C" {
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"
}

namespace minhash::pg {

namespace {

// Files are written and read in steps of this many bytes, so that a slow disk does not delay a cancellation.
constexpr std::size_t file_step = 1024 * 1024;

bulk_host& self_of(bulk::host& host) { return static_cast<bulk_host&>(host); }

void* allocate_memory(bulk::host& host, std::size_t bytes) { return allocate_large(self_of(host).memory, bytes); }

void release_memory(bulk::host&, void* memory) { pfree(memory); }

void begin_phase(bulk::host& host)
{
    bulk_host& self = self_of(host);
    Assert(self.memory == self.lasting);
    self.memory = AllocSetContextCreate(self.lasting, "minhash_lsh step", ALLOCSET_DEFAULT_SIZES);
}

void end_phase(bulk::host& host)
{
    bulk_host& self = self_of(host);
    MemoryContextDelete(self.memory);
    self.memory = self.lasting;
    self.converted = {};
}

[[noreturn]] void fail_temporary_file(const char* action)
{
    ereport(ERROR,
            errcode_for_file_access(),
            errmsg("could not %s temporary file: %m", action),
            errhint("Set maintenance_work_mem higher, or temp_tablespaces to where there is room."));
}

// Calls transfer(done, part) for `count` bytes of a file, part by part. transfer() returns how many bytes it
// transferred. `error` is the errno to report if transfer() transfers too few bytes without setting errno.
template <typename Transfer>
void transfer_parts(std::size_t count, int error, const char* action, Transfer&& transfer)
{
    for (std::size_t done = 0; done < count; done += file_step) {
        CHECK_FOR_INTERRUPTS();
        const std::size_t part = std::min(file_step, count - done);
        errno = error;
        if (std::cmp_not_equal(transfer(done, static_cast<int>(part)), part))
            fail_temporary_file(action);
    }
}

void write_file(bulk::host& host, int number, const void* bytes, std::size_t count, std::uint64_t offset)
{
    const File file = file_of(self_of(host), number);
    char* const from = static_cast<char*>(const_cast<void*>(bytes)); // not written to
    transfer_parts(count, ENOSPC, "write to", [=](std::size_t done, int part) {
        return FileWrite(file, from + done, part, static_cast<off_t>(offset + done), WAIT_EVENT_BUFFILE_WRITE);
    });
}

void read_file(bulk::host& host, int number, void* bytes, std::size_t count, std::uint64_t offset)
{
    const File file = file_of(self_of(host), number);
    char* const to = static_cast<char*>(bytes);
    transfer_parts(count, EIO, "read from", [=](std::size_t done, int part) {
        return FileRead(file, to + done, part, static_cast<off_t>(offset + done), WAIT_EVENT_BUFFILE_READ);
    });
}

void answer_interrupts(bulk::host&) { CHECK_FOR_INTERRUPTS(); }

void report_progress(bulk::host& host, const char* phase, std::uint64_t done, std::uint64_t total)
{
    bulk_host& self = self_of(host);
    show_progress(self.shown, {phase, self.phases, phase != self.phase, done, total, self.estimated});
}

std::span<const std::uint8_t> read_document_again(bulk::host& host, std::uint64_t location)
{
    bulk_host& self = self_of(host);
    const auto* const stored = reinterpret_cast<const text*>(read_again(self.again, location));
    if (self.from_texts)
        return utf8_of(self, stored);
    Assert(VARSIZE_ANY_EXHDR(stored) > header_bytes);
    return {reinterpret_cast<const std::uint8_t*>(VARDATA_ANY(stored)) + header_bytes,
            VARSIZE_ANY_EXHDR(stored) - header_bytes};
}

void expect_documents(bulk::host& host, std::span<const std::uint64_t> locations)
{
    expect_reads(self_of(host).again, locations);
}

constexpr volatile int never = 0;

void refuse_shingles(bulk::host&, std::uint64_t most) { fail_too_many_shingles(most); }

} // namespace

void start_host(bulk_host& fresh)
{
    static_assert(std::is_same_v<sig_atomic_t, int>);
    fresh = {};
    fresh.allocate = allocate_memory;
    fresh.release = release_memory;
    fresh.begin_phase = begin_phase;
    fresh.end_phase = end_phase;
    fresh.write_file = write_file;
    fresh.read_file = read_file;
    fresh.pause = answer_interrupts;
    fresh.stopping = &InterruptPending;
    fresh.report = report_progress;
    fresh.reporting = &never;
    fresh.read_again = read_document_again;
    fresh.expect_reads = expect_documents;
    fresh.fail_too_many_shingles = refuse_shingles;
    fresh.memory = fresh.lasting = CurrentMemoryContext;
    fresh.again.memory = fresh.memory;
    allow_workers(fresh);
}

bulk::text_bytes utf8_of(bulk_host& host, const text* document)
{
    open(host.reader, document);
    if (!OidIsValid(host.reader.conversion))
        return {host.reader.at, host.reader.left};
    std::size_t bytes = 0;
    while (!at_end(host.reader)) {
        const std::span<const std::uint8_t> slice = read(host.reader);
        bulk::grow(host, host.converted, bytes, bytes + slice.size());
        memcpy(host.converted.values + bytes, slice.data(), slice.size());
        bytes += slice.size();
    }
    return {host.converted.values, bytes};
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
    if (budget.filed == 0)
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
