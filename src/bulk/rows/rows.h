// The rows that the engine works on, numbered from 0 as they come. While they come, only their documents are noted:
// texts or slots of signatures, or the place where the host can read them again. When all have come, hashes, bands and
// rows are chosen by a sample of them; then all processes together make the signatures and the halves of the band keys
// (steps.h), which have stores of their own. Only the host knows the ids by which a user knows the rows.
#pragma once

#include "bulk/buckets/buckets.h"
#include "bulk/memory/store.h"
#include "bulk/sets/text_signer.h"
#include "bulk/tuning/choose_bands.h"

#include "core/codec.h"

#include <cassert>

namespace minhash::bulk {

// What the engine is to do with the rows.
struct task {
    minhash::scheme scheme;              // the scheme of all signatures
    band_choice shape;                   // bands and rows (core/bands.h); bands = 0: not chosen
    double threshold;                    // the least similarity, 0 to 1
    bool exact;                          // texts are compared by their shingles, not by signatures
    std::uint32_t max_bucket;            // larger buckets are left out; 0: no limit
    bool scoped;                         // rows are near others of their scope only
    bool sets_only = false;              // texts are compared as sets, and not signed
    double recall = 0.99;                // the share of pairs that an exact task is to find
    bool whole_slots = false;            // signatures are kept unshortened in exact tasks, too
    bool given = false;                  // rows come as signatures
    std::optional<bands_plan> plan = {}; // if the shape was chosen by cost
};

// Whether documents are compared, and not only signed.
inline bool has_documents(const task& task) { return task.exact || task.given; }

struct shared_rows;

struct row_set {
    host* owner;
    memory_budget* budget;
    bulk::task task;
    // The scheme of signatures as rows keep them. To choose which texts to compare, slots of 8 bits do as well; to
    // choose which given signatures to compare, slots of 2 or 4 bits do.
    minhash::scheme kept;
    minhash::scheme start; // the scheme of the slots that are stored apart: the first ones, or all
    std::uint32_t count;
    std::uint32_t first_count; // rows of the first of two queries; set by the caller

    byte_store* documents;          // texts in UTF-8 or slots: those that the host cannot read again
    byte_store** brought;           // those that the host has read again (bulk/search/far_documents.cpp)
    byte_store* document_at;        // where the document of each row lies
    byte_store* document_sizes;     // the sizes of texts; null for signatures
    byte_store* starts;             // the first slots of each row,
    byte_store* rests;              // and the others
    byte_store** keys;              // for each band; the last for the whole signature
    host_signer* signer;            // signs texts; null if there are none
    const std::uint32_t* set_sizes; // for each row, in tasks with sets only (containment.h)
    growing<std::uint32_t> scopes;  // for each row, in scoped tasks
    std::uint32_t* leader;          // for each row (candidates.h); null: not known yet
    std::uint32_t* next;            // the next row of the same leader, or no_row
    std::uint32_t* rights;          // for each leader, its first row of the second query, or no_row; null: one query

    std::uint64_t work;   // bytes of texts that have come
    shared_rows* shared;  // when all rows have come (steps.h)
    std::uint32_t member; // which of the processes this is
};

// How many keys a row has: of its bands, and of the whole signature.
constexpr std::size_t key_count(band_choice shape) { return static_cast<std::size_t>(shape.bands) + 1; }

// Sets the task, and the schemes that follow from it.
void set_task(row_set& rows, const task& task);

// Starts without rows. `texts` says that rows will come as texts. The number of hashes for texts, bands and rows may
// still be chosen until start_steps() (steps.h).
row_set* make_rows(memory_budget& budget, task task, bool texts);

// Sets the scope, any number, of the row that is taken next. For scoped tasks.
void set_scope(row_set& rows, std::uint32_t scope);

// Takes the next row; there may be most_rows. A signature has the task's scheme. False if it is the empty set, which is
// near nothing and not taken. If `place` is not 0, the host can use it to read the text, or the stored slots, again;
// then they are not kept.
bool take_signature(row_set& rows, const signature& value, std::uint64_t place = 0);

// The same for a text of `size` bytes. If the text can be read again, its beginning is enough. If the beginning has no
// shingles, the result is false, and the whole text must be taken.
bool take_text(row_set& rows, text_bytes start, std::size_t size, std::uint64_t place = 0);

// Compares the signatures of some rows, chosen at random by number, to choose bands by (tally_agreements()); also gives
// the mean size of their documents.
agreement_counts sample_rows(row_set& rows, sampled_counts& counts, double& mean_bytes);

// Opens the stores of signatures and keys.
void open_signatures(row_set& rows);

// Whether scopes allow two rows to be near.
inline bool in_one_scope(const row_set& rows, std::uint32_t a, std::uint32_t b)
{
    assert(a < rows.count && b < rows.count);
    return !rows.task.scoped || rows.scopes.values[a] == rows.scopes.values[b];
}

inline std::size_t start_bytes(const row_set& rows) { return slot_bytes(rows.start.bits, rows.start.num_hashes); }

// A row's first slots, and below the others, as they are kept: where they lie or in the buffer.
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

// Says that the document of a row is kept from now on: in a store of rows.brought, at an offset.
void set_brought(row_set& rows, std::uint32_t row, std::size_t store, std::uint64_t offset);

// The document of a row, where it lies or in the buffer, which grows as needed. Good until the next call.
text_bytes fetch_document(row_set& rows, std::uint32_t row, growing<std::uint8_t>& buffer);

// The document's size in bytes.
std::size_t document_size(row_set& rows, std::uint32_t row);

} // namespace minhash::bulk
