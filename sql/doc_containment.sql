-- The SQL of doc/containment.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE drafts (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO drafts VALUES
    (1, 'We are met on a great battle-field of that war.'),
    (2, 'We are met on a great battle-field of that war. We have come to dedicate a portion of that field.'),
    (3, 'We are met on a great battle field of that war. We have come to dedicate a portion of that field, as a final
         resting place for those who here gave their lives that that nation might live.'),
    (4, 'We are met on a great battle-field of that war. Nobody took a photograph of him while he was speaking, and the
         newspapers of the next day were divided by party, as always.');

SELECT contained_id, container_id, round(containment::numeric, 2) AS containment
FROM lsh_contained('SELECT id, body FROM drafts', threshold => 0.8) ORDER BY 1, 2;

SELECT contained_id, container_id
FROM lsh_contained('SELECT id, body FROM drafts WHERE id < 3',
                   other_query => 'SELECT id, body FROM drafts WHERE id >= 3') ORDER BY 1, 2;

CREATE TABLE contained AS SELECT * FROM lsh_contained('SELECT id, body FROM drafts', threshold => 0.9);
CREATE TABLE removals AS
    SELECT DISTINCT ON (contained_id) contained_id AS id, container_id AS stays, containment
    FROM contained c WHERE NOT EXISTS (SELECT FROM contained o WHERE o.contained_id = c.container_id)
    ORDER BY contained_id, containment DESC, container_id;
SELECT id, stays, round(containment::numeric, 2) AS containment FROM removals ORDER BY id;

BEGIN;
DELETE FROM drafts USING removals r WHERE drafts.id = r.id;
SELECT id FROM drafts ORDER BY id;

ROLLBACK;

CREATE TABLE speeches (id bigint PRIMARY KEY, body text NOT NULL);
INSERT INTO speeches VALUES
    (1, 'Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived in Liberty,
         and dedicated to the proposition that all men are created equal. Now we are engaged in a great civil war,
         testing whether that nation, or any nation so conceived and so dedicated, can long endure. We are met on a
         great battle-field of that war. We have come to dedicate a portion of that field, as a final resting place for
         those who here gave their lives that that nation might live.'),
    (2, 'We hold these truths to be self-evident, that all men are created equal, that they are endowed by their Creator
         with certain unalienable Rights, that among these are Life, Liberty and the pursuit of Happiness. That to
         secure these rights, Governments are instituted among Men, deriving their just powers from the consent of the
         governed.'),
    (3, 'A school essay. The president spoke for two minutes only. Now we are engaged in a great civil war, he said,
         testing whether that nation, or any nation so conceived and so dedicated, can long endure. Nobody took a
         photograph of him while he was speaking. The newspapers of the next day were divided by party, as always.');

SELECT round(shingle_jaccard(part, body)::numeric, 2) AS jaccard,
       round(shingle_containment(part, body)::numeric, 2) AS containment
FROM speeches,
     (VALUES ('Now we are engaged in a great civil war, testing whether that nation can long endure.')) AS q (part)
WHERE id = 1;

CREATE TABLE passages AS
    SELECT id, position AS place, regexp_replace(passage, '\s+', ' ', 'g') AS passage
    FROM speeches, lsh_windows(body, words => 20, step => 10);
CREATE INDEX ON passages USING gin (minhash(passage) gin_minhash_ops (bands = 21, rows = 6));

PREPARE who_has(text) AS
    SELECT id, count(DISTINCT place) AS windows, min(place) AS first_place
    FROM lsh_windows($1, words => 20, step => 1) AS sought,
         LATERAL (SELECT id, place FROM passages
                  WHERE minhash_similar(minhash(passage), minhash(sought.passage), 0.7)) found
    GROUP BY id ORDER BY windows DESC, id;
EXECUTE who_has('Now we are engaged in a great civil war, testing whether that nation, or any nation so conceived and so
                 dedicated, can long endure. We are met on a great battle-field');

SELECT count(found.containment) AS found, count(*) AS there
FROM lsh_contained('SELECT id, body FROM drafts WHERE id % 2 = 0', recall => 1,
                   other_query => 'SELECT id, body FROM drafts') AS there
     LEFT JOIN lsh_contained('SELECT id, body FROM drafts WHERE id % 2 = 0',
                             other_query => 'SELECT id, body FROM drafts') AS found USING (contained_id, container_id)
WHERE contained_id <> container_id;

SELECT min(passage) AS passage, count(DISTINCT id) AS documents
FROM passages GROUP BY lower(passage) HAVING count(DISTINCT id) > 100;

SELECT DISTINCT a.id, b.id AS shares_with, a.passage
FROM lsh_pairs('SELECT id * 10000000000 + place, passage FROM passages', threshold => 0.5, max_bucket => 100)
     JOIN passages a ON a.id = left_id / 10000000000 AND a.place = left_id % 10000000000
     JOIN passages b ON b.id = right_id / 10000000000 AND b.place = right_id % 10000000000
WHERE a.id <> b.id ORDER BY 1, 2, 3;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
