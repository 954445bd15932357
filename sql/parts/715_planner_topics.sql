CREATE FUNCTION mnemo._planner_topics(
    p_text text,
    p_words text[],
    p_terms text[],
    p_taken integer[],
    p_user boolean
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_empty text[] := mnemo._function_words() || mnemo._asking_words()
        || CASE WHEN p_user THEN ARRAY['user'] END;
    v_names text[] := '{}';
    v_parts text[] := '{}';
    v_topics text[];
BEGIN
    -- An identifier is one topic, and its parts are none.
    IF p_text COLLATE "C" ~ '[^ ][_./:@#-][^ ]' THEN
        v_names := ARRAY(
            SELECT t.term
              FROM unnest(mnemo._terms(p_text)) WITH ORDINALITY AS t(term, place)
             WHERE t.term COLLATE "C" ~ '[_./:@#-]'
               AND t.term COLLATE "C" !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
             GROUP BY t.term
             ORDER BY min(t.place)
             LIMIT 100);
        v_parts := ARRAY(
            SELECT DISTINCT t.term
              FROM unnest(mnemo._terms(array_to_string(v_names, ' '))) AS t(term));
    END IF;
    SELECT array_agg(f.topic ORDER BY f.place) INTO v_topics
      FROM (
        SELECT DISTINCT ON (w.term COLLATE "C") w.topic, w.place
          FROM (
            SELECT n.name AS topic, n.name AS term, n.place
              FROM unnest(v_names) WITH ORDINALITY AS n(name, place)
            UNION ALL
            SELECT mnemo._lower(r.run), CASE r.run WHEN u.word THEN u.term ELSE r.run END,
                   cardinality(v_names) + u.place + r.place / 10000000.0
              FROM (
                SELECT DISTINCT ON (s.term COLLATE "C") s.term, s.place, s.word
                  FROM (
                    -- A phrase that has related words is one topic, an idiom is none.
                    SELECT t.place, t.term || coalesce(' ' || t.next, '') AS term,
                           CASE WHEN t.next IS NOT NULL THEN t.word || ' ' || t.next_word
                           WHEN mnemo._is_of_another(t.earlier, t.before, t.term)
                           THEN t.earlier_word || '''s ' || t.word
                           WHEN mnemo._is_occasion(t.earlier, t.before, t.term)
                           THEN CASE WHEN t.earlier = 'at' THEN 'at the'
                               WHEN t.before IN ('before', 'after', 'during', 'to', 'at', 'from')
                               THEN t.before
                               ELSE t.earlier END || ' ' || t.word
                           ELSE t.word END AS word
                      FROM (
                        SELECT u.word, u.term, u.place, lag(u.term) OVER w AS before,
                               lag(u.term, 2) OVER w AS earlier,
                               lag(u.word, 2) OVER w AS earlier_word,
                               lead(u.word) OVER w AS next_word,
                               CASE WHEN mnemo._related_words()
                                    ? (u.term || ' ' || lead(u.term) OVER w)
                               THEN lead(u.term) OVER w END AS next
                          FROM unnest(p_words, p_terms) WITH ORDINALITY AS u(word, term, place)
                        WINDOW w AS (ORDER BY u.place)
                      ) AS t
                     WHERE t.place <> ALL (p_taken) AND t.term <> ALL (v_parts)
                       AND (t.term COLLATE "C" <> ALL (v_empty) OR t.next IS NOT NULL)
                       AND NOT mnemo._related_words() ? coalesce(t.before || ' ' || t.term, '')
                       AND mnemo._related_words() ->> (t.term || ' ' || t.next) IS DISTINCT FROM ''
                  ) AS s
                 ORDER BY s.term COLLATE "C", s.place
              ) AS u
              CROSS JOIN LATERAL unnest(
                    CASE WHEN octet_length(u.word) = char_length(u.word) THEN ARRAY[u.word]
                    ELSE mnemo._planner_runs(u.word) END) WITH ORDINALITY AS r(run, place)
             WHERE length(r.run) <= 100
          ) AS w
         ORDER BY w.term COLLATE "C", w.place
      ) AS f;
    RETURN coalesce(v_topics, '{}');
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_topics(text, text[], text[], integer[], boolean) IS
    'The topical words of a text in lower case, each once, identifiers first: all words but those '
    'of _function_words and _asking_words, those at the places p_taken, and words of more than '
    '100 characters; nor the word user where memory knows the user as a subject (p_user). Whose '
    'relation somebody is stays with the word: tom''s wife.';

CREATE FUNCTION mnemo._planner_choice(
    p_topics text[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_known bigint[];
BEGIN
    IF cardinality(p_topics) <= 8 THEN
        RETURN p_topics;
    END IF;
    v_known := mnemo._known_terms(
        ARRAY(
            SELECT DISTINCT mnemo._hash64(t.term)
              FROM unnest(p_topics) WITH ORDINALITY AS p(topic, place)
              CROSS JOIN LATERAL unnest(mnemo._terms(p.topic)) AS t(term)
             WHERE p.place <= 500 OR p.place > cardinality(p_topics) - 500
        ), p_org_id, p_agent_id, p_now);
    RETURN ARRAY(
        SELECT c.topic
          FROM (
            SELECT p.topic, p.place
              FROM unnest(p_topics) WITH ORDINALITY AS p(topic, place)
             ORDER BY NOT EXISTS (
                    SELECT FROM unnest(mnemo._terms(p.topic)) AS t(term)
                     WHERE mnemo._hash64(t.term) = ANY (v_known)
                   ), p.place
             LIMIT 8
          ) AS c
         ORDER BY c.place
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_choice(text[], text, text, timestamptz) IS
    'At most eight topics, in their order: where there are more, the first of those that visible '
    'memory knows, then the first of the others.';

CREATE FUNCTION mnemo._planner_query(
    p_names text[],
    p_topics text[]
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN nullif(array_to_string(
    ARRAY(
        SELECT u.word
          FROM unnest(string_to_array(array_to_string(p_names, ' '), ' ')) WITH ORDINALITY
               AS u(word, place)
         WHERE mnemo._lower(u.word) COLLATE "C" <> ALL (mnemo._function_words() || p_topics)
         ORDER BY u.place
    ) || p_topics, ' '), '');
COMMENT ON FUNCTION mnemo._planner_query(text[], text[]) IS
    'The words of names that are no topics, then the topics, as a query. NULL for none.';

CREATE FUNCTION mnemo._planner_queries(
    p_names text[],
    p_topics text[],
    p_asker text,
    p_strangers text[]
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    -- A name that nobody knows is told by its capital and a possessive.
    v_told text[] := CASE WHEN p_strangers <> '{}' THEN ARRAY(
            SELECT CASE WHEN btrim(mnemo._fold_plurals(' ' || t.topic || ' '), ' ')
                    = ANY (p_strangers)
                   THEN upper(left(t.topic, 1)) || substr(t.topic, 2) || '''s' ELSE t.topic END
              FROM unnest(p_topics) WITH ORDINALITY AS t(topic, place)
             ORDER BY t.place)
        ELSE p_topics END;
    v_both text := mnemo._planner_query(p_names, v_told);
    v_topics text := mnemo._planner_query('{}', v_told);
BEGIN
    -- Who asks is told by a word that asks for nothing.
    RETURN to_jsonb(array_remove(ARRAY[
        coalesce(p_asker || ' ', '') || v_both,
        nullif(v_topics, v_both),
        mnemo._planner_query(p_names, '{}')
    ], NULL));
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_queries(text[], text[], text, text[]) IS
    'The queries of a plan: names and topics, topics, names; in the first also the word p_asker, '
    'by which the user means himself. Topics of p_strangers stand as possessives with a '
    'capital.';

CREATE FUNCTION mnemo._planner_intent(
    p_plain text[],
    p_person boolean,
    p_past boolean
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := ' ' || array_to_string(p_plain, ' ') || ' ';
    v_intent text;
BEGIN
    FOREACH v_intent IN ARRAY ARRAY['explicit_recall', 'personal_recommendation', 'comparison',
        'prior_event_reference']
    LOOP
        IF v_text ~ mnemo._planner_phrases(v_intent)
            OR v_intent = 'prior_event_reference' AND p_past
        THEN
            RETURN v_intent;
        END IF;
    END LOOP;
    RETURN CASE WHEN p_person THEN 'relationship_reference' ELSE 'ambient' END;
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_intent(text[], boolean, boolean) IS
    'The first intent, in the order of precedence, that a phrase among folded words tells, a '
    'person in the user''s life or time words for the past; else ambient.';
