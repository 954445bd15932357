-- Executing a retrieval plan. What a plan asks for becomes slots: a slot is a word, an entity, a
-- predicate or the pair of the hints, with the terms that may answer it. The lists of the terms
-- give candidates, which are few; these are scored slot by slot from their own terms, and each
-- ranking of the fusion adds up the slots that belong to it.

CREATE TYPE mnemo._retrieval_numbers AS (
    list_cap bigint,
    candidates bigint,
    k double precision,
    semantic_weight double precision,
    semantic_evidence double precision,
    least_evidence double precision,
    least_of_kind double precision,
    relative_evidence double precision,
    content_evidence double precision,
    person_alone double precision,
    other_evidence double precision,
    other_factor double precision,
    own_factor double precision,
    weak_factor double precision,
    about_factor double precision,
    least_of_general double precision
);
COMMENT ON TYPE mnemo._retrieval_numbers IS 'The numbers of mnemo._retrieval_rules().';

CREATE FUNCTION mnemo._retrieval_rules()
RETURNS mnemo._retrieval_numbers
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(48, 40, 60, 2, 0.5, 0.41, 0.12, 0.6, 0.7, 0.5, 0.5, 0.3, 1.3, 0.3, 0.7, 0.55)
    ::mnemo._retrieval_numbers;
COMMENT ON FUNCTION mnemo._retrieval_rules() IS
    'The numbers by which plans are executed. list_cap: entries read of each list; candidates: '
    'records that are scored; k: of the fusion; semantic_weight: of the ranking by embeddings, '
    'others have 1; semantic_evidence: similarity from which a record needs no words; '
    'least_evidence, least_of_kind, relative_evidence: share of a query''s words that a record '
    'must answer, the same where kinds are asked for, and share of what the best record answers; '
    'content_evidence: factor of the evidence of a word that stands in the content alone; '
    'person_alone: factor of the evidence of a record that answers nothing but the name of a '
    'query that asks for more; other_evidence, other_factor: factors for records about and naming '
    'somebody else than the query; own_factor: for records about whom it means; weak_factor: for '
    'words that ask for nothing; about_factor: of a name as the subject; least_of_general: '
    'least_evidence where a question means nobody.';

CREATE TYPE mnemo._question AS (
    terms bigint[],
    slots integer[],
    scores double precision[],
    evidences double precision[],
    lists bigint[],
    list_scores double precision[],
    list_slots integer[],
    rankings integer[],
    ranking_slots integer[],
    factors double precision[],
    asks boolean[],
    admits integer[],
    asking integer[],
    asked integer[],
    beyond boolean[],
    persons integer[],
    average_length double precision,
    preferred boolean,
    meant boolean,
    of_user boolean,
    pair boolean,
    general boolean,
    predicate text,
    own bigint[]
);
COMMENT ON TYPE mnemo._question IS
    'What a plan asks for. terms, slots, scores, evidences: the terms that answer slots, with idf '
    'times factor and what a hit is evidence of; lists, list_scores, list_slots: the lists to '
    'read; rankings, ranking_slots, factors, asks: which slots a ranking adds up, and whether a '
    'hit is evidence; admits: the rankings whose evidence admits; asking: the slots of words that '
    'ask; asked, beyond: of the first four rankings, how many slots ask, and whether one does that '
    'is no name; persons: the slots that names are in; preferred: whether some subject ranks '
    'first; meant: whether the plan means it, by name or pronoun; of_user: whether that is the '
    'user, or nobody is named; pair: whether both hints are there; general: whether it is a '
    'question that means nobody; predicate: the hint; own: the terms of records about whom the '
    'plan means.';

CREATE TYPE mnemo._people AS (
    names text[],
    subjects text[],
    partner text,
    hint text,
    of_user boolean,
    speaks boolean,
    forms text[]
);
COMMENT ON TYPE mnemo._people IS
    'Whom a plan means. names, subjects: the names said, folded, and whom each means; partner: '
    'whom a pronoun means; hint: whom the subject hint means; of_user: whether nobody but the '
    'user is meant; speaks: whether he speaks of himself; forms: surface and canonical form of '
    'each entity, folded.';

CREATE TYPE mnemo._reach AS (
    ids uuid[],
    global_ids uuid[],
    nobodys boolean[],
    global_nobodys boolean[],
    similarities double precision[]
);
COMMENT ON TYPE mnemo._reach IS
    'Records that a plan reaches. ids, global_ids: of the organisation, and global ones; nobodys, '
    'global_nobodys: whether each has neither subject nor entities; similarities: of the former '
    'and then the latter to the embedding, NULL for none.';

-- The numbers of slots: words by their place from 1, whom a pronoun means 9000, entities from
-- 10001, predicates from 20001, the hints 30000, records about whom the plan means 40000, those
-- about the user where he speaks of somebody 40001, those about whom the hint means 40002.

CREATE FUNCTION mnemo._boosts(
    p_source_type text,
    p_confidence double precision,
    p_kind text,
    p_valid_from timestamptz,
    p_now timestamptz
)
RETURNS double precision[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ARRAY[
    CASE WHEN p_source_type IN ('human', 'user_input') THEN 1.1::double precision ELSE 1 END,
    coalesce(0.7::double precision + 0.6::double precision * p_confidence, 1),
    CASE WHEN p_confidence < 0.5::double precision THEN 0.7::double precision ELSE 1 END,
    CASE WHEN p_kind = 'episodic'
    THEN 0.5::double precision + 0.5::double precision * exp(-least(greatest(
            extract(epoch FROM p_now - p_valid_from)::double precision / 86400, 0), 7000) / 14)
    ELSE 1 END
];
COMMENT ON FUNCTION mnemo._boosts(text, double precision, text, timestamptz, timestamptz) IS
    'What multiplies the score of a record: source, 1.1 for an explicit one (human, user_input); '
    'confidence, 0.7 + 0.6 times it, 1 where it is unknown; doubt, 0.7 for a confidence under 0.5; '
    'recency, 0.5 + 0.5 * exp(-days / 14) for facts of kind episodic.';
