-- A band table has the columns (key, id): the band keys of the rows of a table, its source. Triggers on the source keep
-- the band table up to date. The owner of the source owns the band table and the triggers' functions, and has made
-- them, whoever called lsh_create_band_table() (src/pg/owned_relation.h). The triggers run with the rights of the user
-- who writes to the source.
--
-- Statement triggers process all rows of a statement at once, from its transition tables, so that a bulk load stays
-- fast. A partitioned table has a row trigger instead, which PostgreSQL copies to each partition. So has a table that
-- is itself a partition, or inherits from another table.
--
-- PL/pgSQL may use one plan both for a statement that changes one row and for a statement that changes a million. So
-- the trigger functions forbid plans that read the whole band table, because such a plan would be slow for few rows.
-- The trigger functions also sort the keys, so that the pages of the index and of the table are visited in order.
--
-- The search path has no schema in which other users could create a function, type or operator. Names outside
-- pg_catalog are written with their schema. Functions outside pg_catalog get arguments of exactly the declared types,
-- so that no other function matches a call better than the intended one.

CREATE FUNCTION _lsh_require_band_table(band_table regclass, name text, privileges text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'lsh_require_band_table' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _lsh_require_band_table(regclass, text, text) IS
    'for triggers of lsh_create_band_table: true, or an error that says what a writer lacks';

CREATE FUNCTION _lsh_tie_band_table(source regclass, band_table regclass, functions regprocedure[], id_number smallint,
    signature_number smallint) RETURNS void
    AS 'MODULE_PATHNAME', 'lsh_tie_band_table' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION _lsh_tie_band_table(regclass, regclass, regprocedure[], smallint, smallint) IS
    'for lsh_create_band_table: DROP TABLE of the source or of the band table leaves nothing behind, and columns that '
    'the triggers use keep their types';

-- The triggers of a source, and the bodies of their functions. Each body is a template for format(), whose arguments
-- are: 1 the band table; 2 and 3 the keys of an old row and of a new row; 4 and 5 the ids of these rows; 6 the operator
-- that compares ids; 7 the cast that this operator needs; 8 how to fill the band table again. An id that is a row with
-- a NULL in it IS neither NULL nor NOT NULL, but it is distinct from NULL.
CREATE FUNCTION _lsh_band_table_triggers(by_rows boolean, OUT suffix text, OUT event text, OUT privileges text,
    OUT settings text, OUT body text) RETURNS SETOF record
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
WITH parts (by_index, check_missing) AS (VALUES (
    ' SET enable_seqscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off',
$body$
    IF missing > 0 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('%%s keys of rows of %%s are missing from band table %%s', missing, TG_RELID::regclass,
                %1$L),
            DETAIL = 'The rows were written without its triggers, or twice by one statement and its triggers.',
            HINT = %8$L;
    END IF;
$body$))
SELECT suffix, event, privileges, settings, body FROM parts, LATERAL (VALUES
    (false, 'insert', 'INSERT ON %s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT', 'INSERT', '',
$body$
BEGIN
    INSERT INTO %1$s (key, id) SELECT unnest(%3$s), %5$s FROM new_rows n WHERE %5$s IS DISTINCT FROM NULL ORDER BY 1, 2;
    RETURN NULL;
END
$body$),
    (false, 'delete', 'DELETE ON %s REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT', 'SELECT, DELETE', by_index,
$body$
DECLARE
    gone bigint;
    missing bigint;
BEGIN
    DELETE FROM %1$s b USING (
        SELECT unnest(%2$s) AS key, %4$s AS id FROM old_rows o ORDER BY 1, 2) k
    WHERE b.key = k.key AND b.id%7$s %6$s k.id%7$s;
    GET DIAGNOSTICS gone = ROW_COUNT;
    missing := (SELECT sum(cardinality(%2$s)) FROM old_rows o WHERE %4$s IS DISTINCT FROM NULL)
        - gone;$body$ || check_missing ||
$body$    RETURN NULL;
END
$body$),
    -- Most updates of single rows change neither the id nor the keys. For these updates, the trigger returns early.
    (false, 'update', 'UPDATE ON %s REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT',
        'SELECT, INSERT, DELETE', by_index,
$body$
DECLARE
    missing bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM old_rows o FULL JOIN new_rows n ON %4$s%7$s %6$s %5$s%7$s
                   WHERE %2$s IS DISTINCT FROM %3$s) THEN
        RETURN NULL;
    END IF;
    WITH changed AS MATERIALIZED (
        SELECT o.id AS old_id, o.keys AS old_keys, n.id AS new_id, n.keys AS new_keys
        FROM (SELECT %4$s AS id, %2$s AS keys FROM old_rows o WHERE %4$s IS DISTINCT FROM NULL) o
            FULL JOIN (SELECT %5$s AS id, %3$s AS keys FROM new_rows n WHERE %5$s IS DISTINCT FROM NULL) n
            ON o.id%7$s %6$s n.id%7$s
        WHERE o.keys IS DISTINCT FROM n.keys
    ), stale AS MATERIALIZED (
        SELECT key, old_id AS id FROM changed, unnest(old_keys) key
        WHERE (key = ANY (new_keys)) IS NOT TRUE ORDER BY 1, 2
    ), gone AS (
        DELETE FROM %1$s b USING stale k WHERE b.key = k.key AND b.id%7$s %6$s k.id%7$s RETURNING 1
    ), added AS (
        INSERT INTO %1$s (key, id) SELECT key, new_id FROM changed, unnest(new_keys) key
        WHERE (key = ANY (old_keys)) IS NOT TRUE ORDER BY 1, 2
    )
    SELECT (SELECT count(*) FROM stale) - (SELECT count(*) FROM gone) INTO missing;$body$ || check_missing ||
$body$    RETURN NULL;
END
$body$),
    (true, 'rows', 'INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW', 'SELECT, INSERT, DELETE',
        ' SET enable_seqscan TO off',
$body$
DECLARE
    old_keys bigint[] := CASE WHEN TG_OP <> 'INSERT' AND %4$s IS DISTINCT FROM NULL THEN %2$s END;
    new_keys bigint[] := CASE WHEN TG_OP <> 'DELETE' AND %5$s IS DISTINCT FROM NULL THEN %3$s END;
    -- A partition that was truncated in this transaction has left its keys behind. With several jobs, pg_restore loads
    -- tables like this, and it may make this trigger before, because it regards a partitioned table as empty.
    was_truncated boolean := TG_OP = 'INSERT' AND EXISTS (
        SELECT FROM pg_class WHERE oid = TG_RELID AND xmin = CAST(pg_current_xact_id() AS xid));
    gone bigint;
    missing bigint;
BEGIN
    IF old_keys = new_keys AND %4$s%7$s %6$s %5$s%7$s THEN
        RETURN NULL;
    END IF;
    IF cardinality(old_keys) > 0 THEN
        DELETE FROM %1$s b WHERE b.key = ANY (old_keys) AND b.id%7$s %6$s %4$s%7$s;
        GET DIAGNOSTICS gone = ROW_COUNT;
    END IF;
    missing := cardinality(old_keys) - gone;$body$ || check_missing ||
$body$    IF cardinality(new_keys) > 0 THEN
        INSERT INTO %1$s (key, id) SELECT k, %5$s FROM unnest(new_keys) k WHERE NOT (was_truncated
            AND EXISTS (SELECT FROM %1$s b WHERE b.key = k AND b.id%7$s %6$s %5$s%7$s)) ORDER BY 1;
    END IF;
    RETURN NULL;
END
$body$),
    (NULL, 'truncate', 'TRUNCATE ON %s FOR EACH STATEMENT', 'TRUNCATE', '',
$body$
BEGIN
    IF pg_relation_size(%1$L::regclass) > 0 THEN -- the same TRUNCATE may have emptied it, and still uses it
        TRUNCATE %1$s;
    END IF;
    RETURN NULL;
END
$body$)) AS kinds (of_rows, suffix, event, privileges, settings, body)
WHERE (of_rows = by_rows) IS NOT FALSE
$$;
COMMENT ON FUNCTION _lsh_band_table_triggers(boolean) IS 'for lsh_create_band_table: the triggers that it writes';

