//go:build long

package amqp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
)

// startCluster starts n nodes and waits until they have formed a cluster.
func startCluster(t *testing.T, n int) []*broker {
	t.Helper()
	bin, folder, names := programs(t), t.TempDir(), startEPMD(t)
	config := "cluster_formation.peer_discovery_backend = classic_config\n"
	var nodes []*broker
	for i := range n {
		nodes = append(nodes, newBroker(bin, folder, names, []int{port.Free(t), port.Free(t)}))
		config += fmt.Sprintf("cluster_formation.classic_config.nodes.%d = %s\n", i+1, nodes[i].node)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(folder, "rabbitmq.conf"), []byte(config), 0o600))
	must.Succeed(t, os.WriteFile(filepath.Join(folder, ".erlang.cookie"), []byte("OVATIONTESTS"), 0o400))
	var starting sync.WaitGroup
	for _, b := range nodes {
		starting.Go(func() { b.start(t) })
	}
	starting.Wait()
	for _, b := range nodes {
		t.Cleanup(func() { b.kill(t) })
	}
	await.That(t, "the nodes are a cluster", func() bool {
		var status struct {
			Running []string `json:"running_nodes"`
		}
		err := json.Unmarshal(nodes[0].rabbitmqctl(t, "cluster_status", "--formatter", "json"), &status)
		return err == nil && len(status.Running) == n
	})
	return nodes
}

// rabbitmqctl runs rabbitmqctl and returns what it prints.
func (b *broker) rabbitmqctl(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(filepath.Join(b.bin, "rabbitmqctl"), append([]string{"--silent"}, args...)...)
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("rabbitmqctl %v: %v\n%s", args, err, out)
	}
	return out
}

// The leaders of the partitions are spread over the nodes of a cluster, whichever node
// the first process connects to.
func TestLongLeadersAreSpreadOverTheNodes(t *testing.T) {
	const partitions = 6
	nodes := startCluster(t, 3)
	q := open(t, Options{URL: nodes[0].url(), Prefix: "spread", Partitions: partitions})
	for partition := range partitions {
		publish(t, q, partition, fmt.Sprint("message-", partition))
	}
	leads := map[string]int{}
	for line := range strings.Lines(string(nodes[0].rabbitmqctl(t, "list_queues", "name", "leader"))) {
		name, leader, _ := strings.Cut(strings.TrimSpace(line), "\t")
		var partition int
		if n, _ := fmt.Sscanf(name, "spread.%d", &partition); n == 1 {
			leads[leader]++
		}
	}
	for _, b := range nodes {
		if leads[b.node] < 1 || leads[b.node] > partitions/2 {
			t.Errorf("got %d leaders on %s, want 1 to %d: %v", leads[b.node], b.node, partitions/2, leads)
			break
		}
	}
}
