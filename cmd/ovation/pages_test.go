package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// What the demo page keeps from flickering, without a browser.
func TestDemoPageGoesForwardsOnly(t *testing.T) {
	needs(t)
	command := exec.CommandContext(t.Context(), "npm", "run", "--silent", "test")
	command.Dir = "../../web"
	said, err := command.CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Error(err)
	}
}

// needs skips a test where Node.js, what npm installs or some files are missing.
// In CI that is a failure.
func needs(t *testing.T, files ...string) {
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
