CREATE FUNCTION mnemo._claim_plans(
    p_records mnemo.memory[],
    p_places bigint[],
    p_apart text[],
    OUT claims mnemo._plan_claim[],
    OUT contested boolean
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Callers with the same plans in any order claim them in one order.
    WITH draft AS MATERIALIZED (
        SELECT d.number, d.record, d.row,
               CASE WHEN (d.record).origin_org_id <> ALL (p_apart)
                    THEN mnemo._identity_of(d.record, d.row) END AS digest
          FROM mnemo._plan_drafts(p_records) AS d
    ), wanted AS MATERIALIZED (
        SELECT (d.record).org_id AS org_id, d.digest, array_agg((d.record).id) AS ids
          FROM draft AS d
         WHERE d.digest IS NOT NULL
         GROUP BY 1, 2
    ), claimed AS (
        INSERT INTO mnemo.plan_identity AS i (org_id, digest, plan_ids)
        SELECT w.org_id, w.digest, w.ids FROM wanted AS w ORDER BY w.org_id, w.digest
        ON CONFLICT ON CONSTRAINT plan_identity_pkey DO UPDATE SET times = i.times + 1
        RETURNING i.times
    )
    SELECT ARRAY(
               SELECT ROW(d.record, d.row, p_places[d.number], d.digest)::mnemo._plan_claim
                 FROM draft AS d),
           EXISTS (SELECT FROM claimed AS c WHERE c.times > 1)
           OR EXISTS (SELECT FROM wanted AS w WHERE cardinality(w.ids) > 1)
      INTO claims, contested;
END
$fn$;
COMMENT ON FUNCTION mnemo._claim_plans(mnemo.memory[], bigint[], text[]) IS
    'Claims what makes each plan the same plan for the live ones among plans about to be written. '
    'contested: one of them is there already, or twice among them. p_apart: organisations that '
    'store the same plan again. Waits for a transaction that is just remembering one of them.';

CREATE FUNCTION mnemo._words(
    p_record mnemo.memory
)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._payload(p_record) - ARRAY['read_at', 'memory_versions'];
COMMENT ON FUNCTION mnemo._words(mnemo.memory) IS
    'The payload of a plan but for when its chunks were read.';

CREATE FUNCTION mnemo._merged(
    p_held mnemo.memory,
    p_new mnemo.memory,
    p_stale boolean
)
RETURNS mnemo.memory
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_best mnemo.memory := CASE
        WHEN p_stale OR p_new.importance >= p_held.importance THEN p_new ELSE p_held END;
BEGIN
    -- The very same plan once more is as old as it was: recall need not find it anew.
    IF mnemo._words(v_best) <> mnemo._words(p_held) THEN
        p_held.created_at := v_best.created_at;
    END IF;
    p_held.content := v_best.content;
    p_held.importance := v_best.importance;
    -- Where it was promoted from is the record's own history.
    p_held.metadata := p_held.metadata || v_best.metadata;
    p_held.source_id := v_best.source_id;
    p_held.thread_id := v_best.thread_id;
    p_held.tags := (mnemo._distinct(p_held.tags || p_new.tags))[1:101];
    p_held.expires_at := CASE WHEN p_new.expires_at > p_held.expires_at THEN p_new.expires_at
        WHEN p_new.expires_at IS NOT NULL THEN p_held.expires_at END;
    RETURN p_held;
END
$fn$;
COMMENT ON FUNCTION mnemo._merged(mnemo.memory, mnemo.memory, boolean) IS
    'A plan that was remembered again: query, steps, details, chunk ids, source and thread of '
    'the better outcome, on a tie, or where the held one is stale, of the new one; the tags of both, the new ones first, 100 at most '
    'beside the reserved one; the later end. Its id, owner, scope and version stay.';

CREATE FUNCTION mnemo._may_merge(
    p_record mnemo.memory,
    p_now timestamptz
)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN mnemo._is_live(p_record, p_now) AND NOT mnemo._is_retired(p_record);
COMMENT ON FUNCTION mnemo._may_merge(mnemo.memory, timestamptz) IS
    'Whether a plan that is remembered again may be merged into this one: it is live, and recall has '
    'not retired it.';

CREATE FUNCTION mnemo._lock_same(
    p_claims mnemo._plan_claim[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    PERFORM mnemo._lock_keys(ARRAY(
        SELECT ROW(i.org_id, i.id)::mnemo._record_key
          FROM unnest(p_claims) AS c
          CROSS JOIN LATERAL (
            SELECT p.org_id, unnest(p.plan_ids) AS id
              FROM mnemo.plan_identity AS p
             WHERE p.org_id = (c.record).org_id AND p.digest = c.digest
            OFFSET 0
          ) AS i
    ));
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_same(mnemo._plan_claim[]) IS
    'Locks the records that are the same plan as those claimed, in the order of all writers.';
