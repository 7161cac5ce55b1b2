-- +goose Up

-- The requests that have added comments or messages, for a day.
ALTER TABLE comment_request RENAME TO request;
ALTER TABLE request RENAME COLUMN comment_id TO result_id;

-- The number of the latest message that a user has sent or received.
CREATE TABLE mailbox (
    tenant  TEXT NOT NULL,
    user_id TEXT NOT NULL,
    latest  INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id)
) STRICT, WITHOUT ROWID;

-- What two users have sent each other. user_low is the lower of their ids;
-- from_low tells whether that user has sent the message.
CREATE TABLE message (
    tenant     TEXT NOT NULL,
    user_low   TEXT NOT NULL,
    user_high  TEXT NOT NULL,
    message_id INTEGER NOT NULL,
    from_low   INTEGER NOT NULL,
    text       TEXT NOT NULL,
    created    INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_low, user_high, message_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX messages_low  ON message (tenant, user_low, message_id);
CREATE INDEX messages_high ON message (tenant, user_high, message_id);

-- A conversation as user_id has it. unread is how many messages of peer_id are
-- above read_to.
CREATE TABLE conversation (
    tenant  TEXT NOT NULL,
    user_id TEXT NOT NULL,
    peer_id TEXT NOT NULL,
    latest  INTEGER NOT NULL,
    unread  INTEGER NOT NULL,
    read_to INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, peer_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX conversations ON conversation (tenant, user_id, latest);
