package sqlite

import (
	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	upsertCounts = `
INSERT INTO interactive AS i (tenant, biz, biz_id, read_count, like_count, dislike_count, collect_count, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, ?2
FROM jsonb_each(?1) WHERE true
ON CONFLICT DO UPDATE SET
    read_count = i.read_count + excluded.read_count,
    like_count = i.like_count + excluded.like_count,
    dislike_count = i.dislike_count + excluded.dislike_count,
    collect_count = i.collect_count + excluded.collect_count,
    version = i.version + 1
RETURNING tenant, biz, biz_id, read_count, like_count, dislike_count, collect_count, version`

	updateItemCounts = `
UPDATE folder SET item_count = item_count + (k.value ->> 3) FROM jsonb_each(?) k
WHERE tenant = k.value ->> 0 AND user_id = k.value ->> 1 AND folder_id = k.value ->> 2`
)

// settle moves the counts and returns the new ones of each subject, in the
// order of tenant, biz and bizId. Counts that were not there begin with the
// given version.
func (t tx) settle(by sqlstore.Tally, first int64) ([]storage.SubjectCounts, error) {
	if err := t.settleFolders(by.Folders); err != nil || len(by.Subjects) == 0 {
		return nil, err
	}
	var rows tuples
	for _, s := range by.Sorted() {
		c := by.Subjects[s]
		rows.add([]string{s.Tenant, s.Biz, s.BizID}, c.ReadCount, c.LikeCount, c.DislikeCount, c.CollectCount)
	}
	out := make([]storage.SubjectCounts, 0, len(by.Subjects))
	err := t.query(upsertCounts, []any{rows.json(), first}, func(scan func(...any) error) error {
		var c storage.SubjectCounts
		err := scan(&c.Subject.Tenant, &c.Subject.Biz, &c.Subject.BizID,
			&c.ReadCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount, &c.Version)
		out = append(out, c)
		return err
	})
	sqlstore.SortCounts(out)
	return out, err
}

func (t tx) settleFolders(by map[storage.FolderKey]int64) error {
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
