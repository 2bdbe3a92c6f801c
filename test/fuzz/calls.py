#!/usr/bin/python3
"""Calls every function, aggregate and operator of the extension with random arguments, many of them hostile.

    calls.py [SECONDS [SEED]]     for a minute unless told otherwise, with a new seed, which is printed

test/tools/sanitized.sh runs it on a server with the sanitized extension; test/tools/with_server.sh, on any other. It
reads from the catalogue what there is to call, so a new function is called without a change here; an argument of a new
type is NULL until VALUES has some for it. The same seed gives the same calls on the same extension, as far as they get
in the time. A call may fail with an error, but not with an internal one, and it must not end the server, as a report
of a sanitizer does. Each finding is a line, followed by the statement. Needs psycopg 3.
"""
import collections
import random
import sys
import time

import psycopg
from psycopg.sql import quote

SESSION = """
    SET client_min_messages = error; SET statement_timeout = '5s'; SET work_mem = '4MB';
    SET maintenance_work_mem = '8MB'; SET max_stack_depth = '1MB'; SET temp_file_limit = '200MB';
    SET minhash_lsh.progress_interval = 1"""

# Settings that lead through other code; one of them is changed now and then.
SETTINGS = {
    'maintenance_work_mem': ['1MB', '8MB'], 'work_mem': ['64kB', '4MB'], 'effective_cache_size': ['8kB', '1GB'],
    'max_parallel_maintenance_workers': ['0', '2'], 'enable_seqscan': ['on', 'off'], 'enable_indexscan': ['on', 'off'],
    'enable_bitmapscan': ['on', 'off'], 'minhash_lsh.similarity_threshold': ['0', '0.3', '0.8', '1'],
    'minhash_lsh.instruction_set': ['baseline', 'auto']}

SETUP = """
CREATE EXTENSION minhash_lsh;
-- A cast, used as if a value had the type, that returns NULL.
CREATE TYPE nothing AS (a int);
CREATE FUNCTION no_text(nothing) RETURNS text LANGUAGE sql AS 'SELECT NULL::text';
CREATE FUNCTION no_bigint(nothing) RETURNS bigint LANGUAGE sql AS 'SELECT NULL::bigint';
CREATE FUNCTION no_signature(nothing) RETURNS minhash_signature LANGUAGE sql AS 'SELECT NULL::minhash_signature';
CREATE CAST (nothing AS text) WITH FUNCTION no_text(nothing) AS IMPLICIT;
CREATE CAST (nothing AS bigint) WITH FUNCTION no_bigint(nothing) AS IMPLICIT;
CREATE CAST (nothing AS minhash_signature) WITH FUNCTION no_signature(nothing) AS IMPLICIT;
CREATE DOMAIN short_text AS text CHECK (length(value) < 30);
CREATE DOMAIN signature AS minhash_signature;
CREATE TYPE "f%1$s" AS ENUM ('x', 'y');

-- Pairs and triples of near texts; whole signatures, and those short enough for a header of one byte.
CREATE TABLE docs (id bigint PRIMARY KEY, lang text, n int, body text, sig minhash_signature, short minhash_signature,
    tiny minhash_signature, mark int);
INSERT INTO docs
    SELECT i, nullif('l' || i % 3, 'l2'), nullif(i % 7, 0), body, minhash(body), minhash(body, 16),
        minhash_compress(minhash(body, 32), 1)
    FROM (SELECT i, CASE i % 50 WHEN 49 THEN '' WHEN 48 THEN NULL ELSE 'a text about number ' || i / 3 || ', and '
            || repeat('on ', i % 2) || 'other things' END AS body FROM generate_series(1, 200) i) t;
CREATE TABLE many (id text PRIMARY KEY, body text, short minhash_signature);
INSERT INTO many SELECT 'm' || i, repeat(md5((i / 2)::text), 3), minhash(md5((i / 2)::text), 27)
    FROM generate_series(1, 1500) i;
CREATE TABLE keyless (body text, sig minhash_signature);
CREATE TABLE refusing (id int, n int, sig minhash_signature,
    EXCLUDE USING lsh (sig WITH %, n WITH =) WITH (threshold = 0.9));
CREATE TABLE parts (id bigint, sig minhash_signature) PARTITION BY HASH (id);
CREATE TABLE part_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT id, sig FROM docs;
CREATE INDEX docs_sig ON docs USING lsh (sig);
CREATE INDEX docs_scope ON docs USING lsh (sig, lang, n);
CREATE INDEX docs_body ON docs USING lsh (minhash(body));
CREATE INDEX docs_short ON docs USING lsh (short, lang);
CREATE INDEX parts_sig ON parts USING lsh (sig);
CREATE INDEX many_gin ON many USING gin (short gin_minhash_ops);
CREATE VIEW docs_view AS SELECT id, body, short FROM docs;
SELECT lsh_create_band_table('docs', signature_column => 'sig');
SELECT lsh_create_clusters('kept', 'SELECT id, body FROM docs');
SELECT lsh_create_clusters('kept_short', 'SELECT id, short, lang AS scope FROM docs', num_hashes => NULL);
CREATE TABLE blocks AS SELECT b.* FROM _lsh_scatter('SELECT id, lsh_band_keys(sig, 13, 7) FROM docs', 0, 4) AS b;
ANALYZE
"""

