package sqlstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"ovation/storage"
)

// MergedReads is how reads of an archive change the stored ones.
type MergedReads struct {
	Added   []storage.Action // raise the number of times, in the order of CompareStateKeys
	Widened []storage.Read   // differ from stored reads only by the first or the last time, in the same order
}

// MergeReads merges reads, which must be unique. The parameter clears is that of
// ByKind.HideReads; reads that a clear covers are left out, because they were counted as
// those of the anonymous users when they were cleared. The parameter stored holds the rows
// that exist.
func MergeReads(reads []storage.Read, stored map[storage.StateKey]storage.Read, clears map[storage.StateKey]int64) (out MergedReads) {
	reads = slices.Clone(reads)
	slices.SortFunc(reads, func(x, y storage.Read) int { return CompareStateKeys(readKey(&x), readKey(&y)) })
	for _, r := range reads {
		if until := clears[readKey(&r)]; until > 0 && r.First <= until {
			if r.Last <= until {
				continue
			}
			r.Times, r.First = 1, r.Last
		}
		s, exists := stored[readKey(&r)]
		switch {
		case !exists, r.Times > s.Times:
			out.Added = append(out.Added, storage.Action{
				User: r.User, Subject: r.Subject, Kind: storage.KindRead, Times: r.Times - s.Times, First: r.First, Version: r.Last,
			})
		case r.First < s.First, r.Last > s.Last:
			out.Widened = append(out.Widened, r)
		}
	}
	return out
}

func readKey(r *storage.Read) storage.StateKey {
	return storage.StateKey{User: r.User, Subject: r.Subject}
}

// ReadKeys returns the keys of reads, in the order of CompareStateKeys.
func ReadKeys(reads []storage.Read) []storage.StateKey {
	keys := make([]storage.StateKey, len(reads))
	for i := range reads {
		keys[i] = readKey(&reads[i])
	}
	slices.SortFunc(keys, CompareStateKeys)
	return keys
}

// UniqueReads merges reads of the same user and subject, as Restore would one after
// another.
func UniqueReads(reads []storage.Read) []storage.Read {
	at := make(map[storage.StateKey]int, len(reads))
	out := make([]storage.Read, 0, len(reads))
	for i := range reads {
		key := readKey(&reads[i])
		j, known := at[key]
		if !known {
			at[key] = len(out)
			out = append(out, reads[i])
			continue
		}
		r := &out[j]
		r.Times, r.First, r.Last = max(r.Times, reads[i].Times), min(r.First, reads[i].First), max(r.Last, reads[i].Last)
	}
	return out
}

// FolderMerge merges folders of an archive into those of their owners. The store fills in
// Stored with all folders of the owners, and Deleted with the times at which folders of the
// archive were deleted.
type FolderMerge struct {
	Stored  map[storage.User]map[string]storage.Folder // by owner and id
	Deleted map[storage.FolderKey]int64
}

// Owners returns the owners of folders, each with the creation time of the default folder,
// if it is among them, or else of the user's first folder.
func Owners(folders []storage.Folder) map[storage.User]int64 {
	out := make(map[storage.User]int64)
	for i := range folders {
		f := &folders[i]
		if at, known := out[f.Owner]; !known || f.Created < at {
			out[f.Owner] = f.Created
		}
	}
	for i := range folders {
		if f := &folders[i]; f.Default() {
			out[f.Owner] = f.Created
		}
	}
	return out
}

// NewFolderMerge returns a merge with empty maps.
func NewFolderMerge() *FolderMerge {
	return &FolderMerge{Stored: map[storage.User]map[string]storage.Folder{}, Deleted: map[storage.FolderKey]int64{}}
}

// AddStored adds a folder that exists.
func (m *FolderMerge) AddStored(f storage.Folder) {
	if m.Stored[f.Owner] == nil {
		m.Stored[f.Owner] = map[string]storage.Folder{}
	}
	m.Stored[f.Owner][f.FolderID] = f
}

// AddDeleted adds the records of deleted folders.
func (m *FolderMerge) AddDeleted(known *FolderIndex) {
	for key, d := range known.Deleted {
		m.Deleted[key] = d.Version
	}
}

