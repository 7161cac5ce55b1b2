//go:build long

package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/port"
)

// TestLongExamplesInABrowser checks the examples in headless Chromium, first as served
// for development and then as built. The built pages must also survive a restart of the
// server.
func TestLongExamplesInABrowser(t *testing.T) {
	for _, name := range []string{"apollo", "urql"} {
		t.Run(name, func(t *testing.T) {
			e := example{name: name, folder: filepath.Join("../../examples", name)}
			needsBrowser(t)
			needsNode(t, filepath.Join(e.folder, "node_modules/.installed"))
			e.run(t, nil, "npm", "run", "build") // generates types, checks them and bundles

			data := t.TempDir()
			s := serveWithoutRates(t, data, "--demo")
			tokens := tokensForExamples(t, data)
			browserTest{
				script: "examples.mjs", url: e.serve(t, s.url, "run", "dev"), tokens: tokens,
				environ: []string{"OVATION_CHECK_NAME=" + name + "-dev", "OVATION_CHECK_BRIEFLY=true"},
			}.check(t)
			browserTest{
				script: "examples.mjs", url: e.serve(t, s.url, "run", "preview"), tokens: tokens,
				environ: []string{"OVATION_CHECK_NAME=" + name},
				stop:    func() { s.stop().want(t, 0) },
				start:   func() { s = serveWithoutRates(t, data, "--addr="+strings.TrimPrefix(s.url, "http://")) },
			}.check(t)
		})
	}
}

// tokensForExamples returns the tokens of the three users of examples.mjs.
func tokensForExamples(t *testing.T, data string) string {
	t.Helper()
	var tokens []string
	for _, user := range []string{"ada", "ben", "cleo"} {
		token := runBinary(t, "token", "--data="+data, "--user="+user)
		token.want(t, 0)
		tokens = append(tokens, strings.TrimSpace(token.stdout))
	}
	return strings.Join(tokens, " ")
}

// ownPage matches the commands that make a page of one's own.
var ownPage = regexp.MustCompile("(?s)```\n(make -C …/ovation client.*?)```")

// TestLongOwnPageInABrowser makes pages by the commands of docs/frontend.md, and checks them
// in headless Chromium.
func TestLongOwnPageInABrowser(t *testing.T) {
	needsBrowser(t)
	text, err := os.ReadFile("../../docs/frontend.md")
	must.Succeed(t, err)
	block := ownPage.FindSubmatch(text)
	if block == nil {
		t.Fatal("docs/frontend.md has no commands for a page of one's own")
	}
	root, err := filepath.Abs("../..")
	must.Succeed(t, err)
	commands := strings.ReplaceAll(string(block[1]), "…/ovation", root)
	if n := strings.Count(strings.TrimSpace(commands), "\n") + strings.Count(commands, " && ") + 1; n > 6 {
		t.Errorf("docs/frontend.md has %d commands, want at most 6", n)
	}
	prepare, found := strings.CutSuffix(strings.TrimSpace(regexp.MustCompile(` +# .*`).ReplaceAllString(commands, "")), "npm run dev")
	if !found {
		t.Fatalf("the last command of docs/frontend.md is not npm run dev:\n%s", commands)
	}
	data := t.TempDir()
	s := serveWithoutRates(t, data, "--demo")
	tokens := tokensForExamples(t, data)
	for _, name := range []string{"apollo", "urql"} {
		folder := t.TempDir()
		said := example{folder: folder}.run(t, nil, "bash", "-euc", strings.ReplaceAll(prepare, "examples/apollo", "examples/"+name))
		if strings.Contains(said, "EBADENGINE") {
			t.Errorf("npm warns:\n%s", said)
		}
		page := example{name: name, folder: filepath.Join(folder, "my-page")}
		browserTest{
			script: "examples.mjs", url: page.serve(t, s.url, "run", "dev"), tokens: tokens,
			environ: []string{"OVATION_CHECK_NAME=own-" + name, "OVATION_CHECK_BRIEFLY=true"},
		}.check(t)
	}
}

// example is a folder of the folder examples.
type example struct{ name, folder string }

// run runs a program in the folder of the example, and returns its output.
func (e example) run(t *testing.T, environ []string, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir, command.Env = e.folder, append(os.Environ(), environ...)
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, said)
	}
	return string(said)
}

// serve runs an npm script of the example until the test ends, and returns the address of
// the page that the script serves. The page finds the API at url.
func (e example) serve(t *testing.T, url string, script ...string) string {
	t.Helper()
	number := port.Free(t)
	return e.start(t, number, []string{"OVATION_URL=" + url}, "npm", append(script, "--", "--host=127.0.0.1", "--strictPort", "--port="+strconv.Itoa(number))...)
}

// start runs a program in the folder of the example until the test ends, and returns the
// address that the program serves at the given port.
func (e example) start(t *testing.T, number int, environ []string, program string, args ...string) string {
	t.Helper()
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(number))
	what := program + " " + strings.Join(args, " ")
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Env = e.folder, append(os.Environ(), environ...)
	// npm starts further processes. All of them are killed as one process group.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	said := newBannerWriter()
	command.Stdout, command.Stderr = said, said
	must.Succeed(t, command.Start())
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // it was killed
		if t.Failed() {
			t.Logf("%s said:\n%s", what, said)
		}
	})
	await.That(t, what+" answers at "+at, func() bool {
		response, err := client.Get("http://" + at)
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
	return "http://" + at
}
