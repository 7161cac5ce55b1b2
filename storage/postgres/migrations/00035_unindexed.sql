-- +goose NO TRANSACTION
-- +goose Up

-- The accounts and videos whose words are not in the index: at first all. Writes to the
-- tables continue while these indexes are made, which waits for transactions that began
-- before.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS account_unindexed;
CREATE INDEX CONCURRENTLY account_unindexed ON account (tenant, account_id) WHERE indexed <> name;
DROP INDEX CONCURRENTLY IF EXISTS video_unindexed;
CREATE INDEX CONCURRENTLY video_unindexed ON video (tenant, video_id) WHERE NOT indexed;
RESET lock_timeout;
