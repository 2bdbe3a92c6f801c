"""minhash_lsh: nearest sets by Jaccard similarity in PostgreSQL, ORDER BY signature <%> signature LIMIT n.

The server signs the sets, and an lsh index returns the rows in the order of estimated distance. With rerank, that many
times n rows are fetched, and the n nearest by exact Jaccard similarity are returned.

The Dockerfile makes a server with a database and a role "ann". Elsewhere, ANN_BENCHMARKS_PG_START_SERVICE=false and
libpq's own variables (PGHOST, PGUSER, PGDATABASE) lead to a server that runs already.
"""
import os
import subprocess

import numpy
import psycopg

from ..base.module import BaseANN


class MinHashLSH(BaseANN):
    def __init__(self, metric, num_hashes):
        if metric != "jaccard":
            raise NotImplementedError(f"minhash_lsh has no metric {metric}")
        self._num_hashes = num_hashes
        self.set_query_arguments(1, -1)

    def fit(self, X):
        if os.environ.get("ANN_BENCHMARKS_PG_START_SERVICE", "true") == "true":
            subprocess.run(["service", "postgresql", "start"], check=True)
            self._connection = psycopg.connect("user=ann password=ann dbname=ann host=localhost", autocommit=True)
        else:
            self._connection = psycopg.connect(autocommit=True)
        cursor = self._connection.cursor()
        cursor.execute("CREATE EXTENSION IF NOT EXISTS minhash_lsh")
        cursor.execute("DROP TABLE IF EXISTS items")
        cursor.execute(f"""CREATE TABLE items (id int, elements int[], sig minhash_signature
            GENERATED ALWAYS AS (minhash_elements(elements, num_hashes => {self._num_hashes})) STORED)""")
        # Out of line, as signatures of 500 hashes and more else are, they look cheap to the planner, which then reads them all.
        cursor.execute("ALTER TABLE items ALTER sig SET STORAGE PLAIN")
        with cursor.copy("COPY items (id, elements) FROM STDIN") as copy:
            for row, elements in enumerate(X):
                copy.write_row((row, self._elements(elements)))
        cursor.execute("CREATE INDEX items_sig ON items USING lsh (sig)")
        cursor.execute("VACUUM ANALYZE items")
        self._cursor = cursor

    def set_query_arguments(self, rerank, ordered_scan_limit):
        """rerank: how many times n rows are compared exactly, 1 for none. ordered_scan_limit: about how many rows the
        index compares, -1 for as many as it needs."""
        self._rerank = rerank
        self._limit = ordered_scan_limit
        self._configured = False

    def query(self, v, n):
        if not self._configured:
            self._cursor.execute(f"SET minhash_lsh.ordered_scan_limit = {self._limit}")
            self._configured = True
        # The planner must know LIMIT: with a parameter it expects a tenth of the table.
        nearest = f"""FROM items ORDER BY sig <%%> minhash_elements(%(set)s::int[], num_hashes => {self._num_hashes})
            LIMIT {n * self._rerank}"""
        query = f"SELECT id {nearest}"
        if self._rerank > 1:
            query = f"""SELECT id FROM (SELECT id, elements {nearest}) AS fetched
                ORDER BY element_jaccard(elements, %(set)s::int[]) DESC LIMIT {n}"""
        self._cursor.execute(query, {"set": self._elements(v)}, prepare=True)
        return [row for row, in self._cursor.fetchall()]

    def batch_query(self, X, n):
        self.res = [self.query(v, n) for v in X]  # one connection answers one query at a time

    def get_memory_usage(self):
        self._cursor.execute("SELECT pg_relation_size('items_sig')")
        return self._cursor.fetchone()[0] / 1024

    def __str__(self):
        return f"minhash_lsh(num_hashes={self._num_hashes}, rerank={self._rerank}, ordered_scan_limit={self._limit})"

    @staticmethod
    def _elements(v):
        return numpy.flatnonzero(v).tolist() if v.dtype == numpy.bool_ else v.tolist()
