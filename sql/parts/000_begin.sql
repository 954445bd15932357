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
