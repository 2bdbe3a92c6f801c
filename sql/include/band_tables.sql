-- What tests of band tables have in common.

-- What a band table has and what its source says it should have; a refresh then finds nothing to do.
CREATE FUNCTION pg_temp.state(source regclass, band_table regclass DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    kept record;
    state text;
BEGIN
    SELECT * INTO kept FROM lsh_band_tables t WHERE t.source = $1 AND t.band_table = coalesce($2, t.band_table);
    EXECUTE format('SELECT format(''%%s keys, %%s missing, %%s too many'', (SELECT count(*) FROM %1$s),
        count(*) FILTER (WHERE b.key IS NULL), count(*) FILTER (WHERE s.key IS NULL))
        FROM (SELECT key, %2$I AS id FROM %3$s, lsh_bands(%4$I, %5$s, %6$s) WHERE %2$I IS NOT NULL) s
            FULL JOIN %1$s b ON s.key = b.key AND s.id = b.id',
        kept.band_table, kept.id_column, kept.source, kept.signature_column, kept.bands, kept.rows) INTO state;
    RETURN state || (SELECT format(', refreshed +%s -%s', added, removed) FROM lsh_refresh_band_table($1, $2));
END $$;

-- Errors in one line.
\set error_separator ' | '
\ir errors.sql
