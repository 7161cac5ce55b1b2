-- +goose Up

-- How many users have read the subject: the rows of user_read, except that of the
-- anonymous ones.
ALTER TABLE interactive ADD COLUMN reader_count INTEGER NOT NULL DEFAULT 0;

UPDATE interactive AS i SET reader_count = r.readers
FROM (SELECT tenant, biz, biz_id, count(*) AS readers FROM user_read WHERE user_id <> '' GROUP BY tenant, biz, biz_id) r
WHERE i.tenant = r.tenant AND i.biz = r.biz AND i.biz_id = r.biz_id;

-- Which reads users have removed from their histories, for a week: those up to version,
-- of one subject; of one kind if biz_id is empty; or of every kind if biz is empty, too.
CREATE TABLE cleared_read (
    tenant  TEXT NOT NULL,
    user_id TEXT NOT NULL,
    biz     TEXT NOT NULL,
    biz_id  TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, biz, biz_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX cleared_read_version ON cleared_read (version);
