#!/bin/sh
# PgBouncer in transaction mode: the database on the primary, and DATABASE_read on the standby. Only
# mnemo_app can log in.
set -eu
. "${MNEMO_LIB:-/usr/local/lib/mnemo}/lib.sh"

make_private
password=$(secret MNEMO_APP_PASSWORD_FILE) || exit 1
umask 077
printf '"mnemo_app" "%s"\n' "$(printf %s "$password" | sed 's/"/""/g')" >"$private/users.txt"
sed -e "s|@database@|$database|g" -e "s|@private@|$private|g" \
    -e "s|@primary@|${MNEMO_PRIMARY_HOST:-primary}|g" \
    -e "s|@primary_port@|${MNEMO_PRIMARY_PORT:-5432}|g" \
    -e "s|@standby@|${MNEMO_STANDBY_HOST:-standby}|g" \
    -e "s|@standby_port@|${MNEMO_STANDBY_PORT:-5432}|g" \
    -e "s|@listen_port@|${MNEMO_LISTEN_PORT:-6432}|g" \
    "$lib/pgbouncer.ini" >"$private/pgbouncer.ini"
exec "${MNEMO_PGBOUNCER:-/usr/sbin/pgbouncer}" "$@" "$private/pgbouncer.ini"
