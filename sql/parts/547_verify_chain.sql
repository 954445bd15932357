CREATE FUNCTION mnemo._head_finding(
    p_head mnemo.chain_head,
    p_last_seq bigint,
    p_last_hash bytea
)
RETURNS mnemo._finding
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF coalesce(p_head.seq, 0) > p_last_seq THEN
        RETURN ROW(NULL, 'tail_missing', format('the head is seq %s, the last event is seq %s',
            p_head.seq, p_last_seq))::mnemo._finding;
    ELSIF coalesce(p_head.seq, 0) < p_last_seq
        OR coalesce(p_head.hash, mnemo._first_prev_hash()) IS DISTINCT FROM p_last_hash
    THEN
        RETURN ROW(NULL, 'head_changed', format('the head is seq %s, the last event is seq %s',
            coalesce(p_head.seq, 0), p_last_seq))::mnemo._finding;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._head_finding(mnemo.chain_head, bigint, bytea) IS
    'tail_missing or head_changed where the head of a chain is not its last event.';

CREATE FUNCTION mnemo._verify(
    p_org_id text,
    p_agent_id text,
    p_expected_head bytea,
    p_now timestamptz,
    OUT events bigint,
    OUT records bigint,
    OUT head mnemo.chain_head,
    OUT finding mnemo._finding
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_links record;
    v_check record;
BEGIN
    SELECT h.* INTO head
      FROM mnemo.chain_head AS h
     WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id;
    SELECT * INTO v_links
      FROM mnemo._chain_links(p_org_id, p_agent_id, coalesce(head.anchor_seq, 0),
          coalesce(head.anchor_hash, mnemo._first_prev_hash()), NULL, p_expected_head);
    events := v_links.events;
    records := 0;
    finding := v_links.finding;
    IF finding.reason IS NULL THEN
        finding := mnemo._head_finding(head, v_links.last_seq, v_links.last_hash);
    END IF;
    IF finding.reason IS NULL THEN
        finding := mnemo._anchor_finding(p_org_id, p_agent_id, head);
    END IF;
    IF finding.reason IS NULL AND p_expected_head IS NOT NULL AND NOT v_links.expected_found THEN
        finding := ROW(NULL, 'head_unknown', format(
            'no event from seq %s on has this hash', coalesce(head.anchor_seq, 1)
        ))::mnemo._finding;
    END IF;
    IF finding.reason IS NULL THEN
        SELECT * INTO v_check FROM mnemo._records_check(p_org_id, p_agent_id);
        records := v_check.records;
        finding := v_check.finding;
    END IF;
    IF finding.reason IS NULL THEN
        finding := mnemo._grants_finding(p_org_id, p_agent_id, p_now);
    END IF;
    IF finding.reason IS NULL THEN
        finding := mnemo._note_finding(p_org_id, p_agent_id);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._verify(text, text, bytea, timestamptz) IS
    'Verifies a chain and the records of its owner: links, head, anchor, expected head, records, '
    'grants, notes, to the first thing that is wrong.';

CREATE FUNCTION mnemo.verify_chain(
    p_expected_head bytea DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    ok boolean,
    checked bigint,
    unsealed bigint,
    first_bad_id uuid,
    reason text,
    head bytea,
    detail text,
    head_seq bigint,
    anchor_seq bigint,
    records bigint
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_answer record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    IF octet_length(p_expected_head) <> 32 THEN
        PERFORM mnemo._raise_argument('p_expected_head',
            format('p_expected_head must have 32 bytes; got %s', octet_length(p_expected_head)),
            'pass a head that mnemo.verify_chain returned before, or leave it out');
    END IF;
    SELECT * INTO v_answer
      FROM mnemo._verify(v_caller.org_id, v_caller.agent_id, p_expected_head,
          statement_timestamp());
    RETURN QUERY
    SELECT (v_answer.finding).reason IS NULL, v_answer.events, (
               SELECT count(*)
                 FROM mnemo.event AS e
                WHERE e.org_id = v_caller.org_id AND e.agent_id = v_caller.agent_id
                  AND e.seq IS NULL
           ), (v_answer.finding).id, (v_answer.finding).reason, (v_answer.head).hash,
           (v_answer.finding).detail, coalesce((v_answer.head).seq, 0),
           coalesce((v_answer.head).anchor_seq, 0), v_answer.records;
END
$fn$;
COMMENT ON FUNCTION mnemo.verify_chain(bytea, text, text) IS
    'Verifies the chain of events of the acting agent and every record that it owns, and returns '
    'one row: ok; checked, the sealed events that hold; unsealed, events that no chain protects '
    'yet; the first event or record that is wrong, with a label in reason (docs/audit.md) and what '
    'differs in detail; head, the hash of the last sealed event, to keep outside (NULL before the '
    'first sealing); head_seq and anchor_seq, its place and that of the last event that retention '
    'removed, 0 for none; records, how many hold. p_expected_head: a head kept outside, 32 bytes, '
    'that must be in the chain; NULL for none. Reads everything of the agent. Errors: 42501 no '
    'access; 22023 bad p_expected_head.';
