#!/bin/sh
# Run once by the postgres container of docker-compose.yml, on an empty volume:
# Ovation's role and the database that it owns. On its socket the container asks
# for a password too, which is in PGPASSWORD.
set -eu
psql -v ON_ERROR_STOP=1 -v "password=$OVATION_DATABASE_PASSWORD" -U postgres -d postgres <<'END'
create role ovation login password :'password';
create database ovation owner ovation;
revoke connect on database ovation from public;
END
