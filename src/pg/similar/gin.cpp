// The operator class gin_minhash_ops: an inverted index of band keys. A row is a candidate if it shares a key with the
// query. The signatures of candidates are then compared, so an index scan never returns a row that a sequential scan
// would not return. But an index scan misses similar rows that share no key with the query. If it is expected to miss
// more than a few rows, a notice says so.
#include "pg/arguments.h"
#include "pg/bands/bands.h"
#include "pg/errors.h"
#include "pg/settings.h"
#include "pg/similar/gin.h"
#include "pg/similar/query.h"

#include "core/tuning.h"

#include <algorithm>
#include <utility>

extern "C" {
#include "access/gin.h"
#include "access/reloptions.h"
#include "access/xact.h"
#include "utils/timestamp.h"
}

namespace minhash::pg {

namespace {

// The threshold for which bands and rows are chosen if an index has no options. The choice depends on the number of
// hashes. Even for the smallest number, 8, some choice reaches the default recall.
constexpr double default_threshold = 0.8;

// The options of an index, as PostgreSQL keeps them. Bands and rows are 0 if they are not specified. A threshold is an
// error that says which bands and rows suit it.
struct gin_options {
    std::int32_t length;
    minhash::banding banding;
    double threshold;
};

// The bands and rows of an index, kept from call to call, because choosing them takes longer than making keys.
struct gin_choice {
    int num_hashes; // for which they were chosen
    banding chosen;
};

banding banding_of_index(FunctionCallInfo fcinfo, int num_hashes)
{
    gin_choice* kept = static_cast<gin_choice*>(fcinfo->flinfo->fn_extra);
    if (kept == nullptr)
        fcinfo->flinfo->fn_extra = kept = allocate<gin_choice>(fcinfo->flinfo->fn_mcxt);
    else if (kept->num_hashes == num_hashes)
        return kept->chosen;
    const bytea* const options = PG_HAS_OPCLASS_OPTIONS() ? PG_GET_OPCLASS_OPTIONS() : nullptr;
    *kept = {num_hashes, gin_banding(options, num_hashes)};
    return kept->chosen;
}

bool is_first_in_statement()
{
    static TimestampTz last_told;
    const TimestampTz now = GetCurrentStatementStartTimestamp();
    return std::exchange(last_told, now) != now;
}

// Raises a NOTICE if an index with these bands and rows is expected to find too few of the rows at the threshold: a
// smaller share than recall_notice. `by_setting` says that the threshold is the setting similarity_threshold. Only a
// process that scans the index knows the threshold, and knows that the index is used. So each such process raises the
// notice, once per statement. Sometimes only one parallel worker scans the index, for all processes; sometimes every
// process does.
void notice_recall(const banding& banding, int num_hashes, double threshold, bool by_setting)
{
    const double share = band_probability(threshold, banding.bands, banding.rows);
    if (share >= recall_notice || !is_first_in_statement())
        return;
    const double wanted = std::max(default_recall, recall_notice);
    const minhash::banding better = choose_by_recall(threshold, num_hashes, wanted);
    ereport(NOTICE,
            errmsg("index with bands = %d, rows = %d finds only %.4g%% of rows at similarity %g",
                   banding.bands,
                   banding.rows,
                   100 * share,
                   threshold),
            by_setting
                ? errdetail("minhash_lsh.similarity_threshold is %g. A sequential scan finds all rows.", threshold)
                : errdetail("A sequential scan finds all rows."),
            better.bands > 0 ? errhint("Create the index with gin_minhash_ops (bands = %d, rows = %d) to find %g%%.",
                                       better.bands,
                                       better.rows,
                                       100 * wanted)
                             : errhint("Raise the threshold: no bands and rows find %g%%.", 100 * wanted));
}

// The positions of the arguments that GIN passes to gin_minhash_consistent() and gin_minhash_triconsistent(). Only
// gin_minhash_consistent() has the last one.
enum { arg_shared, arg_strategy, arg_query, arg_key_count, arg_extra_data, arg_recheck };

// Whether a row shares, or may share, a key with the query. Value is bool or GinTernaryValue. A GinTernaryValue is
// GIN_MAYBE for a key that has not been looked up.
template <typename Value>
bool is_candidate(FunctionCallInfo fcinfo)
{
    const Value* const shared = arg_internal<Value>(fcinfo, arg_shared);
    const int keys = PG_GETARG_INT32(arg_key_count);
    return std::any_of(shared, shared + keys, [](Value one) { return one != 0; });
}

void check_options(void* parsed, relopt_value* given, int count)
{
    const auto& [length, wanted, threshold] = *static_cast<const gin_options*>(parsed);
    if (threshold >= 0) {
        const banding suits = choose_by_recall(threshold, default_num_hashes, default_recall);
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("gin_minhash_ops has no threshold"),
                errdetail("Its keys are those of bands and rows."),
                suits.bands == 0 ? errhint("Use bands and rows, as lsh_params() chooses them.")
                                 : errhint("Use gin_minhash_ops (bands = %d, rows = %d), which suits %g.",
                                           suits.bands,
                                           suits.rows,
                                           threshold));
    }
    if ((wanted.bands == 0) != (wanted.rows == 0))
        fail_half_banding();
}

} // namespace

