// Finds the differences of two texts whose shingles have been counted, in the order of the text.
#pragma once

#include "pg/signature/exact_texts.h"
#include "pg/text_reader.h"

#include "core/difference.h"

namespace minhash::pg {

struct difference_walk {
    exact_texts* texts;
    int which; // of the two texts
    shingle_walk shingles;
    coverage shared;
    bool finished;
    text_reader reader; // of the original text
    original_walk original;
    std::size_t work;
};

// Starts to look for what text `which` has and the other one lacks. `value` is that text, detoasted. `texts` must stay
// where it is. Each of the two texts can be walked once.
void start(difference_walk& walk, exact_texts& texts, int which, const text* value);

// The next difference; false after the last. Can be cancelled.
bool next(difference_walk& walk, text_span& out);

} // namespace minhash::pg
