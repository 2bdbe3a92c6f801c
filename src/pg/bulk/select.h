// A user's query: one SELECT that changes nothing, run as the user, its rows handed to a receiver.
#pragma once

#include "pg/glue.h"

#include "pg/bulk/suggest.h"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/execdesc.h"
#include "executor/spi.h"
#include "tcop/dest.h"
}

namespace minhash::pg {

struct planned_select {
    SPIPlanPtr plan;
    const char* text;
    double rows; // that PostgreSQL expects
};

// Plans a query, between SPI_connect() and SPI_finish(); an ERROR if it may change anything, or is
// but the name of a table: which of its columns are meant is not ours to guess, but for a hint.
planned_select plan_select(const char* query, const wanted_query& wanted);

// Runs it. It sees what the calling statement sees. `to.mydest` is set here, and `running` while it
// runs. (SPI's own way to run it would not tell which plan it is.)
void run_select(const planned_select& query, DestReceiver& to, const QueryDesc** running = nullptr);

// An ERROR if ids of type `given` cannot be taken for those of type `wanted`. The result is to be
// handed to convert_id(): smallint or integer where bigint is wanted, else InvalidOid.
Oid check_ids(Oid wanted, Oid given);

inline Datum convert_id(Oid short_id, Datum id)
{
    return short_id == INT4OID   ? Int64GetDatum(DatumGetInt32(id))
           : short_id == INT2OID ? Int64GetDatum(DatumGetInt16(id))
                                 : id;
}

} // namespace minhash::pg
