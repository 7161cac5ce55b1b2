-- +goose NO TRANSACTION
-- +goose Up

-- How many users have read the subject: the rows of user_read, except that of the
-- anonymous ones. With a constant default, no row is rewritten.
ALTER TABLE interactive ADD COLUMN IF NOT EXISTS reader_count bigint NOT NULL DEFAULT 0;

-- Which reads users have removed from their histories, for a week: those up to version,
-- of one subject; of one kind if biz_id is empty; or of every kind if biz is empty, too.
CREATE TABLE IF NOT EXISTS cleared_read (
    tenant  text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    biz     text COLLATE "C" NOT NULL,
    biz_id  text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
);

CREATE INDEX IF NOT EXISTS cleared_read_version ON cleared_read (version);

-- Counts the readers in one scan of user_read, and writes 1,000 subjects at a time, so
-- that no writer waits long for a lock. It can be repeated. A release before this one does
-- not move the count: what it writes after the scan, ovation verify --repair adds.
-- +goose StatementBegin
DO $$
DECLARE
    s record;
    n bigint := 0;
BEGIN
    FOR s IN
        SELECT tenant, biz, biz_id, count(*) AS readers FROM user_read
        WHERE user_id <> '' GROUP BY tenant, biz, biz_id ORDER BY tenant, biz, biz_id
    LOOP
        UPDATE interactive i SET reader_count = s.readers
        WHERE i.tenant = s.tenant AND i.biz_id = s.biz_id AND i.biz = s.biz;
        n := n + 1;
        IF n % 1000 = 0 THEN
            COMMIT;
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd
