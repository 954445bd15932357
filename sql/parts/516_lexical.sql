-- Exact best-first search over lists that may be long. Each list of a term and an audience is in the
-- order of what its term contributes, so the first entry not read bounds all that follow (Fagin,
-- Lotem, Naor: threshold algorithm, PODS 2001; Turtle, Flood: MaxScore, IPM 1995). A pass reads the
-- head of each list; lists of words that only rank are never read, only bounded. Records that were
-- met are scored from their own terms where a bound leaves it open. If what was not met cannot reach
-- the worst of the answer, the answer is exact and the pass is the last; else the next reads more.

CREATE FUNCTION mnemo._exact_score(
    p_org_id text,
    p_id uuid,
    p_terms bigint[],
    p_idfs double precision[],
    p_average_length double precision
)
RETURNS TABLE (score double precision)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT sum(mnemo._term_score(
               q.idf, v.weights[array_position(v.terms, q.term)], v.length, p_average_length))
      FROM mnemo.term_vector AS v
      CROSS JOIN LATERAL unnest(p_terms, p_idfs) AS q(term, idf)
     WHERE v.org_id = p_org_id AND v.memory_id = p_id;
END;
COMMENT ON FUNCTION mnemo._exact_score(
    text, uuid, bigint[], double precision[], double precision
) IS 'The sum of what the terms contribute to a record; NULL when it has none of them.';

