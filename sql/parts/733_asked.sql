CREATE FUNCTION mnemo._asked_facets(
    p_asked mnemo._question,
    p_people mnemo._people,
    p_plan jsonb,
    p_about text[],
    p_meant text[]
)
RETURNS mnemo._question
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_terms bigint[] := '{}';
    v_slots integer[] := '{}';
    v_name text;
    v_subject text;
    v_place integer := 0;
BEGIN
    FOREACH v_name IN ARRAY p_people.forms LOOP
        v_place := v_place + 1;
        CONTINUE WHEN v_name IS NULL OR v_name = p_people.forms[v_place - 1] AND v_place % 2 = 0;
        v_terms := v_terms || mnemo._name_term(v_name);
        v_slots := v_slots || (10000 + (v_place + 1) / 2);
        v_subject := p_people.subjects[array_position(p_people.names, v_name)];
        IF v_subject <> v_name THEN
            v_terms := v_terms || mnemo._name_term(v_subject);
            v_slots := v_slots || (10000 + (v_place + 1) / 2);
        END IF;
    END LOOP;
    FOR v_place IN 1 .. jsonb_array_length(p_plan -> 'predicates') LOOP
        v_terms := v_terms || mnemo._attribute_term(p_plan -> 'predicates' ->> (v_place - 1));
        v_slots := v_slots || (20000 + v_place);
    END LOOP;
    IF p_people.hint IS NOT NULL OR p_asked.predicate IS NOT NULL THEN
        v_terms := v_terms || CASE
            WHEN p_asked.predicate IS NULL THEN mnemo._about_term(p_people.hint)
            WHEN p_people.hint IS NULL THEN mnemo._attribute_term(p_asked.predicate)
            ELSE mnemo._pair_term(p_people.hint, p_asked.predicate) END;
        v_slots := v_slots || 30000;
    END IF;
    IF p_people.hint IS NOT NULL THEN
        v_terms := v_terms || mnemo._about_term(p_people.hint);
        v_slots := v_slots || 40002;
    END IF;
    p_asked.own := '{}';
    FOREACH v_name IN ARRAY p_about LOOP
        p_asked.own := p_asked.own || mnemo._about_term(v_name);
    END LOOP;
    v_terms := v_terms || p_asked.own;
    v_slots := v_slots || array_fill(40000, ARRAY[cardinality(p_asked.own)]);
    IF p_people.names IS NOT NULL AND 'user' = ANY (p_meant) THEN
        v_terms := v_terms || mnemo._about_term('user');
        v_slots := v_slots || 40001;
    END IF;
    p_asked.terms := p_asked.terms || v_terms;
    p_asked.slots := p_asked.slots || v_slots;
    p_asked.scores := p_asked.scores
        || array_fill(1::double precision, ARRAY[cardinality(v_terms)]);
    p_asked.evidences := p_asked.evidences
        || array_fill(0::double precision, ARRAY[cardinality(v_terms)]);
    RETURN p_asked;
END
$fn$;
COMMENT ON FUNCTION mnemo._asked_facets(
    mnemo._question, mnemo._people, jsonb, text[], text[]
) IS
    'A question with the terms of entities, predicates and hints, and of those about whom the plan '
    'is (p_about). p_meant: whom each query means.';

