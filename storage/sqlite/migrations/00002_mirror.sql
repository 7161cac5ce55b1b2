-- +goose Up

-- One row: the epoch of the mirror. Times are in microseconds since 1970. Before
-- free_at no counts are changed.
CREATE TABLE mirror (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    epoch      INTEGER NOT NULL,
    open       INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    free_at    INTEGER NOT NULL
) STRICT;

INSERT INTO mirror VALUES (1, 1, FALSE, 0, 0);
