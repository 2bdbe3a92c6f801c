// Finds near rows where none is near enough to share several slots of one band.
//
// A record's score is the number of slots in which it agrees with the query, counted in each band up to the first slot
// that differs. The entries of a run tell the scores of all its records: of the entries of a band, those whose keys
// begin with the query's first slot are neighbours. Unrelated records agree in about one slot in thirty, so less than
// one entry a record is read, and few records have a high score. Only these are compared. (Counting collisions: Gan,
// Feng, Fang, Ng, "Locality-Sensitive Hashing Scheme Based on Dynamic Collision Counting", SIGMOD 2012. Here, one tree
// serves both the count and the search by longer prefixes.)
#pragma once

#include "pg/index/read/search.h"

namespace minhash::pg::index {

// Whether a search by score is expected to take less time than comparing all records.
bool pays_to_score(const search& self, const index_size& size);

// Compares the records with the highest scores, and those of the tail. Returns the number of equal slots from which on
// a row is found with the recall of lookups; more than the number of slots if too many records have high scores.
int find_by_score(search& self, const index_size& size);

} // namespace minhash::pg::index
