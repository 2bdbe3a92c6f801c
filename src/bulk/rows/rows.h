// The rows that the engine works on, numbered from 0 in order of arrival. When a row arrives, the engine stores only
// the row's document (a text, or the slots of a signature) or the location where the host can read the document again.
// When all rows have arrived, the numbers of hashes, bands and rows per band are chosen from a sample of the rows,
// unless the user has set them. Then all processes together make the signatures and the band keys (steps.h). Only 32
// bits of a key are kept. Signatures and keys are in stores of their own. Only the host keeps the users' ids of rows.
#pragma once

#include "bulk/buckets/buckets.h"
#include "bulk/components/apart.h"
#include "bulk/memory/store.h"
#include "bulk/sets/text_signer.h"
#include "bulk/tuning/choose_bands.h"
#include "bulk/work/work.h"

#include "core/codec.h"

#include <cassert>
#include <optional>

namespace minhash::bulk {

// What the engine should do with the rows.
struct task {
    minhash::scheme scheme;              // the scheme of all signatures
    minhash::banding banding;            // bands and rows (core/bands.h); bands = 0: not chosen
    double threshold;                    // the minimum similarity of near rows, 0 to 1
    bool exact;                          // texts are compared by their shingles, not by signatures
    std::uint32_t max_bucket;            // buckets of more rows are left out; 0: no limit
    bool scoped;                         // rows can be near only rows of the same scope
    bool sets_only = false;              // texts are compared as sets, and not signed
    bool weighted = false;               // for sets_only: weighted (weighted.h), or one contains the other
    double recall = 0.99;                // the share of near pairs that an exact task should find
    std::uint32_t couples_from = 32768;  // for containment: if fewer rows are indexed, none has couples (witnesses.h)
    std::uint32_t couples_pool = 8;      // the least ratio of a row's pool to its witnesses, if it has couples
    bool whole_slots = false;            // signatures of texts are kept with all their bits, even in exact tasks
    bool given = false;                  // rows arrive as signatures, not as texts
    std::optional<bands_plan> plan = {}; // how the banding was chosen; empty unless it was chosen by cost
};

// Whether documents are needed after signing, because they are compared.
inline bool has_documents(const task& task) { return task.exact || task.given; }

struct shared_search;

struct row_set : process {
    bulk::task task;
    // The scheme of the kept signatures. Slots of 8 bits are enough to choose which texts to compare, and slots of 2 or
    // 4 bits to choose which given signatures to compare.
    minhash::scheme kept;
    minhash::scheme first_slots_scheme; // of the slots in `first_slots`: the first ones, or all of them
    std::uint32_t count;
    std::uint32_t first_count; // how many rows belong to the first of two queries; set by the caller

    byte_store* documents;          // texts in UTF-8, or slots, that the host cannot read again
    byte_store** brought;           // stores of documents that processes have made, or read again (far_documents.cpp)
    std::size_t brought_count;      // set by the caller, with `brought`, before start_steps()
    byte_store* document_locations; // where the document of each row is
    byte_store* document_sizes;     // the sizes of texts; null for signatures
    byte_store* first_slots;        // the first slots of each row
    byte_store* other_slots;        // the other slots of each row
    byte_store** keys;              // a store of keys for each band, then one for the keys of whole signatures
    host_signer* signer;            // signs texts; null if there are none
    const std::uint32_t* set_sizes; // if task.sets_only, the size of each row's set (containment.h)
    growing<std::uint32_t> scopes;  // the scope of each row, in scoped tasks
    std::uint32_t* leader;          // the leader of each row (candidates.h); null: not found yet
    std::uint32_t* next;            // for each row, the next row with the same leader, or no_row
    std::uint32_t* rights;          // for each leader, its first row in the second query, or no_row; null if one query

    apart_rows* apart; // rows that must not be pairs or in one cluster; set by the caller, or null

