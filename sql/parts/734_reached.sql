CREATE FUNCTION mnemo._facts(
    p_filter mnemo._recall_filter
)
RETURNS mnemo._recall_filter
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, (p_filter).kinds,
    (p_filter).holds_at, (p_filter).valid_since, (p_filter).valid_until)::mnemo._recall_filter;
COMMENT ON FUNCTION mnemo._facts(mnemo._recall_filter) IS
    'The filter, of which a plan sets the last four fields only: so the planner leaves out what '
    'the others ask of each record.';

CREATE FUNCTION mnemo._heads(
    p_asked mnemo._question,
    p_org_id text,
    p_audiences bigint[],
    p_places bigint[],
    p_cap bigint
)
RETURNS TABLE (slot integer, place bigint, ids uuid[], parts double precision[])
LANGUAGE sql STABLE PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    SELECT l.slot, a.place, e.ids, e.parts
      FROM (
        SELECT unnest(p_audiences) AS audience, unnest(p_places) AS place
      ) AS a
      CROSS JOIN (
        SELECT unnest((p_asked).lists) AS term, unnest((p_asked).list_scores) AS score,
               unnest((p_asked).list_slots) AS slot
      ) AS l
      CROSS JOIN LATERAL (
        SELECT array_agg(h.memory_id) AS ids,
               array_agg(mnemo._term_score(
                    l.score, h.weight, -h.shortness, (p_asked).average_length)) AS parts
          FROM (
            SELECT p.weight, p.shortness, p.memory_id
              FROM mnemo.term_posting AS p
             WHERE p.org_id = p_org_id AND p.key = a.audience # l.term
             ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
             LIMIT p_cap
          ) AS h
      ) AS e
     WHERE (a.place = 4) = (p_org_id = '*') AND e.ids IS NOT NULL;
END;
COMMENT ON FUNCTION mnemo._heads(mnemo._question, text, bigint[], bigint[], bigint) IS
    'The first p_cap entries of each list that a question reads, best first, in those of the '
    'audiences that are of the organisation (* global records), with what each entry counts.';

CREATE FUNCTION mnemo._global_heads(
    p_asked mnemo._question,
    p_audiences bigint[],
    p_places bigint[],
    p_cap bigint
)
RETURNS TABLE (slot integer, place bigint, ids uuid[], parts double precision[])
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 20
-- Apart, so that nobody pays for it where there are no global records.
AS $fn$
BEGIN
    RETURN QUERY
    SELECT h.slot, h.place, h.ids, h.parts
      FROM mnemo._heads(p_asked, '*', p_audiences, p_places, p_cap) AS h;
END
$fn$;
COMMENT ON FUNCTION mnemo._global_heads(mnemo._question, bigint[], bigint[], bigint) IS
    '_heads of the lists of global records.';

CREATE FUNCTION mnemo._timely(
    p_reach mnemo._reach,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_after timestamptz,
    p_before timestamptz,
    p_candidates bigint
)
RETURNS mnemo._reach
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    SELECT p_reach.ids || array_agg(t.id), p_reach.nobodys || array_agg(t.of_nobody)
      INTO p_reach.ids, p_reach.nobodys
      FROM (
        SELECT m.id, m.subject IS NULL AND m.entities = '{}' AS of_nobody
          FROM mnemo.memory AS m
         WHERE m.org_id = p_org_id AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
           AND m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
           AND m.created_at >= p_after AND m.valid_from >= p_after
           AND (p_before IS NULL OR m.valid_from < p_before)
           AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
           AND m.id <> ALL (coalesce(p_reach.ids, '{}'))
         ORDER BY m.created_at DESC, m.id DESC
         LIMIT p_candidates
      ) AS t;
    RETURN p_reach;
END
$fn$;
COMMENT ON FUNCTION mnemo._timely(
    mnemo._reach, text, text, timestamptz, mnemo._recall_filter, timestamptz, timestamptz, bigint
) IS
    'The records reached and the agent''s newest that were written and became valid within a time '
    'window: where nothing else is asked for, no list of words leads to them.';

CREATE FUNCTION mnemo._near(
    p_reach mnemo._reach,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_embedding text,
    p_model text,
    p_candidates bigint
)
RETURNS mnemo._reach
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
AS $fn$
DECLARE
    v_ids uuid[] := coalesce(p_reach.ids, '{}');
    v_global_ids uuid[] := coalesce(p_reach.global_ids, '{}');
