// lsh_sample(): estimates from a sample of the rows what lsh_pairs() will find, and how much time and memory it will
// need. Rows are drawn by hashes of their ids, so that a seed always draws the same rows. If all rows are drawn, they
// are simply compared. Otherwise some of them are anchors, which are compared with each other, and then with a share of
// all other rows: by lookups in an lsh index if there is one and the rows are many, or else by reading and signing the
// other rows. How many are compared depends on the costs that the plan of bands predicts (bulk/tuning/choose_bands.h),
// and not on clocks, which are used only to predict the seconds.
#include "pg/bulk/sample_rows.h"
#include "pg/errors.h"
#include "pg/signer.h"

#include "bulk/evaluation/sample.h"
#include "bulk/search/pairs.h"

#include <algorithm>
#include <cmath>
#include <ctime>

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

namespace {

// The arguments of lsh_sample().
enum sample_argument {
    arg_sampled_query,
    arg_sampled_threshold,
    arg_share,
    arg_sampled_verify,
    arg_sampled_hashes,
    arg_sampled_shingling, // the first of four
    arg_sample_seed = arg_sampled_shingling + 4
};

constexpr std::uint32_t most_anchors = 1000;
constexpr std::uint32_t least_anchors = 250;
constexpr double whole_bytes = 64e6;  // of no more text than this, all rows are compared with the anchors
constexpr double most_cost = 1e9;     // what comparing them may cost, in nanoseconds
constexpr double most_looked_up = 10; // by an index, if an anchor has no more near rows than this, on average
constexpr double large_bucket = 1024; // bulk::most_gathered

// Costs of lsh_pairs(), in nanoseconds (test/bench/RESULTS.md): returning a pair; comparing a pair that is near, for
// each pair and each byte of its texts; and cutting a text that is compared, for each byte.
constexpr double returning_cost = 200;
constexpr double pair_cost = 100;
constexpr double byte_cost = 0.3;
constexpr double set_cost = 3;

double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void count_pair(bulk::host& host, const bulk::found_pair& pair)
{
    sample_call& call = static_cast<sample_call&>(host);
    if (call.is_anchor != nullptr && call.is_anchor[pair.left])
        return;
    call.near[pair.left]++;
    call.near[pair.right]++;
    call.found++;
    call.equal += pair.similarity == 1;
}

// Finds the pairs of a call, and counts them by row. Returns the CPU seconds that this took.
double find_pairs(sample_call& call)
{
    const double start = now();
    call.near = bulk::allocate<std::uint32_t>(call, row_count(call));
    bulk::clear(call, call.near, row_count(call));
    if (row_count(call) > 1)
        bulk::find_pairs(*call.rows, call.crossing, count_pair);
    return now() - start;
}

// What is known so far.
struct sampling {
    sample_call* call; // with the drawn rows
    planned_select query;
    double rows;                   // of the query
    double bytes;                  // the mean size of a text or signature
    std::uint32_t median_shingles; // 0: not known
    std::span<drawn_row> anchors;
    bulk::anchor_counts counts;
    double share;        // the user's argument
    sample_call* reread; // other rows that were read later than the drawn rows; or null
    const char* near;    // a query that looks the anchors up in an index; null: there is no index
    double reading;      // CPU seconds for all rows
    double signing;      // for one row
    double finding;      // for the pairs of anchors
};

// Draws the rows to compare. If there are many rows and an lsh index, _lsh_sample_plan() says how to draw and look them
// up.
void draw(sampling& self, FunctionCallInfo fcinfo)
{
    sample_call& call = *self.call;
    planned_select drawn = self.query;
    const auto* const source =
        static_cast<const CachedPlanSource*>(linitial(SPI_plan_get_plan_sources(self.query.plan)));
    take_columns(call, source->resultDesc);
    if (self.query.rows * self.query.width > whole_bytes) {
        const char* const schema = get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid));
        constexpr int count = 9;
        Oid types[count] = {TEXTOID, TEXTOID, FLOAT8OID, TEXTOID, INT4OID, INT4OID, TEXTOID, BOOLOID, BOOLOID};
        const auto said = [](bool value) { return value ? "true" : "false"; };
        Datum values[count] = {PG_GETARG_DATUM(arg_sampled_query), CStringGetTextDatum(namespace_search_path)};
        char nulls[count + 1] = "         ";
        for (int i = 2; i < count; i++) {
            const int argument = i == 2 ? arg_sampled_threshold : arg_sampled_verify + i - 3;
            values[i] = PG_GETARG_DATUM(argument);
            nulls[i] = PG_ARGISNULL(argument) ? 'n' : ' ';
        }
        const char* const ask = psprintf("SELECT * FROM %s._lsh_sample_plan($1, $2, %u, %s, %s, %u, " INT64_FORMAT
                                         ", $3, $4, $5, $6, $7, $8, $9)",
                                         quote_identifier(schema),
                                         getBaseType(call.wanted.id_type),
                                         said(!call.from_texts),
                                         said(call.scope_column > 0),
                                         most_anchors,
                                         call.seed);
        const double start = now();
        if (SPI_execute_with_args(ask, count, types, values, nulls, false, 1) != SPI_OK_SELECT || SPI_processed != 1)
            elog(ERROR, "_lsh_sample_plan() failed");
        bool null;
        const Datum rows = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
        if (!null && DatumGetInt64(rows) > most_drawn) {
            self.rows = static_cast<double>(DatumGetInt64(rows));
            self.reading = now() - start;
            self.near = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 3);
            drawn = plan_query(SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2));
        }
    }
    if (self.near == nullptr && self.query.rows * self.query.width > whole_bytes)
        call.others =
            &start_others(fcinfo, call, std::max(self.share, whole_bytes / (self.query.rows * self.query.width)));
    const double start = now();
    draw_rows(call, drawn);
    const bool by_ids = self.near != nullptr;
    if (!by_ids) {
        self.rows = static_cast<double>(call.read);
        self.reading = now() - start;
    }
    self.anchors = {call.drawn, call.dropped ? std::min(call.kept, most_anchors) : call.kept};
    if (call.dropped)
        self.near = nullptr; // it would look up other rows
    else if (!by_ids)        // as lsh_pairs() gets them
        std::sort(self.anchors.begin(), self.anchors.end(), [](const drawn_row& a, const drawn_row& b) {
            return a.arrival < b.arrival;
        });
}

