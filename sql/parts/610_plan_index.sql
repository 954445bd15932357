CREATE FUNCTION mnemo._audiences(
    p_org_id text,
    p_agent_id text,
    p_context text
)
RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    mnemo._audience('owner', p_org_id, p_agent_id, p_context),
    mnemo._audience('public', p_org_id, NULL, p_context),
    mnemo._audience('grantee', p_org_id, p_agent_id, p_context),
    mnemo._audience('global', NULL, NULL, p_context)
];
COMMENT ON FUNCTION mnemo._audiences(text, text, text) IS
    'The audiences that an agent belongs to: three within its organisation, and global.';

CREATE FUNCTION mnemo._plan_audience(
    p_record mnemo.memory,
    p_context text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE (p_record).scope
    WHEN 'global' THEN mnemo._audience('global', NULL, NULL, p_context)
    WHEN 'public' THEN mnemo._audience('public', (p_record).org_id, NULL, p_context)
    ELSE mnemo._audience('owner', (p_record).org_id, (p_record).agent_id, p_context)
END;
COMMENT ON FUNCTION mnemo._plan_audience(mnemo.memory, text) IS
    'The audience that the scope of a plan gives it; grants add others.';

CREATE FUNCTION mnemo._payload(
    p_record mnemo.memory
)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_record).metadata -> 'experience_plan';
COMMENT ON FUNCTION mnemo._payload(mnemo.memory) IS 'The payload of a plan; NULL for a memory.';

CREATE FUNCTION mnemo._is_failure(
    p_record mnemo.memory
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_record).metadata -> 'experience_plan' ? 'reason';
COMMENT ON FUNCTION mnemo._is_failure(mnemo.memory) IS
    'Whether a record says what not to do: its payload gives the reason; NULL for a memory.';