BEGIN
    WITH near AS MATERIALIZED (
        SELECT n.id, n.similarity, n.org_id = '*' AS is_global,
               n.id = ANY (CASE WHEN n.org_id = '*' THEN v_global_ids ELSE v_ids END) AS known
          FROM mnemo._semantic_lane(
                p_embedding, p_model, p_org_id, p_agent_id, p_now, p_filter, p_candidates) AS n
    ), further AS MATERIALIZED (
        SELECT n.id, false AS is_global, m.subject IS NULL AND m.entities = '{}' AS of_nobody
          FROM near AS n CROSS JOIN LATERAL mnemo._record(p_org_id, n.id) AS m
         WHERE NOT n.is_global AND NOT n.known
        UNION ALL
        SELECT n.id, true, m.subject IS NULL AND m.entities = '{}'
          FROM near AS n CROSS JOIN LATERAL mnemo._record('*', n.id) AS m
         WHERE n.is_global AND NOT n.known
    ), own AS MATERIALIZED (
        SELECT v_ids || ARRAY(SELECT f.id FROM further AS f WHERE NOT f.is_global) AS ids,
               v_global_ids || ARRAY(SELECT f.id FROM further AS f WHERE f.is_global) AS global_ids
    )
    SELECT o.ids, o.global_ids,
           p_reach.nobodys || ARRAY(SELECT f.of_nobody FROM further AS f WHERE NOT f.is_global),
           p_reach.global_nobodys
                || ARRAY(SELECT f.of_nobody FROM further AS f WHERE f.is_global),
           ARRAY(
                SELECT n.similarity
                  FROM unnest(o.ids || o.global_ids) WITH ORDINALITY AS c(id, place)
                  LEFT JOIN near AS n
                    ON n.id = c.id AND n.is_global = (c.place > cardinality(o.ids))
                 ORDER BY c.place)
      INTO p_reach.ids, p_reach.global_ids, p_reach.nobodys, p_reach.global_nobodys,
           p_reach.similarities
      FROM own AS o;
    RETURN p_reach;
END
$fn$;
COMMENT ON FUNCTION mnemo._near(
    mnemo._reach, text, text, timestamptz, mnemo._recall_filter, text, text, bigint
) IS
    'The records reached and those nearest to an embedding, with their similarities.';

CREATE FUNCTION mnemo._reached(
    p_asked mnemo._question,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_audiences bigint[],
    p_places bigint[],
    p_filter mnemo._recall_filter,
    p_unfit boolean,
    p_cap bigint,
    p_candidates bigint
)
RETURNS mnemo._reach
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_reach mnemo._reach;
BEGIN
    IF p_asked.lists IS NULL THEN
        RETURN v_reach;
    END IF;
    SELECT array_agg(c.id) FILTER (WHERE NOT c.is_global),
           array_agg(c.id) FILTER (WHERE c.is_global),
           array_agg(c.of_nobody) FILTER (WHERE NOT c.is_global),
           array_agg(c.of_nobody) FILTER (WHERE c.is_global)
      INTO v_reach.ids, v_reach.global_ids, v_reach.nobodys, v_reach.global_nobodys
      FROM (
        SELECT m.id, m.org_id = '*' AS is_global,
               m.subject IS NULL AND m.entities = '{}' AS of_nobody
          FROM (
            SELECT e.place, e.memory_id, mnemo._round_score(sum(e.part)) AS reach
              FROM (
                -- Who is not in the head of a long list may still have as much as its last entry:
                -- only what an entry has beyond it tells records apart.
                SELECT i.place, i.memory_id, greatest(max(i.part) - max(i.tail), 0) AS part
                  FROM (
                    SELECT h.slot, h.place, unnest(h.ids) AS memory_id, unnest(h.parts) AS part,
                           h.tail
                      FROM (
                        SELECT g.slot, g.place, g.ids, g.parts,
                               max(coalesce(g.parts[p_cap], 0))
                                    OVER (PARTITION BY g.place, g.slot) AS tail
                          FROM (
                            SELECT o.slot, o.place, o.ids, o.parts
                              FROM mnemo._heads(
                                    p_asked, p_org_id, p_audiences, p_places, p_cap) AS o
                            UNION ALL
                            SELECT o.slot, o.place, o.ids, o.parts
                              FROM mnemo._global_heads(
                                    p_asked, p_audiences, p_places, p_cap) AS o
                             WHERE 4 = ANY (p_places)
                          ) AS g
                      ) AS h
                  ) AS i
                 GROUP BY i.place, i.memory_id, i.slot
              ) AS e
             GROUP BY e.place, e.memory_id
             ORDER BY reach DESC, e.memory_id DESC
          ) AS s
          CROSS JOIN LATERAL mnemo._recallable_record(
                s.place, p_audiences[array_position(p_places, s.place)], s.memory_id, p_org_id,
                p_agent_id, p_now, NULL) AS m
         WHERE mnemo._passes(m, mnemo._facts(p_filter)) <> p_unfit
         ORDER BY s.reach DESC, s.memory_id DESC
         LIMIT p_candidates
      ) AS c;
    RETURN v_reach;
END
$fn$;
COMMENT ON FUNCTION mnemo._reached(
    mnemo._question, text, text, timestamptz, bigint[], bigint[], mnemo._recall_filter, boolean,
    bigint, bigint
) IS
    'The p_candidates records that score highest in the first p_cap entries of the lists of a '
    'question, of those that the agent may read and that pass the filter, with p_unfit of those that do not.';
