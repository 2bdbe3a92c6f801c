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

// Plans a query, between SPI_connect() and SPI_finish(); an ERROR if it may change anything, or is only the name of a
// table: we guess the columns that are meant only for a hint.
planned_select plan_select(const char* query, const wanted_query& wanted);

// Runs a query with the snapshot of the calling statement. Sets `to.mydest`, and `running` while it runs. (SPI would
// run the query without showing its plan.)
void run_select(const planned_select& query, DestReceiver& to, const QueryDesc** running = nullptr);

// An ERROR if ids of type `given` cannot be used as ids of type `wanted`. Returns what convert_id() needs: the given
// type for smallint or integer where bigint is wanted, else InvalidOid.
Oid check_ids(Oid wanted, Oid given);

inline Datum convert_id(Oid short_id, Datum id)
{
    return short_id == INT4OID   ? Int64GetDatum(DatumGetInt32(id))
           : short_id == INT2OID ? Int64GetDatum(DatumGetInt16(id))
                                 : id;
}

} // namespace minhash::pg
