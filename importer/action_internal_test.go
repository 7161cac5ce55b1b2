package importer

import "testing"

// TestNumbersOfActionsAreFixed checks the numbers of the actions. They are part of stored
// message ids: if a number changes, a file that was imported before is imported again.
func TestNumbersOfActionsAreFixed(t *testing.T) {
	want := map[string]action{
		"read": 1, "like": 2, "dislike": 3, "clear": 4, "collect": 5, "uncollect": 6, "follow": 7, "unfollow": 8, "author": 9, "comment": 10,
	}
	for name, number := range want {
		if got := actionNames[name]; got != number {
			t.Errorf("actionNames[%q] = %d, want %d", name, got, number)
		}
	}
}
