package sqlite

import (
	"maps"
	"slices"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// upsertReactions leaves the columns state and version unchanged if a clear does not
// apply.
const upsertReactions = `
INSERT INTO user_reaction AS s (tenant, user_id, biz, biz_id, state, prev_state, version, unlike, undislike)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, 0, value ->> 5, value ->> 6, value ->> 7
FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET prev_state = s.state,
    state = CASE WHEN s.version < excluded.version
        THEN CASE excluded.state
            WHEN 1 THEN iif(s.unlike > excluded.version, 0, 1) WHEN 2 THEN iif(s.undislike > excluded.version, 0, 2) ELSE 0 END
        ELSE CASE s.state
            WHEN 1 THEN iif(excluded.unlike > s.version, 0, 1) WHEN 2 THEN iif(excluded.undislike > s.version, 0, 2) ELSE 0 END
        END,
    version = max(s.version, excluded.version),
    unlike = iif(max(s.unlike, excluded.unlike) > max(s.version, excluded.version), max(s.unlike, excluded.unlike), 0),
    undislike = iif(max(s.undislike, excluded.undislike) > max(s.version, excluded.version), max(s.undislike, excluded.undislike), 0)
WHERE s.version < max(excluded.version, excluded.unlike, excluded.undislike)
RETURNING tenant, user_id, biz, biz_id, prev_state, state, version, unlike, undislike`

// react applies actions of KindReaction.
func (t tx) react(actions []storage.Action) ([]storage.StateChange, error) {
	changes := storage.ChangesOf(actions)
	var rows tuples
	for i := range changes {
		c := &changes[i]
		rows.add(keyOf(c), int64(c.Register.Value), c.Register.Set, c.Register.Clears[0], c.Register.Clears[1])
	}
	return t.upsert(changes, upsertReactions, rows.json(), selectReactions,
		func(c *storage.StateChange) (old any, current []any) {
			return &c.OldReaction, registerFields(&c.Register)
		})
}

// registerFields returns the destinations for scanning the columns of a register: state,
// version, unlike and undislike.
func registerFields(r *storage.Register) []any {
	return []any{&r.Value, &r.Set, &r.Clears[0], &r.Clears[1]}
}

const upsertCollections = `
INSERT INTO user_collection AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, '', value ->> 5 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET prev_state = s.state, state = excluded.state, version = excluded.version
WHERE s.version < excluded.version
RETURNING tenant, user_id, biz, biz_id, prev_state, state, version`

// collect applies actions of KindCollection.
func (t tx) collect(actions []storage.Action) ([]storage.StateChange, error) {
	if err := t.resolveFolders(actions); err != nil {
		return nil, err
	}
	changes := storage.ChangesOf(actions)
	var rows tuples
	for i := range changes {
		c := &changes[i]
		rows.add(append(keyOf(c), c.FolderID), c.Version)
	}
	return t.upsert(changes, upsertCollections, rows.json(), selectCollections,
		func(c *storage.StateChange) (old any, current []any) {
			return &c.OldFolderID, []any{&c.FolderID, &c.Version}
		})
}

const upsertFollows = `
INSERT INTO user_follow AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, 0, value ->> 5 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET prev_state = s.state, state = excluded.state, version = excluded.version
WHERE s.version < excluded.version
RETURNING tenant, user_id, biz, biz_id, prev_state, state, version`

// follow applies actions of KindFollow.
func (t tx) follow(actions []storage.Action) ([]storage.StateChange, error) {
	changes := storage.ChangesOf(actions)
	var rows tuples
	for i := range changes {
		c := &changes[i]
		rows.add(keyOf(c), sqlstore.BoolToInt(c.Following), c.Version)
	}
	return t.upsert(changes, upsertFollows, rows.json(), selectFollows,
		func(c *storage.StateChange) (old any, current []any) {
			return &c.OldFollowing, []any{&c.Following, &c.Version}
		})
}

func keyOf(c *storage.StateChange) []string {
	return []string{c.User.Tenant, c.User.UserID, c.Subject.Biz, c.Subject.BizID}
}

// upsert merges the changes into the stored states, and records in each change the
// previous and the resulting state. The function fields returns the destinations for
// scanning the columns of a change.
func (t tx) upsert(
	changes []storage.StateChange, upsert, rows, lookUp string, fields func(*storage.StateChange) (old any, current []any),
) ([]storage.StateChange, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	at := make(map[storage.StateKey]int, len(changes)) // indices of the changes that are not written, because the stored states include them
	for i := range changes {
		at[storage.StateKey{User: changes[i].User, Subject: changes[i].Subject}] = i
	}
	err := t.query(upsert, []any{rows}, func(scan func(...any) error) error {
		var key storage.StateKey
		var c storage.StateChange
		old, current := fields(&c)
		err := scan(append([]any{&key.User.Tenant, &key.User.UserID, &key.Subject.Biz, &key.Subject.BizID, old}, current...)...)
		key.Subject.Tenant = key.User.Tenant
		setScanned(&changes[at[key]], c)
		delete(at, key)
		return err
	})
	if err != nil || len(at) == 0 {
		return changes, err
	}
	keys := slices.Collect(maps.Keys(at))
	return changes, t.query(lookUp, []any{stateKeys(keys)}, func(scan func(...any) error) error {
		var i int
		var c storage.StateChange
		_, current := fields(&c)
		err := scan(append([]any{&i}, current...)...)
		change := &changes[at[keys[i]]]
		setScanned(change, c)
		change.OldReaction, change.OldFolderID, change.OldFollowing = change.Reaction, change.FolderID, change.Following
		return err
	})
}

// setScanned copies the scanned fields into a change.
func setScanned(change *storage.StateChange, scanned storage.StateChange) {
	scanned.User, scanned.Subject, scanned.Kind = change.User, change.Subject, change.Kind
	if scanned.Kind == storage.KindReaction {
		scanned.Reaction, scanned.Version = scanned.Register.Value, scanned.Register.Version()
	}
	*change = scanned
}

const upsertReads = `
INSERT INTO user_read AS s (tenant, user_id, biz, biz_id, times, first_read, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET times = s.times + excluded.times,
    first_read = min(s.first_read, excluded.first_read), version = max(s.version, excluded.version)
RETURNING tenant, user_id, biz, biz_id, times`

// addReads applies actions of KindRead and sets of.NewReaders.
func (t tx) addReads(of *sqlstore.ByKind) error {
	if len(of.Reads) == 0 {
		return nil
	}
	var rows tuples
	actions := make(map[storage.StateKey]*storage.Action, len(of.Reads))
	for i := range of.Reads {
		a := &of.Reads[i]
		rows.add([]string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID}, a.Times, a.First, a.Version)
		actions[storage.StateKey{User: a.User, Subject: a.Subject}] = a
	}
	return t.query(upsertReads, []any{rows.json()}, func(scan func(...any) error) error {
		var k storage.StateKey
		var times int64
		if err := scan(&k.User.Tenant, &k.User.UserID, &k.Subject.Biz, &k.Subject.BizID, &times); err != nil {
			return err
		}
		k.Subject.Tenant = k.User.Tenant
		of.AddReadRow(actions[k], times)
		return nil
	})
}
