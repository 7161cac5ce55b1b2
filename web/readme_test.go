package web_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A block of code for a page, and the line before it, if that follows directly.
var codeOfAPage = regexp.MustCompile("(?m)^(.*)\n\n?```(?:js|jsx|ts|tsx|javascript|typescript)\n((?s:.*?))^```$")

var linkToExample = regexp.MustCompile(`\]\((examples/[^)]+)\)`)

// Code of pages in the README is quoted from a file of the examples, which are
// type-checked, built and tested in a browser.
func TestTheREADMEQuotesTheExamples(t *testing.T) {
	root := ".."
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := map[string]bool{}
	for _, block := range codeOfAPage.FindAllStringSubmatch(string(text), -1) {
		before, code := block[1], block[2]
		links := linkToExample.FindAllStringSubmatch(before, -1)
		if len(links) == 0 {
			t.Errorf("no link before this code leads to a file of the examples, want it quoted from one:\n%s", code)
			continue
		}
		name := links[len(links)-1][1]
		file, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Errorf("the README quotes a file that cannot be read: %v", err)
			continue
		}
		if !strings.Contains(unindented(string(file)), unindented(code)) {
			t.Errorf("%s does not contain the README's quotation:\n%s", name, code)
		}
		quoted[filepath.Dir(filepath.Dir(name))] = true
	}
	for _, example := range []string{"examples/apollo", "examples/urql"} {
		if !quoted[example] {
			t.Errorf("the README does not quote %s", example)
		}
	}
}

// Where the README shows one of two files and says that they are the same, they are.
func TestTheExamplesShareFiles(t *testing.T) {
	for _, name := range []string{"codegen.ts", "vite.config.ts", "src/status.tsx", "src/operations.graphql", "src/page.css"} {
		apollo, err := os.ReadFile(filepath.Join("../examples/apollo", name))
		if err != nil {
			t.Fatal(err)
		}
		urql, err := os.ReadFile(filepath.Join("../examples/urql", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(apollo, urql) {
			t.Errorf("%s is not the same in both examples", name)
		}
	}
}

// unindented returns code without indentation, so that a part of a function can be quoted.
func unindented(code string) string {
	lines := slices.Collect(strings.Lines(code))
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " ")
	}
	return strings.Join(lines, "")
}
