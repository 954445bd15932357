CREATE FUNCTION mnemo._guard_capitals(
    p_query text,
    p_tokens text[],
    p_title boolean,
    p_nouns boolean
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_token text COLLATE "C";
    v_out text[] := '{}';
BEGIN
    FOREACH v_token IN ARRAY p_tokens LOOP
        CONTINUE WHEN p_title AND left(v_token, 1) IN ('n', 'N', 'A');
        CONTINUE WHEN p_nouns AND left(v_token, 1) = 'n';
        v_out := v_out || CASE left(v_token, 1)
            WHEN 'N' THEN 'n' || substr(v_token, 2)
            WHEN 'A' THEN 'v' || substr(v_token, 2)
            ELSE v_token
        END;
    END LOOP;
    IF octet_length(p_query) = char_length(p_query) THEN
        RETURN v_out;
    END IF;
    -- A name that is no word of the signature could be found in no other query, nor in its own.
    RETURN ARRAY(
        SELECT t.token
          FROM unnest(v_out) AS t(token)
          LEFT JOIN unnest(mnemo._signature_tokens(p_query)) AS s(token)
            ON s.token COLLATE "C" = substr(t.token, 2) COLLATE "C"
         WHERE left(t.token, 1) <> 'n' OR s.token IS NOT NULL
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_capitals(text, text[], boolean, boolean) IS
    'The tokens without names that are none: in a query written in capitals or title case, and in a '
    'language that writes all nouns large unless a preposition goes before.';

CREATE FUNCTION mnemo._guard_read(
    p_query text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_text text COLLATE "C" := mnemo._guard_split(p_query);
    v_lower text COLLATE "C" := mnemo._lower(v_text);
    v_tokens text[];
    v_words text[];
    v_codes text[] := '{}';
    v_capitals boolean := v_text <> v_lower;
    v_shouted boolean := v_text !~ '[a-z]';
    v_token text COLLATE "C";
    v_word text COLLATE "C";
    v_code text COLLATE "C";
    v_kind text COLLATE "C";
    v_sentence boolean := true;          -- this word starts a sentence
    v_seen text COLLATE "C";             -- all codes
    v_nots text[] := '{}';               -- what prefixes negate
    v_place integer;
    v_small integer := 0;                -- longer words without and with a capital
    v_large integer := 0;
    v_title boolean := false;            -- a function word has a capital; all words have
    v_nouns boolean;                     -- a language that writes all nouns with a capital
    v_out text[] := '{}';
BEGIN
    IF v_text IS NULL OR v_text = '' THEN
        RETURN '{}';
    END IF;
    v_words := string_to_array(v_lower, ' ');
    IF v_capitals AND NOT v_shouted THEN
        v_tokens := string_to_array(v_text, ' ');
    END IF;

    FOR i IN 1 .. cardinality(v_words) LOOP
        v_word := v_words[i];
        v_code := coalesce(mnemo._guard_words() ->> v_word, 'c0');
        IF v_code = 'c0' THEN
            IF v_word ~ '[^a-z]' THEN
                IF v_word = ',' OR v_word = '.' THEN
                    v_codes := v_codes || '|0'::text;
                    v_sentence := v_word = '.';
                    CONTINUE;
                END IF;
                IF strpos(v_word, '''') > 0 THEN
                    IF right(v_word, 3) = 'n''t' THEN
                        v_code := 'n0';
                    ELSE
                        v_word := regexp_replace(
                            regexp_replace(v_word, '(?<=.)''(s|re|ll|ve|d|m)?$', ''),
                            '^[a-z]{1,2}''(?=.)', ''
                        );
                        v_words[i] := v_word;
                        v_code := coalesce(mnemo._guard_words() ->> v_word, 'c0');
                    END IF;
                END IF;
                IF v_code = 'c0' AND v_word ~ (E'[!-`{-~\u00A2-\u00A9\u00B0-\u00B3\u00B9'
                    '\u00BC-\u00BE\u20A0-\u20BF\u2116]') THEN
                    v_code := 'i0';
                END IF;
            END IF;
        END IF;
        v_kind := left(v_code, 1);

        IF v_capitals AND NOT v_shouted THEN
            v_token := v_tokens[i];
            IF v_token <> v_word AND strpos(v_token, v_word) = 0 THEN
                IF length(v_word) <= 2 AND v_kind IN ('.', ',', '&', 'p', 'o', 'k', 'c', 'w', 'u')
                    AND strpos(' i no on to is of ', ' ' || v_word || ' ') = 0
                    AND v_token = upper(v_token) AND NOT (v_sentence AND length(v_word) = 1) THEN
                    v_code := 's0';
                    v_kind := 's';
                ELSIF v_kind = 'c' OR v_kind = 'w' THEN
                    v_large := v_large + 1;
                    IF (v_kind = 'c' OR NOT v_sentence) AND length(v_word) > 2 THEN
                        v_out := v_out || (CASE WHEN left(v_codes[i - 1], 1) IN ('p', 'o', 'k')
                            OR v_words[i - 1] IN ('with', 'mit') THEN 'N' ELSE 'n' END
                            || v_word);
                        v_code := 'cp';
                        v_kind := 'c';
                    END IF;
                ELSIF NOT v_sentence AND v_kind IN ('.', ',', '&', 'p', 'o', 'k', 'd')
                    AND v_word <> 'i'
                    AND strpos(v_word, '''') = 0 THEN
                    v_title := true;
                ELSIF v_kind = 'm' AND NOT v_sentence THEN
                    v_code := 't0' || v_word;
                    v_kind := 't';
                END IF;
            ELSIF length(v_word) > 3 AND v_kind IN ('c', 'w', 'a', 'b') THEN
                v_small := v_small + 1;
            END IF;
        END IF;
        v_codes := v_codes || v_code;
        IF v_kind = 'c' THEN
            IF length(v_word) <= 2 THEN
                IF v_word ~ '^[a-z]+$' THEN
                    v_out := v_out || ('v' || v_word);
                END IF;
            ELSIF v_word ~ '^(?:un(?!der|i[tvqfcxols]|til|less|cle|to|an|ct|es)|non...)..' THEN
                v_nots := v_nots || substr(v_word, CASE left(v_word, 2) WHEN 'un' THEN 3 ELSE 4 END);
            END IF;
        ELSIF v_kind = 's' THEN
            v_out := v_out || (CASE v_word WHEN 'a' THEN 'A' ELSE 'v' END || v_word);
        END IF;
        v_sentence := false;
    END LOOP;

    v_seen := ' ' || array_to_string(v_codes, ' ');
    IF v_seen ~ ' [abkzd#]' THEN
        v_out := v_out || mnemo._guard_opposites(v_words, v_codes);
    END IF;
    v_title := v_capitals AND v_small = 0 AND (v_large > 2 OR v_title);
    v_nouns := v_capitals AND v_seen ~ ' [.]0noun.* [.]0noun';
    IF v_title OR v_nouns THEN
        v_seen := replace(v_seen, ' cp', ' c0');
        v_codes := string_to_array(ltrim(v_seen, ' '), ' ');
    END IF;
    IF v_seen ~ ' [oz]|~| [ab][4-7]| cp [cw][^p]+ cp' THEN
        v_out := v_out || mnemo._guard_order(v_words, v_codes);
    END IF;
    IF v_seen ~ ' [#idqutm]' THEN
        v_out := v_out || mnemo._guard_quantities(v_words, v_codes);
    END IF;
    IF strpos(v_seen, ' n') > 0 OR cardinality(v_nots) > 0 THEN
        IF strpos(v_seen, ' &') = 0 THEN
            v_nots := ARRAY[''];
        ELSE
            -- With two parts it matters which one is negated.
            FOR i IN 1 .. cardinality(v_codes) LOOP
                IF left(v_codes[i], 1) = 'n' THEN
                    v_place := mnemo._guard_head(v_words, v_codes, i);
                    v_nots := v_nots || CASE WHEN strpos('cwsabu', left(v_codes[v_place], 1)) > 0
                        THEN v_words[v_place] ELSE '' END;
                END IF;
            END LOOP;
        END IF;
        FOREACH v_word IN ARRAY v_nots LOOP
            v_out := v_out || rtrim('mnot ' || v_word);
        END LOOP;
    END IF;
    IF v_capitals THEN
        v_out := mnemo._guard_capitals(p_query, v_out, v_title, v_nouns);
    END IF;
    IF octet_length(p_query) < 600 THEN
        RETURN tsvector_to_array(array_to_tsvector(v_out));
    END IF;
    RETURN ARRAY(
        SELECT DISTINCT t.token COLLATE "C" FROM unnest(v_out) AS t(token) ORDER BY 1
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_read(text) IS
    'All that the guard reads out of a query, sorted: m and a token of meaning, n and a name, v and '
    'a value. NULL gives none. Raises nothing.';
