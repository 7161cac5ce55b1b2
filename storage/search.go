package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits for searches.
const (
	MaxSearchRunes = 64 // of a searched text: code points
	MaxSearchWords = 5

	maxIndexRunes = 32  // of a word in the index
	maxIndexWords = 150 // of one name or title
)

// Search is a text to search for, split into words. The zero Search finds nothing.
type Search struct{ words []word }

// word is a run of letters, marks and digits of a folded text.
type word struct {
	text     string
	unspaced bool // of a script that puts no spaces between words
}

// ParseSearch returns the search for a text of 1 to MaxSearchRunes characters and 1 to
// MaxSearchWords words. A run of Chinese is one word. Errors: *InvalidError.
func ParseSearch(text string) (Search, error) {
	text, err := CleanText("text", text, MaxSearchRunes)
	if err != nil {
		return Search{}, err
	}
	words := split(text)
	slices.SortFunc(words, compareWords)
	words = slices.Compact(words)
	switch {
	case len(words) == 0:
		return Search{}, &InvalidError{Field: "text", Reason: "must have a letter or a digit"}
	case len(words) > MaxSearchWords:
		return Search{}, &InvalidError{Field: "text", Reason: fmt.Sprintf("has %d words; at most %d are allowed", len(words), MaxSearchWords)}
	}
	return Search{words}, nil
}

// compareWords puts the longest word first, because the fewest names are likely to have
// it.
func compareWords(a, b word) int {
	if n := len(b.text) - len(a.text); n != 0 {
		return n
	}
	return strings.Compare(a.text, b.text)
}

// String returns the words. Searches with the same String find the same.
func (s Search) String() string {
	out := make([]string, len(s.words))
	for i, w := range s.words {
		out[i] = w.text
	}
	return strings.Join(out, " ")
}

// Scan is the part of the index that is searched: the words that begin with it. The other
// conditions of the search are checked for each name or title that is found there.
func (s Search) Scan() (prefix string) {
	if len(s.words) == 0 {
		return ""
	}
	return s.words[0].key(0)
}

// Filters reports whether the index may hold entries that the search does not find. There
// are always some with the same name or title as another entry.
func (s Search) Filters() bool {
	return len(s.words) > 1 || len(s.words) > 0 && s.words[0].text != s.Scan()
}

// Finds reports whether the search finds a name or title by an entry of the index: each
// word of the search is the beginning of a word or, for scripts without spaces, a part of
// the text, and no lesser word of the name or title is in the part of the index that is
// searched.
func (s Search) Finds(text, by string) bool {
	if len(s.words) == 0 {
		return false
	}
	of := split(text)
	for _, w := range s.words {
		if !slices.ContainsFunc(of, w.in) {
			return false
		}
	}
	first := ""
	for _, key := range keys(of) {
		if strings.HasPrefix(key, s.Scan()) && (first == "" || key < first) {
			first = key
		}
	}
	return first != "" && first == by
}

// in reports whether w, a word of a search, is found in a word of a name or title.
func (w word) in(of word) bool {
	if w.unspaced {
		return of.unspaced && strings.Contains(of.text, w.text)
	}
	return !of.unspaced && strings.HasPrefix(of.text, w.text)
}

// key returns the word of the index that begins at a byte of w: w itself, or the next two
// characters if w is of a script without spaces.
func (w word) key(at int) string {
	most := maxIndexRunes
	if w.unspaced {
		most = 2
	}
	n := 0
	for i := range w.text[at:] {
		if n == most {
			return w.text[at : at+i]
		}
		n++
	}
	return w.text[at:]
}

// IndexWords returns the words of a name or title that the index holds, sorted: at most
// 150, of at most 128 bytes each. The words are folded: without case, accents and
// differences of compatibility. For scripts without spaces, they are all pairs of
// neighbouring characters, and the last character.
func IndexWords(text string) []string {
	out := keys(split(text))
	slices.Sort(out)
	return slices.Compact(out)
}

func keys(of []word) (out []string) {
	for _, w := range of {
		for at := range w.text {
			if at > 0 && !w.unspaced || len(out) == maxIndexWords {
				break
			}
			out = append(out, w.key(at))
		}
	}
	return out
}

// split folds a text and splits it into words.
func split(text string) (words []word) {
	folded := fold(text)
	start, unspaced := -1, false
	end := func(at int) {
		if start >= 0 {
			words = append(words, word{folded[start:at], unspaced})
		}
		start = -1
	}
	for i, r := range folded {
		switch {
		case unicode.IsMark(r): // belongs to the character before it
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			end(i)
		case start < 0 || unspaced != isUnspaced(r):
			end(i)
			start, unspaced = i, isUnspaced(r)
		}
	}
	end(len(folded))
	return words
}

// fold removes case, differences of compatibility such as full width, and the accents of
// European scripts. The marks of other scripts make other words and stay.
func fold(text string) string {
	accent := func(r rune) rune {
		if r >= '\u0300' && r <= '\u036f' {
			return -1
		}
		return r
	}
	return norm.NFC.String(strings.Map(accent, norm.NFKD.String(cases.Fold().String(norm.NFKD.String(text)))))
}

// isUnspaced reports whether a letter is of a script that puts no spaces between words.
func isUnspaced(r rune) bool {
	const soundMark = 'ー' // of Hiragana and Katakana
	return r >= '\u0e00' && (r == soundMark || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// SearchQuery searches among the names of a tenant's accounts, or the titles of a tenant's
// videos. Text is what ParseSearch accepts.
type SearchQuery struct {
	Tenant string
	Text   string
	Page
}

// FoundUser is a user whose name a search has found.
type FoundUser struct {
	User User
	Word string // of the index
}

// Place is the user's position in the list.
func (f *FoundUser) Place() Position {
	id, _ := f.User.AccountKey()
	return Position{Version: id, ID: f.Word}
}

// FoundVideo is a video whose title a search has found.
type FoundVideo struct {
	Video Video
	Word  string // of the index
}

// Place is the video's position in the list.
func (f *FoundVideo) Place() Position { return Position{Version: f.Video.Number, ID: f.Word} }

// Searcher searches. Its lists are sorted by the word of the index that the text was found
// by, ascending, so that whole words come first, then newest first. Each user or video is
// listed once. A query whose text is invalid fails the call with ErrInvalid.
type Searcher interface {
	// SearchUsers pages through the users whose names have the words.
	SearchUsers(ctx context.Context, queries []SearchQuery) ([]ListPage[FoundUser], error)
	// SearchVideos pages through the videos whose titles have the words.
	SearchVideos(ctx context.Context, queries []SearchQuery) ([]ListPage[FoundVideo], error)
}

// Searches searches, and keeps the index. The transactions that change a name, or publish
// or delete a video, change the index, too.
type Searches interface {
	Searcher
	// IndexNext adds up to limit names and up to limit titles to the index that are not in
	// it: those that are older than the index, were restored from an archive, or were
	// written by a process of an earlier release. It returns their number, and 0 if
	// nothing is left. Several processes may call it at the same time.
	IndexNext(ctx context.Context, limit int) (int, error)
}
