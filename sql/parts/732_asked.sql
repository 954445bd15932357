CREATE FUNCTION mnemo._inverse_frequencies(
    p_terms bigint[],
    p_org_id text,
    OUT idfs double precision[],
    OUT records double precision[],
    OUT average_length double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    WITH change AS MATERIALIZED (
        SELECT c.records, c.length, c.terms, c.counts, c.terms && p_terms AS asked
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
    )
    SELECT array_agg(ln(1 + (t.records - f.records + 0.5) / (f.records + 0.5)) ORDER BY f.place),
           array_agg(f.records ORDER BY f.place),
           max(CASE WHEN t.length > 0 THEN t.length / t.records ELSE 10 END)
      INTO idfs, records, average_length
      FROM (
        SELECT a.place, (coalesce((
                    SELECT q.records FROM mnemo.term_frequency AS q
                     WHERE q.org_id = p_org_id AND q.term = a.term
                ), 0) + coalesce((
                    SELECT sum(c.counts[array_position(c.terms, a.term)])
                      FROM change AS c WHERE c.asked
                ), 0))::double precision AS records
          FROM unnest(p_terms) WITH ORDINALITY AS a(term, place)
        OFFSET 0
      ) AS f
      CROSS JOIN total AS t;
END
$fn$;
COMMENT ON FUNCTION mnemo._inverse_frequencies(bigint[], text) IS
    'The inverse document frequency of each term, the number of records that have it, and the '
    'average length, as _query_terms has them.';

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
    v_rules mnemo._retrieval_numbers := mnemo._retrieval_rules();
    -- What is between white space may be as long as a plan, and is many words to the index.
    v_queries text[] := ARRAY(
        SELECT left(e.text, 2000)
          FROM jsonb_array_elements_text(p_plan -> 'lexical_queries') AS e(text));
    v_topics text := (
        SELECT left(string_agg(e.text, ' '), 2000)
          FROM jsonb_array_elements_text(p_plan -> 'topics') AS e(text));
    v_asked mnemo._question;
    v_factors double precision[];
    v_reads boolean[];
    v_own bigint[];
BEGIN
    v_asked.predicate := p_plan ->> 'predicate_hint';
    WITH  query AS MATERIALIZED (
        SELECT w.ranking, w.words, mnemo._meant_by(w.words) AS meant
          FROM (
            SELECT q.ranking::integer AS ranking, mnemo._terms(q.text) AS words
              FROM unnest(v_queries || array_fill(NULL::text, ARRAY[3 - cardinality(v_queries)])
                    || v_topics) WITH ORDINALITY AS q(text, ranking)
             WHERE q.text IS NOT NULL
            OFFSET 0
          ) AS w
    ), name AS MATERIALIZED (
        SELECT n.name, n.subject, n.origin
          FROM mnemo._asked_names(
                p_plan, v_queries, ARRAY(SELECT q.meant FROM query AS q WHERE q.ranking <= 3),
                p_org_id, p_agent_id, p_now, p_audiences, p_places) AS n
    ), form AS MATERIALIZED (
        SELECT t.place::integer AS slot, t.word, t.strength, t.term, t.factor, t.evidence
          FROM mnemo._question_terms(array_to_string(v_queries || v_topics, ' ')) AS t
    ), word AS MATERIALIZED (
        SELECT f.slot, f.word, max(f.strength) AS strength, max(n.subject) AS subject
          FROM form AS f
          LEFT JOIN name AS n
            ON n.origin = 'said' AND f.word = ANY (string_to_array(n.name, ' '))
         GROUP BY f.slot, f.word
        -- A known name asks once.
        HAVING f.slot < 4000 OR max(n.subject) IS NULL
    ), usage AS MATERIALIZED (
        SELECT u.ranking, u.slot, u.asks, CASE WHEN u.asks THEN 1 ELSE v_rules.weak_factor END
               AS factor
          FROM (
            SELECT q.ranking, w.slot,
                   w.strength = 2 OR w.subject IS NOT NULL
                   OR w.strength = 1 AND q.meant IS DISTINCT FROM 'partner'
                       AND NOT bool_or(w.strength = 2 OR w.subject IS NOT NULL)
                               OVER (PARTITION BY q.ranking) AS asks
              FROM query AS q
              JOIN word AS w ON w.word = ANY (q.words)
            UNION ALL
            SELECT q.ranking, 9000, true
              FROM query AS q
             WHERE q.meant = 'partner' AND EXISTS (SELECT FROM name AS n WHERE n.origin = 'partner')
          ) AS u
        UNION ALL
        SELECT 5, 10000 + e.place::integer, false, 1
          FROM jsonb_array_elements(p_plan -> 'entities') WITH ORDINALITY AS e(entity, place)
        UNION ALL
        SELECT 6, 20000 + e.place::integer, false, 1
          FROM jsonb_array_elements_text(p_plan -> 'predicates') WITH ORDINALITY AS e(name, place)
    ), answer AS MATERIALIZED (
        SELECT f.term, f.slot, f.factor, f.evidence,
               EXISTS (SELECT FROM usage AS u WHERE u.slot = f.slot AND u.asks) AS reads
          FROM form AS f
        UNION ALL
        SELECT t.term, p.slot, t.factor, t.evidence, true
          FROM (
            SELECT w.slot, w.subject FROM word AS w WHERE w.subject IS NOT NULL
            UNION ALL
            SELECT 9000, n.subject FROM name AS n WHERE n.origin = 'partner'
          ) AS p
          CROSS JOIN LATERAL (VALUES
            (mnemo._about_term(p.subject), v_rules.about_factor, 1),
            (mnemo._name_term(p.subject), 0.5 * v_rules.about_factor, 0.9)
          ) AS t(term, factor, evidence)
        UNION ALL
        SELECT mnemo._name_term(f.name), 10000 + e.place::integer, 1, 0, true
          FROM jsonb_array_elements(p_plan -> 'entities') WITH ORDINALITY AS e(entity, place)
          CROSS JOIN LATERAL (
            SELECT mnemo._fold_name(e.entity ->> 'surface') AS name
            UNION
            SELECT mnemo._fold_name(e.entity ->> 'canonical')
            UNION
            SELECT n.subject FROM name AS n
             WHERE n.origin = 'said' AND n.name IN (mnemo._fold_name(e.entity ->> 'surface'),
                mnemo._fold_name(e.entity ->> 'canonical'))
          ) AS f
         WHERE f.name IS NOT NULL
        UNION ALL
        SELECT mnemo._attribute_term(e.name), 20000 + e.place::integer, 1, 0, true
          FROM jsonb_array_elements_text(p_plan -> 'predicates') WITH ORDINALITY AS e(name, place)
        UNION ALL
        SELECT mnemo._pair_term(n.subject, v_asked.predicate), 30000, 1, 0, true
          FROM name AS n WHERE n.origin = 'hint' AND v_asked.predicate IS NOT NULL
        UNION ALL
        SELECT mnemo._about_term(n.subject), 30000, 1, 0, true
          FROM name AS n WHERE n.origin = 'hint' AND v_asked.predicate IS NULL
        UNION ALL
        SELECT mnemo._attribute_term(v_asked.predicate), 30000, 1, 0, true
         WHERE v_asked.predicate IS NOT NULL
           AND NOT EXISTS (SELECT FROM name AS n WHERE n.origin = 'hint')
        UNION ALL
        SELECT mnemo._about_term(n.subject), 40000, 1, 0, false
          FROM name AS n WHERE n.origin <> 'hint'
        UNION ALL
        SELECT mnemo._about_term('user'), 40001, 1, 0, false
         WHERE EXISTS (SELECT FROM name AS n WHERE n.origin = 'said')
           AND EXISTS (SELECT FROM query AS q WHERE q.meant = 'user' AND q.ranking <= 3)
    ), sought AS (
        SELECT array_agg(u.slot ORDER BY u.slot) FILTER (WHERE u.asks) AS slots, u.ranking
          FROM usage AS u
         WHERE u.ranking <= 3
         GROUP BY u.ranking
    )
    SELECT a.terms, a.slots, a.factors, a.evidences, a.reads, u.rankings, u.slots, u.factors,
           u.asks,
           ARRAY(
                SELECT s.ranking FROM sought AS s
                 WHERE s.slots IS NOT NULL AND NOT EXISTS (
                    SELECT FROM sought AS o WHERE s.slots <@ o.slots AND NOT o.slots <@ s.slots)),
           ARRAY(
                SELECT w.slot FROM word AS w WHERE w.subject IS NOT NULL
                UNION ALL
                SELECT 9000 FROM name AS n WHERE n.origin = 'partner'),
           EXISTS (SELECT FROM name AS n WHERE n.origin <> 'hint'),
           EXISTS (SELECT FROM name AS n WHERE n.origin IN ('said', 'partner', 'user')),
           EXISTS (SELECT FROM name AS n WHERE n.origin IN ('user', 'nobody')),
           EXISTS (SELECT FROM name AS n WHERE n.origin = 'hint')
               AND v_asked.predicate IS NOT NULL,
           ARRAY(SELECT n.subject FROM name AS n WHERE n.origin = 'hint'),
           EXISTS (SELECT FROM query AS q WHERE q.meant = 'general' AND q.ranking <= 3)
               AND NOT EXISTS (
                    SELECT FROM name AS n WHERE n.origin IN ('said', 'partner', 'user')),
           ARRAY(SELECT mnemo._about_term(n.subject) FROM name AS n WHERE n.origin <> 'hint')
      INTO v_asked.terms, v_asked.slots, v_factors, v_asked.evidences, v_reads, v_asked.rankings,
           v_asked.ranking_slots, v_asked.factors, v_asked.asks, v_asked.admits, v_asked.persons,
           v_asked.preferred, v_asked.meant, v_asked.of_user, v_asked.pair, v_asked.subjects,
           v_asked.general, v_own
      FROM (
        SELECT array_agg(r.term) AS terms, array_agg(r.slot) AS slots,
               array_agg(r.factor) AS factors, array_agg(r.evidence) AS evidences,
               array_agg(r.reads) AS reads
          FROM answer AS r
      ) AS a
      CROSS JOIN (
        SELECT array_agg(g.ranking) AS rankings, array_agg(g.slot) AS slots,
               array_agg(g.factor) AS factors, array_agg(g.asks) AS asks
          FROM usage AS g
      ) AS u;
    -- A list that no record of the organisation is in is read for global ones only.
    SELECT array_agg(i.idf * i.factor ORDER BY i.place),
           array_agg(i.reads AND (i.records > 0 OR 4 = ANY (p_places)) ORDER BY i.place),
           max(f.average_length)
      INTO v_asked.scores, v_reads, v_asked.average_length
      FROM mnemo._inverse_frequencies(v_asked.terms, p_org_id) AS f
      CROSS JOIN LATERAL unnest(f.idfs, f.records, v_factors, v_reads)
        WITH ORDINALITY AS i(idf, records, factor, reads, place);
    -- Records about whom the plan means rank before others with the same words: so do their lists.
    SELECT array_agg(l.term), array_agg(l.score), array_agg(l.slot)
      INTO v_asked.lists, v_asked.list_scores, v_asked.list_slots
      FROM (
        SELECT DISTINCT ON (o.term) o.term, o.score, o.slot
          FROM (
            SELECT t.term, t.slot, t.score * CASE
                       WHEN NOT v_asked.preferred OR t.slot >= 9000 THEN 1
                       WHEN t.term = ANY (v_own) THEN v_rules.own_factor
                       ELSE v_rules.other_factor END AS score
              FROM unnest(v_asked.terms, v_asked.slots, v_asked.scores, v_reads)
                AS t(term, slot, score, reads)
             WHERE t.reads
            UNION ALL
            SELECT mnemo._own_term(w.about, t.term), t.slot, t.score * v_rules.own_factor
              FROM unnest(v_asked.terms, v_asked.slots, v_asked.scores, v_reads)
                AS t(term, slot, score, reads)
              CROSS JOIN unnest(v_own) AS w(about)
             WHERE t.reads AND t.slot < 9000
          ) AS o
         ORDER BY o.term, o.score DESC, o.slot
      ) AS l;
    RETURN v_asked;
END
$fn$;
COMMENT ON FUNCTION mnemo._asked(jsonb, text, text, timestamptz, bigint[], bigint[]) IS
    'What a plan in normal form asks for, in the words and names of the records that the agent may '
    'read: of each query, and of all topics, the first 2,000 characters.';
