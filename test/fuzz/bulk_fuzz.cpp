// Tests any rows and options: the engine must find the same pairs and clusters as a comparison of every row with every
// other, and any call of its host may end it early by a jump. The first bytes of the input choose the options; the
// texts, or the slots of signatures, follow.
#include "../unit/bulk_support.h"

namespace {

using namespace bulk_support;

problem make_problem(const std::uint8_t* data, std::size_t size)
{
    problem made;
    minhash::scheme& scheme = made.task.scheme;
    scheme = support::default_scheme;
    scheme.num_hashes = 16;
    scheme.shingles = {data[0] & 1 ? minhash::unit::word : minhash::unit::character,
                       static_cast<std::uint16_t>(1 + data[0] / 2 % 4),
                       (data[0] & 16) != 0,
                       (data[0] & 32) != 0};
    made.from_texts = (data[0] & 64) != 0;
    made.crossing = (data[0] & 128) != 0;
    made.task.exact = made.from_texts && (data[1] & 1);
    made.clusters = {(data[1] & 2) != 0, (data[1] & 4) != 0};
    made.memory = data[1] & 8 ? 0 : 1 << 24;
    const int rows = 1 + data[2] % 16;
    made.task.banding = {1 + data[2] / 16 % (16 / rows), rows};
    made.task.threshold = data[3] % 65 / 64.0;
    made.task.max_bucket = data[4] % 8;
    made.workers = data[4] / 8 % 4;
    made.elsewhere = data[4] / 32 % 4;

    constexpr std::size_t most_rows = 50;
    const std::uint8_t* at = data + 6;
    const std::uint8_t* const end = data + size;
    if (made.from_texts) {
        while (at < end && made.texts.size() < most_rows) {
            const std::uint8_t* const stop = std::find(at, end, '\n');
            const std::string text(at, stop);
            if (!support::sign(text, scheme).empty())
                made.texts.push_back(text);
            at = stop == end ? end : stop + 1;
        }
    } else {
        scheme.method = minhash::method::external;
        scheme.bits = 8;
        for (; end - at >= 16 && made.slots.size() < most_rows; at += 16)
            made.slots.emplace_back(at, at + 16);
    }
    for (std::uint32_t row = 0; row < made.count(); row++)
        made.ranks.push_back(row * data[5] % 7);
    made.first_count = made.count() * data[5] / 256;
    return made;
}

// Runs the engine with a host that ends it at call number `at` of one kind. If the engine makes fewer such calls, it
// runs to its end.
void leave(const problem& given, outcome kind, long at)
{
    test_host host;
    host.ranks = given.ranks;
    engine_call call = {&host, &given, at % 2 == 0 ? job::pairs : job::clusters, 0, {}};
    host.fail(kind, at);
    const outcome left = run(host, call_engine, call);
    if (left != kind && left != finished)
        std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size < 6)
        return 0;
    const problem given = make_problem(data, size);
    for (const std::string& wrong : {check_pairs(given), check_clusters(given)})
        if (!wrong.empty()) {
            std::fprintf(stderr, "%s\n", wrong.c_str());
            std::abort();
        }
    for (const outcome kind : {out_of_memory, write_failed, read_failed, stopped, worker_failed})
        leave(given, kind, 1 + data[size - 1]);
    return 0;
}
