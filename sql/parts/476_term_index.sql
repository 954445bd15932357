CREATE FUNCTION mnemo._change_terms(
    p_org_id text,
    p_records bigint,
    p_length bigint,
    p_terms bigint[],
    p_counts bigint[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    INSERT INTO mnemo.term_change (org_id, id, records, length, terms, counts)
    VALUES (p_org_id, mnemo._new_id(), p_records, p_length, coalesce(p_terms, '{}'),
        coalesce(p_counts, '{}'));
    -- So that readers never add up many: large changes at once, small ones by the dozen.
    IF abs(p_records) >= 64 OR (
        SELECT count(*) FROM (
            SELECT FROM mnemo.term_change AS c WHERE c.org_id = p_org_id LIMIT 64
        ) AS c
    ) >= 64 THEN
        PERFORM mnemo._compact_terms(p_org_id);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._change_terms(text, bigint, bigint, bigint[], bigint[]) IS
    'Writes a change of the statistics of an organisation: by how many records, words and records of '
    'each term it grew. Folds in what has piled up.';

CREATE FUNCTION mnemo._index_record(
    p_record mnemo.memory
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_terms bigint[];
    v_weights integer[];
    v_length integer;
    v_audience bigint := mnemo._plan_audience(p_record, NULL);
BEGIN
    SELECT t.terms, t.weights, t.length INTO v_terms, v_weights, v_length
      FROM mnemo._record_terms(p_record) AS t;
    INSERT INTO mnemo.term_vector (org_id, memory_id, terms, weights, length, rules_version)
    VALUES (p_record.org_id, p_record.id, v_terms, v_weights, v_length, mnemo._terms_version());
    INSERT INTO mnemo.term_posting (org_id, key, weight, shortness, memory_id)
    SELECT p_record.org_id, v_audience # u.term, u.weight, -v_length, p_record.id
      FROM unnest(v_terms, v_weights) AS u(term, weight);
    PERFORM mnemo._change_terms(p_record.org_id, 1, v_length, v_terms,
        array_fill(1::bigint, ARRAY[cardinality(v_terms)]));
END
$fn$;
COMMENT ON FUNCTION mnemo._index_record(mnemo.memory) IS
    'As _index_terms, for one record: cheaper than a set of one.';

CREATE FUNCTION mnemo._index_terms(
    p_records mnemo.memory[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_change record;
BEGIN
    IF cardinality(p_records) = 1 THEN
        IF NOT p_records[1].tags @> ARRAY['__experience_plan__'] THEN
            PERFORM mnemo._index_record(p_records[1]);
        END IF;
        RETURN;
    END IF;
    FOR v_change IN
        WITH made AS MATERIALIZED (
            SELECT r.org_id, r.id, t.terms, t.weights, t.length,
                   mnemo._plan_audience(r, NULL) AS audience
              FROM unnest(p_records) AS r
              CROSS JOIN LATERAL mnemo._record_terms(r) AS t
             WHERE NOT r.tags @> ARRAY['__experience_plan__']
        ), vector AS (
            INSERT INTO mnemo.term_vector (
                org_id, memory_id, terms, weights, length, rules_version
            )
            SELECT m.org_id, m.id, m.terms, m.weights, m.length, mnemo._terms_version()
              FROM made AS m
        ), posting AS (
            INSERT INTO mnemo.term_posting (org_id, key, weight, shortness, memory_id)
            SELECT m.org_id, m.audience # u.term, u.weight, -m.length, m.id
              FROM made AS m CROSS JOIN LATERAL unnest(m.terms, m.weights) AS u(term, weight)
        )
        SELECT t.org_id, t.records, t.length, c.terms, c.counts
          FROM (
            SELECT m.org_id, count(*) AS records, sum(m.length)::bigint AS length
              FROM made AS m
             GROUP BY m.org_id
             ORDER BY m.org_id
          ) AS t
          CROSS JOIN LATERAL (
            SELECT array_agg(n.term) AS terms, array_agg(n.count) AS counts
              FROM (
                SELECT u.term, count(*) AS count
                  FROM made AS m CROSS JOIN LATERAL unnest(m.terms) AS u(term)
                 WHERE m.org_id = t.org_id
                 GROUP BY u.term
              ) AS n
          ) AS c
    LOOP
        PERFORM mnemo._change_terms(v_change.org_id, v_change.records, v_change.length,
            v_change.terms, v_change.counts);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_terms(mnemo.memory[]) IS
    'Puts records that have just been written, and have no grants, into the term index and its '
    'statistics; leaves plans out.';

CREATE FUNCTION mnemo._unindex_terms(
    p_org_id text,
    p_ids uuid[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_change record;
BEGIN
    WITH gone AS MATERIALIZED (
        DELETE FROM mnemo.term_vector AS v
         WHERE v.org_id = p_org_id AND v.memory_id = ANY (p_ids)
        RETURNING v.terms, v.length
    ), posting AS (
        DELETE FROM mnemo.term_posting AS p
         WHERE p.org_id = p_org_id AND p.memory_id = ANY (p_ids)
    )
    SELECT t.records, t.length, c.terms, c.counts INTO v_change
      FROM (SELECT count(*) AS records, sum(g.length)::bigint AS length FROM gone AS g) AS t
      CROSS JOIN (
        SELECT array_agg(n.term) AS terms, array_agg(-n.count) AS counts
          FROM (
            SELECT u.term, count(*) AS count
              FROM gone AS g CROSS JOIN LATERAL unnest(g.terms) AS u(term)
             GROUP BY u.term
          ) AS n
      ) AS c;
    IF v_change.records > 0 THEN
        PERFORM mnemo._change_terms(p_org_id, -v_change.records, -v_change.length,
            v_change.terms, v_change.counts);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._unindex_terms(text, uuid[]) IS
    'Takes records of an organisation out of the term index and its statistics, whoever they are '
    'shared with, so that no recall by words finds them. Nothing happens for those that are not in '
    'it. To be called before the records are deleted.';

CREATE FUNCTION mnemo._index_grants(
    p_org_id text,
    p_id uuid
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Of a shared record a grantee has a list of its own; whoever sees a public one needs none.
    WITH wanted AS MATERIALIZED (
        SELECT a.audience # u.term AS key, u.weight, -v.length AS shortness
          FROM mnemo.term_vector AS v
          JOIN mnemo.memory AS m ON m.org_id = v.org_id AND m.id = v.memory_id
          CROSS JOIN LATERAL (
            SELECT mnemo._plan_audience(m, NULL) AS audience
            UNION
            SELECT mnemo._audience('grantee', g.org_id, g.agent_id, NULL)
              FROM mnemo.acl AS g
             WHERE g.org_id = p_org_id AND g.memory_id = p_id AND m.scope = 'shared'
          ) AS a
          CROSS JOIN LATERAL unnest(v.terms, v.weights) AS u(term, weight)
         WHERE v.org_id = p_org_id AND v.memory_id = p_id AND m.org_id = p_org_id
    ), gone AS (
        DELETE FROM mnemo.term_posting AS p
         WHERE p.org_id = p_org_id AND p.memory_id = p_id
           AND NOT EXISTS (SELECT FROM wanted AS w WHERE w.key = p.key)
    )
    INSERT INTO mnemo.term_posting AS p (org_id, key, weight, shortness, memory_id)
    SELECT p_org_id, w.key, w.weight, w.shortness, p_id
      FROM wanted AS w
    ON CONFLICT ON CONSTRAINT term_posting_pkey DO NOTHING;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_grants(text, uuid) IS
    'Brings the term index in step with the scope and the grants of a record that is in it.';

CREATE FUNCTION mnemo._reindex_terms(
    p_records mnemo.memory[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    FOREACH v_record IN ARRAY p_records LOOP
        PERFORM mnemo._unindex_terms(v_record.org_id, ARRAY[v_record.id]);
        PERFORM mnemo._index_terms(ARRAY[v_record]);
        PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._reindex_terms(mnemo.memory[]) IS
    'Makes the terms of records anew, for any change of words, scope or grants.';
