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

CREATE FUNCTION mnemo._vectors(
    p_reach mnemo._reach,
    p_org_id text
)
RETURNS TABLE (n integer, terms bigint[], weights integer[], length integer)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 40
-- The fences keep these look-ups by key.
BEGIN ATOMIC
    SELECT c.n, v.terms, v.weights, v.length
      FROM (
        SELECT generate_subscripts((p_reach).ids, 1) AS n, unnest((p_reach).ids) AS id
      ) AS c
      CROSS JOIN LATERAL (
        SELECT t.terms, t.weights, t.length
          FROM mnemo.term_vector AS t
         WHERE t.org_id = p_org_id AND t.memory_id = c.id
        OFFSET 0
      ) AS v
    UNION ALL
    SELECT coalesce(cardinality((p_reach).ids), 0) + c.n, v.terms, v.weights, v.length
      FROM (
        SELECT generate_subscripts((p_reach).global_ids, 1) AS n,
               unnest((p_reach).global_ids) AS id
      ) AS c
      CROSS JOIN LATERAL (
        SELECT t.terms, t.weights, t.length
          FROM mnemo.term_vector AS t
         WHERE t.org_id = '*' AND t.memory_id = c.id
        OFFSET 0
      ) AS v;
END;
COMMENT ON FUNCTION mnemo._vectors(mnemo._reach, text) IS
    'The terms of the records reached, by their place.';

CREATE FUNCTION mnemo._slot_hits(
    p_asked mnemo._question,
    p_reach mnemo._reach,
    p_org_id text
)
RETURNS TABLE (n integer, slot integer, score double precision, evidence double precision)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    -- 15 is the weight of a word in the least of the facets.
    SELECT h.n, h.slot, max(h.score), max(h.evidence) * CASE WHEN max(h.weight) < 15
           THEN (mnemo._retrieval_rules()).content_evidence ELSE 1 END
      FROM (
        SELECT v.n, a.slot, a.evidence, v.weight,
               mnemo._term_score(a.score, v.weight, v.length, (p_asked).average_length) AS score
          FROM (
            SELECT t.n, t.length, unnest(t.terms) AS term, unnest(t.weights) AS weight
              FROM mnemo._vectors(p_reach, p_org_id) AS t
          ) AS v
          JOIN (
            SELECT unnest((p_asked).terms) AS term, unnest((p_asked).slots) AS slot,
                   unnest((p_asked).scores) AS score, unnest((p_asked).evidences) AS evidence
          ) AS a ON a.term = v.term
      ) AS h
     GROUP BY h.n, h.slot;
END;
COMMENT ON FUNCTION mnemo._slot_hits(mnemo._question, mnemo._reach, text) IS
    'What the records reached, by their place, have of each slot: the best score and evidence of '
    'its terms.';

