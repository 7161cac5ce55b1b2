-- +goose Up

-- deleted is when the subject was marked as deleted (storage.Deletions), 0 if it is not.
ALTER TABLE interactive ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;

-- The deleted subjects that a state or a comment may still refer to, in the order of at.
CREATE TABLE deleted_subject (
    tenant TEXT NOT NULL,
    biz    TEXT NOT NULL,
    biz_id TEXT NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (tenant, biz_id, biz)
) STRICT, WITHOUT ROWID;

CREATE INDEX deleted_subject_at ON deleted_subject (at, tenant, biz_id, biz);

-- They find the states that a sweep clears; likes and follows have such an index.
CREATE INDEX collectors ON user_collection (tenant, biz_id, biz, user_id) WHERE state <> '';
CREATE INDEX dislikers  ON user_reaction (tenant, biz_id, biz, user_id) WHERE state = 2;

-- Comments that are deleted already queue behind those that will be: hence the addition.
INSERT INTO deleted_subject SELECT tenant, 'comment', CAST(comment_id AS TEXT), deleted + (1 << 62) FROM comment WHERE deleted > 0;
