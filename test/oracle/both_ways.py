#!/usr/bin/python3
"""Calls the bulk functions with random tables, queries and arguments, and compares the ways in which rows are read.

    both_ways.py [FIRST [COUNT]]     configurations by their seeds, 1 to 200 unless told otherwise

If a query just scans tables, all processes read the tables' blocks. The same query in a form that they cannot share,
for instance with a LIMIT, is read by one process. Each configuration is called in both ways, with no workers and with
1 to 16. The answers must be the same, row by row and in their order; so must errors. Whether they are right is not
looked at here, but in oracle.py. Eight configurations share a table.

Run it by test/tools/with_server.sh, with the extension installed and SERVER_OPTS='-c max_worker_processes=16
-c max_parallel_workers=16'. Each finding is a line that begins with its seed, and makes the script fail; at the end a
line says what was compared. Needs Python 3.10 and psycopg 3.
"""
import collections
import contextlib
import os
import random
import re
import sys

import psycopg
from psycopg import sql

sys.dont_write_bytecode = True  # the checkout stays as it is
import texts

CALLS_OF_TABLE = 8
ENLARGED = 500  # at least so many rows make a large table
MOST_ROWS = 30000
PATIENCE = '3s'  # calls that take longer are given up; a few tables have millions of pairs
STEADY = {'statement_timeout': 0, 'max_parallel_maintenance_workers': 0, 'max_parallel_workers_per_gather': 0,
          'force_parallel_mode': 'off', 'enable_indexscan': 'off', 'enable_bitmapscan': 'off',
          'synchronize_seqscans': 'off', 'jit': 'off', 'min_parallel_table_scan_size': 0, 'parallel_setup_cost': 0}
SEEN = 'workers_see(n)'  # a filter that says so if a worker evaluates it
PREPARATION = """
    CREATE EXTENSION IF NOT EXISTS minhash_lsh;
    CREATE ROLE oracle_reader;
    CREATE DOMAIN oracle_short AS text;
    SET oracle.session = {session};
    CREATE FUNCTION workers_see(n int) RETURNS bool LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
    BEGIN
        IF n % 8 <> 0 THEN
            RETURN true;
        ELSIF pg_backend_pid() <> current_setting('oracle.session')::int THEN
            RAISE WARNING 'seen by a worker';
        ELSIF n < 1000 THEN
            PERFORM pg_sleep(0.001); -- so that workers get rows of a small table
        END IF;
        RETURN true;
    END $$;
    CREATE FUNCTION unsafe(n int) RETURNS bool LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END'"""


