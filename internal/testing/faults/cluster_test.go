//go:build long

package faults_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
)

// cluster holds services in which every server has a spare: a Redis Cluster of three
// masters and three replicas, three RabbitMQ nodes, and a Postgres primary with a
// synchronous standby. Processes connect to the servers directly, without links.
type cluster struct {
	dir      string
	postgres [2]*daemon
	primary  int // index in postgres
	redis    [6]*daemon
	rabbitmq [3]*daemon
}

// daemon is a server that can be killed and started again.
type daemon struct {
	port    int
	dir     string
	command func() *exec.Cmd
	process *exec.Cmd
}

// start starts the server. If this process runs as root, the server runs as an
// unprivileged user, because Postgres and RabbitMQ refuse to run as root.
func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.process = d.command()
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	must.Succeed(t, err)
	defer log.Close()
	d.process.Dir, d.process.Stdout, d.process.Stderr = d.dir, log, log
	d.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: unprivileged()}
	must.Succeed(t, d.process.Start())
}

// kill kills the server and all processes that the server has started, as the loss of
// its machine would. It may be called twice.
//
// Each Postgres process is in its own process group. A process that waits for a standby
// commits its transaction when it finds that the first process has died. The first
// process is therefore stopped until the others are dead.
func (d *daemon) kill() {
	if d.process == nil {
		return
	}
	first := d.process.Process.Pid
	_ = syscall.Kill(first, syscall.SIGSTOP)
	children, _ := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(first)).Output() // fails if there are no children
	for child := range strings.FieldsSeq(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = syscall.Kill(-first, syscall.SIGKILL) // fails if the server has exited
	_ = d.process.Wait()
	d.process = nil
}

// unprivileged returns the credentials of the user "nobody" if this process is root, and
// nil otherwise.
func unprivileged() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: 65534, Gid: 65534}
}

// runTool runs a program that belongs to a server, as the server's user. It returns the
// program's output.
func (c *cluster) runTool(name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Env = c.environment()
	command.Dir = c.dir
	command.SysProcAttr = &syscall.SysProcAttr{Credential: unprivileged()}
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func (c *cluster) environment(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "LANG=C.UTF-8"}, more...)
}

// startCluster starts a cluster and removes it at the end of the test.
func startCluster(t *testing.T) *servers {
	t.Helper()
	folder, err := os.MkdirTemp("", "ovation-cluster-") //nolint:usetesting // the user nobody cannot enter the folders of a test
	must.Succeed(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of the servers are in %s", folder)
		} else {
			_ = os.RemoveAll(folder)
		}
	})
	must.Succeed(t, os.Chmod(folder, 0o777))
	c := &cluster{dir: folder}
	s := &servers{dir: folder, urls: map[string]string{}, cluster: c}
	var all sync.WaitGroup
	all.Go(func() { s.urls[redis] = c.startRedis(t) })
	rabbit, database := "", ""
	all.Go(func() { rabbit = c.startRabbitMQ(t) })
	all.Go(func() { database = c.startPostgres(t) })
	all.Wait()
	s.urls[rabbitmq], s.urls[postgres] = rabbit, database
	if t.Failed() {
		t.FailNow()
	}
	return s
}

func (c *cluster) newDaemon(t *testing.T, name string) *daemon {
	t.Helper()
	d := &daemon{port: port.Free(t), dir: filepath.Join(c.dir, name)}
	must.Succeed(t, os.Mkdir(d.dir, 0o777))
	must.Succeed(t, os.Chmod(d.dir, 0o777))
	t.Cleanup(d.kill)
	return d
}

// --- Redis ---