CREATE FUNCTION _lsh_locked_name(relation regclass, exclusive boolean) RETURNS text
    AS 'MODULE_PATHNAME', 'lsh_locked_name' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION _lsh_locked_name(regclass, boolean) IS
    'locks a relation of the current user, and returns its name, which means it until the transaction ends';

-- lsh_create_band_table() and lsh_drop_band_table(), which are written in C, lock the relation by its OID, and call the
-- function of the same name with a leading underscore as the relation's owner.

CREATE FUNCTION lsh_create_band_table(
    source regclass,
    threshold double precision DEFAULT NULL,
    recall double precision DEFAULT NULL,
    bands integer DEFAULT NULL,
    rows integer DEFAULT NULL,
    id_column name DEFAULT 'id',
    signature_column name DEFAULT NULL,
    band_table name DEFAULT NULL
) RETURNS regclass AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_create_band_table(regclass, double precision, double precision, integer, integer, name, name,
    name) IS
    'makes a table (key, id) of band keys, fills it, and writes triggers that keep it in step with its source. '
    'Example: lsh_create_band_table(''articles'')';

CREATE FUNCTION _lsh_create_band_table(
    source regclass,
    threshold double precision,
    recall double precision,
    bands integer,
    rows integer,
    id_column name,
    signature_column name,
    band_table name
) RETURNS regclass LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
    SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    extension text := (SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = extnamespace
                       WHERE extname = 'minhash_lsh');
    signature_type regtype := extension || '.minhash_signature';
    add_one text; -- the statement that adds a column of signatures
    found_table record;
    source_name text;
    id pg_attribute;
    signatures name[];
    signature pg_attribute;
    num_hashes integer;
    base regtype; -- the id's type, below any domains
    equal text;
    as_base text;
    stem text;
    target text;
    made regclass;
    by_rows boolean;
    wanted text;
    kind record;
    function text;
    functions regprocedure[];
    left_behind regprocedure;
    marked text := 'keeps a band table in step; made by lsh_create_band_table()';