class Table:
    """A table of random texts. Several configurations use it."""

    def __init__(self, number):
        self.chance = chance = random.Random(f'table {number}')
        self.shape = chance.choices([*texts.SHAPES], [6, 40, 30, 10, 3, 1, 4])[0]
        self.rows = texts.table_of(chance, self.shape)
        if chance.random() < 0.3:
            self.rows = texts.like_goods_or_ads(chance, self.rows)
        self.copies = 1
        if self.shape in ('titles', 'large') and len(self.rows) > ENLARGED and chance.random() < 0.4:
            self.copies = chance.choice([2, 10, 40])
        if chance.random() < 0.03:
            self.rows = []
        self.parts = chance.choices(['', 'hash', 'range', 'list'], [70, 10, 10, 10])[0]
        self.hashes = chance.choice([8, 64, 100, 128, 512])
        self.scopes = chance.choice([1, 3, 50])

    def statements(self):
        """Makes the table. Its columns are not in the order of those of all partitions."""
        chance = self.chance
        body = chance.choice(['text', 'text', 'varchar', 'oracle_short'])
        columns = ['n int', "gone text DEFAULT 'x'", f'body {body}', 'key text', 'scope int', 'rank int',
                   'sig minhash_signature']
        chance.shuffle(columns)
        filled = f' WITH (fillfactor = {chance.choice([15, 60, 100])})'
        kind = chance.choice(['', '', 'UNLOGGED ']) if not self.parts else ''
        parted = {'hash': ' PARTITION BY HASH (n)', 'range': ' PARTITION BY RANGE (n)',
                  'list': ' PARTITION BY LIST (scope)'}.get(self.parts, filled)
        yield f'DROP TABLE IF EXISTS input; CREATE {kind}TABLE input ({", ".join(columns)}){parted}'
        cut = len(self.rows) * self.copies // 2
        for part, bound in enumerate({
                'hash': [f'FOR VALUES WITH (MODULUS 3, REMAINDER {rest})' for rest in range(3)],
                'range': [f'FOR VALUES FROM (MINVALUE) TO ({cut})',
                          f'FOR VALUES FROM ({cut}) TO ({cut + cut // 2 + 1})', 'DEFAULT'],
                'list': ['FOR VALUES IN (0, 1)', 'FOR VALUES IN (NULL)', 'DEFAULT']}.get(self.parts, [])):
            chance.shuffle(columns)
            yield (f'CREATE TABLE input_{part} ({", ".join(columns)}){filled};'
                   f'ALTER TABLE input ATTACH PARTITION input_{part} {bound}')
        for part in range(3) if self.parts else ['']:
            name = f'input_{part}' if self.parts else 'input'
            kept = chance.choice(['extended', 'external', 'main', 'plain'])
            yield (f'ALTER TABLE {name} ALTER body SET STORAGE {kept},'
                   f" ALTER sig SET STORAGE {chance.choice(['extended', 'external', 'main'])}"
                   + (', SET (toast_tuple_target = 128)' if chance.random() < 0.3 else ''))

    def make(self, database):
        chance = self.chance
        self.longest = max((len((text or '').encode()) for _, text in self.rows), default=0)
        for statement in self.statements():
            if self.longest > 6000:
                statement = statement.replace('STORAGE plain', 'STORAGE external')
            database.execute(statement)
        database.execute('DROP TABLE IF EXISTS loaded;'
                         'CREATE TEMP TABLE loaded (n int, body text, scope int, rank int)')
        with database.cursor().copy('COPY loaded FROM STDIN') as copy:
            for n, (_, text) in enumerate(self.rows, 1):
                copy.write_row((n, text, chance.choice([None, *range(self.scopes)]), chance.choice([None, 1, 2, 3])))
        rows = len(self.rows)
        database.execute(f"""INSERT INTO input (n, body, key, scope, rank)
            SELECT n + {rows} * copy, CASE copy % 4 WHEN 0 THEN body WHEN 1 THEN body || ' ' || copy
                    WHEN 2 THEN translate(body, 'ae', 'bc') ELSE md5(concat(n, ' ', copy)) || body END,
                nullif('k' || md5((n + {rows} * copy)::text), 'k' || md5('7')), scope, rank
            FROM generate_series(0, {self.copies - 1}) copy, loaded WHERE n + {rows} * copy <= {MOST_ROWS}
            ORDER BY copy, n""")
        for share, change in ((0.3, 'UPDATE input SET gone = NULL WHERE n % 3 = 0'),
                              (0.3, 'DELETE FROM input WHERE n % 11 IN (2, 5)'),
                              (0.1, 'DELETE FROM input WHERE n BETWEEN 40 AND 300'),
                              (0.4, 'ALTER TABLE input DROP COLUMN gone'),
                              (0.3, f'UPDATE input SET sig = minhash(body, {self.hashes}) WHERE n % 9 <> 1'),
                              (0.3, "ALTER TABLE input ADD late text DEFAULT 'late'"),
                              (0.3, 'VACUUM input'), (0.4, 'ANALYZE input'),
                              (0.2, 'INSERT INTO input (n, body, scope) SELECT n + 40000, body, scope FROM input'
                                    ' WHERE n % 5 = 1')):
            if chance.random() < share:
                database.execute(change)
        database.execute('GRANT SELECT ON input TO oracle_reader;'
                         'CREATE POLICY seen_rows ON input TO oracle_reader'
                         ' USING (n % 4 <> 1 AND scope IS DISTINCT FROM 2)')
        database.execute('ALTER TABLE input ENABLE ROW LEVEL SECURITY')


