-- Near-duplicates in plain SQL, for servers on which the extension cannot be installed. It needs
-- PostgreSQL 13 or later, and no superuser. plain_pairs() and plain_clusters() return the columns of lsh_pairs() and
-- lsh_clusters(), but by default compare runs of three words. doc/without-the-extension.md says how to use them.
--
--   psql -f doc/examples/without_the_extension.sql
--
-- A pair at similarity t shares at least t times the shingles of either text. So a row needs that many shingles that
-- other rows have, too; and if it leaves out one less than that of them, the most frequent ones, a row near it still
-- has one of the others. Rows that have one of them in common are compared. No pair is lost.

-- The set of a text's shingles: hashes of all runs of shingle_size words or characters, in lower case. In a
-- database whose encoding is UTF8, the words are those of the extension: ASCII symbols and signs such as # and % are
-- parts of words, and so is a - that begins a number.
CREATE FUNCTION plain_shingles(body text, shingle_size int DEFAULT 3, unit text DEFAULT 'word') RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    parts text[];
    gap text := '';
BEGIN
    IF unit = 'word' THEN
        body := ' ' || regexp_replace(lower(body), '[][\s!"''(),./:;?\\_`{}' ||
            '\u00a0\u00a1\u00ab\u00b6\u00b7\u00bb\u00bf\u2010-\u2027\u3001-\u3003\u3008-\u3011]+', ' ', 'g');
        parts := string_to_array(btrim(regexp_replace(body, '( |(?<! )-|-(?![0-9$]))+', ' ', 'g')), ' ');
        gap := ' ';
    ELSIF unit = 'char' THEN
        parts := string_to_array(btrim(regexp_replace(lower(body), '\s+', ' ', 'g')), NULL);
    ELSE
        RAISE 'unit must be ''char'' or ''word'', not ''%''', unit USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN ARRAY(SELECT DISTINCT hashtextextended(shingle, 0)
                 FROM (SELECT place, string_agg(part, gap) OVER (ORDER BY place
                           ROWS BETWEEN CURRENT ROW AND shingle_size - 1 FOLLOWING) AS shingle
                       FROM unnest(parts) WITH ORDINALITY AS p (part, place)) s
                 WHERE place <= greatest(1, cardinality(parts) - shingle_size + 1));
END $$;

-- Jaccard's similarity of two sets: what both have, divided by what at least one has.
CREATE FUNCTION plain_jaccard(a bigint[], b bigint[]) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(shared::float8 / nullif(cardinality(a) + cardinality(b) - shared, 0), 0)
    FROM (SELECT count(*) AS shared FROM (SELECT unnest(a) INTERSECT SELECT unnest(b)) both_have) s
$$;

-- The least number of shingles that a row with `shingles` of them shares with any row near it. (Rounding errors can
-- make a product such as 0.55 * 20 a little more than 11.)
CREATE FUNCTION plain_needed(shingles int, threshold float8) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT ceil(threshold * shingles - 1e-9)::int $$;

-- Shingles of a set of which each set near it has at least one: what a lookup asks a GIN index for.
CREATE FUNCTION plain_probe(shingles bigint[], threshold float8 DEFAULT 0.8) RETURNS bigint[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT shingles[1 : cardinality(shingles) - plain_needed(cardinality(shingles), threshold) + 1]
$$;

-- Fills temporary tables: plain_rows (nr, id, leader) has the rows of the query in the order of their ids, each with
-- the first row that has the same set; plain_near (a, b, similarity) has the near pairs of leaders, by nr, a < b.
CREATE FUNCTION plain_find(query text, threshold float8, shingle_size int, unit text) RETURNS void
LANGUAGE plpgsql SET client_min_messages = warning AS $find$
BEGIN
    IF num_nulls(query, threshold, shingle_size, unit) > 0 THEN
        RAISE 'no argument may be NULL' USING ERRCODE = 'null_value_not_allowed';
    ELSIF threshold <= 0 OR threshold > 1 THEN
        RAISE 'threshold must be greater than 0 and at most 1, not %', threshold
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF query !~* '^\W*(select|with|values|table)\M' THEN
        RAISE 'query is no SELECT: %', query
            USING ERRCODE = 'syntax_error', HINT = 'Use, for example, SELECT id, body FROM articles.';
    END IF;
    DROP TABLE IF EXISTS pg_temp.plain_sets, pg_temp.plain_rows, pg_temp.plain_shared, pg_temp.plain_enough,
        pg_temp.plain_keys, pg_temp.plain_near, pg_temp.plain_nodes;
    EXECUTE format($$ CREATE TEMP TABLE plain_sets AS
        SELECT row_number() OVER (ORDER BY id)::int AS nr, id, plain_shingles(body, %s, %L) AS shingles
        FROM (%s) AS q (id, body) WHERE id IS NOT NULL AND body IS NOT NULL $$, shingle_size, unit, query);
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'pg_temp.plain_sets'::regclass AND attname = 'id'
                   AND atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)) THEN
        RAISE 'ids of the query are no integers' USING ERRCODE = 'datatype_mismatch',
            HINT = 'Number the rows, for example by SELECT row_number() OVER (ORDER BY id), body FROM articles.';
    END IF;
    CREATE TEMP TABLE plain_rows AS
        SELECT nr, id, min(nr) OVER (PARTITION BY hash_array_extended(shingles, 0)) AS leader
        FROM plain_sets WHERE shingles <> '{}';
    DELETE FROM plain_sets s WHERE NOT EXISTS (SELECT FROM plain_rows r WHERE r.nr = s.nr AND r.leader = s.nr);
    ANALYZE plain_sets;
    -- The shingles that several sets have, and how many have each.
    CREATE TEMP TABLE plain_shared AS
        SELECT shingle, count(*)::int AS sets FROM plain_sets, unnest(shingles) AS shingle
        GROUP BY shingle HAVING count(*) > 1;
    ANALYZE plain_shared;
    -- Of each set that has enough of them, the rarest.
    CREATE TEMP TABLE plain_enough AS
        SELECT nr, count(*) - plain_needed(size, threshold) + 1 AS keys
        FROM (SELECT nr, cardinality(shingles) AS size, unnest(shingles) AS shingle FROM plain_sets) s
             JOIN plain_shared USING (shingle)
        GROUP BY nr, size HAVING count(*) >= plain_needed(size, threshold);
    ANALYZE plain_enough;
    CREATE TEMP TABLE plain_keys AS
        SELECT nr, size, shingle
        FROM (SELECT nr, size, keys, shingle, row_number() OVER (PARTITION BY nr ORDER BY sets, shingle) AS place
              FROM (SELECT nr, keys, cardinality(shingles) AS size, unnest(shingles) AS shingle
                    FROM plain_enough JOIN plain_sets USING (nr)) s JOIN plain_shared USING (shingle)) ordered
        WHERE place <= keys;
    ANALYZE plain_keys;
    CREATE TEMP TABLE plain_near AS
        SELECT a, b, similarity
        FROM (SELECT DISTINCT p.nr AS a, q.nr AS b FROM plain_keys p JOIN plain_keys q USING (shingle)
              WHERE p.nr < q.nr AND least(p.size, q.size) >= plain_needed(greatest(p.size, q.size), threshold)) c
             JOIN plain_sets x ON x.nr = a JOIN plain_sets y ON y.nr = b
             CROSS JOIN LATERAL plain_jaccard(x.shingles, y.shingles) AS similarity
        WHERE similarity >= threshold;
    DROP TABLE plain_sets, plain_shared, plain_enough, plain_keys;
