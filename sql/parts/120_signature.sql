-- The signature of a query: a sorted set of tokens. The rules work on the whole text, tokens being
-- kept apart by single spaces, because one regular expression over a text costs less than any work
-- per token.

CREATE FUNCTION mnemo._signature_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1;
COMMENT ON FUNCTION mnemo._signature_version() IS
    'Version of the rules of signature_tokens, kept with each stored signature; it grows whenever a '
    'text could get another signature. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._token_gap()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[^' || mnemo._unicode_word() || mnemo._unicode_hangul() || mnemo._unicode_mark()
    || E'\\u302E\\u302F][^' || mnemo._unicode_word() || mnemo._unicode_hangul() || ']*';
COMMENT ON FUNCTION mnemo._token_gap() IS
    'Pattern for what separates tokens in a pinned text: up to the next letter or number, because a '
    'mark belongs to a token only when it follows one. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._short_tokens()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ' (?:(?:[^ ]|[^ ' || mnemo._unicode_hangul() || '][^ ]|[' || mnemo._unicode_hangul()
    || '][^ ' || mnemo._unicode_hangul() || E'\\u302E\\u302F]) )+';
COMMENT ON FUNCTION mnemo._short_tokens() IS
    'Pattern for tokens that are too short, one code point or two that are not both Hangul, in a text '
    'of tokens with one space before, between and after them. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._unspaced_run()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[' || mnemo._unicode_unspaced() || '][' || mnemo._unicode_unspaced()
    || mnemo._unicode_mark() || E'\\u302E\\u302F]*';
COMMENT ON FUNCTION mnemo._unspaced_run() IS
    'Pattern for a run of scripts written without spaces, inside a token. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._signature_tokens_wide(
    p_query text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_text text COLLATE "C" := p_query;
    v_tokens text COLLATE "C";
    v_words text COLLATE "C";
    v_pairs text COLLATE "C";
BEGIN
    IF p_query IS NULL THEN
        RETURN NULL;
    END IF;
    IF mnemo._is_blank(v_text) THEN
        RETURN '{}';
    END IF;
    IF v_text ~ ('[^' || mnemo._unicode_stable() || ']') THEN
        v_text := mnemo._pin(v_text);
    END IF;

    -- All tokens, with a space before, between and after them.
    v_tokens := regexp_replace(' ' || v_text || ' ', mnemo._token_gap(), ' ', 'g');
    v_words := v_tokens;
    IF v_tokens ~ ('[' || mnemo._unicode_unspaced() || ']') THEN
        SELECT string_agg(
                   CASE WHEN t.after = ' ' THEN t.letter ELSE t.letter || t.after END, ' '
               )
          INTO v_pairs
          FROM (
            SELECT string_to_array(' ' || string_agg(m.run[1], ' ') || ' ', NULL) AS letters
              FROM regexp_matches(v_tokens, mnemo._unspaced_run(), 'g') AS m(run)
          ) AS r
         CROSS JOIN unnest(r.letters, r.letters[2:], r.letters[3:]) AS t(before, letter, after)
         WHERE t.letter <> ' '
           AND (t.after <> ' ' OR t.before = ' ');
        v_words := regexp_replace(v_tokens, '(?:' || mnemo._unspaced_run() || '| )+', ' ', 'g');
    END IF;

    v_words := btrim(regexp_replace(v_words, mnemo._short_tokens(), ' ', 'g'), ' ');
    IF v_words = '' AND v_pairs IS NULL THEN
        v_words := btrim(v_tokens, ' ');
    END IF;
    IF v_words = '' AND v_pairs IS NULL THEN
        v_words := coalesce(nullif(mnemo._trim(v_text), ''), mnemo._trim(p_query));
        RETURN ARRAY[mnemo._lower(v_words)];
    END IF;
    v_words := mnemo._lower(v_words);
    IF v_pairs IS NOT NULL THEN
        v_words := btrim(v_pairs || ' ' || v_words, ' ');
    END IF;
    -- Sorted by bytes and without duplicates is what a tsvector is, and making one is much cheaper
    -- than an aggregate; but its words must be shorter than 2048 bytes.
    IF octet_length(v_words) < 2000 THEN
        RETURN tsvector_to_array(array_to_tsvector(string_to_array(v_words, ' ')));
    END IF;
    RETURN (
        SELECT array_agg(DISTINCT t.token COLLATE "C" ORDER BY t.token COLLATE "C")
          FROM unnest(string_to_array(v_words, ' ')) AS t(token)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._signature_tokens_wide(text) IS
    'As _signature_tokens, for any text: the general rules, of which that function takes the common '
    'case. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._signature_tokens(
    p_query text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Short ASCII text with a word of three letters, in one expression that is inlined in its caller;
-- it is NULL for all other text. The patterns are those of the general rules, cut down to ASCII.
RETURN coalesce(
    tsvector_to_array(array_to_tsvector(string_to_array(
        nullif(
            btrim(
                CASE
                    WHEN octet_length(p_query) = char_length(p_query)
                        AND octet_length(p_query) < 2000
                        THEN regexp_replace(
                            ' ' || lower(p_query COLLATE "C") || ' ',
                            '[^a-z0-9]+(?:[a-z0-9]{1,2}[^a-z0-9]+)*',
                            ' ',
                            'g'
                        )
                END,
                ' '
            ) COLLATE "C",
            ''
        ),
        ' '
    ))),
    mnemo._signature_tokens_wide(p_query)
);
COMMENT ON FUNCTION mnemo._signature_tokens(text) IS
    'The signature of a query without limits, see signature_tokens. NULL gives NULL, blank gives the '
    'empty array. Raises nothing.';

CREATE FUNCTION mnemo.signature_tokens(
    p_query text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_tokens text[];
BEGIN
    IF char_length(p_query) > 100000 THEN
        PERFORM mnemo._raise_limit(
            'p_query',
            format('p_query has %s characters, the limit is 100000', char_length(p_query)),
            'pass the question alone, without what it is about'
        );
    END IF;
    v_tokens := mnemo._signature_tokens(p_query);
    IF cardinality(v_tokens) > 20000 THEN
        PERFORM mnemo._raise_limit(
            'p_query',
            format('p_query has %s signature tokens, the limit is 20000', cardinality(v_tokens)),
            'pass the question alone, without what it is about'
        );
    END IF;
    RETURN v_tokens;
END
$fn$;
COMMENT ON FUNCTION mnemo.signature_tokens(text) IS
    'The signature of a query: its words of at least three characters (two of Hangul) and the pairs '
    'of characters of scripts without spaces, in lower case, sorted by code point, no duplicates; '
    'when there is none the shorter words, when there is no word at all the text itself. The same on '
    'every server and in every locale. NULL gives NULL, blank gives the empty array. Raises 54000 '
    'above 100,000 characters or 20,000 tokens. Source: Unicode 14.0.';

CREATE FUNCTION mnemo._jaccard(
    p_a text[],
    p_b text[]
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_a IS NOT NULL AND p_b IS NOT NULL THEN (
        SELECT coalesce(
                   count(*) FILTER (WHERE s.sides = 3)::double precision / nullif(count(*), 0), 0
               )
          FROM (
            SELECT bit_or(t.side) AS sides
              FROM (
                SELECT a.token COLLATE "C" AS token, 1 AS side FROM unnest(p_a) AS a(token)
                UNION ALL
                SELECT b.token COLLATE "C", 2 FROM unnest(p_b) AS b(token)
              ) AS t
             GROUP BY t.token
          ) AS s
    )
END;
COMMENT ON FUNCTION mnemo._jaccard(text[], text[]) IS
    'As jaccard, without its checks: a NULL element counts as one more token. NULL when either array '
    'is NULL. Raises nothing.';

CREATE FUNCTION mnemo.jaccard(
    p_a text[],
    p_b text[]
)
RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_name text;
BEGIN
    -- array_position() refuses arrays of more dimensions, so they are refused first, by our error.
    v_name := CASE WHEN array_ndims(p_a) > 1 THEN 'p_a' WHEN array_ndims(p_b) > 1 THEN 'p_b' END;
    IF v_name IS NOT NULL THEN
        PERFORM mnemo._raise_argument(
            v_name, format('%s must be an array of one dimension', v_name),
            'pass the result of mnemo.signature_tokens'
        );
    END IF;
    v_name := CASE
        WHEN array_position(p_a, NULL) IS NOT NULL THEN 'p_a'
        WHEN array_position(p_b, NULL) IS NOT NULL THEN 'p_b'
    END;
    IF v_name IS NOT NULL THEN
        PERFORM mnemo._raise_argument(
            v_name, format('%s has a NULL element', v_name), 'remove the NULL elements'
        );
    END IF;
    RETURN mnemo._jaccard(p_a, p_b);
END
$fn$;
COMMENT ON FUNCTION mnemo.jaccard(text[], text[]) IS
    'Jaccard similarity of two token sets: the size of what they share over the size of their union, '
    'duplicates counted once, 0 when both are empty. 7 of 10 is exactly 0.7. NULL when either array '
    'is NULL. Raises 22023 for a NULL element and for arrays of more than one dimension.';
