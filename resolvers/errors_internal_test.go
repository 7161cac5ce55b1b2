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
	"time"

	"github.com/99designs/gqlgen/graphql"

	"ovation/accounts"
	"ovation/api/viewer"
	"ovation/internal/outage"
	"ovation/storage"
	"ovation/worker"
)

// Errors become codes and messages. The messages state what is wrong and what the client
// can do. Their wording is fixed.
func TestErrorsBecomeCodes(t *testing.T) {
	const unavailableMessage = "the service is temporarily unavailable, and a mutation may or may not have been applied; try again"
	tests := []struct {
		err           error
		code, message string
	}{
		{errUnauthenticated, "UNAUTHENTICATED", "this needs a signed-in user: send a token as `Authorization: Bearer …`"},
		{errNoScope(viewer.WriteSubjects), "UNAUTHENTICATED", "this needs a token whose scope holds subjects:write"},
		{notFound("input.id"), "NOT_FOUND", "input.id was not found, or is not visible to you"},
		{badInput("first is %d", 0), "BAD_USER_INPUT", "first is 0"},
		{storage.ErrNotFound, "NOT_FOUND", "this was not found, or is not visible to you"},
		{nameTaken("Weekend"), "BAD_USER_INPUT", `You already have a folder named "Weekend"`},
		{nameTaken("DEFAULT"), "BAD_USER_INPUT", `You already have a folder named "DEFAULT", the default folder, which is there even before it holds anything`},
		{storage.ErrNameTaken, "BAD_USER_INPUT", "You already have a folder of that name"},
		{storage.ErrDefaultFolder, "BAD_USER_INPUT", "the default folder cannot be deleted; it can be renamed"},
		{storage.ErrTooManyFolders, "LIMIT_EXCEEDED", "you have 1000 folders, the most a user may have; delete one first"},
		{storage.ErrFolderNotEmpty, "UNAVAILABLE", "items were added to the folder while it was being deleted; try again"},
		{worker.ErrBusy, "RATE_LIMITED", "there are too many anonymous reads at the moment, and this one was not recorded; try again"},
		{storage.ErrUnavailable, "UNAVAILABLE", unavailableMessage},
		{worker.ErrClosed, "UNAVAILABLE", unavailableMessage},
		{context.DeadlineExceeded, "UNAVAILABLE", unavailableMessage},
		{accounts.ErrWrongCredentials, "UNAUTHENTICATED", "the name or the password is wrong"},
		{accounts.ErrSessionOver, "UNAUTHENTICATED", "the session has ended: log in again"},
		{accounts.ErrWrongPassword, "BAD_USER_INPUT", "input.currentPassword is wrong"},
		{accounts.ErrBusy, "RATE_LIMITED", "the server is busy with other logins; try again"},
		{&accounts.LimitedError{Wait: 1200 * time.Millisecond}, "RATE_LIMITED", "too many attempts; try again in 2 s"},
		{storage.ErrAccountNameTaken, "BAD_USER_INPUT", "input.name is taken"},
		{seesReads(storage.User{UserID: "ann"}, &storage.User{UserID: "bob"}), "NOT_FOUND", "what a user has read is visible to that user only"},
		{seesConversations(storage.User{UserID: "ann"}, &storage.User{UserID: "bob"}), "NOT_FOUND", "a user's conversations are visible to that user only"},
		{accounts.ErrNoAccount, "NOT_FOUND", "this token does not belong to an account of this site"},
		{storage.ErrInvalid, "BAD_USER_INPUT", "a value is out of bounds"},
		{storage.ValidateBiz("Video"), "BAD_USER_INPUT", "biz must be 1 to 32 characters of a-z, 0-9, _ and -, starting with a letter"},
		{storage.ValidateTenant("-"), "BAD_USER_INPUT", "tenant must be 1 to 63 characters of a-z, 0-9, _ and -, starting with a letter or a digit"},
		{storage.ValidateUserID(""), "BAD_USER_INPUT", "userId must not be empty"},
		{storage.ValidateFolderName(" x"), "BAD_USER_INPUT", "name must not begin or end with a space"},
		{atPath("input.", errCursor), "BAD_USER_INPUT", "input.after is not a cursor of this list; use the endCursor of the page before"},
		{worker.ErrRejected, "INTERNAL", ""},
		{errors.New("sql: no such table: interactive"), "INTERNAL", ""},
		{recovered(t.Context(), "index out of range"), "INTERNAL", ""},
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	present := presenter(logger, outage.New(logger, "fails", "over"))
	ctx := graphql.WithResponseContext(t.Context(), present, recovered)
	for _, tt := range tests {
		log.Reset()
		got := present(ctx, fmt.Errorf("do something: %w", tt.err))
		want := tt.message
		if tt.code == "INTERNAL" {
			id := got.Message[strings.LastIndex(got.Message, " ")+1:]
			want = "internal error; the server's log has it under " + id
			if !strings.Contains(log.String(), id) || !strings.Contains(log.String(), tt.err.Error()[:5]) {
				t.Errorf("%v: got the log %s, want the error under the id %s", tt.err, log.String(), id)
			}
		}
		if got.Extensions["code"] != tt.code || got.Message != want {
			t.Errorf("%v: got %v %q, want %s %q", tt.err, got.Extensions, got.Message, tt.code, want)
		}
	}
	limited := present(ctx, &accounts.LimitedError{Wait: 1200 * time.Millisecond})
	if got := limited.Extensions["retryAfter"]; got != 2 {
		t.Errorf("a limit for 1.2 s: got retryAfter %v, want 2", got)
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
			return // cannot occur in a list
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
