"""What is true of sets, by brute force: nothing here is shared with the engine."""
import collections
import math


def shared_elements(sets):
    """How many elements each two sets share, as {(a, b): number} with a < b; not those that share none."""
    having = collections.defaultdict(list)
    for number, elements in enumerate(sets):
        for element in elements:
            having[element].append(number)
    having = [numbers for numbers in having.values() if len(numbers) > 1]
    shared = collections.Counter()
    by_element = sum(len(numbers) ** 2 for numbers in having) / 2
    by_bits = len(sets) ** 2 / 2 * (1 + len(having) / 4000)
    if by_element < 4 * by_bits:
        for numbers in having:
            for at, a in enumerate(numbers):
                for b in numbers[at + 1:]:
                    shared[a, b] += 1
        return shared
    bits = [0] * len(sets)
    members = collections.defaultdict(list)
    for place, numbers in enumerate(having):
        for number in numbers:
            members[number].append(place)
    for number, places in members.items():
        row = bytearray(len(having) // 8 + 1)
        for place in places:
            row[place >> 3] |= 1 << (place & 7)
        bits[number] = int.from_bytes(row, 'little')
    for b, of_b in enumerate(bits):
        for a in range(b if of_b else 0):
            if common := (bits[a] & of_b).bit_count():
                shared[a, b] = common
    return shared


class Components:
    """Connected components of numbers."""

    def __init__(self):
        self.parent = {}

    def root(self, number):
        self.parent.setdefault(number, number)
        while self.parent[number] != number:
            self.parent[number] = self.parent[self.parent[number]]
            number = self.parent[number]
        return number

    def join(self, a, b):
        self.parent[self.root(a)] = self.root(b)

    def groups(self):
        found = collections.defaultdict(set)
        for number in self.parent:
            found[self.root(number)].add(number)
        return {frozenset(group) for group in found.values()}


def chance_of(missed, families, expected):
    """A bound of the probability that as much is missed, where `expected` may be, both as shares of the pairs of each
    of so many families. Pairs of one family may all go together, families do not (Hoeffding 1963, theorem 1)."""
    share, mean = missed / families, min(expected / families, 1)
    if share <= mean:
        return 1.0
    if mean == 0:
        return 0.0
    distance = share * math.log(share / mean)
    if share < 1:
        distance += (1 - share) * math.log((1 - share) / (1 - mean))
    return math.exp(-families * distance)
