CREATE TYPE mnemo._recall_input AS (
    query text,
    signature text[],
    digest bigint,
    audiences bigint[],
    context text,
    guard text,
    threshold double precision,
    minimum double precision,
    row_limit bigint,
    org_id text,
    agent_id text,
    asked_at timestamptz,
    reason text,
    stale text,
    embedding text,
    model text,
    semantic_threshold double precision,
    retire double precision,
    semantic_margin double precision
);
COMMENT ON TYPE mnemo._recall_input IS
    'A call of recall_plan or its kin, checked and filled in: audiences are the three that the agent '
    'belongs to in its organisation, global, then those of agents that delegated to it; minimum is '
    'the least threshold allowed; reason is disabled or blank_query where there is nothing to match, '
    'else NULL; stale is refuse or include; embedding NULL: by words alone; retire: '
    'plans whose endurance is below it are retired.';

CREATE TYPE mnemo._best_answer AS (
    id uuid,
    query text,
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    owner_agent_id text,
    scope text,
    created_at timestamptz,
    warned boolean,
    stale boolean
);
COMMENT ON TYPE mnemo._best_answer IS
    'What a recall shows of a plan, whether anybody among its audiences remembered what not to do, '
    'and, where that matters, whether it is stale.';

CREATE FUNCTION mnemo._probe(
    p_call mnemo._recall_input,
    p_threshold double precision,
    p_guard bigint,
    OUT keys bigint[],
    OUT sketch bit varying,
    OUT long_sketch bit varying
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_hashes bigint[] := mnemo._ordered_hashes(p_call.signature);
BEGIN
    keys := ARRAY(
        SELECT k.key # a.audience # p_guard
          FROM unnest(p_call.audiences) AS a(audience)
          CROSS JOIN unnest(mnemo._probe_keys(v_hashes, p_threshold)) AS k(key)
    );
    sketch := mnemo._sketch(v_hashes, mnemo._sketch_bits(1));
    -- Plans that long cannot be similar to short queries.
    IF cardinality(v_hashes) > 32 * (p_threshold - 1e-9) THEN
        long_sketch := mnemo._sketch(v_hashes, mnemo._sketch_bits(33));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._probe(mnemo._recall_input, double precision, bigint) IS
    'What a query looks for: the keys of all its audiences with the guard mixed in (0: the plain '
    'keys), and the sketch of its tokens in both widths.';
