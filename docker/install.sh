#!/bin/sh
# Install mnemo_pg, or update it, and give the application its level. Can be run again.
set -eu
. "${MNEMO_LIB:-/usr/local/lib/mnemo}/lib.sh"

passfile mnemo_admin MNEMO_ADMIN_PASSWORD_FILE
exec psql -X -q -1 -v ON_ERROR_STOP=1 -h "${PGHOST:-primary}" -U mnemo_admin -d "$database" \
    -f "$lib/install.sql"
