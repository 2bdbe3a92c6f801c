// lsh_evaluate(): estimates how well different settings (numbers of bands and rows) would work on a user's own texts.
#include "pg/bulk/blocks.h"
#include "pg/errors.h"
#include "pg/signer.h"

#include "bulk/evaluation/evaluation.h"

#include <algorithm>

extern "C" {
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

namespace {

// The arguments of lsh_evaluate().
enum evaluate_argument {
    arg_evaluated_query,
    arg_evaluated_threshold,
    arg_anchors,
    arg_evaluated_bands,
    arg_evaluated_rows,
    arg_evaluated_scheme, // the first of the seven arguments for a scheme
};

constexpr std::size_t most_settings = 100;
constexpr int most_anchors = 100000;

// With fewer true pairs than this, the recall is very uncertain.
constexpr std::uint64_t enough_pairs = 30;

// The lowest recall for which bands and rows are chosen.
constexpr double lowest_recall = 0.5;

// A row that may become an anchor. `hash` depends only on the id and the seed, and puts rows in a random order.
struct drawn_row {
    std::uint64_t hash;
    std::uint32_t row;

    bool operator<(const drawn_row& other) const { return hash != other.hash ? hash < other.hash : row < other.row; }
};

// Draws the rows whose ids have the smallest hashes. This choice is random, but for one seed, it is the same in each
// call, whatever the order of rows. For any n, the first n rows of the result are also a random sample.
std::span<const std::uint32_t> draw_anchors(bulk_call& call, std::uint32_t most, std::uint64_t seed)
{
    Oid output;
    bool varlena;
    getTypeOutputInfo(call.ids.type, &output, &varlena);
    const std::uint32_t count = std::min(most, row_count(call));
    drawn_row* const drawn = bulk::allocate<drawn_row>(call, count);
    std::uint32_t* const anchors = bulk::allocate<std::uint32_t>(call, count);
    std::uint32_t kept = 0;
    const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
    for (std::uint32_t row = 0; row < row_count(call); row++) {
        bulk::pause(call);
        MemoryContextReset(call.row_memory);
        const char* const id = OidOutputFunctionCall(output, fetch_datum(call.ids, row));
        const drawn_row next = {
            DatumGetUInt64(
                hash_any_extended(reinterpret_cast<const unsigned char*>(id), static_cast<int>(strlen(id)), seed)),
            row};
        if (kept == count) { // `drawn` is a heap with the largest hash first
            if (!(next < drawn[0]))
                continue;
            std::pop_heap(drawn, drawn + kept--);
        }
        drawn[kept++] = next;
        std::push_heap(drawn, drawn + kept);
    }
    MemoryContextSwitchTo(former);
    std::sort_heap(drawn, drawn + kept);
    for (std::uint32_t i = 0; i < kept; i++)
        anchors[i] = drawn[i].row;
    pfree(drawn);
    return {anchors, kept};
}

[[noreturn]] void fail_settings()
{
    ereport(ERROR,
            errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
            errmsg("arrays bands and rows must have the same number of values, none of them NULL"),
            errdetail("Between 1 and %zu settings are allowed.", most_settings),
            errhint("Use, for example, bands => '{20,16}', rows => '{5,8}'."));
}

// Argument bands or rows: an array, one number, or either of them as a text, such as '{20,16}' or '20'.
std::span<const std::int32_t> arg_numbers(FunctionCallInfo fcinfo, int argument)
{
    const Oid type = get_fn_expr_argtype(fcinfo->flinfo, argument);
    Datum given = PG_GETARG_DATUM(argument);
    if (type != INT4ARRAYOID) {
        Oid function;
        bool varlena;
        getTypeOutputInfo(type, &function, &varlena);
        const char* const shown = OidOutputFunctionCall(function, given);
        const bool is_array = strchr(shown, '{') != nullptr;
        Oid type_argument;
        getTypeInputInfo(INT4ARRAYOID, &function, &type_argument);
        given = OidInputFunctionCall(function,
                                     is_array ? const_cast<char*>(shown) : psprintf("{%s}", shown),
                                     type_argument,
                                     -1);
    }
    ArrayType* const values = DatumGetArrayTypeP(given);
    if (array_contains_nulls(values))
        fail_settings();
    return values_of<std::int32_t>(values);
}

// The settings to be tried. They come from the arguments bands and rows. If neither is given, a setting is chosen for
// each of several values of recall.
std::span<bulk::setting> arg_settings(FunctionCallInfo fcinfo, double threshold, int num_hashes)
{
    bulk::setting* const settings = static_cast<bulk::setting*>(palloc0(most_settings * sizeof(bulk::setting)));
    std::size_t count = 0;
    if (PG_ARGISNULL(arg_evaluated_bands) != PG_ARGISNULL(arg_evaluated_rows))
        fail_half_banding();
    if (PG_ARGISNULL(arg_evaluated_bands)) {
        for (const double recall : {lowest_recall, 0.8, 0.9, 0.95, 0.99, 0.999}) {
            const banding choice = choose_by_recall(threshold, num_hashes, recall);
            const auto is_same = [&](const bulk::setting& known) { return known.banding == choice; };
            if (choice.bands > 0 && std::none_of(settings, settings + count, is_same))
                settings[count++].banding = choice;
        }
        if (count == 0)
            fail_no_choice(threshold, num_hashes, lowest_recall);
        return {settings, count};
    }
    const std::span<const std::int32_t> bands = arg_numbers(fcinfo, arg_evaluated_bands);
    const std::span<const std::int32_t> rows = arg_numbers(fcinfo, arg_evaluated_rows);
    if (bands.size() != rows.size() || bands.empty() || bands.size() > most_settings)
        fail_settings();
    for (; count < bands.size(); count++) {
        settings[count].banding = {check_between("bands", bands[count], 1, max_num_hashes),
                                   check_between("rows", rows[count], 1, max_num_hashes)};
        check_hashes(settings[count].banding, num_hashes);
    }
    return {settings, count};
}

void return_settings(std::span<const bulk::setting> settings,
                     const bulk::evaluation_result& result,
                     const ReturnSetInfo& to)
{
    const double pairs = static_cast<double>(result.true_pairs);
    const bool none = result.true_pairs == 0; // without true pairs, recall is NULL
    for (const bulk::setting& each : settings) {
        Datum values[] = {
            Int32GetDatum(each.banding.bands),
            Int32GetDatum(each.banding.rows),
            Int32GetDatum(static_cast<std::int32_t>(result.anchors)),
            Int64GetDatum(static_cast<std::int64_t>(each.candidates)),
            Int64GetDatum(static_cast<std::int64_t>(result.true_pairs)),
            Int64GetDatum(static_cast<std::int64_t>(each.found)),
            Float8GetDatum(none ? 0 : static_cast<double>(each.found) / pairs),
            Float8GetDatum(each.recall.low),
            Float8GetDatum(each.recall.high),
            Float8GetDatum(none ? 0 : each.predicted / pairs),
            Int64GetDatum(static_cast<std::int64_t>(each.candidates - each.found)),
        };
        bool nulls[] = {false, false, false, false, false, false, none, none, none, none, false};
        tuplestore_putvalues(to.setResult, to.setDesc, values, nulls);
    }
}

void notice_few_pairs(const bulk_call& call, const bulk::evaluation_result& result)
{
    if (result.true_pairs >= enough_pairs || result.anchors == row_count(call))
        return;
    ereport(NOTICE,
            errmsg("too few pairs reach the threshold to judge recall by"),
            errdetail("%u anchors have %llu near-duplicates among %u rows.",
                      result.anchors,
                      static_cast<unsigned long long>(result.true_pairs),
                      row_count(call)),
            errhint("Use more anchors, or a lower threshold."));
}

} // namespace

// lsh_evaluate(query, threshold, anchors, bands, rows, num_hashes, shingle_size, unit, fold, bag,
//              seed, method)
// -> (bands, rows, anchors, candidates, true_pairs, found, recall, recall_low, recall_high,
//     predicted_recall, false_candidates)
MINHASH_FUNCTION(lsh_evaluate)
{
    for (int argument = 0; argument < PG_NARGS(); argument++) {
        const bool optional = argument == arg_evaluated_bands || argument == arg_evaluated_rows;
        if (!optional)
            refuse_null(fcinfo, argument);
    }
    const int most = arg_between(fcinfo, arg_anchors, "anchors", 2, most_anchors);
    bulk_request wanted = {};
    wanted.threshold = arg_fraction(fcinfo, arg_evaluated_threshold, "threshold");
    wanted.banding = {1, 1}; // any valid banding: bands are compared by their slots, not by keys
    wanted.recall = bulk::truth_recall;
    wanted.verify = verification::exact;
    wanted.texts_only = "Pairs are compared exactly, and a signature does not suffice for that.";
    wanted.whole_slots = true;
    wanted.texts = arg_scheme(fcinfo, arg_evaluated_scheme);
    wanted.id_type = InvalidOid; // any
    const std::span<bulk::setting> settings = arg_settings(fcinfo, wanted.threshold, wanted.texts.num_hashes);
    bulk_call& call = start_call<bulk_call>(fcinfo, wanted);
    const planned_select query = plan_select(fcinfo, arg_evaluated_query);
    read_queries(call, {&query, 1});
    // Anchors are drawn before the engine's steps, because the output function of ids may be user code. It may have to
    // run in parallel mode, as when PostgreSQL sends the rows of a parallel query.
    std::span<const std::uint32_t> anchors;
    if (row_count(call) > 0)
        anchors = draw_anchors(call, static_cast<std::uint32_t>(most), wanted.texts.seed);
    end_reading(call);
    bulk::evaluation_result found = {};
    if (row_count(call) > 0)
        found = bulk::evaluate(*call.rows, anchors, settings);
    notice_few_pairs(call, found);
    return_settings(settings, found, *call.result);
    return end_call(call);
}

} // namespace minhash::pg
