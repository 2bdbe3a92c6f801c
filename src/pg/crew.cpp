#include "pg/crew.h"

#include <algorithm>
#include <iterator>
#include <link.h>

extern "C" {
#include "access/xact.h"
#include "storage/barrier.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"

// The linker's name for the start of this library in memory.
extern const ElfW(Ehdr) __ehdr_start [[gnu::visibility("hidden")]];
}

namespace minhash::pg {

namespace {

// The hash of everything that the linker put into a library. The Makefile makes the linker write it as a note.
struct build_identity {
    std::uint8_t bytes[20];

    bool operator==(const build_identity&) const = default;
};

} // namespace

// `build` must stay first, in all later builds, too.
struct crew_head {
    build_identity build;
    Barrier phases; // even phase: between steps; odd: a step is being done
    bool ended;     // there are no more steps
};

namespace {

// The keys of the shared memory's table of contents. `of_head` must keep its value.
enum : std::uint64_t {
    of_head = 1,
    of_caller,
    of_query, // the text of the session's query
};

build_identity this_build()
{
    const char* const start = reinterpret_cast<const char*>(&__ehdr_start);
    const auto* const segments = reinterpret_cast<const ElfW(Phdr)*>(start + __ehdr_start.e_phoff);
    for (const ElfW(Phdr) & segment : std::span(segments, __ehdr_start.e_phnum)) {
        if (segment.p_type != PT_NOTE)
            continue;
        const std::size_t aligned = std::max<std::size_t>(segment.p_align, 4);
        const char* const end = start + segment.p_vaddr + segment.p_memsz;
        for (const char* at = start + segment.p_vaddr; at < end;) {
            const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
            const char* const name = at + sizeof(note);
            const char* const content = at + TYPEALIGN(aligned, sizeof(note) + note.n_namesz);
            build_identity found;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz == sizeof(found) && memcmp(name, "GNU", 4) == 0) {
                memcpy(&found, content, sizeof(found));
                return found;
            }
            at = content + TYPEALIGN(aligned, note.n_descsz);
        }
    }
    elog(ERROR, "library of minhash_lsh was linked without --build-id=sha1");
}

// One worker speaks for all.
void tell_other_build()
{
    ereport(ParallelWorkerNumber == 0 ? WARNING : DEBUG1,
            errmsg("no workers are used, as the library of minhash_lsh has been replaced since this session began"),
            errhint("Reconnect to use the new library, with workers."));
}

void put_in_toc(shm_toc* directory, std::uint64_t key, const void* content, std::size_t bytes)
{
    void* const made = shm_toc_allocate(directory, bytes);
    memcpy(made, content, bytes);
    shm_toc_insert(directory, key, made);
}

} // namespace

void* gather(crew& self, const char* entry, int most, std::size_t bytes, std::uint32_t wait_event)
{
    const char* const query = debug_query_string != nullptr ? debug_query_string : "";
    const crew_head fresh = {this_build(), {}, false};
    EnterParallelMode();
    self = {CreateParallelContext("minhash_lsh", entry, most), nullptr, wait_event, false};
    const std::size_t sizes[] = {sizeof(fresh), bytes, strlen(query) + 1};
    for (const std::size_t size : sizes)
        shm_toc_estimate_chunk(&self.context->estimator, size);
    shm_toc_estimate_keys(&self.context->estimator, std::size(sizes));
    InitializeParallelDSM(self.context);
    shm_toc* const directory = self.context->toc;
    put_in_toc(directory, of_head, &fresh, sizeof(fresh));
    put_in_toc(directory, of_query, query, strlen(query) + 1);
    self.head = static_cast<crew_head*>(shm_toc_lookup(directory, of_head, false));
    BarrierInit(&self.head->phases, 0);
    BarrierAttach(&self.head->phases);
    void* const shared = shm_toc_allocate(directory, bytes);
    shm_toc_insert(directory, of_caller, shared);
    return shared;
}

int launch(crew& self)
{
    LaunchParallelWorkers(self.context);
    return self.context->nworkers_launched;
}

void meet(crew& self)
{
    BarrierArriveAndWait(&self.head->phases, self.wait_event);
    self.in_step = !self.in_step;
}

void dismiss(crew& self)
{
    Assert(!self.in_step);
    self.head->ended = true;
    meet(self);
    BarrierDetach(&self.head->phases);
    WaitForParallelWorkersToFinish(self.context);
    DestroyParallelContext(self.context);
    ExitParallelMode();
    self = {};
}

void* join(crew& self, shm_toc* directory, std::uint32_t wait_event)
{
    Assert(IsParallelWorker());
    auto* const head = static_cast<crew_head*>(shm_toc_lookup(directory, of_head, false));
    if (head->build != this_build()) {
        tell_other_build();
        return nullptr;
    }
    debug_query_string = static_cast<const char*>(shm_toc_lookup(directory, of_query, false));
    pgstat_report_activity(STATE_RUNNING, debug_query_string);
    self = {nullptr, head, wait_event, BarrierAttach(&head->phases) % 2 != 0};
    return shm_toc_lookup(directory, of_caller, false);
}

bool next_step(crew& self)
{
    if (!self.in_step)
        meet(self);
    if (self.head->ended)
        BarrierDetach(&self.head->phases);
    return !self.head->ended;
}

} // namespace minhash::pg