CREATE FUNCTION mnemo._asked_lists(
    p_asked mnemo._question,
    p_org_id text,
    p_global boolean
)
RETURNS mnemo._question
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    WITH change AS MATERIALIZED (
        SELECT c.records, c.length, c.terms, c.counts, c.terms && p_asked.terms AS asked
          FROM mnemo.term_change AS c
         WHERE c.org_id = p_org_id
    ), total AS MATERIALIZED (
        SELECT coalesce(sum(s.records), 0)::double precision AS records,
               coalesce(sum(s.length), 0)::double precision AS length
          FROM (
            SELECT t.records, t.length FROM mnemo.term_total AS t WHERE t.org_id = p_org_id
            UNION ALL
            SELECT c.records, c.length FROM change AS c
          ) AS s
    ), answer AS MATERIALIZED (
        SELECT f.term, f.slot, f.evidence,
               f.factor * mnemo._inverse_frequency(f.records, t.records) AS score,
               -- A list that no record of the organisation is in is read for global ones only.
               (f.records > 0 OR p_global) AND f.slot < 40000
               AND (f.slot >= 9000 OR f.slot = ANY (p_asked.asking)) AS reads
          FROM (
            SELECT a.term, a.slot, a.factor, a.evidence, (coalesce((
                        SELECT q.records FROM mnemo.term_frequency AS q
                         WHERE q.org_id = p_org_id AND q.term = a.term
                    ), 0) + coalesce((
                        SELECT sum(c.counts[array_position(c.terms, a.term)])
                          FROM change AS c WHERE c.asked
                    ), 0))::double precision AS records
              FROM (
                SELECT unnest(p_asked.terms) AS term, unnest(p_asked.slots) AS slot,
                       unnest(p_asked.scores) AS factor, unnest(p_asked.evidences) AS evidence
              ) AS a
            OFFSET 0
          ) AS f
          CROSS JOIN total AS t
    )
    SELECT a.terms, a.slots, a.scores, a.evidences, l.terms, l.scores, l.slots,
           (SELECT CASE WHEN t.length > 0 THEN t.length / t.records ELSE 10 END FROM total AS t)
      INTO p_asked.terms, p_asked.slots, p_asked.scores, p_asked.evidences, p_asked.lists,
           p_asked.list_scores, p_asked.list_slots, p_asked.average_length
      FROM (
        SELECT array_agg(r.term) AS terms, array_agg(r.slot) AS slots,
               array_agg(r.score) AS scores, array_agg(r.evidence) AS evidences
          FROM answer AS r
      ) AS a
      CROSS JOIN (
        SELECT array_agg(d.term) AS terms, array_agg(d.score) AS scores,
               array_agg(d.slot) AS slots
          FROM (
            -- Records about whom the plan means rank before others with the same words: so do
            -- their lists.
            SELECT DISTINCT ON (o.term) o.term, o.score, o.slot
              FROM (
                SELECT CASE WHEN w.about IS NULL THEN t.term
                       ELSE mnemo._own_term(w.about, t.term) END AS term, t.slot,
                       t.score * CASE
                           WHEN w.about IS NOT NULL THEN (mnemo._retrieval_rules()).own_factor
                           WHEN NOT p_asked.preferred OR t.slot >= 9000 THEN 1
                           WHEN t.term = ANY (p_asked.own)
                           THEN (mnemo._retrieval_rules()).own_factor
                           ELSE (mnemo._retrieval_rules()).other_factor END AS score
                  FROM answer AS t
                  CROSS JOIN (SELECT unnest(array_prepend(NULL::bigint, p_asked.own)) AS about) AS w
                 WHERE t.reads AND (w.about IS NULL OR t.slot < 9000)
              ) AS o
             ORDER BY o.term, o.score DESC, o.slot
          ) AS d
      ) AS l;
    RETURN p_asked;
END
$fn$;
COMMENT ON FUNCTION mnemo._asked_lists(mnemo._question, text, boolean) IS
    'A question with the scores of its terms, of which it has the factors, times their inverse '
    'document frequency as _query_terms has it, and with the lists to read.';

CREATE FUNCTION mnemo._asked(
    p_plan jsonb,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_audiences bigint[],
    p_places bigint[]
)
RETURNS mnemo._question
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_asked mnemo._question;
    v_people mnemo._people;
    v_topics text;
    v_text text;
    v_words text[];
    v_queries text[] := '{}';
    v_spoken text[] := '{}';
    v_meant text[] := '{}';
    v_about text[];
BEGIN
    FOR v_place IN 0 .. jsonb_array_length(p_plan -> 'topics') - 1 LOOP
        v_topics := concat_ws(' ', v_topics, p_plan -> 'topics' ->> v_place);
    END LOOP;
    FOR v_ranking IN 1 .. 4 LOOP
        -- What is between white space may be as long as a plan, and is many words to the index.
        v_text := left(CASE v_ranking WHEN 4 THEN v_topics
            ELSE p_plan -> 'lexical_queries' ->> (v_ranking - 1) END, 2000);
        CONTINUE WHEN v_text IS NULL;
        v_words := mnemo._terms(v_text);
        v_queries[v_ranking] := v_text;
        v_spoken[v_ranking] := ' ' || array_to_string(v_words, ' ') || ' ';
        v_meant[v_ranking] := mnemo._meant_by(v_words);
    END LOOP;
    v_people := mnemo._asked_names(p_plan, v_queries[1:3], v_meant[1:3], p_org_id, p_agent_id,
        p_now, p_audiences, p_places);
    v_about := array_remove(v_people.subjects || v_people.partner
        || CASE WHEN v_people.of_user THEN 'user' END, NULL);
    v_asked.predicate := p_plan ->> 'predicate_hint';
    v_asked.preferred := cardinality(v_about) > 0;
    v_asked.meant := v_asked.preferred AND (NOT v_people.of_user OR v_people.speaks);
    v_asked.of_user := v_people.of_user;
    v_asked.general := 'general' = ANY (v_meant[1:3]) AND NOT v_asked.meant;
    v_asked.pair := v_people.hint IS NOT NULL AND v_asked.predicate IS NOT NULL;
    v_asked := mnemo._asked_words(v_asked, v_people, array_to_string(v_queries, ' '), v_spoken,
        v_meant, jsonb_array_length(p_plan -> 'entities'),
        jsonb_array_length(p_plan -> 'predicates'));
    v_asked := mnemo._asked_facets(v_asked, v_people, p_plan, v_about, v_meant[1:3]);
    RETURN mnemo._asked_lists(v_asked, p_org_id, 4 = ANY (p_places));
END
$fn$;
COMMENT ON FUNCTION mnemo._asked(jsonb, text, text, timestamptz, bigint[], bigint[]) IS
    'What a plan in normal form asks for, in the words and names of the records that the agent may '
    'read: of each query, and of all topics, the first 2,000 characters.';
