-- Default privileges of the installing role may have opened what was just created.
DO $grants$
DECLARE
    v_grantee text;
BEGIN
    PERFORM mnemo._revoke_all('public');
    FOR v_grantee IN
        SELECT DISTINCT r.rolname
          FROM (
            SELECT (pg_catalog.aclexplode(p.proacl)).grantee
              FROM pg_catalog.pg_proc AS p
              JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
             WHERE n.nspname = 'mnemo'
             UNION
            SELECT (pg_catalog.aclexplode(c.relacl)).grantee
              FROM pg_catalog.pg_class AS c
              JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = 'mnemo'
             UNION
            SELECT (pg_catalog.aclexplode(n.nspacl)).grantee
              FROM pg_catalog.pg_namespace AS n
             WHERE n.nspname = 'mnemo'
             UNION
            SELECT (pg_catalog.aclexplode(t.typacl)).grantee
              FROM pg_catalog.pg_type AS t
              JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
             WHERE n.nspname = 'mnemo'
          ) AS g
          JOIN pg_catalog.pg_roles AS r ON r.oid = g.grantee
         WHERE r.oid <> mnemo._owner()
    LOOP
        PERFORM mnemo._revoke_all(v_grantee);
    END LOOP;
END
$grants$;
