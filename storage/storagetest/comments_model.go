package storagetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"ovation/storage"
)

// commentState is a store together with a map of the comments that the store must hold.
// Each run has a tenant of its own, so that all runs can share one database.
type commentState struct {
	*rapid.T

	w        *world
	tenant   string
	comments map[int64]*storage.Comment
	requests map[string]storage.NewComment
	added    map[string]int64          // by request
	likes    map[int64]map[string]bool // by comment and user id: whether the user likes the comment
	versions map[storage.Subject]int64
	marked   map[int64]bool // deleted comments whose subjects are marked
	acts     int64
}

// commentsModel applies the same random changes to the store and to the map.
func commentsModel(w *world) {
	run := 0
	rapid.Check(w.T, func(t *rapid.T) {
		run++
		m := &commentState{
			T: t, w: w, tenant: fmt.Sprintf("talk%d", run), comments: map[int64]*storage.Comment{},
			requests: map[string]storage.NewComment{}, added: map[string]int64{},
			likes: map[int64]map[string]bool{}, versions: map[storage.Subject]int64{}, marked: map[int64]bool{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":    func(*rapid.T) { m.add() },
			"addTo":  func(*rapid.T) { m.add() }, // so that comments are added twice as often
			"edit":   func(*rapid.T) { m.edit() },
			"delete": func(*rapid.T) { m.delete() },
			"like":   func(*rapid.T) { m.like() },
			"past":   func(*rapid.T) { m.past() },
			"sweep":  func(*rapid.T) { m.sweep() },
		})
		m.compare()
	})
	w.verified()
}

func (m *commentState) user() storage.User {
	return storage.User{Tenant: m.tenant, UserID: rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(m.T, "user")}
}

func (m *commentState) subjects() []storage.Subject {
	return []storage.Subject{{Tenant: m.tenant, Biz: "video", BizID: "1"}, {Tenant: m.tenant, Biz: "article", BizID: "1"}}
}

// any draws the id of a comment that was added, and perhaps deleted since, or an id that
// never existed.
func (m *commentState) any() int64 {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(m.comments)), 12345)).Draw(m.T, "comment")
}

// next checks that the version of a change is above the versions of all earlier changes
// to the subject's comments, and returns the version of the change.
func (m *commentState) next(of storage.Subject, version int64) int64 {
	if version <= m.versions[of] {
		m.Fatalf("version %d follows %d, want a higher one", version, m.versions[of])
	}
	m.versions[of] = version
	return version
}

// add adds some comments in one call, a few of them with a request id that was used
// before.
func (m *commentState) add() {
	asked := make([]storage.NewComment, rapid.IntRange(1, 4).Draw(m.T, "comments"))
	for i := range asked {
		c := storage.NewComment{Subject: rapid.SampledFrom(m.subjects()).Draw(m.T, "subject"), User: m.user(), Text: fmt.Sprint("text ", len(m.comments), i)}
		if rapid.Bool().Draw(m.T, "reply") {
			c.ParentID = m.any()
		}
		if rapid.Bool().Draw(m.T, "repeatable") {
			c.RequestID = strconv.Itoa(rapid.IntRange(0, 9).Draw(m.T, "request"))
			if before, ok := m.requests[c.User.UserID+c.RequestID]; ok && rapid.Bool().Draw(m.T, "again") {
				c = before
			}
		}
		asked[i] = c
	}
	got, err := m.w.s.AddComments(m.w.Context(), asked)
	if err != nil {
		m.Fatal(err)
	}
	for i, c := range asked {
		m.checkResult(c, got[i])
	}
}

