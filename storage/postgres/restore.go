package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlstore"
)

// Restore merges an archive in one transaction. It locks ids of messages, owners of
// folders, accounts, states, the counts of comments, subjects, comments, totals, videos,
// mailboxes and conversations, in this order. An archive that holds elements of one field
// takes no lock that another transaction takes in another order.
func (s *Store) Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (outcome storage.Outcome, err error) {
	if err := part.Validate(); err != nil {
		return storage.Outcome{}, err
	}
	deleted := sqlstore.DeletedSubjects{}
	for {
		err := s.change(ctx, "restore", func(t *tx) error {
			outcome = storage.Outcome{}
			if err := t.restore(&outcome, part, deleted, storage.Micros(s.now())); err != nil {
				return err
			}
			return mirror.Mark(t.ctx, mark, &outcome)
		})
		switch {
		case err == nil:
			return outcome, nil
		case !deleted.Learn(err):
			return storage.Outcome{}, err
		}
	}
}

// restore is one attempt at Restore; see persist.
func (t *tx) restore(outcome *storage.Outcome, part *storage.Archive, deleted sqlstore.DeletedSubjects, now int64) (err error) {
	imports := make([]storage.Message, len(part.Imports))
	for i, id := range part.Imports {
		imports[i] = storage.Message{ID: id, Forever: true}
	}
	b := t.batch()
	epoch := pinEpoch(b)
	erased := lookUpErased(b, sqlstore.ArchivedUsers(part)...)
	receive(b, imports)
	lockOwners(b, sqlstore.Owners(part.Folders))
	folders := lockCollectionOwners(b, []storage.Message{{Actions: part.Actions}})
	if err := t.send(b); err != nil {
		return err
	}
	if outcome.Epoch, err = epoch.Enter(); err != nil {
		return err
	}
	part, outcome.Refused = erased.Exclude(part)
	if err := t.restoreAccounts(outcome, part.Accounts, now); err != nil {
		return err
	}
	if err := t.restoreFolders(part.Folders); err != nil {
		return err
	}
	actions := storage.Coalesce(part.Actions)
	deleted.Clear(actions)
	if err := sqlstore.ResolveFolders(actions, folders, t.fetchFolders); err != nil {
		return err
	}
	if err := t.restoreStates(outcome, sqlstore.SplitByKind(actions), part, now); err != nil {
		return err
	}
	if err := deleted.Check(actions, outcome.Counts); err != nil {
		return err
	}
	if err := t.restoreVideos(outcome, part.Videos, now); err != nil {
		return err
	}
	return t.restoreMessages(part.Messages, part.ReadMarks)
}

// restoreStates restores states, reads, comments and deleted subjects, and adjusts counts
// and totals. New counts begin with the current time as their version, so that no version
// is below one that another database has shown.
func (t *tx) restoreStates(outcome *storage.Outcome, of sqlstore.ByKind, part *storage.Archive, now int64) (err error) {
	if of.Reads, err = t.mergeReads(part.Reads); err != nil {
		return err
	}
	of.Events = t.events
	if outcome.Applied, err = t.apply(&of); err != nil {
		return err
	}
	t.events.States(outcome.Applied, 0)
	m, err := t.restoreComments(outcome, part.Comments)
	if err != nil {
		return err
	}
	tally := sqlstore.TallyOf(outcome.Applied, of)
	tally.FirstVersion = now
	tally.AddComments(m.CommentsByUser)
	already, err := t.deletedAmong(sqlstore.MarkedSubjects(part.Deleted))
	if err != nil {
		return err
	}
	declared := tally.MarkDeleted(part.Deleted, already, of.Authors)
	outcome.Counts, err = t.applyTally(tally, declared, nil, func(b *pgx.Batch) {
		queueDeleted(b, slices.SortedFunc(maps.Keys(tally.Deleted), sqlstore.CompareSubjects), now)
		queueDeleted(b, m.Gone, now)
	})
	return err
}

// deletedAmong returns those of the subjects that are marked as deleted.
func (t *tx) deletedAmong(subjects []storage.Subject) (sqlstore.DeletedSubjects, error) {
	found := sqlstore.DeletedSubjects{}
	if len(subjects) == 0 {
		return found, nil
	}
	b := t.batch()
	queueDeletedAmong(b, subjects, found)
	return found, t.send(b)
}

const (
	selectReadRows = `
SELECT k.ord, s.times, s.first_read, s.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT times, first_read, version FROM user_read s
    WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1 FOR UPDATE) s`

	// widenReads inserts nothing, because all the rows exist.
	widenReads = `
INSERT INTO user_read AS s (tenant, user_id, biz, biz_id, times, first_read, version)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, 1, k.first_read, k.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, first_read, version, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET
    first_read = least(s.first_read, excluded.first_read), version = greatest(s.version, excluded.version)`
)

