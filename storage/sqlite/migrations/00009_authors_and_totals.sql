-- +goose Up

-- author is the user whose the subject is since authored, empty if nobody's.
ALTER TABLE interactive ADD COLUMN author TEXT NOT NULL DEFAULT '';
ALTER TABLE interactive ADD COLUMN authored INTEGER NOT NULL DEFAULT 0;

-- It serves the list of one biz too, by skipping over the others.
CREATE INDEX works ON interactive (tenant, author, authored, biz, biz_id) WHERE author <> '';

-- storage.UserTotals, but for the followers, which interactive has, and the comments.
CREATE TABLE user_totals (
    tenant         TEXT NOT NULL,
    user_id        TEXT NOT NULL,
    likes          INTEGER NOT NULL,
    following      INTEGER NOT NULL,
    collections    INTEGER NOT NULL,
    works          INTEGER NOT NULL,
    likes_received INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE user_comments (
    tenant   TEXT NOT NULL,
    user_id  TEXT NOT NULL,
    comments INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id)
) STRICT, WITHOUT ROWID;

INSERT INTO user_totals
SELECT tenant, user_id, sum(likes), sum(following), sum(collections), 0, 0
FROM (
    SELECT tenant, user_id, 1 AS likes, 0 AS following, 0 AS collections FROM user_reaction WHERE state = 1
    UNION ALL
    SELECT tenant, user_id, 0, 1, 0 FROM user_follow WHERE state = 1
    UNION ALL
    SELECT tenant, user_id, 0, 0, 1 FROM user_collection WHERE state <> ''
)
GROUP BY tenant, user_id;

INSERT INTO user_comments SELECT tenant, user_id, count(*) FROM comment WHERE deleted = 0 GROUP BY tenant, user_id;
