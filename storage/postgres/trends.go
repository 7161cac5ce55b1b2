package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

var _ storage.Trends = (*Store)(nil)

const (
	// advanceConsumer locks the row of the consumer, so that no other process changes the
	// trends until the end of the transaction.
	advanceConsumer = `UPDATE event_consumer SET position = $1 WHERE name = $2 AND holder = $3 AND position = $4`

	removeTrendBuckets = `
DELETE FROM trend_bucket b USING unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS k (tenant, biz, biz_id, win)
WHERE b."window" = k.win AND b.tenant = k.tenant AND b.biz = k.biz AND b.biz_id = k.biz_id`
	removeTrendScores = `
DELETE FROM trend_score t USING unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS k (tenant, biz, biz_id, win)
WHERE t."window" = k.win AND t.tenant = k.tenant AND t.biz = k.biz AND t.biz_id = k.biz_id`

	addTrendBuckets = `
INSERT INTO trend_bucket AS b ("window", tenant, biz, biz_id, bucket, score)
SELECT k.win, k.tenant, k.biz, k.biz_id, k.bucket, k.score
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS k (tenant, biz, biz_id, win, bucket, score)
ON CONFLICT ("window", tenant, biz, biz_id, bucket) DO UPDATE SET score = b.score + excluded.score`
	addTrendScores = `
INSERT INTO trend_score AS t ("window", tenant, biz, biz_id, score)
SELECT k.win, k.tenant, k.biz, k.biz_id, sum(k.score)::bigint
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS k (tenant, biz, biz_id, win, bucket, score)
GROUP BY k.win, k.tenant, k.biz, k.biz_id
ON CONFLICT ("window", tenant, biz, biz_id) DO UPDATE SET score = t.score + excluded.score`
	removeTrendZeros = `DELETE FROM trend_score WHERE score = 0`

	expireTrends = `
WITH old AS (
    DELETE FROM trend_bucket WHERE ("window", tenant, biz, biz_id, bucket) IN (
        SELECT "window", tenant, biz, biz_id, bucket FROM trend_bucket WHERE "window" = $1 AND bucket < $2
        ORDER BY bucket, tenant, biz, biz_id LIMIT $3)
    RETURNING tenant, biz, biz_id, score),
subtracted AS (
    INSERT INTO trend_score AS t ("window", tenant, biz, biz_id, score)
    SELECT $1, tenant, biz, biz_id, -sum(score)::bigint FROM old GROUP BY tenant, biz, biz_id
    ON CONFLICT ("window", tenant, biz, biz_id) DO UPDATE SET score = t.score + excluded.score)
SELECT count(*) FROM old`

	selectTrending = `
SELECT k.ord, l.biz_id, l.score
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, biz, id, win, version, entries, ord)
CROSS JOIN LATERAL (
    SELECT biz_id, score FROM trend_score t
    WHERE t."window" = k.win AND t.tenant = k.tenant AND t.biz = k.biz AND t.score > 0 AND (t.score, t.biz_id) < (k.version, k.id)
        AND NOT EXISTS (SELECT FROM interactive i WHERE i.tenant = t.tenant AND i.biz = t.biz AND i.biz_id = t.biz_id AND i.deleted > 0)
    ORDER BY t.score DESC, t.biz_id DESC LIMIT k.entries) l`
)

// changeTrends runs a transaction of the holder of a lease, which moves the consumer to a
// position.
func (s *Store) changeTrends(ctx context.Context, what string, lease storage.EventLease, to int64, queue func(*pgx.Batch)) error {
	return s.change(ctx, what, func(t *tx) error {
		var held int64
		b := t.batch()
		b.Queue(advanceConsumer, to, lease.Consumer, lease.Holder, lease.Position).Exec(rowsAffected(&held))
		queue(b)
		if err := t.send(b); err != nil || held > 0 {
			return err
		}
		return storage.ErrLeaseLost
	})
}

// FoldTrends applies a part of the log in one transaction and one round trip.
func (s *Store) FoldTrends(ctx context.Context, fold storage.TrendFold) error {
	return s.changeTrends(ctx, "fold trends", fold.Lease, fold.Position, func(b *pgx.Batch) {
		if len(fold.Removed) > 0 {
			keys := newColumns(3, 1, len(fold.Removed)*len(storage.TrendWindows))
			for _, w := range storage.TrendWindows {
				for _, s := range fold.Removed {
					keys.add([]string{s.Tenant, s.Biz, s.BizID}, int64(w))
				}
			}
			b.Queue(removeTrendBuckets, keys.args()...)
			b.Queue(removeTrendScores, keys.args()...)
		}
		if len(fold.Deltas) == 0 {
			return
		}
		rows := newColumns(3, 3, len(fold.Deltas))
		for _, d := range fold.Deltas {
			rows.add([]string{d.Subject.Tenant, d.Subject.Biz, d.Subject.BizID}, int64(d.Window), d.Bucket, d.Score)
		}
		b.Queue(addTrendBuckets, rows.args()...)
		b.Queue(addTrendScores, rows.args()...)
		b.Queue(removeTrendZeros)
	})
}

// ExpireTrends removes old buckets in one transaction and one round trip.
func (s *Store) ExpireTrends(ctx context.Context, lease storage.EventLease, at time.Time, limit int) (n int, err error) {
	err = s.changeTrends(ctx, "expire trends", lease, lease.Position, func(b *pgx.Batch) {
		n = 0
		for _, w := range storage.TrendWindows {
			b.Queue(expireTrends, w, w.Oldest(at), limit).Query(eachRow(func(row pgx.Rows) error {
				var expired int
				err := row.Scan(&expired)
				n = max(n, expired)
				return err
			}))
		}
		b.Queue(removeTrendZeros)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Trending lists the subjects with the highest scores.
func (s *Store) Trending(ctx context.Context, queries []storage.TrendingQuery) ([]storage.ListPage[storage.Trend], error) {
	keys := newColumns(3, 3, len(queries))
	for _, q := range queries {
		at := sqlstore.StartOf(q.Page)
		keys.add([]string{q.Tenant, q.Biz, at.ID}, int64(q.Window), at.Version, int64(max(q.First, 0)))
	}
	return list(ctx, s, "list trends", selectTrending, len(queries), keys, addEntry(func(row pgx.Rows) (i int, one storage.Trend, err error) {
		if err = row.Scan(&i, &one.Subject.BizID, &one.Score); err == nil {
			one.Subject.Tenant, one.Subject.Biz = queries[i-1].Tenant, queries[i-1].Biz
		}
		return i, one, err
	}))
}