// Compares the anchors with each other.
void compare_anchors(sampling& self)
{
    sample_call& call = *self.call;
    take_drawn(call, self.anchors);
    double bytes = 0;
    for (std::uint32_t row = 0; row < row_count(call); row++)
        bytes += static_cast<double>(bulk::document_size(*call.rows, row));
    self.bytes = bytes / std::max(1U, row_count(call));
    if (row_count(call) > 0) {
        self.median_shingles = call.from_texts ? bulk::median_shingles(*call.rows) : 0;
        choose_by_sample(call, self.rows);
    }
    const double start = now();
    end_reading(call);
    self.signing = row_count(call) == 0 ? 0 : (now() - start) / row_count(call);
    self.finding = find_pairs(call);
}

// Looks the anchors up in the index. Returns false if they have so many near rows that another way is cheaper.
bool look_up_drawn(sampling& self)
{
    const double anchors = self.counts.anchors;
    const double mean = 2 * static_cast<double>(self.call->found) / anchors * self.rows / anchors;
    if (self.near == nullptr || mean > most_looked_up)
        return false;
    if (SPI_execute(self.near, true, 1) != SPI_OK_SELECT || SPI_processed != 1)
        elog(ERROR, "looking up anchors failed");
    double* const into[] = {&self.counts.near, &self.counts.squares, &self.counts.paired};
    for (int i = 0; i < 3; i++) {
        bool null;
        *into[i] = DatumGetFloat8(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1, &null));
    }
    ereport(DEBUG1, errmsg_internal("looked up %zu anchors among %.0f rows", self.anchors.size(), self.rows));
    return true;
}

// Adds up what was found: `others` is the call in which anchors were compared with other rows, if there is one. There,
// anchors come last.
void count_near(sampling& self, const sample_call* others)
{
    bulk::anchor_counts& counts = self.counts;
    std::uint32_t row = others != nullptr ? others->rows->first_count : 0;
    for (const drawn_row& anchor : self.anchors) {
        if (anchor.row == bulk::no_row)
            continue;
        const double inner = self.call->near[anchor.row];
        const double outer = others != nullptr ? others->near[row++] : 0;
        const double near = inner + outer / counts.share;
        counts.near += near;
        counts.squares += near * near;
        counts.paired += near > 0;
        counts.single += inner == 0 && outer == 1;
    }
    for (row = 0; others != nullptr && row < others->rows->first_count; row++)
        counts.seen_squares += std::pow(others->near[row], 2);
}

