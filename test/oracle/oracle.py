#!/usr/bin/python3
"""Calls the bulk functions with random tables and arguments, and compares what they find with brute force.

    oracle.py [FIRST [COUNT [MEASURE]]]     configurations by their seeds, 1 to 200 unless told otherwise

MEASURE is jaccard, containment or weighted (that is, weight => 'idf'); without it, all three are mixed.

Run it by test/tools/with_server.sh, with the extension installed and, so that calls can have all the workers that they
ask for, SERVER_OPTS='-c max_worker_processes=16 -c max_parallel_workers=16'. Each finding is a line that begins with
its seed, and makes the script fail; at the end a line says what was compared. Needs Python 3.10 and psycopg 3.
"""
import collections
import math
import os
import random
import re
import sys

import psycopg
from psycopg import sql

sys.dont_write_bytecode = True  # the checkout stays as it is
import texts
import truth

ID_TYPES = {
    'bigint': 'n::bigint * 1000003 - 500000', 'integer': '300 - n', 'smallint': '(n - 30)::smallint',
    'uuid': 'md5(n::text)::uuid', 'text': "'k' || md5(n::text)", 'numeric': '(n * 1.5 - 100)::numeric',
    'date': "date '2000-01-01' + n", 'oracle_number': '(n + 1)::oracle_number',
    'inet': "('10.0.' || n / 250 || '.' || n % 250)::inet",
    'oracle_row': "row(n % 7, 'x' || n)::oracle_row", 'oid': 'n::oid', 'name': 'md5(n::text)::name'}
BULK_IDS = ('bigint', 'integer', 'smallint')  # ids of these types need no argument such as NULL::uuid
DIFFERENCE = 1e-12
MANY = 2000  # rows with copies; not all of their pairs are asked for
QUICK = 200  # this many seeds run without a table of thousands of different rows
SUSPECT = 1e-8  # a share of missed pairs less probable than this is a finding
SHOWN = 4  # at most this many findings are shown for one configuration
STEADY = {'max_parallel_maintenance_workers': 0, 'maintenance_work_mem': '64MB', 'force_parallel_mode': 'off',
          'max_parallel_workers_per_gather': 2, 'client_min_messages': 'warning'}
WORKERS = [1, 2, 3, 4] * 4 + [8, 16]


