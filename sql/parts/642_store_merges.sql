-- All that were merged by one call are written by one statement a table: to start one on a table with
-- many checks costs more than a row does.

CREATE TYPE mnemo._plan_merge AS (
    before mnemo.memory,
    after mnemo.memory,
    observed double precision[]
);
COMMENT ON TYPE mnemo._plan_merge IS
    'A plan before and after others were merged into it, and the outcome scores of the others.';

CREATE FUNCTION mnemo._next_version(
    p_merge mnemo._plan_merge
)
RETURNS mnemo._plan_merge
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_before mnemo.memory := p_merge.before;
    v_after mnemo.memory := p_merge.after;
BEGIN
    v_after.version := v_before.version + 1;
    -- The very same plan once more is no other version worth keeping.
    IF (v_after.tags, v_after.source_id, v_after.thread_id, mnemo._words(v_after))
       IS DISTINCT FROM
       (v_before.tags, v_before.source_id, v_before.thread_id, mnemo._words(v_before))
    THEN
        v_after.prev_version_id := mnemo._keep_version(
            v_before, v_before.origin_org_id, v_before.agent_id);
    END IF;
    v_after.updated_at := now();
    v_after.content_hash := mnemo._content_hash(v_after);
    p_merge.after := v_after;
    RETURN p_merge;
END
$fn$;
COMMENT ON FUNCTION mnemo._next_version(mnemo._plan_merge) IS
    'A merged plan as it is to be written; what it said before is written as an archived version '
    'where it differs.';

CREATE FUNCTION mnemo._write_merged_events(
    p_merges mnemo._plan_merge[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes
    )
    SELECT (u.after).origin_org_id, mnemo._next_event_id((u.after).org_id, (u.after).id),
           (u.after).agent_id, 'plan_merged', (u.after).org_id, (u.after).id,
           (u.after).origin_org_id, (u.after).agent_id, now(), (u.after).content_hash,
           mnemo._bound_changes(u.before, u.after)
           || jsonb_build_object('observed', to_jsonb(u.observed))
      FROM unnest(p_merges) AS u;
    IF cardinality(p_merges) = 1 THEN
        v_record := p_merges[1].after;
        PERFORM mnemo._seal_if_many(v_record.origin_org_id, v_record.agent_id, 1);
        RETURN;
    END IF;
    PERFORM mnemo._seal_owners(
               array_agg((u.after).origin_org_id), array_agg((u.after).agent_id))
       FROM unnest(p_merges) AS u;
END
$fn$;
COMMENT ON FUNCTION mnemo._write_merged_events(mnemo._plan_merge[]) IS
    'Writes the event plan_merged of each plan, with the outcome scores of those merged into it.';

CREATE FUNCTION mnemo._update_plans(
    p_records mnemo.memory[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $fn$
BEGIN
    -- By the place of each row, which the caller has locked: no plan reads more of the table than
    -- these records, though it may be made while the table is small.
    UPDATE mnemo.memory AS m
       SET content = r.content, importance = r.importance, tags = r.tags, metadata = r.metadata,
           source_id = r.source_id, thread_id = r.thread_id, version = r.version,
           prev_version_id = r.prev_version_id, created_at = r.created_at,
           updated_at = r.updated_at, expires_at = r.expires_at, content_hash = r.content_hash
      FROM (
        SELECT c.*, k.place
          FROM unnest(p_records) AS c
          CROSS JOIN LATERAL (
            SELECT i.ctid AS place
              FROM mnemo.memory AS i
             WHERE i.org_id = c.org_id AND i.id = c.id
            OFFSET 0
          ) AS k
        OFFSET 0
      ) AS r
     WHERE m.ctid = r.place;
END
$fn$;
COMMENT ON FUNCTION mnemo._update_plans(mnemo.memory[]) IS
    'Writes what merging changes of records that are locked.';

CREATE FUNCTION mnemo._store_merges(
    p_merges mnemo._plan_merge[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_merge mnemo._plan_merge;
    v_merges mnemo._plan_merge[] := '{}';
    v_record mnemo.memory;
    v_records mnemo.memory[] := '{}';
BEGIN
    FOREACH v_merge IN ARRAY p_merges LOOP
        v_merge := mnemo._next_version(v_merge);
        v_record := v_merge.after;
        v_merges := array_append(v_merges, v_merge);
        v_records := array_append(v_records, v_record);
    END LOOP;
    PERFORM mnemo._update_plans(v_records);
    PERFORM mnemo._write_merged_events(v_merges);
    PERFORM mnemo._report_merges(v_merges);
    FOREACH v_merge IN ARRAY v_merges LOOP
        v_record := v_merge.after;
        IF v_record.metadata <> (v_merge.before).metadata THEN
            -- It said something about other chunks, or another time.
            DELETE FROM mnemo.plan_check AS c
             WHERE c.org_id = v_record.org_id AND c.plan_id = v_record.id;
        END IF;
        IF v_record.content <> (v_merge.before).content THEN
            PERFORM mnemo._drop_embeddings(v_record.org_id, ARRAY[v_record.id]);
        END IF;
        IF v_record.scope = 'shared' THEN
            DELETE FROM mnemo.plan_signature AS s
             WHERE s.org_id = v_record.org_id AND s.plan_id = v_record.id
               AND s.grantee_agent_id IS NOT NULL;
            PERFORM mnemo._index_plan(v_record.org_id, v_record.id);
        END IF;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._store_merges(mnemo._plan_merge[]) IS
    'Writes plans whose records the caller has locked after others were merged into them: what they '
    'said before as an archived version where it differs, the records, the events plan_merged with '
    'the outcome scores of the others, their rows of plan_signature, and the scores as reports of '
    'their owners.';
