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

-- Where the items of a deleted folder went: moved_to is a folder's id, empty
-- where they were uncollected. version is when it was deleted.
CREATE TABLE deleted_folder (
    tenant    TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    folder_id TEXT NOT NULL,
    moved_to  TEXT NOT NULL,
    version   INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, folder_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX deleted_folder_version ON deleted_folder (version);
