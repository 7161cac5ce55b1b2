package redis

import (
	"context"
	"errors"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"ovation/outage"
)

// malformed counts and logs values in Redis that are not in the form of this
// package: edited by hand, or written by another program under the same prefix.
// Each is taken as missing and replaced from the database; it affects no other
// key of the same round trip and is no failure of Redis.
type malformed struct {
	total prometheus.Counter
	log   *outage.Log
}

func newMalformed(o *Options) malformed {
	return malformed{
		total: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ovation_mirror_malformed_values_total",
			Help: "Values in Redis that could not be decoded and were read from the database instead.",
		}),
		log: outage.New(o.Logger, "malformed value in Redis; it is read from the database", "values in Redis are well-formed"),
	}
}

// found notes a malformed value.
func (m *malformed) found(key string, why error) {
	m.total.Inc()
	m.log.Failed("key", key, "error", why)
}

var errNoHash = errors.New("the key holds no hash")

// wrongType reports whether Redis refused a command because the key does not
// hold a hash.
func wrongType(err error) bool {
	return err != nil && strings.Contains(err.Error(), "WRONGTYPE")
}

// dropMalformed removes the entries that could not be decoded, so that the
// windows are loaded again.
func (s *Store) dropMalformed(ctx context.Context, windows []*windowRead) {
	life, shown := s.lives()
	var calls []call
	for _, w := range windows {
		if len(w.malformed) == 0 {
			continue
		}
		args := []string{life, shown, "0"}
		for _, field := range w.malformed {
			args = append(args, field, "-")
		}
		calls = append(calls, call{forgetScript, w.key, nil, args})
		w.malformed = nil
	}
	if len(calls) > 0 {
		s.fill(ctx, calls)
	}
}

// dropForeign deletes those keys of scripts that hold no hash.
func (s *Store) dropForeign(ctx context.Context, calls []call) error {
	types := make([]rueidis.Completed, len(calls))
	for i := range calls {
		types[i] = s.client.B().Type().Key(calls[i].key).Build()
	}
	var drop []rueidis.Completed
	for i, reply := range s.client.DoMulti(ctx, types...) {
		is, err := reply.ToString()
		if err != nil {
			return err
		}
		if is != "hash" && is != "none" {
			s.malformed.found(calls[i].key, errNoHash)
			drop = append(drop, s.client.B().Del().Key(calls[i].key).Build())
		}
	}
	for _, reply := range s.client.DoMulti(ctx, drop...) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}
