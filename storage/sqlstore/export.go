package sqlstore

import "ovation/storage"

// ArchiveWriter collects elements for Archives.Export, and passes each full Archive on.
type ArchiveWriter struct {
	Tenant string
	Each   func(*storage.Archive) error
	part   storage.Archive
}

// add appends one element to the archive. The parameter err is the error of scanning it.
// A row whose values make two elements fits, because an archive is passed on early enough.
func (w *ArchiveWriter) add(err error) error {
	if err != nil || w.part.Len() <= storage.ArchivePart-maxPerRow {
		return err
	}
	return w.Flush()
}

// maxPerRow is the maximum number of elements that one row makes: those of actionsOf.
const maxPerRow = 3

// Flush passes on what has been collected. It is called after each list.
func (w *ArchiveWriter) Flush() error {
	if w.part.Len() == 0 {
		return nil
	}
	err := w.Each(&w.part)
	w.part = storage.Archive{}
	return err
}

// The methods below receive a row of one list each. The columns are those that the
// comments name.

// Account receives account_id, name, name_key, password, avatar, background, signature,
// generation and created.
func (w *ArchiveWriter) Account(scan func(...any) error) error {
	var a storage.Account
	var id int64
	err := scan(&id, &a.Name, &a.NameKey, &a.Password, &a.Avatar, &a.Background, &a.Signature, &a.Generation, &a.Created)
	a.User = storage.KeyUser(w.Tenant, id)
	w.part.Accounts = append(w.part.Accounts, a)
	return w.add(err)
}

// Folder receives user_id, folder_id, name, description, public, created and updated.
func (w *ArchiveWriter) Folder(scan func(...any) error) error {
	f := storage.Folder{Owner: storage.User{Tenant: w.Tenant}}
	err := scan(&f.Owner.UserID, &f.FolderID, &f.Name, &f.Description, &f.Public, &f.Created, &f.Updated)
	w.part.Folders = append(w.part.Folders, f)
	return w.add(err)
}

// Deleted receives biz, biz_id, deleted and authored.
func (w *ArchiveWriter) Deleted(scan func(...any) error) error {
	d := storage.DeletedMark{Subject: storage.Subject{Tenant: w.Tenant}}
	err := scan(&d.Subject.Biz, &d.Subject.BizID, &d.At, &d.Since)
	w.part.Deleted = append(w.part.Deleted, d)
	return w.add(err)
}

// Comment receives biz, biz_id, comment_id, reply_to, user_id, text, created, edited,
// edited_by and deleted.
func (w *ArchiveWriter) Comment(scan func(...any) error) error {
	c := storage.Comment{Subject: storage.Subject{Tenant: w.Tenant}, User: storage.User{Tenant: w.Tenant}}
	err := scan(&c.Subject.Biz, &c.Subject.BizID, &c.Number, &c.ParentID, &c.User.UserID, &c.Text, &c.Created, &c.Edited, &c.EditorID, &c.DeletedAt)
	w.part.Comments = append(w.part.Comments, c)
	return w.add(err)
}

// Video receives video_id, user_id, title, file, format, bytes, covered and created.
func (w *ArchiveWriter) Video(scan func(...any) error) error {
	v := storage.Video{Author: storage.User{Tenant: w.Tenant}}
	err := scan(&v.Number, &v.Author.UserID, &v.Title, &v.File, &v.Format, &v.Bytes, &v.Covered, &v.Created)
	w.part.Videos = append(w.part.Videos, v)
	return w.add(err)
}

// Author receives biz, biz_id, author and authored.
func (w *ArchiveWriter) Author(scan func(...any) error) error {
	a := declaration(storage.Subject{Tenant: w.Tenant}, "", 0)
	err := scan(&a.Subject.Biz, &a.Subject.BizID, &a.Author, &a.Version)
	w.part.Actions = append(w.part.Actions, a)
	return w.add(err)
}

// key returns the key of a state, to be scanned into.
func (w *ArchiveWriter) key() storage.StateKey {
	return storage.StateKey{User: storage.User{Tenant: w.Tenant}, Subject: storage.Subject{Tenant: w.Tenant}}
}

