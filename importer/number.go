package importer

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

var (
	errNotANumber = errors.New("is not a number")
	errTooLarge   = errors.New("is too large")
)

// maxExponent bounds exponents; larger ones are treated as this one.
const maxExponent = 400

// scaled parses a decimal number and multiplies it by 10 to the power of scale. It is the
// one parser of numbers: an optional minus sign, digits, an optional fraction, and an
// optional exponent, as in "1500000000", "1500000000.25" and "1.5e9", and nothing else.
// Decimal places that remain are cut off; exact reports whether they were all 0. Errors:
// errNotANumber; errTooLarge if the result does not fit into 64 bits.
func scaled(s string, scale int) (n int64, exact bool, err error) {
	if s != "" && len(s)+scale < 19 && allDigits(s) { // nearly all numbers, which need no more
		for i := range len(s) {
			n = n*10 + int64(s[i]-'0')
		}
		for range scale {
			n *= 10
		}
		return n, true, nil
	}
	mantissa, exponent := s, 0
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa = s[:at]
		if exponent, err = strconv.Atoi(s[at+1:]); err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, false, errNotANumber
		}
		exponent = max(-maxExponent, min(maxExponent, exponent))
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole == "" || !allDigits(whole) || !allDigits(fraction) {
		return 0, false, errNotANumber
	}
	digit := func(i int) int64 {
		switch {
		case i < len(whole):
			return int64(whole[i] - '0')
		case i < len(whole)+len(fraction):
			return int64(fraction[i-len(whole)] - '0')
		}
		return 0
	}
	given, counted := len(whole)+len(fraction), len(whole)+exponent+scale
	for i := 0; i < counted && (n > 0 || i < given); i++ {
		if n > (math.MaxInt64-digit(i))/10 {
			return 0, false, errTooLarge
		}
		n = n*10 + digit(i)
	}
	exact = true
	for i := max(counted, 0); i < given; i++ {
		exact = exact && digit(i) == 0
	}
	if negative {
		n = -n
	}
	return n, exact, nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// wholeNumber returns a JSON number as the digits of an id: 1.5e3 and 1500.0 are 1500. It
// returns false if the number is not whole, or too large to be written so.
func wholeNumber(s string) (string, bool) {
	if !strings.ContainsAny(s, ".eE") {
		return s, true
	}
	n, exact, err := scaled(s, 0)
	return strconv.FormatInt(n, 10), err == nil && exact
}

// isNothing reports whether a value is one of the words that databases and data frames
// write instead of a value that is missing.
func isNothing(s string) bool {
	switch s {
	case "", "NULL", "null", `\N`, "nan", "NaN", "None", "NA":
		return true
	}
	return false
}
