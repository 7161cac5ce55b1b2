package resolvers

import (
	"context"
	"testing"
	"time"

	"ovation/accounts"
	"ovation/resolvers/rate"
	"ovation/storage"
	"ovation/worker"
)

// Messages for clients say what is wrong and what to do about it, in these words.
func TestMessagesForClients(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errUnauthenticated, "this needs a signed-in user: send a token as `Authorization: Bearer …`"},
		{errNoScope, "this needs a token whose scope holds subjects:write"},
		{notFound("input.id"), "input.id was not found, or is not visible to you"},
		{storage.ErrNotFound, "this was not found, or is not visible to you"},
		{nameTaken("Weekend"), `You already have a folder named "Weekend"`},
		{nameTaken("DEFAULT"), `You already have a folder named "DEFAULT", the default folder, which is there even before it holds anything`},
		{storage.ErrNameTaken, "You already have a folder of that name"},
		{storage.ErrDefaultFolder, "the default folder cannot be deleted; it can be renamed"},
		{storage.ErrTooManyFolders, "you have 1000 folders, the most a user may have; delete one first"},
		{storage.ErrFolderNotEmpty, "items were added to the folder while it was being deleted; try again"},
		{worker.ErrBusy, "there are too many anonymous reads at the moment, and this one was not recorded; try again"},
		{storage.ErrUnavailable, "the service is temporarily unavailable, and a mutation may or may not have been applied; try again"},
		{context.DeadlineExceeded, "the service is temporarily unavailable, and a mutation may or may not have been applied; try again"},
		{accounts.ErrWrongCredentials, "the name or the password is wrong"},
		{accounts.ErrSessionOver, "the session has ended: log in again"},
		{accounts.ErrWrongPassword, "input.currentPassword is wrong"},
		{accounts.ErrBusy, "the server is busy with other log-ins; try again"},
		{&accounts.LimitedError{Wait: 1200 * time.Millisecond}, "too many attempts; try again in 2 s"},
		{storage.ErrAccountNameTaken, "input.name is taken"},
		{seesReads(storage.User{UserID: "ann"}, &storage.User{UserID: "bob"}), "what a user has read is visible to that user only"},
		{seesConversations(storage.User{UserID: "ann"}, &storage.User{UserID: "bob"}), "a user's conversations are visible to that user only"},
		{accounts.ErrNoAccount, "this token does not belong to an account of this site"},
		{storage.ErrInvalid, "a value is out of bounds"},
		{storage.ValidateBiz("Video"), "biz must be 1 to 32 characters of a-z, 0-9, _ and -, starting with a letter"},
		{storage.ValidateTenant("-"), "tenant must be 1 to 63 characters of a-z, 0-9, _ and -, starting with a letter or a digit"},
		{storage.ValidateUserID(""), "userId must not be empty"},
		{storage.ValidateFolderName(" x"), "name must not begin or end with a space"},
		{atPath("input.", errCursor), "input.after is not a cursor of this list; use the endCursor of the page before"},
	} {
		if _, message := codeOf(c.err); message != c.want {
			t.Errorf("%v: a client is told %q, want %q", c.err, message, c.want)
		}
	}
	if got, want := rate.Error(1200*time.Millisecond).Message, "rate limit exceeded; try again in 2 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