// Merge returns the folders to write, and adds their events.
func (m *FolderMerge) Merge(folders []storage.Folder, events *Events) []storage.Folder {
	var out []storage.Folder
	for _, f := range folders {
		if m.Deleted[f.Key()] > f.Updated {
			continue
		}
		stored, exists := m.Stored[f.Owner][f.FolderID]
		if exists {
			f.Created = min(f.Created, stored.Created)
			if f.Updated <= stored.Updated {
				if f.Created == stored.Created {
					continue
				}
				f.Name, f.Description, f.Public, f.Updated = stored.Name, stored.Description, stored.Public, stored.Updated
			}
		}
		if !exists || f.Name != stored.Name {
			f.Name = m.freeName(f)
		}
		if exists {
			events.Folder(storage.EventFolderUpdated, f.Key(), f.Updated)
		} else {
			events.Folder(storage.EventFolderCreated, f.Key(), f.Created)
		}
		m.AddStored(f)
		out = append(out, f)
	}
	return out
}

// freeName returns the name of a folder, with a number after it if another folder of the
// user has that name.
func (m *FolderMerge) freeName(f storage.Folder) string {
	taken := make(map[string]bool)
	for id, other := range m.Stored[f.Owner] {
		if id != f.FolderID {
			taken[storage.FolderNameKey(other.Name)] = true
		}
	}
	name := f.Name
	for n := 2; taken[storage.FolderNameKey(name)]; n++ {
		suffix := fmt.Sprintf(" (%d)", n)
		kept := []rune(f.Name)
		name = string(kept[:min(len(kept), storage.MaxFolderNameRunes-utf8.RuneCountInString(suffix))]) + suffix
	}
	return name
}

// CommentMerge merges comments of an archive. The store locks the counts of Subjects,
// fills in Now, Counts, Comments (those of Keys) and Deleted, calls Merge, and writes what
// Merge has added.
type CommentMerge struct {
	CommentBatch

	// Changed holds the comments to update, in the order of CompareComments.
	Changed []*storage.Comment
	// Gone holds the comments that are deleted, as subjects, to be queued for a sweep.
	Gone    []storage.Subject
	Refused []storage.Refusal

	before map[storage.CommentKey]storage.Comment // the comments that are edited or deleted

	archived []storage.Comment
	added    map[storage.CommentKey]bool
	changed  map[storage.CommentKey]bool
}

// NewCommentMerge returns a merge of comments.
func NewCommentMerge(comments []storage.Comment) *CommentMerge {
	m := &CommentMerge{
		CommentBatch: *NewCommentBatch(nil), archived: slices.Clone(comments),
		added: map[storage.CommentKey]bool{}, changed: map[storage.CommentKey]bool{},
		before: map[storage.CommentKey]storage.Comment{},
	}
	slices.SortStableFunc(m.archived, func(x, y storage.Comment) int {
		return cmp.Or(cmp.Compare(BoolToInt(x.ParentID != 0), BoolToInt(y.ParentID != 0)), CompareComments(x.Key(), y.Key()))
	})
	subjects, keys := map[storage.Subject]bool{}, map[storage.CommentKey]bool{}
	for i := range m.archived {
		c := &m.archived[i]
		subjects[c.Subject], keys[c.Key()] = true, true
		if c.ParentID != 0 {
			keys[c.ParentKey()] = true
		}
	}
	m.Subjects = slices.SortedFunc(maps.Keys(subjects), CompareSubjects)
	m.Parents = slices.SortedFunc(maps.Keys(keys), CompareComments)
	return m
}

// Merge determines what to write.
func (m *CommentMerge) Merge() {
	for i := range m.archived {
		c := m.archived[i]
		stored := m.Comments[c.Key()]
		switch {
		case m.Deleted[c.Subject]: // its comments were, or will be, deleted
		case stored == nil:
			m.insert(&c)
		case stored.Subject != c.Subject, stored.ParentID != c.ParentID, stored.Created != c.Created,
			!stored.Deleted() && !c.Deleted() && stored.User != c.User:
			m.refuse(&c, "is not the comment that has this id here")
		case stored.Deleted():
		case c.Deleted():
			m.before[c.Key()] = *stored
			m.remove(stored, c.DeletedAt)
		case c.Edited > stored.Edited:
			m.before[c.Key()] = *stored
			stored.Text, stored.Edited, stored.EditorID, stored.Version = c.Text, c.Edited, c.EditorID, m.bump(c.Subject, 0)
			m.changed[c.Key()] = true
		}
	}
	for key := range m.changed {
		if !m.added[key] {
			m.Changed = append(m.Changed, m.Comments[key])
		}
	}
	slices.SortFunc(m.Changed, func(x, y *storage.Comment) int { return CompareComments(x.Key(), y.Key()) })
	slices.SortFunc(m.Added, func(x, y *storage.Comment) int { return CompareComments(x.Key(), y.Key()) })
}

