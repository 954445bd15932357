CREATE FUNCTION mnemo._require_plan(
    p_id uuid,
    p_org_id text,
    p_agent_id text
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], 'read');
    -- Held against erasure only: what is written behind it would stay.
    SELECT m.* INTO v_record
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.id = p_id AND m.tags @> ARRAY[mnemo._reserved_tag()]
       AND NOT mnemo._is_failure(m)
       FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], 'read');
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_plan(uuid, text, text) IS
    'The record of a plan that the agent may read, kept from being erased until the transaction '
    'ends; others may do the same beside it. Raises MN001.';

CREATE FUNCTION mnemo._note_problem(
    p_note text
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._texts_problem(ARRAY['p_note'], ARRAY[p_note], 10000);
COMMENT ON FUNCTION mnemo._note_problem(text) IS
    'The problem of a note about a plan: blank, over 10,000 characters; NULL for none.';

CREATE FUNCTION mnemo._retire_threshold(
    p_org_id text
)
RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
RETURN mnemo._setting('retire_threshold', p_org_id)::double precision;
COMMENT ON FUNCTION mnemo._retire_threshold(text) IS
    'The setting retire_threshold of an organisation as a number.';

CREATE FUNCTION mnemo._endurance_of(
    p_org_id text,
    p_plan_id uuid
)
RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN (
        SELECT s.endurance
          FROM mnemo.plan_signature AS s
         WHERE s.org_id = p_org_id AND s.plan_id = p_plan_id AND s.grantee_agent_id IS NULL
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._endurance_of(text, uuid) IS
    'The endurance by which recall judges a live plan; NULL for one that is not live.';

CREATE FUNCTION mnemo._count_reports(
    p_plan mnemo.memory,
    p_new uuid,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_before double precision := mnemo._endurance_of(p_plan.org_id, p_plan.id);
    v_folded bigint := mnemo._fold_reports(p_plan.org_id, p_plan.id, p_new);
    v_after double precision := mnemo._endurance_of(p_plan.org_id, p_plan.id);
    v_threshold double precision;
BEGIN
    IF v_after < v_before THEN
        v_threshold := mnemo._retire_threshold(p_plan.origin_org_id);
        IF v_before >= v_threshold AND v_after < v_threshold THEN
            PERFORM mnemo._write_event(p_plan, 'plan_retired', p_actor_org_id, p_actor_agent_id,
                jsonb_build_object('endurance', v_after));
        END IF;
    END IF;
    RETURN v_folded;
END
$fn$;
COMMENT ON FUNCTION mnemo._count_reports(mnemo.memory, uuid, text, text) IS
    'Sums up the reports about a plan as _fold_reports, after _may_fold, with an event plan_retired '
    'where they retire it by the setting of its owner''s organisation.';

CREATE FUNCTION mnemo._write_report(
    p_plan mnemo.memory,
    p_success boolean,
    p_score double precision,
    p_note text,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_id uuid := mnemo._new_id();
    -- What is said stays within the organisation that says it.
    v_salt bytea := CASE WHEN p_note IS NOT NULL AND p_plan.origin_org_id = p_actor_org_id
        THEN uuid_send(gen_random_uuid()) END;
    v_folds boolean;
BEGIN
    -- No hash of the record: it may be changing just now, and this event says nothing of it.
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes, note_hash
    )
    VALUES (
        p_plan.origin_org_id, v_id, p_plan.agent_id, 'plan_outcome', p_plan.org_id, p_plan.id,
        p_actor_org_id, p_actor_agent_id, now(), NULL,
        jsonb_build_object('success', p_success, 'score', p_score),
        mnemo._note_hash(v_salt, p_note)
    );
    IF v_salt IS NOT NULL THEN
        INSERT INTO mnemo.event_note (org_id, event_id, salt, note)
        VALUES (p_plan.origin_org_id, v_id, v_salt, p_note);
    END IF;
    v_folds := mnemo._may_fold(p_plan.org_id, p_plan.id);
    INSERT INTO mnemo.plan_report (
        org_id, plan_id, id, reporter_org_id, reporter_agent_id, success, score, reported_at,
        counts, folded
    )
    VALUES (
        p_plan.org_id, p_plan.id, v_id, p_actor_org_id, p_actor_agent_id, p_success, p_score,
        now(), true, v_folds
    );
    IF v_folds THEN
        PERFORM mnemo._count_reports(p_plan, v_id, p_actor_org_id, p_actor_agent_id);
    END IF;
    PERFORM mnemo._seal_if_many(p_plan.origin_org_id, p_plan.agent_id, 1);
END
$fn$;
COMMENT ON FUNCTION mnemo._write_report(
    mnemo.memory, boolean, double precision, text, text, text
) IS
    'Writes a report about a plan that _require_plan gave, with its event, and sums it up unless '
    'another transaction is just doing that.';

CREATE FUNCTION mnemo._report_merges(
    p_merges mnemo._plan_merge[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
AS $fn$
DECLARE
    v_ids uuid[] := '{}';
    v_merge mnemo._plan_merge;
    v_number integer := 0;
BEGIN
    FOR v_place IN 1 .. cardinality(p_merges) LOOP
        v_ids := array_append(v_ids, mnemo._new_id());
    END LOOP;
    INSERT INTO mnemo.plan_report (
        org_id, plan_id, id, reporter_org_id, reporter_agent_id, success, score, reported_at,
        counts, folded
    )
    SELECT (u.after).org_id, (u.after).id,
           CASE WHEN cardinality(u.observed) = 1 THEN v_ids[u.place] ELSE mnemo._new_id() END,
           (u.after).origin_org_id, (u.after).agent_id, true, o.score, now(), true,
           cardinality(u.observed) = 1
      FROM unnest(p_merges) WITH ORDINALITY AS u(before, after, observed, place)
      CROSS JOIN LATERAL unnest(u.observed) AS o(score)
     WHERE NOT mnemo._is_failure(u.after);
    FOREACH v_merge IN ARRAY p_merges LOOP
        v_number := v_number + 1;
        IF mnemo._is_failure(v_merge.after) THEN
            PERFORM mnemo._settle_plan((v_merge.after).org_id, (v_merge.after).id);
        ELSE
            PERFORM mnemo._fold_reports((v_merge.after).org_id, (v_merge.after).id,
                CASE WHEN cardinality(v_merge.observed) = 1 THEN v_ids[v_number] END);
        END IF;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._report_merges(mnemo._plan_merge[]) IS
    'Counts the outcome scores with which plans, but for failures, were remembered again as reports '
    'of their owners, and settles them; the caller has their records locked.';
