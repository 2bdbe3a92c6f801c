// Folds one or two texts, and counts their distinct shingles. Functions for exact shingles, and for exact similarities
// and differences of texts, use these counts.
#pragma once

#include "pg/text_reader.h"

#include "core/difference.h"
#include "core/exact.h"
#include "core/graphemes.h"

namespace minhash::pg {

constexpr std::size_t most_exact_shingles = std::size_t{1} << 26; // their entries and table take 3.5 GB

struct exact_texts {
    shingling how;
    MemoryContext memory; // has the buffer and the counts
    std::uint8_t* buffer; // the folded texts, one after the other, and padding
    std::size_t used;
    std::size_t capacity;
    std::uint32_t begin[2]; // where each text begins in the buffer
    std::uint32_t end[2];   // where it ends
    shingle_counts counts;
};

// Folds the texts in the first `texts` arguments (one or two arguments), and counts their shingles.
exact_texts count_arguments(FunctionCallInfo fcinfo, int texts, const shingling& how);

// The sizes of the texts in the first two arguments, as sets or bags of shingles, and of what they share. The shingles
// of a constant argument are kept from call to call.
overlap measure_arguments(FunctionCallInfo fcinfo, const shingling& how);

inline shingle_walk walk_text(const exact_texts& self, int text)
{
    return start_walk(self.buffer, self.begin[text], self.end[text], self.how);
}

// Walks through a text from one grapheme cluster to the next.
struct grapheme_walk {
    text_reader reader;
    grapheme_state state;
    text_point begin; // where the last cluster that has been read from begins
    text_point read;  // up to here, the text has been read
};

// Walks through one of two texts whose shingles have been counted, and finds, in order, the parts that the other text
// lacks.
struct difference_walk {
    exact_texts* texts;
    int which; // which of the two texts: 0 or 1
    shingle_walk shingles;
    shingle_group group; // the walk's last shingles
    std::size_t taken;   // how many of them have been looked at
    coverage shared;
    bool finished;
    std::span<const std::uint8_t> text; // the original text
    text_reader reader;                 // reads it
    original_walk original;
    grapheme_walk graphemes; // reads it, too, if it is needed
    text_span found;         // the next difference, if there is one
    bool more;
};

// Starts to look for the parts of text `which` that the other text lacks. `value` is text `which`, detoasted. `texts`
// must not be moved during the walk. Each of the two texts can be walked once.
void start(difference_walk& walk, exact_texts& texts, int which, const text* value);

// Sets `out` to the next difference, which consists of whole grapheme clusters; returns false if there are no more.
// Checks for cancel.
bool next(difference_walk& walk, text_span& out);

} // namespace minhash::pg
