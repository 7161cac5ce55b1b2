-- +goose Up

-- state is 1 while the user follows the subject. Rows are never deleted, as those
-- of reactions.
CREATE TABLE user_follow (
    tenant     TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    biz        TEXT NOT NULL,
    biz_id     TEXT NOT NULL,
    state      INTEGER NOT NULL CHECK (state BETWEEN 0 AND 1),
    prev_state INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
) STRICT, WITHOUT ROWID;

-- The first serves the list of one biz too, by skipping over the others.
CREATE INDEX following ON user_follow (tenant, user_id, version, biz, biz_id) WHERE state = 1;
CREATE INDEX followers ON user_follow (tenant, biz_id, biz, version, user_id) WHERE state = 1;

ALTER TABLE interactive ADD COLUMN follower_count INTEGER NOT NULL DEFAULT 0;
