CREATE FUNCTION mnemo._planner_hint(
    p_predicates text[],
    p_subject text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_known bigint[];
BEGIN
    IF p_subject IS NULL OR p_predicates = '{}' THEN
        RETURN p_predicates[1];
    END IF;
    v_known := mnemo._known_terms(
        ARRAY(
            SELECT mnemo._pair_term(mnemo._fold_name(p_subject), p.predicate)
              FROM unnest(p_predicates) AS p(predicate)
        ), p_org_id, p_agent_id, p_now);
    RETURN (
        SELECT p.predicate
          FROM unnest(p_predicates) WITH ORDINALITY AS p(predicate, place)
         WHERE mnemo._pair_term(mnemo._fold_name(p_subject), p.predicate) = ANY (v_known)
         ORDER BY p.place
         LIMIT 1
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_hint(text[], text, text, text, timestamptz) IS
    'The first of the predicates that visible memory has of the subject, the first of all without '
    'a subject; NULL for none.';

CREATE FUNCTION mnemo._planned(
    p_text text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_read record;
    v_window record;
    v_known mnemo._known_phrase[];
    v_thing mnemo._known_phrase;
    v_found record;
    v_subject text;
    v_predicates text[];
    v_hint text;
    v_intent text;
    v_topics text[];
    v_subjects text[];
    v_names text[];
    v_pronoun text;
    v_past boolean;
    v_general boolean;
    -- An expired record stays so, whatever time is asked for.
    v_live timestamptz := greatest(p_now, statement_timestamp());
BEGIN
    SELECT * INTO v_read FROM mnemo._planner_read(p_text);
    SELECT * INTO v_window FROM mnemo._planner_window(p_text, v_read.plain, p_now);
    IF v_read.words = '{}' THEN
        RETURN '{}';
    END IF;
    v_known := mnemo._planner_known(v_read.plain, v_read.terms,
        mnemo._planner_persons(v_read.terms), p_org_id, p_agent_id, v_live);
    v_thing := mnemo._planner_thing(v_read.terms, p_org_id, p_agent_id, v_live);
    IF v_thing.subject IS NOT NULL THEN
        v_known := v_known || v_thing;
    END IF;
    SELECT * INTO v_found FROM mnemo._planner_entities(
        p_text, v_read.words, v_read.terms, v_known);
    v_intent := mnemo._planner_intent(v_read.plain, v_found.person,
        coalesce(v_window.before <= p_now, false));
    v_topics := mnemo._planner_topics(p_text, v_read.words, v_read.terms,
        v_found.taken || mnemo._timeless(v_read.plain, v_window.first_place, v_window.last_place),
        v_found.user_subject IS NOT NULL);
    v_pronoun := CASE WHEN v_found.user_subject IS NOT NULL
        THEN mnemo._planner_asker(v_read.words, v_read.plain, v_found.taken) END;
    v_general := v_found.entities = '[]' AND NOT v_found.person
        AND mnemo._meant_by(v_read.terms) = 'general';
    IF v_found.entities = '[]' AND v_topics <@ mnemo._calendar_words() THEN
        -- Nothing but time, or nothing at all: all that is known of the user is asked for. What
        -- happened on a Monday need not say so, what is planned for one does.
        v_past := v_intent = 'prior_event_reference' AND v_window.label IS NOT NULL;
        IF v_found.user_subject IS NOT NULL AND (v_past OR v_pronoun IS NOT NULL
            AND (v_intent = 'explicit_recall' OR v_window.label IS NOT NULL))
        THEN
            v_found.entities := jsonb_build_array(jsonb_build_object('surface',
                coalesce(v_pronoun, v_found.user_subject), 'canonical', v_found.user_subject));
            v_topics := CASE WHEN v_past THEN '{}' ELSE v_topics END;
        ELSIF v_topics = '{}' AND v_window.label IS NOT NULL THEN
            v_topics := ARRAY[v_window.label];
        ELSIF v_topics = '{}' THEN
            RETURN '{}';
        END IF;
    END IF;
    v_topics := mnemo._planner_choice(v_topics, p_org_id, p_agent_id, v_live);
    SELECT array_agg(coalesce(e.value ->> 'canonical', e.value ->> 'surface') ORDER BY e.place),
           array_agg(e.value ->> 'canonical') FILTER (WHERE e.value ->> 'canonical' <> '')
      INTO v_names, v_subjects
      FROM jsonb_array_elements(v_found.entities) WITH ORDINALITY AS e(value, place)
     WHERE e.place <= 5;
    v_predicates := ARRAY(SELECT k.name FROM unnest(v_known) AS k WHERE k.sort = 'attribute');
    v_subject := CASE WHEN cardinality(v_subjects) = 1 THEN v_subjects[1]
        WHEN v_subjects IS NULL AND v_pronoun IS NOT NULL AND NOT v_found.person
        THEN v_found.user_subject END;
    v_hint := mnemo._planner_hint(v_predicates, v_subject, p_org_id, p_agent_id, v_live);
    RETURN jsonb_build_object(
        'requires_memory', true,
        'confidence', CASE
            WHEN v_names IS NOT NULL OR v_intent = 'explicit_recall' OR v_found.person
            THEN 0.85 ELSE 0.6 END,
        'intent', v_intent,
        'entities', v_found.entities,
        'topics', to_jsonb(v_topics),
        'predicates', to_jsonb(v_predicates),
        'lexical_queries', mnemo._planner_queries(
            v_names, v_topics,
            coalesce(v_pronoun, CASE WHEN v_general THEN mnemo._planner_question(v_read.terms) END),
            mnemo._strangers(p_text)),
        'subject_hint', CASE WHEN v_hint IS NOT NULL THEN v_subject END,
        'predicate_hint', v_hint,
        'temporal', CASE WHEN v_window.label IS NOT NULL THEN jsonb_build_object(
            'after', mnemo._instant_text(v_window.since),
            'before', mnemo._instant_text(v_window.before),
            'label', v_window.label) END
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._planned(text, text, text, timestamptz) IS
    'What a text wants from the memory that the agent may read: the fields of a retrieval plan; '
    'none for a text that wants nothing.';

CREATE FUNCTION mnemo._turn_problem(
    p_parameter text,
    p_value bigint
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (p_value >= 0) IS NOT TRUE THEN mnemo._argument(
    p_parameter,
    p_parameter || ' must be an integer from 0 to 9223372036854775807; got '
        || coalesce(p_value::text, 'NULL'),
    'number the turns of a conversation and the plans of a turn from 0'
) END;
COMMENT ON FUNCTION mnemo._turn_problem(text, bigint) IS
    'The problem of a number of a turn or of a generation that is NULL or negative; NULL for '
    'none.';

CREATE FUNCTION mnemo.plan_retrieval(
    p_text text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_turn_id bigint DEFAULT 0,
    p_generation bigint DEFAULT 0,
    p_now timestamptz DEFAULT now()
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN p_text IS NULL THEN mnemo._argument('p_text',
            'p_text must not be NULL', 'a blank text gives a plan that searches nothing') END,
        mnemo._turn_problem('p_turn_id', p_turn_id),
        mnemo._turn_problem('p_generation', p_generation),
        mnemo._time_problem('p_now', p_now),
        mnemo._length_problem('p_text', p_text, 100000)
    ]));
    RETURN mnemo._retrieval_plan(
        mnemo._planned(p_text, v_caller.org_id, v_caller.agent_id, coalesce(p_now, now()))
        || jsonb_build_object(
            'turn_id', p_turn_id,
            'generation', p_generation,
            'source_transcript_hash', mnemo._stable_hash(p_text)
        ));
END
$fn$;
COMMENT ON FUNCTION mnemo.plan_retrieval(text, text, text, bigint, bigint, timestamptz) IS
    'The retrieval plan of a text, made by rules without a model: the same text, memory and time '
    'give the same plan. entities: the names that the memory which the acting agent may read has '
    'for subjects, entities and aliases, found as whole words of at most six, longest first, with '
    'the subject that they stand for. topics: the other words, but for function words and words '
    'of asking, eight at most; of longer texts those that this memory knows come first. '
    'predicates: those of this memory that the text names. temporal: the first time words as a '
    'window in UTC relative to p_now; weeks begin on Monday. lexical_queries: names and topics, '
    'topics, names. intent: explicit_recall, personal_recommendation, comparison, '
    'prior_event_reference, relationship_reference or ambient, in this precedence; confidence '
    '0.85 with a known name, a person in the user''s life or explicit recall, else 0.6. A text '
    'without topic and name, a blank one too, gives a plan that searches nothing. English word '
    'lists; words of other languages are topics. p_turn_id, p_generation: of the plan, from 0. '
    'p_now moves only the window and what is not valid or expired by then; NULL, the time of the '
    'transaction. Another NULL is refused. Errors: 42501 access; 22023 NULL, a negative number, a '
    'time that is infinite or not before the year 10,000; 54000 over 100,000 characters.';
