package live_test

import (
	"context"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"ovation/internal/testing/sqlitetest"
	"ovation/live"
	"ovation/live/livetest"
	"ovation/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLiveCountsOfASingleProcess(t *testing.T) {
	livetest.Run(t, func(t *testing.T) livetest.Site {
		t.Helper()
		database := sqlitetest.Open(t)
		hub := live.New(database, live.Options{Logger: slog.New(slog.DiscardHandler)})
		t.Cleanup(func() {
			hub.Close()
			_ = database.Close()
		})
		store := live.Notifying(database, hub.Changed, hub.ChangedAll)
		return livetest.Site{Hub: hub, Reader: store, Persist: func(message storage.Message) error {
			_, err := store.Persist(context.Background(), []storage.Message{message}, nil)
			return err
		}}
	})
}
