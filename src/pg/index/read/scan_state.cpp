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
constexpr int least_depth = 3;

// How many entries of a range are read at first, the factor by which this number grows while rows are found, and the
// number that is enough for all entries that memory has room for.
constexpr std::size_t first_entries = first_candidates;
constexpr std::size_t more_entries = 8;
constexpr std::size_t all_entries = std::size_t{1} << 40;

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
    Assert(depth > 0 && depth <= layout.shape.rows);
    const double similarity = std::pow(1 - std::pow(1 - ordered_recall, 1.0 / layout.shape.bands), 1.0 / depth);
    return last_with(layout, static_cast<int>(std::ceil(similarity * layout.scheme.num_hashes)));
}

// Whether ordered_scan_limit keeps an ordered scan from comparing all records.
bool is_bounded(const scan_state& state)
{
    return ordered_scan_limit >= 0 && state.has_keys && state.size.records > ordered_scan_limit;
}

// How many more records the current search of a bounded scan may compare.
double left_to_compare(const scan_state& state) { return ordered_scan_limit - static_cast<double>(state.look.counted); }

// Whether a search by score may be faster than comparing all records. The records of a scope have entries of their own.
bool can_score(const scan_state& state)
{
    return state.has_keys && !state.look.by_scope && pays_to_score(state.look, state.size);
}

// In a scan without %, plans the next search, which has a smaller depth. Returns false if there is no next search.
bool next_plan(const scan_state& state, scan_plan& plan)
{
    if (plan.depth == 0)
        return false;
    const bool bounded = is_bounded(state);
    plan.depth = state.has_keys ? plan.depth - 1 : 0;
    plan.bands = state.look.layout.shape.bands;
    const int rows = state.look.layout.shape.rows;
    const bool scored = plan.by_score;
    plan.by_score = false;
    if (plan.depth < (bounded ? std::min(least_depth, rows) : least_depth)) {
        const bool score = !bounded && !scored && can_score(state);
        plan = score ? scan_plan{1, plan.bands, true} : scan_plan{};
    }
    if (!bounded)
        return true;
    return plan.depth == rows ||
           (plan.depth > 0 && expected_candidates(plan, state.size.records) <= ordered_scan_limit);
}

// Allows rows that agree with the query in all slots to be returned before the search ends. Returns false if there are
// no such rows, or if there is not enough memory to remember which rows were returned.
bool give_equal(scan_state& state)
{
    found_rows& found = state.look.found;
    if (found.sort != nullptr || found.given.count >= room_for(sizeof(rank)))
        return false;
    found.sort_rows();
    state.at = 0;
    state.end =
        static_cast<std::size_t>(std::ranges::upper_bound(found.rows, tid_mask, {}, &candidate::where) - found.rows.at);
    return state.end > 0;
}

// Continues a search by bands. Batches grow slowly while rows are found, because the query may want no more of them.
// Otherwise, the next batch has all entries, so that one decision whether to compare all records is about all of them.
// If comparing all records is cheaper, and the scan is not bounded, the plan becomes to compare them (depth 0). Returns
// whether entries are left.
bool find_batch(scan_state& state, bool bounded)
{
    const std::uint64_t before = state.look.work.found;
    const batch_end result = find_some(state.look, state.entries, bounded ? nullptr : &state.size);
    state.entries = state.look.work.found > before ? std::min(state.entries * more_entries, all_entries) : all_entries;
    if (result == batch_end::too_much)
        state.plan = {};
    return result == batch_end::more;
}

// Searches by score. If that finds too little, the plan becomes to compare all records, and the result is false.
bool try_score(scan_state& state)
{
    const int equal = find_by_score(state.look, state.size);
    if (equal > state.look.layout.scheme.num_hashes)
        state.plan = {};
    else
        state.scored_to = last_with(state.look.layout, equal);
    return state.plan.depth > 0;
}

// Continues a search until it has ended, and returns true. Returns false earlier if there are rows that may be returned
// before the search has ended.
bool go_on(scan_state& state, bool bounded)
{
    search& look = state.look;
    if (state.plan.by_score && try_score(state))
        return true;
    while (state.plan.depth > 0) {
        const bool more = find_batch(state, bounded);
        if (state.plan.depth == 0)
            break;
        if (!more)
            return true;
        if (bounded) {
            const double left = left_to_compare(state);
            if (left <= 0)
                return true;
            state.entries = std::min(state.entries, static_cast<std::size_t>(left));
        }
        if (give_equal(state))
            return false;
    }
    find_in_all(look, state.size);
    return true;
}

} // namespace

