CREATE FUNCTION mnemo._folded(
    p_changes jsonb[]
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_state jsonb := '{"quarantine_reason": null, "deleted_at": null, "redacted_at": null, '
        '"remains": null}';
    v_changes jsonb;
BEGIN
    FOREACH v_changes IN ARRAY p_changes LOOP
        v_state := v_state || v_changes;
    END LOOP;
    RETURN v_state;
END
$fn$;
COMMENT ON FUNCTION mnemo._folded(jsonb[]) IS
    'What events say about a record, one after the other, each column as it was set last.';

CREATE FUNCTION mnemo._is_base_event(
    p_event mnemo.event
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_event).event_type IN ('memory_write', 'plan_write', 'checkpoint')
    AND (p_event).memory_id IS NOT NULL;
COMMENT ON FUNCTION mnemo._is_base_event(mnemo.event) IS
    'Whether the event carries the whole state of a record: it was written, or carried over.';

CREATE FUNCTION mnemo._event_states(
    p_org_id text,
    p_agent_id text
)
RETURNS TABLE (
    memory_org_id text,
    memory_id uuid,
    is_written boolean,
    is_deleted boolean,
    content_hash bytea,
    state jsonb
)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.memory_org_id, e.memory_id,
           bool_or(mnemo._is_base_event(e)),
           -- The last of writing and hard deletion decides.
           coalesce((array_agg(
               e.changes @> '{"hard": true}' ORDER BY e.seq DESC NULLS FIRST, e.id DESC)
               FILTER (WHERE mnemo._is_base_event(e) OR e.changes @> '{"hard": true}'))[1], false),
           (array_agg(e.content_hash ORDER BY e.seq DESC NULLS FIRST, e.id DESC)
               FILTER (WHERE e.content_hash IS NOT NULL))[1],
           mnemo._folded(coalesce(array_agg(
               -- There it is the end of the grant.
               CASE e.event_type WHEN 'memory_share' THEN e.changes - 'expires_at'
               ELSE e.changes END
               ORDER BY e.seq, e.id) FILTER (WHERE e.changes <> '{}'), '{}'))
      FROM mnemo.event AS e
     WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.memory_id IS NOT NULL
     GROUP BY e.memory_org_id, e.memory_id;
END;
COMMENT ON FUNCTION mnemo._event_states(text, text) IS
    'What the events of a chain, sealed or not, say about each record: whether they begin with its '
    'writing, whether it was deleted for good, its hash, and its columns.';

CREATE FUNCTION mnemo._owned(
    p_org_id text,
    p_agent_id text
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- One branch an index.
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
       AND m.agent_id = p_agent_id AND m.deleted_at IS NULL
       AND NOT m.tags @> ARRAY['__experience_plan__']
    UNION ALL
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
       AND m.agent_id = p_agent_id AND m.deleted_at IS NULL
       AND m.tags @> ARRAY['__experience_plan__']
    UNION ALL
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
       AND m.agent_id = p_agent_id AND m.deleted_at IS NOT NULL;
END;
COMMENT ON FUNCTION mnemo._owned(text, text) IS
    'All records of an owner, deleted and redacted ones too.';

CREATE FUNCTION mnemo._differing(
    p_state jsonb,
    p_folded jsonb
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT string_agg(s.key, ', ' ORDER BY s.key)
      FROM jsonb_each(p_state) AS s
     WHERE p_folded -> s.key IS DISTINCT FROM s.value;
END;
COMMENT ON FUNCTION mnemo._differing(jsonb, jsonb) IS
    'The names of the columns whose value the events do not say.';

CREATE FUNCTION mnemo._is_hashable(
    p_record mnemo.memory
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Somebody may have taken the constraints away: the verifier must answer all the same.
RETURN coalesce(
    cardinality((p_record).tags) + cardinality((p_record).entities)
        + cardinality((p_record).aliases) >= 0
    AND isfinite((p_record).valid_from) AND (p_record).valid_from < '10000-01-01 00:00:00+00'
    AND isfinite((p_record).created_at) AND (p_record).created_at < '10000-01-01 00:00:00+00'
    AND NOT (p_record).metadata @? '$.**{101}',
    false
);
COMMENT ON FUNCTION mnemo._is_hashable(mnemo.memory) IS
    'Whether the record can be hashed at all, as every one that a function wrote.';

CREATE FUNCTION mnemo._record_finding(
    p_record mnemo.memory,
    p_is_written boolean,
    p_is_deleted boolean,
    p_content_hash bytea,
    p_state jsonb
)
RETURNS mnemo._finding
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_reason text;
    v_detail text;
BEGIN
    IF p_is_written IS NOT TRUE THEN
        v_reason := 'record_without_event';
    ELSIF p_is_deleted THEN
        v_reason := 'record_after_deletion';
    ELSIF p_record.content_hash IS DISTINCT FROM p_content_hash THEN
        v_reason := 'hash_changed';
    ELSIF NOT mnemo._is_hashable(p_record) OR p_record.redacted_at IS NULL
        AND p_record.content_hash IS DISTINCT FROM mnemo._content_hash(p_record)
    THEN
        v_reason := 'content_changed';
    ELSIF NOT p_state @> mnemo._bound_state(p_record) THEN
        v_reason := 'column_changed';
        v_detail := mnemo._differing(mnemo._bound_state(p_record), p_state);
    END IF;
    IF v_reason IS NOT NULL THEN
        RETURN ROW(p_record.id, v_reason, v_detail)::mnemo._finding;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._record_finding(mnemo.memory, boolean, boolean, bytea, jsonb) IS
    'What is wrong with a record by what its events say, as _event_states gives it; NULL for '
    'nothing.';

CREATE FUNCTION mnemo._records_check(
    p_org_id text,
    p_agent_id text,
    OUT records bigint,
    OUT finding mnemo._finding
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_row record;
BEGIN
    records := 0;
    FOR v_row IN
        SELECT m AS record, m.id AS record_id, s.memory_id, s.is_written, s.is_deleted,
               s.content_hash, s.state
          FROM mnemo._owned(p_org_id, p_agent_id) AS m
          FULL JOIN mnemo._event_states(p_org_id, p_agent_id) AS s
            ON s.memory_org_id = m.org_id AND s.memory_id = m.id
         ORDER BY coalesce(m.id, s.memory_id)
    LOOP
        IF v_row.record_id IS NOT NULL THEN
            records := records + 1;
            finding := mnemo._record_finding(v_row.record, v_row.is_written, v_row.is_deleted,
                v_row.content_hash, v_row.state);
        ELSIF NOT v_row.is_deleted THEN
            finding := ROW(v_row.memory_id, 'record_missing', NULL)::mnemo._finding;
        END IF;
        EXIT WHEN finding.reason IS NOT NULL;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._records_check(text, text) IS
    'Compares the records of an owner with the events of the chain: how many hold, and the first '
    'that does not.';
