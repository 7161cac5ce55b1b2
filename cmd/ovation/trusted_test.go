package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// TestTrustedDocumentsAreReloadedOnHangup changes the manifest of a running site: a good
// one takes the place of the previous one, without a failed request, and a bad one does
// not.
func TestTrustedDocumentsAreReloadedOnHangup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "persisted_queries.json")
	write := func(text string) { must.Succeed(t, os.WriteFile(file, []byte(text), 0o600)) }
	const me = `"me": "query Me { viewer { userId } }"`
	write(`{` + me + `}`)
	s := serveBinary(t, emptyData(t), "--log-level=info", "--no-access-log", "--trusted-documents="+file, "--only-trusted")
	ask := func(document string) string {
		var into struct{ Viewer struct{ UserID string } }
		if err := s.post([]byte(document), dev("alice"), &into); err != nil {
			return err.Error()
		}
		return into.Viewer.UserID
	}
	want := func(when, document, want string) {
		t.Helper()
		if got := ask(document); !strings.Contains(got, want) {
			t.Errorf("%s: %s: got %s, want %s", when, document, got, want)
		}
	}
	reload := func(says string) {
		t.Helper()
		must.Succeed(t, syscall.Kill(s.pid, syscall.SIGHUP))
		await.That(t, "the log has "+says, func() bool { return strings.Contains(s.log(), says) })
	}
	want("at first", `{"documentId":"me"}`, "alice")
	want("at first", `{"documentId":"user"}`, "UNTRUSTED_DOCUMENT")
	want("at first", `{"query":"{ viewer { userId } }"}`, "UNTRUSTED_DOCUMENT")

	done := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				want("meanwhile", `{"documentId":"me"}`, "alice")
			}
		}
	})
	write(`{` + me + `, "user": "{ viewer { nonsense } }"}`)
	reload(file + `: document \"user\": line 1, column 12: Cannot query field`)
	want("after a bad manifest", `{"documentId":"user"}`, "UNTRUSTED_DOCUMENT")
	write(`{` + me + `, "user": "{ viewer { userId } }"}`)
	reload(`"what":"the trusted documents of ` + file)
	await.That(t, "the new manifest is in use", func() bool { return ask(`{"documentId":"user"}`) == "alice" })
	want("after a good manifest", `{"query":"{ viewer { userId } }"}`, "alice")
	close(done)
	asking.Wait()
	s.stop().want(t, 0)
}

// A site with an invalid manifest does not start.
func TestBadManifestsKeepASiteFromStarting(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "manifest.json")
	must.Succeed(t, os.WriteFile(file, []byte(`{"900150983cd24fb0d6963f7d28e17f72": "{ viewer { userId } }"}`), 0o600))
	result := runBinary(t, "dev", "--addr=127.0.0.1:0", "--data="+emptyData(t), "--trusted-documents="+file)
	if result.code != exitFailed || !strings.Contains(result.stderr, file+`: document "900150983cd24fb0d6963f7d28e17f72": the id has the form of a MD5`) {
		t.Errorf("got exit code %d, %s", result.code, result.stderr)
	}
}
