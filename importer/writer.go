package importer

import (
	"context"
	"errors"
	"fmt"

	"ovation/storage"
)

// writer persists blocks in groups, one after the other. The statements of a
// group run while the one before is being marked and committed, and it is marked
// and committed only after that.
type writer struct {
	to       storage.Persister
	group    int // actions in one transaction
	progress func(Progress)
	beyond   bool // what earlier imports have written
	already  int64
	done     [actionEnd]int64
	latest   *group // that is being written
}

// group is a transaction under way.
type group struct {
	actions []parsed
	merged  []storage.Action
	told    *Progress // when it is written, if it ends a block

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
			err = w.write(ctx, b)
		case <-ended: // whoever reads may wait for long
			err = w.finish()
		}
	}
	_ = w.finish() // what was begun ends with the one that failed
	return err
}

func (w *writer) write(ctx context.Context, b block) error {
	left, err := w.fresh(ctx, b.actions)
	if err != nil {
		return err
	}
	w.already += int64(len(b.actions) - len(left))
	if len(left) == 0 { // it was there before, or is the end of the file
		err = w.finish()
		w.tell(&Progress{Rows: b.rows, Bytes: b.bytes})
		return err
	}
	for len(left) > 0 {
		n := min(w.group, len(left))
		g := &group{actions: left[:n], merged: b.merged}
		if n < len(b.actions) {
			g.merged = actionsOf(left[:n])
		}
		if left = left[n:]; len(left) == 0 {
			g.told = &Progress{Rows: b.rows, Bytes: b.bytes}
		}
		if err := w.begin(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// fresh returns the actions of a block that were not persisted before: those
// behind the last one whose id was seen.
func (w *writer) fresh(ctx context.Context, actions []parsed) ([]parsed, error) {
	if len(actions) == 0 || w.beyond {
		return actions, nil
	}
	ids := make([]string, len(actions))
	for i := range actions {
		ids[i] = actions[i].prefix
	}
	seen, err := w.to.Seen(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("ask for %d actions imported before: %w", len(ids), err)
	}
	left := actions
	for i := len(seen); i > 0; i-- {
		if seen[i-1] {
			left = actions[i:]
			break
		}
	}
	// Groups are written in the order of the file: where one is missing, so are
	// all behind it.
	w.beyond = len(left) > 0
	return left, nil
}

// begin has a group written. It returns when the next one may begin, with the
// error of the one before.
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
	for i := range g.actions {
		w.done[g.actions[i].does]++
	}
	w.tell(g.told)
	return nil
}

func (w *writer) tell(p *Progress) {
	if w.progress != nil && p != nil {
		w.progress(*p)
	}
}

// patience is how long a group's transaction waits for the one before. Stores
// count that as part of the mark.
const patience = storage.MarkTime / 2

// persist writes what the actions of a group come to. Where it was kept waiting
// for too long it is tried once more, when the one before has ended. It is not
// tried again once the next one may have begun, which would wait for this one
// and hold what it needs.
func (g *group) persist(ctx context.Context, to storage.Persister, before *group) {
	defer close(g.ended)
	message := []storage.Message{{ID: g.actions[len(g.actions)-1].prefix, Actions: g.merged, Forever: true}}
	written := false
	mark := func(ctx context.Context, _ storage.Outcome) error {
		if err := before.await(ctx); err != nil || written {
			return err
		}
		written = true
		close(g.written)
		return nil
	}
	_, err := to.Persist(ctx, message, mark)
	if before != nil && !written && errors.Is(err, storage.ErrUnavailable) {
		<-before.ended
		_, err = to.Persist(ctx, message, mark)
	}
	if err != nil {
		g.err = fmt.Errorf("persist %d actions: %w", len(g.actions), err)
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
