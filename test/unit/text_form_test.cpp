// The text form of signatures (codec.h): what is written, and what is accepted.
#include "core/codec.h"

#include <bit>
#include <cctype>
#include <gtest/gtest.h>

#include "support.h"

namespace {

using minhash::method;
using minhash::scheme;
using minhash::status;
using minhash::unit;
using reference::slot_list;

struct parsed {
    status what;
    std::size_t position;
    minhash::scheme scheme;
    slot_list slots;
    std::string written; // what was parsed, written again
};

// Parses from memory that ends where the text does, into memory of exactly the allowed size.
parsed parse(const std::string& text)
{
    const auto copy = support::exact_copy<char>(text.data(), text.size());
    const std::size_t room = text.size() / minhash::digits_per_slot;
    const std::unique_ptr<std::uint32_t[]> slots(new std::uint32_t[room]);
    minhash::signature value = {};
    const minhash::parse_result result = minhash::parse_text({copy.get(), text.size()}, value, slots.get());
    EXPECT_LE(result.position, text.size());
    EXPECT_LE(value.stored_slots().size(), room * sizeof(std::uint32_t));
    parsed found = {result.what, result.position, value.scheme, {}, {}};
    found.slots.assign(value.slots.begin(), value.slots.end());
    if (found.what == status::ok)
        found.written = support::write_text(value);
    return found;
}

std::string lower(std::string text)
{
    for (char& letter : text)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return text;
}

// Everything that is accepted must be exactly what write_text writes, except for the case of the slots' digits.
void expect_canonical(const std::string& text)
{
    const parsed found = parse(text);
    if (found.what != status::ok)
        return;
    const std::string written = support::write_text(found.scheme, found.slots);
    const std::size_t digits = written.size() - found.slots.size() * 8;
    EXPECT_EQ(text.substr(0, digits) + lower(text.substr(digits)), written);
}

const std::string example = "fss1:16x32:char5:fold:set:-42:"
                            "2ab4584d17f93e2c03f035312b3b01d72ebb6eee33ad14710cbf9ddb2e127a32"
                            "03088e1a94dd7c33841766ba1a318374261bfdae1ccba55d097590b639660c2e";

TEST(text_form, round_trip)
{
    support::random_source random = {71};
    for (int trial = 0; trial < 500; trial++) {
        const std::int64_t seeds[] = {0, -1, 42, INT64_MIN, INT64_MAX, static_cast<std::int64_t>(random.next())};
        const scheme scheme = {1,
                               random.below(2) == 0 ? method::fss : method::classic,
                               32,
                               static_cast<std::uint16_t>(trial == 0 ? 4096 : 16 + random.below(300)),
                               {random.below(2) == 0 ? unit::character : unit::word,
                                static_cast<std::uint16_t>(1 + random.below(255)),
                                random.below(2) == 0,
                                random.below(2) == 0},
                               seeds[random.below(6)]};
        slot_list slots(random.below(5) == 0 ? 0 : scheme.num_hashes);
        for (std::uint32_t& slot : slots)
            slot = static_cast<std::uint32_t>(random.next() >> random.below(64));

        const std::string written = support::write_text(scheme, slots);
        ASSERT_EQ(written, reference::text_form(scheme, slots));
        const parsed found = parse(written);
        ASSERT_EQ(found.what, status::ok);
        ASSERT_EQ(found.position, written.size());
        ASSERT_EQ(found.slots, slots);
        ASSERT_EQ(support::write_text(found.scheme, found.slots), written);

        char prefix[minhash::max_text_prefix];
        const std::size_t length = minhash::write_prefix(scheme, prefix);
        ASSERT_EQ(std::string(prefix, length) + ":", written.substr(0, length + 1));
        ASSERT_LT(length, minhash::max_text_prefix);
    }
}

TEST(text_form, the_longest_prefix_fits)
{
    const scheme scheme = {1, method::classic, 32, 4096, {unit::word, 255, true, false}, INT64_MIN};
    EXPECT_EQ(support::write_text(scheme, {}), "classic1:4096x32:word255:fold:set:-9223372036854775808:");
}

TEST(text_form, every_prefix_is_refused_but_the_empty_signature)
{
    ASSERT_EQ(parse(example).what, status::ok);
    for (std::size_t length = 0; length < example.size(); length++) {
        const parsed found = parse(example.substr(0, length));
        if (length == 30) {
            EXPECT_EQ(found.what, status::ok);
            EXPECT_TRUE(found.slots.empty());
        } else {
            ASSERT_NE(found.what, status::ok) << example.substr(0, length);
        }
    }
}

TEST(text_form, every_mutation_is_canonical_or_refused)
{
    static const std::string letters = "0129afAFgx:-+ ,.{}\"'\t\n\xC3\x7F";
    for (std::size_t at = 0; at <= example.size(); at++) {
        for (const char letter : letters + std::string(1, '\0')) {
            std::string text = example;
            text.insert(at, 1, letter);
            expect_canonical(text);
            if (at < example.size()) {
                text = example;
                text[at] = letter;
                expect_canonical(text);
            }
        }
        if (at < example.size()) {
            std::string text = example;
            text.erase(at, 1);
            expect_canonical(text);
            text = example;
            text.insert(at, 1, text[at]);
            expect_canonical(text);
        }
    }
}

TEST(text_form, random_mutations_are_canonical_or_refused)
{
    static const std::string pieces[] = {"fss",
                                         "classic",
                                         "1",
                                         ":",
                                         "x",
                                         "32",
                                         "char",
                                         "word",
                                         "0",
                                         "fold",
                                         "raw",
                                         "bag",
                                         "set",
                                         "-",
                                         "4096",
                                         "18446744073709551616"};
    support::random_source random = {72};
    for (int trial = 0; trial < 20000; trial++) {
        std::string text = example.substr(0, random.below(2) == 0 ? 30 : example.size());
        for (std::size_t changes = 1 + random.below(3); changes > 0; changes--) {
            const std::size_t at = random.below(std::min<std::size_t>(text.size(), 30) + 1);
            text.erase(at, random.below(4));
            text.insert(at, pieces[random.below(std::size(pieces))]);
        }
        expect_canonical(text);
    }
}

TEST(text_form, says_what_is_wrong_and_where)
{
    const struct {
        const char* from;
        const char* to;
        status what;
        std::size_t position;
    } cases[] = {
        {"fss1", "fsx1", status::bad_method, 0},
        {"fss1", "FSS1", status::bad_method, 0},
        {"fss1:", "fss:", status::bad_version, 3},
        {"fss1:", "fss01:", status::bad_version, 3},
        {"fss1:", "fss+1:", status::bad_version, 3},
        {"fss1:", "fss256:", status::bad_version, 3},
        {"fss1:", "fss1;", status::bad_version, 4},
        {":16x", ":x", status::bad_num_hashes, 5},
        {":16x", ":016x", status::bad_num_hashes, 5},
        {":16x", ":+16x", status::bad_num_hashes, 5},
        {":16x", ":-16x", status::bad_num_hashes, 5},
        {":16x", ":65552x", status::bad_num_hashes, 5},
        {":16x", ":16X", status::bad_num_hashes, 7},
        {"x32:", "x032:", status::bad_bits, 8},
        {"x32:", "x288:", status::bad_bits, 8},
        {"x32:", "x32", status::bad_bits, 10},
        {"char5", "line5", status::bad_unit, 11},
        {"char5", "char", status::bad_shingle_size, 15},
        {"char5", "char05", status::bad_shingle_size, 15},
        {"char5", "char65541", status::bad_shingle_size, 15},
        {"fold", "folded", status::bad_flags, 17},
        {"set", "sets", status::bad_flags, 22},
        {":-42:", "::", status::bad_seed, 26},
        {":-42:", ":-0:", status::bad_seed, 26},
        {":-42:", ":+42:", status::bad_seed, 26},
        {":-42:", ":042:", status::bad_seed, 26},
        {":-42:", ":- 42:", status::bad_seed, 26},
        {":-42:", ":9223372036854775808:", status::bad_seed, 26},
        {":-42:", ":-9223372036854775809:", status::bad_seed, 26},
        {":-42:", ":-42,", status::bad_seed, 29},
        {"2ab4", "0xb4", status::bad_digits, 30},
        {"2ab4", "+ab4", status::bad_digits, 30},
        {"2ab4", "2ag4", status::bad_digits, 30},
        {"39660c2e", "39660c2 ", status::bad_digits, 30 + 15 * 8},
        {"39660c2e", "39660c2", status::bad_length, 30 + 15 * 8},
        {"39660c2e", "", status::bad_length, 30 + 15 * 8},
        {"39660c2e", "39660c2e ", status::bad_length, 30 + 16 * 8},
        {"39660c2e", "39660c2e00000000", status::bad_length, 30 + 16 * 8},
    };

    for (const auto& wrong : cases) {
        std::string text = example;
        text.replace(text.find(wrong.from), std::strlen(wrong.from), wrong.to);
        const parsed found = parse(text);
        EXPECT_EQ(found.what, wrong.what) << text;
        EXPECT_EQ(found.position, wrong.position) << text;
    }
}

TEST(text_form, ranges_are_checked)
{
    const auto replaced = [](const std::string& from, const std::string& to) {
        std::string text = example.substr(0, 30); // without slots
        text.replace(text.find(from), from.size(), to);
        return parse(text).what;
    };
    EXPECT_EQ(replaced("fss1", "fss0"), status::bad_version);
    EXPECT_EQ(replaced("fss1", "fss2"), status::bad_version);
    EXPECT_EQ(replaced("16x", "7x"), status::bad_num_hashes);
    EXPECT_EQ(replaced("16x", "4096x"), status::ok);
    EXPECT_EQ(replaced("16x", "4097x"), status::bad_num_hashes);
    for (int bits = 0; bits <= 64; bits++)
        EXPECT_EQ(replaced("x32", "x" + std::to_string(bits)),
                  std::has_single_bit(static_cast<unsigned>(bits)) && bits <= 32 ? status::ok : status::bad_bits);
    EXPECT_EQ(replaced("fss1", "external1"), status::ok);
    EXPECT_EQ(replaced("char5:fold", "element1:raw"), status::ok);
    EXPECT_EQ(replaced("char5:fold", "element1:fold"), status::bad_flags);
    EXPECT_EQ(replaced("char5:fold", "element2:raw"), status::bad_shingle_size);
    EXPECT_EQ(replaced("char5", "char0"), status::bad_shingle_size);
    EXPECT_EQ(replaced("char5", "word255"), status::ok);
    EXPECT_EQ(replaced("char5", "char256"), status::bad_shingle_size);
    EXPECT_EQ(replaced("-42", "9223372036854775807"), status::ok);
    EXPECT_EQ(replaced("-42", "-9223372036854775808"), status::ok);
}

TEST(text_form, upper_case_digits_are_read)
{
    std::string text = example;
    for (std::size_t at = 30; at < text.size(); at++)
        text[at] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[at])));
    const parsed found = parse(text);
    ASSERT_EQ(found.what, status::ok);
    EXPECT_EQ(support::write_text(found.scheme, found.slots), example);
}

