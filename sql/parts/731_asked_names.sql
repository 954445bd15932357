CREATE FUNCTION mnemo._reachable_audiences(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    OUT audiences bigint[],
    OUT places bigint[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_audiences bigint[] := mnemo._audiences(p_org_id, p_agent_id, NULL);
    v_delegated bigint[] := mnemo._delegated_audiences(p_org_id, p_agent_id, NULL, p_now);
    v_public boolean;
    v_granted boolean;
    v_global boolean;
BEGIN
    SELECT EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = p_org_id AND m.scope = 'public'
               AND m.scope IN ('public', 'global') AND m.deleted_at IS NULL
               AND NOT m.tags @> ARRAY['__experience_plan__']),
           EXISTS (
            SELECT FROM mnemo.acl AS g WHERE g.org_id = p_org_id AND g.agent_id = p_agent_id),
           EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = '*' AND m.scope = 'global'
               AND m.scope IN ('public', 'global') AND m.deleted_at IS NULL
               AND NOT m.tags @> ARRAY['__experience_plan__'])
      INTO v_public, v_granted, v_global;
    places := array_remove(ARRAY[1, CASE WHEN v_public THEN 2 END, CASE WHEN v_granted THEN 3 END,
        CASE WHEN v_global THEN 4 END]::bigint[], NULL);
    audiences := array_remove(ARRAY[v_audiences[1], CASE WHEN v_public THEN v_audiences[2] END,
        CASE WHEN v_granted THEN v_audiences[3] END, CASE WHEN v_global THEN v_audiences[4] END],
        NULL);
    IF v_delegated <> '{}' THEN
        places := places || ARRAY(SELECT generate_series(5, 4 + cardinality(v_delegated)));
        audiences := audiences || v_delegated;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._reachable_audiences(text, text, timestamptz) IS
    'The audiences whose lists can hold a memory that the agent may read, and the place of each as '
    '_recallable counts them. Others have empty lists, which need not be looked up.';

