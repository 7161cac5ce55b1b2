-- +goose NO TRANSACTION
-- +goose Up

-- deleted is when the subject was marked as deleted (storage.Deletions), 0 if it is not.
-- A constant default rewrites no row.
ALTER TABLE interactive ADD COLUMN IF NOT EXISTS deleted bigint NOT NULL DEFAULT 0;

-- The deleted subjects that a state or a comment may still refer to, in the order of at.
CREATE TABLE IF NOT EXISTS deleted_subject (
    tenant text COLLATE "C" NOT NULL,
    biz    text COLLATE "C" NOT NULL,
    biz_id text COLLATE "C" NOT NULL,
    at     bigint NOT NULL,
    PRIMARY KEY (tenant, biz_id, biz)
);

CREATE INDEX IF NOT EXISTS deleted_subject_at ON deleted_subject (at, tenant, biz_id, biz);

-- They find the states that a sweep clears; likes and follows have such an index. They are
-- built as in migration 00023.
SET lock_timeout = 0;
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('collectors') AND NOT indisvalid) THEN
        ALTER INDEX collectors RENAME TO collectors_invalid;
    END IF;
    IF EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('dislikers') AND NOT indisvalid) THEN
        ALTER INDEX dislikers RENAME TO dislikers_invalid;
    END IF;
END
$$;
-- +goose StatementEnd
DROP INDEX CONCURRENTLY IF EXISTS collectors_invalid;
CREATE INDEX CONCURRENTLY IF NOT EXISTS collectors ON user_collection (tenant, biz_id, biz, user_id) WHERE state <> '';
DROP INDEX CONCURRENTLY IF EXISTS dislikers_invalid;
CREATE INDEX CONCURRENTLY IF NOT EXISTS dislikers ON user_reaction (tenant, biz_id, biz, user_id) WHERE state = 2;
RESET lock_timeout;

-- Comments that are deleted already queue behind those that will be: hence the addition. A
-- release before this one does not queue the comments that it deletes after this
-- statement: ovation verify --repair queues them.
INSERT INTO deleted_subject SELECT tenant, 'comment', comment_id::text, deleted + (1::bigint << 62) FROM comment WHERE deleted > 0
ON CONFLICT DO NOTHING;
