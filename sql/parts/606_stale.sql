-- Staleness: a plan is stale when a chunk that it cites changed since its chunks were read.
--
-- Nothing is written to the plans when a chunk changes. Recall looks at the chunks of the plans that
-- would win, by their ids in chunk_state, and at the memories among them, whose versions stand in
-- the payload since the plan was remembered.

CREATE FUNCTION mnemo._chunk_key(
    p_id text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- An entry of an index has room for 2,700 bytes.
RETURN CASE WHEN octet_length(p_id) <= 1000 THEN p_id
    ELSE 'sha256:' || encode(sha256(mnemo._utf8(p_id)), 'hex') END;
COMMENT ON FUNCTION mnemo._chunk_key(text) IS
    'A chunk id as chunk_state holds it: itself, over 1,000 bytes its SHA-256 in hexadecimal.';

CREATE FUNCTION mnemo._long_chunk_keys(
    p_ids text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(SELECT mnemo._chunk_key(i.id) FROM unnest(p_ids) AS i(id)) || ''::text;
END
$fn$;
COMMENT ON FUNCTION mnemo._long_chunk_keys(text[]) IS 'As _chunk_keys, for ids of any length.';

CREATE FUNCTION mnemo._chunk_keys(
    p_ids text[]
)
RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(array_to_string(p_ids, '')) <= 1000 THEN p_ids || ''::text
    ELSE mnemo._long_chunk_keys(p_ids) END;
COMMENT ON FUNCTION mnemo._chunk_keys(text[]) IS
    'The ids in chunk_state by which these chunks can have changed: their own, and that of the '
    'whole source.';

CREATE FUNCTION mnemo._memory_state(
    p_org_id text,
    p_id uuid,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN coalesce((
        SELECT m.version
          FROM mnemo.memory AS m
         WHERE m.org_id IN (p_org_id, '*') AND m.id = p_id AND m.status = 'active'
           AND mnemo._is_live(m, p_now)
    ), 0);
END
$fn$;
COMMENT ON FUNCTION mnemo._memory_state(text, uuid, timestamptz) IS
    'The version of a memory of the organisation, or global; 0 while it is not live or not active, '
    'and once it is gone.';

CREATE FUNCTION mnemo._memory_states(
    p_org_id text,
    p_ids text[],
    p_versions bigint[],
    p_now timestamptz
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT CASE WHEN i.version IS NOT NULL
               THEN mnemo._memory_state(p_org_id, i.id::uuid, p_now) END
          FROM unnest(p_ids, p_versions) WITH ORDINALITY AS i(id, version, place)
         ORDER BY i.place
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._memory_states(text, text[], bigint[], timestamptz) IS
    'The present states of the memories among these chunk ids, NULL for the others; p_versions: '
    'their states at another time.';

CREATE FUNCTION mnemo._cited_memories(
    p_record mnemo.memory,
    p_ids text[],
    p_read_at timestamptz
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN (
        SELECT CASE WHEN count(m.version) > 0 THEN array_agg(m.version ORDER BY i.place) END
          FROM unnest(p_ids) WITH ORDINALITY AS i(id, place)
          LEFT JOIN LATERAL (
            SELECT CASE WHEN k.updated_at >= p_read_at THEN -1
                   ELSE mnemo._memory_state(p_record.origin_org_id, k.id, now()) END AS version
              FROM mnemo.memory AS k
             WHERE k.org_id IN (p_record.origin_org_id, '*')
               AND k.id = CASE WHEN length(i.id) = 36 AND i.id COLLATE "C"
                    ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' THEN i.id::uuid END
               -- What the owner of the plan cannot see is nothing to it: no recall may tell of it.
               AND (k.scope IN ('public', 'global')
                    OR k.origin_org_id = p_record.origin_org_id AND k.agent_id = p_record.agent_id
                    OR k.scope = 'shared' AND (
                        EXISTS (
                            SELECT FROM mnemo.acl AS a
                             WHERE a.org_id = k.org_id AND a.memory_id = k.id
                               AND a.agent_id = p_record.agent_id
                               AND (a.expires_at IS NULL OR a.expires_at > now()))
                        OR EXISTS (
                            SELECT FROM mnemo._ways(
                                k, p_record.origin_org_id, p_record.agent_id, now()))))
             LIMIT 1
          ) AS m ON true
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._cited_memories(mnemo.memory, text[], timestamptz) IS
    'For each chunk id of a plan that is about to be written: the state of the memory with that id '
    'where there is one that the owner of the plan may see, deleted or not, -1 if it changed since '
    'p_read_at; NULL for other chunks. NULL as a whole where none is a memory.';

CREATE FUNCTION mnemo._cited_versions(
    p_record mnemo.memory,
    p_ids text[],
    p_read_at timestamptz
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_versions bigint[];
BEGIN
    -- Only what has the length of a UUID can be one.
    IF 36 = ANY (ARRAY(SELECT length(i.id) FROM unnest(p_ids) AS i(id))) THEN
        v_versions := mnemo._cited_memories(p_record, p_ids, p_read_at);
    END IF;
    RETURN CASE WHEN v_versions IS NULL THEN '{}'
        ELSE jsonb_build_object('memory_versions', v_versions) END;
END
$fn$;
COMMENT ON FUNCTION mnemo._cited_versions(mnemo.memory, text[], timestamptz) IS
    'What the payload of a plan says of the memories among its chunks: memory_versions as '
    '_cited_memories gives them, nothing where there are none. p_read_at: when they were read.';

CREATE FUNCTION mnemo._source_problem(
    p_parameter text,
    p_source text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_source <> '' AND mnemo._is_blank(p_source) THEN
        RETURN mnemo._argument(p_parameter, p_parameter || ' must not be blank',
            'leave it out for the source that has no name');
    END IF;
    RETURN mnemo._length_problem(p_parameter, p_source, 256);
END
$fn$;
COMMENT ON FUNCTION mnemo._source_problem(text, text) IS
    'The problem of the name of a source: blank but not empty, over 256 characters; NULL for none.';
