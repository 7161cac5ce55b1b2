package window

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ovation/storage"
)

// Entry is what is known of one state of one user. The zero Entry means that nothing is
// known.
type Entry struct {
	Known   bool
	Queued  bool   // confirmed by the queue, and not known to be in the database
	Marked  bool   // included in the counts of a transaction that may not have committed yet
	touched uint32 // last written or renewed, seconds since 1970; 0: absent from the window
	version int64  // of the latest action; 0: none
	State   string
	// Reactions merge like storage.Register. set is the version of the latest
	// unconditional action; for other kinds every action is unconditional.
	set     int64
	clears  storage.Clears
	history history
}

// register returns the reaction in a form that can be merged.
func (e *Entry) register() storage.Register {
	return storage.Register{Value: storage.Reaction(contribution(e.State)), Set: e.set, Clears: e.clears}
}

// setRegister sets the entry to a reaction.
func (e *Entry) setRegister(r storage.Register) {
	e.version, e.State, e.set, e.clears = r.Version(), reactionState(r.Value), r.Set, r.Clears
}

// Merge merges inDatabase, the state in the database, into the entry. If the versions are
// equal, the value in the database wins. Merge returns false if the entry includes
// something that the database lacks.
func (e *Entry) Merge(inDatabase *Entry, kind int) (covered bool) {
	if kind != Reaction {
		covered = e.version <= inDatabase.version
		if covered {
			e.version, e.State, e.set = inDatabase.version, inDatabase.State, inDatabase.set
		}
		return covered
	}
	r := inDatabase.register()
	covered = r.Covers(e.register())
	e.setRegister(r.Join(e.register()))
	return covered
}

// history lists what a state contributes to successive versions of the counts, oldest
// first. It is empty if no contribution is known.
type history []inclusion

// inclusion records what a state contributes to the counts of the given version and later.
type inclusion struct {
	version      int64
	contribution byte
}

// KnownNone is the entry of a state that is known never to have been set.
var KnownNone = Entry{Known: true, State: none, history: history{{}}}

// contributionAt returns what the state contributes to counts of the given version. It
// returns false if the history does not reach back to that version.
func (h history) contributionAt(version int64) (share byte, known bool) {
	for _, m := range h {
		if m.version > version {
			break
		}
		share, known = m.contribution, true
	}
	return share, known
}

// clearsOnly encodes the reaction of an entry for which only clears are known.
const clearsOnly = "0?"

// Split splits the value of a field into the texts of its entries. An absent entry has an
// empty text. Split returns false if the value as a whole is malformed.
func Split(value string) (of [len(Kinds)]string, ok bool) {
	of[Reaction], of[collection], ok = strings.Cut(value, ";")
	of[collection], of[follow], _ = strings.Cut(of[collection], ";")
	return of, ok && !strings.Contains(of[follow], ";")
}

// noFollow encodes a follow that is known never to have been set. It lacks the time of
// the last write, so Absent returns true for such an entry.
const noFollow = "0"

// Parse parses an entry as the scripts write it: version, whether the state is queued
// (q), marked (m) or neither (-), time of the last write, state, history.
func Parse(text string) (e Entry, err error) {
	if text == noFollow {
		return KnownNone, nil
	}
	version, rest, _ := strings.Cut(text, " ")
	where, rest, _ := strings.Cut(rest, " ")
	touched, rest, _ := strings.Cut(rest, " ")
	state, pairs, whole := strings.Cut(rest, " ")
	if !whole || strings.Contains(pairs, " ") {
		return Entry{}, fmt.Errorf("%q is not an entry of a window", text)
	}
	e = Entry{Known: true, Queued: where == "q", Marked: where == "m"}
	if e.version, err = strconv.ParseInt(version, 10, 64); err != nil {
		return Entry{}, fmt.Errorf("%q is not an entry of a window: %w", text, err)
	}
	seconds, err := strconv.ParseUint(touched, 10, 32)
	if err != nil {
		return Entry{}, fmt.Errorf("%q is not an entry of a window: %w", text, err)
	}
	e.touched, e.set = max(1, uint32(seconds)), e.version
	value, versions, merged := strings.Cut(state, ":")
	if e.State = value; merged {
		if _, err := fmt.Sscanf(versions, "%d:%d:%d", &e.set, &e.clears[0], &e.clears[1]); err != nil {
			return Entry{}, fmt.Errorf("%q is not an entry of a window: %w", text, err)
		}
		e.Known = value != clearsOnly
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
			return Entry{}, fmt.Errorf("%q is not an entry of a window", text)
		}
		e.history = append(e.history, inclusion{v, share[0] - '0'})
	}
	return e, nil
}

