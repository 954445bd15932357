CREATE FUNCTION mnemo._failure_call(
    p_call mnemo._recall_input
)
RETURNS mnemo._recall_input
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    p_call.context := mnemo._failure_context(p_call.context);
    p_call.audiences := ARRAY(
        SELECT a.audience # mnemo._failure_mask()
          FROM unnest(p_call.audiences) WITH ORDINALITY AS a(audience, place)
         ORDER BY a.place
    );
    -- Failures have no embeddings.
    p_call.embedding := NULL;
    RETURN p_call;
END
$fn$;
COMMENT ON FUNCTION mnemo._failure_call(mnemo._recall_input) IS
    'A call of recall_plan as one that matches what not to do.';

CREATE FUNCTION mnemo._may_warn(
    p_call mnemo._recall_input
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_size integer := cardinality(p_call.signature);
    v_seen record;
    v_probe record;
BEGIN
    SELECT count(*) <= 100 AS complete,
           coalesce(bool_or(f.shared::double precision / (f.size + v_size - f.shared)
               >= p_call.threshold), false) AS reaches
      INTO v_seen
      FROM (
        SELECT k.size,
               -- Whatever differs too much in size shares too little.
               CASE WHEN least(k.size, v_size)::double precision / greatest(k.size, v_size)
                         >= p_call.threshold AND k.signature && p_call.signature
                    THEN mnemo._shared_tokens(k.signature, p_call.signature) END AS shared
          FROM mnemo._failures_for(p_call.audiences) AS k
         LIMIT 101
      ) AS f;
    IF v_seen.complete OR v_seen.reaches THEN
        RETURN v_seen.reaches;
    END IF;
    p_call := mnemo._failure_call(p_call);
    v_probe := mnemo._probe(p_call, p_call.threshold, 0);
    RETURN EXISTS (
        SELECT
          FROM mnemo._similar(
                v_probe.keys, p_call.org_id, p_call.audiences, p_call.context, p_call.asked_at,
                v_probe.sketch, v_probe.long_sketch, v_size, p_call.threshold) AS s);
END
$fn$;
COMMENT ON FUNCTION mnemo._may_warn(mnemo._recall_input) IS
    'Whether there are failures that the caller might have to be warned of, by their tokens: up to a '
    'hundred are compared one by one, more are looked up by their keys. False is certain.';

CREATE FUNCTION mnemo._failures(
    p_call mnemo._recall_input
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    query text,
    steps text[],
    details jsonb,
    chunk_ids text[],
    reason text,
    similarity double precision,
    owner_agent_id text,
    scope text,
    created_at timestamptz,
    stale boolean
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 3
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    SELECT r.rank, m.id, m.content, p.steps, nullif(p.details, 'null'), p.chunk_ids, p.reason,
           r.similarity, m.agent_id, m.scope, m.created_at, r.stale
      FROM mnemo._recall(mnemo._failure_call(p_call), true) AS r
      CROSS JOIN LATERAL (
        SELECT k.*
          FROM mnemo.memory AS k
         WHERE k.org_id = r.org_id AND k.id = r.plan_id
        OFFSET 0
      ) AS m
      CROSS JOIN LATERAL jsonb_to_record(m.metadata -> 'experience_plan') AS p(
        steps text[], details jsonb, chunk_ids text[], reason text)
     ORDER BY r.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo._failures(mnemo._recall_input) IS
    'What not to do for a call of recall_plan, the nearest first, at most its row_limit.';

CREATE FUNCTION mnemo._warnings(
    p_call mnemo._recall_input
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits and a time's zone from these settings.
SET extra_float_digits = 1
SET timezone = 'UTC'
AS $fn$
BEGIN
    p_call.row_limit := 3;
    p_call.stale := 'refuse';
    RETURN (
        SELECT jsonb_agg(jsonb_build_object(
                   'id', f.id, 'query', f.query, 'steps', f.steps, 'reason', f.reason,
                   'similarity', f.similarity, 'created_at', f.created_at) ORDER BY f.rank)
          FROM mnemo._failures(p_call) AS f
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._warnings(mnemo._recall_input) IS
    'What not to do as recall_plan shows it: the nearest three failures that are not stale; NULL '
    'for none.';

CREATE FUNCTION mnemo.recall_failures(
    p_query text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_similarity_threshold double precision DEFAULT NULL,
    p_guard text DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_limit bigint DEFAULT 5,
    p_stale text DEFAULT 'refuse'
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    query text,
    steps text[],
    details jsonb,
    chunk_ids text[],
    reason text,
    similarity double precision,
    owner_agent_id text,
    scope text,
    created_at timestamptz,
    stale boolean
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 5
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_call mnemo._recall_input := mnemo._recall_call(
        p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, p_limit,
        p_stale, NULL, NULL);
BEGIN
    IF v_call.reason IS NULL AND mnemo._may_warn(v_call) THEN
        RETURN QUERY SELECT f.* FROM mnemo._failures(v_call) AS f ORDER BY f.rank;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall_failures(
    text, text, text, double precision, text, text, bigint, text
) IS
    'What not to do for p_query: the best p_limit (1 to 1000) failures that mnemo.remember_failure '
    'stored and the acting agent may read, matched by the arguments, rules and order of '
    'mnemo.recall_plans; rank from 1, reason: why the steps failed. p_stale: refuse leaves out those '
    'that cite a chunk which changed since, include returns them, stale says so. No rows where there '
    'is none, and while experience memory is off. Reads only. Errors: those of mnemo.recall_plan.';
