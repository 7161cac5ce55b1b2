package storage_test

import (
	"strings"
	"testing"

	"ovation/storage"
)

// TestCodePointsAreKeptOrNamed is the table of the code points that an id, a name and a
// text may contain. A text that is accepted is kept as it is; an error names the code
// point.
func TestCodePointsAreKeptOrNamed(t *testing.T) {
	const everywhere, notInIDs, inTexts, nowhere = "id name text", "name text", "text", ""
	for _, c := range []struct {
		what, text, allowed string
		refused             string // the code point that an error names
	}{
		{"ZWNJ", "a\u200cb", everywhere, ""},
		{"Persian", "می\u200cخواهم", everywhere, ""},
		{"Hindi", "क्\u200dष", everywhere, ""},
		{"a family", "\U0001f469\u200d\U0001f469\u200d\U0001f467", everywhere, ""},
		{"a heart", "\u2764\ufe0f", everywhere, ""},
		{"a keycap", "1\ufe0f\u20e3", everywhere, ""},
		{"a flag", "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f!", everywhere, ""},
		{"an ideographic variant", "\u845b\U000e0100", everywhere, ""},
		{"Mongolian", "ᠠ\u180b\u180e", everywhere, ""},
		{"Khmer and Thai word breaks", "ភាសា\u200bខ្មែរ", everywhere, ""},
		{"a soft hyphen and a word joiner", "Silben\u00adtrennung\u2060", everywhere, ""},
		{"an Arabic number sign", "\u0600١", everywhere, ""},
		{"a Coptic grapheme joiner", "a\u034fb", everywhere, ""},
		{"hieroglyphs", "\U00013000\U00013430\U00013001", everywhere, ""},
		{"a private code point", "\uf8ff x", everywhere, ""},
		{"an unassigned code point", "\U0001fbff x", everywhere, ""},
		{"an ideographic space", "\u6771\u3000\u4eac", everywhere, ""},
		{"marks of direction", "שלום\u200f, a\u200e! \u061c", everywhere, ""},
		{"an isolate", "a \u2068שלום\u2069 b", everywhere, ""},
		{"nested isolates and embeddings", "\u2067\u202aa\u202c\u2066b\u2069\u2069", everywhere, ""},

		{"a byte order mark", "\ufeffa", notInIDs, "U+FEFF"},
		{"a line break", "a\nb", inTexts, "U+000A"},
		{"a tab", "a\tb", inTexts, "U+0009"},

		{"an override", "a\u202eb", nowhere, "U+202E"},
		{"an override that is closed", "\u202da\u202c", nowhere, "U+202D"},
		{"an isolate that is not closed", "a\u2067b", nowhere, "U+2067"},
		{"an embedding that is closed as an isolate", "\u202ba\u2069", nowhere, "U+2069"},
		{"an isolate closed twice", "\u2066a\u2069\u2069", nowhere, "U+2069"},
		{"the end of an embedding alone", "a\u202c", nowhere, "U+202C"},
		{"an isolate over two lines", "\u2066a\nb\u2069", nowhere, "U+2066"},
		{"tags after a letter", "a\U000e0041\U000e007f", nowhere, "U+E0041"},
		{"tags after another emoji", "\U0001f600\U000e0067\U000e007f", nowhere, "U+E0067"},
		{"tags after a variation selector", "\U0001f3f4\ufe0f\U000e0067\U000e007f", nowhere, "U+E0067"},
		{"seven tags", "\U0001f3f4" + strings.Repeat("\U000e0068", 7) + "\U000e007f", nowhere, "U+E0068"},
		{"six tags", "\U0001f3f4" + strings.Repeat("\U000e0068", 6) + "\U000e007f", everywhere, ""},
		{"the end of tags alone", "\U0001f3f4\U000e007f", nowhere, "U+E007F"},
		{"a second sequence of tags", "\U0001f3f4\U000e0067\U000e007f\U000e0067\U000e007f", nowhere, "U+E0067"},
		{"tags that nothing ends", "\U0001f3f4\U000e0067", nowhere, "U+E0067"},
		{"tags within a word", "\U0001f3f4\U000e0067x", nowhere, "U+E0067"},
		{"a language tag", "a\U000e0001", nowhere, "U+E0001"},
		{"NUL", "a\x00", nowhere, "U+0000"},
		{"an escape", "\x1b[2J", nowhere, "U+001B"},
		{"a next line", "a\u0085b", nowhere, "U+0085"},
		{"a deprecated format character", "a\u206ab", nowhere, "U+206A"},
		{"an annotation", "\ufff9a\ufffab\ufffb", nowhere, "U+FFF9"},
		{"a noncharacter", "a\ufdd0", nowhere, "U+FDD0"},
		{"the last code point", "a\U0010ffff", nowhere, "U+10FFFF"},
		{"a substitute", "a\ufffd", nowhere, "U+FFFD"},
	} {
		t.Run(c.what, func(t *testing.T) {
			clean, err := storage.CleanText("text", c.text, storage.MaxCommentRunes)
			if err == nil && clean != strings.TrimSpace(c.text) {
				t.Errorf("CleanText(%+q) = %+q, want it unchanged", c.text, clean)
			}
			signature := c.text
			checked, signed := storage.ProfileChange{Signature: &signature}.Check()
			if signed == nil && *checked.Signature != strings.TrimSpace(c.text) {
				t.Errorf("the signature %+q is changed to %+q, want it unchanged", c.text, *checked.Signature)
			}
			name := c.text
			for place, err := range map[string]error{
				"id":        storage.Subject{Tenant: "default", Biz: "video", BizID: c.text}.Validate(),
				"id/user":   storage.ValidateUserID(c.text),
				"name":      storage.ValidateFolderName(strings.TrimSpace(c.text)),
				"name/user": storage.NewAccount{Tenant: "default", Name: strings.TrimSpace(name), NameKey: "x", Password: "x"}.Validate(),
				"text":      err,
				"text/sign": signed,
				"text/desc": storage.ValidateFolderDescription(c.text),
			} {
				use, _, _ := strings.Cut(place, "/")
				switch allowed := strings.Contains(c.allowed, use); {
				case allowed && err != nil:
					t.Errorf("%s %+q: got %v, want no error", place, c.text, err)
				case !allowed && err == nil:
					t.Errorf("%s %+q: got no error, want one that names %s", place, c.text, c.refused)
				case !allowed && !strings.Contains(err.Error(), c.refused):
					t.Errorf("%s %+q: got %v, want an error that names %s", place, c.text, err, c.refused)
				}
			}
		})
	}
}

// TestLineBreaksBecomeNewlines checks the only changes that are made to a text.
func TestLineBreaksBecomeNewlines(t *testing.T) {
	got, err := storage.CleanText("text", " \u3000a\r\nb\rc\u2028d\u2029e\n\t", storage.MaxCommentRunes)
	if want := "a\nb\nc\nd\ne"; err != nil || got != want {
		t.Errorf("CleanText = %q, %v, want %q", got, err, want)
	}
}

func TestNamesThatShowNothingAreRefused(t *testing.T) {
	for _, name := range []string{"\u200d", "\u200e\u2068\u2069", "\u2060", "\u2800", "\ufe0f"} {
		wantField(t, storage.ValidateFolderName(name), "name")
	}
}
