-- +goose Up

-- Numbers that tell comments of the same millisecond apart (sqlstore.IDShift).
CREATE SEQUENCE comment_number;

-- How many comments a subject has that are not deleted, and the version of the latest
-- change of one. Who changes the comments of a subject locks this row first.
CREATE TABLE comment_count (
    tenant   text COLLATE "C" NOT NULL,
    biz      text COLLATE "C" NOT NULL,
    biz_id   text COLLATE "C" NOT NULL,
    comments bigint NOT NULL,
    version  bigint NOT NULL,
    PRIMARY KEY (tenant, biz_id, biz)
) WITH (fillfactor = 70);

-- reply_to is 0 for what is no reply. user_id and text of a deleted comment are
-- empty; the row stays, for it tells that the comment has changed. listed is
-- false for a deleted comment without replies.
CREATE TABLE comment (
    tenant      text COLLATE "C" NOT NULL,
    biz         text COLLATE "C" NOT NULL,
    biz_id      text COLLATE "C" NOT NULL,
    comment_id  bigint NOT NULL,
    reply_to      bigint NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    text        text COLLATE "C" NOT NULL,
    created     bigint NOT NULL,
    edited      bigint NOT NULL,
    deleted     bigint NOT NULL,
    listed      boolean NOT NULL,
    like_count  bigint NOT NULL,
    reply_count bigint NOT NULL,
    version     bigint NOT NULL,
    PRIMARY KEY (tenant, comment_id, biz_id)
);

CREATE INDEX comments        ON comment (tenant, biz_id, biz, reply_to, comment_id) WHERE listed;
CREATE INDEX comments_top    ON comment (tenant, biz_id, biz, reply_to, like_count, comment_id) WHERE listed;
CREATE INDEX comment_changes ON comment (tenant, biz_id, biz, version);

-- The requests that have added comments, for a day.
CREATE TABLE comment_request (
    tenant      text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    request_id  text COLLATE "C" NOT NULL,
    comment_id  bigint NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    at          bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, request_id)
);

CREATE INDEX comment_request_at ON comment_request (at);
