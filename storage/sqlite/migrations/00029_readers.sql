-- +goose Up

-- How many users have read the subject: the rows of user_read, except that of the
-- anonymous ones.
ALTER TABLE interactive ADD COLUMN reader_count INTEGER NOT NULL DEFAULT 0;

UPDATE interactive AS i SET reader_count = r.readers
FROM (SELECT tenant, biz, biz_id, count(*) AS readers FROM user_read WHERE user_id <> '' GROUP BY tenant, biz, biz_id) r
WHERE i.tenant = r.tenant AND i.biz = r.biz AND i.biz_id = r.biz_id;
