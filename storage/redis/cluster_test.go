package redis

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
	"ovation/storage"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/window"
	"ovation/storage/storagetest"
)

// startCluster starts a cluster of three masters and returns its URL and its nodes.
func startCluster(t *testing.T) (url string, nodes []*server) {
	t.Helper()
	for i := range 3 {
		s := startClusterNode(t, nodes...)
		nodes = append(nodes, s)
		from, to := i*16384/3, (i+1)*16384/3-1
		must.Succeed(t, s.command("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)).Error())
	}
	awaitCluster(t, nodes)
	return nodes[0].url(), nodes
}

// startClusterNode starts a server that joins the cluster of the other servers.
func startClusterNode(t *testing.T, others ...*server) *server {
	t.Helper()
	s := startServer(t, "--cluster-enabled", "yes", "--cluster-config-file", fmt.Sprintf("nodes-%d.conf", len(others)),
		"--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
		"--cluster-port", strconv.Itoa(port.Free(t)))
	if len(others) > 0 {
		first := others[0]
		bus := first.args[len(first.args)-1]
		must.Succeed(t, s.command("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(first.port), bus).Error())
	}
	return s
}

// awaitCluster waits until the nodes agree that every node has joined the cluster and
// that every slot is served.
func awaitCluster(t *testing.T, nodes []*server) {
	t.Helper()
	await.That(t, "the cluster is whole", func() bool {
		view := epochs.InfoField(nodes[0].text("CLUSTER", "INFO"), "cluster_current_epoch")
		return !slices.ContainsFunc(nodes, func(s *server) bool {
			info := s.text("CLUSTER", "INFO")
			return !strings.Contains(info, "cluster_state:ok") || epochs.InfoField(info, "cluster_known_nodes") != strconv.Itoa(len(nodes)) ||
				epochs.InfoField(info, "cluster_current_epoch") != view
		})
	})
}

// text returns the reply to a command, or an empty string if the command fails.
func (s *server) text(words ...string) string {
	s.tb.Helper()
	out, _ := s.command(words...).ToString()
	return out
}

// startReplicas gives each master a replica and returns the replicas in the order of the
// masters.
func startReplicas(t *testing.T, masters []*server) (replicas []*server) {
	t.Helper()
	all := slices.Clone(masters)
	for range masters {
		s := startClusterNode(t, all...)
		replicas, all = append(replicas, s), append(all, s)
	}
	awaitCluster(t, all)
	for i, s := range replicas {
		id := masters[i].text("CLUSTER", "MYID")
		await.That(t, "a replica knows its master", func() bool { return s.command("CLUSTER", "REPLICATE", id).Error() == nil })
		await.That(t, "a replica has what its master has", func() bool {
			return strings.Contains(s.text("INFO", "replication"), "master_link_status:up")
		})
	}
	return replicas
}

// cutOff stops the replication from a master, so that the master's replicas lag from then
// on.
func (s *server) cutOff() {
	s.tb.Helper()
	must.Succeed(s.tb, s.command("ACL", "SETUSER", "default", "-psync", "-sync").Error())
	must.Succeed(s.tb, s.command("CLIENT", "KILL", "TYPE", "replica").Error())
}

// If a master dies and a lagging replica takes its place, the replica's data is not
// trusted until the next epoch begins.
func TestFailoverToALaggingReplicaIsNeverLive(t *testing.T) {
	t.Parallel()
	url, masters := startCluster(t)
	replicas := startReplicas(t, masters)
	for _, one := range append(slices.Clone(masters), replicas...) { // the test decides when a replica takes over
		must.Succeed(t, one.command("CONFIG", "SET", "cluster-node-timeout", "600000").Error())
	}
	db := openDatabase(t)
	writer := open(t, Options{URL: url, Database: db, RedisTimeout: short})
	// The shard that fails holds the counts, but not the sentinel.
	shardOf := func(key string) int {
		slot, err := masters[0].command("CLUSTER", "KEYSLOT", key).AsInt64()
		must.Succeed(t, err)
		return slices.IndexFunc([]int64{16384 / 3, 2 * 16384 / 3, 16384}, func(end int64) bool { return slot < end })
	}
	begun := writer.epochs.Current()
	failing := (shardOf(begun.Keys.Sentinel()) + 1) % len(masters)
	subject := movie
	for i := 0; shardOf(begun.Keys.Counts(subject)) != failing; i++ {
		subject = video(strconv.Itoa(i))
	}
	persist(t, db, writer, storagetest.React(alice, subject, storage.Like, 10))
	await.That(t, "the replica has the counts", func() bool {
		there := epochs.InfoField(masters[failing].text("INFO", "replication"), "master_repl_offset")
		return there != "" && epochs.InfoField(replicas[failing].text("INFO", "replication"), "slave_repl_offset") == there
	})
	masters[failing].cutOff()
	persist(t, db, writer, storagetest.React(bob, subject, storage.Like, 20))
	reader := open(t, Options{URL: url, Database: openAgain(t, db), RedisTimeout: short}) // has cached nothing
	reader.stopBackground()                                                               // only the test polls
	polled := func() bool {
		return reader.epochs.Poll(t.Context()) == nil && reader.epochs.LeaseValid(reader.epochs.Current())
	}
	await.That(t, "a poll grants a lease", polled)

	replicas[(failing+1)%len(replicas)].hang()
	await.That(t, "a poll does not wait for the replica that hangs", polled)
	masters[failing].kill()
	await.That(t, "a poll without one of the masters counts the slots served", func() bool {
		err := reader.epochs.Poll(t.Context())
		if !errors.Is(err, storage.ErrUnavailable) {
			t.Fatalf("a poll without one of the masters: got %v, want %v", err, storage.ErrUnavailable)
		}
		return strings.Contains(err.Error(), "of its 16384 slots") // otherwise a call was too slow
	})
	must.Succeed(t, replicas[failing].command("CLUSTER", "FAILOVER", "TAKEOVER").Error())
	await.That(t, "the next epoch is live", func() (live bool) {
		passBarrier(t, reader, db)
		// The anonymous viewer comes first, since loading alice's states would replace
		// older counts.
		for _, viewer := range []storage.User{{Tenant: subject.Tenant}, alice} {
			got := see(t, reader, viewer, subject)
			live = got.Freshness == storage.Live
			if live && (got.LikeCount != 2 || got.Liked == nil && !viewer.Anonymous()) {
				t.Fatalf("to %q: got %+v, want 2 likes, and alice's own, once it is %s", viewer.UserID, got, storage.Live)
			}
		}
		_ = reader.epochs.Poll(t.Context()) // it fails until all masters know of the failover
		return live && reader.epochs.Current().Number > begun.Number
	})
}

// A cluster is logged as available again only once all of its masters respond. The
// masters that respond are used before that.
func TestClusterIsReportedRecoveredOnceComplete(t *testing.T) {
	t.Parallel()
	url, masters := startCluster(t)
	for _, one := range masters {
		must.Succeed(t, one.command("CONFIG", "SET", "cluster-require-full-coverage", "no").Error())
	}
	log := new(logBuffer)
	s := open(t, Options{
		URL: url, Database: openDatabase(t), RedisTimeout: short, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	slot, err := masters[0].command("CLUSTER", "KEYSLOT", s.epochs.Current().Keys.Sentinel()).AsInt64()
	must.Succeed(t, err)
	other := (int(slot)*3/16384 + 1) % len(masters) // a master that does not have the sentinel
	for _, one := range masters {
		one.hang()
	}
	await.That(t, "Redis is unavailable", func() bool {
		see(t, s, alice, movie)
		return len(log.linesWith("Redis is unavailable")) > 0
	})
	for i, one := range masters {
		if i != other {
			one.resume()
		}
	}
	await.That(t, "the masters that respond are used", func() bool {
		return s.redis.Healthy() && len(log.linesWith("Redis is back in part")) > 0
	})
	if back := log.linesWith("Redis is back\""); len(back) > 0 {
		t.Errorf("while one master hangs: got the log lines %q, want only that Redis is back in part", back)
	}
	if down, part := log.linesWith("Redis is unavailable"), log.linesWith("Redis is back in part"); len(part) > len(down) {
		t.Errorf("got the log lines %q after %q, want at most one for each", part, down)
	}
	masters[other].resume()
	await.That(t, "the cluster is logged as available again", func() bool { return len(log.linesWith("Redis is back\"")) > 0 })
}

func TestCluster(t *testing.T) {
	t.Parallel()
	url, nodes := startCluster(t)
	t.Run("KeysAreSpread", func(t *testing.T) {
		db := openDatabase(t)
		s := open(t, Options{URL: url, Database: db, Prefix: "spread"})
		subjects := make([]storage.Subject, 0, 50)
		actions := make([]storage.Action, 0, 50)
		for i := range 50 {
			subjects = append(subjects, video(strconv.Itoa(i)))
			actions = append(actions, storagetest.React(storage.User{Tenant: storage.DefaultTenant, UserID: strconv.Itoa(i)}, subjects[i], storage.Like, 1))
		}
		must.Succeed(t, s.Apply(t.Context(), actions, storage.Queued, nil))
		persist(t, db, s, actions...)
		for _, a := range actions {
			got, err := s.Interactives(t.Context(), a.User, subjects, window.KindSet)
			must.Succeed(t, err)
			for i := range got {
				wantLikes(t, got[i].BizID, got[i], 1, got[i].Subject == a.Subject)
			}
		}
		for i, node := range nodes {
			if n, err := node.command("DBSIZE").AsInt64(); err != nil || n < 10 {
				t.Errorf("node %d holds %d keys, %v, want at least 10", i, n, err)
			}
		}
	})
	t.Run("OneNodeLess", func(t *testing.T) {
		db := openDatabase(t)
		s := open(t, Options{URL: url, Database: db, Prefix: "less"})
		persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
		nodes[2].kill()
		for i := range 20 {
			subject := video(strconv.Itoa(i))
			got, err := s.Interactives(t.Context(), alice, []storage.Subject{movie, subject}, window.KindSet)
			if err != nil || got[0].LikeCount != 1 || got[0].Liked == nil {
				t.Errorf("got %+v, %v, want the first subject with one like, alice's", got, err)
			}
		}
		await.That(t, "the other masters notice the failure", func() bool {
			info, err := nodes[0].command("CLUSTER", "INFO").ToString()
			return err == nil && strings.Contains(info, "cluster_slots_fail:5")
		})
		if err := s.epochs.Probe(t.Context()); err == nil {
			t.Error("Probe of a cluster without one of its shards: got no error")
		}
	})
}