class Configuration:
    """A call of a bulk function on the table, and the settings that it has in all ways."""

    def __init__(self, seed, table):
        self.seed = seed
        self.table = table
        self.chance = chance = random.Random(seed)
        large = len(table.rows) * table.copies > 2000
        self.function = chance.choices(['pairs', 'clusters', 'contained', 'evaluate', 'sample'], [40, 25, 20, 10, 5])[0]
        if large and self.function == 'sample':
            self.function = 'pairs'
        self.weighted = self.function in ('pairs', 'clusters') and chance.random() < 0.15
        self.signed = self.function in ('pairs', 'clusters') and not self.weighted and chance.random() < 0.25
        self.id, self.type = chance.choice([('n', ''), ('n', ''), ('-n', ''), ('n::bigint * 1000003', ''),
                                            ('key', 'NULL::text'), ("key || '/' || n", 'NULL::text'),
                                            ('md5(n::text)::uuid', 'NULL::uuid'), ('nullif(n, 9)', '')])
        if self.function in ('evaluate', 'sample'):
            self.type = ''
        self.workers = chance.choice([1, 2, 3, 4] * 3 + [8, 16])
        self.settings = {'maintenance_work_mem': chance.choice(['1MB', '2MB', '64MB', '64MB', '1GB']),
                         'effective_cache_size': chance.choice(['8kB', '1GB', '1GB'])}
        self.reader = chance.random() < 0.15
        self.changed = chance.random() < 0.1
        self.isolation = chance.choice(['read committed', 'repeatable read', 'serializable'])
        self.queries = [self.make_query()]
        self.old_form = chance.choice(['limit', 'cte', 'volatile', 'subquery', 'unsafe', 'limit'])
        self.arguments = self.make_arguments(large)
        if self.function in ('pairs', 'contained') and chance.random() < 0.4:
            self.queries.append(self.make_query())

    def make_query(self):
        """The query, with a placeholder for more conditions."""
        chance = self.chance
        if self.signed:
            made = f'minhash(body, {self.table.hashes})'
            value = chance.choice(['sig', made, f'minhash_compress({made}, 16)'])
        else:
            value = chance.choice(['body'] * 5 + ['lower(body)', "body || coalesce(' ' || rank, '')",
                                                  "CASE WHEN n % 3 > 0 THEN body ELSE key END", 'nullif(body, key)'])
        columns = [f'{self.id} AS id', f'{value} AS content']
        if not hasattr(self, 'scope'):
            self.scope = chance.choice(['', '', '', 'scope', 'n % 3', "'s' || scope"])
            self.rank = chance.choice(['', 'rank', '-n', 'length(body)']) if self.function == 'clusters' else ''
        columns += [f'{self.scope} AS scope'] if self.scope else []
        columns += [f'{self.rank} AS rank'] if self.rank else []
        rows = len(self.table.rows) * self.table.copies
        where = [chance.choice(['', '', '', f'n > {rows // 10}', 'body IS NOT NULL', 'length(body) > 10', 'n % 7 < 5',
                                'scope IS NOT NULL', 'rank > 1', 'n < 0', f'n BETWEEN {rows // 3} AND {rows // 2}'])]
        if chance.random() < 0.5:
            where.append(SEEN)
        conditions = ' AND '.join([condition for condition in where if condition] + ['{more}'])
        query = f'SELECT {", ".join(columns)} FROM input WHERE {conditions}'
        if chance.random() < 0.05:
            return ' UNION ALL '.join(query.replace('{more}', f'{{more}} AND n % 2 = {rest}') for rest in (0, 1))
        return query

    def make_arguments(self, large):
        chance = self.chance
        unit = chance.choice(['char', 'char', 'char', 'word'])
        size = chance.choice([2, 3, 5] if unit == 'word' else [5, 5, 5, 3, 7, 20])
        shingles = {'unit': unit, 'shingle_size': size, 'fold': chance.random() < 0.8}
        threshold = chance.choice([0.3, 0.5, 0.6, 2 / 3, 0.7, 0.8, 0.8, 0.9, 0.95, 1.0])
        if large:
            size, threshold = max(size, 5), max(threshold, 0.6)
        named = {'threshold': threshold}
        if not self.signed:
            named |= shingles
        if self.weighted:
            return named | {'weight': 'idf'}
        if not self.signed and chance.random() < 0.15:
            named['bag'] = True
        if self.function == 'contained':
            return named | {'recall': chance.choice([0.5, 0.95, 0.999, 1.0])}
        if self.function == 'evaluate':
            return named | {'anchors': chance.choice([10, 300, 2000])}
        if self.function == 'sample':
            return named
        if not self.signed:
            named['method'] = chance.choice(['fss', 'fss', 'classic'])
            named['seed'] = chance.randrange(100)
        if not self.signed and chance.random() < 0.3:
            named['num_hashes'] = chance.choice([8, 37, 64, 200, 512])
        how = chance.random()
        if how < 0.3:
            named['recall'] = chance.choice([0.5, 0.9, 0.99, 0.999] + ([] if large else [1.0]))
        elif how < 0.5:
            hashes = self.table.hashes if self.signed else named.get('num_hashes', 128)
            if not self.signed:
                named['num_hashes'] = hashes
            rows = chance.randint(3 if large else 1, 6)
            named |= {'rows': rows, 'bands': chance.randint(1, max(1, hashes // rows))}
        if chance.random() < 0.3 or self.signed:
            named['verify'] = 'estimate'
        if chance.random() < 0.1:
            named['max_bucket'] = chance.choice([2, 20, 1000])
        if self.function == 'clusters':
            named |= {'near_representative': chance.random() < 0.4, 'singletons': chance.random() < 0.4}
        return named

    def old(self, query):
        """The query in a form that only one process reads."""
        more = {'volatile': 'random() >= 0', 'subquery': 'n IS DISTINCT FROM (SELECT -1 - count(*)::int FROM pg_am)',
                'unsafe': 'unsafe(n)'}.get(self.old_form, 'true')
        query = query.replace('{more}', more)
        return {'limit': f'{query} LIMIT 1000000000',
                'cte': f'WITH x AS MATERIALIZED ({query}) TABLE x'}.get(self.old_form, query)

    def call(self, database, old):
        literal = lambda value: sql.Literal(value).as_string(database)
        ways = [self.old(query) if old else query.replace('{more}', 'true') for query in self.queries]
        arguments = [literal(ways[0])] + ([self.type] if self.type else [])
        named = self.arguments | ({'other_query': ways[1]} if len(ways) > 1 else {})
        arguments += [f'{name} => {literal(value)}' for name, value in named.items()]
        columns = 'c::text'
        if self.function == 'sample':
            columns = 'row(row_count, pairs, pairs_low, pairs_high, near_share, near_share_low, near_share_high)::text'
        return f'(SELECT {columns} AS line FROM lsh_{self.function}({", ".join(arguments)}) c)'


class Oracle:
    def __init__(self, database):
        self.database = database
        self.counts = collections.Counter()
        self.findings = []
        self.started = self.seen = 0
        database.add_notice_handler(self.hear)
        database.execute(PREPARATION.format(session=database.info.backend_pid))

    def hear(self, notice):
        if started := re.match('([0-9]+) of [0-9]+ workers started', notice.message_primary):
            self.started += int(started[1])
        self.seen += notice.message_primary == 'seen by a worker'

    def use(self, settings):
        for name, value in settings.items():
            if name == 'force_parallel_mode' and self.database.info.server_version >= 160000:
                name = 'debug_parallel_query'
            self.database.execute(f"SET {name} = '{value}'")

    def answer(self, given, old, workers):
        """What a call returns: the number of its rows, a hash of them in their order, and one in any order."""
        self.counts['calls'] += 1
        gather = given.chance.choice([0, 0, 2]) if workers and not old else 0
        self.use({'max_parallel_maintenance_workers': workers, 'max_parallel_workers_per_gather': gather,
                  'force_parallel_mode': 'regress' if workers else 'off',
                  'client_min_messages': 'debug1' if workers else 'warning'})
        try:
            return self.database.execute(
                'SELECT count(*), md5(string_agg(line, chr(10))), sum(hashtextextended(line, 0)::numeric)'
                f' FROM {given.call(self.database, old)} x').fetchone()
        except psycopg.Error as error:
            if self.database.broken:
                raise
            return error.sqlstate, error.diag.message_primary, error.diag.message_detail

    def find(self, given, what):
        self.findings.append(f'{given.seed}: {what}; {given.settings} reader={given.reader} changed={given.changed}'
                             f' {given.call(self.database, False)} {given.old_form}')
        print(self.findings[-1], flush=True)

    def compare(self, given):
        self.use({'statement_timeout': PATIENCE})
        first = self.answer(given, False, 0)
        self.use({'statement_timeout': 0})
        if first[0] == '57014':
            self.counts['given up'] += 1
            return
        self.seen = self.started = 0
        shared = self.answer(given, False, given.workers)
        self.counts['workers'] += self.started
        self.counts['calls in which workers read'] += self.seen > 0
        self.counts['rows that workers say they read'] += self.seen * 8
        self.seen = 0
        workers = given.chance.choice([0, given.workers])
        old = self.answer(given, True, workers)
        if self.seen:
            self.find(given, f'{self.seen * 8} rows are read by workers in a query that one process must read')
        for answer, how in (shared, f'{given.workers} workers'), (old, f'the old way and {workers} workers'):
            if answer != first:
                same = 'other rows' if answer[2:] != first[2:] else 'the same rows in another order'
                self.find(given, f'{how} return {same}: {answer} instead of {first}')
        self.counts['errors' if isinstance(first[0], str) else 'rows'] += 1 if isinstance(first[0], str) else first[0]
        self.counts['empty answers'] += first[0] == 0
        self.counts[f'of {given.function}'] += 1
        self.counts['configurations'] += 1

    def ask(self, given):
        self.use(STEADY | given.settings)
        run = self.database.execute
        if not given.changed:
            run('SET ROLE oracle_reader' if given.reader else 'RESET ROLE')
            self.compare(given)
            run('RESET ROLE')
            return
        # The transaction itself has written and removed rows. After an error it could not go on.
        run(f'BEGIN ISOLATION LEVEL {given.isolation}')
        run('DELETE FROM input WHERE n % 13 = 4')
        run('SAVEPOINT changed')
        run("INSERT INTO input (n, body, key) SELECT n + 100000, body, 'new ' || n FROM input WHERE n % 6 = 0")
        run("UPDATE input SET rank = 7, body = body || '!' WHERE n % 10 = 3")
        if given.chance.random() < 0.3:
            run('ROLLBACK TO changed')
        if given.reader:
            run('SET LOCAL ROLE oracle_reader')
        answer = self.answer
        def in_savepoint(*how):
            run('SAVEPOINT call')
            result = answer(*how)
            run('ROLLBACK TO call' if isinstance(result[0], str) else 'RELEASE call')
            return result
        self.answer = in_savepoint
        try:
            self.compare(given)
        finally:
            self.answer = answer
        run('ROLLBACK')


def main(first=1, count=200):
    table = made = None
    with psycopg.connect(autocommit=True) as database:
        oracle = Oracle(database)
        for seed in range(int(first), int(first) + int(count)):
            if seed // CALLS_OF_TABLE != made:
                made = seed // CALLS_OF_TABLE
                table = Table(made)
                oracle.use(STEADY)
                table.make(database)
            try:
                oracle.ask(Configuration(seed, table))
            except psycopg.errors.QueryCanceled:  # the machine stood still between two calls
                oracle.counts['given up'] += 1
                while database.info.transaction_status:
                    with contextlib.suppress(psycopg.errors.QueryCanceled):
                        database.execute('ROLLBACK')
        print(f'seeds {first} to {seed}: ' + ', '.join(f'{number} {what}' for what, number in oracle.counts.items())
              + f'; {len(oracle.findings)} findings')
    with open(os.environ.get('COUNTS') or os.devnull, 'a') as file: # test/check.sh reads it
        print(f'passed {oracle.counts["configurations"]}', f'failed {len(oracle.findings)}',
              *(f'FAILED {finding}' for finding in oracle.findings), sep='\n', file=file)
    return len(oracle.findings) > 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
