-- +goose Up

-- state is 1 while the user follows the subject. Rows are never deleted, as those
-- of reactions.
CREATE TABLE user_follow (
    tenant     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    biz        text COLLATE "C" NOT NULL,
    biz_id     text COLLATE "C" NOT NULL,
    state      smallint NOT NULL,
    prev_state smallint NOT NULL,
    version    bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
);

-- The first serves the list of one biz too, by skipping over the others.
CREATE INDEX following ON user_follow (tenant, user_id, version, biz, biz_id) WHERE state = 1;
CREATE INDEX followers ON user_follow (tenant, biz_id, biz, version, user_id) WHERE state = 1;

-- A constant default rewrites no row.
ALTER TABLE interactive ADD COLUMN follower_count bigint NOT NULL DEFAULT 0;
