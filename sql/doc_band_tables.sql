-- The SQL of doc/band-tables.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river.'),
    (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (5, '');

ALTER TABLE articles ADD COLUMN sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED;
CREATE TABLE article_bands (key bigint, id bigint, PRIMARY KEY (key, id));
INSERT INTO article_bands SELECT key, id FROM articles, lsh_bands(sig, bands => 13, rows => 7);
SELECT DISTINCT a.id, b.id AS near_duplicate, minhash_similarity(a.sig, b.sig) AS estimated
FROM article_bands x JOIN article_bands y ON x.key = y.key AND x.id < y.id
     JOIN articles a ON a.id = x.id JOIN articles b ON b.id = y.id
WHERE minhash_similarity(a.sig, b.sig) >= 0.7 ORDER BY estimated, a.id, b.id;

DROP TABLE article_bands;       -- the one made by hand
SELECT lsh_create_band_table('articles', threshold => 0.8, recall => 0.95);
UPDATE articles SET body = 'The quick brown fox jumps over the lazy dog near the river bank.' WHERE id = 5;
SELECT count(*) AS keys FROM articles_bands WHERE id = 5;

CREATE ROLE page_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON articles TO page_writer;
GRANT USAGE ON SCHEMA page TO page_writer;
SET ROLE page_writer;
INSERT INTO articles VALUES (6, 'Colourless green ideas sleep furiously, or so the linguist says.');

RESET ROLE;
GRANT SELECT, INSERT, DELETE ON articles_bands TO page_writer;  -- TRUNCATE, too, for whoever truncates articles
SET ROLE page_writer;
INSERT INTO articles VALUES (6, 'Colourless green ideas sleep furiously, or so the linguist says.');
RESET ROLE;
DROP OWNED BY page_writer;
DROP ROLE page_writer;

ALTER TABLE articles DISABLE TRIGGER USER;
INSERT INTO articles VALUES (7, 'Nothing like it has been seen before.');
ALTER TABLE articles ENABLE TRIGGER USER;
DELETE FROM articles WHERE id = 7;

BEGIN;
TRUNCATE articles_bands;
INSERT INTO articles_bands SELECT key, id FROM articles, lsh_bands(sig, 13, 7) ORDER BY 1, 2;
COMMIT;
DELETE FROM articles WHERE id = 7;

PREPARE look_up(text) AS
    SELECT id, round(minhash_similarity(sig, minhash($1))::numeric, 2) AS estimated
    FROM articles
    WHERE id = ANY (ARRAY(SELECT id FROM articles_bands WHERE key = ANY (lsh_band_keys(minhash($1), 13, 7))))
      AND minhash_similarity(sig, minhash($1)) >= 0.7
    ORDER BY estimated DESC, id;
EXECUTE look_up('The quick brown fox jumps over a lazy dog near the bank of the river.');

SELECT key, count(*) AS size FROM articles_bands GROUP BY key HAVING count(*) > 2 ORDER BY size DESC, key LIMIT 10;

CREATE TABLE article_slots AS
    SELECT id, s[1] AS s1, s[2] AS s2, s[3] AS s3, s[4] AS s4, s[5] AS s5, s[6] AS s6
    FROM articles, LATERAL (VALUES (sig::bigint[])) AS slots (s) WHERE id < 5;
SELECT a.id, b.id AS candidate
FROM article_slots a JOIN article_slots b ON a.id < b.id
 AND ((a.s1, a.s2, a.s3) = (b.s1, b.s2, b.s3) OR (a.s4, a.s5, a.s6) = (b.s4, b.s5, b.s6))
ORDER BY 1, 2;
SELECT DISTINCT a.id, b.id AS candidate
FROM articles a CROSS JOIN lsh_bands(a.sig, bands => 2, rows => 3) x
JOIN (articles b CROSS JOIN lsh_bands(b.sig, bands => 2, rows => 3) y) ON x.key = y.key AND a.id < b.id
WHERE b.id < 5 ORDER BY 1, 2;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
