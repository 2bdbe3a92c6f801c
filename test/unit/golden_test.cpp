// Computes the golden signatures again, end to end: from a document, through all of the core, to the signature's text
// form.
#include <gtest/gtest.h>

#include "support.h"

namespace {

TEST(golden, signatures)
{
    const auto rows = support::read_golden("signatures.tsv");
    ASSERT_GE(rows.size(), 56u);
    for (const auto& row : rows) {
        SCOPED_TRACE(row.at(0) + " " + row.at(8).substr(0, 50));
        const minhash::scheme scheme = support::golden_scheme(row);
        EXPECT_EQ(reference::text_form(scheme, reference::sign(row[0], scheme)), row.at(8));
        for (const std::size_t slice : {2048u, 7u, 1u})
            EXPECT_EQ(support::write_text(scheme, support::sign(row[0], scheme, slice)), row.at(8));
    }
}

TEST(golden, element_signatures)
{
    const auto rows = support::read_golden("element_signatures.tsv");
    ASSERT_GE(rows.size(), 21u);
    for (const auto& row : rows) {
        SCOPED_TRACE(row.at(0) + " " + row.at(1));
        const minhash::scheme scheme = reference::element_scheme(row);
        const auto hashes = reference::members(row[0], row[1], scheme.seed);
        EXPECT_EQ(reference::text_form(scheme, reference::sign(hashes, scheme)), row.at(6));
        EXPECT_EQ(support::write_text(scheme, support::sign_members(row[0], row[1], scheme)), row.at(6));
    }
}

// Compares with the exact figures of the scheme's definition.
TEST(golden, the_quick_brown_fox)
{
    minhash::scheme scheme = support::default_scheme;
    scheme.num_hashes = 16;
    const auto fox = support::sign("the quick brown fox jumps over the lazy dog", scheme);
    const auto other = support::sign("the quick brown fox jumped over the lazy dogs", scheme);
    EXPECT_EQ(fox,
              (reference::slot_list{0x2ab4584d,
                                    0x17f93e2c,
                                    0x03f03531,
                                    0x2b3b01d7,
                                    0x2ebb6eee,
                                    0x33ad1471,
                                    0x0cbf9ddb,
                                    0x2e127a32,
                                    0x03088e1a,
                                    0x94dd7c33,
                                    0x841766ba,
                                    0x1a318374,
                                    0x261bfdae,
                                    0x1ccba55d,
                                    0x097590b6,
                                    0x39660c2e}));
    EXPECT_EQ(minhash::kernels->count_equal(fox.data(), other.data(), 16), 14u); // 0.8750
}

TEST(golden, files_can_be_copied_into_a_table)
{
    for (const char* const name :
         {"signatures.tsv", "element_signatures.tsv", "band_keys.tsv", "shingle_hashes.tsv", "multipliers.tsv"}) {
        const auto rows = support::read_golden(name);
        for (const auto& row : rows) {
            EXPECT_EQ(row.size(), rows.front().size()) << name;
            for (const std::string& field : row)
                EXPECT_EQ(field.find_first_of("\\\r"), std::string::npos) << name;
        }
    }
}

} // namespace
