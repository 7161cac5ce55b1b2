#!/bin/sh
# Creates Ovation's role and the database that it owns. The postgres container of
# docker-compose.yml runs this once, on an empty volume. The server requires a password
# on its socket, too; it is in PGPASSWORD.
set -eu
psql -v ON_ERROR_STOP=1 -v "password=$OVATION_DATABASE_PASSWORD" -U postgres -d postgres <<'END'
create role ovation login password :'password';
create database ovation owner ovation;
revoke connect on database ovation from public;
END
