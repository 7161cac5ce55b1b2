package storagetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"ovation/storage"
)

// concurrentCommentersAgree has users add, edit, delete and like comments concurrently,
// through two stores, while readers follow the changes.
func concurrentCommentersAgree(w *world) {
	const writers, rounds = 8, 15
	stores := []storage.Store{w.s, w.open()}
	subjects := []storage.Subject{video("0"), video("1")}
	var group, following sync.WaitGroup
	done := make(chan struct{})
	followed := make([]map[int64]storage.Comment, len(subjects)) // by id
	for i, s := range subjects {
		following.Go(func() { followed[i] = w.follow(stores[1], s, done) })
	}
	for n := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 1)) //nolint:gosec // the same numbers in every run
			for round := range rounds {
				// The stores take turns: on one SQLite file, a store may wait too long for one that
				// never pauses.
				if err := w.talk(stores[(n+round)%2], random, user(fmt.Sprint("user", n)), subjects, fmt.Sprint(n, "-", round)); err != nil {
					w.Errorf("writer %d: %v", n, err)
				}
			}
		})
	}
	group.Wait()
	close(done)
	following.Wait()
	w.verified()
	ids := map[int64]bool{}
	for i, s := range subjects {
		all, err := w.s.CommentChanges(w.Context(), storage.CommentChangesQuery{Subject: s, First: 10_000})
		w.must(err)
		alive := int64(0)
		for _, c := range all {
			if ids[c.Number] {
				w.Errorf("two comments have the id %d, want an id each", c.Number)
			}
			ids[c.Number] = true
			if !c.Deleted() {
				alive++
			}
			last := followed[i][c.Number]
			last.LikeCount, last.ReplyCount = c.LikeCount, c.ReplyCount // changes to these counts do not change the version
			w.equal("what was followed of "+c.CommentID(), last, c)
		}
		w.equal("comments", w.commentCount(s).Comments, alive)
		w.equal("comments followed", len(followed[i]), len(all))
	}
}

// follow reads the changes to a subject's comments until done is closed, and then once
// more.
func (w *world) follow(s storage.Store, of storage.Subject, done <-chan struct{}) map[int64]storage.Comment {
	seen, at := map[int64]storage.Comment{}, int64(0)
	for last := false; ; {
		var got []storage.Comment
		err := Repeat(storage.ErrUnavailable, time.Minute, func() (err error) { // writers can keep the database busy
			got, err = s.CommentChanges(w.Context(), storage.CommentChangesQuery{Subject: of, Version: at, First: 7})
			return err
		})
		if err != nil {
			w.Errorf("CommentChanges after version %d: %v", at, err)
			return seen
		}
		for _, c := range got {
			seen[c.Number], at = c, c.Version
		}
		if len(got) > 0 {
			continue
		}
		if last {
			return seen
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
}

// talk performs one random operation on comments.
func (w *world) talk(s storage.Store, random *rand.Rand, me storage.User, subjects []storage.Subject, text string) error {
	subject := subjects[random.IntN(len(subjects))]
	lists, err := s.ListComments(w.Context(), []storage.CommentsQuery{
		{Subject: subject, Order: storage.Top, Page: storage.Page{First: 5}},
	})
	if err != nil {
		return err
	}
	some := lists[0].Entries
	if len(some) == 0 || random.IntN(3) == 0 {
		return UntilUnlocked(func() error {
			_, err := s.AddComments(w.Context(), []storage.NewComment{
				{Subject: subjects[1], User: me, Text: text}, {Subject: subjects[0], User: me, Text: text, RequestID: text},
			})
			return err
		})
	}
	one := some[random.IntN(len(some))]
	change := storage.CommentChange{Key: one.Key(), By: me, Moderates: true}
	switch random.IntN(5) {
	case 4:
		m := storage.Message{ID: "past-" + text, Actions: []storage.Action{React(me, one.Key().Subject(), storage.Like, int64(1+random.IntN(1000)))}}
		for i := range 3 {
			at := time.Date(2016, 1, 1, 0, 0, random.IntN(2), 0, time.UTC)
			m.Comments = append(m.Comments, past(me, subjects[random.IntN(len(subjects))], fmt.Sprint("past ", text, " ", i), at))
		}
		_, err = s.Persist(w.Context(), []storage.Message{m}, nil)
	case 0:
		err = UntilUnlocked(func() error {
			_, err := s.AddComments(w.Context(), []storage.NewComment{{Subject: subject, User: me, Text: "re " + text, ParentID: one.Number}})
			return err
		})
	case 1:
		err = UntilUnlocked(func() error {
			_, err := s.EditComment(w.Context(), change, "edited "+text)
			return err
		})
	case 2:
		if random.IntN(2) == 0 { // the replies are sometimes deleted first
			lists, err = s.ListComments(w.Context(), []storage.CommentsQuery{
				{Subject: subject, Parent: one.Number, Order: storage.Oldest, Page: storage.Page{First: 1}},
			})
			for i := range lists {
				for _, reply := range lists[i].Entries {
					change.Key = reply.Key()
				}
			}
		}
		if err == nil {
			err = UntilUnlocked(func() error {
				_, err := s.DeleteComment(w.Context(), change)
				return err
			})
		}
	default:
		id := "like-" + text
		_, err = s.Persist(w.Context(), []storage.Message{{ID: id, Actions: []storage.Action{
			React(me, one.Key().Subject(), storage.Reaction(random.IntN(3)), int64(1+random.IntN(1000))),
		}}}, nil)
	}
	if errors.Is(err, storage.ErrNotFound) { // another user may have deleted the comment
		return nil
	}
	return err
}
