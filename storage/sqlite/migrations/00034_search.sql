-- +goose Up

-- The words of the names of accounts (kind 1) and of the titles of videos (kind 2). place
-- is the negative id, so that the newest come first.
CREATE TABLE search_word (
    tenant TEXT NOT NULL,
    kind   INTEGER NOT NULL,
    word   TEXT NOT NULL,
    place  INTEGER NOT NULL,
    PRIMARY KEY (tenant, kind, word, place)
) STRICT, WITHOUT ROWID;

-- The name whose words the index holds, and whether it holds those of the title.
ALTER TABLE account ADD COLUMN indexed TEXT NOT NULL DEFAULT '';
ALTER TABLE video   ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;

CREATE INDEX account_unindexed ON account (tenant, account_id) WHERE indexed <> name;
CREATE INDEX video_unindexed   ON video (tenant, video_id) WHERE indexed = 0;
