// Maps each step to the function that does one process's part of it. This file is above all directories of the engine,
// as any of them can have steps.
#include "bulk/rows/steps.h"

namespace minhash::bulk {

void do_part(row_set& rows)
{
    static constexpr part* parts[] = {
        sign_units,                // step::sign
        mark_units,                // step::mark
        bring_units,               // step::bring
        find_twins_of_units,       // step::find_twins
        collect_of_units,          // step::collect
        verify_units,              // step::verify_pairs
        connect_bucket_units,      // step::connect_buckets
        connect_row_units,         // step::connect_rows
        count_shingles_of_units,   // step::count_shingles
        choose_witnesses_of_units, // step::choose_witnesses
        compare_same_of_units,     // step::compare_same
        look_up_units,             // step::look_up
    };
    static_assert(std::size(parts) == static_cast<std::size_t>(step::look_up) + 1);
    parts[static_cast<std::size_t>(rows.shared->step)](rows);
}

} // namespace minhash::bulk
