-- +goose NO TRANSACTION
-- +goose Up

-- The accounts whose avatar is an uploaded picture, by its path: the sweep of the blob
-- store keeps their files. Writes to the table continue while the index is made, which
-- waits for transactions that began before.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS account_avatar;
CREATE INDEX CONCURRENTLY account_avatar ON account (avatar) WHERE avatar >= '/media/avatars/' AND avatar < '/media/avatars0';
RESET lock_timeout;
