package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// TestHangupsKeepServersRunning sends SIGHUP to each kind of server: it says that it has
// nothing to reload, continues to serve, and then stops as usual.
func TestHangupsKeepServersRunning(t *testing.T) {
	t.Parallel()
	alone := serveBinary(t, emptyData(t), "--log-level=info")
	site := newSite(t)
	for name, s := range map[string]*server{"dev": alone, "serve": site.start(t, "serve"), "work": site.start(t, "work")} {
		must.Succeed(t, syscall.Kill(s.pid, syscall.SIGHUP))
		await.That(t, name+" has logged the signal", func() bool { return strings.Contains(s.log(), "no files to reload") })
		if isClosed(s.ended) {
			t.Fatalf("%s: SIGHUP has ended the process", name)
		}
		if s.ready() != 200 {
			t.Errorf("%s: after SIGHUP, got /readyz %d, want 200", name, s.ready())
		}
		s.stop().want(t, 0)
	}
}

// A failed reload does not keep the others from being reloaded.
func TestEachReloadIsLogged(t *testing.T) {
	var log bytes.Buffer
	var order []string
	p := &program{}
	for _, name := range []string{"first", "second", "third"} {
		p.onReload(name, func(context.Context) error {
			order = append(order, name)
			if name == "second" {
				return errors.New("it is not valid")
			}
			return nil
		})
	}
	p.reload(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
	if got := strings.Join(order, " "); got != "first second third" {
		t.Errorf("reloaded %s, want first second third", got)
	}
	for _, want := range []string{"msg=reloaded what=first", `what=second error="it is not valid"`, "msg=reloaded what=third"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not contain %q:\n%s", want, &log)
		}
	}
}
