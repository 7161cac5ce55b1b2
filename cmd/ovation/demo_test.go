package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

var errKilled = errors.New("killed")

// interrupted is a store that fails to persist one message.
type interrupted struct {
	storage.Store

	at string // the id of that message
}

func (i interrupted) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	if messages[0].ID == i.at {
		return storage.Outcome{}, errKilled
	}
	return i.Store.Persist(ctx, messages, mark)
}

// TestInterruptedDemoIsCompleted interrupts addDemo in each step, before the step's
// message is persisted. The next call must repeat the interrupted step, and the last call
// must complete the demo data.
func TestInterruptedDemoIsCompleted(t *testing.T) {
	store, now := sqlitetest.Open(t), time.Now()
	for i, at := range []string{demoActionsID, demoFoldersID, demoFollowsID, demoCommentsID, demoAuthorsID, demoMessagesID} {
		if err := addDemo(t.Context(), interrupted{store, at}, now.Add(time.Duration(i)*time.Minute)); !errors.Is(err, errKilled) {
			t.Fatalf("addDemo that is killed at %q = %v, want %v", at, err, errKilled)
		}
	}
	must(t, addDemo(t.Context(), store, now.Add(time.Hour)))
	counts, err := store.CommentCounts(t.Context(), newDemo(now).subjects)
	must(t, err)
	comments := int64(0)
	for _, c := range counts {
		comments += c.Comments
	}
	if comments != demoComments {
		t.Errorf("there are %d comments, want %d", comments, demoComments)
	}
}