BEGIN
    IF source IS NULL OR id_column IS NULL THEN
        RAISE EXCEPTION 'source and id_column must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    ELSIF (bands IS NULL) <> (rows IS NULL) THEN
        RAISE EXCEPTION 'bands and rows must be specified together' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Use lsh_params() to choose them for a threshold, or leave both out.';
    ELSIF bands IS NOT NULL AND (threshold IS NOT NULL OR recall IS NOT NULL) THEN
        RAISE EXCEPTION 'threshold and recall cannot be given with bands and rows'
            USING ERRCODE = 'invalid_parameter_value',
                HINT = 'Leave out bands and rows, which are then chosen for the threshold and recall.';
    ELSIF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
        RAISE EXCEPTION 'lsh_create_band_table() needs the isolation level READ COMMITTED'
            USING ERRCODE = 'active_sql_transaction',
                DETAIL = 'Rows that others have committed since the transaction began would be missing.';
    END IF;
    EXECUTE format('SELECT %s._lsh_locked_name($1, false)', extension) INTO source_name USING source;
    SELECT relname, relkind, relpersistence, nspname INTO found_table
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = source;
    IF found_table.relkind NOT IN ('r', 'p') THEN
        RAISE EXCEPTION 'relation "%" cannot have a band table', found_table.relname
            USING ERRCODE = 'wrong_object_type',
                HINT = 'Use an ordinary or a partitioned table, or join lsh_bands() by hand.';
    END IF;
    add_one := format('ALTER TABLE %s ADD COLUMN sig %s.minhash_signature '
        'GENERATED ALWAYS AS (%2$s.minhash(%s)) STORED;', source_name, extension,
        coalesce((SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = source AND attnum > 0
                  AND atttypid IN ('text'::regtype, 'varchar'::regtype) AND NOT attisdropped
                  ORDER BY attname NOT IN ('body', 'text', 'content'), attnum LIMIT 1), '...'));
    IF found_table.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = source) THEN
        RAISE EXCEPTION 'table "%" cannot have a band table because other tables inherit from it', found_table.relname
            USING ERRCODE = 'feature_not_supported',
                HINT = 'Use a partitioned table, or give each of the tables a band table.';
    END IF;
    SELECT * INTO id FROM pg_attribute WHERE attrelid = source AND attname = id_column AND attnum > 0;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'column "%" of table "%" does not exist', id_column, found_table.relname
            USING ERRCODE = 'undefined_column',
                HINT = 'Name a column with a unique index: id_column => ''...''. A key of several columns cannot be '
                    'the id; add a column to its table: nr bigint GENERATED ALWAYS AS IDENTITY UNIQUE.';
    END IF;
    signatures := ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = source AND atttypid = signature_type);
    IF signature_column IS NULL AND cardinality(signatures) <> 1 THEN
        RAISE EXCEPTION 'table "%" has % of type minhash_signature', found_table.relname,
            CASE signatures WHEN '{}' THEN 'no column' ELSE cardinality(signatures) || ' columns' END
            USING ERRCODE = 'undefined_column',
                HINT = CASE signatures WHEN '{}' THEN 'Add one: ' || add_one
                            ELSE 'Choose one: signature_column => ''...''.' END;
    END IF;
    signature_column := coalesce(signature_column, signatures[1]);
    SELECT * INTO signature FROM pg_attribute WHERE attrelid = source AND attname = signature_column AND attnum > 0;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'column "%" of table "%" does not exist', signature_column, found_table.relname
            USING ERRCODE = 'undefined_column', HINT = 'Add it: ' || add_one;
    ELSIF signature.atttypid <> signature_type THEN
        RAISE EXCEPTION 'column "%" of table "%" is of type %, not minhash_signature', signature_column,
            found_table.relname, signature.atttypid::regtype
            USING ERRCODE = 'datatype_mismatch', HINT = 'Add a column: ' || add_one;
    END IF;
    -- A partitioned table needs no unique index on the id, because such an index would have to include the partition
    -- key.
    IF found_table.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = source AND indisunique
            AND indisvalid AND indimmediate AND indnkeyatts = 1 AND indkey[0] = id.attnum AND indpred IS NULL) THEN
        RAISE EXCEPTION 'column "%" of table "%" has no unique index', id_column, found_table.relname
            USING ERRCODE = 'invalid_table_definition',
                HINT = 'Make it the primary key, or give it a unique constraint.';
    END IF;

    -- The number of hashes is the column's type modifier. If the column has none, one row's signature tells the number.
    -- If no row has a signature, the number is the default of minhash().
    num_hashes := signature.atttypmod;
    IF num_hashes < 0 THEN
        EXECUTE format('SELECT (%s.minhash_scheme(s.%2$I)).num_hashes FROM %s s WHERE s.%2$I IS NOT NULL LIMIT 1',
            extension, signature.attname, source_name) INTO num_hashes;
        num_hashes := coalesce(num_hashes, 128);
    END IF;
    IF bands IS NULL THEN
        EXECUTE format('SELECT p.bands, p.rows FROM %s.lsh_params($1, $2, $3, $4, NULL::float8, NULL::float8) p',
            extension) INTO bands, rows
            USING coalesce(threshold, 0.8), num_hashes, coalesce(recall, 0.95), 'recall'::text;
    END IF;
    EXECUTE format('SELECT %s.lsh_threshold($1, $2)', extension) USING bands, rows; -- fails if out of range
    IF bands * rows > num_hashes THEN
        RAISE EXCEPTION 'bands => % and rows => % need % hashes, but the signature has %', bands, rows, bands * rows,
            num_hashes USING ERRCODE = 'invalid_parameter_value',
                HINT = format('With rows => %s, bands can be at most %s.', rows, num_hashes / rows);
    END IF;

    -- Finds the equality operator of the default btree operator class of the id's type, if it is not in pg_catalog.
    -- Domains are cast to their base type, and so are ids with such an operator: another user's operator for a domain
    -- could match the ids better, and operators of enums match no domain. (The type is written with its schema, since
    -- "character" would mean one character.)
    base := id.atttypid;
    WHILE EXISTS (SELECT FROM pg_type WHERE oid = base AND typtype = 'd') LOOP
        base := (SELECT typbasetype FROM pg_type WHERE oid = base);
    END LOOP;
    SELECT format('OPERATOR(%I.%s)', nspname, oprname) INTO equal
    FROM pg_opclass AS c JOIN pg_am AS m ON m.oid = opcmethod JOIN pg_amop AS s ON amopfamily = opcfamily
    JOIN pg_operator AS o ON o.oid = amopopr JOIN pg_namespace AS n ON n.oid = oprnamespace
    WHERE amname = 'btree' AND opcdefault AND opcintype = base AND amoplefttype = base AND amoprighttype = base
        AND amopstrategy = 3 AND nspname <> 'pg_catalog';
    IF equal IS NOT NULL OR base <> id.atttypid THEN
        as_base := (SELECT format('::%I.%I', nspname, typname)
                    FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = typnamespace WHERE t.oid = base);
    END IF;

    stem := found_table.relname;
    WHILE band_table IS NULL AND octet_length(stem || '_bands') > 63 LOOP
        stem := left(stem, -1);
    END LOOP;
    stem := coalesce(band_table, stem || '_bands');
    target := format('%I.%I', found_table.nspname, stem);
    IF to_regclass(target) IS NOT NULL THEN
        RAISE EXCEPTION 'relation "%" already exists', stem USING ERRCODE = 'duplicate_table',
            HINT = format('If it is a band table, drop it first: SELECT %s.lsh_drop_band_table(%L). Or give the new '
                'one a name: band_table => ''...''.', extension, target);
    END IF;
    EXECUTE format('CREATE %s TABLE %s AS SELECT 0::bigint AS key, s.%I AS id FROM %s s WITH NO DATA',
        CASE found_table.relpersistence WHEN 't' THEN 'TEMPORARY' WHEN 'u' THEN 'UNLOGGED' END, target, id.attname,
        source_name);
    made := target;
    wanted := format('SELECT pg_catalog.unnest(%s.lsh_band_keys(s.%I, %s, %s)), s.%I FROM %s s '
        'WHERE s.%5$I IS DISTINCT FROM NULL ORDER BY 1, 2', extension, signature.attname, bands, rows, id.attname,
        source_name);

    -- Creates the triggers before the rest of the work, because some tables do not allow triggers.
    WHILE octet_length(stem || '_truncate') > 63 LOOP
        stem := left(stem, -1);
    END LOOP;
    by_rows := found_table.relkind = 'p' OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = source);
    FOR kind IN EXECUTE format('SELECT * FROM %s._lsh_band_table_triggers($1)', extension) USING by_rows LOOP
        function := format('%I.%I', found_table.nspname, stem || '_' || kind.suffix);
        -- DROP TABLE ... CASCADE of a band table that was restored leaves its functions behind.
        left_behind := to_regprocedure(function || '()');
        IF obj_description(left_behind, 'pg_proc') = marked
                AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgfoid = left_behind) THEN
            EXECUTE format('DROP FUNCTION %s', left_behind);
        END IF;
        EXECUTE format('CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql'
            ' SET search_path TO pg_catalog, pg_temp SET jit TO off%s AS %L', function, kind.settings,
            format(kind.body, target,
                format('%s.lsh_band_keys(%s.%I, %s, %s)', extension, CASE WHEN by_rows THEN 'OLD' ELSE 'o' END,
                    signature.attname, bands, rows),
                format('%s.lsh_band_keys(%s.%I, %s, %s)', extension, CASE WHEN by_rows THEN 'NEW' ELSE 'n' END,
                    signature.attname, bands, rows),
                format('%s.%I', CASE WHEN by_rows THEN 'OLD' ELSE 'o' END, id.attname),
                format('%s.%I', CASE WHEN by_rows THEN 'NEW' ELSE 'n' END, id.attname),
                coalesce(equal, '='), as_base,
                format('Fill it again in one transaction: TRUNCATE %s; INSERT INTO %1$s (key, id) %s;', target,
                    wanted)));
        EXECUTE format('COMMENT ON FUNCTION %s() IS %L', function, marked);
        EXECUTE format('CREATE TRIGGER %I AFTER ' || kind.event || ' WHEN (%s._lsh_require_band_table('
            '%L::pg_catalog.regclass, %4$L::pg_catalog.text, %L::pg_catalog.text)) EXECUTE FUNCTION %s()',
            stem || '_' || kind.suffix, source_name, extension, target, kind.privileges, function);
        functions := functions || (function || '()')::regprocedure;
    END LOOP;
    EXECUTE format('SELECT %s._lsh_tie_band_table($1, $2, $3, $4, $5)', extension)
        USING source, made, functions, id.attnum, signature.attnum;

    EXECUTE format('INSERT INTO %s (key, id) %s', target, wanted);
    EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (key, id)', target);
    EXECUTE format('ANALYZE %s', target);
    EXECUTE format('COMMENT ON TABLE %s IS %L', target, format('LSH band keys of %s, kept in step by its triggers; '
        'do not write to it by hand', source_name));
    RETURN made;
