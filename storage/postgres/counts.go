package postgres

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// applyTally declares authors, and adjusts counts and totals. It returns the new counts
// of each changed subject and the current counts of the subjects of skipped messages,
// ordered by tenant, biz and bizId.
//
// The events of the transaction so far are logged while the subjects are locked.
//
// It takes one round trip, and one more if authors are declared. It locks subjects, then
// comments, then totals, and the rows of each table in the order of their keys. Every
// transaction locks totals last. The functions more queue statements that run just before
// the totals are locked.
func (t *tx) applyTally(
	by sqlstore.Tally, declared []storage.Action, skipped []storage.Message, more ...func(*pgx.Batch),
) ([]storage.SubjectCounts, error) {
	changed, err := t.declare(by, declared)
	if err != nil {
		return nil, err
	}
	b := t.batch()
	adjustItemCounts(b, by.Folders)
	setAuthors(b, changed, by.Deleted)
	var out []storage.SubjectCounts
	row := func(row pgx.Rows) error {
		out = append(out, storage.SubjectCounts{})
		c := &out[len(out)-1]
		return row.Scan(&c.Subject.Tenant, &c.Subject.Biz, &c.Subject.BizID,
			&c.ReadCount, &c.ReaderCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount, &c.FollowerCount, &c.AuthorID, &c.Deleted, &c.Version)
	}
	adjustCounts(b, by, row)
	lookUpCounts(b, sqlstore.UnchangedSubjects(skipped, by), row)
	setCommentLikes(b, slices.Collect(maps.Keys(by.Subjects)))
	for _, queue := range more {
		queue(b)
	}
	queueEvents(b, t.events)
	adjustTotals(b, by)
	if b.Len() == 0 {
		return nil, nil
	}
	if err := t.send(b); err != nil {
		return nil, err
	}
	sqlstore.SortCounts(out)
	return out, nil
}

const upsertCounts = `
INSERT INTO interactive AS i (tenant, biz, biz_id, read_count, reader_count, like_count, dislike_count, collect_count, follower_count, version)
SELECT k.tenant, k.biz, k.biz_id, k.reads, k.readers, k.likes, k.dislikes, k.collects, k.followers, $10::bigint
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
    WITH ORDINALITY AS k (tenant, biz, biz_id, reads, readers, likes, dislikes, collects, followers, ord)
ORDER BY k.ord
ON CONFLICT (tenant, biz_id, biz) DO UPDATE SET
    read_count = i.read_count + excluded.read_count,
    reader_count = i.reader_count + excluded.reader_count,
    like_count = i.like_count + excluded.like_count,
    dislike_count = i.dislike_count + excluded.dislike_count,
    collect_count = i.collect_count + excluded.collect_count,
    follower_count = i.follower_count + excluded.follower_count,
    version = CASE WHEN i.version = 0 THEN excluded.version ELSE i.version + 1 END
RETURNING tenant, biz, biz_id, read_count, reader_count, like_count, dislike_count, collect_count, follower_count, author, deleted > 0, version`

func adjustCounts(b *pgx.Batch, by sqlstore.Tally, row func(pgx.Rows) error) {
	if len(by.Subjects) == 0 {
		return
	}
	rows := newColumns(3, 6, len(by.Subjects))
	for _, s := range by.Sorted() {
		c := by.Subjects[s]
		rows.add([]string{s.Tenant, s.Biz, s.BizID}, c.ReadCount, c.ReaderCount, c.LikeCount, c.DislikeCount, c.CollectCount, c.FollowerCount)
	}
	b.Queue(upsertCounts, rows.args(by.FirstVersion)...).Query(eachRow(row))
}

const selectPresentCounts = `
SELECT i.tenant, i.biz, i.biz_id, i.read_count, i.reader_count, i.like_count, i.dislike_count, i.collect_count, i.follower_count, i.author, i.deleted > 0, i.version
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, biz, biz_id)
CROSS JOIN LATERAL (SELECT tenant, biz, biz_id, read_count, reader_count, like_count, dislike_count, collect_count, follower_count, author, deleted, version FROM interactive i
    WHERE i.tenant = k.tenant AND i.biz = k.biz AND i.biz_id = k.biz_id LIMIT 1) i`

// lookUpCounts queues a lookup of the counts of subjects. The lookup calls the function
// row for each row of the result.
func lookUpCounts(b *pgx.Batch, subjects []storage.Subject, row func(pgx.Rows) error) {
	if len(subjects) == 0 {
		return
	}
	keys := newColumns(3, 0, len(subjects))
	for _, s := range subjects {
		keys.add([]string{s.Tenant, s.Biz, s.BizID})
	}
	b.Queue(selectPresentCounts, keys.args()...).Query(eachRow(row))
}

// updateItemCounts inserts nothing, because all the folders exist. Unlike an UPDATE, it
// always finds each folder by its key.
const updateItemCounts = `
INSERT INTO folder AS f (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
SELECT o.tenant, o.user_id, o.folder_id, o.name, o.name_key, o.description, o.public, k.items, o.created, o.updated
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS k (tenant, user_id, folder_id, items)
CROSS JOIN LATERAL (
    SELECT tenant, user_id, folder_id, name, name_key, description, public, created, updated FROM folder o
    WHERE o.tenant = k.tenant AND o.user_id = k.user_id AND o.folder_id = k.folder_id LIMIT 1) o
ON CONFLICT (tenant, user_id, folder_id) DO UPDATE SET item_count = f.item_count + excluded.item_count`

// adjustItemCounts queues a statement that adjusts the item counts of folders. The caller
// must have locked the owners of the folders.
func adjustItemCounts(b *pgx.Batch, by map[storage.FolderKey]int64) {
	if len(by) == 0 {
		return
	}
	rows := newColumns(3, 1, len(by))
	for k, n := range by {
		rows.add([]string{k.Owner.Tenant, k.Owner.UserID, k.FolderID}, n)
	}
	b.Queue(updateItemCounts, rows.args()...)
}
