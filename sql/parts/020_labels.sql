CREATE FUNCTION mnemo._labels(
    p_set text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_set
    WHEN 'scope' THEN ARRAY['private', 'shared', 'public', 'global']
    WHEN 'memory_type' THEN ARRAY['episodic', 'semantic', 'procedural', 'working']
    WHEN 'source_type' THEN ARRAY[
        'agent', 'human', 'system', 'user_input', 'tool_output', 'model_response', 'retrieval',
        'consolidation', 'import'
    ]
    WHEN 'permission' THEN ARRAY['read', 'write', 'delete', 'share']
    WHEN 'consolidation_state' THEN ARRAY[
        'raw', 'active', 'pending', 'consolidated', 'archived', 'forgotten'
    ]
    WHEN 'kind' THEN ARRAY[
        'identity', 'preference', 'location_preference', 'relationship',
        'relationship_preference', 'routine', 'commitment', 'project', 'episodic',
        'communication_style', 'staged_pattern'
    ]
    WHEN 'memory_status' THEN ARRAY['active', 'superseded', 'retracted']
    WHEN 'temporal_scope' THEN ARRAY['persistent', 'recent_history', 'scheduled']
    WHEN 'event_type' THEN ARRAY[
        'memory_write', 'memory_update', 'memory_read', 'memory_delete', 'memory_share',
        'memory_unshare', 'memory_expired', 'memory_redact', 'memory_quarantined',
        'memory_released', 'plan_write', 'plan_merged', 'plan_replay', 'plan_outcome',
        'plan_stale', 'plan_revalidated', 'plan_retired', 'plan_revived', 'plan_promoted',
        'plan_evicted', 'checkpoint'
    ]
    WHEN 'chain_reason' THEN ARRAY[
        'event_missing', 'event_extra', 'link_broken', 'event_changed', 'tail_missing',
        'head_changed', 'anchor_changed', 'head_unknown', 'record_missing',
        'record_without_event', 'record_after_deletion', 'hash_changed', 'content_changed',
        'column_changed', 'grant_without_event', 'grant_missing', 'grant_changed', 'note_changed'
    ]
    WHEN 'retention_status' THEN ARRAY['removed', 'broken']
    WHEN 'level' THEN ARRAY['application', 'tenant', 'admin']
    WHEN 'recall_strategy' THEN ARRAY['lexical', 'semantic', 'hybrid', 'exact', 'recent']
    WHEN 'vector_distance' THEN ARRAY['cosine', 'l2', 'inner_product']
    WHEN 'forget_strategy' THEN ARRAY['soft_delete', 'hard_delete', 'archive', 'redact']
    WHEN 'forget_status' THEN ARRAY['deleted', 'removed', 'archived', 'redacted']
    WHEN 'erased_kind' THEN ARRAY[
        'memories', 'plans', 'grants', 'notes', 'terms', 'signatures', 'idempotency_keys',
        'delegations'
    ]
    WHEN 'sweep_task' THEN ARRAY[
        'expired', 'evicted', 'purged', 'grants', 'delegations', 'idempotency_keys', 'terms',
        'outcomes', 'recall_log', 'chunks', 'events'
    ]
    WHEN 'delegation_status' THEN ARRAY['active', 'expired', 'revoked']
    WHEN 'delegation_direction' THEN ARRAY['given', 'received']
    WHEN 'touch_status' THEN ARRAY['touched', 'busy']
    WHEN 'guard' THEN ARRAY['strict', 'meaning', 'off']
    WHEN 'stale_mode' THEN ARRAY['refuse', 'include']
    WHEN 'recall_reason' THEN ARRAY[
        'exact', 'similar', 'semantic', 'none_similar', 'guarded', 'stale', 'retired', 'ambiguous',
        'disabled', 'blank_query'
    ]
    WHEN 'verdict' THEN ARRAY[
        'replayed', 'outranked', 'guarded', 'stale', 'retired', 'ambiguous', 'below_threshold',
        'none_similar', 'disabled', 'blank_query'
    ]
    WHEN 'guard_class' THEN ARRAY['meaning', 'values']
    WHEN 'plan_status' THEN ARRAY[
        'stored', 'below_threshold', 'quarantined', 'repeated', 'merged', 'failed'
    ]
    WHEN 'retire_status' THEN ARRAY['retired', 'revived', 'unchanged']
    WHEN 'promote_status' THEN ARRAY['promoted', 'unchanged']
    WHEN 'update_status' THEN ARRAY['updated', 'unchanged', 'quarantined']
    WHEN 'quarantine_status' THEN ARRAY['released', 'purged']
    WHEN 'rule_origin' THEN ARRAY['builtin', 'database', 'organisation']
    WHEN 'retrieval_intent' THEN ARRAY[
        'none', 'explicit_recall', 'personal_recommendation', 'prior_event_reference',
        'relationship_reference', 'comparison', 'ambient'
    ]
    WHEN 'retrieval_temporal' THEN ARRAY['prefer', 'filter']
    WHEN 'retrieval_verdict' THEN ARRAY[
        'returned', 'limit', 'per_predicate', 'budget', 'weak_evidence', 'superseded', 'retracted',
        'not_yet_valid', 'no_longer_valid', 'kind_filter', 'time_window'
    ]
    WHEN 'on_error' THEN ARRAY['abort', 'skip']
END;
COMMENT ON FUNCTION mnemo._labels(text) IS
    'The labels of a closed set, in their order; NULL for an unknown set. Permissions are ordered '
    'from least to most: each covers those before it.';

CREATE FUNCTION mnemo._is_label(
    p_set text,
    p_value text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_value = ANY (mnemo._labels(p_set)), false);
COMMENT ON FUNCTION mnemo._is_label(text, text) IS
    'Whether the value is a label of the closed set; false for NULL.';

CREATE FUNCTION mnemo._label_problem(
    p_parameter text,
    p_set text,
    p_value text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF mnemo._is_label(p_set, p_value) THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._argument(
        p_parameter,
        format('%s must be one of %s; got %s', p_parameter,
            array_to_string(mnemo._labels(p_set), ', '),
            coalesce(quote_literal(left(p_value, 100)), 'NULL')),
        'use one of the labels, in lower case'
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._label_problem(text, text, text) IS
    'The problem of a value that is not a label of the closed set; NULL when it is one.';

CREATE FUNCTION mnemo._check_label(
    p_parameter text,
    p_set text,
    p_value text
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise_problem(mnemo._label_problem(p_parameter, p_set, p_value));
COMMENT ON FUNCTION mnemo._check_label(text, text, text) IS
    'Raises 22023 unless the value is a label of the closed set.';

CREATE FUNCTION mnemo._is_live_state(
    p_state text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_state IN ('raw', 'active', 'pending', 'consolidated');
COMMENT ON FUNCTION mnemo._is_live_state(text) IS
    'Whether records in this consolidation state are live, unless something else speaks against it.';

CREATE FUNCTION mnemo._reserved_tag() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '__experience_plan__';
COMMENT ON FUNCTION mnemo._reserved_tag() IS 'The tag that only plans carry.';

CREATE FUNCTION mnemo._reserved_key() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'experience_plan';
COMMENT ON FUNCTION mnemo._reserved_key() IS 'The metadata key that only plans carry.';

CREATE FUNCTION mnemo._is_identifier(
    p_value text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(length(p_value) <= 256 AND p_value COLLATE "C" ~ '^[A-Za-z0-9_.:@/-]+$', false);
COMMENT ON FUNCTION mnemo._is_identifier(text) IS
    'Whether the value can name an agent or an organisation: 1 to 256 ASCII letters, digits and '
    '- _ . : @ /; false for NULL.';

CREATE FUNCTION mnemo._identifier_problem(
    p_parameter text,
    p_value text
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN NOT mnemo._is_identifier(p_value) THEN mnemo._argument(
    p_parameter,
    p_parameter || ' must be 1 to 256 ASCII letters, digits or - _ . : @ /; got '
        || coalesce(quote_literal(left(p_value, 100)), 'NULL'),
    CASE WHEN p_value = '*' THEN 'organisation * is reserved for records of scope global'
        ELSE 'names of agents and organisations are compared exactly' END
) END;
COMMENT ON FUNCTION mnemo._identifier_problem(text, text) IS
    'The problem of an ill-formed agent or organisation; NULL when it is well formed.';
