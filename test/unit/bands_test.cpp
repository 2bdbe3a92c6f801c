#include "core/bands.h"

#include <gtest/gtest.h>

#include "support.h"

namespace {

using reference::slot_list;

std::int64_t key_of(const slot_list& slots, int band, int rows)
{
    const auto copy = support::exact_copy<std::uint32_t>(slots.data(), slots.size());
    minhash::scheme scheme = support::default_scheme;
    scheme.num_hashes = static_cast<std::uint16_t>(slots.size());
    return minhash::band_key({scheme, {copy.get(), slots.size()}}, band, rows);
}

TEST(bands, golden)
{
    const auto rows = support::read_golden("band_keys.tsv");
    ASSERT_EQ(rows.size(), 4u + 4 + 16 + 1 + 16 + 20);
    for (const auto& row : rows) {
        const slot_list slots = support::sign(row.at(0), support::golden_scheme(row));
        const int in_band = std::stoi(row.at(9));
        const int band = std::stoi(row.at(10));
        EXPECT_EQ(key_of(slots, band, in_band), std::stoll(row.at(11))) << row[0] << " " << band;
    }
}

TEST(bands, equal_the_reference)
{
    support::random_source random = {51};
    for (const std::uint32_t num_hashes : {16u, 100u, 128u, 4096u}) {
        slot_list slots(num_hashes);
        for (std::uint32_t& slot : slots)
            slot = static_cast<std::uint32_t>(random.next());
        for (const std::uint32_t rows : {1u, 2u, 3u, 5u, 8u, 16u, 60u, num_hashes}) {
            for (std::uint32_t band = 0; (band + 1) * rows <= num_hashes; band++)
                ASSERT_EQ(static_cast<std::uint64_t>(key_of(slots, static_cast<int>(band), static_cast<int>(rows))),
                          reference::band_key(slots, band, rows));
        }
    }
}

// Whenever a signature can be cut into bands, keys must be made only from its slots. The copies have no spare bytes, so
// that ASan sees any access beyond them.
TEST(bands, end_within_the_slots)
{
    std::size_t banded = 0;
    for (const int bits : {1, 2, 4, 8, 16, 32}) {
        for (const std::uint16_t num_hashes : {std::uint16_t{16}, std::uint16_t{17}, std::uint16_t{128}}) {
            minhash::scheme scheme = support::default_scheme;
            scheme.bits = static_cast<std::uint8_t>(bits);
            scheme.num_hashes = num_hashes;
            const std::vector<std::uint8_t> zeros(minhash::slot_bytes(bits, num_hashes));
            const auto slots = support::exact_copy<std::uint8_t>(zeros.data(), zeros.size());
            const minhash::signature value = minhash::with_slots(scheme, {slots.get(), zeros.size()});
            for (int bands = 0; bands <= num_hashes + 1; bands++) {
                for (int rows = 0; rows <= num_hashes + 1; rows++) {
                    if (!minhash::can_be_banded(scheme, bands, rows))
                        continue;
                    minhash::band_key(value, 0, rows);
                    minhash::band_key(value, bands - 1, rows);
                    banded++;
                }
            }
        }
    }
    std::size_t expected = 0; // the number for each of 8, 16 and 32 bits
    for (const int num_hashes : {16, 17, 128})
        for (int rows = 1; rows <= num_hashes; rows++)
            expected += static_cast<std::size_t>(num_hashes / rows);
    EXPECT_EQ(banded, 3 * expected);
}

TEST(bands, the_number_of_a_band_is_part_of_its_key)
{
    const slot_list slots = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 9, 9, 9, 9};
    std::set<std::int64_t> keys;
    for (int band = 0; band < 4; band++)
        keys.insert(key_of(slots, band, 3));
    EXPECT_EQ(keys.size(), 4u);
}

// Two signatures are cut into 3 bands of 4 rows. They share the keys of the first two bands only.
TEST(bands, meet_where_all_rows_agree)
{
    const slot_list a = {1, 3, 6, 0, 2, 3, 1, 0, 5, 5, 5, 5, 0, 0, 0, 0};
    slot_list b = a;
    b[11] = 6;
    b[15] = 1; // slots after the last band are never read
    for (int band = 0; band < 3; band++)
        EXPECT_EQ(key_of(a, band, 4) == key_of(b, band, 4), band < 2);
}

// The example of sql/bands.sql: of four documents, the first and the third share the key of their first band, and no
// others do.
TEST(bands, of_the_example_in_sql)
{
    const slot_list first_bands[] = {{1, 3, 6, 0}, {2, 3, 1, 0}, {1, 3, 6, 0}, {2, 1, 3, 1}};
    for (std::size_t a = 0; a < 4; a++)
        for (std::size_t b = 0; b < a; b++)
            EXPECT_EQ(key_of(first_bands[a], 0, 4) == key_of(first_bands[b], 0, 4), a == 2 && b == 0);
}

} // namespace
