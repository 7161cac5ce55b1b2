package sqlite

import (
	"cmp"
	"context"
	"time"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

var _ storage.Trends = (*Store)(nil)

const (
	advanceConsumer = `UPDATE event_consumer SET position = ? WHERE name = ? AND holder = ? AND position = ?`

	removeTrendBuckets = `
DELETE FROM trend_bucket WHERE ("window", tenant, biz, biz_id) IN
    (SELECT value ->> 3, value ->> 0, value ->> 1, value ->> 2 FROM jsonb_each(?))`
	removeTrendScores = `
DELETE FROM trend_score WHERE ("window", tenant, biz, biz_id) IN
    (SELECT value ->> 3, value ->> 0, value ->> 1, value ->> 2 FROM jsonb_each(?))`

	addTrendBuckets = `
INSERT INTO trend_bucket AS b ("window", tenant, biz, biz_id, bucket, score)
SELECT value ->> 3, value ->> 0, value ->> 1, value ->> 2, value ->> 4, value ->> 5 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET score = b.score + excluded.score`
	addTrendScores = `
INSERT INTO trend_score AS t ("window", tenant, biz, biz_id, score)
SELECT value ->> 3, value ->> 0, value ->> 1, value ->> 2, sum(value ->> 5) FROM jsonb_each(?) WHERE true GROUP BY 1, 2, 3, 4
ON CONFLICT DO UPDATE SET score = t.score + excluded.score`
	removeTrendZeros = `DELETE FROM trend_score WHERE score = 0 AND "window" = ?`

	// subtractTrends and expireTrends take the same rows.
	oldTrendBuckets = `
FROM trend_bucket WHERE "window" = ?1 AND bucket < ?2 ORDER BY bucket, tenant, biz, biz_id LIMIT ?3`
	subtractTrends = `
INSERT INTO trend_score AS t ("window", tenant, biz, biz_id, score)
SELECT ?1, tenant, biz, biz_id, -sum(score) FROM (SELECT tenant, biz, biz_id, score ` + oldTrendBuckets + `) WHERE true GROUP BY 2, 3, 4
ON CONFLICT DO UPDATE SET score = t.score + excluded.score`
	expireTrends = `
DELETE FROM trend_bucket WHERE ("window", tenant, biz, biz_id, bucket) IN
    (SELECT "window", tenant, biz, biz_id, bucket ` + oldTrendBuckets + `)`

	selectTrending = `
SELECT biz_id, score FROM trend_score t
WHERE "window" = ?1 AND tenant = ?2 AND biz = ?3 AND score > 0 AND (score, biz_id) < (?4, ?5)
    AND NOT EXISTS (SELECT 1 FROM interactive i WHERE i.tenant = ?2 AND i.biz = ?3 AND i.biz_id = t.biz_id AND i.deleted > 0)
ORDER BY score DESC, biz_id DESC LIMIT ?6`
)

// FoldTrends applies a part of the log in one transaction.
func (s *Store) FoldTrends(ctx context.Context, fold storage.TrendFold) error {
	return s.write(ctx, "fold trends", func(t tx) error {
		n, err := t.exec(advanceConsumer, fold.Position, fold.Lease.Consumer, fold.Lease.Holder, fold.Lease.Position)
		if err == nil && n == 0 {
			err = storage.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		if err := t.removeTrends(fold.Removed); err != nil || len(fold.Deltas) == 0 {
			return err
		}
		var rows tuples
		for _, d := range fold.Deltas {
			rows.add([]string{d.Subject.Tenant, d.Subject.Biz, d.Subject.BizID}, int64(d.Window), d.Bucket, d.Score)
		}
		all := rows.json()
		if _, err := t.exec(addTrendBuckets, all); err != nil {
			return err
		}
		if _, err := t.exec(addTrendScores, all); err != nil {
			return err
		}
		return t.removeTrendZeros()
	})
}

func (t tx) removeTrends(subjects []storage.Subject) error {
	if len(subjects) == 0 {
		return nil
	}
	var keys tuples
	for _, w := range storage.TrendWindows {
		for _, s := range subjects {
			keys.add([]string{s.Tenant, s.Biz, s.BizID}, int64(w))
		}
	}
	all := keys.json()
	if _, err := t.exec(removeTrendBuckets, all); err != nil {
		return err
	}
	_, err := t.exec(removeTrendScores, all)
	return err
}

func (t tx) removeTrendZeros() error {
	for _, w := range storage.TrendWindows {
		if _, err := t.exec(removeTrendZeros, w); err != nil {
			return err
		}
	}
	return nil
}

// ExpireTrends removes old buckets in one transaction.
func (s *Store) ExpireTrends(ctx context.Context, lease storage.EventLease, at time.Time, limit int) (n int, err error) {
	err = s.write(ctx, "expire trends", func(t tx) error {
		n = 0
		if held, err := t.exec(advanceConsumer, lease.Position, lease.Consumer, lease.Holder, lease.Position); err != nil || held == 0 {
			return cmp.Or(err, storage.ErrLeaseLost)
		}
		for _, w := range storage.TrendWindows {
			if _, err := t.exec(subtractTrends, w, w.Oldest(at), limit); err != nil {
				return err
			}
			expired, err := t.exec(expireTrends, w, w.Oldest(at), limit)
			if err != nil {
				return err
			}
			n = max(n, int(expired))
		}
		if n == 0 {
			return nil
		}
		return t.removeTrendZeros()
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Trending lists the subjects with the highest scores.
func (s *Store) Trending(ctx context.Context, queries []storage.TrendingQuery) ([]storage.ListPage[storage.Trend], error) {
	return list(ctx, s, "list trends", queries, func(t tx, q storage.TrendingQuery) (out storage.ListPage[storage.Trend], err error) {
		at := sqlstore.StartOf(q.Page)
		args := []any{q.Window, q.Tenant, q.Biz, at.Version, at.ID, max(q.First, 0)}
		err = t.query(selectTrending, args, func(scan func(...any) error) error {
			one := storage.Trend{Subject: storage.Subject{Tenant: q.Tenant, Biz: q.Biz}}
			err := scan(&one.Subject.BizID, &one.Score)
			out.Entries = append(out.Entries, one)
			return err
		})
		return out, err
	})
}
