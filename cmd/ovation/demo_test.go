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

// interrupted fails to persist one message.
type interrupted struct {
	storage.Store

	at string // the id of the message
}

func (i interrupted) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	if messages[0].ID == i.at {
		return storage.Outcome{}, errKilled
	}
	return i.Store.Persist(ctx, messages, mark)
}

// A start that is interrupted after the work of a step, but before the step is recorded,
// is completed by the next start, which repeats the step.
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
