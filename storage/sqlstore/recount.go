package sqlstore

import "ovation/storage"

// RepairBatch is the maximum number of wrong rows held in memory before they are
// repaired.
const RepairBatch = 1000

// Discrepancies holds the results of a recount. Tally, Comments, Replies and Unread hold
// the amounts by which stored counts must be adjusted.
type Discrepancies struct {
	Tally

	// Owners maps the owners of folders with wrong item counts to a time in microseconds
	// since 1970. If an owner's default folder is missing, it is created with this
	// creation time.
	Owners         map[storage.User]int64
	MissingFolders []storage.FolderKey // folders that hold items but do not exist
	// In Comments, Version is not an amount but the highest version of a comment.
	Comments map[storage.Subject]storage.CommentCount
	Replies  map[storage.CommentKey]int64
	Likes    []storage.CommentKey // comments whose copy of the like count is wrong
	Unread   map[storage.ConversationKey]int64
	Numbers  map[Pair]bool     // conversations with wrong numbers of messages
	Unswept  []storage.Subject // deleted subjects that are not queued for a sweep
}

// Recount compares stored counts with the rows that they count.
type Recount struct {
	// Report is called for each difference.
	Report func(storage.Difference) error
	// Repair repairs the discrepancies found since the last repair.
	Repair func(*Discrepancies) error
	// NoteFolder adds a folder to the discrepancies in found. The parameter delta is the
	// amount that must be added to the folder's item count. If the folder holds items
	// but is itself missing, exists is false.
	NoteFolder func(found *Discrepancies, folder storage.FolderKey, delta int64, exists bool)
	// Compared is the number of counts compared.
	Compared int64

	found *Discrepancies
}

// discrepancies returns the discrepancies found since the last repair.
func (r *Recount) discrepancies() *Discrepancies {
	if r.found == nil {
		r.found = &Discrepancies{
			Tally: NewTally(), Owners: map[storage.User]int64{},
			Comments: map[storage.Subject]storage.CommentCount{}, Replies: map[storage.CommentKey]int64{},
			Unread: map[storage.ConversationKey]int64{}, Numbers: map[Pair]bool{},
		}
	}
	return r.found
}

// Subject receives a row: tenant, biz and bizId, then reads, readers, likes, dislikes,
// collections and followers, each as stored and as counted.
func (r *Recount) Subject(scan func(...any) error) error {
	var s storage.Subject
	var stored, counted storage.Counts
	if err := scan(&s.Tenant, &s.Biz, &s.BizID, &stored.ReadCount, &counted.ReadCount,
		&stored.ReaderCount, &counted.ReaderCount,
		&stored.LikeCount, &counted.LikeCount, &stored.DislikeCount, &counted.DislikeCount,
		&stored.CollectCount, &counted.CollectCount, &stored.FollowerCount, &counted.FollowerCount); err != nil {
		return err
	}
	r.Compared += storage.CountsPerSubject
	if stored == counted {
		return nil
	}
	for _, d := range [storage.CountsPerSubject]storage.Difference{
		{Subject: s, Count: "readCount", Stored: stored.ReadCount, Counted: counted.ReadCount},
		{Subject: s, Count: "readerCount", Stored: stored.ReaderCount, Counted: counted.ReaderCount},
		{Subject: s, Count: "likeCount", Stored: stored.LikeCount, Counted: counted.LikeCount},
		{Subject: s, Count: "dislikeCount", Stored: stored.DislikeCount, Counted: counted.DislikeCount},
		{Subject: s, Count: "collectCount", Stored: stored.CollectCount, Counted: counted.CollectCount},
		{Subject: s, Count: "followerCount", Stored: stored.FollowerCount, Counted: counted.FollowerCount},
	} {
		if d.Stored == d.Counted {
			continue
		}
		if err := r.Report(d); err != nil {
			return err
		}
	}
	*r.discrepancies().subject(s) = storage.Counts{
		ReadCount:     counted.ReadCount - stored.ReadCount,
		ReaderCount:   counted.ReaderCount - stored.ReaderCount,
		LikeCount:     counted.LikeCount - stored.LikeCount,
		DislikeCount:  counted.DislikeCount - stored.DislikeCount,
		CollectCount:  counted.CollectCount - stored.CollectCount,
		FollowerCount: counted.FollowerCount - stored.FollowerCount,
	}
	return r.flush()
}

// Folder receives a row: tenant, user and folder id, how many such folders exist, and the
// number of items as stored and as counted.
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
	r.NoteFolder(r.discrepancies(), d.Folder, d.Counted-d.Stored, exist > 0)
	if err := r.Report(d); err != nil {
		return err
	}
	return r.flush()
}

// Comments receives a row: the tenant, biz and bizId of a subject, the number of the
// subject's comments as stored and as counted, the stored version of these comments, and
// the highest version of any of them.
func (r *Recount) Comments(scan func(...any) error) error {
	var s storage.Subject
	count, version := storage.Difference{Count: "commentCount"}, storage.Difference{Count: "commentVersion"}
	if err := scan(&s.Tenant, &s.Biz, &s.BizID, &count.Stored, &count.Counted, &version.Stored, &version.Counted); err != nil {
		return err
	}
	r.Compared += 2
	var wrong []storage.Difference
	if count.Stored != count.Counted {
		wrong = append(wrong, count)
	}
	if version.Stored < version.Counted {
		wrong = append(wrong, version)
	}
	if len(wrong) == 0 {
		return nil
	}
	r.discrepancies().Comments[s] = storage.CommentCount{Comments: count.Counted - count.Stored, Version: version.Counted}
	for _, d := range wrong {
		d.Subject = s
		if err := r.Report(d); err != nil {
			return err
		}
	}
	return r.flush()
}

