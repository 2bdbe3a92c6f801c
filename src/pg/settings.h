// The settings that functions read (module.cpp defines them).
#pragma once

namespace minhash::pg {

extern double similarity_threshold; // % is true from this similarity on

} // namespace minhash::pg
