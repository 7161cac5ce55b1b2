package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/scripts"
)

// countsField holds the counts, as lua/counts.lua has them.
const countsField = "n"

// takeCounts reads a reply of HGET. It returns false where there are none, or
// what is there is malformed: the script that writes counts replaces it.
func (s *Store) takeCounts(at *epoch, of storage.Subject, reply rueidis.RedisResult) (c storage.Counts, found bool, err error) {
	value, err := reply.ToString()
	if rueidis.IsRedisNil(err) || scripts.WrongType(err) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	if c, err = parseCounts(value); err != nil {
		s.scripts.Malformed.Found(at.keys.Counts(of), err)
		return storage.Counts{}, false, nil
	}
	return c, true, nil
}

// parseCounts reads five numbers: version, reads, likes, dislikes, collections.
func parseCounts(value string) (c storage.Counts, err error) {
	rest := value
	for i, to := range [...]*int64{&c.Version, &c.ReadCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount} {
		number, after, more := strings.Cut(rest, " ")
		if *to, err = strconv.ParseInt(number, 10, 64); err != nil || more != (i < 4) {
			return c, fmt.Errorf("%q are no counts", value)
		}
		rest = after
	}
	return c, nil
}

// freshTime is how long after counts were read they are written at the latest:
// newer ones may have been written meanwhile, and their key may have ended.
const freshTime = time.Second

// counted are the counts of a subject, known or not.
type counted struct {
	storage.Counts

	known bool
}

