//go:build long && !race

package postgres

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
