-- +goose Up

-- What the events of a subject added to its score in one bucket of a window
-- (storage.TrendWindow). Only the process that has the lease of the trends writes it.
CREATE TABLE trend_bucket (
    "window" smallint NOT NULL,
    tenant   text COLLATE "C" NOT NULL,
    biz      text COLLATE "C" NOT NULL,
    biz_id   text COLLATE "C" NOT NULL,
    bucket   bigint NOT NULL,
    score    bigint NOT NULL,
    PRIMARY KEY ("window", tenant, biz, biz_id, bucket)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX trend_bucket_age ON trend_bucket ("window", bucket, tenant, biz, biz_id);

-- The score of a subject in a window: the sum over its buckets. Without a row, it is 0.
CREATE TABLE trend_score (
    "window" smallint NOT NULL,
    tenant   text COLLATE "C" NOT NULL,
    biz      text COLLATE "C" NOT NULL,
    biz_id   text COLLATE "C" NOT NULL,
    score    bigint NOT NULL,
    PRIMARY KEY ("window", tenant, biz, biz_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX trend_score_top  ON trend_score ("window", tenant, biz, score, biz_id) WHERE score > 0;
CREATE INDEX trend_score_zero ON trend_score ("window") WHERE score = 0;
