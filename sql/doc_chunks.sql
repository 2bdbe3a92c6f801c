-- The SQL of doc/chunks.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE chunks (id bigint PRIMARY KEY, document text, body text NOT NULL, embedding point);
INSERT INTO chunks VALUES
    (1, 'manual-v1', 'To reset the router, hold the button for ten seconds, then wait for the green light.', '(1,1)'),
    (2, 'manual-v2', 'To reset the router, hold the button for 10 seconds, then wait for the green light.', '(1,1.1)'),
    (3, 'forum', 'Resetting helped in my case. Keep the button pressed until everything blinks.', '(1.2,1.1)'),
    (4, 'manual-v1', 'The router has four sockets for cables and one for the power supply.', '(5,2)'),
    (5, 'mirror', 'To reset the router, hold the button for ten seconds, then  wait for the green light.', '(1,1)');

SELECT id, document, left(body, 40) AS body
FROM lsh_clusters('SELECT id, body FROM chunks', threshold => 0.8, near_representative => true, singletons => true) c
     JOIN chunks USING (id)
WHERE id = representative ORDER BY id;

CREATE TABLE store (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant int, body text NOT NULL, embedding point,
    EXCLUDE USING lsh (tenant WITH =, minhash(body) WITH %, id WITH <>) WITH (threshold = 0.8));
INSERT INTO store (tenant, body) SELECT 1, body FROM chunks ORDER BY id ON CONFLICT DO NOTHING;
SELECT count(*) AS stored FROM store;

ALTER TABLE chunks ADD COLUMN sig minhash_signature GENERATED ALWAYS AS (minhash(body)) STORED;
PREPARE retrieve(point) AS
    WITH hits AS (SELECT id, body, sig, row_number() OVER (ORDER BY embedding <-> $1, id) AS place
                  FROM chunks ORDER BY embedding <-> $1, id LIMIT 20)
    SELECT place, id, left(body, 60) AS body FROM hits h
    WHERE NOT EXISTS (SELECT FROM hits better WHERE better.place < h.place AND minhash_similar(better.sig, h.sig, 0.7))
    ORDER BY place LIMIT 3;
EXECUTE retrieve('(1,1)');

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
