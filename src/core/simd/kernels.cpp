// All kernels for one instruction set. The build compiles this file once for each instruction set: MINHASH_KERNELS
// names the table, and compiler flags select the instructions.
#include "core/kernels.h"
#include "core/simd/cut.h"
#include "core/simd/elements.h"
#include "core/simd/fold.h"
#include "core/simd/fss.h"
#include "core/simd/hashes.h"
#include "core/simd/ranges.h"
#include "core/simd/slots.h"

#define MINHASH_JOIN_(a, b)   a##b
#define MINHASH_JOIN(a, b)    MINHASH_JOIN_(a, b)
#define MINHASH_STRING_(name) #name
#define MINHASH_STRING(name)  MINHASH_STRING_(name)

namespace minhash {

extern const kernel_table MINHASH_JOIN(MINHASH_KERNELS, _kernels);

const kernel_table MINHASH_JOIN(MINHASH_KERNELS, _kernels) = {
    .name = MINHASH_STRING(MINHASH_KERNELS),
    .fold = simd::fold,
    .is_ascii = simd::is_ascii,
    .find_characters = simd::find_characters,
    .find_spaces = simd::find_spaces,
    .hash_windows = simd::hash_windows,
    .hash_ranges = simd::hash_ranges,
    .chain_words = simd::chain_words,
    .hash_integers = simd::hash_integers,
    .hash_occurrences = simd::hash_occurrences,
    .join_halves = simd::join_halves,
    .keep_small = simd::keep_small,
    .keep_known = simd::keep_known,
    .pack_marks = simd::pack_marks,
    .absorb_fss = simd::absorb_fss,
    .absorb_classic = simd::absorb_classic,
    .count_equal = simd::count_equal,
    .compress_slots = simd::compress_slots,
    .count_different = simd::count_different,
    .count_agreements = simd::count_agreements,
    .merge = simd::merge,
};

} // namespace minhash
