package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/mirror"
)

// For each kind of state, selectWindows selects up to one row more than the limit, to
// detect windows that exceed the limit. The kinds have the same numbers as in package
// storage.
const selectWindows = `
SELECT k.ord, s.kind, s.biz_id, s.reaction, s.folder, s.version, coalesce(s.clears[1], 0), coalesce(s.clears[2], 0), coalesce(i.version, 0)
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, ord)
CROSS JOIN LATERAL (
    (SELECT 1 AS kind, r.biz_id, r.state AS reaction, '' AS folder, r.version, r.clears FROM user_reaction r
     WHERE r.tenant = k.tenant AND r.user_id = k.user_id AND r.biz = k.biz LIMIT $4 + 1)
    UNION ALL
    (SELECT 2, c.biz_id, 0, c.state, c.version, NULL FROM user_collection c
     WHERE c.tenant = k.tenant AND c.user_id = k.user_id AND c.biz = k.biz LIMIT $4 + 1)
    UNION ALL
    (SELECT 4, f.biz_id, f.state, '', f.version, NULL FROM user_follow f
     WHERE f.tenant = k.tenant AND f.user_id = k.user_id AND f.biz = k.biz LIMIT $4 + 1)
) s
LEFT JOIN LATERAL (SELECT version FROM interactive i
    WHERE i.tenant = k.tenant AND i.biz = k.biz AND i.biz_id = s.biz_id LIMIT 1) i ON TRUE`

// Windows reads windows with one statement.
func (s *Store) Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error) {
	out := make([]mirror.Window, len(keys))
	rows := newColumns(3, 0, len(keys))
	for i, k := range keys {
		out[i] = mirror.Window{Complete: true, States: make(map[string]storage.States)}
		rows.add([]string{k.User.Tenant, k.User.UserID, k.Biz})
	}
	held := make([]int, len(keys))
	err := s.read(ctx, "read windows", selectWindows, rows.args(int64(limit)), func(row pgx.Rows) error {
		var i int
		var kind storage.Kind
		var bizID, folder string
		var r storage.Register
		var counts int64
		if err := row.Scan(&i, &kind, &bizID, &r.Value, &folder, &r.Set, &r.Clears[0], &r.Clears[1], &counts); err != nil {
			return err
		}
		i--
		if held[i]++; held[i] > limit {
			out[i] = mirror.Window{}
			return nil
		}
		subject := storage.Subject{Tenant: keys[i].User.Tenant, Biz: keys[i].Biz, BizID: bizID}
		states := out[i].States[bizID]
		states.CountsVersion = counts
		switch kind {
		case storage.KindReaction:
			states.Reaction, states.Liked = normalize(r), r.Liked(storage.StateKey{User: keys[i].User, Subject: subject})
		case storage.KindCollection:
			states.CollectionVersion = r.Set
			if folder != "" {
				states.Collected = &storage.Collected{User: keys[i].User, Subject: subject, FolderID: folder, Version: r.Set}
			}
		default:
			states.FollowVersion = r.Set
			if r.Value != 0 {
				states.Followed = &storage.Followed{User: keys[i].User, Subject: subject, Version: r.Set}
			}
		}
		out[i].States[bizID] = states
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
