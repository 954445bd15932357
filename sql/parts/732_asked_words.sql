CREATE FUNCTION mnemo._widest(
    p_first integer[],
    p_second integer[],
    p_third integer[]
)
RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_remove(ARRAY[
    CASE WHEN p_first IS NOT NULL
        AND (p_first <@ p_second AND NOT p_second <@ p_first) IS NOT TRUE
        AND (p_first <@ p_third AND NOT p_third <@ p_first) IS NOT TRUE THEN 1 END,
    CASE WHEN p_second IS NOT NULL
        AND (p_second <@ p_first AND NOT p_first <@ p_second) IS NOT TRUE
        AND (p_second <@ p_third AND NOT p_third <@ p_second) IS NOT TRUE THEN 2 END,
    CASE WHEN p_third IS NOT NULL
        AND (p_third <@ p_first AND NOT p_first <@ p_third) IS NOT TRUE
        AND (p_third <@ p_second AND NOT p_second <@ p_third) IS NOT TRUE THEN 3 END
], NULL);
COMMENT ON FUNCTION mnemo._widest(integer[], integer[], integer[]) IS
    'The numbers of those of three sets that are within no larger one; NULL for an empty set.';

CREATE FUNCTION mnemo._asked_words(
    p_asked mnemo._question,
    p_people mnemo._people,
    p_text text,
    p_spoken text[],
    p_meant text[],
    p_entities integer,
    p_predicates integer
)
RETURNS mnemo._question
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_first integer[];
    v_second integer[];
    v_third integer[];
    v_topics integer[];
BEGIN
    WITH form AS MATERIALIZED (
        SELECT t.place::integer AS slot, t.word, t.strength, t.term, t.factor, t.evidence
          FROM mnemo._question_terms(p_text) AS t
    ), word AS MATERIALIZED (
        -- A known name asks once.
        SELECT o.slot, o.word, o.strength, o.subject
          FROM (
            SELECT f.slot, f.word, max(f.strength) AS strength, (
                    SELECT max(n.subject)
                      FROM unnest(p_people.names, p_people.subjects) AS n(name, subject)
                     WHERE f.word = ANY (string_to_array(n.name, ' '))) AS subject
              FROM form AS f
             GROUP BY f.slot, f.word
          ) AS o
         WHERE o.slot < 4000 OR o.subject IS NULL
    ), usage AS MATERIALIZED (
        SELECT q.ranking, w.slot,
               w.strength = 2 OR w.subject IS NOT NULL
               OR w.strength = 1 AND p_meant[q.ranking] IS DISTINCT FROM 'partner'
                   AND NOT bool_or(w.strength = 2 OR w.subject IS NOT NULL)
                           OVER (PARTITION BY q.ranking) AS asks
          FROM (
            SELECT unnest(p_spoken) AS words, generate_subscripts(p_spoken, 1) AS ranking
          ) AS q
          JOIN word AS w ON strpos(q.words, ' ' || w.word || ' ') > 0
        UNION ALL
        SELECT q.ranking, 9000, true
          FROM generate_subscripts(p_meant, 1) AS q(ranking)
         WHERE p_meant[q.ranking] = 'partner' AND p_people.partner IS NOT NULL
        UNION ALL
        SELECT 5, 10000 + e.place, false FROM generate_series(1, p_entities) AS e(place)
        UNION ALL
        SELECT 6, 20000 + e.place, false FROM generate_series(1, p_predicates) AS e(place)
    ), person AS MATERIALIZED (
        SELECT w.slot, w.subject FROM word AS w WHERE w.subject IS NOT NULL
        UNION ALL
        SELECT 9000, p_people.partner WHERE p_people.partner IS NOT NULL
    )
    SELECT a.terms, a.slots, a.factors, a.evidences, u.rankings, u.slots, u.factors, u.asks,
           u.first, u.second, u.third, u.topics, ARRAY(SELECT p.slot FROM person AS p)
      INTO p_asked.terms, p_asked.slots, p_asked.scores, p_asked.evidences, p_asked.rankings,
           p_asked.ranking_slots, p_asked.factors, p_asked.asks, v_first, v_second, v_third,
           v_topics, p_asked.persons
      FROM (
        SELECT array_agg(r.term) AS terms, array_agg(r.slot) AS slots,
               array_agg(r.factor) AS factors, array_agg(r.evidence) AS evidences
          FROM (
            SELECT f.term, f.slot, f.factor, f.evidence FROM form AS f
            UNION ALL
            SELECT t.term, p.slot, t.factor, t.evidence
              FROM person AS p
              CROSS JOIN LATERAL (VALUES
                (mnemo._about_term(p.subject), (mnemo._retrieval_rules()).about_factor,
                    1::double precision),
                (mnemo._name_term(p.subject), 0.5 * (mnemo._retrieval_rules()).about_factor,
                    0.9::double precision)
              ) AS t(term, factor, evidence)
          ) AS r
      ) AS a
      CROSS JOIN (
        SELECT array_agg(g.ranking) AS rankings, array_agg(g.slot) AS slots,
               array_agg(CASE WHEN g.asks OR g.slot > 9000 THEN 1
                    ELSE (mnemo._retrieval_rules()).weak_factor END) AS factors,
               array_agg(g.asks) AS asks,
               array_agg(g.slot) FILTER (WHERE g.asks AND g.ranking = 1) AS first,
               array_agg(g.slot) FILTER (WHERE g.asks AND g.ranking = 2) AS second,
               array_agg(g.slot) FILTER (WHERE g.asks AND g.ranking = 3) AS third,
               array_agg(g.slot) FILTER (WHERE g.asks AND g.ranking = 4) AS topics
          FROM usage AS g
      ) AS u;
    p_asked.asking := v_first || v_second || v_third || v_topics;
    p_asked.admits := mnemo._widest(v_first, v_second, v_third);
    p_asked.asked := ARRAY[cardinality(v_first), cardinality(v_second), cardinality(v_third),
        cardinality(v_topics)];
    p_asked.beyond := ARRAY[NOT v_first <@ p_asked.persons, NOT v_second <@ p_asked.persons,
        NOT v_third <@ p_asked.persons, NOT v_topics <@ p_asked.persons];
    RETURN p_asked;
END
$fn$;
COMMENT ON FUNCTION mnemo._asked_words(
    mnemo._question, mnemo._people, text, text[], text[], integer, integer
) IS
    'A question with what the words of a plan ask for: the terms that answer them (in scores how '
    'much each counts), and what each ranking adds up. p_text: all queries and topics; p_spoken: '
    'the words of each, with one space around each word; p_meant: whom each means; the last two: '
    'how many entities and predicates there are.';
