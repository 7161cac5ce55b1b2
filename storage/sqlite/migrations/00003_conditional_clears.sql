-- +goose Up

-- The versions of the latest conditional clears of a like and of a dislike
-- (storage.Clears); 0 where none is above version.
ALTER TABLE user_reaction ADD COLUMN unlike INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user_reaction ADD COLUMN undislike INTEGER NOT NULL DEFAULT 0;
