// Chooses the numbers of hashes, bands and rows per band that the user has not specified. The choice with the lowest
// cost is used; the costs are predicted from a sample of the call's rows (bulk/tuning/choose_bands.h). The choice
// depends only on the rows and the arguments of the call. The scopes of the sample's rows are ignored; only the notice
// knows of them. This can lead to a bad choice, but a bad choice costs only time, not recall. With max_bucket, however,
// it would also cost recall: buckets would be larger, and more of them would be left out. So with max_bucket, no sample
// is used, and bands have as many rows as the threshold, the recall and the number of hashes allow.
#include "pg/bulk/call.h"
#include "pg/errors.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

// The minimum recall of the bands if texts are compared exactly. Only candidates are compared, so nearly all true pairs
// must be candidates.
constexpr double least_exact_recall = 0.99;

// If more candidates per row than this are expected, a notice says so.
constexpr double many_candidates = 1000;

// Bounds for the number of hashes to choose if texts are compared exactly. (The signatures are then never shown.)
constexpr int least_hashes = 64;
constexpr int most_hashes = 1024;

bool is_exact(const bulk_call& call) { return call.from_texts && call.wanted.verify != verification::estimate; }

double recall_of(const bulk_call& call)
{
    return is_exact(call) ? std::max(call.wanted.recall, least_exact_recall) : call.wanted.recall;
}

// A number of 10 or more, rounded to two significant digits.
double rounded(double number)
{
    const double unit = std::pow(10, std::floor(std::log10(number)) - 1);
    return std::round(number / unit) * unit;
}

// How many pairs there are in one scope, on average for each row. If the rows are a sample of `all_rows`, the number is
// that of all rows.
double pairs_in_scope(const bulk_call& call, double all_rows)
{
    const bulk::row_set& rows = *call.rows;
    std::uint32_t most = 0;
    for (std::uint32_t row = 0; row < rows.count; row++)
        most = std::max(most, rows.scopes.values[row]);
    const std::size_t bytes = (std::size_t{most} + 1) * sizeof(std::uint32_t);
    auto* const met = static_cast<std::uint32_t*>(
        MemoryContextAllocExtended(CurrentMemoryContext,
                                   bytes,
                                   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO)); // rows of each scope that a row can be near
    double pairs = 0;
    for (std::uint32_t row = 0; row < rows.count; row++) {
        const bool first = !call.crossing || row < rows.first_count;
        std::uint32_t& others = met[rows.scopes.values[row]];
        if (!call.crossing || !first)
            pairs += others;
        others += first;
    }
    pfree(met);
    return pairs / rows.count * (all_rows / rows.count);
}

void tell(const bulk_call& call, const bulk::bands_plan& plan, double rows)
{
    const double threshold = call.rows->task.threshold;
    double candidates = plan.candidates;
    if (candidates > many_candidates && call.rows->task.scoped)
        candidates = std::min(candidates, pairs_in_scope(call, rows));
    if (candidates > many_candidates)
        ereport(NOTICE,
                errmsg("about %.0f candidates are expected for each row", rounded(candidates)),
                errdetail("Even %d bands of %d rows, the best choice for threshold %g, bring many rows together that "
                          "are not near.",
                          plan.banding.bands,
                          plan.banding.rows,
                          threshold),
                errhint("This can take long. Use a higher threshold, a lower recall, or longer shingles."));
    ereport(DEBUG1,
            errmsg_internal("using %d hashes in %d bands of %d rows",
                            plan.num_hashes,
                            plan.banding.bands,
                            plan.banding.rows),
            errdetail_internal("About %.1f candidates are expected for each row.", plan.candidates));
}

} // namespace

void choose_by_sample(bulk_call& call, double all_rows)
{
    bulk::task task = call.rows->task;
    if (task.banding.bands > 0 || task.sets_only)
        return;
    double mean_bytes = 0;
    bulk::sampled_counts counts;
    const bulk::agreement_counts agreements = bulk::sample_rows(*call.rows, counts, mean_bytes);
    const bool open_hashes = task.exact && !call.wanted.hashes_given;
    const int hashes = task.scheme.num_hashes;
    const double rows = std::max<double>(row_count(call), all_rows);
    const double first = call.rows->first_count;
    bulk::bands_wanted wanted = {
        .rows = rows,
        .pairs = call.crossing ? first * (rows - first) : rows * (rows - 1) / 2,
        .threshold = task.threshold,
        .recall = bulk::recall_to_expect(task.recall),
        .missed = bulk::share_missed(task.recall),
        .least_hashes = open_hashes ? least_hashes : hashes,
        .most_hashes = open_hashes ? most_hashes : hashes,
        .exact = task.exact,
    };
    const bulk::work_costs costs = bulk::costs_of(task.given ? 0 : mean_bytes, task.exact);
    bulk::bands_plan plan = bulk::choose_by_cost(wanted, agreements, costs);
    if (plan.banding.bands == 0) { // too few hashes to aim higher than the promised recall
        wanted.recall = task.recall;
        plan = bulk::choose_by_cost(wanted, agreements, costs);
    }
    if (plan.banding.bands == 0)
        fail_no_choice(wanted.threshold, wanted.most_hashes, wanted.recall);
    task.banding = plan.banding;
    task.scheme.num_hashes = static_cast<std::uint16_t>(plan.num_hashes);
    task.plan = plan;
    bulk::set_task(*call.rows, task);
    tell(call, plan, rows);
}

bulk::task make_task(const bulk_call& call, const scheme& scheme)
{
    const bulk_request& wanted = call.wanted;
    const double recall = recall_of(call);
    banding chosen = wanted.banding;
    if (chosen.bands == 0 && wanted.max_bucket > 0) {
        chosen = choose_by_recall(wanted.threshold, scheme.num_hashes, recall);
        if (chosen.bands == 0)
            fail_no_choice(wanted.threshold, scheme.num_hashes, recall);
    }
    if (!wanted.sets_only)
        check_bands(chosen.bands > 0 ? chosen : banding{1, 1}, scheme);
    return {
        .scheme = scheme,
        .banding = chosen,
        .threshold = wanted.threshold,
        .exact = is_exact(call),
        .max_bucket = static_cast<std::uint32_t>(wanted.max_bucket),
        .scoped = call.scope_column > 0,
        .sets_only = wanted.sets_only,
        .weighted = wanted.weighted,
        .recall = recall,
        .whole_slots = wanted.whole_slots,
    };
}

} // namespace minhash::pg
