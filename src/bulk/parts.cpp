// Maps each step to the function that does one process's part of the step. This file is in no subdirectory of the
// engine, because the functions come from several subdirectories.
#include "bulk/rows/steps.h"

namespace minhash::bulk {

void do_part(row_set& rows)
{
    switch (rows.shared->step) {
    case step::sign:
        return sign_units(rows);
    case step::mark:
        return mark_units(rows);
    case step::bring:
        return bring_units(rows);
    case step::find_twins:
        return find_twins_of_units(rows);
    case step::collect:
        return collect_of_units(rows);
    case step::verify_pairs:
        return verify_units(rows);
    case step::connect_buckets:
        return connect_bucket_units(rows);
    case step::connect_rows:
        return connect_row_units(rows);
    case step::mark_sought:
        return mark_sought_of_units(rows);
    case step::count_shingles:
        return count_shingles_of_units(rows);
    case step::choose_witnesses:
        return choose_witnesses_of_units(rows);
    case step::compare_same:
        return compare_same_of_units(rows);
    case step::look_up:
        return look_up_units(rows);
    case step::count_frequencies:
        return count_frequencies_of_units(rows);
    case step::make_lists:
        return make_lists_of_units(rows);
    case step::look_up_rare:
        return look_up_rare_units(rows);
    }
}

} // namespace minhash::bulk
