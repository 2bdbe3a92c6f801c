// A guard: a trigger that looks each new row up in the band table of its table, and refuses
// near-duplicates or marks them. What its parts have in common.
//
//     guard.cpp         the trigger functions: how they must be defined, and their verdict
//     guard_check.cpp   what is checked of the table, when a guard is made and when it fires
//     guard_locks.cpp   who waits for whom
//     guard_search.cpp  the nearest other row
//     guard_marks.cpp   marks, and who may write them
#pragma once

#include "pg/band_table/band_table.h"
#include "pg/band_table/signature_rows.h"

namespace minhash::pg {

// Kept from row to row of one statement, and found again if a definition has changed.
struct guard {
    std::uint64_t definitions;
    band_table settings;
    Oid owner; // of the table that the trigger was created on: the guard acts as this role
    Oid id_type;
    row_columns columns; // of the relation that the trigger fired for
    double threshold;
    AttrNumber mark;   // the source's column to mark rows in; 0 to refuse them
    AttrNumber marked; // the same of the relation

    bool marks() const
    {
        return mark != InvalidAttrNumber;
    }
};

// Whether an UPDATE left id, signature and scope as they were, and so nothing to judge.
bool stays(const guard& given, const signed_row (&rows)[2]);

// Whether two rows that are present have the same scope, byte by byte.
bool same_scope(const guard& given, Datum left, Datum right);

// Whether a row can be near others: NULL and empty texts have no near-duplicates, nor
// have rows whose scope is NULL.
bool is_comparable(const signed_row& row);

// Whether the row just read has a mark, and will lose it unless it is near another.
bool has_mark(const guard& given, const row_reader& reader, const signed_row& row);

} // namespace minhash::pg
