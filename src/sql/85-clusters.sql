-- Clusters that are kept in a user's table, and are refreshed after rows have been added, changed or deleted.
--
-- Beside the kept table stands a table of one row, its settings: the query and the arguments, which the owner changes
-- by UPDATE, and what the last refresh did. The default of the column content_hash refers to that table, by a constant
-- of type regclass, which follows it wherever it goes. A refresh updates the row first. So if the snapshot of a
-- transaction is older than another refresh, its own refresh fails, as it must.
--
-- The work of a refresh is one statement (in _lsh_kept_write()), so that all of its parts, which src/README.md lists,
-- see the same snapshot. They are STABLE functions, so their statements see it, too. Ids have any type, and the tables
-- any name; so the functions that read or write tables are short and dynamic. They pass ids as text to
-- _lsh_kept_result(), which decides everything and is static. So that an id stays the same when it is written and read
-- as text, refreshes set how floating-point numbers, dates and intervals are written. Whether an id of type regclass
-- shows the schema of its table depends on the search path; so ids become text under our path, not under the query's.
--
-- The planner cannot estimate how many rows a refresh will process, but it expects an array from a subquery to have ten
-- elements. So tables are joined with arrays of ids from a subquery. The planner then uses the tables' indexes.

CREATE TYPE _lsh_kept AS (
    target text,             -- the kept table
    path text,               -- the search path of the query
    relations bigint[],      -- what the query reads, and the kept table
    source text,             -- the query as a FROM item
    columns text,            -- the columns of the source after the id, but for the rank
    ranked_columns text,     -- all columns of the source after the id
    ids regtype,
    id_type text,            -- the name of that type, with its schema
    equal text,              -- the operator that compares ids
    arguments text,          -- of lsh_clusters(), from threshold to method
    near boolean,
    apart text,              -- the query of verdicts: which rows a person has told apart
    is_told boolean,         -- only some rows are looked at
    everything boolean,      -- all rows are clustered again
    hash_seed bigint,
    contents bigint,         -- the XOR of all content_hash and of their number; NULL: don't compare
    lookup text,             -- the condition that finds candidates through an index; NULL: there is no index
    similarity text,         -- of a row n and a row o; NULL: all changes cluster their components again
    threshold double precision,
    rows_of_lookup double precision, -- how many rows can be read, signed and banded in the time of one lookup
    rows_expected double precision,
    last_cluster_id bigint
);
COMMENT ON TYPE _lsh_kept IS 'what a refresh of kept clusters knows before it begins';

CREATE TYPE _lsh_kept_row AS (
    id text, content_hash bigint,
    is_here boolean,         -- the query returns the row
    is_fresh boolean,        -- its content is new or has changed
    was_here boolean,        -- the kept table has the row
    old_cluster bigint, old_representative text, old_similarity double precision, old_component bigint, old_hash bigint
);
COMMENT ON TYPE _lsh_kept_row IS 'a row that a refresh of kept clusters looks at, as it was';

-- A SELECT of some rows of the source. The ids are those of the array: the source's own may be written otherwise.
CREATE FUNCTION _lsh_kept_subset(k _lsh_kept, columns text, wanted text[]) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
    SELECT concat('SELECT r.id', columns, ' FROM ', k.source, ' AS q(id, content) JOIN (SELECT CAST(x AS ', k.id_type,
        ') FROM pg_catalog.unnest(CAST((', CASE WHEN cardinality(wanted) < k.rows_expected / 10 THEN 'SELECT ' END,
        quote_literal(wanted), ') AS pg_catalog.text[])) AS u(x)) AS r(id) ON q.id ', k.equal, ' r.id')
$$;
COMMENT ON FUNCTION _lsh_kept_subset(_lsh_kept, text, text[]) IS 'a SELECT of the rows of kept clusters that have these ids';