EVERYTHING = """
    SELECT quote_ident(o.proname), o.prokind, o.proretset, o.pronargdefaults,
        ARRAY(SELECT format_type(t, NULL) FROM unnest(o.proargtypes) WITH ORDINALITY u (t, i) ORDER BY i),
        coalesce(o.proargnames[:o.pronargs], array_fill(''::text, ARRAY[o.pronargs])),
        (SELECT count(*) FROM unnest(o.proargmodes) m WHERE m IN ('o', 'b', 't')) = 0
            AND 'record'::regtype = o.prorettype
    FROM pg_proc o JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = o.oid AND d.deptype = 'e'
        JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'minhash_lsh'
    WHERE NOT 'internal'::regtype = ANY (o.proargtypes) ORDER BY o.oid::regprocedure::text"""
OPERATORS = """
    SELECT o.oprname, o.oprleft::regtype::text, o.oprright::regtype::text
    FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e'
        JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'minhash_lsh' ORDER BY o.oid::regoperator::text"""

# Queries for the bulk functions: good ones, and others.
QUERIES = [
    'SELECT id, body FROM docs', 'SELECT id, sig FROM docs', 'SELECT id, short FROM docs', 'SELECT id, tiny FROM docs',
    'SELECT id, short, lang AS scope FROM docs', 'SELECT id, body, n AS rank, lang AS scope FROM docs',
    'SELECT id, short FROM docs_view', 'SELECT id, sig FROM parts', 'SELECT id, short FROM part_1',
    "SELECT id, short FROM docs WHERE lang = 'l1' ORDER BY id DESC LIMIT 9",
    'WITH x AS (TABLE docs) SELECT id, short FROM x',
    'SELECT id, short FROM docs TABLESAMPLE BERNOULLI (50)', 'SELECT n, short FROM docs WHERE n IS NOT NULL',
    'SELECT id, short FROM docs ORDER BY short <%> (SELECT short FROM docs LIMIT 1)',
    'SELECT substr(id, 2)::bigint AS id, body FROM many ORDER BY md5(body)',
    'SELECT id, short FROM many', 'SELECT id::text, body FROM docs',
    "SELECT left_id, right_id, similarity FROM lsh_pairs('SELECT id, short FROM docs')"]
