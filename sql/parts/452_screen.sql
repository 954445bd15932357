CREATE FUNCTION mnemo._screened_text(
    p_record mnemo.memory
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := p_record.content;
    v_words text COLLATE "C";
BEGIN
    IF p_record.tags <> '{}' OR p_record.entities <> '{}' OR p_record.aliases <> '{}' THEN
        v_text := v_text || E'\n' || array_to_string(p_record.tags, ', ') || E'\n'
            || array_to_string(p_record.entities, ', ') || E'\n'
            || array_to_string(p_record.aliases, ', ');
    END IF;
    IF p_record.subject IS NOT NULL OR p_record.predicate IS NOT NULL
        OR p_record.location IS NOT NULL
    THEN
        v_text := concat_ws(E'\n', v_text, p_record.subject, p_record.predicate,
            p_record.location);
    END IF;
    IF p_record.metadata <> '{}' THEN
        -- What JSON escapes would stick to the words beside it.
        v_text := v_text || E'\n' || regexp_replace(coalesce(
            -- Of a plan without what only repeats the query.
            mnemo._payload(p_record) - ARRAY['query', 'signature_tokens'], p_record.metadata)::text,
            E'\\\\(["\\\\/bfnrt]|u[0-9a-f]{4})', ' ', 'g');
    END IF;
    IF octet_length(v_text) = char_length(v_text) THEN
        v_text := lower(v_text);
        RETURN regexp_replace(' ' || v_text || ' ', '[^a-z0-9]+', ' ', 'g') || E'\n' || v_text;
    END IF;
    -- Characters that nobody sees keep no words apart.
    v_text := mnemo._fold_wide(regexp_replace(v_text,
        E'[\\u00AD\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u2064\\uFEFF]', '', 'g'));
    v_words := regexp_replace(' ' || v_text || ' ', mnemo._token_gap(), ' ', 'g');
    IF v_text ~ E'[\\u0370-\\u04FF\\uFF01-\\uFF5E\\U0001D400-\\U0001D7FF]' THEN
        -- Letters that look like Latin ones, as if they were.
        v_words := v_words || regexp_replace(' ' || translate(
            lower(normalize(v_text, NFKC)),
            E'\u0430\u0435\u043E\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u04BB\u0501\u051B'
            '\u043A\u043C\u0442\u0432\u043D\u03BF\u03B1\u03B5\u03B9\u03BA\u03BD\u03C1\u03C4\u03C5',
            'aeopcyxisjhdqkmtbhoaeikvptu') || ' ', '[^a-z0-9]+', ' ', 'g');
    END IF;
    RETURN v_words || E'\n' || v_text;
END
$fn$;
COMMENT ON FUNCTION mnemo._screened_text(mnemo.memory) IS
    'What the rules of poisoning read of a record: all that people or agents wrote in it, in lower '
    'case, first as words with single spaces, then as it stands.';

CREATE FUNCTION mnemo._candidates(
    p_text text,
    p_source text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_names text[] := array_remove(mnemo._command_candidates(p_text), NULL);
BEGIN
    IF p_source = 'plan' OR p_source = ANY (mnemo._untrusted_sources()) THEN
        v_names := v_names || array_remove(mnemo._address_candidates(p_text), NULL);
    END IF;
    IF 'instruction_override' = ANY (v_names) THEN
        v_names := v_names || ARRAY['instruction_override_de', 'instruction_override_fr',
            'instruction_override_es'];
    END IF;
    IF octet_length(p_text) <> char_length(p_text) THEN
        v_names := v_names || ARRAY['instruction_override_zh', 'instruction_override_ja',
            'hidden_text'];
    END IF;
    RETURN v_names;
END
$fn$;
COMMENT ON FUNCTION mnemo._candidates(text, text) IS
    'The built-in rules with a pattern that are worth asking about a text of this source.';

CREATE FUNCTION mnemo._rules_in_force(
    p_org_id text
)
RETURNS mnemo._rule[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT ROW(
                coalesce(b.name, c.name),
                coalesce(c.pattern, b.pattern),
                coalesce(c.weight, b.weight),
                coalesce(c.applies_to, b.applies_to),
                c.pattern IS NULL
            )::mnemo._rule
          FROM mnemo._builtin_rules() AS b
          FULL JOIN (
            -- Its own row of an organisation comes before that of the database.
            SELECT DISTINCT ON (r.name) r.*
              FROM mnemo.poisoning_rule AS r
             WHERE r.org_id IN (p_org_id, '*')
             ORDER BY r.name, r.org_id = '*'
          ) AS c ON c.name = b.name
         WHERE coalesce(c.enabled, true)
           -- A name that an earlier version had built in says nothing by itself.
           AND (b.name IS NOT NULL OR c.pattern IS NOT NULL AND c.weight IS NOT NULL)
         ORDER BY 1
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._rules_in_force(text) IS
    'The rules of poisoning that hold for an organisation, those that are switched off aside.';

CREATE FUNCTION mnemo._counted(
    p_record mnemo.memory
)
RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- The newest by the index, whatever the planner thinks of the table.
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_profile record;
BEGIN
    SELECT count(*) AS records, avg(n.importance) AS importance,
           stddev_pop(n.importance) AS importance_spread,
           avg(ln(n.length + 1)) AS length, stddev_pop(ln(n.length + 1)) AS length_spread,
           min(n.created_at) AS oldest
      INTO v_profile
      FROM (
        SELECT m.importance, octet_length(m.content)::double precision AS length, m.created_at
          FROM mnemo.memory AS m
         WHERE m.org_id = p_record.origin_org_id AND m.origin_org_id = p_record.origin_org_id
           AND m.agent_id = p_record.agent_id AND m.deleted_at IS NULL
           AND NOT m.tags @> ARRAY['__experience_plan__']
         ORDER BY m.created_at DESC, m.id DESC
         LIMIT 32
      ) AS n;
    IF v_profile.records < 20 THEN
        RETURN '{}';
    END IF;
    RETURN array_remove(ARRAY[
        CASE WHEN p_record.importance
                  > v_profile.importance + 3 * greatest(v_profile.importance_spread, 0.1)
             THEN 'importance_outlier' END,
        CASE WHEN ln(octet_length(p_record.content) + 1)
                  > v_profile.length + 3 * greatest(v_profile.length_spread, 0.5)
             THEN 'length_outlier' END,
        CASE WHEN v_profile.records = 32
              AND v_profile.oldest > clock_timestamp() - interval '10 seconds'
             THEN 'burst' END
    ], NULL);
END
$fn$;
COMMENT ON FUNCTION mnemo._counted(mnemo.memory) IS
    'The counting rules that a record hits, compared with the 32 newest memories of its agent: '
    'importance or length more than three standard deviations (at least 0.1, of the logarithm 0.5) '
    'above the mean, 32 of them within ten seconds. Nothing for an agent with fewer than 20.';

CREATE FUNCTION mnemo._hits(
    p_record mnemo.memory,
    p_source text,
    p_text text,
    p_candidates text[]
)
RETURNS mnemo._rule[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_rule mnemo._rule;
    v_hits mnemo._rule[] := '{}';
    v_counting mnemo._rule[] := '{}';
    v_score numeric := 0;
    v_possible numeric := 0;
    v_counted text[];
BEGIN
    FOREACH v_rule IN ARRAY mnemo._rules_in_force(p_record.origin_org_id) LOOP
        IF p_source = ANY (v_rule.applies_to) IS FALSE THEN
            CONTINUE;
        ELSIF v_rule.pattern IS NULL THEN
            CONTINUE WHEN v_rule.name = 'importance_outlier' AND p_record.importance < 0.8
                OR v_rule.name = 'length_outlier' AND octet_length(p_record.content) < 200;
            v_counting := array_append(v_counting, v_rule);
            v_possible := v_possible + v_rule.weight::numeric;
        ELSIF (NOT v_rule.builtin OR v_rule.name = ANY (p_candidates))
            AND p_text COLLATE "C" ~ v_rule.pattern
        THEN
            v_hits := array_append(v_hits, v_rule);
            v_score := v_score + v_rule.weight::numeric;
        END IF;
    END LOOP;
    -- The agent's records are looked at where they can make a difference only.
    IF v_score < 0.5 AND v_score + v_possible >= 0.5 THEN
        v_counted := mnemo._counted(p_record);
        v_hits := v_hits || ARRAY(
            SELECT r FROM unnest(v_counting) AS r WHERE r.name = ANY (v_counted));
    END IF;
    RETURN v_hits;
END
$fn$;
COMMENT ON FUNCTION mnemo._hits(mnemo.memory, text, text, text[]) IS
    'The rules of poisoning that a record hits. Those that count are asked where they can decide, of '
    'importance from 0.8 and of length from 200 bytes on.';

CREATE FUNCTION mnemo._screen(
    p_record mnemo.memory
)
RETURNS mnemo.memory
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_source text := CASE WHEN p_record.tags @> ARRAY['__experience_plan__'] THEN 'plan'
        ELSE p_record.source_type END;
    v_text text := mnemo._screened_text(p_record);
    v_candidates text[] := mnemo._candidates(v_text, v_source);
    v_reason text;
BEGIN
    -- Most records say nothing that a built-in rule could ask for. The rules that count reach the
    -- limit together alone, which takes a long text of great importance.
    IF v_candidates = '{}'
        AND (p_record.importance < 0.8 OR octet_length(p_record.content) < 200)
        AND NOT EXISTS (
            SELECT FROM mnemo.poisoning_rule AS r WHERE r.org_id IN (p_record.origin_org_id, '*')
        )
    THEN
        RETURN p_record;
    END IF;
    SELECT string_agg(h.name || ' ' || h.weight::numeric, ', ' ORDER BY h.weight DESC, h.name)
      INTO v_reason
      FROM unnest(mnemo._hits(p_record, v_source, v_text, v_candidates)) AS h
    HAVING sum(h.weight::numeric) >= 0.5;
    IF v_reason IS NOT NULL THEN
        p_record.quarantined := true;
        p_record.quarantine_reason := v_reason;
    END IF;
    RETURN p_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._screen(mnemo.memory) IS
    'A record that is about to be written, quarantined where the weights of the rules that it hits '
    'sum up to 0.5 or more; quarantine_reason then names the rules and their weights.';
