// Writes the golden file of element signatures again from its own first six columns, using only the reference:
//
//     write_element_signatures element_signatures.tsv
//
// Use it to look at differences, and to add rows. Rows of a released scheme never change.
#include <fstream>
#include <iostream>

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
        reference::string_list row = reference::split(line, '\t');
        row.resize(7);
        const minhash::scheme scheme = reference::element_scheme(row);
        row[6] = reference::text_form(scheme, reference::sign(reference::members(row[0], row[1], scheme.seed), scheme));
        std::cout << reference::join(row, "\t") << '\n';
    }
}