ODD_QUERIES = [
    'SELECT NULL, body FROM docs', 'SELECT id, NULL::text FROM docs', 'docs', 'keyless',
    'TABLE docs', 'SELECT * FROM keyless', 'SELECT id::numeric, short FROM docs', 'SELECT ROW(id, n), short FROM docs',
    'SELECT id, body::short_text FROM docs', 'SELECT id, sig::signature FROM docs',
    'SELECT id, ROW(1)::nothing FROM docs',
    "SELECT 'x'::\"f%1$s\", body FROM docs", 'SELECT id, short FROM docs UNION ALL SELECT id, sig FROM docs',
    'SELECT id, body, point(1, 2) AS scope FROM docs', 'SELECT id, body, ROW(1, lang) AS scope FROM docs',
    'SELECT id, body, sig AS rank FROM docs', '', ';', 'SELECT', 'SELECT 1', 'SELECT 1; SELECT 2', "SELECT 1/0, 'x'",
    'DELETE FROM docs', 'COPY docs TO STDOUT', 'EXPLAIN SELECT 1', 'SELECT id, body FROM docs FOR UPDATE',
    'SELECT id, id + 1 FROM docs', "SELECT id, id + 1, 'NaN'::float8 FROM docs",
    'SELECT id, ARRAY[1, NULL]::bigint[] FROM docs', 'SELECT id, ARRAY[[id, -id], [7, 8]] FROM docs',
    "SELECT decode(md5(id::text), 'hex') FROM docs", "SELECT id, body || repeat(' y', 50000) FROM docs WHERE id < 6"]
INTEGERS = [0, 1, -1, 2, 3, 5, 13, 16, 17, 27, 28, 64, 128, 255, 256, 4096, 4097, 65536, 2**31 - 1, -2**31]

