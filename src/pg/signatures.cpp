// minhash() and what a signature can be asked.
#include "pg/glue.h"

#include "pg/errors.h"
#include "pg/settings.h"
#include "pg/text_reader.h"

#include "core/bag.h"
#include "core/shingle.h"
#include "core/sketch.h"
#include "core/tuning.h"

namespace minhash::pg {

namespace {

// Kept from call to call of one place in a query.
struct signer {
    scheme made;
    bool parsed; // the arguments are the same in each call, and `made` holds them
    text_reader reader;
    shingler cutter;
    shingle_batch batch;
    sketch slots;
    bag_counter bag;
    std::span<bag_entry> bag_room; // of which a bag takes as much as its text needs
};

signer& signer_of(FunctionCallInfo fcinfo)
{
    if (fcinfo->flinfo->fn_extra == nullptr) {
        signer* const fresh = allocate<signer>(fcinfo->flinfo->fn_mcxt);
        fresh->parsed = false;
        fresh->bag_room = {};
        fcinfo->flinfo->fn_extra = fresh;
    }
    return *static_cast<signer*>(fcinfo->flinfo->fn_extra);
}

void read_arguments(FunctionCallInfo fcinfo, signer& state)
{
    if (state.parsed)
        return;
    const int num_hashes = arg_between(fcinfo, 1, "num_hashes", min_num_hashes, max_num_hashes);
    state.made = {
        .version = scheme_version,
        .made_by = arg_method(fcinfo, 7),
        .bits = bits_per_slot,
        .num_hashes = static_cast<std::uint16_t>(num_hashes),
        .shingles = arg_shingling(fcinfo, 2),
        .seed = PG_GETARG_INT64(6),
    };
    state.parsed = true;
    for (int argument = 1; argument <= 7; argument++)
        state.parsed &= arg_is_constant(fcinfo, argument);
}

void absorb_text(signer& state, const text* document)
{
    open(state.reader, document);
    start(state.cutter, state.made.shingles, state.made.seed);
    do {
        const std::span<const std::uint8_t> slice = read(state.reader);
        cut(state.cutter, slice.data(), slice.size(), at_end(state.reader), state.batch);
        if (state.made.shingles.bag)
            number_occurrences(state.bag, state.batch);
        absorb(state.slots, state.batch.lo, state.batch.hi, state.batch.count);
    } while (!at_end(state.reader) && !(state.made.shingles.bag && state.bag.overflowed));
}

void start_bag(signer& state, MemoryContext context, std::size_t text_bytes)
{
    const std::size_t wanted = bag_table_size(text_bytes);
    if (state.bag_room.size() < wanted) {
        if (!state.bag_room.empty())
            pfree(state.bag_room.data());
        state.bag_room = {};
        const std::size_t bytes = wanted * sizeof(bag_entry);
        state.bag_room = {static_cast<bag_entry*>(MemoryContextAlloc(context, bytes)), wanted};
    }
    // A small text must not pay for the table of a large one before it.
    start(state.bag, state.bag_room.first(wanted));
}

} // namespace

// minhash(document, num_hashes, shingle_size, unit, fold, bag, seed, method) -> minhash_signature
MINHASH_FUNCTION(minhash)
{
    signer& state = signer_of(fcinfo);
    read_arguments(fcinfo, state);

    text* const document = PG_GETARG_TEXT_PP(0);
    start(state.slots, state.made.made_by, state.made.num_hashes);
    if (state.made.shingles.bag) {
        start_bag(state, fcinfo->flinfo->fn_mcxt, VARSIZE_ANY_EXHDR(document));
        do
            absorb_text(state, document);
        while (start_next_pass(state.bag));
    } else {
        absorb_text(state, document);
    }
    PG_FREE_IF_COPY(document, 0);

    const std::size_t slots = is_empty(state.slots) ? 0 : state.made.num_hashes;
    return make_signature(state.made, {state.slots.slots, slots});
}

double similarity(const signature& a, const signature& b)
{
    if (!comparable(a, b))
        fail_incomparable(a.made, b.made);
    if (a.empty() || b.empty())
        return 0;
    const std::uint32_t equal = count_equal(a.slots.data(), b.slots.data(), a.made.num_hashes);
    return static_cast<double>(equal) / a.made.num_hashes;
}

namespace {

double arg_similarity(FunctionCallInfo fcinfo)
{
    return similarity(arg_signature(fcinfo, 0), arg_signature(fcinfo, 1));
}

} // namespace

// minhash_similarity(a, b) -> float8: the estimated Jaccard similarity.
MINHASH_FUNCTION(minhash_similarity)
{
    PG_RETURN_FLOAT8(arg_similarity(fcinfo));
}

// minhash_similar(a, b) -> bool: the operator %, by the setting.
MINHASH_FUNCTION(minhash_similar)
{
    PG_RETURN_BOOL(arg_similarity(fcinfo) >= similarity_threshold);
}

// minhash_distance(a, b) -> float8: the estimated Jaccard distance.
MINHASH_FUNCTION(minhash_distance)
{
    PG_RETURN_FLOAT8(1 - arg_similarity(fcinfo));
}

MINHASH_FUNCTION(minhash_num_hashes)
{
    PG_RETURN_INT32(arg_signature(fcinfo, 0).made.num_hashes);
}

// minhash_scheme(signature) -> one row
MINHASH_FUNCTION(minhash_scheme)
{
    const scheme made = arg_signature(fcinfo, 0).made;
    Datum values[] = {
        CStringGetTextDatum(name_of(made.made_by)),
        Int32GetDatum(made.num_hashes),
        Int32GetDatum(made.bits),
        CStringGetTextDatum(name_of(made.shingles.of)),
        Int32GetDatum(made.shingles.size),
        BoolGetDatum(made.shingles.fold),
        BoolGetDatum(made.shingles.bag),
        Int64GetDatum(made.seed),
        Int32GetDatum(made.version),
    };
    return make_row(fcinfo, values);
}

// minhash_standard_error(similarity, num_hashes) -> float8
MINHASH_FUNCTION(minhash_standard_error)
{
    const double similarity = arg_fraction(fcinfo, 0, "similarity");
    const int num_hashes = arg_between(fcinfo, 1, "num_hashes", 1, max_num_hashes);
    PG_RETURN_FLOAT8(standard_error(similarity, num_hashes));
}

// minhash_slots(signature) -> bigint[]: also the cast.
MINHASH_FUNCTION(minhash_slots)
{
    const signature value = arg_signature(fcinfo, 0);
    Datum* const slots = static_cast<Datum*>(palloc(sizeof(Datum) * (value.slots.size() + 1)));
    for (std::size_t slot = 0; slot < value.slots.size(); slot++)
        slots[slot] = Int64GetDatum(value.slots[slot]);
    return make_bigint_array({slots, value.slots.size()});
}

} // namespace minhash::pg
