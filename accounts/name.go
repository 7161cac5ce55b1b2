package accounts

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"

	"ovation/storage"
)

// maxNameBytes bounds a name before it is folded: UTF-8 uses at most 4 bytes per code
// point, and a character decomposes into at most 4 code points.
const maxNameBytes = 16 * storage.MaxAccountNameRunes

// foldedName is a valid name.
type foldedName struct {
	shown  string // for display: as it was given, without space at the ends
	key    string // under which the name is unique
	former string // the key by an earlier rule, which existing accounts may have; empty if it is the same
}

// foldName validates a name and folds it to its key. The key is that of the Nickname
// profile of PRECIS (RFC 8266), with full case folding: it normalises to NFKC and maps
// all spaces to ASCII spaces. The key leaves out invisible code points, such as the
// variation selectors and joiners of emoji, so that names which look the same are the
// same. Joiners count if PRECIS allows them where they stand, as in Persian. Similar
// letters from different scripts remain different.
func foldName(name string) (foldedName, error) {
	if len(name) > maxNameBytes {
		return foldedName{}, errName
	}
	out := foldedName{shown: strings.TrimSpace(name)}
	if err := storage.ValidateAccountName(out.shown); err != nil {
		return foldedName{}, err
	}
	key, err := precis.Nickname.CompareKey(without(out.shown, unicode.Join_Control))
	if err != nil {
		key, err = precis.Nickname.CompareKey(without(out.shown, nil))
	}
	if err != nil {
		return foldedName{}, namesCodePoint(out.shown)
	}
	if out.key = norm.NFKC.String(cases.Fold().String(key)); out.key != key {
		out.former = key
	}
	return out, nil
}

// without removes invisible code points from a name, except those in kept.
func without(name string, kept *unicode.RangeTable) string {
	return strings.Map(func(r rune) rune {
		invisible := unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
		if invisible && (kept == nil || !unicode.Is(kept, r)) {
			return -1
		}
		return r
	}, name)
}

// namesCodePoint returns an error that names the first code point that PRECIS rejects.
func namesCodePoint(name string) error {
	for _, r := range without(name, nil) {
		if _, err := precis.Nickname.CompareKey("a" + string(r)); err != nil {
			return &storage.InvalidError{Field: "name", Reason: fmt.Sprintf("contains U+%04X, which is not allowed in names", r)}
		}
	}
	return errName
}

var errName = &storage.InvalidError{Field: "name", Reason: fmt.Sprintf("must be 1 to %d characters of text", storage.MaxAccountNameRunes)}

// accountNamed returns the account with a name, or nil. An account whose key follows the
// earlier rule comes first, because another account may have the new key by now.
func (s *Service) accountNamed(ctx context.Context, tenant string, name foldedName) (*storage.Account, error) {
	if name.former != "" {
		if a, err := s.Store.AccountNamed(ctx, tenant, name.former); err != nil || a != nil {
			return a, err
		}
	}
	return s.Store.AccountNamed(ctx, tenant, name.key)
}