CREATE FUNCTION mnemo._round_score(
    p_score double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(p_score * 1e9) / 1e9;
COMMENT ON FUNCTION mnemo._round_score(double precision) IS
    'A score to nine decimals: equal sums are equal whatever the order of their parts.';

CREATE FUNCTION mnemo._lexical_pass(
    p_terms bigint[],
    p_admits boolean[],
    p_idfs double precision[],
    p_average_length double precision,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint,
    p_cap bigint
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, complete boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments, good for lists of any length.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET enable_mergejoin = off
SET jit = off
AS $fn$
DECLARE
    -- In the order that _recallable counts them.
    v_audiences bigint[] := mnemo._audiences(p_org_id, p_agent_id, NULL)
        || mnemo._delegated_audiences(p_org_id, p_agent_id, NULL, p_now);
BEGIN
    RETURN QUERY
    WITH list AS MATERIALIZED (
        SELECT a.place AS audience, a.audience # q.term AS key, q.admits, q.idf,
               CASE WHEN q.admits OR p_cap IS NULL THEN p_cap ELSE 0 END AS cap
          FROM unnest(p_terms, p_admits, p_idfs) AS q(term, admits, idf)
          CROSS JOIN unnest(v_audiences) WITH ORDINALITY AS a(audience, place)
    ), bound AS MATERIALIZED (
        -- The first entry that is not read; a lighter one may be shorter: at best it is one tenth
        -- lighter and has one word.
        SELECT l.audience, l.key, l.admits, l.idf, l.cap, e.memory_id, e.weight = 10 AS tight,
               coalesce(greatest(
                   mnemo._term_score(l.idf, e.weight, e.length, p_average_length),
                   CASE WHEN e.weight > 10 THEN
                       mnemo._term_score(l.idf, e.weight - 1, 1, p_average_length) END
               ), 0) AS most
          FROM list AS l
          LEFT JOIN LATERAL (
            (SELECT p.weight, -p.shortness AS length, p.memory_id
               FROM mnemo.term_posting AS p
              WHERE p.org_id = p_org_id AND p.key = l.key AND l.audience <> 4 AND l.cap >= 0
              ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
             OFFSET l.cap LIMIT 1)
            UNION ALL
            (SELECT p.weight, -p.shortness, p.memory_id
               FROM mnemo.term_posting AS p
              WHERE p.org_id = '*' AND p.key = l.key AND l.audience = 4 AND l.cap >= 0
              ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
             OFFSET l.cap LIMIT 1)
          ) AS e ON true
    ), unseen AS MATERIALIZED (
        SELECT b.audience, sum(b.most) AS most, bool_or(b.admits) AS admits,
               count(*) = 1 AND bool_and(b.tight) AS tight, (array_agg(b.memory_id))[1] AS memory_id
          FROM bound AS b
         WHERE b.most > 0
         GROUP BY b.audience
    ), met AS (
        SELECT b.audience, e.memory_id, b.admits, b.most,
               mnemo._term_score(b.idf, e.weight, e.length, p_average_length) AS part
          FROM bound AS b
          CROSS JOIN LATERAL (
            SELECT p.weight, -p.shortness AS length, p.memory_id
              FROM mnemo.term_posting AS p
             WHERE p.org_id = p_org_id AND p.key = b.key
             ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
             LIMIT b.cap
          ) AS e
         WHERE b.audience <> 4
        UNION ALL
        SELECT b.audience, e.memory_id, b.admits, b.most,
               mnemo._term_score(b.idf, e.weight, e.length, p_average_length)
          FROM bound AS b
          CROSS JOIN LATERAL (
            SELECT p.weight, -p.shortness AS length, p.memory_id
              FROM mnemo.term_posting AS p
             WHERE p.org_id = '*' AND p.key = b.key
             ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
             LIMIT b.cap
          ) AS e
         WHERE b.audience = 4
    ), candidate AS MATERIALIZED (
        -- slack: how much more than its part a record may have. Sums of the same numbers in another
        -- order differ by less than 1e-12.
        SELECT c.audience, c.memory_id, c.part,
               CASE WHEN u.most - c.most > 1e-12 THEN u.most - c.most ELSE 0 END AS slack
          FROM (
            SELECT m.audience, m.memory_id, sum(m.part) AS part, sum(m.most) AS most
              FROM met AS m
             GROUP BY m.audience, m.memory_id
            HAVING bool_or(m.admits)
          ) AS c
          LEFT JOIN unseen AS u ON u.audience = c.audience
    ), head AS MATERIALIZED (
        SELECT c.audience, c.memory_id, c.part, c.slack
          FROM candidate AS c
         ORDER BY c.part + c.slack DESC, c.memory_id DESC
         LIMIT p_limit + 20
    ), found AS MATERIALIZED (
        SELECT s.audience, s.memory_id, s.score
          FROM (
            SELECT h.audience, h.memory_id, mnemo._round_score(x.score) AS score
              FROM head AS h
              CROSS JOIN LATERAL (
                SELECT h.part AS score WHERE h.slack = 0
                UNION ALL
                (SELECT e.score
                   FROM mnemo._exact_score(
                        p_org_id, h.memory_id, p_terms, p_idfs, p_average_length) AS e
                  WHERE h.slack > 0 AND h.audience <> 4
                 OFFSET 0)
                UNION ALL
                (SELECT e.score
                   FROM mnemo._exact_score(
                        '*', h.memory_id, p_terms, p_idfs, p_average_length) AS e
                  WHERE h.slack > 0 AND h.audience = 4
                 OFFSET 0)
              ) AS x
             ORDER BY score DESC, h.memory_id DESC
          ) AS s
          CROSS JOIN LATERAL mnemo._recallable(
                s.audience, v_audiences[s.audience], s.memory_id, p_org_id, p_agent_id, p_now,
                p_filter) AS r
         ORDER BY s.score DESC, s.memory_id DESC
         LIMIT p_limit
    ), worst AS MATERIALIZED (
        SELECT CASE WHEN count(*) = p_limit THEN min(f.score) ELSE -1 END AS score,
               (array_agg(f.memory_id ORDER BY f.score, f.memory_id))[1] AS memory_id
          FROM found AS f
    ), verdict AS MATERIALIZED (
        SELECT NOT EXISTS (
            SELECT
              FROM unseen AS u
             WHERE u.admits
               AND NOT (
                    mnemo._round_score(u.most) < w.score
                    -- Ties are for the newer: in one list of equals those not read are older.
                    OR u.tight AND mnemo._round_score(u.most) = w.score
                        AND w.memory_id >= u.memory_id
                )
        ) AS complete, w.score
          FROM worst AS w
    ), rest AS (
        SELECT s.audience, s.memory_id, s.score
          FROM (
            SELECT c.audience, c.memory_id, mnemo._round_score(x.score) AS score
              FROM candidate AS c
              CROSS JOIN verdict AS v
              CROSS JOIN LATERAL (
                SELECT c.part AS score WHERE c.slack = 0
                UNION ALL
                (SELECT e.score
                   FROM mnemo._exact_score(
                        p_org_id, c.memory_id, p_terms, p_idfs, p_average_length) AS e
                  WHERE c.slack > 0 AND c.audience <> 4
                 OFFSET 0)
                UNION ALL
                (SELECT e.score
                   FROM mnemo._exact_score(
                        '*', c.memory_id, p_terms, p_idfs, p_average_length) AS e
                  WHERE c.slack > 0 AND c.audience = 4
                 OFFSET 0)
              ) AS x
             WHERE v.complete AND c.part + c.slack >= v.score - 1e-9
               AND NOT EXISTS (
                    SELECT FROM head AS h
                     WHERE h.memory_id = c.memory_id AND h.audience = c.audience
                )
             ORDER BY score DESC, c.memory_id DESC
          ) AS s
          CROSS JOIN LATERAL mnemo._recallable(
                s.audience, v_audiences[s.audience], s.memory_id, p_org_id, p_agent_id, p_now,
                p_filter) AS r
         ORDER BY s.score DESC, s.memory_id DESC
         LIMIT p_limit
    ), best AS (
        SELECT b.audience, b.memory_id, b.score,
               row_number() OVER (ORDER BY b.score DESC, b.memory_id DESC) AS rank
          FROM (
            SELECT f.audience, f.memory_id, f.score FROM found AS f
            UNION ALL
            SELECT t.audience, t.memory_id, t.score FROM rest AS t
          ) AS b
         ORDER BY rank
         LIMIT p_limit
    )
    SELECT b.rank, CASE WHEN b.audience = 4 THEN '*' ELSE p_org_id END, b.memory_id, b.score,
           v.complete
      FROM verdict AS v
      LEFT JOIN best AS b ON v.complete
     ORDER BY b.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo._lexical_pass(
    bigint[], boolean[], double precision[], double precision, text, text, timestamptz,
    mnemo._recall_filter, bigint, bigint
) IS
    'The best p_limit records that the agent may read, that pass the filters and share a term that '
    'admits, from the first p_cap entries of each list (NULL: all). When they might not be the best '
    'there is one row with complete false; else complete is true in every row, and without a record '
    'there is one row with NULL.';
