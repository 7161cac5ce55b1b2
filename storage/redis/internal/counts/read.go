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
	"ovation/storage/redis/internal/database"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
)

const (
	// Field is the name of the field that holds the counts in the hash of a subject, as
	// in lua/counts.lua.
	Field = "n"
	// MaxWriteDelay is the maximum time between reading counts from the database and
	// writing them to Redis. After a longer time, newer counts may have been written to
	// Redis and may have expired there, so Redis would accept the older ones.
	MaxWriteDelay = time.Second

	clientTTL  = 10 * time.Minute // in the client-side cache
	unknownTTL = time.Minute      // of the zero counts of an unknown subject
)

// Database reads the counts that Redis lacks.
type Database interface {
	Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error)
}

// Reader reads counts, and creates calls to the script that writes counts.
type Reader struct {
	Redis    *scripts.Runner
	Database Database
	Cache    *Cache
	TTL      time.Duration // of counts in Redis

	flights flightGroup
}

// Read reads counts. It uses this process's cache and the client-side cache only if
// cached is true. Counts that Redis lacks are read from the database; they are unknown if
// the database is unavailable. The result fills holds calls that write these counts to
// Redis; the caller should run these calls. Errors: storage.ErrUnavailable if Redis is
// unavailable; the context's error.
func (r *Reader) Read(
	ctx context.Context, at keyspace.Epoch, subjects []storage.Subject, cached bool,
) (out []Result, fills []scripts.Call, err error) {
	if cached {
		out, err = r.Cached(ctx, at, subjects)
	} else {
		out, err = r.readUncached(ctx, at, subjects)
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
	if len(missing) == 0 || database.Failed(ctx) {
		return out, nil, nil
	}
	asked := time.Now()
	found, own, err := r.flights.load(ctx, pick(subjects, missing), r.FromDatabase)
	switch {
	case err == nil:
		for i, n := range missing {
			out[n] = Result{found[i], true}
			if found[i].Version > 0 {
				r.Cache.Observe(at, subjects[n], found[i])
			}
		}
		if time.Since(asked) > MaxWriteDelay {
			own = nil
		}
		for _, i := range own {
			fills = append(fills, r.Write(at, subjects[missing[i]], found[i]))
		}
	case !errors.Is(err, storage.ErrUnavailable):
		return nil, nil, err
	default:
		database.NoteFailure(ctx, err) // even if the failed query was another caller's
	}
	return out, fills, nil
}

// readUncached reads counts from Redis. If newer counts were seen recently, it returns
// the newer ones.
func (r *Reader) readUncached(ctx context.Context, at keyspace.Epoch, subjects []storage.Subject) ([]Result, error) {
	out, err := r.InRedis(ctx, at, subjects)
	if err != nil {
		return nil, err
	}
	all := make([]int, len(subjects))
	for i := range out {
		all[i] = i
		if out[i].Known {
			r.Cache.Observe(at, subjects[i], out[i].Counts)
		}
	}
	r.Cache.raiseToSeen(subjects, all, out)
	return out, nil
}

// InRedis reads the counts that are in Redis, regardless of what this process has cached
// or seen.
func (r *Reader) InRedis(ctx context.Context, at keyspace.Epoch, subjects []storage.Subject) ([]Result, error) {
	out := make([]Result, len(subjects))
	err := r.Redis.Do(ctx, "read counts", func(ctx context.Context) (err error) {
		commands := make([]rueidis.Completed, len(subjects))
		for i, subject := range subjects {
			commands[i] = r.Redis.Client.B().Hget().Key(at.Counts(subject)).Field(Field).Build()
		}
		for i, reply := range r.Redis.Client.DoMulti(ctx, commands...) {
			if out[i], err = r.decode(at, subjects[i], reply); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Cached reads counts from r.Cache, and missing ones through the client-side cache. It
// does not read from the database.
func (r *Reader) Cached(ctx context.Context, at keyspace.Epoch, subjects []storage.Subject) ([]Result, error) {
	if err := r.Redis.Down(); err != nil {
		return nil, fmt.Errorf("read counts: %w", err)
	}
	out := make([]Result, len(subjects))
	left := r.Cache.Get(at, subjects, out)
	if len(left) == 0 {
		return out, nil
	}
	err := r.Redis.Do(ctx, "read counts", func(ctx context.Context) error {
		err := r.readThrough(ctx, at, subjects, left, out)
		if errors.Is(err, rueidis.ErrDoCacheAborted) { // the connection was lost; by now there is a new one
			err = r.readThrough(ctx, at, subjects, left, out)
		}
		return err
	})
	r.Cache.raiseToSeen(subjects, left, out)
	return out, err
}

// readThrough reads counts through the client-side cache, and stores them in out and in
// r.Cache. The parameter left holds the indices of the subjects to read. readThrough
// returns scripts.ErrCached if the client-side cache held all these counts.
func (r *Reader) readThrough(ctx context.Context, at keyspace.Epoch, subjects []storage.Subject, left []int, out []Result) (err error) {
	turn, hit := r.Cache.reserve(subjects, left), true
	commands, until := make([]rueidis.CacheableTTL, len(left)), make([]int64, len(left))
	for k, i := range left {
		commands[k] = rueidis.CT(r.Redis.Client.B().Hget().Key(at.Counts(subjects[i])).Field(Field).Cache(), clientTTL)
	}
	for k, reply := range r.Redis.Client.DoMultiCache(ctx, commands...) {
		if out[left[k]], err = r.decode(at, subjects[left[k]], reply); err != nil {
			return err
		}
		until[k], hit = r.Cache.Until(reply), hit && reply.IsCacheHit()
	}
	r.Cache.put(turn, at, subjects, left, out, until)
	if hit {
		return scripts.ErrCached
	}
	return nil
}

// Command returns the call that reads the counts of a subject. Decode decodes its reply.
func (r *Reader) Command(at keyspace.Epoch, of storage.Subject) scripts.Call {
	return scripts.Field(at.Counts(of), Field)
}

// Decode decodes counts read from Redis. If newer counts were seen recently, it returns
// the newer ones.
func (r *Reader) Decode(at keyspace.Epoch, of storage.Subject, reply *rueidis.RedisMessage) (Result, error) {
	var out [1]Result
	var err error
	if out[0], err = r.decode(at, of, reply); err == nil && out[0].Known {
		r.Cache.Observe(at, of, out[0].Counts)
		r.Cache.raiseToSeen([]storage.Subject{of}, []int{0}, out[:])
	}
	return out[0], err
}

// decode decodes a reply to HGET. Counts are unknown if Redis has none or if the value is
// malformed. The script that writes counts replaces a malformed value.
func (r *Reader) decode(at keyspace.Epoch, of storage.Subject, reply interface{ ToString() (string, error) }) (Result, error) {
	value, err := reply.ToString()
	if rueidis.IsRedisNil(err) || scripts.WrongType(err) {
		return Result{}, nil
	}
	if err != nil {
		return Result{}, err
	}
	c, err := parse(value)
	if err != nil {
		r.Redis.Malformed.Record(at.Counts(of), err)
		return Result{}, nil
	}
	return Result{c, true}, nil
}

// parse parses counts: seven numbers (version, reads, readers, likes, dislikes, collections,
// followers), and the author's id after authorMark or, for a deleted subject,
// deletedMark.
func parse(value string) (c storage.Counts, err error) {
	rest := value
	for _, to := range [...]*int64{&c.Version, &c.ReadCount, &c.ReaderCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount, &c.FollowerCount} {
		number, after, _ := strings.Cut(rest, " ")
		if *to, err = strconv.ParseInt(number, 10, 64); err != nil {
			return c, fmt.Errorf("%q is not a value of counts", value)
		}
		rest = after
	}
	if rest == deletedMark {
		c.Deleted = true
		return c, nil
	}
	author, marked := strings.CutPrefix(rest, authorMark)
	if !marked || author != "" && storage.ValidateUserID(author) != nil {
		return c, fmt.Errorf("%q is not a value of counts", value)
	}
	c.AuthorID = author
	return c, nil
}

// authorMark precedes the author's id, even if the id is empty. The id may contain any
// printable character, including spaces.
const authorMark = "@"

// deletedMark stands in place of the author of a deleted subject, which has none. A
// release that does not know it reads the counts from the database.
const deletedMark = "!"

// Write returns a call of the script that writes counts. The script writes nothing if
// Redis has newer counts.
func (r *Reader) Write(at keyspace.Epoch, of storage.Subject, c storage.Counts) scripts.Call {
	life := r.TTL
	if c.Version == 0 {
		life = min(life, unknownTTL)
	}
	return scripts.Counts.On(at.Counts(of), nil, scripts.Text(c.Version), Text(c), scripts.Jitter(life))
}

// Text encodes counts without their version.
func Text(c storage.Counts) string {
	last := authorMark + c.AuthorID
	if c.Deleted {
		last = deletedMark
	}
	return strings.Join([]string{
		scripts.Text(c.ReadCount), scripts.Text(c.ReaderCount), scripts.Text(c.LikeCount), scripts.Text(c.DislikeCount), scripts.Text(c.CollectCount), scripts.Text(c.FollowerCount),
		last,
	}, " ")
}

// FromDatabase reads counts from the database.
func (r *Reader) FromDatabase(ctx context.Context, subjects []storage.Subject) ([]storage.Counts, error) {
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

// Reload reads the counts of the subjects in counts from the database again.
func (r *Reader) Reload(ctx context.Context, counts []storage.SubjectCounts) ([]storage.SubjectCounts, error) {
	out := make([]storage.SubjectCounts, len(counts))
	subjects := make([]storage.Subject, len(counts))
	for i := range counts {
		subjects[i] = counts[i].Subject
	}
	found, err := r.FromDatabase(ctx, subjects)
	for i := range found {
		out[i] = storage.SubjectCounts{Subject: subjects[i], Counts: found[i]}
	}
	return out, err
}

// byTenant groups the indices of subjects by tenant.
func byTenant(subjects []storage.Subject) map[string][]int {
	out := make(map[string][]int, 1)
	for i := range subjects {
		out[subjects[i].Tenant] = append(out[subjects[i].Tenant], i)
	}
	return out
}

// pick returns some elements of list. The parameter at holds their indices.
func pick(list []storage.Subject, at []int) []storage.Subject {
	out := make([]storage.Subject, len(at))
	for i, n := range at {
		out[i] = list[n]
	}
	return out
}
