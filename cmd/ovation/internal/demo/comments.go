package demo

import (
	"context"
	"slices"
	"strconv"
	"time"

	"ovation/storage"
)

// discussion is a thread on a subject, with those who say it.
type discussion struct {
	thread

	on      storage.Subject
	id      string         // the prefix of its request ids
	by      storage.User   // the author of the comment
	maker   storage.User   // the author of the subject
	another []storage.User // the authors of the other replies
}

// comments adds comments and replies, and returns a message with likes of the comments
// and replies. The comments date from the start of the program, because the store assigns
// their times.
func (d *demo) comments(ctx context.Context, store storage.Store) (m storage.Message, err error) {
	said, err := discuss(ctx, store, d.discussions())
	if err != nil {
		return m, err
	}
	m.Actions = d.likes(said, month)
	return m, nil
}

// discussions returns what is said about videos and articles, in a random order. The more
// popular a subject is, the more of the threads of its topic it has.
func (d *demo) discussions() (all []discussion) {
	c := newCatalogue()
	for rank, s := range d.subjects {
		own, shared := c.about(s.Biz, s.number)
		shared = slices.Clone(shared)
		d.random.Shuffle(len(shared), func(i, j int) { shared[i], shared[j] = shared[j], shared[i] })
		most := []int{8, 6, 4, 3, 2, 1}[min(rank/4, 5)]
		all = append(all, d.meet(s.Subject, d.user(s.author), slices.Concat(own, shared[:min(most, len(shared))]))...)
	}
	d.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// meet gives each thread on a subject its speakers: as many people as possible.
func (d *demo) meet(on storage.Subject, maker storage.User, threads []thread) (all []discussion) {
	crowd := slices.DeleteFunc(d.crowd(), func(u storage.User) bool { return u == maker })
	next := func() storage.User {
		u := crowd[0]
		crowd = append(crowd[1:], u)
		return u
	}
	for i, t := range threads {
		one := discussion{thread: t, on: on, id: "demo-" + on.Biz + "-" + on.BizID + "-" + strconv.Itoa(i), by: next(), maker: maker}
		for range t.replies {
			one.another = append(one.another, next())
		}
		all = append(all, one)
	}
	return all
}

// discuss adds comments, then the replies to them, and returns all of them.
func discuss(ctx context.Context, store storage.Store, all []discussion) ([]*storage.Comment, error) {
	comments := make([]storage.NewComment, len(all))
	for i, one := range all {
		comments[i] = storage.NewComment{Subject: one.on, User: one.by, Text: one.text, RequestID: one.id}
	}
	said, err := addComments(ctx, store, comments)
	if err != nil {
		return nil, err
	}
	var replies []storage.NewComment
	for i, one := range all {
		for j, reply := range one.replies {
			by := one.another[j]
			switch reply[:len(byFirst)] {
			case byFirst:
				by = one.by
			case byTheMaker:
				by = one.maker
			}
			replies = append(replies, storage.NewComment{
				Subject: one.on, ParentID: said[i].Number, User: by, Text: reply[len(byFirst):], RequestID: one.id + "-" + strconv.Itoa(j),
			})
		}
	}
	answers, err := addComments(ctx, store, replies)
	return slices.Concat(said, answers), err
}

// likes returns likes of comments within a time up to now.
func (d *demo) likes(of []*storage.Comment, within time.Duration) (actions []storage.Action) {
	for _, c := range of {
		for range d.random.IntN(1 + d.random.IntN(14)) {
			actions = append(actions, storage.Action{
				User: d.somebody(), Subject: c.Key().Subject(), Kind: storage.KindReaction, Reaction: storage.Like,
				Version: storage.Micros(d.now.Add(-time.Duration(d.random.Int64N(int64(within))))),
			})
		}
	}
	return actions
}

func addComments(ctx context.Context, store storage.Store, comments []storage.NewComment) ([]*storage.Comment, error) {
	added, err := store.AddComments(ctx, comments)
	if err != nil {
		return nil, err
	}
	out := make([]*storage.Comment, len(added))
	for i, a := range added {
		if a.Err != nil {
			return nil, a.Err
		}
		out[i] = a.Comment
	}
	return out, nil
}
