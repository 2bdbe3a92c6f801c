-- Estimates from a sample how many pairs lsh_pairs() will find, and how much time and memory it will need.
--
-- Rows are sampled by hashes of their ids. (Ids are hashed twice, because after a single hash, the upper bits for
-- consecutive ids are not independent.) If an lsh index can serve the query, a thousand rows are sampled, and the index
-- finds the rows near each of them. This yields the share of rows that have near rows, with a binomial confidence
-- interval (Wilson 1927).
--
-- Without an index, only pairs of two sampled rows are found. The probability that both rows of a pair are in the
-- sample is the square of the probability for one row. The sampled rows are divided into twenty groups. The variance of
-- the number of pairs is estimated by the jackknife, from the numbers of pairs that remain when each group in turn is
-- left out (Efron 1982: The Jackknife, the Bootstrap and Other Resampling Plans). The upper bound also allows for one
-- cluster without a pair in the sample. A cluster of 4.75 / share rows has a pair in the sample with a probability of
-- 95%.
--
-- As in 85-clusters.sql, calls pass all arguments, so that no other user's function can match a call better than ours.

-- A format string for the hash of an id: its first argument is the id, its second the seed, both in SQL.
CREATE FUNCTION _lsh_kept_id_hash(ids regtype) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN ids IN ('int2', 'int4', 'int8') THEN 'pg_catalog.hashint8extended(%1$s, %2$s)'
        WHEN ids = 'uuid'::regtype THEN 'pg_catalog.uuid_hash_extended(%1$s, %2$s)'
        ELSE 'pg_catalog.hashtextextended(CAST(%1$s AS pg_catalog.text) COLLATE pg_catalog."C", %2$s)' END
$$;
COMMENT ON FUNCTION _lsh_kept_id_hash(regtype) IS 'how ids of a type are hashed';

-- Returns parts of a query that looks up the rows near a given row, through an index if there is one. In the query, n
-- is the given row, and o is a row that may be near n. `signed` is a format string for the signature of n or o.
-- `condition` finds candidates, with the recall that the arguments specify. `near` tells whether a candidate is near.
-- `cost` is the planner's estimate for one lookup, or NULL without an lsh index.
CREATE FUNCTION _lsh_kept_lookup(source text, path text, arguments jsonb, is_signature boolean, has_scope boolean,
    OUT signed text, OUT condition text, OUT near text, OUT cost double precision)
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
    plan jsonb;
BEGIN
    signed := CASE WHEN is_signature THEN format('CAST(%%1$s.content AS %s.minhash_signature)', schema)
        ELSE format('%s.minhash(CAST(%%1$s.content AS pg_catalog.text), CAST(%L AS pg_catalog.int4), %s,
            CAST(%L AS pg_catalog.int8), CAST(%L AS pg_catalog.text))', schema, num_hashes, shingling,
            coalesce(arguments->>'seed', '42'), coalesce(arguments->>'method', 'fss')) END;
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
    condition := format('%s.minhash_similar(%s, %s, CAST(%L AS pg_catalog.float8))', schema, format(signed, 'o'),
        format(signed, 'n'), greatest(looked_up, 0.01));
    near := format('%s OPERATOR(pg_catalog.>=) CAST(%L AS pg_catalog.float8)', CASE WHEN is_estimate
        THEN format('%s.minhash_similarity(%s, %s)', schema, format(signed, 'o'), format(signed, 'n'))
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
    search_path text DEFAULT pg_catalog.current_setting('search_path'),
    OUT row_count bigint,
    OUT pairs bigint,
    OUT pairs_low bigint,
    OUT pairs_high bigint,
    OUT near_share double precision,
    OUT near_share_low double precision,
    OUT near_share_high double precision,
    OUT seconds double precision,
    OUT memory bigint
) LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    schema text := (SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = extnamespace
                    WHERE extname = 'minhash_lsh');
    path text := search_path;
    pairs_of text := schema || '._lsh_kept_pairs($1, CAST(''pg_catalog.text'' AS pg_catalog.regtype), $2,
        CAST(NULL AS pg_catalog.float8), CAST(NULL AS pg_catalog.int4), CAST(NULL AS pg_catalog.int4), $3,
        CAST(NULL AS pg_catalog.int4), $4, $5, $6, $7, $8, CAST(NULL AS pg_catalog.int8),
        CAST(NULL AS pg_catalog.text), CAST(NULL AS pg_catalog.text))
        AS p(left_id pg_catalog.text, right_id pg_catalog.text, similarity pg_catalog.float8)';
    quantile double precision := 2.539; -- covers 98% of Student's distribution for 20 groups, or 95% if sums are skewed
    unseen double precision; -- an allowance for the pairs of a cluster that the sample misses
    before timestamptz;
    kept record;
    lookup record;
    source text;
    plan json;
    size double precision; -- bytes of a row's content
    signing double precision; -- seconds for one row
    rows text; -- the rows of the query, as q
    chosen text; -- a format string: the condition under which a row is sampled
    same_id text; -- the condition that joins the query's rows q with ids
    looked_up bigint; -- the number of sampled rows whose near rows were looked up
    have_near bigint; -- how many of these sampled rows have a near row
    mean double precision; -- the mean number of rows near one row; `error` is the standard error of this mean
    error double precision;
    sampled text;
    found double precision[]; -- the number of pairs in all groups, then without each group in turn
    wedges double precision[]; -- the same for wedges; a wedge is two pairs that share a row
    pair_error double precision;
    wedge_error double precision;
