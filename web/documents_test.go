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

// codeOfAPage matches a block of code for a web page and the line of text before it. At
// most one empty line may separate the two.
var codeOfAPage = regexp.MustCompile("(?m)^(.*)\n\n?```(?:js|jsx|ts|tsx|javascript|typescript)\n((?s:.*?))^```$")

var linkToExample = regexp.MustCompile(`\]\((?:\.\./)?(examples/[^)]+)\)`)

// The documents quote the code of pages from files of the examples. These files are
// type-checked, built and tested in a browser.
func TestDocumentsQuoteTheExamples(t *testing.T) {
	quoted := map[string]bool{}
	for _, document := range []string{"../docs/start.md", "../docs/frontend.md", "../docs/api.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range codeOfAPage.FindAllStringSubmatch(string(text), -1) {
			before, code := block[1], block[2]
			links := linkToExample.FindAllStringSubmatch(before, -1)
			if len(links) == 0 {
				t.Errorf("%s: no link before this code leads to a file of the examples, want it quoted from one:\n%s", document, code)
				continue
			}
			name := links[len(links)-1][1]
			file, err := os.ReadFile(filepath.Join("..", name))
			if err != nil {
				t.Errorf("%s quotes a file that cannot be read: %v", document, err)
				continue
			}
			if !strings.Contains(unindented(string(file)), unindented(code)) {
				t.Errorf("%s does not contain the quotation in %s:\n%s", name, document, code)
			}
			quoted[strings.Split(name, "/")[1]] = true
		}
	}
	for _, example := range []string{"plain", "apollo", "urql", "federation"} {
		if !quoted[example] {
			t.Errorf("no document quotes examples/%s, want one that does", example)
		}
	}
}

// TestTheExamplesShareFiles checks that certain files are the same in both examples: the
// documents show or describe these files only once.
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

// unindented returns code without indentation, so that a part of a function can be
// quoted.
func unindented(code string) string {
	lines := slices.Collect(strings.Lines(code))
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " ")
	}
	return strings.Join(lines, "")
}
