// lsh_pairs(): all near-duplicate pairs of a query's rows, or between two queries.
#include "pg/bulk/pair_call.h"

namespace minhash::pg {

namespace {

void emit_pairs(bulk::host& host, std::span<const bulk::found_pair> pairs)
{
    put_pairs(host, pairs, [](const pair_call&, const bulk::found_pair&, const id_pair& found) {
        return found.falling;
    });
}

void find_pairs(pair_call& call)
{
    const std::uint64_t left_out = bulk::find_pairs(*call.rows, call.crossing, emit_pairs);
    notice_large_buckets(left_out, call.rows->task.max_bucket);
}

// -> (left_id, right_id, similarity)
Datum return_pairs(const call_form& form)
{
    enum { arg_other_query = arg_own };

    run_pair_call(form, arg_bulk(form), position_of(form, arg_other_query), find_pairs);
    return static_cast<Datum>(0);
}

} // namespace

// lsh_pairs(query, threshold, recall, bands, rows, verify, max_bucket, num_hashes, shingle_size,
//           unit, fold, bag, seed, method, other_query)
MINHASH_FUNCTION(lsh_pairs)
{
    return return_pairs({fcinfo, id_form::bigints});
}

// lsh_pairs(query, anyelement, threshold, ...)
MINHASH_FUNCTION(lsh_pairs_typed)
{
    return return_pairs({fcinfo, id_form::typed});
}

// _lsh_kept_pairs(query, regtype, threshold, ...)
MINHASH_FUNCTION(lsh_kept_pairs)
{
    return return_pairs({fcinfo, id_form::named});
}

} // namespace minhash::pg
