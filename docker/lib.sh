# Sourced by the other scripts. Secrets are files, named by variables that end in _FILE: neither an
# environment nor an argument list ever holds one.

lib=${MNEMO_LIB:-/usr/local/lib/mnemo}
# Files with passwords lie in memory, and for this user alone.
private=${MNEMO_PRIVATE:-/dev/shm/mnemo}
database=${POSTGRES_DB:-app}

fail() {
    echo "mnemo: $1" >&2
    exit 1
}

# secret VARIABLE: the one line of the file that the variable names.
secret() {
    eval "secret_file=\${$1:-}"
    [ -n "$secret_file" ] || fail "$1 is not set: name the file that holds the password"
    [ -s "$secret_file" ] || fail "$1: $secret_file is missing or empty; run docker/make-secrets.sh"
    head -n 1 "$secret_file"
}

# make_private: the folder for files with passwords.
make_private() {
    mkdir -p "$private" && chmod 700 "$private"
}

# passfile USER VARIABLE: a password file for that user, for libpq.
passfile() {
    make_private
    password=$(secret "$2") || exit 1
    PGPASSFILE=$private/pgpass
    (umask 077 && printf '*:*:*:%s:%s\n' "$1" "$(printf %s "$password" | sed 's/[\\:]/\\&/g')" \
        >"$PGPASSFILE")
    export PGPASSFILE
}
