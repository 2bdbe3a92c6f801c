// What a folded text remembers between two slices: what fold.h and its kernel have in common.
#pragma once

#include "core/scheme.h"

namespace minhash {

struct folder {
    shingling how;
    bool started; // something was written: a separator is worth a space from now on
    bool gap;     // a separator was read and is not written yet
};

constexpr folder start_folding(const shingling& how) noexcept
{
    return {how, false, false};
}

} // namespace minhash