END $$;
COMMENT ON FUNCTION _lsh_create_band_table(regclass, double precision, double precision, integer, integer, name, name,
    name) IS 'for lsh_create_band_table: what it does as the owner of the source';

-- DROP TABLE also drops the triggers and their functions, but not after a restore: for this, DROP TABLE needs
-- dependencies that a dump does not contain.
CREATE FUNCTION lsh_drop_band_table(band_table regclass) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION lsh_drop_band_table(regclass) IS
    'drops a band table, its triggers and their functions. Example: lsh_drop_band_table(''articles_bands'')';

CREATE FUNCTION _lsh_drop_band_table(band_table regclass) RETURNS void LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
    COST 10000 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    extension text := (SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = extnamespace
                       WHERE extname = 'minhash_lsh');
    marked text := 'keeps a band table in step; made by lsh_create_band_table()';
    source regclass;
    source_name text;
    target text;
    trigger record;
    made boolean := false;
    its_own text; -- the band table to name in the hint, if the user passed its source
BEGIN
    -- The sources are locked before the band table, as by writers.
    FOR source IN
        SELECT DISTINCT tgrelid FROM pg_trigger AS t
        JOIN pg_depend AS d ON classid = 'pg_trigger'::regclass AND objid = t.oid
        WHERE refclassid = 'pg_class'::regclass AND refobjid = band_table AND refobjsubid = 0
            AND deptype = 'n' AND tgparentid = 0 AND obj_description(tgfoid, 'pg_proc') = marked
    LOOP
        EXECUTE format('SELECT %s._lsh_locked_name($1, true)', extension) INTO source_name USING source;
        FOR trigger IN
            SELECT tgname, tgfoid FROM pg_trigger AS t
            JOIN pg_depend AS d ON classid = 'pg_trigger'::regclass AND objid = t.oid
            WHERE refclassid = 'pg_class'::regclass AND refobjid = band_table AND refobjsubid = 0
                AND deptype = 'n' AND tgrelid = source AND obj_description(tgfoid, 'pg_proc') = marked
        LOOP
            EXECUTE format('DROP TRIGGER %I ON %s', trigger.tgname, source_name);
            EXECUTE format('DROP FUNCTION %s', trigger.tgfoid::regprocedure);
            made := true;
        END LOOP;
    END LOOP;
    EXECUTE format('SELECT %s._lsh_locked_name($1, true)', extension) INTO target USING band_table;
    IF NOT made AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass
            AND refclassid = 'pg_class'::regclass AND refobjid = band_table
            AND obj_description(objid, 'pg_proc') = marked) THEN
        SELECT refobjid::regclass INTO its_own
        FROM pg_trigger AS t JOIN pg_depend AS d ON classid = 'pg_trigger'::regclass AND objid = t.oid
        WHERE tgrelid = band_table AND refclassid = 'pg_class'::regclass AND refobjid <> band_table
            AND obj_description(tgfoid, 'pg_proc') = marked ORDER BY 1 LIMIT 1;
        RAISE EXCEPTION 'relation % is not a band table', target
            USING ERRCODE = 'wrong_object_type',
                HINT = coalesce('Its band table is ' || its_own || '.', 'Other tables are dropped by DROP TABLE.');
    END IF;
    EXECUTE format('DROP TABLE %s', target); -- this also drops functions whose triggers are gone
END $$;
COMMENT ON FUNCTION _lsh_drop_band_table(regclass) IS
    'for lsh_drop_band_table: what it does as the owner of the band table';
