CREATE VIEW mnemo._plan AS
SELECT m.id,
       m.org_id,
       m.origin_org_id,
       m.agent_id AS owner_agent_id,
       m.scope,
       m.metadata #>> '{experience_plan,query}' AS query,
       ARRAY(
           SELECT jsonb_array_elements_text(m.metadata #> '{experience_plan,signature_tokens}')
       ) AS signature_tokens,
       ARRAY(SELECT jsonb_array_elements_text(m.metadata #> '{experience_plan,steps}')) AS steps,
       nullif(m.metadata #> '{experience_plan,details}', 'null') AS details,
       ARRAY(
           SELECT jsonb_array_elements_text(m.metadata #> '{experience_plan,chunk_ids}')
       ) AS chunk_ids,
       (m.metadata #>> '{experience_plan,outcome_score}')::double precision AS outcome_score,
       m.metadata #>> '{experience_plan,context}' AS context,
       array_remove(m.tags, '__experience_plan__') AS tags,
       m.thread_id,
       m.source_id,
       m.consolidation_state,
       m.version,
       m.created_at,
       m.updated_at,
       m.expires_at,
       jsonb_array_length(m.metadata #> '{experience_plan,signature_tokens}')::bigint
           AS signature_size,
       m.quarantined,
       m.deleted_at,
       m.content_hash,
       m.metadata #>> '{experience_plan,reason}' AS reason
  FROM mnemo.memory AS m
 WHERE m.tags @> ARRAY['__experience_plan__'];
COMMENT ON VIEW mnemo._plan IS
    'The plans as typed columns, for the functions; mnemo.plan says what they mean.';
COMMENT ON COLUMN mnemo._plan.id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.org_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.origin_org_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.owner_agent_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.scope IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.query IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.signature_tokens IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.steps IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.details IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.chunk_ids IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.outcome_score IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.context IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.tags IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.thread_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.source_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.consolidation_state IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.version IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.created_at IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.updated_at IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.expires_at IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.signature_size IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.quarantined IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.deleted_at IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.content_hash IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.reason IS 'As in mnemo.plan.';

CREATE FUNCTION mnemo._plan_of(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo._plan
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
-- A look-up by key also in a session that made its plan while the table was empty. What is switched
-- off counts as dear before PostgreSQL 18, so compilation must be off too.
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY SELECT p.* FROM mnemo._plan AS p WHERE p.org_id = p_org_id AND p.id = p_id;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_of(text, uuid) IS
    'The plan with this key as typed columns; no row for a memory or an unknown id.';

CREATE TYPE mnemo._plan_answer AS (
    id uuid,
    query text,
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    owner_agent_id text,
    scope text,
    created_at timestamptz
);
COMMENT ON TYPE mnemo._plan_answer IS 'What a recall shows of a plan.';

CREATE FUNCTION mnemo._answer(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo._plan_answer
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT m.id, m.content, p.steps, nullif(p.details, 'null'), p.chunk_ids, p.outcome_score,
           m.agent_id, m.scope, m.created_at
      FROM (
        SELECT k.*
          FROM mnemo.memory AS k
         WHERE k.org_id = p_org_id AND k.id = p_id
        OFFSET 0
      ) AS m
      CROSS JOIN LATERAL jsonb_to_record(m.metadata -> 'experience_plan') AS p(
        steps text[], details jsonb, chunk_ids text[], outcome_score double precision);
END;
COMMENT ON FUNCTION mnemo._answer(text, uuid) IS
    'What a recall shows of the plan with this key; no row for an unknown id.';

CREATE FUNCTION mnemo._answer_of(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo._plan_answer
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
-- As in _plan_of.
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY SELECT a.* FROM mnemo._answer(p_org_id, p_id) AS a;
END
$fn$;
COMMENT ON FUNCTION mnemo._answer_of(text, uuid) IS
    'As _answer, a look-up by key whatever the planner knows of the table.';
