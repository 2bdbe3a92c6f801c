-- Estimates from a sample how many pairs lsh_pairs() will find, and how much time and memory it will need
-- (src/pg/bulk/lsh_sample.cpp).

-- If an lsh index can serve lookups in the query, at less cost than signing all rows, says how to draw rows from the
-- query, and how to look up the rows near them; otherwise returns NULLs. Rows are drawn by hashes of their ids, for
-- which the index of a primary key is enough. (Ids are hashed twice, because after a single hash, the upper bits for
-- consecutive ids are not independent.) `near` returns the sum of how many rows are near each drawn row, the sum of the
-- squares of these numbers, and how many of them are not 0.
CREATE FUNCTION _lsh_sample_plan(query text, path text, id_type oid, is_signature boolean, has_scope boolean,
    anchors integer, seed bigint, threshold double precision, verify text, num_hashes integer, shingle_size integer,
    unit text, fold boolean, bag boolean, OUT row_count bigint, OUT drawn text, OUT near text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rows text := concat('(', rtrim(query, E'; \t\n'), E'\n) AS q(id, content)');
    scope text := CASE WHEN has_scope THEN ', q.scope' END;
    source text := concat('(SELECT CAST(q.id AS pg_catalog.text) AS id, q.content', scope, ' FROM ', rows, ')');
    hash text := CASE WHEN id_type IN (21, 20, 23) THEN 'pg_catalog.hashint8extended(q.id, $1)'
        ELSE 'pg_catalog.hashtextextended(CAST(q.id AS pg_catalog.text) COLLATE pg_catalog."C", $1)' END;
    counted text; -- counts the rows, and returns the ids of some of them
    below bigint; -- the hashes of these ids are smaller than this
    lookup record;
    same_id text; -- the condition that joins the query's rows q with ids
    ids text[];
BEGIN
    SELECT * INTO lookup FROM @extschema@._lsh_kept_lookup(source, path, jsonb_build_object('threshold', threshold,
        'verify', verify, 'num_hashes', num_hashes, 'shingle_size', shingle_size, 'unit', unit, 'fold', fold,
        'bag', bag), is_signature, has_scope);
    IF lookup.cost IS NULL THEN
        RETURN;
    END IF;
    counted := format('SELECT pg_catalog.count(*), pg_catalog.array_agg(CAST(q.id AS pg_catalog.text))
        FILTER (WHERE pg_catalog.hashint8extended(%s, $1) OPERATOR(pg_catalog.<) $2) FROM %s', hash, rows);
    row_count := @extschema@._lsh_kept_explain('SELECT FROM ' || rows, path)->>'Plan Rows';
    -- Compared as in a refresh (_lsh_kept_prepare()).
    IF anchors * greatest(25, lookup.cost / 2.5) > row_count THEN
        row_count := NULL;
        RETURN;
    END IF;
    FOR attempt IN 1 .. 2 LOOP -- a second time if the planner's estimate of the rows was wrong
        below := (least(1, anchors::float8 / greatest(row_count, 1)) - 0.5) * 18446744073709549568;
        PERFORM set_config('search_path', path, true);
        EXECUTE counted INTO row_count, ids USING seed, below;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        EXIT WHEN cardinality(ids) BETWEEN anchors / 2 AND anchors * 2;
    END LOOP;
    -- If the ids' type has a default btree operator class, ids are compared by the equality operator of this class, so
    -- that an index can find them.
    same_id := coalesce((SELECT format('q.id OPERATOR(%I.%s) CAST(u.x AS %I.%I)',
            o.nspname, p.oprname, n.nspname, t.typname)
        FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace JOIN pg_opclass AS c ON c.opcintype = t.oid
        JOIN pg_am AS a ON a.oid = c.opcmethod JOIN pg_amop AS s ON s.amopfamily = c.opcfamily AND s.amopstrategy = 3
            AND s.amoplefttype = t.oid AND s.amoprighttype = t.oid
        JOIN pg_operator AS p ON p.oid = s.amopopr JOIN pg_namespace AS o ON o.oid = p.oprnamespace
        WHERE t.oid = id_type AND a.amname = 'btree' AND c.opcdefault),
        'CAST(q.id AS pg_catalog.text) OPERATOR(pg_catalog.=) u.x');
    drawn := format('SELECT q.id, q.content%s FROM %s JOIN pg_catalog.unnest(CAST(%L AS pg_catalog.text[])) AS u(x)
        ON %s', scope, rows, ids, same_id);
    near := format('SELECT coalesce(pg_catalog.sum(d.near), 0), coalesce(pg_catalog.sum(d.near
                OPERATOR(pg_catalog.*) d.near), 0),
            CAST(pg_catalog.count(*) FILTER (WHERE d.near OPERATOR(pg_catalog.>) 0) AS pg_catalog.float8)
        FROM (SELECT CAST(pg_catalog.count(*) AS pg_catalog.float8) AS near
            FROM (SELECT CAST(q.id AS pg_catalog.text) AS id, q.content%s FROM (%s) AS q(id, content)) AS n
            JOIN %s AS o ON o.id OPERATOR(pg_catalog.<>) n.id AND %s AND %s GROUP BY n.id) AS d',
        scope, drawn, source, lookup.condition, lookup.near);
END $$;
COMMENT ON FUNCTION _lsh_sample_plan(text, text, oid, boolean, boolean, integer, bigint, double precision, text, integer,
    integer, text, boolean, boolean) IS
    'how lsh_sample() draws rows and looks them up, if there is an lsh index';

CREATE FUNCTION lsh_sample(
    query text,
    threshold double precision DEFAULT 0.8,
    share double precision DEFAULT 0.05,
    verify text DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT NULL,
    unit text DEFAULT NULL,
    fold boolean DEFAULT NULL,
    bag boolean DEFAULT NULL,
    seed bigint DEFAULT 42,
    OUT row_count bigint, OUT pairs bigint, OUT pairs_low bigint, OUT pairs_high bigint,
    OUT near_share double precision, OUT near_share_low double precision, OUT near_share_high double precision,
    OUT seconds double precision, OUT memory bigint, OUT median_shingles bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1
    -- Rows are drawn, and found again, by the text of their ids, which must tell them apart.
    SET extra_float_digits = 1 SET datestyle = 'ISO';
COMMENT ON FUNCTION lsh_sample(text, double precision, double precision, text, integer, integer, text, boolean, boolean,
    bigint) IS
    'how many pairs lsh_pairs will find among a query''s rows, and how long it will take, from a sample of the rows. '
    'Example: lsh_sample(''SELECT id, body FROM articles'', threshold => 0.8)';

-- Calls that are meant differently (80-bulk.sql).
CREATE FUNCTION lsh_sample(source text, id_column _lsh_column, text_column _lsh_column DEFAULT NULL,
    threshold double precision DEFAULT NULL,
    OUT row_count bigint, OUT pairs bigint, OUT pairs_low bigint, OUT pairs_high bigint,
    OUT near_share double precision, OUT near_share_low double precision, OUT near_share_high double precision,
    OUT seconds double precision, OUT memory bigint, OUT median_shingles bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_call_of_names' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_sample(text, _lsh_column, _lsh_column, double precision) IS
    'an error that writes the query to give instead. Example: lsh_sample(''articles'', ''id'', ''body'')';
CREATE FUNCTION lsh_sample(source text, anyelement, threshold double precision DEFAULT NULL,
    OUT row_count bigint, OUT pairs bigint, OUT pairs_low bigint, OUT pairs_high bigint,
    OUT near_share double precision, OUT near_share_low double precision, OUT near_share_high double precision,
    OUT seconds double precision, OUT memory bigint, OUT median_shingles bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_call_with_type' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION lsh_sample(text, anyelement, double precision) IS
    'an error that says to leave out the type of ids. '
    'Example: lsh_sample(''SELECT id, body FROM articles'', NULL::uuid)';
