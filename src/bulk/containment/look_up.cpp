// Looks up rows in the index of witnesses. If a row has enough witnesses of an indexed row, the two rows are compared.
#include "bulk/containment/part.h"
#include "bulk/search/found_pairs.h"

#include "core/overlap.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>

namespace minhash::bulk {

namespace {

// The state of a process that looks rows up.
struct containment_lookup : containment_part {
    witness_index index;
    growing<std::uint32_t> tags; // open addressing: tags of the current row that may be witnesses' tags; 0: free
    std::size_t tag_mask;
    growing<std::uint64_t> places;                  // for each of these tags: at first its place_in(), later its bucket
    growing<std::span<const std::uint32_t>> having; // for each of these buckets, its list of places
    std::uint8_t* missing;                          // for each place, how many indexed witnesses must still be found
    growing<std::uint32_t> enough;                  // the places of rows with enough witnesses
};

// The share of a row's shingles that the current row also has, if this share reaches the threshold.
std::optional<double> contained_share(containment_lookup& self, std::uint32_t row)
{
    const row_set& rows = *self.rows;
    const std::uint64_t size = self.sizes[row];
    if (!in_one_scope(rows, row, self.in_hand) || least_contained(size, rows.task.threshold) > self.set.count)
        return std::nullopt;
    const double share = containment({size, 0, count_shared(self, row)});
    return share >= rows.task.threshold ? std::optional(share) : std::nullopt;
}

// The entry of a tag in the table of the current row's tags, or a free entry if the tag is not there.
std::uint32_t& entry_of_tag(const containment_lookup& self, std::uint32_t tag, std::uint64_t place)
{
    assert(tag != 0 && place == place_in(self.index, tag));
    std::uint32_t* const tags = self.tags.values;
    return tags[probe(self.tag_mask, place >> 32, [&](std::size_t at) { return tags[at] == 0 || tags[at] == tag; })];
}

// Some shingles of the current row may be witnesses of other rows. Enters the tags of these shingles into self.tags,
// and returns the number of these shingles.
std::size_t take_tags(containment_lookup& self)
{
    const witness_index& index = self.index;
    const std::uint64_t salt = salt_of(*self.rows, self.in_hand);
    const std::uint64_t most_mark = self.shared->most_mark;
    const std::span<const std::uint64_t> list = self.set.elements();
    const std::size_t entries = std::bit_ceil(2 * list.size() + 1);
    self.tag_mask = entries - 1;
    grow(*self.rows->owner, self.tags, 0, entries);
    grow(*self.rows->owner, self.places, 0, list.size());
    clear(*self.rows->owner, self.tags.values, entries);
    std::size_t count = 0;
    for (std::size_t i = 0; i < list.size(); i++) {
        if (i % 4096 == 0)
            pause(*self.rows->owner);
        const std::uint64_t mark = list[i] ^ salt;
        if (mark > most_mark)
            continue;
        const std::uint32_t tag = tag_of(mark);
        const std::uint64_t place = place_in(index, tag);
        entry_of_tag(self, tag, place) = tag;
        __builtin_prefetch(&index.filter[filter_word(index, place)]);
        self.places.values[count++] = place;
    }
    return count;
}

// Finds the buckets of the current row's tags in the index. A bucket lists the places of the rows that seem to have a
// witness with the tag. (Different tags can share a bucket.) Returns the number of lists that are not empty.
std::size_t find_having(containment_lookup& self)
{
    const witness_index& index = self.index;
    const std::size_t count_of_tags = take_tags(self);
    const std::span<std::uint64_t> tags = {self.places.values, count_of_tags};
    std::size_t known = 0;
    for (const std::uint64_t place : tags) {
        tags[known] = place & index.mask;
        __builtin_prefetch(&index.starts[tags[known]]);
        known += is_known(index, place);
    }
    std::size_t count = 0;
    grow(*self.rows->owner, self.having, 0, known);
    for (const std::uint64_t bucket : tags.first(known)) {
        const std::span places(index.postings + index.starts[bucket], index.postings + index.starts[bucket + 1]);
        self.having.values[count] = places;
        if (!places.empty())
            __builtin_prefetch(&places.back());
        count += !places.empty();
    }
    return count;
}

// Resets the counts in self.missing for the places from `from` on. count_down() has visited `met` counts. If these are
// few, start_count() resets them one by one; otherwise it copies all counts.
void start_count(containment_lookup& self, std::uint32_t from, std::size_t lists, std::size_t met)
{
    constexpr std::size_t copied_at_once = 64;
    const std::uint8_t* const least = self.index.least;
    const std::uint32_t end = self.index.shape.places;
    if (from < end && (end - from) / copied_at_once < met) {
        std::copy(least + from, least + end, self.missing + from);
        return;
    }
    for (const auto places : std::span(self.having.values, lists))
        for (std::size_t at = places.size(); at-- > 0 && places[at] >= from;)
            self.missing[places[at]] = least[places[at]];
}

// Visits the places in a list, except those below `from`, and decrements their counts in `missing` if they are not 0.
// Places whose counts become 0 are written to `to`; returns how many these are. Adds the number of visited places to
// `met`. This function is not inlined, because it needs all registers.
[[gnu::noinline]] std::size_t count_down(std::span<const std::uint32_t> places,
                                         std::uint32_t from,
                                         std::uint8_t* missing,
                                         std::uint32_t* to,
                                         std::size_t& met)
{
    std::size_t enough = 0;
    std::size_t at = places.size();
    for (; at > 0 && places[at - 1] >= from; at--) {
        const std::uint32_t place = places[at - 1];
        const std::uint8_t left = missing[place];
        to[enough] = place;
        enough += left == 1;
        missing[place] = static_cast<std::uint8_t>(left - (left != 0));
    }
    met += places.size() - at;
    return enough;
}

// Finds the indexed rows that the current row may contain: it seems to have enough of their indexed witnesses. Lists
// the places of these rows in self.enough, without the places below `from`, and returns how many there are.
std::size_t find_enough(containment_lookup& self, std::uint32_t from)
{
    const std::size_t lists = find_having(self);
    std::size_t met = 0;
    std::size_t enough = 0;
    for (const auto places : std::span(self.having.values, lists)) {
        pause(*self.rows->owner);
        grow(*self.rows->owner, self.enough, enough, enough + places.size());
        enough += count_down(places, from, self.missing, self.enough.values + enough, met);
    }
    start_count(self, from, lists, met);
    return enough;
}

// Whether the current row has enough witnesses of the row at a place. All witnesses count, not only the indexed ones.
bool has_enough(const containment_lookup& self, std::uint32_t place)
{
    const place_note* const note = self.index.notes + place;
    std::uint32_t least = note->least;
    for (std::uint32_t at = note->first; at < note[1].first && least > 0; at++) {
        const std::uint32_t tag = self.index.tags[at];
        least -= entry_of_tag(self, tag, place_in(self.index, tag)) == tag;
    }
    return least == 0;
}

// Adds a pair for each indexed row that the row at `position` contains. The pairs have the positions of the two rows,
// not the row numbers.
void look_up(containment_lookup& self, std::uint32_t position, found_pairs& found)
{
    constexpr std::size_t ahead = 8;
    const std::uint32_t within = self.order[position];
    if (self.rows->leader[within] != within)
        return;
    const std::uint32_t first = self.shared->first;
    read_row(self, within);
    const std::size_t enough = find_enough(self, self.shared->crossing || position < first ? 0 : position - first + 1);
    std::uint32_t* const places = self.enough.values;
    std::size_t count = 0;
    for (std::size_t i = 0; i < enough; i++) {
        pause(*self.rows->owner);
        if (i + 2 * ahead < enough)
            __builtin_prefetch(&self.index.notes[places[i + 2 * ahead]]);
        if (i + ahead < enough)
            __builtin_prefetch(&self.index.tags[self.index.notes[places[i + ahead]].first]);
        places[count] = places[i];
        count += has_enough(self, places[i]);
    }
    std::sort(places, places + count);
    for (std::size_t i = 0; i < count; i++) {
        pause(*self.rows->owner);
        if (const auto share = contained_share(self, self.order[first + places[i]]))
            add_pair(found, {first + places[i], position, *share});
    }
}

} // namespace

void look_up_units(row_set& rows)
{
    containment_lookup self = {};
    static_cast<containment_part&>(self) = start_part(rows);
    const shared_containment& shared = *self.shared;
    self.index = open_index(find_shared<char>(rows, shared.index), shared.shape);
    self.missing = allocate<std::uint8_t>(*rows.owner, shared.shape.places);
    std::copy_n(self.index.least, shared.shape.places, self.missing);
    found_pairs found;
    start_found(found, rows);
    const std::uint32_t first = shared.crossing ? rows.first_count : 0;
    const std::uint32_t end = shared.crossing ? rows.count : shared.first + shared.shape.places;
    each_range(found, [&](std::uint32_t range) {
        const std::uint32_t from = first + range * looked_up_at_once;
        report(*rows.owner, "looking for rows within others", from - first, end - first);
        for (std::uint32_t i = from; i < std::min(end, from + looked_up_at_once); i++)
            look_up(self, i, found);
    });
    end_found(found);
}

} // namespace minhash::bulk
