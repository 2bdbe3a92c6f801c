-- The SQL of doc/clean-a-table.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river.'),
    (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (5, ''),
    (6, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (7, 'COLOURLESS green ideas sleep furiously, or so the linguists say.');

CREATE TABLE article_clusters AS
    SELECT * FROM lsh_clusters('SELECT id, body, -length(body) AS rank FROM articles', threshold => 0.6,
                               near_representative => true);
SELECT cluster_id, representative, size, array_agg(id ORDER BY id) AS members
FROM article_clusters GROUP BY 1, 2, 3 ORDER BY size DESC, 1;

CREATE TABLE article_removals AS
    SELECT c.id, c.representative, c.similarity, a.body, kept.body AS kept
    FROM article_clusters c JOIN articles a USING (id) JOIN articles kept ON kept.id = c.representative
    WHERE c.id <> c.representative;
SELECT id, representative, round(similarity::numeric, 3) AS similarity, left(body, 40) AS goes
FROM article_removals ORDER BY similarity, id;

SELECT CASE WHEN body = kept THEN '1: same bytes'
            WHEN shingles(body, 1, bag => true) = shingles(kept, 1, bag => true)
            THEN '2: same except for case and white space'
            WHEN similarity >= 0.95 THEN '3: 0.95 or more' ELSE '4: from the threshold up to 0.95' END AS reason,
       count(*) AS texts, sum(length(body)) AS characters
FROM article_removals GROUP BY reason ORDER BY reason;

BEGIN;
DELETE FROM articles USING article_removals r WHERE articles.id = r.id;
SELECT id FROM articles ORDER BY id;

ROLLBACK;

CREATE TABLE comments (id bigint PRIMARY KEY, article bigint NOT NULL REFERENCES articles ON DELETE CASCADE);
INSERT INTO comments VALUES (1, 3), (2, 4), (3, 7);
SELECT conrelid::regclass AS referring, a.attname AS column,
       CASE confdeltype WHEN 'c' THEN 'deletes its rows, too' WHEN 'n' THEN 'sets NULL' WHEN 'd' THEN 'sets the default'
           ELSE 'refuses' END AS deletion
FROM pg_constraint JOIN pg_attribute a ON attrelid = conrelid AND attnum = ANY (conkey)
WHERE contype = 'f' AND confrelid = 'articles'::regclass ORDER BY 1, 2;

UPDATE comments SET article = r.representative FROM article_removals r WHERE comments.article = r.id;
SELECT * FROM comments ORDER BY id;

CREATE TABLE books (id bigint PRIMARY KEY, title text NOT NULL);
INSERT INTO books SELECT i, 'Handbook of Applied Soil Mechanics, Volume ' || i FROM generate_series(1, 40) i;
INSERT INTO books VALUES (101, 'Handbook of applied soil mechanics: Volume 3.');
SELECT count(*) AS pairs FROM lsh_pairs('SELECT id, title FROM books', threshold => 0.7);

SELECT id, representative FROM lsh_clusters(
    $$SELECT id, title, btrim(regexp_replace(title, '\D+', ' ', 'g')) AS scope FROM books$$, threshold => 0.7,
    near_representative => true) ORDER BY id;

CREATE TABLE shelf (id bigint, title text, EXCLUDE USING lsh
    (btrim(regexp_replace(title, '\D+', ' ', 'g')) WITH =, minhash(title) WITH %) WITH (threshold = 0.7));
INSERT INTO shelf SELECT * FROM books ORDER BY id ON CONFLICT DO NOTHING;
SELECT count(*) AS on_shelf, count(*) FILTER (WHERE id = 101) AS copies FROM shelf;

SELECT id FROM lsh_clusters('SELECT id, body FROM articles', threshold => 0.6,
                            near_representative => true, singletons => true)
WHERE id = representative ORDER BY id;

CREATE TABLE article_pairs AS SELECT * FROM lsh_pairs('SELECT id, body FROM articles', threshold => 0.5);
SELECT threshold, count(DISTINCT cluster_id) AS clusters, count(*) - count(DISTINCT cluster_id) AS superfluous
FROM lsh_components('SELECT left_id, right_id, similarity FROM article_pairs', thresholds => '{0.6, 0.8, 0.9}')
GROUP BY threshold ORDER BY threshold;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
