//go:build long

package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
			e.run(t, "npm", "run", "build") // generates types, checks them and bundles

			data := t.TempDir()
			s := serveWithoutRates(t, data, "--demo")
			var tokens []string
			for _, user := range []string{"ada", "ben", "cleo"} {
				token := runBinary(t, "token", "--data="+data, "--user="+user)
				token.want(t, 0)
				tokens = append(tokens, strings.TrimSpace(token.stdout))
			}
			browserTest{
				script: "examples.mjs", url: e.serve(t, s.url, "run", "dev"), tokens: strings.Join(tokens, " "),
				environ: []string{"OVATION_CHECK_NAME=" + name + "-dev", "OVATION_CHECK_BRIEFLY=true"},
			}.check(t)
			browserTest{
				script: "examples.mjs", url: e.serve(t, s.url, "run", "preview"), tokens: strings.Join(tokens, " "),
				environ: []string{"OVATION_CHECK_NAME=" + name},
				stop:    func() { s.stop().want(t, 0) },
				start:   func() { s = serveWithoutRates(t, data, "--addr="+strings.TrimPrefix(s.url, "http://")) },
			}.check(t)
		})
	}
}

// example is one of the pages in the folder examples.
type example struct{ name, folder string }

func (e example) run(t *testing.T, program string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = e.folder
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, said)
	}
}

// serve runs an npm script of the example until the test ends, and returns the address of
// the page that the script serves. The page finds the API at url.
func (e example) serve(t *testing.T, url string, script ...string) string {
	t.Helper()
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Free(t)))
	_, number, err := net.SplitHostPort(at)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, "npm", append(script, "--", "--host=127.0.0.1", "--strictPort", "--port="+number)...)
	command.Dir = e.folder
	command.Env = append(os.Environ(), "OVATION_URL="+url)
	// npm starts further processes. All of them are killed as one process group.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	said := newBannerWriter()
	command.Stdout, command.Stderr = said, said
	must(t, command.Start())
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // it was killed
		if t.Failed() {
			t.Logf("npm %s said:\n%s", strings.Join(script, " "), said)
		}
	})
	eventually(t, "npm "+strings.Join(script, " ")+" answers at "+at, func() bool {
		response, err := client.Get("http://" + at)
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
	return "http://" + at
}
