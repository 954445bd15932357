#!/bin/sh
# Make the passwords that compose.yml names, each once: make-secrets.sh [FOLDER]
# The folder is closed to others; its files are readable, because each is handed to a container
# whose user has another number.
set -eu
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
chmod 700 "$folder"
for name in superuser admin app replication; do
    file=$folder/${name}_password
    if [ ! -s "$file" ]; then
        od -An -N 24 -t x1 /dev/urandom | tr -d ' \n' >"$file.new"
        chmod 444 "$file.new"
        mv "$file.new" "$file"
        echo "made $file"
    fi
done
