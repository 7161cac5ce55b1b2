-- +goose Up

-- Numbers that tell videos of the same millisecond apart (sqlstore.IDShift).
CREATE SEQUENCE video_number;

-- The key is the order of the feed. file names the file and its cover in the blob
-- store. cover_due is when the cover is asked for again, 0 if it is made or dead-lettered;
-- cover_reason says why it could not be made.
CREATE TABLE video (
    tenant       text COLLATE "C" NOT NULL,
    video_id     bigint NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    title        text COLLATE "C" NOT NULL,
    file         text COLLATE "C" NOT NULL,
    format       smallint NOT NULL,
    bytes        bigint NOT NULL,
    covered      boolean NOT NULL,
    cover_tries  bigint NOT NULL,
    cover_reason text COLLATE "C" NOT NULL,
    cover_due    bigint NOT NULL,
    created      bigint NOT NULL,
    PRIMARY KEY (tenant, video_id)
);

CREATE INDEX videos_of  ON video (tenant, user_id, video_id);
CREATE INDEX video_file ON video (file);
CREATE INDEX covers_due ON video (cover_due) WHERE cover_due > 0;
