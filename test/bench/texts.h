// Makes texts for benchmarks: their words follow Zipf's law, in several scripts, and are the same on every machine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

enum class script { english, russian, chinese, french };

// splitmix64.
struct random_source {
    std::uint64_t state;

    std::uint64_t next()
    {
        std::uint64_t z = state += 0x9E3779B97F4A7C15;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
        z = (z ^ z >> 27) * 0x94D049BB133111EB;
        return z ^ z >> 31;
    }

    double fraction() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
};

inline void append_character(std::string& text, std::uint32_t code_point)
{
    if (code_point < 0x80) {
        text += static_cast<char>(code_point);
    } else if (code_point < 0x800) {
        text += static_cast<char>(0xC0 | code_point >> 6);
        text += static_cast<char>(0x80 | (code_point & 0x3F));
    } else {
        text += static_cast<char>(0xE0 | code_point >> 12);
        text += static_cast<char>(0x80 | (code_point >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (code_point & 0x3F));
    }
}

class text_source {
public:
    text_source(script of, std::uint64_t seed) : of_(of), random_{seed}
    {
        random_source letters{99 + static_cast<std::uint64_t>(of)};
        for (int rank = 0; rank < vocabulary_size; rank++)
            vocabulary_.push_back(make_word(letters, rank));
    }

    // A text of exactly this many characters.
    std::string text(std::size_t characters)
    {
        std::string made;
        std::size_t count = 0;
        bool capital = true;
        while (count < characters) {
            std::vector<std::uint32_t> word = vocabulary_[rank()];
            if (capital && of_ != script::chinese)
                word[0] -= of_ == script::russian ? 0x20 : word[0] < 0x80 ? 0x20 : 0;
            capital = false;
            const std::uint64_t dice = random_.next() % 40;
            if (of_ == script::chinese) {
                if (dice < 4)
                    word.push_back(0x3002);
            } else if (dice < 3) {
                word.insert(word.end(), {'.', ' '});
                capital = true;
            } else if (dice < 6) {
                word.insert(word.end(), {',', ' '});
            } else if (dice == 6) {
                word.insert(word.end(), {'\n', '\n'});
            } else {
                word.push_back(' ');
            }
            for (std::size_t index = 0; index < word.size() && count < characters; index++, count++)
                append_character(made, word[index]);
        }
        return made;
    }

private:
    static constexpr int vocabulary_size = 20000;

    std::size_t rank()
    {
        const double drawn = std::pow(vocabulary_size + 1.0, random_.fraction()) - 1;
        return drawn >= vocabulary_size ? vocabulary_size - 1 : static_cast<std::size_t>(drawn);
    }

    std::vector<std::uint32_t> make_word(random_source& random, int rank)
    {
        std::vector<std::uint32_t> word;
        const int length = of_ == script::chinese ? 1 + static_cast<int>(random.next() % 3)
                                                  : 1 + static_cast<int>(random.fraction() * random.fraction() * 12) +
                                                        (rank > 200 ? 2 : 1);
        for (int index = 0; index < length; index++) {
            const double skewed = random.fraction() * random.fraction();
            const auto letter = static_cast<std::uint32_t>(skewed * 26);
            if (of_ == script::chinese)
                word.push_back(0x4E00 + static_cast<std::uint32_t>(skewed * 5000));
            else if (of_ == script::russian)
                word.push_back(0x430 + letter);
            else if (of_ == script::french && random.next() % 20 == 0)
                word.push_back(0xE0 + letter % 16);
            else
                word.push_back(static_cast<std::uint32_t>("etaoinshrdlucmfwypvbgkjqxz"[letter]));
        }
        return word;
    }

    script of_;
    random_source random_;
    std::vector<std::vector<std::uint32_t>> vocabulary_;
};

} // namespace bench
