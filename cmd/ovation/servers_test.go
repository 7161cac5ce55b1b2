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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
)

// ownRedis is a Redis server that only one test uses. It has no password and can be
// restarted.
type ownRedis struct {
	at   string // its address
	args []string
	run  *exec.Cmd
}

// newOwnRedis starts a Redis server, which speaks TLS if the arguments name a
// certificate.
func newOwnRedis(t *testing.T, args ...string) *ownRedis {
	t.Helper()
	listens, free := "--port", strconv.Itoa(port.Free(t))
	if slices.Contains(args, "--tls-cert-file") {
		listens = "--tls-port"
	}
	r := &ownRedis{"127.0.0.1:" + free, append([]string{"--port", "0", listens, free, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()}, args...), nil}
	r.start(t)
	t.Cleanup(r.kill)
	return r
}

func (r *ownRedis) start(t *testing.T) {
	t.Helper()
	r.run = exec.Command("redis-server", r.args...)
	must.Succeed(t, r.run.Start())
	await.That(t, "redis-server accepts connections", func() bool {
		c, err := net.Dial("tcp", r.at)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

func (r *ownRedis) kill() {
	_ = r.run.Process.Kill()
	_ = r.run.Wait() // it was killed
}

// certificate returns a self-signed certificate for 127.0.0.1, and the names of the files
// with the certificate and with its key.
func certificate(t *testing.T) (pair tls.Certificate, certFile, keyFile string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair = server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must.Succeed(t, err)
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	must.Succeed(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	must.Succeed(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	return pair, certFile, keyFile
}

// encrypted starts a proxy that accepts TLS connections for a server, and returns the
// address of the proxy.
func encrypted(t *testing.T, pair tls.Certificate, server string) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	must.Succeed(t, err)
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

// TestRedisAndRabbitMQAreReachedByTLS connects to Redis and RabbitMQ by URLs that require
// TLS. Redis speaks TLS itself; a proxy does so for RabbitMQ.
func TestRedisAndRabbitMQAreReachedByTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	pair, certFile, keyFile := certificate(t)
	redis := newOwnRedis(t, "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile, "--tls-auth-clients", "no")
	secure := &site{prefix: s.prefix, variables: maps.Clone(s.variables)}
	secure.variables["OVATION_REDIS_URL"] = "rediss://" + redis.at
	secure.variables["OVATION_RABBITMQ_URL"] = s.changed(t, "OVATION_RABBITMQ_URL", func(u *url.URL) {
		u.Scheme, u.Host = "amqps", encrypted(t, pair, u.Host)
	})
	for name, command := range map[string]string{"OVATION_REDIS_URL": "verify", "OVATION_RABBITMQ_URL": "dead list"} {
		secure.run(t, strings.Fields(command)...).want(t, exitFailed, name, "certificate signed by unknown authority")
	}

	secure.variables["SSL_CERT_FILE"] = certFile
	node := secure.start(t, "serve")
	secure.start(t, "work")
	node.like(t, "alice", "movie")
	await.That(t, "the like is stored", func() bool { return secure.likes(t) == 1 })
}

// passwords returns the passwords in the site's URLs.
func (s *site) passwords(t *testing.T) (found []string) {
	t.Helper()
	for _, name := range distributed {
		u, err := url.Parse(s.variables[name])
		must.Succeed(t, err)
		if password, is := u.User.Password(); is {
			found = append(found, password)
		}
	}
	return found
}
