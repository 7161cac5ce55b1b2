package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/internal/testing/seed"
	"ovation/internal/testing/sqlitetest"
	"ovation/resolvers"
	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/worker"
)

// operations is the number of operations that a test compares.
var operations = flag.Int("operations", 2000, "how many operations are compared")

// The plain writer writes what the executor would write. The test executes the same
// operations on the same data with and without the plain writer.
func TestPlainAnswersAreThoseOfTheExecutor(t *testing.T) {
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	store := &faultyReads{Store: seededDatabase(t)}
	var didPlainly, didOrdinarily countingRecorder
	plainly, ordinary := newHandlerPair(t, store, &didPlainly, &didOrdinarily)
	plain := 0
	for range *operations {
		store.trouble.Store(random.Int64N(8))
		one := generate(random)
		body, err := json.Marshal(map[string]any{"query": one.text, "variables": one.variables})
		must.Succeed(t, err)
		user := [...]string{"", "alice", "alice", "bob"}[random.IntN(4)]
		trouble := store.trouble.Load()
		didOrdinarily.start(trouble)
		want := respond(t, ordinary, user, body)
		for range 2 { // the second time, the document is cached
			didPlainly.start(trouble)
			if got := respond(t, plainly, user, body); !sameResponse(t, got, want) {
				t.Fatalf("as %q, trouble %d:\n%s\nplainly:  %s\nexecutor: %s", user, trouble, body, got, want)
			}
			if did, wanted := didPlainly.times, didOrdinarily.times; did != wanted {
				t.Fatalf("as %q, trouble %d:\n%s\nplainly %d actions, by the executor %d", user, trouble, body, did, wanted)
			}
		}
		if !bytes.Contains(want, []byte(`"errors"`)) {
			plain++
		}
	}
	if plain < *operations/4 {
		t.Errorf("%d of %d operations had answers without an error, want at least %d for a meaningful test", plain, *operations, *operations/4)
	}
}

// The plan of a cached document depends on the values of its conditions, but not on the
// order of the requests or on the viewers who send them.
func TestKnownDocumentsFollowTheirConditions(t *testing.T) {
	plainly, ordinary := newHandlerPair(t, seededDatabase(t), &countingRecorder{}, &countingRecorder{})
	const page = `query($a: Boolean!, $b: Boolean = true) { interactive(biz: "video", bizId: "1") {
		likeCount @skip(if: $a) ...@include(if: $b) { readCount likers(first: 1) @skip(if: $a) { edges { node { user { userId } } } } } liked @include(if: $a) { at } likeCount @include(if: $b) }
		viewer @skip(if: $b) { userId } }`
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 16 {
				variables := map[string]any{"a": (i+j)%2 == 0}
				if j%3 > 0 {
					variables["b"] = j%3 == 1
				}
				body, err := json.Marshal(map[string]any{"query": page, "variables": variables})
				if err != nil {
					t.Error(err)
					return
				}
				got, want := respond(t, plainly, "alice", body), respond(t, ordinary, "alice", body)
				if !bytes.Equal(got, want) || bytes.Contains(want, []byte(`"errors"`)) {
					t.Errorf("%v:\nplainly:  %s\nexecutor: %s", variables, got, want)
				}
			}
		})
	}
	all.Wait()
}

// noVideos is a Videos that deletes nothing.
type noVideos struct{}

func (noVideos) RemoveFormerAvatar(context.Context, *storage.UpdatedProfile) {}

func (noVideos) Delete(context.Context, storage.VideoDeletion) (*storage.Video, error) {
	return nil, storage.ErrNotFound
}

