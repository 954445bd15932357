CREATE TABLE mnemo.role_level (
    role_name text NOT NULL,
    level text NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT role_level_pkey PRIMARY KEY (role_name),
    CONSTRAINT role_level_level_check CHECK (mnemo._is_label('level', level))
);
COMMENT ON TABLE mnemo.role_level IS
    'What a database role may do here, written by mnemo.grant_access. By name, because a dump '
    'restored elsewhere meets other role numbers. EXECUTE without a row counts for nothing.';
COMMENT ON COLUMN mnemo.role_level.role_name IS 'Role; it counts for roles that inherit from it too.';
COMMENT ON COLUMN mnemo.role_level.level IS
    'application: may name any agent and organisation; tenant: bound by role_binding; admin.';
COMMENT ON COLUMN mnemo.role_level.granted_at IS 'When the level was given.';

CREATE TABLE mnemo.role_binding (
    org_id text NOT NULL,
    role_name text NOT NULL,
    agent_id text,
    bound_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT role_binding_org_id_key UNIQUE NULLS NOT DISTINCT (org_id, role_name, agent_id),
    CONSTRAINT role_binding_org_id_check CHECK (mnemo._is_identifier(org_id)),
    CONSTRAINT role_binding_agent_id_check CHECK (agent_id IS NULL OR mnemo._is_identifier(agent_id))
);
CREATE INDEX role_binding_role_name_idx ON mnemo.role_binding (role_name);
COMMENT ON TABLE mnemo.role_binding IS
    'Whom a role of level tenant may act for. A tenant without a row may do nothing.';
COMMENT ON COLUMN mnemo.role_binding.org_id IS 'Organisation that the role acts in.';
COMMENT ON COLUMN mnemo.role_binding.role_name IS 'Role; it counts for roles that inherit from it too.';
COMMENT ON COLUMN mnemo.role_binding.agent_id IS 'Agent that the role acts as; NULL for any agent.';
COMMENT ON COLUMN mnemo.role_binding.bound_at IS 'When the binding was made.';