CREATE FUNCTION mnemo._records(
    p_reach mnemo._reach,
    p_org_id text,
    p_n integer
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo._record(p_org_id, (p_reach).ids[p_n]) AS m
     WHERE p_n <= cardinality((p_reach).ids)
    UNION ALL
    SELECT m.*
      FROM mnemo._record('*', (p_reach).global_ids[
            p_n - coalesce(cardinality((p_reach).ids), 0)]) AS m
     WHERE p_n > coalesce(cardinality((p_reach).ids), 0);
END;
COMMENT ON FUNCTION mnemo._records(mnemo._reach, text, integer) IS
    'The record at a place of those reached.';

CREATE FUNCTION mnemo._scored(
    p_plan jsonb,
    p_asked mnemo._question,
    p_reach mnemo._reach,
    p_org_id text,
    p_now timestamptz,
    p_after timestamptz,
    p_before timestamptz,
    p_filter mnemo._recall_filter,
    p_unfit boolean,
    p_all boolean
)
RETURNS TABLE (
    id uuid,
    content text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    valid_from timestamptz,
    unfit text,
    about_hint boolean,
    admitted boolean,
    rankings jsonb,
    fused double precision,
    boosts double precision[],
    score double precision,
    best double precision,
    evidence double precision
)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    WITH hit AS MATERIALIZED (
        SELECT h.n, h.slot, h.score, h.evidence
          FROM mnemo._slot_hits(p_asked, p_reach, p_org_id) AS h
    ), usage AS MATERIALIZED (
        SELECT unnest((p_asked).rankings) AS ranking, unnest((p_asked).ranking_slots) AS slot,
               unnest((p_asked).factors) AS factor, unnest((p_asked).asks) AS asks
    ), whole AS MATERIALIZED (
        SELECT h.n, bool_or(h.slot = 40000) AS own, bool_or(h.slot = 30000) AS hinted,
               bool_or(h.slot = 40001) AS mine, bool_or(h.slot = 40002) AS about_hint,
               bool_or(h.slot BETWEEN 10001 AND 20000) AS entity,
               (p_reach).nobodys[h.n] AND (p_asked).of_user AS nobodys,
               bool_or(h.slot = ANY ((p_asked).persons) AND h.evidence > 0) AS named
          FROM hit AS h
         GROUP BY h.n
    ), shown AS MATERIALIZED (
        SELECT w.n, e.ranking,
               mnemo._round_score(e.evidence
                    * CASE WHEN (p_asked).beyond[e.ranking] AND NOT e.more
                      THEN (mnemo._retrieval_rules()).person_alone ELSE 1 END
                    * CASE WHEN (p_asked).meant AND NOT w.own AND NOT w.named AND NOT w.nobodys
                      THEN (mnemo._retrieval_rules()).other_evidence ELSE 1 END) AS evidence
          FROM whole AS w
          JOIN (
            SELECT h.n, u.ranking,
                   coalesce(sum(h.evidence) FILTER (WHERE u.asks), 0)
                       / greatest((p_asked).asked[u.ranking], 1) AS evidence,
                   bool_or(u.asks AND h.evidence > 0 AND u.slot <> ALL ((p_asked).persons)) AS more
              FROM hit AS h
              JOIN usage AS u ON u.slot = h.slot AND u.ranking = ANY ((p_asked).admits)
             GROUP BY h.n, u.ranking
          ) AS e ON e.n = w.n
    ), verdict AS MATERIALIZED (
        SELECT c.n, c.similarity, g.evidence, w.own, w.mine, w.named, w.nobodys,
               coalesce(w.hinted, false) AS hinted, coalesce(w.about_hint, false) AS about_hint,
               coalesce(g.admits, false)
               OR (p_asked).pair AND coalesce(w.hinted, false)
               OR coalesce(
                    c.similarity >= (mnemo._retrieval_rules()).semantic_evidence, false)
               OR cardinality((p_asked).admits) = 0 AND coalesce(w.entity, false) AS admitted
          FROM (
            SELECT generate_series(1, cardinality((p_reach).nobodys)) AS n,
                   unnest((p_reach).similarities) AS similarity
          ) AS c
          LEFT JOIN whole AS w ON w.n = c.n
          LEFT JOIN (
            SELECT s.n, max(s.evidence) AS evidence,
                   bool_or(s.evidence >= CASE WHEN NOT p_unfit AND (p_filter).kinds IS NOT NULL
                           THEN (mnemo._retrieval_rules()).least_of_kind
                           WHEN (p_asked).general
                           THEN (mnemo._retrieval_rules()).least_of_general
                           ELSE (mnemo._retrieval_rules()).least_evidence END
                       AND s.evidence >= (mnemo._retrieval_rules()).relative_evidence
                           * s.most) AS admits
              FROM (
                SELECT o.n, o.evidence, max(o.evidence) OVER (PARTITION BY o.ranking) AS most
                  FROM shown AS o
              ) AS s
             GROUP BY s.n
          ) AS g ON g.n = c.n
    ), rated AS MATERIALIZED (
        SELECT r.n, r.ranking, r.hinted,
               mnemo._round_score(r.score * CASE
                    WHEN r.ranking > 4 OR NOT (p_asked).preferred THEN 1
                    -- What the user has to do with somebody who is named.
                    WHEN r.mine AND r.named THEN (mnemo._retrieval_rules()).own_factor
                        * (mnemo._retrieval_rules()).own_factor
                    WHEN r.own THEN (mnemo._retrieval_rules()).own_factor
                    WHEN r.named OR r.nobodys THEN 1
                    ELSE (mnemo._retrieval_rules()).other_factor END) AS score
          FROM (
            SELECT v.n, u.ranking, v.hinted, v.own, v.mine, v.named, v.nobodys,
                   sum(h.score * u.factor) AS score
              FROM verdict AS v
              JOIN hit AS h ON h.n = v.n
              JOIN usage AS u ON u.slot = h.slot
             WHERE v.admitted OR p_all
             GROUP BY v.n, u.ranking, v.hinted, v.own, v.mine, v.named, v.nobodys
          ) AS r
    ), kept AS MATERIALIZED (
        SELECT v.n, v.similarity, v.hinted, v.about_hint, v.evidence, v.admitted, r.words, r.best,
               m.id, m.content, m.kind, m.subject, m.predicate, m.entities, m.valid_from,
               CASE WHEN p_unfit THEN mnemo._unfit_verdict(m, p_filter) END AS unfit,
               mnemo._boosts(m.source_type, m.confidence, m.kind, m.valid_from, p_now) AS boosts
          FROM verdict AS v
          LEFT JOIN (
            SELECT o.n, sum(o.score) AS words, max(o.score) AS best
              FROM rated AS o
             WHERE o.ranking <= 3
             GROUP BY o.n
          ) AS r ON r.n = v.n
          CROSS JOIN LATERAL mnemo._records(p_reach, p_org_id, v.n) AS m
         WHERE v.admitted OR p_all
    ), listed AS (
        -- Queries that ask for nothing rank nothing.
        SELECT r.n, v.id, g.ranking, r.score
          FROM rated AS r
          JOIN kept AS v ON v.n = r.n AND v.admitted
          CROSS JOIN LATERAL (
            SELECT r.ranking
            UNION ALL
            SELECT 10 + r.ranking WHERE r.hinted AND (r.ranking <= 3 OR r.ranking = 5)
          ) AS g
         WHERE r.score > 0 AND (r.ranking > 3 OR cardinality((p_asked).admits) > 0)
        UNION ALL
        SELECT v.n, v.id, x.ranking, x.score
          FROM kept AS v
          CROSS JOIN LATERAL (VALUES
            (7, CASE WHEN v.hinted AND (p_asked).predicate IS NOT NULL
                THEN coalesce(v.words, 0) END),
            (8, v.similarity),
            (9, CASE WHEN (p_plan -> 'scopes') ? v.kind THEN coalesce(v.words, 0) END),
            (10, CASE WHEN coalesce(p_after, p_before) IS NOT NULL
                    AND (v.valid_from >= p_after) IS NOT FALSE
                    AND (v.valid_from < p_before) IS NOT FALSE THEN coalesce(v.words, 0) END),
            (18, CASE WHEN v.hinted THEN v.similarity END)
          ) AS x(ranking, score)
         WHERE v.admitted AND x.score IS NOT NULL
    ), fused AS (
        SELECT p.n, sum(p.part ORDER BY p.ranking) AS total,
               jsonb_object_agg(p.name, jsonb_build_object(
                    'rank', p.rank, 'contribution', p.part)) AS rankings
          FROM (
            SELECT l.n, l.ranking, l.rank,
                   (ARRAY['query_1', 'query_2', 'query_3', 'topics', 'entities', 'predicates',
                        'seeded', 'semantic', 'scopes', 'time', 'query_1_hinted',
                        'query_2_hinted', 'query_3_hinted', NULL, 'entities_hinted', NULL, NULL,
                        'semantic_hinted'])[l.ranking] AS name,
                   CASE WHEN l.ranking IN (8, 18) THEN (mnemo._retrieval_rules()).semantic_weight
                        * (
                        SELECT power(1 - coalesce(max(o.evidence), 0), 2)
                          FROM verdict AS o WHERE o.admitted) ELSE 1 END
                       / ((mnemo._retrieval_rules()).k + l.rank) AS part
              FROM (
                SELECT i.n, i.ranking,
                       row_number() OVER (
                            PARTITION BY i.ranking ORDER BY i.score DESC, i.id DESC) AS rank
                  FROM listed AS i
              ) AS l
            OFFSET 0
          ) AS p
         GROUP BY p.n
    )
    SELECT r.id, r.content, r.kind, r.subject, r.predicate, r.entities, r.valid_from, r.unfit,
           r.about_hint, r.admitted, r.rankings, r.total, r.boosts, r.score, r.best, r.evidence
      FROM (
        SELECT v.id, v.content, v.kind, v.subject, v.predicate, v.entities, v.valid_from, v.unfit,
               v.about_hint, v.admitted, f.rankings, f.total, v.boosts, v.evidence,
               mnemo._round_score(
                    f.total * v.boosts[1] * v.boosts[2] * v.boosts[3] * v.boosts[4]) AS score,
               coalesce(v.best, v.similarity, 0) AS best
          FROM kept AS v
          LEFT JOIN fused AS f ON f.n = v.n
      ) AS r
     ORDER BY r.admitted DESC, r.score DESC, r.best DESC, r.id DESC;
END;
COMMENT ON FUNCTION mnemo._scored(
    jsonb, mnemo._question, mnemo._reach, text, timestamptz, timestamptz, timestamptz,
    mnemo._recall_filter, boolean, boolean
) IS
    'The records reached that a plan admits, best first, with the rank and the part of each '
    'ranking, their sum, the boosts and the score; then with p_all those of too little evidence. '
    'With p_unfit: that do not pass the filter, and why.';