CREATE FUNCTION mnemo._match_context(
    p_record mnemo.memory
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN mnemo._is_failure(p_record)
    THEN mnemo._failure_context(mnemo._payload(p_record) ->> 'context')
    ELSE mnemo._payload(p_record) ->> 'context' END;
COMMENT ON FUNCTION mnemo._match_context(mnemo.memory) IS
    'The context in which a plan or failure is matched.';

CREATE FUNCTION mnemo._text_list(
    p_value jsonb
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(SELECT jsonb_array_elements_text(p_value));
END
$fn$;
COMMENT ON FUNCTION mnemo._text_list(jsonb) IS 'A JSON array of strings as an array of text.';

CREATE FUNCTION mnemo._plan_drafts(
    p_records mnemo.memory[]
)
RETURNS TABLE (number bigint, record mnemo.memory, "row" mnemo.plan_signature)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT p.number, p.record, ROW(
               (p.record).org_id, (p.record).id, p.audience, p.context, p.signature,
               cardinality(p.signature), mnemo._digest(p.signature),
               mnemo._sketch(h.hashes, mnemo._sketch_bits(cardinality(p.signature))),
               mnemo._plan_keys(h.hashes, p.audience)
               || CASE WHEN g.meaning # g.vals <> 0
                  THEN mnemo._plan_keys(h.hashes, p.audience # g.meaning # g.vals) ELSE '{}' END,
               g.meaning, g.vals, g.names, (p.record).importance, (p.record).created_at,
               (p.record).expires_at, NULL, mnemo._signature_version(), mnemo._guard_version(),
               mnemo._wilson(mnemo._observation((p.record).importance), 1),
               mnemo._endurance((p.record).status, 0, 1, 0, 0)
           )::mnemo.plan_signature
      FROM (
        SELECT r.number, r.record, mnemo._match_context(r.record) AS context,
               mnemo._plan_audience(r.record, mnemo._match_context(r.record)) AS audience,
               mnemo._text_list(mnemo._payload(r.record) -> 'signature_tokens') AS signature
          FROM (
            SELECT row_number() OVER () AS number, u AS record FROM unnest(p_records) AS u OFFSET 0
          ) AS r
         WHERE mnemo._is_live(r.record, now())
        OFFSET 0
      ) AS p
      CROSS JOIN LATERAL (SELECT mnemo._ordered_hashes(p.signature) AS hashes OFFSET 0) AS h
      CROSS JOIN LATERAL mnemo._guard((p.record).content) AS g;
END;
COMMENT ON FUNCTION mnemo._plan_drafts(mnemo.memory[]) IS
    'The live ones among plans, by their number in the array, and the row of plan_signature that '
    'each is to have for its own audience.';

CREATE FUNCTION mnemo._index_new_plans(
    p_records mnemo.memory[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    INSERT INTO mnemo.plan_signature SELECT (d.row).* FROM (
        SELECT p.row FROM mnemo._plan_drafts(p_records) AS p OFFSET 0
    ) AS d;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_new_plans(mnemo.memory[]) IS
    'Derives the plan_signature rows of plans that have just been written and have neither grants '
    'nor reports.';

CREATE FUNCTION mnemo._index_plan(
    p_org_id text,
    p_plan_id uuid
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_own mnemo.plan_signature;
    v_origin_scope text;
BEGIN
    SELECT s.* INTO v_own
      FROM mnemo.plan_signature AS s
     WHERE s.org_id = p_org_id AND s.plan_id = p_plan_id AND s.grantee_agent_id IS NULL;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT m.scope INTO v_origin_scope
      FROM mnemo.memory AS m WHERE m.org_id = p_org_id AND m.id = p_plan_id;
    DELETE FROM mnemo.plan_signature AS s
     WHERE s.org_id = p_org_id AND s.plan_id = p_plan_id
       AND s.grantee_agent_id IS NOT NULL
       AND NOT EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = p_plan_id
               AND a.agent_id = s.grantee_agent_id
               AND least(a.expires_at, v_own.expires_at) IS NOT DISTINCT FROM s.expires_at
        );
    -- Whoever sees a public plan anyway needs no row of its own.
    INSERT INTO mnemo.plan_signature AS s
    SELECT v_own.org_id, v_own.plan_id, g.audience, v_own.context, v_own.signature, v_own.size,
           v_own.digest, v_own.sketch,
           ARRAY(SELECT k.key # v_own.audience # g.audience FROM unnest(v_own.keys) AS k(key)),
           v_own.guard_meaning, v_own.guard_values, v_own.guard_names, v_own.outcome_score,
           v_own.created_at, g.expires_at, g.agent_id, v_own.signature_version,
           v_own.guard_version, v_own.standing, v_own.endurance
      FROM (
        SELECT a.agent_id, least(a.expires_at, v_own.expires_at) AS expires_at,
               mnemo._audience('grantee', a.org_id, a.agent_id, v_own.context) AS audience
          FROM mnemo.acl AS a
         WHERE a.org_id = p_org_id AND a.memory_id = p_plan_id
      ) AS g
     WHERE v_origin_scope = 'shared'
    ON CONFLICT ON CONSTRAINT plan_signature_pkey DO NOTHING;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_plan(text, uuid) IS
    'Brings the plan_signature rows of a plan in step with its grants; does nothing for a record '
    'that is no live plan.';

CREATE FUNCTION mnemo._reindex_plan(
    p_record mnemo.memory
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_old uuid := (
        SELECT mnemo._identity_of(p_record, s)
          FROM mnemo.plan_signature AS s
         WHERE s.org_id = p_record.org_id AND s.plan_id = p_record.id
           AND s.grantee_agent_id IS NULL);
    v_new uuid := (
        SELECT mnemo._identity_of(p_record, d.row)
          FROM mnemo._plan_drafts(ARRAY[p_record]) AS d);
BEGIN
    IF v_old <> v_new OR v_new IS NULL THEN
        PERFORM mnemo._leave_identities(p_record.org_id, ARRAY[p_record.id]);
    END IF;
    DELETE FROM mnemo.plan_signature AS s
     WHERE s.org_id = p_record.org_id AND s.plan_id = p_record.id;
    PERFORM mnemo._index_new_plans(ARRAY[p_record]);
    PERFORM mnemo._index_plan(p_record.org_id, p_record.id);
    PERFORM mnemo._settle_plan(p_record.org_id, p_record.id);
    IF v_old IS DISTINCT FROM v_new THEN
        PERFORM mnemo._join_identities(ARRAY[p_record]);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._reindex_plan(mnemo.memory) IS
    'Derives the plan_signature rows of a plan anew, those of its grants too, and what makes it the '
    'same plan; removes them when it is not live.';
