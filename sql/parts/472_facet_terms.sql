-- The facets of a record as terms: names, subject, attribute and the pair of both. They stand in the
-- same lists as words and follow them through sharing, forgetting and restoring; a text in which a
-- space stands is never a word, so the two never meet.

CREATE FUNCTION mnemo._fold_lines(
    p_lines text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_lines text COLLATE "C" := ' ' || replace(p_lines, E'\n', E' \n ') || ' ';
BEGIN
    -- With the flag n a class of other characters leaves out the end of a line.
    IF octet_length(v_lines) = char_length(v_lines) THEN
        v_lines := regexp_replace(lower(v_lines), '[^a-z0-9]+', ' ', 'gn');
    ELSE
        v_lines := regexp_replace(mnemo._fold_wide(v_lines), mnemo._token_gap(), ' ', 'gn');
    END IF;
    RETURN mnemo._fold_plurals(v_lines);
END
$fn$;
COMMENT ON FUNCTION mnemo._fold_lines(text) IS
    'The words of each line of a text, folded as _terms folds them, with one space before, between '
    'and after them; scripts without spaces stay whole. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._bare_names(
    p_lines text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    regexp_replace(
        p_lines COLLATE "C",
        '^ (?:(?:my|our|your|his|her|their|the|a|an) )+(?=[^ ])|(?<=[^ ]) s $', ' ', 'gn'),
    '^ (?:i|me|my|mine|myself|user) $', ' user ', 'gn');
COMMENT ON FUNCTION mnemo._bare_names(text) IS
    'Names for comparing, from the lines that _fold_lines gave: without articles and possessives '
    'before them and the s of a genitive behind them, so that my wife and wife are one; user for the '
    'words by which a user means himself. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._fold_phrase(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(mnemo._fold_lines(replace(p_text, E'\n', ' ')), ' ');
COMMENT ON FUNCTION mnemo._fold_phrase(text) IS
    'The words of a text, folded as _terms folds them, with one space between them; scripts without '
    'spaces stay whole. Empty without words. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._fold_name(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN nullif(btrim(mnemo._bare_names(mnemo._fold_lines(replace(p_text, E'\n', ' '))), ' '), '');
COMMENT ON FUNCTION mnemo._fold_name(text) IS
    'A name, subject or entity for comparing, see _bare_names; NULL for a text without words and for '
    'NULL. Raises nothing.';

