// How runs are made and replaced. Older runs are larger: the tail becomes a run, and a run that is not much larger than
// all newer runs together is merged with them. (Sorted runs of growing size: Bentley and Saxe, "Decomposable Searching
// Problems I", 1980; merged in small steps: Overmars and van Leeuwen, "Worst-case optimal insertion and deletion
// methods", 1981.)
//
// A merge reads the leaves of its runs as one stream, and writes a new tree. Its state is in the meta page: the runs,
// how far each has been read, and what has been written (tree_writer.h). A step writes one or two leaves, the links to
// them, and the meta page in one WAL record, so no cancel, error, abort or crash undoes the step. Until the last step,
// readers use the old runs. Then the new run takes the place of the old runs, whose trees are freed, also in steps.
//
// A session that inserts the first record of a page then does some of this work: it writes up to the number of leaves
// in the table below, or makes a run from some pages of the tail. Only one session at a time does such work, under the
// lock of the runs; other sessions insert without waiting for that session. The smallest merge is continued first, to
// keep the number of runs low. VACUUM repeats such work, in turns, until nothing is left to do, and releases the lock
// between turns.
//
//                         pages of the tail   or leaves   and pages   merges a run with all newer runs if
//                         made into a run     written     freed       it is at most this many times as large
//     an insertion        34 *                32 *        64          2
//     a turn of VACUUM    up to 256           16          128         4
//
//     * if the entries of a page of records fill one leaf, as with 128 hashes; in indexes with
//     more entries per page, fewer pages, and up to 96 leaves
#pragma once

#include "pg/index/format/format.h"

extern "C" {
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
}

namespace minhash::pg::index {

// If the tail has more pages than this, an insertion makes a run from this many of them.
std::uint32_t long_tail(const layout& layout);

// Whether merge_a_little() has something to do.
inline bool has_work(const meta& current, const layout& layout)
{
    return current.tail_pages > long_tail(layout) || current.merge_count > 0 || current.dead_tree_count > 0;
}

// Does one insertion's share of the work, unless another session is doing such work.
void merge_a_little(Relation index);

// For VACUUM: makes runs from the tail, and finishes the merges that have begun. If `begins_merges`, a short tail
// stays, but new merges are begun, until each run is more than 4 times as large as the next newer run.
void merge_all(Relation index, bool begins_merges, BufferAccessStrategy strategy);

// Adds the tree of a replaced run to the list of dead trees, which will be freed.
void bury(meta& stored, const run& old);

// There are two locks: PostgreSQL's page locks on blocks with these numbers. Only a process that holds the lock of the
// runs exclusively may change runs, merges and dead trees. VACUUM holds the other lock while it rewrites a run; if
// VACUUM fails, the end of its transaction releases that lock. So if, according to the meta page, a run is being
// rewritten, but the second lock is free, VACUUM was interrupted.
constexpr BlockNumber runs_lock = meta_block;
constexpr BlockNumber rewriting_lock = meta_block + 1;

} // namespace minhash::pg::index
