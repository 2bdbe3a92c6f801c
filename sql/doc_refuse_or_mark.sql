-- The SQL of doc/refuse-or-mark.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river.'),
    (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (5, '');

SELECT lsh_create_band_table('articles', threshold => 0.8, text_column => 'body');  -- adds the column sig
SELECT lsh_create_guard('articles', threshold => 0.8);
INSERT INTO articles VALUES (6, 'Colourless green ideas sleep furiously, or so the linguist says.');

DO $$
DECLARE
    constraint_name text;
    detail text;
    found text[];
BEGIN
    INSERT INTO articles VALUES (6, 'Colourless green ideas sleep furiously, or so the linguist says.');
EXCEPTION WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS constraint_name = CONSTRAINT_NAME, detail = PG_EXCEPTION_DETAIL;
    found := regexp_match(detail, '^Row (.*) has similarity (.*) to row (.*); the threshold is (.*)\.$');
    RAISE NOTICE '% says that % is near %, similarity %', constraint_name, found[1], found[3], found[2];
END $$;

CREATE TABLE messages (id bigint PRIMARY KEY, customer int, body text);
SELECT lsh_create_band_table('messages', text_column => 'body', scope_column => 'customer');
SELECT lsh_create_guard('messages', threshold => 0.8);
INSERT INTO messages VALUES (1, 7, 'The printer on the second floor does not print.'),
                            (2, 8, 'The printer on the second floor does not print.');
INSERT INTO messages VALUES (3, 8, 'The printer on the second floor does not print!');

SELECT lsh_drop_guard('articles');
ALTER TABLE articles ADD COLUMN copy_of bigint;
SELECT lsh_create_guard('articles', threshold => 0.8, mark => 'copy_of');
INSERT INTO articles VALUES (6, 'Colourless green ideas sleep furiously, or so the linguist says.'),
                            (7, 'Nothing like it has been seen before.');
SELECT id, copy_of FROM articles WHERE id > 5 ORDER BY id;

CREATE TABLE tickets (id bigint PRIMARY KEY, customer int, body text,
    EXCLUDE USING lsh (customer WITH =, minhash(body) WITH %, id WITH <>) WITH (threshold = 0.8));
INSERT INTO tickets VALUES (1, 7, 'The printer on the second floor does not print.');
INSERT INTO tickets VALUES (2, 7, 'The printer on the second floor does not print!') ON CONFLICT DO NOTHING;
INSERT INTO tickets VALUES (3, 7, 'The printer on the second floor does not print?');

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
