//go:build long && !race

package sqlite_test

import (
	"testing"

	"ovation/storage/storagetest"
)

func TestFigurePagesOfLongListsTakeAsLong(t *testing.T) { storagetest.TimeLongLists(t, empty(t)) }

func TestFigureFarPagesOfTheFeedTakeAsLong(t *testing.T) { storagetest.TimeLongFeed(t, empty(t)) }
