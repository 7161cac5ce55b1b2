package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// fakeServer starts a server that reports the given version to each client. If refusal is
// not empty, the server refuses each client with this error code instead. fakeServer
// returns the address of the server.
func fakeServer(t *testing.T, version, refusal string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			greet(pgproto3.NewBackend(c, c), version, refusal)
			_ = c.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

func greet(server *pgproto3.Backend, version, refusal string) {
	if _, err := server.ReceiveStartupMessage(); err != nil {
		return
	}
	if refusal != "" {
		server.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: refusal, Message: "refused"})
		_ = server.Flush()
		return
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: version})
	server.Send(&pgproto3.ParameterStatus{Name: "server_encoding", Value: "UTF8"})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	_ = server.Flush()
	_, _ = server.Receive() // until the client hangs up
}

func TestOpenErrorsNameTheCause(t *testing.T) {
	const password = "s3cr%et&word"
	fake := func(version, refusal string) string {
		return "postgres://alice:s3cr%25et%26word@" + fakeServer(t, version, refusal) + "/ovation?sslmode=disable"
	}
	newer := postgrestest.Schema(t)
	postgrestest.Exec(t, newer, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)`)
	for name, c := range map[string]struct {
		url, says string
		is        error
	}{
		"no URL":                      {"", "want postgres://USER:PASSWORD@HOST:PORT/DATABASE", storage.ErrInvalid},
		"another scheme":              {"mysql://alice:s3cr%25et%26word@localhost/x", "want postgres://", storage.ErrInvalid},
		"an unescaped password":       {"postgres://alice:" + password + "@localhost/x", "%XX for each special character", storage.ErrInvalid},
		"a wrong port":                {"postgres://alice:s3cr%25et%26word@localhost:99999999/x", "port", storage.ErrInvalid},
		"a wrong mode of TLS":         {"postgres://alice:s3cr%25et%26word@localhost/x?sslmode=perhaps", "sslmode", storage.ErrInvalid},
		"a missing certificate":       {"postgres://alice@localhost/x?sslmode=verify-full&sslrootcert=/no/ca.pem&password=s3cr%25et%26word", "/no/ca.pem", storage.ErrInvalid},
		"no listener":                 {"postgres://alice:s3cr%25et%26word@127.0.0.1:1/x", "connection refused; check that a PostgreSQL server runs there", storage.ErrUnavailable},
		"no TLS where it is required": {withParameters(t, fake("15.0", ""), "sslmode", "require"), "TLS", storage.ErrUnavailable},
		"a wrong password":            {fake("15.0", "28P01"), "check the user and the password", storage.ErrUnavailable},
		"no such database":            {fake("15.0", "3D000"), "createdb", storage.ErrUnavailable},
		"too many connections":        {fake("15.0", "53300"), "max_connections", storage.ErrUnavailable},
		"starting up":                 {fake("15.0", "57P03"), "refused", storage.ErrUnavailable},
		"an older server":             {fake("9.6.24", ""), `PostgreSQL "9.6.24"; version 14 or newer`, nil},
		"tables not made":             {postgrestest.EmptySchema(t), "run: ovation migrate", ErrNotMigrated},
		"tables of a newer schema":    {newer, "version 99, this release knows versions up to ", storage.ErrNewerSchema},
	} {
		t.Run(name, func(t *testing.T) {
			_, opened := Open(t.Context(), Options{URL: c.url})
			migrated := opened
			if !errors.Is(c.is, ErrNotMigrated) {
				migrated = Migrate(t.Context(), c.url)
			}
			for _, err := range []error{opened, migrated} {
				if err == nil {
					t.Fatalf("got no error, want one that says %q", c.says)
				}
				t.Log(err)
				if c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("got the error %v, want %v", err, c.is)
				}
				if !strings.Contains(err.Error(), c.says) {
					t.Errorf("got the error %v, want it to contain %q", err, c.says)
				}
				for _, part := range []string{password, "s3cr", "et%26word", "et&word"} {
					if strings.Contains(err.Error(), part) {
						t.Errorf("got the error %v, want it without the password", err)
					}
				}
			}
		})
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	at := postgrestest.Schema(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Options{URL: at}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a cancelled context: got %v, want %v", err, context.Canceled)
	}
	if err := Migrate(ctx, at); !errors.Is(err, context.Canceled) {
		t.Errorf("Migrate with a cancelled context: got %v, want %v", err, context.Canceled)
	}
}

func TestManyMigrateAtOnce(t *testing.T) {
	at := postgrestest.EmptySchema(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := Migrate(t.Context(), at); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := openAt(t, Options{URL: at}).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSettingsOfConnections(t *testing.T) {
	at := withParameters(t, postgrestest.Schema(t), "statement_timeout", "7s", "synchronous_commit", "off")
	s := openAt(t, Options{URL: at, MaxConns: 1})
	for setting, want := range map[string]string{
		"statement_timeout":                   "7s", // as set in the URL
		"lock_timeout":                        "10s",
		"idle_in_transaction_session_timeout": "30s",
		"application_name":                    "ovation",
		"synchronous_commit":                  "on", // although the URL sets off
	} {
		var got string
		must.Succeed(t, s.pool.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got))
		if got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	if n := s.pool.Config().MaxConns; n != minMaxConns {
		t.Errorf("got a pool of %d connections, want %d", n, minMaxConns)
	}
}

// TestErrorsNameTheServerThatAnswered uses URLs that name several servers. An error must
// name the server that answered, or the servers that were tried if none answered.
func TestErrorsNameTheServerThatAnswered(t *testing.T) {
	at := postgrestest.Schema(t)
	u, err := url.Parse(at)
	must.Succeed(t, err)
	answers, silent := u.Host, fmt.Sprintf("127.0.0.1:%d", port.Free(t))
	u.Host = silent + "," + answers
	both := u.String()
	for what, c := range map[string]struct {
		fail         func() error
		names, never string
	}{
		"it refuses to open": {func() error {
			_, err := Open(t.Context(), Options{URL: withParameters(t, both, "search_path", "nowhere")})
			return err
		}, answers, silent},
		"it refuses to migrate": {func() error { return Migrate(t.Context(), withParameters(t, both, "search_path", "nowhere")) }, answers, silent},
		"it refuses to persist": {func() error {
			s := openAt(t, Options{URL: both, Logger: slog.New(slog.DiscardHandler)})
			failInserts(t, at, "53100")
			_, err := s.Persist(t.Context(), []storage.Message{storagetest.NewTraffic().Message("1", 1)}, nil)
			return err
		}, answers, silent},
		"none answers": {func() error {
			u.Host = silent + "," + fmt.Sprintf("127.0.0.1:%d", port.Free(t))
			_, err := Open(t.Context(), Options{URL: u.String()})
			return err
		}, silent, answers},
	} {
		t.Run(what, func(t *testing.T) {
			err := c.fail()
			t.Log(err)
			if !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), c.names) || strings.Contains(err.Error(), c.never) {
				t.Errorf("got %v, want %v that names %s and not %s", err, storage.ErrUnavailable, c.names, c.never)
			}
		})
	}
}
