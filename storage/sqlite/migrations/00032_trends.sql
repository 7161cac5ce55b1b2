-- +goose Up

-- What the events of a subject added to its score in one bucket of a window
-- (storage.TrendWindow).
CREATE TABLE trend_bucket (
    "window" INTEGER NOT NULL,
    tenant   TEXT NOT NULL,
    biz      TEXT NOT NULL,
    biz_id   TEXT NOT NULL,
    bucket   INTEGER NOT NULL,
    score    INTEGER NOT NULL,
    PRIMARY KEY ("window", tenant, biz, biz_id, bucket)
) STRICT, WITHOUT ROWID;

CREATE INDEX trend_bucket_age ON trend_bucket ("window", bucket, tenant, biz, biz_id);

-- The score of a subject in a window: the sum over its buckets. Without a row, it is 0.
CREATE TABLE trend_score (
    "window" INTEGER NOT NULL,
    tenant   TEXT NOT NULL,
    biz      TEXT NOT NULL,
    biz_id   TEXT NOT NULL,
    score    INTEGER NOT NULL,
    PRIMARY KEY ("window", tenant, biz, biz_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX trend_score_top  ON trend_score ("window", tenant, biz, score, biz_id) WHERE score > 0;
CREATE INDEX trend_score_zero ON trend_score ("window") WHERE score = 0;
