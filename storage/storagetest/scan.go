package storagetest

import (
	"fmt"
	"slices"
	"strconv"

	"ovation/storage"
)

// scattered is the number of rows in a history in which most rows are of one biz and a
// few are of another. The oldest row has version 1.
const scattered = 3*storage.MaxListScan + 50

// wanted holds the versions of the few rows of the other biz, newest first: the newest
// row, the last row that is examined for the first page, the row after that, some
// adjacent rows and the oldest row.
var wanted = []int64{
	scattered, scattered - storage.MaxListScan + 1, scattered - storage.MaxListScan, 700, 699, 698, 697, 696, 1,
}

// listsOfOneBizExamineBoundedRows pages through lists of one biz in a history that is
// mostly of another biz. Pages may be short, but nothing is lost or repeated, and no page
// examines more rows than Page.MaxScan.
func listsOfOneBizExamineBoundedRows(w *world) {
	alice := user("alice")
	var actions []storage.Action
	for v := int64(1); v <= scattered; v++ {
		subject := storage.Subject{Tenant: storage.DefaultTenant, Biz: "article", BizID: strconv.FormatInt(v, 10)}
		if slices.Contains(wanted, v) {
			subject.Biz = "video"
		}
		actions = append(actions, like(alice, subject, v), read(alice, subject, 1, v, v), follow(alice, subject, v))
	}
	w.persist(actions...)
	versionOfLike := func(l storage.Liked) int64 { return l.Version }
	versionOfFollow := func(f storage.Followed) int64 { return f.Version }
	versionOfRead := func(r storage.Read) int64 { return r.Last }
	for _, first := range []int{1, 3, 100, storage.MaxListScan + 10} {
		pageThrough(w, fmt.Sprint("likes in pages of ", first), first, versionOfLike, func(p storage.Page) ([]storage.ListPage[storage.Liked], error) {
			return w.s.Likes(w.Context(), []storage.LikesQuery{{User: alice, Biz: "video", Page: p}})
		})
		pageThrough(w, fmt.Sprint("reads in pages of ", first), first, versionOfRead, func(p storage.Page) ([]storage.ListPage[storage.Read], error) {
			return w.s.Reads(w.Context(), []storage.ReadsQuery{{User: alice, Biz: "video", Page: p}})
		})
		pageThrough(w, fmt.Sprint("following in pages of ", first), first, versionOfFollow, func(p storage.Page) ([]storage.ListPage[storage.Followed], error) {
			return w.s.Following(w.Context(), []storage.FollowingQuery{{User: alice, Biz: "video", Page: p}})
		})
	}
	// A list of all kinds of content is never cut short.
	all, err := w.s.Reads(w.Context(), []storage.ReadsQuery{{User: alice, Page: storage.Page{First: scattered + 1}}})
	w.must(err)
	w.equal("rows of the whole history, and where it resumes", []any{len(all[0].Entries), all[0].Resume}, []any{scattered, storage.Position{}})
}

func pageThrough[E any](
	w *world, name string, first int, version func(E) int64, list func(storage.Page) ([]storage.ListPage[E], error),
) {
	w.Helper()
	var got []int64
	page, from := storage.Page{First: first}, int64(scattered+1)
	for range scattered {
		answer, err := list(page)
		w.must(err)
		entries, resume := answer[0].Entries, answer[0].Resume
		for _, e := range entries {
			got = append(got, version(e))
			page.After = storage.Position{Version: version(e), Biz: "video", ID: strconv.FormatInt(version(e), 10)}
		}
		full := len(entries) == first
		switch {
		case len(entries) > first, full && resume != storage.Position{}:
			w.Fatalf("%s: got a page of %d that resumes at %+v, want at most %d entries, and a position only if fewer", name, len(entries), resume, first)
		case !full && resume == storage.Position{}:
			w.equal(name, got, wanted)
			return
		case !full:
			if examined := from - resume.Version; examined > int64(page.MaxScan()) {
				w.Errorf("%s: a page examined %d rows, want at most %d", name, examined, page.MaxScan())
			}
			page.After = resume
		}
		from = page.After.Version
	}
	w.Fatalf("%s: got %d pages, want a short one as the last", name, scattered)
}
