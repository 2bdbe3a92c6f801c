-- The SQL of doc/match-two-tables.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE customers (id bigint PRIMARY KEY, name text, address text,
    label text GENERATED ALWAYS AS (coalesce(name, '') || ' ' || coalesce(address, '')) STORED);
INSERT INTO customers VALUES
    (1, 'Dr. Margarete Hoffmann', 'Lindenstraße 12, 10969 Berlin'),
    (2, 'Jonathan A. Meyer', '45 West 25th Street, New York'),
    (3, 'Acme Tools Ltd.', '8 Harbour Road, Bristol BS1 5TY'),
    (4, 'Giulia Bianchi', NULL);
CREATE TABLE leads (id bigint PRIMARY KEY, name text, address text,
    label text GENERATED ALWAYS AS (coalesce(name, '') || ' ' || coalesce(address, '')) STORED);
INSERT INTO leads VALUES
    (101, 'Hoffmann, Margarete', 'Lindenstr. 12, 10969 Berlin'),
    (102, 'Jonathan Meyer', '45 W 25th Street, New York'),
    (103, 'ACME Tools Limited', '8 Harbor Road, Bristol BS1 5TY'),
    (104, 'Anna Nowak', 'ul. Długa 3, 00-238 Warszawa'),
    (105, 'Bianchi, Giulia', NULL), (106, NULL, NULL);

WITH matches AS (
    SELECT *, row_number() OVER (PARTITION BY left_id ORDER BY similarity DESC, right_id) = 1 AS best_of_left,
           row_number() OVER (PARTITION BY right_id ORDER BY similarity DESC, left_id) = 1 AS best_of_right
    FROM lsh_pairs('SELECT id, label FROM leads', threshold => 0.3, shingle_size => 3,
                   other_query => 'SELECT id, label FROM customers'))
SELECT l.id AS lead, c.id AS customer, l.name, c.name AS customer_name, round(similarity::numeric, 2) AS similarity
FROM matches JOIN leads l ON l.id = left_id JOIN customers c ON c.id = right_id
WHERE best_of_left AND best_of_right ORDER BY lead;

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

SELECT left_id, right_id
FROM lsh_pairs($$SELECT id, label, substring(address FROM '[0-9]{5}') AS scope FROM leads$$, threshold => 0.3,
               shingle_size => 3,
               other_query => $$SELECT id, label, substring(address FROM '[0-9]{5}') AS scope FROM customers$$)
ORDER BY left_id, right_id;

CREATE TABLE volumes (id bigint PRIMARY KEY, t text);
INSERT INTO volumes SELECT i, 'Handbook of Soil Mechanics, Volume ' || i FROM generate_series(1, 40) i;
CREATE TABLE orders (id bigint PRIMARY KEY, t text);
INSERT INTO orders VALUES (101, 'Handbook of soil mechanics: vol. 7'), (102, 'Handbook of soil mechanics, volume 41');
SELECT left_id, right_id
FROM lsh_pairs($$SELECT id, t, btrim(regexp_replace(t, '\D+', ' ', 'g')) AS scope FROM orders$$, threshold => 0.35,
               shingle_size => 3,
               other_query => $$SELECT id, t, btrim(regexp_replace(t, '\D+', ' ', 'g')) AS scope FROM volumes$$);

CREATE FUNCTION word(seed text) RETURNS text LANGUAGE sql AS $$
    SELECT initcap(translate(left(md5(seed), 7), '0123456789abcdef', 'aeiouaeilnrstmkd')) $$;
CREATE FUNCTION mistyped(t text, n int) RETURNS text LANGUAGE sql AS $$
    SELECT overlay(overlay(t PLACING '' FROM 1 + n % length(t) FOR 1) PLACING 'x' FROM 1 + n % 7 FOR 1) $$;
CREATE TABLE list AS
    SELECT i AS id, word('given' || i % 199) AS given, word('family' || home % 701) AS family,
           word('street' || home % 401) || ' Street ' || home % 60 || ', ' || word('town' || home % 31) AS address
    FROM generate_series(1, 3000) i, LATERAL (SELECT CASE WHEN i < 500 THEN i / 2 ELSE i END AS home) h;
CREATE TABLE other_list AS
    SELECT id, CASE WHEN id % 4 = 0 THEN mistyped(family || ', ' || given, id)
                    ELSE mistyped(given || ' ' || family, id) END AS name,
           mistyped(CASE WHEN id % 9 = 0 THEN split_part(address, ',', 1) ELSE replace(address, 'Street', 'St') END,
                    id / 2) AS address
    FROM list WHERE id <= 2000
    UNION ALL SELECT i, word('given' || i) || ' ' || word('family' || i), word('street' || i) || ' Street ' || i % 60
    FROM generate_series(5001, 6000) i;
WITH matches AS (
    SELECT weighting, similarity, left_id = right_id AS right_one,
           row_number() OVER (PARTITION BY weighting, left_id ORDER BY similarity DESC, right_id) = 1
           AND row_number() OVER (PARTITION BY weighting, right_id ORDER BY similarity DESC, left_id) = 1 AS best
    FROM unnest('{none,idf}'::text[]) weighting,
         lsh_pairs($$SELECT id, concat_ws(' ', given, family, address) FROM list$$, threshold => 0.2, shingle_size => 3,
                   weight => weighting, other_query => $$SELECT id, concat_ws(' ', name, address) FROM other_list$$)),
measured AS (
    SELECT threshold, weighting,
           round(2.0 * count(*) FILTER (WHERE right_one) / (count(*) + 2000), 3) AS f1_of_all_pairs,
           round(2.0 * count(*) FILTER (WHERE best AND right_one) / (count(*) FILTER (WHERE best) + 2000), 3)
           AS f1_one_to_one
    FROM matches JOIN unnest('{0.2,0.3,0.35,0.5}'::float8[]) threshold ON similarity >= threshold GROUP BY 1, 2)
SELECT threshold, plain.f1_of_all_pairs, plain.f1_one_to_one, idf.f1_one_to_one AS by_idf
FROM measured plain JOIN measured idf USING (threshold)
WHERE (plain.weighting, idf.weighting) = ('none', 'idf') ORDER BY threshold;

SELECT id, name FROM customers
WHERE minhash_similar(minhash(label, shingle_size => 3),
                      minhash('Jon A. Meyer, 45 West 25th Street, New York', shingle_size => 3), 0.5);

CREATE INDEX customers_match ON customers USING lsh (minhash(label, shingle_size => 3));
SELECT l.id AS lead, best.id AS customer, best.name AS customer_name,
       round(shingle_jaccard(l.label, best.label, shingle_size => 3)::numeric, 2) AS similarity
FROM leads l, LATERAL (
    SELECT * FROM customers c
    ORDER BY minhash(c.label, shingle_size => 3) <%> minhash(l.label, shingle_size => 3) LIMIT 1) best
WHERE shingle_jaccard(l.label, best.label, shingle_size => 3) >= 0.3 ORDER BY lead;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
