#!/bin/sh
# Once, in a new and empty server: roles, privileges, and who may connect for replication.
set -eu
. "${MNEMO_LIB:-/usr/local/lib/mnemo}/lib.sh"

for variable in MNEMO_ADMIN_PASSWORD_FILE MNEMO_APP_PASSWORD_FILE MNEMO_REPLICATION_PASSWORD_FILE; do
    secret "$variable" >/dev/null
done
psql -X -q -1 -v ON_ERROR_STOP=1 -U "${POSTGRES_USER:-postgres}" -d "$database" -f "$lib/primary.sql"
echo "host replication mnemo_replication samenet scram-sha-256" >>"$PGDATA/pg_hba.conf"
psql -X -q -v ON_ERROR_STOP=1 -U "${POSTGRES_USER:-postgres}" -d "$database" \
    -o /dev/null -c "SELECT pg_reload_conf()"
