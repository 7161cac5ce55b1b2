package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
)

var (
	errViewersTenant = &storage.InvalidError{Field: "tenant", Reason: "must be the viewer's for every subject"}
	errKeysTenant    = &storage.InvalidError{Field: "tenant", Reason: "must be the same for user and subject"}
)

// A state is looked up where its kind is asked for. The anonymous visitor has read nothing:
// the reads remembered under that name are everyone's.
const (
	stateColumns = `
    coalesce(r.state, 0), coalesce(r.version, 0), coalesce(r.clears[1], 0), coalesce(r.clears[2], 0), coalesce(c.state, ''), coalesce(c.version, 0),
    coalesce(d.times, 0), coalesce(d.first_read, 0), coalesce(d.version, 0)`

	fromKeys = `
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)`

	stateJoins = `
LEFT JOIN LATERAL (SELECT state, version, clears FROM user_reaction s
    WHERE $5 AND s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) r ON TRUE
LEFT JOIN LATERAL (SELECT state, version FROM user_collection s
    WHERE $6 AND s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) c ON TRUE
LEFT JOIN LATERAL (SELECT times, first_read, version FROM user_read s
    WHERE $7 AND k.user_id <> '' AND s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id
    LIMIT 1) d ON TRUE`

	selectStates = `SELECT k.ord, coalesce(i.version, 0),` + stateColumns + fromKeys + stateJoins + `
LEFT JOIN LATERAL (SELECT version FROM interactive s
    WHERE (r.version IS NOT NULL OR c.version IS NOT NULL OR d.version IS NOT NULL)
        AND s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) i ON TRUE`

	selectInteractives = `
SELECT k.ord, coalesce(i.read_count, 0), coalesce(i.like_count, 0), coalesce(i.dislike_count, 0),
    coalesce(i.collect_count, 0), coalesce(i.version, 0),` + stateColumns + fromKeys + `
LEFT JOIN LATERAL (SELECT read_count, like_count, dislike_count, collect_count, version FROM interactive s
    WHERE s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) i ON TRUE` + stateJoins
)

// Interactives looks up counts and the viewer's states by one statement.
func (s *Store) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	out := make([]storage.Interactive, len(subjects))
	keys := newColumns(4, 0, len(subjects))
	for i, subject := range subjects {
		if subject.Tenant != viewer.Tenant {
			return nil, errViewersTenant
		}
		out[i] = storage.Interactive{Subject: subject, Freshness: storage.Live}
		keys.add(stateKey(storage.StateKey{User: viewer, Subject: subject}))
	}
	if viewer.Anonymous() {
		kinds = 0
	}
	err := s.read(ctx, "read interactives", selectInteractives, withKinds(keys, kinds), func(row pgx.Rows) error {
		var i int
		var c storage.Counts
		var state stateRow
		if err := row.Scan(append([]any{
			&i, &c.ReadCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount, &c.Version,
		}, state.fields()...)...); err != nil {
			return err
		}
		to := &out[i-1]
		to.Counts = c
		states := state.of(storage.StateKey{User: viewer, Subject: to.Subject})
		to.Liked, to.Collected, to.Read = states.Liked, states.Collected, states.Read
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// States looks up states by one statement.
func (s *Store) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	out := make([]storage.States, len(keys))
	rows := newColumns(4, 0, len(keys))
	for _, key := range keys {
		if key.User.Tenant != key.Subject.Tenant {
			return nil, errKeysTenant
		}
		rows.add(stateKey(key))
	}
	err := s.read(ctx, "read states", selectStates, withKinds(rows, kinds), func(row pgx.Rows) error {
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
	return keys.args(kinds.Has(storage.KindReaction), kinds.Has(storage.KindCollection), kinds.Has(storage.KindRead))
}

// stateRow is stateColumns of one row: zeros where there is no state.
type stateRow struct {
	reaction                           storage.Register
	folder                             string
	collected                          int64
	readTimes, readFirst, lastReadTime int64
}

func (r *stateRow) fields() []any {
	return []any{
		&r.reaction.Value, &r.reaction.Set, &r.reaction.Clears[0], &r.reaction.Clears[1],
		&r.folder, &r.collected, &r.readTimes, &r.readFirst, &r.lastReadTime,
	}
}

func (r *stateRow) of(key storage.StateKey) storage.States {
	out := storage.States{Reaction: normal(r.reaction), Liked: r.reaction.Liked(key), CollectionVersion: r.collected}
	if r.folder != "" {
		out.Collected = &storage.Collected{User: key.User, Subject: key.Subject, FolderID: r.folder, Version: r.collected}
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

// FoldersOf looks up folders by one statement.
func (s *Store) FoldersOf(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error) {
	out := make([]*storage.Folder, len(keys))
	now := storage.Micros(s.now())
	rows := newColumns(3, 0, len(keys))
	for i, k := range keys {
		rows.add([]string{k.Owner.Tenant, k.Owner.UserID, k.FolderID})
		if k.FolderID == storage.DefaultFolderID && !k.Owner.Anonymous() {
			out[i] = &storage.Folder{
				Owner: k.Owner, FolderID: k.FolderID, Name: storage.DefaultFolderName, Created: now, Updated: now,
			}
		}
	}
	err := s.read(ctx, "read folders", selectFoldersByKey, rows.args(), func(row pgx.Rows) error {
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
