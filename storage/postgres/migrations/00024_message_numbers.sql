-- +goose Up

-- How many messages of the conversation, up to and including this one, are from user_low,
-- and how many from user_high. Both are 0 until the message is numbered: those that exist,
-- and those that processes of the release before add, are numbered when they are needed.
ALTER TABLE message
    ADD COLUMN low_sent bigint NOT NULL DEFAULT 0,
    ADD COLUMN high_sent bigint NOT NULL DEFAULT 0;
