-- What visible memory knows of a text, by look-ups in the term index: so many for each word,
-- whatever the size of the store. A record counts if retrieval could give it.

CREATE TYPE mnemo._known_phrase AS (
    sort text,
    first_place integer,
    last_place integer,
    part text,
    name text,
    subject text,
    person boolean
);
COMMENT ON TYPE mnemo._known_phrase IS
    'A phrase of a text that visible memory has as a name or as an attribute (sort): its places '
    'among the words; the part of the word where it is but a part; as it was looked up; the '
    'subject that most of the records with this name have; whether that is a person in the '
    'user''s life.';

CREATE FUNCTION mnemo._known_heads(
    p_terms bigint[],
    p_most bigint,
    p_audiences bigint[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (term bigint, weight integer, subject text, kind text, more boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 16
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    WITH entry AS MATERIALIZED (
        SELECT t.term, e.weight, e.memory_id
          FROM unnest(p_terms) AS t(term)
          CROSS JOIN unnest(p_audiences) WITH ORDINALITY AS a(audience, place)
          CROSS JOIN LATERAL (
            (SELECT p.weight, p.memory_id
               FROM mnemo.term_posting AS p
              WHERE p.org_id = p_org_id AND p.key = a.audience # t.term AND a.place <> 4
              ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
              LIMIT p_most)
            UNION ALL
            (SELECT p.weight, p.memory_id
               FROM mnemo.term_posting AS p
              WHERE p.org_id = '*' AND p.key = a.audience # t.term AND a.place = 4
              ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
              LIMIT p_most)
          ) AS e
    ), seen AS MATERIALIZED (
        SELECT m.id, m.subject, m.kind
          FROM mnemo._visible_among(
                ARRAY(SELECT e.memory_id FROM entry AS e), p_org_id, p_agent_id, p_now) AS m
         WHERE m.status = 'active' AND m.valid_from <= p_now
           AND (m.valid_to IS NULL OR m.valid_to > p_now)
           AND NOT m.tags @> ARRAY['__experience_plan__']
    )
    SELECT DISTINCT ON (e.term, s.id) e.term, e.weight, s.subject, s.kind, false
      FROM entry AS e
      JOIN seen AS s ON s.id = e.memory_id
    UNION ALL
    SELECT e.term, NULL, NULL, NULL, true
      FROM entry AS e
      LEFT JOIN seen AS s ON s.id = e.memory_id
     GROUP BY e.term
    HAVING count(s.id) = 0 AND count(*) >= p_most;
END
$fn$;
COMMENT ON FUNCTION mnemo._known_heads(bigint[], bigint, bigint[], text, text, timestamptz) IS
    'Of each term the records among the first p_most of each list that the agent may read and that '
    'are active and valid at p_now; a row with more true for a term without any, whose lists go '
    'on.';

CREATE FUNCTION mnemo._known_records(
    p_terms bigint[],
    p_most bigint,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (term bigint, weight integer, subject text, kind text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 16
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_audiences bigint[] := mnemo._audiences(p_org_id, p_agent_id, NULL)
        || mnemo._delegated_audiences(p_org_id, p_agent_id, NULL, p_now);
    v_terms bigint[] := p_terms;
    v_rest bigint[];
    v_more boolean;
BEGIN
    -- Nearly always the first look is enough: lists begin with dead records only where many died.
    FOR v_factor IN 0 .. 3 LOOP
        v_rest := '{}';
        FOR term, weight, subject, kind, v_more IN
            SELECT h.term, h.weight, h.subject, h.kind, h.more
              FROM mnemo._known_heads(v_terms,
                    CASE WHEN v_factor < 3 THEN p_most * 30 ^ v_factor END::bigint, v_audiences,
                    p_org_id, p_agent_id, p_now) AS h
        LOOP
            IF v_more THEN
                v_rest := v_rest || term;
            ELSE
                RETURN NEXT;
            END IF;
        END LOOP;
        EXIT WHEN v_rest = '{}';
        v_terms := v_rest;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._known_records(bigint[], bigint, text, text, timestamptz) IS
    'Of each term p_most records or more that the agent may read, active and valid at p_now, those '
    'of the greatest weight; none only where there is none.';

CREATE FUNCTION mnemo._known_terms(
    p_terms bigint[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS bigint[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT DISTINCT r.term
      FROM mnemo._known_records(p_terms, 1, p_org_id, p_agent_id, p_now) AS r
);
COMMENT ON FUNCTION mnemo._known_terms(bigint[], text, text, timestamptz) IS
    'Those of the terms that a record has which the agent may read, active and valid at p_now.';