CREATE FUNCTION mnemo._name_term(
    p_name text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('name ' || p_name);
COMMENT ON FUNCTION mnemo._name_term(text) IS
    'The term of the records that have a name, given as _fold_name gives it, as subject, entity or '
    'alias. NULL gives NULL.';

CREATE FUNCTION mnemo._about_term(
    p_name text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('about ' || p_name);
COMMENT ON FUNCTION mnemo._about_term(text) IS
    'The term of the records about a subject, given as _fold_name gives it. NULL gives NULL.';

CREATE FUNCTION mnemo._attribute_term(
    p_predicate text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('attribute ' || p_predicate);
COMMENT ON FUNCTION mnemo._attribute_term(text) IS
    'The term of the records with a canonical predicate. NULL gives NULL.';

CREATE FUNCTION mnemo._pair_term(
    p_name text,
    p_predicate text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('pair ' || p_predicate || ' ' || p_name);
COMMENT ON FUNCTION mnemo._pair_term(text, text) IS
    'The term of the records about a subject, given as _fold_name gives it, with a canonical '
    'predicate. NULL where one of them is.';

CREATE FUNCTION mnemo._own_term(
    p_about bigint,
    p_word bigint
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Turned by 17 bits, so that the two do not change places.
RETURN ((p_about << 17) | ((p_about >> 47) & 131071)) # p_word;
COMMENT ON FUNCTION mnemo._own_term(bigint, bigint) IS
    'The term of the records about a subject (p_about: _about_term) that have a word (p_word: its '
    'hash) in their predicate, tags or aliases. NULL where one of them is.';

CREATE FUNCTION mnemo._facet_terms(
    p_record mnemo.memory,
    p_words bigint[],
    p_word_weights integer[],
    OUT terms bigint[],
    OUT weights integer[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    WITH name AS MATERIALIZED (
        SELECT nullif(btrim(n.name, ' '), '') AS name, n.place
          FROM unnest(string_to_array(mnemo._bare_names(mnemo._fold_lines((
                SELECT string_agg(replace(u.name, E'\n', ' '), E'\n' ORDER BY u.place)
                  FROM unnest(coalesce(p_record.subject, '') || p_record.aliases
                        || p_record.entities) WITH ORDINALITY AS u(name, place)
            ))), E'\n')) WITH ORDINALITY AS n(name, place)
    ), subject AS MATERIALIZED (
        SELECT n.name, mnemo._about_term(n.name) AS about FROM name AS n WHERE n.place = 1
    )
    SELECT array_agg(f.term ORDER BY f.term), array_agg(f.weight ORDER BY f.term)
      INTO terms, weights
      FROM (
        SELECT mnemo._name_term(n.name) AS term,
               CASE WHEN min(n.place) = 1 THEN 30
                    WHEN min(n.place) <= 1 + cardinality(p_record.aliases) THEN 20
                    ELSE 10 END AS weight
          FROM name AS n
         WHERE n.name IS NOT NULL
         GROUP BY n.name
        UNION ALL
        SELECT t.term, 10
          FROM subject AS s
          CROSS JOIN unnest(ARRAY[
                s.about, mnemo._attribute_term(p_record.predicate),
                mnemo._pair_term(s.name, p_record.predicate)
            ]) AS t(term)
         WHERE t.term IS NOT NULL
        UNION ALL
        SELECT mnemo._own_term(s.about, w.term), w.weight
          FROM subject AS s
          CROSS JOIN unnest(p_words, p_word_weights) AS w(term, weight)
         WHERE s.about IS NOT NULL
      ) AS f;
END
$fn$;
COMMENT ON FUNCTION mnemo._facet_terms(mnemo.memory, bigint[], integer[]) IS
    'The terms of a record''s facets: of each of its names (weight 30 as subject, 20 as alias, 10 as '
    'entity), of its subject, of its predicate and of both, and of its subject with each of the words '
    'given. NULL for none.';

CREATE FUNCTION mnemo._record_terms(
    p_record mnemo.memory,
    OUT terms bigint[],
    OUT weights integer[],
    OUT length integer
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_words bigint[];
    v_word_weights integer[];
BEGIN
    SELECT coalesce(array_agg(h.hash ORDER BY h.hash), '{}'),
           coalesce(array_agg(h.weight ORDER BY h.hash), '{}'),
           coalesce(sum(h.occurrences), 0),
           array_agg(h.hash) FILTER (WHERE h.facet), array_agg(h.weight) FILTER (WHERE h.facet)
      INTO terms, weights, length, v_words, v_word_weights
      FROM (
        SELECT mnemo._hash64(t.term) AS hash, t.weight, t.occurrences, t.facet
          FROM (
            SELECT u.term, least(sum(f.weight), 1000000)::integer AS weight,
                   count(*) AS occurrences, bool_or(f.facet) AS facet
              FROM (VALUES
                    (10, p_record.content, false),
                    (30, p_record.subject, false),
                    (30, array_to_string(p_record.entities, ' '), false),
                    (25, array_to_string(p_record.aliases, ' '), true),
                    (22, p_record.predicate, true),
                    (20, array_to_string(p_record.tags, ' '), true),
                    (15, p_record.location, false)
                ) AS f(weight, words, facet)
              CROSS JOIN LATERAL unnest(mnemo._terms(f.words)) AS u(term)
             WHERE f.words <> '' AND u.term COLLATE "C" <> ALL (mnemo._stop_words())
             GROUP BY u.term
             ORDER BY weight DESC, u.term COLLATE "C"
             LIMIT 20000
          ) AS t
      ) AS h;
    IF p_record.subject IS NOT NULL OR p_record.predicate IS NOT NULL
        OR p_record.entities <> '{}' OR p_record.aliases <> '{}'
    THEN
        SELECT _record_terms.terms || f.terms, _record_terms.weights || f.weights
          INTO terms, weights
          FROM mnemo._facet_terms(p_record, v_words, v_word_weights) AS f;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._record_terms(mnemo.memory) IS
    'The hashes of a record''s terms, the weight of each in tenths (subject and entities 30, aliases '
    '25, predicate 22, tags 20, location 15, content 10, summed over occurrences), and the number of '
    'words; then the terms of _facet_terms, which count as no words. Of more than 20,000 terms of '
    'words the heaviest are kept. Empty for a redacted record.';
