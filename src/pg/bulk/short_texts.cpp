// Only texts are looked at. The elements of sets, such as tags, are as many as they are: no argument makes more of
// them, and nobody expects an empty array to be near another. The same is true of words: short texts have few, and
// shingles of fewer words are no remedy in general. With shingles of up to three characters, the caller has done what
// the NOTICE advises.
#include "pg/bulk/short_texts.h"

#include "bulk/evaluation/sample.h"

namespace minhash::pg {

namespace {

constexpr std::uint32_t few_shingles = 30;
constexpr int advised_size = 3; // characters

// Texts of this many bytes are not read: almost all have more than few_shingles shingles, whatever their language is.
constexpr std::size_t long_text = 160;

void notice_empty_texts(std::uint32_t count)
{
    ereport(NOTICE,
            errmsg_plural("%u row has no shingles", "%u rows have no shingles", count, count),
            errdetail("A text that is empty after folding is near nothing, not even another such text."));
}

void notice_few_shingles(std::uint32_t median)
{
    ereport(NOTICE,
            errmsg("half of the texts have fewer than %u shingles", few_shingles),
            errdetail("The median is %u. One changed character takes away several of them.", median),
            errhint("Texts as short as names and titles need, for example, shingle_size => %d, threshold => 0.5.",
                    advised_size));
}

} // namespace

void notice_short_texts(bulk_call& call)
{
    // The settings of kept clusters were chosen when they were created; a refresh every night would repeat the notices.
    if (!call.wanted.notes_short_texts || !call.from_texts || call.is_internal)
        return;
    if (call.empty > 0)
        notice_empty_texts(call.empty);
    const shingling& how = call.wanted.texts.shingles;
    if (row_count(call) < 2 || how.of != unit::character || how.size <= advised_size)
        return;
    const std::uint32_t median = bulk::median_shingles(*call.rows, long_text);
    if (median < few_shingles)
        notice_few_shingles(median);
}

} // namespace minhash::pg
