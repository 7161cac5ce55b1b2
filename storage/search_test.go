package storage_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ovation/storage"
)

func TestIndexWords(t *testing.T) {
	for text, want := range map[string]string{
		"A cat, a CAT!":                  "a cat",
		"Ça va ÉTÉ":                      "ca ete va",
		"ＷＩＤＥ　ｶﾞｽ":                       "wide ガス ス",
		"don't":                          "don t",
		"我们的猫":                           "们的 我们 猫 的猫",
		"第2集 part2":                      "2 part2 第 集",
		"หมา":                            "มา หม า",
		"고양이가 있다":                        "고양이가 있다",
		"हिन्दी":                         "हिन्दी",
		"🎬 — …":                          "",
		strings.Repeat("x", 150):         strings.Repeat("x", 32),
		strings.Repeat("\ufdfa ", 10000): "الله صلى عليه وسلم",
	} {
		got := storage.IndexWords(text)
		want := strings.Fields(want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("IndexWords(%.40q) = %q, want %q", text, got, want)
		}
	}
	var long strings.Builder
	for i := range 150 {
		long.WriteRune('一' + rune(i))
	}
	if got := storage.IndexWords(long.String() + long.String()); len(got) > 150 {
		t.Errorf("got %d words, want at most 150", len(got))
	}
}

// TestSearchFindsByOneWordOfTheIndex checks that a search finds each text by exactly one of
// its words in the part of the index that it scans, or by none.
func TestSearchFindsByOneWordOfTheIndex(t *testing.T) {
	for _, c := range []struct {
		text, in string
		finds    bool
	}{
		{"cat", "cats and a category", true},
		{"cat and", "cats and a category", true},
		{"cat or", "cats and a category", false},
		{"at", "cats and a category", false},
		{strings.Repeat("x", 40), strings.Repeat("x", 40), true},
		{strings.Repeat("x", 41), strings.Repeat("x", 40), false},
		{"的小猫", "我们的小猫，小猫的我们", true},
		{"们我", "我们的小猫，小猫的我们", false},
		{"猫", "我们的小猫，小猫的我们", true},
		{"iphone手机", "手机 IPHONE15", true},
	} {
		s, err := storage.ParseSearch(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var by []string
		for _, word := range storage.IndexWords(c.in) {
			if strings.HasPrefix(word, s.Scan()) && s.Finds(c.in, word) {
				by = append(by, word)
			}
		}
		if len(by) > 1 || (len(by) == 1) != c.finds {
			t.Errorf("a search for %q in %q finds it by %q, want %t", c.text, c.in, by, c.finds)
		}
	}
	if (storage.Search{}).Finds("a", "a") {
		t.Error("the zero Search finds something")
	}
}

func TestParseSearch(t *testing.T) {
	for text, valid := range map[string]bool{
		"a": true, "a b c d e": true, strings.Repeat("a ", 6): true, "我们的小猫在弹钢琴": true, strings.Repeat("é", 64): true,
		"": false, " ": false, "?": false, "a b c d e f": false, strings.Repeat("é", 65): false, "\x00": false, "\xff": false,
	} {
		if _, err := storage.ParseSearch(text); (err == nil) != valid || err != nil && !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("ParseSearch(%q): got %v, want valid: %t", text, err, valid)
		}
	}
	one, _ := storage.ParseSearch("Crème  cat CAT")
	other, _ := storage.ParseSearch("cat, creme")
	if one.String() != other.String() {
		t.Errorf("got the strings %q and %q, want the same", one, other)
	}
}