-- A call of lsh_clusters(), as a FROM item.
CREATE FUNCTION _lsh_kept_clustering(k _lsh_kept, source text, near_representative boolean, singletons boolean,
    apart text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT concat('@extschema@._lsh_kept_clusters(CAST(', quote_literal(source), ' AS pg_catalog.text), CAST(',
        quote_literal(k.id_type), ' AS pg_catalog.regtype), ', k.arguments, ', CAST(',
        quote_literal(near_representative), ' AS pg_catalog.bool), CAST(', quote_literal(singletons),
        ' AS pg_catalog.bool), CAST(', quote_nullable(apart), ' AS pg_catalog.text)) AS c(id ', k.id_type,
        ', cluster_id ', k.id_type, ', representative ', k.id_type,
        ', size pg_catalog.int8, similarity pg_catalog.float8, component ', k.id_type, ')')
$$;
COMMENT ON FUNCTION _lsh_kept_clustering(_lsh_kept, text, boolean, boolean, text) IS
    'a FROM item: the clusters of rows of kept clusters';

-- From the XOR of all rows' hashes, a refresh knows whether the table is as the last refresh has left it.
CREATE FUNCTION _lsh_kept_row_hash(ids regtype, names text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('hashint8extended(%s, hashint8extended(%s, hashfloat8extended(%s, %s)))', names[2], names[5],
        names[4], format(id_hash, names[3], format(id_hash, names[1], names[6])))
    FROM (SELECT CASE WHEN ids IN ('int2', 'int4', 'int8') THEN 'hashint8extended(%s, %s)'
        WHEN ids = 'uuid'::regtype THEN 'uuid_hash_extended(%s, %s)'
        ELSE 'hashtextextended(CAST(%s AS text) COLLATE "C", %s)' END) AS s(id_hash)
$$;
COMMENT ON FUNCTION _lsh_kept_row_hash(regtype, text[]) IS 'the SQL expression for the hash of a row of kept clusters';

-- The rows that are new, gone or changed; all rows if `everything` is to be clustered.
CREATE FUNCTION _lsh_kept_changes(k _lsh_kept, told text[]) RETURNS SETOF _lsh_kept_row
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    condition text := CASE WHEN k.everything THEN 'true'
        -- If the query's rows and the table's rows have the same combined hash, nothing has changed. Comparing the two
        -- takes a fraction of the time of a join.
        ELSE '(n.content_hash = b.content_hash) IS NOT TRUE
            AND NOT EXISTS (SELECT FROM now WHERE content_hash IS NULL)' END;
    id text := CASE WHEN k.everything THEN 'n.id, b.id' ELSE 'b.id, n.id' END;
    target text := concat(k.target, ' AS t', CASE WHEN k.is_told THEN format(' JOIN unnest((SELECT $3)) AS u(x)
        ON t.id %s CAST(u.x AS %s)', k.equal, k.id_type) END);
BEGIN
    RETURN QUERY EXECUTE concat('WITH now AS MATERIALIZED (SELECT h.id, h.content_hash, true AS here
        FROM @extschema@._lsh_kept_hashes($1, $2, $4, $5) AS h(id ', k.id_type, ', content_hash int8))
    SELECT CAST(coalesce(', id, ') AS text), n.content_hash, coalesce(n.here, false),
        coalesce(n.here AND (n.content_hash = b.content_hash) IS NOT TRUE, false), coalesce(b.there, false),
        b.cluster_id, CAST(b.representative AS text), b.similarity, b.component, b.content_hash
    FROM now AS n FULL JOIN (SELECT t.id, t.cluster_id, t.representative, t.similarity, t.component, t.content_hash,
        true AS there FROM ', target, ') AS b ON n.id ', k.equal, ' b.id
    WHERE ', condition)
    USING CASE WHEN k.is_told THEN @extschema@._lsh_kept_subset(k, k.ranked_columns, told)
        ELSE 'SELECT * FROM ' || k.source || ' AS q' END, k.path, told, k.hash_seed, k.contents;
END $$;
COMMENT ON FUNCTION _lsh_kept_changes(_lsh_kept, text[]) IS 'the changed rows of kept clusters';

-- What is near fresh rows: the components of old rows, and other fresh rows. With an index, at most 100 of the rows
-- near each are read. If `known` is given, all are read except for most rows of the known components, which may be
-- many. Without an index, all rows are clustered, because there could be very many pairs, and rows count as near if
-- pairs connect them. Rows that lookups find are not compared exactly. So a component may be clustered again without
-- need, and then comes out as it was.
CREATE FUNCTION _lsh_kept_near(k _lsh_kept, fresh text[], wanted text[], known bigint[],
    OUT id text, OUT component bigint, OUT other text, OUT found bigint) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_fresh text := concat(' ', k.equal, ' ANY (SELECT CAST(f.x AS ', k.id_type, ')
        FROM pg_catalog.unnest(CAST(', quote_literal(fresh), ' AS pg_catalog.text[])) AS f(x))');
    -- The planner must not know the limit, or it may rather scan the table, if it expects many rows to be near. It must
    -- not use a bitmap, because it would then sign the rows again, whatever the index says.
    condition text := CASE WHEN known IS NULL THEN ' LIMIT (SELECT 100)' ELSE concat(' AND NOT o.id ', k.equal,
        ' ANY (SELECT t.id FROM ', k.target, ' AS t WHERE t.component OPERATOR(pg_catalog.=)
            ANY (CAST(', quote_literal(known), ' AS pg_catalog.int8[]))
        AND NOT t.id', is_fresh, ') LIMIT (SELECT CAST(1e9 AS pg_catalog.int8))') END;
    cost double precision := k.rows_of_lookup;
    statement text;
BEGIN
    IF known IS NOT NULL THEN
        -- A lookup reads all entries of the known rows, each in a tenth of the time that a row takes to be signed.
        EXECUTE format('SELECT count(*) / 10 FROM unnest((SELECT $1)) AS u(x) JOIN %s AS t ON t.component = u.x',
            k.target) INTO cost USING known;
    END IF;
    statement := CASE WHEN cardinality(wanted) * cost <= k.rows_expected
        -- A lookup may find 50,000 rows, and the planner expect millions: a join would read the whole kept table.
        THEN concat('SELECT CAST(n.id AS pg_catalog.text), CASE WHEN NOT o.is_fresh THEN (SELECT t.component
                FROM ', k.target, ' AS t WHERE t.id ', k.equal, ' o.id) END,
                CASE WHEN o.is_fresh THEN CAST(o.id AS pg_catalog.text) END, pg_catalog.count(*)
            FROM (', @extschema@._lsh_kept_subset(k, k.columns, wanted), ') AS n(id, content),
                LATERAL (SELECT o.id, o.id', is_fresh, ' AS is_fresh FROM ', k.source, ' AS o(id, content)
                    WHERE ', k.lookup, ' AND NOT o.id ', k.equal, ' n.id', condition, ') AS o
            GROUP BY 1, 2, 3')
        ELSE concat('WITH c AS MATERIALIZED (SELECT c.id, c.component AS whole, c.id', is_fresh, ' AS is_fresh FROM ',
                @extschema@._lsh_kept_clustering(k, concat('SELECT q.id', k.columns, ' FROM ', k.source,
                    ' AS q(id, content)'), false, false, CAST(NULL AS text)), ')
            SELECT f.x, o.component, CAST(NULL AS pg_catalog.text), CAST(0 AS pg_catalog.int8)
            FROM pg_catalog.unnest(CAST(', quote_literal(fresh), ' AS pg_catalog.text[])) AS f(x)
                JOIN c AS n ON n.id ', k.equal, ' CAST(f.x AS ', k.id_type, ')
                JOIN (SELECT DISTINCT c.whole, t.component FROM c JOIN ', k.target, ' AS t ON t.id ', k.equal,
                ' c.id WHERE NOT c.is_fresh AND c.whole ', k.equal, ' ANY (SELECT c.whole FROM c WHERE c.is_fresh)) AS o
                ON o.whole ', k.equal, ' n.whole') END;
    IF cardinality(wanted) > 0 THEN
        RETURN QUERY SELECT * FROM @extschema@._lsh_kept_rows(statement, k.path)
            AS n(id text, component bigint, other text, found bigint);
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_near(_lsh_kept, text[], text[], bigint[]) IS
    'the components of kept clusters, and the fresh rows, that are near fresh rows';

-- The clusters of components, and whether all of their rows are near the representative.
CREATE FUNCTION _lsh_kept_heads(k _lsh_kept, components bigint[], OUT component bigint, OUT cluster_id bigint,
    OUT representative text, OUT row_count bigint, OUT is_near boolean) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF k.similarity IS NOT NULL THEN
        RETURN QUERY EXECUTE format('SELECT t.component, t.cluster_id,
            min(CAST(t.id AS text)) FILTER (WHERE t.id %s t.representative), count(*), bool_and(t.similarity >= $1)
            FROM unnest((SELECT $2)) AS u(x) JOIN %s AS t ON t.component = u.x GROUP BY 1, 2', k.equal, k.target)
            USING k.threshold, components;
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_heads(_lsh_kept, bigint[]) IS 'the representatives of components of kept clusters';

-- Each of these rows with the first of its possible representatives, in the order of ids, that it is near and that
-- comes before it; and how many rows have the same id.
CREATE FUNCTION _lsh_kept_joined(k _lsh_kept, fresh text[], heads text[],
    OUT id text, OUT representative text, OUT similarity double precision, OUT row_count bigint) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF cardinality(fresh) > 0 THEN
        -- The order of ids is that of their type, whatever collation the query's column has.
        RETURN QUERY SELECT * FROM @extschema@._lsh_kept_rows(concat('WITH u AS (SELECT u.n, u.o,
                CAST(u.n AS ', k.id_type, ') AS own, CAST(u.o AS ', k.id_type, ') AS head
            FROM ROWS FROM (pg_catalog.unnest(CAST((SELECT ', quote_literal(fresh), ') AS pg_catalog.text[])),
                pg_catalog.unnest(CAST((SELECT ', quote_literal(heads), ') AS pg_catalog.text[]))) AS u(n, o))
            SELECT DISTINCT ON (s.n) s.n, s.o, s.similarity, s.row_count
            FROM (SELECT u.*, ', k.similarity, ' AS similarity,
                    pg_catalog.count(*) OVER (PARTITION BY u.n, u.o) AS row_count
                FROM u JOIN ', k.source, ' AS n(id, content) ON n.id ', k.equal, ' u.own
                    JOIN ', k.source, ' AS o(id, content) ON o.id ', k.equal, ' u.head
                WHERE NOT u.own ', k.equal, ' least(u.own, u.head)) AS s
            WHERE s.similarity OPERATOR(pg_catalog.>=) ', quote_literal(k.threshold), ' ORDER BY s.n, s.head'), k.path)
            AS j(id text, representative text, similarity double precision, row_count bigint);
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_joined(_lsh_kept, text[], text[]) IS 'the representatives of fresh rows of kept clusters';

CREATE FUNCTION _lsh_kept_region(k _lsh_kept, components bigint[]) RETURNS SETOF _lsh_kept_row
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT CAST(t.id AS text), t.content_hash, true, false, true, t.cluster_id,
            CAST(t.representative AS text), t.similarity, t.component, t.content_hash
        FROM unnest((SELECT $1)) AS u(x) JOIN %s AS t ON t.component = u.x', k.target) USING components;
END $$;
COMMENT ON FUNCTION _lsh_kept_region(_lsh_kept, bigint[]) IS 'the rows of components of kept clusters';

-- The new clusters of the rows of some components, and of new rows. Clusters and components are numbered in the order
-- of their smallest ids.
CREATE FUNCTION _lsh_kept_members(k _lsh_kept, components bigint[], new text[],
    OUT id text, OUT key bigint, OUT component_key bigint, OUT representative text, OUT similarity double precision)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    source text := CASE WHEN k.everything THEN 'SELECT * FROM ' || k.source || ' AS q'
        ELSE concat_ws(' UNION ALL ', 'SELECT r.id' || k.ranked_columns || ' FROM ' || k.source || ' AS q(id, content)
                JOIN ' || k.target || ' AS r ON q.id ' || k.equal || ' r.id WHERE r.component OPERATOR(pg_catalog.=)
                ANY (CAST(' || quote_literal(nullif(components, '{}')) || ' AS pg_catalog.int8[]))',
            @extschema@._lsh_kept_subset(k, k.ranked_columns, nullif(new, '{}'))) END;
BEGIN
    IF source <> '' THEN
        RETURN QUERY EXECUTE concat('SELECT CAST(c.id AS text), dense_rank() OVER (ORDER BY c.component, c.cluster_id),
            dense_rank() OVER (ORDER BY c.component), CAST(c.representative AS text), c.similarity
            FROM @extschema@._lsh_kept_rows($1, $2) AS c(id ', k.id_type, ', cluster_id ', k.id_type,
                ', representative ', k.id_type, ', similarity float8, component ', k.id_type, ')')
            USING concat('SELECT c.id, c.cluster_id, c.representative, c.similarity, c.component FROM ',
                @extschema@._lsh_kept_clustering(k, source, k.near, true, k.apart)), k.path;
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_members(_lsh_kept, bigint[], text[]) IS 'the new clusters of some rows of kept clusters';

CREATE FUNCTION _lsh_kept_unique(repeated text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF repeated IS NOT NULL THEN
        RAISE EXCEPTION 'query returned several rows of one id' USING ERRCODE = 'unique_violation',
            DETAIL = format('The id is %s.', repeated), HINT = 'Ids must be unique in the query.';
    END IF;
    RETURN true;
END $$;
COMMENT ON FUNCTION _lsh_kept_unique(text) IS 'fails if the query of kept clusters returned an id twice';

-- Decides what becomes of each row. Cluster ids: each old cluster passes its id on to its heir, the new cluster that
-- has the largest number of its unchanged rows or, if this number is equal, of all its rows. If a new cluster gets
-- several ids, it keeps the oldest. A cluster has split if its unchanged rows are in several clusters now. If all of
-- its rows have changed, they count as unchanged.
CREATE FUNCTION _lsh_kept_result(k _lsh_kept, told text[],
    OUT id text, OUT content_hash bigint, OUT is_fresh boolean, OUT was_here boolean, OUT old_cluster bigint,
    OUT old_representative text, OUT old_similarity double precision, OUT old_component bigint, OUT old_hash bigint,
    OUT heir_cluster bigint, OUT counts boolean, OUT cluster_id bigint, OUT representative text,
    OUT similarity double precision, OUT component bigint) RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 100 SET search_path = pg_catalog, pg_temp SET enable_mergejoin = off AS $$
WITH RECURSIVE changes AS MATERIALIZED (
    SELECT * FROM @extschema@._lsh_kept_changes(k, told)
), near_first AS MATERIALIZED (
    SELECT n.* FROM (SELECT ARRAY(SELECT id FROM changes WHERE is_fresh) AS fresh WHERE NOT k.everything) AS c,
        LATERAL @extschema@._lsh_kept_near(k, fresh, fresh, CAST(NULL AS bigint[])) AS n
), near AS MATERIALIZED (
    SELECT id, component, other FROM near_first
    UNION SELECT n.id, n.component, n.other
    FROM (SELECT array_agg(DISTINCT id) AS ids, array_agg(DISTINCT component) AS components FROM near_first
          WHERE id IN (SELECT id FROM near_first GROUP BY id HAVING sum(found) >= 100)) AS m,
        LATERAL @extschema@._lsh_kept_near(k, ARRAY(SELECT id FROM changes WHERE is_fresh), ids, components) AS n
), heads AS MATERIALIZED (
    SELECT *, count(*) OVER of_component AS clusters, sum(row_count) OVER of_component AS rows_of_component,
        representative IN (SELECT id FROM changes) AS is_changed
    FROM @extschema@._lsh_kept_heads(k, ARRAY(SELECT component FROM near
        UNION SELECT old_component FROM changes WHERE NOT k.everything)) WINDOW of_component AS (PARTITION BY component)
), joined AS MATERIALIZED (
    -- Comparing many rows with many representatives would take longer than clustering the component again.
    SELECT j.id, h.cluster_id, j.representative, j.similarity, j.row_count, h.component
    FROM (SELECT array_agg(id) AS ids, array_agg(representative) AS heads
          FROM (SELECT id, min(component) AS component, count(*) OVER (PARTITION BY min(component)) AS rows
                FROM near GROUP BY id HAVING count(DISTINCT component) = 1) AS n JOIN heads AS h USING (component)
          WHERE NOT is_changed AND n.rows * clusters <= rows_of_component + 100) AS p,
        LATERAL @extschema@._lsh_kept_joined(k, ids, heads) AS j JOIN heads AS h USING (representative)
), restless AS (
    -- A fresh row that does not join; two that are near each other, of which one does; an old row that others need.
    (SELECT component FROM near
     WHERE component IS NOT NULL AND NOT EXISTS (SELECT FROM joined AS j WHERE j.id = near.id)
     UNION SELECT unnest(ARRAY[n.component, o.component])
     FROM near JOIN joined AS n USING (id) LEFT JOIN joined AS o ON o.id = near.other
     WHERE near.other IS NOT NULL AND n.component IS DISTINCT FROM o.component
     UNION SELECT old_component FROM changes WHERE was_here AND NOT k.everything AND NOT EXISTS (SELECT FROM heads AS h
         WHERE h.component = old_component AND clusters = 1 AND is_near AND NOT is_changed))
    UNION SELECT j.component -- so that it can get the number of a cluster whose rows join it
    FROM restless AS r JOIN changes AS c ON c.old_component = r.component JOIN joined AS j USING (id)
), sorted AS MATERIALIZED (
    SELECT c.*, NOT k.everything AND c.is_here = (j.component IS NOT NULL) AND NOT EXISTS (
            SELECT FROM restless AS r WHERE r.component = coalesce(j.component, c.old_component)) AS is_settled,
        c.was_here AND NOT k.everything
            AND NOT EXISTS (SELECT FROM restless AS r WHERE r.component = c.old_component) AS has_left
    FROM changes AS c LEFT JOIN joined AS j USING (id)
), region AS MATERIALIZED (
    SELECT * FROM sorted
    UNION ALL SELECT r.*, false, false FROM @extschema@._lsh_kept_region(k, ARRAY(SELECT component FROM restless)) AS r
    WHERE NOT EXISTS (SELECT FROM sorted AS s WHERE s.id = r.id AND s.was_here)
), members AS MATERIALIZED (
    SELECT * FROM @extschema@._lsh_kept_members(k, ARRAY(SELECT component FROM restless),
        ARRAY(SELECT id FROM sorted WHERE (has_left OR NOT was_here) AND NOT is_settled AND NOT k.everything))
), placed AS MATERIALIZED (
    SELECT r.*, m.key, m.representative, m.similarity FROM region AS r LEFT JOIN members AS m USING (id)
), parts AS MATERIALIZED (
    SELECT old_cluster, key, rows,
        CASE WHEN sum(same_rows) OVER (PARTITION BY old_cluster) = 0 THEN rows ELSE same_rows END AS same_rows
    FROM (SELECT old_cluster, key, count(*) AS rows, count(*) FILTER (WHERE NOT is_fresh) AS same_rows
          FROM placed WHERE was_here AND NOT has_left AND key IS NOT NULL GROUP BY old_cluster, key) AS p
), heirs AS MATERIALIZED (
    SELECT DISTINCT ON (old_cluster) old_cluster, key FROM parts ORDER BY old_cluster, same_rows DESC, rows DESC, key
), numbers AS MATERIALIZED (
    SELECT key, cluster_id, min(cluster_id) OVER (PARTITION BY component_key) AS component
    FROM (SELECT key, component_key, coalesce(min(old_cluster), k.last_cluster_id
              + row_number() OVER (PARTITION BY min(old_cluster) IS NULL ORDER BY key)) AS cluster_id
          FROM members LEFT JOIN heirs USING (key) GROUP BY key, component_key) AS n
)
SELECT r.id, r.content_hash, r.is_fresh, r.was_here, r.old_cluster, r.old_representative, r.old_similarity,
    r.old_component, r.old_hash, CASE WHEN r.has_left THEN r.old_cluster ELSE i.cluster_id END, p.same_rows > 0,
    coalesce(n.cluster_id, j.cluster_id), coalesce(r.representative, j.representative),
    coalesce(r.similarity, j.similarity), coalesce(n.component, j.component)
FROM placed AS r LEFT JOIN numbers AS n USING (key) LEFT JOIN joined AS j ON j.id = r.id AND r.is_settled
    LEFT JOIN (heirs AS h JOIN numbers AS i USING (key)) USING (old_cluster)
    LEFT JOIN parts AS p ON p.old_cluster = r.old_cluster AND p.key = r.key
WHERE ((SELECT count(*) FROM placed) = (SELECT count(*) FROM region)
       OR @extschema@._lsh_kept_unique((SELECT id FROM members GROUP BY id HAVING count(*) > 1 LIMIT 1)))
    AND @extschema@._lsh_kept_unique((SELECT id FROM joined WHERE row_count > 1 LIMIT 1))
$$;
COMMENT ON FUNCTION _lsh_kept_result(_lsh_kept, text[]) IS 'the rows that a refresh of kept clusters has looked at';

-- Writes the rows that differ. `ids_told` is the SELECT or DELETE of ids to look at, `logging` what writes the log.
-- Told ids may be equal although their texts differ, such as 1.0 and 1.00, and an id that is a row may have NULLs.
CREATE FUNCTION _lsh_kept_write(k _lsh_kept, ids_told text, logging text, refresh bigint, began timestamptz,
    OUT figures bigint[], OUT digests bigint[])
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('WITH told AS %1$s, result AS MATERIALIZED (
    SELECT r.*, CAST(r.id AS %2$s) AS key, CAST(r.representative AS %2$s) AS new_representative,
        CAST(r.old_representative AS %2$s) AS former_representative,
        r.was_here AND r.cluster_id IS NOT NULL AND (r.old_cluster, r.old_representative, r.old_similarity,
            r.old_component, r.old_hash) IS DISTINCT FROM (r.cluster_id, r.representative, r.similarity, r.component,
            r.content_hash) AS is_different
    FROM %8$s._lsh_kept_result($1, ARRAY(
        SELECT CAST(d.id AS text) FROM (SELECT DISTINCT id FROM told WHERE num_nulls(id) = 0) AS d)) AS r
), deleted AS (
    DELETE FROM %3$s AS t USING result AS r WHERE r.was_here AND r.cluster_id IS NULL AND t.id %4$s r.key
), updated AS (
    UPDATE %3$s AS t SET cluster_id = r.cluster_id, representative = r.new_representative, similarity = r.similarity,
        component = r.component, content_hash = r.content_hash
    FROM result AS r WHERE r.is_different AND t.id %4$s r.key
), inserted AS (
    INSERT INTO %3$s (id, cluster_id, representative, similarity, component, content_hash)
    SELECT key, cluster_id, new_representative, similarity, component, content_hash
    FROM result WHERE NOT was_here AND cluster_id IS NOT NULL ORDER BY cluster_id, key
)%5$s
SELECT ARRAY[count(*) FILTER (WHERE NOT was_here AND cluster_id IS NOT NULL),
        count(*) FILTER (WHERE was_here AND cluster_id IS NULL),
        count(*) FILTER (WHERE was_here AND cluster_id IS NOT NULL AND is_fresh),
        count(DISTINCT cluster_id) FILTER (WHERE cluster_id > ($1).last_cluster_id),
        count(DISTINCT old_cluster) FILTER (WHERE heir_cluster <> old_cluster),
        (SELECT count(*) FROM (SELECT FROM result WHERE counts GROUP BY old_cluster
                               HAVING count(DISTINCT cluster_id) > 1) AS s),
        count(DISTINCT old_cluster) FILTER (WHERE heir_cluster IS NULL), max(cluster_id)],
    ARRAY[bit_xor(%6$s) FILTER (WHERE was_here), bit_xor(%7$s) FILTER (WHERE cluster_id IS NOT NULL),
        bit_xor(old_hash), bit_xor(content_hash) FILTER (WHERE cluster_id IS NOT NULL)]
FROM result', ids_told, k.id_type, k.target, k.equal, logging,
        @extschema@._lsh_kept_row_hash(k.ids,
            '{key,old_cluster,former_representative,old_similarity,old_component,old_hash}'::text[]),
        @extschema@._lsh_kept_row_hash(k.ids,
            '{key,cluster_id,new_representative,similarity,component,content_hash}'::text[]), '@extschema@')
    INTO figures, digests USING k, refresh, began;
END $$;
COMMENT ON FUNCTION _lsh_kept_write(_lsh_kept, text, text, bigint, timestamptz) IS 'refreshes kept clusters';

-- What the owner of kept clusters has set. What was told apart counts as a setting, so a new verdict makes the refresh
-- cluster all rows again.
CREATE FUNCTION _lsh_kept_settings(kept jsonb, apart text) RETURNS jsonb
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_object_agg(name, kept->name) || jsonb_build_object('verdicts', (
        SELECT concat(count(*), ' ', sum(hashtextextended(v.pair, 0)))
        FROM (SELECT DISTINCT concat(least(r.a, r.b), E'\t', greatest(r.a, r.b)) AS pair
              FROM @extschema@._lsh_kept_rows('SELECT CAST(v.left_id AS pg_catalog.text),
                  CAST(v.right_id AS pg_catalog.text) FROM (' || apart || E'\n) AS v(left_id, right_id)',
                  kept->>'search_path') AS r(a text, b text)) AS v))
    FROM unnest('{query,search_path,apart,threshold,recall,bands,rows,verify,max_bucket,num_hashes,shingle_size,unit,
        fold,bag,seed,method,near_representative,hash_seed}'::text[]) AS name
$$;
COMMENT ON FUNCTION _lsh_kept_settings(jsonb, text) IS 'what the next refresh of kept clusters compares';

-- A table's name with its schema, quoted, and the table that has it. The name is looked up in a search_path; a new
-- table would be made in the first schema of that path.
CREATE FUNCTION _lsh_kept_table(name text, search_path text, OUT full_name text, OUT relation regclass)
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[];
    schema text;
BEGIN
    BEGIN
        parts := parse_ident(name);
    EXCEPTION WHEN invalid_parameter_value THEN
        RAISE EXCEPTION 'invalid name of a table: %', name USING ERRCODE = 'invalid_name', HINT = 'Put a name that is '
            'no lower-case word into double quotes, as in ''"Big name"'' or ''news."Big name"''.';
    END;
    full_name := (SELECT string_agg(quote_ident(part), '.') FROM unnest(parts) AS part);
    PERFORM set_config('search_path', search_path, true);
    relation := pg_catalog.to_regclass(full_name);
    schema := pg_catalog.current_schema();
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    IF cardinality(parts) = 1 AND schema IS NOT NULL THEN
        full_name := format('%I.%s', schema, full_name);
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_table(text, text) IS 'a table by its name';

-- The table of a refresh's settings. The default of content_hash refers to it, so a dump restores it first, and neither
-- a new name nor a new schema of either table matters.
CREATE FUNCTION _lsh_kept_settings_table(clusters regclass) RETURNS regclass
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found regclass;
BEGIN
    SELECT d.refobjid INTO found
    FROM pg_attribute AS a JOIN pg_attrdef AS f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
        JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
        JOIN pg_class AS c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid AND c.oid <> a.attrelid
    WHERE a.attrelid = clusters AND a.attname = 'content_hash';
    IF found IS NULL AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = clusters AND attname = 'content_hash')
    THEN
        RAISE EXCEPTION '% is no table of clusters', clusters USING ERRCODE = 'wrong_object_type',
            HINT = 'Make one by lsh_create_clusters(), for example SELECT * FROM '
                'lsh_create_clusters(''article_clusters'', ''SELECT id, body FROM articles'').';
    ELSIF found IS NULL THEN
        RAISE EXCEPTION 'table % has no settings of clusters', clusters
            USING ERRCODE = 'object_not_in_prerequisite_state',
                DETAIL = 'The default of its column content_hash does not refer to a table of settings.',
                HINT = format('ALTER TABLE %s ALTER content_hash SET DEFAULT %L::regclass::bigint, '
                    'or make the clusters by lsh_create_clusters().', clusters, clusters || '_settings');
    END IF;
    RETURN found;
END $$;
COMMENT ON FUNCTION _lsh_kept_settings_table(regclass) IS 'the table that has the settings of kept clusters';

CREATE FUNCTION _lsh_kept_locked_name(relation regclass) RETURNS text
    AS 'MODULE_PATHNAME', 'lsh_kept_locked_name' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION _lsh_kept_locked_name(regclass) IS
    'locks a table of the current user, and returns its name, which means it until the transaction ends';

-- The table of what the log does not know yet. The default of its column cluster_id refers to the clusters.
CREATE FUNCTION _lsh_kept_to_log(clusters regclass) RETURNS regclass
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT c.oid
        FROM pg_depend AS d JOIN pg_attrdef AS f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
            JOIN pg_attribute AS a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attname = 'cluster_id'
            JOIN pg_class AS c ON c.oid = f.adrelid JOIN pg_class AS k ON k.oid = d.refobjid AND k.relowner = c.relowner
        WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = clusters ORDER BY f.oid LIMIT 1);
END $$;
COMMENT ON FUNCTION _lsh_kept_to_log(regclass) IS 'the table that has what the log of kept clusters does not know yet';

-- The trigger of kept clusters that have a log: it runs with the rights of their owner, whoever writes to them, such as
-- a foreign key. What the log knows of a row is how it was before the first of several changes.
CREATE FUNCTION _lsh_kept_note() RETURNS trigger
    AS 'MODULE_PATHNAME', 'lsh_kept_note' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION _lsh_kept_note() IS 'trigger of kept clusters: notes what the next refresh must log';
CREATE FUNCTION __lsh_kept_note() RETURNS trigger
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    to_log regclass := @extschema@._lsh_kept_to_log(TG_RELID);
    insertion text;
    condition text;
BEGIN
    IF to_log IS NULL THEN
        RAISE serialization_failure USING MESSAGE = 'could not serialize access due to the beginning of a log',
            HINT = format('Try again. If it fails again, see that the owner of %s owns the table whose name ends in '
                '_to_log.', CAST(TG_RELID AS regclass));
    END IF;
    insertion := concat('INSERT INTO ', @extschema@._lsh_kept_locked_name(to_log), ' SELECT id, ');
    condition := concat(' WHERE NOT EXISTS (SELECT FROM ', @extschema@._lsh_kept_locked_name(
        @extschema@._lsh_kept_settings_table(TG_RELID)), ' WHERE is_logging) ON CONFLICT DO NOTHING');
    IF TG_OP <> 'INSERT' THEN
        EXECUTE concat(insertion, 'cluster_id, representative FROM ',
            CASE TG_OP WHEN 'TRUNCATE' THEN @extschema@._lsh_kept_locked_name(TG_RELID) ELSE 'old_rows' END, condition);
    END IF;
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        EXECUTE concat(insertion, 'NULL, NULL FROM new_rows', condition);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION __lsh_kept_note() IS 'for _lsh_kept_note: what it does as the owner of the clusters';

-- Reads the settings of a refresh, and the state of the kept table: is it as the last refresh has left it?
CREATE FUNCTION _lsh_kept_prepare(clusters regclass, target text, state text, kept jsonb, is_told boolean,
    OUT k _lsh_kept, OUT row_count bigint, OUT settings jsonb)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    query text := rtrim(kept->>'query', E'; \t\n');
    digest bigint;
    q record;
    l record;
BEGIN
    k.target := target;
    k.path := kept->>'search_path';
    k.near := kept->>'near_representative';
    k.apart := rtrim(kept->>'apart', E'; \t\n');
    settings := @extschema@._lsh_kept_settings(kept, k.apart);
    SELECT * INTO q FROM @extschema@._lsh_kept_query(query, k.path, state);
    k.relations := q.relations || CAST(clusters AS bigint);
    k.ids := q.id_type;
    SELECT format('%I.%I', nspname, typname) INTO k.id_type
    FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = typnamespace WHERE t.oid = k.ids;
    k.columns := concat(', q.content', CASE WHEN q.has_scope THEN ', q.scope' END);
    k.ranked_columns := concat(k.columns, CASE WHEN q.has_rank THEN ', q.rank' END);
    -- Ids that the source's collation equates, such as 'a' and 'A', are different ids, as in the table's primary key.
    k.source := concat('(SELECT CAST(q.id AS ', k.id_type, ')',
        CASE WHEN q.equates_ids THEN ' COLLATE pg_catalog."default"' END, ' AS id', k.ranked_columns, ' FROM (', query,
        E'\n) AS q(id, content))');
    SELECT format('OPERATOR(%I.%s)', n.nspname, o.oprname) INTO k.equal
    FROM pg_attribute AS a JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
    JOIN pg_opclass AS c ON c.oid = i.indclass[0]
    JOIN pg_amop AS s ON s.amopfamily = c.opcfamily AND s.amopstrategy = 3
        AND s.amoplefttype = c.opcintype AND s.amoprighttype = c.opcintype
    JOIN pg_operator AS o ON o.oid = s.amopopr JOIN pg_namespace AS n ON n.oid = o.oprnamespace
    WHERE a.attrelid = clusters AND a.attname = 'id' AND a.atttypid = k.ids AND i.indnatts = 1
        AND i.indkey[0] = a.attnum;
    IF k.equal IS NULL THEN
        RAISE EXCEPTION 'ids of the query of % are of type %', clusters, k.ids
            USING ERRCODE = 'datatype_mismatch',
                DETAIL = 'The table''s primary key is not a column id of this type.',
                HINT = 'Drop the table and make it again by lsh_create_clusters().';
    END IF;
    SELECT string_agg(format('CAST(%L AS pg_catalog.%s)', settings->>name, type), ', ' ORDER BY place) INTO k.arguments
    FROM unnest('{threshold,recall,bands,rows,verify,max_bucket,num_hashes,shingle_size,unit,fold,bag,seed,
            method}'::text[],
        '{float8,float8,int4,int4,text,int4,int4,int4,text,bool,bool,int8,text}'::text[])
        WITH ORDINALITY AS a(name, type, place);
    k.everything := (kept->'refreshed_with', kept->>'clusters') IS DISTINCT FROM (settings, CAST(clusters AS text));
    k.is_told := is_told AND NOT k.everything;
    k.hash_seed := kept->>'hash_seed';
    row_count := kept->>'row_count';
    IF NOT k.is_told THEN
        EXECUTE format('SELECT bit_xor(%s), count(*) FROM %s', @extschema@._lsh_kept_row_hash(k.ids,
            '{id,cluster_id,representative,similarity,component,content_hash}'::text[]), target) INTO digest,
                row_count;
        k.everything := k.everything OR (digest, row_count)
            IS DISTINCT FROM (CAST(kept->>'digest' AS bigint), CAST(kept->>'row_count' AS bigint));
        k.contents := CASE WHEN NOT k.everything THEN CAST(kept->>'contents' AS bigint) # row_count END;
    END IF;
    EXECUTE format('SELECT greatest(max(cluster_id), %L) FROM %s', kept->>'last_cluster_id', target)
        INTO k.last_cluster_id;
    IF NOT k.everything THEN
        k.rows_expected := @extschema@._lsh_kept_explain(format('SELECT FROM %s AS q', k.source), k.path)->>'Plan Rows';
        SELECT * INTO l FROM @extschema@._lsh_kept_lookup(k.source, k.path, settings, q.is_signature, q.has_scope);
        -- A lookup takes about one microsecond per unit of the planner's cost; signing a row takes about 2.5
        -- microseconds. A lookup counts as at least 25 rows, because page costs are often set too low.
        k.lookup := l.condition;
        k.threshold := kept->>'threshold';
        k.similarity := CASE WHEN NOT q.has_rank AND coalesce(kept->>'max_bucket', k.apart) IS NULL
            THEN l.similarity END;
        k.rows_of_lookup := CASE WHEN l.cost IS NOT NULL THEN greatest(25, l.first_cost / 2.5) END;
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_prepare(regclass, text, text, jsonb, boolean) IS 'prepares a refresh of kept clusters';

-- The part of a refresh's statement that gives the ids to look at.
CREATE FUNCTION _lsh_kept_told(changed text, k _lsh_kept) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    queue regclass;
    name text;
    statement text := concat('SELECT CAST(c.id AS ', k.id_type, ') FROM (', rtrim(changed, E'; \t\n'), E'\n) AS c(id)');
BEGIN
    IF changed IS NULL THEN
        RETURN '(SELECT NULL AS id)';
    END IF;
    BEGIN
        SELECT full_name, relation INTO name, queue FROM @extschema@._lsh_kept_table(changed, k.path);
        IF queue IS NULL THEN
            RAISE EXCEPTION 'relation % does not exist', name USING ERRCODE = 'undefined_table',
                HINT = format('Make a queue, and a trigger that adds the id of each changed row to it: '
                    'CREATE TABLE %s (id %s).', name, k.ids);
        END IF;
    EXCEPTION WHEN invalid_name THEN -- it is a query
    END;
    IF queue IS NULL THEN
        BEGIN
            PERFORM @extschema@._lsh_kept_explain(statement, k.path);
        EXCEPTION WHEN syntax_error THEN
            RAISE EXCEPTION 'changed is neither a SELECT nor the name of a table' USING ERRCODE = 'syntax_error',
                DETAIL = SQLERRM, HINT = CASE WHEN changed LIKE '{%}'
                    THEN format('Use SELECT * FROM lsh_refresh_clusters(%L, changed => %L).', k.target,
                        format('SELECT unnest(%L::%s[])', changed, k.ids))
                    ELSE 'Use, for example, changed => ''SELECT id FROM articles WHERE updated_at > now() - interval '
                        '''''1 day''''''.' END;
        END;
        RETURN format('MATERIALIZED (SELECT id FROM %s._lsh_kept_rows(%L, %L) AS c(id %s))', '@extschema@',
            statement, k.path, k.id_type);
    END IF;
    IF EXISTS (
        WITH RECURSIVE above(id) AS (
            SELECT CAST(queue AS oid) UNION SELECT inhparent FROM above JOIN pg_inherits ON inhrelid = id
        ), below(id) AS (
            SELECT CAST(queue AS oid) UNION SELECT inhrelid FROM below JOIN pg_inherits ON inhparent = id
        ) SELECT FROM (TABLE above UNION TABLE below) AS family WHERE CAST(id AS bigint) = ANY (k.relations)) THEN
        RAISE EXCEPTION 'changed is %, from which the clusters are made, or which has them', queue
            USING ERRCODE = 'wrong_object_type', DETAIL = 'A refresh would delete its rows, as it does with a queue.',
            HINT = format('Name a queue, or use, for example, changed => %L.',
                format('SELECT id FROM %s WHERE updated_at > now() - interval ''1 day''', queue));
    END IF;
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = queue AND attname = 'cluster_id' AND NOT attisdropped) THEN
        RAISE EXCEPTION 'changed is %, which has clusters or is a log of them', queue
            USING ERRCODE = 'wrong_object_type', DETAIL = 'A refresh would delete its rows, as it does with a queue.',
            HINT = format('For a log, use lsh_refresh_clusters(%L, log => %L).', k.target, queue);
    END IF;
    statement := format('(DELETE FROM %s RETURNING CAST(id AS %s) AS id)', @extschema@._lsh_kept_locked_name(queue),
        k.id_type);
    -- If the queue had one row for each id, a writer could find a row there that this refresh is deleting, and leave it
    -- at that; its change would be lost.
    IF EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
               WHERE i.indrelid = queue AND i.indisunique AND i.indnkeyatts = 1 AND a.attname = 'id') THEN
        RAISE EXCEPTION 'ids in the queue % are unique', queue USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'A change that is written while a refresh takes its id from the queue would be lost.',
            HINT = 'Drop the unique index, and insert a row for each change.';
    END IF;
    RETURN statement;
END $$;
COMMENT ON FUNCTION _lsh_kept_told(text, _lsh_kept) IS 'the ids that a refresh of kept clusters looks at';

-- The part of a refresh's statement that writes the log. `to_log` has rows as they were before somebody else, or a
-- refresh without the log, wrote to the kept table: triggers put them there. Tables that are not there are made.
CREATE FUNCTION _lsh_kept_log(log text, clusters regclass, k _lsh_kept) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t record;
    missing text;
    triggers text;
    to_log regclass := @extschema@._lsh_kept_to_log(clusters);
    made text := regexp_replace(k.target, '("?)$', E'_to_log\\1'); -- the quote at the end, if there is one
BEGIN
    SELECT * INTO t FROM @extschema@._lsh_kept_table(log, k.path);
    IF t.relation IS NULL THEN
        EXECUTE format('CREATE TABLE %1$s (refresh bigint, refreshed_at timestamptz, event text, id %2$s,
            old_cluster_id bigint, cluster_id bigint, old_representative %2$s, representative %2$s)', t.full_name,
                k.id_type);
        t.relation := t.full_name;
    END IF;
    t.full_name := @extschema@._lsh_kept_locked_name(t.relation);
    SELECT string_agg(concat(name, ' ', type), ', ' ORDER BY name) INTO missing
    FROM unnest('{refresh,refreshed_at,event,id,old_cluster_id,cluster_id,old_representative,representative}'::text[],
        ARRAY['bigint', 'timestamptz', 'text', k.ids::text, 'bigint', 'bigint', k.ids::text, k.ids::text])
        AS c(name, type)
    WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = t.relation AND attname = name
                      AND atttypid = CAST(type AS regtype) AND NOT attisdropped);
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'table % is no log of clusters', t.relation USING ERRCODE = 'datatype_mismatch',
            DETAIL = format('It lacks %s.', missing), HINT = 'Name a table that is not there: the refresh makes it.';
    END IF;
    IF to_log IS NULL THEN
        IF to_regclass(made) IS NOT NULL THEN
            RAISE EXCEPTION 'relation % already exists', made USING ERRCODE = 'duplicate_table',
                HINT = format('If it belongs to these clusters, give it their owner. If it is left from others, drop '
                    'it: DROP TABLE %s;', made);
        END IF;
        EXECUTE format('CREATE TABLE %1$s (id %2$s PRIMARY KEY, cluster_id bigint
            DEFAULT CAST(CAST(%3$L AS regclass) AS bigint), representative %2$s)', made, k.id_type,
            CAST(clusters AS oid));
    END IF;
    SELECT string_agg(format('CREATE TRIGGER %I %s ON %s %s FOR EACH STATEMENT
            WHEN (CAST(%L AS regclass) IS NOT NULL) EXECUTE FUNCTION %s._lsh_kept_note()', name, event, k.target,
            tables, CAST(coalesce(to_log, made::regclass) AS oid), '@extschema@'), ';') INTO triggers
    FROM unnest('{BEFORE TRUNCATE,AFTER INSERT,AFTER DELETE,AFTER UPDATE}'::text[],
        ARRAY['', 'REFERENCING NEW TABLE AS new_rows', 'REFERENCING OLD TABLE AS old_rows',
            'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows']) AS e(event, tables),
        LATERAL (SELECT 'lsh_log_' || lower(split_part(event, ' ', 2))) AS n(name)
    WHERE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = clusters AND tgname = name
                      AND tgfoid = CAST('@extschema@._lsh_kept_note()' AS regprocedure));
    IF triggers IS NOT NULL THEN
        EXECUTE triggers;
        IF to_log IS NOT NULL THEN -- as after DROP EXTENSION ... CASCADE
            RAISE WARNING 'the log of clusters % may lack changes', clusters USING
                DETAIL = 'Triggers that note what others write to the clusters were gone. They have been made again.',
                HINT = 'Whoever follows the log should copy the clusters again.';
        END IF;
    END IF;
    to_log := coalesce(to_log, made::regclass);
    RETURN format(', noted AS (
    DELETE FROM %1$s RETURNING id, cluster_id, representative
), entries AS (
    SELECT key, was_here, is_fresh, heir_cluster, old_cluster, cluster_id, former_representative, new_representative
    FROM result AS r WHERE NOT EXISTS (SELECT FROM noted AS n WHERE n.id %2$s r.key)
    UNION ALL
    SELECT n.id, n.cluster_id IS NOT NULL, true, NULL, n.cluster_id,
        CASE WHEN r.was_here IS NULL THEN t.cluster_id ELSE r.cluster_id END, n.representative,
        CASE WHEN r.was_here IS NULL THEN t.representative ELSE r.new_representative END
    FROM noted AS n LEFT JOIN result AS r ON r.key %2$s n.id LEFT JOIN %3$s AS t ON t.id %2$s n.id
), logged AS (
    INSERT INTO %4$s (refresh, refreshed_at, event, id, old_cluster_id, cluster_id, old_representative, representative)
    SELECT $2, $3, CASE WHEN NOT was_here THEN ''added'' WHEN cluster_id IS NULL THEN ''removed''
            WHEN is_fresh THEN ''changed'' WHEN cluster_id = old_cluster THEN ''representative''
            WHEN cluster_id = heir_cluster THEN ''joined'' ELSE ''split'' END,
        key, old_cluster, cluster_id, former_representative, new_representative
    FROM entries WHERE (old_cluster, CAST(former_representative AS text))
        IS DISTINCT FROM (cluster_id, CAST(new_representative AS text))
    ORDER BY cluster_id, key)', @extschema@._lsh_kept_locked_name(to_log), k.equal, k.target, t.full_name);
