CREATE FUNCTION mnemo.normalize_retrieval_plan(
    p_plan jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._retrieval_plan(p_plan);
END
$fn$;
COMMENT ON FUNCTION mnemo.normalize_retrieval_plan(jsonb) IS
    'A retrieval plan checked and in normal form, as mnemo.retrieve takes every plan: all 17 '
    'fields are there, and a second pass changes nothing. Required: turn_id and generation, '
    'integers from 0 to 2^63-1. A missing or null field has its default: plan_id pln_ and 12 '
    'hexadecimal digits of SHA-256 over turn_id:generation:source_transcript_hash; confidence 1; '
    'intent none; requires_memory whether the intent is not none; lists empty; '
    'source_transcript_hash the hash of the empty text. Blanks and duplicates (ignoring case) are '
    'dropped, then at most 5 entities, 8 topics, 5 predicates (canonical), 3 lexical_queries of '
    '16 words, 5 scopes are kept; a blank hint is null; confidence is clamped to [0, 1]; times '
    'are given in UTC. Without an entity or a query left the plan needs no memory and its intent '
    'is none. Unknown fields are dropped and named in warnings, predicates without an ASCII letter '
    'or digit too; 16 warnings are kept. NULL is refused. Errors: 22023 a wrong type, an unknown '
    'label, a time that is not ISO 8601 with its offset from UTC, a window that ends before it '
    'begins, with the JSON path in DETAIL; 54000 '
    'over 1,048,576 bytes, over 10,000 elements of a list, over 100,000 characters of a topic, '
    'query or warning, over 256 of any other text.';

CREATE FUNCTION mnemo.skip_retrieval_plan(
    p_transcript text,
    p_turn_id bigint,
    p_generation bigint
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_names text[] := ARRAY['p_transcript', 'p_turn_id', 'p_generation'];
    v_values text[] := ARRAY[p_transcript, p_turn_id::text, p_generation::text];
BEGIN
    FOR v_place IN 1 .. 3 LOOP
        IF v_values[v_place] IS NULL OR v_place > 1 AND v_values[v_place]::bigint < 0 THEN
            PERFORM mnemo._raise_argument(v_names[v_place],
                format('%s must be %s; got %s', v_names[v_place],
                    CASE v_place WHEN 1 THEN 'a text'
                        ELSE 'an integer from 0 to 9223372036854775807' END,
                    coalesce(v_values[v_place], 'NULL')),
                CASE v_place WHEN 1 THEN 'the empty text is one'
                    ELSE 'number the turns of a conversation and the plans of a turn from 0' END);
        END IF;
    END LOOP;
    IF octet_length(p_transcript) > 1048576 THEN
        PERFORM mnemo._raise_limit('p_transcript',
            format('p_transcript has %s bytes, at most 1048576 are allowed',
                octet_length(p_transcript)),
            'pass the last turns');
    END IF;
    RETURN mnemo._retrieval_plan(jsonb_build_object(
        'turn_id', p_turn_id,
        'generation', p_generation,
        'source_transcript_hash', mnemo._stable_hash(p_transcript)
    ));
END
$fn$;
COMMENT ON FUNCTION mnemo.skip_retrieval_plan(text, bigint, bigint) IS
    'The retrieval plan of a turn that needs no memory: requires_memory false, confidence 1, '
    'intent none, every list empty, source_transcript_hash the stable hash of the transcript. '
    'NULL is refused. Errors: 22023 a negative number or NULL; 54000 a transcript over 1,048,576 '
    'bytes.';

CREATE FUNCTION mnemo._kind_group(
    p_kind text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_kind
    WHEN 'identity' THEN 'profile'
    WHEN 'preference' THEN 'preferences'
    WHEN 'location_preference' THEN 'preferences'
    WHEN 'relationship' THEN 'relationships'
    WHEN 'relationship_preference' THEN 'relationships'
    WHEN 'routine' THEN 'routines'
    WHEN 'commitment' THEN 'commitments'
    WHEN 'project' THEN 'projects'
    WHEN 'episodic' THEN 'episodes'
    WHEN 'communication_style' THEN 'communication'
    WHEN 'staged_pattern' THEN 'staged'
END;
COMMENT ON FUNCTION mnemo._kind_group(text) IS
    'What stands for a kind in the cache key of a retrieval plan; NULL for anything else.';

CREATE FUNCTION mnemo.retrieval_plan_cache_key(
    p_plan jsonb
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plan jsonb := mnemo._retrieval_plan(p_plan);
BEGIN
    RETURN mnemo._stable_hash(coalesce((
        SELECT string_agg(k.part, '|' ORDER BY k.part COLLATE "C")
          FROM (
            SELECT q.value AS part
              FROM jsonb_array_elements_text(v_plan -> 'lexical_queries') AS q(value)
            UNION ALL
            SELECT f.value
              FROM jsonb_array_elements(v_plan -> 'entities') AS e(value)
              CROSS JOIN LATERAL (VALUES (e.value ->> 'surface'), (e.value ->> 'canonical'))
                AS f(value)
             WHERE f.value IS NOT NULL
            UNION ALL
            SELECT mnemo._kind_group(s.value)
              FROM jsonb_array_elements_text(v_plan -> 'scopes') AS s(value)
          ) AS k
    ), ''));
END
$fn$;
COMMENT ON FUNCTION mnemo.retrieval_plan_cache_key(jsonb) IS
    'A short key of what a retrieval plan asks for: the stable hash of its lexical queries, the '
    'surfaces and canonical forms of its entities, and a word for each of its scopes, sorted by '
    'their bytes and joined by |. The plan is normalised first; the order of its parts does not '
    'matter. Not for caching results: kind_filter, hints, times and who asks are not in it, see '
    'mnemo.retrieval_plan_result_key. NULL is refused. Errors: those of '
    'mnemo.normalize_retrieval_plan.';

CREATE FUNCTION mnemo.retrieval_plan_result_key(
    p_plan jsonb,
    p_limit bigint,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_temporal text DEFAULT 'prefer',
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_plan jsonb;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._embedding_problem(p_embedding, p_model),
        mnemo._limit_problem(p_limit),
        mnemo._label_problem('p_temporal', 'retrieval_temporal', p_temporal)
    ]));
    v_plan := mnemo._retrieval_plan(p_plan);
    -- Not the stable hash: whoever can find two plans with one hash would read what the other gets.
    RETURN encode(sha256(mnemo._utf8(jsonb_build_array(
        v_plan - ARRAY['plan_id', 'turn_id', 'generation', 'confidence', 'source_transcript_hash',
            'warnings'],
        v_caller.org_id, v_caller.agent_id, p_limit, p_temporal, p_embedding, p_model
    )::text)), 'hex');
END
$fn$;
COMMENT ON FUNCTION mnemo.retrieval_plan_result_key(jsonb, bigint, text, text, text, text, text) IS
    'A key of everything in a call of mnemo.retrieve that its result depends on, for an '
    'application that caches results: 64 hexadecimal digits of SHA-256 over the normalised plan '
    'without plan_id, turn_id, generation, confidence, source_transcript_hash and warnings, '
    'organisation and agent as they are resolved for the call, and the other arguments. Equal '
    'keys give equal results as long as neither the memory nor what the agent may see has changed '
    'and no time in it has come: the cache has to end early enough. p_limit 1 to 1,000; '
    'p_temporal prefer or filter; p_embedding and p_model as in mnemo.recall. NULL agent and '
    'organisation as everywhere. Errors: 42501 access; those of mnemo.normalize_retrieval_plan; '
    '22023 and 55000 the other arguments.';
