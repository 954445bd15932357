-- mnemo_pg 0.1.0: built from sql/parts by python -m mnemo_pg._build; do not edit.
-- Run by CREATE EXTENSION mnemo_pg, by Alembic, or by psql -1 -f (one transaction).

-- part: 000_begin.sql
-- The settings hold for this transaction, and prove that there is one: outside a transaction they are
-- gone in the next statement. The session stays read-only then: psql goes on after an error, and what
-- was refused here would be made all the same, in a schema of somebody else for one.
DO $path$
BEGIN
    PERFORM pg_catalog.set_config(
        'mnemo.saved_search_path', pg_catalog.current_setting('search_path'), true
    );
    PERFORM pg_catalog.set_config('search_path', 'mnemo, pg_temp', true);
    PERFORM pg_catalog.set_config(
        'mnemo.saved_read_only', pg_catalog.current_setting('default_transaction_read_only'), true
    );
    PERFORM pg_catalog.set_config('default_transaction_read_only', 'on', false);
END
$path$;

DO $transaction$
DECLARE
    v_read_only text := pg_catalog.current_setting('mnemo.saved_read_only', true);
BEGIN
    IF coalesce(v_read_only, '') = '' THEN
        RAISE EXCEPTION 'mnemo_pg needs one transaction; this session is read-only now'
            USING ERRCODE = '25P01', HINT = 'psql -X -1 -v ON_ERROR_STOP=1 -f mnemo_pg--...sql';
    END IF;
    PERFORM pg_catalog.set_config('default_transaction_read_only', v_read_only, false);
END
$transaction$;

-- part: 000_prelude.sql
DO $prelude$
DECLARE
    v_schema pg_catalog.pg_namespace;
BEGIN
    IF pg_catalog.current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'mnemo_pg needs a database in UTF8, this one is in %',
            pg_catalog.current_setting('server_encoding')
            USING ERRCODE = '0A000',
                HINT = 'CREATE DATABASE ... TEMPLATE template0 ENCODING ''UTF8''';
    END IF;
    SELECT n.* INTO v_schema FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'mnemo';
    IF FOUND THEN
        -- A stranger's schema, or a function planted in it beforehand, would run with our rights.
        IF v_schema.nspowner <> pg_catalog.to_regrole(pg_catalog.quote_ident(CURRENT_USER)) THEN
            RAISE EXCEPTION 'schema mnemo exists and belongs to another role'
                USING ERRCODE = '42P06', HINT = 'drop or rename that schema, then install again';
        END IF;
        IF EXISTS (
            SELECT FROM pg_catalog.pg_depend AS d
             WHERE d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
               AND d.refobjid = v_schema.oid
        ) THEN
            RAISE EXCEPTION 'schema mnemo exists and is not empty'
                USING ERRCODE = '42P06',
                    HINT = 'mnemo_pg may be installed already: SELECT mnemo.version(). '
                        'Otherwise drop or rename that schema';
        END IF;
        IF EXISTS (
            SELECT FROM pg_catalog.aclexplode(v_schema.nspacl) AS a
             WHERE a.grantee <> v_schema.nspowner
        ) THEN
            RAISE EXCEPTION 'schema mnemo exists and other roles hold privileges on it'
                USING ERRCODE = '42P06', HINT = 'drop that schema, then install again';
        END IF;
        -- Made anew, it belongs to the extension: dumped with it and dropped with it.
        DROP SCHEMA mnemo;
    END IF;
    BEGIN
        CREATE SCHEMA mnemo;
    EXCEPTION WHEN unique_violation OR duplicate_schema THEN
        RAISE EXCEPTION 'schema mnemo already exists: another session has just made it'
            USING ERRCODE = '42P06', HINT = 'look whether mnemo_pg is there: SELECT mnemo.version()';
    END;
END
$prelude$;

CREATE FUNCTION mnemo._require_server(
    p_version_num integer
)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF (p_version_num >= 150000) IS NOT TRUE THEN
        RAISE EXCEPTION 'mnemo_pg needs PostgreSQL 15 or newer, this server has %',
            coalesce((p_version_num / 10000)::text, 'no version')
            USING ERRCODE = '0A000', HINT = 'upgrade the server, then install again';
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_server(integer) IS
    'Raises 0A000 unless the version number (server_version_num, such as 150018) is PostgreSQL 15 '
    'or newer. NULL is refused too.';

DO $version$
BEGIN
    PERFORM mnemo._require_server(pg_catalog.current_setting('server_version_num')::integer);
END
$version$;

-- part: 010_errors.sql
-- Every error of the API is made here, so that code, DETAIL and HINT have one form. A rule that
-- serves both single calls and batches returns a problem; single calls raise it, batches report it.

CREATE TYPE mnemo._problem AS (
    code text,
    message text,
    parameter text,
    hint text
);
COMMENT ON TYPE mnemo._problem IS
    'An error that was found and not raised yet: SQLSTATE, message, parameter (as p_name), remedy.';

CREATE FUNCTION mnemo._raise(
    p_sqlstate text,
    p_message text,
    p_detail jsonb DEFAULT NULL,
    p_hint text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = p_sqlstate,
        MESSAGE = p_message,
        DETAIL = coalesce(p_detail, '{}')::text,
        HINT = coalesce(p_hint, 'the comment on the function gives the allowed values');
END
$fn$;
COMMENT ON FUNCTION mnemo._raise(text, text, jsonb, text) IS
    'Raises p_sqlstate with p_message; DETAIL is the JSON object p_detail, HINT the remedy. '
    'Volatile, so that no planner folds a call away or makes it early.';

CREATE FUNCTION mnemo._argument(
    p_parameter text,
    p_message text,
    p_hint text DEFAULT NULL
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW('22023', p_message, p_parameter, p_hint)::mnemo._problem;
COMMENT ON FUNCTION mnemo._argument(text, text, text) IS 'The problem 22023: a bad argument.';

CREATE FUNCTION mnemo._limit(
    p_parameter text,
    p_message text,
    p_hint text DEFAULT NULL
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW('54000', p_message, p_parameter, p_hint)::mnemo._problem;
COMMENT ON FUNCTION mnemo._limit(text, text, text) IS 'The problem 54000: over a limit.';

CREATE FUNCTION mnemo._raise_problem(
    p_problem mnemo._problem
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
AS $fn$
BEGIN
    IF p_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise(
            p_problem.code,
            p_problem.message,
            jsonb_strip_nulls(jsonb_build_object('parameter', p_problem.parameter)),
            p_problem.hint
        );
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._raise_problem(mnemo._problem) IS
    'Raises a problem; DETAIL is {"parameter": ...}. Does nothing for NULL.';

CREATE FUNCTION mnemo._first_problem(
    p_problems mnemo._problem[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_problem mnemo._problem;
    v_limit mnemo._problem;
BEGIN
    FOREACH v_problem IN ARRAY p_problems LOOP
        IF v_problem.code <> '54000' THEN
            RETURN v_problem;
        ELSIF v_limit.code IS NULL AND v_problem.code IS NOT NULL THEN
            v_limit := v_problem;
        END IF;
    END LOOP;
    RETURN v_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._first_problem(mnemo._problem[]) IS
    'The first problem, limits (54000) after all others; NULL when there is none.';

CREATE FUNCTION mnemo._access(
    p_message text,
    p_parameter text,
    p_hint text
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW('42501', p_message, p_parameter, p_hint)::mnemo._problem;
COMMENT ON FUNCTION mnemo._access(text, text, text) IS
    'The problem 42501: the role or the acting agent may not do this.';

CREATE FUNCTION mnemo._raise_argument(
    p_parameter text,
    p_message text,
    p_hint text DEFAULT NULL
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise_problem(mnemo._argument(p_parameter, p_message, p_hint));
COMMENT ON FUNCTION mnemo._raise_argument(text, text, text) IS
    'Raises 22023 for a bad argument; DETAIL is {"parameter": p_parameter}.';

CREATE FUNCTION mnemo._raise_limit(
    p_parameter text,
    p_message text,
    p_hint text DEFAULT NULL
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise_problem(mnemo._limit(p_parameter, p_message, p_hint));
COMMENT ON FUNCTION mnemo._raise_limit(text, text, text) IS
    'Raises 54000 for an argument over a limit; DETAIL is {"parameter": p_parameter}.';

CREATE FUNCTION mnemo._raise_not_found(
    p_parameter text,
    p_ids uuid[]
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise(
    'MN001',
    p_parameter || ': no such record for this agent: ' || array_to_string(p_ids[1:10], ', '),
    jsonb_build_object('parameter', p_parameter, 'ids', to_jsonb(p_ids)),
    'the record does not exist, belongs to another organisation, is gone, or is not visible'
);
COMMENT ON FUNCTION mnemo._raise_not_found(text, uuid[]) IS
    'Raises MN001. Unknown, foreign and invisible records get the same answer on purpose; DETAIL '
    'carries the ids that the caller gave.';

CREATE FUNCTION mnemo._raise_access(
    p_message text,
    p_detail jsonb DEFAULT NULL,
    p_hint text DEFAULT NULL
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise('42501', p_message, p_detail, p_hint);
COMMENT ON FUNCTION mnemo._raise_access(text, jsonb, text) IS
    'Raises 42501: the role or the acting agent may not do this.';

-- part: 020_labels.sql
CREATE FUNCTION mnemo._labels(
    p_set text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_set
    WHEN 'scope' THEN ARRAY['private', 'shared', 'public', 'global']
    WHEN 'memory_type' THEN ARRAY['episodic', 'semantic', 'procedural', 'working']
    WHEN 'source_type' THEN ARRAY[
        'agent', 'human', 'system', 'user_input', 'tool_output', 'model_response', 'retrieval',
        'consolidation', 'import'
    ]
    WHEN 'permission' THEN ARRAY['read', 'write', 'delete', 'share']
    WHEN 'consolidation_state' THEN ARRAY[
        'raw', 'active', 'pending', 'consolidated', 'archived', 'forgotten'
    ]
    WHEN 'kind' THEN ARRAY[
        'identity', 'preference', 'location_preference', 'relationship',
        'relationship_preference', 'routine', 'commitment', 'project', 'episodic',
        'communication_style', 'staged_pattern'
    ]
    WHEN 'memory_status' THEN ARRAY['active', 'superseded', 'retracted']
    WHEN 'temporal_scope' THEN ARRAY['persistent', 'recent_history', 'scheduled']
    WHEN 'event_type' THEN ARRAY[
        'memory_write', 'memory_update', 'memory_read', 'memory_delete', 'memory_share',
        'memory_unshare', 'memory_expired', 'memory_redact', 'memory_quarantined',
        'memory_released', 'plan_write', 'plan_replay', 'plan_outcome', 'plan_stale',
        'plan_revalidated', 'plan_retired', 'checkpoint'
    ]
    WHEN 'chain_reason' THEN ARRAY[
        'event_missing', 'event_extra', 'link_broken', 'event_changed', 'tail_missing',
        'head_changed', 'anchor_changed', 'head_unknown', 'record_missing',
        'record_without_event', 'record_after_deletion', 'hash_changed', 'content_changed',
        'column_changed', 'grant_without_event', 'grant_missing', 'grant_changed', 'note_changed'
    ]
    WHEN 'retention_status' THEN ARRAY['removed', 'broken']
    WHEN 'level' THEN ARRAY['application', 'tenant', 'admin']
    WHEN 'recall_strategy' THEN ARRAY['lexical', 'semantic', 'hybrid', 'exact', 'recent']
    WHEN 'vector_distance' THEN ARRAY['cosine', 'l2', 'inner_product']
    WHEN 'forget_strategy' THEN ARRAY['soft_delete', 'hard_delete', 'archive', 'redact']
    WHEN 'forget_status' THEN ARRAY['deleted', 'removed', 'archived', 'redacted']
    WHEN 'erased_kind' THEN ARRAY[
        'memories', 'plans', 'grants', 'notes', 'terms', 'signatures', 'idempotency_keys',
        'delegations'
    ]
    WHEN 'sweep_task' THEN ARRAY[
        'expired', 'purged', 'grants', 'delegations', 'idempotency_keys', 'terms', 'events'
    ]
    WHEN 'delegation_status' THEN ARRAY['active', 'expired', 'revoked']
    WHEN 'delegation_direction' THEN ARRAY['given', 'received']
    WHEN 'touch_status' THEN ARRAY['touched', 'busy']
    WHEN 'guard' THEN ARRAY['strict', 'meaning', 'off']
    WHEN 'stale_mode' THEN ARRAY['refuse', 'include']
    WHEN 'recall_reason' THEN ARRAY[
        'exact', 'similar', 'none_similar', 'guarded', 'stale', 'disabled', 'blank_query'
    ]
    WHEN 'verdict' THEN ARRAY[
        'replayed', 'outranked', 'guarded', 'stale', 'below_threshold', 'none_similar',
        'disabled', 'blank_query'
    ]
    WHEN 'guard_class' THEN ARRAY['meaning', 'values']
    WHEN 'plan_status' THEN ARRAY['stored', 'below_threshold', 'quarantined', 'repeated', 'failed']
    WHEN 'update_status' THEN ARRAY['updated', 'unchanged', 'quarantined']
    WHEN 'quarantine_status' THEN ARRAY['released', 'purged']
    WHEN 'rule_origin' THEN ARRAY['builtin', 'database', 'organisation']
    WHEN 'retrieval_intent' THEN ARRAY[
        'none', 'explicit_recall', 'personal_recommendation', 'prior_event_reference',
        'relationship_reference', 'comparison', 'ambient'
    ]
    WHEN 'retrieval_temporal' THEN ARRAY['prefer', 'filter']
    WHEN 'retrieval_verdict' THEN ARRAY[
        'returned', 'limit', 'per_predicate', 'budget', 'weak_evidence', 'superseded', 'retracted',
        'not_yet_valid', 'no_longer_valid', 'kind_filter', 'time_window'
    ]
    WHEN 'on_error' THEN ARRAY['abort', 'skip']
END;
COMMENT ON FUNCTION mnemo._labels(text) IS
    'The labels of a closed set, in their order; NULL for an unknown set. Permissions are ordered '
    'from least to most: each covers those before it.';

CREATE FUNCTION mnemo._is_label(
    p_set text,
    p_value text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_value = ANY (mnemo._labels(p_set)), false);
COMMENT ON FUNCTION mnemo._is_label(text, text) IS
    'Whether the value is a label of the closed set; false for NULL.';

CREATE FUNCTION mnemo._label_problem(
    p_parameter text,
    p_set text,
    p_value text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF mnemo._is_label(p_set, p_value) THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._argument(
        p_parameter,
        format('%s must be one of %s; got %s', p_parameter,
            array_to_string(mnemo._labels(p_set), ', '),
            coalesce(quote_literal(left(p_value, 100)), 'NULL')),
        'use one of the labels, in lower case'
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._label_problem(text, text, text) IS
    'The problem of a value that is not a label of the closed set; NULL when it is one.';

CREATE FUNCTION mnemo._check_label(
    p_parameter text,
    p_set text,
    p_value text
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise_problem(mnemo._label_problem(p_parameter, p_set, p_value));
COMMENT ON FUNCTION mnemo._check_label(text, text, text) IS
    'Raises 22023 unless the value is a label of the closed set.';

CREATE FUNCTION mnemo._is_live_state(
    p_state text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_state IN ('raw', 'active', 'pending', 'consolidated');
COMMENT ON FUNCTION mnemo._is_live_state(text) IS
    'Whether records in this consolidation state are live, unless something else speaks against it.';

CREATE FUNCTION mnemo._reserved_tag() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '__experience_plan__';
COMMENT ON FUNCTION mnemo._reserved_tag() IS 'The tag that only plans carry.';

CREATE FUNCTION mnemo._reserved_key() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'experience_plan';
COMMENT ON FUNCTION mnemo._reserved_key() IS 'The metadata key that only plans carry.';

CREATE FUNCTION mnemo._is_identifier(
    p_value text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(length(p_value) <= 256 AND p_value COLLATE "C" ~ '^[A-Za-z0-9_.:@/-]+$', false);
COMMENT ON FUNCTION mnemo._is_identifier(text) IS
    'Whether the value can name an agent or an organisation: 1 to 256 ASCII letters, digits and '
    '- _ . : @ /; false for NULL.';

CREATE FUNCTION mnemo._identifier_problem(
    p_parameter text,
    p_value text
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN NOT mnemo._is_identifier(p_value) THEN mnemo._argument(
    p_parameter,
    p_parameter || ' must be 1 to 256 ASCII letters, digits or - _ . : @ /; got '
        || coalesce(quote_literal(left(p_value, 100)), 'NULL'),
    CASE WHEN p_value = '*' THEN 'organisation * is reserved for records of scope global'
        ELSE 'names of agents and organisations are compared exactly' END
) END;
COMMENT ON FUNCTION mnemo._identifier_problem(text, text) IS
    'The problem of an ill-formed agent or organisation; NULL when it is well formed.';

-- part: 030_values.sql
CREATE FUNCTION mnemo._new_id() RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_micros bigint := date_part('epoch', clock_timestamp()) * 1000000;
BEGIN
    -- Version 7 of RFC 9562 with its optional 12 bits of sub-millisecond time, so that ids made
    -- one after another sort by time. One text for all servers: only PostgreSQL 18 has uuidv7().
    RETURN (
        lpad(to_hex((v_micros / 1000) << 16 | 28672 | (v_micros % 1000) * 4096 / 1000), 16, '0')
        || substr(gen_random_uuid()::text, 20)
    )::uuid;
END
$fn$;
COMMENT ON FUNCTION mnemo._new_id() IS 'A new UUID of version 7 (RFC 9562): sorts by time.';

CREATE FUNCTION mnemo._utf8(
    p_text text
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- convert_to() is not immutable; the database is UTF-8 by rule, so the bytes are there already.
RETURN replace(p_text, E'\\', E'\\\\')::bytea;
COMMENT ON FUNCTION mnemo._utf8(text) IS 'The UTF-8 bytes of a text.';

CREATE FUNCTION mnemo._hash64(
    p_text text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || encode(substring(sha256(mnemo._utf8(p_text)) FROM 1 FOR 8), 'hex'))
    ::bit(64)::bigint;
COMMENT ON FUNCTION mnemo._hash64(text) IS
    'The first 64 bits of SHA-256 over the UTF-8 bytes, big-endian, as a signed number: the same on '
    'every server, unlike hashtext. NULL for NULL.';

CREATE FUNCTION mnemo._micros(
    p_time timestamptz
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Through timestamp without time zone: only there is extract() immutable.
RETURN (extract(epoch FROM p_time AT TIME ZONE 'UTC') * 1000000)::bigint;
COMMENT ON FUNCTION mnemo._micros(timestamptz) IS
    'Microseconds since 1970-01-01 00:00:00 UTC; independent of TimeZone and DateStyle.';

CREATE FUNCTION mnemo._shown(
    p_value text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(
    quote_literal(left(p_value, 100)) || CASE WHEN length(p_value) > 100 THEN '...' ELSE '' END,
    'NULL'
);
COMMENT ON FUNCTION mnemo._shown(text) IS
    'A value as error messages show it: quoted, at most 100 characters; NULL as the word.';

CREATE FUNCTION mnemo._length_problem(
    p_parameter text,
    p_value text,
    p_longest integer
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF length(p_value) > p_longest THEN
        RETURN mnemo._limit(p_parameter,
            format('%s has %s characters, at most %s are allowed',
                p_parameter, length(p_value), p_longest),
            'shorten it');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._length_problem(text, text, integer) IS
    'The problem of a text of more than p_longest characters; NULL, for NULL too, for none.';

CREATE FUNCTION mnemo._list_problem(
    p_parameter text,
    p_list text[],
    p_most integer,
    p_longest integer,
    p_what text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_limit mnemo._problem;
    v_item text;
    v_place integer := 0;
BEGIN
    IF p_list IS NULL OR cardinality(p_list) = 0 THEN
        RETURN NULL;
    END IF;
    IF array_ndims(p_list) > 1 THEN
        RETURN mnemo._argument(p_parameter, p_parameter || ' must be a list of one dimension',
            'pass one flat array');
    END IF;
    -- Not by subscript: the first one need not be 1.
    FOREACH v_item IN ARRAY p_list LOOP
        v_place := v_place + 1;
        IF v_item IS NULL THEN
            RETURN mnemo._argument(p_parameter,
                format('%s has a NULL at position %s', p_parameter, v_place),
                'leave the element out or give it a value');
        ELSIF p_longest IS NOT NULL AND mnemo._is_blank(v_item) THEN
            RETURN mnemo._argument(p_parameter,
                format('%s[%s] must not be blank', p_parameter, v_place),
                'leave the element out or give it a value');
        ELSIF length(v_item) > p_longest THEN
            v_limit := mnemo._limit(p_parameter,
                format('%s[%s] has %s characters, at most %s are allowed',
                    p_parameter, v_place, length(v_item), p_longest),
                'shorten it');
        END IF;
    END LOOP;
    IF cardinality(p_list) > p_most THEN
        RETURN mnemo._limit(p_parameter,
            format('%s has %s %s, at most %s are allowed',
                p_parameter, cardinality(p_list), p_what, p_most),
            'keep the list shorter');
    END IF;
    RETURN v_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._list_problem(text, text[], integer, integer, text) IS
    'The problem of a list: NULL elements, several dimensions, more than p_most elements, or, '
    'where p_longest is given, a blank element or one of more characters. A NULL list has none.';

CREATE FUNCTION mnemo._label_list_problem(
    p_parameter text,
    p_set text,
    p_list text[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_problem mnemo._problem := mnemo._list_problem(p_parameter, p_list, 10000, NULL, 'labels');
    v_item text;
BEGIN
    IF p_list IS NULL OR v_problem.code IS NOT NULL THEN
        RETURN v_problem;
    END IF;
    FOREACH v_item IN ARRAY p_list LOOP
        IF NOT mnemo._is_label(p_set, v_item) THEN
            RETURN mnemo._label_problem(p_parameter, p_set, v_item);
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._label_list_problem(text, text, text[]) IS
    'The problem of a list with an element that is no label of the closed set; NULL for none.';

CREATE FUNCTION mnemo._texts_problem(
    p_parameters text[],
    p_values text[],
    p_longest integer
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_value text;
    v_limit mnemo._problem;
    v_position integer := 0;
BEGIN
    FOREACH v_value IN ARRAY p_values LOOP
        v_position := v_position + 1;
        CONTINUE WHEN v_value IS NULL;
        IF mnemo._is_blank(v_value) THEN
            RETURN mnemo._argument(
                p_parameters[v_position],
                p_parameters[v_position] || ' must not be blank',
                'leave it out or give it a value'
            );
        END IF;
        IF length(v_value) > p_longest AND v_limit.code IS NULL THEN
            v_limit := mnemo._length_problem(p_parameters[v_position], v_value, p_longest);
        END IF;
    END LOOP;
    RETURN v_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._texts_problem(text[], text[], integer) IS
    'The problem of the first of several optional texts that is blank or over p_longest '
    'characters; p_parameters names them. A NULL text has none.';

CREATE FUNCTION mnemo._fraction_problem(
    p_parameter text,
    p_value double precision
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN NOT coalesce(p_value BETWEEN 0 AND 1, true) THEN mnemo._argument(
    p_parameter,
    p_parameter || ' must be a number from 0 to 1; got ' || p_value::text,
    'scale the value into [0, 1]'
) END;
COMMENT ON FUNCTION mnemo._fraction_problem(text, double precision) IS
    'The problem of an optional number outside [0, 1], NaN included. NULL has none.';

CREATE FUNCTION mnemo._ttl_problem(
    p_ttl interval
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_ttl <= interval '0' THEN mnemo._argument(
        'p_ttl', 'p_ttl must be longer than zero', 'leave it out for a record that does not expire')
    WHEN p_ttl > interval '1000 years' THEN mnemo._argument(
        'p_ttl', 'p_ttl must be at most 1000 years',
        'leave it out for a record that does not expire')
END;
COMMENT ON FUNCTION mnemo._ttl_problem(interval) IS
    'The problem of a time to live that is not positive or over 1000 years. NULL has none.';

CREATE FUNCTION mnemo._time_problem(
    p_parameter text,
    p_time timestamptz
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Microseconds since 1970 must fit 64 bits, and infinity is no time of a fact.
    IF p_time >= timestamptz '10000-01-01 00:00:00+00' OR NOT isfinite(p_time) THEN
        RETURN mnemo._argument(p_parameter,
            p_parameter || ' must be a finite time before the year 10000',
            'leave it out where there is no such time');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._time_problem(text, timestamptz) IS
    'The problem of a time that is infinite or too far away; NULL, for NULL too, for none.';

CREATE FUNCTION mnemo._depth_problem(
    p_parameter text,
    p_value jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_value @? '$.**{101}' THEN
        RETURN mnemo._limit(p_parameter,
            p_parameter || ' is nested deeper than 100 levels, at most 100 are allowed',
            'flatten it, or store it as text');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._depth_problem(text, jsonb) IS
    'The problem of JSON nested deeper than 100 levels; NULL for none.';

-- part: 100_unicode_words.sql
-- Generated by sql/unicode.py from Unicode 14.0: change the generator, not this file.

CREATE FUNCTION mnemo._unicode_word()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u0030-\\u0039\\u0041-\\u005A\\u0061-\\u007A\\u00AA\\u00B2\\u00B3\\u00B5\\u00B9\\u00BA\\u00BC-\\u00BE\\u00C0-\\u00D6\\u00D8-\\u00F6'
    '\\u00F8-\\u02C1\\u02C6-\\u02D1\\u02E0-\\u02E4\\u02EC\\u02EE\\u0370-\\u0374\\u0376-\\u037D\\u037F\\u0386\\u0388-\\u03F5\\u03F7-\\u0481\\u048A-\\u0559'
    '\\u0560-\\u0588\\u05D0-\\u05F2\\u0620-\\u064A\\u0660-\\u0669\\u066E\\u066F\\u0671-\\u06D3\\u06D5\\u06E5\\u06E6\\u06EE-\\u06FC\\u06FF\\u0710'
    '\\u0712-\\u072F\\u074D-\\u07A5\\u07B1-\\u07EA\\u07F4\\u07F5\\u07FA\\u0800-\\u0815\\u081A\\u0824\\u0828\\u0840-\\u0858\\u0860-\\u0887\\u0889-\\u088E'
    '\\u08A0-\\u08C9\\u0904-\\u0939\\u093D\\u0950\\u0958-\\u0961\\u0966-\\u096F\\u0971-\\u0980\\u0985-\\u09B9\\u09BD\\u09CE\\u09DC-\\u09E1\\u09E6-\\u09F1'
    '\\u09F4-\\u09F9\\u09FC\\u0A05-\\u0A39\\u0A59-\\u0A6F\\u0A72-\\u0A74\\u0A85-\\u0AB9\\u0ABD\\u0AD0-\\u0AE1\\u0AE6-\\u0AEF\\u0AF9\\u0B05-\\u0B39\\u0B3D'
    '\\u0B5C-\\u0B61\\u0B66-\\u0B6F\\u0B71-\\u0B77\\u0B83-\\u0BB9\\u0BD0\\u0BE6-\\u0BF2\\u0C05-\\u0C39\\u0C3D\\u0C58-\\u0C61\\u0C66-\\u0C6F\\u0C78-\\u0C7E'
    '\\u0C80\\u0C85-\\u0CB9\\u0CBD\\u0CDD-\\u0CE1\\u0CE6-\\u0CF2\\u0D04-\\u0D3A\\u0D3D\\u0D4E\\u0D54-\\u0D56\\u0D58-\\u0D61\\u0D66-\\u0D78\\u0D7A-\\u0D7F'
    '\\u0D85-\\u0DC6\\u0DE6-\\u0DEF\\u0E01-\\u0E30\\u0E32\\u0E33\\u0E40-\\u0E46\\u0E50-\\u0E59\\u0E81-\\u0EB0\\u0EB2\\u0EB3\\u0EBD-\\u0EC6\\u0ED0-\\u0F00'
    '\\u0F20-\\u0F33\\u0F40-\\u0F6C\\u0F88-\\u0F8C\\u1000-\\u102A\\u103F-\\u1049\\u1050-\\u1055\\u105A-\\u105D\\u1061\\u1065\\u1066\\u106E-\\u1070'
    '\\u1075-\\u1081\\u108E\\u1090-\\u1099\\u10A0-\\u10FA\\u10FC-\\u10FF\\u1200-\\u135A\\u1369-\\u138F\\u13A0-\\u13FD\\u1401-\\u166C\\u166F-\\u167F'
    '\\u1681-\\u169A\\u16A0-\\u16EA\\u16EE-\\u1711\\u171F-\\u1731\\u1740-\\u1751\\u1760-\\u1770\\u1780-\\u17B3\\u17D7\\u17DC\\u17E0-\\u17F9\\u1810-\\u1884'
    '\\u1887-\\u18A8\\u18AA-\\u191E\\u1946-\\u19DA\\u1A00-\\u1A16\\u1A20-\\u1A54\\u1A80-\\u1A99\\u1AA7\\u1B05-\\u1B33\\u1B45-\\u1B59\\u1B83-\\u1BA0'
    '\\u1BAE-\\u1BE5\\u1C00-\\u1C23\\u1C40-\\u1C7D\\u1C80-\\u1CBF\\u1CE9-\\u1CEC\\u1CEE-\\u1CF3\\u1CF5\\u1CF6\\u1CFA-\\u1DBF\\u1E00-\\u1FBC\\u1FBE'
    '\\u1FC2-\\u1FCC\\u1FD0-\\u1FDB\\u1FE0-\\u1FEC\\u1FF2-\\u1FFC\\u2070-\\u2079\\u207F-\\u2089\\u2090-\\u209C\\u2102\\u2107\\u210A-\\u2113\\u2115'
    '\\u2119-\\u211D\\u2124\\u2126\\u2128\\u212A-\\u212D\\u212F-\\u2139\\u213C-\\u213F\\u2145-\\u2149\\u214E\\u2150-\\u2189\\u2460-\\u249B\\u24EA-\\u24FF'
    '\\u2776-\\u2793\\u2C00-\\u2CE4\\u2CEB-\\u2CEE\\u2CF2\\u2CF3\\u2CFD\\u2D00-\\u2D6F\\u2D80-\\u2DDE\\u2E2F\\u3005-\\u3007\\u3021-\\u3029\\u3031-\\u3035'
    '\\u3038-\\u303C\\u3041-\\u3096\\u309D-\\u309F\\u30A1-\\u30FA\\u30FC-\\u312F\\u3192-\\u3195\\u31A0-\\u31BF\\u31F0-\\u31FF\\u3220-\\u3229'
    '\\u3248-\\u324F\\u3251-\\u325F\\u3280-\\u3289\\u32B1-\\u32BF\\u3400-\\u4DBF\\u4E00-\\uA48C\\uA4D0-\\uA4FD\\uA500-\\uA60C\\uA610-\\uA66E'
    '\\uA67F-\\uA69D\\uA6A0-\\uA6EF\\uA717-\\uA71F\\uA722-\\uA788\\uA78B-\\uA801\\uA803-\\uA805\\uA807-\\uA80A\\uA80C-\\uA822\\uA830-\\uA835'
    '\\uA840-\\uA873\\uA882-\\uA8B3\\uA8D0-\\uA8D9\\uA8F2-\\uA8F7\\uA8FB\\uA8FD\\uA8FE\\uA900-\\uA925\\uA930-\\uA946\\uA984-\\uA9B2\\uA9CF-\\uA9D9'
    '\\uA9E0-\\uA9E4\\uA9E6-\\uAA28\\uAA40-\\uAA42\\uAA44-\\uAA4B\\uAA50-\\uAA59\\uAA60-\\uAA76\\uAA7A\\uAA7E-\\uAAAF\\uAAB1\\uAAB5\\uAAB6\\uAAB9-\\uAABD'
    '\\uAAC0\\uAAC2-\\uAADD\\uAAE0-\\uAAEA\\uAAF2-\\uAAF4\\uAB01-\\uAB5A\\uAB5C-\\uAB69\\uAB70-\\uABE2\\uABF0-\\uABF9\\uF900-\\uFB1D\\uFB1F-\\uFB28'
    '\\uFB2A-\\uFBB1\\uFBD3-\\uFD3D\\uFD50-\\uFDC7\\uFDF0-\\uFDFB\\uFE70-\\uFEFC\\uFF10-\\uFF19\\uFF21-\\uFF3A\\uFF41-\\uFF5A\\uFF66-\\uFF9F'
    '\\U00010000-\\U000100FA\\U00010107-\\U00010133\\U00010140-\\U00010178\\U0001018A\\U0001018B\\U00010280-\\U000102D0\\U000102E1-\\U00010375'
    '\\U00010380-\\U0001039D\\U000103A0-\\U000103CF\\U000103D1-\\U00010563\\U00010570-\\U00010855\\U00010858-\\U00010876\\U00010879-\\U0001091B'
    '\\U00010920-\\U00010939\\U00010980-\\U00010A00\\U00010A10-\\U00010A35\\U00010A40-\\U00010A48\\U00010A60-\\U00010A7E\\U00010A80-\\U00010AC7'
    '\\U00010AC9-\\U00010AE4\\U00010AEB-\\U00010AEF\\U00010B00-\\U00010B35\\U00010B40-\\U00010B91\\U00010BA9-\\U00010D23\\U00010D30-\\U00010EA9'
    '\\U00010EB0-\\U00010F45\\U00010F51-\\U00010F54\\U00010F70-\\U00010F81\\U00010FB0-\\U00010FF6\\U00011003-\\U00011037\\U00011052-\\U0001106F'
    '\\U00011071\\U00011072\\U00011075\\U00011083-\\U000110AF\\U000110D0-\\U000110F9\\U00011103-\\U00011126\\U00011136-\\U0001113F\\U00011144'
    '\\U00011147-\\U00011172\\U00011176\\U00011183-\\U000111B2\\U000111C1-\\U000111C4\\U000111D0-\\U000111DA\\U000111DC\\U000111E1-\\U0001122B'
    '\\U00011280-\\U000112A8\\U000112B0-\\U000112DE\\U000112F0-\\U000112F9\\U00011305-\\U00011339\\U0001133D\\U00011350\\U0001135D-\\U00011361'
    '\\U00011400-\\U00011434\\U00011447-\\U0001144A\\U00011450-\\U00011459\\U0001145F-\\U000114AF\\U000114C4\\U000114C5\\U000114C7-\\U000115AE'
    '\\U000115D8-\\U000115DB\\U00011600-\\U0001162F\\U00011644-\\U00011659\\U00011680-\\U000116AA\\U000116B8\\U000116C0-\\U0001171A\\U00011730-\\U0001173B'
    '\\U00011740-\\U0001182B\\U000118A0-\\U0001192F\\U0001193F\\U00011941\\U00011950-\\U000119D0\\U000119E1\\U000119E3\\U00011A00\\U00011A0B-\\U00011A32'
    '\\U00011A3A\\U00011A50\\U00011A5C-\\U00011A89\\U00011A9D\\U00011AB0-\\U00011C2E\\U00011C40\\U00011C50-\\U00011C6C\\U00011C72-\\U00011C8F'
    '\\U00011D00-\\U00011D30\\U00011D46\\U00011D50-\\U00011D89\\U00011D98-\\U00011EF2\\U00011FB0-\\U00011FD4\\U00012000-\\U0001246E\\U00012480-\\U00012FF0'
    '\\U00013000-\\U0001342E\\U00014400-\\U00016A69\\U00016A70-\\U00016AED\\U00016B00-\\U00016B2F\\U00016B40-\\U00016B43\\U00016B50-\\U00016E96'
    '\\U00016F00-\\U00016F4A\\U00016F50\\U00016F93-\\U00016FE1\\U00016FE3\\U00017000-\\U0001BC99\\U0001D2E0-\\U0001D2F3\\U0001D360-\\U0001D6C0'
    '\\U0001D6C2-\\U0001D6DA\\U0001D6DC-\\U0001D6FA\\U0001D6FC-\\U0001D714\\U0001D716-\\U0001D734\\U0001D736-\\U0001D74E\\U0001D750-\\U0001D76E'
    '\\U0001D770-\\U0001D788\\U0001D78A-\\U0001D7A8\\U0001D7AA-\\U0001D7C2\\U0001D7C4-\\U0001D7FF\\U0001DF00-\\U0001DF1E\\U0001E100-\\U0001E12C'
    '\\U0001E137-\\U0001E14E\\U0001E290-\\U0001E2AD\\U0001E2C0-\\U0001E2EB\\U0001E2F0-\\U0001E2F9\\U0001E7E0-\\U0001E8CF\\U0001E900-\\U0001E943'
    '\\U0001E94B-\\U0001E959\\U0001EC71-\\U0001ECAB\\U0001ECAD-\\U0001ECAF\\U0001ECB1-\\U0001ED2D\\U0001ED2F-\\U0001EEBB\\U0001F100-\\U0001F10C'
    '\\U0001FBF0-\\U0003134A';
COMMENT ON FUNCTION mnemo._unicode_word() IS
    'Inside of a bracket expression: letters and numbers (L*, Nd, Nl, No) but Hangul, across unassigned code points. Never NULL. Raises nothing. '
    'Source: Unicode 14.0.';

CREATE FUNCTION mnemo._unicode_hangul()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u1100-\\u11FF\\u3131-\\u318E\\uA960-\\uA97C\\uAC00-\\uD7FB\\uFFA0-\\uFFDC';
COMMENT ON FUNCTION mnemo._unicode_hangul() IS
    'Inside of a bracket expression: letters of script Hangul, across unassigned code points. Never NULL. Raises nothing. Source: Unicode 14.0.';

CREATE FUNCTION mnemo._unicode_mark()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u0300-\\u036F\\u0483-\\u0487\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u05C7\\u0610-\\u061A\\u064B-\\u065F\\u0670\\u06D6-\\u06DC'
    '\\u06DF-\\u06E4\\u06E7\\u06E8\\u06EA-\\u06ED\\u0711\\u0730-\\u074A\\u07A6-\\u07B0\\u07EB-\\u07F3\\u07FD\\u0816-\\u0819\\u081B-\\u0823\\u0825-\\u0827'
    '\\u0829-\\u082D\\u0859-\\u085B\\u0898-\\u089F\\u08CA-\\u08E1\\u08E3-\\u0903\\u093A-\\u093C\\u093E-\\u094F\\u0951-\\u0957\\u0962\\u0963\\u0981-\\u0983'
    '\\u09BC\\u09BE-\\u09CD\\u09D7\\u09E2\\u09E3\\u09FE-\\u0A03\\u0A3C-\\u0A51\\u0A70\\u0A71\\u0A75\\u0A81-\\u0A83\\u0ABC\\u0ABE-\\u0ACD\\u0AE2\\u0AE3'
    '\\u0AFA-\\u0B03\\u0B3C\\u0B3E-\\u0B57\\u0B62\\u0B63\\u0B82\\u0BBE-\\u0BCD\\u0BD7\\u0C00-\\u0C04\\u0C3C\\u0C3E-\\u0C56\\u0C62\\u0C63\\u0C81-\\u0C83'
    '\\u0CBC\\u0CBE-\\u0CD6\\u0CE2\\u0CE3\\u0D00-\\u0D03\\u0D3B\\u0D3C\\u0D3E-\\u0D4D\\u0D57\\u0D62\\u0D63\\u0D81-\\u0D83\\u0DCA-\\u0DDF\\u0DF2\\u0DF3'
    '\\u0E31\\u0E34-\\u0E3A\\u0E47-\\u0E4E\\u0EB1\\u0EB4-\\u0EBC\\u0EC8-\\u0ECD\\u0F18\\u0F19\\u0F35\\u0F37\\u0F39\\u0F3E\\u0F3F\\u0F71-\\u0F84'
    '\\u0F86\\u0F87\\u0F8D-\\u0FBC\\u0FC6\\u102B-\\u103E\\u1056-\\u1059\\u105E-\\u1060\\u1062-\\u1064\\u1067-\\u106D\\u1071-\\u1074\\u1082-\\u108D\\u108F'
    '\\u109A-\\u109D\\u135D-\\u135F\\u1712-\\u1715\\u1732-\\u1734\\u1752\\u1753\\u1772\\u1773\\u17B4-\\u17D3\\u17DD\\u180B-\\u180D\\u180F\\u1885\\u1886'
    '\\u18A9\\u1920-\\u193B\\u1A17-\\u1A1B\\u1A55-\\u1A7F\\u1AB0-\\u1ABD\\u1ABF-\\u1B04\\u1B34-\\u1B44\\u1B6B-\\u1B73\\u1B80-\\u1B82\\u1BA1-\\u1BAD'
    '\\u1BE6-\\u1BF3\\u1C24-\\u1C37\\u1CD0-\\u1CD2\\u1CD4-\\u1CE8\\u1CED\\u1CF4\\u1CF7-\\u1CF9\\u1DC0-\\u1DFF\\u20D0-\\u20DC\\u20E1\\u20E5-\\u20F0'
    '\\u2CEF-\\u2CF1\\u2D7F\\u2DE0-\\u2DFF\\u302A-\\u302D\\u3099\\u309A\\uA66F\\uA674-\\uA67D\\uA69E\\uA69F\\uA6F0\\uA6F1\\uA802\\uA806\\uA80B'
    '\\uA823-\\uA827\\uA82C\\uA880\\uA881\\uA8B4-\\uA8C5\\uA8E0-\\uA8F1\\uA8FF\\uA926-\\uA92D\\uA947-\\uA953\\uA980-\\uA983\\uA9B3-\\uA9C0\\uA9E5'
    '\\uAA29-\\uAA36\\uAA43\\uAA4C\\uAA4D\\uAA7B-\\uAA7D\\uAAB0\\uAAB2-\\uAAB4\\uAAB7\\uAAB8\\uAABE\\uAABF\\uAAC1\\uAAEB-\\uAAEF\\uAAF5\\uAAF6'
    '\\uABE3-\\uABEA\\uABEC\\uABED\\uFB1E\\uFE00-\\uFE0F\\uFE20-\\uFE2F\\U000101FD\\U000102E0\\U00010376-\\U0001037A\\U00010A01-\\U00010A0F'
    '\\U00010A38-\\U00010A3F\\U00010AE5\\U00010AE6\\U00010D24-\\U00010D27\\U00010EAB\\U00010EAC\\U00010F46-\\U00010F50\\U00010F82-\\U00010F85'
    '\\U00011000-\\U00011002\\U00011038-\\U00011046\\U00011070\\U00011073\\U00011074\\U0001107F-\\U00011082\\U000110B0-\\U000110BA\\U000110C2'
    '\\U00011100-\\U00011102\\U00011127-\\U00011134\\U00011145\\U00011146\\U00011173\\U00011180-\\U00011182\\U000111B3-\\U000111C0\\U000111C9-\\U000111CC'
    '\\U000111CE\\U000111CF\\U0001122C-\\U00011237\\U0001123E\\U000112DF-\\U000112EA\\U00011300-\\U00011303\\U0001133B\\U0001133C\\U0001133E-\\U0001134D'
    '\\U00011357\\U00011362-\\U00011374\\U00011435-\\U00011446\\U0001145E\\U000114B0-\\U000114C3\\U000115AF-\\U000115C0\\U000115DC\\U000115DD'
    '\\U00011630-\\U00011640\\U000116AB-\\U000116B7\\U0001171D-\\U0001172B\\U0001182C-\\U0001183A\\U00011930-\\U0001193E\\U00011940\\U00011942\\U00011943'
    '\\U000119D1-\\U000119E0\\U000119E4\\U00011A01-\\U00011A0A\\U00011A33-\\U00011A39\\U00011A3B-\\U00011A3E\\U00011A47\\U00011A51-\\U00011A5B'
    '\\U00011A8A-\\U00011A99\\U00011C2F-\\U00011C3F\\U00011C92-\\U00011CB6\\U00011D31-\\U00011D45\\U00011D47\\U00011D8A-\\U00011D97\\U00011EF3-\\U00011EF6'
    '\\U00016AF0-\\U00016AF4\\U00016B30-\\U00016B36\\U00016F4F\\U00016F51-\\U00016F92\\U00016FE4-\\U00016FF1\\U0001BC9D\\U0001BC9E\\U0001CF00-\\U0001CF46'
    '\\U0001D165-\\U0001D169\\U0001D16D-\\U0001D172\\U0001D17B-\\U0001D182\\U0001D185-\\U0001D18B\\U0001D1AA-\\U0001D1AD\\U0001D242-\\U0001D244'
    '\\U0001DA00-\\U0001DA36\\U0001DA3B-\\U0001DA6C\\U0001DA75\\U0001DA84\\U0001DA9B-\\U0001DAAF\\U0001E000-\\U0001E02A\\U0001E130-\\U0001E136\\U0001E2AE'
    '\\U0001E2EC-\\U0001E2EF\\U0001E8D0-\\U0001E8D6\\U0001E944-\\U0001E94A\\U000E0100-\\U000E01EF';
COMMENT ON FUNCTION mnemo._unicode_mark() IS
    'Inside of a bracket expression: combining marks (Mn, Mc) but the two Hangul tone marks, across unassigned ones. Never NULL. Raises nothing. '
    'Source: Unicode 14.0.';

CREATE FUNCTION mnemo._unicode_unspaced()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u0E01-\\u0E3A\\u0E40-\\u0E4E\\u0E50-\\u0E59\\u0E81-\\u0EDF\\u1000-\\u1049\\u1050-\\u109D\\u1780-\\u17D3\\u17D7\\u17DC-\\u17F9\\u3005\\u3007'
    '\\u3021-\\u3029\\u3031-\\u3035\\u3038-\\u303B\\u3041-\\u3096\\u309D-\\u309F\\u30A1-\\u30FA\\u30FC-\\u30FF\\u31F0-\\u31FF\\u3400-\\u4DBF'
    '\\u4E00-\\u9FFF\\uA9E0-\\uA9FE\\uAA60-\\uAA76\\uAA7A-\\uAA7F\\uF900-\\uFAD9\\uFF66-\\uFF9F\\U00016FE3\\U00016FF0\\U00016FF1\\U0001AFF0-\\U0001B167'
    '\\U00020000-\\U0003134A';
COMMENT ON FUNCTION mnemo._unicode_unspaced() IS
    'Inside of a bracket expression: letters, numbers and marks of scripts written without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar), '
    'and kana signs that repeat, lengthen or voice. Never NULL. Raises nothing. Source: Unicode 14.0.';

CREATE FUNCTION mnemo._unicode_cased()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u0041-\\u005A\\u0061-\\u007A\\u00AA\\u00B5\\u00BA\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u01BA\\u01BC-\\u01BF\\u01C4-\\u0293\\u0295-\\u02AF'
    '\\u0370-\\u0373\\u0376\\u0377\\u037B-\\u037D\\u037F\\u0386\\u0388-\\u038A\\u038C\\u038E-\\u03A1\\u03A3-\\u03F5\\u03F7-\\u0481\\u048A-\\u052F'
    '\\u0531-\\u0556\\u0560-\\u0588\\u10A0-\\u10C5\\u10C7\\u10CD\\u10D0-\\u10FA\\u10FD-\\u10FF\\u13A0-\\u13F5\\u13F8-\\u13FD\\u1C80-\\u1C88\\u1C90-\\u1CBA'
    '\\u1CBD-\\u1CBF\\u1D00-\\u1D2B\\u1D6B-\\u1D77\\u1D79-\\u1D9A\\u1E00-\\u1F15\\u1F18-\\u1F1D\\u1F20-\\u1F45\\u1F48-\\u1F4D\\u1F50-\\u1F57\\u1F59\\u1F5B'
    '\\u1F5D\\u1F5F-\\u1F7D\\u1F80-\\u1FB4\\u1FB6-\\u1FBC\\u1FBE\\u1FC2-\\u1FC4\\u1FC6-\\u1FCC\\u1FD0-\\u1FD3\\u1FD6-\\u1FDB\\u1FE0-\\u1FEC\\u1FF2-\\u1FF4'
    '\\u1FF6-\\u1FFC\\u2102\\u2107\\u210A-\\u2113\\u2115\\u2119-\\u211D\\u2124\\u2126\\u2128\\u212A-\\u212D\\u212F-\\u2134\\u2139\\u213C-\\u213F'
    '\\u2145-\\u2149\\u214E\\u2160-\\u217F\\u2183\\u2184\\u2C00-\\u2C7B\\u2C7E-\\u2CE4\\u2CEB-\\u2CEE\\u2CF2\\u2CF3\\u2D00-\\u2D25\\u2D27\\u2D2D'
    '\\uA640-\\uA66D\\uA680-\\uA69B\\uA722-\\uA76F\\uA771-\\uA787\\uA78B-\\uA78E\\uA790-\\uA7CA\\uA7D0\\uA7D1\\uA7D3\\uA7D5-\\uA7D9\\uA7F5\\uA7F6\\uA7FA'
    '\\uAB30-\\uAB5A\\uAB60-\\uAB68\\uAB70-\\uABBF\\uFB00-\\uFB06\\uFB13-\\uFB17\\uFF21-\\uFF3A\\uFF41-\\uFF5A\\U00010400-\\U0001044F'
    '\\U000104B0-\\U000104D3\\U000104D8-\\U000104FB\\U00010570-\\U0001057A\\U0001057C-\\U0001058A\\U0001058C-\\U00010592\\U00010594\\U00010595'
    '\\U00010597-\\U000105A1\\U000105A3-\\U000105B1\\U000105B3-\\U000105B9\\U000105BB\\U000105BC\\U00010C80-\\U00010CB2\\U00010CC0-\\U00010CF2'
    '\\U000118A0-\\U000118DF\\U00016E40-\\U00016E7F\\U0001D400-\\U0001D454\\U0001D456-\\U0001D49C\\U0001D49E\\U0001D49F\\U0001D4A2\\U0001D4A5\\U0001D4A6'
    '\\U0001D4A9-\\U0001D4AC\\U0001D4AE-\\U0001D4B9\\U0001D4BB\\U0001D4BD-\\U0001D4C3\\U0001D4C5-\\U0001D505\\U0001D507-\\U0001D50A\\U0001D50D-\\U0001D514'
    '\\U0001D516-\\U0001D51C\\U0001D51E-\\U0001D539\\U0001D53B-\\U0001D53E\\U0001D540-\\U0001D544\\U0001D546\\U0001D54A-\\U0001D550\\U0001D552-\\U0001D6A5'
    '\\U0001D6A8-\\U0001D6C0\\U0001D6C2-\\U0001D6DA\\U0001D6DC-\\U0001D6FA\\U0001D6FC-\\U0001D714\\U0001D716-\\U0001D734\\U0001D736-\\U0001D74E'
    '\\U0001D750-\\U0001D76E\\U0001D770-\\U0001D788\\U0001D78A-\\U0001D7A8\\U0001D7AA-\\U0001D7C2\\U0001D7C4-\\U0001D7CB\\U0001DF00-\\U0001DF09'
    '\\U0001DF0B-\\U0001DF1E\\U0001E900-\\U0001E943';
COMMENT ON FUNCTION mnemo._unicode_cased() IS
    'Inside of a bracket expression: cased letters and numbers that are not case-ignorable. Never NULL. Raises nothing. Source: Unicode 14.0.';

CREATE FUNCTION mnemo._unicode_case_ignorable()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u02B0-\\u02C1\\u02C6-\\u02D1\\u02E0-\\u02E4\\u02EC\\u02EE\\u0300-\\u036F\\u0374\\u037A\\u0483-\\u0487\\u0559\\u0591-\\u05BD\\u05BF'
    '\\u05C1\\u05C2\\u05C4\\u05C5\\u05C7\\u0610-\\u061A\\u0640\\u064B-\\u065F\\u0670\\u06D6-\\u06DC\\u06DF-\\u06E8\\u06EA-\\u06ED\\u0711\\u0730-\\u074A'
    '\\u07A6-\\u07B0\\u07EB-\\u07F5\\u07FA\\u07FD\\u0816-\\u082D\\u0859-\\u085B\\u0898-\\u089F\\u08C9-\\u08E1\\u08E3-\\u0902\\u093A\\u093C\\u0941-\\u0948'
    '\\u094D\\u0951-\\u0957\\u0962\\u0963\\u0971\\u0981\\u09BC\\u09C1-\\u09C4\\u09CD\\u09E2\\u09E3\\u09FE\\u0A01\\u0A02\\u0A3C\\u0A41\\u0A42\\u0A47\\u0A48'
    '\\u0A4B-\\u0A4D\\u0A51\\u0A70\\u0A71\\u0A75\\u0A81\\u0A82\\u0ABC\\u0AC1-\\u0AC5\\u0AC7\\u0AC8\\u0ACD\\u0AE2\\u0AE3\\u0AFA-\\u0AFF\\u0B01\\u0B3C'
    '\\u0B3F\\u0B41-\\u0B44\\u0B4D\\u0B55\\u0B56\\u0B62\\u0B63\\u0B82\\u0BC0\\u0BCD\\u0C00\\u0C04\\u0C3C\\u0C3E-\\u0C40\\u0C46-\\u0C48\\u0C4A-\\u0C4D'
    '\\u0C55\\u0C56\\u0C62\\u0C63\\u0C81\\u0CBC\\u0CBF\\u0CC6\\u0CCC\\u0CCD\\u0CE2\\u0CE3\\u0D00\\u0D01\\u0D3B\\u0D3C\\u0D41-\\u0D44\\u0D4D\\u0D62\\u0D63'
    '\\u0D81\\u0DCA\\u0DD2-\\u0DD4\\u0DD6\\u0E31\\u0E34-\\u0E3A\\u0E46-\\u0E4E\\u0EB1\\u0EB4-\\u0EBC\\u0EC6\\u0EC8-\\u0ECD\\u0F18\\u0F19\\u0F35\\u0F37'
    '\\u0F39\\u0F71-\\u0F7E\\u0F80-\\u0F84\\u0F86\\u0F87\\u0F8D-\\u0F97\\u0F99-\\u0FBC\\u0FC6\\u102D-\\u1030\\u1032-\\u1037\\u1039\\u103A\\u103D\\u103E'
    '\\u1058\\u1059\\u105E-\\u1060\\u1071-\\u1074\\u1082\\u1085\\u1086\\u108D\\u109D\\u10FC\\u135D-\\u135F\\u1712-\\u1714\\u1732\\u1733\\u1752\\u1753'
    '\\u1772\\u1773\\u17B4\\u17B5\\u17B7-\\u17BD\\u17C6\\u17C9-\\u17D3\\u17D7\\u17DD\\u180B-\\u180D\\u180F\\u1843\\u1885\\u1886\\u18A9\\u1920-\\u1922'
    '\\u1927\\u1928\\u1932\\u1939-\\u193B\\u1A17\\u1A18\\u1A1B\\u1A56\\u1A58-\\u1A5E\\u1A60\\u1A62\\u1A65-\\u1A6C\\u1A73-\\u1A7C\\u1A7F\\u1AA7'
    '\\u1AB0-\\u1ABD\\u1ABF-\\u1ACE\\u1B00-\\u1B03\\u1B34\\u1B36-\\u1B3A\\u1B3C\\u1B42\\u1B6B-\\u1B73\\u1B80\\u1B81\\u1BA2-\\u1BA5\\u1BA8\\u1BA9'
    '\\u1BAB-\\u1BAD\\u1BE6\\u1BE8\\u1BE9\\u1BED\\u1BEF-\\u1BF1\\u1C2C-\\u1C33\\u1C36\\u1C37\\u1C78-\\u1C7D\\u1CD0-\\u1CD2\\u1CD4-\\u1CE0\\u1CE2-\\u1CE8'
    '\\u1CED\\u1CF4\\u1CF8\\u1CF9\\u1D2C-\\u1D6A\\u1D78\\u1D9B-\\u1DFF\\u2071\\u207F\\u2090-\\u209C\\u20D0-\\u20DC\\u20E1\\u20E5-\\u20F0\\u2C7C\\u2C7D'
    '\\u2CEF-\\u2CF1\\u2D6F\\u2D7F\\u2DE0-\\u2DFF\\u2E2F\\u3005\\u302A-\\u302D\\u3031-\\u3035\\u303B\\u3099\\u309A\\u309D\\u309E\\u30FC-\\u30FE\\uA015'
    '\\uA4F8-\\uA4FD\\uA60C\\uA66F\\uA674-\\uA67D\\uA67F\\uA69C-\\uA69F\\uA6F0\\uA6F1\\uA717-\\uA71F\\uA770\\uA788\\uA7F2-\\uA7F4\\uA7F8\\uA7F9\\uA802'
    '\\uA806\\uA80B\\uA825\\uA826\\uA82C\\uA8C4\\uA8C5\\uA8E0-\\uA8F1\\uA8FF\\uA926-\\uA92D\\uA947-\\uA951\\uA980-\\uA982\\uA9B3\\uA9B6-\\uA9B9'
    '\\uA9BC\\uA9BD\\uA9CF\\uA9E5\\uA9E6\\uAA29-\\uAA2E\\uAA31\\uAA32\\uAA35\\uAA36\\uAA43\\uAA4C\\uAA70\\uAA7C\\uAAB0\\uAAB2-\\uAAB4\\uAAB7\\uAAB8'
    '\\uAABE\\uAABF\\uAAC1\\uAADD\\uAAEC\\uAAED\\uAAF3\\uAAF4\\uAAF6\\uAB5C-\\uAB5F\\uAB69\\uABE5\\uABE8\\uABED\\uFB1E\\uFE00-\\uFE0F\\uFE20-\\uFE2F'
    '\\uFF70\\uFF9E\\uFF9F\\U000101FD\\U000102E0\\U00010376-\\U0001037A\\U00010780-\\U00010785\\U00010787-\\U000107B0\\U000107B2-\\U000107BA'
    '\\U00010A01-\\U00010A03\\U00010A05\\U00010A06\\U00010A0C-\\U00010A0F\\U00010A38-\\U00010A3A\\U00010A3F\\U00010AE5\\U00010AE6\\U00010D24-\\U00010D27'
    '\\U00010EAB\\U00010EAC\\U00010F46-\\U00010F50\\U00010F82-\\U00010F85\\U00011001\\U00011038-\\U00011046\\U00011070\\U00011073\\U00011074'
    '\\U0001107F-\\U00011081\\U000110B3-\\U000110B6\\U000110B9\\U000110BA\\U000110C2\\U00011100-\\U00011102\\U00011127-\\U0001112B\\U0001112D-\\U00011134'
    '\\U00011173\\U00011180\\U00011181\\U000111B6-\\U000111BE\\U000111C9-\\U000111CC\\U000111CF\\U0001122F-\\U00011231\\U00011234\\U00011236\\U00011237'
    '\\U0001123E\\U000112DF\\U000112E3-\\U000112EA\\U00011300\\U00011301\\U0001133B\\U0001133C\\U00011340\\U00011366-\\U0001136C\\U00011370-\\U00011374'
    '\\U00011438-\\U0001143F\\U00011442-\\U00011444\\U00011446\\U0001145E\\U000114B3-\\U000114B8\\U000114BA\\U000114BF\\U000114C0\\U000114C2\\U000114C3'
    '\\U000115B2-\\U000115B5\\U000115BC\\U000115BD\\U000115BF\\U000115C0\\U000115DC\\U000115DD\\U00011633-\\U0001163A\\U0001163D\\U0001163F\\U00011640'
    '\\U000116AB\\U000116AD\\U000116B0-\\U000116B5\\U000116B7\\U0001171D-\\U0001171F\\U00011722-\\U00011725\\U00011727-\\U0001172B\\U0001182F-\\U00011837'
    '\\U00011839\\U0001183A\\U0001193B\\U0001193C\\U0001193E\\U00011943\\U000119D4-\\U000119D7\\U000119DA\\U000119DB\\U000119E0\\U00011A01-\\U00011A0A'
    '\\U00011A33-\\U00011A38\\U00011A3B-\\U00011A3E\\U00011A47\\U00011A51-\\U00011A56\\U00011A59-\\U00011A5B\\U00011A8A-\\U00011A96\\U00011A98\\U00011A99'
    '\\U00011C30-\\U00011C36\\U00011C38-\\U00011C3D\\U00011C3F\\U00011C92-\\U00011CA7\\U00011CAA-\\U00011CB0\\U00011CB2\\U00011CB3\\U00011CB5\\U00011CB6'
    '\\U00011D31-\\U00011D36\\U00011D3A\\U00011D3C\\U00011D3D\\U00011D3F-\\U00011D45\\U00011D47\\U00011D90\\U00011D91\\U00011D95\\U00011D97'
    '\\U00011EF3\\U00011EF4\\U00016AF0-\\U00016AF4\\U00016B30-\\U00016B36\\U00016B40-\\U00016B43\\U00016F4F\\U00016F8F-\\U00016F9F\\U00016FE0\\U00016FE1'
    '\\U00016FE3\\U00016FE4\\U0001AFF0-\\U0001AFF3\\U0001AFF5-\\U0001AFFB\\U0001AFFD\\U0001AFFE\\U0001BC9D\\U0001BC9E\\U0001CF00-\\U0001CF2D'
    '\\U0001CF30-\\U0001CF46\\U0001D167-\\U0001D169\\U0001D17B-\\U0001D182\\U0001D185-\\U0001D18B\\U0001D1AA-\\U0001D1AD\\U0001D242-\\U0001D244'
    '\\U0001DA00-\\U0001DA36\\U0001DA3B-\\U0001DA6C\\U0001DA75\\U0001DA84\\U0001DA9B-\\U0001DA9F\\U0001DAA1-\\U0001DAAF\\U0001E000-\\U0001E006'
    '\\U0001E008-\\U0001E018\\U0001E01B-\\U0001E021\\U0001E023\\U0001E024\\U0001E026-\\U0001E02A\\U0001E130-\\U0001E13D\\U0001E2AE\\U0001E2EC-\\U0001E2EF'
    '\\U0001E8D0-\\U0001E8D6\\U0001E944-\\U0001E94B\\U000E0100-\\U000E01EF';
COMMENT ON FUNCTION mnemo._unicode_case_ignorable() IS
    'Inside of a bracket expression: the case-ignorable letters and marks (Lm, Mn). Never NULL. Raises nothing. Source: Unicode 14.0.';

-- part: 101_unicode_normal.sql
-- Generated by sql/unicode.py from Unicode 14.0: change the generator, not this file.

CREATE FUNCTION mnemo._unicode_stable()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u0001-\\u02FF\\u03A3-\\u0482\\u0488-\\u052F\\u0531-\\u0556\\u0559-\\u058A\\u05D0-\\u05EA\\u061B-\\u064A\\u0671-\\u06D5\\u06EE-\\u070D'
    '\\u0712-\\u072F\\u074D-\\u07B1\\u07C0-\\u07EA\\u0840-\\u0858\\u0870-\\u088E\\u08A0-\\u08C9\\u0900-\\u093B\\u0960-\\u0983\\u0D12-\\u0D3A'
    '\\u0D66-\\u0D7F\\u0E01-\\u0E37\\u0F1A-\\u0F34\\u1000-\\u102D\\u103B-\\u108C\\u108E-\\u10C5\\u10D0-\\u1160\\u1176-\\u11A7\\u11C3-\\u1248'
    '\\u1260-\\u1288\\u1290-\\u12B0\\u12D8-\\u1310\\u1318-\\u135A\\u1360-\\u137C\\u1380-\\u1399\\u13A0-\\u13F5\\u1400-\\u169C\\u16A0-\\u16F8'
    '\\u1780-\\u17D1\\u1800-\\u1819\\u1820-\\u1878\\u1880-\\u18A8\\u18B0-\\u18F5\\u1900-\\u191E\\u1944-\\u196D\\u1980-\\u19AB\\u19B0-\\u19C9'
    '\\u19DE-\\u1A16\\u1A1E-\\u1A5E\\u1B00-\\u1B33\\u1B50-\\u1B6A\\u1B80-\\u1BA9\\u1BAC-\\u1BE5\\u1BFC-\\u1C36\\u1C4D-\\u1C88\\u1C90-\\u1CBA'
    '\\u1D00-\\u1DBF\\u1E00-\\u1F15\\u1F20-\\u1F45\\u1F80-\\u1FB4\\u2002-\\u2064\\u2074-\\u208E\\u20A0-\\u20C0\\u2100-\\u2125\\u212C-\\u218B'
    '\\u2190-\\u2328\\u232B-\\u2426\\u2460-\\u2ADB\\u2ADD-\\u2B73\\u2B76-\\u2B95\\u2B97-\\u2CEE\\u2CF9-\\u2D25\\u2D30-\\u2D67\\u2E00-\\u2E5D'
    '\\u2E80-\\u2E99\\u2E9B-\\u2EF3\\u2F00-\\u2FD5\\u3000-\\u3029\\u3041-\\u3096\\u309B-\\u30FF\\u3105-\\u312F\\u3131-\\u318E\\u3190-\\u31E3'
    '\\u31F0-\\u321E\\u3220-\\uA48C\\uA490-\\uA4C6\\uA4D0-\\uA62B\\uA640-\\uA66E\\uA67E-\\uA69D\\uA6A0-\\uA6EF\\uA700-\\uA7CA\\uA807-\\uA82B'
    '\\uA840-\\uA877\\uA880-\\uA8C3\\uA8F2-\\uA92A\\uA92E-\\uA952\\uA95F-\\uA97C\\uA980-\\uA9B2\\uA9DE-\\uA9FE\\uAA00-\\uAA36\\uAA5C-\\uAAAF'
    '\\uAADB-\\uAAF5\\uAB30-\\uAB6B\\uAB70-\\uABEC\\uAC00-\\uD7A3\\uD7CB-\\uD7FB\\uE000-\\uF8FF\\uFB4F-\\uFBC2\\uFBD3-\\uFD8F\\uFD92-\\uFDC7'
    '\\uFDF0-\\uFE19\\uFE30-\\uFE52\\uFE76-\\uFEFC\\uFF01-\\uFFBE\\U00010600-\\U00010736\\U00011FFF-\\U00012399\\U00013000-\\U0001342E'
    '\\U00014400-\\U00014646\\U00016800-\\U00016A38\\U00017000-\\U000187F7\\U00018800-\\U00018CD5\\U0001B170-\\U0001B2FB\\U0001D552-\\U0001D6A5'
    '\\U0001D7CE-\\U0001DA8B\\U0001F300-\\U0001F6D7\\U0001F900-\\U0001FA53\\U00020000-\\U0002A6DF\\U0002A700-\\U0002B738\\U0002B820-\\U0002CEA1'
    '\\U0002CEB0-\\U0002EBE0\\U00030000-\\U0003134A\\U000F0000-\\U000FFFFD\\U00100000-\\U0010FFFD';
COMMENT ON FUNCTION mnemo._unicode_stable() IS
    'Inside of a bracket expression: code points that NFC leaves as they are whatever stands beside them; not all, but the long ranges, so that the '
    'class stays small. Never NULL. Raises nothing. Source: Unicode 14.0.';

CREATE FUNCTION mnemo._unicode_unassigned()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u0378\\u0379\\u0380-\\u0383\\u038B\\u038D\\u03A2\\u0530\\u0557\\u0558\\u058B\\u058C\\u0590\\u05C8-\\u05CF\\u05EB-\\u05EE\\u05F5-\\u05FF\\u070E'
    '\\u074B\\u074C\\u07B2-\\u07BF\\u07FB\\u07FC\\u082E\\u082F\\u083F\\u085C\\u085D\\u085F\\u086B-\\u086F\\u088F\\u0892-\\u0897\\u0984\\u098D\\u098E'
    '\\u0991\\u0992\\u09A9\\u09B1\\u09B3-\\u09B5\\u09BA\\u09BB\\u09C5\\u09C6\\u09C9\\u09CA\\u09CF-\\u09D6\\u09D8-\\u09DB\\u09DE\\u09E4\\u09E5'
    '\\u09FF\\u0A00\\u0A04\\u0A0B-\\u0A0E\\u0A11\\u0A12\\u0A29\\u0A31\\u0A34\\u0A37\\u0A3A\\u0A3B\\u0A3D\\u0A43-\\u0A46\\u0A49\\u0A4A\\u0A4E-\\u0A50'
    '\\u0A52-\\u0A58\\u0A5D\\u0A5F-\\u0A65\\u0A77-\\u0A80\\u0A84\\u0A8E\\u0A92\\u0AA9\\u0AB1\\u0AB4\\u0ABA\\u0ABB\\u0AC6\\u0ACA\\u0ACE\\u0ACF'
    '\\u0AD1-\\u0ADF\\u0AE4\\u0AE5\\u0AF2-\\u0AF8\\u0B00\\u0B04\\u0B0D\\u0B0E\\u0B11\\u0B12\\u0B29\\u0B31\\u0B34\\u0B3A\\u0B3B\\u0B45\\u0B46\\u0B49\\u0B4A'
    '\\u0B4E-\\u0B54\\u0B58-\\u0B5B\\u0B5E\\u0B64\\u0B65\\u0B78-\\u0B81\\u0B84\\u0B8B-\\u0B8D\\u0B91\\u0B96-\\u0B98\\u0B9B\\u0B9D\\u0BA0-\\u0BA2'
    '\\u0BA5-\\u0BA7\\u0BAB-\\u0BAD\\u0BBA-\\u0BBD\\u0BC3-\\u0BC5\\u0BC9\\u0BCE\\u0BCF\\u0BD1-\\u0BD6\\u0BD8-\\u0BE5\\u0BFB-\\u0BFF\\u0C0D\\u0C11\\u0C29'
    '\\u0C3A\\u0C3B\\u0C45\\u0C49\\u0C4E-\\u0C54\\u0C57\\u0C5B\\u0C5C\\u0C5E\\u0C5F\\u0C64\\u0C65\\u0C70-\\u0C76\\u0C8D\\u0C91\\u0CA9\\u0CB4\\u0CBA\\u0CBB'
    '\\u0CC5\\u0CC9\\u0CCE-\\u0CD4\\u0CD7-\\u0CDC\\u0CDF\\u0CE4\\u0CE5\\u0CF0\\u0CF3-\\u0CFF\\u0D0D\\u0D11\\u0D45\\u0D49\\u0D50-\\u0D53\\u0D64\\u0D65'
    '\\u0D80\\u0D84\\u0D97-\\u0D99\\u0DB2\\u0DBC\\u0DBE\\u0DBF\\u0DC7-\\u0DC9\\u0DCB-\\u0DCE\\u0DD5\\u0DD7\\u0DE0-\\u0DE5\\u0DF0\\u0DF1\\u0DF5-\\u0E00'
    '\\u0E3B-\\u0E3E\\u0E5C-\\u0E80\\u0E83\\u0E85\\u0E8B\\u0EA4\\u0EA6\\u0EBE\\u0EBF\\u0EC5\\u0EC7\\u0ECE\\u0ECF\\u0EDA\\u0EDB\\u0EE0-\\u0EFF\\u0F48'
    '\\u0F6D-\\u0F70\\u0F98\\u0FBD\\u0FCD\\u0FDB-\\u0FFF\\u10C6\\u10C8-\\u10CC\\u10CE\\u10CF\\u1249\\u124E\\u124F\\u1257\\u1259\\u125E\\u125F\\u1289'
    '\\u128E\\u128F\\u12B1\\u12B6\\u12B7\\u12BF\\u12C1\\u12C6\\u12C7\\u12D7\\u1311\\u1316\\u1317\\u135B\\u135C\\u137D-\\u137F\\u139A-\\u139F\\u13F6\\u13F7'
    '\\u13FE\\u13FF\\u169D-\\u169F\\u16F9-\\u16FF\\u1716-\\u171E\\u1737-\\u173F\\u1754-\\u175F\\u176D\\u1771\\u1774-\\u177F\\u17DE\\u17DF\\u17EA-\\u17EF'
    '\\u17FA-\\u17FF\\u181A-\\u181F\\u1879-\\u187F\\u18AB-\\u18AF\\u18F6-\\u18FF\\u191F\\u192C-\\u192F\\u193C-\\u193F\\u1941-\\u1943\\u196E\\u196F'
    '\\u1975-\\u197F\\u19AC-\\u19AF\\u19CA-\\u19CF\\u19DB-\\u19DD\\u1A1C\\u1A1D\\u1A5F\\u1A7D\\u1A7E\\u1A8A-\\u1A8F\\u1A9A-\\u1A9F\\u1AAE\\u1AAF'
    '\\u1ACF-\\u1AFF\\u1B4D-\\u1B4F\\u1B7F\\u1BF4-\\u1BFB\\u1C38-\\u1C3A\\u1C4A-\\u1C4C\\u1C89-\\u1C8F\\u1CBB\\u1CBC\\u1CC8-\\u1CCF\\u1CFB-\\u1CFF'
    '\\u1F16\\u1F17\\u1F1E\\u1F1F\\u1F46\\u1F47\\u1F4E\\u1F4F\\u1F58\\u1F5A\\u1F5C\\u1F5E\\u1F7E\\u1F7F\\u1FB5\\u1FC5\\u1FD4\\u1FD5\\u1FDC\\u1FF0\\u1FF1'
    '\\u1FF5\\u1FFF\\u2065\\u2072\\u2073\\u208F\\u209D-\\u209F\\u20C1-\\u20CF\\u20F1-\\u20FF\\u218C-\\u218F\\u2427-\\u243F\\u244B-\\u245F\\u2B74\\u2B75'
    '\\u2B96\\u2CF4-\\u2CF8\\u2D26\\u2D28-\\u2D2C\\u2D2E\\u2D2F\\u2D68-\\u2D6E\\u2D71-\\u2D7E\\u2D97-\\u2D9F\\u2DA7\\u2DAF\\u2DB7\\u2DBF\\u2DC7\\u2DCF'
    '\\u2DD7\\u2DDF\\u2E5E-\\u2E7F\\u2E9A\\u2EF4-\\u2EFF\\u2FD6-\\u2FEF\\u2FFC-\\u2FFF\\u3040\\u3097\\u3098\\u3100-\\u3104\\u3130\\u318F\\u31E4-\\u31EF'
    '\\u321F\\uA48D-\\uA48F\\uA4C7-\\uA4CF\\uA62C-\\uA63F\\uA6F8-\\uA6FF\\uA7CB-\\uA7CF\\uA7D2\\uA7D4\\uA7DA-\\uA7F1\\uA82D-\\uA82F\\uA83A-\\uA83F'
    '\\uA878-\\uA87F\\uA8C6-\\uA8CD\\uA8DA-\\uA8DF\\uA954-\\uA95E\\uA97D-\\uA97F\\uA9CE\\uA9DA-\\uA9DD\\uA9FF\\uAA37-\\uAA3F\\uAA4E\\uAA4F\\uAA5A\\uAA5B'
    '\\uAAC3-\\uAADA\\uAAF7-\\uAB00\\uAB07\\uAB08\\uAB0F\\uAB10\\uAB17-\\uAB1F\\uAB27\\uAB2F\\uAB6C-\\uAB6F\\uABEE\\uABEF\\uABFA-\\uABFF\\uD7A4-\\uD7AF'
    '\\uD7C7-\\uD7CA\\uD7FC-\\uD7FF\\uFA6E\\uFA6F\\uFADA-\\uFAFF\\uFB07-\\uFB12\\uFB18-\\uFB1C\\uFB37\\uFB3D\\uFB3F\\uFB42\\uFB45\\uFBC3-\\uFBD2'
    '\\uFD90\\uFD91\\uFDC8-\\uFDCE\\uFDD0-\\uFDEF\\uFE1A-\\uFE1F\\uFE53\\uFE67\\uFE6C-\\uFE6F\\uFE75\\uFEFD\\uFEFE\\uFF00\\uFFBF-\\uFFC1\\uFFC8\\uFFC9'
    '\\uFFD0\\uFFD1\\uFFD8\\uFFD9\\uFFDD-\\uFFDF\\uFFE7\\uFFEF-\\uFFF8\\uFFFE\\uFFFF\\U0001000C\\U00010027\\U0001003B\\U0001003E\\U0001004E\\U0001004F'
    '\\U0001005E-\\U0001007F\\U000100FB-\\U000100FF\\U00010103-\\U00010106\\U00010134-\\U00010136\\U0001018F\\U0001019D-\\U0001019F\\U000101A1-\\U000101CF'
    '\\U000101FE-\\U0001027F\\U0001029D-\\U0001029F\\U000102D1-\\U000102DF\\U000102FC-\\U000102FF\\U00010324-\\U0001032C\\U0001034B-\\U0001034F'
    '\\U0001037B-\\U0001037F\\U0001039E\\U000103C4-\\U000103C7\\U000103D6-\\U000103FF\\U0001049E\\U0001049F\\U000104AA-\\U000104AF\\U000104D4-\\U000104D7'
    '\\U000104FC-\\U000104FF\\U00010528-\\U0001052F\\U00010564-\\U0001056E\\U0001057B\\U0001058B\\U00010593\\U00010596\\U000105A2\\U000105B2\\U000105BA'
    '\\U000105BD-\\U000105FF\\U00010737-\\U0001073F\\U00010756-\\U0001075F\\U00010768-\\U0001077F\\U00010786\\U000107B1\\U000107BB-\\U000107FF'
    '\\U00010806\\U00010807\\U00010809\\U00010836\\U00010839-\\U0001083B\\U0001083D\\U0001083E\\U00010856\\U0001089F-\\U000108A6\\U000108B0-\\U000108DF'
    '\\U000108F3\\U000108F6-\\U000108FA\\U0001091C-\\U0001091E\\U0001093A-\\U0001093E\\U00010940-\\U0001097F\\U000109B8-\\U000109BB\\U000109D0\\U000109D1'
    '\\U00010A04\\U00010A07-\\U00010A0B\\U00010A14\\U00010A18\\U00010A36\\U00010A37\\U00010A3B-\\U00010A3E\\U00010A49-\\U00010A4F\\U00010A59-\\U00010A5F'
    '\\U00010AA0-\\U00010ABF\\U00010AE7-\\U00010AEA\\U00010AF7-\\U00010AFF\\U00010B36-\\U00010B38\\U00010B56\\U00010B57\\U00010B73-\\U00010B77'
    '\\U00010B92-\\U00010B98\\U00010B9D-\\U00010BA8\\U00010BB0-\\U00010BFF\\U00010C49-\\U00010C7F\\U00010CB3-\\U00010CBF\\U00010CF3-\\U00010CF9'
    '\\U00010D28-\\U00010D2F\\U00010D3A-\\U00010E5F\\U00010E7F\\U00010EAA\\U00010EAE\\U00010EAF\\U00010EB2-\\U00010EFF\\U00010F28-\\U00010F2F'
    '\\U00010F5A-\\U00010F6F\\U00010F8A-\\U00010FAF\\U00010FCC-\\U00010FDF\\U00010FF7-\\U00010FFF\\U0001104E-\\U00011051\\U00011076-\\U0001107E'
    '\\U000110C3-\\U000110CC\\U000110CE\\U000110CF\\U000110E9-\\U000110EF\\U000110FA-\\U000110FF\\U00011135\\U00011148-\\U0001114F\\U00011177-\\U0001117F'
    '\\U000111E0\\U000111F5-\\U000111FF\\U00011212\\U0001123F-\\U0001127F\\U00011287\\U00011289\\U0001128E\\U0001129E\\U000112AA-\\U000112AF'
    '\\U000112EB-\\U000112EF\\U000112FA-\\U000112FF\\U00011304\\U0001130D\\U0001130E\\U00011311\\U00011312\\U00011329\\U00011331\\U00011334\\U0001133A'
    '\\U00011345\\U00011346\\U00011349\\U0001134A\\U0001134E\\U0001134F\\U00011351-\\U00011356\\U00011358-\\U0001135C\\U00011364\\U00011365'
    '\\U0001136D-\\U0001136F\\U00011375-\\U000113FF\\U0001145C\\U00011462-\\U0001147F\\U000114C8-\\U000114CF\\U000114DA-\\U0001157F\\U000115B6\\U000115B7'
    '\\U000115DE-\\U000115FF\\U00011645-\\U0001164F\\U0001165A-\\U0001165F\\U0001166D-\\U0001167F\\U000116BA-\\U000116BF\\U000116CA-\\U000116FF'
    '\\U0001171B\\U0001171C\\U0001172C-\\U0001172F\\U00011747-\\U000117FF\\U0001183C-\\U0001189F\\U000118F3-\\U000118FE\\U00011907\\U00011908'
    '\\U0001190A\\U0001190B\\U00011914\\U00011917\\U00011936\\U00011939\\U0001193A\\U00011947-\\U0001194F\\U0001195A-\\U0001199F\\U000119A8\\U000119A9'
    '\\U000119D8\\U000119D9\\U000119E5-\\U000119FF\\U00011A48-\\U00011A4F\\U00011AA3-\\U00011AAF\\U00011AF9-\\U00011BFF\\U00011C09\\U00011C37'
    '\\U00011C46-\\U00011C4F\\U00011C6D-\\U00011C6F\\U00011C90\\U00011C91\\U00011CA8\\U00011CB7-\\U00011CFF\\U00011D07\\U00011D0A\\U00011D37-\\U00011D39'
    '\\U00011D3B\\U00011D3E\\U00011D48-\\U00011D4F\\U00011D5A-\\U00011D5F\\U00011D66\\U00011D69\\U00011D8F\\U00011D92\\U00011D99-\\U00011D9F'
    '\\U00011DAA-\\U00011EDF\\U00011EF9-\\U00011FAF\\U00011FB1-\\U00011FBF\\U00011FF2-\\U00011FFE\\U0001239A-\\U000123FF\\U0001246F\\U00012475-\\U0001247F'
    '\\U00012544-\\U00012F8F\\U00012FF3-\\U00012FFF\\U0001342F\\U00013439-\\U000143FF\\U00014647-\\U000167FF\\U00016A39-\\U00016A3F\\U00016A5F'
    '\\U00016A6A-\\U00016A6D\\U00016ABF\\U00016ACA-\\U00016ACF\\U00016AEE\\U00016AEF\\U00016AF6-\\U00016AFF\\U00016B46-\\U00016B4F\\U00016B5A\\U00016B62'
    '\\U00016B78-\\U00016B7C\\U00016B90-\\U00016E3F\\U00016E9B-\\U00016EFF\\U00016F4B-\\U00016F4E\\U00016F88-\\U00016F8E\\U00016FA0-\\U00016FDF'
    '\\U00016FE5-\\U00016FEF\\U00016FF2-\\U00016FFF\\U000187F8-\\U000187FF\\U00018CD6-\\U00018CFF\\U00018D09-\\U0001AFEF\\U0001AFF4\\U0001AFFC\\U0001AFFF'
    '\\U0001B123-\\U0001B14F\\U0001B153-\\U0001B163\\U0001B168-\\U0001B16F\\U0001B2FC-\\U0001BBFF\\U0001BC6B-\\U0001BC6F\\U0001BC7D-\\U0001BC7F'
    '\\U0001BC89-\\U0001BC8F\\U0001BC9A\\U0001BC9B\\U0001BCA4-\\U0001CEFF\\U0001CF2E\\U0001CF2F\\U0001CF47-\\U0001CF4F\\U0001CFC4-\\U0001CFFF'
    '\\U0001D0F6-\\U0001D0FF\\U0001D127\\U0001D128\\U0001D1EB-\\U0001D1FF\\U0001D246-\\U0001D2DF\\U0001D2F4-\\U0001D2FF\\U0001D357-\\U0001D35F'
    '\\U0001D379-\\U0001D3FF\\U0001D455\\U0001D49D\\U0001D4A0\\U0001D4A1\\U0001D4A3\\U0001D4A4\\U0001D4A7\\U0001D4A8\\U0001D4AD\\U0001D4BA\\U0001D4BC'
    '\\U0001D4C4\\U0001D506\\U0001D50B\\U0001D50C\\U0001D515\\U0001D51D\\U0001D53A\\U0001D53F\\U0001D545\\U0001D547-\\U0001D549\\U0001D551'
    '\\U0001D6A6\\U0001D6A7\\U0001D7CC\\U0001D7CD\\U0001DA8C-\\U0001DA9A\\U0001DAA0\\U0001DAB0-\\U0001DEFF\\U0001DF1F-\\U0001DFFF\\U0001E007'
    '\\U0001E019\\U0001E01A\\U0001E022\\U0001E025\\U0001E02B-\\U0001E0FF\\U0001E12D-\\U0001E12F\\U0001E13E\\U0001E13F\\U0001E14A-\\U0001E14D'
    '\\U0001E150-\\U0001E28F\\U0001E2AF-\\U0001E2BF\\U0001E2FA-\\U0001E2FE\\U0001E300-\\U0001E7DF\\U0001E7E7\\U0001E7EC\\U0001E7EF\\U0001E7FF'
    '\\U0001E8C5\\U0001E8C6\\U0001E8D7-\\U0001E8FF\\U0001E94C-\\U0001E94F\\U0001E95A-\\U0001E95D\\U0001E960-\\U0001EC70\\U0001ECB5-\\U0001ED00'
    '\\U0001ED3E-\\U0001EDFF\\U0001EE04\\U0001EE20\\U0001EE23\\U0001EE25\\U0001EE26\\U0001EE28\\U0001EE33\\U0001EE38\\U0001EE3A\\U0001EE3C-\\U0001EE41'
    '\\U0001EE43-\\U0001EE46\\U0001EE48\\U0001EE4A\\U0001EE4C\\U0001EE50\\U0001EE53\\U0001EE55\\U0001EE56\\U0001EE58\\U0001EE5A\\U0001EE5C\\U0001EE5E'
    '\\U0001EE60\\U0001EE63\\U0001EE65\\U0001EE66\\U0001EE6B\\U0001EE73\\U0001EE78\\U0001EE7D\\U0001EE7F\\U0001EE8A\\U0001EE9C-\\U0001EEA0\\U0001EEA4'
    '\\U0001EEAA\\U0001EEBC-\\U0001EEEF\\U0001EEF2-\\U0001EFFF\\U0001F02C-\\U0001F02F\\U0001F094-\\U0001F09F\\U0001F0AF\\U0001F0B0\\U0001F0C0\\U0001F0D0'
    '\\U0001F0F6-\\U0001F0FF\\U0001F1AE-\\U0001F1E5\\U0001F203-\\U0001F20F\\U0001F23C-\\U0001F23F\\U0001F249-\\U0001F24F\\U0001F252-\\U0001F25F'
    '\\U0001F266-\\U0001F2FF\\U0001F6D8-\\U0001F6DC\\U0001F6ED-\\U0001F6EF\\U0001F6FD-\\U0001F6FF\\U0001F774-\\U0001F77F\\U0001F7D9-\\U0001F7DF'
    '\\U0001F7EC-\\U0001F7EF\\U0001F7F1-\\U0001F7FF\\U0001F80C-\\U0001F80F\\U0001F848-\\U0001F84F\\U0001F85A-\\U0001F85F\\U0001F888-\\U0001F88F'
    '\\U0001F8AE\\U0001F8AF\\U0001F8B2-\\U0001F8FF\\U0001FA54-\\U0001FA5F\\U0001FA6E\\U0001FA6F\\U0001FA75-\\U0001FA77\\U0001FA7D-\\U0001FA7F'
    '\\U0001FA87-\\U0001FA8F\\U0001FAAD-\\U0001FAAF\\U0001FABB-\\U0001FABF\\U0001FAC6-\\U0001FACF\\U0001FADA-\\U0001FADF\\U0001FAE8-\\U0001FAEF'
    '\\U0001FAF7-\\U0001FAFF\\U0001FB93\\U0001FBCB-\\U0001FBEF\\U0001FBFA-\\U0001FFFF\\U0002A6E0-\\U0002A6FF\\U0002B739-\\U0002B73F\\U0002B81E\\U0002B81F'
    '\\U0002CEA2-\\U0002CEAF\\U0002EBE1-\\U0002F7FF\\U0002FA1E-\\U0002FFFF\\U0003134B-\\U000E0000\\U000E0002-\\U000E001F\\U000E0080-\\U000E00FF'
    '\\U000E01F0-\\U000EFFFF\\U000FFFFE\\U000FFFFF\\U0010FFFE\\U0010FFFF';
COMMENT ON FUNCTION mnemo._unicode_unassigned() IS
    'Inside of a bracket expression: code points without a character, noncharacters among them. Never NULL. Raises nothing. Source: Unicode 14.0.';

CREATE FUNCTION mnemo._unicode_reordered()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u0300-\\u034E\\u0350-\\u036F\\u0483-\\u0487\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u05C7\\u0610-\\u061A\\u064B-\\u065F\\u0670'
    '\\u06D6-\\u06DC\\u06DF-\\u06E4\\u06E7\\u06E8\\u06EA-\\u06ED\\u0711\\u0730-\\u074A\\u07EB-\\u07F3\\u07FD\\u0816-\\u0819\\u081B-\\u0823\\u0825-\\u0827'
    '\\u0829-\\u082D\\u0859-\\u085B\\u0898-\\u089F\\u08CA-\\u08E1\\u08E3-\\u08FF\\u093C\\u094D\\u0951-\\u0954\\u09BC\\u09CD\\u09FE\\u0A3C\\u0A4D\\u0ABC'
    '\\u0ACD\\u0B3C\\u0B4D\\u0BCD\\u0C3C\\u0C4D-\\u0C56\\u0CBC\\u0CCD\\u0D3B\\u0D3C\\u0D4D\\u0DCA\\u0E38-\\u0E3A\\u0E48-\\u0E4B\\u0EB8-\\u0EBA'
    '\\u0EC8-\\u0ECB\\u0F18\\u0F19\\u0F35\\u0F37\\u0F39\\u0F71-\\u0F75\\u0F7A-\\u0F7D\\u0F80-\\u0F84\\u0F86\\u0F87\\u0FC6\\u1037\\u1039\\u103A\\u108D'
    '\\u135D-\\u135F\\u1714\\u1715\\u1734\\u17D2\\u17DD\\u18A9\\u1939-\\u193B\\u1A17\\u1A18\\u1A60\\u1A75-\\u1A7F\\u1AB0-\\u1ABD\\u1ABF-\\u1ACE\\u1B34'
    '\\u1B44\\u1B6B-\\u1B73\\u1BAA\\u1BAB\\u1BE6\\u1BF2\\u1BF3\\u1C37\\u1CD0-\\u1CD2\\u1CD4-\\u1CE0\\u1CE2-\\u1CE8\\u1CED\\u1CF4\\u1CF8\\u1CF9'
    '\\u1DC0-\\u1DFF\\u20D0-\\u20DC\\u20E1\\u20E5-\\u20F0\\u2CEF-\\u2CF1\\u2D7F\\u2DE0-\\u2DFF\\u302A-\\u302F\\u3099\\u309A\\uA66F\\uA674-\\uA67D'
    '\\uA69E\\uA69F\\uA6F0\\uA6F1\\uA806\\uA82C\\uA8C4\\uA8E0-\\uA8F1\\uA92B-\\uA92D\\uA953\\uA9B3\\uA9C0\\uAAB0\\uAAB2-\\uAAB4\\uAAB7\\uAAB8'
    '\\uAABE\\uAABF\\uAAC1\\uAAF6\\uABED\\uFB1E\\uFE20-\\uFE2F\\U000101FD\\U000102E0\\U00010376-\\U0001037A\\U00010A0D\\U00010A0F\\U00010A38-\\U00010A3F'
    '\\U00010AE5\\U00010AE6\\U00010D24-\\U00010D27\\U00010EAB\\U00010EAC\\U00010F46-\\U00010F50\\U00010F82-\\U00010F85\\U00011046\\U00011070\\U0001107F'
    '\\U000110B9\\U000110BA\\U00011100-\\U00011102\\U00011133\\U00011134\\U00011173\\U000111C0\\U000111CA\\U00011235\\U00011236\\U000112E9\\U000112EA'
    '\\U0001133B\\U0001133C\\U0001134D\\U00011366-\\U00011374\\U00011442\\U00011446\\U0001145E\\U000114C2\\U000114C3\\U000115BF\\U000115C0\\U0001163F'
    '\\U000116B6\\U000116B7\\U0001172B\\U00011839\\U0001183A\\U0001193D\\U0001193E\\U00011943\\U000119E0\\U00011A34\\U00011A47\\U00011A99\\U00011C3F'
    '\\U00011D42\\U00011D44\\U00011D45\\U00011D97\\U00016AF0-\\U00016AF4\\U00016B30-\\U00016B36\\U00016FF0\\U00016FF1\\U0001BC9E\\U0001D165-\\U0001D169'
    '\\U0001D16D-\\U0001D172\\U0001D17B-\\U0001D182\\U0001D185-\\U0001D18B\\U0001D1AA-\\U0001D1AD\\U0001D242-\\U0001D244\\U0001E000-\\U0001E02A'
    '\\U0001E130-\\U0001E136\\U0001E2AE\\U0001E2EC-\\U0001E2EF\\U0001E8D0-\\U0001E8D6\\U0001E944-\\U0001E94A';
COMMENT ON FUNCTION mnemo._unicode_reordered() IS
    'Inside of a bracket expression: code points that canonical ordering may move. Never NULL. Raises nothing. Source: Unicode 14.0.';

CREATE FUNCTION mnemo._unicode_combining_classes()
RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{{768,788,230},{789,789,232},{790,793,220},{794,794,232},{795,795,216},{796,800,220},{801,802,202},{803,806,220},{807,808,202},{809,819,220},'
    '{820,824,1},{825,828,220},{829,835,230},{837,837,240},{838,838,230},{839,841,220},{842,844,230},{845,846,220},{848,850,230},{851,854,220},'
    '{855,855,230},{856,856,232},{857,858,220},{859,859,230},{860,860,233},{861,862,234},{863,863,233},{864,865,234},{866,866,233},{867,879,230},'
    '{1155,1159,230},{1425,1425,220},{1426,1429,230},{1430,1430,220},{1431,1433,230},{1434,1434,222},{1435,1435,220},{1436,1441,230},{1442,1447,220},'
    '{1448,1449,230},{1450,1450,220},{1451,1452,230},{1453,1453,222},{1454,1454,228},{1455,1455,230},{1456,1456,10},{1457,1457,11},{1458,1458,12},'
    '{1459,1459,13},{1460,1460,14},{1461,1461,15},{1462,1462,16},{1463,1463,17},{1464,1464,18},{1465,1466,19},{1467,1467,20},{1468,1468,21},'
    '{1469,1469,22},{1471,1471,23},{1473,1473,24},{1474,1474,25},{1476,1476,230},{1477,1477,220},{1479,1479,18},{1552,1559,230},{1560,1560,30},'
    '{1561,1561,31},{1562,1562,32},{1611,1611,27},{1612,1612,28},{1613,1613,29},{1614,1614,30},{1615,1615,31},{1616,1616,32},{1617,1617,33},'
    '{1618,1618,34},{1619,1620,230},{1621,1622,220},{1623,1627,230},{1628,1628,220},{1629,1630,230},{1631,1631,220},{1648,1648,35},{1750,1756,230},'
    '{1759,1762,230},{1763,1763,220},{1764,1764,230},{1767,1768,230},{1770,1770,220},{1771,1772,230},{1773,1773,220},{1809,1809,36},{1840,1840,230},'
    '{1841,1841,220},{1842,1843,230},{1844,1844,220},{1845,1846,230},{1847,1849,220},{1850,1850,230},{1851,1852,220},{1853,1853,230},{1854,1854,220},'
    '{1855,1857,230},{1858,1858,220},{1859,1859,230},{1860,1860,220},{1861,1861,230},{1862,1862,220},{1863,1863,230},{1864,1864,220},{1865,1866,230},'
    '{2027,2033,230},{2034,2034,220},{2035,2035,230},{2045,2045,220},{2070,2073,230},{2075,2083,230},{2085,2087,230},{2089,2093,230},{2137,2139,220},'
    '{2200,2200,230},{2201,2203,220},{2204,2207,230},{2250,2254,230},{2255,2259,220},{2260,2273,230},{2275,2275,220},{2276,2277,230},{2278,2278,220},'
    '{2279,2280,230},{2281,2281,220},{2282,2284,230},{2285,2287,220},{2288,2288,27},{2289,2289,28},{2290,2290,29},{2291,2293,230},{2294,2294,220},'
    '{2295,2296,230},{2297,2298,220},{2299,2303,230},{2364,2364,7},{2381,2381,9},{2385,2385,230},{2386,2386,220},{2387,2388,230},{2492,2492,7},'
    '{2509,2509,9},{2558,2558,230},{2620,2620,7},{2637,2637,9},{2748,2748,7},{2765,2765,9},{2876,2876,7},{2893,2893,9},{3021,3021,9},{3132,3132,7},'
    '{3149,3149,9},{3157,3157,84},{3158,3158,91},{3260,3260,7},{3277,3277,9},{3387,3388,9},{3405,3405,9},{3530,3530,9},{3640,3641,103},{3642,3642,9},'
    '{3656,3659,107},{3768,3769,118},{3770,3770,9},{3784,3787,122},{3864,3865,220},{3893,3893,220},{3895,3895,220},{3897,3897,216},{3953,3953,129},'
    '{3954,3954,130},{3956,3956,132},{3962,3965,130},{3968,3968,130},{3970,3971,230},{3972,3972,9},{3974,3975,230},{4038,4038,220},{4151,4151,7},'
    '{4153,4154,9},{4237,4237,220},{4957,4959,230},{5908,5909,9},{5940,5940,9},{6098,6098,9},{6109,6109,230},{6313,6313,228},{6457,6457,222},'
    '{6458,6458,230},{6459,6459,220},{6679,6679,230},{6680,6680,220},{6752,6752,9},{6773,6780,230},{6783,6783,220},{6832,6836,230},{6837,6842,220},'
    '{6843,6844,230},{6845,6845,220},{6847,6848,220},{6849,6850,230},{6851,6852,220},{6853,6857,230},{6858,6858,220},{6859,6862,230},{6964,6964,7},'
    '{6980,6980,9},{7019,7019,230},{7020,7020,220},{7021,7027,230},{7082,7083,9},{7142,7142,7},{7154,7155,9},{7223,7223,7},{7376,7378,230},{7380,7380,1},'
    '{7381,7385,220},{7386,7387,230},{7388,7391,220},{7392,7392,230},{7394,7400,1},{7405,7405,220},{7412,7412,230},{7416,7417,230},{7616,7617,230},'
    '{7618,7618,220},{7619,7625,230},{7626,7626,220},{7627,7628,230},{7629,7629,234},{7630,7630,214},{7631,7631,220},{7632,7632,202},{7633,7669,230},'
    '{7670,7670,232},{7671,7672,228},{7673,7673,220},{7674,7674,218},{7675,7675,230},{7676,7676,233},{7677,7677,220},{7678,7678,230},{7679,7679,220},'
    '{8400,8401,230},{8402,8403,1},{8404,8407,230},{8408,8410,1},{8411,8412,230},{8417,8417,230},{8421,8422,1},{8423,8423,230},{8424,8424,220},'
    '{8425,8425,230},{8426,8427,1},{8428,8431,220},{8432,8432,230},{11503,11505,230},{11647,11647,9},{11744,11775,230},{12330,12330,218},'
    '{12331,12331,228},{12332,12332,232},{12333,12333,222},{12334,12335,224},{12441,12442,8},{42607,42607,230},{42612,42621,230},{42654,42655,230},'
    '{42736,42737,230},{43014,43014,9},{43052,43052,9},{43204,43204,9},{43232,43249,230},{43307,43309,220},{43347,43347,9},{43443,43443,7},'
    '{43456,43456,9},{43696,43696,230},{43698,43699,230},{43700,43700,220},{43703,43704,230},{43710,43711,230},{43713,43713,230},{43766,43766,9},'
    '{44013,44013,9},{64286,64286,26},{65056,65062,230},{65063,65069,220},{65070,65071,230},{66045,66045,220},{66272,66272,220},{66422,66426,230},'
    '{68109,68109,220},{68111,68111,230},{68152,68152,230},{68153,68153,1},{68154,68154,220},{68159,68159,9},{68325,68325,230},{68326,68326,220},'
    '{68900,68903,230},{69291,69292,230},{69446,69447,220},{69448,69450,230},{69451,69451,220},{69452,69452,230},{69453,69456,220},{69506,69506,230},'
    '{69507,69507,220},{69508,69508,230},{69509,69509,220},{69702,69702,9},{69744,69744,9},{69759,69759,9},{69817,69817,9},{69818,69818,7},'
    '{69888,69890,230},{69939,69940,9},{70003,70003,7},{70080,70080,9},{70090,70090,7},{70197,70197,9},{70198,70198,7},{70377,70377,7},{70378,70378,9},'
    '{70459,70460,7},{70477,70477,9},{70502,70508,230},{70512,70516,230},{70722,70722,9},{70726,70726,7},{70750,70750,230},{70850,70850,9},'
    '{70851,70851,7},{71103,71103,9},{71104,71104,7},{71231,71231,9},{71350,71350,9},{71351,71351,7},{71467,71467,9},{71737,71737,9},{71738,71738,7},'
    '{71997,71998,9},{72003,72003,7},{72160,72160,9},{72244,72244,9},{72263,72263,9},{72345,72345,9},{72767,72767,9},{73026,73026,7},{73028,73029,9},'
    '{73111,73111,9},{92912,92916,1},{92976,92982,230},{94192,94193,6},{113822,113822,1},{119141,119142,216},{119143,119145,1},{119149,119149,226},'
    '{119150,119154,216},{119163,119170,220},{119173,119177,230},{119178,119179,220},{119210,119213,230},{119362,119364,230},{122880,122886,230},'
    '{122888,122904,230},{122907,122913,230},{122915,122916,230},{122918,122922,230},{123184,123190,230},{123566,123566,230},{123628,123631,230},'
    '{125136,125142,220},{125252,125257,230},{125258,125258,7}}'::integer[];
COMMENT ON FUNCTION mnemo._unicode_combining_classes() IS
    'Rows of first code point, last code point, canonical combining class, for the classes above 0. Never NULL. Raises nothing. Source: Unicode 14.0.';

-- part: 102_unicode_lower.sql
-- Generated by sql/unicode.py from Unicode 14.0: change the generator, not this file.

CREATE FUNCTION mnemo._unicode_upper()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u00C0-\\u00D6\\u00D8-\\u00DE\\u0100\\u0102\\u0104\\u0106\\u0108\\u010A\\u010C\\u010E\\u0110\\u0112\\u0114\\u0116\\u0118\\u011A\\u011C\\u011E'
    '\\u0120\\u0122\\u0124\\u0126\\u0128\\u012A\\u012C\\u012E\\u0132\\u0134\\u0136\\u0139\\u013B\\u013D\\u013F\\u0141\\u0143\\u0145\\u0147\\u014A\\u014C'
    '\\u014E\\u0150\\u0152\\u0154\\u0156\\u0158\\u015A\\u015C\\u015E\\u0160\\u0162\\u0164\\u0166\\u0168\\u016A\\u016C\\u016E\\u0170\\u0172\\u0174\\u0176'
    '\\u0178\\u0179\\u017B\\u017D\\u0181\\u0182\\u0184\\u0186\\u0187\\u0189-\\u018B\\u018E-\\u0191\\u0193\\u0194\\u0196-\\u0198\\u019C\\u019D'
    '\\u019F\\u01A0\\u01A2\\u01A4\\u01A6\\u01A7\\u01A9\\u01AC\\u01AE\\u01AF\\u01B1-\\u01B3\\u01B5\\u01B7\\u01B8\\u01BC\\u01C4\\u01C5\\u01C7\\u01C8'
    '\\u01CA\\u01CB\\u01CD\\u01CF\\u01D1\\u01D3\\u01D5\\u01D7\\u01D9\\u01DB\\u01DE\\u01E0\\u01E2\\u01E4\\u01E6\\u01E8\\u01EA\\u01EC\\u01EE\\u01F1\\u01F2'
    '\\u01F4\\u01F6-\\u01F8\\u01FA\\u01FC\\u01FE\\u0200\\u0202\\u0204\\u0206\\u0208\\u020A\\u020C\\u020E\\u0210\\u0212\\u0214\\u0216\\u0218\\u021A\\u021C'
    '\\u021E\\u0220\\u0222\\u0224\\u0226\\u0228\\u022A\\u022C\\u022E\\u0230\\u0232\\u023A\\u023B\\u023D\\u023E\\u0241\\u0243-\\u0246\\u0248\\u024A\\u024C'
    '\\u024E\\u0370\\u0372\\u0376\\u037F\\u0386\\u0388-\\u038A\\u038C\\u038E\\u038F\\u0391-\\u03A1\\u03A3-\\u03AB\\u03CF\\u03D8\\u03DA\\u03DC\\u03DE'
    '\\u03E0\\u03E2\\u03E4\\u03E6\\u03E8\\u03EA\\u03EC\\u03EE\\u03F4\\u03F7\\u03F9\\u03FA\\u03FD-\\u042F\\u0460\\u0462\\u0464\\u0466\\u0468\\u046A\\u046C'
    '\\u046E\\u0470\\u0472\\u0474\\u0476\\u0478\\u047A\\u047C\\u047E\\u0480\\u048A\\u048C\\u048E\\u0490\\u0492\\u0494\\u0496\\u0498\\u049A\\u049C\\u049E'
    '\\u04A0\\u04A2\\u04A4\\u04A6\\u04A8\\u04AA\\u04AC\\u04AE\\u04B0\\u04B2\\u04B4\\u04B6\\u04B8\\u04BA\\u04BC\\u04BE\\u04C0\\u04C1\\u04C3\\u04C5\\u04C7'
    '\\u04C9\\u04CB\\u04CD\\u04D0\\u04D2\\u04D4\\u04D6\\u04D8\\u04DA\\u04DC\\u04DE\\u04E0\\u04E2\\u04E4\\u04E6\\u04E8\\u04EA\\u04EC\\u04EE\\u04F0\\u04F2'
    '\\u04F4\\u04F6\\u04F8\\u04FA\\u04FC\\u04FE\\u0500\\u0502\\u0504\\u0506\\u0508\\u050A\\u050C\\u050E\\u0510\\u0512\\u0514\\u0516\\u0518\\u051A\\u051C'
    '\\u051E\\u0520\\u0522\\u0524\\u0526\\u0528\\u052A\\u052C\\u052E\\u0531-\\u0556\\u10A0-\\u10C5\\u10C7\\u10CD\\u13A0-\\u13F5\\u1C90-\\u1CBA'
    '\\u1CBD-\\u1CBF\\u1E00\\u1E02\\u1E04\\u1E06\\u1E08\\u1E0A\\u1E0C\\u1E0E\\u1E10\\u1E12\\u1E14\\u1E16\\u1E18\\u1E1A\\u1E1C\\u1E1E\\u1E20\\u1E22\\u1E24'
    '\\u1E26\\u1E28\\u1E2A\\u1E2C\\u1E2E\\u1E30\\u1E32\\u1E34\\u1E36\\u1E38\\u1E3A\\u1E3C\\u1E3E\\u1E40\\u1E42\\u1E44\\u1E46\\u1E48\\u1E4A\\u1E4C\\u1E4E'
    '\\u1E50\\u1E52\\u1E54\\u1E56\\u1E58\\u1E5A\\u1E5C\\u1E5E\\u1E60\\u1E62\\u1E64\\u1E66\\u1E68\\u1E6A\\u1E6C\\u1E6E\\u1E70\\u1E72\\u1E74\\u1E76\\u1E78'
    '\\u1E7A\\u1E7C\\u1E7E\\u1E80\\u1E82\\u1E84\\u1E86\\u1E88\\u1E8A\\u1E8C\\u1E8E\\u1E90\\u1E92\\u1E94\\u1E9E\\u1EA0\\u1EA2\\u1EA4\\u1EA6\\u1EA8\\u1EAA'
    '\\u1EAC\\u1EAE\\u1EB0\\u1EB2\\u1EB4\\u1EB6\\u1EB8\\u1EBA\\u1EBC\\u1EBE\\u1EC0\\u1EC2\\u1EC4\\u1EC6\\u1EC8\\u1ECA\\u1ECC\\u1ECE\\u1ED0\\u1ED2\\u1ED4'
    '\\u1ED6\\u1ED8\\u1EDA\\u1EDC\\u1EDE\\u1EE0\\u1EE2\\u1EE4\\u1EE6\\u1EE8\\u1EEA\\u1EEC\\u1EEE\\u1EF0\\u1EF2\\u1EF4\\u1EF6\\u1EF8\\u1EFA\\u1EFC\\u1EFE'
    '\\u1F08-\\u1F0F\\u1F18-\\u1F1D\\u1F28-\\u1F2F\\u1F38-\\u1F3F\\u1F48-\\u1F4D\\u1F59\\u1F5B\\u1F5D\\u1F5F\\u1F68-\\u1F6F\\u1F88-\\u1F8F\\u1F98-\\u1F9F'
    '\\u1FA8-\\u1FAF\\u1FB8-\\u1FBC\\u1FC8-\\u1FCC\\u1FD8-\\u1FDB\\u1FE8-\\u1FEC\\u1FF8-\\u1FFC\\u2126\\u212A\\u212B\\u2132\\u2160-\\u216F\\u2183'
    '\\u24B6-\\u24CF\\u2C00-\\u2C2F\\u2C60\\u2C62-\\u2C64\\u2C67\\u2C69\\u2C6B\\u2C6D-\\u2C70\\u2C72\\u2C75\\u2C7E-\\u2C80\\u2C82\\u2C84\\u2C86\\u2C88'
    '\\u2C8A\\u2C8C\\u2C8E\\u2C90\\u2C92\\u2C94\\u2C96\\u2C98\\u2C9A\\u2C9C\\u2C9E\\u2CA0\\u2CA2\\u2CA4\\u2CA6\\u2CA8\\u2CAA\\u2CAC\\u2CAE\\u2CB0\\u2CB2'
    '\\u2CB4\\u2CB6\\u2CB8\\u2CBA\\u2CBC\\u2CBE\\u2CC0\\u2CC2\\u2CC4\\u2CC6\\u2CC8\\u2CCA\\u2CCC\\u2CCE\\u2CD0\\u2CD2\\u2CD4\\u2CD6\\u2CD8\\u2CDA\\u2CDC'
    '\\u2CDE\\u2CE0\\u2CE2\\u2CEB\\u2CED\\u2CF2\\uA640\\uA642\\uA644\\uA646\\uA648\\uA64A\\uA64C\\uA64E\\uA650\\uA652\\uA654\\uA656\\uA658\\uA65A\\uA65C'
    '\\uA65E\\uA660\\uA662\\uA664\\uA666\\uA668\\uA66A\\uA66C\\uA680\\uA682\\uA684\\uA686\\uA688\\uA68A\\uA68C\\uA68E\\uA690\\uA692\\uA694\\uA696\\uA698'
    '\\uA69A\\uA722\\uA724\\uA726\\uA728\\uA72A\\uA72C\\uA72E\\uA732\\uA734\\uA736\\uA738\\uA73A\\uA73C\\uA73E\\uA740\\uA742\\uA744\\uA746\\uA748\\uA74A'
    '\\uA74C\\uA74E\\uA750\\uA752\\uA754\\uA756\\uA758\\uA75A\\uA75C\\uA75E\\uA760\\uA762\\uA764\\uA766\\uA768\\uA76A\\uA76C\\uA76E\\uA779\\uA77B'
    '\\uA77D\\uA77E\\uA780\\uA782\\uA784\\uA786\\uA78B\\uA78D\\uA790\\uA792\\uA796\\uA798\\uA79A\\uA79C\\uA79E\\uA7A0\\uA7A2\\uA7A4\\uA7A6\\uA7A8'
    '\\uA7AA-\\uA7AE\\uA7B0-\\uA7B4\\uA7B6\\uA7B8\\uA7BA\\uA7BC\\uA7BE\\uA7C0\\uA7C2\\uA7C4-\\uA7C7\\uA7C9\\uA7D0\\uA7D6\\uA7D8\\uA7F5\\uFF21-\\uFF3A'
    '\\U00010400-\\U00010427\\U000104B0-\\U000104D3\\U00010570-\\U0001057A\\U0001057C-\\U0001058A\\U0001058C-\\U00010592\\U00010594\\U00010595'
    '\\U00010C80-\\U00010CB2\\U000118A0-\\U000118BF\\U00016E40-\\U00016E5F\\U0001E900-\\U0001E921';
COMMENT ON FUNCTION mnemo._unicode_upper() IS
    'Inside of a bracket expression: letters and signs above ASCII that have a lower case of one code point. Never NULL. Raises nothing. Source: '
    'Unicode 14.0.';

CREATE FUNCTION mnemo._lower_wide(p_text text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    -- Collation C: a collation of the caller must not decide what a pattern matches.
    v_whole text COLLATE "C" := lower(p_text COLLATE "C");
    v_upper text COLLATE "C";
    v_text text COLLATE "C";
BEGIN
    -- U+03A3 is final after a cased letter when none follows; marks do not count.
    IF strpos(v_whole, E'\u03A3') > 0 THEN
        v_whole := regexp_replace(v_whole,
            '([' || mnemo._unicode_cased() || '][' || mnemo._unicode_case_ignorable()
            || E']*)\u03A3([' || mnemo._unicode_case_ignorable() || ']*)($|[^'
            || mnemo._unicode_cased() || mnemo._unicode_case_ignorable() || '])',
            E'\\1\u03C2\\2\\3', 'g');
    END IF;
    IF strpos(v_whole, E'\u0130') > 0 THEN
        v_whole := replace(v_whole, E'\u0130', E'i\u0307');
    END IF;
    v_upper := regexp_replace(v_whole, '[^' || mnemo._unicode_upper() || ']+', '', 'g');
    IF v_upper = '' THEN
        RETURN v_whole;
    END IF;
    -- translate() costs text times table. So the tables are applied to the upper-case
    -- letters alone, each once, and the text gets only the pairs that it needs.
    IF octet_length(v_upper) > 64 THEN
        v_upper := (
            SELECT string_agg(DISTINCT u.letter, '')
              FROM unnest(string_to_array(v_upper, NULL)) AS u(letter)
        );
    END IF;
    v_text := v_upper;
    IF v_text ~ E'[\u00C0-\u00DE]' THEN
        v_text := translate(v_text,
            E'\u00C0\u00C1\u00C2\u00C3\u00C4\u00C5\u00C6\u00C7\u00C8\u00C9\u00CA\u00CB\u00CC\u00CD\u00CE\u00CF\u00D0\u00D1\u00D2\u00D3\u00D4\u00D5\u00D6'
                '\u00D8\u00D9\u00DA\u00DB\u00DC\u00DD\u00DE',
            E'\u00E0\u00E1\u00E2\u00E3\u00E4\u00E5\u00E6\u00E7\u00E8\u00E9\u00EA\u00EB\u00EC\u00ED\u00EE\u00EF\u00F0\u00F1\u00F2\u00F3\u00F4\u00F5\u00F6'
                '\u00F8\u00F9\u00FA\u00FB\u00FC\u00FD\u00FE');
    END IF;
    IF v_text ~ E'[\u0100-\u017D]' THEN
        v_text := translate(v_text,
            E'\u0100\u0102\u0104\u0106\u0108\u010A\u010C\u010E\u0110\u0112\u0114\u0116\u0118\u011A\u011C\u011E\u0120\u0122\u0124\u0126\u0128\u012A\u012C'
                '\u012E\u0132\u0134\u0136\u0139\u013B\u013D\u013F\u0141\u0143\u0145\u0147\u014A\u014C\u014E\u0150\u0152\u0154\u0156\u0158\u015A\u015C'
                '\u015E\u0160\u0162\u0164\u0166\u0168\u016A\u016C\u016E\u0170\u0172\u0174\u0176\u0178\u0179\u017B\u017D',
            E'\u0101\u0103\u0105\u0107\u0109\u010B\u010D\u010F\u0111\u0113\u0115\u0117\u0119\u011B\u011D\u011F\u0121\u0123\u0125\u0127\u0129\u012B\u012D'
                '\u012F\u0133\u0135\u0137\u013A\u013C\u013E\u0140\u0142\u0144\u0146\u0148\u014B\u014D\u014F\u0151\u0153\u0155\u0157\u0159\u015B\u015D'
                '\u015F\u0161\u0163\u0165\u0167\u0169\u016B\u016D\u016F\u0171\u0173\u0175\u0177\u00FF\u017A\u017C\u017E');
    END IF;
    IF v_text ~ E'[\u0181-\u024E]' THEN
        v_text := translate(v_text,
            E'\u0181\u0182\u0184\u0186\u0187\u0189\u018A\u018B\u018E\u018F\u0190\u0191\u0193\u0194\u0196\u0197\u0198\u019C\u019D\u019F\u01A0\u01A2\u01A4'
                '\u01A6\u01A7\u01A9\u01AC\u01AE\u01AF\u01B1\u01B2\u01B3\u01B5\u01B7\u01B8\u01BC\u01C4\u01C5\u01C7\u01C8\u01CA\u01CB\u01CD\u01CF\u01D1'
                '\u01D3\u01D5\u01D7\u01D9\u01DB\u01DE\u01E0\u01E2\u01E4\u01E6\u01E8\u01EA\u01EC\u01EE\u01F1\u01F2\u01F4\u01F6\u01F7\u01F8\u01FA\u01FC'
                '\u01FE\u0200\u0202\u0204\u0206\u0208\u020A\u020C\u020E\u0210\u0212\u0214\u0216\u0218\u021A\u021C\u021E\u0220\u0222\u0224\u0226\u0228'
                '\u022A\u022C\u022E\u0230\u0232\u023A\u023B\u023D\u023E\u0241\u0243\u0244\u0245\u0246\u0248\u024A\u024C\u024E',
            E'\u0253\u0183\u0185\u0254\u0188\u0256\u0257\u018C\u01DD\u0259\u025B\u0192\u0260\u0263\u0269\u0268\u0199\u026F\u0272\u0275\u01A1\u01A3\u01A5'
                '\u0280\u01A8\u0283\u01AD\u0288\u01B0\u028A\u028B\u01B4\u01B6\u0292\u01B9\u01BD\u01C6\u01C6\u01C9\u01C9\u01CC\u01CC\u01CE\u01D0\u01D2'
                '\u01D4\u01D6\u01D8\u01DA\u01DC\u01DF\u01E1\u01E3\u01E5\u01E7\u01E9\u01EB\u01ED\u01EF\u01F3\u01F3\u01F5\u0195\u01BF\u01F9\u01FB\u01FD'
                '\u01FF\u0201\u0203\u0205\u0207\u0209\u020B\u020D\u020F\u0211\u0213\u0215\u0217\u0219\u021B\u021D\u021F\u019E\u0223\u0225\u0227\u0229'
                '\u022B\u022D\u022F\u0231\u0233\u2C65\u023C\u019A\u2C66\u0242\u0180\u0289\u028C\u0247\u0249\u024B\u024D\u024F');
    END IF;
    IF v_text ~ E'[\u0370-\u03FF]' THEN
        v_text := translate(v_text,
            E'\u0370\u0372\u0376\u037F\u0386\u0388\u0389\u038A\u038C\u038E\u038F\u0391\u0392\u0393\u0394\u0395\u0396\u0397\u0398\u0399\u039A\u039B\u039C'
                '\u039D\u039E\u039F\u03A0\u03A1\u03A3\u03A4\u03A5\u03A6\u03A7\u03A8\u03A9\u03AA\u03AB\u03CF\u03D8\u03DA\u03DC\u03DE\u03E0\u03E2\u03E4'
                '\u03E6\u03E8\u03EA\u03EC\u03EE\u03F4\u03F7\u03F9\u03FA\u03FD\u03FE\u03FF',
            E'\u0371\u0373\u0377\u03F3\u03AC\u03AD\u03AE\u03AF\u03CC\u03CD\u03CE\u03B1\u03B2\u03B3\u03B4\u03B5\u03B6\u03B7\u03B8\u03B9\u03BA\u03BB\u03BC'
                '\u03BD\u03BE\u03BF\u03C0\u03C1\u03C3\u03C4\u03C5\u03C6\u03C7\u03C8\u03C9\u03CA\u03CB\u03D7\u03D9\u03DB\u03DD\u03DF\u03E1\u03E3\u03E5'
                '\u03E7\u03E9\u03EB\u03ED\u03EF\u03B8\u03F8\u03F2\u03FB\u037B\u037C\u037D');
    END IF;
    IF v_text ~ E'[\u0400-\u042F]' THEN
        v_text := translate(v_text,
            E'\u0400\u0401\u0402\u0403\u0404\u0405\u0406\u0407\u0408\u0409\u040A\u040B\u040C\u040D\u040E\u040F\u0410\u0411\u0412\u0413\u0414\u0415\u0416'
                '\u0417\u0418\u0419\u041A\u041B\u041C\u041D\u041E\u041F\u0420\u0421\u0422\u0423\u0424\u0425\u0426\u0427\u0428\u0429\u042A\u042B\u042C'
                '\u042D\u042E\u042F',
            E'\u0450\u0451\u0452\u0453\u0454\u0455\u0456\u0457\u0458\u0459\u045A\u045B\u045C\u045D\u045E\u045F\u0430\u0431\u0432\u0433\u0434\u0435\u0436'
                '\u0437\u0438\u0439\u043A\u043B\u043C\u043D\u043E\u043F\u0440\u0441\u0442\u0443\u0444\u0445\u0446\u0447\u0448\u0449\u044A\u044B\u044C'
                '\u044D\u044E\u044F');
    END IF;
    IF v_text ~ E'[\u0460-\u052E]' THEN
        v_text := translate(v_text,
            E'\u0460\u0462\u0464\u0466\u0468\u046A\u046C\u046E\u0470\u0472\u0474\u0476\u0478\u047A\u047C\u047E\u0480\u048A\u048C\u048E\u0490\u0492\u0494'
                '\u0496\u0498\u049A\u049C\u049E\u04A0\u04A2\u04A4\u04A6\u04A8\u04AA\u04AC\u04AE\u04B0\u04B2\u04B4\u04B6\u04B8\u04BA\u04BC\u04BE\u04C0'
                '\u04C1\u04C3\u04C5\u04C7\u04C9\u04CB\u04CD\u04D0\u04D2\u04D4\u04D6\u04D8\u04DA\u04DC\u04DE\u04E0\u04E2\u04E4\u04E6\u04E8\u04EA\u04EC'
                '\u04EE\u04F0\u04F2\u04F4\u04F6\u04F8\u04FA\u04FC\u04FE\u0500\u0502\u0504\u0506\u0508\u050A\u050C\u050E\u0510\u0512\u0514\u0516\u0518'
                '\u051A\u051C\u051E\u0520\u0522\u0524\u0526\u0528\u052A\u052C\u052E',
            E'\u0461\u0463\u0465\u0467\u0469\u046B\u046D\u046F\u0471\u0473\u0475\u0477\u0479\u047B\u047D\u047F\u0481\u048B\u048D\u048F\u0491\u0493\u0495'
                '\u0497\u0499\u049B\u049D\u049F\u04A1\u04A3\u04A5\u04A7\u04A9\u04AB\u04AD\u04AF\u04B1\u04B3\u04B5\u04B7\u04B9\u04BB\u04BD\u04BF\u04CF'
                '\u04C2\u04C4\u04C6\u04C8\u04CA\u04CC\u04CE\u04D1\u04D3\u04D5\u04D7\u04D9\u04DB\u04DD\u04DF\u04E1\u04E3\u04E5\u04E7\u04E9\u04EB\u04ED'
                '\u04EF\u04F1\u04F3\u04F5\u04F7\u04F9\u04FB\u04FD\u04FF\u0501\u0503\u0505\u0507\u0509\u050B\u050D\u050F\u0511\u0513\u0515\u0517\u0519'
                '\u051B\u051D\u051F\u0521\u0523\u0525\u0527\u0529\u052B\u052D\u052F');
    END IF;
    IF v_text ~ E'[\u0531-\u10CD]' THEN
        v_text := translate(v_text,
            E'\u0531\u0532\u0533\u0534\u0535\u0536\u0537\u0538\u0539\u053A\u053B\u053C\u053D\u053E\u053F\u0540\u0541\u0542\u0543\u0544\u0545\u0546\u0547'
                '\u0548\u0549\u054A\u054B\u054C\u054D\u054E\u054F\u0550\u0551\u0552\u0553\u0554\u0555\u0556\u10A0\u10A1\u10A2\u10A3\u10A4\u10A5\u10A6'
                '\u10A7\u10A8\u10A9\u10AA\u10AB\u10AC\u10AD\u10AE\u10AF\u10B0\u10B1\u10B2\u10B3\u10B4\u10B5\u10B6\u10B7\u10B8\u10B9\u10BA\u10BB\u10BC'
                '\u10BD\u10BE\u10BF\u10C0\u10C1\u10C2\u10C3\u10C4\u10C5\u10C7\u10CD',
            E'\u0561\u0562\u0563\u0564\u0565\u0566\u0567\u0568\u0569\u056A\u056B\u056C\u056D\u056E\u056F\u0570\u0571\u0572\u0573\u0574\u0575\u0576\u0577'
                '\u0578\u0579\u057A\u057B\u057C\u057D\u057E\u057F\u0580\u0581\u0582\u0583\u0584\u0585\u0586\u2D00\u2D01\u2D02\u2D03\u2D04\u2D05\u2D06'
                '\u2D07\u2D08\u2D09\u2D0A\u2D0B\u2D0C\u2D0D\u2D0E\u2D0F\u2D10\u2D11\u2D12\u2D13\u2D14\u2D15\u2D16\u2D17\u2D18\u2D19\u2D1A\u2D1B\u2D1C'
                '\u2D1D\u2D1E\u2D1F\u2D20\u2D21\u2D22\u2D23\u2D24\u2D25\u2D27\u2D2D');
    END IF;
    IF v_text ~ E'[\u13A0-\u1CBF]' THEN
        v_text := translate(v_text,
            E'\u13A0\u13A1\u13A2\u13A3\u13A4\u13A5\u13A6\u13A7\u13A8\u13A9\u13AA\u13AB\u13AC\u13AD\u13AE\u13AF\u13B0\u13B1\u13B2\u13B3\u13B4\u13B5\u13B6'
                '\u13B7\u13B8\u13B9\u13BA\u13BB\u13BC\u13BD\u13BE\u13BF\u13C0\u13C1\u13C2\u13C3\u13C4\u13C5\u13C6\u13C7\u13C8\u13C9\u13CA\u13CB\u13CC'
                '\u13CD\u13CE\u13CF\u13D0\u13D1\u13D2\u13D3\u13D4\u13D5\u13D6\u13D7\u13D8\u13D9\u13DA\u13DB\u13DC\u13DD\u13DE\u13DF\u13E0\u13E1\u13E2'
                '\u13E3\u13E4\u13E5\u13E6\u13E7\u13E8\u13E9\u13EA\u13EB\u13EC\u13ED\u13EE\u13EF\u13F0\u13F1\u13F2\u13F3\u13F4\u13F5\u1C90\u1C91\u1C92'
                '\u1C93\u1C94\u1C95\u1C96\u1C97\u1C98\u1C99\u1C9A\u1C9B\u1C9C\u1C9D\u1C9E\u1C9F\u1CA0\u1CA1\u1CA2\u1CA3\u1CA4\u1CA5\u1CA6\u1CA7\u1CA8'
                '\u1CA9\u1CAA\u1CAB\u1CAC\u1CAD\u1CAE\u1CAF\u1CB0\u1CB1\u1CB2\u1CB3\u1CB4\u1CB5\u1CB6\u1CB7\u1CB8\u1CB9\u1CBA\u1CBD\u1CBE\u1CBF',
            E'\uAB70\uAB71\uAB72\uAB73\uAB74\uAB75\uAB76\uAB77\uAB78\uAB79\uAB7A\uAB7B\uAB7C\uAB7D\uAB7E\uAB7F\uAB80\uAB81\uAB82\uAB83\uAB84\uAB85\uAB86'
                '\uAB87\uAB88\uAB89\uAB8A\uAB8B\uAB8C\uAB8D\uAB8E\uAB8F\uAB90\uAB91\uAB92\uAB93\uAB94\uAB95\uAB96\uAB97\uAB98\uAB99\uAB9A\uAB9B\uAB9C'
                '\uAB9D\uAB9E\uAB9F\uABA0\uABA1\uABA2\uABA3\uABA4\uABA5\uABA6\uABA7\uABA8\uABA9\uABAA\uABAB\uABAC\uABAD\uABAE\uABAF\uABB0\uABB1\uABB2'
                '\uABB3\uABB4\uABB5\uABB6\uABB7\uABB8\uABB9\uABBA\uABBB\uABBC\uABBD\uABBE\uABBF\u13F8\u13F9\u13FA\u13FB\u13FC\u13FD\u10D0\u10D1\u10D2'
                '\u10D3\u10D4\u10D5\u10D6\u10D7\u10D8\u10D9\u10DA\u10DB\u10DC\u10DD\u10DE\u10DF\u10E0\u10E1\u10E2\u10E3\u10E4\u10E5\u10E6\u10E7\u10E8'
                '\u10E9\u10EA\u10EB\u10EC\u10ED\u10EE\u10EF\u10F0\u10F1\u10F2\u10F3\u10F4\u10F5\u10F6\u10F7\u10F8\u10F9\u10FA\u10FD\u10FE\u10FF');
    END IF;
    IF v_text ~ E'[\u1E00-\u1EFE]' THEN
        v_text := translate(v_text,
            E'\u1E00\u1E02\u1E04\u1E06\u1E08\u1E0A\u1E0C\u1E0E\u1E10\u1E12\u1E14\u1E16\u1E18\u1E1A\u1E1C\u1E1E\u1E20\u1E22\u1E24\u1E26\u1E28\u1E2A\u1E2C'
                '\u1E2E\u1E30\u1E32\u1E34\u1E36\u1E38\u1E3A\u1E3C\u1E3E\u1E40\u1E42\u1E44\u1E46\u1E48\u1E4A\u1E4C\u1E4E\u1E50\u1E52\u1E54\u1E56\u1E58'
                '\u1E5A\u1E5C\u1E5E\u1E60\u1E62\u1E64\u1E66\u1E68\u1E6A\u1E6C\u1E6E\u1E70\u1E72\u1E74\u1E76\u1E78\u1E7A\u1E7C\u1E7E\u1E80\u1E82\u1E84'
                '\u1E86\u1E88\u1E8A\u1E8C\u1E8E\u1E90\u1E92\u1E94\u1E9E\u1EA0\u1EA2\u1EA4\u1EA6\u1EA8\u1EAA\u1EAC\u1EAE\u1EB0\u1EB2\u1EB4\u1EB6\u1EB8'
                '\u1EBA\u1EBC\u1EBE\u1EC0\u1EC2\u1EC4\u1EC6\u1EC8\u1ECA\u1ECC\u1ECE\u1ED0\u1ED2\u1ED4\u1ED6\u1ED8\u1EDA\u1EDC\u1EDE\u1EE0\u1EE2\u1EE4'
                '\u1EE6\u1EE8\u1EEA\u1EEC\u1EEE\u1EF0\u1EF2\u1EF4\u1EF6\u1EF8\u1EFA\u1EFC\u1EFE',
            E'\u1E01\u1E03\u1E05\u1E07\u1E09\u1E0B\u1E0D\u1E0F\u1E11\u1E13\u1E15\u1E17\u1E19\u1E1B\u1E1D\u1E1F\u1E21\u1E23\u1E25\u1E27\u1E29\u1E2B\u1E2D'
                '\u1E2F\u1E31\u1E33\u1E35\u1E37\u1E39\u1E3B\u1E3D\u1E3F\u1E41\u1E43\u1E45\u1E47\u1E49\u1E4B\u1E4D\u1E4F\u1E51\u1E53\u1E55\u1E57\u1E59'
                '\u1E5B\u1E5D\u1E5F\u1E61\u1E63\u1E65\u1E67\u1E69\u1E6B\u1E6D\u1E6F\u1E71\u1E73\u1E75\u1E77\u1E79\u1E7B\u1E7D\u1E7F\u1E81\u1E83\u1E85'
                '\u1E87\u1E89\u1E8B\u1E8D\u1E8F\u1E91\u1E93\u1E95\u00DF\u1EA1\u1EA3\u1EA5\u1EA7\u1EA9\u1EAB\u1EAD\u1EAF\u1EB1\u1EB3\u1EB5\u1EB7\u1EB9'
                '\u1EBB\u1EBD\u1EBF\u1EC1\u1EC3\u1EC5\u1EC7\u1EC9\u1ECB\u1ECD\u1ECF\u1ED1\u1ED3\u1ED5\u1ED7\u1ED9\u1EDB\u1EDD\u1EDF\u1EE1\u1EE3\u1EE5'
                '\u1EE7\u1EE9\u1EEB\u1EED\u1EEF\u1EF1\u1EF3\u1EF5\u1EF7\u1EF9\u1EFB\u1EFD\u1EFF');
    END IF;
    IF v_text ~ E'[\u1F08-\u1FFC]' THEN
        v_text := translate(v_text,
            E'\u1F08\u1F09\u1F0A\u1F0B\u1F0C\u1F0D\u1F0E\u1F0F\u1F18\u1F19\u1F1A\u1F1B\u1F1C\u1F1D\u1F28\u1F29\u1F2A\u1F2B\u1F2C\u1F2D\u1F2E\u1F2F\u1F38'
                '\u1F39\u1F3A\u1F3B\u1F3C\u1F3D\u1F3E\u1F3F\u1F48\u1F49\u1F4A\u1F4B\u1F4C\u1F4D\u1F59\u1F5B\u1F5D\u1F5F\u1F68\u1F69\u1F6A\u1F6B\u1F6C'
                '\u1F6D\u1F6E\u1F6F\u1F88\u1F89\u1F8A\u1F8B\u1F8C\u1F8D\u1F8E\u1F8F\u1F98\u1F99\u1F9A\u1F9B\u1F9C\u1F9D\u1F9E\u1F9F\u1FA8\u1FA9\u1FAA'
                '\u1FAB\u1FAC\u1FAD\u1FAE\u1FAF\u1FB8\u1FB9\u1FBA\u1FBB\u1FBC\u1FC8\u1FC9\u1FCA\u1FCB\u1FCC\u1FD8\u1FD9\u1FDA\u1FDB\u1FE8\u1FE9\u1FEA'
                '\u1FEB\u1FEC\u1FF8\u1FF9\u1FFA\u1FFB\u1FFC',
            E'\u1F00\u1F01\u1F02\u1F03\u1F04\u1F05\u1F06\u1F07\u1F10\u1F11\u1F12\u1F13\u1F14\u1F15\u1F20\u1F21\u1F22\u1F23\u1F24\u1F25\u1F26\u1F27\u1F30'
                '\u1F31\u1F32\u1F33\u1F34\u1F35\u1F36\u1F37\u1F40\u1F41\u1F42\u1F43\u1F44\u1F45\u1F51\u1F53\u1F55\u1F57\u1F60\u1F61\u1F62\u1F63\u1F64'
                '\u1F65\u1F66\u1F67\u1F80\u1F81\u1F82\u1F83\u1F84\u1F85\u1F86\u1F87\u1F90\u1F91\u1F92\u1F93\u1F94\u1F95\u1F96\u1F97\u1FA0\u1FA1\u1FA2'
                '\u1FA3\u1FA4\u1FA5\u1FA6\u1FA7\u1FB0\u1FB1\u1F70\u1F71\u1FB3\u1F72\u1F73\u1F74\u1F75\u1FC3\u1FD0\u1FD1\u1F76\u1F77\u1FE0\u1FE1\u1F7A'
                '\u1F7B\u1FE5\u1F78\u1F79\u1F7C\u1F7D\u1FF3');
    END IF;
    IF v_text ~ E'[\u2126-\u2CF2]' THEN
        v_text := translate(v_text,
            E'\u2126\u212A\u212B\u2132\u2160\u2161\u2162\u2163\u2164\u2165\u2166\u2167\u2168\u2169\u216A\u216B\u216C\u216D\u216E\u216F\u2183\u24B6\u24B7'
                '\u24B8\u24B9\u24BA\u24BB\u24BC\u24BD\u24BE\u24BF\u24C0\u24C1\u24C2\u24C3\u24C4\u24C5\u24C6\u24C7\u24C8\u24C9\u24CA\u24CB\u24CC\u24CD'
                '\u24CE\u24CF\u2C00\u2C01\u2C02\u2C03\u2C04\u2C05\u2C06\u2C07\u2C08\u2C09\u2C0A\u2C0B\u2C0C\u2C0D\u2C0E\u2C0F\u2C10\u2C11\u2C12\u2C13'
                '\u2C14\u2C15\u2C16\u2C17\u2C18\u2C19\u2C1A\u2C1B\u2C1C\u2C1D\u2C1E\u2C1F\u2C20\u2C21\u2C22\u2C23\u2C24\u2C25\u2C26\u2C27\u2C28\u2C29'
                '\u2C2A\u2C2B\u2C2C\u2C2D\u2C2E\u2C2F\u2C60\u2C62\u2C63\u2C64\u2C67\u2C69\u2C6B\u2C6D\u2C6E\u2C6F\u2C70\u2C72\u2C75\u2C7E\u2C7F\u2C80'
                '\u2C82\u2C84\u2C86\u2C88\u2C8A\u2C8C\u2C8E\u2C90\u2C92\u2C94\u2C96\u2C98\u2C9A\u2C9C\u2C9E\u2CA0\u2CA2\u2CA4\u2CA6\u2CA8\u2CAA\u2CAC'
                '\u2CAE\u2CB0\u2CB2\u2CB4\u2CB6\u2CB8\u2CBA\u2CBC\u2CBE\u2CC0\u2CC2\u2CC4\u2CC6\u2CC8\u2CCA\u2CCC\u2CCE\u2CD0\u2CD2\u2CD4\u2CD6\u2CD8'
                '\u2CDA\u2CDC\u2CDE\u2CE0\u2CE2\u2CEB\u2CED\u2CF2',
            E'\u03C9\u006B\u00E5\u214E\u2170\u2171\u2172\u2173\u2174\u2175\u2176\u2177\u2178\u2179\u217A\u217B\u217C\u217D\u217E\u217F\u2184\u24D0\u24D1'
                '\u24D2\u24D3\u24D4\u24D5\u24D6\u24D7\u24D8\u24D9\u24DA\u24DB\u24DC\u24DD\u24DE\u24DF\u24E0\u24E1\u24E2\u24E3\u24E4\u24E5\u24E6\u24E7'
                '\u24E8\u24E9\u2C30\u2C31\u2C32\u2C33\u2C34\u2C35\u2C36\u2C37\u2C38\u2C39\u2C3A\u2C3B\u2C3C\u2C3D\u2C3E\u2C3F\u2C40\u2C41\u2C42\u2C43'
                '\u2C44\u2C45\u2C46\u2C47\u2C48\u2C49\u2C4A\u2C4B\u2C4C\u2C4D\u2C4E\u2C4F\u2C50\u2C51\u2C52\u2C53\u2C54\u2C55\u2C56\u2C57\u2C58\u2C59'
                '\u2C5A\u2C5B\u2C5C\u2C5D\u2C5E\u2C5F\u2C61\u026B\u1D7D\u027D\u2C68\u2C6A\u2C6C\u0251\u0271\u0250\u0252\u2C73\u2C76\u023F\u0240\u2C81'
                '\u2C83\u2C85\u2C87\u2C89\u2C8B\u2C8D\u2C8F\u2C91\u2C93\u2C95\u2C97\u2C99\u2C9B\u2C9D\u2C9F\u2CA1\u2CA3\u2CA5\u2CA7\u2CA9\u2CAB\u2CAD'
                '\u2CAF\u2CB1\u2CB3\u2CB5\u2CB7\u2CB9\u2CBB\u2CBD\u2CBF\u2CC1\u2CC3\u2CC5\u2CC7\u2CC9\u2CCB\u2CCD\u2CCF\u2CD1\u2CD3\u2CD5\u2CD7\u2CD9'
                '\u2CDB\u2CDD\u2CDF\u2CE1\u2CE3\u2CEC\u2CEE\u2CF3');
    END IF;
    IF v_text ~ E'[\uA640-\uA7F5]' THEN
        v_text := translate(v_text,
            E'\uA640\uA642\uA644\uA646\uA648\uA64A\uA64C\uA64E\uA650\uA652\uA654\uA656\uA658\uA65A\uA65C\uA65E\uA660\uA662\uA664\uA666\uA668\uA66A\uA66C'
                '\uA680\uA682\uA684\uA686\uA688\uA68A\uA68C\uA68E\uA690\uA692\uA694\uA696\uA698\uA69A\uA722\uA724\uA726\uA728\uA72A\uA72C\uA72E\uA732'
                '\uA734\uA736\uA738\uA73A\uA73C\uA73E\uA740\uA742\uA744\uA746\uA748\uA74A\uA74C\uA74E\uA750\uA752\uA754\uA756\uA758\uA75A\uA75C\uA75E'
                '\uA760\uA762\uA764\uA766\uA768\uA76A\uA76C\uA76E\uA779\uA77B\uA77D\uA77E\uA780\uA782\uA784\uA786\uA78B\uA78D\uA790\uA792\uA796\uA798'
                '\uA79A\uA79C\uA79E\uA7A0\uA7A2\uA7A4\uA7A6\uA7A8\uA7AA\uA7AB\uA7AC\uA7AD\uA7AE\uA7B0\uA7B1\uA7B2\uA7B3\uA7B4\uA7B6\uA7B8\uA7BA\uA7BC'
                '\uA7BE\uA7C0\uA7C2\uA7C4\uA7C5\uA7C6\uA7C7\uA7C9\uA7D0\uA7D6\uA7D8\uA7F5',
            E'\uA641\uA643\uA645\uA647\uA649\uA64B\uA64D\uA64F\uA651\uA653\uA655\uA657\uA659\uA65B\uA65D\uA65F\uA661\uA663\uA665\uA667\uA669\uA66B\uA66D'
                '\uA681\uA683\uA685\uA687\uA689\uA68B\uA68D\uA68F\uA691\uA693\uA695\uA697\uA699\uA69B\uA723\uA725\uA727\uA729\uA72B\uA72D\uA72F\uA733'
                '\uA735\uA737\uA739\uA73B\uA73D\uA73F\uA741\uA743\uA745\uA747\uA749\uA74B\uA74D\uA74F\uA751\uA753\uA755\uA757\uA759\uA75B\uA75D\uA75F'
                '\uA761\uA763\uA765\uA767\uA769\uA76B\uA76D\uA76F\uA77A\uA77C\u1D79\uA77F\uA781\uA783\uA785\uA787\uA78C\u0265\uA791\uA793\uA797\uA799'
                '\uA79B\uA79D\uA79F\uA7A1\uA7A3\uA7A5\uA7A7\uA7A9\u0266\u025C\u0261\u026C\u026A\u029E\u0287\u029D\uAB53\uA7B5\uA7B7\uA7B9\uA7BB\uA7BD'
                '\uA7BF\uA7C1\uA7C3\uA794\u0282\u1D8E\uA7C8\uA7CA\uA7D1\uA7D7\uA7D9\uA7F6');
    END IF;
    IF v_text ~ E'[\uFF21-\uFF3A]' THEN
        v_text := translate(v_text,
            E'\uFF21\uFF22\uFF23\uFF24\uFF25\uFF26\uFF27\uFF28\uFF29\uFF2A\uFF2B\uFF2C\uFF2D\uFF2E\uFF2F\uFF30\uFF31\uFF32\uFF33\uFF34\uFF35\uFF36\uFF37'
                '\uFF38\uFF39\uFF3A',
            E'\uFF41\uFF42\uFF43\uFF44\uFF45\uFF46\uFF47\uFF48\uFF49\uFF4A\uFF4B\uFF4C\uFF4D\uFF4E\uFF4F\uFF50\uFF51\uFF52\uFF53\uFF54\uFF55\uFF56\uFF57'
                '\uFF58\uFF59\uFF5A');
    END IF;
    IF v_text ~ E'[\U00010400-\U0001E921]' THEN
        v_text := translate(v_text,
            E'\U00010400\U00010401\U00010402\U00010403\U00010404\U00010405\U00010406\U00010407\U00010408\U00010409\U0001040A\U0001040B\U0001040C\U0001040D'
                '\U0001040E\U0001040F\U00010410\U00010411\U00010412\U00010413\U00010414\U00010415\U00010416\U00010417\U00010418\U00010419\U0001041A'
                '\U0001041B\U0001041C\U0001041D\U0001041E\U0001041F\U00010420\U00010421\U00010422\U00010423\U00010424\U00010425\U00010426\U00010427'
                '\U000104B0\U000104B1\U000104B2\U000104B3\U000104B4\U000104B5\U000104B6\U000104B7\U000104B8\U000104B9\U000104BA\U000104BB\U000104BC'
                '\U000104BD\U000104BE\U000104BF\U000104C0\U000104C1\U000104C2\U000104C3\U000104C4\U000104C5\U000104C6\U000104C7\U000104C8\U000104C9'
                '\U000104CA\U000104CB\U000104CC\U000104CD\U000104CE\U000104CF\U000104D0\U000104D1\U000104D2\U000104D3\U00010570\U00010571\U00010572'
                '\U00010573\U00010574\U00010575\U00010576\U00010577\U00010578\U00010579\U0001057A\U0001057C\U0001057D\U0001057E\U0001057F\U00010580'
                '\U00010581\U00010582\U00010583\U00010584\U00010585\U00010586\U00010587\U00010588\U00010589\U0001058A\U0001058C\U0001058D\U0001058E'
                '\U0001058F\U00010590\U00010591\U00010592\U00010594\U00010595\U00010C80\U00010C81\U00010C82\U00010C83\U00010C84\U00010C85\U00010C86'
                '\U00010C87\U00010C88\U00010C89\U00010C8A\U00010C8B\U00010C8C\U00010C8D\U00010C8E\U00010C8F\U00010C90\U00010C91\U00010C92\U00010C93'
                '\U00010C94\U00010C95\U00010C96\U00010C97\U00010C98\U00010C99\U00010C9A\U00010C9B\U00010C9C\U00010C9D\U00010C9E\U00010C9F\U00010CA0'
                '\U00010CA1\U00010CA2\U00010CA3\U00010CA4\U00010CA5\U00010CA6\U00010CA7\U00010CA8\U00010CA9\U00010CAA\U00010CAB\U00010CAC\U00010CAD'
                '\U00010CAE\U00010CAF\U00010CB0\U00010CB1\U00010CB2\U000118A0\U000118A1\U000118A2\U000118A3\U000118A4\U000118A5\U000118A6\U000118A7'
                '\U000118A8\U000118A9\U000118AA\U000118AB\U000118AC\U000118AD\U000118AE\U000118AF\U000118B0\U000118B1\U000118B2\U000118B3\U000118B4'
                '\U000118B5\U000118B6\U000118B7\U000118B8\U000118B9\U000118BA\U000118BB\U000118BC\U000118BD\U000118BE\U000118BF\U00016E40\U00016E41'
                '\U00016E42\U00016E43\U00016E44\U00016E45\U00016E46\U00016E47\U00016E48\U00016E49\U00016E4A\U00016E4B\U00016E4C\U00016E4D\U00016E4E'
                '\U00016E4F\U00016E50\U00016E51\U00016E52\U00016E53\U00016E54\U00016E55\U00016E56\U00016E57\U00016E58\U00016E59\U00016E5A\U00016E5B'
                '\U00016E5C\U00016E5D\U00016E5E\U00016E5F\U0001E900\U0001E901\U0001E902\U0001E903\U0001E904\U0001E905\U0001E906\U0001E907\U0001E908'
                '\U0001E909\U0001E90A\U0001E90B\U0001E90C\U0001E90D\U0001E90E\U0001E90F\U0001E910\U0001E911\U0001E912\U0001E913\U0001E914\U0001E915'
                '\U0001E916\U0001E917\U0001E918\U0001E919\U0001E91A\U0001E91B\U0001E91C\U0001E91D\U0001E91E\U0001E91F\U0001E920\U0001E921',
            E'\U00010428\U00010429\U0001042A\U0001042B\U0001042C\U0001042D\U0001042E\U0001042F\U00010430\U00010431\U00010432\U00010433\U00010434\U00010435'
                '\U00010436\U00010437\U00010438\U00010439\U0001043A\U0001043B\U0001043C\U0001043D\U0001043E\U0001043F\U00010440\U00010441\U00010442'
                '\U00010443\U00010444\U00010445\U00010446\U00010447\U00010448\U00010449\U0001044A\U0001044B\U0001044C\U0001044D\U0001044E\U0001044F'
                '\U000104D8\U000104D9\U000104DA\U000104DB\U000104DC\U000104DD\U000104DE\U000104DF\U000104E0\U000104E1\U000104E2\U000104E3\U000104E4'
                '\U000104E5\U000104E6\U000104E7\U000104E8\U000104E9\U000104EA\U000104EB\U000104EC\U000104ED\U000104EE\U000104EF\U000104F0\U000104F1'
                '\U000104F2\U000104F3\U000104F4\U000104F5\U000104F6\U000104F7\U000104F8\U000104F9\U000104FA\U000104FB\U00010597\U00010598\U00010599'
                '\U0001059A\U0001059B\U0001059C\U0001059D\U0001059E\U0001059F\U000105A0\U000105A1\U000105A3\U000105A4\U000105A5\U000105A6\U000105A7'
                '\U000105A8\U000105A9\U000105AA\U000105AB\U000105AC\U000105AD\U000105AE\U000105AF\U000105B0\U000105B1\U000105B3\U000105B4\U000105B5'
                '\U000105B6\U000105B7\U000105B8\U000105B9\U000105BB\U000105BC\U00010CC0\U00010CC1\U00010CC2\U00010CC3\U00010CC4\U00010CC5\U00010CC6'
                '\U00010CC7\U00010CC8\U00010CC9\U00010CCA\U00010CCB\U00010CCC\U00010CCD\U00010CCE\U00010CCF\U00010CD0\U00010CD1\U00010CD2\U00010CD3'
                '\U00010CD4\U00010CD5\U00010CD6\U00010CD7\U00010CD8\U00010CD9\U00010CDA\U00010CDB\U00010CDC\U00010CDD\U00010CDE\U00010CDF\U00010CE0'
                '\U00010CE1\U00010CE2\U00010CE3\U00010CE4\U00010CE5\U00010CE6\U00010CE7\U00010CE8\U00010CE9\U00010CEA\U00010CEB\U00010CEC\U00010CED'
                '\U00010CEE\U00010CEF\U00010CF0\U00010CF1\U00010CF2\U000118C0\U000118C1\U000118C2\U000118C3\U000118C4\U000118C5\U000118C6\U000118C7'
                '\U000118C8\U000118C9\U000118CA\U000118CB\U000118CC\U000118CD\U000118CE\U000118CF\U000118D0\U000118D1\U000118D2\U000118D3\U000118D4'
                '\U000118D5\U000118D6\U000118D7\U000118D8\U000118D9\U000118DA\U000118DB\U000118DC\U000118DD\U000118DE\U000118DF\U00016E60\U00016E61'
                '\U00016E62\U00016E63\U00016E64\U00016E65\U00016E66\U00016E67\U00016E68\U00016E69\U00016E6A\U00016E6B\U00016E6C\U00016E6D\U00016E6E'
                '\U00016E6F\U00016E70\U00016E71\U00016E72\U00016E73\U00016E74\U00016E75\U00016E76\U00016E77\U00016E78\U00016E79\U00016E7A\U00016E7B'
                '\U00016E7C\U00016E7D\U00016E7E\U00016E7F\U0001E922\U0001E923\U0001E924\U0001E925\U0001E926\U0001E927\U0001E928\U0001E929\U0001E92A'
                '\U0001E92B\U0001E92C\U0001E92D\U0001E92E\U0001E92F\U0001E930\U0001E931\U0001E932\U0001E933\U0001E934\U0001E935\U0001E936\U0001E937'
                '\U0001E938\U0001E939\U0001E93A\U0001E93B\U0001E93C\U0001E93D\U0001E93E\U0001E93F\U0001E940\U0001E941\U0001E942\U0001E943');
    END IF;
    IF octet_length(v_upper) < 500 THEN
        RETURN translate(v_whole, v_upper, v_text);
    END IF;
    RETURN (
        SELECT string_agg(coalesce(m.lower, t.letter), '' ORDER BY t.place)
          FROM unnest(string_to_array(v_whole, NULL)) WITH ORDINALITY AS t(letter, place)
          LEFT JOIN unnest(string_to_array(v_upper, NULL), string_to_array(v_text, NULL))
            AS m(upper, lower) ON m.upper = t.letter
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._lower_wide(text) IS
    'Lower case by the full mapping of Unicode 14.0, for text that is not ASCII; a final sigma is decided within each run of letters, numbers and '
    'marks. NULL gives NULL. Raises nothing. Source: Unicode 14.0.';

-- part: 110_text.sql
-- Blank, trim, lower case and normal form by fixed rules of Unicode 14.0: what the server's own
-- functions do depends on its version, its locale provider and the collation of a caller. For the
-- same reason literals with a backslash are E'' ones, which no setting of a session changes.

CREATE FUNCTION mnemo._white_space()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- By number, not by escape: the script must be readable in a database that the install refuses.
RETURN E'\t\n\x0B\f\r ' || chr(133) || chr(160) || chr(5760) || chr(8192) || chr(8193) || chr(8194)
    || chr(8195) || chr(8196) || chr(8197) || chr(8198) || chr(8199) || chr(8200) || chr(8201)
    || chr(8202) || chr(8232) || chr(8233) || chr(8239) || chr(8287) || chr(12288);
COMMENT ON FUNCTION mnemo._white_space() IS
    'The characters with the Unicode property White_Space. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._trim(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(p_text, mnemo._white_space());
COMMENT ON FUNCTION mnemo._trim(text) IS
    'The text without White_Space at both ends. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._is_blank(
    p_text text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_text COLLATE "C" !~ ('[^' || mnemo._white_space() || ']');
COMMENT ON FUNCTION mnemo._is_blank(text) IS
    'True for empty text and for nothing but White_Space. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._squeeze(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    mnemo._trim(p_text) COLLATE "C",
    '[' || mnemo._white_space() || ']{2,}|[' || btrim(mnemo._white_space(), ' ') || ']',
    ' ',
    'g'
);
COMMENT ON FUNCTION mnemo._squeeze(text) IS
    'The trimmed text with each run of White_Space as one space. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._lower(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length(p_text) = char_length(p_text) THEN lower(p_text COLLATE "C")
    ELSE mnemo._lower_wide(p_text)
END;
COMMENT ON FUNCTION mnemo._lower(text) IS
    'Lower case as in signatures, by the full mapping of Unicode 14.0: U+0130 gives i and U+0307, a '
    'final sigma is decided within each run of letters, numbers and marks. The text is not '
    'normalised. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._order_marks(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT string_agg(o.letter, '' ORDER BY o.starters, o.class, o.place)
      FROM (
        SELECT t.letter,
               t.place,
               coalesce(k.class, 0) AS class,
               count(*) FILTER (WHERE k.class IS NULL) OVER (ORDER BY t.place) AS starters
          FROM unnest(string_to_array(
                replace(replace(replace(replace(
                    p_text COLLATE "C",
                    chr(836), chr(776) || chr(769)),
                    chr(3955), chr(3953) || chr(3954)),
                    chr(3957), chr(3953) || chr(3956)),
                    chr(3969), chr(3953) || chr(3968)),
                NULL
            )) WITH ORDINALITY AS t(letter, place)
          LEFT JOIN (
            SELECT r.code, (mnemo._unicode_combining_classes())[b.i][3] AS class
              FROM generate_subscripts(mnemo._unicode_combining_classes(), 1) AS b(i)
             CROSS JOIN generate_series(
                    (mnemo._unicode_combining_classes())[b.i][1],
                    (mnemo._unicode_combining_classes())[b.i][2]
                ) AS r(code)
          ) AS k ON k.code = ascii(t.letter)
      ) AS o
);
COMMENT ON FUNCTION mnemo._order_marks(text) IS
    'The text with combining marks in canonical order; the only marks that are decomposed are those '
    'that stand for two. The normal form stays the same. NULL and empty give NULL. Raises nothing.';

CREATE FUNCTION mnemo._pin(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := regexp_replace(
        p_text COLLATE "C", '[' || mnemo._unicode_unassigned() || ']', ' ', 'g'
    );
BEGIN
    -- normalize() orders marks by exchanging neighbours, in quadratic time: 100,000 of them in the
    -- wrong order would take minutes. Marks that stand in order already cost it nothing.
    IF v_text ~ ('[' || mnemo._unicode_reordered() || ']{64}') THEN
        v_text := mnemo._order_marks(v_text);
    END IF;
    -- PostgreSQL 15 takes U+11A7, a vowel, for a final consonant and loses it after a syllable.
    -- A noncharacter takes its place: there is none left in the text, and it is a starter that
    -- composes with nothing, as U+11A7 is.
    IF strpos(v_text, E'\u11A7') > 0 THEN
        RETURN translate(
            normalize(translate(v_text, E'\u11A7', E'\uFDD0'), NFC), E'\uFDD0', E'\u11A7'
        );
    END IF;
    RETURN normalize(v_text, NFC);
END
$fn$;
COMMENT ON FUNCTION mnemo._pin(text) IS
    'The text in the normal form NFC of Unicode 14.0, each code point unassigned there replaced by a '
    'space: the same on every server. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._canonical_predicate(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(
    regexp_replace(lower(p_text COLLATE "C") COLLATE "C", '[^a-z0-9]+', '_', 'g'), '_'
);
COMMENT ON FUNCTION mnemo._canonical_predicate(text) IS
    'As canonical_predicate, inlined in its caller. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo.canonical_predicate(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._canonical_predicate(p_text);
END
$fn$;
COMMENT ON FUNCTION mnemo.canonical_predicate(text) IS
    'The canonical form of a predicate: ASCII letters and digits in lower case, each run of other '
    'characters one underscore, none at the ends; empty when nothing is left. NULL gives NULL. '
    'Raises nothing.';

-- part: 120_signature.sql
-- The signature of a query: a sorted set of tokens. The rules work on the whole text, tokens being
-- kept apart by single spaces, because one regular expression over a text costs less than any work
-- per token.

CREATE FUNCTION mnemo._signature_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1;
COMMENT ON FUNCTION mnemo._signature_version() IS
    'Version of the rules of signature_tokens, kept with each stored signature; it grows whenever a '
    'text could get another signature. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._token_gap()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[^' || mnemo._unicode_word() || mnemo._unicode_hangul() || mnemo._unicode_mark()
    || E'\\u302E\\u302F][^' || mnemo._unicode_word() || mnemo._unicode_hangul() || ']*';
COMMENT ON FUNCTION mnemo._token_gap() IS
    'Pattern for what separates tokens in a pinned text: up to the next letter or number, because a '
    'mark belongs to a token only when it follows one. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._short_tokens()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ' (?:(?:[^ ]|[^ ' || mnemo._unicode_hangul() || '][^ ]|[' || mnemo._unicode_hangul()
    || '][^ ' || mnemo._unicode_hangul() || E'\\u302E\\u302F]) )+';
COMMENT ON FUNCTION mnemo._short_tokens() IS
    'Pattern for tokens that are too short, one code point or two that are not both Hangul, in a text '
    'of tokens with one space before, between and after them. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._unspaced_run()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[' || mnemo._unicode_unspaced() || '][' || mnemo._unicode_unspaced()
    || mnemo._unicode_mark() || E'\\u302E\\u302F]*';
COMMENT ON FUNCTION mnemo._unspaced_run() IS
    'Pattern for a run of scripts written without spaces, inside a token. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._signature_tokens_wide(
    p_query text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_text text COLLATE "C" := p_query;
    v_tokens text COLLATE "C";
    v_words text COLLATE "C";
    v_pairs text COLLATE "C";
BEGIN
    IF p_query IS NULL THEN
        RETURN NULL;
    END IF;
    IF mnemo._is_blank(v_text) THEN
        RETURN '{}';
    END IF;
    IF v_text ~ ('[^' || mnemo._unicode_stable() || ']') THEN
        v_text := mnemo._pin(v_text);
    END IF;

    -- All tokens, with a space before, between and after them.
    v_tokens := regexp_replace(' ' || v_text || ' ', mnemo._token_gap(), ' ', 'g');
    v_words := v_tokens;
    IF v_tokens ~ ('[' || mnemo._unicode_unspaced() || ']') THEN
        SELECT string_agg(
                   CASE WHEN t.after = ' ' THEN t.letter ELSE t.letter || t.after END, ' '
               )
          INTO v_pairs
          FROM (
            SELECT string_to_array(' ' || string_agg(m.run[1], ' ') || ' ', NULL) AS letters
              FROM regexp_matches(v_tokens, mnemo._unspaced_run(), 'g') AS m(run)
          ) AS r
         CROSS JOIN unnest(r.letters, r.letters[2:], r.letters[3:]) AS t(before, letter, after)
         WHERE t.letter <> ' '
           AND (t.after <> ' ' OR t.before = ' ');
        v_words := regexp_replace(v_tokens, '(?:' || mnemo._unspaced_run() || '| )+', ' ', 'g');
    END IF;

    v_words := btrim(regexp_replace(v_words, mnemo._short_tokens(), ' ', 'g'), ' ');
    IF v_words = '' AND v_pairs IS NULL THEN
        v_words := btrim(v_tokens, ' ');
    END IF;
    IF v_words = '' AND v_pairs IS NULL THEN
        v_words := coalesce(nullif(mnemo._trim(v_text), ''), mnemo._trim(p_query));
        RETURN ARRAY[mnemo._lower(v_words)];
    END IF;
    v_words := mnemo._lower(v_words);
    IF v_pairs IS NOT NULL THEN
        v_words := btrim(v_pairs || ' ' || v_words, ' ');
    END IF;
    -- Sorted by bytes and without duplicates is what a tsvector is, and making one is much cheaper
    -- than an aggregate; but its words must be shorter than 2048 bytes.
    IF octet_length(v_words) < 2000 THEN
        RETURN tsvector_to_array(array_to_tsvector(string_to_array(v_words, ' ')));
    END IF;
    RETURN (
        SELECT array_agg(DISTINCT t.token COLLATE "C" ORDER BY t.token COLLATE "C")
          FROM unnest(string_to_array(v_words, ' ')) AS t(token)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._signature_tokens_wide(text) IS
    'As _signature_tokens, for any text: the general rules, of which that function takes the common '
    'case. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._signature_tokens(
    p_query text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Short ASCII text with a word of three letters, in one expression that is inlined in its caller;
-- it is NULL for all other text. The patterns are those of the general rules, cut down to ASCII.
RETURN coalesce(
    tsvector_to_array(array_to_tsvector(string_to_array(
        nullif(
            btrim(
                CASE
                    WHEN octet_length(p_query) = char_length(p_query)
                        AND octet_length(p_query) < 2000
                        THEN regexp_replace(
                            ' ' || lower(p_query COLLATE "C") || ' ',
                            '[^a-z0-9]+(?:[a-z0-9]{1,2}[^a-z0-9]+)*',
                            ' ',
                            'g'
                        )
                END,
                ' '
            ) COLLATE "C",
            ''
        ),
        ' '
    ))),
    mnemo._signature_tokens_wide(p_query)
);
COMMENT ON FUNCTION mnemo._signature_tokens(text) IS
    'The signature of a query without limits, see signature_tokens. NULL gives NULL, blank gives the '
    'empty array. Raises nothing.';

CREATE FUNCTION mnemo.signature_tokens(
    p_query text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_tokens text[];
BEGIN
    IF char_length(p_query) > 100000 THEN
        PERFORM mnemo._raise_limit(
            'p_query',
            format('p_query has %s characters, the limit is 100000', char_length(p_query)),
            'pass the question alone, without what it is about'
        );
    END IF;
    v_tokens := mnemo._signature_tokens(p_query);
    IF cardinality(v_tokens) > 20000 THEN
        PERFORM mnemo._raise_limit(
            'p_query',
            format('p_query has %s signature tokens, the limit is 20000', cardinality(v_tokens)),
            'pass the question alone, without what it is about'
        );
    END IF;
    RETURN v_tokens;
END
$fn$;
COMMENT ON FUNCTION mnemo.signature_tokens(text) IS
    'The signature of a query: its words of at least three characters (two of Hangul) and the pairs '
    'of characters of scripts without spaces, in lower case, sorted by code point, no duplicates; '
    'when there is none the shorter words, when there is no word at all the text itself. The same on '
    'every server and in every locale. NULL gives NULL, blank gives the empty array. Raises 54000 '
    'above 100,000 characters or 20,000 tokens. Source: Unicode 14.0.';

CREATE FUNCTION mnemo._jaccard(
    p_a text[],
    p_b text[]
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_a IS NOT NULL AND p_b IS NOT NULL THEN (
        SELECT coalesce(
                   count(*) FILTER (WHERE s.sides = 3)::double precision / nullif(count(*), 0), 0
               )
          FROM (
            SELECT bit_or(t.side) AS sides
              FROM (
                SELECT a.token COLLATE "C" AS token, 1 AS side FROM unnest(p_a) AS a(token)
                UNION ALL
                SELECT b.token COLLATE "C", 2 FROM unnest(p_b) AS b(token)
              ) AS t
             GROUP BY t.token
          ) AS s
    )
END;
COMMENT ON FUNCTION mnemo._jaccard(text[], text[]) IS
    'As jaccard, without its checks: a NULL element counts as one more token. NULL when either array '
    'is NULL. Raises nothing.';

CREATE FUNCTION mnemo.jaccard(
    p_a text[],
    p_b text[]
)
RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_name text;
BEGIN
    -- array_position() refuses arrays of more dimensions, so they are refused first, by our error.
    v_name := CASE WHEN array_ndims(p_a) > 1 THEN 'p_a' WHEN array_ndims(p_b) > 1 THEN 'p_b' END;
    IF v_name IS NOT NULL THEN
        PERFORM mnemo._raise_argument(
            v_name, format('%s must be an array of one dimension', v_name),
            'pass the result of mnemo.signature_tokens'
        );
    END IF;
    v_name := CASE
        WHEN array_position(p_a, NULL) IS NOT NULL THEN 'p_a'
        WHEN array_position(p_b, NULL) IS NOT NULL THEN 'p_b'
    END;
    IF v_name IS NOT NULL THEN
        PERFORM mnemo._raise_argument(
            v_name, format('%s has a NULL element', v_name), 'remove the NULL elements'
        );
    END IF;
    RETURN mnemo._jaccard(p_a, p_b);
END
$fn$;
COMMENT ON FUNCTION mnemo.jaccard(text[], text[]) IS
    'Jaccard similarity of two token sets: the size of what they share over the size of their union, '
    'duplicates counted once, 0 when both are empty. 7 of 10 is exactly 0.7. NULL when either array '
    'is NULL. Raises 22023 for a NULL element and for arrays of more than one dimension.';

-- part: 130_guard_words.sql
-- What the guard knows of English. A list is lines of 'section: entries'; a line that starts with
-- the divider ' / ' goes on with the line before. After a word, ~ adds the forms of a regular verb
-- (~~ with the last consonant doubled), + a plural, and a colon makes it a mere label. Sections:
--   pair      opposites, the sides divided by ' / ', the first word of a side standing for all of it
--   weak      the same, but the first side is too common to be meaning: it counts as a value
--   order, span, unit, time      synonyms divided by ' / ', the first word standing for all
--   part, near, near-time, number      word=what it stands for
--   not, parts, join, prep, skip, month, noun      plain words; noun: function words of a language
--             that writes all nouns with a capital
--   word, verb, phrasal, tie, eager, even, swap    words that may also stand in another section:
--             ordinary first words of a question, verbs in their base form, verbs with a particle,
--             verbs between a subject and an object, words before an infinitive, words that compare
--             evenly, words of exchange
-- A word means what the first of these says: not, part, near, near-time, order, pair, weak, number,
-- span, unit, time, month, parts, join, prep, skip, word. Earlier languages win over later ones.

CREATE FUNCTION mnemo._guard_english()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $list$
not: not no never none neither nor without cannot nothing nobody nowhere hardly except excluding
not: don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't
not: mustn't hasn't haven't hadn't ain't needn't mightn't shan't dont doesnt didnt isnt arent wasnt
not: werent cant couldnt wont wouldnt shouldnt mustnt hasnt havent hadnt aint lacking unless
not: inactive invalid incorrect incomplete inaccurate insecure inconsistent insufficient ineligible
not: inappropriate inaccessible incompatible inefficient ineffective informal inadequate
not: insignificant impossible improper impolite immature immutable imperfect immobile irregular
not: irrelevant irreversible irresponsible irrational illegal illegible illogical illegitimate
not: nonexistent nonpaid nonpayment nonsmoking nonsmoker nonrefundable noncompliant nonfiction
not: disconnect~ disallow~ disapprove~ disagree~ dislike~ dissatisfied disregard~ disobey~
not: disprove~ discontinue~ disengage~ disqualify~ disassemble~ disassociate~ dishonest disloyal
not: disarm~ disrespect~ disincentive decommission~ deregister~ deallocate~ detach~ deselect~
not: inedible inexperienced inflexible infrequent involuntary incapable incoherent inconvenient
not: indirect indirectly infertile insoluble intangible intolerant indefinite infinite inoperable
not: incorrectly improperly illegally invalidate~ asymptomatic insincere insane incurable
not: misconfigured mismatch~ abnormal atypical asymmetric non
pair: on: enable~ activate~ activation / off: disable~ deactivate~ inactivate~ deactivation
pair: lock~ locking / unlock~
pair: allow~ permit~~ grant~ authorize~ authorise~ whitelist~ allowlist~
pair: / deny~ forbid forbids forbidden forbidding block~ revoke~ prohibit~ ban~~ refuse~
pair: / blacklist~ denylist~ blocklist~
pair: buy buys buying bought buyer+ purchase~ / sell sells selling sold seller+
pair: increase~ raise~ increment~ boost~ grow grows grew growing grown growth rise rises rose
pair: / rising risen gain~ / decrease~ reduce~ decrement~ lower~ shrink shrinks shrank shrinking
pair: / decline~ diminish~ reduction drop~~ fall falls fell falling fallen
pair: more greater bigger larger exceed~ / less fewer smaller
pair: most highest biggest largest maximum maximal max maximize~ maximise~ top greatest
pair: / least lowest smallest fewest minimum minimal min minimize~ minimise~ bottom
weak: plus / minus
weak: open~ reopen~ / close~ shut shuts shutting closure
weak: start~ begin begins beginning began begun launch~ resume~ / stop~~ end~ finish~ halt~ quit
weak: / terminate~ pause~
pair: add~ insert~ append~ / remove~ subtract~ removal
pair: create~ creation / delete~ deletion destroy~ erase~
pair: include~ including / exclude~ exclusion
pair: import~ / export~
pair: upload~ / download~
pair: encrypt~ encryption / decrypt~ decryption
pair: encode~ / decode~
pair: compress~ zip~~ / decompress~ extract~ unzip~~
pair: push~ / pull~
pair: read reads reading / write writes writing wrote written
pair: accept~ acceptance / reject~ rejection
pair: pass~ / fail~ failure+
pair: succeed~ success successful successfully / failed: unsuccessful unsuccessfully
pair: win wins winning won winner+ / lose loses losing lost loser+
pair: safe safely harmless / dangerous unsafe harmful hazardous
weak: hot hotter hottest warm~ heat~ / cold colder coldest cool~
weak: high higher tall / low
pair: profit+ profitable gains / loss losses unprofitable
weak: credit~ / debit~
pair: deposit~ / withdraw withdraws withdrawing withdrew withdrawn withdrawal+
pair: lend lends lending lent lender+ / borrow~ borrower+
pair: arrive~ arrival+ / depart~ departure+
pair: older elder / younger
weak: newest latest newer / oldest earliest
weak: earlier sooner / later
pair: early / late
pair: inbound incoming ingress inflow+ / outbound outgoing egress outflow+
pair: internal internally / external externally
pair: public publicly / private privately
pair: sender+ / receiver+ recipient+
weak: send sends sending sent / receive~
pair: parent+ ancestor+ / child children descendant+
pair: upstream / downstream
pair: manual manually / automatic automatically automated
pair: sync synchronous synchronously / async asynchronous asynchronously
weak: gross / net
pair: strength+ / weakness weaknesses
pair: pro pros / con cons
pair: advantage+ benefit+ upside+ / disadvantage+ drawback+ downside+
pair: upgrade~ / downgrade~
pair: promote~ promotion / demote~ demotion
pair: mount~ / dismount~
pair: install~ / uninstall~
pair: login logins signin / logout logouts signout logoff
pair: checkin / checkout
pair: ascending asc ascend~ / descending desc descend~
weak: left / right
pair: true / false
pair: positive / negative
pair: male men man boy+ / female women woman girl+
weak: mother+ mom / father+ dad
weak: son sons / daughter+
weak: brother+ / sister+
weak: husband / wife
pair: north northern / south southern / east eastern / west western
pair: inside indoor indoors / outside outdoor outdoors
pair: input+ / output+
weak: front / rear
weak: visible shown unhide / invisible hidden hide hides hiding
weak: good / bad
weak: better / worse
weak: best / worst
weak: fast faster fastest quick quicker / slow slower slowest slowly
pair: accelerate~ / decelerate~
weak: cheap cheaper cheapest inexpensive / expensive pricier costlier costly
weak: long longer longest / short shorter shortest
weak: heavy heavier heaviest / light: lighter lightest
weak: thick thicker / thin thinner
weak: wide wider widest / narrow~ narrower narrowest
weak: full / empty~
weak: strong stronger strongest / weak weaker weakest
weak: easy easier easiest / hard: harder hardest difficult
weak: simple simpler simplest / complex complicated
weak: rich richer richest / poor poorer poorest
pair: major / minor
pair: majority / minority
pair: optional optionally / mandatory required compulsory obligatory
pair: temporary temporarily / permanent permanently
pair: active actively / dormant
pair: online / offline
pair: static / dynamic dynamically
pair: local locally onsite / remote remotely offsite
pair: legal legally lawful / unlawful
pair: guilty / innocent
weak: alive / dead
weak: birth born / death died dying
weak: attack~ offense offensive / defend~ defense defensive
pair: ally allies friend+ / enemy enemies foe+
weak: love~ adore~ / hate~ detest~
weak: remember~ / forget forgets forgetting forgot forgotten
weak: hire~ recruit~ / fire~ dismiss~ layoff layoffs
pair: employer+ / employee+
weak: teacher+ / student+
weak: doctor+ / patient+
pair: landlord+ / tenant+
weak: client+ / server+
pair: producer+ / consumer+
weak: supplier+ / supply~ / demand~
pair: importer+ / exporter+
pair: plaintiff+ / defendant+
pair: debtor+ / creditor+
weak: asset+ / liability liabilities
weak: income revenue+ earnings / expense+ expenditure+ spending
pair: surplus / deficit
pair: overpaid overpay~ overpayment+ / underpaid underpay~ underpayment+
pair: overestimate~ / underestimate~
pair: overweight / underweight
pair: overflow~ / underflow~
pair: prepaid / postpaid
pair: pretax / posttax aftertax
pair: uptime / downtime
pair: upvote~ / downvote~
pair: uplink / downlink
pair: expand~ expansion / collapse~ contraction
pair: freeze freezes froze frozen freezing / thaw~ melt~
pair: wet / dry dries dried
pair: daytime / nighttime
weak: clean~ / dirty
pair: lossless / lossy
pair: stateful / stateless
pair: mutable / readonly
pair: wired / wireless
pair: singular / plural
pair: vertical vertically / horizontal horizontally
pair: clockwise / counterclockwise anticlockwise
pair: bull bullish / bear bearish
pair: maternity / paternity
pair: inpatient+ / outpatient+
weak: useful helpful / useless
weak: same identical equal equals / different differ~
weak: always / sometimes
weak: often frequently usually / rarely seldom
weak: entire whole / partial partially
pair: forward~ forwards / backward backwards
pair: acquire~ acquisition+ / divest~ divestiture+
pair: hypertension hyperglycemia hyperthyroidism hyperthermia
pair: / hypotension hypoglycemia hypothyroidism hypothermia
pair: benign / malignant
pair: chronic / acute
pair: microeconomics micro / macroeconomics macro
weak: primary / secondary
pair: senior / junior
pair: former / latter
pair: superior / inferior
weak: merge~ join~ combine~ / split splits splitting separate~
pair: lengthen~ / shorten~
weak: widen~ / tighten~
pair: praise~ / criticize~ criticise~ criticism
pair: confirm~ / cancel~ cancelled cancelling cancellation
weak: save~ keep keeps keeping kept / discard~
pair: first: / last:
pair: before: / after: / since: / until:
pair: up: / down:
pair: in: / out:
pair: previous: / next:
$list$;
COMMENT ON FUNCTION mnemo._guard_english() IS
    'The word list of English, part one: negation and opposites. Never NULL. Raises nothing.';

-- part: 131_guard_more.sql
-- The rest of the English list, in the same form.

CREATE FUNCTION mnemo._guard_english_more()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $list$
order: from / to / into / than / against / by / before prior / after / until till
order: since / instead / onto / toward towards / behind / ahead
near: above=more below=less over=more under=less beyond=more underneath=less
part: on=on off=off in=in out=out up=up down=down
parts: and or but with
join: vs versus while whereas then
prep: of for at about per as during within across around between among through via upon
prep: regarding concerning
skip: a an the this that these those my your his her its our their mine yours i me we us you he him
skip: she it they them am is are was were be been being do does did doing done have has had having
skip: can could will would shall should may might must ought if so there here what which who whom
skip: whose when where why how please thanks thank also just too very really quite some any each
skip: every all both other another such own ok okay oh hi hey hello yes yeah well now let lets let's
skip: i'm i'd i'll i've it's that's what's who's where's how's there's here's o'clock ours theirs re
skip: eg ie etc vs mr mrs ms dr whether because get gets getting got gotten want wants
skip: need needs like kindly exactly actually currently still even ever already again soon much many
skip: ha ya yo uh um eh ah ex ye kinda gonna wanna gotta
eager: how want wants wanted need needs needed like going have has had able unable try tries trying
eager: tried wish ready used supposed ought allowed required forgot remember learn plan planning
eager: hoping hope time way ways steps best safe easy hard possible difficult enough love prefer
eager: looking refuse refused decide decided gotta got
verb: accept access account act add adjust advise aim analyze analyse answer apply appoint approve
verb: arrange ask assess assign assist attach avoid backup bake balance ban be become begin believe
verb: bill block book borrow bring build buy calculate call cancel capture carry change charge chat
verb: check choose clean clear click close code collect come commit compare compile complain complete
verb: compute configure confirm connect consider consult contact continue contribute control convert
verb: cook copy count cover crash create cut deal debug decide define delay delete deliver deploy
verb: describe design detect determine develop dial diagnose disable discuss display do download
verb: draft draw drink drive drop earn eat edit email enable end enforce enroll ensure enter escape
verb: estimate evaluate execute exercise expand expect explain explore export express extend extract
verb: fail file fill filter find finish fit fix fly follow forget format fund generate get give go
verb: grant grow guess handle happen have hear help hide hire hold identify ignore implement improve
verb: include increase inform insert inspect install invest invite join keep kill know launch lead
verb: learn leave lend let limit list listen live load locate lock log look lose lower mail maintain
verb: make manage map mark measure meet merge migrate mix modify monitor move name notify obtain
verb: offer open operate optimize order organize pack pay perform phone pick place plan play point
verb: post prepare present prevent print process produce protect provide publish pull purchase push
verb: put qualify quote raise reach read rebuild receive recommend record recover redeem redirect
verb: reduce refer refresh refund register reinstall reject release remember remind remove rename
verb: renew rent repair repeat replace reply report request require reschedule reserve reset resolve
verb: respond restart restore retrieve return revert review roll rotate run save say scale scan
verb: schedule search see select sell send serve set setup share ship show sign skip sleep solve
verb: sort speak specify speed spell spend split start stay stop store stream study submit subscribe
verb: suggest sum summarize summarise support survive swap switch sync take talk teach tell test
verb: think track trade train transfer translate transport travel troubleshoot try turn understand
verb: undo uninstall unlock unsubscribe update upgrade upload use validate verify view visit wait
verb: wake walk want warn wash watch wear win wipe withdraw work worry write
word: give given status flight flights invoice invoices list lists order orders row rows user users
word: customer customers patient patients file files password passwords account accounts report
word: reports number numbers name names price prices cost costs total average difference meaning
word: definition example examples steps instructions question questions answer answers problem issue issues error
word: errors best latest top new old current weather time date help good details information info
word: convert lookup whats whos hows wheres tests test plans plan employees tasks task tickets ticket
word: products product items item data emails email messages message rules rule payments payment
word: summary overview explanation guide recipe recipes directions meetings meeting papers paper
word: documents document records record services service logs log alerts alert events event flag
phrasal: turn~ switch~ power~ log~~ sign~ check~ opt~~ scale~ speed~ shut flip~~ toggle~ plug~~ zoom~
phrasal: phase~ round~ ramp~ clock~ boot~ spin step~~ scroll~ page~ swipe~ vote~ thumbs roll~ fade~
phrasal: size~ crank~ slow~
tie: pay pays paid owe~ invite~ beat beats defeat~ notify~ manage~ supervise~
tie: lead leads led follow~ love~ hate~ trust~ own~ contain~ precede~ exceed~ outperform~
tie: hire~ sue~ acquire~ extend~ inherit~ invoke~ outrank~ owe attack~ replace~ kill~ eat~
tie: marry marries married teach teaches taught like likes mention~
tie: lend lends lending lent borrow~ buy buys bought sell sells sold send sends sent inform~ warn~
tie: infect~ treat~ inhibit~ regulate~ orbit~ protect~ feed feeds fed calls uses owns hires
tie: cite~ override~ implement~ trigger~ depend~ affect~
tie: influence~ employ~ sponsor~ represent~ accuse~ blame~ tell tells told know
tie: knows knew meet meets met see sees saw divide~ imply implies implied inherits supersede~ chase~
even: compare~ comparison compared difference differences versus relate~ related similar equal
swap: replace~ substitute~ swap~~ exchange~ trade~ replacing
few: few couple several
near-time: last=last next=next this=this previous=last past=last current=this coming=next
near-time: upcoming=next following=next
number: zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11
number: twelve=12 thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19
number: twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100
number: thousand=1000 million=1000000 billion=1000000000 dozen=12 first=1 second=2 third=3 fourth=4
number: fifth=5 sixth=6 seventh=7 eighth=8 ninth=9 tenth=10 eleventh=11 twelfth=12 half=0.5 double=2x
number: twice=2x triple=3x thrice=3x
span: second seconds sec secs / minute minutes mins / hour hours hr hrs / day days / week weeks
span: / month months / quarter quarters / year years yr yrs / decade decades / century centuries
span: / night nights / sprint sprints / semester semesters / season seasons / fortnight
unit: kg kilogram+ kilo kilos / gram+ grams / mg milligram+ / pound+ lb lbs / ounce+ oz / ton+ tonne+
unit: / km kilometer+ kilometre+ / meter+ metre+ / cm centimeter+ centimetre+ / mm millimeter+
unit: / mile+ mi / yard+ yd / foot feet ft / inch inches / acre+ / hectare+ / liter+ litre+
unit: / ml milliliter+ millilitre+ / gallon+ gal / cup+ / tablespoon+ tbsp / teaspoon+ tsp
unit: / celsius / fahrenheit / kelvin / kb kilobyte+ kib / mb megabyte+ mib / gb gigabyte+ gib gigs
unit: / tb terabyte+ tib / pb petabyte+ / kbps / mbps / gbps / hz hertz / khz / mhz / ghz
unit: / watt+ / kw kilowatt+ / kwh / volt+ / ms millisecond+ / mph / kph kmh / % percent pct
unit: / $ usd dollar+ us$ bucks / eur euro+ \u20ac / gbp \u00a3 / jpy yen \u00a5 / inr rupee+ \u20b9 / cny yuan rmb / chf franc+
unit: / cad / aud / sek / nok / dkk / krw / btc bitcoin+ / cent+ / pence / peso+ / ruble+ rub
unit: / cal calorie+ kcal / pm p.m / ppm / rpm / psi / fps / dpi
time: today / tomorrow tmrw tmr / yesterday / tonight / monday+ mon / tuesday+ tue tues
time: / wednesday+ wed / thursday+ thu thur thurs / friday+ fri / saturday+ / sunday+
time: / january jan / february feb / april apr / june jun / july jul / august aug / september sep sept
time: / october oct / november nov / december dec / morning+ / afternoon+ / evening+ / noon
time: / midnight / weekend+ / weekday+ / daily / weekly / monthly / quarterly / yearly annual annually
time: / hourly / nightly / summer / winter / autumn / ago / biweekly / christmas / easter
month: may march
$list$;
COMMENT ON FUNCTION mnemo._guard_english_more() IS
    'The word list of English, part two: order, values, function words. Never NULL. Raises nothing.';

-- part: 132_guard_languages.sql
-- Short lists of other languages, in the form of the English one; characters beyond ASCII are
-- written as in JSON.

CREATE FUNCTION mnemo._guard_german()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'
not: nicht kein keine keinen keinem keiner keines nie niemals niemand ohne weder au\\u00dfer nirgends
not: unbezahlt unbezahlte unbezahlten ung\\u00fcltig ung\\u00fcltige unm\\u00f6glich
part: ein=on an=on aus=off ab=off
pair: on: einschalten eingeschaltet anschalten angeschaltet aktivieren aktiviere aktiviert aktivierte
pair: / off: ausschalten ausgeschaltet abschalten abgeschaltet deaktivieren deaktiviere deaktiviert
pair: erlauben erlaubt zulassen zugelassen / verbieten verboten sperren gesperrt blockieren blockiert
pair: kaufen kaufe gekauft kauf / verkaufen verkaufe verkauft verkauf
pair: erh\\u00f6hen erh\\u00f6he erh\\u00f6ht steigern / senken senke gesenkt verringern reduzieren
pair: mehr gr\\u00f6\\u00dfer / weniger kleiner
pair: maximal maximale h\\u00f6chste h\\u00f6chsten meiste meisten / minimal minimale niedrigste wenigsten
pair: hinzuf\\u00fcgen hinzugef\\u00fcgt / entfernen entfernt
pair: erstellen erstellt anlegen / l\\u00f6schen l\\u00f6sche gel\\u00f6scht
pair: hochladen hochgeladen / herunterladen heruntergeladen
pair: importieren importiert / exportieren exportiert
pair: verschl\\u00fcsseln verschl\\u00fcsselt / entschl\\u00fcsseln entschl\\u00fcsselt
pair: annehmen angenommen akzeptieren / ablehnen abgelehnt
pair: bestanden erfolgreich / gescheitert fehlgeschlagen
pair: installieren installiert / deinstallieren deinstalliert
pair: anmelden angemeldet / abmelden abgemeldet
pair: sicher / gef\\u00e4hrlich unsicher
pair: vorteile vorteil / nachteile nachteil
pair: eingehend eingehende eingehenden / ausgehend ausgehende ausgehenden
pair: gewinn gewinne / verlust verluste
weak: \\u00f6ffnen \\u00f6ffne ge\\u00f6ffnet offen / schlie\\u00dfen schlie\\u00dfe geschlossen
weak: starten starte gestartet / stoppen stoppe gestoppt beenden beendet
weak: erste ersten erster erstes / letzte letzten letzter letztes
weak: hoch hohe / niedrig niedrige
weak: brutto / netto
order: from: von / to: nach / than: als / against: gegen / before: vor bevor / until: bis / since: seit
order: instead: statt anstatt / by: durch
parts: und oder aber
prep: f\\u00fcr bei \\u00fcber unter zwischen w\\u00e4hrend
phrasal: schalte schalten schalt stelle stellen drehe drehen mache machen knipse
skip: die du er es sie ihr wir da so um wo zu ob habe haben ihre mein meine sind
skip: auch nur noch schon bitte danke ja gr\\u00f6\\u00dfe
noun: der das den dem des eine einen einer einem ist wie ich kann kannst k\\u00f6nnen welche welcher warum
noun: wann wer wird werden wurde wurden zum zur im am vom beim f\\u00fcr sich
number: zwei=2 drei=3 vier=4 f\\u00fcnf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 zw\\u00f6lf=12
number: zwanzig=20 drei\\u00dfig=30 vierzig=40 f\\u00fcnfzig=50 hundert=100 tausend=1000 zweite=2 zweiten=2
number: dritte=3 dritten=3 vierte=4 vierten=4
span: day: tag tage tagen / week: woche wochen / month: monat monate monaten / year: jahr jahre jahren
span: hour: stunde stunden / minute: minuten / quarter: quartal quartale
time: today: heute / tomorrow: morgen / yesterday: gestern / monday: montag / tuesday: dienstag
time: wednesday: mittwoch / thursday: donnerstag / friday: freitag / saturday: samstag sonnabend
time: sunday: sonntag / january: januar / february: februar / march: m\\u00e4rz / may: mai / june: juni
time: july: juli / october: oktober / december: dezember / evening: abend abends / morning: fr\\u00fch morgens
time: noon: mittag mittags / weekend: wochenende / daily: t\\u00e4glich t\\u00e4gliche / weekly: w\\u00f6chentlich
time: monthly: monatlich monatliche / yearly: j\\u00e4hrlich
near-time: letzte=last n\\u00e4chste=next n\\u00e4chsten=next n\\u00e4chster=next diese=this diesen=this diesem=this
near-time: dieser=this dieses=this
';
COMMENT ON FUNCTION mnemo._guard_german() IS
    'A short word list of German. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_french()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'
not: pas jamais aucun aucune rien sans ni sauf non
pair: on: activer active activez activ\\u00e9 activ\\u00e9e allumer / off: d\\u00e9sactiver d\\u00e9sactive d\\u00e9sactivez
pair: / d\\u00e9sactiv\\u00e9 d\\u00e9sactiv\\u00e9e \\u00e9teindre
pair: autoriser autoris\\u00e9 permettre permis / interdire interdit bloquer bloqu\\u00e9 refuser refus\\u00e9
pair: acheter ach\\u00e8te achat / vendre vend vente
pair: augmenter augmente hausse / diminuer diminue r\\u00e9duire baisse baisser
pair: plus davantage / moins
pair: maximum maximal / minimal
pair: ajouter ajoute / supprimer supprime retirer enlever
pair: importer / exporter
pair: t\\u00e9l\\u00e9verser / t\\u00e9l\\u00e9charger
pair: chiffrer / d\\u00e9chiffrer
pair: installer / d\\u00e9sinstaller
pair: accepter accept\\u00e9 / rejeter rejet\\u00e9
pair: r\\u00e9ussi r\\u00e9ussir succ\\u00e8s / \\u00e9chou\\u00e9 \\u00e9chouer \\u00e9chec
pair: avantages avantage / inconv\\u00e9nients inconv\\u00e9nient
pair: connecter / d\\u00e9connecter
pair: entrant entrants / sortant sortants
pair: b\\u00e9n\\u00e9fice b\\u00e9n\\u00e9fices / perte pertes
weak: ouvrir ouvre ouvert ouverte / fermer ferme ferm\\u00e9 ferm\\u00e9e
weak: d\\u00e9marrer commencer / arr\\u00eater arr\\u00eate terminer
weak: premier premi\\u00e8re / dernier derni\\u00e8re
weak: haut / bas
order: from: depuis / to: vers \\u00e0 / before: avant / after: apr\\u00e8s / until: jusque jusqu / against: contre
parts: et ou mais avec
prep: pour dans par chez entre pendant
skip: le la les un une des de du au aux en y il elle je tu nous vous ils ce cet cette sa se son ta te ma
skip: mon ne si est sont ont o\\u00f9 qui que quoi quel quelle quels quelles comment pourquoi quand s''il merci
skip: d\\u00e8s
number: z\\u00e9ro=0 deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 dix=10 vingt=20 trente=30 cent=100
number: mille=1000 deuxi\\u00e8me=2 troisi\\u00e8me=3
span: day: jour jours / week: semaine semaines / month: mois / year: ann\\u00e9e ann\\u00e9es an ans / hour: heure heures
time: today: aujourd''hui / tomorrow: demain / yesterday: hier / monday: lundi / tuesday: mardi
time: wednesday: mercredi / thursday: jeudi / friday: vendredi / saturday: samedi / sunday: dimanche
time: january: janvier / february: f\\u00e9vrier / april: avril / may: mai / june: juin
time: july: juillet / august: ao\\u00fbt / september: septembre / october: octobre / november: novembre
time: december: d\\u00e9cembre / morning: matin / evening: soir / noon: midi
near-time: prochain=next prochaine=next pass\\u00e9=last pass\\u00e9e=last
';
COMMENT ON FUNCTION mnemo._guard_french() IS
    'A short word list of French. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_spanish()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'
not: nunca jam\\u00e1s ning\\u00fan ninguno ninguna nadie sin tampoco excepto salvo
pair: on: activar activa activado activada encender / off: desactivar desactiva desactivado desactivada
pair: / apagar
pair: permitir permitido autorizar / prohibir prohibido bloquear bloqueado denegar
pair: comprar compra / vender vende venta
pair: aumentar aumenta subir / disminuir disminuye reducir bajar
pair: m\\u00e1s mayor / menos menor
pair: m\\u00e1ximo m\\u00e1xima / m\\u00ednimo m\\u00ednima
pair: a\\u00f1adir agregar / eliminar quitar borrar
pair: importar / exportar
pair: cifrar / descifrar
pair: instalar / desinstalar
pair: aceptar aceptado / rechazar rechazado
pair: ventajas ventaja / desventajas desventaja
pair: conectar / desconectar
pair: entrante entrantes / saliente salientes
pair: ganancia ganancias / p\\u00e9rdida p\\u00e9rdidas
weak: abrir abre abierto abierta / cerrar cierra cerrado cerrada
weak: iniciar empezar comenzar / parar detener terminar
weak: primer primero primera / \\u00faltimo \\u00faltima
weak: alto alta / bajo baja
order: from: desde / to: hacia / before: antes / after: despu\\u00e9s / until: hasta / against: contra
parts: y o pero con
prep: para por entre durante
skip: el los las unos unas del al lo yo t\\u00fa mi su tu te me nos les es son est\\u00e1 est\\u00e1n qu\\u00e9 qui\\u00e9n c\\u00f3mo cu\\u00e1l
skip: cu\\u00e1ndo d\\u00f3nde por favor gracias s\\u00ed ya ha he
number: cero=0 uno=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 veinte=20
number: treinta=30 cien=100
span: day: d\\u00eda d\\u00edas / week: semana semanas / month: mes meses / year: a\\u00f1o a\\u00f1os / hour: hora horas
time: today: hoy / tomorrow: ma\\u00f1ana / yesterday: ayer / monday: lunes / tuesday: martes
time: wednesday: mi\\u00e9rcoles / thursday: jueves / friday: viernes / saturday: s\\u00e1bado / sunday: domingo
time: january: enero / february: febrero / march: marzo / april: abril / june: junio
time: july: julio / august: agosto / september: septiembre / october: octubre / november: noviembre
time: december: diciembre / evening: tarde noche / weekly: semanal / daily: diario diaria / monthly: mensual
near-time: pr\\u00f3ximo=next pr\\u00f3xima=next pasado=last pasada=last este=this esta=this
';
COMMENT ON FUNCTION mnemo._guard_spanish() IS
    'A short word list of Spanish. Never NULL. Raises nothing.';

-- part: 140_guard.sql
-- The guard: what a query says beyond its set of words.

CREATE FUNCTION mnemo._guard_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1;
COMMENT ON FUNCTION mnemo._guard_version() IS
    'Version of the guard''s rules and word lists, kept with each stored guard; it grows whenever a '
    'query could get another guard. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_forms(
    p_entry text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_entry LIKE '%:' THEN '{}'
    WHEN p_entry LIKE '%~~' THEN ARRAY[
        rtrim(p_entry, '~'),
        rtrim(p_entry, '~') || 's',
        rtrim(p_entry, '~') || right(rtrim(p_entry, '~'), 1) || 'ed',
        rtrim(p_entry, '~') || right(rtrim(p_entry, '~'), 1) || 'ing'
    ]
    WHEN p_entry LIKE '%e~' THEN ARRAY[
        rtrim(p_entry, '~'), rtrim(p_entry, '~') || 's', rtrim(p_entry, '~') || 'd',
        left(p_entry, -2) || 'ing'
    ]
    WHEN p_entry COLLATE "C" ~ '[^aeiou]y~$' THEN ARRAY[
        rtrim(p_entry, '~'), left(p_entry, -2) || 'ies', left(p_entry, -2) || 'ied',
        rtrim(p_entry, '~') || 'ing'
    ]
    WHEN p_entry COLLATE "C" ~ '(s|x|z|ch|sh)~$' THEN ARRAY[
        rtrim(p_entry, '~'), rtrim(p_entry, '~') || 'es', rtrim(p_entry, '~') || 'ed',
        rtrim(p_entry, '~') || 'ing'
    ]
    WHEN p_entry LIKE '%~' THEN ARRAY[
        rtrim(p_entry, '~'), rtrim(p_entry, '~') || 's', rtrim(p_entry, '~') || 'ed',
        rtrim(p_entry, '~') || 'ing'
    ]
    WHEN p_entry LIKE '%+' THEN ARRAY[rtrim(p_entry, '+'), rtrim(p_entry, '+') || 's']
    ELSE ARRAY[p_entry]
END;
COMMENT ON FUNCTION mnemo._guard_forms(text) IS
    'The words that an entry of a word list stands for: itself, the forms of a regular verb (~, ~~), '
    'a plural (+), none for a label (:). NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_compile(
    p_lists text[]
)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
WITH line AS (
    SELECT l.language,
           n.number,
           split_part(n.line, ': ', 1) AS section,
           substring(n.line FROM strpos(n.line, ': ') + 2) AS entries
      FROM unnest(p_lists) WITH ORDINALITY AS l(list, language)
     CROSS JOIN string_to_table(
            -- A line that starts with a divider goes on with the line before.
            regexp_replace(
                (('"' || replace(btrim(l.list, E'\n'), E'\n', E'\\n') || '"')::jsonb #>> '{}') COLLATE "C",
                E'\n[a-z-]+: /', ' /', 'g'
            ),
            E'\n'
        ) WITH ORDINALITY AS n(line, number)
), entry AS (
    SELECT n.language, n.number, n.section, s.place AS side, e.place, e.entry,
           first_value(e.entry) OVER (
               PARTITION BY n.language, n.number, s.place ORDER BY e.place
           ) AS head,
           first_value(e.entry) OVER (
               PARTITION BY n.language, n.number ORDER BY s.place, e.place
           ) AS title
      FROM line AS n
     CROSS JOIN string_to_table(n.entries, ' / ') WITH ORDINALITY AS s(side, place)
     CROSS JOIN string_to_table(s.side, ' ') WITH ORDINALITY AS e(entry, place)
), word AS (
    SELECT f.word, e.language, e.number, e.section, e.side, e.place,
           -- Of a weak pair the second side alone is meaning.
           CASE WHEN e.section = 'weak' AND e.side > 1 THEN 'a' ELSE k.kind END AS kind,
           k.flag,
           CASE
               WHEN strpos(e.entry, '=') > 0 THEN split_part(e.entry, '=', 2)
               WHEN e.section IN ('pair', 'weak') THEN rtrim(e.title, ':~+') || '=' || rtrim(e.head, ':~+')
               WHEN e.section IN ('order', 'span', 'unit', 'time') THEN rtrim(e.head, ':~+')
               WHEN e.section = 'noun' THEN e.section
               ELSE ''
           END AS payload
      FROM entry AS e
     CROSS JOIN unnest(mnemo._guard_forms(split_part(e.entry, '=', 1))) AS f(word)
      JOIN (VALUES
            ('not', 'n', 0), ('part', 'k', 0), ('near', 'z', 0), ('near-time', 'd', 0),
            ('order', 'o', 0), ('pair', 'a', 0), ('weak', 'b', 0), ('number', '#', 0), ('span', 'q', 0),
            ('unit', 'u', 0), ('time', 't', 0), ('month', 'm', 0), ('join', ',', 0), ('parts', '&', 0),
            ('prep', 'p', 0), ('few', 'w', 0), ('skip', '.', 0), ('noun', '.', 0),
            ('word', 'w', 0), ('verb', 'w', 1), ('phrasal', 'w', 2), ('tie', 'w', 4),
            ('eager', 'w', 8), ('even', 'w', 16), ('swap', 'w', 32)
        ) AS k(section, kind, flag) ON k.section = e.section
), best AS (
    SELECT DISTINCT ON (w.word COLLATE "C")
           w.word, w.kind, w.payload, w.language
      FROM word AS w
     ORDER BY w.word COLLATE "C", w.language,
           array_position(ARRAY['n','k','z','d','o','a','b','#','q','u','t','m','&',',','p','.','w'], w.kind),
           w.number, w.side, w.place
)
SELECT jsonb_object_agg(b.word, b.kind || chr(48 + f.flags) || b.payload
            || CASE WHEN b.kind = 'w' AND f.flags & 52 > 0 THEN '~' ELSE '' END)
  FROM best AS b
  JOIN (
    SELECT w.word, w.language, bit_or(w.flag) AS flags FROM word AS w GROUP BY w.word, w.language
  ) AS f ON f.word = b.word AND f.language = b.language;
END;
COMMENT ON FUNCTION mnemo._guard_compile(text[]) IS
    'One object of all word lists: word to a letter for its kind, a character for its flags and what '
    'it stands for. Earlier lists win. Raises nothing.';

DO $do$
BEGIN
    -- Made once, here, because reading the lists takes longer than all guards of a session.
    EXECUTE format(
        'CREATE FUNCTION mnemo._guard_words() RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE '
        'RETURN %L::jsonb',
        mnemo._guard_compile(ARRAY[
            mnemo._guard_english() || mnemo._guard_english_more(), mnemo._guard_german(),
            mnemo._guard_french(), mnemo._guard_spanish()
        ])
    );
END
$do$;
COMMENT ON FUNCTION mnemo._guard_words() IS
    'The compiled word lists, a constant. Never NULL. Raises nothing.';

-- part: 141_guard_text.sql
-- From a query to the words of the guard: unlike the signature's tokens they keep identifiers whole.

CREATE FUNCTION mnemo._guard_chunks(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := p_text;
BEGIN
    IF octet_length(v_text) <> char_length(v_text) THEN
        IF v_text ~ ('[^' || mnemo._unicode_stable() || ']') THEN
            v_text := mnemo._pin(v_text);
        END IF;
        v_text := translate(
            v_text,
            E'\u2018\u2019\u02BC\u00B4\u2010\u2011\u2212\uFF0B\uFF03\uFF05\uFF04'
            '\uFF10\uFF11\uFF12\uFF13\uFF14\uFF15\uFF16\uFF17\uFF18\uFF19'
            '\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669'
            '\u06F0\u06F1\u06F2\u06F3\u06F4\u06F5\u06F6\u06F7\u06F8\u06F9'
            '\u0966\u0967\u0968\u0969\u096A\u096B\u096C\u096D\u096E\u096F',
            '''''''''---+#%$0123456789012345678901234567890123456789'
        );
        -- Negation is all that is read in scripts without spaces; a question by repetition is none.
        v_text := regexp_replace(
            v_text, E'([\u4E00-\u9FFF])\u4E0D\\1', ' ', 'g'
        );
        v_text := regexp_replace(
            v_text, E'[\u4E0D\u6CA1\u672A\u65E0\u7121\u6C92\u522B\u975E]', ' not ', 'g'
        );
        v_text := regexp_replace(v_text, '[' || mnemo._unicode_unspaced() || ']+', ' ', 'g');
        v_text := regexp_replace(v_text, E'[\u2192\u21D2\u27A1\u2794]', ' to ', 'g');
        v_text := regexp_replace(
            v_text, E'[\u2026\u3001\u3002\uFF0C\uFF0E\uFF1B\uFF1A\uFF01\uFF1F\u060C\u061B\u061F'
            '\u06D4\u0964\u2013-\u2015]', ' , ', 'g'
        );
        v_text := regexp_replace(
            v_text,
            E'[\u00A1\u00AB\u00BB\u00BF\u00B7\u00AD\u2000-\u200F\u2016-\u202F\u205F-\u206F'
            '\u2E00-\u2E5D\u3000-\u303F\uFE0E\uFE0F\uFF08\uFF09\uFEFF\u2190-\u21FF\u2600-\u27BF'
            '\u2B00-\u2BFF\U0001F000-\U0001FAFF]', ' ', 'g'
        );
    END IF;
    v_text := translate(v_text, E'\t\n\u000B\f\r\u0085\u00A0\u1680', '        ');
    IF strpos(v_text, '>') > 0 THEN
        v_text := regexp_replace(v_text, '[-=]+> ?', ' to ', 'g');
    END IF;
    RETURN (
        SELECT string_agg(
            CASE
                WHEN p.core ~ '^[A-Za-z0-9'']*$' THEN p.core
                WHEN p.core ~ '^[0-9]+-[A-Za-z]{3,}(-[A-Za-z]+)?$' THEN replace(p.core, '-', ' ')
                WHEN p.core ~ E'[0-9_@]|^(--?|[./#])[A-Za-z]|://|[A-Za-z][.][A-Za-z]|\\\\'
                    THEN translate(p.core, '()[]{}"', '       ')
                WHEN p.core ~ '^[A-Za-z]-[A-Za-z]{2,}$' THEN replace(p.core, '-', '')
                WHEN p.core ~ '[,;:!?]'
                    THEN regexp_replace(translate(p.core, '-/()[]{}"', '         '), '[,;:!?]+',
                                        ' , ', 'g')
                ELSE translate(p.core, '-/()[]{}"', '         ')
            END || CASE
                WHEN c.chunk ~ E'[.!?][''")\\]}`*_]*$' THEN ' .'
                WHEN c.chunk ~ E'[,;:)][''"\\]}`*_]*$' OR p.core ~ '^-+$' THEN ' ,'
                ELSE ''
            END,
            ' ' ORDER BY c.place)
          FROM string_to_table(v_text, ' ') WITH ORDINALITY AS c(chunk, place)
         CROSS JOIN LATERAL (
            SELECT regexp_replace(
                regexp_replace(c.chunk, E'^["''(\\[{`*_~]+', ''), E'["''()\\[\\]{}`*_~,;:.!?]+$', ''
            ) COLLATE "C"
         ) AS p(core)
         WHERE c.chunk <> ''
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_chunks(text) IS
    'The words of any text divided by spaces, case kept: identifiers whole, compounds of letters '
    'divided, a dot for the end of a sentence, a comma for another break. NULL for no words.';

CREATE FUNCTION mnemo._guard_split(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Plain questions, the common case, without a statement of their own.
RETURN CASE
    WHEN p_text COLLATE "C" !~ '[^A-Za-z0-9 ?]|[?].|  |^ | [?]?$'
        THEN rtrim(p_text, '?')
    WHEN p_text COLLATE "C"
        !~ E'[^A-Za-z0-9 ,.?!;:'']|(^| )['']|['']( |$)|[,;:!?.][^ ]|[0-9]['']|  |^ '
        THEN regexp_replace(
            regexp_replace(
                rtrim(p_text, ' .?!,;:') COLLATE "C", '[.?!]+ +', ' . ', 'g'
            ) COLLATE "C", '[,;:]+ +', ' , ', 'g'
        )
    ELSE btrim(regexp_replace(mnemo._guard_chunks(p_text) COLLATE "C", ' {2,}', ' ', 'g'), ' ')
END;
COMMENT ON FUNCTION mnemo._guard_split(text) IS 'As _guard_chunks.';

CREATE FUNCTION mnemo._guard_number(
    p_number text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_number text COLLATE "C" := p_number;
BEGIN
    IF v_number ~ '^[0-9]{1,3}(,[0-9]{3})+([.][0-9]+)?$' THEN
        v_number := replace(v_number, ',', '');
    ELSIF v_number ~ '^[0-9]{1,3}([.][0-9]{3}){2,}(,[0-9]+)?$'
        OR v_number ~ '^[0-9]{1,3}([.][0-9]{3})+,[0-9]+$' THEN
        v_number := replace(replace(v_number, '.', ''), ',', '.');
    ELSIF v_number ~ '^[0-9]+,[0-9]+$' THEN
        v_number := replace(v_number, ',', '.');
    END IF;
    -- Only a fraction of zeros says nothing: 3.10 and 3.1 are versions, and 1.000 may be a thousand.
    IF v_number ~ '^[0-9]+[.](0|00)$' THEN
        v_number := split_part(v_number, '.', 1);
    END IF;
    RETURN v_number;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_number(text) IS
    'One form of a number: no dividers of thousands where they are clear, a point for the fraction, '
    'no fraction of zeros. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_values(
    p_word text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_word text COLLATE "C" := p_word;
    v_parts text[];
    v_unit text COLLATE "C";
BEGIN
    IF v_word ~ '^#[0-9]+$' OR v_word ~ '^v[0-9.]+$' THEN
        v_word := substr(v_word, 2);
    END IF;
    v_parts := regexp_match(
        v_word,
        E'^(us[$]|[-+<>=~]*[$\u20AC\u00A3\u00A5\u20B9]?)([0-9]+(?:[.,:][0-9]+)*)([a-z]{0,5}|[%\u00B0$\u20AC\u00A3\u00A5])$'
    );
    IF v_parts IS NULL THEN
        RETURN ARRAY[v_word];
    END IF;
    IF v_parts[3] = 'k' AND v_parts[2] ~ '^[0-9]{1,9}$' THEN
        v_word := v_parts[2] || '000';
        v_parts[3] := '';
    ELSIF v_parts[2] ~ '^[0-9]+:00$' THEN
        v_word := split_part(v_parts[2], ':', 1);
    ELSE
        v_word := mnemo._guard_number(v_parts[2]);
    END IF;
    IF v_parts[3] IN ('st', 'nd', 'rd', 'th', 'er', 'e') THEN
        v_parts[3] := '';
    END IF;
    v_unit := rtrim(v_parts[1], '-+<>=~');
    IF length(v_parts[1]) > length(v_unit) OR v_parts[1] ~ '^[-+<>=~]' THEN
        v_word := rtrim(v_parts[1], E'$\u20AC\u00A3\u00A5\u20B9us') || v_word;
        v_unit := ltrim(v_parts[1], '-+<>=~');
    END IF;
    v_unit := v_unit || v_parts[3];
    IF v_unit = '' THEN
        RETURN ARRAY[v_word];
    END IF;
    IF substr(mnemo._guard_words() ->> v_unit, 1, 1) IN ('u', 'q') THEN
        v_unit := substr(mnemo._guard_words() ->> v_unit, 3);
    END IF;
    RETURN ARRAY[v_word, v_unit];
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_values(text) IS
    'What a word with digits or symbols says: a number and its unit, or the word itself.';

-- part: 142_guard_opposites.sql
-- The readers below get the words of a query and a code for each, as made by _guard_read: a letter
-- for its kind, a character for its flags, what it stands for. They look a few words back and ahead
-- from the words that concern them and pass over all others.

CREATE FUNCTION mnemo._guard_flag(
    p_code text,
    p_flag integer
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (ascii(substr(p_code, 2, 1)) - 48) & p_flag > 0;
COMMENT ON FUNCTION mnemo._guard_flag(text, integer) IS
    'Whether a word has a flag: 1 a verb in its base form, 2 takes a particle, 4 stands between '
    'subject and object, 8 an infinitive follows, 16 compares evenly, 32 exchanges, 64 a name. NULL '
    'for NULL.';

CREATE FUNCTION mnemo._guard_head(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_kind text COLLATE "C";
BEGIN
    FOR i IN p_place + 1 .. least(p_place + 8, cardinality(p_words)) LOOP
        v_kind := left(p_codes[i], 1);
        IF strpos('cwsabu#iqtm', v_kind) > 0 THEN
            RETURN i;
        ELSIF strpos('|,&n', v_kind) > 0 THEN
            RETURN NULL;
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_head(text[], text[], integer) IS
    'The place of the content that a word governs: the next one in its part of the sentence, within '
    'eight words. NULL when there is none.';

CREATE FUNCTION mnemo._guard_pole(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_word text COLLATE "C" := p_words[p_place];
    v_kind text COLLATE "C" := left(p_codes[p_place], 1);
    v_next text COLLATE "C" := coalesce(p_words[p_place + 1], '.');
    v_next_kind text COLLATE "C" := coalesce(left(p_codes[p_place + 1], 1), '|');
    v_pole text COLLATE "C";
BEGIN
    IF v_kind IN ('a', 'b') THEN
        RETURN v_kind || substr(p_codes[p_place], 3);
    ELSIF v_kind = 'k' THEN
        v_pole := substr(p_codes[p_place], 3);
        v_pole := CASE WHEN v_pole IN ('on', 'off') THEN 'aon=' WHEN v_pole IN ('in', 'out')
            THEN 'ain=' ELSE 'aup=' END || v_pole;
        IF v_word IN ('off', 'down') OR mnemo._guard_flag(p_codes[p_place - 1], 2) THEN
            RETURN v_pole;
        END IF;
        -- Turn it on, the light is on; but not: switch at noon on the server.
        IF strpos('|,&pkoz', v_next_kind) > 0
            OR v_next IN ('please', 'again', 'now', 'when', 'if') THEN
            FOR i IN REVERSE p_place - 1 .. greatest(p_place - 10, 1) LOOP
                EXIT WHEN left(p_codes[i], 1) = '|';
                IF mnemo._guard_flag(p_codes[i], 2) OR v_next_kind = '|'
                    AND v_word IN ('on', 'up') AND p_words[i] IN ('is', 'are', 'was', 'were') THEN
                    RETURN v_pole;
                END IF;
            END LOOP;
        END IF;
    ELSIF v_kind = 'z' THEN
        -- Over 1000, but not: over the fence.
        IF v_word NOT IN ('over', 'under') OR v_next_kind = '#' OR v_next = '$'
            OR v_next_kind = 'i' AND v_next !~ '^[a-z]' THEN
            RETURN 'amore=' || substr(p_codes[p_place], 3);
        END IF;
    ELSIF v_word IN ('last', 'next', 'previous') THEN
        -- Last name, but not: last week.
        IF strpos('qtm#i', v_next_kind) = 0 AND v_next NOT IN ('few', 'couple', 'several') THEN
            RETURN CASE v_word WHEN 'last' THEN 'bfirst=' WHEN 'next' THEN 'bprevious='
                ELSE 'aprevious=' END || v_word;
        END IF;
    ELSIF v_word = 'first' AND strpos('pmtq', v_next_kind) = 0 THEN
        RETURN 'afirst=first';
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_pole(text[], text[], integer) IS
    'What a word says as one of a pair of opposites: a for meaning or b for values, the name of the '
    'pair, =, its side. NULL when nothing.';

CREATE FUNCTION mnemo._guard_opposites(
    p_words text[],
    p_codes text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_pole text COLLATE "C";
    v_side text COLLATE "C";
    v_poles text COLLATE "C" := ' ';     -- all of them
    v_place integer;
    v_conflict boolean := false;         -- both sides of a pair are among them
    v_scoped text[] := '{}';             -- each with the content that follows
    v_out text[] := '{}';
BEGIN
    FOR i IN 1 .. cardinality(p_words) LOOP
        CONTINUE WHEN strpos('abkzd#', left(p_codes[i], 1)) = 0;
        v_pole := mnemo._guard_pole(p_words, p_codes, i);
        CONTINUE WHEN v_pole IS NULL;
        v_side := split_part(v_pole, '=', 2);
        v_out := v_out || (CASE left(v_pole, 1) WHEN 'a' THEN 'm' ELSE 'v' END || v_side);
        v_pole := substr(v_pole, 2);
        IF strpos(v_poles, ' ' || v_pole || ' ') = 0 THEN
            v_conflict := v_conflict
                OR strpos(v_poles, ' ' || split_part(v_pole, '=', 1) || '=') > 0;
            v_poles := v_poles || v_pole || ' ';
        END IF;
        v_place := mnemo._guard_head(p_words, p_codes, i);
        v_scoped := v_scoped || (CASE WHEN strpos('#iqtm', left(p_codes[v_place], 1)) > 0 THEN 'v'
            ELSE 'm' END || v_side || coalesce(' ' || p_words[v_place], ''));
    END LOOP;
    RETURN CASE WHEN v_conflict THEN v_out || v_scoped ELSE v_out END;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_opposites(text[], text[]) IS
    'Tokens for the opposites among the words; where both sides of a pair are there, also with what '
    'each goes with. Words and codes as made by _guard_read.';

-- part: 143_guard_order.sql
CREATE FUNCTION mnemo._guard_sense(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE left(p_codes[p_place], 1)
    WHEN 'a' THEN split_part(p_codes[p_place], '=', 2)
    WHEN 'b' THEN split_part(p_codes[p_place], '=', 2)
    WHEN 'u' THEN substr(p_codes[p_place], 3)
    WHEN '#' THEN substr(p_codes[p_place], 3)
    WHEN 'q' THEN substr(p_codes[p_place], 3)
    WHEN 't' THEN substr(p_codes[p_place], 3)
    WHEN 'i' THEN (mnemo._guard_values(p_words[p_place]))[1]
    ELSE p_words[p_place]
END;
COMMENT ON FUNCTION mnemo._guard_sense(text[], text[], integer) IS
    'One form for the synonyms of a word.';

CREATE FUNCTION mnemo._guard_phrase(
    p_words text[],
    p_codes text[],
    p_place integer,
    p_step integer
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_parts text[];
    v_phrase text COLLATE "C" := mnemo._guard_sense(p_words, p_codes, p_place);
    v_kind text COLLATE "C" := left(p_codes[p_place], 1);
BEGIN
    IF v_kind = 'i' THEN
        v_parts := mnemo._guard_values(p_words[p_place]);
        v_phrase := coalesce(v_parts[2], v_phrase);
    END IF;
    IF p_step < 0 AND (v_kind = 'u' OR v_parts[2] IS NOT NULL) THEN
        RETURN v_phrase;
    END IF;
    FOR i IN 1 .. 2 LOOP
        p_place := p_place + p_step;
        IF v_kind IN ('#', 'i') AND left(p_codes[p_place], 1) = 'u' THEN
            RETURN mnemo._guard_sense(p_words, p_codes, p_place);
        END IF;
        v_kind := left(p_codes[p_place], 1);
        EXIT WHEN v_kind IS NULL OR strpos('cwsabu#i', v_kind) = 0
            OR p_step < 0 AND (strpos('ab#i', v_kind) > 0 OR mnemo._guard_flag(p_codes[p_place], 7));
        v_phrase := CASE WHEN p_step > 0
            THEN v_phrase || ' ' || mnemo._guard_sense(p_words, p_codes, p_place)
            ELSE mnemo._guard_sense(p_words, p_codes, p_place) || ' ' || v_phrase END;
    END LOOP;
    RETURN v_phrase;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_phrase(text[], text[], integer, integer) IS
    'Up to three words of content in a row, from one place on (1) or back (-1): account A, version '
    '12; of an amount of money or the like the unit alone.';

CREATE FUNCTION mnemo._guard_governed(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_kind text COLLATE "C";
BEGIN
    FOR i IN REVERSE p_place - 1 .. greatest(p_place - 5, 1) LOOP
        v_kind := left(p_codes[i], 1);
        IF v_kind = '.' AND p_words[i] NOT IN (
            'the', 'a', 'an', 'this', 'that', 'these', 'those', 'my', 'your', 'his', 'her', 'its',
            'our', 'their', 'some', 'any', 'each', 'every', 'all', 'both'
        ) OR mnemo._guard_flag(p_codes[i], 1) THEN
            RETURN false;
        ELSIF strpos('.cwsabu#i', v_kind) = 0 THEN
            RETURN strpos('pokz', v_kind) > 0;
        END IF;
    END LOOP;
    RETURN false;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_governed(text[], text[], integer) IS
    'Whether a word stands after a preposition: before the meeting send it; the meeting is neither '
    'who sends nor what is sent.';

CREATE FUNCTION mnemo._guard_noun(
    p_words text[],
    p_codes text[],
    p_place integer,
    p_common boolean
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_kind text COLLATE "C";
BEGIN
    FOR i IN REVERSE p_place - 1 .. greatest(p_place - 10, 1) LOOP
        v_kind := left(p_codes[i], 1);
        EXIT WHEN v_kind = '|';
        IF (v_kind IN ('c', 's', 'u')
            OR v_kind = 'i' AND cardinality(mnemo._guard_values(p_words[i])) > 1
            OR p_common AND (v_kind = 'w' AND NOT mnemo._guard_flag(p_codes[i], 1)
                OR v_kind = 'i' AND p_words[i] ~ '^[a-z]')
        ) AND NOT mnemo._guard_governed(p_words, p_codes, i) THEN
            RETURN mnemo._guard_phrase(p_words, p_codes, i, -1);
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_noun(text[], text[], integer, boolean) IS
    'The last thing named before a word in its clause, not after a preposition and within ten words; '
    'common nouns too when p_common. NULL when there is none.';

CREATE FUNCTION mnemo._guard_later(
    p_words text[],
    p_codes text[],
    p_place integer
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_kind text COLLATE "C";
    v_past boolean := false;             -- past the phrase at p_place
BEGIN
    FOR i IN p_place + 1 .. least(p_place + 8, cardinality(p_words)) LOOP
        v_kind := left(p_codes[i], 1);
        IF v_past AND v_kind IN ('c', 's', 'u') THEN
            RETURN mnemo._guard_phrase(p_words, p_codes, i, 1);
        END IF;
        v_past := v_past OR v_kind NOT IN ('c', 's', 'u');
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_later(text[], text[], integer) IS
    'The next thing named after the phrase at a place, within eight words: instead of butter use oil. '
    'NULL when there is none.';

CREATE FUNCTION mnemo._guard_order(
    p_words text[],
    p_codes text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
-- What is governed is a value; meaning is only which of the two things that an order word relates
-- comes first in the alphabet. So exchanging them always shows, and other things in their places,
-- which are for the other class to see, seldom do.
DECLARE
    v_word text COLLATE "C";
    v_kind text COLLATE "C";
    v_marker text COLLATE "C";
    v_place integer;                     -- of what is governed
    v_head text COLLATE "C";
    v_next text COLLATE "C";
    v_noun text COLLATE "C";
    v_from boolean := false;
    v_even boolean := false;
    v_swap boolean := false;
    v_source text COLLATE "C";           -- what follows from and to, and the thing before to
    v_target text COLLATE "C";
    v_moved text COLLATE "C";
    v_out text[] := '{}';
BEGIN
    FOR i IN 1 .. cardinality(p_words) LOOP
        v_kind := left(p_codes[i], 1);
        CONTINUE WHEN strpos('wcabo&z', v_kind) = 0;
        v_word := p_words[i];
        v_marker := NULL;
        IF v_kind = 'o' THEN
            v_marker := substr(p_codes[i], 3);
            IF v_marker = 'to' THEN
                -- Prior to, how to, to book; compared to goes both ways.
                CONTINUE WHEN v_even OR p_words[i - 1] = 'prior'
                    OR mnemo._guard_flag(p_codes[i - 1], 8)
                    OR NOT v_from AND mnemo._guard_flag(p_codes[i + 1], 1);
            ELSIF v_marker = 'against' THEN
                CONTINUE WHEN v_even;
            END IF;
            v_from := v_from OR v_marker = 'from';
            -- To me, from us: nothing that could change places.
            CONTINUE WHEN p_words[i + 1] IN ('me', 'us', 'you', 'him', 'them', 'it');
            IF v_marker NOT IN ('from', 'to', 'by', 'than', 'into', 'onto', 'toward', 'behind') THEN
                v_out := v_out || ('m' || v_marker);
            END IF;
        ELSIF strpos('wcab', v_kind) > 0 THEN
            v_even := v_even OR mnemo._guard_flag(p_codes[i], 16);
            v_swap := v_swap OR mnemo._guard_flag(p_codes[i], 32);
            -- A verb directly after its subject: a known one, or any word between two names.
            CONTINUE WHEN i = 1 OR p_codes[i] = 'cp' OR NOT mnemo._guard_flag(p_codes[i], 4)
                AND (p_codes[i - 1] <> 'cp' OR coalesce(p_codes[i + 1], '') <> 'cp');
            CONTINUE WHEN strpos('csuab', left(p_codes[i - 1], 1)) = 0
                AND (left(p_codes[i - 1], 1) NOT IN ('w', 'i')
                    OR mnemo._guard_flag(p_codes[i - 1], 1));
            v_place := mnemo._guard_head(p_words, p_codes, i);
            CONTINUE WHEN v_place IS NULL;
            CONTINUE WHEN mnemo._guard_governed(p_words, p_codes, i - 1);
            v_noun := mnemo._guard_phrase(p_words, p_codes, i - 1, -1);
            v_head := mnemo._guard_phrase(p_words, p_codes, v_place, 1);
            v_out := v_out || ('m' || rtrim(v_word, 's')
                || CASE WHEN v_noun < v_head THEN ' (ascending)' ELSE ' (descending)' END);
            CONTINUE;
        ELSIF v_word = 'with' AND v_swap THEN
            v_marker := 'with';
        ELSIF v_word = 'over' THEN
            FOR j IN greatest(i - 8, 1) .. i - 1 LOOP
                IF left(p_words[j], 6) = 'prefer' OR left(p_codes[i + 1], 1) = 'i'
                    AND p_words[i + 1] ~ '^[a-z]' THEN
                    v_marker := 'over';
                END IF;
            END LOOP;
        END IF;
        CONTINUE WHEN v_marker IS NULL;

        v_place := mnemo._guard_head(p_words, p_codes, i);
        CONTINUE WHEN v_place IS NULL;
        v_kind := left(p_codes[v_place], 1);
        v_head := mnemo._guard_sense(p_words, p_codes, v_place);
        IF v_marker = 'from' AND v_kind <> 't' THEN
            v_out := v_out || 'mfrom'::text;
        ELSIF v_marker = 'to' THEN
            v_moved := CASE WHEN v_kind NOT IN ('#', 'i', 't')
                THEN mnemo._guard_noun(p_words, p_codes, i, false) END;
            v_target := mnemo._guard_phrase(p_words, p_codes, v_place, 1);
            CONTINUE WHEN NOT v_from AND v_moved IS NULL
                AND (left(p_codes[i - 1], 1) NOT IN ('w', 'i')
                    OR mnemo._guard_flag(p_codes[i - 1], 1));
        END IF;
        v_out := v_out || ('v' || v_marker || ' ' || CASE
            WHEN right(v_head, 1) = 's' AND length(v_head) > 3 THEN left(v_head, -1) ELSE v_head END);
        -- Account A, version 12, 100 dollars.
        v_next := CASE
            WHEN v_kind IN ('#', 'i') AND left(p_codes[v_place + 1], 1) = 'u'
                OR strpos('#i', left(p_codes[v_place + 1], 1)) > 0
                OR length(p_words[v_place + 1]) <= 2 AND left(p_codes[v_place + 1], 1) IN ('c', 's')
                THEN mnemo._guard_sense(p_words, p_codes, v_place + 1)
        END;
        IF v_kind = 'i' AND v_next IS NULL THEN
            v_next := (mnemo._guard_values(p_words[v_place]))[2];
        END IF;
        IF v_next IS NOT NULL THEN
            v_out := v_out || ('v' || v_marker || ' ' || v_next);
        END IF;
        v_head := mnemo._guard_phrase(p_words, p_codes, v_place, 1);
        IF v_marker = 'from' THEN
            v_source := v_head;
        ELSIF v_marker NOT IN ('to', 'before', 'after', 'since', 'until', 'by')
            AND v_kind IN ('c', 'w', 's', 'u', 'a', 'b', 'i') THEN
            v_noun := coalesce(
                mnemo._guard_noun(p_words, p_codes, i, true),
                mnemo._guard_later(p_words, p_codes, v_place)
            );
            IF v_noun <> v_head THEN
                v_out := v_out || ('m' || v_marker
                    || CASE WHEN v_noun < v_head THEN ' (ascending)' ELSE ' (descending)' END);
            END IF;
        END IF;
    END LOOP;
    v_moved := coalesce(v_source, v_moved);
    IF v_moved <> v_target THEN
        v_out := v_out || ('mto'
            || CASE WHEN v_moved < v_target THEN ' (ascending)' ELSE ' (descending)' END);
    END IF;
    RETURN v_out;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_order(text[], text[]) IS
    'Tokens for what order words (from, to, than, against, before, a verb between two things) govern. '
    'Words and codes as made by _guard_read.';

-- part: 144_guard_quantities.sql
CREATE FUNCTION mnemo._guard_quantities(
    p_words text[],
    p_codes text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_word text COLLATE "C";
    v_code text COLLATE "C";
    v_kind text COLLATE "C";
    v_payload text COLLATE "C";
    v_before text COLLATE "C";
    v_kind_before text COLLATE "C";
    v_prev text COLLATE "C";             -- the content directly before this word
    v_open boolean := false;             -- the word before waits for this one
    v_sum numeric;                       -- a number that the next word may go on with: the finished
    v_part numeric;                      -- part, and the part below the next multiplier
    v_number text COLLATE "C";           -- the same as it would be now; NULL when there is none
    v_counted text COLLATE "C";          -- the content directly before it
    v_one boolean := false;              -- the word one, which counts only before a unit
    v_value text COLLATE "C";            -- the first number or identifier
    v_unit text COLLATE "C";             -- the first unit
    v_several boolean := false;          -- there is another one of either
    v_bound text[] := '{}';              -- all of them with what they belong to
    v_parts text[];
    v_near text COLLATE "C";             -- last, next, this: values only when a time follows
    v_month text COLLATE "C";            -- may and march: months only beside a number
    v_last integer := cardinality(p_words) + 1;
    v_out text[] := '{}';
BEGIN
    FOR i IN 1 .. v_last LOOP
        v_code := coalesce(p_codes[i], '|0');
        v_kind := left(v_code, 1);
        -- Most words are neither a quantity nor next to one.
        CONTINUE WHEN strpos('#iqutmd', v_kind) = 0 AND NOT v_open;
        v_open := v_kind IN ('#', 'i', 'd', 'm');
        v_word := coalesce(p_words[i], '.');
        v_payload := substr(v_code, 3);
        v_before := coalesce(p_words[i - 1], '');
        v_kind_before := coalesce(left(p_codes[i - 1], 1), '|');
        v_prev := CASE
            WHEN strpos('cwsq', v_kind_before) > 0 AND NOT mnemo._guard_flag(p_codes[i - 1], 1)
                THEN v_before
        END;
        IF v_kind = 'i' AND v_word ~ '^[1-9][0-9]{0,14}$' THEN
            v_kind := '#';
            v_payload := v_word;
        ELSIF v_word = 'am' AND v_kind_before IN ('#', 'i') THEN
            v_kind := 'u';
            v_payload := 'am';
        ELSIF v_word = 'second' AND (
            v_kind_before IN ('#', 'i') OR v_before IN ('a', 'per', 'every', 'each')
        ) THEN
            v_kind := 'q';
            v_payload := 'second';
        END IF;

        -- A number ends unless this word goes on with it.
        IF v_number IS NOT NULL THEN
            IF v_kind = '#' AND v_part IS NOT NULL AND v_payload ~ '^[0-9]+$' AND (
                v_payload ~ '^1000*$' AND v_word ~ '^[a-z]' AND v_payload <> '10'
                OR v_part >= 20 AND v_payload::numeric < 10 AND v_part % 10 = 0
                    AND v_before ~ '^[a-z]'
                OR v_part >= 100 AND v_payload::numeric < 100 AND v_part % 100 = 0
                    AND v_before ~ '^[a-z]'
                OR v_part = 0 AND v_before ~ '^[a-z]' AND v_payload::numeric < 1000
            ) THEN
                IF v_payload = '100' THEN
                    v_part := v_part * 100;
                ELSIF v_payload ~ '^10000*$' THEN
                    v_sum := least(v_sum + v_part * v_payload::numeric, 1e18);
                    v_part := 0;
                ELSE
                    v_part := v_part + v_payload::numeric;
                END IF;
                v_part := least(v_part, 1e18);
                v_number := (v_sum + v_part)::text;
                v_one := false;
                CONTINUE;
            END IF;
            IF NOT v_one OR v_kind IN ('u', 'q') THEN
                v_out := v_out || ('v' || v_number);
                v_several := v_several OR v_value <> v_number;
                v_value := coalesce(v_value, v_number);
                v_bound := v_bound || ('v' || CASE
                    WHEN v_kind IN ('u', 'q') THEN v_number || ' ' || v_payload
                    WHEN v_counted IS NOT NULL THEN v_counted || ' ' || v_number
                    WHEN v_kind IN ('c', 'w', 's') AND NOT mnemo._guard_flag(v_code, 1) THEN v_number || ' ' || v_word
                    ELSE v_number
                END);
            END IF;
            v_number := NULL;
        END IF;
        IF v_near IS NOT NULL THEN
            IF v_kind IN ('q', 't', 'm', '#', 'i') OR v_word IN ('few', 'couple', 'several') THEN
                v_out := v_out || ('v' || v_near);
            END IF;
        END IF;
        IF v_month IS NOT NULL THEN
            IF v_kind IN ('#', 'i') THEN
                v_out := v_out || ('v' || v_month);
            END IF;
            v_month := NULL;
        END IF;

        CASE v_kind
        WHEN '#' THEN
            v_number := v_payload;
            v_part := CASE WHEN v_payload ~ '^[0-9]+$' THEN v_payload::numeric END;
            v_sum := 0;
            IF v_part >= 1000 AND v_word ~ '^[a-z]' THEN
                v_sum := v_part;
                v_part := 0;
            END IF;
            v_counted := v_prev;
            v_one := v_word = 'one';
        WHEN 'i' THEN
            v_parts := mnemo._guard_values(v_word);
            v_out := v_out || ('v' || v_parts[1]);
            v_several := v_several OR v_value <> v_parts[1];
            v_value := coalesce(v_value, v_parts[1]);
            IF cardinality(v_parts) > 1 THEN
                v_out := v_out || ('v' || v_parts[2]);
                v_bound := v_bound || ('v' || v_parts[1] || ' ' || v_parts[2]);
            ELSE
                v_bound := v_bound || ('v' || coalesce(v_prev || ' ', '') || v_parts[1]);
            END IF;
        WHEN 'q' THEN
            IF v_near IS NOT NULL OR v_kind_before IN ('#', 'i')
                OR v_before IN ('few', 'couple', 'several') THEN
                v_out := v_out || ('v' || v_payload);
            END IF;
        WHEN 'u', 't' THEN
            IF v_kind = 'u' THEN
                v_several := v_several OR v_unit <> v_payload;
                v_unit := coalesce(v_unit, v_payload);
            END IF;
            v_out := v_out || ('v' || v_payload);
        WHEN 'm' THEN
            IF v_kind_before IN ('#', 'i', 'd', 'o')
                OR v_before IN ('of', 'in', 'during', 'early', 'late', 'mid') THEN
                v_out := v_out || ('v' || v_word);
            ELSE
                v_month := v_word;
            END IF;
        WHEN 'c', 'w', 'a', 'b', 's' THEN
            v_prev := v_word;
        ELSE
        END CASE;
        v_near := CASE WHEN v_kind = 'd' THEN v_payload END;
    END LOOP;
    -- Of several numbers it matters which belongs to what.
    RETURN CASE WHEN v_several THEN v_out || v_bound ELSE v_out END;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_quantities(text[], text[]) IS
    'Tokens for numbers, identifiers, units and times among the words. Words and codes as made by '
    '_guard_read.';

-- part: 145_guard_read.sql
CREATE FUNCTION mnemo._guard_capitals(
    p_query text,
    p_tokens text[],
    p_title boolean,
    p_nouns boolean
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_token text COLLATE "C";
    v_out text[] := '{}';
BEGIN
    FOREACH v_token IN ARRAY p_tokens LOOP
        CONTINUE WHEN p_title AND left(v_token, 1) IN ('n', 'N', 'A');
        CONTINUE WHEN p_nouns AND left(v_token, 1) = 'n';
        v_out := v_out || CASE left(v_token, 1)
            WHEN 'N' THEN 'n' || substr(v_token, 2)
            WHEN 'A' THEN 'v' || substr(v_token, 2)
            ELSE v_token
        END;
    END LOOP;
    IF octet_length(p_query) = char_length(p_query) THEN
        RETURN v_out;
    END IF;
    -- A name that is no word of the signature could be found in no other query, nor in its own.
    RETURN ARRAY(
        SELECT t.token
          FROM unnest(v_out) AS t(token)
          LEFT JOIN unnest(mnemo._signature_tokens(p_query)) AS s(token)
            ON s.token COLLATE "C" = substr(t.token, 2) COLLATE "C"
         WHERE left(t.token, 1) <> 'n' OR s.token IS NOT NULL
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_capitals(text, text[], boolean, boolean) IS
    'The tokens without names that are none: in a query written in capitals or title case, and in a '
    'language that writes all nouns large unless a preposition goes before.';

CREATE FUNCTION mnemo._guard_read(
    p_query text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_text text COLLATE "C" := mnemo._guard_split(p_query);
    v_lower text COLLATE "C" := mnemo._lower(v_text);
    v_tokens text[];
    v_words text[];
    v_codes text[] := '{}';
    v_capitals boolean := v_text <> v_lower;
    v_shouted boolean := v_text !~ '[a-z]';
    v_token text COLLATE "C";
    v_word text COLLATE "C";
    v_code text COLLATE "C";
    v_kind text COLLATE "C";
    v_sentence boolean := true;          -- this word starts a sentence
    v_seen text COLLATE "C";             -- all codes
    v_nots text[] := '{}';               -- what prefixes negate
    v_place integer;
    v_small integer := 0;                -- longer words without and with a capital
    v_large integer := 0;
    v_title boolean := false;            -- a function word has a capital; all words have
    v_nouns boolean;                     -- a language that writes all nouns with a capital
    v_out text[] := '{}';
BEGIN
    IF v_text IS NULL OR v_text = '' THEN
        RETURN '{}';
    END IF;
    v_words := string_to_array(v_lower, ' ');
    IF v_capitals AND NOT v_shouted THEN
        v_tokens := string_to_array(v_text, ' ');
    END IF;

    FOR i IN 1 .. cardinality(v_words) LOOP
        v_word := v_words[i];
        v_code := coalesce(mnemo._guard_words() ->> v_word, 'c0');
        IF v_code = 'c0' THEN
            IF v_word ~ '[^a-z]' THEN
                IF v_word = ',' OR v_word = '.' THEN
                    v_codes := v_codes || '|0'::text;
                    v_sentence := v_word = '.';
                    CONTINUE;
                END IF;
                IF strpos(v_word, '''') > 0 THEN
                    IF right(v_word, 3) = 'n''t' THEN
                        v_code := 'n0';
                    ELSE
                        v_word := regexp_replace(
                            regexp_replace(v_word, '(?<=.)''(s|re|ll|ve|d|m)?$', ''),
                            '^[a-z]{1,2}''(?=.)', ''
                        );
                        v_words[i] := v_word;
                        v_code := coalesce(mnemo._guard_words() ->> v_word, 'c0');
                    END IF;
                END IF;
                IF v_code = 'c0' AND v_word ~ (E'[!-`{-~\u00A2-\u00A9\u00B0-\u00B3\u00B9'
                    '\u00BC-\u00BE\u20A0-\u20BF\u2116]') THEN
                    v_code := 'i0';
                END IF;
            END IF;
        END IF;
        v_kind := left(v_code, 1);

        IF v_capitals AND NOT v_shouted THEN
            v_token := v_tokens[i];
            IF v_token <> v_word AND strpos(v_token, v_word) = 0 THEN
                IF length(v_word) <= 2 AND v_kind IN ('.', ',', '&', 'p', 'o', 'k', 'c', 'w', 'u')
                    AND strpos(' i no on to is of ', ' ' || v_word || ' ') = 0
                    AND v_token = upper(v_token) AND NOT (v_sentence AND length(v_word) = 1) THEN
                    v_code := 's0';
                    v_kind := 's';
                ELSIF v_kind = 'c' OR v_kind = 'w' THEN
                    v_large := v_large + 1;
                    IF (v_kind = 'c' OR NOT v_sentence) AND length(v_word) > 2 THEN
                        v_out := v_out || (CASE WHEN left(v_codes[i - 1], 1) IN ('p', 'o', 'k')
                            OR v_words[i - 1] IN ('with', 'mit') THEN 'N' ELSE 'n' END
                            || v_word);
                        v_code := 'cp';
                        v_kind := 'c';
                    END IF;
                ELSIF NOT v_sentence AND v_kind IN ('.', ',', '&', 'p', 'o', 'k', 'd')
                    AND v_word <> 'i'
                    AND strpos(v_word, '''') = 0 THEN
                    v_title := true;
                ELSIF v_kind = 'm' AND NOT v_sentence THEN
                    v_code := 't0' || v_word;
                    v_kind := 't';
                END IF;
            ELSIF length(v_word) > 3 AND v_kind IN ('c', 'w', 'a', 'b') THEN
                v_small := v_small + 1;
            END IF;
        END IF;
        v_codes := v_codes || v_code;
        IF v_kind = 'c' THEN
            IF length(v_word) <= 2 THEN
                IF v_word ~ '^[a-z]+$' THEN
                    v_out := v_out || ('v' || v_word);
                END IF;
            ELSIF v_word ~ '^(?:un(?!der|i[tvqfcxols]|til|less|cle|to|an|ct|es)|non...)..' THEN
                v_nots := v_nots || substr(v_word, CASE left(v_word, 2) WHEN 'un' THEN 3 ELSE 4 END);
            END IF;
        ELSIF v_kind = 's' THEN
            v_out := v_out || (CASE v_word WHEN 'a' THEN 'A' ELSE 'v' END || v_word);
        END IF;
        v_sentence := false;
    END LOOP;

    v_seen := ' ' || array_to_string(v_codes, ' ');
    IF v_seen ~ ' [abkzd#]' THEN
        v_out := v_out || mnemo._guard_opposites(v_words, v_codes);
    END IF;
    v_title := v_capitals AND v_small = 0 AND (v_large > 2 OR v_title);
    v_nouns := v_capitals AND v_seen ~ ' [.]0noun.* [.]0noun';
    IF v_title OR v_nouns THEN
        v_seen := replace(v_seen, ' cp', ' c0');
        v_codes := string_to_array(ltrim(v_seen, ' '), ' ');
    END IF;
    IF v_seen ~ ' [oz]|~| [ab][4-7]| cp [cw][^p]+ cp' THEN
        v_out := v_out || mnemo._guard_order(v_words, v_codes);
    END IF;
    IF v_seen ~ ' [#idqutm]' THEN
        v_out := v_out || mnemo._guard_quantities(v_words, v_codes);
    END IF;
    IF strpos(v_seen, ' n') > 0 OR cardinality(v_nots) > 0 THEN
        IF strpos(v_seen, ' &') = 0 THEN
            v_nots := ARRAY[''];
        ELSE
            -- With two parts it matters which one is negated.
            FOR i IN 1 .. cardinality(v_codes) LOOP
                IF left(v_codes[i], 1) = 'n' THEN
                    v_place := mnemo._guard_head(v_words, v_codes, i);
                    v_nots := v_nots || CASE WHEN strpos('cwsabu', left(v_codes[v_place], 1)) > 0
                        THEN v_words[v_place] ELSE '' END;
                END IF;
            END LOOP;
        END IF;
        FOREACH v_word IN ARRAY v_nots LOOP
            v_out := v_out || rtrim('mnot ' || v_word);
        END LOOP;
    END IF;
    IF v_capitals THEN
        v_out := mnemo._guard_capitals(p_query, v_out, v_title, v_nouns);
    END IF;
    IF octet_length(p_query) < 600 THEN
        RETURN tsvector_to_array(array_to_tsvector(v_out));
    END IF;
    RETURN ARRAY(
        SELECT DISTINCT t.token COLLATE "C" FROM unnest(v_out) AS t(token) ORDER BY 1
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_read(text) IS
    'All that the guard reads out of a query, sorted: m and a token of meaning, n and a name, v and '
    'a value. NULL gives none. Raises nothing.';

-- part: 146_guard.sql
-- What is stored and compared, and what people see.

CREATE FUNCTION mnemo._guard(
    p_query text,
    OUT meaning bigint,
    OUT vals bigint,
    OUT names text[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_all text[] := mnemo._guard_read(p_query);
    v_meaning integer := 0;
    v_names integer;
BEGIN
    meaning := 0;
    vals := 0;
    names := '{}';
    -- Sorted: first the meaning, then the names, then the values.
    v_meaning := width_bucket('n'::text COLLATE "C", v_all COLLATE "C");
    v_names := width_bucket('o'::text COLLATE "C", v_all COLLATE "C");
    IF v_meaning > 0 THEN
        meaning := mnemo._hash64(array_to_string(v_all[:v_meaning], E'\n'));
    END IF;
    FOR i IN v_meaning + 1 .. v_names LOOP
        names := names || substr(v_all[i], 2);
    END LOOP;
    IF v_names < cardinality(v_all) THEN
        vals := mnemo._hash64(array_to_string(v_all[v_names + 1:], E'\n'));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._guard(text) IS
    'What of a query''s guard is stored with its plan and compared: a digest of its tokens of class '
    'meaning, one of the values but names (0 for none), and the names, sorted. Two queries agree in '
    'meaning when the first digests are equal; strictly, when the second are too and each name of '
    'either is a token of the other''s signature. NULL gives 0, 0 and no names. Raises nothing.';

CREATE FUNCTION mnemo._guard_tokens(
    p_query text
)
RETURNS TABLE (
    "position" bigint,
    token text,
    class text
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT t.place, substr(t.entry, 2),
           CASE left(t.entry, 1) WHEN 'm' THEN 'meaning' ELSE 'values' END
      FROM unnest(mnemo._guard_read(p_query)) WITH ORDINALITY AS t(entry, place)
     ORDER BY t.place;
END;
COMMENT ON FUNCTION mnemo._guard_tokens(text) IS 'As guard_tokens, without its limit.';

CREATE FUNCTION mnemo.guard_tokens(
    p_query text
)
RETURNS TABLE (
    "position" bigint,
    token text,
    class text
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF char_length(p_query) > 100000 THEN
        PERFORM mnemo._raise_limit(
            'p_query',
            format('p_query has %s characters, the limit is 100000', char_length(p_query)),
            'pass the question alone, without what it is about'
        );
    END IF;
    RETURN QUERY SELECT g."position", g.token, g.class FROM mnemo._guard_tokens(p_query) AS g;
END
$fn$;
COMMENT ON FUNCTION mnemo.guard_tokens(text) IS
    'What the guard reads out of a query, in a fixed order: tokens of class meaning (negation, '
    'opposites, the order of what is ordered) and values (numbers, identifiers, names, units, times, '
    'words of one or two letters that are no function words). NULL and a query without any give no '
    'rows. Raises 54000 above 100,000 characters.';

CREATE FUNCTION mnemo._guard_differences(
    p_asked text,
    p_stored text,
    p_guard text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_asked text[] := mnemo._guard_read(p_asked);
    v_stored text[] := mnemo._guard_read(p_stored);
BEGIN
    -- A name is there when it is a word of the signature, with or without a capital.
    RETURN ARRAY(
        SELECT CASE
                   WHEN d.asked IS NULL THEN 'only stored has ' || d.stored
                   WHEN d.stored IS NULL THEN 'only asked has ' || d.asked
                   ELSE 'asked has ' || d.asked || ', stored has ' || d.stored
               END
          FROM (
            SELECT left(t.entry, 1) COLLATE "C" AS class,
                   string_agg(substr(t.entry, 2), ', ' ORDER BY t.entry COLLATE "C")
                       FILTER (WHERE t.side = 1) AS asked,
                   string_agg(substr(t.entry, 2), ', ' ORDER BY t.entry COLLATE "C")
                       FILTER (WHERE t.side = 2) AS stored
              FROM (
                SELECT a.entry, 1 AS side
                  FROM unnest(v_asked) AS a(entry)
                 WHERE NOT EXISTS (
                    SELECT
                      FROM unnest(v_stored || ARRAY(
                            SELECT 'n' || w.word
                              FROM unnest(mnemo._signature_tokens(p_stored)) AS w(word)
                        )) AS h(entry)
                     WHERE h.entry COLLATE "C" = a.entry COLLATE "C"
                 )
                UNION ALL
                SELECT s.entry, 2
                  FROM unnest(v_stored) AS s(entry)
                 WHERE NOT EXISTS (
                    SELECT
                      FROM unnest(v_asked || ARRAY(
                            SELECT 'n' || w.word
                              FROM unnest(mnemo._signature_tokens(p_asked)) AS w(word)
                        )) AS h(entry)
                     WHERE h.entry COLLATE "C" = s.entry COLLATE "C"
                 )
              ) AS t
             WHERE p_guard = 'strict' OR p_guard = 'meaning' AND left(t.entry, 1) = 'm'
             GROUP BY left(t.entry, 1) COLLATE "C"
          ) AS d
         ORDER BY d.class
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._guard_differences(text, text, text) IS
    'What forbids the guard (off, meaning, strict) to replay a stored query''s plan for the one asked, '
    'in words: one text for meaning, names, values each where they differ; empty when they agree.';

-- part: 200_settings.sql
CREATE TABLE mnemo.settings (
    org_id text NOT NULL,
    name text NOT NULL,
    value text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT settings_pkey PRIMARY KEY (org_id, name),
    CONSTRAINT settings_org_id_check CHECK (org_id = '*' OR mnemo._is_identifier(org_id))
);
COMMENT ON TABLE mnemo.settings IS
    'Settings that differ from their defaults; a missing row means the default.';
COMMENT ON COLUMN mnemo.settings.org_id IS 'Organisation of an override; * for the whole database.';
COMMENT ON COLUMN mnemo.settings.name IS 'Name of the setting, see mnemo.configure.';
COMMENT ON COLUMN mnemo.settings.value IS 'Value in the form that mnemo.setting shows.';
COMMENT ON COLUMN mnemo.settings.updated_at IS 'When it was last set.';

CREATE FUNCTION mnemo._setting_default(
    p_name text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_name
    WHEN 'experience_memory' THEN 'off'
    WHEN 'similarity_threshold' THEN '0.7'
    WHEN 'minimum_threshold' THEN '0.3'
    WHEN 'success_threshold' THEN '0.5'
    WHEN 'guard' THEN 'strict'
    WHEN 'default_agent_id' THEN 'default'
    WHEN 'default_org_id' THEN 'default'
    WHEN 'purge_after' THEN '30 days'
END;
COMMENT ON FUNCTION mnemo._setting_default(text) IS
    'The default of a setting; NULL for a name that is no setting.';

CREATE FUNCTION mnemo._overrides(
    p_org_id text
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN (
        SELECT coalesce(jsonb_object_agg(s.name, s.value) FILTER (WHERE s.org_id = '*'), '{}')
               || coalesce(jsonb_object_agg(s.name, s.value) FILTER (WHERE s.org_id <> '*'), '{}')
          FROM mnemo.settings AS s
         WHERE s.org_id = p_org_id OR s.org_id = '*'
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._overrides(text) IS
    'What is set for an organisation (NULL: for the database) by name, all in one look: its own '
    'values before those of the database; defaults are not in it.';

CREATE FUNCTION mnemo._setting_in(
    p_overrides jsonb,
    p_name text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_overrides ->> p_name, mnemo._setting_default(p_name));
COMMENT ON FUNCTION mnemo._setting_in(jsonb, text) IS
    'The value in force, from what _overrides gave; NULL for no setting.';

CREATE FUNCTION mnemo._setting(
    p_name text,
    p_org_id text
)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN mnemo._setting_in(mnemo._overrides(p_org_id), p_name);
COMMENT ON FUNCTION mnemo._setting(text, text) IS
    'The value in force for an organisation (NULL: for the database); NULL for no setting.';

-- part: 210_roles.sql
CREATE TABLE mnemo.role_level (
    role_name text NOT NULL,
    level text NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT role_level_pkey PRIMARY KEY (role_name),
    CONSTRAINT role_level_level_check CHECK (mnemo._is_label('level', level))
);
COMMENT ON TABLE mnemo.role_level IS
    'What a database role may do here, written by mnemo.grant_access. By name, because a dump '
    'restored elsewhere meets other role numbers. EXECUTE without a row counts for nothing.';
COMMENT ON COLUMN mnemo.role_level.role_name IS 'Role; it counts for roles that inherit from it too.';
COMMENT ON COLUMN mnemo.role_level.level IS
    'application: may name any agent and organisation; tenant: bound by role_binding; admin.';
COMMENT ON COLUMN mnemo.role_level.granted_at IS 'When the level was given.';

CREATE TABLE mnemo.role_binding (
    org_id text NOT NULL,
    role_name text NOT NULL,
    agent_id text,
    bound_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT role_binding_org_id_key UNIQUE NULLS NOT DISTINCT (org_id, role_name, agent_id),
    CONSTRAINT role_binding_org_id_check CHECK (mnemo._is_identifier(org_id)),
    CONSTRAINT role_binding_agent_id_check CHECK (agent_id IS NULL OR mnemo._is_identifier(agent_id))
);
CREATE INDEX role_binding_role_name_idx ON mnemo.role_binding (role_name);
COMMENT ON TABLE mnemo.role_binding IS
    'Whom a role of level tenant may act for. A tenant without a row may do nothing.';
COMMENT ON COLUMN mnemo.role_binding.org_id IS 'Organisation that the role acts in.';
COMMENT ON COLUMN mnemo.role_binding.role_name IS 'Role; it counts for roles that inherit from it too.';
COMMENT ON COLUMN mnemo.role_binding.agent_id IS 'Agent that the role acts as; NULL for any agent.';
COMMENT ON COLUMN mnemo.role_binding.bound_at IS 'When the binding was made.';

-- part: 220_memory.sql
CREATE FUNCTION mnemo._is_plan_payload(
    p_payload jsonb
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(
    jsonb_typeof(p_payload -> 'query') = 'string'
    AND jsonb_typeof(p_payload -> 'signature_tokens') = 'array'
    AND jsonb_typeof(p_payload -> 'steps') = 'array'
    AND jsonb_typeof(p_payload -> 'chunk_ids') = 'array'
    AND jsonb_typeof(p_payload -> 'outcome_score') = 'number'
    AND jsonb_typeof(coalesce(p_payload -> 'context', 'null')) IN ('string', 'null')
    AND jsonb_array_length(p_payload -> 'signature_tokens') > 0
    AND NOT p_payload @? 'strict $.signature_tokens[*] ? (@.type() != "string")'
    AND NOT p_payload @? 'strict $.steps[*] ? (@.type() != "string")'
    AND NOT p_payload @? 'strict $.chunk_ids[*] ? (@.type() != "string")',
    false
);
COMMENT ON FUNCTION mnemo._is_plan_payload(jsonb) IS
    'Whether the JSON value can be replayed as a plan: an object with query, signature_tokens, '
    'steps, chunk_ids and outcome_score of the right types; false for NULL.';

CREATE TABLE mnemo.memory (
    org_id text NOT NULL,
    id uuid NOT NULL,
    origin_org_id text NOT NULL,
    agent_id text NOT NULL,
    scope text NOT NULL,
    memory_type text NOT NULL,
    content text,
    importance double precision NOT NULL,
    tags text[] NOT NULL,
    metadata jsonb NOT NULL,
    source_type text NOT NULL,
    source_id text,
    thread_id text,
    created_by text,
    consolidation_state text NOT NULL,
    quarantined boolean NOT NULL,
    quarantine_reason text,
    version bigint NOT NULL,
    prev_version_id uuid,
    access_count bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_accessed_at timestamptz,
    expires_at timestamptz,
    deleted_at timestamptz,
    redacted_at timestamptz,
    kind text,
    subject text,
    predicate text,
    entities text[] NOT NULL,
    aliases text[] NOT NULL,
    location text,
    confidence double precision,
    status text NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    temporal_scope text NOT NULL,
    nonce bytea,
    content_hash bytea NOT NULL,
    CONSTRAINT memory_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT memory_org_id_check CHECK (
        CASE scope WHEN 'global' THEN org_id = '*' ELSE org_id = origin_org_id END
    ),
    CONSTRAINT memory_origin_org_id_check CHECK (mnemo._is_identifier(origin_org_id)),
    CONSTRAINT memory_agent_id_check CHECK (mnemo._is_identifier(agent_id)),
    CONSTRAINT memory_scope_check CHECK (mnemo._is_label('scope', scope)),
    CONSTRAINT memory_memory_type_check CHECK (mnemo._is_label('memory_type', memory_type)),
    CONSTRAINT memory_source_type_check CHECK (mnemo._is_label('source_type', source_type)),
    CONSTRAINT memory_consolidation_state_check CHECK (
        mnemo._is_label('consolidation_state', consolidation_state)
    ),
    CONSTRAINT memory_kind_check CHECK (kind IS NULL OR mnemo._is_label('kind', kind)),
    CONSTRAINT memory_status_check CHECK (mnemo._is_label('memory_status', status)),
    CONSTRAINT memory_temporal_scope_check CHECK (mnemo._is_label('temporal_scope', temporal_scope)),
    CONSTRAINT memory_importance_check CHECK (importance BETWEEN 0 AND 1),
    CONSTRAINT memory_confidence_check CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT memory_version_check CHECK (version >= 1),
    CONSTRAINT memory_access_count_check CHECK (access_count >= 0),
    CONSTRAINT memory_metadata_check CHECK (jsonb_typeof(metadata) = 'object'),
    CONSTRAINT memory_quarantine_reason_check CHECK (quarantined OR quarantine_reason IS NULL),
    CONSTRAINT memory_redacted_at_check CHECK (
        CASE WHEN redacted_at IS NULL THEN content IS NOT NULL AND nonce IS NOT NULL
        ELSE content IS NULL AND nonce IS NULL AND metadata = '{}' AND deleted_at IS NOT NULL
            AND tags <@ ARRAY[mnemo._reserved_tag()] AND source_id IS NULL AND thread_id IS NULL
            AND created_by IS NULL AND quarantine_reason IS NULL AND subject IS NULL
            AND predicate IS NULL AND entities = '{}' AND aliases = '{}' AND location IS NULL END
    ),
    CONSTRAINT memory_experience_plan_check CHECK (
        CASE WHEN redacted_at IS NULL
            AND (tags @> ARRAY[mnemo._reserved_tag()] OR metadata ? mnemo._reserved_key())
        THEN tags @> ARRAY[mnemo._reserved_tag()] AND metadata ? mnemo._reserved_key()
            AND memory_type = 'procedural' AND source_type = 'system'
            AND mnemo._is_plan_payload(metadata -> mnemo._reserved_key())
        ELSE true END
    )
);
CREATE INDEX memory_owner_idx
    ON mnemo.memory (org_id, origin_org_id, agent_id, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND NOT tags @> ARRAY['__experience_plan__'];
CREATE INDEX memory_scope_idx
    ON mnemo.memory (org_id, scope, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND NOT tags @> ARRAY['__experience_plan__']
        AND scope IN ('public', 'global');
CREATE INDEX memory_plan_idx
    ON mnemo.memory (org_id, origin_org_id, agent_id, id DESC)
    WHERE deleted_at IS NULL AND tags @> ARRAY['__experience_plan__'];
CREATE INDEX memory_plan_scope_idx
    ON mnemo.memory (org_id, scope, id DESC)
    WHERE deleted_at IS NULL AND tags @> ARRAY['__experience_plan__']
        AND scope IN ('public', 'global');
CREATE INDEX memory_expires_at_idx ON mnemo.memory (org_id, expires_at)
    WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memory_deleted_idx ON mnemo.memory (org_id, origin_org_id, agent_id)
    WHERE deleted_at IS NOT NULL;
CREATE INDEX memory_deleted_at_idx ON mnemo.memory (org_id, deleted_at)
    WHERE deleted_at IS NOT NULL AND redacted_at IS NULL;

-- The planner's statistics of these columns would keep people's words after erasure.
ALTER TABLE mnemo.memory
    ALTER COLUMN content SET STATISTICS 0,
    ALTER COLUMN tags SET STATISTICS 0,
    ALTER COLUMN metadata SET STATISTICS 0,
    ALTER COLUMN source_id SET STATISTICS 0,
    ALTER COLUMN thread_id SET STATISTICS 0,
    ALTER COLUMN created_by SET STATISTICS 0,
    ALTER COLUMN quarantine_reason SET STATISTICS 0,
    ALTER COLUMN subject SET STATISTICS 0,
    ALTER COLUMN predicate SET STATISTICS 0,
    ALTER COLUMN entities SET STATISTICS 0,
    ALTER COLUMN aliases SET STATISTICS 0,
    ALTER COLUMN location SET STATISTICS 0,
    ALTER COLUMN nonce SET STATISTICS 0;

COMMENT ON TABLE mnemo.memory IS
    'One row a record, plans included. Written by the functions of this schema only.';
COMMENT ON COLUMN mnemo.memory.org_id IS
    'Organisation whose agents can see the record; * for records of scope global.';
COMMENT ON COLUMN mnemo.memory.id IS 'UUID of version 7, unique within org_id.';
COMMENT ON COLUMN mnemo.memory.origin_org_id IS
    'Organisation that wrote the record; with agent_id it is the owner.';
COMMENT ON COLUMN mnemo.memory.agent_id IS 'Agent of origin_org_id that owns the record.';
COMMENT ON COLUMN mnemo.memory.scope IS
    'private: the owner; shared: also agents with a grant; public: every agent of the '
    'organisation; global: every agent of every organisation.';
COMMENT ON COLUMN mnemo.memory.memory_type IS 'episodic, semantic, procedural or working.';
COMMENT ON COLUMN mnemo.memory.content IS
    'The text; the query for a plan. NULL only after redaction.';
COMMENT ON COLUMN mnemo.memory.importance IS
    'From 0 to 1; for a plan the outcome score.';
COMMENT ON COLUMN mnemo.memory.tags IS
    'Free labels without duplicates; __experience_plan__ marks plans.';
COMMENT ON COLUMN mnemo.memory.metadata IS
    'JSON object of the caller; key experience_plan holds the payload of a plan.';
COMMENT ON COLUMN mnemo.memory.source_type IS
    'Where the text came from; human and user_input are explicit sources.';
COMMENT ON COLUMN mnemo.memory.source_id IS 'Identifier of the source; NULL when unknown.';
COMMENT ON COLUMN mnemo.memory.thread_id IS 'Conversation or run; NULL when none.';
COMMENT ON COLUMN mnemo.memory.created_by IS 'Person or service behind the agent; NULL when unknown.';
COMMENT ON COLUMN mnemo.memory.consolidation_state IS
    'raw, active, pending and consolidated are live; archived and forgotten are not.';
COMMENT ON COLUMN mnemo.memory.quarantined IS 'Held back from every recall.';
COMMENT ON COLUMN mnemo.memory.quarantine_reason IS 'Why it is held back; NULL when it is not.';
COMMENT ON COLUMN mnemo.memory.version IS 'Counts the changes of the content, from 1.';
COMMENT ON COLUMN mnemo.memory.prev_version_id IS 'Record that this one replaced; NULL for none.';
COMMENT ON COLUMN mnemo.memory.access_count IS 'How often the record was reported as used.';
COMMENT ON COLUMN mnemo.memory.created_at IS 'When the record was written.';
COMMENT ON COLUMN mnemo.memory.updated_at IS 'When any column was last changed.';
COMMENT ON COLUMN mnemo.memory.last_accessed_at IS 'When it was last reported as used; NULL for never.';
COMMENT ON COLUMN mnemo.memory.expires_at IS 'From then on invisible; NULL for never.';
COMMENT ON COLUMN mnemo.memory.deleted_at IS 'When it was deleted (softly); NULL while it lives.';
COMMENT ON COLUMN mnemo.memory.redacted_at IS 'When its text was erased; NULL while it is there.';
COMMENT ON COLUMN mnemo.memory.kind IS 'Kind of fact for retrieval plans; NULL for none.';
COMMENT ON COLUMN mnemo.memory.subject IS
    'Whom or what the fact is about, lower-cased with single spaces; NULL for none.';
COMMENT ON COLUMN mnemo.memory.predicate IS 'Canonical predicate; NULL for none.';
COMMENT ON COLUMN mnemo.memory.entities IS 'Others that the record mentions.';
COMMENT ON COLUMN mnemo.memory.aliases IS 'Other names of the subject or wordings of the fact.';
COMMENT ON COLUMN mnemo.memory.location IS 'Place of the fact; NULL for none.';
COMMENT ON COLUMN mnemo.memory.confidence IS 'From 0 to 1; NULL when unknown.';
COMMENT ON COLUMN mnemo.memory.status IS 'active, superseded or retracted.';
COMMENT ON COLUMN mnemo.memory.valid_from IS 'From when the fact holds.';
COMMENT ON COLUMN mnemo.memory.valid_to IS 'Until when the fact holds, exclusive; NULL for open.';
COMMENT ON COLUMN mnemo.memory.temporal_scope IS 'persistent, recent_history or scheduled.';
COMMENT ON COLUMN mnemo.memory.nonce IS '16 random bytes in the hash; NULL after redaction.';
COMMENT ON COLUMN mnemo.memory.content_hash IS
    'SHA-256 over the canonical encoding of what identifies the record (docs/hash-format.md).';

-- part: 225_terms.sql
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

-- part: 227_sources.sql
CREATE TABLE mnemo.chunk_state (
    org_id text NOT NULL,
    source text COLLATE "C" NOT NULL,
    chunk_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT chunk_state_pkey PRIMARY KEY (org_id, source, chunk_id),
    CONSTRAINT chunk_state_version_check CHECK (version >= 1)
)
-- A chunk that changes again is updated in place: no index has the time.
WITH (fillfactor = 80);
COMMENT ON TABLE mnemo.chunk_state IS
    'The chunks that changed: a plan that is older than the change of a chunk that it cites is '
    'stale. One row a chunk that ever changed, whatever the number of plans that cite it, and none '
    'for the others.';
COMMENT ON COLUMN mnemo.chunk_state.org_id IS 'Organisation of the chunk, and of the plans that it makes stale.';
COMMENT ON COLUMN mnemo.chunk_state.source IS
    'Where the id comes from, such as a table or a wiki; empty where nobody said.';
COMMENT ON COLUMN mnemo.chunk_state.chunk_id IS
    'Id of the chunk, one of over 1,000 bytes as sha256: and its hash; empty for every chunk of the '
    'source.';
COMMENT ON COLUMN mnemo.chunk_state.version IS 'Counts the changes, from 1.';
COMMENT ON COLUMN mnemo.chunk_state.changed_at IS
    'When the last change was reported, by the clock and not the start of the transaction.';

CREATE TABLE mnemo.plan_check (
    org_id text NOT NULL,
    plan_id uuid NOT NULL,
    checked_at timestamptz NOT NULL,
    memory_versions bigint[],
    CONSTRAINT plan_check_pkey PRIMARY KEY (org_id, plan_id),
    CONSTRAINT plan_check_plan_id_fkey FOREIGN KEY (org_id, plan_id)
        REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE
);
COMMENT ON TABLE mnemo.plan_check IS
    'Plans that somebody found to be right after a chunk that they cite had changed.';
COMMENT ON COLUMN mnemo.plan_check.org_id IS 'org_id of the plan.';
COMMENT ON COLUMN mnemo.plan_check.plan_id IS 'Id of the plan.';
COMMENT ON COLUMN mnemo.plan_check.checked_at IS 'Changes before that do not count any more.';
COMMENT ON COLUMN mnemo.plan_check.memory_versions IS
    'For each chunk id of the plan the state of the memory with that id at that time, as in the '
    'payload of the plan; NULL where it cites no memories.';

-- The planner's statistics would keep the ids after their erasure.
ALTER TABLE mnemo.chunk_state
    ALTER COLUMN source SET STATISTICS 0,
    ALTER COLUMN chunk_id SET STATISTICS 0;

-- part: 230_sharing.sql
CREATE TABLE mnemo.acl (
    org_id text NOT NULL,
    memory_id uuid NOT NULL,
    agent_id text NOT NULL,
    permission text NOT NULL,
    granted_by text NOT NULL,
    granted_at timestamptz NOT NULL,
    expires_at timestamptz,
    CONSTRAINT acl_pkey PRIMARY KEY (org_id, memory_id, agent_id),
    CONSTRAINT acl_memory_id_fkey FOREIGN KEY (org_id, memory_id)
        REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE,
    CONSTRAINT acl_agent_id_check CHECK (mnemo._is_identifier(agent_id)),
    CONSTRAINT acl_permission_check CHECK (mnemo._is_label('permission', permission))
);
CREATE INDEX acl_agent_id_idx ON mnemo.acl (org_id, agent_id);
CREATE INDEX acl_share_idx ON mnemo.acl (org_id, agent_id, memory_id)
    WHERE permission = 'share';
CREATE INDEX acl_expires_at_idx ON mnemo.acl (org_id, expires_at) WHERE expires_at IS NOT NULL;
COMMENT ON TABLE mnemo.acl IS 'Grants on single records to agents of the same organisation.';
COMMENT ON COLUMN mnemo.acl.org_id IS 'Organisation of the record and of the agent.';
COMMENT ON COLUMN mnemo.acl.memory_id IS 'The record.';
COMMENT ON COLUMN mnemo.acl.agent_id IS 'Agent that holds the grant.';
COMMENT ON COLUMN mnemo.acl.permission IS 'read, write, delete or share; each covers those before it.';
COMMENT ON COLUMN mnemo.acl.granted_by IS 'Agent that gave it.';
COMMENT ON COLUMN mnemo.acl.granted_at IS 'When it was given.';
COMMENT ON COLUMN mnemo.acl.expires_at IS 'Until when it holds, exclusive; NULL for no end.';

CREATE TABLE mnemo.delegation (
    org_id text NOT NULL,
    id uuid NOT NULL,
    from_agent_id text NOT NULL,
    to_agent_id text NOT NULL,
    permission text NOT NULL,
    memory_ids uuid[],
    tag text,
    parent_id uuid,
    max_depth integer NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    head_id uuid,
    root_agent_id text NOT NULL,
    tags text[],
    CONSTRAINT delegation_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT delegation_parent_id_fkey FOREIGN KEY (org_id, parent_id)
        REFERENCES mnemo.delegation (org_id, id) ON DELETE CASCADE,
    CONSTRAINT delegation_head_id_fkey FOREIGN KEY (org_id, head_id)
        REFERENCES mnemo.delegation (org_id, id) ON DELETE CASCADE,
    CONSTRAINT delegation_from_agent_id_check CHECK (mnemo._is_identifier(from_agent_id)),
    CONSTRAINT delegation_to_agent_id_check CHECK (
        mnemo._is_identifier(to_agent_id) AND to_agent_id <> from_agent_id
    ),
    CONSTRAINT delegation_permission_check CHECK (mnemo._is_label('permission', permission)),
    CONSTRAINT delegation_tag_check CHECK (
        tag IS NULL OR coalesce(tags @> ARRAY[tag], false)
    ),
    CONSTRAINT delegation_root_agent_id_check CHECK (
        mnemo._is_identifier(root_agent_id) AND root_agent_id <> to_agent_id
    ),
    CONSTRAINT delegation_max_depth_check CHECK (max_depth >= 0)
);
-- What an agent holds is read by every recall: one look-up, and what has ended is not visited.
CREATE INDEX delegation_active_idx ON mnemo.delegation
    (org_id, to_agent_id, root_agent_id, (coalesce(expires_at, 'infinity')))
    WHERE revoked_at IS NULL;
CREATE INDEX delegation_to_agent_id_idx ON mnemo.delegation (org_id, to_agent_id, id);
CREATE INDEX delegation_from_agent_id_idx ON mnemo.delegation (org_id, from_agent_id, id);
CREATE INDEX delegation_parent_id_idx ON mnemo.delegation (org_id, parent_id);
CREATE INDEX delegation_head_id_idx ON mnemo.delegation (org_id, head_id);
COMMENT ON TABLE mnemo.delegation IS
    'Permissions of one agent handed to another: for some records, for a tag, or for all that the '
    'giver owns or may share. A call of delegate writes one row for what the giver has itself, the '
    'head, and one for each delegation that it passes on. A row says everything about its chain: '
    'the agent whose own rights it stands on, the least permission, the earliest end. So to know '
    'what an agent holds, no chain is walked; revoking walks it once.';
COMMENT ON COLUMN mnemo.delegation.org_id IS 'Organisation of both agents.';
COMMENT ON COLUMN mnemo.delegation.id IS 'UUID of version 7.';
COMMENT ON COLUMN mnemo.delegation.from_agent_id IS 'Agent that gives.';
COMMENT ON COLUMN mnemo.delegation.to_agent_id IS 'Agent that receives.';
COMMENT ON COLUMN mnemo.delegation.permission IS 'Highest permission that is handed on.';
COMMENT ON COLUMN mnemo.delegation.memory_ids IS 'The records; NULL for any.';
COMMENT ON COLUMN mnemo.delegation.tag IS
    'Tag that the giver named; NULL when it meant ids or all.';
COMMENT ON COLUMN mnemo.delegation.parent_id IS 'Row that this one passes on; NULL for none.';
COMMENT ON COLUMN mnemo.delegation.max_depth IS 'How many times it may be passed on further.';
COMMENT ON COLUMN mnemo.delegation.created_at IS 'When it was given.';
COMMENT ON COLUMN mnemo.delegation.expires_at IS 'Until when it holds, exclusive; NULL for no end.';
COMMENT ON COLUMN mnemo.delegation.revoked_at IS 'When it was taken back; NULL while it holds.';
COMMENT ON COLUMN mnemo.delegation.head_id IS
    'For a row that passes on: the head of the same call. NULL for a head.';
COMMENT ON COLUMN mnemo.delegation.root_agent_id IS
    'Agent whose own rights it stands on: it owns the records or holds a grant share on them. The '
    'giver in a head, the first giver of the chain in the others.';
COMMENT ON COLUMN mnemo.delegation.tags IS
    'Tags that a record must have, all of them: tag, and those of what it passes on; NULL for none.';

-- The planner's statistics would keep people's words after erasure.
ALTER TABLE mnemo.delegation
    ALTER COLUMN tag SET STATISTICS 0,
    ALTER COLUMN tags SET STATISTICS 0;

-- part: 232_poisoning.sql
CREATE TABLE mnemo.poisoning_rule (
    org_id text NOT NULL,
    name text NOT NULL,
    pattern text,
    weight double precision,
    applies_to text[],
    enabled boolean NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT poisoning_rule_pkey PRIMARY KEY (org_id, name),
    CONSTRAINT poisoning_rule_org_id_check CHECK (org_id = '*' OR mnemo._is_identifier(org_id)),
    CONSTRAINT poisoning_rule_weight_check CHECK (weight BETWEEN 0 AND 1)
);
COMMENT ON TABLE mnemo.poisoning_rule IS
    'Rules of poisoning that an administrator added, changed or switched off; those built in are '
    'in _builtin_rules.';
COMMENT ON COLUMN mnemo.poisoning_rule.org_id IS
    'Organisation that the rule holds for; * for the whole database.';
COMMENT ON COLUMN mnemo.poisoning_rule.name IS
    'Name of the rule; that of a built-in rule changes it.';
COMMENT ON COLUMN mnemo.poisoning_rule.pattern IS
    'Regular expression; NULL for that of the built-in rule.';
COMMENT ON COLUMN mnemo.poisoning_rule.weight IS
    'What a hit adds, 0 to 1; NULL for the weight of the built-in rule.';
COMMENT ON COLUMN mnemo.poisoning_rule.applies_to IS
    'Source types, and plan for plans, that it is asked for; NULL for those of the built-in rule, '
    'of a rule of its own for all.';
COMMENT ON COLUMN mnemo.poisoning_rule.enabled IS 'False for a rule that is switched off.';
COMMENT ON COLUMN mnemo.poisoning_rule.updated_at IS 'When it was last set.';

CREATE INDEX memory_quarantined_idx ON mnemo.memory (org_id, origin_org_id, id)
    WHERE quarantined AND deleted_at IS NULL;

-- part: 240_events.sql
CREATE TABLE mnemo.event (
    org_id text NOT NULL,
    id uuid NOT NULL,
    agent_id text NOT NULL,
    event_type text NOT NULL,
    memory_org_id text NOT NULL,
    memory_id uuid,
    actor_org_id text NOT NULL,
    actor_agent_id text NOT NULL,
    happened_at timestamptz NOT NULL,
    content_hash bytea,
    changes jsonb NOT NULL,
    note_hash bytea,
    seq bigint,
    prev_hash bytea,
    hash bytea,
    CONSTRAINT event_pkey PRIMARY KEY (org_id, id),
    CONSTRAINT event_event_type_check CHECK (mnemo._is_label('event_type', event_type)),
    CONSTRAINT event_changes_check CHECK (jsonb_typeof(changes) = 'object'),
    CONSTRAINT event_seq_check CHECK (
        CASE WHEN seq IS NULL THEN prev_hash IS NULL AND hash IS NULL
        ELSE prev_hash IS NOT NULL AND hash IS NOT NULL END
    )
);
CREATE INDEX event_memory_id_idx ON mnemo.event (memory_org_id, memory_id, id);
CREATE INDEX event_unsealed_idx ON mnemo.event (org_id, agent_id, id) WHERE seq IS NULL;
CREATE UNIQUE INDEX event_seq_idx ON mnemo.event (org_id, agent_id, seq) WHERE seq IS NOT NULL;
COMMENT ON TABLE mnemo.event IS
    'Append-only log of every change, written in the same transaction. Ids, labels and numbers '
    'only; free text is in event_note. Sealing links events into one chain per owner.';
COMMENT ON COLUMN mnemo.event.org_id IS 'Origin organisation of the record: with agent_id the chain.';
COMMENT ON COLUMN mnemo.event.id IS 'UUID of version 7.';
COMMENT ON COLUMN mnemo.event.agent_id IS 'Owner of the record.';
COMMENT ON COLUMN mnemo.event.event_type IS 'What happened, such as memory_write or plan_write.';
COMMENT ON COLUMN mnemo.event.memory_org_id IS 'org_id of the record: * for global ones.';
COMMENT ON COLUMN mnemo.event.memory_id IS 'Id of the record; NULL for an event about none.';
COMMENT ON COLUMN mnemo.event.actor_org_id IS 'Organisation of the acting agent.';
COMMENT ON COLUMN mnemo.event.actor_agent_id IS 'Agent that acted.';
COMMENT ON COLUMN mnemo.event.happened_at IS 'Start of the transaction that acted.';
COMMENT ON COLUMN mnemo.event.content_hash IS 'The record''s content_hash at that time.';
COMMENT ON COLUMN mnemo.event.changes IS
    'The columns that the event set: labels, numbers, times in microseconds since 1970 UTC.';
COMMENT ON COLUMN mnemo.event.note_hash IS 'Salted SHA-256 of the note in event_note; NULL for none.';
COMMENT ON COLUMN mnemo.event.seq IS 'Place in the chain, from 1; NULL until sealed.';
COMMENT ON COLUMN mnemo.event.prev_hash IS 'hash of the event before in the chain; NULL until sealed.';
COMMENT ON COLUMN mnemo.event.hash IS 'SHA-256 over prev_hash and this event; NULL until sealed.';

CREATE TABLE mnemo.event_note (
    org_id text NOT NULL,
    event_id uuid NOT NULL,
    salt bytea NOT NULL,
    note text NOT NULL,
    CONSTRAINT event_note_pkey PRIMARY KEY (org_id, event_id),
    CONSTRAINT event_note_event_id_fkey FOREIGN KEY (org_id, event_id)
        REFERENCES mnemo.event (org_id, id) ON DELETE CASCADE
);
COMMENT ON TABLE mnemo.event_note IS
    'Free text of events, apart so that it can be erased without breaking the chain.';
COMMENT ON COLUMN mnemo.event_note.org_id IS 'org_id of the event.';
COMMENT ON COLUMN mnemo.event_note.event_id IS 'Id of the event.';
COMMENT ON COLUMN mnemo.event_note.salt IS '16 random bytes before the note in note_hash.';
COMMENT ON COLUMN mnemo.event_note.note IS 'The text.';

CREATE TABLE mnemo.chain_head (
    org_id text NOT NULL,
    agent_id text NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    anchor_seq bigint NOT NULL DEFAULT 0,
    anchor_hash bytea,
    sealed_at timestamptz NOT NULL,
    CONSTRAINT chain_head_pkey PRIMARY KEY (org_id, agent_id),
    CONSTRAINT chain_head_seq_check CHECK (seq >= anchor_seq AND anchor_seq >= 0)
);
COMMENT ON TABLE mnemo.chain_head IS 'Last sealed event of each chain.';
COMMENT ON COLUMN mnemo.chain_head.org_id IS 'Origin organisation of the chain.';
COMMENT ON COLUMN mnemo.chain_head.agent_id IS 'Agent of the chain.';
COMMENT ON COLUMN mnemo.chain_head.seq IS 'seq of the last sealed event.';
COMMENT ON COLUMN mnemo.chain_head.hash IS 'hash of the last sealed event.';
COMMENT ON COLUMN mnemo.chain_head.anchor_seq IS
    'seq of the last event that retention removed; 0 while none was.';
COMMENT ON COLUMN mnemo.chain_head.anchor_hash IS 'hash of that event; NULL while none was removed.';
COMMENT ON COLUMN mnemo.chain_head.sealed_at IS 'When the chain was last sealed.';

CREATE TABLE mnemo.idempotency (
    org_id text NOT NULL,
    agent_id text NOT NULL,
    key text NOT NULL,
    memory_org_id text NOT NULL,
    memory_id uuid NOT NULL,
    CONSTRAINT idempotency_pkey PRIMARY KEY (org_id, agent_id, key)
);
CREATE INDEX idempotency_memory_id_idx ON mnemo.idempotency (memory_org_id, memory_id);
COMMENT ON TABLE mnemo.idempotency IS
    'Which record answered an idempotency key of an owner. The key is claimed before the record is '
    'written, so that two callers cannot both write: hence no foreign key. Without its record a key '
    'is free again.';
COMMENT ON COLUMN mnemo.idempotency.org_id IS 'Origin organisation of the owner.';
COMMENT ON COLUMN mnemo.idempotency.agent_id IS 'Agent that owns the key.';
COMMENT ON COLUMN mnemo.idempotency.key IS 'The caller''s key, compared exactly.';
COMMENT ON COLUMN mnemo.idempotency.memory_org_id IS 'org_id of the record.';
COMMENT ON COLUMN mnemo.idempotency.memory_id IS 'Id of the record.';

-- The planner's statistics of these columns would keep people's words after erasure, or the salt
-- that hides them.
ALTER TABLE mnemo.event_note
    ALTER COLUMN note SET STATISTICS 0,
    ALTER COLUMN salt SET STATISTICS 0;
ALTER TABLE mnemo.idempotency ALTER COLUMN key SET STATISTICS 0;

-- part: 250_plan_signature.sql
CREATE TABLE mnemo.plan_signature (
    org_id text NOT NULL,
    plan_id uuid NOT NULL,
    audience bigint NOT NULL,
    context text,
    signature text[] NOT NULL,
    size integer NOT NULL,
    digest bigint NOT NULL,
    sketch bit varying NOT NULL,
    keys bigint[] NOT NULL,
    guard_meaning bigint NOT NULL,
    guard_values bigint NOT NULL,
    guard_names text[] NOT NULL,
    outcome_score double precision NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    grantee_agent_id text,
    signature_version integer NOT NULL,
    guard_version integer NOT NULL,
    CONSTRAINT plan_signature_pkey PRIMARY KEY (org_id, plan_id, audience),
    CONSTRAINT plan_signature_plan_id_fkey FOREIGN KEY (org_id, plan_id)
        REFERENCES mnemo.memory (org_id, id) ON DELETE CASCADE,
    CONSTRAINT plan_signature_size_check CHECK (size = cardinality(signature) AND size >= 1)
);
-- Each look-up has one condition that one index alone can serve: the audience, and with it the
-- organisation, is mixed into it. So no statistics can lead the planner elsewhere.
CREATE INDEX plan_signature_digest_idx ON mnemo.plan_signature
    ((audience # digest), outcome_score DESC, created_at DESC, plan_id DESC);
CREATE INDEX plan_signature_guard_idx ON mnemo.plan_signature
    ((audience # digest # guard_meaning # guard_values), outcome_score DESC, created_at DESC,
     plan_id DESC);
-- A pending list would be searched row by row by every recall and flushed inside somebody's call.
CREATE INDEX plan_signature_keys_idx ON mnemo.plan_signature USING gin (keys)
    WITH (fastupdate = off);
COMMENT ON TABLE mnemo.plan_signature IS
    'What recall matches on: one row for each live plan and audience, derived from the payload in '
    'memory.metadata. A grant adds a row for its agent, so that a caller always probes the same '
    'few audiences however many plans others hold.';
COMMENT ON COLUMN mnemo.plan_signature.org_id IS 'org_id of the plan.';
COMMENT ON COLUMN mnemo.plan_signature.plan_id IS 'Id of the plan in memory.';
COMMENT ON COLUMN mnemo.plan_signature.audience IS
    'Hash of who can see the row (owner, grantee, organisation or everyone) and of the context.';
COMMENT ON COLUMN mnemo.plan_signature.context IS 'What the plan depends on; NULL for nothing.';
COMMENT ON COLUMN mnemo.plan_signature.signature IS 'Sorted tokens of the query.';
COMMENT ON COLUMN mnemo.plan_signature.size IS 'Number of tokens.';
COMMENT ON COLUMN mnemo.plan_signature.digest IS 'Hash of the signature.';
COMMENT ON COLUMN mnemo.plan_signature.sketch IS
    'Bitmap of the tokens'' hashes: a cheap test before scoring.';
COMMENT ON COLUMN mnemo.plan_signature.keys IS 'Lookup keys of the prefix, see _plan_keys.';
COMMENT ON COLUMN mnemo.plan_signature.guard_meaning IS
    'Digest of what the guard reads as meaning; 0 for nothing.';
COMMENT ON COLUMN mnemo.plan_signature.guard_values IS
    'Digest of the values that the guard reads, names aside; 0 for nothing.';
COMMENT ON COLUMN mnemo.plan_signature.guard_names IS 'Names that the guard reads, in lower case.';
COMMENT ON COLUMN mnemo.plan_signature.guard_version IS 'Version of the guard''s rules and lists.';
COMMENT ON COLUMN mnemo.plan_signature.outcome_score IS 'Outcome score of the plan, 0 to 1.';
COMMENT ON COLUMN mnemo.plan_signature.created_at IS 'When the plan was written.';
COMMENT ON COLUMN mnemo.plan_signature.expires_at IS
    'Until when the row counts: the end of the plan or of the grant, whichever is first; NULL for '
    'no end.';
COMMENT ON COLUMN mnemo.plan_signature.grantee_agent_id IS
    'Agent that the row was added for by a grant; NULL for the plan''s own audience.';
COMMENT ON COLUMN mnemo.plan_signature.signature_version IS 'Version of the signature rules.';

-- The planner's statistics of what is made of people's words would confirm a guess after erasure.
ALTER TABLE mnemo.plan_signature
    ALTER COLUMN context SET STATISTICS 0,
    ALTER COLUMN signature SET STATISTICS 0,
    ALTER COLUMN digest SET STATISTICS 0,
    ALTER COLUMN sketch SET STATISTICS 0,
    ALTER COLUMN keys SET STATISTICS 0,
    ALTER COLUMN guard_meaning SET STATISTICS 0,
    ALTER COLUMN guard_values SET STATISTICS 0,
    ALTER COLUMN guard_names SET STATISTICS 0;
ALTER INDEX mnemo.plan_signature_digest_idx ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX mnemo.plan_signature_guard_idx ALTER COLUMN 1 SET STATISTICS 0;

-- part: 259_vector_models.sql
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

-- part: 260_plan_view.sql
CREATE VIEW mnemo._plan AS
SELECT m.id,
       m.org_id,
       m.origin_org_id,
       m.agent_id AS owner_agent_id,
       m.scope,
       m.metadata #>> '{experience_plan,query}' AS query,
       ARRAY(
           SELECT jsonb_array_elements_text(m.metadata #> '{experience_plan,signature_tokens}')
       ) AS signature_tokens,
       ARRAY(SELECT jsonb_array_elements_text(m.metadata #> '{experience_plan,steps}')) AS steps,
       nullif(m.metadata #> '{experience_plan,details}', 'null') AS details,
       ARRAY(
           SELECT jsonb_array_elements_text(m.metadata #> '{experience_plan,chunk_ids}')
       ) AS chunk_ids,
       (m.metadata #>> '{experience_plan,outcome_score}')::double precision AS outcome_score,
       m.metadata #>> '{experience_plan,context}' AS context,
       array_remove(m.tags, '__experience_plan__') AS tags,
       m.thread_id,
       m.source_id,
       m.consolidation_state,
       m.version,
       m.created_at,
       m.updated_at,
       m.expires_at,
       jsonb_array_length(m.metadata #> '{experience_plan,signature_tokens}')::bigint
           AS signature_size,
       m.quarantined,
       m.deleted_at,
       m.content_hash
  FROM mnemo.memory AS m
 WHERE m.tags @> ARRAY['__experience_plan__'];
COMMENT ON VIEW mnemo._plan IS
    'The plans as typed columns, for the functions; mnemo.plan says what they mean.';
COMMENT ON COLUMN mnemo._plan.id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.org_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.origin_org_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.owner_agent_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.scope IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.query IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.signature_tokens IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.steps IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.details IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.chunk_ids IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.outcome_score IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.context IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.tags IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.thread_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.source_id IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.consolidation_state IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.version IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.created_at IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.updated_at IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.expires_at IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.signature_size IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.quarantined IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.deleted_at IS 'As in mnemo.plan.';
COMMENT ON COLUMN mnemo._plan.content_hash IS 'As in mnemo.plan.';

CREATE FUNCTION mnemo._plan_of(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo._plan
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
-- A look-up by key also in a session that made its plan while the table was empty. What is switched
-- off counts as dear before PostgreSQL 18, so compilation must be off too.
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY SELECT p.* FROM mnemo._plan AS p WHERE p.org_id = p_org_id AND p.id = p_id;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_of(text, uuid) IS
    'The plan with this key as typed columns; no row for a memory or an unknown id.';

CREATE TYPE mnemo._plan_answer AS (
    id uuid,
    query text,
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    owner_agent_id text,
    scope text,
    created_at timestamptz
);
COMMENT ON TYPE mnemo._plan_answer IS 'What a recall shows of a plan.';

CREATE FUNCTION mnemo._answer(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo._plan_answer
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT m.id, m.content, p.steps, nullif(p.details, 'null'), p.chunk_ids, p.outcome_score,
           m.agent_id, m.scope, m.created_at
      FROM (
        SELECT k.*
          FROM mnemo.memory AS k
         WHERE k.org_id = p_org_id AND k.id = p_id
        OFFSET 0
      ) AS m
      CROSS JOIN LATERAL jsonb_to_record(m.metadata -> 'experience_plan') AS p(
        steps text[], details jsonb, chunk_ids text[], outcome_score double precision);
END;
COMMENT ON FUNCTION mnemo._answer(text, uuid) IS
    'What a recall shows of the plan with this key; no row for an unknown id.';

CREATE FUNCTION mnemo._answer_of(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo._plan_answer
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
-- As in _plan_of.
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY SELECT a.* FROM mnemo._answer(p_org_id, p_id) AS a;
END
$fn$;
COMMENT ON FUNCTION mnemo._answer_of(text, uuid) IS
    'As _answer, a look-up by key whatever the planner knows of the table.';

-- part: 300_identity.sql
CREATE FUNCTION mnemo._effective_role() RETURNS name
LANGUAGE sql STABLE PARALLEL RESTRICTED
-- Not current_user: inside a SECURITY DEFINER function that is the owner of the function. Not in a
-- parallel worker: some minor versions do not tell it the role (CVE-2024-10978).
RETURN CASE current_setting('role') WHEN 'none' THEN session_user
    ELSE current_setting('role')::name END;
COMMENT ON FUNCTION mnemo._effective_role() IS
    'The role that SET ROLE chose, else the role of the session.';

CREATE FUNCTION mnemo._owner() RETURNS oid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT n.nspowner FROM pg_namespace AS n WHERE n.nspname = 'mnemo');
COMMENT ON FUNCTION mnemo._owner() IS 'The role that owns the schema.';

CREATE FUNCTION mnemo._level_of(
    p_role name
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_found record;
BEGIN
    SELECT pg_has_role(p_role, n.nspowner, 'USAGE') AS as_owner, n.nspowner,
           (SELECT min(array_position(ARRAY['tenant', 'application', 'admin'], l.level))
              FROM mnemo.role_level AS l
             WHERE pg_has_role(p_role, to_regrole(quote_ident(l.role_name))::oid, 'USAGE')) AS place
      INTO v_found
      FROM pg_namespace AS n
     WHERE n.nspname = 'mnemo';
    -- A superuser has every role, and so every row.
    IF v_found.as_owner AND (
        SELECT r.rolsuper OR r.oid = v_found.nspowner FROM pg_roles AS r WHERE r.rolname = p_role)
    THEN
        RETURN 'admin';
    END IF;
    RETURN coalesce(
        (ARRAY['tenant', 'application', 'admin'])[v_found.place],
        CASE WHEN v_found.as_owner THEN 'admin' END
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._level_of(name) IS
    'The level that counts for a role: its own or an inherited row, the most restrictive where '
    'several are reached; superusers and the owner are admin; NULL for no row.';

CREATE FUNCTION mnemo._level() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
AS $fn$
DECLARE
    v_role name := mnemo._effective_role();
    v_level text := mnemo._level_of(v_role);
BEGIN
    IF v_level IS NULL THEN
        PERFORM mnemo._raise_access(
            format('role %I has no level in mnemo_pg', v_role),
            jsonb_build_object('role', v_role),
            format('an administrator runs: SELECT mnemo.grant_access(%L, ''application'')', v_role)
        );
    ELSIF v_level = 'tenant' AND mnemo._bound_orgs(v_role) IS NULL THEN
        PERFORM mnemo._raise_access(
            format('role %I is a tenant without a binding', v_role),
            jsonb_build_object('role', v_role),
            format('an administrator runs: SELECT mnemo.bind_role(%L, organisation)', v_role)
        );
    END IF;
    RETURN v_level;
END
$fn$;
COMMENT ON FUNCTION mnemo._level() IS
    'The level of the calling role. Raises 42501 for a role without one, and for a tenant without a '
    'binding.';

CREATE FUNCTION mnemo._identify(
    p_level text,
    p_agent_id text,
    p_org_id text,
    OUT org_id text,
    OUT agent_id text,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
AS $fn$
DECLARE
    v_bound record;
BEGIN
    IF p_level = 'tenant' THEN
        SELECT * INTO v_bound FROM mnemo._bound(mnemo._effective_role(), p_agent_id, p_org_id);
        org_id := v_bound.org_id;
        agent_id := v_bound.agent_id;
        problem := v_bound.problem;
    ELSE
        org_id := coalesce(p_org_id, mnemo._setting('default_org_id', NULL));
        agent_id := coalesce(p_agent_id, mnemo._setting('default_agent_id', org_id));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._identify(text, text, text) IS
    'The acting organisation and agent with binding and defaults filled in, their form not yet '
    'checked; problem 42501 for a tenant outside its binding.';

CREATE FUNCTION mnemo._bound_orgs(
    p_role name
)
RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN (
        SELECT array_agg(DISTINCT b.org_id)
          FROM mnemo.role_binding AS b
          JOIN pg_roles AS g ON g.rolname = b.role_name
         WHERE pg_has_role(p_role, g.oid, 'USAGE')
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._bound_orgs(name) IS
    'The organisations that a role is bound to, by itself or by inheritance; NULL for none.';

CREATE FUNCTION mnemo._bound_org(
    p_role name,
    p_org_id text,
    OUT org_id text,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_orgs text[] := mnemo._bound_orgs(p_role);
BEGIN
    org_id := coalesce(p_org_id, v_orgs[1]);
    IF p_org_id IS NULL AND cardinality(v_orgs) > 1 THEN
        problem := mnemo._argument('p_org_id',
            format('p_org_id must be named: role %I is bound to %s organisations',
                p_role, cardinality(v_orgs)),
            'name the organisation that you act in');
    ELSIF (org_id = ANY (v_orgs)) IS NOT TRUE THEN
        problem := mnemo._access(
            format('role %I is not bound to organisation %s', p_role, mnemo._shown(p_org_id)),
            'p_org_id', 'leave p_org_id out, or have an administrator bind the role');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._bound_org(name, text) IS
    'The organisation that a tenant acts in: the named one if it is bound to it, its only one where '
    'unnamed. Problem 42501 outside the bindings, 22023 where several fit and none is named.';

CREATE FUNCTION mnemo._bound(
    p_role name,
    p_agent_id text,
    p_org_id text,
    OUT org_id text,
    OUT agent_id text,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_org record;
    v_agents text[];
    v_any boolean;
BEGIN
    SELECT * INTO v_org FROM mnemo._bound_org(p_role, p_org_id);
    org_id := v_org.org_id;
    problem := v_org.problem;
    IF problem.code IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(DISTINCT b.agent_id) FILTER (WHERE b.agent_id IS NOT NULL),
           bool_or(b.agent_id IS NULL)
      INTO v_agents, v_any
      FROM mnemo.role_binding AS b
      JOIN pg_roles AS g ON g.rolname = b.role_name
     WHERE pg_has_role(p_role, g.oid, 'USAGE') AND b.org_id = _bound.org_id;
    IF v_any THEN
        agent_id := coalesce(p_agent_id, mnemo._setting('default_agent_id', org_id));
        RETURN;
    END IF;
    agent_id := coalesce(p_agent_id, v_agents[1]);
    IF p_agent_id IS NULL AND cardinality(v_agents) > 1 THEN
        problem := mnemo._argument('p_agent_id',
            format('p_agent_id must be named: role %I is bound to %s agents',
                p_role, cardinality(v_agents)),
            'name the agent that you act as');
    ELSIF agent_id <> ALL (v_agents) THEN
        problem := mnemo._access(
            format('role %I is not bound to agent %s', p_role, mnemo._shown(p_agent_id)),
            'p_agent_id', 'leave p_agent_id out, or have an administrator bind the role');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._bound(name, text, text) IS
    'The organisation and agent that a tenant acts for: those named if its bindings allow them, '
    'those of its only binding where unnamed. Problem 42501 outside the bindings, 22023 where '
    'several fit and none is named.';

CREATE FUNCTION mnemo._enter(
    p_agent_id text,
    p_org_id text,
    OUT level text,
    OUT org_id text,
    OUT agent_id text
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
AS $fn$
DECLARE
    v_identity record;
BEGIN
    level := mnemo._level();
    v_identity := mnemo._identify(level, p_agent_id, p_org_id);
    IF (v_identity.problem).code IS NOT NULL THEN
        PERFORM mnemo._raise_problem(v_identity.problem);
    END IF;
    org_id := v_identity.org_id;
    agent_id := v_identity.agent_id;
END
$fn$;
COMMENT ON FUNCTION mnemo._enter(text, text) IS
    'Who calls: level, organisation and agent, their form not yet checked. Raises 42501 for a role '
    'without a level and for a tenant outside its binding.';

CREATE FUNCTION mnemo._identity_problem(
    p_agent_id text,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    IF NOT mnemo._is_identifier(p_org_id) THEN
        RETURN mnemo._identifier_problem('p_org_id', p_org_id);
    ELSIF NOT mnemo._is_identifier(p_agent_id) THEN
        RETURN mnemo._identifier_problem('p_agent_id', p_agent_id);
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._identity_problem(text, text) IS
    'The problem of an ill-formed agent or organisation (the reserved * included); NULL for none.';

CREATE FUNCTION mnemo._check_identity(
    p_agent_id text,
    p_org_id text
)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise_problem(mnemo._identity_problem(p_agent_id, p_org_id));
COMMENT ON FUNCTION mnemo._check_identity(text, text) IS
    'Raises 22023 unless both are well formed; the reserved organisation * is not.';

CREATE FUNCTION mnemo._caller(
    p_agent_id text,
    p_org_id text,
    OUT level text,
    OUT org_id text,
    OUT agent_id text
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
AS $fn$
BEGIN
    SELECT e.level, e.org_id, e.agent_id INTO level, org_id, agent_id
      FROM mnemo._enter(p_agent_id, p_org_id) AS e;
    PERFORM mnemo._check_identity(agent_id, org_id);
END
$fn$;
COMMENT ON FUNCTION mnemo._caller(text, text) IS
    'Who calls, as _enter gives it, with the form of both names checked (22023).';

CREATE FUNCTION mnemo._require_admin() RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF mnemo._level_of(mnemo._effective_role()) IS DISTINCT FROM 'admin' THEN
        PERFORM mnemo._raise_access(
            format('role %I is not an administrator of mnemo_pg', mnemo._effective_role()),
            jsonb_build_object('role', mnemo._effective_role()),
            'ask the owner of schema mnemo or a role of level admin'
        );
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_admin() IS 'Raises 42501 unless the caller has level admin.';

-- part: 305_tenants.sql
CREATE FUNCTION mnemo._is_temporary(
    p_catalog oid,
    p_object oid
)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT
          FROM pg_namespace AS n
         WHERE n.nspname ~ '^pg_(toast_)?temp_'
           AND n.oid = CASE p_catalog
                WHEN 'pg_class'::regclass THEN
                    (SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = p_object)
                WHEN 'pg_proc'::regclass THEN
                    (SELECT p.pronamespace FROM pg_proc AS p WHERE p.oid = p_object)
                WHEN 'pg_type'::regclass THEN
                    (SELECT t.typnamespace FROM pg_type AS t WHERE t.oid = p_object)
               END
    );
END;
COMMENT ON FUNCTION mnemo._is_temporary(oid, oid) IS
    'Whether a table, function or type lives in a session''s temporary schema, where only that '
    'session meets it.';

CREATE FUNCTION mnemo._tenant_obstacle(
    p_role oid
)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
-- Who can create objects could plant code that runs in somebody else's connection; who can become
-- another role is not bound at all. So each role that this one can SET ROLE to is looked at.
BEGIN ATOMIC
    SELECT x.obstacle
      FROM (
        SELECT 1 AS place,
               'is or can become superuser, may create roles, or may replicate'::text AS obstacle
          FROM pg_roles AS r
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication)
        UNION ALL
        SELECT 2 AS place, 'can become the owner of schema mnemo'::text AS obstacle
         WHERE pg_has_role(p_role, mnemo._owner(), 'MEMBER')
        UNION ALL
        SELECT 3 AS place, format('can become role %I of level %s', l.role_name, l.level) AS obstacle
          FROM mnemo.role_level AS l
          JOIN pg_roles AS r ON r.rolname = l.role_name
         WHERE l.level <> 'tenant' AND r.oid <> p_role AND pg_has_role(p_role, r.oid, 'MEMBER')
        UNION ALL
        SELECT 4 AS place, format('is a member of %I', r.rolname) AS obstacle
          FROM pg_roles AS r
         WHERE r.rolname IN (
                'pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files',
                'pg_write_server_files', 'pg_execute_server_program',
                -- The texts of other sessions' statements hold their plans.
                'pg_monitor', 'pg_read_all_stats')
           AND pg_has_role(p_role, r.oid, 'MEMBER')
        UNION ALL
        SELECT 5 AS place, format('has CREATE on database %I', d.datname) AS obstacle
          FROM pg_roles AS r
          JOIN pg_database AS d ON d.datname = current_database()
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND has_database_privilege(r.oid, d.oid, 'CREATE')
        UNION ALL
        SELECT 6 AS place, format('has CREATE on schema %I', n.nspname) AS obstacle
          FROM pg_roles AS r
          CROSS JOIN pg_namespace AS n
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND n.nspname !~ '^pg_(toast_)?temp_'
           AND has_schema_privilege(r.oid, n.oid, 'CREATE')
        UNION ALL
        SELECT 7 AS place, format('owns objects in database %I', d.datname) AS obstacle
          FROM pg_shdepend AS s
          JOIN pg_database AS d ON d.oid = s.dbid
         WHERE d.datname = current_database()
           AND s.deptype = 'o'
           AND s.refclassid = 'pg_authid'::regclass
           AND pg_has_role(p_role, s.refobjid, 'MEMBER')
           AND NOT mnemo._is_temporary(s.classid, s.objid)
        UNION ALL
        -- A trigger may call a function of pg_temp, where everybody may create one.
        SELECT 8 AS place, format('has TRIGGER on %I.%I', n.nspname, c.relname) AS obstacle
          FROM pg_roles AS r
          CROSS JOIN pg_class AS c
          JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND c.relkind IN ('r', 'p', 'v', 'f')
           AND n.nspname !~ '^pg_(toast_)?temp_'
           AND has_table_privilege(r.oid, c.oid, 'TRIGGER')
        UNION ALL
        SELECT 9 AS place, format('has privileges on %I.%I', n.nspname, c.relname) AS obstacle
          FROM pg_roles AS r
          CROSS JOIN pg_class AS c
          JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE pg_has_role(p_role, r.oid, 'MEMBER')
           AND n.nspname = 'mnemo' AND c.relkind IN ('r', 'v')
           AND (has_any_column_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
                OR has_table_privilege(r.oid, c.oid, 'DELETE, TRUNCATE'))
      ) AS x
     ORDER BY x.place, x.obstacle
     LIMIT 1;
END;
COMMENT ON FUNCTION mnemo._tenant_obstacle(oid) IS
    'Why a role must not be a tenant: it could act outside its binding; NULL when nothing speaks '
    'against it.';

CREATE FUNCTION mnemo._check_tenants(
    p_role oid
)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_role text;
    v_obstacle text;
BEGIN
    SELECT r.rolname, mnemo._tenant_obstacle(r.oid) INTO v_role, v_obstacle
      FROM pg_roles AS r
     WHERE NOT r.rolsuper
       AND pg_has_role(r.oid, p_role, 'MEMBER')
       AND mnemo._level_of(r.rolname) = 'tenant'
       AND mnemo._tenant_obstacle(r.oid) IS NOT NULL
     LIMIT 1;
    IF v_role IS NOT NULL THEN
        PERFORM mnemo._raise_access(
            format('role %I cannot be a tenant: it %s', v_role, v_obstacle),
            jsonb_build_object('role', v_role, 'obstacle', v_obstacle),
            'revoke that privilege, membership or ownership first'
        );
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._check_tenants(oid) IS
    'Raises 42501 if the role, or a member of it, is of level tenant, by itself or by inheritance, '
    'and could act outside its binding.';

-- part: 310_roles_admin.sql
CREATE FUNCTION mnemo._admin_functions() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'configure', 'grant_access', 'revoke_access', 'bind_role', 'unbind_role',
    'export_records', 'import_records', 'read_events', 'seal', 'retain_events', 'chain_heads',
    'sweep',
    'health', 'rebuild_signatures', 'enable_vectors', 'disable_vectors', 'refresh_models',
    'release', 'purge', 'set_poisoning_rule', 'remove_poisoning_rule', 'poisoning_rules'
];
COMMENT ON FUNCTION mnemo._admin_functions() IS
    'The public functions that only level admin may call; every level may call the others.';

CREATE FUNCTION mnemo._role_oid(
    p_role text
)
RETURNS oid
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_oid oid := (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = p_role);
BEGIN
    IF v_oid IS NULL THEN
        PERFORM mnemo._raise_argument('p_role',
            'p_role must be the name of an existing role; got ' || mnemo._shown(p_role),
            'create the role first: CREATE ROLE ...');
    END IF;
    RETURN v_oid;
END
$fn$;
COMMENT ON FUNCTION mnemo._role_oid(text) IS 'The number of a role; raises 22023 if there is none.';

CREATE FUNCTION mnemo._revoke_all(
    p_role text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_type name;
BEGIN
    EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA mnemo FROM %I CASCADE', p_role);
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA mnemo FROM %I CASCADE', p_role);
    EXECUTE format('REVOKE ALL ON SCHEMA mnemo FROM %I CASCADE', p_role);
    -- Not the row types of tables: a dump never carries their privileges.
    FOR v_type IN
        SELECT t.typname
          FROM pg_type AS t
          JOIN pg_namespace AS n ON n.oid = t.typnamespace
          JOIN pg_class AS c ON c.oid = t.typrelid
         WHERE n.nspname = 'mnemo' AND c.relkind = 'c'
    LOOP
        EXECUTE format('REVOKE ALL ON TYPE mnemo.%I FROM %I CASCADE', v_type, p_role);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._revoke_all(text) IS 'Takes every privilege in schema mnemo from a role, or from PUBLIC (public).';

CREATE FUNCTION mnemo._grant_level(
    p_role text,
    p_level text,
    p_kept text[] DEFAULT '{}'
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_object text;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA mnemo TO %I', p_role);
    FOR v_object IN
        SELECT format('EXECUTE ON FUNCTION %I.%I(%s)',
                   n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))
          FROM pg_proc AS p
          JOIN pg_namespace AS n ON n.oid = p.pronamespace
         WHERE n.nspname = 'mnemo'
           AND CASE WHEN p.proname = '_is_admin' THEN p_level = 'admin'
                WHEN p.proname = '_chunk_table_changed' THEN p_level <> 'tenant'
                WHEN left(p.proname, 1) = '_' THEN false
                ELSE p_level = 'admin' OR p.proname <> ALL (mnemo._admin_functions()) END
           AND 'function' || p.oid <> ALL (p_kept)
        UNION ALL
        SELECT format('SELECT ON %I.%I', n.nspname, c.relname)
          FROM pg_class AS c
          JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = 'mnemo' AND c.relname IN ('plan', 'stats', 'agent_stats')
           AND p_level = 'admin'
           AND 'table' || c.oid <> ALL (p_kept)
         ORDER BY 1
    LOOP
        EXECUTE format('GRANT %s TO %I', v_object, p_role);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._grant_level(text, text, text[]) IS
    'Gives a role the privileges of a level. p_kept: objects to leave as they are, each as function '
    'or table and its number; an update leaves what was there before.';

CREATE FUNCTION mnemo.grant_access(
    p_role text,
    p_level text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_oid oid;
BEGIN
    PERFORM mnemo._require_admin();
    v_oid := mnemo._role_oid(p_role);
    PERFORM mnemo._check_label('p_level', 'level', p_level);
    IF v_oid = mnemo._owner() OR (SELECT r.rolsuper FROM pg_roles AS r WHERE r.oid = v_oid) THEN
        PERFORM mnemo._raise_argument('p_role',
            format('role %I is a superuser or the owner and always counts as admin', p_role),
            'grant a level to the role that the application logs in with');
    END IF;
    INSERT INTO mnemo.role_level AS l (role_name, level)
    VALUES (p_role, p_level)
    ON CONFLICT (role_name) DO UPDATE SET level = excluded.level, granted_at = now();
    -- A dump restored without privileges leaves functions open to PUBLIC.
    PERFORM mnemo._revoke_all('public');
    PERFORM mnemo._revoke_all(p_role);
    PERFORM mnemo._check_tenants(v_oid);
    PERFORM mnemo._grant_level(p_role, p_level);
END
$fn$;
COMMENT ON FUNCTION mnemo.grant_access(text, text) IS
    'Gives a role a level: application (may name any agent and organisation), tenant (only what '
    'bind_role binds it to) or admin. Replaces the level it had. Level admin only. Errors: 42501 '
    'not an administrator, or a role that could act outside its binding would be a tenant; 22023 '
    'unknown role or level, a superuser, the owner.';

CREATE FUNCTION mnemo.revoke_access(
    p_role text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    IF p_role IS NULL OR NOT EXISTS (
        SELECT FROM mnemo.role_level AS l WHERE l.role_name = p_role
    ) THEN
        PERFORM mnemo._role_oid(p_role);
    END IF;
    DELETE FROM mnemo.role_level AS l WHERE l.role_name = p_role;
    DELETE FROM mnemo.role_binding AS b WHERE b.role_name = p_role;
    -- The role may be gone already; its rows must be removable all the same.
    IF EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = p_role AND r.oid <> mnemo._owner()) THEN
        PERFORM mnemo._revoke_all(p_role);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.revoke_access(text) IS
    'Takes level, bindings and privileges from a role; works for a dropped role too. Level admin '
    'only. Errors: 42501 not an administrator; 22023 unknown role.';

CREATE FUNCTION mnemo.bind_role(
    p_role text,
    p_org_id text,
    p_agent_id text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_oid oid;
BEGIN
    PERFORM mnemo._require_admin();
    v_oid := mnemo._role_oid(p_role);
    PERFORM mnemo._check_identity(coalesce(p_agent_id, 'any'), p_org_id);
    INSERT INTO mnemo.role_binding (org_id, role_name, agent_id)
    VALUES (p_org_id, p_role, p_agent_id)
    ON CONFLICT (org_id, role_name, agent_id) DO NOTHING;
    PERFORM mnemo._check_tenants(v_oid);
END
$fn$;
COMMENT ON FUNCTION mnemo.bind_role(text, text, text) IS
    'Binds a role to an organisation and to one agent, or to any agent when p_agent_id is NULL. '
    'Counts for level tenant; several bindings add up. Level admin only. Errors: 42501 not an '
    'administrator, or a tenant could act outside its binding; 22023 unknown role, ill-formed name.';

CREATE FUNCTION mnemo.unbind_role(
    p_role text,
    p_org_id text,
    p_agent_id text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._check_identity(coalesce(p_agent_id, 'any'), p_org_id);
    DELETE FROM mnemo.role_binding AS b
     WHERE b.org_id = p_org_id AND b.role_name = p_role
       AND b.agent_id IS NOT DISTINCT FROM p_agent_id;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_argument('p_role',
            format('there is no such binding of role %s', mnemo._shown(p_role)),
            'name role, organisation and agent as bind_role was given them');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.unbind_role(text, text, text) IS
    'Takes back exactly one binding made by bind_role. Level admin only. Errors: 42501 not an '
    'administrator; 22023 no such binding, ill-formed name.';

-- part: 320_settings_admin.sql
CREATE FUNCTION mnemo._setting_problem(
    p_name text,
    p_value text,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_name IN ('similarity_threshold', 'minimum_threshold', 'success_threshold') THEN
        IF p_value COLLATE "C" !~ '^(0([.][0-9]{1,15})?|1([.]0{1,15})?)$' THEN
            RETURN mnemo._argument('p_value',
                format('%s must be a number from 0 to 1; got %s', p_name, mnemo._shown(p_value)),
                'write it as a decimal, such as 0.7');
        END IF;
        IF p_name = 'minimum_threshold' AND p_value::numeric = 0 THEN
            RETURN mnemo._argument('p_value', 'minimum_threshold must be above 0',
                'a threshold of 0 would make every plan a hit');
        END IF;
    ELSIF p_name = 'experience_memory' THEN
        IF p_value NOT IN ('on', 'off') THEN
            RETURN mnemo._argument('p_value',
                'experience_memory must be on or off; got ' || mnemo._shown(p_value),
                'SELECT mnemo.configure(''experience_memory'', ''on'')');
        END IF;
    ELSIF p_name = 'purge_after' THEN
        IF p_value COLLATE "C" !~ '^(never|[0-9]{1,6} (minutes|hours|days))$' THEN
            RETURN mnemo._argument('p_value',
                'purge_after must be never or a time like 30 days; got ' || mnemo._shown(p_value),
                'write a whole number of minutes, hours or days: 30 days');
        END IF;
    ELSIF p_name = 'guard' THEN
        RETURN mnemo._label_problem('p_value', 'guard', p_value);
    ELSE
        RETURN mnemo._identifier_problem('p_value', p_value);
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._setting_problem(text, text, text) IS
    'The problem of a value for a setting; NULL when it may be set.';

CREATE FUNCTION mnemo._check_setting_name(
    p_name text
)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF mnemo._setting_default(p_name) IS NULL THEN
        PERFORM mnemo._raise_argument('p_name',
            'p_name must be the name of a setting; got ' || mnemo._shown(p_name),
            'experience_memory, similarity_threshold, minimum_threshold, success_threshold, '
            'guard, default_agent_id, default_org_id or purge_after');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._check_setting_name(text) IS 'Raises 22023 unless there is such a setting.';

CREATE FUNCTION mnemo.configure(
    p_name text,
    p_value text,
    p_org_id text DEFAULT NULL
)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._check_setting_name(p_name);
    IF p_org_id IS NOT NULL THEN
        PERFORM mnemo._check_identity('any', p_org_id);
        IF p_name = 'default_org_id' THEN
            PERFORM mnemo._raise_argument('p_org_id', 'default_org_id has no override per organisation',
                'leave p_org_id out');
        END IF;
    END IF;
    IF p_value IS NULL THEN
        DELETE FROM mnemo.settings AS s
         WHERE s.org_id = coalesce(p_org_id, '*') AND s.name = p_name;
    ELSE
        PERFORM mnemo._raise_problem(mnemo._setting_problem(p_name, p_value, p_org_id));
        INSERT INTO mnemo.settings AS s (org_id, name, value)
        VALUES (coalesce(p_org_id, '*'), p_name, p_value)
        ON CONFLICT (org_id, name) DO UPDATE SET value = excluded.value, updated_at = now();
    END IF;
    RETURN mnemo._setting(p_name, p_org_id);
END
$fn$;
COMMENT ON FUNCTION mnemo.configure(text, text, text) IS
    'Sets a setting for the database, or for one organisation when p_org_id is given; p_value NULL '
    'goes back to the default (for an organisation: to the database''s value). Returns the value '
    'in force. Settings: experience_memory (off), similarity_threshold (0.7), minimum_threshold '
    '(0.3; a recall that names no threshold uses the greater of the two), success_threshold (0.5), '
    'guard (strict), default_agent_id (default), default_org_id (default), purge_after (30 days: how '
    'long mnemo.sweep keeps deleted records; never: for good). Level admin only. Errors: 42501 not an administrator; 22023 unknown name, value '
    'out of range.';

CREATE FUNCTION mnemo.setting(
    p_name text,
    p_org_id text DEFAULT NULL
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_bound record;
BEGIN
    IF mnemo._level() = 'tenant' THEN
        SELECT * INTO v_bound FROM mnemo._bound_org(mnemo._effective_role(), p_org_id);
        PERFORM mnemo._raise_problem(v_bound.problem);
        p_org_id := v_bound.org_id;
    END IF;
    PERFORM mnemo._check_setting_name(p_name);
    IF p_org_id IS NOT NULL THEN
        PERFORM mnemo._check_identity('any', p_org_id);
    END IF;
    RETURN mnemo._setting(p_name, p_org_id);
END
$fn$;
COMMENT ON FUNCTION mnemo.setting(text, text) IS
    'The value in force of a setting for an organisation; NULL means the database, for a tenant '
    'the organisation it is bound to. Errors: 42501 role without a level, tenant outside its '
    'binding; 22023 unknown name, ill-formed organisation.';

CREATE FUNCTION mnemo.version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
RETURN '0.1.0';
COMMENT ON FUNCTION mnemo.version() IS 'The version of mnemo_pg that is installed.';

-- part: 400_hash.sql
-- The encoding of docs/hash-format.md: a letter for the type, lengths as 64-bit big-endian numbers,
-- nothing that depends on a session or a server.

CREATE FUNCTION mnemo._bytes_of_text(
    p_text text
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_text IS NULL THEN E'\\x4e'::bytea
    ELSE E'\\x54'::bytea || int8send(octet_length(p_text)) || mnemo._utf8(p_text) END;
COMMENT ON FUNCTION mnemo._bytes_of_text(text) IS 'T, length, UTF-8 bytes; N for NULL.';

CREATE FUNCTION mnemo._bytes_of_list(
    p_list text[]
)
RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_item text;
    v_bytes bytea := E'\\x4c'::bytea || int8send(cardinality(p_list));
BEGIN
    FOREACH v_item IN ARRAY p_list LOOP
        v_bytes := v_bytes || mnemo._bytes_of_text(v_item);
    END LOOP;
    RETURN v_bytes;
END
$fn$;
COMMENT ON FUNCTION mnemo._bytes_of_list(text[]) IS
    'L, number of elements, each as a text; for lists of at most some hundred elements.';

CREATE FUNCTION mnemo._bytes_of_time(
    p_time timestamptz
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_time IS NULL THEN E'\\x4e'::bytea
    ELSE E'\\x49'::bytea || int8send(mnemo._micros(p_time)) END;
COMMENT ON FUNCTION mnemo._bytes_of_time(timestamptz) IS
    'I, microseconds since 1970-01-01 UTC as 64 bits; N for NULL.';

CREATE FUNCTION mnemo._bytes_of_float(
    p_number double precision
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Adding zero turns the negative zero into the positive one.
RETURN CASE WHEN p_number IS NULL THEN E'\\x4e'::bytea
    ELSE E'\\x46'::bytea || float8send(p_number + 0.0::double precision) END;
COMMENT ON FUNCTION mnemo._bytes_of_float(double precision) IS
    'F, the IEEE 754 double, big-endian; N for NULL.';

CREATE FUNCTION mnemo._bytes_of_scalar(
    p_value jsonb
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE jsonb_typeof(p_value)
    WHEN 'string' THEN
        E'\\x73'::bytea || int8send(octet_length(p_value #>> '{}')) || mnemo._utf8(p_value #>> '{}')
    WHEN 'number' THEN
        E'\\x64'::bytea || int8send(octet_length(trim_scale((p_value #>> '{}')::numeric)::text))
        || mnemo._utf8(trim_scale((p_value #>> '{}')::numeric)::text)
    WHEN 'null' THEN E'\\x6e'::bytea
    WHEN 'boolean' THEN CASE WHEN p_value = 'true' THEN E'\\x74'::bytea ELSE E'\\x66'::bytea END
    WHEN 'array' THEN CASE WHEN p_value = '[]' THEN E'\\x610000000000000000'::bytea END
    WHEN 'object' THEN CASE WHEN p_value = '{}' THEN E'\\x6f0000000000000000'::bytea END
END;
COMMENT ON FUNCTION mnemo._bytes_of_scalar(jsonb) IS
    's and length and UTF-8 bytes for a string, d and length and plain decimal digits without '
    'trailing zeros for a number, n, t, f; empty arrays and objects too; NULL for others.';

CREATE FUNCTION mnemo._bytes_of_json(
    p_value jsonb
)
RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    CASE jsonb_typeof(p_value)
    WHEN 'object' THEN
        RETURN E'\\x6f'::bytea || (
            SELECT int8send(count(*)) || coalesce(string_agg(
                       int8send(octet_length(e.key)) || mnemo._utf8(e.key)
                       || coalesce(
                           mnemo._bytes_of_scalar(e.value),
                           -- Lists of scalars, most of a plan, are done here without a call, in
                           -- the order in which the function gives them.
                           CASE WHEN jsonb_typeof(e.value) = 'array'
                                 AND NOT e.value @?
                                     'strict $[*] ? (@.type() == "object" || @.type() == "array")'
                           THEN E'\\x61'::bytea || (
                               SELECT int8send(count(*)) || coalesce(string_agg(
                                          mnemo._bytes_of_scalar(i.value), ''::bytea), '')
                                 FROM jsonb_array_elements(e.value) AS i(value)
                           ) ELSE mnemo._bytes_of_json(e.value) END),
                       ''::bytea ORDER BY e.key COLLATE "C"), '')
              FROM jsonb_each(p_value) AS e
        );
    WHEN 'array' THEN
        RETURN E'\\x61'::bytea || (
            SELECT int8send(count(*)) || coalesce(string_agg(
                       coalesce(mnemo._bytes_of_scalar(e.value), mnemo._bytes_of_json(e.value)),
                       ''::bytea ORDER BY e.place), '')
              FROM jsonb_array_elements(p_value) WITH ORDINALITY AS e(value, place)
        );
    ELSE
        RETURN mnemo._bytes_of_scalar(p_value);
    END CASE;
END
$fn$;
COMMENT ON FUNCTION mnemo._bytes_of_json(jsonb) IS
    'o, number of keys, then length and bytes of each key and its value in byte order of the keys; '
    'a, number of elements, each element; scalars as _bytes_of_scalar.';

CREATE FUNCTION mnemo._content_hash(
    p_record mnemo.memory
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(
    mnemo._bytes_of_text('mnemo_pg memory 1')
    || E'\\x42'::bytea || int8send(octet_length((p_record).nonce)) || (p_record).nonce
    || E'\\x55'::bytea || uuid_send((p_record).id)
    || mnemo._bytes_of_text((p_record).org_id)
    || mnemo._bytes_of_text((p_record).origin_org_id)
    || mnemo._bytes_of_text((p_record).agent_id)
    || mnemo._bytes_of_text((p_record).memory_type)
    || mnemo._bytes_of_text((p_record).content)
    || mnemo._bytes_of_list((p_record).tags)
    || E'\\x4a'::bytea || coalesce(
        mnemo._bytes_of_scalar((p_record).metadata), mnemo._bytes_of_json((p_record).metadata))
    || mnemo._bytes_of_text((p_record).source_type)
    || mnemo._bytes_of_text((p_record).source_id)
    || mnemo._bytes_of_text((p_record).thread_id)
    || mnemo._bytes_of_text((p_record).created_by)
    || mnemo._bytes_of_text((p_record).kind)
    || mnemo._bytes_of_text((p_record).subject)
    || mnemo._bytes_of_text((p_record).predicate)
    || mnemo._bytes_of_list((p_record).entities)
    || mnemo._bytes_of_list((p_record).aliases)
    || mnemo._bytes_of_text((p_record).location)
    || mnemo._bytes_of_float((p_record).confidence)
    || mnemo._bytes_of_time((p_record).valid_from)
    || mnemo._bytes_of_text((p_record).temporal_scope)
    || mnemo._bytes_of_time((p_record).created_at)
);
COMMENT ON FUNCTION mnemo._content_hash(mnemo.memory) IS
    'SHA-256 (FIPS 180-4) over what identifies the record, as docs/hash-format.md gives it byte by '
    'byte. Not in it: what may change later (scope, importance, state, quarantine, expiry, '
    'deletion, status, valid_to), which events bind, and the counters. NULL without a nonce.';

-- part: 410_write.sql
CREATE FUNCTION mnemo._write_memories(
    p_records mnemo.memory[],
    p_event_type text,
    p_actor_org_id text DEFAULT NULL,
    p_actor_agent_id text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    INSERT INTO mnemo.memory SELECT r.* FROM unnest(p_records) AS r;
    -- Plans have no terms, and an earlier version is never recalled.
    IF p_event_type <> 'plan_write' AND p_records[1].consolidation_state <> 'archived' THEN
        PERFORM mnemo._index_terms(p_records);
    END IF;
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes
    )
    SELECT r.origin_org_id, mnemo._new_id(), r.agent_id, p_event_type, r.org_id, r.id,
           coalesce(p_actor_org_id, r.origin_org_id), coalesce(p_actor_agent_id, r.agent_id),
           now(), r.content_hash, mnemo._bound_state(r)
      FROM unnest(p_records) AS r;
    FOREACH v_record IN ARRAY p_records LOOP
        IF v_record.quarantined THEN
            PERFORM mnemo._write_quarantined(v_record,
                coalesce(p_actor_org_id, v_record.origin_org_id),
                coalesce(p_actor_agent_id, v_record.agent_id));
        END IF;
    END LOOP;
    IF cardinality(p_records) = 1 THEN
        PERFORM mnemo._seal_if_many(v_record.origin_org_id, v_record.agent_id, 1);
        RETURN;
    END IF;
    PERFORM mnemo._seal_owners(array_agg(r.origin_org_id), array_agg(r.agent_id))
       FROM unnest(p_records) AS r;
END
$fn$;
COMMENT ON FUNCTION mnemo._write_memories(mnemo.memory[], text, text, text) IS
    'Writes complete records, live or archived ones, and the events of each, the owner acting where '
    'no actor is named. The only way a record comes into being, but for import.';

CREATE FUNCTION mnemo._write_event(
    p_record mnemo.memory,
    p_event_type text,
    p_actor_org_id text,
    p_actor_agent_id text,
    p_changes jsonb,
    p_note text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_id uuid := mnemo._next_event_id(p_record.org_id, p_record.id);
    v_salt bytea := CASE WHEN p_note IS NOT NULL THEN uuid_send(gen_random_uuid()) END;
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes, note_hash
    )
    VALUES (
        p_record.origin_org_id, v_id, p_record.agent_id, p_event_type,
        p_record.org_id, p_record.id, p_actor_org_id, p_actor_agent_id, now(),
        p_record.content_hash, p_changes, mnemo._note_hash(v_salt, p_note)
    );
    IF p_note IS NOT NULL THEN
        INSERT INTO mnemo.event_note (org_id, event_id, salt, note)
        VALUES (p_record.origin_org_id, v_id, v_salt, p_note);
    END IF;
    PERFORM mnemo._seal_if_many(p_record.origin_org_id, p_record.agent_id, 1);
END
$fn$;
COMMENT ON FUNCTION mnemo._write_event(mnemo.memory, text, text, text, jsonb, text) IS
    'Writes the event of a change to a record; p_changes holds the columns that it set, as labels, '
    'numbers and microseconds only, p_note free text that can be erased.';

CREATE FUNCTION mnemo._write_quarantined(
    p_record mnemo.memory,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._write_event(
        p_record, 'memory_quarantined', p_actor_org_id, p_actor_agent_id,
        jsonb_build_object('quarantined', true, 'quarantine_reason', mnemo._reason_hash(p_record),
            'rules', string_to_array(regexp_replace(
                p_record.quarantine_reason, ' [0-9.]+', '', 'g'), ', '))
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._write_quarantined(mnemo.memory, text, text) IS
    'Writes the event of a record that the rules of poisoning hold back, with their names.';

CREATE FUNCTION mnemo._raise_busy_key() RETURNS void
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN mnemo._raise('40001', 'p_idempotency_key was used by a concurrent transaction',
    jsonb_build_object('parameter', 'p_idempotency_key'), 'retry the transaction');
COMMENT ON FUNCTION mnemo._raise_busy_key() IS
    'Raises 40001: the key was used by a transaction that this one cannot see.';

CREATE FUNCTION mnemo._first_record(
    p_record mnemo.memory,
    p_key text,
    p_pending mnemo.memory[]
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_key mnemo.idempotency;
    v_first mnemo.memory;
BEGIN
    INSERT INTO mnemo.idempotency AS i (org_id, agent_id, key, memory_org_id, memory_id)
    VALUES (p_record.origin_org_id, p_record.agent_id, p_key, p_record.org_id, p_record.id)
    ON CONFLICT (org_id, agent_id, key) DO NOTHING;
    IF FOUND THEN
        RETURN p_record;
    END IF;
    -- Statements of their own: the claim may have waited for the transaction that wrote the key.
    SELECT * INTO v_key
      FROM mnemo.idempotency AS i
     WHERE i.org_id = p_record.origin_org_id AND i.agent_id = p_record.agent_id AND i.key = p_key;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_busy_key();
    END IF;
    SELECT * INTO v_first
      FROM mnemo.memory AS m WHERE m.org_id = v_key.memory_org_id AND m.id = v_key.memory_id;
    IF NOT FOUND THEN
        SELECT * INTO v_first FROM unnest(p_pending) AS r WHERE r.id = v_key.memory_id;
    END IF;
    IF NOT FOUND THEN
        UPDATE mnemo.idempotency AS i
           SET memory_org_id = p_record.org_id, memory_id = p_record.id
         WHERE i.org_id = v_key.org_id AND i.agent_id = v_key.agent_id AND i.key = v_key.key
           AND i.memory_id = v_key.memory_id;
        IF NOT FOUND THEN
            PERFORM mnemo._raise_busy_key();
        END IF;
        RETURN p_record;
    END IF;
    RETURN v_first;
END
$fn$;
COMMENT ON FUNCTION mnemo._first_record(mnemo.memory, text, mnemo.memory[]) IS
    'Claims an idempotency key of the owner for a record about to be written: returns that record, '
    'or the one that holds the key. p_pending: records of the same call that are not written yet. '
    'Waits for a transaction that is just using the same key; raises 40001 when that one is outside '
    'the snapshot.';

CREATE FUNCTION mnemo._scope_problem(
    p_level text,
    p_scope text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Access comes before arguments, so this before anything else about the call.
    IF p_scope = 'global' AND p_level = 'tenant' THEN
        RETURN mnemo._access('a tenant may not write scope global', 'p_scope',
            'use scope public, or a role of level application');
    ELSIF NOT mnemo._is_label('scope', coalesce(p_scope, 'private')) THEN
        RETURN mnemo._label_problem('p_scope', 'scope', p_scope);
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._scope_problem(text, text) IS
    'The problem of a scope to write: global by a tenant, an unknown label; NULL for none.';

CREATE FUNCTION mnemo._tags_problem(
    p_tags text[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._first_problem(ARRAY[
        mnemo._list_problem('p_tags', p_tags, 100, 256, 'tags'),
        CASE WHEN p_tags @> ARRAY[mnemo._reserved_tag()] THEN mnemo._argument('p_tags',
            'p_tags must not contain the reserved tag ' || mnemo._reserved_tag(),
            'plans are written with mnemo.remember_plan') END
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._tags_problem(text[]) IS
    'The problem of a caller''s tags: over 100, longer than 256 characters, NULL or blank elements, '
    'the reserved tag; NULL for none.';

CREATE FUNCTION mnemo._distinct(
    p_list text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF cardinality(p_list) <= 1 THEN
        RETURN ARRAY(SELECT unnest(p_list));
    END IF;
    RETURN ARRAY(
        SELECT t.item
          FROM unnest(p_list) WITH ORDINALITY AS t(item, place)
         GROUP BY t.item
         ORDER BY min(t.place)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._distinct(text[]) IS 'The list without duplicates, the first of each kept, with subscripts from 1.';

-- part: 420_remember.sql
CREATE FUNCTION mnemo._metadata_problem(
    p_metadata jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF jsonb_typeof(p_metadata) <> 'object' THEN
        RETURN mnemo._argument('p_metadata',
            'p_metadata must be a JSON object; got ' || jsonb_typeof(p_metadata),
            'wrap the value: {"value": ...}');
    ELSIF p_metadata ? mnemo._reserved_key() THEN
        RETURN mnemo._argument('p_metadata',
            'p_metadata must not contain the reserved key ' || mnemo._reserved_key(),
            'plans are written with mnemo.remember_plan');
    ELSIF octet_length(p_metadata::text) > 1048576 THEN
        RETURN mnemo._limit('p_metadata',
            format('p_metadata has %s bytes as text, at most 1048576 (1 MB) are allowed',
                octet_length(p_metadata::text)),
            'keep large values outside and store their identifiers');
    END IF;
    RETURN mnemo._depth_problem('p_metadata', p_metadata);
END
$fn$;
COMMENT ON FUNCTION mnemo._metadata_problem(jsonb) IS
    'The problem of a caller''s metadata: no object, the reserved key, over 1 MB, too deep; NULL '
    'for none.';

CREATE FUNCTION mnemo._memory_problem(
    p_record mnemo.memory
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Each only where there is something to find: most records set a few columns.
    RETURN mnemo._first_problem(ARRAY[
        CASE WHEN p_record.content IS NULL OR mnemo._is_blank(p_record.content) THEN
            mnemo._argument('p_content', 'p_content must not be NULL or blank',
                'pass the text to remember')
        END,
        CASE WHEN NOT mnemo._is_label('memory_type', p_record.memory_type) THEN
            mnemo._label_problem('p_memory_type', 'memory_type', p_record.memory_type)
        END,
        CASE WHEN NOT mnemo._is_label('source_type', p_record.source_type) THEN
            mnemo._label_problem('p_source_type', 'source_type', p_record.source_type)
        END,
        CASE WHEN NOT mnemo._is_label('memory_status', p_record.status) THEN
            mnemo._label_problem('p_status', 'memory_status', p_record.status)
        END,
        CASE WHEN NOT mnemo._is_label('temporal_scope', p_record.temporal_scope) THEN
            mnemo._label_problem('p_temporal_scope', 'temporal_scope', p_record.temporal_scope)
        END,
        CASE WHEN p_record.kind IS NOT NULL THEN
            mnemo._label_problem('p_kind', 'kind', p_record.kind)
        END,
        mnemo._fraction_problem('p_importance', p_record.importance),
        mnemo._fraction_problem('p_confidence', p_record.confidence),
        CASE WHEN p_record.tags <> '{}' THEN mnemo._tags_problem(p_record.tags) END,
        CASE WHEN p_record.entities <> '{}' THEN
            mnemo._list_problem('p_entities', p_record.entities, 100, 256, 'entities')
        END,
        CASE WHEN p_record.aliases <> '{}' THEN
            mnemo._list_problem('p_aliases', p_record.aliases, 100, 256, 'aliases')
        END,
        CASE WHEN coalesce(p_record.source_id, p_record.thread_id, p_record.created_by,
            p_record.subject, p_record.predicate, p_record.location) IS NOT NULL
        THEN
            mnemo._texts_problem(
                ARRAY['p_source_id', 'p_thread_id', 'p_created_by', 'p_subject', 'p_predicate',
                    'p_location'],
                ARRAY[p_record.source_id, p_record.thread_id, p_record.created_by,
                    p_record.subject, p_record.predicate, p_record.location],
                256)
        END,
        CASE WHEN p_record.metadata <> '{}' THEN mnemo._metadata_problem(p_record.metadata) END,
        CASE WHEN p_record.valid_from <> p_record.created_at THEN
            mnemo._time_problem('p_valid_from', p_record.valid_from)
        END,
        CASE WHEN p_record.valid_to IS NOT NULL THEN
            mnemo._time_problem('p_valid_to', p_record.valid_to)
        END,
        CASE WHEN p_record.valid_to <= p_record.valid_from THEN
            mnemo._argument('p_valid_to', 'p_valid_to must be after p_valid_from',
                'p_valid_from is the time of writing where it is not given')
        END,
        CASE WHEN mnemo._canonical_predicate(p_record.predicate) = '' THEN
            mnemo._argument('p_predicate',
                'p_predicate must contain an ASCII letter or digit; got '
                    || mnemo._shown(p_record.predicate),
                'see mnemo.canonical_predicate')
        END,
        CASE WHEN octet_length(p_record.content) > 1048576 THEN
            mnemo._limit('p_content',
                format('p_content has %s bytes, at most 1048576 (1 MB) are allowed',
                    octet_length(p_record.content)),
                'split the text into several records')
        END
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._memory_problem(mnemo.memory) IS
    'The first problem of a record that a caller wants to write: the rules of mnemo.remember; NULL '
    'for none.';

CREATE FUNCTION mnemo._normalised(
    p_record mnemo.memory
)
RETURNS mnemo.memory
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_record.tags <> '{}' THEN
        p_record.tags := mnemo._distinct(p_record.tags);
    END IF;
    IF p_record.entities <> '{}' THEN
        p_record.entities := mnemo._distinct(p_record.entities);
    END IF;
    IF p_record.aliases <> '{}' THEN
        p_record.aliases := mnemo._distinct(p_record.aliases);
    END IF;
    IF p_record.subject IS NOT NULL THEN
        p_record.subject := mnemo._lower(mnemo._squeeze(p_record.subject));
    END IF;
    IF p_record.predicate IS NOT NULL THEN
        p_record.predicate := mnemo._canonical_predicate(p_record.predicate);
    END IF;
    p_record.content_hash := mnemo._content_hash(p_record);
    RETURN p_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._normalised(mnemo.memory) IS
    'The record as it is stored: lists without duplicates, subject and predicate normalised, hashed.';

CREATE FUNCTION mnemo._new_record(
    p_scope text,
    p_org_id text,
    p_agent_id text,
    p_ttl interval
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    v_record.org_id := CASE p_scope WHEN 'global' THEN '*' ELSE p_org_id END;
    v_record.id := mnemo._new_id();
    v_record.origin_org_id := p_org_id;
    v_record.agent_id := p_agent_id;
    v_record.scope := p_scope;
    v_record.importance := 0.5;
    v_record.consolidation_state := 'raw';
    v_record.quarantined := false;
    v_record.version := 1;
    v_record.access_count := 0;
    v_record.created_at := now();
    v_record.updated_at := now();
    v_record.expires_at := now() + p_ttl;
    v_record.status := 'active';
    v_record.valid_from := now();
    v_record.temporal_scope := 'persistent';
    v_record.tags := '{}';
    v_record.entities := '{}';
    v_record.aliases := '{}';
    v_record.metadata := '{}';
    v_record.nonce := uuid_send(gen_random_uuid());
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._new_record(text, text, text, interval) IS
    'A record with id, owner, nonce and every default set; content, type and source are missing.';

CREATE FUNCTION mnemo._default_ttl(
    p_memory_type text
)
RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_memory_type WHEN 'working' THEN interval '1 hour' END;
COMMENT ON FUNCTION mnemo._default_ttl(text) IS
    'How long a memory of this type lives where nothing else is said: working memory is for the '
    'task at hand; NULL for ever.';

CREATE FUNCTION mnemo.remember(
    p_content text,
    p_scope text DEFAULT NULL,
    p_memory_type text DEFAULT NULL,
    p_importance double precision DEFAULT NULL,
    p_tags text[] DEFAULT NULL,
    p_metadata jsonb DEFAULT NULL,
    p_source_type text DEFAULT NULL,
    p_source_id text DEFAULT NULL,
    p_thread_id text DEFAULT NULL,
    p_created_by text DEFAULT NULL,
    p_ttl interval DEFAULT NULL,
    p_kind text DEFAULT NULL,
    p_subject text DEFAULT NULL,
    p_predicate text DEFAULT NULL,
    p_entities text[] DEFAULT NULL,
    p_aliases text[] DEFAULT NULL,
    p_location text DEFAULT NULL,
    p_confidence double precision DEFAULT NULL,
    p_status text DEFAULT NULL,
    p_valid_from timestamptz DEFAULT NULL,
    p_valid_to timestamptz DEFAULT NULL,
    p_temporal_scope text DEFAULT NULL,
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL,
    p_idempotency_key text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, content_hash bytea, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record mnemo.memory;
    v_problem mnemo._problem;
    v_first mnemo.memory;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    v_problem := mnemo._first_problem(ARRAY[
        mnemo._scope_problem(v_caller.level, p_scope),
        mnemo._embedding_problem(p_embedding, p_model),
        mnemo._ttl_problem(p_ttl),
        mnemo._texts_problem(ARRAY['p_idempotency_key'], ARRAY[p_idempotency_key], 256)
    ]);
    IF v_problem.code <> '54000' THEN
        PERFORM mnemo._raise_problem(v_problem);
    END IF;
    v_record := mnemo._new_record(
        coalesce(p_scope, 'private'), v_caller.org_id, v_caller.agent_id,
        coalesce(p_ttl, mnemo._default_ttl(p_memory_type))
    );
    v_record.content := p_content;
    v_record.memory_type := coalesce(p_memory_type, 'episodic');
    v_record.importance := coalesce(p_importance, v_record.importance);
    v_record.tags := coalesce(p_tags, v_record.tags);
    v_record.metadata := coalesce(p_metadata, v_record.metadata);
    v_record.source_type := coalesce(p_source_type, 'agent');
    v_record.source_id := p_source_id;
    v_record.thread_id := p_thread_id;
    v_record.created_by := p_created_by;
    v_record.kind := p_kind;
    v_record.subject := p_subject;
    v_record.predicate := p_predicate;
    v_record.entities := coalesce(p_entities, v_record.entities);
    v_record.aliases := coalesce(p_aliases, v_record.aliases);
    v_record.location := p_location;
    v_record.confidence := p_confidence;
    v_record.status := coalesce(p_status, v_record.status);
    v_record.valid_from := coalesce(p_valid_from, v_record.valid_from);
    v_record.valid_to := p_valid_to;
    v_record.temporal_scope := coalesce(p_temporal_scope, v_record.temporal_scope);
    PERFORM mnemo._raise_problem(
        mnemo._first_problem(ARRAY[mnemo._memory_problem(v_record), v_problem])
    );
    v_record := mnemo._screen(mnemo._normalised(v_record));
    IF p_idempotency_key IS NOT NULL THEN
        v_first := mnemo._first_record(v_record, p_idempotency_key, '{}');
        IF v_first.id <> v_record.id THEN
            IF v_first.tags @> ARRAY[mnemo._reserved_tag()] THEN
                PERFORM mnemo._raise_argument('p_idempotency_key',
                    'p_idempotency_key was used for a plan', 'use another key');
            END IF;
            RETURN QUERY SELECT v_first.id, v_first.content_hash, 'repeated';
            RETURN;
        END IF;
    END IF;
    PERFORM mnemo._write_memories(ARRAY[v_record], 'memory_write');
    PERFORM mnemo._store_embedding(p_embedding, p_model, v_record.org_id, v_record.id);
    RETURN QUERY
    SELECT v_record.id, v_record.content_hash,
           CASE WHEN v_record.quarantined THEN 'quarantined' ELSE 'stored' END;
END
$fn$;
COMMENT ON FUNCTION mnemo.remember(
    text, text, text, double precision, text[], jsonb, text, text, text, text, interval, text,
    text, text, text[], text[], text, double precision, text, timestamptz, timestamptz, text,
    text, text, text, text, text
) IS
    'Writes one memory of the acting agent and the event of it, in the caller''s transaction. '
    'p_content: up to 1 MB, not blank. NULL elsewhere means the default: scope private, type '
    'episodic, importance 0.5, no tags, metadata {}, source agent, status active, valid from now. '
    'p_ttl: until it expires (working memory: 1 hour; others: never). Subject and predicate are '
    'normalised. The same p_idempotency_key of the same agent again returns the first answer with '
    'status repeated and writes nothing. Returns id, SHA-256 of the record, status stored, '
    'quarantined (kept, and held back from every recall by a rule against poisoning) or repeated. '
    'Errors: 42501 no access, or scope global by a tenant; 22023 bad argument, reserved '
    'tag or key; 54000 over a limit; 55000 embedding given but not enabled; 40001 the key was used '
    'by a concurrent transaction.';

-- part: 422_elements.sql
-- Records as JSON objects: elements of mnemo.remember_many, changes of mnemo.update_memory.

CREATE FUNCTION mnemo._is_time(
    p_text text
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_year integer;
BEGIN
    -- Checked beforehand, because a failed cast could only be caught in a subtransaction.
    IF coalesce(p_text COLLATE "C" !~ (
        '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[T ]([01][0-9]|2[0-3]):[0-5][0-9]'
        '(:[0-5][0-9]([.][0-9]{1,6})?)?(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)$'), true)
    THEN
        RETURN false;
    END IF;
    v_year := left(p_text, 4)::integer;
    RETURN v_year > 0 AND substr(p_text, 9, 2)::integer <= CASE
        WHEN substr(p_text, 6, 2) IN ('04', '06', '09', '11') THEN 30
        WHEN substr(p_text, 6, 2) <> '02' THEN 31
        WHEN v_year % 4 = 0 AND (v_year % 100 <> 0 OR v_year % 400 = 0) THEN 29
        ELSE 28
    END;
END
$fn$;
COMMENT ON FUNCTION mnemo._is_time(text) IS
    'Whether a text is a time in ISO 8601 with its zone, such as 2026-01-31T09:00:00Z or '
    '2026-01-31 09:00+05:30, which every session reads alike. False for NULL.';

CREATE FUNCTION mnemo._value_problem(
    p_key text,
    p_value jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_type text := jsonb_typeof(p_value);
BEGIN
    IF v_type = 'null' OR p_key = 'metadata' OR p_key = 'embedding' AND v_type = 'array' THEN
        RETURN NULL;
    ELSIF p_key IN ('tags', 'entities', 'aliases') THEN
        IF v_type <> 'array'
            OR p_value @? 'strict $[*] ? (@.type() != "string" && @.type() != "null")'
        THEN
            RETURN mnemo._argument('p_' || p_key, p_key || ' must be an array of strings',
                'quote the elements');
        END IF;
    ELSIF p_key IN ('importance', 'confidence') THEN
        IF v_type <> 'number' THEN
            RETURN mnemo._argument('p_' || p_key, p_key || ' must be a number; got ' || v_type,
                'JSON has no NaN and no infinity');
        ELSIF abs((p_value #>> '{}')::numeric) NOT BETWEEN 1e-300 AND 1e300
            AND (p_value #>> '{}')::numeric <> 0
        THEN
            RETURN mnemo._argument('p_' || p_key,
                p_key || ' is outside the range of double precision', 'use 0 to 1');
        END IF;
    ELSIF v_type <> 'string' THEN
        RETURN mnemo._argument('p_' || p_key, p_key || ' must be a string; got ' || v_type,
            'quote the value');
    ELSIF p_key = 'ttl' THEN
        IF NOT mnemo._is_interval(p_value #>> '{}') THEN
            RETURN mnemo._argument('p_ttl', 'ttl must be an interval as text; got '
                || mnemo._shown(p_value::text), 'such as "30 days", "PT1H30M" or "12:00:00"');
        END IF;
    ELSIF p_key IN ('valid_from', 'valid_to') THEN
        IF NOT mnemo._is_time(p_value #>> '{}') THEN
            RETURN mnemo._argument('p_' || p_key,
                p_key || ' must be a time in ISO 8601 with its zone; got '
                    || mnemo._shown(p_value::text),
                'such as "2026-01-31T09:00:00Z"');
        END IF;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._value_problem(text, jsonb) IS
    'The problem of a JSON value that is not of the type of the parameter of mnemo.remember with '
    'this name; NULL, for null too, for none.';

CREATE FUNCTION mnemo._object_problem(
    p_parameter text,
    p_object jsonb,
    p_keys text[],
    p_hint text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_key text;
    v_value jsonb;
    v_problem mnemo._problem;
BEGIN
    IF jsonb_typeof(p_object) IS DISTINCT FROM 'object' THEN
        RETURN mnemo._argument(p_parameter,
            CASE p_parameter WHEN 'p_records' THEN 'an element' ELSE p_parameter END
                || ' must be a JSON object; got ' || coalesce(jsonb_typeof(p_object), 'NULL'),
            p_hint);
    END IF;
    FOR v_key, v_value IN SELECT e.key, e.value FROM jsonb_each(p_object) AS e LOOP
        IF v_key <> ALL (p_keys) THEN
            RETURN mnemo._argument(p_parameter,
                CASE p_parameter WHEN 'p_records' THEN '' ELSE p_parameter || ': ' END
                    || 'unknown key ' || mnemo._shown(v_key),
                p_hint);
        END IF;
        v_problem := mnemo._value_problem(v_key, v_value);
        IF v_problem.code IS NOT NULL THEN
            RETURN v_problem;
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._object_problem(text, jsonb, text[], text) IS
    'The problem of a record as JSON: no object, a key that is not among p_keys, a value of the '
    'wrong type; NULL for none.';

CREATE FUNCTION mnemo._record_keys() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'content', 'scope', 'memory_type', 'importance', 'tags', 'metadata', 'source_type', 'source_id',
    'thread_id', 'created_by', 'ttl', 'kind', 'subject', 'predicate', 'entities', 'aliases',
    'location', 'confidence', 'status', 'valid_from', 'valid_to', 'temporal_scope', 'embedding',
    'model', 'idempotency_key'
];
COMMENT ON FUNCTION mnemo._record_keys() IS
    'The keys of an element of mnemo.remember_many: the parameters of mnemo.remember without p_.';

CREATE FUNCTION mnemo._record_of(
    p_element jsonb,
    p_base mnemo.memory,
    p_level text,
    OUT record mnemo.memory,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_element jsonb := p_element;
    v_ttl interval;
BEGIN
    problem := coalesce(
        -- Access before the form of the element.
        CASE WHEN p_level = 'tenant' THEN
            nullif(mnemo._scope_problem(p_level, p_element ->> 'scope'),
                mnemo._scope_problem('admin', p_element ->> 'scope'))
        END,
        mnemo._object_problem('p_records', p_element, mnemo._record_keys(),
            'keys are the parameters of mnemo.remember without p_')
    );
    IF problem.code IS NOT NULL THEN
        RETURN;
    END IF;
    IF v_element @? '$.* ? (@ == null)' THEN
        -- As with NULL, the default holds.
        SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') INTO v_element
          FROM jsonb_each(v_element) AS e
         WHERE e.value <> 'null';
    END IF;
    record := jsonb_populate_record(p_base, v_element);
    record.id := mnemo._new_id();
    record.nonce := uuid_send(gen_random_uuid());
    IF record.scope = 'global' THEN
        record.org_id := '*';
    END IF;
    v_ttl := coalesce((v_element ->> 'ttl')::interval, mnemo._default_ttl(record.memory_type));
    problem := mnemo._first_problem(ARRAY[
        mnemo._scope_problem(p_level, record.scope),
        mnemo._embedding_problem(v_element ->> 'embedding', v_element ->> 'model'),
        mnemo._ttl_problem(v_ttl),
        mnemo._texts_problem(
            ARRAY['p_idempotency_key'], ARRAY[v_element ->> 'idempotency_key'], 256),
        mnemo._memory_problem(record)
    ]);
    IF problem.code IS NULL THEN
        record.expires_at := now() + v_ttl;
        record := mnemo._screen(mnemo._normalised(record));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._record_of(jsonb, mnemo.memory, text) IS
    'An element of mnemo.remember_many as the record to write, screened, or its problem. p_base: a '
    'record of the owner with every default set.';

CREATE FUNCTION mnemo._batch_problem(
    p_parameter text,
    p_elements jsonb,
    p_on_error text,
    p_of text DEFAULT 'objects'
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF jsonb_typeof(p_elements) IS DISTINCT FROM 'array' THEN
        RETURN mnemo._argument(p_parameter,
            p_parameter || ' must be a JSON array; got '
                || coalesce(jsonb_typeof(p_elements), 'NULL'),
            'pass an array of ' || p_of);
    ELSIF NOT mnemo._is_label('on_error', p_on_error) THEN
        RETURN mnemo._label_problem('p_on_error', 'on_error', p_on_error);
    ELSIF jsonb_array_length(p_elements) > 10000 THEN
        RETURN mnemo._limit(p_parameter,
            format('%s has %s elements, at most 10000 are allowed', p_parameter,
                jsonb_array_length(p_elements)),
            'split the batch');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._batch_problem(text, jsonb, text, text) IS
    'The problem of a batch: no array, an unknown p_on_error, over 10,000 elements; NULL for none. '
    'p_of: what the array is of, in words.';

-- part: 425_update.sql
CREATE FUNCTION mnemo._change_keys() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'content', 'importance', 'tags', 'metadata', 'ttl', 'scope', 'memory_type',
    'consolidation_state', 'kind', 'subject', 'predicate', 'entities', 'aliases', 'location',
    'confidence', 'status', 'valid_from', 'valid_to', 'temporal_scope', 'embedding', 'model'
];
COMMENT ON FUNCTION mnemo._change_keys() IS
    'What mnemo.update_memory can change of a memory; of a plan tags, ttl, scope and embedding.';

CREATE FUNCTION mnemo._within(
    p_parameter text,
    p_problem mnemo._problem
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (p_problem).code IS NOT NULL THEN ROW(
    (p_problem).code, p_parameter || ': ' || regexp_replace((p_problem).message, '^p_', ''),
    p_parameter, (p_problem).hint
)::mnemo._problem END;
COMMENT ON FUNCTION mnemo._within(text, mnemo._problem) IS
    'The problem of a value that was given inside a parameter; NULL for NULL.';

CREATE FUNCTION mnemo._changes_problem(
    p_changes jsonb,
    p_level text
)
RETURNS mnemo._problem
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_probe mnemo.memory := mnemo._new_record('private', 'x', 'x', NULL);
    v_problem mnemo._problem := mnemo._object_problem('p_changes', p_changes,
        mnemo._change_keys(), 'keys are ' || array_to_string(mnemo._change_keys(), ', '));
    v_key text;
BEGIN
    IF v_problem.code IS NOT NULL THEN
        RETURN CASE v_problem.parameter WHEN 'p_changes' THEN v_problem
            ELSE mnemo._within('p_changes', v_problem) END;
    ELSIF p_changes = '{}' THEN
        RETURN mnemo._argument('p_changes', 'p_changes must name at least one change',
            'keys are ' || array_to_string(mnemo._change_keys(), ', '));
    END IF;
    FOREACH v_key IN ARRAY ARRAY['content', 'importance', 'tags', 'metadata', 'scope',
        'memory_type', 'consolidation_state', 'entities', 'aliases', 'status', 'valid_from',
        'temporal_scope', 'embedding', 'model']
    LOOP
        IF p_changes -> v_key = 'null' THEN
            RETURN mnemo._argument('p_changes', 'p_changes: ' || v_key || ' must not be null',
                'leave it out, or give it a value');
        END IF;
    END LOOP;
    v_probe.content := 'x';
    v_probe.memory_type := 'episodic';
    v_probe.source_type := 'agent';
    -- Before every time that valid_to could have: the record's own is looked at later.
    v_probe.valid_from := timestamptz '0001-01-01 00:00:00+00 BC';
    v_probe := jsonb_populate_record(v_probe, p_changes);
    RETURN mnemo._within('p_changes', mnemo._first_problem(ARRAY[
        mnemo._scope_problem(p_level, v_probe.scope),
        CASE WHEN v_probe.scope = 'global' THEN
            mnemo._argument('p_scope', 'scope of a record never becomes global',
                'remember it anew with scope global')
        END,
        CASE WHEN NOT mnemo._is_live_state(v_probe.consolidation_state) THEN
            mnemo._argument('p_consolidation_state',
                'consolidation_state must be one of raw, active, pending, consolidated; got '
                    || mnemo._shown(v_probe.consolidation_state),
                'mnemo.forget takes a record out of use')
        END,
        mnemo._embedding_problem(p_changes ->> 'embedding', p_changes ->> 'model'),
        mnemo._ttl_problem((p_changes ->> 'ttl')::interval),
        mnemo._memory_problem(v_probe)
    ]));
END
$fn$;
COMMENT ON FUNCTION mnemo._changes_problem(jsonb, text) IS
    'The first problem of the changes of mnemo.update_memory, whatever the record; NULL for none.';

CREATE FUNCTION mnemo._changed(
    p_record mnemo.memory,
    p_changes jsonb,
    OUT record mnemo.memory,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_key text;
    v_is_plan boolean := p_record.tags @> ARRAY[mnemo._reserved_tag()];
BEGIN
    IF v_is_plan THEN
        SELECT k.key INTO v_key
          FROM jsonb_object_keys(p_changes) AS k(key)
         WHERE k.key NOT IN ('tags', 'ttl', 'scope', 'embedding', 'model')
         ORDER BY k.key
         LIMIT 1;
        IF FOUND THEN
            problem := mnemo._argument('p_changes',
                'p_changes: ' || v_key || ' of a plan cannot be changed',
                'remember the plan anew with mnemo.remember_plan; tags, ttl, scope and embedding can '
                'be changed');
            RETURN;
        END IF;
    END IF;
    record := jsonb_populate_record(p_record, p_changes);
    IF v_is_plan AND p_changes ? 'tags' THEN
        record.tags := ARRAY[mnemo._reserved_tag()] || record.tags;
    END IF;
    IF p_changes ? 'ttl' THEN
        record.expires_at := now() + (p_changes ->> 'ttl')::interval;
    END IF;
    IF record.scope <> p_record.scope AND p_record.scope = 'global' THEN
        problem := mnemo._argument('p_changes', 'p_changes: scope of a global record stays global',
            'remember it anew in another scope');
    ELSIF record.valid_to <= record.valid_from THEN
        problem := mnemo._argument('p_changes', 'p_changes: valid_to must be after valid_from',
            'give both, or leave valid_to out');
    END IF;
    record := mnemo._normalised(record);
END
$fn$;
COMMENT ON FUNCTION mnemo._changed(mnemo.memory, jsonb) IS
    'A record after checked changes, hashed but otherwise as it was, or the problem that they have '
    'with it.';

CREATE FUNCTION mnemo._keep_version(
    p_record mnemo.memory,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    p_record.id := mnemo._new_id();
    p_record.nonce := uuid_send(gen_random_uuid());
    p_record.consolidation_state := 'archived';
    p_record.status := 'superseded';
    p_record.updated_at := now();
    p_record.content_hash := mnemo._content_hash(p_record);
    PERFORM mnemo._write_memories(ARRAY[p_record],
        CASE WHEN p_record.tags @> ARRAY[mnemo._reserved_tag()] THEN 'plan_write'
        ELSE 'memory_write' END, p_actor_org_id, p_actor_agent_id);
    RETURN p_record.id;
END
$fn$;
COMMENT ON FUNCTION mnemo._keep_version(mnemo.memory, text, text) IS
    'Writes a record that is about to be changed once more under an id of its own, archived, so '
    'that nothing recalls it, and returns that id.';

-- part: 426_update_memory.sql
CREATE FUNCTION mnemo._lock_changeable(
    p_id uuid,
    p_level text,
    p_org_id text,
    p_agent_id text,
    p_permission text
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], p_permission);
    SELECT m.* INTO v_record
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.id = p_id
       FOR UPDATE;
    -- Waiting for the lock, the agent may have lost the permission, or the record.
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], p_permission);
    IF p_level = 'tenant' AND v_record.org_id = '*' THEN
        PERFORM mnemo._raise_access('a tenant may not change a record of scope global',
            jsonb_build_object('parameter', 'p_id'), 'use a role of level application');
    END IF;
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_changeable(uuid, text, text, text, text) IS
    'Locks and returns a record on which the agent holds a permission. Raises MN001, 42501.';

CREATE FUNCTION mnemo._store_change(
    p_before mnemo.memory,
    p_after mnemo.memory,
    p_keys text[],
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    UPDATE mnemo.memory AS m
       SET scope = p_after.scope, memory_type = p_after.memory_type, content = p_after.content,
           importance = p_after.importance, tags = p_after.tags, metadata = p_after.metadata,
           consolidation_state = p_after.consolidation_state,
           quarantined = p_after.quarantined, quarantine_reason = p_after.quarantine_reason,
           version = p_after.version, prev_version_id = p_after.prev_version_id,
           created_at = p_after.created_at, updated_at = now(), expires_at = p_after.expires_at,
           kind = p_after.kind, subject = p_after.subject, predicate = p_after.predicate,
           entities = p_after.entities, aliases = p_after.aliases, location = p_after.location,
           confidence = p_after.confidence, status = p_after.status,
           valid_from = p_after.valid_from, valid_to = p_after.valid_to,
           temporal_scope = p_after.temporal_scope, content_hash = p_after.content_hash
     WHERE m.org_id = p_before.org_id AND m.id = p_before.id;
    PERFORM mnemo._write_event(p_after, 'memory_update', p_actor_org_id, p_actor_agent_id,
        mnemo._bound_changes(p_before, p_after) || jsonb_build_object('columns', p_keys));
    IF p_after.quarantined THEN
        PERFORM mnemo._write_quarantined(p_after, p_actor_org_id, p_actor_agent_id);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._store_change(mnemo.memory, mnemo.memory, text[], text, text) IS
    'Writes the state of a locked record after a change, and the events of it.';

CREATE FUNCTION mnemo._end_grants(
    p_record mnemo.memory,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_agents text[];
BEGIN
    WITH gone AS (
        DELETE FROM mnemo.acl AS a
         WHERE a.org_id = p_record.org_id AND a.memory_id = p_record.id
        RETURNING a.agent_id
    )
    SELECT array_agg(g.agent_id ORDER BY g.agent_id) INTO v_agents FROM gone AS g;
    IF v_agents IS NOT NULL THEN
        PERFORM mnemo._write_event(p_record, 'memory_unshare', p_actor_org_id, p_actor_agent_id,
            jsonb_build_object('agents', to_jsonb(v_agents)));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._end_grants(mnemo.memory, text, text) IS
    'Takes all grants on a record back, with the event of it.';

CREATE FUNCTION mnemo._index_change(
    p_record mnemo.memory
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_record.tags @> ARRAY[mnemo._reserved_tag()] THEN
        PERFORM mnemo._reindex_plan(p_record);
    ELSE
        PERFORM mnemo._reindex_terms(ARRAY[p_record]);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_change(mnemo.memory) IS
    'Derives anew what recall finds a changed record by, plan or memory, grants included.';

CREATE FUNCTION mnemo.update_memory(
    p_id uuid,
    p_changes jsonb,
    p_expected_version bigint DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, version bigint, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_before mnemo.memory;
    v_after mnemo.memory;
    v_changed record;
    v_keys text[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        CASE WHEN p_expected_version < 1 THEN
            mnemo._argument('p_expected_version',
                'p_expected_version must be 1 or more; got ' || p_expected_version,
                'pass the version that you read, or leave it out')
        END,
        mnemo._changes_problem(p_changes, v_caller.level)
    ]));
    v_before := mnemo._lock_changeable(p_id, v_caller.level, v_caller.org_id, v_caller.agent_id,
        CASE WHEN p_changes ? 'scope' THEN 'share' ELSE 'write' END);
    IF v_before.version <> p_expected_version THEN
        PERFORM mnemo._raise('MN002',
            format('p_id has version %s, not %s: somebody changed it', v_before.version,
                p_expected_version),
            jsonb_build_object('parameter', 'p_expected_version', 'ids', jsonb_build_array(p_id),
                'version', v_before.version),
            'read the record again, and decide on what it says now');
    END IF;
    v_changed := mnemo._changed(v_before, p_changes);
    PERFORM mnemo._raise_problem(v_changed.problem);
    v_after := v_changed.record;
    IF v_after IS NOT DISTINCT FROM v_before THEN
        PERFORM mnemo._store_embedding(
            p_changes ->> 'embedding', p_changes ->> 'model', v_before.org_id, v_before.id,
            v_before.tags @> ARRAY[mnemo._reserved_tag()]);
        RETURN QUERY
        SELECT v_before.id, v_before.version,
               CASE WHEN p_changes ? 'embedding' THEN 'updated' ELSE 'unchanged' END;
        RETURN;
    END IF;
    v_after.version := v_before.version + 1;
    IF v_after.content_hash <> v_before.content_hash THEN
        v_after.prev_version_id := mnemo._keep_version(v_before, v_caller.org_id,
            v_caller.agent_id);
        v_after.created_at := now();
        v_after.content_hash := mnemo._content_hash(v_after);
        v_after := mnemo._screen(v_after);
    END IF;
    v_keys := ARRAY(SELECT k.key FROM jsonb_object_keys(p_changes) AS k(key) ORDER BY k.key);
    PERFORM mnemo._store_change(v_before, v_after, v_keys, v_caller.org_id, v_caller.agent_id);
    IF v_after.scope = 'private' AND v_before.scope <> 'private' THEN
        PERFORM mnemo._end_grants(v_after, v_caller.org_id, v_caller.agent_id);
    END IF;
    PERFORM mnemo._index_change(v_after);
    IF v_after.content <> v_before.content THEN
        PERFORM mnemo._drop_embeddings(v_after.org_id, ARRAY[v_after.id]);
    END IF;
    PERFORM mnemo._store_embedding(
        p_changes ->> 'embedding', p_changes ->> 'model', v_after.org_id, v_after.id,
        v_after.tags @> ARRAY[mnemo._reserved_tag()]);
    RETURN QUERY
    SELECT v_after.id, v_after.version,
           CASE WHEN v_after.quarantined THEN 'quarantined' ELSE 'updated' END;
END
$fn$;
COMMENT ON FUNCTION mnemo.update_memory(uuid, jsonb, bigint, text, text) IS
    'Changes a record of which p_changes names the new values by key: content, importance, tags, '
    'metadata (as a whole), memory_type, consolidation_state (a live one), kind, subject, '
    'predicate, entities, aliases, location, confidence, status, valid_from, valid_to, '
    'temporal_scope, ttl (from now; null: for ever), scope (never from or to global; private ends '
    'all grants), embedding, model; of a plan tags, ttl, scope and embedding. The record keeps its id, owner, source and grants; '
    'version grows by one. Where its words change, created_at becomes now and what it said before '
    'is kept as an archived record, prev_version_id, which nothing recalls. Another content ends its '
    'embeddings; embedding (with model) gives it one, alone without a new version or event, so that '
    'old records can be given embeddings of a new model. p_expected_version: '
    'change it only if it has this version. Needs permission write, for scope share. Returns id, '
    'version, and status updated, unchanged (nothing would differ, nothing is written) or '
    'quarantined. Errors: 42501 no access, permission missing; MN001 unknown, gone or invisible '
    'record; MN002 another version; 22023 bad argument, reserved tag or key; 54000 over a limit; 55000 '
    'embedding given but not enabled.';

-- part: 427_remember_many.sql
CREATE FUNCTION mnemo._claim_keys(
    p_records mnemo.memory[],
    p_keys text[],
    p_places bigint[],
    p_on_error text
)
RETURNS TABLE (number bigint, id uuid, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_claim record;
    v_first mnemo.memory;
    v_problem mnemo._problem := mnemo._argument('p_idempotency_key',
        'p_idempotency_key was used for a plan', 'use another key');
    v_last text;
    v_pending mnemo.memory[];
BEGIN
    -- Callers with the same keys in any order claim them in one order.
    FOR v_claim IN
        SELECT c.key, c.number
          FROM unnest(p_keys) WITH ORDINALITY AS c(key, number)
         WHERE c.key IS NOT NULL
         ORDER BY c.key COLLATE "C", c.number
    LOOP
        number := v_claim.number;
        id := NULL;
        error := NULL;
        IF v_claim.key IS DISTINCT FROM v_last THEN
            v_pending := ARRAY[p_records[number]];
        END IF;
        v_first := mnemo._first_record(p_records[number], v_claim.key, v_pending);
        v_last := v_claim.key;
        IF v_first.tags @> ARRAY[mnemo._reserved_tag()] THEN
            IF p_on_error = 'abort' THEN
                PERFORM mnemo._raise_placed(v_problem, p_places[number]);
            END IF;
            status := 'failed';
            error := v_problem.code || ': ' || v_problem.message;
            RETURN NEXT;
        ELSIF v_first.id <> p_records[number].id THEN
            id := v_first.id;
            status := 'repeated';
            RETURN NEXT;
        END IF;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._claim_keys(mnemo.memory[], text[], bigint[], text) IS
    'Claims the idempotency keys of records of one owner that are about to be written. A row for '
    'each that is not to be written, by its number: repeated with the id that has the key, or '
    'failed where that is a plan (with p_on_error abort an error).';

CREATE FUNCTION mnemo.remember_many(
    p_records jsonb,
    p_on_error text DEFAULT 'abort',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE ("position" bigint, id uuid, stored boolean, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_base mnemo.memory;
    v_element record;
    v_read record;
    v_records mnemo.memory[] := '{}';
    v_places bigint[] := '{}';
    v_keys text[] := '{}';
    v_ids uuid[] := '{}';
    v_statuses text[] := '{}';
    v_errors text[] := '{}';
    v_claim record;
    v_free mnemo.memory[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._batch_problem('p_records', p_records, p_on_error));
    v_base := mnemo._new_record('private', v_caller.org_id, v_caller.agent_id, NULL);
    v_base.memory_type := 'episodic';
    v_base.source_type := 'agent';
    FOR v_element IN
        SELECT e.value, e.place
          FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(value, place)
    LOOP
        v_read := mnemo._record_of(v_element.value, v_base, v_caller.level);
        IF (v_read.problem).code IS NULL THEN
            v_records := array_append(v_records, v_read.record);
            v_places := array_append(v_places, v_element.place);
            v_keys := array_append(v_keys, v_element.value ->> 'idempotency_key');
            v_ids := array_append(v_ids, (v_read.record).id);
            v_statuses := array_append(v_statuses,
                CASE WHEN (v_read.record).quarantined THEN 'quarantined' ELSE 'stored' END);
            v_errors := array_append(v_errors, NULL);
        ELSIF p_on_error = 'abort' THEN
            PERFORM mnemo._raise_placed(v_read.problem, v_element.place);
        ELSE
            v_ids := array_append(v_ids, NULL);
            v_statuses := array_append(v_statuses, 'failed');
            v_errors := array_append(v_errors,
                (v_read.problem).code || ': ' || (v_read.problem).message);
        END IF;
    END LOOP;
    v_free := v_records;
    IF array_remove(v_keys, NULL) <> '{}' THEN
        FOR v_claim IN
            SELECT c.* FROM mnemo._claim_keys(v_records, v_keys, v_places, p_on_error) AS c
        LOOP
            v_ids[v_places[v_claim.number]] := v_claim.id;
            v_statuses[v_places[v_claim.number]] := v_claim.status;
            v_errors[v_places[v_claim.number]] := v_claim.error;
        END LOOP;
        v_free := '{}';
        FOR v_number IN 1..cardinality(v_records) LOOP
            IF v_statuses[v_places[v_number]] IN ('stored', 'quarantined') THEN
                v_free := array_append(v_free, v_records[v_number]);
            END IF;
        END LOOP;
    END IF;
    IF cardinality(v_free) > 0 THEN
        PERFORM mnemo._write_memories(v_free, 'memory_write');
        PERFORM mnemo._store_embeddings(array_agg(e.value ->> 'embedding'),
                   array_agg(e.value ->> 'model'), array_agg(r.org_id), array_agg(r.id))
           FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(value, place)
           JOIN unnest(v_free) AS r ON r.id = v_ids[e.place]
          WHERE e.value ->> 'embedding' IS NOT NULL
         HAVING count(*) > 0;
    END IF;
    RETURN QUERY
    SELECT a.place, a.id, a.status <> 'failed', a.status, a.error
      FROM unnest(v_ids, v_statuses, v_errors) WITH ORDINALITY AS a(id, status, error, place)
     ORDER BY a.place;
END
$fn$;
COMMENT ON FUNCTION mnemo.remember_many(jsonb, text, text, text) IS
    'Writes up to 10,000 memories of the acting agent in one call: an array of objects whose keys '
    'are the parameters of mnemo.remember without p_, times in ISO 8601 with their zone. One row an '
    'element, position from 1, status stored, quarantined, repeated or failed. p_on_error abort: '
    'the first bad element raises its error and nothing is written; skip: bad elements are '
    'reported with status failed and the error as SQLSTATE: message, the others are stored. '
    'Errors: those of mnemo.remember; 22023 no array, unknown key; 54000 over 10,000.';

-- part: 450_poisoning_words.sql
-- What texts that want to command an agent say. A pattern is matched with the text in lower case,
-- once as its words with single spaces between, before and after them, once as it stands.

CREATE TYPE mnemo._rule AS (
    name text,
    pattern text,
    weight double precision,
    applies_to text[],
    builtin boolean
);
COMMENT ON TYPE mnemo._rule IS
    'A rule of poisoning: name, regular expression (NULL for a rule that counts), what a hit adds, '
    'source types that it is asked for (NULL: all; plan stands for plans), whether the expression '
    'is built in.';

CREATE FUNCTION mnemo._untrusted_sources() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['tool_output', 'retrieval', 'model_response', 'import'];
COMMENT ON FUNCTION mnemo._untrusted_sources() IS
    'Source types whose words nobody chose on behalf of the agent or its people.';

CREATE FUNCTION mnemo._command_rules() RETURNS SETOF mnemo._rule
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 12
BEGIN ATOMIC
    SELECT v.name, v.pattern, v.weight, NULL::text[], true
      FROM (VALUES
        ('instruction_override', 0.7::double precision,
         ' (ignor(e|ing)|disregard(ing)?|forget(ting)?|overrid(e|ing)|bypass(ing)?)'
         ' ((all|any|every|everything|the|your|my|of|these|those|other|and|both) )*'
         '((previous|prior|earlier|above|preceding|existing|former|foregoing|system|safety'
         '|developer)(ly)? ([a-z]+ )?(instructions?|prompts?|rules?|guidelines?|directives?'
         '|directions|constraints|restrictions|policy|policies|commands?|orders|programming'
         '|messages?) '
         '|your (own )?(instructions|guidelines|rules|restrictions|programming|training|policies) '
         '|(above|before this|you (were|have been) told|i said|said (above|before)) '
         '|(instructions?|rules|guidelines|directives) ((that )?(you|were) |given |above '
         '|before ))'),
        ('instruction_override_de', 0.7,
         ' (ignorier[a-z]*|vergiss|vergessen sie|missachte[a-z]*|verwirf) '
         '((alle|samtliche|die|deine|ihre|jede|bitte|obigen) )*'
         '((vorherigen|bisherigen|obigen|vorigen|fruheren|vorangegangenen) )?'
         '(anweisung(en)?|instruktion(en)?|regeln|vorgaben|befehle|anordnungen) '),
        ('instruction_override_fr', 0.7,
         ' (ignore|ignorez|ignorer|oublie|oubliez|oublier) ((toutes|tous|les|tes|vos|ces|tout) )+'
         '(instructions|consignes|regles|directives) '),
        ('instruction_override_es', 0.7,
         ' (ignora|ignore|ignorar|ignorad|olvida|olvide|olvidar) '
         '((todas|todos|toda|las|los|tus|sus|as|le|tutte|anteriores) )+'
         '(instrucciones|reglas|indicaciones|directrices|instrucoes|regras|istruzioni|regole) '),
        ('instruction_override_zh', 0.7,
         E'(\\u5FFD\\u7565|\\u65E0\\u89C6|\\u5FD8\\u8BB0|\\u5FD8\\u6389|\\u4E0D\\u8981\\u7406\\u4F1A)'
         '[^ ]{0,10}(\\u6307\\u4EE4|\\u6307\\u793A|\\u63D0\\u793A\\u8BCD|\\u89C4\\u5219|\\u547D\\u4EE4)'),
        ('instruction_override_ja', 0.7,
         E'(\\u4EE5\\u524D|\\u3053\\u308C\\u307E\\u3067|\\u4E0A\\u8A18|\\u3059\\u3079\\u3066|\\u524D\\u306E)'
         '[^ ]{0,10}(\\u6307\\u793A|\\u547D\\u4EE4|\\u30EB\\u30FC\\u30EB)[^ ]{0,4}'
         '(\\u7121\\u8996|\\u5FD8\\u308C)'),
        ('prompt_leak', 0.6,
         ' (reveal|print|show|repeat|output|display|leak|expose|send|share|tell|give|recite|dump) '
         '((me|us|all|of|the|your|its|full|entire|hidden|secret|complete|initial|original|out) )*'
         '((system|hidden|secret|initial|developer|original) prompt'
         '|your ([a-z]+ )?instructions) '),
        ('unlocked_mode', 0.5,
         ' (developer|dan|god|jailbreak|jailbroken|unrestricted|unfiltered|admin) mode '
         '(is )?(now )?(enabled|activated|engaged|on) | do anything now '
         '|without (any )?(restrictions|guardrails) '
         '|(no longer|not) (bound|restricted) by '
         '([a-z]+ ){0,3}(rules|policies|guidelines|restrictions|instructions|limits) '),
        ('template_marker', 0.6,
         '<[|](im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)[|]>'
         '|[[]/?inst[]]|<</?sys>>|(^|[^#])###? ?(system|new instructions?)( prompt)? ?:'
         '|(^|[^a-z0-9])(system|assistant)[]]?: ?you (are|must|will|should) '),
        ('hidden_text', 0.6, E'[\\U000E0020-\\U000E007E]{8}')
      ) AS v(name, weight, pattern);
END;
COMMENT ON FUNCTION mnemo._command_rules() IS
    'Built-in rules for phrases that want to take an agent over, whatever their source.';

CREATE FUNCTION mnemo._address_rules() RETURNS SETOF mnemo._rule
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 6
BEGIN ATOMIC
    SELECT v.name, v.pattern, v.weight,
           mnemo._untrusted_sources() || CASE WHEN v.plans THEN ARRAY['plan'] ELSE '{}' END,
           true
      FROM (VALUES
        ('addressed_to_agent', true, 0.4::double precision,
         ' (dear|attention|note to|note for|message to|message for|instructions? to'
         '|instructions? for'
         '|notice to|hey|hello) ((the|any|all|every) )*(ai|llm|language model|agents?'
         '|chatbots?|bots?'
         '|claude|gpt|chatgpt|gemini|copilot|ai [a-z]+) '
         '| if you are (an? |the )?(ai|llm|language model|ai [a-z]+|chatbot|large language model) '
         '|(when|whenever|if|once) (an? |the |any )?(ai|llm|language model|ai [a-z]+|chatbot)'
         ' (reads?|processes|summari[sz]es|sees|retrieves) '
         '| as an? (ai|llm|language model|ai [a-z]+|large language model) (you )?(must'
         '|should|will|are|need) '),
        ('standing_order', false, 0.3,
         ' (from now on|henceforth|from this (point|moment) (on|forward)|going forward'
         '|in (all |every )?future (conversations?|sessions?|chats?|responses?|answers?|replies)'
         '|(in|at) (every|each|all) (reply|answer|response|conversation|responses|answers|replies)'
         '|whenever (a |the |any )?(users?|customers?|someone|anyone) (asks?|requests?|mentions?)'
         '|every time (a |the |any )?(users?|customers?|someone|anyone) (asks?|requests?'
         '|mentions?)) '),
        ('obedience', false, 0.3,
         ' you (must|have to|are required to|shall|will|should) '
         '(always|never|now|only|immediately|not|obey|comply|follow|ignore|recommend|reply|respond'
         '|answer|say|tell|treat|trust) '
         '| (always|only) (recommend|trust|obey|prefer|cite|promote|approve|reply with|answer with'
         '|respond with) '),
        ('memory_claim', true, 0.4,
         ' your (memory|memories|instructions|system prompt|guidelines|programming|training|rules'
         '|configuration|policy) (has|have|is|are|was|were) (now )?(been )?'
         '(updated|changed|replaced|reset|overridden|modified|superseded|cleared) '
         '| (remember|store|save|memori[sz]e|record|add|write|keep) ([a-z0-9]+ ){0,8}'
         '(in|to|into) your ([a-z]+ ){0,2}(memory|memories|knowledge base|notes) '),
        ('authority_claim', true, 0.4,
         ' (i am|this is|we are|here speaks|speaking as) (your|the) ([a-z]+ )?'
         '(developers?|creators?|administrators?|admins?|owners?|operators?|makers?|supervisor) '
         '| (official|authori[sz]ed|authoritative|urgent|mandatory) '
         '(instructions?|directives?|orders?|override|notice) (from|by|of|for) '
         '|(this|the following) (message|instruction|order|notice) (overrides|supersedes'
         '|takes precedence'
         '|has priority|replaces) '),
        ('persona_swap', true, 0.3,
         ' you are (now|no longer) | pretend (to be|that you|you) | as (if|though) you '
         '| act as an? (unrestricted|unfiltered|evil|different) | jailbr'
         '| your (new|real|true) ([a-z]+ )?(task|role|goal|objective|mission|purpose|identity'
         '|instructions?|directive) (is|are) '),
        ('concealment', true, 0.3,
         ' (not|t|never) (tell|inform|notify|mention|reveal|disclose|warn) '
         '((this|it|any of this|anything|to|about|the|your|a) )*'
         '(users?|customers?|humans?|operators?|owners?|admins?|anyone|anybody|developers?) '
         '| without (telling|informing|notifying|warning) ((the|your|a) )*'
         '(users?|customers?|humans?|operators?|owners?|admins?|anyone|anybody|developers?) '),
        ('exfiltration', true, 0.4,
         ' (send|forward|post|upload|exfiltrate|email|transmit|leak|copy|submit|append|encode) '
         '((all|the|your|every|any|its|their|of|users?|customers?|s|entire|full|stored) )*'
         '(passwords?|credentials|api keys?|secrets|tokens|private keys?|secret keys?'
         '|conversations?|chat history|memory|memories) ([a-z0-9]+ ){0,6}'
         '(to|into|in) (https?|www|the following|this|an? (url|address|server|webhook)|[a-z0-9]+ '
         '(com|net|org|io|example|ru|cn)) ')
      ) AS v(name, plans, weight, pattern);
END;
COMMENT ON FUNCTION mnemo._address_rules() IS
    'Built-in rules for texts that speak to the agent about itself; for untrusted sources alone, '
    'since people and agents may well give standing orders, and partly for plans, whose steps are '
    'orders.';

CREATE FUNCTION mnemo._counting_rules() RETURNS SETOF mnemo._rule
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 3
BEGIN ATOMIC
    SELECT v.name, NULL::text, 0.2::double precision,
           ARRAY['agent', 'tool_output', 'retrieval', 'model_response'], true
      FROM (VALUES ('importance_outlier'), ('length_outlier'), ('burst')) AS v(name);
END;
COMMENT ON FUNCTION mnemo._counting_rules() IS
    'Built-in rules that compare a record with the newest ones of its agent. Two of them together '
    'do not flag a record that says nothing suspicious.';

CREATE FUNCTION mnemo._builtin_rules() RETURNS SETOF mnemo._rule
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    SELECT * FROM mnemo._command_rules()
    UNION ALL
    SELECT * FROM mnemo._address_rules()
    UNION ALL
    SELECT * FROM mnemo._counting_rules();
END;
COMMENT ON FUNCTION mnemo._builtin_rules() IS
    'The rules of poisoning that are built in; poisoning_rule changes them.';

-- part: 451_poisoning_candidates.sql
-- Which built-in rules are worth asking: a regular expression of all of them would cost more than
-- the rest of a write, and looking for the parts that none of them can do without next to nothing.

CREATE FUNCTION mnemo._has(
    p_text text,
    p_part text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strpos(p_text COLLATE "C", p_part) > 0;
COMMENT ON FUNCTION mnemo._has(text, text) IS 'Whether a text contains another, byte by byte.';

CREATE FUNCTION mnemo._command_candidates(
    p_text text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    CASE WHEN mnemo._has(p_text, 'ignor') OR mnemo._has(p_text, 'disregard')
        OR mnemo._has(p_text, 'forget') OR mnemo._has(p_text, 'overrid')
        OR mnemo._has(p_text, 'bypass') THEN 'instruction_override' END,
    CASE WHEN mnemo._has(p_text, 'vergiss') OR mnemo._has(p_text, 'vergessen')
        OR mnemo._has(p_text, 'missacht') OR mnemo._has(p_text, 'verwirf')
        THEN 'instruction_override_de' END,
    CASE WHEN mnemo._has(p_text, ' oubli') THEN 'instruction_override_fr' END,
    CASE WHEN mnemo._has(p_text, ' olvid') THEN 'instruction_override_es' END,
    CASE WHEN mnemo._has(p_text, ' prompt ') OR mnemo._has(p_text, ' instructions ')
        THEN 'prompt_leak' END,
    CASE WHEN mnemo._has(p_text, 'developer mode') OR mnemo._has(p_text, ' dan mode')
        OR mnemo._has(p_text, ' god mode') OR mnemo._has(p_text, ' admin mode')
        OR mnemo._has(p_text, 'jailbr') OR mnemo._has(p_text, 'unrestricted mode')
        OR mnemo._has(p_text, 'unfiltered mode') OR mnemo._has(p_text, 'anything now')
        OR mnemo._has(p_text, 'restrict') OR mnemo._has(p_text, 'guardrails')
        OR mnemo._has(p_text, ' bound by') THEN 'unlocked_mode' END,
    CASE WHEN mnemo._has(p_text, '<|') OR mnemo._has(p_text, 'inst]')
        OR mnemo._has(p_text, 'sys>') OR mnemo._has(p_text, '###')
        OR mnemo._has(p_text, ': you') OR mnemo._has(p_text, ':you')
        THEN 'template_marker' END
];
COMMENT ON FUNCTION mnemo._command_candidates(text) IS
    'The rules of _command_rules that could match, NULL for each that could not, by parts that '
    'their patterns cannot do without. Who asks adds the languages where '
    'instruction_override is one, and the rules for other scripts where a text has them';

CREATE FUNCTION mnemo._address_candidates(
    p_text text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    CASE WHEN mnemo._has(p_text, ' ai ') OR mnemo._has(p_text, ' llm ')
        OR mnemo._has(p_text, ' language model ') OR mnemo._has(p_text, ' agent')
        OR mnemo._has(p_text, ' chatbot') OR mnemo._has(p_text, ' bot')
        OR mnemo._has(p_text, ' claude ') OR mnemo._has(p_text, ' gpt ')
        OR mnemo._has(p_text, ' chatgpt ') OR mnemo._has(p_text, ' gemini ')
        OR mnemo._has(p_text, ' copilot ') THEN 'addressed_to_agent' END,
    CASE WHEN mnemo._has(p_text, ' from now on ') OR mnemo._has(p_text, ' henceforth ')
        OR mnemo._has(p_text, ' from this ') OR mnemo._has(p_text, ' going forward ')
        OR mnemo._has(p_text, ' future ') OR mnemo._has(p_text, ' in every ')
        OR mnemo._has(p_text, ' in each ') OR mnemo._has(p_text, ' in all ')
        OR mnemo._has(p_text, ' at every ') OR mnemo._has(p_text, ' at each ')
        OR mnemo._has(p_text, ' at all ') OR mnemo._has(p_text, ' whenever ')
        OR mnemo._has(p_text, ' every time ') THEN 'standing_order' END,
    CASE WHEN mnemo._has(p_text, ' you must ') OR mnemo._has(p_text, ' you have to ')
        OR mnemo._has(p_text, ' you are required ') OR mnemo._has(p_text, ' you shall ')
        OR mnemo._has(p_text, ' you will ') OR mnemo._has(p_text, ' you should ')
        OR mnemo._has(p_text, ' always ') OR mnemo._has(p_text, ' only ') THEN 'obedience' END,
    CASE WHEN mnemo._has(p_text, ' your ') THEN 'memory_claim' END,
    CASE WHEN mnemo._has(p_text, ' i am ') OR mnemo._has(p_text, ' this is ')
        OR mnemo._has(p_text, ' we are ') OR mnemo._has(p_text, ' here speaks ')
        OR mnemo._has(p_text, ' speaking as ') OR mnemo._has(p_text, ' official ')
        OR mnemo._has(p_text, ' authori') OR mnemo._has(p_text, ' urgent ')
        OR mnemo._has(p_text, ' mandatory ') OR mnemo._has(p_text, 'this ')
        OR mnemo._has(p_text, 'following ') THEN 'authority_claim' END,
    CASE WHEN mnemo._has(p_text, ' you are n') OR mnemo._has(p_text, ' pretend ')
        OR mnemo._has(p_text, ' as if you ') OR mnemo._has(p_text, ' as though you ')
        OR mnemo._has(p_text, ' act as a') OR mnemo._has(p_text, ' jailbr')
        OR mnemo._has(p_text, ' your new ') OR mnemo._has(p_text, ' your real ')
        OR mnemo._has(p_text, ' your true ') THEN 'persona_swap' END,
    CASE WHEN mnemo._has(p_text, ' tell ') OR mnemo._has(p_text, ' inform ')
        OR mnemo._has(p_text, ' notify ') OR mnemo._has(p_text, ' mention ')
        OR mnemo._has(p_text, ' reveal ') OR mnemo._has(p_text, ' disclose ')
        OR mnemo._has(p_text, ' warn ') OR mnemo._has(p_text, ' telling ')
        OR mnemo._has(p_text, ' informing ') OR mnemo._has(p_text, ' notifying ')
        OR mnemo._has(p_text, ' warning ') THEN 'concealment' END,
    CASE WHEN mnemo._has(p_text, 'password') OR mnemo._has(p_text, 'credentials')
        OR mnemo._has(p_text, 'api key') OR mnemo._has(p_text, 'secret')
        OR mnemo._has(p_text, 'tokens') OR mnemo._has(p_text, 'private key')
        OR mnemo._has(p_text, 'conversation') OR mnemo._has(p_text, 'chat history')
        OR mnemo._has(p_text, ' memor') THEN 'exfiltration' END
];
COMMENT ON FUNCTION mnemo._address_candidates(text) IS
    'The rules of _address_rules that could match, NULL for each that could not';

-- part: 452_screen.sql
CREATE FUNCTION mnemo._screened_text(
    p_record mnemo.memory
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := p_record.content;
    v_words text COLLATE "C";
BEGIN
    IF p_record.tags <> '{}' OR p_record.entities <> '{}' OR p_record.aliases <> '{}' THEN
        v_text := v_text || E'\n' || array_to_string(p_record.tags, ', ') || E'\n'
            || array_to_string(p_record.entities, ', ') || E'\n'
            || array_to_string(p_record.aliases, ', ');
    END IF;
    IF p_record.subject IS NOT NULL OR p_record.predicate IS NOT NULL
        OR p_record.location IS NOT NULL
    THEN
        v_text := concat_ws(E'\n', v_text, p_record.subject, p_record.predicate,
            p_record.location);
    END IF;
    IF p_record.metadata <> '{}' THEN
        -- What JSON escapes would stick to the words beside it.
        v_text := v_text || E'\n' || regexp_replace(coalesce(
            -- Of a plan without what only repeats the query.
            mnemo._payload(p_record) - ARRAY['query', 'signature_tokens'], p_record.metadata)::text,
            E'\\\\(["\\\\/bfnrt]|u[0-9a-f]{4})', ' ', 'g');
    END IF;
    IF octet_length(v_text) = char_length(v_text) THEN
        v_text := lower(v_text);
        RETURN regexp_replace(' ' || v_text || ' ', '[^a-z0-9]+', ' ', 'g') || E'\n' || v_text;
    END IF;
    -- Characters that nobody sees keep no words apart.
    v_text := mnemo._fold_wide(regexp_replace(v_text,
        E'[\\u00AD\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u2064\\uFEFF]', '', 'g'));
    v_words := regexp_replace(' ' || v_text || ' ', mnemo._token_gap(), ' ', 'g');
    IF v_text ~ E'[\\u0370-\\u04FF\\uFF01-\\uFF5E\\U0001D400-\\U0001D7FF]' THEN
        -- Letters that look like Latin ones, as if they were.
        v_words := v_words || regexp_replace(' ' || translate(
            lower(normalize(v_text, NFKC)),
            E'\u0430\u0435\u043E\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u04BB\u0501\u051B'
            '\u043A\u043C\u0442\u0432\u043D\u03BF\u03B1\u03B5\u03B9\u03BA\u03BD\u03C1\u03C4\u03C5',
            'aeopcyxisjhdqkmtbhoaeikvptu') || ' ', '[^a-z0-9]+', ' ', 'g');
    END IF;
    RETURN v_words || E'\n' || v_text;
END
$fn$;
COMMENT ON FUNCTION mnemo._screened_text(mnemo.memory) IS
    'What the rules of poisoning read of a record: all that people or agents wrote in it, in lower '
    'case, first as words with single spaces, then as it stands.';

CREATE FUNCTION mnemo._candidates(
    p_text text,
    p_source text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_names text[] := array_remove(mnemo._command_candidates(p_text), NULL);
BEGIN
    IF p_source = 'plan' OR p_source = ANY (mnemo._untrusted_sources()) THEN
        v_names := v_names || array_remove(mnemo._address_candidates(p_text), NULL);
    END IF;
    IF 'instruction_override' = ANY (v_names) THEN
        v_names := v_names || ARRAY['instruction_override_de', 'instruction_override_fr',
            'instruction_override_es'];
    END IF;
    IF octet_length(p_text) <> char_length(p_text) THEN
        v_names := v_names || ARRAY['instruction_override_zh', 'instruction_override_ja',
            'hidden_text'];
    END IF;
    RETURN v_names;
END
$fn$;
COMMENT ON FUNCTION mnemo._candidates(text, text) IS
    'The built-in rules with a pattern that are worth asking about a text of this source.';

CREATE FUNCTION mnemo._rules_in_force(
    p_org_id text
)
RETURNS mnemo._rule[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT ROW(
                coalesce(b.name, c.name),
                coalesce(c.pattern, b.pattern),
                coalesce(c.weight, b.weight),
                coalesce(c.applies_to, b.applies_to),
                c.pattern IS NULL
            )::mnemo._rule
          FROM mnemo._builtin_rules() AS b
          FULL JOIN (
            -- Its own row of an organisation comes before that of the database.
            SELECT DISTINCT ON (r.name) r.*
              FROM mnemo.poisoning_rule AS r
             WHERE r.org_id IN (p_org_id, '*')
             ORDER BY r.name, r.org_id = '*'
          ) AS c ON c.name = b.name
         WHERE coalesce(c.enabled, true)
           -- A name that an earlier version had built in says nothing by itself.
           AND (b.name IS NOT NULL OR c.pattern IS NOT NULL AND c.weight IS NOT NULL)
         ORDER BY 1
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._rules_in_force(text) IS
    'The rules of poisoning that hold for an organisation, those that are switched off aside.';

CREATE FUNCTION mnemo._counted(
    p_record mnemo.memory
)
RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- The newest by the index, whatever the planner thinks of the table.
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_profile record;
BEGIN
    SELECT count(*) AS records, avg(n.importance) AS importance,
           stddev_pop(n.importance) AS importance_spread,
           avg(ln(n.length + 1)) AS length, stddev_pop(ln(n.length + 1)) AS length_spread,
           min(n.created_at) AS oldest
      INTO v_profile
      FROM (
        SELECT m.importance, octet_length(m.content)::double precision AS length, m.created_at
          FROM mnemo.memory AS m
         WHERE m.org_id = p_record.origin_org_id AND m.origin_org_id = p_record.origin_org_id
           AND m.agent_id = p_record.agent_id AND m.deleted_at IS NULL
           AND NOT m.tags @> ARRAY['__experience_plan__']
         ORDER BY m.created_at DESC, m.id DESC
         LIMIT 32
      ) AS n;
    IF v_profile.records < 20 THEN
        RETURN '{}';
    END IF;
    RETURN array_remove(ARRAY[
        CASE WHEN p_record.importance
                  > v_profile.importance + 3 * greatest(v_profile.importance_spread, 0.1)
             THEN 'importance_outlier' END,
        CASE WHEN ln(octet_length(p_record.content) + 1)
                  > v_profile.length + 3 * greatest(v_profile.length_spread, 0.5)
             THEN 'length_outlier' END,
        CASE WHEN v_profile.records = 32
              AND v_profile.oldest > clock_timestamp() - interval '10 seconds'
             THEN 'burst' END
    ], NULL);
END
$fn$;
COMMENT ON FUNCTION mnemo._counted(mnemo.memory) IS
    'The counting rules that a record hits, compared with the 32 newest memories of its agent: '
    'importance or length more than three standard deviations (at least 0.1, of the logarithm 0.5) '
    'above the mean, 32 of them within ten seconds. Nothing for an agent with fewer than 20.';

CREATE FUNCTION mnemo._hits(
    p_record mnemo.memory,
    p_source text,
    p_text text,
    p_candidates text[]
)
RETURNS mnemo._rule[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_rule mnemo._rule;
    v_hits mnemo._rule[] := '{}';
    v_counting mnemo._rule[] := '{}';
    v_score numeric := 0;
    v_possible numeric := 0;
    v_counted text[];
BEGIN
    FOREACH v_rule IN ARRAY mnemo._rules_in_force(p_record.origin_org_id) LOOP
        IF p_source = ANY (v_rule.applies_to) IS FALSE THEN
            CONTINUE;
        ELSIF v_rule.pattern IS NULL THEN
            CONTINUE WHEN v_rule.name = 'importance_outlier' AND p_record.importance < 0.8
                OR v_rule.name = 'length_outlier' AND octet_length(p_record.content) < 200;
            v_counting := array_append(v_counting, v_rule);
            v_possible := v_possible + v_rule.weight::numeric;
        ELSIF (NOT v_rule.builtin OR v_rule.name = ANY (p_candidates))
            AND p_text COLLATE "C" ~ v_rule.pattern
        THEN
            v_hits := array_append(v_hits, v_rule);
            v_score := v_score + v_rule.weight::numeric;
        END IF;
    END LOOP;
    -- The agent's records are looked at where they can make a difference only.
    IF v_score < 0.5 AND v_score + v_possible >= 0.5 THEN
        v_counted := mnemo._counted(p_record);
        v_hits := v_hits || ARRAY(
            SELECT r FROM unnest(v_counting) AS r WHERE r.name = ANY (v_counted));
    END IF;
    RETURN v_hits;
END
$fn$;
COMMENT ON FUNCTION mnemo._hits(mnemo.memory, text, text, text[]) IS
    'The rules of poisoning that a record hits. Those that count are asked where they can decide, of '
    'importance from 0.8 and of length from 200 bytes on.';

CREATE FUNCTION mnemo._screen(
    p_record mnemo.memory
)
RETURNS mnemo.memory
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_source text := CASE WHEN p_record.tags @> ARRAY['__experience_plan__'] THEN 'plan'
        ELSE p_record.source_type END;
    v_text text := mnemo._screened_text(p_record);
    v_candidates text[] := mnemo._candidates(v_text, v_source);
    v_reason text;
BEGIN
    -- Most records say nothing that a built-in rule could ask for. The rules that count reach the
    -- limit together alone, which takes a long text of great importance.
    IF v_candidates = '{}'
        AND (p_record.importance < 0.8 OR octet_length(p_record.content) < 200)
        AND NOT EXISTS (
            SELECT FROM mnemo.poisoning_rule AS r WHERE r.org_id IN (p_record.origin_org_id, '*')
        )
    THEN
        RETURN p_record;
    END IF;
    SELECT string_agg(h.name || ' ' || h.weight::numeric, ', ' ORDER BY h.weight DESC, h.name)
      INTO v_reason
      FROM unnest(mnemo._hits(p_record, v_source, v_text, v_candidates)) AS h
    HAVING sum(h.weight::numeric) >= 0.5;
    IF v_reason IS NOT NULL THEN
        p_record.quarantined := true;
        p_record.quarantine_reason := v_reason;
    END IF;
    RETURN p_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._screen(mnemo.memory) IS
    'A record that is about to be written, quarantined where the weights of the rules that it hits '
    'sum up to 0.5 or more; quarantine_reason then names the rules and their weights.';

-- part: 454_poisoning_admin.sql
CREATE FUNCTION mnemo._rule_name_problem(
    p_name text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF coalesce(p_name COLLATE "C" ~ '^[a-z][a-z0-9_]{0,62}$', false) THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._argument('p_name',
        'p_name must be 1 to 63 lower-case letters, digits or _, a letter first; got '
            || mnemo._shown(p_name),
        'mnemo.poisoning_rules lists the names that there are');
END
$fn$;
COMMENT ON FUNCTION mnemo._rule_name_problem(text) IS
    'The problem of an ill-formed name of a rule; NULL for none.';

CREATE FUNCTION mnemo._pattern_fault(
    p_pattern text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    -- Without what a backslash takes its meaning from.
    v_plain text COLLATE "C" := regexp_replace(p_pattern, E'\\\\.', '', 'g');
BEGIN
    IF mnemo._is_blank(p_pattern) THEN
        RETURN 'must not be blank';
    ELSIF p_pattern COLLATE "C" ~ E'\\\\[1-9]' THEN
        RETURN 'must not refer back to a group';
    ELSIF v_plain ~ '[(][?](?!:)' OR left(p_pattern, 3) = '***' THEN
        RETURN 'must not look ahead or behind, or set options';
    ELSIF v_plain ~ '[)][{]' THEN
        RETURN 'must not count how often a group repeats';
    ELSIF v_plain ~ '[{][0-9,]*([5-9][1-9]|[6-9]0|[0-9]{3})' THEN
        RETURN 'must not count repetitions above 50';
    ELSIF v_plain ~ '[A-Z]' THEN
        RETURN 'must be in lower case, as the text that it is matched with';
    END IF;
    -- The server finds out about the rest; this call is an administrator's alone.
    BEGIN
        IF '' ~ p_pattern OR ' ' ~ p_pattern THEN
            RETURN 'must not match an empty text: it would hold back every record';
        END IF;
    EXCEPTION WHEN invalid_regular_expression THEN
        RETURN 'must be a regular expression of PostgreSQL: ' || sqlerrm;
    END;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._pattern_fault(text) IS
    'What speaks against a pattern, as the end of a sentence; NULL for nothing. What is allowed '
    'takes time in proportion to the text.';

CREATE FUNCTION mnemo._applies_problem(
    p_applies_to text[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_problem mnemo._problem := mnemo._list_problem('p_applies_to', p_applies_to, 100, NULL,
        'source types');
    v_source text;
BEGIN
    IF p_applies_to IS NULL OR v_problem.code IS NOT NULL THEN
        RETURN v_problem;
    ELSIF cardinality(p_applies_to) = 0 THEN
        RETURN mnemo._argument('p_applies_to', 'p_applies_to must name at least one source type',
            'leave it out for all, or pass p_enabled => false');
    END IF;
    FOREACH v_source IN ARRAY p_applies_to LOOP
        IF v_source <> 'plan' AND NOT mnemo._is_label('source_type', v_source) THEN
            RETURN mnemo._argument('p_applies_to',
                format('p_applies_to must name source types (%s) or plan; got %s',
                    array_to_string(mnemo._labels('source_type'), ', '), mnemo._shown(v_source)),
                'plan stands for plans, whose source type is system');
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._applies_problem(text[]) IS
    'The problem of a list of source types of a rule; NULL, for NULL too, for none.';

CREATE FUNCTION mnemo._rule_problem(
    p_name text,
    p_pattern text,
    p_weight double precision,
    p_applies_to text[],
    p_enabled boolean,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_builtin mnemo._rule;
    v_fault text;
BEGIN
    SELECT b.* INTO v_builtin FROM mnemo._builtin_rules() AS b WHERE b.name = p_name;
    IF p_pattern IS NOT NULL AND length(p_pattern) <= 1000 THEN
        v_fault := mnemo._pattern_fault(p_pattern);
    END IF;
    RETURN mnemo._first_problem(ARRAY[
        mnemo._rule_name_problem(p_name),
        CASE WHEN p_org_id <> '*' THEN mnemo._identifier_problem('p_org_id', p_org_id) END,
        CASE WHEN v_fault IS NOT NULL THEN
            mnemo._argument('p_pattern', 'p_pattern ' || v_fault,
                'words with single spaces between them, such as '' buy (gold|silver) now ''')
        END,
        CASE WHEN v_builtin.name IS NULL AND p_pattern IS NULL THEN
            mnemo._argument('p_pattern',
                'p_pattern must not be NULL: no rule ' || p_name || ' is built in',
                'pass a regular expression')
        WHEN v_builtin.name IS NOT NULL AND v_builtin.pattern IS NULL AND p_pattern IS NOT NULL THEN
            mnemo._argument('p_pattern', 'p_pattern cannot be given for ' || p_name
                || ', which counts and reads no words', 'leave it out')
        END,
        CASE WHEN v_builtin.name IS NULL AND p_weight IS NULL THEN
            mnemo._argument('p_weight',
                'p_weight must not be NULL: no rule ' || p_name || ' is built in',
                'pass what a hit adds, from 0 to 1; records are held back from 0.5 on')
        END,
        mnemo._fraction_problem('p_weight', p_weight),
        mnemo._applies_problem(p_applies_to),
        CASE WHEN p_enabled IS NULL THEN
            mnemo._argument('p_enabled', 'p_enabled must not be NULL', 'pass true or false')
        END,
        mnemo._length_problem('p_pattern', p_pattern, 1000),
        CASE WHEN (
            SELECT count(*)
              FROM mnemo.poisoning_rule AS r
             WHERE r.org_id = p_org_id AND r.name <> p_name
        ) >= 100 THEN
            mnemo._limit('p_name', 'there are 100 rules already, at most 100 are allowed',
                'remove one with mnemo.remove_poisoning_rule, or join patterns with |')
        END
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._rule_problem(
    text, text, double precision, text[], boolean, text
) IS 'The first problem of the arguments of mnemo.set_poisoning_rule; NULL for none.';

CREATE FUNCTION mnemo.set_poisoning_rule(
    p_name text,
    p_pattern text DEFAULT NULL,
    p_weight double precision DEFAULT NULL,
    p_applies_to text[] DEFAULT NULL,
    p_enabled boolean DEFAULT true,
    p_org_id text DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_org_id text := coalesce(p_org_id, '*');
BEGIN
    PERFORM mnemo._require_admin();
    IF p_org_id = '*' THEN
        PERFORM mnemo._check_identity('x', p_org_id);
    END IF;
    PERFORM mnemo._raise_problem(mnemo._rule_problem(
        p_name, p_pattern, p_weight, p_applies_to, p_enabled, v_org_id));
    INSERT INTO mnemo.poisoning_rule AS r (
        org_id, name, pattern, weight, applies_to, enabled, updated_at
    )
    VALUES (v_org_id, p_name, p_pattern, p_weight,
        CASE WHEN p_applies_to IS NOT NULL THEN mnemo._distinct(p_applies_to) END, p_enabled, now())
    ON CONFLICT ON CONSTRAINT poisoning_rule_pkey DO UPDATE
       SET pattern = excluded.pattern, weight = excluded.weight,
           applies_to = excluded.applies_to, enabled = excluded.enabled,
           updated_at = excluded.updated_at;
END
$fn$;
COMMENT ON FUNCTION mnemo.set_poisoning_rule(
    text, text, double precision, text[], boolean, text
) IS
    'Adds a rule against poisoning, or changes one, for the database or (p_org_id) one '
    'organisation, whose rule of the same name then counts instead. The name of a built-in rule '
    'changes that: what is NULL stays built in. p_pattern: regular expression, matched with the '
    'text in lower case, once as words with single spaces between, before and after them, once as '
    'it stands; up to 1,000 characters, without references back, looking ahead or behind, counted '
    'groups, and counts above 50, so that a match takes time in proportion to the text. p_weight: '
    'what a hit adds, 0 to 1; from 0.5 on a record is held back. p_applies_to: source types, and '
    'plan for plans; NULL for all. p_enabled false switches it off. At most 100. Records that are '
    'there are not looked at again. Level admin only. Errors: 42501 not an administrator; 22023 '
    'bad argument; 54000 over a limit.';

CREATE FUNCTION mnemo.remove_poisoning_rule(
    p_name text,
    p_org_id text DEFAULT NULL
)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    IF p_org_id IS NOT NULL THEN
        PERFORM mnemo._check_identity('x', p_org_id);
    END IF;
    PERFORM mnemo._raise_problem(mnemo._rule_name_problem(p_name));
    DELETE FROM mnemo.poisoning_rule AS r
     WHERE r.org_id = coalesce(p_org_id, '*') AND r.name = p_name;
    RETURN FOUND;
END
$fn$;
COMMENT ON FUNCTION mnemo.remove_poisoning_rule(text, text) IS
    'Takes back what mnemo.set_poisoning_rule set for the database or one organisation; a built-in '
    'rule is then as it was. True if there was something. Level admin only. Errors: 42501 not an '
    'administrator; 22023 bad argument.';

CREATE FUNCTION mnemo.poisoning_rules(
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    name text,
    pattern text,
    weight double precision,
    applies_to text[],
    enabled boolean,
    origin text
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 30
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    IF p_org_id IS NOT NULL THEN
        PERFORM mnemo._check_identity('x', p_org_id);
    END IF;
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY coalesce(b.name, c.name) COLLATE "C"),
           coalesce(b.name, c.name), coalesce(c.pattern, b.pattern), coalesce(c.weight, b.weight),
           coalesce(c.applies_to, b.applies_to), coalesce(c.enabled, true),
           CASE WHEN c.name IS NULL THEN 'builtin' WHEN c.org_id = '*' THEN 'database'
           ELSE 'organisation' END
      FROM mnemo._builtin_rules() AS b
      FULL JOIN (
        SELECT DISTINCT ON (r.name) r.*
          FROM mnemo.poisoning_rule AS r
         WHERE r.org_id IN (p_org_id, '*')
         ORDER BY r.name, r.org_id = '*'
      ) AS c ON c.name = b.name
     ORDER BY 1;
END
$fn$;
COMMENT ON FUNCTION mnemo.poisoning_rules(text) IS
    'The rules against poisoning of the database, or of one organisation, by name: pattern (NULL: '
    'the rule counts), weight, source types that it applies to (NULL: all), whether it is switched '
    'on, and where it is from: builtin, or what an administrator set for the database or the '
    'organisation. Level admin only. Errors: 42501 not an administrator; 22023 ill-formed '
    'organisation.';

-- part: 470_terms.sql
-- The terms of a text: its words in lower case, without accents and plurals, pairs of characters for
-- scripts without spaces, identifiers whole and in parts. As for signatures the rules work on the
-- whole text, words being kept apart by single spaces.

CREATE FUNCTION mnemo._terms_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 2;
COMMENT ON FUNCTION mnemo._terms_version() IS
    'Version of the rules of _terms and _record_terms, kept with each record; it grows whenever a '
    'record could get other terms. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._fold_wide(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := p_text;
BEGIN
    IF v_text ~ ('[^' || mnemo._unicode_stable() || ']') THEN
        v_text := mnemo._pin(v_text);
    END IF;
    v_text := mnemo._lower(v_text);
    IF v_text ~ E'[\\u00E0-\\u017E]' THEN
        RETURN translate(v_text,
            E'\u00E0\u00E1\u00E2\u00E3\u00E4\u00E5\u00E7\u00E8\u00E9\u00EA\u00EB\u00EC\u00ED'
            '\u00EE\u00EF\u00F1\u00F2\u00F3\u00F4\u00F5\u00F6\u00F9\u00FA\u00FB\u00FC\u00FD'
            '\u00FF\u0101\u0103\u0105\u0107\u0109\u010B\u010D\u010F\u0113\u0115\u0117\u0119'
            '\u011B\u011D\u011F\u0121\u0123\u0125\u0129\u012B\u012D\u012F\u0135\u0137\u013A'
            '\u013C\u013E\u0144\u0146\u0148\u014D\u014F\u0151\u0155\u0157\u0159\u015B\u015D'
            '\u015F\u0161\u0163\u0165\u0169\u016B\u016D\u016F\u0171\u0173\u0175\u0177\u017A'
            '\u017C\u017E',
            'aaaaaaceeeeiiiinooooouuuuyyaaaccccdeeeeegggghiiiijklllnnnooorrrssssttuuuuuuwyzzz');
    END IF;
    RETURN v_text;
END
$fn$;
COMMENT ON FUNCTION mnemo._fold_wide(text) IS
    'A text in the normal form NFC of Unicode 14.0 and in lower case, Latin letters without their '
    'accents (U+00E0 to U+017E). NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._fold_plurals(
    p_tokens text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- The singular is changed alike where the plural does not tell it: movie and movies give movy, cache
-- and caches cach. What counts is that both become one.
-- The last rule is the common one; the first expression asks whether others apply.
RETURN regexp_replace(
    CASE WHEN p_tokens COLLATE "C" ~ '(?:i|o|ss|sh|ch|us|x|z)es? '
    THEN regexp_replace(regexp_replace(regexp_replace(
        p_tokens COLLATE "C",
        ' ([a-z]{2,})ies?(?= )', E' \\1y', 'g'),
        ' ([a-z]{2,}o)es?(?= )', E' \\1', 'g'),
        ' ([a-z]+(?:ss|sh|ch|us|x|z))es?(?= )', E' \\1', 'g')
    ELSE p_tokens COLLATE "C" END,
    ' ([a-z]{2,}[a-hj-rtv-z])s(?= )', E' \\1', 'g');
COMMENT ON FUNCTION mnemo._fold_plurals(text) IS
    'Tokens with one space before, between and after them, English plurals and singulars made one; '
    'only words of four ASCII letters or more, and nothing but their endings. NULL gives NULL. '
    'Raises nothing.';

CREATE FUNCTION mnemo._pairs(
    p_tokens text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT array_agg(CASE WHEN t.after = ' ' THEN t.letter ELSE t.letter || t.after END)
      FROM (
        SELECT string_to_array(' ' || string_agg(m.run[1], ' ') || ' ', NULL) AS letters
          FROM regexp_matches(p_tokens COLLATE "C", mnemo._unspaced_run(), 'g') AS m(run)
      ) AS r
     CROSS JOIN unnest(r.letters, r.letters[2:], r.letters[3:]) AS t(before, letter, after)
     WHERE t.letter <> ' '
       AND (t.after <> ' ' OR t.before = ' ')
);
COMMENT ON FUNCTION mnemo._pairs(text) IS
    'The pairs of neighbours in the runs of scripts without spaces; the character itself for a run '
    'of one. NULL for none. Raises nothing.';

CREATE FUNCTION mnemo._identifiers(
    p_text text,
    p_gap text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT i.name
          FROM (
            SELECT btrim(t.piece, '_./:@#-') AS name
              FROM unnest(string_to_array(
                    regexp_replace(p_text COLLATE "C", p_gap, ' ', 'g'), ' ')) AS t(piece)
             WHERE length(t.piece) BETWEEN 3 AND 256
          ) AS i
         WHERE i.name COLLATE "C" ~ '[_./:@#-]' AND i.name COLLATE "C" ~ '[0-9_.@]'
           AND i.name COLLATE "C" !~ ('[' || mnemo._unicode_unspaced() || ']')
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._identifiers(text, text) IS
    'The identifiers in a folded text, whole: words joined by any of - _ . / : @ # with a digit, a '
    'dot, an underscore or an @ among them. p_gap: pattern for what stands between them. Raises '
    'nothing.';

CREATE FUNCTION mnemo._terms(
    p_text text
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_wide boolean := octet_length(p_text) <> char_length(p_text);
    v_text text COLLATE "C";
    v_tokens text COLLATE "C";
    v_terms text[];
BEGIN
    IF p_text IS NULL THEN
        RETURN '{}';
    END IF;
    IF v_wide THEN
        v_text := mnemo._fold_wide(p_text);
        v_tokens := regexp_replace(' ' || v_text || ' ', mnemo._token_gap(), ' ', 'g');
        IF v_tokens ~ ('[' || mnemo._unicode_unspaced() || ']') THEN
            v_terms := mnemo._pairs(v_tokens);
            v_tokens := regexp_replace(v_tokens, '(?:' || mnemo._unspaced_run() || '| )+', ' ', 'g');
        END IF;
    ELSE
        v_text := lower(p_text COLLATE "C");
        v_tokens := regexp_replace(' ' || v_text || ' ', '[^a-z0-9]+', ' ', 'g');
    END IF;
    v_terms := string_to_array(btrim(mnemo._fold_plurals(v_tokens), ' '), ' ') || v_terms;
    IF v_text ~ '[^ ][_./:@#-][^ ]' THEN
        RETURN v_terms || mnemo._identifiers(v_text,
            CASE WHEN v_wide
            THEN '[^' || mnemo._unicode_word() || mnemo._unicode_hangul() || mnemo._unicode_mark()
                || E'\\u302E\\u302F_./:@#-]+'
            ELSE '[^a-z0-9_./:@#-]+' END);
    END IF;
    RETURN v_terms;
END
$fn$;
COMMENT ON FUNCTION mnemo._terms(text) IS
    'The terms of a text, with repetitions, stop words included: words in lower case without accents '
    'and English plurals, pairs of characters of scripts without spaces, identifiers whole besides '
    'their parts. The same on every server and in every locale. Empty for NULL. Raises nothing.';

-- part: 471_term_words.sql
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

-- part: 472_facet_terms.sql
-- The facets of a record as terms: names, subject, attribute and the pair of both. They stand in the
-- same lists as words and follow them through sharing, forgetting and restoring; a text in which a
-- space stands is never a word, so the two never meet.

CREATE FUNCTION mnemo._fold_lines(
    p_lines text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_lines text COLLATE "C" := ' ' || replace(p_lines, E'\n', E' \n ') || ' ';
BEGIN
    -- With the flag n a class of other characters leaves out the end of a line.
    IF octet_length(v_lines) = char_length(v_lines) THEN
        v_lines := regexp_replace(lower(v_lines), '[^a-z0-9]+', ' ', 'gn');
    ELSE
        v_lines := regexp_replace(mnemo._fold_wide(v_lines), mnemo._token_gap(), ' ', 'gn');
    END IF;
    RETURN mnemo._fold_plurals(v_lines);
END
$fn$;
COMMENT ON FUNCTION mnemo._fold_lines(text) IS
    'The words of each line of a text, folded as _terms folds them, with one space before, between '
    'and after them; scripts without spaces stay whole. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._bare_names(
    p_lines text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    regexp_replace(
        p_lines COLLATE "C",
        '^ (?:(?:my|our|your|his|her|their|the|a|an) )+(?=[^ ])|(?<=[^ ]) s $', ' ', 'gn'),
    '^ (?:i|me|my|mine|myself|user) $', ' user ', 'gn');
COMMENT ON FUNCTION mnemo._bare_names(text) IS
    'Names for comparing, from the lines that _fold_lines gave: without articles and possessives '
    'before them and the s of a genitive behind them, so that my wife and wife are one; user for the '
    'words by which a user means himself. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._fold_phrase(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN btrim(mnemo._fold_lines(replace(p_text, E'\n', ' ')), ' ');
COMMENT ON FUNCTION mnemo._fold_phrase(text) IS
    'The words of a text, folded as _terms folds them, with one space between them; scripts without '
    'spaces stay whole. Empty without words. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._fold_name(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN nullif(btrim(mnemo._bare_names(mnemo._fold_lines(replace(p_text, E'\n', ' '))), ' '), '');
COMMENT ON FUNCTION mnemo._fold_name(text) IS
    'A name, subject or entity for comparing, see _bare_names; NULL for a text without words and for '
    'NULL. Raises nothing.';

CREATE FUNCTION mnemo._name_term(
    p_name text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('name ' || p_name);
COMMENT ON FUNCTION mnemo._name_term(text) IS
    'The term of the records that have a name, given as _fold_name gives it, as subject, entity or '
    'alias. NULL gives NULL.';

CREATE FUNCTION mnemo._about_term(
    p_name text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('about ' || p_name);
COMMENT ON FUNCTION mnemo._about_term(text) IS
    'The term of the records about a subject, given as _fold_name gives it. NULL gives NULL.';

CREATE FUNCTION mnemo._attribute_term(
    p_predicate text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('attribute ' || p_predicate);
COMMENT ON FUNCTION mnemo._attribute_term(text) IS
    'The term of the records with a canonical predicate. NULL gives NULL.';

CREATE FUNCTION mnemo._pair_term(
    p_name text,
    p_predicate text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('pair ' || p_predicate || ' ' || p_name);
COMMENT ON FUNCTION mnemo._pair_term(text, text) IS
    'The term of the records about a subject, given as _fold_name gives it, with a canonical '
    'predicate. NULL where one of them is.';

CREATE FUNCTION mnemo._own_term(
    p_about bigint,
    p_word bigint
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Turned by 17 bits, so that the two do not change places.
RETURN ((p_about << 17) | ((p_about >> 47) & 131071)) # p_word;
COMMENT ON FUNCTION mnemo._own_term(bigint, bigint) IS
    'The term of the records about a subject (p_about: _about_term) that have a word (p_word: its '
    'hash) in their predicate, tags or aliases. NULL where one of them is.';

CREATE FUNCTION mnemo._facet_terms(
    p_record mnemo.memory,
    p_words bigint[],
    p_word_weights integer[],
    OUT terms bigint[],
    OUT weights integer[]
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    WITH name AS MATERIALIZED (
        SELECT nullif(btrim(n.name, ' '), '') AS name, n.place
          FROM unnest(string_to_array(mnemo._bare_names(mnemo._fold_lines((
                SELECT string_agg(replace(u.name, E'\n', ' '), E'\n' ORDER BY u.place)
                  FROM unnest(coalesce(p_record.subject, '') || p_record.aliases
                        || p_record.entities) WITH ORDINALITY AS u(name, place)
            ))), E'\n')) WITH ORDINALITY AS n(name, place)
    ), subject AS MATERIALIZED (
        SELECT n.name, mnemo._about_term(n.name) AS about FROM name AS n WHERE n.place = 1
    )
    SELECT array_agg(f.term ORDER BY f.term), array_agg(f.weight ORDER BY f.term)
      INTO terms, weights
      FROM (
        SELECT mnemo._name_term(n.name) AS term,
               CASE WHEN min(n.place) = 1 THEN 30
                    WHEN min(n.place) <= 1 + cardinality(p_record.aliases) THEN 20
                    ELSE 10 END AS weight
          FROM name AS n
         WHERE n.name IS NOT NULL
         GROUP BY n.name
        UNION ALL
        SELECT t.term, 10
          FROM subject AS s
          CROSS JOIN unnest(ARRAY[
                s.about, mnemo._attribute_term(p_record.predicate),
                mnemo._pair_term(s.name, p_record.predicate)
            ]) AS t(term)
         WHERE t.term IS NOT NULL
        UNION ALL
        SELECT mnemo._own_term(s.about, w.term), w.weight
          FROM subject AS s
          CROSS JOIN unnest(p_words, p_word_weights) AS w(term, weight)
         WHERE s.about IS NOT NULL
      ) AS f;
END
$fn$;
COMMENT ON FUNCTION mnemo._facet_terms(mnemo.memory, bigint[], integer[]) IS
    'The terms of a record''s facets: of each of its names (weight 30 as subject, 20 as alias, 10 as '
    'entity), of its subject, of its predicate and of both, and of its subject with each of the words '
    'given. NULL for none.';

CREATE FUNCTION mnemo._record_terms(
    p_record mnemo.memory,
    OUT terms bigint[],
    OUT weights integer[],
    OUT length integer
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_words bigint[];
    v_word_weights integer[];
BEGIN
    SELECT coalesce(array_agg(h.hash ORDER BY h.hash), '{}'),
           coalesce(array_agg(h.weight ORDER BY h.hash), '{}'),
           coalesce(sum(h.occurrences), 0),
           array_agg(h.hash) FILTER (WHERE h.facet), array_agg(h.weight) FILTER (WHERE h.facet)
      INTO terms, weights, length, v_words, v_word_weights
      FROM (
        SELECT mnemo._hash64(t.term) AS hash, t.weight, t.occurrences, t.facet
          FROM (
            SELECT u.term, least(sum(f.weight), 1000000)::integer AS weight,
                   count(*) AS occurrences, bool_or(f.facet) AS facet
              FROM (VALUES
                    (10, p_record.content, false),
                    (30, p_record.subject, false),
                    (30, array_to_string(p_record.entities, ' '), false),
                    (25, array_to_string(p_record.aliases, ' '), true),
                    (22, p_record.predicate, true),
                    (20, array_to_string(p_record.tags, ' '), true),
                    (15, p_record.location, false)
                ) AS f(weight, words, facet)
              CROSS JOIN LATERAL unnest(mnemo._terms(f.words)) AS u(term)
             WHERE f.words <> '' AND u.term COLLATE "C" <> ALL (mnemo._stop_words())
             GROUP BY u.term
             ORDER BY weight DESC, u.term COLLATE "C"
             LIMIT 20000
          ) AS t
      ) AS h;
    IF p_record.subject IS NOT NULL OR p_record.predicate IS NOT NULL
        OR p_record.entities <> '{}' OR p_record.aliases <> '{}'
    THEN
        SELECT _record_terms.terms || f.terms, _record_terms.weights || f.weights
          INTO terms, weights
          FROM mnemo._facet_terms(p_record, v_words, v_word_weights) AS f;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._record_terms(mnemo.memory) IS
    'The hashes of a record''s terms, the weight of each in tenths (subject and entities 30, aliases '
    '25, predicate 22, tags 20, location 15, content 10, summed over occurrences), and the number of '
    'words; then the terms of _facet_terms, which count as no words. Of more than 20,000 terms of '
    'words the heaviest are kept. Empty for a redacted record.';

-- part: 475_term_statistics.sql
CREATE FUNCTION mnemo._compact_terms(
    p_org_id text
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_folded bigint;
    v_unused bigint[];
BEGIN
    -- One at a time, and nobody waits: what another is folding in is left to it. Under a snapshot of
    -- the whole transaction, rows that another has folded in would be an error.
    IF current_setting('transaction_isolation') <> 'read committed'
        OR NOT pg_try_advisory_xact_lock(mnemo._hash64('term statistics ' || p_org_id))
    THEN
        RETURN 0;
    END IF;
    WITH gone AS MATERIALIZED (
        DELETE FROM mnemo.term_change AS c WHERE c.org_id = p_org_id
        RETURNING c.records, c.length, c.terms, c.counts
    ), total AS (
        INSERT INTO mnemo.term_total AS t (org_id, records, length)
        SELECT p_org_id, sum(g.records), sum(g.length) FROM gone AS g HAVING count(*) > 0
        ON CONFLICT ON CONSTRAINT term_total_pkey DO UPDATE
           SET records = t.records + excluded.records, length = t.length + excluded.length
    ), frequency AS (
        INSERT INTO mnemo.term_frequency AS f (org_id, term, records)
        SELECT p_org_id, u.term, sum(u.count)
          FROM gone AS g CROSS JOIN LATERAL unnest(g.terms, g.counts) AS u(term, count)
         GROUP BY u.term
        HAVING sum(u.count) <> 0
         ORDER BY u.term
        ON CONFLICT ON CONSTRAINT term_frequency_pkey DO UPDATE
           SET records = f.records + excluded.records
        RETURNING f.term, f.records
    )
    SELECT (SELECT count(*) FROM gone),
           (SELECT array_agg(f.term) FROM frequency AS f WHERE f.records = 0)
      INTO v_folded, v_unused;
    -- A term that nobody's record has any more leaves no trace.
    IF v_unused IS NOT NULL THEN
        DELETE FROM mnemo.term_frequency AS f
         WHERE f.org_id = p_org_id AND f.term = ANY (v_unused);
    END IF;
    RETURN v_folded;
END
$fn$;
COMMENT ON FUNCTION mnemo._compact_terms(text) IS
    'Folds the rows of term_change of an organisation into its statistics and returns how many there '
    'were. Never waits: 0 when another transaction is at it, or under another isolation level than '
    'read committed. The statistics are the same before and after.';

-- part: 476_term_index.sql
CREATE FUNCTION mnemo._change_terms(
    p_org_id text,
    p_records bigint,
    p_length bigint,
    p_terms bigint[],
    p_counts bigint[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    INSERT INTO mnemo.term_change (org_id, id, records, length, terms, counts)
    VALUES (p_org_id, mnemo._new_id(), p_records, p_length, coalesce(p_terms, '{}'),
        coalesce(p_counts, '{}'));
    -- So that readers never add up many: large changes at once, small ones by the dozen.
    IF abs(p_records) >= 64 OR (
        SELECT count(*) FROM (
            SELECT FROM mnemo.term_change AS c WHERE c.org_id = p_org_id LIMIT 64
        ) AS c
    ) >= 64 THEN
        PERFORM mnemo._compact_terms(p_org_id);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._change_terms(text, bigint, bigint, bigint[], bigint[]) IS
    'Writes a change of the statistics of an organisation: by how many records, words and records of '
    'each term it grew. Folds in what has piled up.';

CREATE FUNCTION mnemo._index_record(
    p_record mnemo.memory
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_terms bigint[];
    v_weights integer[];
    v_length integer;
    v_audience bigint := mnemo._plan_audience(p_record, NULL);
BEGIN
    SELECT t.terms, t.weights, t.length INTO v_terms, v_weights, v_length
      FROM mnemo._record_terms(p_record) AS t;
    INSERT INTO mnemo.term_vector (org_id, memory_id, terms, weights, length, rules_version)
    VALUES (p_record.org_id, p_record.id, v_terms, v_weights, v_length, mnemo._terms_version());
    INSERT INTO mnemo.term_posting (org_id, key, weight, shortness, memory_id)
    SELECT p_record.org_id, v_audience # u.term, u.weight, -v_length, p_record.id
      FROM unnest(v_terms, v_weights) AS u(term, weight);
    PERFORM mnemo._change_terms(p_record.org_id, 1, v_length, v_terms,
        array_fill(1::bigint, ARRAY[cardinality(v_terms)]));
END
$fn$;
COMMENT ON FUNCTION mnemo._index_record(mnemo.memory) IS
    'As _index_terms, for one record: cheaper than a set of one.';

CREATE FUNCTION mnemo._index_terms(
    p_records mnemo.memory[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_change record;
BEGIN
    IF cardinality(p_records) = 1 THEN
        IF NOT p_records[1].tags @> ARRAY['__experience_plan__'] THEN
            PERFORM mnemo._index_record(p_records[1]);
        END IF;
        RETURN;
    END IF;
    FOR v_change IN
        WITH made AS MATERIALIZED (
            SELECT r.org_id, r.id, t.terms, t.weights, t.length,
                   mnemo._plan_audience(r, NULL) AS audience
              FROM unnest(p_records) AS r
              CROSS JOIN LATERAL mnemo._record_terms(r) AS t
             WHERE NOT r.tags @> ARRAY['__experience_plan__']
        ), vector AS (
            INSERT INTO mnemo.term_vector (
                org_id, memory_id, terms, weights, length, rules_version
            )
            SELECT m.org_id, m.id, m.terms, m.weights, m.length, mnemo._terms_version()
              FROM made AS m
        ), posting AS (
            INSERT INTO mnemo.term_posting (org_id, key, weight, shortness, memory_id)
            SELECT m.org_id, m.audience # u.term, u.weight, -m.length, m.id
              FROM made AS m CROSS JOIN LATERAL unnest(m.terms, m.weights) AS u(term, weight)
        )
        SELECT t.org_id, t.records, t.length, c.terms, c.counts
          FROM (
            SELECT m.org_id, count(*) AS records, sum(m.length)::bigint AS length
              FROM made AS m
             GROUP BY m.org_id
             ORDER BY m.org_id
          ) AS t
          CROSS JOIN LATERAL (
            SELECT array_agg(n.term) AS terms, array_agg(n.count) AS counts
              FROM (
                SELECT u.term, count(*) AS count
                  FROM made AS m CROSS JOIN LATERAL unnest(m.terms) AS u(term)
                 WHERE m.org_id = t.org_id
                 GROUP BY u.term
              ) AS n
          ) AS c
    LOOP
        PERFORM mnemo._change_terms(v_change.org_id, v_change.records, v_change.length,
            v_change.terms, v_change.counts);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_terms(mnemo.memory[]) IS
    'Puts records that have just been written, and have no grants, into the term index and its '
    'statistics; leaves plans out.';

CREATE FUNCTION mnemo._unindex_terms(
    p_org_id text,
    p_ids uuid[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_change record;
BEGIN
    WITH gone AS MATERIALIZED (
        DELETE FROM mnemo.term_vector AS v
         WHERE v.org_id = p_org_id AND v.memory_id = ANY (p_ids)
        RETURNING v.terms, v.length
    ), posting AS (
        DELETE FROM mnemo.term_posting AS p
         WHERE p.org_id = p_org_id AND p.memory_id = ANY (p_ids)
    )
    SELECT t.records, t.length, c.terms, c.counts INTO v_change
      FROM (SELECT count(*) AS records, sum(g.length)::bigint AS length FROM gone AS g) AS t
      CROSS JOIN (
        SELECT array_agg(n.term) AS terms, array_agg(-n.count) AS counts
          FROM (
            SELECT u.term, count(*) AS count
              FROM gone AS g CROSS JOIN LATERAL unnest(g.terms) AS u(term)
             GROUP BY u.term
          ) AS n
      ) AS c;
    IF v_change.records > 0 THEN
        PERFORM mnemo._change_terms(p_org_id, -v_change.records, -v_change.length,
            v_change.terms, v_change.counts);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._unindex_terms(text, uuid[]) IS
    'Takes records of an organisation out of the term index and its statistics, whoever they are '
    'shared with, so that no recall by words finds them. Nothing happens for those that are not in '
    'it. To be called before the records are deleted.';

CREATE FUNCTION mnemo._index_grants(
    p_org_id text,
    p_id uuid
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Of a shared record a grantee has a list of its own; whoever sees a public one needs none.
    WITH wanted AS MATERIALIZED (
        SELECT a.audience # u.term AS key, u.weight, -v.length AS shortness
          FROM mnemo.term_vector AS v
          JOIN mnemo.memory AS m ON m.org_id = v.org_id AND m.id = v.memory_id
          CROSS JOIN LATERAL (
            SELECT mnemo._plan_audience(m, NULL) AS audience
            UNION
            SELECT mnemo._audience('grantee', g.org_id, g.agent_id, NULL)
              FROM mnemo.acl AS g
             WHERE g.org_id = p_org_id AND g.memory_id = p_id AND m.scope = 'shared'
          ) AS a
          CROSS JOIN LATERAL unnest(v.terms, v.weights) AS u(term, weight)
         WHERE v.org_id = p_org_id AND v.memory_id = p_id AND m.org_id = p_org_id
    ), gone AS (
        DELETE FROM mnemo.term_posting AS p
         WHERE p.org_id = p_org_id AND p.memory_id = p_id
           AND NOT EXISTS (SELECT FROM wanted AS w WHERE w.key = p.key)
    )
    INSERT INTO mnemo.term_posting AS p (org_id, key, weight, shortness, memory_id)
    SELECT p_org_id, w.key, w.weight, w.shortness, p_id
      FROM wanted AS w
    ON CONFLICT ON CONSTRAINT term_posting_pkey DO NOTHING;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_grants(text, uuid) IS
    'Brings the term index in step with the scope and the grants of a record that is in it.';

CREATE FUNCTION mnemo._reindex_terms(
    p_records mnemo.memory[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    FOREACH v_record IN ARRAY p_records LOOP
        PERFORM mnemo._unindex_terms(v_record.org_id, ARRAY[v_record.id]);
        PERFORM mnemo._index_terms(ARRAY[v_record]);
        PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._reindex_terms(mnemo.memory[]) IS
    'Makes the terms of records anew, for any change of words, scope or grants.';

-- part: 480_query_terms.sql
CREATE FUNCTION mnemo._query_terms(
    p_query text,
    p_org_id text
)
RETURNS TABLE (
    place bigint,
    word text,
    term bigint,
    admits boolean,
    records double precision,
    idf double precision,
    average_length double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 8
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT t.word, mnemo._hash64(t.word) AS hash
          FROM (
            SELECT DISTINCT u.word COLLATE "C" AS word
              FROM unnest(mnemo._terms(p_query)) AS u(word)
             WHERE u.word COLLATE "C" <> ALL (mnemo._stop_words())
          ) AS t
    ), change AS MATERIALIZED (
        SELECT c.records, c.length, c.terms, c.counts
          FROM mnemo.term_change AS c
         WHERE c.org_id = p_org_id
    ), total AS MATERIALIZED (
        SELECT coalesce(sum(s.records), 0)::double precision AS records,
               coalesce(sum(s.length), 0)::double precision AS length
          FROM (
            SELECT t.records, t.length FROM mnemo.term_total AS t WHERE t.org_id = p_org_id
            UNION ALL
            SELECT c.records, c.length FROM change AS c
          ) AS s
    ), frequency AS MATERIALIZED (
        SELECT a.word, a.hash,
               (coalesce((
                    SELECT f.records FROM mnemo.term_frequency AS f
                     WHERE f.org_id = p_org_id AND f.term = a.hash
                ), 0) + coalesce((
                    SELECT sum(c.counts[array_position(c.terms, a.hash)]) FROM change AS c
                ), 0))::double precision AS records
          FROM asked AS a
    ), rated AS MATERIALIZED (
        SELECT f.word, f.hash, f.records,
               ln(1 + (t.records - f.records + 0.5) / (f.records + 0.5)) AS idf,
               CASE WHEN t.length > 0 THEN t.length / t.records ELSE 10 END AS average_length
          FROM frequency AS f CROSS JOIN total AS t
    )
    SELECT row_number() OVER (ORDER BY r.idf DESC, r.word COLLATE "C"), r.word, r.hash,
           r.word COLLATE "C" <> ALL (mnemo._weak_words()), r.records, r.idf,
           r.average_length
      FROM rated AS r
     ORDER BY r.idf DESC, r.word COLLATE "C"
     LIMIT 64;
END
$fn$;
COMMENT ON FUNCTION mnemo._query_terms(text, text) IS
    'The terms of a query, at most the 64 rarest, rarest first: the word, its hash, whether it may '
    'admit a record, and from the records of the organisation alone: how many have it (n), its '
    'inverse document frequency ln(1 + (N - n + 0.5) / (n + 0.5)), and the average length, 10 while '
    'there is no record. No row for a query without words.';

CREATE FUNCTION mnemo._term_score(
    p_idf double precision,
    p_weight integer,
    p_length integer,
    p_average_length double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- k1 = 1.2, b = 0.75; weights are tenths. No numeric constants: their arithmetic takes ten times as
-- long as all else here.
RETURN p_idf * 2.2::double precision * p_weight::double precision
    / (p_weight::double precision + 3::double precision
        + 9::double precision * p_length::double precision / p_average_length);
COMMENT ON FUNCTION mnemo._term_score(double precision, integer, integer, double precision) IS
    'What a term contributes to the score of a record: BM25 (Robertson and Zaragoza, 2009) with '
    'k1 = 1.2 and b = 0.75 over the weighted frequency. Grows with the weight, falls with the length.';


-- part: 490_vector_models.sql
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

-- part: 491_vector_objects.sql
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

-- part: 492_enable_vectors.sql
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

-- part: 493_embeddings.sql
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

-- part: 494_embedding_tables.sql
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

-- part: 500_visibility.sql
CREATE FUNCTION mnemo._is_live(
    p_record mnemo.memory,
    p_now timestamptz
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_record).deleted_at IS NULL
    AND NOT (p_record).quarantined
    AND mnemo._is_live_state((p_record).consolidation_state)
    AND ((p_record).expires_at IS NULL OR (p_record).expires_at > p_now);
COMMENT ON FUNCTION mnemo._is_live(mnemo.memory, timestamptz) IS
    'Whether a record counts at all: not deleted, not expired, not quarantined, in a live state.';

-- One function a way to see a record: disjoint, each led by an index, org_id compared with a
-- parameter or a constant, so that a partitioned table is read in two places at most.

CREATE FUNCTION mnemo._visible_own(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_own(text, text, timestamptz) IS
    'The agent''s own live records, global ones aside.';

CREATE FUNCTION mnemo._visible_public(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.scope = 'public' AND m.scope IN ('public', 'global')
       AND m.agent_id <> p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_public(text, text, timestamptz) IS
    'The live public records of the organisation''s other agents.';

CREATE FUNCTION mnemo._visible_granted(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.acl AS a
      JOIN mnemo.memory AS m ON m.org_id = a.org_id AND m.id = a.memory_id
     WHERE a.org_id = p_org_id AND m.org_id = p_org_id AND a.agent_id = p_agent_id
       AND (a.expires_at IS NULL OR a.expires_at > p_now)
       AND m.scope = 'shared' AND m.agent_id <> p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_granted(text, text, timestamptz) IS
    'The live shared records of other agents that the agent holds a grant on.';

CREATE FUNCTION mnemo._ways(
    p_record mnemo.memory,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (
    giver text,
    permission text,
    expires_at timestamptz,
    delegation_id uuid,
    max_depth integer
)
LANGUAGE sql STABLE PARALLEL SAFE
-- Never private records, which are their owner's alone, nor global ones, which are nobody's to give.
BEGIN ATOMIC
    SELECT d.root_agent_id, d.permission, d.expires_at, d.id, d.max_depth
      FROM mnemo.delegation AS d
     WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
       AND d.root_agent_id = (p_record).agent_id
       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now
       AND (p_record).org_id = p_org_id AND (p_record).scope IN ('shared', 'public')
       AND (d.tags IS NULL OR (p_record).tags @> d.tags)
       AND (d.memory_ids IS NULL OR (p_record).id = ANY (d.memory_ids))
    UNION ALL
    SELECT d.root_agent_id, d.permission, least(d.expires_at, a.expires_at), d.id, d.max_depth
      FROM mnemo.acl AS a
      JOIN mnemo.delegation AS d ON d.root_agent_id = a.agent_id
     WHERE a.org_id = p_org_id AND a.memory_id = (p_record).id AND a.permission = 'share'
       AND (a.expires_at IS NULL OR a.expires_at > p_now)
       AND d.org_id = p_org_id AND d.to_agent_id = p_agent_id
       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now
       AND (p_record).org_id = p_org_id AND (p_record).scope IN ('shared', 'public')
       AND (d.tags IS NULL OR (p_record).tags @> d.tags)
       AND (d.memory_ids IS NULL OR (p_record).id = ANY (d.memory_ids));
END;
COMMENT ON FUNCTION mnemo._ways(mnemo.memory, text, text, timestamptz) IS
    'The delegations by which the agent holds a permission on the record now: of its owner, or of an '
    'agent that holds a grant share on it. giver: that agent, on whose right it stands.';

CREATE FUNCTION mnemo._visible_delegated(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.memory AS m
     -- Looked up once: nothing else is read for an agent without delegations.
     WHERE EXISTS (
            SELECT FROM mnemo.delegation AS d
             WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
               AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now)
       AND m.org_id = p_org_id AND m.scope = 'shared' AND m.agent_id <> p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now)
       AND EXISTS (SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, p_now))
       AND NOT EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = m.id AND a.agent_id = p_agent_id
               AND (a.expires_at IS NULL OR a.expires_at > p_now));
END;
COMMENT ON FUNCTION mnemo._visible_delegated(text, text, timestamptz) IS
    'The live shared records of other agents that the agent sees by a delegation and holds no grant '
    'on. To be joined by id: it looks at each record.';

CREATE FUNCTION mnemo._visible_global(
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id = '*' AND m.scope = 'global' AND m.scope IN ('public', 'global')
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_global(timestamptz) IS
    'The live records of scope global.';

CREATE FUNCTION mnemo._visible(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT * FROM mnemo._visible_own(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._visible_public(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._visible_granted(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._visible_delegated(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._visible_global(p_now);
END;
COMMENT ON FUNCTION mnemo._visible(text, text, timestamptz) IS
    'Every live record that the agent of the organisation may read, each once: its own, the public '
    'ones, the shared ones granted or delegated to it, the global ones.';

CREATE FUNCTION mnemo._visible_among(
    p_ids uuid[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
-- The fences keep these look-ups by key, whatever the planner thinks of an organisation's size.
BEGIN ATOMIC
    SELECT m.*
      FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u(id)) AS t
      CROSS JOIN LATERAL (
        SELECT r.* FROM mnemo.memory AS r WHERE r.org_id = p_org_id AND r.id = t.id OFFSET 0
      ) AS m
     WHERE mnemo._is_live(m, p_now)
       AND CASE
           WHEN m.agent_id = p_agent_id OR m.scope = 'public' THEN true
           WHEN m.scope = 'shared' THEN
               EXISTS (
                    SELECT FROM mnemo.acl AS a
                     WHERE a.org_id = p_org_id AND a.memory_id = m.id
                       AND a.agent_id = p_agent_id
                       AND (a.expires_at IS NULL OR a.expires_at > p_now))
               OR EXISTS (SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, p_now))
           ELSE false END
    UNION ALL
    SELECT m.*
      FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u(id)) AS t
      CROSS JOIN LATERAL (
        SELECT r.* FROM mnemo.memory AS r WHERE r.org_id = '*' AND r.id = t.id OFFSET 0
      ) AS m
     WHERE mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._visible_among(uuid[], text, text, timestamptz) IS
    'Those of _visible that have one of the ids, each once, looked up by key.';

-- part: 502_delegated.sql
-- An index has lists by audience: the records of an owner, those granted to an agent. What an agent
-- sees by delegations stands in the lists of others, so it reads those too, and takes from them what
-- was delegated.

CREATE FUNCTION mnemo._audience(
    p_kind text,
    p_org_id text,
    p_agent_id text,
    p_context text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- A space cannot stand in a name, so different parts never give the same text.
RETURN mnemo._hash64(p_kind || coalesce(' ' || p_org_id, '') || coalesce(' ' || p_agent_id, ''))
    # CASE WHEN p_context IS NULL THEN 0 ELSE mnemo._hash64('context ' || p_context) END;
COMMENT ON FUNCTION mnemo._audience(text, text, text, text) IS
    'The hash of those who see a plan: owner (organisation, agent), grantee (organisation, agent), '
    'public (organisation) or global; with the context mixed in.';

CREATE FUNCTION mnemo._delegated(
    p_record mnemo.memory,
    p_list bigint,
    p_org_id text,
    p_agent_id text,
    p_context text,
    p_now timestamptz
)
RETURNS TABLE (giver text)
LANGUAGE sql STABLE PARALLEL SAFE
-- A record may be in several lists and counts in one: its owner's, if that one delegated it, else
-- that of the first agent that did.
BEGIN ATOMIC
    SELECT w.giver
      FROM (
        SELECT v.giver
          FROM mnemo._ways(p_record, p_org_id, p_agent_id, p_now) AS v
         ORDER BY v.giver <> (p_record).agent_id, v.giver COLLATE "C"
         LIMIT 1
      ) AS w
     WHERE (p_record).scope = 'shared' AND (p_record).agent_id <> p_agent_id
       AND p_list = mnemo._audience(
            CASE WHEN w.giver = (p_record).agent_id THEN 'owner' ELSE 'grantee' END,
            p_org_id, w.giver, p_context)
       AND NOT EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = (p_record).id
               AND a.agent_id = p_agent_id
               AND (a.expires_at IS NULL OR a.expires_at > p_now));
END;
COMMENT ON FUNCTION mnemo._delegated(mnemo.memory, bigint, text, text, text, timestamptz) IS
    'One row if the agent sees the record by a delegation and by nothing else, and counts it in the '
    'list of audience p_list; else none.';

CREATE FUNCTION mnemo._delegated_lists(
    p_org_id text,
    p_agent_id text,
    p_context text,
    p_now timestamptz
)
RETURNS TABLE (list bigint, giver text, kind text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT mnemo._audience(k.kind, p_org_id, r.giver, p_context), r.giver, k.kind
      FROM (
        SELECT DISTINCT d.root_agent_id AS giver
          FROM mnemo.delegation AS d
         WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
           AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now
      ) AS r
      CROSS JOIN LATERAL (
        SELECT 'owner' AS kind
        UNION ALL
        SELECT 'grantee' AS kind
         WHERE EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.agent_id = r.giver AND a.permission = 'share'
               AND (a.expires_at IS NULL OR a.expires_at > p_now))
      ) AS k;
END;
COMMENT ON FUNCTION mnemo._delegated_lists(text, text, text, timestamptz) IS
    'The audiences of others whose lists hold what was delegated to the agent: of each giver those '
    'that it owns, and those that it may share by a grant. One look-up where there are none.';

CREATE FUNCTION mnemo._delegated_audiences(
    p_org_id text,
    p_agent_id text,
    p_context text,
    p_now timestamptz
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    -- Asked here too: a function that returns rows costs more to call than this look-up.
    IF NOT EXISTS (
        SELECT FROM mnemo.delegation AS d
         WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
           AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now)
    THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT l.list
          FROM mnemo._delegated_lists(p_org_id, p_agent_id, p_context, p_now) AS l);
END
$fn$;
COMMENT ON FUNCTION mnemo._delegated_audiences(text, text, text, timestamptz) IS
    'The audiences of _delegated_lists; empty for none.';

-- part: 505_permission.sql
CREATE FUNCTION mnemo._permission_rank(
    p_permission text
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_position(mnemo._labels('permission'), p_permission);
COMMENT ON FUNCTION mnemo._permission_rank(text) IS
    'Place of a permission, from read 1 to share 4; NULL for no permission.';

CREATE FUNCTION mnemo._held(
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_now timestamptz
)
RETURNS TABLE (org_id text, id uuid, rank integer)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.org_id, m.id,
           CASE WHEN m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
                THEN mnemo._permission_rank('share')
                ELSE greatest(
                    mnemo._permission_rank('read'), mnemo._permission_rank(a.permission),
                    CASE WHEN EXISTS (
                        SELECT FROM mnemo.delegation AS d
                         WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
                           AND d.revoked_at IS NULL
                           AND coalesce(d.expires_at, 'infinity') > p_now)
                    THEN (
                        SELECT max(mnemo._permission_rank(w.permission))
                          FROM mnemo._ways(m, p_org_id, p_agent_id, p_now) AS w)
                    END)
           END
      FROM mnemo._visible_among(p_ids, p_org_id, p_agent_id, p_now) AS m
      LEFT JOIN mnemo.acl AS a
        ON a.org_id = p_org_id AND m.org_id = p_org_id AND a.memory_id = m.id
       AND a.agent_id = p_agent_id
       AND (a.expires_at IS NULL OR a.expires_at > p_now);
END;
COMMENT ON FUNCTION mnemo._held(text, text, uuid[], timestamptz) IS
    'The records among p_ids that the agent may read, with the rank of the highest permission that '
    'it holds on each: the owner has all, a grant or a delegation covers those below it.';

CREATE FUNCTION mnemo._ids_problem(
    p_parameter text,
    p_ids uuid[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_ids IS NULL OR cardinality(p_ids) = 0 THEN
        RETURN mnemo._argument(p_parameter, p_parameter || ' must name at least one record',
            'pass the ids that remember or recall returned');
    END IF;
    RETURN mnemo._list_problem(p_parameter, p_ids::text[], 10000, NULL, 'ids');
END
$fn$;
COMMENT ON FUNCTION mnemo._ids_problem(text, uuid[]) IS
    'The problem of a list of ids: NULL, empty, NULL elements, over 10,000; NULL for none.';

CREATE FUNCTION mnemo._id_problem(
    p_id uuid
)
RETURNS mnemo._problem
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_id IS NULL THEN mnemo._argument('p_id', 'p_id must not be NULL',
    'pass the id that remember, remember_plan or a recall returned') END;
COMMENT ON FUNCTION mnemo._id_problem(uuid) IS 'The problem of an id that is NULL; NULL for none.';

CREATE FUNCTION mnemo._require_permission(
    p_parameter text,
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_permission text
)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_missing uuid[];
    v_refused uuid[];
BEGIN
    SELECT array_agg(t.id) FILTER (WHERE h.id IS NULL),
           array_agg(t.id) FILTER (WHERE h.rank < mnemo._permission_rank(p_permission))
      INTO v_missing, v_refused
      FROM unnest(p_ids) AS t(id)
      LEFT JOIN mnemo._held(p_org_id, p_agent_id, p_ids, clock_timestamp()) AS h
        ON h.id = t.id;
    IF v_missing IS NOT NULL THEN
        PERFORM mnemo._raise_not_found(p_parameter, v_missing);
    ELSIF v_refused IS NOT NULL THEN
        PERFORM mnemo._raise_access(
            format('agent %s lacks permission %s on %s',
                p_agent_id, p_permission, array_to_string(v_refused[1:10], ', ')),
            jsonb_build_object('parameter', p_parameter, 'ids', to_jsonb(v_refused)),
            'ask the owner to share or delegate the record with that permission'
        );
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_permission(text, text, text, uuid[], text) IS
    'Raises MN001 if the agent cannot see one of the records, 42501 if it can see all and lacks the '
    'permission on one.';

CREATE FUNCTION mnemo.check_permission(
    p_id uuid,
    p_permission text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: look-ups by key.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._id_problem(p_id));
    PERFORM mnemo._check_label('p_permission', 'permission', p_permission);
    RETURN EXISTS (
        SELECT
          FROM mnemo._held(
                v_caller.org_id, v_caller.agent_id, ARRAY[p_id], statement_timestamp()) AS h
         WHERE h.rank >= mnemo._permission_rank(p_permission)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo.check_permission(uuid, text, text, text) IS
    'Whether the acting agent holds a permission (read, write, delete, share; each covers those '
    'before it) on a record, plan or memory: as owner, by a grant, by a delegation, or to read by its '
    'scope. False for records that are unknown, gone or invisible. Errors: 42501 no access; 22023 '
    'NULL id, unknown permission.';

-- part: 510_get_memories.sql
CREATE FUNCTION mnemo._limit_problem(
    p_limit bigint
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF (p_limit BETWEEN 1 AND 1000) IS NOT TRUE THEN
        RETURN mnemo._argument('p_limit',
            format('p_limit must be from 1 to 1000; got %s', coalesce(p_limit::text, 'NULL')),
            'page through larger results');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._limit_problem(bigint) IS
    'The problem of a number of rows outside 1 to 1000, NULL included; NULL for none.';

CREATE FUNCTION mnemo.get_memories(
    p_ids uuid[],
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    "position" bigint,
    id uuid,
    org_id text,
    origin_org_id text,
    owner_agent_id text,
    content text,
    memory_type text,
    scope text,
    importance double precision,
    tags text[],
    metadata jsonb,
    source_type text,
    source_id text,
    thread_id text,
    created_by text,
    consolidation_state text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    aliases text[],
    location text,
    confidence double precision,
    status text,
    valid_from timestamptz,
    valid_to timestamptz,
    temporal_scope text,
    version bigint,
    prev_version_id uuid,
    access_count bigint,
    last_accessed_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    expires_at timestamptz,
    content_hash bytea
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: look-ups by key.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._ids_problem('p_ids', p_ids));
    RETURN QUERY
    SELECT t.place, m.id, m.org_id, m.origin_org_id, m.agent_id, m.content, m.memory_type, m.scope,
           m.importance, m.tags, m.metadata, m.source_type, m.source_id, m.thread_id, m.created_by,
           m.consolidation_state, m.kind, m.subject, m.predicate, m.entities, m.aliases, m.location,
           m.confidence, m.status, m.valid_from, m.valid_to, m.temporal_scope, m.version,
           m.prev_version_id, m.access_count, m.last_accessed_at, m.created_at, m.updated_at,
           m.expires_at, m.content_hash
      FROM (
        SELECT u.id, min(u.place) AS place
          FROM unnest(p_ids) WITH ORDINALITY AS u(id, place)
         GROUP BY u.id
      ) AS t
      JOIN mnemo._visible_among(
            p_ids, v_caller.org_id, v_caller.agent_id, statement_timestamp()) AS m
        ON m.id = t.id
     ORDER BY t.place;
END
$fn$;
COMMENT ON FUNCTION mnemo.get_memories(uuid[], text, text) IS
    'The records, plans included, of these ids that the acting agent may read, each once, in the '
    'order of p_ids; position is the place in p_ids, from 1. Ids that are unknown, gone or '
    'invisible give no row. Errors: 42501 no access; 22023 NULL, empty list, NULL element; 54000 '
    'over 10,000 ids.';

-- part: 515_recallable.sql
CREATE TYPE mnemo._recall_filter AS (
    types text[],
    scope text,
    tags text[],
    tags_all boolean,
    min_importance double precision,
    thread_id text,
    source_types text[],
    since timestamptz,
    until timestamptz,
    as_of timestamptz,
    kinds text[],
    holds_at timestamptz,
    valid_since timestamptz,
    valid_until timestamptz
);
COMMENT ON TYPE mnemo._recall_filter IS
    'The filters of mnemo.recall and mnemo.retrieve; a NULL lets all records pass. holds_at: facts '
    'that hold at that time, neither superseded nor retracted.';

CREATE FUNCTION mnemo._passes(
    p_record mnemo.memory,
    p_filter mnemo._recall_filter
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN NOT (p_record).tags @> ARRAY['__experience_plan__']
    AND ((p_filter).types IS NULL OR (p_record).memory_type = ANY ((p_filter).types))
    AND ((p_filter).scope IS NULL OR (p_record).scope = (p_filter).scope)
    AND ((p_filter).tags IS NULL
        OR CASE WHEN (p_filter).tags_all THEN (p_record).tags @> (p_filter).tags
           ELSE (p_record).tags && (p_filter).tags END)
    AND ((p_filter).min_importance IS NULL
        OR (p_record).importance >= (p_filter).min_importance)
    AND ((p_filter).thread_id IS NULL OR (p_record).thread_id = (p_filter).thread_id)
    AND ((p_filter).source_types IS NULL
        OR (p_record).source_type = ANY ((p_filter).source_types))
    AND ((p_filter).since IS NULL OR (p_record).created_at >= (p_filter).since)
    AND ((p_filter).until IS NULL OR (p_record).created_at < (p_filter).until)
    AND ((p_filter).as_of IS NULL OR (p_record).created_at <= (p_filter).as_of)
    AND ((p_filter).kinds IS NULL OR (p_record).kind = ANY ((p_filter).kinds))
    AND ((p_filter).holds_at IS NULL
        OR (p_record).status = 'active' AND (p_record).valid_from <= (p_filter).holds_at
            AND ((p_record).valid_to IS NULL OR (p_record).valid_to > (p_filter).holds_at))
    AND ((p_filter).valid_since IS NULL OR (p_record).valid_from >= (p_filter).valid_since)
    AND ((p_filter).valid_until IS NULL OR (p_record).valid_from < (p_filter).valid_until);
COMMENT ON FUNCTION mnemo._passes(mnemo.memory, mnemo._recall_filter) IS
    'Whether a record is no plan and passes the filters.';

CREATE FUNCTION mnemo._record(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
-- The fence keeps this a look-up by key, whatever the planner thinks of an organisation's size.
BEGIN ATOMIC
    SELECT m.* FROM mnemo.memory AS m WHERE m.org_id = p_org_id AND m.id = p_id OFFSET 0;
END;
COMMENT ON FUNCTION mnemo._record(text, uuid) IS 'The record with this key, in any state.';

CREATE FUNCTION mnemo._recallable_record(
    p_audience bigint,
    p_list bigint,
    p_id uuid,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
-- What _visible says, for one record: which way the agent sees it is known, and a look-up by key.
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo._record(p_org_id, p_id) AS m
     WHERE p_audience <> 4 AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
       AND CASE p_audience
           WHEN 1 THEN m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
                   AND m.scope <> 'public'
           WHEN 2 THEN m.scope = 'public'
           WHEN 3 THEN m.scope = 'shared' AND m.agent_id <> p_agent_id AND EXISTS (
                SELECT
                  FROM (
                    SELECT a.expires_at
                      FROM mnemo.acl AS a
                     WHERE a.org_id = p_org_id AND a.memory_id = p_id AND a.agent_id = p_agent_id
                    OFFSET 0
                  ) AS g
                 WHERE g.expires_at IS NULL OR g.expires_at > p_now
           )
           ELSE EXISTS (
                SELECT FROM mnemo._delegated(m, p_list, p_org_id, p_agent_id, NULL, p_now)
           )
           END
    UNION ALL
    SELECT m.*
      FROM mnemo._record('*', p_id) AS m
     WHERE p_audience = 4 AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter);
END;
COMMENT ON FUNCTION mnemo._recallable_record(
    bigint, bigint, uuid, text, text, timestamptz, mnemo._recall_filter
) IS
    'The record, if one that a list of the term index names is one that the agent may read, passes '
    'the filters, and belongs to that list''s audience: 1 the owner, 2 the organisation, 3 a '
    'grantee, 4 everyone, from 5 on those of agents that delegated, p_list being the hash of that '
    'audience. So a record counts in one list only, and what an index still names counts in none.';

CREATE FUNCTION mnemo._recallable(
    p_audience bigint,
    p_list bigint,
    p_id uuid,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (id uuid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.id
      FROM mnemo._recallable_record(
            p_audience, p_list, p_id, p_org_id, p_agent_id, p_now, p_filter) AS m;
END;
COMMENT ON FUNCTION mnemo._recallable(
    bigint, bigint, uuid, text, text, timestamptz, mnemo._recall_filter
) IS 'One row if _recallable_record gives one.';

-- part: 516_lexical.sql
-- Exact best-first search over lists that may be long. Each list of a term and an audience is in the
-- order of what its term contributes, so the first entry not read bounds all that follow (Fagin,
-- Lotem, Naor: threshold algorithm, PODS 2001; Turtle, Flood: MaxScore, IPM 1995). A pass reads the
-- head of each list; lists of words that only rank are never read, only bounded. Records that were
-- met are scored from their own terms where a bound leaves it open. If what was not met cannot reach
-- the worst of the answer, the answer is exact and the pass is the last; else the next reads more.

CREATE FUNCTION mnemo._exact_score(
    p_org_id text,
    p_id uuid,
    p_terms bigint[],
    p_idfs double precision[],
    p_average_length double precision
)
RETURNS TABLE (score double precision)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT sum(mnemo._term_score(
               q.idf, v.weights[array_position(v.terms, q.term)], v.length, p_average_length))
      FROM mnemo.term_vector AS v
      CROSS JOIN LATERAL unnest(p_terms, p_idfs) AS q(term, idf)
     WHERE v.org_id = p_org_id AND v.memory_id = p_id;
END;
COMMENT ON FUNCTION mnemo._exact_score(
    text, uuid, bigint[], double precision[], double precision
) IS 'The sum of what the terms contribute to a record; NULL when it has none of them.';

CREATE FUNCTION mnemo._round_score(
    p_score double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(p_score * 1e9) / 1e9;
COMMENT ON FUNCTION mnemo._round_score(double precision) IS
    'A score to nine decimals: equal sums are equal whatever the order of their parts.';

CREATE FUNCTION mnemo._lexical_pass(
    p_terms bigint[],
    p_admits boolean[],
    p_idfs double precision[],
    p_average_length double precision,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint,
    p_cap bigint
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, complete boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments, good for lists of any length.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET enable_mergejoin = off
SET jit = off
AS $fn$
DECLARE
    -- In the order that _recallable counts them.
    v_audiences bigint[] := mnemo._audiences(p_org_id, p_agent_id, NULL)
        || mnemo._delegated_audiences(p_org_id, p_agent_id, NULL, p_now);
BEGIN
    RETURN QUERY
    WITH list AS MATERIALIZED (
        SELECT a.place AS audience, a.audience # q.term AS key, q.admits, q.idf,
               CASE WHEN q.admits OR p_cap IS NULL THEN p_cap ELSE 0 END AS cap
          FROM unnest(p_terms, p_admits, p_idfs) AS q(term, admits, idf)
          CROSS JOIN unnest(v_audiences) WITH ORDINALITY AS a(audience, place)
    ), bound AS MATERIALIZED (
        -- The first entry that is not read; a lighter one may be shorter: at best it is one tenth
        -- lighter and has one word.
        SELECT l.audience, l.key, l.admits, l.idf, l.cap, e.memory_id, e.weight = 10 AS tight,
               coalesce(greatest(
                   mnemo._term_score(l.idf, e.weight, e.length, p_average_length),
                   CASE WHEN e.weight > 10 THEN
                       mnemo._term_score(l.idf, e.weight - 1, 1, p_average_length) END
               ), 0) AS most
          FROM list AS l
          LEFT JOIN LATERAL (
            (SELECT p.weight, -p.shortness AS length, p.memory_id
               FROM mnemo.term_posting AS p
              WHERE p.org_id = p_org_id AND p.key = l.key AND l.audience <> 4 AND l.cap >= 0
              ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
             OFFSET l.cap LIMIT 1)
            UNION ALL
            (SELECT p.weight, -p.shortness, p.memory_id
               FROM mnemo.term_posting AS p
              WHERE p.org_id = '*' AND p.key = l.key AND l.audience = 4 AND l.cap >= 0
              ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
             OFFSET l.cap LIMIT 1)
          ) AS e ON true
    ), unseen AS MATERIALIZED (
        SELECT b.audience, sum(b.most) AS most, bool_or(b.admits) AS admits,
               count(*) = 1 AND bool_and(b.tight) AS tight, (array_agg(b.memory_id))[1] AS memory_id
          FROM bound AS b
         WHERE b.most > 0
         GROUP BY b.audience
    ), met AS (
        SELECT b.audience, e.memory_id, b.admits, b.most,
               mnemo._term_score(b.idf, e.weight, e.length, p_average_length) AS part
          FROM bound AS b
          CROSS JOIN LATERAL (
            SELECT p.weight, -p.shortness AS length, p.memory_id
              FROM mnemo.term_posting AS p
             WHERE p.org_id = p_org_id AND p.key = b.key
             ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
             LIMIT b.cap
          ) AS e
         WHERE b.audience <> 4
        UNION ALL
        SELECT b.audience, e.memory_id, b.admits, b.most,
               mnemo._term_score(b.idf, e.weight, e.length, p_average_length)
          FROM bound AS b
          CROSS JOIN LATERAL (
            SELECT p.weight, -p.shortness AS length, p.memory_id
              FROM mnemo.term_posting AS p
             WHERE p.org_id = '*' AND p.key = b.key
             ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
             LIMIT b.cap
          ) AS e
         WHERE b.audience = 4
    ), candidate AS MATERIALIZED (
        -- slack: how much more than its part a record may have. Sums of the same numbers in another
        -- order differ by less than 1e-12.
        SELECT c.audience, c.memory_id, c.part,
               CASE WHEN u.most - c.most > 1e-12 THEN u.most - c.most ELSE 0 END AS slack
          FROM (
            SELECT m.audience, m.memory_id, sum(m.part) AS part, sum(m.most) AS most
              FROM met AS m
             GROUP BY m.audience, m.memory_id
            HAVING bool_or(m.admits)
          ) AS c
          LEFT JOIN unseen AS u ON u.audience = c.audience
    ), head AS MATERIALIZED (
        SELECT c.audience, c.memory_id, c.part, c.slack
          FROM candidate AS c
         ORDER BY c.part + c.slack DESC, c.memory_id DESC
         LIMIT p_limit + 20
    ), found AS MATERIALIZED (
        SELECT s.audience, s.memory_id, s.score
          FROM (
            SELECT h.audience, h.memory_id, mnemo._round_score(x.score) AS score
              FROM head AS h
              CROSS JOIN LATERAL (
                SELECT h.part AS score WHERE h.slack = 0
                UNION ALL
                (SELECT e.score
                   FROM mnemo._exact_score(
                        p_org_id, h.memory_id, p_terms, p_idfs, p_average_length) AS e
                  WHERE h.slack > 0 AND h.audience <> 4
                 OFFSET 0)
                UNION ALL
                (SELECT e.score
                   FROM mnemo._exact_score(
                        '*', h.memory_id, p_terms, p_idfs, p_average_length) AS e
                  WHERE h.slack > 0 AND h.audience = 4
                 OFFSET 0)
              ) AS x
             ORDER BY score DESC, h.memory_id DESC
          ) AS s
          CROSS JOIN LATERAL mnemo._recallable(
                s.audience, v_audiences[s.audience], s.memory_id, p_org_id, p_agent_id, p_now,
                p_filter) AS r
         ORDER BY s.score DESC, s.memory_id DESC
         LIMIT p_limit
    ), worst AS MATERIALIZED (
        SELECT CASE WHEN count(*) = p_limit THEN min(f.score) ELSE -1 END AS score,
               (array_agg(f.memory_id ORDER BY f.score, f.memory_id))[1] AS memory_id
          FROM found AS f
    ), verdict AS MATERIALIZED (
        SELECT NOT EXISTS (
            SELECT
              FROM unseen AS u
             WHERE u.admits
               AND NOT (
                    mnemo._round_score(u.most) < w.score
                    -- Ties are for the newer: in one list of equals those not read are older.
                    OR u.tight AND mnemo._round_score(u.most) = w.score
                        AND w.memory_id >= u.memory_id
                )
        ) AS complete, w.score
          FROM worst AS w
    ), rest AS (
        SELECT s.audience, s.memory_id, s.score
          FROM (
            SELECT c.audience, c.memory_id, mnemo._round_score(x.score) AS score
              FROM candidate AS c
              CROSS JOIN verdict AS v
              CROSS JOIN LATERAL (
                SELECT c.part AS score WHERE c.slack = 0
                UNION ALL
                (SELECT e.score
                   FROM mnemo._exact_score(
                        p_org_id, c.memory_id, p_terms, p_idfs, p_average_length) AS e
                  WHERE c.slack > 0 AND c.audience <> 4
                 OFFSET 0)
                UNION ALL
                (SELECT e.score
                   FROM mnemo._exact_score(
                        '*', c.memory_id, p_terms, p_idfs, p_average_length) AS e
                  WHERE c.slack > 0 AND c.audience = 4
                 OFFSET 0)
              ) AS x
             WHERE v.complete AND c.part + c.slack >= v.score - 1e-9
               AND NOT EXISTS (
                    SELECT FROM head AS h
                     WHERE h.memory_id = c.memory_id AND h.audience = c.audience
                )
             ORDER BY score DESC, c.memory_id DESC
          ) AS s
          CROSS JOIN LATERAL mnemo._recallable(
                s.audience, v_audiences[s.audience], s.memory_id, p_org_id, p_agent_id, p_now,
                p_filter) AS r
         ORDER BY s.score DESC, s.memory_id DESC
         LIMIT p_limit
    ), best AS (
        SELECT b.audience, b.memory_id, b.score,
               row_number() OVER (ORDER BY b.score DESC, b.memory_id DESC) AS rank
          FROM (
            SELECT f.audience, f.memory_id, f.score FROM found AS f
            UNION ALL
            SELECT t.audience, t.memory_id, t.score FROM rest AS t
          ) AS b
         ORDER BY rank
         LIMIT p_limit
    )
    SELECT b.rank, CASE WHEN b.audience = 4 THEN '*' ELSE p_org_id END, b.memory_id, b.score,
           v.complete
      FROM verdict AS v
      LEFT JOIN best AS b ON v.complete
     ORDER BY b.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo._lexical_pass(
    bigint[], boolean[], double precision[], double precision, text, text, timestamptz,
    mnemo._recall_filter, bigint, bigint
) IS
    'The best p_limit records that the agent may read, that pass the filters and share a term that '
    'admits, from the first p_cap entries of each list (NULL: all). When they might not be the best '
    'there is one row with complete false; else complete is true in every row, and without a record '
    'there is one row with NULL.';

-- part: 517_lanes.sql
CREATE FUNCTION mnemo._lexical_lane(
    p_query text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, parts jsonb)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_asked record;
    v_cap bigint;
    v_complete boolean;
BEGIN
    SELECT array_agg(q.word ORDER BY q.place) AS words, array_agg(q.term ORDER BY q.place) AS terms,
           array_agg(q.admits ORDER BY q.place) AS admits, array_agg(q.idf ORDER BY q.place) AS idfs,
           max(q.average_length) AS average_length,
           -- Whether rare words can be expected to outweigh all common ones.
           count(*) FILTER (WHERE q.admits AND q.records > 1000) < 2
           OR coalesce(sum(q.idf) FILTER (WHERE q.admits AND q.records <= 1000), 0)
              > sum(q.idf) FILTER (WHERE q.admits AND q.records > 1000) AS promising
      INTO v_asked
      FROM mnemo._query_terms(p_query, p_org_id) AS q;
    IF true = ANY (v_asked.admits) IS NOT TRUE THEN
        RETURN;
    END IF;
    FOREACH v_cap IN ARRAY ARRAY[1000, 16000, NULL]::bigint[] LOOP
        CONTINUE WHEN v_cap = 1000 AND NOT v_asked.promising;
        FOR rank, org_id, id, score, v_complete, parts IN
            SELECT l.rank, l.org_id, l.id, l.score, l.complete, t.parts
              FROM mnemo._lexical_pass(
                    v_asked.terms, v_asked.admits, v_asked.idfs, v_asked.average_length, p_org_id,
                    p_agent_id, p_now, p_filter, p_limit, v_cap) AS l
              LEFT JOIN LATERAL (
                SELECT jsonb_object_agg(q.word, mnemo._term_score(q.idf,
                           v.weights[array_position(v.terms, q.term)], v.length,
                           v_asked.average_length)) AS parts
                  FROM mnemo.term_vector AS v
                  CROSS JOIN LATERAL unnest(v_asked.words, v_asked.terms, v_asked.idfs)
                       AS q(word, term, idf)
                 WHERE v.org_id = l.org_id AND v.memory_id = l.id AND q.term = ANY (v.terms)
              ) AS t ON true
        LOOP
            IF id IS NOT NULL THEN
                RETURN NEXT;
            END IF;
        END LOOP;
        EXIT WHEN v_complete;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._lexical_lane(
    text, text, text, timestamptz, mnemo._recall_filter, bigint
) IS
    'The best p_limit records by the words of a query: score descending, then newest id. parts gives '
    'what each word contributes to the score. No row for a query without words that admit.';

CREATE FUNCTION mnemo._newest(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
-- The limit in each branch: each is read from its index only as far as it goes. Records that were
-- granted are looked up by key, one after the other.
BEGIN ATOMIC
    (SELECT m.*
       FROM mnemo._visible_own(p_org_id, p_agent_id, p_now) AS m
      WHERE NOT m.tags @> ARRAY['__experience_plan__'] AND mnemo._passes(m, p_filter)
      ORDER BY m.created_at DESC, m.id DESC
      LIMIT p_limit)
    UNION ALL
    (SELECT m.*
       FROM mnemo._visible_public(p_org_id, p_agent_id, p_now) AS m
      WHERE NOT m.tags @> ARRAY['__experience_plan__'] AND mnemo._passes(m, p_filter)
      ORDER BY m.created_at DESC, m.id DESC
      LIMIT p_limit)
    UNION ALL
    (SELECT m.*
       FROM mnemo.acl AS a
      CROSS JOIN LATERAL mnemo._record(p_org_id, a.memory_id) AS m
      WHERE a.org_id = p_org_id AND a.agent_id = p_agent_id
        AND (a.expires_at IS NULL OR a.expires_at > p_now)
        AND m.scope = 'shared' AND m.agent_id <> p_agent_id
        AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
      ORDER BY m.created_at DESC, m.id DESC
      LIMIT p_limit)
    UNION ALL
    (SELECT o.*
       FROM mnemo._delegated_lists(p_org_id, p_agent_id, NULL, p_now) AS l
      CROSS JOIN LATERAL (
        (SELECT m.*
           FROM mnemo._visible_own(p_org_id, l.giver, p_now) AS m
          WHERE l.kind = 'owner' AND NOT m.tags @> ARRAY['__experience_plan__']
            AND m.scope = 'shared' AND mnemo._passes(m, p_filter)
            AND EXISTS (
                SELECT FROM mnemo._delegated(m, l.list, p_org_id, p_agent_id, NULL, p_now))
          ORDER BY m.created_at DESC, m.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT m.*
           FROM mnemo.acl AS a
          CROSS JOIN LATERAL mnemo._record(p_org_id, a.memory_id) AS m
          WHERE l.kind = 'grantee' AND a.org_id = p_org_id AND a.agent_id = l.giver
            AND a.permission = 'share'
            AND mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
            AND EXISTS (
                SELECT FROM mnemo._delegated(m, l.list, p_org_id, p_agent_id, NULL, p_now))
          ORDER BY m.created_at DESC, m.id DESC
          LIMIT p_limit)
      ) AS o)
    UNION ALL
    (SELECT m.*
       FROM mnemo._visible_global(p_now) AS m
      WHERE NOT m.tags @> ARRAY['__experience_plan__'] AND mnemo._passes(m, p_filter)
      ORDER BY m.created_at DESC, m.id DESC
      LIMIT p_limit)
    ORDER BY created_at DESC, id DESC
    LIMIT p_limit;
END;
COMMENT ON FUNCTION mnemo._newest(text, text, timestamptz, mnemo._recall_filter, bigint) IS
    'The newest p_limit records that the agent may read and that pass the filters, newest first.';

CREATE FUNCTION mnemo._recency(
    p_age_hours double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN exp(-ln(2::double precision) * greatest(p_age_hours, 0) / 168);
COMMENT ON FUNCTION mnemo._recency(double precision) IS
    'The score of an age in hours: 1 for now, half as much each 168 hours.';

CREATE FUNCTION mnemo._hours(
    p_from timestamptz,
    p_to timestamptz
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN extract(epoch FROM p_to - p_from)::double precision / 3600;
COMMENT ON FUNCTION mnemo._hours(timestamptz, timestamptz) IS 'Hours from one time to another.';

CREATE FUNCTION mnemo._recent_lane(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint
)
RETURNS TABLE (
    rank bigint,
    org_id text,
    id uuid,
    score double precision,
    age_hours double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY m.created_at DESC, m.id DESC), m.org_id, m.id,
           mnemo._recency(mnemo._hours(m.created_at, p_now)), mnemo._hours(m.created_at, p_now)
      FROM mnemo._newest(p_org_id, p_agent_id, p_now, p_filter, p_limit) AS m;
END
$fn$;
COMMENT ON FUNCTION mnemo._recent_lane(
    text, text, timestamptz, mnemo._recall_filter, bigint
) IS
    'The newest p_limit records that the agent may read and that pass the filters; score: by age, '
    'with a half-life of 168 hours.';

-- part: 517_semantic.sql
-- Nearest records among those that an agent may read. Where it sees few they are sorted exactly. Many
-- are read from the index of the model in the order of distance until enough have passed, and sorted
-- exactly where the index ends too early or is the longer way: pgvector bounds what a scan visits,
-- and an index that many organisations share has little of each.

CREATE TYPE mnemo._neighbour AS (
    org_id text,
    id uuid,
    distance double precision
);
COMMENT ON TYPE mnemo._neighbour IS 'A record and its distance from a vector.';

CREATE FUNCTION mnemo._readable(
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_global_ids uuid[],
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (org_id text, id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    SELECT m.org_id, m.id
      FROM unnest(p_ids) AS u(id)
      CROSS JOIN LATERAL mnemo._record(p_org_id, u.id) AS m
     WHERE mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter)
       AND CASE
           WHEN m.origin_org_id = p_org_id AND m.agent_id = p_agent_id THEN true
           WHEN m.scope = 'shared' THEN EXISTS (
                SELECT
                  FROM (
                    SELECT a.expires_at
                      FROM mnemo.acl AS a
                     WHERE a.org_id = p_org_id AND a.memory_id = m.id AND a.agent_id = p_agent_id
                    OFFSET 0
                  ) AS g
                 WHERE g.expires_at IS NULL OR g.expires_at > p_now
           ) OR EXISTS (SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, p_now))
           ELSE m.scope = 'public' END
    UNION ALL
    SELECT m.org_id, m.id
      FROM unnest(p_global_ids) AS u(id)
      CROSS JOIN LATERAL mnemo._record('*', u.id) AS m
     WHERE mnemo._is_live(m, p_now) AND mnemo._passes(m, p_filter);
END
$fn$;
COMMENT ON FUNCTION mnemo._readable(
    text, text, uuid[], uuid[], timestamptz, mnemo._recall_filter
) IS
    'The records of these ids, of the organisation and global ones, that the agent may read and '
    'that pass the filters: what _visible says, by key.';

CREATE FUNCTION mnemo._visible_ids(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    OUT ids uuid[],
    OUT global_ids uuid[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    SELECT array_agg(m.id) FILTER (WHERE m.org_id <> '*'),
           array_agg(m.id) FILTER (WHERE m.org_id = '*')
      INTO ids, global_ids
      FROM mnemo._visible(p_org_id, p_agent_id, p_now) AS m
     WHERE NOT m.tags @> ARRAY['__experience_plan__'] AND mnemo._passes(m, p_filter);
END
$fn$;
COMMENT ON FUNCTION mnemo._visible_ids(text, text, timestamptz, mnemo._recall_filter) IS
    'Every memory that the agent may read and that passes the filters.';

CREATE FUNCTION mnemo._few_visible(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_most bigint
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    -- From the indexes of memory alone; those whose time has come count too.
    RETURN (
        SELECT count(*)
          FROM (
            (SELECT
               FROM mnemo.memory AS m
              WHERE m.org_id = p_org_id AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
                AND m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.memory AS m
              WHERE m.org_id = p_org_id AND m.scope = 'public' AND m.scope IN ('public', 'global')
                AND m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.memory AS m
              WHERE m.org_id = '*' AND m.scope = 'global' AND m.scope IN ('public', 'global')
                AND m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.acl AS a
              WHERE a.org_id = p_org_id AND a.agent_id = p_agent_id
              LIMIT p_most + 1)
            UNION ALL
            (SELECT
               FROM mnemo.memory AS m
              WHERE EXISTS (
                    SELECT FROM mnemo.delegation AS d
                     WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
                       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now)
                AND m.org_id = p_org_id AND m.deleted_at IS NULL
                AND NOT m.tags @> ARRAY['__experience_plan__']
              LIMIT p_most + 1)
            LIMIT p_most + 1
          ) AS x
    ) <= p_most;
END
$fn$;
COMMENT ON FUNCTION mnemo._few_visible(text, text, timestamptz, bigint) IS
    'Whether the agent sees p_most memories at most, plans aside. To whom something is delegated, '
    'those of the whole organisation count.';

-- part: 517_semantic_lane.sql
CREATE FUNCTION mnemo._nearest_of(
    p_model mnemo.vector_model,
    p_embedding text,
    p_org_id text,
    p_ids uuid[],
    p_global_ids uuid[],
    p_limit bigint
)
RETURNS mnemo._neighbour[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $fn$
DECLARE
    v_found mnemo._neighbour[];
BEGIN
    EXECUTE format(
        'SELECT array_agg(ROW(n.org_id, n.memory_id, n.distance)::mnemo._neighbour)'
        '  FROM ('
        '    SELECT $1 AS org_id, d.memory_id, d.distance FROM mnemo.%1$I($1, $2, $4) AS d'
        '    UNION ALL'
        '    SELECT ''*'', d.memory_id, d.distance FROM mnemo.%1$I(''*'', $3, $4) AS d'
        '     ORDER BY distance, memory_id DESC LIMIT $5'
        '  ) AS n',
        '_vector_distances_' || p_model.suffix
    ) INTO v_found USING p_org_id, p_ids, p_global_ids, p_embedding, p_limit;
    RETURN v_found;
END
$fn$;
COMMENT ON FUNCTION mnemo._nearest_of(
    mnemo.vector_model, text, text, uuid[], uuid[], bigint
) IS 'The nearest p_limit of these records that have a vector, exactly.';

CREATE FUNCTION mnemo._nearest_exactly(
    p_model mnemo.vector_model,
    p_embedding text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint,
    p_few boolean
)
RETURNS mnemo._neighbour[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_ids uuid[];
    v_global_ids uuid[];
    v_most bigint := 10000;
BEGIN
    IF NOT p_few THEN
        -- Many memories, but maybe few of them with a vector of this model.
        EXECUTE format(
            'SELECT ARRAY(SELECT e.memory_id FROM mnemo.%1$I AS e WHERE e.org_id = $1 LIMIT $2),'
            ' ARRAY(SELECT e.memory_id FROM mnemo.%1$I AS e WHERE e.org_id = ''*'' LIMIT $2)',
            'vectors_' || p_model.suffix
        ) INTO v_ids, v_global_ids USING p_org_id, v_most;
    END IF;
    IF p_few OR cardinality(v_ids) = v_most OR cardinality(v_global_ids) = v_most THEN
        SELECT v.ids, v.global_ids INTO v_ids, v_global_ids
          FROM mnemo._visible_ids(p_org_id, p_agent_id, p_now, p_filter) AS v;
    ELSE
        SELECT array_agg(r.id) FILTER (WHERE r.org_id <> '*'),
               array_agg(r.id) FILTER (WHERE r.org_id = '*')
          INTO v_ids, v_global_ids
          FROM mnemo._readable(p_org_id, p_agent_id, v_ids, v_global_ids, p_now, p_filter) AS r;
    END IF;
    RETURN mnemo._nearest_of(p_model, p_embedding, p_org_id, v_ids, v_global_ids, p_limit);
END
$fn$;
COMMENT ON FUNCTION mnemo._nearest_exactly(
    mnemo.vector_model, text, text, text, timestamptz, mnemo._recall_filter, bigint, boolean
) IS
    'The nearest p_limit records that the agent may read and that pass the filters, by a look at '
    'each. p_few: whether the agent sees few memories.';

CREATE FUNCTION mnemo._nearest_by_index(
    p_model mnemo.vector_model,
    p_embedding text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint,
    p_total double precision
)
RETURNS mnemo._neighbour[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- The index is read in its order, whatever the planner thinks of sorting.
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_iterative text := current_setting('hnsw.iterative_scan', true);
    v_breadth text := current_setting('hnsw.ef_search', true);
    v_batch mnemo._neighbour[];
    v_found mnemo._neighbour[];
    v_step bigint := 2 * p_limit;
    v_share double precision;
BEGIN
    -- In force for this scan. An error undoes them with all else.
    PERFORM set_config('hnsw.ef_search',
        greatest(v_breadth::integer, least(p_limit, 1000))::text, true);
    IF v_iterative IS NOT NULL THEN
        PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
    END IF;
    LOOP
        EXECUTE format('SELECT ARRAY(SELECT ROW(n.org_id, n.memory_id, n.distance)'
            '::mnemo._neighbour FROM mnemo.%I($1, $2) AS n LIMIT $3)',
            '_vector_nearest_' || p_model.suffix
        ) INTO v_batch USING p_org_id, p_embedding, v_step;
        v_found := ARRAY(
            SELECT b
              FROM unnest(v_batch) AS b
              JOIN mnemo._readable(p_org_id, p_agent_id,
                    ARRAY(SELECT o.id FROM unnest(v_batch) AS o WHERE o.org_id <> '*'),
                    ARRAY(SELECT o.id FROM unnest(v_batch) AS o WHERE o.org_id = '*'),
                    p_now, p_filter) AS r ON r.id = b.id AND r.org_id = b.org_id
        );
        -- Measured: the index takes 50 times as long for a record as a look at each in turn, and a
        -- distance there 5 times. So where those that must still come cost more than all.
        v_share := greatest(cardinality(v_found), 0.5) / v_step;
        EXIT WHEN cardinality(v_found) >= p_limit OR cardinality(v_batch) < v_step
            OR 50 * p_limit / v_share > p_total * (1 + 5 * v_share);
        -- Anew, and so far that it will probably do.
        v_step := greatest(2 * v_step, least(16 * v_step, 1.5 * p_limit / v_share));
    END LOOP;
    PERFORM set_config('hnsw.ef_search', v_breadth, true);
    IF v_iterative IS NOT NULL THEN
        PERFORM set_config('hnsw.iterative_scan', v_iterative, true);
    END IF;
    RETURN CASE WHEN cardinality(v_found) >= p_limit THEN v_found END;
END
$fn$;
COMMENT ON FUNCTION mnemo._nearest_by_index(
    mnemo.vector_model, text, text, text, timestamptz, mnemo._recall_filter, bigint,
    double precision
) IS
    'At least p_limit near records in no order, from the index as far as it is worth reading; NULL '
    'where that is fewer, for the index then does not know what else there is.';

CREATE FUNCTION mnemo._semantic_lane(
    p_embedding text,
    p_model text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_limit bigint
)
RETURNS TABLE (
    rank bigint,
    org_id text,
    id uuid,
    similarity double precision,
    distance double precision
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_model mnemo.vector_model := mnemo._model_of(p_model);
    v_total double precision := coalesce((
        SELECT greatest(c.reltuples, 0)
          FROM pg_class AS c WHERE c.oid = to_regclass('mnemo.vectors_' || v_model.suffix)
    ), 0);
    -- Sorting n records against reading on until p_limit of total have come by: even at the root.
    v_few boolean := mnemo._few_visible(p_org_id, p_agent_id, p_now,
        least(greatest(1000, sqrt(p_limit * v_total)), 20000)::bigint);
    v_found mnemo._neighbour[];
BEGIN
    IF NOT v_few AND to_regclass(format('mnemo.vectors_%s_embedding_idx', v_model.suffix))
            IS NOT NULL
    THEN
        v_found := mnemo._nearest_by_index(v_model, p_embedding, p_org_id, p_agent_id, p_now,
            p_filter, p_limit, v_total);
    END IF;
    IF v_found IS NULL THEN
        v_found := mnemo._nearest_exactly(v_model, p_embedding, p_org_id, p_agent_id, p_now,
            p_filter, p_limit, v_few);
    END IF;
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY s.similarity DESC, s.id DESC), s.org_id, s.id, s.similarity,
           s.distance
      FROM (
        SELECT f.org_id, f.id, f.distance, mnemo._round_score(CASE v_model.distance
                   WHEN 'cosine' THEN 1 - f.distance
                   WHEN 'l2' THEN 1 / (1 + f.distance)
                   ELSE -f.distance END) AS similarity
          FROM unnest(v_found) AS f
      ) AS s
     ORDER BY s.similarity DESC, s.id DESC
     LIMIT p_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._semantic_lane(
    text, text, text, text, timestamptz, mnemo._recall_filter, bigint
) IS
    'The nearest p_limit records by their embeddings: similarity is 1 - distance for cosine, '
    '1 / (1 + distance) for l2, the product for inner_product; equals newest id first. As many as '
    'asked for, wherever so many are visible and have one.';

-- part: 518_fusion.sql
CREATE FUNCTION mnemo._lane_weights()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{"lexical": 1, "semantic": 1, "recency": 0.02}'::jsonb;
COMMENT ON FUNCTION mnemo._lane_weights() IS
    'The lanes of strategy hybrid and their default weights.';

CREATE FUNCTION mnemo._weights_problem(
    p_strategy text,
    p_weights jsonb,
    p_embedding text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_lane record;
    v_sum numeric := 0;
BEGIN
    IF p_weights IS NULL THEN
        RETURN NULL;
    ELSIF p_strategy <> 'hybrid' THEN
        RETURN mnemo._argument('p_weights',
            format('p_weights does not apply to strategy %s', p_strategy),
            'leave it out, or use strategy hybrid');
    ELSIF jsonb_typeof(p_weights) <> 'object' THEN
        RETURN mnemo._argument('p_weights',
            'p_weights must be a JSON object; got ' || jsonb_typeof(p_weights),
            'pass lanes and their weights: {"lexical": 1, "recency": 0.1}');
    END IF;
    FOR v_lane IN
        SELECT e.key, e.value FROM jsonb_each(mnemo._lane_weights() || p_weights) AS e
    LOOP
        IF NOT mnemo._lane_weights() ? v_lane.key THEN
            RETURN mnemo._argument('p_weights',
                format('p_weights has the unknown lane %s', mnemo._shown(v_lane.key)),
                'the lanes are lexical, semantic and recency');
        ELSIF jsonb_typeof(v_lane.value) <> 'number' THEN
            RETURN mnemo._argument('p_weights',
                format('p_weights: the weight of %s must be a number; got %s', v_lane.key,
                    jsonb_typeof(v_lane.value)),
                'pass a number from 0 to 1000, 0 to leave the lane out');
        ELSIF NOT v_lane.value::numeric BETWEEN 0 AND 1000 THEN
            RETURN mnemo._argument('p_weights',
                format('p_weights: the weight of %s must be from 0 to 1000; got %s', v_lane.key,
                    left(v_lane.value::text, 100)),
                'pass a number from 0 to 1000, 0 to leave the lane out');
        ELSIF v_lane.key = 'semantic' AND p_embedding IS NULL THEN
            IF p_weights ? 'semantic' AND v_lane.value::numeric > 0 THEN
                RETURN mnemo._argument('p_weights',
                    'p_weights has the lane semantic, and there is no p_embedding',
                    'pass the embedding of the question, or leave the lane out');
            END IF;
            CONTINUE;
        END IF;
        v_sum := v_sum + v_lane.value::numeric;
    END LOOP;
    IF v_sum = 0 THEN
        RETURN mnemo._argument('p_weights', 'p_weights must give a lane a weight above 0',
            'leave p_weights out for the default');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._weights_problem(text, jsonb, text) IS
    'The problem of the weights of lanes: another strategy than hybrid, no object, an unknown lane, a '
    'weight that is no number from 0 to 1000, the lane semantic without an embedding, nothing above '
    '0; NULL for none.';

CREATE FUNCTION mnemo._fused(
    p_query text,
    p_limit bigint,
    p_depth bigint,
    p_weights jsonb,
    p_embedding text,
    p_model text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, explanation jsonb)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_lexical double precision := p_weights -> 'lexical';
    v_recency double precision := p_weights -> 'recency';
    v_semantic double precision := CASE WHEN p_embedding IS NULL THEN 0
        ELSE (p_weights -> 'semantic')::double precision END;
BEGIN
    RETURN QUERY
    WITH lane AS MATERIALIZED (
        SELECT 'lexical' AS name, v_lexical AS weight, l.rank, l.org_id, l.id,
               jsonb_build_object('score', l.score, 'terms', l.parts) AS more
          FROM mnemo._lexical_lane(p_query, p_org_id, p_agent_id, p_now, p_filter, p_depth) AS l
         WHERE v_lexical > 0
        UNION ALL
        SELECT 'semantic', v_semantic, l.rank, l.org_id, l.id,
               jsonb_build_object('similarity', l.similarity, 'distance', l.distance)
          FROM mnemo._semantic_lane(
                p_embedding, p_model, p_org_id, p_agent_id, p_now, p_filter, p_depth) AS l
         WHERE v_semantic > 0
        UNION ALL
        SELECT 'recency', v_recency, l.rank, l.org_id, l.id,
               jsonb_build_object('score', l.score, 'age_hours', l.age_hours)
          FROM mnemo._recent_lane(p_org_id, p_agent_id, p_now, p_filter, p_depth) AS l
         WHERE v_recency > 0
    ), fused AS (
        SELECT l.org_id, l.id, sum(l.weight / (60 + l.rank)) AS score,
               jsonb_object_agg(l.name, jsonb_build_object(
                   'rank', l.rank, 'weight', l.weight, 'contribution', l.weight / (60 + l.rank)
               ) || l.more) AS lanes
          FROM lane AS l
         GROUP BY l.org_id, l.id
    )
    SELECT row_number() OVER (ORDER BY f.score DESC, f.id DESC), f.org_id, f.id, f.score,
           jsonb_build_object('strategy', 'hybrid', 'score', f.score, 'k', 60, 'lanes', f.lanes)
      FROM fused AS f
     ORDER BY f.score DESC, f.id DESC
     LIMIT p_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._fused(
    text, bigint, bigint, jsonb, text, text, text, text, timestamptz, mnemo._recall_filter
) IS
    'Weighted reciprocal rank fusion (Cormack, Clarke, Buettcher, SIGIR 2009): the sum of '
    'weight / (60 + rank) over the best p_depth of each lane. A lane is a ranking of records that '
    'the agent may read and that pass the filters; one of weight 0 is not read.';

CREATE FUNCTION mnemo._ranked(
    p_query text,
    p_limit bigint,
    p_strategy text,
    p_weights jsonb,
    p_embedding text,
    p_model text,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter
)
RETURNS TABLE (rank bigint, org_id text, id uuid, score double precision, explanation jsonb)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET extra_float_digits = 1
AS $fn$
BEGIN
    IF p_strategy = 'lexical' THEN
        RETURN QUERY
        SELECT l.rank, l.org_id, l.id, l.score,
               jsonb_build_object('strategy', 'lexical', 'score', l.score, 'terms', l.parts)
          FROM mnemo._lexical_lane(p_query, p_org_id, p_agent_id, p_now, p_filter, p_limit) AS l;
    ELSIF p_strategy = 'semantic' THEN
        RETURN QUERY
        SELECT l.rank, l.org_id, l.id, l.similarity,
               jsonb_build_object('strategy', 'semantic', 'score', l.similarity,
                   'similarity', l.similarity, 'distance', l.distance)
          FROM mnemo._semantic_lane(
                p_embedding, p_model, p_org_id, p_agent_id, p_now, p_filter, p_limit) AS l;
    ELSE
        RETURN QUERY
        SELECT f.rank, f.org_id, f.id, f.score, f.explanation
          FROM mnemo._fused(
                p_query, p_limit, greatest(p_limit, 50), mnemo._lane_weights() || p_weights,
                p_embedding, p_model, p_org_id, p_agent_id, p_now, p_filter) AS f;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._ranked(
    text, bigint, text, jsonb, text, text, text, text, timestamptz, mnemo._recall_filter
) IS 'The records that strategy lexical, semantic or hybrid of mnemo.recall returns, ranked.';

-- part: 519_recall.sql
CREATE FUNCTION mnemo._recall_problem(
    p_query text,
    p_limit bigint,
    p_strategy text,
    p_types text[],
    p_scope text,
    p_tags text[],
    p_min_importance double precision,
    p_thread_id text,
    p_source_types text[],
    p_weights jsonb,
    p_embedding text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Most calls, which need not ask for each argument.
    IF (p_strategy = 'hybrid' OR p_strategy IN ('recent', 'exact') AND p_embedding IS NULL
            OR p_strategy = 'semantic' AND p_embedding IS NOT NULL
            OR p_strategy = 'lexical' AND p_embedding IS NULL AND NOT mnemo._is_blank(p_query))
        AND p_limit BETWEEN 1 AND 1000 AND p_types IS NULL AND p_scope IS NULL AND p_tags IS NULL
        AND p_min_importance IS NULL AND p_thread_id IS NULL AND p_source_types IS NULL
        AND p_weights IS NULL AND coalesce(octet_length(p_query), 0) <= 100000
    THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._first_problem(ARRAY[
        mnemo._label_problem('p_strategy', 'recall_strategy', p_strategy),
        CASE WHEN p_scope IS NOT NULL THEN mnemo._label_problem('p_scope', 'scope', p_scope) END,
        mnemo._weights_problem(p_strategy, p_weights, p_embedding),
        CASE WHEN p_strategy = 'semantic' AND p_embedding IS NULL THEN
            mnemo._argument('p_embedding', 'p_embedding must not be NULL for strategy semantic',
                'pass the embedding of the question, or use another strategy')
        WHEN p_strategy IN ('lexical', 'exact', 'recent') AND p_embedding IS NOT NULL THEN
            mnemo._argument('p_embedding',
                format('p_embedding does not apply to strategy %s', p_strategy),
                'leave it out, or use strategy semantic or hybrid')
        END,
        CASE WHEN p_strategy = 'lexical' AND mnemo._is_blank(p_query) IS NOT FALSE THEN
            mnemo._argument('p_query',
                'p_query must not be NULL or blank for strategy lexical; got '
                    || mnemo._shown(p_query),
                'pass the words to look for, or use strategy recent or exact')
        END,
        mnemo._limit_problem(p_limit),
        mnemo._label_list_problem('p_types', 'memory_type', p_types),
        mnemo._list_problem('p_tags', p_tags, 100, 256, 'tags'),
        mnemo._fraction_problem('p_min_importance', p_min_importance),
        mnemo._texts_problem(ARRAY['p_thread_id'], ARRAY[p_thread_id], 256),
        mnemo._label_list_problem('p_source_types', 'source_type', p_source_types),
        mnemo._length_problem('p_query', p_query, 100000)
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_problem(
    text, bigint, text, text[], text, text[], double precision, text, text[], jsonb, text
) IS 'The first problem of the arguments of mnemo.recall; NULL for none.';

CREATE FUNCTION mnemo.recall(
    p_query text,
    p_limit bigint DEFAULT 10,
    p_strategy text DEFAULT 'hybrid',
    p_types text[] DEFAULT NULL,
    p_scope text DEFAULT NULL,
    p_tags text[] DEFAULT NULL,
    p_tags_all boolean DEFAULT NULL,
    p_min_importance double precision DEFAULT NULL,
    p_thread_id text DEFAULT NULL,
    p_source_types text[] DEFAULT NULL,
    p_since timestamptz DEFAULT NULL,
    p_until timestamptz DEFAULT NULL,
    p_as_of timestamptz DEFAULT NULL,
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL,
    p_weights jsonb DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    content text,
    owner_agent_id text,
    memory_type text,
    scope text,
    importance double precision,
    tags text[],
    metadata jsonb,
    score double precision,
    created_at timestamptz,
    explanation jsonb
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
-- The semantic lane changes settings for its scan, which no parallel plan allows.
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: look-ups by key.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_caller record;
    v_problem mnemo._problem;
    v_filter mnemo._recall_filter;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    IF p_embedding IS NOT NULL OR p_model IS NOT NULL THEN
        PERFORM mnemo._raise_problem(mnemo._embedding_problem(p_embedding, p_model));
    END IF;
    v_problem := mnemo._recall_problem(p_query, p_limit, p_strategy, p_types, p_scope, p_tags,
        p_min_importance, p_thread_id, p_source_types, p_weights, p_embedding);
    IF v_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise_problem(v_problem);
    END IF;
    v_filter := ROW(p_types, p_scope, p_tags, p_tags_all, p_min_importance, p_thread_id,
        p_source_types, p_since, p_until, p_as_of, NULL, NULL, NULL, NULL);
    IF p_strategy IN ('recent', 'exact') THEN
        RETURN QUERY
        SELECT row_number() OVER (ORDER BY m.created_at DESC, m.id DESC), m.id, m.content,
               m.agent_id, m.memory_type, m.scope, m.importance, m.tags, m.metadata, x.score,
               m.created_at,
               jsonb_build_object('strategy', p_strategy,
                   'age_hours', mnemo._hours(m.created_at, statement_timestamp()),
                   'score', x.score)
          FROM mnemo._newest(v_caller.org_id, v_caller.agent_id, statement_timestamp(), v_filter,
                p_limit) AS m
          CROSS JOIN LATERAL (
            SELECT CASE p_strategy WHEN 'recent'
                   THEN mnemo._recency(mnemo._hours(m.created_at, statement_timestamp()))
                   ELSE 1 END AS score
          ) AS x;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT r.rank, r.id, m.content, m.agent_id, m.memory_type, m.scope, m.importance, m.tags,
           m.metadata, r.score, m.created_at, r.explanation
      FROM mnemo._ranked(
            p_query, p_limit, p_strategy, coalesce(p_weights, '{}'), p_embedding, p_model,
            v_caller.org_id, v_caller.agent_id, statement_timestamp(), v_filter) AS r
      CROSS JOIN LATERAL (
        (SELECT o.* FROM mnemo.memory AS o
          WHERE o.org_id = v_caller.org_id AND o.id = r.id AND r.org_id <> '*' OFFSET 0)
        UNION ALL
        (SELECT o.* FROM mnemo.memory AS o
          WHERE o.org_id = '*' AND o.id = r.id AND r.org_id = '*' OFFSET 0)
      ) AS m
     ORDER BY r.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall(
    text, bigint, text, text[], text, text[], boolean, double precision, text, text[], timestamptz,
    timestamptz, timestamptz, text, text, jsonb, text, text
) IS
    'Memories that the acting agent may read and that pass every filter, best first; never plans. '
    'Strategies: lexical ranks by the words of p_query (BM25 over content, subject, entities, '
    'aliases, predicate, tags and location), equals newest first; recent by age with a half-life of '
    '168 hours; exact is recent with score 1; semantic by p_embedding, the embedding of the question '
    'in a model that mnemo.enable_vectors made (p_model NULL: the only one), score: the similarity; '
    'hybrid, the default, adds weight / (60 + rank) over the best 50 (p_limit if more) of the lanes '
    'lexical, semantic (if there is an embedding) and recency, weights by p_weights, such as '
    '{"lexical": 1, "semantic": 1, "recency": 0.02}, its default. lexical needs words; hybrid '
    'without words and embedding is recent; the others do not read p_query. Filters, NULL for none: memory types, scope, tags (any '
    'of them, all with p_tags_all), least importance, thread, source types, created from p_since '
    'on, before p_until, not after p_as_of. p_limit: 1 to 1000. explanation: the parts of the score. '
    'Reads only: nothing is counted. Errors: 42501 no access; 22023 bad argument, a vector '
    'that does not fit the model; 54000 over a limit; 55000 embedding given but not enabled.';

-- part: 520_forget.sql
-- What forgetting does to records whose rows the caller has locked.

CREATE TYPE mnemo._record_key AS (
    org_id text,
    id uuid
);
COMMENT ON TYPE mnemo._record_key IS 'The key of a record in mnemo.memory.';

CREATE TYPE mnemo._forget_counts AS (
    memories bigint,
    plans bigint,
    grants bigint,
    notes bigint,
    terms bigint,
    signatures bigint,
    idempotency_keys bigint
);
COMMENT ON TYPE mnemo._forget_counts IS
    'How many rows went with forgotten records, by what they are.';

CREATE FUNCTION mnemo._erases(
    p_strategy text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_strategy IN ('hard_delete', 'redact');
COMMENT ON FUNCTION mnemo._erases(text) IS
    'Whether a strategy of forgetting takes the text away, and does not only hide it.';

CREATE FUNCTION mnemo._redacted(
    p_record mnemo.memory,
    p_now timestamptz
)
RETURNS mnemo.memory
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    p_record.content := NULL;
    p_record.metadata := '{}';
    -- What kind of record it was stays.
    p_record.tags := CASE WHEN p_record.tags @> ARRAY[mnemo._reserved_tag()]
        THEN ARRAY[mnemo._reserved_tag()] ELSE '{}' END;
    p_record.source_id := NULL;
    p_record.thread_id := NULL;
    p_record.created_by := NULL;
    p_record.quarantine_reason := NULL;
    p_record.kind := NULL;
    p_record.subject := NULL;
    p_record.predicate := NULL;
    p_record.entities := '{}';
    p_record.aliases := '{}';
    p_record.location := NULL;
    p_record.confidence := NULL;
    p_record.valid_from := p_record.created_at;
    p_record.valid_to := NULL;
    p_record.temporal_scope := 'persistent';
    p_record.nonce := NULL;
    p_record.deleted_at := coalesce(p_record.deleted_at, p_now);
    p_record.redacted_at := p_now;
    p_record.updated_at := p_now;
    RETURN p_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._redacted(mnemo.memory, timestamptz) IS
    'What redaction leaves of a record: ids, owner, scope, labels, numbers, times of the store, and '
    'content_hash.';

CREATE FUNCTION mnemo._forget_beside(
    p_org_id text,
    p_ids uuid[],
    OUT grants bigint,
    OUT notes bigint,
    OUT idempotency_keys bigint
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    DELETE FROM mnemo.acl AS a WHERE a.org_id = p_org_id AND a.memory_id = ANY (p_ids);
    GET DIAGNOSTICS grants = ROW_COUNT;
    DELETE FROM mnemo.event_note AS n
     USING mnemo.event AS e
     WHERE e.memory_org_id = p_org_id AND e.memory_id = ANY (p_ids)
       AND n.org_id = e.org_id AND n.event_id = e.id;
    GET DIAGNOSTICS notes = ROW_COUNT;
    -- A key is the caller's text too.
    DELETE FROM mnemo.idempotency AS i
     WHERE i.memory_org_id = p_org_id AND i.memory_id = ANY (p_ids);
    GET DIAGNOSTICS idempotency_keys = ROW_COUNT;
    PERFORM mnemo._drop_embeddings(p_org_id, p_ids);
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_beside(text, uuid[]) IS
    'Removes what other tables hold of people''s words about records: grants, notes of their events, '
    'idempotency keys; embeddings.';

CREATE FUNCTION mnemo._write_forget_events(
    p_org_id text,
    p_ids uuid[],
    p_strategy text,
    p_event_type text,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes
    )
    SELECT m.origin_org_id, mnemo._next_event_id(m.org_id, m.id), m.agent_id, p_event_type,
           m.org_id, m.id, coalesce(p_actor_org_id, m.origin_org_id),
           coalesce(p_actor_agent_id, m.agent_id), now(), m.content_hash,
           CASE p_strategy
               WHEN 'hard_delete' THEN jsonb_build_object('hard', true)
               WHEN 'soft_delete' THEN jsonb_build_object('deleted_at', mnemo._micros(now()))
               WHEN 'archive' THEN jsonb_build_object('consolidation_state', 'archived')
               ELSE mnemo._bound_changes(m, mnemo._redacted(m, now()))
           END
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = ANY (p_ids)
     ORDER BY m.id;
    PERFORM mnemo._seal_owners(array_agg(m.origin_org_id), array_agg(m.agent_id))
       FROM mnemo.memory AS m
      WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
END
$fn$;
COMMENT ON FUNCTION mnemo._write_forget_events(text, uuid[], text, text, text, text) IS
    'Writes an event for each record about to be forgotten, with the columns that the strategy will '
    'set; without an actor the owner acts.';

CREATE FUNCTION mnemo._forget_records(
    p_org_id text,
    p_ids uuid[],
    p_strategy text,
    p_event_type text,
    p_actor_org_id text DEFAULT NULL,
    p_actor_agent_id text DEFAULT NULL
)
RETURNS mnemo._forget_counts
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_counts mnemo._forget_counts := ROW(0, 0, 0, 0, 0, 0, 0);
BEGIN
    SELECT count(*) FILTER (WHERE NOT m.tags @> ARRAY[mnemo._reserved_tag()]),
           count(*) FILTER (WHERE m.tags @> ARRAY[mnemo._reserved_tag()])
      INTO v_counts.memories, v_counts.plans
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
    v_counts.terms := (
        SELECT count(*)
          FROM mnemo.term_vector AS v WHERE v.org_id = p_org_id AND v.memory_id = ANY (p_ids));
    PERFORM mnemo._write_forget_events(
        p_org_id, p_ids, p_strategy, p_event_type, p_actor_org_id, p_actor_agent_id);
    PERFORM mnemo._unindex_terms(p_org_id, p_ids);
    DELETE FROM mnemo.plan_signature AS s
     WHERE s.org_id = p_org_id AND s.plan_id = ANY (p_ids);
    GET DIAGNOSTICS v_counts.signatures = ROW_COUNT;
    IF mnemo._erases(p_strategy) THEN
        SELECT b.grants, b.notes, b.idempotency_keys
          INTO v_counts.grants, v_counts.notes, v_counts.idempotency_keys
          FROM mnemo._forget_beside(p_org_id, p_ids) AS b;
    END IF;
    IF p_strategy = 'hard_delete' THEN
        DELETE FROM mnemo.memory AS m WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
    ELSIF p_strategy = 'redact' THEN
        UPDATE mnemo.memory AS m
           SET (content, metadata, tags, source_id, thread_id, created_by, quarantine_reason, kind,
                subject, predicate, entities, aliases, location, confidence, valid_from, valid_to,
                temporal_scope, nonce, deleted_at, redacted_at, updated_at) = (
                SELECT r.content, r.metadata, r.tags, r.source_id, r.thread_id, r.created_by,
                       r.quarantine_reason, r.kind, r.subject, r.predicate, r.entities, r.aliases,
                       r.location, r.confidence, r.valid_from, r.valid_to, r.temporal_scope,
                       r.nonce, r.deleted_at, r.redacted_at, r.updated_at
                  FROM mnemo._redacted(m, now()) AS r)
         WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
    ELSE
        UPDATE mnemo.memory AS m
           SET deleted_at = CASE p_strategy WHEN 'soft_delete' THEN now() ELSE m.deleted_at END,
               consolidation_state = CASE p_strategy WHEN 'archive' THEN 'archived'
                   ELSE m.consolidation_state END,
               updated_at = now()
         WHERE m.org_id = p_org_id AND m.id = ANY (p_ids);
    END IF;
    RETURN v_counts;
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_records(text, uuid[], text, text, text, text) IS
    'Forgets records of one org_id, whose rows the caller has locked, by a strategy: event, terms, '
    'signatures, what else there is of them, the row. Every way in which a record is deleted, '
    'expired or purged goes through here. Without an actor the owner acts. For some thousand '
    'records at most.';

CREATE FUNCTION mnemo._forget_batches(
    p_keys mnemo._record_key[],
    p_strategy text,
    p_event_type text,
    p_actor_org_id text DEFAULT NULL,
    p_actor_agent_id text DEFAULT NULL
)
RETURNS mnemo._forget_counts
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_batch record;
    v_done mnemo._forget_counts;
    v_counts mnemo._forget_counts := ROW(0, 0, 0, 0, 0, 0, 0);
BEGIN
    FOR v_batch IN
        SELECT k.org_id, array_agg(k.id ORDER BY k.id) AS ids
          FROM (
            SELECT u.org_id, u.id,
                   (row_number() OVER (PARTITION BY u.org_id ORDER BY u.id) - 1) / 1000 AS place
              FROM unnest(p_keys) AS u(org_id, id)
          ) AS k
         GROUP BY k.org_id, k.place
         ORDER BY k.org_id, k.place
    LOOP
        v_done := mnemo._forget_records(v_batch.org_id, v_batch.ids, p_strategy, p_event_type,
            p_actor_org_id, p_actor_agent_id);
        v_counts := ROW(
            v_counts.memories + v_done.memories, v_counts.plans + v_done.plans,
            v_counts.grants + v_done.grants, v_counts.notes + v_done.notes,
            v_counts.terms + v_done.terms, v_counts.signatures + v_done.signatures,
            v_counts.idempotency_keys + v_done.idempotency_keys);
    END LOOP;
    RETURN v_counts;
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_batches(mnemo._record_key[], text, text, text, text) IS
    'Forgets records whose rows the caller has locked, a thousand at a time, with events of one '
    'type. Without an actor the owner acts.';

CREATE FUNCTION mnemo._forget_keys(
    p_keys mnemo._record_key[],
    p_strategy text,
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS mnemo._forget_counts
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_counts mnemo._forget_counts := mnemo._forget_batches(
        p_keys, p_strategy,
        CASE p_strategy WHEN 'archive' THEN 'memory_update' WHEN 'redact' THEN 'memory_redact'
            ELSE 'memory_delete' END,
        p_actor_org_id, p_actor_agent_id);
BEGIN
    IF mnemo._erases(p_strategy) THEN
        -- What is not folded in yet holds the terms of those that came and went.
        PERFORM mnemo._compact_terms(o.org_id)
           FROM (SELECT DISTINCT u.org_id FROM unnest(p_keys) AS u(org_id, id)) AS o;
    END IF;
    RETURN v_counts;
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_keys(mnemo._record_key[], text, text, text) IS
    'Forgets records whose rows the caller has locked, at the word of an agent; where it erases, '
    'the statistics of terms are folded in too.';

-- part: 521_forget_ids.sql
CREATE FUNCTION mnemo._forgettable(
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_strategy text,
    p_now timestamptz
)
RETURNS TABLE (org_id text, id uuid)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_own mnemo._record_key[] := ARRAY(
        SELECT ROW(m.org_id, m.id)::mnemo._record_key
          FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u(id)) AS t
          JOIN mnemo.memory AS m ON m.org_id IN (p_org_id, '*') AND m.id = t.id
         WHERE m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
           -- What hides a record from recall does not keep its owner from erasing it.
           AND (mnemo._erases(p_strategy) OR mnemo._is_live(m, p_now))
    );
    v_rest uuid[] := ARRAY(
        SELECT u.id FROM unnest(p_ids) AS u(id)
        EXCEPT
        SELECT k.id FROM unnest(v_own) AS k(org_id, id)
    );
BEGIN
    RETURN QUERY SELECT k.org_id, k.id FROM unnest(v_own) AS k(org_id, id);
    IF cardinality(v_rest) > 0 THEN
        RETURN QUERY
        SELECT h.org_id, h.id
          FROM mnemo._held(p_org_id, p_agent_id, v_rest, p_now) AS h
         WHERE h.rank >= mnemo._permission_rank('delete');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._forgettable(text, text, uuid[], text, timestamptz) IS
    'The records among p_ids that the agent may forget by a strategy: live ones on which it holds '
    'delete; for hard_delete and redact also its own in any state, deleted, archived, expired and '
    'quarantined ones.';

CREATE FUNCTION mnemo._require_forgettable(
    p_level text,
    p_org_id text,
    p_agent_id text,
    p_ids uuid[],
    p_strategy text
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_keys mnemo._record_key[] := ARRAY(
        SELECT ROW(f.org_id, f.id)::mnemo._record_key
          FROM mnemo._forgettable(
                p_org_id, p_agent_id, p_ids, p_strategy, clock_timestamp()) AS f
    );
    v_rest uuid[] := ARRAY(
        SELECT u.id FROM unnest(p_ids) AS u(id)
        EXCEPT
        SELECT k.id FROM unnest(v_keys) AS k(org_id, id)
    );
BEGIN
    IF cardinality(v_rest) > 0 THEN
        PERFORM mnemo._require_permission('p_ids', p_org_id, p_agent_id, v_rest, 'delete');
    END IF;
    IF p_level = 'tenant' AND '*' IN (SELECT k.org_id FROM unnest(v_keys) AS k(org_id, id)) THEN
        PERFORM mnemo._raise_access('a tenant may not forget a record of scope global',
            jsonb_build_object('parameter', 'p_ids'), 'use a role of level application');
    END IF;
    RETURN v_keys;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_forgettable(text, text, text, uuid[], text) IS
    'The keys of the records that a caller may forget: all of p_ids, or '
    'it raises MN001 or 42501.';

CREATE FUNCTION mnemo._with_versions(
    p_keys mnemo._record_key[],
    p_strategy text
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    IF NOT mnemo._erases(p_strategy) THEN
        RETURN p_keys;
    END IF;
    RETURN ARRAY(
        WITH RECURSIVE version AS (
            SELECT m.org_id, m.id, m.origin_org_id, m.agent_id, m.prev_version_id
              FROM unnest(p_keys) AS k(org_id, id)
              JOIN mnemo.memory AS m ON m.org_id = k.org_id AND m.id = k.id
            UNION
            SELECT m.org_id, m.id, m.origin_org_id, m.agent_id, m.prev_version_id
              FROM version AS v
              JOIN mnemo.memory AS m ON m.org_id = v.org_id AND m.id = v.prev_version_id
             WHERE m.origin_org_id = v.origin_org_id AND m.agent_id = v.agent_id
        )
        SELECT ROW(m.org_id, m.id)::mnemo._record_key
          FROM version AS v
          JOIN mnemo.memory AS m ON m.org_id = v.org_id AND m.id = v.id
         WHERE NOT (p_strategy = 'redact' AND m.redacted_at IS NOT NULL)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._with_versions(mnemo._record_key[], text) IS
    'The records that a strategy changes: where it erases, also the versions that they replaced, '
    'and not what is redacted already.';

CREATE FUNCTION mnemo._lock_keys(
    p_keys mnemo._record_key[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    -- One order of locks for every writer: organisation, then id.
    PERFORM FROM mnemo.memory AS m
       JOIN unnest(p_keys) AS k(org_id, id) ON k.org_id = m.org_id AND k.id = m.id
      ORDER BY m.org_id, m.id
        FOR UPDATE OF m;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_keys(mnemo._record_key[]) IS
    'Locks records in the order of all writers; waits for those who are at them.';

CREATE FUNCTION mnemo._forget_status(
    p_strategy text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_strategy WHEN 'soft_delete' THEN 'deleted' WHEN 'hard_delete' THEN 'removed'
    WHEN 'archive' THEN 'archived' WHEN 'redact' THEN 'redacted' END;
COMMENT ON FUNCTION mnemo._forget_status(text) IS 'What a strategy of forgetting makes of a record.';

CREATE FUNCTION mnemo.forget(
    p_ids uuid[],
    p_strategy text DEFAULT 'soft_delete',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_keys mnemo._record_key[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._ids_problem('p_ids', p_ids),
        mnemo._label_problem('p_strategy', 'forget_strategy', p_strategy)
    ]));
    v_keys := mnemo._require_forgettable(
        v_caller.level, v_caller.org_id, v_caller.agent_id, p_ids, p_strategy);
    PERFORM mnemo._lock_keys(mnemo._with_versions(v_keys, p_strategy));
    -- Waiting for the locks, the agent may have lost the permission, or the record.
    v_keys := mnemo._require_forgettable(
        v_caller.level, v_caller.org_id, v_caller.agent_id, p_ids, p_strategy);
    PERFORM mnemo._forget_keys(mnemo._with_versions(v_keys, p_strategy), p_strategy,
        v_caller.org_id, v_caller.agent_id);
    RETURN QUERY
    SELECT DISTINCT t.id, mnemo._forget_status(p_strategy)
      FROM unnest(p_ids) AS t(id)
     ORDER BY t.id;
END
$fn$;
COMMENT ON FUNCTION mnemo.forget(uuid[], text, text, text) IS
    'Forgets records, plans or memories, so that nothing recalls them; all or nothing, with one '
    'event a record. p_strategy: soft_delete keeps the row and its text, archive too (in state '
    'archived); redact erases text, facets, tags, grants, notes, terms, idempotency keys and the '
    'nonce, and keeps the row with its hash; hard_delete removes the row and leaves the hash in an '
    'event. The last two erase the versions that a record replaced as well, and the owner can '
    'apply them to its records in any state, deleted, archived, expired and quarantined ones. '
    'Returns a row for each id with what it is now: deleted, archived, redacted, removed. Needs '
    'permission delete on each. Errors: 42501 no access, permission missing, a global record and a '
    'tenant; MN001 unknown, gone or invisible id; 22023 NULL, empty list, NULL element, unknown '
    'strategy; 54000 over 10,000.';

-- part: 522_forget_criteria.sql
-- What forget_where and forget_subject look for.

CREATE TYPE mnemo._forget_criteria AS (
    tags text[],
    types text[],
    thread text,
    source text,
    source_types text[],
    before timestamptz,
    subject text
);
COMMENT ON TYPE mnemo._forget_criteria IS
    'What a record must meet to be forgotten; a NULL lets all pass. subject: a data subject, '
    'normalised.';

CREATE FUNCTION mnemo._data_subject(
    p_subject text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._lower(mnemo._squeeze(p_subject));
COMMENT ON FUNCTION mnemo._data_subject(text) IS
    'A name as subjects are stored: lower case, single spaces.';

CREATE FUNCTION mnemo._names_subject(
    p_record_subject text,
    p_entities text[],
    p_tags text[],
    p_subject text
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN coalesce(p_record_subject = p_subject, false)
        OR (p_entities <> '{}' AND EXISTS (
            SELECT FROM unnest(p_entities) AS e(name)
             WHERE mnemo._data_subject(e.name) = p_subject))
        OR (p_tags <> '{}' AND EXISTS (
            SELECT FROM unnest(p_tags) AS t(tag)
             WHERE mnemo._data_subject(t.tag) = 'subject:' || p_subject));
END
$fn$;
COMMENT ON FUNCTION mnemo._names_subject(text, text[], text[], text) IS
    'Whether a record''s subject, an entity, or a tag subject:name is this data subject (normalised), '
    'case and spaces aside.';

CREATE FUNCTION mnemo._meets(
    p_record mnemo.memory,
    p_criteria mnemo._forget_criteria,
    p_strategy text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_strategy = 'hard_delete' OR (p_record).redacted_at IS NULL)
    AND ((p_criteria).tags IS NULL OR (p_record).tags && (p_criteria).tags)
    AND ((p_criteria).types IS NULL OR (p_record).memory_type = ANY ((p_criteria).types))
    AND ((p_criteria).thread IS NULL OR (p_record).thread_id = (p_criteria).thread)
    AND ((p_criteria).source IS NULL OR (p_record).source_id = (p_criteria).source)
    AND ((p_criteria).source_types IS NULL
        OR (p_record).source_type = ANY ((p_criteria).source_types))
    AND ((p_criteria).before IS NULL OR (p_record).created_at < (p_criteria).before)
    AND ((p_criteria).subject IS NULL
        OR mnemo._names_subject((p_record).subject, (p_record).entities, (p_record).tags,
            (p_criteria).subject));
COMMENT ON FUNCTION mnemo._meets(mnemo.memory, mnemo._forget_criteria, text) IS
    'Whether a record meets all criteria and the strategy has something to do to it.';

CREATE FUNCTION mnemo._criteria_time(
    p_text text
)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO'
AS $fn$
BEGIN
    IF p_text COLLATE "C" ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}'
        '([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?$'
    THEN
        RETURN p_text::timestamptz;
    END IF;
    RETURN NULL;
EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format
    OR invalid_time_zone_displacement_value THEN
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._criteria_time(text) IS
    'A time in ISO 8601, with its zone, or a date, which begins in UTC; NULL for any other text.';

CREATE FUNCTION mnemo._criterion_problem(
    p_key text,
    p_value jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_list text[];
    v_problem mnemo._problem;
BEGIN
    IF p_key IN ('thread', 'source', 'before') THEN
        IF jsonb_typeof(p_value) <> 'string' OR mnemo._is_blank(p_value #>> '{}') THEN
            RETURN mnemo._argument('p_criteria',
                format('p_criteria: %s must be a text that is not blank', p_key),
                'leave the criterion out or give it a value');
        ELSIF p_key = 'before' AND mnemo._criteria_time(p_value #>> '{}') IS NULL THEN
            RETURN mnemo._argument('p_criteria',
                'p_criteria: before must be a time with its zone; got '
                    || mnemo._shown(p_value #>> '{}'),
                'write it as 2026-01-31T12:00:00Z, or a date, which begins in UTC');
        END IF;
        RETURN mnemo._length_problem('p_criteria', p_value #>> '{}', 256);
    ELSIF p_key NOT IN ('tags', 'types', 'source_types') THEN
        RETURN mnemo._argument('p_criteria',
            'p_criteria: there is no criterion ' || mnemo._shown(p_key),
            'tags, types, thread, source, source_types or before');
    ELSIF jsonb_typeof(p_value) <> 'array' OR p_value = '[]'
        OR p_value @? 'strict $[*] ? (@.type() != "string")'
    THEN
        RETURN mnemo._argument('p_criteria',
            format('p_criteria: %s must be an array of texts with at least one', p_key),
            'leave the criterion out or give it a value');
    END IF;
    v_list := mnemo._text_list(p_value);
    v_problem := CASE p_key
        WHEN 'tags' THEN mnemo._list_problem('p_criteria', v_list, 100, 256, 'tags')
        WHEN 'types' THEN mnemo._label_list_problem('p_criteria', 'memory_type', v_list)
        ELSE mnemo._label_list_problem('p_criteria', 'source_type', v_list) END;
    RETURN v_problem;
END
$fn$;
COMMENT ON FUNCTION mnemo._criterion_problem(text, jsonb) IS
    'The problem of one criterion of forget_where; NULL for none.';

CREATE FUNCTION mnemo._criteria_problem(
    p_criteria jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF jsonb_typeof(p_criteria) IS DISTINCT FROM 'object' OR p_criteria = '{}' THEN
        RETURN mnemo._argument('p_criteria',
            'p_criteria must be a JSON object with at least one criterion; got '
                || mnemo._shown(p_criteria::text),
            'tags, types, thread, source, source_types or before');
    END IF;
    RETURN mnemo._first_problem(ARRAY(
        SELECT mnemo._criterion_problem(c.key, c.value) FROM jsonb_each(p_criteria) AS c
    ));
END
$fn$;
COMMENT ON FUNCTION mnemo._criteria_problem(jsonb) IS
    'The first problem of the criteria of forget_where: no object, none, unknown, bad value; NULL '
    'for none.';

CREATE FUNCTION mnemo._criteria(
    p_criteria jsonb
)
RETURNS mnemo._forget_criteria
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ROW(
        CASE WHEN p_criteria ? 'tags' THEN mnemo._text_list(p_criteria -> 'tags') END,
        CASE WHEN p_criteria ? 'types' THEN mnemo._text_list(p_criteria -> 'types') END,
        p_criteria ->> 'thread',
        p_criteria ->> 'source',
        CASE WHEN p_criteria ? 'source_types'
            THEN mnemo._text_list(p_criteria -> 'source_types') END,
        mnemo._criteria_time(p_criteria ->> 'before'),
        NULL
    )::mnemo._forget_criteria;
END
$fn$;
COMMENT ON FUNCTION mnemo._criteria(jsonb) IS 'Criteria that have no problem, with their types.';

-- part: 523_forget_matching.sql
-- What forget_where and forget_subject find.

CREATE FUNCTION mnemo._granted_to_delete(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM mnemo.acl AS a
      JOIN mnemo.memory AS m ON m.org_id = a.org_id AND m.id = a.memory_id
     WHERE a.org_id = p_org_id AND m.org_id = p_org_id AND a.agent_id = p_agent_id
       AND (a.expires_at IS NULL OR a.expires_at > p_now)
       AND mnemo._permission_rank(a.permission) >= mnemo._permission_rank('delete')
       AND m.scope IN ('shared', 'public') AND m.agent_id <> p_agent_id
       AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now);
END;
COMMENT ON FUNCTION mnemo._granted_to_delete(text, text, timestamptz) IS
    'The live records of other agents that a grant lets the agent delete.';

CREATE FUNCTION mnemo._deleting_givers(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (agent_id text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT DISTINCT d.root_agent_id
      FROM mnemo.delegation AS d
     WHERE d.org_id = p_org_id AND d.to_agent_id = p_agent_id
       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > p_now
       AND mnemo._permission_rank(d.permission) >= mnemo._permission_rank('delete');
END;
COMMENT ON FUNCTION mnemo._deleting_givers(text, text, timestamptz) IS
    'The agents on whose rights the agent holds delete by delegations.';

CREATE FUNCTION mnemo._delegated_to_delete(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.*
      FROM (
        -- One branch an index.
        SELECT o.*
          FROM mnemo._deleting_givers(p_org_id, p_agent_id, p_now) AS g
          JOIN mnemo.memory AS o ON o.agent_id = g.agent_id
         WHERE o.org_id = p_org_id AND o.origin_org_id = p_org_id AND o.deleted_at IS NULL
           AND NOT o.tags @> ARRAY['__experience_plan__']
        UNION ALL
        SELECT o.*
          FROM mnemo._deleting_givers(p_org_id, p_agent_id, p_now) AS g
          JOIN mnemo.memory AS o ON o.agent_id = g.agent_id
         WHERE o.org_id = p_org_id AND o.origin_org_id = p_org_id AND o.deleted_at IS NULL
           AND o.tags @> ARRAY['__experience_plan__']
        UNION ALL
        SELECT o.*
          FROM mnemo._deleting_givers(p_org_id, p_agent_id, p_now) AS g
          JOIN mnemo.acl AS a ON a.agent_id = g.agent_id
          JOIN mnemo.memory AS o ON o.id = a.memory_id
         WHERE a.org_id = p_org_id AND o.org_id = p_org_id AND a.permission = 'share'
           AND o.deleted_at IS NULL
      ) AS m
     WHERE m.agent_id <> p_agent_id AND mnemo._is_live(m, p_now)
       AND EXISTS (
            SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, p_now) AS w
             WHERE mnemo._permission_rank(w.permission) >= mnemo._permission_rank('delete'));
END;
COMMENT ON FUNCTION mnemo._delegated_to_delete(text, text, timestamptz) IS
    'The live records of other agents that a delegation lets the agent delete; one may come twice.';

CREATE FUNCTION mnemo._others_to_delete(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT * FROM mnemo._granted_to_delete(p_org_id, p_agent_id, p_now)
    UNION ALL
    SELECT * FROM mnemo._delegated_to_delete(p_org_id, p_agent_id, p_now);
END;
COMMENT ON FUNCTION mnemo._others_to_delete(text, text, timestamptz) IS
    'The live records of other agents that the agent may delete, some twice.';

CREATE FUNCTION mnemo._originated(
    p_org_id text
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- One branch an index.
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id AND m.deleted_at IS NULL
       AND NOT m.tags @> ARRAY['__experience_plan__']
    UNION ALL
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id AND m.deleted_at IS NULL
       AND m.tags @> ARRAY['__experience_plan__']
    UNION ALL
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id AND m.deleted_at IS NOT NULL;
END;
COMMENT ON FUNCTION mnemo._originated(text) IS
    'All records that an organisation wrote, whoever owns them, in any state.';

CREATE FUNCTION mnemo._matching(
    p_org_id text,
    p_agent_id text,
    p_criteria mnemo._forget_criteria,
    p_strategy text,
    p_whole boolean,
    p_limit bigint,
    p_now timestamptz
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    IF p_whole THEN
        RETURN ARRAY(
            SELECT ROW(m.org_id, m.id)::mnemo._record_key
              FROM mnemo._originated(p_org_id) AS m
             WHERE mnemo._meets(m, p_criteria, p_strategy)
        );
    ELSIF mnemo._erases(p_strategy) THEN
        RETURN ARRAY(
            SELECT ROW(f.org_id, f.id)::mnemo._record_key
              FROM (
                SELECT m.org_id, m.id
                  FROM mnemo._owned(p_org_id, p_agent_id) AS m
                 WHERE mnemo._meets(m, p_criteria, p_strategy)
                UNION ALL
                SELECT m.org_id, m.id
                  FROM mnemo._others_to_delete(p_org_id, p_agent_id, p_now) AS m
                 WHERE mnemo._meets(m, p_criteria, p_strategy)
              ) AS f
             LIMIT p_limit
        );
    END IF;
    RETURN ARRAY(
        SELECT ROW(f.org_id, f.id)::mnemo._record_key
          FROM (
            SELECT m.org_id, m.id
              FROM mnemo._visible_own(p_org_id, p_agent_id, p_now) AS m
             WHERE mnemo._meets(m, p_criteria, p_strategy)
            UNION ALL
            SELECT m.org_id, m.id
              FROM mnemo.memory AS m
             WHERE m.org_id = '*' AND m.origin_org_id = p_org_id AND m.agent_id = p_agent_id
               AND m.deleted_at IS NULL AND mnemo._is_live(m, p_now)
               AND mnemo._meets(m, p_criteria, p_strategy)
            UNION ALL
            SELECT m.org_id, m.id
              FROM mnemo._others_to_delete(p_org_id, p_agent_id, p_now) AS m
             WHERE mnemo._meets(m, p_criteria, p_strategy)
          ) AS f
         LIMIT p_limit
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._matching(
    text, text, mnemo._forget_criteria, text, boolean, bigint, timestamptz
) IS
    'The records that meet the criteria and that the agent may forget by the strategy, at most '
    'p_limit (NULL: all), some twice; with p_whole all that the organisation wrote.';

-- part: 525_forget_where.sql
CREATE FUNCTION mnemo._still_matching(
    p_org_id text,
    p_agent_id text,
    p_keys mnemo._record_key[],
    p_criteria mnemo._forget_criteria,
    p_strategy text,
    p_whole boolean,
    p_now timestamptz
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT ROW(m.org_id, m.id)::mnemo._record_key
          FROM (SELECT DISTINCT u.org_id, u.id FROM unnest(p_keys) AS u(org_id, id)) AS k
          JOIN mnemo.memory AS m ON m.org_id = k.org_id AND m.id = k.id
         WHERE mnemo._meets(m, p_criteria, p_strategy)
           AND (p_whole OR (m.org_id, m.id) IN (
                SELECT f.org_id, f.id
                  FROM mnemo._forgettable(p_org_id, p_agent_id,
                      ARRAY(SELECT u.id FROM unnest(p_keys) AS u(org_id, id)),
                      p_strategy, p_now) AS f))
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._still_matching(
    text, text, mnemo._record_key[], mnemo._forget_criteria, text, boolean, timestamptz
) IS
    'Those of the records, now locked, of which what _matching found is still true.';

CREATE FUNCTION mnemo._lock_matching(
    p_level text,
    p_org_id text,
    p_agent_id text,
    p_criteria mnemo._forget_criteria,
    p_strategy text,
    p_whole boolean,
    p_limit bigint
)
RETURNS mnemo._record_key[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_keys mnemo._record_key[] := mnemo._matching(p_org_id, p_agent_id, p_criteria, p_strategy,
        p_whole, p_limit, clock_timestamp());
BEGIN
    -- A tenant changes nothing that other organisations see.
    v_keys := ARRAY(
        SELECT ROW(k.org_id, k.id)::mnemo._record_key
          FROM unnest(v_keys) AS k(org_id, id)
         WHERE p_level <> 'tenant' OR k.org_id <> '*'
    );
    PERFORM mnemo._lock_keys(mnemo._with_versions(v_keys, p_strategy));
    RETURN mnemo._with_versions(
        mnemo._still_matching(p_org_id, p_agent_id, v_keys, p_criteria, p_strategy, p_whole,
            clock_timestamp()),
        p_strategy);
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_matching(
    text, text, text, mnemo._forget_criteria, text, boolean, bigint
) IS
    'Locks and returns what is to be forgotten, where it erases with the versions that were '
    'replaced.';

CREATE FUNCTION mnemo.forget_where(
    p_criteria jsonb,
    p_strategy text DEFAULT 'soft_delete',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_limit bigint DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_keys mnemo._record_key[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._criteria_problem(p_criteria),
        mnemo._label_problem('p_strategy', 'forget_strategy', p_strategy),
        CASE WHEN p_limit IS NOT NULL THEN mnemo._most_problem(p_limit) END
    ]));
    v_keys := mnemo._lock_matching(v_caller.level, v_caller.org_id, v_caller.agent_id,
        mnemo._criteria(p_criteria), p_strategy, false, p_limit);
    PERFORM mnemo._forget_keys(v_keys, p_strategy, v_caller.org_id, v_caller.agent_id);
    RETURN QUERY
    SELECT k.id, mnemo._forget_status(p_strategy)
      FROM unnest(v_keys) AS k(org_id, id)
     ORDER BY k.id;
END
$fn$;
COMMENT ON FUNCTION mnemo.forget_where(jsonb, text, text, text, bigint) IS
    'Forgets all records, memories and plans, that meet every criterion and on which the acting '
    'agent holds delete; others are left alone without an error. p_criteria: an object with at '
    'least one of tags (array; any of them), types (memory types), thread (thread_id), source '
    '(source_id), source_types, before (created before this time: ISO 8601 with zone, or a date). '
    'p_strategy as mnemo.forget: soft_delete and archive take live records, redact and '
    'hard_delete also the agent''s own that are deleted, archived, expired or quarantined, and '
    'replaced versions. p_limit: at most so many records that meet the criteria (1 to 1,000,000), '
    'call again until no row comes; NULL: all in this call. Returns a row for each record '
    'forgotten, by id: deleted, archived, redacted, removed. All or nothing. Errors: 42501 no '
    'access; 22023 no criterion, unknown criterion, bad value, unknown strategy, bad p_limit; '
    '54000 over 100 tags, a tag or name over 256 characters.';

-- part: 526_forget_subject.sql
CREATE FUNCTION mnemo._forget_tag_delegations(
    p_org_id text,
    p_agent_id text,
    p_actor_agent_id text,
    p_subject text,
    OUT delegations bigint,
    OUT notes bigint
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_head mnemo.delegation;
BEGIN
    delegations := 0;
    FOR v_head IN
        DELETE FROM mnemo.delegation AS d
         WHERE d.org_id = p_org_id AND d.head_id IS NULL AND d.tag IS NOT NULL
           AND (p_agent_id IS NULL OR d.from_agent_id = p_agent_id)
           AND mnemo._names_subject(NULL, '{}', ARRAY[d.tag], p_subject)
        RETURNING d.*
    LOOP
        delegations := delegations + 1;
        PERFORM mnemo._delegation_event(v_head, 'memory_unshare', p_actor_agent_id, '{}');
    END LOOP;
    -- The event of a delegation has the tag as its note.
    DELETE FROM mnemo.event_note AS n
     USING mnemo.event AS e
     WHERE e.memory_org_id = p_org_id AND e.memory_id IS NULL AND e.org_id = p_org_id
       AND (p_agent_id IS NULL OR e.agent_id = p_agent_id)
       AND n.org_id = e.org_id AND n.event_id = e.id
       AND mnemo._names_subject(NULL, '{}', ARRAY[n.note], p_subject);
    GET DIAGNOSTICS notes = ROW_COUNT;
END
$fn$;
COMMENT ON FUNCTION mnemo._forget_tag_delegations(text, text, text, text) IS
    'Removes the delegations of the tag subject:name, given by the agent or (NULL) by anybody of '
    'the organisation, with what was passed on from them, and the notes that name the tag; writes '
    'an event for each.';

CREATE FUNCTION mnemo.forget_subject(
    p_subject text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (rank bigint, kind text, erased bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_subject text := mnemo._data_subject(p_subject);
    v_whole boolean;
    v_counts mnemo._forget_counts;
    v_tags record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN p_subject IS NULL OR mnemo._is_blank(p_subject) THEN
            mnemo._argument('p_subject', 'p_subject must not be NULL or blank',
                'pass the name that subject, entities or a tag subject:name hold')
        END,
        mnemo._length_problem('p_subject', p_subject, 256)
    ]));
    -- Who may name any agent may erase for all of them; a tenant is one agent.
    v_whole := v_caller.level <> 'tenant';
    v_counts := mnemo._forget_keys(
        mnemo._lock_matching(v_caller.level, v_caller.org_id, v_caller.agent_id,
            ROW(NULL, NULL, NULL, NULL, NULL, NULL, v_subject)::mnemo._forget_criteria,
            'redact', v_whole, NULL),
        'redact', v_caller.org_id, v_caller.agent_id);
    SELECT * INTO v_tags
      FROM mnemo._forget_tag_delegations(v_caller.org_id,
          CASE WHEN v_whole THEN NULL ELSE v_caller.agent_id END, v_caller.agent_id, v_subject);
    RETURN QUERY
    SELECT e.rank, e.kind, e.erased
      FROM (VALUES
        (1::bigint, 'memories', v_counts.memories), (2, 'plans', v_counts.plans),
        (3, 'grants', v_counts.grants), (4, 'notes', v_counts.notes + v_tags.notes),
        (5, 'terms', v_counts.terms), (6, 'signatures', v_counts.signatures),
        (7, 'idempotency_keys', v_counts.idempotency_keys), (8, 'delegations', v_tags.delegations)
      ) AS e(rank, kind, erased)
     ORDER BY e.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo.forget_subject(text, text, text) IS
    'Redacts, as mnemo.forget does, every memory and plan that names a data subject: whose subject '
    'is the name, or one of its entities, or that has the tag subject:name, case and spaces aside; '
    'in any state, with the versions that they replaced. Called by a role of level application or '
    'admin: all that the organisation wrote, whoever owns it, global records too; by a tenant: '
    'what the acting agent may delete. Removes delegations of that tag as well. Returns how many '
    'rows went, one row a kind: memories, plans (both redacted, not removed), grants, notes, terms '
    '(records taken out of the term index), signatures, idempotency_keys, delegations. Texts that '
    'name nobody in these fields are not found. Errors: 42501 no access; 22023 NULL or blank; '
    '54000 over 256 characters.';

-- part: 530_share.sql
CREATE FUNCTION mnemo._agents_problem(
    p_parameter text,
    p_agents text[]
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_agent text;
BEGIN
    IF p_agents IS NULL OR cardinality(p_agents) = 0 THEN
        RETURN mnemo._argument(p_parameter, p_parameter || ' must name at least one agent',
            'pass the agents as an array');
    ELSIF array_ndims(p_agents) = 1 THEN
        FOREACH v_agent IN ARRAY p_agents LOOP
            IF NOT mnemo._is_identifier(v_agent) AND v_agent IS NOT NULL THEN
                RETURN mnemo._identifier_problem(p_parameter, v_agent);
            END IF;
        END LOOP;
    END IF;
    RETURN mnemo._list_problem(p_parameter, p_agents, 10000, NULL, 'agents');
END
$fn$;
COMMENT ON FUNCTION mnemo._agents_problem(text, text[]) IS
    'The problem of a list of agents: NULL, empty, NULL or ill-formed elements, over 10,000; NULL '
    'for none.';

CREATE FUNCTION mnemo._lock_shareable(
    p_id uuid,
    p_org_id text,
    p_agent_id text
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], 'share');
    SELECT m.* INTO v_record
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = p_id AND m.deleted_at IS NULL
       FOR UPDATE;
    IF NOT FOUND THEN
        IF EXISTS (SELECT FROM mnemo.memory AS m WHERE m.org_id = '*' AND m.id = p_id) THEN
            PERFORM mnemo._raise_argument('p_id', 'p_id is a global record: every agent reads it',
                'grants are for records of one organisation');
        END IF;
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
    -- Waiting for the lock, the agent may have lost the permission.
    PERFORM mnemo._require_permission('p_id', p_org_id, p_agent_id, ARRAY[p_id], 'share');
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_shareable(uuid, text, text) IS
    'Locks and returns a record of the organisation that the agent may share. Raises MN001, 42501, '
    'or 22023 for a global record.';

CREATE FUNCTION mnemo._share_end(
    p_record mnemo.memory,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN (
        SELECT nullif(max(coalesce(r.expires_at, 'infinity')), 'infinity')
          FROM (
            SELECT NULL::timestamptz AS expires_at
             WHERE p_record.origin_org_id = p_org_id AND p_record.agent_id = p_agent_id
            UNION ALL
            SELECT a.expires_at
              FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = p_record.id
               AND a.agent_id = p_agent_id AND a.permission = 'share'
               AND (a.expires_at IS NULL OR a.expires_at > p_now)
            UNION ALL
            SELECT w.expires_at
              FROM mnemo._ways(p_record, p_org_id, p_agent_id, p_now) AS w
             WHERE w.permission = 'share'
          ) AS r
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._share_end(mnemo.memory, text, text, timestamptz) IS
    'Until when the agent may share the record: the latest end of its rights to; NULL for no end.';

CREATE FUNCTION mnemo.share(
    p_id uuid,
    p_to_agents text[],
    p_permission text DEFAULT 'read',
    p_ttl interval DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (agent_id text, permission text, expires_at timestamptz)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record mnemo.memory;
    v_expires_at timestamptz;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        mnemo._agents_problem('p_to_agents', p_to_agents),
        mnemo._ttl_problem(p_ttl),
        mnemo._label_problem('p_permission', 'permission', p_permission)
    ]));
    v_record := mnemo._lock_shareable(p_id, v_caller.org_id, v_caller.agent_id);
    IF v_record.agent_id = ANY (p_to_agents) THEN
        PERFORM mnemo._raise_argument('p_to_agents',
            format('p_to_agents contains the owner %s, who holds every permission',
                v_record.agent_id),
            'leave the owner out');
    ELSIF v_caller.agent_id = ANY (p_to_agents) THEN
        PERFORM mnemo._raise_argument('p_to_agents', 'p_to_agents contains the acting agent',
            'nobody widens a grant of its own');
    END IF;
    -- Nobody gives for longer than it holds.
    v_expires_at := least(now() + p_ttl,
        mnemo._share_end(v_record, v_caller.org_id, v_caller.agent_id, clock_timestamp()));
    IF v_record.scope = 'private' THEN
        UPDATE mnemo.memory AS m
           SET scope = 'shared', updated_at = now()
         WHERE m.org_id = v_record.org_id AND m.id = v_record.id;
        v_record.scope := 'shared';
    END IF;
    INSERT INTO mnemo.acl AS a (
        org_id, memory_id, agent_id, permission, granted_by, granted_at, expires_at
    )
    SELECT v_record.org_id, v_record.id, t.agent, p_permission, v_caller.agent_id, now(),
           v_expires_at
      FROM (SELECT DISTINCT u.agent FROM unnest(p_to_agents) AS u(agent)) AS t
     ORDER BY t.agent
    ON CONFLICT ON CONSTRAINT acl_pkey DO UPDATE
       SET permission = excluded.permission, granted_by = excluded.granted_by,
           granted_at = excluded.granted_at, expires_at = excluded.expires_at;
    PERFORM mnemo._write_event(
        v_record, 'memory_share', v_caller.org_id, v_caller.agent_id,
        jsonb_build_object('scope', v_record.scope, 'agents', to_jsonb(p_to_agents),
            'permission', p_permission, 'expires_at', mnemo._micros(v_expires_at))
    );
    PERFORM mnemo._index_plan(v_record.org_id, v_record.id);
    PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    RETURN QUERY
    SELECT a.agent_id, a.permission, a.expires_at
      FROM mnemo.acl AS a
     WHERE a.org_id = v_record.org_id AND a.memory_id = v_record.id
       AND a.agent_id = ANY (p_to_agents)
     ORDER BY a.agent_id;
END
$fn$;
COMMENT ON FUNCTION mnemo.share(uuid, text[], text, interval, text, text) IS
    'Grants agents of the same organisation a permission (read, write, delete, share; each covers '
    'those before it) on a record, plan or memory, replacing the grant each had; a private record '
    'becomes shared. p_ttl: until the grant ends, NULL for no end; it ends with the giver''s own '
    'right to share at the latest. Needs permission share. Returns the grants. Errors: 42501 no access, '
    'permission missing; MN001 unknown, gone or invisible record; 22023 bad argument, the owner or '
    'the acting agent among the agents, a global record; 54000 over 10,000.';

CREATE FUNCTION mnemo.unshare(
    p_id uuid,
    p_from_agents text[],
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (agent_id text, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record mnemo.memory;
    v_removed text[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        mnemo._agents_problem('p_from_agents', p_from_agents)
    ]));
    v_record := mnemo._lock_shareable(p_id, v_caller.org_id, v_caller.agent_id);
    WITH removed AS (
        DELETE FROM mnemo.acl AS a
         WHERE a.org_id = v_record.org_id AND a.memory_id = v_record.id
           AND a.agent_id = ANY (p_from_agents)
        RETURNING a.agent_id
    )
    SELECT array_agg(r.agent_id ORDER BY r.agent_id) INTO v_removed FROM removed AS r;
    IF v_removed IS NOT NULL THEN
        PERFORM mnemo._write_event(
            v_record, 'memory_unshare', v_caller.org_id, v_caller.agent_id,
            jsonb_build_object('agents', to_jsonb(v_removed))
        );
        PERFORM mnemo._index_plan(v_record.org_id, v_record.id);
        PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    END IF;
    RETURN QUERY
    SELECT t.agent, CASE WHEN t.agent = ANY (v_removed) THEN 'removed' ELSE 'absent' END
      FROM (SELECT DISTINCT u.agent FROM unnest(p_from_agents) AS u(agent)) AS t
     ORDER BY t.agent;
END
$fn$;
COMMENT ON FUNCTION mnemo.unshare(uuid, text[], text, text) IS
    'Takes grants on a record back; the record keeps its scope. Needs permission share. Returns a '
    'row for each agent: removed, or absent where there was no grant. Errors: 42501 no access, '
    'permission missing; MN001 unknown, gone or invisible record; 22023 bad argument, a global '
    'record; 54000 over 10,000.';

-- part: 532_delegate.sql
CREATE FUNCTION mnemo._delegation_problem(
    p_to_agent text,
    p_permission text,
    p_ids uuid[],
    p_tag text,
    p_max_depth bigint,
    p_ttl interval,
    p_agent_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._first_problem(ARRAY[
        mnemo._identifier_problem('p_to_agent', p_to_agent),
        CASE WHEN p_to_agent = p_agent_id THEN
            mnemo._argument('p_to_agent', 'p_to_agent is the acting agent',
                'an agent needs no delegation for what it has')
        END,
        mnemo._label_problem('p_permission', 'permission', p_permission),
        CASE WHEN p_ids IS NOT NULL THEN mnemo._ids_problem('p_ids', p_ids) END,
        CASE WHEN p_ids IS NOT NULL AND p_tag IS NOT NULL THEN
            mnemo._argument('p_tag', 'p_ids and p_tag exclude each other',
                'name records or a tag, or leave both out for everything')
        END,
        mnemo._texts_problem(ARRAY['p_tag'], ARRAY[p_tag], 256),
        CASE WHEN (p_max_depth BETWEEN 0 AND 10) IS NOT TRUE THEN
            mnemo._argument('p_max_depth',
                format('p_max_depth must be from 0 to 10; got %s',
                    coalesce(p_max_depth::text, 'NULL')),
                'pass how many times it may be passed on, 0 for never')
        END,
        mnemo._ttl_problem(p_ttl),
        CASE WHEN cardinality(p_ids) > 1000 THEN
            mnemo._limit('p_ids',
                format('p_ids has %s ids, at most 1000 are allowed', cardinality(p_ids)),
                'delegate a tag')
        END
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._delegation_problem(text, text, uuid[], text, bigint, interval, text) IS
    'The first problem of the arguments of mnemo.delegate; NULL for none.';

CREATE FUNCTION mnemo._lock_delegable(
    p_ids uuid[],
    p_permission text,
    p_org_id text,
    p_agent_id text
)
RETURNS SETOF mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_refused uuid[];
BEGIN
    PERFORM mnemo._require_permission('p_ids', p_org_id, p_agent_id, p_ids, 'read');
    PERFORM FROM mnemo.memory AS m
      WHERE m.org_id = p_org_id AND m.id = ANY (p_ids)
      ORDER BY m.org_id, m.id
        FOR UPDATE;
    -- Waiting for the locks, the agent may have lost sight of one.
    PERFORM mnemo._require_permission('p_ids', p_org_id, p_agent_id, p_ids, 'read');
    IF EXISTS (SELECT FROM mnemo.memory AS m WHERE m.org_id = '*' AND m.id = ANY (p_ids)) THEN
        PERFORM mnemo._raise_argument('p_ids', 'p_ids contains a global record: every agent reads it',
            'delegations are for records of one organisation');
    END IF;
    SELECT array_agg(m.id ORDER BY m.id) INTO v_refused
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = ANY (p_ids)
       AND m.agent_id <> p_agent_id
       AND NOT EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = m.id AND a.agent_id = p_agent_id
               AND a.permission = 'share'
               AND (a.expires_at IS NULL OR a.expires_at > clock_timestamp()))
       AND NOT EXISTS (
            SELECT FROM mnemo._ways(m, p_org_id, p_agent_id, clock_timestamp()) AS w
             WHERE w.max_depth >= 1
               AND mnemo._permission_rank(w.permission) >= mnemo._permission_rank(p_permission));
    IF v_refused IS NOT NULL THEN
        PERFORM mnemo._raise_access(
            format('agent %s may not delegate permission %s on %s', p_agent_id, p_permission,
                array_to_string(v_refused[1:10], ', ')),
            jsonb_build_object('parameter', 'p_ids', 'ids', to_jsonb(v_refused)),
            'ask the owner for permission share, or for a delegation with a greater p_max_depth');
    END IF;
    RETURN QUERY
    SELECT m.* FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = ANY (p_ids)
     ORDER BY m.id;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_delegable(uuid[], text, text, text) IS
    'Locks and returns records that the agent may delegate with this permission: it owns them, holds '
    'a grant share, or a delegation that may be passed on. Raises MN001, 42501, or 22023 for a '
    'global record.';

CREATE FUNCTION mnemo._pass_on(
    p_head mnemo.delegation,
    p_records mnemo.memory[]
)
RETURNS uuid[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_received record;
    v_parents uuid[] := '{}';
BEGIN
    FOR v_received IN
        SELECT d.*, CASE WHEN p_head.memory_ids IS NULL THEN d.memory_ids ELSE c.ids END AS ids
          FROM mnemo.delegation AS d
          LEFT JOIN (
            SELECT w.delegation_id, array_agg(r.id ORDER BY r.id) AS ids
              FROM unnest(p_records) AS r
              CROSS JOIN LATERAL mnemo._ways(
                    r, p_head.org_id, p_head.from_agent_id, clock_timestamp()) AS w
             GROUP BY w.delegation_id
          ) AS c ON c.delegation_id = d.id
         WHERE d.org_id = p_head.org_id AND d.to_agent_id = p_head.from_agent_id
           AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > clock_timestamp()
           AND d.max_depth >= 1
           -- To give back what an agent has itself opens nothing.
           AND d.root_agent_id <> p_head.to_agent_id AND d.from_agent_id <> p_head.to_agent_id
           AND (p_head.memory_ids IS NULL OR c.ids IS NOT NULL)
         ORDER BY d.id
    LOOP
        -- Written, not only locked, so that whoever revokes it in a snapshot from before fails
        -- (40001) instead of leaving behind what it does not see.
        UPDATE mnemo.delegation AS d
           SET max_depth = d.max_depth
         WHERE d.org_id = v_received.org_id AND d.id = v_received.id AND d.revoked_at IS NULL;
        CONTINUE WHEN NOT FOUND;
        INSERT INTO mnemo.delegation (
            org_id, id, from_agent_id, to_agent_id, permission, memory_ids, tag, parent_id,
            max_depth, created_at, expires_at, head_id, root_agent_id, tags
        )
        VALUES (
            p_head.org_id, mnemo._new_id(), p_head.from_agent_id, p_head.to_agent_id,
            (mnemo._labels('permission'))[least(mnemo._permission_rank(p_head.permission),
                mnemo._permission_rank(v_received.permission))],
            v_received.ids, p_head.tag, v_received.id,
            least(p_head.max_depth, v_received.max_depth - 1), p_head.created_at,
            least(p_head.expires_at, v_received.expires_at), p_head.id, v_received.root_agent_id,
            CASE WHEN p_head.tag = ANY (v_received.tags) THEN v_received.tags
            ELSE nullif(coalesce(v_received.tags, '{}') || coalesce(p_head.tags, '{}'), '{}') END
        );
        v_parents := v_parents || v_received.id;
    END LOOP;
    RETURN v_parents;
END
$fn$;
COMMENT ON FUNCTION mnemo._pass_on(mnemo.delegation, mnemo.memory[]) IS
    'Writes a row for each delegation that the giver holds and may pass on: for no more records, not '
    'for longer, with no higher permission, one time less. p_records: those of p_head.memory_ids. '
    'Returns the ids of what is passed on.';

CREATE FUNCTION mnemo._check_received(
    p_head mnemo.delegation
)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_held record;
BEGIN
    SELECT count(*) AS parts, count(DISTINCT d.root_agent_id) AS givers,
           count(*) FILTER (
               WHERE d.from_agent_id = p_head.from_agent_id AND d.head_id IS NULL) AS direct
      INTO v_held
      FROM mnemo.delegation AS d
     WHERE d.org_id = p_head.org_id AND d.to_agent_id = p_head.to_agent_id
       AND d.revoked_at IS NULL AND coalesce(d.expires_at, 'infinity') > clock_timestamp();
    IF v_held.direct > 100 THEN
        PERFORM mnemo._raise_limit('p_to_agent',
            format('agent %s holds 100 delegations of agent %s, more are not allowed',
                p_head.to_agent_id, p_head.from_agent_id),
            'revoke some, or delegate a tag instead of single records');
    ELSIF v_held.givers > 100 OR v_held.parts > 1000 THEN
        PERFORM mnemo._raise_limit('p_to_agent',
            format('agent %s would hold %s delegations on the rights of %s agents, at most 1000 of '
                '100 are allowed, those passed on included', p_head.to_agent_id, v_held.parts,
                v_held.givers),
            'have some of them revoked: the agent can give them back by revoke_delegation');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._check_received(mnemo.delegation) IS
    'Raises 54000 if an agent, a new delegation included, holds more than its recalls can read: over '
    '1000 rows, over 100 agents on whose rights they stand, over 100 of one giver.';

CREATE FUNCTION mnemo._delegation_event(
    p_head mnemo.delegation,
    p_event_type text,
    p_actor_agent_id text,
    p_changes jsonb
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_id uuid := mnemo._new_id();
    v_salt bytea := CASE WHEN p_head.tag IS NOT NULL AND p_event_type = 'memory_share'
        THEN uuid_send(gen_random_uuid()) END;
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, actor_org_id, actor_agent_id, happened_at,
        changes, note_hash
    )
    VALUES (
        p_head.org_id, v_id, p_head.from_agent_id, p_event_type, p_head.org_id, p_head.org_id,
        p_actor_agent_id, now(), jsonb_build_object('delegation', p_head.id) || p_changes,
        CASE WHEN v_salt IS NOT NULL THEN mnemo._note_hash(v_salt, p_head.tag) END
    );
    -- A tag may name a person, so it must be erasable.
    IF v_salt IS NOT NULL THEN
        INSERT INTO mnemo.event_note (org_id, event_id, salt, note)
        VALUES (p_head.org_id, v_id, v_salt, p_head.tag);
    END IF;
    PERFORM mnemo._seal_if_many(p_head.org_id, p_head.from_agent_id, 1);
END
$fn$;
COMMENT ON FUNCTION mnemo._delegation_event(mnemo.delegation, text, text, jsonb) IS
    'Writes the event of a delegation, or of its end, into the chain of the giver; about no record. '
    'The tag is its note.';

-- part: 533_delegate_call.sql
CREATE FUNCTION mnemo._open_private(
    p_records mnemo.memory[],
    p_actor_org_id text,
    p_actor_agent_id text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    FOREACH v_record IN ARRAY p_records LOOP
        CONTINUE WHEN v_record.scope <> 'private';
        UPDATE mnemo.memory AS m
           SET scope = 'shared', updated_at = now()
         WHERE m.org_id = v_record.org_id AND m.id = v_record.id;
        v_record.scope := 'shared';
        PERFORM mnemo._write_event(v_record, 'memory_update', p_actor_org_id, p_actor_agent_id,
            jsonb_build_object('scope', 'shared'));
        PERFORM mnemo._index_plan(v_record.org_id, v_record.id);
        PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._open_private(mnemo.memory[], text, text) IS
    'Makes those of the records that are private shared, with an event each. They are locked.';

CREATE FUNCTION mnemo.delegate(
    p_to_agent text,
    p_permission text DEFAULT 'read',
    p_ids uuid[] DEFAULT NULL,
    p_tag text DEFAULT NULL,
    p_max_depth bigint DEFAULT 0,
    p_ttl interval DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_records mnemo.memory[] := '{}';
    v_head mnemo.delegation;
    v_parents uuid[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._delegation_problem(
        p_to_agent, p_permission, p_ids, p_tag, p_max_depth, p_ttl, v_caller.agent_id));
    IF p_ids IS NOT NULL THEN
        v_records := ARRAY(
            SELECT m
              FROM mnemo._lock_delegable(
                    p_ids, p_permission, v_caller.org_id, v_caller.agent_id) AS m);
    END IF;
    v_head.org_id := v_caller.org_id;
    v_head.id := mnemo._new_id();
    v_head.from_agent_id := v_caller.agent_id;
    v_head.to_agent_id := p_to_agent;
    v_head.permission := p_permission;
    v_head.tag := p_tag;
    v_head.tags := CASE WHEN p_tag IS NOT NULL THEN ARRAY[p_tag] END;
    v_head.max_depth := p_max_depth;
    v_head.created_at := now();
    v_head.expires_at := now() + p_ttl;
    v_head.root_agent_id := v_caller.agent_id;
    v_head.memory_ids := CASE WHEN p_ids IS NOT NULL
        THEN ARRAY(SELECT r.id FROM unnest(v_records) AS r ORDER BY r.id) END;
    INSERT INTO mnemo.delegation SELECT (v_head).*;
    v_parents := mnemo._pass_on(v_head, v_records);
    PERFORM mnemo._check_received(v_head);
    PERFORM mnemo._open_private(v_records, v_caller.org_id, v_caller.agent_id);
    PERFORM mnemo._delegation_event(v_head, 'memory_share', v_caller.agent_id,
        jsonb_build_object('agent', p_to_agent, 'permission', p_permission,
            'ids', to_jsonb(v_head.memory_ids), 'max_depth', p_max_depth,
            'until', mnemo._micros(v_head.expires_at), 'passes_on', to_jsonb(v_parents)));
    RETURN v_head.id;
END
$fn$;
COMMENT ON FUNCTION mnemo.delegate(text, text, uuid[], text, bigint, interval, text, text) IS
    'Hands a permission (read, write, delete, share; each covers those before it) on to an agent of '
    'the same organisation: on the records p_ids (1 to 1000), on all with tag p_tag, or, both NULL, '
    'on all; plans and memories. Always limited to shared and public records that the acting agent '
    'owns or holds a grant share on, looked at in each read: later ones count too, a lost right does '
    'not. Private records stay their owner''s, but those named in p_ids become shared. What the '
    'agent holds by delegations that may be passed on is passed on too, with no higher permission, '
    'not for longer and one time less. p_max_depth, 0 to 10: how many times the agent may pass it '
    'on. p_ttl: until it ends, NULL for no end. Returns the id for revoke_delegation. Errors: 42501 '
    'no access, a record that the agent may not give; MN001 unknown, gone or invisible record; '
    '22023 bad argument, the acting agent itself, ids and tag, a global record; 54000 over 1000 ids, '
    'an agent that would hold over 1000 delegations, of over 100 agents, or over 100 of this one.';

-- part: 534_revoke.sql
CREATE FUNCTION mnemo._end_chain(
    p_org_id text,
    p_id uuid
)
RETURNS SETOF mnemo.delegation
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_level uuid[];
BEGIN
    PERFORM FROM mnemo.delegation AS d
      WHERE d.org_id = p_org_id AND (d.id = p_id OR d.head_id = p_id) AND d.revoked_at IS NULL
      ORDER BY d.id
        FOR UPDATE;
    v_level := ARRAY(
        SELECT d.id
          FROM mnemo.delegation AS d
         WHERE d.org_id = p_org_id AND (d.id = p_id OR d.head_id = p_id)
           AND d.revoked_at IS NULL
    );
    -- Whoever passes a row on writes it first: once it is locked here, what was passed on from it is
    -- there to see, and nothing more can be.
    WHILE v_level <> '{}' LOOP
        RETURN QUERY
        UPDATE mnemo.delegation AS d
           SET revoked_at = now()
         WHERE d.org_id = p_org_id AND d.id = ANY (v_level)
        RETURNING d.*;
        PERFORM FROM mnemo.delegation AS d
          WHERE d.org_id = p_org_id AND d.parent_id = ANY (v_level) AND d.revoked_at IS NULL
          ORDER BY d.id
            FOR UPDATE;
        v_level := ARRAY(
            SELECT d.id
              FROM mnemo.delegation AS d
             WHERE d.org_id = p_org_id AND d.parent_id = ANY (v_level) AND d.revoked_at IS NULL
        );
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._end_chain(text, uuid) IS
    'Ends a delegation and all that was passed on from it, level by level; returns the rows.';

CREATE FUNCTION mnemo.revoke_delegation(
    p_id uuid,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_ended mnemo.delegation[];
    v_head record;
    v_count bigint := 0;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._id_problem(p_id));
    IF NOT EXISTS (
        SELECT FROM mnemo.delegation AS d
         WHERE d.org_id = v_caller.org_id AND d.id = p_id AND d.head_id IS NULL
           AND v_caller.agent_id IN (d.from_agent_id, d.to_agent_id))
    THEN
        PERFORM mnemo._raise('MN001', 'p_id: no such delegation for this agent: ' || p_id,
            jsonb_build_object('parameter', 'p_id', 'ids', jsonb_build_array(p_id)),
            'mnemo.delegations lists those that the agent gave or holds');
    END IF;
    v_ended := ARRAY(SELECT e FROM mnemo._end_chain(v_caller.org_id, p_id) AS e);
    FOR v_head IN
        SELECT h AS row, h.id = p_id AS named, jsonb_agg(e.id ORDER BY e.id) AS rows
          FROM unnest(v_ended) AS e
          JOIN mnemo.delegation AS h
            ON h.org_id = v_caller.org_id AND h.id = coalesce(e.head_id, e.id)
         GROUP BY h.org_id, h.id
         ORDER BY h.id
    LOOP
        v_count := v_count + 1;
        PERFORM mnemo._delegation_event(v_head.row, 'memory_unshare', v_caller.agent_id,
            CASE WHEN v_head.named THEN '{}'
            ELSE jsonb_build_object('because', p_id, 'rows', v_head.rows) END);
    END LOOP;
    RETURN v_count;
END
$fn$;
COMMENT ON FUNCTION mnemo.revoke_delegation(uuid, text, text) IS
    'Ends a delegation that the acting agent gave or holds, and with it all that was passed on from '
    'it, down the chain. Delegations further down keep what does not come from it. Grants that were '
    'made by share meanwhile stay until unshare. Returns how many delegations lost something, 0 if '
    'it had been revoked before. Errors: 42501 no access; MN001 unknown delegation, or of others; '
    '22023 NULL.';

-- part: 536_delegations.sql
CREATE FUNCTION mnemo.delegations(
    p_limit bigint DEFAULT 50,
    p_after uuid DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    direction text,
    status text,
    from_agent_id text,
    to_agent_id text,
    permission text,
    memory_ids uuid[],
    tag text,
    max_depth bigint,
    passes_on bigint,
    passed_on bigint,
    created_at timestamptz,
    expires_at timestamptz,
    revoked_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 50
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
    v_now timestamptz := statement_timestamp();
    v_before uuid := coalesce(p_after, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._limit_problem(p_limit));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY v.id DESC), v.id,
           CASE WHEN v.from_agent_id = v_caller.agent_id THEN 'given' ELSE 'received' END,
           CASE WHEN v.revoked_at IS NOT NULL THEN 'revoked'
                WHEN v.expires_at <= v_now THEN 'expired' ELSE 'active' END,
           v.from_agent_id, v.to_agent_id, v.permission, v.memory_ids, v.tag, v.max_depth::bigint,
           (SELECT count(*)
              FROM mnemo.delegation AS c
             WHERE c.org_id = v_caller.org_id AND c.head_id = v.id AND c.revoked_at IS NULL
               AND coalesce(c.expires_at, 'infinity') > v_now),
           (SELECT count(DISTINCT c.head_id)
              FROM mnemo.delegation AS p
              JOIN mnemo.delegation AS c ON c.parent_id = p.id
             WHERE p.org_id = v_caller.org_id AND c.org_id = v_caller.org_id
               AND (p.id = v.id OR p.head_id = v.id) AND c.revoked_at IS NULL
               AND coalesce(c.expires_at, 'infinity') > v_now),
           v.created_at, v.expires_at, v.revoked_at
      FROM (
        -- The limit in each branch: each is read from its index only as far as it goes.
        (SELECT d.*
           FROM mnemo.delegation AS d
          WHERE d.org_id = v_caller.org_id AND d.from_agent_id = v_caller.agent_id
            AND d.head_id IS NULL AND d.id < v_before
          ORDER BY d.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT d.*
           FROM mnemo.delegation AS d
          WHERE d.org_id = v_caller.org_id AND d.to_agent_id = v_caller.agent_id
            AND d.head_id IS NULL AND d.id < v_before
          ORDER BY d.id DESC
          LIMIT p_limit)
        ORDER BY id DESC
        LIMIT p_limit
      ) AS v
     ORDER BY v.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo.delegations(bigint, uuid, text, text) IS
    'The delegations that the acting agent gave or received, newest first, those that have ended '
    'until sweep removes them. direction: given or received; status: active, expired, revoked. '
    'memory_ids and tag: what was delegated, both NULL for all. passes_on: how many delegations of '
    'others it passes on now; passed_on: in how many later ones it is passed on now. p_limit: 1 to '
    '1000. p_after: id of the last row of the page before, NULL for the first page. Errors: 42501 no '
    'access; 22023 bad limit.';

-- part: 540_event_state.sql
-- What events say about a record: the columns that may change, as labels, numbers and microseconds.

CREATE FUNCTION mnemo._event_micros(
    p_time timestamptz
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_time >= timestamptz '294247-01-01 00:00:00+00' THEN 9223372036854775807
    WHEN p_time = timestamptz '-infinity' THEN (-9223372036854775808)::bigint
    ELSE mnemo._micros(p_time)
END;
COMMENT ON FUNCTION mnemo._event_micros(timestamptz) IS
    'Microseconds since 1970 as _micros; the ends of the range for infinite times, which no '
    'function writes and a verifier may meet.';

CREATE FUNCTION mnemo._reason_hash(
    p_record mnemo.memory
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encode(
    sha256(coalesce((p_record).nonce, '') || mnemo._utf8((p_record).quarantine_reason)), 'hex');
COMMENT ON FUNCTION mnemo._reason_hash(mnemo.memory) IS
    'Hexadecimal SHA-256 over the nonce and quarantine_reason: what events carry of that text; '
    'NULL for none.';

CREATE FUNCTION mnemo._remains_hash(
    p_record mnemo.memory
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- Its own nonce, if it has one: there must be none.
    p_record.nonce := coalesce(p_record.nonce, '');
    RETURN encode(mnemo._content_hash(p_record), 'hex');
END
$fn$;
COMMENT ON FUNCTION mnemo._remains_hash(mnemo.memory) IS
    'Hexadecimal SHA-256 over what redaction left of a record: the encoding of content_hash with a '
    'nonce of no bytes.';

CREATE FUNCTION mnemo._bound_state(
    p_record mnemo.memory
)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'scope', (p_record).scope,
    'importance', (p_record).importance,
    'consolidation_state', (p_record).consolidation_state,
    'quarantined', (p_record).quarantined,
    'quarantine_reason', CASE WHEN (p_record).quarantine_reason IS NOT NULL
        THEN mnemo._reason_hash(p_record) END,
    'status', (p_record).status,
    'version', (p_record).version,
    'prev_version_id', (p_record).prev_version_id,
    'expires_at', mnemo._event_micros((p_record).expires_at),
    'deleted_at', mnemo._event_micros((p_record).deleted_at),
    'redacted_at', mnemo._event_micros((p_record).redacted_at),
    'valid_to', mnemo._event_micros((p_record).valid_to),
    'remains', CASE WHEN (p_record).redacted_at IS NOT NULL
        THEN mnemo._remains_hash(p_record) END
);
COMMENT ON FUNCTION mnemo._bound_state(mnemo.memory) IS
    'All columns of a record that may change, as events carry them. The caller has set '
    'extra_float_digits to 1.';

CREATE FUNCTION mnemo._bound_changes(
    p_before mnemo.memory,
    p_after mnemo.memory
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_before jsonb := mnemo._bound_state(p_before);
BEGIN
    RETURN coalesce((
        SELECT jsonb_object_agg(s.key, s.value)
          FROM jsonb_each(mnemo._bound_state(p_after)) AS s
         WHERE s.value <> v_before -> s.key
    ), '{}');
END
$fn$;
COMMENT ON FUNCTION mnemo._bound_changes(mnemo.memory, mnemo.memory) IS
    'What an event about the change from one state of a record to the other carries in changes.';

CREATE FUNCTION mnemo._note_hash(
    p_salt bytea,
    p_note text
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(p_salt || mnemo._utf8(p_note));
COMMENT ON FUNCTION mnemo._note_hash(bytea, text) IS
    'SHA-256 over the salt and the UTF-8 bytes of a note: note_hash of its event.';

CREATE FUNCTION mnemo._next_event_id(
    p_memory_org_id text,
    p_memory_id uuid
)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_new uuid := mnemo._new_id();
    v_last uuid;
    v_half text;
BEGIN
    SELECT e.id INTO v_last
      FROM mnemo.event AS e
     WHERE e.memory_org_id = p_memory_org_id AND e.memory_id = p_memory_id
     ORDER BY e.id DESC
     LIMIT 1;
    IF v_last IS NULL OR v_last < v_new THEN
        RETURN v_new;
    END IF;
    -- The clock went back, or stood still: the next number after the last event.
    v_half := right(replace(v_last::text, '-', ''), 14);
    RETURN (left(replace(v_last::text, '-', ''), 18)
        || lpad(to_hex((('x' || v_half)::bit(56)::bigint + 1) & x'ffffffffffffff'::bigint), 14, '0')
    )::uuid;
END
$fn$;
COMMENT ON FUNCTION mnemo._next_event_id(text, uuid) IS
    'The id of a new event about a record whose row the caller has locked: after the ids of the '
    'events about it so far, whatever the clock does, for sealing takes events in the order of '
    'ids.';

-- part: 541_event_hash.sql
-- The hash of an event, byte by byte in docs/hash-format.md.

CREATE FUNCTION mnemo._first_prev_hash() RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN decode(repeat('00', 32), 'hex');
COMMENT ON FUNCTION mnemo._first_prev_hash() IS
    'prev_hash of the first event of a chain: 32 bytes of zero.';

CREATE FUNCTION mnemo._event_body(
    p_event mnemo.event
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\x55'::bytea || uuid_send((p_event).id)
    || mnemo._bytes_of_text((p_event).org_id)
    || mnemo._bytes_of_text((p_event).agent_id)
    || mnemo._bytes_of_text((p_event).event_type)
    || mnemo._bytes_of_text((p_event).memory_org_id)
    || coalesce(E'\\x55'::bytea || uuid_send((p_event).memory_id), E'\\x4e'::bytea)
    || mnemo._bytes_of_text((p_event).actor_org_id)
    || mnemo._bytes_of_text((p_event).actor_agent_id)
    || mnemo._bytes_of_time((p_event).happened_at)
    || coalesce(E'\\x42'::bytea || int8send(octet_length((p_event).content_hash))
        || (p_event).content_hash, E'\\x4e'::bytea)
    || E'\\x4a'::bytea || mnemo._bytes_of_json((p_event).changes)
    || coalesce(E'\\x42'::bytea || int8send(octet_length((p_event).note_hash))
        || (p_event).note_hash, E'\\x4e'::bytea);
COMMENT ON FUNCTION mnemo._event_body(mnemo.event) IS
    'The part of an event''s encoding that is known before it is sealed: every column but seq, '
    'prev_hash and hash.';

CREATE FUNCTION mnemo._link_hash(
    p_prev_hash bytea,
    p_seq bigint,
    p_body bytea
)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(
    -- T, 16, mnemo_pg event 1; B, 32.
    E'\\x5400000000000000106d6e656d6f5f7067206576656e742031420000000000000020'::bytea
    || p_prev_hash || E'\\x49'::bytea || int8send(p_seq) || p_body
);
COMMENT ON FUNCTION mnemo._link_hash(bytea, bigint, bytea) IS
    'The hash of an event: SHA-256 over name and version of the format, the hash of the event '
    'before, the place in the chain, and the body.';

-- part: 542_seal.sql
-- Sealing: events get their place and hash after they were committed, so that writers never wait
-- for each other. The row of chain_head is the lock of a chain; who does not get it goes on.

CREATE FUNCTION mnemo._lock_chain(
    p_org_id text,
    p_agent_id text
)
RETURNS mnemo.chain_head
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_head mnemo.chain_head;
BEGIN
    SELECT h.* INTO v_head
      FROM mnemo.chain_head AS h
     WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id
       FOR NO KEY UPDATE SKIP LOCKED;
    IF v_head.org_id IS NOT NULL OR EXISTS (
        SELECT FROM mnemo.chain_head AS h WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id
    ) THEN
        RETURN v_head;
    END IF;
    -- Two that make the same row would wait for each other; the key, not this lock, keeps it one.
    IF NOT pg_try_advisory_xact_lock(mnemo._hash64(
        'mnemo_pg chain ' || p_org_id || ' ' || p_agent_id))
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO mnemo.chain_head AS h (org_id, agent_id, seq, hash, sealed_at)
    VALUES (p_org_id, p_agent_id, 0, mnemo._first_prev_hash(), now())
    ON CONFLICT (org_id, agent_id) DO NOTHING
    RETURNING h.* INTO v_head;
    RETURN v_head;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_chain(text, text) IS
    'Locks the head of a chain and returns it, made if there is none; NULL at once while another '
    'session has it.';

CREATE FUNCTION mnemo._seal_chain(
    p_org_id text,
    p_agent_id text,
    p_limit bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- Statistics from before a rush of writes would have the table read from end to end.
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_head mnemo.chain_head := mnemo._lock_chain(p_org_id, p_agent_id);
    v_event record;
    v_ids uuid[] := '{}';
    v_hashes bytea[] := '{}';
    v_hash bytea := v_head.hash;
    v_seq bigint := v_head.seq;
BEGIN
    IF v_head.org_id IS NULL THEN
        RETURN 0;
    END IF;
    -- A statement of its own: it sees what the sealer before has sealed.
    FOR v_event IN
        SELECT e.id, mnemo._event_body(e) AS body
          FROM mnemo.event AS e
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq IS NULL
         ORDER BY e.id
         LIMIT p_limit
    LOOP
        v_seq := v_seq + 1;
        v_hash := mnemo._link_hash(v_hash, v_seq, v_event.body);
        v_ids := v_ids || v_event.id;
        v_hashes := v_hashes || v_hash;
    END LOOP;
    IF v_seq > v_head.seq THEN
        UPDATE mnemo.event AS e
           SET seq = v_head.seq + s.place, prev_hash = s.prev_hash, hash = s.hash
          FROM (
            SELECT u.id, u.hash, u.place,
                   lag(u.hash, 1, v_head.hash) OVER (ORDER BY u.place) AS prev_hash
              FROM unnest(v_ids, v_hashes) WITH ORDINALITY AS u(id, hash, place)
          ) AS s
         WHERE e.org_id = p_org_id AND e.id = s.id;
        UPDATE mnemo.chain_head AS h
           SET seq = v_seq, hash = v_hash, sealed_at = now()
         WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id;
    END IF;
    RETURN v_seq - v_head.seq;
END
$fn$;
COMMENT ON FUNCTION mnemo._seal_chain(text, text, bigint) IS
    'Seals at most p_limit events of a chain (NULL: all), in the order of their ids, and returns '
    'how many: 0 too while another session seals it. In READ COMMITTED only.';

CREATE FUNCTION mnemo._seals_here() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN current_setting('transaction_isolation') IN ('read committed', 'read uncommitted');
COMMENT ON FUNCTION mnemo._seals_here() IS
    'Whether this transaction may seal: one that keeps its first snapshot could miss an event that '
    'comes before one of its own.';

CREATE FUNCTION mnemo._first_id_at(
    p_time timestamptz
)
RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (lpad(to_hex(mnemo._micros(p_time) / 1000), 12, '0') || repeat('0', 20))::uuid;
COMMENT ON FUNCTION mnemo._first_id_at(timestamptz) IS
    'A number before every id of version 7 made at that time or later, to the millisecond.';

CREATE FUNCTION mnemo._seal_if_many(
    p_org_id text,
    p_agent_id text,
    p_written bigint
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    -- At most this many are sealed by one call, four times as many as are written between calls.
    v_many CONSTANT bigint := 1024;
BEGIN
    IF random() * 256 >= p_written OR NOT mnemo._seals_here() THEN
        RETURN;
    END IF;
    -- No further back than the last sealing: behind it are the index entries of sealed events.
    IF EXISTS (
        SELECT FROM mnemo.event AS e
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq IS NULL
           AND e.id >= coalesce((
                SELECT mnemo._first_id_at(h.sealed_at - interval '1 minute')
                  FROM mnemo.chain_head AS h
                 WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id
               ), '00000000-0000-0000-0000-000000000000')
        OFFSET v_many - 1
    ) THEN
        PERFORM mnemo._seal_chain(p_org_id, p_agent_id, v_many);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._seal_if_many(text, text, bigint) IS
    'Called by a write after p_written events of a chain: about once in 256 events it looks '
    'whether 1024 or more are not sealed, and if so seals 1024, unless another session is at it.';

CREATE FUNCTION mnemo._seal_owners(
    p_org_ids text[],
    p_agent_ids text[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_owner record;
BEGIN
    FOR v_owner IN
        SELECT o.org_id, o.agent_id, count(*) AS events
          FROM unnest(p_org_ids, p_agent_ids) AS o(org_id, agent_id)
         GROUP BY o.org_id, o.agent_id
         ORDER BY o.org_id, o.agent_id
    LOOP
        PERFORM mnemo._seal_if_many(v_owner.org_id, v_owner.agent_id, v_owner.events);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._seal_owners(text[], text[]) IS
    'As _seal_if_many, after a write of one event for each element, organisation and agent of its '
    'chain.';

-- part: 543_seal_calls.sql
CREATE FUNCTION mnemo._unsealed_chains() RETURNS TABLE (org_id text, agent_id text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- One look-up a chain, however many events it has.
    WITH RECURSIVE c AS (
        (SELECT e.org_id, e.agent_id
           FROM mnemo.event AS e
          WHERE e.seq IS NULL
          ORDER BY e.org_id, e.agent_id
          LIMIT 1)
        UNION ALL
        SELECT n.org_id, n.agent_id
          FROM c
         CROSS JOIN LATERAL (
            SELECT e.org_id, e.agent_id
              FROM mnemo.event AS e
             WHERE e.seq IS NULL AND (e.org_id, e.agent_id) > (c.org_id, c.agent_id)
             ORDER BY e.org_id, e.agent_id
             LIMIT 1
         ) AS n
    )
    SELECT c.org_id, c.agent_id FROM c;
END;
COMMENT ON FUNCTION mnemo._unsealed_chains() IS 'The chains that have events which are not sealed.';

CREATE FUNCTION mnemo._most_problem(
    p_limit bigint
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF (p_limit BETWEEN 1 AND 1000000) IS NOT TRUE THEN
        RETURN mnemo._argument('p_limit',
            format('p_limit must be from 1 to 1000000; got %s', coalesce(p_limit::text, 'NULL')),
            'call again for more');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._most_problem(bigint) IS
    'The problem of a number of events outside 1 to 1,000,000, NULL included; NULL for none.';

CREATE FUNCTION mnemo._require_fresh_snapshots() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF NOT mnemo._seals_here() THEN
        PERFORM mnemo._raise('55000',
            'events cannot be sealed or removed in a transaction of isolation level '
                || upper(current_setting('transaction_isolation')),
            jsonb_build_object('transaction_isolation', current_setting('transaction_isolation')),
            'call it in a transaction of level READ COMMITTED');
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._require_fresh_snapshots() IS
    'Raises 55000 in a transaction that keeps its first snapshot.';

CREATE FUNCTION mnemo.seal(
    p_limit bigint DEFAULT 10000
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_chain record;
    v_rest bigint := p_limit;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(mnemo._most_problem(p_limit));
    PERFORM mnemo._require_fresh_snapshots();
    -- Who waits longest comes first, so that a busy chain does not keep others from being sealed.
    FOR v_chain IN
        SELECT c.org_id, c.agent_id
          FROM mnemo._unsealed_chains() AS c
          LEFT JOIN mnemo.chain_head AS h ON h.org_id = c.org_id AND h.agent_id = c.agent_id
         ORDER BY h.sealed_at NULLS FIRST, c.org_id, c.agent_id
    LOOP
        EXIT WHEN v_rest <= 0;
        v_rest := v_rest - mnemo._seal_chain(v_chain.org_id, v_chain.agent_id, v_rest);
    END LOOP;
    RETURN (SELECT count(*) FROM mnemo.event AS e WHERE e.seq IS NULL);
END
$fn$;
COMMENT ON FUNCTION mnemo.seal(bigint) IS
    'Links events that are committed and not sealed yet into their chains, at most p_limit (1 to '
    '1,000,000) in a call, and returns how many are left. Never waits, and no writer waits for it; '
    'a chain that another session is sealing is left to that one. Level admin only. Errors: 42501 '
    'not an administrator; 22023 bad p_limit; 55000 not in READ COMMITTED.';

-- part: 544_verify_links.sql
-- The verifier, piece by piece. Each returns the first thing that is wrong: the id of an event or a
-- record, a label, and what differs; NULLs when nothing is.

CREATE TYPE mnemo._finding AS (
    id uuid,
    reason text,
    detail text
);
COMMENT ON TYPE mnemo._finding IS
    'What a verifier found: the event or record, a label of what is wrong, and what differs, in '
    'ids, labels and numbers.';

CREATE FUNCTION mnemo._chain_links(
    p_org_id text,
    p_agent_id text,
    p_after bigint,
    p_after_hash bytea,
    p_until bigint,
    p_expected_head bytea,
    OUT events bigint,
    OUT last_seq bigint,
    OUT last_hash bytea,
    OUT expected_found boolean,
    OUT finding mnemo._finding
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_link record;
BEGIN
    events := 0;
    last_seq := p_after;
    last_hash := p_after_hash;
    expected_found := coalesce(p_after > 0 AND p_after_hash = p_expected_head, false);
    FOR v_link IN
        SELECT e.id, e.seq, e.prev_hash, e.hash,
               -- No function writes an event of an infinite time, or of deep JSON.
               CASE WHEN isfinite(e.happened_at) AND NOT e.changes @? '$.**{101}'
               THEN mnemo._event_body(e) END AS body
          FROM mnemo.event AS e
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id
           AND e.seq IS NOT NULL AND (p_until IS NULL OR e.seq <= p_until)
         ORDER BY e.seq, e.id
    LOOP
        IF v_link.seq <= last_seq THEN
            finding := ROW(v_link.id, 'event_extra', format('seq %s twice, or before the anchor',
                v_link.seq))::mnemo._finding;
        ELSIF v_link.seq > last_seq + 1 THEN
            finding := ROW(v_link.id, 'event_missing', format('seq %s follows on seq %s',
                v_link.seq, last_seq))::mnemo._finding;
        ELSIF v_link.prev_hash IS DISTINCT FROM last_hash THEN
            finding := ROW(v_link.id, 'link_broken', format('seq %s', v_link.seq))::mnemo._finding;
        ELSIF v_link.hash IS DISTINCT FROM
            mnemo._link_hash(v_link.prev_hash, v_link.seq, v_link.body)
        THEN
            finding := ROW(v_link.id, 'event_changed', format('seq %s', v_link.seq))
                ::mnemo._finding;
        END IF;
        EXIT WHEN finding.reason IS NOT NULL;
        events := events + 1;
        last_seq := v_link.seq;
        last_hash := v_link.hash;
        expected_found := expected_found OR coalesce(v_link.hash = p_expected_head, false);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._chain_links(text, text, bigint, bytea, bigint, bytea) IS
    'Recomputes the links of a chain behind an anchor, to a seq or to the end: how many hold, the '
    'last of them, whether the expected head is among them, and the first that is broken.';

CREATE FUNCTION mnemo._anchor_finding(
    p_org_id text,
    p_agent_id text,
    p_head mnemo.chain_head
)
RETURNS mnemo._finding
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_event mnemo.event;
    v_anchor text := CASE WHEN p_head.org_id IS NULL THEN '0' ELSE p_head.anchor_seq::text END;
BEGIN
    SELECT e.* INTO v_event
      FROM mnemo.event AS e
     WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id
       AND e.event_type = 'checkpoint' AND e.memory_id IS NULL
     ORDER BY e.seq DESC NULLS FIRST, e.id DESC
     LIMIT 1;
    IF v_anchor IS DISTINCT FROM coalesce(v_event.changes ->> 'anchor_seq', '0')
        OR encode(p_head.anchor_hash, 'hex') IS DISTINCT FROM v_event.changes ->> 'anchor_hash'
    THEN
        RETURN ROW(v_event.id, 'anchor_changed', format(
            'the chain begins behind seq %s, retention removed events up to seq %s',
            coalesce(p_head.anchor_seq, 0), coalesce(v_event.changes ->> 'anchor_seq', '0')
        ))::mnemo._finding;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._anchor_finding(text, text, mnemo.chain_head) IS
    'anchor_changed where the anchor is not the one that the last retention left in the chain.';

CREATE FUNCTION mnemo._note_finding(
    p_org_id text,
    p_agent_id text
)
RETURNS mnemo._finding
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- A note that is gone was erased: only what is there can be wrong.
    SELECT ROW(e.id, 'note_changed', NULL)::mnemo._finding
      FROM mnemo.event_note AS n
      JOIN mnemo.event AS e ON e.org_id = n.org_id AND e.id = n.event_id
     WHERE n.org_id = p_org_id AND e.agent_id = p_agent_id
       AND e.note_hash IS DISTINCT FROM mnemo._note_hash(n.salt, n.note)
     ORDER BY e.id
     LIMIT 1;
END;
COMMENT ON FUNCTION mnemo._note_finding(text, text) IS
    'note_changed: the first event whose note does not fit its hash.';

-- part: 545_verify_records.sql
CREATE FUNCTION mnemo._folded(
    p_changes jsonb[]
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_state jsonb := '{"quarantine_reason": null, "deleted_at": null, "redacted_at": null, '
        '"remains": null}';
    v_changes jsonb;
BEGIN
    FOREACH v_changes IN ARRAY p_changes LOOP
        v_state := v_state || v_changes;
    END LOOP;
    RETURN v_state;
END
$fn$;
COMMENT ON FUNCTION mnemo._folded(jsonb[]) IS
    'What events say about a record, one after the other, each column as it was set last.';

CREATE FUNCTION mnemo._is_base_event(
    p_event mnemo.event
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_event).event_type IN ('memory_write', 'plan_write', 'checkpoint')
    AND (p_event).memory_id IS NOT NULL;
COMMENT ON FUNCTION mnemo._is_base_event(mnemo.event) IS
    'Whether the event carries the whole state of a record: it was written, or carried over.';

CREATE FUNCTION mnemo._event_states(
    p_org_id text,
    p_agent_id text
)
RETURNS TABLE (
    memory_org_id text,
    memory_id uuid,
    is_written boolean,
    is_deleted boolean,
    content_hash bytea,
    state jsonb
)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.memory_org_id, e.memory_id,
           bool_or(mnemo._is_base_event(e)),
           -- The last of writing and hard deletion decides.
           coalesce((array_agg(
               e.changes @> '{"hard": true}' ORDER BY e.seq DESC NULLS FIRST, e.id DESC)
               FILTER (WHERE mnemo._is_base_event(e) OR e.changes @> '{"hard": true}'))[1], false),
           (array_agg(e.content_hash ORDER BY e.seq DESC NULLS FIRST, e.id DESC)
               FILTER (WHERE e.content_hash IS NOT NULL))[1],
           mnemo._folded(coalesce(array_agg(
               -- There it is the end of the grant.
               CASE e.event_type WHEN 'memory_share' THEN e.changes - 'expires_at'
               ELSE e.changes END
               ORDER BY e.seq, e.id) FILTER (WHERE e.changes <> '{}'), '{}'))
      FROM mnemo.event AS e
     WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.memory_id IS NOT NULL
     GROUP BY e.memory_org_id, e.memory_id;
END;
COMMENT ON FUNCTION mnemo._event_states(text, text) IS
    'What the events of a chain, sealed or not, say about each record: whether they begin with its '
    'writing, whether it was deleted for good, its hash, and its columns.';

CREATE FUNCTION mnemo._owned(
    p_org_id text,
    p_agent_id text
)
RETURNS SETOF mnemo.memory
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- One branch an index.
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
       AND m.agent_id = p_agent_id AND m.deleted_at IS NULL
       AND NOT m.tags @> ARRAY['__experience_plan__']
    UNION ALL
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
       AND m.agent_id = p_agent_id AND m.deleted_at IS NULL
       AND m.tags @> ARRAY['__experience_plan__']
    UNION ALL
    SELECT m.*
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
       AND m.agent_id = p_agent_id AND m.deleted_at IS NOT NULL;
END;
COMMENT ON FUNCTION mnemo._owned(text, text) IS
    'All records of an owner, deleted and redacted ones too.';

CREATE FUNCTION mnemo._differing(
    p_state jsonb,
    p_folded jsonb
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT string_agg(s.key, ', ' ORDER BY s.key)
      FROM jsonb_each(p_state) AS s
     WHERE p_folded -> s.key IS DISTINCT FROM s.value;
END;
COMMENT ON FUNCTION mnemo._differing(jsonb, jsonb) IS
    'The names of the columns whose value the events do not say.';

CREATE FUNCTION mnemo._is_hashable(
    p_record mnemo.memory
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Somebody may have taken the constraints away: the verifier must answer all the same.
RETURN coalesce(
    cardinality((p_record).tags) + cardinality((p_record).entities)
        + cardinality((p_record).aliases) >= 0
    AND isfinite((p_record).valid_from) AND (p_record).valid_from < '10000-01-01 00:00:00+00'
    AND isfinite((p_record).created_at) AND (p_record).created_at < '10000-01-01 00:00:00+00'
    AND NOT (p_record).metadata @? '$.**{101}',
    false
);
COMMENT ON FUNCTION mnemo._is_hashable(mnemo.memory) IS
    'Whether the record can be hashed at all, as every one that a function wrote.';

CREATE FUNCTION mnemo._record_finding(
    p_record mnemo.memory,
    p_is_written boolean,
    p_is_deleted boolean,
    p_content_hash bytea,
    p_state jsonb
)
RETURNS mnemo._finding
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_reason text;
    v_detail text;
BEGIN
    IF p_is_written IS NOT TRUE THEN
        v_reason := 'record_without_event';
    ELSIF p_is_deleted THEN
        v_reason := 'record_after_deletion';
    ELSIF p_record.content_hash IS DISTINCT FROM p_content_hash THEN
        v_reason := 'hash_changed';
    ELSIF NOT mnemo._is_hashable(p_record) OR p_record.redacted_at IS NULL
        AND p_record.content_hash IS DISTINCT FROM mnemo._content_hash(p_record)
    THEN
        v_reason := 'content_changed';
    ELSIF NOT p_state @> mnemo._bound_state(p_record) THEN
        v_reason := 'column_changed';
        v_detail := mnemo._differing(mnemo._bound_state(p_record), p_state);
    END IF;
    IF v_reason IS NOT NULL THEN
        RETURN ROW(p_record.id, v_reason, v_detail)::mnemo._finding;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._record_finding(mnemo.memory, boolean, boolean, bytea, jsonb) IS
    'What is wrong with a record by what its events say, as _event_states gives it; NULL for '
    'nothing.';

CREATE FUNCTION mnemo._records_check(
    p_org_id text,
    p_agent_id text,
    OUT records bigint,
    OUT finding mnemo._finding
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_row record;
BEGIN
    records := 0;
    FOR v_row IN
        SELECT m AS record, m.id AS record_id, s.memory_id, s.is_written, s.is_deleted,
               s.content_hash, s.state
          FROM mnemo._owned(p_org_id, p_agent_id) AS m
          FULL JOIN mnemo._event_states(p_org_id, p_agent_id) AS s
            ON s.memory_org_id = m.org_id AND s.memory_id = m.id
         ORDER BY coalesce(m.id, s.memory_id)
    LOOP
        IF v_row.record_id IS NOT NULL THEN
            records := records + 1;
            finding := mnemo._record_finding(v_row.record, v_row.is_written, v_row.is_deleted,
                v_row.content_hash, v_row.state);
        ELSIF NOT v_row.is_deleted THEN
            finding := ROW(v_row.memory_id, 'record_missing', NULL)::mnemo._finding;
        END IF;
        EXIT WHEN finding.reason IS NOT NULL;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._records_check(text, text) IS
    'Compares the records of an owner with the events of the chain: how many hold, and the first '
    'that does not.';

-- part: 546_verify_grants.sql
CREATE FUNCTION mnemo._event_grants(
    p_org_id text,
    p_agent_id text
)
RETURNS TABLE (
    memory_id uuid,
    grantee text,
    permission text,
    granted_by text,
    granted_at jsonb,
    expires_at jsonb
)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH said AS (
        SELECT e.memory_id, e.seq, e.id, a.agent AS grantee, e.event_type = 'memory_share' AS given,
               e.changes ->> 'permission' AS permission, e.actor_agent_id AS granted_by,
               to_jsonb(mnemo._event_micros(e.happened_at)) AS granted_at,
               nullif(e.changes -> 'expires_at', 'null') AS expires_at
          FROM mnemo.event AS e
         CROSS JOIN LATERAL jsonb_array_elements_text(
            CASE jsonb_typeof(e.changes -> 'agents') WHEN 'array' THEN e.changes -> 'agents'
            ELSE '[]' END) AS a(agent)
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.memory_id IS NOT NULL
           AND e.event_type IN ('memory_share', 'memory_unshare')
        UNION ALL
        SELECT e.memory_id, e.seq, e.id, g.key, true, g.value ->> 'permission',
               g.value ->> 'granted_by', g.value -> 'granted_at',
               nullif(g.value -> 'expires_at', 'null')
          FROM mnemo.event AS e
         CROSS JOIN LATERAL jsonb_each(
            CASE jsonb_typeof(e.changes -> 'grants') WHEN 'object' THEN e.changes -> 'grants'
            ELSE '{}' END) AS g
         WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.memory_id IS NOT NULL
           AND e.event_type = 'checkpoint'
    ), latest AS (
        SELECT DISTINCT ON (s.memory_id, s.grantee) s.*
          FROM said AS s
         ORDER BY s.memory_id, s.grantee, s.seq DESC NULLS FIRST, s.id DESC
    )
    SELECT l.memory_id, l.grantee, l.permission, l.granted_by, l.granted_at, l.expires_at
      FROM latest AS l
     WHERE l.given;
END;
COMMENT ON FUNCTION mnemo._event_grants(text, text) IS
    'The grants on the records of a chain that its events say; times in microseconds.';

CREATE FUNCTION mnemo._grants_finding(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS mnemo._finding
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH held AS (
        SELECT a.*
          FROM mnemo._owned(p_org_id, p_agent_id) AS m
          JOIN mnemo.acl AS a ON a.org_id = m.org_id AND a.memory_id = m.id
    )
    SELECT ROW(
               coalesce(a.memory_id, g.memory_id),
               CASE WHEN g.memory_id IS NULL THEN 'grant_without_event'
               WHEN a.memory_id IS NULL THEN 'grant_missing' ELSE 'grant_changed' END,
               coalesce(a.agent_id, g.grantee)
           )::mnemo._finding
      FROM held AS a
      FULL JOIN mnemo._event_grants(p_org_id, p_agent_id) AS g
        ON g.memory_id = a.memory_id AND g.grantee = a.agent_id
     WHERE CASE WHEN g.memory_id IS NULL THEN true
           -- What has ended, or is on a deleted record, may have been cleared away.
           WHEN a.memory_id IS NULL THEN
               (g.expires_at IS NULL OR g.expires_at > to_jsonb(mnemo._micros(p_now)))
               AND EXISTS (
                   SELECT FROM mnemo.memory AS m
                    WHERE m.org_id = p_org_id AND m.id = g.memory_id AND m.deleted_at IS NULL)
           ELSE a.permission IS DISTINCT FROM g.permission
               OR a.granted_by IS DISTINCT FROM g.granted_by
               OR to_jsonb(mnemo._event_micros(a.granted_at)) IS DISTINCT FROM g.granted_at
               OR to_jsonb(mnemo._event_micros(a.expires_at)) IS DISTINCT FROM g.expires_at
           END
     ORDER BY coalesce(a.memory_id, g.memory_id), coalesce(a.agent_id, g.grantee)
     LIMIT 1;
END;
COMMENT ON FUNCTION mnemo._grants_finding(text, text, timestamptz) IS
    'The first grant on a record of the owner that differs from what the events say: '
    'grant_without_event, grant_missing, grant_changed; detail names the agent that holds it.';

-- part: 547_verify_chain.sql
CREATE FUNCTION mnemo._head_finding(
    p_head mnemo.chain_head,
    p_last_seq bigint,
    p_last_hash bytea
)
RETURNS mnemo._finding
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF coalesce(p_head.seq, 0) > p_last_seq THEN
        RETURN ROW(NULL, 'tail_missing', format('the head is seq %s, the last event is seq %s',
            p_head.seq, p_last_seq))::mnemo._finding;
    ELSIF coalesce(p_head.seq, 0) < p_last_seq
        OR coalesce(p_head.hash, mnemo._first_prev_hash()) IS DISTINCT FROM p_last_hash
    THEN
        RETURN ROW(NULL, 'head_changed', format('the head is seq %s, the last event is seq %s',
            coalesce(p_head.seq, 0), p_last_seq))::mnemo._finding;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._head_finding(mnemo.chain_head, bigint, bytea) IS
    'tail_missing or head_changed where the head of a chain is not its last event.';

CREATE FUNCTION mnemo._verify(
    p_org_id text,
    p_agent_id text,
    p_expected_head bytea,
    p_now timestamptz,
    OUT events bigint,
    OUT records bigint,
    OUT head mnemo.chain_head,
    OUT finding mnemo._finding
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_links record;
    v_check record;
BEGIN
    SELECT h.* INTO head
      FROM mnemo.chain_head AS h
     WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id;
    SELECT * INTO v_links
      FROM mnemo._chain_links(p_org_id, p_agent_id, coalesce(head.anchor_seq, 0),
          coalesce(head.anchor_hash, mnemo._first_prev_hash()), NULL, p_expected_head);
    events := v_links.events;
    records := 0;
    finding := v_links.finding;
    IF finding.reason IS NULL THEN
        finding := mnemo._head_finding(head, v_links.last_seq, v_links.last_hash);
    END IF;
    IF finding.reason IS NULL THEN
        finding := mnemo._anchor_finding(p_org_id, p_agent_id, head);
    END IF;
    IF finding.reason IS NULL AND p_expected_head IS NOT NULL AND NOT v_links.expected_found THEN
        finding := ROW(NULL, 'head_unknown', format(
            'no event from seq %s on has this hash', coalesce(head.anchor_seq, 1)
        ))::mnemo._finding;
    END IF;
    IF finding.reason IS NULL THEN
        SELECT * INTO v_check FROM mnemo._records_check(p_org_id, p_agent_id);
        records := v_check.records;
        finding := v_check.finding;
    END IF;
    IF finding.reason IS NULL THEN
        finding := mnemo._grants_finding(p_org_id, p_agent_id, p_now);
    END IF;
    IF finding.reason IS NULL THEN
        finding := mnemo._note_finding(p_org_id, p_agent_id);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._verify(text, text, bytea, timestamptz) IS
    'Verifies a chain and the records of its owner: links, head, anchor, expected head, records, '
    'grants, notes, to the first thing that is wrong.';

CREATE FUNCTION mnemo.verify_chain(
    p_expected_head bytea DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    ok boolean,
    checked bigint,
    unsealed bigint,
    first_bad_id uuid,
    reason text,
    head bytea,
    detail text,
    head_seq bigint,
    anchor_seq bigint,
    records bigint
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_answer record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    IF octet_length(p_expected_head) <> 32 THEN
        PERFORM mnemo._raise_argument('p_expected_head',
            format('p_expected_head must have 32 bytes; got %s', octet_length(p_expected_head)),
            'pass a head that mnemo.verify_chain returned before, or leave it out');
    END IF;
    SELECT * INTO v_answer
      FROM mnemo._verify(v_caller.org_id, v_caller.agent_id, p_expected_head,
          statement_timestamp());
    RETURN QUERY
    SELECT (v_answer.finding).reason IS NULL, v_answer.events, (
               SELECT count(*)
                 FROM mnemo.event AS e
                WHERE e.org_id = v_caller.org_id AND e.agent_id = v_caller.agent_id
                  AND e.seq IS NULL
           ), (v_answer.finding).id, (v_answer.finding).reason, (v_answer.head).hash,
           (v_answer.finding).detail, coalesce((v_answer.head).seq, 0),
           coalesce((v_answer.head).anchor_seq, 0), v_answer.records;
END
$fn$;
COMMENT ON FUNCTION mnemo.verify_chain(bytea, text, text) IS
    'Verifies the chain of events of the acting agent and every record that it owns, and returns '
    'one row: ok; checked, the sealed events that hold; unsealed, events that no chain protects '
    'yet; the first event or record that is wrong, with a label in reason (docs/audit.md) and what '
    'differs in detail; head, the hash of the last sealed event, to keep outside (NULL before the '
    'first sealing); head_seq and anchor_seq, its place and that of the last event that retention '
    'removed, 0 for none; records, how many hold. p_expected_head: a head kept outside, 32 bytes, '
    'that must be in the chain; NULL for none. Reads everything of the agent. Errors: 42501 no '
    'access; 22023 bad p_expected_head.';

-- part: 548_retain.sql
-- Retention: old sealed events go, up to an anchor. What they say about records that are still
-- there is said again by new events at the end of the chain, and so stays protected by it.

CREATE FUNCTION mnemo._retention_end(
    p_org_id text,
    p_agent_id text,
    p_before timestamptz,
    p_limit bigint
)
RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT max(e.seq) FILTER (WHERE e.happened_at < p_before AND NOT e.later)
      FROM (
        SELECT e.seq, e.happened_at,
               -- A transaction that began early may be sealed late.
               coalesce(bool_or(e.happened_at >= p_before) OVER (ORDER BY e.seq), false) AS later
          FROM (
            SELECT e.seq, e.happened_at
              FROM mnemo.event AS e
             WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq IS NOT NULL
             ORDER BY e.seq
             LIMIT p_limit
          ) AS e
      ) AS e;
END;
COMMENT ON FUNCTION mnemo._retention_end(text, text, timestamptz, bigint) IS
    'seq of the last event that may go: with all before it it happened before the time, and they '
    'are at most p_limit; NULL for none.';

CREATE FUNCTION mnemo._carried(
    p_org_id text,
    p_agent_id text,
    p_until bigint
)
RETURNS TABLE (memory_org_id text, memory_id uuid, seq bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.memory_org_id, e.memory_id, min(e.seq)
      FROM mnemo.event AS e
     WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq <= p_until
       AND mnemo._is_base_event(e)
       AND EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = e.memory_org_id AND m.id = e.memory_id)
       AND NOT EXISTS (
            SELECT FROM mnemo.event AS l
             WHERE l.memory_org_id = e.memory_org_id AND l.memory_id = e.memory_id
               AND l.org_id = p_org_id AND mnemo._is_base_event(l)
               AND (l.seq IS NULL OR l.seq > p_until))
     GROUP BY e.memory_org_id, e.memory_id;
END;
COMMENT ON FUNCTION mnemo._carried(text, text, bigint) IS
    'The records that would lose their last base event with the events of a chain up to a seq.';

CREATE FUNCTION mnemo._states_finding(
    p_org_id text,
    p_agent_id text,
    p_until bigint
)
RETURNS mnemo._finding
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_row record;
    v_finding mnemo._finding;
BEGIN
    FOR v_row IN
        SELECT m AS record, s.is_written, s.is_deleted, s.content_hash, s.state
          FROM mnemo._carried(p_org_id, p_agent_id, p_until) AS c
          JOIN mnemo.memory AS m ON m.org_id = c.memory_org_id AND m.id = c.memory_id
          LEFT JOIN mnemo._event_states(p_org_id, p_agent_id) AS s
            ON s.memory_org_id = m.org_id AND s.memory_id = m.id
         ORDER BY m.id
    LOOP
        v_finding := mnemo._record_finding(v_row.record, v_row.is_written, v_row.is_deleted,
            v_row.content_hash, v_row.state);
        EXIT WHEN v_finding.reason IS NOT NULL;
    END LOOP;
    RETURN v_finding;
END
$fn$;
COMMENT ON FUNCTION mnemo._states_finding(text, text, bigint) IS
    'The first of the records to be carried over that is not as its events say.';

CREATE FUNCTION mnemo._carry_over(
    p_org_id text,
    p_agent_id text,
    p_until bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_written bigint;
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes
    )
    SELECT p_org_id, mnemo._next_event_id(m.org_id, m.id), p_agent_id, 'checkpoint', m.org_id, m.id,
           p_org_id, p_agent_id, now(), m.content_hash,
           mnemo._bound_state(m) || jsonb_build_object('checkpoint', true, 'grants', coalesce((
               SELECT jsonb_object_agg(a.agent_id, jsonb_build_object(
                          'permission', a.permission, 'granted_by', a.granted_by,
                          'granted_at', mnemo._micros(a.granted_at),
                          'expires_at', mnemo._micros(a.expires_at)))
                 FROM mnemo.acl AS a
                WHERE a.org_id = m.org_id AND a.memory_id = m.id
           ), '{}'))
      FROM mnemo._carried(p_org_id, p_agent_id, p_until) AS c
      JOIN mnemo.memory AS m ON m.org_id = c.memory_org_id AND m.id = c.memory_id;
    GET DIAGNOSTICS v_written = ROW_COUNT;
    RETURN v_written;
END
$fn$;
COMMENT ON FUNCTION mnemo._carry_over(text, text, bigint) IS
    'Writes a checkpoint for each record that would lose its base event, with its columns and its '
    'grants; returns how many.';

CREATE FUNCTION mnemo._lock_carried(
    p_org_id text,
    p_agent_id text,
    p_until bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_locked uuid[];
    v_busy bigint;
BEGIN
    SELECT array_agg(l.id) INTO v_locked
      FROM (
        SELECT m.id
          FROM mnemo._carried(p_org_id, p_agent_id, p_until) AS c
          JOIN mnemo.memory AS m ON m.org_id = c.memory_org_id AND m.id = c.memory_id
         ORDER BY m.org_id, m.id
           FOR UPDATE OF m SKIP LOCKED
      ) AS l;
    SELECT min(c.seq) INTO v_busy
      FROM mnemo._carried(p_org_id, p_agent_id, p_until) AS c
     WHERE c.memory_id <> ALL (coalesce(v_locked, '{}'));
    RETURN coalesce(v_busy - 1, p_until);
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_carried(text, text, bigint) IS
    'Locks the records to be carried over, without waiting, and returns the seq up to which all '
    'are locked.';

-- part: 549_retain_events.sql
CREATE FUNCTION mnemo._retain_chain(
    p_org_id text,
    p_agent_id text,
    p_before timestamptz,
    p_limit bigint,
    OUT removed bigint,
    OUT carried bigint,
    OUT until bigint,
    OUT until_hash bytea,
    OUT finding mnemo._finding
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_head mnemo.chain_head := mnemo._lock_chain(p_org_id, p_agent_id);
    v_links record;
    v_end bigint;
BEGIN
    removed := 0;
    carried := 0;
    until := v_head.anchor_seq;
    until_hash := v_head.anchor_hash;
    IF v_head.org_id IS NULL THEN
        RETURN;
    END IF;
    -- What is not as the chain says must not become the truth by being carried over.
    finding := mnemo._anchor_finding(p_org_id, p_agent_id, v_head);
    v_end := mnemo._retention_end(p_org_id, p_agent_id, p_before, p_limit);
    IF finding.reason IS NOT NULL OR v_end IS NULL THEN
        RETURN;
    END IF;
    v_end := mnemo._lock_carried(p_org_id, p_agent_id, v_end);
    SELECT * INTO v_links
      FROM mnemo._chain_links(p_org_id, p_agent_id, v_head.anchor_seq,
          coalesce(v_head.anchor_hash, mnemo._first_prev_hash()), v_end, NULL);
    finding := v_links.finding;
    IF finding.reason IS NULL THEN
        finding := mnemo._states_finding(p_org_id, p_agent_id, v_end);
    END IF;
    IF finding.reason IS NOT NULL OR v_links.events = 0 THEN
        RETURN;
    END IF;
    until := v_links.last_seq;
    until_hash := v_links.last_hash;
    carried := mnemo._carry_over(p_org_id, p_agent_id, until);
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes
    )
    VALUES (
        p_org_id, mnemo._new_id(), p_agent_id, 'checkpoint', p_org_id, NULL, p_org_id, p_agent_id,
        now(), NULL, jsonb_build_object('checkpoint', true, 'anchor_seq', until,
            'anchor_hash', encode(until_hash, 'hex'), 'before', mnemo._micros(p_before))
    );
    DELETE FROM mnemo.event AS e
     WHERE e.org_id = p_org_id AND e.agent_id = p_agent_id AND e.seq <= until;
    GET DIAGNOSTICS removed = ROW_COUNT;
    UPDATE mnemo.chain_head AS h
       SET anchor_seq = until, anchor_hash = until_hash
     WHERE h.org_id = p_org_id AND h.agent_id = p_agent_id;
    PERFORM mnemo._seal_chain(p_org_id, p_agent_id, NULL);
END
$fn$;
COMMENT ON FUNCTION mnemo._retain_chain(text, text, timestamptz, bigint) IS
    'Removes old events of one chain: how many, how many records were carried over, the new '
    'anchor; or what is wrong with the chain, and then nothing is removed. Skips a chain that '
    'another session has.';

CREATE FUNCTION mnemo.retain_events(
    p_before timestamptz,
    p_limit bigint DEFAULT 10000,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    org_id text,
    agent_id text,
    status text,
    removed bigint,
    carried bigint,
    anchor_seq bigint,
    anchor_hash bytea,
    first_bad_id uuid,
    reason text
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_chain record;
    v_done record;
    v_rest bigint := p_limit;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN (p_before <= now()) IS NOT TRUE THEN mnemo._argument('p_before',
            'p_before must be a time that has passed; got ' || coalesce(p_before::text, 'NULL'),
            'events that happened before it are removed')
        END,
        mnemo._most_problem(p_limit),
        CASE WHEN NOT mnemo._is_identifier(coalesce(p_org_id, 'default')) THEN
            mnemo._identifier_problem('p_org_id', p_org_id) END
    ]));
    PERFORM mnemo._require_fresh_snapshots();
    FOR v_chain IN
        SELECT h.org_id, h.agent_id
          FROM mnemo.chain_head AS h
         WHERE (p_org_id IS NULL OR h.org_id = p_org_id) AND h.seq > h.anchor_seq
         ORDER BY h.org_id, h.agent_id
    LOOP
        EXIT WHEN v_rest <= 0;
        SELECT * INTO v_done
          FROM mnemo._retain_chain(v_chain.org_id, v_chain.agent_id, p_before, v_rest);
        CONTINUE WHEN v_done.removed = 0 AND (v_done.finding).reason IS NULL;
        v_rest := v_rest - v_done.removed;
        RETURN QUERY
        SELECT v_chain.org_id, v_chain.agent_id,
               CASE WHEN (v_done.finding).reason IS NULL THEN 'removed' ELSE 'broken' END,
               v_done.removed, v_done.carried, v_done.until, v_done.until_hash,
               (v_done.finding).id, (v_done.finding).reason;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo.retain_events(timestamptz, bigint, text) IS
    'Removes sealed events that happened before p_before, of one organisation or (NULL) of all, at '
    'most p_limit (1 to 1,000,000) in a call: call it until it returns no row of status removed. '
    'Each chain keeps an anchor, the place and hash of the last event removed, and what the '
    'removed events said about records that are still there is carried over into new events '
    '(carried), so that verify_chain works on. Returns a row for each chain that lost events '
    '(removed), or that does not verify and so is left alone (broken, with first_bad_id and reason '
    'as verify_chain). Never waits: chains and records in use are left for the next call. Level '
    'admin only. Errors: 42501 not an administrator; 22023 bad argument; 55000 not in READ '
    'COMMITTED.';

-- part: 550_chain_heads.sql
CREATE FUNCTION mnemo.chain_heads(
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    org_id text,
    agent_id text,
    head_seq bigint,
    head bytea,
    anchor_seq bigint,
    sealed_at timestamptz,
    unsealed bigint
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    IF NOT mnemo._is_identifier(coalesce(p_org_id, 'default')) THEN
        PERFORM mnemo._raise_problem(mnemo._identifier_problem('p_org_id', p_org_id));
    END IF;
    RETURN QUERY
    WITH u AS (
        SELECT e.org_id, e.agent_id, count(*) AS number
          FROM mnemo.event AS e
         WHERE e.seq IS NULL AND (p_org_id IS NULL OR e.org_id = p_org_id)
         GROUP BY e.org_id, e.agent_id
    ), k AS (
        SELECT u.org_id, u.agent_id FROM u
        UNION
        SELECT h.org_id, h.agent_id
          FROM mnemo.chain_head AS h
         WHERE p_org_id IS NULL OR h.org_id = p_org_id
        UNION
        -- An owner whose whole chain was taken away must not be overlooked.
        SELECT m.origin_org_id, m.agent_id
          FROM mnemo.memory AS m
         WHERE p_org_id IS NULL OR m.org_id IN (p_org_id, '*') AND m.origin_org_id = p_org_id
    )
    SELECT k.org_id, k.agent_id, coalesce(h.seq, 0), h.hash, coalesce(h.anchor_seq, 0),
           h.sealed_at, coalesce(u.number, 0)
      FROM k
      LEFT JOIN mnemo.chain_head AS h ON h.org_id = k.org_id AND h.agent_id = k.agent_id
      LEFT JOIN u ON u.org_id = k.org_id AND u.agent_id = k.agent_id
     ORDER BY k.org_id COLLATE "C", k.agent_id COLLATE "C";
END
$fn$;
COMMENT ON FUNCTION mnemo.chain_heads(text) IS
    'Every chain of one organisation or (NULL) of all, and every owner of a record: the place and '
    'hash of its last sealed event, to keep outside; the place of the last event that retention '
    'removed, 0 for none; when it was last sealed; how many events are not sealed. A chain that '
    'was never sealed has head_seq 0 and NULL head and sealed_at. Level admin only. Errors: 42501 '
    'not an administrator; 22023 bad p_org_id.';

-- part: 551_history.sql
CREATE FUNCTION mnemo._versions(
    p_id uuid,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz
)
RETURNS TABLE (memory_org_id text, memory_id uuid, age bigint, owned boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 2
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_next uuid := p_id;
BEGIN
    age := 0;
    WHILE v_next IS NOT NULL AND age < 1000 LOOP
        memory_id := v_next;
        -- The owner knows what became of its records, also when they are gone.
        SELECT e.memory_org_id, true INTO memory_org_id, owned
          FROM mnemo.event AS e
         WHERE e.memory_org_id IN (p_org_id, '*') AND e.memory_id = v_next
           AND e.org_id = p_org_id AND e.agent_id = p_agent_id
         LIMIT 1;
        IF NOT FOUND THEN
            SELECT m.org_id, false INTO memory_org_id, owned
              FROM mnemo._visible_among(ARRAY[v_next], p_org_id, p_agent_id, p_now) AS m;
        END IF;
        EXIT WHEN NOT FOUND;
        RETURN NEXT;
        age := age + 1;
        v_next := coalesce(
            (SELECT m.prev_version_id
               FROM mnemo.memory AS m WHERE m.org_id = memory_org_id AND m.id = v_next),
            (SELECT (e.changes ->> 'prev_version_id')::uuid
               FROM mnemo.event AS e
              WHERE e.memory_org_id = _versions.memory_org_id AND e.memory_id = v_next
                AND e.changes ->> 'prev_version_id' IS NOT NULL
              ORDER BY e.id DESC
              LIMIT 1));
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._versions(uuid, text, text, timestamptz) IS
    'A record and those that it replaced, newest first, as far as the agent may know of them; at '
    'most 1000.';

CREATE FUNCTION mnemo.history(
    p_id uuid,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    org_id text,
    agent_id text,
    event_type text,
    memory_org_id text,
    memory_id uuid,
    actor_org_id text,
    actor_agent_id text,
    happened_at timestamptz,
    content_hash bytea,
    changes jsonb,
    note text,
    seq bigint,
    hash bytea
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._id_problem(p_id));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY v.age DESC, e.seq NULLS LAST, e.id), e.id, e.org_id,
           e.agent_id, e.event_type, e.memory_org_id, e.memory_id, e.actor_org_id,
           e.actor_agent_id, e.happened_at, e.content_hash, e.changes,
           CASE WHEN v.owned OR v_caller.level = 'admin' THEN n.note END, e.seq, e.hash
      FROM mnemo._versions(p_id, v_caller.org_id, v_caller.agent_id, statement_timestamp()) AS v
      JOIN mnemo.event AS e
        ON e.memory_org_id = v.memory_org_id AND e.memory_id = v.memory_id
      LEFT JOIN mnemo.event_note AS n ON n.org_id = e.org_id AND n.event_id = e.id
     -- Who else reads a record that many see is none of a reader's business.
     WHERE v.owned OR v_caller.level = 'admin' OR e.event_type <> 'memory_read'
        OR e.actor_org_id = v_caller.org_id AND e.actor_agent_id = v_caller.agent_id
     ORDER BY 1;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.history(uuid, text, text) IS
    'The events of a record and of the versions that it replaced, oldest first; rank from 1. For '
    'the owner also after it is deleted; for others while they can read it, without the reads that '
    'other agents logged. changes: the columns that the event set, times in microseconds since 1970 '
    'UTC. note: its free text, for the owner and administrators; NULL for none, or erased. seq and '
    'hash: its place in the chain, NULL until sealed. Events that retention removed are not there. '
    'Errors: 42501 no access; 22023 NULL; MN001 unknown or invisible record.';

-- part: 552_export_chain.sql
CREATE FUNCTION mnemo._event_line(
    p_event mnemo.event
)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'seq', (p_event).seq,
    'id', (p_event).id,
    'org_id', (p_event).org_id,
    'agent_id', (p_event).agent_id,
    'event_type', (p_event).event_type,
    'memory_org_id', (p_event).memory_org_id,
    'memory_id', (p_event).memory_id,
    'actor_org_id', (p_event).actor_org_id,
    'actor_agent_id', (p_event).actor_agent_id,
    'happened_at', mnemo._micros((p_event).happened_at),
    'content_hash', encode((p_event).content_hash, 'hex'),
    'changes', (p_event).changes,
    'note_hash', encode((p_event).note_hash, 'hex'),
    'prev_hash', encode((p_event).prev_hash, 'hex'),
    'hash', encode((p_event).hash, 'hex')
)::text;
COMMENT ON FUNCTION mnemo._event_line(mnemo.event) IS
    'A sealed event as a line of JSON: bytes in hexadecimal, times in microseconds since 1970 UTC.';

CREATE FUNCTION mnemo._chain_line(
    p_head mnemo.chain_head
)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'format', 'mnemo_pg chain 1',
    'org_id', (p_head).org_id,
    'agent_id', (p_head).agent_id,
    'anchor_seq', (p_head).anchor_seq,
    'anchor_hash', encode((p_head).anchor_hash, 'hex'),
    'head_seq', (p_head).seq,
    'head', encode((p_head).hash, 'hex')
)::text;
COMMENT ON FUNCTION mnemo._chain_line(mnemo.chain_head) IS
    'The first line of an exported chain, as JSON.';

CREATE FUNCTION mnemo.export_chain(
    p_after_seq bigint DEFAULT NULL,
    p_limit bigint DEFAULT 1000,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (seq bigint, line text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 500
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    IF p_after_seq < 0 THEN
        PERFORM mnemo._raise_argument('p_after_seq',
            format('p_after_seq must not be below zero; got %s', p_after_seq),
            'pass the seq of the last line that you have');
    ELSIF (p_limit BETWEEN 1 AND 10000) IS NOT TRUE THEN
        PERFORM mnemo._raise_argument('p_limit',
            format('p_limit must be from 1 to 10000; got %s', coalesce(p_limit::text, 'NULL')),
            'call again with p_after_seq for more');
    END IF;
    IF p_after_seq IS NULL THEN
        RETURN QUERY
        SELECT h.anchor_seq, mnemo._chain_line(h)
          FROM mnemo.chain_head AS h
         WHERE h.org_id = v_caller.org_id AND h.agent_id = v_caller.agent_id;
    END IF;
    RETURN QUERY
    SELECT e.seq, mnemo._event_line(e)
      FROM mnemo.event AS e
     WHERE e.org_id = v_caller.org_id AND e.agent_id = v_caller.agent_id
       AND e.seq > coalesce(p_after_seq, 0)
     ORDER BY e.seq
     LIMIT p_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo.export_chain(bigint, bigint, text, text) IS
    'The sealed events of the acting agent''s chain as lines of JSON, for mnemo_pg.verify, which '
    'needs no database. p_after_seq NULL: a first line that names the chain, its anchor and its '
    'head, then the first p_limit (1 to 10,000) events; else the p_limit events after that seq. No '
    'rows: nothing more, or nothing sealed. Write the lines as they are: another writer of JSON '
    'could change digits. Errors: 42501 no access; 22023 bad argument.';

-- part: 560_export.sql
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
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 12
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
         NULL)
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
    'heads of chains, idempotency keys, embeddings and their models, and with p_roles the levels and bindings of roles. '
    'p_org_id NULL: all organisations; else that one and the global records that it wrote. '
    'p_last: the last record of the page before, NULL for the first page. At most p_limit rows, '
    'and none after 4 MB; no row: the export is complete. All pages in one REPEATABLE READ '
    'transaction are one state of the database. Times are ISO 8601 in UTC with microseconds, '
    'bytes in hexadecimal, floating-point numbers as text. Level admin only. Errors: 42501 not an '
    'administrator; 22023 ill-formed organisation, p_last that no export gave, p_limit not from 1 '
    'to 10,000, p_roles NULL.';

-- part: 565_import.sql
CREATE FUNCTION mnemo._line_name(
    p_table text,
    p_row jsonb
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN coalesce(
        p_table || (
            SELECT ' ' || string_agg(left(p_row ->> substring(k.key FROM 't[.]([a-z_]+)'), 256), '/'
                                     ORDER BY k.place)
              FROM mnemo._export_sections() AS s
              CROSS JOIN LATERAL unnest(s.keys) WITH ORDINALITY AS k(key, place)
             WHERE s.table_name = p_table AND NOT s.global
        ),
        'a line'
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._line_name(text, jsonb) IS
    'A line of an export as errors name it: its table and key.';

CREATE FUNCTION mnemo._line_problem(
    p_line jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_table text := p_line ->> 'table';
    v_row jsonb := p_line -> 'row';
    v_hint text := 'import the file as mnemo.export_records gave it';
    v_columns text[];
    v_wrong text;
BEGIN
    IF jsonb_typeof(p_line) IS DISTINCT FROM 'object'
        OR jsonb_typeof(v_row) IS DISTINCT FROM 'object'
        OR jsonb_typeof(p_line -> 'table') IS DISTINCT FROM 'string'
        OR jsonb_typeof(p_line -> 'sum') IS DISTINCT FROM 'string'
    THEN
        RETURN mnemo._argument('p_records',
            'an element must be an object with table, row and sum', v_hint);
    ELSIF v_table = 'export' THEN
        IF v_row -> 'format' <> '1' THEN
            RETURN mnemo._argument('p_records',
                format('format %s of the export is not known here, only 1 is',
                    left(v_row ->> 'format', 100)),
                'import it with the version of mnemo_pg that wrote it, then upgrade');
        END IF;
    ELSE
        v_columns := ARRAY(
            SELECT a.attname::text
              FROM pg_attribute AS a
             WHERE a.attrelid = to_regclass(format('mnemo.%I', v_table))
               AND a.attnum > 0 AND NOT a.attisdropped
               AND v_table IN (SELECT s.table_name FROM mnemo._export_sections() AS s)
        );
        IF v_columns = '{}' THEN
            RETURN mnemo._argument('p_records',
                'table must be one that an export holds; got ' || mnemo._shown(v_table), v_hint);
        ELSIF NOT v_row ?& v_columns OR v_row - v_columns <> '{}' THEN
            v_wrong := 'its row has not exactly the columns that this version has';
            v_hint := 'import it with the version of mnemo_pg that wrote it, then upgrade';
        END IF;
    END IF;
    IF v_wrong IS NULL AND mnemo._line_sum(v_table, v_row) <> p_line ->> 'sum' THEN
        v_wrong := 'it was changed after the export';
    END IF;
    RETURN CASE WHEN v_wrong IS NOT NULL THEN
        mnemo._argument('p_records', mnemo._line_name(v_table, v_row) || ': ' || v_wrong, v_hint)
    END;
END
$fn$;
COMMENT ON FUNCTION mnemo._line_problem(jsonb) IS
    'The problem of a line of an export before its values are looked at: form, table, columns, '
    'sum; NULL for none.';

CREATE FUNCTION mnemo._import_roles(
    p_table text,
    p_rows jsonb[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_row jsonb;
BEGIN
    -- By the functions of administration: a row without its privileges would count for nothing, and
    -- a tenant must be no threat in this database either.
    FOREACH v_row IN ARRAY p_rows LOOP
        IF p_table = 'role_level' THEN
            PERFORM mnemo.grant_access(v_row ->> 'role_name', v_row ->> 'level');
            UPDATE mnemo.role_level AS l SET granted_at = (v_row ->> 'granted_at')::timestamptz
             WHERE l.role_name = v_row ->> 'role_name';
        ELSE
            PERFORM mnemo.bind_role(
                v_row ->> 'role_name', v_row ->> 'org_id', v_row ->> 'agent_id');
            UPDATE mnemo.role_binding AS b SET bound_at = (v_row ->> 'bound_at')::timestamptz
             WHERE b.role_name = v_row ->> 'role_name' AND b.org_id = v_row ->> 'org_id'
               AND b.agent_id IS NOT DISTINCT FROM v_row ->> 'agent_id';
        END IF;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._import_roles(text, jsonb[]) IS
    'Gives roles the levels or bindings of an export, with the privileges that belong to them.';

CREATE FUNCTION mnemo._derive(
    p_table text,
    p_rows jsonb[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_records mnemo.memory[];
BEGIN
    IF p_table = 'memory' THEN
        v_records := ARRAY(
            SELECT r
              FROM unnest(p_rows) AS u(item)
              CROSS JOIN LATERAL jsonb_populate_record(NULL::mnemo.memory, u.item) AS r
             WHERE r.deleted_at IS NULL
        );
        PERFORM mnemo._index_terms(v_records);
        PERFORM mnemo._index_new_plans(ARRAY(
            SELECT r FROM unnest(v_records) AS r WHERE r.tags @> ARRAY[mnemo._reserved_tag()]
        ));
    ELSIF p_table = 'acl' THEN
        PERFORM mnemo._index_plan(g.org_id, g.id), mnemo._index_grants(g.org_id, g.id)
           FROM (
            SELECT DISTINCT u.item ->> 'org_id' AS org_id, (u.item ->> 'memory_id')::uuid AS id
              FROM unnest(p_rows) AS u(item)
           ) AS g;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._derive(text, jsonb[]) IS
    'Makes the rows of other tables (plan_signature, term_vector and its kin) that follow from rows '
    'just imported.';

CREATE FUNCTION mnemo._import_rows(
    p_table text,
    p_rows jsonb[]
)
RETURNS TABLE (place bigint, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 500
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON of rows that are there must look as in an export.
SET timezone = 'UTC'
SET bytea_output = 'hex'
SET extra_float_digits = 1
-- Look-ups by key, whatever the statistics of a table that is being filled say.
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $fn$
DECLARE
    v_section mnemo._export_section;
    v_errors text[];
    v_states text[];
    v_new jsonb[];
BEGIN
    IF p_table = 'embedding' THEN
        RETURN QUERY SELECT e.place, e.status, e.error FROM mnemo._import_embeddings(p_rows) AS e;
        RETURN;
    END IF;
    SELECT s.* INTO v_section
      FROM mnemo._export_sections() AS s WHERE s.table_name = p_table AND NOT s.global;
    EXECUTE format(
        'SELECT array_agg(x.error ORDER BY x.place), array_agg(x.state ORDER BY x.place)'
        '  FROM ('
        '    SELECT u.place, (%2$s)::text AS error,'
        '           CASE WHEN e IS NULL THEN ''imported'' WHEN %3$s THEN ''present'' END AS state'
        '      FROM unnest($1) WITH ORDINALITY AS u(item, place)'
        '      CROSS JOIN LATERAL jsonb_populate_record(NULL::mnemo.%1$I, u.item) AS r'
        '      LEFT JOIN mnemo.%1$I AS e ON (%4$s) = (%5$s)'
        '  ) AS x',
        p_table, coalesce(v_section.wrong, 'NULL'), v_section.same,
        replace(array_to_string(v_section.keys, ', '), 't.', 'e.'),
        replace(array_to_string(v_section.keys, ', '), 't.', 'r.')
    ) INTO v_errors, v_states USING p_rows;
    v_new := ARRAY(
        SELECT u.item
          FROM unnest(p_rows, v_states, v_errors) WITH ORDINALITY AS u(item, state, error, place)
         WHERE u.state = 'imported' AND u.error IS NULL
         ORDER BY u.place
    );
    IF cardinality(v_new) > 0 AND p_table IN ('role_level', 'role_binding') THEN
        PERFORM mnemo._import_roles(p_table, v_new);
    ELSIF cardinality(v_new) > 0 AND p_table = 'vector_model' THEN
        PERFORM mnemo._import_models(v_new);
    ELSIF cardinality(v_new) > 0 THEN
        EXECUTE format(
            'INSERT INTO mnemo.%1$I SELECT r.* FROM unnest($1) WITH ORDINALITY AS u(item, place)'
            ' CROSS JOIN LATERAL jsonb_populate_record(NULL::mnemo.%1$I, u.item) AS r'
            ' ORDER BY u.place', p_table
        ) USING v_new;
        PERFORM mnemo._derive(p_table, v_new);
    END IF;
    RETURN QUERY
    SELECT u.place, CASE WHEN u.error IS NULL THEN coalesce(u.state, 'failed') ELSE 'failed' END,
           coalesce(u.error,
               CASE WHEN u.state IS NULL THEN 'another one with this key is there' END)
      FROM unnest(v_states, v_errors) WITH ORDINALITY AS u(state, error, place);
END
$fn$;
COMMENT ON FUNCTION mnemo._import_rows(text, jsonb[]) IS
    'Writes rows of one table that are not there: for each whether it was imported or was present, '
    'or why it cannot be. Raises what constraints and types refuse.';

-- part: 566_import_records.sql
CREATE FUNCTION mnemo._import_singly(
    p_table text,
    p_rows jsonb[]
)
RETURNS TABLE (place bigint, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 500
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_number integer;
BEGIN
    FOR v_number IN 1 .. cardinality(p_rows) LOOP
        place := v_number;
        BEGIN
            SELECT r.status, r.error INTO status, error
              FROM mnemo._import_rows(p_table, p_rows[v_number : v_number]) AS r;
        EXCEPTION
            WHEN data_exception OR integrity_constraint_violation OR insufficient_privilege
                OR program_limit_exceeded
            THEN
                status := 'failed';
                error := SQLERRM;
        END;
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._import_singly(text, jsonb[]) IS
    '_import_rows one by one, so that a row which a type or a constraint refuses stops no other.';

CREATE FUNCTION mnemo._import_table(
    p_table text,
    p_rows jsonb[]
)
RETURNS TABLE (place bigint, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 500
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    BEGIN
        RETURN QUERY SELECT r.* FROM mnemo._import_rows(p_table, p_rows) AS r;
        RETURN;
    EXCEPTION
        WHEN data_exception OR integrity_constraint_violation OR insufficient_privilege
            OR program_limit_exceeded
        THEN
            NULL;
    END;
    RETURN QUERY SELECT r.* FROM mnemo._import_singly(p_table, p_rows) AS r;
END
$fn$;
COMMENT ON FUNCTION mnemo._import_table(text, jsonb[]) IS
    '_import_rows as a set, and one by one where that fails.';

CREATE FUNCTION mnemo.import_records(
    p_records jsonb,
    p_on_error text DEFAULT 'abort'
)
RETURNS TABLE ("position" bigint, record text, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 500
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_states text[];
    v_errors text[];
    v_hints text[];
    v_bad bigint;
    v_found record;
    v_table record;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(
        mnemo._batch_problem('p_records', p_records, p_on_error, 'lines of an export'));
    SELECT array_agg(CASE WHEN (p.problem).code IS NOT NULL THEN 'failed' END ORDER BY p.place),
           array_agg((p.problem).message ORDER BY p.place),
           array_agg((p.problem).hint ORDER BY p.place)
      INTO v_states, v_errors, v_hints
      FROM (
        SELECT e.place, mnemo._line_problem(e.line) AS problem
          FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(line, place)
        OFFSET 0
      ) AS p;
    FOR v_table IN
        SELECT s.table_name, array_agg(e.line -> 'row' ORDER BY e.place) AS items,
               array_agg(e.place ORDER BY e.place) AS places
          FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(line, place)
          JOIN mnemo._export_sections() AS s ON s.table_name = e.line ->> 'table' AND NOT s.global
         WHERE v_states[e.place] IS NULL
         GROUP BY s.place, s.table_name
         ORDER BY s.place
    LOOP
        FOR v_found IN SELECT * FROM mnemo._import_table(v_table.table_name, v_table.items) LOOP
            v_states[v_table.places[v_found.place]] := v_found.status;
            IF v_found.error IS NOT NULL THEN
                v_errors[v_table.places[v_found.place]] := mnemo._line_name(
                    v_table.table_name, v_table.items[v_found.place]) || ': ' || v_found.error;
            END IF;
        END LOOP;
    END LOOP;
    v_bad := array_position(v_states, 'failed');
    IF v_bad IS NOT NULL AND p_on_error = 'abort' THEN
        PERFORM mnemo._raise_placed(
            mnemo._argument('p_records', v_errors[v_bad], v_hints[v_bad]), v_bad);
    END IF;
    RETURN QUERY
    SELECT e.place, mnemo._line_name(e.line ->> 'table', e.line -> 'row'),
           coalesce(v_states[e.place], 'header'), '22023: ' || v_errors[e.place]
      FROM jsonb_array_elements(p_records) WITH ORDINALITY AS e(line, place)
     ORDER BY e.place;
END
$fn$;
COMMENT ON FUNCTION mnemo.import_records(jsonb, text) IS
    'Writes up to 10,000 lines of an export as they are, ids, hashes, nonces and times kept, with '
    'no event for it; signatures and terms are derived anew. A line that was changed, or whose '
    'content_hash is not the hash of its record, is refused. One row a line, position from 1: '
    'record (table and key), status imported, present (the same is there: nothing is written), '
    'header, or failed with the error as SQLSTATE: message. p_on_error abort: the first bad line '
    'raises its error and nothing is written; skip: the others are written. A record that is '
    'there with another hash, an event, grant or setting that differs, is an error. Levels and '
    'bindings are given as mnemo.grant_access and mnemo.bind_role do. Level admin only. Errors: '
    '42501 not an administrator; 22023 bad line, no array, unknown p_on_error; 54000 over 10,000.';

-- part: 570_read_events.sql
CREATE FUNCTION mnemo._events_problem(
    p_org_id text,
    p_agent_id text,
    p_types text[],
    p_since timestamptz,
    p_until timestamptz,
    p_limit bigint
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._first_problem(ARRAY[
        mnemo._identifier_problem('p_org_id', p_org_id),
        CASE WHEN p_agent_id IS NOT NULL THEN
            mnemo._identifier_problem('p_agent_id', p_agent_id)
        END,
        mnemo._label_list_problem('p_types', 'event_type', p_types),
        CASE WHEN p_until <= p_since THEN
            mnemo._argument('p_until', 'p_until must be after p_since', 'leave one of them out')
        END,
        mnemo._limit_problem(p_limit)
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._events_problem(
    text, text, text[], timestamptz, timestamptz, bigint
) IS 'The first problem of the arguments of mnemo.read_events; NULL for none.';

CREATE FUNCTION mnemo.read_events(
    p_types text[] DEFAULT NULL,
    p_memory_id uuid DEFAULT NULL,
    p_since timestamptz DEFAULT NULL,
    p_until timestamptz DEFAULT NULL,
    p_limit bigint DEFAULT 100,
    p_after uuid DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    org_id text,
    agent_id text,
    event_type text,
    memory_org_id text,
    memory_id uuid,
    actor_org_id text,
    actor_agent_id text,
    happened_at timestamptz,
    content_hash bytea,
    changes jsonb,
    note text,
    seq bigint,
    hash bytea
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- A page is read from the end of the key, also where no statistics say how long the log is.
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    p_org_id := coalesce(p_org_id, mnemo._setting('default_org_id', NULL));
    PERFORM mnemo._raise_problem(
        mnemo._events_problem(p_org_id, p_agent_id, p_types, p_since, p_until, p_limit));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY e.id DESC), e.id, e.org_id, e.agent_id, e.event_type,
           e.memory_org_id, e.memory_id, e.actor_org_id, e.actor_agent_id, e.happened_at,
           e.content_hash, e.changes, n.note, e.seq, e.hash
      FROM (
        (SELECT v.*
           FROM mnemo.event AS v
          WHERE p_memory_id IS NULL
            AND v.org_id = p_org_id
            AND v.id < coalesce(p_after, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
            AND (p_agent_id IS NULL OR v.agent_id = p_agent_id)
            AND (p_types IS NULL OR v.event_type = ANY (p_types))
            AND (p_since IS NULL OR v.happened_at >= p_since)
            AND (p_until IS NULL OR v.happened_at < p_until)
          ORDER BY v.id DESC
          LIMIT p_limit)
        UNION ALL
        -- A record has few events: they are found first and sorted then.
        (SELECT v.*
           FROM (
            SELECT m.*
              FROM mnemo.event AS m
             WHERE m.memory_org_id IN (p_org_id, '*') AND m.memory_id = p_memory_id
            OFFSET 0
           ) AS v
          WHERE v.org_id = p_org_id
            AND (p_after IS NULL OR v.id < p_after)
            AND (p_agent_id IS NULL OR v.agent_id = p_agent_id)
            AND (p_types IS NULL OR v.event_type = ANY (p_types))
            AND (p_since IS NULL OR v.happened_at >= p_since)
            AND (p_until IS NULL OR v.happened_at < p_until)
          ORDER BY v.id DESC
          LIMIT p_limit)
      ) AS e
      LEFT JOIN mnemo.event_note AS n ON n.org_id = e.org_id AND n.event_id = e.id
     ORDER BY e.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo.read_events(
    text[], uuid, timestamptz, timestamptz, bigint, uuid, text, text
) IS
    'The events of one organisation, newest first, with their notes; rank counts from 1. p_org_id: '
    'the organisation of the owners, NULL the setting default_org_id. NULL elsewhere is no filter: '
    'p_types any of these event types, p_memory_id the record, p_since (inclusive) and p_until '
    '(exclusive) the start of the transaction that acted, p_agent_id the owner. p_limit: 1 to 1000 '
    'rows; p_after: the last id of the page before. note is NULL where none was given or where it '
    'was erased; seq and hash are NULL until the event is sealed. Level admin only. Errors: 42501 '
    'not an administrator; 22023 ill-formed name, unknown event type, p_until not after p_since, '
    'p_limit not from 1 to 1000.';

-- part: 580_sweep_parts.sql
-- What a sweep does, piece by piece. Nothing here waits: rows that another session has are left for
-- the next sweep, so that it can run beside any writer.

CREATE FUNCTION mnemo._organisations() RETURNS TABLE (org_id text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- One look-up an organisation, however many records it has.
    WITH RECURSIVE o AS (
        (SELECT m.org_id FROM mnemo.memory AS m ORDER BY m.org_id LIMIT 1)
        UNION ALL
        SELECT n.org_id
          FROM o
         CROSS JOIN LATERAL (
            SELECT m.org_id
              FROM mnemo.memory AS m
             WHERE m.org_id > o.org_id
             ORDER BY m.org_id
             LIMIT 1
         ) AS n
    )
    SELECT o.org_id FROM o;
END;
COMMENT ON FUNCTION mnemo._organisations() IS
    'The organisations that have records, * for those of scope global.';

CREATE FUNCTION mnemo._sweep_expired(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_keys mnemo._record_key[] := ARRAY(
        SELECT ROW(r.org_id, r.id)::mnemo._record_key
          FROM mnemo._organisations() AS o
          CROSS JOIN LATERAL (
            SELECT m.org_id, m.id
              FROM mnemo.memory AS m
             WHERE m.org_id = o.org_id AND m.expires_at IS NOT NULL AND m.expires_at <= p_now
               AND m.deleted_at IS NULL
             ORDER BY m.expires_at
             LIMIT p_limit
               FOR UPDATE SKIP LOCKED
          ) AS r
         LIMIT p_limit
    );
BEGIN
    PERFORM mnemo._forget_batches(v_keys, 'soft_delete', 'memory_expired');
    RETURN cardinality(v_keys);
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_expired(bigint, timestamptz) IS
    'Deletes, softly, at most p_limit records that have expired; returns how many.';

CREATE FUNCTION mnemo._purge_before(
    p_org_id text,
    p_now timestamptz
)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_after text := mnemo._setting('purge_after', p_org_id);
BEGIN
    IF v_after = 'never' THEN
        RETURN '-infinity';
    END IF;
    RETURN p_now - v_after::interval;
END
$fn$;
COMMENT ON FUNCTION mnemo._purge_before(text, timestamptz) IS
    'Records of the organisation that were deleted before this time are to be removed for good, by '
    'the setting purge_after.';

CREATE FUNCTION mnemo._sweep_deleted(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_keys mnemo._record_key[] := ARRAY(
        SELECT ROW(r.org_id, r.id)::mnemo._record_key
          FROM mnemo._organisations() AS o
          CROSS JOIN LATERAL (
            SELECT m.org_id, m.id
              FROM mnemo.memory AS m
             WHERE m.org_id = o.org_id AND m.deleted_at IS NOT NULL AND m.redacted_at IS NULL
               AND m.deleted_at <= mnemo._purge_before(o.org_id, p_now)
             ORDER BY m.deleted_at
             LIMIT p_limit
               FOR UPDATE SKIP LOCKED
          ) AS r
         LIMIT p_limit
    );
BEGIN
    PERFORM mnemo._forget_batches(v_keys, 'hard_delete', 'memory_expired');
    RETURN cardinality(v_keys);
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_deleted(bigint, timestamptz) IS
    'Removes for good at most p_limit records that were deleted longer ago than the setting '
    'purge_after says, and leaves a tombstone of each; redacted ones stay. Returns how many.';

CREATE FUNCTION mnemo._sweep_grants(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_record mnemo.memory;
    v_agents text[];
    v_removed bigint := 0;
BEGIN
    FOR v_record IN
        SELECT r.*
          FROM mnemo._organisations() AS o
          CROSS JOIN LATERAL (
            SELECT m.*
              FROM (
                SELECT DISTINCT a.memory_id
                  FROM (
                    SELECT a.memory_id
                      FROM mnemo.acl AS a
                     WHERE a.org_id = o.org_id AND a.expires_at IS NOT NULL
                       AND a.expires_at <= p_now
                     ORDER BY a.expires_at
                     LIMIT p_limit
                  ) AS a
              ) AS e
              JOIN mnemo.memory AS m ON m.org_id = o.org_id AND m.id = e.memory_id
             ORDER BY m.id
               FOR UPDATE OF m SKIP LOCKED
          ) AS r
    LOOP
        EXIT WHEN v_removed >= p_limit;
        WITH removed AS (
            DELETE FROM mnemo.acl AS a
             WHERE a.org_id = v_record.org_id AND a.memory_id = v_record.id
               AND a.expires_at <= p_now
            RETURNING a.agent_id
        )
        SELECT array_agg(r.agent_id ORDER BY r.agent_id) INTO v_agents FROM removed AS r;
        CONTINUE WHEN v_agents IS NULL;
        v_removed := v_removed + cardinality(v_agents);
        PERFORM mnemo._write_event(v_record, 'memory_unshare', v_record.origin_org_id,
            v_record.agent_id, jsonb_build_object('agents', to_jsonb(v_agents)));
        PERFORM mnemo._index_plan(v_record.org_id, v_record.id);
        PERFORM mnemo._index_grants(v_record.org_id, v_record.id);
    END LOOP;
    RETURN v_removed;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_grants(bigint, timestamptz) IS
    'Takes grants away that have ended, with what the indexes hold for them, and writes an event a '
    'record; at most p_limit, or all of one record more. Returns how many.';

CREATE FUNCTION mnemo._sweep_delegations(
    p_limit bigint,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_removed bigint;
BEGIN
    -- One that others were passed on from goes after them: they have ended too.
    DELETE FROM mnemo.delegation AS d
     WHERE (d.org_id, d.id) IN (
        SELECT e.org_id, e.id
          FROM mnemo.delegation AS e
         WHERE least(e.expires_at, e.revoked_at) IS NOT NULL
           AND least(e.expires_at, e.revoked_at) <= p_now
           AND NOT EXISTS (
                SELECT FROM mnemo.delegation AS c
                 WHERE c.org_id = e.org_id AND c.parent_id = e.id)
           AND NOT EXISTS (
                SELECT FROM mnemo.delegation AS c
                 WHERE c.org_id = e.org_id AND c.head_id = e.id)
         LIMIT p_limit
           FOR UPDATE SKIP LOCKED
     );
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_delegations(bigint, timestamptz) IS
    'Removes at most p_limit delegations that have ended or were taken back and that nothing '
    'depends on; returns how many.';

CREATE FUNCTION mnemo._sweep_keys(
    p_limit bigint
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET jit = off
AS $fn$
DECLARE
    -- About as many rows as p_limit, from a random page on: the cost does not grow with the table.
    v_pages bigint := pg_relation_size('mnemo.idempotency') / current_setting('block_size')::bigint;
    v_read bigint := 1 + p_limit / 50;
    v_first bigint := floor(random() * greatest(v_pages - v_read + 1, 1));
    v_keys text[];
    v_removed bigint;
BEGIN
    v_keys := ARRAY(
        SELECT i.ctid::text
          FROM mnemo.idempotency AS i
         WHERE i.ctid >= format('(%s,0)', v_first)::tid
           AND i.ctid < format('(%s,0)', v_first + v_read)::tid
           AND NOT EXISTS (
                SELECT FROM mnemo.memory AS m
                 WHERE m.org_id = i.memory_org_id AND m.id = i.memory_id)
         LIMIT p_limit
           FOR UPDATE SKIP LOCKED
    );
    -- A statement of its own: a writer may just have claimed the key for another record.
    DELETE FROM mnemo.idempotency AS i
     WHERE i.ctid = ANY (v_keys::tid[])
       AND NOT EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = i.memory_org_id AND m.id = i.memory_id);
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_keys(bigint) IS
    'Looks at about p_limit idempotency keys from a random place on and removes those whose record '
    'is gone; returns how many. Forgetting removes keys with their records, so only an import can '
    'have left one.';

-- part: 581_sweep.sql
CREATE FUNCTION mnemo._sweep_terms() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_org text;
    v_folded bigint := 0;
BEGIN
    FOR v_org IN
        WITH RECURSIVE o AS (
            (SELECT c.org_id FROM mnemo.term_change AS c ORDER BY c.org_id LIMIT 1)
            UNION ALL
            SELECT n.org_id
              FROM o
             CROSS JOIN LATERAL (
                SELECT c.org_id
                  FROM mnemo.term_change AS c
                 WHERE c.org_id > o.org_id
                 ORDER BY c.org_id
                 LIMIT 1
             ) AS n
        )
        SELECT o.org_id FROM o
    LOOP
        v_folded := v_folded + mnemo._compact_terms(v_org);
    END LOOP;
    RETURN v_folded;
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_terms() IS
    'Folds the changes of the term statistics of every organisation in; returns how many.';

CREATE FUNCTION mnemo._sweep_events(
    p_limit bigint,
    OUT sealed bigint,
    OUT left_over bigint
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_before bigint := (SELECT count(*) FROM mnemo.event AS e WHERE e.seq IS NULL);
BEGIN
    left_over := mnemo.seal(p_limit);
    sealed := greatest(v_before - left_over, 0);
END
$fn$;
COMMENT ON FUNCTION mnemo._sweep_events(bigint) IS
    'Seals at most p_limit events; how many, and how many are left.';

CREATE FUNCTION mnemo.sweep(
    p_limit bigint DEFAULT 1000,
    p_now timestamptz DEFAULT NULL
)
RETURNS TABLE (rank bigint, task text, done bigint, more boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 7
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_now timestamptz := coalesce(p_now, now());
    v_events record;
BEGIN
    PERFORM mnemo._require_admin();
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN (p_limit BETWEEN 1 AND 10000) IS NOT TRUE THEN mnemo._argument('p_limit',
            format('p_limit must be from 1 to 10000; got %s', coalesce(p_limit::text, 'NULL')),
            'call again for more')
        END,
        mnemo._time_problem('p_now', p_now)
    ]));
    PERFORM mnemo._require_fresh_snapshots();
    rank := 1;
    task := 'expired';
    done := mnemo._sweep_expired(p_limit, v_now);
    more := done >= p_limit;
    RETURN NEXT;
    rank := 2;
    task := 'purged';
    done := mnemo._sweep_deleted(p_limit, v_now);
    more := done >= p_limit;
    RETURN NEXT;
    rank := 3;
    task := 'grants';
    done := mnemo._sweep_grants(p_limit, v_now);
    more := done >= p_limit;
    RETURN NEXT;
    rank := 4;
    task := 'delegations';
    done := mnemo._sweep_delegations(p_limit, least(v_now, now()));
    -- Those that they were passed on from may go now.
    more := done > 0;
    RETURN NEXT;
    rank := 5;
    task := 'idempotency_keys';
    done := mnemo._sweep_keys(p_limit);
    more := false;
    RETURN NEXT;
    rank := 6;
    task := 'terms';
    done := mnemo._sweep_terms();
    more := false;
    RETURN NEXT;
    SELECT * INTO v_events FROM mnemo._sweep_events(p_limit * 10);
    rank := 7;
    task := 'events';
    done := v_events.sealed;
    more := v_events.left_over > 0;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.sweep(bigint, timestamptz) IS
    'The housekeeping of the store, for cron: call it until no row says more, or nothing was done. '
    'Never waits for writers: what another session has locked is left for the next call. Returns '
    'a row for each task with how many rows it took and whether more are there: expired (records '
    'past their end are deleted softly, event memory_expired), purged (records deleted longer ago '
    'than the setting purge_after are removed for good, with a tombstone; redacted ones stay), '
    'grants that have ended (event memory_unshare), delegations that have ended or were taken back, '
    'idempotency_keys without a record (a random stretch of the table in each call), terms '
    '(changes of the term statistics folded in), events (sealed; ten times p_limit at most). '
    'p_limit: rows of each task, 1 to 10,000. p_now: the time to go by, NULL for the clock; delegations '
    'go by the clock where it lies ahead. Level admin only. Errors: 42501 not an administrator; '
    '22023 bad p_limit or p_now; 55000 not in READ COMMITTED.';

-- part: 585_touch.sql
CREATE FUNCTION mnemo.touch(
    p_ids uuid[],
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_keys mnemo._record_key[];
    v_touched uuid[];
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._ids_problem('p_ids', p_ids));
    PERFORM mnemo._require_permission('p_ids', v_caller.org_id, v_caller.agent_id, p_ids, 'read');
    v_keys := ARRAY(
        SELECT ROW(h.org_id, h.id)::mnemo._record_key
          FROM mnemo._held(v_caller.org_id, v_caller.agent_id, p_ids, clock_timestamp()) AS h
    );
    -- A counter is not worth waiting for: a row that another transaction has is passed over.
    WITH free AS MATERIALIZED (
        SELECT m.org_id, m.id
          FROM unnest(v_keys) AS k(org_id, id)
          JOIN mnemo.memory AS m ON m.org_id = k.org_id AND m.id = k.id
         ORDER BY m.org_id, m.id
           FOR NO KEY UPDATE OF m SKIP LOCKED
    ), touched AS (
        UPDATE mnemo.memory AS m
           SET access_count = m.access_count + 1, last_accessed_at = now()
          FROM free AS f
         WHERE m.org_id = f.org_id AND m.id = f.id
        RETURNING m.id
    )
    SELECT array_agg(t.id) INTO v_touched FROM touched AS t;
    RETURN QUERY
    SELECT DISTINCT u.id, CASE WHEN u.id = ANY (v_touched) THEN 'touched' ELSE 'busy' END
      FROM unnest(p_ids) AS u(id)
     ORDER BY u.id;
END
$fn$;
COMMENT ON FUNCTION mnemo.touch(uuid[], text, text) IS
    'Counts a use of records, memories or plans, that the acting agent may read: access_count grows '
    'by 1 and last_accessed_at becomes now, each once in a call; no event, and updated_at stays. '
    'Never waits: a record that another transaction is just touching or changing is left as it is, '
    'so access_count may fall short of the number of calls. Returns a row for each id: touched, or '
    'busy. All or nothing before that: one id that cannot be read, and none is counted. Errors: '
    '42501 no access; MN001 unknown, gone or invisible id; 22023 NULL, empty list, NULL element; '
    '54000 over 10,000.';

CREATE FUNCTION mnemo.log_read(
    p_ids uuid[],
    p_query text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, event_id uuid)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record record;
    v_salt bytea;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._ids_problem('p_ids', p_ids),
        mnemo._texts_problem(ARRAY['p_query'], ARRAY[p_query], 100000)
    ]));
    PERFORM mnemo._require_permission('p_ids', v_caller.org_id, v_caller.agent_id, p_ids, 'read');
    -- Held against erasure only: a note written behind it would stay.
    PERFORM FROM mnemo.memory AS m
      WHERE m.org_id IN (v_caller.org_id, '*') AND m.id = ANY (p_ids)
      ORDER BY m.org_id, m.id
        FOR KEY SHARE;
    PERFORM mnemo._require_permission('p_ids', v_caller.org_id, v_caller.agent_id, p_ids, 'read');
    FOR v_record IN
        SELECT m.org_id, m.id, m.origin_org_id, m.agent_id
          FROM mnemo._held(v_caller.org_id, v_caller.agent_id, p_ids, clock_timestamp()) AS h
          JOIN mnemo.memory AS m ON m.org_id = h.org_id AND m.id = h.id
         ORDER BY m.id
    LOOP
        id := v_record.id;
        event_id := mnemo._new_id();
        -- What was asked stays within the organisation that asked.
        v_salt := CASE WHEN v_record.origin_org_id = v_caller.org_id AND p_query IS NOT NULL
            THEN uuid_send(gen_random_uuid()) END;
        -- No hash of the record: it may be changing just now, and this event says nothing of it.
        INSERT INTO mnemo.event (
            org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id,
            actor_agent_id, happened_at, content_hash, changes, note_hash
        )
        VALUES (
            v_record.origin_org_id, event_id, v_record.agent_id, 'memory_read', v_record.org_id, id,
            v_caller.org_id, v_caller.agent_id, now(), NULL, '{}',
            mnemo._note_hash(v_salt, p_query)
        );
        IF v_salt IS NOT NULL THEN
            INSERT INTO mnemo.event_note (org_id, event_id, salt, note)
            VALUES (v_record.origin_org_id, log_read.event_id, v_salt, p_query);
        END IF;
        PERFORM mnemo._seal_if_many(v_record.origin_org_id, v_record.agent_id, 1);
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo.log_read(uuid[], text, text, text) IS
    'Writes an event memory_read for each of these records, memories or plans, that the acting agent '
    'may read: recall itself writes nothing. The event is in the chain of the record''s owner. '
    'p_query: what was asked, kept beside the event as a note that the owner and administrators '
    'see in history and that goes when the record is erased; NULL for none; not kept for global '
    'records of other organisations. Returns the id of each record and of its event, all or '
    'nothing. Errors: 42501 no access; MN001 unknown, gone or invisible id; 22023 NULL, empty '
    'list, NULL element, blank p_query; 54000 over 10,000 ids or a query over 100,000 characters.';

-- part: 586_quarantined.sql
CREATE FUNCTION mnemo.quarantined(
    p_limit bigint DEFAULT 100,
    p_after uuid DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    org_id text,
    origin_org_id text,
    owner_agent_id text,
    memory_type text,
    scope text,
    source_type text,
    is_plan boolean,
    reason text,
    content text,
    metadata jsonb,
    version bigint,
    created_at timestamptz,
    expires_at timestamptz,
    content_hash bytea
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_is_admin boolean;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._limit_problem(p_limit));
    v_is_admin := v_caller.level = 'admin';
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY q.id DESC), q.*
      FROM (
        SELECT m.id, m.org_id, m.origin_org_id, m.agent_id, m.memory_type, m.scope,
               m.source_type, m.tags @> ARRAY[mnemo._reserved_tag()], m.quarantine_reason,
               CASE WHEN v_is_admin THEN m.content END,
               CASE WHEN v_is_admin THEN m.metadata END,
               m.version, m.created_at, m.expires_at, m.content_hash
          FROM mnemo.memory AS m
         WHERE m.org_id IN (v_caller.org_id, '*') AND m.origin_org_id = v_caller.org_id
           AND m.quarantined AND m.deleted_at IS NULL
           AND (m.agent_id = v_caller.agent_id OR v_is_admin AND p_agent_id IS NULL)
           AND (p_after IS NULL OR m.id < p_after)
         ORDER BY m.id DESC
         LIMIT p_limit
      ) AS q
     ORDER BY 1;
END
$fn$;
COMMENT ON FUNCTION mnemo.quarantined(bigint, uuid, text, text) IS
    'The records, plans included, that the rules against poisoning hold back, newest first: those '
    'of the acting agent; for administrators who name no agent all of the organisation. reason: '
    'the rules that it hit, with their weights. content and metadata are shown to administrators '
    'alone, NULL to others, so that no agent reads what was held back from it. p_limit: 1 to 1000 '
    'rows; p_after: the last id of the page before. Errors: 42501 no access; 22023 bad argument.';

-- part: 587_release.sql
-- Whether a record was poisoned is for a person to say, so none of this is for agents: an agent that
-- has been taken over, or the application that runs it, must not let its own record through.

CREATE FUNCTION mnemo._lock_quarantined(
    p_id uuid,
    p_note text,
    p_org_id text
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory;
BEGIN
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._id_problem(p_id),
        mnemo._texts_problem(ARRAY['p_note'], ARRAY[p_note], 10000)
    ]));
    SELECT m.* INTO v_record
      FROM mnemo.memory AS m
     WHERE m.org_id IN (p_org_id, '*') AND m.id = p_id AND m.origin_org_id = p_org_id
       AND m.quarantined AND m.deleted_at IS NULL
       FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM mnemo._raise('MN001', 'p_id: no such record in quarantine: ' || p_id,
            jsonb_build_object('parameter', 'p_id', 'ids', jsonb_build_array(p_id)),
            'mnemo.quarantined lists those of an organisation');
    END IF;
    RETURN v_record;
END
$fn$;
COMMENT ON FUNCTION mnemo._lock_quarantined(uuid, text, text) IS
    'Checks the arguments of mnemo.release and mnemo.purge, locks and returns the record. Raises '
    'MN001 unless it is one of the organisation that is held back.';

CREATE FUNCTION mnemo.release(
    p_id uuid,
    p_note text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_before mnemo.memory;
    v_after mnemo.memory;
BEGIN
    PERFORM mnemo._require_admin();
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    v_before := mnemo._lock_quarantined(p_id, p_note, v_caller.org_id);
    v_after := v_before;
    v_after.quarantined := false;
    v_after.quarantine_reason := NULL;
    UPDATE mnemo.memory AS m
       SET quarantined = false, quarantine_reason = NULL, updated_at = now()
     WHERE m.org_id = v_before.org_id AND m.id = v_before.id;
    PERFORM mnemo._write_event(v_after, 'memory_released', v_caller.org_id, v_caller.agent_id,
        mnemo._bound_changes(v_before, v_after), p_note);
    PERFORM mnemo._index_change(v_after);
    RETURN QUERY SELECT v_after.id, 'released';
END
$fn$;
COMMENT ON FUNCTION mnemo.release(uuid, text, text, text) IS
    'Lets a record, plan or memory, that a rule against poisoning held back into recall, with the '
    'event memory_released. p_note: why, up to 10,000 characters, kept beside the event and '
    'erasable; NULL for none. p_agent_id names who acts in the event, p_org_id the organisation '
    'that wrote the record. Returns id and status released. Level admin only. Errors: 42501 not an '
    'administrator; MN001 not in quarantine; 22023 NULL id, blank note; 54000 over a limit.';

CREATE FUNCTION mnemo.purge(
    p_id uuid,
    p_note text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_record mnemo.memory;
BEGIN
    PERFORM mnemo._require_admin();
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    v_record := mnemo._lock_quarantined(p_id, p_note, v_caller.org_id);
    PERFORM mnemo._forget_beside(v_record.org_id, ARRAY[v_record.id]);
    PERFORM mnemo._write_event(v_record, 'memory_delete', v_caller.org_id, v_caller.agent_id,
        '{"hard": true, "purged": true}', p_note);
    PERFORM mnemo._unindex_terms(v_record.org_id, ARRAY[v_record.id]);
    DELETE FROM mnemo.memory AS m WHERE m.org_id = v_record.org_id AND m.id = v_record.id;
    RETURN QUERY SELECT v_record.id, 'purged';
END
$fn$;
COMMENT ON FUNCTION mnemo.purge(uuid, text, text, text) IS
    'Deletes a record, plan or memory, that a rule against poisoning held back, for good: its row, '
    'terms, grants, notes and idempotency key go, its events and the hash of what it said stay, with the '
    'event memory_delete. What it said before it was changed is left. p_note: why, up to 10,000 '
    'characters, kept beside the event and erasable; NULL for none. p_agent_id names who acts in '
    'the event, p_org_id the organisation that wrote the record. Returns id and status purged. '
    'Level admin only. Errors: 42501 not an administrator; MN001 not in quarantine; 22023 NULL id, '
    'blank note; 54000 over a limit.';

-- part: 600_plan_keys.sql
-- Lookup keys: prefix filtering for exact set similarity.
--
-- Lemma. Order all tokens in one total order. If |A n B| >= o >= k, the first |A| - o + k tokens of A
-- and the first |B| - o + k of B share at least k tokens: at most o - k shared tokens come after the
-- k-th shared one. Jaccard >= t means o >= ceil(t/(1+t) * (|A| + |B|)) and, whatever B is,
-- o >= ceil(t|A|), with |B| in [ceil(t|A|), floor(|A|/t)].
-- Bayardo, Ma, Srikant: AllPairs, WWW 2007. Xiao et al.: PPJoin, WWW 2008. Wang, Li, Feng:
-- AdaptJoin, SIGMOD 2012 (k > 1).
--
-- A plan's keys are made for the threshold floor 3/5, in whole numbers. Its own size alone decides
-- how: one or two tokens give single tokens (k = 1), 3 to 32 give pairs (k = 2, where the overlap
-- needed at the floor is at least 2 for every admissible size of the other side), 33 to 127 give
-- parts, see _part_keys, longer ones give no token keys. Every plan also has the key of its audience
-- and size bucket, by which the longest signatures and thresholds below the floor are found: slower,
-- never wrong. No bucket holds sizes of two modes. Keys are combined by XOR of 64-bit hashes; a collision adds a candidate and loses
-- none, for candidates are scored by their tokens.

CREATE FUNCTION mnemo._signature_bucket(
    p_size integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Above 32: sixteen buckets from each power of two to the next.
RETURN CASE WHEN p_size <= 32
    THEN width_bucket(p_size, ARRAY[1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24])
    ELSE width_bucket(p_size, ARRAY[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]) * 16 + 32
        + ((p_size >> (width_bucket(
            p_size, ARRAY[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]) + 1)) & 15)
END;
COMMENT ON FUNCTION mnemo._signature_bucket(integer) IS
    'The size bucket of a signature of p_size tokens: 1 to 11 up to 32 tokens, from 32 on above.';

CREATE FUNCTION mnemo._key_floor() RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 0.6;
COMMENT ON FUNCTION mnemo._key_floor() IS
    'The least threshold that the token keys of plans cover; below it the size buckets serve.';

CREATE FUNCTION mnemo._ordered_hashes(
    p_signature text[]
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    -- Long tokens are rare, so prefixes of the longest first meet few others; needs no statistics.
    RETURN ARRAY(
        SELECT x.hash
          FROM (
            SELECT length(t.token) AS length, mnemo._hash64(t.token) AS hash
              FROM unnest(p_signature) AS t(token)
          ) AS x
         ORDER BY x.length DESC, x.hash
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._ordered_hashes(text[]) IS
    'The 64-bit hashes of the tokens in the total order of prefixes: longest first, then by hash.';

CREATE FUNCTION mnemo._prefix_keys(
    p_hashes bigint[],
    p_prefix integer,
    p_pairs boolean
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_keys bigint[] := '{}';
BEGIN
    IF NOT p_pairs THEN
        RETURN p_hashes[1:p_prefix];
    END IF;
    FOR v_first IN 1 .. p_prefix - 1 LOOP
        FOR v_second IN v_first + 1 .. p_prefix LOOP
            v_keys := v_keys || (p_hashes[v_first] # p_hashes[v_second]);
        END LOOP;
    END LOOP;
    RETURN v_keys;
END
$fn$;
COMMENT ON FUNCTION mnemo._prefix_keys(bigint[], integer, boolean) IS
    'The first p_prefix hashes, or the XOR of every two of them.';

CREATE FUNCTION mnemo._bucket_hash(
    p_bucket integer
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('bucket ' || p_bucket::text);
COMMENT ON FUNCTION mnemo._bucket_hash(integer) IS 'The part of a key that stands for a size bucket.';

CREATE FUNCTION mnemo._plan_keys(
    p_hashes bigint[],
    p_audience bigint
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_size integer := cardinality(p_hashes);
    v_mask bigint := p_audience # mnemo._bucket_hash(mnemo._signature_bucket(v_size));
    v_keys bigint[] := ARRAY[v_mask];
    v_key bigint;
BEGIN
    IF v_size <= 32 THEN
        FOREACH v_key IN ARRAY mnemo._prefix_keys(
            p_hashes,
            -- |B| - ceil(3/5 |B|) + k
            v_size - (3 * v_size + 4) / 5 + CASE WHEN v_size >= 3 THEN 2 ELSE 1 END,
            v_size >= 3
        ) LOOP
            v_keys := v_keys || (v_key # v_mask);
        END LOOP;
    ELSIF v_size <= 127 THEN
        v_mask := p_audience # mnemo._part_hash(mnemo._part_bucket(v_size));
        FOREACH v_key IN ARRAY mnemo._part_keys(
            p_hashes, mnemo._part_most(mnemo._part_bucket(v_size)) / 2 + 1, NULL
        ) LOOP
            v_keys := v_keys || (v_key # v_mask);
        END LOOP;
    END IF;
    RETURN v_keys;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_keys(bigint[], bigint) IS
    'The keys of a plan with these ordered token hashes for an audience.';

CREATE FUNCTION mnemo._bucket_start(
    p_bucket integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_bucket < 32
    THEN (ARRAY[1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24])[p_bucket]
    ELSE (16 + p_bucket % 16) << (p_bucket / 16 - 1) END;
COMMENT ON FUNCTION mnemo._bucket_start(integer) IS
    'The least size in a bucket; NULL for 12 to 31, which are no buckets.';

CREATE FUNCTION mnemo._probe_keys(
    p_hashes bigint[],
    p_threshold double precision
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_size integer := cardinality(p_hashes);
    -- A little lower, so that rounding can only admit more: candidates are scored exactly.
    v_low double precision := p_threshold - 1e-9;
    v_least integer := ceil(v_low * v_size);
    v_most integer := least(floor(v_size / v_low), 20000);
    v_tokens boolean := p_threshold >= mnemo._key_floor();
    v_start integer;
    v_prefix integer;
    v_mask bigint;
    v_key bigint;
    v_keys bigint[] := '{}';
BEGIN
    FOR v_bucket IN
        mnemo._signature_bucket(v_least) .. mnemo._signature_bucket(v_most)
    LOOP
        v_start := greatest(mnemo._bucket_start(v_bucket), v_least);
        CONTINUE WHEN mnemo._bucket_start(v_bucket) IS NULL
            OR mnemo._bucket_start(v_bucket) BETWEEN 32 AND 127;
        v_mask := mnemo._bucket_hash(v_bucket);
        IF v_bucket > 11 OR NOT v_tokens THEN
            v_keys := v_keys || v_mask;
            CONTINUE;
        END IF;
        v_prefix := v_size - ceil(v_low / (1 + v_low) * (v_size + v_start))::integer;
        FOREACH v_key IN ARRAY mnemo._prefix_keys(
            p_hashes,
            least(v_size, v_prefix + CASE WHEN v_bucket >= 3 THEN 2 ELSE 1 END),
            v_bucket >= 3
        ) LOOP
            v_keys := v_keys || (v_key # v_mask);
        END LOOP;
    END LOOP;
    RETURN v_keys || mnemo._probe_parts(p_hashes, v_low, v_least, v_most);
END
$fn$;
COMMENT ON FUNCTION mnemo._probe_keys(bigint[], double precision) IS
    'The keys, audience and guard aside, of which every plan with Jaccard similarity of at least '
    'p_threshold to the signature with these ordered token hashes has one.';

CREATE FUNCTION mnemo._sketch(
    p_hashes bigint[],
    p_bits integer
)
RETURNS bit varying
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_sketch bit varying := repeat('0', p_bits)::bit varying;
    v_hash bigint;
BEGIN
    FOREACH v_hash IN ARRAY p_hashes LOOP
        v_sketch := set_bit(v_sketch, (v_hash & (p_bits - 1))::integer, 1);
    END LOOP;
    RETURN v_sketch;
END
$fn$;
COMMENT ON FUNCTION mnemo._sketch(bigint[], integer) IS
    'A bitmap of p_bits (a power of two) with the bit of each token set. A token of A whose bit B '
    'lacks is not in B, so |A n B| >= o allows at most |A| - o such bits.';

CREATE FUNCTION mnemo._sketch_bits(
    p_size integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_size <= 32 THEN 128 ELSE 1024 END;
COMMENT ON FUNCTION mnemo._sketch_bits(integer) IS 'The width of a sketch for a signature of p_size.';

CREATE FUNCTION mnemo._digest(
    p_signature text[]
)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN mnemo._hash64(array_to_string(p_signature, ' '));
END
$fn$;
COMMENT ON FUNCTION mnemo._digest(text[]) IS 'The hash of a signature.';

-- part: 602_part_keys.sql
-- Keys of signatures of 33 to 127 tokens: parts.
--
-- Lemma. Deal all tokens there could be into m parts, by hash. If A and B differ in at most h tokens
-- (|A u B| - |A n B| <= h < m), at least m - h of the parts hold the same tokens of A and of B: a
-- token that one of them lacks spoils one part. So of any h + 1 parts one at least is the same, and
-- the query may choose those that tell most. Jaccard >= t allows
-- h = floor((1 - t) / (1 + t) * (|A| + |B|)).
-- Arasu, Ganti, Kaushik: PartEnum, VLDB 2006 (its first level).
--
-- Prefixes of that length would give hundreds of pairs, and single tokens that are everywhere. The
-- number of parts follows from the size bucket of the plan: about half its size, two tokens a part.

CREATE FUNCTION mnemo._part_bucket(
    p_size integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN width_bucket(p_size, ARRAY[33, 39, 46, 54, 64, 77, 91, 108]);
COMMENT ON FUNCTION mnemo._part_bucket(integer) IS
    'The size bucket of the parts of a signature of 33 to 127 tokens: 1 to 8.';

CREATE FUNCTION mnemo._part_most(
    p_bucket integer
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (ARRAY[38, 45, 53, 63, 76, 90, 107, 127])[p_bucket];
COMMENT ON FUNCTION mnemo._part_most(integer) IS
    'The greatest size in a bucket of parts; there are half as many parts, and one more.';

CREATE FUNCTION mnemo._part_hash(
    p_bucket integer
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._hash64('parts ' || p_bucket::text);
COMMENT ON FUNCTION mnemo._part_hash(integer) IS
    'The portion of a key that stands for a bucket of parts.';

CREATE FUNCTION mnemo._part_keys(
    p_hashes bigint[],
    p_parts integer,
    p_needed integer
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
BEGIN
    -- A part with several tokens is rare; of single tokens the longest are. The first come first.
    RETURN ARRAY(
        SELECT coalesce(t.tokens, 0) # n.part
          FROM generate_series(0::bigint, p_parts - 1) AS n(part)
          LEFT JOIN (
            SELECT (h.hash & 9223372036854775807) % p_parts AS part,
                   bit_xor(h.hash) AS tokens,
                   least(count(*), 3) * cardinality(p_hashes) - min(h.place) AS worth
              FROM unnest(p_hashes) WITH ORDINALITY AS h(hash, place)
             GROUP BY 1
          ) AS t ON t.part = n.part
         ORDER BY t.worth DESC NULLS LAST, n.part
         LIMIT p_needed
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._part_keys(bigint[], integer, integer) IS
    'The XOR of the token hashes in each of p_parts parts and the number of the part: those of the '
    'p_needed parts that tell most, NULL for all.';

CREATE FUNCTION mnemo._probe_parts(
    p_hashes bigint[],
    p_low double precision,
    p_least integer,
    p_most integer
)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_from integer;
    v_to integer;
    v_parts integer;
    v_needed integer;
    v_mask bigint;
    v_key bigint;
    v_keys bigint[] := '{}';
BEGIN
    IF p_most < 33 OR p_least > 127 THEN
        RETURN v_keys;
    END IF;
    FOR v_bucket IN
        mnemo._part_bucket(greatest(p_least, 33)) .. mnemo._part_bucket(least(p_most, 127))
    LOOP
        v_to := least(mnemo._part_most(v_bucket), p_most);
        v_parts := mnemo._part_most(v_bucket) / 2 + 1;
        v_needed := floor((1 - p_low) / (1 + p_low) * (cardinality(p_hashes) + v_to)) + 1;
        IF v_needed <= v_parts THEN
            v_mask := mnemo._part_hash(v_bucket);
            FOREACH v_key IN ARRAY mnemo._part_keys(p_hashes, v_parts, v_needed) LOOP
                v_keys := v_keys || (v_key # v_mask);
            END LOOP;
        ELSE
            -- The threshold allows more differences than there are parts.
            v_from := greatest(coalesce(mnemo._part_most(v_bucket - 1) + 1, 33), p_least);
            FOR v_size_bucket IN
                mnemo._signature_bucket(v_from) .. mnemo._signature_bucket(v_to)
            LOOP
                v_keys := v_keys || mnemo._bucket_hash(v_size_bucket);
            END LOOP;
        END IF;
    END LOOP;
    RETURN v_keys;
END
$fn$;
COMMENT ON FUNCTION mnemo._probe_parts(bigint[], double precision, integer, integer) IS
    'The share of _probe_keys for plans of 33 to 127 tokens: p_low is the threshold, a little lower, '
    'p_least and p_most the sizes that it admits.';

-- part: 606_stale.sql
-- Staleness: a plan is stale when a chunk that it cites changed since its chunks were read.
--
-- Nothing is written to the plans when a chunk changes. Recall looks at the chunks of the plans that
-- would win, by their ids in chunk_state, and at the memories among them, whose versions stand in
-- the payload since the plan was remembered.

CREATE FUNCTION mnemo._chunk_key(
    p_id text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- An entry of an index has room for 2,700 bytes.
RETURN CASE WHEN octet_length(p_id) <= 1000 THEN p_id
    ELSE 'sha256:' || encode(sha256(mnemo._utf8(p_id)), 'hex') END;
COMMENT ON FUNCTION mnemo._chunk_key(text) IS
    'A chunk id as chunk_state holds it: itself, over 1,000 bytes its SHA-256 in hexadecimal.';

CREATE FUNCTION mnemo._long_chunk_keys(
    p_ids text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(SELECT mnemo._chunk_key(i.id) FROM unnest(p_ids) AS i(id)) || ''::text;
END
$fn$;
COMMENT ON FUNCTION mnemo._long_chunk_keys(text[]) IS 'As _chunk_keys, for ids of any length.';

CREATE FUNCTION mnemo._chunk_keys(
    p_ids text[]
)
RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(array_to_string(p_ids, '')) <= 1000 THEN p_ids || ''::text
    ELSE mnemo._long_chunk_keys(p_ids) END;
COMMENT ON FUNCTION mnemo._chunk_keys(text[]) IS
    'The ids in chunk_state by which these chunks can have changed: their own, and that of the '
    'whole source.';

CREATE FUNCTION mnemo._memory_state(
    p_org_id text,
    p_id uuid,
    p_now timestamptz
)
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    RETURN coalesce((
        SELECT m.version
          FROM mnemo.memory AS m
         WHERE m.org_id IN (p_org_id, '*') AND m.id = p_id AND m.status = 'active'
           AND mnemo._is_live(m, p_now)
    ), 0);
END
$fn$;
COMMENT ON FUNCTION mnemo._memory_state(text, uuid, timestamptz) IS
    'The version of a memory of the organisation, or global; 0 while it is not live or not active, '
    'and once it is gone.';

CREATE FUNCTION mnemo._memory_states(
    p_org_id text,
    p_ids text[],
    p_versions bigint[],
    p_now timestamptz
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT CASE WHEN i.version IS NOT NULL
               THEN mnemo._memory_state(p_org_id, i.id::uuid, p_now) END
          FROM unnest(p_ids, p_versions) WITH ORDINALITY AS i(id, version, place)
         ORDER BY i.place
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._memory_states(text, text[], bigint[], timestamptz) IS
    'The present states of the memories among these chunk ids, NULL for the others; p_versions: '
    'their states at another time.';

CREATE FUNCTION mnemo._cited_memories(
    p_record mnemo.memory,
    p_ids text[],
    p_read_at timestamptz
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN (
        SELECT CASE WHEN count(m.version) > 0 THEN array_agg(m.version ORDER BY i.place) END
          FROM unnest(p_ids) WITH ORDINALITY AS i(id, place)
          LEFT JOIN LATERAL (
            SELECT CASE WHEN k.updated_at >= p_read_at THEN -1
                   ELSE mnemo._memory_state(p_record.origin_org_id, k.id, now()) END AS version
              FROM mnemo.memory AS k
             WHERE k.org_id IN (p_record.origin_org_id, '*')
               AND k.id = CASE WHEN length(i.id) = 36 AND i.id COLLATE "C"
                    ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' THEN i.id::uuid END
               -- What the owner of the plan cannot see is nothing to it: no recall may tell of it.
               AND (k.scope IN ('public', 'global')
                    OR k.origin_org_id = p_record.origin_org_id AND k.agent_id = p_record.agent_id
                    OR k.scope = 'shared' AND (
                        EXISTS (
                            SELECT FROM mnemo.acl AS a
                             WHERE a.org_id = k.org_id AND a.memory_id = k.id
                               AND a.agent_id = p_record.agent_id
                               AND (a.expires_at IS NULL OR a.expires_at > now()))
                        OR EXISTS (
                            SELECT FROM mnemo._ways(
                                k, p_record.origin_org_id, p_record.agent_id, now()))))
             LIMIT 1
          ) AS m ON true
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._cited_memories(mnemo.memory, text[], timestamptz) IS
    'For each chunk id of a plan that is about to be written: the state of the memory with that id '
    'where there is one that the owner of the plan may see, deleted or not, -1 if it changed since '
    'p_read_at; NULL for other chunks. NULL as a whole where none is a memory.';

CREATE FUNCTION mnemo._cited_versions(
    p_record mnemo.memory,
    p_ids text[],
    p_read_at timestamptz
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_versions bigint[];
BEGIN
    -- Only what has the length of a UUID can be one.
    IF 36 = ANY (ARRAY(SELECT length(i.id) FROM unnest(p_ids) AS i(id))) THEN
        v_versions := mnemo._cited_memories(p_record, p_ids, p_read_at);
    END IF;
    RETURN CASE WHEN v_versions IS NULL THEN '{}'
        ELSE jsonb_build_object('memory_versions', v_versions) END;
END
$fn$;
COMMENT ON FUNCTION mnemo._cited_versions(mnemo.memory, text[], timestamptz) IS
    'What the payload of a plan says of the memories among its chunks: memory_versions as '
    '_cited_memories gives them, nothing where there are none. p_read_at: when they were read.';

CREATE FUNCTION mnemo._source_problem(
    p_parameter text,
    p_source text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_source <> '' AND mnemo._is_blank(p_source) THEN
        RETURN mnemo._argument(p_parameter, p_parameter || ' must not be blank',
            'leave it out for the source that has no name');
    END IF;
    RETURN mnemo._length_problem(p_parameter, p_source, 256);
END
$fn$;
COMMENT ON FUNCTION mnemo._source_problem(text, text) IS
    'The problem of the name of a source: blank but not empty, over 256 characters; NULL for none.';

CREATE FUNCTION mnemo._cited(
    p_org_id text,
    p_plan_id uuid
)
RETURNS TABLE (
    org_id text,
    source text,
    chunk_ids text[],
    since timestamptz,
    then_versions bigint[]
)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT m.origin_org_id, coalesce(p.chunk_source, ''), p.chunk_ids,
           greatest(k.checked_at, coalesce(
               timestamptz '1970-01-01 00:00:00+00' + p.read_at * interval '1 microsecond',
               m.created_at)),
           CASE WHEN k.checked_at IS NULL THEN p.memory_versions ELSE k.memory_versions END
      FROM (
        SELECT r.*
          FROM mnemo.memory AS r
         WHERE r.org_id = p_org_id AND r.id = p_plan_id
        OFFSET 0
      ) AS m
      CROSS JOIN LATERAL jsonb_to_record(m.metadata -> 'experience_plan') AS p(
        chunk_ids text[], chunk_source text, read_at bigint, memory_versions bigint[])
      LEFT JOIN LATERAL (
        SELECT c.checked_at, c.memory_versions
          FROM mnemo.plan_check AS c
         WHERE c.org_id = p_org_id AND c.plan_id = p_plan_id
        OFFSET 0
      ) AS k ON true
     WHERE p.chunk_ids <> '{}';
END;
COMMENT ON FUNCTION mnemo._cited(text, uuid) IS
    'What a plan cites: the organisation and the source of the chunks, their ids, since when a '
    'change of them counts (when they were read or the plan was written, or found to be right '
    'later), and the states of the memories among them at that time. No row for a plan without '
    'chunks.';

CREATE FUNCTION mnemo._is_stale(
    p_org_id text,
    p_plan_id uuid,
    p_now timestamptz
)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1000
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN EXISTS (
        SELECT
          FROM mnemo._cited(p_org_id, p_plan_id) AS p
         WHERE EXISTS (
                SELECT
                  FROM mnemo.chunk_state AS s
                 WHERE s.org_id = p.org_id AND s.source = p.source
                   AND s.chunk_id = ANY (mnemo._chunk_keys(p.chunk_ids))
                   AND s.changed_at >= p.since)
            OR p.then_versions IS NOT NULL
           AND mnemo._memory_states(p.org_id, p.chunk_ids, p.then_versions, p_now)
               <> p.then_versions
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._is_stale(text, uuid, timestamptz) IS
    'Whether a chunk that the plan cites changed since its chunks were read: one look at the index '
    'of chunk_state for all its ids, and one for each memory among them.';

CREATE FUNCTION mnemo._changed_chunks(
    p_org_id text,
    p_plan_id uuid,
    p_now timestamptz,
    p_limit bigint
)
RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT i.id
          FROM mnemo._cited(p_org_id, p_plan_id) AS p
          CROSS JOIN LATERAL unnest(p.chunk_ids, p.then_versions)
               WITH ORDINALITY AS i(id, version, place)
         WHERE EXISTS (
                SELECT
                  FROM mnemo.chunk_state AS s
                 WHERE s.org_id = p.org_id AND s.source = p.source
                   AND s.chunk_id IN (mnemo._chunk_key(i.id), '')
                   AND s.changed_at >= p.since)
            OR i.version <> mnemo._memory_state(p.org_id,
                CASE WHEN i.version IS NOT NULL THEN i.id::uuid END, p_now)
         ORDER BY i.place
         LIMIT p_limit
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._changed_chunks(text, uuid, timestamptz, bigint) IS
    'The first p_limit chunk ids of a plan by which it is stale, in the order of the plan.';

-- part: 610_plan_index.sql
CREATE FUNCTION mnemo._audiences(
    p_org_id text,
    p_agent_id text,
    p_context text
)
RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    mnemo._audience('owner', p_org_id, p_agent_id, p_context),
    mnemo._audience('public', p_org_id, NULL, p_context),
    mnemo._audience('grantee', p_org_id, p_agent_id, p_context),
    mnemo._audience('global', NULL, NULL, p_context)
];
COMMENT ON FUNCTION mnemo._audiences(text, text, text) IS
    'The audiences that an agent belongs to: three within its organisation, and global.';

CREATE FUNCTION mnemo._plan_audience(
    p_record mnemo.memory,
    p_context text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE (p_record).scope
    WHEN 'global' THEN mnemo._audience('global', NULL, NULL, p_context)
    WHEN 'public' THEN mnemo._audience('public', (p_record).org_id, NULL, p_context)
    ELSE mnemo._audience('owner', (p_record).org_id, (p_record).agent_id, p_context)
END;
COMMENT ON FUNCTION mnemo._plan_audience(mnemo.memory, text) IS
    'The audience that the scope of a plan gives it; grants add others.';

CREATE FUNCTION mnemo._payload(
    p_record mnemo.memory
)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_record).metadata -> 'experience_plan';
COMMENT ON FUNCTION mnemo._payload(mnemo.memory) IS 'The payload of a plan; NULL for a memory.';

CREATE FUNCTION mnemo._text_list(
    p_value jsonb
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(SELECT jsonb_array_elements_text(p_value));
END
$fn$;
COMMENT ON FUNCTION mnemo._text_list(jsonb) IS 'A JSON array of strings as an array of text.';

CREATE FUNCTION mnemo._index_new_plans(
    p_records mnemo.memory[]
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    INSERT INTO mnemo.plan_signature (
        org_id, plan_id, audience, context, signature, size, digest, sketch, keys, guard_meaning,
        guard_values, guard_names, outcome_score, created_at, expires_at, signature_version,
        guard_version
    )
    SELECT p.org_id, p.id, p.audience, p.context, p.signature, cardinality(p.signature),
           mnemo._digest(p.signature),
           mnemo._sketch(h.hashes, mnemo._sketch_bits(cardinality(p.signature))),
           mnemo._plan_keys(h.hashes, p.audience)
           || CASE WHEN g.meaning # g.vals <> 0
              THEN mnemo._plan_keys(h.hashes, p.audience # g.meaning # g.vals) ELSE '{}' END,
           g.meaning, g.vals, g.names, p.outcome_score, p.created_at, p.expires_at,
           mnemo._signature_version(), mnemo._guard_version()
      FROM (
        SELECT r.org_id, r.id, r.content, r.created_at, r.expires_at, r.importance AS outcome_score,
               mnemo._payload(r) ->> 'context' AS context,
               mnemo._plan_audience(r, mnemo._payload(r) ->> 'context') AS audience,
               mnemo._text_list(mnemo._payload(r) -> 'signature_tokens') AS signature
          FROM unnest(p_records) AS r
         WHERE mnemo._is_live(r, now())
        OFFSET 0
      ) AS p
      CROSS JOIN LATERAL (SELECT mnemo._ordered_hashes(p.signature) AS hashes OFFSET 0) AS h
      CROSS JOIN LATERAL mnemo._guard(p.content) AS g;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_new_plans(mnemo.memory[]) IS
    'Derives the plan_signature rows of plans that have just been written and have no grants.';

CREATE FUNCTION mnemo._index_plan(
    p_org_id text,
    p_plan_id uuid
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_own mnemo.plan_signature;
    v_origin_scope text;
BEGIN
    SELECT s.* INTO v_own
      FROM mnemo.plan_signature AS s
     WHERE s.org_id = p_org_id AND s.plan_id = p_plan_id AND s.grantee_agent_id IS NULL;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT m.scope INTO v_origin_scope
      FROM mnemo.memory AS m WHERE m.org_id = p_org_id AND m.id = p_plan_id;
    DELETE FROM mnemo.plan_signature AS s
     WHERE s.org_id = p_org_id AND s.plan_id = p_plan_id
       AND s.grantee_agent_id IS NOT NULL
       AND NOT EXISTS (
            SELECT FROM mnemo.acl AS a
             WHERE a.org_id = p_org_id AND a.memory_id = p_plan_id
               AND a.agent_id = s.grantee_agent_id
               AND least(a.expires_at, v_own.expires_at) IS NOT DISTINCT FROM s.expires_at
        );
    -- Whoever sees a public plan anyway needs no row of its own.
    INSERT INTO mnemo.plan_signature AS s
    SELECT v_own.org_id, v_own.plan_id, g.audience, v_own.context, v_own.signature, v_own.size,
           v_own.digest, v_own.sketch,
           ARRAY(SELECT k.key # v_own.audience # g.audience FROM unnest(v_own.keys) AS k(key)),
           v_own.guard_meaning, v_own.guard_values, v_own.guard_names, v_own.outcome_score,
           v_own.created_at, g.expires_at, g.agent_id, v_own.signature_version,
           v_own.guard_version
      FROM (
        SELECT a.agent_id, least(a.expires_at, v_own.expires_at) AS expires_at,
               mnemo._audience('grantee', a.org_id, a.agent_id, v_own.context) AS audience
          FROM mnemo.acl AS a
         WHERE a.org_id = p_org_id AND a.memory_id = p_plan_id
      ) AS g
     WHERE v_origin_scope = 'shared'
    ON CONFLICT ON CONSTRAINT plan_signature_pkey DO NOTHING;
END
$fn$;
COMMENT ON FUNCTION mnemo._index_plan(text, uuid) IS
    'Brings the plan_signature rows of a plan in step with its grants; does nothing for a record '
    'that is no live plan.';

CREATE FUNCTION mnemo._reindex_plan(
    p_record mnemo.memory
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    DELETE FROM mnemo.plan_signature AS s
     WHERE s.org_id = p_record.org_id AND s.plan_id = p_record.id;
    PERFORM mnemo._index_new_plans(ARRAY[p_record]);
    PERFORM mnemo._index_plan(p_record.org_id, p_record.id);
END
$fn$;
COMMENT ON FUNCTION mnemo._reindex_plan(mnemo.memory) IS
    'Derives the plan_signature rows of a plan anew, those of its grants too; removes them when it '
    'is not live.';

-- part: 615_rebuild_signatures.sql
CREATE FUNCTION mnemo._faulty_signatures()
RETURNS TABLE (org_id text, plan_id uuid)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT m.org_id, m.id
      FROM mnemo.memory AS m
      LEFT JOIN mnemo.plan_signature AS s
        ON s.org_id = m.org_id AND s.plan_id = m.id AND s.grantee_agent_id IS NULL
     WHERE m.deleted_at IS NULL AND m.tags @> ARRAY['__experience_plan__']
       AND mnemo._is_live(m, now())
       AND (s.plan_id IS NULL
            OR s.signature_version <> mnemo._signature_version()
            OR s.guard_version <> mnemo._guard_version()
            OR s.audience <> mnemo._plan_audience(m, s.context)
            OR s.outcome_score <> m.importance
            OR s.created_at <> m.created_at
            OR s.expires_at IS DISTINCT FROM m.expires_at
            OR s.context IS DISTINCT FROM (mnemo._payload(m) ->> 'context')
            OR to_jsonb(s.signature) <> mnemo._payload(m) -> 'signature_tokens')
    UNION ALL
    -- The end of a plan's time is no fault: recall looks at the clock, and sweep clears up.
    SELECT s.org_id, s.plan_id
      FROM mnemo.plan_signature AS s
      JOIN mnemo.memory AS m ON m.org_id = s.org_id AND m.id = s.plan_id
     WHERE s.grantee_agent_id IS NULL AND NOT mnemo._is_live(m, '-infinity');
END;
COMMENT ON FUNCTION mnemo._faulty_signatures() IS
    'The plans whose own plan_signature row is missing, differs from the payload or was made by '
    'other rules, and the rows of plans that do not live. Reads every plan.';

CREATE FUNCTION mnemo.rebuild_signatures(
    p_limit bigint DEFAULT 1000
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plan record;
    v_record mnemo.memory;
    v_found bigint := 0;
BEGIN
    PERFORM mnemo._require_admin();
    IF (p_limit BETWEEN 1 AND 100000) IS NOT TRUE THEN
        PERFORM mnemo._raise_argument('p_limit',
            format('p_limit must be from 1 to 100000; got %s', coalesce(p_limit::text, 'NULL')),
            'it is the number of plans to rebuild in this call');
    END IF;
    FOR v_plan IN
        SELECT f.org_id, f.plan_id, count(*) OVER () AS found
          FROM mnemo._faulty_signatures() AS f
         ORDER BY f.org_id, f.plan_id
         LIMIT p_limit
    LOOP
        v_found := v_plan.found;
        SELECT m.* INTO v_record
          FROM mnemo.memory AS m WHERE m.org_id = v_plan.org_id AND m.id = v_plan.plan_id
           FOR UPDATE;
        IF FOUND THEN
            PERFORM mnemo._reindex_plan(v_record);
        END IF;
    END LOOP;
    RETURN greatest(v_found - p_limit, 0);
END
$fn$;
COMMENT ON FUNCTION mnemo.rebuild_signatures(bigint) IS
    'Derives anew what recall_plan matches on, from the payload of each plan, where it is missing, '
    'differs or was made by other rules: at most p_limit plans (1 to 100,000) in a call, in the '
    'order of organisation and id, each locked until the transaction ends. Returns how many are '
    'left: call it until that is 0. Reads every plan. Level admin only. Errors: 42501 not an '
    'administrator; 22023 bad argument.';

-- part: 620_candidates.sql
CREATE FUNCTION mnemo._may_reach(
    p_sketch bit varying,
    p_size integer,
    p_query_sketch bit varying,
    p_query_long_sketch bit varying,
    p_query_size integer,
    p_share double precision
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- The widths of the two sketches follow from the plan's size, see _sketch_bits.
RETURN CASE WHEN p_size <= 32 THEN
    bit_count(p_sketch & ~p_query_sketch) <= p_size - p_share * (p_size + p_query_size)
    AND bit_count(p_query_sketch & ~p_sketch)
        <= p_query_size - p_share * (p_size + p_query_size)
ELSE
    bit_count(p_sketch & ~p_query_long_sketch) <= p_size - p_share * (p_size + p_query_size)
    AND bit_count(p_query_long_sketch & ~p_sketch)
        <= p_query_size - p_share * (p_size + p_query_size)
END;
COMMENT ON FUNCTION mnemo._may_reach(
    bit varying, integer, bit varying, bit varying, integer, double precision
) IS
    'Whether the sketches allow the overlap of p_share of both sizes; true for every pair that '
    'reaches it.';

CREATE FUNCTION mnemo._agrees(
    p_plan mnemo.plan_signature,
    p_guard text,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_signature text[]
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_guard
    WHEN 'strict' THEN
        (p_plan).guard_meaning = p_meaning AND (p_plan).guard_values = p_values
        AND (p_plan).guard_names <@ p_signature AND p_names <@ (p_plan).signature
    WHEN 'meaning' THEN (p_plan).guard_meaning = p_meaning
    ELSE true
END;
COMMENT ON FUNCTION mnemo._agrees(mnemo.plan_signature, text, bigint, bigint, text[], text[]) IS
    'Whether a plan agrees with a query on the guard: strict compares meaning and values, and each '
    'name of either must be among the tokens of the other; meaning compares the first; off nothing.';

CREATE FUNCTION mnemo._shared_tokens_long(
    p_signature text[],
    p_other text[]
)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN (
        SELECT count(*)
          FROM unnest(p_signature) AS a(token)
          JOIN unnest(p_other) AS b(token) ON b.token COLLATE "C" = a.token COLLATE "C"
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._shared_tokens_long(text[], text[]) IS
    'As _shared_tokens, for any length.';

CREATE FUNCTION mnemo._shared_tokens(
    p_signature text[],
    p_other text[]
)
RETURNS integer
LANGUAGE sql STABLE PARALLEL SAFE
-- A text search vector takes words of less than 2,048 bytes. Nothing else in PostgreSQL subtracts
-- one list of words from another without a row a word.
RETURN CASE WHEN octet_length(array_to_string(p_signature, ' ')) < 2000
    THEN cardinality(p_signature) - length(ts_delete(array_to_tsvector(p_signature), p_other))
    ELSE mnemo._shared_tokens_long(p_signature, p_other) END;
COMMENT ON FUNCTION mnemo._shared_tokens(text[], text[]) IS
    'How many tokens two signatures have in common.';

CREATE FUNCTION mnemo._counts(
    p_org_id text,
    p_id uuid,
    p_now timestamptz,
    p_delegated boolean,
    p_audience bigint,
    p_agent_id text,
    p_context text
)
RETURNS TABLE (id uuid)
LANGUAGE sql STABLE PARALLEL SAFE
-- The fence keeps this a look-up by key, whatever the planner thinks of an organisation's size.
BEGIN ATOMIC
    SELECT m.id
      FROM mnemo.memory AS m
     WHERE m.org_id = p_org_id AND m.id = p_id AND mnemo._is_live(m, p_now)
       AND (NOT p_delegated OR EXISTS (
            SELECT FROM mnemo._delegated(
                m, p_audience, p_org_id, p_agent_id, p_context, p_now)))
    OFFSET 0;
END;
COMMENT ON FUNCTION mnemo._counts(text, uuid, timestamptz, boolean, bigint, text, text) IS
    'One row if the plan exists, is live and, where its audience is that of an agent that delegated '
    '(p_delegated), is one that the agent sees by it; else none.';

CREATE FUNCTION mnemo._identical_guarded(
    p_org_id text,
    p_audience bigint,
    p_signature text[],
    p_guarded_digest bigint,
    p_context text,
    p_now timestamptz,
    p_limit bigint,
    p_delegated boolean,
    p_agent_id text,
    p_fresh boolean
)
RETURNS SETOF mnemo.plan_signature
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.*
      FROM (
        SELECT k.*
          FROM mnemo.plan_signature AS k
         WHERE k.audience # k.digest # k.guard_meaning # k.guard_values
               = p_audience # p_guarded_digest
         ORDER BY k.outcome_score DESC, k.created_at DESC, k.plan_id DESC
        OFFSET 0
      ) AS s
      CROSS JOIN LATERAL mnemo._counts(
            p_org_id, s.plan_id, p_now, p_delegated, p_audience, p_agent_id, p_context) AS c
     WHERE s.org_id = p_org_id AND s.audience = p_audience
       AND s.signature = p_signature AND s.context IS NOT DISTINCT FROM p_context
       AND (s.expires_at IS NULL OR s.expires_at > p_now)
       -- By the id of _counts: only what counts is worth the look.
       AND (NOT p_fresh OR NOT mnemo._is_stale(p_org_id, c.id, p_now))
     ORDER BY s.outcome_score DESC, s.created_at DESC, s.plan_id DESC
     LIMIT p_limit;
END;
COMMENT ON FUNCTION mnemo._identical_guarded(
    text, bigint, text[], bigint, text, timestamptz, bigint, boolean, text, boolean
) IS
    'The best live plans of an audience with this signature and the guard that is in the digest: an '
    'index look-up however many there are. p_delegated: only those that the agent sees by a '
    'delegation; p_fresh: no stale ones.';

CREATE FUNCTION mnemo._identical(
    p_org_id text,
    p_audience bigint,
    p_signature text[],
    p_digest bigint,
    p_meaning bigint,
    p_context text,
    p_now timestamptz,
    p_limit bigint,
    p_delegated boolean,
    p_agent_id text,
    p_fresh boolean
)
RETURNS SETOF mnemo.plan_signature
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.*
      FROM (
        SELECT k.*
          FROM mnemo.plan_signature AS k
         WHERE k.audience # k.digest = p_audience # p_digest
         ORDER BY k.outcome_score DESC, k.created_at DESC, k.plan_id DESC
        OFFSET 0
      ) AS s
      CROSS JOIN LATERAL mnemo._counts(
            p_org_id, s.plan_id, p_now, p_delegated, p_audience, p_agent_id, p_context) AS c
     WHERE s.org_id = p_org_id AND s.audience = p_audience
       AND (p_meaning IS NULL OR s.guard_meaning = p_meaning)
       AND s.signature = p_signature AND s.context IS NOT DISTINCT FROM p_context
       AND (s.expires_at IS NULL OR s.expires_at > p_now)
       -- By the id of _counts: only what counts is worth the look.
       AND (NOT p_fresh OR NOT mnemo._is_stale(p_org_id, c.id, p_now))
     ORDER BY s.outcome_score DESC, s.created_at DESC, s.plan_id DESC
     LIMIT p_limit;
END;
COMMENT ON FUNCTION mnemo._identical(
    text, bigint, text[], bigint, bigint, text, timestamptz, bigint, boolean, text, boolean
) IS
    'The best live plans of an audience with this signature, and with this meaning unless it is '
    'NULL. p_delegated: only those that the agent sees by a delegation; p_fresh: no stale ones.';

CREATE FUNCTION mnemo._similar(
    p_keys bigint[],
    p_org_id text,
    p_audiences bigint[],
    p_context text,
    p_now timestamptz,
    p_sketch bit varying,
    p_long_sketch bit varying,
    p_size integer,
    p_threshold double precision
)
RETURNS SETOF mnemo.plan_signature
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.*
      FROM (
        -- Alone behind a fence: the keys hold audience and organisation, and a plan that starts
        -- from either of those reads far more.
        SELECT k.* FROM mnemo.plan_signature AS k WHERE k.keys && p_keys OFFSET 0
      ) AS s
     WHERE (s.org_id = p_org_id OR s.org_id = '*') AND s.audience = ANY (p_audiences)
       AND s.context IS NOT DISTINCT FROM p_context
       AND (s.expires_at IS NULL OR s.expires_at > p_now)
       -- The share of both sizes that the overlap must reach, a little lower: see _probe_keys.
       AND mnemo._may_reach(s.sketch, s.size, p_sketch, p_long_sketch, p_size,
            (p_threshold - 1e-9) / (1 + p_threshold - 1e-9));
END;
COMMENT ON FUNCTION mnemo._similar(
    bigint[], text, bigint[], text, timestamptz, bit varying, bit varying, integer,
    double precision
) IS
    'The plans of these audiences, of the organisation and global ones, that have one of the keys '
    'and whose sketch allows the threshold: all plans that reach it, and some that do not.';

-- part: 622_probe.sql
CREATE TYPE mnemo._recall_input AS (
    query text,
    signature text[],
    digest bigint,
    audiences bigint[],
    context text,
    guard text,
    threshold double precision,
    minimum double precision,
    row_limit bigint,
    org_id text,
    agent_id text,
    asked_at timestamptz,
    reason text,
    stale text
);
COMMENT ON TYPE mnemo._recall_input IS
    'A call of recall_plan or its kin, checked and filled in: audiences are the three that the agent '
    'belongs to in its organisation, global, then those of agents that delegated to it; minimum is the least threshold allowed; reason is disabled or '
    'blank_query where there is nothing to match, else NULL; stale is refuse or include.';

CREATE FUNCTION mnemo._probe(
    p_call mnemo._recall_input,
    p_threshold double precision,
    p_guard bigint,
    OUT keys bigint[],
    OUT sketch bit varying,
    OUT long_sketch bit varying
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $fn$
DECLARE
    v_hashes bigint[] := mnemo._ordered_hashes(p_call.signature);
BEGIN
    keys := ARRAY(
        SELECT k.key # a.audience # p_guard
          FROM unnest(p_call.audiences) AS a(audience)
          CROSS JOIN unnest(mnemo._probe_keys(v_hashes, p_threshold)) AS k(key)
    );
    sketch := mnemo._sketch(v_hashes, mnemo._sketch_bits(1));
    -- Plans that long cannot be similar to short queries.
    IF cardinality(v_hashes) > 32 * (p_threshold - 1e-9) THEN
        long_sketch := mnemo._sketch(v_hashes, mnemo._sketch_bits(33));
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._probe(mnemo._recall_input, double precision, bigint) IS
    'What a query looks for: the keys of all its audiences with the guard mixed in (0: the plain '
    'keys), and the sketch of its tokens in both widths.';

-- part: 625_match.sql
CREATE FUNCTION mnemo._best_identical(
    p_call mnemo._recall_input,
    p_fresh boolean
)
RETURNS mnemo._plan_answer
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments, as planning would cost more than the look-up; good for any number of
-- plans, though it may be made while there are few. Compilation never pays.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_best mnemo._plan_answer;
BEGIN
    SELECT p.* INTO v_best
      FROM (
        SELECT i.org_id, i.plan_id
          FROM (
            SELECT o.org_id, o.plan_id, o.outcome_score, o.created_at
              FROM unnest(p_call.audiences[1:3] || p_call.audiences[5:])
                   WITH ORDINALITY AS a(audience, place)
              CROSS JOIN LATERAL mnemo._identical(
                    p_call.org_id, a.audience, p_call.signature, p_call.digest, NULL,
                    p_call.context, p_call.asked_at, 1, a.place > 3, p_call.agent_id,
                    p_fresh) AS o
            UNION ALL
            SELECT g.org_id, g.plan_id, g.outcome_score, g.created_at
              FROM mnemo._identical(
                    '*', p_call.audiences[4], p_call.signature, p_call.digest, NULL,
                    p_call.context, p_call.asked_at, 1, false, NULL, p_fresh) AS g
          ) AS i
         ORDER BY i.org_id = '*', i.outcome_score DESC, i.created_at DESC, i.plan_id DESC
         LIMIT 1
      ) AS b
      CROSS JOIN LATERAL mnemo._answer(b.org_id, b.plan_id) AS p;
    RETURN v_best;
END
$fn$;
COMMENT ON FUNCTION mnemo._best_identical(mnemo._recall_input, boolean) IS
    'The best plan with the same signature that the agent may read, whatever its guard, with '
    'p_fresh among those that are not stale; NULL where there is none. Where its text is the very text asked, nothing can beat it and the guard has '
    'nothing to compare.';

CREATE FUNCTION mnemo._identical_plans(
    p_call mnemo._recall_input,
    p_guard text,
    p_meaning bigint,
    p_values bigint,
    p_limit bigint,
    OUT org_ids text[],
    OUT plan_ids uuid[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
BEGIN
    IF p_guard = 'strict' THEN
        SELECT array_agg(i.org_id), array_agg(i.plan_id)
          INTO org_ids, plan_ids
          FROM (
            SELECT e.org_id, e.plan_id
              FROM (
                SELECT o.org_id, o.plan_id, o.outcome_score, o.created_at
                  FROM unnest(p_call.audiences[1:3] || p_call.audiences[5:])
                       WITH ORDINALITY AS a(audience, place)
                  CROSS JOIN LATERAL mnemo._identical_guarded(
                        p_call.org_id, a.audience, p_call.signature,
                        p_call.digest # p_meaning # p_values, p_call.context, p_call.asked_at,
                        p_limit, a.place > 3, p_call.agent_id, p_call.stale = 'refuse') AS o
                UNION ALL
                SELECT g.org_id, g.plan_id, g.outcome_score, g.created_at
                  FROM mnemo._identical_guarded(
                        '*', p_call.audiences[4], p_call.signature,
                        p_call.digest # p_meaning # p_values, p_call.context, p_call.asked_at,
                        p_limit, false, NULL, p_call.stale = 'refuse') AS g
              ) AS e
             ORDER BY e.org_id = '*', e.outcome_score DESC, e.created_at DESC, e.plan_id DESC
             LIMIT p_limit
          ) AS i;
    ELSE
        SELECT array_agg(i.org_id), array_agg(i.plan_id)
          INTO org_ids, plan_ids
          FROM (
            SELECT e.org_id, e.plan_id
              FROM (
                SELECT o.org_id, o.plan_id, o.outcome_score, o.created_at
                  FROM unnest(p_call.audiences[1:3] || p_call.audiences[5:])
                       WITH ORDINALITY AS a(audience, place)
                  CROSS JOIN LATERAL mnemo._identical(
                        p_call.org_id, a.audience, p_call.signature, p_call.digest,
                        CASE p_guard WHEN 'meaning' THEN p_meaning END, p_call.context,
                        p_call.asked_at, p_limit, a.place > 3, p_call.agent_id,
                        p_call.stale = 'refuse') AS o
                UNION ALL
                SELECT g.org_id, g.plan_id, g.outcome_score, g.created_at
                  FROM mnemo._identical(
                        '*', p_call.audiences[4], p_call.signature, p_call.digest,
                        CASE p_guard WHEN 'meaning' THEN p_meaning END, p_call.context,
                        p_call.asked_at, p_limit, false, NULL, p_call.stale = 'refuse') AS g
              ) AS e
             ORDER BY e.org_id = '*', e.outcome_score DESC, e.created_at DESC, e.plan_id DESC
             LIMIT p_limit
          ) AS i;
    END IF;
    org_ids := coalesce(org_ids, '{}');
    plan_ids := coalesce(plan_ids, '{}');
END
$fn$;
COMMENT ON FUNCTION mnemo._identical_plans(mnemo._recall_input, text, bigint, bigint, bigint) IS
    'The best p_limit live plans with the same signature that the agent may read and whose guard '
    'agrees, stale ones only if the call includes them, in the order of _match_plans: no other plan can beat them. A statement of its own, '
    'because starting the one of _match_plans costs more.';

CREATE FUNCTION mnemo._match_plans(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_identical boolean
)
RETURNS TABLE (
    org_id text,
    plan_id uuid,
    similarity double precision,
    considered bigint,
    refused_org_id text,
    refused_plan_id uuid,
    refused_similarity double precision,
    stale boolean
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_size integer := cardinality(p_call.signature);
    v_org_ids text[] := '{}';
    v_plan_ids uuid[] := '{}';
    v_exact integer := 0;
    v_delegated bigint[] := p_call.audiences[5:];
    v_probe record;
BEGIN
    IF p_identical THEN
        SELECT i.org_ids, i.plan_ids, cardinality(i.plan_ids) INTO v_org_ids, v_plan_ids, v_exact
          FROM mnemo._identical_plans(
                p_call, p_call.guard, p_meaning, p_values, p_call.row_limit) AS i;
        IF v_exact = p_call.row_limit THEN
            RETURN QUERY
            SELECT e.org_id, e.plan_id, 1::double precision, p_call.row_limit, NULL::text,
                   NULL::uuid, NULL::double precision, false
              FROM unnest(v_org_ids, v_plan_ids) WITH ORDINALITY AS e(org_id, plan_id, place)
             ORDER BY e.place;
            RETURN;
        END IF;
    END IF;
    v_probe := mnemo._probe(
        p_call, p_call.threshold,
        -- Other guards than strict are no part of the keys: they look at all and filter.
        CASE p_call.guard WHEN 'strict' THEN p_meaning # p_values ELSE 0 END);
    RETURN QUERY
    WITH candidate AS MATERIALIZED (
        SELECT s.org_id, s.plan_id, s.size, s.outcome_score, s.created_at, g.agrees,
               mnemo._shared_tokens(s.signature, p_call.signature) AS shared
          FROM mnemo._similar(
                v_probe.keys, p_call.org_id, p_call.audiences, p_call.context, p_call.asked_at,
                v_probe.sketch, v_probe.long_sketch, v_size, p_call.threshold) AS s
          CROSS JOIN LATERAL mnemo._counts(
                s.org_id, s.plan_id, p_call.asked_at, s.audience = ANY (v_delegated), s.audience,
                p_call.agent_id, p_call.context)
          CROSS JOIN LATERAL (
            SELECT mnemo._agrees(s, p_call.guard, p_meaning, p_values, p_names,
                       p_call.signature) AS agrees
          ) AS g
         WHERE NOT (g.agrees AND s.digest = p_call.digest AND s.signature = p_call.signature)
    ), reached AS MATERIALIZED (
        SELECT c.org_id, c.plan_id, c.outcome_score, c.created_at, c.agrees,
               c.shared::double precision / (c.size + v_size - c.shared) AS similarity
          FROM candidate AS c
         WHERE c.shared::double precision / (c.size + v_size - c.shared) >= p_call.threshold
    ), found AS (
        SELECT e.org_id, e.plan_id, 1::double precision AS similarity, e.place,
               e.org_id = '*' AS is_global, NULL AS outcome_score, NULL AS created_at
          FROM unnest(v_org_ids, v_plan_ids) WITH ORDINALITY AS e(org_id, plan_id, place)
        UNION ALL
        SELECT r.org_id, r.plan_id, r.similarity, NULL, r.org_id = '*', r.outcome_score,
               r.created_at
          FROM reached AS r
         WHERE r.agrees
    ), best AS (
        SELECT f.*
          FROM (
            -- In order behind a fence, so that only the chunks of those that would win are looked at.
            SELECT o.*
              FROM found AS o
             ORDER BY o.similarity DESC, o.place, o.is_global, o.outcome_score DESC,
                      o.created_at DESC, o.plan_id DESC
            OFFSET 0
          ) AS f
         WHERE p_call.stale = 'include' OR f.place IS NOT NULL
            OR NOT mnemo._is_stale(f.org_id, f.plan_id, p_call.asked_at)
         ORDER BY f.similarity DESC, f.place, f.is_global, f.outcome_score DESC,
                  f.created_at DESC, f.plan_id DESC
         LIMIT p_call.row_limit
    ), refused AS (
        SELECT r.org_id, r.plan_id, r.similarity
          FROM reached AS r
         WHERE NOT r.agrees AND v_exact = 0
           AND NOT EXISTS (SELECT FROM reached AS o WHERE o.agrees)
         ORDER BY r.similarity DESC, r.org_id = '*', r.outcome_score DESC, r.created_at DESC,
                  r.plan_id DESC
         LIMIT 1
    )
    SELECT b.org_id, b.plan_id, b.similarity,
           v_exact + (SELECT count(*) FROM candidate AS c WHERE c.agrees)
           + CASE WHEN r.plan_id IS NULL THEN 0 ELSE 1 END,
           r.org_id, r.plan_id, r.similarity,
           b.plan_id IS NULL AND EXISTS (SELECT FROM reached AS o WHERE o.agrees)
      -- At least one row.
      FROM (SELECT) AS one
      LEFT JOIN best AS b ON true
      LEFT JOIN refused AS r ON true
     ORDER BY b.similarity DESC, b.place, b.is_global, b.outcome_score DESC, b.created_at DESC,
              b.plan_id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo._match_plans(mnemo._recall_input, bigint, bigint, text[], boolean) IS
    'The best live plans that the agent may read, written for the same context, that agree on the '
    'guard and, unless the call includes them, are not stale, '
    'with Jaccard similarity of at least the threshold to the signature: by similarity, '
    'plans of the organisation before global ones, outcome score, newest, id. p_identical false: '
    'none has the same signature. considered counts the plans that were scored and stands in every '
    'row; without a hit there is one row with it and NULL, and with the best plan that the guard '
    'refused among those that its keys led to: where the guard is in the keys, _refused_plan looks '
    'for the others. stale: there is no hit because what was found is stale.';

-- part: 627_refused.sql
CREATE FUNCTION mnemo._refused_plan(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_identical boolean
)
RETURNS TABLE (
    refused_org_id text,
    refused_plan_id uuid,
    refused_similarity double precision,
    considered bigint
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_size integer := cardinality(p_call.signature);
    v_delegated bigint[] := p_call.audiences[5:];
    v_probe record;
BEGIN
    IF p_identical THEN
        -- What the guard refuses it refuses stale or not.
        p_call.stale := 'include';
        RETURN QUERY
        SELECT i.org_ids[1], i.plan_ids[1], 1::double precision, 1::bigint
          FROM mnemo._identical_plans(p_call, 'off', NULL, NULL, 1) AS i
         WHERE cardinality(i.plan_ids) = 1;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    v_probe := mnemo._probe(p_call, p_call.threshold, 0);
    RETURN QUERY
    SELECT c.org_id, c.plan_id, c.similarity, count(*) OVER ()
      FROM (
        -- Thousands of plans made from one template may be refused; the reason needs one. So key by
        -- key, up to a limit; the test of similarity stands before it, so that others cannot crowd
        -- it out.
        SELECT DISTINCT r.org_id, r.plan_id, r.outcome_score, r.created_at, r.similarity
          FROM (
            SELECT s.org_id, s.plan_id, s.outcome_score, s.created_at,
                   t.shared::double precision / (s.size + v_size - t.shared) AS similarity
              FROM unnest(v_probe.keys) AS k(key)
              CROSS JOIN LATERAL mnemo._similar(
                    ARRAY[k.key], p_call.org_id, p_call.audiences, p_call.context,
                    p_call.asked_at, v_probe.sketch, v_probe.long_sketch, v_size,
                    p_call.threshold) AS s
              CROSS JOIN LATERAL (
                SELECT mnemo._shared_tokens(s.signature, p_call.signature) AS shared OFFSET 0
              ) AS t
             WHERE NOT mnemo._agrees(
                    s, p_call.guard, p_meaning, p_values, p_names, p_call.signature)
               AND t.shared::double precision / (s.size + v_size - t.shared) >= p_call.threshold
               -- What others did not delegate must not crowd it out either.
               AND (s.audience <> ALL (v_delegated) OR EXISTS (
                    SELECT FROM mnemo._counts(
                        s.org_id, s.plan_id, p_call.asked_at, true, s.audience, p_call.agent_id,
                        p_call.context)))
             LIMIT 200
          ) AS r
      ) AS c
      CROSS JOIN LATERAL mnemo._counts(
            c.org_id, c.plan_id, p_call.asked_at, false, NULL, NULL, NULL)
     ORDER BY c.similarity DESC, c.org_id = '*', c.outcome_score DESC, c.created_at DESC,
              c.plan_id DESC
     LIMIT 1;
END
$fn$;
COMMENT ON FUNCTION mnemo._refused_plan(mnemo._recall_input, bigint, bigint, text[], boolean) IS
    'For a miss: the best plan that reaches the threshold and that the guard refuses, no row where '
    'there is none. Identical signatures first, unless p_identical says that there is none; of '
    'similar ones it looks at the first 200, so with more it need not be the very best.';

CREATE FUNCTION mnemo._stale_plan(
    p_call mnemo._recall_input,
    p_meaning bigint,
    p_values bigint,
    p_names text[],
    p_identical boolean,
    p_similar boolean,
    OUT org_id text,
    OUT plan_id uuid,
    OUT similarity double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    p_call.stale := 'include';
    p_call.row_limit := 1;
    IF p_identical THEN
        SELECT i.org_ids[1], i.plan_ids[1], 1 INTO org_id, plan_id, similarity
          FROM mnemo._identical_plans(p_call, p_call.guard, p_meaning, p_values, 1) AS i;
    END IF;
    IF plan_id IS NULL AND p_similar THEN
        SELECT m.org_id, m.plan_id, m.similarity INTO org_id, plan_id, similarity
          FROM mnemo._match_plans(p_call, p_meaning, p_values, p_names, false) AS m;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._stale_plan(
    mnemo._recall_input, bigint, bigint, text[], boolean, boolean
) IS
    'For a miss: the plan that would be the hit if stale ones counted; NULL where there is none. '
    'p_identical, p_similar: where it can be.';

-- part: 630_plan_input.sql
CREATE TYPE mnemo._plan_input AS (
    query text,
    steps text[],
    chunk_ids text[],
    outcome_score double precision,
    agent_id text,
    scope text,
    org_id text,
    details jsonb,
    context text,
    ttl interval,
    thread_id text,
    source_id text,
    tags text[],
    embedding text,
    model text,
    idempotency_key text,
    overrides jsonb,
    chunk_source text,
    read_at timestamptz
);
COMMENT ON TYPE mnemo._plan_input IS
    'The arguments of mnemo.remember_plan, one plan, and the settings of its organisation as '
    '_overrides gives them.';

CREATE FUNCTION mnemo._mode_problem(
    p_org_id text,
    p_overrides jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF mnemo._setting_in(p_overrides, 'experience_memory') <> 'on' THEN
        RETURN ROW('55000',
            format('experience memory is off for organisation %s', mnemo._shown(p_org_id)),
            NULL, 'SELECT mnemo.configure(''experience_memory'', ''on'')')::mnemo._problem;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._mode_problem(text, jsonb) IS
    'The problem 55000 of an organisation whose experience memory is off by its settings; NULL when '
    'it is on.';

CREATE FUNCTION mnemo._plan_problem(
    p_input mnemo._plan_input,
    p_level text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_problem mnemo._problem := mnemo._scope_problem(p_level, p_input.scope);
BEGIN
    IF v_problem.code = '42501' THEN
        RETURN v_problem;
    END IF;
    v_problem := coalesce(
        mnemo._mode_problem(p_input.org_id, p_input.overrides),
        mnemo._identity_problem(p_input.agent_id, p_input.org_id)
    );
    IF v_problem.code IS NOT NULL THEN
        RETURN v_problem;
    END IF;
    v_problem := mnemo._first_problem(ARRAY[
        CASE WHEN p_input.query IS NULL OR mnemo._is_blank(p_input.query) THEN
            mnemo._argument('p_query', 'p_query must not be NULL or blank',
                'pass the question that the plan answered')
        END,
        CASE WHEN p_input.steps IS NULL THEN
            mnemo._argument('p_steps', 'p_steps must not be NULL', 'pass the steps as an array')
        END,
        CASE WHEN p_input.chunk_ids IS NULL THEN
            mnemo._argument('p_chunk_ids', 'p_chunk_ids must not be NULL',
                'pass an empty array for a plan that used no chunks')
        END,
        CASE WHEN p_input.outcome_score IS NULL THEN
            mnemo._argument('p_outcome_score', 'p_outcome_score must not be NULL',
                'pass how well the plan worked, from 0 to 1')
        END,
        mnemo._embedding_problem(p_input.embedding, p_input.model),
        mnemo._list_problem('p_steps', p_input.steps, 1000, NULL, 'steps'),
        mnemo._list_problem('p_chunk_ids', p_input.chunk_ids, 10000, NULL, 'chunk ids'),
        mnemo._scope_problem(p_level, p_input.scope),
        mnemo._ttl_problem(p_input.ttl),
        mnemo._tags_problem(p_input.tags),
        mnemo._texts_problem(
            ARRAY['p_context', 'p_thread_id', 'p_source_id', 'p_idempotency_key'],
            ARRAY[p_input.context, p_input.thread_id, p_input.source_id, p_input.idempotency_key],
            256
        ),
        mnemo._details_problem(p_input.details, cardinality(p_input.steps)),
        mnemo._source_problem('p_chunk_source', p_input.chunk_source),
        mnemo._time_problem('p_read_at', p_input.read_at),
        mnemo._length_problem('p_query', p_input.query, 100000)
    ]);
    -- Only what is sound and not huge is worth building.
    RETURN coalesce(v_problem, mnemo._payload_problem(p_input));
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_problem(mnemo._plan_input, text) IS
    'The first problem of a plan to write by a caller of level p_level; agent and organisation are '
    'filled in already. NULL for none. The outcome gate is no problem.';

CREATE FUNCTION mnemo._details_problem(
    p_details jsonb,
    p_steps integer
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_details IS NULL THEN
        RETURN NULL;
    ELSIF jsonb_typeof(p_details) <> 'array' THEN
        RETURN mnemo._argument('p_details',
            'p_details must be a JSON array; got ' || jsonb_typeof(p_details),
            'pass one JSON value for each step');
    ELSIF jsonb_array_length(p_details) <> p_steps THEN
        RETURN mnemo._argument('p_details',
            format('p_details has %s values for %s steps', jsonb_array_length(p_details), p_steps),
            'pass one JSON value for each step, null where a step has none');
    END IF;
    RETURN mnemo._depth_problem('p_details', p_details);
END
$fn$;
COMMENT ON FUNCTION mnemo._details_problem(jsonb, integer) IS
    'The problem of details that are no array of one value a step, or too deep; NULL for none.';

CREATE FUNCTION mnemo._payload_problem(
    p_input mnemo._plan_input
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_tokens text[];
    v_bytes bigint;
BEGIN
    -- 20,001 tokens need more bytes than that, and JSON writes a byte as six at most: the query,
    -- its tokens, which repeat a character of it twice at most, and the rest stay below 1 MB.
    IF octet_length(p_input::text) <= 60000 THEN
        RETURN NULL;
    END IF;
    v_tokens := mnemo._signature_tokens(p_input.query);
    IF cardinality(v_tokens) > 20000 THEN
        RETURN mnemo._limit('p_query',
            format('p_query has %s signature tokens, at most 20000 are allowed',
                cardinality(v_tokens)),
            'shorten it');
    END IF;
    v_bytes := octet_length(mnemo._plan_payload(p_input, v_tokens, 1)::text);
    IF v_bytes > 1048576 THEN
        RETURN mnemo._limit('p_steps',
            format('p_query, p_steps, p_details and p_chunk_ids have %s bytes as JSON together, '
                'at most 1048576 (1 MB) are allowed', v_bytes),
            'keep large values outside and store their identifiers');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._payload_problem(mnemo._plan_input) IS
    'The problem of a plan over 20,000 signature tokens or 1 MB as JSON text; NULL for none.';

CREATE FUNCTION mnemo._plan_payload(
    p_input mnemo._plan_input,
    p_tokens text[],
    p_outcome_score double precision
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    RETURN jsonb_build_object(
        'query', p_input.query,
        'signature_tokens', p_tokens,
        'steps', p_input.steps,
        'details', p_input.details,
        'chunk_ids', p_input.chunk_ids,
        'outcome_score', p_outcome_score,
        'context', p_input.context
    ) || CASE WHEN p_input.chunk_source <> '' THEN
        jsonb_build_object('chunk_source', p_input.chunk_source) ELSE '{}' END
    || CASE WHEN p_input.read_at IS NOT NULL THEN
        jsonb_build_object('read_at', mnemo._micros(p_input.read_at)) ELSE '{}' END;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_payload(mnemo._plan_input, text[], double precision) IS
    'The payload of a plan, as it stands in metadata under experience_plan.';

-- part: 640_remember_plan.sql
CREATE FUNCTION mnemo._plan_record(
    p_input mnemo._plan_input,
    p_outcome_score double precision
)
RETURNS mnemo.memory
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_record mnemo.memory := mnemo._new_record(
        p_input.scope, p_input.org_id, p_input.agent_id, p_input.ttl
    );
    v_payload jsonb;
BEGIN
    -- By the clock, so that a change that this transaction reported before is none since then.
    p_input.read_at := CASE WHEN cardinality(p_input.chunk_ids) > 0
        THEN least(p_input.read_at, clock_timestamp()) END;
    v_payload := mnemo._plan_payload(
        p_input, mnemo._signature_tokens(p_input.query), p_outcome_score);
    IF cardinality(p_input.chunk_ids) > 0 THEN
        v_payload := v_payload || mnemo._cited_versions(v_record, p_input.chunk_ids, p_input.read_at);
    END IF;
    v_record.content := p_input.query;
    v_record.memory_type := 'procedural';
    v_record.importance := p_outcome_score;
    v_record.tags := ARRAY[mnemo._reserved_tag()] || coalesce(p_input.tags, '{}');
    v_record.metadata := jsonb_build_object(mnemo._reserved_key(), v_payload);
    v_record.source_type := 'system';
    v_record.source_id := p_input.source_id;
    v_record.thread_id := p_input.thread_id;
    RETURN mnemo._normalised(v_record);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_record(mnemo._plan_input, double precision) IS
    'The memory record of a plan whose arguments have been checked.';

CREATE FUNCTION mnemo._store_plans(
    p_inputs mnemo._plan_input[],
    p_places bigint[],
    p_on_error text
)
RETURNS TABLE (
    place bigint, id uuid, signature text, stored boolean, status text, error text
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_input mnemo._plan_input;
    v_record mnemo.memory;
    v_records mnemo.memory[] := '{}';
    v_embeddings text[] := '{}';
    v_models text[] := '{}';
    v_first mnemo.memory;
    v_problem mnemo._problem;
    v_number integer := 0;
BEGIN
    FOREACH v_input IN ARRAY p_inputs LOOP
        v_number := v_number + 1;
        place := p_places[v_number];
        error := NULL;
        -- NaN is above every number in PostgreSQL and must not pass for a success.
        IF v_input.outcome_score = 'NaN'
           OR v_input.outcome_score
              < mnemo._setting_in(v_input.overrides, 'success_threshold')::double precision THEN
            id := NULL;
            signature := array_to_string(mnemo._signature_tokens(v_input.query), ' ');
            stored := false;
            status := 'below_threshold';
            RETURN NEXT;
            CONTINUE;
        END IF;
        v_record := mnemo._plan_record(v_input, least(v_input.outcome_score, 1));
        status := 'stored';
        IF v_input.idempotency_key IS NOT NULL THEN
            v_first := mnemo._first_record(v_record, v_input.idempotency_key, v_records);
            IF NOT v_first.tags @> ARRAY[mnemo._reserved_tag()] THEN
                v_problem := mnemo._argument('p_idempotency_key',
                    'p_idempotency_key was used for a memory', 'use another key');
                IF p_on_error = 'abort' THEN
                    PERFORM mnemo._raise_placed(v_problem, place);
                END IF;
                id := NULL;
                stored := false;
                status := 'failed';
                error := v_problem.code || ': ' || v_problem.message;
                RETURN NEXT;
                CONTINUE;
            ELSIF v_first.id <> v_record.id THEN
                v_record := v_first;
                status := 'repeated';
            END IF;
        END IF;
        IF status = 'stored' THEN
            v_record := mnemo._screen(v_record);
            IF v_record.quarantined THEN
                status := 'quarantined';
            END IF;
            v_records := array_append(v_records, v_record);
            v_embeddings := array_append(v_embeddings, v_input.embedding);
            v_models := array_append(v_models, v_input.model);
        END IF;
        id := v_record.id;
        signature := array_to_string(
            mnemo._text_list(mnemo._payload(v_record) -> 'signature_tokens'), ' '
        );
        stored := true;
        RETURN NEXT;
    END LOOP;
    IF cardinality(v_records) > 0 THEN
        PERFORM mnemo._write_memories(v_records, 'plan_write');
        PERFORM mnemo._index_new_plans(v_records);
        IF array_remove(v_embeddings, NULL) <> '{}' THEN
            PERFORM mnemo._store_embeddings(v_embeddings, v_models,
                ARRAY(SELECT r.org_id FROM unnest(v_records) AS r),
                ARRAY(SELECT r.id FROM unnest(v_records) AS r), true);
        END IF;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._store_plans(mnemo._plan_input[], bigint[], text) IS
    'Stores plans whose arguments have been checked and whose agent and organisation are filled in: '
    'one answer a plan, with its place in the batch (NULL: no batch). Plans below the success '
    'threshold are not written. An idempotency key of a memory is an error, or with p_on_error '
    'skip a failed plan.';

CREATE FUNCTION mnemo._raise_placed(
    p_problem mnemo._problem,
    p_place bigint
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._raise(
        p_problem.code,
        concat_ws(': ', 'element ' || p_place::text, p_problem.message),
        jsonb_strip_nulls(jsonb_build_object(
            'parameter', p_problem.parameter, 'position', p_place)),
        p_problem.hint
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._raise_placed(mnemo._problem, bigint) IS
    'Raises the problem of an element of a batch; DETAIL has its position, from 1. NULL: no batch.';

CREATE FUNCTION mnemo.remember_plan(
    p_query text,
    p_steps text[],
    p_chunk_ids text[],
    p_outcome_score double precision,
    p_agent_id text DEFAULT NULL,
    p_scope text DEFAULT 'private',
    p_org_id text DEFAULT NULL,
    p_details jsonb DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_ttl interval DEFAULT NULL,
    p_thread_id text DEFAULT NULL,
    p_source_id text DEFAULT NULL,
    p_tags text[] DEFAULT NULL,
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL,
    p_idempotency_key text DEFAULT NULL,
    p_chunk_source text DEFAULT NULL,
    p_read_at timestamptz DEFAULT NULL
)
RETURNS TABLE (id uuid, signature text, stored boolean, status text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_input mnemo._plan_input;
BEGIN
    SELECT * INTO v_caller FROM mnemo._enter(p_agent_id, p_org_id);
    v_input := ROW(
        p_query, p_steps, p_chunk_ids, p_outcome_score, v_caller.agent_id,
        coalesce(p_scope, 'private'), v_caller.org_id, p_details, p_context, p_ttl, p_thread_id,
        p_source_id, p_tags, p_embedding, p_model, p_idempotency_key,
        mnemo._overrides(v_caller.org_id), p_chunk_source, p_read_at
    );
    PERFORM mnemo._raise_problem(mnemo._plan_problem(v_input, v_caller.level));
    RETURN QUERY
    SELECT s.id, s.signature, s.stored, s.status FROM mnemo._store_plans(ARRAY[v_input], NULL, 'abort') AS s;
END
$fn$;
COMMENT ON FUNCTION mnemo.remember_plan(
    text, text[], text[], double precision, text, text, text, jsonb, text, interval, text, text,
    text[], text, text, text, text, timestamptz
) IS
    'REMEMBER_PLAN: stores the plan that answered p_query, for replay by mnemo.recall_plan: steps, '
    'details (one JSON value a step, or NULL), ids of the chunks used, outcome score. A score below '
    'the success threshold, or NaN, stores nothing; above 1 counts as 1. p_context names what the '
    'plan depends on, such as a tool set: recall must give the same. p_embedding: the embedding of '
    'p_query by p_model, see mnemo.enable_vectors, by which recall finds the plan where words do '
    'not; NULL for none. The same p_idempotency_key of the same agent again returns the first answer. '
    'p_chunk_source: where the chunk ids come from, at most 256 characters, NULL or empty for the '
    'source that has no name; when a chunk of that source with one of the ids changes '
    '(mnemo.invalidate_chunks, mnemo.watch_table), or a memory with one of them, the plan is stale. '
    'p_read_at: when the chunks were read; changes since then count; NULL, or a time to come: those '
    'from now on. '
    'Returns id (NULL when nothing is stored), the signature joined by spaces, stored, and status '
    'stored, below_threshold, quarantined (kept, and held back by a rule against poisoning) or '
    'repeated. Errors: 42501 no access, or scope global by a tenant; 55000 experience memory is off, '
    'embedding given but not enabled; 22023 bad argument; 54000 over a limit; 40001 the key was used by a '
    'concurrent transaction. After DocTrace (arXiv 2606.10921).';

-- part: 650_remember_plans.sql
CREATE FUNCTION mnemo._element_problem(
    p_element jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_key text;
    v_value jsonb;
    v_type text;
BEGIN
    IF jsonb_typeof(p_element) IS DISTINCT FROM 'object' THEN
        RETURN mnemo._argument('p_plans',
            'an element must be a JSON object; got ' || coalesce(jsonb_typeof(p_element), 'NULL'),
            'keys are the parameters of mnemo.remember_plan without p_');
    END IF;
    FOR v_key, v_value IN SELECT e.key, e.value FROM jsonb_each(p_element) AS e LOOP
        v_type := jsonb_typeof(v_value);
        CONTINUE WHEN v_type = 'null' OR v_key = 'details'
            OR v_key = 'embedding' AND v_type = 'array';
        IF v_key IN ('steps', 'chunk_ids', 'tags') THEN
            IF v_type <> 'array'
               OR v_value @? 'strict $[*] ? (@.type() != "string" && @.type() != "null")'
            THEN
                RETURN mnemo._argument('p_' || v_key, v_key || ' must be an array of strings',
                    'quote the elements');
            END IF;
        ELSIF v_key = 'outcome_score' THEN
            IF v_type <> 'number' THEN
                RETURN mnemo._argument('p_outcome_score', 'outcome_score must be a number; got '
                    || v_type, 'JSON has no NaN and no infinity');
            ELSIF abs((v_value #>> '{}')::numeric) NOT BETWEEN 1e-300 AND 1e300
                  AND (v_value #>> '{}')::numeric <> 0 THEN
                RETURN mnemo._argument('p_outcome_score',
                    'outcome_score is outside the range of double precision', 'use 0 to 1');
            END IF;
        ELSIF v_key = 'ttl' THEN
            IF v_type <> 'string' OR NOT mnemo._is_interval(v_value #>> '{}') THEN
                RETURN mnemo._argument('p_ttl', 'ttl must be an interval as text; got '
                    || mnemo._shown(v_value::text), 'such as "30 days", "PT1H30M" or "12:00:00"');
            END IF;
        ELSIF v_key = 'read_at' THEN
            IF v_type <> 'string' OR NOT mnemo._is_time(v_value #>> '{}') THEN
                RETURN mnemo._argument('p_read_at', 'read_at must be a time in ISO 8601 with its '
                    'zone; got ' || mnemo._shown(v_value::text), 'such as "2026-01-31T09:00:00Z"');
            END IF;
        ELSIF v_key IN ('query', 'agent_id', 'scope', 'org_id', 'context', 'thread_id', 'source_id',
                        'embedding', 'model', 'idempotency_key', 'chunk_source') THEN
            IF v_type <> 'string' THEN
                RETURN mnemo._argument('p_' || v_key, v_key || ' must be a string; got ' || v_type,
                    'quote the value');
            END IF;
        ELSE
            RETURN mnemo._argument('p_plans', 'unknown key ' || mnemo._shown(v_key),
                'keys are the parameters of mnemo.remember_plan without p_');
        END IF;
    END LOOP;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._element_problem(jsonb) IS
    'The problem of an element that cannot be read as the arguments of mnemo.remember_plan: no '
    'object, an unknown key, a value of the wrong type; NULL for none.';

CREATE FUNCTION mnemo._is_interval(
    p_text text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Checked beforehand, because a failed cast could only be caught in a subtransaction.
RETURN p_text COLLATE "C" ~ (
    '^P(?=.)([0-9]{1,6}Y)?([0-9]{1,6}M)?([0-9]{1,6}W)?([0-9]{1,6}D)?'
    '(T(?=.)([0-9]{1,9}H)?([0-9]{1,9}M)?([0-9]{1,9}([.][0-9]{1,6})?S)?)?$'
    '|^(?=.)([0-9]{1,6} years?( |$))?([0-9]{1,6} months?( |$))?([0-9]{1,6} weeks?( |$))?'
    '([0-9]{1,6} days?( |$))?'
    '(([0-9]{1,6} hours?( |$))?([0-9]{1,6} minutes?( |$))?([0-9]{1,6} seconds?)?'
    '|[0-9]{1,6}:[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?)$'
);
COMMENT ON FUNCTION mnemo._is_interval(text) IS
    'Whether a text is a duration in ISO 8601 (P1DT12H) or in words, from years down to seconds, '
    'with hours also as hh:mm:ss (2 days 12:00:00).';

CREATE FUNCTION mnemo._plan_input_of(
    p_element jsonb,
    p_level text,
    p_known jsonb,
    OUT input mnemo._plan_input,
    OUT problem mnemo._problem
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_identity record;
    v_overrides jsonb;
    v_scope_problem mnemo._problem := mnemo._scope_problem(p_level, p_element ->> 'scope');
BEGIN
    -- Access and mode come before the form of the element.
    SELECT * INTO v_identity
      FROM mnemo._identify(p_level, p_element ->> 'agent_id', p_element ->> 'org_id');
    problem := v_identity.problem;
    IF problem.code IS NULL AND v_scope_problem.code = '42501' THEN
        problem := v_scope_problem;
    ELSIF problem.code IS NULL THEN
        v_overrides := coalesce(
            p_known -> v_identity.org_id, mnemo._overrides(v_identity.org_id));
        problem := coalesce(
            mnemo._mode_problem(v_identity.org_id, v_overrides), mnemo._element_problem(p_element)
        );
    END IF;
    IF problem.code IS NOT NULL THEN
        RETURN;
    END IF;
    input := jsonb_populate_record(NULL::mnemo._plan_input, p_element);
    input.details := nullif(input.details, 'null');
    input.agent_id := v_identity.agent_id;
    input.org_id := v_identity.org_id;
    input.overrides := v_overrides;
    input.scope := coalesce(input.scope, 'private');
    problem := mnemo._plan_problem(input, p_level);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_input_of(jsonb, text, jsonb) IS
    'An element of a batch as the arguments of mnemo.remember_plan, agent and organisation filled '
    'in, or its problem. p_known: settings read before, by organisation.';

CREATE FUNCTION mnemo.remember_plans(
    p_plans jsonb,
    p_on_error text DEFAULT 'abort'
)
RETURNS TABLE ("position" bigint, id uuid, stored boolean, status text, error text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_level text := mnemo._level();
    v_element record;
    v_read record;
    v_inputs mnemo._plan_input[] := '{}';
    v_places bigint[] := '{}';
    v_failed bigint[] := '{}';
    v_errors text[] := '{}';
    v_input mnemo._plan_input;
    v_claims text[] := '{}';
    v_known jsonb := '{}';
    v_order bigint[];
BEGIN
    PERFORM mnemo._raise_problem(mnemo._batch_problem('p_plans', p_plans, p_on_error));
    FOR v_element IN
        SELECT e.value, e.place
          FROM jsonb_array_elements(p_plans) WITH ORDINALITY AS e(value, place)
    LOOP
        v_read := mnemo._plan_input_of(v_element.value, v_level, v_known);
        IF (v_read.problem).code IS NULL THEN
            v_input := v_read.input;
            IF NOT v_known ? v_input.org_id THEN
                v_known := v_known || jsonb_build_object(v_input.org_id, v_input.overrides);
            END IF;
            v_inputs := v_inputs || v_input;
            v_places := v_places || v_element.place;
            v_claims := v_claims || concat_ws(
                ' ', v_input.org_id, v_input.agent_id, v_input.idempotency_key);
        ELSIF p_on_error = 'abort' THEN
            PERFORM mnemo._raise_placed(v_read.problem, v_element.place);
        ELSE
            v_failed := v_failed || v_element.place;
            v_errors := v_errors || ((v_read.problem).code || ': ' || (v_read.problem).message);
        END IF;
    END LOOP;
    -- Callers with the same keys in any order claim them in one order.
    v_order := ARRAY(
        SELECT c.number
          FROM unnest(v_claims) WITH ORDINALITY AS c(claim, number)
         ORDER BY c.claim COLLATE "C", c.number
    );
    v_inputs := ARRAY(SELECT v_inputs[o.number] FROM unnest(v_order) AS o(number));
    v_places := ARRAY(SELECT v_places[o.number] FROM unnest(v_order) AS o(number));
    RETURN QUERY
    SELECT r.place, r.id, r.stored, r.status, r.error
      FROM (
        SELECT s.place, s.id, s.stored, s.status, s.error
          FROM mnemo._store_plans(v_inputs, v_places, p_on_error) AS s
        UNION ALL
        SELECT f.place, NULL, false, 'failed', f.error
          FROM unnest(v_failed, v_errors) AS f(place, error)
      ) AS r
     ORDER BY r.place;
END
$fn$;
COMMENT ON FUNCTION mnemo.remember_plans(jsonb, text) IS
    'REMEMBER_PLAN for up to 10,000 plans in one call: an array of objects whose keys are the '
    'parameters of mnemo.remember_plan without p_ (embedding also as an array of numbers). One row an element, position from 1. p_on_error '
    'abort: the first bad element raises its error and nothing is written; skip: bad elements are '
    'reported with status failed and the error as SQLSTATE: message, the others are stored. '
    'Errors: those of mnemo.remember_plan; 22023 no array, unknown key; 54000 over 10,000.';

-- part: 655_recall_call.sql
CREATE FUNCTION mnemo._recall_plan_problem(
    p_query text,
    p_threshold double precision,
    p_minimum double precision,
    p_guard text,
    p_context text,
    p_stale text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $fn$
BEGIN
    IF p_query IS NULL THEN
        RETURN mnemo._argument('p_query', 'p_query must not be NULL', 'pass the question to answer');
    ELSIF (p_threshold BETWEEN p_minimum AND 1) IS NOT TRUE THEN
        RETURN mnemo._argument('p_similarity_threshold',
            format('p_similarity_threshold must be from %s to 1; got %s', p_minimum, p_threshold),
            'leave it out for the setting similarity_threshold');
    ELSIF NOT mnemo._is_label('guard', p_guard) THEN
        RETURN mnemo._label_problem('p_guard', 'guard', p_guard);
    ELSIF p_stale NOT IN ('refuse', 'include') THEN
        RETURN mnemo._label_problem('p_stale', 'stale_mode', p_stale);
    ELSIF p_context IS NULL AND length(p_query) <= 100000 THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._first_problem(ARRAY[
        mnemo._texts_problem(ARRAY['p_context'], ARRAY[p_context], 256),
        mnemo._length_problem('p_query', p_query, 100000)
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_plan_problem(
    text, double precision, double precision, text, text, text
) IS
    'The first problem of the arguments of mnemo.recall_plan, settings filled in; p_minimum is the '
    'least threshold allowed. NULL for none.';

CREATE FUNCTION mnemo._recall_call(
    p_query text,
    p_agent_id text,
    p_org_id text,
    p_similarity_threshold double precision,
    p_guard text,
    p_context text,
    p_limit bigint,
    p_stale text
)
RETURNS mnemo._recall_input
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
AS $fn$
DECLARE
    v_who record := mnemo._enter(p_agent_id, p_org_id);
    v_settings jsonb := mnemo._overrides(v_who.org_id);
    v_call mnemo._recall_input;
    v_problem mnemo._problem;
BEGIN
    IF mnemo._setting_in(v_settings, 'experience_memory') <> 'on' THEN
        v_call.reason := 'disabled';
        RETURN v_call;
    END IF;
    v_call.minimum := mnemo._setting_in(v_settings, 'minimum_threshold');
    v_call.threshold := coalesce(
        p_similarity_threshold,
        greatest(mnemo._setting_in(v_settings, 'similarity_threshold')::double precision,
            v_call.minimum)
    );
    v_call.guard := coalesce(p_guard, mnemo._setting_in(v_settings, 'guard'));
    v_call.stale := coalesce(p_stale, 'refuse');
    v_problem := coalesce(
        mnemo._identity_problem(v_who.agent_id, v_who.org_id),
        mnemo._recall_plan_problem(
            p_query, v_call.threshold, v_call.minimum, v_call.guard, p_context, v_call.stale),
        mnemo._limit_problem(p_limit)
    );
    IF v_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise_problem(v_problem);
    END IF;
    v_call.signature := mnemo._signature_tokens(p_query);
    IF cardinality(v_call.signature) = 0 THEN
        v_call.reason := 'blank_query';
        RETURN v_call;
    ELSIF cardinality(v_call.signature) > 20000 THEN
        PERFORM mnemo._raise_limit('p_query',
            format('p_query has %s signature tokens, at most 20000 are allowed',
                cardinality(v_call.signature)),
            'shorten it');
    END IF;
    RETURN ROW(
        p_query, v_call.signature, mnemo._digest(v_call.signature),
        mnemo._audiences(v_who.org_id, v_who.agent_id, p_context)
        || mnemo._delegated_audiences(
            v_who.org_id, v_who.agent_id, p_context, statement_timestamp()),
        p_context, v_call.guard, v_call.threshold, v_call.minimum, p_limit, v_who.org_id, v_who.agent_id,
        statement_timestamp(), NULL, v_call.stale
    )::mnemo._recall_input;
END
$fn$;
COMMENT ON FUNCTION mnemo._recall_call(
    text, text, text, double precision, text, text, bigint, text
) IS
    'A call of recall_plan and its kin: who calls, mode, arguments with the settings filled in and '
    'checked.';

CREATE FUNCTION mnemo._near_miss(
    p_org_id text,
    p_plan_id uuid,
    p_similarity double precision,
    p_query text,
    p_guard text
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    RETURN (
        SELECT jsonb_build_object(
                   'id', m.id,
                   'query', m.content,
                   'similarity', p_similarity,
                   'differences', mnemo._guard_differences(p_query, m.content, p_guard)
               )
          FROM mnemo.memory AS m
         WHERE m.org_id = p_org_id AND m.id = p_plan_id
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._near_miss(text, uuid, double precision, text, text) IS
    'A plan that the guard refused, as recall_plan shows it: id, query, similarity, and the '
    'differences in words.';

CREATE FUNCTION mnemo._stale_near_miss(
    p_org_id text,
    p_plan_id uuid,
    p_similarity double precision,
    p_now timestamptz
)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    RETURN (
        SELECT jsonb_build_object(
                   'id', m.id,
                   'query', m.content,
                   'similarity', p_similarity,
                   'differences', '[]'::jsonb,
                   'changed_chunks', mnemo._changed_chunks(p_org_id, p_plan_id, p_now, 10)
               )
          FROM mnemo.memory AS m
         WHERE m.org_id = p_org_id AND m.id = p_plan_id
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._stale_near_miss(text, uuid, double precision, timestamptz) IS
    'A plan that would have been the hit but is stale, as recall_plan shows it: as _near_miss, with '
    'no differences, and up to ten of its chunks that changed.';

-- part: 657_recall.sql
CREATE FUNCTION mnemo._recall(
    p_call mnemo._recall_input,
    p_identical boolean
)
RETURNS TABLE (
    org_id text,
    plan_id uuid,
    similarity double precision,
    candidates_considered bigint,
    reason text,
    near_miss jsonb,
    rank bigint,
    stale boolean
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1
AS $fn$
DECLARE
    v_read record := mnemo._guard(p_call.query);
    v_match record;
    v_refused record;
BEGIN
    rank := 0;
    FOR v_match IN
        SELECT m.*
          FROM mnemo._match_plans(
                p_call, v_read.meaning, v_read.vals, v_read.names, p_identical) AS m
    LOOP
        org_id := v_match.org_id;
        plan_id := v_match.plan_id;
        similarity := v_match.similarity;
        candidates_considered := v_match.considered;
        rank := rank + 1;
        IF plan_id IS NOT NULL THEN
            stale := p_call.stale = 'include'
                AND mnemo._is_stale(org_id, plan_id, p_call.asked_at);
            reason := CASE WHEN similarity = 1 THEN 'exact' ELSE 'similar' END;
            RETURN NEXT;
            CONTINUE;
        END IF;
        reason := 'none_similar';
        stale := false;
        IF v_match.stale OR p_identical AND p_call.stale = 'refuse' THEN
            SELECT s.* INTO v_refused
              FROM mnemo._stale_plan(p_call, v_read.meaning, v_read.vals, v_read.names,
                    p_identical, v_match.stale) AS s;
            IF v_refused.plan_id IS NOT NULL THEN
                reason := 'stale';
                stale := true;
                candidates_considered := greatest(candidates_considered, 1);
                near_miss := mnemo._stale_near_miss(v_refused.org_id, v_refused.plan_id,
                    v_refused.similarity, p_call.asked_at);
                RETURN NEXT;
                CONTINUE;
            END IF;
        END IF;
        v_refused := v_match;
        -- Where the guard is in the keys, they led to few of the plans that it refuses.
        IF p_call.guard = 'strict' AND v_read.meaning # v_read.vals <> 0 THEN
            SELECT r.* INTO v_refused
              FROM mnemo._refused_plan(
                    p_call, v_read.meaning, v_read.vals, v_read.names, p_identical) AS r;
            candidates_considered := greatest(candidates_considered, v_refused.considered);
        END IF;
        IF v_refused.refused_plan_id IS NOT NULL THEN
            reason := 'guarded';
            near_miss := mnemo._near_miss(v_refused.refused_org_id, v_refused.refused_plan_id,
                v_refused.refused_similarity, p_call.query, p_call.guard);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._recall(mnemo._recall_input, boolean) IS
    'What recall_plan and recall_plans share. One row a hit, or one row with the reason of the miss. '
    'p_identical false: no plan has the same signature.';

-- part: 660_recall_plan.sql
CREATE FUNCTION mnemo.recall_plan(
    p_query text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_similarity_threshold double precision DEFAULT NULL,
    p_guard text DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_stale text DEFAULT 'refuse'
)
RETURNS TABLE (
    hit boolean,
    id uuid,
    query text,
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    similarity double precision,
    owner_agent_id text,
    scope text,
    created_at timestamptz,
    candidates_considered bigint,
    reason text,
    near_miss jsonb,
    stale boolean
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_call mnemo._recall_input := mnemo._recall_call(
        p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, 1,
        p_stale);
    v_same mnemo._plan_answer;
    v_identical boolean;
BEGIN
    stale := false;
    IF v_call.reason IS NOT NULL THEN
        hit := false;
        candidates_considered := 0;
        reason := v_call.reason;
        RETURN NEXT;
        RETURN;
    END IF;
    v_same := mnemo._best_identical(v_call, false);
    v_identical := v_same.id IS NOT NULL;
    IF v_same.chunk_ids <> '{}' AND (v_same.query = p_query OR v_call.guard = 'off') THEN
        stale := mnemo._is_stale(
            CASE v_same.scope WHEN 'global' THEN '*' ELSE v_call.org_id END, v_same.id,
            v_call.asked_at);
        IF stale AND v_call.stale = 'refuse' THEN
            v_same := mnemo._best_identical(v_call, true);
            stale := false;
        END IF;
    END IF;
    IF v_same.query = p_query OR v_call.guard = 'off' AND v_same.id IS NOT NULL THEN
        RETURN QUERY
        SELECT true, v_same.id, v_same.query, v_same.steps, v_same.details, v_same.chunk_ids,
               v_same.outcome_score, 1::double precision, v_same.owner_agent_id, v_same.scope,
               v_same.created_at, 1::bigint, 'exact'::text, NULL::jsonb, stale;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT r.plan_id IS NOT NULL, r.plan_id, p.query, p.steps, p.details, p.chunk_ids,
           p.outcome_score, r.similarity, p.owner_agent_id, p.scope, p.created_at,
           r.candidates_considered, r.reason, r.near_miss, r.stale
      FROM mnemo._recall(v_call, v_identical) AS r
      LEFT JOIN LATERAL mnemo._answer_of(r.org_id, r.plan_id) AS p ON true;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall_plan(
    text, text, text, double precision, text, text, text
) IS
    'RECALL_PLAN: the plan to replay for p_query: the one with the highest Jaccard similarity of '
    'signatures of all live plans that the acting agent may read and that were remembered with the '
    'same p_context (NULL equals NULL only); on a tie a plan of the organisation before a global '
    'one, then the higher outcome score, the newer, the higher id. Exact: no plan is left out. '
    'p_guard, NULL for the setting, refuses look-alikes: strict compares meaning (negation, '
    'opposites, order) and values (numbers, names, identifiers, units, times), meaning the first '
    'only, off nothing; mnemo.guard_tokens shows what it reads. Always one row. hit false leaves '
    'the plan''s columns NULL, and reason says why: none_similar (nothing reaches the threshold), '
    'guarded (near_miss names a plan that does and the differences that forbid it), stale (the plans '
    'that would do cite a chunk that changed since: near_miss names the best and up to ten of the '
    'chunks), disabled (experience memory is off), blank_query. p_stale: refuse passes stale plans '
    'over, include lets them win like others; stale says that the hit, or the near miss, is one. candidates_considered: plans that were scored. '
    'p_similarity_threshold: NULL for the setting, else from minimum_threshold to 1. Reads only. Errors: 42501 no '
    'access; 22023 bad argument; 54000 over a limit. After DocTrace (arXiv 2606.10921).';

CREATE FUNCTION mnemo.recall_plans(
    p_query text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_similarity_threshold double precision DEFAULT NULL,
    p_guard text DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_limit bigint DEFAULT 5,
    p_stale text DEFAULT 'refuse'
)
RETURNS TABLE (
    hit boolean,
    id uuid,
    query text,
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    similarity double precision,
    owner_agent_id text,
    scope text,
    created_at timestamptz,
    candidates_considered bigint,
    reason text,
    near_miss jsonb,
    rank bigint,
    stale boolean
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 5
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_call mnemo._recall_input := mnemo._recall_call(
        p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, p_limit,
        p_stale);
BEGIN
    IF v_call.reason IS NOT NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT true, r.plan_id, p.query, p.steps, p.details, p.chunk_ids, p.outcome_score,
           r.similarity, p.owner_agent_id, p.scope, p.created_at, r.candidates_considered,
           r.reason, r.near_miss, r.rank, r.stale
      FROM mnemo._recall(v_call, true) AS r
      CROSS JOIN LATERAL mnemo._answer_of(r.org_id, r.plan_id) AS p
     ORDER BY r.rank;
END
$fn$;
COMMENT ON FUNCTION mnemo.recall_plans(
    text, text, text, double precision, text, text, bigint, text
) IS
    'The best p_limit (1 to 1000) plans for p_query, by the rules and in the order of '
    'mnemo.recall_plan; rank from 1. No rows on a miss. Reads only. Errors: those of '
    'mnemo.recall_plan.';

-- part: 665_invalidate.sql
CREATE FUNCTION mnemo._whole_org_problem(
    p_level text,
    p_org_id text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_role name := mnemo._effective_role();
BEGIN
    IF p_level = 'tenant' AND NOT EXISTS (
        SELECT
          FROM mnemo.role_binding AS b
          JOIN pg_roles AS g ON g.rolname = b.role_name
         WHERE pg_has_role(v_role, g.oid, 'USAGE') AND b.org_id = p_org_id AND b.agent_id IS NULL
    ) THEN
        RETURN mnemo._access(
            format('role %I is bound to single agents of organisation %s, and what it says of '
                'chunks counts for the plans of all', v_role, p_org_id),
            'p_org_id', 'bind the role to the organisation, or use a role of level application');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._whole_org_problem(text, text) IS
    'The problem 42501 of a tenant that is not bound to the organisation as a whole, so that it does '
    'not hold write on every plan there; NULL for none.';

CREATE FUNCTION mnemo._write_stale_event(
    p_org_id text,
    p_agent_id text,
    p_chunks bigint,
    p_reason text
)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_id uuid := mnemo._new_id();
    v_salt bytea := CASE WHEN p_reason IS NOT NULL THEN uuid_send(gen_random_uuid()) END;
BEGIN
    INSERT INTO mnemo.event (
        org_id, id, agent_id, event_type, memory_org_id, memory_id, actor_org_id, actor_agent_id,
        happened_at, content_hash, changes, note_hash
    )
    VALUES (
        p_org_id, v_id, p_agent_id, 'plan_stale', p_org_id, NULL, p_org_id, p_agent_id, now(),
        NULL, jsonb_build_object('chunks', p_chunks), mnemo._note_hash(v_salt, p_reason)
    );
    IF p_reason IS NOT NULL THEN
        INSERT INTO mnemo.event_note (org_id, event_id, salt, note)
        VALUES (p_org_id, v_id, v_salt, p_reason);
    END IF;
    PERFORM mnemo._seal_if_many(p_org_id, p_agent_id, 1);
END
$fn$;
COMMENT ON FUNCTION mnemo._write_stale_event(text, text, bigint, text) IS
    'Writes the event of p_chunks chunks that changed, in the chain of the agent that says so: one '
    'for all, about no record. The reason is a note, which can be erased.';

CREATE FUNCTION mnemo.invalidate_chunks(
    p_ids text[],
    p_source text DEFAULT '',
    p_reason text DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (source text, chunks bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._whole_org_problem(v_caller.level, v_caller.org_id));
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        CASE WHEN p_ids IS NULL THEN
            mnemo._argument('p_ids', 'p_ids must not be NULL', 'pass the ids as an array')
        END,
        mnemo._list_problem('p_ids', p_ids, 10000, 1048576, 'chunk ids'),
        mnemo._source_problem('p_source', p_source),
        mnemo._texts_problem(ARRAY['p_reason'], ARRAY[p_reason], 10000)
    ]));
    source := coalesce(p_source, '');
    -- In one order, so that callers with the same ids in any order wait for each other and no more.
    INSERT INTO mnemo.chunk_state AS s (org_id, source, chunk_id, version, changed_at)
    SELECT v_caller.org_id, invalidate_chunks.source, i.id, 1, clock_timestamp()
      FROM (
        SELECT DISTINCT mnemo._chunk_key(t.id) COLLATE "C" AS id FROM unnest(p_ids) AS t(id)
      ) AS i
     ORDER BY i.id
    ON CONFLICT ON CONSTRAINT chunk_state_pkey DO UPDATE
       SET version = s.version + 1, changed_at = greatest(s.changed_at, clock_timestamp());
    GET DIAGNOSTICS chunks = ROW_COUNT;
    IF chunks > 0 THEN
        PERFORM mnemo._write_stale_event(
            v_caller.org_id, v_caller.agent_id, chunks, p_reason);
    END IF;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.invalidate_chunks(text[], text, text, text, text) IS
    'Says that chunks changed or went: plans of the organisation that cite one of them and were '
    'remembered before are stale from now on, also global ones that it wrote. p_ids: up to 10,000 '
    'ids; unknown ones count as well. p_source: where the ids come from, as p_chunk_source of '
    'mnemo.remember_plan; the same id of another source, or of another organisation, is another '
    'chunk. Writes a row a chunk and one event, plan_stale, in the caller''s transaction, whatever '
    'the number of plans; the same again does no harm. p_reason: why, up to 10,000 characters, kept '
    'beside the event and erasable; NULL for none. Returns source and chunks, how many different '
    'ids were given. A tenant must be bound to the organisation, not to an agent of it. Errors: '
    '42501 no access; 22023 bad argument, NULL or blank id; 54000 over a limit.';

CREATE FUNCTION mnemo.revalidate_plan(
    p_id uuid,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (id uuid, was_stale boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_plan mnemo.memory;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._id_problem(p_id));
    v_plan := mnemo._lock_changeable(
        p_id, v_caller.level, v_caller.org_id, v_caller.agent_id, 'write');
    IF NOT v_plan.tags @> ARRAY[mnemo._reserved_tag()] THEN
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
    id := p_id;
    was_stale := mnemo._is_stale(v_plan.org_id, p_id, clock_timestamp());
    IF was_stale THEN
        INSERT INTO mnemo.plan_check AS c (org_id, plan_id, checked_at, memory_versions)
        SELECT v_plan.org_id, p_id, clock_timestamp(),
               CASE WHEN p.then_versions IS NOT NULL THEN
                   mnemo._memory_states(
                       p.org_id, p.chunk_ids, p.then_versions, clock_timestamp()) END
          FROM mnemo._cited(v_plan.org_id, p_id) AS p
        ON CONFLICT ON CONSTRAINT plan_check_pkey DO UPDATE
           SET checked_at = excluded.checked_at, memory_versions = excluded.memory_versions;
        PERFORM mnemo._write_event(v_plan, 'plan_revalidated', v_caller.org_id,
            v_caller.agent_id, '{}');
    END IF;
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.revalidate_plan(uuid, text, text) IS
    'Says that a plan is right although chunks that it cites changed: the changes up to now do not '
    'make it stale any more, later ones do. Needs permission write on it. Writes an event, '
    'plan_revalidated, and nothing where the plan is not stale. Returns id and was_stale. Errors: '
    '42501 no access, permission missing, a global plan and a tenant; MN001 unknown, gone or '
    'invisible, or no plan; 22023 NULL.';

-- part: 667_watch.sql
-- Tables of the application's own that are watched: triggers there report what changed.
--
-- The trigger's function runs with the rights of the owner of schema mnemo, so that whoever may
-- change the table need not have any here. What it does is fixed by the trigger, which only the
-- table's owner, or who was given TRIGGER, can make, and only with a level: see _may_watch. Values of
-- the table are read by the output functions of their types, which are the server's own, and never
-- by a cast, which could be somebody's.

CREATE FUNCTION mnemo._may_watch(
    p_table oid
)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN coalesce(mnemo._level_of((
    SELECT r.rolname
      FROM pg_class AS c
      JOIN pg_roles AS r ON r.oid = c.relowner
     WHERE c.oid = p_table)) IN ('application', 'admin'), false);
COMMENT ON FUNCTION mnemo._may_watch(oid) IS
    'Whether the owner of the table may speak for any organisation, as levels application and admin.';

CREATE FUNCTION mnemo._watched_ids(
    p_update boolean,
    p_id_column text,
    p_version_column text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN NOT p_update THEN
        format('SELECT concat(o.%1$I) AS id FROM mnemo_old AS o', p_id_column)
    WHEN p_version_column = '' THEN
        format('SELECT concat(o.%1$I) AS id FROM mnemo_old AS o'
            ' UNION SELECT concat(n.%1$I) FROM mnemo_new AS n', p_id_column)
    ELSE
        -- No key tells which row became which: what stands on one side only has changed.
        format('SELECT d.id FROM ('
            '(SELECT concat(o.%1$I) AS id, o.%2$I IS NULL, concat(o.%2$I) FROM mnemo_old AS o'
            ' EXCEPT ALL SELECT concat(n.%1$I), n.%2$I IS NULL, concat(n.%2$I) FROM mnemo_new AS n)'
            ' UNION ALL'
            ' (SELECT concat(n.%1$I), n.%2$I IS NULL, concat(n.%2$I) FROM mnemo_new AS n'
            ' EXCEPT ALL SELECT concat(o.%1$I), o.%2$I IS NULL, concat(o.%2$I) FROM mnemo_old AS o)'
            ') AS d', p_id_column, p_version_column)
END;
COMMENT ON FUNCTION mnemo._watched_ids(boolean, text, text) IS
    'The query for the ids of the rows that a statement changed, by its transition tables: made of '
    'the names of columns alone.';

CREATE FUNCTION mnemo._chunk_table_changed() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- Ids must be written as in every other session.
SET DateStyle = 'ISO'
SET TimeZone = 'UTC'
SET bytea_output = 'hex'
SET extra_float_digits = 1
SET jit = off
AS $fn$
DECLARE
    v_id_column text := TG_ARGV[0];
    v_version_column text := TG_ARGV[1];
    v_ids text := 'SELECT '''' AS id';
    v_chunks bigint;
BEGIN
    IF NOT mnemo._may_watch(TG_RELID) THEN
        PERFORM mnemo._raise_access(
            format('table %s is watched, and its owner has no level in mnemo_pg', TG_RELID::regclass),
            jsonb_build_object('table', TG_RELID::regclass),
            'grant its owner level application, or drop the triggers mnemo_watch_...');
    ELSIF TG_OP <> 'TRUNCATE' THEN
        IF (SELECT count(*) FROM pg_attribute AS a
             WHERE a.attrelid = TG_RELID AND NOT a.attisdropped
               AND a.attname IN (v_id_column, v_version_column))
           < (CASE WHEN v_version_column IN ('', v_id_column) THEN 1 ELSE 2 END)
        THEN
            PERFORM mnemo._raise_argument('p_id_column',
                format('table %s is watched by a column that it does not have any more',
                    TG_RELID::regclass),
                'call mnemo.watch_table again with the new name, or mnemo.unwatch_table');
        END IF;
        v_ids := mnemo._watched_ids(TG_OP = 'UPDATE', v_id_column, v_version_column);
    END IF;
    EXECUTE format(
        'INSERT INTO mnemo.chunk_state AS s (org_id, source, chunk_id, version, changed_at)'
        ' SELECT $1, $2, i.id, 1, clock_timestamp()'
        ' FROM (SELECT DISTINCT mnemo._chunk_key(t.id) COLLATE "C" AS id FROM (%s) AS t'
        ' WHERE t.id <> '''' OR $3) AS i ORDER BY i.id'
        ' ON CONFLICT ON CONSTRAINT chunk_state_pkey DO UPDATE'
        ' SET version = s.version + 1, changed_at = greatest(s.changed_at, clock_timestamp())', v_ids)
    USING TG_ARGV[3], TG_ARGV[2], TG_OP = 'TRUNCATE';
    GET DIAGNOSTICS v_chunks = ROW_COUNT;
    IF v_chunks > 0 THEN
        PERFORM mnemo._write_stale_event(TG_ARGV[3], TG_ARGV[4], v_chunks, NULL);
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._chunk_table_changed() IS
    'The function of the triggers that mnemo.watch_table makes; arguments: id column, version column '
    'or empty, source, organisation, agent. Reports the ids that a statement changed or removed, a '
    'TRUNCATE as the whole source, with one event. Levels application and admin may use it in '
    'triggers.';

CREATE FUNCTION mnemo._descendants(
    p_table oid
)
RETURNS TABLE (relid oid)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE found(relid) AS (
        SELECT p_table
         UNION
        SELECT i.inhrelid FROM found AS f JOIN pg_inherits AS i ON i.inhparent = f.relid
    )
    SELECT f.relid FROM found AS f;
END;
COMMENT ON FUNCTION mnemo._descendants(oid) IS
    'A table, its partitions and the tables that inherit from it.';

CREATE FUNCTION mnemo._watch_problem(
    p_table regclass,
    p_id_column text,
    p_version_column text
)
RETURNS mnemo._problem
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_table record;
    v_missing text;
BEGIN
    SELECT c.relkind, c.relnamespace = 'mnemo'::regnamespace AS ours,
           pg_get_userbyid(c.relowner) AS owner
      INTO v_table
      FROM pg_class AS c WHERE c.oid = p_table;
    IF NOT FOUND OR v_table.relkind NOT IN ('r', 'p') OR v_table.ours THEN
        RETURN mnemo._argument('p_table',
            'p_table must be a table of the application; got ' || coalesce(p_table::text, 'NULL'),
            'name the table that holds the chunks, with its schema');
    ELSIF NOT mnemo._may_watch(p_table) THEN
        RETURN mnemo._access(
            format('the owner of table %s, %I, has neither level application nor admin',
                p_table, v_table.owner),
            'p_table', format('an administrator runs: SELECT mnemo.grant_access(%L, ''application'')',
                v_table.owner));
    ELSIF p_id_column IS NULL THEN
        RETURN mnemo._argument('p_id_column', 'p_id_column must not be NULL',
            'name the column whose values plans cite as chunk ids');
    END IF;
    SELECT n.parameter INTO v_missing
      FROM (VALUES ('p_id_column', p_id_column), ('p_version_column', p_version_column))
           AS n(parameter, name)
     WHERE n.name IS NOT NULL AND NOT EXISTS (
            SELECT FROM pg_attribute AS a
             WHERE a.attrelid = p_table AND a.attname = n.name AND a.attnum > 0
               AND NOT a.attisdropped)
     ORDER BY n.parameter
     LIMIT 1;
    IF v_missing IS NOT NULL THEN
        RETURN mnemo._argument(v_missing,
            format('%s must be a column of %s; got %s', v_missing, p_table, mnemo._shown(
                CASE v_missing WHEN 'p_id_column' THEN p_id_column ELSE p_version_column END)),
            'names of columns are compared exactly, without quotes');
    ELSIF EXISTS (
        SELECT FROM mnemo._descendants(p_table) AS d
          JOIN pg_class AS c ON c.oid = d.relid
         WHERE c.relkind = 'f'
    ) THEN
        RETURN mnemo._argument('p_table',
            format('p_table has foreign tables below it: %s', p_table),
            'PostgreSQL keeps no record of what changes in them; call mnemo.invalidate_chunks');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._watch_problem(regclass, text, text) IS
    'The first problem of what is to be watched; NULL for none.';

-- part: 668_watch_table.sql
CREATE FUNCTION mnemo.watch_statements(
    p_table regclass,
    p_id_column text DEFAULT NULL,
    p_version_column text DEFAULT NULL,
    p_source text DEFAULT '',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (rank bigint, statement text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 3
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    IF p_id_column IS NOT NULL THEN
        PERFORM mnemo._raise_problem(coalesce(
            mnemo._whole_org_problem(v_caller.level, v_caller.org_id),
            mnemo._first_problem(ARRAY[
                mnemo._watch_problem(p_table, p_id_column, p_version_column),
                mnemo._source_problem('p_source', p_source)
            ])
        ));
    ELSIF p_table IS NULL THEN
        PERFORM mnemo._raise_argument('p_table', 'p_table must not be NULL',
            'name the table that holds the chunks, with its schema');
    END IF;
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY s.place, s.relid::regclass::text, s.statement), s.statement
      FROM (
        SELECT 1 AS place, d.relid,
               format('DROP TRIGGER %I ON %s', t.tgname, d.relid::regclass) AS statement
          FROM mnemo._descendants(p_table) AS d
          JOIN pg_trigger AS t ON t.tgrelid = d.relid
          JOIN pg_proc AS p ON p.oid = t.tgfoid
         WHERE p.pronamespace = 'mnemo'::regnamespace AND p.proname = '_chunk_table_changed'
        UNION ALL
        SELECT 2, d.relid,
               format('CREATE TRIGGER mnemo_watch_%s AFTER %s ON %s%s FOR EACH STATEMENT'
                       ' EXECUTE FUNCTION mnemo._chunk_table_changed(%L, %L, %L, %L, %L)',
                   lower(e.event), e.event, d.relid::regclass, e.tables, p_id_column,
                   coalesce(p_version_column, ''), coalesce(p_source, ''), v_caller.org_id,
                   v_caller.agent_id)
          FROM mnemo._descendants(p_table) AS d
          CROSS JOIN (VALUES
            ('UPDATE', ' REFERENCING OLD TABLE AS mnemo_old NEW TABLE AS mnemo_new'),
            ('DELETE', ' REFERENCING OLD TABLE AS mnemo_old'),
            ('TRUNCATE', '')
          ) AS e(event, tables)
         WHERE p_id_column IS NOT NULL
      ) AS s
     ORDER BY 1;
END
$fn$;
COMMENT ON FUNCTION mnemo.watch_statements(regclass, text, text, text, text, text) IS
    'The statements that mnemo.watch_table runs for these arguments, and with p_id_column NULL those '
    'of mnemo.unwatch_table, in their order: to read them before, or to put them into a migration. '
    'Reads only. Errors: those of mnemo.watch_table.';

CREATE FUNCTION mnemo.watch_table(
    p_table regclass,
    p_id_column text,
    p_version_column text DEFAULT NULL,
    p_source text DEFAULT '',
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_statement text;
    v_count bigint := 0;
BEGIN
    -- With the rights of the caller: triggers belong to the owner of the table.
    FOR v_statement IN
        SELECT s.statement
          FROM mnemo.watch_statements(p_table, coalesce(p_id_column, ''), p_version_column,
                p_source, p_agent_id, p_org_id) AS s
         ORDER BY s.rank
    LOOP
        EXECUTE v_statement;
        v_count := v_count + (v_statement LIKE 'CREATE %')::integer;
    END LOOP;
    -- Three triggers a table.
    RETURN v_count / 3;
END
$fn$;
COMMENT ON FUNCTION mnemo.watch_table(regclass, text, text, text, text, text) IS
    'Watches a table of the application that holds chunks: from now on UPDATE and DELETE there make '
    'the plans stale that cite the rows, in the same transaction. p_id_column: whose values, as '
    'text, plans cite as chunk ids; rows where it is NULL or empty do not count. p_version_column: '
    'an update counts only if it changes this or the id; NULL: every update counts. TRUNCATE makes '
    'all plans of the source stale. INSERT and COPY cost nothing. p_source: the source of the ids, '
    'best one of its own for each table. Makes three triggers a table, for partitions and tables '
    'that inherit too, those that are there already; replaces an earlier watch. To be run by the '
    'owner of the table, who needs level application or admin; whoever changes the table needs '
    'nothing. p_agent_id, p_org_id: whose plans, and who acts in the events. Returns the number of '
    'tables. Errors: 42501 no access, not the owner; 22023 no table of the application, no such '
    'column; 54000 over a limit.';

CREATE FUNCTION mnemo.unwatch_table(
    p_table regclass,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_statement text;
    v_count bigint := 0;
BEGIN
    FOR v_statement IN
        SELECT s.statement
          FROM mnemo.watch_statements(
                p_table, p_agent_id => p_agent_id, p_org_id => p_org_id) AS s
         ORDER BY s.rank
    LOOP
        EXECUTE v_statement;
        v_count := v_count + 1;
    END LOOP;
    RETURN v_count;
END
$fn$;
COMMENT ON FUNCTION mnemo.unwatch_table(regclass, text, text) IS
    'Ends what mnemo.watch_table began, for the table, its partitions and the tables that inherit '
    'from it; what is stale stays so. To be run by the owner of the table. Returns the number of '
    'triggers dropped, 0 for a table that was not watched. Errors: 42501 no access, not the owner; '
    '22023 NULL.';

-- part: 670_list_plans.sql
CREATE FUNCTION mnemo.get_plan(
    p_id uuid,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    id uuid,
    org_id text,
    origin_org_id text,
    owner_agent_id text,
    scope text,
    query text,
    signature_tokens text[],
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    context text,
    tags text[],
    thread_id text,
    source_id text,
    consolidation_state text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    expires_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all arguments: look-ups by key.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._id_problem(p_id));
    RETURN QUERY
    SELECT p.id, p.org_id, p.origin_org_id, p.owner_agent_id, p.scope, p.query,
           p.signature_tokens, p.steps, p.details, p.chunk_ids, p.outcome_score, p.context,
           p.tags, p.thread_id, p.source_id, p.consolidation_state, p.version, p.created_at,
           p.updated_at, p.expires_at
      FROM mnemo._held(
            v_caller.org_id, v_caller.agent_id, ARRAY[p_id], statement_timestamp()) AS h
      CROSS JOIN LATERAL mnemo._plan_of(h.org_id, h.id) AS p;
    IF NOT FOUND THEN
        PERFORM mnemo._raise_not_found('p_id', ARRAY[p_id]);
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo.get_plan(uuid, text, text) IS
    'One plan that the acting agent may read, the mode of experience memory aside. Errors: 42501 no '
    'access; MN001 unknown, gone, invisible, or no plan; 22023 NULL.';

CREATE FUNCTION mnemo.list_plans(
    p_limit bigint DEFAULT 50,
    p_after uuid DEFAULT NULL,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    org_id text,
    origin_org_id text,
    owner_agent_id text,
    scope text,
    query text,
    signature_tokens text[],
    steps text[],
    details jsonb,
    chunk_ids text[],
    outcome_score double precision,
    context text,
    tags text[],
    thread_id text,
    source_id text,
    consolidation_state text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    expires_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 50
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
-- One plan for all calls: to make one costs ten times what a page does. The planner does not know
-- what share of records are plans, and is not to sort all for a page.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $fn$
DECLARE
    v_caller record;
    v_now timestamptz := statement_timestamp();
    v_before uuid := coalesce(p_after, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._limit_problem(p_limit));
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY v.id DESC), p.id, p.org_id, p.origin_org_id,
           p.owner_agent_id, p.scope, p.query, p.signature_tokens, p.steps, p.details, p.chunk_ids,
           p.outcome_score, p.context, p.tags, p.thread_id, p.source_id, p.consolidation_state,
           p.version, p.created_at, p.updated_at, p.expires_at
      FROM (
        -- The limit in each branch: each is read from its index only as far as it goes.
        (SELECT m.org_id, m.id
           FROM mnemo._visible_own(v_caller.org_id, v_caller.agent_id, v_now) AS m
          WHERE m.tags @> ARRAY['__experience_plan__'] AND m.id < v_before
          ORDER BY m.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT m.org_id, m.id
           FROM mnemo._visible_public(v_caller.org_id, v_caller.agent_id, v_now) AS m
          WHERE m.tags @> ARRAY['__experience_plan__'] AND m.id < v_before
          ORDER BY m.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT m.org_id, m.id
           FROM mnemo._visible_granted(v_caller.org_id, v_caller.agent_id, v_now) AS m
          WHERE m.tags @> ARRAY['__experience_plan__'] AND m.id < v_before
          ORDER BY m.id DESC
          LIMIT p_limit)
        UNION ALL
        (SELECT o.org_id, o.id
           FROM mnemo._delegated_lists(v_caller.org_id, v_caller.agent_id, NULL, v_now) AS l
          CROSS JOIN LATERAL (
            (SELECT m.org_id, m.id
               FROM mnemo._visible_own(v_caller.org_id, l.giver, v_now) AS m
              WHERE l.kind = 'owner' AND m.tags @> ARRAY['__experience_plan__']
                AND m.id < v_before AND m.scope = 'shared'
                AND EXISTS (
                    SELECT FROM mnemo._delegated(
                        m, l.list, v_caller.org_id, v_caller.agent_id, NULL, v_now))
              ORDER BY m.id DESC
              LIMIT p_limit)
            UNION ALL
            (SELECT m.org_id, m.id
               FROM mnemo.acl AS a
              CROSS JOIN LATERAL mnemo._record(v_caller.org_id, a.memory_id) AS m
              WHERE l.kind = 'grantee' AND a.org_id = v_caller.org_id AND a.agent_id = l.giver
                AND a.permission = 'share' AND a.memory_id < v_before
                AND m.tags @> ARRAY['__experience_plan__'] AND mnemo._is_live(m, v_now)
                AND EXISTS (
                    SELECT FROM mnemo._delegated(
                        m, l.list, v_caller.org_id, v_caller.agent_id, NULL, v_now))
              ORDER BY m.id DESC
              LIMIT p_limit)
          ) AS o)
        UNION ALL
        (SELECT m.org_id, m.id
           FROM mnemo._visible_global(v_now) AS m
          WHERE m.tags @> ARRAY['__experience_plan__'] AND m.id < v_before
          ORDER BY m.id DESC
          LIMIT p_limit)
        ORDER BY id DESC
        LIMIT p_limit
      ) AS v
      CROSS JOIN LATERAL mnemo._plan_of(v.org_id, v.id) AS p
     ORDER BY v.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo.list_plans(bigint, uuid, text, text) IS
    'The plans that the acting agent may read, newest first (by id), the mode of experience memory '
    'aside. p_limit: 1 to 1000. p_after: id of the last row of the page before, NULL for the first '
    'page. Errors: 42501 no access; 22023 bad limit.';

-- part: 680_plan_view.sql
CREATE FUNCTION mnemo._is_admin() RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._level_of(mnemo._effective_role()) IS NOT DISTINCT FROM 'admin';
END
$fn$;
COMMENT ON FUNCTION mnemo._is_admin() IS
    'Whether the caller has level admin. A view calls functions with its user''s privileges, so '
    'administrators may execute this one.';

-- A barrier, or a cheap function of the reader's would be run before the level is looked at.
CREATE VIEW mnemo.plan WITH (security_barrier) AS
SELECT p.id,
       p.org_id,
       p.origin_org_id,
       p.owner_agent_id,
       p.scope,
       p.query,
       p.signature_tokens,
       p.steps,
       p.details,
       p.chunk_ids,
       p.outcome_score,
       p.context,
       p.tags,
       p.thread_id,
       p.source_id,
       p.consolidation_state,
       p.version,
       p.created_at,
       p.updated_at,
       p.expires_at,
       p.signature_size,
       p.quarantined,
       p.deleted_at,
       p.content_hash
  FROM mnemo._plan AS p
 WHERE mnemo._is_admin();
COMMENT ON VIEW mnemo.plan IS
    'The plans of every organisation as typed columns, live or not. For administrators: nobody '
    'else sees a row; applications use recall_plan, list_plans and get_plan.';
COMMENT ON COLUMN mnemo.plan.id IS 'Id of the plan.';
COMMENT ON COLUMN mnemo.plan.org_id IS 'Organisation that sees it; * for global plans.';
COMMENT ON COLUMN mnemo.plan.origin_org_id IS 'Organisation that wrote it.';
COMMENT ON COLUMN mnemo.plan.owner_agent_id IS 'Agent that owns it.';
COMMENT ON COLUMN mnemo.plan.scope IS 'private, shared, public or global.';
COMMENT ON COLUMN mnemo.plan.query IS 'The question that the plan answered.';
COMMENT ON COLUMN mnemo.plan.signature_tokens IS 'Tokens of the query, sorted by code point.';
COMMENT ON COLUMN mnemo.plan.steps IS 'What was done, in order.';
COMMENT ON COLUMN mnemo.plan.details IS 'JSON array, one value a step; NULL when none were given.';
COMMENT ON COLUMN mnemo.plan.chunk_ids IS 'Chunks that led to the answer.';
COMMENT ON COLUMN mnemo.plan.outcome_score IS 'How well it worked, from 0 to 1.';
COMMENT ON COLUMN mnemo.plan.context IS 'What the plan depends on; NULL for nothing.';
COMMENT ON COLUMN mnemo.plan.tags IS 'The caller''s tags.';
COMMENT ON COLUMN mnemo.plan.thread_id IS 'Conversation or run; NULL for none.';
COMMENT ON COLUMN mnemo.plan.source_id IS 'Identifier of the source; NULL when unknown.';
COMMENT ON COLUMN mnemo.plan.consolidation_state IS 'Live in raw, active, pending, consolidated.';
COMMENT ON COLUMN mnemo.plan.version IS 'Counts the changes, from 1.';
COMMENT ON COLUMN mnemo.plan.created_at IS 'When it was remembered.';
COMMENT ON COLUMN mnemo.plan.updated_at IS 'When its record last changed.';
COMMENT ON COLUMN mnemo.plan.expires_at IS 'From then on not recalled; NULL for never.';
COMMENT ON COLUMN mnemo.plan.signature_size IS 'Number of tokens.';
COMMENT ON COLUMN mnemo.plan.quarantined IS 'Held back from recall.';
COMMENT ON COLUMN mnemo.plan.deleted_at IS 'When it was deleted; NULL while it lives.';
COMMENT ON COLUMN mnemo.plan.content_hash IS 'SHA-256 of the record (docs/hash-format.md).';

-- part: 685_stats_views.sql
-- Barriers, or a cheap function of the reader's would be run before the level is looked at. A view
-- calls functions with its reader's privileges, so what mnemo._is_live says is written out here.
CREATE VIEW mnemo.agent_stats WITH (security_barrier) AS
SELECT r.org_id,
       r.origin_org_id,
       r.agent_id,
       count(*) FILTER (WHERE r.is_live AND NOT r.is_plan) AS memories,
       count(*) FILTER (WHERE r.is_live AND r.is_plan) AS plans,
       count(*) FILTER (WHERE r.quarantined AND r.deleted_at IS NULL) AS quarantined,
       count(*) FILTER (WHERE r.deleted_at IS NULL AND r.expires_at <= now()) AS expired,
       count(*) FILTER (WHERE r.deleted_at IS NOT NULL) AS deleted,
       min(r.created_at) AS first_written_at,
       max(r.created_at) AS last_written_at
  FROM (
    SELECT m.org_id, m.origin_org_id, m.agent_id, m.quarantined, m.deleted_at, m.expires_at,
           m.created_at,
           m.tags @> ARRAY['__experience_plan__'] AS is_plan,
           m.deleted_at IS NULL AND NOT m.quarantined
               AND m.consolidation_state IN ('raw', 'active', 'pending', 'consolidated')
               AND (m.expires_at IS NULL OR m.expires_at > now()) AS is_live
      FROM mnemo.memory AS m
  ) AS r
 WHERE mnemo._is_admin()
 GROUP BY r.org_id, r.origin_org_id, r.agent_id;
COMMENT ON VIEW mnemo.agent_stats IS
    'How many records each agent holds, counted when asked, for administrators: nobody else sees a '
    'row. Global records stand under org_id *.';
COMMENT ON COLUMN mnemo.agent_stats.org_id IS 'Organisation that sees the records; * for global.';
COMMENT ON COLUMN mnemo.agent_stats.origin_org_id IS 'Organisation of the agent.';
COMMENT ON COLUMN mnemo.agent_stats.agent_id IS 'The agent that owns them.';
COMMENT ON COLUMN mnemo.agent_stats.memories IS 'Live records that are no plans.';
COMMENT ON COLUMN mnemo.agent_stats.plans IS 'Live plans.';
COMMENT ON COLUMN mnemo.agent_stats.quarantined IS 'Records held back, plans included.';
COMMENT ON COLUMN mnemo.agent_stats.expired IS 'Records past their time that sweep has not met.';
COMMENT ON COLUMN mnemo.agent_stats.deleted IS 'Records that are softly deleted or redacted.';
COMMENT ON COLUMN mnemo.agent_stats.first_written_at IS 'When the oldest was written.';
COMMENT ON COLUMN mnemo.agent_stats.last_written_at IS 'When the newest was written.';

CREATE VIEW mnemo.stats WITH (security_barrier) AS
SELECT a.org_id,
       count(*) AS agents,
       sum(a.memories)::bigint AS memories,
       sum(a.plans)::bigint AS plans,
       sum(a.quarantined)::bigint AS quarantined,
       sum(a.expired)::bigint AS expired,
       sum(a.deleted)::bigint AS deleted,
       (SELECT count(*) FROM mnemo.acl AS g WHERE g.org_id = a.org_id) AS grants,
       (SELECT count(*) FROM mnemo.event AS e WHERE e.org_id = a.org_id) AS events,
       (SELECT count(*) FROM mnemo.event AS e WHERE e.org_id = a.org_id AND e.seq IS NULL)
           AS unsealed_events,
       min(a.first_written_at) AS first_written_at,
       max(a.last_written_at) AS last_written_at
  FROM mnemo.agent_stats AS a
 GROUP BY a.org_id;
COMMENT ON VIEW mnemo.stats IS
    'How much each organisation holds, counted when asked, for administrators: nobody else sees a '
    'row. Global records stand under org_id *; their events under the organisation that wrote them.';
COMMENT ON COLUMN mnemo.stats.org_id IS 'The organisation; * for global records.';
COMMENT ON COLUMN mnemo.stats.agents IS 'Agents that own at least one record, deleted ones included.';
COMMENT ON COLUMN mnemo.stats.memories IS 'Live records that are no plans.';
COMMENT ON COLUMN mnemo.stats.plans IS 'Live plans.';
COMMENT ON COLUMN mnemo.stats.quarantined IS 'Records held back, plans included.';
COMMENT ON COLUMN mnemo.stats.expired IS 'Records past their time that sweep has not met.';
COMMENT ON COLUMN mnemo.stats.deleted IS 'Records that are softly deleted or redacted.';
COMMENT ON COLUMN mnemo.stats.grants IS 'Grants on records of the organisation.';
COMMENT ON COLUMN mnemo.stats.events IS 'Events of its agents.';
COMMENT ON COLUMN mnemo.stats.unsealed_events IS 'Of these, how many no chain holds yet.';
COMMENT ON COLUMN mnemo.stats.first_written_at IS 'When the oldest record was written.';
COMMENT ON COLUMN mnemo.stats.last_written_at IS 'When the newest record was written.';

-- part: 690_explain.sql
CREATE FUNCTION mnemo._explain_candidates(
    p_call mnemo._recall_input,
    p_least double precision
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    query text,
    similarity double precision,
    outcome_score double precision,
    shared_tokens text[],
    only_asked text[],
    only_stored text[],
    guard_differences text[],
    state text,
    threshold double precision,
    verdict text
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 20
SET search_path = pg_catalog, mnemo, pg_temp
SET enable_seqscan = off
SET jit = off
AS $fn$
DECLARE
    v_probe record := mnemo._probe(p_call, p_least, 0);
    v_read record := mnemo._guard(p_call.query);
BEGIN
    RETURN QUERY
    WITH candidate AS MATERIALIZED (
        SELECT s.org_id, s.plan_id, s.signature, s.outcome_score, s.created_at,
               mnemo._agrees(s, p_call.guard, v_read.meaning, v_read.vals, v_read.names,
                   p_call.signature) AS agrees
          FROM mnemo._similar(
                v_probe.keys, p_call.org_id, p_call.audiences, p_call.context, p_call.asked_at,
                v_probe.sketch, v_probe.long_sketch, cardinality(p_call.signature), p_least) AS s
          CROSS JOIN LATERAL mnemo._counts(
                s.org_id, s.plan_id, p_call.asked_at, s.audience = ANY (p_call.audiences[5:]),
                s.audience, p_call.agent_id, p_call.context)
    ), scored AS (
        SELECT c.*, mnemo._jaccard(c.signature, p_call.signature) AS similarity FROM candidate AS c
    ), ranked AS (
        SELECT s.*,
               s.agrees AND s.similarity >= p_call.threshold AS fits,
               s.agrees AND s.similarity >= p_call.threshold AND p_call.stale = 'refuse'
               AND mnemo._is_stale(s.org_id, s.plan_id, p_call.asked_at) AS stale,
               row_number() OVER (
                   ORDER BY s.similarity DESC, s.org_id = '*', s.outcome_score DESC,
                            s.created_at DESC, s.plan_id DESC
               ) AS place
          FROM scored AS s
         WHERE s.similarity >= p_least
    ), nearest AS (
        -- What is replayed is always shown, however many were refused before it.
        SELECT r.*
          FROM ranked AS r
         WHERE r.place <= 20 OR r.place = (
                SELECT min(f.place) FROM ranked AS f WHERE f.fits AND NOT f.stale)
    ), judged AS (
        SELECT n.*, m.content, m.consolidation_state,
               mnemo._guard_differences(p_call.query, m.content, p_call.guard) AS differences
          FROM nearest AS n
          JOIN mnemo.memory AS m ON m.org_id = n.org_id AND m.id = n.plan_id
    )
    SELECT o.place, o.plan_id, o.content, o.similarity, o.outcome_score,
           ARRAY(SELECT t.token FROM unnest(o.signature) AS t(token)
                  WHERE t.token = ANY (p_call.signature)),
           ARRAY(SELECT t.token FROM unnest(p_call.signature) AS t(token)
                  WHERE t.token <> ALL (o.signature)),
           ARRAY(SELECT t.token FROM unnest(o.signature) AS t(token)
                  WHERE t.token <> ALL (p_call.signature)),
           o.differences, o.consolidation_state, p_call.threshold,
           CASE WHEN o.similarity < p_call.threshold THEN 'below_threshold'
                WHEN NOT o.fits THEN 'guarded'
                WHEN o.stale THEN 'stale'
                WHEN o.place = min(o.place) FILTER (WHERE o.fits AND NOT o.stale) OVER ()
                THEN 'replayed'
                ELSE 'outranked' END
      FROM judged AS o
     ORDER BY o.place;
END
$fn$;
COMMENT ON FUNCTION mnemo._explain_candidates(mnemo._recall_input, double precision) IS
    'The 20 nearest live plans that the agent may read, from similarity p_least on, and the one that '
    'is replayed, each with its verdict.';

CREATE FUNCTION mnemo.explain_recall_plan(
    p_query text,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_similarity_threshold double precision DEFAULT NULL,
    p_guard text DEFAULT NULL,
    p_context text DEFAULT NULL,
    p_stale text DEFAULT 'refuse'
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    query text,
    similarity double precision,
    outcome_score double precision,
    shared_tokens text[],
    only_asked text[],
    only_stored text[],
    guard_differences text[],
    state text,
    threshold double precision,
    verdict text
)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 20
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_call mnemo._recall_input := mnemo._recall_call(
        p_query, p_agent_id, p_org_id, p_similarity_threshold, p_guard, p_context, 1,
        p_stale);
BEGIN
    IF v_call.reason IS NULL THEN
        RETURN QUERY
        SELECT e.*
          FROM mnemo._explain_candidates(v_call, least(v_call.threshold, v_call.minimum)) AS e;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    threshold := v_call.threshold;
    verdict := coalesce(v_call.reason, 'none_similar');
    RETURN NEXT;
END
$fn$;
COMMENT ON FUNCTION mnemo.explain_recall_plan(
    text, text, text, double precision, text, text, text
) IS
    'Why mnemo.recall_plan answers as it does: the up to 20 nearest live plans that the acting agent '
    'may read and that have the same context, from minimum_threshold on, and the one that is '
    'replayed if it comes later, best first. shared_tokens, '
    'only_asked and only_stored compare the signatures; guard_differences says in words what the '
    'guard holds against the plan; state is its consolidation state. verdict: replayed (what '
    'recall_plan returns), outranked (a better one is there), guarded, stale (a chunk that it cites '
    'changed; not with p_stale include), below_threshold. Without any '
    'candidate one row with id NULL and the verdict none_similar, disabled or blank_query. Reads '
    'only; slower than recall_plan, because it looks far below the threshold. Errors: those of '
    'mnemo.recall_plan.';

-- part: 695_health.sql
CREATE FUNCTION mnemo._health_access()
RETURNS TABLE (name text, ok boolean, detail text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT 'owner' AS name, NOT r.rolsuper AND NOT r.rolcanlogin,
           CASE WHEN r.rolsuper THEN format('%I is a superuser, and every function runs as it: '
                    'install as a role without login', r.rolname)
                WHEN r.rolcanlogin THEN format('%I can log in and counts as administrator: '
                    'ALTER ROLE %I NOLOGIN', r.rolname, r.rolname)
                ELSE format('%I has no login', r.rolname) END
      FROM pg_roles AS r
     WHERE r.oid = mnemo._owner()
    UNION ALL
    SELECT 'tenants' AS name, count(*) = 0,
           coalesce(string_agg(format('%I %s', t.rolname, t.obstacle), '; ' ORDER BY t.rolname),
               'none can act outside its binding')
      FROM (
        SELECT r.rolname, mnemo._tenant_obstacle(r.oid) AS obstacle
          FROM pg_roles AS r
         WHERE NOT r.rolsuper AND mnemo._level_of(r.rolname) = 'tenant'
      ) AS t
     WHERE t.obstacle IS NOT NULL
    UNION ALL
    SELECT 'roles' AS name, count(*) = 0,
           coalesce('no such role: ' || string_agg(DISTINCT l.role_name, ', '),
               'every level and binding belongs to a role that exists')
      FROM (
        SELECT a.role_name FROM mnemo.role_level AS a
        UNION ALL
        SELECT b.role_name FROM mnemo.role_binding AS b
      ) AS l
     WHERE to_regrole(quote_ident(l.role_name)) IS NULL
    UNION ALL
    SELECT 'public' AS name, count(*) = 0,
           CASE count(*) WHEN 0 THEN 'PUBLIC has no privileges'
           ELSE format('PUBLIC may execute %s functions, as after a restore without privileges: '
               'grant_access of any role takes them back', count(*)) END
      FROM pg_proc AS p
      JOIN pg_namespace AS n ON n.oid = p.pronamespace
     WHERE n.nspname = 'mnemo' AND has_function_privilege('public', p.oid, 'EXECUTE');
END;
COMMENT ON FUNCTION mnemo._health_access() IS
    'The checks of health about roles: owner, tenants, roles, public.';

CREATE FUNCTION mnemo._health_derived()
RETURNS TABLE (name text, ok boolean, detail text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 2
BEGIN ATOMIC
    SELECT 'plan_signatures' AS name, count(*) = 0,
           CASE count(*) WHEN 0 THEN 'every plan can be matched as its payload says'
           ELSE format('%s plans need it: SELECT mnemo.rebuild_signatures()', count(*)) END
      FROM mnemo._faulty_signatures()
    UNION ALL
    SELECT 'terms' AS name, count(*) = 0,
           CASE count(*) WHEN 0 THEN 'every live memory has its terms'
           ELSE format('%s memories are missing in the term index', count(*)) END
      FROM mnemo.memory AS m
     WHERE m.deleted_at IS NULL AND NOT m.tags @> ARRAY['__experience_plan__']
       AND m.redacted_at IS NULL AND mnemo._is_live(m, now())
       AND NOT EXISTS (
            SELECT FROM mnemo.term_vector AS t
             WHERE t.org_id = m.org_id AND t.memory_id = m.id
               AND t.rules_version = mnemo._terms_version());
END;
COMMENT ON FUNCTION mnemo._health_derived() IS
    'The checks of health that compare records with what is derived from them: plan_signatures, '
    'terms. Reads every record.';

CREATE FUNCTION mnemo._health_upkeep()
RETURNS TABLE (name text, ok boolean, detail text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT 'seal' AS name, coalesce(min(e.happened_at) > now() - interval '1 day', true),
           CASE count(*) WHEN 0 THEN 'every event is sealed'
           ELSE format('%s events are not sealed, the oldest of %s: SELECT mnemo.seal()', count(*),
               to_char(min(e.happened_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')) END
      FROM mnemo.event AS e
     WHERE e.seq IS NULL
    UNION ALL
    SELECT 'sweep' AS name, coalesce(min(m.expires_at) > now() - interval '1 day', true),
           CASE count(*) WHEN 0 THEN 'no record is past its time'
           ELSE format('%s records are past their time: SELECT mnemo.sweep()', count(*)) END
      FROM mnemo.memory AS m
     WHERE m.expires_at <= now() AND m.deleted_at IS NULL
    UNION ALL
    SELECT 'models' AS name, count(*) = 0,
           CASE count(*) WHEN 0 THEN 'every embedding model is up to date'
           ELSE format('need it: %s: SELECT mnemo.refresh_models()',
               string_agg(v.name, ', ' ORDER BY v.name)) END
      FROM mnemo.vector_model AS v
     WHERE v.rules_version <> mnemo._vector_rules_version()
        OR EXISTS (
            SELECT FROM (VALUES (false), (true)) AS k(plans)
             WHERE to_regclass('mnemo.' || mnemo._vector_table(v, k.plans)) IS NULL
                OR v.dimensions <= 4000
                   AND to_regclass(
                        format('mnemo.%s_embedding_idx', mnemo._vector_table(v, k.plans))) IS NULL)
        OR 7 <> (
            SELECT count(*) FROM pg_proc AS p
             WHERE p.pronamespace = 'mnemo'::regnamespace
               AND p.proname ~ ('^_vector_[a-z]+_' || v.suffix || '$'))
    UNION ALL
    SELECT 'indexes' AS name, count(*) = 0,
           coalesce('not valid: ' || string_agg(c.relname, ', ' ORDER BY c.relname),
               'all are valid')
      FROM pg_index AS i
      JOIN pg_class AS c ON c.oid = i.indexrelid
      JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = 'mnemo' AND NOT (i.indisvalid AND i.indisready);
END;
COMMENT ON FUNCTION mnemo._health_upkeep() IS
    'The checks of health about what has to be done from time to time: seal, sweep, models, '
    'indexes.';

CREATE FUNCTION mnemo.health()
RETURNS TABLE (name text, ok boolean, detail text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    PERFORM mnemo._require_admin();
    RETURN QUERY
    SELECT h.name, h.ok, h.detail FROM mnemo._health_access() AS h
     ORDER BY array_position(ARRAY['owner', 'tenants', 'roles', 'public'], h.name);
    RETURN QUERY
    SELECT h.name, h.ok, h.detail FROM mnemo._health_derived() AS h
     ORDER BY array_position(ARRAY['plan_signatures', 'terms'], h.name);
    RETURN QUERY
    SELECT h.name, h.ok, h.detail FROM mnemo._health_upkeep() AS h
     ORDER BY array_position(ARRAY['seal', 'sweep', 'models', 'indexes'], h.name);
END
$fn$;
COMMENT ON FUNCTION mnemo.health() IS
    'Whether the installation is as it should be, one row a check with what to do about it: owner '
    '(no superuser, no login), tenants (none can act outside its binding), roles (levels and '
    'bindings of roles that exist), public (no privileges), plan_signatures and terms (derived data '
    'agree with the records), seal and sweep (nothing is older than a day), models (of embeddings: '
    'refreshed), indexes (valid). Reads '
    'every record, changes nothing. Level admin only. Errors: 42501 not an administrator.';

-- part: 700_stable_hash.sql
CREATE FUNCTION mnemo._stable_hash(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_bytes bytea := mnemo._utf8(p_text);
    -- The halves of the offset cbf29ce484222325: a product of 64 bits would overflow a bigint. The
    -- prime is 2^40 + 435, so a multiplication is a shift and a small product.
    v_high bigint := 3421674724;
    v_low bigint := 2216829733;
BEGIN
    FOR v_place IN 0 .. octet_length(v_bytes) - 1 LOOP
        v_low := v_low # get_byte(v_bytes, v_place);
        v_high := (v_high * 435 + (v_low << 8) + (v_low * 435 >> 32)) & 4294967295;
        v_low := v_low * 435 & 4294967295;
    END LOOP;
    RETURN lpad(to_hex(v_high), 8, '0') || lpad(to_hex(v_low), 8, '0');
END
$fn$;
COMMENT ON FUNCTION mnemo._stable_hash(text) IS
    'As stable_hash, without its limit. The text must not be NULL.';

CREATE FUNCTION mnemo.stable_hash(
    p_text text
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_text IS NULL THEN
        RETURN NULL;
    ELSIF octet_length(p_text) > 1048576 THEN
        PERFORM mnemo._raise_limit('p_text',
            format('p_text has %s bytes, at most 1048576 are allowed', octet_length(p_text)),
            'hash the part that matters');
    END IF;
    RETURN mnemo._stable_hash(p_text);
END
$fn$;
COMMENT ON FUNCTION mnemo.stable_hash(text) IS
    'The 64-bit FNV-1a hash of the UTF-8 bytes of a text, as 16 hexadecimal digits in lower case: '
    'the same everywhere, short, and not safe against somebody who looks for two texts with one '
    'hash. NULL gives NULL. Raises 54000 above 1,048,576 bytes. Source: Fowler, Noll and Vo, '
    'draft-eastlake-fnv.';

-- part: 702_plan_fields.sql
-- What a retrieval plan may hold. A plan comes from applications and from language models: each
-- field is checked before anything is made of it.

CREATE FUNCTION mnemo._retrieval_fields()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{
    "plan_id": "", "turn_id": null, "generation": null, "requires_memory": null, "confidence": 1,
    "intent": "none", "entities": [], "topics": [], "predicates": [], "lexical_queries": [],
    "scopes": [], "kind_filter": [], "subject_hint": "", "predicate_hint": "", "temporal": null,
    "source_transcript_hash": "", "warnings": []
}'::jsonb;
COMMENT ON FUNCTION mnemo._retrieval_fields() IS
    'The fields of a retrieval plan with what a missing one is checked as: null where it is '
    'required or follows from others.';

CREATE FUNCTION mnemo._retrieval_names()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    'plan_id', 'turn_id', 'generation', 'requires_memory', 'confidence', 'intent', 'entities',
    'topics', 'predicates', 'lexical_queries', 'scopes', 'kind_filter', 'subject_hint',
    'predicate_hint', 'temporal', 'source_transcript_hash', 'warnings'
];
COMMENT ON FUNCTION mnemo._retrieval_names() IS 'The names of the fields of a retrieval plan.';

CREATE FUNCTION mnemo._instant(
    p_text text
)
RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_time timestamptz;
BEGIN
    IF mnemo._is_time(p_text) THEN
        v_time := p_text::timestamptz;
        IF v_time >= timestamptz '0001-01-01 00:00:00+00'
            AND v_time < timestamptz '10000-01-01 00:00:00+00'
        THEN
            RETURN v_time;
        END IF;
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._instant(text) IS
    'A time in ISO 8601 with its offset, years 1 to 9999 in UTC; NULL for any other text. The '
    'same in every session.';

CREATE FUNCTION mnemo._instant_text(
    p_time timestamptz
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Through timestamp without time zone: only there is the text the same in every session.
RETURN to_char(p_time AT TIME ZONE 'UTC',
    CASE WHEN mnemo._micros(p_time) % 1000000 = 0 THEN 'YYYY-MM-DD"T"HH24:MI:SS"Z"'
        ELSE 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' END);
COMMENT ON FUNCTION mnemo._instant_text(timestamptz) IS
    'A time as 2026-01-31T09:00:00Z, with six decimals of a second unless they are zero.';

CREATE FUNCTION mnemo._plan_leaves(
    p_plan jsonb
)
RETURNS TABLE (place bigint, path text, value jsonb, expected text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 50
BEGIN ATOMIC
    WITH field AS (
        SELECT f.place, f.name, '$.' || f.name AS path, p_plan -> f.name AS value, f.expected,
               f.part
          FROM (VALUES
            (1, 'plan_id', 'text', NULL),
            (2, 'turn_id', 'integer', NULL),
            (3, 'generation', 'integer', NULL),
            (4, 'requires_memory', 'boolean?', NULL),
            (5, 'confidence', 'number', NULL),
            (6, 'intent', 'retrieval_intent', NULL),
            (7, 'entities', 'array', 'object'),
            (8, 'topics', 'array', 'query'),
            (9, 'predicates', 'array', 'text'),
            (10, 'lexical_queries', 'array', 'query'),
            (11, 'scopes', 'array', 'kind'),
            (12, 'kind_filter', 'array', 'kind'),
            (13, 'subject_hint', 'text', NULL),
            (14, 'predicate_hint', 'text', NULL),
            (15, 'temporal', 'object?', NULL),
            (16, 'source_transcript_hash', 'text', NULL),
            (17, 'warnings', 'array', 'query')
          ) AS f(place, name, expected, part)
    ), element AS (
        SELECT f.place, e.place AS number, f.path || '[' || e.place - 1 || ']' AS path, e.value,
               f.part AS expected
          FROM field AS f
          CROSS JOIN LATERAL jsonb_array_elements(
                CASE WHEN jsonb_typeof(f.value) = 'array' THEN f.value ELSE '[]' END
               ) WITH ORDINALITY AS e(value, place)
         WHERE f.expected = 'array'
    )
    SELECT row_number() OVER (ORDER BY l.field, l.number, l.part) AS place,
           l.path, l.value, l.expected
      FROM (
        SELECT f.place AS field, 0::bigint AS number, 0 AS part, f.path, f.value, f.expected
          FROM field AS f
        UNION ALL
        SELECT e.place AS field, e.number, 0 AS part, e.path, e.value, e.expected
          FROM element AS e
        UNION ALL
        SELECT e.place AS field, e.number, k.part, e.path || '.' || k.name AS path,
               e.value -> k.name AS value, k.expected
          FROM element AS e
          CROSS JOIN (VALUES (1, 'surface', 'text'), (2, 'canonical', 'text?'))
            AS k(part, name, expected)
         WHERE e.expected = 'object' AND jsonb_typeof(e.value) = 'object'
        UNION ALL
        SELECT f.place AS field, 0::bigint AS number, k.part, f.path || '.' || k.name AS path,
               f.value -> k.name AS value, k.expected
          FROM field AS f
          CROSS JOIN (VALUES (1, 'after', 'time?'), (2, 'before', 'time?'), (3, 'label', 'text?'))
            AS k(part, name, expected)
         WHERE f.name = 'temporal' AND jsonb_typeof(f.value) = 'object'
      ) AS l;
END;
COMMENT ON FUNCTION mnemo._plan_leaves(jsonb) IS
    'Every value of a retrieval plan that has a type of its own, with its JSON path, in the order '
    'of the fields. expected: a type of mnemo._leaf_problem; with ? the value may be missing.';

-- part: 703_plan_problem.sql
CREATE FUNCTION mnemo._leaf_problem(
    p_path text,
    p_value jsonb,
    p_expected text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_type text := coalesce(jsonb_typeof(p_value), 'null');
    v_text text := p_value #>> '{}';
    v_kind text := rtrim(p_expected, '?');
BEGIN
    IF v_type = 'null' AND v_kind <> p_expected THEN
        RETURN NULL;
    ELSIF v_type <> (CASE
        WHEN v_kind IN ('number', 'boolean', 'array', 'object') THEN v_kind
        WHEN v_kind = 'integer' THEN 'number'
        ELSE 'string' END)
    THEN
        RETURN mnemo._argument(p_path,
            format('%s must be %s; got %s', p_path,
                CASE v_kind
                    WHEN 'integer' THEN 'an integer from 0 to 9223372036854775807'
                    WHEN 'number' THEN 'a number'
                    WHEN 'boolean' THEN 'true or false'
                    WHEN 'array' THEN 'an array'
                    WHEN 'object' THEN 'an object'
                    WHEN 'time' THEN 'a time in ISO 8601 with its offset from UTC, as a string'
                    ELSE 'a string' END,
                CASE WHEN v_type IN ('null', 'array', 'object') THEN v_type
                    ELSE v_type || ' ' || mnemo._shown(p_value::text) END),
            CASE WHEN p_path IN ('$.turn_id', '$.generation')
                THEN 'number the turns of a conversation and the plans of a turn from 0'
                ELSE 'leave the field out for its default' END);
    ELSIF v_kind = 'integer' THEN
        IF v_text::numeric NOT BETWEEN 0 AND 9223372036854775807 OR v_text::numeric % 1 <> 0 THEN
            RETURN mnemo._argument(p_path,
                format('%s must be an integer from 0 to 9223372036854775807; got %s', p_path,
                    left(v_text, 100)),
                'number the turns of a conversation and the plans of a turn from 0');
        END IF;
    ELSIF v_kind IN ('kind', 'retrieval_intent') THEN
        RETURN mnemo._label_problem(p_path, v_kind, v_text);
    ELSIF v_kind = 'time' AND mnemo._instant(v_text) IS NULL THEN
        RETURN mnemo._argument(p_path,
            format('%s must be a time in ISO 8601 with its offset from UTC; got %s', p_path,
                mnemo._shown(v_text)),
            'such as 2026-01-31T09:00:00Z or 2026-01-31T09:00:00+05:30');
    ELSIF v_kind = 'text' THEN
        RETURN mnemo._length_problem(p_path, v_text, 256);
    ELSIF v_kind = 'query' THEN
        RETURN mnemo._length_problem(p_path, v_text, 100000);
    ELSIF v_kind = 'array' AND jsonb_array_length(p_value) > 10000 THEN
        RETURN mnemo._limit(p_path,
            format('%s has %s elements, at most 10000 are allowed', p_path,
                jsonb_array_length(p_value)),
            'send the first ones');
    END IF;
    RETURN NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._leaf_problem(text, jsonb, text) IS
    'The problem of a value of a retrieval plan that is not what is expected there: integer, '
    'number, boolean, array, object, time, text (256 characters), query (100,000), or a label of '
    'the closed set named; with ? it may be missing. NULL for none. The parameter of the problem '
    'is the path.';

CREATE FUNCTION mnemo._retrieval_problem(
    p_plan jsonb
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_leaf record;
    v_problem mnemo._problem;
    v_limit mnemo._problem;
BEGIN
    FOR v_leaf IN SELECT l.* FROM mnemo._plan_leaves(p_plan) AS l ORDER BY l.place LOOP
        v_problem := mnemo._leaf_problem(v_leaf.path, v_leaf.value, v_leaf.expected);
        IF v_problem.code = '22023' THEN
            RETURN v_problem;
        ELSIF v_limit.code IS NULL THEN
            v_limit := v_problem;
        END IF;
    END LOOP;
    IF mnemo._instant(p_plan #>> '{temporal,after}')
        >= mnemo._instant(p_plan #>> '{temporal,before}')
    THEN
        RETURN mnemo._argument('$.temporal.before',
            '$.temporal.before must be later than $.temporal.after',
            'the window holds after, and ends before before');
    END IF;
    RETURN v_limit;
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieval_problem(jsonb) IS
    'The first problem of a retrieval plan, an object with every field there, by the order of its '
    'fields, limits last; NULL for none. The parameter of the problem is the JSON path.';

CREATE FUNCTION mnemo._are_kinds(
    p_list jsonb
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_typeof(p_list) = 'array' AND p_list <@ array_to_json(mnemo._labels('kind'))::jsonb;
COMMENT ON FUNCTION mnemo._are_kinds(jsonb) IS 'Whether this is an array of nothing but kinds.';

CREATE FUNCTION mnemo._is_window(
    p_temporal jsonb
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_after timestamptz := mnemo._instant(p_temporal ->> 'after');
    v_before timestamptz := mnemo._instant(p_temporal ->> 'before');
BEGIN
    RETURN jsonb_typeof(p_temporal) = 'object'
        AND NOT p_temporal @? 'lax $.* ? (@.type() != "string")'
        AND (v_after IS NOT NULL OR NOT p_temporal ? 'after')
        AND (v_before IS NOT NULL OR NOT p_temporal ? 'before')
        AND coalesce(v_after < v_before, true)
        AND coalesce(length(p_temporal ->> 'label') <= 256, true);
END
$fn$;
COMMENT ON FUNCTION mnemo._is_window(jsonb) IS
    'Whether this is a time window of a retrieval plan without fault, and no other type in it.';

CREATE FUNCTION mnemo._are_short(
    p_plan jsonb
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN (
        SELECT max(length(s.value #>> '{}')) <= 256
          FROM jsonb_path_query(jsonb_build_array(p_plan -> 'predicates', p_plan -> 'entities'),
            'lax $[*][*].** ? (@.type() == "string")') AS s(value)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._are_short(jsonb) IS
    'Whether every predicate and every form of an entity of a retrieval plan has at most 256 '
    'characters.';

CREATE FUNCTION mnemo._plan_is_plain(
    p_plan jsonb
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    -- What nearly all plans are, in few looks at the whole. Others are looked at value by value.
    RETURN p_plan @@ 'strict
            $.turn_id >= 0 && $.turn_id <= 9223372036854775807 && $.turn_id % 1 == 0
            && $.generation >= 0 && $.generation <= 9223372036854775807 && $.generation % 1 == 0
            && ($.requires_memory.type() == "boolean" || $.requires_memory == null)
            && $.confidence.type() == "number" && $.intent.type() == "string"
            && $.plan_id.type() == "string" && $.source_transcript_hash.type() == "string"
            && $.subject_hint.type() == "string" && $.predicate_hint.type() == "string"
            && $.topics.type() == "array" && !exists($.topics[*] ? (@.type() != "string"))
            && $.lexical_queries.type() == "array"
            && !exists($.lexical_queries[*] ? (@.type() != "string"))
            && $.predicates.type() == "array" && !exists($.predicates[*] ? (@.type() != "string"))
            && $.warnings.type() == "array" && !exists($.warnings[*] ? (@.type() != "string"))
            && $.entities.type() == "array"
            && !exists($.entities[*] ? ((@.surface.type() == "string") is unknown
                || @.surface.type() != "string" || @.canonical.type() != "string"))'
        AND mnemo._is_label('retrieval_intent', p_plan ->> 'intent')
        AND mnemo._are_kinds(p_plan -> 'scopes') AND mnemo._are_kinds(p_plan -> 'kind_filter')
        AND (p_plan -> 'temporal' = 'null' OR mnemo._is_window(p_plan -> 'temporal'))
        AND greatest(length(p_plan ->> 'plan_id'), length(p_plan ->> 'source_transcript_hash'),
            length(p_plan ->> 'subject_hint'), length(p_plan ->> 'predicate_hint')) <= 256
        AND (length(p_plan ->> 'predicates') <= 256 AND length(p_plan ->> 'entities') <= 256
            OR mnemo._are_short(p_plan))
        -- Too short for a topic that is too long, or a list.
        AND length(p_plan::text) <= 20000;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_is_plain(jsonb) IS
    'Whether a retrieval plan, an object with every field there, has no problem for sure: false '
    'or NULL says that mnemo._retrieval_problem has to look.';

-- part: 704_plan_lists.sql
-- The lists of a retrieval plan in normal form. Each ends as soon as it is full, so that a list of
-- ten thousand costs little more than one of ten.

CREATE FUNCTION mnemo._caseless(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length(p_text) = char_length(p_text) THEN lower(p_text COLLATE "C")
    ELSE mnemo._lower_wide(mnemo._pin(p_text))
END;
COMMENT ON FUNCTION mnemo._caseless(text) IS
    'What two texts have in common that differ in nothing but case or in how characters are '
    'composed.';

CREATE FUNCTION mnemo._plan_texts(
    p_list jsonb,
    p_form text,
    p_most integer
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_item text;
    v_key text;
    v_keys text[] := '{}';
    v_items text[] := '{}';
BEGIN
    IF p_list = '[]' THEN
        RETURN p_list;
    END IF;
    FOR v_item IN SELECT e.value FROM jsonb_array_elements_text(p_list) AS e(value) LOOP
        v_item := CASE p_form
            WHEN 'topic' THEN mnemo._trim(v_item)
            WHEN 'query' THEN array_to_string(
                (string_to_array(mnemo._squeeze(v_item), ' '))[:16], ' ')
            WHEN 'predicate' THEN mnemo._canonical_predicate(v_item)
            ELSE v_item END;
        v_key := CASE WHEN p_form IN ('topic', 'query') THEN mnemo._caseless(v_item)
            ELSE v_item END;
        IF v_item <> '' AND v_key <> ALL (v_keys) THEN
            v_keys := v_keys || v_key;
            v_items := v_items || v_item;
            EXIT WHEN cardinality(v_items) = p_most;
        END IF;
    END LOOP;
    RETURN array_to_json(v_items);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_texts(jsonb, text, integer) IS
    'A list of a retrieval plan in the form topic (trimmed), query (its first 16 words with a '
    'space between), predicate (canonical) or label: without blanks, without duplicates ignoring '
    'case, the first p_most.';

CREATE FUNCTION mnemo._plan_entities(
    p_list jsonb,
    p_most integer
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_item jsonb;
    v_surface text;
    v_canonical text;
    v_key text;
    v_keys text[] := '{}';
    v_items jsonb := '[]';
BEGIN
    IF p_list = '[]' THEN
        RETURN p_list;
    END IF;
    FOR v_item IN SELECT e.value FROM jsonb_array_elements(p_list) AS e(value) LOOP
        v_surface := v_item ->> 'surface';
        CONTINUE WHEN mnemo._is_blank(v_surface);
        v_canonical := CASE WHEN NOT mnemo._is_blank(v_item ->> 'canonical') THEN
            v_item ->> 'canonical' END;
        v_key := json_build_array(
            mnemo._caseless(v_surface), mnemo._caseless(v_canonical))::text;
        CONTINUE WHEN v_key = ANY (v_keys);
        v_keys := v_keys || v_key;
        v_items := v_items
            || jsonb_build_object('surface', v_surface, 'canonical', v_canonical);
        EXIT WHEN cardinality(v_keys) = p_most;
    END LOOP;
    RETURN v_items;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_entities(jsonb, integer) IS
    'The entities of a retrieval plan without those whose surface is blank, a blank canonical '
    'form as null, without duplicates ignoring case, the first p_most.';

CREATE FUNCTION mnemo._plan_window(
    p_temporal jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_after text := mnemo._instant_text(mnemo._instant(p_temporal ->> 'after'));
    v_before text := mnemo._instant_text(mnemo._instant(p_temporal ->> 'before'));
    v_label text := nullif(mnemo._trim(p_temporal ->> 'label'), '');
BEGIN
    RETURN CASE WHEN coalesce(v_after, v_before, v_label) IS NOT NULL THEN
        jsonb_build_object('after', v_after, 'before', v_before, 'label', v_label) END;
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_window(jsonb) IS
    'The time window of a retrieval plan with its times in UTC; NULL when it says nothing.';

CREATE FUNCTION mnemo._plan_confidence(
    p_confidence numeric
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
-- JSON takes a number's digits from this setting.
SET extra_float_digits = 1
AS $fn$
BEGIN
    -- As a double, which is what it comes back as from any client. Less than any is zero.
    RETURN to_jsonb(CASE WHEN p_confidence < 5e-324 THEN 0 ELSE least(p_confidence, 1) END
        ::double precision);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_confidence(numeric) IS
    'The confidence of a retrieval plan, clamped to [0, 1].';

CREATE FUNCTION mnemo._unknown_fields(
    p_plan jsonb
)
RETURNS TABLE (place bigint, path text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT row_number() OVER (ORDER BY u.part, u.number, u.place) AS place,
           u.path || CASE
               WHEN u.name COLLATE "C" ~ '^[A-Za-z_][A-Za-z0-9_]{0,99}$' THEN '.' || u.name
               ELSE '.' || to_json(left(u.name, 100))::text END AS path
      FROM (
        SELECT 1 AS part, 0::bigint AS number, k.place, '$' AS path, k.name
          FROM jsonb_object_keys(p_plan) WITH ORDINALITY AS k(name, place)
         WHERE k.name <> ALL (mnemo._retrieval_names())
        UNION ALL
        SELECT 2 AS part, e.place AS number, k.place, '$.entities[' || e.place - 1 || ']' AS path,
               k.name
          FROM jsonb_path_query(p_plan, 'lax $.entities[*] ? (@ != null)')
               WITH ORDINALITY AS e(value, place)
          CROSS JOIN LATERAL jsonb_object_keys(e.value) WITH ORDINALITY AS k(name, place)
         WHERE k.name NOT IN ('surface', 'canonical')
        UNION ALL
        SELECT 3 AS part, 0::bigint AS number, k.place, '$.temporal' AS path, k.name
          FROM jsonb_path_query(p_plan, 'lax $.temporal ? (@ != null)') AS t(value)
          CROSS JOIN LATERAL jsonb_object_keys(t.value) WITH ORDINALITY AS k(name, place)
         WHERE k.name NOT IN ('after', 'before', 'label')
      ) AS u;
END;
COMMENT ON FUNCTION mnemo._unknown_fields(jsonb) IS
    'The JSON paths of what a retrieval plan holds beside its fields.';

CREATE FUNCTION mnemo._plan_warnings(
    p_given jsonb,
    p_plan jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_warnings text[];
BEGIN
    IF p_given = '[]' AND p_plan - mnemo._retrieval_names() = '{}'
        AND NOT p_plan @? 'lax $.entities[*].keyvalue()
            ? (@.key != "surface" && @.key != "canonical")'
        AND NOT p_plan @? 'lax $.temporal ? (@ != null).keyvalue()
            ? (@.key != "after" && @.key != "before" && @.key != "label")'
    THEN
        RETURN p_given;
    END IF;
    SELECT coalesce(array_agg(w.warning ORDER BY w.place), '{}') INTO v_warnings
      FROM (
        SELECT a.warning, min(a.place) AS place
          FROM (
            SELECT mnemo._trim(left(mnemo._trim(g.warning), 200)) AS warning, g.place
              FROM jsonb_array_elements_text(p_given) WITH ORDINALITY AS g(warning, place)
            UNION ALL
            SELECT 'unknown field ' || u.path || ' was dropped' AS warning,
                   jsonb_array_length(p_given) + u.place AS place
              FROM mnemo._unknown_fields(p_plan) AS u
          ) AS a
         WHERE a.warning <> ''
         GROUP BY a.warning
      ) AS w;
    IF cardinality(v_warnings) > 16 THEN
        v_warnings := v_warnings[:15]
            || format('%s more warnings were dropped', cardinality(v_warnings) - 15);
    END IF;
    RETURN array_to_json(v_warnings);
END
$fn$;
COMMENT ON FUNCTION mnemo._plan_warnings(jsonb, jsonb) IS
    'The warnings that a retrieval plan came with and those about its unknown fields, at most 16.';

-- part: 706_retrieval_plan.sql
CREATE FUNCTION mnemo._checked_plan(
    p_plan jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plan jsonb;
    v_problem mnemo._problem;
BEGIN
    IF jsonb_typeof(p_plan) IS DISTINCT FROM 'object' THEN
        v_problem := mnemo._argument('$',
            'p_plan must be a JSON object; got ' || coalesce(jsonb_typeof(p_plan), 'NULL'),
            'at least {"turn_id": 0, "generation": 0}; mnemo.plan_retrieval makes one of a text');
    ELSIF octet_length(p_plan::text) > 1048576 THEN
        v_problem := mnemo._limit('$',
            format('p_plan has %s bytes, at most 1048576 are allowed', octet_length(p_plan::text)),
            'no more than 5 entities, 8 topics and 3 queries are used');
    ELSE
        v_plan := mnemo._retrieval_fields() || jsonb_strip_nulls(p_plan);
        IF mnemo._plan_is_plain(v_plan) THEN
            RETURN v_plan;
        END IF;
        v_problem := mnemo._retrieval_problem(v_plan);
    END IF;
    IF v_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise(v_problem.code,
            CASE WHEN v_problem.parameter = '$' THEN '' ELSE 'p_plan: ' END || v_problem.message,
            jsonb_build_object('parameter', 'p_plan', 'path', v_problem.parameter),
            v_problem.hint);
    END IF;
    RETURN v_plan;
END
$fn$;
COMMENT ON FUNCTION mnemo._checked_plan(jsonb) IS
    'A retrieval plan with every field there, checked. Raises 22023 or 54000 with the JSON path '
    'of what is wrong in DETAIL.';

CREATE FUNCTION mnemo._retrieval_plan(
    p_plan jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plan jsonb := mnemo._checked_plan(p_plan);
    v_turn bigint := (v_plan ->> 'turn_id')::numeric;
    v_generation bigint := (v_plan ->> 'generation')::numeric;
    v_hash text := coalesce(nullif(mnemo._trim(v_plan ->> 'source_transcript_hash'), ''),
        mnemo._stable_hash(''));
    v_entities jsonb := mnemo._plan_entities(v_plan -> 'entities', 5);
    v_queries jsonb := mnemo._plan_texts(v_plan -> 'lexical_queries', 'query', 3);
    v_searches boolean := v_entities <> '[]' OR v_queries <> '[]';
    v_intent text := CASE WHEN v_searches THEN v_plan ->> 'intent' ELSE 'none' END;
BEGIN
    RETURN jsonb_build_object(
        'plan_id', coalesce(nullif(mnemo._trim(v_plan ->> 'plan_id'), ''),
            'pln_' || left(encode(sha256(mnemo._utf8(
                format('%s:%s:%s', v_turn, v_generation, v_hash))), 'hex'), 12)),
        'turn_id', v_turn,
        'generation', v_generation,
        'requires_memory',
            v_searches AND coalesce((v_plan ->> 'requires_memory')::boolean, v_intent <> 'none'),
        'confidence', mnemo._plan_confidence((v_plan ->> 'confidence')::numeric),
        'intent', v_intent,
        'entities', v_entities,
        'topics', mnemo._plan_texts(v_plan -> 'topics', 'topic', 8),
        'predicates', mnemo._plan_texts(v_plan -> 'predicates', 'predicate', 5),
        'lexical_queries', v_queries,
        'scopes', mnemo._plan_texts(v_plan -> 'scopes', 'label', 5),
        'kind_filter', mnemo._plan_texts(v_plan -> 'kind_filter', 'label', 11),
        'subject_hint', nullif(mnemo._trim(v_plan ->> 'subject_hint'), ''),
        'predicate_hint', nullif(mnemo._canonical_predicate(v_plan ->> 'predicate_hint'), ''),
        'temporal', mnemo._plan_window(v_plan -> 'temporal'),
        'source_transcript_hash', v_hash,
        'warnings', mnemo._plan_warnings(v_plan -> 'warnings', p_plan)
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieval_plan(jsonb) IS
    'A retrieval plan in normal form, as mnemo.normalize_retrieval_plan gives it.';

-- part: 708_retrieval_plan_calls.sql
CREATE FUNCTION mnemo.normalize_retrieval_plan(
    p_plan jsonb
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._retrieval_plan(p_plan);
END
$fn$;
COMMENT ON FUNCTION mnemo.normalize_retrieval_plan(jsonb) IS
    'A retrieval plan checked and in normal form, as mnemo.retrieve takes every plan: all 17 '
    'fields are there, and a second pass changes nothing. Required: turn_id and generation, '
    'integers from 0 to 2^63-1. A missing or null field has its default: plan_id pln_ and 12 '
    'hexadecimal digits of SHA-256 over turn_id:generation:source_transcript_hash; confidence 1; '
    'intent none; requires_memory whether the intent is not none; lists empty; '
    'source_transcript_hash the hash of the empty text. Blanks and duplicates (ignoring case) are '
    'dropped, then at most 5 entities, 8 topics, 5 predicates (canonical), 3 lexical_queries of '
    '16 words, 5 scopes are kept; a blank hint is null; confidence is clamped to [0, 1]; times '
    'are given in UTC. Without an entity or a query left the plan needs no memory and its intent '
    'is none. Unknown fields are dropped and named in warnings, of which 16 are kept. NULL is '
    'refused. Errors: 22023 a wrong type, an unknown label, a time that is not ISO 8601 with its '
    'offset from UTC, a window that ends before it begins, with the JSON path in DETAIL; 54000 '
    'over 1,048,576 bytes, over 10,000 elements of a list, over 100,000 characters of a topic, '
    'query or warning, over 256 of any other text.';

CREATE FUNCTION mnemo.skip_retrieval_plan(
    p_transcript text,
    p_turn_id bigint,
    p_generation bigint
)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_names text[] := ARRAY['p_transcript', 'p_turn_id', 'p_generation'];
    v_values text[] := ARRAY[p_transcript, p_turn_id::text, p_generation::text];
BEGIN
    FOR v_place IN 1 .. 3 LOOP
        IF v_values[v_place] IS NULL OR v_place > 1 AND v_values[v_place]::bigint < 0 THEN
            PERFORM mnemo._raise_argument(v_names[v_place],
                format('%s must be %s; got %s', v_names[v_place],
                    CASE v_place WHEN 1 THEN 'a text'
                        ELSE 'an integer from 0 to 9223372036854775807' END,
                    coalesce(v_values[v_place], 'NULL')),
                CASE v_place WHEN 1 THEN 'the empty text is one'
                    ELSE 'number the turns of a conversation and the plans of a turn from 0' END);
        END IF;
    END LOOP;
    IF octet_length(p_transcript) > 1048576 THEN
        PERFORM mnemo._raise_limit('p_transcript',
            format('p_transcript has %s bytes, at most 1048576 are allowed',
                octet_length(p_transcript)),
            'pass the last turns');
    END IF;
    RETURN mnemo._retrieval_plan(jsonb_build_object(
        'turn_id', p_turn_id,
        'generation', p_generation,
        'source_transcript_hash', mnemo._stable_hash(p_transcript)
    ));
END
$fn$;
COMMENT ON FUNCTION mnemo.skip_retrieval_plan(text, bigint, bigint) IS
    'The retrieval plan of a turn that needs no memory: requires_memory false, confidence 1, '
    'intent none, every list empty, source_transcript_hash the stable hash of the transcript. '
    'NULL is refused. Errors: 22023 a negative number or NULL; 54000 a transcript over 1,048,576 '
    'bytes.';

CREATE FUNCTION mnemo._kind_group(
    p_kind text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_kind
    WHEN 'identity' THEN 'profile'
    WHEN 'preference' THEN 'preferences'
    WHEN 'location_preference' THEN 'preferences'
    WHEN 'relationship' THEN 'relationships'
    WHEN 'relationship_preference' THEN 'relationships'
    WHEN 'routine' THEN 'routines'
    WHEN 'commitment' THEN 'commitments'
    WHEN 'project' THEN 'projects'
    WHEN 'episodic' THEN 'episodes'
    WHEN 'communication_style' THEN 'communication'
    WHEN 'staged_pattern' THEN 'staged'
END;
COMMENT ON FUNCTION mnemo._kind_group(text) IS
    'What stands for a kind in the cache key of a retrieval plan; NULL for anything else.';

CREATE FUNCTION mnemo.retrieval_plan_cache_key(
    p_plan jsonb
)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plan jsonb := mnemo._retrieval_plan(p_plan);
BEGIN
    RETURN mnemo._stable_hash(coalesce((
        SELECT string_agg(k.part, '|' ORDER BY k.part COLLATE "C")
          FROM (
            SELECT q.value AS part
              FROM jsonb_array_elements_text(v_plan -> 'lexical_queries') AS q(value)
            UNION ALL
            SELECT f.value
              FROM jsonb_array_elements(v_plan -> 'entities') AS e(value)
              CROSS JOIN LATERAL (VALUES (e.value ->> 'surface'), (e.value ->> 'canonical'))
                AS f(value)
             WHERE f.value IS NOT NULL
            UNION ALL
            SELECT mnemo._kind_group(s.value)
              FROM jsonb_array_elements_text(v_plan -> 'scopes') AS s(value)
          ) AS k
    ), ''));
END
$fn$;
COMMENT ON FUNCTION mnemo.retrieval_plan_cache_key(jsonb) IS
    'A short key of what a retrieval plan asks for: the stable hash of its lexical queries, the '
    'surfaces and canonical forms of its entities, and a word for each of its scopes, sorted by '
    'their bytes and joined by |. The plan is normalised first; the order of its parts does not '
    'matter. Not for caching results: kind_filter, hints, times and who asks are not in it, see '
    'mnemo.retrieval_plan_result_key. NULL is refused. Errors: those of '
    'mnemo.normalize_retrieval_plan.';

CREATE FUNCTION mnemo.retrieval_plan_result_key(
    p_plan jsonb,
    p_limit bigint,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_temporal text DEFAULT 'prefer',
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL
)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_plan jsonb;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    PERFORM mnemo._raise_problem(mnemo._first_problem(ARRAY[
        mnemo._embedding_problem(p_embedding, p_model),
        mnemo._limit_problem(p_limit),
        mnemo._label_problem('p_temporal', 'retrieval_temporal', p_temporal)
    ]));
    v_plan := mnemo._retrieval_plan(p_plan);
    -- Not the stable hash: whoever can find two plans with one hash would read what the other gets.
    RETURN encode(sha256(mnemo._utf8(jsonb_build_array(
        v_plan - ARRAY['plan_id', 'turn_id', 'generation', 'confidence', 'source_transcript_hash',
            'warnings'],
        v_caller.org_id, v_caller.agent_id, p_limit, p_temporal, p_embedding, p_model
    )::text)), 'hex');
END
$fn$;
COMMENT ON FUNCTION mnemo.retrieval_plan_result_key(jsonb, bigint, text, text, text, text, text) IS
    'A key of everything in a call of mnemo.retrieve that its result depends on, for an '
    'application that caches results: 64 hexadecimal digits of SHA-256 over the normalised plan '
    'without plan_id, turn_id, generation, confidence, source_transcript_hash and warnings, '
    'organisation and agent as they are resolved for the call, and the other arguments. Equal '
    'keys give equal results as long as neither the memory nor what the agent may see has changed '
    'and no time in it has come: the cache has to end early enough. p_limit 1 to 1,000; '
    'p_temporal prefer or filter; p_embedding and p_model as in mnemo.recall. NULL agent and '
    'organisation as everywhere. Errors: 42501 access; those of mnemo.normalize_retrieval_plan; '
    '22023 and 55000 the other arguments.';

-- part: 725_related_words.sql
-- Related words of everyday English: a question says barista, the record coffee and drink. The
-- entry of a word lists the words that a record about the same thing is likely to have; all are
-- folded as _terms folds them. They are kinds of daily life: food and drink, health, home, family,
-- work, sport, travel, shopping, music.

CREATE FUNCTION mnemo._related_a_to_f()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{
    "abroad": "travel trip visited", "accessory": "device kit own possession",
    "accommodation": "hotel stay", "account": "bank", "accounting": "accountant",
    "address": "apartment home hous", "adviser": "mentor", "advisor": "mentor",
    "age": "birthday celebration", "agree": "agreed commitment errand promise todo",
    "agreed": "commitment errand promise todo", "airbnb": "hotel stay", "airline": "airport flight",
    "airport": "flight", "album": "band listening music", "alcohol": "bar beer drink pub wine",
    "ale": "bar beer drink pub wine", "allergen": "allergic allergy", "allergic": "allergy",
    "allergy": "allergic", "allotment": "garden plant", "americano": "beverage cafe coffee drink",
    "anaphylactic": "allergic allergy", "anaphylaxis": "allergic allergy", "android": "phone",
    "anniversary": "birthday celebration married wedding", "antihistamine": "allergic allergy",
    "apartment": "address home hous", "appointment": "meeting", "artist": "band listening music",
    "audio": "band listening music", "avenue": "street", "avoid": "allergic allergy",
    "avoiding": "allergic allergy", "baby": "child daughter son", "backpack": "bag",
    "badminton": "squash tennis", "bag": "backpack", "bagel": "sesame", "bakehous": "bakery cake",
    "baker": "bakery cake", "bakery": "cake", "bald": "barber hair haircut hairdresser salon",
    "band": "listening music", "bank": "account", "banking": "account bank",
    "bar": "beer drink pub wine", "barbecue": "dinner eat food meal",
    "barber": "hair haircut hairdresser salon",
    "barbershop": "barber hair haircut hairdresser salon", "barista": "beverage cafe coffee drink",
    "barnet": "barber hair haircut hairdresser salon", "bday": "birthday celebration",
    "beard": "barber hair haircut hairdresser salon", "bed": "sleep", "bedtime": "bed sleep",
    "beer": "bar drink pub wine", "belay": "boulder climb climbing",
    "belong": "club device kit membership own possession", "belonging": "device kit own possession",
    "beverage": "cafe coffee drink tea", "bicycle": "bike cycling ride",
    "bike": "bicycle cycling ride", "birth": "birthday celebration",
    "birthday": "celebration gift hinting present wishlist", "biscuit": "gluten wheat",
    "bistro": "dinner eat restaurant venue", "board": "game", "boat": "sailing yacht",
    "boiler": "heating", "book": "bookshop library restaurant venue", "booking": "restaurant venue",
    "bookkeeper": "accountant", "bookshop": "book", "bookstore": "book bookshop",
    "booz": "bar beer drink pub wine", "born": "birthday celebration", "borrow": "book library",
    "boss": "manager", "boulder": "climb climbing gym", "bouldering": "boulder climb climbing gym",
    "bouquet": "florist flower", "brake": "bicycle bike cycling ride",
    "brand": "device kit own possession", "brassery": "dinner eat restaurant venue",
    "bread": "bakery cake gluten wheat", "breakfast": "dinner lunch meal restaurant",
    "brew": "beverage cafe coffee drink", "brother": "sister",
    "brunch": "dinner lunch meal restaurant", "buddy": "friend", "budget": "money",
    "buffet": "dinner eat food meal", "bun": "bakery cake", "butter": "dairy lactose milk",
    "buy": "birthday gift hinting present wishlist", "cafe": "beverage coffee drink",
    "caffeine": "beverage cafe coffee drink", "cake": "bakery", "calendar": "appointment meeting",
    "calm": "loud noise noisy quiet", "camp": "camping tent", "camping": "tent",
    "cappuccino": "beverage cafe coffee drink", "car": "drive", "career": "job office work",
    "cat": "dog pet vet", "cater": "dinner eat food meal", "catering": "dinner eat food meal",
    "celebrate": "birthday celebration", "celebration": "birthday", "celiac": "gluten wheat",
    "chai": "beverage drink tea", "chain": "bicycle bike cycling ride",
    "chalk": "boulder climb climbing", "cheese": "dairy lactose milk",
    "chef": "dinner eat food meal", "chemist": "pharmacy prescription", "chess": "game",
    "child": "daughter son", "children": "child daughter son",
    "chore": "agreed commitment errand promise todo",
    "christma": "birthday gift hinting present wishlist", "church": "religion",
    "cider": "bar beer drink pub wine", "cigarette": "smoking", "cinema": "film", "city": "town",
    "clean": "cleaning", "cleaner": "cleaning laundry", "cleaning": "laundry",
    "climb": "boulder climbing gym", "climber": "boulder climb climbing gym",
    "climbing": "boulder climb gym", "clinic": "doctor",
    "clipper": "barber hair haircut hairdresser salon", "club": "membership", "coach": "teacher",
    "cocktail": "bar beer drink pub wine", "coeliac": "gluten wheat",
    "coffee": "beverage cafe drink tea", "coffeehous": "cafe coffee", "coffeeshop": "cafe coffee",
    "collaborate": "project work", "collaborating": "project work", "collaboration": "project work",
    "collect": "errand order pick", "collecting": "collect errand order pick",
    "collection": "collect errand order pick", "college": "school university", "color": "colour",
    "commit": "agreed commitment errand promise todo", "commitment": "agreed errand promise todo",
    "commute": "commuting work", "commuter": "commuting work", "commuting": "work",
    "company": "job office work", "computer": "laptop", "concert": "gig music", "console": "game",
    "cook": "cooking dinner eat food meal", "cooking": "dinner eat food meal",
    "cortado": "beverage cafe coffee drink", "cost": "budget money",
    "courier": "collect errand order pick", "covet": "want wishlist", "coworker": "colleague",
    "crab": "seafood shellfish", "crag": "boulder climb climbing", "crave": "want wishlist",
    "cream": "dairy lactose milk", "cricket": "football sport team", "crockery": "washing",
    "croissant": "bakery cake", "cuisine": "dinner eat restaurant venue",
    "cuppa": "beverage cafe coffee drink", "curry": "dinner eat restaurant venue",
    "cut": "barber hair haircut hairdresser salon",
    "cutting": "barber hair haircut hairdresser salon", "cycle": "bicycle bike cycling ride",
    "cycling": "bicycle bike ride", "cyclist": "bicycle bike cycling ride", "dad": "father",
    "daddy": "father", "dairy": "lactose milk", "daughter": "child son",
    "deadline": "commitment errand todo", "debt": "loan mortgage",
    "decaf": "beverage cafe coffee drink", "degree": "school university",
    "deliver": "collect errand order pick", "delivery": "collect errand order pick",
    "dental": "dentist", "desire": "want wishlist", "dessert": "bakery cake",
    "destination": "travel trip visited", "device": "kit own possession",
    "diet": "dietary eat food", "dietary": "diet eat food", "dine": "dinner eat restaurant venue",
    "dinghy": "boat sailing yacht", "dining": "dinner eat restaurant venue",
    "dinner": "eat food lunch meal restaurant venue", "dish": "dinner eat food meal washing",
    "dispensary": "pharmacy prescription", "dog": "cat pet vet", "dressing": "dinner eat food meal",
    "drink": "bar beer beverage cafe coffee juice pub tea water wine",
    "drinking": "beverage coffee drink tea", "drive": "car", "driving": "car drive",
    "drop": "collect errand order pick", "drop off": "collect errand order pick",
    "drug": "medicine", "drum": "instrument music", "dry cleaning": "cleaning laundry",
    "due": "commitment errand todo", "earbud": "headphone", "earphone": "headphone",
    "eat": "diet dietary dinner food meal restaurant venue",
    "eat out": "dinner eat restaurant venue", "eatery": "dinner eat restaurant venue",
    "eating": "dinner eat restaurant venue", "eating out": "dinner eat restaurant venue",
    "ebike": "bicycle bike cycling ride", "edamame": "soy", "employed": "job office work",
    "employer": "job office work", "engagement": "anniversary married wedding",
    "epipen": "allergic allergy", "equipment": "device kit own possession",
    "errand": "agreed collect commitment order pick promise todo",
    "espresso": "beverage cafe coffee drink", "exercise": "fitness gym sport training",
    "exercising": "exercise fitness gym sport training",
    "fade": "barber hair haircut hairdresser salon", "faith": "religion", "family": "relationship",
    "festival": "concert gig music", "fetch": "collect errand order pick",
    "fiance": "husband married partner spous wife", "fiancee": "husband married partner spous wife",
    "film": "cinema", "fitness": "exercise gym sport training",
    "flat": "beverage cafe coffee drink", "flight": "airport travel trip visited",
    "florist": "flower", "flour": "gluten wheat", "flower": "florist", "fluent": "language",
    "fly": "travel trip visited", "food": "diet dietary dinner eat meal restaurant venue",
    "football": "sport team", "friendship": "friend",
    "fringe": "barber hair haircut hairdresser salon", "frittata": "egg",
    "fruit": "kiwi strawberry"
}'::jsonb;
COMMENT ON FUNCTION mnemo._related_a_to_f() IS
    'The part of _related_words for words from a to f.';

-- part: 726_related_more.sql
CREATE FUNCTION mnemo._related_g_to_z()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{
    "gadget": "device kit own possession", "gaming": "game", "garage": "car drive",
    "garden": "plant", "gardening": "garden plant", "gear": "device kit own possession",
    "getaway": "travel trip visited", "gift": "birthday hinting present want wishlist",
    "gig": "concert music", "gin": "bar beer drink pub wine", "gluten": "wheat", "gp": "doctor",
    "grandad": "grandfather", "grandma": "grandmother", "grandpa": "grandfather",
    "granny": "grandmother", "grocery": "bakery shop store", "guest": "dinner eat food meal",
    "guitar": "instrument music", "gym": "exercise fitness sport training",
    "habit": "routine schedule weekly", "hair": "barber haircut hairdresser salon",
    "haircut": "barber hair hairdresser salon", "hairdo": "barber hair haircut hairdresser salon",
    "hairdresser": "barber hair haircut salon",
    "hairdressing": "barber hair haircut hairdresser salon",
    "hairstyle": "barber hair haircut hairdresser salon", "halal": "diet dietary eat food",
    "halva": "sesame", "handlebar": "bicycle bike cycling ride", "handset": "phone",
    "harmful": "allergic allergy", "harness": "boulder climb climbing", "headset": "headphone",
    "heating": "boiler", "helmet": "bicycle bike cycling ride", "herbal": "beverage drink tea",
    "hike": "hiking walking", "hiker": "hiking walking", "hiking": "walking",
    "hint": "birthday gift hinting present wishlist", "hinting": "birthday gift present wishlist",
    "hive": "allergic allergy", "holiday": "travel trip visited", "home": "address apartment hous",
    "hometown": "city town", "hoover": "cleaning", "host": "dinner eat food meal",
    "hostel": "hotel stay", "hosting": "dinner eat food meal", "hotel": "stay", "houmous": "sesame",
    "hous": "address apartment home", "housemate": "flatmate", "housework": "cleaning",
    "hubby": "husband married partner spous wife", "hummus": "sesame",
    "hungry": "dinner eat restaurant venue", "husband": "married partner spous wife",
    "icing": "bakery cake", "ill": "allergic allergy", "income": "budget money",
    "infusion": "beverage drink tea", "ingredient": "allergic allergy dinner eat food meal",
    "initiative": "project work", "insomnia": "bed sleep", "instructor": "teacher",
    "instrument": "music", "insurer": "insurance", "intolerance": "allergic allergy",
    "intolerant": "allergic allergy", "iphone": "phone", "itch": "allergic allergy",
    "job": "office project work", "jog": "marathon run running", "jogger": "marathon run running",
    "jogging": "marathon run running", "join": "club membership", "journey": "travel trip visited",
    "juice": "drink water", "keep fit": "exercise fitness gym sport training",
    "kettle": "beverage drink tea", "kid": "child daughter son", "kin": "family relationship",
    "kit": "device own possession", "kitchen": "cooking", "kitten": "cat dog pet vet",
    "kosher": "diet dietary eat food", "lactose": "dairy milk", "lager": "bar beer drink pub wine",
    "landlord": "rent", "lane": "street", "lap": "pool swim swimming", "laptop": "computer",
    "latte": "beverage cafe coffee drink", "laundry": "cleaning", "law": "family relationship",
    "league": "club membership", "lemonade": "drink juice water", "len": "camera",
    "letting": "landlord rent", "library": "book", "lift": "exercise fitness gym sport training",
    "lifting": "exercise fitness gym sport training", "listen": "band listening music",
    "listening": "band music", "live": "concert gig music", "loaf": "bakery cake",
    "loan": "mortgage", "lobster": "seafood shellfish", "local place": "local", "locally": "local",
    "loud": "noise noisy quiet", "luggage": "backpack bag",
    "lunch": "dinner eat meal restaurant venue", "macbook": "computer laptop",
    "macchiato": "beverage cafe coffee drink",
    "maintenance": "bicycle bike car device repair service", "mall": "bakery shop store",
    "manager": "boss", "manufacturer": "device kit own possession", "marathon": "run running",
    "marriage": "anniversary husband married partner spous wedding wife",
    "married": "anniversary husband partner spous wedding wife",
    "marzipan": "almond nut peanut walnut", "matcha": "beverage drink tea", "mate": "friend",
    "mayonnaise": "egg", "meal": "dinner eat food lunch restaurant venue",
    "meat": "diet dietary eat food", "mechanic": "bicycle bike car device repair service",
    "medic": "doctor", "meeting": "appointment", "member": "club membership", "membership": "club",
    "menu": "dinner eat food meal restaurant venue", "meringue": "egg", "milk": "dairy lactose",
    "milky": "beverage cafe coffee drink", "mine": "own possession", "miso": "soy",
    "missus": "husband married partner spous wife", "mobile": "phone",
    "mocha": "beverage cafe coffee drink", "model": "device kit own possession", "mom": "mother",
    "money": "budget", "mop": "cleaning", "mortgage": "loan", "motor": "car drive",
    "movy": "cinema film", "mullet": "barber hair haircut hairdresser salon", "mum": "mother",
    "mummy": "mother", "music": "band concert gig instrument listening",
    "musician": "band listening music", "mussel": "seafood shellfish", "nana": "grandmother",
    "nap": "bed sleep", "neighbor": "neighbour", "neighbourhood": "city town",
    "nextdoor": "neighbour", "noise": "loud noisy quiet", "noisy": "loud noise quiet",
    "notebook": "computer laptop", "novel": "book bookshop", "nut": "almond peanut walnut",
    "nutrition": "diet dietary eat food", "nutty": "almond nut peanut walnut", "oat": "milk",
    "obligation": "agreed commitment errand promise todo", "occupation": "job office work",
    "office": "job work", "omelette": "egg", "ongoing": "project work",
    "order": "collect errand pick", "owned": "device kit own possession",
    "oyster": "seafood shellfish", "pal": "friend", "paperback": "book bookshop",
    "parcel": "collect errand order pick", "partner": "husband married spous wife",
    "party": "birthday celebration", "pasta": "gluten wheat", "pastry": "bakery cake",
    "patissery": "bakery cake", "peaceful": "loud noise noisy quiet", "peanut": "nut",
    "pedal": "bicycle bike cycling ride", "pescatarian": "diet dietary eat food",
    "pet": "cat dog vet", "pharmacy": "prescription", "phonograph": "record turntable",
    "photo": "camera", "photograph": "camera", "photography": "camera", "physician": "doctor",
    "physio": "physiotherapist", "physiotherapy": "physiotherapist", "piano": "instrument music",
    "pick": "collect errand order", "pick up": "collect errand order pick",
    "picked up": "collect errand order pick", "picking up": "collect errand order pick",
    "pickup": "collect errand order pick", "picnic": "dinner eat food meal", "pilate": "yoga",
    "pint": "bar beer drink pub wine", "pizza": "gluten wheat", "place": "restaurant venue",
    "plane": "airport flight", "plant": "garden", "plate": "dinner eat food meal",
    "platter": "dinner eat food meal", "playlist": "band listening music",
    "plumber": "boiler heating", "poison": "allergic allergy", "policy": "insurance",
    "pool": "swim swimming", "possess": "device kit own possession", "possession": "device kit own",
    "praline": "almond nut peanut walnut", "prawn": "seafood shellfish", "prescription": "pharmacy",
    "present": "birthday gift hinting wishlist", "price": "budget money",
    "product": "device kit own possession", "profession": "job office work", "project": "work",
    "promise": "agreed commitment errand todo", "promised": "agreed commitment errand promise todo",
    "promising": "agreed commitment errand promise todo", "pub": "bar beer drink wine",
    "pudding": "bakery cake", "puncture": "bicycle bike cycling ride", "puppy": "cat dog pet vet",
    "puzzle": "game", "quiet": "loud noise noisy", "quiff": "barber hair haircut hairdresser salon",
    "racket": "squash tennis", "radiator": "boiler heating", "rail": "station train",
    "railway": "station train", "rain": "weather", "rainy": "weather",
    "ramen": "dinner eat restaurant venue", "reaction": "allergic allergy", "read": "book bookshop",
    "reading": "book bookshop", "recipe": "dinner eat food meal", "record": "turntable",
    "record player": "record turntable", "refreshment": "beverage coffee drink tea",
    "regularly": "habit routine schedule weekly", "related": "family relationship",
    "relation": "family relationship", "relationship": "family", "relative": "family relationship",
    "reminder": "commitment errand todo", "rent": "landlord",
    "repair": "bicycle bike car device service", "reservation": "dinner eat restaurant venue",
    "reserve": "restaurant venue", "residence": "address apartment home hous",
    "restaurant": "dinner eat lunch meal venue", "restriction": "allergic allergy diet dietary eat",
    "ride": "bicycle bike cycling", "rider": "bicycle bike cycling ride",
    "riding": "bicycle bike cycling ride", "ritual": "habit routine schedule weekly",
    "road": "street", "roast": "beverage cafe coffee drink", "rock": "boulder climb climbing",
    "rode": "bicycle bike cycling ride", "romantic": "dinner eat restaurant venue",
    "roommate": "flatmate", "rope": "boulder climb climbing", "rose": "florist flower",
    "routine": "habit schedule weekly", "rucksack": "backpack bag", "rugby": "football sport team",
    "run": "marathon running", "runner": "marathon run running", "running": "marathon run",
    "saddle": "bicycle bike cycling ride", "safe": "allergic allergy", "sail": "boat sailing yacht",
    "sailing": "boat yacht", "salary": "budget money", "salon": "barber hair haircut hairdresser",
    "satay": "almond nut peanut walnut", "sauce": "dinner eat food meal",
    "scallop": "seafood shellfish", "schedule": "appointment habit meeting routine weekly",
    "school": "university", "scissor": "hair hairdresser salon", "screening": "cinema film",
    "scrub": "cleaning", "scruffy": "barber hair haircut hairdresser salon", "seafood": "shellfish",
    "seed": "sesame", "sensitivity": "allergic allergy",
    "service": "bicycle bike car device repair",
    "servicing": "bicycle bike car device repair service",
    "session": "exercise fitness gym sport training", "shade": "colour",
    "shave": "barber hair haircut hairdresser salon", "shellfish": "seafood",
    "shop": "bakery birthday gift hinting present store wishlist",
    "shopping": "birthday gift hinting present wishlist", "shrimp": "seafood shellfish",
    "sibling": "brother sister", "sick": "allergic allergy", "silent": "loud noise noisy quiet",
    "sing": "band listening music", "singer": "band listening music",
    "sip": "beverage coffee drink tea", "sister": "brother", "sleep": "bed", "smartphone": "phone",
    "smoke": "smoking", "smoothy": "drink juice water", "snack": "dinner eat food meal",
    "soccer": "football sport team", "society": "club membership", "soda": "drink juice water",
    "son": "child daughter", "song": "band listening music", "soundtrack": "band listening music",
    "soya": "milk soy", "spare": "bicycle bike cycling ride", "speak": "language",
    "spice": "dinner eat food meal", "spoil": "birthday gift hinting present wishlist",
    "sport": "exercise fitness football gym team training", "spot": "place restaurant venue",
    "spous": "husband married partner wife", "squash": "tennis",
    "squat": "exercise fitness gym sport training", "station": "train", "stay": "hotel",
    "stolen": "bicycle bike car device repair service", "store": "bakery shop", "stretch": "yoga",
    "stroll": "hiking walking", "stylist": "barber hair haircut hairdresser salon",
    "suitcase": "backpack bag", "sunny": "weather", "supermarket": "bakery shop store",
    "supervisor": "boss manager", "supper": "dinner eat lunch meal restaurant venue",
    "surprise": "birthday gift hinting present wishlist", "sushi": "dinner eat restaurant venue",
    "sweat": "exercise fitness gym sport training", "swell": "allergic allergy",
    "swim": "pool swimming", "swimmer": "pool swim swimming", "swimming": "pool swim",
    "table": "dinner eat restaurant venue", "tablet": "computer laptop", "tahini": "sesame",
    "takeaway": "dinner eat restaurant venue", "tandem": "bicycle bike cycling ride",
    "task": "agreed commitment errand project promise todo work", "tea": "beverage coffee drink",
    "team": "club football membership sport", "teammate": "colleague",
    "teapot": "beverage drink tea", "teeth": "dentist", "tenancy": "landlord rent",
    "tenant": "landlord rent", "tennis": "squash", "tent": "camping",
    "thai": "dinner eat restaurant venue", "thank": "birthday gift hinting present wishlist",
    "theatre": "cinema film", "theft": "bicycle bike car device repair service",
    "thirst": "beverage coffee drink tea", "thirsty": "beverage coffee drink tea",
    "tidy": "cleaning", "tidying": "cleaning", "till": "birthday gift hinting present wishlist",
    "timetable": "habit routine schedule weekly", "tire": "bicycle bike cycling ride",
    "todo": "agreed commitment errand promise", "tofu": "soy", "tooth": "dentist",
    "tour": "travel trip visited", "tourism": "travel trip visited", "town": "city",
    "train": "exercise fitness gym sport station training",
    "trainer": "exercise fitness gym sport training", "training": "exercise fitness gym sport",
    "trattoria": "dinner eat restaurant venue", "travel": "trip visited",
    "travelled": "travel trip visited", "traveller": "travel trip visited",
    "travelling": "travel trip visited", "treadmill": "exercise fitness gym sport training",
    "treat": "birthday gift hinting present wishlist", "treatment": "medicine",
    "trek": "hiking walking", "trigger": "allergic allergy",
    "trim": "barber hair haircut hairdresser salon",
    "trimming": "barber hair haircut hairdresser salon", "trip": "travel visited",
    "tune": "band listening music", "turn fifty": "birthday celebration",
    "turn forty": "birthday celebration", "turn sixty": "birthday celebration",
    "turn thirty": "birthday celebration", "turning fifty": "birthday celebration",
    "turning forty": "birthday celebration", "turning sixty": "birthday celebration",
    "turning thirty": "birthday celebration", "turntable": "record", "tutor": "teacher",
    "tyre": "bicycle bike cycling ride", "university": "school",
    "unwrap": "birthday gift hinting present wishlist", "vacation": "travel trip visited",
    "vacuum": "cleaning", "vegan": "diet dietary eat food", "vegetarian": "diet dietary eat food",
    "vehicle": "car drive", "velo": "bicycle bike cycling ride",
    "venue": "dinner eat place restaurant", "vet": "cat dog pet", "village": "city town",
    "vinyl": "record turntable", "violin": "instrument music", "visit": "travel trip visited",
    "visited": "travel trip", "wage": "budget money",
    "waiter": "dinner eat food meal restaurant venue", "waiting": "collect errand order pick",
    "waitress": "dinner eat food meal", "walk": "hiking walking", "walking": "hiking",
    "wall": "boulder climb climbing gym", "want": "gift wishlist",
    "warranty": "bicycle bike car device repair service", "water": "drink juice",
    "wedding": "anniversary married", "weekend": "saturday sunday",
    "weekly": "habit routine schedule", "weight": "exercise fitness gym sport training",
    "went to": "travel trip visited", "wheat": "gluten", "wheel": "bicycle bike cycling ride",
    "wheeler": "bicycle bike cycling ride", "whisky": "bar beer drink pub wine",
    "wife": "husband married partner spous", "wine": "bar beer drink pub",
    "wish": "birthday gift hinting present want wishlist", "wish list": "gift want wishlist",
    "wishlist": "birthday gift hinting present want", "work": "commuting job office project",
    "work out": "exercise fitness gym sport training", "working": "project work",
    "workmate": "colleague", "workout": "exercise fitness gym sport training",
    "wrap": "birthday gift hinting present wishlist", "wristwatch": "watch",
    "xma": "birthday gift hinting present wishlist", "yacht": "boat sailing",
    "yearn": "want wishlist", "yoghurt": "dairy lactose milk", "yogurt": "dairy lactose milk"
}'::jsonb;
COMMENT ON FUNCTION mnemo._related_g_to_z() IS
    'The part of _related_words for words from g to z.';

CREATE FUNCTION mnemo._related_words()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._related_a_to_f() || mnemo._related_g_to_z();
COMMENT ON FUNCTION mnemo._related_words() IS
    'English words, as _terms folds them, each with the words, spaces between, that a record about '
    'the same thing is likely to have. A constant.';

-- part: 727_question_words.sql
CREATE FUNCTION mnemo._conversation_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN string_to_array(
    'able absolutely according across actually advice advise afraid afternoon against ago agree'
    ' ah ahead allow allowed alone along already alright although amazing among amount announce'
    ' answer anybody anymore anyway anywhere apart apparently appear appreciate approach area'
    ' around arrive aside asking assume attempt attention autumn aware away awesome bad'
    ' basically bear beat became becaus become began begin behind believe belong below beneath'
    ' beside between beyond big bit book booked booking both bother bring brought busy buying'
    ' call called calling care careful carry case catch caught caus certain certainly chance'
    ' change check choice choose chose chosen claim clear clearly close closest comfortable'
    ' coming common compare completely concern confirm confused consider constantly contain'
    ' continue convince correct correctly count couple course cover currently dare date day dead'
    ' deal dear decent decide decided decision deep definitely depend describe deserve despite'
    ' detail determine die differ difference different difficult direct directly discover'
    ' discuss doing doubt dozen drive driving drop drove due during eager early easily easy eh'
    ' either else elsewhere end ended enough entire entirely especially essentially even evening'
    ' event eventually everybody everywhere exact exactly example except excited exist expect'
    ' explain express extra extremely eye fact fail fair fairly fall familiar fancy far fast'
    ' favorite favourite feel feeling felt fetching few figure final finally finding fine finish'
    ' first fit fix follow fond forever forget forgot forgotten form former forty forward free'
    ' frequently front full fully fun funny further future gather general generally getting'
    ' giving glad gladly gotta grab guess hand handle handy hang happen happened happening happy'
    ' hard hardly hate head heading hear heard heavy hell hello help helpful hey hi hint hmm'
    ' hold honest honestly hope hoping hour huge hungry hurry idea ideal ideally imagine'
    ' immediately important impossible impress include indeed info inform information inside'
    ' instance instead intend intention interested interesting involve issue item join joke keen'
    ' keep kept key kidding kindly knowing large last late lately later latest lead lean learn'
    ' least leave left less letting level likely liking limit line list listed little live load'
    ' local long longer looking lose lost loud low lucky main mainly maintain making manage mark'
    ' matter maybe mean meant meanwhile mention mentioned mere mess message middle mind minute'
    ' miss missed missing mistake mix moment month morning mostly move naturally near nearby'
    ' nearest nearly necessarily necessary neither next nice night nobody none noon normal'
    ' normally note notice nowaday nowhere obvious obviously occasion occasionally odd offer oh'
    ' ok okay once opinion option original otherwise ought outside overall owe pack packing'
    ' particular particularly pass past perfect perfectly perhap personal personally pick picked'
    ' piece place plain plan planned planning plenty plus point pop position possible possibly'
    ' potential practically prefer preferably preference preferred present pretty previous'
    ' previously probably problem proper properly provide pull purpose push putting question'
    ' quick quickly quiet quite random rather rave reach react read ready real realise realiz'
    ' reason recent recently recommend recommendation refer regard regarding regular regularly'
    ' related reliable reliably rely remain reminder reply request require reserve reserved'
    ' respond rest result review right rough roughly round rule running rush sake satisfied save'
    ' saying scratch second seeing seem seemed select send sense sensible separate serious'
    ' seriously set settle settled several share short shortly shot showing side sign similar'
    ' simple simply since single sit situation slightly slow slowly small smart smile somebody'
    ' somehow sometime somewhat somewhere soon sorry sound space speak special specific'
    ' specifically spend spoke spot spring stand standard start started state stay stick stop'
    ' stopping straight strange stuck stupid such suddenly suggest suggestion suit suitable'
    ' suited summer suppose supposed sure surely surprise suspect swear sweet swing switch'
    ' taking talk talking telling tend term test thank therefore thinking third though three'
    ' thrilled throw till today together tomorrow tonight top total totally touch toward track'
    ' tricky tried trouble true trust trusty truth try trying turn twice two typical typically'
    ' ultimately under understand understood unless until unusual upon upset urgent useful usual'
    ' various via view visit vital wait waiting walk wanna want wanting warn wasted watch week'
    ' weekday weird whatever whenever wherever whether whichever while whilst whoever whole'
    ' willing winter wise wish within without won wonder wonderful wondering word work worked'
    ' world worry worse worst worth wow wrap write wrong year yes yesterday young', ' ');
COMMENT ON FUNCTION mnemo._conversation_words() IS
    'English words, as _terms folds them, that carry a conversation and seldom its subject: they '
    'ask for something only where a question has no other words.';

CREATE FUNCTION mnemo._word_forms(
    p_word text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN length(p_word) < 4 OR p_word COLLATE "C" ~ '[^a-z]' THEN '{}'::text[]
    WHEN right(p_word, 3) = 'ing' THEN
        CASE WHEN substr(p_word, length(p_word) - 4, 2)
            IN ('bb', 'dd', 'ff', 'gg', 'mm', 'nn', 'pp', 'rr', 'tt')
        THEN ARRAY[left(p_word, -4)]
        ELSE ARRAY[left(p_word, -3), left(p_word, -3) || 'e'] END
    WHEN right(p_word, 2) IN ('ed', 'er') THEN
        CASE WHEN substr(p_word, length(p_word) - 3, 2)
            IN ('bb', 'dd', 'ff', 'gg', 'mm', 'nn', 'pp', 'rr', 'tt')
        THEN ARRAY[left(p_word, -3), left(p_word, -2) || 'ing']
        ELSE ARRAY[left(p_word, -1), left(p_word, -2), left(p_word, -2) || 'ing'] END
    WHEN right(p_word, 1) = 'e' THEN ARRAY[left(p_word, -1) || 'ing', p_word || 'd']
    WHEN translate(right(p_word, 3), 'aeiobdgmnprtcfhjklsvw', 'uuuullllllllyyyyyyyyy')
        IN ('lul', 'yul')
    THEN ARRAY[p_word || right(p_word, 1) || 'ing', p_word || 'ing']
    ELSE ARRAY[p_word || 'ing', p_word || 'ed'] END;
COMMENT ON FUNCTION mnemo._word_forms(text) IS
    'Other forms that an English word may have, besides plurals: climb for climbing, climbing for '
    'climb, both for climber and climbed; some are no words. Empty for words of fewer than four '
    'letters or of other letters. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._word_strengths()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_object(
        mnemo._weak_words(), array_fill('0'::text, ARRAY[cardinality(mnemo._weak_words())]))
    || jsonb_object(
        mnemo._conversation_words(),
        array_fill('1'::text, ARRAY[cardinality(mnemo._conversation_words())]))
    || jsonb_object(
        mnemo._stop_words(), array_fill('-1'::text, ARRAY[cardinality(mnemo._stop_words())]));
COMMENT ON FUNCTION mnemo._word_strengths() IS
    'The words that ask for little: 1 for those of _conversation_words, 0 for those of _weak_words,'
    ' -1 for stop words. A constant, asked faster than the lists.';

CREATE FUNCTION mnemo._question_terms(
    p_text text
)
RETURNS TABLE (
    place bigint,
    word text,
    strength integer,
    form text,
    term bigint,
    factor double precision,
    evidence double precision
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 40
BEGIN ATOMIC
    WITH token AS MATERIALIZED (
        SELECT t.word, min(t.place) AS place, min(t.phrase) AS phrase,
               mnemo._word_strengths() ->> t.word AS strength
          FROM (
            SELECT u.word, u.place, mnemo._related_words() ->> (
                       u.word || ' ' || lead(u.word) OVER (ORDER BY u.place)) AS phrase
              FROM unnest(mnemo._terms(p_text)) WITH ORDINALITY AS u(word, place)
          ) AS t
         GROUP BY t.word
    ), asked AS MATERIALIZED (
        SELECT t.word, t.place, t.phrase,
               CASE WHEN t.strength IS NULL OR t.phrase IS NOT NULL THEN 2
               ELSE t.strength::integer END AS strength,
               CASE WHEN t.strength = '0' AND t.phrase IS NULL THEN '{}'::text[]
               ELSE mnemo._word_forms(t.word) END AS forms
          FROM token AS t
         WHERE t.strength IS DISTINCT FROM '-1' OR t.phrase IS NOT NULL
    )
    SELECT f.place, f.word, f.strength, f.form, mnemo._hash64(f.form), max(f.factor),
           max(f.evidence)
      FROM (
        SELECT a.place, a.word, a.strength, a.word AS form, 1.0::double precision AS factor,
               1.0::double precision AS evidence
          FROM asked AS a
        UNION ALL
        SELECT a.place, a.word, a.strength, v.form, 0.85, 0.9
          FROM asked AS a CROSS JOIN LATERAL unnest(a.forms) AS v(form)
        UNION ALL
        SELECT a.place, a.word, a.strength, r.form, 0.5, 0.72
          FROM asked AS a
          CROSS JOIN LATERAL unnest(a.word || a.forms || a.phrase) WITH ORDINALITY AS v(form, place)
          CROSS JOIN LATERAL unnest(string_to_array(
                CASE WHEN v.place = 2 + cardinality(a.forms) THEN v.form
                ELSE mnemo._related_words() ->> v.form END, ' ')) AS r(form)
         WHERE a.strength > 0
      ) AS f
     GROUP BY f.place, f.word, f.strength, f.form;
END;
COMMENT ON FUNCTION mnemo._question_terms(text) IS
    'What may answer each word of a question, stop words aside. place: of the word. strength: 2 a '
    'word that asks for something; 1 a word of _conversation_words, which does so only where there '
    'is no other; 0 a word of _weak_words, which never does. form: the word itself, another form '
    'of it or a related word; term: its hash. factor: what a hit of it counts in ranking (1 the '
    'word, 0.85 a form, 0.5 a related word). evidence: how far a hit shows that the record speaks '
    'of what the word asks for (1, 0.9, 0.72). A word that begins a phrase of _related_words, such '
    'as work out, has the related words of the phrase too. No row for a text without words.';

CREATE FUNCTION mnemo._meant_person(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN mnemo._terms(p_text) && ARRAY['she', 'her', 'he', 'him', 'his', 'wife', 'husband', 'spous',
        'fiancee', 'fiance', 'girlfriend', 'boyfriend', 'hubby', 'missu']::text[] THEN 'partner'
    WHEN mnemo._terms(p_text) && ARRAY['i', 'me', 'my', 'mine', 'myself', 'we', 'us', 'our',
        'user']::text[] THEN 'user' END;
COMMENT ON FUNCTION mnemo._meant_person(text) IS
    'Whom a text means that names nobody: partner for a pronoun of the third person or a word for '
    'a spouse, that is the one subject that has a name of _partner_names; user for the first '
    'person; else NULL. NULL for NULL.';

CREATE FUNCTION mnemo._partner_names()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['wife', 'husband', 'spous', 'fiancee', 'fiance', 'girlfriend', 'boyfriend', 'partner']
    ::text[];
COMMENT ON FUNCTION mnemo._partner_names() IS
    'Names, as _fold_name gives them, of the person that she or he means where nobody is named, '
    'best first: the first that exactly one subject has.';

-- part: 730_retrieval_rules.sql
-- Executing a retrieval plan. What a plan asks for becomes slots: a slot is a word, an entity, a
-- predicate or the pair of the hints, with the terms that may answer it. The lists of the terms
-- give candidates, which are few; these are scored slot by slot from their own terms, and each
-- ranking of the fusion adds up the slots that belong to it.

CREATE TYPE mnemo._retrieval_rules AS (
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
    about_factor double precision
);
COMMENT ON TYPE mnemo._retrieval_rules IS 'The numbers of mnemo._retrieval_rules().';

CREATE FUNCTION mnemo._retrieval_rules()
RETURNS mnemo._retrieval_rules
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(64, 64, 60, 2, 0.5, 0.41, 0.12, 0.6, 0.7, 0.5, 0.5, 0.3, 1.3, 0.3, 0.7)
    ::mnemo._retrieval_rules;
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
    'words that ask for nothing; about_factor: of a name as the subject.';

CREATE TYPE mnemo._asked AS (
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
    persons integer[],
    average_length double precision,
    preferred boolean,
    meant boolean,
    pair boolean,
    subjects text[],
    predicate text
);
COMMENT ON TYPE mnemo._asked IS
    'What a plan asks for. terms, slots, scores, evidences: the terms that answer slots, with idf '
    'times factor and what a hit is evidence of; lists, list_scores, list_slots: the lists to '
    'read; rankings, '
    'ranking_slots, factors, asks: which slots a ranking adds up, and whether a hit is evidence; '
    'admits: the rankings whose evidence admits; persons: the slots that names are in; preferred: '
    'whether some subject ranks first; meant: whether the plan means it, by name or pronoun; '
    'pair: whether both hints are there; subjects: whom the subject hint means; predicate: the '
    'hint.';

-- The numbers of slots: words by their place from 1, whom a pronoun means 9000, entities from
-- 10001, predicates from 20001, the hints 30000, records about whom the plan means 40000.

CREATE FUNCTION mnemo._known_names(
    p_names text[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_audiences bigint[],
    p_places bigint[]
)
RETURNS TABLE (name text, subject text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT n.name, a.audience, a.place, p.weight, p.memory_id
          FROM unnest(p_names) AS n(name)
          CROSS JOIN unnest(p_audiences, p_places) AS a(audience, place)
          CROSS JOIN LATERAL (
            SELECT t.weight, t.memory_id
              FROM mnemo.term_posting AS t
             WHERE t.org_id = CASE a.place WHEN 4 THEN '*' ELSE p_org_id END
               AND t.key = a.audience # mnemo._name_term(n.name)
             ORDER BY t.weight DESC, t.shortness DESC, t.memory_id DESC
             LIMIT 32
          ) AS p
    ), itself AS MATERIALIZED (
        SELECT DISTINCT k.name FROM known AS k WHERE k.weight >= 30
    )
    SELECT i.name, i.name FROM itself AS i
    UNION ALL
    SELECT f.name, min(f.subject)
      FROM (
        SELECT k.name, mnemo._fold_name(m.subject) COLLATE "C" AS subject
          FROM known AS k
          CROSS JOIN LATERAL mnemo._recallable_record(
                k.place, k.audience, k.memory_id, p_org_id, p_agent_id, p_now, NULL) AS m
         WHERE NOT EXISTS (SELECT FROM itself AS i WHERE i.name = k.name)
           AND m.subject IS NOT NULL
      ) AS f
     GROUP BY f.name
    HAVING min(f.subject) = max(f.subject);
END
$fn$;
COMMENT ON FUNCTION mnemo._known_names(text[], text, text, timestamptz, bigint[], bigint[]) IS
    'Those of the names, given as _fold_name gives them, that mean one subject of the records that '
    'the agent may read, and that subject: the name itself, or the only subject of the first 32 '
    'records that have it as an alias or entity. p_places: which audience each is, as _recallable '
    'counts them.';

CREATE FUNCTION mnemo._boosts(
    p_source_type text,
    p_confidence double precision,
    p_kind text,
    p_valid_from timestamptz,
    p_now timestamptz
)
RETURNS TABLE (factor double precision, boosts jsonb)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT b.source * b.confidence * b.doubt * b.recency,
           jsonb_build_object('source', b.source, 'confidence', b.confidence, 'doubt', b.doubt,
               'recency', b.recency)
      FROM (
        SELECT CASE WHEN p_source_type IN ('human', 'user_input') THEN 1.1 ELSE 1.0 END
                   ::double precision AS source,
               coalesce(0.7 + 0.6 * p_confidence, 1) AS confidence,
               CASE WHEN p_confidence < 0.5 THEN 0.7 ELSE 1.0 END::double precision AS doubt,
               CASE WHEN p_kind = 'episodic'
               THEN 0.5 + 0.5 * exp(
                    -least(greatest(
                        extract(epoch FROM p_now - p_valid_from)::double precision / 86400,
                        0), 7000)
                    / 14)
               ELSE 1 END AS recency
      ) AS b;
END;
COMMENT ON FUNCTION mnemo._boosts(text, double precision, text, timestamptz, timestamptz) IS
    'What multiplies the score of a record: source 1.1 for an explicit one (human, user_input); '
    'confidence 0.7 + 0.6 times it, 1 where it is unknown; doubt 0.7 for a confidence under 0.5; '
    'recency 0.5 + 0.5 * exp(-days / 14) for facts of kind episodic; factor is their product.';

-- part: 731_asked_names.sql
CREATE FUNCTION mnemo._reachable_audiences(
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    OUT audiences bigint[],
    OUT places bigint[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    SELECT array_agg(a.audience ORDER BY a.place), array_agg(a.place ORDER BY a.place)
      INTO audiences, places
      FROM unnest(mnemo._audiences(p_org_id, p_agent_id, NULL)
            || mnemo._delegated_audiences(p_org_id, p_agent_id, NULL, p_now))
        WITH ORDINALITY AS a(audience, place)
     WHERE CASE a.place
        WHEN 2 THEN EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = p_org_id AND m.scope = 'public'
               AND m.scope IN ('public', 'global') AND m.deleted_at IS NULL
               AND NOT m.tags @> ARRAY['__experience_plan__'])
        WHEN 3 THEN EXISTS (
            SELECT FROM mnemo.acl AS g WHERE g.org_id = p_org_id AND g.agent_id = p_agent_id)
        WHEN 4 THEN EXISTS (
            SELECT FROM mnemo.memory AS m
             WHERE m.org_id = '*' AND m.scope = 'global'
               AND m.scope IN ('public', 'global') AND m.deleted_at IS NULL
               AND NOT m.tags @> ARRAY['__experience_plan__'])
        ELSE true END;
END
$fn$;
COMMENT ON FUNCTION mnemo._reachable_audiences(text, text, timestamptz) IS
    'The audiences whose lists can hold a memory that the agent may read, and the place of each as '
    '_recallable counts them. Others have empty lists, which need not be looked up.';

CREATE FUNCTION mnemo._phrases(
    p_texts text[]
)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT array_to_string(w.words[p.place : p.place + n.more], ' ') COLLATE "C"
          FROM unnest(p_texts) AS t(text)
          CROSS JOIN LATERAL (
            SELECT string_to_array(mnemo._fold_phrase(t.text), ' ') AS words OFFSET 0
          ) AS w
          CROSS JOIN LATERAL generate_subscripts(w.words, 1) AS p(place)
          CROSS JOIN generate_series(0, 2) AS n(more)
         WHERE p.place + n.more <= cardinality(w.words)
           AND w.words[p.place] COLLATE "C" <> ALL (mnemo._stop_words())
           AND w.words[p.place + n.more] COLLATE "C" <> ALL (mnemo._stop_words())
           AND (n.more > 0 OR w.words[p.place] COLLATE "C"
                <> ALL (mnemo._weak_words() || mnemo._conversation_words()))
    );
END
$fn$;
COMMENT ON FUNCTION mnemo._phrases(text[]) IS
    'What may be a name in texts: each word, pair and three words in a row that neither begin nor '
    'end with a stop word, as _fold_name gives names; single words only where they are neither '
    'weak nor words of conversation.';

CREATE FUNCTION mnemo._asked_names(
    p_plan jsonb,
    p_queries text[],
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_audiences bigint[],
    p_places bigint[]
)
RETURNS TABLE (name text, subject text, origin text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_meant text[] := ARRAY(SELECT mnemo._meant_person(q.text) FROM unnest(p_queries) AS q(text));
    v_phrases text[] := mnemo._phrases(p_queries);
    v_entities text[] := ARRAY(
        SELECT mnemo._fold_name(f.form)
          FROM jsonb_array_elements(p_plan -> 'entities') AS e(entity)
          CROSS JOIN LATERAL (VALUES (e.entity ->> 'surface'), (e.entity ->> 'canonical'))
            AS f(form)
         WHERE f.form IS NOT NULL);
    v_hint text := mnemo._fold_name(p_plan ->> 'subject_hint');
    v_partner text[] := CASE WHEN 'partner' = ANY (v_meant) THEN mnemo._partner_names() END;
BEGIN
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT k.name, k.subject
          FROM mnemo._known_names(
                v_phrases || v_entities || v_hint || v_partner, p_org_id, p_agent_id, p_now,
                p_audiences, p_places) AS k
    ), said AS MATERIALIZED (
        SELECT k.name, k.subject
          FROM known AS k
         WHERE k.name = ANY (v_phrases || v_entities) AND k.subject <> 'user'
    )
    -- A name within a longer one is no name of its own.
    SELECT s.name, s.subject, 'said'
      FROM said AS s
     WHERE NOT EXISTS (
        SELECT FROM said AS o
         WHERE o.name <> s.name
           AND strpos(' ' || o.name || ' ', ' ' || s.name || ' ') > 0)
    UNION ALL
    (SELECT NULL, k.subject, 'partner'
       FROM known AS k
      WHERE k.name = ANY (v_partner) AND k.subject <> 'user'
        AND NOT EXISTS (SELECT FROM said)
      ORDER BY array_position(v_partner, k.name)
      LIMIT 1)
    UNION ALL
    SELECT NULL, 'user',
           CASE WHEN 'user' = ANY (v_meant || v_entities) THEN 'user' ELSE 'nobody' END
     WHERE NOT EXISTS (SELECT FROM known AS k
                        WHERE k.name = ANY (v_phrases || v_entities || v_partner)
                          AND k.subject <> 'user')
       AND ('user' = ANY (v_meant || v_entities) OR v_partner IS NULL)
    UNION ALL
    SELECT v_hint, coalesce((SELECT k.subject FROM known AS k WHERE k.name = v_hint), v_hint),
           'hint'
     WHERE v_hint IS NOT NULL;
END
$fn$;
COMMENT ON FUNCTION mnemo._asked_names(
    jsonb, text[], text, text, timestamptz, bigint[], bigint[]
) IS
    'Whom a plan means, by its origin: said, a name in its queries or entities that means one '
    'subject other than the user; where there is none, partner, whom a pronoun means, else the '
    'user (user where a query speaks in the first person, nobody where it does not); hint, the '
    'subject hint, resolved where it is known.';

-- part: 732_asked.sql
CREATE FUNCTION mnemo._inverse_frequencies(
    p_terms bigint[],
    p_org_id text,
    OUT idfs double precision[],
    OUT average_length double precision
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $fn$
BEGIN
    WITH change AS MATERIALIZED (
        SELECT c.records, c.length, c.terms, c.counts, c.terms && p_terms AS asked
          FROM mnemo.term_change AS c
         WHERE c.org_id = p_org_id
    ), total AS MATERIALIZED (
        SELECT coalesce(sum(s.records), 0)::double precision AS records,
               coalesce(sum(s.length), 0)::double precision AS length
          FROM (
            SELECT t.records, t.length FROM mnemo.term_total AS t WHERE t.org_id = p_org_id
            UNION ALL
            SELECT c.records, c.length FROM change AS c
          ) AS s
    )
    SELECT array_agg(ln(1 + (t.records - f.records + 0.5) / (f.records + 0.5)) ORDER BY f.place),
           max(CASE WHEN t.length > 0 THEN t.length / t.records ELSE 10 END)
      INTO idfs, average_length
      FROM (
        SELECT a.place, (coalesce((
                    SELECT q.records FROM mnemo.term_frequency AS q
                     WHERE q.org_id = p_org_id AND q.term = a.term
                ), 0) + coalesce((
                    SELECT sum(c.counts[array_position(c.terms, a.term)])
                      FROM change AS c WHERE c.asked
                ), 0))::double precision AS records
          FROM unnest(p_terms) WITH ORDINALITY AS a(term, place)
      ) AS f
      CROSS JOIN total AS t;
END
$fn$;
COMMENT ON FUNCTION mnemo._inverse_frequencies(bigint[], text) IS
    'The inverse document frequency of each term and the average length, as _query_terms has them.';

CREATE FUNCTION mnemo._asked(
    p_plan jsonb,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_audiences bigint[],
    p_places bigint[]
)
RETURNS mnemo._asked
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
AS $fn$
DECLARE
    v_rules mnemo._retrieval_rules := mnemo._retrieval_rules();
    v_queries text[] := ARRAY(
        SELECT e.text FROM jsonb_array_elements_text(p_plan -> 'lexical_queries') AS e(text));
    v_topics text := (
        SELECT string_agg(e.text, ' ')
          FROM jsonb_array_elements_text(p_plan -> 'topics') AS e(text));
    v_asked mnemo._asked;
    v_factors double precision[];
    v_reads boolean[];
    v_own bigint[];
BEGIN
    v_asked.predicate := p_plan ->> 'predicate_hint';
    WITH name AS MATERIALIZED (
        SELECT n.name, n.subject, n.origin
          FROM mnemo._asked_names(
                p_plan, v_queries, p_org_id, p_agent_id, p_now, p_audiences, p_places) AS n
    ), form AS MATERIALIZED (
        SELECT t.place::integer AS slot, t.word, t.strength, t.term, t.factor, t.evidence
          FROM mnemo._question_terms(array_to_string(v_queries || v_topics, ' ')) AS t
    ), word AS MATERIALIZED (
        SELECT f.slot, f.word, max(f.strength) AS strength, max(n.subject) AS subject
          FROM form AS f
          LEFT JOIN name AS n
            ON n.origin = 'said' AND f.word = ANY (string_to_array(n.name, ' '))
         GROUP BY f.slot, f.word
    ), query AS MATERIALIZED (
        SELECT q.ranking::integer AS ranking, mnemo._terms(q.text) AS words,
               mnemo._meant_person(q.text) AS meant
          FROM unnest(v_queries || array_fill(NULL::text, ARRAY[3 - cardinality(v_queries)])
                || v_topics) WITH ORDINALITY AS q(text, ranking)
         WHERE q.text IS NOT NULL
    ), usage AS MATERIALIZED (
        SELECT u.ranking, u.slot, u.asks, CASE WHEN u.asks THEN 1 ELSE v_rules.weak_factor END
               AS factor
          FROM (
            SELECT q.ranking, w.slot,
                   w.strength = 2 OR w.subject IS NOT NULL
                   OR w.strength = 1 AND q.meant IS DISTINCT FROM 'partner'
                       AND NOT bool_or(w.strength = 2 OR w.subject IS NOT NULL)
                               OVER (PARTITION BY q.ranking) AS asks
              FROM query AS q
              JOIN word AS w ON w.word = ANY (q.words)
            UNION ALL
            SELECT q.ranking, 9000, true
              FROM query AS q
             WHERE q.meant = 'partner' AND EXISTS (SELECT FROM name AS n WHERE n.origin = 'partner')
          ) AS u
        UNION ALL
        SELECT 5, 10000 + e.place::integer, false, 1
          FROM jsonb_array_elements(p_plan -> 'entities') WITH ORDINALITY AS e(entity, place)
        UNION ALL
        SELECT 6, 20000 + e.place::integer, false, 1
          FROM jsonb_array_elements_text(p_plan -> 'predicates') WITH ORDINALITY AS e(name, place)
    ), answer AS MATERIALIZED (
        SELECT f.term, f.slot, f.factor, f.evidence,
               EXISTS (SELECT FROM usage AS u WHERE u.slot = f.slot AND u.asks) AS reads
          FROM form AS f
        UNION ALL
        SELECT t.term, p.slot, t.factor, t.evidence, true
          FROM (
            SELECT w.slot, w.subject FROM word AS w WHERE w.subject IS NOT NULL
            UNION ALL
            SELECT 9000, n.subject FROM name AS n WHERE n.origin = 'partner'
          ) AS p
          CROSS JOIN LATERAL (VALUES
            (mnemo._about_term(p.subject), v_rules.about_factor, 1),
            (mnemo._name_term(p.subject), 0.5 * v_rules.about_factor, 0.9)
          ) AS t(term, factor, evidence)
        UNION ALL
        SELECT mnemo._name_term(f.name), 10000 + e.place::integer, 1, 0, true
          FROM jsonb_array_elements(p_plan -> 'entities') WITH ORDINALITY AS e(entity, place)
          CROSS JOIN LATERAL (
            SELECT mnemo._fold_name(e.entity ->> 'surface') AS name
            UNION
            SELECT mnemo._fold_name(e.entity ->> 'canonical')
            UNION
            SELECT n.subject FROM name AS n
             WHERE n.origin = 'said' AND n.name IN (mnemo._fold_name(e.entity ->> 'surface'),
                mnemo._fold_name(e.entity ->> 'canonical'))
          ) AS f
         WHERE f.name IS NOT NULL
        UNION ALL
        SELECT mnemo._attribute_term(e.name), 20000 + e.place::integer, 1, 0, true
          FROM jsonb_array_elements_text(p_plan -> 'predicates') WITH ORDINALITY AS e(name, place)
        UNION ALL
        SELECT mnemo._pair_term(n.subject, v_asked.predicate), 30000, 1, 0, true
          FROM name AS n WHERE n.origin = 'hint' AND v_asked.predicate IS NOT NULL
        UNION ALL
        SELECT mnemo._about_term(n.subject), 30000, 1, 0, true
          FROM name AS n WHERE n.origin = 'hint' AND v_asked.predicate IS NULL
        UNION ALL
        SELECT mnemo._attribute_term(v_asked.predicate), 30000, 1, 0, true
         WHERE v_asked.predicate IS NOT NULL
           AND NOT EXISTS (SELECT FROM name AS n WHERE n.origin = 'hint')
        UNION ALL
        SELECT mnemo._about_term(n.subject), 40000, 1, 0, false
          FROM name AS n WHERE n.origin <> 'hint'
    ), sought AS (
        SELECT array_agg(u.slot ORDER BY u.slot) FILTER (WHERE u.asks) AS slots, u.ranking
          FROM usage AS u
         WHERE u.ranking <= 3
         GROUP BY u.ranking
    )
    SELECT a.terms, a.slots, a.factors, a.evidences, a.reads, u.rankings, u.slots, u.factors,
           u.asks,
           ARRAY(
                SELECT s.ranking FROM sought AS s
                 WHERE s.slots IS NOT NULL AND NOT EXISTS (
                    SELECT FROM sought AS o WHERE s.slots <@ o.slots AND NOT o.slots <@ s.slots)),
           ARRAY(
                SELECT w.slot FROM word AS w WHERE w.subject IS NOT NULL
                UNION ALL
                SELECT 9000 FROM name AS n WHERE n.origin = 'partner'),
           EXISTS (SELECT FROM name AS n WHERE n.origin <> 'hint'),
           EXISTS (SELECT FROM name AS n WHERE n.origin IN ('said', 'partner', 'user')),
           EXISTS (SELECT FROM name AS n WHERE n.origin = 'hint')
               AND v_asked.predicate IS NOT NULL,
           ARRAY(SELECT n.subject FROM name AS n WHERE n.origin = 'hint'),
           ARRAY(SELECT mnemo._about_term(n.subject) FROM name AS n WHERE n.origin <> 'hint')
      INTO v_asked.terms, v_asked.slots, v_factors, v_asked.evidences, v_reads, v_asked.rankings,
           v_asked.ranking_slots, v_asked.factors, v_asked.asks, v_asked.admits, v_asked.persons,
           v_asked.preferred, v_asked.meant, v_asked.pair, v_asked.subjects, v_own
      FROM (
        SELECT array_agg(r.term) AS terms, array_agg(r.slot) AS slots,
               array_agg(r.factor) AS factors, array_agg(r.evidence) AS evidences,
               array_agg(r.reads) AS reads
          FROM answer AS r
      ) AS a
      CROSS JOIN (
        SELECT array_agg(g.ranking) AS rankings, array_agg(g.slot) AS slots,
               array_agg(g.factor) AS factors, array_agg(g.asks) AS asks
          FROM usage AS g
      ) AS u;
    SELECT array_agg(i.idf * i.factor ORDER BY i.place), max(f.average_length)
      INTO v_asked.scores, v_asked.average_length
      FROM mnemo._inverse_frequencies(v_asked.terms, p_org_id) AS f
      CROSS JOIN LATERAL unnest(f.idfs, v_factors) WITH ORDINALITY AS i(idf, factor, place);
    -- Records about whom the plan means rank before others with the same words: so do their lists.
    SELECT array_agg(l.term), array_agg(l.score), array_agg(l.slot)
      INTO v_asked.lists, v_asked.list_scores, v_asked.list_slots
      FROM (
        SELECT DISTINCT ON (o.term) o.term, o.score, o.slot
          FROM (
            SELECT t.term, t.slot, t.score * CASE
                       WHEN NOT v_asked.preferred OR t.slot >= 9000 THEN 1
                       WHEN t.term = ANY (v_own) THEN v_rules.own_factor
                       ELSE v_rules.other_factor END AS score
              FROM unnest(v_asked.terms, v_asked.slots, v_asked.scores, v_reads)
                AS t(term, slot, score, reads)
             WHERE t.reads
            UNION ALL
            SELECT mnemo._own_term(w.about, t.term), t.slot, t.score * v_rules.own_factor
              FROM unnest(v_asked.terms, v_asked.slots, v_asked.scores, v_reads)
                AS t(term, slot, score, reads)
              CROSS JOIN unnest(v_own) AS w(about)
             WHERE t.reads AND t.slot < 9000
          ) AS o
         ORDER BY o.term, o.score DESC, o.slot
      ) AS l;
    RETURN v_asked;
END
$fn$;
COMMENT ON FUNCTION mnemo._asked(jsonb, text, text, timestamptz, bigint[], bigint[]) IS
    'What a plan in normal form asks for, in the words and names of the records that the agent may '
    'read.';

-- part: 733_retrieved.sql
CREATE FUNCTION mnemo._retrieved(
    p_plan jsonb,
    p_asked mnemo._asked,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_filter mnemo._recall_filter,
    p_audiences bigint[],
    p_places bigint[],
    p_embedding text,
    p_model text,
    p_limit bigint,
    p_unfit mnemo._recall_filter
)
RETURNS TABLE (
    org_id text,
    id uuid,
    admitted boolean,
    rankings text[],
    ranks bigint[],
    parts double precision[],
    boosts jsonb,
    score double precision,
    best double precision,
    evidence double precision,
    hinted boolean
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 64
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_mergejoin = off
SET jit = off
AS $fn$
DECLARE
    v_rules mnemo._retrieval_rules := mnemo._retrieval_rules();
    v_average double precision := p_asked.average_length;
    v_after timestamptz := p_plan #>> '{temporal,after}';
    v_before timestamptz := p_plan #>> '{temporal,before}';
    v_scopes jsonb := p_plan -> 'scopes';
    v_least double precision := CASE WHEN p_filter.kinds IS NULL THEN v_rules.least_evidence
        ELSE v_rules.least_of_kind END;
    -- For a longer answer more is read.
    v_candidates bigint := greatest(v_rules.candidates, 2 * p_limit);
    v_cap bigint := greatest(v_rules.list_cap, 2 * p_limit);
    v_queries bigint := jsonb_array_length(p_plan -> 'lexical_queries');
BEGIN
    RETURN QUERY
    WITH head AS MATERIALIZED (
        SELECT l.slot, a.place, a.audience, e.ids, e.parts
          FROM unnest(p_asked.lists, p_asked.list_scores, p_asked.list_slots)
            AS l(term, score, slot)
          CROSS JOIN unnest(p_audiences, p_places) AS a(audience, place)
          CROSS JOIN LATERAL (
            SELECT array_agg(h.memory_id) AS ids,
                   array_agg(mnemo._term_score(l.score, h.weight, -h.shortness, v_average)) AS parts
              FROM (
                SELECT p.weight, p.shortness, p.memory_id
                  FROM mnemo.term_posting AS p
                 WHERE p.org_id = p_org_id AND p.key = a.audience # l.term
                 ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
                 LIMIT v_cap
              ) AS h
          ) AS e
         WHERE a.place <> 4
        UNION ALL
        SELECT l.slot, a.place, a.audience, e.ids, e.parts
          FROM unnest(p_asked.lists, p_asked.list_scores, p_asked.list_slots)
            AS l(term, score, slot)
          CROSS JOIN unnest(p_audiences, p_places) AS a(audience, place)
          CROSS JOIN LATERAL (
            SELECT array_agg(h.memory_id) AS ids,
                   array_agg(mnemo._term_score(l.score, h.weight, -h.shortness, v_average)) AS parts
              FROM (
                SELECT p.weight, p.shortness, p.memory_id
                  FROM mnemo.term_posting AS p
                 WHERE p.org_id = '*' AND p.key = a.audience # l.term
                 ORDER BY p.weight DESC, p.shortness DESC, p.memory_id DESC
                 LIMIT v_cap
              ) AS h
          ) AS e
         WHERE a.place = 4
    ), entry AS (
        -- Who is not in the head of a long list may still have as much as its last entry: only
        -- what an entry has beyond it tells records apart.
        SELECT t.slot, t.place, t.audience, e.memory_id, greatest(e.part - t.tail, 0) AS part
          FROM (
            SELECT h.slot, h.place, h.audience, h.ids, h.parts,
                   max(coalesce(h.parts[v_cap], 0)) OVER (PARTITION BY h.place, h.slot) AS tail
              FROM head AS h
             WHERE h.ids IS NOT NULL
          ) AS t
          CROSS JOIN LATERAL unnest(t.ids, t.parts) AS e(memory_id, part)
    ), chosen AS MATERIALIZED (
        SELECT m.org_id, m.id, m.kind, m.confidence, m.source_type, m.valid_from
          FROM (
            SELECT e.place, e.audience, e.memory_id, mnemo._round_score(sum(e.part)) AS reach
              FROM (
                SELECT i.place, i.audience, i.memory_id, max(i.part) AS part
                  FROM entry AS i
                 GROUP BY i.place, i.audience, i.memory_id, i.slot
              ) AS e
             GROUP BY e.place, e.audience, e.memory_id
             ORDER BY reach DESC, e.memory_id DESC
          ) AS s
          CROSS JOIN LATERAL mnemo._recallable_record(
                s.place, s.audience, s.memory_id, p_org_id, p_agent_id, p_now, p_filter) AS m
         WHERE p_unfit IS NULL OR NOT mnemo._passes(m, p_unfit)
         ORDER BY s.reach DESC, s.memory_id DESC
         LIMIT v_candidates
    ), near AS MATERIALIZED (
        SELECT n.org_id, n.id, n.similarity
          FROM mnemo._semantic_lane(
                p_embedding, p_model, p_org_id, p_agent_id, p_now, p_filter, v_candidates) AS n
         WHERE p_embedding IS NOT NULL AND p_unfit IS NULL
    ), candidate AS MATERIALIZED (
        SELECT c.org_id, c.id, c.kind, c.confidence, c.source_type, c.valid_from FROM chosen AS c
        UNION ALL
        SELECT m.org_id, m.id, m.kind, m.confidence, m.source_type, m.valid_from
          FROM near AS n
          CROSS JOIN LATERAL (
            SELECT r.* FROM mnemo._record(p_org_id, n.id) AS r WHERE n.org_id <> '*'
            UNION ALL
            SELECT r.* FROM mnemo._record('*', n.id) AS r WHERE n.org_id = '*'
          ) AS m
         WHERE NOT EXISTS (SELECT FROM chosen AS c WHERE c.org_id = n.org_id AND c.id = n.id)
    ), answer AS MATERIALIZED (
        SELECT a.term, a.slot, a.score, a.evidence
          FROM unnest(p_asked.terms, p_asked.slots, p_asked.scores, p_asked.evidences)
            AS a(term, slot, score, evidence)
    ), hit AS MATERIALIZED (
        SELECT h.org_id, h.id, h.slot, max(h.score) AS score, max(h.evidence) AS evidence
          FROM (
            SELECT c.org_id, c.id, a.slot,
                   -- 15 is the weight of a word in the least of the facets.
                   a.evidence * CASE WHEN u.weight < 15 THEN v_rules.content_evidence ELSE 1 END
                       AS evidence,
                   mnemo._term_score(a.score, u.weight, v.length, v_average) AS score
              FROM candidate AS c
              CROSS JOIN LATERAL (
                SELECT t.terms, t.weights, t.length
                  FROM mnemo.term_vector AS t
                 WHERE t.org_id = p_org_id AND t.memory_id = c.id AND c.org_id <> '*'
                UNION ALL
                SELECT t.terms, t.weights, t.length
                  FROM mnemo.term_vector AS t
                 WHERE t.org_id = '*' AND t.memory_id = c.id AND c.org_id = '*'
              ) AS v
              CROSS JOIN LATERAL unnest(v.terms, v.weights) AS u(term, weight)
              JOIN answer AS a ON a.term = u.term
          ) AS h
         GROUP BY h.org_id, h.id, h.slot
    ), usage AS MATERIALIZED (
        SELECT u.ranking, u.slot, u.factor, u.asks, u.slot = ANY (p_asked.persons) AS person,
               count(*) FILTER (WHERE u.asks) OVER w AS asked,
               bool_or(u.asks AND u.slot <> ALL (p_asked.persons)) OVER w AS beyond
          FROM unnest(p_asked.rankings, p_asked.ranking_slots, p_asked.factors, p_asked.asks)
            AS u(ranking, slot, factor, asks)
        WINDOW w AS (PARTITION BY u.ranking)
    ), whole AS MATERIALIZED (
        SELECT h.org_id, h.id, bool_or(h.slot = 40000) AS own, bool_or(h.slot = 30000) AS hinted,
               bool_or(h.slot = ANY (p_asked.persons) AND h.evidence > 0) AS named
          FROM hit AS h
         GROUP BY h.org_id, h.id
    ), rated AS MATERIALIZED (
        SELECT r.org_id, r.id, r.ranking, w.hinted,
               mnemo._round_score(r.score * CASE
                    WHEN r.ranking > 4 OR NOT p_asked.preferred THEN 1
                    WHEN w.own THEN v_rules.own_factor
                    WHEN w.named THEN 1
                    ELSE v_rules.other_factor END) AS score,
               mnemo._round_score(r.evidence
                    * CASE WHEN r.beyond AND NOT r.more THEN v_rules.person_alone ELSE 1 END
                    * CASE WHEN p_asked.meant AND NOT w.own AND NOT w.named
                      THEN v_rules.other_evidence ELSE 1 END) AS evidence
          FROM (
            SELECT h.org_id, h.id, u.ranking, sum(h.score * u.factor) AS score,
                   coalesce(sum(h.evidence) FILTER (WHERE u.asks), 0) / greatest(max(u.asked), 1)
                       AS evidence,
                   bool_or(u.beyond) AS beyond,
                   bool_or(u.asks AND NOT u.person AND h.evidence > 0) AS more
              FROM hit AS h
              JOIN usage AS u ON u.slot = h.slot
             GROUP BY h.org_id, h.id, u.ranking
          ) AS r
          JOIN whole AS w ON w.org_id = r.org_id AND w.id = r.id
    ), verdict AS MATERIALIZED (
        SELECT c.org_id, c.id, c.kind, c.confidence, c.source_type, c.valid_from, n.similarity,
               coalesce(w.hinted, false) AS hinted, g.words, g.best, g.evidence,
               coalesce(g.admits, false)
               OR p_asked.pair AND coalesce(w.hinted, false)
               OR coalesce(n.similarity >= v_rules.semantic_evidence, false)
               OR v_queries = 0 AND coalesce(g.entity, false) AS admitted
          FROM candidate AS c
          LEFT JOIN near AS n ON n.org_id = c.org_id AND n.id = c.id
          LEFT JOIN whole AS w ON w.org_id = c.org_id AND w.id = c.id
          LEFT JOIN (
            SELECT r.org_id, r.id,
                   bool_or(r.ranking = ANY (p_asked.admits) AND r.evidence >= v_least
                       AND r.evidence >= v_rules.relative_evidence * r.most) AS admits,
                   bool_or(r.ranking = 5) AS entity,
                   sum(r.score) FILTER (WHERE r.ranking <= 3) AS words,
                   max(r.score) FILTER (WHERE r.ranking <= 3) AS best,
                   max(r.evidence) FILTER (WHERE r.ranking = ANY (p_asked.admits)) AS evidence
              FROM (
                SELECT s.org_id, s.id, s.ranking, s.score, s.evidence,
                       max(s.evidence) OVER (PARTITION BY s.ranking) AS most
                  FROM rated AS s
              ) AS r
             GROUP BY r.org_id, r.id
          ) AS g ON g.org_id = c.org_id AND g.id = c.id
    ), listed AS (
        SELECT r.org_id, r.id, r.ranking, r.score
          FROM rated AS r
          JOIN verdict AS v ON v.org_id = r.org_id AND v.id = r.id AND v.admitted
         WHERE r.score > 0
        UNION ALL
        SELECT r.org_id, r.id, 10 + r.ranking, r.score
          FROM rated AS r
          JOIN verdict AS v ON v.org_id = r.org_id AND v.id = r.id AND v.admitted
         WHERE r.score > 0 AND r.hinted AND (r.ranking <= 3 OR r.ranking = 5)
        UNION ALL
        SELECT v.org_id, v.id, x.ranking, x.score
          FROM verdict AS v
          CROSS JOIN LATERAL (VALUES
            (7, CASE WHEN v.hinted AND p_asked.predicate IS NOT NULL THEN coalesce(v.words, 0) END),
            (8, v.similarity),
            (9, CASE WHEN v_scopes ? v.kind THEN coalesce(v.words, 0) END),
            (10, CASE WHEN coalesce(v_after, v_before) IS NOT NULL
                    AND (v.valid_from >= v_after) IS NOT FALSE
                    AND (v.valid_from < v_before) IS NOT FALSE THEN coalesce(v.words, 0) END),
            (18, CASE WHEN v.hinted THEN v.similarity END)
          ) AS x(ranking, score)
         WHERE v.admitted AND x.score IS NOT NULL
    ), fused AS (
        SELECT p.org_id, p.id, array_agg(p.name ORDER BY p.ranking) AS rankings,
               array_agg(p.rank ORDER BY p.ranking) AS ranks,
               array_agg(p.part ORDER BY p.ranking) AS parts,
               sum(p.part ORDER BY p.ranking) AS total
          FROM (
            SELECT l.org_id, l.id, l.ranking, l.rank,
                   (ARRAY['query_1', 'query_2', 'query_3', 'topics', 'entities', 'predicates',
                        'seeded', 'semantic', 'scopes', 'time', 'query_1_hinted',
                        'query_2_hinted', 'query_3_hinted', NULL, 'entities_hinted', NULL, NULL,
                        'semantic_hinted'])[l.ranking] AS name,
                   CASE WHEN l.ranking IN (8, 18) THEN v_rules.semantic_weight * (
                        SELECT power(1 - coalesce(max(o.evidence), 0), 2)
                          FROM verdict AS o WHERE o.admitted) ELSE 1 END
                       / (v_rules.k + l.rank) AS part
              FROM (
                SELECT i.org_id, i.id, i.ranking,
                       row_number() OVER (
                            PARTITION BY i.ranking ORDER BY i.score DESC, i.id DESC) AS rank
                  FROM listed AS i
              ) AS l
          ) AS p
         GROUP BY p.org_id, p.id
    )
    SELECT v.org_id, v.id, v.admitted, f.rankings, f.ranks, f.parts, b.boosts,
           f.total * b.factor, coalesce(v.best, v.similarity, 0), v.evidence, v.hinted
      FROM verdict AS v
      LEFT JOIN fused AS f ON f.org_id = v.org_id AND f.id = v.id
      CROSS JOIN LATERAL mnemo._boosts(
            v.source_type, v.confidence, v.kind, v.valid_from, p_now) AS b
     ORDER BY v.admitted DESC, f.total * b.factor DESC, coalesce(v.best, v.similarity, 0) DESC,
              v.id DESC;
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieved(
    jsonb, mnemo._asked, text, text, timestamptz, mnemo._recall_filter, bigint[], bigint[], text,
    text, bigint, mnemo._recall_filter
) IS
    'The records that a plan reaches, best first: those admitted, with the rank and the part of '
    'each ranking, the boosts and the score, then those of too little evidence. With p_unfit only '
    'those that do not pass this filter.';

-- part: 734_assembled.sql
CREATE FUNCTION mnemo._score_explanation(
    p_rankings text[],
    p_ranks bigint[],
    p_parts double precision[],
    p_boosts jsonb,
    p_score double precision,
    p_best double precision,
    p_evidence double precision,
    p_hints jsonb
)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
-- JSON takes a number's digits from extra_float_digits, which the callers set.
RETURN jsonb_build_object(
    'score', p_score,
    'rankings', coalesce((
        SELECT jsonb_object_agg(r.name, jsonb_build_object('rank', r.rank, 'contribution', r.part))
          FROM unnest(p_rankings, p_ranks, p_parts) AS r(name, rank, part)), '{}'),
    'fused', (SELECT sum(r.part ORDER BY r.place)
                FROM unnest(p_parts) WITH ORDINALITY AS r(part, place)),
    'boosts', p_boosts,
    'hints', p_hints,
    'best', p_best,
    'evidence', p_evidence
);
COMMENT ON FUNCTION mnemo._score_explanation(
    text[], bigint[], double precision[], jsonb, double precision, double precision,
    double precision, jsonb
) IS
    'The parts of a score: it is the sum of the contributions of the rankings, fused, times each '
    'of the boosts.';

CREATE FUNCTION mnemo._hints_of(
    p_asked mnemo._asked,
    p_subject text,
    p_predicate text
)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'subject', coalesce(mnemo._fold_name(p_subject) = ANY ((p_asked).subjects), false),
    'predicate', coalesce(p_predicate = (p_asked).predicate, false)
);
COMMENT ON FUNCTION mnemo._hints_of(mnemo._asked, text, text) IS
    'Which hints of a plan a record with this subject and predicate matches.';

CREATE FUNCTION mnemo._tokens(
    p_content text
)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (char_length(p_content) + 3) / 4;
COMMENT ON FUNCTION mnemo._tokens(text) IS
    'About how many tokens of a language model a text is: a quarter of its characters, rounded up.';

CREATE FUNCTION mnemo._unfit_verdict(
    p_record mnemo.memory,
    p_filter mnemo._recall_filter
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN (p_record).status <> 'active' THEN (p_record).status
    WHEN (p_record).valid_from > (p_filter).holds_at THEN 'not_yet_valid'
    WHEN (p_record).valid_to <= (p_filter).holds_at THEN 'no_longer_valid'
    WHEN ((p_record).kind = ANY ((p_filter).kinds)) IS NOT TRUE AND (p_filter).kinds IS NOT NULL
    THEN 'kind_filter'
    ELSE 'time_window' END;
COMMENT ON FUNCTION mnemo._unfit_verdict(mnemo.memory, mnemo._recall_filter) IS
    'Why a record that does not pass the filter of a plan does not, the first reason.';

CREATE FUNCTION mnemo._assembled(
    p_plan jsonb,
    p_org_id text,
    p_agent_id text,
    p_now timestamptz,
    p_limit bigint,
    p_filter mnemo._recall_filter,
    p_embedding text,
    p_model text,
    p_all boolean,
    p_unfit boolean
)
RETURNS TABLE (
    place bigint,
    id uuid,
    content text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    valid_from timestamptz,
    score double precision,
    explanation jsonb,
    verdict text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
SET extra_float_digits = 1
AS $fn$
DECLARE
    v_each integer := CASE p_plan ->> 'intent' WHEN 'explicit_recall' THEN 5 ELSE 2 END;
    v_budget bigint := greatest(500, 100 * p_limit);
    v_audiences bigint[];
    v_places bigint[];
    v_asked mnemo._asked;
    v_found record;
    v_none mnemo._recall_filter;
    v_kept bigint := 0;
    v_predicates text[] := '{}';
BEGIN
    SELECT r.audiences, r.places INTO v_audiences, v_places
      FROM mnemo._reachable_audiences(p_org_id, p_agent_id, p_now) AS r;
    v_asked := mnemo._asked(p_plan, p_org_id, p_agent_id, p_now, v_audiences, v_places);
    place := 0;
    FOR v_found IN
        SELECT r.*, m.content, m.kind, m.subject, m.predicate, m.entities, m.valid_from,
               mnemo._tokens(m.content) AS tokens,
               CASE WHEN p_unfit THEN mnemo._unfit_verdict(m, p_filter) END AS unfit
          FROM mnemo._retrieved(
                p_plan, v_asked, p_org_id, p_agent_id, p_now,
                CASE WHEN p_unfit THEN v_none ELSE p_filter END, v_audiences, v_places, p_embedding,
                p_model, p_limit, CASE WHEN p_unfit THEN p_filter END) AS r
          CROSS JOIN LATERAL (
            SELECT o.* FROM mnemo._record(p_org_id, r.id) AS o WHERE r.org_id <> '*'
            UNION ALL
            SELECT o.* FROM mnemo._record('*', r.id) AS o WHERE r.org_id = '*'
          ) AS m
         WHERE p_all OR r.admitted
    LOOP
        EXIT WHEN p_unfit AND (place = 20 OR NOT v_found.admitted);
        verdict := CASE
            WHEN p_unfit THEN v_found.unfit
            WHEN NOT v_found.admitted THEN 'weak_evidence'
            WHEN v_kept = p_limit THEN 'limit'
            WHEN cardinality(array_positions(v_predicates, v_found.predicate)) >= v_each
                AND v_found.predicate IS NOT NULL THEN 'per_predicate'
            WHEN v_found.tokens > v_budget THEN 'budget'
            ELSE 'returned' END;
        EXIT WHEN NOT p_all AND v_kept = p_limit;
        CONTINUE WHEN NOT p_all AND verdict <> 'returned';
        IF verdict = 'returned' THEN
            v_kept := v_kept + 1;
            v_predicates := v_predicates || v_found.predicate;
            v_budget := v_budget - v_found.tokens;
        END IF;
        place := place + 1;
        id := v_found.id;
        content := v_found.content;
        kind := v_found.kind;
        subject := v_found.subject;
        predicate := v_found.predicate;
        entities := v_found.entities;
        valid_from := v_found.valid_from;
        IF p_unfit THEN
            -- Ranked among others of their kind only.
            v_found.rankings := NULL;
            v_found.ranks := NULL;
            v_found.parts := NULL;
            v_found.score := NULL;
        END IF;
        score := v_found.score;
        explanation := mnemo._score_explanation(v_found.rankings, v_found.ranks, v_found.parts,
            v_found.boosts, v_found.score, v_found.best, v_found.evidence,
            mnemo._hints_of(v_asked, v_found.subject, v_found.predicate));
        RETURN NEXT;
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._assembled(
    jsonb, text, text, timestamptz, bigint, mnemo._recall_filter, text, text, boolean,
    boolean
) IS
    'What a plan in normal form finds among the records that pass the filter: at most p_limit, 2 '
    'of a predicate (5 where the intent is explicit_recall), and 500 tokens or 100 for each of '
    'p_limit, if that is more; with p_all every record that was scored, with what became of it. '
    'With p_unfit what would have been found among those that do not pass, with the reason.';

-- part: 736_retrieve.sql
CREATE FUNCTION mnemo._retrieve_problem(
    p_limit bigint,
    p_temporal text
)
RETURNS mnemo._problem
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_limit BETWEEN 1 AND 1000 AND p_temporal IN ('prefer', 'filter') THEN
        RETURN NULL;
    END IF;
    RETURN mnemo._first_problem(ARRAY[
        mnemo._limit_problem(p_limit),
        mnemo._label_problem('p_temporal', 'retrieval_temporal', p_temporal)
    ]);
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieve_problem(bigint, text) IS
    'The first problem of the arguments of mnemo.retrieve, plan and embedding aside; NULL for '
    'none.';

CREATE FUNCTION mnemo._retrieval_filter(
    p_plan jsonb,
    p_temporal text,
    p_now timestamptz
)
RETURNS mnemo._recall_filter
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ROW(
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    CASE WHEN p_plan -> 'kind_filter' <> '[]' THEN ARRAY(
        SELECT k.kind FROM jsonb_array_elements_text(p_plan -> 'kind_filter') AS k(kind)) END,
    p_now,
    CASE p_temporal WHEN 'filter' THEN (p_plan #>> '{temporal,after}')::timestamptz END,
    CASE p_temporal WHEN 'filter' THEN (p_plan #>> '{temporal,before}')::timestamptz END
)::mnemo._recall_filter;
COMMENT ON FUNCTION mnemo._retrieval_filter(jsonb, text, timestamptz) IS
    'What a record must be for a plan in normal form: a fact that holds now, of its kinds, and '
    'within its time window where p_temporal is filter.';

CREATE FUNCTION mnemo._retrieve(
    p_plan jsonb,
    p_agent_id text,
    p_org_id text,
    p_limit bigint,
    p_temporal text,
    p_embedding text,
    p_model text,
    p_now timestamptz,
    p_all boolean
)
RETURNS TABLE (
    place bigint,
    id uuid,
    content text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    valid_from timestamptz,
    score double precision,
    explanation jsonb,
    verdict text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_caller record;
    v_plan jsonb;
    v_problem mnemo._problem;
BEGIN
    SELECT * INTO v_caller FROM mnemo._caller(p_agent_id, p_org_id);
    IF p_embedding IS NOT NULL OR p_model IS NOT NULL THEN
        PERFORM mnemo._raise_problem(mnemo._embedding_problem(p_embedding, p_model));
    END IF;
    v_plan := mnemo._retrieval_plan(p_plan);
    v_problem := mnemo._retrieve_problem(p_limit, p_temporal);
    IF v_problem.code IS NOT NULL THEN
        PERFORM mnemo._raise_problem(v_problem);
    END IF;
    IF v_plan -> 'requires_memory' = 'false' THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT a.*
      FROM mnemo._assembled(
            v_plan, v_caller.org_id, v_caller.agent_id, p_now, p_limit,
            mnemo._retrieval_filter(v_plan, p_temporal, p_now), p_embedding, p_model, p_all, false)
        AS a;
    IF p_all THEN
        RETURN QUERY
        SELECT a.*
          FROM mnemo._assembled(
                v_plan, v_caller.org_id, v_caller.agent_id, p_now, p_limit,
                mnemo._retrieval_filter(v_plan, p_temporal, p_now), p_embedding, p_model, true,
                true)
            AS a;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._retrieve(
    jsonb, text, text, bigint, text, text, text, timestamptz, boolean
) IS 'mnemo.retrieve at a time, and with p_all mnemo.explain_retrieval.';

CREATE FUNCTION mnemo.retrieve(
    p_plan jsonb,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_limit bigint DEFAULT 5,
    p_temporal text DEFAULT 'prefer',
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    content text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    valid_from timestamptz,
    score double precision,
    explanation jsonb
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 5
-- The semantic lane changes settings for its scan, which no parallel plan allows.
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN QUERY
    SELECT r.place, r.id, r.content, r.kind, r.subject, r.predicate, r.entities, r.valid_from,
           r.score, r.explanation
      FROM mnemo._retrieve(
            p_plan, p_agent_id, p_org_id, p_limit, p_temporal, p_embedding, p_model,
            statement_timestamp(), false) AS r;
END
$fn$;
COMMENT ON FUNCTION mnemo.retrieve(jsonb, text, text, bigint, text, text, text) IS
    'The facts that a retrieval plan finds among the memories that the acting agent may read, '
    'best first; never plans, nor what is superseded, retracted, expired, outside its '
    'validity, of another kind than kind_filter. p_plan: any plan that '
    'mnemo.normalize_retrieval_plan takes; one that requires no memory finds nothing. Rankings, '
    'of the records that answer enough of a query: one for each lexical query and one for the '
    'topics (BM25; a word is answered by itself, by another form or a related word; whom a query '
    'means ranks first), entities, predicates, seeded (what the hints match; not for subject_hint '
    'alone), a copy of the others for what the hints match, scopes, time, and semantic (weight 2) '
    'if there is an embedding. score: the sum of weight / (60 + rank), times boosts; equals: the '
    'best score by words, then the newest id. At most p_limit facts (1 to 1000), 2 of a predicate '
    '(5 for explicit_recall), 500 tokens or 100 times p_limit. p_temporal: prefer, or filter to '
    'leave out what was not valid from a time within the window. p_embedding, p_model: as in '
    'mnemo.recall. explanation: the parts of the score. Reads only. Errors: 42501 no access; '
    '22023 bad plan or argument; 54000 over a limit; 55000 embedding given but not enabled.';

CREATE FUNCTION mnemo.explain_retrieval(
    p_plan jsonb,
    p_agent_id text DEFAULT NULL,
    p_org_id text DEFAULT NULL,
    p_limit bigint DEFAULT 5,
    p_temporal text DEFAULT 'prefer',
    p_embedding text DEFAULT NULL,
    p_model text DEFAULT NULL
)
RETURNS TABLE (
    rank bigint,
    id uuid,
    content text,
    kind text,
    subject text,
    predicate text,
    entities text[],
    valid_from timestamptz,
    score double precision,
    explanation jsonb,
    verdict text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 50
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN QUERY
    SELECT row_number() OVER (), r.id, r.content, r.kind, r.subject, r.predicate, r.entities,
           r.valid_from, r.score, r.explanation, r.verdict
      FROM mnemo._retrieve(
            p_plan, p_agent_id, p_org_id, p_limit, p_temporal, p_embedding, p_model,
            statement_timestamp(), true) AS r;
END
$fn$;
COMMENT ON FUNCTION mnemo.explain_retrieval(jsonb, text, text, bigint, text, text, text) IS
    'What mnemo.retrieve with the same arguments returns and what came near, in the order of the '
    'scores, with what became of each: returned; dropped by limit, per_predicate or budget; '
    'weak_evidence, which answers too little of every query; then at most 20 that would have been '
    'answers but are superseded, retracted, not_yet_valid, no_longer_valid, or kept out by '
    'kind_filter or time_window. score is NULL for what was not ranked. Nothing that the agent '
    'may not read. Reads only. Errors: as mnemo.retrieve.';

-- part: 900_grants.sql
-- Default privileges of the installing role may have opened what was just created.
DO $grants$
DECLARE
    v_grantee text;
BEGIN
    PERFORM mnemo._revoke_all('public');
    FOR v_grantee IN
        SELECT DISTINCT r.rolname
          FROM (
            SELECT (pg_catalog.aclexplode(p.proacl)).grantee
              FROM pg_catalog.pg_proc AS p
              JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
             WHERE n.nspname = 'mnemo'
             UNION
            SELECT (pg_catalog.aclexplode(c.relacl)).grantee
              FROM pg_catalog.pg_class AS c
              JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = 'mnemo'
             UNION
            SELECT (pg_catalog.aclexplode(n.nspacl)).grantee
              FROM pg_catalog.pg_namespace AS n
             WHERE n.nspname = 'mnemo'
             UNION
            SELECT (pg_catalog.aclexplode(t.typacl)).grantee
              FROM pg_catalog.pg_type AS t
              JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
             WHERE n.nspname = 'mnemo'
          ) AS g
          JOIN pg_catalog.pg_roles AS r ON r.oid = g.grantee
         WHERE r.oid <> mnemo._owner()
    LOOP
        PERFORM mnemo._revoke_all(v_grantee);
    END LOOP;
END
$grants$;

-- part: 990_postlude.sql
DO $postlude$
DECLARE
    v_table pg_catalog.regclass;
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension AS e WHERE e.extname = 'mnemo_pg') THEN
        -- Without this a dump leaves an extension's rows out.
        FOR v_table IN
            SELECT c.oid
              FROM pg_catalog.pg_class AS c
              JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
              JOIN pg_catalog.pg_depend AS d ON d.objid = c.oid AND d.deptype = 'e'
               AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
             WHERE n.nspname = 'mnemo' AND c.relkind IN ('r', 'S')
             ORDER BY c.relname
        LOOP
            PERFORM pg_catalog.pg_extension_config_dump(v_table, '');
        END LOOP;
    END IF;
    PERFORM pg_catalog.set_config(
        'search_path', pg_catalog.current_setting('mnemo.saved_search_path'), true
    );
END
$postlude$;
