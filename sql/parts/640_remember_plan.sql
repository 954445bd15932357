CREATE FUNCTION mnemo._plan_record(
    p_input mnemo._plan_input,
    p_outcome_score double precision
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory := mnemo._new_record(
        p_input.scope, p_input.org_id, p_input.agent_id,
        coalesce(
            p_input.ttl, nullif(mnemo._setting_in(p_input.overrides, 'plan_ttl'), 'none')::interval)
    );
    v_payload jsonb;
BEGIN
    -- By the clock, so that a change that this transaction reported before is none since then.
    p_input.read_at := CASE WHEN cardinality(p_input.chunk_ids) > 0
        THEN least(p_input.read_at, clock_timestamp()) END;
    v_payload := mnemo._plan_payload(
        p_input, mnemo._signature_tokens(p_input.query), p_outcome_score);
    IF cardinality(p_input.chunk_ids) > 0 THEN
        v_payload := v_payload || mnemo._cited_versions(v_record, p_input.chunk_ids, p_input.read_at);
    END IF;
    v_record.content := p_input.query;
    v_record.memory_type := 'procedural';
    v_record.importance := p_outcome_score;
    v_record.tags := ARRAY[mnemo._reserved_tag()] || coalesce(p_input.tags, '{}');
    v_record.metadata := jsonb_build_object(mnemo._reserved_key(), v_payload);
    v_record.source_type := 'system';
    v_record.source_id := p_input.source_id;
    v_record.thread_id := p_input.thread_id;
    RETURN mnemo._normalised(v_record);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_record(mnemo._plan_input, double precision) IS
    'The memory record of a plan whose arguments have been checked.';

CREATE TYPE mnemo._plan_stored AS (
    place bigint,
    id uuid,
    signature text,
    stored boolean,
    status text,
    error text
);
COMMENT ON TYPE mnemo._plan_stored IS 'What became of a plan to store, as remember_plans answers.';

CREATE FUNCTION mnemo._write_plans(
    p_records mnemo.memory[],
    p_places bigint[],
    p_apart text[],
    OUT merged_ids uuid[],
    OUT into_ids uuid[]
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_claims record := mnemo._claim_plans(p_records, p_places, p_apart);
BEGIN
    merged_ids := '{}';
    into_ids := '{}';
    IF v_claims.contested THEN
        SELECT m.merged_ids, m.into_ids INTO merged_ids, into_ids
          FROM mnemo._merge_plans(p_records, v_claims.claims) AS m;
        RETURN;
    END IF;
    PERFORM mnemo._write_memories(p_records, 'plan_write');
    INSERT INTO mnemo.plan_signature SELECT (c.row).* FROM unnest(v_claims.claims) AS c;
END
$fn$;
COMMENT ON FUNCTION mnemo._write_plans(mnemo.memory[], bigint[], text[]) IS
    'Writes new plans, or merges them into those that are there: merged_ids and into_ids say which '
    'into which. p_apart: organisations that store the same plan again.';

CREATE FUNCTION mnemo._store_plans(
    p_inputs mnemo._plan_input[],
    p_places bigint[],
    p_on_error text
)
RETURNS SETOF mnemo._plan_stored
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_input mnemo._plan_input;
    v_record mnemo.memory;
    v_records mnemo.memory[] := '{}';
    v_places bigint[] := '{}';
    v_apart text[] := '{}';
    v_embeddings text[] := '{}';
    v_models text[] := '{}';
    v_first mnemo.memory;
    v_problem mnemo._problem;
    v_number integer := 0;
    v_written record;
    v_answer mnemo._plan_stored;
    v_answers mnemo._plan_stored[] := '{}';
BEGIN
    FOREACH v_input IN ARRAY p_inputs LOOP
        v_number := v_number + 1;
        v_answer := ROW(p_places[v_number], NULL, NULL, false, NULL, NULL);
        -- NaN is above every number in PostgreSQL and must not pass for a success.
        IF v_input.reason IS NULL AND (
            v_input.outcome_score = 'NaN'
            OR v_input.outcome_score
               < mnemo._setting_in(v_input.overrides, 'success_threshold')::double precision
        ) THEN
            v_answer.signature := array_to_string(mnemo._signature_tokens(v_input.query), ' ');
            v_answer.status := 'below_threshold';
            v_answers := array_append(v_answers, v_answer);
            CONTINUE;
        END IF;
        v_record := mnemo._plan_record(v_input, least(v_input.outcome_score, 1));
        v_answer.status := 'stored';
        IF v_input.idempotency_key IS NOT NULL THEN
            v_first := mnemo._first_record(v_record, v_input.idempotency_key, v_records);
            v_problem := mnemo._key_problem(v_first, v_record);
            IF v_problem.code IS NOT NULL THEN
                IF p_on_error = 'abort' THEN
                    PERFORM mnemo._raise_placed(v_problem, v_answer.place);
                END IF;
                v_answer.status := 'failed';
                v_answer.error := v_problem.code || ': ' || v_problem.message;
                v_answers := array_append(v_answers, v_answer);
                CONTINUE;
            ELSIF v_first.id <> v_record.id THEN
                v_record := v_first;
                v_answer.status := 'repeated';
            END IF;
        END IF;
        IF v_answer.status = 'stored' THEN
            v_record := mnemo._screen(v_record);
            IF v_record.quarantined THEN
                v_answer.status := 'quarantined';
            END IF;
            v_records := array_append(v_records, v_record);
            v_embeddings := array_append(v_embeddings, v_input.embedding);
            v_models := array_append(v_models, v_input.model);
            v_places := array_append(v_places, v_answer.place);
            IF mnemo._setting_in(v_input.overrides, 'merge_plans') = 'off' THEN
                v_apart := v_apart || v_input.org_id;
            END IF;
        END IF;
        v_answer.id := v_record.id;
        v_answer.signature := array_to_string(
            mnemo._text_list(mnemo._payload(v_record) -> 'signature_tokens'), ' '
        );
        v_answer.stored := true;
        v_answers := array_append(v_answers, v_answer);
    END LOOP;
    IF cardinality(v_records) > 0 THEN
        v_written := mnemo._write_plans(v_records, v_places, v_apart);
        IF v_written.merged_ids <> '{}' THEN
            v_answers := mnemo._merged_answers(
                v_answers, v_written.merged_ids, v_written.into_ids);
        END IF;
        IF array_remove(v_embeddings, NULL) <> '{}' THEN
            PERFORM mnemo._store_plan_embeddings(v_records, v_embeddings, v_models,
                v_written.merged_ids, v_written.into_ids);
        END IF;
    END IF;
    RETURN QUERY SELECT a.* FROM unnest(v_answers) AS a;
END
$fn$;
COMMENT ON FUNCTION mnemo._store_plans(mnemo._plan_input[], bigint[], text) IS
    'Stores plans whose arguments have been checked and whose agent and organisation are filled in: '
    'one answer a plan, with its place in the batch (NULL: no batch). Plans below the success '
    'threshold are not written; the same plan again is merged. An idempotency key of another kind '
    'of record is an error, or with p_on_error skip a failed plan.';

CREATE FUNCTION mnemo._key_problem(
    p_first mnemo.memory,
    p_record mnemo.memory
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN mnemo._is_failure(p_first) IS DISTINCT FROM mnemo._is_failure(p_record)
    THEN mnemo._argument('p_idempotency_key',
        'p_idempotency_key was used for a ' || CASE mnemo._is_failure(p_first)
            WHEN true THEN 'failure' WHEN false THEN 'plan' ELSE 'memory' END,
        'use another key') END;
COMMENT ON FUNCTION mnemo._key_problem(mnemo.memory, mnemo.memory) IS
    'The problem of an idempotency key whose first record is of another kind than this one: memory, '
    'plan or failure; NULL for none.';

CREATE FUNCTION mnemo._raise_placed(
    p_problem mnemo._problem,
    p_place bigint
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._raise(
        p_problem.code,
        concat_ws(': ', 'element ' || p_place::text, p_problem.message),
        jsonb_strip_nulls(jsonb_build_object(
            'parameter', p_problem.parameter, 'position', p_place)),
        p_problem.hint
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._raise_placed(mnemo._problem, bigint) IS
    'Raises the problem of an element of a batch; DETAIL has its position, from 1. NULL: no batch.';

CREATE FUNCTION mnemo.remember_plan(
    p_query text,
    p_steps text[],
    p_chunk_ids text[],
    p_outcome_score double precision,
    p_agent_id text DEFAULT NULL,
    p_scope text DEFAULT 'private',
    p_org_id text DEFAULT NULL,
    p_details jsonb DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_ttl interval DEFAULT NULL,
    p_thread_id text DEFAULT NULL,
    p_source_id text DEFAULT NULL,
    p_tags text[] DEFAULT NULL,
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL,
    p_idempotency_key text DEFAULT NULL,
    p_chunk_source text DEFAULT NULL,
    p_read_at timestamptz DEFAULT NULL
)
RETURNS TABLE (id uuid, signature text, stored boolean, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_input mnemo._plan_input;
BEGIN
    SELECT * INTO v_caller FROM mnemo._enter(p_agent_id, p_org_id);
    v_input := ROW(
        p_query, p_steps, p_chunk_ids, p_outcome_score, v_caller.agent_id,
        coalesce(p_scope, 'private'), v_caller.org_id, p_details, p_context, p_ttl, p_thread_id,
        p_source_id, p_tags, p_embedding, p_model, p_idempotency_key,
        mnemo._overrides(v_caller.org_id), p_chunk_source, p_read_at, NULL
    );
    PERFORM mnemo._raise_problem(mnemo._plan_problem(v_input, v_caller.level));
    RETURN QUERY
    SELECT s.id, s.signature, s.stored, s.status FROM mnemo._store_plans(ARRAY[v_input], NULL, 'abort') AS s;
END
$fn$;
COMMENT ON FUNCTION mnemo.remember_plan(
    text, text[], text[], double precision, text, text, text, jsonb, text, interval, text, text,
    text[], text, text, text, text, timestamptz
) IS
    'REMEMBER_PLAN: stores the plan that answered p_query, for replay by mnemo.recall_plan: steps, '
    'details (one JSON value a step, or NULL), ids of the chunks used, outcome score. A score below '
    'the success threshold, or NaN, stores nothing; above 1 counts as 1. p_context names what the '
    'plan depends on, such as a tool set: recall must give the same. p_embedding: the embedding of '
    'p_query by p_model, see mnemo.enable_vectors, by which recall finds the plan where words do '
    'not; NULL for none. The same p_idempotency_key of the same agent again returns the first answer. '
    'p_chunk_source: where the chunk ids come from, at most 256 characters, NULL or empty for the '
    'source that has no name; when a chunk of that source with one of the ids changes '
    '(mnemo.invalidate_chunks, mnemo.watch_table), or a memory with one of them, the plan is stale. '
    'p_read_at: when the chunks were read; changes since then count; NULL, or a time to come: those '
    'from now on. '
    'Returns id (NULL when nothing is stored), the signature joined by spaces, stored, and status '
    'stored, below_threshold, quarantined (kept, and held back by a rule against poisoning), repeated '
    'or merged: the same plan (signature, guard and p_context equal, of the same agent in the same '
    'scope) is there already, and the better outcome''s steps are kept under its id, unless the '
    'setting merge_plans is off. Errors: 42501 no access, or scope global by a tenant; 55000 experience memory is off, '
    'embedding given but not enabled; 22023 bad argument; 54000 over a limit; 40001 the key was used by a '
    'concurrent transaction. After DocTrace (arXiv 2606.10921).';
