package douyin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/openapitest"
)

// The OpenAPI document has each endpoint with its method, and no other.
func TestDocumentHasEveryEndpoint(t *testing.T) {
	document, err := openapitest.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range endpoints {
		path := Path + name + "/"
		if _, is := document.Paths[path][strings.ToLower(e.method)]; !is || len(document.Paths[path]) != 1 {
			t.Errorf("%s has the methods %v in the document, want %s alone", path, document.Paths[path], e.method)
		}
	}
	for path := range document.Paths {
		name, is := strings.CutPrefix(path, Path)
		if is && endpoints[strings.TrimSuffix(name, "/")] == nil {
			t.Errorf("the document has %s, which is not served", path)
		}
	}
}

// The document has every parameter that this package reads, and no other.
func TestDocumentHasEveryParameter(t *testing.T) {
	document, err := openapitest.Load()
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for path, item := range document.Paths {
		for _, op := range item {
			if strings.HasPrefix(path, Path) {
				documented = append(documented, document.Names(op)...)
			}
		}
	}
	slices.Sort(documented)
	if documented, read := slices.Compact(documented), parametersRead(t); !slices.Equal(documented, read) {
		t.Errorf("the document has the parameters %v, this package reads %v", documented, read)
	}
}

// parametersRead returns the names that this package looks up: as an index of values, or
// as the argument of a function that does so.
func parametersRead(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	add := func(of ast.Expr) {
		if text, is := of.(*ast.BasicLit); is && text.Kind == token.STRING {
			names = append(names, strings.Trim(text.Value, `"`))
		}
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IndexExpr:
				if of, is := n.X.(*ast.SelectorExpr); is && of.Sel.Name == "values" {
					add(n.Index)
				}
			case *ast.CallExpr:
				of, is := n.Fun.(*ast.SelectorExpr)
				switch {
				case !is:
				case slices.Contains([]string{"id", "requiredID", "user", "time", "has"}, of.Sel.Name):
					add(n.Args[0])
				case of.Sel.Name == "ReadForm": // the file
					add(n.Args[2])
				}
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}
