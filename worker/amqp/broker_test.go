package amqp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
	"ovation/storage"
	"ovation/worker"
)

// broker is a RabbitMQ node that one test uses alone, and may kill or disturb.
type broker struct {
	bin     string
	env     []string
	port    int
	node    string
	server  *exec.Cmd
	stopped chan error
	shell   io.Writer // input of the node's Erlang shell
	answers chan string
}

// startBroker starts a broker with an empty folder and waits until it answers.
func startBroker(t *testing.T) *broker {
	t.Helper()
	b := newBroker(programs(t), t.TempDir(), startEPMD(t), []int{port.Free(t), port.Free(t)})
	b.start(t)
	t.Cleanup(func() { b.kill(t) })
	return b
}

// programs returns the folder of RabbitMQ's programs.
func programs(t *testing.T) string {
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
	return filepath.Dir(found[0])
}

// startEPMD starts a name server for nodes, and returns its port. Otherwise, a node would
// start a name server that outlives it.
func startEPMD(t *testing.T) int {
	t.Helper()
	port := port.Free(t)
	names := exec.Command("epmd", "-address", "127.0.0.1", "-port", strconv.Itoa(port))
	must.Succeed(t, names.Start())
	t.Cleanup(func() { _, _ = names.Process.Kill(), names.Wait() })
	return port
}

// newBroker makes a node that keeps all its files in the folder. Nodes of a cluster share
// the folder.
func newBroker(bin, folder string, names int, ports []int) *broker {
	b := &broker{bin: bin, port: ports[0], node: "test" + strconv.Itoa(ports[0]) + "@localhost"}
	own := folder + "/" + strconv.Itoa(ports[0])
	b.env = append(os.Environ(),
		"HOME="+folder, // the folder of the cookie
		"RABBITMQ_NODENAME="+b.node,
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT="+strconv.Itoa(ports[0]),
		"RABBITMQ_DIST_PORT="+strconv.Itoa(ports[1]),
		"ERL_EPMD_PORT="+strconv.Itoa(names), "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_MNESIA_BASE="+own+"/data", "RABBITMQ_LOG_BASE="+own+"/log",
		"RABBITMQ_PID_FILE="+own+"/pid",
		"RABBITMQ_ENABLED_PLUGINS_FILE="+folder+"/plugins", "RABBITMQ_CONFIG_FILE="+folder+"/rabbitmq",
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 1:1",
		"RABBITMQ_ALLOW_INPUT=1", // starts a shell
	)
	return b
}

func (b *broker) start(t *testing.T) {
	t.Helper()
	b.server = exec.Command(filepath.Join(b.bin, "rabbitmq-server"))
	b.server.Env = b.env
	b.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell, err := b.server.StdinPipe()
	must.Succeed(t, err)
	prints, err := b.server.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, b.server.Start())
	stopped, answers, server := make(chan error, 1), make(chan string, 1), b.server
	b.shell, b.stopped, b.answers = shell, stopped, answers
	go func() {
		for lines := bufio.NewScanner(prints); lines.Scan(); {
			if _, answer, is := strings.Cut(lines.Text(), resultPrefix); is {
				answers <- answer
			}
		}
	}()
	go func() { stopped <- server.Wait() }() // which ends the reading, too
	late := time.Now().Add(waitTimeout)
	for {
		s, err := dial(t.Context(), Options{URL: b.url()}.withDefaults(), "test")
		if err == nil {
			s.close()
			return
		}
		select {
		case err := <-stopped:
			t.Fatalf("the broker ended while it was starting: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(late) {
			t.Fatalf("the broker does not answer within %v: %v", waitTimeout, err)
		}
	}
}

// kill ends the node immediately, as a crash would.
func (b *broker) kill(t *testing.T) {
	t.Helper()
	_ = syscall.Kill(-b.server.Process.Pid, syscall.SIGKILL)
	<-b.stopped
	b.stopped <- nil // it may be killed again
}

