package redis

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
)

// maxReads is how many reads of one user on subjects of one biz are remembered;
// up to a quarter more until they are tidied.
const maxReads = 100

// never is a version that counts do not reach.
const never = math.MaxInt64

// ownRead is a read that counts may lack: those below from do, those from to on
// include it, of those in between that is not known.
type ownRead struct{ version, times, from, to int64 }

// ownReads are those of the users who are looked at, on the subjects asked.
type ownReads struct {
	of   map[storage.StateKey][]ownRead
	gone time.Time // when some of them were last dropped though no counts include them
}

func (r *ownReads) add(a *storage.Action, from, to int64) {
	if r.of == nil {
		r.of = make(map[storage.StateKey][]ownRead)
	}
	key := storage.StateKey{User: a.User, Subject: a.Subject}
	r.of[key] = append(r.of[key], ownRead{a.Version, a.Times, from, to})
}

// take reads what a window tells of reads on the subjects asked of it, in place
// of what it has told before, and lays over it what this process could not show.
// What is no read is passed over.
func (r *ownReads) take(of *window, words string, unshown []storage.Action) {
	maps.DeleteFunc(r.of, func(key storage.StateKey, _ []ownRead) bool {
		return key.User == of.User && key.Subject.Biz == of.Biz
	})
	if words == "" && len(unshown) == 0 {
		return
	}
	var header [4]int64 // as lua/reads.lua writes it
	for i := range header {
		number, rest, _ := strings.Cut(words, " ")
		header[i], _ = strconv.ParseInt(number, 10, 64)
		words = rest
	}
	dropped, gone := header[0], time.Unix(header[3], 0)
	if gone.After(r.gone) {
		r.gone = gone
	}
	asked := of.bizIDs()
	known := make(map[ownReadID]bool)
	for word := range strings.FieldsSeq(words) {
		id, rest, _ := strings.Cut(word, ":")
		bizID, wanted := asked[id]
		if !wanted {
			continue
		}
		a := storage.Action{User: of.User, Subject: storage.Subject{Tenant: of.User.Tenant, Biz: of.Biz, BizID: bizID}}
		if from, to, ok := parseRead(rest, &a); ok {
			r.add(&a, from, to)
			known[ownReadID{a.Subject, a.Version}] = true
		}
	}
	for i := range unshown {
		a := &unshown[i]
		ours := a.User == of.User && a.Subject.Biz == of.Biz
		if ours && a.Version > dropped && !known[ownReadID{a.Subject, a.Version}] {
			r.add(a, never, never)
		}
	}
}

// renew takes what was read later of some states in place of what was known.
func (r *ownReads) renew(keys []storage.StateKey, later *ownReads) {
	for _, key := range keys {
		delete(r.of, key)
	}
	if r.of == nil {
		r.of = later.of
	} else {
		maps.Copy(r.of, later.of)
	}
	if later.gone.After(r.gone) {
		r.gone = later.gone
	}
}

type ownReadID struct {
	subject storage.Subject
	version int64
}

// readID names a read in the user's window.
func readID(of storage.Subject, version int64) string {
	return url.QueryEscape(of.BizID) + ":" + text(version)
}

// parseRead reads a word as lua/reads.lua writes it, behind its bizId.
func parseRead(word string, a *storage.Action) (from, to int64, ok bool) {
	for _, to := range [...]*int64{&a.Version, &a.Times, &from, &to} {
		part, rest, found := strings.Cut(word, ":")
		switch {
		case !found:
			return 0, 0, false
		case part == none:
			*to = never
		default:
			var err error
			if *to, err = strconv.ParseInt(part, 10, 64); err != nil {
				return 0, 0, false
			}
		}
		word = rest
	}
	return from, to, true
}

// lacks returns the reads that counts of a version do not include. stored is
// what the database has of the same moment, where it was asked. It returns
// false where some are not known to be in the counts.
func (r *ownReads) lacks(key storage.StateKey, version int64, asked bool, stored *storage.Read) (out []ownRead, known bool) {
	known = true
	for _, one := range r.of[key] {
		switch {
		case version >= one.to:
		case version < one.from, asked && (stored == nil || one.version < stored.First || one.version > stored.Last):
			out = append(out, one)
		case !asked || one.version != stored.Last: // others were persisted before or after it
			known = false
		}
	}
	return out, known
}

// count adds to the counts the reads that they lack. It returns false, and
// leaves the counts as they are, where that is not known.
func (r *ownReads) count(to *storage.Interactive, key storage.StateKey) bool {
	if to.Freshness == storage.Unavailable {
		return true
	}
	lack, known := r.lacks(key, to.Version, false, nil)
	if known {
		addTimes(to, lack)
	}
	return known
}

func addTimes(to *storage.Interactive, reads []ownRead) {
	for _, one := range reads {
		to.ReadCount += one.times
	}
}

// field is what a user has read: what the database has, and what that lacks. It
// returns false where the latter is not known.
func (r *ownReads) field(key storage.StateKey, stored *storage.States) (read *storage.Read, known bool) {
	lack, known := r.lacks(key, stored.CountsVersion, true, stored.Read)
	return withReads(key, stored.Read, lack), known
}

// withReads returns what a user has read, more reads included.
func withReads(key storage.StateKey, read *storage.Read, more []ownRead) *storage.Read {
	for _, one := range more {
		if read == nil {
			read = &storage.Read{User: key.User, Subject: key.Subject, First: one.version, Last: one.version}
		}
		read.Times += one.times
		read.First, read.Last = min(read.First, one.version), max(read.Last, one.version)
	}
	return read
}

