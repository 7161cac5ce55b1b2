-- +goose Up

-- storage.UserTotals, but for the followers, which interactive has, and the comments.
-- Transactions lock these rows and then those of user_comments last, in the order of the
-- key.
CREATE TABLE user_totals (
    tenant         text COLLATE "C" NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    likes          bigint NOT NULL,
    following      bigint NOT NULL,
    collections    bigint NOT NULL,
    works          bigint NOT NULL,
    likes_received bigint NOT NULL,
    PRIMARY KEY (tenant, user_id)
) WITH (fillfactor = 70);

-- Comments have a table of their own, so that they do not wait for transactions with
-- likes of the same users, which hold their locks while they write to Redis.
CREATE TABLE user_comments (
    tenant   text COLLATE "C" NOT NULL,
    user_id  text COLLATE "C" NOT NULL,
    comments bigint NOT NULL,
    PRIMARY KEY (tenant, user_id)
) WITH (fillfactor = 70);

-- A release before this one does not move the totals: what it writes after this
-- statement, ovation verify --repair adds.
INSERT INTO user_totals
SELECT tenant, user_id, sum(likes), sum(following), sum(collections), 0, 0
FROM (
    SELECT tenant, user_id, count(*) AS likes, 0 AS following, 0 AS collections
    FROM user_reaction WHERE state = 1 GROUP BY tenant, user_id
    UNION ALL
    SELECT tenant, user_id, 0, count(*), 0 FROM user_follow WHERE state = 1 GROUP BY tenant, user_id
    UNION ALL
    SELECT tenant, user_id, 0, 0, count(*) FROM user_collection WHERE state <> '' GROUP BY tenant, user_id
) s
GROUP BY tenant, user_id;

INSERT INTO user_comments SELECT tenant, user_id, count(*) FROM comment WHERE deleted = 0 GROUP BY tenant, user_id;
