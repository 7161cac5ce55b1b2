package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/resolvers"
	"ovation/resolvers/persisted"
	"ovation/storage"
	"ovation/storage/redis"
)

const (
	pageOfCounts = `query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { ` +
		`biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected { at } } }`
	pageOfEntities = `query Feed($representations: [_Any!]!) { _entities(representations: $representations) { ... on Interactive { ` +
		`biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected { at } } } }`
	pageWithFolders = `query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { ` +
		`biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected { at folder { id name } } version freshness } }`
	pageWithAuthors = `query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { ` +
		`biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected { at } author { userId interactive { followed { at } } } } }`
	pageWithVariables = `query Feed($subjects: [SubjectInput!]!, $more: Boolean!) { interactives(subjects: $subjects) { ` +
		`biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected @include(if: $more) { at } } }`
)

// BenchmarkPage requests 20 subjects from the complete handler, but without a connection.
// The data comes from memory, where lookups cost nothing, or from Redis, where everything
// is cached.
func BenchmarkPage(b *testing.B) {
	for name, query := range map[string]string{"counts": pageOfCounts, "folders": pageWithFolders, "variables": pageWithVariables} {
		b.Run("memory/"+name, func(b *testing.B) {
			askForPages(b, resolvers.Config{Store: &cachedResults{Store: databaseWithActions(b)}}, query)
		})
	}
	b.Run("memory/entities", func(b *testing.B) { // as a gateway requests the page of counts
		askForPages(b, resolvers.Config{Store: &cachedResults{Store: databaseWithActions(b)}, Federation: true}, pageOfEntities)
	})
	b.Run("memory/counts by id", func(b *testing.B) {
		file := filepath.Join(b.TempDir(), "persisted-documents.json")
		text, err := json.Marshal(map[string]string{"feed": pageOfCounts})
		must.Succeed(b, err)
		must.Succeed(b, os.WriteFile(file, text, 0o600))
		askForPages(b, resolvers.Config{
			Store: &cachedResults{Store: databaseWithActions(b)}, Trusted: persisted.NewTrusted(persisted.TrustedOptions{Files: []string{file}, Only: true, Registry: prometheus.NewRegistry()}),
		}, "")
	})
	b.Run("redis/counts", func(b *testing.B) { askRedisForPages(b, pageOfCounts) })
	b.Run("redis/authors", func(b *testing.B) { askRedisForPages(b, pageWithAuthors) })
}

func askRedisForPages(b *testing.B, query string) {
	b.Helper()
	url := os.Getenv("OVATION_REDIS_URL")
	if url == "" {
		b.Skip("OVATION_REDIS_URL is not set")
	}
	store, err := redis.Open(b.Context(), redis.Options{
		URL: url, Prefix: "bench" + strconv.FormatInt(time.Now().UnixNano(), 36), Database: databaseWithActions(b),
		Logger: slog.New(slog.DiscardHandler),
	})
	must.Succeed(b, err)
	b.Cleanup(func() { _ = store.Close() })
	b.SetParallelism(16) // requests then share pipelines, as those of many connections do
	askForPages(b, resolvers.Config{Store: store, CachedAuthors: store.CachedAuthors}, query)
}

const pageSize = 20

var pageViewer = storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}

// databaseWithActions returns a database with a page of subjects. Each subject has an
// author. The viewer likes every fourth subject, has every tenth in a folder, and follows
// the author of every fifth.
func databaseWithActions(tb testing.TB) *sqlitetest.Database {
	tb.Helper()
	db := sqlitetest.OpenDatabase(tb)
	message := storage.Message{ID: "1"}
	for i := range pageSize {
		subject := storage.Subject{Tenant: pageViewer.Tenant, Biz: "video", BizID: "subject-" + strconv.Itoa(i)}
		message.Actions = append(message.Actions, storage.Action{
			User: storage.User{Tenant: pageViewer.Tenant, UserID: "bob"}, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: int64(i) + 1,
		})
		author := storage.User{Tenant: pageViewer.Tenant, UserID: "person-" + strconv.Itoa(i)}
		message.Actions = append(message.Actions, storage.Action{
			User: storage.User{Tenant: pageViewer.Tenant}, Subject: subject, Kind: storage.KindAuthor, Author: author.UserID, Version: 1e15,
		})
		if i%5 == 0 {
			message.Actions = append(message.Actions, storage.Action{User: pageViewer, Subject: author.Subject(), Kind: storage.KindFollow, Following: true, Version: 1e15})
		}
		if i%4 == 0 {
			message.Actions = append(message.Actions, storage.Action{User: pageViewer, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: 1e15})
		}
		if i%10 == 0 {
			message.Actions = append(message.Actions, storage.Action{User: pageViewer, Subject: subject, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID, Version: 1e15})
		}
	}
	if _, err := db.Persist(context.Background(), []storage.Message{message}, nil); err != nil {
		tb.Fatal(err)
	}
	return db
}

