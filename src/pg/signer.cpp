#include "pg/arguments.h"
#include "pg/memory.h"
#include "pg/signer.h"

namespace minhash::pg {

namespace {

scheme scheme_of(FunctionCallInfo fcinfo, int num_hashes, int seed, int method)
{
    scheme scheme = default_text_scheme;
    if (!PG_ARGISNULL(num_hashes))
        scheme.num_hashes =
            static_cast<std::uint16_t>(arg_between(fcinfo, num_hashes, "num_hashes", min_num_hashes, max_num_hashes));
    if (!PG_ARGISNULL(seed))
        scheme.seed = PG_GETARG_INT64(seed);
    if (!PG_ARGISNULL(method))
        scheme.method = arg_method(fcinfo, method);
    return scheme;
}

} // namespace

scheme arg_scheme(FunctionCallInfo fcinfo, int first)
{
    scheme scheme = scheme_of(fcinfo, first, first + 5, first + 6);
    scheme.shingles = arg_shingling(fcinfo, first + 1);
    return scheme;
}

scheme arg_element_scheme(FunctionCallInfo fcinfo, int first, bool bag)
{
    scheme scheme = scheme_of(fcinfo, first, first + 1, first + 2);
    scheme.shingles = given_members(bag);
    return scheme;
}

std::uint32_t* grow_bag(MemoryContext memory, std::uint32_t* old, std::size_t words)
{
    if (old != nullptr)
        pfree(old);
    return static_cast<std::uint32_t*>(allocate_large(memory, words * sizeof(std::uint32_t)));
}

void text_source::rewind() const
{
    open(signer.reader, document);
    start(signer.cutter, signer.scheme.shingles, signer.scheme.seed);
}

bool text_source::next_batch() const
{
    const std::span<const std::uint8_t> slice = read(signer.reader);
    const bool last = at_end(signer.reader);
    cut(signer.cutter, slice.data(), slice.size(), last, signer.batch);
    return last;
}

} // namespace minhash::pg