func (c *cluster) startRedis(t *testing.T) string {
	t.Helper()
	create := []string{"--cluster", "create"}
	for i := range c.redis {
		d := c.newDaemon(t, fmt.Sprintf("redis-%d", i))
		bus := port.Free(t)
		d.command = func() *exec.Cmd {
			command := exec.Command("redis-server", "--port", strconv.Itoa(d.port), "--bind", "127.0.0.1", "--save", "",
				"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", "2000")
			command.Env = c.environment()
			return command
		}
		c.redis[i] = d
		d.start(t)
		create = append(create, c.redisAddress(i))
	}
	for i := range c.redis {
		awaitCondition(t, "Redis answers", func() bool { return c.redisCLI(i, "PING") == "PONG" })
	}
	_, err := c.runTool("redis-cli", append(create, "--cluster-replicas", "1", "--cluster-yes")...)
	must.Succeed(t, err)
	c.awaitRedis(t)
	return "redis://" + c.redisAddress(0) + "?addr=" + c.redisAddress(1) + "&addr=" + c.redisAddress(2)
}

func (c *cluster) redisAddress(i int) string { return fmt.Sprintf("127.0.0.1:%d", c.redis[i].port) }

// redisCLI sends a command to the i-th Redis node and returns the reply, or "" if there
// is none.
func (c *cluster) redisCLI(i int, words ...string) string {
	out, _ := c.runTool("redis-cli", append([]string{"-p", strconv.Itoa(c.redis[i].port)}, words...)...)
	return strings.TrimSpace(out)
}

// awaitRedis waits until the Redis Cluster works and every master has a replica.
func (c *cluster) awaitRedis(t *testing.T) {
	t.Helper()
	awaitCondition(t, "the Redis Cluster is whole", func() bool {
		masters := 0
		for i := range c.redis {
			said := c.redisCLI(i, "INFO", "replication")
			if strings.Contains(said, "role:master") && strings.Contains(said, "connected_slaves:1") {
				masters++
			}
			if !strings.Contains(c.redisCLI(i, "CLUSTER", "INFO"), "cluster_state:ok") {
				return false
			}
		}
		return masters == 3
	})
}

// failOverRedis kills a master and waits until its replica has taken over. Then it
// restarts the old master without data, as a replica of the new master.
func failOverRedis(t *testing.T, s *installation) {
	t.Helper()
	c := s.cluster
	master := s.random.IntN(len(c.redis))
	for !strings.Contains(c.redisCLI(master, "INFO", "replication"), "role:master") {
		master = s.random.IntN(len(c.redis))
	}
	c.redis[master].kill()
	other := (master + 1) % len(c.redis)
	awaitCondition(t, "a replica takes over", func() bool {
		for line := range strings.Lines(c.redisCLI(other, "CLUSTER", "NODES")) {
			if strings.Contains(line, fmt.Sprintf(":%d@", c.redis[master].port)) {
				return strings.Contains(line, "fail") && strings.Contains(c.redisCLI(other, "CLUSTER", "INFO"), "cluster_state:ok")
			}
		}
		return false
	})
	c.redis[master].start(t)
	c.awaitRedis(t)
}

// --- RabbitMQ ---

