package epochs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"ovation/internal/outage"
)

// serverInfo is what a server reports about itself.
type serverInfo struct {
	runID   string // changes at each start of the server
	policy  string // the maxmemory-policy
	evicted int64  // number of evicted keys since its start

	// Set only for a master of a cluster:
	slots        [][2]int // served slots: first and last of each range
	clusterEpoch string   // cluster_current_epoch, which changes at a failover
}

// masters queries all servers concurrently and returns the masters that respond. It
// returns as soon as these masters cover every key, so a replica that hangs delays
// nothing. If they do not cover every key, gap describes what is missing, and Redis must
// not be trusted. If no master responds, masters returns an error.
func (k *Keeper) masters(ctx context.Context) (out []serverInfo, gap, err error) {
	nodes := k.Scripts.Client.Nodes()
	type answer struct {
		serverInfo

		err error
	}
	answers := make(chan answer, len(nodes))
	for _, node := range nodes {
		k.inspecting.Go(func() {
			info, err := k.inspect(ctx, node)
			answers <- answer{info, err}
		})
	}
	var silent error
	for range nodes {
		var one answer
		select {
		case one = <-answers:
		case <-ctx.Done():
			one.err = ctx.Err()
		}
		if silent = cmp.Or(silent, one.err); one.runID == "" {
			continue
		}
		if out = append(out, one.serverInfo); k.Scripts.Client.Mode() != rueidis.ClientModeCluster {
			return out, nil, nil
		}
		if gap = coverageGap(out); gap == nil {
			return out, nil, nil
		}
	}
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("no master responds: %w", cmp.Or(silent, errReplica))
	}
	if silent != nil {
		gap = fmt.Errorf("%w: %w", gap, silent)
	}
	return out, gap, nil
}

var errReplica = errors.New("only replicas respond")

// inspect queries one server. The runID in the result is empty for a replica, and for a
// master of a cluster that has no slots.
func (k *Keeper) inspect(ctx context.Context, node rueidis.Client) (out serverInfo, err error) {
	commands := make([]rueidis.Completed, 0, 6)
	for _, section := range []string{"server", "replication", "memory", "stats"} {
		commands = append(commands, node.B().Info().Section(section).Build())
	}
	clustered := k.Scripts.Client.Mode() == rueidis.ClientModeCluster
	if clustered {
		commands = append(commands, node.B().ClusterInfo().Build(), node.B().ClusterNodes().Build())
	}
	var all strings.Builder
	for _, reply := range node.DoMulti(ctx, commands...) {
		words, err := reply.ToString()
		if err != nil {
			return out, err
		}
		all.WriteString(words)
	}
	info := all.String()
	if InfoField(info, "role") != "master" {
		return out, nil
	}
	if clustered {
		out.clusterEpoch = InfoField(info, "cluster_current_epoch")
		if out.slots = slotsOf(info); len(out.slots) == 0 {
			return out, nil
		}
	}
	out.runID, out.policy = InfoField(info, "run_id"), InfoField(info, "maxmemory_policy")
	out.evicted, _ = strconv.ParseInt(InfoField(info, "evicted_keys"), 10, 64)
	return out, nil
}

// slotsOf returns the slots that a server reports as its own. info contains the reply to
// CLUSTER NODES: the slots are the words of the server's own line, from the ninth on.
// Words in brackets describe migrations. They are ignored, since a slot that is migrating
// away is still among the other words.
func slotsOf(info string) (out [][2]int) {
	for line := range strings.Lines(info) {
		words := strings.Fields(line)
		if len(words) < 9 || !strings.HasPrefix(words[2], "myself") {
			continue
		}
		for _, word := range words[8:] {
			from, to, ranged := strings.Cut(word, "-")
			if !ranged {
				to = from
			}
			first, err := strconv.Atoi(from)
			last, err2 := strconv.Atoi(to)
			if err == nil && err2 == nil {
				out = append(out, [2]int{first, last})
			}
		}
	}
	return out
}

// coverageGap returns an error if the masters do not cover the cluster. This is the case
// if some slot is served by no master or by several, or if the masters disagree on the
// cluster's epoch, as during a failover.
func coverageGap(masters []serverInfo) error {
	const slots = 16384
	var by [slots]int
	for _, one := range masters {
		if one.clusterEpoch != masters[0].clusterEpoch {
			return errors.New("the masters of the cluster disagree on its epoch: a failover is in progress")
		}
		for _, r := range one.slots {
			for slot := max(0, r[0]); slot <= min(r[1], slots-1); slot++ {
				by[slot]++
			}
		}
	}
	served := 0
	for slot, n := range by {
		if n > 1 {
			return fmt.Errorf("%d masters of the cluster report to serve slot %d", n, slot)
		}
		served += n
	}
	if served < slots {
		return fmt.Errorf("the masters of the cluster that respond serve %d of its %d slots", served, slots)
	}
	return nil
}

// InfoField returns a field of the reply to INFO or CLUSTER INFO.
func InfoField(info, field string) string {
	_, value, found := strings.Cut("\n"+info, "\n"+field+":")
	if !found {
		return ""
	}
	value, _, _ = strings.Cut(value, "\r")
	return value
}

// RecommendedEviction is the maxmemory-policy that evicts the keys with the shortest
// remaining life first. Windows with queued entries live for days, counts and other
// windows for an hour.
const RecommendedEviction = "volatile-ttl"

const maxRunIDs = 10_000 // remembered by evictions

// evictions detects whether Redis evicts keys that may contain queued entries.
type evictions struct {
	mu  sync.Mutex
	of  map[string]int64 // numbers of evicted keys by run id, as last recorded
	log *outage.Log
}

// record records how many keys the servers have evicted. It reports whether a server
// whose policy is not RecommendedEviction has evicted keys since the last call.
func (e *evictions) record(servers []serverInfo, logger *slog.Logger) (some bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.log == nil {
		e.log = outage.New(logger, "Redis evicts keys that may be all that shows an acknowledged action: replies are STALE for a while. "+
			"Give it more memory, or set maxmemory-policy "+RecommendedEviction, "Redis has stopped evicting such keys")
	}
	if e.of == nil || len(e.of) > maxRunIDs {
		e.of = make(map[string]int64, len(servers))
	}
	for _, one := range servers {
		before, known := e.of[one.runID]
		e.of[one.runID] = one.evicted
		if !known || one.evicted <= before || one.policy == RecommendedEviction {
			continue
		}
		some = true
		e.log.Failed("policy", one.policy, "keys", one.evicted-before)
	}
	if !some && len(servers) > 0 {
		e.log.Worked()
	}
	return some
}
