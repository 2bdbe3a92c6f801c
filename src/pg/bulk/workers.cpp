// Workers of a bulk function. They are PostgreSQL's parallel workers, which have the snapshot, the user and the
// settings of the call. They start after the call's queries have ended, so that no user code runs while workers do
// parts of the engine's steps (bulk/work/work.h); or earlier, if they can read the queries' rows, too (blocks.h).
//
// Shared memory and shared files are freed when the call ends, even if it fails. If workers are not available, the call
// continues without them.
#include "pg/bulk/blocks.h"
#include "pg/memory.h"

#include "bulk/work/work.h"

#include <algorithm>
#include <ctime>
#include <sys/statvfs.h>
#include <utility>

extern "C" {
#include "access/parallel.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "storage/dsm_impl.h"
#include "storage/fd.h"
#include "storage/lwlock.h"
#include "storage/sharedfileset.h"

[[gnu::visibility("default")]] void minhash_lsh_bulk_worker(dsm_segment*, shm_toc* directory);
}

namespace minhash::pg {

// The start of the shared memory segment. The rest of the segment is the beginning of a DSA area, which can grow.
struct shared_call {
    bulk::shared_number rows;
    bulk::shared_number scan; // the scan that all processes do now; 0: none
    std::uint64_t first_room; // how much shared memory was free before the call allocated any
    SharedFileSet files;
    scanned_column columns[most_scanned];
    int column_count;
    bool texts;
};

namespace {

// With fewer bytes of texts than this, workers are not worthwhile: one process handles about this many bytes while
// workers start.
constexpr std::uint64_t least_work = 2 * 1024 * 1024;

constexpr std::size_t first_area = 256 * 1024;
constexpr std::size_t area_offset = MAXALIGN(sizeof(shared_call));

// A file's number consists of a mark (if the file is shared), the number of the member that created the file, and a
// running count of this member's files.
constexpr int shared_file = 1 << 30;
constexpr int file_member_shift = 20;
static_assert(most_members <= 1 << (30 - file_member_shift));

bulk_host& self_of(bulk::host& host) { return static_cast<bulk_host&>(host); }

// Runs work() with the call's resource owner and memory context, so that everything that work() acquires lasts as long
// as the call.
template <typename Work>
auto for_call(const bulk_host& self, Work&& work)
{
    const ResourceOwner former = CurrentResourceOwner;
    CurrentResourceOwner = self.resources;
    const MemoryContext memory = MemoryContextSwitchTo(self.lasting);
    const auto result = work();
    MemoryContextSwitchTo(memory);
    CurrentResourceOwner = former;
    return result;
}

// How many bytes of shared memory are free; PG_UINT64_MAX if this is unknown. PostgreSQL reports an error if the file
// system for shared memory is full. In a container, this file system may be small.
std::uint64_t shared_room()
{
    struct statvfs of;
    if (dynamic_shared_memory_type != DSM_IMPL_POSIX || statvfs("/dev/shm", &of) != 0)
        return PG_UINT64_MAX;
    return of.f_bavail * of.f_frsize;
}

// Whether to allocate shared memory for data that could be in a file instead. Five eighths of the memory that was free
// at first must be left for data that has to be in memory and for other calls. Besides, an area is expected to grow by
// up to half its size. So if data is allocated in small pieces, up to about a quarter of the memory that was free at
// first is used before this function returns false.
bool has_room(const shared_call& call, std::size_t bytes)
{
    const std::uint64_t room = shared_room();
    const std::uint64_t first = call.first_room;
    return room >= first / 8 * 5 && room - first / 8 * 5 >= bytes + (first - std::min(room, first)) / 2;
}

void tell_no_room()
{
    ereport(NOTICE,
            errmsg("no workers are used, as /dev/shm has too little room"),
            errhint("Give the server's container more shared memory, or set max_parallel_maintenance_workers to 0."));
}

void* area_in(dsm_segment* segment) { return static_cast<char*>(dsm_segment_address(segment)) + area_offset; }

void start_sharing(bulk::host& host)
{
    bulk_host& self = self_of(host);
    Assert(self.segment == nullptr);
    constexpr std::size_t bytes = area_offset + first_area;
    constexpr std::size_t least_room = 56 * 1024 * 1024;
    const std::uint64_t room = shared_room();
    if (room < least_room) {
        tell_no_room();
        return;
    }
    self.segment = for_call(self, [] { return dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS); });
    if (self.segment == nullptr)
        return;
    self.shared = static_cast<shared_call*>(dsm_segment_address(self.segment));
    shared_call& call = *self.shared;
    memset(&call, 0, sizeof(call));
    call.first_room = room;
    for_call(self, [&] {
        SharedFileSetInit(&call.files, self.segment);
        self.area = dsa_create_in_place(area_in(self.segment), first_area, LWTRANCHE_PARALLEL_QUERY_DSA, self.segment);
        return true;
    });
    // An area grows by adding larger and larger segments. Without a limit, PostgreSQL may try to make a segment that is
    // larger than the free memory, and fail. With a limit, the last segment is made smaller. The limit is half of the
    // free memory; the other half is left for other calls, and for starting workers.
    if (room != PG_UINT64_MAX)
        dsa_set_size_limit(self.area, room / 2);
    self.sharing = true;
}

// Whether workers wait for the next step, or take part in one.
bool has_workers(const bulk_host& self) { return self.crew.context != nullptr; }

void end_workers(bulk::host& host);

void keep_sharing(bulk::host& host, std::size_t bytes)
{
    bulk_host& self = self_of(host);
    if (shared_room() / 4 < bytes) {
        tell_no_room();
        self.sharing = false;
        end_workers(host);
    }
}

bulk::shared_number allocate_shared(bulk::host& host, std::size_t bytes, bool needed)
{
    bulk_host& self = self_of(host);
    if (!self.sharing)
        return bulk::private_number(allocate_large(self.lasting, bytes));
    if (!needed && !has_room(*self.shared, bytes))
        return 0;
    const dsa_pointer made =
        for_call(self, [&] { return dsa_allocate_extended(self.area, bytes, DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM); });
    if (!DsaPointerIsValid(made) && needed)
        ereport(ERROR,
                errcode(ERRCODE_OUT_OF_MEMORY),
                errmsg("out of shared memory"),
                errdetail("Failed on request of %zu bytes.", bytes),
                errhint("Set max_parallel_maintenance_workers to 0 to do without."));
    // Dynamic shared memory usually has no huge pages. (DSA_ALLOC_HUGE only permits large allocations.) Page faults on
    // the many small pages would take up to a sixth of a call's time, so all pages are mapped now.
    if (DsaPointerIsValid(made))
        map_pages(dsa_get_address(self.area, made), bytes);
    return made;
}

void* find_shared(bulk::host& host, bulk::shared_number number)
{
    bulk_host& self = self_of(host);
    if (number & bulk::private_mark)
        return bulk::private_memory(number);
    return for_call(self, [&] { return dsa_get_address(self.area, number); });
}

void release_shared(bulk::host& host, bulk::shared_number number)
{
    if (number & bulk::private_mark)
        pfree(bulk::private_memory(number));
    else
        dsa_free(self_of(host).area, number);
}

struct file_name {
    char text[16];

