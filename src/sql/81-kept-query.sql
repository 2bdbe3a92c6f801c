-- What kept clusters (85) and lsh_sample() (82) do with a user's query. They read it as rows of a FROM item, its
-- source. A statement that contains it is given as text to a C function, which finds names in the user's search_path;
-- so such a text names the schema of everything else. All other statements run with the search_path pg_catalog.
--
-- The extension's functions are called with all of their arguments, which have exactly the declared types. So no
-- function that other users create in the extension's schema can match a call better than the intended one. But
-- lsh_clusters() accepts ids of any type, so a function for one type of ids could match a call better. So the first
-- function below, whose arguments have fixed types, is called instead.
CREATE FUNCTION _lsh_kept_clusters(query text, ids regtype, threshold double precision, recall double precision,
    bands integer, rows integer, verify text, max_bucket integer, num_hashes integer, shingle_size integer, unit text,
    fold boolean, bag boolean, seed bigint, method text, near_representative boolean, singletons boolean, apart text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_kept_clusters' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION _lsh_kept_clusters(text, regtype, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, boolean, boolean, text) IS
    'lsh_clusters with the type of ids by its name, and the component of each row';

CREATE FUNCTION _lsh_kept_query(query text, search_path text, origin text,
    OUT id_type oid, OUT equates_ids boolean, OUT is_signature boolean, OUT has_scope boolean, OUT has_rank boolean,
    OUT relations bigint[])
    AS 'MODULE_PATHNAME', 'lsh_kept_query' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION _lsh_kept_query(text, text, text) IS
    'which columns a query returns and which relations it reads, or an error that says what to mend';

CREATE FUNCTION _lsh_kept_hashes(query text, search_path text, seed bigint, contents bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_kept_hashes' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION _lsh_kept_hashes(text, text, bigint, bigint) IS
    'the ids of a query''s rows, each with a hash of the row; one row of NULLs if the XOR of all, and of their number, '
    'is as given';

CREATE FUNCTION _lsh_kept_rows(query text, search_path text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_kept_rows' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION _lsh_kept_rows(text, text) IS 'the rows of a statement whose names are found in a search_path';

CREATE FUNCTION _lsh_kept_explain(query text, search_path text) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    plan jsonb;
BEGIN
    PERFORM set_config('search_path', search_path, true);
    EXECUTE 'EXPLAIN (FORMAT JSON) ' OPERATOR(pg_catalog.||) query INTO plan;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    RETURN plan OPERATOR(pg_catalog.->) 0 OPERATOR(pg_catalog.->) 'Plan';
END $$;
COMMENT ON FUNCTION _lsh_kept_explain(text, text) IS 'the plan of a statement whose names are found in a search_path';

-- Returns parts of a query that looks up the rows near a given row, through an index if there is one. In the query, n
-- is the given row, and o is a row that may be near n. `signed` is the signature of n. `condition` finds candidates,
-- with the recall that the arguments specify. `similarity` is its similarity to n, and `near` tells whether it is near.
-- `cost` is the planner's estimate for one lookup, `first_cost` for its first 100 rows; NULL without an lsh index.
--
-- A lookup can miss a near row because the row shares no band with n. Of the rows at the threshold of the lookup, the
-- bands miss 5%, and they miss fewer above it. If rows are near by their exact similarity, a lookup can also miss a row
-- because its estimated similarity is too low. So the threshold of the lookup is lower than the user's. It is chosen so
-- that the lookup misses no more of the rows at the user's threshold than the settings allow. If there are two reasons,
-- each may cause half of the allowed misses. For the bands, the threshold is computed as for bands of two slots: with
-- more slots, recall rises faster with the similarity, so a higher threshold would do. (An index never searches bands
-- of a single slot.) For estimates, the threshold follows from a bound on normal quantiles. The lower of the two
-- thresholds is used.
CREATE FUNCTION _lsh_kept_lookup(source text, path text, arguments jsonb, is_signature boolean, has_scope boolean,
    OUT signed text, OUT condition text, OUT similarity text, OUT near text, OUT cost double precision,
    OUT first_cost double precision)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    schema constant text := '@extschema@';
    threshold double precision := arguments->>'threshold';
    num_hashes integer := coalesce(arguments->>'num_hashes', '128');
    is_estimate boolean := is_signature OR coalesce(arguments->>'verify' = 'estimate', false);
    missed double precision := 1 - coalesce(CAST(arguments->>'recall' AS double precision), 0.95);
    looked_up double precision; -- the threshold of lookups
    shingling text := format('CAST(%L AS pg_catalog.int4), CAST(%L AS pg_catalog.text), CAST(%L AS pg_catalog.bool),
        CAST(%L AS pg_catalog.bool)', coalesce(arguments->>'shingle_size', '5'), coalesce(arguments->>'unit', 'char'),
        coalesce(arguments->>'fold', 'true'), coalesce(arguments->>'bag', 'false'));
    other text;
    plan jsonb;
BEGIN
    signed := CASE WHEN is_signature THEN format('CAST(n.content AS %s.minhash_signature)', schema)
        ELSE format('%s.minhash(CAST(n.content AS pg_catalog.text), CAST(%L AS pg_catalog.int4), %s,
            CAST(%L AS pg_catalog.int8), CAST(%L AS pg_catalog.text))', schema, num_hashes, shingling,
            coalesce(arguments->>'seed', '42'), coalesce(arguments->>'method', 'fss')) END;
    other := replace(signed, 'CAST(n.content', 'CAST(o.content');
    IF arguments->>'bands' IS NOT NULL THEN
        missed := 1 - @extschema@.lsh_probability(threshold, CAST(arguments->>'bands' AS integer),
            CAST(arguments->>'rows' AS integer));
    END IF;
    missed := least(greatest(missed, 1e-9), 0.05);
    looked_up := sqrt(1 - greatest(1 - threshold ^ 2, 0)
                      ^ (ln(0.05) / ln(CASE WHEN is_estimate THEN missed ELSE missed / 2 END)));
    IF NOT is_estimate THEN
        looked_up := least(looked_up,
            threshold - sqrt(2 * ln(1 / missed) * greatest(threshold * (1 - threshold), 0) / num_hashes));
    END IF;
    condition := format('%s._minhash_roughly_similar(%s, %s, CAST(%L AS pg_catalog.float8))', schema, other, signed,
        greatest(looked_up, 0.01));
    similarity := CASE WHEN is_estimate THEN format('%s.minhash_similarity(%s, %s)', schema, other, signed)
        ELSE format('%s.shingle_jaccard(CAST(o.content AS pg_catalog.text), CAST(n.content AS pg_catalog.text), %s)',
            schema, shingling) END;
    near := format('%s OPERATOR(pg_catalog.>=) CAST(%L AS pg_catalog.float8)', similarity, threshold);
    plan := @extschema@._lsh_kept_explain(concat('SELECT FROM (SELECT q.content FROM ', source,
        ' AS q(id, content) LIMIT 1) AS n JOIN ', source, ' AS o(id, content) ON ', condition), path);
    -- All of the plan but the row n is one lookup, in all tables and partitions, with an index or without. A plan names
    -- an index without its schema, and anybody's lsh index may have the name of an index that the query itself uses; so
    -- the condition counts, too. (The path is strict, because in lax mode it would return each node twice.)
    SELECT c.total, c.first + (c.total - c.first) * least(1, 100 / greatest(c.rows, 1))
    INTO cost, first_cost
    FROM (SELECT CAST(plan->>'Total Cost' AS double precision)
                - max(CAST(node->>'Total Cost' AS double precision)) FILTER (WHERE node->>'Node Type' = 'Limit'),
            CAST(plan->>'Startup Cost' AS double precision)
                - max(CAST(node->>'Startup Cost' AS double precision)) FILTER (WHERE node->>'Node Type' = 'Limit'),
            sum(CAST(node->>'Plan Rows' AS double precision))
                FILTER (WHERE strpos(node->>'Index Cond', 'minhash_rough_query') > 0)
        FROM jsonb_path_query(plan, 'strict $.** ? (exists (@."Node Type"))') AS node
        HAVING bool_or(strpos(node->>'Index Cond', 'minhash_rough_query') > 0 AND EXISTS (
            SELECT FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam
            WHERE c.relname = node->>'Index Name' AND a.amname = 'lsh'))) AS c(total, first, rows);
    IF has_scope THEN
        condition := condition || ' AND pg_catalog.hash_record_extended(ROW(o.scope), 0)
            OPERATOR(pg_catalog.=) pg_catalog.hash_record_extended(ROW(n.scope), 0)';
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_lookup(text, text, jsonb, boolean, boolean) IS
    'how rows near those of a query are looked up, and what the planner expects it to cost';
