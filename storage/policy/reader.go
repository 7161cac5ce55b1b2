package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxProblems is the number of problems that an error lists.
	maxProblems = 20
	// maxValues is the number of values that a file may have. An alias counts as much as
	// the values that it stands for.
	maxValues = 100_000
)

// Problem is one error in a file.
type Problem struct {
	Line    int    // from 1; 0 if unknown
	Column  int    // from 1, in characters; 0 if unknown
	Field   string // for example "biz.article.allow"; empty for the file as a whole
	Message string // follows the field in a sentence, or stands alone
}

// FileError is the error of a file that is not valid.
type FileError struct {
	Path     string
	Problems []Problem // sorted by line; at most 20
	More     int       // how many further problems there are
}

// Error lists one problem a line, each with its position.
func (e *FileError) Error() string {
	var out strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(e.Path)
		if p.Line > 0 {
			_, _ = fmt.Fprintf(&out, ":%d", p.Line)
		}
		if p.Column > 0 {
			_, _ = fmt.Fprintf(&out, ":%d", p.Column)
		}
		out.WriteString(": ")
		if p.Field != "" {
			out.WriteString(p.Field + " ")
		}
		out.WriteString(p.Message)
	}
	if e.More > 0 {
		_, _ = fmt.Fprintf(&out, "\n%s: and %d more", e.Path, e.More)
	}
	return out.String()
}

// cursor is a position in the file.
type cursor struct {
	node *yaml.Node
	path string // of keys, for example "biz.article"
}

// pair is an entry of a mapping.
type pair struct {
	key   *yaml.Node // a scalar
	value cursor
}

// reader collects the problems of a file.
type reader struct {
	problems []Problem
	values   int                 // read so far
	active   map[*yaml.Node]bool // the mappings and lists that are being read
}

func (r *reader) reportf(node *yaml.Node, path, format string, args ...any) {
	r.problems = append(r.problems, Problem{node.Line, node.Column, cmp.Or(path, "the file"), fmt.Sprintf(format, args...)})
}

// err returns the problems as an error, or nil if there are none.
func (r *reader) err(path string) error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	// A value that several aliases stand for has the same problem in each place.
	r.problems = slices.CompactFunc(r.problems, func(a, b Problem) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
	n := min(len(r.problems), maxProblems)
	return &FileError{path, r.problems[:n], len(r.problems) - n}
}

// count counts values, and reports whether the file has not too many of them.
func (r *reader) count(at cursor, values int) bool {
	before := r.values
	if r.values += values; before <= maxValues && r.values > maxValues {
		r.reportf(at.node, "", "has more than %d values, each alias counted as the values that it stands for", maxValues)
	}
	return r.values <= maxValues
}

// target returns what an alias stands for, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// begin begins to read a mapping or a list, until leave is called, and returns its node.
// The node is nil if it cannot be read; begin has then reported why.
func (r *reader) begin(at cursor, kind yaml.Kind, what string) (node *yaml.Node, leave func()) {
	node = target(at.node)
	switch {
	case r.active[node]:
		r.reportf(at.node, at.path, "contains itself through the alias *%s", at.node.Value)
	case node.Kind != kind:
		r.reportf(at.node, at.path, "is %s; it must be %s", describe(node), what)
	case r.count(at, 1+len(node.Content)):
		if r.active == nil {
			r.active = map[*yaml.Node]bool{}
		}
		r.active[node] = true
		return node, func() { delete(r.active, node) }
	}
	return nil, func() {}
}

// enter returns the entries of a mapping without those that have no valid key. An empty
// value is an empty mapping. The caller calls leave when it has read the entries.
func (r *reader) enter(at cursor) (pairs []pair, leave func()) {
	if node := target(at.node); node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return nil, func() {}
	}
	node, leave := r.begin(at, yaml.MappingNode, "a mapping (key: value)")
	if node == nil {
		return nil, leave
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := target(node.Content[i])
		switch first := lines[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.reportf(node.Content[i], at.path, "has a key that is %s; keys must be words", describe(key))
		case key.ShortTag() == "!!merge":
			r.reportf(key, at.path, "has a merge key (<<), which is not supported: use defaults, or an alias for the whole value")
		case first > 0:
			r.reportf(node.Content[i], at.path, "has %s twice; it is first on line %d", quoted(key.Value), first)
		default:
			lines[key.Value] = node.Content[i].Line
			pairs = append(pairs, pair{key, cursor{node.Content[i+1], strings.TrimPrefix(at.path+"."+key.Value, ".")}})
		}
	}
	return pairs, leave
}

// list returns the entries of a list.
func (r *reader) list(at cursor, what string) []cursor {
	node, leave := r.begin(at, yaml.SequenceNode, what)
	defer leave()
	if node == nil {
		return nil
	}
	out := make([]cursor, len(node.Content))
	for i, entry := range node.Content {
		out[i] = cursor{entry, fmt.Sprintf("%s[%d]", at.path, i)}
	}
	return out
}

// scalar returns the text of a scalar with the given tag. It returns false if the value is
// something else; it has then reported that.
func (r *reader) scalar(at cursor, tag, what string) (string, bool) {
	node := target(at.node)
	if !r.count(at, 1) {
		return "", false
	}
	if node.Kind != yaml.ScalarNode || node.ShortTag() != tag {
		r.reportf(at.node, at.path, "is %s; it must be %s", describe(node), what)
		return "", false
	}
	return node.Value, true
}

// describe returns what a node is, for use in a message.
func describe(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.ShortTag() == "!!null":
		return "empty"
	case node.ShortTag() == "!!str":
		return "the text " + quoted(node.Value)
	}
	return quoted(node.Value)
}
