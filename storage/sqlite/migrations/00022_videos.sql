-- +goose Up

-- The key is the order of the feed. file names the file and its cover in the blob
-- store. cover_due is when the cover is asked for again, 0 if it is made or dead-lettered;
-- cover_reason says why it could not be made.
CREATE TABLE video (
    tenant       TEXT NOT NULL,
    video_id     INTEGER NOT NULL,
    user_id      TEXT NOT NULL,
    title        TEXT NOT NULL,
    file         TEXT NOT NULL,
    format       INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    covered      INTEGER NOT NULL,
    cover_tries  INTEGER NOT NULL,
    cover_reason TEXT NOT NULL,
    cover_due    INTEGER NOT NULL,
    created      INTEGER NOT NULL,
    PRIMARY KEY (tenant, video_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX videos_of  ON video (tenant, user_id, video_id);
CREATE INDEX video_file ON video (file);
CREATE INDEX covers_due ON video (cover_due) WHERE cover_due > 0;

-- The latest id of a tenant's videos, so that none is used twice.
CREATE TABLE video_number (
    tenant TEXT NOT NULL PRIMARY KEY,
    latest INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
