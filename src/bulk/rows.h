// The rows that the engine works on, numbered from 0 as they come: their signatures, the halves of
// their band keys, and their texts where those are to be compared, each in a store of its own. What
// identifies a row to a user is the host's matter.
#pragma once

#include "bulk/buckets.h"
#include "bulk/crew.h"
#include "bulk/set_notes.h"
#include "bulk/store.h"

#include <cassert>

namespace minhash::bulk {

// What rows are taken for.
struct task {
    minhash::scheme scheme;   // of all signatures
    band_choice shape;        // that they can be banded by (core/bands.h)
    double threshold;         // the least similarity, 0 to 1
    bool exact;               // texts are compared by their shingles, not by signatures
    std::uint32_t max_bucket; // buckets of more rows are left out; 0: none
    bool scoped;              // rows can only be near others of their scope
    bool sets_only = false; // of texts: their sets are noted, and no signatures made (set_notes.h)
    double recall = 0.99;   // of exact tasks: the share of pairs to be found
    bool whole_slots = false; // exact tasks keep signatures as they are, too
    bool elsewhere = false;   // of signatures: the host can read most of them again
};

// The scheme of signatures as rows keep them. Where texts decide, slots of 8 bits say as well which
// of them to compare; where signatures that can be read again do, slots of 2 or 4 bits.
scheme kept_scheme(const task& task);

// Whether texts or whole signatures decide, which are documents of their rows.
inline bool has_documents(const task& task)
{
    return task.exact || task.elsewhere;
}

struct row_set {
    host* owner;
    memory_budget* budget;
    bulk::task task;
    minhash::scheme kept; // kept_scheme()
    std::uint32_t count;
    std::uint32_t first_count; // rows of the first of two queries; set by whoever takes rows

    byte_store* slots;
    byte_store** keys;            // of each band; after them, of the whole signature
    byte_store* documents;        // texts in UTF-8 or slots: those that the host cannot read again
    byte_store* document_at;      // where the document of each row lies
    byte_store* document_sizes;   // of texts, else null
    std::uint64_t document_bytes; // of all of them
    text_signer* signer;          // of tasks with texts, else null
    set_notes* notes;             // of tasks with sets only, else null
    bulk::crew* crew;             // the same
    job* signing;                 // texts that came last, and are to be signed by the crew, or null
    growing<std::uint32_t> scopes; // of each row, in scoped tasks
};

// Starts without rows. `texts` says that rows will come as texts.
row_set* make_rows(memory_budget& budget, const task& task, bool texts);

// Says which scope, any number, the row has that is taken next. For scoped tasks.
void set_scope(row_set& rows, std::uint32_t scope);

// Takes the next row, of the task's scheme; at most most_rows of them. False if it is the empty
// set, which is near nothing and not taken. By a place that is not 0 the host can read the text, or
// the slots as they are stored, again; then they are not kept, and where workers can read the
// place, not sent to them.
bool take_text(row_set& rows, text_bytes text, std::uint64_t place = 0);
bool take_signature(row_set& rows, const signature& value, std::uint64_t place = 0);

// To be called when all rows have been taken: waits for signatures that are still being made.
void finish_rows(row_set& rows);

// Whether two rows can be near, as far as scopes are concerned.
inline bool in_one_scope(const row_set& rows, std::uint32_t a, std::uint32_t b)
{
    assert(a < rows.count && b < rows.count);
    return !rows.task.scoped || rows.scopes.values[a] == rows.scopes.values[b];
}

// The signature of a row as it is kept, where it lies or in the buffer.
inline const void* fetch_slots(row_set& rows, std::uint32_t row, void* buffer)
{
    const std::size_t bytes = slot_bytes(rows.kept.bits, rows.kept.num_hashes);
    return fetch(*rows.slots, row * std::uint64_t{bytes}, bytes, buffer);
}

// The document of a row, where it lies or in the buffer, which grows as it must. Good until the
// next call.
text_bytes fetch_document(row_set& rows, std::uint32_t row, growing<std::uint8_t>& buffer);

// Where workers can read it, too; else 0.
std::uint64_t place_for_workers(row_set& rows, std::uint32_t row);

// Fetches from memory what fetch_document() will read of a row, in three steps.
void prefetch_document(const row_set& rows, std::uint32_t row, int step);

// Its bytes.
std::size_t document_size(row_set& rows, std::uint32_t row);

// Frees the keys of a band that has been gone through.
void close_band(row_set& rows, int band);

} // namespace minhash::bulk
