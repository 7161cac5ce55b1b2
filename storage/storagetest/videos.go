package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ovation/storage"
)

// newVideo returns a video of the default tenant with a file of its own.
func newVideo(author storage.User, title string) storage.NewVideo {
	file := fmt.Sprintf("file%x%x", title, author.UserID)
	return storage.NewVideo{
		Author: author, Title: title, File: (file + strings.Repeat("0", 16))[:max(16, min(len(file), 64))],
		Format: storage.MP4, Bytes: 1000, Digest: "digest of " + title,
	}
}

func (w *world) publish(v storage.NewVideo) *storage.Video {
	w.Helper()
	out, _, err := w.s.PublishVideo(w.Context(), v, nil)
	w.must(err)
	return out.Video
}

func (w *world) deleteVideo(v *storage.Video, by storage.User) error {
	_, _, err := w.s.DeleteVideo(w.Context(), storage.VideoDeletion{Key: v.Key(), By: by}, nil)
	return err
}

func (w *world) videoOf(key storage.VideoKey) *storage.Video {
	w.Helper()
	got, err := w.s.VideosOf(w.Context(), []storage.VideoKey{key})
	w.must(err)
	return got[0]
}

// feed returns the titles of the videos in a tenant's feed, which it reads in pages.
func (w *world) feed(tenant string, first int) (titles []string) {
	w.Helper()
	page := storage.Page{First: first}
	for range 1000 {
		got, err := w.s.Feed(w.Context(), []storage.FeedQuery{{Tenant: tenant, Page: page}})
		w.must(err)
		for _, v := range got[0].Entries {
			w.equal("the tenant of a video", v.Author.Tenant, tenant)
			titles = append(titles, v.Title)
			page.After = v.Place()
		}
		if len(got[0].Entries) < first {
			return titles
		}
	}
	w.Fatal("got 1000 pages of a feed, want a short one as the last")
	return nil
}

// userVideos returns the titles of the latest videos of each user.
func (w *world) userVideos(first int, of ...storage.User) (titles [][]string) {
	w.Helper()
	queries := make([]storage.UserVideosQuery, len(of))
	for i := range of {
		queries[i] = storage.UserVideosQuery{User: of[i], Page: storage.Page{First: first}}
	}
	got, err := w.s.UserVideos(w.Context(), queries)
	w.must(err)
	titles = make([][]string, len(got))
	for i := range got {
		for _, v := range got[i].Entries {
			titles[i] = append(titles[i], v.Title)
		}
	}
	return titles
}

func publishedVideosAreStoredUnchanged(w *world) {
	alice := user("alice")
	v := w.publish(newVideo(alice, "  A film\u200f of <b>'\"; DROP TABLE video;--</b> "))
	w.equal("the video published", *v, storage.Video{
		Author: alice, Number: v.Number, Title: "A film\u200f of <b>'\"; DROP TABLE video;--</b>", File: v.File,
		Format: storage.MP4, Bytes: 1000, Created: v.Created,
	})
	if v.Number <= 0 || v.Number >= storage.MaxCommentID {
		w.Errorf("got the number %d, want 1 to %d", v.Number, storage.MaxCommentID-1)
	}
	w.equal("the video stored", w.videoOf(v.Key()), v)
	got, err := w.s.Interactives(w.Context(), alice, []storage.Subject{v.Key().Subject()}, storage.AllKinds)
	w.must(err)
	w.equal("the author of the subject", got[0].AuthorID, "alice")
	w.equal("works", w.totals(alice), storage.UserTotals{Works: 1})
	w.persist(like(user("bob"), v.Key().Subject(), v.Created))
	w.equal("likes received", w.totals(alice), storage.UserTotals{Works: 1, LikesReceived: 1})
	w.verified()

	var last int64
	for i := range 50 {
		v := w.publish(newVideo(alice, fmt.Sprint("film ", i)))
		if v.Number <= last {
			w.Fatalf("number %d was assigned after %d, want a higher one", v.Number, last)
		}
		last = v.Number
	}
	for _, key := range []storage.VideoKey{
		{}, {Tenant: storage.DefaultTenant}, {Tenant: storage.DefaultTenant, Number: -1}, {Tenant: storage.DefaultTenant, Number: last + 1}, {Tenant: "other", Number: last},
	} {
		w.equal(fmt.Sprint("the video ", key), w.videoOf(key), nil)
	}
}

