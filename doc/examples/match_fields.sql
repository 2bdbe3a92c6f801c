-- Which rows of two tables, or of one, are about the same thing, judged field by field; for psql:
--
--   psql -X -q -v left=leads -v right=customers -f doc/examples/match_fields.sql
--
-- Fields are the columns that both tables have, except the id (-v id=id). A table is written as in FROM, so that
-- '(SELECT id, name, born FROM people) AS p' chooses and renames columns. Without right, the rows of left are matched
-- with each other. The result is two tables:
--
--   field_matches  for each pair left_id, right_id, the bits of each field (NULL if one of the rows has no value), and
--                  bits, their sum with the prior: above 0, a match is more likely than not. With two tables, best says
--                  that each row is the other's best match.
--   field_weights  field, agreement, bits: what each kind of agreement says; without a field, the prior, with which
--                  each pair begins
--
-- The weights are those of Fellegi and Sunter 1969: bits are log2(m / u), where m is the share of the matches that
-- agree in this way, and u the share of the other pairs that do. u is counted in random pairs, nearly all of which are
-- no matches; m is estimated from the candidates by expectation maximisation. With -v weights=my_weights, a table like
-- field_weights, nothing is estimated. Candidates are the pairs whose fields, as one text, have a similarity of 0.2 or
-- more (-v candidates=0.2).
\set ON_ERROR_STOP on
\if :{?left}
\else
\warn 'usage: psql -v left=TABLE [-v right=TABLE] [-v id=id] [-v candidates=0.2] [-v weights=TABLE] -f match_fields.sql'
\quit
\endif
\if :{?id}
\else
\set id id
\endif
\if :{?candidates}
\else
\set candidates 0.2
\endif
\if :{?right}
\set two true
\set second :right
\set other ', other_query => \'SELECT id, document FROM match_right\''
\set best ', row_number() OVER (PARTITION BY left_id ORDER BY bits DESC, right_id) = 1 AND '
\set best :best 'row_number() OVER (PARTITION BY right_id ORDER BY bits DESC, left_id) = 1 AS best'
\else
\set two false
\set second :left
\set other ''
\set best ''
\endif
BEGIN;
CREATE TABLE field_weights (field name, agreement text, bits numeric);

-- The rows, with their fields as texts, and with all fields as one text.
CREATE TEMP TABLE source_left ON COMMIT DROP AS SELECT * FROM :left;
CREATE TEMP TABLE source_right ON COMMIT DROP AS SELECT * FROM :second;
CREATE TEMP TABLE match_fields ON COMMIT DROP AS
SELECT l.attname AS field, row_number() OVER (ORDER BY l.attnum) AS n
FROM pg_attribute l JOIN pg_attribute r ON r.attrelid = 'source_right'::regclass AND r.attname = l.attname
WHERE l.attrelid = 'source_left'::regclass AND l.attnum > 0 AND l.attname <> :'id';
CREATE OR REPLACE FUNCTION pg_temp.fields_of(source jsonb) RETURNS text[] STABLE LANGUAGE sql AS $$
    SELECT array_agg(CASE jsonb_typeof(source -> field) WHEN 'number' THEN trim_scale((source ->> field)::numeric)::text
                         ELSE nullif(btrim(source ->> field), '') END ORDER BY n) FROM match_fields $$;
CREATE TEMP TABLE match_left ON COMMIT DROP AS
SELECT :"id" AS id, row_number() OVER (ORDER BY :"id") AS n, fields, array_to_string(fields, ' ') AS document
FROM source_left AS s, pg_temp.fields_of(to_jsonb(s)) AS fields;
CREATE TEMP TABLE match_right ON COMMIT DROP AS
SELECT :"id" AS id, row_number() OVER (ORDER BY :"id") AS n, fields, array_to_string(fields, ' ') AS document
FROM source_right AS s, pg_temp.fields_of(to_jsonb(s)) AS fields;
ANALYZE match_left, match_right;
SELECT count(*) AS left_rows, format_type((SELECT atttypid FROM pg_attribute WHERE attrelid = 'match_left'::regclass
                                           AND attname = 'id'), NULL) AS id_type FROM match_left \gset
SELECT count(*) AS right_rows FROM match_right \gset

