// PostgreSQL as the engine's host (bulk/host.h): a memory context, temporary files that
// temp_file_limit counts, answers to cancel, and progress (progress.h). What the engine leaves when
// an error or a cancel makes it end goes with the transaction.
#pragma once

#include "pg/progress.h"

#include "bulk/store.h"

extern "C" {
#include "storage/dsm.h"
#include "utils/resowner.h"
}

namespace minhash::pg {

struct bulk_worker;

struct bulk_host : bulk::host {
    MemoryContext memory; // of all that the engine has
    progress shown;
    bool estimated; // the total of the phase in hand

    // pg/bulk/workers.h
    const char* library;
    ResourceOwner resources; // of the call
    dsm_segment* shared;     // null: no worker was started
    bulk_worker* workers;
    int worker_count;
    block_file files[2]; // of tables that workers read
};

// Makes a host whose memory is in the current context.
void start_host(bulk_host& fresh);

// Shows from now on how far the call is, until the host's memory is freed.
void start_reporting(bulk_host& host);

// A budget of maintenance_work_mem.
bulk::memory_budget make_budget(bulk_host& owner);

// Tells, if so, that memory did not suffice.
void notice_spilling(const bulk::memory_budget& budget);

// Tells, if so, that buckets were left out.
void notice_large_buckets(std::uint64_t buckets, std::uint32_t max_bucket);

} // namespace minhash::pg
