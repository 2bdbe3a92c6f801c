-- How the rows of a query are hashed and looked up, for kept clusters and lsh_sample(). As in 85-clusters.sql, calls
-- pass all arguments, so that no other user's function can match a call better than ours.

-- A format string for the hash of an id: its first argument is the id, its second the seed, both in SQL.
CREATE FUNCTION _lsh_kept_id_hash(ids regtype) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN ids IN ('int2', 'int4', 'int8') THEN 'pg_catalog.hashint8extended(%1$s, %2$s)'
        WHEN ids = 'uuid'::regtype THEN 'pg_catalog.uuid_hash_extended(%1$s, %2$s)'
        ELSE 'pg_catalog.hashtextextended(CAST(%1$s AS pg_catalog.text) COLLATE pg_catalog."C", %2$s)' END
$$;
COMMENT ON FUNCTION _lsh_kept_id_hash(regtype) IS 'how ids of a type are hashed';

-- Returns parts of a query that looks up the rows near a given row, through an index if there is one. In the query, n
-- is the given row, and o is a row that may be near n. `condition` finds candidates, with the recall that the arguments
-- specify. `near` tells whether a candidate is near. `cost` is the planner's estimate for one lookup, or NULL without
-- an lsh index.
CREATE FUNCTION _lsh_kept_lookup(source text, path text, arguments jsonb, is_signature boolean, has_scope boolean,
    OUT condition text, OUT near text, OUT cost double precision)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    schema text := (SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = extnamespace
                    WHERE extname = 'minhash_lsh');
    threshold double precision := arguments->>'threshold';
    num_hashes integer := coalesce(arguments->>'num_hashes', '128');
    is_estimate boolean := is_signature OR coalesce(arguments->>'verify' = 'estimate', false);
    missed double precision := 1 - coalesce(CAST(arguments->>'recall' AS double precision), 0.95);
    looked_up double precision; -- the threshold of lookups
    shingling text := format('CAST(%L AS pg_catalog.int4), CAST(%L AS pg_catalog.text), CAST(%L AS pg_catalog.bool),
        CAST(%L AS pg_catalog.bool)', coalesce(arguments->>'shingle_size', '5'), coalesce(arguments->>'unit', 'char'),
        coalesce(arguments->>'fold', 'true'), coalesce(arguments->>'bag', 'false'));
    signed text[]; -- the signatures of o and n
    plan jsonb;
BEGIN
    signed := ARRAY(SELECT CASE WHEN is_signature THEN format('CAST(%s.content AS %s.minhash_signature)', r, schema)
        ELSE format('%s.minhash(CAST(%s.content AS pg_catalog.text), CAST(%L AS pg_catalog.int4), %s,
            CAST(%L AS pg_catalog.int8), CAST(%L AS pg_catalog.text))', schema, r, num_hashes, shingling,
            coalesce(arguments->>'seed', '42'), coalesce(arguments->>'method', 'fss')) END
        FROM unnest(ARRAY['o', 'n']) WITH ORDINALITY AS u(r, place) ORDER BY place);
    -- A lookup can miss a near row because the row shares no band with n. Of the rows at the threshold of the lookup,
    -- the bands miss 5%, and they miss fewer above it. If rows are near by their exact similarity, a lookup can also
    -- miss a row because its estimated similarity is too low. So the threshold of the lookup is lower than the user's.
    -- It is chosen so that the lookup misses no more of the rows at the user's threshold than the settings allow. If
    -- there are two reasons, each may cause half of the allowed misses. For the bands, the threshold is computed as for
    -- bands of two slots: with more slots, recall rises faster with the similarity, so a higher threshold would do. (An
    -- index never searches bands of a single slot.) For estimates, the threshold follows from a bound on normal
    -- quantiles. The lower of the two thresholds is used.
    IF arguments ? 'bands' THEN
        EXECUTE format('SELECT 1 - %s.lsh_probability($1, $2, $3)', schema) INTO missed
            USING threshold, CAST(arguments->>'bands' AS integer), CAST(arguments->>'rows' AS integer);
    END IF;
    missed := least(greatest(missed, 1e-9), 0.05);
    looked_up := sqrt(1 - greatest(1 - threshold ^ 2, 0)
                      ^ (ln(0.05) / ln(CASE WHEN is_estimate THEN missed ELSE missed / 2 END)));
    IF NOT is_estimate THEN
        looked_up := least(looked_up,
            threshold - sqrt(2 * ln(1 / missed) * greatest(threshold * (1 - threshold), 0) / num_hashes));
    END IF;
    condition := format('%s.minhash_similar(%s, %s, CAST(%L AS pg_catalog.float8))', schema, signed[1], signed[2],
        greatest(looked_up, 0.01));
    near := format('%s OPERATOR(pg_catalog.>=) CAST(%L AS pg_catalog.float8)', CASE WHEN is_estimate
        THEN format('%s.minhash_similarity(%s, %s)', schema, signed[1], signed[2])
        ELSE format('%s.shingle_jaccard(CAST(o.content AS pg_catalog.text), CAST(n.content AS pg_catalog.text), %s)',
            schema, shingling) END, threshold);
    PERFORM set_config('search_path', path, true);
    EXECUTE pg_catalog.format('EXPLAIN (FORMAT JSON) SELECT FROM
        (SELECT q.content FROM %1$s AS q(id, content) LIMIT 1) AS n JOIN %1$s AS o(id, content) ON %2$s',
        source, condition) INTO plan;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    -- A lookup in a partitioned table searches the indexes of all partitions, so this adds up their costs. (The path is
    -- strict, because in lax mode it would return each node twice.)
    cost := (SELECT sum(CAST(node->>'Total Cost' AS double precision))
        FROM jsonb_path_query(plan, 'strict $.** ? (exists (@."Index Name"))') AS node
        WHERE EXISTS (SELECT FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam
                      WHERE c.relname = node->>'Index Name' AND a.amname = 'lsh'));
    IF has_scope THEN
        condition := condition || ' AND pg_catalog.hash_record_extended(ROW(o.scope), 0)
            OPERATOR(pg_catalog.=) pg_catalog.hash_record_extended(ROW(n.scope), 0)';
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_lookup(text, text, jsonb, boolean, boolean) IS
    'how rows near those of a query are looked up, and what the planner expects it to cost';