# SQL expressions by the name of an argument (of one function, or of any) or, if that is not here, by its type: usual
# values, and hostile ones. {minhash_signature} and {double precision} stand for other values.
VALUES = {
    'unit': (["'char'", "'word'"], ["'element'", "''"]), 'method': (["'fss'", "'classic'"], ["'external'", "'FSS'"]),
    'verify': (["'exact'", "'estimate'"], ["'none'"]), 'rule': (["'recall'", "'area'"], ["''"]),
    'num_hashes': (['16', '27', '64', '128'], ['0', '4096', '4097', 'NULL']), 'bits': (['1', '8', '16'], ['0', '33']),
    'bands': (['4', '8', '13'], ['0', '1', '4096']), 'rows': (['1', '2', '4'], ['0', '16', '257']),
    'shingle_size': (['1', '3', '5'], ['0', '255', '256']), 'max_bucket': (['2', '50', '1000000'], ['0', '1']),
    'recall': (["'0.5'", "'0.95'"], ["'1'", "'NaN'"]), 'seed': (['0', '42'], ['-1', '(-9223372036854775808)']),
    'threshold': (["'0.3'", "'0.5'", "'0.8'", "'1'"], ["'0'", "'2'", "'NaN'"]),
    'query': ([quote(query) for query in QUERIES], [quote(query) for query in ODD_QUERIES]),
    'source': (["'docs'", "'many'"], ["'parts'", "'keyless'", "''"]),
    'band_table': (["'docs_bands'"], ["'b'", "'docs'"]),
    'id_column': (["'id'"], ["'n'", "'missing'"]), 'signature_column': (["'short'", "'sig'"], ["'body'"]),
    'clusters': (["'kept'", "'fresh'"], ["'kept_short'", "'a.b.c'", "'docs'", "'\"Q q\"'", "''"]),
    'index': ([f"'{index}'" for index in ('docs_sig', 'docs_scope', 'docs_short', 'docs_body')],
              ["'parts_sig'", "'docs_pkey'", "'many_gin'", "'docs'"]),
    'options': (["'MaxWords=3, MinWords=1'"],
                ["''", "'MaxFragments=2147483647, MaxWords=2147483647'", "'StartSel=<b>'"]),
    'columns': (["'{id,body}'", "'{id,short}'"], ["'{}'", "'{id,NULL}'", "'{{id},{body}}'", "'{missing,n}'"]),
    'text': (["'abcd'", '(SELECT body FROM docs WHERE id = 7)', "repeat('ab ', 1000)", "'a text about number 7'"],
             ["''", "' '", "'a'", "repeat(E'\\t\\n ', 3000)", "chr(1114109) || 'x'", "repeat(chr(65533), 300)",
              "repeat('q', 70000)", "E'\\u0130\\u0131\\u1e9e\\ufb03'", "'%s%1$s%n'", 'ROW(1)::nothing',
              "(SELECT string_agg(body, ' ') FROM many)"]),
    'integer': (['1', '2', '4', '16', '128'], [f'({i})' for i in INTEGERS]),
    'smallint': (['1', '2'], ['0', '(-1)', '32767', '(-32768)']),
    'bigint': (['0', '42'], [f'({i})' for i in (*INTEGERS, 2**32, 2**63 - 1, -2**63)] + ['ROW(1)::nothing']),
    'double precision': (["'0.5'", "'0.8'", "'0.95'"],
                         ["'0'", "'-0'", "'1'", "'NaN'", "'Infinity'", "'-Infinity'", "'1e-320'",
                          "'0.9999999999999999'", "'1.0000000000000002'", "'1e308'"]),
    'boolean': (['true', 'false'], ['NULL']),
    'name': (["'id'", "'sig'", "'short'"], ["'body'", "'ctid'", "'missing'", "''", "repeat('n', 70)"]),
    'regclass': (["'docs'", "'kept'", "'docs_bands'", "'docs_sig'"],
                 [f"'{table}'" for table in ('kept_short', 'parts', 'part_0', 'refusing', 'docs_view', 'docs_pkey',
                                             'pg_class', 'many_gin', 'keyless')] + ['0', '4294967295']),
    'regtype': (["'bigint'"], ["'text'", "'uuid'", "'record'", "'anyarray'", "'nothing'", "'cstring'", '0',
                                 '4294967295']),
    'regprocedure[]': (["'{}'"], ["'{0,NULL}'", "ARRAY['no_text(nothing)'::regprocedure]"]),
    '_lsh_column': (["'id'", "'body'"], ["''"]), 'oid': (['0'], ['25', '4294967295']),
    'uuid': ([], ["'ffffffff-ffff-ffff-ffff-ffffffffffff'"]),
    'bytea': (['_minhash_signature_send({minhash_signature})'],
              ["'\\x'", "'\\x00'", "decode(repeat('ff', 5000), 'hex')"]),
    'jsonb': (['\'{"threshold": 0.5, "bands": 3, "rows": 2}\''], ["'{}'", "'[1, null]'", '\'{"threshold": "x"}\'']),
    'tsvector': (["'a:1,2,3,4A b:16383'"], ["''", "to_tsvector('simple', repeat('foo bar ', 300))"]),
    'minhash_query': (['_minhash_query({minhash_signature}, {double precision})'], []),
    'minhash_abridged': (['{minhash_signature}'], []),
    'anyelement': (['NULL::text'], [f'NULL::{kind}' for kind in (
        'bigint', 'int', 'uuid', 'point', 'record', 'int[]', 'name', '"char"', 'json', 'numeric', 'docs', 'nothing',
        'short_text', 'float8', 'minhash_signature', '"f%1$s"', 'cstring')] + ["'x'", '7', 'ROW(1, 2)', 'NULL']),
    'anyarray': (["'{a,b,c}'::text[]", "'{c,b,NULL}'::text[]"],
                 ["'{{1,2},{3,4}}'::int[]", "'[-3:-1]={1,NULL,1}'::bigint[]", "'{}'::uuid[]", "'{a,b,a}'::name[]",
                  'ARRAY[ROW(1, NULL)]', 'ARRAY[point(1, 2)]', "ARRAY['{}'::json]", "'{NaN,1,1.0,NULL}'::numeric[]",
                  '(SELECT array_agg(d) FROM docs d)', 'ARRAY[ROW(1)::nothing, NULL]',
                  '(SELECT array_agg(short) FROM docs)',
                  '(SELECT array_agg(i) FROM generate_series(1, 30000) i)'])}
