-- mnemo_owner owns what is installed, and nobody logs in as it. mnemo_admin can become it.
-- mnemo_app is the application: it may call what its level has, and owns nothing.
\set admin_password `head -n 1 "$MNEMO_ADMIN_PASSWORD_FILE"`
\set app_password `head -n 1 "$MNEMO_APP_PASSWORD_FILE"`
\set replication_password `head -n 1 "$MNEMO_REPLICATION_PASSWORD_FILE"`
-- A statement with a password is in no log.
SET LOCAL log_statement = 'none';
SET LOCAL log_min_error_statement = 'panic';
SET LOCAL log_min_duration_statement = -1;
SET LOCAL password_encryption = 'scram-sha-256';

CREATE ROLE mnemo_owner NOLOGIN;
CREATE ROLE mnemo_admin LOGIN NOINHERIT PASSWORD :'admin_password';
CREATE ROLE mnemo_app LOGIN PASSWORD :'app_password';
CREATE ROLE mnemo_replication LOGIN REPLICATION PASSWORD :'replication_password';
GRANT mnemo_owner TO mnemo_admin;

REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"DBNAME" TO mnemo_admin, mnemo_app;
GRANT CREATE ON DATABASE :"DBNAME" TO mnemo_owner;
REVOKE ALL ON SCHEMA public FROM PUBLIC;

-- pgvector is no trusted extension: only a superuser can make it.
SELECT 'CREATE EXTENSION vector SCHEMA public'
 WHERE EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') \gexec
GRANT USAGE ON SCHEMA public TO mnemo_owner;
SELECT pg_create_physical_replication_slot('standby') \g /dev/null
