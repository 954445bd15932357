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
