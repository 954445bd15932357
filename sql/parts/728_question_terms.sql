-- What may answer the words of a question, and whom it means.

CREATE FUNCTION mnemo._is_occasion(
    p_earlier text,
    p_before text,
    p_word text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_before IN ('before', 'after', 'during')
    OR p_before IN ('to', 'at', 'from') AND p_word IN ('work', 'home')
    OR p_before IN ('the', 'a', 'an', 'my', 'our', 'his', 'her', 'their', 'this', 'that')
        AND (p_earlier IN ('before', 'after', 'during')
            OR p_earlier = 'at' AND p_word IN ('party', 'wedding', 'meeting', 'interview',
                'conference', 'event', 'festival', 'ceremony', 'reception')), false);
COMMENT ON FUNCTION mnemo._is_occasion(text, text, text) IS
    'Whether the last of three words tells when or where and not what: before the meeting, after '
    'lunch, at the party, to work.';

CREATE FUNCTION mnemo._strangers(
    p_text text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT n.name
      FROM (
        SELECT DISTINCT btrim(mnemo._fold_plurals(' ' || lower(m.found[1]) || ' '), ' ')
                   COLLATE "C" AS name
          FROM (
            SELECT r.found
              FROM regexp_matches(p_text COLLATE "C",
                    E'(?:^|[^A-Za-z0-9])([A-Z][a-z]{2,})(?=[\\u2019'']s(?:[^A-Za-z]|$))', 'g')
                   AS r(found)
            UNION ALL
            SELECT r.found
              FROM regexp_matches(p_text COLLATE "C",
                    '(?:^|[^A-Za-z])(?:[Dd]oes|[Dd]id|[Ii]s|[Ww]as|[Hh]as|[Hh]ad|[Ww]ill|[Ww]ould'
                        '|[Cc]an|[Cc]ould|[Ss]hould|for|with|about|than|and|or)'
                        ' ([A-Z][a-z]{2,})(?![A-Za-z0-9])', 'g')
                   AS r(found)
          ) AS m
        OFFSET 0
      ) AS n
     WHERE n.name <> ALL (mnemo._calendar_words()) AND NOT mnemo._word_strengths() ? n.name
       AND NOT mnemo._related_words() ? n.name
);
COMMENT ON FUNCTION mnemo._strangers(text) IS
    'The words of a text, folded, that its letters and its grammar show to be names: with a '
    'capital, and with a possessive behind or a verb or preposition before them. Empty for NULL.';

