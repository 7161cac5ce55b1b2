package window

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ovation/storage"
)

// Entry is what is known of one state of one user. The zero entry is not known.
type Entry struct {
	Known   bool
	Shown   bool  // confirmed by the queue, and not in the database as far as is known
	Marked  bool  // the counts include it once a transaction has committed, which it may not have
	version int64 // of the latest action, 0 if there was none
	State   string
	// A reaction is merged as storage.Register says. set is the version of its
	// latest unconditional action, which for a collection is every action.
	set     int64
	clears  storage.Clears
	history history
}

// register is the entry of a reaction in the form that can be merged.
func (e *Entry) register() storage.Register {
	return storage.Register{Value: storage.Reaction(share(e.State)), Set: e.set, Clears: e.clears}
}

// hold makes the entry hold a reaction.
func (e *Entry) hold(r storage.Register) {
	e.version, e.State, e.set, e.clears = r.Version(), reactionState(r.Value), r.Set, r.Clears
}

// Merge takes what the database holds of a state of a kind, where the entry does
// not know better. It returns false where the database lacks something that the
// entry holds. Of the same version, the database knows better what it is.
func (e *Entry) Merge(inDatabase *Entry, kind int) (covered bool) {
	if kind == collection {
		covered = e.version <= inDatabase.version
		if covered {
			e.version, e.State, e.set = inDatabase.version, inDatabase.State, inDatabase.set
		}
		return covered
	}
	r := inDatabase.register()
	covered = r.Covers(e.register())
	e.hold(r.Join(e.register()))
	return covered
}

// history tells what the counts include of a state, the oldest first. It is
// empty where that is not known.
type history []mark

// mark says that counts of this version, and later ones, include this share.
type mark struct {
	version int64
	share   byte
}

// KnownNone is the entry of what is known never to have been.
var KnownNone = Entry{Known: true, State: none, history: history{{}}}

// at returns the share that counts of a version include, and false where the
// history does not reach back so far.
func (h history) at(version int64) (share byte, known bool) {
	for _, m := range h {
		if m.version > version {
			break
		}
		share, known = m.share, true
	}
	return share, known
}

// clearsAlone is the reaction of an entry of which only clears are known.
const clearsAlone = "0?"

// Split splits the value of a field into the texts of its entries; an absent entry
// is empty. It returns false if the value is malformed as a whole.
func Split(value string) (of [len(Kinds)]string, ok bool) {
	of[Reaction], of[collection], ok = strings.Cut(value, ";")
	return of, ok && !strings.Contains(of[collection], ";")
}

// Parse reads an entry as the scripts write it: version, q or m, when it
// was touched, state, history.
func Parse(text string) (e Entry, err error) {
	version, rest, _ := strings.Cut(text, " ")
	where, rest, _ := strings.Cut(rest, " ")
	_, rest, _ = strings.Cut(rest, " ")
	state, pairs, whole := strings.Cut(rest, " ")
	if !whole || strings.Contains(pairs, " ") {
		return Entry{}, fmt.Errorf("%q is no entry of a window", text)
	}
	e = Entry{Known: true, Shown: where == "q", Marked: where == "m"}
	if e.version, err = strconv.ParseInt(version, 10, 64); err != nil {
		return Entry{}, fmt.Errorf("%q is no entry of a window: %w", text, err)
	}
	e.set = e.version
	value, versions, merged := strings.Cut(state, ":")
	if e.State = value; merged {
		if _, err := fmt.Sscanf(versions, "%d:%d:%d", &e.set, &e.clears[0], &e.clears[1]); err != nil {
			return Entry{}, fmt.Errorf("%q is no entry of a window: %w", text, err)
		}
		e.Known = value != clearsAlone
		if !e.Known || value == "0" {
			e.State = none
		}
	}
	if pairs == "-" {
		return e, nil
	}
	e.history = make(history, 0, strings.Count(pairs, ",")+1)
	for pair := range strings.SplitSeq(pairs, ",") {
		version, share, ok := strings.Cut(pair, ":")
		v, err := strconv.ParseInt(version, 10, 64)
		if err != nil || !ok || len(share) != 1 || share[0] < '0' || share[0] > '2' {
			return Entry{}, fmt.Errorf("%q is no entry of a window", text)
		}
		e.history = append(e.history, mark{v, share[0] - '0'})
	}
	return e, nil
}

// text is the state as scripts take it.
func (e *Entry) text(kind storage.Kind) string {
	if kind == storage.KindReaction {
		return registerState(e.register())
	}
	return e.State
}

// Stored is the entry of a state as the database has it.
func Stored(s *storage.States, kind storage.Kind) Entry {
	e := Entry{Known: true, State: none}
	if kind == storage.KindReaction {
		e.hold(s.Reaction)
	} else {
		e.version, e.set = s.CollectionVersion, s.CollectionVersion
		if s.Collected != nil {
			e.State = collectionState(s.Collected.FolderID)
		}
	}
	since := int64(0) // older counts than the state are not known to include it
	if e.version > 0 {
		since = s.CountsVersion
	}
	e.history = history{{since, share(e.State)}}
	return e
}

// Entries are those of one user on one subject, in the order of Kinds.
type Entries [len(Kinds)]Entry

// States are the entries as states of the kinds asked.
func (es *Entries) States(key storage.StateKey, kinds storage.Kinds) (out storage.States) {
	if e := &es[Reaction]; kinds.Has(storage.KindReaction) {
		out.Reaction = e.register()
		out.Liked = out.Reaction.Liked(key)
	}
	if e := &es[collection]; kinds.Has(storage.KindCollection) {
		out.CollectionVersion = e.version
		if share(e.State) != 0 {
			id, err := url.QueryUnescape(e.State[1:])
			if err != nil { // somebody has edited it by hand
				id = storage.DefaultFolderID
			}
			out.Collected = &storage.Collected{User: key.User, Subject: key.Subject, FolderID: id, Version: e.version}
		}
	}
	return out
}

// correct gives the counts the user's own latest states in place of those they
// include. It returns false, and leaves the counts as they are, where it is not
// known what they include.
func (es *Entries) correct(c *storage.Counts) bool {
	var included [len(Kinds)]byte
	for i := range es {
		share, known := es[i].history.at(c.Version)
		if !known {
			return false
		}
		included[i] = share
	}
	for i := range es {
		es[i].replace(i, included[i], c)
	}
	return true
}

// replace takes what the counts include of one state out of them, and adds the
// state as it is.
func (e *Entry) replace(kind int, included byte, c *storage.Counts) {
	for _, change := range [...]struct {
		share byte
		by    int64
	}{{included, -1}, {share(e.State), 1}} {
		switch {
		case change.share == 0:
		case kind == collection:
			c.CollectCount += change.by
		case change.share == byte(storage.Like):
			c.LikeCount += change.by
		default:
			c.DislikeCount += change.by
		}
	}
}

// Describe returns the entry as text for people.
func (e *Entry) Describe() string { return e.State + " of version " + strconv.FormatInt(e.version, 10) }

// Touched is when an entry was last written.
func Touched(text string) time.Time {
	seconds, _ := strconv.ParseInt(strings.Split(text, " ")[2], 10, 64)
	return time.Unix(seconds, 0)
}