// Reaction receives user_id, biz, biz_id, state, version and the versions of the
// conditional clears of a like and of a dislike.
func (w *ArchiveWriter) Reaction(scan func(...any) error) error {
	key, r := w.key(), storage.Register{}
	err := scan(&key.User.UserID, &key.Subject.Biz, &key.Subject.BizID, &r.Value, &r.Set, &r.Clears[0], &r.Clears[1])
	w.part.Actions = actionsOf(w.part.Actions, key, r)
	return w.add(err)
}

// Collection receives user_id, biz, biz_id, state and version.
func (w *ArchiveWriter) Collection(scan func(...any) error) error {
	key := w.key()
	a := storage.Action{Kind: storage.KindCollection}
	err := scan(&key.User.UserID, &key.Subject.Biz, &key.Subject.BizID, &a.FolderID, &a.Version)
	a.User, a.Subject = key.User, key.Subject
	w.part.Actions = append(w.part.Actions, a)
	return w.add(err)
}

// Follow receives user_id, biz, biz_id, state and version.
func (w *ArchiveWriter) Follow(scan func(...any) error) error {
	key := w.key()
	a, state := storage.Action{Kind: storage.KindFollow}, int64(0)
	err := scan(&key.User.UserID, &key.Subject.Biz, &key.Subject.BizID, &state, &a.Version)
	a.User, a.Subject, a.Following = key.User, key.Subject, state == 1
	w.part.Actions = append(w.part.Actions, a)
	return w.add(err)
}

// Read receives user_id, biz, biz_id, times, first_read and version.
func (w *ArchiveWriter) Read(scan func(...any) error) error {
	key, r := w.key(), storage.Read{}
	err := scan(&key.User.UserID, &key.Subject.Biz, &key.Subject.BizID, &r.Times, &r.First, &r.Last)
	r.User, r.Subject = key.User, key.Subject
	w.part.Reads = append(w.part.Reads, r)
	return w.add(err)
}

// Message receives user_low, user_high, message_id, from_low, text and created.
func (w *ArchiveWriter) Message(scan func(...any) error) error {
	pair := Pair{storage.User{Tenant: w.Tenant}, storage.User{Tenant: w.Tenant}}
	var row MessageRow
	err := scan(append([]any{&pair.Low.UserID, &pair.High.UserID}, row.Columns()...)...)
	w.part.Messages = append(w.part.Messages, row.Of(pair))
	return w.add(err)
}

// ReadMark receives user_id, peer_id and read_to.
func (w *ArchiveWriter) ReadMark(scan func(...any) error) error {
	r := storage.ReadMark{Conversation: storage.ConversationKey{Owner: storage.User{Tenant: w.Tenant}, With: storage.User{Tenant: w.Tenant}}}
	err := scan(&r.Conversation.Owner.UserID, &r.Conversation.With.UserID, &r.UpTo)
	w.part.ReadMarks = append(w.part.ReadMarks, r)
	return w.add(err)
}

// Import receives id.
func (w *ArchiveWriter) Import(scan func(...any) error) error {
	var id string
	err := scan(&id)
	w.part.Imports = append(w.part.Imports, id)
	return w.add(err)
}

// actionsOf appends the actions that lead to a register.
func actionsOf(to []storage.Action, key storage.StateKey, r storage.Register) []storage.Action {
	a := storage.Action{User: key.User, Subject: key.Subject, Kind: storage.KindReaction, Reaction: r.Value, Version: r.Set}
	// A reaction that a clear removed is no longer known. The clear is above Set, so that it
	// removes whichever reaction an unconditional clear stands for.
	if r.Set > 0 {
		to = append(to, a)
	}
	for _, of := range []storage.Reaction{storage.Like, storage.Dislike} {
		if at := r.Clears.Of(of); at > r.Set {
			to = append(to, storage.Action{User: key.User, Subject: key.Subject, Kind: storage.KindReaction, If: of, Version: at})
		}
	}
	return to
}
