-- The SQL of doc/why-they-match.md, as test/tools/page_sql.sh prints it.
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
    (7, E'COLOURLESS green ideas\n  sleep furiously, or so the linguists say.'),
    (8, 'The quick brown fox jumps over the lazy dog near the bank of the river. It is 42 years old.');

SELECT shingle_headline(a.body, b.body, 'StartSel="[", StopSel="]"') AS a,
       shingle_headline(b.body, a.body, 'StartSel="[", StopSel="]"') AS b
FROM articles a, articles b WHERE a.id = 3 AND b.id = 4 \gx

SELECT shingle_headline('Nothing else has changed here but one word.', 'Nothing else was changed here but one word.',
    'StartSel=<, StopSel=>', shingle_size => 2, unit => 'word');

SELECT * FROM shingle_difference((SELECT body FROM articles WHERE id = 1), (SELECT body FROM articles WHERE id = 8));

CREATE TABLE article_removals AS
    SELECT c.id, c.representative, c.similarity, gone.body, kept.body AS kept
    FROM lsh_clusters('SELECT id, body FROM articles', threshold => 0.7, near_representative => true) c
         JOIN articles gone ON gone.id = c.id JOIN articles kept ON kept.id = c.representative
    WHERE c.id <> c.representative;

CREATE VIEW article_losses AS
    SELECT id, representative, round(similarity::numeric, 3) AS similarity, lost, passages
    FROM article_removals, LATERAL (
        SELECT coalesce(sum(length), 0) AS lost, string_agg(passage, ' | ' ORDER BY position) AS passages
        FROM shingle_difference(body, kept) WHERE side = 'a') d;
SELECT * FROM article_losses WHERE lost > 0 ORDER BY lost DESC, id;

SELECT id, shingle_headline(body, kept, 'StartSel="[", StopSel="]"') AS goes,
    representative, shingle_headline(kept, body, 'StartSel="[", StopSel="]"') AS stays
FROM article_removals WHERE similarity < 1 ORDER BY similarity, id LIMIT 1 \gx

CREATE TABLE not_duplicates (left_id bigint, right_id bigint, decided_by text DEFAULT current_user,
    decided_at timestamptz DEFAULT now(), PRIMARY KEY (left_id, right_id));
INSERT INTO not_duplicates SELECT id, representative FROM article_removals WHERE id = 8;
SELECT id, representative, size, round(similarity::numeric, 3) AS similarity
FROM lsh_clusters('SELECT id, body FROM articles', threshold => 0.7, near_representative => true,
                  apart => 'SELECT left_id, right_id FROM not_duplicates') ORDER BY id;

BEGIN;
DELETE FROM articles USING lsh_clusters('SELECT id, body FROM articles', threshold => 0.7, near_representative => true,
                                        apart => 'SELECT left_id, right_id FROM not_duplicates') c
WHERE articles.id = c.id AND c.id <> c.representative;
SELECT id FROM articles ORDER BY id;

ROLLBACK;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
