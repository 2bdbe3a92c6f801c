// Looks up rows in the index of witnesses. If a row has enough witnesses of an indexed row, the two rows are compared.
//
// Most shingles of most rows are not witnesses of any indexed row. A filter sorts them out as the row is cut into
// shingles; only a row that seems to have enough indexed witnesses of another is read into a set.
//
// If texts have few different words, or the threshold is low, most rows have enough witnesses of most others. Then each
// is compared thousands of times. So the shingles of a row that has been compared a few times are kept, the rarest
// first: of two rows that are far from each other, a few dozen rare shingles show it.
#include "bulk/containment/part.h"

#include "core/kernels.h"
#include "core/overlap.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>

namespace minhash::bulk {

namespace {

// An indexed row is compared this often before its shingles are kept.
constexpr std::uint32_t compared_first = 8;

// What a process keeps of an indexed row.
struct kept_row {
    std::uint32_t* rarest_first; // the numbers of its shingles; null: not kept
    std::uint32_t compared;      // how often the row has been compared, as long as its shingles are not kept
};

std::uint32_t number_for_filter(std::uint64_t element) noexcept { return static_cast<std::uint32_t>(element >> 32); }

struct tag_list {
    growing<std::uint32_t> tags;
    std::size_t count;
    std::size_t room; // a longer list is freed of repeated tags

    std::span<const std::uint32_t> all() const { return {tags.values, count}; }
};

// The state of a process that looks rows up.
struct containment_lookup : containment_part {
    witness_index index;
    tag_list tags;                // the tags of the row that is looked up that may be tags of witnesses
    tag_list couple_tags;         // those that may be tags of couples, if these are not all of them
    growing<std::uint32_t> table; // open addressing: distinct tags; 0: free
    std::size_t table_mask;
    growing<std::uint32_t> known;                          // tags that the index may have, by slices
    growing<std::uint32_t> couples;                        // keys of couples of these, some at a time
    growing<std::uint32_t> keys;                           // those that the index may have, and then their buckets
    std::uint64_t* seen_buckets;                           // a bit for each bucket; all 0 between rows
    growing<std::span<const std::uint32_t>> posting_lists; // for each of these buckets, its list of ordinals
    std::uint8_t* still_needed;                            // for each ordinal, how many entries must still be met
    growing<std::uint32_t> matches;                        // the ordinals of rows with enough entries
    growing<std::uint32_t> tag_words;                      // of a filter