CREATE FUNCTION mnemo._other_names(
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
    SELECT f.name, min(f.subject)
      FROM (
        SELECT n.name, mnemo._fold_name(m.subject) COLLATE "C" AS subject
          FROM (
            SELECT u.name, mnemo._name_term(u.name) AS term FROM unnest(p_names) AS u(name) OFFSET 0
          ) AS n
          CROSS JOIN unnest(p_audiences, p_places) AS a(audience, place)
          CROSS JOIN LATERAL (
            (SELECT t.memory_id
               FROM mnemo.term_posting AS t
              WHERE t.org_id = p_org_id AND t.key = a.audience # n.term AND a.place <> 4
              ORDER BY t.weight DESC, t.shortness DESC, t.memory_id DESC
              LIMIT 16)
            UNION ALL
            (SELECT t.memory_id
               FROM mnemo.term_posting AS t
              WHERE t.org_id = '*' AND t.key = a.audience # n.term AND a.place = 4
              ORDER BY t.weight DESC, t.shortness DESC, t.memory_id DESC
              LIMIT 16)
          ) AS p
          CROSS JOIN LATERAL mnemo._recallable_record(
                a.place, a.audience, p.memory_id, p_org_id, p_agent_id, p_now, NULL) AS m
         WHERE m.subject IS NOT NULL
      ) AS f
     GROUP BY f.name
    HAVING min(f.subject) = max(f.subject);
END
$fn$;
COMMENT ON FUNCTION mnemo._other_names(text[], text, text, timestamptz, bigint[], bigint[]) IS
    'Those of the names that are no subject themselves that mean one, and that: the only subject '
    'of the first 16 records that have the name as an alias or entity.';

CREATE FUNCTION mnemo._known_names(
    p_names text[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_audiences bigint[],
    p_places bigint[],
    OUT names text[],
    OUT subjects text[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_others text[];
BEGIN
    -- The first entry of a list has its highest weight; a subject's is 30.
    SELECT array_agg(k.name) FILTER (WHERE k.weight >= 30),
           array_agg(k.name) FILTER (WHERE k.weight < 30)
      INTO names, v_others
      FROM (
        SELECT n.name, max(p.weight) AS weight
          FROM (
            SELECT u.name, mnemo._name_term(u.name) AS term
              FROM (SELECT DISTINCT unnest(p_names) AS name) AS u
            OFFSET 0
          ) AS n
          CROSS JOIN (SELECT unnest(p_audiences) AS audience, unnest(p_places) AS place) AS a
          CROSS JOIN LATERAL (
            (SELECT t.weight
               FROM mnemo.term_posting AS t
              WHERE t.org_id = p_org_id AND t.key = a.audience # n.term AND a.place <> 4
              ORDER BY t.weight DESC, t.shortness DESC, t.memory_id DESC
              LIMIT 1)
            UNION ALL
            (SELECT t.weight
               FROM mnemo.term_posting AS t
              WHERE t.org_id = '*' AND t.key = a.audience # n.term AND a.place = 4
              ORDER BY t.weight DESC, t.shortness DESC, t.memory_id DESC
              LIMIT 1)
          ) AS p
         GROUP BY n.name
      ) AS k;
    subjects := names;
    IF v_others IS NOT NULL THEN
        SELECT names || array_agg(o.name), subjects || array_agg(o.subject) INTO names, subjects
          FROM mnemo._other_names(
                v_others, p_org_id, p_agent_id, p_now, p_audiences, p_places) AS o;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._known_names(text[], text, text, timestamptz, bigint[], bigint[]) IS
    'Those of the names, given as _fold_name gives them, that mean one subject of the records that '
    'the agent may read, and that subject: the name itself where it is one, else that of '
    '_other_names. p_places: which audience each is, as _recallable counts them. NULL for none.';

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

CREATE FUNCTION mnemo._folded_names(
    p_plan jsonb
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    IF p_plan -> 'entities' = '[]' AND p_plan -> 'subject_hint' = 'null' THEN
        RETURN '{}';
    END IF;
    -- All of them at once: folding takes as long for one.
    RETURN ARRAY(
        SELECT nullif(btrim(n.name, ' '), '')
          FROM unnest(string_to_array(mnemo._bare_names(mnemo._fold_lines((
                SELECT string_agg(replace(u.name, E'\n', ' '), E'\n' ORDER BY u.place, u.form)
                  FROM (
                    SELECT coalesce(p_plan ->> 'subject_hint', '') AS name, 0 AS place, 0 AS form
                    UNION ALL
                    SELECT coalesce(e.entity ->> f.key, ''), e.place, f.place
                      FROM jsonb_array_elements(p_plan -> 'entities') WITH ORDINALITY
                        AS e(entity, place)
                      CROSS JOIN (VALUES (1, 'surface'), (2, 'canonical')) AS f(place, key)
                  ) AS u
            ))), E'\n')) WITH ORDINALITY AS n(name, place)
         ORDER BY n.place
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._folded_names(jsonb) IS
    'The names in a plan, as _fold_name gives them: the subject hint, then of each entity the '
    'surface and the canonical form; NULL for each that is not there. Empty without any.';

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
RETURNS mnemo._people
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_people mnemo._people;
    v_forms text[] := mnemo._folded_names(p_plan);
    v_spoken text[] := mnemo._phrases(p_queries) || v_forms[2:];
    v_partner text[] := CASE WHEN 'partner' = ANY (p_meant) THEN mnemo._partner_names() END;
    v_known record;
BEGIN
    v_people.forms := v_forms[2:];
    v_known := mnemo._known_names(v_spoken || v_forms[1] || v_partner, p_org_id, p_agent_id, p_now,
        p_audiences, p_places);
    v_people.hint := coalesce(
        v_known.subjects[array_position(v_known.names, v_forms[1])], v_forms[1]);
    FOR v_place IN 1 .. coalesce(cardinality(v_known.names), 0) LOOP
        IF v_known.names[v_place] = ANY (v_spoken) AND v_known.subjects[v_place] <> 'user' THEN
            v_people.names := v_people.names || v_known.names[v_place];
            v_people.subjects := v_people.subjects || v_known.subjects[v_place];
        END IF;
    END LOOP;
    IF cardinality(v_people.names) > 1 THEN
        -- A name within a longer one is no name of its own.
        SELECT array_agg(s.name), array_agg(s.subject) INTO v_people.names, v_people.subjects
          FROM unnest(v_people.names, v_people.subjects) AS s(name, subject)
         WHERE NOT EXISTS (
            SELECT FROM unnest(v_people.names) AS o(name)
             WHERE o.name <> s.name
               AND strpos(' ' || o.name || ' ', ' ' || s.name || ' ') > 0);
    END IF;
    IF v_people.names IS NULL AND v_partner IS NOT NULL THEN
        v_people.partner := (
            SELECT k.subject
              FROM unnest(v_known.names, v_known.subjects) AS k(name, subject)
             WHERE k.name = ANY (v_partner) AND k.subject <> 'user'
             ORDER BY array_position(v_partner, k.name)
             LIMIT 1);
    END IF;
    v_people.speaks := coalesce('user' = ANY (p_meant || v_people.forms), false);
    v_people.of_user := v_people.names IS NULL AND v_people.partner IS NULL
        AND (v_people.speaks OR v_partner IS NULL);
    RETURN v_people;
END
$fn$;
COMMENT ON FUNCTION mnemo._asked_names(
    jsonb, text[], text[], text, text, timestamptz, bigint[], bigint[]
) IS
    'Whom a plan means: by names in its queries or entities that mean one subject other than the '
    'user; where there is none, the partner whom a pronoun means, else the user, who is also meant '
    'where nobody is; and the subject hint, resolved where it is known.';
