// The verdicts of a call: pairs of ids that a person has told apart, which a query of the user returns.
#pragma once

#include "pg/bulk/datum_store.h"

#include "bulk/components/apart.h"

namespace minhash::pg {

struct bulk_call;

struct verdict_list {
    numbered_values ids; // the ids that occur in verdicts
    Oid short_left;      // for convert_id()
    Oid short_right;
    std::uint64_t read;
    std::uint64_t skipped; // how many verdicts were left out because of a NULL
    double expected;       // how many verdicts the query is expected to return
    bulk::apart_rows rows;
};

// Reads the verdicts that the query in an argument returns. If the argument is NULL, the call has no verdicts. Call
// this before the rows are read.
void read_verdicts(bulk_call& call, FunctionCallInfo fcinfo, int argument);

// Tells the engine which verdicts have the id of its next row. Call this for each row if there are verdicts.
void note_id(bulk_call& call, Datum id);

} // namespace minhash::pg
