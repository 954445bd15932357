CREATE FUNCTION mnemo._reachable_audiences(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    OUT audiences bigint[],
    OUT places bigint[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    SELECT array_agg(a.audience ORDER BY a.place), array_agg(a.place ORDER BY a.place)
      INTO audiences, places
      FROM unnest(mnemo._audiences(p_org_id, p_agent_id, NULL)
            || mnemo._delegated_audiences(p_org_id, p_agent_id, NULL, p_now))
        WITH ORDINALITY AS a(audience, place)
     WHERE CASE a.place
        WHEN 2 THEN EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = p_org_id AND m.scope = 'public'
               AND m.scope IN ('public', 'global') AND m.deleted_at IS NULL
               AND NOT m.tags @> ARRAY['__experience_plan__'])
        WHEN 3 THEN EXISTS (
            SELECT FROM mnemo.acl AS g WHERE g.org_id = p_org_id AND g.agent_id = p_agent_id)
        WHEN 4 THEN EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = '*' AND m.scope = 'global'
               AND m.scope IN ('public', 'global') AND m.deleted_at IS NULL
               AND NOT m.tags @> ARRAY['__experience_plan__'])
        ELSE true END;
END
$fn$;
COMMENT ON FUNCTION mnemo._reachable_audiences(text, text, timestamptz) IS
    'The audiences whose lists can hold a memory that the agent may read, and the place of each as '
    '_recallable counts them. Others have empty lists, which need not be looked up.';

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
AS $fn$
BEGIN
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT n.name, a.audience, a.place, p.weight, p.memory_id
          FROM (
            SELECT u.name, mnemo._name_term(u.name) AS term FROM unnest(p_names) AS u(name) OFFSET 0
          ) AS n
          CROSS JOIN unnest(p_audiences, p_places) AS a(audience, place)
          CROSS JOIN LATERAL (
            (SELECT t.weight, t.memory_id
               FROM mnemo.term_posting AS t
              WHERE t.org_id = p_org_id AND t.key = a.audience # n.term AND a.place <> 4
              ORDER BY t.weight DESC, t.shortness DESC, t.memory_id DESC
              LIMIT 16)
            UNION ALL
            (SELECT t.weight, t.memory_id
               FROM mnemo.term_posting AS t
              WHERE t.org_id = '*' AND t.key = a.audience # n.term AND a.place = 4
              ORDER BY t.weight DESC, t.shortness DESC, t.memory_id DESC
              LIMIT 16)
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
    'the agent may read, and that subject: the name itself, or the only subject of the first 16 '
    'records that have it as an alias or entity. p_places: which audience each is, as _recallable '
    'counts them.';

CREATE FUNCTION mnemo._phrases(
    p_texts text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT array_to_string(w.words[p.place : p.place + n.more], ' ') COLLATE "C"
          FROM (
            SELECT string_to_array(btrim(l.line, ' '), ' ') AS words
              FROM unnest(string_to_array(
                    mnemo._fold_lines(array_to_string(p_texts, E'\n')), E'\n')) AS l(line)
            OFFSET 0
          ) AS w
          CROSS JOIN LATERAL (
            SELECT u.place::integer AS place,
                   (mnemo._word_strengths() ->> u.word)::integer AS strength
              FROM unnest(w.words) WITH ORDINALITY AS u(word, place)
            OFFSET 0
          ) AS p
          CROSS JOIN generate_series(0, 2) AS n(more)
         WHERE p.strength IS DISTINCT FROM -1
           AND mnemo._is_of_another(
                w.words[p.place - 2], w.words[p.place - 1], w.words[p.place]) IS NOT TRUE
           AND CASE n.more WHEN 0 THEN p.strength IS NULL
               ELSE mnemo._word_strengths() ->> w.words[p.place + n.more] IS DISTINCT FROM '-1' END
           AND p.place + n.more <= cardinality(w.words)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._phrases(text[]) IS
    'What may be a name in texts: each word, pair and three words in a row that neither begin nor '
    'end with a stop word, as _fold_name gives names; single words only where they are neither '
    'weak nor words of conversation; none that begins with a relation of somebody else.';

CREATE FUNCTION mnemo._asked_names(
    p_plan jsonb,
    p_queries text[],
    p_meant text[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_audiences bigint[],
    p_places bigint[]
)
RETURNS TABLE (name text, subject text, origin text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 5
AS $fn$
DECLARE
    v_phrases text[] := mnemo._phrases(p_queries);
    v_entities text[] := ARRAY(
        SELECT mnemo._fold_name(f.form)
          FROM jsonb_array_elements(p_plan -> 'entities') AS e(entity)
          CROSS JOIN LATERAL (VALUES (e.entity ->> 'surface'), (e.entity ->> 'canonical'))
            AS f(form)
         WHERE f.form IS NOT NULL);
    v_hint text := mnemo._fold_name(p_plan ->> 'subject_hint');
    v_partner text[] := CASE WHEN 'partner' = ANY (p_meant) THEN mnemo._partner_names() END;
BEGIN
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT k.name, k.subject
          FROM mnemo._known_names(
                v_phrases || v_entities || v_hint || v_partner, p_org_id, p_agent_id, p_now,
                p_audiences, p_places) AS k
    ), said AS MATERIALIZED (
        SELECT k.name, k.subject
          FROM known AS k
         WHERE k.name = ANY (v_phrases || v_entities) AND k.subject <> 'user'
    )
    -- A name within a longer one is no name of its own.
    SELECT s.name, s.subject, 'said'
      FROM said AS s
     WHERE NOT EXISTS (
        SELECT FROM said AS o
         WHERE o.name <> s.name
           AND strpos(' ' || o.name || ' ', ' ' || s.name || ' ') > 0)
    UNION ALL
    (SELECT NULL, k.subject, 'partner'
       FROM known AS k
      WHERE k.name = ANY (v_partner) AND k.subject <> 'user'
        AND NOT EXISTS (SELECT FROM said)
      ORDER BY array_position(v_partner, k.name)
      LIMIT 1)
    UNION ALL
    SELECT NULL, 'user',
           CASE WHEN 'user' = ANY (p_meant || v_entities) THEN 'user' ELSE 'nobody' END
     WHERE NOT EXISTS (SELECT FROM known AS k
                        WHERE k.name = ANY (v_phrases || v_entities || v_partner)
                          AND k.subject <> 'user')
       AND ('user' = ANY (p_meant || v_entities) OR v_partner IS NULL)
    UNION ALL
    SELECT v_hint, coalesce((SELECT k.subject FROM known AS k WHERE k.name = v_hint), v_hint),
           'hint'
     WHERE v_hint IS NOT NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._asked_names(
    jsonb, text[], text[], text, text, timestamptz, bigint[], bigint[]
) IS
    'Whom a plan means, by its origin: said, a name in its queries or entities that means one '
    'subject other than the user; where there is none, partner, whom a pronoun means, else the '
    'user (user where a query speaks in the first person, nobody where it does not); hint, the '
    'subject hint, resolved where it is known.';
