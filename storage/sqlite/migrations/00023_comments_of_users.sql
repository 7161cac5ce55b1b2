-- +goose Up

-- The user whose edit the text is; empty if the author wrote it.
ALTER TABLE comment ADD COLUMN edited_by TEXT NOT NULL DEFAULT '';

-- A user's comments.
CREATE INDEX comments_of ON comment (tenant, user_id, comment_id) WHERE deleted = 0;
