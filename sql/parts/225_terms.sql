-- The term index: one set of tables for recall and for retrieval plans. A term is a 64-bit hash of a
-- word, see _terms, or of a facet, see _facet_terms; words themselves are kept in memory alone.

CREATE TABLE mnemo.term_vector (
    org_id text NOT NULL,
    memory_id uuid NOT NULL,
    terms bigint[] NOT NULL,
    weights integer[] NOT NULL,
    length integer NOT NULL,
    rules_version integer NOT NULL,
    CONSTRAINT term_vector_pkey PRIMARY KEY (org_id, memory_id),
    CONSTRAINT term_vector_memory_id_fkey FOREIGN KEY (org_id, memory_id)
        REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE,
    CONSTRAINT term_vector_weights_check CHECK (cardinality(terms) = cardinality(weights))
);
COMMENT ON TABLE mnemo.term_vector IS
    'The terms of each memory that recall can find, whoever may see it: what a record is scored by. '
    'Plans have none.';
COMMENT ON COLUMN mnemo.term_vector.org_id IS 'org_id of the record.';
COMMENT ON COLUMN mnemo.term_vector.memory_id IS 'Id of the record in memory.';
COMMENT ON COLUMN mnemo.term_vector.terms IS 'Hashes of its terms, each once.';
COMMENT ON COLUMN mnemo.term_vector.weights IS
    'For each term, how often it stands in a field times the weight of the field, summed over the '
    'fields, in tenths; for a term of a facet its weight.';
COMMENT ON COLUMN mnemo.term_vector.length IS 'Number of its words in all fields, stop words aside.';
COMMENT ON COLUMN mnemo.term_vector.rules_version IS 'Version of the rules that made the terms.';

-- The key is the index: in each list heaviest first, then shortest, then newest, which is the order
-- of what a single term contributes whatever the average length. Read backwards.
CREATE TABLE mnemo.term_posting (
    org_id text NOT NULL,
    key bigint NOT NULL,
    weight integer NOT NULL,
    shortness integer NOT NULL,
    memory_id uuid NOT NULL,
    CONSTRAINT term_posting_pkey PRIMARY KEY (org_id, key, weight, shortness, memory_id)
);
CREATE INDEX term_posting_memory_id_idx ON mnemo.term_posting (org_id, memory_id);
COMMENT ON TABLE mnemo.term_posting IS
    'For each audience and term the list of records, derived from term_vector. No foreign key: it '
    'would cost more than the row, and recall checks every record that it names.';
COMMENT ON COLUMN mnemo.term_posting.org_id IS 'org_id of the record.';
COMMENT ON COLUMN mnemo.term_posting.key IS
    'Hash of who can see the record (owner, grantee, organisation or everyone), mixed with the term.';
COMMENT ON COLUMN mnemo.term_posting.weight IS 'As in term_vector.weights.';
COMMENT ON COLUMN mnemo.term_posting.shortness IS 'term_vector.length, negative.';
COMMENT ON COLUMN mnemo.term_posting.memory_id IS 'Id of the record in memory.';

-- Statistics. A write adds one row of its own to term_change and touches no row that another could
-- be writing; sums are right in every snapshot, however many changes are not folded in yet.
CREATE TABLE mnemo.term_total (
    org_id text NOT NULL,
    records bigint NOT NULL,
    length bigint NOT NULL,
    CONSTRAINT term_total_pkey PRIMARY KEY (org_id)
);
COMMENT ON TABLE mnemo.term_total IS 'Number and length of the records of each organisation.';
COMMENT ON COLUMN mnemo.term_total.org_id IS 'The organisation; * counts the global records.';
COMMENT ON COLUMN mnemo.term_total.records IS 'Rows in term_vector, without what is in term_change.';
COMMENT ON COLUMN mnemo.term_total.length IS 'Sum of their lengths.';

CREATE TABLE mnemo.term_frequency (
    org_id text NOT NULL,
    term bigint NOT NULL,
    records bigint NOT NULL,
    CONSTRAINT term_frequency_pkey PRIMARY KEY (org_id, term)
);
COMMENT ON TABLE mnemo.term_frequency IS 'In how many records of an organisation a term occurs.';
COMMENT ON COLUMN mnemo.term_frequency.org_id IS 'The organisation; * for the global records.';
COMMENT ON COLUMN mnemo.term_frequency.term IS 'Hash of the term.';
COMMENT ON COLUMN mnemo.term_frequency.records IS
    'Records with it, without what is in term_change; there is no row for 0.';

CREATE TABLE mnemo.term_change (
    org_id text NOT NULL,
    id uuid NOT NULL,
    records bigint NOT NULL,
    length bigint NOT NULL,
    terms bigint[] NOT NULL,
    counts bigint[] NOT NULL,
    CONSTRAINT term_change_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT term_change_counts_check CHECK (cardinality(terms) = cardinality(counts))
);
COMMENT ON TABLE mnemo.term_change IS
    'Changes of the statistics that are not folded into term_total and term_frequency yet: one row '
    'for each write and organisation.';
COMMENT ON COLUMN mnemo.term_change.org_id IS 'The organisation; * for the global records.';
COMMENT ON COLUMN mnemo.term_change.id IS 'UUID of version 7.';
COMMENT ON COLUMN mnemo.term_change.records IS 'By how many records it grew, negative for shrinking.';
COMMENT ON COLUMN mnemo.term_change.length IS 'By how much their length grew.';
COMMENT ON COLUMN mnemo.term_change.terms IS 'Hashes of the terms whose frequency changed.';
COMMENT ON COLUMN mnemo.term_change.counts IS 'By how much each of them changed.';

-- The planner's statistics of these columns would keep what is left of people's words after erasure.
ALTER TABLE mnemo.term_vector
    ALTER COLUMN terms SET STATISTICS 0,
    ALTER COLUMN weights SET STATISTICS 0;
ALTER TABLE mnemo.term_posting ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE mnemo.term_frequency ALTER COLUMN term SET STATISTICS 0;
ALTER TABLE mnemo.term_change
    ALTER COLUMN terms SET STATISTICS 0,
    ALTER COLUMN counts SET STATISTICS 0;