// A mutation of one action is answered without the executor. A mutation of several
// actions is not, because they run one after another.
func TestOneActionNeedsNoExecutor(t *testing.T) {
	s := start(t)
	fields := 0
	s.engine.AroundRootFields(func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
		fields++
		return next(ctx)
	})
	const input = `(input: {biz: "video", bizId: "1"}) { changed }`
	for _, c := range []struct {
		document string
		fields   int
	}{
		{"mutation { read" + input + "}", 0},
		{"mutation { like" + input + "}", 0},
		{"mutation { unlike" + input + "}", 0},
		{"mutation { dislike" + input + "}", 0},
		{"mutation { undislike" + input + "}", 0},
		{"mutation { collect" + input + "}", 0},
		{"mutation { uncollect" + input + "}", 0},
		{"mutation { follow" + input + "}", 0},
		{"mutation { unfollow" + input + "}", 0},
		{`mutation { a: like(input: {biz: "video", bizId: "2"}) { changed durability interactive { likeCount liked { reaction } } } }`, 0},
		{"mutation { a: like" + input + " b: unlike" + input + "}", 2},
		{`mutation { like(input: {biz: "video", bizId: 1}) { changed } }`, 0}, // an ID may be written as a number
	} {
		fields = 0
		response := firstEvent(t, s, "alice", operation{text: c.document})
		if bytes.Contains(response, []byte(`"errors"`)) || fields != c.fields {
			t.Errorf("%s: %d fields are the executor's, want %d; %s", c.document, fields, c.fields, response)
		}
	}
}

// An action that exceeds the timeout gets the same response with and without the
// executor.
func TestAnActionThatTakesTooLong(t *testing.T) {
	plainly, ordinary := newHandlerPair(t, seededDatabase(t), blockingRecorder{}, blockingRecorder{})
	body := []byte(`{"query":"mutation { a: like(input: {biz: \"video\", bizId: \"1\"}) { changed } }"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	want := respondWithin(t, ctx, ordinary, "alice", body)
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := respondWithin(t, ctx, plainly, "alice", body); !bytes.Equal(got, want) || !bytes.Contains(got, []byte(`"path":["a"]`)) {
		t.Errorf("plainly:  %s\nexecutor: %s", got, want)
	}
}

// blockingRecorder is a recorder that waits until its context ends.
type blockingRecorder struct{ resolvers.Recorder }

func (blockingRecorder) Record(ctx context.Context, _ storage.Action, _ *storage.Interactive) (worker.Recorded, error) {
	<-ctx.Done()
	return worker.Recorded{}, ctx.Err()
}

// The plain writer also writes events as the executor would write them.
func TestPlainEventsAreThoseOfTheExecutor(t *testing.T) {
	s := start(t)
	s.ok(t, "alice", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } collect(input: {biz: "video", bizId: "1"}) { changed } }`)
	random := rand.New(rand.NewPCG(seed.Of(t), 1))
	ordinary := *s
	ordinary.engine = s.ordinary
	told := 0
	for range *operations / 10 {
		one, user := generateWatch(random), [...]string{"", "alice", "bob"}[random.IntN(3)]
		got, want := firstEvent(t, s, user, one), firstEvent(t, &ordinary, user, one)
		if !sameResponse(t, got, want) {
			t.Fatalf("as %q: %+v\nplainly:  %s\nexecutor: %s", user, one, got, want)
		}
		if !bytes.Contains(want, []byte(`"errors"`)) {
			told++
		}
	}
	if told < *operations/40 {
		t.Errorf("got %d events without an error, want at least %d for a meaningful test", told, *operations/40)
	}
}

// firstEvent returns the first response of a subscription, or the errors if there is none.
func firstEvent(t *testing.T, s *service, user string, one operation) []byte {
	t.Helper()
	ctx, end := context.WithCancel(viewer.NewContext(t.Context(), storage.User{Tenant: storage.DefaultTenant, UserID: user}))
	defer end()
	ctx = graphql.StartOperationTrace(ctx)
	var response *graphql.Response
	op, errs := s.engine.CreateOperationContext(ctx, &graphql.RawParams{Query: one.text, Variables: decodedVariables(t, one.variables)})
	if errs != nil {
		response = &graphql.Response{Errors: errs}
	} else {
		responses, ctx := s.engine.DispatchOperation(ctx, op)
		response = responses(ctx)
	}
	text, err := json.Marshal(response)
	must.Succeed(t, err)
	return text
}

