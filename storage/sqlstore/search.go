package sqlstore

import (
	"math"

	"ovation/storage"
)

// The kinds of entries of the index of words. The numbers are stored, as parts of
// statements.
const (
	IndexedUser  = 1
	IndexedVideo = 2
)

// SearchScan is the range of the index that answers a query.
type SearchScan struct {
	// The range begins after the entry with the word After and the place Place, and ends
	// before the word Below. The place of an entry is its negative id, so that the newest
	// come first.
	After string
	Place int64
	Below string
	// Rows is the number of entries to examine.
	Rows int64

	search storage.Search
	first  int
	rows   int64 // examined so far
}

// ScanOf returns the scan for a query. Errors: *storage.InvalidError.
func ScanOf(q storage.SearchQuery) (*SearchScan, error) {
	search, err := storage.ParseSearch(q.Text)
	if err != nil {
		return nil, err
	}
	const aboveEveryText = "\U0010ffff"
	s := &SearchScan{
		After: search.Scan(), Place: math.MinInt64, Below: search.Scan() + aboveEveryText,
		search: search, first: max(q.First, 0), Rows: int64(max(q.First, 0)),
	}
	if q.After != (storage.Position{}) {
		s.After, s.Place = q.After.ID, -q.After.Version
	}
	if s.first > 0 && search.Filters() {
		s.Rows = int64(q.MaxScan())
	}
	return s, nil
}

// ScansOf returns the scans for queries. Errors: *storage.InvalidError.
func ScansOf(queries []storage.SearchQuery) (out []*SearchScan, err error) {
	out = make([]*SearchScan, len(queries))
	for i, q := range queries {
		if out[i], err = ScanOf(q); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// AddFound adds an entry of the index to the page, if the search finds the name or title
// of what the entry stands for. The text is empty if that no longer exists.
func AddFound[E any](s *SearchScan, to *storage.ListPage[E], text string, found E, at storage.Position) {
	s.rows++
	if len(to.Entries) == s.first {
		return
	}
	if s.search.Finds(text, at.ID) {
		to.Entries = append(to.Entries, found)
	}
	to.Resume = storage.Position{}
	if s.rows == s.Rows && len(to.Entries) < s.first {
		to.Resume = at
	}
}

// Unindexed is the name of an account or the title of a video that is not in the index.
type Unindexed struct {
	Tenant string
	ID     int64
	Text   string
}
