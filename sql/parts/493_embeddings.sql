CREATE FUNCTION mnemo._unknown_model(
    p_model text
)
RETURNS mnemo._problem
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ROW('55000', format('model %s is not enabled in this database', mnemo._shown(p_model)),
    'p_model', 'an administrator enables it: SELECT mnemo.enable_vectors(p_model, p_dimensions)'
    )::mnemo._problem;
COMMENT ON FUNCTION mnemo._unknown_model(text) IS 'The problem 55000: no model of this name.';

CREATE FUNCTION mnemo._model_of(
    p_model text
)
RETURNS mnemo.vector_model
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_model mnemo.vector_model;
BEGIN
    SELECT v.* INTO v_model
      FROM mnemo.vector_model AS v
     WHERE v.name = p_model
        OR p_model IS NULL AND NOT EXISTS (
            SELECT FROM mnemo.vector_model AS o WHERE o.name <> v.name);
    RETURN v_model;
END
$fn$;
COMMENT ON FUNCTION mnemo._model_of(text) IS
    'The enabled model of this name; without a name the only one. NULL where there is none, or '
    'several.';

CREATE FUNCTION mnemo._vector_problem(
    p_embedding text,
    p_model mnemo.vector_model
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_dimensions integer;
    v_length double precision;
    -- Squares of single precision, and halves in an index, must neither overflow nor vanish.
    v_longest double precision := CASE WHEN p_model.dimensions BETWEEN 2001 AND 4000
        AND p_model.distance <> 'cosine' THEN 65504 ELSE 1e15 END;
BEGIN
    BEGIN
        EXECUTE format('SELECT f.dimensions, f.length FROM mnemo.%I($1) AS f',
            '_vector_facts_' || p_model.suffix)
           INTO v_dimensions, v_length USING p_embedding;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
        RETURN mnemo._argument('p_embedding',
            'p_embedding must be a vector of finite numbers: ' || left(SQLERRM, 150),
            'pass it as text: [0.1,0.2,0.3]');
    END;
    IF v_dimensions <> p_model.dimensions THEN
        RETURN mnemo._argument('p_embedding',
            format('p_embedding has %s dimensions, model %s has %s', v_dimensions,
                mnemo._shown(p_model.name), p_model.dimensions),
            'pass a vector that this model made');
    ELSIF v_length = 0 THEN
        RETURN mnemo._argument('p_embedding', 'p_embedding must not be the zero vector',
            'leave it out where the model gave no vector');
    ELSIF NOT v_length BETWEEN 1e-15 AND v_longest THEN
        RETURN mnemo._argument('p_embedding',
            format('p_embedding must have a length from 1e-15 to %s; got %s', v_longest, v_length),
            'scale the vectors of the model');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._vector_problem(text, mnemo.vector_model) IS
    'The problem of a vector for a model: ill-formed, NaN or infinite, another number of dimensions, '
    'zero, a length that its arithmetic cannot take; NULL for none.';

CREATE FUNCTION mnemo._embedding_problem(
    p_embedding text,
    p_model text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_model mnemo.vector_model;
    v_problem mnemo._problem;
    v_parameter text := CASE WHEN p_embedding IS NOT NULL THEN 'p_embedding' ELSE 'p_model' END;
BEGIN
    IF p_embedding IS NULL AND p_model IS NULL THEN
        RETURN NULL;
    ELSIF (SELECT count(*) FROM mnemo.vector_model) = 0 THEN
        RETURN ROW('55000',
            v_parameter || ' cannot be used: embeddings are not enabled in this database',
            v_parameter, 'leave p_embedding and p_model out, or let an administrator call '
                'mnemo.enable_vectors')::mnemo._problem;
    ELSIF p_embedding IS NULL THEN
        RETURN mnemo._argument('p_model', 'p_model is given without p_embedding',
            'pass both, or none of them');
    END IF;
    v_model := mnemo._model_of(p_model);
    IF v_model.name IS NULL AND p_model IS NOT NULL THEN
        RETURN mnemo._unknown_model(p_model);
    ELSIF v_model.name IS NULL THEN
        RETURN mnemo._argument('p_model', 'p_model must be given: several models are enabled',
            'pass the name of the model that made p_embedding');
    END IF;
    v_problem := mnemo._length_problem('p_embedding', p_embedding, 1000000);
    IF v_problem.code IS NULL THEN
        v_problem := mnemo._vector_problem(p_embedding, v_model);
    END IF;
    RETURN v_problem;
END
$fn$;
COMMENT ON FUNCTION mnemo._embedding_problem(text, text) IS
    'The problem of an embedding and its model as callers give them, both or none; NULL for none.';

CREATE FUNCTION mnemo._store_embeddings(
    p_embeddings text[],
    p_models text[],
    p_org_ids text[],
    p_ids uuid[],
    p_plans boolean DEFAULT false
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_batch record;
BEGIN
    FOR v_batch IN
        SELECT (m.model).suffix AS suffix, array_agg(m.org_id ORDER BY m.org_id, m.id) AS org_ids,
               array_agg(m.id ORDER BY m.org_id, m.id) AS ids,
               array_agg(m.embedding ORDER BY m.org_id, m.id) AS embeddings
          FROM (
            SELECT mnemo._model_of(u.model) AS model, u.org_id, u.id, u.embedding
              FROM unnest(p_embeddings, p_models, p_org_ids, p_ids)
                   AS u(embedding, model, org_id, id)
             WHERE u.embedding IS NOT NULL
            OFFSET 0
          ) AS m
         GROUP BY (m.model).suffix
         ORDER BY (m.model).suffix
    LOOP
        EXECUTE format('SELECT mnemo.%I($1, $2, $3)',
            CASE WHEN p_plans THEN '_vector_planstore_' ELSE '_vector_store_' END || v_batch.suffix)
          USING v_batch.org_ids, v_batch.ids, v_batch.embeddings;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._store_embeddings(text[], text[], text[], uuid[], boolean) IS
    'Stores embeddings of memories, or (p_plans) of plans, that are written, in place of those of the '
    'same model. Parallel lists of sound embeddings (NULL: none), models, keys.';

CREATE FUNCTION mnemo._store_embedding(
    p_embedding text,
    p_model text,
    p_org_id text,
    p_id uuid,
    p_plan boolean DEFAULT false
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_embedding IS NOT NULL THEN
        PERFORM mnemo._store_embeddings(
            ARRAY[p_embedding], ARRAY[p_model], ARRAY[p_org_id], ARRAY[p_id], p_plan);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._store_embedding(text, text, text, uuid, boolean) IS
    'Stores the embedding of a record that is written, a plan or not; nothing for NULL.';
