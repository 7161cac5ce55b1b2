package sqlite

import (
	"context"
	"errors"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// Verify recounts on a snapshot. Without repair nobody waits for it. With
// repair and where something is wrong it recounts once more and holds the write
// lock from before that to the end, so that the counts cannot move in between;
// everything is repaired in one transaction, and nothing is if it ends with an
// error.
func (s *Store) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (compared int64, err error) {
	recount := func(mend func(*sqlstore.Damage) error) error {
		return s.read(ctx, "recount", func(t tx) error {
			v := sqlstore.Recount{Report: report, Mend: mend, Misplaced: misplaced}
			if err := t.query(recountSubjects, nil, v.Subject); err != nil {
				return err
			}
			if err := t.query(recountFolders, nil, v.Folder); err != nil {
				return err
			}
			compared = v.Compared
			return v.End()
		})
	}
	if !repair {
		err = recount(func(*sqlstore.Damage) error { return nil })
		return compared, err
	}
	sound, err := s.sound(ctx)
	if err != nil || sound > 0 {
		return sound, err
	}
	err = s.write(ctx, "repair", func(t tx) error {
		if _, err := t.enter(s.now()); err != nil {
			return err
		}
		return recount(func(d *sqlstore.Damage) error { return t.repair(d, storage.Micros(s.now())) })
	})
	return compared, err
}

// errDamaged ends a recount at the first difference.
var errDamaged = errors.New("damaged")

// sound returns how many counts were compared if all of them are right, and 0
// if one is not.
func (s *Store) sound(ctx context.Context) (compared int64, err error) {
	compared, err = s.Verify(ctx, false, func(storage.Difference) error { return errDamaged })
	if errors.Is(err, errDamaged) {
		return 0, nil
	}
	return compared, err
}

// misplaced counts the items of a folder that does not exist in the default one,
// where they will be.
func misplaced(d *sqlstore.Damage, folder storage.FolderKey, by int64, exists bool) {
	if !exists {
		d.Homeless = append(d.Homeless, folder)
		folder.FolderID = storage.DefaultFolderID
	}
	d.Folders[folder] += by
}

const recountSubjects = `
SELECT tenant, biz, biz_id,
    sum(read_count), sum(times), sum(like_count), sum(likes),
    sum(dislike_count), sum(dislikes), sum(collect_count), sum(collected)
FROM (
    SELECT tenant, biz, biz_id, read_count, 0 AS times, like_count, 0 AS likes,
        dislike_count, 0 AS dislikes, collect_count, 0 AS collected FROM interactive
    UNION ALL
    SELECT tenant, biz, biz_id, 0, times, 0, 0, 0, 0, 0, 0 FROM user_read
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, state = 1, 0, state = 2, 0, 0 FROM user_reaction WHERE state <> 0
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, 0, 0, 0, 0, 1 FROM user_collection WHERE state <> ''
)
GROUP BY tenant, biz, biz_id ORDER BY tenant, biz, biz_id`

const recountFolders = `
SELECT tenant, user_id, folder_id, sum(made), sum(stored), sum(counted)
FROM (
    SELECT tenant, user_id, folder_id, 1 AS made, item_count AS stored, 0 AS counted FROM folder
    UNION ALL
    SELECT tenant, user_id, state, 0, 0, count(*) FROM user_collection
    WHERE state <> '' GROUP BY tenant, user_id, state
)
GROUP BY tenant, user_id, folder_id ORDER BY tenant, user_id, folder_id`

const rehouseItems = `
UPDATE user_collection AS s SET prev_state = s.state, state = ?2, version = s.version + 1 FROM jsonb_each(?1) k
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.state = k.value ->> 2 AND s.state <> ''`

// repair moves homeless items into the default folders and sets the counts
// right.
func (t tx) repair(d *sqlstore.Damage, now int64) error {
	owners := make(map[storage.User]int64)
	var homeless tuples
	for _, key := range d.Homeless {
		owners[key.Owner] = now
		homeless.add([]string{key.Owner.Tenant, key.Owner.UserID, key.FolderID})
	}
	if len(owners) > 0 {
		if err := t.makeDefaults(owners); err != nil {
			return err
		}
		if _, err := t.exec(rehouseItems, homeless.json(), storage.DefaultFolderID); err != nil {
			return err
		}
	}
	// Counts that somebody deleted had a version, which nothing tells any more.
	// A time is above every number of changes.
	_, err := t.settle(d.Tally, now)
	return err
}
