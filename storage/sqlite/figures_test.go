//go:build long && !race

package sqlite_test

import (
	"testing"

	"ovation/storage/storagetest"
)

func TestFigurePagesOfLongListsTakeAsLong(t *testing.T) {
	storagetest.TimeLongLists(t, emptyDatabase(t))
}

func TestFigureFarPagesOfTheFeedTakeAsLong(t *testing.T) {
	storagetest.TimeLongFeed(t, emptyDatabase(t))
}
