CREATE FUNCTION mnemo._retain_chain(
    p_org_id text,
    p_agent_id text,
    p_before timestamptz,
    p_limit bigint,
    OUT removed bigint,
    OUT carried bigint,
    OUT until bigint,
    OUT until_hash bytea,
    OUT finding mnemo._finding
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_head mnemo.chain_head := mnemo._lock_chain(p_org_id, p_agent_id);
    v_links record;
    v_end bigint;
BEGIN
    removed := 0;
    carried := 0;
    until := v_head.anchor_seq;
    until_hash := v_head.anchor_hash;
    IF v_head.org_id IS NULL THEN
        RETURN;
    END IF;
    -- What is not as the chain says must not become the truth by being carried over.
    finding := mnemo._anchor_finding(p_org_id, p_agent_id, v_head);
    v_end := mnemo._retention_end(p_org_id, p_agent_id, p_before, p_limit);
    IF finding.reason IS NOT NULL OR v_end IS NULL THEN
        RETURN;
    END IF;
    v_end := mnemo._lock_carried(p_org_id, p_agent_id, v_end);
    SELECT * INTO v_links
      FROM mnemo._chain_links(p_org_id, p_agent_id, v_head.anchor_seq,
          coalesce(v_head.anchor_hash, mnemo._first_prev_hash()), v_end, NULL);
    finding := v_links.finding;
    IF finding.reason IS NULL THEN
        finding := mnemo._states_finding(p_org_id, p_agent_id, v_end);
    END IF;
    IF finding.reason IS NOT NULL OR v_links.events = 0 THEN
        RETURN;
    END IF;
    until := v_links.last_seq;
    until_hash := v_links.last_hash;
    carried := mnemo._carry_over(p_org_id, p_agent_id, until);
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes
    )
    VALUES (
        p_org_id, mnemo._new_id(), p_agent_id, 'checkpoint', p_org_id, NULL, p_org_id, p_agent_id,
        now(), NULL, jsonb_build_object('checkpoint', true, 'anchor_seq', until,
            'anchor_hash', encode(until_hash, 'hex'), 'before', mnemo._micros(p_before))
    );
    DELETE FROM mnemo.event AS e
     WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq <= until;
    GET DIAGNOSTICS removed = ROW_COUNT;
    UPDATE mnemo.chain_head AS h
       SET anchor_seq = until, anchor_hash = until_hash
     WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id;
    PERFORM mnemo._seal_chain(p_org_id, p_agent_id, NULL);
END
$fn$;
COMMENT ON FUNCTION mnemo._retain_chain(text, text, timestamptz, bigint) IS
    'Removes old events of one chain: how many, how many records were carried over, the new '
    'anchor; or what is wrong with the chain, and then nothing is removed. Skips a chain that '
    'another session has.';

CREATE FUNCTION mnemo.retain_events(
    p_before timestamptz,
    p_limit bigint DEFAULT 10000,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    org_id text,
    agent_id text,
    status text,
    removed bigint,
    carried bigint,
    anchor_seq bigint,
    anchor_hash bytea,
    first_bad_id uuid,
    reason text
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_chain record;
    v_done record;
    v_rest bigint := p_limit;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN (p_before <= now()) IS NOT TRUE THEN mnemo._argument('p_before',
            'p_before must be a time that has passed; got ' || coalesce(p_before::text, 'NULL'),
            'events that happened before it are removed')
        END,
        mnemo._most_problem(p_limit),
        CASE WHEN NOT mnemo._is_identifier(coalesce(p_org_id, 'default')) THEN
            mnemo._identifier_problem('p_org_id', p_org_id) END
    ]));
    PERFORM mnemo._require_fresh_snapshots();
    FOR v_chain IN
        SELECT h.org_id, h.agent_id
          FROM mnemo.chain_head AS h
         WHERE (p_org_id IS NULL OR h.org_id = p_org_id) AND h.seq > h.anchor_seq
         ORDER BY h.org_id, h.agent_id
    LOOP
        EXIT WHEN v_rest <= 0;
        SELECT * INTO v_done
          FROM mnemo._retain_chain(v_chain.org_id, v_chain.agent_id, p_before, v_rest);
        CONTINUE WHEN v_done.removed = 0 AND (v_done.finding).reason IS NULL;
        v_rest := v_rest - v_done.removed;
        RETURN QUERY
        SELECT v_chain.org_id, v_chain.agent_id,
               CASE WHEN (v_done.finding).reason IS NULL THEN 'removed' ELSE 'broken' END,
               v_done.removed, v_done.carried, v_done.until, v_done.until_hash,
               (v_done.finding).id, (v_done.finding).reason;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo.retain_events(timestamptz, bigint, text) IS
    'Removes sealed events that happened before p_before, of one organisation or (NULL) of all, at '
    'most p_limit (1 to 1,000,000) in a call: call it until it returns no row of status removed. '
    'Each chain keeps an anchor, the place and hash of the last event removed, and what the '
    'removed events said about records that are still there is carried over into new events '
    '(carried), so that verify_chain works on. Returns a row for each chain that lost events '
    '(removed), or that does not verify and so is left alone (broken, with first_bad_id and reason '
    'as verify_chain). Never waits: chains and records in use are left for the next call. Level '
    'admin only. Errors: 42501 not an administrator; 22023 bad argument; 55000 not in READ '
    'COMMITTED.';