// text returns the state as an argument of the scripts.
func (e *Entry) text(kind storage.Kind) string {
	if kind == storage.KindReaction {
		return registerState(e.register())
	}
	return e.State
}

// FromStates returns the entry for the state of the given kind in s, which was read from
// the database.
func FromStates(s *storage.States, kind storage.Kind) Entry {
	e := Entry{Known: true, State: none}
	switch kind {
	case storage.KindReaction:
		e.setRegister(s.Reaction)
	case storage.KindCollection:
		e.version, e.set = s.CollectionVersion, s.CollectionVersion
		if s.Collected != nil {
			e.State = collectionState(s.Collected.FolderID)
		}
	default:
		e.version, e.set, e.State = s.FollowVersion, s.FollowVersion, followState(s.Followed != nil)
	}
	// Counts of any version include 0 of a state that was never set. If the state was set,
	// counts that are older than those in s may or may not include it.
	since := int64(0)
	if e.version > 0 {
		since = s.CountsVersion
	}
	e.history = history{{since, contribution(e.State)}}
	return e
}

// Entries holds the entries of one user on one subject, in the order of Kinds.
type Entries [len(Kinds)]Entry

// States returns the entries as states of the given kinds.
func (es *Entries) States(key storage.StateKey, kinds storage.Kinds) (out storage.States) {
	if e := &es[Reaction]; kinds.Has(storage.KindReaction) {
		out.Reaction = e.register()
		out.Liked = out.Reaction.Liked(key)
	}
	if e := &es[collection]; kinds.Has(storage.KindCollection) {
		out.CollectionVersion = e.version
		if contribution(e.State) != 0 {
			id, err := url.QueryUnescape(e.State[1:])
			if err != nil { // edited by hand
				id = storage.DefaultFolderID
			}
			out.Collected = &storage.Collected{User: key.User, Subject: key.Subject, FolderID: id, Version: e.version}
		}
	}
	if e := &es[follow]; kinds.Has(storage.KindFollow) {
		out.FollowVersion = e.version
		if contribution(e.State) != 0 {
			out.Followed = &storage.Followed{User: key.User, Subject: key.Subject, Version: e.version}
		}
	}
	return out
}

// adjustCounts subtracts the user's states that the counts include, and adds the user's
// latest states. It returns false, and leaves the counts unchanged, if it is unknown
// which states the counts include.
func (es *Entries) adjustCounts(c *storage.Counts) bool {
	var included [len(Kinds)]byte
	for i := range es {
		share, known := es[i].history.contributionAt(c.Version)
		if !known {
			return false
		}
		included[i] = share
	}
	for i := range es {
		es[i].adjust(i, included[i], c)
	}
	return true
}

// adjust corrects the counts for one state. It subtracts the parameter included, which is
// the contribution that the counts include, and adds the contribution of the current
// state.
func (e *Entry) adjust(kind int, included byte, c *storage.Counts) {
	for _, change := range [...]struct {
		share byte
		by    int64
	}{{included, -1}, {contribution(e.State), 1}} {
		switch {
		case change.share == 0:
		case kind == collection:
			c.CollectCount += change.by
		case kind == follow:
			c.FollowerCount += change.by
		case change.share == byte(storage.Like):
			c.LikeCount += change.by
		default:
			c.DislikeCount += change.by
		}
	}
}

// HistoryKnown reports whether it is known what the state contributes to the counts.
func (e *Entry) HistoryKnown() bool { return len(e.history) > 0 }

// Describe returns the entry in a form for log messages and reports.
func (e *Entry) Describe() string { return e.State + " of version " + strconv.FormatInt(e.version, 10) }

// Absent reports whether a window that was read lacks the entry.
func (e *Entry) Absent() bool { return e.touched == 0 }

// Touched returns when an entry of a window was last written or renewed.
func (e *Entry) Touched() time.Time { return time.Unix(int64(e.touched), 0) }
