// Steps on rows (bulk/work/work.h), and what all processes share of the rows. From that, each process makes a row_set
// for its part of a step.
#pragma once

#include "bulk/rows/rows.h"

namespace minhash::bulk {

// A step is the function that does one process's part of it.
using step = void(row_set& rows);

struct shared_rows : shared_work {
    std::uintptr_t step; // the current step: a distance_of()
    bulk::task task;
    std::uint32_t count;
    std::uint32_t first_count;

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
    shared_number by_itself; // of a search that finds candidates in its own way: a struct of its own
};

inline shared_rows& shared_of(const row_set& rows) { return static_cast<shared_rows&>(*rows.shared); }

// Call this when all rows have been added, and bands and rows have been chosen. Starts workers if there is enough work
// for them. Then all processes together sign the rows, unless texts are compared only as sets.
void start_steps(row_set& rows);

// Does a step with all processes. Call this only in process 0.
void do_step(row_set& rows, step& what);

// Adds each process's store to rows.brought, after the step in which the processes called leave_store(). Frees `notes`.
void add_brought(row_set& rows, shared_number notes);

} // namespace minhash::bulk
