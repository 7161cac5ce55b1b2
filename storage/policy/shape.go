package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ovation/storage"
)

// object is a JSON object.
type object = map[string]any

// shape is the form of a value of type T in the file. It both reads such values and
// describes them in the JSON Schema, so that the two cannot disagree.
type shape[T any] struct {
	// read sets the value. It changes only what the file states, so that a value can
	// inherit: it is read over the value that it inherits from.
	read   func(r *reader, at cursor, into *T)
	schema object
}

// member is one key of a mapping that stands for a T.
type member[T any] struct {
	name   string
	read   func(r *reader, at cursor, into *T)
	schema object
}

// field returns the member that is read into a field of T, which the function of returns.
func field[T, V any](name, description string, s shape[V], of func(*T) *V) member[T] {
	schema := maps.Clone(s.schema)
	schema["description"] = description
	return member[T]{name, func(r *reader, at cursor, into *T) { s.read(r, at, of(into)) }, schema}
}

// structure is a mapping with fixed keys. It may be empty or null.
func structure[T any](members ...member[T]) shape[T] {
	names, properties := make([]string, len(members)), object{}
	for i, m := range members {
		names[i], properties[m.name] = m.name, m.schema
	}
	read := func(r *reader, at cursor, into *T) {
		pairs, leave := r.enter(at)
		defer leave()
		for _, p := range pairs {
			i := slices.Index(names, p.key.Value)
			if i < 0 {
				r.reportf(p.key, at.path, "has no setting %s; it may have %s", quoted(p.key.Value), listing(names))
				continue
			}
			members[i].read(r, p.value, into)
		}
	}
	return shape[T]{read, object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}}
}

// mapping is a mapping with keys that the site chooses, at most the given number.
func mapping[V any](noun string, check func(string) error, pattern string, most int, s shape[V]) shape[map[string]V] {
	read := func(r *reader, at cursor, into *map[string]V) {
		pairs, leave := r.enter(at)
		defer leave()
		if len(pairs) > most {
			r.reportf(at.node, at.path, "has %d entries; at most %d are allowed", len(pairs), most)
			pairs = nil
		}
		out := make(map[string]V, len(pairs))
		for _, p := range pairs {
			if err := check(p.key.Value); err != nil {
				r.reportf(p.key, at.path, "has the %s %s: %v", noun, quoted(p.key.Value), err)
				continue
			}
			var value V
			s.read(r, p.value, &value)
			out[p.key.Value] = value
		}
		*into = out
	}
	return shape[map[string]V]{read, object{
		"type": []string{"object", "null"}, "propertyNames": object{"pattern": pattern}, "maxProperties": most, "additionalProperties": s.schema,
	}}
}

// oneOf is one of several words.
func oneOf[T ~string](words ...T) shape[T] {
	return shape[T]{func(r *reader, at cursor, into *T) {
		text, ok := r.scalar(at, "!!str", "one of the words "+listing(words))
		switch {
		case !ok:
		case !slices.Contains(words, T(text)):
			r.reportf(at.node, at.path, "is %s; it must be %s", quoted(text), oneOrOther(words))
		default:
			*into = T(text)
		}
	}, object{"enum": words}}
}

// audience is one of several words, or a scope.
func audience(words ...Who) shape[Who] {
	options := append(slices.Clone(words), scopePrefix+"NAME")
	return shape[Who]{func(r *reader, at cursor, into *Who) {
		text, ok := r.scalar(at, "!!str", oneOrOther(options))
		if !ok {
			return
		}
		who := Who(text)
		if scope, is := who.Scope(); !slices.Contains(words, who) && (!is || !validScope(scope)) {
			r.reportf(at.node, at.path, "is %s; it must be %s", quoted(text), oneOrOther(options))
			return
		}
		*into = who
	}, object{"type": "string", "anyOf": []object{{"enum": words}, {"pattern": "^" + scopePrefix + scopePattern + "$"}}}}
}

// scopePattern is the pattern of a scope in a token (RFC 6749), of at most 128 characters.
const scopePattern = `[!#-\[\]-~]{1,128}`

func validScope(name string) bool {
	unfit := func(c rune) bool { return c < '!' || c > '~' || c == '"' || c == '\\' }
	return name != "" && len(name) <= 128 && !strings.ContainsFunc(name, unfit)
}

// integer is a whole number from least to most.
func integer(least, most int) shape[int] {
	return shape[int]{func(r *reader, at cursor, into *int) {
		what := fmt.Sprintf("a whole number from %d to %d", least, most)
		text, ok := r.scalar(at, "!!int", what)
		if !ok {
			return
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			r.reportf(at.node, at.path, "is %s; it must be %s", quoted(text), what)
			return
		}
		*into = n
	}, object{"type": "integer", "minimum": least, "maximum": most}}
}

// boolean is true or false.
func boolean() shape[bool] {
	return shape[bool]{func(r *reader, at cursor, into *bool) {
		if text, ok := r.scalar(at, "!!bool", "true or false"); ok {
			*into = strings.EqualFold(text, "true")
		}
	}, object{"type": "boolean"}}
}

// windows is a list of windows.
func windows() shape[Windows] {
	return shape[Windows]{func(r *reader, at cursor, into *Windows) {
		var set Windows
		for _, one := range r.list(at, "a list of the words "+listing(windowNames)) {
			var name string
			oneOf(windowNames...).read(r, one, &name)
			if i := slices.Index(windowNames, name); i >= 0 {
				set |= 1 << storage.TrendWindows[i]
			}
		}
		*into = set
	}, object{"type": "array", "items": object{"enum": windowNames}}}
}

// deferred checks a value and keeps its node, to be read later over what it inherits from.
func deferred[T any](name string, s shape[T], blank T) shape[*yaml.Node] {
	return shape[*yaml.Node]{func(r *reader, at cursor, into **yaml.Node) {
		scratch := blank
		s.read(r, at, &scratch)
		*into = at.node
	}, object{"$ref": "#/$defs/" + name}}
}

// listing returns words separated by commas.
func listing[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = string(word)
	}
	return strings.Join(out, ", ")
}

// oneOrOther returns words separated by commas, with "or" before the last.
func oneOrOther[T ~string](words []T) string {
	if n := len(words) - 1; n > 0 {
		return listing(words[:n]) + " or " + string(words[n])
	}
	return listing(words)
}

// quoted truncates and quotes a text from the file, for use in a message.
func quoted(text string) string { return strconv.QuoteToASCII(text[:min(len(text), 64)]) }
