package postgres

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
	"ovation/internal/testing/postgrestest"
)

// ownServer is a Postgres server that belongs to one test, with a password and TLS.
type ownServer struct {
	port     int
	password string
	folder   string // accessible to the server's user
	ca       string // file with the certificate of the authority that signed the server's certificate
	process  *exec.Cmd
}

// url returns the URL of the server's database at the host. The argument parameters holds
// alternating names and values.
func (s *ownServer) url(tb testing.TB, host string, parameters ...string) string {
	tb.Helper()
	return withParameters(tb, "postgres://ovation:"+s.password+"@"+net.JoinHostPort(host, strconv.Itoa(s.port))+"/postgres", parameters...)
}

// startServer starts a server on a free port. Its certificate is for localhost and not
// for 127.0.0.1.
func startServer(tb testing.TB) *ownServer {
	tb.Helper()
	programs := programsOf(tb)
	s := newServer(tb, "s3cr-"+rand.Text())
	password := filepath.Join(s.folder, "password")
	must.Succeed(tb, os.WriteFile(password, []byte(s.password), 0o644))
	run(tb, exec.Command(filepath.Join(programs, "initdb"), "-D", filepath.Join(s.folder, "data"), "-U", "ovation", "-A", "scram-sha-256",
		"--pwfile="+password, "-E", "UTF8", "--locale=C", "--no-sync"))
	tb.Cleanup(s.stop)
	s.start(tb)
	return s
}

