CREATE FUNCTION mnemo._forget_tag_delegations(
    p_org_id text,
    p_agent_id text,
    p_actor_agent_id text,
    p_subject text,
    OUT delegations bigint,
    OUT notes bigint
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_head mnemo.delegation;
BEGIN
    delegations := 0;
    FOR v_head IN
        DELETE FROM mnemo.delegation AS d
         WHERE d.org_id = p_org_id AND d.head_id IS NULL AND d.tag IS NOT NULL
           AND (p_agent_id IS NULL OR d.from_agent_id = p_agent_id)
           AND mnemo._names_subject(NULL, '{}', ARRAY[d.tag], p_subject)
        RETURNING d.*
    LOOP
        delegations := delegations + 1;
        PERFORM mnemo._delegation_event(v_head, 'memory_unshare', p_actor_agent_id, '{}');
    END LOOP;
    -- The event of a delegation has the tag as its note.
    DELETE FROM mnemo.event_note AS n
     USING mnemo.event AS e
     WHERE e.memory_org_id = p_org_id AND e.memory_id IS NULL AND e.org_id = p_org_id
       AND (p_agent_id IS NULL OR e.agent_id = p_agent_id)
       AND n.org_id = e.org_id AND n.event_id = e.id
       AND mnemo._names_subject(NULL, '{}', ARRAY[n.note], p_subject);
    GET DIAGNOSTICS notes = ROW_COUNT;
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_tag_delegations(text, text, text, text) IS
    'Removes the delegations of the tag subject:name, given by the agent or (NULL) by anybody of '
    'the organisation, with what was passed on from them, and the notes that name the tag; writes '
    'an event for each.';

CREATE FUNCTION mnemo.forget_subject(
    p_subject text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (rank bigint, kind text, erased bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_subject text := mnemo._data_subject(p_subject);
    v_whole boolean;
    v_counts mnemo._forget_counts;
    v_tags record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN p_subject IS NULL OR mnemo._is_blank(p_subject) THEN
            mnemo._argument('p_subject', 'p_subject must not be NULL or blank',
                'pass the name that subject, entities or a tag subject:name hold')
        END,
        mnemo._length_problem('p_subject', p_subject, 256)
    ]));
    -- Who may name any agent may erase for all of them; a tenant is one agent.
    v_whole := v_caller.level <> 'tenant';
    v_counts := mnemo._forget_keys(
        mnemo._lock_matching(v_caller.level, v_caller.org_id, v_caller.agent_id,
            ROW(NULL, NULL, NULL, NULL, NULL, NULL, v_subject)::mnemo._forget_criteria,
            'redact', v_whole, NULL),
        'redact', v_caller.org_id, v_caller.agent_id);
    SELECT * INTO v_tags
      FROM mnemo._forget_tag_delegations(v_caller.org_id,
          CASE WHEN v_whole THEN NULL ELSE v_caller.agent_id END, v_caller.agent_id, v_subject);
    RETURN QUERY
    SELECT e.rank, e.kind, e.erased
      FROM (VALUES
        (1::bigint, 'memories', v_counts.memories), (2, 'plans', v_counts.plans),
        (3, 'grants', v_counts.grants), (4, 'notes', v_counts.notes + v_tags.notes),
        (5, 'terms', v_counts.terms), (6, 'signatures', v_counts.signatures),
        (7, 'idempotency_keys', v_counts.idempotency_keys), (8, 'delegations', v_tags.delegations)
      ) AS e(rank, kind, erased)
     ORDER BY e.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo.forget_subject(text, text, text) IS
    'Redacts, as mnemo.forget does, every memory and plan that names a data subject: whose subject '
    'is the name, or one of its entities, or that has the tag subject:name, case and spaces aside; '
    'in any state, with the versions that they replaced. Called by a role of level application or '
    'admin: all that the organisation wrote, whoever owns it, global records too; by a tenant: '
    'what the acting agent may delete. Removes delegations of that tag as well. Returns how many '
    'rows went, one row a kind: memories, plans (both redacted, not removed), grants, notes, terms '
    '(records taken out of the term index), signatures, idempotency_keys, delegations. Texts that '
    'name nobody in these fields are not found. Errors: 42501 no access; 22023 NULL or blank; '
    '54000 over 256 characters.';
