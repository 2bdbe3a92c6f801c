#include "bulk/search/found_pairs.h"

namespace minhash::bulk {

void expect_pairs(row_set& rows)
{
    shared_rows& shared = *rows.shared;
    expect_stores(rows, shared.found);
    allocate_shared<found_range>(*rows.owner, shared.ranges, shared.range_count);
}

void start_found(found_pairs& found, row_set& rows)
{
    found.rows = &rows;
    found.store = open_shared_store(*rows.budget, chunk_for(*rows.budget, 1, found_chunk));
    found.ranges = find_shared<found_range>(rows, rows.shared->ranges);
}

void end_found(found_pairs& found)
{
    leave_store(*found.rows, found.store, found.rows->shared->found);
}

} // namespace minhash::bulk