// past adds comments that were written in a few different years. It determines their ids
// from the changes to each subject's comments, which it reads in the order of versions.
func (m *commentState) past() {
	m.acts++
	message := storage.Message{ID: fmt.Sprint(m.tenant, "-past-", m.acts), Comments: make([]storage.PastComment, rapid.IntRange(1, 4).Draw(m.T, "comments"))}
	since := maps.Clone(m.versions)
	for i := range message.Comments {
		at := time.Date(rapid.IntRange(2015, 2017).Draw(m.T, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
		message.Comments[i] = past(m.user(), rapid.SampledFrom(m.subjects()).Draw(m.T, "subject"), fmt.Sprint("past ", len(m.comments), i), at)
	}
	_, err := m.w.s.Persist(m.w.Context(), []storage.Message{message}, nil)
	m.want("Persist", err, nil)
	slices.SortStableFunc(message.Comments, func(a, b storage.PastComment) int { return cmp.Compare(a.At, b.At) })
	for _, s := range m.subjects() {
		got, err := m.w.s.CommentChanges(m.w.Context(), storage.CommentChangesQuery{Subject: s, Version: since[s], First: 10})
		m.want("CommentChanges", err, nil)
		for _, c := range message.Comments {
			if c.Subject != s {
				continue
			}
			if len(got) == 0 || m.comments[got[0].Number] != nil {
				m.Fatalf("persisting %+v: the changes left are %s, want it with a new id as the first", c, Text(got))
			}
			m.comments[got[0].Number] = &storage.Comment{
				Subject: s, Number: got[0].Number, User: c.User, Text: c.Text, Created: c.At, Version: m.next(s, got[0].Version),
			}
			got = got[1:]
		}
		m.equal("other comments added", len(got), 0)
	}
}

// checkResult checks the result for one comment and records it.
func (m *commentState) checkResult(c storage.NewComment, got storage.AddedComment) {
	request := c.User.UserID + c.RequestID
	before, used := m.requests[request]
	parent := m.comments[c.ParentID]
	switch {
	case c.RequestID != "" && used && before != c:
		m.want(fmt.Sprintf("adding %+v", c), got.Err, storage.ErrInvalid)
	case c.RequestID != "" && used:
		if got.Err != nil || !got.Repeated || got.Comment.Number != m.added[request] {
			m.Fatalf("repeating %+v returned %s, want comment %d, repeated", c, Text(got), m.added[request])
		}
	case c.ParentID != 0 && (parent == nil || parent.Subject != c.Subject || parent.Deleted()):
		m.want(fmt.Sprintf("adding %+v", c), got.Err, storage.ErrNotFound)
	case c.ParentID != 0 && parent.ParentID != 0:
		m.want(fmt.Sprintf("adding %+v", c), got.Err, storage.ErrInvalid)
	default:
		if got.Err != nil || got.Repeated || m.comments[got.Comment.Number] != nil {
			m.Fatalf("adding %+v returned %s, want a new comment", c, Text(got))
		}
		added := &storage.Comment{
			Subject: c.Subject, Number: got.Comment.Number, ParentID: c.ParentID, User: c.User, Text: c.Text,
			Created: got.Comment.Created, Version: m.next(c.Subject, got.Comment.Version),
		}
		m.comments[added.Number] = added
		if parent != nil {
			parent.ReplyCount++
		}
		if c.RequestID != "" {
			m.requests[request], m.added[request] = c, added.Number
		}
	}
}

func (m *commentState) want(what string, err, want error) {
	if !errors.Is(err, want) {
		m.Fatalf("%s: got the error %v, want %v", what, err, want)
	}
}

func (m *commentState) equal(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		m.Fatalf("%s: got %s, want %s", what, Text(got), Text(want))
	}
}

// change draws a change and returns it with the comment to change, or with nil if the
// change is not allowed.
func (m *commentState) change() (storage.CommentChange, *storage.Comment) {
	c := storage.CommentChange{
		Key: storage.CommentKey{Tenant: m.tenant, CommentID: m.any()}, By: m.user(), Moderates: rapid.Bool().Draw(m.T, "moderates"),
	}
	of := m.comments[c.Key.CommentID]
	if of == nil || of.Deleted() || !c.Moderates && of.User != c.By {
		of = nil
	}
	return c, of
}

func (m *commentState) edit() {
	change, of := m.change()
	text := rapid.SampledFrom([]string{"one", "another"}).Draw(m.T, "text")
	got, err := m.w.s.EditComment(m.w.Context(), change, text)
	if of == nil {
		m.want("EditComment", err, storage.ErrNotFound)
		return
	}
	m.want("EditComment", err, nil)
	if of.Text != text {
		of.Text, of.Edited, of.Version = text, got.Edited, m.next(of.Subject, got.Version)
		if of.EditorID = change.By.UserID; change.By == of.User {
			of.EditorID = ""
		}
	}
	m.equal("the editor", got.EditorID, of.EditorID)
}

func (m *commentState) delete() {
	change, of := m.change()
	got, err := m.w.s.DeleteComment(m.w.Context(), change)
	if of == nil {
		m.want("DeleteComment", err, storage.ErrNotFound)
		return
	}
	m.want("DeleteComment", err, nil)
	of.Text, of.User.UserID, of.EditorID, of.DeletedAt, of.Version = "", "", "", got.DeletedAt, m.next(of.Subject, got.Version)
	if parent := m.comments[of.ParentID]; parent != nil {
		if parent.ReplyCount--; parent.Deleted() && parent.ReplyCount == 0 {
			parent.Version = m.next(of.Subject, m.w.commentCount(of.Subject).Version)
		}
	}
}

func (m *commentState) like() {
	id, user := m.any(), m.user()
	m.acts++
	reaction := storage.Reaction(rapid.IntRange(0, 2).Draw(m.T, "reaction"))
	key := storage.CommentKey{Tenant: m.tenant, CommentID: id}
	action := React(user, key.Subject(), reaction, m.acts)
	if _, err := m.w.s.Persist(m.w.Context(), []storage.Message{{ID: fmt.Sprint(m.tenant, "-", m.acts), Actions: []storage.Action{action}}}, nil); err != nil {
		m.Fatal(err)
	}
	if m.likes[id] == nil {
		m.likes[id] = map[string]bool{}
	}
	m.likes[id][user.UserID] = reaction == storage.Like && !m.marked[id]
}

// sweep sweeps the deleted comments, of this run and of others, until nothing is left.
func (m *commentState) sweep() {
	for {
		swept, _, err := m.w.s.SweepDeleted(m.w.Context(), 10, nil)
		m.want("SweepDeleted", err, nil)
		if swept.Subjects == 0 {
			break
		}
	}
	for id, c := range m.comments {
		if c.Deleted() {
			m.marked[id], m.likes[id] = true, nil
		}
	}
}

// compare compares the store's lists, counts and changes with the model.
func (m *commentState) compare() {
	for id, c := range m.comments {
		for _, likes := range m.likes[id] {
			if likes {
				c.LikeCount++
			}
		}
	}
	m.compareUsers()
	for _, s := range m.subjects() {
		var all []storage.Comment
		count := storage.CommentCount{Version: m.versions[s]}
		for _, c := range m.comments {
			if c.Subject == s {
				all = append(all, *c)
			}
			if c.Subject == s && !c.Deleted() {
				count.Comments++
			}
		}
		m.equal("counts", m.w.commentCount(s), count)
		slices.SortFunc(all, func(a, b storage.Comment) int { return cmp.Compare(a.Version, b.Version) })
		versions := make([]int64, 1, 1+len(all))
		for i := range all {
			versions = append(versions, all[i].Version)
		}
		after := rapid.SampledFrom(versions).Draw(m.T, "after")
		since := slices.DeleteFunc(slices.Clone(all), func(c storage.Comment) bool { return c.Version <= after })
		got, err := m.w.s.CommentChanges(m.w.Context(), storage.CommentChangesQuery{Subject: s, Version: after, First: len(all) + 1})
		m.want("CommentChanges", err, nil)
		m.equal("changes", append([]storage.Comment{}, got...), append([]storage.Comment{}, since...))
		m.compareLists(s, all)
	}
}

// compareUsers compares the list of each user's comments, and their number, with the
// model.
func (m *commentState) compareUsers() {
	for _, id := range []string{"alice", "bob", "carol"} {
		of := storage.User{Tenant: m.tenant, UserID: id}
		var all []storage.Comment
		for _, c := range m.comments {
			if c.User == of {
				all = append(all, *c)
			}
		}
		slices.SortFunc(all, func(a, b storage.Comment) int { return compareAge(b, a) })
		want := make([]string, 0, len(all))
		for i := range all {
			want = append(want, all[i].Text)
		}
		m.equal("comments of "+id, m.w.textsOfUser(of), want)
		totals, err := m.w.s.TotalsOf(m.w.Context(), []storage.User{of})
		m.want("TotalsOf", err, nil)
		m.equal("number of comments of "+id, totals[0].Comments, int64(len(want)))
	}
}

// compareAge orders comments by their times, to the millisecond, and then by id. It
// ignores finer differences, because within a millisecond, ids need not follow the time.
func compareAge(a, b storage.Comment) int {
	return cmp.Or(cmp.Compare(a.Created/1000, b.Created/1000), cmp.Compare(a.Number, b.Number))
}

func (m *commentState) compareLists(s storage.Subject, all []storage.Comment) {
	parents := make([]int64, 1+len(all)) // 0 is the parent of the comments that are not replies
	for i := range all {
		parents[1+i] = all[i].Number
	}
	for _, parent := range parents {
		for order, compare := range map[storage.CommentOrder]func(a, b storage.Comment) int{
			storage.Newest: func(a, b storage.Comment) int { return compareAge(b, a) },
			storage.Oldest: compareAge,
			storage.Top: func(a, b storage.Comment) int {
				return cmp.Or(cmp.Compare(b.LikeCount, a.LikeCount), compareAge(b, a))
			},
		} {
			var want []string
			listed := slices.DeleteFunc(slices.Clone(all), func(c storage.Comment) bool { return c.ParentID != parent || !c.Listed() })
			for _, c := range slices.SortedFunc(slices.Values(listed), compare) {
				want = append(want, c.Text)
			}
			m.equal("comments "+string(order), m.w.texts(storage.CommentsQuery{Subject: s, Parent: parent, Order: order}), want)
		}
	}
}
