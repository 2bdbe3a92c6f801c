#include "pg/bulk/reread.h"
#include "pg/bulk/workers.h"

#include "bulk/worker.h"

#include <algorithm>
#include <sys/statvfs.h>

extern "C" {
#include "access/htup_details.h"
#include "access/parallel.h"
#include "catalog/pg_proc.h"
#include "lib/stringinfo.h"
#include "libpq/pqmq.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/dsm_impl.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"

[[gnu::visibility("default")]] void minhash_lsh_work(Datum segment);
}

namespace minhash::pg {

namespace {

// What one queue holds: some jobs, or answers.
constexpr std::size_t queue_bytes = 256 * 1024;

// Bytes of texts that are signed and compared in the time that workers take to start.
constexpr std::uint64_t least_work = 2 * 1024 * 1024;

// Bytes of a job: a message is then much cheaper than what it asks for.
constexpr std::size_t job_bytes = 64 * 1024;

constexpr int most_workers = 64;

// In shared memory, in front of the queues: two for each worker, that of its jobs first.
struct shared_header {
    char version[32];          // of the library: a worker may load a newer one
    std::size_t header_bytes;  // of a job, which differ between some versions
    pg_atomic_uint32 finished; // not 0: nobody wants the workers' answers any more
    block_file files[2];
};

constexpr std::size_t header_room = 128;
static_assert(sizeof(shared_header) <= header_room);

// In front of an answer. A message of PostgreSQL's about an error starts with 'E'.
constexpr std::uint64_t answer_mark = 0;

shm_mq* queue_at(void* shared, int number)
{
    return reinterpret_cast<shm_mq*>(static_cast<char*>(shared) + header_room +
                                     static_cast<std::size_t>(number) * queue_bytes);
}

bool is_ours(const shared_header& header)
{
    return strcmp(header.version, MINHASH_VERSION) == 0 &&
           header.header_bytes == sizeof(bulk::job_header);
}

} // namespace

struct bulk_worker {
    BackgroundWorkerHandle* handle;
    shm_mq_handle* jobs;
    shm_mq_handle* answers;
    bool ready;
    int unanswered; // jobs that it has; one of which only a part was sent is none
};

namespace {

bulk_host& self_of(bulk::host& host)
{
    return static_cast<bulk_host&>(host);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvolatile" // HOLD_INTERRUPTS()

// Called when the shared memory is left: at the end of the call, or by an error, before locks are
// released. Workers that have a job may read the table, without locks and snapshot of their own, so
// they must be gone. Others touch nothing any more: this process does not wait for them, as giving
// back what they have mapped of shared buffers takes them some 30 ms for a GB.
void terminate_workers(dsm_segment*, Datum host)
{
    bulk_host& self = *reinterpret_cast<bulk_host*>(DatumGetPointer(host));
    auto* const header = static_cast<shared_header*>(dsm_segment_address(self.shared));
    pg_atomic_write_u32(&header->finished, 1);
    for (int number = 0; number < self.worker_count; number++)
        TerminateBackgroundWorker(self.workers[number].handle);
    HOLD_INTERRUPTS(); // as DestroyParallelContext() does
    for (int number = 0; number < self.worker_count; number++)
        if (self.workers[number].unanswered > 0)
            (void)WaitForBackgroundWorkerShutdown(self.workers[number].handle);
    RESUME_INTERRUPTS();
    self.shared = nullptr;
}

#pragma GCC diagnostic pop

// The library as PostgreSQL knows it by the function that is called, or null if its name is too
// long for a worker.
const char* library_of(Oid function)
{
    const HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for function %u", function);
    bool null;
    const Datum path = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &null);
    const char* const library = null ? nullptr : TextDatumGetCString(path);
    ReleaseSysCache(tuple);
    return library != nullptr && strlen(library) < BGW_MAXLEN ? library : nullptr;
}

bool start_worker(bulk_host& self, int number)
{
    BackgroundWorker wanted = {};
    snprintf(wanted.bgw_name, BGW_MAXLEN, "minhash_lsh worker for PID %d", MyProcPid);
    snprintf(wanted.bgw_type, BGW_MAXLEN, "minhash_lsh worker");
    wanted.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_CLASS_PARALLEL;
    wanted.bgw_start_time = BgWorkerStart_ConsistentState;
    wanted.bgw_restart_time = BGW_NEVER_RESTART;
    strlcpy(wanted.bgw_library_name, self.library, BGW_MAXLEN);
    snprintf(wanted.bgw_function_name, BGW_MAXLEN, "minhash_lsh_work");
    wanted.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(self.shared));
    wanted.bgw_notify_pid = MyProcPid;
    memcpy(wanted.bgw_extra, &number, sizeof(number));
    return RegisterDynamicBackgroundWorker(&wanted, &self.workers[number].handle);
}

// Whether shared memory of this size can be had, as far as that is known before it is asked for:
// PostgreSQL fails where the file system for it is full, as that of a container may be.
bool has_room(std::size_t bytes)
{
    struct statvfs of;
    if (dynamic_shared_memory_type != DSM_IMPL_POSIX || statvfs("/dev/shm", &of) != 0)
        return true;
    if (of.f_bavail >= bytes / of.f_frsize + 1)
        return true;
    ereport(NOTICE,
            errmsg("no workers are used, as /dev/shm has too little room"),
            errdetail("They need %zu kB.", bytes / 1024),
            errhint("Give the server's container more shared memory, or set "
                    "max_parallel_maintenance_workers to 0."));
    return false;
}

// Shared memory with a header and queues, or null if there is no room, or there are too many such
// segments.
dsm_segment* make_shared(const bulk_host& self, int workers)
{
    const std::size_t bytes = header_room + 2 * static_cast<std::size_t>(workers) * queue_bytes;
    if (!has_room(bytes))
        return nullptr;
    // It lasts as long as the call, and not as the part of the query that may run now.
    const ResourceOwner former = CurrentResourceOwner;
    CurrentResourceOwner = self.resources;
    dsm_segment* const made = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
    CurrentResourceOwner = former;
    if (made == nullptr)
        return nullptr;
    auto* const header = static_cast<shared_header*>(dsm_segment_address(made));
    memset(header, 0, sizeof(*header));
    strlcpy(header->version, MINHASH_VERSION, sizeof(header->version));
    header->header_bytes = sizeof(bulk::job_header);
    memcpy(header->files, self.files, sizeof(header->files));
    pg_atomic_init_u32(&header->finished, 0);
    for (int number = 0; number < 2 * workers; number++) {
        shm_mq* const queue = shm_mq_create(queue_at(header, number), queue_bytes);
        if (number % 2 == 0)
            shm_mq_set_sender(queue, MyProc);
        else
            shm_mq_set_receiver(queue, MyProc);
    }
    return made;
}

int start_workers(bulk::host& host)
{
    bulk_host& self = self_of(host);
    const int count = self.most_workers;
    Assert(self.shared == nullptr && count > 0 && count <= most_workers);
    self.shared = make_shared(self, count);
    if (self.shared == nullptr)
        return 0;
    const MemoryContext former = MemoryContextSwitchTo(self.memory);
    self.workers =
        static_cast<bulk_worker*>(palloc0(static_cast<std::size_t>(count) * sizeof(bulk_worker)));
    on_dsm_detach(self.shared, terminate_workers, PointerGetDatum(&self));
    while (self.worker_count < count && start_worker(self, self.worker_count))
        self.worker_count++;
    void* const address = dsm_segment_address(self.shared);
    for (int number = 0; number < self.worker_count; number++) {
        bulk_worker& each = self.workers[number];
        each.jobs = shm_mq_attach(queue_at(address, 2 * number), self.shared, each.handle);
        each.answers = shm_mq_attach(queue_at(address, 2 * number + 1), self.shared, each.handle);
    }
    MemoryContextSwitchTo(former);
    return self.worker_count;
}

bool is_ready(bulk::host& host, int number)
{
    bulk_worker& worker = self_of(host).workers[number];
    if (!worker.ready)
        worker.ready = shm_mq_get_sender(shm_mq_get_queue(worker.answers)) != nullptr &&
                       shm_mq_get_receiver(shm_mq_get_queue(worker.jobs)) != nullptr;
    return worker.ready;
}

[[noreturn]] void fail_lost_worker()
{
    ereport(ERROR,
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("lost connection to minhash_lsh worker"),
            errhint("The server log may say why. Set max_parallel_maintenance_workers to 0 to do "
                    "without workers."));
    pg_unreachable();
}

// Reports a worker's error as one of this process.
[[noreturn]] void fail_as_worker(void* message, std::size_t bytes)
{
    StringInfoData read = {};
    read.data = static_cast<char*>(message);
    read.len = read.maxlen = static_cast<int>(bytes);
    read.cursor = 1;
    ErrorData error;
    pq_parse_errornotice(&read, &error);
    error.elevel = ERROR; // a worker that dies does not end this process
    error.context = error.context == nullptr ? pstrdup("minhash_lsh worker")
                                             : psprintf("%s\nminhash_lsh worker", error.context);
    ThrowErrorData(&error);
    pg_unreachable();
}

std::span<const std::uint8_t> receive_answer(bulk::host& host, int number)
{
    bulk_worker& worker = self_of(host).workers[number];
    Size bytes;
    void* message;
    switch (shm_mq_receive(worker.answers, &bytes, &message, true)) {
    case SHM_MQ_SUCCESS:
        break;
    case SHM_MQ_WOULD_BLOCK:
        return {};
    case SHM_MQ_DETACHED:
        fail_lost_worker();
    }
    if (*static_cast<const char*>(message) == 'E')
        fail_as_worker(message, bytes);
    Assert(worker.unanswered > 0 && bytes > sizeof(answer_mark));
    worker.unanswered--;
    return {static_cast<const std::uint8_t*>(message) + sizeof(answer_mark),
            bytes - sizeof(answer_mark)};
}

bool send_job(bulk::host& host, int number, std::span<const std::uint8_t> job)
{
    bulk_worker& worker = self_of(host).workers[number];
    switch (shm_mq_send(worker.jobs, job.size(), job.data(), true, true)) {
    case SHM_MQ_SUCCESS:
        worker.unanswered++;
        return true;
    case SHM_MQ_WOULD_BLOCK:
        return false;
    case SHM_MQ_DETACHED:
        // What it had to say comes before the end of its queue.
        while (!receive_answer(host, number).empty())
            continue;
        break;
    }
    fail_lost_worker();
}

void wait_for_workers(bulk::host&)
{
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, 0, bulk_wait_event());
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

} // namespace

