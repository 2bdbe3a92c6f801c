// All processes of a call (the calling process and its workers) work together, step by step. The work of a step is
// divided into numbered units (blocks of rows, slices of bands, ranges of rows), and each process takes the next unit
// until none is left. No process owns a row, and the results of a unit are found by the unit's number. So results do
// not depend on which process did which unit.
//
// All processes share one struct, which begins with a `shared_work`, and the pieces of shared memory whose numbers are
// in that struct. In a step, each process appends to stores of its own. At the end of the step, it closes these stores
// in such a way that all processes can open views of them (leave_store()). All other private memory that a process
// allocates in a step is freed when the step ends.
#pragma once

#include "bulk/memory/store.h"

#include <algorithm>
#include <atomic>

namespace minhash::bulk {

struct shared_work {
    shared_number number;    // the number of the memory that begins with this struct
    std::uintptr_t part;     // what a process does in each step: a distance_of()
    std::uint32_t processes; // how many processes take part in steps
    bool helped;             // workers take part in steps; reset by end_steps()
    std::size_t memory;      // how many bytes of memory all processes together may use

    // of the current step
    std::uint64_t next_unit; // atomic
    std::size_t allowance;   // how many bytes each process may keep in memory
    std::uint64_t used;      // bytes in memory, in all stores that were left; atomic
    std::uint64_t filed;     // bytes in files, in all stores that were left; atomic
};

// One of the processes of a call.
struct process {
    host* owner;
    memory_budget* budget;
    shared_work* shared;  // null: no steps yet
    std::uint32_t member; // the number of this process
};

// What one process does in a step: it works on units until none is left.
using part_of_step = void(process& self);

// Starts workers, if the host shares its memory. They do `part` in each step. self.shared has been allocated.
void start_work(process& self, part_of_step& part);

// Does a step with all processes. Call this only in process 0.
void do_step(process& self);

// Does a worker's part of the current step. Process `member` calls this with its own host. `shared` is the number of
// the memory that begins with the shared_work.
void do_workers_part(host& owner, shared_number shared, std::uint32_t member);

// Call this when there will be no more steps. Ends the workers, but keeps what was shared.
void end_steps(process& self);

// A function has other addresses in other processes, but is at the same distance from all others: a worker is never of
// another build.
template <typename Function>
std::uintptr_t distance_of(Function& function)
{
    return reinterpret_cast<std::uintptr_t>(&function) - reinterpret_cast<std::uintptr_t>(&do_workers_part);
}

template <typename Function>
Function& function_at(std::uintptr_t distance)
{
    return *reinterpret_cast<Function*>(reinterpret_cast<std::uintptr_t>(&do_workers_part) + distance);
}

// Takes the next unit of the current step, and returns its number, counted from 0.
inline std::uint64_t next_unit(const process& self)
{
    return std::atomic_ref(self.shared->next_unit).fetch_add(1, std::memory_order_relaxed);
}

// Divides the numbers below `count` into units of `at_once` numbers, and calls work(first, end) for each unit that this
// process takes.
template <typename Work>
void each_unit(const process& self, const char* phase, std::uint64_t count, std::uint32_t at_once, Work&& work)
{
    for (std::uint64_t first; (first = next_unit(self) * at_once) < count;) {
        report(*self.owner, phase, first, count);
        work(static_cast<std::uint32_t>(first),
             static_cast<std::uint32_t>(std::min<std::uint64_t>(first + at_once, count)));
    }
}

// The shared memory that has this number.
template <typename Value>
Value* find_shared(const process& self, shared_number number)
{
    return find_shared<Value>(*self.owner, number);
}

// Allocates a store_note for each process. Call this before a step in which each process calls leave_store().
void expect_stores(const process& self, shared_number& notes);

// Closes a store that this process has filled in the current step, so that all processes can open views of it.
void leave_store(const process& self, byte_store* store, shared_number notes);

// Opens views of `count` stores.
byte_store** open_views(const process& self, shared_number notes, std::size_t count);

// Opens a view of each process's store, after the step in which the processes called leave_store().
byte_store** open_left(const process& self, shared_number notes);

// Frees a store of which no process has a view.
void drop_noted(const process& self, const store_note& note);

// Frees each process's store, and the notes, if there are any.
void free_left(const process& self, shared_number& notes);

} // namespace minhash::bulk
