-- +goose Up

-- The number of the latest barrier, 0 if none was ever raised, and when it was
-- raised, in microseconds since 1970.
ALTER TABLE mirror
    ADD COLUMN barrier   bigint NOT NULL DEFAULT 0,
    ADD COLUMN raised_at bigint NOT NULL DEFAULT 0;

-- The latest barrier that each partition of the queue has passed: every message
-- that was queued there before is persisted or rejected. Barriers of another
-- number of partitions do not mix.
CREATE TABLE watermark (
    partitions bigint NOT NULL,
    partition  bigint NOT NULL,
    barrier    bigint NOT NULL,
    PRIMARY KEY (partitions, partition)
);
