package amqp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
)

// brokerConn is one connection to the broker. It is never reopened: a delivery can only
// be settled over the connection that it came from.
type brokerConn struct {
	conn      *amqp091.Connection
	raw       net.Conn
	timeout   time.Duration // of each request; see withTimeout
	ended     chan *amqp091.Error
	alarms    chan amqp091.Blocking
	publisher *confirmPublisher // nil unless the connection publishes
	events    eventPublisher

	watching sync.WaitGroup // see register
}

// dial connects to the broker. Its error is storage.ErrUnavailable unless the broker has
// refused the connection or is too old.
func dial(ctx context.Context, o Options, purpose string) (*brokerConn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.IOTimeout)
	defer cancel()
	b := &brokerConn{timeout: o.IOTimeout}
	cutOff := func() bool { return true }
	properties := amqp091.NewConnectionProperties()
	properties.SetClientConnectionName("ovation " + purpose)
	conn, err := amqp091.DialConfig(o.URL, amqp091.Config{
		Heartbeat:  o.Heartbeat,
		Properties: properties,
		Dial: func(network, address string) (net.Conn, error) {
			raw, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			b.raw = &deadlineConn{Conn: raw, timeout: o.IOTimeout}
			cutOff = context.AfterFunc(ctx, b.abort) // the handshake does not accept a context
			return b.raw, nil
		},
	})
	inTime := cutOff()
	if err != nil || !inTime {
		b.abort()
		if !inTime {
			err = fmt.Errorf("%w: no answer in time: %w", storage.ErrUnavailable, context.Cause(ctx))
		}
		return nil, fmt.Errorf("connect: %w", classifyDialError(err))
	}
	b.conn = conn
	b.ended = conn.NotifyClose(make(chan *amqp091.Error, 1))
	b.alarms = conn.NotifyBlocked(make(chan amqp091.Blocking, 16)) // more than can arrive between two reads
	if err := checkVersion(conn.Properties); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// classifyDialError distinguishes a broker that refuses the connection from one that is
// unreachable.
func classifyDialError(err error) error {
	var refused *amqp091.Error
	switch {
	case errors.Is(err, storage.ErrUnavailable):
		return err
	case !errors.As(err, &refused):
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	case errors.Is(err, amqp091.ErrCredentials):
		// The broker closes the connection without a reason if the password is wrong.
		return fmt.Errorf("the broker closed the connection during login; check user and password (it may also be shutting down): %w", err)
	case refused.Code == amqp091.NotAllowed:
		return fmt.Errorf("the virtual host does not exist, or the user has no access to it: %w", err)
	}
	return err
}

// checkVersion returns an error for versions of RabbitMQ before 3.10, which may lose
// messages while dead-lettering them.
func checkVersion(server amqp091.Table) error {
	product, _ := server["product"].(string)
	version, _ := server["version"].(string)
	var major, minor int
	read, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	known := read == 2 && product == "RabbitMQ" // other products are accepted if the queues can be declared
	if known && (major < 3 || major == 3 && minor < 10) {
		return fmt.Errorf("RabbitMQ %s is too old; version 3.10 or newer is required", version)
	}
	return nil
}

// abort closes the connection immediately, which ends all pending requests.
func (b *brokerConn) abort() {
	if b.raw != nil {
		_ = b.raw.Close()
	}
}

// withTimeout runs a request that does not accept a context, and aborts the connection
// if it takes too long.
func (b *brokerConn) withTimeout(request func() error) error {
	timer := time.AfterFunc(b.timeout, b.abort)
	err := request()
	if inTime := timer.Stop(); err != nil && !inTime {
		return fmt.Errorf("no answer within %v; the broker, or the node of its cluster that leads the queue, may be down or paused: %w", b.timeout, err)
	}
	return err
}

// close closes the connection gracefully and waits until it is closed.
func (b *brokerConn) close() {
	_ = b.withTimeout(b.conn.Close) // an error means that it is closed already
	b.abort()
	for range b.ended {
	}
	b.watching.Wait()
}

// deadlineConn sets a deadline for each write. Otherwise a peer that stops reading
// would block a write forever, and with it the client library's Close.
type deadlineConn struct {
	net.Conn

	timeout time.Duration
}

func (c *deadlineConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
