// What the engine asks of its host: memory, files, and a chance to stop. The glue (src/pg) implements a host with
// PostgreSQL, and tests implement their own.
//
// A call to the host might not return: pause() leaves by longjmp() if a user cancels, and any other call does the same
// if it runs out of memory or disk space. So nothing in src/bulk has a destructor, and after such an exit the host
// frees all memory and files that it has provided. The engine itself frees memory only to limit the memory use of a
// call.
//
// The engine calls the host once per chunk, not once per value, so that calls through pointers cost hardly any time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace minhash::bulk {

// Identifies a piece of shared memory. The number is the same in all processes; 0 stands for none.
using shared_number = std::uint64_t;

// So many bytes of slots are as much work as one byte of text.
constexpr std::size_t slot_bytes_of_work = 8;

struct host {
    // Allocates memory for values of any type, without clearing it. The result is never null.
    void* (*allocate)(host& self, std::size_t bytes);
    void (*release)(host& self, void* memory);
    // Memory that is allocated in a phase and is not shared is freed when the phase ends. Phases do not nest.
    void (*begin_phase)(host& self);
    void (*end_phase)(host& self);

    // Creates a temporary file, and returns its number, which is not 0.
    int (*open_file)(host& self);
    void (*write_file)(host& self, int file, const void* bytes, std::size_t count, std::uint64_t offset);
    void (*read_file)(host& self, int file, void* bytes, std::size_t count, std::uint64_t offset);
    void (*close_file)(host& self, int file);

    // Called while `*stopping` is not 0. The host then checks whether it must stop the engine.
    void (*pause)(host& self);
    const volatile int* stopping;

    // Called with the progress of a phase: when the phase begins, and while `*reporting` is not 0. `total` is 0 if it
    // is not known.
    void (*report)(host& self, const char* phase, std::uint64_t done, std::uint64_t total);
    const volatile int* reporting;
    const char* phase; // the current phase; during a call of report(), still the previous phase

    // Reads the document of a row again, from the location that was passed with the row (bulk/rows/rows.h). The bytes
    // are valid until the next call of read_again().
    std::span<const std::uint8_t> (*read_again)(host& self, std::uint64_t location);

    // Whether the documents that can be read again are together larger than memory. If so, they should be read only
    // once, in the order of their locations.
    bool far;
    // Announces the locations that will be read next, in this order, so that the host can prefetch them. The array
    // `locations` must stay unchanged until all locations have been read, or until the next call of expect_reads().
    void (*expect_reads)(host& self, std::span<const std::uint64_t> locations);

    // Reports that there are more different shingles than can be counted. Does not return.
    void (*fail_too_many_shingles)(host& self, std::uint64_t most);

    // Workers are other processes that do parts of steps (bulk/work/work.h). Each worker has a host of its own. There
    // are at most `most_workers` workers, perhaps none.
    int most_workers;
    std::uint64_t least_work; // workers need this much work: bytes of texts, and of signatures by slot_bytes_of_work
    bool sharing;             // workers are possible, because shared memory and shared files are in use
    // Sets `sharing` if workers are possible.
    void (*start_sharing)(host& self);
    // Resets `sharing` if there is too little shared memory for `bytes` bytes of data that cannot go to a file.
    void (*keep_sharing)(host& self, std::size_t bytes);
    // Allocates memory that outlives phases. While `sharing`, workers can access this memory; otherwise it is private,
    // and its number comes from private_number(). If there is too little shared memory, the call returns 0; but if the
    // memory is `needed`, the call does not return.
    shared_number (*allocate_shared)(host& self, std::size_t bytes, bool needed);
    void* (*find_shared)(host& self, shared_number number);
    void (*release_shared)(host& self, shared_number number);
    // Starts workers, which call do_workers_part(their host, shared, member) in each step. Returns the number of
    // processes, including this one, which is member 0.
    std::uint32_t (*start_workers)(host& self, shared_number shared);
    // Waits until all processes are at the beginning, or the end, of a step.
    void (*meet_workers)(host& self);
    void (*end_workers)(host& self);
};

// Call this at least every ten milliseconds or so while the engine works.
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

// Allocates memory for `count` values; `count` can be 0.
template <typename Value>
Value* allocate(host& asked, std::size_t count = 1)
{
    return static_cast<Value*>(asked.allocate(asked, (count + 1) * sizeof(Value)));
}

// This bit is set in the number of a piece of memory if only this process can access the memory.
constexpr shared_number private_mark = shared_number{1} << 63;

inline shared_number private_number(const void* memory)
{
    return private_mark | static_cast<shared_number>(reinterpret_cast<std::uintptr_t>(memory));
}

inline void* private_memory(shared_number number) { return reinterpret_cast<void*>(number & ~private_mark); }

// Allocates shared memory for `count` values, sets them to 0, and stores the number that identifies this memory in
// `number`.
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

// Frees memory; null is ignored.
inline void release(host& asked, void* memory)
{
    if (memory != nullptr)
        asked.release(asked, memory);
}

// Calls take(from, end) for parts of the numbers below `count`, with a pause before each part.
template <typename Take>
void each_part(host& asked, std::size_t count, Take&& take)
{
    constexpr std::size_t at_once = 4096;
    for (std::size_t from = 0; from < count; from += at_once) {
        pause(asked);
        take(from, std::min(count, from + at_once));
    }
}

// Sets all values to 0.
template <typename Value>
void clear(host& asked, Value* values, std::size_t count)
{
    constexpr std::size_t at_once = 64 * 1024;
    for (std::size_t from = 0; from < count; from += at_once) {
        pause(asked);
        std::fill_n(values + from, std::min(at_once, count - from), Value{0});
    }
}

// Sorts values. This is a heap sort, because std::sort() cannot be cancelled.
template <typename Value, typename Compare>
void sort_values(host& asked, Value* values, std::size_t count, Compare&& is_before)
{
    for (std::size_t i = 1; i <= count; i++) {
        pause(asked);
        std::push_heap(values, values + i, is_before);
    }
    for (std::size_t i = count; i > 0; i--) {
        pause(asked);
        std::pop_heap(values, values + i, is_before);
    }
}

// An array that grows. A zeroed struct is an empty array.
template <typename Value>
struct growing {
    Value* values;
    std::size_t room;
};

// Makes room for at least `wanted` values. The first `kept` values are preserved.
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

// Adds a value after the first `count` values.
template <typename Value>
void add(host& asked, growing<Value>& array, std::size_t& count, const Value& value)
{
    grow(asked, array, count, count + 1);
    array.values[count++] = value;
}

} // namespace minhash::bulk