func (b *broker) url() string { return fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", b.port) }

// resultPrefix precedes a result that the shell prints.
const resultPrefix = "answer: "

// do evaluates an Erlang expression in the node's shell; the result must be ok. It is
// used instead of rabbitmqctl, which takes a second or two of CPU time per call.
func (b *broker) do(t *testing.T, expression string) {
	t.Helper()
	if _, err := fmt.Fprintf(b.shell, "io:format(\"~n"+resultPrefix+"~0p~n\", [catch %s]).\n", expression); err != nil {
		t.Fatal(err)
	}
	select {
	case answer := <-b.answers:
		if answer != "ok" {
			t.Fatalf("%s: got %s, want ok", expression, answer)
		}
	case <-time.After(waitTimeout):
		t.Fatalf("%s: got no answer within %v, want ok", expression, waitTimeout)
	}
}

func TestBrokerInTrouble(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	t.Run("missing permissions are named", func(t *testing.T) { missingPermissions(t, b) })
	t.Run("an alarm of memory makes it unavailable", func(t *testing.T) { alarm(t, b, "vm_memory_monitor:set_vm_memory_high_watermark(%s)", "0.0", "0.9") })
	t.Run("an alarm of the disk makes it unavailable", func(t *testing.T) { alarm(t, b, "rabbit_disk_monitor:set_disk_free_limit(%s)", `"1000000GB"`, `"1MB"`) })
	t.Run("a crash loses nothing confirmed", func(t *testing.T) { crash(t, b) })
}

// ownOptions returns the options for a broker that only this test uses.
func ownOptions(t *testing.T, b *broker) Options {
	t.Helper()
	opts := options(t)
	opts.URL, opts.durableAfter = b.url(), 0
	return opts
}

func missingPermissions(t *testing.T, b *broker) {
	t.Helper()
	opts := ownOptions(t, b)
	open(t, opts) // for queues that exist, the broker checks fewer permissions
	opts.URL = strings.Replace(opts.URL, "guest:guest", "poor:poor", 1)
	queues := `^` + opts.Prefix + `\.`
	b.do(t, `rabbit_auth_backend_internal:add_user(<<"poor">>, <<"poor">>, <<"test">>)`)
	allow := func(permissions ...string) { // to configure, write and read
		var list string
		for _, p := range permissions {
			list += strconv.Quote(p) + ", "
		}
		b.do(t, fmt.Sprintf(`erlang:apply(rabbit_auth_backend_internal, set_permissions, [list_to_binary(A) || A <- ["poor", "/", %s"test"]])`, list))
	}
	for missing, permissions := range map[string][]string{
		"configure": {"^nothing$", ".*", ".*"},
		"write":     {queues, queues, queues},
		"read":      {queues, queues + `|^amq\.default$`, "^nothing$"},
	} {
		allow(permissions...)
		_, err := Open(t.Context(), opts)
		if err == nil || !strings.Contains(err.Error(), "needs the permissions to configure, write and read "+queues) ||
			!strings.Contains(err.Error(), "rabbitmqctl set_permissions") {
			t.Errorf("Open without the permission to %s: got %v, want an error that names the permissions on %s and rabbitmqctl set_permissions", missing, err, queues)
		}
	}
	allow(queues, queues+`|^amq\.default$`, queues)
	publish(t, open(t, opts), 0, "allowed")
}

// alarm tests publishing and consuming during a broker alarm. The parameter limit is a
// format for the Erlang expression that sets a limit. Setting the limit to on raises the
// alarm, and setting it to off clears the alarm.
func alarm(t *testing.T, b *broker, limit, on, off string) {
	t.Helper()
	opts := ownOptions(t, b)
	opts.Grace = 50 * time.Millisecond
	opts.Metrics = NewMetrics(prometheus.NewRegistry(), worker.Records|worker.Works)
	log := &logBuffer{}
	opts.Logger = log.logger()
	q := open(t, opts)
	publish(t, q, 0, "before")
	b.do(t, fmt.Sprintf(limit, on))
	await.That(t, "the broker reports the alarm after a publish", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := q.Publish(ctx, 0, message("beginning"))
		if err != nil && !errors.Is(err, storage.ErrUnavailable) {
			t.Fatalf("Publish as an alarm begins: got %v, want %v or no error", err, storage.ErrUnavailable)
		}
		return testutil.ToFloat64(opts.Metrics.alarm) == 1
	})
	for range 3 {
		if _, err := q.Publish(t.Context(), 0, message("during")); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Publish during an alarm: got %v, want %v", err, storage.ErrUnavailable)
		}
	}
	if got := receive(t, consume(t, q)); got.Message().ID != "before" { // confirmed messages can still be consumed
		t.Errorf("got message %s, want before", got.Message().ID)
	} else if err := got.Ack(); err != nil {
		t.Error(err)
	}
	b.do(t, fmt.Sprintf(limit, off))
	await.That(t, "the alarm is over", func() bool {
		_, err := q.Publish(t.Context(), 0, message("after"))
		return err == nil
	})
	await.That(t, "the gauge of the alarm is off", func() bool { return testutil.ToFloat64(opts.Metrics.alarm) == 0 })
	if n := log.count("because of an alarm"); n != 1 {
		t.Errorf("got %d log lines about the alarm, want 1", n)
	}
	if n := log.count("connection to RabbitMQ lost"); n != 0 {
		t.Errorf("got %d log lines about a lost connection, want none", n)
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
			publishConcurrently(t, q, 4, 10, func(string) {}) // other messages at the same time
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
		t.Errorf("Publish to a killed broker: got %v, want %v", err, storage.ErrUnavailable)
	}
	b.start(t)
	mu.Lock()
	before := len(confirmed)
	mu.Unlock()
	await.That(t, "messages are confirmed again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(confirmed) > before+20
	})
	close(stop)
	<-done
	for _, id := range confirmed {
		await.That(t, fmt.Sprintf("message %s, which was confirmed, is received", id), func() bool { return got.has(id) })
	}
}
