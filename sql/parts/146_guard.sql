-- What is stored and compared, and what people see.

CREATE FUNCTION mnemo._guard(
    p_query text,
    OUT meaning bigint,
    OUT vals bigint,
    OUT names text[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_all text[] := mnemo._guard_read(p_query);
    v_meaning integer := 0;
    v_names integer;
BEGIN
    meaning := 0;
    vals := 0;
    names := '{}';
    -- Sorted: first the meaning, then the names, then the values.
    v_meaning := width_bucket('n'::text COLLATE "C", v_all COLLATE "C");
    v_names := width_bucket('o'::text COLLATE "C", v_all COLLATE "C");
    IF v_meaning > 0 THEN
        meaning := mnemo._hash64(array_to_string(v_all[:v_meaning], E'\n'));
    END IF;
    FOR i IN v_meaning + 1 .. v_names LOOP
        names := names || substr(v_all[i], 2);
    END LOOP;
    IF v_names < cardinality(v_all) THEN
        vals := mnemo._hash64(array_to_string(v_all[v_names + 1:], E'\n'));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard(text) IS
    'What of a query''s guard is stored with its plan and compared: a digest of its tokens of class '
    'meaning, one of the values but names (0 for none), and the names, sorted. Two queries agree in '
    'meaning when the first digests are equal; strictly, when the second are too and each name of '
    'either is a token of the other''s signature. NULL gives 0, 0 and no names. Raises nothing.';

CREATE FUNCTION mnemo._guard_tokens(
    p_query text
)
RETURNS TABLE (
    "position" bigint,
    token text,
    class text
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT t.place, substr(t.entry, 2),
           CASE left(t.entry, 1) WHEN 'm' THEN 'meaning' ELSE 'values' END
      FROM unnest(mnemo._guard_read(p_query)) WITH ORDINALITY AS t(entry, place)
     ORDER BY t.place;
END;
COMMENT ON FUNCTION mnemo._guard_tokens(text) IS 'As guard_tokens, without its limit.';

CREATE FUNCTION mnemo.guard_tokens(
    p_query text
)
RETURNS TABLE (
    "position" bigint,
    token text,
    class text
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF char_length(p_query) > 100000 THEN
        PERFORM mnemo._raise_limit(
            'p_query',
            format('p_query has %s characters, the limit is 100000', char_length(p_query)),
            'pass the question alone, without what it is about'
        );
    END IF;
    RETURN QUERY SELECT g."position", g.token, g.class FROM mnemo._guard_tokens(p_query) AS g;
END
$fn$;
COMMENT ON FUNCTION mnemo.guard_tokens(text) IS
    'What the guard reads out of a query, in a fixed order: tokens of class meaning (negation, '
    'opposites, the order of what is ordered) and values (numbers, identifiers, names, units, times, '
    'words of one or two letters that are no function words). NULL and a query without any give no '
    'rows. Raises 54000 above 100,000 characters.';

CREATE FUNCTION mnemo._guard_differences(
    p_asked text,
    p_stored text,
    p_guard text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_asked text[] := mnemo._guard_read(p_asked);
    v_stored text[] := mnemo._guard_read(p_stored);
BEGIN
    -- A name is there when it is a word of the signature, with or without a capital.
    RETURN ARRAY(
        SELECT CASE
                   WHEN d.asked IS NULL THEN 'only stored has ' || d.stored
                   WHEN d.stored IS NULL THEN 'only asked has ' || d.asked
                   ELSE 'asked has ' || d.asked || ', stored has ' || d.stored
               END
          FROM (
            SELECT left(t.entry, 1) COLLATE "C" AS class,
                   string_agg(substr(t.entry, 2), ', ' ORDER BY t.entry COLLATE "C")
                       FILTER (WHERE t.side = 1) AS asked,
                   string_agg(substr(t.entry, 2), ', ' ORDER BY t.entry COLLATE "C")
                       FILTER (WHERE t.side = 2) AS stored
              FROM (
                SELECT a.entry, 1 AS side
                  FROM unnest(v_asked) AS a(entry)
                 WHERE NOT EXISTS (
                    SELECT
                      FROM unnest(v_stored || ARRAY(
                            SELECT 'n' || w.word
                              FROM unnest(mnemo._signature_tokens(p_stored)) AS w(word)
                        )) AS h(entry)
                     WHERE h.entry COLLATE "C" = a.entry COLLATE "C"
                 )
                UNION ALL
                SELECT s.entry, 2
                  FROM unnest(v_stored) AS s(entry)
                 WHERE NOT EXISTS (
                    SELECT
                      FROM unnest(v_asked || ARRAY(
                            SELECT 'n' || w.word
                              FROM unnest(mnemo._signature_tokens(p_asked)) AS w(word)
                        )) AS h(entry)
                     WHERE h.entry COLLATE "C" = s.entry COLLATE "C"
                 )
              ) AS t
             WHERE p_guard = 'strict' OR p_guard = 'meaning' AND left(t.entry, 1) = 'm'
             GROUP BY left(t.entry, 1) COLLATE "C"
          ) AS d
         ORDER BY d.class
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_differences(text, text, text) IS
    'What forbids the guard (off, meaning, strict) to replay a stored query''s plan for the one asked, '
    'in words: one text for meaning, names, values each where they differ; empty when they agree.';
