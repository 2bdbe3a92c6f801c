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
SELECT DISTINCT x.id, y.id AS candidate
FROM article_bands x JOIN article_bands y ON x.key = y.key AND x.id < y.id ORDER BY 1, 2;

DROP TABLE article_bands;       -- the one made by hand
SELECT lsh_create_band_table('articles', threshold => 0.8, recall => 0.95);
SELECT * FROM lsh_band_tables;

UPDATE articles SET body = 'The quick brown fox jumps over the lazy dog near the river bank.' WHERE id = 5;
SELECT count(*) AS keys FROM articles_bands WHERE id = 5;

ALTER TABLE articles DISABLE TRIGGER USER;
DELETE FROM articles WHERE id = 2;
ALTER TABLE articles ENABLE TRIGGER USER;
SELECT * FROM lsh_refresh_band_table('articles');

ALTER TABLE articles ADD COLUMN language text;
UPDATE articles SET language = CASE WHEN id < 4 THEN 'en-GB' ELSE 'en-US' END;
SELECT lsh_create_band_table('articles', scope_column => 'language', band_table => 'articles_by_language');
SELECT x.id, y.id AS candidate
FROM articles_by_language x JOIN articles_by_language y ON x.key = y.key AND x.id < y.id GROUP BY 1, 2 ORDER BY 1, 2;

SELECT lsh_drop_band_table('articles', 'articles_by_language');

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
