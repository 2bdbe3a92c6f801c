-- The SQL of doc/operations.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL,
    sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED);
INSERT INTO articles SELECT n, 'Article ' || md5(n::text) FROM generate_series(1, 10000) n;
CREATE INDEX articles_sig ON articles USING lsh (sig);
SELECT records, runs, lost_pages, round(pg_relation_size('articles_sig') / records, -2) AS bytes_a_row
FROM lsh_check('articles_sig', heap => true);

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
