package sqlite

import (
	"context"
	"maps"
	"slices"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// Restore merges an archive in one transaction. The number of statements depends on the
// number of changed comments and of conversations that are numbered anew, but not on the
// number of other elements.
func (s *Store) Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (outcome storage.Outcome, err error) {
	if err := part.Validate(); err != nil {
		return storage.Outcome{}, err
	}
	deleted := sqlstore.DeletedSubjects{}
	for {
		err := s.write(ctx, "restore", func(t tx) error {
			outcome = storage.Outcome{}
			if err := t.restore(&outcome, part, deleted, storage.Micros(s.now())); err != nil {
				return err
			}
			return callMark(ctx, mark, outcome)
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
func (t tx) restore(outcome *storage.Outcome, part *storage.Archive, deleted sqlstore.DeletedSubjects, now int64) error {
	erased, err := t.erased(sqlstore.ArchivedUsers(part)...)
	if err != nil {
		return err
	}
	part, outcome.Refused = erased.Exclude(part)
	var imports tuples
	for _, id := range part.Imports {
		imports.add([]string{id}, 0)
	}
	if _, err := t.exec(insertInbox, imports.json()); err != nil {
		return err
	}
	if err := t.restoreAccounts(outcome, part.Accounts, now); err != nil {
		return err
	}
	if err := t.restoreFolders(part.Folders); err != nil {
		return err
	}
	received := sqlstore.NewAndSkipped{Actions: storage.Coalesce(part.Actions)}
	deleted.Clear(received.Actions)
	if err := t.restoreStates(outcome, received, part, now); err != nil {
		return err
	}
	if err := deleted.Check(received.Actions, outcome.Counts); err != nil {
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
func (t tx) restoreStates(outcome *storage.Outcome, received sqlstore.NewAndSkipped, part *storage.Archive, now int64) error {
	of := sqlstore.SplitByKind(received.Actions)
	of.Events = t.events
	changes, err := t.react(of.Reactions)
	if err != nil {
		return err
	}
	moves, err := t.collect(of.Collections)
	if err != nil {
		return err
	}
	if of.Reads, err = t.mergeReads(part.Reads); err != nil {
		return err
	}
	if err := t.addReads(&of); err != nil {
		return err
	}
	follows, err := t.follow(of.Follows)
	if err != nil {
		return err
	}
	outcome.Applied = slices.Concat(changes, moves, follows)
	t.events.States(outcome.Applied, 0)
	marks, already := sqlstore.MarkedSubjects(part.Deleted), sqlstore.DeletedSubjects{}
	if err := t.deleted(marks, func(i int) { already[marks[i]] = true }); err != nil {
		return err
	}
	writers, err := t.restoreComments(outcome, part.Comments, now)
	if err != nil {
		return err
	}
	tally := sqlstore.TallyOf(outcome.Applied, of)
	tally.FirstVersion = now
	tally.AddComments(writers)
	declared := tally.MarkDeleted(part.Deleted, already, of.Authors)
	if err := t.queueDeleted(slices.Collect(maps.Keys(tally.Deleted)), now); err != nil {
		return err
	}
	outcome.Counts, err = t.applyTally(tally, declared)
	return err
}

const (
	selectReadRows = `
SELECT k.key, s.times, s.first_read, s.version FROM jsonb_each(?) k CROSS JOIN user_read s
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.biz = k.value ->> 2 AND s.biz_id = k.value ->> 3`

	// widenReads inserts nothing, because all the rows exist.
	widenReads = `
INSERT INTO user_read AS s (tenant, user_id, biz, biz_id, times, first_read, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, 1, value ->> 4, value ->> 5 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET first_read = min(s.first_read, excluded.first_read), version = max(s.version, excluded.version)`
)

// mergeReads returns the actions that restore reads, and writes what they do not.
func (t tx) mergeReads(reads []storage.Read) ([]storage.Action, error) {
	if len(reads) == 0 {
		return nil, nil
	}
	reads = sqlstore.UniqueReads(reads)
	keys := sqlstore.ReadKeys(reads)
	clears, err := t.clears(keys)
	if err != nil {
		return nil, err
	}
	stored := make(map[storage.StateKey]storage.Read, len(keys))
	err = t.query(selectReadRows, []any{stateKeys(keys)}, func(scan func(...any) error) error {
		var i int
		var r storage.Read
		err := scan(&i, &r.Times, &r.First, &r.Last)
		stored[keys[i]] = r
		return err
	})
	if err != nil {
		return nil, err
	}
	merged := sqlstore.MergeReads(reads, stored, clears)
	var rows tuples
	for _, r := range merged.Widened {
		rows.add([]string{r.User.Tenant, r.User.UserID, r.Subject.Biz, r.Subject.BizID}, r.First, r.Last)
	}
	_, err = t.exec(widenReads, rows.json())
	return merged.Added, err
}

const (
	selectFoldersOf = `
SELECT f.tenant, f.user_id, f.folder_id, f.name, f.description, f.public, f.item_count, f.created, f.updated
FROM jsonb_each(?) k CROSS JOIN folder f WHERE f.tenant = k.value ->> 0 AND f.user_id = k.value ->> 1`

	restoreFolders = `
INSERT INTO folder AS f (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, 0, value ->> 7, value ->> 8
FROM jsonb_each(?) WHERE true
ON CONFLICT (tenant, user_id, folder_id) DO UPDATE SET name = excluded.name, name_key = iif(f.name = excluded.name, f.name_key, excluded.name_key),
    description = excluded.description, public = excluded.public, created = excluded.created, updated = excluded.updated`
)

func (t tx) restoreFolders(folders []storage.Folder) error {
	if len(folders) == 0 {
		return nil
	}
	merge := sqlstore.NewFolderMerge()
	users := sqlstore.Owners(folders)
	owners := slices.SortedFunc(maps.Keys(users), sqlstore.CompareUsers)
	err := t.query(selectFoldersOf, []any{userKeys(owners).json()}, func(scan func(...any) error) error {
		var f storage.Folder
		err := scan(&f.Owner.Tenant, &f.Owner.UserID, &f.FolderID, &f.Name, &f.Description, &f.Public, &f.ItemCount, &f.Created, &f.Updated)
		merge.AddStored(f)
		return err
	})
	if err != nil {
		return err
	}
	var keys []storage.FolderKey
	for i := range folders {
		keys = append(keys, folders[i].Key())
	}
	known, err := t.lookUpFolders(keys)
	if err != nil {
		return err
	}
	merge.AddDeleted(known)
	var rows tuples
	for _, f := range merge.Merge(folders, t.events) {
		rows.add([]string{f.Owner.Tenant, f.Owner.UserID, f.FolderID, f.Name, storage.FolderNameKey(f.Name), f.Description},
			sqlstore.BoolToInt(f.Public), f.Created, f.Updated)
	}
	if _, err = t.exec(restoreFolders, rows.json()); err != nil {
		return err
	}
	return t.createDefaultFolders(users)
}

// restoreComments returns by how much the number of each user's comments changes.
func (t tx) restoreComments(outcome *storage.Outcome, comments []storage.Comment, now int64) (map[storage.User]int64, error) {
	if len(comments) == 0 {
		return nil, nil //nolint:nilnil // none changes
	}
	m := sqlstore.NewCommentMerge(comments)
	if err := t.lookUpComments(&m.CommentBatch, now); err != nil {
		return nil, err
	}
	m.Merge()
	m.Events(t.events)
	outcome.Refused = append(outcome.Refused, m.Refused...)
	if err := t.writeComments(&m.CommentBatch, now); err != nil {
		return nil, err
	}
	for _, c := range m.Changed {
		if err := t.updateComment(c); err != nil {
			return nil, err
		}
	}
	if err := t.setCommentCounts(m.CountChanges); err != nil {
		return nil, err
	}
	return m.CommentsByUser, t.queueDeleted(m.Gone, now)
}

const (
	restoreAccountNames = `
INSERT INTO account_name (tenant, name_key, account_id)
SELECT value ->> 0, value ->> 2, value ->> 7 FROM jsonb_each(?)
WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.tenant = value ->> 0 AND a.account_id = value ->> 7)
ON CONFLICT DO NOTHING`

	// restoreAccounts revokes the tokens of an account whose generation rises.
	restoreAccounts = `
INSERT INTO account AS a (tenant, account_id, name, name_key, password, avatar, background, signature, generation, revoked, created)
SELECT value ->> 0, value ->> 7, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 8, iif(value ->> 8 > 1, ?2, 0), value ->> 9
FROM jsonb_each(?1)
WHERE EXISTS (SELECT 1 FROM account_name n WHERE n.tenant = value ->> 0 AND n.name_key = value ->> 2 AND n.account_id = value ->> 7)
    OR EXISTS (SELECT 1 FROM account o WHERE o.tenant = value ->> 0 AND o.account_id = value ->> 7)
ON CONFLICT (tenant, account_id) DO UPDATE SET generation = excluded.generation, revoked = ?2 WHERE a.generation < excluded.generation`

	selectMissingAccounts = `
SELECT k.key FROM jsonb_each(?) k
WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.tenant = k.value ->> 0 AND a.account_id = k.value ->> 7)`

	selectLastRevocation = `SELECT 1 + coalesce((SELECT max(revoked) FROM account WHERE revoked <> 0), 0)`
)

func (t tx) restoreAccounts(outcome *storage.Outcome, accounts []storage.Account, now int64) error {
	if len(accounts) == 0 {
		return nil
	}
	var rows tuples
	for i := range accounts {
		a := &accounts[i]
		id, _ := a.User.AccountKey()
		rows.add([]string{a.User.Tenant, a.Name, a.NameKey, a.Password, a.Avatar, a.Background, a.Signature}, id, a.Generation, a.Created)
	}
	all, last := rows.json(), int64(0)
	if err := t.query(selectLastRevocation, nil, func(scan func(...any) error) error { return scan(&last) }); err != nil {
		return err
	}
	if _, err := t.exec(restoreAccountNames, all); err != nil {
		return err
	}
	if _, err := t.exec(restoreAccounts, all, max(now, last)); err != nil {
		return err
	}
	return t.query(selectMissingAccounts, []any{all}, func(scan func(...any) error) error {
		var i int
		err := scan(&i)
		outcome.Refused = append(outcome.Refused, sqlstore.RefuseAccount(&accounts[i]))
		return err
	})
}

const (
	// restoreVideos restores no video that is deleted.
	restoreVideos = `
INSERT INTO video (tenant, user_id, title, file, video_id, format, bytes, covered, cover_tries, cover_reason, cover_due, created)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, 0, '', iif(value ->> 7, 0, ?2), value ->> 8
FROM jsonb_each(?1)
WHERE NOT EXISTS (SELECT 1 FROM interactive i
    WHERE i.tenant = value ->> 0 AND i.biz = 'video' AND i.biz_id = CAST(value ->> 4 AS TEXT) AND i.deleted > 0)
ON CONFLICT DO NOTHING RETURNING video_id`

	selectOtherVideos = `
SELECT k.key FROM jsonb_each(?) k CROSS JOIN video v WHERE v.tenant = k.value ->> 0 AND v.video_id = k.value ->> 4 AND v.file <> k.value ->> 3`

	raiseVideoNumber = `
INSERT INTO video_number AS n (tenant, latest) SELECT value ->> 0, max(value ->> 4) FROM jsonb_each(?) WHERE true GROUP BY 1
ON CONFLICT DO UPDATE SET latest = max(n.latest, excluded.latest)`
)

func (t tx) restoreVideos(outcome *storage.Outcome, videos []storage.Video, now int64) error {
	if len(videos) == 0 {
		return nil
	}
	var rows tuples
	for i := range videos {
		v := &videos[i]
		rows.add([]string{v.Author.Tenant, v.Author.UserID, v.Title, v.File}, v.Number, int64(v.Format), v.Bytes, sqlstore.BoolToInt(v.Covered), v.Created)
	}
	all := rows.json()
	added := map[int64]bool{}
	if err := t.query(restoreVideos, []any{all, now + storage.CoverEvery}, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		added[id] = true
		return err
	}); err != nil {
		return err
	}
	sqlstore.RestoredVideos(t.events, videos, added)
	if _, err := t.exec(raiseVideoNumber, all); err != nil {
		return err
	}
	return t.query(selectOtherVideos, []any{all}, func(scan func(...any) error) error {
		var i int
		err := scan(&i)
		outcome.Refused = append(outcome.Refused, sqlstore.RefuseVideo(&videos[i]))
		return err
	})
}

const (
	selectLatestOf = `
SELECT k.key, (SELECT max(message_id) FROM message m
    WHERE m.tenant = k.value ->> 0 AND m.user_low = k.value ->> 1 AND m.user_high = k.value ->> 2) AS latest
FROM jsonb_each(?) k WHERE latest IS NOT NULL`

	selectMessageKeys = `
SELECT k.key FROM jsonb_each(?) k CROSS JOIN message m
WHERE m.tenant = k.value ->> 0 AND m.user_low = k.value ->> 1 AND m.user_high = k.value ->> 2 AND m.message_id = k.value ->> 3`

	// recountConversations raises read marks, and sets the latest message and the number of
	// unread messages as updateRead does. A conversation without messages stays missing.
	recountConversations = `
INSERT INTO conversation AS c (tenant, user_id, peer_id, latest, unread, read_to)
SELECT s.tenant, s.user_id, s.peer_id, s.latest, s.received - coalesce((
    SELECT iif(s.from_low, m.low_sent, m.high_sent) FROM message m
    WHERE m.tenant = s.tenant AND m.user_low = s.user_low AND m.user_high = s.user_high AND m.message_id <= s.read_to
    ORDER BY m.message_id DESC LIMIT 1), 0), s.read_to
FROM (
    SELECT m.tenant, k.value ->> 1 AS user_id, k.value ->> 2 AS peer_id, m.user_low, m.user_high, k.value ->> 5 AS from_low,
        m.message_id AS latest, iif(k.value ->> 5, m.low_sent, m.high_sent) AS received,
        min(m.message_id, max(k.value ->> 6, coalesce((SELECT read_to FROM conversation o
            WHERE o.tenant = k.value ->> 0 AND o.user_id = k.value ->> 1 AND o.peer_id = k.value ->> 2), 0))) AS read_to
    FROM jsonb_each(?) k CROSS JOIN message m
    WHERE m.tenant = k.value ->> 0 AND m.user_low = k.value ->> 3 AND m.user_high = k.value ->> 4
        AND m.message_id = (SELECT max(message_id) FROM message x
            WHERE x.tenant = k.value ->> 0 AND x.user_low = k.value ->> 3 AND x.user_high = k.value ->> 4)) s
WHERE true
ON CONFLICT DO UPDATE SET latest = excluded.latest, unread = excluded.unread, read_to = excluded.read_to`
)

func (t tx) restoreMessages(messages []storage.DirectMessage, marks []storage.ReadMark) error {
	if len(messages)+len(marks) == 0 {
		return nil
	}
	m := sqlstore.NewMessageMerge(messages, marks)
	if err := t.lookUpMerged(m); err != nil {
		return err
	}
	m.Merge()
	if err := t.writeMessages(&m.MessageBatch, 0); err != nil {
		return err
	}
	for _, pair := range m.Renumber {
		if _, err := t.exec(numberMessages, pair.Low.Tenant, pair.Low.UserID, pair.High.UserID); err != nil {
			return err
		}
	}
	var rows tuples
	for _, r := range m.Marks(marks) {
		key := r.Conversation
		pair := sqlstore.PairOf(key)
		rows.add([]string{key.Owner.Tenant, key.Owner.UserID, key.With.UserID, pair.Low.UserID, pair.High.UserID},
			sqlstore.BoolToInt(pair.Low == key.With), r.UpTo)
	}
	_, err := t.exec(recountConversations, rows.json())
	return err
}

// lookUpMerged fills in the existing rows that a merge needs.
func (t tx) lookUpMerged(m *sqlstore.MessageMerge) error {
	if err := t.mailboxes(m.Users, func(i int, latest int64) { m.Latest[m.Users[i]] = latest }); err != nil {
		return err
	}
	var pairs, keys tuples
	for _, p := range m.Pairs {
		pairs.add([]string{p.Low.Tenant, p.Low.UserID, p.High.UserID})
	}
	if err := t.query(selectLatestOf, []any{pairs.json()}, func(scan func(...any) error) error {
		var i int
		var latest int64
		err := scan(&i, &latest)
		m.LatestOf[m.Pairs[i]] = latest
		return err
	}); err != nil {
		return err
	}
	for _, k := range m.Keys {
		keys.add([]string{k.Pair.Low.Tenant, k.Pair.Low.UserID, k.Pair.High.UserID}, k.Number)
	}
	return t.query(selectMessageKeys, []any{keys.json()}, func(scan func(...any) error) error {
		var i int
		err := scan(&i)
		m.Stored[m.Keys[i]] = true
		return err
	})
}
