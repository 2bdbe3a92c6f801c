#include "bulk/search/found_pairs.h"

namespace minhash::bulk {

void expect_pairs(row_set& rows)
{
    shared_rows& shared = *rows.shared;
    allocate_shared<store_note>(*rows.owner, shared.found, static_cast<std::size_t>(shared.processes));
    allocate_shared<found_range>(*rows.owner, shared.ranges, shared.range_count);
}

void start_found(found_pairs& found, row_set& rows)
{
    found.rows = &rows;
    found.budget = step_budget(rows);
    found.store = open_shared_store(found.budget, chunk_for(found.budget, 1, found_chunk));
    found.ranges = find_shared<found_range>(rows, rows.shared->ranges);
}

void end_found(found_pairs& found)
{
    const row_set& rows = *found.rows;
    leave_store(found.store, find_shared<store_note>(rows, rows.shared->found)[rows.member]);
    end_budget(found.budget, *rows.budget);
}

} // namespace minhash::bulk
