package sqlite

import (
	"cmp"
	"maps"
	"slices"

	"ovation/storage"
)

// tally is by how much the counts of subjects move. Subjects in it get a new
// count version even if no count moves: a state behind the counts has changed.
type tally struct {
	subjects map[storage.Subject]*storage.Counts
	folders  map[storage.FolderKey]int64
}

func newTally() tally {
	return tally{map[storage.Subject]*storage.Counts{}, map[storage.FolderKey]int64{}}
}

// subject returns the counts to add to.
func (m tally) subject(s storage.Subject) *storage.Counts {
	counts := m.subjects[s]
	if counts == nil {
		counts = new(storage.Counts)
		m.subjects[s] = counts
	}
	return counts
}

// state adds what a changed state changes.
func (m tally) state(c *storage.StateChange) {
	if c.OldReaction == c.Reaction && c.OldFolderID == c.FolderID {
		return
	}
	counts := m.subject(c.Subject)
	m.reaction(counts, c.OldReaction, -1)
	m.reaction(counts, c.Reaction, +1)
	if c.OldFolderID != "" {
		counts.CollectCount--
		m.folders[storage.FolderKey{Owner: c.User, FolderID: c.OldFolderID}]--
	}
	if c.FolderID != "" {
		counts.CollectCount++
		m.folders[storage.FolderKey{Owner: c.User, FolderID: c.FolderID}]++
	}
}

func (m tally) reaction(counts *storage.Counts, r storage.Reaction, by int64) {
	switch r {
	case storage.Like:
		counts.LikeCount += by
	case storage.Dislike:
		counts.DislikeCount += by
	case storage.NoReaction:
	}
}

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
func (t tx) settle(by tally, first int64) ([]storage.SubjectCounts, error) {
	if err := t.settleFolders(by.folders); err != nil || len(by.subjects) == 0 {
		return nil, err
	}
	var rows tuples
	for _, s := range slices.SortedFunc(maps.Keys(by.subjects), bySubject) {
		c := by.subjects[s]
		rows.add([]string{s.Tenant, s.Biz, s.BizID}, c.ReadCount, c.LikeCount, c.DislikeCount, c.CollectCount)
	}
	out := make([]storage.SubjectCounts, 0, len(by.subjects))
	err := t.query(upsertCounts, []any{rows.json(), first}, func(scan func(...any) error) error {
		var c storage.SubjectCounts
		err := scan(&c.Subject.Tenant, &c.Subject.Biz, &c.Subject.BizID,
			&c.ReadCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount, &c.Version)
		out = append(out, c)
		return err
	})
	slices.SortFunc(out, func(a, b storage.SubjectCounts) int { return bySubject(a.Subject, b.Subject) })
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

func bySubject(a, b storage.Subject) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Biz, b.Biz), cmp.Compare(a.BizID, b.BizID))
}
