CREATE TABLE mnemo.vector_model (
    name text NOT NULL,
    suffix text NOT NULL,
    dimensions bigint NOT NULL,
    distance text NOT NULL,
    rules_version integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT vector_model_pkey PRIMARY KEY (name),
    CONSTRAINT vector_model_suffix_key UNIQUE (suffix),
    CONSTRAINT vector_model_suffix_check CHECK (suffix ~ '^[0-9a-f]{16}$'),
    CONSTRAINT vector_model_dimensions_check CHECK (dimensions BETWEEN 1 AND 16000),
    CONSTRAINT vector_model_distance_check CHECK (mnemo._is_label('vector_distance', distance))
);
COMMENT ON TABLE mnemo.vector_model IS
    'The embedding models of this database, see mnemo.enable_vectors. The vectors of a model are in '
    'tables vectors_SUFFIX (of memories) and vectors_SUFFIX_plans, which only its functions '
    '_vector_..._SUFFIX read and write.';
COMMENT ON COLUMN mnemo.vector_model.name IS 'Name of the model, compared exactly.';
COMMENT ON COLUMN mnemo.vector_model.suffix IS
    'What the names of its tables and functions have in them: 64 bits of SHA-256 of the name.';
COMMENT ON COLUMN mnemo.vector_model.dimensions IS 'Numbers in a vector.';
COMMENT ON COLUMN mnemo.vector_model.distance IS 'cosine, l2 or inner_product.';
COMMENT ON COLUMN mnemo.vector_model.rules_version IS
    'Version of the rules that made its functions, see mnemo.refresh_models.';
COMMENT ON COLUMN mnemo.vector_model.created_at IS 'When it was enabled.';

CREATE TYPE mnemo.embedding AS (
    model text,
    org_id text,
    memory_id uuid,
    embedding text
);
COMMENT ON TYPE mnemo.embedding IS
    'An embedding of a record as exports hold it: model, key of the record, vector as text.';
