CREATE FUNCTION mnemo._stop_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'a', 'an', 'the', 'and', 'or', 'but', 'if', 'then', 'than', 'so', 'of', 'to', 'in', 'on', 'at',
    'by', 'for', 'from', 'with', 'as', 'into', 'onto', 'is', 'are', 'was', 'were', 'be', 'been',
    'being', 'am', 'do', 'doe', 'did', 'done', 'have', 'has', 'had', 'having', 'will', 'would',
    'shall', 'should', 'can', 'could', 'may', 'might', 'must', 'i', 'you', 'he', 'she', 'it', 'we',
    'they', 'me', 'him', 'us', 'them', 'my', 'your', 'his', 'her', 'its', 'our', 'their', 'mine',
    'this', 'that', 'these', 'those', 'there', 'here', 'what',
    'which', 'who', 'whom', 'whose', 'when', 'where', 'why', 'how', 'not', 'no', 'nor', 's', 't',
    'd', 'll', 've', 're', 'm'
]::text[];
COMMENT ON FUNCTION mnemo._stop_words() IS
    'English words, as _terms folds them, that are neither indexed nor searched for. Words of other '
    'languages are all kept.';

CREATE FUNCTION mnemo._weak_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'user', 'people', 'person', 'thing', 'something', 'anything', 'everything', 'nothing', 'someone',
    'anyone', 'everyone', 'stuff', 'kind', 'sort', 'type', 'way', 'lot', 'number', 'name', 'like',
    'love', 'want', 'need', 'prefer', 'enjoy', 'favourite', 'favorite', 'usual', 'usually', 'alway',
    'often', 'ever', 'never', 'also', 'just', 'really', 'very', 'much', 'many', 'more', 'most', 'some',
    'any', 'all', 'every', 'each', 'other', 'another', 'same', 'only', 'own', 'good', 'great', 'best',
    'better', 'new', 'old', 'get', 'got', 'go', 'going', 'went', 'gone', 'come', 'came', 'make',
    'made', 'take', 'took', 'use', 'used', 'using', 'think', 'thought', 'know', 'known', 'knew', 'say',
    'said', 'tell', 'told', 'ask', 'asked', 'remember', 'recall', 'remind', 'find', 'found', 'show',
    'give', 'gave', 'look', 'see', 'seen', 'let', 'put', 'please', 'about', 'after', 'before', 'again',
    'now', 'still', 'yet', 'too', 'out', 'up', 'down', 'over', 'off', 'back', 'one', 'time'
]::text[];
COMMENT ON FUNCTION mnemo._weak_words() IS
    'English words, as _terms folds them, that rank a record and never admit it: a record that shares '
    'nothing else with a query is no answer to it.';

CREATE FUNCTION mnemo._record_terms(
    p_record mnemo.memory,
    OUT terms bigint[],
    OUT weights integer[],
    OUT length integer
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    SELECT coalesce(array_agg(h.hash ORDER BY h.hash), '{}'),
           coalesce(array_agg(h.weight ORDER BY h.hash), '{}'),
           coalesce(sum(h.occurrences), 0)
      INTO terms, weights, length
      FROM (
        SELECT mnemo._hash64(t.term) AS hash, t.weight, t.occurrences
          FROM (
            SELECT u.term, least(sum(f.weight), 1000000)::integer AS weight,
                   count(*) AS occurrences
              FROM (VALUES
                    (10, p_record.content),
                    (30, p_record.subject),
                    (30, array_to_string(p_record.entities, ' ')),
                    (25, array_to_string(p_record.aliases, ' ')),
                    (22, p_record.predicate),
                    (20, array_to_string(p_record.tags, ' ')),
                    (15, p_record.location)
                ) AS f(weight, words)
              CROSS JOIN LATERAL unnest(mnemo._terms(f.words)) AS u(term)
             WHERE f.words <> '' AND u.term COLLATE "C" <> ALL (mnemo._stop_words())
             GROUP BY u.term
             ORDER BY weight DESC, u.term COLLATE "C"
             LIMIT 20000
          ) AS t
      ) AS h;
END
$fn$;
COMMENT ON FUNCTION mnemo._record_terms(mnemo.memory) IS
    'The hashes of a record''s terms, the weight of each in tenths (subject and entities 30, aliases '
    '25, predicate 22, tags 20, location 15, content 10, summed over occurrences), and the number of '
    'words. Of more than 20,000 terms the heaviest are kept. Empty for a redacted record.';
