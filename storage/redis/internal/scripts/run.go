package scripts

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"ovation/internal/breaker"
)

// Runner runs scripts. MaxBatch is 1 on a cluster, where keys lie on several servers.
type Runner struct {
	Client    rueidis.Client
	MaxBatch  int  // maximum number of calls in one command
	Ordered   bool // the calls of a pipeline run in order; false on a cluster
	Malformed *Malformed
	Log       *slog.Logger
	// Do calls f, which calls Redis, unless Redis is known to be unavailable. Errors:
	// storage.ErrUnavailable, the context's error.
	Do func(ctx context.Context, what string, f func(context.Context) error) error
	// Down returns storage.ErrUnavailable while Redis is known to be unavailable.
	Down func() error
}

// Pipeline is the maximum number of calls in a pipeline. Each call is short, but a longer
// pipeline would delay other clients.
const Pipeline = 500

// RunAll runs calls, in one pipeline after another. Unless reply is nil, it is called
// with the index of each call and the reply to it. RunAll stops at the first error.
func (r *Runner) RunAll(ctx context.Context, what string, calls []Call, reply func(i int, m *rueidis.RedisMessage) error) error {
	for from := 0; from < len(calls); from += Pipeline {
		some := calls[from:min(from+Pipeline, len(calls))]
		err := r.Do(ctx, what, func(ctx context.Context) error {
			replies, err := r.Run(ctx, some)
			for i := range replies {
				if reply != nil && err == nil {
					err = reply(from+i, &replies[i])
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Run runs calls in one pipeline and returns the reply to each. If some keys do not hold
// a hash, Run deletes these keys and runs all calls again. If a call fails, Run returns
// the first error.
func (r *Runner) Run(ctx context.Context, calls []Call) ([]rueidis.RedisMessage, error) {
	replies, err := r.runOnce(ctx, calls)
	if !WrongType(err) {
		return replies, err
	}
	if err := r.deleteNonHashes(ctx, calls); err != nil {
		return nil, err
	}
	return r.runOnce(ctx, calls)
}

// runOnce sends each script by its hash. Scripts that the server lacks are sent again,
// with their source.
func (r *Runner) runOnce(ctx context.Context, calls []Call) ([]rueidis.RedisMessage, error) {
	parts := r.batches(calls)
	commands := make([]rueidis.Completed, len(parts))
	for i := range parts {
		commands[i] = parts[i].command(r.Client, false)
	}
	results := r.Client.DoMulti(ctx, commands...)
	var unknown []int
	var texts []rueidis.Completed
	for i := range results {
		if fault, ok := rueidis.IsRedisErr(results[i].Error()); ok && fault.IsNoScript() {
			unknown = append(unknown, i)
			texts = append(texts, parts[i].command(r.Client, true))
		}
	}
	if len(unknown) > 0 {
		for i, result := range r.Client.DoMulti(ctx, texts...) {
			results[unknown[i]] = result
		}
	}
	out := make([]rueidis.RedisMessage, 0, len(calls))
	for i := range results {
		replies, err := parts[i].replies(results[i])
		if err != nil {
			return nil, err
		}
		out = append(out, replies...)
	}
	return out, nil
}

// batches groups consecutive calls into commands.
func (r *Runner) batches(calls []Call) []batch {
	parts := make([]batch, 0, 1+len(calls)/max(r.MaxBatch, 1))
	for len(calls) > 0 {
		n, args := 1, len(calls[0].Args)
		for n < min(r.MaxBatch, len(calls)) && calls[n].joinsBatch(&calls[0]) && args+len(calls[n].Args) <= batchArgs {
			args += len(calls[n].Args)
			n++
		}
		parts = append(parts, calls[:n])
		calls = calls[n:]
	}
	return parts
}

// deleteNonHashes deletes those keys of the calls that do not hold a hash.
func (r *Runner) deleteNonHashes(ctx context.Context, calls []Call) error {
	types := make([]rueidis.Completed, len(calls))
	for i := range calls {
		types[i] = r.Client.B().Type().Key(calls[i].key).Build()
	}
	var drop []rueidis.Completed
	for i, reply := range r.Client.DoMulti(ctx, types...) {
		is, err := reply.ToString()
		if err != nil {
			return err
		}
		if is != "hash" && is != "none" {
			r.Malformed.Record(calls[i].key, errNotHash)
			drop = append(drop, r.Client.B().Del().Key(calls[i].key).Build())
		}
	}
	for _, reply := range r.Client.DoMulti(ctx, drop...) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}

// RunBestEffort runs calls whose failure is harmless, and only logs the failure.
func (r *Runner) RunBestEffort(ctx context.Context, fills []Call) {
	if err := r.RunAll(ctx, "fill", fills, nil); err != nil {
		r.Log.Debug("entries not written to Redis", "keys", len(fills), "error", err)
	}
}

// Text formats a number as an argument of scripts.
func Text(n int64) string { return strconv.FormatInt(n, 10) }

// Jitter returns the duration in milliseconds, with a jitter of at most a tenth, so that
// keys written together do not expire together.
func Jitter(d time.Duration) string {
	ms := d.Milliseconds()
	return Text(max(1, ms-ms/10+rand.Int64N(ms/5+1))) //nolint:gosec // it need not be unpredictable
}

// NewRunner returns a Runner that calls Redis through the given function.
func NewRunner(
	client rueidis.Client, do func(context.Context, string, func(context.Context) error) error, down func() error, log *slog.Logger,
) *Runner {
	most := maxBatch(client)
	return &Runner{Client: client, MaxBatch: most, Ordered: most > 1, Malformed: newMalformed(log), Log: log, Do: do, Down: down}
}

// ErrCached is returned by a call that the client-side cache has answered. Such a call
// does not show whether Redis is available.
var ErrCached = fmt.Errorf("answered from the cache: %w", breaker.ErrIgnored)