banding gin_banding(const bytea* options, int num_hashes)
{
    if (options != nullptr) {
        const banding& given = reinterpret_cast<const gin_options*>(options)->banding;
        if (given.bands != 0)
            return given;
    }
    return choose_by_recall(default_threshold, num_hashes, default_recall);
}

// gin_minhash_extract_value(signature, number of keys, null flags) -> keys
MINHASH_FUNCTION(gin_minhash_extract_value)
{
    const signature value = arg_signature(fcinfo, 0);
    const std::span<Datum> keys = make_band_keys(value, banding_of_index(fcinfo, value.scheme.num_hashes));
    *arg_internal<int32>(fcinfo, 1) = static_cast<int32>(keys.size());
    PG_RETURN_POINTER(keys.data());
}

// gin_minhash_extract_query(signature or query, number of keys, strategy, partial matches, extra data, null flags,
// search mode) -> keys. If there are no keys, the scan finds nothing.
MINHASH_FUNCTION(gin_minhash_extract_query)
{
    enum { arg_sought, arg_key_count, arg_strategy };

    const signature sought = query_of(PG_GETARG_DATUM(arg_sought), PG_GETARG_UINT16(arg_strategy)).sought;
    const banding banding = banding_of_index(fcinfo, sought.scheme.num_hashes);
    std::span<Datum> keys = make_band_keys(sought, banding);
    if (keys.size() == 1) {
        // gin_minhash_triconsistent() raises the notice of low recall. With only one key, GIN would not call that
        // function before the scan has found a row. So a single key is returned twice.
        keys = {keys.data(), 2};
        keys[1] = keys[0];
    }
    *arg_internal<int32>(fcinfo, arg_key_count) = static_cast<int32>(keys.size());
    PG_RETURN_POINTER(keys.data());
}

// gin_minhash_consistent(shared, strategy, query, number of keys, extra data, recheck, keys, null flags) -> bool
MINHASH_FUNCTION(gin_minhash_consistent)
{
    *arg_internal<bool>(fcinfo, arg_recheck) = true;
    PG_RETURN_BOOL(is_candidate<bool>(fcinfo));
}

// gin_minhash_triconsistent(shared, strategy, query, number of keys, extra data, keys, null flags) -> "char"
//
// Each scan calls this function at its start, to determine which keys a row must have to match. The planner never calls
// this function, but it does call gin_minhash_extract_query(). So the notice of low recall is raised here.
MINHASH_FUNCTION(gin_minhash_triconsistent)
{
    if (fcinfo->flinfo->fn_extra == nullptr) { // not called in this scan yet
        const StrategyNumber strategy = PG_GETARG_UINT16(arg_strategy);
        const query asked = query_of(PG_GETARG_DATUM(arg_query), strategy);
        const int num_hashes = asked.sought.scheme.num_hashes;
        notice_recall(banding_of_index(fcinfo, num_hashes),
                      num_hashes,
                      asked.threshold,
                      strategy == similar_by_setting);
    }
    PG_RETURN_GIN_TERNARY_VALUE(is_candidate<GinTernaryValue>(fcinfo) ? GIN_MAYBE : GIN_FALSE);
}

// gin_minhash_options(description of the options, to be filled in) -> void
MINHASH_FUNCTION(gin_minhash_options)
{
    local_relopts* const known = arg_internal<local_relopts>(fcinfo, 0);
    init_local_reloptions(known, sizeof(gin_options));
    add_local_int_reloption(known,
                            "bands",
                            "number of bands",
                            0,
                            1,
                            max_num_hashes,
                            offsetof(gin_options, banding.bands));
    add_local_int_reloption(known, "rows", "rows of a band", 0, 1, max_num_hashes, offsetof(gin_options, banding.rows));
    add_local_real_reloption(known, "threshold", "an error", -1, 0, 1, offsetof(gin_options, threshold));
    register_reloptions_validator(known, check_options);
    PG_RETURN_VOID();
}

} // namespace minhash::pg
