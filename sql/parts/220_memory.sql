CREATE FUNCTION mnemo._is_plan_payload(
    p_payload jsonb
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(
    jsonb_typeof(p_payload -> 'query') = 'string'
    AND jsonb_typeof(p_payload -> 'signature_tokens') = 'array'
    AND jsonb_typeof(p_payload -> 'steps') = 'array'
    AND jsonb_typeof(p_payload -> 'chunk_ids') = 'array'
    AND jsonb_typeof(p_payload -> 'outcome_score') = 'number'
    AND jsonb_typeof(coalesce(p_payload -> 'context', 'null')) IN ('string', 'null')
    AND jsonb_typeof(coalesce(p_payload -> 'reason', '""')) = 'string'
    AND jsonb_array_length(p_payload -> 'signature_tokens') > 0
    AND NOT p_payload @? 'strict $.signature_tokens[*] ? (@.type() != "string")'
    AND NOT p_payload @? 'strict $.steps[*] ? (@.type() != "string")'
    AND NOT p_payload @? 'strict $.chunk_ids[*] ? (@.type() != "string")',
    false
);
COMMENT ON FUNCTION mnemo._is_plan_payload(jsonb) IS
    'Whether the JSON value is the payload of a plan: an object with query, signature_tokens, '
    'steps, chunk_ids and outcome_score of the right types, for what not to do also with the reason; '
    'false for NULL.';

CREATE TABLE mnemo.memory (
    org_id text NOT NULL,
    id uuid NOT NULL,
    origin_org_id text NOT NULL,
    agent_id text NOT NULL,
    scope text NOT NULL,
    memory_type text NOT NULL,
    content text,
    importance double precision NOT NULL,
    tags text[] NOT NULL,
    metadata jsonb NOT NULL,
    source_type text NOT NULL,
    source_id text,
    thread_id text,
    created_by text,
    consolidation_state text NOT NULL,
    quarantined boolean NOT NULL,
    quarantine_reason text,
    version bigint NOT NULL,
    prev_version_id uuid,
    access_count bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_accessed_at timestamptz,
    expires_at timestamptz,
    deleted_at timestamptz,
    redacted_at timestamptz,
    kind text,
    subject text,
    predicate text,
    entities text[] NOT NULL,
    aliases text[] NOT NULL,
    location text,
    confidence double precision,
    status text NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    temporal_scope text NOT NULL,
    nonce bytea,
    content_hash bytea NOT NULL,
    CONSTRAINT memory_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT memory_org_id_check CHECK (
        CASE scope WHEN 'global' THEN org_id = '*' ELSE org_id = origin_org_id END
    ),
    CONSTRAINT memory_origin_org_id_check CHECK (mnemo._is_identifier(origin_org_id)),
    CONSTRAINT memory_agent_id_check CHECK (mnemo._is_identifier(agent_id)),
    CONSTRAINT memory_scope_check CHECK (mnemo._is_label('scope', scope)),
    CONSTRAINT memory_memory_type_check CHECK (mnemo._is_label('memory_type', memory_type)),
    CONSTRAINT memory_source_type_check CHECK (mnemo._is_label('source_type', source_type)),
    CONSTRAINT memory_consolidation_state_check CHECK (
        mnemo._is_label('consolidation_state', consolidation_state)
    ),
    CONSTRAINT memory_kind_check CHECK (kind IS NULL OR mnemo._is_label('kind', kind)),
    CONSTRAINT memory_status_check CHECK (mnemo._is_label('memory_status', status)),
    CONSTRAINT memory_temporal_scope_check CHECK (mnemo._is_label('temporal_scope', temporal_scope)),
    CONSTRAINT memory_importance_check CHECK (importance BETWEEN 0 AND 1),
    CONSTRAINT memory_confidence_check CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT memory_version_check CHECK (version >= 1),
    CONSTRAINT memory_access_count_check CHECK (access_count >= 0),
    CONSTRAINT memory_metadata_check CHECK (jsonb_typeof(metadata) = 'object'),
    CONSTRAINT memory_quarantine_reason_check CHECK (quarantined OR quarantine_reason IS NULL),
    CONSTRAINT memory_redacted_at_check CHECK (
        CASE WHEN redacted_at IS NULL THEN content IS NOT NULL AND nonce IS NOT NULL
        ELSE content IS NULL AND nonce IS NULL AND metadata = '{}' AND deleted_at IS NOT NULL
            AND tags <@ ARRAY[mnemo._reserved_tag()] AND source_id IS NULL AND thread_id IS NULL
            AND created_by IS NULL AND quarantine_reason IS NULL AND subject IS NULL
            AND predicate IS NULL AND entities = '{}' AND aliases = '{}' AND location IS NULL END
    ),
    CONSTRAINT memory_experience_plan_check CHECK (
        CASE WHEN redacted_at IS NULL
            AND (tags @> ARRAY[mnemo._reserved_tag()] OR metadata ? mnemo._reserved_key())
        THEN tags @> ARRAY[mnemo._reserved_tag()] AND metadata ? mnemo._reserved_key()
            AND memory_type = 'procedural' AND source_type = 'system'
            AND mnemo._is_plan_payload(metadata -> mnemo._reserved_key())
        ELSE true END
    )
);
CREATE INDEX memory_owner_idx
    ON mnemo.memory (org_id, origin_org_id, agent_id, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND NOT tags @> ARRAY['__experience_plan__'];
CREATE INDEX memory_scope_idx
    ON mnemo.memory (org_id, scope, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND NOT tags @> ARRAY['__experience_plan__']
        AND scope IN ('public', 'global');
CREATE INDEX memory_plan_idx
    ON mnemo.memory (org_id, origin_org_id, agent_id, id DESC)
    WHERE deleted_at IS NULL AND tags @> ARRAY['__experience_plan__'];
CREATE INDEX memory_plan_scope_idx
    ON mnemo.memory (org_id, scope, id DESC)
    WHERE deleted_at IS NULL AND tags @> ARRAY['__experience_plan__']
        AND scope IN ('public', 'global');
CREATE INDEX memory_expires_at_idx ON mnemo.memory (org_id, expires_at)
    WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memory_deleted_idx ON mnemo.memory (org_id, origin_org_id, agent_id)
    WHERE deleted_at IS NOT NULL;
CREATE INDEX memory_deleted_at_idx ON mnemo.memory (org_id, deleted_at)
    WHERE deleted_at IS NOT NULL AND redacted_at IS NULL;

-- The planner's statistics of these columns would keep people's words after erasure.
ALTER TABLE mnemo.memory
    ALTER COLUMN content SET STATISTICS 0,
    ALTER COLUMN tags SET STATISTICS 0,
    ALTER COLUMN metadata SET STATISTICS 0,
    ALTER COLUMN source_id SET STATISTICS 0,
    ALTER COLUMN thread_id SET STATISTICS 0,
    ALTER COLUMN created_by SET STATISTICS 0,
    ALTER COLUMN quarantine_reason SET STATISTICS 0,
    ALTER COLUMN subject SET STATISTICS 0,
    ALTER COLUMN predicate SET STATISTICS 0,
    ALTER COLUMN entities SET STATISTICS 0,
    ALTER COLUMN aliases SET STATISTICS 0,
    ALTER COLUMN location SET STATISTICS 0,
    ALTER COLUMN nonce SET STATISTICS 0;

COMMENT ON TABLE mnemo.memory IS
    'One row a record, plans included. Written by the functions of this schema only.';
COMMENT ON COLUMN mnemo.memory.org_id IS
    'Organisation whose agents can see the record; * for records of scope global.';
COMMENT ON COLUMN mnemo.memory.id IS 'UUID of version 7, unique within org_id.';
COMMENT ON COLUMN mnemo.memory.origin_org_id IS
    'Organisation that wrote the record; with agent_id it is the owner.';
COMMENT ON COLUMN mnemo.memory.agent_id IS 'Agent of origin_org_id that owns the record.';
COMMENT ON COLUMN mnemo.memory.scope IS
    'private: the owner; shared: also agents with a grant; public: every agent of the '
    'organisation; global: every agent of every organisation.';
COMMENT ON COLUMN mnemo.memory.memory_type IS 'episodic, semantic, procedural or working.';
COMMENT ON COLUMN mnemo.memory.content IS
    'The text; the query for a plan. NULL only after redaction.';
COMMENT ON COLUMN mnemo.memory.importance IS
    'From 0 to 1; for a plan the outcome score.';
COMMENT ON COLUMN mnemo.memory.tags IS
    'Free labels without duplicates; __experience_plan__ marks plans.';
COMMENT ON COLUMN mnemo.memory.metadata IS
    'JSON object of the caller; key experience_plan holds the payload of a plan.';
COMMENT ON COLUMN mnemo.memory.source_type IS
    'Where the text came from; human and user_input are explicit sources.';
COMMENT ON COLUMN mnemo.memory.source_id IS 'Identifier of the source; NULL when unknown.';
COMMENT ON COLUMN mnemo.memory.thread_id IS 'Conversation or run; NULL when none.';
COMMENT ON COLUMN mnemo.memory.created_by IS 'Person or service behind the agent; NULL when unknown.';
COMMENT ON COLUMN mnemo.memory.consolidation_state IS
    'raw, active, pending and consolidated are live; archived and forgotten are not.';
COMMENT ON COLUMN mnemo.memory.quarantined IS 'Held back from every recall.';
COMMENT ON COLUMN mnemo.memory.quarantine_reason IS 'Why it is held back; NULL when it is not.';
COMMENT ON COLUMN mnemo.memory.version IS 'Counts the changes of the content, from 1.';
COMMENT ON COLUMN mnemo.memory.prev_version_id IS 'Record that this one replaced; NULL for none.';
COMMENT ON COLUMN mnemo.memory.access_count IS 'How often the record was reported as used.';
COMMENT ON COLUMN mnemo.memory.created_at IS 'When the record was written.';
COMMENT ON COLUMN mnemo.memory.updated_at IS 'When any column was last changed.';
COMMENT ON COLUMN mnemo.memory.last_accessed_at IS 'When it was last reported as used; NULL for never.';
COMMENT ON COLUMN mnemo.memory.expires_at IS 'From then on invisible; NULL for never.';
COMMENT ON COLUMN mnemo.memory.deleted_at IS 'When it was deleted (softly); NULL while it lives.';
COMMENT ON COLUMN mnemo.memory.redacted_at IS 'When its text was erased; NULL while it is there.';
COMMENT ON COLUMN mnemo.memory.kind IS 'Kind of fact for retrieval plans; NULL for none.';
COMMENT ON COLUMN mnemo.memory.subject IS
    'Whom or what the fact is about, lower-cased with single spaces; NULL for none.';
COMMENT ON COLUMN mnemo.memory.predicate IS 'Canonical predicate; NULL for none.';
COMMENT ON COLUMN mnemo.memory.entities IS 'Others that the record mentions.';
COMMENT ON COLUMN mnemo.memory.aliases IS 'Other names of the subject or wordings of the fact.';
COMMENT ON COLUMN mnemo.memory.location IS 'Place of the fact; NULL for none.';
COMMENT ON COLUMN mnemo.memory.confidence IS 'From 0 to 1; NULL when unknown.';
COMMENT ON COLUMN mnemo.memory.status IS 'active, superseded or retracted.';
COMMENT ON COLUMN mnemo.memory.valid_from IS 'From when the fact holds.';
COMMENT ON COLUMN mnemo.memory.valid_to IS 'Until when the fact holds, exclusive; NULL for open.';
COMMENT ON COLUMN mnemo.memory.temporal_scope IS 'persistent, recent_history or scheduled.';
COMMENT ON COLUMN mnemo.memory.nonce IS '16 random bytes in the hash; NULL after redaction.';
COMMENT ON COLUMN mnemo.memory.content_hash IS
    'SHA-256 over the canonical encoding of what identifies the record (docs/hash-format.md).';
