SET LOCAL ROLE mnemo_owner;
SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'mnemo_pg') AS present \gset
\if :present
    ALTER EXTENSION mnemo_pg UPDATE;
    -- What an update brought is open to the levels that have it.
    SELECT mnemo.grant_access(role_name, level) FROM mnemo.role_level \g /dev/null
\else
    CREATE EXTENSION mnemo_pg;
    SELECT mnemo.grant_access('mnemo_app', 'application') \g /dev/null
    SELECT mnemo.configure('experience_memory', 'on') \g /dev/null
\endif
SELECT 'mnemo_pg ' || mnemo.version() AS installed;