// mergeReads returns the actions that restore reads, and writes what they do not. It locks
// the rows that exist.
func (t *tx) mergeReads(reads []storage.Read) ([]storage.Action, error) {
	if len(reads) == 0 {
		return nil, nil
	}
	reads = sqlstore.UniqueReads(reads)
	keys := sqlstore.ReadKeys(reads)
	stored := make(map[storage.StateKey]storage.Read, len(keys))
	b := t.batch()
	clears := lookUpClearsOf(b, slices.DeleteFunc(slices.Clone(keys), func(k storage.StateKey) bool { return k.User.Anonymous() }))
	b.Queue(selectReadRows, stateKeys(keys).args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var r storage.Read
		err := row.Scan(&i, &r.Times, &r.First, &r.Last)
		if err == nil {
			stored[keys[i-1]] = r
		}
		return err
	}))
	if err := t.send(b); err != nil {
		return nil, err
	}
	merged := sqlstore.MergeReads(reads, stored, clears)
	rows := newColumns(4, 2, len(merged.Widened))
	for _, r := range merged.Widened {
		rows.add([]string{r.User.Tenant, r.User.UserID, r.Subject.Biz, r.Subject.BizID}, r.First, r.Last)
	}
	b = t.batch()
	b.Queue(widenReads, rows.args()...)
	return merged.Added, t.send(b)
}

const (
	selectFoldersOf = `
SELECT f.tenant, f.user_id, f.folder_id, f.name, f.description, f.public, f.item_count, f.created, f.updated
FROM unnest($1::text[], $2::text[]) AS k (tenant, user_id)
JOIN folder f ON f.tenant = k.tenant AND f.user_id = k.user_id`

	restoreFolders = `
INSERT INTO folder AS f (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
SELECT k.tenant, k.user_id, k.folder_id, k.name, k.name_key, k.description, k.public = 1, 0, k.created, k.updated
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, folder_id, name, name_key, description, public, created, updated, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, folder_id) DO UPDATE SET name = excluded.name,
    name_key = CASE WHEN f.name = excluded.name THEN f.name_key ELSE excluded.name_key END,
    description = excluded.description, public = excluded.public, created = excluded.created, updated = excluded.updated`
)

// restoreFolders restores folders whose owners are locked.
func (t *tx) restoreFolders(folders []storage.Folder) error {
	if len(folders) == 0 {
		return nil
	}
	merge := sqlstore.NewFolderMerge()
	keys := make([]storage.FolderKey, len(folders))
	for i := range folders {
		keys[i] = folders[i].Key()
	}
	owners := slices.SortedFunc(maps.Keys(sqlstore.Owners(folders)), sqlstore.CompareUsers)
	b := t.batch()
	b.Queue(selectFoldersOf, userKeys(owners).args()...).Query(eachRow(func(row pgx.Rows) error {
		var f storage.Folder
		err := row.Scan(&f.Owner.Tenant, &f.Owner.UserID, &f.FolderID, &f.Name, &f.Description, &f.Public, &f.ItemCount, &f.Created, &f.Updated)
		merge.AddStored(f)
		return err
	}))
	known := lookUpFolders(b, keys)
	if err := t.send(b); err != nil {
		return err
	}
	merge.AddDeleted(known)
	rows := newColumns(6, 3, len(folders))
	for _, f := range merge.Merge(folders, t.events) {
		rows.add([]string{f.Owner.Tenant, f.Owner.UserID, f.FolderID, f.Name, storage.FolderNameKey(f.Name), f.Description},
			sqlstore.BoolToInt(f.Public), f.Created, f.Updated)
	}
	b = t.batch()
	b.Queue(restoreFolders, rows.args()...)
	return t.send(b)
}

// restoreComments locks the counts of comments and writes the comments. The caller queues
// those that are deleted for a sweep.
func (t *tx) restoreComments(outcome *storage.Outcome, comments []storage.Comment) (*sqlstore.CommentMerge, error) {
	m := sqlstore.NewCommentMerge(comments)
	if len(comments) == 0 {
		return m, nil
	}
	b := t.batch()
	queueCommentLookups(b, &m.CommentBatch)
	b.Queue(selectClock).QueryRow(func(row pgx.Row) error { return row.Scan(&m.Now) })
	if err := t.send(b); err != nil {
		return nil, err
	}
	m.Merge()
	m.Events(t.events)
	outcome.Refused = append(outcome.Refused, m.Refused...)
	b = t.batch()
	queueComments(b, &m.CommentBatch)
	updateComments(b, m.Changed)
	return m, t.send(b)
}

