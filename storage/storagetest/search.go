package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"ovation/storage"
)

// foundNames returns the names of the users whom a search finds, which it reads in pages.
func (w *world) foundNames(tenant, text string, first int) (names []string) {
	w.Helper()
	page := storage.Page{First: first}
	for range 1000 {
		got, err := w.s.SearchUsers(w.Context(), []storage.SearchQuery{{Tenant: tenant, Text: text, Page: page}})
		w.must(err)
		for _, f := range got[0].Entries {
			names = append(names, w.profile(f.User).Name)
			page.After = f.Place()
		}
		if (got[0].Resume != storage.Position{}) {
			page.After = got[0].Resume
		} else if len(got[0].Entries) < first {
			return names
		}
	}
	w.Fatal("got 1000 pages of a search, want a short one as the last")
	return nil
}

// foundTitles returns the titles of the videos that a search finds, which it reads in
// pages.
func (w *world) foundTitles(tenant, text string, first int) (titles []string) {
	w.Helper()
	page := storage.Page{First: first}
	for range 1000 {
		got, err := w.s.SearchVideos(w.Context(), []storage.SearchQuery{{Tenant: tenant, Text: text, Page: page}})
		w.must(err)
		for _, f := range got[0].Entries {
			w.equal("the tenant of a video", f.Video.Author.Tenant, tenant)
			titles = append(titles, f.Video.Title)
			page.After = f.Place()
		}
		if (got[0].Resume != storage.Position{}) {
			page.After = got[0].Resume
		} else if len(got[0].Entries) < first {
			return titles
		}
	}
	w.Fatal("got 1000 pages of a search, want a short one as the last")
	return nil
}

// finds checks what a search for titles finds.
func (w *world) finds(text string, want ...string) {
	w.Helper()
	w.equal(fmt.Sprintf("titles with %q", text), w.foundTitles(storage.DefaultTenant, text, 10), want)
}

// findsUsers checks what a search for names finds.
func (w *world) findsUsers(text string, want ...string) {
	w.Helper()
	w.equal(fmt.Sprintf("names with %q", text), w.foundNames(storage.DefaultTenant, text, 10), want)
}

func searchesFindWords(w *world) {
	alice := user("alice")
	piano := w.publish(newVideo(alice, "A Cat plays the Piano"))
	creme := w.publish(newVideo(alice, "Crème brûlée, catalogue of cats: CATS!"))
	chinese := w.publish(newVideo(alice, "我们的小猫在弹钢琴 part2"))
	w.publish(newVideo(alice, "🎬🎬🎬"))
	w.finds("cat", piano.Title, creme.Title) // whole words first, each title once
	w.finds("CA", piano.Title, creme.Title)
	w.finds("cats", creme.Title)
	w.finds("ＰＩＡＮＯ cat", piano.Title)
	w.finds("creme BRULEE", creme.Title)
	w.finds("cat dog")
	w.finds("at")
	w.finds("小猫", chinese.Title)
	w.finds("猫", chinese.Title)
	w.finds("琴", chinese.Title)
	w.finds("我们的小猫在弹钢琴", chinese.Title)
	w.finds("PART2小猫", chinese.Title)
	w.finds("我们小猫")
	w.finds("a'; DROP TABLE search_word;--")

	anna := w.register("Anna Müller")
	w.register("annabelle")
	w.register("陈小雨")
	w.findsUsers("ann", "Anna Müller", "annabelle")
	w.findsUsers("muller anna", "Anna Müller")
	w.findsUsers("小雨", "陈小雨")
	w.findsUsers("piano")

	for _, text := range []string{"", " \u200b ", "!!", "a b c d e f", strings.Repeat("a", storage.MaxSearchRunes+1), "a\x00", "a\xff"} {
		_, err := w.s.SearchUsers(w.Context(), []storage.SearchQuery{{Tenant: storage.DefaultTenant, Text: text, Page: storage.Page{First: 1}}})
		w.wantError(fmt.Sprintf("a search for %q", text), err, storage.ErrInvalid)
		_, err = w.s.SearchVideos(w.Context(), []storage.SearchQuery{{Tenant: storage.DefaultTenant, Text: text, Page: storage.Page{First: 1}}})
		w.wantError(fmt.Sprintf("a search for %q", text), err, storage.ErrInvalid)
	}
	w.equal("names in another tenant", w.foundNames("other", "anna", 10), nil)
	w.equal("titles in another tenant", w.foundTitles("other", "cat", 10), nil)
	w.equal("names in an impossible tenant", w.foundNames("a\x00", "anna", 10), nil)
	got, err := w.s.SearchUsers(w.Context(), []storage.SearchQuery{
		{Tenant: storage.DefaultTenant, Text: "none", Page: storage.Page{First: 5}},
		{Tenant: storage.DefaultTenant, Text: "anna", Page: storage.Page{First: 1}},
	})
	w.must(err)
	w.equal("the results of two queries", []int{len(got[0].Entries), len(got[1].Entries)}, []int{0, 1})
	w.equal("the user found", got[1].Entries[0].User, anna.User)
}