// Events adds the events of the comments.
func (m *CommentMerge) Events(to *Events) {
	for _, c := range m.Added {
		if !c.Deleted() {
			to.Comments(storage.EventCommented, []*storage.Comment{c}, 0)
		}
	}
	for _, c := range m.Changed {
		if before, changed := m.before[c.Key()]; changed && to != nil {
			to.CommentChange(&before, c)
		}
	}
}

func (m *CommentMerge) refuse(c *storage.Comment, reason string) {
	m.Refused = append(m.Refused, storage.Refusal{What: "comment", ID: c.CommentID(), Reason: reason})
}

// bump returns the next version of a subject's comments, whose number changes by by.
func (m *CommentMerge) bump(s storage.Subject, by int64) int64 {
	counts := m.Counts[s]
	counts.Comments += by
	counts.Version = nextVersion(counts.Version, m.Now)
	m.Counts[s], m.CountChanges[s] = counts, counts
	return counts.Version
}

func (m *CommentMerge) insert(c *storage.Comment) {
	parent := m.Comments[c.ParentKey()]
	if c.ParentID != 0 && (parent == nil || parent.Subject != c.Subject || parent.ParentID != 0) {
		m.refuse(c, "is a reply to "+c.ParentKey().Subject().BizID+", which is not here")
		return
	}
	c.LikeCount, c.ReplyCount = 0, 0
	if c.Deleted() {
		c.Version = m.bump(c.Subject, 0)
		m.Gone = append(m.Gone, c.Key().Subject())
	} else {
		c.Version = m.bump(c.Subject, 1)
		m.CommentsByUser[c.User]++
		m.reply(parent, 1)
	}
	m.Added, m.Comments[c.Key()], m.added[c.Key()] = append(m.Added, c), c, true
}

// reply adjusts the reply count of a comment, or does nothing if there is none. The comment
// gets a new version if it is listed from now on, or no longer.
func (m *CommentMerge) reply(parent *storage.Comment, by int64) {
	if parent == nil {
		return
	}
	listed := parent.Listed()
	parent.ReplyCount += by
	if parent.Listed() != listed {
		parent.Version = m.bump(parent.Subject, 0)
	}
	m.changed[parent.Key()] = true
}

func (m *CommentMerge) remove(c *storage.Comment, at int64) {
	m.CommentsByUser[c.User]--
	c.Version = m.bump(c.Subject, -1)
	c.Text, c.User.UserID, c.EditorID, c.DeletedAt = "", "", "", at
	m.reply(m.Comments[c.ParentKey()], -1)
	m.changed[c.Key()] = true
	m.Gone = append(m.Gone, c.Key().Subject())
}

// MessageMerge merges messages of an archive. The store locks the mailboxes of Users, fills
// in Latest of the batch, LatestOf with the number of the latest message of each
// conversation in Pairs, and Stored with those of Keys that exist. It then calls Merge and
// writes the rows of the batch and the changes to conversations.
type MessageMerge struct {
	MessageBatch

	Pairs    []Pair
	Keys     []MessageKey
	LatestOf map[Pair]int64
	Stored   map[MessageKey]bool
	// Renumber holds the conversations in which a message precedes one that is stored: all
	// their messages get new running numbers.
	Renumber []Pair

	archived []storage.DirectMessage
}

// MessageKey is the key of a row of the table message.
type MessageKey struct {
	Pair   Pair
	Number int64
}

func messageKeyOf(d *storage.DirectMessage) MessageKey {
	return MessageKey{PairOf(d.Conversation(d.From)), d.Number}
}

