CREATE FUNCTION mnemo._event_line(
    p_event mnemo.event
)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'seq', (p_event).seq,
    'id', (p_event).id,
    'org_id', (p_event).org_id,
    'agent_id', (p_event).agent_id,
    'event_type', (p_event).event_type,
    'memory_org_id', (p_event).memory_org_id,
    'memory_id', (p_event).memory_id,
    'actor_org_id', (p_event).actor_org_id,
    'actor_agent_id', (p_event).actor_agent_id,
    'happened_at', mnemo._micros((p_event).happened_at),
    'content_hash', encode((p_event).content_hash, 'hex'),
    'changes', (p_event).changes,
    'note_hash', encode((p_event).note_hash, 'hex'),
    'prev_hash', encode((p_event).prev_hash, 'hex'),
    'hash', encode((p_event).hash, 'hex')
)::text;
COMMENT ON FUNCTION mnemo._event_line(mnemo.event) IS
    'A sealed event as a line of JSON: bytes in hexadecimal, times in microseconds since 1970 UTC.';

CREATE FUNCTION mnemo._chain_line(
    p_head mnemo.chain_head
)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'format', 'mnemo_pg chain 1',
    'org_id', (p_head).org_id,
    'agent_id', (p_head).agent_id,
    'anchor_seq', (p_head).anchor_seq,
    'anchor_hash', encode((p_head).anchor_hash, 'hex'),
    'head_seq', (p_head).seq,
    'head', encode((p_head).hash, 'hex')
)::text;
COMMENT ON FUNCTION mnemo._chain_line(mnemo.chain_head) IS
    'The first line of an exported chain, as JSON.';

CREATE FUNCTION mnemo.export_chain(
    p_after_seq bigint DEFAULT NULL,
    p_limit bigint DEFAULT 1000,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (seq bigint, line text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 500
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    IF p_after_seq < 0 THEN
        PERFORM mnemo._raise_argument('p_after_seq',
            format('p_after_seq must not be below zero; got %s', p_after_seq),
            'pass the seq of the last line that you have');
    ELSIF (p_limit BETWEEN 1 AND 10000) IS NOT TRUE THEN
        PERFORM mnemo._raise_argument('p_limit',
            format('p_limit must be from 1 to 10000; got %s', coalesce(p_limit::text, 'NULL')),
            'call again with p_after_seq for more');
    END IF;
    IF p_after_seq IS NULL THEN
        RETURN QUERY
        SELECT h.anchor_seq, mnemo._chain_line(h)
          FROM mnemo.chain_head AS h
         WHERE h.org_id = v_caller.org_id AND h.agent_id = v_caller.agent_id;
    END IF;
    RETURN QUERY
    SELECT e.seq, mnemo._event_line(e)
      FROM mnemo.event AS e
     WHERE e.org_id = v_caller.org_id AND e.agent_id = v_caller.agent_id
       AND e.seq > coalesce(p_after_seq, 0)
     ORDER BY e.seq
     LIMIT p_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo.export_chain(bigint, bigint, text, text) IS
    'The sealed events of the acting agent''s chain as lines of JSON, for mnemo_pg.verify, which '
    'needs no database. p_after_seq NULL: a first line that names the chain, its anchor and its '
    'head, then the first p_limit (1 to 10,000) events; else the p_limit events after that seq. No '
    'rows: nothing more, or nothing sealed. Write the lines as they are: another writer of JSON '
    'could change digits. Errors: 42501 no access; 22023 bad argument.';
