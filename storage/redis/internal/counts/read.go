package counts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/redis/internal/behind"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
)

const (
	// Field holds the counts in their hash, as lua/counts.lua has them.
	Field = "n"
	// FreshTime is how long after counts were read they are written at the latest:
	// newer ones may have been written meanwhile, and their key may have ended.
	FreshTime = time.Second

	clientLife  = 10 * time.Minute // of the client's cache
	unknownLife = time.Minute      // of the zero counts of a subject nobody has touched
)

// Database is where counts come from that Redis has not.
type Database interface {
	Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error)
}

// Reader reads counts, and makes the scripts that write them.
type Reader struct {
	Redis    *scripts.Runner
	Database Database
	Cache    *Cache
	Life     time.Duration // of counts in Redis

	flights flights
}

// Read reads counts: cached ones, or past this process's cache and the client's.
// What Redis does not have comes from the database and is left unknown where
// that is down. fills are scripts that put it into Redis, for the caller to run.
// Errors: storage.ErrUnavailable, where Redis is; the context's.
func (r *Reader) Read(
	ctx context.Context, at keyspace.Epoch, subjects []storage.Subject, cached bool,
) (out []Result, fills []scripts.Call, err error) {
	if cached {
		out, err = r.Cached(ctx, at, subjects)
	} else {
		out, err = r.past(ctx, at, subjects)
	}
	if err != nil {
		return nil, nil, err
	}
	var missing []int
	for i := range out {
		if !out[i].Known {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 || behind.FailedIn(ctx) {
		return out, nil, nil
	}
	asked := time.Now()
	found, own, err := r.flights.load(ctx, pick(subjects, missing), r.Stored)
	switch {
	case err == nil:
		for i, n := range missing {
			out[n] = Result{found[i], true}
			if found[i].Version > 0 {
				r.Cache.Seen(subjects[n], found[i])
			}
		}
		if time.Since(asked) > FreshTime {
			own = nil
		}
		for _, i := range own {
			fills = append(fills, r.Write(at, subjects[missing[i]], found[i]))
		}
	case !errors.Is(err, storage.ErrUnavailable):
		return nil, nil, err
	default:
		behind.NoteIn(ctx, err) // of somebody else's flight, too
	}
	return out, fills, nil
}

// past reads what Redis has or, where that is behind, what was seen lately.
func (r *Reader) past(ctx context.Context, at keyspace.Epoch, subjects []storage.Subject) ([]Result, error) {
	out, err := r.InRedis(ctx, at, subjects)
	if err != nil {
		return nil, err
	}
	all := make([]int, len(subjects))
	for i := range out {
		all[i] = i
		if out[i].Known {
			r.Cache.Seen(subjects[i], out[i].Counts)
		}
	}
	r.Cache.replaceOlder(subjects, all, out)
	return out, nil
}

// InRedis reads what Redis holds, whatever this process has cached or seen.
func (r *Reader) InRedis(ctx context.Context, at keyspace.Epoch, subjects []storage.Subject) ([]Result, error) {
	out := make([]Result, len(subjects))
	err := r.Redis.Do(ctx, "read counts", func(ctx context.Context) (err error) {
		commands := make([]rueidis.Completed, len(subjects))
		for i, subject := range subjects {
			commands[i] = r.Redis.Client.B().Hget().Key(at.Counts(subject)).Field(Field).Build()
		}
		for i, reply := range r.Redis.Client.DoMulti(ctx, commands...) {
			if out[i], err = r.take(at, subjects[i], reply); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Cached reads what is cached, and the rest through the client's cache: nothing from
// the database.
func (r *Reader) Cached(ctx context.Context, at keyspace.Epoch, subjects []storage.Subject) ([]Result, error) {
	if err := r.Redis.Down(); err != nil {
		return nil, fmt.Errorf("read counts: %w", err)
	}
	out := make([]Result, len(subjects))
	left := r.Cache.Find(at, subjects, out)
	if len(left) == 0 {
		return out, nil
	}
	err := r.Redis.Do(ctx, "read counts", func(ctx context.Context) error {
		err := r.through(ctx, at, subjects, left, out)
		if errors.Is(err, rueidis.ErrDoCacheAborted) { // the connection was lost; there is a new one by now
			err = r.through(ctx, at, subjects, left, out)
		}
		return err
	})
	r.Cache.replaceOlder(subjects, left, out)
	return out, err
}

// through reads the counts at the indices left through the client's cache, and
// caches them. It returns scripts.ErrCached where the client's cache had all.
func (r *Reader) through(ctx context.Context, at keyspace.Epoch, subjects []storage.Subject, left []int, out []Result) (err error) {
	turn, hit := r.Cache.reserve(subjects, left), true
	commands, until := make([]rueidis.CacheableTTL, len(left)), make([]int64, len(left))
	for k, i := range left {
		commands[k] = rueidis.CT(r.Redis.Client.B().Hget().Key(at.Counts(subjects[i])).Field(Field).Cache(), clientLife)
	}
	for k, reply := range r.Redis.Client.DoMultiCache(ctx, commands...) {
		if out[left[k]], err = r.take(at, subjects[left[k]], reply); err != nil {
			return err
		}
		until[k], hit = r.Cache.Until(reply), hit && reply.IsCacheHit()
	}
	r.Cache.keep(turn, at, subjects, left, out, until)
	if hit {
		return scripts.ErrCached
	}
	return nil
}

// take reads a reply of HGET. Counts are unknown where there are none, or what is
// there is malformed: the script that writes counts replaces it.
func (r *Reader) take(at keyspace.Epoch, of storage.Subject, reply rueidis.RedisResult) (Result, error) {
	value, err := reply.ToString()
	if rueidis.IsRedisNil(err) || scripts.WrongType(err) {
		return Result{}, nil
	}
	if err != nil {
		return Result{}, err
	}
	c, err := parse(value)
	if err != nil {
		r.Redis.Malformed.Found(at.Counts(of), err)
		return Result{}, nil
	}
	return Result{c, true}, nil
}

// parse reads five numbers: version, reads, likes, dislikes, collections.
func parse(value string) (c storage.Counts, err error) {
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

// Write returns the script that writes counts where they are newer than what is
// there.
func (r *Reader) Write(at keyspace.Epoch, of storage.Subject, c storage.Counts) scripts.Call {
	life := r.Life
	if c.Version == 0 {
		life = min(life, unknownLife)
	}
	return scripts.Counts.On(at.Counts(of), nil, scripts.Text(c.Version),
		strings.Join([]string{scripts.Text(c.ReadCount), scripts.Text(c.LikeCount), scripts.Text(c.DislikeCount), scripts.Text(c.CollectCount)}, " "),
		scripts.Spread(life))
}

// Stored reads counts from the database.
func (r *Reader) Stored(ctx context.Context, subjects []storage.Subject) ([]storage.Counts, error) {
	out := make([]storage.Counts, len(subjects))
	for tenant, at := range byTenant(subjects) {
		found, err := r.Database.Interactives(ctx, storage.User{Tenant: tenant}, pick(subjects, at), 0)
		if err != nil {
			return nil, err
		}
		for i := range found {
			out[at[i]] = found[i].Counts
		}
	}
	return out, nil
}

// StoredAgain returns the counts that the database has of the same subjects.
func (r *Reader) StoredAgain(ctx context.Context, counts []storage.SubjectCounts) ([]storage.SubjectCounts, error) {
	out := make([]storage.SubjectCounts, len(counts))
	subjects := make([]storage.Subject, len(counts))
	for i := range counts {
		subjects[i] = counts[i].Subject
	}
	found, err := r.Stored(ctx, subjects)
	for i := range found {
		out[i] = storage.SubjectCounts{Subject: subjects[i], Counts: found[i]}
	}
	return out, err
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
func pick(list []storage.Subject, at []int) []storage.Subject {
	out := make([]storage.Subject, len(at))
	for i, n := range at {
		out[i] = list[n]
	}
	return out
}
