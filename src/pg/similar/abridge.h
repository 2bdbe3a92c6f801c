// Constant signatures, as EXPLAIN shows them.
#pragma once

namespace minhash::pg {

// From now on, EXPLAIN shows only the start of the constant signatures in plans.
void abridge_in_explain();

} // namespace minhash::pg
