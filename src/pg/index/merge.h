// How runs come and go. Runs get larger with their age: the tail becomes a run, and a run that is
// not much larger than all that is newer is merged with it. (Sorted runs of growing size: Bentley
// and Saxe, "Decomposable Searching Problems I", 1980; merged in small steps: Overmars and van
// Leeuwen, "Worst-case optimal insertion and deletion methods", 1981.)
//
// A merge reads the leaves of its runs as one stream and writes another tree, of which the meta
// page knows: the runs, how far each was read, and what is written (tree_writer.h). A step writes
// one leaf, in one record of the log with the meta page, so nothing undoes it: no cancel, error,
// abort or crash. Until the last step readers use the old runs. Then the new one takes their place,
// and their trees are freed in steps as well (dead_trees.h).
//
// Who inserts the first record of a page makes at most as many steps as below, or a run of a few
// pages of the tail. Of several sessions one at a time does so, under the lock of the runs; the
// others go on without. The smallest merge comes first, so that the others find few runs. VACUUM
// makes the same steps until none is left, and gives the lock back between them.
//
//     at once           a run of the tail    or leaves    freed pages    merges runs up to
//     an insertion      34 pages *           32 *         64             twice as large as the
//     newer a turn of VACUUM  up to 256 pages      16           128            4 times as large
//
//     * where the entries of a page of records fill one leaf, as they do with 128 hashes; of
//     indexes with more entries a page, fewer pages, and up to 96 leaves
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "storage/lockdefs.h"
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// A longer tail becomes a run: one of this many pages.
std::uint32_t long_tail(const layout& shape);

// Whether there is something to do for merge_a_little().
inline bool has_work(const meta& now, const layout& shape)
{
    return now.tail_pages > long_tail(shape) || now.merge_count > 0 || now.dead_tree_count > 0;
}

// The share of one insertion in the work, unless another session is at it.
void merge_a_little(Relation index);

// VACUUM's: the tail becomes runs, and merges that were begun come to their end.
void end_merges(Relation index);

// VACUUM's: all of it. Afterwards each run is more than 4 times as large as the next.
void merge_all(Relation index);

// The lock of the runs. Who has it exclusively may change runs, merges and dead trees.
void lock_runs(Relation index, LOCKMODE mode);
void unlock_runs(Relation index, LOCKMODE mode);
bool has_locked_runs(Relation index); // for assertions

// The lock of VACUUM while it writes a run again. It goes with its transaction, so that others see
// by it that a run which is said to be written again is not.
void lock_rewriting(Relation index);
void unlock_rewriting(Relation index);

} // namespace minhash::pg::index
