package sqlstore_test

import (
	"reflect"
	"testing"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// TestSplitByKindLosesNoKind checks that SplitByKind returns every action. SplitByKind
// cuts off the leading actions of one kind after another, so it would lose a kind that it
// cuts out of order.
func TestSplitByKindLosesNoKind(t *testing.T) {
	var actions []storage.Action
	for kind := range storage.Kind(8) {
		if storage.AllKinds&(1<<kind) != 0 || kind == storage.KindAuthor {
			actions = append(actions, storage.Action{Kind: kind})
		}
	}
	split, n := reflect.ValueOf(sqlstore.SplitByKind(actions)), 0
	for _, field := range split.Fields() {
		if field.Kind() == reflect.Slice {
			n += field.Len()
		}
	}
	if n != len(actions) {
		t.Errorf("SplitByKind keeps %d of %d actions of one kind each, want all", n, len(actions))
	}
}
