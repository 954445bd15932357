-- Who and what a text names, as memory knows it.

CREATE FUNCTION mnemo._planner_surface(
    p_text text,
    p_words text[]
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(coalesce(
    CASE WHEN octet_length(p_text) = char_length(p_text) THEN
        mnemo._squeeze(substring(p_text COLLATE "C" FROM
            '(?:^|[^A-Za-z0-9])(' || array_to_string(p_words, '[^A-Za-z0-9]+')
                || ')(?![A-Za-z0-9])'))
    END,
    array_to_string(p_words, ' ')
), 256);
COMMENT ON FUNCTION mnemo._planner_surface(text, text[]) IS
    'Successive words as they stand in an ASCII text, with what is between them; of other text the '
    'words. At most 256 characters.';

CREATE FUNCTION mnemo._planner_persons(
    p_terms text[]
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'user'::text || (
    SELECT mnemo._pronoun_partners(t.term) AS names
      FROM unnest(p_terms) WITH ORDINALITY AS t(term, place)
     WHERE mnemo._pronoun_partners(t.term) IS NOT NULL
     ORDER BY t.place
     LIMIT 1
);
COMMENT ON FUNCTION mnemo._planner_persons(text[]) IS
    'Names to look up whatever a text names: that of the user first, then those that its first she '
    'or he may stand for.';

CREATE FUNCTION mnemo._planner_asker(
    p_words text[],
    p_plain text[],
    p_taken integer[]
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT w.word
      FROM unnest(p_words, p_plain) WITH ORDINALITY AS w(word, plain, place)
     WHERE w.plain = ANY (mnemo._first_persons()) AND w.place <> ALL (p_taken)
     ORDER BY w.place
     LIMIT 1
);
COMMENT ON FUNCTION mnemo._planner_asker(text[], text[], integer[]) IS
    'The first word by which a text means its user, those at the places p_taken aside; NULL for '
    'none.';

CREATE FUNCTION mnemo._planner_question(
    p_terms text[]
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce((
    SELECT t.term
      FROM unnest(p_terms) WITH ORDINALITY AS t(term, place)
     WHERE mnemo._asks_in_general(ARRAY['', t.term])
     ORDER BY t.place
     LIMIT 1
), p_terms[1]);
COMMENT ON FUNCTION mnemo._planner_question(text[]) IS
    'The word that makes a question of folded words: the first asking word, else the first word.';

CREATE FUNCTION mnemo._planner_thing(
    p_terms text[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS mnemo._known_phrase
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := ' ' || array_to_string(p_terms, ' ') || ' ';
    v_thing text;
    v_phrase mnemo._known_phrase;
BEGIN
    IF v_text !~ ' (?:called|named|name) ' THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(f.found[1], f.found[2], f.found[3]) INTO v_thing
      FROM regexp_matches(v_text, ' my (?:[^ ]+ )?([^ ]+) (?:is )?(?:called|named) '
            '| name of my (?:[^ ]+ )?([^ ]+) $| my (?:[^ ]+ )?([^ ]+) s name ') AS f(found);
    SELECT min(k.subject) INTO v_phrase.subject
      FROM mnemo._known_records(
            ARRAY[mnemo._hash64(v_thing)], 16, p_org_id, p_agent_id, p_now) AS k
     WHERE mnemo._fold_name(k.subject) <> 'user' AND k.kind IS DISTINCT FROM
            'relationship_preference'
    HAVING count(DISTINCT mnemo._fold_name(k.subject)) = 1;
    IF v_phrase.subject IS NULL THEN
        RETURN NULL;
    END IF;
    v_phrase.sort := 'name';
    v_phrase.subject := mnemo._fold_name(v_phrase.subject);
    v_phrase.first_place := array_position(p_terms, v_thing);
    v_phrase.last_place := v_phrase.first_place;
    v_phrase.name := v_thing;
    v_phrase.person := false;
    RETURN v_phrase;
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_thing(text[], text, text, timestamptz) IS
    'Whose name is asked for by what is my cat called, the name of my cat, or my cat''s name, given '
    'as folded words: the one subject other than the user of which visible memory has the word, '
    'preferences of other people aside. NULL where there is none or more than one.';

CREATE FUNCTION mnemo._planner_entities(
    p_text text,
    p_words text[],
    p_terms text[],
    p_known mnemo._known_phrase[],
    OUT entities jsonb,
    OUT taken integer[],
    OUT person boolean,
    OUT user_subject text
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_name record;
    v_used integer[] := '{}';
    v_parts text[] := '{}';
    v_partner text;
BEGIN
    entities := '[]';
    taken := '{}';
    person := p_terms && mnemo._relation_words();
    FOR v_name IN
        SELECT n.first_place, n.last_place, n.part, n.subject, n.person
          FROM unnest(p_known) WITH ORDINALITY AS n
         WHERE n.sort = 'name'
         ORDER BY n.first_place > 0, CASE WHEN n.first_place <= 0 THEN -n.first_place END,
               n.ordinality
    LOOP
        IF v_name.first_place = 0 THEN
            user_subject := v_name.subject;
        ELSIF v_name.first_place < 0 THEN
            v_partner := coalesce(v_partner, nullif(v_name.subject, user_subject));
        END IF;
        CONTINUE WHEN v_name.first_place <= 0
            OR v_name.part IS NULL
                AND (v_name.first_place = ANY (v_used) OR v_name.last_place = ANY (v_used))
            OR EXISTS (
                SELECT FROM unnest(v_parts) AS p(part) WHERE strpos(p.part, v_name.part) > 0);
        IF v_name.part IS NULL THEN
            v_used := v_used
                || ARRAY(SELECT generate_series(v_name.first_place, v_name.last_place));
        ELSE
            v_parts := v_parts || v_name.part;
        END IF;
        -- What is the user's own has a name, and nobody else stands behind it.
        IF v_name.subject = user_subject THEN
            v_name.subject := NULL;
        ELSIF v_name.subject IS NOT NULL THEN
            person := person OR v_name.person;
            IF v_name.part IS NULL THEN
                taken := taken
                    || ARRAY(SELECT generate_series(v_name.first_place, v_name.last_place));
            END IF;
        END IF;
        CONTINUE WHEN v_name.subject IS NOT NULL AND entities @> jsonb_build_array(
            jsonb_build_object('canonical', v_name.subject));
        entities := entities || jsonb_build_object('canonical', v_name.subject, 'surface',
            coalesce(v_name.part, mnemo._planner_surface(
                p_text, p_words[v_name.first_place:v_name.last_place])));
    END LOOP;
    IF v_partner IS NOT NULL AND NOT person AND mnemo._pronoun_of_partner(p_terms)
        AND mnemo._strangers(p_text) = '{}'
        AND NOT entities @? 'strict $[*] ? (@.canonical != null)'
    THEN
        entities := jsonb_build_object('canonical', v_partner, 'surface', (
                SELECT w.word FROM unnest(p_words, p_terms) AS w(word, term)
                 WHERE mnemo._pronoun_partners(w.term) IS NOT NULL LIMIT 1))
            || entities;
        person := true;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_entities(text, text[], text[], mnemo._known_phrase[]) IS
    'The known names in a text, the longest first, none inside another, with what they stand for '
    '(NULL for names of several subjects and of the user''s own things), each subject once; she '
    'or he is the user''s partner where the text names nobody. taken: the places of the words '
    'that stand for a subject. person: whether there is a person in the user''s life. '
    'user_subject: the subject that stands for the user; NULL where memory has none.';

