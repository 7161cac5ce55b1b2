package web_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every package in a lock file admits the oldest Node.js that package.json names, so that
// npm has no reason to warn (EBADENGINE). Packages for other systems are not installed.
func TestPackagesAdmitTheNodeThatIsNamed(t *testing.T) {
	type engines struct {
		Node string `json:"node"`
	}
	for _, folder := range []string{".", "../examples/apollo", "../examples/urql", "../examples/federation"} {
		var lock struct {
			Packages map[string]struct {
				Version string          `json:"version"`
				Engines json.RawMessage `json:"engines"`
			} `json:"packages"`
		}
		text, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &lock); err != nil {
			t.Fatal(err)
		}
		var own engines
		if err := json.Unmarshal(lock.Packages[""].Engines, &own); err != nil {
			t.Fatal(err)
		}
		oldest, is := strings.CutPrefix(own.Node, ">=")
		if !is {
			t.Fatalf("%s needs Node.js %q, want >=, then a version", folder, own.Node)
		}
		for name, p := range lock.Packages {
			var needs engines
			if json.Unmarshal(p.Engines, &needs) != nil || needs.Node == "" { // absent, or of a form of former times
				continue
			}
			if !admits(t, needs.Node, version(t, oldest)) {
				t.Errorf("%s: %s %s needs Node.js %s, want it to admit %s", folder, name, p.Version, needs.Node, oldest)
			}
		}
	}
}

// version returns the three numbers of a version. Those that are absent are 0.
func version(t *testing.T, text string) (numbers [3]int) {
	t.Helper()
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "-")
	for i, part := range strings.SplitN(text, ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil && part != "x" && part != "*" {
			t.Fatalf("%q is no version", text)
		}
		numbers[i] = n
	}
	return numbers
}

// admits reports whether a range, as npm writes it, contains a version.
func admits(t *testing.T, wanted string, v [3]int) bool {
	t.Helper()
	for alternative := range strings.SplitSeq(wanted, "||") {
		// An operator may be followed by a space.
		for _, operator := range []string{">=", "<=", ">", "<", "^", "~"} {
			alternative = strings.ReplaceAll(alternative, operator+" ", operator)
		}
		if all := strings.Fields(alternative); !slices.ContainsFunc(all, func(one string) bool { return !fits(t, one, v) }) {
			return true
		}
	}
	return false
}

// fits reports whether a version fits a condition such as >=18.
func fits(t *testing.T, condition string, v [3]int) bool {
	t.Helper()
	text := strings.TrimLeft(condition, "<>=^~")
	if text == "*" || text == "x" {
		return true
	}
	than := version(t, text)
	order := slices.Compare(v[:], than[:])
	switch operator := strings.TrimSuffix(condition, text); operator {
	case ">=":
		return order >= 0
	case ">":
		return order > 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case "^":
		return order >= 0 && v[0] == than[0]
	case "~":
		return order >= 0 && v[0] == than[0] && (strings.Count(text, ".") == 0 || v[1] == than[1])
	default: // a version of which parts may be absent
		given := strings.Count(strings.TrimSuffix(strings.TrimSuffix(text, ".x"), ".x"), ".") + 1
		return slices.Equal(v[:given], than[:given])
	}
}

func TestRanges(t *testing.T) {
	for wanted, want := range map[string]bool{
		">=20.19": true, ">= 18": true, "*": true, "^20.19.0 || >=22.12.0": true, "18 || 20 || >=22": true, "20.x": true, ">=14 <21": true, "~20.19": true,
		">=22": false, "^22.1.0": false, ">=20.20": false, "18": false, "<20": false, "^18.0.0 || >=22.0.0": false, "~20.18": false, ">20.19.0": false,
	} {
		if got := admits(t, wanted, [3]int{20, 19, 0}); got != want {
			t.Errorf("%s admits 20.19.0: %t, want %t", wanted, got, want)
		}
	}
}
