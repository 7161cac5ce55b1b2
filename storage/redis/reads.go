package redis

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ovation/storage"
)

// maxReads is how many reads of one user on subjects of one biz are pending at
// most.
const maxReads = 100

// pendingRead is a read that the queue has confirmed. The database lacks it
// where its version is above the last that the database has.
type pendingRead struct{ version, times int64 }

// pending are the pending reads of users who are looked at.
type pending map[storage.StateKey][]pendingRead

// readWord writes a read as the window keeps it.
func readWord(a *storage.Action) string {
	return url.QueryEscape(a.Subject.BizID) + ":" + text(a.Version) + ":" + text(a.Times)
}

// take reads the pending reads of a window. What is no read is passed over, and
// so is what was persisted long ago.
func (p pending) take(of storage.WindowKey, words string, stay time.Duration) {
	oldest := storage.Micros(time.Now().Add(-stay))
	for word := range strings.FieldsSeq(words) {
		parts := strings.Split(word, ":")
		if len(parts) != 3 {
			continue
		}
		id, err := url.QueryUnescape(parts[0])
		version, err1 := strconv.ParseInt(parts[1], 10, 64)
		times, err2 := strconv.ParseInt(parts[2], 10, 64)
		if errors.Join(err, err1, err2) == nil && version > oldest {
			key := storage.StateKey{User: of.User, Subject: storage.Subject{Tenant: of.User.Tenant, Biz: of.Biz, BizID: id}}
			if one := (pendingRead{version, times}); !slices.Contains(p[key], one) { // a window may be read twice
				p[key] = append(p[key], one)
			}
		}
	}
}

// add adds to an answer of the database what it lacks.
func (p pending) add(key storage.StateKey, to *storage.Interactive) {
	var last int64
	if to.Read != nil {
		last = to.Read.Last
	}
	for _, one := range p[key] {
		if one.version <= last {
			continue
		}
		if to.Read == nil {
			to.Read = &storage.Read{User: key.User, Subject: key.Subject, First: one.version}
		}
		to.Read.Times += one.times
		to.Read.First, to.Read.Last = min(to.Read.First, one.version), max(to.Read.Last, one.version)
		to.ReadCount += one.times
	}
}

// readCalls note reads, one script for each window.
func (s *Store) readCalls(at *epoch, actions []storage.Action) []call {
	index := make(map[storage.WindowKey]int)
	var calls []call
	for i := range actions {
		a := &actions[i]
		if a.Kind != storage.KindRead || a.User.Anonymous() {
			continue
		}
		key := storage.WindowKey{User: a.User, Biz: a.Subject.Biz}
		n, ok := index[key]
		if !ok {
			n = len(calls)
			index[key] = n
			calls = append(calls, call{readsScript, at.windowKey(key), []string{text(s.opts.Doubt.Milliseconds()), text(maxReads)}})
		}
		calls[n].args = append(calls[n].args, readWord(a))
	}
	return calls
}

// addReads adds what the viewer read: that of the kinds asked, and to the counts
// what is pending. Where something is, counts and reads come from the database
// as of one moment.
func (s *Store) addReads(
	ctx context.Context, viewer storage.User, out []storage.Interactive, own []entries, reads pending, kinds storage.Kinds,
) error {
	var some, rest []int
	for i := range out {
		if len(reads[storage.StateKey{User: viewer, Subject: out[i].Subject}]) > 0 {
			some = append(some, i)
		} else if kinds.Has(storage.KindRead) {
			rest = append(rest, i)
		}
	}
	if len(some) > 0 {
		if err := s.ofOneMoment(ctx, viewer, some, out, own, reads, kinds); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		return nil
	}
	keys := make([]storage.StateKey, len(rest))
	for i, n := range rest {
		keys[i] = storage.StateKey{User: viewer, Subject: out[n].Subject}
	}
	states, err := s.reads(ctx, keys)
	if err != nil && (!errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil) {
		return err
	}
	for i, n := range rest {
		switch {
		case err == nil:
			out[n].Read = states[i].Read
		case out[n].Freshness == storage.Live:
			out[n].Freshness = storage.Stale
		}
	}
	return nil
}

// ofOneMoment takes counts and states of one moment from the database, which
// tell what the counts include, and lays over them what the database lacks.
func (s *Store) ofOneMoment(
	ctx context.Context, viewer storage.User, which []int, out []storage.Interactive, own []entries, reads pending, kinds storage.Kinds,
) error {
	subjects := make([]storage.Subject, len(which))
	asked := windowStates
	for i, n := range which {
		subjects[i] = out[n].Subject
		if len(reads[storage.StateKey{User: viewer, Subject: subjects[i]}]) > 0 {
			asked = storage.AllKinds
		}
	}
	found, err := ask(ctx, s, "read interactives", func(ctx context.Context) ([]storage.Interactive, error) {
		return s.Store.Interactives(ctx, viewer, subjects, asked)
	})
	if err != nil && (!errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil) {
		return err
	}
	for i, n := range which {
		to, key := &out[n], storage.StateKey{User: viewer, Subject: subjects[i]}
		if err != nil { // counts that may lack what the viewer did
			if to.Freshness == storage.Live {
				to.Freshness = storage.Stale
			}
			continue
		}
		now := own[n]
		now.since(&found[i])
		to.Counts, to.Freshness = found[i].Counts, storage.Live
		now.show(to, key, kinds)
		reads.add(key, &found[i])
		to.ReadCount = found[i].ReadCount
		if kinds.Has(storage.KindRead) {
			to.Read = found[i].Read
		}
	}
	return nil
}
