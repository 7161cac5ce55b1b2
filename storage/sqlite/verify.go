package sqlite

import (
	"context"
	"errors"

	"ovation/storage"
)

// repairBatch is how many wrong subjects or folders are held in memory before
// they are repaired.
const repairBatch = 1000

// Verify recounts on a snapshot. Without repair nobody waits for it. With
// repair and where something is wrong it recounts once more and holds the write
// lock from before that to the end, so that the counts cannot move in between;
// everything is repaired in one transaction, and nothing is if it ends with an
// error.
func (s *Store) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (compared int64, err error) {
	recount := func(mend func(*damage) error) error {
		return s.read(ctx, "recount", func(t tx) error {
			v := verification{report: report, mend: mend, damage: newDamage()}
			if err := v.subjects(t); err != nil {
				return err
			}
			if err := v.folders(t); err != nil {
				return err
			}
			compared = v.compared
			return mend(v.damage)
		})
	}
	if !repair {
		err = recount(func(*damage) error { return nil })
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
		return recount(func(d *damage) error { return t.repair(d, storage.Micros(s.now())) })
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

// damage is what a recount found wrong: by how much counts must move, and the
// items of folders that do not exist.
type damage struct {
	tally
	homeless []storage.FolderKey
}

func newDamage() *damage { return &damage{tally: newTally()} }

type verification struct {
	report   func(storage.Difference) error
	mend     func(*damage) error
	damage   *damage
	compared int64
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

func (v *verification) subjects(t tx) error {
	return t.query(recountSubjects, nil, func(scan func(...any) error) error {
		var s storage.Subject
		var stored, counted storage.Counts
		if err := scan(&s.Tenant, &s.Biz, &s.BizID, &stored.ReadCount, &counted.ReadCount,
			&stored.LikeCount, &counted.LikeCount, &stored.DislikeCount, &counted.DislikeCount,
			&stored.CollectCount, &counted.CollectCount); err != nil {
			return err
		}
		by := storage.Counts{
			ReadCount:    counted.ReadCount - stored.ReadCount,
			LikeCount:    counted.LikeCount - stored.LikeCount,
			DislikeCount: counted.DislikeCount - stored.DislikeCount,
			CollectCount: counted.CollectCount - stored.CollectCount,
		}
		v.compared += 4
		if by == (storage.Counts{}) {
			return nil
		}
		for _, d := range []storage.Difference{
			{Subject: s, Count: "readCount", Stored: stored.ReadCount, Counted: counted.ReadCount},
			{Subject: s, Count: "likeCount", Stored: stored.LikeCount, Counted: counted.LikeCount},
			{Subject: s, Count: "dislikeCount", Stored: stored.DislikeCount, Counted: counted.DislikeCount},
			{Subject: s, Count: "collectCount", Stored: stored.CollectCount, Counted: counted.CollectCount},
		} {
			if d.Stored == d.Counted {
				continue
			}
			if err := v.report(d); err != nil {
				return err
			}
		}
		*v.damage.subject(s) = by
		return v.flush()
	})
}

const recountFolders = `
SELECT tenant, user_id, folder_id, sum(made), sum(stored), sum(counted)
FROM (
    SELECT tenant, user_id, folder_id, 1 AS made, item_count AS stored, 0 AS counted FROM folder
    UNION ALL
    SELECT tenant, user_id, state, 0, 0, count(*) FROM user_collection
    WHERE state <> '' GROUP BY tenant, user_id, state
)
GROUP BY tenant, user_id, folder_id ORDER BY tenant, user_id, folder_id`

func (v *verification) folders(t tx) error {
	return t.query(recountFolders, nil, func(scan func(...any) error) error {
		d := storage.Difference{Count: "itemCount"}
		var made bool
		if err := scan(&d.Folder.Owner.Tenant, &d.Folder.Owner.UserID, &d.Folder.FolderID,
			&made, &d.Stored, &d.Counted); err != nil {
			return err
		}
		v.compared++
		if made && d.Stored == d.Counted {
			return nil
		}
		home := d.Folder
		if !made {
			d.Count = "folder"
			home.FolderID = storage.DefaultFolderID
			v.damage.homeless = append(v.damage.homeless, d.Folder)
		}
		v.damage.folders[home] += d.Counted - d.Stored
		if err := v.report(d); err != nil {
			return err
		}
		return v.flush()
	})
}

// flush repairs what has piled up.
func (v *verification) flush() error {
	if len(v.damage.subjects)+len(v.damage.folders)+len(v.damage.homeless) < repairBatch {
		return nil
	}
	full := v.damage
	v.damage = newDamage()
	return v.mend(full)
}

const rehouseItems = `
UPDATE user_collection AS s SET prev_state = s.state, state = ?2, version = s.version + 1 FROM jsonb_each(?1) k
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.state = k.value ->> 2 AND s.state <> ''`

// repair moves homeless items into the default folders and sets the counts
// right.
func (t tx) repair(d *damage, now int64) error {
	owners := make(map[storage.User]int64)
	var homeless tuples
	for _, key := range d.homeless {
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
	_, err := t.settle(d.tally, now)
	return err
}
