package sqlstore

import "ovation/storage"

// RepairBatch is how many wrong subjects or folders are held in memory before
// they are repaired.
const RepairBatch = 1000

// Damage is what a recount found wrong: by how much counts must move, the owners
// of folders whose counts must, and folders that do not exist and yet hold items.
type Damage struct {
	Tally

	Owners   map[storage.User]int64
	Homeless []storage.FolderKey
}

// Recount compares counts with what they count.
type Recount struct {
	// Report is called for each difference.
	Report func(storage.Difference) error
	// Mend repairs what has been found so far.
	Mend func(*Damage) error
	// Misplaced notes a folder whose count is wrong by a number, or that does not
	// exist.
	Misplaced func(found *Damage, folder storage.FolderKey, by int64, exists bool)
	// Compared is how many counts were compared.
	Compared int64

	found *Damage
}

// damage returns what is to be mended next.
func (r *Recount) damage() *Damage {
	if r.found == nil {
		r.found = &Damage{Tally: NewTally(), Owners: map[storage.User]int64{}}
	}
	return r.found
}

// Subject takes a row: tenant, biz and bizId, then reads, likes, dislikes and
// collections, each as stored and as counted.
func (r *Recount) Subject(scan func(...any) error) error {
	var s storage.Subject
	var stored, counted storage.Counts
	if err := scan(&s.Tenant, &s.Biz, &s.BizID, &stored.ReadCount, &counted.ReadCount,
		&stored.LikeCount, &counted.LikeCount, &stored.DislikeCount, &counted.DislikeCount,
		&stored.CollectCount, &counted.CollectCount); err != nil {
		return err
	}
	r.Compared += 4
	if stored == counted {
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
		if err := r.Report(d); err != nil {
			return err
		}
	}
	*r.damage().subject(s) = storage.Counts{
		ReadCount:    counted.ReadCount - stored.ReadCount,
		LikeCount:    counted.LikeCount - stored.LikeCount,
		DislikeCount: counted.DislikeCount - stored.DislikeCount,
		CollectCount: counted.CollectCount - stored.CollectCount,
	}
	return r.flush()
}

// Folder takes a row: tenant, user and folder id, how many such folders exist,
// and its items as stored and as counted.
func (r *Recount) Folder(scan func(...any) error) error {
	d := storage.Difference{Count: "itemCount"}
	var exist int64
	if err := scan(&d.Folder.Owner.Tenant, &d.Folder.Owner.UserID, &d.Folder.FolderID, &exist, &d.Stored, &d.Counted); err != nil {
		return err
	}
	r.Compared++
	if exist > 0 && d.Stored == d.Counted {
		return nil
	}
	if exist == 0 {
		d.Count = "folder"
	}
	r.Misplaced(r.damage(), d.Folder, d.Counted-d.Stored, exist > 0)
	if err := r.Report(d); err != nil {
		return err
	}
	return r.flush()
}

func (r *Recount) flush() error {
	if d := r.damage(); len(d.Subjects)+len(d.Folders)+len(d.Homeless) < RepairBatch {
		return nil
	}
	return r.End()
}

// End mends what is left.
func (r *Recount) End() error {
	full := r.damage()
	r.found = nil
	return r.Mend(full)
}
