CREATE FUNCTION mnemo._may_reach(
    p_sketch bit varying,
    p_size integer,
    p_query_sketch bit varying,
    p_query_long_sketch bit varying,
    p_query_size integer,
    p_share double precision
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- The widths of the two sketches follow from the plan's size, see _sketch_bits.
RETURN CASE WHEN p_size <= 32 THEN
    bit_count(p_sketch & ~p_query_sketch) <= p_size - p_share * (p_size + p_query_size)
    AND bit_count(p_query_sketch & ~p_sketch)
        <= p_query_size - p_share * (p_size + p_query_size)
ELSE
    bit_count(p_sketch & ~p_query_long_sketch) <= p_size - p_share * (p_size + p_query_size)
    AND bit_count(p_query_long_sketch & ~p_sketch)
        <= p_query_size - p_share * (p_size + p_query_size)
END;
COMMENT ON FUNCTION mnemo._may_reach(
    bit varying, integer, bit varying, bit varying, integer, double precision
) IS
    'Whether the sketches allow the overlap of p_share of both sizes; true for every pair that '
    'reaches it.';

CREATE FUNCTION mnemo._agrees(
    p_plan mnemo.plan_signature,
    p_guard text,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_signature text[]
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_guard
    WHEN 'strict' THEN
        (p_plan).guard_meaning = p_meaning AND (p_plan).guard_values = p_values
        AND (p_plan).guard_names <@ p_signature AND p_names <@ (p_plan).signature
    WHEN 'meaning' THEN (p_plan).guard_meaning = p_meaning
    ELSE true
END;
COMMENT ON FUNCTION mnemo._agrees(mnemo.plan_signature, text, bigint, bigint, text[], text[]) IS
    'Whether a plan agrees with a query on the guard: strict compares meaning and values, and each '
    'name of either must be among the tokens of the other; meaning compares the first; off nothing.';

CREATE FUNCTION mnemo._shared_tokens_long(
    p_signature text[],
    p_other text[]
)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN (
        SELECT count(*)
          FROM unnest(p_signature) AS a(token)
          JOIN unnest(p_other) AS b(token) ON b.token COLLATE "C" = a.token COLLATE "C"
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._shared_tokens_long(text[], text[]) IS
    'As _shared_tokens, for any length.';

CREATE FUNCTION mnemo._shared_tokens(
    p_signature text[],
    p_other text[]
)
RETURNS integer
LANGUAGE sql STABLE PARALLEL SAFE
-- A text search vector takes words of less than 2,048 bytes. Nothing else in PostgreSQL subtracts
-- one list of words from another without a row a word.
RETURN CASE WHEN octet_length(array_to_string(p_signature, ' ')) < 2000
    THEN cardinality(p_signature) - length(ts_delete(array_to_tsvector(p_signature), p_other))
    ELSE mnemo._shared_tokens_long(p_signature, p_other) END;
COMMENT ON FUNCTION mnemo._shared_tokens(text[], text[]) IS
    'How many tokens two signatures have in common.';

CREATE FUNCTION mnemo._counts(
    p_org_id text,
    p_id uuid,
    p_now timestamptz,
    p_delegated boolean,
    p_audience bigint,
    p_agent_id text,
    p_context text
)
RETURNS TABLE (id uuid)
LANGUAGE sql STABLE PARALLEL SAFE
-- The fence keeps this a look-up by key, whatever the planner thinks of an organisation's size.
BEGIN ATOMIC
    SELECT m.id
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = p_id AND mnemo._is_live(m, p_now)
       AND (NOT p_delegated OR EXISTS (
            SELECT FROM mnemo._delegated(
                m, p_audience, p_org_id, p_agent_id, p_context, p_now)))
    OFFSET 0;
END;
COMMENT ON FUNCTION mnemo._counts(text, uuid, timestamptz, boolean, bigint, text, text) IS
    'One row if the plan exists, is live and, where its audience is that of an agent that delegated '
    '(p_delegated), is one that the agent sees by it; else none.';

CREATE FUNCTION mnemo._identical_guarded(
    p_org_id text,
    p_audience bigint,
    p_signature text[],
    p_guarded_digest bigint,
    p_context text,
    p_now timestamptz,
    p_limit bigint,
    p_delegated boolean,
    p_agent_id text,
    p_fresh boolean,
    p_retire double precision,
    p_seen_by text
)
RETURNS SETOF mnemo.plan_signature
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.*
      FROM (
        SELECT k.*
          FROM mnemo.plan_signature AS k
         WHERE k.audience # k.digest # k.guard_meaning # k.guard_values
               = p_audience # p_guarded_digest
         ORDER BY k.standing DESC, k.outcome_score DESC, k.created_at DESC, k.plan_id DESC
        OFFSET 0
      ) AS s
      CROSS JOIN LATERAL mnemo._counts(
            p_org_id, s.plan_id, p_now, p_delegated, p_audience, p_agent_id, p_context) AS c
     WHERE s.org_id = p_org_id AND s.audience = p_audience
       AND s.signature = p_signature AND s.context IS NOT DISTINCT FROM p_context
       AND (s.expires_at IS NULL OR s.expires_at > p_now) AND s.endurance >= p_retire
       AND (p_seen_by IS NULL OR NOT EXISTS (
            SELECT FROM mnemo.plan_fare AS f
             WHERE f.org_id = p_org_id AND f.plan_id = s.plan_id
               AND f.reporter_org_id = p_seen_by AND f.digest IS NOT NULL))
       -- By the id of _counts: only what counts is worth the look.
       AND (NOT p_fresh OR NOT mnemo._is_stale(p_org_id, c.id, p_now))
     ORDER BY s.standing DESC, s.outcome_score DESC, s.created_at DESC, s.plan_id DESC
     LIMIT p_limit;
END;
COMMENT ON FUNCTION mnemo._identical_guarded(
    text, bigint, text[], bigint, text, timestamptz, bigint, boolean, text, boolean,
    double precision, text
) IS
    'The best live plans of an audience with this signature and the guard that is in the digest: an '
    'index look-up however many there are; retired ones aside. p_delegated: only those that the '
    'agent sees by a delegation; p_fresh: no stale ones; p_seen_by: an organisation whose own '
    'reports are to count, without the plans that it reported on, which _identical_reported has; '
    'NULL for none.';

CREATE FUNCTION mnemo._identical(
    p_org_id text,
    p_audience bigint,
    p_signature text[],
    p_digest bigint,
    p_meaning bigint,
    p_context text,
    p_now timestamptz,
    p_limit bigint,
    p_delegated boolean,
    p_agent_id text,
    p_fresh boolean,
    p_retire double precision,
    p_seen_by text
)
RETURNS SETOF mnemo.plan_signature
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.*
      FROM (
        SELECT k.*
          FROM mnemo.plan_signature AS k
         WHERE k.audience # k.digest = p_audience # p_digest
         ORDER BY k.standing DESC, k.outcome_score DESC, k.created_at DESC, k.plan_id DESC
        OFFSET 0
      ) AS s
      CROSS JOIN LATERAL mnemo._counts(
            p_org_id, s.plan_id, p_now, p_delegated, p_audience, p_agent_id, p_context) AS c
     WHERE s.org_id = p_org_id AND s.audience = p_audience
       AND (p_meaning IS NULL OR s.guard_meaning = p_meaning)
       AND s.signature = p_signature AND s.context IS NOT DISTINCT FROM p_context
       AND (s.expires_at IS NULL OR s.expires_at > p_now) AND s.endurance >= p_retire
       AND (p_seen_by IS NULL OR NOT EXISTS (
            SELECT FROM mnemo.plan_fare AS f
             WHERE f.org_id = p_org_id AND f.plan_id = s.plan_id
               AND f.reporter_org_id = p_seen_by AND f.digest IS NOT NULL))
       -- By the id of _counts: only what counts is worth the look.
       AND (NOT p_fresh OR NOT mnemo._is_stale(p_org_id, c.id, p_now))
     ORDER BY s.standing DESC, s.outcome_score DESC, s.created_at DESC, s.plan_id DESC
     LIMIT p_limit;
END;
COMMENT ON FUNCTION mnemo._identical(
    text, bigint, text[], bigint, bigint, text, timestamptz, bigint, boolean, text, boolean,
    double precision, text
) IS
    'The best live plans of an audience with this signature, and with this meaning unless it is '
    'NULL; retired ones aside. p_delegated, p_fresh, p_seen_by: as for _identical_guarded.';

CREATE FUNCTION mnemo._similar(
    p_keys bigint[],
    p_org_id text,
    p_audiences bigint[],
    p_context text,
    p_now timestamptz,
    p_sketch bit varying,
    p_long_sketch bit varying,
    p_size integer,
    p_threshold double precision
)
RETURNS SETOF mnemo.plan_signature
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.*
      FROM (
        -- Alone behind a fence: the keys hold audience and organisation, and a plan that starts
        -- from either of those reads far more.
        SELECT k.* FROM mnemo.plan_signature AS k WHERE k.keys && p_keys OFFSET 0
      ) AS s
     WHERE (s.org_id = p_org_id OR s.org_id = '*') AND s.audience = ANY (p_audiences)
       AND s.context IS NOT DISTINCT FROM p_context
       AND (s.expires_at IS NULL OR s.expires_at > p_now)
       -- The share of both sizes that the overlap must reach, a little lower: see _probe_keys.
       AND mnemo._may_reach(s.sketch, s.size, p_sketch, p_long_sketch, p_size,
            (p_threshold - 1e-9) / (1 + p_threshold - 1e-9));
END;
COMMENT ON FUNCTION mnemo._similar(
    bigint[], text, bigint[], text, timestamptz, bit varying, bit varying, integer,
    double precision
) IS
    'The plans of these audiences, of the organisation and global ones, that have one of the keys '
    'and whose sketch allows the threshold: all plans that reach it, and some that do not.';