VALUES['other_query'] = VALUES['query']
VALUES['lsh_components.query'] = ([quote(f'SELECT left_id, right_id, similarity FROM lsh_pairs({quote(query)})')
                                   for query in QUERIES[1:4]] + ["'SELECT id, id + 1 FROM docs'"], VALUES['query'][1])
VALUES['_lsh_scatter.query'] = (["'SELECT id, lsh_band_keys(short, 4, 2) FROM docs'"], VALUES['query'][1])
VALUES['_lsh_gather.query'] = (["'SELECT block FROM blocks'", "'SELECT block FROM blocks WHERE part = 1'"],
                               VALUES['query'][1])
VALUES['anycompatiblearray'] = VALUES['anyarray']

PLACES = {
    'f': ['SELECT {}', 'SELECT ({})::text', 'SELECT x, count(*) FROM (SELECT {} AS x OFFSET 0) s GROUP BY x',
          'SELECT * FROM generate_series(1, 2) i, LATERAL (SELECT {} OFFSET i - i) s',
          'SELECT count(*) FROM docs WHERE ({}) IS NOT NULL'],
    'a': ['SELECT {} FROM generate_series(1, 3)', 'SELECT i % 2, {} FROM generate_series(1, 7) i GROUP BY 1',
          'SELECT {} FROM generate_series(1, 0)', 'SELECT {} OVER (ORDER BY i) FROM generate_series(1, 5) i',
          'SELECT {} FILTER (WHERE i > 2) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM'
          ' generate_series(1, 5) i'],
    'rows': ['SELECT * FROM {} LIMIT 3', 'SELECT count(*) FROM {} x', 'SELECT {}',
             'SELECT x.* FROM generate_series(1, 2) i, LATERAL {} x'],
    'record': ['SELECT * FROM {} AS x (a bigint, b bigint, c float8)',
               'SELECT * FROM {} AS x (a text, b text, c float8)',
               'SELECT * FROM {} AS x (a bigint, b bigint, c bigint, d bigint, e float8, f bigint)',
               'SELECT * FROM {} AS x (a text, b text, c text, d bigint, e float8, f text)',
               'SELECT * FROM {} AS x (a record, b record, c float8)', 'SELECT * FROM {} AS x (a bigint)']}
# The functions with most code are called more often.
OFTEN = {'lsh_pairs', 'lsh_clusters', 'lsh_contained', 'lsh_sample', 'lsh_evaluate', 'lsh_check', 'shingle_headline'}


