-- +goose Up

-- author is the user whose the subject is since authored, empty if nobody's.
-- Constant defaults rewrite no row.
ALTER TABLE interactive
    ADD COLUMN author   text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN authored bigint NOT NULL DEFAULT 0;
