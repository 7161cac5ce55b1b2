package importer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ovation/storage"
)

// groupActions is the number of actions in one transaction. A larger number would save
// little time and hold locks for longer.
const groupActions = 40_000

// groupComments is the number of comments in one transaction. Other calls that add
// comments on the same subjects or by the same users wait for the transaction, and fail
// if it takes too long.
const groupComments = 1_000

// writer persists blocks in groups, one after another. The statements of a group run
// while the group before it is being committed. The group itself is committed only after
// the group before it: its storage.Mark waits until then.
type writer struct {
	to       Store
	group    int // actions in one transaction
	progress func(Progress)
	resumed  map[*stream]bool // the streams whose remaining blocks are new
	already  int64
	done     [actionEnd]int64
	unfiled  int64    // see Result.Unfiled
	textless int64    // comments with the placeholder as text
	reported Progress // progress up to the groups that are accounted for
	latest   *group   // the group that is being written
}

// group holds the contents and the state of one transaction.
type group struct {
	messages []storage.Message
	folders  []storage.Folder // those that its collections name
	done     [actionEnd]int64 // number of rows
	textless int64
	unfiled  int64
	progress Progress // progress once the group is written

	written chan struct{} // closed when its rows are written and the group before it is committed
	ended   chan struct{}
	err     error // valid after ended
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
		case <-ended: // the next block may take long
			err = w.finish()
		}
	}
	_ = w.finish() // wait for groups that were begun
	return err
}

func (w *writer) write(ctx context.Context, b *block) error {
	parts := []*part{newPart(b, 0, len(b.actions))}
	there := 0
	switch {
	case len(b.actions) == 0: // at the end of the file
		parts = nil
	case !w.resumed[b.stream]:
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
	// Groups are written in the order of the blocks: if a group is missing, so are all
	// blocks of the stream after it.
	if w.resumed == nil {
		w.resumed = map[*stream]bool{}
	}
	w.resumed[b.stream] = true
	before, left := w.reported, len(b.actions)-there
	if w.latest != nil {
		before = w.latest.progress
	}
	for _, p := range parts {
		for p.written < len(p.order) {
			size := w.group
			if b.stream.comments {
				size = min(size, groupComments)
				if err := w.finish(); err != nil { // groups of comments do not overlap: wait for the previous group
					return err
				}
			}
			g := p.next(size)
			left -= g.rows()
			g.progress = before.towards(b, left)
			if err := w.makeFolders(ctx, g); err != nil {
				return err
			}
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

// towards returns the progress at a point within a block. The receiver p is the progress
// at the beginning of the block. The parameter left is the number of the block's actions
// that remain to be written.
func (p Progress) towards(b *block, left int) Progress {
	share := float64(left) / float64(len(b.actions))
	return Progress{
		Rows:  b.rows - int64(share*float64(b.rows-p.Rows)),
		Bytes: b.bytes - int64(share*float64(b.bytes-p.Bytes)),
	}
}

// begin starts to write a group and waits until the next group may begin. It then waits
// for the previous group and returns that group's error.
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

// finish waits for the latest group.
func (w *writer) finish() error {
	defer func() { w.latest = nil }()
	return w.account(w.latest)
}

// account waits for a group and counts its rows.
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
	w.unfiled += g.unfiled
	w.reportProgress(g.progress)
	return nil
}

func (w *writer) reportProgress(p Progress) {
	w.reported = p
	if w.progress != nil {
		w.progress(p)
	}
}

// predecessorTimeout is the maximum time that a transaction waits for the group before
// it. It waits in its storage.Mark, whose duration a store may limit.
const predecessorTimeout = 2 * time.Second

// persist writes the messages of a group. If the transaction had to wait for too long, it
// is retried once, after the preceding group has ended. It is not retried if the next
// group may have begun: the next group would hold locks that this group needs, while
// waiting for this group.
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

// await waits until a group has ended, for at most predecessorTimeout. It returns an
// error unless the group is committed.
func (g *group) await(ctx context.Context) error {
	if g == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, predecessorTimeout)
	defer cancel()
	select {
	case <-g.ended:
		return g.err
	case <-ctx.Done():
		return fmt.Errorf("%w: the group before has not ended: %w", storage.ErrUnavailable, ctx.Err())
	}
}
