package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ovation/storage"
)

// actions returns a message with reads. Some reads are followed by a reaction or a
// collection.
func (d *demo) actions(context.Context, storage.Store) (m storage.Message, err error) {
	for range reads {
		user := d.somebody()
		subject := d.subjects[d.popular.Uint64()].Subject
		at := d.ago()
		m.Actions = append(m.Actions, storage.Action{
			User: user, Subject: subject, Kind: storage.KindRead, Times: 1, First: storage.Micros(at), Version: storage.Micros(at),
		})
		// The next action follows within five minutes of the read.
		later := storage.Micros(at.Add(time.Duration(d.random.IntN(300)) * time.Second))
		later = min(later, storage.Micros(d.now))
		switch chance := d.random.Float64(); {
		case chance < 0.30:
			m.Actions = append(m.Actions, storage.Action{
				User: user, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: later,
			})
		case chance < 0.34:
			m.Actions = append(m.Actions, storage.Action{
				User: user, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Dislike, Version: later,
			})
		case chance < 0.44:
			m.Actions = append(m.Actions, storage.Action{
				User: user, Subject: subject, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID, Version: later,
			})
		}
	}
	return m, nil
}

// folders creates folders, and returns a message that collects items into them. A line of
// the file has the owner, the number of items, the visibility, the name and the
// description.
func (d *demo) folders(ctx context.Context, store storage.Store) (m storage.Message, err error) {
	for i, line := range lines("folders") {
		field := strings.Split(line, "|")
		for j := range field {
			field[j] = strings.TrimSpace(field[j])
		}
		items, err := strconv.Atoi(field[1])
		if err != nil {
			return m, err
		}
		folder, err := d.folder(ctx, store, storage.Folder{
			Owner: named(field[0]), Name: field[3], Description: field[4], Public: field[2] == "public",
			Created: storage.Micros(d.now.Add(-month)),
		})
		if err != nil {
			return m, err
		}
		for n := range items {
			m.Actions = append(m.Actions, storage.Action{
				User: folder.Owner, Subject: d.subjects[(i*17+n*5)%len(d.subjects)].Subject, Kind: storage.KindCollection,
				FolderID: folder.FolderID, Version: storage.Micros(d.now.Add(-time.Duration(n) * time.Hour)),
			})
		}
	}
	return m, nil
}

// folder creates a folder. If an interrupted start of the program has already created it,
// folder returns the existing folder.
func (d *demo) folder(ctx context.Context, store storage.Store, folder storage.Folder) (*storage.Folder, error) {
	made, err := store.CreateFolder(ctx, folder)
	if !errors.Is(err, storage.ErrNameTaken) {
		return made, err
	}
	lists, err := store.ListFolders(ctx, []storage.FoldersQuery{{Owner: folder.Owner, Page: storage.Page{First: storage.MaxFolders}}})
	if err != nil {
		return nil, err
	}
	for _, f := range lists[0].Entries {
		if f.Name == folder.Name {
			return &f, nil
		}
	}
	return nil, fmt.Errorf("folder %q: %w", folder.Name, storage.ErrNotFound)
}

// follows returns a message with follows between users. The most active users have the
// most followers. The viewers have friends: they follow their friends, and their friends
// follow them.
func (d *demo) follows(context.Context, storage.Store) (m storage.Message, err error) {
	follow := func(user, other int) {
		if user == other {
			return
		}
		m.Actions = append(m.Actions, storage.Action{
			User: d.user(user), Subject: d.user(other).Subject(), Kind: storage.KindFollow, Following: true, Version: storage.Micros(d.ago()),
		})
	}
	for n := range users {
		for range d.random.IntN(12) {
			follow(n, int(d.active.Uint64()))
		}
	}
	for n := range viewers {
		for other := n + 1; other < friends; other += 1 + d.random.IntN(3) {
			follow(n, other)
			follow(other, n)
		}
	}
	return m, nil
}

// authors returns a message that declares the author of every subject.
func (d *demo) authors(context.Context, storage.Store) (m storage.Message, err error) {
	for _, s := range d.subjects {
		at := d.now.Add(-month - time.Duration(d.random.Int64N(int64(month))).Truncate(time.Hour))
		m.Actions = append(m.Actions, storage.Action{
			User: storage.User{Tenant: s.Tenant}, Subject: s.Subject, Kind: storage.KindAuthor, Author: d.user(s.author).UserID,
			Version: storage.Micros(at),
		})
	}
	return m, nil
}

// messages sends the messages of the file of chats, whose lines have the sender, the
// recipient and the text. It marks all messages as read except the last two.
func (d *demo) messages(ctx context.Context, store storage.Store) (m storage.Message, err error) {
	chats := lines("chats")
	said := make([]storage.NewDirectMessage, 0, len(chats))
	for i, line := range chats {
		who, text, _ := strings.Cut(line, ": ")
		from, to, _ := strings.Cut(who, " > ")
		said = append(said, storage.NewDirectMessage{From: named(from), To: named(to), Text: text, RequestID: "demo-message-" + strconv.Itoa(i)})
	}
	unread := len(said) - 2
	added, err := addMessages(ctx, store, said[:unread])
	if err != nil {
		return m, err
	}
	for _, one := range added {
		if _, err := store.MarkRead(ctx, storage.ConversationKey{Owner: one.To, With: one.From}, one.Number); err != nil {
			return m, err
		}
	}
	_, err = addMessages(ctx, store, said[unread:])
	return m, err
}

func addMessages(ctx context.Context, store storage.Store, messages []storage.NewDirectMessage) ([]*storage.DirectMessage, error) {
	added, err := store.AddMessages(ctx, messages)
	if err != nil {
		return nil, err
	}
	out := make([]*storage.DirectMessage, len(added))
	for i, a := range added {
		if a.Err != nil {
			return nil, a.Err
		}
		out[i] = a.Message
	}
	return out, nil
}
