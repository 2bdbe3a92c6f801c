#include "pg/index/read/scan_state.h"
#include "pg/index/read/score.h"
#include "pg/settings.h"

#include "core/compress.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include "miscadmin.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

// The recall of each search of an ordered scan. It is higher than the recall of %, because a row is left out if it is
// found too late for its place in the order.
constexpr double ordered_recall = 0.999;

// In an ordered scan, a search for candidates that agree in fewer slots than this is no faster than comparing all
// records.
constexpr int least_ordered_depth = 3;

// How many entries of a range are read at first, and the factor by which this number grows while rows are found.
constexpr std::size_t first_entries = first_candidates;
constexpr std::size_t more_entries = 8;

// How many of the best rows are kept at first, and the factor by which this number grows each time.
constexpr std::size_t first_wanted = 256;
constexpr std::size_t more_wanted = 16;

// How many values of this size fit into an eighth of work_mem.
std::size_t room_for(std::size_t bytes) { return static_cast<std::size_t>(work_mem) * 1024 / 8 / bytes; }

// The last rank of rows that agree with the query in `least` slots.
rank last_with(const layout& layout, int least)
{
    return (static_cast<rank>(layout.scheme.num_hashes - least + 1) << tid_bits) - 1;
}

// A search of this depth finds nearly all rows up to the rank that this function returns.
rank complete_to(const layout& layout, int depth)
{
    Assert(depth > 0 && depth <= layout.banding.rows);
    const double similarity = std::pow(1 - std::pow(1 - ordered_recall, 1.0 / layout.banding.bands), 1.0 / depth);
    return last_with(layout, static_cast<int>(std::ceil(similarity * layout.scheme.num_hashes)));
}

// Whether ordered_scan_limit keeps an ordered scan from comparing all records.
bool is_bounded(const scan_state& self)
{
    return ordered_scan_limit >= 0 && self.has_keys && self.size.records > ordered_scan_limit;
}

// How many more records the current search of a bounded scan may compare.
double left_to_compare(const scan_state& self) { return ordered_scan_limit - static_cast<double>(self.look.counted); }

// Whether a search by score may be faster than comparing all records. The records of a scope have entries of their own.
bool can_score(const scan_state& self)
{
    return self.has_keys && !self.look.by_scope && pays_to_score(self.look, self.size);
}

// In a scan without %, plans the next search, which has a smaller depth. Returns false if there is no next search.
bool next_plan(const scan_state& self, scan_plan& plan)
{
    if (plan.depth == 0)
        return false;
    const bool bounded = is_bounded(self);
    plan.depth = self.has_keys ? plan.depth - 1 : 0;
    plan.bands = self.look.layout.banding.bands;
    const int rows = self.look.layout.banding.rows;
    const bool scored = plan.by_score;
    plan.by_score = false;
    if (plan.depth < (bounded ? std::min(least_ordered_depth, rows) : least_ordered_depth)) {
        const bool score = !bounded && !scored && can_score(self);
        plan = score ? scan_plan{1, plan.bands, true} : scan_plan{};
    }
    if (!bounded)
        return true;
    return plan.depth == rows || (plan.depth > 0 && expected_candidates(plan, self.size.records) <= ordered_scan_limit);
}

// Allows rows that agree with the query in all slots to be returned before the search ends. Returns false if there are
// no such rows, or if there is not enough memory to remember which rows were returned.
bool give_equal(scan_state& self)
{
    found_rows& found = self.look.found;
    if (found.sort != nullptr || found.returned.count >= room_for(sizeof(rank)))
        return false;
    found.sort_rows();
    self.at = 0;
    self.end = static_cast<std::size_t>(std::ranges::upper_bound(found.rows, tid_mask, {}, &ranked_row::where) -
                                        found.rows.at);
    return self.end > 0;
}

// Continues a search by bands. Batches grow slowly while rows are found, because the query may want no more of them.
// Otherwise, the next batch has all entries, so that one decision whether to compare all records is about all of them.
// If comparing all records is cheaper, and the scan is not bounded, the plan becomes to compare them (depth 0). Returns
// whether entries are left.
bool find_batch(scan_state& self, bool bounded)
{
    const std::uint64_t before = self.look.work.found;
    const batch_end result = find_some(self.look, self.entries, bounded ? nullptr : &self.size);
    self.entries = self.look.work.found > before ? std::min(self.entries * more_entries, all_of_range) : all_of_range;
    if (result == batch_end::too_much)
        self.plan = {};
    return result == batch_end::more;
}

// Searches by score. If that finds too little, the plan becomes to compare all records, and the result is false.
bool try_score(scan_state& self)
{
    const int equal = find_by_score(self.look, self.size);
    if (equal > self.look.layout.scheme.num_hashes)
        self.plan = {};
    else
        self.scored_to = last_with(self.look.layout, equal);
    return self.plan.depth > 0;
}

