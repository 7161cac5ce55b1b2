package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"ovation/accounts"
	"ovation/api/viewer"
	"ovation/importer"
	"ovation/resolvers/limits"
	"ovation/resolvers/transport"
	"ovation/storage"
)

// variables returns a resolver for the flags that are not on the command line. It gives
// each flag the value of the flag's environment variable. An empty variable counts as
// unset.
func variables(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range flag.Envs {
			value := getenv(name)
			if value == "" {
				continue
			}
			// The value is parsed here, so that the error can name the variable.
			scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})
			trial := reflect.New(flag.Target.Type()).Elem()
			if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, trial); err != nil {
				return nil, fmt.Errorf("from the variable %s: %w", name, err)
			}
			return value, nil
		}
		return nil, nil
	})
}

// helpWithVariable returns the help text of a flag, followed by the name of its variable.
func helpWithVariable(value *kong.Value) string {
	if value.Flag == nil || len(value.Flag.Envs) == 0 {
		return value.Help
	}
	return value.Help + " $" + value.Flag.Envs[0]
}

// adaptValues prepares a parser for variables and explain. It stops kong from looking up
// the variables itself: kong reads the environment of the process, takes an empty
// variable as a value, and prints invalid values, which may be secrets. Only Tag.Envs is
// cleared, which kong looks up; variables uses Flag.Envs.
func adaptValues(model *kong.Application) error {
	return kong.Visit(model, func(part kong.Visitable, next kong.Next) error {
		if value, is := part.(*kong.Value); is {
			value.Tag.Envs = nil
			value.Mapper = valueMapper{value.Mapper}
		}
		return next(nil)
	})
}

// valueError is the error of a missing or invalid value.
type valueError struct{ error }

func (e *valueError) Unwrap() error { return e.error }

// valueMapper parses a value. Each of its errors is a valueError.
type valueMapper struct{ kong.Mapper }

// Decode reports a missing value if the end or another flag follows a flag that takes a
// value.
func (m valueMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	var err error
	switch next := ctx.Scan.Peek(); {
	case next.IsValue() || ctx.Value.IsBool():
		err = m.Mapper.Decode(ctx, target)
	case next.IsEOL():
		err = errors.New("a value is missing")
	case target.Type() == reflect.TypeFor[secret](), target.Type() == reflect.TypeFor[[]webhookSecret]():
		err = fmt.Errorf("a value is missing; if it begins with -, write %s=SECRET", ctx.Value.ShortSummary())
	default:
		err = fmt.Errorf("a value is missing before %q; perhaps try %s=%[1]q?", next, ctx.Value.ShortSummary())
	}
	if err != nil {
		return &valueError{err}
	}
	return nil
}

// distributed lists the variables with the URLs of the services. Only the distributed
// mode uses these services.
var distributed = []string{"OVATION_POSTGRES_URL", "OVATION_REDIS_URL", "OVATION_RABBITMQ_URL"}

// exampleOf maps variables to example values.
var exampleOf = map[string]string{ //nolint:gosec // no real password
	"OVATION_POSTGRES_URL": "postgres://user:password@host:5432/ovation",
	"OVATION_REDIS_URL":    "redis://default:password@host:6379",
	"OVATION_RABBITMQ_URL": "amqp://user:password@host:5672/",
}

// firstSet returns the first of the given environment variables that is set, or "" if
// none is.
func firstSet(getenv func(string) string, names ...string) string {
	for _, name := range names {
		if getenv(name) != "" {
			return name
		}
	}
	return ""
}

// refuseDevOnly returns a usage error if a variable enables an option that only ovation
// dev has.
func refuseDevOnly(getenv func(string) string) error {
	for _, name := range []string{"OVATION_DEV_HEADERS", "OVATION_INSECURE_DEV_HEADERS", "OVATION_DEMO"} {
		if value := getenv(name); value != "" {
			if on, err := strconv.ParseBool(value); err != nil || on {
				return usage("%s is set, but it is for ovation dev alone: unset it. ovation serve accepts only tokens and has no demo data.", name)
			}
		}
	}
	return nil
}

// address is a host and a port to listen on.
type address string

// UnmarshalText accepts host:port with a port from 0 to 65535.
func (a *address) UnmarshalText(text []byte) error {
	_, port, err := net.SplitHostPort(string(text))
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is not an address: write host:port with a port from 0 to 65535, for example 127.0.0.1:8080; port 0 is any free one", text)
	}
	*a = address(text)
	return nil
}