class Calls:
    """Makes random statements."""

    def __init__(self, seed, functions, operators):
        self.chance = random.Random(seed)
        self.functions = functions
        self.weights = [4 if function[0] in OFTEN else 1 for function in functions]
        self.operators = operators
        self.wild = 0  # the share of hostile values; with many arguments, a call gets far if few of them are hostile

    def signature_text(self):
        """The text of a signature that a mistake or an enemy may have written."""
        chance = self.chance
        hashes, bits = chance.choice([16, 17, 27, 28, 64, 128, 4095, 4096]), chance.choice([1, 2, 8, 16, 32, 33])
        digits = (hashes * bits + 7) // 8 * 2
        slots = chance.choice(['0' * digits, 'f' * digits, f'{chance.getrandbits(4 * digits):0{digits}x}'])
        whole = (f'{chance.choice(["fss", "classic", "external"])}1:{hashes}x{bits}:'
                 f'{chance.choice(["char", "word", "element"])}{chance.choice([0, 1, 5, 255])}:'
                 f'{chance.choice(["fold", "raw"])}:{chance.choice(["set", "bag"])}:'
                 f'{chance.choice([0, 42, -2**63, 2**63 - 1])}:{slots}')
        kind = chance.random()
        if kind < 0.7:
            return whole
        if kind < 0.85:
            return whole[:chance.randrange(len(whole))]
        place = chance.randrange(50)
        return whole[:place] + chr(chance.randrange(33, 0x250)) + whole[place + 1:]

    def signature(self):
        chance = self.chance
        if chance.random() > self.wild:
            column = chance.choice(['sig', 'sig', 'short', 'tiny'])
            return f'(SELECT {column} FROM docs WHERE id = {chance.randrange(1, 40)})'
        return chance.choice([
            f'minhash({self.value("text")}, {self.value("integer", "num_hashes")})',
            f'minhash_compress(minhash({self.value("text")}), {self.value("integer", "bits")})',
            quote(self.signature_text()) + '::minhash_signature', 'ROW(1)::nothing'])

    def value(self, kind, name=''):
        """An SQL expression for an argument of this type and name."""
        chance = self.chance
        polymorphic = kind.strip('"').startswith('any')
        if chance.random() < self.wild / 4:
            return 'NULL' if polymorphic else f'NULL::{kind}'
        if kind in ('minhash_signature', 'signature'):
            return self.signature()
        if kind == 'cstring':
            return quote(self.signature_text()) + '::cstring'
        if kind == 'anycompatible' and chance.random() > self.wild:
            return self.value(chance.choice(['integer', 'integer[]']), name)
        if kind in ('anycompatible', '"any"'):
            return self.value(chance.choice(['text', 'integer', 'anyarray', 'bigint', 'jsonb']))
        lists = VALUES.get(name) if chance.random() > self.wild / 4 else None
        lists = lists or VALUES.get(kind)
        if lists is None:
            if not kind.endswith('[]'):
                return f'NULL::{kind}'
            element = kind[:-2]
            if chance.random() < self.wild:
                return chance.choice([f"'{{}}'::{kind}",
                                      f'array_fill({self.value(element)}, ARRAY[3, 2], ARRAY[-5, 7])'])
            members = ', '.join(self.value(element) for _ in range(chance.randrange(1, 25)))
            return f'ARRAY[{members}]::{kind}'
        usual, hostile = lists
        value = chance.choice((usual if chance.random() > self.wild else hostile) or usual or hostile)
        for other in ('minhash_signature', 'double precision'):
            if f'{{{other}}}' in value:
                value = value.replace(f'{{{other}}}', self.value(other))
        return value if polymorphic else f'({value})::{kind}'

    def call(self):
        """The name of a function, and a statement that calls it."""
        chance = self.chance
        name, kind, returns_rows, defaults, types, names, is_record = chance.choices(self.functions, self.weights)[0]
        needed = len(types) - defaults
        special = [f'{name}.{argument}' for argument in names]
        known = [special[i] if special[i] in VALUES else names[i] for i in range(len(names))]
        arguments = [self.value(types[i], known[i]) for i in range(needed)]
        if needed > 6 and chance.random() < 0.9:  # the functions below lsh_pairs() take NULL as "not given"
            arguments[4:] = [value if types[i] == 'boolean' or chance.random() < 0.1 else f'NULL::{types[i]}'
                             for i, value in enumerate(arguments) if i >= 4]
        if all(names[needed:]) and chance.random() < 0.95:  # a few of the others, by name
            share = chance.choice([0, 0, 0.1, 0.3])
            arguments += [f'"{names[i]}" => {self.value(types[i], known[i])}'
                          for i in range(needed, len(types)) if chance.random() < share]
        else:
            arguments += [self.value(types[i], known[i]) for i in range(needed, needed + chance.randint(0, defaults))]
        place = 'record' if is_record and returns_rows else 'rows' if returns_rows else 'a' if kind == 'a' else 'f'
        return name, chance.choice(PLACES[place]).replace('{}', f'{name}({", ".join(arguments)})')

    def search(self):
        """A statement that searches in an index or writes to one."""
        chance = self.chance
        column = chance.choice(['sig', 'short'])
        where = chance.choice(['', " AND lang = 'l1'", ' AND n = ANY (\'{1,2,NULL}\')', ' AND lang IS NULL'])
        condition = chance.choice([f'{column} % {self.signature()}', f'{column} % {self.value("minhash_query")}',
                                   f'minhash_similar({column}, {self.signature()}, {self.value("double precision")})',
                                   'true'])
        order = chance.choice(['', f' ORDER BY {column} <%> {self.signature()}'])
        return 'searches', chance.choice([
            f'SELECT id FROM docs WHERE {condition}{where}{order} LIMIT {chance.choice([1, 7, 500])}',
            f'SELECT id FROM parts WHERE sig % {self.signature()} ORDER BY sig <%> {self.signature()}',
            f'SELECT count(*) FROM many WHERE short % {self.signature()}',
            f'INSERT INTO docs (id, sig, short) VALUES ({chance.randrange(10**15)}, {self.signature()},'
            f' {self.signature()}) ON CONFLICT DO NOTHING',
            f'INSERT INTO refusing VALUES (1, {chance.randrange(3)}, {self.signature()}) ON CONFLICT DO NOTHING'])

    def operation(self):
        name, left, right = self.chance.choice(self.operators)
        return 'operators', f'SELECT {self.value(left)} OPERATOR(public.{name}) {self.value(right)}'

    def statement(self):
        self.wild = self.chance.choice([0.01, 0.05, 0.15, 0.5])
        return self.chance.choices([self.call, self.search, self.operation], [85, 10, 5])[0]()


