// The arguments that the bulk functions share.
#pragma once

#include "pg/arguments.h"

#include "bulk/rows/rows.h"

namespace minhash::pg {

enum class verification { by_default, estimate, exact };

// What a bulk function was asked for.
struct bulk_request {
    double threshold;
    double recall;
    banding shape; // bands = 0: to be chosen (pg/bulk/choice.h)
    verification verify;
    int max_bucket;         // 0: no limit
    scheme texts;           // how texts are signed
    bool hashes_given;      // texts.num_hashes is not by default
    const char* signing;    // an argument that was given and says how texts are signed, or null
    const char* texts_only; // why the query cannot return signatures; null: it can
    bool sets_only;         // texts are compared as sets, and not signed
    Oid id_type;            // InvalidOid: that of the query
    bool ranked;            // the query can have a column rank
    bool lone_ids;          // ids of empty and NULL texts are wanted, too
    bool whole_slots;       // signatures of texts are looked at slot by slot
};

// The arguments that lsh_pairs() and lsh_clusters() share, in their order. Those after the
// threshold are NULL if they are not given: one that would have no effect is an error.
enum bulk_argument {
    arg_query,
    arg_threshold,
    arg_recall,
    arg_bands,
    arg_rows,
    arg_verify,
    arg_max_bucket,
    arg_num_hashes,               // the first of a scheme's seven
    arg_own = arg_num_hashes + 7, // the first that the other function does not have
};

// The forms of a function, by what they know of the type of ids. Two have one argument more, after
// the query. That of the typed form is of this type, and has no name, as PostgreSQL finds the types
// of result columns by the order of arguments in the call. That of the named form is a regtype: so
// the types of all its arguments are known, and no function that others make can suit a call
// better.
enum class id_form { bigints, typed, named };

struct call_form {
    FunctionCallInfo fcinfo;
    id_form ids;
};

// The position of an argument.
inline int position_of(const call_form& form, int argument)
{
    return argument + (form.ids != id_form::bigints && argument > arg_query ? 1 : 0);
}

// The type of ids that a call wants; an ERROR if it has no order.
Oid arg_id_type(const call_form& form);

// An ERROR unless the first columns of the result, so many, are of the type of ids, and the others
// of these types. Whoever calls the named form says what they are.
void check_result(const ReturnSetInfo& result, Oid id_type, int ids, std::span<const Oid> others);

// The threshold of a call; an ERROR if it is NULL or out of range.
double arg_threshold_of(const call_form& form);

// Reads the shared arguments; an ERROR if one of them is wrong.
bulk_request arg_bulk(const call_form& form);

} // namespace minhash::pg
