CREATE FUNCTION mnemo._inverse_frequency(
    p_records double precision,
    p_total double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln(1 + (p_total - p_records + 0.5) / (p_records + 0.5));
COMMENT ON FUNCTION mnemo._inverse_frequency(double precision, double precision) IS
    'The inverse document frequency ln(1 + (N - n + 0.5) / (n + 0.5)) of a term that p_records (n) of '
    'p_total (N) records have.';

CREATE FUNCTION mnemo._query_terms(
    p_query text,
    p_org_id text
)
RETURNS TABLE (
    place bigint,
    word text,
    term bigint,
    admits boolean,
    records double precision,
    idf double precision,
    average_length double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 8
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT t.word, mnemo._hash64(t.word) AS hash
          FROM (
            SELECT DISTINCT u.word COLLATE "C" AS word
              FROM unnest(mnemo._terms(p_query)) AS u(word)
             WHERE u.word COLLATE "C" <> ALL (mnemo._stop_words())
          ) AS t
    ), change AS MATERIALIZED (
        SELECT c.records, c.length, c.terms, c.counts
          FROM mnemo.term_change AS c
         WHERE c.org_id = p_org_id
    ), total AS MATERIALIZED (
        SELECT coalesce(sum(s.records), 0)::double precision AS records,
               coalesce(sum(s.length), 0)::double precision AS length
          FROM (
            SELECT t.records, t.length FROM mnemo.term_total AS t WHERE t.org_id = p_org_id
            UNION ALL
            SELECT c.records, c.length FROM change AS c
          ) AS s
    ), frequency AS MATERIALIZED (
        SELECT a.word, a.hash,
               (coalesce((
                    SELECT f.records FROM mnemo.term_frequency AS f
                     WHERE f.org_id = p_org_id AND f.term = a.hash
                ), 0) + coalesce((
                    SELECT sum(c.counts[array_position(c.terms, a.hash)]) FROM change AS c
                ), 0))::double precision AS records
          FROM asked AS a
    ), rated AS MATERIALIZED (
        SELECT f.word, f.hash, f.records,
               mnemo._inverse_frequency(f.records, t.records) AS idf,
               CASE WHEN t.length > 0 THEN t.length / t.records ELSE 10 END AS average_length
          FROM frequency AS f CROSS JOIN total AS t
    )
    SELECT row_number() OVER (ORDER BY r.idf DESC, r.word COLLATE "C"), r.word, r.hash,
           r.word COLLATE "C" <> ALL (mnemo._weak_words()), r.records, r.idf,
           r.average_length
      FROM rated AS r
     ORDER BY r.idf DESC, r.word COLLATE "C"
     LIMIT 64;
END
$fn$;
COMMENT ON FUNCTION mnemo._query_terms(text, text) IS
    'The terms of a query, at most the 64 rarest, rarest first: the word, its hash, whether it may '
    'admit a record, and from the records of the organisation alone: how many have it, its '
    'inverse document frequency, and the average length, 10 while there is no record. No row for a query without words.';

CREATE FUNCTION mnemo._term_score(
    p_idf double precision,
    p_weight integer,
    p_length integer,
    p_average_length double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- k1 = 1.2, b = 0.75; weights are tenths. No numeric constants: their arithmetic takes ten times as
-- long as all else here.
RETURN p_idf * 2.2::double precision * p_weight::double precision
    / (p_weight::double precision + 3::double precision
        + 9::double precision * p_length::double precision / p_average_length);
COMMENT ON FUNCTION mnemo._term_score(double precision, integer, integer, double precision) IS
    'What a term contributes to the score of a record: BM25 (Robertson and Zaragoza, 2009) with '
    'k1 = 1.2 and b = 0.75 over the weighted frequency. Grows with the weight, falls with the length.';