func videosAreChecked(w *world) {
	for name, change := range map[string]func(*storage.NewVideo){
		"no title":         func(v *storage.NewVideo) { v.Title = " \u200b " },
		"a long title":     func(v *storage.NewVideo) { v.Title = strings.Repeat("x", storage.MaxTitleRunes+1) },
		"a title with NUL": func(v *storage.NewVideo) { v.Title = "a\x00b" },
		"broken UTF-8":     func(v *storage.NewVideo) { v.Title = "a\xff" },
		"no author":        func(v *storage.NewVideo) { v.Author.UserID = "" },
		"no tenant":        func(v *storage.NewVideo) { v.Author.Tenant = "" },
		"a path":           func(v *storage.NewVideo) { v.File = "../../../../etc/passwd" },
		"no file":          func(v *storage.NewVideo) { v.File = "" },
		"no format":        func(v *storage.NewVideo) { v.Format = 0 },
		"no bytes":         func(v *storage.NewVideo) { v.Bytes = 0 },
		"a long request":   func(v *storage.NewVideo) { v.RequestID = strings.Repeat("x", storage.MaxRequestIDBytes+1) },
	} {
		v := newVideo(user("alice"), "film")
		change(&v)
		if _, _, err := w.s.PublishVideo(w.Context(), v, nil); !errors.Is(err, storage.ErrInvalid) {
			w.Errorf("%s: got %v, want %v", name, err, storage.ErrInvalid)
		}
	}
	w.equal("videos in the feed", len(w.feed(storage.DefaultTenant, 10)), 0)
	w.publish(newVideo(user("alice"), strings.Repeat("ü", storage.MaxTitleRunes)))
}

func feedsAreNewestFirst(w *world) {
	titles := make([]string, 0, 25)
	for i := range 25 {
		titles = append(titles, fmt.Sprint("film ", i))
		w.publish(newVideo(user([]string{"alice", "bob"}[i%2]), titles[i]))
	}
	slices.Reverse(titles)
	for _, first := range []int{1, 7, 25, 100} {
		w.equal(fmt.Sprint("the feed in pages of ", first), w.feed(storage.DefaultTenant, first), titles)
	}
	w.equal("videos of users", w.userVideos(2, user("bob"), user("carol"), user("alice"), user("bob\x00")),
		[][]string{{"film 23", "film 21"}, nil, {"film 24", "film 22"}, nil})
	w.equal("a page of no videos", w.userVideos(0, user("bob")), [][]string{nil})

	// Videos that are published or deleted between two pages do not move other entries.
	page, err := w.s.Feed(w.Context(), []storage.FeedQuery{{Tenant: storage.DefaultTenant, Page: storage.Page{First: 10}}})
	w.must(err)
	w.publish(newVideo(user("carol"), "the latest"))
	seen := page[0].Entries
	w.must(w.deleteVideo(&seen[9], seen[9].Author)) // the last entry of the page
	page, err = w.s.Feed(w.Context(), []storage.FeedQuery{{Tenant: storage.DefaultTenant, Page: storage.Page{First: 10, After: seen[9].Place()}}})
	w.must(err)
	for i, v := range page[0].Entries {
		w.equal("the next page", v.Title, titles[10+i])
	}
}