END $$;
COMMENT ON FUNCTION _lsh_kept_log(text, regclass, _lsh_kept) IS 'how a refresh of kept clusters writes its log';

CREATE FUNCTION lsh_refresh_clusters(clusters regclass, changed text DEFAULT NULL, log text DEFAULT NULL,
    OUT rows_added bigint, OUT rows_removed bigint, OUT rows_changed bigint, OUT clusters_made bigint,
    OUT clusters_joined bigint, OUT clusters_split bigint, OUT clusters_dissolved bigint)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_refresh_clusters(regclass, text, text) IS
    'brings clusters that lsh_create_clusters made up to date with what their query returns now. '
    'Example: lsh_refresh_clusters(''article_clusters'')';

CREATE FUNCTION _lsh_refresh_clusters(clusters regclass, changed text, log text,
    OUT rows_added bigint, OUT rows_removed bigint, OUT rows_changed bigint, OUT clusters_made bigint,
    OUT clusters_joined bigint, OUT clusters_split bigint, OUT clusters_dissolved bigint)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
    SET extra_float_digits = 1 SET datestyle = 'ISO' SET intervalstyle = 'postgres' SET work_mem FROM CURRENT AS $$
DECLARE
    began constant timestamptz := clock_timestamp();
    target text;
    settings regclass;
    state text;
    kept jsonb;
    missing text;
    hint text;
    p record;
    w record;
