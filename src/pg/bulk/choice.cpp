#include "pg/bulk/choice.h"
#include "pg/bulk/query.h"
#include "pg/errors.h"

#include "bulk/tuning/sample.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include "catalog/pg_type.h"
#include "utils/datum.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

// Rows that wait, at most, and the share of the memory that they may take. Rows of one family often
// come one after the other, so the sample is taken from more rows than it has.
constexpr std::uint32_t most_waiting = 10000;
constexpr std::size_t share_of_memory = 4;

// Exact pairs are candidates before anything else, so candidates must not be what loses them.
constexpr double least_exact_recall = 0.99;

// More candidates than this are worth a notice.
constexpr double many_candidates = 1000;

// Hashes that texts are signed with where they are to be compared exactly, so that nobody sees how
// many there are.
constexpr int least_hashes = 64;
constexpr int most_hashes = 1024;

bool is_exact(const bulk_call& call)
{
    return call.from_texts && call.wanted.verify != verification::estimate;
}

// Whether signatures come from a table where most can be read again.
bool lie_elsewhere(const bulk_call& call)
{
    return call.again.scanned != nullptr && !call.from_texts && !call.wanted.whole_slots;
}

double recall_of(const bulk_call& call)
{
    return is_exact(call) ? std::max(call.wanted.recall, least_exact_recall) : call.wanted.recall;
}

// A sample of the rows that wait, and the mean size of its texts.
struct sampled {
    bulk::row_sample rows;
    minhash::scheme scheme; // of signatures
    double mean_bytes;
};

sampled take_sample(bulk_call& call)
{
    waiting_rows& waiting = call.waiting;
    sampled taken = {};
    bulk::text_signer* signer = nullptr;
    if (call.from_texts) {
        taken.scheme = call.wanted.texts;
        taken.scheme.num_hashes = bulk::most_sampled_slots;
        signer = bulk::make_signer(call, taken.scheme);
    }
    const std::uint32_t count = std::min(waiting.count, bulk::most_sampled);
    for (std::uint32_t i = 0; i < count; i++) {
        MemoryContextReset(call.row_memory);
        const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
        const auto place = static_cast<std::uint32_t>(std::uint64_t{i} * waiting.count / count);
        bool null;
        const Datum value = fetch_datum(waiting.values, place, null);
        signature read;
        if (call.from_texts) {
            const bulk::text_bytes bytes = utf8_of(call, DatumGetTextPP(value));
            taken.mean_bytes += static_cast<double>(bytes.size()) / count;
            read = {taken.scheme, bulk::sign(*signer, bytes)};
        } else {
            const auto* const stored = reinterpret_cast<const struct varlena*>(value);
            read = decode_stored({reinterpret_cast<const std::uint8_t*>(VARDATA(stored)),
                                  VARSIZE(stored) - VARHDRSZ});
        }
        if (i == 0) {
            taken.scheme = read.scheme;
            taken.rows = bulk::start_sample(call, read.scheme);
        }
        if (comparable({taken.scheme, {}}, {read.scheme, {}}))
            bulk::add_to_sample(taken.rows, read);
        MemoryContextSwitchTo(former);
    }
    return taken;
}

// How many rows the queries will have given.
void expect_rows(const bulk_call& call, bool ended, double& rows, double& pairs)
{
    const double met = call.waiting.count;
    const double first = ended ? met : std::max(call.expected_rows, 2 * met);
    rows = first + call.other_rows.value_or(0);
    pairs = call.other_rows ? first * *call.other_rows : first * (first - 1) / 2;
}

// Two digits of a number of 10 or more.
double rounded(double number)
{
    const double unit = std::pow(10, std::floor(std::log10(number)) - 1);
    return std::round(number / unit) * unit;
}

void tell(const bulk::bands_plan& plan, double threshold)
{
    if (plan.candidates > many_candidates)
        ereport(NOTICE,
                errmsg("about %.0f candidates are expected for each row", rounded(plan.candidates)),
                errdetail("Even %d bands of %d rows, the best choice for threshold %g, bring many "
                          "rows together that are not near.",
                          plan.shape.bands,
                          plan.shape.rows,
                          threshold),
                errhint("This can take long. Use a higher threshold, a lower recall, or longer "
                        "shingles."));
    ereport(
        DEBUG1,
        errmsg_internal("using %d hashes in %d bands of %d rows",
                        plan.num_hashes,
                        plan.shape.bands,
                        plan.shape.rows),
        errdetail_internal("About %.1f candidates are expected for each row.", plan.candidates));
}

} // namespace

bool are_waiting(const bulk_call& call)
{
    return !call.wanted.sets_only && call.wanted.shape.bands == 0 && call.wanted.max_bucket == 0;
}

bool keep_waiting(bulk_call& call, const query_row& row)
{
    waiting_rows& waiting = call.waiting;
    if (waiting.count == 0) {
        waiting.ids = open_datums(call.budget, call.ids.type);
        waiting.values =
            open_datums(call.budget, call.from_texts ? Oid{TEXTOID} : call.signature_type);
        if (call.wanted.ranked)
            waiting.ranks = open_datums(call.budget, call.ranks.type);
    }
    append_datum(waiting.ids, row.id, false);
    append_datum(waiting.values, row.value, false);
    if (call.wanted.ranked)
        append_datum(waiting.ranks, row.rank, row.no_rank);
    bulk::grow(call, waiting.places, waiting.count, waiting.count + std::size_t{1});
    waiting.places.values[waiting.count] = row.place;
    if (call.scope_column > 0) {
        bulk::grow(call, waiting.scopes, waiting.count, waiting.count + std::size_t{1});
        waiting.scopes.values[waiting.count] = row.scope;
    }
    waiting.count++;
    return waiting.count < most_waiting &&
           waiting.values.bytes->size < call.budget.limit / share_of_memory;
}