func repeatedPublicationsPublishOnce(w *world) {
	v := newVideo(user("alice"), "film")
	v.RequestID = "upload-1"
	first, outcome, err := w.s.PublishVideo(w.Context(), v, nil)
	w.must(err)
	w.equal("subjects changed by the first publication", len(outcome.Counts), 1)
	again := v
	again.File = "anotheruploadofthesame"
	second, outcome, err := w.s.PublishVideo(w.Context(), again, func(context.Context, storage.Outcome) error {
		w.Error("a repeated publication called mark, want no call")
		return nil
	})
	w.must(err)
	w.equal("the second publication is repeated", second.Repeated, true)
	w.equal("the video of the repeated publication", second.Video, first.Video)
	w.equal("subjects changed by the repeated publication", len(outcome.Counts), 0)
	other := again
	other.Digest = "digest of another file"
	_, _, err = w.s.PublishVideo(w.Context(), other, nil)
	w.wantError("another file by the same request", err, storage.ErrInvalid)
	bobs := again
	bobs.Author = user("bob")
	w.equal("the author of the same request by another user", w.publish(bobs).Author, user("bob"))
	w.equal("works", w.totals(user("alice")).Works, int64(1))

	w.must(w.deleteVideo(first.Video, user("alice")))
	_, _, err = w.s.PublishVideo(w.Context(), again, nil)
	w.wantError("repeating the request of a deleted video", err, storage.ErrInvalid)

	// Concurrent requests with the same id.
	other1, racing := w.open(), newVideo(user("carol"), "race")
	racing.RequestID = "upload-2"
	var wait sync.WaitGroup
	published := make([]storage.PublishedVideo, 8)
	failed := make([]error, len(published))
	for i := range published {
		s := []storage.Store{w.s, other1}[i%2]
		wait.Go(func() {
			failed[i] = UntilUnlocked(func() (err error) {
				published[i], _, err = s.PublishVideo(w.Context(), racing, nil)
				return err
			})
		})
	}
	wait.Wait()
	fresh := 0
	for i, p := range published {
		w.must(failed[i])
		w.equal("the video of the race", p.Video.Number, published[0].Video.Number)
		if !p.Repeated {
			fresh++
		}
	}
	w.equal("publications that are not repeated", fresh, 1)
	w.equal("works of the race", w.totals(user("carol")).Works, int64(1))
	w.verified()
}

func authorsAndModeratorsDeleteVideos(w *world) {
	alice, bob := user("alice"), user("bob")
	v := w.publish(newVideo(alice, "film"))
	kept := w.publish(newVideo(alice, "kept"))
	subject := v.Key().Subject()
	w.persist(like(bob, subject, v.Created), like(bob, kept.Key().Subject(), v.Created))
	w.wantError("deleting another user's video", w.deleteVideo(v, bob), storage.ErrNotFound)
	w.wantError("deleting from another tenant", w.deleteVideo(v, storage.User{Tenant: "other", UserID: "alice"}), storage.ErrNotFound)
	_, _, err := w.s.DeleteVideo(w.Context(), storage.VideoDeletion{Key: v.Key(), By: storage.User{Tenant: "other", UserID: "x"}, Moderates: true}, nil)
	w.wantError("moderating from another tenant", err, storage.ErrNotFound)
	w.equal("the video after refused deletions", w.videoOf(v.Key()), v)

	deleted, outcome, err := w.s.DeleteVideo(w.Context(), storage.VideoDeletion{Key: v.Key(), By: alice}, nil)
	w.must(err)
	w.equal("the video returned by its deletion", deleted, v)
	w.equal("the subject that changed", outcome.Counts[0].Subject, subject)
	w.equal("the author afterwards", outcome.Counts[0].AuthorID, "")
	w.equal("the deleted video", w.videoOf(v.Key()), nil)
	w.equal("the feed", w.feed(storage.DefaultTenant, 10), []string{"kept"})
	w.equal("totals", w.totals(alice), storage.UserTotals{Works: 1, LikesReceived: 1})
	w.wantError("deleting a deleted video", w.deleteVideo(v, alice), storage.ErrNotFound)

	// A moderator deletes the video although its author was declared with a later
	// version.
	w.persist(declare(kept.Key().Subject(), "alice", kept.Created+1_000_000_000_000))
	_, _, err = w.s.DeleteVideo(w.Context(), storage.VideoDeletion{Key: kept.Key(), By: bob, Moderates: true}, nil)
	w.must(err)
	w.equal("totals after the deletions", w.totals(alice), storage.UserTotals{})
	w.verified()
}

