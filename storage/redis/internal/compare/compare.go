package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
	"ovation/storage/redis/internal/windows"
)

// Mismatch describes a difference between Redis and the database: in the counts of a
// subject, or in an entry of a window.
type Mismatch struct {
	Key      string // in Redis
	Field    string // of a window; empty for counts
	Redis    string
	Database string
}

const (
	scanCount       = 500             // keys compared in one call
	maxSuspects     = 10_000          // number of suspects that triggers a recheck
	maxRecheckPause = 2 * time.Second // between two rechecks
)

// ConfirmMargin is added to the guard. Run takes the sum as the longest time that a change
// can be in progress.
const ConfirmMargin = time.Second

// Comparison compares Redis with the database.
type Comparison struct {
	Redis    *scripts.Runner
	Database interface {
		States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error)
		Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error)
	}
	Counts  *counts.Reader
	Windows *windows.Reader
	Prefix  string
}

// keyClass describes either the keys of counts or the keys of windows. It also holds
// their suspected mismatches.
type keyClass struct {
	prefix   string // of the keys
	compare  func(ctx context.Context, at keyspace.Epoch, keys []string) (found map[Mismatch]bool, n int64, err error)
	suspects map[Mismatch]bool // mismatches at the last check
}

// Run compares the keys of an epoch with the database. A mismatch is reported only if it
// outlasts any change that may be in progress, including one by a crashed process,
// provided that each change is committed within the guard. To find out, Run rechecks
// suspected mismatches for up to the guard plus ConfirmMargin. It does so at the end, and
// whenever a class has maxSuspects suspects. A queued entry that is not yet persisted is
// ahead of the database; it is not a mismatch. If repair is true, Run deletes mismatches
// from Redis; later reads fill Redis again from the database. Run returns how many counts
// and states it compared. If report returns an error, Run stops and returns that error.
func (r *Comparison) Run(ctx context.Context, at keyspace.Epoch, repair bool, report func(Mismatch) error) (compared int64, err error) {
	differs := func(stale Mismatch) error {
		if repair {
			if err := r.drop(ctx, stale); err != nil {
				return err
			}
		}
		return report(stale)
	}
	all := []keyClass{
		{at.AllCounts(), r.compareCounts, make(map[Mismatch]bool)},
		{at.AllWindows(), r.compareWindows, make(map[Mismatch]bool)},
	}
	for _, c := range all {
		err = r.Redis.Scan(ctx, c.prefix, func(keys []string) error {
			found, n, err := c.compare(ctx, at, keys)
			compared += n
			maps.Copy(c.suspects, found)
			if err != nil || len(c.suspects) < maxSuspects {
				return err
			}
			return r.confirm(ctx, at, all, differs)
		})
		if err != nil {
			break
		}
	}
	if err == nil {
		err = r.confirm(ctx, at, all, differs)
	}
	if err != nil {
		return compared, fmt.Errorf("compare Redis with the database: %w", err)
	}
	return compared, nil
}

// confirm rechecks the suspects until none is left, or until no change in progress can
// explain the suspects that are left. It then calls differs with the suspects that are
// left, in the order of their keys within each class, and clears the suspects.
func (r *Comparison) confirm(ctx context.Context, at keyspace.Epoch, all []keyClass, differs func(Mismatch) error) error {
	over := time.Now().Add(r.Windows.Guard + ConfirmMargin)
	pending := func(c keyClass) bool { return len(c.suspects) > 0 }
	for wait := maxRecheckPause / 64; slices.ContainsFunc(all, pending) && time.Now().Before(over); wait = min(2*wait, maxRecheckPause) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, c := range all {
			if err := c.recheck(ctx, at); err != nil {
				return err
			}
		}
	}
	for _, c := range all {
		for _, stale := range slices.SortedFunc(maps.Keys(c.suspects), func(a, b Mismatch) int {
			return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Field, b.Field))
		}) {
			if err := differs(stale); err != nil {
				return err
			}
		}
		clear(c.suspects)
	}
	return nil
}

// recheck removes suspects that no longer differ in the same way.
func (c keyClass) recheck(ctx context.Context, at keyspace.Epoch) error {
	keys := make(map[string]bool, len(c.suspects))
	for stale := range c.suspects {
		keys[stale.Key] = true
	}
	still := make(map[Mismatch]bool)
	for some := range slices.Chunk(slices.Collect(maps.Keys(keys)), scanCount) {
		found, _, err := c.compare(ctx, at, some)
		if err != nil {
			return err
		}
		maps.Copy(still, found)
	}
	maps.DeleteFunc(c.suspects, func(stale Mismatch, _ bool) bool { return !still[stale] })
	return nil
}

