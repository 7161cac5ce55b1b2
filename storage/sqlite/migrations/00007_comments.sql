-- +goose Up

-- How many comments a subject has that are not deleted, and the version of the latest
-- change of one. Who changes the comments of a subject changes this row.
CREATE TABLE comment_count (
    tenant   TEXT NOT NULL,
    biz      TEXT NOT NULL,
    biz_id   TEXT NOT NULL,
    comments INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    PRIMARY KEY (tenant, biz_id, biz)
) STRICT, WITHOUT ROWID;

-- reply_to is 0 for what is no reply. user_id and text of a deleted comment are
-- empty; the row stays, for it tells that the comment has changed. listed is
-- false for a deleted comment without replies.
CREATE TABLE comment (
    tenant      TEXT NOT NULL,
    biz         TEXT NOT NULL,
    biz_id      TEXT NOT NULL,
    comment_id  INTEGER NOT NULL,
    reply_to      INTEGER NOT NULL,
    user_id     TEXT NOT NULL,
    text        TEXT NOT NULL,
    created     INTEGER NOT NULL,
    edited      INTEGER NOT NULL,
    deleted     INTEGER NOT NULL,
    listed      INTEGER NOT NULL,
    like_count  INTEGER NOT NULL,
    reply_count INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    PRIMARY KEY (tenant, comment_id, biz_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX comments        ON comment (tenant, biz_id, biz, reply_to, comment_id) WHERE listed = 1;
CREATE INDEX comments_top    ON comment (tenant, biz_id, biz, reply_to, like_count, comment_id) WHERE listed = 1;
CREATE INDEX comment_changes ON comment (tenant, biz_id, biz, version);

-- The requests that have added comments, for a day.
CREATE TABLE comment_request (
    tenant      TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    request_id  TEXT NOT NULL,
    comment_id  INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, request_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX comment_request_at ON comment_request (at);