void allow_workers(bulk_host& host, Oid function)
{
    host.library = library_of(function);
    host.resources = CurrentResourceOwner;
    // A worker of a parallel query, or a server of one process, has no workers of its own.
    if (!IsUnderPostmaster || IsParallelWorker() || host.library == nullptr)
        return;
    host.most_workers = std::min(max_parallel_maintenance_workers, most_workers);
    host.least_work = least_work;
    host.job_bytes = job_bytes;
    host.start_workers = start_workers;
    host.is_ready = is_ready;
    host.send = send_job;
    host.receive = receive_answer;
    host.wait = wait_for_workers;
}

void share_table(bulk_host& host, int number, const block_file& file)
{
    host.files[number] = file;
    if (host.shared != nullptr)
        static_cast<shared_header*>(dsm_segment_address(host.shared))->files[number] = file;
}

void end_workers(bulk_host& host)
{
    if (host.shared != nullptr)
        dsm_detach(host.shared);
}

namespace {

void end_workers_early(int, Datum host)
{
    end_workers(*reinterpret_cast<bulk_host*>(DatumGetPointer(host)));
}

} // namespace

void run_with_workers(bulk_host& host, void (*work)(bulk_host& host))
{
    PG_ENSURE_ERROR_CLEANUP(end_workers_early, PointerGetDatum(&host));
    work(host);
    PG_END_ENSURE_ERROR_CLEANUP(end_workers_early, PointerGetDatum(&host));
}

