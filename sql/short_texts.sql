-- Notices about texts that are too short: lsh_pairs(), lsh_clusters() and lsh_sample() give them, once in each call.
CREATE TABLE names (id bigint PRIMARY KEY, name text);
INSERT INTO names VALUES (1, 'Jane Austen'), (2, 'Jane Austin'), (3, 'Charles Dickens'), (4, 'Charles Dickins'),
    (5, 'Mary Shelley'), (6, 'Mary Shelly'), (7, 'Lewis Carroll'), (8, 'Lewis Caroll'), (9, 'Bram Stoker'),
    (10, 'Bram Stocker');

-- Ten names in five pairs, with the defaults and as the notice advises.
SELECT left_id, right_id FROM lsh_pairs('SELECT id, name FROM names') ORDER BY 1;
SELECT left_id, right_id FROM lsh_pairs('SELECT id, name FROM names', shingle_size => 3, threshold => 0.5) ORDER BY 1;
SELECT count(*) FROM lsh_clusters('SELECT id, name FROM names');
SELECT pairs, median_shingles FROM lsh_sample('SELECT id, name FROM names');
SELECT count(*) FROM lsh_pairs('SELECT id, name FROM names', other_query => 'SELECT id, name FROM names');
SELECT count(*) FROM lsh_pairs('SELECT id::text, name FROM names', NULL::text, verify => 'estimate');

-- A size of four does not do what the notice advises. Up to three characters, and of words, nothing is said.
SELECT count(*) FROM lsh_pairs('SELECT id, name FROM names', shingle_size => 4);
SELECT count(*) FROM lsh_pairs('SELECT id, name FROM names', shingle_size => 2);
SELECT count(*) FROM lsh_pairs('SELECT id, name FROM names', shingle_size => 1, unit => 'word');
SELECT pairs, median_shingles FROM lsh_sample('SELECT id, name FROM names', shingle_size => 1, unit => 'word');
-- Nor of weighted shingles, of signatures and sets, of a single text, and where no near-duplicates are sought.
SELECT count(*) FROM lsh_pairs('SELECT id, name FROM names', weight => 'idf');
SELECT count(*) FROM lsh_pairs('SELECT id, minhash(name) FROM names');
SELECT count(*) FROM lsh_pairs('SELECT id, minhash_elements(ARRAY[name]) FROM names');
SELECT count(*) FROM lsh_pairs('SELECT id, name FROM names WHERE id = 1');
SELECT count(*) FROM lsh_contained('SELECT id, name FROM names');

-- Half of the texts: if four of nine are short, nothing is said; if five are, a notice is given. Thirty shingles are
-- not few.
CREATE VIEW lengths AS SELECT i AS id, substr(repeat(md5(i::text), 20), 1, 33) AS short, repeat(md5(i::text), 3) AS long
FROM generate_series(1, 9) AS i;
SELECT count(*) FROM lsh_pairs('SELECT id, CASE WHEN id > 4 THEN long ELSE short END FROM lengths');
SELECT count(*) FROM lsh_pairs('SELECT id, CASE WHEN id > 5 THEN long ELSE short END FROM lengths');
SELECT count(*) FROM lsh_pairs('SELECT id, CASE WHEN id > 5 THEN long ELSE short || ''!'' END FROM lengths');
-- Characters of several bytes, and a table from which texts are read again.
CREATE TABLE titles AS SELECT i AS id, translate(short, '0123456789abcdef', '天地玄黃宇宙洪荒日月盈昃辰宿列張') AS title
FROM lengths, generate_series(1, 100) AS i;
SELECT count(*) > 0 AS found FROM lsh_pairs('SELECT id, title FROM titles');
SELECT count(*) > 0 AS found FROM lsh_pairs('SELECT id, title || title FROM titles');

-- Rows without shingles: with singletons, they are clusters of their own. A NULL is no text.
SELECT count(*) FROM lsh_pairs($$VALUES (1, ''), (2, repeat('a quick brown fox ', 3)), (3, NULL)$$);
SELECT count(*) FROM lsh_clusters($$VALUES (1, ''), (2, E' \t'), (3, NULL)$$, singletons => true);
SELECT row_count, median_shingles FROM lsh_sample($$VALUES (1, ''), (2, ' ')$$);
SELECT count(*) FROM lsh_pairs($$VALUES (1, '...'), (2, '***'), (3, '***')$$, unit => 'word');
SELECT count(*) FROM lsh_pairs($$SELECT i, minhash('') FROM generate_series(1, 3) AS i$$);

-- The notice that very many candidates are expected knows of scopes: there is none where each row has its own, or where
-- scopes are small, in one query or between two; but there is where most rows are in one scope.
CREATE VIEW letters AS SELECT i AS id, 'Dear customer, thank you for your order. We remain at your service for every '
    'question about delivery, returns and payment. Number ' || 1000 + i AS body FROM generate_series(1, 3000) AS i;
SELECT count(*) FROM lsh_pairs('SELECT id, body, id AS scope FROM letters');
SELECT count(*) > 10000 AS many FROM lsh_pairs('SELECT id, body, id % 100 AS scope FROM letters');
SELECT count(*) FROM lsh_pairs('SELECT id, body, id AS scope FROM letters WHERE id % 2 = 0',
                               other_query => 'SELECT id, body, id AS scope FROM letters WHERE id % 2 = 1');
SELECT pairs FROM lsh_sample('SELECT id, body, id AS scope FROM letters');
SELECT count(*) FROM lsh_clusters('SELECT id, body, id > 2900 AS scope FROM letters') AS c;

-- Kept clusters do not repeat the notices every time that they are refreshed.
SELECT lsh_create_clusters('names_clusters', 'SELECT id, name FROM names') IS NOT NULL AS created;
UPDATE names SET name = '' WHERE id = 10;
SELECT count(*) FROM lsh_refresh_clusters('names_clusters');
DROP TABLE names_clusters CASCADE;

DROP VIEW lengths, letters;
DROP TABLE names, titles;
