package docs

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestTheBuildOfAReleaseHasNoKey checks that the workflow gives the signing key to one step
// alone, which builds nothing, of a job that builds nothing, and that it fails before the
// build if there is no key.
func TestTheBuildOfAReleaseHasNoKey(t *testing.T) {
	text, err := os.ReadFile("../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Permissions map[string]string
			Steps       []struct {
				Run, Uses string
				Env, With map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	const key = "${{ secrets.RELEASE_KEY }}"
	built, signed := 0, 0
	for name, job := range workflow.Jobs {
		builds, hasKey, checked := false, false, false
		for _, step := range job.Steps {
			switch {
			case step.Env["HAS_KEY"] == "${{ secrets.RELEASE_KEY != '' }}" && strings.Contains(step.Run, "exit 1"):
				checked = true
			case strings.Contains(step.Run, "make "), strings.Contains(step.Run, "npm "), strings.Contains(step.Run, "go "):
				builds = true
				if !checked {
					t.Errorf("job %s: %q runs before the check that there is a key", name, step.Run)
				}
			case step.Env["KEY"] == key && strings.Contains(step.Run, "scripts/sign "):
				hasKey = true
				signed++
			}
		}
		if builds {
			built++
		}
		if builds && (hasKey || job.Permissions["contents"] != "read") {
			t.Errorf("job %s builds, and has the key or permissions beyond reading", name)
		}
	}
	if n := strings.Count(string(text), "secrets.RELEASE_KEY }}"); n != 1 || built != 1 || signed != 1 {
		t.Errorf("%d steps have the key, %d jobs build, %d steps sign, want one each", n, built, signed)
	}
}

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
