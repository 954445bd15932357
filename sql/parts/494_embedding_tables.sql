CREATE FUNCTION mnemo._vector_tables()
RETURNS TABLE (model text, name text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT v.name, mnemo._vector_table(v, k.plans)
      FROM mnemo.vector_model AS v
      CROSS JOIN (VALUES (false), (true)) AS k(plans)
     WHERE to_regclass('mnemo.' || mnemo._vector_table(v, k.plans)) IS NOT NULL
     ORDER BY v.name, k.plans;
END;
COMMENT ON FUNCTION mnemo._vector_tables() IS
    'The tables of the enabled models, that of memories before that of plans; all but in a half '
    'restored database.';

CREATE FUNCTION mnemo._drop_embeddings(
    p_org_id text,
    p_ids uuid[]
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_table text;
    v_count bigint;
    v_sum bigint := 0;
BEGIN
    FOR v_table IN SELECT t.name FROM mnemo._vector_tables() AS t LOOP
        EXECUTE format('DELETE FROM mnemo.%I AS e WHERE e.org_id = $1 AND e.memory_id = ANY ($2)',
            v_table) USING p_org_id, p_ids;
        GET DIAGNOSTICS v_count = ROW_COUNT;
        v_sum := v_sum + v_count;
    END LOOP;
    RETURN v_sum;
END
$fn$;
COMMENT ON FUNCTION mnemo._drop_embeddings(text, uuid[]) IS
    'Removes the embeddings of records, of all models; returns how many there were.';

CREATE FUNCTION mnemo._embedding_page(
    p_org_id text,
    p_after text[],
    p_limit bigint,
    p_global boolean
)
RETURNS SETOF mnemo.embedding
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 500
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_model record;
    v_left bigint := p_limit;
    v_count bigint;
BEGIN
    FOR v_model IN
        SELECT t.model AS name,
               string_agg(format('SELECT v.* FROM mnemo.%I AS v', t.name), ' UNION ALL ') AS vectors
          FROM mnemo._vector_tables() AS t
         WHERE p_after IS NULL OR t.model >= p_after[1]
         GROUP BY t.model
         ORDER BY t.model
    LOOP
        RETURN QUERY EXECUTE format(
            'SELECT $1, e.org_id, e.memory_id, e.embedding::text FROM (%s) AS e'
            ' WHERE (e.org_id, e.memory_id) > ($2, $3) AND %s'
            ' ORDER BY e.org_id, e.memory_id LIMIT $5',
            v_model.vectors,
            CASE WHEN p_org_id IS NULL THEN '$4 IS NULL'
                WHEN NOT p_global THEN 'e.org_id = $4'
                ELSE 'e.org_id = ''*'' AND EXISTS (SELECT FROM mnemo.memory AS m'
                    ' WHERE m.org_id = ''*'' AND m.id = e.memory_id AND m.origin_org_id = $4)' END
        ) USING v_model.name,
            CASE WHEN v_model.name = p_after[1] THEN p_after[2] ELSE '' END,
            CASE WHEN v_model.name = p_after[1] THEN p_after[3]::uuid
                ELSE '00000000-0000-0000-0000-000000000000' END,
            p_org_id, v_left;
        GET DIAGNOSTICS v_count = ROW_COUNT;
        v_left := v_left - v_count;
        EXIT WHEN v_left <= 0;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._embedding_page(text, text[], bigint, boolean) IS
    'A page of embeddings by model, organisation and id, after those of p_after: of all '
    'organisations (p_org_id NULL), of one, or (p_global) of the global records that it wrote.';

CREATE FUNCTION mnemo._import_models(
    p_rows jsonb[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_row jsonb;
BEGIN
    FOREACH v_row IN ARRAY p_rows LOOP
        IF EXISTS (SELECT FROM mnemo.vector_model AS v WHERE v.name = v_row ->> 'name') THEN
            -- As a row would say that is inserted twice: the caller then goes one by one.
            PERFORM mnemo._raise('23505', 'the model is there already');
        END IF;
        PERFORM mnemo.enable_vectors(
            v_row ->> 'name', (v_row -> 'dimensions')::bigint, v_row ->> 'distance');
        UPDATE mnemo.vector_model AS v SET created_at = (v_row ->> 'created_at')::timestamptz
         WHERE v.name = v_row ->> 'name';
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._import_models(jsonb[]) IS
    'Enables models of an export, as mnemo.enable_vectors does. Raises 23505 for one that is there.';

CREATE FUNCTION mnemo._import_embeddings(
    p_rows jsonb[]
)
RETURNS TABLE (place bigint, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 500
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_row record;
    v_model mnemo.vector_model;
    v_there text;
    v_problem mnemo._problem;
BEGIN
    FOR v_row IN
        SELECT r.model, r.org_id, r.memory_id, r.embedding, u.place,
               EXISTS (
                    SELECT FROM mnemo.memory AS m
                     WHERE m.org_id = r.org_id AND m.id = r.memory_id
                       AND m.tags @> ARRAY[mnemo._reserved_tag()]) AS plan
          FROM unnest(p_rows) WITH ORDINALITY AS u(item, place)
          CROSS JOIN LATERAL jsonb_populate_record(NULL::mnemo.embedding, u.item) AS r
         ORDER BY u.place
    LOOP
        place := v_row.place;
        status := 'failed';
        error := NULL;
        v_model := mnemo._model_of(coalesce(v_row.model, ''));
        IF v_model.name IS NULL THEN
            v_problem := mnemo._unknown_model(v_row.model);
        ELSE
            v_problem := mnemo._vector_problem(v_row.embedding, v_model);
            EXECUTE format('SELECT e.embedding::text FROM mnemo.%I AS e'
                ' WHERE e.org_id = $1 AND e.memory_id = $2',
                mnemo._vector_table(v_model, v_row.plan))
               INTO v_there USING v_row.org_id, v_row.memory_id;
        END IF;
        IF v_problem.code IS NOT NULL THEN
            error := v_problem.message;
        ELSIF v_there = v_row.embedding THEN
            status := 'present';
        ELSIF v_there IS NOT NULL THEN
            error := 'another one with this key is there';
        ELSE
            status := 'imported';
            PERFORM mnemo._store_embedding(
                v_row.embedding, v_row.model, v_row.org_id, v_row.memory_id, v_row.plan);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._import_embeddings(jsonb[]) IS
    'What _import_rows does, for embeddings.';
