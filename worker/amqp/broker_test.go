package amqp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/internal/testing/port"
	"ovation/storage"
)

// broker is a RabbitMQ of the test's own, which may be hurt.
type broker struct {
	bin     string
	env     []string
	port    int
	node    string
	server  *exec.Cmd
	stopped chan error
}

// startBroker starts one with an empty folder and waits until it answers.
func startBroker(t *testing.T) *broker {
	t.Helper()
	brokerURL(t) // skips or fails where there are no servers
	found, _ := filepath.Glob("/usr/lib/rabbitmq/bin/rabbitmq-server")
	if path, err := exec.LookPath("rabbitmq-server"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("rabbitmq-server is not installed")
		}
		t.Skip("rabbitmq-server is not installed: these tests hurt one of their own")
	}
	b := newBroker(filepath.Dir(found[0]), t.TempDir(), startNames(t), []int{port.Free(t), port.Free(t)})
	b.start(t)
	t.Cleanup(func() { b.kill(t) })
	return b
}

// startNames starts a name server for nodes, and returns its port. A node would
// otherwise start one that outlives it.
func startNames(t *testing.T) int {
	t.Helper()
	port := port.Free(t)
	names := exec.Command("epmd", "-address", "127.0.0.1", "-port", strconv.Itoa(port))
	if err := names.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = names.Process.Kill(), names.Wait() })
	return port
}

// newBroker makes a node that keeps everything in a folder, which nodes of a
// cluster share.
func newBroker(bin, folder string, names int, ports []int) *broker {
	b := &broker{bin: bin, port: ports[0], node: "test" + strconv.Itoa(ports[0]) + "@localhost"}
	own := folder + "/" + strconv.Itoa(ports[0])
	b.env = append(os.Environ(),
		"HOME="+folder, // of the cookie
		"RABBITMQ_NODENAME="+b.node,
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT="+strconv.Itoa(ports[0]),
		"RABBITMQ_DIST_PORT="+strconv.Itoa(ports[1]),
		"ERL_EPMD_PORT="+strconv.Itoa(names), "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_MNESIA_BASE="+own+"/data", "RABBITMQ_LOG_BASE="+own+"/log",
		"RABBITMQ_PID_FILE="+own+"/pid",
		"RABBITMQ_ENABLED_PLUGINS_FILE="+folder+"/plugins", "RABBITMQ_CONFIG_FILE="+folder+"/rabbitmq",
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 1:1",
	)
	return b
}

