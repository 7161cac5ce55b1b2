package sqlstore

import (
	"maps"
	"slices"
	"strings"

	"ovation/storage"
)

// ArchivedUsers returns the users whom an archive names, each once.
func ArchivedUsers(part *storage.Archive) []storage.User {
	named := map[storage.User]bool{}
	note := func(users ...storage.User) (drop bool) {
		for _, u := range users {
			if !u.Anonymous() {
				named[u] = true
			}
		}
		return false
	}
	filter(part, note)
	return slices.Collect(maps.Keys(named))
}

// Exclude returns the archive without the elements that name erased users, and a refusal
// for each of these users.
func (e ErasedUsers) Exclude(part *storage.Archive) (*storage.Archive, []storage.Refusal) {
	if len(e) == 0 {
		return part, nil
	}
	kept := filter(part, func(users ...storage.User) bool { return e.Refuse(users...) != nil })
	refused := make([]storage.Refusal, 0, len(e))
	for u := range e {
		refused = append(refused, storage.Refusal{What: "user", ID: u.UserID, Reason: "was erased, so nothing of or about this user is restored"})
	}
	slices.SortFunc(refused, func(a, b storage.Refusal) int { return strings.Compare(a.ID, b.ID) })
	return kept, refused
}

// filter returns an archive without the elements for whose users the function drop returns
// true.
func filter(part *storage.Archive, drop func(users ...storage.User) bool) *storage.Archive {
	return &storage.Archive{
		Accounts: without(part.Accounts, func(a *storage.Account) bool { return drop(a.User) }),
		Folders:  without(part.Folders, func(f *storage.Folder) bool { return drop(f.Owner) }),
		Deleted:  without(part.Deleted, func(d *storage.DeletedMark) bool { return drop(person(d.Subject)) }),
		Comments: without(part.Comments, func(c *storage.Comment) bool {
			return drop(c.User, person(c.Subject), storage.User{Tenant: c.Subject.Tenant, UserID: c.EditorID})
		}),
		Videos: without(part.Videos, func(v *storage.Video) bool { return drop(v.Author) }),
		Actions: without(part.Actions, func(a *storage.Action) bool {
			return drop(a.User, person(a.Subject), storage.User{Tenant: a.Subject.Tenant, UserID: a.Author})
		}),
		Reads:     without(part.Reads, func(r *storage.Read) bool { return drop(r.User, person(r.Subject)) }),
		Messages:  without(part.Messages, func(m *storage.DirectMessage) bool { return drop(m.From, m.To) }),
		ReadMarks: without(part.ReadMarks, func(m *storage.ReadMark) bool { return drop(m.Conversation.Owner, m.Conversation.With) }),
		Imports:   part.Imports,
	}
}

func without[E any](all []E, drop func(*E) bool) []E {
	var kept []E
	for i := range all {
		if !drop(&all[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept
}
