CREATE FUNCTION mnemo._guard_sense(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE left(p_codes[p_place], 1)
    WHEN 'a' THEN split_part(p_codes[p_place], '=', 2)
    WHEN 'b' THEN split_part(p_codes[p_place], '=', 2)
    WHEN 'u' THEN substr(p_codes[p_place], 3)
    WHEN '#' THEN substr(p_codes[p_place], 3)
    WHEN 'q' THEN substr(p_codes[p_place], 3)
    WHEN 't' THEN substr(p_codes[p_place], 3)
    WHEN 'i' THEN (mnemo._guard_values(p_words[p_place]))[1]
    ELSE p_words[p_place]
END;
COMMENT ON FUNCTION mnemo._guard_sense(text[], text[], integer) IS
    'One form for the synonyms of a word.';

CREATE FUNCTION mnemo._guard_phrase(
    p_words text[],
    p_codes text[],
    p_place integer,
    p_step integer
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_parts text[];
    v_phrase text COLLATE "C" := mnemo._guard_sense(p_words, p_codes, p_place);
    v_kind text COLLATE "C" := left(p_codes[p_place], 1);
BEGIN
    IF v_kind = 'i' THEN
        v_parts := mnemo._guard_values(p_words[p_place]);
        v_phrase := coalesce(v_parts[2], v_phrase);
    END IF;
    IF p_step < 0 AND (v_kind = 'u' OR v_parts[2] IS NOT NULL) THEN
        RETURN v_phrase;
    END IF;
    FOR i IN 1 .. 2 LOOP
        p_place := p_place + p_step;
        IF v_kind IN ('#', 'i') AND left(p_codes[p_place], 1) = 'u' THEN
            RETURN mnemo._guard_sense(p_words, p_codes, p_place);
        END IF;
        v_kind := left(p_codes[p_place], 1);
        EXIT WHEN v_kind IS NULL OR strpos('cwsabu#i', v_kind) = 0
            OR p_step < 0 AND (strpos('ab#i', v_kind) > 0 OR mnemo._guard_flag(p_codes[p_place], 7));
        v_phrase := CASE WHEN p_step > 0
            THEN v_phrase || ' ' || mnemo._guard_sense(p_words, p_codes, p_place)
            ELSE mnemo._guard_sense(p_words, p_codes, p_place) || ' ' || v_phrase END;
    END LOOP;
    RETURN v_phrase;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_phrase(text[], text[], integer, integer) IS
    'Up to three words of content in a row, from one place on (1) or back (-1): account A, version '
    '12; of an amount of money or the like the unit alone.';

CREATE FUNCTION mnemo._guard_governed(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_kind text COLLATE "C";
BEGIN
    FOR i IN REVERSE p_place - 1 .. greatest(p_place - 5, 1) LOOP
        v_kind := left(p_codes[i], 1);
        IF v_kind = '.' AND p_words[i] NOT IN (
            'the', 'a', 'an', 'this', 'that', 'these', 'those', 'my', 'your', 'his', 'her', 'its',
            'our', 'their', 'some', 'any', 'each', 'every', 'all', 'both'
        ) OR mnemo._guard_flag(p_codes[i], 1) THEN
            RETURN false;
        ELSIF strpos('.cwsabu#i', v_kind) = 0 THEN
            RETURN strpos('pokz', v_kind) > 0;
        END IF;
    END LOOP;
    RETURN false;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_governed(text[], text[], integer) IS
    'Whether a word stands after a preposition: before the meeting send it; the meeting is neither '
    'who sends nor what is sent.';

CREATE FUNCTION mnemo._guard_noun(
    p_words text[],
    p_codes text[],
    p_place integer,
    p_common boolean
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_kind text COLLATE "C";
BEGIN
    FOR i IN REVERSE p_place - 1 .. greatest(p_place - 10, 1) LOOP
        v_kind := left(p_codes[i], 1);
        EXIT WHEN v_kind = '|';
        IF (v_kind IN ('c', 's', 'u')
            OR v_kind = 'i' AND cardinality(mnemo._guard_values(p_words[i])) > 1
            OR p_common AND (v_kind = 'w' AND NOT mnemo._guard_flag(p_codes[i], 1)
                OR v_kind = 'i' AND p_words[i] ~ '^[a-z]')
        ) AND NOT mnemo._guard_governed(p_words, p_codes, i) THEN
            RETURN mnemo._guard_phrase(p_words, p_codes, i, -1);
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_noun(text[], text[], integer, boolean) IS
    'The last thing named before a word in its clause, not after a preposition and within ten words; '
    'common nouns too when p_common. NULL when there is none.';

CREATE FUNCTION mnemo._guard_later(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_kind text COLLATE "C";
    v_past boolean := false;             -- past the phrase at p_place
BEGIN
    FOR i IN p_place + 1 .. least(p_place + 8, cardinality(p_words)) LOOP
        v_kind := left(p_codes[i], 1);
        IF v_past AND v_kind IN ('c', 's', 'u') THEN
            RETURN mnemo._guard_phrase(p_words, p_codes, i, 1);
        END IF;
        v_past := v_past OR v_kind NOT IN ('c', 's', 'u');
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_later(text[], text[], integer) IS
    'The next thing named after the phrase at a place, within eight words: instead of butter use oil. '
    'NULL when there is none.';

CREATE FUNCTION mnemo._guard_order(
    p_words text[],
    p_codes text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
-- What is governed is a value; meaning is only which of the two things that an order word relates
-- comes first in the alphabet. So exchanging them always shows, and other things in their places,
-- which are for the other class to see, seldom do.
DECLARE
    v_word text COLLATE "C";
    v_kind text COLLATE "C";
    v_marker text COLLATE "C";
    v_place integer;                     -- of what is governed
    v_head text COLLATE "C";
    v_next text COLLATE "C";
    v_noun text COLLATE "C";
    v_from boolean := false;
    v_even boolean := false;
    v_swap boolean := false;
    v_source text COLLATE "C";           -- what follows from and to, and the thing before to
    v_target text COLLATE "C";
    v_moved text COLLATE "C";
    v_out text[] := '{}';
BEGIN
    FOR i IN 1 .. cardinality(p_words) LOOP
        v_kind := left(p_codes[i], 1);
        CONTINUE WHEN strpos('wcabo&z', v_kind) = 0;
        v_word := p_words[i];
        v_marker := NULL;
        IF v_kind = 'o' THEN
            v_marker := substr(p_codes[i], 3);
            IF v_marker = 'to' THEN
                -- Prior to, how to, to book; compared to goes both ways.
                CONTINUE WHEN v_even OR p_words[i - 1] = 'prior'
                    OR mnemo._guard_flag(p_codes[i - 1], 8)
                    OR NOT v_from AND mnemo._guard_flag(p_codes[i + 1], 1);
            ELSIF v_marker = 'against' THEN
                CONTINUE WHEN v_even;
            END IF;
            v_from := v_from OR v_marker = 'from';
            -- To me, from us: nothing that could change places.
            CONTINUE WHEN p_words[i + 1] IN ('me', 'us', 'you', 'him', 'them', 'it');
            IF v_marker NOT IN ('from', 'to', 'by', 'than', 'into', 'onto', 'toward', 'behind') THEN
                v_out := v_out || ('m' || v_marker);
            END IF;
        ELSIF strpos('wcab', v_kind) > 0 THEN
            v_even := v_even OR mnemo._guard_flag(p_codes[i], 16);
            v_swap := v_swap OR mnemo._guard_flag(p_codes[i], 32);
            -- A verb directly after its subject: a known one, or any word between two names.
            CONTINUE WHEN i = 1 OR p_codes[i] = 'cp' OR NOT mnemo._guard_flag(p_codes[i], 4)
                AND (p_codes[i - 1] <> 'cp' OR coalesce(p_codes[i + 1], '') <> 'cp');
            CONTINUE WHEN strpos('csuab', left(p_codes[i - 1], 1)) = 0
                AND (left(p_codes[i - 1], 1) NOT IN ('w', 'i')
                    OR mnemo._guard_flag(p_codes[i - 1], 1));
            v_place := mnemo._guard_head(p_words, p_codes, i);
            CONTINUE WHEN v_place IS NULL;
            CONTINUE WHEN mnemo._guard_governed(p_words, p_codes, i - 1);
            v_noun := mnemo._guard_phrase(p_words, p_codes, i - 1, -1);
            v_head := mnemo._guard_phrase(p_words, p_codes, v_place, 1);
            v_out := v_out || ('m' || rtrim(v_word, 's')
                || CASE WHEN v_noun < v_head THEN ' (ascending)' ELSE ' (descending)' END);
            CONTINUE;
        ELSIF v_word = 'with' AND v_swap THEN
            v_marker := 'with';
        ELSIF v_word = 'over' THEN
            FOR j IN greatest(i - 8, 1) .. i - 1 LOOP
                IF left(p_words[j], 6) = 'prefer' OR left(p_codes[i + 1], 1) = 'i'
                    AND p_words[i + 1] ~ '^[a-z]' THEN
                    v_marker := 'over';
                END IF;
            END LOOP;
        END IF;
        CONTINUE WHEN v_marker IS NULL;

        v_place := mnemo._guard_head(p_words, p_codes, i);
        CONTINUE WHEN v_place IS NULL;
        v_kind := left(p_codes[v_place], 1);
        v_head := mnemo._guard_sense(p_words, p_codes, v_place);
        IF v_marker = 'from' AND v_kind <> 't' THEN
            v_out := v_out || 'mfrom'::text;
        ELSIF v_marker = 'to' THEN
            v_moved := CASE WHEN v_kind NOT IN ('#', 'i', 't')
                THEN mnemo._guard_noun(p_words, p_codes, i, false) END;
            v_target := mnemo._guard_phrase(p_words, p_codes, v_place, 1);
            CONTINUE WHEN NOT v_from AND v_moved IS NULL
                AND (left(p_codes[i - 1], 1) NOT IN ('w', 'i')
                    OR mnemo._guard_flag(p_codes[i - 1], 1));
        END IF;
        v_out := v_out || ('v' || v_marker || ' ' || CASE
            WHEN right(v_head, 1) = 's' AND length(v_head) > 3 THEN left(v_head, -1) ELSE v_head END);
        -- Account A, version 12, 100 dollars.
        v_next := CASE
            WHEN v_kind IN ('#', 'i') AND left(p_codes[v_place + 1], 1) = 'u'
                OR strpos('#i', left(p_codes[v_place + 1], 1)) > 0
                OR length(p_words[v_place + 1]) <= 2 AND left(p_codes[v_place + 1], 1) IN ('c', 's')
                THEN mnemo._guard_sense(p_words, p_codes, v_place + 1)
        END;
        IF v_kind = 'i' AND v_next IS NULL THEN
            v_next := (mnemo._guard_values(p_words[v_place]))[2];
        END IF;
        IF v_next IS NOT NULL THEN
            v_out := v_out || ('v' || v_marker || ' ' || v_next);
        END IF;
        v_head := mnemo._guard_phrase(p_words, p_codes, v_place, 1);
        IF v_marker = 'from' THEN
            v_source := v_head;
        ELSIF v_marker NOT IN ('to', 'before', 'after', 'since', 'until', 'by')
            AND v_kind IN ('c', 'w', 's', 'u', 'a', 'b', 'i') THEN
            v_noun := coalesce(
                mnemo._guard_noun(p_words, p_codes, i, true),
                mnemo._guard_later(p_words, p_codes, v_place)
            );
            IF v_noun <> v_head THEN
                v_out := v_out || ('m' || v_marker
                    || CASE WHEN v_noun < v_head THEN ' (ascending)' ELSE ' (descending)' END);
            END IF;
        END IF;
    END LOOP;
    v_moved := coalesce(v_source, v_moved);
    IF v_moved <> v_target THEN
        v_out := v_out || ('mto'
            || CASE WHEN v_moved < v_target THEN ' (ascending)' ELSE ' (descending)' END);
    END IF;
    RETURN v_out;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_order(text[], text[]) IS
    'Tokens for what order words (from, to, than, against, before, a verb between two things) govern. '
    'Words and codes as made by _guard_read.';
