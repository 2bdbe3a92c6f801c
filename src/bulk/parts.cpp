// Maps each step to the function that does one process's part of it. This file is above all directories of the engine,
// as any of them can have steps.
#include "bulk/containment/containment.h"
#include "bulk/rows/steps.h"
#include "bulk/search/candidates.h"
#include "bulk/search/clusters.h"
#include "bulk/search/far_documents.h"
#include "bulk/search/pairs.h"
#include "bulk/search/row_candidates.h"

namespace minhash::bulk {

void do_part(row_set& rows)
{
    switch (rows.shared->step) {
    case step::sign:
        sign_units(rows);
        break;
    case step::mark:
        mark_units(rows);
        break;
    case step::bring:
        bring_units(rows);
        break;
    case step::find_twins:
        find_twins_of_units(rows);
        break;
    case step::collect:
        collect_of_units(rows);
        break;
    case step::verify_pairs:
        verify_units(rows);
        break;
    case step::connect_buckets:
        connect_bucket_units(rows);
        break;
    case step::connect_rows:
        connect_row_units(rows);
        break;
    case step::count_shingles:
        count_shingles_of_units(rows);
        break;
    case step::choose_witnesses:
        choose_witnesses_of_units(rows);
        break;
    case step::compare_same:
        compare_same_of_units(rows);
        break;
    case step::look_up:
        look_up_units(rows);
        break;
    }
}

} // namespace minhash::bulk
