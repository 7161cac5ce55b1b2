// Package docs holds documents. Its tests check that they agree with the code.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// link is a Markdown link, [text](target), in a document.
type link struct{ document, text, target string }

var (
	links    = regexp.MustCompile(`\[([^\[\]]+)\]\(([^()\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fences   = regexp.MustCompile("(?ms)^```.*?^```")
)

// documents maps the relative path of each document in the project to its text, without
// code blocks.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "node_modules" || name == "dist" || name != ".." && strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] = fences.ReplaceAllString(string(text), "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func linksOf(document, text string) (out []link) {
	for _, found := range links.FindAllStringSubmatch(text, -1) {
		out = append(out, link{document, found[1], found[2]})
	}
	return out
}

// TestLinksLeadSomewhere checks that every link within the project leads to an existing
// file and that, if the link names a heading, the file contains that heading.
func TestLinksLeadSomewhere(t *testing.T) {
	all := documents(t)
	if len(all) < 20 {
		t.Fatalf("there are %d documents, want at least 20", len(all))
	}
	for document, text := range all {
		for _, l := range linksOf(document, text) {
			if strings.Contains(l.target, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(l.target, "#")
			path := document
			if file != "" {
				path = filepath.Join(filepath.Dir(document), file)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: [%s] leads to %s: %v", document, l.text, l.target, err)
				continue
			}
			if anchor != "" && !slices.Contains(anchorsOf(all[path]), anchor) {
				t.Errorf("%s: [%s] leads to %s, which has no such heading", document, l.text, l.target)
			}
		}
	}
}

// anchorsOf returns the anchors of a document's headings, as GitHub generates them.
func anchorsOf(text string) (out []string) {
	for _, found := range headings.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, found[1]))
	}
	return out
}

// If a name in code style links to a Go file, the file declares that name.
// `Recorder.Record` names a method, `TestOnce` a function.
func TestNamesOfCodeExist(t *testing.T) {
	checked := 0
	for document, text := range documents(t) {
		for _, l := range linksOf(document, text) {
			name := strings.Trim(l.text, "`")
			if name == l.text || !strings.HasSuffix(l.target, ".go") {
				continue
			}
			checked++
			if path := filepath.Join(filepath.Dir(document), l.target); !slices.Contains(declaredIn(t, path), name) {
				t.Errorf("%s: %s is not declared in %s", document, name, path)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d names were checked, want at least 100", checked)
	}
}

// declaredIn returns the names that a Go file declares. A method's name begins with its
// type, as in Recorder.Record.
func declaredIn(t *testing.T, path string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			names = append(names, name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// receiver returns the name of the type in a method's receiver.
func receiver(typ ast.Expr) string {
	switch of := typ.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// Each invariant states its promise and its exceptions, and names at least three tests.
func TestEachInvariantNamesItsTests(t *testing.T) {
	text, err := os.ReadFile("invariants.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		name, _, _ := strings.Cut(title, " ")
		if !regexp.MustCompile(`^I\d`).MatchString(name) {
			continue
		}
		found = append(found, name)
		tests := 0
		for _, l := range linksOf("invariants.md", body) {
			if strings.HasPrefix(l.text, "`") && (strings.HasSuffix(l.target, "_test.go") || strings.Contains(l.target, "test/")) {
				tests++
			}
		}
		if tests < 3 || !strings.HasPrefix(strings.TrimSpace(body), "**") || !strings.Contains(body, "\nExceptions:") {
			t.Errorf("%s names %d tests, want at least 3, the promise first and its exceptions", name, tests)
		}
	}
	if want := []string{"I1", "I2", "I3", "I4", "I4a", "I5", "I6", "I7", "I8"}; !slices.Equal(found, want) {
		t.Errorf("the invariants are %v, want %v", found, want)
	}
}

// Every message in the table of log lines is the beginning of a string in the code.
func TestLogLinesExist(t *testing.T) {
	text, err := os.ReadFile("runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### What the log says\n")
	section, _, _ = strings.Cut(section, "\n### ")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1)
	if len(rows) < 10 {
		t.Errorf("the table has %d log lines, want at least 10", len(rows))
	}
	code := source(t, func(path string) bool { return !strings.HasSuffix(path, "_test.go") })
	for _, row := range rows {
		if !strings.Contains(code, `"`+row[1]) {
			t.Errorf("runbook.md: no code logs %q", row[1])
		}
	}
}

// Each alert links to its entry in the runbook, and names only metrics of the guide. All
// entries have the same form.
func TestAlertsHaveTheirEntries(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	alerts, guide, runbook := read("alerts.yml"), read("operations.md"), read("runbook.md")
	rules := strings.Split(alerts, "- alert: ")[1:]
	if len(rules) < 15 {
		t.Errorf("there are %d alerts, want at least 15", len(rules))
	}
	for _, rule := range rules {
		name, _, _ := strings.Cut(rule, "\n")
		if !strings.Contains(rule, "runbook: docs/runbook.md#"+strings.ToLower(name)+"\n") || !strings.Contains(runbook, "\n### "+name+"\n") {
			t.Errorf("%s has no link to an entry of its own in runbook.md", name)
		}
		for _, metric := range regexp.MustCompile(`ovation_[a-z_]+`).FindAllString(rule, -1) {
			if metric = strings.TrimSuffix(metric, "_bucket"); !regexp.MustCompile("`" + metric + "[`{]").MatchString(guide) {
				t.Errorf("%s names %s, which operations.md does not", name, metric)
			}
		}
	}
	entries, _, _ := strings.Cut(runbook, "\n## Reference\n")
	form := regexp.MustCompile(`(?s)\n- \*\*Means\*\*: .*\n- \*\*Users see\*\*: .*\n- \*\*Look at\*\*: .*\n- \*\*Do\*\*:`)
	for _, entry := range strings.Split(entries, "\n### ")[1:] {
		if !form.MatchString(entry) {
			title, _, _ := strings.Cut(entry, "\n")
			t.Errorf("runbook.md: %q has another form than the other entries", title)
		}
	}
}

// The documentation of packages names only tests that exist, in the same package or in
// another one.
func TestTestsNamedByPackagesExist(t *testing.T) {
	names := regexp.MustCompile(`\b(Test|Example|Fuzz|Benchmark)[A-Z]\w+`)
	code := source(t, func(string) bool { return true })
	found := 0
	for folder, documentation := range packageComments(t) {
		for _, name := range names.FindAllString(documentation, -1) {
			found++
			if !strings.Contains(code, "\nfunc "+name+"(") {
				t.Errorf("the documentation of %s names %s, which is not declared", folder, name)
			}
		}
	}
	if found < 200 {
		t.Errorf("%d names of tests were found, want at least 200", found)
	}
}

// suites maps each package whose documentation names cases of a conformance suite to the
// package of that suite.
var suites = map[string]string{
	"live":           "live/livetest",
	"storage":        "storage/storagetest",
	"storage/mirror": "storage/storagetest",
	"worker/amqp":    "worker/queuetest",
}

// If the documentation of a package names a case of a conformance suite, the case exists.
// A word such as LatestWins is taken to name a case, unless it names a test or is
// declared by the package or the suite.
func TestCasesNamedByPackagesExist(t *testing.T) {
	words := regexp.MustCompile(`\b[A-Z][a-z]+[A-Z]+[a-z]\w+`)
	tests := regexp.MustCompile(`^(Test|Example|Fuzz|Benchmark)[A-Z]`)
	comments := packageComments(t)
	found := 0
	for folder, suite := range suites {
		cases := casesOf(t, suite)
		declared := slices.Concat(declaredInPackage(t, folder), declaredInPackage(t, suite))
		for _, name := range words.FindAllString(comments[folder], -1) {
			switch {
			case slices.Contains(cases, name):
				found++
			case !tests.MatchString(name) && !slices.Contains(declared, name):
				t.Errorf("the documentation of %s names %s, which is no case of %s", folder, name, suite)
			}
		}
	}
	if found < 60 {
		t.Errorf("%d names of cases were found, want at least 60", found)
	}
}

// casesOf returns the names of a suite's cases: the strings that its tables pair with a
// function of the suite.
func casesOf(t *testing.T, suite string) (names []string) {
	t.Helper()
	declared := declaredInPackage(t, suite)
	add := func(name, run ast.Expr) {
		literal, isLiteral := name.(*ast.BasicLit)
		function, isName := run.(*ast.Ident)
		if isLiteral && isName && literal.Kind == token.STRING && slices.Contains(declared, function.Name) {
			names = append(names, strings.Trim(literal.Value, `"`))
		}
	}
	for _, path := range filesOf(t, suite) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr: // an entry of a map
				add(n.Key, n.Value)
			case *ast.CompositeLit: // an entry of a slice
				if len(n.Elts) == 2 {
					add(n.Elts[0], n.Elts[1])
				}
			}
			return true
		})
	}
	return names
}

// declaredInPackage returns the names that a package declares. A method's name does not
// include its type.
func declaredInPackage(t *testing.T, folder string) (names []string) {
	t.Helper()
	for _, path := range filesOf(t, folder) {
		for _, name := range declaredIn(t, path) {
			names = append(names, name[strings.LastIndexByte(name, '.')+1:])
		}
	}
	return names
}

// filesOf returns the paths of a package's Go files, except tests.
func filesOf(t *testing.T, folder string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
}

// packageComments returns the documentation of every package, by folder.
func packageComments(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	eachGoFile(t, func(path string, text []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		all[filepath.ToSlash(filepath.Dir(path))[len("../"):]] += file.Doc.Text()
	})
	return all
}

// source returns the text of all Go files in the project with paths for which the
// function wanted returns true.
func source(t *testing.T, wanted func(path string) bool) string {
	t.Helper()
	var all strings.Builder
	eachGoFile(t, func(path string, text []byte) {
		if wanted(path) {
			all.Write(text)
		}
	})
	return all.String()
}

// eachGoFile calls visit for every Go file in the project.
func eachGoFile(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "node_modules" || name == "testdata" || name != ".." && strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		visit(path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
