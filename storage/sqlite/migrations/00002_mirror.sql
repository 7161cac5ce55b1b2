-- +goose Up

-- One row: the epoch of the mirror. changed_at is in microseconds since 1970.
CREATE TABLE mirror (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    epoch      INTEGER NOT NULL,
    open       INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;

INSERT INTO mirror VALUES (1, 1, TRUE, 0);
