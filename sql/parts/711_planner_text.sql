-- What the planner reads: the words of a text, thrice. All three lists have the same places.

CREATE FUNCTION mnemo._planner_read(
    p_text text,
    OUT words text[],
    OUT plain text[],
    OUT terms text[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_words text COLLATE "C" := p_text;
    v_plain text COLLATE "C";
BEGIN
    IF octet_length(p_text) = char_length(p_text) THEN
        v_words := regexp_replace(' ' || p_text || ' ', '[^A-Za-z0-9]+', ' ', 'g');
        v_plain := lower(v_words);
    ELSE
        IF v_words ~ ('[^' || mnemo._unicode_stable() || ']') THEN
            v_words := mnemo._pin(v_words);
        END IF;
        v_words := regexp_replace(' ' || v_words || ' ', mnemo._token_gap(), ' ', 'g');
        v_plain := mnemo._fold_wide(v_words);
    END IF;
    words := string_to_array(btrim(v_words, ' '), ' ');
    plain := string_to_array(btrim(v_plain, ' '), ' ');
    terms := string_to_array(btrim(mnemo._fold_plurals(v_plain), ' '), ' ');
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_read(text) IS
    'The words of a text: as they are written, folded, and folded without plurals as terms are; '
    'scripts without spaces stay whole. Empty for a text without words.';

CREATE FUNCTION mnemo._planner_runs(
    p_word text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT array_agg(r.run[1] ORDER BY r.place)
      FROM regexp_matches(p_word COLLATE "C",
            '(?:[' || mnemo._unicode_unspaced() || '][' || mnemo._unicode_mark()
                || E'\\u302E\\u302F]*){1,32}|[^' || mnemo._unicode_unspaced() || ']+',
            'g') WITH ORDINALITY AS r(run, place)
);
COMMENT ON FUNCTION mnemo._planner_runs(text) IS
    'A word as topics: runs of scripts without spaces apart from the rest, cut after 32 '
    'characters. NULL for an empty word.';
