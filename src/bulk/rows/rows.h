// The rows that the engine works on, numbered from 0 in order of arrival. On arrival, only a row's document is stored
// (a text, or the slots of a signature), or the place where the host can read the document again. When all rows have
// come, a sample of them decides the number of hashes, and bands and rows. Then all processes together make the
// signatures and the band keys, of which 32 bits are kept (steps.h); both have stores of their own. Only the host knows
// the users' ids of the rows.
#pragma once

#include "bulk/buckets/buckets.h"
#include "bulk/memory/store.h"
#include "bulk/sets/text_signer.h"
#include "bulk/tuning/choose_bands.h"

#include "core/codec.h"

#include <cassert>

namespace minhash::bulk {

// What the engine should do with the rows.
struct task {
    minhash::scheme scheme;              // the scheme of all signatures
    band_choice shape;                   // bands and rows (core/bands.h); bands = 0: not chosen
    double threshold;                    // the least similarity of near rows, 0 to 1
    bool exact;                          // texts are compared by their shingles, not by signatures
    std::uint32_t max_bucket;            // larger buckets are left out; 0: no limit
    bool scoped;                         // rows can only be near others of the same scope
    bool sets_only = false;              // texts are compared as sets, and not signed
    double recall = 0.99;                // the share of pairs that an exact task is to find
    bool whole_slots = false;            // signatures are kept with all their bits, even in exact tasks
    bool given = false;                  // rows come as signatures
    std::optional<bands_plan> plan = {}; // how the shape was chosen; empty unless it was chosen by cost
};

// Whether documents are needed after signing, because they are compared.
inline bool has_documents(const task& task) { return task.exact || task.given; }

struct shared_rows;

struct row_set {
    host* owner;
    memory_budget* budget;
    bulk::task task;
    // The scheme of signatures as rows keep them. Slots of 8 bits are enough to choose which texts to compare, and
    // slots of 2 or 4 bits to choose which given signatures to compare.
    minhash::scheme kept;
    minhash::scheme start; // the scheme of the slots in `starts`: the first slots, or all of them
    std::uint32_t count;
    std::uint32_t first_count; // how many rows belong to the first of two queries; set by the caller

    byte_store* documents;          // texts in UTF-8, or slots, that the host cannot read again
    byte_store** brought;           // documents that the host has read again (bulk/search/far_documents.cpp)
    byte_store* document_at;        // where the document of each row lies
    byte_store* document_sizes;     // the sizes of texts; null for signatures
    byte_store* starts;             // the first slots of each row
    byte_store* rests;              // the other slots of each row
    byte_store** keys;              // the keys of each band; the last store has keys of whole signatures
    host_signer* signer;            // signs texts; null if there are none
    const std::uint32_t* set_sizes; // the size of each row's set, in tasks with sets only (containment.h)
    growing<std::uint32_t> scopes;  // the scope of each row, in scoped tasks
    std::uint32_t* leader;          // the leader of each row (candidates.h); null: not known yet
    std::uint32_t* next;            // the next row of the same leader, or no_row
    std::uint32_t* rights;          // for each leader, its first row of the second query, or no_row; null: one query

    std::uint64_t work;   // the bytes of the texts that have come
    shared_rows* shared;  // set when all rows have come (steps.h)
    std::uint32_t member; // the number of this process
};

// How many keys a row has: one for each band, and one more for the whole signature.
constexpr std::size_t key_count(band_choice shape) { return static_cast<std::size_t>(shape.bands) + 1; }

// Sets the task, and the schemes that follow from it.
void set_task(row_set& rows, const task& task);

// Makes a set without rows. `texts` says that rows will come as texts. Bands and rows, and for texts the number of
// hashes, may still be chosen until start_steps() (steps.h).
row_set* make_rows(memory_budget& budget, task task, bool texts);

// In scoped tasks: sets the scope of the row that will be taken next. A scope can be any number.
void set_scope(row_set& rows, std::uint32_t scope);

// Takes the next row; there may be at most most_rows. The signature must have the task's scheme. Returns false for the
// empty set, which is near nothing and is not taken. If `place` is not 0, the host can use it to read the signature's
// stored slots again; then the slots are not kept.
bool take_signature(row_set& rows, const signature& value, std::uint64_t place = 0);

// Takes the next row, a text of `size` bytes. If `place` is not 0, the host can read the text again, and `start` may be
// only its beginning. If `start` has no shingles, the result is false; if it is only a beginning, the whole text must
// then be taken.
bool take_text(row_set& rows, text_bytes start, std::size_t size, std::uint64_t place = 0);

// Compares the signatures of some rows, chosen at random by number, so that bands can be chosen from the result
// (tally_agreements()). Also computes the mean size of these rows' documents.
agreement_counts sample_rows(row_set& rows, sampled_counts& counts, double& mean_bytes);

// Opens the stores of signatures and keys.
void open_signatures(row_set& rows);

// Whether two rows are in one scope, so that they can be near.
inline bool in_one_scope(const row_set& rows, std::uint32_t a, std::uint32_t b)
{
    assert(a < rows.count && b < rows.count);
    return !rows.task.scoped || rows.scopes.values[a] == rows.scopes.values[b];
}

inline std::size_t start_bytes(const row_set& rows) { return slot_bytes(rows.start.bits, rows.start.num_hashes); }

// A row's first slots as they are kept: the result points into the store, or into the buffer to which they were copied.
// fetch_rest() returns the row's other slots.
inline const void* fetch_start(const row_set& rows, std::uint32_t row, void* buffer)
{
    const std::size_t bytes = start_bytes(rows);
    return fetch(*rows.starts, row * std::uint64_t{bytes}, bytes, buffer);
}

inline std::size_t rest_bytes(const row_set& rows)
{
    return slot_bytes(rows.kept.bits, rows.kept.num_hashes) - start_bytes(rows);
}

inline const void* fetch_rest(const row_set& rows, std::uint32_t row, void* buffer)
{
    const std::size_t bytes = rest_bytes(rows);
    return fetch(*rows.rests, row * std::uint64_t{bytes}, bytes, buffer);
}

// Where the document of a row can be read again; 0 if it is kept.
std::uint64_t place_to_read(row_set& rows, std::uint32_t row);

// Records that the document of a row is kept from now on: in a store of rows.brought, at an offset.
void set_brought(row_set& rows, std::uint32_t row, std::size_t store, std::uint64_t offset);

// The document of a row. The result points into a store, or into the buffer, to which the document was copied and which
// grows as needed. Valid until the next call.
text_bytes fetch_document(row_set& rows, std::uint32_t row, growing<std::uint8_t>& buffer);

// The size of a row's document in bytes.
std::size_t document_size(row_set& rows, std::uint32_t row);

} // namespace minhash::bulk
