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
-- needed at the floor is at least 2 for every admissible size of the other side), 33 to 127 give
-- parts, see _part_keys, longer ones give no token keys. Every plan also has the key of its audience
-- and size bucket, by which the longest signatures and thresholds below the floor are found: slower,
-- never wrong. No bucket holds sizes of two modes. Keys are combined by XOR of 64-bit hashes; a collision adds a candidate and loses
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
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    -- Long tokens are rare, so prefixes of the longest first meet few others; needs no statistics.
    RETURN ARRAY(
        SELECT x.hash
          FROM (
            SELECT length(t.token) AS length, mnemo._hash64(t.token) AS hash
              FROM unnest(p_signature) AS t(token)
          ) AS x
         ORDER BY x.length DESC, x.hash
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._ordered_hashes(text[]) IS
    'The 64-bit hashes of the tokens in the total order of prefixes: longest first, then by hash.';

CREATE FUNCTION mnemo._prefix_keys(
    p_hashes bigint[],
    p_prefix integer,
    p_pairs boolean
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_keys bigint[] := '{}';
BEGIN
    IF NOT p_pairs THEN
        RETURN p_hashes[1:p_prefix];
    END IF;
    FOR v_first IN 1 .. p_prefix - 1 LOOP
        FOR v_second IN v_first + 1 .. p_prefix LOOP
            v_keys := v_keys || (p_hashes[v_first] # p_hashes[v_second]);
        END LOOP;
    END LOOP;
    RETURN v_keys;
END
$fn$;
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
    p_hashes bigint[],
    p_audience bigint
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_size integer := cardinality(p_hashes);
    v_mask bigint := p_audience # mnemo._bucket_hash(mnemo._signature_bucket(v_size));
    v_keys bigint[] := ARRAY[v_mask];
    v_key bigint;
BEGIN
    IF v_size <= 32 THEN
        FOREACH v_key IN ARRAY mnemo._prefix_keys(
            p_hashes,
            -- |B| - ceil(3/5 |B|) + k
            v_size - (3 * v_size + 4) / 5 + CASE WHEN v_size >= 3 THEN 2 ELSE 1 END,
            v_size >= 3
        ) LOOP
            v_keys := v_keys || (v_key # v_mask);
        END LOOP;
    ELSIF v_size <= 127 THEN
        v_mask := p_audience # mnemo._part_hash(mnemo._part_bucket(v_size));
        FOREACH v_key IN ARRAY mnemo._part_keys(
            p_hashes, mnemo._part_most(mnemo._part_bucket(v_size)) / 2 + 1, NULL
        ) LOOP
            v_keys := v_keys || (v_key # v_mask);
        END LOOP;
    END IF;
    RETURN v_keys;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_keys(bigint[], bigint) IS
    'The keys of a plan with these ordered token hashes for an audience.';

CREATE FUNCTION mnemo._bucket_start(
    p_bucket integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_bucket < 32
    THEN (ARRAY[1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24])[p_bucket]
    ELSE (16 + p_bucket % 16) << (p_bucket / 16 - 1) END;
COMMENT ON FUNCTION mnemo._bucket_start(integer) IS
    'The least size in a bucket; NULL for 12 to 31, which are no buckets.';

CREATE FUNCTION mnemo._probe_keys(
    p_hashes bigint[],
    p_threshold double precision
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_size integer := cardinality(p_hashes);
    -- A little lower, so that rounding can only admit more: candidates are scored exactly.
    v_low double precision := p_threshold - 1e-9;
    v_least integer := ceil(v_low * v_size);
    v_most integer := least(floor(v_size / v_low), 20000);
    v_tokens boolean := p_threshold >= mnemo._key_floor();
    v_start integer;
    v_prefix integer;
    v_mask bigint;
    v_key bigint;
    v_keys bigint[] := '{}';
BEGIN
    FOR v_bucket IN
        mnemo._signature_bucket(v_least) .. mnemo._signature_bucket(v_most)
    LOOP
        v_start := greatest(mnemo._bucket_start(v_bucket), v_least);
        CONTINUE WHEN mnemo._bucket_start(v_bucket) IS NULL
            OR mnemo._bucket_start(v_bucket) BETWEEN 32 AND 127;
        v_mask := mnemo._bucket_hash(v_bucket);
        IF v_bucket > 11 OR NOT v_tokens THEN
            v_keys := v_keys || v_mask;
            CONTINUE;
        END IF;
        v_prefix := v_size - ceil(v_low / (1 + v_low) * (v_size + v_start))::integer;
        FOREACH v_key IN ARRAY mnemo._prefix_keys(
            p_hashes,
            least(v_size, v_prefix + CASE WHEN v_bucket >= 3 THEN 2 ELSE 1 END),
            v_bucket >= 3
        ) LOOP
            v_keys := v_keys || (v_key # v_mask);
        END LOOP;
    END LOOP;
    RETURN v_keys || mnemo._probe_parts(p_hashes, v_low, v_least, v_most);
END
$fn$;
COMMENT ON FUNCTION mnemo._probe_keys(bigint[], double precision) IS
    'The keys, audience and guard aside, of which every plan with Jaccard similarity of at least '
    'p_threshold to the signature with these ordered token hashes has one.';

CREATE FUNCTION mnemo._sketch(
    p_hashes bigint[],
    p_bits integer
)
RETURNS bit varying
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_sketch bit varying := repeat('0', p_bits)::bit varying;
    v_hash bigint;
BEGIN
    FOREACH v_hash IN ARRAY p_hashes LOOP
        v_sketch := set_bit(v_sketch, (v_hash & (p_bits - 1))::integer, 1);
    END LOOP;
    RETURN v_sketch;
END
$fn$;
COMMENT ON FUNCTION mnemo._sketch(bigint[], integer) IS
    'A bitmap of p_bits (a power of two) with the bit of each token set. A token of A whose bit B '
    'lacks is not in B, so |A n B| >= o allows at most |A| - o such bits.';

CREATE FUNCTION mnemo._sketch_bits(
    p_size integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_size <= 32 THEN 128 ELSE 1024 END;
COMMENT ON FUNCTION mnemo._sketch_bits(integer) IS 'The width of a sketch for a signature of p_size.';

CREATE FUNCTION mnemo._digest(
    p_signature text[]
)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN mnemo._hash64(array_to_string(p_signature, ' '));
END
$fn$;
COMMENT ON FUNCTION mnemo._digest(text[]) IS 'The hash of a signature.';
