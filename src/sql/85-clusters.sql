-- Clusters that are kept in a user's table, and are refreshed after rows have been added, changed or deleted.
--
-- A refresh is one statement, so that all of its parts see the same snapshot. The statement finds the rows that are
-- new, gone or changed, and the components (rows connected by near-duplicate pairs) that these rows touch. It clusters
-- the current rows of these components by lsh_clusters(), and writes the differences to the table. The statement
-- contains the user's query and runs with the user's search_path. So our part of the statement names the schema of
-- everything, including operators. The queries passed to lsh_pairs() and lsh_clusters() list ids as text.
--
-- The settings are stored as a comment on the column content_hash, because dumps include comments. The hashes in this
-- column use the settings as their seed. So if the settings change, all hashes change, and all rows are clustered
-- again.
--
-- The planner cannot estimate how many rows a refresh will process, but it expects an array from a subquery to have ten
-- elements. So the statement joins tables with arrays of ids. The planner then uses the tables' indexes, if there are
-- any.
--
-- While the search_path is the user's, PL/pgSQL expressions must also name the schema of each function and operator.

-- The extension's functions are called with all of their arguments, which have exactly the declared types. So no
-- function that other users create in the extension's schema can match a call better than the intended one. But
-- lsh_pairs() and lsh_clusters() accept ids of any type, so a function for one type of ids could match a call better.
-- So the two functions below, whose arguments have fixed types, are called instead.
CREATE FUNCTION _lsh_kept_pairs(
    query text,
    ids regtype,
    threshold double precision,
    recall double precision,
    bands integer,
    rows integer,
    verify text,
    max_bucket integer,
    num_hashes integer,
    shingle_size integer,
    unit text,
    fold boolean,
    bag boolean,
    seed bigint,
    method text,
    other_query text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_kept_pairs' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION _lsh_kept_pairs(text, regtype, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, text) IS
    'lsh_pairs with the type of ids by its name';

CREATE FUNCTION _lsh_kept_clusters(
    query text,
    ids regtype,
    threshold double precision,
    recall double precision,
    bands integer,
    rows integer,
    verify text,
    max_bucket integer,
    num_hashes integer,
    shingle_size integer,
    unit text,
    fold boolean,
    bag boolean,
    seed bigint,
    method text,
    near_representative boolean,
    singletons boolean
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'lsh_kept_clusters' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION _lsh_kept_clusters(text, regtype, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, boolean, boolean) IS
    'lsh_clusters with the type of ids by its name, and the component of each row';

-- The hash of a row's text or signature. It has 64 bits, so two contents have the same hash by chance once in 2^64.
CREATE FUNCTION _lsh_kept_hash(content text, seed bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'lsh_kept_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION _lsh_kept_hash(content minhash_signature, seed bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'lsh_kept_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _lsh_kept_hash(text, bigint) IS 'the hash by which changed texts of kept clusters are found';
COMMENT ON FUNCTION _lsh_kept_hash(minhash_signature, bigint) IS
    'the hash by which changed signatures of kept clusters are found';

-- Users often pass the name of a table instead of a query, and may leave out double quotes that the name needs.
CREATE FUNCTION _lsh_kept_check_select(argument text, query text, columns text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF query !~* '\m(select|values|with|returning)\M|^\s*table\s' THEN
        RAISE EXCEPTION '% is not a SELECT', argument USING ERRCODE = 'syntax_error', HINT = format(
            'Use SELECT %s FROM %s, with the table''s columns.', columns, CASE WHEN query ~ '"' THEN query
                WHEN query ~ '\S'
                THEN (SELECT string_agg(quote_ident(part), '.') FROM string_to_table(query, '.') AS part)
                ELSE 'articles' END);
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_check_select(text, text, text) IS
    'fails where something else is given instead of a query';

CREATE FUNCTION _lsh_kept_name(name text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT string_agg(quote_ident(part), '.') FROM unnest(parse_ident(name)) AS part);
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE EXCEPTION 'invalid name of a table: %', name USING ERRCODE = 'invalid_name',
        HINT = 'Put a name that is no lower-case word into double quotes, as in ''"Big name"'' or ''news."Big name"''.';
END $$;
COMMENT ON FUNCTION _lsh_kept_name(text) IS 'the name of a table, quoted for SQL';

CREATE FUNCTION _lsh_kept_query(query text, search_path text,
    OUT id_type oid, OUT is_signature boolean, OUT has_scope boolean, OUT has_rank boolean)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    source text := '(SELECT) AS one LEFT JOIN (' || query || E'\n) AS q';
    of_shape text := format('SELECT pg_catalog.row_to_json(x) FROM (SELECT q.* FROM %s ON false) AS x', source);
    of_types text := format('SELECT pg_catalog.pg_typeof(q.id), pg_catalog.pg_typeof(q.content)
        FROM %s(id, content) ON false', source);
    shape json;
    names text[];
    content_type oid;
BEGIN
    EXECUTE format('SELECT %s._lsh_kept_check_select(''query'', $1, ''id, body'')', (SELECT quote_ident(nspname)
        FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'minhash_lsh'))
        USING query;
    PERFORM set_config('search_path', search_path, true);
    EXECUTE of_shape INTO shape;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    names := ARRAY(SELECT json_object_keys(shape));
    IF cardinality(names) < 2 OR NOT names[3:] <@ ARRAY['scope', 'rank']
        OR cardinality(names) > 2 + (SELECT count(DISTINCT name) FROM unnest(names[3:]) AS name) THEN
        RAISE EXCEPTION 'query must return id and signature or text, and may return scope and rank'
            USING ERRCODE = 'datatype_mismatch', DETAIL = format('It returns %s.', array_to_string(names, ', ')),
                HINT = 'Use, for example, SELECT id, body FROM articles.';
    END IF;
    PERFORM set_config('search_path', search_path, true);
    EXECUTE of_types INTO id_type, content_type;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    -- Replaces domains by their base types: for an argument of a domain type, PostgreSQL might choose another user's
    -- operator or function.
    WHILE EXISTS (SELECT FROM pg_type WHERE oid = content_type AND typtype = 'd') LOOP
        content_type := (SELECT typbasetype FROM pg_type WHERE oid = content_type);
    END LOOP;
    WHILE EXISTS (SELECT FROM pg_type WHERE oid = id_type AND typtype = 'd') LOOP
        id_type := (SELECT typbasetype FROM pg_type WHERE oid = id_type);
    END LOOP;
    is_signature := EXISTS (SELECT FROM pg_type AS t JOIN pg_extension AS e ON t.typnamespace = e.extnamespace
                            WHERE t.oid = content_type AND t.typname = 'minhash_signature'
                                AND e.extname = 'minhash_lsh');
    has_scope := 'scope' = ANY (names[3:]);
    has_rank := 'rank' = ANY (names[3:]);
END $$;
COMMENT ON FUNCTION _lsh_kept_query(text, text) IS 'which columns the query of kept clusters returns';

CREATE FUNCTION _lsh_kept_statement(clusters regclass, comment text, changed text, log text, is_new boolean)
    RETURNS text LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    settings jsonb := comment;
    path text := settings->>'search_path';
    near boolean := settings->>'near_representative';
    query text := settings->>'query';
    source text;
    share_of_lookups double precision; -- how many rows can be read, signed and banded in the time of one lookup
    schema text := (SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = extnamespace
                    WHERE extname = 'minhash_lsh');
    target text := (SELECT format('%I.%I', nspname, relname) FROM pg_class AS c
                    JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = clusters);
    kept record;
    id_type text;
    equal text; -- the equality operator of the primary key
    arguments text; -- arguments of lsh_pairs() and lsh_clusters(), from threshold to method
    hash text; -- the hash of a row's content
    id_hash text; -- a format string: the hash of an id
    lookup text;
    cost double precision; -- the cost of one lookup, as the planner estimates it
    clustered text; -- a call of lsh_clusters(); the query is filled in later
    written text; -- a condition: the id of a row r stays the same when written and read as text
    changes text; -- the part of the statement that reads the rows in the query and in the table
    has_changes text := 'true';
    plan json;
    rows_expected double precision;
    is_empty boolean;
    has_index boolean := false;
BEGIN
    EXECUTE format('SELECT * FROM %s._lsh_kept_query($1, $2)', schema) INTO kept USING query, path;
    SELECT format('%I.%I', n.nspname, t.typname) INTO id_type
    FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = typnamespace WHERE t.oid = kept.id_type;
    source := format('(SELECT CAST(q.id AS %s) AS id, q.content%s%s FROM (%s%s) AS q(id, content))', id_type,
        CASE WHEN kept.has_scope THEN ', q.scope' END, CASE WHEN kept.has_rank THEN ', q.rank' END, query, E'\n');
    SELECT format('OPERATOR(%I.%s)', n.nspname, o.oprname) INTO equal
    FROM pg_attribute AS a JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
    JOIN pg_opclass AS c ON c.oid = i.indclass[0]
    JOIN pg_amop AS s ON s.amopfamily = c.opcfamily AND s.amopstrategy = 3
        AND s.amoplefttype = c.opcintype AND s.amoprighttype = c.opcintype
    JOIN pg_operator AS o ON o.oid = s.amopopr JOIN pg_namespace AS n ON n.oid = o.oprnamespace
    WHERE a.attrelid = clusters AND a.attname = 'id' AND a.atttypid = kept.id_type
        AND i.indnatts = 1 AND i.indkey[0] = a.attnum;
    IF equal IS NULL THEN
        RAISE EXCEPTION 'ids of the query of % are of type %', clusters, kept.id_type::regtype
            USING ERRCODE = 'datatype_mismatch',
                DETAIL = 'The table''s primary key is not a column id of this type.',
                HINT = 'Drop the table and make it again by lsh_create_clusters().';
    END IF;
    SELECT string_agg(format('CAST(%L AS pg_catalog.%s)', settings->>name, type), ', ' ORDER BY place) INTO arguments
    FROM unnest('{threshold,recall,bands,rows,verify,max_bucket,num_hashes,shingle_size,unit,fold,bag,seed,
            method}'::text[],
        '{float8,float8,int4,int4,text,int4,int4,int4,text,bool,bool,int8,text}'::text[])
        WITH ORDINALITY AS a(name, type, place);
    clustered := format('%1$s._lsh_kept_clusters(CAST(%%s AS pg_catalog.text), CAST(%2$L AS pg_catalog.regtype), %3$s,
        CAST(%4$L AS pg_catalog.bool), true)
        AS c(id %2$s, cluster_id %2$s, representative %2$s, size pg_catalog.int8, similarity pg_catalog.float8,
            component %2$s)', schema, id_type, arguments, near);
    written := CASE WHEN kept.id_type = ANY ('{int2,int4,int8,text,varchar,uuid}'::regtype[]) THEN 'true'
        ELSE format('(r.id %s CAST(CAST(r.id AS pg_catalog.text) AS %s)) IS TRUE', equal, id_type) END;
    hash := format('CAST(%L AS pg_catalog.int8)', hashtextextended(comment COLLATE "C", 0));
    IF kept.has_scope OR kept.has_rank THEN
        hash := format('pg_catalog.hash_record_extended(ROW(%s), %s)', concat_ws(', ',
            CASE WHEN kept.has_scope THEN 'q.scope' END, CASE WHEN kept.has_rank THEN 'q.rank' END), hash);
    END IF;
    hash := format('coalesce(%1$s._lsh_kept_hash(CAST(q.content AS %2$s), %3$s), %3$s)', schema,
        CASE WHEN kept.is_signature THEN schema || '.minhash_signature' ELSE 'pg_catalog.text' END, hash);
    IF is_new THEN
        RETURN format('WITH now AS MATERIALIZED (
    SELECT q.id, %1$s AS content_hash FROM %2$s AS q(id, content)
), problem AS MATERIALIZED (
    SELECT CASE WHEN EXISTS (SELECT FROM now WHERE id IS NULL) THEN ''null''
        WHEN EXISTS (SELECT FROM now AS r WHERE NOT %3$s) THEN ''text'' END AS name
), numbered AS (
    SELECT *, pg_catalog.min(number) OVER (PARTITION BY component ORDER BY component, cluster_id) AS first
    FROM (SELECT c.*, pg_catalog.dense_rank() OVER (ORDER BY component, cluster_id) AS number FROM %4$s
          WHERE (SELECT name FROM problem) IS NULL) AS c
), inserted AS (
    INSERT INTO %5$s (id, cluster_id, representative, similarity, component, content_hash)
    SELECT c.id, c.number, c.representative, c.similarity, c.first, n.content_hash
    FROM numbered AS c JOIN now AS n ON n.id %6$s c.id RETURNING cluster_id
) SELECT (SELECT name FROM problem), ARRAY[pg_catalog.count(*), coalesce(pg_catalog.max(cluster_id), 0)] FROM inserted',
            hash, source, written, format(clustered, quote_literal(query)), target, equal);
    END IF;
    changed := rtrim(changed, E'; \t\n');
    EXECUTE format('SELECT %s._lsh_kept_check_select(''changed'', $1, ''id'')', schema) USING changed;
    PERFORM set_config('search_path', path, true);
    IF changed IS NOT NULL THEN -- so that an error in `changed` is reported with this short statement
        EXECUTE pg_catalog.concat('SELECT CAST(c.id AS ', id_type, ') FROM (SELECT) AS one LEFT JOIN (', changed,
            E'\n) AS c(id) ON false');
    END IF;
    EXECUTE pg_catalog.concat('SELECT NOT EXISTS (SELECT FROM ', target, ')') INTO is_empty;
    EXECUTE pg_catalog.concat('EXPLAIN (FORMAT JSON) SELECT FROM ', source, ' AS q') INTO plan;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    rows_expected := plan->0->'Plan'->>'Plan Rows';
    EXECUTE format('SELECT condition, cost FROM %s._lsh_kept_lookup($1, $2, $3, $4, $5)', schema)
        INTO lookup, cost USING source, path, settings, kept.is_signature, kept.has_scope;
    -- A lookup takes about one microsecond per unit of the planner's cost; signing a row takes about 2.5 microseconds.
    -- A lookup counts as at least 25 rows, because page costs are often set too low.
    IF NOT is_empty AND cost IS NOT NULL THEN
        has_index := true;
        share_of_lookups := greatest(25, cost / 2.5);
    END IF;

    IF changed IS NOT NULL THEN
        changes := format('told AS MATERIALIZED (
    SELECT DISTINCT CAST(c.id AS %1$s) AS id FROM (%2$s%3$s) AS c(id) WHERE c.id IS NOT NULL
), given AS MATERIALIZED (
    SELECT pg_catalog.array_agg(CAST(id AS pg_catalog.text)) AS ids FROM told
), now AS MATERIALIZED (
    SELECT q.id, %4$s AS content_hash, true AS here FROM %5$s AS q(id, content)
    JOIN pg_catalog.unnest((SELECT ids FROM given)) AS u(x) ON q.id %6$s CAST(u.x AS %1$s)
), before AS (
    SELECT q.id, q.cluster_id, q.component, q.content_hash, true AS there FROM %7$s AS q
    JOIN pg_catalog.unnest((SELECT ids FROM given)) AS u(x) ON q.id %6$s CAST(u.x AS %1$s)
)', id_type, changed, E'\n', hash, source, equal, target);
    ELSE
        -- If the query's rows and the table's rows have the same combined hash, nothing has changed. Comparing the two
        -- hashes takes a fraction of the time of a join. A random number is hashed with each row, so that nobody can
        -- craft changes that leave the combined hash as it was.
        changes := format('now AS MATERIALIZED (
    SELECT q.id, %1$s AS content_hash, true AS here FROM %2$s AS q(id, content)
), before AS (
    SELECT q.id, q.cluster_id, q.component, q.content_hash, true AS there FROM %3$s AS q
)', hash, source, target);
        IF written = 'true' THEN
            EXECUTE format('SELECT %s._lsh_kept_id_hash($1)', schema) INTO id_hash USING kept.id_type::regtype;
            has_changes := format('(SELECT %1$s FROM now) OPERATOR(pg_catalog.<>) (SELECT %1$s FROM %2$s)', format(
                'pg_catalog.concat(pg_catalog.count(*), '' '', pg_catalog.bit_xor(%s))', format(id_hash, 'id', format(
                    'content_hash OPERATOR(pg_catalog.#) CAST(%L AS pg_catalog.int8)',
                    hashtextextended(gen_random_uuid()::text, 0)))), target);
        END IF;
    END IF;

    -- The rows that are new, gone or changed. `listed` has the ids of all new and changed rows (all_ids), and one id
    -- for each distinct content of these rows (ids).
    RETURN format('WITH %1$s, changes AS MATERIALIZED (
    SELECT n.id, n.content_hash, coalesce(n.here, false) AS here, coalesce(b.there, false) AS there,
        b.id AS old_id, b.cluster_id AS old_cluster, b.component AS old_component
    FROM now AS n FULL JOIN before AS b ON n.id %2$s b.id
    WHERE %3$s
        AND (n.here IS NULL OR b.there IS NULL OR (n.content_hash OPERATOR(pg_catalog.=) b.content_hash) IS NOT TRUE)
), listed AS MATERIALIZED (
    SELECT pg_catalog.array_agg(CAST(id AS pg_catalog.text)) AS all_ids,
        pg_catalog.array_agg(CAST(id AS pg_catalog.text)) FILTER (WHERE row_number OPERATOR(pg_catalog.=) 1) AS ids,
        pg_catalog.count(*) AS number
    FROM (SELECT id, pg_catalog.row_number() OVER (PARTITION BY content_hash) FROM changes WHERE here) AS fresh
)', changes, equal, has_changes)

    -- The components of rows that are gone or have changed, and of rows that are near new or changed rows. (Without
    -- coalesce(), the planner would expect the query for unchanged rows to return no rows.)
    || format(', touched AS MATERIALIZED (
    SELECT old_component AS component FROM changes WHERE there')
    || CASE WHEN is_empty THEN '' ELSE format('
    UNION SELECT t.component FROM listed AS l CROSS JOIN LATERAL %1$s._lsh_kept_pairs(
        %2$s, CAST(%3$L AS pg_catalog.regtype), %4$s,
        pg_catalog.concat(%5$L, pg_catalog.quote_literal(l.all_ids), %6$L))
        AS p(left_id %3$s, right_id %3$s, similarity pg_catalog.float8) JOIN %7$s AS t ON t.id %8$s p.right_id
    WHERE l.number OPERATOR(pg_catalog.>) 0 AND l.number OPERATOR(pg_catalog.*) %9$s OPERATOR(pg_catalog.>) %10$s',
        schema,
        format('pg_catalog.concat(%L, pg_catalog.quote_literal(l.ids), %L)',
            format('SELECT q.id, q.content%s FROM %s AS q(id, content) JOIN (SELECT CAST(x AS %s)
                FROM pg_catalog.unnest(CAST(', CASE WHEN kept.has_scope THEN ', q.scope' END, source, id_type),
            format(' AS pg_catalog.text[])) AS u(x)) AS r(id) ON q.id %s r.id WHERE q.content IS NOT NULL', equal)),
        id_type, arguments,
        format('SELECT q.id, q.content%s FROM %s AS q(id, content) WHERE q.content IS NOT NULL AND
            coalesce(CAST(q.id AS pg_catalog.text) COLLATE pg_catalog."C" OPERATOR(pg_catalog.<>) ALL (CAST(',
            CASE WHEN kept.has_scope THEN ', q.scope' END, source),
        ' AS pg_catalog.text[])), false)', target, equal, CASE WHEN has_index THEN share_of_lookups ELSE 0 END,
        CASE WHEN has_index THEN rows_expected ELSE -1 END) END
    || CASE WHEN NOT has_index THEN '' ELSE format('
    UNION SELECT t.component FROM pg_catalog.unnest((SELECT ids FROM listed WHERE number OPERATOR(pg_catalog.*) %1$s
        OPERATOR(pg_catalog.<=) %2$s)) AS u(x) JOIN %3$s AS n(id, content) ON n.id %4$s CAST(u.x AS %5$s)
        JOIN %3$s AS o(id, content) ON %6$s AND NOT o.id %4$s n.id JOIN %7$s AS t ON t.id %4$s o.id',
        share_of_lookups, rows_expected, source, equal, id_type, lookup, target) END

    -- The unchanged rows of these components are clustered again, together with all new and changed rows.
    || format('
), region AS MATERIALIZED (
    SELECT t.id, t.cluster_id AS old_cluster, t.representative, t.similarity, t.component, t.content_hash,
        false AS is_fresh
    FROM pg_catalog.unnest((SELECT pg_catalog.array_agg(component) FROM touched)) AS u(component)
    JOIN %1$s AS t ON t.component OPERATOR(pg_catalog.=) u.component LEFT JOIN changes AS c ON c.old_id %2$s t.id
    WHERE c.there IS NULL
    UNION ALL SELECT id, old_cluster, NULL, NULL, NULL, content_hash, true FROM changes WHERE here
), members AS MATERIALIZED (
    SELECT c.id, c.cluster_id AS key, c.component AS component_key, c.representative, c.similarity FROM (
        SELECT pg_catalog.concat(%3$L, CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.<) %4$s THEN ''SELECT '' END,
            pg_catalog.quote_literal(pg_catalog.array_agg(CAST(id AS pg_catalog.text))), %5$L) AS query
        FROM region HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 0) AS r CROSS JOIN LATERAL %6$s',
        target, equal, format('SELECT q.* FROM %s AS q(id, content)
            JOIN (SELECT CAST(x AS %s) FROM pg_catalog.unnest(CAST((', source, id_type), rows_expected / 10,
        format(') AS pg_catalog.text[])) AS u(x)) AS r(id) ON q.id %s r.id', equal), format(clustered, 'r.query'))

    -- Cluster ids: each old cluster passes its id on to the new cluster that has the largest number of its unchanged
    -- rows or, if this number is equal, of all its rows. If a new cluster gets several ids, it keeps the oldest. A
    -- cluster has split if its unchanged rows are in several clusters now. If all of its rows have changed, as after a
    -- change of settings, they count as unchanged.
    || format('
), problem AS MATERIALIZED (
    SELECT CASE WHEN EXISTS (SELECT FROM changes WHERE here AND id IS NULL) THEN ''null''
        WHEN EXISTS (SELECT FROM (SELECT id FROM region UNION ALL SELECT old_id FROM changes WHERE there%3$s) AS r
                     WHERE NOT %4$s) THEN ''text''
        ELSE (SELECT pg_catalog.concat(''=The id is '', CAST(id AS pg_catalog.text), ''.'') FROM members GROUP BY id
              HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1 LIMIT 1) END AS name
), placed AS MATERIALIZED (
    SELECT m.*, r.old_cluster, r.representative AS old_representative, r.similarity AS old_similarity,
        r.component AS old_component, r.content_hash, r.is_fresh FROM members AS m JOIN region AS r ON r.id %1$s m.id
), parts AS MATERIALIZED (
    SELECT old_cluster, key, rows, CASE WHEN pg_catalog.sum(same_rows) OVER (PARTITION BY old_cluster)
        OPERATOR(pg_catalog.=) 0 THEN rows ELSE same_rows END AS same_rows
    FROM (SELECT old_cluster, key, pg_catalog.count(*) AS rows,
              pg_catalog.count(*) FILTER (WHERE NOT is_fresh) AS same_rows
          FROM placed WHERE old_cluster IS NOT NULL GROUP BY old_cluster, key) AS p
), heirs AS MATERIALIZED (
    SELECT DISTINCT ON (old_cluster) old_cluster, key FROM parts ORDER BY old_cluster, same_rows DESC, rows DESC, key
), numbers AS MATERIALIZED (
    SELECT key, oldest, coalesce(oldest, pg_catalog.nextval(%2$L)) AS cluster_id
    FROM (SELECT p.key, pg_catalog.min(h.old_cluster) AS oldest FROM (SELECT DISTINCT key FROM placed) AS p
          LEFT JOIN heirs AS h ON h.key %1$s p.key GROUP BY p.key ORDER BY p.key) AS k
), result AS MATERIALIZED (
    SELECT p.*, n.cluster_id, pg_catalog.min(n.cluster_id) OVER (PARTITION BY p.component_key) AS component
    FROM placed AS p JOIN numbers AS n ON n.key %1$s p.key
), moves AS MATERIALIZED (
    SELECT p.old_cluster, n.cluster_id, h.key IS NOT NULL AS is_join, p.same_rows
    FROM parts AS p JOIN numbers AS n ON n.key %1$s p.key
    LEFT JOIN heirs AS h ON h.old_cluster OPERATOR(pg_catalog.=) p.old_cluster AND h.key %1$s p.key
    WHERE p.old_cluster OPERATOR(pg_catalog.<>) n.cluster_id
)', equal, pg_get_serial_sequence(target, 'cluster_id'),
        CASE WHEN changed IS NOT NULL THEN ' UNION ALL SELECT id FROM told' ELSE '' END, written)

    -- Writes the rows that differ.
    || format(', deleted AS (
    DELETE FROM %1$s AS t USING pg_catalog.unnest((SELECT pg_catalog.array_agg(CAST(id AS pg_catalog.text)) FROM (
        SELECT old_id AS id FROM changes WHERE NOT here UNION ALL
        SELECT r.id FROM region AS r LEFT JOIN members AS m ON m.id %2$s r.id WHERE m.key IS NULL) AS gone)) AS u(x)
    WHERE t.id %2$s CAST(u.x AS %4$s) RETURNING t.cluster_id
), different AS MATERIALIZED (
    SELECT * FROM result WHERE old_cluster IS NOT NULL AND (old_cluster OPERATOR(pg_catalog.=) cluster_id
        AND old_representative %2$s representative AND old_similarity OPERATOR(pg_catalog.=) similarity
        AND old_component OPERATOR(pg_catalog.=) component) IS NOT TRUE
), updated AS (
    UPDATE %1$s AS t SET cluster_id = r.cluster_id, representative = r.representative, similarity = r.similarity,
        component = r.component, content_hash = r.content_hash
    FROM pg_catalog.unnest((SELECT pg_catalog.array_agg(CAST(id AS pg_catalog.text)) FROM different)) AS u(x)
    JOIN different AS r ON r.id %2$s CAST(u.x AS %4$s) WHERE t.id %2$s CAST(u.x AS %4$s)
), inserted AS (
    INSERT INTO %1$s (id, cluster_id, representative, similarity, component, content_hash)
    SELECT id, cluster_id, representative, similarity, component, content_hash
    FROM result WHERE old_cluster IS NULL AND (SELECT name FROM problem) IS NULL ORDER BY cluster_id, id RETURNING 1
)%3$s
SELECT (SELECT name FROM problem), ARRAY[(SELECT pg_catalog.count(*) FROM inserted),
    (SELECT pg_catalog.count(*) FROM deleted),
    (SELECT pg_catalog.count(*) FROM result WHERE is_fresh AND old_cluster IS NOT NULL),
    (SELECT pg_catalog.count(*) FROM numbers WHERE oldest IS NULL),
    (SELECT pg_catalog.count(*) FROM moves WHERE is_join),
    (SELECT pg_catalog.count(*) FROM (SELECT FROM parts WHERE same_rows OPERATOR(pg_catalog.>) 0 GROUP BY old_cluster
     HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1) AS split),
    (SELECT pg_catalog.count(*) FROM (SELECT cluster_id FROM deleted EXCEPT SELECT old_cluster FROM parts) AS gone)]',
        target, equal, CASE WHEN log IS NOT NULL THEN format(', logged AS (
    INSERT INTO %s (refreshed_at, event, cluster_id, into_cluster_id)
    SELECT pg_catalog.now(), CASE WHEN is_join THEN ''join'' ELSE ''split'' END, old_cluster, cluster_id FROM moves
    WHERE is_join OR same_rows OPERATOR(pg_catalog.>) 0 ORDER BY old_cluster, cluster_id
)', log) ELSE '' END, id_type);
END $$;
COMMENT ON FUNCTION _lsh_kept_statement(regclass, text, text, text, boolean) IS
    'the statement that refreshes kept clusters, or fills a new table of them';

-- Fails unless the current user is the owner. Membership in the owner's role is not enough, because the query that is
-- stored with the table runs with the rights of the user who refreshes the clusters.
CREATE FUNCTION _lsh_check_kept_owner(relation regclass) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kind "char";
    owner name;
BEGIN
    SELECT relkind, pg_get_userbyid(relowner) INTO kind, owner FROM pg_class WHERE oid = relation;
    IF kind IS DISTINCT FROM 'r' THEN
        RAISE EXCEPTION '% is not a table', relation USING ERRCODE = 'wrong_object_type';
    ELSIF owner <> current_user THEN
        RAISE EXCEPTION 'must be owner of table %', relation USING ERRCODE = 'insufficient_privilege',
            DETAIL = 'The query that is kept with clusters runs with the rights of whoever refreshes them.',
            HINT = format('SET ROLE %I first.', owner);
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_check_kept_owner(regclass) IS 'fails unless the current user himself owns the table';

CREATE FUNCTION _lsh_kept_error(clusters regclass, problem text) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF problem = 'null' THEN
        RAISE EXCEPTION 'query of % returned a row whose id is NULL', clusters
            USING ERRCODE = 'null_value_not_allowed', HINT = 'Leave such rows out in the query.';
    ELSIF problem = 'text' THEN
        RAISE EXCEPTION 'ids of % differ when they are written and read as text', clusters
            USING ERRCODE = 'invalid_text_representation',
                HINT = 'See the settings extra_float_digits, DateStyle and IntervalStyle.';
    ELSIF problem IS NOT NULL THEN
        RAISE EXCEPTION 'query of % returned several rows of one id', clusters
            USING ERRCODE = 'unique_violation', DETAIL = substr(problem, 2),
                HINT = 'Ids must be unique in the query.';
    END IF;
END $$;
COMMENT ON FUNCTION _lsh_kept_error(regclass, text) IS 'says what is wrong with the ids of the query of kept clusters';

-- Runs a statement of _lsh_kept_statement(). If it raises an error, for instance in the user's query, or is cancelled,
-- the error is reported with its message, detail and hint, but without the text of the statement, which has a hundred
-- lines and the ids of all changed rows.
CREATE FUNCTION _lsh_kept_run(statement text, path text, OUT figures bigint[], OUT problem text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    state text;
    message text;
    detail text;
    hint text;
    context text;
BEGIN
    PERFORM set_config('search_path', path, true);
    EXECUTE statement INTO problem, figures;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
EXCEPTION WHEN OTHERS OR query_canceled THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT;
    -- If the error occurs in a function that the query calls, the detail names the function.
    detail := concat_ws(E'\n', nullif(detail, ''), nullif(rtrim(split_part(context, 'SQL statement "', 1), E'\n'), ''));
    CASE
    WHEN detail = '' AND hint = '' THEN
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message;
    WHEN hint = '' THEN
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, DETAIL = detail;
    WHEN detail = '' THEN
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, HINT = hint;
    ELSE
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, DETAIL = detail, HINT = hint;
    END CASE;
END $$;
COMMENT ON FUNCTION _lsh_kept_run(text, text) IS 'runs a statement on kept clusters';

CREATE FUNCTION lsh_refresh_clusters(clusters regclass, changed text DEFAULT NULL, log text DEFAULT NULL,
    OUT rows_added bigint, OUT rows_removed bigint, OUT rows_changed bigint, OUT clusters_made bigint,
    OUT clusters_joined bigint, OUT clusters_split bigint, OUT clusters_dissolved bigint)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    required text[] := '{query,search_path,threshold,near_representative}';
    optional text[] := '{recall,bands,rows,verify,max_bucket,num_hashes,shingle_size,unit,fold,bag,seed,method}';
    schema text := (SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = extnamespace
                    WHERE extname = 'minhash_lsh');
    comment text;
    settings jsonb;
    path text;
    log_table regclass;
    missing text;
    statement text;
    problem text;
BEGIN
    IF clusters IS NULL THEN
        RETURN;
    END IF;
    IF CAST(current_setting('transaction_read_only') AS boolean) THEN
        RAISE EXCEPTION 'cannot refresh clusters in a read-only transaction'
            USING ERRCODE = 'read_only_sql_transaction',
                HINT = 'Refresh them on the primary server, in a transaction that is READ WRITE.';
    END IF;
    EXECUTE format('SELECT %s._lsh_check_kept_owner($1)', schema) USING clusters;
    EXECUTE (SELECT format('LOCK TABLE %I.%I IN SHARE ROW EXCLUSIVE MODE', nspname, relname)
             FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = clusters);
    SELECT col_description(clusters, attnum) INTO comment
    FROM pg_attribute WHERE attrelid = clusters AND attname = 'content_hash' AND NOT attisdropped;
    BEGIN
        settings := comment;
    EXCEPTION WHEN invalid_text_representation THEN
        settings := NULL;
    END;
    IF jsonb_typeof(settings) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'table % has no settings of clusters', clusters
            USING ERRCODE = 'object_not_in_prerequisite_state',
                DETAIL = 'lsh_create_clusters() keeps them as the comment on the column content_hash.',
                HINT = 'Set this comment again, or drop the table and make it again.';
    ELSIF NOT settings ?& required
        OR EXISTS (SELECT FROM jsonb_object_keys(settings) AS key WHERE key <> ALL (required || optional)) THEN
        RAISE EXCEPTION 'settings of clusters % are wrong', clusters USING ERRCODE = 'invalid_parameter_value',
            DETAIL = format('They have %s.', (SELECT string_agg(key, ', ') FROM jsonb_object_keys(settings) AS key)),
            HINT = format('They must have %s, and may have %s.', array_to_string(required, ', '),
                          array_to_string(optional, ', '));
    END IF;
    SELECT string_agg(name, ', ') INTO missing
    FROM unnest('{id,cluster_id,representative,similarity,component}'::text[]) AS name
    WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = clusters AND attname = name AND NOT attisdropped);
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'table % of clusters lacks %', clusters, missing USING ERRCODE = 'undefined_column',
            HINT = 'Give its columns back the names that lsh_create_clusters() gave them. You may add others.';
    END IF;
    path := settings->>'search_path';
    IF log IS NOT NULL THEN
        EXECUTE format('SELECT %s._lsh_kept_name($1)', schema) INTO log USING log;
        PERFORM set_config('search_path', path, true);
        log_table := pg_catalog.to_regclass(log);
        IF log_table IS NULL THEN
            EXECUTE pg_catalog.concat('CREATE TABLE ', log, ' (refreshed_at pg_catalog.timestamptz,
                event pg_catalog.text, cluster_id pg_catalog.int8, into_cluster_id pg_catalog.int8)');
            log_table := pg_catalog.to_regclass(log);
        END IF;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        EXECUTE format('SELECT %s._lsh_check_kept_owner($1)', schema) USING log_table;
        SELECT string_agg(concat(name, ' ', type), ', ') INTO missing
        FROM unnest('{refreshed_at,event,cluster_id,into_cluster_id}'::text[],
            '{timestamptz,text,bigint,bigint}'::text[]) AS c(name, type)
        WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = log_table AND attname = name
                          AND atttypid = CAST(type AS regtype) AND NOT attisdropped);
        IF missing IS NOT NULL THEN
            RAISE EXCEPTION 'table % is no log of clusters', log_table USING ERRCODE = 'datatype_mismatch',
                DETAIL = format('It lacks %s.', missing),
                HINT = 'Name a table that is not there: the refresh makes it.';
        END IF;
        log := (SELECT format('%I.%I', nspname, relname) FROM pg_class AS c
                JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = log_table);
    END IF;
    EXECUTE format('SELECT %s._lsh_kept_statement($1, $2, $3, $4, false)', schema) INTO statement
        USING clusters, comment, changed, log;
    EXECUTE format('SELECT figures[1], figures[2], figures[3], figures[4], figures[5], figures[6], figures[7], problem
        FROM %s._lsh_kept_run($1, $2)', schema) INTO rows_added, rows_removed, rows_changed, clusters_made,
        clusters_joined, clusters_split, clusters_dissolved, problem USING statement, path;
    EXECUTE format('SELECT %s._lsh_kept_error($1, $2)', schema) USING clusters, problem;
END $$;
COMMENT ON FUNCTION lsh_refresh_clusters(regclass, text, text) IS
    'brings clusters that lsh_create_clusters made up to date with what their query returns now. '
    'Example: lsh_refresh_clusters(''article_clusters'')';

CREATE FUNCTION lsh_create_clusters(
    clusters text,
    query text,
    threshold double precision DEFAULT 0.8,
    recall double precision DEFAULT NULL,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    verify text DEFAULT NULL,
    max_bucket integer DEFAULT NULL,
    num_hashes integer DEFAULT NULL,
    shingle_size integer DEFAULT NULL,
    unit text DEFAULT NULL,
    fold boolean DEFAULT NULL,
    bag boolean DEFAULT NULL,
    seed bigint DEFAULT NULL,
    method text DEFAULT NULL,
    near_representative boolean DEFAULT true,
    search_path text DEFAULT pg_catalog.current_setting('search_path'),
    OUT rows_added bigint,
    OUT clusters_made bigint
) LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    schema text := (SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = extnamespace
                    WHERE extname = 'minhash_lsh');
    target text;
    id_type text;
    settings json;
    made regclass;
    statement text;
    problem text;
BEGIN
    query := rtrim(query, E'; \t\n');
    IF clusters IS NULL OR query IS NULL OR search_path IS NULL OR threshold IS NULL OR near_representative IS NULL THEN
        RAISE EXCEPTION 'clusters, query, search_path, threshold and near_representative must not be NULL'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    EXECUTE format('SELECT %s._lsh_kept_name($1)', schema) INTO target USING clusters;
    settings := json_strip_nulls(json_build_object('query', query, 'search_path', search_path, 'threshold', threshold,
        'recall', recall, 'bands', bands, 'rows', rows, 'verify', verify, 'max_bucket', max_bucket,
        'num_hashes', num_hashes, 'shingle_size', shingle_size, 'unit', unit, 'fold', fold, 'bag', bag, 'seed', seed,
        'method', method, 'near_representative', near_representative));
    EXECUTE format('SELECT format(''%%I.%%I'', nspname, typname) FROM %s._lsh_kept_query($1, $2) AS q
        JOIN pg_type AS t ON t.oid = q.id_type JOIN pg_namespace AS n ON n.oid = t.typnamespace', schema)
        INTO id_type USING query, search_path;
    PERFORM set_config('search_path', search_path, true);
    EXECUTE pg_catalog.concat('CREATE TABLE ', target, ' AS SELECT CAST(q.id AS ', id_type, ') AS id,
        CAST(NULL AS pg_catalog.int8) AS cluster_id, CAST(q.id AS ', id_type, ') AS representative,
        CAST(NULL AS pg_catalog.float8) AS similarity,
        CAST(NULL AS pg_catalog.int8) AS component, CAST(NULL AS pg_catalog.int8) AS content_hash
        FROM (', query, E'\n) AS q(id, content) WITH NO DATA');
    made := target;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    target := (SELECT format('%I.%I', nspname, relname) FROM pg_class AS c
               JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = made);
    EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (id), ALTER cluster_id SET NOT NULL,
        ALTER cluster_id ADD GENERATED BY DEFAULT AS IDENTITY, ALTER representative SET NOT NULL,
        ALTER similarity SET NOT NULL, ALTER component SET NOT NULL', target);
    EXECUTE format('COMMENT ON COLUMN %s.content_hash IS %L', target, settings);
    -- Builds the statement first, because this needs the primary key. Then drops the key, fills the table, and adds the
    -- key again.
    EXECUTE format('SELECT %s._lsh_kept_statement($1, $2, NULL, NULL, true)', schema) INTO statement
        USING made, settings::text;
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', target, (SELECT conname FROM pg_constraint
        WHERE conrelid = made AND contype = 'p'));
    EXECUTE format('SELECT figures[1], figures[2], problem FROM %s._lsh_kept_run($1, $2)', schema)
        INTO rows_added, clusters_made, problem USING statement, search_path;
    IF problem IS NULL THEN
        BEGIN
            EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (id)', target);
        EXCEPTION WHEN unique_violation THEN
            GET STACKED DIAGNOSTICS problem = PG_EXCEPTION_DETAIL;
            problem := '=' || problem;
        END;
    END IF;
    EXECUTE format('SELECT %s._lsh_kept_error($1, $2)', schema) USING made, problem;
    PERFORM setval(pg_get_serial_sequence(target, 'cluster_id'), clusters_made) WHERE clusters_made > 0;
    EXECUTE format('CREATE INDEX ON %s (cluster_id)', target);
    IF near_representative THEN
        EXECUTE format('CREATE INDEX ON %s (component)', target);
    END IF;
    EXECUTE 'ANALYZE ' || target;
END $$;
COMMENT ON FUNCTION lsh_create_clusters(text, text, double precision, double precision, integer, integer, text, integer, integer, integer, text, boolean, boolean, bigint, text, boolean, text) IS
    'makes a table of a query''s rows with their clusters, which lsh_refresh_clusters keeps up to date. '
    'Example: lsh_create_clusters(''article_clusters'', ''SELECT id, body FROM articles'')';
