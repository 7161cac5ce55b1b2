-- +goose Up

-- The words of the names of accounts (kind 1) and of the titles of videos (kind 2). place
-- is the negative id, so that the newest come first.
CREATE TABLE search_word (
    tenant text COLLATE "C" NOT NULL,
    kind   smallint NOT NULL,
    word   text COLLATE "C" NOT NULL,
    place  bigint NOT NULL,
    PRIMARY KEY (tenant, kind, word, place)
);

-- The name whose words the index holds, and whether it holds those of the title.
ALTER TABLE account ADD COLUMN indexed text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE video   ADD COLUMN indexed boolean NOT NULL DEFAULT FALSE;
