package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// explain returns a clearer message for err, an error from the parser, and the command
// that the message is about. For an unknown flag or command, the message proposes a
// similar name. For a missing flag or argument, the message shows an example.
func explain(err error, app *kong.Application) (message, command string) {
	message = err.Error()
	wrong, is := errors.AsType[*kong.ParseError](err)
	if !is {
		return message, app.Name
	}
	parsed := wrong.Context
	at := cmp.Or(parsed.Selected(), app.Node)
	if _, is := errors.AsType[*valueError](err); is {
		return message, at.FullPath()
	}
	if parsed.Error != nil {
		// kong has stopped at an argument, behind the last one of Path. Its suggestion is
		// replaced.
		message, _, _ = strings.Cut(message, ", did you mean ")
		argument := parsed.Path[len(parsed.Path)-1].Remainder()[0]
		if strings.HasPrefix(argument, "-") {
			return message + suggestFlag(argument, parsed), at.FullPath()
		}
		return message + suggestCommand(argument, at), at.FullPath()
	}
	if missing := missingIn(parsed, at); len(missing) > 0 {
		message = strings.Join(missing, ", ") + " is missing"
		if example := at.Tag.Get("example"); example != "" {
			message += "; for example: " + example
		}
	}
	return message, at.FullPath()
}

// missingIn returns the required flags and arguments that are not set.
func missingIn(parsed *kong.Context, at *kong.Node) (names []string) {
	for _, flag := range parsed.Flags() {
		if flag.Required && !flag.Set {
			names = append(names, flag.ShortSummary())
		}
	}
	for _, argument := range at.Positional {
		if argument.Required && !argument.Set {
			names = append(names, argument.ShortSummary())
		}
	}
	return names
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
func suggestFlag(argument string, at *kong.Context) string {
	name, _, _ := strings.Cut(strings.TrimLeft(argument, "-"), "=")
	var known []string
	for _, f := range at.Flags() {
		for _, is := range completedFlags(f) {
			known = append(known, is.Name)
		}
	}
	if slices.Contains(known, name) {
		if strings.HasPrefix(argument, "--") {
			return "" // the value of a negation is invalid
		}
		return fmt.Sprintf("; did you mean --%s?", name)
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
	for _, command := range at.Model.Leaves(true) {
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
