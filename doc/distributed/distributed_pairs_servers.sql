-- distributed_pairs.sql for servers that see each other through postgres_fdw: where its tables are. The coordinator
-- sends each step to all servers at once, by dblink. Each server pulls what is its to join, as reading through
-- postgres_fdw is fast and writing is slow. A key belongs to the server of its remainder; with each id goes the number
-- of the server that has the text, so texts may be anywhere.

-- What stands for the number of the server that runs a statement: longer than a name can be, so in none.
CREATE OR REPLACE FUNCTION _lsh_me() RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT '{' || repeat('the number of this server, ', 3) || '}'
$$;

-- Runs statements on all servers at once, in one transaction on each, and returns what each of them replied.
CREATE OR REPLACE FUNCTION _lsh_on_servers(servers name[], statements text)
RETURNS TABLE (number int, reply text) LANGUAGE plpgsql AS $$
DECLARE
    connections text[] := ARRAY(SELECT 'lsh ' || name FROM unnest(servers) WITH ORDINALITY AS s(name, n) ORDER BY n);
    has_replied boolean;
BEGIN
    BEGIN
        FOR n IN 1 .. cardinality(servers) LOOP
            IF connections[n] = ANY (dblink_get_connections()) THEN
                PERFORM dblink_disconnect(connections[n]);
            END IF;
            PERFORM dblink_connect(connections[n], servers[n]);
        END LOOP;
        FOR n IN 1 .. cardinality(servers) LOOP
            -- A server whose coordinator is gone stops.
            PERFORM dblink_exec(connections[n], format('SET client_connection_check_interval = ''1s'';
                SET client_min_messages = warning; SET application_name = %L', current_setting('application_name')));
            PERFORM dblink_send_query(connections[n], replace(statements, _lsh_me(), (n - 1)::text));
        END LOOP;
        FOR n IN 1 .. cardinality(servers) LOOP
            has_replied := true;
            WHILE has_replied LOOP
                -- Waiting for a result cannot be cancelled, sleeping can.
                WHILE dblink_is_busy(connections[n]) = 1 LOOP
                    PERFORM pg_sleep(0.02);
                END LOOP;
                has_replied := false;
                FOR reply IN SELECT r.reply FROM dblink_get_result(connections[n]) AS r(reply text) LOOP
                    has_replied := true;
                    number := n - 1;
                    RETURN NEXT;
                END LOOP;
            END LOOP;
            PERFORM dblink_disconnect(connections[n]);
        END LOOP;
    EXCEPTION WHEN query_canceled OR OTHERS THEN
        FOR n IN 1 .. cardinality(servers) LOOP
            IF connections[n] = ANY (dblink_get_connections()) THEN
                PERFORM dblink_cancel_query(connections[n]);
                PERFORM dblink_disconnect(connections[n]);
            END IF;
        END LOOP;
        RAISE;
    END;
END $$;

CREATE OR REPLACE FUNCTION _lsh_servers_of(job lsh_distributed_jobs) RETURNS name[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(value::name ORDER BY place)
        FROM jsonb_array_elements_text(job.arguments->'servers') WITH ORDINALITY AS s(value, place)
$$;

-- The name of a type, with its schema unless that is pg_catalog, and without a modifier.
CREATE OR REPLACE FUNCTION _lsh_type_name(type regtype) RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog
AS $$ SELECT format_type(type, -1) $$;

-- Makes the tables of a job on each server, foreign tables of those that others read, views of all parts, and on the
-- coordinator a view of all pairs.
CREATE OR REPLACE FUNCTION _lsh_create_on_servers(job lsh_distributed_jobs) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    servers name[] := _lsh_servers_of(job);
    source text := (SELECT string_agg(quote_ident(part), '.')
        FROM unnest(parse_ident(job.arguments->>'source')) AS part);
    schema text := _lsh_schema_of(job.target, '_job');
    parts text := _lsh_schema_of(job.target, '_parts');
    id_types text[];
    id_type text;
    schemes jsonb[];
    words jsonb;
    drop_all text;
    create_all text;
    shared text[];
    server name;
BEGIN
    SELECT array_agg(DISTINCT s.reply::jsonb->>'id_type'),
        array_agg(DISTINCT s.reply::jsonb->'scheme') FILTER (WHERE s.reply::jsonb->>'scheme' IS NOT NULL)
    INTO id_types, schemes
    FROM _lsh_on_servers(servers, format('SELECT jsonb_build_object(
        ''id_type'', (SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %1$L::regclass
            AND attname = %2$L
             AND EXISTS (SELECT FROM pg_index WHERE indrelid = attrelid AND indisunique AND indnkeyatts = 1
                 AND indkey[0] = attnum)),
        ''scheme'', (SELECT to_jsonb(minhash_scheme(%3$I)) FROM %1$s WHERE %3$I IS NOT NULL LIMIT 1))',
        source, job.arguments->>'id', job.arguments->>'signature')) AS s;
    IF cardinality(schemes) > 1 THEN
        RAISE EXCEPTION 'servers have signatures of different schemes' USING ERRCODE = 'data_exception',
            DETAIL = format('They are %s and %s.', schemes[1], schemes[2]);
    ELSIF cardinality(id_types) > 1 OR id_types[1] IS NULL THEN
        RAISE EXCEPTION 'column % is not of one type and with a unique index of its own on each server',
            job.arguments->>'id'
            USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('Types are %s.', id_types);
    END IF;
    -- Replies of servers do not become part of a statement: this server writes the name of the type that they mean.
    id_type := _lsh_type_name(id_types[1]::regtype);
    words := _lsh_words(job, source, id_type, schemes[1]);
    words := words || jsonb_build_object('me', _lsh_me());
    words := words || jsonb_build_object('pairs', parts || '.pairs', 'all_gone', schema || '.all_gone',
        'all_orphans', schema || '.all_orphans',
        'place_count', cardinality(servers), 'places', (SELECT format('(%L::%s[])', array_agg(n), id_type)
            FROM generate_series(0, cardinality(servers) - 1) AS n),
        'text', format('id %s NOT NULL, server int NOT NULL', id_type),
        'pair_columns', format('left_id %1$s NOT NULL, left_server int NOT NULL, right_id %1$s NOT NULL,
            right_server int NOT NULL',
                               id_type),
        'pair', 'left_id, left_server, right_id, right_server',
        'arrays', ', array_agg(server) AS servers', 'candidate', _lsh_filled('
            least(ids[i]{by_bytes}, ids[j]{by_bytes}), servers[CASE WHEN ids[i]{by_bytes} < ids[j] THEN i ELSE j END],
            greatest(ids[i]{by_bytes}, ids[j]{by_bytes}), servers[CASE WHEN ids[i]{by_bytes} < ids[j] THEN j
                ELSE i END]', words),
        'keys', format('SELECT key, id, server FROM %s.all_keys WHERE abs(key %% %s) = %s', schema,
            cardinality(servers), _lsh_me()),
        -- Several servers may have found a pair, by different keys.
        'candidates_of_left', format('(SELECT DISTINCT * FROM %s.all_candidates WHERE left_server = %s)', schema,
            _lsh_me())) ||
        (SELECT jsonb_object_agg(format('%s_of_%s', name, side), format('(SELECT * FROM %s.all_%s
            WHERE %s_server = %s)', schema, name,
            side, _lsh_me())) FROM (VALUES ('halves', 'right'), ('near', 'left'), ('bodies', 'right')) AS t(name,
                side)) ||
        (SELECT jsonb_object_agg('of_' || name, format('(SELECT * FROM %s.all_%s WHERE place = %s)', schema, name,
            _lsh_me()))
         FROM unnest('{bands,candidates,halves,near,bodies}'::text[]) AS name);
    -- What others read: blocks, or all but the keys, of which they read a view.
    SELECT array_agg(name) INTO shared FROM (SELECT name FROM _lsh_tables(job, words)
        WHERE (words->'is_in_blocks')::boolean OR name NOT IN ('bands', 'new_bands', 'done', 'fresh')
        UNION ALL SELECT 'keys' WHERE NOT (words->'is_in_blocks')::boolean) AS t;
    drop_all := concat_ws('; ', _lsh_drop_schema(schema, job.target),
        CASE WHEN to_regclass(job.target) IS NULL THEN _lsh_drop_schema(parts, job.target) END);
    create_all := concat_ws('; ', drop_all, _lsh_create_schema(schema, job.target),
        _lsh_create_schema(parts, job.target), '') || _lsh_filled(format('
        CREATE TABLE IF NOT EXISTS %1$s.pairs ({pair_ids}, similarity float8 NOT NULL, PRIMARY KEY (left_id,
            right_id)); ', parts),
        words || jsonb_build_object('pair_ids', format('left_id %1$s, right_id %1$s', id_type))) ||
        (SELECT string_agg(definition || '; ', '') FROM _lsh_tables(job, words)) ||
        CASE WHEN 'keys' = ANY (shared) THEN _lsh_filled('CREATE VIEW {schema}.keys AS SELECT key, {id} AS id,
            {me} AS server
            FROM {source} AS s{of_fresh} CROSS JOIN LATERAL lsh_bands({banding}); ', words) ELSE '' END;
    BEGIN
        PERFORM _lsh_on_servers(servers, _lsh_locked(job) || create_all || format($do$DO $lsh$
            DECLARE
                servers name[] := %2$L;
                columns text;
                name text;
            BEGIN
                FOREACH name IN ARRAY %3$L::text[] LOOP
                    SELECT string_agg(format('%%I %%s', attname, format_type(atttypid, atttypmod)), ', '
                        ORDER BY attnum) INTO columns
                    FROM pg_attribute WHERE attrelid = format('%1$s.%%s', name)::regclass AND attnum > 0;
                    FOR n IN 1 .. cardinality(servers) LOOP
                        IF n - 1 <> %5$s THEN
                            EXECUTE format('CREATE FOREIGN TABLE %1$s.%%s_%%s (%%s) SERVER %%I OPTIONS (schema_name %%L,
                                table_name %%L,
                                fetch_size %%L, async_capable ''true'')', name, n - 1, columns, servers[n],
                                    (parse_ident(%4$L))[1], name,
                                -- A row of blocks has many keys, pairs or texts.
                                CASE WHEN columns ~ 'block bytea' THEN CASE name WHEN 'bodies' THEN 1 ELSE 20 END
                                    WHEN name = 'bodies' THEN 500 WHEN name = 'halves' THEN 5000 ELSE 50000 END);
                        END IF;
                    END LOOP;
                    EXECUTE format('CREATE VIEW %1$s.all_%%s AS ', name) ||
                        (SELECT string_agg(format('TABLE %1$s.%%s', name || CASE WHEN n - 1 = %5$s THEN ''
                            ELSE '_' || n - 1 END),
                                           ' UNION ALL ') FROM generate_series(1, cardinality(servers)) AS n);
                END LOOP;
            END $lsh$ $do$, schema, servers, shared, schema, _lsh_me()));
    EXCEPTION WHEN OTHERS THEN
        -- Some servers may have made their tables.
        FOREACH server IN ARRAY servers LOOP
            BEGIN
                PERFORM _lsh_on_servers(ARRAY[server], _lsh_locked(job) || drop_all);
            EXCEPTION WHEN OTHERS THEN -- the schema on this server is one that no job of this target has made
            END;
        END LOOP;
        RAISE;
    END;
    IF to_regclass(job.target) IS NULL THEN
        EXECUTE _lsh_drop_schema(parts, job.target);
        EXECUTE _lsh_create_schema(parts, job.target);
        FOR n IN 0 .. cardinality(servers) - 1 LOOP
            EXECUTE format('CREATE FOREIGN TABLE %s.pairs_%s (left_id %3$s, right_id %3$s, similarity float8) SERVER %I
                OPTIONS (schema_name %L, table_name ''pairs'', fetch_size ''50000'', async_capable ''true'')',
                parts, n, id_type, servers[n + 1], (parse_ident(parts))[1]);
        END LOOP;
        EXECUTE format('CREATE VIEW %s AS ', job.target) || (SELECT string_agg(format('TABLE %s.pairs_%s', parts, n),
            ' UNION ALL ')
            FROM generate_series(0, cardinality(servers) - 1) AS n);
    END IF;
    RETURN words;
END $$;

-- Nobody else, whose coordinator may be another, works for the same target on a server.
CREATE OR REPLACE FUNCTION _lsh_locked(job lsh_distributed_jobs) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT format('DO $lsh$BEGIN
        IF NOT pg_try_advisory_xact_lock(hashtextextended(%L, 0)) THEN
            RAISE EXCEPTION ''another session is at work on %%'', %L USING ERRCODE = ''object_in_use'';
        END IF;
    END$lsh$; ', 'lsh_distributed_pairs on a server ' || job.target, job.target)
$$;

CREATE OR REPLACE FUNCTION _lsh_run_on_servers(job lsh_distributed_jobs, step text, statements text[])
RETURNS bigint LANGUAGE sql AS $$
    SELECT coalesce(sum(substring(reply FROM '^INSERT 0 (\d+)$')::bigint), 0)
    FROM _lsh_on_servers(_lsh_servers_of(job), _lsh_locked(job) || _lsh_filled(array_to_string(statements, '; '),
        _lsh_words_here(
        job.words || jsonb_build_object('out', CASE WHEN step = 'pairs' THEN job.words->>'pairs'
                                                    ELSE format('%s.%I', job.words->>'schema', step) END))))
$$;

CREATE OR REPLACE FUNCTION _lsh_clean_up_on_servers(job lsh_distributed_jobs) RETURNS void LANGUAGE sql AS $$
    SELECT FROM _lsh_on_servers(_lsh_servers_of(job), _lsh_locked(job) || CASE WHEN (job.arguments->'keep')::boolean
        THEN (SELECT format('TRUNCATE %s', string_agg(format('%s.%I', job.words->>'schema', name), ', '))
              FROM _lsh_tables(job, job.words) WHERE name NOT IN ('bands', 'done'))
        ELSE _lsh_drop_schema(job.words->>'schema', job.target) END)
$$;

CREATE OR REPLACE FUNCTION _lsh_drop_on_servers(job lsh_distributed_jobs) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parts text := _lsh_schema_of(job.target, '_parts');
BEGIN
    PERFORM _lsh_on_servers(_lsh_servers_of(job), _lsh_locked(job) ||
        concat_ws('; ', _lsh_drop_schema(_lsh_schema_of(job.target, '_job'), job.target),
            _lsh_drop_schema(parts, job.target)));
    EXECUTE _lsh_drop_schema(parts, job.target);
END $$;
