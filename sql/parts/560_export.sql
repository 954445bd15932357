CREATE TYPE mnemo._export_section AS (
    place integer,
    table_name text,
    global boolean,
    keys text[],
    one text,
    same text,
    wrong text
);
COMMENT ON TYPE mnemo._export_section IS
    'A table, or the part of it that organisation * holds, as export and import treat it. keys: '
    'expressions of a row t that order it; one: condition of one organisation, $1 (NULL: not in an '
    'export of one); same: whether row e that is there and row r of the file are the same; wrong: '
    'what is wrong with row r, or NULL.';

CREATE FUNCTION mnemo._export_sections() RETURNS SETOF mnemo._export_section
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 21
BEGIN ATOMIC
    -- A row is written after those that it refers to. What is not here is derived, see _derive.
    SELECT s.place, s.table_name, s.global, s.keys, s.one, s.same, s.wrong
      FROM (VALUES
        (1, 'settings', false, ARRAY['t.org_id', 't.name'], 't.org_id = $1', 'e.value = r.value',
         'CASE WHEN mnemo._setting_default(r.name) IS NULL THEN ''there is no such setting'''
         ' ELSE (mnemo._setting_problem(r.name, r.value, r.org_id)).message END'),
        (2, 'poisoning_rule', false, ARRAY['t.org_id', 't.name'], 't.org_id = $1',
         'to_jsonb(e) - ''updated_at'' = to_jsonb(r) - ''updated_at''',
         '(mnemo._rule_problem(r.name, r.pattern, r.weight, r.applies_to, r.enabled, r.org_id))'
         '.message'),
        (3, 'memory', false, ARRAY['t.org_id', 't.id'], 't.org_id = $1',
         'e.content_hash = r.content_hash',
         'CASE WHEN r.nonce IS NOT NULL AND mnemo._content_hash(r) <> r.content_hash'
         ' THEN ''content_hash is not the hash of this record'' END'),
        (4, 'memory', true, ARRAY['t.org_id', 't.id'],
         't.org_id = ''*'' AND t.origin_org_id = $1', NULL, NULL),
        (5, 'acl', false, ARRAY['t.org_id', 't.memory_id', 't.agent_id'], 't.org_id = $1',
         'to_jsonb(e) = to_jsonb(r)', NULL),
        (6, 'acl', true, ARRAY['t.org_id', 't.memory_id', 't.agent_id'],
         't.org_id = ''*'' AND EXISTS (SELECT FROM mnemo.memory AS m WHERE m.org_id = ''*'''
         ' AND m.id = t.memory_id AND m.origin_org_id = $1)', NULL, NULL),
        (7, 'delegation', false, ARRAY['t.org_id', 't.id'], 't.org_id = $1',
         'to_jsonb(e) - ''revoked_at'' = to_jsonb(r) - ''revoked_at'''
         ' AND (r.revoked_at IS NULL OR r.revoked_at = e.revoked_at)', NULL),
        (8, 'event', false, ARRAY['t.org_id', 't.id'], 't.org_id = $1',
         'to_jsonb(e) - ''{seq,prev_hash,hash}''::text[]'
         ' = to_jsonb(r) - ''{seq,prev_hash,hash}''::text[]'
         ' AND (r.seq IS NULL OR r.seq = e.seq AND r.hash = e.hash)', NULL),
        (9, 'event_note', false, ARRAY['t.org_id', 't.event_id'], 't.org_id = $1',
         'e.salt = r.salt AND e.note = r.note', NULL),
        (10, 'chain_head', false, ARRAY['t.org_id', 't.agent_id'], 't.org_id = $1',
         'e.seq = r.seq AND e.hash = r.hash OR e.seq > r.seq AND (e.anchor_seq > r.seq'
         ' OR e.anchor_seq = r.seq AND e.anchor_hash = r.hash OR EXISTS (SELECT'
         ' FROM mnemo.event AS v WHERE v.org_id = r.org_id AND v.agent_id = r.agent_id'
         ' AND v.seq = r.seq AND v.hash = r.hash))', NULL),
        (11, 'idempotency', false, ARRAY['t.org_id', 't.agent_id', 't.key'], 't.org_id = $1',
         'e.memory_org_id = r.memory_org_id AND e.memory_id = r.memory_id', NULL),
        (12, 'vector_model', false, ARRAY['t.name'], 'true',
         'e.dimensions = r.dimensions AND e.distance = r.distance',
         '(mnemo._model_problem(r.name, r.dimensions, r.distance)).message'),
        (13, 'embedding', false, ARRAY['t.model', 't.org_id', 't.memory_id'], 'true', NULL, NULL),
        (14, 'embedding', true, ARRAY['t.model', 't.org_id', 't.memory_id'], 'true', NULL, NULL),
        (15, 'role_level', false, ARRAY['t.role_name'], NULL, 'e.level = r.level', NULL),
        (16, 'role_binding', false,
         ARRAY['t.org_id', 't.role_name', 'coalesce(t.agent_id, '''')'], 't.org_id = $1', 'true',
         NULL),
        (17, 'chunk_state', false, ARRAY['t.org_id', 't.source', 't.chunk_id'], 't.org_id = $1',
         'e.changed_at >= r.changed_at', NULL),
        (18, 'plan_check', false, ARRAY['t.org_id', 't.plan_id'], 't.org_id = $1',
         'e.checked_at >= r.checked_at', NULL),
        (19, 'plan_check', true, ARRAY['t.org_id', 't.plan_id'],
         't.org_id = ''*'' AND EXISTS (SELECT FROM mnemo.memory AS m WHERE m.org_id = ''*'''
         ' AND m.id = t.plan_id AND m.origin_org_id = $1)', NULL, NULL),
        (20, 'plan_report', false, ARRAY['t.org_id', 't.plan_id', 't.id'], 't.org_id = $1',
         'to_jsonb(e) - ''{counts,folded}''::text[] = to_jsonb(r) - ''{counts,folded}''::text[]',
         NULL),
        -- What other organisations reported is theirs.
        (21, 'plan_report', true, ARRAY['t.org_id', 't.plan_id', 't.id'],
         't.org_id = ''*'' AND t.reporter_org_id = $1 AND EXISTS (SELECT FROM mnemo.memory AS m'
         ' WHERE m.org_id = ''*'' AND m.id = t.plan_id AND m.origin_org_id = $1)', NULL, NULL),
        (22, 'recall_log', false, ARRAY['t.org_id', 't.id'], 't.org_id = $1', 'true', NULL)
      ) AS s(place, table_name, global, keys, one, same, wrong)
     ORDER BY s.place;
END;
COMMENT ON FUNCTION mnemo._export_sections() IS
    'What an export holds, in its order, and how import compares it.';

CREATE FUNCTION mnemo._line_sum(
    p_table text,
    p_row jsonb
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encode(substring(sha256(mnemo._utf8(p_table || ' ' || p_row::text)) FROM 1 FOR 16), 'hex');
COMMENT ON FUNCTION mnemo._line_sum(text, jsonb) IS
    'The first 128 bits of SHA-256 over the table''s name, a space and the row as jsonb writes it: '
    'by it import sees that a line was changed, in columns too that no content_hash covers.';

CREATE FUNCTION mnemo._export_line(
    p_table text,
    p_row jsonb
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{"table": "' || p_table || '", "row": ' || p_row::text || ', "sum": "'
    || mnemo._line_sum(p_table, p_row) || '"}';
COMMENT ON FUNCTION mnemo._export_line(text, jsonb) IS 'One line of an export.';

CREATE FUNCTION mnemo._export_header(
    p_org_id text,
    p_roles boolean
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._export_line('export', jsonb_build_object(
    'format', 1, 'version', mnemo.version(), 'org_id', p_org_id, 'roles', p_roles));
COMMENT ON FUNCTION mnemo._export_header(text, boolean) IS
    'The first line of an export: format, version, organisation (null: all), whether roles follow.';

CREATE FUNCTION mnemo._export_query(
    p_section mnemo._export_section,
    p_all boolean,
    p_first boolean
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_table regclass := format('mnemo.%I', p_section.table_name)::regclass;
    v_source text := v_table::text;
    v_floats text;
    v_after text;
BEGIN
    -- A JSON number knows no negative zero.
    SELECT string_agg(format('%L, t.%I::text', a.attname, a.attname), ', ') INTO v_floats
      FROM pg_attribute AS a
     WHERE a.attrelid = v_table AND a.atttypid IN ('float8'::regtype, 'float4'::regtype)
       AND NOT a.attisdropped;
    IF NOT p_first THEN
        SELECT format('(%s) > (%s)', string_agg(k.key, ', ' ORDER BY k.place),
                   string_agg(format('($2)[%s]::%s', k.place,
                       coalesce(format_type(a.atttypid, NULL), 'text')), ', ' ORDER BY k.place))
          INTO v_after
          FROM unnest(p_section.keys) WITH ORDINALITY AS k(key, place)
          LEFT JOIN pg_attribute AS a
            ON a.attrelid = v_table AND k.key = 't.' || a.attname;
    END IF;
    IF p_section.table_name = 'embedding' THEN
        v_source := format('mnemo._embedding_page(%s, %s, $3, %L)',
            CASE WHEN p_all THEN 'NULL' ELSE '$1' END,
            CASE WHEN p_first THEN 'NULL' ELSE '$2' END, p_section.global);
    END IF;
    RETURN format('SELECT to_jsonb(t)%s AS item, ARRAY[%s] AS keys FROM %s AS t WHERE %s AND %s'
            ' ORDER BY %s LIMIT $3',
        ' || jsonb_build_object(' || v_floats || ')',
        (SELECT string_agg(format('(%s)::text', k.key), ', ' ORDER BY k.place)
           FROM unnest(p_section.keys) WITH ORDINALITY AS k(key, place)),
        v_source, CASE WHEN p_all THEN 'true' ELSE p_section.one END, coalesce(v_after, 'true'),
        array_to_string(p_section.keys, ', '));
END
$fn$;
COMMENT ON FUNCTION mnemo._export_query(mnemo._export_section, boolean, boolean) IS
    'The statement for a page of a section: $1 the organisation, $2 the keys of the row before as '
    'text, $3 the number of rows. Made of names in the catalog and of _export_sections only.';

CREATE FUNCTION mnemo._export_place(
    p_last text,
    p_one boolean,
    OUT place integer,
    OUT keys text[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_last jsonb;
    v_row jsonb;
BEGIN
    BEGIN
        v_last := p_last::jsonb;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
        v_last := NULL;
    END;
    v_row := v_last -> 'row';
    IF v_last ->> 'table' = 'export' THEN
        place := 0;
    ELSE
        SELECT s.place,
               ARRAY(SELECT coalesce(v_row ->> substring(k.key FROM 't[.]([a-z_]+)'), '')
                       FROM unnest(s.keys) WITH ORDINALITY AS k(key, n) ORDER BY k.n)
          INTO place, keys
          FROM mnemo._export_sections() AS s
         WHERE s.table_name = v_last ->> 'table'
           AND s.global = (p_one AND coalesce(v_row ->> 'org_id', '') = '*');
    END IF;
    IF place IS NULL
        OR (mnemo._line_sum(v_last ->> 'table', v_row) = v_last ->> 'sum') IS NOT TRUE
    THEN
        PERFORM mnemo._raise_argument('p_last',
            'p_last must be a line that this export gave; got ' || mnemo._shown(p_last),
            'pass the last record of the page before, unchanged');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._export_place(text, boolean) IS
    'The section of an exported line and the keys of its row. Raises 22023 for any other text.';

CREATE FUNCTION mnemo.export_records(
    p_org_id text DEFAULT NULL,
    p_last text DEFAULT NULL,
    p_limit bigint DEFAULT 1000,
    p_roles boolean DEFAULT false
)
RETURNS TABLE (rank bigint, record text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 500
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON shows times, bytes and floating-point numbers as these say.
SET timezone = 'UTC'
SET bytea_output = 'hex'
SET extra_float_digits = 1
SET jit = off
AS $fn$
DECLARE
    v_section mnemo._export_section;
    v_from record;
    v_found record;
    v_bytes bigint := 0;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN p_org_id IS NOT NULL THEN mnemo._identifier_problem('p_org_id', p_org_id) END,
        CASE WHEN (p_limit BETWEEN 1 AND 10000) IS NOT TRUE THEN mnemo._argument('p_limit',
            format('p_limit must be from 1 to 10000; got %s', coalesce(p_limit::text, 'NULL')),
            'page through larger exports') END,
        CASE WHEN p_roles IS NULL THEN mnemo._argument('p_roles', 'p_roles must not be NULL',
            'pass true to export levels and bindings of roles too') END
    ]));
    rank := 0;
    IF p_last IS NULL THEN
        rank := 1;
        record := mnemo._export_header(p_org_id, p_roles);
        RETURN NEXT;
        SELECT 0 AS place, NULL::text[] AS keys INTO v_from;
    ELSE
        SELECT * INTO v_from FROM mnemo._export_place(p_last, p_org_id IS NOT NULL);
    END IF;
    FOR v_section IN
        SELECT s.*
          FROM mnemo._export_sections() AS s
         WHERE s.place >= v_from.place
           AND CASE WHEN p_org_id IS NULL THEN NOT s.global ELSE s.one IS NOT NULL END
           AND (p_roles OR s.table_name NOT IN ('role_level', 'role_binding'))
         ORDER BY s.place
    LOOP
        EXIT WHEN rank >= p_limit;
        FOR v_found IN
            EXECUTE mnemo._export_query(
                v_section, p_org_id IS NULL, v_section.place > v_from.place)
            USING p_org_id, v_from.keys, p_limit - rank
        LOOP
            rank := rank + 1;
            record := mnemo._export_line(v_section.table_name, v_found.item);
            RETURN NEXT;
            v_bytes := v_bytes + octet_length(record);
            IF v_bytes >= 4194304 THEN
                RETURN;
            END IF;
        END LOOP;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo.export_records(text, text, bigint, boolean) IS
    'A page of an export, a line of JSON a row: settings, records (plans, deleted, quarantined '
    'and redacted ones too) with ids, nonces and hashes, grants, delegations, events with notes, '
    'heads of chains, idempotency keys, embeddings and their models, reports about plans, and with '
    'p_roles the levels and bindings of roles. '
    'p_org_id NULL: all organisations; else that one and the global records that it wrote. '
    'p_last: the last record of the page before, NULL for the first page. At most p_limit rows, '
    'and none after 4 MB; no row: the export is complete. All pages in one REPEATABLE READ '
    'transaction are one state of the database. Times are ISO 8601 in UTC with microseconds, '
    'bytes in hexadecimal, floating-point numbers as text. Level admin only. Errors: 42501 not an '
    'administrator; 22023 ill-formed organisation, p_last that no export gave, p_limit not from 1 '
    'to 10,000, p_roles NULL.';
