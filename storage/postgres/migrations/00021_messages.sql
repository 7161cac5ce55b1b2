-- +goose Up

-- The requests that have added comments or messages, for a day.
ALTER TABLE comment_request RENAME TO request;
ALTER TABLE request RENAME COLUMN comment_id TO result_id;
ALTER INDEX comment_request_pkey RENAME TO request_pkey;
ALTER INDEX comment_request_at RENAME TO request_at;

-- By its former name it is known to processes of the release before, which run on
-- while a site is upgraded.
CREATE VIEW comment_request AS
    SELECT tenant, user_id, request_id, result_id AS comment_id, fingerprint, at FROM request;

-- The number of the latest message that a user has sent or received. A transaction
-- that adds messages locks the rows of their users first.
CREATE TABLE mailbox (
    tenant  text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    latest  bigint NOT NULL,
    PRIMARY KEY (tenant, user_id)
) WITH (fillfactor = 70);

-- What two users have sent each other. user_low is the lower of their ids;
-- from_low tells whether that user has sent the message.
CREATE TABLE message (
    tenant     text COLLATE "C" NOT NULL,
    user_low   text COLLATE "C" NOT NULL,
    user_high  text COLLATE "C" NOT NULL,
    message_id bigint NOT NULL,
    from_low   boolean NOT NULL,
    text       text COLLATE "C" NOT NULL,
    created    bigint NOT NULL,
    PRIMARY KEY (tenant, user_low, user_high, message_id)
);

-- Of mailboxes. The predicate always holds; it keeps statements that do not repeat it,
-- which are about a pair of users, to the primary key: by these indexes they would read
-- all messages of one of the two.
CREATE INDEX messages_low  ON message (tenant, user_low, message_id) WHERE message_id > 0;
CREATE INDEX messages_high ON message (tenant, user_high, message_id) WHERE message_id > 0;

-- A conversation as user_id has it. unread is how many messages of peer_id are
-- above read_to.
CREATE TABLE conversation (
    tenant  text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    peer_id text COLLATE "C" NOT NULL,
    latest  bigint NOT NULL,
    unread  bigint NOT NULL,
    read_to bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, peer_id)
);

CREATE INDEX conversations ON conversation (tenant, user_id, latest);
