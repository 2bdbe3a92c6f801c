// SQL that functions run for their users through PostgreSQL's server programming interface (SPI).
// All of it is called between SPI_connect() and SPI_finish().
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

struct kept_plan;

// A plan for any values of the parameters, kept for the session and found by its text: names in it
// are those of today, so a renamed table simply gets another plan. It is dropped at the end of the
// transaction in which the definition of `relation` changes, as when that is dropped, and with all
// others when there are too many. A parameter that the text does not name has InvalidOid as type.
kept_plan& prepare_once(Oid relation, const char* sql, std::span<const Oid> types);

// Runs a plan. With `latest`, all that is committed by now is seen, whatever the isolation
// level, as for unique indexes. Returns the number of rows; they are in SPI_tuptable.
enum class snapshot { of_statement, latest };
std::uint64_t
run(kept_plan& plan, std::span<Datum> values, const char* nulls, bool read_only, snapshot seen);

// Runs SQL text that is used once: to define or change something, or to read.
std::uint64_t run_once(const char* sql);
std::uint64_t read_once(const char* sql);

// How many rows the planner expects of a SELECT.
double rows_expected_of(const char* sql);

// Acts as another user, so that whoever may write to a table needs no rights on its band table
// (as foreign keys are checked). The end of a transaction or subtransaction, also by an error,
// puts the user back. Work that is not triggered by a user's write, such as a refresh, is
// restricted (SECURITY_RESTRICTED_OPERATION): the owner's code cannot leave anything behind that
// runs later.
struct identity {
    Oid user;
    int context;
};

// Both return who acted before.
identity act_as(Oid user, int restriction = 0);
identity act_again_as(identity former);

} // namespace minhash::pg
