package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"ovation/internal/testing/must"
)

// completionScript writes the completion script of a shell to a file, and returns its
// path.
func completionScript(t *testing.T, shell string) string {
	t.Helper()
	printed := call(t, environment(), "completion", shell)
	printed.want(t, 0, "ovation completion "+shell)
	path := filepath.Join(t.TempDir(), "completion")
	must.Succeed(t, os.WriteFile(path, []byte(printed.stdout), 0o600))
	return path
}

// runShell runs a script with a shell, and returns the lines that it prints.
func runShell(t *testing.T, shell, script string, args ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), shell, append([]string{"-c", script, shell}, args...)...)
	command.Dir = t.TempDir()
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return strings.Fields(string(out))
}

// TestBashCompletes has bash complete command lines. Bash splits the words of a line at =,
// too. The last word is the one to complete.
func TestBashCompletes(t *testing.T) {
	path := completionScript(t, "bash")
	const complete = `source "$1"; shift; complete -p ovation >/dev/null || exit 1
		COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ovation ovation "${COMP_WORDS[COMP_CWORD]}"; printf '%s\n' "${COMPREPLY[@]}"`
	for line, want := range map[string][]string{
		"ovation|":                         commandNames(t),
		"ovation|de":                       {"dev", "dead"},
		"ovation|--v":                      {"--version"},
		"bin/ovation|vers":                 {"version"},
		"ovation|dead|":                    {"list", "show", "replay", "drop"},
		"ovation|dead|list|--lim":          {"--limit"},
		"ovation|config|sch":               {"schema"},
		"ovation|dev|--no-d":               {"--no-douyin"},
		"ovation|dev|--demo|--allowed":     {"--allowed-origins"},
		"ovation|dev|--log-level|":         levels,
		"ovation|dev|--log-level|=":        levels,
		"ovation|dev|--log-level|=|w":      {"warn"},
		"ovation|dev|--addr|1":             nil, // any value: bash completes files
		"ovation|token|--user|dev|--ten":   {"--tenant"},
		"ovation|import|--time-unit|":      choices["unit"],
		"ovation|import|--map|desk":        {"deskdrop"},
		"ovation|import|--map|desk|--dry":  {"--dry-run"},
		"ovation|import|":                  nil, // a file
		"ovation|completion|":              {"bash", "zsh", "fish"},
		"ovation|config|check|":            nil, // a file
		"ovation|serve|--postgres-url|=|x": nil,
	} {
		t.Run(line, func(t *testing.T) {
			got := runShell(t, "bash", complete, append([]string{path}, strings.Split(line, "|")...)...)
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	if got := runShell(t, "bash", complete, path, "ovation", "version", ""); !slices.Equal(got, []string{"--help", "--version"}) {
		t.Errorf("a command without arguments completes to %v, want its flags", got)
	}
}

func commandNames(t *testing.T) (names []string) {
	t.Helper()
	parser, err := kong.New(&commandLine{}, kong.Name("ovation"), mappers())
	must.Succeed(t, err)
	for _, command := range parser.Model.Children {
		if !command.Hidden {
			names = append(names, command.Name)
		}
	}
	return names
}

// Each script has every command and flag. If the shell is installed, it also reads the
// script without an error.
func TestCompletionsAreComplete(t *testing.T) {
	parser, err := kong.New(&commandLine{}, kong.Name("ovation"), mappers())
	must.Succeed(t, err)
	for shell, flag := range map[string]string{"bash": "--", "zsh": "--", "fish": "-l "} {
		path := completionScript(t, shell)
		text, err := os.ReadFile(path)
		must.Succeed(t, err)
		for _, command := range parser.Model.Leaves(true) {
			if at := " " + command.Path(); !strings.Contains(string(text), "'"+at+"'") {
				t.Errorf("%s does not know %q", shell, at)
			}
			for _, f := range command.Flags {
				if !strings.Contains(string(text), flag+f.Name) {
					t.Errorf("%s does not know --%s of %s", shell, f.Name, command.Path())
				}
			}
		}
		if _, err := exec.LookPath(shell); err == nil {
			if out, err := exec.CommandContext(t.Context(), shell, "-n", path).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s -n: %v\n%s", shell, err, out)
			}
		}
	}
	call(t, environment(), "completion", "tcsh").want(t, exitUsage, "tcsh", "bash")
	call(t, environment(), "completion").want(t, exitUsage, "<shell> is missing; for example: ovation completion bash")
}

// If fish is installed, it completes with the script.
func TestFishCompletes(t *testing.T) {
	path := completionScript(t, "fish")
	if _, err := exec.LookPath("fish"); err != nil {
		return // TestCompletionsAreComplete compares the scripts
	}
	for line, want := range map[string]string{"ovation de": "dead", "ovation dead li": "list", "ovation import --time-unit r": "rfc3339", "ovation dev --no-dou": "--no-douyin"} {
		got := runShell(t, "fish", `source $argv[2]; complete -C $argv[3]`, path, line)
		if !slices.Contains(got, want) {
			t.Errorf("%s: got %v, want %s among them", line, got, want)
		}
	}
}
