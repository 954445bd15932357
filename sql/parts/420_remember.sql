CREATE FUNCTION mnemo._metadata_problem(
    p_metadata jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF jsonb_typeof(p_metadata) <> 'object' THEN
        RETURN mnemo._argument('p_metadata',
            'p_metadata must be a JSON object; got ' || jsonb_typeof(p_metadata),
            'wrap the value: {"value": ...}');
    ELSIF p_metadata ? mnemo._reserved_key() THEN
        RETURN mnemo._argument('p_metadata',
            'p_metadata must not contain the reserved key ' || mnemo._reserved_key(),
            'plans are written with mnemo.remember_plan');
    ELSIF octet_length(p_metadata::text) > 1048576 THEN
        RETURN mnemo._limit('p_metadata',
            format('p_metadata has %s bytes as text, at most 1048576 (1 MB) are allowed',
                octet_length(p_metadata::text)),
            'keep large values outside and store their identifiers');
    END IF;
    RETURN mnemo._depth_problem('p_metadata', p_metadata);
END
$fn$;
COMMENT ON FUNCTION mnemo._metadata_problem(jsonb) IS
    'The problem of a caller''s metadata: no object, the reserved key, over 1 MB, too deep; NULL '
    'for none.';

CREATE FUNCTION mnemo._memory_problem(
    p_record mnemo.memory
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Each only where there is something to find: most records set a few columns.
    RETURN mnemo._first_problem(ARRAY[
        CASE WHEN p_record.content IS NULL OR mnemo._is_blank(p_record.content) THEN
            mnemo._argument('p_content', 'p_content must not be NULL or blank',
                'pass the text to remember')
        END,
        CASE WHEN NOT mnemo._is_label('memory_type', p_record.memory_type) THEN
            mnemo._label_problem('p_memory_type', 'memory_type', p_record.memory_type)
        END,
        CASE WHEN NOT mnemo._is_label('source_type', p_record.source_type) THEN
            mnemo._label_problem('p_source_type', 'source_type', p_record.source_type)
        END,
        CASE WHEN NOT mnemo._is_label('memory_status', p_record.status) THEN
            mnemo._label_problem('p_status', 'memory_status', p_record.status)
        END,
        CASE WHEN NOT mnemo._is_label('temporal_scope', p_record.temporal_scope) THEN
            mnemo._label_problem('p_temporal_scope', 'temporal_scope', p_record.temporal_scope)
        END,
        CASE WHEN p_record.kind IS NOT NULL THEN
            mnemo._label_problem('p_kind', 'kind', p_record.kind)
        END,
        mnemo._fraction_problem('p_importance', p_record.importance),
        mnemo._fraction_problem('p_confidence', p_record.confidence),
        CASE WHEN p_record.tags <> '{}' THEN mnemo._tags_problem(p_record.tags) END,
        CASE WHEN p_record.entities <> '{}' THEN
            mnemo._list_problem('p_entities', p_record.entities, 100, 256, 'entities')
        END,
        CASE WHEN p_record.aliases <> '{}' THEN
            mnemo._list_problem('p_aliases', p_record.aliases, 100, 256, 'aliases')
        END,
        CASE WHEN coalesce(p_record.source_id, p_record.thread_id, p_record.created_by,
            p_record.subject, p_record.predicate, p_record.location) IS NOT NULL
        THEN
            mnemo._texts_problem(
                ARRAY['p_source_id', 'p_thread_id', 'p_created_by', 'p_subject', 'p_predicate',
                    'p_location'],
                ARRAY[p_record.source_id, p_record.thread_id, p_record.created_by,
                    p_record.subject, p_record.predicate, p_record.location],
                256)
        END,
        CASE WHEN p_record.metadata <> '{}' THEN mnemo._metadata_problem(p_record.metadata) END,
        CASE WHEN p_record.valid_from <> p_record.created_at THEN
            mnemo._time_problem('p_valid_from', p_record.valid_from)
        END,
        CASE WHEN p_record.valid_to IS NOT NULL THEN
            mnemo._time_problem('p_valid_to', p_record.valid_to)
        END,
        CASE WHEN p_record.valid_to <= p_record.valid_from THEN
            mnemo._argument('p_valid_to', 'p_valid_to must be after p_valid_from',
                'p_valid_from is the time of writing where it is not given')
        END,
        CASE WHEN mnemo._canonical_predicate(p_record.predicate) = '' THEN
            mnemo._argument('p_predicate',
                'p_predicate must contain an ASCII letter or digit; got '
                    || mnemo._shown(p_record.predicate),
                'see mnemo.canonical_predicate')
        END,
        CASE WHEN octet_length(p_record.content) > 1048576 THEN
            mnemo._limit('p_content',
                format('p_content has %s bytes, at most 1048576 (1 MB) are allowed',
                    octet_length(p_record.content)),
                'split the text into several records')
        END
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._memory_problem(mnemo.memory) IS
    'The first problem of a record that a caller wants to write: the rules of mnemo.remember; NULL '
    'for none.';

CREATE FUNCTION mnemo._normalised(
    p_record mnemo.memory
)
RETURNS mnemo.memory
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_record.tags <> '{}' THEN
        p_record.tags := mnemo._distinct(p_record.tags);
    END IF;
    IF p_record.entities <> '{}' THEN
        p_record.entities := mnemo._distinct(p_record.entities);
    END IF;
    IF p_record.aliases <> '{}' THEN
        p_record.aliases := mnemo._distinct(p_record.aliases);
    END IF;
    IF p_record.subject IS NOT NULL THEN
        p_record.subject := mnemo._lower(mnemo._squeeze(p_record.subject));
    END IF;
    IF p_record.predicate IS NOT NULL THEN
        p_record.predicate := mnemo._canonical_predicate(p_record.predicate);
    END IF;
    p_record.content_hash := mnemo._content_hash(p_record);
    RETURN p_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._normalised(mnemo.memory) IS
    'The record as it is stored: lists without duplicates, subject and predicate normalised, hashed.';

CREATE FUNCTION mnemo._new_record(
    p_scope text,
    p_org_id text,
    p_agent_id text,
    p_ttl interval
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    v_record.org_id := CASE p_scope WHEN 'global' THEN '*' ELSE p_org_id END;
    v_record.id := mnemo._new_id();
    v_record.origin_org_id := p_org_id;
    v_record.agent_id := p_agent_id;
    v_record.scope := p_scope;
    v_record.importance := 0.5;
    v_record.consolidation_state := 'raw';
    v_record.quarantined := false;
    v_record.version := 1;
    v_record.access_count := 0;
    v_record.created_at := now();
    v_record.updated_at := now();
    v_record.expires_at := now() + p_ttl;
    v_record.status := 'active';
    v_record.valid_from := now();
    v_record.temporal_scope := 'persistent';
    v_record.tags := '{}';
    v_record.entities := '{}';
    v_record.aliases := '{}';
    v_record.metadata := '{}';
    v_record.nonce := uuid_send(gen_random_uuid());
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._new_record(text, text, text, interval) IS
    'A record with id, owner, nonce and every default set; content, type and source are missing.';

CREATE FUNCTION mnemo._default_ttl(
    p_memory_type text
)
RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_memory_type WHEN 'working' THEN interval '1 hour' END;
COMMENT ON FUNCTION mnemo._default_ttl(text) IS
    'How long a memory of this type lives where nothing else is said: working memory is for the '
    'task at hand; NULL for ever.';

CREATE FUNCTION mnemo.remember(
    p_content text,
    p_scope text DEFAULT NULL,
    p_memory_type text DEFAULT NULL,
    p_importance double precision DEFAULT NULL,
    p_tags text[] DEFAULT NULL,
    p_metadata jsonb DEFAULT NULL,
    p_source_type text DEFAULT NULL,
    p_source_id text DEFAULT NULL,
    p_thread_id text DEFAULT NULL,
    p_created_by text DEFAULT NULL,
    p_ttl interval DEFAULT NULL,
    p_kind text DEFAULT NULL,
    p_subject text DEFAULT NULL,
    p_predicate text DEFAULT NULL,
    p_entities text[] DEFAULT NULL,
    p_aliases text[] DEFAULT NULL,
    p_location text DEFAULT NULL,
    p_confidence double precision DEFAULT NULL,
    p_status text DEFAULT NULL,
    p_valid_from timestamptz DEFAULT NULL,
    p_valid_to timestamptz DEFAULT NULL,
    p_temporal_scope text DEFAULT NULL,
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL,
    p_idempotency_key text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, content_hash bytea, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record mnemo.memory;
    v_problem mnemo._problem;
    v_first mnemo.memory;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    v_problem := mnemo._first_problem(ARRAY[
        mnemo._scope_problem(v_caller.level, p_scope),
        mnemo._embedding_problem(p_embedding, p_model),
        mnemo._ttl_problem(p_ttl),
        mnemo._texts_problem(ARRAY['p_idempotency_key'], ARRAY[p_idempotency_key], 256)
    ]);
    IF v_problem.code <> '54000' THEN
        PERFORM mnemo._raise_problem(v_problem);
    END IF;
    v_record := mnemo._new_record(
        coalesce(p_scope, 'private'), v_caller.org_id, v_caller.agent_id,
        coalesce(p_ttl, mnemo._default_ttl(p_memory_type))
    );
    v_record.content := p_content;
    v_record.memory_type := coalesce(p_memory_type, 'episodic');
    v_record.importance := coalesce(p_importance, v_record.importance);
    v_record.tags := coalesce(p_tags, v_record.tags);
    v_record.metadata := coalesce(p_metadata, v_record.metadata);
    v_record.source_type := coalesce(p_source_type, 'agent');
    v_record.source_id := p_source_id;
    v_record.thread_id := p_thread_id;
    v_record.created_by := p_created_by;
    v_record.kind := p_kind;
    v_record.subject := p_subject;
    v_record.predicate := p_predicate;
    v_record.entities := coalesce(p_entities, v_record.entities);
    v_record.aliases := coalesce(p_aliases, v_record.aliases);
    v_record.location := p_location;
    v_record.confidence := p_confidence;
    v_record.status := coalesce(p_status, v_record.status);
    v_record.valid_from := coalesce(p_valid_from, v_record.valid_from);
    v_record.valid_to := p_valid_to;
    v_record.temporal_scope := coalesce(p_temporal_scope, v_record.temporal_scope);
    PERFORM mnemo._raise_problem(
        mnemo._first_problem(ARRAY[mnemo._memory_problem(v_record), v_problem])
    );
    v_record := mnemo._screen(mnemo._normalised(v_record));
    IF p_idempotency_key IS NOT NULL THEN
        v_first := mnemo._first_record(v_record, p_idempotency_key, '{}');
        IF v_first.id <> v_record.id THEN
            IF v_first.tags @> ARRAY[mnemo._reserved_tag()] THEN
                PERFORM mnemo._raise_argument('p_idempotency_key',
                    'p_idempotency_key was used for a plan', 'use another key');
            END IF;
            RETURN QUERY SELECT v_first.id, v_first.content_hash, 'repeated';
            RETURN;
        END IF;
    END IF;
    PERFORM mnemo._write_memories(ARRAY[v_record], 'memory_write');
    PERFORM mnemo._store_embedding(p_embedding, p_model, v_record.org_id, v_record.id);
    RETURN QUERY
    SELECT v_record.id, v_record.content_hash,
           CASE WHEN v_record.quarantined THEN 'quarantined' ELSE 'stored' END;
END
$fn$;
COMMENT ON FUNCTION mnemo.remember(
    text, text, text, double precision, text[], jsonb, text, text, text, text, interval, text,
    text, text, text[], text[], text, double precision, text, timestamptz, timestamptz, text,
    text, text, text, text, text
) IS
    'Writes one memory of the acting agent and the event of it, in the caller''s transaction. '
    'p_content: up to 1 MB, not blank. NULL elsewhere means the default: scope private, type '
    'episodic, importance 0.5, no tags, metadata {}, source agent, status active, valid from now. '
    'p_ttl: until it expires (working memory: 1 hour; others: never). Subject and predicate are '
    'normalised. The same p_idempotency_key of the same agent again returns the first answer with '
    'status repeated and writes nothing. Returns id, SHA-256 of the record, status stored, '
    'quarantined (kept, and held back from every recall by a rule against poisoning) or repeated. '
    'Errors: 42501 no access, or scope global by a tenant; 22023 bad argument, reserved '
    'tag or key; 54000 over a limit; 55000 embedding given but not enabled; 40001 the key was used '
    'by a concurrent transaction.';
