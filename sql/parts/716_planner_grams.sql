CREATE FUNCTION mnemo._planner_grams(
    p_plain text[],
    p_terms text[]
)
RETURNS TABLE (
    sort text,
    first_place integer,
    last_place integer,
    part text,
    name text
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    -- The place of a word, less what was left out before it, is its place here.
    v_left_out integer := greatest(cardinality(p_terms) - 1000, 0);
    v_terms text[] := CASE WHEN v_left_out = 0 THEN p_terms
        ELSE p_terms[:500] || p_terms[v_left_out + 501:] END;
    v_plain text[] := p_plain[:67];
    v_last integer := cardinality(v_terms);
    -- For each word whether it has no topic.
    v_empty boolean[] := ARRAY(
        SELECT t.word COLLATE "C" = ANY (mnemo._function_words())
          FROM unnest(v_terms) WITH ORDINALITY AS t(word, place)
         ORDER BY t.place);
BEGIN
    RETURN QUERY
    WITH word AS MATERIALIZED (
        SELECT t.place::integer AS place, t.word,
               CASE WHEN t.place > 500 THEN v_left_out ELSE 0 END AS left_out
          FROM unnest(v_terms) WITH ORDINALITY AS t(word, place)
    )
    -- A name never begins with an article or a possessive, which may stand before it, nor ends with
    -- the s of a genitive or another function word. My sister's husband is not mine.
    SELECT 'name', w.place + w.left_out, n.last_place + w.left_out, NULL::text,
           array_to_string(v_terms[w.place + w.owned:n.last_place], ' ')
      FROM (
        SELECT o.place, o.left_out,
               (o.word IN ('my', 'our', 'your', 'his', 'her', 'their'))::integer AS owned
          FROM word AS o
         WHERE o.word NOT IN ('the', 'a', 'an', 's')
      ) AS w
      CROSS JOIN generate_series(w.place + w.owned, least(w.place + w.owned + 5, v_last))
            AS n(last_place)
     WHERE NOT v_empty[n.last_place]
       AND v_terms[w.place + w.owned]
           NOT IN ('my', 'our', 'your', 'his', 'her', 'their', 'the', 'a', 'an', 's')
       AND (n.last_place > w.place + w.owned OR v_terms[n.last_place] <> 'user')
       AND (w.owned = 1 OR mnemo._is_of_another(v_terms[w.place - 2], v_terms[w.place - 1],
            v_terms[w.place]) IS NOT TRUE)
       AND (v_left_out = 0 OR w.place > 500 OR n.last_place <= 500)
    UNION ALL
    -- In scripts without spaces a name is any part of a run.
    SELECT DISTINCT 'name', w.place, w.place, p.part, p.part
      FROM word AS w
      CROSS JOIN LATERAL unnest(mnemo._planner_runs(left(w.word, 256))) AS r(run)
      CROSS JOIN generate_series(1, length(r.run) - 1) AS f(first)
      CROSS JOIN generate_series(2, least(8, length(r.run) + 1 - f.first)) AS n(length)
      CROSS JOIN LATERAL (SELECT substr(r.run, f.first, n.length) AS part) AS p
     WHERE w.place <= 16 AND octet_length(w.word) > char_length(w.word)
       AND r.run COLLATE "C" ~ ('^[' || mnemo._unicode_unspaced() || ']')
       AND p.part <> w.word
    UNION ALL
    SELECT DISTINCT 'attribute', w.place, w.place + n.length - 1, NULL::text,
           mnemo._canonical_predicate(v.name)
      FROM word AS w
      CROSS JOIN generate_series(1, least(4, v_last + 1 - w.place)) AS n(length)
      CROSS JOIN LATERAL (VALUES
            (array_to_string(v_plain[w.place:w.place + n.length - 1], '_')),
            (array_to_string(v_terms[w.place:w.place + n.length - 1], '_'))
      ) AS v(name)
     WHERE w.place <= 64 AND true <> ALL (v_empty[w.place:w.place + n.length - 1])
       AND v.name COLLATE "C" ~ '[a-z0-9]';
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_grams(text[], text[]) IS
    'What memory may have as a name or an attribute of the words of a text, given folded and as '
    'terms: names of at most six words; in scripts without spaces also of 2 to 8 characters within '
    'the first 256 of the first 16 words; attributes of at most four words, none empty, of the '
    'first 64. Of more than 1,000 words the first and the last 500 are read.';

CREATE FUNCTION mnemo._planner_known(
    p_plain text[],
    p_terms text[],
    p_others text[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS mnemo._known_phrase[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET jit = off
AS $fn$
BEGIN
    RETURN ARRAY(
        WITH phrase AS MATERIALIZED (
            SELECT f.sort, f.first_place, f.last_place, f.part, f.name,
                   CASE f.sort WHEN 'name' THEN mnemo._name_term(f.name)
                   ELSE mnemo._attribute_term(f.name) END AS term
              FROM (
                SELECT g.sort, g.first_place, g.last_place, g.part, g.name
                  FROM mnemo._planner_grams(p_plain, p_terms) AS g
                UNION ALL
                SELECT 'name', 1 - o.place::integer, 1 - o.place::integer, NULL, o.name
                  FROM unnest(p_others) WITH ORDINALITY AS o(name, place)
              ) AS f
        ), part AS MATERIALIZED (
            -- Records whose subject it is come first, else those that give it as another name.
            SELECT r.term, r.subject, coalesce(r.weight = 30, false) AS own, count(*) AS records,
                   bool_or(coalesce(r.kind IN ('relationship', 'relationship_preference'), false))
                   AS person
              FROM mnemo._known_records(
                    ARRAY(SELECT DISTINCT p.term FROM phrase AS p), 16, p_org_id, p_agent_id, p_now
                   ) AS r
             GROUP BY 1, 2, 3
        ), myself AS MATERIALIZED (
            SELECT p.subject
              FROM part AS p
             WHERE p.term = mnemo._name_term('user')
             ORDER BY p.own DESC, p.records DESC, p.subject COLLATE "C"
             LIMIT 1
        ), known AS (
            SELECT DISTINCT ON (p.term) p.term, p.person,
                   CASE WHEN p.most THEN p.subject END AS subject,
                   p.most OR p.subjects <= 2 AS telling
              FROM (
                SELECT c.term, c.subject, c.own, c.mine, c.records, c.person,
                       count(*) OVER (PARTITION BY c.term, c.mine) AS subjects,
                       c.own OR c.records * 2 > sum(c.records) OVER (PARTITION BY c.term, c.mine)
                       AS most
                  FROM (
                    -- What the user's own records mention may be anybody.
                    SELECT o.term, o.subject, o.own, o.records, o.person,
                           coalesce(o.subject = (SELECT m.subject FROM myself AS m), false) AS mine
                      FROM part AS o
                  ) AS c
              ) AS p
             ORDER BY p.term, p.own DESC, p.mine, p.records DESC, p.subject COLLATE "C"
        )
        SELECT ROW(p.sort, p.first_place, p.last_place, p.part, p.name, k.subject, k.person)
               ::mnemo._known_phrase
          FROM phrase AS p
          JOIN known AS k ON k.term = p.term
         WHERE k.telling OR p.sort = 'attribute'
         ORDER BY p.last_place - p.first_place DESC, length(p.part) DESC NULLS FIRST, p.first_place,
               p.name COLLATE "C"
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_known(text[], text[], text[], text, text, timestamptz) IS
    'The names and attributes that visible memory has, among the words of a text, longest first; '
    'and of the names p_others those that it has, at places 0, -1 and so on. subject: that of the '
    'records about the name itself, else the one that most of the others with this name have, '
    'those of the user himself aside unless there are no others; NULL where none has most. Names '
    'of three such subjects and more are left out.';
