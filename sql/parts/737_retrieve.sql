CREATE FUNCTION mnemo._retrieve_problem(
    p_limit bigint,
    p_temporal text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    IF p_limit BETWEEN 1 AND 1000 AND p_temporal IN ('prefer', 'filter') THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._first_problem(ARRAY[
        mnemo._limit_problem(p_limit),
        mnemo._label_problem('p_temporal', 'retrieval_temporal', p_temporal)
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieve_problem(bigint, text) IS
    'The first problem of the arguments of mnemo.retrieve, plan and embedding aside; NULL for '
    'none.';

CREATE FUNCTION mnemo._retrieval_filter(
    p_plan jsonb,
    p_temporal text,
    p_now timestamptz
)
RETURNS mnemo._recall_filter
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_filter mnemo._recall_filter;
BEGIN
    v_filter.holds_at := p_now;
    IF p_plan -> 'kind_filter' <> '[]' THEN
        v_filter.kinds := ARRAY(
            SELECT k.kind FROM jsonb_array_elements_text(p_plan -> 'kind_filter') AS k(kind));
    END IF;
    IF p_temporal = 'filter' THEN
        v_filter.valid_since := p_plan #>> '{temporal,after}';
        v_filter.valid_until := p_plan #>> '{temporal,before}';
    END IF;
    RETURN v_filter;
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieval_filter(jsonb, text, timestamptz) IS
    'What a record must be for a plan in normal form: a fact that holds now, of its kinds, and '
    'within its time window where p_temporal is filter.';

CREATE FUNCTION mnemo._retrieve(
    p_plan jsonb,
    p_agent_id text,
    p_org_id text,
    p_limit bigint,
    p_temporal text,
    p_embedding text,
    p_model text,
    p_now timestamptz,
    p_all boolean
)
RETURNS TABLE (
    place bigint,
    id uuid,
    content text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    valid_from timestamptz,
    score double precision,
    explanation jsonb,
    verdict text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
AS $fn$
DECLARE
    v_caller record;
    v_plan jsonb;
    v_problem mnemo._problem;
    v_filter mnemo._recall_filter;
    v_lists record;
    v_asked mnemo._question;
BEGIN
    v_caller := mnemo._caller(p_agent_id, p_org_id);
    IF p_embedding IS NOT NULL OR p_model IS NOT NULL THEN
        PERFORM mnemo._raise_problem(mnemo._embedding_problem(p_embedding, p_model));
    END IF;
    v_plan := mnemo._retrieval_plan(p_plan);
    v_problem := mnemo._retrieve_problem(p_limit, p_temporal);
    IF v_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise_problem(v_problem);
    END IF;
    IF v_plan -> 'requires_memory' = 'false' THEN
        RETURN;
    END IF;
    v_filter := mnemo._retrieval_filter(v_plan, p_temporal, p_now);
    v_lists := mnemo._reachable_audiences(v_caller.org_id, v_caller.agent_id, p_now);
    v_asked := mnemo._asked(v_plan, v_caller.org_id, v_caller.agent_id, p_now, v_lists.audiences,
        v_lists.places);
    RETURN QUERY
    SELECT a.*
      FROM mnemo._assembled(
            v_plan, v_asked, v_lists.audiences, v_lists.places, v_caller.org_id, v_caller.agent_id,
            p_now, p_limit, v_filter, p_embedding, p_model, p_all, false) AS a;
    IF p_all THEN
        RETURN QUERY
        SELECT a.*
          FROM mnemo._assembled(
                v_plan, v_asked, v_lists.audiences, v_lists.places, v_caller.org_id,
                v_caller.agent_id, p_now, p_limit, v_filter, p_embedding, p_model, true, true)
            AS a;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieve(
    jsonb, text, text, bigint, text, text, text, timestamptz, boolean
) IS 'mnemo.retrieve at a time, and with p_all mnemo.explain_retrieval.';

CREATE FUNCTION mnemo.retrieve(
    p_plan jsonb,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_limit bigint DEFAULT 5,
    p_temporal text DEFAULT 'prefer',
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    content text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    valid_from timestamptz,
    score double precision,
    explanation jsonb
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 5
-- The semantic lane changes settings for its scan, which no parallel plan allows.
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: look-ups by key.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_mergejoin = off
SET jit = off
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    RETURN QUERY
    SELECT r.place, r.id, r.content, r.kind, r.subject, r.predicate, r.entities, r.valid_from,
           r.score, r.explanation
      FROM mnemo._retrieve(
            p_plan, p_agent_id, p_org_id, p_limit, p_temporal, p_embedding, p_model,
            statement_timestamp(), false) AS r;
END
$fn$;
COMMENT ON FUNCTION mnemo.retrieve(jsonb, text, text, bigint, text, text, text) IS
    'The facts that a retrieval plan finds among the memories that the acting agent may read, '
    'best first; never plans, nor what is superseded, retracted, expired, outside its '
    'validity, of another kind than kind_filter. p_plan: any plan that '
    'mnemo.normalize_retrieval_plan takes; one that requires no memory finds nothing. Rankings, '
    'of the records that answer enough of a query: one for each lexical query and one for the '
    'topics (BM25 over the first 2,000 characters of each query, and of all topics; a word is '
    'answered by itself, by another form or a related word; whom a query means ranks first), '
    'entities, predicates, seeded (what the hints match; not for subject_hint alone), a copy of '
    'the others for what the hints match, scopes, time, and semantic if there is an embedding '
    '(weight 2 where words find nothing, less the more they say, the others 1). '
    'score: the sum of weight / (60 + rank), times boosts; equals: the '
    'best score by words, then the newest id. At most p_limit facts (1 to 1000), 2 of a predicate '
    '(5 for explicit_recall), 500 tokens or 100 times p_limit. p_temporal: prefer, or filter to '
    'leave out what was not valid from a time within the window. p_embedding, p_model: as in '
    'mnemo.recall. explanation: the parts of the score. Reads only. Errors: 42501 no access; '
    '22023 bad plan or argument; 54000 over a limit; 55000 embedding given but not enabled.';

CREATE FUNCTION mnemo.explain_retrieval(
    p_plan jsonb,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_limit bigint DEFAULT 5,
    p_temporal text DEFAULT 'prefer',
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    content text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    valid_from timestamptz,
    score double precision,
    explanation jsonb,
    verdict text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 50
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: look-ups by key.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_mergejoin = off
SET jit = off
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    RETURN QUERY
    SELECT row_number() OVER (), r.id, r.content, r.kind, r.subject, r.predicate, r.entities,
           r.valid_from, r.score, r.explanation, r.verdict
      FROM mnemo._retrieve(
            p_plan, p_agent_id, p_org_id, p_limit, p_temporal, p_embedding, p_model,
            statement_timestamp(), true) AS r;
END
$fn$;
COMMENT ON FUNCTION mnemo.explain_retrieval(jsonb, text, text, bigint, text, text, text) IS
    'What mnemo.retrieve with the same arguments returns and what came near, in the order of the '
    'scores, with what became of each, verdict: returned; dropped by limit, per_predicate or '
    'budget; weak_evidence, which answers too little of every query; then at most 20 that would '
    'have been answers but are superseded, retracted, not_yet_valid, no_longer_valid, or kept out '
    'by kind_filter or time_window. score is NULL for what was not ranked. Nothing that the agent '
    'may not read. Reads only. Errors, as of mnemo.retrieve: 42501 no access; 22023 bad plan or '
    'argument; 54000 over a limit; 55000 embedding given but not enabled.';
