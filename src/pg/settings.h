// The settings that functions read (module.cpp defines them).
#pragma once

namespace minhash::pg {

extern double similarity_threshold; // the least similarity for which % is true
extern double recall_notice;        // the expected recall below which an index scan raises a notice
extern int progress_interval;       // seconds between progress notices of long calls; 0: none
extern int ordered_scan_limit;      // about how many records an ordered scan compares, of the scope; -1: all

} // namespace minhash::pg
