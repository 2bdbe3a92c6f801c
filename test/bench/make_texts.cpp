// Prints texts as rows for COPY: make_texts COUNT CHARACTERS [SEED]
#include <cstdio>
#include <cstdlib>

#include "texts.h"

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: make_texts COUNT CHARACTERS [SEED]\n");
        return 2;
    }
    const long count = std::atol(argv[1]);
    const std::size_t characters = std::strtoul(argv[2], nullptr, 10);
    bench::text_source source(bench::script::english, argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
    for (long id = 1; id <= count; id++) {
        std::printf("%ld\t", id);
        for (const char letter : source.text(characters)) {
            if (letter == '\n')
                std::fputs("\\n", stdout);
            else
                std::putchar(letter);
        }
        std::putchar('\n');
    }
}