func (c *cluster) startRabbitMQ(t *testing.T) string {
	t.Helper()
	server := "/usr/lib/rabbitmq/bin/rabbitmq-server"
	if _, err := os.Stat(server); err != nil {
		server = "rabbitmq-server"
	}
	epmd := port.Free(t)
	t.Cleanup(func() { _ = exec.Command("epmd", "-port", strconv.Itoa(epmd), "-kill").Run() }) // after the RabbitMQ nodes have exited
	must.Succeed(t, os.WriteFile(filepath.Join(c.dir, ".erlang.cookie"), []byte("OVATIONFAULTS"), 0o400))
	if u := unprivileged(); u != nil {
		must.Succeed(t, os.Chown(filepath.Join(c.dir, ".erlang.cookie"), int(u.Uid), int(u.Gid)))
	}
	var hosts []string
	for i := range c.rabbitmq {
		d := c.newDaemon(t, fmt.Sprintf("rabbitmq-%d", i))
		distribution := port.Free(t)
		conf := fmt.Sprintf("listeners.tcp.1 = 127.0.0.1:%d\ndefault_user = ovation\ndefault_pass = faults\n"+
			"vm_memory_high_watermark.absolute = 1GB\ndisk_free_limit.absolute = 64MB\nraft.wal_max_size_bytes = 67108864\n"+
			"cluster_formation.peer_discovery_backend = classic_config\n", d.port)
		for j := range c.rabbitmq {
			conf += fmt.Sprintf("cluster_formation.classic_config.nodes.%d = faults%d@localhost\n", j+1, j)
		}
		must.Succeed(t, os.WriteFile(filepath.Join(d.dir, "rabbitmq.conf"), []byte(conf), 0o644))
		must.Succeed(t, os.WriteFile(filepath.Join(d.dir, "plugins"), []byte("[]."), 0o644))
		d.command = func() *exec.Cmd {
			command := exec.Command(server)
			command.Env = c.environment("ERL_EPMD_PORT="+strconv.Itoa(epmd), "ERL_EPMD_ADDRESS=127.0.0.1",
				fmt.Sprintf("RABBITMQ_NODENAME=faults%d@localhost", i), "RABBITMQ_DIST_PORT="+strconv.Itoa(distribution),
				"RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_CONFIG_FILE="+filepath.Join(d.dir, "rabbitmq.conf"),
				"RABBITMQ_ADVANCED_CONFIG_FILE="+filepath.Join(d.dir, "none.config"),
				"RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(d.dir, "plugins"), "RABBITMQ_MNESIA_BASE="+filepath.Join(d.dir, "data"),
				"RABBITMQ_GENERATED_CONFIG_DIR="+filepath.Join(d.dir, "generated"), "RABBITMQ_LOG_BASE="+d.dir, "RABBITMQ_LOGS=-",
				"RUNNING_UNDER_SYSTEMD=true", "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}")
			return command
		}
		c.rabbitmq[i] = d
		d.start(t)
		c.awaitRabbitMQ(t, i) // one node after another, so that they find each other
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", d.port))
	}
	return "amqp://ovation:faults@" + startTCPBalancer(t, hosts) + "/"
}

// startTCPBalancer starts a TCP load balancer, as is common in front of RabbitMQ, and
// returns its address. The balancer forwards each connection to a host that accepts it.
func startTCPBalancer(t *testing.T, hosts []string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	var all sync.WaitGroup
	open := make(map[net.Conn]bool)
	var mu sync.Mutex
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for connection := range open {
			_ = connection.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	all.Go(func() {
		for n := 0; ; n++ {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[client] = true
			mu.Unlock()
			all.Go(func() {
				proxyToFirst(client, hosts, n)
				mu.Lock()
				delete(open, client)
				mu.Unlock()
			})
		}
	})
	return listener.Addr().String()
}

// proxyToFirst tries the hosts in order, beginning with the n-th. It forwards traffic
// between the client and the first host that answers, until either side closes the
// connection.
func proxyToFirst(client net.Conn, hosts []string, n int) {
	defer client.Close()
	for i := range hosts {
		server, err := net.Dial("tcp", hosts[(n+i)%len(hosts)])
		if err != nil {
			continue
		}
		defer server.Close()
		var both sync.WaitGroup
		both.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
		_, _ = io.Copy(client, server)
		_ = client.Close()
		both.Wait()
		return
	}
}

// awaitRabbitMQ waits until the i-th node answers the protocol header.
func (c *cluster) awaitRabbitMQ(t *testing.T, i int) {
	t.Helper()
	awaitCondition(t, "a RabbitMQ node answers", func() bool {
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.rabbitmq[i].port))
		if err != nil {
			return false
		}
		defer connection.Close()
		_, err = connection.Write([]byte("AMQP\x00\x00\x09\x01"))
		answer := make([]byte, 1)
		if err == nil {
			_, err = connection.Read(answer)
		}
		return err == nil && bytes.Equal(answer, []byte{1})
	})
}

// failOverRabbitMQ kills a RabbitMQ node and starts it again after a while.
func failOverRabbitMQ(t *testing.T, s *installation) {
	t.Helper()
	i := s.random.IntN(len(s.cluster.rabbitmq))
	s.cluster.rabbitmq[i].kill()
	s.runFor(failoverDowntime)
	s.cluster.rabbitmq[i].start(t)
	s.cluster.awaitRabbitMQ(t, i)
}

