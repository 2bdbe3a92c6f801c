#include "pg/arguments.h"
#include "pg/band_table/guard_locks.h"

#include "core/bands.h"

#include <algorithm>

extern "C" {
#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
}

namespace minhash::pg {

namespace {

// The lock table, which all sessions share, has room for max_locks_per_transaction locks of each
// session. A transaction takes at most this many, and fewer where the table is small.
constexpr int most_locks = 256;

int allowed_locks()
{
    return std::min(most_locks, 4 * max_locks_per_xact);
}

// The fourth part of an advisory lock's tag, pg_locks.objsubid; 1 and 2 are those of
// pg_advisory_lock().
constexpr std::uint16_t lock_space = 0x4c53;

// Locks taken by this session's current transaction. A rolled-back savepoint gives some back and
// leaves the count too high, which does no harm.
struct {
    TransactionId transaction;
    int count;
} held;

void lock(std::uint64_t name, LOCKMODE mode)
{
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag,
                         MyDatabaseId,
                         static_cast<std::uint32_t>(name >> 32),
                         static_cast<std::uint32_t>(name),
                         lock_space);
    LockAcquire(&tag, mode, false, false);
}

} // namespace

bool lock_rows(const guard& given, row_reader& reader)
{
    const std::uint64_t table = hash_combine64(0, given.settings.table);
    const int allowed = allowed_locks();
    std::uint64_t names[most_locks];
    int count = 0;
    bool too_many = false;
    bool any_mark = false;
    if (held.transaction != GetTopTransactionId())
        held = {GetTopTransactionId(), 0};
    signed_row rows[2];
    while (!too_many && next_rows(reader, rows)) {
        const signed_row& row = rows[after];
        if (stays(given, rows))
            continue;
        any_mark = any_mark || has_mark(given, reader, row);
        if (!is_comparable(row))
            continue;
        const banding shape = given.settings.shape;
        check_bands(shape, row.value.scheme);
        too_many = held.count + count + shape.bands > allowed;
        for (int band = 0; !too_many && band < shape.bands; band++)
            names[count++] = hash_combine64(
                table,
                static_cast<std::uint64_t>(band_key(row.value, band, shape.rows, row.scope_hash)));
    }
    if (!too_many && count == 0)
        return any_mark;
    lock(table, too_many ? ExclusiveLock : ShareLock);
    if (too_many)
        return true;
    std::sort(names, names + count);
    for (int i = 0; i < count; i++)
        lock(names[i], ExclusiveLock);
    held.count += count;
    return true;
}

} // namespace minhash::pg