// NewMessageMerge returns a merge of messages. The users and the conversations of read marks
// are in Users and Pairs, too.
func NewMessageMerge(messages []storage.DirectMessage, marks []storage.ReadMark) *MessageMerge {
	m := &MessageMerge{
		MessageBatch: *NewMessageBatch(nil), archived: slices.Clone(messages),
		LatestOf: map[Pair]int64{}, Stored: map[MessageKey]bool{},
	}
	slices.SortFunc(m.archived, func(x, y storage.DirectMessage) int {
		return cmp.Or(cmp.Compare(x.Number, y.Number), CompareMessages(x.Key(), y.Key()))
	})
	users, pairs := map[storage.User]bool{}, map[Pair]bool{}
	for i := range m.archived {
		d := &m.archived[i]
		key := messageKeyOf(d)
		users[d.From], users[d.To], pairs[key.Pair] = true, true, true
		m.Keys = append(m.Keys, key)
	}
	for _, r := range marks {
		users[r.Conversation.Owner], users[r.Conversation.With], pairs[PairOf(r.Conversation)] = true, true, true
	}
	m.Users = slices.SortedFunc(maps.Keys(users), CompareUsers)
	m.Pairs = slices.SortedFunc(maps.Keys(pairs), comparePairs)
	return m
}

func comparePairs(x, y Pair) int {
	return cmp.Or(CompareUsers(x.Low, y.Low), CompareUsers(x.High, y.High))
}

// Merge determines what to write.
func (m *MessageMerge) Merge() {
	renumber := map[Pair]bool{}
	for i := range m.archived {
		d := &m.archived[i]
		key := messageKeyOf(d)
		if m.Stored[key] {
			continue
		}
		m.Stored[key] = true
		if d.Number < m.LatestOf[key.Pair] {
			renumber[key.Pair] = true
		}
		m.Added = append(m.Added, d)
		m.Latest[d.From], m.Latest[d.To] = max(m.Latest[d.From], d.Number), max(m.Latest[d.To], d.Number)
	}
	m.Renumber = slices.SortedFunc(maps.Keys(renumber), comparePairs)
}

// Marks returns the conversations to recount: those that got messages, with a read mark of
// 0, and those of the given read marks.
func (m *MessageMerge) Marks(marks []storage.ReadMark) []storage.ReadMark {
	to := map[storage.ConversationKey]int64{}
	for _, d := range m.Added {
		to[d.Conversation(d.From)], to[d.Conversation(d.To)] = 0, 0
	}
	for _, r := range marks {
		to[r.Conversation] = max(to[r.Conversation], r.UpTo)
	}
	out := make([]storage.ReadMark, 0, len(to))
	for _, key := range slices.SortedFunc(maps.Keys(to), CompareConversations) {
		out = append(out, storage.ReadMark{Conversation: key, UpTo: to[key]})
	}
	return out
}

// MarkDeleted adds marks of deleted subjects to the tally, except those of subjects that are
// deleted already, and returns the declarations, including those that withdraw the authors
// of these subjects.
func (t Tally) MarkDeleted(marks []storage.DeletedMark, already DeletedSubjects, declared []storage.Action) []storage.Action {
	declared = slices.Clone(declared)
	for _, d := range marks {
		if !already[d.Subject] && t.Deleted[d.Subject] == 0 {
			t.Deleted[d.Subject] = d.At
			declared = slices.DeleteFunc(declared, func(a storage.Action) bool { return a.Subject == d.Subject })
			declared = append(declared, Withdraw(d.Subject, d.Since))
		}
	}
	return storage.Coalesce(declared)
}

// MarkedSubjects returns the subjects of marks.
func MarkedSubjects(marks []storage.DeletedMark) []storage.Subject {
	out := make([]storage.Subject, len(marks))
	for i := range marks {
		out[i] = marks[i].Subject
	}
	return out
}

// RefuseAccount is the refusal of an account whose name is taken.
func RefuseAccount(a *storage.Account) storage.Refusal {
	return storage.Refusal{What: "account", ID: a.User.UserID, Reason: fmt.Sprintf("has the name %q, which another account has here", a.Name)}
}

// RefuseVideo is the refusal of a video whose id is taken.
func RefuseVideo(v *storage.Video) storage.Refusal {
	return storage.Refusal{What: "video", ID: v.VideoID(), Reason: "is not the video that has this id here"}
}

// RestoredVideos adds the events of the videos with the given numbers.
func RestoredVideos(to *Events, videos []storage.Video, added map[int64]bool) {
	for i := range videos {
		if v := &videos[i]; added[v.Number] {
			to.Video(storage.EventVideoPublished, v, v.Created)
		}
	}
}
