// Runs the tests with the kernels that the environment variable MINHASH_KERNELS names, or with the fastest if it is not
// set. With --runnable, only prints the names of the kernels that this machine can run.
#include "core/kernels.h"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace {

// Appends counts and the names of what failed to the file that COUNTS names: test/check.sh reads them.
struct count_writer : testing::EmptyTestEventListener {
    void OnTestProgramEnd(const testing::UnitTest& all) override
    {
        const char* const file = std::getenv("COUNTS");
        if (file == nullptr)
            return;
        std::string lines = "passed " + std::to_string(all.successful_test_count()) + "\nfailed " +
                            std::to_string(all.failed_test_count()) + "\n";
        for (int suite = 0; suite < all.total_test_suite_count(); suite++) {
            const testing::TestSuite& tests = *all.GetTestSuite(suite);
            for (int test = 0; test < tests.total_test_count(); test++)
                if (tests.GetTestInfo(test)->should_run() && tests.GetTestInfo(test)->result()->Failed())
                    lines += std::string("FAILED ") + tests.name() + "." + tests.GetTestInfo(test)->name() + "\n";
        }
        // Processes that run parts of the tests at the same time append to one file.
        std::FILE* const out = std::fopen(file, "a");
        if (out != nullptr) {
            std::fputs(lines.c_str(), out);
            std::fclose(out);
        }
    }
};

} // namespace

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
    testing::UnitTest::GetInstance()->listeners().Append(new count_writer);
    return RUN_ALL_TESTS();
}
