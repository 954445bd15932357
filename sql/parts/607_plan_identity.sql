-- Which plans are the same plan. Locks are taken in one order: idempotency keys, rows of
-- plan_identity, records. So whoever holds a record never waits for a row of plan_identity: to leave
-- one it skips what is locked, for its holder is about to look at the records anyway.

CREATE TYPE mnemo._plan_claim AS (
    record mnemo.memory,
    "row" mnemo.plan_signature,
    place bigint,
    digest uuid
);
COMMENT ON TYPE mnemo._plan_claim IS
    'A plan about to be written: its record, its row of plan_signature, its place in the call, and '
    'what makes it the same plan (NULL where the organisation stores the same plan again).';

CREATE FUNCTION mnemo._identity_of(
    p_record mnemo.memory,
    p_row mnemo.plan_signature
)
RETURNS uuid
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Names hold no line feed, and arrays as text and JSON say where they end.
    RETURN encode(substring(sha256(mnemo._utf8(
        p_record.origin_org_id || E'\n' || p_record.agent_id || E'\n' || p_row.guard_meaning::text
        || E'\n' || p_row.guard_values::text || E'\n' || p_row.guard_names::text
        || p_row.signature::text
        || CASE WHEN p_row.context IS NULL THEN '' ELSE
            CASE WHEN mnemo._is_failure(p_record)
                THEN (mnemo._payload(p_record) -> 'steps')::text ELSE '' END
            || E'\n' || p_row.context END
    )) FROM 1 FOR 16), 'hex')::uuid;
END
$fn$;
COMMENT ON FUNCTION mnemo._identity_of(mnemo.memory, mnemo.plan_signature) IS
    'What makes a plan the same plan, scope aside: the first 128 bits of SHA-256 over owner, guard, '
    'signature and context, of a failure over its steps too. The row is the plan''s own.';

CREATE FUNCTION mnemo._failures_for(
    p_audiences bigint[]
)
RETURNS SETOF mnemo.plan_signature
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT f.*
      FROM mnemo.plan_signature AS f
     WHERE f.audience # mnemo._failure_mask() = ANY (p_audiences) AND length(f.context) > 256;
END;
COMMENT ON FUNCTION mnemo._failures_for(bigint[]) IS
    'The failures that any of the audiences of a context may have to be warned of: one look at an '
    'index that holds failures alone.';

CREATE FUNCTION mnemo._join_identities(
    p_records mnemo.memory[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    INSERT INTO mnemo.plan_identity AS i (org_id, digest, plan_ids)
    SELECT d.org_id, d.digest, array_agg(d.id ORDER BY d.id)
      FROM (
        SELECT (p.record).org_id AS org_id, (p.record).id AS id,
               mnemo._identity_of(p.record, p.row) AS digest
          FROM mnemo._plan_drafts(p_records) AS p
        OFFSET 0
      ) AS d
     WHERE NOT EXISTS (
            SELECT FROM mnemo.plan_identity AS h
             WHERE h.org_id = d.org_id AND h.digest = d.digest AND d.id = ANY (h.plan_ids))
     GROUP BY d.org_id, d.digest
     ORDER BY d.org_id, d.digest
    ON CONFLICT ON CONSTRAINT plan_identity_pkey DO UPDATE
       SET plan_ids = ARRAY(
            SELECT DISTINCT u.id FROM unnest(i.plan_ids || excluded.plan_ids) AS u(id)
             ORDER BY u.id);
END
$fn$;
COMMENT ON FUNCTION mnemo._join_identities(mnemo.memory[]) IS
    'Notes live plans under what makes them the same plan, so that remembering it again finds them. '
    'Waits for whoever is just remembering it, so the caller holds no records that others know.';

CREATE FUNCTION mnemo._leave_identities(
    p_org_id text,
    p_plan_ids uuid[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    WITH gone AS MATERIALIZED (
        SELECT mnemo._identity_of(m, s) AS digest, array_agg(s.plan_id) AS ids
          FROM unnest(p_plan_ids) AS u(id)
          JOIN mnemo.plan_signature AS s
            ON s.org_id = p_org_id AND s.plan_id = u.id AND s.grantee_agent_id IS NULL
          JOIN mnemo.memory AS m ON m.org_id = s.org_id AND m.id = s.plan_id
         GROUP BY 1
    ), held AS MATERIALIZED (
        SELECT i.digest,
               ARRAY(SELECT k.id FROM unnest(i.plan_ids) AS k(id) WHERE k.id <> ALL (g.ids)) AS rest
          FROM gone AS g
         CROSS JOIN LATERAL (
            SELECT p.digest, p.plan_ids
              FROM mnemo.plan_identity AS p
             WHERE p.org_id = p_org_id AND p.digest = g.digest
               FOR UPDATE SKIP LOCKED
         ) AS i
    ), changed AS (
        UPDATE mnemo.plan_identity AS i
           SET plan_ids = h.rest
          FROM held AS h
         WHERE i.org_id = p_org_id AND i.digest = h.digest AND h.rest <> '{}'
    )
    DELETE FROM mnemo.plan_identity AS i
     USING held AS h
     WHERE i.org_id = p_org_id AND i.digest = h.digest AND h.rest = '{}';
END
$fn$;
COMMENT ON FUNCTION mnemo._leave_identities(text, uuid[]) IS
    'Takes plans that end, whose records the caller has locked and whose rows in plan_signature are '
    'still there, out of plan_identity. What another session has locked is left to it: it is just '
    'remembering that plan, and takes those out that have ended.';

CREATE FUNCTION mnemo._sweep_identities(
    p_limit bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET jit = off
AS $fn$
DECLARE
    v_stretch record := mnemo._stretch('mnemo.plan_identity', p_limit);
    v_rows text[];
    v_removed bigint;
BEGIN
    v_rows := ARRAY(
        SELECT i.ctid::text
          FROM mnemo.plan_identity AS i
         WHERE i.ctid >= v_stretch.first AND i.ctid < v_stretch.past
           AND NOT EXISTS (
                SELECT FROM mnemo.memory AS m
                 WHERE m.org_id = i.org_id AND m.id = ANY (i.plan_ids)
                   AND mnemo._is_live(m, '-infinity'))
         LIMIT p_limit
           FOR UPDATE SKIP LOCKED
    );
    DELETE FROM mnemo.plan_identity AS i
     WHERE i.ctid = ANY (v_rows::tid[])
       AND NOT EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = i.org_id AND m.id = ANY (i.plan_ids)
               AND mnemo._is_live(m, '-infinity'));
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_identities(bigint) IS
    'Looks at about p_limit rows of plan_identity from a random place on and removes those whose '
    'plans have all ended; returns how many. Forgetting removes them with the plans, but for one '
    'that somebody was just remembering and then did not.';