    kept_row* kept; // for each ordinal
    std::size_t kept_room;
    std::size_t kept_bytes;
    distinct_elements other;
    growing<std::uint64_t> frequencies;
    number_filter filter; // the current row's elements; no words: not made yet
    growing<std::uint32_t> filter_words;
    growing<std::uint32_t> known_to_filter;
};

// Keeps the shingles of the row at an ordinal, if there is room.
void keep_shingles(containment_lookup& self, std::uint32_t ordinal, std::uint32_t row)
{
    host& owner = *self.rows->owner;
    const std::size_t count = self.sizes[row];
    const std::size_t bytes = count * sizeof(std::uint32_t);
    if (bytes > self.kept_room - self.kept_bytes)
        return;
    self.kept_bytes += bytes;
    self.rows->budget->used += bytes;
    self.other.owner = &owner;
    read_text(*self.rows->signer, fetch_document(*self.rows, row, self.text), self.other);
    assert(self.other.count == count);
    grow(owner, self.frequencies, 0, count);
    std::uint64_t* const frequencies = self.frequencies.values;
    for (std::size_t i = 0; const std::uint64_t element : self.other.elements())
        frequencies[i++] = make_entry(self.classes.of(element), number_for_filter(element));
    std::sort(frequencies, frequencies + count);
    auto* const kept = allocate<std::uint32_t>(owner, count);
    for (std::size_t i = 0; i < count; i++)
        kept[i] = static_cast<std::uint32_t>(frequencies[i]);
    self.kept[ordinal].rarest_first = kept;
}

// Makes an empty filter that has room for `numbers` numbers.
number_filter start_filter(const containment_lookup& self, growing<std::uint32_t>& words, std::size_t numbers)
{
    const auto bits = std::max(1, static_cast<int>(std::bit_width(numbers)));
    grow(*self.rows->owner, words, 0, std::size_t{1} << bits);
    clear(*self.rows->owner, words.values, std::size_t{1} << bits);
    return {words.values, static_cast<std::uint32_t>(self.index.dimensions.secret.factor), 32 - bits};
}

// Whether the current row may have enough of the shingles of an indexed row, which are kept.
bool may_contain(containment_lookup& self, std::span<const std::uint32_t> rarest_first)
{
    constexpr std::size_t at_once = 32;
    if (self.filter.words == nullptr) {
        self.filter = start_filter(self, self.filter_words, self.set.count);
        each_part(*self.rows->owner, self.set.count, [&self](std::size_t from, std::size_t end) {
            for (const std::uint64_t element : self.set.elements().subspan(from, end - from))
                self.filter.add(number_for_filter(element));
        });
    }
    grow(*self.rows->owner, self.known_to_filter, 0, at_once);
    const std::uint64_t least = least_contained(rarest_first.size(), self.rows->task.threshold);
    std::uint64_t can_be_shared = rarest_first.size();
    for (std::size_t i = 0; i < rarest_first.size() && can_be_shared >= least; i += at_once) {
        const std::size_t some = std::min(at_once, rarest_first.size() - i);
        can_be_shared -= some - kernels->keep_known(self.filter, &rarest_first[i], some, self.known_to_filter.values);
    }
    return can_be_shared >= least;
}

// A filter of the tags of the row.
number_filter filter_tags(containment_lookup& self)
{
    const number_filter filter = start_filter(self, self.tag_words, self.tags.count);
    each_part(*self.rows->owner, self.tags.count, [&](std::size_t from, std::size_t end) {
        for (const std::uint32_t tag : self.tags.all().subspan(from, end - from))
            filter.add(tag);
    });
    return filter;
}

// Makes an empty table that has room for `count` tags.
void start_table(containment_lookup& self, std::size_t count)
{
    const std::size_t entries = std::bit_ceil(2 * count + 1);
    self.table_mask = entries - 1;
    grow(*self.rows->owner, self.table, 0, entries);
    clear(*self.rows->owner, self.table.values, entries);
}

// The entry of a tag in the table, or a free entry if the tag is not there.
std::uint32_t& entry_of_tag(const containment_lookup& self, std::uint32_t tag)
{
    assert(tag != 0);
    std::uint32_t* const table = self.table.values;
    const std::uint64_t cell = cell_of(self.index, tag);
    return table[probe(self.table_mask, cell >> 32, [&](std::size_t at) {
        return table[at] == 0 || table[at] == tag;
    })];
}

// Moves the distinct ones of some tags to the front, and returns how many these are. They are in the table afterwards.
std::size_t keep_distinct(containment_lookup& self, std::uint32_t* tags, std::size_t count)
{
    start_table(self, count);
    std::size_t distinct = 0;
    for (std::size_t i = 0; i < count; i++) {
        if (i % 4096 == 0)
            pause(*self.rows->owner);
        const std::uint32_t tag = tags[i];
        std::uint32_t& entry = entry_of_tag(self, tag);
        tags[distinct] = tag;
        distinct += entry != tag;
        entry = tag;
    }
    return distinct;
}

// Adds to a list the tags of some shingles whose marks are at most `most`. A tag can be listed several times, but the
// list is never much longer than if all tags were distinct.
void list_tags(
    containment_lookup& self, tag_list& list, const shingle_batch& batch, std::uint64_t salt, std::uint64_t most)
{
    if (list.count >= list.room) {
        list.count = keep_distinct(self, list.tags.values, list.count);
        list.room = std::max(list.room, 2 * list.count);
    }
    grow(*self.rows->owner, list.tags, list.count, list.count + batch.count + padding);
    list.count += kernels->keep_small(batch.lo,
                                      batch.hi,
                                      batch.count,
                                      salt,
                                      static_cast<std::uint32_t>(most >> 32),
                                      list.tags.values + list.count);
}

// Cuts a row into shingles, and lists the tags of those that may be witnesses, and of those that may be in couples.
void cut_tags(containment_lookup& self, std::uint32_t row)
{
    const std::uint64_t salt = salt_of(*self.rows, row);
    const std::uint64_t single = self.shared->most_marks[0];
    const std::uint64_t couple = self.shared->most_marks[1];
    const text_bytes text = fetch_document(*self.rows, row, self.text);
    for (tag_list* const list : {&self.tags, &self.couple_tags}) {
        list->count = 0;
        list->room = std::size_t{1} << 20;
    }
    each_batch(source_of(*self.rows->signer, text), [&](const shingle_batch& batch) {
        list_tags(self, self.tags, batch, salt, std::max(single, couple));
        if (single > couple && self.index.dimensions.couples > 0)
            list_tags(self, self.couple_tags, batch, salt, couple);
    });
}

// Keeps those of some numbers that a filter may have, and returns how many these are.
std::size_t keep_known(const containment_lookup& self,
                       const number_filter& filter,
                       std::span<const std::uint32_t> numbers,
                       std::uint32_t* kept)
{
    std::size_t count = 0;
    each_part(*self.rows->owner, numbers.size(), [&](std::size_t from, std::size_t end) {
        count += kernels->keep_known(filter, &numbers[from], end - from, kept + count);
    });
    return count;
}

// Lists in self.known the row's distinct tags that couples may have, by slices. ends[n] is the end of slice n. Returns
// about how many couples these are.
std::uint64_t find_known(containment_lookup& self, std::size_t (&ends)[slices])
{
    host& owner = *self.rows->owner;
    const auto [single, couple] = self.shared->most_marks;
    const std::span<const std::uint32_t> of_row = single > couple ? self.couple_tags.all() : self.tags.all();
    grow(owner, self.couples, 0, of_row.size());
    std::uint32_t* const tags = self.couples.values;
    const std::size_t some = keep_known(self, self.index.tag_filter, of_row, tags);
    const std::size_t count = keep_distinct(self, tags, some);
    grow(owner, self.known, 0, count);
    std::fill_n(ends, slices, 0);
    each_part(owner, count, [&](std::size_t from, std::size_t end) {
        for (std::size_t i = from; i < end; i++)
            ends[slice_of(tags[i])]++;
    });
    std::uint64_t couples = 0;
    for (const std::uint64_t size : ends)
        couples += size * size / 2;
    sum_counts(std::span<std::size_t>(ends));
    each_part(owner, count, [&](std::size_t from, std::size_t end) {
        for (std::size_t i = from; i < end; i++)
            self.known.values[ends[slice_of(tags[i])]++] = tags[i];
    });
    return couples;
}

// Appends the keys of the row's couples that the index may have to self.keys, which already has `count` keys. Returns
// the new number of keys.
std::size_t add_keys(containment_lookup& self, const std::size_t (&ends)[slices], std::size_t count)
{
    constexpr std::size_t at_once = 4096;
    host& owner = *self.rows->owner;
    std::size_t made = 0;
    const auto keep = [&] {
        grow(owner, self.keys, count, count + made);
        count += keep_known(self, self.index.key_filter, {self.couples.values, made}, self.keys.values + count);
        made = 0;
    };
    std::size_t first = 0;
    for (const std::size_t end : ends) {
        for (std::size_t i = first; i < end; i++) {
            grow(owner, self.couples, made, made + (i - first));
            std::uint32_t* const couples = self.couples.values + made;
            const std::uint32_t* const known = self.known.values;
            for (std::size_t j = first; j < i; j++)
                couples[j - first] = key_of(known[i], known[j]);
            made += i - first;
            if (made >= at_once)
                keep();
        }
        first = end;
    }
    keep();
    return count;
}

// Replaces keys by their buckets in the index, each once, and returns how many these are.
std::size_t find_buckets(const containment_lookup& self, std::uint32_t* keys, std::size_t count)
{
    const witness_index& index = self.index;
    std::size_t distinct = 0;
    for (std::size_t i = 0; i < count; i++) {
        if (i % 4096 == 0)
            pause(*self.rows->owner);
        const auto bucket = static_cast<std::uint32_t>(cell_of(index, keys[i]) & index.mask);
        std::uint64_t& seen = self.seen_buckets[bucket / 64];
        const std::uint64_t bit = std::uint64_t{1} << bucket % 64;
        __builtin_prefetch(&index.starts[bucket]);
        keys[distinct] = bucket;
        distinct += (seen & bit) == 0;
        seen |= bit;
    }
    return distinct;
}

// Finds the buckets of a row's keys in the index. A bucket lists the ordinals of the rows that seem to have an entry
// with the key. (Different keys can share a bucket.) Returns the number of lists that are not empty.
std::size_t find_posting_lists(containment_lookup& self, std::size_t keys)
{
    constexpr std::size_t ordinals_in_a_line = 16;
    const witness_index& index = self.index;
    const std::span buckets(self.keys.values, find_buckets(self, self.keys.values, keys));
    std::size_t count = 0;
    grow(*self.rows->owner, self.posting_lists, 0, buckets.size());
    for (std::size_t i = 0; i < buckets.size(); i++) {
        if (i % 4096 == 0)
            pause(*self.rows->owner);
        const std::uint32_t bucket = buckets[i];
        self.seen_buckets[bucket / 64] = 0;
        const std::span ordinals(index.postings + index.starts[bucket], index.postings + index.starts[bucket + 1]);
        self.posting_lists.values[count] = ordinals;
        for (std::size_t from = 0; from < ordinals.size(); from += ordinals_in_a_line)
            __builtin_prefetch(&ordinals[from]);
        count += !ordinals.empty();
    }
    return count;
}

// Resets the counts in self.still_needed for the ordinals from `from` on. count_down() has visited `met` counts. If
// these are few, start_count() resets them one by one; otherwise it copies all counts.
void start_count(containment_lookup& self, std::uint32_t from, std::size_t lists, std::size_t met)
{
    constexpr std::size_t copied_at_once = 64;
    const std::uint8_t* const wanted = self.index.met;
    const std::uint32_t end = self.index.dimensions.rows;
    if (from < end && (end - from) / copied_at_once < met) {
        std::copy(wanted + from, wanted + end, self.still_needed + from);
        return;
    }
    for (const auto ordinals : std::span(self.posting_lists.values, lists))
        for (std::size_t at = ordinals.size(); at-- > 0 && ordinals[at] >= from;)
            self.still_needed[ordinals[at]] = wanted[ordinals[at]];
}

// Visits the ordinals in a list, except those below `from`, and decrements their counts in `still_needed` if they are
// not 0. Ordinals whose counts become 0 are written to `to`; returns how many these are. Adds the number of visited
// ordinals to `met`. This function is not inlined, because it needs all registers.
[[gnu::noinline]] std::size_t count_down(std::span<const std::uint32_t> ordinals,
                                         std::uint32_t from,
                                         std::uint8_t* missing,
                                         std::uint32_t* to,
                                         std::size_t& met)
{
    std::size_t enough = 0;
    std::size_t at = ordinals.size();
    for (; at > 0 && ordinals[at - 1] >= from; at--) {
        const std::uint32_t ordinal = ordinals[at - 1];
        const std::uint8_t left = missing[ordinal];
        to[enough] = ordinal;
        enough += left == 1;
        missing[ordinal] = static_cast<std::uint8_t>(left - (left != 0));
    }
    met += ordinals.size() - at;
    return enough;
}

// Whether a row that has the tags for which has(tag) is true has enough of the entries of the row at an ordinal.
template <typename Has>
bool meets_enough(const witness_index& index, std::uint32_t ordinal, Has&& has)
{
    std::uint32_t met = 0;
    each_entry(index, ordinal, [&](std::uint32_t tag, std::uint32_t other) {
        met += static_cast<std::uint32_t>(has(tag)) & static_cast<std::uint32_t>(has(other));
    });
    return met > 0 && met >= index.met[ordinal];
}

// Finds the same by looking at each entry, for a row that has more couples than the index.
std::size_t find_matches_by_entries(containment_lookup& self, std::uint32_t from)
{
    const number_filter tags = filter_tags(self);
    const std::uint32_t end = self.index.dimensions.rows;
    grow(*self.rows->owner, self.matches, 0, end);
    std::size_t enough = 0;
    for (std::uint32_t ordinal = from; ordinal < end; ordinal++) {
        pause(*self.rows->owner);
        self.matches.values[enough] = ordinal;
        enough += meets_enough(self.index, ordinal, [tags](std::uint32_t tag) { return tags.may_have(tag); });
    }
    return enough;
}

// Finds the indexed rows that a row may contain: it seems to have enough of their entries. Lists the ordinals of these
// rows in self.matches, without the ordinals below `from`, and returns how many there are.
std::size_t find_matches(containment_lookup& self, std::uint32_t row, std::uint32_t from)
{
    cut_tags(self, row);
    const index_dimensions& dimensions = self.index.dimensions;
    std::size_t keys = 0;
    if (dimensions.couples < dimensions.entries) {
        grow(*self.rows->owner, self.keys, 0, self.tags.count);
        keys = keep_known(self, self.index.key_filter, self.tags.all(), self.keys.values);
    }
    if (dimensions.couples > 0) {
        std::size_t ends[slices];
        if (find_known(self, ends) > 2 * dimensions.entries)
            return find_matches_by_entries(self, from);
        keys = add_keys(self, ends, keys);
    }
    const std::size_t lists = find_posting_lists(self, keys);
    std::size_t met = 0;
    std::size_t enough = 0;
    for (const auto ordinals : std::span(self.posting_lists.values, lists)) {
        pause(*self.rows->owner);
        grow(*self.rows->owner, self.matches, enough, enough + ordinals.size());
        enough += count_down(ordinals, from, self.still_needed, self.matches.values + enough, met);
    }
    start_count(self, from, lists, met);
    return enough;
}

// Whether a row that has the tags for which has(tag) is true has enough witnesses of the row at an ordinal. All
// witnesses count, not only those of entries.
template <typename Has>
bool has_enough(const witness_index& index, std::uint32_t ordinal, Has&& has)
{
    const auto& [first, plan] = index.notes[ordinal];
    std::uint32_t least = plan.least;
    for (std::uint32_t at = 0; least > 0 && plan.count - at >= least; at++)
        least -= has(index.tags[first + at]);
    return least == 0;
}

// The same for the current row, once its tags are in the table, and whether the row has enough entries, for certain:
// what is found must not depend on which rows are in one part of the index.
bool has_enough(const containment_lookup& self, std::uint32_t ordinal)
{
    const auto has = [&self](std::uint32_t tag) { return entry_of_tag(self, tag) == tag; };
    return has_enough(self.index, ordinal, has) && meets_enough(self.index, ordinal, has);
}

// Keeps of self.matches only rows of which the current row may have enough witnesses, by a filter, which is cheaper
// than the table. Returns how many these are.
std::size_t keep_possible(containment_lookup& self, std::size_t count)
{
    constexpr std::size_t ahead = 8;
    const number_filter tags = filter_tags(self);
    std::uint32_t* const ordinals = self.matches.values;
    std::size_t possible = 0;
    for (std::size_t i = 0; i < count; i++) {
        pause(*self.rows->owner);
        if (i + 2 * ahead < count)
            __builtin_prefetch(&self.index.notes[ordinals[i + 2 * ahead]]);
        if (i + ahead < count)
            __builtin_prefetch(&self.index.tags[self.index.notes[ordinals[i + ahead]].first]);
        ordinals[possible] = ordinals[i];
        possible += has_enough(self.index, ordinals[i], [tags](std::uint32_t tag) { return tags.may_have(tag); });
    }
    return possible;
}

// The share of the shingles of the row at an ordinal that the current row also has, if this share reaches the
// threshold.
std::optional<double> contained_share(containment_lookup& self, std::uint32_t ordinal)
{
    const row_set& rows = *self.rows;
    const std::uint32_t row = self.order[self.shared->first + ordinal];
    const std::uint64_t size = self.sizes[row];
    if (!in_one_scope(rows, row, self.current_row) || least_contained(size, rows.task.threshold) > self.set.count)
        return std::nullopt;
    kept_row& kept = self.kept[ordinal];
    if (kept.rarest_first == nullptr && ++kept.compared == compared_first)
        keep_shingles(self, ordinal, row);
    // What is found must not depend on what is kept.
    if (kept.rarest_first != nullptr && !(may_contain(self, {kept.rarest_first, size}) && has_enough(self, ordinal)))
        return std::nullopt;
    const double share = containment({size, 0, count_shared(self, row)});
    return share >= rows.task.threshold ? std::optional(share) : std::nullopt;
}

// Adds a pair for each indexed row that the row at `position` contains. The pairs have the positions of the two rows,
// not the row numbers.
void look_up(containment_lookup& self, std::uint32_t position, found_pairs& found)
{
    const std::uint32_t within = self.order[position];
    if (self.rows->leader[within] != within)
        return;
    const std::uint32_t first = self.shared->first;
    const std::uint32_t from = self.shared->crossing || position < first ? 0 : position - first + 1;
    const std::size_t enough = find_matches(self, within, from);
    if (enough == 0)
        return;
    const std::size_t possible = keep_possible(self, enough);
    if (possible == 0)
        return;
    self.tags.count = keep_distinct(self, self.tags.tags.values, self.tags.count);
    std::uint32_t* const ordinals = self.matches.values;
    std::size_t count = 0;
    for (std::size_t i = 0; i < possible; i++) {
        pause(*self.rows->owner);
        ordinals[count] = ordinals[i];
        count += self.kept[ordinals[i]].rarest_first != nullptr || has_enough(self, ordinals[i]);
    }
    if (count == 0)
        return;
    read_row(self, within);
    self.filter = {};
    std::sort(ordinals, ordinals + count);
    for (std::size_t i = 0; i < count; i++) {
        pause(*self.rows->owner);
        if (const auto share = contained_share(self, ordinals[i]))
            add_pair(found, {first + ordinals[i], position, *share});
    }
}

} // namespace

void look_up_units(row_set& rows)
{
    containment_lookup self = {};
    static_cast<containment_part&>(self) = start_part(rows);
    const shared_containment& shared = *self.shared;
    self.index = open_index(find_shared<char>(rows, shared.index), shared.dimensions);
    self.still_needed = allocate<std::uint8_t>(*rows.owner, shared.dimensions.rows);
    std::copy_n(self.index.met, shared.dimensions.rows, self.still_needed);
    self.seen_buckets = allocate<std::uint64_t>(*rows.owner, self.index.mask / 64 + 1);
    clear(*rows.owner, self.seen_buckets, self.index.mask / 64 + 1);
    self.kept = allocate<kept_row>(*rows.owner, shared.dimensions.rows);
    std::fill_n(self.kept, shared.dimensions.rows, kept_row{});
    const memory_budget& budget = *rows.budget;
    self.kept_room = (budget.limit - std::min(budget.limit, budget.used)) / 2;
    found_pairs found;
    start_found(found, rows);
    const std::uint32_t first = shared.crossing ? rows.first_count : 0;
    const std::uint32_t end = shared.crossing ? rows.count : shared.first + shared.dimensions.rows;
    each_range(found, [&](std::uint32_t range) {
        const std::uint32_t from = first + range * looked_up_at_once;
        report(*rows.owner, "looking for rows within others", from - first, end - first);
        for (std::uint32_t i = from; i < std::min(end, from + looked_up_at_once); i++)
            look_up(self, i, found);
    });
    end_found(found);
    rows.budget->used -= self.kept_bytes;
}

} // namespace minhash::bulk
