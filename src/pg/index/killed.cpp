// Marks records whose rows a scan found dead for everybody, so that later scans need not look up these rows in the
// table, until VACUUM removes the records.
//
// If the page is still the same one as when the record was read, so is the record: a place on a page never gets another
// record. So a new row that reuses the dead row's TID is safe: its record is at another place.
#include "pg/index/pages.h"
#include "pg/index/scan_state.h"

#include <functional>

extern "C" {
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
}

namespace minhash::pg::index {

namespace {

// The mark is only a hint, not worth waiting for: a page that is locked is skipped.
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
            const int place = static_cast<int>(number & ((std::uint64_t{1} << look.shape.place_bits) - 1));
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