// decodedVariables returns variables as a transport decodes them.
func decodedVariables(t *testing.T, variables map[string]any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(variables)
	must.Succeed(t, err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	must.Succeed(t, decoder.Decode(&out))
	return out
}

// newHandlerPair returns a handler with the plain writer and one without it, for
// comparison.
func newHandlerPair(t *testing.T, store storage.Store, didPlainly, didOrdinarily resolvers.Recorder) (plainly, ordinary http.Handler) {
	t.Helper()
	auth, err := viewer.New(t.Context(), viewer.Config{DevHeaders: viewer.LocalDevHeaders})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, auth.Close()) })
	cfg := resolvers.Config{Store: store, Recorder: didPlainly, Auth: auth, Logger: slog.New(slog.DiscardHandler), Introspection: true, Federation: true, Videos: noVideos{}}
	cfg.CachedAuthors = guessedAuthors
	plainly, err = resolvers.NewHandler(t.Context(), cfg)
	must.Succeed(t, err)
	cfg.Now, cfg.Recorder, cfg.CachedAuthors = time.Now, didOrdinarily, nil
	ordinary, err = resolvers.NewOrdinaryHandler(t.Context(), cfg)
	must.Succeed(t, err)
	return plainly, ordinary
}

// guessedAuthors returns an author for each subject. Some of these authors are wrong or
// unknown.
func guessedAuthors(subjects []storage.Subject) []string {
	ids := make([]string, len(subjects))
	for i, of := range subjects {
		ids[i] = [...]string{"", "alice", "bob", "carol"}[(i+int(of.BizID[len(of.BizID)-1]))%4]
	}
	return ids
}

func respond(t *testing.T, handler http.Handler, user string, body []byte) []byte {
	t.Helper()
	return respondWithin(t, t.Context(), handler, user, body)
}

func respondWithin(t *testing.T, ctx context.Context, handler http.Handler, user string, body []byte) []byte { //nolint:revive // t stands first
	t.Helper()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/graphql", bytes.NewReader(body))
	request.RemoteAddr = "127.0.0.1:1"
	request.Header.Set("Content-Type", "application/json")
	if user != "" {
		request.Header.Set("X-Ovation-User", user)
	}
	to := httptest.NewRecorder()
	handler.ServeHTTP(to, request)
	out, err := io.ReadAll(to.Body)
	must.Succeed(t, err)
	return out
}

