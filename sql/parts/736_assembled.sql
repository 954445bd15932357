CREATE FUNCTION mnemo._score_explanation(
    p_score double precision,
    p_rankings jsonb,
    p_fused double precision,
    p_boosts double precision[],
    p_hints jsonb,
    p_best double precision,
    p_evidence double precision
)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
-- JSON takes a number's digits from extra_float_digits, which the callers set.
RETURN jsonb_build_object(
    'score', p_score, 'rankings', coalesce(p_rankings, '{}'), 'fused', p_fused,
    'boosts', jsonb_build_object('source', p_boosts[1], 'confidence', p_boosts[2],
        'doubt', p_boosts[3], 'recency', p_boosts[4]),
    'hints', p_hints, 'best', p_best, 'evidence', p_evidence
);
COMMENT ON FUNCTION mnemo._score_explanation(
    double precision, jsonb, double precision, double precision[], jsonb, double precision,
    double precision
) IS
    'The parts of a score: it is the sum of the contributions of the rankings, fused, times each '
    'of the boosts.';

CREATE FUNCTION mnemo._hints_of(
    p_asked mnemo._question,
    p_subject boolean,
    p_predicate text
)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'subject', p_subject,
    'predicate', coalesce(p_predicate = (p_asked).predicate, false)
);
COMMENT ON FUNCTION mnemo._hints_of(mnemo._question, boolean, text) IS
    'Which hints of a plan a record with this predicate matches; p_subject: whether it is about the '
    'subject hint.';

CREATE FUNCTION mnemo._tokens(
    p_content text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (char_length(p_content) + 3) / 4;
COMMENT ON FUNCTION mnemo._tokens(text) IS
    'About how many tokens of a language model a text is: a quarter of its characters, rounded up.';

CREATE FUNCTION mnemo._assembled(
    p_plan jsonb,
    p_asked mnemo._question,
    p_audiences bigint[],
    p_places bigint[],
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
    v_after timestamptz := p_plan #>> '{temporal,after}';
    v_before timestamptz := p_plan #>> '{temporal,before}';
    -- For a longer answer more is read.
    v_cap bigint := greatest((mnemo._retrieval_rules()).list_cap, 2 * p_limit);
    v_candidates bigint := greatest((mnemo._retrieval_rules()).candidates, 2 * p_limit);
    v_reach mnemo._reach;
    v_admitted boolean;
    v_tokens bigint;
    v_unfit text;
    v_kept bigint := 0;
    v_predicates text[] := '{}';
BEGIN
    v_reach := mnemo._reached(p_asked, p_org_id, p_agent_id, p_now, p_audiences, p_places,
        p_filter, p_unfit, v_cap, v_candidates);
    IF v_after IS NOT NULL AND NOT p_unfit AND cardinality(p_asked.admits) = 0 THEN
        v_reach := mnemo._timely(v_reach, p_org_id, p_agent_id, p_now, p_filter, v_after, v_before,
            v_candidates);
    END IF;
    IF p_embedding IS NOT NULL AND NOT p_unfit THEN
        v_reach := mnemo._near(v_reach, p_org_id, p_agent_id, p_now, p_filter, p_embedding,
            p_model, v_candidates);
    END IF;
    v_reach.nobodys := v_reach.nobodys || v_reach.global_nobodys;
    IF coalesce(cardinality(v_reach.nobodys), 0) = 0 THEN
        RETURN;
    END IF;
    place := 0;
    FOR id, content, kind, subject, predicate, entities, valid_from, score, explanation,
        v_admitted, v_tokens, v_unfit
    IN
        -- What does not pass the filter is ranked among others of its kind only.
        SELECT r.id, r.content, r.kind, r.subject, r.predicate, r.entities, r.valid_from,
               CASE WHEN NOT p_unfit THEN r.score END,
               mnemo._score_explanation(
                    CASE WHEN NOT p_unfit THEN r.score END,
                    CASE WHEN NOT p_unfit THEN r.rankings END,
                    CASE WHEN NOT p_unfit THEN r.fused END, r.boosts,
                    mnemo._hints_of(p_asked, r.about_hint, r.predicate), r.best, r.evidence),
               r.admitted, mnemo._tokens(r.content), r.unfit
          FROM mnemo._scored(p_plan, p_asked, v_reach, p_org_id, p_now, v_after, v_before,
                p_filter, p_unfit, p_all) AS r
    LOOP
        EXIT WHEN CASE WHEN p_unfit THEN place = 20 OR NOT v_admitted
            ELSE NOT p_all AND v_kept = p_limit END;
        verdict := CASE
            WHEN p_unfit THEN v_unfit
            WHEN NOT v_admitted THEN 'weak_evidence'
            WHEN v_kept = p_limit THEN 'limit'
            WHEN cardinality(array_positions(v_predicates, predicate)) >= v_each
                AND predicate IS NOT NULL THEN 'per_predicate'
            WHEN v_tokens > v_budget THEN 'budget'
            ELSE 'returned' END;
        IF verdict = 'returned' THEN
            v_kept := v_kept + 1;
            v_predicates := v_predicates || predicate;
            v_budget := v_budget - v_tokens;
        ELSIF NOT p_all THEN
            CONTINUE;
        END IF;
        place := place + 1;
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._assembled(
    jsonb, mnemo._question, bigint[], bigint[], text, text, timestamptz, bigint,
    mnemo._recall_filter, text, text, boolean, boolean
) IS
    'What a plan in normal form finds among the records that pass the filter: at most p_limit, 2 '
    'of a predicate (5 where the intent is explicit_recall), and 500 tokens or 100 for each of '
    'p_limit, if that is more; with p_all every record that was scored, with what became of it. '
    'With p_unfit what would have been found among those that do not pass, with the reason.';
