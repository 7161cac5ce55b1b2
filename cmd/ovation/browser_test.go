//go:build long

package main

import (
	"bufio"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ovation/cmd/ovation/internal/demo"
	"ovation/internal/testing/must"
)

// TestLongPagesInABrowser checks the pages of the embedded mode in headless Chromium.
func TestLongPagesInABrowser(t *testing.T) {
	needsBrowser(t)
	data := t.TempDir()
	s := serveWithoutRates(t, data, "--demo")
	s.awaitClips(t)
	token := call(t, environment(), "token", "--user=alice", "--data="+data)
	token.want(t, 0)
	alice := strings.TrimSpace(token.stdout)
	stop := func() { s.stop().want(t, 0) }
	start := func() { s = serveWithoutRates(t, data, "--addr="+strings.TrimPrefix(s.url, "http://")) }
	t.Run("GraphiQL", func(t *testing.T) {
		browserTest{script: "graphiql.mjs", url: s.url, tokens: alice}.check(t)
	})
	t.Run("data page", func(t *testing.T) {
		browserTest{script: "data.mjs", url: s.url}.check(t)
	})
	t.Run("own pages", func(t *testing.T) {
		browserTest{script: "origins.mjs", url: s.url, tokens: alice, stop: stop, start: start}.check(t)
	})
	t.Run("demo", func(t *testing.T) {
		browserTest{script: "demo.mjs", url: s.url, stop: stop, start: start}.check(t)
	})
}

// TestLongDemoInABrowserOverServices checks the demo page of ovation stack, which runs
// every part of a site in its own process.
func TestLongDemoInABrowserOverServices(t *testing.T) {
	needsBrowser(t)
	n := emptySite(t)
	data := t.TempDir()
	s := n.startStack(t, data)
	s.awaitClips(t)
	var tokens []string
	for _, user := range []string{"ada", "ben", "cleo"} {
		tokens = append(tokens, strings.TrimPrefix(as(user)["Authorization"], "Bearer "))
	}
	browserTest{
		script: "demo.mjs", url: s.url, tokens: strings.Join(tokens, " "),
		stop:  func() { s.stop().want(t, 0) },
		start: func() { s = n.startStack(t, data, "--addr="+strings.TrimPrefix(s.url, "http://")) },
	}.check(t)
	s.stop().want(t, 0)
	n.run(t, "verify").want(t, 0, "0 differences; ")
}

// TestLongStoryInABrowser plays the story of two people with accounts, from their
// registration to a chat about a clip that one of them has published. The covers are
// generated, because the server finds no ffmpeg.
func TestLongStoryInABrowser(t *testing.T) {
	needsBrowser(t)
	s := serveWithoutRates(t, t.TempDir(), "--demo")
	s.awaitClips(t)
	runBrowserStory(t, s.url, "generated")
	s.stop().want(t, 0)
}

// TestLongStoryInABrowserOverServices plays the story of TestLongStoryInABrowser on a
// site that runs every part in its own process. The clip is uploaded to one of two nodes,
// and a worker makes its cover, with ffmpeg if it is installed.
func TestLongStoryInABrowserOverServices(t *testing.T) {
	needsBrowser(t)
	covers := "made"
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		covers = "generated"
	}
	n := emptySite(t)
	n.variables["PATH"] = os.Getenv("PATH")
	s := n.startStack(t, t.TempDir())
	s.awaitClips(t)
	runBrowserStory(t, s.url, covers)
	s.stop().want(t, 0)
	n.run(t, "verify").want(t, 0, "0 differences; ")
}

func runBrowserStory(t *testing.T, url, covers string) {
	t.Helper()
	clip := filepath.Join(t.TempDir(), "clip.mp4")
	must.Succeed(t, os.WriteFile(clip, demo.Still("sea"), 0o600))
	browserTest{script: "story.mjs", url: url, environ: []string{"OVATION_CHECK_CLIP=" + clip, "OVATION_CHECK_COVERS=" + covers}}.check(t)
}

// serveWithoutRates is like serveBinary, but turns the rate limits off: a script sends the
// requests of a few users as fast as the machine allows. Scripts that check refused
// requests make up the responses.
func serveWithoutRates(t *testing.T, data string, flags ...string) *server {
	t.Helper()
	return serveBinary(t, data, append(flags, "--rate-per-user=0", "--rate-per-address=0", "--rate-per-socket=0")...)
}

// needsBrowser skips the test if Chromium, the built pages or a requirement of needsNode
// is missing. In CI, the test fails instead.
func needsBrowser(t *testing.T) {
	t.Helper()
	needsNode(t, cmp.Or(os.Getenv("CHROMIUM"), "/usr/bin/chromium"), "../../web/dist/demo/index.html")
}

// browserTest is a script of web/check, together with the server that the script checks.
type browserTest struct {
	script, url string
	tokens      string // separated by spaces; empty if the script needs none
	environ     []string
	stop, start func() // stop and start the server when the script requests it
}

// check runs the script. With go test -artifacts, the screenshots of the script are kept.
func (b browserTest) check(t *testing.T) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "node", filepath.Join("../../web/check", b.script), b.url, t.ArtifactDir())
	command.Env = append(append(os.Environ(), b.environ...), "OVATION_CHECK_TOKENS="+b.tokens)
	stdin, err := command.StdinPipe()
	must.Succeed(t, err)
	stdout, err := command.StdoutPipe()
	must.Succeed(t, err)
	command.Stderr = command.Stdout
	must.Succeed(t, command.Start())
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		t.Log(lines.Text())
		switch lines.Text() {
		case "restart the server":
			b.stop()
		case "start it again":
			b.start()
		default:
			continue
		}
		_, err := stdin.Write([]byte("\n"))
		must.Succeed(t, err)
	}
	if err := errors.Join(lines.Err(), command.Wait()); err != nil {
		t.Error(err)
	}
}
