package importer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ovation/storage"
)

// groupActions is the number of actions in one transaction. More would save little and
// hold locks for longer.
const groupActions = 40_000

// groupComments is how many comments are written in one transaction. Comments of the
// same subjects and users wait for it, and refuse to wait for long.
const groupComments = 1_000

// writer persists blocks in groups, one after the other. The statements of a
// group run while the one before is being marked and committed, and it is marked
// and committed only after that.
type writer struct {
	to       storage.Persister
	group    int // actions in one transaction
	progress func(Progress)
	beyond   map[*stream]bool // of each stream, whether what earlier imports have written is passed
	already  int64
	done     [actionEnd]int64
	textless int64    // comments with the placeholder as text
	told     Progress // of what is accounted for
	latest   *group   // the group that is being written
}

// group is a running transaction.
type group struct {
	messages []storage.Message
	done     [actionEnd]int64 // rows
	textless int64
	told     Progress // when it is written

	written chan struct{} // closed when its rows are written and the one before is committed
	ended   chan struct{}
	err     error // when it has ended
}

// writeAll writes blocks until there are no more, or a group fails.
func (w *writer) writeAll(ctx context.Context, blocks <-chan block) (err error) {
	for err == nil {
		var ended chan struct{}
		if w.latest != nil {
			ended = w.latest.ended
		}
		select {
		case b, more := <-blocks:
			if !more {
				return w.finish()
			}
			err = w.write(ctx, &b)
		case <-ended: // whoever reads may wait for long
			err = w.finish()
		}
	}
	_ = w.finish() // groups that were begun end with the failed one
	return err
}

func (w *writer) write(ctx context.Context, b *block) error {
	parts := []*part{newPart(b, 0, len(b.actions))}
	there := 0
	switch {
	case len(b.actions) == 0: // the end of the file
		parts = nil
	case !w.beyond[b.of]:
		var err error
		if parts, there, err = pendingParts(ctx, w.to, b); err != nil {
			return err
		}
	}
	w.already += int64(there)
	if len(parts) == 0 { // imported before
		err := w.finish()
		w.reportProgress(Progress{b.rows, b.bytes})
		return err
	}
	// Groups are written in the order of the blocks: where one is missing, so are
	// all blocks of the series behind it.
	if w.beyond == nil {
		w.beyond = map[*stream]bool{}
	}
	w.beyond[b.of] = true
	before, left := w.told, len(b.actions)-there
	if w.latest != nil {
		before = w.latest.told
	}
	for _, p := range parts {
		for p.written < len(p.order) {
			size := w.group
			if b.of.comments {
				size = min(size, groupComments)
				if err := w.finish(); err != nil { // commit it now
					return err
				}
			}
			g := p.next(size)
			left -= g.rows()
			g.told = before.towards(b, left)
			if err := w.begin(ctx, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows returns the number of rows of the file in the group.
func (g *group) rows() (n int) {
	for _, rows := range g.done {
		n += int(rows)
	}
	return n
}

// towards is the progress when so many actions of a block are left to write.
func (p Progress) towards(b *block, left int) Progress {
	share := float64(left) / float64(len(b.actions))
	return Progress{
		Rows:  b.rows - int64(share*float64(b.rows-p.Rows)),
		Bytes: b.bytes - int64(share*float64(b.bytes-p.Bytes)),
	}
}

// begin starts to write a group. It returns when the next one may begin, with the error
// of the previous one.
func (w *writer) begin(ctx context.Context, g *group) error {
	before := w.latest
	w.latest, g.written, g.ended = g, make(chan struct{}), make(chan struct{})
	go g.persist(ctx, w.to, before) // finish waits for it
	select {
	case <-g.written:
	case <-g.ended:
	}
	return w.account(before)
}

// finish waits for the last group.
func (w *writer) finish() error {
	defer func() { w.latest = nil }()
	return w.account(w.latest)
}

// account waits for a group and counts what it wrote.
func (w *writer) account(g *group) error {
	if g == nil {
		return nil
	}
	<-g.ended
	if g.err != nil {
		return g.err
	}
	for does, rows := range g.done {
		w.done[does] += rows
	}
	w.textless += g.textless
	w.reportProgress(g.told)
	return nil
}

func (w *writer) reportProgress(p Progress) {
	w.told = p
	if w.progress != nil {
		w.progress(p)
	}
}

// patience is how long a group's transaction waits for the one before. Stores
// count that as part of the mark.
const patience = 2 * time.Second

// persist writes what the actions of a group come to. Where it was kept waiting
// for too long it is tried once more, when the one before has ended. It is not
// tried again once the next one may have begun, which would wait for this one
// and hold what it needs.
func (g *group) persist(ctx context.Context, to storage.Persister, before *group) {
	defer close(g.ended)
	written := false
	mark := func(ctx context.Context, _ storage.Outcome) error {
		if err := before.await(ctx); err != nil || written {
			return err
		}
		written = true
		close(g.written)
		return nil
	}
	_, err := to.Persist(ctx, g.messages, mark)
	if before != nil && !written && errors.Is(err, storage.ErrUnavailable) {
		<-before.ended
		_, err = to.Persist(ctx, g.messages, mark)
	}
	if err != nil {
		g.err = fmt.Errorf("persist %d actions: %w", g.rows(), err)
	}
}

// await waits until a group is committed.
func (g *group) await(ctx context.Context) error {
	if g == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-g.ended:
		return g.err
	case <-ctx.Done():
		return fmt.Errorf("%w: the group before has not ended: %w", storage.ErrUnavailable, ctx.Err())
	}
}