func publicationsAreMarked(w *world) {
	alice, refused := user("alice"), errors.New("refused")
	no := func(context.Context, storage.Outcome) error { return refused }
	_, _, err := w.s.PublishVideo(w.Context(), newVideo(alice, "film"), no)
	w.wantError("PublishVideo whose mark fails", err, refused)
	w.equal("videos in the feed", len(w.feed(storage.DefaultTenant, 10)), 0)
	w.equal("totals", w.totals(alice), storage.UserTotals{})
	var marked storage.Outcome
	v, outcome, err := w.s.PublishVideo(w.Context(), newVideo(alice, "film"), func(_ context.Context, o storage.Outcome) error {
		marked = o
		return nil
	})
	w.must(err)
	w.equal("the counts passed to mark", marked.Counts, outcome.Counts)
	_, _, err = w.s.DeleteVideo(w.Context(), storage.VideoDeletion{Key: v.Video.Key(), By: alice}, no)
	w.wantError("DeleteVideo whose mark fails", err, refused)
	w.equal("the video after a deletion that was refused", w.videoOf(v.Video.Key()), v.Video)
	w.equal("totals after a deletion that was refused", w.totals(alice), storage.UserTotals{Works: 1})
}

func videosAreWalledOff(w *world) {
	alice, twin := user("alice"), storage.User{Tenant: "other", UserID: "alice"}
	v := w.publish(newVideo(alice, "film"))
	w.equal("videos in the feed of another tenant", len(w.feed("other", 10)), 0)
	w.equal("videos of the user of that id in another tenant", w.userVideos(10, twin), [][]string{nil})
	w.equal("the video with that number in another tenant", w.videoOf(storage.VideoKey{Tenant: "other", Number: v.Number}), nil)
	theirs := w.publish(newVideo(twin, "theirs"))
	w.equal("the feed", w.feed(storage.DefaultTenant, 10), []string{"film"})
	w.wantError("deleting another tenant's video", w.deleteVideo(theirs, alice), storage.ErrNotFound)
	w.equal("videos of both users", w.userVideos(10, alice, twin), [][]string{{"film"}, {"theirs"}})
}

// videoNumbersAreNotReused checks that the number of a video that was lost in a restore
// is not assigned to another video: likes of the lost video may still be queued, and
// clients may have the video cached.
func videoNumbersAreNotReused(w *world) {
	lost := w.publish(newVideo(user("alice"), "lost"))
	w.db.Edit(w.T, `DELETE FROM video`)
	w.db.Edit(w.T, `DELETE FROM interactive`)
	w.db.Edit(w.T, `DELETE FROM user_totals`)
	for i := range 3 {
		if v := w.publish(newVideo(user("bob"), fmt.Sprint("new ", i))); v.Number <= lost.Number {
			w.Errorf("number %d was assigned after %d, want a higher one", v.Number, lost.Number)
		}
	}
	w.verified()
}

func filesOfVideosAreNamed(w *world) {
	v, gone := w.publish(newVideo(user("alice"), "film")), w.publish(newVideo(user("alice"), "gone"))
	w.must(w.deleteVideo(gone, user("alice")))
	got, err := w.s.NamedFiles(w.Context(), []string{"unknown", v.File, gone.File, "", "a\x00b", "../x", v.File})
	w.must(err)
	w.equal("files that a video names", got, []bool{false, true, false, false, false, false, true})
	got, err = w.s.NamedFiles(w.Context(), nil)
	w.must(err)
	w.equal("results for no files", len(got), 0)
}

