CREATE FUNCTION mnemo._rejoin_identities(
    p_claims mnemo._plan_claim[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_changed record;
BEGIN
    -- Mostly none has changed. Row by row, for a join could read the whole table.
    FOR v_changed IN
        SELECT k.org_id, k.digest, array_agg(DISTINCT m.id) AS ids
          FROM (
            SELECT p.org_id, p.digest, p.plan_ids, unnest(p.plan_ids || (c.record).id) AS id
              FROM unnest(p_claims) AS c
              CROSS JOIN LATERAL (
                SELECT h.*
                  FROM mnemo.plan_identity AS h
                 WHERE h.org_id = (c.record).org_id AND h.digest = c.digest
                OFFSET 0
              ) AS p
            OFFSET 0
          ) AS k
          CROSS JOIN LATERAL (
            SELECT m.id
              FROM mnemo.memory AS m
             WHERE m.org_id = k.org_id AND m.id = k.id AND mnemo._is_live(m, '-infinity')
            OFFSET 0
          ) AS m
         GROUP BY k.org_id, k.digest, k.plan_ids
        HAVING array_agg(DISTINCT m.id) <> k.plan_ids
    LOOP
        UPDATE mnemo.plan_identity AS i
           SET plan_ids = v_changed.ids
         WHERE i.org_id = v_changed.org_id AND i.digest = v_changed.digest;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._rejoin_identities(mnemo._plan_claim[]) IS
    'Notes under what was claimed the plans that have it now, those that were just written too.';

CREATE FUNCTION mnemo._same_plans(
    p_claims mnemo._plan_claim[]
)
RETURNS TABLE (records mnemo.memory[], held mnemo.memory, stale boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    SELECT g.records, h.record,
           coalesce(mnemo._is_stale((h.record).org_id, (h.record).id, statement_timestamp()), false)
      FROM (
        SELECT (c.record).org_id AS org_id, c.digest, (c.record).scope AS scope,
               array_agg(c.record ORDER BY c.place) AS records
          FROM unnest(p_claims) AS c
         WHERE c.digest IS NOT NULL
         GROUP BY 1, 2, 3
      ) AS g
      LEFT JOIN LATERAL (
        SELECT l.record
          FROM (
            SELECT i.org_id, unnest(i.plan_ids) AS id
              FROM mnemo.plan_identity AS i
             WHERE i.org_id = g.org_id AND i.digest = g.digest
            OFFSET 0
          ) AS k
          CROSS JOIN LATERAL (
            SELECT m AS record, m.importance, m.created_at
              FROM mnemo.memory AS m
             WHERE m.org_id = k.org_id AND m.id = k.id AND m.scope = g.scope
               AND mnemo._may_merge(m, statement_timestamp())
            OFFSET 0
          ) AS l
         ORDER BY l.importance DESC, l.created_at DESC, k.id DESC
         LIMIT 1
      ) AS h ON true;
END
$fn$;
COMMENT ON FUNCTION mnemo._same_plans(mnemo._plan_claim[]) IS
    'The claimed plans, those that are the same plan in one scope together, in the order of their '
    'places; with the best of those that are there and that they may merge into, and whether that one '
    'is stale.';

CREATE FUNCTION mnemo._merge_plans(
    p_records mnemo.memory[],
    p_claims mnemo._plan_claim[],
    OUT merged_ids uuid[],
    OUT into_ids uuid[]
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_same record;
    v_record mnemo.memory;
    v_before mnemo.memory;
    v_after mnemo.memory;
    v_stale boolean;
    v_observed double precision[];
    v_merges mnemo._plan_merge[] := '{}';
    v_new mnemo.memory[];
    v_folded mnemo._plan_merge[] := '{}';
BEGIN
    merged_ids := '{}';
    into_ids := '{}';
    PERFORM mnemo._lock_same(p_claims);
    -- What is held back, and what may not merge.
    v_new := ARRAY(SELECT r FROM unnest(p_records) AS r WHERE r.quarantined)
        || ARRAY(SELECT c.record FROM unnest(p_claims) AS c WHERE c.digest IS NULL);
    -- After the locks, so that what others did meanwhile is seen.
    FOR v_same IN SELECT s.* FROM mnemo._same_plans(p_claims) AS s LOOP
        v_before := v_same.held;
        v_after := v_before;
        v_stale := v_same.stale;
        v_observed := '{}';
        FOREACH v_record IN ARRAY v_same.records LOOP
            IF v_after.id IS NULL THEN
                v_after := v_record;
                CONTINUE;
            END IF;
            merged_ids := array_append(merged_ids, v_record.id);
            into_ids := array_append(into_ids, v_after.id);
            v_observed := v_observed || least(v_after.importance, v_record.importance);
            v_after := mnemo._merged(v_after, v_record, v_stale);
            v_stale := false;
        END LOOP;
        IF v_before.id IS NOT NULL THEN
            v_merges := array_append(v_merges,
                ROW(v_before, v_after, v_observed)::mnemo._plan_merge);
        ELSIF v_observed = '{}' THEN
            v_new := array_append(v_new, v_after);
        ELSE
            v_after.content_hash := mnemo._content_hash(v_after);
            v_new := array_append(v_new, v_after);
            v_folded := array_append(v_folded,
                ROW(v_after, v_after, v_observed)::mnemo._plan_merge);
        END IF;
    END LOOP;
    IF cardinality(v_merges) > 0 THEN
        PERFORM mnemo._store_merges(v_merges);
    END IF;
    IF cardinality(v_new) > 0 THEN
        PERFORM mnemo._write_memories(v_new, 'plan_write');
        PERFORM mnemo._index_new_plans(v_new);
    END IF;
    IF cardinality(v_folded) > 0 THEN
        PERFORM mnemo._write_merged_events(v_folded);
        PERFORM mnemo._report_merges(v_folded);
    END IF;
    PERFORM mnemo._rejoin_identities(p_claims);
    -- A key that this call has claimed is that of the plan which took the new one in.
    UPDATE mnemo.idempotency AS i
       SET memory_id = m.into_id
      FROM unnest(merged_ids, into_ids) AS m(id, into_id)
      JOIN unnest(p_records) AS r ON r.id = m.id
     WHERE i.org_id = r.origin_org_id AND i.memory_org_id = r.org_id AND i.memory_id = m.id;
END
$fn$;
COMMENT ON FUNCTION mnemo._merge_plans(mnemo.memory[], mnemo._plan_claim[]) IS
    'Writes new plans of which some are there already: those that may merge are merged, in the order '
    'of their places, into the one that is there or into the first of them, the others are written. '
    'merged_ids and into_ids: what became of those that were merged.';

CREATE FUNCTION mnemo._merged_answers(
    p_answers mnemo._plan_stored[],
    p_merged_ids uuid[],
    p_into_ids uuid[]
)
RETURNS mnemo._plan_stored[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT ROW(a.place, coalesce(m.into_id, a.id), a.signature, a.stored,
                   CASE WHEN m.id IS NOT NULL AND a.status = 'stored' THEN 'merged'
                   ELSE a.status END, a.error)::mnemo._plan_stored
          FROM unnest(p_answers) AS a
          LEFT JOIN unnest(p_merged_ids, p_into_ids) AS m(id, into_id) ON m.id = a.id
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._merged_answers(mnemo._plan_stored[], uuid[], uuid[]) IS
    'The answers about plans, in any order, after some of them were merged into others.';

CREATE FUNCTION mnemo._store_plan_embeddings(
    p_records mnemo.memory[],
    p_embeddings text[],
    p_models text[],
    p_merged_ids uuid[],
    p_into_ids uuid[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Of those merged into one, the last whose very question it has.
    PERFORM mnemo._store_embeddings(array_agg(e.embedding), array_agg(e.model),
               array_agg(e.org_id), array_agg(e.id), true)
       FROM (
        SELECT DISTINCT ON (k.org_id, k.id, k.model) k.*
          FROM (
            SELECT r.org_id, coalesce(m.into_id, r.id) AS id, r.content, r.number,
                   p_embeddings[r.number] AS embedding, p_models[r.number] AS model
              FROM (
                SELECT u.org_id, u.id, u.content, row_number() OVER () AS number
                  FROM unnest(p_records) AS u
              ) AS r
              LEFT JOIN unnest(p_merged_ids, p_into_ids) AS m(id, into_id) ON m.id = r.id
          ) AS k
          CROSS JOIN LATERAL (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = k.org_id AND m.id = k.id AND m.content = k.content
            OFFSET 0
          ) AS w
         WHERE k.embedding IS NOT NULL
         ORDER BY k.org_id, k.id, k.model, k.number DESC
      ) AS e
    HAVING count(*) > 0;
END
$fn$;
COMMENT ON FUNCTION mnemo._store_plan_embeddings(
    mnemo.memory[], text[], text[], uuid[], uuid[]
) IS
    'Stores the embeddings that came with plans which are written by now, NULL for none; what was '
    'merged gives its own where the question stayed or became its.';
