package live

import (
	"context"
	"time"

	"ovation/storage"
)

// Notifying returns a store that reports every change to counts that is made through it,
// after the commit. It passes the affected subjects to changed; if any subject may be
// affected, it calls all instead. Use Notifying if a single process makes all changes.
func Notifying(store storage.Store, changed func([]storage.Subject), all func()) storage.Store {
	return &notifying{store, changed, all}
}

type notifying struct {
	storage.Store

	changed func([]storage.Subject)
	all     func()
}

func (t *notifying) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	outcome, err := t.Store.Persist(ctx, messages, mark)
	t.notify(outcome)
	return outcome, err
}

func (t *notifying) EmptyFolder(
	ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark,
) (int, storage.Outcome, error) {
	n, outcome, err := t.Store.EmptyFolder(ctx, key, moveTo, at, limit, mark)
	t.notify(outcome)
	return n, outcome, err
}

func (t *notifying) ClearReads(ctx context.Context, clearing storage.ReadsClear, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	n, outcome, err := t.Store.ClearReads(ctx, clearing, limit, mark)
	t.notify(outcome)
	return n, outcome, err
}

func (t *notifying) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (int64, error) {
	n, err := t.Store.Verify(ctx, repair, report)
	if repair {
		t.all()
	}
	return n, err
}

func (t *notifying) notify(outcome storage.Outcome) {
	if len(outcome.Counts) == 0 {
		return
	}
	subjects := make([]storage.Subject, len(outcome.Counts))
	for i := range outcome.Counts {
		subjects[i] = outcome.Counts[i].Subject
	}
	t.changed(subjects)
}

func (t *notifying) PublishVideo(ctx context.Context, video storage.NewVideo, mark storage.Mark) (storage.PublishedVideo, storage.Outcome, error) {
	out, outcome, err := t.Store.PublishVideo(ctx, video, mark)
	t.notify(outcome)
	return out, outcome, err
}

func (t *notifying) DeleteVideo(ctx context.Context, deletion storage.VideoDeletion, mark storage.Mark) (*storage.Video, storage.Outcome, error) {
	video, outcome, err := t.Store.DeleteVideo(ctx, deletion, mark)
	t.notify(outcome)
	return video, outcome, err
}

func (t *notifying) SweepDeleted(ctx context.Context, limit int, mark storage.Mark) (storage.Swept, storage.Outcome, error) {
	swept, outcome, err := t.Store.SweepDeleted(ctx, limit, mark)
	t.notify(outcome)
	return swept, outcome, err
}

func (t *notifying) Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (storage.Outcome, error) {
	outcome, err := t.Store.Restore(ctx, part, mark)
	t.notify(outcome)
	return outcome, err
}

func (t *notifying) EraseNext(ctx context.Context, user storage.User, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	n, outcome, err := t.Store.EraseNext(ctx, user, limit, mark)
	t.notify(outcome)
	return n, outcome, err
}
