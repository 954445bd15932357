CREATE FUNCTION mnemo._reason_problem(
    p_reason text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_reason IS NULL THEN
        RETURN mnemo._argument('p_reason', 'p_reason must not be NULL',
            'say what went wrong, for whoever is about to try the same');
    END IF;
    RETURN mnemo._texts_problem(ARRAY['p_reason'], ARRAY[p_reason], 10000);
END
$fn$;
COMMENT ON FUNCTION mnemo._reason_problem(text) IS
    'The problem of the reason of a failure: NULL, blank, over 10,000 characters; NULL for none.';

CREATE FUNCTION mnemo.remember_failure(
    p_query text,
    p_steps text[],
    p_reason text,
    p_agent_id text DEFAULT NULL,
    p_scope text DEFAULT 'private',
    p_org_id text DEFAULT NULL,
    p_chunk_ids text[] DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_ttl interval DEFAULT NULL,
    p_details jsonb DEFAULT NULL,
    p_thread_id text DEFAULT NULL,
    p_source_id text DEFAULT NULL,
    p_tags text[] DEFAULT NULL,
    p_idempotency_key text DEFAULT NULL,
    p_chunk_source text DEFAULT NULL,
    p_read_at timestamptz DEFAULT NULL
)
RETURNS TABLE (id uuid, signature text, stored boolean, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_input mnemo._plan_input;
BEGIN
    SELECT * INTO v_caller FROM mnemo._enter(p_agent_id, p_org_id);
    v_input := ROW(
        p_query, p_steps, coalesce(p_chunk_ids, '{}'), 0, v_caller.agent_id,
        coalesce(p_scope, 'private'), v_caller.org_id, p_details, p_context, p_ttl, p_thread_id, p_source_id, p_tags, NULL, NULL,
        p_idempotency_key, mnemo._overrides(v_caller.org_id), p_chunk_source, p_read_at, p_reason
    );
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._plan_problem(v_input, v_caller.level), mnemo._reason_problem(p_reason)
    ]));
    RETURN QUERY
    SELECT s.id, s.signature, s.stored, s.status
      FROM mnemo._store_plans(ARRAY[v_input], NULL, 'abort') AS s;
END
$fn$;
COMMENT ON FUNCTION mnemo.remember_failure(
    text, text[], text, text, text, text, text[], text, interval, jsonb, text, text, text[], text,
    text, timestamptz
) IS
    'Stores what not to do for p_query: steps that failed, and why (p_reason, up to 10,000 '
    'characters). It is matched as plans are, by signature, guard and context, comes with '
    'mnemo.recall_plan as a warning and from mnemo.recall_failures, and is never replayed, nor in '
    'mnemo.list_plans. The other arguments, and access, sharing and forgetting are as with '
    'mnemo.remember_plan; p_chunk_ids may be NULL, for none. The same steps again for the same '
    'question are one record, with the newer reason. Returns id, the signature joined by spaces, stored, and '
    'status stored, merged, repeated or quarantined. Errors: 42501 no access, or scope global by a '
    'tenant; 55000 experience memory is off; 22023 bad argument; 54000 over a limit; 40001 the key '
    'was used by a concurrent transaction.';
