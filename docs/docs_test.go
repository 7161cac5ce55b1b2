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

// link is [text](target) of a document.
type link struct{ document, text, target string }

var (
	links    = regexp.MustCompile(`\[([^\[\]]+)\]\(([^()\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fences   = regexp.MustCompile("(?ms)^```.*?^```")
)

// documents returns all documents of the project, by relative path, without their code
// blocks.
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

// A link within the project leads to a file that exists and, if it names one, to a
// heading in it.
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

// anchorsOf returns the anchors of a document's headings, as GitHub makes them.
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

// A name in code style that links to a Go file is declared there: `Recorder.Record`
// is a method, `TestOnce` a function.
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

// declaredIn returns the names that a Go file declares, methods with their types.
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

// receiver returns the name of a method's type.
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

// Each invariant has a promise, its exceptions and tests.
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
	text, err := os.ReadFile("operations.md")
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
			t.Errorf("operations.md: no code logs %q", row[1])
		}
	}
}

// Every test and example that the documentation of a package names exists, in whichever
// package.
func TestTestsNamedByPackagesExist(t *testing.T) {
	names := regexp.MustCompile(`\b(Test|Example)[A-Z]\w+`)
	documentation := source(t, func(path string) bool { return filepath.Base(path) == "doc.go" })
	code := source(t, func(path string) bool { return filepath.Base(path) != "doc.go" })
	named := names.FindAllString(documentation, -1)
	if len(named) < 200 {
		t.Errorf("%d names of tests were found, want at least 200", len(named))
	}
	for _, name := range named {
		if !strings.Contains(code, "\nfunc "+name+"(") {
			t.Errorf("a doc.go names %s, which is not declared", name)
		}
	}
}

// source returns the text of the project's Go files whose paths are wanted.
func source(t *testing.T, wanted func(path string) bool) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "node_modules" || name == "testdata" || name != ".." && strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || !wanted(path):
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
