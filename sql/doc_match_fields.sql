-- The SQL of doc/match-fields.md, as test/tools/page_sql.sh prints it.
CREATE SCHEMA page;
SET search_path = page, public;

CREATE TABLE patients (id bigint PRIMARY KEY, name text, born date, street text);
INSERT INTO patients VALUES
    (1, 'Margarete Hoffmann', '1961-04-12', 'Lindenstraße 12'),
    (2, 'Jonathan Meyer', '1988-11-30', '45 West 25th Street'),
    (3, 'Martin Hoffmann', '1990-02-07', 'Lindenstraße 12'), (4, 'Giulia Bianchi', '1975-06-18', NULL);
CREATE TABLE arrivals (id bigint PRIMARY KEY, name text, born date, street text);
INSERT INTO arrivals VALUES
    (101, 'Hoffman, Margarete', '1961-04-12', NULL), (102, 'Jonathan Meier', '1988-11-30', '45 W 25th St'),
    (103, 'M. Hoffmann', '1990-02-07', 'Lindenstr. 12'), (104, 'Julia Bianchi', '1957-09-02', 'Via Roma 7');

WITH compared AS (
    SELECT left_id, right_id,
           coalesce(round((14 * shingle_jaccard(l.name, r.name, 2) - 4)::numeric, 1), 0) AS name,
           CASE l.born = r.born WHEN true THEN 13 WHEN false THEN -5 ELSE 0 END AS born,
           coalesce(round((10 * shingle_jaccard(l.street, r.street, 2) - 2)::numeric, 1), 0) AS street,
           (SELECT -round(log(2, count(*)), 1) FROM patients) AS prior
    FROM lsh_pairs($$SELECT id, concat_ws(' ', name, born, street) FROM arrivals$$, threshold => 0.2, shingle_size => 3,
                   other_query => $$SELECT id, concat_ws(' ', name, born, street) FROM patients$$)
         JOIN arrivals l ON l.id = left_id JOIN patients r ON r.id = right_id)
SELECT *, name + born + street + prior AS bits FROM compared ORDER BY left_id, bits DESC;

SET client_min_messages = warning;
DROP SCHEMA page CASCADE;
