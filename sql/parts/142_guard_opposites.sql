-- The readers below get the words of a query and a code for each, as made by _guard_read: a letter
-- for its kind, a character for its flags, what it stands for. They look a few words back and ahead
-- from the words that concern them and pass over all others.

CREATE FUNCTION mnemo._guard_flag(
    p_code text,
    p_flag integer
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (ascii(substr(p_code, 2, 1)) - 48) & p_flag > 0;
COMMENT ON FUNCTION mnemo._guard_flag(text, integer) IS
    'Whether a word has a flag: 1 a verb in its base form, 2 takes a particle, 4 stands between '
    'subject and object, 8 an infinitive follows, 16 compares evenly, 32 exchanges, 64 a name. NULL '
    'for NULL.';

CREATE FUNCTION mnemo._guard_head(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_kind text COLLATE "C";
BEGIN
    FOR i IN p_place + 1 .. least(p_place + 8, cardinality(p_words)) LOOP
        v_kind := left(p_codes[i], 1);
        IF strpos('cwsabu#iqtm', v_kind) > 0 THEN
            RETURN i;
        ELSIF strpos('|,&n', v_kind) > 0 THEN
            RETURN NULL;
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_head(text[], text[], integer) IS
    'The place of the content that a word governs: the next one in its part of the sentence, within '
    'eight words. NULL when there is none.';

CREATE FUNCTION mnemo._guard_pole(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_word text COLLATE "C" := p_words[p_place];
    v_kind text COLLATE "C" := left(p_codes[p_place], 1);
    v_next text COLLATE "C" := coalesce(p_words[p_place + 1], '.');
    v_next_kind text COLLATE "C" := coalesce(left(p_codes[p_place + 1], 1), '|');
    v_pole text COLLATE "C";
BEGIN
    IF v_kind IN ('a', 'b') THEN
        RETURN v_kind || substr(p_codes[p_place], 3);
    ELSIF v_kind = 'k' THEN
        v_pole := substr(p_codes[p_place], 3);
        v_pole := CASE WHEN v_pole IN ('on', 'off') THEN 'aon=' WHEN v_pole IN ('in', 'out')
            THEN 'ain=' ELSE 'aup=' END || v_pole;
        IF v_word IN ('off', 'down') OR mnemo._guard_flag(p_codes[p_place - 1], 2) THEN
            RETURN v_pole;
        END IF;
        -- Turn it on, the light is on; but not: switch at noon on the server.
        IF strpos('|,&pkoz', v_next_kind) > 0
            OR v_next IN ('please', 'again', 'now', 'when', 'if') THEN
            FOR i IN REVERSE p_place - 1 .. greatest(p_place - 10, 1) LOOP
                EXIT WHEN left(p_codes[i], 1) = '|';
                IF mnemo._guard_flag(p_codes[i], 2) OR v_next_kind = '|'
                    AND v_word IN ('on', 'up') AND p_words[i] IN ('is', 'are', 'was', 'were') THEN
                    RETURN v_pole;
                END IF;
            END LOOP;
        END IF;
    ELSIF v_kind = 'z' THEN
        -- Over 1000, but not: over the fence.
        IF v_word NOT IN ('over', 'under') OR v_next_kind = '#' OR v_next = '$'
            OR v_next_kind = 'i' AND v_next !~ '^[a-z]' THEN
            RETURN 'amore=' || substr(p_codes[p_place], 3);
        END IF;
    ELSIF v_word IN ('last', 'next', 'previous') THEN
        -- Last name, but not: last week.
        IF strpos('qtm#i', v_next_kind) = 0 AND v_next NOT IN ('few', 'couple', 'several') THEN
            RETURN CASE v_word WHEN 'last' THEN 'bfirst=' WHEN 'next' THEN 'bprevious='
                ELSE 'aprevious=' END || v_word;
        END IF;
    ELSIF v_word = 'first' AND strpos('pmtq', v_next_kind) = 0 THEN
        RETURN 'afirst=first';
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_pole(text[], text[], integer) IS
    'What a word says as one of a pair of opposites: a for meaning or b for values, the name of the '
    'pair, =, its side. NULL when nothing.';

CREATE FUNCTION mnemo._guard_opposites(
    p_words text[],
    p_codes text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_pole text COLLATE "C";
    v_side text COLLATE "C";
    v_poles text COLLATE "C" := ' ';     -- all of them
    v_place integer;
    v_conflict boolean := false;         -- both sides of a pair are among them
    v_scoped text[] := '{}';             -- each with the content that follows
    v_out text[] := '{}';
BEGIN
    FOR i IN 1 .. cardinality(p_words) LOOP
        CONTINUE WHEN strpos('abkzd#', left(p_codes[i], 1)) = 0;
        v_pole := mnemo._guard_pole(p_words, p_codes, i);
        CONTINUE WHEN v_pole IS NULL;
        v_side := split_part(v_pole, '=', 2);
        v_out := v_out || (CASE left(v_pole, 1) WHEN 'a' THEN 'm' ELSE 'v' END || v_side);
        v_pole := substr(v_pole, 2);
        IF strpos(v_poles, ' ' || v_pole || ' ') = 0 THEN
            v_conflict := v_conflict
                OR strpos(v_poles, ' ' || split_part(v_pole, '=', 1) || '=') > 0;
            v_poles := v_poles || v_pole || ' ';
        END IF;
        v_place := mnemo._guard_head(p_words, p_codes, i);
        v_scoped := v_scoped || (CASE WHEN strpos('#iqtm', left(p_codes[v_place], 1)) > 0 THEN 'v'
            ELSE 'm' END || v_side || coalesce(' ' || p_words[v_place], ''));
    END LOOP;
    RETURN CASE WHEN v_conflict THEN v_out || v_scoped ELSE v_out END;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_opposites(text[], text[]) IS
    'Tokens for the opposites among the words; where both sides of a pair are there, also with what '
    'each goes with. Words and codes as made by _guard_read.';
