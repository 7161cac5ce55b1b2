-- +goose Up

-- What the columns mean stands in package storage. Versions and times are in
-- microseconds since 1970, UTC. Text compares bytewise. Every unique key
-- begins with the tenant and the column to shard by.

CREATE TABLE interactive (
    tenant        TEXT NOT NULL,
    biz           TEXT NOT NULL,
    biz_id        TEXT NOT NULL,
    read_count    INTEGER NOT NULL,
    like_count    INTEGER NOT NULL,
    dislike_count INTEGER NOT NULL,
    collect_count INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    PRIMARY KEY (tenant, biz_id, biz)
) STRICT, WITHOUT ROWID;

-- state is a storage.Reaction. Rows are never deleted: "none" is a state.
CREATE TABLE user_reaction (
    tenant     TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    biz        TEXT NOT NULL,
    biz_id     TEXT NOT NULL,
    state      INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
    prev_state INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX likes        ON user_reaction (tenant, user_id, version, biz, biz_id) WHERE state = 1;
CREATE INDEX likes_of_biz ON user_reaction (tenant, user_id, biz, version, biz_id) WHERE state = 1;
CREATE INDEX likers       ON user_reaction (tenant, biz_id, biz, version, user_id) WHERE state = 1;

-- state is a folder's id, empty where the subject is not collected.
CREATE TABLE user_collection (
    tenant     TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    biz        TEXT NOT NULL,
    biz_id     TEXT NOT NULL,
    state      TEXT NOT NULL,
    prev_state TEXT NOT NULL,
    version    INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX items ON user_collection (tenant, user_id, state, version, biz, biz_id) WHERE state <> '';

-- version is the time of the last read. The empty user_id is everyone who is
-- anonymous.
CREATE TABLE user_read (
    tenant     TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    biz        TEXT NOT NULL,
    biz_id     TEXT NOT NULL,
    times      INTEGER NOT NULL CHECK (times > 0),
    first_read INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
) STRICT, WITHOUT ROWID;

-- It serves the list of one biz too, by skipping over the others: reads are the
-- most frequent write, and one more index would make it a fifth dearer.
CREATE INDEX reads ON user_read (tenant, user_id, version, biz, biz_id) WHERE user_id <> '';

-- name_key is storage.FolderNameKey of the name.
CREATE TABLE folder (
    tenant      TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    folder_id   TEXT NOT NULL,
    name        TEXT NOT NULL,
    name_key    TEXT NOT NULL,
    description TEXT NOT NULL,
    public      INTEGER NOT NULL,
    item_count  INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, folder_id),
    UNIQUE (tenant, user_id, name_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX folders        ON folder (tenant, user_id, created, folder_id);
CREATE INDEX folders_public ON folder (tenant, user_id, created, folder_id) WHERE public = 1;

-- The messages that were persisted. persisted is NULL for those that are kept
-- for ever.
CREATE TABLE inbox (
    id        TEXT PRIMARY KEY,
    persisted INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_persisted ON inbox (persisted) WHERE persisted IS NOT NULL;

CREATE TABLE secret (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
