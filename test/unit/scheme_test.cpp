#include "core/scheme.h"

#include <bit>
#include <gtest/gtest.h>

#include "support.h"

namespace {

using minhash::status;

template <typename Change>
status changed(Change change)
{
    minhash::scheme scheme = support::default_scheme;
    change(scheme);
    return minhash::validate(scheme);
}

TEST(scheme, the_default_is_valid)
{
    EXPECT_EQ(minhash::validate(support::default_scheme), status::ok);
    EXPECT_EQ(minhash::validate(support::default_scheme.shingles), status::ok);
}

TEST(scheme, number_of_hashes)
{
    for (int number = 0; number <= 0xFFFF; number++) {
        const bool valid = number >= 8 && number <= 4096;
        ASSERT_EQ(changed([=](auto& scheme) { scheme.num_hashes = static_cast<std::uint16_t>(number); }),
                  valid ? status::ok : status::bad_num_hashes)
            << number;
    }
}

TEST(scheme, shingle_size)
{
    for (int size = 0; size <= 0xFFFF; size++) {
        const bool valid = size >= 1 && size <= 255;
        ASSERT_EQ(changed([=](auto& scheme) { scheme.shingles.size = static_cast<std::uint16_t>(size); }),
                  valid ? status::ok : status::bad_shingle_size)
            << size;
    }
}

TEST(scheme, bytes_of_other_versions)
{
    for (int value = 0; value <= 0xFF; value++) {
        const auto byte = static_cast<std::uint8_t>(value);
        EXPECT_EQ(changed([=](auto& scheme) { scheme.version = byte; }), value == 1 ? status::ok : status::bad_version);
        EXPECT_EQ(changed([=](auto& scheme) { scheme.method = minhash::method{byte}; }),
                  value >= 1 && value <= 3 ? status::ok : status::bad_method);
        EXPECT_EQ(changed([=](auto& scheme) { scheme.bits = byte; }),
                  value <= 32 && std::has_single_bit(byte) ? status::ok : status::bad_bits);
        EXPECT_EQ(changed([=](auto& scheme) { scheme.shingles.of = minhash::unit{byte}; }),
                  value == 1 || value == 2 ? status::ok
                  : value == 3             ? status::bad_shingle_size // the default size, 5, is wrong for it
                                           : status::bad_unit);
    }
}

TEST(scheme, a_given_set_has_elements_of_size_1_as_they_are)
{
    for (const bool fold : {false, true})
        for (const int size : {1, 2, 255}) {
            const status expected = size > 1 ? status::bad_shingle_size : fold ? status::bad_flags : status::ok;
            EXPECT_EQ(changed([=](auto& scheme) {
                          scheme.shingles = {minhash::unit::element, static_cast<std::uint16_t>(size), fold, fold};
                      }),
                      expected);
        }
}

TEST(scheme, any_seed_and_flags)
{
    for (const std::int64_t seed : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX})
        EXPECT_EQ(changed([=](auto& scheme) { scheme.seed = seed; }), status::ok);
    for (const bool fold : {false, true}) {
        for (const bool bag : {false, true}) {
            EXPECT_EQ(changed([=](auto& scheme) {
                          scheme.shingles.fold = fold;
                          scheme.shingles.bag = bag;
                      }),
                      status::ok);
        }
    }
}

TEST(scheme, names)
{
    EXPECT_STREQ(minhash::name_of(minhash::method::fss), "fss");
    EXPECT_STREQ(minhash::name_of(minhash::method::classic), "classic");
    EXPECT_STREQ(minhash::name_of(minhash::unit::character), "char");
    EXPECT_STREQ(minhash::name_of(minhash::unit::word), "word");
}

} // namespace