// loopback reports whether only programs on this machine can connect to the address.
func (a address) loopback() bool {
	host, _, err := net.SplitHostPort(string(a))
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// origin is a web origin, or * for all.
type origin string

// UnmarshalText rejects origins that no browser sends. It ignores surrounding space,
// which the entries of a list may have.
func (o *origin) UnmarshalText(text []byte) error {
	text = bytes.TrimSpace(text)
	if err := transport.CheckOrigin(string(text)); err != nil {
		return err
	}
	*o = origin(text)
	return nil
}

// secret is a key that signs tokens. It is never printed.
type secret string

// UnmarshalText rejects secrets that are too short.
func (s *secret) UnmarshalText(text []byte) error {
	if len(text) < viewer.MinSecretBytes {
		return fmt.Errorf("the secret is %d bytes long; at least %d are needed (openssl rand -base64 32 makes one)", len(text), viewer.MinSecretBytes)
	}
	*s = secret(text)
	return nil
}

// level is the minimum level of log messages.
type level struct{ slog.Level }

// UnmarshalText rejects unknown levels.
func (l *level) UnmarshalText(text []byte) error {
	if name := strings.ToLower(string(text)); slices.Contains(levels, name) {
		return l.Level.UnmarshalText([]byte(name))
	}
	return fmt.Errorf("%q is not a level: write debug, info, warn or error", text)
}

var prefixes = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// choices holds the values of flags that have one of a few, by the flags' tag "type".
var choices = map[string][]string{
	"unit":     importer.TimeUnits(),
	"format":   importer.Formats(),
	"action":   importer.Actions(),
	"unmapped": {"skip", "bad"},
}

// levels are the values of a level.
var levels = []string{"debug", "info", "warn", "error"}

// mappers returns the parsers for flags. A flag's tag "type" names its parser.
func mappers() kong.Option {
	all := map[string]kong.Mapper{
		"partitions": number(1, 256),           // more would overload RabbitMQ
		"batches":    number(1, 8),             // more would exhaust the connection pool
		"streams":    number(1, 10_000_000),    // streams and subscriptions
		"rate":       number(0, math.MaxInt32), // actions per second
		"units":      number(0, 10_000_000),    // cost per second, messages per minute, attempts
		"password":   number(accounts.MinPasswordRunes, accounts.MaxPasswordRunes),
		"key":        number(1, math.MaxInt32), // number of the key that signs account tokens
		"percentage": number(1, 100),
		"mebibytes":  number(1, 1024), // an upload of 1 GiB takes less than a day even at the minimum rate; see media.Janitor
		"fields":     number(1, limits.MaxFields),
		"batch":      number(0, 100),
		"biz":        text(storage.ValidateBiz),
		"tenant":     text(storage.ValidateTenant),
		"user":       text(storage.ValidateUserID),
		"zone": text(func(s string) error {
			_, err := importer.ParseZone(s)
			return err
		}),
		"at": text(func(s string) error {
			_, err := importer.ParseAt(s)
			return err
		}),
		"delimiter": text(func(s string) error {
			_, err := importer.ParseDelimiter(s)
			return err
		}),
		"comment": text(func(s string) error {
			_, err := storage.CleanText("placeholder", s, storage.MaxCommentRunes)
			return err
		}),
		"prefix": text(func(s string) error {
			if !prefixes.MatchString(s) {
				return fmt.Errorf("%q is not a prefix: write 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -", s)
			}
			return nil
		}),
		"tokenttl": kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			var value string
			if err := ctx.Scan.PopValueInto("value", &value); err != nil {
				return err
			}
			ttl, err := time.ParseDuration(value)
			if err != nil || ttl < time.Minute || ttl > accounts.MaxTokenTTL {
				return fmt.Errorf("%q is not a duration from 1m to %v", value, accounts.MaxTokenTTL)
			}
			target.SetInt(int64(ttl))
			return nil
		}),
		"folder": text(func(s string) error {
			if s == "" {
				return errors.New("it must name a folder; . is the current one")
			}
			return nil
		}),
	}
	for name, values := range choices {
		all[name] = oneOf(values)
	}
	return kong.OptionFunc(func(k *kong.Kong) error {
		for name, mapper := range all {
			if err := kong.NamedMapper(name, mapper).Apply(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// text returns a parser for strings. The parser rejects the strings for which check
// returns an error.
func text(check func(string) error) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var value string
		if err := ctx.Scan.PopValueInto("value", &value); err != nil {
			return err
		}
		target.SetString(value)
		return check(value)
	})
}

func oneOf(known []string) kong.Mapper {
	return text(func(value string) error {
		if !slices.Contains(known, value) {
			return fmt.Errorf("%q is not one of %s", value, strings.Join(known, ", "))
		}
		return nil
	})
}

// number returns a parser for integers. The parser rejects those below least or above
// most.
func number(least, most int) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var value string
		if err := ctx.Scan.PopValueInto("value", &value); err != nil {
			return err
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return fmt.Errorf("%q is not a number from %d to %d", value, least, most)
		}
		target.SetInt(int64(n))
		return nil
	})
}

// pause is a duration of 0 or more.
type pause time.Duration

// UnmarshalText rejects negative durations.
func (d *pause) UnmarshalText(text []byte) error {
	length, err := time.ParseDuration(string(text))
	if err != nil || length < 0 {
		return fmt.Errorf("%q is not a duration of 0 or more: write for example 500ms, 10s or 1m", text)
	}
	*d = pause(length)
	return nil
}

// lifetime is how long something is valid or kept.
type lifetime time.Duration

// UnmarshalText rejects durations of less than a second.
func (d *lifetime) UnmarshalText(text []byte) error {
	length, err := time.ParseDuration(string(text))
	if err != nil || length < time.Second {
		return fmt.Errorf("%q is not a duration of at least a second: write for example 30m or 24h", text)
	}
	*d = lifetime(length)
	return nil
}