// Continues a search until it has ended, and returns true. Returns false earlier if there are rows that may be returned
// before the search has ended.
bool go_on(scan_state& self, bool bounded)
{
    search& look = self.look;
    if (self.plan.by_score && try_score(self))
        return true;
    while (self.plan.depth > 0) {
        const bool more = find_batch(self, bounded);
        if (self.plan.depth == 0)
            break;
        if (!more)
            return true;
        if (bounded) {
            const double left = left_to_compare(self);
            if (left <= 0)
                return true;
            self.entries = std::min(self.entries, static_cast<std::size_t>(left));
        }
        if (give_equal(self))
            return false;
    }
    find_in_all(look, self.size);
    return true;
}

// Allows rows up to the rank `upto` to be returned now.
void give_found(scan_state& self, rank upto)
{
    self.at = 0;
    self.end = self.look.found.pass(upto);
}

} // namespace

void begin_search(scan_state& self, double threshold)
{
    search& look = self.look;
    const scheme& scheme = look.layout.scheme;
    look.in_order = self.order == order_kind::distance;
    look.nulls_last = self.order == order_kind::alike;
    look.found.start(room_for(sizeof(ranked_row)));
    look.keys.start(static_cast<std::size_t>(look.layout.banding.bands));
    look.ranges.start(64);
    look.numbers.start(64);
    self.size = size_of(look.meta, look.layout, look.index->rd_rel->reltablespace);
    self.wanted = first_wanted;
    self.entries = first_entries;
    look.counts = !self.has_filter && look.in_order && is_bounded(self);
    if (!self.has_filter) {
        if (look.in_order)
            self.plan = {look.layout.banding.rows + 1, look.layout.banding.bands, false};
        return;
    }
    look.least_equal = static_cast<int>(least_equal_slots(scheme, threshold));
    const double recall = self.for_constraint ? recall_of_constraints : recall_of_lookups;
    if (self.has_keys)
        self.plan = plan_scan(threshold, look.layout.banding, recall);
    if (self.plan.depth > 0 && !look.in_order)
        begin_bands(look, self.plan);
}

void gather_rest(scan_state& self)
{
    search& look = self.look;
    look.found.wanted = 0;
    look.found.room = room_for(sizeof(ranked_row));
    for (bool more = true; more && self.plan.depth > 0;) {
        self.entries = all_of_range;
        more = find_batch(self, false);
    }
    if (self.plan.depth == 0)
        find_in_all(look, self.size);
    look.found.finish();
    give_found(self, last_rank);
    self.complete = true;
}

void search_similar(scan_state& self)
{
    found_rows& found = self.look.found;
    Assert(!self.look.in_order && !self.complete && self.at == self.end);
    found.remember(self.end);
    found.rows.count = 0;
    if (self.plan.depth == 0 || found.returned.count >= room_for(sizeof(rank))) {
        gather_rest(self);
        return;
    }
    found.room = std::numeric_limits<std::size_t>::max(); // each batch is limited anyway
    const bool more = find_batch(self, false);
    if (self.plan.depth == 0) {
        gather_rest(self);
        return;
    }
    self.complete = !more;
    found.sort_rows();
    self.at = 0;
    self.end = found.rows.count;
}

// Rows that were returned before the search ended must not be found again; the other rows stay in look.found.
void search_in_order(scan_state& self)
{
    found_rows& found = self.look.found;
    Assert(self.look.in_order && !self.complete && self.at == self.end);
    if (self.searching) {
        found.remember(self.end);
        std::copy(found.rows.at + self.end, found.rows.end(), found.rows.at);
        found.rows.count -= self.end;
    } else {
        if (!self.has_filter && self.plan.depth > 0 && !next_plan(self, self.plan))
            elog(ERROR, "ordered scan of an lsh index goes on after its end");
        // Start a search for the best rows that have not been returned yet.
        found.limit = last_rank;
        found.wanted = is_bounded(self) ? 0 : self.wanted;
        self.entries = first_entries;
        if (self.plan.depth > 0 && !self.plan.by_score)
            begin_bands(self.look, self.plan);
        self.searching = true;
    }
    self.at = self.end = 0;
    const bool bounded = self.look.counts;
    if (!go_on(self, bounded))
        return;
    self.searching = false;
    scan_plan next = self.plan;
    const bool goes_on =
        !self.has_filter && self.plan.depth > 0 && !(bounded && left_to_compare(self) <= 0) && next_plan(self, next);
    // The limit allows the last search of a bounded scan to compare more rows than the candidates.
    if (bounded && !goes_on && left_to_compare(self) > 0)
        find_more(self.look, static_cast<std::uint64_t>(ordered_scan_limit));
    found.finish();
    rank upto = last_rank;
    if (goes_on)
        upto = self.plan.by_score ? self.scored_to : complete_to(self.look.layout, self.plan.depth);
    if (found.limit < upto) { // there are more rows than were wanted
        upto = found.limit;
        self.wanted *= more_wanted;
        if (2 * self.wanted > found.room)
            self.wanted = 0;
    }
    self.complete = upto == last_rank;
    give_found(self, upto);
}

} // namespace minhash::pg::index
