CREATE FUNCTION mnemo._make_vector_functions(
    p_model mnemo.vector_model
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_function record;
    v_name text;
BEGIN
    FOR v_function IN
        SELECT f.*, k.plans, mnemo._vector_types(p_model, k.plans) AS types FROM (VALUES
            ('facts', 'p_embedding text',
             'TABLE (dimensions integer, length double precision)',
             'STABLE PARALLEL SAFE ROWS 1',
             'SELECT %2$s.vector_dims(v.embedding), %2$s.vector_norm(v.embedding)
                FROM (SELECT p_embedding::%2$s.vector AS embedding OFFSET 0) AS v',
             'Dimensions and length of a vector; raises what pgvector finds wrong with the text.'),
            ('store', 'p_org_ids text[], p_ids uuid[], p_embeddings text[]', 'void',
             'VOLATILE PARALLEL UNSAFE',
             'INSERT INTO mnemo.%1$I AS e (org_id, memory_id, embedding)
              SELECT u.org_id, u.id, u.embedding::%3$s
                FROM unnest(p_org_ids, p_ids, p_embeddings) AS u(org_id, id, embedding)
                  ON CONFLICT (org_id, memory_id) DO UPDATE SET embedding = excluded.embedding',
             'Stores vectors of records, in place of those that they had.'),
            ('distances', 'p_org_id text, p_ids uuid[], p_embedding text',
             'TABLE (memory_id uuid, distance double precision)', 'STABLE PARALLEL SAFE',
             'SELECT e.memory_id, e.embedding %4$s p_embedding::%3$s
                FROM unnest(p_ids) AS u(id)
                JOIN mnemo.%1$I AS e ON e.org_id = p_org_id AND e.memory_id = u.id',
             'Distances of these records from a vector.'),
            ('nearest', 'p_org_id text, p_embedding text',
             'TABLE (org_id text, memory_id uuid, distance double precision)',
             'STABLE PARALLEL SAFE',
             'SELECT e.org_id, e.memory_id, e.embedding %4$s p_embedding::%3$s
                FROM mnemo.%1$I AS e
               WHERE e.org_id IN (p_org_id, ''*'')
               ORDER BY %5$s %4$s %6$s',
             'Records of an organisation, and global ones, in the order of the index.')
        ) AS f(name, parameters, result, kind, body, meaning)
        CROSS JOIN (VALUES (false), (true)) AS k(plans)
         WHERE f.name <> 'facts' OR NOT k.plans
    LOOP
        v_name := format('_vector_%s%s_%s', CASE WHEN v_function.plans THEN 'plan' END,
            v_function.name, p_model.suffix);
        EXECUTE format(
            'CREATE FUNCTION mnemo.%I(%s) RETURNS %s LANGUAGE sql %s BEGIN ATOMIC %s; END',
            v_name, v_function.parameters, v_function.result, v_function.kind,
            format(v_function.body, mnemo._vector_table(p_model, v_function.plans),
                v_function.types ->> 'schema', v_function.types ->> 'type',
                v_function.types ->> 'operator', v_function.types ->> 'entry',
                v_function.types ->> 'asked')
        );
        EXECUTE format('COMMENT ON FUNCTION mnemo.%I IS %L', v_name, v_function.meaning);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._make_vector_functions(mnemo.vector_model) IS
    'Makes the functions of a model, whose tables are there: all that names types and operators of '
    'pgvector. Those for plans have plan before what they do.';

CREATE FUNCTION mnemo._drop_vector_functions(
    p_model mnemo.vector_model
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_function regprocedure;
BEGIN
    FOR v_function IN
        SELECT p.oid
          FROM pg_proc AS p
         WHERE p.pronamespace = 'mnemo'::regnamespace
           AND p.proname ~ ('^_vector_[a-z]+_' || p_model.suffix || '$')
         ORDER BY p.proname
    LOOP
        EXECUTE format('DROP FUNCTION %s', v_function);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._drop_vector_functions(mnemo.vector_model) IS
    'Drops the functions of a model, those of earlier versions too.';

CREATE FUNCTION mnemo._make_vector_table(
    p_model mnemo.vector_model,
    p_plans boolean
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_table text := mnemo._vector_table(p_model, p_plans);
BEGIN
    IF to_regclass('mnemo.' || v_table) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format(
        'CREATE TABLE mnemo.%1$I (org_id text NOT NULL, memory_id uuid NOT NULL,'
        ' embedding %4$s NOT NULL, CONSTRAINT %2$I PRIMARY KEY (org_id, memory_id),'
        ' CONSTRAINT %3$I FOREIGN KEY (org_id, memory_id)'
        ' REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE)',
        v_table, v_table || '_pkey', v_table || '_memory_id_fkey',
        mnemo._vector_types(p_model, p_plans) ->> 'type'
    );
    -- Statistics would keep what is made of people's words after erasure.
    EXECUTE format('ALTER TABLE mnemo.%I ALTER COLUMN embedding SET STATISTICS 0', v_table);
    EXECUTE format('COMMENT ON TABLE mnemo.%I IS %L', v_table,
        format('Vectors of %s, model %s, see mnemo.vector_model.',
            CASE WHEN p_plans THEN 'plans' ELSE 'memories' END, p_model.name));
    EXECUTE format('COMMENT ON COLUMN mnemo.%I.org_id IS %L', v_table, 'org_id of the record.');
    EXECUTE format('COMMENT ON COLUMN mnemo.%I.memory_id IS %L', v_table,
        'Id of the record in memory.');
    EXECUTE format('COMMENT ON COLUMN mnemo.%I.embedding IS %L', v_table, 'Vector of its content.');
END
$fn$;
COMMENT ON FUNCTION mnemo._make_vector_table(mnemo.vector_model, boolean) IS
    'Makes a table of a model where it is missing.';

CREATE FUNCTION mnemo._make_vector_index(
    p_model mnemo.vector_model,
    p_plans boolean
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_types jsonb := mnemo._vector_types(p_model, p_plans);
    v_table text := mnemo._vector_table(p_model, p_plans);
    v_index text := v_table || '_embedding_idx';
BEGIN
    IF p_model.dimensions > 4000 OR to_regclass(format('mnemo.%I', v_index)) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE INDEX %I ON mnemo.%I USING hnsw ((%s) %s)', v_index, v_table,
        v_types ->> 'column', v_types ->> 'class');
    IF v_types ->> 'column' <> 'embedding' THEN
        EXECUTE format('ALTER INDEX mnemo.%I ALTER COLUMN 1 SET STATISTICS 0', v_index);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._make_vector_index(mnemo.vector_model, boolean) IS
    'Makes the index of a table of a model where it is missing; pgvector has none above 4,000 '
    'dimensions.';

CREATE FUNCTION mnemo._close_vectors(
    p_model mnemo.vector_model
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_statement text;
BEGIN
    FOR v_statement IN
        SELECT DISTINCT format('REVOKE ALL ON %s FROM %s CASCADE', x.object,
                   coalesce(quote_ident(r.rolname), 'PUBLIC'))
          FROM (
            SELECT 'FUNCTION ' || p.oid::regprocedure::text AS object, p.proowner AS owner,
                   coalesce(p.proacl, acldefault('f', p.proowner)) AS acl
              FROM pg_proc AS p
             WHERE p.pronamespace = 'mnemo'::regnamespace
               AND p.proname ~ ('^_vector_[a-z]+_' || p_model.suffix || '$')
            UNION ALL
            SELECT 'TABLE ' || c.oid::regclass::text, c.relowner, c.relacl
              FROM pg_class AS c
              JOIN (VALUES (false), (true)) AS k(plans)
                ON c.oid = format('mnemo.%I', mnemo._vector_table(p_model, k.plans))::regclass
          ) AS x
         CROSS JOIN aclexplode(x.acl) AS a
          LEFT JOIN pg_roles AS r ON r.oid = a.grantee
         WHERE a.grantee <> x.owner
    LOOP
        EXECUTE v_statement;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._close_vectors(mnemo.vector_model) IS
    'Takes from everybody but the owner what default privileges gave on the objects of a model.';

CREATE FUNCTION mnemo._make_vector_objects(
    p_model mnemo.vector_model
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plans boolean;
BEGIN
    FOREACH v_plans IN ARRAY ARRAY[false, true] LOOP
        PERFORM mnemo._make_vector_table(p_model, v_plans);
        PERFORM mnemo._make_vector_index(p_model, v_plans);
    END LOOP;
    PERFORM mnemo._make_vector_functions(p_model);
    PERFORM mnemo._close_vectors(p_model);
END
$fn$;
COMMENT ON FUNCTION mnemo._make_vector_objects(mnemo.vector_model) IS
    'Makes what is missing of the tables and indexes of a model, and its functions, of which there '
    'is none.';
