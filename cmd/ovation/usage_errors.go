package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

var (
	noValue      = regexp.MustCompile(`expected \w+ value but got "EOL" \(<EOL>\)`)
	anotherFlag  = regexp.MustCompile(`expected \w+ value but got ("[^"]*") \([^)]*\)`)
	unknownFlag  = regexp.MustCompile(`^unknown flag (-\S+?)(?:, did you mean .*)?$`)
	unexpected   = regexp.MustCompile(`^unexpected argument (\S+?)(?:, did you mean .*)?$`)
	missingFlags = regexp.MustCompile(`^missing flags: (.+)$`)
	missingArg   = regexp.MustCompile(`^expected "(<[^"]+>)"$`)
	flagValue    = regexp.MustCompile(`=[^,]*`)
)

// explain returns a clearer message for err, an error from the parser, and the command
// that the message is about. For an unknown flag or command, the message proposes a
// similar name. For a missing flag or argument, the message shows an example.
func explain(err error, app *kong.Application) (message, command string) {
	message = noValue.ReplaceAllLiteralString(err.Error(), "a value is missing")
	message = anotherFlag.ReplaceAllString(message, "a value is missing before $1")
	wrong, is := errors.AsType[*kong.ParseError](err)
	if !is || wrong.Context == nil {
		return message, app.Name
	}
	if found := unknownFlag.FindStringSubmatch(message); found != nil {
		message = "unknown flag " + found[1] + suggestFlag(found[1], wrong.Context, app)
	}
	at := cmp.Or(wrong.Context.Selected(), app.Node)
	if found := unexpected.FindStringSubmatch(message); found != nil {
		message = "unexpected argument " + found[1] + suggestCommand(found[1], at)
	}
	if missing := missingIn(message); missing != "" {
		message = missing + " is missing"
		if example := at.Tag.Get("example"); example != "" {
			message += "; for example: " + example
		}
	}
	return message, at.FullPath()
}

// missingIn returns the missing flags or the missing argument that the parser's message
// names. It returns "" for any other message.
func missingIn(message string) string {
	if found := missingFlags.FindStringSubmatch(message); found != nil {
		return flagValue.ReplaceAllString(found[1], "")
	}
	if found := missingArg.FindStringSubmatch(message); found != nil {
		return found[1]
	}
	return ""
}

// otherNames maps the names that flags have in other programs to the names of the
// equivalent flags here.
var otherNames = map[string][]string{
	"port": {"addr"}, "host": {"addr"}, "listen": {"addr"}, "bind": {"addr"}, "address": {"addr"}, "url": {"addr"},
	"dir": {"data"}, "folder": {"data"}, "directory": {"data"}, "db": {"data", "postgres-url"}, "database": {"data", "postgres-url"},
	"postgres": {"postgres-url"}, "database-url": {"postgres-url"}, "redis": {"redis-url"},
	"rabbitmq": {"rabbitmq-url"}, "amqp-url": {"rabbitmq-url"}, "queue": {"rabbitmq-url"},
	"secret": {"jwt-secret"}, "cors": {"allowed-origins"}, "origins": {"allowed-origins"},
	"separator": {"delimiter"}, "sep": {"delimiter"}, "mapping": {"map"}, "unit": {"time-unit"}, "action": {"all"},
	"expires": {"ttl"}, "expiry": {"ttl"}, "lifetime": {"ttl"}, "sub": {"user"}, "aud": {"audience"}, "iss": {"issuer"},
	"verbose": {"log-level"}, "debug": {"log-level"}, "workers": {"concurrency"}, "fix": {"repair"},
}

// suggestFlag returns the end of a message about an unknown flag. It proposes a similar
// flag of the same command, or names the commands that have the flag. If there is
// neither, suggestFlag returns "".
func suggestFlag(flag string, at *kong.Context, app *kong.Application) string {
	name := strings.TrimLeft(flag, "-")
	flags := at.Flags()
	known := make([]string, len(flags))
	for i, f := range flags {
		known[i] = f.Name
	}
	for _, other := range otherNames[name] {
		if slices.Contains(known, other) {
			return fmt.Sprintf("; did you mean --%s?", other)
		}
	}
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	var commands []string
	for _, command := range app.Leaves(true) {
		if slices.ContainsFunc(command.Flags, func(f *kong.Flag) bool { return f.Name == name }) {
			commands = append(commands, command.FullPath())
		}
	}
	switch {
	case len(commands) == 0:
		return ""
	case at.Selected() == nil:
		return fmt.Sprintf("; write flags behind the command: %s --%s", commands[0], name)
	}
	return "; it is a flag of " + strings.Join(commands, ", ")
}

// suggestCommand returns the end of a message about an unexpected argument. It proposes
// the command with the most similar name. If no name is similar, suggestCommand returns
// "".
func suggestCommand(argument string, at *kong.Node) string {
	known := make([]string, len(at.Children))
	for i, command := range at.Children {
		known[i] = command.Name
	}
	if near := nearest(argument, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// nearest returns the element of known that is most similar to name, or "" if none is
// similar enough.
func nearest(name string, known []string) string {
	allowed := max(len(name)/3, 1)
	if len(name) > 3 {
		allowed = max(allowed, 2)
	}
	best, least := "", allowed+1
	for _, k := range slices.SortedFunc(slices.Values(known), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) {
		d := distance(name, k)
		if len(name) > 3 && strings.Contains(k, name) {
			d = min(d, allowed)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// distance returns the Levenshtein distance between two strings, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
