// Runs the tests with the kernels that the environment variable MINHASH_KERNELS names, or with the fastest if it is not
// set. With --runnable, only prints the names of the kernels that this machine can run.
#include "core/kernels.h"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string_view>

int main(int argc, char** argv)
{
    if (argc > 1 && std::string_view(argv[1]) == "--runnable") {
        for (const minhash::kernel_table* const table : minhash::runnable_kernels())
            std::puts(table->name);
        return 0;
    }
    const char* const wanted = std::getenv("MINHASH_KERNELS");
    minhash::kernels = minhash::find_kernels(wanted == nullptr ? "auto" : wanted);
    if (minhash::kernels == nullptr) {
        std::fprintf(stderr, "this machine cannot run the kernels \"%s\"\n", wanted);
        return 2;
    }
    std::printf("kernels: %s\n", minhash::kernels->name);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
