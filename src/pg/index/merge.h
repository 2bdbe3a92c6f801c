// How runs are made and replaced. Older runs are larger: the tail becomes a run, and a run that is not much larger than
// all newer runs together is merged with them. (Sorted runs of growing size: Bentley and Saxe, "Decomposable Searching
// Problems I", 1980; merged in small steps: Overmars and van Leeuwen, "Worst-case optimal insertion and deletion
// methods", 1981.)
//
// A merge reads the leaves of its runs as one stream, and writes a new tree. Its state is in the meta page: the runs,
// how far each has been read, and what has been written (tree_writer.h). A step writes one leaf and the meta page, in
// one WAL record, so no cancel, error, abort or crash undoes the step. Until the last step, readers use the old runs.
// Then the new run takes their place, and their trees are freed, also in steps.
//
// The session that inserts the first record of a page does as many steps as the table below allows, or makes a run of a
// few pages of the tail. Only one session at a time does this work, under the lock of the runs; other sessions insert
// without waiting for it. The smallest merge is continued first, to keep the number of runs low. VACUUM takes turns of
// such work until nothing is left, and releases the lock between turns.
//
//     at once             a run of the tail   or leaves   pages freed   merges a run, compared
//                                                                       with all newer ones, up to
//     an insertion        34 pages *          32 *        64            twice as large
//     a turn of VACUUM    up to 256 pages     16          128           4 times as large
//
//     * if the entries of a page of records fill one leaf, as with 128 hashes; in indexes with
//     more entries a page, fewer pages, and up to 96 leaves
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "storage/lmgr.h"
}

namespace minhash::pg::index {

// If the tail has more pages than this, so many of its pages become a run.
std::uint32_t long_tail(const layout& shape);

// Whether merge_a_little() has something to do.
inline bool has_work(const meta& now, const layout& shape)
{
    return now.tail_pages > long_tail(shape) || now.merge_count > 0 || now.dead_tree_count > 0;
}

// Does one insertion's share of the work, unless another session is working.
void merge_a_little(Relation index);

// For VACUUM: turns the tail into runs, and finishes the merges that have begun. If `begins_merges`, each run is more
// than 4 times as large as the next one afterwards.
void merge_all(Relation index, bool begins_merges);

// Makes the tree of a run that has been replaced a dead tree, which will be freed.
void bury(meta& stored, const run& old);

// There are two locks: PostgreSQL's page locks on blocks with these numbers. Whoever holds the lock of the runs
// exclusively may change runs, merges and dead trees. VACUUM holds the other lock while it rewrites a run, at most
// until its transaction ends. So if that lock is free although the meta page names a run that is being rewritten, that
// VACUUM was interrupted.
constexpr BlockNumber runs_lock = meta_block;
constexpr BlockNumber rewriting_lock = meta_block + 1;

} // namespace minhash::pg::index
