package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// releaseStep is a step of the workflow of releases.
type releaseStep struct {
	Run, Uses string
	Env, With map[string]string
}

// builds reports whether a step runs programs of other packages.
func (s *releaseStep) builds() bool {
	for _, program := range []string{"make ", "go ", "npm ci", "npm run", "docker buildx build"} {
		if strings.Contains(s.Run, program) {
			return true
		}
	}
	return false
}

// secrets returns the secrets that a step can read. Whether a secret is set is none.
func (s *releaseStep) secrets() (names []string) {
	for _, value := range s.Env {
		if name, is := strings.CutPrefix(value, "${{ secrets."); is && !strings.Contains(name, "!=") {
			names = append(names, strings.TrimSuffix(name, " }}"))
		}
	}
	return names
}

// TestTheBuildOfAReleaseHasNoKey checks that jobs that build have no secret and may only
// read, that the key is in one step, and that nothing is published unless it is signed.
func TestTheBuildOfAReleaseHasNoKey(t *testing.T) {
	text, err := os.ReadFile("../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	type job struct {
		If          string
		Needs       any
		Permissions map[string]string
		Steps       []releaseStep
	}
	var workflow struct{ Jobs map[string]job }
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	keys := 0
	var building, publishing []string
	for name, j := range workflow.Jobs {
		builds, secrets := false, []string{}
		for _, step := range j.Steps {
			builds = builds || step.builds()
			secrets = append(secrets, step.secrets()...)
			if slices.Contains(step.secrets(), "RELEASE_KEY") {
				keys++
				if !strings.Contains(step.Run, "scripts/sign ") || len(step.secrets()) > 1 {
					t.Errorf("job %s gives the key to %q, want scripts/sign alone", name, step.Run)
				}
			}
		}
		reads := len(j.Permissions) == 1 && j.Permissions["contents"] == "read"
		if builds {
			building = append(building, name)
			if !reads || len(secrets) > 0 {
				t.Errorf("job %s builds, and has the permissions %v and the secrets %v, want to read alone", name, j.Permissions, secrets)
			}
			continue
		}
		publishing = append(publishing, name)
		if name == "publish" && j.If != "needs.build.outputs.signed == 'true'" || name != "publish" && j.Needs != "publish" {
			t.Errorf("job %s publishes if %q, after %v, want it after the signature", name, j.If, j.Needs)
		}
	}
	slices.Sort(building)
	slices.Sort(publishing)
	if keys != 1 || !slices.Equal(building, []string{"build", "image"}) || !slices.Equal(publishing, []string{"publish", "publish-client", "publish-image"}) {
		t.Errorf("%d steps have the key, %v build and %v publish, want one step, two and three jobs", keys, building, publishing)
	}
}

// Without its secrets, a run of the workflow ends well: the scripts of the steps say what
// they leave out.
func TestSecretsOfAReleaseAreOptional(t *testing.T) {
	text, err := os.ReadFile("../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct{ Steps []releaseStep }
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for name, j := range workflow.Jobs {
		for _, step := range j.Steps {
			if !strings.Contains(step.Run, "::notice::") {
				continue
			}
			ran++
			command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", step.Run)
			command.Env = []string{"PATH=" + os.Getenv("PATH"), "GITHUB_OUTPUT=" + filepath.Join(t.TempDir(), "output"), "GITHUB_REF_NAME=v1.0.0"}
			for variable, value := range step.Env {
				command.Env = append(command.Env, variable+"="+map[bool]string{true: "false"}[strings.Contains(value, "!=")])
			}
			if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "::notice::") {
				t.Errorf("job %s without secrets: %v, %s, want a notice", name, err, out)
			}
		}
	}
	if ran != 3 {
		t.Errorf("%d steps say what they leave out, want 3", ran)
	}
}

// The package for npm has the version of the program.
func TestClientHasTheVersionOfTheProgram(t *testing.T) {
	var client struct {
		Version string `json:"version"`
		Private bool   `json:"private"`
	}
	text, err := os.ReadFile("../web/client/package.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &client); err != nil {
		t.Fatal(err)
	}
	changes, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if first := regexp.MustCompile(`(?m)^## (\S+)`).FindSubmatch(changes); first == nil || string(first[1]) != client.Version || client.Private {
		t.Errorf("web/client/package.json has version %s, private %t, want the first of CHANGELOG.md, and a package that can be published", client.Version, client.Private)
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
