package transport

import (
	"slices"
	"strings"

	"ovation/resolvers/rows"
)

// maxUniformMembers is the maximum number of members of an object in rows.
const maxUniformMembers = 8

// variable reads a value. If the value is a list of uniform objects (see uniformList), it
// is returned as *rows.Rows.
func (s *scanner) variable() any {
	if s.peek() == '[' {
		before := *s
		if found := s.uniformList(); found != nil {
			return found
		}
		*s = before
	}
	return s.value()
}

// span is the position of a string in a scanner's text.
type span struct{ from, to int32 }

// uniformList reads a list of objects with the same members in the same order. All values
// must be strings without escapes. For any other list, uniformList returns nil, and the
// position of the scanner is undefined.
func (s *scanner) uniformList() *rows.Rows {
	var room [128]span // enough for most pages, without an allocation
	values, names := room[:0], make([]string, 0, 2)
	if !s.open('[') {
		return nil
	}
	for more := true; more; more = s.more() {
		var ok bool
		if values, names, ok = s.uniformObject(values, names); !ok {
			return nil
		}
	}
	if s.close(']'); s.failed {
		return nil
	}
	return &rows.Rows{Names: names, Values: s.texts(values)}
}

// uniformObject reads an object and appends its values. The first object of the list
// determines the names. uniformObject returns false if the object is not uniform.
func (s *scanner) uniformObject(values []span, names []string) ([]span, []string, bool) {
	first, at := len(values) == 0, 0
	if !s.open('{') {
		return nil, nil, false
	}
	for more := true; more; more = s.more() {
		name, odd := s.quoted()
		switch {
		case odd:
			return nil, nil, false
		case first && at < maxUniformMembers && !slices.Contains(names, string(name)):
			names = append(names, string(name))
		case first || at == len(names) || string(name) != names[at]:
			return nil, nil, false
		}
		at++
		if !s.take(':') || s.peek() != '"' {
			return nil, nil, false
		}
		value, escaped := s.quoted()
		if escaped {
			return nil, nil, false
		}
		to := s.at - 1 // the position of the closing quote
		values = append(values, span{int32(to - len(value)), int32(to)})
	}
	s.close('}')
	return values, names, at == len(names)
}

// texts returns the strings at the given positions. All strings are parts of one copy.
func (s *scanner) texts(at []span) []string {
	size := int32(0)
	for _, one := range at {
		size += one.to - one.from
	}
	var all strings.Builder
	all.Grow(int(size))
	for _, one := range at {
		all.Write(s.text[one.from:one.to])
	}
	rest, out := all.String(), make([]string, len(at))
	for i, one := range at {
		n := one.to - one.from
		out[i], rest = rest[:n], rest[n:]
	}
	return out
}
