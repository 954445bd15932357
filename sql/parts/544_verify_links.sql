-- The verifier, piece by piece. Each returns the first thing that is wrong: the id of an event or a
-- record, a label, and what differs; NULLs when nothing is.

CREATE TYPE mnemo._finding AS (
    id uuid,
    reason text,
    detail text
);
COMMENT ON TYPE mnemo._finding IS
    'What a verifier found: the event or record, a label of what is wrong, and what differs, in '
    'ids, labels and numbers.';

CREATE FUNCTION mnemo._chain_links(
    p_org_id text,
    p_agent_id text,
    p_after bigint,
    p_after_hash bytea,
    p_until bigint,
    p_expected_head bytea,
    OUT events bigint,
    OUT last_seq bigint,
    OUT last_hash bytea,
    OUT expected_found boolean,
    OUT finding mnemo._finding
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_link record;
BEGIN
    events := 0;
    last_seq := p_after;
    last_hash := p_after_hash;
    expected_found := coalesce(p_after > 0 AND p_after_hash = p_expected_head, false);
    FOR v_link IN
        SELECT e.id, e.seq, e.prev_hash, e.hash,
               -- No function writes an event of an infinite time, or of deep JSON.
               CASE WHEN isfinite(e.happened_at) AND NOT e.changes @? '$.**{101}'
               THEN mnemo._event_body(e) END AS body
          FROM mnemo.event AS e
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id
           AND e.seq IS NOT NULL AND (p_until IS NULL OR e.seq <= p_until)
         ORDER BY e.seq, e.id
    LOOP
        IF v_link.seq <= last_seq THEN
            finding := ROW(v_link.id, 'event_extra', format('seq %s twice, or before the anchor',
                v_link.seq))::mnemo._finding;
        ELSIF v_link.seq > last_seq + 1 THEN
            finding := ROW(v_link.id, 'event_missing', format('seq %s follows on seq %s',
                v_link.seq, last_seq))::mnemo._finding;
        ELSIF v_link.prev_hash IS DISTINCT FROM last_hash THEN
            finding := ROW(v_link.id, 'link_broken', format('seq %s', v_link.seq))::mnemo._finding;
        ELSIF v_link.hash IS DISTINCT FROM
            mnemo._link_hash(v_link.prev_hash, v_link.seq, v_link.body)
        THEN
            finding := ROW(v_link.id, 'event_changed', format('seq %s', v_link.seq))
                ::mnemo._finding;
        END IF;
        EXIT WHEN finding.reason IS NOT NULL;
        events := events + 1;
        last_seq := v_link.seq;
        last_hash := v_link.hash;
        expected_found := expected_found OR coalesce(v_link.hash = p_expected_head, false);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._chain_links(text, text, bigint, bytea, bigint, bytea) IS
    'Recomputes the links of a chain behind an anchor, to a seq or to the end: how many hold, the '
    'last of them, whether the expected head is among them, and the first that is broken.';

CREATE FUNCTION mnemo._anchor_finding(
    p_org_id text,
    p_agent_id text,
    p_head mnemo.chain_head
)
RETURNS mnemo._finding
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_event mnemo.event;
    v_anchor text := CASE WHEN p_head.org_id IS NULL THEN '0' ELSE p_head.anchor_seq::text END;
BEGIN
    SELECT e.* INTO v_event
      FROM mnemo.event AS e
     WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id
       AND e.event_type = 'checkpoint' AND e.memory_id IS NULL
     ORDER BY e.seq DESC NULLS FIRST, e.id DESC
     LIMIT 1;
    IF v_anchor IS DISTINCT FROM coalesce(v_event.changes ->> 'anchor_seq', '0')
        OR encode(p_head.anchor_hash, 'hex') IS DISTINCT FROM v_event.changes ->> 'anchor_hash'
    THEN
        RETURN ROW(v_event.id, 'anchor_changed', format(
            'the chain begins behind seq %s, retention removed events up to seq %s',
            coalesce(p_head.anchor_seq, 0), coalesce(v_event.changes ->> 'anchor_seq', '0')
        ))::mnemo._finding;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._anchor_finding(text, text, mnemo.chain_head) IS
    'anchor_changed where the anchor is not the one that the last retention left in the chain.';

CREATE FUNCTION mnemo._note_finding(
    p_org_id text,
    p_agent_id text
)
RETURNS mnemo._finding
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- A note that is gone was erased: only what is there can be wrong.
    SELECT ROW(e.id, 'note_changed', NULL)::mnemo._finding
      FROM mnemo.event_note AS n
      JOIN mnemo.event AS e ON e.org_id = n.org_id AND e.id = n.event_id
     WHERE n.org_id = p_org_id AND e.agent_id = p_agent_id
       AND e.note_hash IS DISTINCT FROM mnemo._note_hash(n.salt, n.note)
     ORDER BY e.id
     LIMIT 1;
END;
COMMENT ON FUNCTION mnemo._note_finding(text, text) IS
    'note_changed: the first event whose note does not fit its hash.';
