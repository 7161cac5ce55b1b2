package docs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const module = "ovation"

// anyImport lists the packages without a depguard rule: programs that may import
// everything, and generated code, which is not linted.
var anyImport = []string{"cmd/ovation", "bench", "graph"}

// goPackage is the set of packages that the files of a folder import.
type goPackage struct {
	own   []string // packages of this module, by folder; imports of tests do not count
	other []string // other packages; imports of tests do not count
}

// packagesOf returns the packages of the module, by folder. It reads every Go file,
// regardless of build tags.
func packagesOf(t *testing.T) map[string]*goPackage {
	t.Helper()
	packages := map[string]*goPackage{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "node_modules" || name == "testdata" || name != ".." && strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case filepath.Ext(file) != ".go":
			return nil
		}
		folder := filepath.ToSlash(filepath.Dir(file))[len("../"):]
		if packages[folder] == nil {
			packages[folder] = &goPackage{}
		}
		if !strings.HasSuffix(file, "_test.go") {
			packages[folder].add(t, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func (p *goPackage) add(t *testing.T, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if own, is := strings.CutPrefix(imported, module+"/"); is {
			p.own = append(p.own, own)
		} else {
			p.other = append(p.other, imported)
		}
	}
	slices.Sort(p.own)
	p.own = slices.Compact(p.own)
}

// tableOfPackages returns the imports of each package according to the table in
// CONTRIBUTING.md. Two or more spaces separate its columns. A line without a package
// continues the imports of the line above.
func tableOfPackages(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "\n```\npackage ")
	block, _, _ = strings.Cut(block, "\n```\n")
	gap := regexp.MustCompile(` {2,}`)
	table, name := map[string][]string{}, ""
	for _, line := range strings.Split(block, "\n")[1:] {
		columns := gap.Split(strings.ReplaceAll(line, "…", "storage/redis/internal"), 3)
		if columns[0] != "" {
			name = columns[0]
			table[name] = []string{}
		}
		imports := columns[len(columns)-1]
		if columns[0] != "" && len(columns) < 3 {
			imports = ""
		}
		for imported := range strings.SplitSeq(imports, ",") {
			if imported = strings.TrimSpace(imported); imported != "" {
				table[name] = append(table[name], imported)
			}
		}
		slices.Sort(table[name])
	}
	return table
}

// TestTableListsThePackages checks that the table in CONTRIBUTING.md lists every package
// with its imports from this module, or with "everything" if the package may import any.
func TestTableListsThePackages(t *testing.T) {
	packages, table := packagesOf(t), tableOfPackages(t)
	if len(packages) < 50 {
		t.Errorf("%d packages were found, want at least 50", len(packages))
	}
	for name, p := range packages {
		switch imports, listed := table[name]; {
		case !listed:
			t.Errorf("CONTRIBUTING.md does not list the package %s", name)
		case slices.Equal(imports, []string{"everything"}):
			if !slices.Contains(anyImport, name) {
				t.Errorf("CONTRIBUTING.md says that %s imports everything, want its imports", name)
			}
		case !slices.Equal(imports, p.own):
			t.Errorf("CONTRIBUTING.md says that %s imports %v, want %v", name, imports, p.own)
		}
	}
	for name := range table {
		if packages[name] == nil {
			t.Errorf("CONTRIBUTING.md lists %s, which is not a package", name)
		}
	}
}

// rule is a depguard rule.
type rule struct {
	ListMode string   `yaml:"list-mode"`
	Files    []string `yaml:"files"`
	Allow    []string `yaml:"allow"`
	Deny     []struct {
		Pkg  string `yaml:"pkg"`
		Desc string `yaml:"desc"`
	} `yaml:"deny"`
}

func rulesOfDepguard(t *testing.T) map[string]rule {
	t.Helper()
	text, err := os.ReadFile("../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]rule `yaml:"rules"`
				} `yaml:"depguard"`
			} `yaml:"settings"`
		} `yaml:"linters"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.Linters.Settings.Depguard.Rules
}

// ruled returns the package to which a rule applies, and the packages of this module that
// the rule allows. ok is false if the rule does not have the form of a rule for one
// package.
func (r rule) ruled() (name string, own []string, ok bool) {
	if len(r.Files) != 2 || r.Files[1] != "!$test" {
		return "", nil, false
	}
	name, of := strings.CutPrefix(path.Dir(r.Files[0]), "**/")
	denies := len(r.Deny) == 1 && r.Deny[0].Pkg == module
	if !of || path.Base(r.Files[0]) != "*.go" || r.ListMode != "strict" && (r.ListMode != "lax" || !denies) {
		return "", nil, false
	}
	own = []string{}
	for _, allowed := range r.Allow {
		rest, is := strings.CutPrefix(allowed, module)
		if !is {
			continue
		}
		rest, exact := strings.CutSuffix(rest, "$")
		if !exact || !strings.HasPrefix(rest, "/") {
			return "", nil, false
		}
		own = append(own, rest[1:])
	}
	slices.Sort(own)
	return name, own, true
}

// For each package except those in anyImport, depguard has a rule that allows the imports
// in the table.
func TestLinterHoldsTheTable(t *testing.T) {
	packages, table := packagesOf(t), tableOfPackages(t)
	ruled := map[string]bool{}
	rules := rulesOfDepguard(t)
	for _, title := range slices.Sorted(maps.Keys(rules)) {
		name, own, ok := rules[title].ruled()
		switch {
		case !ok:
			t.Errorf("rule %s of depguard: want one package, and each package of this module by its whole name, as in its neighbours", title)
			continue
		case packages[name] == nil:
			t.Errorf("rule %s of depguard is for %s, which is not a package", title, name)
			continue
		case !slices.Equal(own, table[name]):
			t.Errorf("rule %s of depguard allows %v, want %v as in CONTRIBUTING.md", title, own, table[name])
		}
		ruled[name] = true
		for _, allowed := range rules[title].Allow {
			if !strings.HasPrefix(allowed, module) && allowed != "$gostd" && !packages[name].needs(allowed) {
				t.Errorf("rule %s of depguard allows %s, which %s does not import", title, allowed, name)
			}
		}
	}
	for name := range packages {
		if !ruled[name] && !slices.Contains(anyImport, name) {
			t.Errorf("depguard has no rule for %s", name)
		}
	}
}

// needs reports whether the package imports a package that the given entry of a depguard
// rule allows.
func (p *goPackage) needs(allowed string) bool {
	exact, is := strings.CutSuffix(allowed, "$")
	return slices.ContainsFunc(p.other, func(imported string) bool {
		return imported == exact || !is && strings.HasPrefix(imported, allowed)
	})
}

// Packages for tests are imported only by tests and by other packages for tests.
func TestOnlyTestsImportPackagesForTests(t *testing.T) {
	forTests := func(name string) bool {
		return strings.HasPrefix(name, "internal/testing/") || strings.HasSuffix(name, "test")
	}
	found := 0
	for name, p := range packagesOf(t) {
		if forTests(name) {
			found++
			continue
		}
		for _, imported := range p.own {
			if forTests(imported) {
				t.Errorf("%s imports %s, which is for tests", name, imported)
			}
		}
	}
	if found < 6 {
		t.Errorf("%d packages for tests were found, want at least 6", found)
	}
}