// Compares anchors with a share of the other rows. Fewer anchors are used if it would cost too much.
void compare_others(sampling& self, FunctionCallInfo fcinfo)
{
    const sample_call& drawn = *self.call;
    const double pairs = self.rows * (self.rows - 1) / 2;
    constexpr double least_cost = 0.1;
    const std::optional<bulk::bands_plan>& plan = drawn.rows->task.plan; // none if all of the drawn texts are empty
    const double cost = plan ? std::max(least_cost, plan->verifying / pairs) : least_cost;
    const double bytes = self.rows * self.bytes;
    const double share = std::min({1.0, whole_bytes / bytes, most_cost / (cost * least_anchors * self.rows)});
    self.counts.share = std::max(self.share, share);
    const double anchors = most_cost / (cost * self.counts.share * self.rows);
    const auto most = static_cast<std::size_t>(std::clamp<double>(anchors, least_anchors, most_anchors));
    const std::span<drawn_row> all = self.anchors;
    self.anchors = all.first(std::min(most, all.size()));
    self.counts.anchors = static_cast<double>(self.anchors.size());

    sample_call* read = drawn.others; // if its share is about right
    if (read != nullptr && read->share <= 1.25 * self.counts.share && read->share >= 0.5 * self.counts.share) {
        mark_anchors(*read, all);
    } else {
        read = self.reread = &start_others(fcinfo, drawn, self.counts.share);
        const double start = now();
        read_others(*read, drawn, self.query, all);
        self.reading = now() - start;
    }
    sample_call& call = *read;
    call.again.scanned = nullptr;
    call.skipped = 0;
    call.wanted.notes_short_texts = false; // they have been given for the drawn rows
    const double others = self.rows - static_cast<double>(all.size());
    self.counts.share = static_cast<double>(std::max<std::uint64_t>(call.chosen, 1)) / others;
    if (row_count(call) == 0)
        return count_near(self, nullptr);
    const std::uint32_t before = row_count(call);
    const std::span<drawn_row> copies(static_cast<drawn_row*>(palloc(all.size_bytes())), self.anchors.size());
    std::copy(self.anchors.begin(), self.anchors.end(), copies.begin());
    call.columns = drawn.columns;
    take_drawn(call, copies);
    call.skipped = 0;
    bulk::task task = call.rows->task;
    task.banding = drawn.rows->task.banding;
    task.scheme = drawn.rows->task.scheme;
    bulk::set_task(*call.rows, task);
    call.rows->first_count = before;
    call.crossing = true;
    const double start = now();
    end_reading(call);
    self.signing = (now() - start) / row_count(call);
    find_pairs(call);
    count_near(self, &call);
    ereport(DEBUG1,
            errmsg_internal("compared %zu anchors with %u other rows of %.0f", self.anchors.size(), before, self.rows),
            errdetail_internal("They have %llu pairs.", static_cast<unsigned long long>(call.found)));
}

// The CPU seconds that comparing will take, if not all rows are anchors. Texts are compared faster if many are alike,
// so the cost of a comparison is taken from the pairs of anchors if there are enough of them.
double foretell_comparing(const sampling& self, double pairs, double near_rows)
{
    constexpr std::uint64_t enough = 1000;
    const std::optional<bulk::bands_plan>& plan = self.call->rows->task.plan;
    if (!plan) // all of the anchors are empty
        return 0;
    const bool exact = self.call->rows->task.exact;
    if (self.call->found >= enough) {
        const double grouping = self.rows * plan->banding.bands * bulk::costs_of(self.bytes, exact).band;
        return self.finding / static_cast<double>(self.call->found) * pairs + 1e-9 * grouping;
    }
    const double looks = std::max(0.0, plan->candidates * self.rows - pairs) * plan->look;
    const double sets = exact ? near_rows * set_cost * self.bytes : 0;
    const double checks =
        std::max(pairs, plan->checks * self.rows) * (pair_cost + (exact ? byte_cost * self.bytes : 0));
    return 1e-9 * (plan->grouping + looks + sets + checks);
}

// The CPU seconds that lsh_pairs() will take with a single process.
double foretell_seconds(const sampling& self, const bulk::sample_estimate& result)
{
    const interval between = result.near_share_between;
    const double near = result.near_share.value_or((between.low + between.high) / 2) * self.rows;
    const bool all = self.counts.anchors == self.rows || self.call->rows == nullptr;
    return self.reading + self.signing * self.rows +
           (all ? self.finding : foretell_comparing(self, result.pairs, near)) + 1e-9 * returning_cost * result.pairs;
}

