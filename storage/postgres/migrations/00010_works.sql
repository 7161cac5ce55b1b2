-- +goose Up

-- It serves the list of one biz too, by skipping over the others. Counts are not in
-- it, so that they still move without touching an index. While it is made, which is
-- one scan of the table, counts do not move; reads go on.
CREATE INDEX works ON interactive (tenant, author, authored, biz, biz_id) WHERE author <> '';
