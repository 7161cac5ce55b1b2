package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ovation/storage"
)

const (
	// askAgain is the time between two questions whether a commit still waits for
	// the standby.
	askAgain = 5 * time.Second
	// askTimeout bounds such a question.
	askTimeout = 5 * time.Second
)

// commit is not cut short by the end of the caller's context, since it would not be
// known whether it took place. It gives up after callTimeout, unless the server
// says that the commit waits for its synchronous standby: a commit that is given up
// shows to everyone though a failover may still lose it. Once the caller's
// context is cancelled or the store is closed it gives up all the same.
func (s *Store) commit(caller context.Context, t *tx) error {
	defer s.commits.begin()()
	ctx, giveUp := context.WithCancelCause(context.WithoutCancel(caller))
	ended := make(chan struct{})
	timer := time.AfterFunc(s.commits.patience, func() {
		defer close(ended)
		wanted := func() bool { return !errors.Is(caller.Err(), context.Canceled) && s.closing.Err() == nil }
		for wanted() && s.waitsForStandby(ctx, t.conn.PgConn().PID()) {
			select {
			case <-time.After(askAgain):
			case <-ctx.Done():
			}
		}
		giveUp(errNoAnswer)
	})
	notes := t.conn.PgConn().CustomData()
	delete(notes, notReplicated)
	err := fault(ctx, t.begun.Commit(ctx), t.conn)
	giveUp(nil)
	if !timer.Stop() {
		<-ended
	}
	if err == nil && notes[notReplicated] != nil {
		return errNotReplicated
	}
	return err
}

const selectWaiting = `SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'`

// waitsForStandby asks, on a connection of its own, whether the commit of a
// backend waits for a standby. False: it does not, or nobody says so.
func (s *Store) waitsForStandby(ctx context.Context, pid uint32) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // nothing is lost
	var waiting int
	err = c.QueryRow(ctx, selectWaiting, pid).Scan(&waiting)
	return err == nil && waiting > 0
}

// notReplicated marks a connection whose commit was told not to wait for the
// synchronous standby any longer.
const notReplicated = "ovation: not replicated"

var errNotReplicated = fmt.Errorf("%w: the transaction is committed, but the wait for the synchronous standby was cancelled",
	storage.ErrUnavailable)

// noteWarning takes the messages of the server that are no errors. A commit
// whose wait for the standby is cancelled succeeds with a warning. Its text may
// be translated and its code is that of any warning: only where the server
// raises it tells it from others.
func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if strings.HasSuffix(n.File, "syncrep.c") {
		c.CustomData()[notReplicated] = true
	}
}
