-- +goose Up

-- holder names the mirror that the epoch belongs to, held_at is when a process
-- last said that it uses that one.
ALTER TABLE mirror ADD COLUMN holder TEXT NOT NULL DEFAULT '';
ALTER TABLE mirror ADD COLUMN held_at INTEGER NOT NULL DEFAULT 0;
