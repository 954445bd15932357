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

CREATE FUNCTION mnemo._store_merge(
    p_before mnemo.memory,
    p_after mnemo.memory,
    p_observed double precision[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    p_after.version := p_before.version + 1;
    -- The very same plan once more is no other version worth keeping.
    IF (p_after.tags, p_after.source_id, p_after.thread_id, mnemo._words(p_after))
       IS DISTINCT FROM
       (p_before.tags, p_before.source_id, p_before.thread_id, mnemo._words(p_before))
    THEN
        p_after.prev_version_id := mnemo._keep_version(
            p_before, p_before.origin_org_id, p_before.agent_id);
    END IF;
    p_after.updated_at := now();
    p_after.content_hash := mnemo._content_hash(p_after);
    UPDATE mnemo.memory AS m
       SET content = p_after.content, importance = p_after.importance, tags = p_after.tags,
           metadata = p_after.metadata, source_id = p_after.source_id,
           thread_id = p_after.thread_id, version = p_after.version,
           prev_version_id = p_after.prev_version_id, created_at = p_after.created_at,
           updated_at = p_after.updated_at, expires_at = p_after.expires_at,
           content_hash = p_after.content_hash
     WHERE m.org_id = p_before.org_id AND m.id = p_before.id;
    PERFORM mnemo._write_event(p_after, 'plan_merged', p_after.origin_org_id, p_after.agent_id,
        mnemo._bound_changes(p_before, p_after)
        || jsonb_build_object('observed', to_jsonb(p_observed)));
    IF p_after.metadata <> p_before.metadata THEN
        -- It said something about other chunks, or another time.
        DELETE FROM mnemo.plan_check AS c
         WHERE c.org_id = p_after.org_id AND c.plan_id = p_after.id;
    END IF;
    IF p_after.content <> p_before.content THEN
        PERFORM mnemo._drop_embeddings(p_after.org_id, ARRAY[p_after.id]);
    END IF;
    IF mnemo._is_failure(p_after) THEN
        PERFORM mnemo._settle_plan(p_after.org_id, p_after.id);
    ELSE
        PERFORM mnemo._report_merge(p_after, p_observed);
    END IF;
    IF p_after.scope = 'shared' THEN
        DELETE FROM mnemo.plan_signature AS s
         WHERE s.org_id = p_before.org_id AND s.plan_id = p_before.id
           AND s.grantee_agent_id IS NOT NULL;
        PERFORM mnemo._index_plan(p_after.org_id, p_after.id);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._store_merge(mnemo.memory, mnemo.memory, double precision[]) IS
    'Writes a plan whose record the caller has locked after others were merged into it: what it '
    'said before as an archived version where it differs, the record, the event plan_merged with the '
    'outcome scores of the others, its rows of plan_signature, and the scores as reports of its '
    'owner.';

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