// newServer returns a server with a port, a folder and a certificate, but without data.
func newServer(tb testing.TB, password string) *ownServer {
	tb.Helper()
	folder, err := os.MkdirTemp("", "ovation-postgres") //nolint:usetesting // whose folders only root can enter
	must.Succeed(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	s := &ownServer{port: port.Free(tb), password: password, folder: folder, ca: filepath.Join(folder, "ca.pem")}
	certify(tb, s.ca, filepath.Join(folder, "server.pem"), filepath.Join(folder, "server.key"))
	s.chown(tb, folder)
	s.chown(tb, filepath.Join(folder, "server.key"))
	return s
}

// start starts the server and waits until it answers.
func (s *ownServer) start(tb testing.TB) {
	tb.Helper()
	s.process = exec.Command(filepath.Join(programsOf(tb), "postgres"), "-D", filepath.Join(s.folder, "data"), "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "ssl=on", "-c", "ssl_cert_file="+filepath.Join(s.folder, "server.pem"), "-c", "ssl_key_file="+filepath.Join(s.folder, "server.key"))
	unprivileged(s.process)
	must.Succeed(tb, s.process.Start())
	await.That(tb, "the Postgres server answers", func() bool {
		c, err := pgx.Connect(tb.Context(), s.url(tb, "127.0.0.1"))
		if err == nil {
			must.Succeed(tb, c.Close(tb.Context()))
		}
		return err == nil
	})
}

// stop ends the server as a crash would.
func (s *ownServer) stop() {
	if s.process != nil {
		_ = s.process.Process.Signal(syscall.SIGQUIT) // fails if the server has ended
		_ = s.process.Wait()
		s.process = nil
	}
}

// programsOf returns the folder that holds the Postgres programs, such as initdb. It
// skips the test if they are not installed, or fails it in CI.
func programsOf(tb testing.TB) string {
	tb.Helper()
	path, _ := exec.LookPath("initdb")
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	for _, at := range append([]string{path}, found...) {
		if at, err := filepath.EvalSymlinks(at); err == nil && at != "" {
			return filepath.Dir(at)
		}
	}
	if os.Getenv("CI") != "" {
		tb.Fatal("initdb is not installed")
	}
	tb.Skip("initdb is not installed: a server of the test's own cannot be made")
	return ""
}

const nobody = 65534

// unprivileged makes a command run as the user nobody if the test runs as root, because
// Postgres refuses to run as root.
func unprivileged(command *exec.Cmd) {
	command.Env, command.Dir = []string{"LANG=C.UTF-8"}, "/"
	if os.Getuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// chown makes the server's user the owner of a file.
func (s *ownServer) chown(tb testing.TB, path string) {
	tb.Helper()
	if os.Getuid() == 0 {
		must.Succeed(tb, os.Chown(path, nobody, nobody))
	}
}

func run(tb testing.TB, command *exec.Cmd) {
	tb.Helper()
	unprivileged(command)
	if out, err := command.CombinedOutput(); err != nil {
		tb.Fatalf("run %s: %v: %s", command, err, out)
	}
}

// certify creates a certificate authority, and a certificate for localhost that the
// authority signs. It writes both certificates, and the key of the certificate for
// localhost.
func certify(tb testing.TB, authority, certificate, key string) {
	tb.Helper()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(tb, err)
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(tb, err)
	private, err := x509.MarshalPKCS8PrivateKey(serverKey)
	must.Succeed(tb, err)
	writePEM(tb, key, "PRIVATE KEY", private, 0o600)
	for _, of := range []struct {
		file   string
		is     *x509.Certificate
		public any
	}{{authority, ca, &caKey.PublicKey}, {certificate, server, &serverKey.PublicKey}} {
		raw, err := x509.CreateCertificate(rand.Reader, of.is, ca, of.public, caKey)
		must.Succeed(tb, err)
		writePEM(tb, of.file, "CERTIFICATE", raw, 0o644)
	}
}

func writePEM(tb testing.TB, file, kind string, raw []byte, mode os.FileMode) {
	tb.Helper()
	must.Succeed(tb, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), mode))
}

// TestPrivilegesOfEveryTableAreChecked checks that the variables tables and sequences
// name every relation that the migrations create. A user who may not use one of the
// relations therefore gets an error before the first action.
func TestPrivilegesOfEveryTableAreChecked(t *testing.T) {
	at := postgrestest.Schema(t)
	for kind, want := range map[string][]string{"r": tables, "S": sequences} {
		made := ask[[]string](t, at, `SELECT array_agg(relname::text ORDER BY relname) FROM pg_class
			WHERE relnamespace = current_schema::regnamespace AND relkind = $1::text::"char" AND relname NOT LIKE 'goose%'`, kind)
		if !slices.Equal(made, want) {
			t.Errorf("got the relations %v of the kind %q, want %v", made, kind, want)
		}
	}
}

// TestServerThatRefusesSaysWhy checks, with a real server, that the errors that Open and
// Migrate return name the cause of a refusal.
func TestServerThatRefusesSaysWhy(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	plain := s.url(t, "127.0.0.1")
	postgrestest.Exec(t, plain, `CREATE ROLE weak LOGIN PASSWORD '`+s.password+`'`,
		`CREATE SCHEMA hidden`, `CREATE SCHEMA seen`, `GRANT USAGE ON SCHEMA seen TO weak`,
		`CREATE SCHEMA made`, `GRANT USAGE ON SCHEMA made TO weak`,
		`CREATE SCHEMA half`, `GRANT USAGE ON SCHEMA half TO weak`,
		`CREATE SCHEMA mute`, `GRANT USAGE ON SCHEMA mute TO weak`,
		`CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
	postgrestest.Migrate(t, withParameters(t, plain, "search_path", "made"))
	postgrestest.Migrate(t, withParameters(t, plain, "search_path", "half"))
	postgrestest.Migrate(t, withParameters(t, plain, "search_path", "mute"))
	postgrestest.Exec(t, plain, `GRANT SELECT ON ALL TABLES IN SCHEMA made TO weak`,
		`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA half, mute TO weak`, `REVOKE DELETE ON half.inbox FROM weak`,
		`GRANT USAGE ON ALL SEQUENCES IN SCHEMA half TO weak`)
	weak := func(schema string) string {
		return withParameters(t, strings.Replace(plain, "ovation:", "weak:", 1), "search_path", schema)
	}
	const both, onOpen, onMigrate = 0, 1, 2
	for name, c := range map[string]struct {
		url  string
		when int
		says string
	}{
		"wrong password":                   {strings.Replace(plain, s.password, "s3cr-wrong", 1), both, "check the user and the password in the URL"},
		"no such user":                     {strings.Replace(plain, "ovation:", "nobody:", 1), both, "check the user and the password in the URL"},
		"no such database":                 {strings.TrimSuffix(plain, "postgres") + "nowhere", both, "create the database with: createdb"},
		"no such schema":                   {withParameters(t, plain, "search_path", "nowhere"), both, "no schema of search_path (nowhere) exists"},
		"a schema without USAGE":           {weak("hidden"), both, `no schema of search_path (hidden) exists that the user "weak" may use`},
		"a schema without CREATE":          {weak("seen"), onMigrate, `GRANT USAGE, CREATE ON SCHEMA "seen" TO "weak"`},
		"read-only tables":                 {weak("made"), onOpen, `may not read and write the tables account, account_name, cleared_read, comment, comment_count, conversation, dead_event, deleted_folder, deleted_subject, erased_user, event_consumer, event_log, event_outbox, event_stream, folder, inbox, interactive, mailbox, message, mirror, request, search_word, secret, trend_bucket, trend_score, user_collection, user_comments, user_follow, user_reaction, user_read, user_totals, video, watermark, nor use the sequences account_number, comment_number, event_number, video_number; their owner can run: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "made" TO "weak"; GRANT USAGE ON ALL SEQUENCES IN SCHEMA "made" TO "weak"`},
		"a sequence without USAGE":         {weak("mute"), onOpen, `the user "weak" may not use the sequences account_number, comment_number, event_number, video_number; their owner can run: GRANT USAGE ON ALL SEQUENCES IN SCHEMA "mute" TO "weak"`},
		"a table without DELETE":           {weak("half"), onOpen, "may not read and write the tables inbox;"},
		"an unknown certificate authority": {s.url(t, "localhost", "sslmode", "verify-full"), both, "certificate signed by unknown authority"},
		"a certificate of another host":    {s.url(t, "127.0.0.1", "sslmode", "verify-full", "sslrootcert", s.ca), both, "127.0.0.1"},
		"another encoding":                 {strings.TrimSuffix(plain, "postgres") + "latin", both, "ENCODING 'UTF8'"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.when != onMigrate {
				_, err := Open(t.Context(), Options{URL: c.url})
				s.refused(t, err, c.says)
			}
			if c.when != onOpen {
				s.refused(t, Migrate(t.Context(), c.url), c.says)
			}
		})
	}
}

func (s *ownServer) refused(t *testing.T, err error, says string) {
	t.Helper()
	switch {
	case err == nil:
		t.Fatalf("got no error, want one that says %q", says)
	case !strings.Contains(err.Error(), says), strings.Contains(err.Error(), "s3cr"), strings.Contains(err.Error(), "\n"):
		t.Errorf("got %q, want an error of one line that contains %q and no password", err, says)
	}
}

func TestURLSaysHowToEncrypt(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, c := range []struct {
		url       string
		encrypted bool
	}{
		{s.url(t, "localhost", "sslmode", "verify-full", "sslrootcert", s.ca), true},
		{s.url(t, "127.0.0.1", "sslmode", "verify-ca", "sslrootcert", s.ca), true},
		{s.url(t, "127.0.0.1", "sslmode", "require"), true},
		{s.url(t, "127.0.0.1", "sslmode", "disable"), false},
	} {
		must.Succeed(t, Migrate(t.Context(), c.url))
		var encrypted bool
		err := openAt(t, Options{URL: c.url}).pool.QueryRow(t.Context(), `SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`).Scan(&encrypted)
		if err != nil || encrypted != c.encrypted {
			t.Errorf("%s: got encrypted: %t, %v, want %t", strings.Replace(c.url, s.password, "***", 1), encrypted, err, c.encrypted)
		}
	}
}
