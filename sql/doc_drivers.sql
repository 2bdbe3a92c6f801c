-- The SQL of doc/drivers.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE articles (id bigint PRIMARY KEY, site text, body text NOT NULL);
INSERT INTO articles VALUES (1, 'O''Reilly', 'The quick brown fox jumps over the lazy dog.'),
                            (2, 'O''Reilly', 'The quick brown fox jumped over the lazy dog.'),
                            (3, 'mirror', 'The quick brown fox jumps over the lazy dog.');
PREPARE near AS SELECT id FROM articles WHERE minhash_similar(minhash(body), minhash($1), $2);
PREPARE nearest AS SELECT id FROM articles ORDER BY minhash(body) <%> minhash($1) LIMIT $2;
PREPARE pairs AS SELECT left_id, right_id FROM lsh_pairs($1, threshold => $2);
PREPARE stored AS SELECT id FROM articles WHERE minhash_similarity(minhash(body), $1) > 0.5;
SELECT name, parameter_types FROM pg_prepared_statements WHERE name <> 'pairs_of_site' ORDER BY name;

PREPARE pairs_of_site(text) AS
    SELECT left_id, right_id
    FROM lsh_pairs(format('SELECT id, body FROM articles WHERE site = %L', $1), threshold => 0.7);
EXECUTE pairs_of_site('O''Reilly');

CREATE TABLE sketches (id bigint PRIMARY KEY, sig minhash_signature);
INSERT INTO sketches VALUES
    (1, minhash_from_values('{297616339,279951299,113505080,311917730,1735256,278730948,249258812,306660385,
        386953741,423518424,120511132,607298570,490287863,115094987,290874010,58384851}', seed => 1)),
    (2, minhash_from_values('{3749336,339931219,113505080,311917730,1735256,278730948,249258812,306660385,
        386953741,423518424,236032842,607298570,490287863,115094987,290874010,58384851}', seed => 1));
SELECT minhash_similarity(a.sig, b.sig), (minhash_to_values(minhash_union(a.sig, b.sig)))[1:3] AS first_of_union
FROM sketches a, sketches b WHERE a.id = 1 AND b.id = 2;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