    std::uint64_t work;    // bytes of texts, plus an eighth of the bytes of signatures (host.least_work)
    shared_search* search; // set by start_search() (search/shared_search.h)
};

// How many keys a row has: one for each band, and one more for the whole signature.
constexpr std::size_t key_count(banding banding) { return static_cast<std::size_t>(banding.bands) + 1; }

// Sets the task, and the schemes that are derived from it.
void set_task(row_set& rows, const task& task);

// Makes an empty set of rows. `texts` says whether rows will arrive as texts or as signatures. Bands and rows, and for
// texts the number of hashes, can be chosen later, but before start_steps() (steps.h).
row_set* make_rows(memory_budget& budget, task task, bool texts);

// Sets the scope of the next row, before the row is added. Call this only in scoped tasks. A scope can be any number.
void set_scope(row_set& rows, std::uint32_t scope);

// Adds the next row, a signature, which must have the task's scheme. There can be no more than most_rows rows. The
// signature of an empty set is near nothing, so it is not added, and the function returns false. If `location` is not
// 0, the host can read the signature's stored slots again from this location, so the slots are not kept.
bool take_signature(row_set& rows, const signature& value, std::uint64_t location = 0);

// Adds the next row, a text of `size` bytes. If `location` is not 0, the host can read the text again, and `start` may
// be only the beginning of the text. If `start` has no shingles, no row is added, and the function returns false. If
// `start` was only the beginning, the caller must then pass the whole text.
bool take_text(row_set& rows, text_bytes start, std::size_t size, std::uint64_t location = 0);

// Adds the next row, of which only the size of its document is known. It has shingles, and the host can read its text,
// or the stored slots of its signature, from this location.
void take_placed(row_set& rows, std::size_t size, std::uint64_t location);

// The same for a row whose document is in rows.brought[store], at this offset.
void take_brought(row_set& rows, std::size_t size, std::size_t store, std::uint64_t offset);

// How many stores rows.brought can have.
constexpr std::size_t most_brought = (std::size_t{1} << 17) - 2;

// Compares the signatures of a random sample of rows. Bands can be chosen from the result, which refers to `counts`
// (tally_agreements()). Also computes the mean size of the documents in the sample.
agreement_counts sample_rows(row_set& rows, sampled_counts& counts, double& mean_bytes);

// Opens the stores of signatures and keys.
void open_signatures(row_set& rows);

// The step that makes the signatures and the band keys.
void sign_units(row_set& rows);

// Whether two rows are in one scope, so that they can be near.
inline bool in_one_scope(const row_set& rows, std::uint32_t a, std::uint32_t b)
{
    assert(a < rows.count && b < rows.count);
    return !rows.task.scoped || rows.scopes.values[a] == rows.scopes.values[b];
}

inline std::size_t start_bytes(const row_set& rows)
{
    return slot_bytes(rows.first_slots_scheme.bits, rows.first_slots_scheme.num_hashes);
}

// Returns a row's first slots, as they are kept. The result points into the store or, if the slots had to be copied, to
// the buffer. fetch_rest() returns the row's other slots in the same way.
inline const void* fetch_start(const row_set& rows, std::uint32_t row, void* buffer)
{
    const std::size_t bytes = start_bytes(rows);
    return fetch(*rows.first_slots, row * std::uint64_t{bytes}, bytes, buffer);
}

inline std::size_t rest_bytes(const row_set& rows)
{
    return slot_bytes(rows.kept.bits, rows.kept.num_hashes) - start_bytes(rows);
}

inline const void* fetch_rest(const row_set& rows, std::uint32_t row, void* buffer)
{
    const std::size_t bytes = rest_bytes(rows);
    return fetch(*rows.other_slots, row * std::uint64_t{bytes}, bytes, buffer);
}

// The location where the host can read a row's document again; 0 if the document is in a store of the engine.
std::uint64_t location_to_read(row_set& rows, std::uint32_t row);

// Records that the document of a row is now in rows.brought[store], at this offset.
void set_brought(row_set& rows, std::uint32_t row, std::size_t store, std::uint64_t offset);

// The document of a row. The result points into a store, into the host's memory, or into the buffer, which grows as
// needed. The result is valid until the next call.
text_bytes fetch_document(row_set& rows, std::uint32_t row, growing<std::uint8_t>& buffer);

// How many bytes of memory each row needs, without its document.
std::size_t bytes_of_row(const row_set& rows);

// The size of a row's document in bytes.
std::size_t document_size(row_set& rows, std::uint32_t row);

} // namespace minhash::bulk