-- How the candidates agree in each field. "Elsewhere" is for names in another order and parts of addresses.
CREATE OR REPLACE FUNCTION pg_temp.agreement(a text, b text, row_a text, row_b text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN lower(a) = lower(b) THEN 'equal'
        WHEN shingle_jaccard(a, b, 2) >= 0.6 THEN 'near' WHEN shingle_jaccard(a, b, 2) >= 0.3 THEN 'similar'
        WHEN shingle_containment(a, row_b, 2) >= 0.8 OR shingle_containment(b, row_a, 2) >= 0.8 THEN 'elsewhere'
        ELSE 'different' END $$;
CREATE FUNCTION pg_temp.pattern(l match_left, r match_right) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(pg_temp.agreement(a, b, l.document, r.document) ORDER BY n)
    FROM unnest(l.fields, r.fields) WITH ORDINALITY AS f (a, b, n) $$;
CREATE TEMP TABLE match_candidates ON COMMIT DROP AS
SELECT left_id, right_id, pg_temp.pattern(l, r) AS pattern
FROM lsh_pairs('SELECT id, document FROM match_left', NULL:: :id_type, threshold => :candidates,
        shingle_size => 3 :other)
    JOIN match_left l ON l.id = left_id JOIN match_right r ON r.id = right_id;
CREATE TEMP TABLE match_patterns ON COMMIT DROP AS
SELECT row_number() OVER () AS id, pattern, count(*) AS pairs FROM match_candidates GROUP BY pattern;
CREATE TEMP TABLE match_agreements ON COMMIT DROP AS
SELECT id, pairs, n, agreement FROM match_patterns, unnest(pattern) WITH ORDINALITY AS p (agreement, n);

\if :{?weights}
INSERT INTO field_weights SELECT field, agreement, bits FROM :weights;
\else
CREATE TEMP TABLE match_sample ON COMMIT DROP AS
SELECT pg_temp.pattern(l, r) AS pattern FROM generate_series(1, 100000) AS draw
    JOIN match_left l ON l.n = 1 + (hashint8extended(draw, 1) & 9223372036854775807) % :left_rows
    JOIN match_right r ON r.n = 1 + (hashint8extended(draw, 2) & 9223372036854775807) % :right_rows
WHERE :two OR l.n <> r.n;
-- There are at most as many matches as rows, within one table twice as many. Else two fields that say the same, such as
-- a town and its postal code, could make all pairs of one town matches.
CREATE TEMP TABLE match_prior ON COMMIT DROP AS
SELECT pairs, share, share * CASE WHEN :two THEN 1 ELSE 2 END AS most
FROM (SELECT :left_rows::float8 * (CASE WHEN :two THEN :right_rows ELSE (:left_rows - 1) / 2.0 END)::float8 AS pairs) p,
    LATERAL (SELECT greatest(least(:left_rows, :right_rows), 0.5) / (pairs + 1) AS share) s;
-- A kind of agreement that no pair shows counts as that of half a pair.
CREATE TEMP TABLE match_weights ON COMMIT DROP AS
SELECT f.n, agreement, m, any_pair AS u, any_pair, 0.5 / pairs AS lowest
FROM match_fields f CROSS JOIN (VALUES ('equal', 0.7::float8), ('near', 0.1), ('similar', 0.05), ('elsewhere', 0.05),
                                       ('different', 0.1)) AS first (agreement, m),
    LATERAL (SELECT count(pattern[f.n]) + 2.5::float8 AS pairs FROM match_sample) known,
    LATERAL (SELECT (count(*) + 0.5) / pairs AS any_pair FROM match_sample WHERE pattern[f.n] = agreement) shown;
DO $$
DECLARE
    before float8;
    now float8;
BEGIN
    FOR step IN 1 .. 100 LOOP
        SELECT share INTO now FROM match_prior;
        EXIT WHEN abs(ln(now / before)) < 0.0001;
        before := now;
        WITH judged AS (
            SELECT id, pairs / (1 + (1 - now) / now * exp(greatest(-500, least(500, sum(ln(u / m)))))) AS matches
            FROM match_agreements JOIN match_weights USING (n, agreement) GROUP BY id, pairs
        ), estimated AS (
            SELECT n, agreement,
                (sum(coalesce(matches, 0)) + 0.5) / (sum(sum(coalesce(matches, 0))) OVER (PARTITION BY n) + 2.5) AS m
            FROM match_weights LEFT JOIN match_agreements USING (n, agreement) LEFT JOIN judged USING (id)
            GROUP BY n, agreement
        ), prior AS (
            UPDATE match_prior SET share = (SELECT least(most, greatest(sum(matches), 0.5) / (pairs + 1)) FROM judged)
        )
        UPDATE match_weights w SET m = e.m, u = greatest(any_pair - now * e.m, lowest) / (1 - now)
        FROM estimated e WHERE e.n = w.n AND e.agreement = w.agreement;
    END LOOP;
END $$;
INSERT INTO field_weights
SELECT field, agreement, round(log(2, (m / u)::numeric), 2) FROM match_weights JOIN match_fields USING (n)
UNION ALL SELECT NULL, 'prior', round(log(2, (share / (1 - share))::numeric), 2) FROM match_prior;
\endif

SELECT string_agg(format('max(w.bits) FILTER (WHERE n = %s) AS %I', n, field), ', ' ORDER BY n) AS bits_of_fields,
    string_agg(quote_ident(field), ', ' ORDER BY n) AS fields FROM match_fields \gset
CREATE TABLE field_matches AS
SELECT left_id, right_id, :fields, bits :best
FROM match_candidates JOIN (
    SELECT pattern, :bits_of_fields,
        coalesce(sum(w.bits), 0) + (SELECT coalesce(sum(bits), 0) FROM field_weights WHERE field IS NULL) AS bits
    FROM match_patterns JOIN match_agreements USING (id) JOIN match_fields USING (n)
        LEFT JOIN field_weights w USING (field, agreement) GROUP BY pattern) AS judged USING (pattern);
COMMIT;
