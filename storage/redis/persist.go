package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ovation/storage"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
)

// publishTime bounds the tries to publish what is committed already.
const publishTime = 2 * time.Second

// Persist makes actions durable in the database behind. No queue has them, so
// that nobody would do again what is left undone: before the commit it makes
// Redis forget what changes, after it publishes the counts.
func (s *Store) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	outcome, err := s.Store.Persist(ctx, messages, s.forgetFirst(mark))
	if err == nil {
		s.tell(ctx, outcome)
	}
	return outcome, err
}

// EmptyFolder moves or uncollects items in the database behind, as Persist
// changes states.
func (s *Store) EmptyFolder(
	ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark,
) (int, storage.Outcome, error) {
	n, outcome, err := s.Store.EmptyFolder(ctx, key, moveTo, at, limit, s.forgetFirst(mark))
	if err == nil {
		s.tell(ctx, outcome)
	}
	return n, outcome, err
}

// forgetFirst returns a mark that makes Redis forget what changes, after the
// mark of the caller, which may refuse it. Counts are published within the
// guard or end with it.
func (s *Store) forgetFirst(mark storage.Mark) storage.Mark {
	return func(ctx context.Context, outcome storage.Outcome) error {
		if mark != nil {
			if err := mark(ctx, outcome); err != nil {
				return err
			}
		}
		if outcome.Epoch == 0 {
			return nil
		}
		at, err := s.epochs.Ours(ctx, outcome.Epoch)
		if err != nil {
			return s.epochs.Note(err)
		}
		fences, guard := make([]scripts.Call, len(outcome.Counts)), []string{scripts.Text(s.opts.Guard.Milliseconds())}
		for i := range outcome.Counts {
			c := &outcome.Counts[i]
			fences[i] = scripts.Fence.On(at.Keys.Counts(c.Subject), guard, scripts.Text(c.Version))
		}
		return s.epochs.Note(s.forgetApplied(ctx, at, outcome.Applied, fences))
	}
}

// forgetApplied makes it unknown what the counts include of what a transaction
// changes, and runs the other scripts along.
func (s *Store) forgetApplied(ctx context.Context, at *epochs.Epoch, applied []storage.StateChange, more []scripts.Call) error {
	g := s.windows.Forgetting(at.Keys)
	for i := range applied {
		c := &applied[i]
		g.Add(c.User, c.Subject, c.Kind, "q")
	}
	g.Calls = append(g.Calls, more...)
	return g.Run(ctx, "forget what changes")
}

// tell publishes what was committed. It is durable already, so that this fails
// nobody: what is not published ends with the guard.
func (s *Store) tell(ctx context.Context, outcome storage.Outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTime)
	defer cancel()
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, s.Publish(ctx, outcome)
	}, backoff.WithMaxElapsedTime(publishTime))
	if err != nil {
		s.opts.Logger.Debug("counts not published; they show in a moment", "subjects", len(outcome.Counts), "error", err)
	}
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
	at := s.epochs.Present()
	if err != nil || !repair || at == nil {
		return n, err
	}
	for from := 0; from < len(subjects); from += scripts.Pipeline {
		if err := s.publishStored(ctx, at, subjects[from:min(from+scripts.Pipeline, len(subjects))]); err != nil {
			return n, fmt.Errorf("show what was repaired: %w", err)
		}
	}
	for _, owner := range owners {
		if err := s.forgetItems(ctx, at, storage.FolderKey{Owner: owner, FolderID: storage.DefaultFolderID}); err != nil {
			return n, fmt.Errorf("show what was repaired: %w", err)
		}
	}
	return n, nil
}

// publishStored publishes the counts that the database has.
func (s *Store) publishStored(ctx context.Context, at *epochs.Epoch, subjects []storage.Subject) error {
	counts := make([]storage.SubjectCounts, len(subjects))
	for i := range subjects {
		counts[i].Subject = subjects[i]
	}
	counts, err := s.counts.StoredAgain(ctx, counts)
	if err != nil {
		return err
	}
	return s.Publish(ctx, storage.Outcome{Counts: counts, Epoch: at.Number})
}

// forgetItems drops the entries of all that lies in a folder.
func (s *Store) forgetItems(ctx context.Context, at *epochs.Epoch, folder storage.FolderKey) error {
	query := storage.ItemsQuery{Folder: folder, Page: storage.Page{First: scripts.Pipeline}}
	for {
		lists, err := pass(ctx, s.reads, "list items", s.Store.Items, []storage.ItemsQuery{query}) // a part of writing
		if err != nil {
			return err
		}
		g := s.windows.Forgetting(at.Keys)
		for _, c := range lists[0].Entries {
			g.Add(c.User, c.Subject, storage.KindCollection, "-")
			query.After = storage.Position{Version: c.Version, Biz: c.Subject.Biz, ID: c.Subject.BizID}
		}
		if len(g.Calls) == 0 {
			return nil
		}
		if err := g.Run(ctx, "forget items"); err != nil {
			return err
		}
	}
}
