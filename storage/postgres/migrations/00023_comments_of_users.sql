-- +goose NO TRANSACTION
-- +goose Up

-- The user whose edit the text is; empty if the author wrote it.
ALTER TABLE comment ADD COLUMN IF NOT EXISTS edited_by text COLLATE "C" NOT NULL DEFAULT '';

-- A user's comments. Writes to the table continue while the index is made. It waits for
-- transactions that began before, however long they take; nothing waits for it meanwhile.
-- An interrupted build leaves an invalid index, which is built anew.
SET lock_timeout = 0;
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('comments_of') AND NOT indisvalid) THEN
        ALTER INDEX comments_of RENAME TO comments_of_invalid;
    END IF;
END
$$;
-- +goose StatementEnd
DROP INDEX CONCURRENTLY IF EXISTS comments_of_invalid;
CREATE INDEX CONCURRENTLY IF NOT EXISTS comments_of ON comment (tenant, user_id, comment_id) WHERE deleted = 0;
RESET lock_timeout;
