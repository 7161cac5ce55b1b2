package archive

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"ovation/storage"
)

// add appends the element of a line to the archive. Errors state what is wrong with the
// line.
func (r *reader) add(to *storage.Archive, l *line) error {
	user := storage.User{Tenant: r.header.Tenant, UserID: l.User}
	subject := storage.Subject{Tenant: r.header.Tenant, Biz: l.Biz, BizID: l.BizID}
	var err error
	switch l.Type {
	case typeAccount:
		var a storage.Account
		a, err = r.account(l)
		to.Accounts = append(to.Accounts, a)
	case typeFolder:
		to.Folders = append(to.Folders, storage.Folder{
			Owner: user, FolderID: l.ID, Name: l.Name, Description: l.Description, Public: l.Public, Created: int64(l.Time), Updated: int64(l.Updated),
		})
	case typeDeleted:
		to.Deleted = append(to.Deleted, storage.DeletedMark{Subject: subject, At: int64(l.Time), Since: int64(l.Since)})
	case typeComment:
		c := storage.Comment{
			Subject: subject, User: user, Text: l.Text, Created: int64(l.Time), Edited: int64(l.Edited), EditorID: l.Editor, DeletedAt: int64(l.Deleted),
		}
		c.Number, err = parseNumber("id", l.ID)
		if err == nil && l.ReplyTo != "" {
			c.ParentID, err = parseNumber("replyTo", l.ReplyTo)
		}
		to.Comments = append(to.Comments, c)
	case typeVideo:
		v := storage.Video{
			Author: user, Title: l.Title, File: l.File, Format: formatOf(l.Format), Bytes: l.Bytes, Covered: l.Covered, Created: int64(l.Time),
		}
		v.Number, err = parseNumber("id", l.ID)
		to.Videos = append(to.Videos, v)
	case typeRead:
		to.Reads = append(to.Reads, storage.Read{User: user, Subject: subject, Times: l.Times, First: int64(l.Time), Last: int64(l.Last)})
	case typeMessage:
		m := storage.DirectMessage{
			From: storage.User{Tenant: user.Tenant, UserID: l.From}, To: storage.User{Tenant: user.Tenant, UserID: l.To}, Text: l.Text, Created: int64(l.Time),
		}
		m.Number, err = parseNumber("id", l.ID)
		to.Messages = append(to.Messages, m)
	case typeReadMark:
		m := storage.ReadMark{Conversation: storage.ConversationKey{Owner: user, With: storage.User{Tenant: user.Tenant, UserID: l.With}}}
		m.UpTo, err = parseNumber("upTo", l.UpTo)
		to.ReadMarks = append(to.ReadMarks, m)
	case typeImport:
		to.Imports = append(to.Imports, l.ID)
	default:
		a := storage.Action{User: user, Subject: subject, Version: int64(l.Time)}
		if !setAction(&a, l) {
			return fmt.Errorf("has the type %q, which this release does not know", clip(l.Type))
		}
		if l.Type == typeCollect && l.Folder == "" {
			return errors.New("has no folder")
		}
		to.Actions = append(to.Actions, a)
	}
	return err
}

// setAction sets the kind and the values of an action. It returns false if the line's type
// is that of no action.
func setAction(a *storage.Action, l *line) bool {
	a.Kind = storage.KindReaction
	switch l.Type {
	case typeLike:
		a.Reaction = storage.Like
	case typeDislike:
		a.Reaction = storage.Dislike
	case typeClear:
	case typeUnlike:
		a.If = storage.Like
	case typeUndislike:
		a.If = storage.Dislike
	case typeCollect:
		a.Kind, a.FolderID = storage.KindCollection, l.Folder
	case typeUncollect:
		a.Kind = storage.KindCollection
	case typeFollow, typeUnfollow:
		a.Kind, a.Following = storage.KindFollow, l.Type == typeFollow
	case typeAuthor:
		a.Kind, a.Author = storage.KindAuthor, l.Author
	default:
		return false
	}
	return true
}

func (r *reader) account(l *line) (storage.Account, error) {
	a := storage.Account{
		User:    storage.User{Tenant: r.header.Tenant, UserID: l.ID},
		Profile: storage.Profile{Name: l.Name, Avatar: l.Avatar, Background: l.Background, Signature: l.Signature},
		NameKey: l.Key, Password: l.Password, Generation: l.Generation, Created: int64(l.Time),
	}
	if a.NameKey == "" {
		key, err := r.accounts.NameKey(l.Name)
		if err != nil {
			return a, fmt.Errorf("has a name that no account can have: %w", err)
		}
		a.NameKey = key
	}
	if a.Password == "" {
		a.Password = r.accounts.Unmatched
	} else if err := r.accounts.CheckHash(a.Password); err != nil {
		return a, errors.New("has a password that is no hash of this program") // without the hash
	}
	return a, nil
}

func parseNumber(member, text string) (int64, error) {
	n, ok := storage.ParseCommentID(text)
	if !ok {
		return 0, fmt.Errorf("has %s for %s: it must be a positive number below 2^53, as a text", strconv.Quote(clip(text)), member)
	}
	return n, nil
}

func formatOf(extension string) storage.VideoFormat {
	formats := []storage.VideoFormat{storage.MP4, storage.WebM, storage.QuickTime}
	at := slices.IndexFunc(formats, func(f storage.VideoFormat) bool { return f.Extension() == extension })
	if at < 0 {
		return 0
	}
	return formats[at]
}