// dueCoversAreShared makes many covers of one author due, before one of another author.
func dueCoversAreShared(w *world) {
	for i := range 30 {
		w.publish(newVideo(user("alice"), fmt.Sprint("film ", i)))
	}
	other := w.publish(newVideo(user("bob"), "another"))
	w.db.Edit(w.T, `UPDATE video SET cover_due = 1 WHERE user_id = 'alice'`)
	w.db.Edit(w.T, `UPDATE video SET cover_due = 2 WHERE user_id = 'bob'`)
	due := func(limit int) []storage.VideoKey {
		got, err := w.s.DueCovers(w.Context(), limit)
		w.must(err)
		return got
	}
	got := due(100)
	w.equal("due covers taken", len(got), storage.CoverShare(100)+1)
	w.equal("the other author's cover is among them", slices.Contains(got, other.Key()), true)
	w.equal("due covers after all were taken or postponed", len(due(100)), 0)
	// The covers beyond the share are due in the next five minutes, five in each.
	w.db.Edit(w.T, `UPDATE video SET cover_due = CASE WHEN cover_due < created + 180000000 THEN 1 ELSE cover_due END`)
	w.equal("due covers of the next two minutes", len(due(200)), 10)
	w.db.Edit(w.T, `UPDATE video SET cover_due = 1`)
	w.equal("due covers when all are due", len(due(1000)), 31)
}

func coversAreTriedThreeTimes(w *world) {
	v, never := w.publish(newVideo(user("alice"), "film")), w.publish(newVideo(user("alice"), "never"))
	due := func(limit int) []storage.VideoKey {
		got, err := w.s.DueCovers(w.Context(), limit)
		w.must(err)
		return got
	}
	w.equal("covers due at once", len(due(10)), 0)
	w.db.Edit(w.T, `UPDATE video SET cover_due = 1`)
	w.equal("due covers taken one by one", len(due(1)), 1)
	w.equal("due covers left", len(due(10)), 1)
	w.equal("due covers after all were taken", len(due(10)), 0)

	there, err := w.s.SetCover(w.Context(), v.Key())
	w.must(err)
	w.equal("SetCover finds the video", there, true)
	w.equal("the video is covered", w.videoOf(v.Key()).Covered, true)
	_, err = w.s.FailCover(w.Context(), v.Key(), storage.CoverFailure{Reason: "late", Counts: true})
	w.wantError("FailCover of a video with a cover", err, storage.ErrNotFound)

	fail := func(reason string, counts bool, want int) {
		tries, err := w.s.FailCover(w.Context(), never.Key(), storage.CoverFailure{Reason: reason, Counts: counts, Due: 1})
		w.must(err)
		w.equal("tries of the cover", tries, want)
	}
	fail("no ffmpeg", false, 0)
	w.equal("covers due again", due(10), []storage.VideoKey{never.Key()})
	fail("one", true, 1)
	fail("two", true, 2)
	w.equal("covers still due", due(10), []storage.VideoKey{never.Key()})
	fail("three \xff\x00"+strings.Repeat("é", storage.MaxCoverReasonBytes), true, 3)
	w.equal("due covers after it was dead-lettered", len(due(10)), 0)
	reason, deadLettered, err := w.s.CoverReason(w.Context(), never.Key())
	w.must(err)
	w.equal("the cover is dead-lettered", deadLettered, true)
	if !strings.HasPrefix(reason, "three ??é") || len(reason) > storage.MaxCoverReasonBytes {
		w.Errorf("got the reason %q, want one that begins with %q, of at most %d bytes", reason, "three ??é", storage.MaxCoverReasonBytes)
	}

	missing := storage.VideoKey{Tenant: storage.DefaultTenant, Number: 1}
	there, err = w.s.SetCover(w.Context(), missing)
	w.must(err)
	w.equal("SetCover finds an unknown video", there, false)
	_, err = w.s.FailCover(w.Context(), missing, storage.CoverFailure{})
	w.wantError("FailCover of an unknown video", err, storage.ErrNotFound)
}
