package amqp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
)

// Options tell where the broker is and how it is used. Only URL is needed.
// Prefix, Partitions and DeliveryLimit are part of the queues themselves: all
// processes must agree on them.
type Options struct {
	// URL is amqp://user:password@host:port/vhost, or amqps:// for TLS. See
	// https://www.rabbitmq.com/uri-query-parameters.html for what may follow a
	// question mark (certificates, heartbeat).
	URL string
	// Prefix begins the name of every queue: 1 to 64 letters, digits, "-", "_"
	// and "."; "ovation" if empty.
	Prefix string
	// Partitions is how many queues share the load, at most 256; 4 if 0. Where
	// there are queues it must be their number, which ChangePartitions changes.
	Partitions int
	// DeliveryLimit is how often the broker delivers a message that is neither
	// acknowledged nor rejected before it puts it aside; 200 if 0. It counts
	// what it delivered, not what a worker began with: a worker that dies, or
	// passes a partition on, adds one to each message it was given, up to
	// Prefetch of each partition. So this is no bound on tries, and must be
	// many times what a bad day of restarts makes of it; it is the last defence
	// against a message that kills workers.
	DeliveryLimit int
	// Window is how many messages may be published and not confirmed; 256 if
	// 0, at most 1,000. Whoever comes then waits.
	Window int
	// Prefetch is how many messages of each partition a consumer is given
	// before it settles one; 400 if 0. Messages have a thousand actions at most
	// and mostly a few: 400 of a thousand take some 80 MB, and 300 MB where all
	// ids are as long as can be.
	Prefetch int
	// Grace is how long Publish waits, within its context, for a broker that is
	// away or takes nothing; 300 ms if 0.
	Grace time.Duration
	// ConfirmTimeout is how long a message may lack its confirm before the
	// connection is given up; 15 s if 0. It starts anew when an alarm ends.
	ConfirmTimeout time.Duration
	// IOTimeout bounds each connecting, each write and each request to the
	// broker, and how long Consume waits for a broker that is away; 5 s if 0.
	IOTimeout time.Duration
	// Heartbeat is how long a connection may be silent before the broker gives
	// it up, in whole seconds; 5 s if 0. This side gives it up after one and a
	// half times as long.
	Heartbeat time.Duration
	// MinBackoff and MaxBackoff bound the wait between two tries to connect,
	// which doubles each time and is spread by half; 100 ms and 5 s if 0.
	MinBackoff, MaxBackoff time.Duration
	// Logger takes what goes wrong without failing a caller; slog.Default() if
	// nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics

	settle   time.Duration // how long new queues are left alone; 1.5 s if 0
	draining bool          // used beside the closed gate, by ovation partitions alone
}

func (o Options) withDefaults() Options {
	o.Prefix = cmp.Or(o.Prefix, "ovation")
	o.Partitions = cmp.Or(o.Partitions, 4)
	o.DeliveryLimit = cmp.Or(o.DeliveryLimit, 200)
	o.Window = cmp.Or(o.Window, 256)
	o.Prefetch = cmp.Or(o.Prefetch, 400)
	o.Grace = cmp.Or(o.Grace, 300*time.Millisecond)
	o.ConfirmTimeout = cmp.Or(o.ConfirmTimeout, 15*time.Second)
	o.IOTimeout = cmp.Or(o.IOTimeout, 5*time.Second)
	o.Heartbeat = cmp.Or(o.Heartbeat, 5*time.Second)
	o.MinBackoff = cmp.Or(o.MinBackoff, 100*time.Millisecond)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 5*time.Second)
	o.settle = cmp.Or(o.settle, 1500*time.Millisecond)
	o.Logger = cmp.Or(o.Logger, slog.Default()).With("broker", o.at())
	o.Metrics = cmp.Or(o.Metrics, unmeasured)
	return o
}

const maxPartitions = 256

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// validate returns an *storage.InvalidError that says what cannot work.
func (o Options) validate() error {
	if err := validateURL(o.URL); err != nil {
		return &storage.InvalidError{Field: "RabbitMQ URL", Reason: err.Error()}
	}
	if !prefixForm.MatchString(o.Prefix) {
		return &storage.InvalidError{Field: "prefix", Reason: "must be 1 to 64 letters, digits, -, _ and ."}
	}
	for _, bound := range []struct {
		field       string
		value, most int
	}{
		{"partitions", o.Partitions, maxPartitions},
		{"delivery limit", o.DeliveryLimit, 1_000_000},
		{"window", o.Window, 1000},
		{"prefetch", o.Prefetch, 10_000},
	} {
		if bound.value < 1 || bound.value > bound.most {
			return &storage.InvalidError{Field: bound.field, Reason: fmt.Sprintf("is %d and must be 1 to %d", bound.value, bound.most)}
		}
	}
	return nil
}

// validateURL tells what is wrong with a URL without repeating it: it holds a
// password.
func validateURL(s string) error {
	_, err := amqp091.ParseURI(s)
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("cannot be read (%w); a special character in user or password is written as %%XX", inURL.Err)
	}
	if err != nil {
		return fmt.Errorf("must be amqp://user:password@host:port/vhost or amqps://…: %w", err)
	}
	return nil
}

// broker is what messages call the server: with its address, without the
// password.
func (o Options) broker() string {
	if at := o.at(); at != "" {
		return "RabbitMQ at " + at
	}
	return "RabbitMQ"
}

// at is the host and port of the server; "" where the URL cannot be read.
func (o Options) at() string {
	uri, err := amqp091.ParseURI(o.URL)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port))
}

// queue is the name of a partition's queue.
func (o Options) queue(partition int) string { return o.Prefix + "." + strconv.Itoa(partition) }

// dead is the name of the queue of messages put aside.
func (o Options) dead() string { return o.Prefix + ".dead" }

// marker is the name of the queue whose bound is the number of partitions.
func (o Options) marker() string { return o.Prefix + ".partitions" }

// gate is the name of the queue that is there while the others may be used.
func (o Options) gate() string { return o.Prefix + ".open" }

// lock is the name of the queue that one connection has while it changes that.
func (o Options) lock() string { return o.Prefix + ".lock" }

// publishers and workers are the names of the queues in which sessions register.
func (o Options) publishers() string { return o.Prefix + ".publishers" }
func (o Options) workers() string    { return o.Prefix + ".workers" }
