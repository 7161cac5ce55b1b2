-- +goose Up

-- holder names the mirror that the epoch belongs to, held_at is when a process
-- last said that it uses that one. history names the line of commits on which the
-- epoch began; it is empty for the one that is open now.
ALTER TABLE mirror
    ADD COLUMN holder  text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN held_at bigint NOT NULL DEFAULT 0,
    ADD COLUMN history text COLLATE "C" NOT NULL DEFAULT '';
