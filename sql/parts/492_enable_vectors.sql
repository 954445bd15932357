CREATE FUNCTION mnemo.enable_vectors(
    p_model text,
    p_dimensions bigint,
    p_distance text DEFAULT 'cosine'
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_model mnemo.vector_model;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(mnemo._model_problem(p_model, p_dimensions, p_distance));
    -- One at a time; then whoever waited looks again.
    LOCK TABLE mnemo.vector_model IN SHARE ROW EXCLUSIVE MODE;
    PERFORM mnemo._raise_problem(mnemo._model_problem(p_model, p_dimensions, p_distance));
    IF EXISTS (SELECT FROM mnemo.vector_model AS v WHERE v.name = p_model) THEN
        RETURN;
    END IF;
    INSERT INTO mnemo.vector_model AS v (name, suffix, dimensions, distance, rules_version)
    VALUES (p_model, encode(substring(sha256(mnemo._utf8(p_model)) FROM 1 FOR 8), 'hex'),
            p_dimensions, p_distance, mnemo._vector_rules_version())
    RETURNING v.* INTO v_model;
    PERFORM mnemo._make_vector_objects(v_model);
END
$fn$;
COMMENT ON FUNCTION mnemo.enable_vectors(text, bigint, text) IS
    'Lets records have embeddings of a model: makes for it a table and an HNSW index for memories, '
    'the same for plans, and functions. '
    'Needs pgvector, in whichever schema. p_model: any name, up to 256 characters; several models '
    'can be enabled. p_dimensions: 1 to 16,000; above 2,000 the index holds numbers of half '
    'precision, above 4,000 there is none and every search is exact. p_distance: cosine, l2 or '
    'inner_product, and holds for memories: plans are compared by cosine. A model that is enabled with the same arguments is left as it is. What is made '
    'is no member of the extension: dumps carry it, updates leave it alone, see '
    'mnemo.refresh_models. Level admin only. Errors: 42501 not an administrator, or pgvector''s '
    'schema is closed to the owner; 0A000 no pgvector or too old a version; 22023 bad argument, '
    'model enabled otherwise; 54000 name too long.';

CREATE FUNCTION mnemo.disable_vectors(
    p_model text
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_model mnemo.vector_model;
    v_table record;
    v_count bigint;
    v_sum bigint := 0;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(mnemo._model_name_problem(p_model));
    LOCK TABLE mnemo.vector_model IN SHARE ROW EXCLUSIVE MODE;
    SELECT v.* INTO v_model FROM mnemo.vector_model AS v WHERE v.name = p_model;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_problem(mnemo._unknown_model(p_model));
    END IF;
    PERFORM mnemo._drop_vector_functions(v_model);
    FOR v_table IN SELECT t.name FROM mnemo._vector_tables() AS t WHERE t.model = v_model.name LOOP
        EXECUTE format('SELECT count(*) FROM mnemo.%I', v_table.name) INTO v_count;
        EXECUTE format('DROP TABLE mnemo.%I', v_table.name);
        v_sum := v_sum + v_count;
    END LOOP;
    DELETE FROM mnemo.vector_model AS v WHERE v.name = v_model.name;
    RETURN v_sum;
END
$fn$;
COMMENT ON FUNCTION mnemo.disable_vectors(text) IS
    'Drops a model with all its vectors; records stay. Returns how many vectors there were. Level '
    'admin only. Errors: 42501 not an administrator; 55000 not enabled; 22023 NULL or blank; 54000 '
    'name too long.';

CREATE FUNCTION mnemo.refresh_models() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_model mnemo.vector_model;
    v_count bigint := 0;
BEGIN
    PERFORM mnemo._require_admin();
    LOCK TABLE mnemo.vector_model IN SHARE ROW EXCLUSIVE MODE;
    FOR v_model IN SELECT v.* FROM mnemo.vector_model AS v ORDER BY v.name LOOP
        PERFORM mnemo._raise_problem(mnemo._server_problem(v_model.dimensions));
        PERFORM mnemo._drop_vector_functions(v_model);
        PERFORM mnemo._make_vector_objects(v_model);
        UPDATE mnemo.vector_model AS v
           SET rules_version = mnemo._vector_rules_version()
         WHERE v.name = v_model.name;
        v_count := v_count + 1;
    END LOOP;
    RETURN v_count;
END
$fn$;
COMMENT ON FUNCTION mnemo.refresh_models() IS
    'Makes the functions of every enabled model anew, after an update of mnemo_pg or pgvector, and '
    'what is missing of its tables and indexes: an index dropped for a bulk load comes back, which '
    'takes its time. Vectors stay. Returns the number of models. Level admin only. Errors: 42501 '
    'not an administrator, or pgvector''s schema is closed to the owner; 0A000 no pgvector or too '
    'old a version.';
