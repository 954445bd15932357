CREATE FUNCTION mnemo._setting_problem(
    p_name text,
    p_value text,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_name IN ('similarity_threshold', 'semantic_threshold', 'semantic_margin',
        'minimum_threshold', 'success_threshold', 'retire_threshold')
    THEN
        IF p_value COLLATE "C" !~ '^(0([.][0-9]{1,15})?|1([.]0{1,15})?)$' THEN
            RETURN mnemo._argument('p_value',
                format('%s must be a number from 0 to 1; got %s', p_name, mnemo._shown(p_value)),
                'write it as a decimal, such as 0.7');
        END IF;
        IF p_name = 'minimum_threshold' AND p_value::numeric = 0 THEN
            RETURN mnemo._argument('p_value', 'minimum_threshold must be above 0',
                'a threshold of 0 would make every plan a hit');
        END IF;
    ELSIF p_name IN ('experience_memory', 'merge_plans') THEN
        IF p_value NOT IN ('on', 'off') THEN
            RETURN mnemo._argument('p_value',
                p_name || ' must be on or off; got ' || mnemo._shown(p_value),
                'SELECT mnemo.configure(''' || p_name || ''', ''on'')');
        END IF;
    ELSIF p_name IN ('purge_after', 'recall_log_ttl') THEN
        IF p_value COLLATE "C" !~ '^(never|[0-9]{1,6} (minutes|hours|days))$' THEN
            RETURN mnemo._argument('p_value',
                p_name || ' must be never or a time like 30 days; got ' || mnemo._shown(p_value),
                'write a whole number of minutes, hours or days: 30 days');
        END IF;
    ELSIF p_name = 'plan_ttl' THEN
        IF p_value COLLATE "C" !~ '^(none|[1-9][0-9]{0,5} (minutes|hours|days))$' THEN
            RETURN mnemo._argument('p_value',
                'plan_ttl must be none or a time like 30 days; got ' || mnemo._shown(p_value),
                'write a whole number of minutes, hours or days: 30 days');
        END IF;
    ELSIF p_name IN ('max_plans_per_agent', 'max_plans_per_org') THEN
        IF p_value COLLATE "C" !~ '^(none|[1-9][0-9]{0,8})$' THEN
            RETURN mnemo._argument('p_value',
                format('%s must be none or a whole number; got %s', p_name, mnemo._shown(p_value)),
                'write how many plans may be kept, such as 10000');
        END IF;
    ELSIF p_name = 'guard' THEN
        RETURN mnemo._label_problem('p_value', 'guard', p_value);
    ELSE
        RETURN mnemo._identifier_problem('p_value', p_value);
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._setting_problem(text, text, text) IS
    'The problem of a value for a setting; NULL when it may be set.';

CREATE FUNCTION mnemo._check_setting_name(
    p_name text
)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF mnemo._setting_default(p_name) IS NULL THEN
        PERFORM mnemo._raise_argument('p_name',
            'p_name must be the name of a setting; got ' || mnemo._shown(p_name),
            'experience_memory, similarity_threshold, semantic_threshold, semantic_margin, '
            'minimum_threshold, success_threshold, guard, merge_plans, default_agent_id, '
            'default_org_id, purge_after, retire_threshold, plan_ttl, max_plans_per_agent, '
            'max_plans_per_org or recall_log_ttl');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._check_setting_name(text) IS 'Raises 22023 unless there is such a setting.';

CREATE FUNCTION mnemo.configure(
    p_name text,
    p_value text,
    p_org_id text DEFAULT NULL
)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._check_setting_name(p_name);
    IF p_org_id IS NOT NULL THEN
        PERFORM mnemo._check_identity('any', p_org_id);
        IF p_name = 'default_org_id' THEN
            PERFORM mnemo._raise_argument('p_org_id', 'default_org_id has no override per organisation',
                'leave p_org_id out');
        END IF;
    END IF;
    IF p_value IS NULL THEN
        DELETE FROM mnemo.settings AS s
         WHERE s.org_id = coalesce(p_org_id, '*') AND s.name = p_name;
    ELSE
        PERFORM mnemo._raise_problem(mnemo._setting_problem(p_name, p_value, p_org_id));
        INSERT INTO mnemo.settings AS s (org_id, name, value)
        VALUES (coalesce(p_org_id, '*'), p_name, p_value)
        ON CONFLICT (org_id, name) DO UPDATE SET value = excluded.value, updated_at = now();
    END IF;
    RETURN mnemo._setting(p_name, p_org_id);
END
$fn$;
COMMENT ON FUNCTION mnemo.configure(text, text, text) IS
    'Sets a setting for the database, or for one organisation when p_org_id is given; p_value NULL '
    'goes back to the default (for an organisation: to the database''s value). Returns the value '
    'in force. Settings: experience_memory (off), similarity_threshold (0.7), semantic_threshold '
    '(0.74: least cosine of a plan that words do not find), semantic_margin (0.06: how much farther '
    'a plan with other steps must be), minimum_threshold (0.3; a recall that names no threshold uses '
    'the greater of it and similarity_threshold), success_threshold (0.5), '
    'guard (strict), merge_plans (on: the same plan again is merged), default_agent_id (default), '
    'default_org_id (default), purge_after (30 days: how '
    'long mnemo.sweep keeps deleted records; never: for good), retire_threshold (0.05: below it a '
    'plan is retired, see mnemo.record_plan_outcome; 0: by hand only), plan_ttl (none: how long a plan '
    'counts that was remembered without p_ttl), max_plans_per_agent and max_plans_per_org (none: how '
    'many live plans mnemo.sweep leaves), recall_log_ttl (90 days: how long mnemo.sweep keeps logged '
    'recalls; never: for good). Level admin only. Errors: 42501 not an administrator; 22023 unknown name, value '
    'out of range.';

CREATE FUNCTION mnemo.setting(
    p_name text,
    p_org_id text DEFAULT NULL
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_bound record;
BEGIN
    IF mnemo._level() = 'tenant' THEN
        SELECT * INTO v_bound FROM mnemo._bound_org(mnemo._effective_role(), p_org_id);
        PERFORM mnemo._raise_problem(v_bound.problem);
        p_org_id := v_bound.org_id;
    END IF;
    PERFORM mnemo._check_setting_name(p_name);
    IF p_org_id IS NOT NULL THEN
        PERFORM mnemo._check_identity('any', p_org_id);
    END IF;
    RETURN mnemo._setting(p_name, p_org_id);
END
$fn$;
COMMENT ON FUNCTION mnemo.setting(text, text) IS
    'The value in force of a setting for an organisation; NULL means the database, for a tenant '
    'the organisation it is bound to. Errors: 42501 role without a level, tenant outside its '
    'binding; 22023 unknown name, ill-formed organisation.';

CREATE FUNCTION mnemo.version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
RETURN '@mnemo_version@';
COMMENT ON FUNCTION mnemo.version() IS 'The version of mnemo_pg that is installed.';
