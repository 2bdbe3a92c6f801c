// The arguments that the bulk functions share.
#pragma once

#include "pg/arguments.h"

#include "bulk/rows/rows.h"

namespace minhash::pg {

enum class verification { by_default, estimate, exact };

// What a call of a bulk function asks for.
struct bulk_request {
    double threshold;
    double recall;
    minhash::banding banding; // bands = 0: still to be chosen (choice.cpp)
    verification verify;
    int max_bucket;                      // 0: no limit
    scheme texts;                        // how texts are signed
    bool hashes_given;                   // the user has specified texts.num_hashes
    const char* signing;                 // the first given argument that determines how texts are signed, or null
    const char* texts_only;              // why signatures cannot be used; null: they can
    bool sets_only;                      // texts are compared as sets, and not signed
    bool weighted;                       // rare shingles count more than common ones
    Oid id_type;                         // InvalidOid: whatever type the query returns
    bool notes_short_texts;              // a NOTICE says if texts are too short for these arguments
    bool ranked;                         // the query may have a column "rank"
    bool lone_ids;                       // ids of empty and NULL texts are kept, too
    bool whole_slots;                    // signatures of texts must keep all their slots
    std::span<const char* const> phases; // for the progress of the call (phases.h); empty: they have no numbers
};

// The arguments that lsh_pairs() and lsh_clusters() share, in order. An argument after the threshold is NULL if the
// user does not specify it. (It is an error to specify an argument that would have no effect.)
enum bulk_argument {
    arg_query,
    arg_threshold,
    arg_recall,
    arg_bands,
    arg_rows,
    arg_verify,
    arg_max_bucket,
    arg_num_hashes,               // the first of the seven arguments for a scheme
    arg_own = arg_num_hashes + 7, // the first argument that only one function has
};

// The forms of a function, which differ in how the caller specifies the type of ids. The typed and the named form have
// an extra argument after the query. In the typed form, this argument is a value of the type of ids. (The argument has
// no name, because PostgreSQL resolves polymorphic result columns by the order of arguments in the call.) In the named
// form, the extra argument is a regtype. All its argument types are therefore fixed, and no function that another user
// creates can match a call better than this form does.
enum class id_form { bigints, typed, named };

struct call_form {
    FunctionCallInfo fcinfo;
    id_form ids;
};

inline int position_of(const call_form& form, int argument)
{
    return argument + (form.ids != id_form::bigints && argument > arg_query ? 1 : 0);
}

// The type of ids that a call asks for. An ERROR if values of this type cannot be sorted.
Oid arg_id_type(const call_form& form);

// An ERROR if the argument after the query, which only gives the type of ids, has a value. The hint is to write
// `named`.
void refuse_value(FunctionCallInfo fcinfo, const char* named);

// An ERROR unless the first `ids` columns of the result have the type of ids, and the others have the types `others`.
// Callers of the named form declare the result columns themselves.
void check_result(const ReturnSetInfo& result, Oid id_type, int ids, std::span<const Oid> others);
[[noreturn]] void fail_result();

// The threshold of a call; an ERROR if it is NULL or out of range.
double arg_threshold_of(const call_form& form);

// The argument verify; an ERROR if it is neither 'exact' nor 'estimate'.
verification arg_verification(FunctionCallInfo fcinfo, int argument);

// Reads the shared arguments; an ERROR if one of them is wrong.
bulk_request arg_bulk(const call_form& form);

// Reads the argument `weight`, after the shared ones. An ERROR if a shared argument would have no effect with it. The
// named form has no such argument.
void arg_weight(const call_form& form, int argument, bulk_request& wanted);

} // namespace minhash::pg
