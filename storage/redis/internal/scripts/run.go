package scripts

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"ovation/breaker"
)

// Runner runs scripts. Most is 1 where not all keys lie in one place.
type Runner struct {
	Client    rueidis.Client
	Most      int // calls that go to Redis as one command
	Malformed *Malformed
	Log       *slog.Logger
	// Do calls Redis, unless it is known to be unavailable. Its error is
	// storage.ErrUnavailable or that of the caller's context.
	Do func(ctx context.Context, what string, f func(context.Context) error) error
	// Down returns storage.ErrUnavailable while Redis is known to be unavailable.
	Down func() error
}

// Pipeline is how many scripts are sent at once. Each of them is short; a
// longer pipeline would make others wait.
const Pipeline = 500

// RunAll runs scripts, a pipeline after the other, and hands each reply on.
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

// Run runs the scripts in one pipeline and returns a reply for each. Keys of
// another type are deleted first. An error of one is the error of all.
func (r *Runner) Run(ctx context.Context, calls []Call) ([]rueidis.RedisMessage, error) {
	replies, err := r.runOnce(ctx, calls)
	if !WrongType(err) {
		return replies, err
	}
	if err := r.dropForeign(ctx, calls); err != nil {
		return nil, err
	}
	return r.runOnce(ctx, calls)
}

// runOnce sends the scripts, with their text those that a server does not have
// yet.
func (r *Runner) runOnce(ctx context.Context, calls []Call) ([]rueidis.RedisMessage, error) {
	parts := r.together(calls)
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

// together splits calls into those that go together.
func (r *Runner) together(calls []Call) []together {
	parts := make([]together, 0, 1+len(calls)/max(r.Most, 1))
	for len(calls) > 0 {
		n, args := 1, len(calls[0].Args)
		for n < min(r.Most, len(calls)) && calls[n].joins(&calls[0]) && args+len(calls[n].Args) <= argsTogether {
			args += len(calls[n].Args)
			n++
		}
		parts = append(parts, calls[:n])
		calls = calls[n:]
	}
	return parts
}

// dropForeign deletes those keys of scripts that hold no hash.
func (r *Runner) dropForeign(ctx context.Context, calls []Call) error {
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
			r.Malformed.Found(calls[i].key, errNoHash)
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

// Fill runs scripts whose failure harms nobody.
func (r *Runner) Fill(ctx context.Context, fills []Call) {
	if err := r.RunAll(ctx, "fill", fills, nil); err != nil {
		r.Log.Debug("not filled", "keys", len(fills), "error", err)
	}
}

// Text is a number as scripts take it.
func Text(n int64) string { return strconv.FormatInt(n, 10) }

// Spread returns the duration in milliseconds, longer or shorter by a tenth at
// most, so that keys made together do not end together.
func Spread(d time.Duration) string {
	ms := d.Milliseconds()
	return Text(max(1, ms-ms/10+rand.Int64N(ms/5+1))) //nolint:gosec // nobody gains by guessing it
}

// NewRunner returns a Runner that calls Redis by do.
func NewRunner(
	client rueidis.Client, do func(context.Context, string, func(context.Context) error) error, down func() error, log *slog.Logger,
) *Runner {
	return &Runner{Client: client, Most: togetherAt(client), Malformed: newMalformed(log), Log: log, Do: do, Down: down}
}

// ErrCached says that the client's own cache has answered, which says nothing about Redis.
var ErrCached = fmt.Errorf("answered from the cache: %w", breaker.ErrIgnored)
