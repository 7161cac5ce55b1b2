package main

import (
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

	"ovation/importer"
	"ovation/resolvers/limits"
	"ovation/resolvers/transport"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

// variables gives each flag that is not on the command line the value of the
// variable its tag names. An empty variable is none.
func variables(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := flag.Tag.Get("variable")
		if name == "" {
			return nil, nil
		}
		value := getenv(name)
		if value == "" {
			return nil, nil
		}
		// Tried here, so that the message can say where the value came from.
		trial := reflect.New(flag.Target.Type()).Elem()
		if err := flag.Parse(kong.Scan().PushTyped(value, kong.FlagValueToken), trial); err != nil {
			if inner := errors.Unwrap(err); inner != nil {
				err = inner // the flag is named around this
			}
			return nil, fmt.Errorf("from the variable %s: %w", name, err)
		}
		return value, nil
	})
}

// helpWithVariable ends the help text of a flag with its variable.
func helpWithVariable(value *kong.Value) string {
	if name := value.Tag.Get("variable"); name != "" {
		return value.Help + " $" + name
	}
	return value.Help
}

// distributed are the variables of the way to run that has services.
var distributed = []string{"OVATION_POSTGRES_URL", "OVATION_REDIS_URL", "OVATION_RABBITMQ_URL"}

// firstSet is the first of the variables that is set, if any.
func firstSet(getenv func(string) string, names ...string) string {
	for _, name := range names {
		if getenv(name) != "" {
			return name
		}
	}
	return ""
}

// refuseDevOnly refuses what would make no difference to ovation serve, and is
// dangerous to believe in.
func refuseDevOnly(getenv func(string) string) error {
	for _, name := range []string{"OVATION_DEV_HEADERS", "OVATION_INSECURE_DEV_HEADERS", "OVATION_DEMO"} {
		if value := getenv(name); value != "" {
			if on, err := strconv.ParseBool(value); err != nil || on {
				return usage("%s is set, but it is for ovation dev alone: unset it. ovation serve believes tokens and has no demo data.", name)
			}
		}
	}
	return nil
}

// address is a host and a port to listen on.
type address string

// UnmarshalText refuses what cannot be listened on.
func (a *address) UnmarshalText(text []byte) error {
	_, port, err := net.SplitHostPort(string(text))
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q is not an address: write host:port, for example 127.0.0.1:8080, or 127.0.0.1:0 for any free port", text)
	}
	*a = address(text)
	return nil
}

// loopback reports whether only this machine can connect.
func (a address) loopback() bool {
	host, _, err := net.SplitHostPort(string(a))
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// origin is a web site, as browsers name it, or * for all.
type origin string

// UnmarshalText refuses what no browser sends.
func (o *origin) UnmarshalText(text []byte) error {
	if err := transport.CheckOrigin(string(text)); err != nil {
		return err
	}
	*o = origin(text)
	return nil
}

// secret is what tokens are signed with. It is never printed.
type secret string

// UnmarshalText refuses what is easily guessed.
func (s *secret) UnmarshalText(text []byte) error {
	if len(text) < viewer.MinSecretBytes {
		return fmt.Errorf("the secret is %d bytes long; at least %d are needed (openssl rand -base64 32 makes one)", len(text), viewer.MinSecretBytes)
	}
	*s = secret(text)
	return nil
}

// level is how much is logged.
type level struct{ slog.Level }

// UnmarshalText refuses unknown levels.
func (l *level) UnmarshalText(text []byte) error {
	switch name := strings.ToLower(string(text)); name {
	case "debug", "info", "warn", "error":
		return l.Level.UnmarshalText([]byte(name))
	}
	return fmt.Errorf("%q is not a level: write debug, info, warn or error", text)
}

var prefixes = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// mappers read the flags whose tag "type" names one.
func mappers() kong.Option {
	all := map[string]kong.Mapper{
		"partitions": number(1, 256),           // more is too much for RabbitMQ
		"batches":    number(1, 8),             // more than the pool of connections bears
		"streams":    number(1, 10_000_000),    // and subscriptions
		"rate":       number(0, math.MaxInt32), // actions a second
		"units":      number(0, 10_000_000),    // cost a second
		"percentage": number(1, 100),
		"fields":     number(1, limits.MaxFields),
		"biz":        text(storage.ValidateBiz),
		"tenant":     text(storage.ValidateTenant),
		"user":       text(storage.ValidateUserID),
		"unit":       oneOf(importer.TimeUnits()),
		"format":     oneOf(importer.Formats()),
		"action":     oneOf(importer.Actions()),
		"delimiter": text(func(s string) error {
			_, err := importer.ParseDelimiter(s)
			return err
		}),
		"prefix": text(func(s string) error {
			if !prefixes.MatchString(s) {
				return fmt.Errorf("%q is no prefix: write 1 to 64 letters, digits and any of . _ -", s)
			}
			return nil
		}),
		"folder": text(func(s string) error {
			if s == "" {
				return errors.New("it must name a folder; . is the present one")
			}
			return nil
		}),
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

// text reads what the check accepts.
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
			return fmt.Errorf("%q is none of %s", value, strings.Join(known, ", "))
		}
		return nil
	})
}

// number reads a number within bounds.
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

// pause is how long to wait.
type pause time.Duration

// UnmarshalText refuses what lies in the past.
func (d *pause) UnmarshalText(text []byte) error {
	length, err := time.ParseDuration(string(text))
	if err != nil || length < 0 {
		return fmt.Errorf("%q is not a duration: write for example 500ms, 10s or 1m", text)
	}
	*d = pause(length)
	return nil
}
