DO $prelude$
DECLARE
    v_schema pg_catalog.pg_namespace;
BEGIN
    IF pg_catalog.current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'mnemo_pg needs a database in UTF8, this one is in %',
            pg_catalog.current_setting('server_encoding')
            USING ERRCODE = '0A000',
                HINT = 'CREATE DATABASE ... TEMPLATE template0 ENCODING ''UTF8''';
    END IF;
    SELECT n.* INTO v_schema FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'mnemo';
    IF FOUND THEN
        -- A stranger's schema, or a function planted in it beforehand, would run with our rights.
        IF v_schema.nspowner <> pg_catalog.to_regrole(pg_catalog.quote_ident(CURRENT_USER)) THEN
            RAISE EXCEPTION 'schema mnemo exists and belongs to another role'
                USING ERRCODE = '42P06', HINT = 'drop or rename that schema, then install again';
        END IF;
        IF EXISTS (
            SELECT FROM pg_catalog.pg_depend AS d
             WHERE d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
               AND d.refobjid = v_schema.oid
        ) THEN
            RAISE EXCEPTION 'schema mnemo exists and is not empty'
                USING ERRCODE = '42P06',
                    HINT = 'mnemo_pg may be installed already: SELECT mnemo.version(). '
                        'Otherwise drop or rename that schema';
        END IF;
        IF EXISTS (
            SELECT FROM pg_catalog.aclexplode(v_schema.nspacl) AS a
             WHERE a.grantee <> v_schema.nspowner
        ) THEN
            RAISE EXCEPTION 'schema mnemo exists and other roles hold privileges on it'
                USING ERRCODE = '42P06', HINT = 'drop that schema, then install again';
        END IF;
        -- Made anew, it belongs to the extension: dumped with it and dropped with it.
        DROP SCHEMA mnemo;
    END IF;
    BEGIN
        CREATE SCHEMA mnemo;
    EXCEPTION WHEN unique_violation OR duplicate_schema THEN
        RAISE EXCEPTION 'schema mnemo already exists: another session has just made it'
            USING ERRCODE = '42P06', HINT = 'look whether mnemo_pg is there: SELECT mnemo.version()';
    END;
END
$prelude$;

CREATE FUNCTION mnemo._require_server(
    p_version_num integer
)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF (p_version_num >= 150000) IS NOT TRUE THEN
        RAISE EXCEPTION 'mnemo_pg needs PostgreSQL 15 or newer, this server has %',
            coalesce((p_version_num / 10000)::text, 'no version')
            USING ERRCODE = '0A000', HINT = 'upgrade the server, then install again';
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_server(integer) IS
    'Raises 0A000 unless the version number (server_version_num, such as 150018) is PostgreSQL 15 '
    'or newer. NULL is refused too.';

DO $version$
BEGIN
    PERFORM mnemo._require_server(pg_catalog.current_setting('server_version_num')::integer);
END
$version$;