BEGIN
    IF clusters IS NULL THEN
        RETURN;
    END IF;
    IF CAST(current_setting('transaction_read_only') AS boolean) THEN
        RAISE EXCEPTION 'cannot refresh clusters in a read-only transaction'
            USING ERRCODE = 'read_only_sql_transaction',
                HINT = 'Refresh them on the primary server, in a transaction that is READ WRITE.';
    END IF;
    PERFORM set_config('work_mem', current_setting('maintenance_work_mem'), true);
    target := @extschema@._lsh_kept_locked_name(clusters);
    settings := @extschema@._lsh_kept_settings_table(clusters);
    state := @extschema@._lsh_kept_locked_name(settings);
    SELECT string_agg(format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY;', t), ' ') INTO hint
    FROM unnest(ARRAY[clusters, settings, @extschema@._lsh_kept_to_log(clusters)]) AS t
    WHERE row_security_active(CAST(t AS oid));
    IF hint IS NOT NULL THEN
        RAISE EXCEPTION 'policies hide rows of clusters % from their owner', clusters
            USING ERRCODE = 'object_not_in_prerequisite_state',
                DETAIL = 'A refresh would take them for rows that are not there.', HINT = hint;
    END IF;
    EXECUTE format('UPDATE %s AS s SET refreshes = refreshes + 1, is_logging = $1 RETURNING to_jsonb(s)', state)
        INTO kept USING log IS NOT NULL;
    IF kept IS NULL THEN
        RAISE EXCEPTION 'table % has no row', state USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('It must have the settings of the clusters in %s.', clusters),
            HINT = 'INSERT a row: query, threshold, near_representative and search_path.';
    END IF;
    SELECT string_agg(name, ', ' ORDER BY name) INTO missing
    FROM unnest('{id,cluster_id,representative,similarity,component}'::text[]) AS name
    WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = clusters AND attname = name AND NOT attisdropped);
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'table % of clusters lacks %', clusters, missing USING ERRCODE = 'undefined_column',
            HINT = 'Give its columns back the names that lsh_create_clusters() gave them. You may add others.';
    END IF;
    SELECT * INTO p FROM @extschema@._lsh_kept_prepare(clusters, target, state, kept, changed IS NOT NULL);
    SELECT * INTO w FROM @extschema@._lsh_kept_write(p.k, @extschema@._lsh_kept_told(changed, p.k),
        @extschema@._lsh_kept_log(log, clusters, p.k), CAST(kept->>'refreshes' AS bigint), began);
    SELECT f[1], f[2], f[3], f[4], f[5], f[6], f[7] INTO rows_added, rows_removed, rows_changed, clusters_made,
        clusters_joined, clusters_split, clusters_dissolved FROM (SELECT w.figures) AS r(f);
    EXECUTE format('UPDATE %s SET clusters = $1, refreshed_at = $2, seconds = extract(epoch
        FROM clock_timestamp() - $2), is_logging = false,
        row_count = $3, rows_added = ($4)[1], rows_removed = ($4)[2], rows_changed = ($4)[3], clusters_made = ($4)[4],
        clusters_joined = ($4)[5], clusters_split = ($4)[6], clusters_dissolved = ($4)[7],
        last_cluster_id = greatest($5, ($4)[8]), refreshed_with = $6,
        digest = CASE WHEN $7 THEN 0 ELSE digest # coalesce(($8)[1], 0) END # coalesce(($8)[2], 0),
        contents = CASE WHEN $7 THEN 0 ELSE contents # coalesce(($8)[3], 0) END # coalesce(($8)[4], 0)', state)
        USING clusters, began, p.row_count + rows_added - rows_removed, w.figures, (p.k).last_cluster_id,
            p.settings, (p.k).everything, w.digests;
    -- Dropping the clusters also drops the tables that are made beside them. (A dump does not keep this.)
    PERFORM @extschema@._lsh_tie_band_table(clusters, t, CAST('{}' AS regprocedure[]), 1::smallint, 1::smallint)
    FROM unnest(ARRAY[settings, @extschema@._lsh_kept_to_log(clusters)]) AS t
    WHERE NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = t
                      AND refclassid = 'pg_class'::regclass AND refobjid = clusters AND deptype = 'a');
