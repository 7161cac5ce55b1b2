-- +goose Up

-- The users who were erased (storage.Erasures), each as storage.User.Digest. finished is
-- when nothing of the user was left, 0 before. revoked is when the tokens of the user's
-- account were revoked, 0 if there was none.
CREATE TABLE erased_user (
    digest   TEXT PRIMARY KEY,
    finished INTEGER NOT NULL,
    revoked  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX erased_user_revoked ON erased_user (revoked) WHERE revoked > 0;

-- They find what others have done to a user, beside the indexes of states that are set,
-- and the comments that a user has edited.
CREATE INDEX unset_reactions_to_people   ON user_reaction (tenant, biz_id, user_id) WHERE biz = 'user' AND state = 0;
CREATE INDEX unset_collections_of_people ON user_collection (tenant, biz_id, user_id) WHERE biz = 'user' AND state = '';
CREATE INDEX unset_follows_of_people     ON user_follow (tenant, biz_id, user_id) WHERE biz = 'user' AND state = 0;
CREATE INDEX reads_of_people             ON user_read (tenant, biz_id, user_id) WHERE biz = 'user';
CREATE INDEX comments_edited_by          ON comment (tenant, edited_by, comment_id) WHERE edited_by <> '';
