package postgres

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// TestMessagesSurviveACrashOfTheServer crashes the server while messages are added. A
// message that is not acknowledged is sent again with the same request id. In the end,
// every message must be acknowledged and stored exactly once.
func TestMessagesSurviveACrashOfTheServer(t *testing.T) {
	t.Parallel()
	const senders, crashes, between = 4, 3, 60
	server := startServer(t)
	at := server.url(t, "127.0.0.1")
	postgrestest.Migrate(t, at)
	s := openAt(t, Options{URL: at})
	receiver := storage.User{Tenant: storage.DefaultTenant, UserID: "receiver"}
	var stop atomic.Bool
	var sent, failed atomic.Int64
	acknowledged := make([][]storage.DirectMessage, senders)
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			from := storage.User{Tenant: storage.DefaultTenant, UserID: fmt.Sprint("sender", i)}
			again := time.NewTicker(5 * time.Millisecond)
			defer again.Stop()
			for n := 0; !stop.Load(); n++ {
				text := fmt.Sprintf("%d-%d", i, n)
				message := []storage.NewDirectMessage{{From: from, To: receiver, Text: text, RequestID: text}}
				added, err := s.AddMessages(t.Context(), message)
				for ; err != nil; added, err = s.AddMessages(t.Context(), message) {
					if failed.Add(1); !errors.Is(err, storage.ErrUnavailable) {
						t.Errorf("AddMessages of %s: got %v, want nil or %v", text, err, storage.ErrUnavailable)
						return
					}
					<-again.C
				}
				if added[0].Err != nil {
					t.Errorf("AddMessages of %s: %v", text, added[0].Err)
					return
				}
				acknowledged[i] = append(acknowledged[i], *added[0].Message)
				sent.Add(1)
			}
		})
	}
	for n := range int64(crashes) {
		await.That(t, fmt.Sprint(between, " more messages are sent"), func() bool { return sent.Load() >= (n+1)*between })
		server.stop()
		server.start(t)
	}
	until := sent.Load() + between
	await.That(t, fmt.Sprint(between, " messages are sent after the last crash"), func() bool { return sent.Load() >= until })
	stop.Store(true)
	sending.Wait()

	stored, err := s.MessagesAfter(t.Context(), storage.MailboxQuery{User: receiver, First: 1 << 20})
	must.Succeed(t, err)
	there := make(map[storage.DirectMessage]int, len(stored))
	for i, m := range stored {
		if there[m]++; i > 0 && m.Number <= stored[i-1].Number {
			t.Errorf("message %+v follows %+v, want rising numbers", m, stored[i-1])
		}
	}
	for _, of := range acknowledged {
		for _, m := range of {
			if there[m] != 1 {
				t.Errorf("%+v was acknowledged and is stored %d times, want once", m, there[m])
			}
		}
	}
	if n := sent.Load(); int64(len(stored)) != n || failed.Load() == 0 {
		t.Errorf("%d messages were acknowledged, %d are stored, %d calls failed, want as many stored, and some failed", n, len(stored), failed.Load())
	}
	storagetest.CheckCounts(t, s)
}
