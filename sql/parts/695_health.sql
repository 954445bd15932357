CREATE FUNCTION mnemo._health_access()
RETURNS TABLE (name text, ok boolean, detail text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT 'owner' AS name, NOT r.rolsuper AND NOT r.rolcanlogin,
           CASE WHEN r.rolsuper THEN format('%I is a superuser, and every function runs as it: '
                    'install as a role without login', r.rolname)
                WHEN r.rolcanlogin THEN format('%I can log in and counts as administrator: '
                    'ALTER ROLE %I NOLOGIN', r.rolname, r.rolname)
                ELSE format('%I has no login', r.rolname) END
      FROM pg_roles AS r
     WHERE r.oid = mnemo._owner()
    UNION ALL
    SELECT 'tenants' AS name, count(*) = 0,
           coalesce(string_agg(format('%I %s', t.rolname, t.obstacle), '; ' ORDER BY t.rolname),
               'none can act outside its binding')
      FROM (
        SELECT r.rolname, mnemo._tenant_obstacle(r.oid) AS obstacle
          FROM pg_roles AS r
         WHERE NOT r.rolsuper AND mnemo._level_of(r.rolname) = 'tenant'
      ) AS t
     WHERE t.obstacle IS NOT NULL
    UNION ALL
    SELECT 'roles' AS name, count(*) = 0,
           coalesce('no such role: ' || string_agg(DISTINCT l.role_name, ', '),
               'every level and binding belongs to a role that exists')
      FROM (
        SELECT a.role_name FROM mnemo.role_level AS a
        UNION ALL
        SELECT b.role_name FROM mnemo.role_binding AS b
      ) AS l
     WHERE to_regrole(quote_ident(l.role_name)) IS NULL
    UNION ALL
    SELECT 'public' AS name, count(*) = 0,
           CASE count(*) WHEN 0 THEN 'PUBLIC has no privileges'
           ELSE format('PUBLIC may execute %s functions, as after a restore without privileges: '
               'grant_access of any role takes them back', count(*)) END
      FROM pg_proc AS p
      JOIN pg_namespace AS n ON n.oid = p.pronamespace
     WHERE n.nspname = 'mnemo' AND has_function_privilege('public', p.oid, 'EXECUTE');
END;
COMMENT ON FUNCTION mnemo._health_access() IS
    'The checks of health about roles: owner, tenants, roles, public.';

CREATE FUNCTION mnemo._health_derived()
RETURNS TABLE (name text, ok boolean, detail text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 3
BEGIN ATOMIC
    SELECT 'plan_signatures' AS name, count(*) = 0,
           CASE count(*) WHEN 0 THEN 'every plan can be matched as its payload says'
           ELSE format('%s plans need it: SELECT mnemo.rebuild_signatures()', count(*)) END
      FROM mnemo._faulty_signatures()
    UNION ALL
    SELECT 'outcomes' AS name, f.plans = 0 AND coalesce(w.oldest > now() - interval '1 day', true),
           CASE WHEN f.plans > 0 THEN format('the summaries of %s plans differ from their reports: '
                    'SELECT mnemo.rebuild_signatures()', f.plans)
                WHEN w.reports > 0 THEN format('%s reports wait to be summed up: '
                    'SELECT mnemo.sweep()', w.reports)
                ELSE 'every plan stands as its reports say' END
      FROM (SELECT count(*) AS plans FROM mnemo._faulty_fares()) AS f
      CROSS JOIN (
        SELECT count(*) AS reports, min(r.reported_at) AS oldest
          FROM mnemo.plan_report AS r WHERE NOT r.folded
      ) AS w
    UNION ALL
    SELECT 'terms' AS name, count(*) = 0,
           CASE count(*) WHEN 0 THEN 'every live memory has its terms'
           ELSE format('%s memories are missing in the term index', count(*)) END
      FROM mnemo.memory AS m
     WHERE m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
       AND m.redacted_at IS NULL AND mnemo._is_live(m, now())
       AND NOT EXISTS (
            SELECT FROM mnemo.term_vector AS t
             WHERE t.org_id = m.org_id AND t.memory_id = m.id
               AND t.rules_version = mnemo._terms_version());
END;
COMMENT ON FUNCTION mnemo._health_derived() IS
    'The checks of health that compare records with what is derived from them: plan_signatures, '
    'outcomes, terms. Reads every record.';

CREATE FUNCTION mnemo._health_upkeep()
RETURNS TABLE (name text, ok boolean, detail text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT 'seal' AS name, coalesce(min(e.happened_at) > now() - interval '1 day', true),
           CASE count(*) WHEN 0 THEN 'every event is sealed'
           ELSE format('%s events are not sealed, the oldest of %s: SELECT mnemo.seal()', count(*),
               to_char(min(e.happened_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')) END
      FROM mnemo.event AS e
     WHERE e.seq IS NULL
    UNION ALL
    SELECT 'sweep' AS name, coalesce(min(m.expires_at) > now() - interval '1 day', true),
           CASE count(*) WHEN 0 THEN 'no record is past its time'
           ELSE format('%s records are past their time: SELECT mnemo.sweep()', count(*)) END
      FROM mnemo.memory AS m
     WHERE m.expires_at <= now() AND m.deleted_at IS NULL
    UNION ALL
    SELECT 'models' AS name, count(*) = 0,
           CASE count(*) WHEN 0 THEN 'every embedding model is up to date'
           ELSE format('need it: %s: SELECT mnemo.refresh_models()',
               string_agg(v.name, ', ' ORDER BY v.name)) END
      FROM mnemo.vector_model AS v
     WHERE v.rules_version <> mnemo._vector_rules_version()
        OR EXISTS (
            SELECT FROM (VALUES (false), (true)) AS k(plans)
             WHERE to_regclass('mnemo.' || mnemo._vector_table(v, k.plans)) IS NULL
                OR v.dimensions <= 4000
                   AND to_regclass(
                        format('mnemo.%s_embedding_idx', mnemo._vector_table(v, k.plans))) IS NULL)
        OR 7 <> (
            SELECT count(*) FROM pg_proc AS p
             WHERE p.pronamespace = 'mnemo'::regnamespace
               AND p.proname ~ ('^_vector_[a-z]+_' || v.suffix || '$'))
    UNION ALL
    SELECT 'indexes' AS name, count(*) = 0,
           coalesce('not valid: ' || string_agg(c.relname, ', ' ORDER BY c.relname),
               'all are valid')
      FROM pg_index AS i
      JOIN pg_class AS c ON c.oid = i.indexrelid
      JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = 'mnemo' AND NOT (i.indisvalid AND i.indisready);
END;
COMMENT ON FUNCTION mnemo._health_upkeep() IS
    'The checks of health about what has to be done from time to time: seal, sweep, models, '
    'indexes.';

CREATE FUNCTION mnemo.health()
RETURNS TABLE (name text, ok boolean, detail text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 11
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    RETURN QUERY
    SELECT h.name, h.ok, h.detail FROM mnemo._health_access() AS h
     ORDER BY array_position(ARRAY['owner', 'tenants', 'roles', 'public'], h.name);
    RETURN QUERY
    SELECT h.name, h.ok, h.detail FROM mnemo._health_derived() AS h
     ORDER BY array_position(ARRAY['plan_signatures', 'outcomes', 'terms'], h.name);
    RETURN QUERY
    SELECT h.name, h.ok, h.detail FROM mnemo._health_upkeep() AS h
     ORDER BY array_position(ARRAY['seal', 'sweep', 'models', 'indexes'], h.name);
END
$fn$;
COMMENT ON FUNCTION mnemo.health() IS
    'Whether the installation is as it should be, one row a check with what to do about it: owner '
    '(no superuser, no login), tenants (none can act outside its binding), roles (levels and '
    'bindings of roles that exist), public (no privileges), plan_signatures, outcomes and terms (derived '
    'data agree with the records and reports), seal and sweep (nothing is older than a day), models (of embeddings: '
    'refreshed), indexes (valid). Reads '
    'every record, changes nothing. Level admin only. Errors: 42501 not an administrator.';
