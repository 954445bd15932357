CREATE FUNCTION mnemo._compact_terms(
    p_org_id text
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_folded bigint;
    v_unused bigint[];
BEGIN
    -- One at a time, and nobody waits: what another is folding in is left to it. Under a snapshot of
    -- the whole transaction, rows that another has folded in would be an error.
    IF current_setting('transaction_isolation') <> 'read committed'
        OR NOT pg_try_advisory_xact_lock(mnemo._hash64('term statistics ' || p_org_id))
    THEN
        RETURN 0;
    END IF;
    WITH gone AS MATERIALIZED (
        DELETE FROM mnemo.term_change AS c WHERE c.org_id = p_org_id
        RETURNING c.records, c.length, c.terms, c.counts
    ), total AS (
        INSERT INTO mnemo.term_total AS t (org_id, records, length)
        SELECT p_org_id, sum(g.records), sum(g.length) FROM gone AS g HAVING count(*) > 0
        ON CONFLICT ON CONSTRAINT term_total_pkey DO UPDATE
           SET records = t.records + excluded.records, length = t.length + excluded.length
    ), frequency AS (
        INSERT INTO mnemo.term_frequency AS f (org_id, term, records)
        SELECT p_org_id, u.term, sum(u.count)
          FROM gone AS g CROSS JOIN LATERAL unnest(g.terms, g.counts) AS u(term, count)
         GROUP BY u.term
        HAVING sum(u.count) <> 0
         ORDER BY u.term
        ON CONFLICT ON CONSTRAINT term_frequency_pkey DO UPDATE
           SET records = f.records + excluded.records
        RETURNING f.term, f.records
    )
    SELECT (SELECT count(*) FROM gone),
           (SELECT array_agg(f.term) FROM frequency AS f WHERE f.records = 0)
      INTO v_folded, v_unused;
    -- A term that nobody's record has any more leaves no trace.
    IF v_unused IS NOT NULL THEN
        DELETE FROM mnemo.term_frequency AS f
         WHERE f.org_id = p_org_id AND f.term = ANY (v_unused);
    END IF;
    RETURN v_folded;
END
$fn$;
COMMENT ON FUNCTION mnemo._compact_terms(text) IS
    'Folds the rows of term_change of an organisation into its statistics and returns how many there '
    'were. Never waits: 0 when another transaction is at it, or under another isolation level than '
    'read committed. The statistics are the same before and after.';
