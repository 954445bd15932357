CREATE TABLE mnemo.event (
    org_id text NOT NULL,
    id uuid NOT NULL,
    agent_id text NOT NULL,
    event_type text NOT NULL,
    memory_org_id text NOT NULL,
    memory_id uuid,
    actor_org_id text NOT NULL,
    actor_agent_id text NOT NULL,
    happened_at timestamptz NOT NULL,
    content_hash bytea,
    changes jsonb NOT NULL,
    note_hash bytea,
    seq bigint,
    prev_hash bytea,
    hash bytea,
    CONSTRAINT event_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT event_event_type_check CHECK (mnemo._is_label('event_type', event_type)),
    CONSTRAINT event_changes_check CHECK (jsonb_typeof(changes) = 'object'),
    CONSTRAINT event_seq_check CHECK (
        CASE WHEN seq IS NULL THEN prev_hash IS NULL AND hash IS NULL
        ELSE prev_hash IS NOT NULL AND hash IS NOT NULL END
    )
);
CREATE INDEX event_memory_id_idx ON mnemo.event (memory_org_id, memory_id, id);
CREATE INDEX event_unsealed_idx ON mnemo.event (org_id, agent_id, id) WHERE seq IS NULL;
CREATE UNIQUE INDEX event_seq_idx ON mnemo.event (org_id, agent_id, seq) WHERE seq IS NOT NULL;
COMMENT ON TABLE mnemo.event IS
    'Append-only log of every change, written in the same transaction. Ids, labels and numbers '
    'only; free text is in event_note. Sealing links events into one chain per owner.';
COMMENT ON COLUMN mnemo.event.org_id IS 'Origin organisation of the record: with agent_id the chain.';
COMMENT ON COLUMN mnemo.event.id IS 'UUID of version 7.';
COMMENT ON COLUMN mnemo.event.agent_id IS 'Owner of the record.';
COMMENT ON COLUMN mnemo.event.event_type IS 'What happened, such as memory_write or plan_write.';
COMMENT ON COLUMN mnemo.event.memory_org_id IS 'org_id of the record: * for global ones.';
COMMENT ON COLUMN mnemo.event.memory_id IS 'Id of the record; NULL for an event about none.';
COMMENT ON COLUMN mnemo.event.actor_org_id IS 'Organisation of the acting agent.';
COMMENT ON COLUMN mnemo.event.actor_agent_id IS 'Agent that acted.';
COMMENT ON COLUMN mnemo.event.happened_at IS 'Start of the transaction that acted.';
COMMENT ON COLUMN mnemo.event.content_hash IS 'The record''s content_hash at that time.';
COMMENT ON COLUMN mnemo.event.changes IS
    'The columns that the event set: labels, numbers, times in microseconds since 1970 UTC.';
COMMENT ON COLUMN mnemo.event.note_hash IS 'Salted SHA-256 of the note in event_note; NULL for none.';
COMMENT ON COLUMN mnemo.event.seq IS 'Place in the chain, from 1; NULL until sealed.';
COMMENT ON COLUMN mnemo.event.prev_hash IS 'hash of the event before in the chain; NULL until sealed.';
COMMENT ON COLUMN mnemo.event.hash IS 'SHA-256 over prev_hash and this event; NULL until sealed.';

CREATE TABLE mnemo.event_note (
    org_id text NOT NULL,
    event_id uuid NOT NULL,
    salt bytea NOT NULL,
    note text NOT NULL,
    CONSTRAINT event_note_pkey PRIMARY KEY (org_id, event_id),
    CONSTRAINT event_note_event_id_fkey FOREIGN KEY (org_id, event_id)
        REFERENCES mnemo.event (org_id, id) ON DELETE CASCADE
);
COMMENT ON TABLE mnemo.event_note IS
    'Free text of events, apart so that it can be erased without breaking the chain.';
COMMENT ON COLUMN mnemo.event_note.org_id IS 'org_id of the event.';
COMMENT ON COLUMN mnemo.event_note.event_id IS 'Id of the event.';
COMMENT ON COLUMN mnemo.event_note.salt IS '16 random bytes before the note in note_hash.';
COMMENT ON COLUMN mnemo.event_note.note IS 'The text.';

CREATE TABLE mnemo.chain_head (
    org_id text NOT NULL,
    agent_id text NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    anchor_seq bigint NOT NULL DEFAULT 0,
    anchor_hash bytea,
    sealed_at timestamptz NOT NULL,
    CONSTRAINT chain_head_pkey PRIMARY KEY (org_id, agent_id),
    CONSTRAINT chain_head_seq_check CHECK (seq >= anchor_seq AND anchor_seq >= 0)
);
COMMENT ON TABLE mnemo.chain_head IS 'Last sealed event of each chain.';
COMMENT ON COLUMN mnemo.chain_head.org_id IS 'Origin organisation of the chain.';
COMMENT ON COLUMN mnemo.chain_head.agent_id IS 'Agent of the chain.';
COMMENT ON COLUMN mnemo.chain_head.seq IS 'seq of the last sealed event.';
COMMENT ON COLUMN mnemo.chain_head.hash IS 'hash of the last sealed event.';
COMMENT ON COLUMN mnemo.chain_head.anchor_seq IS
    'seq of the last event that retention removed; 0 while none was.';
COMMENT ON COLUMN mnemo.chain_head.anchor_hash IS 'hash of that event; NULL while none was removed.';
COMMENT ON COLUMN mnemo.chain_head.sealed_at IS 'When the chain was last sealed.';

CREATE TABLE mnemo.idempotency (
    org_id text NOT NULL,
    agent_id text NOT NULL,
    key text NOT NULL,
    memory_org_id text NOT NULL,
    memory_id uuid NOT NULL,
    CONSTRAINT idempotency_pkey PRIMARY KEY (org_id, agent_id, key)
);
CREATE INDEX idempotency_memory_id_idx ON mnemo.idempotency (memory_org_id, memory_id);
COMMENT ON TABLE mnemo.idempotency IS
    'Which record answered an idempotency key of an owner. The key is claimed before the record is '
    'written, so that two callers cannot both write: hence no foreign key. Without its record a key '
    'is free again.';
COMMENT ON COLUMN mnemo.idempotency.org_id IS 'Origin organisation of the owner.';
COMMENT ON COLUMN mnemo.idempotency.agent_id IS 'Agent that owns the key.';
COMMENT ON COLUMN mnemo.idempotency.key IS 'The caller''s key, compared exactly.';
COMMENT ON COLUMN mnemo.idempotency.memory_org_id IS 'org_id of the record.';
COMMENT ON COLUMN mnemo.idempotency.memory_id IS 'Id of the record.';

-- The planner's statistics of these columns would keep people's words after erasure, or the salt
-- that hides them.
ALTER TABLE mnemo.event_note
    ALTER COLUMN note SET STATISTICS 0,
    ALTER COLUMN salt SET STATISTICS 0;
ALTER TABLE mnemo.idempotency ALTER COLUMN key SET STATISTICS 0;