END $$;
COMMENT ON FUNCTION _lsh_refresh_clusters(regclass, text, text) IS
    'for lsh_refresh_clusters: what it does as the owner of the clusters';

CREATE FUNCTION _lsh_create_clusters(clusters text, query text, threshold double precision, recall double precision,
    bands integer, rows integer, verify text, max_bucket integer, num_hashes integer, shingle_size integer, unit text,
    fold boolean, bag boolean, seed bigint, method text, near_representative boolean, search_path text, apart text,
    singletons boolean, OUT rows_added bigint, OUT clusters_made bigint)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
    SET extra_float_digits = 1 SET datestyle = 'ISO' SET intervalstyle = 'postgres' AS $$
DECLARE
    target text;
    state text;
    id_type regtype;
BEGIN
    query := rtrim(query, E'; \t\n');
    IF clusters ~* E'^\\s*(select|with|values|table)\\s' THEN -- the query, where the name should be
        RAISE EXCEPTION 'lsh_create_clusters() takes the name of the table to make before the query'
            USING ERRCODE = 'invalid_parameter_value', HINT = format('Use SELECT * FROM lsh_create_clusters(%L, %L).',
                CASE WHEN query ~ E'^[a-z_]\\w*$' THEN query ELSE 'article_clusters' END, clusters);
    ELSIF clusters IS NULL OR query IS NULL OR search_path IS NULL OR threshold IS NULL
            OR near_representative IS NULL OR singletons IS NULL THEN
        RAISE EXCEPTION 'clusters, query, search_path, threshold, near_representative and singletons must not be NULL'
            USING ERRCODE = 'null_value_not_allowed', HINT = 'Use, for example, SELECT * FROM '
                'lsh_create_clusters(''article_clusters'', ''SELECT id, body FROM articles'').';
    ELSIF NOT singletons THEN
        RAISE EXCEPTION 'kept clusters have all rows of the query' USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'The others are clusters of one row.',
            HINT = format('Leave out singletons: SELECT * FROM lsh_create_clusters(%L, %L).', clusters, query);
    END IF;
    target := (SELECT full_name FROM @extschema@._lsh_kept_table(clusters, search_path));
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass(target) AND attname = 'content_hash') THEN
        RAISE EXCEPTION 'clusters % are there already', target USING ERRCODE = 'duplicate_table',
            HINT = format('Change their settings instead, for example: UPDATE %s SET threshold = 0.9; '
                'SELECT * FROM lsh_refresh_clusters(%L);', @extschema@._lsh_kept_settings_table(to_regclass(target)),
                clusters);
    ELSIF to_regclass(target) IS NOT NULL THEN
        RAISE EXCEPTION 'relation % already exists', target USING ERRCODE = 'duplicate_table',
            HINT = format('Choose a name for a new table: SELECT * FROM lsh_create_clusters(%L, %L).',
                regexp_replace(clusters, '("?)$', E'_clusters\\1'), query);
    END IF;
    id_type := (SELECT q.id_type FROM @extschema@._lsh_kept_query(query, search_path, CAST(NULL AS text)) AS q);
    state := regexp_replace(target, '("?)$', E'_settings\\1');
    IF to_regclass(state) IS NOT NULL THEN
        RAISE EXCEPTION 'relation % already exists', state USING ERRCODE = 'duplicate_table',
            HINT = format('If it is left from clusters that are gone, drop it: DROP TABLE %s;', state);
    END IF;
    EXECUTE format('CREATE TABLE %s (only_row boolean DEFAULT true PRIMARY KEY CHECK (only_row), query text NOT NULL,
        search_path text NOT NULL, apart text, threshold double precision NOT NULL, recall double precision,
        bands integer, rows integer, verify text, max_bucket integer, num_hashes integer, shingle_size integer,
        unit text, fold boolean, bag boolean, seed bigint, method text, near_representative boolean NOT NULL,
        clusters regclass, refreshes bigint NOT NULL DEFAULT 0, is_logging boolean NOT NULL DEFAULT false,
        refreshed_at timestamptz, seconds double precision, row_count bigint,
        rows_added bigint, rows_removed bigint, rows_changed bigint, clusters_made bigint,
        clusters_joined bigint, clusters_split bigint, clusters_dissolved bigint,
        last_cluster_id bigint NOT NULL DEFAULT 0, refreshed_with jsonb,
        hash_seed bigint NOT NULL DEFAULT hashtextextended(CAST(gen_random_uuid() AS text), 0), digest bigint,
        contents bigint)', state);
    EXECUTE format('INSERT INTO %s (query, search_path, threshold, recall, bands, rows, verify, max_bucket, num_hashes,
        shingle_size, unit, fold, bag, seed, method, near_representative, apart)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)', state)
        USING query, search_path, threshold, recall, bands, rows, verify, max_bucket, num_hashes, shingle_size, unit,
            fold, bag, seed, method, near_representative, apart;
    EXECUTE format('CREATE TABLE %1$s (id %2$s PRIMARY KEY, cluster_id bigint NOT NULL, representative %2$s NOT NULL,
        similarity double precision NOT NULL, component bigint NOT NULL,
        content_hash bigint DEFAULT CAST(CAST(%3$L AS regclass) AS bigint))', target, id_type, state);
    SELECT r.rows_added, r.clusters_made INTO rows_added, clusters_made
    FROM @extschema@.lsh_refresh_clusters(CAST(target AS regclass), CAST(NULL AS text), CAST(NULL AS text)) AS r;
    EXECUTE format('CREATE INDEX ON %s (cluster_id)', target);
    EXECUTE format('CREATE INDEX ON %s (component)', target);
    EXECUTE format('ANALYZE %s', target);
