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
	// standbyCheckPause is the pause between two checks of whether a commit still waits
	// for the standby.
	standbyCheckPause = 5 * time.Second
	// standbyCheckTimeout bounds the duration of one check.
	standbyCheckTimeout = 5 * time.Second
)

// commit commits a transaction. It does not stop when the caller's context ends, because
// the outcome would be unknown. After callTimeout it gives up, unless the server reports
// that the commit waits for the synchronous standby. In that case, the method waits until
// the caller's context is cancelled or the store is closed: an abandoned commit becomes
// visible although a failover may still lose it.
func (s *Store) commit(caller context.Context, t *tx) error {
	defer s.commits.begin()()
	ctx, giveUp := context.WithCancelCause(context.WithoutCancel(caller))
	ended := make(chan struct{})
	timer := time.AfterFunc(s.commits.checkAfter, func() {
		defer close(ended)
		wanted := func() bool { return !errors.Is(caller.Err(), context.Canceled) && s.closing.Err() == nil }
		for wanted() && s.waitsForStandby(ctx, t.conn.PgConn().PID()) {
			select {
			case <-time.After(standbyCheckPause):
			case <-ctx.Done():
			}
		}
		giveUp(errNoAnswer)
	})
	notes := t.conn.PgConn().CustomData()
	delete(notes, notReplicated)
	err := storageError(ctx, t.begun.Commit(ctx), t.conn)
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

// waitsForStandby reports whether the commit of the server process pid is waiting for a
// standby. It queries the server on a separate connection; if that fails, it returns
// false.
func (s *Store) waitsForStandby(ctx context.Context, pid uint32) bool {
	ctx, cancel := context.WithTimeout(ctx, standbyCheckTimeout)
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

// notReplicated is a key in a connection's CustomData. It is set if a commit on the
// connection stopped waiting for the synchronous standby.
const notReplicated = "ovation: not replicated"

var errNotReplicated = fmt.Errorf("%w: the transaction is committed, but the wait for the synchronous standby was cancelled",
	storage.ErrUnavailable)

// onNotice receives the server's warnings. If a commit's wait for the standby is
// cancelled, the commit succeeds with a warning. The text of this warning may be
// translated, and other warnings have the same code, so onNotice identifies the warning
// by the source file that raises it.
func onNotice(c *pgconn.PgConn, n *pgconn.Notice) {
	if strings.HasSuffix(n.File, "syncrep.c") {
		c.CustomData()[notReplicated] = true
	}
}
