-- The guard: what a query says beyond its set of words.

CREATE FUNCTION mnemo._guard_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1;
COMMENT ON FUNCTION mnemo._guard_version() IS
    'Version of the guard''s rules and word lists, kept with each stored guard; it grows whenever a '
    'query could get another guard. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_forms(
    p_entry text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_entry LIKE '%:' THEN '{}'
    WHEN p_entry LIKE '%~~' THEN ARRAY[
        rtrim(p_entry, '~'),
        rtrim(p_entry, '~') || 's',
        rtrim(p_entry, '~') || right(rtrim(p_entry, '~'), 1) || 'ed',
        rtrim(p_entry, '~') || right(rtrim(p_entry, '~'), 1) || 'ing'
    ]
    WHEN p_entry LIKE '%e~' THEN ARRAY[
        rtrim(p_entry, '~'), rtrim(p_entry, '~') || 's', rtrim(p_entry, '~') || 'd',
        left(p_entry, -2) || 'ing'
    ]
    WHEN p_entry COLLATE "C" ~ '[^aeiou]y~$' THEN ARRAY[
        rtrim(p_entry, '~'), left(p_entry, -2) || 'ies', left(p_entry, -2) || 'ied',
        rtrim(p_entry, '~') || 'ing'
    ]
    WHEN p_entry COLLATE "C" ~ '(s|x|z|ch|sh)~$' THEN ARRAY[
        rtrim(p_entry, '~'), rtrim(p_entry, '~') || 'es', rtrim(p_entry, '~') || 'ed',
        rtrim(p_entry, '~') || 'ing'
    ]
    WHEN p_entry LIKE '%~' THEN ARRAY[
        rtrim(p_entry, '~'), rtrim(p_entry, '~') || 's', rtrim(p_entry, '~') || 'ed',
        rtrim(p_entry, '~') || 'ing'
    ]
    WHEN p_entry LIKE '%+' THEN ARRAY[rtrim(p_entry, '+'), rtrim(p_entry, '+') || 's']
    ELSE ARRAY[p_entry]
END;
COMMENT ON FUNCTION mnemo._guard_forms(text) IS
    'The words that an entry of a word list stands for: itself, the forms of a regular verb (~, ~~), '
    'a plural (+), none for a label (:). NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_compile(
    p_lists text[]
)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
WITH line AS (
    SELECT l.language,
           n.number,
           split_part(n.line, ': ', 1) AS section,
           substring(n.line FROM strpos(n.line, ': ') + 2) AS entries
      FROM unnest(p_lists) WITH ORDINALITY AS l(list, language)
     CROSS JOIN string_to_table(
            -- A line that starts with a divider goes on with the line before.
            regexp_replace(
                (('"' || replace(btrim(l.list, E'\n'), E'\n', E'\\n') || '"')::jsonb #>> '{}') COLLATE "C",
                E'\n[a-z-]+: /', ' /', 'g'
            ),
            E'\n'
        ) WITH ORDINALITY AS n(line, number)
), entry AS (
    SELECT n.language, n.number, n.section, s.place AS side, e.place, e.entry,
           first_value(e.entry) OVER (
               PARTITION BY n.language, n.number, s.place ORDER BY e.place
           ) AS head,
           first_value(e.entry) OVER (
               PARTITION BY n.language, n.number ORDER BY s.place, e.place
           ) AS title
      FROM line AS n
     CROSS JOIN string_to_table(n.entries, ' / ') WITH ORDINALITY AS s(side, place)
     CROSS JOIN string_to_table(s.side, ' ') WITH ORDINALITY AS e(entry, place)
), word AS (
    SELECT f.word, e.language, e.number, e.section, e.side, e.place,
           -- Of a weak pair the second side alone is meaning.
           CASE WHEN e.section = 'weak' AND e.side > 1 THEN 'a' ELSE k.kind END AS kind,
           k.flag,
           CASE
               WHEN strpos(e.entry, '=') > 0 THEN split_part(e.entry, '=', 2)
               WHEN e.section IN ('pair', 'weak') THEN rtrim(e.title, ':~+') || '=' || rtrim(e.head, ':~+')
               WHEN e.section IN ('order', 'span', 'unit', 'time') THEN rtrim(e.head, ':~+')
               WHEN e.section = 'noun' THEN e.section
               ELSE ''
           END AS payload
      FROM entry AS e
     CROSS JOIN unnest(mnemo._guard_forms(split_part(e.entry, '=', 1))) AS f(word)
      JOIN (VALUES
            ('not', 'n', 0), ('part', 'k', 0), ('near', 'z', 0), ('near-time', 'd', 0),
            ('order', 'o', 0), ('pair', 'a', 0), ('weak', 'b', 0), ('number', '#', 0), ('span', 'q', 0),
            ('unit', 'u', 0), ('time', 't', 0), ('month', 'm', 0), ('join', ',', 0), ('parts', '&', 0),
            ('prep', 'p', 0), ('few', 'w', 0), ('skip', '.', 0), ('noun', '.', 0),
            ('word', 'w', 0), ('verb', 'w', 1), ('phrasal', 'w', 2), ('tie', 'w', 4),
            ('eager', 'w', 8), ('even', 'w', 16), ('swap', 'w', 32)
        ) AS k(section, kind, flag) ON k.section = e.section
), best AS (
    SELECT DISTINCT ON (w.word COLLATE "C")
           w.word, w.kind, w.payload, w.language
      FROM word AS w
     ORDER BY w.word COLLATE "C", w.language,
           array_position(ARRAY['n','k','z','d','o','a','b','#','q','u','t','m','&',',','p','.','w'], w.kind),
           w.number, w.side, w.place
)
SELECT jsonb_object_agg(b.word, b.kind || chr(48 + f.flags) || b.payload
            || CASE WHEN b.kind = 'w' AND f.flags & 52 > 0 THEN '~' ELSE '' END)
  FROM best AS b
  JOIN (
    SELECT w.word, w.language, bit_or(w.flag) AS flags FROM word AS w GROUP BY w.word, w.language
  ) AS f ON f.word = b.word AND f.language = b.language;
END;
COMMENT ON FUNCTION mnemo._guard_compile(text[]) IS
    'One object of all word lists: word to a letter for its kind, a character for its flags and what '
    'it stands for. Earlier lists win. Raises nothing.';

DO $do$
BEGIN
    -- Made once, here, because reading the lists takes longer than all guards of a session.
    EXECUTE format(
        'CREATE FUNCTION mnemo._guard_words() RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE '
        'RETURN %L::jsonb',
        mnemo._guard_compile(ARRAY[
            mnemo._guard_english() || mnemo._guard_english_more(), mnemo._guard_german(),
            mnemo._guard_french(), mnemo._guard_spanish()
        ])
    );
END
$do$;
COMMENT ON FUNCTION mnemo._guard_words() IS
    'The compiled word lists, a constant. Never NULL. Raises nothing.';