// --- Postgres ---

func postgresBinDir(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_basebackup")
	must.Succeed(t, err)
	if path, err := exec.LookPath("pg_basebackup"); err == nil && len(found) == 0 {
		found = append(found, path)
	}
	if len(found) == 0 {
		t.Fatal("pg_basebackup is not installed: install PostgreSQL")
	}
	return filepath.Dir(found[len(found)-1])
}

func (c *cluster) startPostgres(t *testing.T) string {
	t.Helper()
	bin := postgresBinDir(t)
	var hosts []string
	for i := range c.postgres {
		d := c.newDaemon(t, fmt.Sprintf("postgres-%d", i))
		d.command = func() *exec.Cmd {
			command := exec.Command(filepath.Join(bin, "postgres"), "-D", filepath.Join(d.dir, "data"), "-p", strconv.Itoa(d.port))
			command.Env = c.environment()
			return command
		}
		c.postgres[i] = d
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", d.port))
	}
	data := filepath.Join(c.postgres[0].dir, "data")
	_, err := c.runTool(filepath.Join(bin, "initdb"), "-D", data, "-U", "ovation", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	must.Succeed(t, err)
	file, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	must.Succeed(t, err)
	_, err = file.WriteString("listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nmax_connections = 200\ndynamic_shared_memory_type = mmap\nwal_keep_size = 256MB\n")
	must.Succeed(t, err)
	must.Succeed(t, file.Close())
	c.postgres[0].start(t)
	c.execSQL(t, 0, "CREATE DATABASE ovation", "ALTER SYSTEM SET synchronous_standby_names = '*'")
	c.startStandby(t, 1)
	c.execSQL(t, 0, "SELECT pg_reload_conf()")
	return "postgres://ovation@" + strings.Join(hosts, ",") + "/ovation?sslmode=disable&target_session_attrs=read-write"
}

// execSQL runs statements on a server as soon as the server answers.
func (c *cluster) execSQL(t *testing.T, i int, statements ...string) {
	t.Helper()
	var connection *pgx.Conn
	awaitCondition(t, "Postgres answers", func() (ok bool) {
		var err error
		connection, err = pgx.Connect(t.Context(), fmt.Sprintf("postgres://ovation@127.0.0.1:%d/postgres?sslmode=disable", c.postgres[i].port))
		return err == nil
	})
	defer connection.Close(t.Context())
	for _, statement := range statements {
		_, err := connection.Exec(t.Context(), statement)
		must.Succeed(t, err)
	}
}

// startStandby makes the i-th Postgres server a synchronous standby of the other server.
// It begins with a new copy of the other server's data.
func (c *cluster) startStandby(t *testing.T, i int) {
	t.Helper()
	d, primary := c.postgres[i], c.postgres[1-i]
	must.Succeed(t, os.RemoveAll(filepath.Join(d.dir, "data")))
	_, err := c.runTool(filepath.Join(postgresBinDir(t), "pg_basebackup"), "-D", filepath.Join(d.dir, "data"), "-R", "-X", "stream", "-c", "fast", "--no-sync",
		"-d", fmt.Sprintf("postgres://ovation@127.0.0.1:%d/postgres?sslmode=disable", primary.port))
	must.Succeed(t, err)
	d.start(t)
}

// awaitStandby waits until the standby is synchronous, so that commits on the primary
// wait for it.
func (c *cluster) awaitStandby(t *testing.T) {
	t.Helper()
	awaitCondition(t, "the standby is synchronous", func() (synchronous bool) {
		connection, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://ovation@127.0.0.1:%d/postgres?sslmode=disable", c.postgres[c.primary].port))
		if err != nil {
			return false
		}
		defer connection.Close(t.Context())
		err = connection.QueryRow(t.Context(), `SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&synchronous)
		return err == nil && synchronous
	})
}
