package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ovation/storage"
)

// startCluster starts a cluster of three masters and returns its URL.
func startCluster(t *testing.T) (url string, nodes []*server) {
	t.Helper()
	for i := range 3 {
		s := startServer(t, "--cluster-enabled", "yes", "--cluster-config-file", fmt.Sprintf("nodes-%d.conf", i),
			"--cluster-node-timeout", "2000", "--cluster-port", strconv.Itoa(freePort(t)))
		nodes = append(nodes, s)
		from, to := i*16384/3, (i+1)*16384/3-1
		must(t, s.command("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)).Error())
		if i > 0 {
			first := nodes[0]
			bus := first.args[len(first.args)-1]
			must(t, s.command("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(first.port), bus).Error())
		}
	}
	for _, s := range nodes {
		eventually(t, "the cluster is whole", func() bool {
			info, err := s.command("CLUSTER", "INFO").ToString()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	return nodes[0].url(), nodes
}

func TestCluster(t *testing.T) {
	url, nodes := startCluster(t)
	t.Run("Suite", func(t *testing.T) { runSuite(t, url) })
	t.Run("KeysAreSpread", func(t *testing.T) {
		db := openDatabase(t)
		s := open(t, Options{URL: url, Database: db, Prefix: "spread"})
		subjects := make([]storage.Subject, 0, 50)
		actions := make([]storage.Action, 0, 50)
		for i := range 50 {
			subjects = append(subjects, video(strconv.Itoa(i)))
			actions = append(actions, react(storage.User{Tenant: storage.DefaultTenant, UserID: strconv.Itoa(i)}, subjects[i], storage.Like, 1))
		}
		must(t, s.Show(t.Context(), actions, storage.Queued))
		persist(t, db, s, actions...)
		for _, a := range actions {
			got, err := s.Interactives(t.Context(), a.User, subjects, windowStates)
			must(t, err)
			for i := range got {
				wantLikes(t, got[i].BizID, got[i], 1, got[i].Subject == a.Subject)
			}
		}
		for i, node := range nodes {
			if n, err := node.command("DBSIZE").AsInt64(); err != nil || n < 10 {
				t.Errorf("node %d holds %d keys, %v", i, n, err)
			}
		}
	})
	t.Run("OneNodeLess", func(t *testing.T) {
		db := openDatabase(t)
		s := open(t, Options{URL: url, Database: db, Prefix: "less", RedisTimeout: short})
		persist(t, db, s, react(alice, movie, storage.Like, 10))
		nodes[2].kill()
		for i := range 20 {
			subject := video(strconv.Itoa(i))
			got, err := s.Interactives(t.Context(), alice, []storage.Subject{movie, subject}, windowStates)
			if err != nil || got[0].LikeCount != 1 || got[0].Liked == nil {
				t.Errorf("%+v, %v", got, err)
			}
		}
		eventually(t, "the others know", func() bool {
			info, err := nodes[0].command("CLUSTER", "INFO").ToString()
			return err == nil && strings.Contains(info, "cluster_slots_fail:5")
		})
		if err := s.probe(t.Context()); err == nil {
			t.Error("a cluster without one of its shards is believed")
		}
	})
}
