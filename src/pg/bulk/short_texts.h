// Says if the texts of a call are so short that its shingles or its threshold cannot do what users expect.
#pragma once

#include "pg/bulk/call.h"

namespace minhash::pg {

// Gives a NOTICE if rows have no shingles, and one if half of the texts have few. Call this when all rows have been
// read, before the engine's steps.
void notice_short_texts(bulk_call& call);

} // namespace minhash::pg
