// Runs a user's query as the user, and passes the rows of the query to a call. The query must be a single SELECT that
// changes nothing.
#pragma once

#include "pg/bulk/host.h"

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
    double rows;  // how many rows PostgreSQL expects
    double width; // their size in bytes, as far as PostgreSQL knows
    bool kept;    // whether the values must be kept, because they cannot be read again (reread.h)
};

// Plans the query that an argument contains. Call this between SPI_connect() and SPI_finish(). An ERROR if the query is
// not a single SELECT that changes nothing. If the query is only the name of a table, a hint suggests a call with the
// columns that the user probably means. `name` is the argument's name; if the query must return certain columns,
// `columns` names them for the hint.
planned_select
plan_select(FunctionCallInfo fcinfo, int argument, const char* name = "query", const char* columns = nullptr);

// Plans a query that is not an argument.
planned_select plan_query(const char* query);

// Plans a query again, so that PostgreSQL uses no workers of its own for it.
SPIPlanPtr plan_without_workers(const planned_select& query);

// The destination to which the executor sends the rows of a query.
struct row_receiver : DestReceiver {
    bulk_host* call;
    const QueryDesc* query; // the query, while it runs
};

template <typename Call>
Call& call_of(DestReceiver* self)
{
    return *static_cast<Call*>(static_cast<row_receiver*>(self)->call);
}

inline const QueryDesc& running_of(DestReceiver* self) { return *static_cast<row_receiver*>(self)->query; }

// What a receiver does with the columns of the query, before the first row, and with each row.
using columns_taker = void (*)(DestReceiver* self, int, TupleDesc columns);
using row_taker = bool (*)(TupleTableSlot* row, DestReceiver* self);

// Runs a query with the snapshot of the calling statement. (SPI could run the query, too, but it does not expose the
// running plan, which start_rereading() needs.)
void run_select(const planned_select& query, bulk_host& call, columns_taker take_columns, row_taker take_row);

// The same for a part of a query's plan (split_into_scans()).
void run_part(
    PlannedStmt* part, const planned_select& query, bulk_host& call, columns_taker take_columns, row_taker take_row);

// A plan that runs. Until it ends, errors show its query, unless the query is internal.
struct running_plan {
    QueryDesc* query;
    ErrorContextCallback context;
};

void start_plan(running_plan& fresh, PlannedStmt* plan, const char* text, bool is_internal, DestReceiver* to);
void end_plan(const running_plan& plan);

// Reports progress: how many rows have been read, out of the number that PostgreSQL expects.
inline void report_read(bulk_host& call, const char* phase, std::uint64_t read, double expected)
{
    bulk::report(call, phase, read, expected >= static_cast<double>(read) ? static_cast<std::uint64_t>(expected) : 0);
}

// Whose ids a query returns: those of rows, of rows of a second query, of pairs that are given, or of rows that were
// told apart.
enum class ids_of { rows, other_rows, pairs, verdicts };

// Whether ids of type `given` can be used as ids of type `wanted`.
bool takes_ids(Oid wanted, Oid given);

// An ERROR if ids of type `given` cannot be used as ids of type `wanted`. Returns what convert_id() needs: if bigint is
// wanted, and smallint or integer is given, this is the given type; otherwise it is InvalidOid.
Oid check_ids(Oid wanted, Oid given, ids_of what);

inline Datum convert_id(Oid short_id, Datum id)
{
    return short_id == INT4OID   ? Int64GetDatum(DatumGetInt32(id))
           : short_id == INT2OID ? Int64GetDatum(DatumGetInt16(id))
                                 : id;
}

} // namespace minhash::pg
