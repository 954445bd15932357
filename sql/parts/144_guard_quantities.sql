CREATE FUNCTION mnemo._guard_quantities(
    p_words text[],
    p_codes text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_word text COLLATE "C";
    v_code text COLLATE "C";
    v_kind text COLLATE "C";
    v_payload text COLLATE "C";
    v_before text COLLATE "C";
    v_kind_before text COLLATE "C";
    v_prev text COLLATE "C";             -- the content directly before this word
    v_open boolean := false;             -- the word before waits for this one
    v_sum numeric;                       -- a number that the next word may go on with: the finished
    v_part numeric;                      -- part, and the part below the next multiplier
    v_number text COLLATE "C";           -- the same as it would be now; NULL when there is none
    v_counted text COLLATE "C";          -- the content directly before it
    v_one boolean := false;              -- the word one, which counts only before a unit
    v_value text COLLATE "C";            -- the first number or identifier
    v_unit text COLLATE "C";             -- the first unit
    v_several boolean := false;          -- there is another one of either
    v_bound text[] := '{}';              -- all of them with what they belong to
    v_parts text[];
    v_near text COLLATE "C";             -- last, next, this: values only when a time follows
    v_month text COLLATE "C";            -- may and march: months only beside a number
    v_last integer := cardinality(p_words) + 1;
    v_out text[] := '{}';
BEGIN
    FOR i IN 1 .. v_last LOOP
        v_code := coalesce(p_codes[i], '|0');
        v_kind := left(v_code, 1);
        -- Most words are neither a quantity nor next to one.
        CONTINUE WHEN strpos('#iqutmd', v_kind) = 0 AND NOT v_open;
        v_open := v_kind IN ('#', 'i', 'd', 'm');
        v_word := coalesce(p_words[i], '.');
        v_payload := substr(v_code, 3);
        v_before := coalesce(p_words[i - 1], '');
        v_kind_before := coalesce(left(p_codes[i - 1], 1), '|');
        v_prev := CASE
            WHEN strpos('cwsq', v_kind_before) > 0 AND NOT mnemo._guard_flag(p_codes[i - 1], 1)
                THEN v_before
        END;
        IF v_kind = 'i' AND v_word ~ '^[1-9][0-9]{0,14}$' THEN
            v_kind := '#';
            v_payload := v_word;
        ELSIF v_word = 'am' AND v_kind_before IN ('#', 'i') THEN
            v_kind := 'u';
            v_payload := 'am';
        ELSIF v_word = 'second' AND (
            v_kind_before IN ('#', 'i') OR v_before IN ('a', 'per', 'every', 'each')
        ) THEN
            v_kind := 'q';
            v_payload := 'second';
        END IF;

        -- A number ends unless this word goes on with it.
        IF v_number IS NOT NULL THEN
            IF v_kind = '#' AND v_part IS NOT NULL AND v_payload ~ '^[0-9]+$' AND (
                v_payload ~ '^1000*$' AND v_word ~ '^[a-z]' AND v_payload <> '10'
                OR v_part >= 20 AND v_payload::numeric < 10 AND v_part % 10 = 0
                    AND v_before ~ '^[a-z]'
                OR v_part >= 100 AND v_payload::numeric < 100 AND v_part % 100 = 0
                    AND v_before ~ '^[a-z]'
                OR v_part = 0 AND v_before ~ '^[a-z]' AND v_payload::numeric < 1000
            ) THEN
                IF v_payload = '100' THEN
                    v_part := v_part * 100;
                ELSIF v_payload ~ '^10000*$' THEN
                    v_sum := least(v_sum + v_part * v_payload::numeric, 1e18);
                    v_part := 0;
                ELSE
                    v_part := v_part + v_payload::numeric;
                END IF;
                v_part := least(v_part, 1e18);
                v_number := (v_sum + v_part)::text;
                v_one := false;
                CONTINUE;
            END IF;
            IF NOT v_one OR v_kind IN ('u', 'q') THEN
                v_out := v_out || ('v' || v_number);
                v_several := v_several OR v_value <> v_number;
                v_value := coalesce(v_value, v_number);
                v_bound := v_bound || ('v' || CASE
                    WHEN v_kind IN ('u', 'q') THEN v_number || ' ' || v_payload
                    WHEN v_counted IS NOT NULL THEN v_counted || ' ' || v_number
                    WHEN v_kind IN ('c', 'w', 's') AND NOT mnemo._guard_flag(v_code, 1) THEN v_number || ' ' || v_word
                    ELSE v_number
                END);
            END IF;
            v_number := NULL;
        END IF;
        IF v_near IS NOT NULL THEN
            IF v_kind IN ('q', 't', 'm', '#', 'i') OR v_word IN ('few', 'couple', 'several') THEN
                v_out := v_out || ('v' || v_near);
            END IF;
        END IF;
        IF v_month IS NOT NULL THEN
            IF v_kind IN ('#', 'i') THEN
                v_out := v_out || ('v' || v_month);
            END IF;
            v_month := NULL;
        END IF;

        CASE v_kind
        WHEN '#' THEN
            v_number := v_payload;
            v_part := CASE WHEN v_payload ~ '^[0-9]+$' THEN v_payload::numeric END;
            v_sum := 0;
            IF v_part >= 1000 AND v_word ~ '^[a-z]' THEN
                v_sum := v_part;
                v_part := 0;
            END IF;
            v_counted := v_prev;
            v_one := v_word = 'one';
        WHEN 'i' THEN
            v_parts := mnemo._guard_values(v_word);
            v_out := v_out || ('v' || v_parts[1]);
            v_several := v_several OR v_value <> v_parts[1];
            v_value := coalesce(v_value, v_parts[1]);
            IF cardinality(v_parts) > 1 THEN
                v_out := v_out || ('v' || v_parts[2]);
                v_bound := v_bound || ('v' || v_parts[1] || ' ' || v_parts[2]);
            ELSE
                v_bound := v_bound || ('v' || coalesce(v_prev || ' ', '') || v_parts[1]);
            END IF;
        WHEN 'q' THEN
            IF v_near IS NOT NULL OR v_kind_before IN ('#', 'i')
                OR v_before IN ('few', 'couple', 'several') THEN
                v_out := v_out || ('v' || v_payload);
            END IF;
        WHEN 'u', 't' THEN
            IF v_kind = 'u' THEN
                v_several := v_several OR v_unit <> v_payload;
                v_unit := coalesce(v_unit, v_payload);
            END IF;
            v_out := v_out || ('v' || v_payload);
        WHEN 'm' THEN
            IF v_kind_before IN ('#', 'i', 'd', 'o')
                OR v_before IN ('of', 'in', 'during', 'early', 'late', 'mid') THEN
                v_out := v_out || ('v' || v_word);
            ELSE
                v_month := v_word;
            END IF;
        WHEN 'c', 'w', 'a', 'b', 's' THEN
            v_prev := v_word;
        ELSE
        END CASE;
        v_near := CASE WHEN v_kind = 'd' THEN v_payload END;
    END LOOP;
    -- Of several numbers it matters which belongs to what.
    RETURN CASE WHEN v_several THEN v_out || v_bound ELSE v_out END;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_quantities(text[], text[]) IS
    'Tokens for numbers, identifiers, units and times among the words. Words and codes as made by '
    '_guard_read.';
