package sqlite

import (
	"ovation/storage"
)

const upsertReactions = `
INSERT INTO user_reaction AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, 0, value ->> 5 FROM json_each(?) WHERE true
ON CONFLICT DO UPDATE SET prev_state = s.state, state = excluded.state, version = excluded.version
WHERE s.version < excluded.version
RETURNING tenant, user_id, biz, biz_id, prev_state`

// react applies actions of KindReaction.
func (t tx) react(actions []storage.Action) ([]storage.StateChange, error) {
	var rows tuples
	for i := range actions {
		a := &actions[i]
		rows.add([]string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID}, int64(a.Reaction), a.Version)
	}
	return t.upsert(actions, upsertReactions, rows.json(), selectReactions,
		func(c *storage.StateChange) (old, current any) { return &c.OldReaction, &c.Reaction })
}

const upsertCollections = `
INSERT INTO user_collection AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, '', value ->> 5 FROM json_each(?) WHERE true
ON CONFLICT DO UPDATE SET prev_state = s.state, state = excluded.state, version = excluded.version
WHERE s.version < excluded.version
RETURNING tenant, user_id, biz, biz_id, prev_state`

// collect applies actions of KindCollection.
func (t tx) collect(actions []storage.Action) ([]storage.StateChange, error) {
	if err := t.place(actions); err != nil {
		return nil, err
	}
	var rows tuples
	for i := range actions {
		a := &actions[i]
		rows.add([]string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID, a.FolderID}, a.Version)
	}
	return t.upsert(actions, upsertCollections, rows.json(), selectCollections,
		func(c *storage.StateChange) (old, current any) { return &c.OldFolderID, &c.FolderID })
}

// upsert writes the actions that are newer than what is stored and returns
// what is now the latest word on the state of each. fields are those of a
// change that hold the state before and after.
func (t tx) upsert(
	actions []storage.Action, upsert, rows, lookUp string, fields func(*storage.StateChange) (old, current any),
) ([]storage.StateChange, error) {
	if len(actions) == 0 {
		return nil, nil
	}
	changes := make([]storage.StateChange, len(actions))
	at := make(map[storage.StateKey]int, len(actions)) // those not written
	for i, a := range actions {
		changes[i] = storage.StateChange{
			User: a.User, Subject: a.Subject, Kind: a.Kind,
			Reaction: a.Reaction, FolderID: a.FolderID, Version: a.Version,
		}
		at[storage.StateKey{User: a.User, Subject: a.Subject}] = i
	}
	err := t.query(upsert, []any{rows}, func(scan func(...any) error) error {
		var key storage.StateKey
		var c storage.StateChange
		old, _ := fields(&c)
		err := scan(&key.User.Tenant, &key.User.UserID, &key.Subject.Biz, &key.Subject.BizID, old)
		key.Subject.Tenant = key.User.Tenant
		i := at[key]
		changes[i].OldReaction, changes[i].OldFolderID = c.OldReaction, c.OldFolderID
		delete(at, key)
		return err
	})
	if err != nil || len(at) == 0 {
		return changes, err
	}
	keys := make([]storage.StateKey, 0, len(at))
	for key := range at {
		keys = append(keys, key)
	}
	return changes, t.query(lookUp, []any{stateKeys(keys)}, func(scan func(...any) error) error {
		var i int
		var counts int64 // of no interest
		var c storage.StateChange
		_, current := fields(&c)
		err := scan(&i, current, &c.Version, &counts)
		found := &changes[at[keys[i]]]
		found.OldReaction, found.Reaction = c.Reaction, c.Reaction
		found.OldFolderID, found.FolderID = c.FolderID, c.FolderID
		found.Version = c.Version
		return err
	})
}

const upsertReads = `
INSERT INTO user_read AS s (tenant, user_id, biz, biz_id, times, first_read, version)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(?) WHERE true
ON CONFLICT DO UPDATE SET times = s.times + excluded.times,
    first_read = min(s.first_read, excluded.first_read), version = max(s.version, excluded.version)`

// addReads applies actions of KindRead.
func (t tx) addReads(actions []storage.Action) error {
	if len(actions) == 0 {
		return nil
	}
	var rows tuples
	for i := range actions {
		a := &actions[i]
		rows.add([]string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID}, a.Times, a.First, a.Version)
	}
	_, err := t.exec(upsertReads, rows.json())
	return err
}
