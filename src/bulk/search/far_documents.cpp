// Far documents (those in a table larger than memory) are read once, before rows are compared (candidates.h).
#include "bulk/search/row_candidates.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace minhash::bulk {

namespace {

// Documents are read in blocks of this many rows, and each block is sorted by location. Most scans return rows in the
// order of locations anyway.
constexpr std::uint32_t rows_at_once = 16 * 1024;

constexpr std::size_t most_chunk = 2 * 1024 * 1024;

struct wanted_document {
    std::uint64_t location;
    std::uint32_t row;
};

std::atomic_ref<std::uint32_t> marks_of(const row_set& rows, std::uint32_t row)
{
    return std::atomic_ref(find_shared<std::uint32_t>(rows, rows.search->marks)[row / 32]);
}

bool is_marked(const row_set& rows, std::uint32_t row)
{
    return marks_of(rows, row).load(std::memory_order_relaxed) >> row % 32 & 1;
}

void mark(const row_set& rows, std::uint32_t row)
{
    assert(row < rows.count);
    if (!is_marked(rows, row))
        marks_of(rows, row).fetch_or(1U << row % 32, std::memory_order_relaxed);
}

// Marks those rows of a bucket that may be compared with another row of the bucket. Equal rows are marked, too: they
// share all their buckets. If the bucket is large, all of its rows are marked, because most of them will be compared.
void mark_bucket(verifier& check, std::span<const std::uint32_t> bucket)
{
    const row_set& rows = *check.rows;
    const bool gathered = bucket.size() >= least_gathered && can_gather(check);
    if (bucket.size() > (gathered ? most_gathered : small_bucket)) {
        for (const std::uint32_t row : bucket)
            mark(rows, row);
        return;
    }
    if (gathered)
        gather_starts(check, bucket);
    for (std::size_t a = 0; a < bucket.size(); a++) {
        pause(*rows.owner);
        const auto take = [&](std::size_t b) {
            mark(rows, bucket[a]);
            mark(rows, bucket[b]);
        };
        if (gathered) {
            each_likely(check, a, bucket.size(), take);
            continue;
        }
        for (std::size_t b = a + 1; b < bucket.size(); b++)
            if (!(is_marked(rows, bucket[a]) && is_marked(rows, bucket[b])) && may_be_near(check, bucket[a], bucket[b]))
                take(b);
    }
}

// Lists the marked rows in [first, end) whose documents must be read, in the order of the documents' locations. Returns
// the number of listed rows.
std::size_t find_wanted(row_set& rows, std::uint32_t first, std::uint32_t end, wanted_document* wanted)
{
    std::size_t count = 0;
    for (std::uint32_t row = first; row < end; row++)
        if (is_marked(rows, row))
            if (const std::uint64_t location = location_to_read(rows, row))
                wanted[count++] = {location, row};
    std::sort(wanted, wanted + count, [](const wanted_document& a, const wanted_document& b) {
        return a.location < b.location;
    });
    return count;
}

void mark_units(row_set& rows)
{
    verifier check;
    start_verifier(check, rows);
    bucket_walk walk;
    start_walk(walk, rows, nullptr);
    while (walk_next(walk, "looking for rows to be compared", [&](auto bucket) { mark_bucket(check, bucket); }))
        continue;
}

void bring_units(row_set& rows)
{
    host& owner = *rows.owner;
    byte_store* const to = open_shared_store(*rows.budget, chunk_for(*rows.budget, 1, most_chunk));
    auto* const wanted = allocate<wanted_document>(owner, rows_at_once);
    auto* const locations = allocate<std::uint64_t>(owner, rows_at_once);
    growing<std::uint8_t> buffer = {};
    const char* const phase = "reading rows to be compared";
    each_unit(rows, phase, rows.count, rows_at_once, [&](std::uint32_t first, std::uint32_t end) {
        const std::size_t count = find_wanted(rows, first, end, wanted);
        for (std::size_t i = 0; i < count; i++)
            locations[i] = wanted[i].location;
        owner.expect_reads(owner, {locations, count});
        for (std::size_t i = 0; i < count; i++) {
            report(owner, phase, first, rows.count);
            const text_bytes bytes = fetch_document(rows, wanted[i].row, buffer);
            set_brought(rows, wanted[i].row, rows.brought_count + rows.member, to->size);
            append(*to, bytes.data(), bytes.size());
        }
    });
    leave_store(rows, to, rows.search->bringing);
}

} // namespace

void bring_documents(row_set& rows)
{
    host& owner = *rows.owner;
    shared_search& shared = *rows.search;
    if (!owner.far || !has_documents(rows.task))
        return;
    expect_stores(rows, shared.bringing);
    allocate_shared<std::uint32_t>(owner, shared.marks, rows.count / 32 + 1);
    do_step(rows, mark_units);
    shared.large_buckets = 0; // reset, because collecting candidates counts them again
    do_step(rows, bring_units);
    add_brought(rows, std::exchange(shared.bringing, 0));
    owner.release_shared(owner, shared.marks);
    shared.marks = 0;
}

} // namespace minhash::bulk
