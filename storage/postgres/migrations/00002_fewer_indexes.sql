-- +goose NO TRANSACTION
-- +goose Up

-- The index likes serves the list of one biz too, by skipping over the others, as
-- reads does: a like is written far more often than such a list is asked for, and
-- the API charges for what such a list may skip.
-- Nobody waits while it is dropped.
DROP INDEX CONCURRENTLY IF EXISTS likes_of_biz;
