package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// replaceFile replaces a file in one step.
func replaceFile(tb testing.TB, path, text string) {
	tb.Helper()
	must.Succeed(tb, os.WriteFile(path+".new", []byte(text), 0o600))
	must.Succeed(tb, os.Rename(path+".new", path))
}

// TestReloadsLoseNoRequest replaces the configuration while clients send operations of two
// fields. Of the two configurations, one allows the first field, and the other the second:
// each operation must have exactly one error. A file that is not valid changes nothing.
func TestReloadsLoseNoRequest(t *testing.T) {
	t.Parallel()
	const first, second = "defaults: {allow: {dislike: none}}\n", "defaults: {allow: {like: none}}\n"
	path := configFile(t, first)
	s := serveBinary(t, emptyData(t), "--config="+path, "--log-level=info", "--no-access-log", "--rate-per-user=0", "--rate-per-address=0")
	var done, firsts atomic.Int64
	answer := func(user string) {
		err := s.graphQL(user, `mutation { a: like(input: {biz: "video", bizId: "1"}) { changed } b: dislike(input: {biz: "video", bizId: "2"}) { changed } }`, nil)
		refusedA, refusedB := false, false
		if err != nil {
			refusedA = strings.Contains(err.Error(), `"path":["a"]`) && strings.Contains(err.Error(), "takes no likes")
			refusedB = strings.Contains(err.Error(), `"path":["b"]`) && strings.Contains(err.Error(), "takes no dislikes")
		}
		if refusedA == refusedB {
			t.Errorf("got %v, want an error of one field", err)
		}
		if refusedB {
			firsts.Add(1)
		}
		done.Add(1)
	}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			for !isClosed(stop) && !t.Failed() {
				answer(fmt.Sprintf("user%d", i))
			}
		})
	}
	end := sync.OnceFunc(func() {
		close(stop)
		clients.Wait()
	})
	defer end()
	reload := func(text, logged string) {
		t.Helper()
		before, seen := strings.Count(s.log(), logged), done.Load()
		replaceFile(t, path, text)
		must.Succeed(t, syscall.Kill(s.pid, syscall.SIGHUP))
		await.That(t, logged, func() bool { return strings.Count(s.log(), logged) > before })
		await.That(t, "there are more replies", func() bool { return done.Load() > seen+8 || t.Failed() })
	}
	const ok = `"msg":"reloaded","what":"--config ` // followed by the path
	for range 5 {
		reload(second, ok)
		reload(first, ok)
	}
	valid := func() string {
		_, _, text := get(t, s.url+"/metrics")
		_, after, _ := strings.Cut(string(text), "\novation_config_valid ")
		value, _, _ := strings.Cut(after, "\n")
		return value
	}
	if got := valid(); got != "1" {
		t.Errorf("ovation_config_valid is %q, want 1", got)
	}
	reload("defaults: {allow: {like: nobody}}\n", `is \"nobody\"; it must be users, none or scope:NAME`)
	if got := valid(); got != "0" || !strings.Contains(s.log(), "the previous state remains in use") {
		t.Errorf("after a file that is not valid, ovation_config_valid is %q, want 0, and the log has it:\n%s", got, s.log())
	}
	must.Succeed(t, os.Remove(path))
	must.Succeed(t, syscall.Kill(s.pid, syscall.SIGHUP))
	await.That(t, "the missing file is logged", func() bool { return strings.Contains(s.log(), "no such file") })
	before := firsts.Load()
	await.That(t, "the first configuration remains in use", func() bool { return firsts.Load() > before+8 || t.Failed() })
	reload(second, ok)
	if got := valid(); got != "1" {
		t.Errorf("after a valid file, ovation_config_valid is %q, want 1", got)
	}
	end()
	before = firsts.Load()
	answer("user")
	if firsts.Load() != before {
		t.Error("the second configuration is not in use")
	}
	s.stop().want(t, 0)
	t.Logf("%d operations, %d by the first configuration", done.Load(), firsts.Load())
}
