-- The SQL of doc/match-two-tables.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE customers (id bigint PRIMARY KEY, name text, address text);
INSERT INTO customers VALUES
    (1, 'Dr. Margarete Hoffmann', 'Lindenstraße 12, 10969 Berlin'),
    (2, 'Jonathan A. Meyer', '45 West 25th Street, New York'),
    (3, 'Acme Tools Ltd.', '8 Harbour Road, Bristol BS1 5TY'),
    (4, 'Giulia Bianchi', 'Via Garibaldi 7, 20121 Milano');
CREATE TABLE leads (id bigint PRIMARY KEY, name text, address text);
INSERT INTO leads VALUES
    (101, 'Hoffmann, Margarete', 'Lindenstr. 12, 10969 Berlin'),
    (102, 'Jonathan Meyer', '45 W 25th Street, New York'),
    (103, 'ACME Tools Limited', '8 Harbor Road, Bristol BS1 5TY'),
    (104, 'Anna Nowak', 'ul. Długa 3, 00-238 Warszawa');

SELECT DISTINCT ON (left_id) left_id AS lead, right_id AS customer, l.name, c.name AS customer_name,
       round(similarity::numeric, 2) AS similarity
FROM lsh_pairs($$SELECT id, name || ' ' || address FROM leads$$, threshold => 0.5, shingle_size => 3,
               other_query => $$SELECT id, name || ' ' || address FROM customers$$)
     JOIN leads l ON l.id = left_id JOIN customers c ON c.id = right_id
ORDER BY left_id, similarity DESC, right_id;

WITH matches AS (
    SELECT left_id, right_id, similarity,
           row_number() OVER (PARTITION BY left_id ORDER BY similarity DESC, right_id) AS rank_for_lead,
           row_number() OVER (PARTITION BY right_id ORDER BY similarity DESC, left_id) AS rank_for_customer
    FROM lsh_pairs($$SELECT id, name || ' ' || address FROM leads$$, threshold => 0.35, shingle_size => 3,
                   other_query => $$SELECT id, name || ' ' || address FROM customers$$))
SELECT left_id AS lead, right_id AS customer, round(similarity::numeric, 2) AS similarity
FROM matches WHERE rank_for_lead = 1 AND rank_for_customer = 1 ORDER BY lead;

CREATE TABLE shop (id bigint PRIMARY KEY, name text);
INSERT INTO shop VALUES
    (1, 'Norel Kitchen Radio Red - KR210'), (2, 'Norel Kitchen Radio White - KR305'),
    (3, 'Norel Kitchen Radio Red - KR118'), (4, 'Kavo Desk Fan White - DF77X'), (5, 'Kavo Desk Fan Red - DF90');
CREATE TABLE other_shop (id bigint PRIMARY KEY, name text);
INSERT INTO other_shop VALUES
    (11, 'Norel KR305 radio, new'), (12, 'Norel KR210 radio for kitchen and bath'), (13, 'Kavo DF77X fan, new'),
    (14, 'Norel kitchen clock red');
WITH matches AS (
    SELECT left_id, right_id, similarity,
           row_number() OVER (PARTITION BY left_id ORDER BY similarity DESC, right_id) AS rank_for_left,
           row_number() OVER (PARTITION BY right_id ORDER BY similarity DESC, left_id) AS rank_for_right
    FROM lsh_pairs('SELECT id, name FROM shop', threshold => 0.25, shingle_size => 3, weight => 'idf',
                   other_query => 'SELECT id, name FROM other_shop'))
SELECT s.name, o.name AS other_name, round(similarity::numeric, 2) AS similarity
FROM matches JOIN shop s ON s.id = left_id JOIN other_shop o ON o.id = right_id
WHERE rank_for_left = 1 AND rank_for_right = 1 ORDER BY s.id;

SELECT block, left_id, right_id
FROM (VALUES ('%Berlin%'), ('%New York%')) AS blocks (block),
     LATERAL lsh_pairs(format($$SELECT id, name || ' ' || address FROM leads WHERE address LIKE %L$$, block),
                       threshold => 0.5, shingle_size => 3,
                       other_query => format($$SELECT id, name || ' ' || address FROM customers WHERE address LIKE %L$$,
                                             block))
ORDER BY block, left_id, right_id;

CREATE INDEX customers_match ON customers USING lsh (minhash(name || ' ' || address, shingle_size => 3));
SELECT l.id AS lead, best.id AS customer, best.name AS customer_name,
       round(shingle_jaccard(l.name || ' ' || l.address, best.name || ' ' || best.address, 3)::numeric, 2) AS similarity
FROM leads l, LATERAL (
    SELECT * FROM customers c
    ORDER BY minhash(c.name || ' ' || c.address, shingle_size => 3) <%>
             minhash(l.name || ' ' || l.address, shingle_size => 3) LIMIT 1) best
ORDER BY lead;

SELECT id, name FROM customers
WHERE minhash_similar(minhash(name || ' ' || address, shingle_size => 3),
                      minhash('Jon A. Meyer, 45 West 25th Street, New York', shingle_size => 3), 0.5);

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
