package docs

import (
	"os"
	"os/exec"
	"testing"
)

// TestReleasesAreSigned signs files with throwaway keys, verifies them with the commands
// of SECURITY.md, and changes them.
func TestReleasesAreSigned(t *testing.T) {
	for _, tool := range []string{"bash", "ssh-keygen", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "../scripts/sign_test").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
