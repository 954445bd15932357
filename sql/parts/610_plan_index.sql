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

CREATE FUNCTION mnemo._index_new_plans(
    p_records mnemo.memory[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    INSERT INTO mnemo.plan_signature (
        org_id, plan_id, audience, context, signature, size, digest, sketch, keys, guard_meaning,
        guard_values, guard_names, outcome_score, created_at, expires_at, signature_version,
        guard_version
    )
    SELECT p.org_id, p.id, p.audience, p.context, p.signature, cardinality(p.signature),
           mnemo._digest(p.signature),
           mnemo._sketch(h.hashes, mnemo._sketch_bits(cardinality(p.signature))),
           mnemo._plan_keys(h.hashes, p.audience)
           || CASE WHEN g.meaning # g.vals <> 0
              THEN mnemo._plan_keys(h.hashes, p.audience # g.meaning # g.vals) ELSE '{}' END,
           g.meaning, g.vals, g.names, p.outcome_score, p.created_at, p.expires_at,
           mnemo._signature_version(), mnemo._guard_version()
      FROM (
        SELECT r.org_id, r.id, r.content, r.created_at, r.expires_at, r.importance AS outcome_score,
               mnemo._payload(r) ->> 'context' AS context,
               mnemo._plan_audience(r, mnemo._payload(r) ->> 'context') AS audience,
               mnemo._text_list(mnemo._payload(r) -> 'signature_tokens') AS signature
          FROM unnest(p_records) AS r
         WHERE mnemo._is_live(r, now())
        OFFSET 0
      ) AS p
      CROSS JOIN LATERAL (SELECT mnemo._ordered_hashes(p.signature) AS hashes OFFSET 0) AS h
      CROSS JOIN LATERAL mnemo._guard(p.content) AS g;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_new_plans(mnemo.memory[]) IS
    'Derives the plan_signature rows of plans that have just been written and have no grants.';

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
           v_own.guard_version
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
BEGIN
    DELETE FROM mnemo.plan_signature AS s
     WHERE s.org_id = p_record.org_id AND s.plan_id = p_record.id;
    PERFORM mnemo._index_new_plans(ARRAY[p_record]);
    PERFORM mnemo._index_plan(p_record.org_id, p_record.id);
END
$fn$;
COMMENT ON FUNCTION mnemo._reindex_plan(mnemo.memory) IS
    'Derives the plan_signature rows of a plan anew, those of its grants too; removes them when it '
    'is not live.';