class Configuration:
    """A table, a query and arguments."""

    def __init__(self, seed, measure=None):
        self.seed = seed
        self.findings = 0
        self.chance = chance = random.Random(seed)
        self.shape = chance.choices(list(texts.SHAPES), [6, 42, 36, 10, 3, 3, 0])[0]
        if seed % 25 == 0 and seed > QUICK:
            self.shape = 'large'
        self.rows = texts.table_of(chance, self.shape)
        self.id_type = chance.choice(['bigint', 'bigint', *ID_TYPES])
        self.scopes = chance.choice([0, 0, 0, 1, 3, 50])
        self.measure = chance.choices(['containment', 'weighted', 'jaccard'], [20, 20, 60])[0]
        self.measure = measure or self.measure
        if self.measure == 'weighted' and self.shape in ('titles', 'paragraphs'):
            self.rows = texts.like_goods_or_ads(chance, self.rows)
        self.signed = self.measure == 'jaccard' and chance.random() < 0.3
        self.crossing = chance.random() < 0.2 or (len(self.rows) > MANY and self.shape != 'large')
        self.form = chance.choice(['plain'] * 5 + ['order', 'limit', 'view', 'cte', 'join', 'offset', 'union',
                                                   'index'])
        self.choose_arguments()

    def choose_arguments(self):
        chance = self.chance
        long = self.shape in ('books', 'workers', 'large')
        unit = 'word' if chance.random() < (0.7 if self.shape == 'workers' else 0.25) else 'char'
        size = chance.choice([1, 1, 2, 3, 5] if unit == 'word' else [5, 5, 5, 1, 2, 3, 4, 7, 9, 20, 64])
        threshold = chance.choice([0.02, 0.04, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.8,
                                   0.85, 0.9, 0.95, 0.99, 1.0])
        if long:
            size, threshold = max(size, 5), max(threshold, 0.3)
        self.texts = {'shingle_size': size, 'unit': unit, 'fold': chance.random() < 0.8, 'bag': chance.random() < 0.2}
        self.arguments = {'threshold': threshold}
        self.shape_fixed = self.estimated = False
        self.hashes = 128
        if self.measure == 'weighted':
            # Never just a similarity, which SQL, Python and the engine may round differently.
            threshold = min(max(threshold, 0.1), 0.95) + chance.random() / 1000
            self.arguments = {'weight': 'idf', 'threshold': threshold}
            self.texts['bag'] = False
            if chance.random() < 0.6:
                self.arguments['recall'] = chance.choice([0.5, 0.9, 0.999, 1.0])
            return
        if self.measure == 'containment':
            self.arguments['recall'] = chance.choice([0.5, 0.99, 0.999, 1.0])
            return
        if chance.random() < 0.3:
            self.texts['seed'] = chance.randrange(-2**62, 2**62)
        if chance.random() < 0.2:
            self.texts['method'] = 'classic'
        if chance.random() < (0.8 if self.signed else 0.4):
            self.hashes = self.texts['num_hashes'] = chance.choice([8, 37, 64, 128, 200, 256, 256, 512, 512, 512,
                                                                    1024, 1024, 4096])
            if chance.random() < 0.4:
                rows = chance.randint(1, min(8, self.hashes))
                self.arguments |= {'rows': rows, 'bands': chance.randint(1, self.hashes // rows)}
                self.shape_fixed = True
        if not self.shape_fixed and chance.random() < 0.4:
            self.arguments['recall'] = chance.choice([0.5, 0.9, 0.99, 0.999, 0.9999])
        self.estimated = self.signed or chance.random() < 0.15
        self.bits = chance.choice([32, 16, 8, 8, 8])
        if self.estimated and not self.signed:
            self.arguments['verify'] = 'estimate'
        if chance.random() < 0.15:
            self.arguments['max_bucket'] = chance.choice([1, 2, 5, 20, 100, 10**6])
        self.made = 'minhash'
        if self.signed and self.hashes > 8 and chance.random() < 0.3:
            self.texts['method'] = 'classic'
            self.made = chance.choice(['truncated', 'imported'])

    @property
    def max_bucket(self):
        """Of how many rows a bucket may be; None where it may be of any."""
        most = self.arguments.get('max_bucket')
        return None if most is None or most >= len(self.rows) else most

    @property
    def difference(self):
        """How much a similarity may differ from what Python computes."""
        return 1e-9 if self.measure == 'weighted' else DIFFERENCE

    @property
    def threshold(self):
        return self.arguments['threshold']

    def promise(self, similarity):
        """The least expected share of pairs of this similarity that are found."""
        recall = self.arguments.get('recall', 0.95)
        if self.measure != 'jaccard':
            return max(recall, 0.99)
        if self.max_bucket is not None:
            return 0
        if self.estimated:
            return 1 if self.shape_fixed else 1 - 1.3 * (1 - recall) - 0.02
        if self.shape_fixed:
            missed = (1 - similarity ** self.arguments['rows']) ** self.arguments['bands']
            return max(0, 1 - 1.3 * missed - 0.01)
        return recall if 'max_bucket' in self.arguments else max(recall, 0.99)

    def describe(self):
        told = {'measure': self.measure, 'shape': self.shape, 'table': len(self.rows), 'ids': self.id_type,
                'form': self.form, 'scopes': self.scopes, 'crossing': self.crossing} | self.texts | self.arguments
        if self.measure == 'jaccard' and self.signed:
            told |= {'bits': self.bits, 'made': self.made}
        return ' '.join(f'{name}={value}' for name, value in told.items())


class Oracle:
    """Runs configurations in a database, and counts."""

    def __init__(self, database, measure):
        self.database = database
        self.measure = measure
        self.counts = collections.Counter()
        self.findings = 0
        self.shown = []
        self.started = 0  # how many workers have been started
        database.add_notice_handler(self.hear)
        self.run("CREATE EXTENSION IF NOT EXISTS minhash_lsh; SET client_min_messages = warning; SET jit = off;"
                 "CREATE DOMAIN oracle_number AS bigint CHECK (value > 0); CREATE TYPE oracle_row AS (a int, b text);"
                 "CREATE DOMAIN oracle_text AS text")

    def run(self, statement, parameters=None):
        cursor = self.database.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else None

    def hear(self, notice):
        if started := re.match('([0-9]+) of [0-9]+ workers started', notice.message_primary):
            self.started += int(started[1])

    def use(self, settings):
        for name, value in settings.items():
            if name == 'force_parallel_mode' and self.database.info.server_version >= 160000:
                name = 'debug_parallel_query'
            self.run(f"SET {name} = '{value}'")

    def with_workers(self, workers):
        """Settings of a call that has workers for any amount of work, and whose query may have one of its own."""
        return STEADY | {'max_parallel_maintenance_workers': workers, 'force_parallel_mode': 'regress',
                         'max_parallel_workers_per_gather': self.given.chance.choice([0, 0, 2]),
                         'client_min_messages': 'debug1'}

    def find(self, what):
        self.findings += 1
        self.given.findings += 1
        if self.given.findings <= SHOWN:
            self.shown.append(f'{self.given.seed}: {what}; {self.given.describe()}')
            print(self.shown[-1], flush=True)

    # The table and its queries.

    def make_table(self):
        given, chance = self.given, self.given.chance
        self.run('DROP TABLE IF EXISTS input, got CASCADE')
        kind = chance.choice(['', '', 'UNLOGGED ', 'TEMP '])
        body = chance.choice(['text', 'text', 'varchar', 'oracle_text'])
        parts = chance.random() < 0.1
        if parts and kind == 'UNLOGGED ':
            kind = ''  # PostgreSQL 18 and later refuse that
        self.run(f'CREATE {kind}TABLE input (n int, family int, id {given.id_type}, junk int DEFAULT 7, body {body},'
                 f' scope int, rank int){" PARTITION BY HASH (n)" if parts else ""}')
        for part in range(3 if parts else 0):
            self.run(f'CREATE {kind}TABLE input_{part} PARTITION OF input'
                     f' FOR VALUES WITH (MODULUS 3, REMAINDER {part})')
        if not parts:
            self.run(f'ALTER TABLE input ALTER body SET STORAGE {chance.choice(["extended", "external", "main"])}')
        self.run('DROP TABLE IF EXISTS loaded;'
                 'CREATE TEMP TABLE loaded (n int, family int, body text, scope int, rank int)')
        with self.database.cursor().copy('COPY loaded FROM STDIN') as copy:
            for n, (family, text) in enumerate(given.rows, 1):
                scope = chance.randrange(-1, given.scopes) if given.scopes else -1
                copy.write_row((n, family, text, None if scope < 0 else scope, chance.choice([None, 1, 2, 3])))
        self.run(f'INSERT INTO input (n, family, id, body, scope, rank)'
                 f' SELECT n, family, {ID_TYPES[given.id_type]}, body, scope, rank FROM loaded ORDER BY loaded.n')
        for share, change in ((0.3, 'UPDATE input SET junk = 8 WHERE n % 3 = 0'),
                              (0.2, 'DELETE FROM input WHERE n % 11 = 5'),
                              (0.3, "ALTER TABLE input ADD late text DEFAULT 'late'"),
                              (0.4, 'VACUUM ANALYZE input'), (0.3, 'CREATE INDEX ON input (n)')):
            if chance.random() < share:
                self.run(change)
        arguments = ''.join(f', {name} => {self.literal(value)}' for name, value in given.texts.items())
        self.signature = f'minhash(body{arguments})'
        self.value = 'body'
        if given.measure == 'jaccard' and given.signed:
            least = max(8, given.shape_fixed and given.arguments['bands'] * given.arguments['rows'])
            if given.made == 'truncated':
                self.signature = f'minhash_truncate({self.signature}, {chance.randint(least, given.hashes)})'
            elif given.made == 'imported':
                self.signature = f'minhash_from_values(minhash_to_values({self.signature}), {chance.randrange(99)})'
            self.value = self.signature = f'minhash_compress({self.signature}, {given.bits})'
            if chance.random() < 0.5:
                self.run(f'ALTER TABLE input ADD sig minhash_signature; UPDATE input SET sig = {self.value}')
                self.value = 'sig'
        self.run('CREATE TEMP VIEW input_view AS SELECT * FROM input')

    def literal(self, value):
        return sql.Literal(value).as_string(self.database)

    def make_queries(self):
        """The query and the other one, or None; and the query of lsh_clusters()."""
        given, chance = self.given, self.given.chance
        rows = len(given.rows)
        computed = self.value == 'body' and rows % 3 == 0  # the texts of a query that computes them are kept
        columns = f"id, {self.value}{' || $$$$' if computed else ''}" + (', scope' if given.scopes else '')
        self.ranked = chance.random() < 0.3
        if given.crossing:
            cut = rows // 50 if rows > MANY else chance.randint(0, rows)
            return (f'SELECT {columns} FROM input WHERE n <= {cut}',
                    f'SELECT {columns} FROM input WHERE n > {cut - chance.randint(0, cut // 3)}', None)
        where = chance.choice(['', '', f' WHERE n > {rows // 10}', ' WHERE body IS NOT NULL',
                               ' WHERE length(body) > 10'])
        query = {
            'order': f'SELECT COLUMNS FROM input{where} ORDER BY md5(n::text)',
            'limit': f'SELECT COLUMNS FROM input{where} ORDER BY n LIMIT {max(1, rows * 2 // 3)}',
            'view': f'SELECT COLUMNS FROM input_view{where}',
            'cte': f'WITH x AS MATERIALIZED (SELECT * FROM input) SELECT COLUMNS FROM x{where}',
            'join': f'SELECT COLUMNS FROM input JOIN generate_series(1, {rows + 5}) g ON g = n{where}',
            'offset': f'SELECT COLUMNS FROM (SELECT * FROM input{where} OFFSET 0) x',
            'union': 'SELECT COLUMNS FROM input WHERE n % 2 = 0 UNION ALL'
                     ' SELECT COLUMNS FROM input WHERE n % 2 = 1',
            'index': 'SELECT COLUMNS FROM input WHERE n > 2',
        }.get(given.form, f'SELECT COLUMNS FROM input{where}')
        return (query.replace('COLUMNS', columns), None,
                query.replace('COLUMNS', columns + (', rank' if self.ranked else '')))

    def call(self, function, query, more):
        """A call of a bulk function, as SQL."""
        given = self.given
        named = given.arguments | more
        if self.value == 'body':
            named |= given.texts
        typed = '' if given.id_type in BULK_IDS else f', NULL::{given.id_type}'
        return (f'{function}({self.literal(query)}{typed}'
                + ''.join(f', {name} => {self.literal(value)}' for name, value in named.items()) + ')')

    # What is true.

    def learn_truth(self, queries):
        """Sets of rows by their numbers, how many rows have each, and how similar they are."""
        given = self.given
        self.set_of, self.family_of, self.sizes = {}, {}, []
        self.sure = {}  # pairs in a bucket that is not left out
        self.in_query = [[n for n, in self.run(f'SELECT input.n FROM ({query}) q JOIN input USING (id)')]
                         for query in queries]
        if given.measure == 'jaccard' and given.estimated:
            self.learn_estimates()
        else:
            self.learn_sets()
        self.run('DROP TABLE IF EXISTS numbered, numbers; CREATE TEMP TABLE numbers (n int, number int)')
        with self.database.cursor().copy('COPY numbers FROM STDIN') as copy:
            for row in self.set_of.items():
                copy.write_row(row)
        self.run('CREATE TEMP TABLE numbered AS SELECT id, number FROM numbers JOIN input USING (n); ANALYZE numbered')
        self.members = [collections.Counter(self.set_of[n] for n in rows if n in self.set_of) for rows in self.in_query]

    def learn_sets(self):
        given = self.given
        numbers, sets = {}, []
        shingled = 'shingles(body, %s, %s, %s, %s)' % tuple(
            self.literal(given.texts[name]) for name in ('shingle_size', 'unit', 'fold', 'bag'))
        for n, family, scope, shingles in self.run(
                f'SELECT n, family, scope, {shingled} FROM input WHERE body IS NOT NULL'):
            elements = shingles
            if given.texts['bag']:
                counts = collections.Counter()
                elements = []
                for shingle in shingles:
                    counts[shingle] += 1
                    elements.append((shingle, counts[shingle]))
            if not elements:
                continue
            key = (scope if given.scopes else 0, frozenset(elements))
            if key not in numbers:
                numbers[key] = len(sets)
                sets.append(key)
                self.sizes.append(len(key[1]))
                self.family_of[numbers[key]] = family
            self.set_of[n] = numbers[key]
        self.shared = truth.shared_elements([elements for _, elements in sets])
        self.shared = {pair: common for pair, common in self.shared.items() if sets[pair[0]][0] == sets[pair[1]][0]}
        if given.measure == 'weighted':
            self.learn_weights(sets)
        self.near = {}
        for a, b in self.shared:
            for left, right in self.directions(a, b):
                if (share := self.similarity(left, right)) >= given.threshold:
                    self.near[left, right] = share
        self.near |= {(a, a): 1.0 for a in range(len(sets))}

    def learn_weights(self, sets):
        """What each two sets share, by weight, and the norm of each."""
        rows = collections.Counter(self.set_of[n] for query in self.in_query for n in query if n in self.set_of)
        rows_of, frequencies = collections.Counter(), collections.Counter()
        for number, count in rows.items():
            scope, elements = sets[number]
            rows_of[scope] += count
            for element in elements:
                frequencies[scope, element] += count
        squares = {(scope, element): math.log((rows_of[scope] + 1) / count) ** 2
                   for (scope, element), count in frequencies.items()}
        weigh = lambda scope, elements: math.fsum(squares.get((scope, element), 0.0) for element in elements)
        self.norms = [weigh(*key) for key in sets]
        self.weights = {(a, b): weigh(sets[a][0], sets[a][1] & sets[b][1]) for a, b in self.shared
                        if rows[a] and rows[b]}

    def directions(self, a, b):
        """In which ways two different sets can be a pair."""
        if self.given.crossing:
            return (a, b), (b, a)
        if self.given.measure == 'containment' and self.sizes[b] < self.sizes[a]:
            return ((b, a),)
        return ((a, b),)

    def similarity(self, left, right):
        if self.given.measure == 'jaccard' and self.given.estimated:
            return 1.0 if left == right else self.estimates.get((min(left, right), max(left, right)), 0.0)
        if self.given.measure == 'weighted':
            if left == right:
                return 1.0
            return (self.weights.get((min(left, right), max(left, right)), 0.0)
                    / (math.sqrt(self.norms[left] * self.norms[right]) or 1.0))
        common = self.sizes[left] if left == right else self.shared.get((min(left, right), max(left, right)), 0)
        if self.given.measure == 'containment':
            return common / self.sizes[left]
        return common / (self.sizes[left] + self.sizes[right] - common)

    def learn_estimates(self):
        given = self.given
        scope = 'scope' if given.scopes else '0'
        keys = 'NULL::bigint[]'
        if given.shape_fixed:
            keys = f'lsh_band_keys(sig, {given.arguments["bands"]}, {given.arguments["rows"]})'
        self.run('DROP TABLE IF EXISTS signatures, signed CASCADE')
        signature = 'sig' if self.value == 'sig' else self.signature
        self.run(f'CREATE TEMP TABLE signed AS SELECT n, family, {scope} AS scope, {signature} AS sig FROM input'
                 ' WHERE body IS NOT NULL')
        self.run('DELETE FROM signed WHERE minhash_similarity(sig, sig) = 0')  # of empty sets
        self.run(f'CREATE TEMP TABLE signatures AS SELECT row_number() OVER () - 1 AS number, scope, sig,'
                 f' {keys} AS keys, min(family) AS family FROM signed GROUP BY scope, sig')
        for n, number, family in self.run('SELECT n, number, s.family FROM signed JOIN signatures s USING (sig)'
                                          ' WHERE signed.scope IS NOT DISTINCT FROM s.scope'):
            self.set_of[n] = number
            self.family_of[number] = family
        self.estimates = {(a, b): similarity for a, b, similarity in self.run(
            'SELECT a.number, b.number, similarity FROM signatures a JOIN signatures b'
            ' ON a.number < b.number AND a.scope IS NOT DISTINCT FROM b.scope,'
            ' LATERAL (SELECT minhash_similarity(a.sig, b.sig) AS similarity OFFSET 0) s WHERE similarity > 0')}
        together = self.estimates
        if given.shape_fixed:
            keys_of = [list(enumerate(keys)) for keys, in self.run('SELECT keys FROM signatures ORDER BY number')]
            together = truth.shared_elements(keys_of)
            if given.max_bucket is not None:
                rows_of = collections.Counter(key for number in self.set_of.values() for key in keys_of[number])
                self.sure = truth.shared_elements(
                    [[key for key in keys if rows_of[key] <= given.max_bucket] for keys in keys_of])
        self.near = {}
        for (a, b), similarity in self.estimates.items():
            if similarity >= given.threshold and (a, b) in together:
                self.near |= {pair: similarity for pair in self.directions(a, b)}
        self.near |= {(a, a): 1.0 for a in self.family_of}

    # Pairs.

    def fetch_pairs(self, call, settings):
        """Makes the table `got` of a call. Returns what two calls with the same answer have in common: the rows in
        their order, and in any order."""
        self.use(settings)
        self.counts['calls'] += 1
        self.run('DROP TABLE IF EXISTS got; CREATE TEMP TABLE got AS SELECT row_number() OVER () AS place, * FROM'
                 f' {call} x (left_id, right_id, similarity)')
        hash_of = 'hash_record_extended(row(left_id, right_id, similarity)'
        return self.run(f'SELECT sum({hash_of}, place)::numeric), sum({hash_of}, 0)::numeric), count(*) FROM got')[0]

    def check_pairs(self):
        """Compares the table `got` with the truth. Returns the pairs of sets found."""
        given = self.given
        self.run('ANALYZE got; SET enable_nestloop = off')
        found = collections.Counter()
        total = 0
        contained = given.measure == 'containment'
        wrong_order = 'false' if given.crossing else f'left_id {"<=" if contained else ">="} right_id'
        for left, right, similarity, count, unordered in self.run(
                f'SELECT a.number, b.number, similarity, count(*), count(*) FILTER (WHERE {wrong_order}) FROM got'
                ' JOIN numbered a ON a.id = left_id JOIN numbered b ON b.id = right_id GROUP BY 1, 2, 3'):
            total += count
            pair = (left, right) if given.crossing or (left, right) in self.near else (right, left)
            if pair not in self.near:
                self.find(f'a pair of similarity {similarity} that is none (it is {self.similarity(left, right)})')
            elif abs(self.near[pair] - similarity) > given.difference or similarity < given.threshold:
                self.find(f'similarity {similarity} instead of {self.near[pair]}')
            if unordered and not (contained and self.sizes[left] != self.sizes[right]):
                self.find(f'{unordered} pairs with the wrong id on the left')
            if contained and not given.crossing and self.sizes[left] > self.sizes[right]:
                self.find('a larger set on the left')
            found[pair] += count
        count, different = self.run('SELECT sum(times), count(*)'
                                    ' FROM (SELECT count(*) AS times FROM got GROUP BY left_id, right_id) g')[0]
        if total != (count or 0):
            self.find('pairs of rows that are not in the query')
        if count != (different or None):
            self.find(f'{count} pairs, of which {different} differ')
        self.run('RESET enable_nestloop')
        return found

    def expected_count(self, left, right):
        members = self.members
        if self.given.crossing:
            return members[0][left] * members[1][right]
        if left == right:
            return members[0][left] * (members[0][left] - 1) // 2
        return members[0][left] * members[0][right]

    def rows_alike(self, number):
        """How many rows may have the signature of a set: of texts those of its family, and with few hashes any rows. A
        bucket of all of them may be too large, even if it has few different rows, as copies are found by their
        signatures first."""
        if self.given.estimated:  # the sets are the signatures
            return sum(members[number] for members in self.members)
        if self.given.hashes < 64:
            return sum(members.total() for members in self.members)
        family = self.family_of[number]
        return sum(count for members in self.members for other, count in members.items()
                   if self.family_of[other] == family)

    def check_recall(self, found):
        """Whether as many of the true pairs were found as promised, for all that chance may do."""
        given = self.given
        families = collections.defaultdict(lambda: [0, 0, 0])
        for pair, similarity in self.near.items():
            there = self.expected_count(*pair)
            if found[pair] > there:
                self.find(f'{found[pair]} pairs of rows where there are {there}')
            if not there:
                continue
            promise = given.promise(similarity)
            if pair[0] == pair[1]:
                promise = given.max_bucket is None or self.rows_alike(pair[0]) <= given.max_bucket
            elif (min(pair), max(pair)) in self.sure:
                promise = 1
            if promise == 1 and found[pair] < there:
                self.find(f'{there - found[pair]} pairs of similarity {similarity} are missing that nothing may miss')
            self.counts['true'] += there
            self.counts['found'] += found[pair]
            family = families[min(self.family_of[number] for number in pair)]
            family[0] += 1
            family[1] += 1 - found[pair] / there
            family[2] += 1 - promise
        if not families:
            return
        missed = sum(family[1] / family[0] for family in families.values())
        expected = sum(family[2] / family[0] for family in families.values())
        probability = truth.chance_of(missed, len(families), expected)
        if probability < SUSPECT:
            pairs = sum(family[0] for family in families.values())
            self.find(f'{sum(family[1] for family in families.values()):.0f} of {pairs} pairs of sets are missing: of'
                      f' {len(families)} families {missed / len(families):.4f} instead of'
                      f' {expected / len(families):.4f}, which happens with a probability of {probability:.1g}')

    def compare_pairs(self, query, other):
        given, chance = self.given, self.given.chance
        function = 'lsh_contained' if given.measure == 'containment' else 'lsh_pairs'
        call = self.call(function, query, {'other_query': other} if other else {})
        steady = self.fetch_pairs(call, STEADY)
        found = self.check_pairs()
        self.check_recall(found)
        workers = chance.choice(WORKERS)
        self.started = 0
        with_workers = self.fetch_pairs(call, self.with_workers(workers))
        if self.value == 'body' and given.measure == 'jaccard':  # only signing texts is work enough for workers
            self.counts['can have workers'] += 1
            self.counts['have workers'] += self.started > 0
        self.counts['workers'] += self.started
        if with_workers != steady:
            self.find(f'{workers} workers change the answer: {with_workers} instead of {steady}')
        memory = chance.choice(['1MB', '2MB', '8MB', '1GB'])
        with_memory = self.fetch_pairs(call, self.with_workers(chance.choice([0, 0, 2])) | {'maintenance_work_mem': memory})
        if with_memory[1:] != steady[1:]:
            if given.measure != 'jaccard' or given.shape_fixed:
                self.find(f'memory of {memory} changes the answer: {with_memory} instead of {steady}')
            else:
                self.counts['choices that differ by memory'] += 1
                self.check_recall(self.check_pairs())
        if (given.shape_fixed or given.measure == 'weighted') and given.form == 'plain' and not other:
            reverse = self.fetch_pairs(self.call('lsh_pairs', query + ' ORDER BY n DESC', {}), STEADY)
            if reverse[1:] != steady[1:]:
                self.find(f'the order of rows changes the answer: {reverse} instead of {steady}')
        return found

    # Verdicts.

    def make_verdicts(self):
        """Makes the table `told` of verdicts, mostly on the pairs in `got`, in either order; some have ids that are
        gone, one id twice, or a NULL."""
        given, chance = self.given, self.given.chance
        most = chance.choice([1, 10, 1000, 10**6])
        of = given.id_type
        self.run(f"""DROP TABLE IF EXISTS told; CREATE TEMP TABLE told AS
            WITH gone AS (SELECT {ID_TYPES[of]} AS gone FROM generate_series(20000, 20002) n)
            SELECT left_id::{of}, right_id::{of} FROM (
                SELECT left_id, right_id FROM got ORDER BY md5(place::text) LIMIT {most}) AS a
            UNION ALL SELECT right_id::{of}, left_id::{of} FROM (
                SELECT left_id, right_id FROM got ORDER BY md5('x' || place) LIMIT {most}) AS b
            UNION ALL SELECT l.id, r.id FROM input l JOIN input r ON r.n = l.n * 7 % {len(given.rows)} + 1
                WHERE l.n < {most}
            UNION ALL SELECT id, gone FROM input, gone WHERE n < 9 UNION ALL SELECT gone, gone FROM gone
            UNION ALL SELECT id, NULL FROM input WHERE n < 4 UNION ALL SELECT id, id FROM input WHERE n % 3 = 1""")

    def verdicts(self):
        return 'SELECT left_id::{0}, right_id::{0} FROM told'.format(self.given.id_type)

    def compare_apart(self, query, other):
        """lsh_pairs() without the pairs that were told apart."""
        given, chance = self.given, self.given.chance
        more = {'other_query': other} if other else {}
        self.fetch_pairs(self.call('lsh_pairs', query, more), STEADY)
        self.make_verdicts()
        self.use(self.with_workers(chance.choice(WORKERS))
                 | {'maintenance_work_mem': chance.choice(['1MB', '64MB']) if given.shape_fixed else '64MB'})
        self.counts['calls'] += 1
        call = self.call('lsh_pairs', query, more | {'apart': self.verdicts()})
        self.run(f'DROP TABLE IF EXISTS rest; CREATE TEMP TABLE rest AS SELECT * FROM {call}')
        either = '' if other else ' UNION ALL SELECT right_id, left_id FROM told'
        left_out, wrong = self.run(f"""
            WITH kept AS (SELECT left_id, right_id, similarity FROM got WHERE NOT EXISTS (
                SELECT FROM (TABLE told{either}) t (l, r) WHERE l = left_id AND r = right_id))
            SELECT (SELECT count(*) FROM got) - (SELECT count(*) FROM kept),
                (SELECT count(*) FROM (TABLE kept EXCEPT ALL TABLE rest) a)
                + (SELECT count(*) FROM (TABLE rest EXCEPT ALL TABLE kept) b)""")[0]
        self.counts['pairs told apart'] += left_out
        if wrong:
            self.find(f'apart makes {wrong} pairs differ, and should leave out {left_out}')

    def check_apart(self, clusters, found):
        """In clusters that have all rows of the query: no two rows are together that were told apart; and a row that
        is near the representative of a better cluster is not in it only if a better row there keeps it out."""
        apart = collections.defaultdict(set)
        for left, right in self.run('SELECT l.n, r.n FROM told JOIN input l ON l.id = left_id'
                                    ' JOIN input r ON r.id = right_id WHERE l.n <> r.n'):
            apart[left].add(right)
            apart[right].add(left)
        rank_of = lambda row: ((row[5] is None, row[5] or 0) if self.ranked else (False, 0), row[6])
        order = {row[0]: rank_of(row) for rows in clusters.values() for row in rows}
        for representative, rows in clusters.items():
            members = {row[0] for row in rows}
            if any(apart[n] & members for n in members):
                self.find('two rows of a cluster were told apart')
            for n in order:
                if n in members or order[n] < order[representative] or not {n, representative} <= self.set_of.keys():
                    continue
                number, best = self.set_of[n], self.set_of[representative]
                home = self.home[n]
                if order[home] < order[representative] or not (found[number, best] or found[best, number]):
                    continue
                if not any(order[m] < order[n] for m in apart[n] & members):
                    self.find('a row is not in the first cluster that could have it')
                self.counts['rows kept out'] += 1

    # Clusters.

    def compare_clusters(self, query, found):
        chance = self.given.chance
        near_representative, singletons = chance.random() < 0.3, chance.random() < 0.3
        more = {}
        if self.told and len(self.in_query[0]) <= MANY:
            near_representative = singletons = True
            more = {'apart': self.verdicts()}
        call = self.call('lsh_clusters', query,
                         {'near_representative': near_representative, 'singletons': singletons} | more)
        answers = []
        for settings in STEADY, self.with_workers(chance.choice(WORKERS)):
            self.use(settings)
            self.counts['calls'] += 1
            answers.append(self.run(
                'SELECT a.n, c.n, r.n, size, similarity, a.rank, rank() OVER (ORDER BY a.id) FROM'
                f' (SELECT row_number() OVER () AS place, * FROM {call}) x JOIN input a ON a.id = x.id'
                ' JOIN input c ON c.id = cluster_id JOIN input r ON r.id = representative ORDER BY place'))
        if answers[0] != answers[1]:
            self.find('workers change clusters')
        clusters = collections.defaultdict(list)
        for row in answers[0]:
            clusters[row[2]].append(row)
        for representative, rows in clusters.items():
            self.check_cluster(representative, rows, near_representative)
        if more:
            self.home = {row[0]: row[2] for row in answers[0]}
            self.check_apart(clusters, found)
        if len({row[0] for row in answers[0]}) != len(answers[0]):
            self.find('a row is in two clusters')
        if singletons and {row[0] for row in answers[0]} != set(self.in_query[0]):
            self.find(f'{len(answers[0])} rows in clusters and singletons, of {len(self.in_query[0])}')
        self.check_partition([{row[0] for row in rows} for rows in clusters.values()], found, near_representative)

    def check_cluster(self, representative, rows, near_representative):
        given = self.given
        if {row[3] for row in rows} != {len(rows)}:
            self.find(f'size {rows[0][3]} of a cluster of {len(rows)} rows')
        if any(row[1] != min(rows, key=lambda row: row[6])[0] for row in rows):
            self.find('cluster_id is not the smallest id')
        rank_of = lambda row: (row[5] is None, row[5] or 0) if self.ranked else (False, 0)
        if min(rows, key=lambda row: (rank_of(row), row[6]))[0] != representative:
            self.find('the representative is not the best row')
        for n, _, _, _, similarity, _, _ in rows:
            true = 1.0 if n == representative else self.similarity(self.set_of[n], self.set_of[representative])
            if abs(true - similarity) > given.difference:
                self.find(f'similarity {similarity} of a row to its representative instead of {true}')
            elif near_representative and true < given.threshold:
                self.find(f'a row of similarity {true} in the cluster of a representative')

    def check_partition(self, clusters, found, near_representative):
        """Clusters are the components of the pairs found, or lie within them."""
        components = truth.Components()
        rows_of = collections.defaultdict(list)
        for n in self.in_query[0]:
            if n in self.set_of:
                rows_of[self.set_of[n]].append(n)
        for left, right in found:
            for row in rows_of[left] + rows_of[right]:
                components.join(rows_of[left][0], row)
        several = {frozenset(rows) for rows in clusters if len(rows) > 1}
        if near_representative:
            if any(len({components.root(row) for row in rows}) > 1 for rows in several):
                self.find('a cluster has rows of several components')
        elif several != components.groups():
            self.find(f'{len(several)} clusters for {len(components.groups())} components of the pairs')

    def compare_components(self):
        """lsh_components() of the last pairs, at several thresholds."""
        given, chance = self.given, self.given.chance
        pairs = self.run('SELECT l.n, r.n, similarity FROM got JOIN input l ON l.id = left_id'
                         ' JOIN input r ON r.id = right_id ORDER BY place LIMIT 20000')
        thresholds = sorted({chance.choice([0.0, 0.3, 0.5, 0.8, 0.9, 1.0, round(chance.random(), 2)])
                             for _ in range(4)})
        typed = '' if given.id_type in BULK_IDS else f', NULL::{given.id_type}'
        query = self.literal('SELECT left_id, right_id, similarity FROM got ORDER BY place LIMIT 20000')
        groups = collections.defaultdict(set)
        for level, cluster, n in self.run(
                f'SELECT threshold, c.n, i.n FROM lsh_components({query}{typed}, thresholds => %s) x'
                ' JOIN input i ON i.id = x.id JOIN input c ON c.id = cluster_id', [thresholds]):
            groups[level, cluster].add(n)
        for level in thresholds:
            components = truth.Components()
            for left, right, similarity in pairs:
                if similarity >= level:
                    components.join(left, right)
            if {frozenset(rows) for (of, _), rows in groups.items() if of == level} != components.groups():
                self.find(f'lsh_components() at {level} differs')

    # What calls say about pairs.

    def count_true(self, pairs):
        return sum(self.expected_count(*pair) for pair in pairs)

    def learn_meetings(self):
        """The true pairs whose signatures share a band."""
        bands, rows = (self.given.arguments[name] for name in ('bands', 'rows'))
        keys_of = dict(self.run(f'SELECT number, lsh_band_keys({self.signature}, {bands}, {rows}) FROM'
                                ' (SELECT DISTINCT ON (number) number, n FROM numbers) s JOIN input USING (n)'))
        together = truth.shared_elements([list(enumerate(keys_of[number])) for number in range(len(self.sizes))])
        return [pair for pair in self.near if pair[0] == pair[1] or pair in together]

    def compare_evaluation(self, query):
        """lsh_evaluate() with all rows as anchors, and with some, of the last pairs' bands and rows."""
        given, chance = self.given, self.given.chance
        arguments = {name: value for name, value in given.texts.items()} | {'threshold': given.threshold}
        shape = ''.join(f', {name} => ARRAY[{given.arguments[name]}]' for name in ('bands', 'rows'))
        if 'num_hashes' not in arguments:
            arguments['num_hashes'] = given.hashes
        pairs = self.count_true(self.learn_meetings())
        true = self.count_true(self.near)
        self.use(self.with_workers(chance.choice([0, 1, 3])))
        for anchors in (100000, max(2, len(given.rows) * chance.choice([1, 5, 9]) // 10)):
            self.counts['calls'] += 1
            found_by = (f'lsh_evaluate({self.literal(query)}, anchors => {anchors}{shape}'
                        + ''.join(f', {name} => {self.literal(value)}' for name, value in arguments.items()) + ')')
            used, true_pairs, found, recall, low, high = self.run(
                f'SELECT anchors, true_pairs, found, recall, recall_low, recall_high FROM {found_by}')[0]
            if used == len(self.in_query[0]) and anchors == 100000 and (true_pairs, found) != (true, pairs):
                self.find(f'lsh_evaluate() has {found} of {true_pairs} pairs instead of {pairs} of {true}')
            if found > true_pairs or (true_pairs and abs(recall - found / true_pairs) > DIFFERENCE):
                self.find(f'lsh_evaluate(): recall {recall} of {found} of {true_pairs}')
            if anchors < 100000 and true and true_pairs:
                self.counts['intervals'] += 1
                self.counts['intervals that miss'] += not low - 1e-9 <= pairs / true <= high + 1e-9

    def compare_sample(self, query):
        """lsh_sample(): of so few rows all are in it, of more its bounds hold in 95 of 100."""
        given = self.given
        arguments = given.texts if self.value == 'body' else {}
        arguments = {name: value for name, value in arguments.items() if name not in ('seed', 'method')}
        if arguments != (given.texts if self.value == 'body' else {}) or given.shape_fixed:
            return
        if 'verify' in given.arguments:
            arguments = arguments | {'verify': 'estimate'}
        true = self.count_true(self.near)
        self.counts['calls'] += 1
        rows, pairs, low, high = self.run(
            f'SELECT row_count, pairs, pairs_low, pairs_high FROM lsh_sample({self.literal(query)}'
            + ''.join(f', {name} => {self.literal(value)}'
                      for name, value in ({'threshold': given.threshold} | arguments).items()) + ')')[0]
        if rows != len(self.in_query[0]) or not low <= pairs <= high:
            self.find(f'lsh_sample(): {low} to {high} pairs, {pairs}, of {rows} rows')
        if rows <= 2000 and not (low == pairs == high and pairs <= true):
            self.find(f'lsh_sample() of all {rows} rows: {low} to {high} pairs, {pairs}, instead of {true}')
        if rows > 2000:
            self.counts['samples'] += 1
            self.counts['samples that miss'] += not low <= true <= high / 0.95

    def ask(self, seed):
        given = self.given = Configuration(seed, self.measure)
        self.use(STEADY)
        self.make_table()
        queries = self.make_queries()
        self.run(f"SET enable_seqscan = {'off' if given.form == 'index' else 'on'}")
        self.learn_truth([query for query in queries[:2] if query])
        try:
            found = self.compare_pairs(*queries[:2])
        except psycopg.errors.InvalidParameterValue as refused:
            if 'no combination of bands and rows' not in str(refused):
                raise
            self.counts['refused'] += 1
            return
        self.told = given.measure != 'containment' and given.chance.random() < 0.4
        if self.told:
            self.compare_apart(*queries[:2])
        if not given.crossing and given.measure != 'containment':
            if given.chance.random() < 0.3:
                self.compare_components()
            self.compare_clusters(queries[2], found)
            self.use(STEADY)
            if not given.estimated and given.shape_fixed and given.max_bucket is None:
                self.compare_evaluation(queries[0])
            if given.measure == 'jaccard' and given.max_bucket is None and given.chance.random() < 0.2:
                self.compare_sample(queries[0])
        self.counts['compared'] += 1


def least_of(count, share):
    """How many of so many happen if each has this probability, but for a chance below one in a million."""
    return count * share - 5 * math.sqrt(count * share * (1 - share)) - 1


def main(first=1, count=200, measure=None):
    with psycopg.connect(autocommit=True) as database:
        oracle = Oracle(database, measure)
        for seed in range(int(first), int(first) + int(count)):
            try:
                oracle.ask(seed)
            except psycopg.Error as error:
                oracle.find(f'error {error.sqlstate}: {str(error).splitlines()[0]}')
                if database.broken:
                    break
        counts = oracle.counts
        for what, count, least in (
                ('configurations have workers', counts['have workers'], counts['can have workers'] * 0.95 - 1),
                ('intervals hold', counts['intervals'] - counts['intervals that miss'], least_of(counts['intervals'], 0.95)),
                ('samples hold', counts['samples'] - counts['samples that miss'], least_of(counts['samples'], 0.95))):
            if count < least:
                oracle.findings += 1
                oracle.shown.append(f'{first}: only {count} {what}, instead of {least:.0f}')
                print(oracle.shown[-1])
        print(f'seeds {first} to {seed}: ' + ', '.join(f'{number} {what}' for what, number in oracle.counts.items()) +
              f'; {oracle.findings} findings')
    with open(os.environ.get('COUNTS') or os.devnull, 'a') as file: # test/check.sh reads it
        print(f'passed {counts["compared"]}', f'failed {oracle.findings}',
              *(f'FAILED {finding}' for finding in oracle.shown), sep='\n', file=file)
    return oracle.findings > 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