CREATE FUNCTION mnemo._question_terms(
    p_text text
)
RETURNS TABLE (
    place bigint,
    word text,
    strength integer,
    form text,
    term bigint,
    factor double precision,
    evidence double precision
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 40
BEGIN ATOMIC
    WITH token AS MATERIALIZED (
        SELECT t.word, min(t.place) AS place, min(t.phrase) AS phrase, max(t.pair) AS pair,
               CASE WHEN bool_and(t.others) THEN 0.72::double precision ELSE 1 END AS part,
               CASE WHEN max(t.pair) = '' OR bool_and(t.occasion) THEN '1'
               WHEN min(t.phrase) = '' OR min(t.phrase) IS NULL AND bool_and(t.before IS NOT NULL)
               THEN '0'
               WHEN right(t.word, 3) = 'ing' OR right(t.word, 2) = 'ed'
               THEN mnemo._form_strength(t.word)
               ELSE mnemo._word_strengths() ->> t.word END AS strength
          FROM (
            SELECT u.word, u.place, mnemo._is_of_another(
                        lag(u.word, 2) OVER w, lag(u.word) OVER w, u.word) IS TRUE AS others,
                   mnemo._function_pair(
                        lag(u.word) OVER w, u.word, lead(u.word) OVER w) AS pair,
                   mnemo._related_words() ->> (u.word || ' ' || lead(u.word) OVER w) AS phrase,
                   mnemo._related_words() ->> (lag(u.word) OVER w || ' ' || u.word) AS before,
                   mnemo._is_occasion(
                        lag(u.word, 2) OVER w, lag(u.word) OVER w, u.word) AS occasion
              FROM unnest(mnemo._terms(p_text)) WITH ORDINALITY AS u(word, place)
            WINDOW w AS (ORDER BY u.place)
          ) AS t
         GROUP BY t.word
    ), asked AS MATERIALIZED (
        SELECT t.word, t.place, nullif(t.phrase, '') AS phrase, t.part,
               CASE WHEN t.strength IS NULL OR t.phrase <> '' THEN 2
               ELSE t.strength::integer END AS strength,
               CASE WHEN t.strength = '0' AND nullif(t.phrase, '') IS NULL THEN '{}'::text[]
               WHEN t.pair <> '' THEN ARRAY[t.pair]
               ELSE mnemo._word_forms(t.word) END AS forms
          FROM token AS t
         WHERE t.strength IS DISTINCT FROM '-1' OR t.phrase <> ''
    )
    SELECT f.place, f.word, f.strength, f.form, mnemo._hash64(f.form), max(f.factor),
           max(f.evidence * f.part)
      FROM (
        SELECT a.place, a.word, a.strength, a.word AS form, 1.0::double precision AS factor,
               1.0::double precision AS evidence, a.part
          FROM asked AS a
        UNION ALL
        SELECT a.place, a.word, a.strength, v.form, 0.85, 0.9, a.part
          FROM asked AS a CROSS JOIN LATERAL unnest(a.forms) AS v(form)
        UNION ALL
        SELECT a.place, a.word, a.strength, r.form, 0.5, 0.72, a.part
          FROM asked AS a
          CROSS JOIN LATERAL unnest(a.word || a.forms || a.phrase) WITH ORDINALITY AS v(form, place)
          CROSS JOIN LATERAL unnest(string_to_array(
                CASE WHEN v.place = 2 + cardinality(a.forms) THEN v.form
                ELSE mnemo._related_words() ->> v.form END, ' ')) AS r(form)
         WHERE a.strength > 0
        UNION ALL
        SELECT 4000 + a.place, a.word, 2, a.word, 1, 0.5, 1
          FROM unnest(CASE WHEN p_text COLLATE "C" ~ '[A-Z]' THEN mnemo._strangers(p_text) END)
               AS s(name)
          JOIN asked AS a ON a.word = s.name
         WHERE NOT EXISTS (SELECT FROM token AS o WHERE o.word = ANY (mnemo._first_persons()))
      ) AS f
     GROUP BY f.place, f.word, f.strength, f.form;
END;
COMMENT ON FUNCTION mnemo._question_terms(text) IS
    'What may answer each word of a question, stop words aside. place: of the word. strength: 2 a '
    'word that asks for something; 1 a word of _conversation_words or of _function_pair, which '
    'does so only where there is no other; 0 a word of _weak_words, which never does. form: the '
    'word itself, another form of it or a related word; term: its hash. A name of _strangers asks '
    'twice where the user does not speak of himself, the second time 4000 places on. factor: what a '
    'hit of it counts in ranking (1 the word, 0.85 a form, 0.5 a related word). evidence: how far a '
    'hit '
    'shows that the record speaks of what the word asks for (1, 0.9, 0.72), 0.72 of that for a '
    'relation of somebody else, who need not be the user''s. The first word of a '
    'phrase of _related_words, such as work out, asks with the related words of the phrase, the '
    'second for nothing. No row for a text without words.';

CREATE FUNCTION mnemo._spouse_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['wife', 'husband', 'spous', 'fiancee', 'fiance', 'girlfriend', 'boyfriend', 'hubby',
    'missu']::text[];
COMMENT ON FUNCTION mnemo._spouse_words() IS 'English words for a spouse, folded.';

CREATE FUNCTION mnemo._own_spouse(
    p_words text[]
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN EXISTS (
    SELECT FROM unnest(p_words) WITH ORDINALITY AS u(word, place)
     WHERE u.word = ANY (mnemo._spouse_words()) AND mnemo._is_of_another(
            p_words[u.place - 2], p_words[u.place - 1], u.word) IS NOT TRUE
);
COMMENT ON FUNCTION mnemo._own_spouse(text[]) IS
    'Whether one of the words is a spouse that is not somebody else''s.';

CREATE FUNCTION mnemo._meant_by(
    p_words text[]
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_words && ARRAY['she', 'her', 'he', 'him', 'his']::text[]
            AND mnemo._pronoun_of_partner(p_words)
        OR p_words && mnemo._spouse_words()
            AND (NOT p_words @> ARRAY['s'::text] OR mnemo._own_spouse(p_words))
    THEN 'partner'
    WHEN p_words && mnemo._first_persons() THEN 'user'
    WHEN mnemo._asks_in_general(p_words) THEN 'general' END;
COMMENT ON FUNCTION mnemo._meant_by(text[]) IS
    'Whom words, as _terms gives them, mean that name nobody: partner for a pronoun of the third '
    'person that refers back to nobody or a word for the user''s own spouse, that is the one '
    'subject with a name of _partner_names; user for the first person; general for a question without; else NULL. NULL '
    'for NULL.';

CREATE FUNCTION mnemo._partner_names()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['wife', 'husband', 'spous', 'fiancee', 'fiance', 'girlfriend', 'boyfriend', 'partner']
    ::text[];
COMMENT ON FUNCTION mnemo._partner_names() IS
    'Names, as _fold_name gives them, of the person that she or he means where nobody is named, '
    'best first: the first that exactly one subject has.';
