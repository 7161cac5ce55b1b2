package postgres

import "ovation/storage"

// commitReactions is the transaction of CommitActions as one statement. It changes
// nothing unless the epoch permits commits. Its parts:
//
//   - e: the epoch, which the statement locks; $9 is the present history
//   - s: the states that were written, with the reaction before
//   - d: by how much each subject's counts change
//   - c: the new counts of these subjects
//   - t: the totals of the users and of the subjects' authors
//
// The subquery of e returns nothing, and locks no row. It makes the statement lock the
// table mirror as lockEpochShared does: the server locks all tables of a statement before
// it takes the snapshot that the statement reads. A transaction that changes the epoch has
// therefore either ended before that snapshot, or waits until the statement has committed.
// This requires READ COMMITTED, in which each statement has its own snapshot; see inspect.
//
// The actions need no row in the inbox. If they are repeated, the states include them
// already, so nothing changes.
//
// A part runs when another part reads it, and a sort or an aggregate reads all of its
// input first: this determines the order in which the tables are locked. A FULL JOIN
// cannot become a nested loop, whose cost would grow with the square of the batch.
//
// The statement returns rows of three forms, which share columns: the epoch, the states
// and the counts (see directCommit.scan). Joining states and counts here would cost more
// than it saves.
const commitReactions = writeReactions + writeTotals + returnReactions

// commitReactionsToComments is commitReactions for messages with comments among their
// subjects. The part m copies the like counts of comments to their rows, which are locked
// before the totals.
const commitReactionsToComments = writeReactions + `, m AS (
    INSERT INTO comment AS m (tenant, biz, biz_id, comment_id, reply_to, user_id, text, created, edited, deleted, listed, like_count, reply_count, version)
    SELECT o.tenant, '', o.biz_id, o.comment_id, 0, '', '', 0, 0, 0, FALSE, k.like_count, 0, 0
    FROM (SELECT tenant, like_count, CASE WHEN biz_id ~ '^[1-9][0-9]{0,17}$' THEN biz_id::bigint END AS comment_id
        FROM c WHERE biz = '` + storage.BizComment + `') k
    CROSS JOIN LATERAL (SELECT tenant, comment_id, biz_id FROM comment o
        WHERE o.tenant = k.tenant AND o.comment_id = k.comment_id LIMIT 1) o
    ORDER BY o.tenant, o.comment_id
    ON CONFLICT (tenant, comment_id, biz_id) DO UPDATE SET like_count = excluded.like_count
    WHERE m.like_count <> excluded.like_count
    RETURNING 1
)` + writeTotals + ` AND (SELECT count(*) FROM m) >= 0` + returnReactions

const writeReactions = `
WITH e AS MATERIALIZED (
    SELECT epoch, open, history <> '' AND history <> $9 AS rewound, free_at - ` + clock + ` AS wait FROM mirror WHERE one AND NOT EXISTS (SELECT FROM mirror WHERE FALSE FOR KEY SHARE)
), s AS (` + upsertReactionsFrom + ` WHERE EXISTS (SELECT FROM e WHERE NOT rewound AND wait <= 0)` + upsertReactionsInto + `
), d AS (
    SELECT tenant, biz, biz_id, sum((state = 1)::int - (prev_state = 1)::int) AS likes, sum((state = 2)::int - (prev_state = 2)::int) AS dislikes
    FROM s WHERE state <> prev_state GROUP BY tenant, biz, biz_id
), c AS (
    INSERT INTO interactive AS i (tenant, biz, biz_id, read_count, like_count, dislike_count, collect_count, follower_count, version)
    SELECT tenant, biz, biz_id, 0, likes, dislikes, 0, 0, 1 FROM d ORDER BY tenant, biz, biz_id
    ON CONFLICT (tenant, biz_id, biz) DO UPDATE SET
        like_count = i.like_count + excluded.like_count,
        dislike_count = i.dislike_count + excluded.dislike_count,
        version = i.version + 1
    RETURNING tenant, biz, biz_id, read_count, like_count, dislike_count, collect_count, follower_count, author, version
)`

const writeTotals = `, t AS (
    INSERT INTO user_totals AS t (tenant, user_id, likes, following, collections, works, likes_received)
    SELECT tenant, user_id, likes, 0, 0, 0, received FROM (
        SELECT tenant, user_id, sum(likes) AS likes, sum(received) AS received FROM (
            SELECT tenant, user_id, (state = 1)::int - (prev_state = 1)::int AS likes, 0 AS received FROM s WHERE state <> prev_state
            UNION ALL
            SELECT c.tenant, c.author, 0, d.likes::int FROM d FULL JOIN c USING (tenant, biz, biz_id) WHERE c.author <> ''
        ) moved GROUP BY tenant, user_id ORDER BY tenant, user_id
    ) sums
    WHERE (likes <> 0 OR received <> 0)`

const returnReactions = `
    ORDER BY tenant, user_id
    ON CONFLICT (tenant, user_id) DO UPDATE SET likes = t.likes + excluded.likes, likes_received = t.likes_received + excluded.likes_received
)
SELECT 0::bigint, '', '', '', '', epoch, open::int::bigint, rewound::int::bigint, wait, 1::bigint, 0::bigint, NULL::bigint[] FROM e
UNION ALL
SELECT 1, tenant, user_id, biz, biz_id, prev_state, state, version, 0, 0, 0, clears FROM s
UNION ALL
SELECT 2, tenant, author, biz, biz_id, read_count, like_count, dislike_count, collect_count, follower_count, version, NULL FROM c`
