package sqlite

import (
	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	upsertCounts = `
INSERT INTO interactive AS i (tenant, biz, biz_id, read_count, reader_count, like_count, dislike_count, collect_count, follower_count, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, ?2
FROM jsonb_each(?1) WHERE true
ON CONFLICT DO UPDATE SET
    read_count = i.read_count + excluded.read_count,
    reader_count = i.reader_count + excluded.reader_count,
    like_count = i.like_count + excluded.like_count,
    dislike_count = i.dislike_count + excluded.dislike_count,
    collect_count = i.collect_count + excluded.collect_count,
    follower_count = i.follower_count + excluded.follower_count,
    version = CASE WHEN i.version = 0 THEN excluded.version ELSE i.version + 1 END
RETURNING tenant, biz, biz_id, read_count, reader_count, like_count, dislike_count, collect_count, follower_count, author, deleted > 0, version`

	updateItemCounts = `
UPDATE folder SET item_count = item_count + (k.value ->> 3) FROM jsonb_each(?) k
WHERE tenant = k.value ->> 0 AND user_id = k.value ->> 1 AND folder_id = k.value ->> 2`
)

// applyTally declares authors, adjusts counts and totals, and returns the new counts of
// each subject, ordered by tenant, biz and bizId.
func (t tx) applyTally(by sqlstore.Tally, declared []storage.Action) ([]storage.SubjectCounts, error) {
	if err := t.adjustItemCounts(by.Folders); err != nil {
		return nil, err
	}
	if err := t.declare(by, declared); err != nil {
		return nil, err
	}
	counts, err := t.adjustCounts(by)
	if err != nil {
		return nil, err
	}
	by.AddLikesReceived(counts)
	return counts, t.adjustTotals(by.Users)
}

func (t tx) adjustCounts(by sqlstore.Tally) ([]storage.SubjectCounts, error) {
	if len(by.Subjects) == 0 {
		return nil, nil
	}
	var rows tuples
	subjects := by.Sorted()
	for _, s := range subjects {
		c := by.Subjects[s]
		rows.add([]string{s.Tenant, s.Biz, s.BizID}, c.ReadCount, c.ReaderCount, c.LikeCount, c.DislikeCount, c.CollectCount, c.FollowerCount)
	}
	out := make([]storage.SubjectCounts, 0, len(by.Subjects))
	err := t.query(upsertCounts, []any{rows.json(), by.FirstVersion}, func(scan func(...any) error) error {
		var c storage.SubjectCounts
		err := scan(&c.Subject.Tenant, &c.Subject.Biz, &c.Subject.BizID,
			&c.ReadCount, &c.ReaderCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount, &c.FollowerCount, &c.AuthorID, &c.Deleted, &c.Version)
		out = append(out, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	sqlstore.SortCounts(out)
	return out, t.setCommentLikes(subjects)
}

func (t tx) adjustItemCounts(by map[storage.FolderKey]int64) error {
	if len(by) == 0 {
		return nil
	}
	var rows tuples
	for k, n := range by {
		rows.add([]string{k.Owner.Tenant, k.Owner.UserID, k.FolderID}, n)
	}
	_, err := t.exec(updateItemCounts, rows.json())
	return err
}
