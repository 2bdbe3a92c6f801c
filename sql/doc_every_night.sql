-- The SQL of doc/every-night.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE articles (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO articles VALUES
    (1, 'The quick brown fox jumps over the lazy dog near the bank of the river.'),
    (2, 'A quick brown fox jumps over the  LAZY dog near the bank of the river.'),
    (3, 'Colourless green ideas sleep furiously, or so the linguists say.'),
    (4, 'Colorless green ideas sleep furiously, or so the linguists say.'),
    (5, 'Every spring the tide tables for the northern harbour are printed on blue paper.');
SELECT * FROM lsh_create_clusters('article_clusters', 'SELECT id, body FROM articles', threshold => 0.8);

SELECT id, cluster_id, representative, round(similarity::numeric, 3) AS similarity
FROM article_clusters ORDER BY id;

INSERT INTO articles VALUES
    (6, 'Each spring the tide tables for the northern harbour are printed on blue paper.'),
    (7, 'There is only one letter to the editor about the opening hours of the library.');
UPDATE articles SET body = 'Green ideas, colourless as they are, have never been seen asleep.' WHERE id = 4;
DELETE FROM articles WHERE id = 1;
SELECT rows_added, rows_removed, rows_changed, clusters_made FROM lsh_refresh_clusters('article_clusters');

SELECT id, cluster_id, representative, round(similarity::numeric, 3) AS similarity
FROM article_clusters ORDER BY id;

INSERT INTO articles VALUES (0, 'A quick brown fox jumps over the lazy dog near the bank of the river.');
UPDATE articles SET body = 'Colourless green ideas sleep furiously, or so the linguists said.' WHERE id = 4;
SELECT rows_added, rows_changed, clusters_joined
FROM lsh_refresh_clusters('article_clusters', log => 'article_cluster_log');

SELECT refresh, event, id, old_cluster_id, cluster_id, old_representative, representative
FROM article_cluster_log ORDER BY refresh, id;

CREATE TABLE articles_changed (id bigint);
CREATE FUNCTION note_article() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO articles_changed SELECT OLD.id WHERE TG_OP <> 'INSERT' UNION SELECT NEW.id WHERE TG_OP <> 'DELETE';
    RETURN NULL;
END $$;
CREATE TRIGGER note_article AFTER INSERT OR UPDATE OR DELETE ON articles FOR EACH ROW EXECUTE FUNCTION note_article();
INSERT INTO articles VALUES (8, 'There is just one letter to the editor about the opening hours of the library.');
SELECT rows_added, clusters_made FROM lsh_refresh_clusters('article_clusters', changed => 'articles_changed');

SELECT count(*) AS waiting FROM articles_changed;

CREATE INDEX articles_minhash ON articles USING lsh (minhash(body));

UPDATE article_clusters_settings SET threshold = 0.9;
SELECT rows_changed, clusters_made, clusters_split FROM lsh_refresh_clusters('article_clusters');

SELECT refreshes, row_count, clusters_made, now() - refreshed_at < interval '1 day' AS is_fresh,
    seconds < 60 AS was_fast
FROM article_clusters_settings;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
