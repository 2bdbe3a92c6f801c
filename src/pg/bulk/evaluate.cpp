// How well bands and rows would do on a user's own texts: all pairs of a sample are compared
// exactly, and each setting is asked which of them it would have found.
#include "pg/bulk/bulk_rows.h"
#include "pg/errors.h"

#include "core/buckets.h"
#include "core/overlap.h"
#include "core/sketch.h"
#include "core/tuning.h"

#include <algorithm>

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

// A setting, and what it did.
struct setting {
    banding shape;
    std::uint64_t candidates;
    std::uint64_t found;
    double predicted; // sum over true pairs
};

struct posting {
    std::uint64_t element;
    std::uint32_t row;
};

struct evaluation {
    bulk_rows* rows;
    std::span<setting> settings;
    std::uint32_t least_rows; // of any setting
    std::uint64_t true_pairs;

    std::span<posting> postings; // by element
    std::uint32_t* sizes;        // of the rows' sets
    std::uint64_t* starts;       // of the rows' elements in `behind`
    std::uint32_t* behind;       // for each element of a row: the posting behind the row's own
    std::uint32_t* shared;       // with the row in hand
};

template <typename Value>
Value* allocate_array(MemoryContext memory, std::size_t count)
{
    return static_cast<Value*>(MemoryContextAllocHuge(memory, (count + 1) * sizeof(Value)));
}

// The rows with the smallest hashes of their ids: a random sample that is the same every time.
const char* sample_query(const char* query, int sample_size)
{
    std::size_t length = strlen(query);
    while (length > 0 && strchr("; \t\r\n", query[length - 1]) != nullptr)
        length--;
    return psprintf("SELECT id, value FROM (%.*s\n) AS asked (id, value)"
                    " ORDER BY pg_catalog.hashtextextended(id::pg_catalog.text, 42), id LIMIT %d",
                    static_cast<int>(length),
                    query,
                    sample_size);
}

