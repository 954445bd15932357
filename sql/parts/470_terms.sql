-- The terms of a text: its words in lower case, without accents and plurals, pairs of characters for
-- scripts without spaces, identifiers whole and in parts. As for signatures the rules work on the
-- whole text, words being kept apart by single spaces.

CREATE FUNCTION mnemo._terms_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 2;
COMMENT ON FUNCTION mnemo._terms_version() IS
    'Version of the rules of _terms and _record_terms, kept with each record; it grows whenever a '
    'record could get other terms. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._fold_wide(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := p_text;
BEGIN
    IF v_text ~ ('[^' || mnemo._unicode_stable() || ']') THEN
        v_text := mnemo._pin(v_text);
    END IF;
    v_text := mnemo._lower(v_text);
    IF v_text ~ E'[\\u00E0-\\u017E]' THEN
        RETURN translate(v_text,
            E'\u00E0\u00E1\u00E2\u00E3\u00E4\u00E5\u00E7\u00E8\u00E9\u00EA\u00EB\u00EC\u00ED'
            '\u00EE\u00EF\u00F1\u00F2\u00F3\u00F4\u00F5\u00F6\u00F9\u00FA\u00FB\u00FC\u00FD'
            '\u00FF\u0101\u0103\u0105\u0107\u0109\u010B\u010D\u010F\u0113\u0115\u0117\u0119'
            '\u011B\u011D\u011F\u0121\u0123\u0125\u0129\u012B\u012D\u012F\u0135\u0137\u013A'
            '\u013C\u013E\u0144\u0146\u0148\u014D\u014F\u0151\u0155\u0157\u0159\u015B\u015D'
            '\u015F\u0161\u0163\u0165\u0169\u016B\u016D\u016F\u0171\u0173\u0175\u0177\u017A'
            '\u017C\u017E',
            'aaaaaaceeeeiiiinooooouuuuyyaaaccccdeeeeegggghiiiijklllnnnooorrrssssttuuuuuuwyzzz');
    END IF;
    RETURN v_text;
END
$fn$;
COMMENT ON FUNCTION mnemo._fold_wide(text) IS
    'A text in the normal form NFC of Unicode 14.0 and in lower case, Latin letters without their '
    'accents (U+00E0 to U+017E). NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._fold_plurals(
    p_tokens text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- The singular is changed alike where the plural does not tell it: movie and movies give movy, cache
-- and caches cach. What counts is that both become one.
-- The last rule is the common one; the first expression asks whether others apply.
RETURN regexp_replace(
    CASE WHEN p_tokens COLLATE "C" ~ '(?:i|o|ss|sh|ch|us|x|z)es? '
    THEN regexp_replace(regexp_replace(regexp_replace(
        p_tokens COLLATE "C",
        ' ([a-z]{2,})ies?(?= )', E' \\1y', 'g'),
        ' ([a-z]{2,}o)es?(?= )', E' \\1', 'g'),
        ' ([a-z]+(?:ss|sh|ch|us|x|z))es?(?= )', E' \\1', 'g')
    ELSE p_tokens COLLATE "C" END,
    ' ([a-z]{2,}[a-hj-rtv-z])s(?= )', E' \\1', 'g');
COMMENT ON FUNCTION mnemo._fold_plurals(text) IS
    'Tokens with one space before, between and after them, English plurals and singulars made one; '
    'only words of four ASCII letters or more, and nothing but their endings. NULL gives NULL. '
    'Raises nothing.';

CREATE FUNCTION mnemo._pairs(
    p_tokens text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT array_agg(CASE WHEN t.after = ' ' THEN t.letter ELSE t.letter || t.after END)
      FROM (
        SELECT string_to_array(' ' || string_agg(m.run[1], ' ') || ' ', NULL) AS letters
          FROM regexp_matches(p_tokens COLLATE "C", mnemo._unspaced_run(), 'g') AS m(run)
      ) AS r
     CROSS JOIN unnest(r.letters, r.letters[2:], r.letters[3:]) AS t(before, letter, after)
     WHERE t.letter <> ' '
       AND (t.after <> ' ' OR t.before = ' ')
);
COMMENT ON FUNCTION mnemo._pairs(text) IS
    'The pairs of neighbours in the runs of scripts without spaces; the character itself for a run '
    'of one. NULL for none. Raises nothing.';

CREATE FUNCTION mnemo._identifiers(
    p_text text,
    p_gap text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT i.name
          FROM (
            SELECT btrim(t.piece, '_./:@#-') AS name
              FROM unnest(string_to_array(
                    regexp_replace(p_text COLLATE "C", p_gap, ' ', 'g'), ' ')) AS t(piece)
             WHERE length(t.piece) BETWEEN 3 AND 256
          ) AS i
         WHERE i.name COLLATE "C" ~ '[_./:@#-]' AND i.name COLLATE "C" ~ '[0-9_.@]'
           AND i.name COLLATE "C" !~ ('[' || mnemo._unicode_unspaced() || ']')
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._identifiers(text, text) IS
    'The identifiers in a folded text, whole: words joined by any of - _ . / : @ # with a digit, a '
    'dot, an underscore or an @ among them. p_gap: pattern for what stands between them. Raises '
    'nothing.';

CREATE FUNCTION mnemo._terms(
    p_text text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_wide boolean := octet_length(p_text) <> char_length(p_text);
    v_text text COLLATE "C";
    v_tokens text COLLATE "C";
    v_terms text[];
BEGIN
    IF p_text IS NULL THEN
        RETURN '{}';
    END IF;
    IF v_wide THEN
        v_text := mnemo._fold_wide(p_text);
        v_tokens := regexp_replace(' ' || v_text || ' ', mnemo._token_gap(), ' ', 'g');
        IF v_tokens ~ ('[' || mnemo._unicode_unspaced() || ']') THEN
            v_terms := mnemo._pairs(v_tokens);
            v_tokens := regexp_replace(v_tokens, '(?:' || mnemo._unspaced_run() || '| )+', ' ', 'g');
        END IF;
    ELSE
        v_text := lower(p_text COLLATE "C");
        v_tokens := regexp_replace(' ' || v_text || ' ', '[^a-z0-9]+', ' ', 'g');
    END IF;
    v_terms := string_to_array(btrim(mnemo._fold_plurals(v_tokens), ' '), ' ') || v_terms;
    IF v_text ~ '[^ ][_./:@#-][^ ]' THEN
        RETURN v_terms || mnemo._identifiers(v_text,
            CASE WHEN v_wide
            THEN '[^' || mnemo._unicode_word() || mnemo._unicode_hangul() || mnemo._unicode_mark()
                || E'\\u302E\\u302F_./:@#-]+'
            ELSE '[^a-z0-9_./:@#-]+' END);
    END IF;
    RETURN v_terms;
END
$fn$;
COMMENT ON FUNCTION mnemo._terms(text) IS
    'The terms of a text, with repetitions, stop words included: words in lower case without accents '
    'and English plurals, pairs of characters of scripts without spaces, identifiers whole besides '
    'their parts. The same on every server and in every locale. Empty for NULL. Raises nothing.';