BEGIN
    IF query IS NULL OR path IS NULL OR seed IS NULL OR (share > 0 AND share <= 1) IS NOT TRUE THEN
        RAISE EXCEPTION 'query, search_path and seed must not be NULL, and share must be above 0 and at most 1'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    query := rtrim(query, E'; \t\n');
    EXECUTE format('SELECT * FROM %s._lsh_kept_query($1, $2) AS k', schema) INTO kept USING query, path;
    rows := format('(%s%s) AS q(id, content)', query, E'\n');
    source := format('(SELECT CAST(q.id AS pg_catalog.text) AS id, q.content%s FROM %s)',
        CASE WHEN kept.has_scope THEN ', q.scope' END, rows);
    EXECUTE format('SELECT %s._lsh_kept_id_hash($1)', schema) INTO chosen USING kept.id_type::regtype;
    chosen := format('pg_catalog.hashint8extended(%s, %L) OPERATOR(pg_catalog.<) %%L',
        format(chosen, 'q.id', quote_literal(seed)), seed);
    PERFORM set_config('search_path', path, true);
    EXECUTE pg_catalog.concat('SELECT FROM ', pairs_of) -- to check the arguments
        USING pg_catalog.concat('SELECT * FROM ', source, ' AS q LIMIT 0'), threshold, verify, num_hashes, shingle_size,
            unit, fold, bag;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    EXECUTE format('SELECT * FROM %s._lsh_kept_lookup($1, $2, $3, $4, $5)', schema) INTO lookup
        USING source, path, jsonb_strip_nulls(jsonb_build_object('threshold', threshold, 'verify', verify,
            'num_hashes', num_hashes, 'shingle_size', shingle_size, 'unit', unit, 'fold', fold, 'bag', bag)),
            kept.is_signature, kept.has_scope;
    -- If the ids' type has a default btree operator class, ids are compared by the equality operator of this class, so
    -- that an index can find them.
    same_id := coalesce((SELECT format('q.id OPERATOR(%I.%s) CAST(u.x AS %I.%I)',
            o.nspname, p.oprname, n.nspname, t.typname)
        FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace JOIN pg_opclass AS c ON c.opcintype = t.oid
        JOIN pg_am AS a ON a.oid = c.opcmethod JOIN pg_amop AS s ON s.amopfamily = c.opcfamily AND s.amopstrategy = 3
            AND s.amoplefttype = t.oid AND s.amoprighttype = t.oid
        JOIN pg_operator AS p ON p.oid = s.amopopr JOIN pg_namespace AS o ON o.oid = p.oprnamespace
        WHERE t.oid = kept.id_type AND a.amname = 'btree' AND c.opcdefault),
        'CAST(q.id AS pg_catalog.text) OPERATOR(pg_catalog.=) u.x');
    PERFORM set_config('search_path', path, true);
    EXECUTE pg_catalog.concat('EXPLAIN (FORMAT JSON) ', query) INTO plan;
    FOR attempt IN 1 .. 3 LOOP -- the shortest time counts, because other processes may be running
        before := pg_catalog.clock_timestamp();
        EXECUTE pg_catalog.format('SELECT pg_catalog.avg(pg_catalog.octet_length(CAST(n.content AS pg_catalog.text))),
                pg_catalog.count(%s.lsh_band_keys(%s, 1, 1)), pg_catalog.count(*)
            FROM (SELECT * FROM %s AS q LIMIT 100) AS n', schema, pg_catalog.format(lookup.signed, 'n'), source)
            INTO size, have_near, looked_up;
        signing := least(signing, EXTRACT(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) before));
    END LOOP;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    signing := signing / greatest(looked_up, 1);

    row_count := plan->0->'Plan'->>'Plan Rows';
    FOR attempt IN 1 .. 2 LOOP -- a second time if the planner's estimate of the rows was wrong
        EXIT WHEN lookup.cost IS NULL OR size > 1e5;
        sampled := format(chosen, CAST((least(1, 1000.0 / greatest(row_count, 1)) - 0.5) * 18446744073709549568
            AS bigint));
        PERFORM set_config('search_path', path, true);
        EXECUTE pg_catalog.format('WITH s AS MATERIALIZED (
                SELECT pg_catalog.count(*) AS rows,
                    pg_catalog.array_agg(CAST(q.id AS pg_catalog.text)) FILTER (WHERE %1$s) AS ids FROM %4$s
            ), n AS MATERIALIZED (
                SELECT CAST(q.id AS pg_catalog.text) AS id, q.content%3$s FROM %4$s
                JOIN pg_catalog.unnest((SELECT ids FROM s
                    WHERE pg_catalog.cardinality(ids) OPERATOR(pg_catalog.<=) 3000)) AS u(x) ON %5$s
            ), d AS (
                SELECT n.id, pg_catalog.count(o.id) AS near FROM n LEFT JOIN %2$s AS o
                    ON o.id OPERATOR(pg_catalog.<>) n.id AND %6$s AND %7$s GROUP BY n.id
            ) SELECT (SELECT rows FROM s), pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE near
                OPERATOR(pg_catalog.>) 0), pg_catalog.avg(near), pg_catalog.stddev_samp(near) FROM d',
            sampled, source, CASE WHEN kept.has_scope THEN ', q.scope' END, rows, same_id,
            lookup.condition, lookup.near)
            INTO row_count, looked_up, have_near, mean, error;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        EXIT WHEN looked_up >= least(row_count, 500);
    END LOOP;
    IF mean IS NOT NULL THEN
        share := least(1, looked_up::double precision / row_count);
        error := coalesce(error, 0) / sqrt(looked_up) * sqrt(1 - share);
        pairs := row_count * mean / 2;
        -- A cluster of 3 / share rows has at least one row in the sample with a probability of 95%.
        unseen := (1 - share) * (3 / share) ^ 2 / 2;
        pairs_low := CASE WHEN mean = 0 THEN 0
            ELSE greatest(mean * looked_up / 2, pairs * exp(-least(quantile * error / mean, 50))) END;
        pairs_high := least(row_count::numeric * (row_count - 1) / 2,
            CASE WHEN mean = 0 THEN 0 ELSE pairs * exp(least(quantile * error / mean, 50)) END + unseen);
        -- Wilson's 95% interval, corrected because the number of rows is finite.
        near_share := have_near::double precision / looked_up;
        error := 3.8416 * (1 - share) / looked_up;
        SELECT greatest(0, middle - half), least(1, middle + half) INTO near_share_low, near_share_high
        FROM (SELECT (near_share + error / 2) / (1 + error) AS middle, sqrt(error * near_share * (1 - near_share)
            + error ^ 2 / 4) / (1 + error) AS half) AS wilson;
    ELSE
        PERFORM set_config('search_path', path, true);
        EXECUTE pg_catalog.concat('SELECT pg_catalog.count(*) FROM (', query, E'\n) AS q') INTO row_count;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        share := least(1, greatest(share, 2000.0 / greatest(row_count, 1)));
        sampled := format('SELECT CAST(q.id AS pg_catalog.text) AS id, q.content%s FROM %s',
            CASE WHEN kept.has_scope THEN ', q.scope' END, rows);
        IF share < 1 THEN
            sampled := concat(sampled, ' WHERE ',
                format(chosen, CAST((share - 0.5) * 18446744073709549568 AS bigint)));
        END IF;
        PERFORM set_config('search_path', path, true);
        EXECUTE pg_catalog.format('WITH p AS MATERIALIZED (
            SELECT left_id, right_id, pg_catalog.hashtextextended(left_id COLLATE pg_catalog."C", 1)
                    OPERATOR(pg_catalog.&) 1023 OPERATOR(pg_catalog.%%) 20 AS left_group,
                pg_catalog.hashtextextended(right_id COLLATE pg_catalog."C", 1)
                    OPERATOR(pg_catalog.&) 1023 OPERATOR(pg_catalog.%%) 20 AS right_group
            FROM %s
        ), e AS (
            SELECT left_id AS id, left_group, right_group FROM p
            UNION ALL SELECT right_id, left_group, right_group FROM p
        ), s AS (
            SELECT g, pg_catalog.sum(d) AS ends,
                pg_catalog.sum(d OPERATOR(pg_catalog.*) (d OPERATOR(pg_catalog.-) 1)) AS twos
            FROM pg_catalog.generate_series(-1, 19) AS g LEFT JOIN LATERAL (
                SELECT pg_catalog.count(*) AS d FROM e WHERE left_group OPERATOR(pg_catalog.<>) g
                    AND right_group OPERATOR(pg_catalog.<>) g GROUP BY id) AS r ON true GROUP BY g
        ) SELECT pg_catalog.array_agg(coalesce(ends, 0) OPERATOR(pg_catalog./) 2 ORDER BY g),
            pg_catalog.array_agg(coalesce(twos, 0) OPERATOR(pg_catalog./) 2 ORDER BY g) FROM s', pairs_of)
            INTO found, wedges
            USING sampled, threshold, verify, num_hashes, shingle_size, unit, fold, bag;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        -- When one group is left out, (19/20)^2 of the pairs and (19/20)^3 of the wedges are expected to remain.
        SELECT sqrt((1 - share) * 0.95 * 20 * var_pop(f / 0.95 ^ 2)),
            sqrt((1 - share) * 0.95 * 20 * var_pop(w / 0.95 ^ 3))
        INTO pair_error, wedge_error FROM unnest(found[2:], wedges[2:]) AS u(f, w);
        unseen := (1 - share) * 4.75 ^ 2 / 2;
        pairs := found[1] / share ^ 2;
        pairs_low := CASE WHEN found[1] = 0 THEN 0
            ELSE greatest(found[1], found[1] * exp(-quantile * pair_error / found[1]) / share ^ 2) END;
        pairs_high := (found[1] * exp(least(quantile * pair_error / greatest(found[1], 1), 50)) + unseen) / share ^ 2;
        pairs_high := least(pairs_high, row_count::numeric * (row_count - 1) / 2);
        -- Let d be the number of rows near a given row. The number of rows that have near rows is at least (sum of d)^2
        -- / (sum of d^2), and at most the sum of d.
        near_share_high := least(1, 2.0 * pairs_high / greatest(row_count, 1));
        near_share_low := CASE WHEN pairs_low = 0 THEN 0 ELSE 2.0 * pairs_low ^ 2 / (pairs_low
            + (wedges[1] + quantile * wedge_error + unseen) / share ^ 3) / row_count END;
        -- The estimate itself assumes that d is the same for all rows whose d is not 0.
        near_share := CASE WHEN pairs = 0 THEN 0 ELSE least(near_share_high, greatest(near_share_low,
            2.0 * pairs ^ 2 / (pairs + wedges[1] / share ^ 3) / row_count)) END;
    END IF;

    -- Signing is about half of the work (test/bench/sample_bench.sh).
    seconds := 2 * signing * row_count;
    -- The numbers of bytes for each pair and for each row were measured (doc/operations.md, Memory). If texts cannot be
    -- read again from a table, memory holds them, too.
    memory := pairs * 24 + row_count * CASE
        WHEN kept.is_signature OR verify = 'estimate' THEN 100 + 4 * coalesce(num_hashes, 128)
        WHEN plan->0->'Plan'->>'Node Type' = 'Seq Scan' THEN 460
        ELSE 460 + coalesce(size, 0) END;
END $$;
COMMENT ON FUNCTION lsh_sample(text, double precision, double precision, text, integer, integer, text, boolean, boolean, bigint, text) IS
    'how many pairs lsh_pairs will find among a query''s rows, and how long it will take, from a sample of the rows. '
    'Example: lsh_sample(''SELECT id, body FROM articles'', threshold => 0.8)';