// How many bytes lsh_pairs() will need: what its notice would say. A pair that was found takes 16 bytes. In buckets
// that are not large, it takes about as many as a candidate. Pairs of equal rows take none.
double foretell_memory(const sampling& self, double pairs)
{
    const sample_call& call = *self.call;
    if (call.rows == nullptr)
        return 0;
    const double differ = call.found == 0 ? 1 : 1 - static_cast<double>(call.equal) / static_cast<double>(call.found);
    const double of_pair = pairs / self.rows > large_bucket / 2 ? 16 : 32;
    const double of_row = bulk::bytes_of_row(*call.rows) + sizeof(Datum) + (self.query.kept ? self.bytes : 0);
    return 1.125 * (self.rows * of_row + pairs * differ * of_pair); // bulk::needed_bytes()
}

void return_estimate(const sampling& self)
{
    const sample_call& call = *self.call;
    const bulk::sample_estimate result = bulk::estimate(self.counts);
    const std::uint32_t median = self.median_shingles;
    const auto whole = [](double value) { return Int64GetDatum(static_cast<std::int64_t>(std::llround(value))); };
    Datum values[] = {
        whole(self.rows),
        whole(result.pairs),
        whole(std::floor(result.pairs_between.low)),
        whole(std::ceil(result.pairs_between.high)),
        Float8GetDatum(result.near_share.value_or(0)),
        Float8GetDatum(result.near_share_between.low),
        Float8GetDatum(result.near_share_between.high),
        Float8GetDatum(foretell_seconds(self, result)),
        whole(foretell_memory(self, result.pairs)),
        Int64GetDatum(median),
    };
    bool nulls[lengthof(values)] = {};
    nulls[4] = !result.near_share;
    nulls[9] = median == 0;
    tuplestore_putvalues(call.result->setResult, call.result->setDesc, values, nulls);
}

bulk_request arg_sample(FunctionCallInfo fcinfo)
{
    constexpr const char* names[] = {"num_hashes", "shingle_size", "unit", "fold", "bag"};
    for (const int argument : {arg_sampled_query, arg_share, arg_sample_seed})
        refuse_null(fcinfo, argument);
    if (PG_ARGISNULL(arg_sampled_threshold)) // perhaps (query, NULL::bigint)
        ereport(ERROR,
                errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                errmsg("threshold must not be NULL"),
                errhint("Leave it out to get the default. No type of ids is needed."));
    bulk_request wanted = {};
    wanted.threshold = arg_fraction(fcinfo, arg_sampled_threshold, "threshold");
    wanted.recall = default_recall;
    if (!PG_ARGISNULL(arg_sampled_verify))
        wanted.verify = arg_verification(fcinfo, arg_sampled_verify);
    wanted.texts = default_text_scheme;
    wanted.texts.shingles = arg_shingling(fcinfo, arg_sampled_shingling);
    wanted.hashes_given = !PG_ARGISNULL(arg_sampled_hashes);
    if (wanted.hashes_given)
        wanted.texts.num_hashes = static_cast<std::uint16_t>(
            arg_between(fcinfo, arg_sampled_hashes, "num_hashes", min_num_hashes, max_num_hashes));
    for (int i = static_cast<int>(lengthof(names)) - 1; i >= 0; i--)
        if (!PG_ARGISNULL(arg_sampled_hashes + i))
            wanted.signing = names[i];
    wanted.id_type = InvalidOid; // any
    wanted.notes_short_texts = true;
    return wanted;
}

} // namespace

// lsh_sample(query, threshold, share, verify, num_hashes, shingle_size, unit, fold, bag, seed)
// -> (row_count, pairs, pairs_low, pairs_high, near_share, near_share_low, near_share_high, seconds, memory,
//     median_shingles)
MINHASH_FUNCTION(lsh_sample)
{
    const bulk_request wanted = arg_sample(fcinfo);
    sample_call& call = start_call<sample_call>(fcinfo, wanted);
    call.most_workers = 0; // so that this process's CPU time is the time of all work
    call.seed = PG_GETARG_INT64(arg_sample_seed);
    sampling self = {};
    self.call = &call;
    self.share = arg_fraction(fcinfo, arg_share, "share");
    self.query = plan_select(fcinfo, arg_sampled_query);
    draw(self, fcinfo);
    compare_anchors(self);
    self.counts.rows = self.rows;
    self.counts.anchors = static_cast<double>(self.anchors.size());
    self.counts.share = 1;
    if (self.counts.anchors == self.rows || row_count(call) == 0)
        count_near(self, nullptr);
    else if (!look_up_drawn(self))
        compare_others(self, fcinfo);
    return_estimate(self);
    for (sample_call* each : {call.others, self.reread})
        if (each != nullptr) {
            end_host(*each);
            end_rereading(each->again);
        }
    call.budget.filed = 0; // no notice, because it would be about the sample
    return end_call(call);
}

} // namespace minhash::pg