// Comment receives a row: the tenant and id of a comment, the number of the comment's
// replies as stored and as counted, the comment's copy of the like count and the like
// count itself, and two flags (1 or 0) for whether the comment is listed and whether it
// should be.
func (r *Recount) Comment(scan func(...any) error) error {
	var key storage.CommentKey
	replies, likes, listed := storage.Difference{Count: "replyCount"}, storage.Difference{Count: "topCount"}, storage.Difference{Count: "listed"}
	if err := scan(&key.Tenant, &key.CommentID, &replies.Stored, &replies.Counted,
		&likes.Stored, &likes.Counted, &listed.Stored, &listed.Counted); err != nil {
		return err
	}
	r.Compared += 3
	if replies.Stored != replies.Counted || listed.Stored != listed.Counted { // adjusting the reply count also corrects listed
		r.discrepancies().Replies[key] = replies.Counted - replies.Stored
	}
	if likes.Stored != likes.Counted {
		r.discrepancies().Likes = append(r.discrepancies().Likes, key)
	}
	for _, d := range []storage.Difference{replies, likes, listed} {
		if d.Stored == d.Counted {
			continue
		}
		d.Subject = key.Subject()
		if err := r.Report(d); err != nil {
			return err
		}
	}
	return r.flush()
}

// Totals receives a row: tenant and id of a user, then likes, following, collections,
// comments, works and likes received, each as stored and as counted.
func (r *Recount) Totals(scan func(...any) error) error {
	var u storage.User
	var stored, counted storage.UserTotals
	if err := scan(&u.Tenant, &u.UserID, &stored.Likes, &counted.Likes, &stored.Following, &counted.Following,
		&stored.Collections, &counted.Collections, &stored.Comments, &counted.Comments,
		&stored.Works, &counted.Works, &stored.LikesReceived, &counted.LikesReceived); err != nil {
		return err
	}
	r.Compared += storage.TotalsPerUser
	if stored == counted {
		return nil
	}
	for _, d := range [storage.TotalsPerUser]storage.Difference{
		{User: u, Count: "likes", Stored: stored.Likes, Counted: counted.Likes},
		{User: u, Count: "following", Stored: stored.Following, Counted: counted.Following},
		{User: u, Count: "collections", Stored: stored.Collections, Counted: counted.Collections},
		{User: u, Count: "comments", Stored: stored.Comments, Counted: counted.Comments},
		{User: u, Count: "works", Stored: stored.Works, Counted: counted.Works},
		{User: u, Count: "likesReceived", Stored: stored.LikesReceived, Counted: counted.LikesReceived},
	} {
		if d.Stored == d.Counted {
			continue
		}
		if err := r.Report(d); err != nil {
			return err
		}
	}
	*r.discrepancies().user(u) = storage.UserTotals{
		Likes:         counted.Likes - stored.Likes,
		Following:     counted.Following - stored.Following,
		Collections:   counted.Collections - stored.Collections,
		Comments:      counted.Comments - stored.Comments,
		Works:         counted.Works - stored.Works,
		LikesReceived: counted.LikesReceived - stored.LikesReceived,
	}
	return r.flush()
}

// Conversation receives a row: tenant, owner and the other user, the number of the
// owner's unread messages as stored and as counted, and the number of all messages that
// the owner has received, as the latest of them is numbered and as counted.
func (r *Recount) Conversation(scan func(...any) error) error {
	var of storage.ConversationKey
	unread, received := storage.Difference{Count: "unread"}, storage.Difference{Count: "received"}
	if err := scan(&of.Owner.Tenant, &of.Owner.UserID, &of.With.UserID, &unread.Stored, &unread.Counted, &received.Stored, &received.Counted); err != nil {
		return err
	}
	of.With.Tenant = of.Owner.Tenant
	r.Compared += 2
	if unread.Stored != unread.Counted {
		r.discrepancies().Unread[of] = unread.Counted - unread.Stored
	}
	if received.Stored != received.Counted {
		r.discrepancies().Numbers[PairOf(of)] = true
	}
	for _, d := range []storage.Difference{unread, received} {
		if d.Stored == d.Counted {
			continue
		}
		d.Conversation = of
		if err := r.Report(d); err != nil {
			return err
		}
	}
	return r.flush()
}

// Unswept receives a row: tenant, biz and bizId of a deleted subject that is not queued for
// a sweep, although it is not marked or something refers to it.
func (r *Recount) Unswept(scan func(...any) error) error {
	d := storage.Difference{Count: "deleted", Counted: 1}
	if err := scan(&d.Subject.Tenant, &d.Subject.Biz, &d.Subject.BizID); err != nil {
		return err
	}
	r.discrepancies().Unswept = append(r.discrepancies().Unswept, d.Subject)
	if err := r.Report(d); err != nil {
		return err
	}
	return r.flush()
}

func (r *Recount) flush() error {
	d := r.discrepancies()
	if len(d.Subjects)+len(d.Users)+len(d.Folders)+len(d.MissingFolders)+len(d.Comments)+len(d.Replies)+len(d.Likes)+len(d.Unread)+len(d.Numbers)+len(d.Unswept) < RepairBatch {
		return nil
	}
	return r.Finish()
}

// Finish repairs the remaining discrepancies.
func (r *Recount) Finish() error {
	full := r.discrepancies()
	r.found = nil
	return r.Repair(full)
}