// The settings to be tried: those of the arguments bands and rows, or, if neither is given, the
// choices for several recalls.
std::span<setting> arg_settings(FunctionCallInfo fcinfo, double threshold, int num_hashes)
{
    setting* const settings = static_cast<setting*>(palloc0(most_settings * sizeof(setting)));
    std::size_t count = 0;
    if (PG_ARGISNULL(arg_evaluated_bands) != PG_ARGISNULL(arg_evaluated_rows))
        fail_half_banding();
    if (PG_ARGISNULL(arg_evaluated_bands)) {
        for (const double recall : {0.5, 0.8, 0.9, 0.95, 0.99, 0.999}) {
            const band_choice choice = choose_by_recall(threshold, num_hashes, recall);
            const bool fresh =
                choice.bands > 0 && std::none_of(settings, settings + count, [&](const setting& s) {
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
            fail_sweep(most_settings);
    }
    if (counts[0] != counts[1] || counts[0] < 1 || counts[0] > most_settings)
        fail_sweep(most_settings);
    for (; count < static_cast<std::size_t>(counts[0]); count++) {
        const banding shape = {DatumGetInt32(values[0][count]), DatumGetInt32(values[1][count])};
        if (shape.bands < 1 || shape.bands > max_num_hashes)
            fail_range("bands", shape.bands, 1, max_num_hashes);
        if (shape.rows < 1 || shape.rows > max_num_hashes)
            fail_range("rows", shape.rows, 1, max_num_hashes);
        check_hashes(shape, num_hashes);
        settings[count].shape = shape;
    }
    return {settings, count};
}

// By element, then by row; in parts, to answer to cancel in between.
void sort_postings(std::span<const posting> from, posting* to)
{
    constexpr int part_bits = 8;
    std::size_t starts[(1 << part_bits) + 2] = {};
    const auto part_of = [](const posting& each) { return each.element >> (64 - part_bits); };
    for (const posting& each : from)
        starts[part_of(each) + 2]++;
    for (std::size_t i = 2; i < std::size(starts); i++)
        starts[i] += starts[i - 1];
    for (const posting& each : from)
        to[starts[part_of(each) + 1]++] = each;
    for (std::size_t i = 0; i < std::size(starts) - 2; i++) {
        CHECK_FOR_INTERRUPTS();
        std::sort(to + starts[i], to + starts[i + 1], [](const posting& a, const posting& b) {
            return a.element != b.element ? a.element < b.element : a.row < b.row;
        });
    }
}

// The distinct elements of all rows, as postings in the order of elements.
void collect_elements(evaluation& job)
{
    bulk_rows& rows = *job.rows;
    const MemoryContext memory = rows.memory;
    job.sizes = allocate_array<std::uint32_t>(memory, rows.count);
    job.starts = allocate_array<std::uint64_t>(memory, rows.count);
    posting* all = nullptr;
    std::size_t count = 0;
    std::size_t room = 0;
    text_buffer buffer = {};
    for (std::uint32_t row = 0; row < rows.count; row++) {
        CHECK_FOR_INTERRUPTS();
        const text* const document = fetch_text(rows, row, buffer);
        job.starts[row] = count;
        each_batch(*rows.signing, document, [&](const shingle_batch& batch) {
            if (count + batch.count > room) {
                room = std::max(count + batch.count, room * 2);
                const std::size_t bytes = room * sizeof(posting);
                all = static_cast<posting*>(all == nullptr ? MemoryContextAllocHuge(memory, bytes)
                                                           : repalloc_huge(all, bytes));
            }
            for (std::size_t i = 0; i < batch.count; i++)
                all[count++] = {std::uint64_t{batch.hi[i]} << 32 | batch.lo[i], row};
        });
        const auto by_element = [](const posting& a, const posting& b) {
            return a.element < b.element;
        };
        posting* const first = all + job.starts[row];
        std::sort(first, all + count, by_element);
        count = static_cast<std::size_t>(
            std::unique(first,
                        all + count,
                        [](const posting& a, const posting& b) { return a.element == b.element; }) -
            all);
        if (count >= no_row)
            fail_too_many_shingles(no_row);
        job.sizes[row] = static_cast<std::uint32_t>(count - job.starts[row]);
    }
    job.postings = {allocate_array<posting>(memory, count), count};
    sort_postings({all, count}, job.postings.data());
    pfree(all);
    job.behind = allocate_array<std::uint32_t>(memory, count);
    std::uint64_t* const next = allocate_array<std::uint64_t>(memory, rows.count);
    std::copy_n(job.starts, rows.count, next);
    for (std::size_t i = 0; i < count; i++)
        job.behind[next[job.postings[i].row]++] = static_cast<std::uint32_t>(i + 1);
    job.shared = allocate_array<std::uint32_t>(memory, rows.count);
}

bool shares_band(const std::uint32_t* a, const std::uint32_t* b, banding shape)
{
    for (int band = 0; band < shape.bands; band++, a += shape.rows, b += shape.rows)
        if (std::equal(a, a + shape.rows, b))
            return true;
    return false;
}

// All pairs of a row with the rows behind it.
void compare_row(evaluation& job, std::uint32_t a, void* (&buffers)[2])
{
    bulk_rows& rows = *job.rows;
    const int hashes = rows.scheme.num_hashes;
    std::fill_n(job.shared, rows.count, 0);
    for (std::uint32_t i = 0; i < job.sizes[a]; i++) {
        std::size_t at = job.behind[job.starts[a] + i];
        const std::uint64_t element = job.postings[at - 1].element;
        for (; at < job.postings.size() && job.postings[at].element == element; at++)
            job.shared[job.postings[at].row]++;
    }
    const auto slots_of = [&](std::uint32_t row, void* buffer) {
        return static_cast<const std::uint32_t*>(fetch_slots(rows, row, buffer));
    };
    const std::uint32_t* const slots = slots_of(a, buffers[0]);
    for (std::uint32_t b = a + 1; b < rows.count; b++) {
        const std::uint32_t shared = job.shared[b];
        const double similarity = jaccard({job.sizes[a], job.sizes[b], shared});
        const bool is_true = similarity >= rows.wanted.threshold;
        job.true_pairs += is_true;
        const std::uint32_t* const others = slots_of(b, buffers[1]);
        const bool candidate =
            count_equal(slots, others, static_cast<std::uint32_t>(hashes)) >= job.least_rows;
        if (!candidate && !is_true)
            continue;
        for (setting& each : job.settings) {
            const bool met = shares_band(slots, others, each.shape);
            each.candidates += met;
            each.found += met && is_true;
            if (is_true)
                each.predicted += band_probability(similarity, each.shape.bands, each.shape.rows);
        }
    }
}

void return_settings(const evaluation& job, const ReturnSetInfo& result)
{
    const double pairs = static_cast<double>(job.true_pairs);
    for (const setting& each : job.settings) {
        const bool none = job.true_pairs == 0; // recall of nothing is NULL
        Datum values[] = {
            Int32GetDatum(each.shape.bands),
            Int32GetDatum(each.shape.rows),
            Int64GetDatum(static_cast<std::int64_t>(each.candidates)),
            Int64GetDatum(static_cast<std::int64_t>(job.true_pairs)),
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
    evaluation job = {};
    job.settings = arg_settings(fcinfo, wanted.threshold, wanted.texts.num_hashes);
    const ReturnSetInfo& result = start_rows(fcinfo);

    SPI_connect();
    bulk_rows& rows = *start_bulk(fcinfo, wanted);
    job.rows = &rows;
    read_query(rows,
               sample_query(text_to_cstring(PG_GETARG_TEXT_PP(arg_sampled_query)), sample_size));
    end_reading(rows);
    job.least_rows = max_num_hashes;
    for (const setting& each : job.settings)
        job.least_rows = std::min<std::uint32_t>(job.least_rows, each.shape.rows);
    if (rows.count > 1) {
        collect_elements(job);
        void* buffers[2];
        for (void*& buffer : buffers)
            buffer = palloc(rows.scheme.num_hashes * sizeof(std::uint32_t));
        progress comparing = start_phase("comparing rows of the sample", rows.count);
        for (std::uint32_t row = 0; row < rows.count; row++) {
            report(comparing, row);
            compare_row(job, row, buffers);
        }
    }
    return_settings(job, result);
    close_stores(rows.budget);
    SPI_finish();
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