// searchesFollowChanges checks that the index changes with what it is of.
func searchesFollowChanges(w *world) {
	erin := w.register("Erin Rose")
	rename := func(name string) {
		w.Helper()
		_, err := w.s.UpdateProfile(w.Context(), erin.User, storage.ProfileChange{Name: &name, NameKey: strings.ToLower(name)})
		w.must(err)
	}
	rename("Erin Thorn")
	w.findsUsers("rose")
	w.findsUsers("thorn erin", "Erin Thorn")
	signature := "Rose"
	_, err := w.s.UpdateProfile(w.Context(), erin.User, storage.ProfileChange{Signature: &signature})
	w.must(err)
	w.findsUsers("rose")
	w.register("rose")
	taken := "Rose"
	_, err = w.s.UpdateProfile(w.Context(), erin.User, storage.ProfileChange{Name: &taken, NameKey: "rose"})
	w.wantError("a name that is taken", err, storage.ErrAccountNameTaken)
	w.findsUsers("rose", "rose")

	v := w.publish(newVideo(erin.User, "Thorny film"))
	w.finds("film", "Thorny film")
	w.must(w.deleteVideo(v, erin.User))
	w.finds("film")
	w.must(w.s.BeginErase(w.Context(), erin.User))
	w.findsUsers("thorn")
	_, err = Erase(w.Context(), w.s, erin.User, 10, nil)
	w.must(err)
	w.findsUsers("erin")
	w.wantForgotten("thorn", "erin", "film")
}

// searchesArePaged pages through results of which many are skipped.
func searchesArePaged(w *world) {
	all := make([]string, 0, 40)
	var red []string
	for i := range cap(all) {
		title := fmt.Sprintf("film %d fi", i)
		if i%10 == 3 {
			title = fmt.Sprintf("film %d red film", i)
			red = append(red, title)
		}
		w.publish(newVideo(user("alice"), title))
		all = append(all, title)
	}
	slices.Reverse(all)
	slices.Reverse(red)
	for _, first := range []int{1, 7, 40, 100} {
		w.equal(fmt.Sprint("two words, in pages of ", first), w.foundTitles(storage.DefaultTenant, "film red", first), red)
		w.equal(fmt.Sprint("one word, in pages of ", first), w.foundTitles(storage.DefaultTenant, "film", first), all)
		w.equal(fmt.Sprint("how many begin with a letter, in pages of ", first), len(w.foundTitles(storage.DefaultTenant, "f", first)), len(all))
	}
	got, err := w.s.SearchVideos(w.Context(), []storage.SearchQuery{{Tenant: storage.DefaultTenant, Text: "film"}})
	w.must(err)
	w.equal("a page of no results", len(got[0].Entries), 0)

	// Rows of which nothing is left are skipped, too, a bounded number in each page.
	w.db.Edit(w.T, `DELETE FROM video`)
	w.equal("titles of deleted videos", w.foundTitles(storage.DefaultTenant, "film red", 10), nil)
	rows := make([]string, storage.MaxListScan)
	for i := range rows {
		rows[i] = fmt.Sprintf("('default', 2, 'movie', %d)", -(i + 1))
	}
	w.db.Edit(w.T, `INSERT INTO search_word (tenant, kind, word, place) VALUES `+strings.Join(rows, ", "))
	got, err = w.s.SearchVideos(w.Context(), []storage.SearchQuery{{Tenant: storage.DefaultTenant, Text: "movie a", Page: storage.Page{First: 10}}})
	w.must(err)
	w.equal("where the next page begins", got[0].Resume, storage.Position{Version: 1, ID: "movie"})
}

// indexLacksNothing checks that what is not in the index is added: of another release, or
// restored.
func indexLacksNothing(w *world) {
	alice, bob := w.register("Alice"), w.register("Bob")
	w.publish(newVideo(alice.User, "First film"))
	w.db.Edit(w.T, `DELETE FROM search_word`)
	w.db.Edit(w.T, `UPDATE account SET indexed = ''`)
	w.db.Edit(w.T, `UPDATE video SET indexed = (1 = 0)`)
	w.restore(&storage.Archive{
		Accounts: []storage.Account{{User: user("5"), Profile: storage.Profile{Name: "Carol"}, NameKey: "carol", Password: "x", Generation: 1, Created: 5}},
		Videos:   []storage.Video{{Author: user("5"), Number: 5, Title: "Second film", File: "0123456789abcdef", Format: storage.MP4, Bytes: 1, Created: 5}},
	})
	w.findsUsers("alice")
	name := "Robert"
	_, err := w.s.UpdateProfile(w.Context(), bob.User, storage.ProfileChange{Name: &name, NameKey: "robert"})
	w.must(err)
	w.findsUsers("robert", "Robert")
	w.db.Edit(w.T, `UPDATE account SET name = 'Bert' WHERE name = 'Robert'`) // as an earlier release does

	var wait sync.WaitGroup
	for _, s := range []storage.Store{w.s, w.open()} {
		wait.Go(func() {
			for range 100 {
				switch n, err := s.IndexNext(w.Context(), 1); {
				case err != nil:
					w.Errorf("IndexNext: %v", err)
					return
				case n == 0:
					return
				}
			}
			w.Error("IndexNext has added 100 times, want less")
		})
	}
	wait.Wait()
	n, err := w.s.IndexNext(w.Context(), 10)
	w.must(err)
	w.equal("what the index lacks in the end", n, 0)
	w.findsUsers("alice", "Alice")
	w.findsUsers("carol", "Carol")
	w.findsUsers("bert", "Bert")
	w.findsUsers("robert")
	w.finds("film", "First film", "Second film")
}
