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

// Options configure a Queue. Only URL is required. Prefix, Partitions and DeliveryLimit
// are properties of the queues themselves: all processes must use the same values.
type Options struct {
	// URL is amqp://user:password@host:port/vhost, or amqps:// for TLS. See
	// https://www.rabbitmq.com/uri-query-parameters.html for query parameters
	// (certificates, heartbeat).
	URL string
	// Prefix is the beginning of every queue's name: 1 to 64 letters, digits, "-", "_"
	// and "."; "ovation" if empty.
	Prefix string
	// Name, if set, selects a separate queue, PREFIX.NAME, with its own auxiliary queues.
	// It has one partition, which is served by one consumer at a time.
	Name string
	// Partitions is the number of partition queues, at most 256; 4 if 0. If the queues
	// exist, it must equal the number in effect, which ChangePartitions changes.
	Partitions int
	// DeliveryLimit is how often the broker redelivers an unsettled message before it
	// dead-letters the message; 200 if 0. Redeliveries count, not tries: a worker that
	// dies or hands a partition over causes a redelivery of each message in its prefetch
	// window. The limit must therefore be far above the number of restarts on a bad day.
	// It is the last defence against a message that crashes workers.
	DeliveryLimit int
	// Window is the maximum number of unconfirmed messages; 256 if 0, at most 1,000.
	// Further calls to Publish wait.
	Window int
	// Prefetch is the maximum number of unsettled messages of each partition that a
	// consumer holds; 400 if 0. Messages usually have a few actions, and at most a
	// thousand: 400 messages of a thousand actions take about 80 MB, or 300 MB with ids
	// of maximum length.
	Prefetch int
	// Grace is how long Publish waits, within its context, for a broker that is
	// unavailable or blocks publishers; 300 ms if 0.
	Grace time.Duration
	// ConfirmTimeout is how long a message may remain unconfirmed before the connection
	// is discarded; 15 s if 0. It starts anew when an alarm ends.
	ConfirmTimeout time.Duration
	// IOTimeout bounds each dial, write and request, and how long Consume waits for a
	// broker that is unavailable; 5 s if 0.
	IOTimeout time.Duration
	// Heartbeat is the heartbeat timeout in whole seconds; 5 s if 0. The broker drops a
	// connection that is silent for two to three times as long. This process drops a
	// connection that is silent for one and a half times as long.
	Heartbeat time.Duration
	// MinBackoff and MaxBackoff bound the wait between two attempts to connect, which
	// doubles each time, with a jitter of 50 %; 100 ms and 5 s if 0.
	MinBackoff, MaxBackoff time.Duration
	// Logger logs failures that are not returned to a caller; slog.Default() if nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics

	durableAfter time.Duration // see awaitDurable; 1.5 s if 0
	balanceEvery time.Duration // interval at which the workers are counted; 1 s if 0
	leaveTimeout time.Duration // see awaitDisconnects; 6 * Heartbeat if 0
	draining     bool          // ignores the closed gate; set by ChangePartitions only
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
	o.durableAfter = cmp.Or(o.durableAfter, 1500*time.Millisecond)
	o.balanceEvery = cmp.Or(o.balanceEvery, time.Second)
	o.leaveTimeout = cmp.Or(o.leaveTimeout, 6*o.Heartbeat)
	o.Logger = cmp.Or(o.Logger, slog.Default()).With("broker", o.at())
	o.Metrics = cmp.Or(o.Metrics, noMetrics)
	return o
}

const maxPartitions = 256

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

var nameForm = regexp.MustCompile(`^[a-z]{1,16}$`)

// validate returns a *storage.InvalidError that names the invalid option.
func (o Options) validate() error {
	if err := validateURL(o.URL); err != nil {
		return &storage.InvalidError{Field: "RabbitMQ URL", Reason: err.Error()}
	}
	if !prefixForm.MatchString(o.Prefix) {
		return &storage.InvalidError{Field: "prefix", Reason: "must be 1 to 64 letters, digits, -, _ and ."}
	}
	if o.Name != "" && (!nameForm.MatchString(o.Name) || o.Partitions != 1) {
		return &storage.InvalidError{Field: "name", Reason: "must be 1 to 16 letters, of a queue with one partition"}
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

// validateURL checks a URL. Its error does not contain the URL, which holds a password.
func validateURL(s string) error {
	_, err := amqp091.ParseURI(s)
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("cannot be parsed (%w); write special characters in user and password as %%XX", inURL.Err)
	}
	if err != nil {
		return fmt.Errorf("must be amqp://user:password@host:port/vhost or amqps://…: %w", err)
	}
	return nil
}

// broker returns the name of the server for use in errors and log messages. It contains
// the address but not the password.
func (o Options) broker() string {
	if at := o.at(); at != "" {
		return "RabbitMQ at " + at
	}
	return "RabbitMQ"
}

// at returns the host and port of the server, or "" if the URL cannot be parsed.
func (o Options) at() string {
	uri, err := amqp091.ParseURI(o.URL)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port))
}

// queue is the name of a partition's queue.
func (o Options) queue(partition int) string {
	if o.Name != "" {
		return o.queuePrefix()
	}
	return o.queuePrefix() + "." + strconv.Itoa(partition)
}

// queuePrefix is the beginning of every queue's name.
func (o Options) queuePrefix() string {
	if o.Name != "" {
		return o.Prefix + "." + o.Name
	}
	return o.Prefix
}

// exchange is the name of the topic exchange of events.
func (o Options) exchange() string { return o.Prefix + ".events" }

// dead is the name of the dead-letter queue.
func (o Options) dead() string { return o.queuePrefix() + ".dead" }

// marker is the name of the queue whose length limit is the number of partitions.
func (o Options) marker() string { return o.queuePrefix() + ".partitions" }

// gate is the name of the queue that exists while the other queues may be used.
func (o Options) gate() string { return o.queuePrefix() + ".open" }

// lock is the name of the queue that a connection owns while it creates the queues or
// changes their number.
func (o Options) lock() string { return o.queuePrefix() + ".lock" }

// publishers and workers are the names of the queues in which connections register.
func (o Options) publishers() string { return o.queuePrefix() + ".publishers" }
func (o Options) workers() string    { return o.queuePrefix() + ".workers" }
