#!/usr/bin/env python3
"""Simulates how many runs an lsh index has while rows are inserted, by the rules of src/pg/index/write/merge.cpp.

    merge_policy.py [ROWS_BEFORE ROWS_INSERTED [FACTOR]]

Without arguments: 1,000,000 rows and then 500,000, 0 to 10,000,000 and 0 to 100,000,000, each with the factor of merge.cpp,
2: an older run is merged with newer ones up to so many times it. Signatures of 128 hashes, 23 bands, no VACUUM.
Prints the runs on average, at most and at the end, and the leaves written for each page of records.
"""
import sys

RECORDS_OF_PAGE = 58
ENTRIES_OF_LEAF = 1300
LEAVES_OF_PAGE = RECORDS_OF_PAGE * 23 / ENTRIES_OF_LEAF
TAIL = 34  # pages
LEAVES = 32  # that one insertion writes at most
FREES = 64
MOST_RUNS = 64
MOST_MERGES = 8


class Merge:
    def __init__(self, parts):
        self.parts = parts
        self.pages = sum(run[0] for run in parts)
        self.left = round(self.pages * LEAVES_OF_PAGE)


class Index:
    def __init__(self, pages, factor):
        self.runs = [[pages, None]] if pages else []  # oldest first: [number of pages, the merge it is part of]
        self.tail = 1
        self.merges = []
        self.dead = []  # the number of leaves of each tree that is not freed yet
        self.written = 0
        self.factor = factor

    def begin_merge(self):
        if len(self.merges) == MOST_MERGES or len(self.dead) > MOST_RUNS:
            return
        first = len(self.runs)
        pages = 0
        while first > 0 and self.runs[first - 1][1] is None:
            older = self.runs[first - 1][0]
            if pages > 0 and older > max(pages, TAIL) * self.factor:
                break
            pages += older
            first -= 1
        if len(self.runs) - first < 2:
            return
        made = Merge(self.runs[first:])
        for run in made.parts:
            run[1] = made
        self.merges.append(made)

    def end_merge(self, merge):
        first = next(at for at, run in enumerate(self.runs) if run[1] is merge)
        self.dead += [round(run[0] * LEAVES_OF_PAGE) for run in merge.parts]
        self.runs[first : first + len(merge.parts)] = [[merge.pages, None]]
        self.merges.remove(merge)

    def free(self):
        left = FREES
        while left > 0 and self.dead:
            some = min(left, self.dead[-1])
            self.dead[-1] -= some
            left -= max(some, 1)
            if self.dead[-1] == 0:
                self.dead.pop()

    def close_page(self):
        self.tail += 1
        if self.tail > TAIL and len(self.runs) < MOST_RUNS:
            self.tail -= TAIL
            self.runs.append([TAIL, None])
            self.written += round(TAIL * LEAVES_OF_PAGE)
            self.begin_merge()
            return
        if self.dead:
            self.free()
        left = LEAVES
        while left > 0:
            self.begin_merge()
            if not self.merges:
                return
            smallest = min(self.merges, key=lambda merge: merge.pages)
            some = min(left, smallest.left)
            smallest.left -= some
            self.written += some
            if smallest.left == 0 and some < left:
                self.end_merge(smallest)
            left -= max(some, 1)


def simulate(before, inserted, factor):
    index = Index(before // RECORDS_OF_PAGE, factor)
    pages = inserted // RECORDS_OF_PAGE
    total = most = 0
    for _ in range(pages):
        index.close_page()
        total += len(index.runs)
        most = max(most, len(index.runs))
    print(f"{before:,} + {inserted:,} rows, merged up to {factor} times: runs {total / pages:.1f}, at most {most}, at the "
          f"end {len(index.runs)}; {index.written / pages:.1f} leaves a page of records")


def main():
    numbers = [int(argument) for argument in sys.argv[1:]]
    if len(numbers) >= 2:
        simulate(numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 2)
        return
    for before, inserted in ((1000000, 500000), (0, 10000000), (0, 100000000)):
        simulate(before, inserted, 2)


main()
