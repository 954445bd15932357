CREATE TABLE mnemo.settings (
    org_id text NOT NULL,
    name text NOT NULL,
    value text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT settings_pkey PRIMARY KEY (org_id, name),
    CONSTRAINT settings_org_id_check CHECK (org_id = '*' OR mnemo._is_identifier(org_id))
);
COMMENT ON TABLE mnemo.settings IS
    'Settings that differ from their defaults; a missing row means the default.';
COMMENT ON COLUMN mnemo.settings.org_id IS 'Organisation of an override; * for the whole database.';
COMMENT ON COLUMN mnemo.settings.name IS 'Name of the setting, see mnemo.configure.';
COMMENT ON COLUMN mnemo.settings.value IS 'Value in the form that mnemo.setting shows.';
COMMENT ON COLUMN mnemo.settings.updated_at IS 'When it was last set.';

CREATE FUNCTION mnemo._setting_default(
    p_name text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_name
    WHEN 'experience_memory' THEN 'off'
    WHEN 'similarity_threshold' THEN '0.7'
    WHEN 'semantic_threshold' THEN '0.74'
    WHEN 'semantic_margin' THEN '0.06'
    WHEN 'minimum_threshold' THEN '0.3'
    WHEN 'success_threshold' THEN '0.5'
    WHEN 'guard' THEN 'strict'
    WHEN 'merge_plans' THEN 'on'
    WHEN 'default_agent_id' THEN 'default'
    WHEN 'default_org_id' THEN 'default'
    WHEN 'purge_after' THEN '30 days'
    WHEN 'retire_threshold' THEN '0.05'
    WHEN 'plan_ttl' THEN 'none'
    WHEN 'max_plans_per_agent' THEN 'none'
    WHEN 'max_plans_per_org' THEN 'none'
    WHEN 'recall_log_ttl' THEN '90 days'
END;
COMMENT ON FUNCTION mnemo._setting_default(text) IS
    'The default of a setting; NULL for a name that is no setting.';

CREATE FUNCTION mnemo._overrides(
    p_org_id text
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN (
        SELECT coalesce(jsonb_object_agg(s.name, s.value) FILTER (WHERE s.org_id = '*'), '{}')
               || coalesce(jsonb_object_agg(s.name, s.value) FILTER (WHERE s.org_id <> '*'), '{}')
          FROM mnemo.settings AS s
         WHERE s.org_id = p_org_id OR s.org_id = '*'
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._overrides(text) IS
    'What is set for an organisation (NULL: for the database) by name, all in one look: its own '
    'values before those of the database; defaults are not in it.';

CREATE FUNCTION mnemo._setting_in(
    p_overrides jsonb,
    p_name text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_overrides ->> p_name, mnemo._setting_default(p_name));
COMMENT ON FUNCTION mnemo._setting_in(jsonb, text) IS
    'The value in force, from what _overrides gave; NULL for no setting.';

CREATE FUNCTION mnemo._setting(
    p_name text,
    p_org_id text
)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN mnemo._setting_in(mnemo._overrides(p_org_id), p_name);
COMMENT ON FUNCTION mnemo._setting(text, text) IS
    'The value in force for an organisation (NULL: for the database); NULL for no setting.';
