#include "core/graphemes.h"

#include <gtest/gtest.h>

#include "support.h"

namespace {

using reference::string_list;

string_list clusters(const std::string& text)
{
    string_list found;
    minhash::grapheme_state state = minhash::start_graphemes();
    for (const std::string& character : reference::characters(text)) {
        const bool valid = reference::well_formed(character, 0) > 0;
        const auto code = valid ? static_cast<char32_t>(reference::code_point(character)) : minhash::invalid_byte;
        if (minhash::begins_grapheme(state, code))
            found.emplace_back();
        found.back() += character;
    }
    return found;
}

// Each list has the clusters that the concatenation of its members must have.
TEST(graphemes, are_those_of_the_annex)
{
    const string_list lists[] = {
        {"a", "b", "\r\n", "c", "\n", "\r", "d"},
        {"e\u0301\u0302", "n\u0303", " \u0301"},
        {"\n", "\u0301", "\u200B", "\u0301"},
        {"\u0928\u093F", "\u0915\u094D", "\u0937", "\u0E01\u0E33", "\u0BA8\u0BBF"},
        {"\u1112\u1161\u11AB", "\uD55C", "\uAC00\u11A8", "\uAC01\u11A8", "\u1100\u1100\uAC00", "\uAC01", "\u1161"},
        {"\u0600"
         "1",
         "\u0600"
         "\u0600"
         "a",
         "b"},
        {"\U0001F1E9\U0001F1EA", "\U0001F1EB\U0001F1F7", "\U0001F1E9", "a", "\U0001F1E9\U0001F1EA"},
        {"\U0001F469\u200D\U0001F4BB", "\U0001F44D\U0001F3FD", "\u2764\uFE0F\u200D\U0001F525", "\U0001F469"},
        {"\U0001F3F3\uFE0F\u200D\U0001F308", "1\uFE0F\u20E3", "\U0001F3F4\U000E0067\U000E007F"},
        {"a\u200D", "\U0001F525", "\U0001F469\u200D\u200D", "\U0001F525", "\U0001F469\u200D", "a"},
        {"\u00A9\u0308\u200D\u00AE", "\xFF\u0301", "\xC3"},
    };
    for (const string_list& expected : lists)
        EXPECT_EQ(clusters(reference::join(expected, "")), expected);
    EXPECT_EQ(clusters(""), string_list{});
}

// The file of test cases that comes with Unicode, where it is installed.
TEST(graphemes, pass_the_test_of_unicode)
{
    std::ifstream file("/usr/share/unicode/auxiliary/GraphemeBreakTest.txt");
    std::string line;
    if (!std::getline(file, line) || line.find("-15.0.0") == std::string::npos)
        GTEST_SKIP() << "no Unicode 15.0.0";
    std::size_t cases = 0;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#')
            continue;
        string_list expected;
        for (const std::string& token : reference::split(line.substr(0, line.find('\t')), ' ')) {
            if (token == "\u00F7")
                expected.emplace_back();
            else if (token != "\u00D7")
                expected.back() += reference::encode(std::stoul(token, nullptr, 16));
        }
        expected.pop_back();
        cases++;
        EXPECT_EQ(clusters(reference::join(expected, "")), expected) << line;
    }
    EXPECT_EQ(cases, 602u);
}

} // namespace
