-- +goose Up

-- The number of the latest barrier, 0 if none was ever raised, and when it was
-- raised, in microseconds since 1970.
ALTER TABLE mirror ADD COLUMN barrier INTEGER NOT NULL DEFAULT 0;
ALTER TABLE mirror ADD COLUMN raised_at INTEGER NOT NULL DEFAULT 0;

-- The latest barrier that each partition of the queue has passed: every message
-- that was queued there before is persisted or rejected. Barriers of another
-- number of partitions do not mix.
CREATE TABLE watermark (
    partitions INTEGER NOT NULL,
    partition  INTEGER NOT NULL,
    barrier    INTEGER NOT NULL,
    PRIMARY KEY (partitions, partition)
) STRICT, WITHOUT ROWID;
