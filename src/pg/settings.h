// The settings that functions read (module.cpp defines them).
#pragma once

namespace minhash::pg {

extern double similarity_threshold; // % is true from this similarity on
extern double recall_notice;        // an index that finds a smaller share says so

} // namespace minhash::pg
