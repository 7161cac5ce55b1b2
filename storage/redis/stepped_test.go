package redis

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
)

// actor runs a function step by step: before every call to Redis or the database, the
// function pauses until next is called. An actor must be run to its end.
type actor struct{ next func() (struct{}, bool) }

type stepKey struct{}

func newActor(do func(ctx context.Context)) *actor {
	next, _ := iter.Pull(func(yield func(struct{}) bool) {
		do(context.WithValue(context.Background(), stepKey{}, func() { yield(struct{}{}) }))
	})
	return &actor{next}
}

// step pauses the actor that the context belongs to, if there is one, so that other
// actors can take steps.
func step(ctx context.Context) {
	if yield, ok := ctx.Value(stepKey{}).(func()); ok {
		yield()
	}
}

// steppedDatabase pauses the actor before and after every read.
type steppedDatabase struct {
	*sqlitetest.Database

	overLimit bool // every window has more states than the limit
}

func (d steppedDatabase) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	step(ctx)
	defer step(ctx)
	return d.Database.Interactives(ctx, viewer, subjects, kinds)
}

func (d steppedDatabase) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	step(ctx)
	defer step(ctx)
	return d.Database.States(ctx, keys, kinds)
}

func (d steppedDatabase) Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error) {
	step(ctx)
	defer step(ctx)
	if d.overLimit {
		return make([]mirror.Window, len(keys)), nil
	}
	return d.Database.Windows(ctx, keys, limit)
}

// localCaches holds the client-side caches and the counts.Caches of some nodes. A node
// learns of changes only when deliverInvalidations is called.
type localCaches struct {
	entries []map[string]rueidis.RedisResult
	stale   []map[string]bool
	l1      []*counts.Cache
}

func newLocalCaches(nodes int) *localCaches {
	c := &localCaches{}
	for range nodes {
		c.entries = append(c.entries, map[string]rueidis.RedisResult{})
		c.stale = append(c.stale, map[string]bool{})
		c.l1 = append(c.l1, counts.NewCache())
		c.l1[len(c.l1)-1].Until = func(rueidis.RedisResult) int64 { return math.MaxInt64 }
	}
	return c
}

// invalidate records that a key has changed, for each node that has cached the key.
func (c *localCaches) invalidate(key string) {
	for node := range c.entries {
		if _, cached := c.entries[node][key]; cached {
			c.stale[node][key] = true
		}
	}
}

// deliverInvalidations removes the keys that were recorded as changed from a node's
// caches.
func (c *localCaches) deliverInvalidations(node int) {
	for key := range c.stale[node] {
		delete(c.entries[node], key)
		if subject, ok := keyspace.SubjectOf(prefixOf(key), key); ok {
			c.l1[node].Invalidate([]storage.Subject{subject})
		}
	}
	clear(c.stale[node])
}

// prefixOf returns the prefix with which a key begins (Options.Prefix).
func prefixOf(key string) string {
	prefix, _, _ := strings.Cut(key, ":")
	return prefix
}

// dropAll clears a node's caches, as happens when Redis has lost all keys.
func (c *localCaches) dropAll(node int) {
	clear(c.entries[node])
	clear(c.stale[node])
	c.l1[node].InvalidateAll()
}

// steppedClient pauses the actor before every command, including each command of a
// pipeline, and reads through the client-side cache of its node.
type steppedClient struct {
	rueidis.Client

	caches     *localCaches
	node       int
	countsLast *bool // calls that read a single field run last, as may happen on a cluster
}

func (c steppedClient) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	out := make([]rueidis.RedisResult, len(commands))
	order := make([]int, len(commands))
	for i := range order {
		order[i] = i
	}
	if *c.countsLast {
		last := func(i int) int { return slices.Index([]string{"HGET"}, commands[i].Commands()[0]) }
		slices.SortStableFunc(order, func(a, b int) int { return last(a) - last(b) })
	}
	for _, i := range order {
		command := commands[i]
		step(ctx)
		words := append([]string(nil), command.Commands()...) // the client reuses the memory of the command
		out[i] = c.Do(ctx, command)
		for n, reply := range repliesOf(words, scripts.Counts, out[i]) {
			if written, err := reply.AsInt64(); err == nil && written == 1 {
				c.caches.invalidate(words[3+n])
			}
		}
	}
	return out
}

// repliesOf returns the reply for each key if the command words runs the script s, and
// nil otherwise.
func repliesOf(words []string, s *scripts.Script, out rueidis.RedisResult) []rueidis.RedisMessage {
	switch words[1] {
	case s.Single.SHA, s.Single.Text:
		reply, _ := out.ToMessage()
		return []rueidis.RedisMessage{reply}
	case s.Batch.SHA, s.Batch.Text:
		replies, _ := out.ToArray()
		return replies
	}
	return nil
}

func (c steppedClient) DoMultiCache(ctx context.Context, commands ...rueidis.CacheableTTL) []rueidis.RedisResult {
	out := make([]rueidis.RedisResult, len(commands))
	for i := range commands {
		step(ctx)
		key := commands[i].Cmd.Commands()[1]
		if cached, ok := c.caches.entries[c.node][key]; ok {
			out[i] = cached
			continue
		}
		out[i] = c.Do(ctx, c.B().Hget().Key(key).Field(counts.Field).Build())
		c.caches.entries[c.node][key] = out[i]
		delete(c.caches.stale[c.node], key)
	}
	return out
}

// chance returns true with the given probability.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }
