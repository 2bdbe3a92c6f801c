-- The SQL of doc/without-the-extension.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

\getenv abs_srcdir PG_ABS_SRCDIR
\set file :abs_srcdir '/doc/examples/without_the_extension.sql'
\set ECHO none
\i :file
\set ECHO all

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river, as it does every day.'),
    (2, 'Then the quick brown fox jumps over the  LAZY dog near the bank of the river, as it does every day.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'COLOURLESS green ideas sleep furiously, or so the linguists say!');
SELECT left_id, right_id, round(similarity::numeric, 3) AS similarity
FROM plain_pairs('SELECT id, body FROM articles', threshold => 0.7) ORDER BY 1, 2;

SELECT id, cluster_id, representative, size, round(similarity::numeric, 3) AS similarity
FROM plain_clusters('SELECT id, body FROM articles', threshold => 0.8) ORDER BY id;

CREATE INDEX articles_shingles ON articles USING gin (plain_shingles(body));
CREATE FUNCTION refuse_copy() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    near bigint;
BEGIN
    SELECT id INTO near FROM articles
    WHERE plain_shingles(body) && plain_probe(plain_shingles(NEW.body), 0.8) AND id <> NEW.id
        AND plain_jaccard(plain_shingles(body), plain_shingles(NEW.body)) >= 0.8 LIMIT 1;
    IF FOUND THEN
        RAISE 'text % is near text %', NEW.id, near USING ERRCODE = 'exclusion_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refuse_copy BEFORE INSERT OR UPDATE OF body ON articles FOR EACH ROW EXECUTE FUNCTION refuse_copy();
INSERT INTO articles VALUES (5, 'Colourless green ideas sleep furiously, or so the linguists say?');

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
