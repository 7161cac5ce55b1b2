package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// archiveList is one list of an export: the query of a tenant's rows, the condition that
// selects those of one user, and their order.
type archiveList struct {
	rows, ofUser, order string
	row                 func(*sqlstore.ArchiveWriter, func(...any) error) error
	only                scope
}

// scope states whether a list is part of the export of a tenant only, or of a user only.
type scope int

const (
	forAll scope = iota
	forTenants
	forUsers
)

const (
	archivedInteractive = ` FROM interactive WHERE tenant = ?1 AND `
	archivedComments    = `
SELECT biz, biz_id, comment_id, reply_to, user_id, text, created, edited, edited_by, deleted FROM comment WHERE tenant = ?1 AND `
	archivedMessages = `
SELECT user_low, user_high, message_id, from_low, text, created FROM message WHERE tenant = ?1`
	ofAccount      = ` AND account_id = ?2`
	ofUser         = ` AND user_id = ?2`
	byUserAndKey   = ` ORDER BY user_id, biz, biz_id`
	byConversation = ` ORDER BY user_low, user_high, message_id`
)

// archiveLists holds the lists in the order of storage.Archive. The user of an account is
// named by a number.
var archiveLists = []archiveList{
	{`
SELECT account_id, name, name_key, password, avatar, background, signature, generation, created FROM account
WHERE tenant = ?1 AND name <> ''`, ofAccount, ` ORDER BY account_id`, (*sqlstore.ArchiveWriter).Account, forAll},
	{
		`
SELECT user_id, folder_id, name, description, public, created, updated FROM folder WHERE tenant = ?1`,
		ofUser, ` ORDER BY user_id, folder_id <> 'default', folder_id`, (*sqlstore.ArchiveWriter).Folder, forAll,
	},
	{`
SELECT biz, biz_id, deleted, authored` + archivedInteractive + `deleted > 0`, ``, ` ORDER BY biz_id, biz`, (*sqlstore.ArchiveWriter).Deleted, forTenants},
	{archivedComments + `reply_to = 0`, ofUser + ` AND deleted = 0`, ` ORDER BY comment_id, biz_id`, (*sqlstore.ArchiveWriter).Comment, forAll},
	{archivedComments + `reply_to <> 0`, ofUser + ` AND deleted = 0`, ` ORDER BY comment_id, biz_id`, (*sqlstore.ArchiveWriter).Comment, forAll},
	{
		`
SELECT video_id, user_id, title, file, format, bytes, covered, created FROM video WHERE tenant = ?1`,
		ofUser, ` ORDER BY video_id`, (*sqlstore.ArchiveWriter).Video, forAll,
	},
	{
		`
SELECT biz, biz_id, author, authored` + archivedInteractive + `authored > 0 AND deleted = 0`,
		` AND author = ?2 AND author <> ''`, ` ORDER BY biz_id, biz`, (*sqlstore.ArchiveWriter).Author, forAll,
	},
	{
		`
SELECT user_id, biz, biz_id, state, version, unlike, undislike FROM user_reaction WHERE tenant = ?1`,
		ofUser, byUserAndKey, (*sqlstore.ArchiveWriter).Reaction, forAll,
	},
	{
		`
SELECT user_id, biz, biz_id, state, version FROM user_collection WHERE tenant = ?1`,
		ofUser, byUserAndKey, (*sqlstore.ArchiveWriter).Collection, forAll,
	},
	{
		`
SELECT user_id, biz, biz_id, state, version FROM user_follow WHERE tenant = ?1`,
		ofUser, byUserAndKey, (*sqlstore.ArchiveWriter).Follow, forAll,
	},
	{
		`
SELECT user_id, biz, biz_id, times, first_read, version FROM user_read WHERE tenant = ?1`,
		ofUser, byUserAndKey, (*sqlstore.ArchiveWriter).Read, forAll,
	},
	{archivedMessages, ` AND user_low = ?2`, byConversation, (*sqlstore.ArchiveWriter).Message, forAll},
	{archivedMessages, ` AND user_high = ?2`, byConversation, (*sqlstore.ArchiveWriter).Message, forUsers},
	{
		`
SELECT user_id, peer_id, read_to FROM conversation WHERE tenant = ?1 AND read_to > 0`,
		ofUser, ` ORDER BY user_id, peer_id`, (*sqlstore.ArchiveWriter).ReadMark, forAll,
	},
	{`
SELECT id FROM inbox WHERE persisted IS NULL AND ?1 <> ''`, ``, ` ORDER BY id`, (*sqlstore.ArchiveWriter).Import, forTenants},
}

// Export reads all lists in one transaction.
func (s *Store) Export(ctx context.Context, query storage.ArchiveQuery, each func(*storage.Archive) error) error {
	if err := query.Validate(); err != nil {
		return err
	}
	w := &sqlstore.ArchiveWriter{Tenant: query.Tenant, Each: each}
	return s.read(ctx, "export", func(t tx) error {
		for i := range archiveLists {
			if err := t.exportList(&archiveLists[i], query, w); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t tx) exportList(l *archiveList, query storage.ArchiveQuery, w *sqlstore.ArchiveWriter) error {
	text, args, wanted := l.query(query)
	if !wanted {
		return nil
	}
	if err := t.query(text, args, func(scan func(...any) error) error { return l.row(w, scan) }); err != nil {
		return err
	}
	return w.Flush()
}

// query returns the text and the arguments of a list, and whether the list is part of the
// export.
func (l *archiveList) query(of storage.ArchiveQuery) (text string, args []any, wanted bool) {
	switch {
	case of.UserID == "":
		return l.rows + l.order, []any{of.Tenant}, l.only != forUsers
	case l.only == forTenants:
		return "", nil, false
	}
	args = []any{of.Tenant, of.UserID}
	if l.ofUser == ofAccount {
		args[1], _ = storage.User(of).AccountKey() // no account has the key 0
	}
	return l.rows + l.ofUser + l.order, args, true
}
