CREATE FUNCTION mnemo._lexical_lane(
    p_query text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, parts jsonb)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_asked record;
    v_cap bigint;
    v_complete boolean;
BEGIN
    SELECT array_agg(q.word ORDER BY q.place) AS words, array_agg(q.term ORDER BY q.place) AS terms,
           array_agg(q.admits ORDER BY q.place) AS admits, array_agg(q.idf ORDER BY q.place) AS idfs,
           max(q.average_length) AS average_length,
           -- Whether rare words can be expected to outweigh all common ones.
           count(*) FILTER (WHERE q.admits AND q.records > 1000) < 2
           OR coalesce(sum(q.idf) FILTER (WHERE q.admits AND q.records <= 1000), 0)
              > sum(q.idf) FILTER (WHERE q.admits AND q.records > 1000) AS promising
      INTO v_asked
      FROM mnemo._query_terms(p_query, p_org_id) AS q;
    IF true = ANY (v_asked.admits) IS NOT TRUE THEN
        RETURN;
    END IF;
    FOREACH v_cap IN ARRAY ARRAY[1000, 16000, NULL]::bigint[] LOOP
        CONTINUE WHEN v_cap = 1000 AND NOT v_asked.promising;
        FOR rank, org_id, id, score, v_complete, parts IN
            SELECT l.rank, l.org_id, l.id, l.score, l.complete, t.parts
              FROM mnemo._lexical_pass(
                    v_asked.terms, v_asked.admits, v_asked.idfs, v_asked.average_length, p_org_id,
                    p_agent_id, p_now, p_filter, p_limit, v_cap) AS l
              LEFT JOIN LATERAL (
                SELECT jsonb_object_agg(q.word, mnemo._term_score(q.idf,
                           v.weights[array_position(v.terms, q.term)], v.length,
                           v_asked.average_length)) AS parts
                  FROM mnemo.term_vector AS v
                  CROSS JOIN LATERAL unnest(v_asked.words, v_asked.terms, v_asked.idfs)
                       AS q(word, term, idf)
                 WHERE v.org_id = l.org_id AND v.memory_id = l.id AND q.term = ANY (v.terms)
              ) AS t ON true
        LOOP
            IF id IS NOT NULL THEN
                RETURN NEXT;
            END IF;
        END LOOP;
        EXIT WHEN v_complete;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._lexical_lane(
    text, text, text, timestamptz, mnemo._recall_filter, bigint
) IS
    'The best p_limit records by the words of a query: score descending, then newest id. parts gives '
    'what each word contributes to the score. No row for a query without words that admit.';

CREATE FUNCTION mnemo._newest(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
-- The limit in each branch: each is read from its index only as far as it goes. Records that were
-- granted are looked up by key, one after the other.
BEGIN ATOMIC
    (SELECT m.*
       FROM mnemo._visible_own(p_org_id, p_agent_id, p_now) AS m
      WHERE NOT m.tags @> ARRAY['__experience_plan__'] AND mnemo._passes(m, p_filter)
      ORDER BY m.created_at DESC, m.id DESC
      LIMIT p_limit)
    UNION ALL
    (SELECT m.*
       FROM mnemo._visible_public(p_org_id, p_agent_id, p_now) AS m
      WHERE NOT m.tags @> ARRAY['__experience_plan__'] AND mnemo._passes(m, p_filter)
      ORDER BY m.created_at DESC, m.id DESC
      LIMIT p_limit)
    UNION ALL
    (SELECT m.*
       FROM mnemo.acl AS a
      CROSS JOIN LATERAL mnemo._record(p_org_id, a.memory_id) AS m
      WHERE a.org_id = p_org_id AND a.agent_id = p_agent_id
        AND (a.expires_at IS NULL OR a.expires_at > p_now)
        AND m.scope = 'shared' AND m.agent_id <> p_agent_id
        AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
      ORDER BY m.created_at DESC, m.id DESC
      LIMIT p_limit)
    UNION ALL
    (SELECT o.*
       FROM mnemo._delegated_lists(p_org_id, p_agent_id, NULL, p_now) AS l
      CROSS JOIN LATERAL (
        (SELECT m.*
           FROM mnemo._visible_own(p_org_id, l.giver, p_now) AS m
          WHERE l.kind = 'owner' AND NOT m.tags @> ARRAY['__experience_plan__']
            AND m.scope = 'shared' AND mnemo._passes(m, p_filter)
            AND EXISTS (
                SELECT FROM mnemo._delegated(m, l.list, p_org_id, p_agent_id, NULL, p_now))
          ORDER BY m.created_at DESC, m.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT m.*
           FROM mnemo.acl AS a
          CROSS JOIN LATERAL mnemo._record(p_org_id, a.memory_id) AS m
          WHERE l.kind = 'grantee' AND a.org_id = p_org_id AND a.agent_id = l.giver
            AND a.permission = 'share'
            AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
            AND EXISTS (
                SELECT FROM mnemo._delegated(m, l.list, p_org_id, p_agent_id, NULL, p_now))
          ORDER BY m.created_at DESC, m.id DESC
          LIMIT p_limit)
      ) AS o)
    UNION ALL
    (SELECT m.*
       FROM mnemo._visible_global(p_now) AS m
      WHERE NOT m.tags @> ARRAY['__experience_plan__'] AND mnemo._passes(m, p_filter)
      ORDER BY m.created_at DESC, m.id DESC
      LIMIT p_limit)
    ORDER BY created_at DESC, id DESC
    LIMIT p_limit;
END;
COMMENT ON FUNCTION mnemo._newest(text, text, timestamptz, mnemo._recall_filter, bigint) IS
    'The newest p_limit records that the agent may read and that pass the filters, newest first.';

CREATE FUNCTION mnemo._recency(
    p_age_hours double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- At most so old that exp() does not underflow, which is an error.
RETURN exp(-ln(2::double precision) * least(greatest(p_age_hours, 0) / 168, 1000));
COMMENT ON FUNCTION mnemo._recency(double precision) IS
    'The score of an age in hours: 1 for now, half as much each 168 hours.';

CREATE FUNCTION mnemo._hours(
    p_from timestamptz,
    p_to timestamptz
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN extract(epoch FROM p_to - p_from)::double precision / 3600;
COMMENT ON FUNCTION mnemo._hours(timestamptz, timestamptz) IS 'Hours from one time to another.';

CREATE FUNCTION mnemo._recent_lane(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint
)
RETURNS TABLE (
    rank bigint,
    org_id text,
    id uuid,
    score double precision,
    age_hours double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY m.created_at DESC, m.id DESC), m.org_id, m.id,
           mnemo._recency(mnemo._hours(m.created_at, p_now)), mnemo._hours(m.created_at, p_now)
      FROM mnemo._newest(p_org_id, p_agent_id, p_now, p_filter, p_limit) AS m;
END
$fn$;
COMMENT ON FUNCTION mnemo._recent_lane(
    text, text, timestamptz, mnemo._recall_filter, bigint
) IS
    'The newest p_limit records that the agent may read and that pass the filters; score: by age, '
    'with a half-life of 168 hours.';
