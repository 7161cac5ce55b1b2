-- +goose NO TRANSACTION
-- +goose Up

-- The users who were erased (storage.Erasures), each as storage.User.Digest. finished is
-- when nothing of the user was left, 0 before. revoked is when the tokens of the user's
-- account were revoked, 0 if there was none. Transactions that may add data of users lock
-- the table mirror or this one in ROW SHARE mode before they look here.
CREATE TABLE IF NOT EXISTS erased_user (
    digest   text COLLATE "C" PRIMARY KEY,
    finished bigint NOT NULL,
    revoked  bigint NOT NULL
);

CREATE INDEX IF NOT EXISTS erased_user_revoked ON erased_user (revoked) WHERE revoked > 0;

-- They find what others have done to a user, beside the indexes of states that are set,
-- and the comments that a user has edited. They are built as in migration 00023.
SET lock_timeout = 0;
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['unset_reactions_to_people', 'unset_collections_of_people', 'unset_follows_of_people', 'reads_of_people', 'comments_edited_by'] LOOP
        IF EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(name) AND NOT indisvalid) THEN
            EXECUTE format('ALTER INDEX %I RENAME TO %I', name, name || '_invalid');
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd
DROP INDEX CONCURRENTLY IF EXISTS unset_reactions_to_people_invalid;
CREATE INDEX CONCURRENTLY IF NOT EXISTS unset_reactions_to_people ON user_reaction (tenant, biz_id, user_id) WHERE biz = 'user' AND state = 0;
DROP INDEX CONCURRENTLY IF EXISTS unset_collections_of_people_invalid;
CREATE INDEX CONCURRENTLY IF NOT EXISTS unset_collections_of_people ON user_collection (tenant, biz_id, user_id) WHERE biz = 'user' AND state = '';
DROP INDEX CONCURRENTLY IF EXISTS unset_follows_of_people_invalid;
CREATE INDEX CONCURRENTLY IF NOT EXISTS unset_follows_of_people ON user_follow (tenant, biz_id, user_id) WHERE biz = 'user' AND state = 0;
DROP INDEX CONCURRENTLY IF EXISTS reads_of_people_invalid;
CREATE INDEX CONCURRENTLY IF NOT EXISTS reads_of_people ON user_read (tenant, biz_id, user_id) WHERE biz = 'user';
DROP INDEX CONCURRENTLY IF EXISTS comments_edited_by_invalid;
CREATE INDEX CONCURRENTLY IF NOT EXISTS comments_edited_by ON comment (tenant, edited_by, comment_id) WHERE edited_by <> '';
RESET lock_timeout;
