"""The entry for ann-benchmarks in doc/examples/ann_benchmarks, on sets of the shapes that it uses, without its harness:

    test/tools/with_server.sh /usr/bin/python3 test/bench/ann_sets.py

needs numpy and psycopg 3. "random-s" is made as ann-benchmarks makes it: 10,000 sets of 20 from 40 numbers. "like kosarak"
has as many sets, test sets and possible elements as kosarak-jaccard, 43 of 28,000 numbers on average, few of which are
frequent, and one in three sets is an earlier one with elements added. Prints, for each setting, recall (the share of the 10
found that are no farther than the true tenth) and queries a second by one session.
"""
import importlib.util
import os
import pathlib
import random
import sys
import time
import types

import numpy

COUNT = 10


def entry():
    """The entry's class, with a base class that has nothing."""
    package = "ann_benchmarks.algorithms"
    base = types.ModuleType(f"{package}.base.module")
    base.BaseANN = object
    for name in ("ann_benchmarks", package, f"{package}.base", f"{package}.minhash_lsh"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    sys.modules[base.__name__] = base
    path = pathlib.Path(__file__).parents[2] / "doc/examples/ann_benchmarks/module.py"
    spec = importlib.util.spec_from_file_location(f"{package}.minhash_lsh.module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MinHashLSH


def random_s():
    random.seed(1)
    return [sorted(random.sample(range(40), 20)) for _ in range(10000)], 100, 40


def like_kosarak():
    generator = numpy.random.default_rng(1)
    sets = []
    for row in range(74962):
        size = 20 + int(generator.exponential(21))
        elements = set((28000 * generator.random(size) ** 3).astype(int).tolist())
        if row % 3 == 0 and row:
            elements = set(list(elements)[:max(2, size // 5)]) | set(sets[int(generator.integers(row))])
        sets.append(sorted(elements))
    return sets, 500, 28000


def distances(sets, queries, universe):
    """Of each query, the exact Jaccard distances to all sets."""
    sizes = numpy.array([len(elements) for elements in sets])
    holders = [[] for _ in range(universe)]
    for row, elements in enumerate(sets):
        for element in elements:
            holders[element].append(row)
    holders = [numpy.array(rows, dtype=int) for rows in holders]
    for query in queries:
        shared = numpy.zeros(len(sets))
        for element in query:
            shared[holders[element]] += 1
        yield 1 - shared / (sizes + len(query) - shared)


os.environ["ANN_BENCHMARKS_PG_START_SERVICE"] = "false"
MinHashLSH = entry()
for name, make in (("random-s", random_s), ("like kosarak", like_kosarak)):
    sets, tests, universe = make()
    order = random.Random(1).sample(range(len(sets)), len(sets))
    train, queries = [sets[row] for row in order[tests:]], [sets[row] for row in order[:tests]]
    truth = list(distances(train, queries, universe))
    bounds = [numpy.partition(far, COUNT - 1)[COUNT - 1] + 1e-3 for far in truth]
    for num_hashes in (128, 512):
        algorithm = MinHashLSH("jaccard", num_hashes)
        begun = time.monotonic()
        algorithm.fit([numpy.array(elements) for elements in train])
        print(f"{name}: {len(train)} sets, {num_hashes} hashes: built in {time.monotonic() - begun:.1f} s, "
              f"index of {algorithm.get_memory_usage() / 1024:.1f} MB")
        for rerank, limit in ((1, -1), (4, -1), (1, 1000), (4, 1000)):
            algorithm.set_query_arguments(rerank, limit)
            begun = time.monotonic()
            found = [algorithm.query(numpy.array(query), COUNT) for query in queries]
            seconds = time.monotonic() - begun
            assert all(len(rows) == len(set(rows)) <= COUNT for rows in found)
            recall = numpy.mean([(far[rows] <= bound).sum() / COUNT for far, rows, bound in zip(truth, found, bounds)])
            print(f"  {algorithm}: recall {recall:.3f}, {tests / seconds:.0f} queries/s")
