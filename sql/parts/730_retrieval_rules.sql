-- Executing a retrieval plan. What a plan asks for becomes slots: a slot is a word, an entity, a
-- predicate or the pair of the hints, with the terms that may answer it. The lists of the terms
-- give candidates, which are few; these are scored slot by slot from their own terms, and each
-- ranking of the fusion adds up the slots that belong to it.

CREATE TYPE mnemo._retrieval_rules AS (
    list_cap bigint,
    candidates bigint,
    k double precision,
    semantic_weight double precision,
    semantic_evidence double precision,
    least_evidence double precision,
    least_of_kind double precision,
    relative_evidence double precision,
    content_evidence double precision,
    person_alone double precision,
    other_evidence double precision,
    other_factor double precision,
    own_factor double precision,
    weak_factor double precision,
    about_factor double precision
);
COMMENT ON TYPE mnemo._retrieval_rules IS 'The numbers of mnemo._retrieval_rules().';

CREATE FUNCTION mnemo._retrieval_rules()
RETURNS mnemo._retrieval_rules
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(64, 64, 60, 2, 0.5, 0.41, 0.12, 0.6, 0.7, 0.5, 0.5, 0.3, 1.3, 0.3, 0.7)
    ::mnemo._retrieval_rules;
COMMENT ON FUNCTION mnemo._retrieval_rules() IS
    'The numbers by which plans are executed. list_cap: entries read of each list; candidates: '
    'records that are scored; k: of the fusion; semantic_weight: of the ranking by embeddings, '
    'others have 1; semantic_evidence: similarity from which a record needs no words; '
    'least_evidence, least_of_kind, relative_evidence: share of a query''s words that a record '
    'must answer, the same where kinds are asked for, and share of what the best record answers; '
    'content_evidence: factor of the evidence of a word that stands in the content alone; '
    'person_alone: factor of the evidence of a record that answers nothing but the name of a '
    'query that asks for more; other_evidence, other_factor: factors for records about and naming '
    'somebody else than the query; own_factor: for records about whom it means; weak_factor: for '
    'words that ask for nothing; about_factor: of a name as the subject.';

CREATE TYPE mnemo._asked AS (
    terms bigint[],
    slots integer[],
    scores double precision[],
    evidences double precision[],
    lists bigint[],
    list_scores double precision[],
    list_slots integer[],
    rankings integer[],
    ranking_slots integer[],
    factors double precision[],
    asks boolean[],
    admits integer[],
    persons integer[],
    average_length double precision,
    preferred boolean,
    meant boolean,
    pair boolean,
    subjects text[],
    predicate text
);
COMMENT ON TYPE mnemo._asked IS
    'What a plan asks for. terms, slots, scores, evidences: the terms that answer slots, with idf '
    'times factor and what a hit is evidence of; lists, list_scores, list_slots: the lists to '
    'read; rankings, '
    'ranking_slots, factors, asks: which slots a ranking adds up, and whether a hit is evidence; '
    'admits: the rankings whose evidence admits; persons: the slots that names are in; preferred: '
    'whether some subject ranks first; meant: whether the plan means it, by name or pronoun; '
    'pair: whether both hints are there; subjects: whom the subject hint means; predicate: the '
    'hint.';

-- The numbers of slots: words by their place from 1, whom a pronoun means 9000, entities from
-- 10001, predicates from 20001, the hints 30000, records about whom the plan means 40000.

CREATE FUNCTION mnemo._known_names(
    p_names text[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_audiences bigint[],
    p_places bigint[]
)
RETURNS TABLE (name text, subject text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT n.name, a.audience, a.place, p.weight, p.memory_id
          FROM unnest(p_names) AS n(name)
          CROSS JOIN unnest(p_audiences, p_places) AS a(audience, place)
          CROSS JOIN LATERAL (
            SELECT t.weight, t.memory_id
              FROM mnemo.term_posting AS t
             WHERE t.org_id = CASE a.place WHEN 4 THEN '*' ELSE p_org_id END
               AND t.key = a.audience # mnemo._name_term(n.name)
             ORDER BY t.weight DESC, t.shortness DESC, t.memory_id DESC
             LIMIT 32
          ) AS p
    ), itself AS MATERIALIZED (
        SELECT DISTINCT k.name FROM known AS k WHERE k.weight >= 30
    )
    SELECT i.name, i.name FROM itself AS i
    UNION ALL
    SELECT f.name, min(f.subject)
      FROM (
        SELECT k.name, mnemo._fold_name(m.subject) COLLATE "C" AS subject
          FROM known AS k
          CROSS JOIN LATERAL mnemo._recallable_record(
                k.place, k.audience, k.memory_id, p_org_id, p_agent_id, p_now, NULL) AS m
         WHERE NOT EXISTS (SELECT FROM itself AS i WHERE i.name = k.name)
           AND m.subject IS NOT NULL
      ) AS f
     GROUP BY f.name
    HAVING min(f.subject) = max(f.subject);
END
$fn$;
COMMENT ON FUNCTION mnemo._known_names(text[], text, text, timestamptz, bigint[], bigint[]) IS
    'Those of the names, given as _fold_name gives them, that mean one subject of the records that '
    'the agent may read, and that subject: the name itself, or the only subject of the first 32 '
    'records that have it as an alias or entity. p_places: which audience each is, as _recallable '
    'counts them.';

CREATE FUNCTION mnemo._boosts(
    p_source_type text,
    p_confidence double precision,
    p_kind text,
    p_valid_from timestamptz,
    p_now timestamptz
)
RETURNS TABLE (factor double precision, boosts jsonb)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT b.source * b.confidence * b.doubt * b.recency,
           jsonb_build_object('source', b.source, 'confidence', b.confidence, 'doubt', b.doubt,
               'recency', b.recency)
      FROM (
        SELECT CASE WHEN p_source_type IN ('human', 'user_input') THEN 1.1 ELSE 1.0 END
                   ::double precision AS source,
               coalesce(0.7 + 0.6 * p_confidence, 1) AS confidence,
               CASE WHEN p_confidence < 0.5 THEN 0.7 ELSE 1.0 END::double precision AS doubt,
               CASE WHEN p_kind = 'episodic'
               THEN 0.5 + 0.5 * exp(
                    -least(greatest(
                        extract(epoch FROM p_now - p_valid_from)::double precision / 86400,
                        0), 7000)
                    / 14)
               ELSE 1 END AS recency
      ) AS b;
END;
COMMENT ON FUNCTION mnemo._boosts(text, double precision, text, timestamptz, timestamptz) IS
    'What multiplies the score of a record: source 1.1 for an explicit one (human, user_input); '
    'confidence 0.7 + 0.6 times it, 1 where it is unknown; doubt 0.7 for a confidence under 0.5; '
    'recency 0.5 + 0.5 * exp(-days / 14) for facts of kind episodic; factor is their product.';
