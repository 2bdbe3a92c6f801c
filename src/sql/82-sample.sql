-- What lsh_pairs() will find and take, from a sample.
--
-- Rows are sampled by hashes of their ids: a pair is in the sample with the square of a row's probability. (They are
-- hashed twice: of ids that follow one another, the upper bits of one hash are not independent.) The sample's
-- rows are in twenty groups, and the jackknife tells how much the pairs vary: what is found without each of the groups
-- (Efron 1982: The Jackknife, the Bootstrap and Other Resampling Plans). Besides, a cluster may have no pair in the
-- sample at all: one of 4.75 / share rows has one with 95% probability. As for kept clusters, no function of others
-- can suit a call better.

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
    OUT near_share_low double precision,
    OUT near_share_high double precision,
    OUT seconds double precision
) LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    schema text := (SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = extnamespace
                    WHERE extname = 'minhash_lsh');
    path text := search_path;
    quantile double precision := 2.539; -- 98% of Student's distribution for twenty groups: of lopsided sums 95% hold
    unseen double precision; -- what may be there of which nothing is in the sample, as pairs of the sample
    before timestamptz := clock_timestamp();
    scan double precision;
    has_scope boolean;
    sampled text;
    found double precision[]; -- pairs, of all groups and without each
    wedges double precision[]; -- two pairs of one row
    pair_error double precision;
    wedge_error double precision;
BEGIN
    IF query IS NULL OR path IS NULL OR seed IS NULL OR (share > 0 AND share <= 1) IS NOT TRUE THEN
        RAISE EXCEPTION 'query, search_path and seed must not be NULL, and share must be above 0 and at most 1'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    query := rtrim(query, E'; \t\n');
    EXECUTE format('SELECT k.has_scope FROM %s._lsh_kept_query($1, $2) AS k', schema) INTO has_scope USING query, path;
    PERFORM set_config('search_path', path, true);
    EXECUTE pg_catalog.concat('SELECT pg_catalog.count(*) FROM (', query, E'\n) AS q') INTO row_count;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    scan := extract(epoch FROM clock_timestamp() - before);

    share := least(1, greatest(share, 2000.0 / greatest(row_count, 1)));
    sampled := format('SELECT CAST(q.id AS pg_catalog.text), q.content%s FROM (%s%s) AS q(id, content)',
        CASE WHEN has_scope THEN ', q.scope' END, query, E'\n');
    IF share < 1 THEN
        sampled := format('%1$s WHERE pg_catalog.hashint8extended(pg_catalog.hashtextextended(CAST(q.id
            AS pg_catalog.text) COLLATE pg_catalog."C", %2$L), %2$L) OPERATOR(pg_catalog.<) %3$L', sampled, seed,
            CAST((share - 0.5) * 18446744073709549568 AS bigint));
    END IF;
    before := clock_timestamp();
    PERFORM set_config('search_path', path, true);
    EXECUTE pg_catalog.format('WITH p AS MATERIALIZED (
        SELECT left_id, right_id, pg_catalog.hashtextextended(left_id COLLATE pg_catalog."C", 1)
                OPERATOR(pg_catalog.&) 1023 OPERATOR(pg_catalog.%%) 20 AS left_group,
            pg_catalog.hashtextextended(right_id COLLATE pg_catalog."C", 1)
                OPERATOR(pg_catalog.&) 1023 OPERATOR(pg_catalog.%%) 20 AS right_group
        FROM %s._lsh_kept_pairs($1, CAST(''pg_catalog.text'' AS pg_catalog.regtype), $2,
            CAST(NULL AS pg_catalog.float8),
            CAST(NULL AS pg_catalog.int4), CAST(NULL AS pg_catalog.int4), $3, CAST(NULL AS pg_catalog.int4), $4, $5, $6,
            $7, $8, CAST(NULL AS pg_catalog.int8), CAST(NULL AS pg_catalog.text), CAST(NULL AS pg_catalog.text))
            AS p(left_id pg_catalog.text, right_id pg_catalog.text, similarity pg_catalog.float8)
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
        pg_catalog.array_agg(coalesce(twos, 0) OPERATOR(pg_catalog./) 2 ORDER BY g) FROM s', schema)
        INTO found, wedges
        USING sampled, threshold, verify, num_hashes, shingle_size, unit, fold, bag;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    seconds := scan + greatest(extract(epoch FROM clock_timestamp() - before) - scan, 0) / share;

    -- Without a group, pairs are (19/20)^2 and wedges (19/20)^3 of all.
    SELECT sqrt((1 - share) * 0.95 * 20 * var_pop(f / 0.95 ^ 2)), sqrt((1 - share) * 0.95 * 20 * var_pop(w / 0.95 ^ 3))
    INTO pair_error, wedge_error FROM unnest(found[2:], wedges[2:]) AS u(f, w);
    unseen := (1 - share) * 4.75 ^ 2 / 2;
    pairs := found[1] / share ^ 2;
    pairs_low := CASE WHEN found[1] = 0 THEN 0
        ELSE greatest(found[1], found[1] * exp(-quantile * pair_error / found[1]) / share ^ 2) END;
    pairs_high := (found[1] * exp(least(quantile * pair_error / greatest(found[1], 1), 50)) + unseen) / share ^ 2;
    pairs_high := least(pairs_high, row_count::numeric * (row_count - 1) / 2);
    -- Rows with d near ones are at least (sum of d)^2 / (sum of d^2), and at most the sum of d.
    near_share_high := least(1, 2.0 * pairs_high / greatest(row_count, 1));
    near_share_low := CASE WHEN pairs_low = 0 THEN 0 ELSE 2.0 * pairs_low ^ 2 / (pairs_low
        + (wedges[1] + quantile * wedge_error + unseen) / share ^ 3) / row_count END;
END $$;
COMMENT ON FUNCTION lsh_sample(text, double precision, double precision, text, integer, integer, text, boolean, boolean, bigint, text) IS
    'how many pairs lsh_pairs will find among a query''s rows, and how long it will take, from a sample of the rows. '
    'Example: lsh_sample(''SELECT id, body FROM articles'', threshold => 0.8)';
