-- Whether a plan is stale, see 606_stale.sql.

CREATE FUNCTION mnemo._cited_by(
    p_org_id text,
    p_plan_id uuid,
    p_origin_org_id text,
    p_source text,
    p_chunk_ids text[],
    p_read_at bigint,
    p_created_at timestamptz,
    p_versions bigint[]
)
RETURNS TABLE (
    org_id text,
    source text,
    chunk_ids text[],
    since timestamptz,
    then_versions bigint[]
)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT p_origin_org_id, coalesce(p_source, ''), p_chunk_ids,
           greatest(k.checked_at, coalesce(
               timestamptz '1970-01-01 00:00:00+00' + p_read_at * interval '1 microsecond',
               p_created_at)),
           CASE WHEN k.checked_at IS NULL THEN p_versions ELSE k.memory_versions END
      FROM (SELECT) AS one
      LEFT JOIN LATERAL (
        SELECT c.checked_at, c.memory_versions
          FROM mnemo.plan_check AS c
         WHERE c.org_id = p_org_id AND c.plan_id = p_plan_id
        OFFSET 0
      ) AS k ON true
     WHERE p_chunk_ids <> '{}';
END;
COMMENT ON FUNCTION mnemo._cited_by(
    text, uuid, text, text, text[], bigint, timestamptz, bigint[]
) IS
    'As _cited, of a plan whose record and payload have been read.';

CREATE FUNCTION mnemo._cited(
    p_org_id text,
    p_plan_id uuid
)
RETURNS TABLE (
    org_id text,
    source text,
    chunk_ids text[],
    since timestamptz,
    then_versions bigint[]
)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT c.org_id, c.source, c.chunk_ids, c.since, c.then_versions
      FROM (
        SELECT r.*
          FROM mnemo.memory AS r
         WHERE r.org_id = p_org_id AND r.id = p_plan_id
        OFFSET 0
      ) AS m
      CROSS JOIN LATERAL jsonb_to_record(m.metadata -> 'experience_plan') AS p(
        chunk_ids text[], chunk_source text, read_at bigint, memory_versions bigint[])
      CROSS JOIN LATERAL mnemo._cited_by(
            p_org_id, p_plan_id, m.origin_org_id, p.chunk_source, p.chunk_ids, p.read_at,
            m.created_at, p.memory_versions) AS c;
END;
COMMENT ON FUNCTION mnemo._cited(text, uuid) IS
    'What a plan cites: the organisation and the source of the chunks, their ids, since when a '
    'change of them counts (when they were read or the plan was written, or found to be right '
    'later), and the states of the memories among them at that time. No row for a plan without '
    'chunks.';

CREATE FUNCTION mnemo._chunks_changed(
    p_org_id text,
    p_source text,
    p_chunk_ids text[],
    p_since timestamptz,
    p_versions bigint[],
    p_now timestamptz
)
RETURNS TABLE (changed boolean)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT true AS changed
     WHERE EXISTS (
            SELECT
              FROM mnemo.chunk_state AS s
             WHERE s.org_id = p_org_id AND s.source = p_source
               AND s.chunk_id = ANY (mnemo._chunk_keys(p_chunk_ids)) AND s.changed_at >= p_since)
        OR p_versions IS NOT NULL
       AND mnemo._memory_states(p_org_id, p_chunk_ids, p_versions, p_now) <> p_versions;
END;
COMMENT ON FUNCTION mnemo._chunks_changed(
    text, text, text[], timestamptz, bigint[], timestamptz
) IS
    'One row if a chunk of what _cited shows changed since: one look at the index of chunk_state for '
    'all its ids, and one for each memory among them.';

CREATE FUNCTION mnemo._is_stale(
    p_org_id text,
    p_plan_id uuid,
    p_now timestamptz
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1000
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN EXISTS (
        SELECT
          FROM mnemo._cited(p_org_id, p_plan_id) AS p
          CROSS JOIN LATERAL mnemo._chunks_changed(
                p.org_id, p.source, p.chunk_ids, p.since, p.then_versions, p_now) AS c
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._is_stale(text, uuid, timestamptz) IS
    'Whether a chunk that the plan cites changed since its chunks were read, see _chunks_changed.';

CREATE FUNCTION mnemo._changed_chunks(
    p_org_id text,
    p_plan_id uuid,
    p_now timestamptz,
    p_limit bigint
)
RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT i.id
          FROM mnemo._cited(p_org_id, p_plan_id) AS p
          CROSS JOIN LATERAL unnest(p.chunk_ids, p.then_versions)
               WITH ORDINALITY AS i(id, version, place)
         WHERE EXISTS (
                SELECT
                  FROM mnemo.chunk_state AS s
                 WHERE s.org_id = p.org_id AND s.source = p.source
                   AND s.chunk_id IN (mnemo._chunk_key(i.id), '')
                   AND s.changed_at >= p.since)
            OR i.version <> mnemo._memory_state(p.org_id,
                CASE WHEN i.version IS NOT NULL THEN i.id::uuid END, p_now)
         ORDER BY i.place
         LIMIT p_limit
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._changed_chunks(text, uuid, timestamptz, bigint) IS
    'The first p_limit chunk ids of a plan by which it is stale, in the order of the plan.';