// cachedResults is a store that reads once and then returns the same results for every
// call.
type cachedResults struct {
	storage.Store

	found   []storage.Interactive
	folders []*storage.Folder
}

func (w *cachedResults) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) (_ []storage.Interactive, err error) {
	if w.found == nil {
		w.found, err = w.Store.Interactives(ctx, viewer, subjects, kinds)
	}
	return slices.Clone(w.found), err
}

func (w *cachedResults) FoldersOf(ctx context.Context, keys []storage.FolderKey) (_ []*storage.Folder, err error) {
	if w.folders == nil {
		w.folders, err = w.Store.FoldersOf(ctx, keys)
	}
	return w.folders, err
}

// sink is a ResponseWriter that discards the response.
type sink struct {
	header http.Header
	body   bytes.Buffer
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { return s.body.Write(p) }

// askForPages measures pages by the text of a query or, if it is "", by the id of the
// trusted document feed.
func askForPages(b *testing.B, cfg resolvers.Config, query string) {
	b.Helper()
	secret := bytes.Repeat([]byte("s"), viewer.MinSecretBytes)
	auth, err := viewer.New(b.Context(), viewer.Config{Secret: secret})
	must.Succeed(b, err)
	b.Cleanup(func() { _ = auth.Close() })
	token, err := viewer.Sign(secret, pageViewer, time.Hour)
	must.Succeed(b, err)
	cfg.Auth, cfg.Logger = auth, slog.New(slog.DiscardHandler)
	cfg.Limiter = rate.New(rate.Config{PerUser: 10_000_000, PerAddress: 10_000_000, PerSocket: 10_000_000}) // one user sends all requests
	handler, err := resolvers.NewHandler(b.Context(), cfg)
	must.Succeed(b, err)
	var subjects []map[string]string
	for i := range pageSize {
		subjects = append(subjects, map[string]string{"biz": "video", "bizId": fmt.Sprintf("subject-%d", i)})
	}
	variables := map[string]any{"subjects": subjects, "more": true}
	if cfg.Federation {
		for _, one := range subjects {
			one["__typename"] = "Interactive"
		}
		variables = map[string]any{"representations": subjects}
	}
	document, is := "query", query
	if query == "" {
		document, is = "documentId", "feed"
	}
	body, err := json.Marshal(map[string]any{document: is, "operationName": "Feed", "variables": variables})
	must.Succeed(b, err)
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/graphql", http.NoBody)
	must.Succeed(b, err)
	request.RemoteAddr = "192.0.2.1:1234"
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	ask := func(to *sink) {
		clear(to.header)
		to.body.Reset()
		one := *request
		one.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(to, &one)
		if to.status != http.StatusOK || bytes.Contains(to.body.Bytes(), []byte(`"errors"`)) {
			b.Errorf("got status %d, want 200 without errors: %s", to.status, to.body.Bytes())
		}
	}
	first := &sink{header: http.Header{}}
	for range 10 {
		ask(first)
	}
	b.ReportAllocs()
	b.SetBytes(int64(first.body.Len()))
	used := usedNow(b)
	b.RunParallel(func(pb *testing.PB) {
		to := &sink{header: http.Header{}}
		for pb.Next() {
			ask(to)
		}
	})
	b.ReportMetric(float64((usedNow(b)-used).Nanoseconds())/float64(b.N), "cpu-ns/op") // independent of the load of other processes
}

// usedNow returns the CPU time that the process has used.
func usedNow(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	must.Succeed(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
