package live_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"ovation/live"
	"ovation/live/livetest"
	"ovation/storage"
	"ovation/storage/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLiveCountsOfASingleProcess(t *testing.T) {
	livetest.Run(t, func(t *testing.T) livetest.Site {
		t.Helper()
		database, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "ovation.db")})
		if err != nil {
			t.Fatal(err)
		}
		hub := live.New(database, live.Options{Logger: slog.New(slog.DiscardHandler)})
		t.Cleanup(func() {
			hub.Close()
			_ = database.Close()
		})
		store := live.Telling(database, hub.Changed, hub.ChangedAll)
		return livetest.Site{Hub: hub, Reader: store, Persist: func(message storage.Message) error {
			_, err := store.Persist(context.Background(), []storage.Message{message}, nil)
			return err
		}}
	})
}
