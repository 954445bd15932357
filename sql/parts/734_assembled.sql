CREATE FUNCTION mnemo._score_explanation(
    p_rankings text[],
    p_ranks bigint[],
    p_parts double precision[],
    p_boosts double precision[],
    p_score double precision,
    p_best double precision,
    p_evidence double precision,
    p_hints jsonb
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
-- JSON takes a number's digits from extra_float_digits, which the callers set.
AS $fn$
BEGIN
    RETURN (
        SELECT jsonb_build_object(
                   'score', p_score,
                   'rankings', coalesce(jsonb_object_agg(r.name,
                       jsonb_build_object('rank', r.rank, 'contribution', r.part)), '{}'),
                   'fused', sum(r.part ORDER BY r.place),
                   'boosts', jsonb_build_object('source', p_boosts[1], 'confidence', p_boosts[2],
                       'doubt', p_boosts[3], 'recency', p_boosts[4]),
                   'hints', p_hints, 'best', p_best, 'evidence', p_evidence)
          FROM unnest(p_rankings, p_ranks, p_parts) WITH ORDINALITY AS r(name, rank, part, place)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._score_explanation(
    text[], bigint[], double precision[], double precision[], double precision, double precision,
    double precision, jsonb
) IS
    'The parts of a score: it is the sum of the contributions of the rankings, fused, times each '
    'of the boosts.';

CREATE FUNCTION mnemo._hints_of(
    p_asked mnemo._question,
    p_subject text,
    p_predicate text
)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'subject', coalesce(mnemo._fold_name(p_subject) = ANY ((p_asked).subjects), false),
    'predicate', coalesce(p_predicate = (p_asked).predicate, false)
);
COMMENT ON FUNCTION mnemo._hints_of(mnemo._question, text, text) IS
    'Which hints of a plan a record with this subject and predicate matches.';

CREATE FUNCTION mnemo._tokens(
    p_content text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (char_length(p_content) + 3) / 4;
COMMENT ON FUNCTION mnemo._tokens(text) IS
    'About how many tokens of a language model a text is: a quarter of its characters, rounded up.';

CREATE FUNCTION mnemo._unfit_verdict(
    p_record mnemo.memory,
    p_filter mnemo._recall_filter
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN (p_record).status <> 'active' THEN (p_record).status
    WHEN (p_record).valid_from > (p_filter).holds_at THEN 'not_yet_valid'
    WHEN (p_record).valid_to <= (p_filter).holds_at THEN 'no_longer_valid'
    WHEN ((p_record).kind = ANY ((p_filter).kinds)) IS NOT TRUE AND (p_filter).kinds IS NOT NULL
    THEN 'kind_filter'
    ELSE 'time_window' END;
COMMENT ON FUNCTION mnemo._unfit_verdict(mnemo.memory, mnemo._recall_filter) IS
    'Why a record that does not pass the filter of a plan does not, the first reason.';

CREATE FUNCTION mnemo._assembled(
    p_plan jsonb,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_limit bigint,
    p_filter mnemo._recall_filter,
    p_embedding text,
    p_model text,
    p_all boolean,
    p_unfit boolean
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
    v_each integer := CASE p_plan ->> 'intent' WHEN 'explicit_recall' THEN 5 ELSE 2 END;
    v_budget bigint := greatest(500, 100 * p_limit);
    v_audiences bigint[];
    v_places bigint[];
    v_asked mnemo._question;
    v_found record;
    v_none mnemo._recall_filter;
    v_kept bigint := 0;
    v_predicates text[] := '{}';
BEGIN
    SELECT r.audiences, r.places INTO v_audiences, v_places
      FROM mnemo._reachable_audiences(p_org_id, p_agent_id, p_now) AS r;
    v_asked := mnemo._asked(p_plan, p_org_id, p_agent_id, p_now, v_audiences, v_places);
    place := 0;
    FOR v_found IN
        SELECT r.*, m.content, m.kind, m.subject, m.predicate, m.entities, m.valid_from,
               mnemo._tokens(m.content) AS tokens,
               CASE WHEN p_unfit THEN mnemo._unfit_verdict(m, p_filter) END AS unfit
          FROM mnemo._retrieved(
                p_plan, v_asked, p_org_id, p_agent_id, p_now,
                CASE WHEN p_unfit THEN v_none ELSE p_filter END, v_audiences, v_places, p_embedding,
                p_model, p_limit, CASE WHEN p_unfit THEN p_filter END, p_all) AS r
          CROSS JOIN LATERAL (
            SELECT o.* FROM mnemo._record(p_org_id, r.id) AS o WHERE r.org_id <> '*'
            UNION ALL
            SELECT o.* FROM mnemo._record('*', r.id) AS o WHERE r.org_id = '*'
          ) AS m
    LOOP
        EXIT WHEN p_unfit AND (place = 20 OR NOT v_found.admitted);
        verdict := CASE
            WHEN p_unfit THEN v_found.unfit
            WHEN NOT v_found.admitted THEN 'weak_evidence'
            WHEN v_kept = p_limit THEN 'limit'
            WHEN cardinality(array_positions(v_predicates, v_found.predicate)) >= v_each
                AND v_found.predicate IS NOT NULL THEN 'per_predicate'
            WHEN v_found.tokens > v_budget THEN 'budget'
            ELSE 'returned' END;
        EXIT WHEN NOT p_all AND v_kept = p_limit;
        CONTINUE WHEN NOT p_all AND verdict <> 'returned';
        IF verdict = 'returned' THEN
            v_kept := v_kept + 1;
            v_predicates := v_predicates || v_found.predicate;
            v_budget := v_budget - v_found.tokens;
        END IF;
        place := place + 1;
        id := v_found.id;
        content := v_found.content;
        kind := v_found.kind;
        subject := v_found.subject;
        predicate := v_found.predicate;
        entities := v_found.entities;
        valid_from := v_found.valid_from;
        IF p_unfit THEN
            -- Ranked among others of their kind only.
            v_found.rankings := NULL;
            v_found.ranks := NULL;
            v_found.parts := NULL;
            v_found.score := NULL;
        END IF;
        score := v_found.score;
        explanation := mnemo._score_explanation(v_found.rankings, v_found.ranks, v_found.parts,
            v_found.boosts, v_found.score, v_found.best, v_found.evidence,
            mnemo._hints_of(v_asked, v_found.subject, v_found.predicate));
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._assembled(
    jsonb, text, text, timestamptz, bigint, mnemo._recall_filter, text, text, boolean,
    boolean
) IS
    'What a plan in normal form finds among the records that pass the filter: at most p_limit, 2 '
    'of a predicate (5 where the intent is explicit_recall), and 500 tokens or 100 for each of '
    'p_limit, if that is more; with p_all every record that was scored, with what became of it. '
    'With p_unfit what would have been found among those that do not pass, with the reason.';