func (r *Comparison) compareCounts(ctx context.Context, at keyspace.Epoch, keys []string) (map[Mismatch]bool, int64, error) {
	subjects := make([]storage.Subject, 0, len(keys))
	for _, key := range keys {
		if subject, is := keyspace.SubjectOf(r.Prefix, key); is {
			subjects = append(subjects, subject)
		}
	}
	var copied []counts.Result
	var inDatabase []storage.Counts
	err := scripts.Retry(ctx, func() (err error) {
		if copied, err = r.Counts.InRedis(ctx, at, subjects); err == nil {
			inDatabase, err = r.Counts.FromDatabase(ctx, subjects)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	found := make(map[Mismatch]bool)
	n := int64(0)
	for i := range copied {
		if !copied[i].Known {
			continue
		}
		n++
		if copied[i].Counts != inDatabase[i] {
			found[Mismatch{at.Counts(subjects[i]), "", fmt.Sprintf("%+v", copied[i].Counts), fmt.Sprintf("%+v", inDatabase[i])}] = true
		}
	}
	return found, n, nil
}

func (r *Comparison) compareWindows(ctx context.Context, at keyspace.Epoch, keys []string) (map[Mismatch]bool, int64, error) {
	found := make(map[Mismatch]bool)
	total := int64(0)
	for _, key := range keys {
		of, ok := at.WindowOf(key)
		if !ok {
			continue
		}
		var stale []Mismatch
		var n int64
		err := scripts.Retry(ctx, func() error {
			fields, err := r.window(ctx, key)
			if err != nil {
				return err
			}
			stale = stale[:0]
			n, err = r.compareWindow(ctx, of, fields, func(field, inRedis, inDatabase string) {
				stale = append(stale, Mismatch{key, field, inRedis, inDatabase})
			})
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		total += n
		for _, one := range stale {
			found[one] = true
		}
	}
	return found, total, nil
}

// window returns the fields of a window in Redis.
func (r *Comparison) window(ctx context.Context, key string) (fields map[string]string, err error) {
	err = r.Redis.Do(ctx, "read a window", func(ctx context.Context) (err error) {
		fields, err = r.Redis.Client.Do(ctx, r.Redis.Client.B().Hgetall().Key(key).Build()).AsStrMap()
		return err
	})
	return fields, err
}

// compareWindow compares each entry with the database. If the window is complete, it also
// checks that no entry is missing. It passes each mismatch to the function stale, and
// returns the number of states that it compared.
func (r *Comparison) compareWindow(
	ctx context.Context, of mirror.WindowKey, fields map[string]string, stale func(field, inRedis, inDatabase string),
) (n int64, err error) {
	ids := make(map[string]bool)
	for name := range fields {
		if name[0] != '~' {
			ids[name[1:]] = true
		}
	}
	if fields["~f"] == "1" {
		windows, err := r.Database.Windows(ctx, []mirror.WindowKey{of}, (len(window.Kinds)+1)*r.Windows.Limit) // a trimmed window holds up to a quarter more subjects than Limit, each with a state of each kind
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
	states, err := r.Database.States(ctx, keys, window.KindSet)
	if err != nil {
		return 0, err
	}
	for i := range states {
		for k, kind := range window.Kinds {
			name := window.Name(kind, keys[i].Subject.BizID)
			there, e := window.FromStates(&states[i], kind), window.KnownNone
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
			if !authoritative(&e, fields["~b"] != "") {
				continue
			}
			n++
			if state, ahead := e.State, e; state != there.State && (!e.Queued || ahead.Merge(&there, k)) {
				stale(name, e.Describe(), there.Describe())
			}
		}
	}
	return n, nil
}

// authoritative reports whether readers use an entry without reading the database. A
// queued entry in a window that is not loaded may have arrived late, and may be older
// than the state in the database. Readers merge the two.
func authoritative(e *window.Entry, loaded bool) bool {
	return e.Known && (loaded || !e.Queued || e.HistoryKnown())
}

// drop deletes a mismatch from Redis.
func (r *Comparison) drop(ctx context.Context, stale Mismatch) error {
	if stale.Field != "" {
		life, shown := r.Windows.TTLs()
		return r.Redis.RunAll(ctx, "drop", []scripts.Call{scripts.Invalidate.On(stale.Key, nil, life, shown, "0", stale.Field, "-")}, nil)
	}
	return r.Redis.Do(ctx, "drop", func(ctx context.Context) error {
		return r.Redis.Client.Do(ctx, r.Redis.Client.B().Del().Key(stale.Key).Build()).Error()
	})
}
