package resolvers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/99designs/gqlgen/graphql"

	"ovation/outage"
	"ovation/storage"
	"ovation/worker"
)

func TestErrorsBecomeCodes(t *testing.T) {
	tests := []struct {
		err  error
		code string
	}{
		{errUnauthenticated, "UNAUTHENTICATED"},
		{notFound("folderId"), "NOT_FOUND"},
		{badInput("first is %d", 0), "BAD_USER_INPUT"},
		{&storage.InvalidError{Field: "biz", Reason: "is bad"}, "BAD_USER_INPUT"},
		{atPath("input.", &storage.InvalidError{Field: "biz", Reason: "is bad"}), "BAD_USER_INPUT"},
		{storage.ErrInvalid, "BAD_USER_INPUT"},
		{storage.ErrNotFound, "NOT_FOUND"},
		{storage.ErrNameTaken, "BAD_USER_INPUT"},
		{storage.ErrDefaultFolder, "BAD_USER_INPUT"},
		{storage.ErrTooManyFolders, "LIMIT_EXCEEDED"},
		{storage.ErrFolderNotEmpty, "UNAVAILABLE"},
		{storage.ErrUnavailable, "UNAVAILABLE"},
		{worker.ErrClosed, "UNAVAILABLE"},
		{context.DeadlineExceeded, "UNAVAILABLE"},
		{worker.ErrRejected, "INTERNAL"},
		{errors.New("sql: no such table: interactive"), "INTERNAL"},
		{recovered(t.Context(), "index out of range"), "INTERNAL"},
	}
	for _, tt := range tests {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		present := presenter(logger, outage.New(logger, "fails", "over"))
		ctx := graphql.WithResponseContext(t.Context(), present, recovered)
		got := present(ctx, fmt.Errorf("do something: %w", tt.err))
		if got.Extensions["code"] != tt.code || got.Message == "" {
			t.Errorf("%v: got %v %q, want %s", tt.err, got.Extensions, got.Message, tt.code)
		}
		if strings.Contains(got.Message, "do something") || strings.Contains(got.Message, "sql") || strings.Contains(got.Message, "goroutine") {
			t.Errorf("%v: got the message %q, want none of the error's text", tt.err, got.Message)
		}
		if tt.code == "INTERNAL" {
			id := got.Message[strings.LastIndex(got.Message, " ")+1:]
			if !strings.Contains(log.String(), id) || !strings.Contains(log.String(), tt.err.Error()[:5]) {
				t.Errorf("%v: got the log %s, want the error under the id %s", tt.err, log.String(), id)
			}
		}
	}
}

func TestUnavailableIsLoggedAsAnOutageAndEachInternalErrorByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		present := presenter(logger, outage.New(logger, "cannot be answered", "over"))
		ctx := graphql.WithResponseContext(t.Context(), present, recovered)
		for range 100 {
			present(ctx, fmt.Errorf("do something: %w", storage.ErrUnavailable))
			present(ctx, errors.New("sql: no such table: interactive"))
		}
		if n := strings.Count(log.String(), "cannot be answered"); n != 1 {
			t.Errorf("one outage: got %d log lines, want 1", n)
		}
		if n := strings.Count(log.String(), "internal error"); n != 100 {
			t.Errorf("100 internal errors: got %d log lines, want 100", n)
		}
	})
}

// FuzzCursor checks that decode accepts only cursors that encode has returned, and that it
// returns their positions.
func FuzzCursor(f *testing.F) {
	c := newCursors([]byte("0123456789abcdef0123456789abcdef"))
	f.Add("likes", "video", "42", int64(1_700_000_000_000_000), "x")
	f.Add("", "", "", int64(-1), "AAAA")
	f.Fuzz(func(t *testing.T, list, biz, id string, version int64, forged string) {
		if strings.Contains(biz, "\x00") || len(biz)+len(id) > 300 {
			return // not a position in a list
		}
		at := storage.Position{Version: version, Biz: biz, ID: id}
		cursor := c.encode(list, at)
		if got, err := c.decode(list, cursor); err != nil || got != at {
			t.Fatalf("decode(encode(%v)) = %v, %v, want the same position", at, got, err)
		}
		if _, err := c.decode(list+"x", cursor); err == nil {
			t.Fatalf("decode of %q in another list: got no error, want one", cursor)
		}
		if forged != cursor {
			if _, err := c.decode(list, forged); err == nil {
				t.Fatalf("decode of the forged cursor %q: got no error, want one", forged)
			}
		}
	})
}