namespace {

// What a worker is, from inside.
struct worker_host : bulk_host {
    shared_header* header;
    shm_mq_handle* jobs;
    shm_mq_handle* answers;
    pinned_page page;
};

// To be told to end is an error only while somebody waits for answers.
void answer_interrupts(worker_host& self)
{
    if (ProcDiePending && pg_atomic_read_u32(&self.header->finished) != 0) {
        unpin(self.page);
        proc_exit(0);
    }
    CHECK_FOR_INTERRUPTS();
}

void pause_worker(bulk::host& host)
{
    answer_interrupts(static_cast<worker_host&>(host));
}

std::span<const std::uint8_t> read_text_again(bulk::host& host, std::uint64_t place)
{
    worker_host& self = static_cast<worker_host&>(host);
    if (pg_atomic_read_u32(&self.header->finished) != 0) {
        unpin(self.page); // who wanted the text protects it no longer
        proc_exit(0);
    }
    const auto* const stored = reinterpret_cast<const struct varlena*>(
        DatumGetPointer(read_in_worker(self.page, self.header->files, place)));
    return {reinterpret_cast<const std::uint8_t*>(VARDATA_ANY(stored)), VARSIZE_ANY_EXHDR(stored)};
}

void wait_for_leader(worker_host& self)
{
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, 0, bulk_wait_event());
    ResetLatch(MyLatch);
    answer_interrupts(self);
}

