package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// The statements look up a state only if its kind is requested. The anonymous user has no
// reads: the reads stored under the empty user id are from all anonymous visitors.
const (
	stateColumns = `
    coalesce(r.state, 0), coalesce(r.version, 0), coalesce(r.clears[1], 0), coalesce(r.clears[2], 0), coalesce(c.state, ''), coalesce(c.version, 0),
    coalesce(d.times, 0), coalesce(d.first_read, 0), coalesce(d.version, 0), coalesce(f.state, 0), coalesce(f.version, 0)`

	fromKeys = `
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)`

	stateJoins = `
LEFT JOIN LATERAL (SELECT state, version, clears FROM user_reaction s
    WHERE $5 AND s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) r ON TRUE
LEFT JOIN LATERAL (SELECT state, version FROM user_collection s
    WHERE $6 AND s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) c ON TRUE
LEFT JOIN LATERAL (SELECT times, first_read, version FROM user_read s
    WHERE $7 AND k.user_id <> '' AND s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id
    LIMIT 1) d ON TRUE
LEFT JOIN LATERAL (SELECT state, version FROM user_follow s
    WHERE $8 AND s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) f ON TRUE`

	selectStates = `SELECT k.ord, coalesce(i.version, 0),` + stateColumns + fromKeys + stateJoins + `
LEFT JOIN LATERAL (SELECT version FROM interactive s
    WHERE (r.version IS NOT NULL OR c.version IS NOT NULL OR d.version IS NOT NULL OR f.version IS NOT NULL)
        AND s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) i ON TRUE`

	selectInteractives = `
SELECT k.ord, coalesce(i.read_count, 0), coalesce(i.reader_count, 0), coalesce(i.like_count, 0), coalesce(i.dislike_count, 0),
    coalesce(i.collect_count, 0), coalesce(i.follower_count, 0), coalesce(i.author, ''), coalesce(i.deleted, 0) > 0, coalesce(i.version, 0),` + stateColumns + fromKeys + `
LEFT JOIN LATERAL (SELECT read_count, reader_count, like_count, dislike_count, collect_count, follower_count, author, deleted, version FROM interactive s
    WHERE s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) i ON TRUE` + stateJoins
)

// Interactives looks up counts and the viewer's states with one statement.
func (s *Store) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	out, states, err := sqlstore.NewInteractives(viewer, subjects)
	if err != nil {
		return nil, err
	}
	keys := stateKeys(states)
	if viewer.Anonymous() {
		kinds = 0
	}
	err = s.read(ctx, "read interactives", selectInteractives, withKinds(keys, kinds), func(row pgx.Rows) error {
		var i int
		var c storage.Counts
		var state stateRow
		if err := row.Scan(append([]any{
			&i, &c.ReadCount, &c.ReaderCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount, &c.FollowerCount, &c.AuthorID, &c.Deleted, &c.Version,
		}, state.fields()...)...); err != nil {
			return err
		}
		to := &out[i-1]
		to.Counts = c
		found := state.of(states[i-1])
		to.Liked, to.Collected, to.Read, to.Followed = found.Liked, found.Collected, found.Read, found.Followed
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// States looks up states with one statement.
func (s *Store) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	if err := sqlstore.CheckTenants(keys); err != nil {
		return nil, err
	}
	out := make([]storage.States, len(keys))
	err := s.read(ctx, "read states", selectStates, withKinds(stateKeys(keys), kinds), func(row pgx.Rows) error {
		var i int
		var counts int64
		var state stateRow
		if err := row.Scan(append([]any{&i, &counts}, state.fields()...)...); err != nil {
			return err
		}
		out[i-1] = state.of(keys[i-1])
		out[i-1].CountsVersion = counts
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func withKinds(keys columns, kinds storage.Kinds) []any {
	return keys.args(kinds.Has(storage.KindReaction), kinds.Has(storage.KindCollection), kinds.Has(storage.KindRead),
		kinds.Has(storage.KindFollow))
}

// stateRow holds the stateColumns of one row. They are zero if there is no state.
type stateRow struct {
	reaction                           storage.Register
	folder                             string
	collected                          int64
	readTimes, readFirst, lastReadTime int64
	following, followed                int64
}

func (r *stateRow) fields() []any {
	return []any{
		&r.reaction.Value, &r.reaction.Set, &r.reaction.Clears[0], &r.reaction.Clears[1],
		&r.folder, &r.collected, &r.readTimes, &r.readFirst, &r.lastReadTime,
		&r.following, &r.followed,
	}
}

func (r *stateRow) of(key storage.StateKey) storage.States {
	out := storage.States{Reaction: normalize(r.reaction), Liked: r.reaction.Liked(key), CollectionVersion: r.collected, FollowVersion: r.followed}
	if r.folder != "" {
		out.Collected = &storage.Collected{User: key.User, Subject: key.Subject, FolderID: r.folder, Version: r.collected}
	}
	if r.following == 1 {
		out.Followed = &storage.Followed{User: key.User, Subject: key.Subject, Version: r.followed}
	}
	if r.readTimes > 0 {
		out.Read = &storage.Read{User: key.User, Subject: key.Subject, Times: r.readTimes, First: r.readFirst, Last: r.lastReadTime}
	}
	return out
}

const selectFoldersByKey = `
SELECT k.ord, f.name, f.description, f.public, f.item_count, f.created, f.updated
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, user_id, folder_id, ord)
CROSS JOIN LATERAL (SELECT name, description, public, item_count, created, updated FROM folder f
    WHERE f.tenant = k.tenant AND f.user_id = k.user_id AND f.folder_id = k.folder_id LIMIT 1) f`

// FoldersOf looks up folders with one statement.
func (s *Store) FoldersOf(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error) {
	out := sqlstore.DefaultFolders(keys, s.now())
	err := s.read(ctx, "read folders", selectFoldersByKey, folderKeys(keys).args(), func(row pgx.Rows) error {
		var i int
		var f storage.Folder
		if err := row.Scan(&i, &f.Name, &f.Description, &f.Public, &f.ItemCount, &f.Created, &f.Updated); err != nil {
			return err
		}
		f.Owner, f.FolderID = keys[i-1].Owner, keys[i-1].FolderID
		out[i-1] = &f
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
