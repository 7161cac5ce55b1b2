package counts

import (
	"strconv"
	"testing"

	"ovation/storage"
)

func TestTextIsReadBack(t *testing.T) {
	for _, want := range []storage.Counts{
		{},
		{ReadCount: 1, LikeCount: 2, DislikeCount: 3, CollectCount: 4, FollowerCount: 5, AuthorID: "a @b 6", Version: 7},
		{ReadCount: 1, ReaderCount: 1, Deleted: true, Version: 8},
	} {
		text := strconv.FormatInt(want.Version, 10) + " " + Text(want)
		if got, err := parse(text); err != nil || got != want {
			t.Errorf("parse(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
}