var errorID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// sameResponse reports whether two responses are the same, byte for byte. It ignores the
// order of simultaneous errors and their ids.
func sameResponse(t *testing.T, a, b []byte) bool {
	t.Helper()
	if bytes.Equal(a, b) {
		return true
	}
	var all [2]struct {
		Data   json.RawMessage
		Errors []json.RawMessage
	}
	for i, text := range [][]byte{a, b} {
		must.Succeed(t, json.Unmarshal(errorID.ReplaceAll(text, []byte("ID")), &all[i]))
		slices.SortFunc(all[i].Errors, func(x, y json.RawMessage) int { return bytes.Compare(x, y) })
	}
	return bytes.Equal(all[0].Data, all[1].Data) && slices.EqualFunc(all[0].Errors, all[1].Errors, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// countingRecorder is a recorder that only counts actions. It requires that the actions
// of an operation run one after another.
type countingRecorder struct {
	trouble int64
	times   int
}

func (u *countingRecorder) start(trouble int64) { u.trouble, u.times = trouble, 0 }

func (u *countingRecorder) Record(_ context.Context, a storage.Action, _ *storage.Interactive) (worker.Recorded, error) {
	u.times++
	switch {
	case a.If == storage.Like:
		return worker.Recorded{Known: true, Changed: true, Durability: storage.Persisted}, nil
	case a.If == storage.Dislike:
		return worker.Recorded{Changed: true, Durability: storage.Queued}, nil
	case u.trouble == 5 && u.times%2 == 1:
		return worker.Recorded{}, fmt.Errorf("%w: the queue is full", storage.ErrUnavailable)
	case u.trouble == 6:
		panic("no actions today")
	}
	return worker.Recorded{Known: true, Durability: storage.Queued}, nil
}

// escapedIDs are bizIds, some of which need escaping in JSON.
var escapedIDs = []string{"1", "2", "3", `a"b`, `back\slash`, "é", "nobody's"}

// seededDatabase returns a database with actions of alice and bob.
func seededDatabase(t *testing.T) *sqlite.Store {
	t.Helper()
	db := sqlitetest.Open(t)
	var actions []storage.Action
	for i, id := range escapedIDs[:6] {
		for j, user := range []string{"alice", "bob"} {
			a := storage.Action{
				User:    storage.User{Tenant: storage.DefaultTenant, UserID: user},
				Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id}, Version: int64(1e15 + 1000*i + 100*j),
			}
			reaction, collection, read := a, a, a
			reaction.Kind, reaction.Reaction = storage.KindReaction, storage.Reaction(1+(i+j)%2)
			collection.Kind, collection.FolderID = storage.KindCollection, storage.DefaultFolderID
			read.Kind, read.Times, read.First = storage.KindRead, int64(1+i), a.Version
			actions = append(actions, reaction, read)
			if (i+j)%3 == 0 {
				actions = append(actions, collection)
			}
		}
	}
	_, err := db.Persist(t.Context(), []storage.Message{{ID: "1", Actions: actions}}, nil)
	must.Succeed(t, err)
	for i, id := range []string{"1", "1", escapedIDs[3]} {
		var parent int64
		for _, text := range []string{"a \"comment\" <b>\n\\", "a reply"} {
			added, err := db.AddComments(t.Context(), []storage.NewComment{{
				Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id}, ParentID: parent,
				User: storage.User{Tenant: storage.DefaultTenant, UserID: []string{"alice", "bob"}[i%2]}, Text: text,
			}})
			must.Succeed(t, err)
			must.Succeed(t, added[0].Err)
			parent = added[0].Comment.Number
		}
	}
	alice, bob := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, storage.User{Tenant: storage.DefaultTenant, UserID: "bob"}
	for i, title := range []string{"a \"film\" <b>\n\\", "another", "a third"} {
		_, _, err := db.PublishVideo(t.Context(), storage.NewVideo{
			Author: []storage.User{alice, bob}[i%2], Title: title, File: "abcdefghijklmnop" + strconv.Itoa(i), Format: storage.VideoFormat(1 + i), Bytes: 1,
		}, nil)
		must.Succeed(t, err)
	}
	for _, m := range []storage.NewDirectMessage{
		{From: alice, To: bob, Text: "a \"message\" <b>\n\\"},
		{From: bob, To: alice, Text: "an answer"},
		{From: storage.User{Tenant: storage.DefaultTenant, UserID: "carol"}, To: alice, Text: "another"},
	} {
		added, err := db.AddMessages(t.Context(), []storage.NewDirectMessage{m})
		must.Succeed(t, err)
		must.Succeed(t, added[0].Err)
	}
	return db
}

// faultyReads is a store whose reads may fail or return unusual states.
type faultyReads struct {
	storage.Store

	trouble atomic.Int64 // 0 to 7; most values cause no fault
}

// noTime is the version that stands for the zero time.
var noTime = storage.Micros(time.Time{})

func (o *faultyReads) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	out, err := o.Store.Interactives(ctx, viewer, subjects, kinds)
	switch o.trouble.Load() {
	case 1:
		return nil, storage.ErrUnavailable
	case 2:
		for i := range out {
			if out[i].Liked != nil && i%2 == 0 {
				out[i].Liked.Version = noTime
			}
			if out[i].Read != nil {
				out[i].Read.Last = noTime
			}
		}
	case 3:
		for i := range out {
			out[i].Freshness = [...]storage.Freshness{storage.Live, storage.Stale, storage.Unavailable, "NONE"}[i%4]
		}
	}
	return out, err
}

func (o *faultyReads) FoldersOf(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error) {
	out, err := o.Store.FoldersOf(ctx, keys)
	switch o.trouble.Load() {
	case 2:
		out[0] = nil
	case 3:
		return nil, fmt.Errorf("%w: no folders today", storage.ErrUnavailable)
	case 4:
		panic("no folders today")
	}
	return out, err
}
