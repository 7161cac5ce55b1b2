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

// session is one connection to the broker, from its making to its end. It is
// never revived: what was delivered over it can be settled over it only.
type session struct {
	conn    *amqp091.Connection
	raw     net.Conn
	timeout time.Duration // of each request, see within
	ended   chan *amqp091.Error
	alarms  chan amqp091.Blocking
	out     *outlet // of a connection to publish

	watching sync.WaitGroup // see enter
}

// dial connects to the broker. Errors: storage.ErrUnavailable, unless the
// broker answered and refused.
func dial(ctx context.Context, o Options, purpose string) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, o.IOTimeout)
	defer cancel()
	s := &session{timeout: o.IOTimeout}
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
			s.raw = &patientConn{Conn: raw, timeout: o.IOTimeout}
			cutOff = context.AfterFunc(ctx, s.abort) // the handshake knows no context
			return s.raw, nil
		},
	})
	inTime := cutOff()
	if err != nil || !inTime {
		s.abort()
		if !inTime {
			err = fmt.Errorf("%w: no answer in time: %w", storage.ErrUnavailable, context.Cause(ctx))
		}
		return nil, fmt.Errorf("connect: %w", refusal(err))
	}
	s.conn = conn
	s.ended = conn.NotifyClose(make(chan *amqp091.Error, 1))
	s.alarms = conn.NotifyBlocked(make(chan amqp091.Blocking, 16)) // more than a watcher ever leaves there
	if err := tooOld(conn.Properties); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// refusal tells a broker that refuses from one that cannot be reached.
func refusal(err error) error {
	var refused *amqp091.Error
	switch {
	case errors.Is(err, storage.ErrUnavailable):
		return err
	case !errors.As(err, &refused):
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	case errors.Is(err, amqp091.ErrCredentials):
		// A broker that dislikes the password hangs up without a word.
		return fmt.Errorf("it hung up at the login; user or password are wrong, or it is just stopping: %w", err)
	case refused.Code == amqp091.NotAllowed:
		return fmt.Errorf("the virtual host does not exist or the user may not use it: %w", err)
	}
	return err
}

// tooOld returns an error where the broker is a RabbitMQ before 3.10, which
// cannot put messages aside without losing some.
func tooOld(server amqp091.Table) error {
	product, _ := server["product"].(string)
	version, _ := server["version"].(string)
	var major, minor int
	read, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	known := read == 2 && product == "RabbitMQ" // of anything else the queues will tell
	if known && (major < 3 || major == 3 && minor < 10) {
		return fmt.Errorf("this is RabbitMQ %s; 3.10 or newer is needed", version)
	}
	return nil
}

// abort cuts the connection. Whatever waits for it then ends.
func (s *session) abort() {
	if s.raw != nil {
		_ = s.raw.Close()
	}
}

// within runs a request that knows no context, and cuts the connection where
// it takes too long.
func (s *session) within(request func() error) error {
	timer := time.AfterFunc(s.timeout, s.abort)
	err := request()
	if inTime := timer.Stop(); err != nil && !inTime {
		return fmt.Errorf("no answer within %v; the broker, or the node of its cluster that leads the queue, may be down or paused: %w", s.timeout, err)
	}
	return err
}

// close says goodbye and waits until the connection is gone.
func (s *session) close() {
	_ = s.within(s.conn.Close) // an error says that it is gone already
	s.abort()
	for range s.ended {
	}
	s.watching.Wait()
}

// patientConn waits only so long until written bytes are taken. A peer that
// stops reading would else hold up a write for ever, and with it the client
// library's own end of the connection.
type patientConn struct {
	net.Conn

	timeout time.Duration
}

func (c *patientConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