const (
	restoreAccountNames = `
INSERT INTO account_name (tenant, name_key, account_id)
SELECT k.tenant, k.name_key, k.account_id
FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k (tenant, name_key, account_id, ord)
WHERE NOT EXISTS (SELECT FROM account a WHERE a.tenant = k.tenant AND a.account_id = k.account_id)
ORDER BY k.ord
ON CONFLICT DO NOTHING`

	// restoreAccounts revokes the tokens of an account whose generation rises.
	restoreAccounts = `
INSERT INTO account AS a (tenant, account_id, name, name_key, password, avatar, background, signature, generation, revoked, created)
SELECT k.tenant, k.account_id, k.name, k.name_key, k.password, k.avatar, k.background, k.signature, k.generation,
    CASE WHEN k.generation > 1 THEN $11::bigint ELSE 0 END, k.created
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[])
    WITH ORDINALITY AS k (tenant, name, name_key, password, avatar, background, signature, account_id, generation, created, ord)
WHERE EXISTS (SELECT FROM account_name n WHERE n.tenant = k.tenant AND n.name_key = k.name_key AND n.account_id = k.account_id)
    OR EXISTS (SELECT FROM account o WHERE o.tenant = k.tenant AND o.account_id = k.account_id)
ORDER BY k.ord
ON CONFLICT (tenant, account_id) DO UPDATE SET generation = excluded.generation, revoked = $11 WHERE a.generation < excluded.generation`

	selectMissingAccounts = `
SELECT k.ord FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS k (tenant, account_id, ord)
WHERE NOT EXISTS (SELECT FROM account a WHERE a.tenant = k.tenant AND a.account_id = k.account_id)
ORDER BY k.ord`

	selectLastRevocation = `SELECT 1 + coalesce((SELECT max(revoked) FROM account WHERE revoked <> 0), 0)`
)

func (t *tx) restoreAccounts(outcome *storage.Outcome, accounts []storage.Account, now int64) error {
	if len(accounts) == 0 {
		return nil
	}
	names, rows, keys := newColumns(2, 1, len(accounts)), newColumns(7, 3, len(accounts)), newColumns(1, 1, len(accounts))
	for i := range accounts {
		a := &accounts[i]
		id, _ := a.User.AccountKey()
		names.add([]string{a.User.Tenant, a.NameKey}, id)
		rows.add([]string{a.User.Tenant, a.Name, a.NameKey, a.Password, a.Avatar, a.Background, a.Signature}, id, a.Generation, a.Created)
		keys.add([]string{a.User.Tenant}, id)
	}
	b := t.batch()
	b.Queue(restoreAccountNames, names.args()...)
	b.Queue(selectLastRevocation).QueryRow(func(row pgx.Row) error {
		last := int64(0)
		err := row.Scan(&last)
		now = max(now, last)
		return err
	})
	if err := t.send(b); err != nil {
		return err
	}
	b = t.batch()
	b.Queue(restoreAccounts, rows.args(now)...)
	b.Queue(selectMissingAccounts, keys.args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		err := row.Scan(&i)
		if err == nil {
			outcome.Refused = append(outcome.Refused, sqlstore.RefuseAccount(&accounts[i-1]))
		}
		return err
	}))
	return t.send(b)
}

const (
	// restoreVideos restores no video that is deleted.
	restoreVideos = `
INSERT INTO video (tenant, user_id, title, file, video_id, format, bytes, covered, cover_tries, cover_reason, cover_due, created)
SELECT k.tenant, k.user_id, k.title, k.file, k.video_id, k.format, k.bytes, k.covered = 1, 0, '', CASE WHEN k.covered = 1 THEN 0 ELSE $10::bigint END, k.created
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, title, file, video_id, format, bytes, covered, created, ord)
WHERE NOT EXISTS (SELECT FROM interactive i WHERE i.tenant = k.tenant AND i.biz = 'video' AND i.biz_id = k.video_id::text AND i.deleted > 0)
ORDER BY k.ord
ON CONFLICT DO NOTHING RETURNING video_id`

	selectOtherVideos = `
SELECT k.ord FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k (tenant, file, video_id, ord)
JOIN video v ON v.tenant = k.tenant AND v.video_id = k.video_id AND v.file <> k.file
ORDER BY k.ord`
)

func (t *tx) restoreVideos(outcome *storage.Outcome, videos []storage.Video, now int64) error {
	if len(videos) == 0 {
		return nil
	}
	rows, files := newColumns(4, 5, len(videos)), newColumns(2, 1, len(videos))
	for i := range videos {
		v := &videos[i]
		rows.add([]string{v.Author.Tenant, v.Author.UserID, v.Title, v.File}, v.Number, int64(v.Format), v.Bytes, sqlstore.BoolToInt(v.Covered), v.Created)
		files.add([]string{v.Author.Tenant, v.File}, v.Number)
	}
	b := t.batch()
	added := map[int64]bool{}
	b.Queue(restoreVideos, rows.args(now+storage.CoverEvery)...).Query(eachRow(func(row pgx.Rows) error {
		var id int64
		err := row.Scan(&id)
		added[id] = true
		return err
	}))
	b.Queue(selectOtherVideos, files.args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		err := row.Scan(&i)
		if err == nil {
			outcome.Refused = append(outcome.Refused, sqlstore.RefuseVideo(&videos[i-1]))
		}
		return err
	}))
	if err := t.send(b); err != nil {
		return err
	}
	sqlstore.RestoredVideos(t.events, videos, added)
	return nil
}
