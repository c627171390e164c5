#!/bin/sh
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    mkdir -p "$PGDATA"
    initdb --username=postgres --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust --auth-host=scram-sha-256 >/dev/null
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
fi
exec "$@"
