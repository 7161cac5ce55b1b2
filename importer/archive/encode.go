package archive

import "ovation/storage"

// appendLines appends the lines of an Archive.
func (e *exporter) appendLines(to []line, part *storage.Archive) []line {
	for i := range part.Accounts {
		to = append(to, e.account(&part.Accounts[i]))
	}
	for _, f := range part.Folders {
		to = append(to, line{
			Type: typeFolder, User: f.Owner.UserID, ID: f.FolderID, Name: f.Name, Description: f.Description, Public: f.Public,
			Time: micros(f.Created), Updated: micros(f.Updated),
		})
	}
	for _, d := range part.Deleted {
		to = append(to, line{Type: typeDeleted, Biz: d.Subject.Biz, BizID: d.Subject.BizID, Time: micros(d.At), Since: micros(d.Since)})
	}
	for i := range part.Comments {
		to = append(to, commentLine(&part.Comments[i]))
	}
	for i := range part.Videos {
		v := &part.Videos[i]
		to = append(to, line{
			Type: typeVideo, ID: v.VideoID(), User: v.Author.UserID, Title: v.Title, File: v.File, Format: v.Format.Extension(),
			Bytes: v.Bytes, Covered: v.Covered, Time: micros(v.Created),
		})
	}
	for i := range part.Actions {
		to = append(to, actionLine(&part.Actions[i]))
	}
	for _, r := range part.Reads {
		to = append(to, line{
			Type: typeRead, User: r.User.UserID, Biz: r.Subject.Biz, BizID: r.Subject.BizID, Times: r.Times, Time: micros(r.First), Last: micros(r.Last),
		})
	}
	for _, m := range part.Messages {
		to = append(to, line{Type: typeMessage, ID: number(m.Number), From: m.From.UserID, To: m.To.UserID, Text: m.Text, Time: micros(m.Created)})
	}
	for _, r := range part.ReadMarks {
		to = append(to, line{Type: typeReadMark, User: r.Conversation.Owner.UserID, With: r.Conversation.With.UserID, UpTo: number(r.UpTo)})
	}
	for _, id := range part.Imports {
		to = append(to, line{Type: typeImport, ID: id})
	}
	return to
}

func (e *exporter) account(a *storage.Account) line {
	l := line{
		Type: typeAccount, ID: a.User.UserID, Name: a.Name, Avatar: a.Avatar, Background: a.Background, Signature: a.Signature,
		Generation: a.Generation, Time: micros(a.Created),
	}
	if key, err := e.NameKey(a.Name); err != nil || key != a.NameKey {
		l.Key = a.NameKey
	}
	if e.Passwords {
		l.Password = a.Password
	}
	return l
}

func commentLine(c *storage.Comment) line {
	return line{
		Type: typeComment, ID: c.CommentID(), User: c.User.UserID, Biz: c.Subject.Biz, BizID: c.Subject.BizID, ReplyTo: number(c.ParentID),
		Text: c.Text, Edited: micros(c.Edited), Editor: c.EditorID, Deleted: micros(c.DeletedAt), Time: micros(c.Created),
	}
}

func actionLine(a *storage.Action) line {
	l := line{User: a.User.UserID, Biz: a.Subject.Biz, BizID: a.Subject.BizID, Time: micros(a.Version)}
	switch a.Kind {
	case storage.KindReaction:
		l.Type = reactionType(a)
	case storage.KindCollection:
		if l.Type, l.Folder = typeCollect, a.FolderID; a.FolderID == "" {
			l.Type = typeUncollect
		}
	case storage.KindFollow:
		if l.Type = typeFollow; !a.Following {
			l.Type = typeUnfollow
		}
	case storage.KindAuthor:
		l.Type, l.Author = typeAuthor, a.Author
	case storage.KindRead: // in Archive.Reads
	}
	return l
}

func reactionType(a *storage.Action) string {
	switch {
	case a.Reaction == storage.Like:
		return typeLike
	case a.Reaction == storage.Dislike:
		return typeDislike
	case a.If == storage.Like:
		return typeUnlike
	case a.If == storage.Dislike:
		return typeUndislike
	}
	return typeClear
}
