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
)

// The pages in headless Chromium, with the embedded way to run.
func TestLongPagesInABrowser(t *testing.T) {
	needsBrowser(t)
	data := t.TempDir()
	s := serveBinary(t, data, "--demo")
	t.Run("GraphiQL", func(t *testing.T) {
		inBrowser{script: "graphiql.mjs", url: s.url}.check(t)
	})
	t.Run("demo", func(t *testing.T) {
		inBrowser{
			script: "demo.mjs", url: s.url,
			stop:  func() { s.stop().wants(t, 0) },
			start: func() { s = serveBinary(t, data, "--addr="+strings.TrimPrefix(s.url, "http://")) },
		}.check(t)
	})
}

// The demo page where every part is a process of its own, behind one address.
func TestLongDemoInABrowserOverServices(t *testing.T) {
	needsBrowser(t)
	n := emptySite(t)
	data := t.TempDir()
	s := n.startStack(t, data)
	var tokens []string
	for _, user := range []string{"ada", "ben", "cleo"} {
		tokens = append(tokens, strings.TrimPrefix(as(user)["Authorization"], "Bearer "))
	}
	inBrowser{
		script: "demo.mjs", url: s.url, tokens: strings.Join(tokens, " "),
		stop:  func() { s.stop().wants(t, 0) },
		start: func() { s = n.startStack(t, data, "--addr="+strings.TrimPrefix(s.url, "http://")) },
	}.check(t)
	s.stop().wants(t, 0)
	n.run(t, "verify").wants(t, 0, "0 differences; ")
}

// needsBrowser is needs for a test that looks at pages.
func needsBrowser(t *testing.T) {
	t.Helper()
	needs(t, cmp.Or(os.Getenv("CHROMIUM"), "/usr/bin/chromium"), "../../web/dist/demo/index.html")
}

// inBrowser is a check of web/check and the server it looks at.
type inBrowser struct {
	script, url string
	tokens      string // where users need some
	stop, start func() // the server, where the script asks for a restart
}

// check runs the script. With go test -artifacts its screenshots are kept.
func (b inBrowser) check(t *testing.T) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "node", filepath.Join("../../web/check", b.script), b.url, t.ArtifactDir())
	command.Env = append(os.Environ(), "OVATION_CHECK_TOKENS="+b.tokens)
	stdin, err := command.StdinPipe()
	must(t, err)
	stdout, err := command.StdoutPipe()
	must(t, err)
	command.Stderr = command.Stdout
	must(t, command.Start())
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
		must(t, err)
	}
	if err := errors.Join(lines.Err(), command.Wait()); err != nil {
		t.Error(err)
	}
}
