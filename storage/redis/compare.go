package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// Stale is something in Redis that is not what the database holds.
type Stale struct {
	Key      string // in Redis
	Field    string // of a window; empty for counts
	Redis    string
	Database string
}

const (
	scanned    = 500             // keys compared at once
	maxPending = 10_000          // differences remembered until they are looked at again
	settleTime = time.Second     // longer than the guard until a change under way has ended
	lookAgain  = 2 * time.Second // at most, between two looks at what differs
	readTries  = 5               // of each read of a comparison, which may take long
)

// comparison compares the keys of one kind with the database.
type comparison struct {
	keys    string // what they begin with
	compare func(ctx context.Context, at *epochs.Epoch, keys []string) (found map[Stale]bool, n int64, err error)
	pending map[Stale]bool // what differed when it was looked at last
}

// Compare compares what Redis holds with the database and reports what differs
// and stays so for longer than any change under way may take, that of a process
// which died included: the guard. Of an epoch that is over it reports nothing,
// since nobody believes it. What is shown and not persisted yet is ahead of the
// database and no difference. With repair, what differs is dropped, to be
// filled again. It returns how many counts and states it compared. An error of
// report ends it and is returned.
func (s *Store) Compare(ctx context.Context, repair bool, report func(Stale) error) (compared int64, err error) {
	at := s.epochs.Present()
	if at == nil { // nobody believes what Redis holds
		return 0, nil
	}
	differs := func(stale Stale) error {
		if repair {
			if err := s.drop(ctx, stale); err != nil {
				return err
			}
		}
		return report(stale)
	}
	all := []comparison{
		{at.Keys.AllCounts(), s.compareCounts, make(map[Stale]bool)},
		{at.Keys.AllWindows(), s.compareWindows, make(map[Stale]bool)},
	}
	for _, c := range all {
		err = s.scan(ctx, c.keys, func(keys []string) error {
			found, n, err := c.compare(ctx, at, keys)
			compared += n
			maps.Copy(c.pending, found)
			if err != nil || len(c.pending) < maxPending {
				return err
			}
			return s.settle(ctx, at, all, differs)
		})
		if err != nil {
			break
		}
	}
	if err == nil {
		err = s.settle(ctx, at, all, differs)
	}
	if err != nil {
		return compared, fmt.Errorf("compare Redis with the database: %w", err)
	}
	return compared, nil
}

// settle looks again at what differs until none of it does as it did, or the
// time of changes under way is over. It then hands on what is left, each kind in
// the order of the keys, and leaves nothing pending.
func (s *Store) settle(ctx context.Context, at *epochs.Epoch, all []comparison, differs func(Stale) error) error {
	over := time.Now().Add(s.opts.Guard + settleTime)
	pending := func(c comparison) bool { return len(c.pending) > 0 }
	for wait := lookAgain / 64; slices.ContainsFunc(all, pending) && time.Now().Before(over); wait = min(2*wait, lookAgain) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, c := range all {
			if err := c.lookAgain(ctx, at); err != nil {
				return err
			}
		}
	}
	for _, c := range all {
		for _, stale := range slices.SortedFunc(maps.Keys(c.pending), func(a, b Stale) int {
			return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Field, b.Field))
		}) {
			if err := differs(stale); err != nil {
				return err
			}
		}
		clear(c.pending)
	}
	return nil
}

// lookAgain drops what no longer differs as it did.
func (c comparison) lookAgain(ctx context.Context, at *epochs.Epoch) error {
	keys := make(map[string]bool, len(c.pending))
	for stale := range c.pending {
		keys[stale.Key] = true
	}
	still := make(map[Stale]bool)
	for some := range slices.Chunk(slices.Collect(maps.Keys(keys)), scanned) {
		found, _, err := c.compare(ctx, at, some)
		if err != nil {
			return err
		}
		maps.Copy(still, found)
	}
	maps.DeleteFunc(c.pending, func(stale Stale, _ bool) bool { return !still[stale] })
	return nil
}

// patiently reads again where a connection was lost or a server was not ready:
// nothing answers in place of Redis. Errors: storage.ErrUnavailable after the last
// try, what f returns otherwise, the context's.
func patiently(ctx context.Context, f func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := f()
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxTries(readTries))
	return err
}

func (s *Store) readPatiently(ctx context.Context, what string, f func(context.Context) error) error {
	return patiently(ctx, func() error { return s.redis.Call(ctx, what, f) })
}

