-- Lookup keys: prefix filtering for exact set similarity.
--
-- Lemma. Order all tokens in one total order. If |A n B| >= o >= k, the first |A| - o + k tokens of A
-- and the first |B| - o + k of B share at least k tokens: at most o - k shared tokens come after the
-- k-th shared one. Jaccard >= t means o >= ceil(t/(1+t) * (|A| + |B|)) and, whatever B is,
-- o >= ceil(t|A|), with |B| in [ceil(t|A|), floor(|A|/t)].
-- Bayardo, Ma, Srikant: AllPairs, WWW 2007. Xiao et al.: PPJoin, WWW 2008. Wang, Li, Feng:
-- AdaptJoin, SIGMOD 2012 (k > 1).
--
-- A plan's keys are made for the threshold floor 3/5, in whole numbers. Its own size alone decides
-- how: one or two tokens give single tokens (k = 1), 3 to 32 give pairs (k = 2, where the overlap
-- needed at the floor is at least 2 for every admissible size of the other side), longer ones give
-- no token keys. Every plan also has the key of its audience and size bucket, by which long
-- signatures and thresholds below the floor are found: slower, never wrong. No bucket holds sizes
-- of two modes. Keys are combined by XOR of 64-bit hashes; a collision adds a candidate and loses
-- none, for candidates are scored by their tokens.

CREATE FUNCTION mnemo._signature_bucket(
    p_size integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Above 32: sixteen buckets from each power of two to the next.
RETURN CASE WHEN p_size <= 32
    THEN width_bucket(p_size, ARRAY[1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24])
    ELSE width_bucket(p_size, ARRAY[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]) * 16 + 32
        + ((p_size >> (width_bucket(
            p_size, ARRAY[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]) + 1)) & 15)
END;
COMMENT ON FUNCTION mnemo._signature_bucket(integer) IS
    'The size bucket of a signature of p_size tokens: 1 to 11 up to 32 tokens, from 32 on above.';

CREATE FUNCTION mnemo._key_floor() RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 0.6;
COMMENT ON FUNCTION mnemo._key_floor() IS
    'The least threshold that the token keys of plans cover; below it the size buckets serve.';

CREATE FUNCTION mnemo._ordered_hashes(
    p_signature text[]
)
RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Long tokens are rare, so prefixes of the longest first meet few others; needs no statistics.
RETURN (
    SELECT array_agg(x.hash ORDER BY x.length DESC, x.hash)
      FROM (
        SELECT length(t.token) AS length, mnemo._hash64(t.token) AS hash
          FROM unnest(p_signature) AS t(token)
      ) AS x
);
COMMENT ON FUNCTION mnemo._ordered_hashes(text[]) IS
    'The 64-bit hashes of the tokens in the total order of prefixes: longest first, then by hash.';

CREATE FUNCTION mnemo._prefix_keys(
    p_hashes bigint[],
    p_prefix integer,
    p_pairs boolean
)
RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_pairs THEN (
    SELECT array_agg(a.hash # b.hash)
      FROM unnest(p_hashes[1:p_prefix]) WITH ORDINALITY AS a(hash, place)
      JOIN unnest(p_hashes[1:p_prefix]) WITH ORDINALITY AS b(hash, place) ON a.place < b.place
) ELSE p_hashes[1:p_prefix] END;
COMMENT ON FUNCTION mnemo._prefix_keys(bigint[], integer, boolean) IS
    'The first p_prefix hashes, or the XOR of every two of them.';

CREATE FUNCTION mnemo._bucket_hash(
    p_bucket integer
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('bucket ' || p_bucket::text);
COMMENT ON FUNCTION mnemo._bucket_hash(integer) IS 'The part of a key that stands for a size bucket.';

CREATE FUNCTION mnemo._plan_keys(
    p_signature text[]
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_size integer := cardinality(p_signature);
    v_bucket bigint := mnemo._bucket_hash(mnemo._signature_bucket(v_size));
    v_keys bigint[] := '{}';
BEGIN
    IF v_size <= 32 THEN
        v_keys := mnemo._prefix_keys(
            mnemo._ordered_hashes(p_signature),
            -- v_size - ceil(3/5 v_size) + k
            v_size - (3 * v_size + 4) / 5 + CASE WHEN v_size >= 3 THEN 2 ELSE 1 END,
            v_size >= 3
        );
    END IF;
    RETURN ARRAY(SELECT k.key # v_bucket FROM unnest(v_keys) AS k(key) UNION ALL SELECT v_bucket);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_keys(text[]) IS
    'The keys of a plan with this signature, before the audience is mixed in by XOR.';

CREATE FUNCTION mnemo._probe_keys(
    p_signature text[],
    p_threshold double precision
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_size integer := cardinality(p_signature);
    -- A little lower, so that rounding can only admit more: candidates are scored exactly.
    v_low double precision := p_threshold - 1e-9;
    v_hashes bigint[] := mnemo._ordered_hashes(p_signature);
BEGIN
    RETURN ARRAY(
        SELECT b.hash # coalesce(k.key, 0)
          FROM (
            SELECT mnemo._bucket_hash(x.bucket) AS hash, x.least, x.bucket,
                   x.bucket <= 11 AND p_threshold >= mnemo._key_floor() AS by_token
              FROM (
                SELECT mnemo._signature_bucket(s.size) AS bucket, min(s.size) AS least
                  FROM generate_series(
                        ceil(v_low * v_size)::integer,
                        least(floor(v_size / v_low)::integer, 20000)) AS s(size)
                 GROUP BY 1
              ) AS x
          ) AS b
          LEFT JOIN LATERAL unnest(
            CASE WHEN b.by_token THEN mnemo._prefix_keys(
                v_hashes,
                least(v_size, v_size
                    - ceil(v_low / (1 + v_low) * (v_size + b.least))::integer
                    + CASE WHEN b.bucket >= 3 THEN 2 ELSE 1 END),
                b.bucket >= 3
            ) END
          ) AS k(key) ON b.by_token
         WHERE NOT b.by_token OR k.key IS NOT NULL
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._probe_keys(text[], double precision) IS
    'The keys of which every plan with Jaccard similarity of at least p_threshold to the signature '
    'has one, before the audience is mixed in.';

CREATE FUNCTION mnemo._sketch(
    p_signature text[],
    p_bits integer
)
RETURNS bit varying
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT bit_or(set_bit(repeat('0', p_bits)::bit varying,
               (mnemo._hash64(t.token) & (p_bits - 1))::integer, 1))
      FROM unnest(p_signature) AS t(token)
);
COMMENT ON FUNCTION mnemo._sketch(text[], integer) IS
    'A bitmap of p_bits (a power of two) with the bit of each token set. A token of A whose bit B '
    'lacks is not in B, so |A n B| >= o allows at most |A| - o such bits.';

CREATE FUNCTION mnemo._sketch_bits(
    p_size integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_size <= 32 THEN 128 ELSE 1024 END;
COMMENT ON FUNCTION mnemo._sketch_bits(integer) IS 'The width of a sketch for a signature of p_size.';
