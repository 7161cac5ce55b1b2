package storagetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"ovation/storage"
)

// concurrentWritersAgree runs concurrent writers through two stores, on the same few
// users and subjects. Some writers persist actions, the others create, empty and delete
// folders.
func concurrentWritersAgree(w *world) {
	const writers, rounds = 8, 12
	stores := []storage.Store{w.s, w.open()}
	var version atomic.Int64
	var folders sync.Map // the owner of each folder, by folder id; shared by all writers
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 0)) //nolint:gosec // the same numbers in every run
			for round := range rounds {
				s := stores[(n+round)%len(stores)] // in turn: on one SQLite file, a store may wait too long for one that never pauses
				var err error
				if n%4 == 3 {
					err = keepFolders(w, s, random, &version, &folders, fmt.Sprintf("Folder %d-%d", n, round))
				} else {
					m := storage.Message{ID: fmt.Sprintf("%d-%d", n, round)}
					for range 20 {
						m.Actions = append(m.Actions, randomAction(random, &version, &folders))
					}
					_, err = s.Persist(w.Context(), []storage.Message{m}, nil)
				}
				if err != nil {
					w.Errorf("writer %d: %v", n, err)
				}
			}
		})
	}
	group.Wait()
	w.verified()
	for i := range 3 {
		s := video(strconv.Itoa(i))
		likers, err := w.s.Likers(w.Context(), []storage.LikersQuery{{Subject: s, Page: storage.Page{First: 100}}})
		w.must(err)
		w.equal("likers", int64(len(likers[0].Entries)), w.counts(s).LikeCount)
	}
}

func randomAction(random *rand.Rand, version *atomic.Int64, folders *sync.Map) storage.Action {
	u, s, v := user(fmt.Sprint("user", random.IntN(4))), video(strconv.Itoa(random.IntN(3))), version.Add(1)
	switch random.IntN(5) {
	case 0:
		return read(u, s, 1, v, v)
	case 1:
		id := storage.DefaultFolderID
		folders.Range(func(key, _ any) bool { // stops at a random folder
			id, _ = key.(string)
			return random.IntN(2) == 0
		})
		return Collect(u, s, id, v)
	case 2:
		return Collect(u, s, "", v)
	case 3:
		a := unfollow(u, user(fmt.Sprint("user", random.IntN(4))).Subject(), v)
		a.Following = a.Subject != u.Subject() && random.IntN(3) > 0
		return a
	default:
		return React(u, s, storage.Reaction(random.IntN(3)), v)
	}
}

// keepFolders creates a folder and then empties and deletes a random one.
func keepFolders(
	w *world, s storage.Store, random *rand.Rand, version *atomic.Int64, folders *sync.Map, name string,
) error {
	owner := user(fmt.Sprint("user", random.IntN(4)))
	made, err := s.CreateFolder(w.Context(), storage.Folder{Owner: owner, Name: name, Created: version.Add(1)})
	if err != nil {
		return err
	}
	folders.Store(made.FolderID, owner)
	folders.Range(func(key, value any) bool {
		id, _ := key.(string)
		keyOwner, _ := value.(storage.User)
		if random.IntN(2) == 0 {
			return true
		}
		victim := storage.FolderKey{Owner: keyOwner, FolderID: id}
		if _, _, err = s.EmptyFolder(w.Context(), victim, storage.DefaultFolderID, storage.Time(version.Add(1)), 2, nil); err == nil {
			err = s.DeleteFolder(w.Context(), victim, storage.DefaultFolderID, storage.Time(version.Add(1)))
		}
		// Another goroutine may have deleted the folder, or the folder may hold items.
		if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrFolderNotEmpty) {
			err = nil
		}
		return false
	})
	return err
}
