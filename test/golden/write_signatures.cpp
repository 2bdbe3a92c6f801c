// Writes a golden file again from its own first eight columns, using only the reference:
//
//     write_signatures signatures.tsv
//
// Use it to look at differences, and to add rows. Rows of a released scheme never change.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "../unit/reference.h"

int main(int count, char** arguments)
{
    if (count != 2)
        return 2;
    std::ifstream file(arguments[1]);
    std::string line;
    std::getline(file, line);
    std::cout << line << '\n';
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string field[8];
        for (std::string& value : field)
            std::getline(fields, value, '\t');
        const minhash::scheme scheme = {
            .version = minhash::scheme_version,
            .method = field[7] == "classic" ? minhash::method::classic : minhash::method::fss,
            .bits = minhash::bits_per_slot,
            .num_hashes = static_cast<std::uint16_t>(std::stoi(field[1])),
            .shingles = {.of = field[3] == "word" ? minhash::unit::word : minhash::unit::character,
                         .size = static_cast<std::uint16_t>(std::stoi(field[2])),
                         .fold = field[4] == "t",
                         .bag = field[5] == "t"},
            .seed = std::stoll(field[6]),
        };
        for (const std::string& value : field)
            std::cout << value << '\t';
        std::cout << reference::text_form(scheme, reference::sign(field[0], scheme)) << '\n';
    }
}
