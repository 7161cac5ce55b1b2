package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ovation/storage"
	"ovation/storage/redis/internal/dependency"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
)

// publishTimeout bounds the attempts to publish counts that are already committed.
const publishTimeout = 2 * time.Second

// Persist makes actions durable in the database, without the queue. If an update of Redis
// fails, no redelivery from the queue repeats the update. Persist therefore invalidates
// the changed entries before the commit, and publishes the counts after it.
func (s *Store) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	outcome, err := s.Store.Persist(ctx, messages, s.invalidateFirst(mark))
	if err == nil {
		s.publishCommitted(ctx, outcome)
	}
	return outcome, err
}

// EmptyFolder moves items of a folder to the folder moveTo in the database. If moveTo is
// empty, it uncollects the items instead. It updates Redis as Persist does.
func (s *Store) EmptyFolder(
	ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark,
) (int, storage.Outcome, error) {
	n, outcome, err := s.Store.EmptyFolder(ctx, key, moveTo, at, limit, s.invalidateFirst(mark))
	if err == nil {
		s.publishCommitted(ctx, outcome)
	}
	return n, outcome, err
}

// ClearReads removes subjects from a user's read history in the database. It updates Redis
// as Persist does.
func (s *Store) ClearReads(ctx context.Context, clearing storage.ReadsClear, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	n, outcome, err := s.Store.ClearReads(ctx, clearing, limit, s.invalidateFirst(mark))
	if err == nil {
		s.publishCommitted(ctx, outcome)
	}
	return n, outcome, err
}

// invalidateFirst returns a storage.Mark that first calls mark, unless mark is nil. The
// returned Mark then invalidates the entries that the transaction changes, and fences the
// counts: the old counts in Redis expire after Options.Guard, unless newer counts replace
// them earlier.
func (s *Store) invalidateFirst(mark storage.Mark) storage.Mark {
	return func(ctx context.Context, outcome storage.Outcome) error {
		if mark != nil {
			if err := mark(ctx, outcome); err != nil {
				return err
			}
		}
		if outcome.Epoch == 0 {
			return nil
		}
		at, err := s.epochs.ForWriting(ctx, outcome.Epoch)
		if err != nil {
			return s.epochs.RecordMark(err)
		}
		fences, guard := make([]scripts.Call, len(outcome.Counts)), []string{scripts.Text(s.opts.Guard.Milliseconds())}
		for i := range outcome.Counts {
			c := &outcome.Counts[i]
			fences[i] = scripts.Fence.On(at.Keys.Counts(c.Subject), guard, scripts.Text(c.Version))
		}
		return s.epochs.RecordMark(s.invalidateApplied(ctx, at, outcome.Applied, fences))
	}
}

// invalidateApplied invalidates the entries of the given states: it becomes unknown which
// of these states the counts include. The parameter more holds calls that run in the same
// pipelines.
func (s *Store) invalidateApplied(ctx context.Context, at *epochs.Epoch, applied []storage.StateChange, more []scripts.Call) error {
	g := s.windows.InvalidationGroup(at.Keys)
	for i := range applied {
		c, how := &applied[i], "q"
		if c.Version == 0 { // the row of the state is removed
			how = "-"
		}
		g.Add(c.User, c.Subject, c.Kind, how)
	}
	g.Calls = append(g.Calls, more...)
	return g.Run(ctx, "invalidate changed entries")
}

// publishCommitted publishes the counts of a committed transaction. A failure is only
// logged. Nodes may then show the old counts until the old counts expire, within
// Options.Guard.
func (s *Store) publishCommitted(ctx context.Context, outcome storage.Outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, s.Publish(ctx, outcome)
	}, backoff.WithMaxElapsedTime(publishTimeout))
	if err != nil {
		s.opts.Logger.Warn("counts not published; nodes may show outdated counts until they expire",
			"within_ms", s.opts.Guard.Milliseconds(), "subjects", len(outcome.Counts), "error", err)
	}
}

// Verify recounts the database. It then updates the counts and entries in Redis that a
// repair has changed.
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
	at := s.epochs.Active()
	if err != nil || !repair || at == nil {
		return n, err
	}
	for from := 0; from < len(subjects); from += scripts.Pipeline {
		if err := s.publishStored(ctx, at, subjects[from:min(from+scripts.Pipeline, len(subjects))]); err != nil {
			return n, fmt.Errorf("update Redis after the repair: %w", err)
		}
	}
	for _, owner := range owners {
		if err := s.invalidateItems(ctx, at, storage.FolderKey{Owner: owner, FolderID: storage.DefaultFolderID}); err != nil {
			return n, fmt.Errorf("update Redis after the repair: %w", err)
		}
	}
	return n, nil
}

// publishStored reads the counts of subjects from the database and publishes them.
func (s *Store) publishStored(ctx context.Context, at *epochs.Epoch, subjects []storage.Subject) error {
	counts := make([]storage.SubjectCounts, len(subjects))
	for i := range subjects {
		counts[i].Subject = subjects[i]
	}
	counts, err := s.counts.Reload(ctx, counts)
	if err != nil {
		return err
	}
	return s.Publish(ctx, storage.Outcome{Counts: counts, Epoch: at.Number})
}

// invalidateItems removes the entries of all items of a folder from Redis.
func (s *Store) invalidateItems(ctx context.Context, at *epochs.Epoch, folder storage.FolderKey) error {
	query := storage.ItemsQuery{Folder: folder, Page: storage.Page{First: scripts.Pipeline}}
	for {
		lists, err := dependency.Query(ctx, s.reads, "list items", func(ctx context.Context) ([]storage.ListPage[storage.Collected], error) {
			return s.opts.Database.Items(ctx, []storage.ItemsQuery{query}) // a repair uses the slots of s.reads, not those of s.lists
		})
		if err != nil {
			return err
		}
		g := s.windows.InvalidationGroup(at.Keys)
		for _, c := range lists[0].Entries {
			g.Add(c.User, c.Subject, storage.KindCollection, "-")
			query.After = storage.Position{Version: c.Version, Biz: c.Subject.Biz, ID: c.Subject.BizID}
		}
		if len(g.Calls) == 0 {
			return nil
		}
		if err := g.Run(ctx, "invalidate items"); err != nil {
			return err
		}
	}
}
