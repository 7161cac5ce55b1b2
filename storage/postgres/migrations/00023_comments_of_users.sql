-- +goose NO TRANSACTION
-- +goose Up

-- The user whose edit the text is; empty if the author wrote it.
ALTER TABLE comment ADD COLUMN IF NOT EXISTS edited_by text COLLATE "C" NOT NULL DEFAULT '';

-- A user's comments. Writes to the table continue while the index is made.
DROP INDEX CONCURRENTLY IF EXISTS comments_of;
CREATE INDEX CONCURRENTLY comments_of ON comment (tenant, user_id, comment_id) WHERE deleted = 0;
