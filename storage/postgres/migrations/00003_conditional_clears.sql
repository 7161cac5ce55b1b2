-- +goose Up

-- The versions of the latest conditional clears of a like and of a dislike
-- (storage.Clears); NULL where none is above version. One column, because a
-- ninth would cost every row eight bytes for its map of nulls.
ALTER TABLE user_reaction ADD COLUMN clears bigint[];
