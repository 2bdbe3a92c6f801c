// All processes of a call (the calling process and its workers) work together, step by step. The work of a step is
// divided into numbered units (blocks of rows, slices of bands, ranges of rows), and each process takes the next unit
// until none is left. No process owns a row, and the results of a unit are found by the unit's number. So results do
// not depend on which process did which unit.
//
// All processes share one `shared_rows`, and the pieces of shared memory whose numbers are in that struct. In a step,
// each process appends to stores of its own. At the end of the step, it closes these stores in such a way that all
// processes can open views of them (leave_store()). All other private memory that a process allocates in a step is
// freed when the step ends.
#pragma once

#include "bulk/rows/rows.h"

#include <atomic>

namespace minhash::bulk {

struct shared_rows {
    shared_number number; // the number of the memory that holds this struct
    bulk::task task;
    std::uint32_t count;
    std::uint32_t first_count;
    bool texts;
    std::uint32_t processes; // how many processes take part in steps
    bool helped;             // workers take part in steps; reset by end_steps()
    std::size_t memory;      // how many bytes of memory all processes together may use

    std::size_t step;        // the current step, as an index into steps.cpp's table of them
    std::uint64_t next_unit; // the next unit of the current step; atomic
    std::size_t allowance;   // how many bytes each process may keep in memory in this step
    std::uint64_t used;      // bytes in memory, in all stores that were left in this step; atomic
    std::uint64_t filed;     // bytes in files, in all stores that were left in this step; atomic

    store_note first_slots;
    store_note other_slots;
    store_note documents;
    store_note document_locations;
    store_note document_sizes;
    shared_number keys; // a store_note for each band's keys, and one for the keys of whole signatures
    shared_number scopes;

    shared_number brought; // the store_notes of row_set::brought
    std::size_t brought_count;
    shared_number leader;
    shared_number next;
    shared_number rights;

    shared_number search;    // a shared_search (search/shared_search.h)
    shared_number by_itself; // of a search that finds candidates in its own way: shared_containment, shared_weights
};

// Call this when all rows have been added, and bands and rows have been chosen. Starts workers if there is enough work
// for them. Then all processes together sign the rows, unless texts are compared only as sets.
void start_steps(row_set& rows);

// A step is the function that does one process's part of it: it works on units until none is left. steps.cpp has a
// table of all steps, because the functions have other addresses in other processes.
using step = void(row_set& rows);
step sign_units; // rows.cpp
step mark_units; // search/far_documents.cpp
step bring_units;
step find_twins_of_units;  // search/candidates.cpp
step collect_of_units;     // search/row_candidates.cpp
step verify_units;         // search/pairs.cpp
step connect_bucket_units; // search/clusters.cpp
step connect_row_units;
step mark_sought_of_units; // containment/containment.cpp
step count_shingles_of_units;
step choose_witnesses_of_units;
step compare_same_of_units;
step look_up_units;              // containment/look_up.cpp
step count_frequencies_of_units; // weighted/frequencies.cpp
step make_lists_of_units;        // weighted/lists.cpp
step look_up_rare_units;         // weighted/look_up.cpp

// Does a step with all processes. Call this only in process 0.
void do_step(row_set& rows, step& what);

// Does one process's part of the current step. Process `member` calls this with its own host. `rows` is the number of
// the memory that holds the shared_rows. From the shared_rows, a row_set is made for the step.
void do_workers_part(host& owner, shared_number rows, std::uint32_t member);

// Call this when there will be no more steps. Ends the workers, but keeps the rows.
void end_steps(row_set& rows);

// Takes the next unit of the current step, and returns its number, counted from 0.
inline std::uint64_t next_unit(const row_set& rows)
{
    return std::atomic_ref(rows.shared->next_unit).fetch_add(1, std::memory_order_relaxed);
}

// Divides the numbers below `count` into units of `at_once` numbers, and calls work(first, end) for each unit that this
// process takes.
template <typename Work>
void each_unit(const row_set& rows, const char* phase, std::uint64_t count, std::uint32_t at_once, Work&& work)
{
    for (std::uint64_t first; (first = next_unit(rows) * at_once) < count;) {
        report(*rows.owner, phase, first, count);
        work(static_cast<std::uint32_t>(first),
             static_cast<std::uint32_t>(std::min<std::uint64_t>(first + at_once, count)));
    }
}

// The shared memory that has this number.
template <typename Value>
Value* find_shared(const row_set& rows, shared_number number)
{
    return find_shared<Value>(*rows.owner, number);
}

// Allocates a store_note for each process. Call this before a step in which each process calls leave_store().
void expect_stores(const row_set& rows, shared_number& notes);

// Closes a store that this process has filled in the current step, so that all processes can open views of it.
void leave_store(const row_set& rows, byte_store* store, shared_number notes);

// Opens a view of each process's store, after the step in which the processes called leave_store().
byte_store** open_left(const row_set& rows, shared_number notes);

// Adds each process's store to rows.brought, after the step in which the processes called leave_store(). Frees `notes`.
void add_brought(row_set& rows, shared_number notes);

} // namespace minhash::bulk
