CREATE FUNCTION mnemo._rule_name_problem(
    p_name text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF coalesce(p_name COLLATE "C" ~ '^[a-z][a-z0-9_]{0,62}$', false) THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._argument('p_name',
        'p_name must be 1 to 63 lower-case letters, digits or _, a letter first; got '
            || mnemo._shown(p_name),
        'mnemo.poisoning_rules lists the names that there are');
END
$fn$;
COMMENT ON FUNCTION mnemo._rule_name_problem(text) IS
    'The problem of an ill-formed name of a rule; NULL for none.';

CREATE FUNCTION mnemo._pattern_fault(
    p_pattern text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    -- Without what a backslash takes its meaning from.
    v_plain text COLLATE "C" := regexp_replace(p_pattern, E'\\\\.', '', 'g');
BEGIN
    IF mnemo._is_blank(p_pattern) THEN
        RETURN 'must not be blank';
    ELSIF p_pattern COLLATE "C" ~ E'\\\\[1-9]' THEN
        RETURN 'must not refer back to a group';
    ELSIF v_plain ~ '[(][?](?!:)' OR left(p_pattern, 3) = '***' THEN
        RETURN 'must not look ahead or behind, or set options';
    ELSIF v_plain ~ '[)][{]' THEN
        RETURN 'must not count how often a group repeats';
    ELSIF v_plain ~ '[{][0-9,]*([5-9][1-9]|[6-9]0|[0-9]{3})' THEN
        RETURN 'must not count repetitions above 50';
    ELSIF v_plain ~ '[A-Z]' THEN
        RETURN 'must be in lower case, as the text that it is matched with';
    END IF;
    -- The server finds out about the rest; this call is an administrator's alone.
    BEGIN
        IF '' ~ p_pattern OR ' ' ~ p_pattern THEN
            RETURN 'must not match an empty text: it would hold back every record';
        END IF;
    EXCEPTION WHEN invalid_regular_expression THEN
        RETURN 'must be a regular expression of PostgreSQL: ' || sqlerrm;
    END;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._pattern_fault(text) IS
    'What speaks against a pattern, as the end of a sentence; NULL for nothing. What is allowed '
    'takes time in proportion to the text.';

CREATE FUNCTION mnemo._applies_problem(
    p_applies_to text[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_problem mnemo._problem := mnemo._list_problem('p_applies_to', p_applies_to, 100, NULL,
        'source types');
    v_source text;
BEGIN
    IF p_applies_to IS NULL OR v_problem.code IS NOT NULL THEN
        RETURN v_problem;
    ELSIF cardinality(p_applies_to) = 0 THEN
        RETURN mnemo._argument('p_applies_to', 'p_applies_to must name at least one source type',
            'leave it out for all, or pass p_enabled => false');
    END IF;
    FOREACH v_source IN ARRAY p_applies_to LOOP
        IF v_source <> 'plan' AND NOT mnemo._is_label('source_type', v_source) THEN
            RETURN mnemo._argument('p_applies_to',
                format('p_applies_to must name source types (%s) or plan; got %s',
                    array_to_string(mnemo._labels('source_type'), ', '), mnemo._shown(v_source)),
                'plan stands for plans, whose source type is system');
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._applies_problem(text[]) IS
    'The problem of a list of source types of a rule; NULL, for NULL too, for none.';

CREATE FUNCTION mnemo._rule_problem(
    p_name text,
    p_pattern text,
    p_weight double precision,
    p_applies_to text[],
    p_enabled boolean,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_builtin mnemo._rule;
    v_fault text;
BEGIN
    SELECT b.* INTO v_builtin FROM mnemo._builtin_rules() AS b WHERE b.name = p_name;
    IF p_pattern IS NOT NULL AND length(p_pattern) <= 1000 THEN
        v_fault := mnemo._pattern_fault(p_pattern);
    END IF;
    RETURN mnemo._first_problem(ARRAY[
        mnemo._rule_name_problem(p_name),
        CASE WHEN p_org_id <> '*' THEN mnemo._identifier_problem('p_org_id', p_org_id) END,
        CASE WHEN v_fault IS NOT NULL THEN
            mnemo._argument('p_pattern', 'p_pattern ' || v_fault,
                'words with single spaces between them, such as '' buy (gold|silver) now ''')
        END,
        CASE WHEN v_builtin.name IS NULL AND p_pattern IS NULL THEN
            mnemo._argument('p_pattern',
                'p_pattern must not be NULL: no rule ' || p_name || ' is built in',
                'pass a regular expression')
        WHEN v_builtin.name IS NOT NULL AND v_builtin.pattern IS NULL AND p_pattern IS NOT NULL THEN
            mnemo._argument('p_pattern', 'p_pattern cannot be given for ' || p_name
                || ', which counts and reads no words', 'leave it out')
        END,
        CASE WHEN v_builtin.name IS NULL AND p_weight IS NULL THEN
            mnemo._argument('p_weight',
                'p_weight must not be NULL: no rule ' || p_name || ' is built in',
                'pass what a hit adds, from 0 to 1; records are held back from 0.5 on')
        END,
        mnemo._fraction_problem('p_weight', p_weight),
        mnemo._applies_problem(p_applies_to),
        CASE WHEN p_enabled IS NULL THEN
            mnemo._argument('p_enabled', 'p_enabled must not be NULL', 'pass true or false')
        END,
        mnemo._length_problem('p_pattern', p_pattern, 1000),
        CASE WHEN (
            SELECT count(*)
              FROM mnemo.poisoning_rule AS r
             WHERE r.org_id = p_org_id AND r.name <> p_name
        ) >= 100 THEN
            mnemo._limit('p_name', 'there are 100 rules already, at most 100 are allowed',
                'remove one with mnemo.remove_poisoning_rule, or join patterns with |')
        END
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._rule_problem(
    text, text, double precision, text[], boolean, text
) IS 'The first problem of the arguments of mnemo.set_poisoning_rule; NULL for none.';

CREATE FUNCTION mnemo.set_poisoning_rule(
    p_name text,
    p_pattern text DEFAULT NULL,
    p_weight double precision DEFAULT NULL,
    p_applies_to text[] DEFAULT NULL,
    p_enabled boolean DEFAULT true,
    p_org_id text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_org_id text := coalesce(p_org_id, '*');
BEGIN
    PERFORM mnemo._require_admin();
    IF p_org_id = '*' THEN
        PERFORM mnemo._check_identity('x', p_org_id);
    END IF;
    PERFORM mnemo._raise_problem(mnemo._rule_problem(
        p_name, p_pattern, p_weight, p_applies_to, p_enabled, v_org_id));
    INSERT INTO mnemo.poisoning_rule AS r (
        org_id, name, pattern, weight, applies_to, enabled, updated_at
    )
    VALUES (v_org_id, p_name, p_pattern, p_weight,
        CASE WHEN p_applies_to IS NOT NULL THEN mnemo._distinct(p_applies_to) END, p_enabled, now())
    ON CONFLICT ON CONSTRAINT poisoning_rule_pkey DO UPDATE
       SET pattern = excluded.pattern, weight = excluded.weight,
           applies_to = excluded.applies_to, enabled = excluded.enabled,
           updated_at = excluded.updated_at;
END
$fn$;
COMMENT ON FUNCTION mnemo.set_poisoning_rule(
    text, text, double precision, text[], boolean, text
) IS
    'Adds a rule against poisoning, or changes one, for the database or (p_org_id) one '
    'organisation, whose rule of the same name then counts instead. The name of a built-in rule '
    'changes that: what is NULL stays built in. p_pattern: regular expression, matched with the '
    'text in lower case, once as words with single spaces between, before and after them, once as '
    'it stands; up to 1,000 characters, without references back, looking ahead or behind, counted '
    'groups, and counts above 50, so that a match takes time in proportion to the text. p_weight: '
    'what a hit adds, 0 to 1; from 0.5 on a record is held back. p_applies_to: source types, and '
    'plan for plans; NULL for all. p_enabled false switches it off. At most 100. Records that are '
    'there are not looked at again. Level admin only. Errors: 42501 not an administrator; 22023 '
    'bad argument; 54000 over a limit.';

CREATE FUNCTION mnemo.remove_poisoning_rule(
    p_name text,
    p_org_id text DEFAULT NULL
)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    IF p_org_id IS NOT NULL THEN
        PERFORM mnemo._check_identity('x', p_org_id);
    END IF;
    PERFORM mnemo._raise_problem(mnemo._rule_name_problem(p_name));
    DELETE FROM mnemo.poisoning_rule AS r
     WHERE r.org_id = coalesce(p_org_id, '*') AND r.name = p_name;
    RETURN FOUND;
END
$fn$;
COMMENT ON FUNCTION mnemo.remove_poisoning_rule(text, text) IS
    'Takes back what mnemo.set_poisoning_rule set for the database or one organisation; a built-in '
    'rule is then as it was. True if there was something. Level admin only. Errors: 42501 not an '
    'administrator; 22023 bad argument.';

CREATE FUNCTION mnemo.poisoning_rules(
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    name text,
    pattern text,
    weight double precision,
    applies_to text[],
    enabled boolean,
    origin text
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 30
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    IF p_org_id IS NOT NULL THEN
        PERFORM mnemo._check_identity('x', p_org_id);
    END IF;
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY coalesce(b.name, c.name) COLLATE "C"),
           coalesce(b.name, c.name), coalesce(c.pattern, b.pattern), coalesce(c.weight, b.weight),
           coalesce(c.applies_to, b.applies_to), coalesce(c.enabled, true),
           CASE WHEN c.name IS NULL THEN 'builtin' WHEN c.org_id = '*' THEN 'database'
           ELSE 'organisation' END
      FROM mnemo._builtin_rules() AS b
      FULL JOIN (
        SELECT DISTINCT ON (r.name) r.*
          FROM mnemo.poisoning_rule AS r
         WHERE r.org_id IN (p_org_id, '*')
         ORDER BY r.name, r.org_id = '*'
      ) AS c ON c.name = b.name
     ORDER BY 1;
END
$fn$;
COMMENT ON FUNCTION mnemo.poisoning_rules(text) IS
    'The rules against poisoning of the database, or of one organisation, by name: pattern (NULL: '
    'the rule counts), weight, source types that it applies to (NULL: all), whether it is switched '
    'on, and where it is from: builtin, or what an administrator set for the database or the '
    'organisation. Level admin only. Errors: 42501 not an administrator; 22023 ill-formed '
    'organisation.';
