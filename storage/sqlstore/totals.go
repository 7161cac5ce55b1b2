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
	Likes    int64 // the subject's likes before the changes of the same transaction
}

// Declare returns the coalesced declarations that change something, given the locked rows
// of their subjects. It adds the subjects, and the changes of the authors' totals, to the
// tally.
func (t Tally) Declare(declared []storage.Action, rows map[storage.Subject]Authored) (changed []storage.Action) {
	for i := range declared {
		a := &declared[i]
		before := rows[a.Subject]
		if a.Version < before.Since || a.Version == before.Since && a.Author == before.AuthorID {
			continue
		}
		changed = append(changed, *a)
		t.subject(a.Subject)
		if a.Author != before.AuthorID {
			t.addWork(storage.User{Tenant: a.Subject.Tenant, UserID: before.AuthorID}, -1, before.Likes)
			t.addWork(storage.User{Tenant: a.Subject.Tenant, UserID: a.Author}, +1, before.Likes)
		}
	}
	return changed
}

// addWork adds a work with that many likes to an author's totals, or removes it if by is
// -1.
func (t Tally) addWork(author storage.User, by, likes int64) {
	if author.Anonymous() {
		return
	}
	totals := t.user(author)
	totals.Works += by
	totals.LikesReceived += by * likes
}

// AddLikesReceived adds to the totals of users the likes that the authors of the subjects
// receive, given the subjects' new counts.
func (t Tally) AddLikesReceived(counts []storage.SubjectCounts) {
	for i := range counts {
		c := &counts[i]
		if by := t.Subjects[c.Subject]; t.LikesToAuthors && by != nil && by.LikeCount != 0 && c.AuthorID != "" {
			t.user(storage.User{Tenant: c.Subject.Tenant, UserID: c.AuthorID}).LikesReceived += by.LikeCount
		}
	}
}

// user returns the changes of a user's totals, for the caller to add to.
func (t Tally) user(u storage.User) *storage.UserTotals {
	totals := t.Users[u]
	if totals == nil {
		totals = new(storage.UserTotals)
		t.Users[u] = totals
	}
	return totals
}

// UserRows calls totals for each user whose row of user_totals changes and comments for
// each user whose row of user_comments changes, with the columns of the row, in the order
// of CompareUsers.
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

// AddComments adds the numbers of new comments to the changes of users' totals.
func (t Tally) AddComments(by map[storage.User]int64) {
	for u, n := range by {
		t.user(u).Comments += n
	}
}

// CommentTotals returns the changes of users' totals that result from their numbers of
// new comments.
func CommentTotals(by map[storage.User]int64) map[storage.User]*storage.UserTotals {
	out := make(map[storage.User]*storage.UserTotals, len(by))
	for u, n := range by {
		out[u] = &storage.UserTotals{Comments: n}
	}
	return out
}
