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
)

// serverInfo is what a server says of itself.
type serverInfo struct {
	run     string // its id, another one each time it starts
	policy  string // what it evicts when its memory is full
	evicted int64  // keys, since it started

	// Only of a master of a cluster:
	slots [][2]int // that it serves: the first and the last of each range
	view  string   // the current epoch of the cluster as it knows it; a failover begins another
}

// masters asks all servers at once and returns the masters that answer: all that
// are needed to hold every key, as soon as those have answered, so that a replica
// that hangs delays nobody. Otherwise gap says what is missing: what Redis holds
// then must not be relied on. Errors: none answers, or it refuses.
func (k *Keeper) masters(ctx context.Context) (out []serverInfo, gap, err error) {
	nodes := k.Scripts.Client.Nodes()
	type answer struct {
		serverInfo

		err error
	}
	answers := make(chan answer, len(nodes))
	for _, node := range nodes {
		k.asking.Go(func() {
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
		if silent = cmp.Or(silent, one.err); one.run == "" {
			continue
		}
		if out = append(out, one.serverInfo); k.Scripts.Client.Mode() != rueidis.ClientModeCluster {
			return out, nil, nil
		}
		if gap = gapOf(out); gap == nil {
			return out, nil, nil
		}
	}
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("no master answers: %w", cmp.Or(silent, errReplica))
	}
	if silent != nil {
		gap = fmt.Errorf("%w: %w", gap, silent)
	}
	return out, gap, nil
}

var errReplica = errors.New("replicas do")

// inspect asks one server. It returns the zero value for a replica and for a
// master without slots.
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
	if InfoOf(info, "role") != "master" {
		return out, nil
	}
	if clustered {
		out.view = InfoOf(info, "cluster_current_epoch")
		if out.slots = slotsOf(info); len(out.slots) == 0 {
			return out, nil
		}
	}
	out.run, out.policy = InfoOf(info, "run_id"), InfoOf(info, "maxmemory_policy")
	out.evicted, _ = strconv.ParseInt(InfoOf(info, "evicted_keys"), 10, 64)
	return out, nil
}

// slotsOf are the slots that a server says to serve: those of its own line in
// CLUSTER NODES, from the ninth word on. Words in brackets are slots on the move,
// which it still serves.
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

// gapOf says why the masters are not all of a cluster: a slot that none of them
// serves, or several do, or a failover that not all of them know of.
func gapOf(masters []serverInfo) error {
	const slots = 16384
	var by [slots]int
	for _, one := range masters {
		if one.view != masters[0].view {
			return errors.New("the masters of the cluster do not agree on it: a failover is under way")
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
			return fmt.Errorf("%d masters of the cluster say that they serve slot %d", n, slot)
		}
		served += n
	}
	if served < slots {
		return fmt.Errorf("the masters of the cluster that answer serve %d of its %d slots", served, slots)
	}
	return nil
}

// InfoOf returns a field of what INFO answers.
func InfoOf(info, field string) string {
	_, value, found := strings.Cut("\n"+info, "\n"+field+":")
	if !found {
		return ""
	}
	value, _, _ = strings.Cut(value, "\r")
	return value
}

// ShownLast evicts first what ends first: what holds something shown lives for
// days, everything else for an hour.
const ShownLast = "volatile-ttl"

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
		if !known || one.evicted <= before || one.policy == ShownLast {
			continue
		}
		some = true
		if !e.told {
			log.Warn("Redis evicts what may be all that shows an action: viewers' answers are STALE for a while. "+
				"Give it more memory, or set maxmemory-policy "+ShownLast, "policy", one.policy, "keys", one.evicted-before)
			e.told = true
		}
	}
	return some
}
