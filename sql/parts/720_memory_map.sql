-- All that the map reads of an agent's own records: the heap would cost ten times as much. No other
-- query says that there is a subject or a predicate, so none is led here.
CREATE INDEX memory_map_idx
    ON mnemo.memory (org_id, origin_org_id, agent_id, subject, predicate)
    INCLUDE (expires_at, valid_from, valid_to)
    WHERE deleted_at IS NULL AND NOT quarantined AND status = 'active'
        AND consolidation_state IN ('raw', 'active', 'pending', 'consolidated')
        AND NOT tags @> ARRAY['__experience_plan__']
        AND (subject IS NOT NULL OR predicate IS NOT NULL);

CREATE FUNCTION mnemo._map_line(
    p_name text,
    p_values text[],
    p_limit bigint,
    p_length bigint
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_line text := p_name || ': ' || p_values[1];
    v_more text;
    v_shown integer := 1;
BEGIN
    -- As many as fit together with the word of those that do not.
    FOR v_place IN 2 .. least(cardinality(p_values), p_limit) LOOP
        v_more := CASE WHEN v_place < cardinality(p_values)
            THEN format(', and %s more', cardinality(p_values) - v_place) ELSE '' END;
        EXIT WHEN length(v_line || ', ' || p_values[v_place] || v_more) > p_length;
        v_line := v_line || ', ' || p_values[v_place];
        v_shown := v_place;
    END LOOP;
    RETURN v_line || CASE WHEN v_shown < cardinality(p_values)
        THEN format(', and %s more', cardinality(p_values) - v_shown) ELSE '' END;
END
$fn$;
COMMENT ON FUNCTION mnemo._map_line(text, text[], bigint, bigint) IS
    'A line of mnemo.memory_map: the first p_limit values, at least one, as long as the line has '
    'at most p_length characters, and how many more there are. NULL without values.';

CREATE FUNCTION mnemo._map_values(
    p_names text[],
    p_records bigint[]
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT CASE WHEN length(n.name) > 40 THEN left(n.name, 37) || '...' ELSE n.name END
           || ' (' || n.records || ')'
      FROM unnest(p_names, p_records) AS n(name, records)
     ORDER BY n.records DESC, n.name COLLATE "C"
);
COMMENT ON FUNCTION mnemo._map_values(text[], bigint[]) IS
    'Names with their numbers of records as mnemo.memory_map shows them, in its order; of names of '
    'more than 40 characters the first 37.';

CREATE FUNCTION mnemo._memory_map(
    p_limit bigint,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $fn$
DECLARE
    v_abouts text[];
    v_attributes text[];
    v_about text;
    v_attribute text;
    v_room bigint;
BEGIN
    WITH seen AS MATERIALIZED (
        SELECT s.subject, s.predicate, count(*) AS records
          FROM (
            SELECT m.subject, m.predicate, m.status, m.valid_from, m.valid_to
              FROM mnemo._visible_own(p_org_id, p_agent_id, p_now) AS m
             WHERE NOT m.tags @> ARRAY['__experience_plan__']
            UNION ALL
            SELECT m.subject, m.predicate, m.status, m.valid_from, m.valid_to
              FROM mnemo._visible_public(p_org_id, p_agent_id, p_now) AS m
             WHERE NOT m.tags @> ARRAY['__experience_plan__']
            UNION ALL
            SELECT m.subject, m.predicate, m.status, m.valid_from, m.valid_to
              FROM mnemo._visible_granted(p_org_id, p_agent_id, p_now) AS m
             WHERE NOT m.tags @> ARRAY['__experience_plan__']
            UNION ALL
            SELECT m.subject, m.predicate, m.status, m.valid_from, m.valid_to
              FROM mnemo._visible_delegated(p_org_id, p_agent_id, p_now) AS m
             WHERE NOT m.tags @> ARRAY['__experience_plan__']
            UNION ALL
            SELECT m.subject, m.predicate, m.status, m.valid_from, m.valid_to
              FROM mnemo._visible_global(p_now) AS m
             WHERE NOT m.tags @> ARRAY['__experience_plan__']
          ) AS s
         WHERE s.status = 'active' AND s.valid_from <= p_now
           AND (s.valid_to IS NULL OR s.valid_to > p_now)
           AND (s.subject IS NOT NULL OR s.predicate IS NOT NULL)
         GROUP BY s.subject, s.predicate
    )
    SELECT mnemo._map_values(a.names, a.records), mnemo._map_values(b.names, b.records)
      INTO v_abouts, v_attributes
      FROM (
        SELECT array_agg(c.name) AS names, array_agg(c.records) AS records
          FROM (SELECT s.subject AS name, sum(s.records)::bigint AS records
                  FROM seen AS s WHERE s.subject IS NOT NULL GROUP BY s.subject) AS c
      ) AS a
      CROSS JOIN (
        SELECT array_agg(c.name) AS names, array_agg(c.records) AS records
          FROM (SELECT s.predicate AS name, sum(s.records)::bigint AS records
                  FROM seen AS s WHERE s.predicate IS NOT NULL GROUP BY s.predicate) AS c
      ) AS b;
    -- Below 300 tokens with the usual limit. What one line leaves of its half is the other's.
    v_room := greatest(p_limit, 40) * 29;
    v_about := mnemo._map_line('about', v_abouts, p_limit, v_room);
    v_attribute := mnemo._map_line('attribute', v_attributes, p_limit, v_room);
    RETURN array_to_string(ARRAY[
        mnemo._map_line('about', v_abouts, p_limit,
            greatest(v_room / 2, v_room - coalesce(length(v_attribute), 0))),
        mnemo._map_line('attribute', v_attributes, p_limit,
            greatest(v_room / 2, v_room - coalesce(length(v_about), 0)))
    ], E'\n');
END
$fn$;
COMMENT ON FUNCTION mnemo._memory_map(bigint, text, text, timestamptz) IS
    'As mnemo.memory_map, for an agent that has been checked.';

CREATE FUNCTION mnemo.memory_map(
    p_limit bigint DEFAULT 40,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._limit_problem(p_limit));
    RETURN mnemo._memory_map(
        p_limit, v_caller.org_id, v_caller.agent_id, statement_timestamp());
END
$fn$;
COMMENT ON FUNCTION mnemo.memory_map(bigint, text, text) IS
    'What the memory that the acting agent may read is about, to be shown to a language model, '
    'which then names subjects and attributes right: a line about: value (records), ... of the '
    'subjects and a line attribute: value (records), ... of the predicates, most frequent first, '
    'then by the bytes of the name. Each line has p_limit values at most (1 to 1000, 40 by '
    'default) and ends with , and N more where there are more. Bounded whatever the names: those '
    'of more than 40 characters are cut to 37 and three dots, and both lines together have 1,160 '
    'characters at most, 290 tokens, above a limit of 40 29 for each value of it, but always one '
    'value each; what one line leaves of its half is the other''s. Counts what retrieval could '
    'give: records that are live, active and valid now, and no plans. A line without values is '
    'left out; empty where there is nothing. Errors: 42501 access, 22023 a limit out of range.';
