-- Blank, trim, lower case and normal form by fixed rules of Unicode 14.0: what the server's own
-- functions do depends on its version, its locale provider and the collation of a caller. For the
-- same reason literals with a backslash are E'' ones, which no setting of a session changes.

CREATE FUNCTION mnemo._white_space()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- By number, not by escape: the script must be readable in a database that the install refuses.
RETURN E'\t\n\x0B\f\r ' || chr(133) || chr(160) || chr(5760) || chr(8192) || chr(8193) || chr(8194)
    || chr(8195) || chr(8196) || chr(8197) || chr(8198) || chr(8199) || chr(8200) || chr(8201)
    || chr(8202) || chr(8232) || chr(8233) || chr(8239) || chr(8287) || chr(12288);
COMMENT ON FUNCTION mnemo._white_space() IS
    'The characters with the Unicode property White_Space. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._trim(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(p_text, mnemo._white_space());
COMMENT ON FUNCTION mnemo._trim(text) IS
    'The text without White_Space at both ends. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._is_blank(
    p_text text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_text COLLATE "C" !~ ('[^' || mnemo._white_space() || ']');
COMMENT ON FUNCTION mnemo._is_blank(text) IS
    'True for empty text and for nothing but White_Space. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._squeeze(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    mnemo._trim(p_text) COLLATE "C",
    '[' || mnemo._white_space() || ']{2,}|[' || btrim(mnemo._white_space(), ' ') || ']',
    ' ',
    'g'
);
COMMENT ON FUNCTION mnemo._squeeze(text) IS
    'The trimmed text with each run of White_Space as one space. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._lower(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length(p_text) = char_length(p_text) THEN lower(p_text COLLATE "C")
    ELSE mnemo._lower_wide(p_text)
END;
COMMENT ON FUNCTION mnemo._lower(text) IS
    'Lower case as in signatures, by the full mapping of Unicode 14.0: U+0130 gives i and U+0307, a '
    'final sigma is decided within each run of letters, numbers and marks. The text is not '
    'normalised. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._order_marks(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT string_agg(o.letter, '' ORDER BY o.starters, o.class, o.place)
      FROM (
        SELECT t.letter,
               t.place,
               coalesce(k.class, 0) AS class,
               count(*) FILTER (WHERE k.class IS NULL) OVER (ORDER BY t.place) AS starters
          FROM unnest(string_to_array(
                replace(replace(replace(replace(
                    p_text COLLATE "C",
                    chr(836), chr(776) || chr(769)),
                    chr(3955), chr(3953) || chr(3954)),
                    chr(3957), chr(3953) || chr(3956)),
                    chr(3969), chr(3953) || chr(3968)),
                NULL
            )) WITH ORDINALITY AS t(letter, place)
          LEFT JOIN (
            SELECT r.code, (mnemo._unicode_combining_classes())[b.i][3] AS class
              FROM generate_subscripts(mnemo._unicode_combining_classes(), 1) AS b(i)
             CROSS JOIN generate_series(
                    (mnemo._unicode_combining_classes())[b.i][1],
                    (mnemo._unicode_combining_classes())[b.i][2]
                ) AS r(code)
          ) AS k ON k.code = ascii(t.letter)
      ) AS o
);
COMMENT ON FUNCTION mnemo._order_marks(text) IS
    'The text with combining marks in canonical order; the only marks that are decomposed are those '
    'that stand for two. The normal form stays the same. NULL and empty give NULL. Raises nothing.';

CREATE FUNCTION mnemo._pin(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := regexp_replace(
        p_text COLLATE "C", '[' || mnemo._unicode_unassigned() || ']', ' ', 'g'
    );
BEGIN
    -- normalize() orders marks by exchanging neighbours, in quadratic time: 100,000 of them in the
    -- wrong order would take minutes. Marks that stand in order already cost it nothing.
    IF v_text ~ ('[' || mnemo._unicode_reordered() || ']{64}') THEN
        v_text := mnemo._order_marks(v_text);
    END IF;
    -- PostgreSQL 15 takes U+11A7, a vowel, for a final consonant and loses it after a syllable.
    -- A noncharacter takes its place: there is none left in the text, and it is a starter that
    -- composes with nothing, as U+11A7 is.
    IF strpos(v_text, E'\u11A7') > 0 THEN
        RETURN translate(
            normalize(translate(v_text, E'\u11A7', E'\uFDD0'), NFC), E'\uFDD0', E'\u11A7'
        );
    END IF;
    RETURN normalize(v_text, NFC);
END
$fn$;
COMMENT ON FUNCTION mnemo._pin(text) IS
    'The text in the normal form NFC of Unicode 14.0, each code point unassigned there replaced by a '
    'space: the same on every server. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._canonical_predicate(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(
    regexp_replace(lower(p_text COLLATE "C") COLLATE "C", '[^a-z0-9]+', '_', 'g'), '_'
);
COMMENT ON FUNCTION mnemo._canonical_predicate(text) IS
    'As canonical_predicate, inlined in its caller. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo.canonical_predicate(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._canonical_predicate(p_text);
END
$fn$;
COMMENT ON FUNCTION mnemo.canonical_predicate(text) IS
    'The canonical form of a predicate: ASCII letters and digits in lower case, each run of other '
    'characters one underscore, none at the ends; empty when nothing is left. NULL gives NULL. '
    'Raises nothing.';
