CREATE FUNCTION mnemo._retrieved(
    p_plan jsonb,
    p_asked mnemo._question,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_audiences bigint[],
    p_places bigint[],
    p_embedding text,
    p_model text,
    p_limit bigint,
    p_unfit mnemo._recall_filter,
    p_all boolean
)
RETURNS TABLE (
    org_id text,
    id uuid,
    admitted boolean,
    rankings text[],
    ranks bigint[],
    parts double precision[],
    boosts double precision[],
    score double precision,
    best double precision,
    evidence double precision
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 64
AS $fn$
DECLARE
    v_rules mnemo._retrieval_numbers := mnemo._retrieval_rules();
    v_average double precision := p_asked.average_length;
    v_after timestamptz := p_plan #>> '{temporal,after}';
    v_before timestamptz := p_plan #>> '{temporal,before}';
    v_scopes jsonb := p_plan -> 'scopes';
    v_least double precision := CASE WHEN p_filter.kinds IS NULL THEN v_rules.least_evidence
        ELSE v_rules.least_of_kind END;
    -- For a longer answer more is read.
    v_candidates bigint := greatest(v_rules.candidates, 2 * p_limit);
    v_cap bigint := greatest(v_rules.list_cap, 2 * p_limit);
BEGIN
    RETURN QUERY
    WITH head AS MATERIALIZED (
        SELECT l.slot, a.place, a.audience, e.ids, e.parts
          FROM unnest(p_asked.lists, p_asked.list_scores, p_asked.list_slots)
            AS l(term, score, slot)
          CROSS JOIN unnest(p_audiences, p_places) AS a(audience, place)
          CROSS JOIN LATERAL (
            SELECT array_agg(h.memory_id) AS ids,
                   array_agg(mnemo._term_score(l.score, h.weight, -h.shortness, v_average)) AS parts
              FROM (
                SELECT p.weight, p.shortness, p.memory_id
                  FROM mnemo.term_posting AS p
                 WHERE p.org_id = p_org_id AND p.key = a.audience # l.term
                 ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
                 LIMIT v_cap
              ) AS h
          ) AS e
         WHERE a.place <> 4
        UNION ALL
        SELECT l.slot, a.place, a.audience, e.ids, e.parts
          FROM unnest(p_asked.lists, p_asked.list_scores, p_asked.list_slots)
            AS l(term, score, slot)
          CROSS JOIN unnest(p_audiences, p_places) AS a(audience, place)
          CROSS JOIN LATERAL (
            SELECT array_agg(h.memory_id) AS ids,
                   array_agg(mnemo._term_score(l.score, h.weight, -h.shortness, v_average)) AS parts
              FROM (
                SELECT p.weight, p.shortness, p.memory_id
                  FROM mnemo.term_posting AS p
                 WHERE p.org_id = '*' AND p.key = a.audience # l.term
                 ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
                 LIMIT v_cap
              ) AS h
          ) AS e
         WHERE a.place = 4
    ), entry AS (
        -- Who is not in the head of a long list may still have as much as its last entry: only
        -- what an entry has beyond it tells records apart.
        SELECT t.slot, t.place, t.audience, e.memory_id, greatest(e.part - t.tail, 0) AS part
          FROM (
            SELECT h.slot, h.place, h.audience, h.ids, h.parts,
                   max(coalesce(h.parts[v_cap], 0)) OVER (PARTITION BY h.place, h.slot) AS tail
              FROM head AS h
             WHERE h.ids IS NOT NULL
          ) AS t
          CROSS JOIN LATERAL unnest(t.ids, t.parts) AS e(memory_id, part)
    ), chosen AS MATERIALIZED (
        SELECT m.org_id, m.id, m.kind, m.confidence, m.source_type, m.valid_from,
               m.subject IS NULL AND m.entities = '{}' AS of_nobody
          FROM (
            SELECT e.place, e.audience, e.memory_id, mnemo._round_score(sum(e.part)) AS reach
              FROM (
                SELECT i.place, i.audience, i.memory_id, max(i.part) AS part
                  FROM entry AS i
                 GROUP BY i.place, i.audience, i.memory_id, i.slot
              ) AS e
             GROUP BY e.place, e.audience, e.memory_id
             ORDER BY reach DESC, e.memory_id DESC
          ) AS s
          CROSS JOIN LATERAL mnemo._recallable_record(
                s.place, s.audience, s.memory_id, p_org_id, p_agent_id, p_now, p_filter) AS m
         WHERE p_unfit IS NULL OR NOT mnemo._passes(m, p_unfit)
         ORDER BY s.reach DESC, s.memory_id DESC
         LIMIT v_candidates
    ), timely AS MATERIALIZED (
        -- Where nothing is asked for but a time, no list of words leads to it.
        SELECT m.org_id, m.id, m.kind, m.confidence, m.source_type, m.valid_from,
               m.subject IS NULL AND m.entities = '{}' AS of_nobody
          FROM mnemo.memory AS m
         WHERE m.org_id = p_org_id AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
           AND m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
           AND m.created_at >= v_after AND m.valid_from >= v_after
           AND (v_before IS NULL OR m.valid_from < v_before)
           AND cardinality(p_asked.admits) = 0 AND p_unfit IS NULL
           AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
           AND NOT EXISTS (SELECT FROM chosen AS c WHERE c.org_id = m.org_id AND c.id = m.id)
         ORDER BY m.created_at DESC, m.id DESC
         LIMIT v_candidates
    ), near AS MATERIALIZED (
        SELECT n.org_id, n.id, n.similarity
          FROM mnemo._semantic_lane(
                p_embedding, p_model, p_org_id, p_agent_id, p_now, p_filter, v_candidates) AS n
         WHERE p_embedding IS NOT NULL AND p_unfit IS NULL
    ), candidate AS MATERIALIZED (
        SELECT c.* FROM chosen AS c
        UNION ALL
        SELECT t.* FROM timely AS t
        UNION ALL
        SELECT m.org_id, m.id, m.kind, m.confidence, m.source_type, m.valid_from,
               m.subject IS NULL AND m.entities = '{}' AS of_nobody
          FROM near AS n
          CROSS JOIN LATERAL (
            SELECT r.* FROM mnemo._record(p_org_id, n.id) AS r WHERE n.org_id <> '*'
            UNION ALL
            SELECT r.* FROM mnemo._record('*', n.id) AS r WHERE n.org_id = '*'
          ) AS m
         WHERE NOT EXISTS (SELECT FROM chosen AS c WHERE c.org_id = n.org_id AND c.id = n.id)
           AND NOT EXISTS (SELECT FROM timely AS t WHERE t.org_id = n.org_id AND t.id = n.id)
    ), answer AS MATERIALIZED (
        SELECT a.term, a.slot, a.score, a.evidence
          FROM unnest(p_asked.terms, p_asked.slots, p_asked.scores, p_asked.evidences)
            AS a(term, slot, score, evidence)
    ), hit AS MATERIALIZED (
        -- 15 is the weight of a word in the least of the facets.
        SELECT h.org_id, h.id, h.slot, bool_or(h.of_nobody) AS of_nobody, max(h.score) AS score,
               max(h.evidence) * CASE WHEN max(h.weight) < 15 THEN v_rules.content_evidence
                   ELSE 1 END AS evidence
          FROM (
            SELECT c.org_id, c.id, c.of_nobody, a.slot, a.evidence, u.weight,
                   mnemo._term_score(a.score, u.weight, v.length, v_average) AS score
              FROM candidate AS c
              CROSS JOIN LATERAL (
                SELECT t.terms, t.weights, t.length
                  FROM mnemo.term_vector AS t
                 WHERE t.org_id = p_org_id AND t.memory_id = c.id AND c.org_id <> '*'
                UNION ALL
                SELECT t.terms, t.weights, t.length
                  FROM mnemo.term_vector AS t
                 WHERE t.org_id = '*' AND t.memory_id = c.id AND c.org_id = '*'
              ) AS v
              CROSS JOIN LATERAL unnest(v.terms, v.weights) AS u(term, weight)
              JOIN answer AS a ON a.term = u.term
          ) AS h
         GROUP BY h.org_id, h.id, h.slot
    ), usage AS MATERIALIZED (
        SELECT u.ranking, u.slot, u.factor, u.asks, u.slot = ANY (p_asked.persons) AS person,
               count(*) FILTER (WHERE u.asks) OVER w AS asked,
               bool_or(u.asks AND u.slot <> ALL (p_asked.persons)) OVER w AS beyond
          FROM unnest(p_asked.rankings, p_asked.ranking_slots, p_asked.factors, p_asked.asks)
            AS u(ranking, slot, factor, asks)
        WINDOW w AS (PARTITION BY u.ranking)
    ), whole AS MATERIALIZED (
        SELECT h.org_id, h.id, bool_or(h.slot = 40000) AS own, bool_or(h.slot = 30000) AS hinted,
               bool_or(h.slot = 40001) AS mine, bool_or(h.of_nobody) AND p_asked.of_user AS nobodys,
               bool_or(h.slot = ANY (p_asked.persons) AND h.evidence > 0) AS named
          FROM hit AS h
         GROUP BY h.org_id, h.id
    ), rated AS MATERIALIZED (
        SELECT r.org_id, r.id, r.ranking, w.hinted,
               mnemo._round_score(r.score * CASE
                    WHEN r.ranking > 4 OR NOT p_asked.preferred THEN 1
                    -- What the user has to do with somebody who is named.
                    WHEN w.mine AND w.named THEN v_rules.own_factor * v_rules.own_factor
                    WHEN w.own THEN v_rules.own_factor
                    WHEN w.named OR w.nobodys THEN 1
                    ELSE v_rules.other_factor END) AS score,
               mnemo._round_score(r.evidence
                    * CASE WHEN r.beyond AND NOT r.more THEN v_rules.person_alone ELSE 1 END
                    * CASE WHEN p_asked.meant AND NOT w.own AND NOT w.named AND NOT w.nobodys
                      THEN v_rules.other_evidence ELSE 1 END) AS evidence
          FROM (
            SELECT h.org_id, h.id, u.ranking, sum(h.score * u.factor) AS score,
                   coalesce(sum(h.evidence) FILTER (WHERE u.asks), 0) / greatest(max(u.asked), 1)
                       AS evidence,
                   bool_or(u.beyond) AS beyond,
                   bool_or(u.asks AND NOT u.person AND h.evidence > 0) AS more
              FROM hit AS h
              JOIN usage AS u ON u.slot = h.slot
             GROUP BY h.org_id, h.id, u.ranking
          ) AS r
          JOIN whole AS w ON w.org_id = r.org_id AND w.id = r.id
    ), verdict AS MATERIALIZED (
        SELECT c.org_id, c.id, c.kind, c.confidence, c.source_type, c.valid_from, n.similarity,
               coalesce(w.hinted, false) AS hinted, g.words, g.best, g.evidence,
               coalesce(g.admits, false)
               OR p_asked.pair AND coalesce(w.hinted, false)
               OR coalesce(n.similarity >= v_rules.semantic_evidence, false)
               OR cardinality(p_asked.admits) = 0 AND coalesce(g.entity, false) AS admitted
          FROM candidate AS c
          LEFT JOIN near AS n ON n.org_id = c.org_id AND n.id = c.id
          LEFT JOIN whole AS w ON w.org_id = c.org_id AND w.id = c.id
          LEFT JOIN (
            SELECT r.org_id, r.id,
                   bool_or(r.ranking = ANY (p_asked.admits) AND r.evidence >= v_least
                       AND r.evidence >= v_rules.relative_evidence * r.most) AS admits,
                   bool_or(r.ranking = 5) AS entity,
                   sum(r.score) FILTER (WHERE r.ranking <= 3) AS words,
                   max(r.score) FILTER (WHERE r.ranking <= 3) AS best,
                   max(r.evidence) FILTER (WHERE r.ranking = ANY (p_asked.admits)) AS evidence
              FROM (
                SELECT s.org_id, s.id, s.ranking, s.score, s.evidence,
                       max(s.evidence) OVER (PARTITION BY s.ranking) AS most
                  FROM rated AS s
              ) AS r
             GROUP BY r.org_id, r.id
          ) AS g ON g.org_id = c.org_id AND g.id = c.id
    ), listed AS (
        -- Queries that ask for nothing rank nothing.
        SELECT r.org_id, r.id, g.ranking, r.score
          FROM rated AS r
          JOIN verdict AS v ON v.org_id = r.org_id AND v.id = r.id AND v.admitted
          CROSS JOIN LATERAL (
            SELECT r.ranking
            UNION ALL
            SELECT 10 + r.ranking WHERE r.hinted AND (r.ranking <= 3 OR r.ranking = 5)
          ) AS g
         WHERE r.score > 0 AND (r.ranking > 3 OR cardinality(p_asked.admits) > 0)
        UNION ALL
        SELECT v.org_id, v.id, x.ranking, x.score
          FROM verdict AS v
          CROSS JOIN LATERAL (VALUES
            (7, CASE WHEN v.hinted AND p_asked.predicate IS NOT NULL THEN coalesce(v.words, 0) END),
            (8, v.similarity),
            (9, CASE WHEN v_scopes ? v.kind THEN coalesce(v.words, 0) END),
            (10, CASE WHEN coalesce(v_after, v_before) IS NOT NULL
                    AND (v.valid_from >= v_after) IS NOT FALSE
                    AND (v.valid_from < v_before) IS NOT FALSE THEN coalesce(v.words, 0) END),
            (18, CASE WHEN v.hinted THEN v.similarity END)
          ) AS x(ranking, score)
         WHERE v.admitted AND x.score IS NOT NULL
    ), fused AS (
        SELECT p.org_id, p.id, array_agg(p.name ORDER BY p.ranking) AS rankings,
               array_agg(p.rank ORDER BY p.ranking) AS ranks,
               array_agg(p.part ORDER BY p.ranking) AS parts,
               sum(p.part ORDER BY p.ranking) AS total
          FROM (
            SELECT l.org_id, l.id, l.ranking, l.rank,
                   (ARRAY['query_1', 'query_2', 'query_3', 'topics', 'entities', 'predicates',
                        'seeded', 'semantic', 'scopes', 'time', 'query_1_hinted',
                        'query_2_hinted', 'query_3_hinted', NULL, 'entities_hinted', NULL, NULL,
                        'semantic_hinted'])[l.ranking] AS name,
                   CASE WHEN l.ranking IN (8, 18) THEN v_rules.semantic_weight * (
                        SELECT power(1 - coalesce(max(o.evidence), 0), 2)
                          FROM verdict AS o WHERE o.admitted) ELSE 1 END
                       / (v_rules.k + l.rank) AS part
              FROM (
                SELECT i.org_id, i.id, i.ranking,
                       row_number() OVER (
                            PARTITION BY i.ranking ORDER BY i.score DESC, i.id DESC) AS rank
                  FROM listed AS i
              ) AS l
          ) AS p
         GROUP BY p.org_id, p.id
    )
    SELECT r.org_id, r.id, r.admitted, r.rankings, r.ranks, r.parts, r.boosts, r.score, r.best,
           r.evidence
      FROM (
        SELECT v.org_id, v.id, v.admitted, f.rankings, f.ranks, f.parts, b.boosts, v.evidence,
               mnemo._round_score(f.total * b.boosts[1] * b.boosts[2] * b.boosts[3] * b.boosts[4])
                   AS score,
               coalesce(v.best, v.similarity, 0) AS best
          FROM verdict AS v
          LEFT JOIN fused AS f ON f.org_id = v.org_id AND f.id = v.id
          CROSS JOIN LATERAL (
            SELECT mnemo._boosts(v.source_type, v.confidence, v.kind, v.valid_from, p_now) AS boosts
            OFFSET 0
          ) AS b
         WHERE v.admitted OR p_all
      ) AS r
     ORDER BY r.admitted DESC, r.score DESC, r.best DESC, r.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieved(
    jsonb, mnemo._question, text, text, timestamptz, mnemo._recall_filter, bigint[], bigint[], text,
    text, bigint, mnemo._recall_filter, boolean
) IS
    'The records that a plan reaches, best first: those admitted, with the rank and the part of '
    'each ranking, the boosts and the score, then with p_all those of too little evidence. With '
    'p_unfit only those that do not pass this filter.';
