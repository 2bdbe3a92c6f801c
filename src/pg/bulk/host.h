// PostgreSQL as the engine's host (bulk/memory/host.h): a memory context, temporary files that temp_file_limit counts,
// checks for cancel, and progress (progress.h). After an error or a cancel, what the engine leaves behind is freed with
// the transaction.
#pragma once

#include "pg/bulk/reread.h"
#include "pg/progress.h"
#include "pg/text_reader.h"

#include "bulk/memory/store.h"
#include "bulk/sets/text_signer.h"

extern "C" {
#include "storage/dsm.h"
#include "storage/fd.h"
#include "utils/dsa.h"
#include "utils/resowner.h"
}

struct ParallelContext;

namespace minhash::pg {

constexpr int most_members = 64; // the most processes that a call can have, its own included

struct shared_call;

struct bulk_host : bulk::host {
    MemoryContext memory;  // where the engine allocates now: within a phase, a context that ends with it
    MemoryContext lasting; // lasts as long as the call
    progress shown;
    bool estimated; // the total of the present phase is an estimate

    rereading again;
    bool from_texts; // documents are texts; false: they are signatures
    text_reader reader;
    bulk::growing<std::uint8_t> converted; // the current text in UTF-8, if the server's encoding is another one

    // pg/bulk/workers.cpp
    ResourceOwner resources; // the resource owner of everything that must last as long as the call
    dsm_segment* segment;    // null: nothing is shared
    dsa_area* area;
    shared_call* shared;
    ParallelContext* context;
    int member;
    int file_count;
    int started;                             // how many workers were started
    bool in_step;                            // all processes are in a step, not between steps
    double start_time;                       // this process's CPU time when the call began
    double step_time;                        // this process's CPU time when the present step or pause began
    double shared_time;                      // this process's CPU time in all steps together
    bulk::growing<File> files[most_members]; // the files open in this process, for each member
};

// (allow_workers(), file_of() and end_host() are in pg/bulk/workers.cpp.)

// Makes a host whose memory is in the current context.
void start_host(bulk_host& fresh);

// A text's bytes in UTF-8. The result points into the text, or to a converted copy.
bulk::text_bytes utf8_of(bulk_host& host, const text* document);

// Shows the call's progress from now on, until the host's memory is freed.
void start_reporting(bulk_host& host);

// Lets a host have up to max_parallel_maintenance_workers workers, or none if workers are impossible.
void allow_workers(bulk_host& host);

// The open file for a number that the engine uses.
File file_of(bulk_host& host, int number);

// Closes this process's files, and detaches it from everything that was shared.
void end_host(bulk_host& host);

// A budget of maintenance_work_mem.
bulk::memory_budget make_budget(bulk_host& owner);

// A NOTICE if temporary files were needed.
void notice_spilling(const bulk::memory_budget& budget);

// A NOTICE if buckets were left out.
void notice_large_buckets(std::uint64_t buckets, std::uint32_t max_bucket);

} // namespace minhash::pg
