CREATE FUNCTION mnemo._explain_near(
    p_call mnemo._recall_input
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    query text,
    similarity double precision,
    outcome_score double precision,
    shared_tokens text[],
    only_asked text[],
    only_stored text[],
    guard_differences text[],
    state text,
    threshold double precision,
    verdict text,
    cosine double precision
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 20
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_read record := mnemo._guard(p_call.query);
    v_ambiguous boolean;
    v_rival uuid;
BEGIN
    SELECT s.reason = 'ambiguous', (s.near_miss #>> '{rival,id}')::uuid INTO v_ambiguous, v_rival
      FROM mnemo._semantic_plans(p_call, v_read.meaning, v_read.vals, v_read.names) AS s;
    p_call.row_limit := 20;
    RETURN QUERY
    WITH ranked AS (
        SELECT n.*,
               row_number() OVER (
                   ORDER BY n.similarity DESC, n.org_id = '*', n.standing DESC,
                            n.outcome_score DESC, n.created_at DESC, n.plan_id DESC
               ) AS place
          FROM mnemo._near_plans(p_call, v_read.meaning, v_read.vals, v_read.names) AS n
         WHERE n.similarity >= p_call.semantic_threshold OR n.plan_id = v_rival
    ), nearest AS (
        SELECT r.*, m.content, m.consolidation_state,
               mnemo._text_list(mnemo._payload(m) -> 'signature_tokens') AS signature
          FROM ranked AS r
          JOIN mnemo.memory AS m ON m.org_id = r.org_id AND m.id = r.plan_id
         WHERE r.place <= 20 OR r.place = (SELECT min(f.place) FROM ranked AS f WHERE f.against IS NULL)
            OR r.plan_id = v_rival
    )
    SELECT o.place, o.plan_id, o.content, mnemo._jaccard(o.signature, p_call.signature),
           o.outcome_score,
           ARRAY(SELECT t.token FROM unnest(o.signature) AS t(token)
                  WHERE t.token = ANY (p_call.signature)),
           ARRAY(SELECT t.token FROM unnest(p_call.signature) AS t(token)
                  WHERE t.token <> ALL (o.signature)),
           ARRAY(SELECT t.token FROM unnest(o.signature) AS t(token)
                  WHERE t.token <> ALL (p_call.signature)),
           mnemo._guard_differences(p_call.query, o.content, p_call.guard),
           o.consolidation_state, p_call.threshold,
           CASE WHEN o.against IS NOT NULL THEN o.against
                WHEN o.plan_id = v_rival THEN 'ambiguous'
                WHEN o.place = min(o.place) FILTER (WHERE o.against IS NULL) OVER ()
                THEN CASE WHEN v_ambiguous THEN 'ambiguous' ELSE 'replayed' END
                ELSE 'outranked' END,
           o.similarity
      FROM nearest AS o
     ORDER BY o.place;
END
$fn$;
COMMENT ON FUNCTION mnemo._explain_near(mnemo._recall_input) IS
    'As _explain_candidates, by embeddings: the 20 nearest plans at or above semantic_threshold, and '
    'the one that is replayed, or the two between which the question lies.';
