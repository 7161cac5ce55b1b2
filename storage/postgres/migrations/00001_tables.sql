-- +goose Up

-- What the columns mean stands in package storage. Versions and times are in
-- microseconds since 1970, UTC. Text compares bytewise, whatever the database
-- does elsewhere. Every unique key begins with the tenant and the column to
-- shard by.

-- Nothing but the key is indexed and pages keep room, so that a new version of
-- a row finds place beside the old one and no index is touched.
CREATE TABLE interactive (
    tenant        text COLLATE "C" NOT NULL,
    biz           text COLLATE "C" NOT NULL,
    biz_id        text COLLATE "C" NOT NULL,
    read_count    bigint NOT NULL,
    like_count    bigint NOT NULL,
    dislike_count bigint NOT NULL,
    collect_count bigint NOT NULL,
    version       bigint NOT NULL,
    PRIMARY KEY (tenant, biz_id, biz)
) WITH (fillfactor = 70);

-- state is a storage.Reaction. Rows are never deleted: "none" is a state.
CREATE TABLE user_reaction (
    tenant     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    biz        text COLLATE "C" NOT NULL,
    biz_id     text COLLATE "C" NOT NULL,
    state      smallint NOT NULL,
    prev_state smallint NOT NULL,
    version    bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
);

CREATE INDEX likes        ON user_reaction (tenant, user_id, version, biz, biz_id) WHERE state = 1;
CREATE INDEX likes_of_biz ON user_reaction (tenant, user_id, biz, version, biz_id) WHERE state = 1;
CREATE INDEX likers       ON user_reaction (tenant, biz_id, biz, version, user_id) WHERE state = 1;

-- state is a folder's id, empty where the subject is not collected.
CREATE TABLE user_collection (
    tenant     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    biz        text COLLATE "C" NOT NULL,
    biz_id     text COLLATE "C" NOT NULL,
    state      text COLLATE "C" NOT NULL,
    prev_state text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
);

CREATE INDEX items ON user_collection (tenant, user_id, state, version, biz, biz_id) WHERE state <> '';

-- version is the time of the last read. The empty user_id is everyone who is
-- anonymous.
CREATE TABLE user_read (
    tenant     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    biz        text COLLATE "C" NOT NULL,
    biz_id     text COLLATE "C" NOT NULL,
    times      bigint NOT NULL,
    first_read bigint NOT NULL,
    version    bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
);

-- It serves the list of one biz too, by skipping over the others: reads are the
-- most frequent write, and one more index would make it dearer.
CREATE INDEX reads ON user_read (tenant, user_id, version, biz, biz_id) WHERE user_id <> '';

-- name_key is storage.FolderNameKey of the name.
CREATE TABLE folder (
    tenant      text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    folder_id   text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    name_key    text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL,
    public      boolean NOT NULL,
    item_count  bigint NOT NULL,
    created     bigint NOT NULL,
    updated     bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, folder_id)
) WITH (fillfactor = 50);

-- The names of default folders are looked after by those who change folders:
-- an upsert can mind one unique key alone.
CREATE UNIQUE INDEX folder_names ON folder (tenant, user_id, name_key) WHERE folder_id <> 'default';

-- The condition is always true: it keeps the index for the list, where
-- the key would serve a look-up better.
CREATE INDEX folders        ON folder (tenant, user_id, created, folder_id) WHERE folder_id <> '';
CREATE INDEX folders_public ON folder (tenant, user_id, created, folder_id) WHERE public;

-- Where the items of a deleted folder went: moved_to is a folder's id, empty
-- where they were uncollected. version is when it was deleted.
CREATE TABLE deleted_folder (
    tenant    text COLLATE "C" NOT NULL,
    user_id   text COLLATE "C" NOT NULL,
    folder_id text COLLATE "C" NOT NULL,
    moved_to  text COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, folder_id)
);

CREATE INDEX deleted_folder_version ON deleted_folder (version);

-- The messages that were persisted. persisted is NULL for those that are kept
-- for ever.
CREATE TABLE inbox (
    id        text COLLATE "C" PRIMARY KEY,
    persisted bigint
);

CREATE INDEX inbox_persisted ON inbox (persisted) WHERE persisted IS NOT NULL;

-- One row: the epoch of the mirror. Transactions that change counts lock the
-- table in ROW SHARE mode, those that change the row in EXCLUSIVE mode. Before
-- free_at no counts are changed.
CREATE TABLE mirror (
    one        boolean PRIMARY KEY CHECK (one),
    epoch      bigint NOT NULL,
    open       boolean NOT NULL,
    changed_at bigint NOT NULL,
    free_at    bigint NOT NULL
);

INSERT INTO mirror VALUES (TRUE, 1, FALSE, 0, 0);

CREATE TABLE secret (
    name  text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);