func (b *broker) start(t *testing.T) {
	t.Helper()
	b.server = exec.Command(filepath.Join(b.bin, "rabbitmq-server"))
	b.server.Env = b.env
	b.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := b.server.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	b.stopped = stopped
	server := b.server
	go func() { stopped <- server.Wait() }()
	late := time.Now().Add(time.Minute)
	for {
		s, err := dial(t.Context(), Options{URL: b.url()}.withDefaults(), "test")
		if err == nil {
			s.close()
			return
		}
		select {
		case err := <-stopped:
			t.Fatalf("the broker ended: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(late) {
			t.Fatalf("the broker does not answer: %v", err)
		}
	}
}

// kill ends it at once, as a crash would.
func (b *broker) kill(t *testing.T) {
	t.Helper()
	_ = syscall.Kill(-b.server.Process.Pid, syscall.SIGKILL)
	<-b.stopped
	b.stopped <- nil // it may be killed again
}

func (b *broker) url() string { return fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", b.port) }

func (b *broker) ctl(t *testing.T, args ...string) {
	t.Helper()
	b.tell(t, args...)
}

// tell runs rabbitmqctl and returns what it prints.
func (b *broker) tell(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(filepath.Join(b.bin, "rabbitmqctl"), append([]string{"--silent"}, args...)...)
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("rabbitmqctl %v: %v\n%s", args, err, out)
	}
	return out
}

func TestBrokerInTrouble(t *testing.T) {
	b := startBroker(t)
	t.Run("missing permissions are named", func(t *testing.T) { missingPermissions(t, b) })
	t.Run("an alarm of memory makes it unavailable", func(t *testing.T) { alarm(t, b, "set_vm_memory_high_watermark", "0", "0.9") })
	t.Run("an alarm of the disk makes it unavailable", func(t *testing.T) { alarm(t, b, "set_disk_free_limit", "1000000GB", "1MB") })
	t.Run("a crash loses nothing confirmed", func(t *testing.T) { crash(t, b) })
}

// ownOptions are those for a broker of the test's own.
func ownOptions(t *testing.T, b *broker) Options {
	t.Helper()
	opts := options(t)
	opts.URL, opts.settle = b.url(), 0
	return opts
}

func missingPermissions(t *testing.T, b *broker) {
	t.Helper()
	opts := ownOptions(t, b)
	open(t, opts) // the queues are there, of which the broker checks less
	opts.URL = strings.Replace(opts.URL, "guest:guest", "poor:poor", 1)
	queues := `^` + opts.Prefix + `\.`
	b.ctl(t, "add_user", "poor", "poor")
	for missing, permissions := range map[string][]string{
		"configure": {"^nothing$", ".*", ".*"},
		"write":     {queues, queues, queues},
		"read":      {queues, queues + `|^amq\.default$`, "^nothing$"},
	} {
		b.ctl(t, append([]string{"set_permissions", "poor"}, permissions...)...)
		_, err := Open(t.Context(), opts)
		if err == nil || !strings.Contains(err.Error(), "needs the permissions to configure, write and read "+queues) ||
			!strings.Contains(err.Error(), "rabbitmqctl set_permissions") {
			t.Errorf("Open without the permission to %s: %v", missing, err)
		}
	}
	b.ctl(t, "set_permissions", "poor", queues, queues+`|^amq\.default$`, queues)
	publish(t, open(t, opts), 0, "allowed")
}

// alarm sets a limit of the broker so that an alarm goes on, and then off.
func alarm(t *testing.T, b *broker, limit, on, off string) {
	t.Helper()
	opts := ownOptions(t, b)
	opts.Grace, opts.ConfirmTimeout = 200*time.Millisecond, 100*time.Millisecond
	opts.Metrics = NewMetrics(prometheus.NewRegistry(), Publishes|Consumes)
	log := &logged{}
	opts.Logger = log.logger()
	q := open(t, opts)
	publish(t, q, 0, "before")
	b.ctl(t, limit, on)
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := q.Publish(ctx, 0, message("during"))
		cancel()
		if !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Publish during an alarm returned %v", err)
		}
	}
	if n := testutil.ToFloat64(opts.Metrics.alarm); n != 1 {
		t.Errorf("the gauge of the alarm says %v", n)
	}
	if got := receive(t, consume(t, q)); got.Message().ID != "before" { // what was confirmed can be worked off
		t.Errorf("got message %s", got.Message().ID)
	} else if err := got.Ack(); err != nil {
		t.Error(err)
	}
	b.ctl(t, limit, off)
	eventually(t, "the alarm is over", func() bool {
		_, err := q.Publish(t.Context(), 0, message("after"))
		return err == nil
	})
	eventually(t, "the gauge of the alarm is off", func() bool { return testutil.ToFloat64(opts.Metrics.alarm) == 0 })
	if n := log.count("an alarm is on"); n != 1 {
		t.Errorf("the alarm was logged %d times", n)
	}
	if n := log.count("connection to RabbitMQ lost"); n != 0 {
		t.Errorf("the connection was given up %d times", n)
	}
}

func crash(t *testing.T, b *broker) {
	t.Helper()
	opts := ownOptions(t, b)
	opts.Grace = 100 * time.Millisecond
	q := open(t, opts)
	got := collect(t, q)
	var mu sync.Mutex
	var confirmed []string
	half, once := make(chan struct{}), sync.Once{}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for round := 0; ; round++ {
			select {
			case <-stop:
				return
			default:
			}
			load(t, q, 4, 10, func(string) {}) // others at the same time
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			id := fmt.Sprint("round-", round)
			if _, err := q.Publish(ctx, round%q.Partitions(), message(id)); err == nil {
				mu.Lock()
				confirmed = append(confirmed, id)
				if round > q.Partitions() {
					once.Do(func() { close(half) })
				}
				mu.Unlock()
			}
			cancel()
		}
	}()
	<-half
	b.kill(t)
	if _, err := q.Publish(t.Context(), 0, message("nowhere")); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Publish to a broker that is dead returned %v", err)
	}
	b.start(t)
	mu.Lock()
	before := len(confirmed)
	mu.Unlock()
	eventually(t, "messages are confirmed again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(confirmed) > before+20
	})
	close(stop)
	<-done
	for _, id := range confirmed {
		eventually(t, "message "+id, func() bool { return got.has(id) })
	}
}
