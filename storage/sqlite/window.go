package sqlite

import (
	"context"

	"ovation/storage"
)

const (
	selectReactionWindow = `
SELECT biz_id, state, version FROM user_reaction WHERE tenant = ? AND user_id = ? AND biz = ? LIMIT ?`

	selectCollectionWindow = `
SELECT biz_id, state, version FROM user_collection WHERE tenant = ? AND user_id = ? AND biz = ? LIMIT ?`
)

// Windows looks up windows as of one moment.
func (s *Store) Windows(ctx context.Context, keys []storage.WindowKey, limit int) ([]storage.Window, error) {
	out := make([]storage.Window, len(keys))
	err := s.read(ctx, "read windows", func(t tx) error {
		for i, key := range keys {
			window, err := t.window(key, limit)
			if err != nil {
				return err
			}
			out[i] = window
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t tx) window(key storage.WindowKey, limit int) (storage.Window, error) {
	states := make(map[string]storage.States)
	args := []any{key.User.Tenant, key.User.UserID, key.Biz, limit + 1}
	rows := 0
	err := t.query(selectReactionWindow, args, func(scan func(...any) error) error {
		rows++
		l := storage.Liked{User: key.User, Subject: storage.Subject{Tenant: key.User.Tenant, Biz: key.Biz}}
		err := scan(&l.Subject.BizID, &l.Reaction, &l.Version)
		s := states[l.Subject.BizID]
		s.ReactionVersion = l.Version
		if l.Reaction != storage.NoReaction {
			s.Liked = &l
		}
		states[l.Subject.BizID] = s
		return err
	})
	if err != nil || rows > limit {
		return storage.Window{}, err
	}
	args[3] = limit + 1 - rows
	err = t.query(selectCollectionWindow, args, func(scan func(...any) error) error {
		rows++
		c := storage.Collected{User: key.User, Subject: storage.Subject{Tenant: key.User.Tenant, Biz: key.Biz}}
		err := scan(&c.Subject.BizID, &c.FolderID, &c.Version)
		s := states[c.Subject.BizID]
		s.CollectionVersion = c.Version
		if c.FolderID != "" {
			s.Collected = &c
		}
		states[c.Subject.BizID] = s
		return err
	})
	if err != nil || rows > limit {
		return storage.Window{}, err
	}
	return storage.Window{Complete: true, States: states}, nil
}