END $find$;

-- As lsh_pairs(): the near pairs of the rows of a query that returns (id, text). Ids are integers; number other rows.
CREATE FUNCTION plain_pairs(query text, threshold float8 DEFAULT 0.8,
                            shingle_size int DEFAULT 3, unit text DEFAULT 'word')
RETURNS TABLE (left_id bigint, right_id bigint, similarity float8) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM plain_find(query, threshold, shingle_size, unit);
    RETURN QUERY
        SELECT l.id::bigint, r.id::bigint, p.similarity
        FROM (SELECT a, b, similarity FROM plain_near UNION ALL SELECT DISTINCT leader, leader, 1 FROM plain_rows) p
             JOIN plain_rows x ON x.leader = a JOIN plain_rows y ON y.leader = b AND (a <> b OR x.nr < y.nr)
             JOIN plain_rows l ON l.nr = least(x.nr, y.nr) JOIN plain_rows r ON r.nr = greatest(x.nr, y.nr);
END $$;

-- As lsh_clusters(..., near_representative => true): rows come in the order of their ids, and each joins the first
-- cluster whose representative it is near, or else begins a cluster.
CREATE FUNCTION plain_clusters(query text, threshold float8 DEFAULT 0.8,
                               shingle_size int DEFAULT 3, unit text DEFAULT 'word')
RETURNS TABLE (id bigint, cluster_id bigint, representative bigint, size bigint, similarity float8)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM plain_find(query, threshold, shingle_size, unit);
    -- In each round, what only follows rows that joined another becomes a representative, and what is near one joins.
    CREATE TEMP TABLE plain_nodes AS
        SELECT b AS nr, NULL::boolean AS represents FROM plain_near UNION SELECT a, NULL FROM plain_near;
    LOOP
        UPDATE plain_nodes n SET represents = true
        WHERE represents IS NULL AND NOT EXISTS (SELECT FROM plain_near JOIN plain_nodes m ON m.nr = a
                                                 WHERE b = n.nr AND m.represents IS DISTINCT FROM false);
        EXIT WHEN NOT FOUND;
        UPDATE plain_nodes n SET represents = false
        WHERE represents IS NULL AND EXISTS (SELECT FROM plain_near JOIN plain_nodes m ON m.nr = a
                                             WHERE b = n.nr AND m.represents);
    END LOOP;
    RETURN QUERY
        WITH joined AS (
            SELECT DISTINCT ON (b) b AS leader, a AS first, similarity
            FROM plain_near JOIN plain_nodes x ON x.nr = a AND x.represents
                 JOIN plain_nodes y ON y.nr = b AND NOT y.represents ORDER BY b, a),
        members AS (
            SELECT r.id, coalesce(j.first, r.leader) AS first, coalesce(j.similarity, 1) AS similarity,
                   count(*) OVER (PARTITION BY coalesce(j.first, r.leader)) AS size
            FROM plain_rows r LEFT JOIN joined j ON j.leader = r.leader)
        SELECT m.id::bigint, f.id::bigint, f.id::bigint, m.size, m.similarity
        FROM members m JOIN plain_rows f ON f.nr = m.first WHERE m.size > 1;
END $$;
