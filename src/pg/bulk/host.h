// PostgreSQL as the engine's host (bulk/memory/host.h). It provides a memory context, temporary files subject to
// temp_file_limit, checks for cancellation, and progress reports (progress.h). After an error or a cancellation, all
// memory and files of the engine are freed at the end of the transaction.
#pragma once

#include "pg/bulk/reread.h"
#include "pg/crew.h"
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

namespace minhash::pg {

constexpr int most_members = 64; // the maximum number of processes of a call: its own process and workers

struct shared_call;

struct bulk_host : bulk::host {
    MemoryContext memory;  // where the engine allocates; during a phase, a context that is deleted when the phase ends
    MemoryContext lasting; // lasts as long as the call
    progress shown;
    std::span<const char* const> phases; // the phases of the call, in order, those that it may skip included
    bool estimated;                      // the total of the current phase is an estimate
    bool is_internal;                    // another function of ours has made the query; errors do not show it

    rereading again;
    bool from_texts; // documents are texts; false: they are signatures
    text_reader reader;
    bulk::growing<std::uint8_t> converted; // the current text in UTF-8, if the server encoding is not UTF-8

    // pg/bulk/workers.cpp
    ResourceOwner resources; // the resource owner of everything that must last as long as the call
    dsm_segment* segment;    // null: nothing is shared
    dsa_area* area;
    shared_call* shared;
    pg::crew crew;
    int member;
    int file_count;
    int processes;                           // how many processes the call has; 0: workers were not yet asked for
    double start_time;                       // this process's CPU time when the call began
    double step_time;                        // this process's CPU time when a step last began or ended
    double shared_time;                      // this process's CPU time spent in steps
    bulk::growing<File> files[most_members]; // [m]: the files of member m that this process has open
};

// (allow_workers(), file_of() and end_host() are in pg/bulk/workers.cpp.)

// Initializes a host that allocates its memory in the current memory context.
void start_host(bulk_host& fresh);

// A text's bytes in UTF-8. The result points into the text, or to a converted copy.
bulk::text_bytes utf8_of(bulk_host& host, const text* document);

// Shows the call's progress from now on, until the host's memory is freed.
void start_reporting(bulk_host& host);

// Lets a host have up to max_parallel_maintenance_workers workers, or none if workers are impossible.
void allow_workers(bulk_host& host);

// In between, all processes run scan_blocks() (blocks.h); the session's process calls it itself. Workers must have been
// asked for.
void begin_scan(bulk_host& host, bulk::shared_number scan);
void end_scan(bulk_host& host);

// The file to which the engine refers by this number. Opens the file if this process has not opened it yet.
File file_of(bulk_host& host, int number);

// Closes this process's files, and detaches this process from all shared memory.
void end_host(bulk_host& host);

// A memory budget of maintenance_work_mem.
bulk::memory_budget make_budget(bulk_host& owner);

// A NOTICE if temporary files were needed.
void notice_spilling(const bulk::memory_budget& budget);

// A NOTICE if buckets were left out.
void notice_large_buckets(std::uint64_t buckets, std::uint32_t max_bucket);

} // namespace minhash::pg