def connect():
    """A session, which the server may first have to recover for."""
    for _ in range(60):
        try:
            session = psycopg.connect(autocommit=True)
            session.execute(SESSION)
            return session
        except psycopg.OperationalError:
            time.sleep(1)
    sys.exit('the server does not come back')


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**9)
    print(f'seed {seed}', flush=True)
    session = connect()
    session.execute(SETUP)
    calls = Calls(seed, session.execute(EVERYTHING).fetchall(), session.execute(OPERATORS).fetchall())
    # The setting that forces parallel plans has had a new name since PostgreSQL 16.
    forced = 'force_parallel_mode' if session.info.server_version < 160000 else 'debug_parallel_query'
    SETTINGS[forced] = ['off', 'regress']
    tried, worked, states, found = collections.Counter(), collections.Counter(), collections.Counter(), set()
    end, crashes = time.monotonic() + seconds, 0
    while time.monotonic() < end and crashes < 5:
        if calls.chance.random() < 0.03:
            setting = calls.chance.choice(list(SETTINGS))
            session.execute(f"SET {setting} = '{calls.chance.choice(SETTINGS[setting])}'")
        name, statement = calls.statement()
        # What only reads or makes objects is undone. Rows that are inserted stay, so that indexes grow and merge.
        ending = 'COMMIT' if statement.startswith('INSERT') else 'ROLLBACK'
        tried[name] += 1
        try:
            session.execute('BEGIN')
            session.execute(statement)
            worked[name] += 1
            states['00000'] += 1
            finding = None
        except psycopg.Error as error:
            states[error.sqlstate or 'no answer'] += 1
            # XX001 says that a value is damaged: some are.
            is_inside = error.sqlstate in ('XX000', 'XX002')
            finding = f'{error.sqlstate} {str(error).splitlines()[0]}' if is_inside else None
            if session.closed:
                crashes += 1
                finding = 'the server crashed'
        if session.closed:
            session = connect()
        else:
            session.execute(ending if session.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
                            else 'ROLLBACK')
        if finding and (name, finding) not in found:
            found.add((name, finding))
            print(f'FINDING {name}: {finding}; seed {seed}, call {tried.total()}\n{statement[:5000]};', flush=True)
    total = tried.total()
    print(f'{total} calls of {len(calls.functions)} functions:',
          ', '.join(f'{count} {state}' for state, count in states.most_common(8)))
    never = sorted(function[0] for function in calls.functions if not worked[function[0]])
    print('without a result:', *sorted(set(never)))
    # Without answers, nothing was tried.
    if worked.total() < total / 5 or not tried:
        found.add(('', 'few calls have a result'))
        print('FINDING few calls have a result')
    sys.exit(1 if found else 0)


if __name__ == '__main__':
    main()