// counts reads counts: near ones and those of the client's cache, or past both.
// What Redis does not have comes from the database and is left unknown where
// that is down. fills are scripts that put it into Redis, for the caller to run.
// Errors: storage.ErrUnavailable, where Redis is; the context's.
func (s *Store) counts(ctx context.Context, at *epoch, subjects []storage.Subject, cached bool) (out []counted, fills []scripts.Call, err error) {
	if out, err = s.copiedCounts(ctx, at, subjects, cached); err != nil {
		return nil, nil, err
	}
	var missing []int
	for i := range out {
		if !out[i].known {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 || failedIn(ctx) {
		return out, nil, nil
	}
	asked := time.Now()
	found, own, err := s.flights.load(ctx, pick(subjects, missing), s.storedCounts)
	switch {
	case err == nil:
		for i, n := range missing {
			out[n] = counted{found[i], true}
			if found[i].Version > 0 {
				s.floors.raise(subjects[n], found[i])
			}
		}
		if time.Since(asked) > freshTime {
			own = nil
		}
		for _, i := range own {
			fills = append(fills, s.countsCall(at, subjects[missing[i]], found[i]))
		}
	case !errors.Is(err, storage.ErrUnavailable):
		return nil, nil, err
	default:
		noteIn(ctx, err) // of somebody else's flight, too
	}
	return out, fills, nil
}

// copiedCounts reads what Redis has. Where what this process keeps of it, or
// Redis itself, is behind what the process has seen, that is taken.
func (s *Store) copiedCounts(ctx context.Context, at *epoch, subjects []storage.Subject, cached bool) (out []counted, err error) {
	if cached {
		out, err = s.nearCounts(ctx, at, subjects)
	} else {
		err = s.inRedis(ctx, "read counts", func(ctx context.Context) (err error) {
			out, err = s.readCounts(ctx, at, subjects)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	for i := range out {
		if seen, newer := s.floors.above(subjects[i], out[i].Version); newer {
			out[i] = counted{seen, true}
		} else if !cached && out[i].known {
			s.floors.raise(subjects[i], out[i].Counts)
		}
	}
	return out, nil
}

// readCounts reads past whatever this process keeps.
func (s *Store) readCounts(ctx context.Context, at *epoch, subjects []storage.Subject) (out []counted, err error) {
	out = make([]counted, len(subjects))
	commands := make([]rueidis.Completed, len(subjects))
	for i, subject := range subjects {
		commands[i] = s.client.B().Hget().Key(at.keys.Counts(subject)).Field(countsField).Build()
	}
	for i, reply := range s.client.DoMulti(ctx, commands...) {
		if out[i].Counts, out[i].known, err = s.takeCounts(at, subjects[i], reply); err != nil { //nolint:gosec // a reply for each command
			return nil, err
		}
	}
	return out, nil
}

// nearCounts reads what is near, and the rest through the client's cache.
func (s *Store) nearCounts(ctx context.Context, at *epoch, subjects []storage.Subject) ([]counted, error) {
	if err := s.redis.Err(); err != nil {
		return nil, fmt.Errorf("read counts: %w", err)
	}
	out := make([]counted, len(subjects))
	left := s.near.find(at, subjects, out)
	if len(left) == 0 {
		return out, nil
	}
	err := s.inRedis(ctx, "read counts", func(ctx context.Context) error {
		err := s.readThrough(ctx, at, subjects, left, out)
		if errors.Is(err, rueidis.ErrDoCacheAborted) { // the connection was lost; there is a new one by now
			err = s.readThrough(ctx, at, subjects, left, out)
		}
		return err
	})
	return out, err
}

// readThrough reads the counts at the indices left through the client's cache.
// What comes is near from then on. It returns errCached where that cache had all.
func (s *Store) readThrough(ctx context.Context, at *epoch, subjects []storage.Subject, left []int, out []counted) (err error) {
	turn, hit := s.near.reserve(subjects, left), true
	commands, until := make([]rueidis.CacheableTTL, len(left)), make([]int64, len(left))
	for k, i := range left {
		commands[k] = rueidis.CT(s.client.B().Hget().Key(at.keys.Counts(subjects[i])).Field(countsField).Cache(), localLife)
	}
	for k, reply := range s.client.DoMultiCache(ctx, commands...) {
		to := &out[left[k]]
		if to.Counts, to.known, err = s.takeCounts(at, subjects[left[k]], reply); err != nil {
			return err
		}
		until[k], hit = s.near.until(reply), hit && reply.IsCacheHit()
	}
	s.near.keep(turn, at, subjects, left, out, until)
	if hit {
		return errCached
	}
	return nil
}

// storedCounts reads counts from the database.
func (s *Store) storedCounts(ctx context.Context, subjects []storage.Subject) ([]storage.Counts, error) {
	out := make([]storage.Counts, len(subjects))
	for tenant, at := range byTenant(subjects) {
		found, err := ask(ctx, s, "read counts", func(ctx context.Context) ([]storage.Interactive, error) {
			return s.Store.Interactives(ctx, storage.User{Tenant: tenant}, pick(subjects, at), 0)
		})
		if err != nil {
			return nil, err
		}
		for i := range found {
			out[at[i]] = found[i].Counts
		}
	}
	return out, nil
}

// countsCall writes counts where they are newer than what is there.
func (s *Store) countsCall(at *epoch, of storage.Subject, c storage.Counts) scripts.Call {
	life := s.opts.Life
	if c.Version == 0 {
		life = min(life, unknownLife)
	}
	return scripts.Counts.On(at.keys.Counts(of), nil,
		scripts.Text(c.Version), strings.Join([]string{scripts.Text(c.ReadCount), scripts.Text(c.LikeCount), scripts.Text(c.DislikeCount), scripts.Text(c.CollectCount)}, " "), scripts.Spread(life))
}

// Publish makes counts visible to everyone in the epoch of the transaction,
// where they are newer than what is. Counts that were committed a while ago are
// read again: they may no longer be the latest, and what tells so have ended.
// Where the commit may have outlasted the guard, it is first made unknown what
// they include: somebody may have filled a window from before it.
// Errors: storage.ErrUnavailable, the context's.
func (s *Store) Publish(ctx context.Context, outcome storage.Outcome) error {
	if outcome.Epoch == 0 {
		return nil
	}
	at, err := s.ours(ctx, outcome.Epoch)
	if err != nil {
		return s.unpublished(ctx, at, err)
	}
	counts := outcome.Counts
	late := time.Duration(0)
	if !outcome.At.IsZero() {
		late = time.Since(outcome.At)
	}
	if late > max(freshTime, s.opts.Guard-mirror.MarkTime) {
		if err := s.forgetApplied(ctx, at, outcome.Applied, nil); err != nil {
			return s.unpublished(ctx, at, err)
		}
	}
	if late > freshTime {
		if counts, err = s.presentCounts(ctx, counts); err != nil {
			return err
		}
	}
	calls := make([]scripts.Call, len(counts))
	for i := range counts {
		calls[i] = s.countsCall(at, counts[i].Subject, counts[i].Counts)
	}
	if err := s.scripts.RunAll(ctx, "publish counts", calls, nil); err != nil {
		return s.unpublished(ctx, at, err)
	}
	for i := range counts {
		if counts[i].Version > 0 {
			s.floors.raise(counts[i].Subject, counts[i].Counts)
		}
	}
	return nil
}

// unpublished returns why counts could not be published, nil once the epoch is
// over: nobody reads them any more. A worker that only publishes closes it as
// one that marks.
func (s *Store) unpublished(ctx context.Context, at *epoch, err error) error {
	if err = s.marks.note(err); !errors.Is(err, storage.ErrUnavailable) { // the caller went away
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pollLimit)
	defer cancel()
	now, asked := s.opts.Database.Epoch(ctx)
	if asked == nil && (!now.Open || now.Number != at.number) {
		return nil
	}
	return err
}

// presentCounts are the counts that the database has of the same subjects.
func (s *Store) presentCounts(ctx context.Context, counts []storage.SubjectCounts) ([]storage.SubjectCounts, error) {
	out := make([]storage.SubjectCounts, len(counts))
	subjects := make([]storage.Subject, len(counts))
	for i := range counts {
		subjects[i] = counts[i].Subject
	}
	found, err := s.storedCounts(ctx, subjects)
	for i := range found {
		out[i] = storage.SubjectCounts{Subject: subjects[i], Counts: found[i]}
	}
	return out, err
}

// flights let one of those who miss the same counts at the same time ask for
// all of them.
type flights struct {
	mu sync.Mutex
	of map[storage.Subject]*flight
}

type flight struct {
	done   chan struct{}
	counts storage.Counts
	err    error
}

// load returns the counts of each subject: those that nobody else is loading
// by one call, which no caller's going away cuts short, and the others when
// they come. own are the indices of the former.
func (f *flights) load(
	ctx context.Context, subjects []storage.Subject,
	load func(context.Context, []storage.Subject) ([]storage.Counts, error),
) (out []storage.Counts, own []int, err error) {
	all := make([]*flight, len(subjects))
	var mine []*flight
	f.mu.Lock()
	if f.of == nil {
		f.of = make(map[storage.Subject]*flight)
	}
	for i, subject := range subjects {
		if all[i] = f.of[subject]; all[i] == nil {
			all[i] = &flight{done: make(chan struct{})}
			f.of[subject] = all[i]
			mine, own = append(mine, all[i]), append(own, i)
		}
	}
	f.mu.Unlock()
	if len(mine) > 0 {
		f.fly(ctx, pick(subjects, own), mine, load)
	}
	out = make([]storage.Counts, len(all))
	for i, one := range all {
		select {
		case <-one.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if one.err != nil {
			return nil, nil, one.err
		}
		out[i] = one.counts
	}
	return out, own, nil
}

// flightTime bounds a flight that its caller no longer bounds.
const flightTime = 5 * time.Second

func (f *flights) fly(
	ctx context.Context, subjects []storage.Subject, own []*flight,
	load func(context.Context, []storage.Subject) ([]storage.Counts, error),
) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flightTime)
	defer cancel()
	var counts []storage.Counts
	err := errors.New("counts were not loaded") // where load panics
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, one := range own {
			if one.err = err; err == nil {
				one.counts = counts[i]
			}
			delete(f.of, subjects[i])
			close(one.done)
		}
	}()
	counts, err = load(ctx, subjects)
}

// byTenant groups the indices of subjects.
func byTenant(subjects []storage.Subject) map[string][]int {
	out := make(map[string][]int, 1)
	for i := range subjects {
		out[subjects[i].Tenant] = append(out[subjects[i].Tenant], i)
	}
	return out
}

// pick returns the elements at the indices.
func pick[E any](list []E, at []int) []E {
	out := make([]E, len(at))
	for i, n := range at {
		out[i] = list[n]
	}
	return out
}
