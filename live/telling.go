package live

import (
	"context"
	"time"

	"ovation/storage"
)

// Telling returns a store that tells of every change of counts that is made
// through it, once it is committed: changed of subjects, all of anything. It is
// for a single process.
func Telling(store storage.Store, changed func([]storage.Subject), all func()) storage.Store {
	return &telling{store, changed, all}
}

type telling struct {
	storage.Store

	changed func([]storage.Subject)
	all     func()
}

func (t *telling) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	outcome, err := t.Store.Persist(ctx, messages, mark)
	t.tell(outcome)
	return outcome, err
}

func (t *telling) EmptyFolder(
	ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark,
) (int, storage.Outcome, error) {
	n, outcome, err := t.Store.EmptyFolder(ctx, key, moveTo, at, limit, mark)
	t.tell(outcome)
	return n, outcome, err
}

func (t *telling) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (int64, error) {
	n, err := t.Store.Verify(ctx, repair, report)
	if repair {
		t.all()
	}
	return n, err
}

func (t *telling) tell(outcome storage.Outcome) {
	if len(outcome.Counts) == 0 {
		return
	}
	subjects := make([]storage.Subject, len(outcome.Counts))
	for i := range outcome.Counts {
		subjects[i] = outcome.Counts[i].Subject
	}
	t.changed(subjects)
}