namespace {

// A copy, as what a row brings to the engine may move other rows that wait to a file.
Datum copy_datum(datum_store& from, std::uint32_t place, bool& null)
{
    const Datum value = fetch_datum(from, place, null);
    return null ? value : datumCopy(value, from.by_value, from.length);
}

} // namespace

query_row waiting_row(bulk_call& call, std::uint32_t place)
{
    waiting_rows& waiting = call.waiting;
    Assert(place < waiting.count);
    query_row row = {};
    bool null;
    row.id = copy_datum(waiting.ids, place, null);
    row.value = copy_datum(waiting.values, place, null);
    if (call.wanted.ranked)
        row.rank = copy_datum(waiting.ranks, place, row.no_rank);
    if (call.scope_column > 0)
        row.scope = waiting.scopes.values[place];
    row.place = waiting.places.values[place];
    return row;
}

void drop_waiting(bulk_call& call)
{
    waiting_rows& waiting = call.waiting;
    for (datum_store* const store : {&waiting.ids, &waiting.values, &waiting.ranks})
        if (OidIsValid(store->type))
            close_datums(*store);
    bulk::release(call, waiting.places.values);
    bulk::release(call, waiting.scopes.values);
    waiting = {};
}

void choose_by_waiting(bulk_call& call, bool ended)
{
    Assert(call.waiting.count > 0);
    sampled taken = take_sample(call);
    const bool open_hashes = is_exact(call) && !call.wanted.hashes_given;
    const int hashes = call.from_texts ? call.wanted.texts.num_hashes : taken.scheme.num_hashes;
    bulk::bands_wanted wanted = {
        .rows = 0,
        .pairs = 0,
        .window = static_cast<double>(call.waiting.count),
        .threshold = call.wanted.threshold,
        .recall = bulk::recall_to_expect(recall_of(call)),
        .missed = bulk::share_missed(recall_of(call)),
        .least_hashes = open_hashes ? least_hashes : hashes,
        .most_hashes = open_hashes ? most_hashes : hashes,
        .exact = is_exact(call),
    };
    expect_rows(call, ended, wanted.rows, wanted.pairs);

    bulk::work_costs costs = bulk::costs_of(taken.mean_bytes, is_exact(call));
    // What a hash costs matters only where their number is open, to texts: of these rows keep a
    // byte of each slot, as a rule (bulk::kept_scheme()).
    const double slot_bytes = call.wanted.whole_slots ? sizeof(std::uint32_t) : 1;
    if (wanted.rows * hashes * slot_bytes > static_cast<double>(call.budget.limit))
        costs.hash += bulk::filing_cost;
    bulk::sampled_counts counts;
    const bulk::agreement_counts sample = bulk::count_agreements(taken.rows, counts);
    bulk::end_sample(taken.rows);
    bulk::bands_plan plan = bulk::choose_by_cost(wanted, sample, costs);
    if (plan.shape.bands == 0) { // few hashes: then no reserve for chance
        wanted.recall = recall_of(call);
        plan = bulk::choose_by_cost(wanted, sample, costs);
    }
    if (plan.shape.bands == 0)
        fail_no_choice(wanted.threshold, wanted.most_hashes, wanted.recall);
    call.wanted.shape = {plan.shape.bands, plan.shape.rows};
    call.wanted.texts.num_hashes = static_cast<std::uint16_t>(plan.num_hashes);
    tell(plan, wanted.threshold);
}

bulk::task make_task(const bulk_call& call, const scheme& scheme)
{
    banding shape = call.wanted.shape;
    if (call.wanted.sets_only)
        return {
            .scheme = scheme,
            .shape = {0, 0},
            .threshold = call.wanted.threshold,
            .exact = true,
            .max_bucket = 0,
            .scoped = call.scope_column > 0,
            .sets_only = true,
            .recall = recall_of(call),
        };
    if (shape.bands == 0) {
        const double threshold = call.wanted.threshold;
        const double recall = recall_of(call);
        const band_choice choice = choose_by_recall(threshold, scheme.num_hashes, recall);
        if (choice.bands == 0)
            fail_no_choice(threshold, scheme.num_hashes, recall);
        shape = {choice.bands, choice.rows};
    }
    check_bands(shape, scheme);
    return {
        .scheme = scheme,
        .shape = {shape.bands, shape.rows},
        .threshold = call.wanted.threshold,
        .exact = is_exact(call),
        .max_bucket = static_cast<std::uint32_t>(call.wanted.max_bucket),
        .scoped = call.scope_column > 0,
        .recall = recall_of(call),
        .whole_slots = call.wanted.whole_slots,
        .elsewhere = lie_elsewhere(call) && scheme.bits == bits_per_slot,
    };
}

} // namespace minhash::pg
