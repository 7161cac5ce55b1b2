package sqlstore

import (
	"maps"
	"slices"

	"ovation/storage"
)

// Authored is the author of a subject, as stored in the subject's row.
type Authored struct {
	AuthorID string
	Since    int64
	Likes    int64 // the subject's likes before the transaction changes them
	Deleted  bool  // the subject is marked as deleted
}

// Declare returns the declarations that change something. It adds to the tally the
// subjects of these declarations and the resulting changes to authors' totals. The
// declarations must be coalesced, and rows must hold the locked rows of the subjects. The
// declaration of a subject that the tally marks as deleted always takes effect: its version
// is raised above that of the latest declaration. A subject that is marked already gets no
// author, and is added to Refused.
func (t Tally) Declare(declared []storage.Action, rows map[storage.Subject]Authored) (changed []storage.Action) {
	for i := range declared {
		a := declared[i]
		before := rows[a.Subject]
		switch {
		case t.Deleted[a.Subject] > 0:
			a.Version = max(a.Version, before.Since+1)
		case before.Deleted && a.Author != "":
			t.Refused[a.Subject] = true
			continue
		}
		if a.Version < before.Since || a.Version == before.Since && a.Author == before.AuthorID {
			continue
		}
		changed = append(changed, a)
		t.subject(a.Subject)
		if a.Author != before.AuthorID {
			t.addWork(storage.User{Tenant: a.Subject.Tenant, UserID: before.AuthorID}, -1, before.Likes)
			t.addWork(storage.User{Tenant: a.Subject.Tenant, UserID: a.Author}, +1, before.Likes)
		}
	}
	return changed
}

// addWork adds a work with the given likes to an author's totals if by is 1, and removes
// the work if by is -1.
func (t Tally) addWork(author storage.User, by, likes int64) {
	if author.Anonymous() {
		return
	}
	totals := t.user(author)
	totals.Works += by
	totals.LikesReceived += by * likes
}

// AddLikesReceived adds to each author's totals the likes that the author receives, if
// LikesToAuthors is set. The parameter counts must hold the new counts of the subjects.
func (t Tally) AddLikesReceived(counts []storage.SubjectCounts) {
	for i := range counts {
		c := &counts[i]
		if by := t.Subjects[c.Subject]; t.LikesToAuthors && by != nil && by.LikeCount != 0 && c.AuthorID != "" {
			t.user(storage.User{Tenant: c.Subject.Tenant, UserID: c.AuthorID}).LikesReceived += by.LikeCount
		}
	}
}

// user returns the changes to a user's totals, for the caller to add to.
func (t Tally) user(u storage.User) *storage.UserTotals {
	totals := t.Users[u]
	if totals == nil {
		totals = new(storage.UserTotals)
		t.Users[u] = totals
	}
	return totals
}

// UserRows calls the function totals for each row of user_totals that changes, and the
// function comments for each row of user_comments that changes, in the order of
// CompareUsers. The arguments are the key of the row and the amounts by which its columns
// change.
func UserRows(users map[storage.User]*storage.UserTotals, totals, comments func(texts []string, numbers ...int64)) {
	for _, u := range slices.SortedFunc(maps.Keys(users), CompareUsers) {
		d := *users[u]
		if d.Comments != 0 {
			comments([]string{u.Tenant, u.UserID}, d.Comments)
		}
		if d.Comments = 0; d != (storage.UserTotals{}) {
			totals([]string{u.Tenant, u.UserID}, d.Likes, d.Following, d.Collections, d.Works, d.LikesReceived)
		}
	}
}

// AddComments adds the number of each user's new comments to the tally.
func (t Tally) AddComments(by map[storage.User]int64) {
	for u, n := range by {
		t.user(u).Comments += n
	}
}

// CommentTotals returns the changes to users' totals, given the change in the number of
// each user's comments.
func CommentTotals(by map[storage.User]int64) map[storage.User]*storage.UserTotals {
	out := make(map[storage.User]*storage.UserTotals, len(by))
	for u, n := range by {
		out[u] = &storage.UserTotals{Comments: n}
	}
	return out
}