    explicit file_name(int number) { snprintf(text, sizeof(text), "%d", number & ~shared_file); }
};

// This process's handle of a file; it is 0 if this process has not opened the file.
File& handle_of(bulk_host& self, int number)
{
    const std::size_t at = number & ((1 << file_member_shift) - 1);
    bulk::growing<File>& files = self.files[(number & ~shared_file) >> file_member_shift];
    if (at >= files.room) {
        const std::size_t before = files.room;
        const MemoryContext memory = std::exchange(self.memory, self.lasting);
        bulk::grow(self, files, before, at + 1);
        self.memory = memory;
        std::fill(files.values + before, files.values + files.room, File{0});
    }
    return files.values[at];
}

int open_file(bulk::host& host)
{
    bulk_host& self = self_of(host);
    const bool shared = self.segment != nullptr;
    if (++self.file_count == 1 << file_member_shift)
        elog(ERROR, "too many temporary files");
    const int number = (shared ? shared_file : 0) | self.member << file_member_shift | self.file_count;
    if (!shared)
        PrepareTempTablespaces();
    handle_of(self, number) =
        shared ? for_call(self, [&] { return FileSetCreate(&self.shared->files.fs, file_name(number).text); })
               : OpenTemporaryFile(false);
    return number;
}

void close_file(bulk::host& host, int number)
{
    bulk_host& self = self_of(host);
    if (const File open = std::exchange(handle_of(self, number), 0); open > 0)
        FileClose(open);
    if (number & shared_file)
        FileSetDelete(&self.shared->files.fs, file_name(number).text, false);
}

std::uint32_t start_workers(bulk::host& host, bulk::shared_number rows)
{
    bulk_host& self = self_of(host);
    shared_call& call = *self.shared;
    call.rows = rows;
    call.column_count = self.again.count;
    memcpy(call.columns, self.again.columns, sizeof(call.columns));
    if (self.processes > 0)
        return static_cast<std::uint32_t>(self.processes);
    call.texts = self.from_texts;
    auto* const handle = static_cast<dsm_handle*>(
        gather(self.crew, "minhash_lsh_bulk_worker", self.most_workers, sizeof(dsm_handle), bulk_wait_event()));
    *handle = dsm_segment_handle(self.segment);
    const int started = launch(self.crew);
    self.processes = started + 1;
    elog(DEBUG1, "%d of %d workers started", started, self.most_workers);
    if (started == 0)
        dismiss(self.crew);
    return static_cast<std::uint32_t>(self.processes);
}

// The CPU time of this process, in seconds.
double cpu_time() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void meet_workers(bulk::host& host)
{
    bulk_host& self = self_of(host);
    unpin(self.again); // WAL replay may be waiting for the pins to be released
    if (self.crew.in_step)
        self.shared_time += cpu_time() - self.step_time;
    meet(self.crew);
    self.step_time = cpu_time();
}

void end_workers(bulk::host& host)
{
    bulk_host& self = self_of(host);
    if (!has_workers(self))
        return;
    unpin(self.again);
    dismiss(self.crew);
}

} // namespace

