package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"
)

// serverInfo is what a server tells of itself.
type serverInfo struct {
	run     string // its id, another one each time it starts
	policy  string // what it evicts when its memory is full
	evicted int64  // keys, since it started
}

// servers asks those that hold keys, and returns what those tell that answer.
func (s *Store) servers(ctx context.Context) (out []serverInfo, err error) {
	var away error
	for _, node := range s.client.Nodes() {
		var all strings.Builder
		for _, reply := range node.DoMulti(ctx,
			node.B().Info().Section("server").Build(), node.B().Info().Section("replication").Build(),
			node.B().Info().Section("memory").Build(), node.B().Info().Section("stats").Build()) {
			words, err := reply.ToString()
			if _, refused := rueidis.IsRedisErr(err); refused {
				return nil, err
			}
			away = errors.Join(away, err)
			all.WriteString(words)
		}
		info := all.String()
		if run := infoOf(info, "run_id"); run != "" && infoOf(info, "role") == "master" {
			evicted, _ := strconv.ParseInt(infoOf(info, "evicted_keys"), 10, 64)
			out = append(out, serverInfo{run, infoOf(info, "maxmemory_policy"), evicted})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no server tells of its run: %w", away)
	}
	return out, nil
}

// infoOf returns a field of what INFO answers.
func infoOf(info, field string) string {
	_, value, found := strings.Cut("\n"+info, "\n"+field+":")
	if !found {
		return ""
	}
	value, _, _ = strings.Cut(value, "\r")
	return value
}

// whole returns an error while a shard of a cluster is away.
func (s *Store) whole(ctx context.Context) error {
	if s.client.Mode() != rueidis.ClientModeCluster {
		return nil
	}
	info, err := s.client.Do(ctx, s.client.B().ClusterInfo().Build()).ToString()
	if err != nil {
		return err
	}
	const slots = "16384"
	if served := infoOf(info, "cluster_slots_ok"); served != slots {
		return fmt.Errorf("the cluster serves %s of its %s slots", served, slots)
	}
	return nil
}

// shownLast evicts first what ends first: what holds something shown lives for
// days, everything else for an hour.
const shownLast = "volatile-ttl"

const maxRuns = 10_000 // to be remembered

// evictions tells whether Redis evicts what may hold something shown.
type evictions struct {
	mu   sync.Mutex
	of   map[string]int64 // what each run had evicted when it last answered
	told bool
}

// note reports whether a server has evicted something since the last time.
func (e *evictions) note(servers []serverInfo, log *slog.Logger) (some bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil || len(e.of) > maxRuns {
		e.of = make(map[string]int64, len(servers))
	}
	for _, one := range servers {
		before, known := e.of[one.run]
		e.of[one.run] = one.evicted
		if !known || one.evicted <= before || one.policy == shownLast {
			continue
		}
		some = true
		if !e.told {
			log.Warn("Redis evicts what may be all that shows an action: viewers' answers are STALE for a while. "+
				"Give it more memory, or set maxmemory-policy "+shownLast, "policy", one.policy, "keys", one.evicted-before)
			e.told = true
		}
	}
	return some
}
