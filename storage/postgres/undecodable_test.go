package postgres

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/storagetest"
)

var errUnreadable = errors.New("unreadable")

// unreadable is a codec that fails to decode ordinals. In the calls that this test makes,
// only ordinals and row numbers are scanned into an int.
type unreadable struct{ pgtype.Int8Codec }

func (c unreadable) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ordinal := target.(*int); ordinal {
		return unreadablePlan{}
	}
	return c.Int8Codec.PlanScan(m, oid, format, target)
}

type unreadablePlan struct{}

func (unreadablePlan) Scan([]byte, any) error { return errUnreadable }

// setCodec makes the connections of an idle store decode bigints with the given codec.
func setCodec(t *testing.T, s *Store, codec pgtype.Codec) {
	t.Helper()
	for _, c := range s.pool.AcquireAllIdle(t.Context()) {
		c.Conn().TypeMap().RegisterType(&pgtype.Type{Name: "int8", OID: pgtype.Int8OID, Codec: codec})
		c.Release()
	}
}

// TestRowThatCannotBeDecodedFailsItsCall checks that each call returns an error if a row
// of its result cannot be decoded. The next call must succeed.
func TestRowThatCannotBeDecodedFailsItsCall(t *testing.T) {
	s := openAt(t, Options{URL: postgrestest.Schema(t), Logger: slog.New(slog.DiscardHandler)})
	folder, err := s.CreateFolder(t.Context(), storage.Folder{Owner: alice, Name: "Films", Created: 1})
	must.Succeed(t, err)
	deleted, err := s.CreateFolder(t.Context(), storage.Folder{Owner: alice, Name: "Songs", Created: 1})
	must.Succeed(t, err)
	must.Succeed(t, s.DeleteFolder(t.Context(), deleted.Key(), folder.FolderID, time.Now()))
	action := func(kind storage.Kind, version int64) storage.Action {
		a := storage.Action{User: alice, Subject: movie, Kind: kind, Version: version}
		switch kind {
		case storage.KindReaction:
			a.Reaction = storage.Like
		case storage.KindCollection:
			a.FolderID = folder.FolderID
		case storage.KindRead:
			a.Times, a.First = 1, version
		case storage.KindFollow:
			a.Following = true
		case storage.KindAuthor: // has no user
		}
		return a
	}
	persist := func(ctx context.Context, id string, actions ...storage.Action) error {
		_, err := s.Persist(ctx, []storage.Message{{ID: id, Actions: actions}}, nil)
		return err
	}
	inDefault := action(storage.KindCollection, 10)
	inDefault.FolderID = storage.DefaultFolderID
	must.Succeed(t, persist(t.Context(), "first", action(storage.KindReaction, 10), inDefault, action(storage.KindRead, 10), action(storage.KindFollow, 10)))
	intoDeleted := action(storage.KindCollection, 1)
	intoDeleted.FolderID = deleted.FolderID

	states := []storage.StateKey{{User: alice, Subject: movie}}
	page := storage.Page{First: 1}
	for name, call := range map[string]func(ctx context.Context) error{
		"interactives": func(ctx context.Context) error {
			_, err := s.Interactives(ctx, alice, []storage.Subject{movie}, storage.AllKinds)
			return err
		},
		"states": func(ctx context.Context) error { _, err := s.States(ctx, states, storage.AllKinds); return err },
		"folders": func(ctx context.Context) error {
			_, err := s.FoldersOf(ctx, []storage.FolderKey{folder.Key()})
			return err
		},
		"windows": func(ctx context.Context) error {
			_, err := s.Windows(ctx, []mirror.WindowKey{{User: alice, Biz: "video"}}, 10)
			return err
		},
		"inbox": func(ctx context.Context) error { _, err := s.Seen(ctx, []string{"first"}); return err },
		"likers": func(ctx context.Context) error {
			_, err := s.Likers(ctx, []storage.LikersQuery{{Subject: movie, Page: page}})
			return err
		},
		"followers": func(ctx context.Context) error {
			_, err := s.Followers(ctx, []storage.FollowersQuery{{Subject: movie, Page: page}})
			return err
		},
		"following": func(ctx context.Context) error {
			_, err := s.Following(ctx, []storage.FollowingQuery{{User: alice, Page: page}})
			return err
		},
		"friends": func(ctx context.Context) error {
			_, err := s.Friends(ctx, []storage.FriendsQuery{{User: alice, Page: page}})
			return err
		},
		"older follow":   func(ctx context.Context) error { return persist(ctx, "6", action(storage.KindFollow, 5)) },
		"older reaction": func(ctx context.Context) error { return persist(ctx, "2", action(storage.KindReaction, 5)) },
		"older collection": func(ctx context.Context) error {
			return persist(ctx, "3", func() storage.Action { a := inDefault; a.Version = 5; return a }())
		},
		"collection":                    func(ctx context.Context) error { return persist(ctx, "4", action(storage.KindCollection, 20)) },
		"collection into a lost folder": func(ctx context.Context) error { return persist(ctx, "5", intoDeleted) },
	} {
		t.Run(name, func(t *testing.T) {
			setCodec(t, s, unreadable{})
			if err := call(t.Context()); !errors.Is(err, errUnreadable) {
				t.Errorf("got the error %v, want %v", err, errUnreadable)
			}
			setCodec(t, s, pgtype.Int8Codec{})
			if err := call(t.Context()); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
	storagetest.CheckCounts(t, s)
}
