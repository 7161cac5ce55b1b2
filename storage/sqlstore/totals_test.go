package sqlstore

import (
	"testing"

	"ovation/storage"
)

// The declaration that marks a deleted subject takes effect even if a later declaration
// has been made since the deletion began.
func TestDeletionsOverrideLaterDeclarations(t *testing.T) {
	deleted := storage.Subject{Tenant: "t", Biz: storage.BizVideo, BizID: "1"}
	kept := storage.Subject{Tenant: "t", Biz: storage.BizVideo, BizID: "2"}
	tally := NewTally()
	tally.Deleted[deleted] = 5
	later := Authored{AuthorID: "bob", Since: 9, Likes: 3}
	changed := tally.Declare([]storage.Action{Withdraw(deleted, 5), Withdraw(kept, 5)}, map[storage.Subject]Authored{deleted: later, kept: later})
	if len(changed) != 1 || changed[0] != Withdraw(deleted, 10) {
		t.Errorf("Declare = %+v, want only that the deleted subject has no author, with version 10", changed)
	}
	if got := tally.Users[storage.User{Tenant: "t", UserID: "bob"}]; got == nil || got.Works != -1 || got.LikesReceived != -3 {
		t.Errorf("bob's totals change by %+v, want one work and its 3 likes less", got)
	}
}
