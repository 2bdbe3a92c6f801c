// What the engine asks of whoever runs it: memory, files, and a chance to stop. The glue answers
// with PostgreSQL's means, tests with their own.
//
// No call has to return: pause() may leave by longjmp() when a user cancels, and so may each of the
// others when memory or disk is short. Therefore nothing in src/bulk has a destructor, and whoever
// runs the engine frees what it has given when the engine has been left.
//
// The engine asks by the chunk and not by the value, so calls through pointers cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace minhash::bulk {

// What memory that other processes reach, too, is known by in all of them. 0 is none.
using shared_number = std::uint64_t;

struct host {
    // Memory for any type, not cleared. Never null.
    void* (*allocate)(host& self, std::size_t bytes);
    void (*release)(host& self, void* memory);

    // A temporary file; its number is not 0.
    int (*open_file)(host& self);
    void (*write_file)(
        host& self, int file, const void* bytes, std::size_t count, std::uint64_t offset);
    void (*read_file)(host& self, int file, void* bytes, std::size_t count, std::uint64_t offset);
    void (*close_file)(host& self, int file);

    // Called while `*stopping` is not 0: then somebody may want the engine to stop.
    void (*pause)(host& self);
    const volatile int* stopping;

    // Called with what is done of a phase when it begins, and while `*reporting` is not 0. `total`
    // is 0 if it is not known.
    void (*report)(host& self, const char* phase, std::uint64_t done, std::uint64_t total);
    const volatile int* reporting;
    const char* phase; // the one before, while report() is called

    // What the phase will cost each process, and the phases after it, in nanoseconds, as far as
    // that can be known; of so many rows. 0 rows: nobody knows.
    double cost;
    double cost_after;
    std::uint64_t cost_rows;

    // The bytes that a row was taken from, by the place that came with it (bulk/rows/rows.h). They
    // are good until the next call.
    std::span<const std::uint8_t> (*read_again)(host& self, std::uint64_t place);

    // Whether what can be read again is larger than memory. Then it is to be read in the order of
    // places, and once.
    bool far;
    // Says which places will be read again next, in this order, so that they can be fetched ahead.
    // They stay where they are until all are read, or others are expected.
    void (*expect_reads)(host& self, std::span<const std::uint64_t> places);

    // There are more different shingles than can be counted. Does not return.
    void (*fail_too_many_shingles)(host& self, std::uint64_t most);

    // Workers: other processes, each with a host of its own, that do parts of steps
    // (bulk/rows/steps.h). There are at most `most_workers` of them, perhaps none.
    int most_workers;
    std::uint64_t least_work; // bytes of texts that are worth workers
    // Lets memory and files that are asked for from now on be reached by workers. False if they
    // cannot be: then there will be no workers.
    bool (*start_sharing)(host& self);
    // Whether so much shared memory can be had that cannot be files instead. If not, memory that is
    // asked for from now on is not shared, and there will be no workers.
    bool (*keep_sharing)(host& self, std::size_t bytes);
    // Memory that workers reach, too, if it is shared; else memory like any other, whose number is
    // private_number(). 0 if there is none left, unless it is `needed`: then this does not return.
    shared_number (*allocate_shared)(host& self, std::size_t bytes, bool needed);
    void* (*find_shared)(host& self, shared_number number);
    void (*release_shared)(host& self, shared_number number);
    // Starts workers, which call help(their host, rows, member) in each step. Returns how many
    // processes there are with this one, which is member 0.
    int (*start_workers)(host& self, shared_number rows);
    // Waits until all are where a step begins, or ends.
    void (*meet_workers)(host& self);
    void (*end_workers)(host& self);
};

// To be called at least once in a bounded amount of work, of some ten milliseconds at most.
inline void pause(host& asked)
{
    if (*asked.stopping != 0) [[unlikely]]
        asked.pause(asked);
}

inline void report(host& asked, const char* phase, std::uint64_t done, std::uint64_t total)
{
    pause(asked);
    if (asked.phase != phase || *asked.reporting != 0) [[unlikely]] {
        asked.report(asked, phase, done, total);
        asked.phase = phase;
    }
}

// Memory for values, and for none as well.
template <typename Value>
Value* allocate(host& asked, std::size_t count = 1)
{
    return static_cast<Value*>(asked.allocate(asked, (count + 1) * sizeof(Value)));
}

// The number of memory that only this process reaches.
constexpr shared_number private_mark = shared_number{1} << 63;

inline shared_number private_number(const void* memory)
{
    return private_mark | static_cast<shared_number>(reinterpret_cast<std::uintptr_t>(memory));
}

inline void* private_memory(shared_number number)
{
    return reinterpret_cast<void*>(number & ~private_mark);
}

// The same, shared and cleared.
template <typename Value>
Value* allocate_shared(host& asked, shared_number& number, std::size_t count = 1)
{
    number = asked.allocate_shared(asked, (count + 1) * sizeof(Value), true);
    void* const memory = asked.find_shared(asked, number);
    std::memset(memory, 0, (count + 1) * sizeof(Value));
    return static_cast<Value*>(memory);
}

template <typename Value>
Value* find_shared(host& asked, shared_number number)
{
    return number == 0 ? nullptr : static_cast<Value*>(asked.find_shared(asked, number));
}

// Frees memory, if there is any.
inline void release(host& asked, void* memory)
{
    if (memory != nullptr)
        asked.release(asked, memory);
}

// An array that grows. Clear it to start with an empty one.
template <typename Value>
struct growing {
    Value* values;
    std::size_t room;
};

// Makes room for `wanted` values and some more; the first `kept` stay as they are.
template <typename Value>
void grow(host& asked, growing<Value>& array, std::size_t kept, std::size_t wanted)
{
    if (wanted <= array.room)
        return;
    const std::size_t doubled = array.room * 2 < 1024 ? 1024 : array.room * 2;
    const std::size_t room = wanted < doubled ? doubled : wanted;
    Value* const fresh = allocate<Value>(asked, room);
    if (kept > 0)
        std::memcpy(fresh, array.values, kept * sizeof(Value));
    release(asked, array.values);
    array = {fresh, room};
}

} // namespace minhash::bulk
