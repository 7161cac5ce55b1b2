package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/mirror"
)

const (
	selectReactionWindow = `
SELECT s.biz_id, coalesce(i.version, 0), s.state, s.version, s.unlike, s.undislike FROM user_reaction s
LEFT JOIN interactive i ON i.tenant = s.tenant AND i.biz = s.biz AND i.biz_id = s.biz_id
WHERE s.tenant = ? AND s.user_id = ? AND s.biz = ? LIMIT ?`

	selectCollectionWindow = `
SELECT s.biz_id, s.state, s.version, coalesce(i.version, 0) FROM user_collection s
LEFT JOIN interactive i ON i.tenant = s.tenant AND i.biz = s.biz AND i.biz_id = s.biz_id
WHERE s.tenant = ? AND s.user_id = ? AND s.biz = ? LIMIT ?`
)

// Windows looks up windows as of one moment.
func (s *Store) Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error) {
	out := make([]mirror.Window, len(keys))
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

func (t tx) window(key mirror.WindowKey, limit int) (mirror.Window, error) {
	states := make(map[string]storage.States)
	args := []any{key.User.Tenant, key.User.UserID, key.Biz, limit + 1}
	rows := 0
	err := t.query(selectReactionWindow, args, func(scan func(...any) error) error {
		rows++
		subject := storage.Subject{Tenant: key.User.Tenant, Biz: key.Biz}
		var s storage.States
		err := scan(append([]any{&subject.BizID, &s.CountsVersion}, registerFields(&s.Reaction)...)...)
		s.Liked = s.Reaction.Liked(storage.StateKey{User: key.User, Subject: subject})
		states[subject.BizID] = s
		return err
	})
	if err != nil || rows > limit {
		return mirror.Window{}, err
	}
	args[3] = limit + 1 - rows
	err = t.query(selectCollectionWindow, args, func(scan func(...any) error) error {
		rows++
		c := storage.Collected{User: key.User, Subject: storage.Subject{Tenant: key.User.Tenant, Biz: key.Biz}}
		var counts int64
		err := scan(&c.Subject.BizID, &c.FolderID, &c.Version, &counts)
		s := states[c.Subject.BizID]
		s.CountsVersion = counts
		s.CollectionVersion = c.Version
		if c.FolderID != "" {
			s.Collected = &c
		}
		states[c.Subject.BizID] = s
		return err
	})
	if err != nil || rows > limit {
		return mirror.Window{}, err
	}
	return mirror.Window{Complete: true, States: states}, nil
}
