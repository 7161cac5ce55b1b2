package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"ovation/storage"
	"ovation/worker"
)

// heldMessages lets a test delay calls to a store. A database cannot be used within
// a bubble of package synctest.
type heldMessages struct {
	storage.DirectMessages

	mu    sync.Mutex
	sizes []int
	hold  chan struct{}
}

func (h *heldMessages) AddMessages(_ context.Context, messages []storage.NewDirectMessage) ([]storage.AddedDirectMessage, error) {
	h.mu.Lock()
	h.sizes = append(h.sizes, len(messages))
	h.mu.Unlock()
	<-h.hold
	out := make([]storage.AddedDirectMessage, len(messages))
	for i, m := range messages {
		out[i] = storage.AddedDirectMessage{Message: &storage.DirectMessage{From: m.From, To: m.To, Text: m.Text}, Repeated: m.RequestID != ""}
	}
	return out, nil
}

// transactions returns the number of messages in each transaction.
func (h *heldMessages) transactions() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sizes)
}

// MarkRead hangs like a commit: the end of its context does not end it.
func (h *heldMessages) MarkRead(context.Context, storage.ConversationKey, int64) (*storage.Conversation, error) {
	<-h.hold
	return &storage.Conversation{}, nil
}

func person(id string) storage.User { return storage.User{Tenant: storage.DefaultTenant, UserID: id} }

func TestMessagesThatWaitShareATransaction(t *testing.T) {
	store := &heldMessages{}
	synctest.Test(t, func(t *testing.T) {
		store.hold = make(chan struct{})
		var told [][]storage.Subject
		m := worker.NewMessages(store, worker.MessagesOptions{
			Changed: func(users []storage.Subject) { told = append(told, slices.Clone(users)) }, Logger: quiet,
		})
		var writers sync.WaitGroup
		for i := range 11 {
			writers.Go(func() {
				message := storage.NewDirectMessage{From: person("alice"), To: person("bob"), Text: fmt.Sprint(i)}
				if i == 10 {
					message.From, message.RequestID = person("carol"), "repeated"
				}
				got, err := m.Send(t.Context(), message)
				if err != nil || got.Text != message.Text {
					t.Errorf("sending message %d: got %+v, %v, want its text", i, got, err)
				}
			})
			synctest.Wait() // the first transaction is under way
		}
		if _, err := m.Send(t.Context(), storage.NewDirectMessage{From: person("alice"), To: person("alice"), Text: "x"}); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("sending a message to oneself: got %v, want %v", err, storage.ErrInvalid)
		}
		close(store.hold)
		writers.Wait()
		if got := store.transactions(); !slices.Equal(got, []int{1, 10}) {
			t.Errorf("transactions of %v messages, want 1 and 10", got)
		}
		both := []storage.Subject{person("alice").Subject(), person("bob").Subject()}
		if err := m.Close(t.Context()); err != nil || len(told) != 2 || !slices.Equal(told[0], both) || !slices.Equal(told[1], both) {
			t.Errorf("Close: got %v after Changed received %v, want no error, twice %v", err, told, both)
		}
		if _, err := m.Send(t.Context(), storage.NewDirectMessage{From: person("alice"), To: person("bob"), Text: "late"}); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Send after Close: got %v, want %v", err, worker.ErrClosed)
		}
		if _, err := m.MarkRead(t.Context(), storage.ConversationKey{}, 1); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("MarkRead after Close: got %v, want %v", err, worker.ErrClosed)
		}
	})
}

func TestMessagesAreUnavailableWhileTheDatabaseIs(t *testing.T) {
	store := &heldMessages{}
	synctest.Test(t, func(t *testing.T) {
		store.hold = make(chan struct{})
		m := worker.NewMessages(store, worker.MessagesOptions{Logger: quiet})
		for range 10 {
			if _, err := m.Send(t.Context(), storage.NewDirectMessage{From: person("alice"), To: person("bob"), Text: "x"}); !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("Send while the database hangs: got %v, want %v", err, storage.ErrUnavailable)
			}
		}
		if got := store.transactions(); len(got) != 1 {
			t.Errorf("got %d calls of the hanging database, want 1", len(got))
		}
		if _, err := m.MarkRead(t.Context(), storage.ConversationKey{}, 1); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("MarkRead while the database hangs: got %v, want %v", err, storage.ErrUnavailable)
		}
		close(store.hold)
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
