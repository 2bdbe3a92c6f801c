// For each row the later rows that share elements are counted by walking, for each of its elements,
// to the postings that follow its own. Then each later row has its exact similarity, and one
// comparison of the two signatures, slot by slot, tells by how many slots they agree: fewer than
// the rows of any setting's band, and no setting can have found the pair.
#include "bulk/evaluation.h"

#include "core/overlap.h"

#include <algorithm>

namespace minhash::bulk {

namespace {

// As much work as is done without a pause: postings sorted; elements gone through.
constexpr std::size_t most_sorted = 1 << 16;
constexpr std::size_t elements_at_once = 1024;

struct posting {
    std::uint64_t element;
    std::uint32_t row;
};

struct evaluation {
    row_set* rows;
    host* owner;
    std::span<setting> settings;
    std::uint32_t least_rows; // of any setting
    std::uint64_t true_pairs;

    std::span<posting> postings; // by element, then by row
    std::uint32_t* sizes;        // of the rows' sets
    std::uint64_t* starts;       // of the rows' elements in `following`
    std::uint32_t* following;    // for each element of a row: the posting after the row's own
    std::uint32_t* shared;       // with the row in hand
    void* buffers[2];            // of slots
};

bool before(const posting& a, const posting& b)
{
    return a.element != b.element ? a.element < b.element : a.row < b.row;
}

// Sorts postings whose elements differ in the lower `bits` only; in parts, to answer to cancel in
// between.
void sort_postings(host& owner, std::span<posting> part, int bits = 64)
{
    pause(owner);
    if (std::is_sorted(part.begin(), part.end(), before)) // as those of a text that repeats itself
        return;
    if (part.size() <= most_sorted || bits == 0) {
        std::sort(part.begin(), part.end(), before);
        return;
    }
    const auto middle = std::partition(part.begin(), part.end(), [bits](const posting& each) {
        return (each.element >> (bits - 1) & 1) == 0;
    });
    sort_postings(owner, {part.begin(), middle}, bits - 1);
    sort_postings(owner, {middle, part.end()}, bits - 1);
}

// The distinct elements of all rows, as postings in the order of elements.
void collect_elements(evaluation& job)
{
    row_set& rows = *job.rows;
    host& owner = *job.owner;
    job.sizes = allocate<std::uint32_t>(owner, rows.count);
    job.starts = allocate<std::uint64_t>(owner, rows.count);
    growing<posting> all = {};
    std::size_t count = 0;
    growing<std::uint8_t> buffer = {};
    for (std::uint32_t row = 0; row < rows.count; row++) {
        const text_bytes text = fetch_text(rows, row, buffer);
        job.starts[row] = count;
        each_batch(*rows.signer, text, [&](const shingle_batch& batch) {
            grow(owner, all, count, count + batch.count);
            for (std::size_t i = 0; i < batch.count; i++)
                all.values[count++] = {std::uint64_t{batch.hi[i]} << 32 | batch.lo[i], row};
        });
        const auto equal = [](const posting& a, const posting& b) {
            return a.element == b.element;
        };
        posting* const first = all.values + job.starts[row];
        sort_postings(owner, {first, all.values + count});
        count =
            static_cast<std::size_t>(std::unique(first, all.values + count, equal) - all.values);
        if (count >= no_row)
            owner.fail_too_many_shingles(owner, no_row);
        job.sizes[row] = static_cast<std::uint32_t>(count - job.starts[row]);
    }
    release(owner, buffer.values);
    job.postings = {all.values, count};
    sort_postings(owner, job.postings);
    job.following = allocate<std::uint32_t>(owner, count);
    std::uint64_t* const next = allocate<std::uint64_t>(owner, rows.count);
    std::copy_n(job.starts, rows.count, next);
    for (std::size_t i = 0; i < count; i++) {
        if (i % most_sorted == 0)
            pause(owner);
        job.following[next[job.postings[i].row]++] = static_cast<std::uint32_t>(i + 1);
    }
    release(owner, next);
    job.shared = allocate<std::uint32_t>(owner, rows.count);
}

bool shares_band(const std::uint32_t* a, const std::uint32_t* b, band_choice shape)
{
    for (int band = 0; band < shape.bands; band++, a += shape.rows, b += shape.rows)
        if (std::equal(a, a + shape.rows, b))
            return true;
    return false;
}

const std::uint32_t* slots_of(evaluation& job, std::uint32_t row, int side)
{
    return static_cast<const std::uint32_t*>(fetch_slots(*job.rows, row, job.buffers[side]));
}

// All pairs of a row with later rows.
void compare_row(evaluation& job, std::uint32_t a)
{
    row_set& rows = *job.rows;
    std::fill_n(job.shared, rows.count, 0);
    for (std::uint32_t i = 0; i < job.sizes[a]; i++) {
        if (i % elements_at_once == 0)
            pause(*job.owner);
        std::size_t at = job.following[job.starts[a] + i];
        const std::uint64_t element = job.postings[at - 1].element;
        for (; at < job.postings.size() && job.postings[at].element == element; at++)
            job.shared[job.postings[at].row]++;
    }
    const std::uint32_t* const slots = slots_of(job, a, 0);
    for (std::uint32_t b = a + 1; b < rows.count; b++) {
        const std::uint32_t shared = job.shared[b];
        const double similarity = jaccard({job.sizes[a], job.sizes[b], shared});
        const bool is_true = similarity >= rows.task.threshold;
        job.true_pairs += is_true;
        const std::uint32_t* const others = slots_of(job, b, 1);
        const bool candidate =
            count_equal(slots, others, rows.task.scheme.num_hashes) >= job.least_rows;
        if (!candidate && !is_true)
            continue;
        for (setting& each : job.settings) {
            const bool met = shares_band(slots, others, each.shape);
            each.candidates += met;
            each.found += met && is_true;
            if (is_true)
                each.predicted += band_probability(similarity, each.shape.bands, each.shape.rows);
        }
    }
}

} // namespace

std::uint64_t evaluate(row_set& rows, std::span<setting> settings)
{
    host& owner = *rows.owner;
    finish_rows(rows);
    evaluation job = {};
    job.rows = &rows;
    job.owner = &owner;
    job.settings = settings;
    job.least_rows = max_num_hashes;
    for (const setting& each : settings)
        job.least_rows = std::min(job.least_rows, static_cast<std::uint32_t>(each.shape.rows));
    for (void*& buffer : job.buffers)
        buffer = allocate<std::uint32_t>(owner, rows.task.scheme.num_hashes);
    collect_elements(job);
    for (std::uint32_t row = 0; row < rows.count; row++) {
        report(owner, "comparing rows of the sample", row, rows.count);
        compare_row(job, row);
    }
    release(owner, job.postings.data());
    release(owner, job.sizes);
    release(owner, job.starts);
    release(owner, job.following);
    release(owner, job.shared);
    for (void* const buffer : job.buffers)
        release(owner, buffer);
    return job.true_pairs;
}

} // namespace minhash::bulk
