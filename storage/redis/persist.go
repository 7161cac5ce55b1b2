package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ovation/storage"
)

// Persist makes actions durable in the database behind, marks before the
// commit and publishes after it. An error after the commit is
// storage.ErrUnavailable, too: the same call may be repeated, and publishes
// again.
func (s *Store) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	m := marker{store: s, mark: mark}
	outcome, err := s.Store.Persist(ctx, messages, m.call)
	if err = m.end(ctx, outcome, err); err != nil {
		return storage.Outcome{}, err
	}
	return outcome, nil
}

// EmptyFolder moves or uncollects items in the database behind, marks before
// the commit and publishes after it, as Persist does.
func (s *Store) EmptyFolder(
	ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark,
) (int, storage.Outcome, error) {
	m := marker{store: s, mark: mark}
	n, outcome, err := s.Store.EmptyFolder(ctx, key, moveTo, at, limit, m.call)
	if err = m.end(ctx, outcome, err); err != nil {
		return 0, storage.Outcome{}, err
	}
	return n, outcome, nil
}

// marker marks what a transaction changes, after the mark of the caller, which
// may refuse it.
type marker struct {
	store  *Store
	mark   storage.Mark
	marked []storage.StateChange
}

func (m *marker) call(ctx context.Context, outcome storage.Outcome) error {
	if m.mark != nil {
		if err := m.mark(ctx, outcome); err != nil {
			return err
		}
	}
	m.marked = append(m.marked, outcome.Applied...)
	return m.store.Mark(ctx, outcome)
}

// end publishes what was committed, or forgets what may not have been.
func (m *marker) end(ctx context.Context, outcome storage.Outcome, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flightTime)
	defer cancel()
	if err == nil {
		return m.store.Publish(ctx, outcome)
	}
	if len(m.marked) > 0 {
		err = errors.Join(err, m.store.forget(ctx, m.marked))
	}
	return err
}

// forget drops entries that the database may not have.
func (s *Store) forget(ctx context.Context, changes []storage.StateChange) error {
	g := s.group(forgetScript, text(s.opts.Guard.Milliseconds()))
	for i := range changes {
		g.add(changes[i].User, changes[i].Subject, changes[i].Kind)
	}
	return g.run(ctx, "forget marks")
}

// Verify recounts the database behind. What a repair has changed is then
// changed in Redis.
func (s *Store) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (int64, error) {
	var subjects []storage.Subject
	var owners []storage.User
	n, err := s.Store.Verify(ctx, repair, func(d storage.Difference) error {
		switch {
		case !repair:
		case d.Count == "folder":
			owners = append(owners, d.Folder.Owner)
		case d.Subject != storage.Subject{} && (len(subjects) == 0 || subjects[len(subjects)-1] != d.Subject):
			subjects = append(subjects, d.Subject)
		}
		return report(d)
	})
	if err != nil || !repair {
		return n, err
	}
	for from := 0; from < len(subjects); from += pipeline {
		if err := s.publishStored(ctx, subjects[from:min(from+pipeline, len(subjects))]); err != nil {
			return n, fmt.Errorf("show what was repaired: %w", err)
		}
	}
	for _, owner := range owners {
		if err := s.forgetItems(ctx, storage.FolderKey{Owner: owner, FolderID: storage.DefaultFolderID}); err != nil {
			return n, fmt.Errorf("show what was repaired: %w", err)
		}
	}
	return n, nil
}

// publishStored publishes the counts that the database has.
func (s *Store) publishStored(ctx context.Context, subjects []storage.Subject) error {
	counts, err := s.storedCounts(ctx, subjects)
	if err != nil {
		return err
	}
	out := make([]storage.SubjectCounts, len(counts))
	for i := range counts {
		out[i] = storage.SubjectCounts{Subject: subjects[i], Counts: counts[i]}
	}
	return s.Publish(ctx, storage.Outcome{Counts: out})
}

// forgetItems drops the entries of all that lies in a folder.
func (s *Store) forgetItems(ctx context.Context, folder storage.FolderKey) error {
	query := storage.ItemsQuery{Folder: folder, Page: storage.Page{First: pipeline}}
	for {
		lists, err := s.Items(ctx, []storage.ItemsQuery{query})
		if err != nil {
			return err
		}
		changes := make([]storage.StateChange, 0, len(lists[0]))
		for _, c := range lists[0] {
			changes = append(changes, storage.StateChange{User: c.User, Subject: c.Subject, Kind: storage.KindCollection})
			query.After = storage.Position{Version: c.Version, Biz: c.Subject.Biz, ID: c.Subject.BizID}
		}
		if len(changes) == 0 {
			return nil
		}
		if err := s.forget(ctx, changes); err != nil {
			return err
		}
	}
}