// scan hands on the keys with a prefix, some at a time.
func (s *Store) scan(ctx context.Context, prefix string, each func(keys []string) error) error {
	pattern := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(prefix) + "*"
	for _, node := range s.client.Nodes() {
		for cursor := uint64(0); ; {
			var page rueidis.ScanEntry
			err := s.readPatiently(ctx, "scan", func(ctx context.Context) (err error) {
				page, err = node.Do(ctx, node.B().Scan().Cursor(cursor).Match(pattern).Count(scanned).Build()).AsScanEntry()
				return err
			})
			if err == nil && len(page.Elements) > 0 {
				err = each(page.Elements)
			}
			if err != nil {
				return err
			}
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}

func (s *Store) compareCounts(ctx context.Context, at *epochs.Epoch, keys []string) (map[Stale]bool, int64, error) {
	subjects := make([]storage.Subject, 0, len(keys))
	for _, key := range keys {
		if subject, is := keyspace.SubjectOf(s.opts.Prefix, key); is {
			subjects = append(subjects, subject)
		}
	}
	var copied []counts.Result
	err := patiently(ctx, func() (err error) {
		copied, err = s.counts.InRedis(ctx, at.Keys, subjects)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	inDatabase, err := s.counts.Stored(ctx, subjects)
	if err != nil {
		return nil, 0, err
	}
	found := make(map[Stale]bool)
	n := int64(0)
	for i := range copied {
		if !copied[i].Known {
			continue
		}
		n++
		if copied[i].Counts != inDatabase[i] {
			found[Stale{at.Keys.Counts(subjects[i]), "", fmt.Sprintf("%+v", copied[i].Counts), fmt.Sprintf("%+v", inDatabase[i])}] = true
		}
	}
	return found, n, nil
}

func (s *Store) compareWindows(ctx context.Context, at *epochs.Epoch, keys []string) (map[Stale]bool, int64, error) {
	found := make(map[Stale]bool)
	n := int64(0)
	for _, key := range keys {
		of, ok := at.Keys.WindowOf(key)
		if !ok {
			continue
		}
		var fields map[string]string
		err := s.readPatiently(ctx, "read a window", func(ctx context.Context) (err error) {
			fields, err = s.client.Do(ctx, s.client.B().Hgetall().Key(key).Build()).AsStrMap()
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		compared, err := s.compareWindow(ctx, of, fields, func(field, inRedis, inDatabase string) {
			found[Stale{key, field, inRedis, inDatabase}] = true
		})
		n += compared
		if err != nil {
			return nil, 0, err
		}
	}
	return found, n, nil
}

// compareWindow compares each entry with the database and, of a window that
// holds all, that nothing lacks.
func (s *Store) compareWindow(
	ctx context.Context, of mirror.WindowKey, fields map[string]string, stale func(field, inRedis, inDatabase string),
) (n int64, err error) {
	ids := make(map[string]bool)
	for name := range fields {
		if name[0] != '~' {
			ids[name[1:]] = true
		}
	}
	if fields["~f"] == "1" {
		windows, err := s.source.Windows(ctx, []mirror.WindowKey{of}, 3*s.opts.Window) // trim leaves a quarter more subjects, of two states each
		if err != nil {
			return 0, err
		}
		for id := range windows[0].States {
			ids[id] = true
		}
	}
	keys := make([]storage.StateKey, 0, len(ids))
	for id := range ids {
		keys = append(keys, storage.StateKey{User: of.User, Subject: storage.Subject{Tenant: of.User.Tenant, Biz: of.Biz, BizID: id}})
	}
	states, err := s.source.States(ctx, keys, window.KindSet)
	if err != nil {
		return 0, err
	}
	for i := range states {
		for k, kind := range window.Kinds {
			name := window.Name(kind, keys[i].Subject.BizID)
			there, e := window.Stored(&states[i], kind), window.KnownNone
			field, present := fields[window.Field(keys[i].Subject.BizID)]
			texts, whole := window.Split(field)
			switch {
			case present && !whole:
				stale(name, field, there.State)
				continue
			case texts[k] != "":
				if e, err = window.Parse(texts[k]); err != nil {
					stale(name, texts[k], there.State)
					continue
				}
			case fields["~f"] != "1":
				continue
			}
			if !e.Known { // the database tells
				continue
			}
			n++
			if state, ahead := e.State, e; state != there.State && (!e.Shown || ahead.Merge(&there, k)) {
				stale(name, e.Describe(), there.Describe())
			}
		}
	}
	return n, nil
}

// drop removes what is stale.
func (s *Store) drop(ctx context.Context, stale Stale) error {
	if stale.Field != "" {
		life, shown := s.windows.Lives()
		return s.scripts.RunAll(ctx, "drop", []scripts.Call{scripts.Forget.On(stale.Key, nil, life, shown, "0", stale.Field, "-")}, nil)
	}
	return s.redis.Call(ctx, "drop", func(ctx context.Context) error {
		return s.client.Do(ctx, s.client.B().Del().Key(stale.Key).Build()).Error()
	})
}
