// Assertions must fail where preconditions and invariants are broken: one test of each kind.
#include "bulk/components/union_find.h"
#include "bulk/containment/witnesses.h"
#include "bulk/search/verifier.h"
#include "bulk/sets/exact_sets.h"

#include "core/bands.h"
#include "core/compress.h"
#include "core/probe.h"
#include "core/sketch.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using namespace bulk_support;
using minhash::signature;

TEST(assertions, of_schemes_and_signatures)
{
    const std::vector<std::uint32_t> slots(16, 7);
    signature value = {support::default_scheme, slots};
    value.scheme.num_hashes = 16;
    EXPECT_DEATH((void)minhash::band_key(value, 2, 8), "can_be_banded");
    EXPECT_DEATH((void)minhash::band_key({value.scheme, {}}, 0, 8), "empty");
    EXPECT_DEATH((void)minhash::slot_of(value, 16), "num_hashes");
    EXPECT_DEATH((void)minhash::similarity_of(value.scheme, 17), "num_hashes");
    static minhash::sketch state;
    const std::vector<std::uint32_t> none(16, minhash::empty_slot);
    EXPECT_DEATH(minhash::resume(state, minhash::method::fss, 16, none.data()), "are_empty");
}

TEST(assertions, of_numbers)
{
    EXPECT_DEATH((void)minhash::jaccard({3, 5, 4}), "shared");
    EXPECT_DEATH((void)minhash::band_probability(1.5, 4, 4), "similarity");
    EXPECT_DEATH((void)bulk::plan_witnesses(10, 0, 0.1, 1), "shared");
    EXPECT_DEATH((void)bulk::least_contained(0, 0.5), "size");
}

TEST(assertions, of_tables)
{
    const auto never = [](std::size_t) { return false; };
    EXPECT_DEATH((void)minhash::probe(6, 1, never), "has_single_bit");
    EXPECT_DEATH((void)minhash::probe(7, 1, never), "at != first");
    std::vector<std::uint32_t> parent = {0, 2, 1};
    EXPECT_DEATH((void)bulk::find_root(parent, 1), "above < row");
    EXPECT_DEATH((void)bulk::find_root(parent, 3), "size");
}

TEST(assertions, of_memory)
{
    test_host host;
    bulk::memory_budget budget = bulk::make_budget(host, 1 << 20);
    EXPECT_DEATH((void)bulk::open_store(budget, 1000), "has_single_bit");
    bulk::byte_store& store = *bulk::open_store(budget, 1024);
    bulk::append(store, "1234567", 8);
    char buffer[16];
    EXPECT_DEATH((void)bulk::fetch(store, 4, 8, buffer), "size");
}

TEST(assertions, of_calls_in_the_wrong_order)
{
    test_host host;
    problem given = many_alike(3);
    engine_call call = {&host, &given, job::pairs, 0, {}};
    row_set& rows = take_rows(call);
    EXPECT_DEATH(bulk::set_scope(rows, 1), "scoped");
    EXPECT_DEATH((void)bulk::in_one_scope(rows, 0, 3), "count");
    given.task.exact = false; // signatures of 32-bit slots are not gathered
    engine_call estimated = {&host, &given, job::pairs, 0, {}};
    row_set& signed_rows = take_rows(estimated);
    bulk::verifier check;
    bulk::start_verifier(check, signed_rows);
    const std::uint32_t gathered[] = {0, 1};
    EXPECT_DEATH(bulk::gather_starts(check, gathered), "can_gather");
    EXPECT_DEATH((void)bulk::verify(check, 1, 1), "a != b");
}

} // namespace
