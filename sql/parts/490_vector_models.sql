-- pgvector is found when a model is enabled, wherever it is installed. What touches its types are
-- seven functions a model with SQL-standard bodies, which keep types and operators by identity:
-- neither search_path nor a move of pgvector to another schema matters to them. They use nothing of
-- this schema but the model's tables, so an update of mnemo_pg is free to change all else.
--
-- Vectors of plans have a table and an index of their own: neither plans near a question cost the
-- recall of memories anything, nor memories that of plans.

CREATE FUNCTION mnemo._vector_rules_version() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 2;
COMMENT ON FUNCTION mnemo._vector_rules_version() IS
    'Version of what _make_vector_objects makes; raised whenever that changes.';

CREATE FUNCTION mnemo._vector_table(
    p_model mnemo.vector_model,
    p_plans boolean
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'vectors_' || (p_model).suffix || CASE WHEN p_plans THEN '_plans' ELSE '' END;
COMMENT ON FUNCTION mnemo._vector_table(mnemo.vector_model, boolean) IS
    'Name of the table that holds a model''s vectors of memories, or (p_plans) of plans.';

CREATE FUNCTION mnemo._model_name_problem(
    p_model text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_model IS NULL OR mnemo._is_blank(p_model) THEN
        RETURN mnemo._argument('p_model', 'p_model must not be NULL or blank',
            'name the model that makes the vectors, its version with it');
    END IF;
    RETURN mnemo._length_problem('p_model', p_model, 256);
END
$fn$;
COMMENT ON FUNCTION mnemo._model_name_problem(text) IS
    'The problem of a model''s name: NULL, blank, over 256 characters; NULL for none.';

CREATE FUNCTION mnemo._server_problem(
    p_dimensions bigint
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_extension record;
    v_needed text := CASE WHEN p_dimensions > 2000 THEN '0.7' ELSE '0.5' END;
BEGIN
    SELECT e.extversion, string_to_array(substring(e.extversion FROM '^[0-9]+[.][0-9]+'), '.')::int[]
               AS version,
           n.nspname, has_schema_privilege(mnemo._owner(), n.oid, 'USAGE') AS usable
      INTO v_extension
      FROM pg_extension AS e
      JOIN pg_namespace AS n ON n.oid = e.extnamespace
     WHERE e.extname = 'vector';
    IF NOT FOUND THEN
        RETURN ROW('0A000', 'pgvector is not installed in this database', NULL,
            CASE WHEN EXISTS (
                SELECT FROM pg_available_extensions AS a WHERE a.name = 'vector'
            ) THEN 'as a superuser: CREATE EXTENSION vector'
            ELSE 'install the package of pgvector on the server, then as a superuser: '
                'CREATE EXTENSION vector' END)::mnemo._problem;
    ELSIF v_extension.version < string_to_array(v_needed, '.')::int[] THEN
        RETURN ROW('0A000',
            format('pgvector %s is too old: %s dimensions need %s', v_extension.extversion,
                p_dimensions, v_needed),
            NULL, 'update it: ALTER EXTENSION vector UPDATE')::mnemo._problem;
    ELSIF NOT v_extension.usable THEN
        RETURN ROW('42501',
            format('the owner of schema mnemo may not use schema %I, which pgvector is in',
                v_extension.nspname),
            NULL, format('GRANT USAGE ON SCHEMA %I TO %s', v_extension.nspname,
                mnemo._owner()::regrole))::mnemo._problem;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._server_problem(bigint) IS
    'What keeps vectors of so many dimensions from being stored here: no pgvector, too old a '
    'version (0A000), a schema that is closed to the owner (42501); NULL for nothing.';

CREATE FUNCTION mnemo._model_problem(
    p_model text,
    p_dimensions bigint,
    p_distance text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_problem mnemo._problem;
    v_there mnemo.vector_model;
BEGIN
    v_problem := mnemo._first_problem(ARRAY[
        mnemo._model_name_problem(p_model),
        CASE WHEN (p_dimensions BETWEEN 1 AND 16000) IS NOT TRUE THEN
            mnemo._argument('p_dimensions',
                format('p_dimensions must be from 1 to 16000; got %s',
                    coalesce(p_dimensions::text, 'NULL')),
                'pass how many numbers a vector of the model has')
        END,
        mnemo._label_problem('p_distance', 'vector_distance', p_distance)
    ]);
    IF v_problem.code IS NOT NULL THEN
        RETURN v_problem;
    END IF;
    SELECT * INTO v_there FROM mnemo.vector_model AS v WHERE v.name = p_model;
    IF FOUND AND (v_there.dimensions, v_there.distance) <> (p_dimensions, p_distance) THEN
        RETURN mnemo._argument(
            CASE WHEN v_there.dimensions <> p_dimensions THEN 'p_dimensions' ELSE 'p_distance' END,
            format('model %s is enabled with %s dimensions and distance %s', mnemo._shown(p_model),
                v_there.dimensions, v_there.distance),
            'use another name, or mnemo.disable_vectors first, which drops its vectors');
    END IF;
    RETURN mnemo._server_problem(p_dimensions);
END
$fn$;
COMMENT ON FUNCTION mnemo._model_problem(text, bigint, text) IS
    'What keeps a model from being enabled: its arguments, another one of this name, the server; '
    'NULL for nothing.';

CREATE FUNCTION mnemo._vector_types(
    p_model mnemo.vector_model,
    p_plans boolean
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_schema text := (
        SELECT quote_ident(n.nspname)
          FROM pg_extension AS e
          JOIN pg_namespace AS n ON n.oid = e.extnamespace
         WHERE e.extname = 'vector'
    );
    -- A threshold must mean the same for every model, so plans are always compared by cosine.
    v_distance text := CASE WHEN p_plans THEN 'cosine' ELSE p_model.distance END;
    v_half boolean := p_model.dimensions BETWEEN 2001 AND 4000;
    -- What the index holds of a vector: of unit length, halves neither overflow nor underflow.
    v_indexed text := CASE
        WHEN NOT v_half THEN '%2$s'
        WHEN v_distance = 'cosine' THEN '(%1$s.l2_normalize(%2$s))::%1$s.halfvec(%3$s)'
        ELSE '(%2$s)::%1$s.halfvec(%3$s)' END;
BEGIN
    RETURN jsonb_build_object(
        'schema', v_schema,
        'type', format('%s.vector(%s)', v_schema, p_model.dimensions),
        'operator', format('OPERATOR(%s.%s)', v_schema,
            CASE v_distance WHEN 'cosine' THEN '<=>' WHEN 'l2' THEN '<->' ELSE '<#>' END),
        'class', format('%s.%s_%s_ops', v_schema, CASE WHEN v_half THEN 'halfvec' ELSE 'vector' END,
            CASE v_distance WHEN 'inner_product' THEN 'ip' ELSE v_distance END),
        'column', format(v_indexed, v_schema, 'embedding', p_model.dimensions),
        'entry', format(v_indexed, v_schema, 'e.embedding', p_model.dimensions),
        'asked', format(v_indexed, v_schema,
            format('p_embedding::%s.vector(%s)', v_schema, p_model.dimensions), p_model.dimensions)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._vector_types(mnemo.vector_model, boolean) IS
    'How statements name what a table of a model needs of pgvector: schema, type, operator of its '
    'distance (p_plans: cosine), operator class and indexed expression of its column (halfvec above '
    '2,000 dimensions).';
