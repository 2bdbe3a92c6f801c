// What a worker does for the engine: it signs texts, groups rows by their band keys, and compares
// texts exactly, as one job after the other asks it to. A job and its answer are bytes, as they
// come from another process, one of the same library on the same machine.
//
// A job is a job_header and then records. One of texts to sign has for each the size of its
// document (64 bits) and the document. One of pairs to compare has a pair's rows (32 bits each) and
// its number for the sender (64 bits), and before the first pair of a row that the worker does not
// have, new_text | row, the size of its document (32 bits each) and the document. A document is a
// place where the host reads the text again (64 bits), or 0 and the text. One of rows to group has
// the halves of their keys. Records start at multiples of eight bytes.
//
// The answer to the first has the slots of each text as they are kept, padded once, then for each
// band the halves of their band keys, and those of whole signatures. The answer to the second has a
// std::optional<double> for each pair: their similarity if it reaches the threshold. For that to
// the third see write_buckets() (grouping.h); a row is the number of its key.
#pragma once

#include "bulk/exact_sets.h"
#include "bulk/grouping.h"
#include "bulk/text_ring.h"

#include "core/bands.h"
#include "core/codec.h"
#include "core/tuning.h"

namespace minhash::bulk {

enum class job_kind : std::uint32_t { sign, compare, group };

constexpr std::uint32_t new_text = 0x80000000;

// The same in all jobs of a kind.
struct job_header {
    job_kind kind;
    std::uint32_t rows; // of all pairs, or of keys; for pairs, as all that follows the scheme
    minhash::scheme scheme;
    std::uint8_t kept_bits; // for texts: of slots in the answer
    band_choice shape;      // for texts
    double threshold;
    std::uint64_t set_bytes;  // of memory for sets,
    std::uint64_t ring_bytes; // and for texts
};

constexpr std::size_t pad_record(std::size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

// How many keys a row has: of its bands, and of the whole signature.
constexpr std::size_t key_count(band_choice shape)
{
    return static_cast<std::size_t>(shape.bands) + 1;
}

// The halves of these keys, each to the next place in an array of its own.
void make_keys(const signature& value, band_choice shape, std::uint32_t* keys, std::size_t stride);

struct worker {
    host* owner;
    text_signer* signer; // null before the first job, and so on
    grouping* groups;    // while bands are grouped
    bool comparing;
    exact_sets sets;
    text_ring texts;
    std::uint8_t* text_room;
    growing<std::uint8_t> answer;
};

worker* make_worker(host& owner);

// Does a job. The answer is good until the next call.
std::span<const std::uint8_t> do_job(worker& self, std::span<const std::uint8_t> job);

} // namespace minhash::bulk
