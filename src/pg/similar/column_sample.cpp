// ANALYZE keeps the sample as one bytea in a slot of pg_statistic that is of a kind of our own. Values of such kinds
// are shown by no view, so only superusers can read them.
#include "pg/arguments.h"
#include "pg/similar/column_sample.h"

#include "core/compress.h"

#include <algorithm>

extern "C" {
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "common/pg_prng.h"
#include "utils/lsyscache.h"
}

namespace minhash::pg {

namespace {

// PostgreSQL leaves the numbers from 10,000 to 30,000 to whoever needs one for private use.
constexpr std::int16_t statistic_kind_sample = 17031;

// At most this many rows are kept. They are enough to notice texts that are similar to 1 of 300 rows, and comparing
// all of them takes some 10 us.
constexpr int most_rows = 1000;

// At most this many rows of each side are compared with each other for the estimate of a join.
constexpr std::size_t most_joined = 100;

// With two bits per slot, unrelated signatures of 128 slots look similar by less than 0.25, but for one in a million.
constexpr int most_bits = 2;
constexpr std::uint16_t most_slots = 128;

// The scheme of a copy: as its signature's, but with the bits and slots that a copy has.
scheme scheme_of_copy(scheme whole)
{
    whole.bits = std::min<std::uint8_t>(whole.bits, most_bits);
    whole.num_hashes = std::min(whole.num_hashes, most_slots);
    return whole;
}

std::size_t copy_bytes(const scheme& whole)
{
    const scheme copy = scheme_of_copy(whole);
    return slot_bytes(copy.bits, copy.num_hashes);
}

// Writes the copy of a signature that is not empty.
void write_copy(const signature& value, std::uint8_t* out)
{
    const scheme copy = scheme_of_copy(value.scheme);
    if (value.scheme.bits == copy.bits) {
        memcpy(out, value.packed.data(), copy_bytes(value.scheme));
        return;
    }
    std::uint8_t packed[max_num_hashes * most_bits / 8];
    compress(value, copy.bits, packed);
    memcpy(out, packed, copy_bytes(value.scheme));
}

// The stored form: the header of a signature, the number of rows, the copies.
struct stored_sample {
    std::uint8_t header[header_bytes];
    std::uint32_t rows;
    std::uint8_t copies[FLEXIBLE_ARRAY_MEMBER];
};

// What the function of PostgreSQL that computes the usual statistics needs.
struct usual_statistics {
    AnalyzeAttrComputeStatsFunc compute;
    void* extra_data;
};

// Puts copies into random order, so that any of them are a sample of all.
void shuffle(std::uint8_t* copies, std::size_t count, std::size_t bytes, pg_prng_state& chance)
{
    for (std::size_t left = count; left > 1; left--) {
        const std::size_t chosen = pg_prng_uint64_range(&chance, 0, left - 1);
        std::swap_ranges(copies + chosen * bytes, copies + (chosen + 1) * bytes, copies + (left - 1) * bytes);
    }
}

// Draws rows from those that ANALYZE has sampled. Null if none of them has a signature.
bytea* draw_sample(VacAttrStats* stats, AnalyzeAttrFetchFunc fetch, int sampled)
{
    const int drawn = std::min(sampled, most_rows);
    const std::size_t most_bytes = most_rows * slot_bytes(most_bits, most_slots);
    auto* const made = static_cast<bytea*>(palloc(VARHDRSZ + offsetof(stored_sample, copies) + most_bytes));
    auto* const sample = reinterpret_cast<stored_sample*>(VARDATA(made));
    std::size_t used = 0;
    scheme first;
    pg_prng_state chance;
    pg_prng_seed(&chance, 1); // the same sample each time, so that plans do not change without a reason
    sample->rows = 0;
    for (int at = 0; at < drawn; at++) {
        // The sampled rows are in the order of their locations in the table: take one from anywhere in each part of it.
        bool is_null;
        const Datum stored = fetch(stats, static_cast<int>((at + pg_prng_double(&chance)) * sampled / drawn), &is_null);
        if (is_null)
            continue;
        sample->rows++;
        const signature value = signature_of(stored);
        if (value.empty() || (used > 0 && value.scheme != first))
            continue;
        first = value.scheme;
        write_copy(value, sample->copies + used);
        used += copy_bytes(first);
    }
    if (used == 0)
        return nullptr;
    shuffle(sample->copies, used / copy_bytes(first), copy_bytes(first), chance);
    encode_header(first, sample->header);
    SET_VARSIZE(made, VARHDRSZ + offsetof(stored_sample, copies) + used);
    return made;
}

// Computes PostgreSQL's usual statistics, and adds the sample.
void compute_statistics(VacAttrStats* stats, AnalyzeAttrFetchFunc fetch, int sampled, double rows)
{
    auto* const usual = static_cast<usual_statistics*>(stats->extra_data);
    stats->extra_data = usual->extra_data;
    usual->compute(stats, fetch, sampled, rows);
    stats->extra_data = usual;
    if (!stats->stats_valid)
        return;

    const int slot =
        static_cast<int>(std::find(stats->stakind, stats->stakind + STATISTIC_NUM_SLOTS, 0) - stats->stakind);
    const MemoryContext caller = MemoryContextSwitchTo(stats->anl_context);
    bytea* const sample = slot < STATISTIC_NUM_SLOTS ? draw_sample(stats, fetch, sampled) : nullptr;
    if (sample != nullptr) {
        stats->stakind[slot] = statistic_kind_sample;
        stats->stavalues[slot] = static_cast<Datum*>(palloc(sizeof(Datum)));
        stats->stavalues[slot][0] = PointerGetDatum(sample);
        stats->numvalues[slot] = 1;
        stats->statypid[slot] = BYTEAOID;
        stats->statyplen[slot] = -1;
        stats->statypbyval[slot] = false;
        stats->statypalign[slot] = TYPALIGN_INT;
    }
    MemoryContextSwitchTo(caller);
}

std::size_t copies_in(const column_sample& sample) { return sample.copies.size() / copy_bytes(sample.scheme); }

const std::uint8_t* copy_at(const column_sample& sample, std::size_t at)
{
    return sample.copies.data() + at * copy_bytes(sample.scheme);
}

} // namespace

bool read_sample(VariableStatData& variable, Oid function, column_sample& sample)
{
    AttStatsSlot slot;
    if (!HeapTupleIsValid(variable.statsTuple) || !statistic_proc_security_check(&variable, function) ||
        !get_attstatsslot(&slot, variable.statsTuple, statistic_kind_sample, InvalidOid, ATTSTATSSLOT_VALUES))
        return false;
    if (slot.nvalues != 1 || slot.valuetype != BYTEAOID)
        return false;
    const std::span<const std::uint8_t> bytes = bytes_of(PG_DETOAST_DATUM(slot.values[0]));
    signature header;
    if (bytes.size() < offsetof(stored_sample, copies) || decode(bytes.first(header_bytes), header) != status::ok)
        return false;
    sample.scheme = header.scheme;
    sample.rows = reinterpret_cast<const stored_sample*>(bytes.data())->rows;
    sample.copies = bytes.subspan(offsetof(stored_sample, copies));
    return sample.rows > 0 && copies_in(sample) > 0;
}

double count_similar(const column_sample& sample, const signature& sought, double threshold)
{
    const scheme copy = scheme_of_copy(sample.scheme);
    scheme whole = sought.scheme;
    whole.bits = sample.scheme.bits;
    if (sought.empty() || whole != sample.scheme || sought.scheme.bits < copy.bits)
        return 0;
    std::uint8_t wanted[slot_bytes(most_bits, most_slots)];
    write_copy(sought, wanted);
    const std::uint32_t least = least_equal_slots(copy, threshold);
    double near = 0;
    double equal = 0;
    for (std::size_t at = 0; at < copies_in(sample); at++) {
        const std::uint32_t same = count_equal(copy, wanted, copy_at(sample, at));
        if (same >= least)
            (same == copy.num_hashes ? equal : near)++;
    }
    return near + std::max(0.0, equal - 1);
}

similar_pairs_seen see_similar_pairs(const column_sample& left, const column_sample& right, double threshold)
{
    similar_pairs_seen pairs = {0, 0};
    if (left.scheme != right.scheme)
        return pairs;
    const scheme copy = scheme_of_copy(left.scheme);
    const std::uint32_t least = least_equal_slots(copy, threshold);
    const std::size_t left_count = std::min(copies_in(left), most_joined);
    const std::size_t right_count = std::min(copies_in(right), most_joined);
    const bool is_same_column =
        std::equal(left.copies.begin(), left.copies.end(), right.copies.begin(), right.copies.end());
    for (std::size_t a = 0; a < left_count; a++) {
        const std::uint8_t* const one = copy_at(left, a);
        for (std::size_t b = 0; b < right_count; b++) {
            const std::uint8_t* const other = copy_at(right, b);
            if (!(is_same_column && a == b) && count_equal(copy, one, other) >= least)
                pairs.similar++;
        }
    }
    // The rows without a copy are similar to none.
    pairs.all = static_cast<double>(left_count) * static_cast<double>(right_count) *
                (left.rows / static_cast<double>(copies_in(left))) *
                (right.rows / static_cast<double>(copies_in(right)));
    return pairs;
}

// minhash_typanalyze(statistics) -> bool
MINHASH_FUNCTION(minhash_typanalyze)
{
    VacAttrStats* const stats = arg_internal<VacAttrStats>(fcinfo, 0);
    if (!std_typanalyze(stats))
        PG_RETURN_BOOL(false);
    auto* const usual = static_cast<usual_statistics*>(palloc(sizeof(usual_statistics)));
    *usual = {stats->compute_stats, stats->extra_data};
    stats->extra_data = usual;
    stats->compute_stats = compute_statistics;
    PG_RETURN_BOOL(true);
}

} // namespace minhash::pg