TEST(text_form, packed_slots)
{
    const std::string front = "classic1:20x2:word3:raw:bag:7:";
    EXPECT_EQ(parse(front).written, front);
    EXPECT_EQ(parse(front + "1bE40102fF").written, front + "1be40102ff");

    const struct {
        const char* from;
        const char* to;
        status what;
        std::size_t position;
    } cases[] = {
        {"", "1be40102f", status::bad_length, 38},
        {"", "1be40102", status::bad_length, 38},
        {"", "1be40102ff00", status::bad_length, 40},
        {"", "1be4010gff", status::bad_digits, 36},
        {"20x2", "20x4", status::bad_length, 40},
        {"20x2", "17x2", status::bad_spare_bits, 40},
        {"20x2", "20x3", status::bad_bits, 12},
    };

    for (const auto& wrong : cases) {
        std::string text = front;
        text.replace(text.find(wrong.from), std::strlen(wrong.from), wrong.to);
        if (*wrong.from == '\0')
            text = front + wrong.to;
        else
            text += "1be40102ff";
        const parsed found = parse(text);
        EXPECT_EQ(found.what, wrong.what) << text;
        EXPECT_EQ(found.position, wrong.position) << text;
    }
    EXPECT_EQ(parse("classic1:17x2:word3:raw:bag:7:1be4010203").what, status::ok);
}

} // namespace
