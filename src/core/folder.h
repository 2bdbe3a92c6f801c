// The state of folding between two slices, shared by fold.h and its kernel.
#pragma once

#include "core/scheme.h"

namespace minhash {

struct folder {
    shingling how;
    bool started; // something was written: from now on separators become spaces
    bool gap;     // a separator was read and is not written yet
};

constexpr folder start_folding(const shingling& how) noexcept
{
    return {how, false, false};
}

} // namespace minhash
