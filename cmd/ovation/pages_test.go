package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"ovation/internal/testing/seed"
)

// TestPackageAndDemoPageGoForwardsOnly checks, without a browser, that @ovation/client
// and the demo page never go back to older data.
func TestPackageAndDemoPageGoForwardsOnly(t *testing.T) {
	t.Parallel()
	runPageTests(t, 5)
}

// runPageTests runs the tests of the pages, with the given number of random walks in
// each.
func runPageTests(t *testing.T, walks int) {
	t.Helper()
	needsNode(t)
	command := exec.CommandContext(t.Context(), "npm", "run", "--silent", "test")
	command.Dir = "../../web"
	command.Env = append(os.Environ(), "SEED="+strconv.FormatUint(seed.Of(t)%1_000_000, 10), "RUNS="+strconv.Itoa(walks))
	said, err := command.CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Error(err)
	}
}

// needsNode skips the test if Node.js, the packages that npm installs or any of the files
// are missing. In CI, the test fails instead.
func needsNode(t *testing.T, files ...string) {
	t.Helper()
	_, err := exec.LookPath("npm")
	for _, file := range append(files, "../../web/node_modules/.installed") {
		_, missing := os.Stat(file)
		err = errors.Join(err, missing)
	}
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip("needs Node.js, make web and, to look at pages, Chromium (CHROMIUM names it): ", err)
	}
}
