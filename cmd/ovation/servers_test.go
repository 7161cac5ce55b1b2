package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ovation/internal/testing/port"
)

// startRedis starts a Redis of the test's own, without a password, and returns
// its address.
func startRedis(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("redis-server is not in PATH")
		}
		t.Skip("redis-server is not in PATH: install it, or run make test")
	}
	port := strconv.Itoa(port.Free(t))
	at := "127.0.0.1:" + port
	listens := "--port"
	for _, arg := range args {
		if strings.HasPrefix(arg, "--tls") {
			listens = "--tls-port"
		}
	}
	server := exec.Command("redis-server", append([]string{"--port", "0", listens, port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()}, args...)...)
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	eventually(t, "redis-server answers", func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return at
}

// certificate is one of 127.0.0.1, and the files of it and its key. It vouches
// for itself.
func certificate(t *testing.T) (pair tls.Certificate, certFile, keyFile string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair = server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must(t, err)
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	return pair, certFile, keyFile
}

// encrypted puts TLS before a server and returns the address of it.
func encrypted(t *testing.T, pair tls.Certificate, server string) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	must(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				_ = from.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
				serving.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_, _ = way[0].Close(), way[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

// A real Redis, and RabbitMQ behind a proxy, speak TLS where the URL says so.
func TestRedisAndRabbitMQAreReachedByTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	pair, certFile, keyFile := certificate(t)
	redis := startRedis(t, "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile, "--tls-auth-clients", "no")
	secure := &site{prefix: s.prefix, variables: maps.Clone(s.variables)}
	secure.variables["OVATION_REDIS_URL"] = "rediss://" + redis
	secure.variables["OVATION_RABBITMQ_URL"] = s.changed(t, "OVATION_RABBITMQ_URL", func(u *url.URL) {
		u.Scheme, u.Host = "amqps", encrypted(t, pair, u.Host)
	})
	for name, command := range map[string]string{"OVATION_REDIS_URL": "verify", "OVATION_RABBITMQ_URL": "dead list"} {
		secure.run(t, strings.Fields(command)...).wants(t, exitFailed, name, "certificate signed by unknown authority")
	}

	secure.variables["SSL_CERT_FILE"] = certFile
	node := secure.start(t, "serve")
	secure.start(t, "work")
	must(t, node.graphQL("alice", `mutation { like(input: {biz: "video", bizId: "movie"}) { changed } }`, nil))
	eventually(t, "the like is stored", func() bool { return secure.likes(t) == 1 })
}

// passwords are those of the site's URLs.
func (s *site) passwords(t *testing.T) (found []string) {
	t.Helper()
	for _, name := range distributed {
		u, err := url.Parse(s.variables[name])
		must(t, err)
		if password, is := u.User.Password(); is {
			found = append(found, password)
		}
	}
	return found
}
