#!/bin/sh
# A streaming standby: copies the primary the first time, then follows it.
set -eu
. "${MNEMO_LIB:-/usr/local/lib/mnemo}/lib.sh"

passfile mnemo_replication MNEMO_REPLICATION_PASSWORD_FILE
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    # Beside its place, so that an interrupted copy is no server.
    rm -rf "$PGDATA" "$PGDATA.new"
    mkdir -p "$(dirname "$PGDATA")"
    pg_basebackup -D "$PGDATA.new" -R -X stream -c fast -S standby \
        -d "host=${MNEMO_PRIMARY_HOST:-primary} port=${MNEMO_PRIMARY_PORT:-5432} user=mnemo_replication"
    mv "$PGDATA.new" "$PGDATA"
fi
exec postgres -D "$PGDATA" "$@"