void begin_search(scan_state& state, double threshold)
{
    search& look = state.look;
    const scheme& scheme = look.layout.scheme;
    look.in_order = state.order == order_kind::distance;
    look.nulls_last = state.order == order_kind::alike;
    look.found.start(room_for(sizeof(candidate)));
    look.keys.start(static_cast<std::size_t>(look.layout.shape.bands));
    look.ranges.start(64);
    look.numbers.start(64);
    state.size = size_of(look.meta, look.layout, look.index->rd_rel->reltablespace);
    state.wanted = first_wanted;
    state.entries = first_entries;
    look.counts = !state.has_narrow && look.in_order && is_bounded(state);
    if (!state.has_narrow) {
        if (look.in_order)
            state.plan = {look.layout.shape.rows + 1, look.layout.shape.bands, false};
        return;
    }
    look.least_equal = static_cast<int>(least_equal_slots(scheme, threshold));
    const double recall = state.for_constraint ? recall_of_constraints : recall_of_lookups;
    if (state.has_keys)
        state.plan = plan_scan(threshold, look.layout.shape, recall);
    if (state.plan.depth > 0 && !look.in_order)
        begin_bands(look, state.plan);
}

void give_found(scan_state& state, rank upto)
{
    state.at = 0;
    state.end = state.look.found.pass(upto);
}

void gather_rest(scan_state& state)
{
    search& look = state.look;
    look.found.wanted = 0;
    look.found.room = room_for(sizeof(candidate));
    for (bool more = true; more && state.plan.depth > 0;) {
        state.entries = all_entries;
        more = find_batch(state, false);
    }
    if (state.plan.depth == 0)
        find_in_all(look, state.size);
    look.found.finish();
    give_found(state, last_rank);
    state.complete = true;
}

void search_similar(scan_state& state)
{
    found_rows& found = state.look.found;
    Assert(!state.look.in_order && !state.complete && state.at == state.end);
    found.remember(0, state.end);
    found.rows.count = 0;
    if (state.plan.depth == 0 || found.given.count >= room_for(sizeof(rank))) {
        gather_rest(state);
        return;
    }
    found.room = std::numeric_limits<std::size_t>::max(); // each batch is limited anyway
    const bool more = find_batch(state, false);
    if (state.plan.depth == 0) {
        gather_rest(state);
        return;
    }
    state.complete = !more;
    found.sort_rows();
    state.at = 0;
    state.end = found.rows.count;
}

// Rows that were returned before the search ended must not be found again; the other rows stay in look.found.
void search_in_order(scan_state& state)
{
    found_rows& found = state.look.found;
    Assert(state.look.in_order && !state.complete && state.at == state.end);
    if (state.searching) {
        found.remember(0, state.end);
        std::copy(found.rows.at + state.end, found.rows.end(), found.rows.at);
        found.rows.count -= state.end;
    } else {
        if (!state.has_narrow && state.plan.depth > 0 && !next_plan(state, state.plan))
            elog(ERROR, "ordered scan of an lsh index goes on after its end");
        // Start a search for the best rows that have not been returned yet.
        found.limit = last_rank;
        found.wanted = is_bounded(state) ? 0 : state.wanted;
        state.entries = first_entries;
        if (state.plan.depth > 0 && !state.plan.by_score)
            begin_bands(state.look, state.plan);
        state.searching = true;
    }
    state.at = state.end = 0;
    const bool bounded = state.look.counts;
    if (!go_on(state, bounded))
        return;
    state.searching = false;
    scan_plan next = state.plan;
    const bool goes_on = !state.has_narrow && state.plan.depth > 0 && !(bounded && left_to_compare(state) <= 0) &&
                         next_plan(state, next);
    // The limit allows the last search of a bounded scan to compare more rows than the candidates.
    if (bounded && !goes_on && left_to_compare(state) > 0)
        find_more(state.look, static_cast<std::uint64_t>(ordered_scan_limit));
    found.finish();
    rank upto = last_rank;
    if (goes_on)
        upto = state.plan.by_score ? state.scored_to : complete_to(state.look.layout, state.plan.depth);
    if (found.limit < upto) { // there are more rows than were wanted
        upto = found.limit;
        state.wanted *= more_wanted;
        if (2 * state.wanted > found.room)
            state.wanted = 0;
    }
    state.complete = upto == last_rank;
    give_found(state, upto);
}

} // namespace minhash::pg::index
