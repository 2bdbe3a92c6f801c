#include "pg/index/read/found.h"

extern "C" {
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
}

namespace minhash::pg::index {

void found_rows::start(std::size_t rows_of_room)
{
    rows.start(64);
    returned.start(64);
    room = rows_of_room;
    limit = last_rank;
}

void found_rows::add(rank where, std::uint64_t number)
{
    rows.add({where, number});
    if (wanted > 0 && rows.count >= 2 * wanted)
        prune();
    else if (wanted == 0 && rows.count >= room)
        spill();
}

void found_rows::sort_rows()
{
    sort_answering(std::span(rows), [](const ranked_row& a, const ranked_row& b) { return a.where < b.where; });
    const auto is_same = [](const ranked_row& a, const ranked_row& b) { return a.where == b.where; };
    rows.count = static_cast<std::size_t>(std::unique(rows.begin(), rows.end(), is_same) - rows.at);
}

// Keeps only the best rows.
void found_rows::prune()
{
    sort_rows();
    if (rows.count > wanted) {
        rows.count = wanted;
        limit = rows.at[wanted - 1].where;
    }
}

void found_rows::spill()
{
    if (bitmap == nullptr && sort == nullptr)
        sort =
            tuplesort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false, work_mem / 2, nullptr, TUPLESORT_NONE);
    for (const ranked_row& row : rows) {
        CHECK_FOR_INTERRUPTS();
        if (bitmap != nullptr) {
            ItemPointerData tid = tid_of(row.where);
            tbm_add_tuples(bitmap, &tid, 1, !is_final);
        } else {
            tuplesort_putdatum(sort, Int64GetDatum(static_cast<std::int64_t>(row.where)), false);
        }
    }
    rows.count = 0;
}

void found_rows::finish()
{
    if (bitmap != nullptr || sort != nullptr)
        spill();
    if (sort != nullptr)
        tuplesort_performsort(sort);
    else if (wanted > 0)
        prune();
    else
        sort_rows();
}

bool found_rows::next_sorted(rank& where)
{
    const rank before = where;
    do {
        Datum value;
        if (!next_of_sort(sort, value))
            return false;
        where = static_cast<rank>(DatumGetInt64(value));
    } while (where == before);
    return where <= after;
}

std::size_t found_rows::pass(rank upto)
{
    Assert(upto >= after);
    after = upto;
    const auto left = std::ranges::upper_bound(returned, upto);
    returned.count = static_cast<std::size_t>(std::copy(left, returned.end(), returned.at) - returned.at);
    return static_cast<std::size_t>(std::ranges::upper_bound(rows, upto, {}, &ranked_row::where) - rows.at);
}

void found_rows::remember(std::size_t count)
{
    for (std::size_t at = 0; at < count; at++)
        returned.add(rows.at[at].where);
    sort_answering(std::span(returned));
}

void found_rows::close()
{
    if (sort != nullptr)
        tuplesort_end(sort);
    sort = nullptr;
}

} // namespace minhash::pg::index
