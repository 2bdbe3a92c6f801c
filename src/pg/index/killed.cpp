// Records of rows that a scan came to and that are dead for everybody: the next scans leave them
// out, and need not look for the rows in the table until VACUUM removes them.
//
// A bit of a page that is still what it was when its record was read is of the same record: a place
// of a page never gets another one. So a row that VACUUM has put in the place of the dead one in
// the table is safe: its record is another one.
#include "pg/index/pages.h"
#include "pg/index/scan_state.h"

#include <functional>

extern "C" {
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
}

namespace minhash::pg::index {

namespace {

// Nobody waits for a hint: if the page is being read or written, it is left.
void mark_on_page(search& look, BlockNumber block, std::span<const std::uint64_t> numbers)
{
    const Buffer buffer = pin_page(look.index, block);
    if (!ConditionalLockBuffer(buffer)) {
        ReleaseBuffer(buffer);
        return;
    }
    const Page page = BufferGetPage(buffer);
    if (is_kind(page, page_kind::records) && trailer_of(page).id < look.now.next_id) {
        const int records = records_on(look.index, buffer, look.shape);
        for (const std::uint64_t number : numbers) {
            const int place =
                static_cast<int>(number & ((std::uint64_t{1} << look.shape.place_bits) - 1));
            if (place < records)
                killed_bits(page, place) |= static_cast<std::uint8_t>(1 << place % 8);
        }
        MarkBufferDirtyHint(buffer, true);
    }
    UnlockReleaseBuffer(buffer);
}

} // namespace

void mark_killed(scan_state& state)
{
    growing<std::uint64_t>& killed = state.killed;
    sort_answering(killed, std::less<std::uint64_t>());
    for (std::size_t at = 0; at < killed.count;) {
        const std::size_t first = at;
        const std::uint64_t block = killed.at[first] >> state.look.shape.place_bits;
        while (at < killed.count && killed.at[at] >> state.look.shape.place_bits == block)
            at++;
        mark_on_page(state.look, static_cast<BlockNumber>(block), {killed.at + first, at - first});
    }
    killed.count = 0;
}

} // namespace minhash::pg::index
