-- From a query to the words of the guard: unlike the signature's tokens they keep identifiers whole.

CREATE FUNCTION mnemo._guard_chunks(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := p_text;
BEGIN
    IF octet_length(v_text) <> char_length(v_text) THEN
        IF v_text ~ ('[^' || mnemo._unicode_stable() || ']') THEN
            v_text := mnemo._pin(v_text);
        END IF;
        v_text := translate(
            v_text,
            E'\u2018\u2019\u02BC\u00B4\u2010\u2011\u2212\uFF0B\uFF03\uFF05\uFF04'
            '\uFF10\uFF11\uFF12\uFF13\uFF14\uFF15\uFF16\uFF17\uFF18\uFF19'
            '\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669'
            '\u06F0\u06F1\u06F2\u06F3\u06F4\u06F5\u06F6\u06F7\u06F8\u06F9'
            '\u0966\u0967\u0968\u0969\u096A\u096B\u096C\u096D\u096E\u096F',
            '''''''''---+#%$0123456789012345678901234567890123456789'
        );
        -- Negation is all that is read in scripts without spaces; a question by repetition is none.
        v_text := regexp_replace(
            v_text, E'([\u4E00-\u9FFF])\u4E0D\\1', ' ', 'g'
        );
        v_text := regexp_replace(
            v_text, E'[\u4E0D\u6CA1\u672A\u65E0\u7121\u6C92\u522B\u975E]', ' not ', 'g'
        );
        v_text := regexp_replace(v_text, '[' || mnemo._unicode_unspaced() || ']+', ' ', 'g');
        v_text := regexp_replace(v_text, E'[\u2192\u21D2\u27A1\u2794]', ' to ', 'g');
        v_text := regexp_replace(
            v_text, E'[\u2026\u3001\u3002\uFF0C\uFF0E\uFF1B\uFF1A\uFF01\uFF1F\u060C\u061B\u061F'
            '\u06D4\u0964\u2013-\u2015]', ' , ', 'g'
        );
        v_text := regexp_replace(
            v_text,
            E'[\u00A1\u00AB\u00BB\u00BF\u00B7\u00AD\u2000-\u200F\u2016-\u202F\u205F-\u206F'
            '\u2E00-\u2E5D\u3000-\u303F\uFE0E\uFE0F\uFF08\uFF09\uFEFF\u2190-\u21FF\u2600-\u27BF'
            '\u2B00-\u2BFF\U0001F000-\U0001FAFF]', ' ', 'g'
        );
    END IF;
    v_text := translate(v_text, E'\t\n\u000B\f\r\u0085\u00A0\u1680', '        ');
    IF strpos(v_text, '>') > 0 THEN
        v_text := regexp_replace(v_text, '[-=]+> ?', ' to ', 'g');
    END IF;
    RETURN (
        SELECT string_agg(
            CASE
                WHEN p.core ~ '^[A-Za-z0-9'']*$' THEN p.core
                WHEN p.core ~ '^[0-9]+-[A-Za-z]{3,}(-[A-Za-z]+)?$' THEN replace(p.core, '-', ' ')
                WHEN p.core ~ E'[0-9_@]|^(--?|[./#])[A-Za-z]|://|[A-Za-z][.][A-Za-z]|\\\\'
                    THEN translate(p.core, '()[]{}"', '       ')
                WHEN p.core ~ '^[A-Za-z]-[A-Za-z]{2,}$' THEN replace(p.core, '-', '')
                WHEN p.core ~ '[,;:!?]'
                    THEN regexp_replace(translate(p.core, '-/()[]{}"', '         '), '[,;:!?]+',
                                        ' , ', 'g')
                ELSE translate(p.core, '-/()[]{}"', '         ')
            END || CASE
                WHEN c.chunk ~ E'[.!?][''")\\]}`*_]*$' THEN ' .'
                WHEN c.chunk ~ E'[,;:)][''"\\]}`*_]*$' OR p.core ~ '^-+$' THEN ' ,'
                ELSE ''
            END,
            ' ' ORDER BY c.place)
          FROM string_to_table(v_text, ' ') WITH ORDINALITY AS c(chunk, place)
         CROSS JOIN LATERAL (
            SELECT regexp_replace(
                regexp_replace(c.chunk, E'^["''(\\[{`*_~]+', ''), E'["''()\\[\\]{}`*_~,;:.!?]+$', ''
            ) COLLATE "C"
         ) AS p(core)
         WHERE c.chunk <> ''
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_chunks(text) IS
    'The words of any text divided by spaces, case kept: identifiers whole, compounds of letters '
    'divided, a dot for the end of a sentence, a comma for another break. NULL for no words.';

CREATE FUNCTION mnemo._guard_split(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Plain questions, the common case, without a statement of their own.
RETURN CASE
    WHEN p_text COLLATE "C" !~ '[^A-Za-z0-9 ?]|[?].|  |^ | [?]?$'
        THEN rtrim(p_text, '?')
    WHEN p_text COLLATE "C"
        !~ E'[^A-Za-z0-9 ,.?!;:'']|(^| )['']|['']( |$)|[,;:!?.][^ ]|[0-9]['']|  |^ '
        THEN regexp_replace(
            regexp_replace(
                rtrim(p_text, ' .?!,;:') COLLATE "C", '[.?!]+ +', ' . ', 'g'
            ) COLLATE "C", '[,;:]+ +', ' , ', 'g'
        )
    ELSE btrim(regexp_replace(mnemo._guard_chunks(p_text) COLLATE "C", ' {2,}', ' ', 'g'), ' ')
END;
COMMENT ON FUNCTION mnemo._guard_split(text) IS 'As _guard_chunks.';

CREATE FUNCTION mnemo._guard_number(
    p_number text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_number text COLLATE "C" := p_number;
BEGIN
    IF v_number ~ '^[0-9]{1,3}(,[0-9]{3})+([.][0-9]+)?$' THEN
        v_number := replace(v_number, ',', '');
    ELSIF v_number ~ '^[0-9]{1,3}([.][0-9]{3}){2,}(,[0-9]+)?$'
        OR v_number ~ '^[0-9]{1,3}([.][0-9]{3})+,[0-9]+$' THEN
        v_number := replace(replace(v_number, '.', ''), ',', '.');
    ELSIF v_number ~ '^[0-9]+,[0-9]+$' THEN
        v_number := replace(v_number, ',', '.');
    END IF;
    -- Only a fraction of zeros says nothing: 3.10 and 3.1 are versions, and 1.000 may be a thousand.
    IF v_number ~ '^[0-9]+[.](0|00)$' THEN
        v_number := split_part(v_number, '.', 1);
    END IF;
    RETURN v_number;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_number(text) IS
    'One form of a number: no dividers of thousands where they are clear, a point for the fraction, '
    'no fraction of zeros. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_values(
    p_word text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_word text COLLATE "C" := p_word;
    v_parts text[];
    v_unit text COLLATE "C";
BEGIN
    IF v_word ~ '^#[0-9]+$' OR v_word ~ '^v[0-9.]+$' THEN
        v_word := substr(v_word, 2);
    END IF;
    v_parts := regexp_match(
        v_word,
        E'^(us[$]|[-+<>=~]*[$\u20AC\u00A3\u00A5\u20B9]?)([0-9]+(?:[.,:][0-9]+)*)([a-z]{0,5}|[%\u00B0$\u20AC\u00A3\u00A5])$'
    );
    IF v_parts IS NULL THEN
        RETURN ARRAY[v_word];
    END IF;
    IF v_parts[3] = 'k' AND v_parts[2] ~ '^[0-9]{1,9}$' THEN
        v_word := v_parts[2] || '000';
        v_parts[3] := '';
    ELSIF v_parts[2] ~ '^[0-9]+:00$' THEN
        v_word := split_part(v_parts[2], ':', 1);
    ELSE
        v_word := mnemo._guard_number(v_parts[2]);
    END IF;
    IF v_parts[3] IN ('st', 'nd', 'rd', 'th', 'er', 'e') THEN
        v_parts[3] := '';
    END IF;
    v_unit := rtrim(v_parts[1], '-+<>=~');
    IF length(v_parts[1]) > length(v_unit) OR v_parts[1] ~ '^[-+<>=~]' THEN
        v_word := rtrim(v_parts[1], E'$\u20AC\u00A3\u00A5\u20B9us') || v_word;
        v_unit := ltrim(v_parts[1], '-+<>=~');
    END IF;
    v_unit := v_unit || v_parts[3];
    IF v_unit = '' THEN
        RETURN ARRAY[v_word];
    END IF;
    IF substr(mnemo._guard_words() ->> v_unit, 1, 1) IN ('u', 'q') THEN
        v_unit := substr(mnemo._guard_words() ->> v_unit, 3);
    END IF;
    RETURN ARRAY[v_word, v_unit];
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_values(text) IS
    'What a word with digits or symbols says: a number and its unit, or the word itself.';
