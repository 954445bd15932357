CREATE TABLE mnemo.acl (
    org_id text NOT NULL,
    memory_id uuid NOT NULL,
    agent_id text NOT NULL,
    permission text NOT NULL,
    granted_by text NOT NULL,
    granted_at timestamptz NOT NULL,
    expires_at timestamptz,
    CONSTRAINT acl_pkey PRIMARY KEY (org_id, memory_id, agent_id),
    CONSTRAINT acl_memory_id_fkey FOREIGN KEY (org_id, memory_id)
        REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE,
    CONSTRAINT acl_agent_id_check CHECK (mnemo._is_identifier(agent_id)),
    CONSTRAINT acl_permission_check CHECK (mnemo._is_label('permission', permission))
);
CREATE INDEX acl_agent_id_idx ON mnemo.acl (org_id, agent_id);
CREATE INDEX acl_share_idx ON mnemo.acl (org_id, agent_id, memory_id)
    WHERE permission = 'share';
CREATE INDEX acl_expires_at_idx ON mnemo.acl (org_id, expires_at) WHERE expires_at IS NOT NULL;
COMMENT ON TABLE mnemo.acl IS 'Grants on single records to agents of the same organisation.';
COMMENT ON COLUMN mnemo.acl.org_id IS 'Organisation of the record and of the agent.';
COMMENT ON COLUMN mnemo.acl.memory_id IS 'The record.';
COMMENT ON COLUMN mnemo.acl.agent_id IS 'Agent that holds the grant.';
COMMENT ON COLUMN mnemo.acl.permission IS 'read, write, delete or share; each covers those before it.';
COMMENT ON COLUMN mnemo.acl.granted_by IS 'Agent that gave it.';
COMMENT ON COLUMN mnemo.acl.granted_at IS 'When it was given.';
COMMENT ON COLUMN mnemo.acl.expires_at IS 'Until when it holds, exclusive; NULL for no end.';

CREATE TABLE mnemo.delegation (
    org_id text NOT NULL,
    id uuid NOT NULL,
    from_agent_id text NOT NULL,
    to_agent_id text NOT NULL,
    permission text NOT NULL,
    memory_ids uuid[],
    tag text,
    parent_id uuid,
    max_depth integer NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    head_id uuid,
    root_agent_id text NOT NULL,
    tags text[],
    CONSTRAINT delegation_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT delegation_parent_id_fkey FOREIGN KEY (org_id, parent_id)
        REFERENCES mnemo.delegation (org_id, id) ON DELETE CASCADE,
    CONSTRAINT delegation_head_id_fkey FOREIGN KEY (org_id, head_id)
        REFERENCES mnemo.delegation (org_id, id) ON DELETE CASCADE,
    CONSTRAINT delegation_from_agent_id_check CHECK (mnemo._is_identifier(from_agent_id)),
    CONSTRAINT delegation_to_agent_id_check CHECK (
        mnemo._is_identifier(to_agent_id) AND to_agent_id <> from_agent_id
    ),
    CONSTRAINT delegation_permission_check CHECK (mnemo._is_label('permission', permission)),
    CONSTRAINT delegation_tag_check CHECK (
        tag IS NULL OR coalesce(tags @> ARRAY[tag], false)
    ),
    CONSTRAINT delegation_root_agent_id_check CHECK (
        mnemo._is_identifier(root_agent_id) AND root_agent_id <> to_agent_id
    ),
    CONSTRAINT delegation_max_depth_check CHECK (max_depth >= 0)
);
-- What an agent holds is read by every recall: one look-up, and what has ended is not visited.
CREATE INDEX delegation_active_idx ON mnemo.delegation
    (org_id, to_agent_id, root_agent_id, (coalesce(expires_at, 'infinity')))
    WHERE revoked_at IS NULL;
CREATE INDEX delegation_to_agent_id_idx ON mnemo.delegation (org_id, to_agent_id, id);
CREATE INDEX delegation_from_agent_id_idx ON mnemo.delegation (org_id, from_agent_id, id);
CREATE INDEX delegation_parent_id_idx ON mnemo.delegation (org_id, parent_id);
CREATE INDEX delegation_head_id_idx ON mnemo.delegation (org_id, head_id);
COMMENT ON TABLE mnemo.delegation IS
    'Permissions of one agent handed to another: for some records, for a tag, or for all that the '
    'giver owns or may share. A call of delegate writes one row for what the giver has itself, the '
    'head, and one for each delegation that it passes on. A row says everything about its chain: '
    'the agent whose own rights it stands on, the least permission, the earliest end. So to know '
    'what an agent holds, no chain is walked; revoking walks it once.';
COMMENT ON COLUMN mnemo.delegation.org_id IS 'Organisation of both agents.';
COMMENT ON COLUMN mnemo.delegation.id IS 'UUID of version 7.';
COMMENT ON COLUMN mnemo.delegation.from_agent_id IS 'Agent that gives.';
COMMENT ON COLUMN mnemo.delegation.to_agent_id IS 'Agent that receives.';
COMMENT ON COLUMN mnemo.delegation.permission IS 'Highest permission that is handed on.';
COMMENT ON COLUMN mnemo.delegation.memory_ids IS 'The records; NULL for any.';
COMMENT ON COLUMN mnemo.delegation.tag IS
    'Tag that the giver named; NULL when it meant ids or all.';
COMMENT ON COLUMN mnemo.delegation.parent_id IS 'Row that this one passes on; NULL for none.';
COMMENT ON COLUMN mnemo.delegation.max_depth IS 'How many times it may be passed on further.';
COMMENT ON COLUMN mnemo.delegation.created_at IS 'When it was given.';
COMMENT ON COLUMN mnemo.delegation.expires_at IS 'Until when it holds, exclusive; NULL for no end.';
COMMENT ON COLUMN mnemo.delegation.revoked_at IS 'When it was taken back; NULL while it holds.';
COMMENT ON COLUMN mnemo.delegation.head_id IS
    'For a row that passes on: the head of the same call. NULL for a head.';
COMMENT ON COLUMN mnemo.delegation.root_agent_id IS
    'Agent whose own rights it stands on: it owns the records or holds a grant share on them. The '
    'giver in a head, the first giver of the chain in the others.';
COMMENT ON COLUMN mnemo.delegation.tags IS
    'Tags that a record must have, all of them: tag, and those of what it passes on; NULL for none.';

-- The planner's statistics would keep people's words after erasure.
ALTER TABLE mnemo.delegation
    ALTER COLUMN tag SET STATISTICS 0,
    ALTER COLUMN tags SET STATISTICS 0;