// storedReads are what the database has of reads.
func (s *Store) storedReads(ctx context.Context, keys []storage.StateKey) ([]storage.States, error) {
	return ask(ctx, s, "read states", func(ctx context.Context) ([]storage.States, error) {
		return s.Store.States(ctx, keys, storage.KindsOf(storage.KindRead))
	})
}

// lookAtReads looks up reads. What is not known to be in what the database has
// is left out.
func (s *Store) lookAtReads(ctx context.Context, keys []storage.StateKey, named []int, out []storage.States) error {
	asked, reads := pick(keys, named), new(ownReads)
	stored, err := s.storedReads(ctx, asked)
	if err != nil {
		return err
	}
	if at := s.present(); at != nil {
		reads, err = s.words(ctx, at, asked)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			return err
		}
	}
	for i, n := range named {
		out[n].Read, _ = reads.field(asked[i], &stored[i])
	}
	return nil
}

// words reads what Redis tells of reads, and nothing else.
func (s *Store) words(ctx context.Context, at *epoch, keys []storage.StateKey) (*ownReads, error) {
	reads, unshown := new(ownReads), s.unshown.readsOver(keys, at)
	windows := at.windowsOf(keys)
	err := s.inRedis(ctx, "read what is read", func(ctx context.Context) error {
		commands := make([]rueidis.Completed, len(windows))
		for i, w := range windows {
			commands[i] = s.client.B().Hget().Key(w.key).Field("~w").Build()
		}
		for i, reply := range s.client.DoMulti(ctx, commands...) {
			words, err := reply.ToString()
			if err != nil && !rueidis.IsRedisNil(err) && !wrongType(err) {
				return err
			}
			reads.take(windows[i], words, unshown)
		}
		return nil
	})
	return reads, err
}

// stay is how long a read is remembered that the counts include: longer than
// it may take to show it, or to publish the counts.
func (s *Store) stay() time.Duration { return 2 * s.opts.Doubt }

// readCalls note reads, one script for each window. how is as in
// lua/reads.lua; versions are those of the counts that include them, and may be
// nil.
func (s *Store) readCalls(at *epoch, how string, actions []storage.Action, versions map[storage.Subject]int64) []call {
	index := make(map[storage.WindowKey]int)
	var calls []call
	life, shown := s.lives()
	shared := []string{life, shown, text(int64(s.stay().Seconds())), text(maxReads)}
	for i := range actions {
		a := &actions[i]
		version := versions[a.Subject]
		if a.Kind != storage.KindRead || a.User.Anonymous() || versions != nil && version == 0 {
			continue
		}
		key := storage.WindowKey{User: a.User, Biz: a.Subject.Biz}
		n, ok := index[key]
		if !ok {
			n = len(calls)
			index[key] = n
			calls = append(calls, call{readsScript, at.windowKey(key), shared, nil})
		}
		calls[n].args = append(calls[n].args, how, readID(a.Subject, a.Version), text(a.Times), text(version))
	}
	return calls
}

// showReads show what the queue has confirmed.
func (s *Store) showReads(at *epoch, actions []storage.Action) []call {
	var reads []storage.Action
	for i := range actions {
		if a := &actions[i]; a.Kind == storage.KindRead && at.began(a.Version) {
			reads = append(reads, *a)
		}
	}
	return s.readCalls(at, "q", reads, nil)
}

// began reports whether the epoch had begun when this process sent an action of
// this version. What was sent before may have been persisted before, and nobody
// would mark it in this epoch.
func (e *epoch) began(version int64) bool {
	switch {
	case e.begun.IsZero(): // it is not known
		return true
	case e.number == firstEpoch: // nothing was shown before it
		return version > storage.Micros(e.begun)
	}
	return version > storage.Micros(e.begun.Add(pollLimit)) // it was polled within that time
}

// markReads note which counts include the reads of a transaction.
func (s *Store) markReads(at *epoch, outcome *storage.Outcome) []call {
	if len(outcome.Reads)+len(outcome.ReadBefore) == 0 {
		return nil
	}
	versions := versionsOf(outcome)
	return append(s.readCalls(at, "b", outcome.ReadBefore, versions), s.readCalls(at, "m", outcome.Reads, versions)...)
}

func versionsOf(outcome *storage.Outcome) map[storage.Subject]int64 {
	versions := make(map[storage.Subject]int64, len(outcome.Counts))
	for i := range outcome.Counts {
		versions[outcome.Counts[i].Subject] = outcome.Counts[i].Version
	}
	return versions
}

// layReads lays reads over an answer of the database that lacks them, as far as
// it tells.
func layReads(unread []storage.Action, keys []storage.StateKey, on []storage.Interactive, kinds storage.Kinds) {
	if len(unread) == 0 {
		return
	}
	var reads ownReads
	for i := range unread {
		reads.add(&unread[i], 0, never)
	}
	for i := range on {
		lack, _ := reads.lacks(keys[i], 0, true, on[i].Read)
		if on[i].Freshness != storage.Unavailable {
			addTimes(&on[i], lack)
		}
		on[i].Read = withReads(keys[i], on[i].Read, lack)
		if !kinds.Has(storage.KindRead) {
			on[i].Read = nil
		}
	}
}