END $$;
COMMENT ON FUNCTION _lsh_create_clusters(text, text, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, boolean, text, text, boolean) IS
    'for lsh_create_clusters: what it does';

CREATE FUNCTION lsh_create_clusters(clusters text, query text DEFAULT NULL, threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT NULL, bands integer DEFAULT NULL, rows integer DEFAULT NULL,
    verify text DEFAULT NULL, max_bucket integer DEFAULT NULL, num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, fold boolean DEFAULT NULL, bag boolean DEFAULT NULL,
    seed bigint DEFAULT NULL, method text DEFAULT NULL, near_representative boolean DEFAULT true,
    search_path text DEFAULT pg_catalog.current_setting('search_path'), apart text DEFAULT NULL,
    singletons boolean DEFAULT true, OUT rows_added bigint, OUT clusters_made bigint)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_create_clusters(text, text, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, boolean, text, text, boolean) IS
    'makes a table of a query''s rows with their clusters, which lsh_refresh_clusters keeps up to date. '
    'Example: lsh_create_clusters(''article_clusters'', ''SELECT id, body FROM articles'')';

-- Calls that are meant differently (80-bulk.sql).
CREATE FUNCTION lsh_create_clusters(source text, query text, anyelement, threshold double precision DEFAULT NULL,
    OUT rows_added bigint, OUT clusters_made bigint)
    AS 'MODULE_PATHNAME', 'lsh_call_with_type' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_create_clusters(text, text, anyelement, double precision) IS
    'an error that says to leave out the type of ids. '
    'Example: lsh_create_clusters(''article_clusters'', ''SELECT id, body FROM articles'', NULL::uuid)';
CREATE FUNCTION lsh_refresh_clusters(clusters regclass, threshold double precision,
    OUT rows_added bigint, OUT rows_removed bigint, OUT rows_changed bigint, OUT clusters_made bigint,
    OUT clusters_joined bigint, OUT clusters_split bigint, OUT clusters_dissolved bigint)
    AS 'MODULE_PATHNAME', 'lsh_refresh_clusters_at' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_refresh_clusters(regclass, double precision) IS
    'an error that shows how to change the threshold. Example: lsh_refresh_clusters(''article_clusters'', 0.9)';
CREATE FUNCTION _lsh_refresh_clusters(clusters regclass, threshold double precision) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'lsh_refresh_clusters() takes no threshold' USING ERRCODE = 'invalid_parameter_value',
        DETAIL = 'The settings of kept clusters are in a table beside them.',
        HINT = format('Change it there: UPDATE %s SET threshold = %s; SELECT * FROM lsh_refresh_clusters(%L);',
            @extschema@._lsh_kept_settings_table(clusters), threshold, clusters);
END $$;
COMMENT ON FUNCTION _lsh_refresh_clusters(regclass, double precision) IS
    'for lsh_refresh_clusters: shows how to change the threshold';