void begin_scan(bulk_host& host, bulk::shared_number scan)
{
    host.shared->scan = scan;
    if (has_workers(host))
        meet_workers(host);
}

void end_scan(bulk_host& host)
{
    if (has_workers(host))
        meet_workers(host);
    host.shared->scan = 0;
}

File file_of(bulk_host& host, int number)
{
    File& open = handle_of(host, number);
    Assert(open > 0 || (number & shared_file) != 0);
    if (open <= 0)
        open = for_call(host, [&] { return FileSetOpen(&host.shared->files.fs, file_name(number).text, O_RDWR); });
    if (open <= 0)
        elog(ERROR, "could not open temporary file \"%s\": %m", file_name(number).text);
    return open;
}

void allow_workers(bulk_host& host)
{
    host.resources = CurrentResourceOwner;
    host.start_time = cpu_time();
    host.open_file = open_file;
    host.close_file = close_file;
    host.start_sharing = start_sharing;
    host.keep_sharing = keep_sharing;
    host.allocate_shared = allocate_shared;
    host.find_shared = find_shared;
    host.release_shared = release_shared;
    host.start_workers = start_workers;
    host.meet_workers = meet_workers;
    host.end_workers = end_workers;
    host.least_work = workers_are_forced() ? 0 : least_work;
    // A parallel worker or a single-user server cannot have workers of its own.
    if (IsUnderPostmaster && !IsParallelWorker())
        host.most_workers = std::min(max_parallel_maintenance_workers, most_members - 1);
    host.again.sharing = host.most_workers > 0;
}

void end_host(bulk_host& host)
{
    end_workers(host);
    if (host.processes > 1) // test/bench/bulk_bench.sh reads this message
        elog(DEBUG1,
             "%.3f s of CPU time, %.3f s of it in steps that %d workers shared",
             cpu_time() - host.start_time,
             host.shared_time,
             host.processes - 1);
    for (const bulk::growing<File>& files : host.files)
        for (std::size_t i = 0; i < files.room; i++)
            if (files.values[i] > 0)
                FileClose(files.values[i]);
    if (host.segment == nullptr)
        return;
    dsa_detach(host.area);
    dsm_detach(host.segment);
    host.area = nullptr;
    host.segment = nullptr;
}

namespace {

// Opens the columns that the call's own process reads again. They are known when its queries have been read.
void open_columns(bulk_host& self)
{
    if (self.again.count == self.shared->column_count)
        return;
    join_rereading(self.again, self.shared->columns, self.shared->column_count);
    self.far = self.again.far;
}

void help_with_step(bulk_host& self)
{
    const shared_call& call = *self.shared;
    if (call.scan != 0) {
        scan_blocks(self, call.scan);
    } else {
        open_columns(self);
        bulk::do_workers_part(self, call.rows, static_cast<std::uint32_t>(self.member));
    }
    unpin(self.again);
}

} // namespace

} // namespace minhash::pg

// The main function of a worker.
void minhash_lsh_bulk_worker(dsm_segment*, shm_toc* directory)
{
    using namespace minhash;
    using namespace minhash::pg;
    crew joined;
    const auto* const handle = static_cast<const dsm_handle*>(join(joined, directory, bulk_wait_event()));
    if (handle == nullptr)
        return;
    dsm_segment* const segment = dsm_attach(*handle);
    if (segment == nullptr)
        elog(ERROR, "could not map dynamic shared memory segment");
    bulk_host& self = *allocate<bulk_host>(CurrentMemoryContext);
    start_host(self);
    self.member = ParallelWorkerNumber + 1;
    self.segment = segment;
    self.shared = static_cast<shared_call*>(dsm_segment_address(segment));
    self.area = dsa_attach_in_place(area_in(segment), segment);
    self.sharing = true;
    SharedFileSetAttach(&self.shared->files, segment);
    self.from_texts = self.shared->texts;
    while (next_step(joined)) {
        help_with_step(self);
        meet(joined);
    }
    end_rereading(self.again);
    end_host(self);
}
