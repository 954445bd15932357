-- Keys of signatures of 33 to 127 tokens: parts.
--
-- Lemma. Deal all tokens there could be into m parts, by hash. If A and B differ in at most h tokens
-- (|A u B| - |A n B| <= h < m), at least m - h of the parts hold the same tokens of A and of B: a
-- token that one of them lacks spoils one part. So of any h + 1 parts one at least is the same, and
-- the query may choose those that tell most. Jaccard >= t allows
-- h = floor((1 - t) / (1 + t) * (|A| + |B|)).
-- Arasu, Ganti, Kaushik: PartEnum, VLDB 2006 (its first level).
--
-- Prefixes of that length would give hundreds of pairs, and single tokens that are everywhere. The
-- number of parts follows from the size bucket of the plan: about half its size, two tokens a part.

CREATE FUNCTION mnemo._part_bucket(
    p_size integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN width_bucket(p_size, ARRAY[33, 39, 46, 54, 64, 77, 91, 108]);
COMMENT ON FUNCTION mnemo._part_bucket(integer) IS
    'The size bucket of the parts of a signature of 33 to 127 tokens: 1 to 8.';

CREATE FUNCTION mnemo._part_most(
    p_bucket integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (ARRAY[38, 45, 53, 63, 76, 90, 107, 127])[p_bucket];
COMMENT ON FUNCTION mnemo._part_most(integer) IS
    'The greatest size in a bucket of parts; there are half as many parts, and one more.';

CREATE FUNCTION mnemo._part_hash(
    p_bucket integer
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('parts ' || p_bucket::text);
COMMENT ON FUNCTION mnemo._part_hash(integer) IS
    'The portion of a key that stands for a bucket of parts.';

CREATE FUNCTION mnemo._part_keys(
    p_hashes bigint[],
    p_parts integer,
    p_needed integer
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    -- A part with several tokens is rare; of single tokens the longest are. The first come first.
    RETURN ARRAY(
        SELECT coalesce(t.tokens, 0) # n.part
          FROM generate_series(0::bigint, p_parts - 1) AS n(part)
          LEFT JOIN (
            SELECT (h.hash & 9223372036854775807) % p_parts AS part,
                   bit_xor(h.hash) AS tokens,
                   least(count(*), 3) * cardinality(p_hashes) - min(h.place) AS worth
              FROM unnest(p_hashes) WITH ORDINALITY AS h(hash, place)
             GROUP BY 1
          ) AS t ON t.part = n.part
         ORDER BY t.worth DESC NULLS LAST, n.part
         LIMIT p_needed
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._part_keys(bigint[], integer, integer) IS
    'The XOR of the token hashes in each of p_parts parts and the number of the part: those of the '
    'p_needed parts that tell most, NULL for all.';

CREATE FUNCTION mnemo._probe_parts(
    p_hashes bigint[],
    p_low double precision,
    p_least integer,
    p_most integer
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_from integer;
    v_to integer;
    v_parts integer;
    v_needed integer;
    v_mask bigint;
    v_key bigint;
    v_keys bigint[] := '{}';
BEGIN
    IF p_most < 33 OR p_least > 127 THEN
        RETURN v_keys;
    END IF;
    FOR v_bucket IN
        mnemo._part_bucket(greatest(p_least, 33)) .. mnemo._part_bucket(least(p_most, 127))
    LOOP
        v_to := least(mnemo._part_most(v_bucket), p_most);
        v_parts := mnemo._part_most(v_bucket) / 2 + 1;
        v_needed := floor((1 - p_low) / (1 + p_low) * (cardinality(p_hashes) + v_to)) + 1;
        IF v_needed <= v_parts THEN
            v_mask := mnemo._part_hash(v_bucket);
            FOREACH v_key IN ARRAY mnemo._part_keys(p_hashes, v_parts, v_needed) LOOP
                v_keys := v_keys || (v_key # v_mask);
            END LOOP;
        ELSE
            -- The threshold allows more differences than there are parts.
            v_from := greatest(coalesce(mnemo._part_most(v_bucket - 1) + 1, 33), p_least);
            FOR v_size_bucket IN
                mnemo._signature_bucket(v_from) .. mnemo._signature_bucket(v_to)
            LOOP
                v_keys := v_keys || mnemo._bucket_hash(v_size_bucket);
            END LOOP;
        END IF;
    END LOOP;
    RETURN v_keys;
END
$fn$;
COMMENT ON FUNCTION mnemo._probe_parts(bigint[], double precision, integer, integer) IS
    'The share of _probe_keys for plans of 33 to 127 tokens: p_low is the threshold, a little lower, '
    'p_least and p_most the sizes that it admits.';
