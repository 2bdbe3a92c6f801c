// The arguments that the bulk functions share.
#pragma once

#include "pg/arguments.h"

#include "bulk/rows.h"

namespace minhash::pg {

enum class verification { by_default, estimate, exact };

// What a bulk function was asked for.
struct bulk_request {
    double threshold;
    double recall;
    banding shape; // bands = 0: to be chosen (pg/bulk/choice.h)
    verification verify;
    bulk::measure measure;
    int max_bucket;    // 0: no limit
    scheme texts;      // how texts are signed
    bool hashes_given; // texts.num_hashes is not by default
    Oid id_type;       // InvalidOid: that of the query
    bool ranked;       // the query can have a column rank
    bool lone_ids;     // ids of empty and NULL texts are wanted, too
    bool whole_slots;  // signatures of texts are looked at slot by slot
};

// The arguments that lsh_pairs() and lsh_clusters() share, in their order.
enum bulk_argument {
    arg_query,
    arg_threshold,
    arg_recall,
    arg_bands,
    arg_rows,
    arg_verify,
    arg_max_bucket,
    arg_num_hashes, // the first of a scheme's seven
    arg_measure = arg_num_hashes + 7,
    arg_own, // the first that the other function does not have
};

// A call of one of the two forms of a function. The typed form has one argument more, after the
// query: a value of the type of the ids. It has no name, as PostgreSQL finds the types of result
// columns by the order of arguments in the call.
struct bulk_call {
    FunctionCallInfo fcinfo;
    bool typed;
};

// The position of a shared argument, or of arg_own + n.
inline int position_of(const bulk_call& call, int argument)
{
    return argument + (call.typed && argument > arg_query ? 1 : 0);
}

// Reads the shared arguments; an ERROR if one of them is wrong.
bulk_request arg_bulk(const bulk_call& call);

} // namespace minhash::pg
