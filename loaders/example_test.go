package loaders_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"ovation/loaders"
	"ovation/storage"
	"ovation/storage/sqlite"
)

// counting counts the calls to a store.
type counting struct {
	storage.Store

	mu    sync.Mutex
	calls []int // the number of subjects in each call
}

func (c *counting) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	c.mu.Lock()
	c.calls = append(c.calls, len(subjects))
	c.mu.Unlock()
	return c.Store.Interactives(ctx, viewer, subjects, kinds)
}

// Lookups of one response are batched. FetchMany loads the given keys in one call, and later
// lookups of these keys do not call the store again.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "ovation")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	database, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(folder, "ovation.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer database.Close()

	store := &counting{Store: database}
	viewer := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	ctx = loaders.NewContext(ctx, loaders.New(store, viewer, storage.AllKinds))
	var page []storage.Subject
	for _, id := range []string{"1", "2", "3"} {
		page = append(page, storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id})
	}
	if _, err := loaders.Interactives.FetchMany(ctx, page); err != nil {
		fmt.Println(err)
		return
	}
	for _, subject := range page {
		found, err := loaders.Interactives.Load(ctx, subject)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(found.Biz, found.BizID, found.LikeCount)
	}
	fmt.Println("subjects in each call:", store.calls)
	// Output:
	// video 1 0
	// video 2 0
	// video 3 0
	// subjects in each call: [3]
}
