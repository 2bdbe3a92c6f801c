// lsh_evaluate(): how well bands and rows would do on a sample of a user's own texts.
#include "pg/arguments.h"
#include "pg/bulk/query.h"
#include "pg/errors.h"
#include "pg/signer.h"

#include "bulk/evaluation.h"

#include <algorithm>

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

namespace {

// The arguments of lsh_evaluate().
enum evaluate_argument {
    arg_sampled_query,
    arg_sample_size,
    arg_sample_threshold,
    arg_evaluated_bands,
    arg_evaluated_rows,
    arg_sample_scheme, // the first of seven
};

constexpr int most_settings = 100;
constexpr int most_sampled = 20000;

// The rows with the smallest hashes of their ids: a random sample that is the same every time.
const char* sample_query(const char* query, int sample_size)
{
    refuse_name(query, "id, body");
    std::size_t length = strlen(query);
    while (length > 0 && strchr("; \t\r\n", query[length - 1]) != nullptr)
        length--;
    return psprintf("SELECT id, value FROM (%.*s\n) AS asked (id, value)"
                    " ORDER BY pg_catalog.hashtextextended(id::pg_catalog.text, 42), id LIMIT %d",
                    static_cast<int>(length),
                    query,
                    sample_size);
}

[[noreturn]] void fail_settings()
{
    ereport(ERROR,
            errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
            errmsg("arrays bands and rows must have the same number of values, none of them NULL"),
            errdetail("Between 1 and %d settings are allowed.", most_settings),
            errhint("Use, for example, bands => '{20,16}', rows => '{5,8}'."));
    pg_unreachable();
}

// The settings to be tried: those of the arguments bands and rows, or, if neither is given, the
// choices for several recalls.
std::span<bulk::setting> arg_settings(FunctionCallInfo fcinfo, double threshold, int num_hashes)
{
    bulk::setting* const settings =
        static_cast<bulk::setting*>(palloc0(most_settings * sizeof(bulk::setting)));
    std::size_t count = 0;
    if (PG_ARGISNULL(arg_evaluated_bands) != PG_ARGISNULL(arg_evaluated_rows))
        fail_half_banding();
    if (PG_ARGISNULL(arg_evaluated_bands)) {
        for (const double recall : {0.5, 0.8, 0.9, 0.95, 0.99, 0.999}) {
            const band_choice choice = choose_by_recall(threshold, num_hashes, recall);
            const bool fresh =
                choice.bands > 0 &&
                std::none_of(settings, settings + count, [&](const bulk::setting& s) {
                    return s.shape.bands == choice.bands && s.shape.rows == choice.rows;
                });
            if (fresh)
                settings[count++].shape = {choice.bands, choice.rows};
        }
        return {settings, count};
    }
    Datum* values[2];
    int counts[2];
    for (const int side : {0, 1}) {
        bool* nulls;
        ArrayType* const given = PG_GETARG_ARRAYTYPE_P(arg_evaluated_bands + side);
        deconstruct_array(given,
                          INT4OID,
                          sizeof(std::int32_t),
                          true,
                          TYPALIGN_INT,
                          &values[side],
                          &nulls,
                          &counts[side]);
        if (std::any_of(nulls, nulls + counts[side], [](bool null) { return null; }))
            fail_settings();
    }
    if (counts[0] != counts[1] || counts[0] < 1 || counts[0] > most_settings)
        fail_settings();
    for (; count < static_cast<std::size_t>(counts[0]); count++) {
        const banding shape = {DatumGetInt32(values[0][count]), DatumGetInt32(values[1][count])};
        if (shape.bands < 1 || shape.bands > max_num_hashes)
            fail_range("bands", shape.bands, 1, max_num_hashes);
        if (shape.rows < 1 || shape.rows > max_num_hashes)
            fail_range("rows", shape.rows, 1, max_num_hashes);
        check_hashes(shape, num_hashes);
        settings[count].shape = {shape.bands, shape.rows};
    }
    return {settings, count};
}

void return_settings(std::span<const bulk::setting> settings,
                     std::uint64_t true_pairs,
                     const ReturnSetInfo& result)
{
    const double pairs = static_cast<double>(true_pairs);
    const bool none = true_pairs == 0; // recall of nothing is NULL
    for (const bulk::setting& each : settings) {
        Datum values[] = {
            Int32GetDatum(each.shape.bands),
            Int32GetDatum(each.shape.rows),
            Int64GetDatum(static_cast<std::int64_t>(each.candidates)),
            Int64GetDatum(static_cast<std::int64_t>(true_pairs)),
            Int64GetDatum(static_cast<std::int64_t>(each.found)),
            Float8GetDatum(none ? 0 : static_cast<double>(each.found) / pairs),
            Float8GetDatum(none ? 0 : each.predicted / pairs),
            Int64GetDatum(static_cast<std::int64_t>(each.candidates - each.found)),
        };
        bool nulls[] = {false, false, false, false, false, none, none, false};
        tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
    }
}

} // namespace

// lsh_evaluate(query, sample_size, threshold, bands, rows, num_hashes, shingle_size, unit, fold,
// bag,
//              seed, method)
// -> (bands, rows, candidates, true_pairs, found, recall, predicted_recall, false_candidates)
MINHASH_FUNCTION(lsh_evaluate)
{
    for (int argument = 0; argument < PG_NARGS(); argument++) {
        const bool optional = argument == arg_evaluated_bands || argument == arg_evaluated_rows;
        if (!optional && PG_ARGISNULL(argument))
            fail_null_argument(argument, fcinfo->flinfo->fn_oid);
    }
    const int sample_size = arg_between(fcinfo, arg_sample_size, "sample_size", 2, most_sampled);
    bulk_request wanted = {};
    wanted.threshold = arg_fraction(fcinfo, arg_sample_threshold, "threshold");
    wanted.shape = {1, 1}; // no band is looked at by its key
    wanted.verify = verification::exact;
    wanted.texts = arg_scheme(fcinfo, arg_sample_scheme);
    wanted.id_type = InvalidOid; // any
    const std::span<bulk::setting> settings =
        arg_settings(fcinfo, wanted.threshold, wanted.texts.num_hashes);
    const ReturnSetInfo& result = start_rows(fcinfo);

    SPI_connect();
    bulk_job& job = *allocate<bulk_job>(CurrentMemoryContext);
    job = {};
    start_job(job, fcinfo, wanted);
    const char* const query = text_to_cstring(PG_GETARG_TEXT_PP(arg_sampled_query));
    read_query(job, plan_select(sample_query(query, sample_size)));
    end_reading(job);
    const std::uint64_t true_pairs = row_count(job) > 1 ? bulk::evaluate(*job.rows, settings) : 0;
    return_settings(settings, true_pairs, result);
    end_job(job);
    SPI_finish();
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