// The next job. Ends the worker if there will be none.
std::span<const std::uint8_t> receive_job(worker_host& self)
{
    Size bytes;
    void* message;
    shm_mq_result result;
    while ((result = shm_mq_receive(self.jobs, &bytes, &message, true)) == SHM_MQ_WOULD_BLOCK)
        wait_for_leader(self);
    if (result != SHM_MQ_SUCCESS)
        proc_exit(0);
    return {static_cast<const std::uint8_t*>(message), bytes};
}

void send_answer(worker_host& self, std::span<const std::uint8_t> answer)
{
    shm_mq_iovec parts[] = {
        {reinterpret_cast<const char*>(&answer_mark), sizeof(answer_mark)},
        {reinterpret_cast<const char*>(answer.data()), answer.size()},
    };
    shm_mq_result result;
    while ((result = shm_mq_sendv(self.answers, parts, 2, true, true)) == SHM_MQ_WOULD_BLOCK)
        wait_for_leader(self);
    if (result != SHM_MQ_SUCCESS)
        proc_exit(0);
}

// Takes the queues that are meant for this worker: that of its jobs last, as it is ready then. An
// error is from then on sent to the leader.
void join_leader(worker_host& self, dsm_segment* shared)
{
    int number;
    memcpy(&number, MyBgworkerEntry->bgw_extra, sizeof(number));
    shm_mq* const jobs = queue_at(self.header, 2 * number);
    shm_mq* const answers = queue_at(self.header, 2 * number + 1);
    shm_mq_set_sender(answers, MyProc);
    self.answers = shm_mq_attach(answers, shared, nullptr);
    pq_redirect_to_shm_mq(shared, self.answers);
    shm_mq_set_receiver(jobs, MyProc);
    self.jobs = shm_mq_attach(jobs, shared, nullptr);
}

} // namespace

} // namespace minhash::pg

// What a worker runs.
void minhash_lsh_work(Datum segment)
{
    using namespace minhash;
    using namespace minhash::pg;
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    CurrentMemoryContext =
        AllocSetContextCreate(TopMemoryContext, "minhash_lsh worker", ALLOCSET_DEFAULT_SIZES);
    dsm_segment* const shared = dsm_attach(DatumGetUInt32(segment));
    if (shared == nullptr)
        proc_exit(0); // the call has ended meanwhile
    auto* const header = static_cast<shared_header*>(dsm_segment_address(shared));
    if (!is_ours(*header))
        proc_exit(0); // another version of the library was installed meanwhile
    worker_host& self = *allocate<worker_host>(CurrentMemoryContext);
    start_host(self);
    self.pause = pause_worker;
    self.read_again = read_text_again;
    self.page = {};
    self.header = header;
    CreateAuxProcessResourceOwner(); // of pins
    CurrentResourceOwner = AuxProcessResourceOwner;
    join_leader(self, shared);
    bulk::worker& working = *bulk::make_worker(self);
    for (;;) {
        const std::span<const std::uint8_t> answer = bulk::do_job(working, receive_job(self));
        unpin(self.page); // a server that replays WAL may wait for it, and cannot tell a worker
        send_answer(self, answer);
    }
}
